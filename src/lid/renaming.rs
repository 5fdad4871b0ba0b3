//! Destination renaming (López, Flich, Duato, ICPP 2001; "seed 000"), with its tables as values.
//!
//! On entry: table P, a [`PathSet`], and the number of ids that each destination may have. On return: table H, the id
//! with which each source sends (by path, so that a pair may have several), and tables R, the forwarding entries of
//! each switch. An id is a LID counted from the destination's first. Ids are found path by path: the first on which the
//! path diverges from no earlier path (figures 3 and 4, `ValidId`). Entries form a set: the printed procedure appends
//! an entry again for every path that uses it. The smallest LMC of a port, which the paper omits, is that of the
//! highest id in use. Deliberately omitted: fewer ids by considering all paths at once (`configure`).

use super::by_path::PathLids;
use super::random_table::{RandomTable, RandomTableFull};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, Lmc, PortNum};
use crate::tables::{Path, PathSet};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The most ids that an LMC can give.
pub const MOST_IDS: usize = 128;

/// No id is left on which a path is free of conflicts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the path from {from} to {to} diverges from an earlier one on each of the {ids} ids of {to}: give it a larger LMC \
     (7 at most, 128 ids), or let an LID heuristic share ids better"
)]
pub struct IdsExhausted {
    /// The destination.
    pub to: String,
    /// The source.
    pub from: String,
    /// Its number of ids.
    pub ids: usize,
}

/// A destination's name in a packet: the port and one of its ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name {
    /// The port.
    pub destination: PortId,
    /// Its id, from 0: the one that every source would use without renaming.
    pub id: u32,
}

/// The result of renaming: tables R and H.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renaming {
    /// H, by path.
    ids: Vec<u32>,
    /// R, by switch.
    entries: BTreeMap<NodeId, BTreeMap<Name, PortNum>>,
    /// By rank of the destination: the number of ids in use.
    needed: Vec<u32>,
}

/// Renames, with at most `ids(destination)` ids for each.
///
/// # Errors
/// The ids do not suffice: the paper's `HALT`.
pub fn rename(fabric: &Fabric, paths: &PathSet, ids: impl Fn(PortId) -> usize) -> Result<Renaming, IdsExhausted> {
    // A hash map only while ids are sought; the result is ordered.
    let mut entries: FxHashMap<(NodeId, Name), PortNum> = FxHashMap::default();
    let mut chosen = Vec::with_capacity(paths.len());
    let mut most: FxHashMap<PortId, u32> = FxHashMap::default();
    for path in paths.iter() {
        let ids = ids(path.destination).min(MOST_IDS);
        let name = valid_id(&entries, path, ids as u32).ok_or_else(|| IdsExhausted {
            to: fabric.describe_port(path.destination),
            from: fabric.describe_port(path.source),
            ids,
        })?;
        entries.extend(path.hops.iter().map(|hop| ((hop.switch, name), hop.output)));
        let most = most.entry(name.destination).or_default();
        *most = (*most).max(name.id + 1);
        chosen.push(name.id);
    }
    let mut by_switch: BTreeMap<NodeId, BTreeMap<Name, PortNum>> = BTreeMap::new();
    for ((switch, name), output) in entries {
        by_switch.entry(switch).or_default().insert(name, output);
    }
    let needed = paths.destinations().iter().map(|port| most.get(port).copied().unwrap_or(0)).collect();
    Ok(Renaming { ids: chosen, entries: by_switch, needed })
}

/// The first id on which every switch of the path agrees.
fn valid_id(entries: &FxHashMap<(NodeId, Name), PortNum>, path: Path<'_>, ids: u32) -> Option<Name> {
    let names = (0..ids).map(|id| Name { destination: path.destination, id });
    let free = |name: &Name| {
        // Figure 4: an id is valid if every switch of the path either has no entry for it, or the entry that the path
        // needs.
        let elsewhere = |output: PortNum, there: &PortNum| *there != output;
        !path.hops.iter().any(|hop| entries.get(&(hop.switch, *name)).is_some_and(|there| elsewhere(hop.output, there)))
    };
    names.into_iter().find(free)
}

impl Renaming {
    /// By path, in the order of the set: the id with which its source sends.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Table R of a switch: the entries that paths use.
    pub fn table(&self, switch: NodeId) -> impl Iterator<Item = (Name, PortNum)> + '_ {
        self.entries.get(&switch).into_iter().flatten().map(|(&name, &output)| (name, output))
    }

    /// The number of entries of all switches, for id 0, which everybody would use, and for others.
    pub fn entries(&self) -> (usize, usize) {
        let names = || self.entries.values().flat_map(BTreeMap::keys);
        let original = names().filter(|name| name.id == 0).count();
        (original, names().count() - original)
    }

    /// By rank of the destination: the number of ids in use.
    pub fn needed(&self) -> &[u32] {
        &self.needed
    }

    /// The smallest LMC that gives the destination of this rank its ids.
    pub fn lmc(&self, rank: usize) -> Lmc {
        Lmc::masked(self.needed[rank].max(1).next_power_of_two().ilog2() as u8)
    }

    /// These ids as LID numbers of paths.
    pub fn path_lids(&self) -> PathLids {
        PathLids::new(self.ids.clone(), self.needed.clone())
    }

    /// The random forwarding tables of all switches, by node: each name as the LID of that number in a half. `capacity`
    /// is each switch's SwitchInfo:RandomFDBCap, which bounds its table (seed 000, section 4.1).
    ///
    /// # Errors
    /// A switch has room for fewer entries.
    ///
    /// # Panics
    /// A half has fewer LIDs than a destination has ids.
    pub fn random_tables(
        &self,
        fabric: &Fabric,
        half: Half,
        capacity: impl Fn(NodeId) -> u16,
    ) -> Result<Vec<RandomTable>, RandomTableFull> {
        let lid = |name: Name| -> Lid {
            let own = fabric.half_lids(name.destination, half).nth(name.id as usize);
            own.unwrap_or_else(|| panic!("{} has no id {}", fabric.describe_port(name.destination), name.id))
        };
        let mut tables = vec![RandomTable::default(); fabric.node_count()];
        for (&switch, entries) in &self.entries {
            let table: RandomTable = entries.iter().map(|(&name, &output)| (lid(name), output)).collect();
            table.check_fits(fabric, switch, capacity(switch))?;
            tables[switch.index()] = table;
        }
        Ok(tables)
    }
}
