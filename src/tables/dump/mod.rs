//! Tables of running subnets, read from the dumps of subnet managers and of the field's tools.
//!
//! On entry: the bytes of a file, its name for messages, and the fabric whose devices it names. On return: tables over
//! the indices of that fabric, or a [`ReadError`] that shows file, line, column, the line and what was expected: an
//! unknown GUID, an entry given twice, a port that the switch lacks, anything that cannot be parsed. Readers exist for
//! forwarding tables in the formats of OpenSM's `opensm.fdbs` ([`read_fdbs`]) and of its `opensm-lfts.dump`,
//! `dump_fts`, `dump_lfts.sh` and `ibroute` ([`read_lfts`]), and for SL-to-VL tables ([`read_sl_to_vl`]) and service
//! levels of paths ([`read_path_sls`]) as OpenSM and its plugins dump them and as ibdmchk reads them. Lines in the
//! common shape bypass the cursor that reports errors; every other line goes through it. Writers exist for the same
//! formats and yield block by block, since whole dumps are large; reading returns what was written. Random forwarding
//! tables ([`write_random`]) have no tool that reads them. Deliberately omitted: multicast tables, and files, which are
//! the caller's.

mod fdbs;
mod forwarding;
mod hops;
mod lfts;
mod path_sl;
mod quick;
mod random;
mod sl_to_vl;
mod subnet;

pub use fdbs::{read_fdbs, write_fdbs};
pub use forwarding::Lfts;
pub use lfts::{read_lfts, write_lfts};
pub use path_sl::{PathSls, read_path_sls, write_path_sls};
pub use random::write_random;
pub use sl_to_vl::{SlToVlDump, read_sl_to_vl, write_sl_to_vl};
pub use subnet::write_subnet;

use crate::fabric::format::{Cursor, ReadError, SourceText, Spanned};
use crate::fabric::{Fabric, NodeId, NodeKind, PortId};
use crate::ids::{Guid, Lid};
use winnow::Parser;
use winnow::ascii::digit1;

/// A device that a dump names by GUID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Subject {
    Node(NodeId),
    Port(PortId),
}

/// The ports of a fabric by GUID, by which dumps name end ports.
struct PortGuids(Vec<(Guid, PortId)>);

impl PortGuids {
    fn of(fabric: &Fabric) -> PortGuids {
        let mut known: Vec<_> = fabric.lid_ports().filter_map(|id| Some((fabric.port(id).guid?, id))).collect();
        known.sort_unstable();
        PortGuids(known)
    }

    fn get(&self, guid: Guid) -> Option<PortId> {
        self.0.binary_search_by_key(&guid, |entry| entry.0).ok().map(|at| self.0[at].1)
    }
}

/// The node with this GUID, if it is present.
fn node(fabric: &Fabric, guid: Guid) -> Option<NodeId> {
    fabric.by_guid(guid).filter(|&id| fabric.node(id).present)
}

/// Parses a GUID in hexadecimal, which must not be 0.
fn guid(cursor: &mut Cursor<'_>) -> Result<Spanned<Guid>, ReadError> {
    let before = cursor.clone();
    let guid = cursor.guid()?;
    let value = guid.value.ok_or_else(|| before.unexpected("a GUID other than 0"))?;
    Ok(Spanned { value, at: guid.at })
}

/// `Channel Adapter 0x…, base LID …` or `Switch 0x…, …`: the head of a device's block in OpenSM's dumps by port GUID.
fn headline(cursor: &mut Cursor<'_>) -> Result<Option<Spanned<Guid>>, ReadError> {
    if !["Channel Adapter ", "Switch ", "Router "].iter().any(|kind| cursor.eat(kind)) {
        return Ok(None);
    }
    guid(cursor).map(Some)
}

/// The device of a headline: a port if the GUID is that of a CA or router port, else the switch.
fn subject(
    fabric: &Fabric,
    ports: &PortGuids,
    source: SourceText<'_>,
    guid: Spanned<Guid>,
) -> Result<Subject, ReadError> {
    let by_port = ports.get(guid.value).map(|port| match fabric.node(fabric.port(port).node).is_switch() {
        true => Subject::Node(fabric.port(port).node),
        false => Subject::Port(port),
    });
    by_port.or_else(|| node(fabric, guid.value).map(Subject::Node)).ok_or_else(|| unknown(source, guid))
}

fn unknown(source: SourceText<'_>, guid: Spanned<Guid>) -> ReadError {
    let problem = format!("the fabric has no device with GUID {}", guid.value);
    source.error(guid.at, problem, "expected a GUID of the fabric: are both files of the same moment?")
}

/// Parses a LID in hexadecimal, 0 to 49151: dumps of whole tables begin with the reserved LID 0.
fn hex_lid(cursor: &mut Cursor<'_>) -> Result<Spanned<Lid>, ReadError> {
    let expected = "a unicast LID from 0x0001 to 0xbfff";
    let before = cursor.clone();
    let number = cursor.hex::<u16>(expected)?;
    if number.value > Lid::MAX_UNICAST.0 {
        return Err(before.unexpected(expected));
    }
    Ok(Spanned { value: Lid(number.value), at: number.at })
}

/// Parses a number in decimal, at most `most`; the tools pad it with zeros.
fn decimal<T: TryFrom<u32>>(cursor: &mut Cursor<'_>, most: u32, expected: &str) -> Result<Spanned<T>, ReadError> {
    let small = |digits: &str| digits.parse().ok().filter(|&number: &u32| number <= most);
    cursor.take(digit1.verify_map(move |digits| small(digits).and_then(|number| T::try_from(number).ok())), expected)
}

/// By LID: OpenSM's name of its owner, `Channel Adapter portguid 0x…: 'name'`.
fn owners(fabric: &Fabric) -> Vec<String> {
    let top = fabric.max_lid().map_or(0, Lid::index);
    (0..=top).map(|lid| fabric.lid_owner(Lid(lid as u16)).map_or_else(nobody, |port| owner(fabric, port))).collect()
}

fn nobody() -> String {
    "unknown node and type".to_string()
}

fn owner(fabric: &Fabric, port: PortId) -> String {
    let node = fabric.node(fabric.port(port).node);
    let kind = match node.kind {
        NodeKind::Switch => "Switch",
        NodeKind::Ca => "Channel Adapter",
        NodeKind::Router => "Router",
    };
    let guid = fabric.recorded_port_guid(port).map_or_else(String::new, |guid| format!(" portguid {guid}"));
    format!("{kind}{guid}: '{}'", plain(&node.description))
}

/// A description on one line.
fn plain(description: &str) -> String {
    description.trim().chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
}
