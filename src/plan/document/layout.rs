//! The layout of a plan's file: one row of its large parts on each line, so that it can be read and compared line by
//! line, and is a third of the size of full indentation.

use serde_json::ser::{Formatter, PrettyFormatter};
use std::io::{Result, Write};

/// The depth up to which elements have their own lines: the file, its lists, a wave, its lists.
const DEEPEST: usize = 4;

/// Indents up to a depth, and keeps deeper levels on one line.
pub(super) struct JsonLayout {
    pretty: PrettyFormatter<'static>,
    depth: usize,
}

impl JsonLayout {
    pub(super) fn new() -> JsonLayout {
        JsonLayout { pretty: PrettyFormatter::new(), depth: 0 }
    }

    fn is_deep(&self) -> bool {
        self.depth > DEEPEST
    }

    fn separate<W: ?Sized + Write>(writer: &mut W, first: bool) -> Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }
}

impl Formatter for JsonLayout {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.depth += 1;
        if self.is_deep() { writer.write_all(b"[") } else { self.pretty.begin_array(writer) }
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        let deep = self.is_deep();
        self.depth -= 1;
        if deep { writer.write_all(b"]") } else { self.pretty.end_array(writer) }
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        if self.is_deep() { JsonLayout::separate(writer, first) } else { self.pretty.begin_array_value(writer, first) }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        if self.is_deep() { Ok(()) } else { self.pretty.end_array_value(writer) }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.depth += 1;
        if self.is_deep() { writer.write_all(b"{") } else { self.pretty.begin_object(writer) }
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        let deep = self.is_deep();
        self.depth -= 1;
        if deep { writer.write_all(b"}") } else { self.pretty.end_object(writer) }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        if self.is_deep() { JsonLayout::separate(writer, first) } else { self.pretty.begin_object_key(writer, first) }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.pretty.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        if self.is_deep() { Ok(()) } else { self.pretty.end_object_value(writer) }
    }
}
