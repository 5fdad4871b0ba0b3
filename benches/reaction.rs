//! From a loss to a plan that may be run: processor seconds of each scheme, full re-route, repair, proof and judges
//! included. *Based* is
//! `auto` once more where what does not depend on the loss (the proof of the routing in force, and what proof, check
//! and repair need of it) was computed beforehand, as a manager does while nothing happens; how long that takes comes
//! with the last line of a fabric, and the plan is compared with the one made without. *First* is what passes between
//! the moment a subnet manager knows what has died and its first write: a wave that gives all hosts ways again, where
//! that is found sooner than the whole plan, and *rest* is the change after it, if it leaves rows of switches lost.
//! *Foreseen* is what passes where the plan itself was prepared before, as by `reconfig sm --foresee`: finding it, and
//! checking that it is for what was found. Arguments name fabrics, to measure no others.

use reconfig::change::{ChangeBase, ChangeInput, engine_named, prepare, prepare_at_once, prepare_cheapest};
use reconfig::driver::{Foreseer, ForesightScope, Intent, Running};
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Half, Lmc};
use reconfig::lid;
use reconfig::plan::{Policy, Scheme};
use reconfig::routing::{Demand, Engine, Parameters};
use reconfig::tables::SubnetTables;
use reconfig_measuring::bench::clock::Stopwatch;
use reconfig_measuring::bench::quick::quick;
use std::sync::Arc;
use std::time::Duration;

/// Fabric, engine; the first is for a quick run.
const CASES: [(&str, &str); 5] = [
    ("fat-tree:4,3", "fat-tree"),
    ("torus:8x8,1", "up-down"),
    ("leaf-spine:48,16,8", "fat-tree"),
    ("three-level:16,8,8,8,8", "fat-tree"),
    ("fat-tree:18,3", "fat-tree"),
];

fn main() {
    let only: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    println!(
        "{:<24} {:<9} {:>8} {:>6} {:<7} {:>10} {:>9} {:>8} {:>8} {:>8} {:>8} {:<8}",
        "fabric",
        "engine",
        "switches",
        "CAs",
        "loss",
        "ordered s",
        "double s",
        "auto s",
        "based s",
        "first s",
        "rest s",
        "taken"
    );
    let chosen = |(topology, _): &(&str, &str)| only.is_empty() || only.iter().any(|name| name == topology);
    for (topology, engine) in CASES.into_iter().filter(chosen).take(if quick() { 1 } else { CASES.len() }) {
        let fabric = generate(&topology.parse().expect("well formed"), &Options::default()).expect("can be built");
        let fabric = lid::assign(&fabric.with_capabilities(4, true), Lmc::masked(1)).expect("LIDs enough");
        let is_switch = |port| fabric.neighbour(port).is_some_and(|node| fabric.node(node).is_switch());
        // The first cable is one of the tree by which engines reach switches: its loss concerns every switch.
        let cables: Vec<PortId> =
            fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b)).map(|(a, _)| a).collect();
        let bare = |&id: &_| fabric.ports_of(id).all(|port| fabric.neighbour(port).is_none() || is_switch(port));
        let routed = Routed::of(fabric.clone(), engine);
        routed.measure(topology, "cable", fabric.without_links(&cables[..1]));
        routed.measure(topology, "another", fabric.without_links(&[cables[cables.len() / 4]]));
        if let Some(switch) = fabric.switches().find(bare) {
            routed.measure(topology, "switch", fabric.without_nodes(&[switch]));
        }
        let (ms, mib) = routed.foreseen();
        let base_s = routed.base_s;
        println!(
            "{topology:<24} base: {base_s:.3} s; foreseen, the first switch with a plan: {ms:.2} ms, about {mib:.1} MiB"
        );
    }
}

/// A fabric with the tables in force.
struct Routed {
    fabric: Arc<Fabric>,
    tables: SubnetTables,
    engine: &'static str,
    sm: PortId,
    base: Option<ChangeBase>,
    base_s: f64,
}

impl Routed {
    fn of(fabric: Fabric, engine: &'static str) -> Routed {
        let function = made(engine).route(&fabric, &Demand::all(&fabric, 1)).expect("it is connected");
        let tables = lid::bring_up(&fabric, &function, 4);
        let sm = fabric.end_ports().next().expect("hosts");
        let mut routed = Routed { fabric: Arc::new(fabric), tables, engine, sm, base: None, base_s: 0.0 };
        let (own, fabric) = (made(engine), routed.fabric.clone());
        let clock = Stopwatch::start();
        let base =
            ChangeBase::of(&routed.input(&*own, Scheme::Double, &fabric).in_force()).expect("the routing is safe");
        (routed.base_s, routed.base) = (clock.ns() / 1e9, Some(base));
        routed
    }

