//! Small fabrics by hand, and paths named by their switches.

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_pcg::Pcg64Mcg;
use reconfig::fabric::{Fabric, FabricBuilder, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, PortNum};
use reconfig::lid::Splits;
use reconfig::tables::{Hop, Path, PathSet};
use std::collections::BTreeMap;

/// Switches, each with one host, cabled as said; paths are lists of switches.
pub struct Net {
    pub fabric: Fabric,
    switches: Vec<NodeId>,
    hosts: Vec<PortId>,
    /// By ordered pair of switches: the port from the first to the second.
    ports: BTreeMap<(usize, usize), PortNum>,
    pub paths: PathSet,
}

const LOCAL: PortNum = PortNum(1);

impl Net {
    pub fn new(switches: usize, edges: &[(usize, usize)]) -> Net {
        let mut builder = FabricBuilder::new();
        let nodes: Vec<NodeId> = (0..switches)
            .map(|at| builder.node(NodeKind::Switch, Guid(1 + at as u64), 250, format!("s{at}")))
            .collect();
        let mut next = vec![2u8; switches];
        let mut ports = BTreeMap::new();
        for &(a, b) in edges {
            if ports.contains_key(&(a, b)) {
                continue;
            }
            let ends = [a, b].map(|at| {
                let port = PortNum(next[at]);
                next[at] += 1;
                port
            });
            builder.link((nodes[a], ends[0]), (nodes[b], ends[1]), Default::default(), Default::default()).unwrap();
            ports.insert((a, b), ends[0]);
            ports.insert((b, a), ends[1]);
        }
        let mut adapters = Vec::new();
        for (at, &switch) in nodes.iter().enumerate() {
            let node = builder.node(NodeKind::Ca, Guid(0x1000 + at as u64), 1, format!("h{at}"));
            builder.link((switch, LOCAL), (node, PortNum(1)), Default::default(), Default::default()).unwrap();
            adapters.push(node);
        }
        let fabric = builder.build().unwrap();
        let hosts: Vec<PortId> = adapters.iter().map(|&node| fabric.port_at(node, PortNum(1)).unwrap()).collect();
        let paths = PathSet::new("by hand", hosts.clone());
        Net { fabric, switches: nodes, hosts, ports, paths }
    }

    pub fn host(&self, switch: usize) -> PortId {
        self.hosts[switch]
    }

    pub fn switch(&self, at: usize) -> NodeId {
        self.switches[at]
    }

    pub fn port(&self, from: usize, to: usize) -> PortNum {
        self.ports[&(from, to)]
    }

    /// Adds the path through these switches, from the host of the first to the host of the last.
    pub fn path(&mut self, through: &[usize], layer: u8) {
        let mut hops: Vec<Hop> = through
            .windows(2)
            .map(|pair| Hop { switch: self.switches[pair[0]], output: self.ports[&(pair[0], pair[1])] })
            .collect();
        let last = through[through.len() - 1];
        hops.push(Hop { switch: self.switches[last], output: LOCAL });
        let (source, destination) = (self.hosts[through[0]], self.hosts[last]);
        self.paths.push(Path { source, destination, layer, hops: &hops });
    }

    /// The splits of the paths to the host of a switch.
    pub fn splits(&self, switch: usize) -> Splits {
        let ranks = &self.paths.by_destination(&self.fabric)[switch];
        Splits::of(&self.paths, ranks)
    }
}

/// Seed 002, section 3: a fabric whose paths to one destination split just where a graph has edges.
pub fn reduction(vertices: usize, edges: &[(usize, usize)]) -> (Net, usize) {
    let destination = 2 * vertices + edges.len();
    let through = |vertex: usize| -> Vec<usize> {
        let own = edges.iter().enumerate().filter(|(_, edge)| edge.0 == vertex || edge.1 == vertex);
        let own = own.map(|(at, _)| 2 * vertices + at);
        [vertex].into_iter().chain(own).chain([vertices + vertex, destination]).collect()
    };
    let cables: Vec<(usize, usize)> = (0..vertices)
        .flat_map(|vertex| through(vertex).windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>())
        .collect();
    let mut net = Net::new(destination + 1, &cables);
    (0..vertices).for_each(|vertex| net.path(&through(vertex), 0));
    (net, destination)
}

/// A random connected net of about `degree` cables a switch, with random loopless paths between all ordered pairs.
pub fn random_net(switches: usize, degree: usize, rng: &mut Pcg64Mcg) -> Net {
    let mut edges: Vec<(usize, usize)> = (1..switches).map(|at| (rng.random_range(0..at), at)).collect();
    for _ in 0..switches * degree.saturating_sub(2) / 2 {
        let (a, b) = (rng.random_range(0..switches), rng.random_range(0..switches));
        if a != b && !edges.contains(&(a.min(b), a.max(b))) {
            edges.push((a.min(b), a.max(b)));
        }
    }
    edges.shuffle(rng);
    let mut net = Net::new(switches, &edges);
    for from in 0..switches {
        for to in (0..switches).filter(|&to| to != from) {
            let through = random_walk(&edges, from, to, rng);
            net.path(&through, 0);
        }
    }
    net
}

/// A walk that never returns, to where `to` is; it starts again where it gets stuck.
fn random_walk(edges: &[(usize, usize)], from: usize, to: usize, rng: &mut Pcg64Mcg) -> Vec<usize> {
    loop {
        let mut walk = vec![from];
        while walk[walk.len() - 1] != to {
            let at = walk[walk.len() - 1];
            let near = edges.iter().filter_map(|&(a, b)| match at {
                _ if a == at => Some(b),
                _ if b == at => Some(a),
                _ => None,
            });
            let fresh: Vec<usize> = near.filter(|next| !walk.contains(next)).collect();
            let Some(&next) = fresh.choose(rng) else { break };
            walk.push(next);
        }
        if walk[walk.len() - 1] == to {
            return walk;
        }
    }
}
