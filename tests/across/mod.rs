//! Small subnets joined by routers: in each a ring of three switches with two hosts at each, brought up.
#![allow(dead_code)] // Each test takes what it needs of it.

use super::changes;
use reconfig::fabric::subnets::{Subnet, SubnetPort, Subnets};
use reconfig::fabric::{Fabric, FabricBuilder, NodeId, NodeKind, PortId};
use reconfig::ids::{GidPrefix, Guid, PortNum, SubnetId};
use reconfig::routers::{Levels, Routes};
use reconfig::sa::{Facts, Remote};
use reconfig::tables::SubnetTables;
use reconfig::wire::{Gid, Mtu};
use std::sync::Arc;

/// Subnets that run.
pub struct Across {
    pub subnets: Subnets,
    tables: Vec<Arc<SubnetTables>>,
    sms: Vec<PortId>,
}

impl Across {
    /// So many subnets; each router has a port in each subnet of its list, a second one where it names it twice.
    pub fn new(count: usize, lmc: u8, routers: &[&[usize]]) -> Across {
        let mut across = Across { subnets: joined(count, routers), tables: Vec::new(), sms: Vec::new() };
        let mut fabrics = Vec::new();
        for (_, subnet) in across.subnets.subnets() {
            let running = changes::bring_up(&subnet.fabric, lmc, false);
            across.tables.push(Arc::new(running.tables));
            across.sms.push(running.sm);
            fabrics.push(running.fabric);
        }
        across.subnets = across.subnets.with_fabrics(fabrics);
        across
    }

    /// What the subnet administration of one of them is to know, all routers in use.
    pub fn facts(&self, home: usize, levels: Levels) -> Facts {
        let routes = Routes::all(&self.subnets);
        self.facts_with(home, Remote::of_routes(&self.subnets, &routes, id(home), levels))
    }

    pub fn facts_with(&self, home: usize, remote: Remote) -> Facts {
        let subnet = self.subnets.subnet(id(home));
        let fabric = Arc::new(subnet.fabric.clone());
        let model = Facts::modelled(fabric, self.tables[home].clone(), self.sms[home], Mtu::B2048);
        Facts { subnet_prefix: subnet.prefix.0, remote: Arc::new(remote), ..model }
    }

    /// The GID of a host of a subnet.
    pub fn gid(&self, subnet: usize, host: usize) -> Gid {
        let fabric = self.subnets.fabric(id(subnet));
        let port = self.host(subnet, host);
        Gid { prefix: self.subnets.subnet(id(subnet)).prefix.0, guid: fabric.port(port).guid.expect("hosts have one") }
    }

    pub fn host(&self, subnet: usize, host: usize) -> PortId {
        self.subnets.hosts(id(subnet)).nth(host).expect("six hosts")
    }

    /// The ports of a router in a subnet.
    pub fn router_ports(&self, router: usize, subnet: usize) -> Vec<PortId> {
        let own = self.subnets.routers()[router].ports.iter();
        own.filter(|at| at.subnet == id(subnet)).map(|at: &SubnetPort| at.port).collect()
    }
}

pub fn id(subnet: usize) -> SubnetId {
    SubnetId(subnet as u16)
}

fn joined(count: usize, routers: &[&[usize]]) -> Subnets {
    let one = |subnet: usize| Subnet {
        name: format!("subnet-{subnet}"),
        prefix: GidPrefix::site_local(subnet as u16 + 1),
        fabric: fabric(subnet, routers),
    };
    Subnets::new((0..count).map(one).collect()).expect("subnets that can be joined")
}

fn fabric(subnet: usize, routers: &[&[usize]]) -> Fabric {
    let mut builder = FabricBuilder::new();
    let first = 0x1000 * (subnet as u64 + 1);
    let switches = [0, 1, 2].map(|n| builder.node(NodeKind::Switch, Guid(first + n), 16, format!("s{subnet}-sw-{n}")));
    for n in 0..3 {
        link(&mut builder, (switches[n], 1), (switches[(n + 1) % 3], 2));
        for port in [3, 4] {
            let guid = Guid(first + 0x100 + 0x20 * n as u64 + 0x10 * u64::from(port));
            let host = builder.node(NodeKind::Ca, guid, 1, format!("s{subnet}-host-{}", 2 * n + usize::from(port) - 3));
            builder.port_mut(host, PortNum(1)).expect("a port").guid = Some(Guid(guid.0 + 1));
            link(&mut builder, (switches[n], port), (host, 1));
        }
    }
    let mut used = [4u8; 3];
    for (rank, joins) in routers.iter().enumerate().filter(|(_, joins)| joins.contains(&subnet)) {
        // In rising order as numbers, and in falling order by their last bytes.
        let guid = Guid(0xA0F0 + 0xFFF0 * rank as u64);
        let router = builder.node(NodeKind::Router, guid, joins.len() as u8, format!("router-{rank}"));
        for (at, _) in joins.iter().enumerate().filter(|&(_, &other)| other == subnet) {
            let (num, switch) = (at as u8 + 1, (rank + at) % 3);
            builder.port_mut(router, PortNum(num)).expect("a port").guid = Some(Guid(guid.0 + u64::from(num)));
            used[switch] += 1;
            link(&mut builder, (switches[switch], used[switch]), (router, num));
        }
    }
    builder.build().expect("a fabric")
}

fn link(builder: &mut FabricBuilder, (a, i): (NodeId, u8), (b, j): (NodeId, u8)) {
    let ends = ((a, PortNum(i)), (b, PortNum(j)));
    builder.link(ends.0, ends.1, Default::default(), Default::default()).expect("free ports");
}
