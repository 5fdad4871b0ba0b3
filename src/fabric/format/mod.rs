//! Readers and writers of the field's formats.
//!
//! Reading ([`read`]) takes bytes and a name for messages, detects the format by content and returns a checked
//! [`Fabric`], or a [`ReadError`] that shows every fault with file, line, column, the line and what was expected. It
//! never panics and never guesses silently: a reader's assumption is a [`ReadNotice`], and so is a repair of damage
//! that can mean one thing only, which [`Tolerance::Strict`] refuses. A node that a file only names as a neighbour
//! makes the reading incomplete ([`Reading::complete`]), unless [`Tolerance::Partial`] accepts it. Writing
//! ([`write()`]) depends on the fabric alone: no clock, no host. `read ∘ write` is the identity on what a format
//! preserves, which each format's module documents; [`Format::Json`] preserves everything. Deliberately omitted: files
//! and standard input, which are the caller's, and tables and routes.

mod assemble;
mod by_name;
mod cursor;
mod db_csv;
mod diagnostic;
mod dot;
mod encoding;
mod foreign;
mod ibdm;
mod iblinkinfo;
mod ibnetdiscover;
mod ibnl;
mod ibsim_net;
mod json;
mod ledger;
mod lines;
mod names;
mod ndt;
mod net_dump;
mod netloc;
mod noise;
mod port_list;
mod print;
mod reported;
mod subnet_lst;

pub(crate) use cursor::Cursor;
pub use diagnostic::ReadError;
pub(crate) use diagnostic::{SourceLine, SourceText, Span, Spanned};
pub(in crate::fabric) use dot::label as dot_label;
pub(crate) use encoding::{check_lines, text as decode_any};
pub use ibnl::SystemFiles;
pub use ledger::Tolerance;
pub use names::{NodeNames, read_names};

use assemble::ParsedFabric;
use ledger::FaultLedger;

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
    /// The output of `ibnetdiscover -p`: a line for each port. Read only.
    PortList,
    /// The output of `iblinkinfo`, with or without `-l`. Read only.
    Iblinkinfo,
    /// ibdiagnet2's `ibdiagnet2.db_csv`. Read only.
    DbCsv,
    /// ibdiagnet2's `ibdiagnet2.net_dump`. Read only.
    NetDump,
    /// The `…-nodes.ndat` of hwloc's netloc. Read only.
    Netloc,
    /// ibdm's topology (`.topo`) or its list of cables, with the system files beside it. Read only.
    Ibdm,
    /// UFM's list of cables (`.ndt`). Read only.
    Ndt,
    /// This project's own, schema `reconfig.fabric/1`: everything that a [`Fabric`] holds. Read and written.
    Json,
    /// Graphviz. Written only.
    Dot,
}

/// Whether a line is typical of a format.
type IsOfFormat = fn(&str) -> bool;

