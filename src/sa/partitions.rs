//! The partitions that two ports share, from their P_Key tables.
//!
//! Two ports exchange packets of a partition that both hold and of which at least one is a full member (section
//! 10.9.3). Of several the default partition comes first, then the one that OpenSM would name: it compares keys in
//! network byte order as numbers of a little-endian machine. The key that is named is the source's own. A port whose
//! table is not known counts as a full member of the default partition alone, and so do most ports: while all do,
//! nothing is kept.

use crate::ids::PKey;
use std::collections::{BTreeMap, BTreeSet};

/// The keys of the ports of a subnet. See the module documentation.
#[derive(Clone, Debug)]
pub(super) struct SharedPartitions {
    /// The tables, each once, in the order in which keys are chosen; the first is that of a full member of the default
    /// partition alone.
    tables: Vec<Vec<PKey>>,
    /// By [`PortId`](crate::fabric::PortId): which of them; empty if all are the first.
    table_of: Vec<u32>,
}

impl SharedPartitions {
    /// Of the ports' tables, by [`PortId`](crate::fabric::PortId); an empty one is not known.
    pub(super) fn new(by_port: &[Vec<u16>]) -> SharedPartitions {
        let usual = vec![PKey::DEFAULT];
        let mut ranks: BTreeMap<Vec<PKey>, u32> = BTreeMap::from([(usual.clone(), 0)]);
        let mut tables = vec![usual];
        let mut table_of: Vec<u32> = Vec::with_capacity(by_port.len());
        for held in by_port {
            // Most need no look-up.
            table_of.push(if held.is_empty() || held[..] == [PKey::DEFAULT.0] {
                0
            } else {
                *ranks.entry(in_order(held)).or_insert_with_key(|keys| {
                    tables.push(keys.clone());
                    tables.len() as u32 - 1
                })
            });
        }
        if tables.len() == 1 {
            table_of = Vec::new();
        }
        SharedPartitions { tables, table_of }
    }

    /// The key of packets from one port to another, by index; none if they share no partition.
    pub(super) fn shared(&self, from: usize, to: usize) -> Option<PKey> {
        let (own, others) = self.of(from, to);
        PKey::shared(own, others)
    }

    /// Whether two ports share the partition that a key names, as a full or limited member.
    pub(super) fn share(&self, from: usize, to: usize, key: PKey) -> bool {
        let (own, others) = self.of(from, to);
        own.iter().any(|held| held.partition() == key.partition() && held.is_among(others))
    }

    /// Whether a port, by index, is a full or limited member of the partition that a key names.
    pub(super) fn holds(&self, port: usize, key: PKey) -> bool {
        self.of(port, port).0.iter().any(|held| held.partition() == key.partition())
    }

    /// The partitions of which some port is a member, each by the key of full members; the default one is among them.
    pub(super) fn all(&self) -> BTreeSet<PKey> {
        let full = |key: &PKey| PKey(key.0 | PKey::FULL);
        self.tables.iter().flatten().map(full).collect()
    }

    fn of(&self, from: usize, to: usize) -> (&[PKey], &[PKey]) {
        let table = |port: usize| &self.tables[self.table_of.get(port).map_or(0, |&rank| rank as usize)][..];
        (table(from), table(to))
    }
}

/// The keys of a table in the order in which they are chosen; of one partition the full membership first. Unused
/// entries are left out.
fn in_order(table: &[u16]) -> Vec<PKey> {
    let mut keys: Vec<PKey> = table.iter().map(|&key| PKey(key)).filter(|key| key.partition() != 0).collect();
    let rank = |key: &PKey| {
        let partition = key.partition();
        (partition != PKey::DEFAULT.partition(), partition.swap_bytes(), key.0 & PKey::FULL == 0)
    };
    keys.sort_unstable_by_key(rank);
    keys.dedup();
    keys
}
