//! LIDs that outlive the manager: OpenSM's `guid2lid` cache.
//!
//! One record for each port GUID, followed by an empty line: the GUID, and the first and the last LID of its range in
//! hexadecimal:
//! ```text
//! 0x0002c90300000011 0x0004 0x0005
//!
//! ```
//! The reader accepts any number of empty lines and C's notation of numbers; the writer writes as above, in GUID order.
//! A GUID or a LID given twice is an error: OpenSM drops one of the two, and logs it. Source of the format: the output
//! of OpenSM 3.3.23. Deliberately omitted: the file itself (`sm`).

use crate::fabric::format::{Cursor, ReadError, SourceLine, SourceText, Span, Spanned, decode};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Guid, Lid, Lmc};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// Consecutive LIDs, at least one, all unicast.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LidRange {
    first: Lid,
    last: Lid,
}

impl LidRange {
    /// From the first to the last, both included; none if that is not a range of unicast LIDs.
    pub fn new(first: Lid, last: Lid) -> Option<LidRange> {
        (first.is_unicast() && last.is_unicast() && first <= last).then_some(LidRange { first, last })
    }

    /// The lowest LID.
    pub fn first(self) -> Lid {
        self.first
    }

    /// The highest LID.
    pub fn last(self) -> Lid {
        self.last
    }

    /// This many LIDs from an aligned base; none if the base is not aligned, or not all of them are unicast.
    pub(super) fn aligned(base: Lid, lids: u16) -> Option<LidRange> {
        let last = base.0.checked_add(lids - 1)?;
        LidRange::new(base, Lid(last)).filter(|range| range.first.0.is_multiple_of(lids))
    }

    /// Its first `lids` LIDs, if they are aligned and it has as many.
    pub(super) fn narrowed(self, lids: u16) -> Option<LidRange> {
        LidRange::aligned(self.first, lids).filter(|range| range.last <= self.last)
    }

    /// The LMC of these LIDs; none if they are not an aligned block of 1 to 128.
    pub fn lmc(self) -> Option<Lmc> {
        Lmc::all().find(|lmc| LidRange::aligned(self.first, lmc.lids()) == Some(self))
    }

    /// The LIDs as indices.
    pub(super) fn indices(self) -> Range<usize> {
        self.first.index()..self.last.index() + 1
    }

    /// Returns whether a LID is in both.
    pub(super) fn meets(self, other: LidRange) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

impl fmt::Display for LidRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LID {} to {}", self.first, self.last)
    }
}

/// The LIDs of each port GUID. No two ranges overlap.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Guid2Lid {
    ranges: BTreeMap<Guid, LidRange>,
}

impl Guid2Lid {
    /// An empty file.
    pub fn new() -> Guid2Lid {
        Guid2Lid::default()
    }

    /// Parses a file; `file` is its name in messages. An empty file holds no ports: OpenSM creates such files.
    ///
    /// # Errors
    /// The first line that cannot be parsed, or that repeats a GUID or a LID.
    pub fn read(bytes: &[u8], file: &str) -> Result<Guid2Lid, ReadError> {
        let source = SourceText { file, text: decode(bytes, file)? };
        let mut reader = Reader { source, known: Guid2Lid::new(), places: BTreeMap::new(), by_lid: BTreeMap::new() };
        for line in source.lines() {
            reader.line(line)?;
        }
        Ok(reader.known)
    }

    /// The file's text.
    pub fn write(&self) -> String {
        let record =
            |(guid, range): (&Guid, &LidRange)| format!("{guid} {:#06x} {:#06x}\n\n", range.first.0, range.last.0);
        self.ranges.iter().map(record).collect()
    }

    /// The LIDs of a port.
    pub fn get(&self, guid: Guid) -> Option<LidRange> {
        self.ranges.get(&guid).copied()
    }

    /// Every port, in ascending order of GUID.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Guid, LidRange)> + '_ {
        self.ranges.iter().map(|(&guid, &range)| (guid, range))
    }

    /// The content to write for a fabric with LIDs: its LIDs, and those of absent ports that do not overlap them.
    pub fn learn(&self, fabric: &Fabric) -> Guid2Lid {
        let owner = |lid: u16| fabric.lid_owner(Lid(lid)).is_some();
        let free = |range: LidRange| !(range.first.0..=range.last.0).any(owner);
        let mut ranges: BTreeMap<_, _> =
            self.ranges.iter().filter(|&(_, &range)| free(range)).map(|(&guid, &range)| (guid, range)).collect();
        for port in fabric.lid_ports() {
            let held = fabric.port(port);
            let range = held.lid.and_then(|lid| LidRange::new(lid, Lid(lid.0 + held.lmc.lids() - 1)));
            if let (Some(guid), Some(range)) = (guid_of(fabric, port), range) {
                ranges.insert(guid, range);
            }
        }
        Guid2Lid { ranges }
    }
}

/// The GUID of a port in the file. Port 0 of a switch has its node's GUID if the capture omits its own.
pub(super) fn guid_of(fabric: &Fabric, port: PortId) -> Option<Guid> {
    let (held, node) = (fabric.port(port), fabric.node(fabric.port(port).node));
    held.guid.or_else(|| node.is_switch().then_some(node.guid))
}

