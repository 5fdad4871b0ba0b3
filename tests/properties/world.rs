//! Random subnets: a fabric of any family or woven at random, its lanes and LIDs, and what of it leaves or comes.

use super::engines::Router;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use reconfig::change::manager_port;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, Half, Lmc, PortNum};
use reconfig::lid;
use reconfig::routing::{Connectivity, Demand, Engine};
use reconfig::tables::SubnetTables;
use std::sync::Arc;

/// One of each family that has small members, and dense random ones.
const TOPOLOGIES: [&str; 15] = [
    "ring:5,2",
    "mesh:3x3,1",
    "torus:3x3,2",
    "hypercube:3,2",
    "leaf-spine:3,2,3,2",
    "fat-tree:2,3",
    "three-level:2,2,2,1,2,1",
    "tree:2,2,2/1,2,1/1,2,1",
    "dragonfly:1,2,1",
    "irregular:9,5,8,14",
    "waxman:9,0.7,0.5,1",
    "random-regular:8,3,2",
    "random-regular:8,4,3",
    "random-regular:10,4,2",
    "random-regular:12,5,1",
];

/// Dense enough that two routings of one fabric seldom mix.
pub const DENSE: [&str; 3] = ["random-regular:8,4,5", "random-regular:10,5,4", "random-regular:12,4,4"];

/// Where the cables are.
#[derive(Clone, Debug)]
pub enum Shape {
    Generated(&'static str),
    /// A random tree of switches and `extra` cables more, parallel ones among them; hosts anywhere, so that some
    /// switches bear several and others none.
    Woven {
        switches: usize,
        extra: usize,
        hosts: usize,
    },
}

/// Which form of SL-to-VL tables the switches take.
#[derive(Clone, Copy, Debug)]
pub enum Forms {
    Plain,
    Optimised,
    /// Every other switch.
    Mixed,
}

impl Forms {
    fn any() -> impl Strategy<Value = Forms> {
        prop_oneof![Just(Forms::Optimised), Just(Forms::Plain), Just(Forms::Mixed)]
    }
}

/// What leaves or comes: numbers that choose among what there is.
#[derive(Clone, Debug)]
pub enum Happening {
    /// Nothing: the routing alone is changed.
    Reroute,
    /// These leave when the change is made, or have left before.
    Leave { switches: Vec<usize>, cables: Vec<usize>, sudden: bool },
    /// These come.
    Come { switches: Vec<usize> },
}

/// A subnet before its change, as numbers.
#[derive(Clone, Debug)]
pub struct World {
    pub shape: Shape,
    pub seed: u64,
    pub vls: u8,
    pub lmc: u8,
    pub forms: Forms,
    pub slow: bool,
    pub old: Router,
    pub new: Router,
    pub happening: Happening,
}

/// A subnet before its change. All fabrics share one index space.
pub struct Built {
    /// Everything that is there at some time.
    pub whole: Arc<Fabric>,
    pub before: Arc<Fabric>,
    pub after: Arc<Fabric>,
    pub sm: PortId,
    pub tables: SubnetTables,
    /// Leave, or come.
    pub switches: Vec<NodeId>,
    pub cables: Vec<PortId>,
}

pub fn shapes() -> impl Strategy<Value = Shape> {
    let woven = (2usize..11, 0usize..14, 2usize..20).prop_map(|(switches, extra, hosts)| Shape::Woven {
        switches,
        extra,
        hosts,
    });
    prop_oneof![1 => woven, 1 => prop::sample::select(&TOPOLOGIES[..]).prop_map(Shape::Generated)]
}

/// What may happen; `come` in a quarter of the cases.
pub fn happenings() -> impl Strategy<Value = Happening> {
    let few = |most: usize| prop::collection::vec(0usize..64, 0..=most);
    let leave = (few(2), few(2), any::<bool>()).prop_map(|(switches, cables, sudden)| Happening::Leave {
        switches,
        cables,
        sudden,
    });
    let come = prop::collection::vec(0usize..64, 1..=2).prop_map(|switches| Happening::Come { switches });
    prop_oneof![1 => Just(Happening::Reroute), 5 => leave, 2 => come]
}

pub fn worlds() -> impl Strategy<Value = World> {
    let numbers = (0u64..1_000, prop::sample::select(&[4u8, 2, 8, 15][..]), 1u8..4);
    let routers = (Router::any(), Router::any());
    (shapes(), numbers, (Forms::any(), any::<bool>()), routers, happenings()).prop_map(
        |(shape, (seed, vls, lmc), (forms, slow), (old, new), happening)| World {
            shape,
            seed,
            vls,
            lmc,
            forms,
            slow,
            old,
            new,
            happening,
        },
    )
}

impl World {
    /// The subnet; none where no two hosts stay, or nothing can come.
    pub fn build(&self) -> Option<Built> {
        let whole = self.whole();
        let (switches, cables) = self.chosen(&whole);
        let without = whole.without_nodes(&switches).without_links(&cables);
        let (before, after) = match self.happening {
            Happening::Come { .. } => (joined(&without)?, whole.clone()),
            Happening::Reroute | Happening::Leave { .. } => (whole.clone(), without),
        };
        let sm = manager_port(&before, &after, None).ok()?;
        let links = Connectivity::of(&after);
        if after.end_ports().filter(|&port| links.joins(port, sm)).count() < 2 {
            return None;
        }
        let function = self.old.route(&before, &Demand::all(&before, self.paths())).ok()?;
        let tables = lid::bring_up(&whole, &function, self.vls);
        let [whole, before, after] = [whole, before, after].map(Arc::new);
        Some(Built { whole, before, after, sm, tables, switches, cables })
    }