    fn input<'a>(&self, engine: &'a dyn Engine, scheme: Scheme, after: &Arc<Fabric>) -> ChangeInput<'a> {
        ChangeInput {
            before: self.fabric.clone(),
            surviving: after.clone(),
            after: after.clone(),
            tables: self.tables.clone(),
            layers: 1,
            ways: None,
            old: Half::Lower,
            both_halves: false,
            engine,
            scheme,
            policy: Policy::default(),
            sm: self.sm,
            base: None,
        }
    }

    fn measure(&self, topology: &str, loss: &str, after: Fabric) {
        let (engine, after) = (made(self.engine), Arc::new(after));
        let input = |scheme| self.input(&*engine, scheme, &after);
        let timed = |scheme| {
            let input = input(scheme);
            let clock = Stopwatch::start();
            let result = prepare(input);
            (clock.ns() / 1e9, result)
        };
        let (ordered_s, _) = timed(Scheme::Ordered);
        let (double_s, _) = timed(Scheme::Double);
        let cheapest = |base| {
            let input = ChangeInput { base, ..input(Scheme::Double) };
            let clock = Stopwatch::start();
            let prepared = prepare_cheapest(input, 0).unwrap_or_else(|error| panic!("{topology}: {error}"));
            (clock.ns() / 1e9, prepared)
        };
        let (auto_s, prepared) = cheapest(None);
        let (based_s, based) = cheapest(self.base.as_ref());
        assert!(based.plan.plan() == prepared.plan.plan(), "{topology}, {loss}: another plan with a base");
        assert_eq!(based.plan.proof(), prepared.plan.proof(), "{topology}, {loss}: another proof with a base");
        let (first_s, rest_s) =
            self.in_two(&input(Scheme::Double)).map_or((based_s, None), |(first, rest)| (first, rest));
        let rest = rest_s.map_or_else(|| "-".to_string(), |rest| format!("{rest:.3}"));
        println!(
            "{topology:<24} {:<9} {:>8} {:>6} {loss:<7} {ordered_s:>10.3} {double_s:>9.3} {auto_s:>8.3} {based_s:>8.3} {first_s:>8.3} {rest:>8} {:<8}",
            self.engine,
            self.fabric.switches().count(),
            self.fabric.end_ports().count(),
            prepared.plan.plan().scheme(),
        );
    }

    /// Seconds to a change that reconnects all hosts at once, and to the one after it, where it leaves rows lost; none
    /// where the whole change is made in one.
    fn in_two(&self, input: &ChangeInput<'_>) -> Option<(f64, Option<f64>)> {
        let input = ChangeInput { base: self.base.as_ref(), ..input.clone() };
        let clock = Stopwatch::start();
        let first = prepare_at_once(&input)?;
        let first_s = clock.ns() / 1e9;
        let plan = first.plan.plan();
        if !plan.leads_into_loss() {
            return Some((first_s, None));
        }
        let input = ChangeInput { tables: plan.tables_at(plan.waves().len()).clone(), ..input };
        let clock = Stopwatch::start();
        let rest = prepare_cheapest(input, 0).unwrap_or_else(|error| panic!("what a first wave left: {error}"));
        assert!(!rest.plan.plan().leads_into_loss(), "rows stay lost");
        Some((first_s, Some(clock.ns() / 1e9)))
    }

    /// Milliseconds in which a plan that was prepared before is found and checked, and the memory that a plan takes.
    fn foreseen(&self) -> (f64, f64) {
        let fabric = &self.fabric;
        let running = Running {
            known: fabric.clone(),
            routed: fabric.clone(),
            alive: fabric.clone(),
            tables: self.tables.clone(),
            layers: 1,
            ways: None,
            half: Half::Lower,
            both_halves: false,
            sm: self.sm,
        };
        let intent =
            Intent { auto: true, ..Intent::by(Arc::from(made(self.engine)), Scheme::Double, Policy::default()) };
        let mut foreseer = Foreseer::new(ForesightScope::UpTo(1 << 30));
        foreseer.begin(&running, &intent, None);
        loop {
            for switch in fabric.switches().take(foreseer.count().ready + foreseer.count().without) {
                let rest = fabric.without_nodes(&[switch]);
                let clock = Stopwatch::start();
                if foreseer.find(&running, &intent, None, &rest, &rest).is_some() {
                    let count = foreseer.count();
                    return (clock.ns() / 1e6, count.bytes as f64 / f64::from(1 << 20) / count.ready.max(1) as f64);
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn made(engine: &str) -> Box<dyn Engine> {
    engine_named(engine, &Parameters { root: None, seed: 1 }).expect("an engine")
}