struct Reader<'a> {
    source: SourceText<'a>,
    known: Guid2Lid,
    places: BTreeMap<Guid, Span>,
    by_lid: BTreeMap<Lid, Guid>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: SourceLine<'a>) -> Result<(), ReadError> {
        let mut cursor = Cursor::new(self.source, line);
        if cursor.blanks() {
            return Ok(());
        }
        let before = cursor.clone();
        let guid_read = cursor.guid()?;
        let guid = guid_read.value.ok_or_else(|| before.unexpected("a GUID other than 0"))?;
        let (first, last) = (lid(&mut cursor)?, lid(&mut cursor)?);
        cursor.finish()?;
        let span = Span { start: first.at.start, end: last.at.end };
        let Some(range) = LidRange::new(first.value, last.value) else {
            let problem = format!("LID {} to {} is not a range", first.value, last.value);
            return Err(self.source.error(span, problem, "expected the first LID, then the last"));
        };
        self.take(Spanned { value: guid, at: guid_read.at }, Spanned { value: range, at: span })
    }

    fn take(&mut self, guid: Spanned<Guid>, range: Spanned<LidRange>) -> Result<(), ReadError> {
        if let Some(&before) = self.places.get(&guid.value) {
            let problem = format!("GUID {} is given twice", guid.value);
            return Err(self.source.clash(guid.at, problem, "expected each GUID once", (before, "the first time")));
        }
        let below = self.by_lid.range(..=range.value.last).next_back().map(|(_, &guid)| guid);
        if let Some(other) = below.filter(|&other| self.known.ranges[&other].meets(range.value)) {
            let problem = format!("LIDs of {} belong to {other} as well", guid.value);
            let label = (self.places[&other], "its LIDs overlap these");
            return Err(self.source.clash(range.at, problem, "expected LIDs of one port only", label));
        }
        self.places.insert(guid.value, guid.at);
        self.by_lid.insert(range.value.first, guid.value);
        self.known.ranges.insert(guid.value, range.value);
        Ok(())
    }
}

/// Parses a unicast LID after blanks.
fn lid(cursor: &mut Cursor<'_>) -> Result<Spanned<Lid>, ReadError> {
    let expected = "a unicast LID from 0x0001 to 0xbfff";
    cursor.blanks();
    let before = cursor.clone();
    let number = cursor.c_number(u64::from(Lid::MAX_UNICAST.0), expected)?;
    let lid = Lid(number.value as u16);
    if lid.is_unicast() { Ok(Spanned { value: lid, at: number.at }) } else { Err(before.unexpected(expected)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u16, last: u16) -> LidRange {
        LidRange::new(Lid(first), Lid(last)).unwrap()
    }

    #[test]
    fn a_file_of_opensm_is_read_and_written_alike() {
        let text = "0x0002c90300000011 0x0004 0x0005\n\n0x0002c90300000012 0x0001 0x0001\n\n";
        let read = Guid2Lid::read(text.as_bytes(), "guid2lid").unwrap();
        let wanted = [(Guid(0x0002_c903_0000_0011), range(4, 5)), (Guid(0x0002_c903_0000_0012), range(1, 1))];
        assert_eq!(read.iter().collect::<Vec<_>>(), wanted);
        assert_eq!(read.write(), text);
        assert_eq!(Guid2Lid::read(b"", "guid2lid"), Ok(Guid2Lid::new()), "OpenSM makes an empty file first");
    }

    #[test]
    fn numbers_are_read_as_c_has_them() {
        let read = Guid2Lid::read(b"\n0xa 17 0x12\n0xb 16 16", "guid2lid").unwrap();
        assert_eq!(read.iter().collect::<Vec<_>>(), [(Guid(10), range(17, 18)), (Guid(11), range(16, 16))]);
    }

    #[test]
    fn faults_have_their_place() {
        let cases = [
            ("0xa 4", 1, 6, "the line ends too early"),
            ("0xa 4 5 6", 1, 9, "unexpected `6`"),
            ("\n0xa 0 1", 2, 5, "unexpected `0`"),
            ("0xa 4 0xc000", 1, 7, "unexpected `0xc000`"),
            ("0xa 5 4", 1, 5, "LID 5 to 4 is not a range"),
            ("0x0 4 5", 1, 1, "unexpected `0x0`"),
            ("0xa 4 5\n\n0xa 6 7", 3, 1, "GUID 0x000000000000000a is given twice"),
            ("0xa 4 7\n\n0xb 6 9", 3, 5, "LIDs of 0x000000000000000b belong to 0x000000000000000a as well"),
            ("0xa 4 7\n\n0xb 2 9", 3, 5, "LIDs of 0x000000000000000b belong to 0x000000000000000a as well"),
            ("0xa 4 7\n\n0xb 5 5", 3, 5, "LIDs of 0x000000000000000b belong to 0x000000000000000a as well"),
        ];
        for (text, line, column, problem) in cases {
            let error = Guid2Lid::read(text.as_bytes(), "guid2lid").unwrap_err();
            assert_eq!((error.line(), error.column(), error.problem()), (line, column, problem), "{text}");
        }
    }
}
