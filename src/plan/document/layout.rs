//! How a plan's file is laid out: its large parts one row a line, so that it can be read, compared line by line, and
//! is a third of the size that full indentation takes.

use serde_json::ser::{Formatter, PrettyFormatter};
use std::io::{Result, Write};

/// Containers inside which elements have lines of their own: the file, its lists, a wave, its lists.
const DEEPEST: usize = 4;

/// Indents to a depth, and keeps what is deeper on one line.
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
