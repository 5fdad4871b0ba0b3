//! Random forwarding tables: a switch searches its table for the DLID, so that only routed LIDs take room (InfiniBand
//! specification, volume 1, RandomForwardingTable; seed 000, section 4.1). A linear table has an entry for every LID up
//! to the highest.

use crate::fabric::{Fabric, NodeId};
use crate::ids::{Lid, PortNum};
use crate::tables::Lft;
use std::collections::BTreeMap;

/// A switch has room for fewer entries than its random table would have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "switch {switch} has room for {capacity} random forwarding entries (SwitchInfo:RandomFDBCap), and {needed} are needed: \
     choose paths that need fewer LIDs, or take the switch out"
)]
pub struct RandomTableFull {
    /// The switch.
    pub switch: String,
    /// SwitchInfo:RandomFDBCap.
    pub capacity: u16,
    /// Entries of its table.
    pub needed: usize,
}

/// A set of (DLID, output port) entries, each DLID once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RandomTable {
    entries: BTreeMap<Lid, PortNum>,
}

impl FromIterator<(Lid, PortNum)> for RandomTable {
    fn from_iter<I: IntoIterator<Item = (Lid, PortNum)>>(entries: I) -> RandomTable {
        RandomTable { entries: entries.into_iter().collect() }
    }
}

impl RandomTable {
    /// The routes of a linear table.
    pub fn of(linear: &Lft) -> RandomTable {
        (0..=Lid::MAX_UNICAST.0).map(Lid).filter_map(|lid| Some((lid, linear.get(lid)?))).collect()
    }

    /// The linear table with the same routes.
    pub fn linear(&self) -> Lft {
        let mut linear = Lft::default();
        self.iter().for_each(|(lid, output)| linear.set(lid, output));
        linear
    }

    /// The output for a DLID.
    pub fn get(&self, lid: Lid) -> Option<PortNum> {
        self.entries.get(&lid).copied()
    }

    /// The entries, in ascending order of DLID.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Lid, PortNum)> + '_ {
        self.entries.iter().map(|(&lid, &output)| (lid, output))
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether a switch with this SwitchInfo:RandomFDBCap can hold it.
    ///
    /// # Errors
    /// It has room for fewer entries.
    pub fn check_fits(&self, fabric: &Fabric, switch: NodeId, capacity: u16) -> Result<(), RandomTableFull> {
        match self.len() {
            needed if needed <= usize::from(capacity) => Ok(()),
            needed => Err(RandomTableFull { switch: fabric.describe_node(switch), capacity, needed }),
        }
    }

    /// Returns whether nothing is routed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
