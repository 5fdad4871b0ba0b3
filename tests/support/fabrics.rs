//! Small fabrics for the tests of routing and proof.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use reconfig::fabric::{Fabric, FabricBuilder, NodeId, NodeKind};
use reconfig::ids::{Guid, Lmc, PortNum};
use reconfig::lid;

/// Switches joined as `links` say (parallel ones allowed), `hosts` adapters on each; LIDs with LMC 1.
pub fn fabric_of(switches: usize, links: &[(usize, usize)], hosts: usize) -> Fabric {
    fabric_with(switches, links, &(0..switches * hosts).map(|host| host / hosts).collect::<Vec<_>>())
}

/// The same with an adapter at each switch listed.
pub fn fabric_with(switches: usize, links: &[(usize, usize)], hosts: &[usize]) -> Fabric {
    let mut builder = FabricBuilder::new();
    let mut used = vec![0u8; switches];
    let nodes: Vec<NodeId> =
        (0..switches).map(|i| builder.node(NodeKind::Switch, Guid(0x100 + i as u64), 40, format!("sw-{i}"))).collect();
    let mut next = |i: usize| {
        used[i] += 1;
        (nodes[i], PortNum(used[i]))
    };
    for &(a, b) in links {
        builder.link(next(a), next(b), Default::default(), Default::default()).unwrap();
    }
    for (host, &at) in hosts.iter().enumerate() {
        let node = builder.node(NodeKind::Ca, Guid(0x1000 + host as u64), 1, format!("host-{host}"));
        builder.link(next(at), (node, PortNum(1)), Default::default(), Default::default()).unwrap();
    }
    lid::assign(&builder.build().unwrap(), Lmc::new(1).unwrap()).unwrap()
}

/// A connected random fabric: a random tree and `extra` random links more.
pub fn random_fabric(seed: u64, switches: usize, extra: usize, hosts: usize) -> Fabric {
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut links: Vec<(usize, usize)> = (1..switches).map(|i| (rng.random_range(0..i), i)).collect();
    for _ in 0..extra {
        let a = rng.random_range(0..switches);
        let b = (a + rng.random_range(1..switches)) % switches;
        links.push((a, b));
    }
    fabric_of(switches, &links, hosts)
}

/// Switches on a ring, one adapter each.
pub fn ring(switches: usize) -> Fabric {
    let links: Vec<_> = (0..switches).map(|i| (i, (i + 1) % switches)).collect();
    fabric_of(switches, &links, 1)
}
