//! A subnet that loses, gets or gives up something, and its repair.

use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::{Half, Lid, Lmc, PortNum, Vl};
use reconfig::lid::{assign, bring_up, merge};
use reconfig::repair::{Budget, Repair, RepairError, RepairInput, repair};
use reconfig::routing::{Demand, Engine, EngineKind, Parameters, RouteError, engine_named, switch_order};
use reconfig::tables::{Lft, NodeSlToVl, PathLayers, RoutingFunction, SlToVl, SubnetTables};
use reconfig::verify::InjectionRules;
use reconfig_measuring::waves::Course;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A subnet before something happens, and what there is of it afterwards.
pub struct Subnet {
    pub before: Fabric,
    pub surviving: Fabric,
    pub remaining: Fabric,
    pub tables: SubnetTables,
    pub senders: InjectionRules,
    pub ways: Option<Arc<PathLayers>>,
    pub target: Option<Vec<Arc<Lft>>>,
    pub order: Option<Vec<NodeId>>,
    /// Whether switches discard packets that turn back.
    pub discards_turned_back: bool,
}

/// How a subnet is made.
#[derive(Clone, Copy, Debug)]
pub struct Recipe<'a> {
    pub topology: &'a str,
    pub seed: u64,
    pub engine: &'a str,
    pub layers: u8,
    pub lmc: u8,
}

pub fn engine(name: &str, root: Option<NodeId>) -> Box<dyn Engine> {
    match engine_named(name, &Parameters { root, seed: 0 }).expect("an engine of the registry") {
        EngineKind::ByDestination(engine) => engine,
        EngineKind::ByPath(_) => panic!("{name} is an engine by path"),
    }
}

impl Subnet {
    /// A subnet that runs, and nothing has happened to.
    ///
    /// # Errors
    /// The engine does not suit the fabric.
    pub fn new(recipe: Recipe<'_>) -> Result<Subnet, RouteError> {
        let topology = recipe.topology.parse().expect("a topology spelt right");
        let made = generate(&topology, &Options { seed: recipe.seed, ..Options::default() }).expect("a fabric");
        let fabric = assign(&made, Lmc::masked(recipe.lmc)).expect("LIDs");
        Subnet::routed(recipe, fabric.clone(), &fabric)
    }

    /// The same of which the tables know only a part: what has come is blank.
    ///
    /// # Errors
    /// The engine does not suit the fabric.
    pub fn routed(recipe: Recipe<'_>, fabric: Fabric, known: &Fabric) -> Result<Subnet, RouteError> {
        let function = route(recipe, known)?;
        let tables = bring_up(&fabric, &function, recipe.layers);
        let ways = function.path_layers().cloned();
        let own: Vec<Arc<PathLayers>> = ways.iter().cloned().collect();
        let senders = InjectionRules { injected: [true, false], ways: [own, Vec::new()] };
        let order = function.root().and_then(|root| switch_order(recipe.engine, known, root));
        let (surviving, remaining) = (fabric.clone(), fabric.clone());
        Ok(Subnet {
            before: fabric,
            surviving,
            remaining,
            tables,
            senders,
            ways,
            target: None,
            order,
            discards_turned_back: false,
        })
    }

    /// Computes the full re-route of what remains, if the engine can.
    pub fn re_route(&mut self, recipe: Recipe<'_>) {
        let function = route(recipe, &self.remaining).ok().filter(|function| function.layers() == 1);
        self.target = function.map(|function| merge(&self.before, &self.tables.lfts, &function, &[Half::Lower]));
    }

    /// Every switch has other lanes for each input and output, out of two.
    pub fn with_lanes_by_hop(&mut self, salt: u64) {
        for (id, node) in self.before.nodes().filter(|(_, node)| node.is_switch()) {
            let side = u64::from(node.num_ports) + 1;
            let table = |input: u64, output: u64| {
                SlToVl::from_fn(|sl| {
                    let mixed = (salt ^ (u64::from(id.0) * 977 + input * 31 + output * 7 + sl.index() as u64 / 4))
                        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    Vl::masked((mixed >> 40) as u8 % 2)
                })
            };
            let tables = (0..side).flat_map(|input| (0..side).map(move |output| (input, output)));
            let tables = tables.map(|(input, output)| table(input, output)).collect();
            self.tables.sl_to_vl[id.index()] = Arc::new(NodeSlToVl::PerPair { num_ports: node.num_ports, tables });
        }
    }

