//! Fat trees as they stand in machine rooms: with aggregation nodes in every switch, storage at spines, leaves that
//! lost their hosts, uplinks of several speeds, two planes. The engine must find the leaves of each.

use super::oracle::examine;
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind};
use reconfig::ids::{Guid, PortNum};
use reconfig::routing::{Demand, Engine, FatTree};

/// A fabric in the making, cables at the next free ports.
struct Yard {
    builder: FabricBuilder,
    used: Vec<u8>,
}

impl Yard {
    fn new() -> Yard {
        Yard { builder: FabricBuilder::new(), used: Vec::new() }
    }

    fn add(&mut self, kind: NodeKind, system: Option<Guid>) -> NodeId {
        let guid = Guid(0x100 + self.used.len() as u64);
        let id = self.builder.node(kind, guid, if kind == NodeKind::Switch { 64 } else { 2 }, format!("node {guid}"));
        self.builder.node_mut(id).system_guid = Some(system.unwrap_or(guid));
        self.used.push(0);
        id
    }

    fn switches(&mut self, count: usize) -> Vec<NodeId> {
        (0..count).map(|_| self.add(NodeKind::Switch, None)).collect()
    }

    fn cable(&mut self, a: NodeId, b: NodeId, speed: LinkSpeed) {
        let ends = [a, b].map(|node| {
            self.used[node.index()] += 1;
            (node, PortNum(self.used[node.index()]))
        });
        self.builder.link(ends[0], ends[1], LinkWidth::X4, speed).expect("free ports");
    }

    fn hosts(&mut self, switch: NodeId, count: usize) {
        for _ in 0..count {
            let host = self.add(NodeKind::Ca, None);
            self.cable(switch, host, LinkSpeed::Hdr);
        }
    }

    /// An aggregation node of the switch, which has no description that says so.
    fn aggregation(&mut self, switch: NodeId) {
        let system = self.builder.nodes()[switch.index()].guid;
        let node = self.add(NodeKind::Ca, Some(system));
        self.cable(switch, node, LinkSpeed::Hdr);
    }

    fn join(&mut self, lower: &[NodeId], upper: &[NodeId], speed: LinkSpeed) {
        lower.iter().for_each(|&leaf| upper.iter().for_each(|&spine| self.cable(leaf, spine, speed)));
    }

    fn built(self) -> Fabric {
        self.builder.build().expect("a fabric")
    }
}

/// The engine routes it to every end port, on one layer, without a cycle.
fn assert_routed(name: &str, fabric: &Fabric) {
    let demand = Demand::all(fabric, 1);
    let function = FatTree.route(fabric, &demand).unwrap_or_else(|error| panic!("{name}: {error}"));
    let found = examine(fabric, &demand, &function);
    assert_eq!(found.cyclic, [false], "{name}: one layer, without a cycle");
}

/// Three levels: pods of leaves and middle switches below four cores.
fn three_levels(yard: &mut Yard, hosts: impl Fn(usize) -> usize) -> [Vec<NodeId>; 3] {
    let (leaves, middle, cores) = (yard.switches(9), yard.switches(6), yard.switches(4));
    for pod in 0..3 {
        yard.join(&leaves[3 * pod..3 * pod + 3], &middle[2 * pod..2 * pod + 2], LinkSpeed::Hdr);
    }
    yard.join(&middle, &cores, LinkSpeed::Hdr);
    leaves.iter().enumerate().for_each(|(at, &leaf)| yard.hosts(leaf, hosts(at)));
    [leaves, middle, cores]
}

#[test]
fn aggregation_nodes_in_every_switch_make_no_leaf() {
    for hosts in [1, 2, 5] {
        let mut yard = Yard::new();
        let levels = three_levels(&mut yard, |_| hosts);
        levels.iter().flatten().for_each(|&switch| yard.aggregation(switch));
        assert_routed(&format!("{hosts} hosts a leaf"), &yard.built());
    }
}

