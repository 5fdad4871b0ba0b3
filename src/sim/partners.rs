//! Which hosts of several subnets may send to each other, where they are in partitions.
//!
//! On entry the P_Key table of every host; on return the key of a packet between two hosts, if they share one, and for
//! each host the destinations that it may draw. Hosts of one subnet with equal tables are a class, so that many
//! hosts in few partitions take little room. Nothing within a subnet looks at the keys: switches enforce none here.

use super::index::{By, EndPortRank};
use super::source::{Source, below};
use crate::fabric::subnets::SubnetPort;
use crate::ids::{PKey, SubnetId};
use std::collections::BTreeMap;

/// Hosts by class.
pub(super) struct Partners {
    /// By rank of end port; meaningless for ports that are no hosts.
    class: By<EndPortRank, u32>,
    classes: Vec<Class>,
}

/// Hosts of one subnet with equal tables.
#[derive(Default)]
struct Class {
    /// By the receiver's class.
    keys: Vec<Option<PKey>>,
    /// Ranks of the hosts of its own subnet that it shares a partition with, in rising order; itself where it may speak
    /// with its like.
    within: Vec<EndPortRank>,
    /// The same of all other subnets.
    beyond: Vec<EndPortRank>,
}

impl Partners {
    /// None where no host has a table: then all hosts send to each other in the default partition. `hosts` are their
    /// ranks by subnet, `ranks` is the number of end ports.
    pub fn of(
        tables: &BTreeMap<SubnetPort, Vec<PKey>>,
        hosts: &[Vec<EndPortRank>],
        ranks: usize,
        at: impl Fn(EndPortRank) -> SubnetPort,
    ) -> Option<Partners> {
        if tables.is_empty() {
            return None;
        }
        let default = vec![PKey::DEFAULT];
        let mut known: BTreeMap<(SubnetId, &[PKey]), u32> = BTreeMap::new();
        let mut class = By::filled(u32::MAX, ranks);
        for &rank in hosts.iter().flatten() {
            let place = at(rank);
            let table = tables.get(&place).unwrap_or(&default);
            let next = known.len() as u32;
            class[rank] = *known.entry((place.subnet, table)).or_insert(next);
        }
        let mut by_class: Vec<(SubnetId, &[PKey])> = vec![(SubnetId(0), &[]); known.len()];
        known.iter().for_each(|(&own, &rank)| by_class[rank as usize] = own);
        let classes = by_class.iter().map(|own| Class::of(*own, &by_class, hosts, &class));
        Some(Partners { classes: classes.collect(), class })
    }

    /// The key of packets from one host to another; none where they share no partition.
    pub fn key(&self, from: EndPortRank, to: EndPortRank) -> Option<PKey> {
        let [from, to] = [from, to].map(|rank| self.class[rank] as usize);
        self.classes[from].keys[to]
    }

    /// A destination among those that a source may speak with, in another subnet where it `crosses` and has partners
    /// there; itself where it has no partner.
    pub fn draw(&self, source: &mut Source, crosses: bool) -> EndPortRank {
        let Class { within, beyond, .. } = &self.classes[self.class[source.rank] as usize];
        if crosses && !beyond.is_empty() {
            return beyond[below(&mut source.random, beyond.len() as u32) as usize];
        }
        let own = within.binary_search(&source.rank).ok();
        let count = within.len() - usize::from(own.is_some());
        if count == 0 {
            return source.rank;
        }
        let drawn = below(&mut source.random, count as u32) as usize;
        within[if own.is_some_and(|own| drawn >= own) { drawn + 1 } else { drawn }]
    }
}

impl Class {
    fn of(
        (subnet, table): (SubnetId, &[PKey]),
        all: &[(SubnetId, &[PKey])],
        hosts: &[Vec<EndPortRank>],
        class: &By<EndPortRank, u32>,
    ) -> Class {
        let keys: Vec<Option<PKey>> = all.iter().map(|(_, other)| PKey::shared(table, other)).collect();
        let mut own = Class { keys, ..Class::default() };
        for (at, ranks) in hosts.iter().enumerate() {
            let shared = ranks.iter().copied().filter(|&rank| own.keys[class[rank] as usize].is_some());
            let shared: Vec<EndPortRank> = shared.collect();
            if at == subnet.index() { own.within = shared } else { own.beyond.extend(shared) }
        }
        own
    }
}
