//! Readers and writers of the field's formats.
//!
//! Reading ([`read`]) takes bytes and a name for messages, detects the format by content and returns a checked
//! [`Fabric`], or a [`ReadError`] that shows file, line, column, the line and what was expected. It never panics and
//! never guesses silently: a reader's assumption is a [`ReadNotice`]. Text is UTF-8: the tools print ASCII, so other
//! bytes come from an editor, and are an error that names the byte rather than a guess at their encoding. Writing
//! ([`write()`]) depends on the fabric alone: no clock, no host. `read ∘ write` is the identity on what a format
//! preserves, which each format's module documents; [`Format::Json`] preserves everything. Deliberately omitted: files
//! and standard input, which are the caller's, and tables and routes.

mod assemble;
mod cursor;
mod diagnostic;
mod dot;
mod ibnetdiscover;
mod ibsim_net;
mod json;
mod lines;
mod print;
mod subnet_lst;

pub(crate) use cursor::Cursor;
pub use diagnostic::ReadError;
pub(crate) use diagnostic::{SourceLine, SourceText, Span, Spanned};
pub(in crate::fabric) use dot::label as dot_label;

use crate::fabric::Fabric;
use std::fmt;
use std::str::FromStr;

/// A file format that carries a topology.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Format {
    /// The output of `ibnetdiscover`. Read and written.
    Ibnetdiscover,
    /// The input of ibsim. Read and written.
    IbsimNet,
    /// OpenSM's `opensm-subnet.lst`, also of ibdiagnet. Read only.
    SubnetLst,
    /// This project's own, schema `reconfig.fabric/1`: everything that a [`Fabric`] holds. Read and written.
    Json,
    /// Graphviz. Written only.
    Dot,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 5] =
        [Format::Ibnetdiscover, Format::IbsimNet, Format::SubnetLst, Format::Json, Format::Dot];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Ibnetdiscover => "ibnetdiscover",
            Format::IbsimNet => "ibsim",
            Format::SubnetLst => "subnet-lst",
            Format::Json => "json",
            Format::Dot => "dot",
        }
    }

    /// The format of a text, detected by content: JSON and subnet.lst by their brackets; ibsim's by a first comment
    /// that names it, the word `Hca` or a node name that is not a GUID; otherwise ibnetdiscover's.
    pub fn detect(text: &str) -> Format {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if let Some(inner) = text.strip_prefix('{') {
            let json = inner.trim_start().starts_with(['"', '}']) || inner.trim().is_empty();
            return if json { Format::Json } else { Format::SubnetLst };
        }
        if text.lines().next().is_some_and(|line| line.starts_with("# Net configuration")) {
            return Format::IbsimNet;
        }
        let node = text
            .lines()
            .map(str::trim_start)
            .find_map(|line| lines::node_keyword(line).map(|(_, word)| line.split_at(word)));
        let named_otherwise = |rest: &str| {
            rest.split('"').nth(1).is_some_and(|name| !["S-", "H-", "R-"].iter().any(|prefix| name.starts_with(prefix)))
        };
        match node {
            Some((word, rest)) if word == "Hca" || named_otherwise(rest) => Format::IbsimNet,
            _ => Format::Ibnetdiscover,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name of no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no format: expected ibnetdiscover, ibsim, subnet-lst, json or dot")]
pub struct FormatError(pub String);

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Format, FormatError> {
        Format::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| FormatError(text.to_string()))
    }
}

/// An assumption or omission of a reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadNotice {
    /// The line, counted from 1.
    pub line: usize,
    /// The notice.
    pub text: String,
}

impl fmt::Display for ReadNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

/// Notices as they occur; each kind counts once, at its first place.
#[derive(Default)]
struct Notices(Vec<(&'static str, ReadNotice, usize)>);

impl Notices {
    fn add(&mut self, source: SourceText<'_>, offset: usize, kind: &'static str, detail: &str) {
        match self.0.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, _, times)) => *times += 1,
            None => {
                self.0.push((kind, ReadNotice { line: source.line_of(offset), text: format!("{kind}{detail}") }, 1))
            }
        }
    }

    /// In the order of the file.
    fn list(mut self) -> Vec<ReadNotice> {
        self.0.sort_by_key(|(_, notice, _)| notice.line);
        let counted = |(_, ReadNotice { line, text }, times)| match times {
            1 => ReadNotice { line, text },
            _ => ReadNotice { line, text: format!("{text} ({times} times in the file)") },
        };
        self.0.into_iter().map(counted).collect()
    }
}