    pub fn input(&self) -> RepairInput<'_> {
        RepairInput {
            surviving: &self.surviving,
            remaining: &self.remaining,
            target: self.target.as_deref(),
            order: self.order.as_deref(),
            discards_turned_back: self.discards_turned_back,
            budget: Budget { relax: 300_000, renewals: 2 },
            ..RepairInput::quiet(&self.before, &self.tables, &self.senders)
        }
    }

    /// Repairs it.
    ///
    /// # Errors
    /// See [`repair`].
    pub fn repair(&self) -> Result<Repair, RepairError> {
        repair(&self.input())
    }

    /// Waves for the judge.
    pub fn course<'a>(&'a self, waves: Vec<(bool, &'a [Arc<Lft>])>) -> Course<'a> {
        Course {
            before: &self.before,
            surviving: &self.surviving,
            tables: &self.tables,
            half: Half::Lower,
            ways: self.ways.as_deref(),
            switches: true,
            discards_turned_back: false,
            waves,
        }
    }

    /// Judges a repair: every wave, and that it says what stays without a way.
    ///
    /// # Errors
    /// What is wrong.
    pub fn judge(&self, repair: &Repair) -> Result<(), String> {
        let waves = || repair.waves.iter().map(|wave| (wave.aged_before, wave.lfts.as_slice())).collect();
        let discards_turned_back = repair.discards_turned_back;
        Course { discards_turned_back, ..self.course(waves()) }.judge()?;
        let end = Course { surviving: &self.remaining, ..self.course(waves()) };
        let lost: BTreeSet<(Lid, NodeId)> = end.lost_at_the_end();
        let in_use = |lid: Lid| self.before.half_of(lid) != Some(Half::Upper);
        let lost: BTreeSet<_> = lost.into_iter().filter(|&(lid, _)| in_use(lid)).collect();
        let named: BTreeSet<_> = repair.unsolved.iter().map(|row| (row.lid, row.switch)).collect();
        if lost != named {
            return Err(format!("without a way at the end: {lost:?}; named: {named:?}"));
        }
        self.count(repair)
    }

    /// What a wave says that it writes is what changes.
    fn count(&self, repair: &Repair) -> Result<(), String> {
        let mut old: &[Arc<Lft>] = &self.tables.lfts;
        for (at, wave) in repair.waves.iter().enumerate() {
            let mut entries = 0;
            for (old, new) in old.iter().zip(&wave.lfts) {
                let lids = 0..64 * old.blocks().max(new.blocks());
                entries += lids.filter(|&lid| old.get(Lid(lid)) != new.get(Lid(lid))).count();
            }
            if entries != wave.changes.entries || entries == 0 {
                return Err(format!("wave {at} changes {entries} entries, and says {}", wave.changes.entries));
            }
            old = &wave.lfts;
        }
        Ok(())
    }

    /// An entry of another port, where there is one.
    pub fn with_entry(&self, lfts: &[Arc<Lft>], switch: NodeId, lid: Lid, port: PortNum) -> Vec<Arc<Lft>> {
        let mut lfts = lfts.to_vec();
        Arc::make_mut(&mut lfts[switch.index()]).set(lid, port);
        lfts
    }
}

fn route(recipe: Recipe<'_>, fabric: &Fabric) -> Result<RoutingFunction, RouteError> {
    let engine = engine(recipe.engine, None);
    let paths = 1 << recipe.lmc.saturating_sub(1);
    let sm = fabric.end_ports().next().expect("an end port");
    engine.route(fabric, &Demand::joined_with(fabric, sm, paths).within(recipe.layers))
}
