//! Partitions of a subnet as defined by OpenSM's `partitions.conf`, and the resulting partition keys of every port.
//!
//! On entry: the text of such a file ([`Partitions::read`]). On return: its partitions and rules; and, given a fabric
//! and its manager's port, [`Partitions::tables`]: by port the keys in the order of its P_KeyTable, with the highest
//! bit set for full members. What does not affect a port's keys (rates, MTUs, service levels, multicast groups) is
//! ignored. Rules apply in the order of the file, and of two on the same port and partition the later counts, as in
//! OpenSM without `allow_both_pkeys`; `both` means `full` there. [`KeyTables`] has the tables of several subnets, and
//! determines the key of a packet between two ports. Deliberately omitted: the capacity of tables (no capture holds
//! PartitionCap), and keys that a port had before.

mod conf;

use super::{SubnetPort, Subnets};
use crate::fabric::format::{ReadError, ReadNotice};
use crate::fabric::{Fabric, NodeKind, PortId};
use crate::ids::{Guid, PKey, SubnetId};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// The partition of which every port is a member: 0x7fff.
const DEFAULT: PKey = PKey(0x7FFF);

/// The partitions of one subnet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partitions {
    /// The text as read, for writing it again.
    text: Arc<str>,
    list: Vec<Partition>,
    rules: Vec<Rule>,
}

/// One partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// Its name; its key in hexadecimal if the file gives none.
    pub name: String,
    /// Its key, highest bit clear.
    pub key: PKey,
}

/// The members of a partition, and their kind of membership.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Rule {
    /// Rank of the partition.
    partition: usize,
    who: Who,
    full: bool,
    /// `indx0`: the key must be the first of the port's table.
    first: bool,
    /// The line in the file; 0 for OpenSM's default rules.
    line: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Who {
    All,
    Kind(NodeKind),
    /// The port of the subnet manager.
    Manager,
    Port(Guid),
}

/// The size of a partition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Membership {
    /// The partition's name.
    pub name: String,
    /// Its key, highest bit clear.
    pub key: PKey,
    /// Ports of hosts that are full members.
    pub full_hosts: usize,
    /// Ports of hosts that are limited members.
    pub limited_hosts: usize,
    /// Ports of routers that are full members.
    pub full_routers: usize,
    /// Ports of routers that are limited members.
    pub limited_routers: usize,
}

impl Partitions {
    /// Parses a `partitions.conf`; `file` is its name in messages. The notices report where OpenSM understands the file
    /// differently than a reader may expect.
    ///
    /// # Errors
    /// The first error for which OpenSM refuses the file (it then makes every port a full member of the default
    /// partition and logs a line), or that makes it read something other than what is written.
    pub fn read(bytes: &[u8], file: &str) -> Result<(Partitions, Vec<ReadNotice>), ReadError> {
        conf::read(bytes, file)
    }

    /// The text of the file, as it was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The partitions in the order of the file, after the default one.
    pub fn list(&self) -> &[Partition] {
        &self.list
    }

    /// Port GUIDs that rules name and the fabric lacks, each with its line: OpenSM ignores them.
    pub fn strangers(&self, fabric: &Fabric) -> Vec<ReadNotice> {
        let mut known: Vec<Guid> = fabric.ports().filter_map(|(port, _)| fabric.recorded_port_guid(port)).collect();
        known.sort_unstable();
        let stranger = |rule: &Rule| match rule.who {
            Who::Port(guid) if known.binary_search(&guid).is_err() => {
                let text = format!("no port of the capture has GUID {guid}: this line adds no member");
                Some(ReadNotice { line: rule.line, text })
            }
            _ => None,
        };
        self.rules.iter().filter_map(stranger).collect()
    }

    /// By port: its partition keys in the order of its table; empty for ports without a table, which are the external
    /// ports of switches. `manager` is the subnet manager's port.
    ///
    /// The first key is the default partition's, or that of `indx0`; the others follow in the order in which OpenSM
    /// keeps partitions, by the key's lower byte, then its upper one (on machines that store lower bytes first).
    pub fn tables(&self, fabric: &Fabric, manager: Option<PortId>) -> Vec<Vec<PKey>> {
        let mut tables = vec![Vec::new(); fabric.port_count()];
        for port in fabric.lid_ports() {
            tables[port.index()] = self.table(fabric, port, manager);
        }
        tables
    }