/// A fabric, with its reader's assumptions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The fabric.
    pub fabric: Fabric,
    /// In the order of the file.
    pub notices: Vec<ReadNotice>,
}

/// Reads a fabric in any format; `file` is its name in messages. Notices go to `tracing` as warnings.
///
/// # Errors
/// The first error, with its place.
pub fn read(bytes: &[u8], file: &str) -> Result<Fabric, ReadError> {
    let reading = read_noting(bytes, file)?;
    for notice in &reading.notices {
        tracing::warn!("{file}: {notice}");
    }
    Ok(reading.fabric)
}

/// As [`read`], but returns the notices.
///
/// # Errors
/// As [`read`].
pub fn read_noting(bytes: &[u8], file: &str) -> Result<Reading, ReadError> {
    let text = decode(bytes, file)?;
    read_text(Format::detect(text), SourceText { file, text })
}

/// As [`read_noting`], for a known format.
///
/// # Errors
/// As [`read`]; [`Format::Dot`] cannot be read.
pub fn read_as(format: Format, bytes: &[u8], file: &str) -> Result<Reading, ReadError> {
    read_text(format, SourceText { file, text: decode(bytes, file)? })
}

fn read_text(format: Format, source: SourceText<'_>) -> Result<Reading, ReadError> {
    let reading = match format {
        Format::Ibnetdiscover => ibnetdiscover::read(source),
        Format::IbsimNet => ibsim_net::read(source),
        Format::SubnetLst => subnet_lst::read(source),
        Format::Json => return json::read(source),
        Format::Dot => {
            let start = Span { start: 0, end: 0 };
            return Err(source.error(start, "Graphviz files are written only", "expected a format that is read"));
        }
    }?;
    if reading.fabric.node_count() == 0 {
        let end = Span { start: source.text.len(), end: source.text.len() };
        return Err(source.error(end, format!("the file ends without a node ({format} format)"), "expected a node"));
    }
    Ok(reading)
}

/// The text of a file, which must be UTF-8.
pub(crate) fn decode<'a>(bytes: &'a [u8], file: &str) -> Result<&'a str, ReadError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let text = String::from_utf8_lossy(bytes);
        let source = SourceText { file, text: &text };
        let problem = format!("byte 0x{:02x} is no UTF-8 text", bytes[at]);
        let label = "expected UTF-8; `iconv -f latin1 -t utf-8` converts a file in Latin-1";
        source.error(Span { start: at, end: at + 1 }, problem, label)
    })
}

/// Why a fabric cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The format can only be read.
    #[error("{0} files are read only: write ibnetdiscover, ibsim, json or dot instead")]
    ReadOnly(Format),
}

/// The fabric as text. What the format cannot preserve is omitted (see each format's module).
///
/// # Errors
/// The format can only be read.
pub fn write(fabric: &Fabric, format: Format) -> Result<String, WriteError> {
    match format {
        Format::Ibnetdiscover => Ok(ibnetdiscover::write(fabric)),
        Format::IbsimNet => Ok(ibsim_net::write(fabric)),
        Format::Json => Ok(json::write(fabric)),
        Format::Dot => Ok(dot::write(fabric)),
        Format::SubnetLst => Err(WriteError::ReadOnly(format)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_their_contents() {
        let cases = [
            ("{ \"schema\": 1 }", Format::Json),
            ("\u{feff}{\n}", Format::Json),
            ("{ SW Ports:08", Format::SubnetLst),
            ("# Net configuration\nSwitch 8 \"S-0000000000000010\"", Format::IbsimNet),
            ("# mine\n Switch 8 \"Switch1\"", Format::IbsimNet),
            ("Hca 1 \"H-0000000000000010\"", Format::IbsimNet),
            ("#\n# Topology file\nvendid=0x2c9\nSwitch 8 \"S-0000000000000010\"", Format::Ibnetdiscover),
            ("Switch 8 \"S-10\"", Format::Ibnetdiscover),
            ("", Format::Ibnetdiscover),
        ];
        for (text, format) in cases {
            assert_eq!(Format::detect(text), format, "{text}");
        }
    }

    #[test]
    fn formats_have_names() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        assert_eq!("xml".parse::<Format>(), Err(FormatError("xml".into())));
    }

    #[test]
    fn what_is_read_only_is_not_written_and_the_other_way_round() {
        let fabric = read(b"Switch 8 \"s\"\n", "test").expect("one switch");
        assert_eq!(write(&fabric, Format::SubnetLst), Err(WriteError::ReadOnly(Format::SubnetLst)));
        assert!(read_as(Format::Dot, b"graph {}", "test").is_err());
    }
}