impl Format {
    /// Every format.
    pub const ALL: [Format; 12] = [
        Format::Ibnetdiscover,
        Format::IbsimNet,
        Format::SubnetLst,
        Format::PortList,
        Format::Iblinkinfo,
        Format::DbCsv,
        Format::NetDump,
        Format::Netloc,
        Format::Ibdm,
        Format::Ndt,
        Format::Json,
        Format::Dot,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Ibnetdiscover => "ibnetdiscover",
            Format::IbsimNet => "ibsim",
            Format::SubnetLst => "subnet-lst",
            Format::PortList => "ibnetdiscover-p",
            Format::Iblinkinfo => "iblinkinfo",
            Format::DbCsv => "db-csv",
            Format::NetDump => "net-dump",
            Format::Netloc => "netloc",
            Format::Ibdm => "ibdm",
            Format::Ndt => "ndt",
            Format::Json => "json",
            Format::Dot => "dot",
        }
    }

    /// The format of a text, detected by content: JSON and subnet.lst by their brackets; ibsim's by a first comment
    /// that names it, the word `Hca` or a node name that is not a GUID; the files of ibdiagnet2, ibdm and UFM, reports
    /// of links and lists of ports by their lines; otherwise ibnetdiscover's.
    pub fn detect(text: &str) -> Format {
        Format::known(text).unwrap_or(Format::Ibnetdiscover)
    }

    /// The format detected by content; `None` if nothing in the text is typical of a format.
    fn known(text: &str) -> Option<Format> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if let Some(inner) = text.strip_prefix('{') {
            let json = inner.trim_start().starts_with(['"', '}']) || inner.trim().is_empty();
            return Some(match json {
                true if netloc::is_netloc(text) => Format::Netloc,
                true => Format::Json,
                false => Format::SubnetLst,
            });
        }
        if text.lines().next().is_some_and(|line| line.starts_with("# Net configuration")) {
            return Some(Format::IbsimNet);
        }
        text.lines().find_map(|line| Format::of_line(line.trim_start()))
    }

    /// The format of which a line is typical.
    fn of_line(line: &str) -> Option<Format> {
        if let Some((_, word)) = lines::node_keyword(line)
            && let (word, rest) = line.split_at(word)
            && rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
        {
            let prefixed = |name: &str| ["S-", "H-", "R-"].iter().any(|prefix| name.starts_with(prefix));
            let of_ibsim = word == "Hca" || rest.split('"').nth(1).is_some_and(|name| !prefixed(name));
            return Some(if of_ibsim { Format::IbsimNet } else { Format::Ibnetdiscover });
        }
        if iblinkinfo::is_link(line) {
            return Some(Format::Iblinkinfo);
        }
        if port_list::is_port(line) {
            return Some(Format::PortList);
        }
        let read: [(IsOfFormat, Format); 5] = [
            (db_csv::is_start, Format::DbCsv),
            (net_dump::is_header, Format::NetDump),
            (ndt::is_header, Format::Ndt),
            (ibdm::is_cable, Format::Ibdm),
            (ibdm::is_cables_heading, Format::Ibdm),
        ];
        let found = read.iter().find(|(is_of, _)| is_of(line)).map(|&(_, format)| format);
        found.or_else(|| line.starts_with("{ SW").then_some(Format::SubnetLst))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name of no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no format: expected ibnetdiscover, ibsim, subnet-lst, ibnetdiscover-p, iblinkinfo, db-csv, net-dump, netloc, \
     ibdm, ndt, json or dot"
)]
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

/// A fabric, with what its reader assumed and repaired.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The fabric.
    pub fabric: Fabric,
    /// Assumptions and repairs, in the order of the file.
    pub notices: Vec<ReadNotice>,
    /// The nodes that the file only names as neighbours, where it has some: the fabric has them with as many ports as
    /// are named. None if [`Tolerance::Partial`] accepted them.
    pub incomplete: Option<ReadError>,
    /// What [`Tolerance::Partial`] accepted: faults, and nodes that the file only names as neighbours.
    pub left_out: Option<ReadError>,
    /// The devices that did not answer the tool, as its messages in the file say. What is behind them may be missing.
    pub unanswered: usize,
    /// Whether the file lacks GUIDs, and nodes got some in its order: another capture of the fabric may give a node
    /// another one, so both have only names in common.
    pub numbered: bool,
}

/// Whether a file holds its whole fabric, and what is missing.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct Completeness {
    /// Whether nothing is known to be missing.
    pub complete: bool,
    /// What is.
    pub missing: MissingParts,
    /// The devices that did not answer the tool, as its messages in the file say.
    pub unanswered: usize,
}

/// Nodes that are only named as neighbours; with [`Tolerance::Partial`] also what was left out.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, schemars::JsonSchema)]
pub struct MissingParts {
    /// All.
    pub count: usize,
    /// The first ten, in the order of the file.
    pub first: Vec<MissingPart>,
}

/// One part that is missing.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct MissingPart {
    /// The line that shows it, counted from 1.
    pub line: usize,
    /// What is missing.
    pub problem: String,
}

impl Completeness {
    /// What is known of two captures of one fabric together. A device that was silent in both counts once.
    pub fn and(mut self, other: Completeness) -> Completeness {
        self.complete &= other.complete;
        self.unanswered = self.unanswered.max(other.unanswered);
        self.missing.count += other.missing.count;
        self.missing.first.extend(other.missing.first);
        self.missing.first.truncate(diagnostic::SHOWN_FAULTS);
        self
    }
}

impl Reading {
    /// Whether the file holds the whole fabric.
    pub fn completeness(&self) -> Completeness {
        let parts = self.incomplete.as_ref().or(self.left_out.as_ref());
        let missing = parts.map_or_else(MissingParts::default, |parts| MissingParts {
            count: parts.count(),
            first: parts.shown().map(|(line, problem)| MissingPart { line, problem: problem.into() }).collect(),
        });
        Completeness { complete: parts.is_none() && self.unanswered == 0, missing, unanswered: self.unanswered }
    }

    /// The fabric, which must be complete.
    ///
    /// # Errors
    /// The nodes that the file only names as neighbours.
    pub fn complete(self) -> Result<Fabric, ReadError> {
        match self.incomplete {
            Some(incomplete) => Err(incomplete),
            None => Ok(self.fabric),
        }
    }
}

