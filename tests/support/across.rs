//! Small subnets joined by routers: in each a ring of three switches with two hosts at each, brought up.

use super::brought_up::bring_up;
use reconfig::fabric::subnets::{Subnet, SubnetPort, Subnets};
use reconfig::fabric::{Fabric, FabricBuilder, NodeId, NodeKind, PortId};
use reconfig::ids::{GidPrefix, Guid, PortNum, SubnetId};
use reconfig::tables::SubnetTables;
use reconfig::wire::Gid;

/// So many subnets, and of each its tables and the port of its SM; each router has a port in each subnet of its list, a
/// second one where it names it twice.
pub fn joined(count: usize, lmc: u8, routers: &[&[usize]]) -> (Subnets, Vec<(SubnetTables, PortId)>) {
    let one = |subnet: usize| Subnet {
        name: format!("subnet-{subnet}"),
        prefix: GidPrefix::site_local(subnet as u16 + 1),
        fabric: fabric(subnet, routers),
    };
    let subnets = Subnets::new((0..count).map(one).collect()).expect("subnets that can be joined");
    let mut fabrics = Vec::new();
    let mut running = Vec::new();
    for (_, subnet) in subnets.subnets() {
        let up = bring_up(&subnet.fabric, lmc, false);
        fabrics.push(up.fabric);
        running.push((up.tables, up.sm));
    }
    (subnets.with_fabrics(fabrics), running)
}

pub fn id(subnet: usize) -> SubnetId {
    SubnetId(subnet as u16)
}

/// The GID of a host of a subnet.
pub fn gid(subnets: &Subnets, subnet: usize, host: usize) -> Gid {
    let port = subnets.fabric(id(subnet)).port(self::host(subnets, subnet, host));
    Gid { prefix: subnets.subnet(id(subnet)).prefix.0, guid: port.guid.expect("hosts have one") }
}

pub fn host(subnets: &Subnets, subnet: usize, host: usize) -> PortId {
    subnets.hosts(id(subnet)).nth(host).expect("six hosts")
}

/// The ports of a router in a subnet.
pub fn router_ports(subnets: &Subnets, router: usize, subnet: usize) -> Vec<PortId> {
    let own = subnets.routers()[router].ports.iter();
    own.filter(|at| at.subnet == id(subnet)).map(|at: &SubnetPort| at.port).collect()
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