    fn table(&self, fabric: &Fabric, port: PortId, manager: Option<PortId>) -> Vec<PKey> {
        let mut member: Vec<Option<bool>> = vec![None; self.list.len()];
        let mut first = None;
        for rule in self.rules.iter().filter(|rule| rule.who.is(fabric, port, manager)) {
            member[rule.partition] = Some(rule.full);
            // A later definition without `indx0` reverts it.
            first = if rule.first { Some(rule.partition) } else { first.filter(|&other| other != rule.partition) };
        }
        let front = first.unwrap_or(0);
        let mut ranks: Vec<usize> = (0..self.list.len()).filter(|&rank| member[rank].is_some()).collect();
        ranks.sort_unstable_by_key(|&rank| (rank != front, self.list[rank].key.0.swap_bytes(), rank));
        let key = |rank: usize| PKey(self.list[rank].key.0 | if member[rank] == Some(true) { PKey::FULL } else { 0 });
        ranks.into_iter().map(key).collect()
    }

    /// The members of each partition, in the order of [`Partitions::list`]; partitions without hosts and routers
    /// included.
    pub fn membership(&self, fabric: &Fabric, manager: Option<PortId>) -> Vec<Membership> {
        let tables = self.tables(fabric, manager);
        let count = |key: PKey, kind: NodeKind| {
            let ports = fabric.end_ports().filter(|&port| fabric.node(fabric.port(port).node).kind == kind);
            ports.filter(|port| tables[port.index()].contains(&key)).count()
        };
        let membership = |partition: &Partition| {
            let (full, limited) = (PKey(partition.key.0 | PKey::FULL), partition.key);
            Membership {
                name: partition.name.clone(),
                key: limited,
                full_hosts: count(full, NodeKind::Ca),
                limited_hosts: count(limited, NodeKind::Ca),
                full_routers: count(full, NodeKind::Router),
                limited_routers: count(limited, NodeKind::Router),
            }
        };
        self.list.iter().map(membership).collect()
    }
}

impl fmt::Display for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Membership { name, key, full_hosts, limited_hosts, full_routers, limited_routers } = self;
        write!(f, "{name} {key}: {full_hosts} ports of hosts and {full_routers} of routers are full members, ")?;
        write!(f, "{limited_hosts} and {limited_routers} limited ones")
    }
}

impl Who {
    fn is(self, fabric: &Fabric, port: PortId, manager: Option<PortId>) -> bool {
        match self {
            Who::All => true,
            Who::Kind(kind) => fabric.node(fabric.port(port).node).kind == kind,
            Who::Manager => manager == Some(port),
            Who::Port(guid) => fabric.recorded_port_guid(port) == Some(guid),
        }
    }
}

/// The port that runs a subnet's manager, as far as the capture shows: the port where it was made, else one of that
/// node, else the first host.
pub fn usual_manager(fabric: &Fabric) -> Option<PortId> {
    let origin = fabric.origin().and_then(|(node, port)| Some((fabric.by_guid(node)?, port)));
    let at_origin = origin.and_then(|(node, guid)| {
        let own = || fabric.end_ports().filter(move |&port| fabric.port(port).node == node);
        own().find(|&port| fabric.port(port).guid == Some(guid)).or_else(|| own().next())
    });
    at_origin.or_else(|| fabric.end_ports().find(|&port| fabric.is_host_port(port)))
}

/// The partition keys of every port of several subnets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyTables {
    /// By subnet and port; none for a subnet without a file, where every port is a full member of the default
    /// partition.
    tables: Vec<Option<Vec<Vec<PKey>>>>,
}

impl KeyTables {
    /// The keys that result from the partitions of the subnets, whose managers are at these ports.
    ///
    /// Panics if there are not as many managers as subnets.
    pub fn of(subnets: &Subnets, managers: &[Option<PortId>]) -> KeyTables {
        assert_eq!(managers.len(), subnets.len(), "a manager for each subnet");
        let own = |(id, _): (SubnetId, _)| {
            let tables = |partitions: &Partitions| partitions.tables(subnets.fabric(id), managers[id.index()]);
            subnets.partitions(id).map(tables)
        };
        KeyTables { tables: subnets.subnets().map(own).collect() }
    }

    /// The keys of a port, in the order of its table.
    pub fn keys(&self, at: SubnetPort) -> &[PKey] {
        self.tables[at.subnet.index()].as_ref().map_or(&[PKey::DEFAULT], |own| &own[at.port.index()])
    }