    /// Paths to each destination: a LID of a half each.
    pub fn paths(&self) -> usize {
        usize::from(Lmc::masked(self.lmc).lids() / 2)
    }

    /// Whether what leaves has left before the change.
    pub fn sudden(&self) -> bool {
        matches!(self.happening, Happening::Leave { sudden: true, .. })
    }

    /// Whether what leaves is to leave after the change.
    pub fn departs(&self) -> bool {
        matches!(self.happening, Happening::Leave { sudden: false, .. })
    }

    /// Whether something comes.
    pub fn grows(&self) -> bool {
        matches!(self.happening, Happening::Come { .. })
    }

    fn whole(&self) -> Fabric {
        let bare = match self.shape {
            Shape::Generated(text) => {
                let topology: Topology = text.parse().expect("the topologies here are spelt right");
                let options = Options { seed: self.seed, ..Options::default() };
                generate(&topology, &options).expect("the topologies here can be made")
            }
            Shape::Woven { switches, extra, hosts } => self.woven(switches, extra, hosts),
        };
        lid::assign(&self.equipped(&bare), Lmc::masked(self.lmc)).expect("LIDs enough")
    }

    /// The same nodes and cables with the lanes, the link speed and the forms of SL-to-VL tables of this world.
    fn equipped(&self, bare: &Fabric) -> Fabric {
        let mut builder = FabricBuilder::new();
        for (at, (_, node)) in bare.nodes().enumerate() {
            let id = builder.node(node.kind, node.guid, node.num_ports, node.description.clone());
            builder.node_mut(id).optimised_sl_to_vl = match self.forms {
                Forms::Plain => false,
                Forms::Optimised => node.is_switch(),
                Forms::Mixed => node.is_switch() && at % 2 == 0,
            };
            for num in (0..=node.num_ports).map(PortNum) {
                builder.port_mut(id, num).expect("it has that many").data_vls = self.vls;
            }
        }
        let (width, speed) = self.links();
        let end = |port: PortId| (bare.port(port).node, bare.port(port).num);
        for (a, b) in bare.links() {
            builder.link(end(a), end(b), width, speed).expect("as it was");
        }
        builder.build().expect("a fabric")
    }

    /// Slow links let more writes land for each packet that moves, fast ones more packets move for each write.
    fn links(&self) -> (LinkWidth, LinkSpeed) {
        if self.slow { (LinkWidth::X1, LinkSpeed::Sdr) } else { (LinkWidth::X4, LinkSpeed::Sdr) }
    }

    fn woven(&self, switches: usize, extra: usize, hosts: usize) -> Fabric {
        let mut rng = Pcg64::seed_from_u64(self.seed);
        let mut links: Vec<(usize, usize)> = (1..switches).map(|i| (rng.random_range(0..i), i)).collect();
        for _ in 0..extra {
            let a = rng.random_range(0..switches);
            links.push((a, (a + rng.random_range(1..switches)) % switches));
        }
        let mut builder = FabricBuilder::new();
        let nodes: Vec<NodeId> = (0..switches)
            .map(|i| builder.node(NodeKind::Switch, Guid(0x100 + i as u64), 60, format!("sw-{i}")))
            .collect();
        let mut used = vec![0u8; switches];
        let mut next = |i: usize| {
            used[i] += 1;
            (nodes[i], PortNum(used[i]))
        };
        for (a, b) in links {
            builder.link(next(a), next(b), Default::default(), Default::default()).expect("ports enough");
        }
        for host in 0..hosts {
            let node = builder.node(NodeKind::Ca, Guid(0x1000 + host as u64), 1, format!("host-{host}"));
            let home = next(rng.random_range(0..switches));
            builder.link(home, (node, PortNum(1)), Default::default(), Default::default()).expect("ports enough");
        }
        builder.build().expect("a fabric")
    }

    /// The switches and the cables between switches that leave or come.
    fn chosen(&self, whole: &Fabric) -> (Vec<NodeId>, Vec<PortId>) {
        let (which, cables): (&[usize], &[usize]) = match &self.happening {
            Happening::Reroute => (&[], &[]),
            Happening::Leave { switches, cables, .. } => (switches, cables),
            Happening::Come { switches } => (switches, &[]),
        };
        let all: Vec<NodeId> = whole.switches().collect();
        let inner = |&port: &PortId| whole.neighbour(port).is_some_and(|node| whole.node(node).is_switch());
        let between: Vec<PortId> = whole
            .links()
            .flat_map(|(a, b)| [(a, b)])
            .filter(|(a, b)| inner(a) && inner(b))
            .map(|link| link.0)
            .collect();
        let mut switches: Vec<NodeId> = which.iter().map(|number| all[number % all.len()]).collect();
        switches.dedup();
        let cables = cables.iter().filter(|_| !between.is_empty()).map(|number| between[number % between.len()]);
        (switches, cables.collect())
    }
}

/// A fabric less all that its links do not join with the first host of its largest part.
fn joined(fabric: &Fabric) -> Option<Fabric> {
    let sm = manager_port(fabric, fabric, None).ok()?;
    let links = Connectivity::of(fabric);
    let apart = |id: &NodeId| !fabric.ports_of(*id).any(|port| links.joins(port, sm));
    let left: Vec<NodeId> = fabric.nodes().map(|(id, _)| id).filter(apart).collect();
    Some(fabric.without_nodes(&left))
}

/// The half in use before every change here.
pub const OLD: Half = Half::Lower;
