//! The fabrics of the comparison: every family, 8 to 64 switches, each from its text and seed.

use rand::RngExt;
use reconfig::fabric::generate::{GenerateError, Options, Topology, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::routing::choose_root;

/// What is generated, and the seed.
pub type Sample = (&'static str, u64);

/// The first three are those that run without arguments: small, and of three kinds. `random-regular:8,4,5` with seed
/// 112 is the bundled ghost cycle: both its routings are free of deadlock, and together they are not.
pub const SAMPLES: [Sample; 26] = [
    ("random-regular:8,4,5", 112),
    ("leaf-spine:8,4,2", 0),
    ("torus:3x3,2", 0),
    ("fat-tree:4,2", 0),
    ("mesh:4x4,2", 0),
    ("ring:8,2", 0),
    ("torus:4x4,2", 0),
    ("hypercube:4,2", 0),
    ("dragonfly:2,4,2", 0),
    ("random-regular:16,4,2", 1),
    ("waxman:16,0.5,0.4,2", 3),
    ("irregular:16,4,14,23", 2),
    ("random-regular:12,4,4", 5),
    ("random-regular:12,4,4", 6),
    ("waxman:24,0.5,0.3,2", 1),
    ("random-regular:24,5,2", 7),
    ("three-level:3,4,2,2,3,2", 0),
    ("torus:3x3x3,1", 0),
    ("mesh:6x6,1", 0),
    ("random-regular:32,4,2", 8),
    ("hypercube:5,1", 0),
    ("waxman:40,0.4,0.3,1", 4),
    ("fat-tree:4,3", 0),
    ("torus:8x8,1", 0),
    ("random-regular:64,5,1", 9),
    ("waxman:64,0.3,0.3,1", 5),
];

/// Families whose top level has no hosts.
const TREES: [&str; 3] = ["leaf-spine", "fat-tree", "three-level"];

/// A fabric with the roles of the trial.
pub struct Case {
    pub name: String,
    pub fabric: Fabric,
    /// What dies: the switch that up*/down* here takes as root, the first host, or what was drawn.
    pub victim: Victim,
    /// What a foresighted administrator names as roots: in a tree every switch of the top level, elsewhere the root and
    /// its neighbour of most links to switches, the lowest GUID of equals, which is the root when the first is gone.
    pub roots: Vec<NodeId>,
    /// Where the manager runs: the last host that is not on the root.
    pub host: NodeId,
}

/// What dies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Victim {
    /// A switch, with all its cables.
    Switch(NodeId),
    /// A cable between switches, by one of its ports.
    Cable(PortId),
    /// A host.
    Host(NodeId),
}

impl Victim {
    /// Its name, as commands of the server have it.
    pub fn name(self, fabric: &Fabric) -> String {
        match self {
            Victim::Switch(node) | Victim::Host(node) => format!("\"{}\"", fabric.node(node).description),
            Victim::Cable(port) => {
                let port = fabric.port(port);
                format!("\"{}\"[{}]", fabric.node(port.node).description, port.num)
            }
        }
    }

    /// The command that kills it.
    pub fn command(self, fabric: &Fabric) -> String {
        let verb = if matches!(self, Victim::Cable(_)) { "Unlink" } else { "Kill" };
        format!("{verb} {}", self.name(fabric))
    }

    fn survived_by(self, fabric: &Fabric) -> Fabric {
        match self {
            Victim::Switch(node) | Victim::Host(node) => fabric.without_nodes(&[node]),
            Victim::Cable(port) => fabric.without_links(&[port]),
        }
    }
}

impl Case {
    /// Generates the fabric, and gives out the roles.
    pub fn make((topology, seed): Sample) -> Result<Case, String> {
        let fabric = build(topology, seed).map_err(|error| error.to_string())?;
        let name = format!("{topology} seed {seed}");
        let root = choose_root(&fabric).ok_or_else(|| format!("{name}: no root"))?;
        let roots = if TREES.iter().any(|tree| topology.starts_with(tree)) {
            top_level(&fabric)
        } else {
            let heir = neighbours(&fabric, root).max_by_key(|&switch| {
                (neighbours(&fabric, switch).count(), std::cmp::Reverse(fabric.node(switch).guid))
            });
            [Some(root), heir].into_iter().flatten().collect()
        };
        let away = |node: NodeId| !joined(&fabric, node).any(|other| other == root);
        let hosts = fabric.nodes().filter(|(_, node)| !node.is_switch()).map(|(id, _)| id);
        let host = hosts.filter(|&id| away(id)).last().ok_or_else(|| format!("{name}: every host is on the root"))?;
        Ok(Case { name, fabric, victim: Victim::Switch(root), roots, host })
    }

    /// The same, but what dies is the first host, or the next one where the manager runs on that.
    pub fn host_dies(sample: Sample) -> Result<Case, String> {
        let case = Case::make(sample)?;
        let victim = case.fabric.nodes().find(|&(id, node)| !node.is_switch() && id != case.host).map(|(id, _)| id);
        let victim = victim.ok_or_else(|| format!("{}: it has one host only", case.name))?;
        Ok(Case { victim: Victim::Host(victim), ..case })
    }

    /// The same with another victim, drawn from the switches and the cables between switches whose death leaves the
    /// other switches in one piece, and the manager's host with them.
    pub fn drawn(sample: Sample, number: usize, seed: u64) -> Result<Case, String> {
        let case = Case::make(sample)?;
        let fabric = &case.fabric;
        let between = |port: PortId| {
            let far = fabric.neighbour(port);
            fabric.node(fabric.port(port).node).is_switch() && far.is_some_and(|node| fabric.node(node).is_switch())
        };
        let cables = fabric.links().map(|(port, _)| port).filter(|&port| between(port)).map(Victim::Cable);
        let victims = fabric.switches().map(Victim::Switch).chain(cables);
        let victims: Vec<Victim> = victims.filter(|&victim| case.stays_in_one_piece(victim)).collect();
        if victims.is_empty() {
            return Err(format!("{}: every loss takes it apart", case.name));
        }
        let mut random = rand_pcg::Pcg64::new(seed.into(), number as u128);
        let victim = victims[random.random_range(0..victims.len())];
        Ok(Case { victim, ..case })
    }

    fn stays_in_one_piece(&self, victim: Victim) -> bool {
        let left = victim.survived_by(&self.fabric);
        let Some(start) = joined(&left, self.host).next() else { return false };
        let (mut reached, mut next) = (vec![start], 0);
        while let Some(&at) = reached.get(next) {
            next += 1;
            for other in neighbours(&left, at) {
                if !reached.contains(&other) {
                    reached.push(other);
                }
            }
        }
        let is_left = |&switch: &NodeId| victim != Victim::Switch(switch);
        reached.len() == self.fabric.switches().filter(is_left).count()
    }

    /// Hosts that the death cuts off, itself where it is one.
    pub fn stranded_hosts(&self) -> usize {
        match self.victim {
            Victim::Switch(root) => {
                joined(&self.fabric, root).filter(|&node| !self.fabric.node(node).is_switch()).count()
            }
            Victim::Cable(_) => 0,
            Victim::Host(_) => 1,
        }
    }
}

fn build(topology: &str, seed: u64) -> Result<Fabric, GenerateError> {
    generate(&topology.parse::<Topology>()?, &Options { seed, ..Options::default() })
}

fn joined(fabric: &Fabric, node: NodeId) -> impl Iterator<Item = NodeId> {
    fabric.ports_of(node).filter_map(|port| fabric.neighbour(port))
}

fn neighbours(fabric: &Fabric, node: NodeId) -> impl Iterator<Item = NodeId> {
    joined(fabric, node).filter(|&other| fabric.node(other).is_switch())
}

/// The switches farthest from hosts.
fn top_level(fabric: &Fabric) -> Vec<NodeId> {
    let has_host = |&switch: &NodeId| joined(fabric, switch).any(|other| !fabric.node(other).is_switch());
    let (mut level, mut seen): (Vec<NodeId>, Vec<NodeId>) = (fabric.switches().filter(has_host).collect(), Vec::new());
    loop {
        seen.extend(&level);
        let mut above: Vec<NodeId> = level.iter().flat_map(|&switch| neighbours(fabric, switch)).collect();
        above.sort_unstable();
        above.dedup();
        above.retain(|switch| !seen.contains(switch));
        if above.is_empty() {
            return level;
        }
        level = above;
    }
}
