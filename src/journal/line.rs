//! Records as lines: eight hexadecimal digits of CRC-32 over the rest of the line, a blank, and JSON.

use super::record::{JournalEntry, JournalRecord, SCHEMA};
use std::fmt;
use std::iter::zip;

/// A fault in a journal, with its line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineFault {
    /// The line, from 1.
    pub line: usize,
    /// The fault.
    pub fault: String,
}

impl fmt::Display for LineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.fault)
    }
}

impl std::error::Error for LineFault {}

/// The content of a journal.
#[derive(Default)]
pub(super) struct Read {
    pub(super) entries: Vec<JournalEntry>,
    /// Bytes of whole records.
    pub(super) len: u64,
    /// What follows them.
    pub(super) torn: Option<TornTail>,
}

/// Bytes after the last whole record.
pub(super) struct TornTail {
    fault: LineFault,
    offset: u64,
    bytes: usize,
    /// Whether they begin a record, and nothing else is there: its writer died, or the disk was full, and no action
    /// followed on it. A loss of power may leave zeros where whole records were.
    pub(super) is_unfinished: bool,
}

impl fmt::Display for TornTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TornTail { fault, offset, bytes, is_unfinished } = self;
        let what = match is_unfinished {
            true => "a record that was not finished, and nobody acted on it",
            false => "no unfinished record, and records that were acted on may have been there",
        };
        write!(f, "{fault}; the {bytes} bytes from offset {offset} on are {what}")
    }
}

pub(super) fn written(entry: &JournalEntry) -> String {
    let json = serde_json::to_string(entry).expect("records consist of texts and numbers");
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

/// Reads all records. A faulty last line is a torn tail.
///
/// # Errors
/// A fault in a line that others follow, or a journal of another version.
pub(super) fn read(bytes: &[u8]) -> Result<Read, LineFault> {
    let mut read = Read::default();
    let mut lines = bytes.split_inclusive(|&byte| byte == b'\n').zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        let at = |fault: String| LineFault { line: number, fault };
        match entry(line) {
            Ok(entry) => {
                match &entry.record {
                    JournalRecord::Opened { schema, .. } if schema != SCHEMA => {
                        return Err(at(format!("its schema is `{schema}`, expected `{SCHEMA}`")));
                    }
                    JournalRecord::Opened { .. } => {}
                    _ if number == 1 => return Err(at("a journal begins with a record `opened`".to_string())),
                    _ => {}
                }
                read.len += line.len() as u64;
                read.entries.push(entry);
            }
            Err(fault) if lines.peek().is_none() => {
                let (offset, bytes, is_unfinished) = (read.len, line.len(), begins_a_record(line));
                read.torn = Some(TornTail { fault: at(fault), offset, bytes, is_unfinished });
            }
            Err(fault) => return Err(at(fault)),
        }
    }
    Ok(read)
}

/// The last record of what is set aside that is whole, in a journal that is damaged anywhere, and whether all that
/// follows it is whole. Each says all, so those before it are not needed. None if some of it is of another version.
pub(super) fn last_aside(bytes: &[u8]) -> Option<(JournalEntry, bool)> {
    let mut last: Option<(JournalEntry, bool)> = None;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let Ok(entry) = entry(line) else {
            last.iter_mut().for_each(|(_, is_latest)| *is_latest &= begins_a_record(line));
            continue;
        };
        match &entry.record {
            JournalRecord::Opened { schema, .. } if schema != SCHEMA => return None,
            JournalRecord::Aside { .. } => last = Some((entry, true)),
            _ => {}
        }
    }
    last
}

/// Whether a line is the beginning of a record: a checksum, a blank and an object, as far as it goes.
fn begins_a_record(line: &[u8]) -> bool {
    let fits = |(&byte, at): (&u8, usize)| match at {
        0..8 => byte.is_ascii_hexdigit(),
        8 => byte == b' ',
        9 => byte == b'{',
        // JSON has no control characters, a line feed included.
        _ => byte >= b' ',
    };
    zip(line, 0..).all(fits)
}

fn entry(line: &[u8]) -> Result<JournalEntry, String> {
    let line = line.strip_suffix(b"\n").ok_or("it does not end with a line feed")?;
    let (claimed, json) = line.split_at_checked(9).ok_or("it is shorter than a checksum")?;
    let claimed = std::str::from_utf8(claimed).ok().and_then(|claimed| claimed.strip_suffix(' '));
    let is_checksum = |claimed: &&str| claimed.bytes().all(|byte| byte.is_ascii_hexdigit());
    let claimed = claimed.filter(is_checksum).ok_or("it does not begin with a checksum")?;
    let found = format!("{:08x}", crc32fast::hash(json));
    if claimed != found {
        return Err(format!("its checksum is {claimed}, and that of its content {found}"));
    }
    serde_json::from_slice(json).map_err(|error| format!("column {}: {error}", error.column() + 9))
}
