//! Two engines with a root of anybody's choice, so that R and R′ are any two routings: up*/down*, and one spanning
//! tree.

use proptest::prelude::*;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::PortNum;
use reconfig::routing::{Connectivity, Demand, Engine, RouteError, UpDown};
use reconfig::tables::RoutingFunction;
use std::collections::BTreeMap;

/// How a [`Router`] routes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The product's up*/down*.
    UpDown,
    /// A random spanning tree and no other cable: free of deadlock because a tree has no cycle.
    Tree,
}

/// An engine whose root is drawn from its salt, anew for every fabric.
#[derive(Clone, Copy, Debug)]
pub struct Router {
    pub kind: Kind,
    pub salt: u64,
}

impl Router {
    pub fn any() -> impl Strategy<Value = Router> {
        let kinds = prop::sample::select(&[Kind::UpDown, Kind::UpDown, Kind::Tree][..]);
        (kinds, 0u64..1_000).prop_map(|(kind, salt)| Router { kind, salt })
    }

    /// A root among the switches that links join with what is demanded.
    fn root(&self, fabric: &Fabric, demand: &Demand) -> Option<NodeId> {
        let first = *demand.destinations.first()?;
        let links = Connectivity::of(fabric);
        let joins = |id: &NodeId| fabric.ports_of(*id).any(|port| links.joins(port, first));
        let switches: Vec<NodeId> = fabric.switches().filter(joins).collect();
        switches.choose(&mut Pcg64::seed_from_u64(self.salt)).copied()
    }
}

impl Engine for Router {
    fn name(&self) -> &'static str {
        match self.kind {
            Kind::UpDown => "up-down with any root",
            Kind::Tree => "any spanning tree",
        }
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let root = self.root(fabric, demand);
        match self.kind {
            Kind::UpDown => UpDown { root }.route(fabric, demand),
            Kind::Tree => Ok(Tree::grow(fabric, root, self.salt).route(fabric, demand, self.name())),
        }
    }
}

/// The tree: for each switch in it, by cables of the tree, its neighbours.
struct Tree {
    branches: BTreeMap<NodeId, Vec<(PortNum, NodeId)>>,
}

impl Tree {
    /// Grows from the root, by a random cable at a time that leads to a switch not yet reached.
    fn grow(fabric: &Fabric, root: Option<NodeId>, salt: u64) -> Tree {
        let mut rng = Pcg64::seed_from_u64(salt ^ 0x7EEE);
        let mut branches: BTreeMap<NodeId, Vec<(PortNum, NodeId)>> = BTreeMap::new();
        let mut open: Vec<PortId> = Vec::new();
        let reach = |node: NodeId, branches: &mut BTreeMap<_, _>, open: &mut Vec<PortId>| {
            branches.entry(node).or_insert_with(Vec::new);
            open.extend(fabric.ports_of(node).filter(|&port| fabric.peer(port).is_some()));
        };
        root.into_iter().for_each(|root| reach(root, &mut branches, &mut open));
        while !open.is_empty() {
            let port = open.swap_remove(rng.random_range(0..open.len()));
            let Some((peer, next)) = fabric.peer(port).zip(fabric.neighbour(port)) else { continue };
            if !fabric.node(next).is_switch() || branches.contains_key(&next) {
                continue;
            }
            reach(next, &mut branches, &mut open);
            let (near, far) = (fabric.port(port), fabric.port(peer));
            branches.entry(near.node).or_default().push((near.num, next));
            branches.entry(next).or_default().push((far.num, near.node));
        }
        Tree { branches }
    }

    fn route(&self, fabric: &Fabric, demand: &Demand, name: &'static str) -> RoutingFunction {
        let mut function = RoutingFunction::new(fabric, name, demand.destinations.clone(), demand.paths);
        for (rank, &port) in demand.destinations.iter().enumerate() {
            let own = fabric.port(port).node;
            let at_switch = fabric.node(own).is_switch();
            let last = if at_switch { Some((own, PortNum::ZERO)) } else { delivery(fabric, port) };
            let Some((last, out)) = last.filter(|(last, _)| self.branches.contains_key(last)) else { continue };
            let mut set = |switch, out| (0..demand.paths).for_each(|path| function.set_output(switch, rank, path, out));
            set(last, out);
            let mut reached = vec![(last, last)];
            while let Some((at, from)) = reached.pop() {
                for &(_, next) in self.branches[&at].iter().filter(|branch| branch.1 != from) {
                    let back = self.branches[&next].iter().find(|branch| branch.1 == at);
                    back.into_iter().for_each(|&(out, _)| set(next, out));
                    reached.push((next, at));
                }
            }
        }
        function
    }
}

/// The switch that an end port is attached to, and its port there.
fn delivery(fabric: &Fabric, port: PortId) -> Option<(NodeId, PortNum)> {
    let peer = fabric.port(fabric.peer(port)?);
    fabric.node(peer.node).is_switch().then_some((peer.node, peer.num))
}