#[test]
fn storage_at_spines_makes_no_leaf() {
    for (storage, aggregation) in [(1, false), (4, false), (4, true)] {
        let mut yard = Yard::new();
        let (leaves, spines) = (yard.switches(6), yard.switches(3));
        yard.join(&leaves, &spines, LinkSpeed::Edr);
        // The last leaf has lost most of its hosts: fewer are left than a spine has targets.
        leaves.iter().enumerate().for_each(|(at, &leaf)| yard.hosts(leaf, if at == 5 { 2 } else { 8 }));
        spines[..2].iter().for_each(|&spine| yard.hosts(spine, storage));
        if aggregation {
            leaves.iter().chain(&spines).for_each(|&switch| yard.aggregation(switch));
        }
        assert_routed(&format!("{storage} targets a spine"), &yard.built());
    }
}

#[test]
fn a_leaf_without_hosts_is_no_obstacle() {
    let mut yard = Yard::new();
    let levels = three_levels(&mut yard, |at| if at % 3 == 1 { 0 } else { 1 + at });
    levels.iter().flatten().for_each(|&switch| yard.aggregation(switch));
    assert_routed("every third leaf is empty", &yard.built());
}

#[test]
fn uplinks_of_several_speeds_are_uplinks() {
    let mut yard = Yard::new();
    let (leaves, old, new) = (yard.switches(5), yard.switches(2), yard.switches(2));
    yard.join(&leaves, &old, LinkSpeed::Fdr);
    yard.join(&leaves, &new, LinkSpeed::Hdr);
    yard.join(&leaves[..2], &new, LinkSpeed::Hdr);
    leaves.iter().for_each(|&leaf| yard.hosts(leaf, 4));
    assert_routed("two generations of spines", &yard.built());
}

#[test]
fn two_planes_that_meet_above_are_one_tree() {
    let mut yard = Yard::new();
    let planes = [(yard.switches(4), yard.switches(2)), (yard.switches(4), yard.switches(2))];
    let cores = yard.switches(2);
    for (leaves, spines) in &planes {
        yard.join(leaves, spines, LinkSpeed::Hdr);
        yard.join(spines, &cores, LinkSpeed::Hdr);
        leaves.iter().chain(spines).for_each(|&switch| yard.aggregation(switch));
    }
    // Every host has a port in each plane.
    for (&first, &second) in planes[0].0.iter().zip(&planes[1].0) {
        for _ in 0..3 {
            let host = yard.add(NodeKind::Ca, None);
            yard.cable(first, host, LinkSpeed::Hdr);
            yard.cable(second, host, LinkSpeed::Hdr);
        }
    }
    assert_routed("two planes", &yard.built());
}

/// Switches that may go up and then down to a switch do so, by fewest hops; only others go round by a leaf. So the loss
/// of a cable concerns the ways of few switches, whichever cable it is.
#[test]
fn switches_are_reached_up_and_then_down_where_that_leads() {
    let mut yard = Yard::new();
    let [leaves, middle, cores] = three_levels(&mut yard, |_| 3);
    let fabric = yard.built();
    let demand = Demand::all(&fabric, 1);
    let function = FatTree.route(&fabric, &demand).expect("a fat tree");
    let hops = |from: NodeId, to: NodeId| {
        let at =
            demand.destinations.iter().position(|&port| fabric.port(port).node == to).expect("switches are demanded");
        let mut row = from;
        let mut hops = 0;
        while row != to {
            let port = function.output(row, at, 0).expect("every switch has a way");
            row = fabric.neighbour(fabric.port_at(row, port).expect("a port")).expect("a cable");
            hops += 1;
            assert!(hops < 20, "a loop");
        }
        hops
    };
    // By pods of three leaves and two middle switches.
    for (at, &leaf) in leaves.iter().enumerate() {
        for (other, &to) in middle.iter().enumerate() {
            assert_eq!(hops(leaf, to), if at / 3 == other / 2 { 1 } else { 3 }, "leaf {at} to middle {other}");
            assert_eq!(hops(to, leaf), if at / 3 == other / 2 { 1 } else { 3 }, "middle {other} to leaf {at}");
        }
        for (core, &to) in cores.iter().enumerate() {
            assert_eq!((hops(leaf, to), hops(to, leaf)), (2, 2), "leaf {at}, core {core}");
        }
    }
    for (at, &one) in middle.iter().enumerate() {
        for (other, &to) in middle.iter().enumerate().filter(|&(other, _)| other != at) {
            assert_eq!(hops(one, to), 2, "middle {at} to middle {other}");
        }
    }
}