/// Reads a fabric in any format; `file` is its name in messages. Assumptions and repairs go to `tracing` as warnings.
///
/// # Errors
/// All faults, with their places; or the nodes that the file only names as neighbours.
pub fn read(bytes: &[u8], file: &str) -> Result<Fabric, ReadError> {
    let reading = read_noting(bytes, file)?;
    reading.warn(file);
    reading.complete()
}

impl Reading {
    /// Logs the notices as warnings.
    pub fn warn(&self, file: &str) {
        for notice in &self.notices {
            tracing::warn!("{file}: {notice}");
        }
    }
}

/// Reads like [`read`], but also returns notices, and accepts an incomplete fabric.
///
/// # Errors
/// All faults, with their places.
pub fn read_noting(bytes: &[u8], file: &str) -> Result<Reading, ReadError> {
    read_tolerating(bytes, file, Tolerance::Repair)
}

/// Reads like [`read_noting`], with this tolerance of damage.
///
/// # Errors
/// All faults that are not tolerated, with their places.
pub fn read_tolerating(bytes: &[u8], file: &str, tolerance: Tolerance) -> Result<Reading, ReadError> {
    read_with(bytes, file, tolerance, &SystemFiles::default())
}

/// Reads like [`read_tolerating`], with the system files that an ibdm topology needs.
///
/// # Errors
/// As there.
pub fn read_with(bytes: &[u8], file: &str, tolerance: Tolerance, systems: &SystemFiles) -> Result<Reading, ReadError> {
    let text = encoding::text(bytes, file)?;
    let source = SourceText { file, text: &text.text };
    let format = foreign::recognise(source)?;
    read_text(format, source, &text.converted, tolerance, systems)
}

/// Whether a file is a topology of ibdm, which is read with system files.
pub fn needs_systems(bytes: &[u8]) -> bool {
    encoding::text(bytes, "").is_ok_and(|text| Format::known(&text.text) == Some(Format::Ibdm))
}

/// Reads like [`read_noting`], for a known format.
///
/// # Errors
/// As [`read_noting`]; [`Format::Dot`] cannot be read.
pub fn read_as(format: Format, bytes: &[u8], file: &str) -> Result<Reading, ReadError> {
    let text = encoding::text(bytes, file)?;
    let source = SourceText { file, text: &text.text };
    read_text(format, source, &text.converted, Tolerance::Repair, &SystemFiles::default())
}

fn read_text(
    format: Format,
    source: SourceText<'_>,
    converted: &[&'static str],
    tolerance: Tolerance,
    systems: &SystemFiles,
) -> Result<Reading, ReadError> {
    let start = Span { start: 0, end: 0 };
    match format {
        Format::Json => return json::read(source),
        Format::Dot => {
            return Err(source.error(start, "Graphviz files are written only", "expected a format that is read"));
        }
        // netloc writes one line, which is as long as the file.
        Format::Netloc => {}
        _ => check_lines(source)?,
    }
    let mut ledger = FaultLedger::new(source);
    converted.iter().for_each(|text| ledger.repair(start, text, ""));
    let account = match format {
        Format::Ibnetdiscover => ibnetdiscover::read(&mut ledger),
        Format::IbsimNet => ibsim_net::read(&mut ledger),
        Format::SubnetLst => subnet_lst::read(&mut ledger),
        Format::PortList => port_list::read(&mut ledger),
        Format::Iblinkinfo => iblinkinfo::read(&mut ledger),
        Format::DbCsv => db_csv::read(&mut ledger),
        Format::NetDump => net_dump::read(&mut ledger),
        Format::Netloc => netloc::read(&mut ledger),
        Format::Ibdm => ibdm::read(&mut ledger, systems),
        Format::Ndt => ndt::read(&mut ledger),
        Format::Json | Format::Dot => ParsedFabric::default(),
    };
    let fabric = account.assemble(&mut ledger).filter(|fabric| fabric.node_count() > 0);
    if fabric.is_none() && !ledger.has_faults() {
        let end = Span { start: source.text.len(), end: source.text.len() };
        return Err(source.error(end, format!("the file ends without a node ({format} format)"), "expected a node"));
    }
    ledger.finish(fabric, tolerance)
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
        Format::SubnetLst
        | Format::PortList
        | Format::Iblinkinfo
        | Format::DbCsv
        | Format::NetDump
        | Format::Netloc
        | Format::Ibdm
        | Format::Ndt => Err(WriteError::ReadOnly(format)),
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
