//! Random forwarding tables: the form of a switch that searches its table for the DLID, so that only what is routed
//! takes room (InfiniBand specification, volume 1, RandomForwardingTable; seed 000, section 4.1). A linear table has
//! an entry for every LID up to the highest.

use crate::ids::{Lid, PortNum};
use crate::tables::Lft;
use std::collections::BTreeMap;

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
    /// What a linear table routes.
    pub fn of(linear: &Lft) -> RandomTable {
        (0..=Lid::MAX_UNICAST.0).map(Lid).filter_map(|lid| Some((lid, linear.get(lid)?))).collect()
    }

    /// The linear table that routes the same.
    pub fn linear(&self) -> Lft {
        let mut linear = Lft::default();
        self.iter().for_each(|(lid, output)| linear.set(lid, output));
        linear
    }

    /// The output for a DLID.
    pub fn get(&self, lid: Lid) -> Option<PortNum> {
        self.entries.get(&lid).copied()
    }

    /// The entries, by rising DLID.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Lid, PortNum)> + '_ {
        self.entries.iter().map(|(&lid, &output)| (lid, output))
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is routed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
