//! Joined subnets that run, as the subnet administration of one of them is to know them.

use crate::support::across::{gid, host, id, joined, router_ports};
use reconfig::fabric::PortId;
use reconfig::fabric::subnets::Subnets;
use reconfig::routers::{Levels, Routes};
use reconfig::sa::{DirectoryFacts, Remote};
use reconfig::tables::SubnetTables;
use reconfig::wire::{Gid, Mtu};
use std::sync::Arc;

/// Subnets that run.
pub struct Across {
    pub subnets: Subnets,
    running: Vec<(Arc<SubnetTables>, PortId)>,
}

impl Across {
    /// So many subnets; each router has a port in each subnet of its list, a second one where it names it twice.
    pub fn new(count: usize, lmc: u8, routers: &[&[usize]]) -> Across {
        let (subnets, running) = joined(count, lmc, routers);
        Across { subnets, running: running.into_iter().map(|(tables, sm)| (Arc::new(tables), sm)).collect() }
    }

    /// What the subnet administration of one of them is to know, all routers in use.
    pub fn facts(&self, home: usize, levels: Levels) -> DirectoryFacts {
        let routes = Routes::all(&self.subnets);
        self.facts_with(home, Remote::of_routes(&self.subnets, &routes, id(home), levels))
    }

    pub fn facts_with(&self, home: usize, remote: Remote) -> DirectoryFacts {
        let subnet = self.subnets.subnet(id(home));
        let fabric = Arc::new(subnet.fabric.clone());
        let (tables, sm) = &self.running[home];
        let model = DirectoryFacts::modelled(fabric, tables.clone(), *sm, Mtu::B2048);
        DirectoryFacts { subnet_prefix: subnet.prefix.0, remote: Arc::new(remote), ..model }
    }

    /// The GID of a host of a subnet.
    pub fn gid(&self, subnet: usize, host: usize) -> Gid {
        gid(&self.subnets, subnet, host)
    }

    pub fn host(&self, subnet: usize, nth: usize) -> PortId {
        host(&self.subnets, subnet, nth)
    }

    /// The ports of a router in a subnet.
    pub fn router_ports(&self, router: usize, subnet: usize) -> Vec<PortId> {
        router_ports(&self.subnets, router, subnet)
    }
}