    /// The key of packets from one port to another: the first in the sender's table that matches one of the receiver's.
    /// None if they have no partition in common, or are both limited members of each common one.
    pub fn shared(&self, from: SubnetPort, to: SubnetPort) -> Option<PKey> {
        PKey::shared(self.keys(from), self.keys(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::FabricBuilder;
    use crate::ids::PortNum;

    /// Hosts 0x11 and 0x21, a router's port 0x31, at switch 0x10.
    fn fabric() -> Fabric {
        let mut builder = FabricBuilder::new();
        let switch = builder.node(NodeKind::Switch, Guid(0x90), 4, "switch");
        let kinds = [NodeKind::Ca, NodeKind::Ca, NodeKind::Router];
        for (rank, kind) in kinds.into_iter().enumerate() {
            let guid = 0x10 * (rank as u64 + 1);
            let node = builder.node(kind, Guid(guid), 1, format!("node-{guid:x}"));
            builder.port_mut(node, PortNum(1)).expect("a port").guid = Some(Guid(guid + 1));
            let ends = ((switch, PortNum(rank as u8 + 1)), (node, PortNum(1)));
            builder.link(ends.0, ends.1, Default::default(), Default::default()).expect("free ports");
        }
        builder.build().expect("a fabric")
    }

    /// The tables of 0x11 (the manager's), 0x21 and 0x31.
    fn tables(text: &str) -> [Vec<u16>; 3] {
        let (partitions, _) = Partitions::read(text.as_bytes(), "test").expect("a good file");
        let fabric = fabric();
        let ports: Vec<PortId> = fabric.end_ports().collect();
        let tables = partitions.tables(&fabric, Some(ports[0]));
        [0, 1, 2].map(|rank| tables[ports[rank].index()].iter().map(|key| key.0).collect())
    }

    #[test]
    fn a_file_makes_everybody_but_the_manager_limited_in_the_default_partition() {
        assert_eq!(tables("A=5: 0x21=full;"), [vec![0xFFFF], vec![0x7FFF, 0x8005], vec![0x7FFF]]);
        assert_eq!(tables("Default : ALL=full;"), [vec![0xFFFF], vec![0xFFFF], vec![0xFFFF]]);
        assert_eq!(tables("Default=0x7fff : ALL;"), [vec![0x7FFF], vec![0x7FFF], vec![0x7FFF]], "even the manager");
    }

    #[test]
    fn the_later_rule_counts_and_definitions_of_one_key_are_one_partition() {
        let [first, second, router] = tables("A=5: ALL=full, 0x21; B=5: 0x31=limited, 0x11=both;");
        assert_eq!((first, second, router), (vec![0xFFFF, 0x8005], vec![0x7FFF, 5], vec![0x7FFF, 5]));
    }

    #[test]
    fn kinds_of_nodes_and_the_manager_have_words() {
        let found = tables("A=1: ALL_CAS=full; B=2: ALL_ROUTERS; C=3: SELF=full, NONE; D=4: ALL_SWITCHES=full; E=6:;");
        assert_eq!(found, [vec![0xFFFF, 0x8001, 0x8003], vec![0x7FFF, 0x8001], vec![0x7FFF, 2]]);
    }

    #[test]
    fn keys_stand_by_their_lower_bytes_behind_the_first() {
        let [first, second, _] = tables("A=0x0102, indx0: 0x21=full; B=0x0201: ALL=full; C=0x0001: ALL=full;");
        assert_eq!(second, [0x8102, 0x8001, 0x8201, 0x7FFF]);
        assert_eq!(first, [0xFFFF, 0x8001, 0x8201]);
        assert_eq!(tables("A=2, indx0: 0x21=full; A=2: 0x21=full;")[1], [0x7FFF, 0x8002], "taken back");
    }

    #[test]
    fn a_definition_without_a_key_gets_the_next_free_one_or_that_of_its_name() {
        let keys = |text: &str| -> Vec<(String, u16)> {
            let (partitions, _) = Partitions::read(text.as_bytes(), "test").expect("a good file");
            partitions.list().iter().skip(1).map(|own| (own.name.clone(), own.key.0)).collect()
        };
        let named =
            |pairs: &[(&str, u16)]| pairs.iter().map(|&(name, key)| (name.to_string(), key)).collect::<Vec<_>>();
        assert_eq!(keys("A=2: ALL; B: ALL; C: ALL;"), named(&[("A", 2), ("B", 1), ("C", 3)]));
        assert_eq!(
            keys("A=0x8003: ALL; A: SELF; 17: ALL; 0x20, ipoib: ALL;"),
            named(&[("A", 3), ("0011", 17), ("0020", 0x20)])
        );
        assert_eq!(keys(": ALL; : ALL;"), named(&[("0001", 1), ("0002", 2)]));
        let long = "an-unusually-long-name-of-a-partition";
        assert_eq!(keys(&format!("{long}: ALL; {long}: SELF;")).len(), 2, "longer names are cut, and not found again");
    }
}
