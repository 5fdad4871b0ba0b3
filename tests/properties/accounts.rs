//! The simulation's own account against every barrier, at the moment it is passed: all schemes, observers, engines and
//! latches, with replies, losses and small buffers.
//!
//! Each case is a run of `scenario`, so each barrier is witnessed; one that is not true ends the run with an error.
//! What a run loses is the claim of `proved`.

use super::{Tally, claim};
use crate::support::short::short;
use proptest::prelude::*;
use reconfig::change::{ChangeError, engine_named};
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::plan::{Arming, Observer, Policy, Scheme};
use reconfig::routing::{ENGINES, EngineEntry, Parameters};
use reconfig::scenario::{
    self, Departure, Element, Ending, Engines, Scenario, ScenarioError, SimulationReport, Unwatched,
};
use reconfig::sim::{ArmedPort, Latch, SimConfig, Traffic};
use std::sync::Arc;

const TOPOLOGIES: [&str; 8] = [
    "ring:5,2",
    "mesh:3x3,1",
    "torus:3x3,2",
    "leaf-spine:3,3,2,2",
    "fat-tree:2,3",
    "dragonfly:1,2,1",
    "random-regular:8,3,2",
    "random-regular:8,4,2",
];

const LATCHES: [(Latch, &str); 3] =
    [(Latch::Arrival, "latch arrival"), (Latch::Head, "latch head"), (Latch::Grant, "latch grant")];

/// What changes, and by a number which of its kind.
#[derive(Clone, Copy, Debug)]
enum Changing {
    Root,
    Switch(usize),
    Cable(usize),
    Newcomer(usize),
    Nothing,
}

#[derive(Clone, Debug)]
struct Case {
    topology: &'static str,
    changing: Changing,
    departure: Departure,
    engines: [usize; 2],
    scheme: Scheme,
    policy: Policy,
    latch: usize,
    sim: SimConfig,
    slow_management: bool,
}

fn changes() -> impl Strategy<Value = Changing> {
    prop_oneof![
        1 => Just(Changing::Root),
        2 => (0usize..64).prop_map(Changing::Switch),
        3 => (0usize..64).prop_map(Changing::Cable),
        1 => (0usize..64).prop_map(Changing::Newcomer),
        1 => Just(Changing::Nothing),
    ]
}

fn sims() -> impl Strategy<Value = SimConfig> {
    let traffic = prop_oneof![
        3 => Just(Traffic::Uniform),
        1 => (0u32..2).prop_map(|destination| Traffic::HotSpot { destination, share: 0.3 }),
    ];
    let queues = (prop::sample::select(&[16u16, 24, 64][..]), prop::sample::select(&[2u8, 4, 8][..]), 1u16..16);
    let replies = prop::sample::select(&[0.0, 0.3, 1.0][..]);
    let management = (prop::sample::select(&[0.0, 0.0, 0.03][..]), prop::sample::select(&[0u64, 5_000, 20_000][..]));
    let load = prop::sample::select(&[0.1, 0.4, 0.9][..]);
    (0u64..1_000, queues, replies, management, load, traffic).prop_map(
        |(seed, (buffer_credits, data_vls, send_queue), replies, (smp_loss, smp_delay_ns), load, traffic)| SimConfig {
            seed,
            buffer_credits,
            data_vls,
            send_queue,
            replies,
            smp_loss,
            smp_delay_ns,
            load,
            traffic,
            ..SimConfig::default()
        },
    )
}

/// Each as often as it is drawn.
const SCHEMES: [Scheme; 7] = [
    Scheme::Double,
    Scheme::Double,
    Scheme::Ordered,
    Scheme::Ordered,
    Scheme::Ordered,
    Scheme::InPlace,
    Scheme::Static,
];

fn cases(schemes: &'static [Scheme], observers: &'static [Observer]) -> impl Strategy<Value = Case> {
    let engine = || 0..safe().count();
    let schemes = prop::sample::select(schemes);
    let policies = (prop::sample::select(Arming::ALL), prop::sample::select(observers));
    let departures = prop::sample::select(&[Departure::Planned, Departure::Planned, Departure::Sudden][..]);
    let run = (prop::sample::select(&TOPOLOGIES[..]), changes(), departures, [engine(), engine()]);
    (run, schemes, policies, 0..LATCHES.len(), sims(), any::<bool>()).prop_map(
        |((topology, changing, departure, engines), scheme, (arming, observer), latch, sim, slow_management)| Case {
            topology,
            changing,
            // Nobody hears of nothing.
            departure: if matches!(changing, Changing::Nothing) { Departure::Planned } else { departure },
            // Mostly the same engine twice.
            engines: if sim.seed % 3 == 0 { engines } else { [engines[0]; 2] },
            scheme,
            policy: Policy { arming, observer, ..Policy::default() },
            latch,
            sim,
            slow_management,
        },
    )
}

fn safe() -> impl Iterator<Item = &'static EngineEntry> {
    ENGINES.iter().filter(|entry| entry.safe)
}

impl Case {
    fn fabric(&self) -> Fabric {
        let topology: Topology = self.topology.parse().expect("the topologies here are spelt right");
        generate(&topology, &Options { seed: self.sim.seed, ..Options::default() }).expect("they can be made")
    }

    fn elements(&self, fabric: &Fabric) -> Vec<Element> {
        let switches: Vec<NodeId> = fabric.switches().collect();
        let inner = |&port: &PortId| fabric.neighbour(port).is_some_and(|node| fabric.node(node).is_switch());
        let cables: Vec<PortId> = fabric.links().map(|(a, _)| a).filter(inner).collect();
        vec![match self.changing {
            Changing::Root => Element::Root,
            Changing::Switch(which) => Element::Switch(switches[which % switches.len()]),
            Changing::Cable(which) => Element::Link(cables[which % cables.len()]),
            Changing::Newcomer(which) => Element::Newcomer(switches[which % switches.len()]),
            Changing::Nothing => return Vec::new(),
        }]
    }

    fn engine(&self, at: usize) -> &'static EngineEntry {
        safe().nth(self.engines[at]).expect("drawn from the list")
    }

    fn scenario(&self) -> Scenario {
        let fabric = self.fabric();
        let elements = self.elements(&fabric);
        let base = short(Scenario::of_one(fabric, elements));
        let armed = match self.policy.arming {
            Arming::Discard => ArmedPort::Discards,
            Arming::Hold | Arming::HoldEach | Arming::Off => ArmedPort::Holds,
        };
        let by_age = self.policy.observer == Observer::Lifetime;
        let sim = SimConfig {
            latch: LATCHES[self.latch].0,
            armed,
            switch_lifetime_ns: if by_age { 4_096 << 6 } else { 0 },
            sma_service_ns: if self.slow_management { 18_600 } else { 2_000 },
            ..self.sim.clone()
        };
        Scenario {
            load: Some(sim.load),
            sim,
            departure: self.departure,
            scheme: self.scheme,
            policy: self.policy,
            smp_timeout_ns: 500_000,
            ..base
        }
    }
}

/// Why a run cannot begin, in the words of a count; none if it should have begun.
fn refused(error: &ScenarioError) -> Option<&'static str> {
    match error {
        ScenarioError::BringUp(_) | ScenarioError::NoRoot { .. } => Some("not begun: the engine or the fabric"),
        ScenarioError::Change(error) => match **error {
            ChangeError::Route(_) | ChangeError::Lids(_) | ChangeError::SmLeaves { .. } => {
                Some("not begun: the engine or the fabric")
            }
            ChangeError::Plan(_) | ChangeError::Unaskable { .. } => Some("not begun: a precondition"),
            // By scheme `ordered`: entries alone do not always do.
            ChangeError::Repair(_)
            | ChangeError::Unrepaired { .. }
            | ChangeError::NeitherInPlace { .. }
            | ChangeError::New(_) => Some("not begun: not repaired"),
            ChangeError::Refused { ref plan, .. } if plan.scheme() == Scheme::Ordered => {
                Some("not begun: waves refused")
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a wait between waves rightly did not end: a round of flushes ends once what stood in send queues has left
/// them (F.2), and where each request is answered, hosts that have more to send than the network takes let replies pile
/// up. A packet then takes longer than the wait may.
fn is_slow(case: &Case, report: &SimulationReport, reason: &str) -> bool {
    let waited = reason.contains("vacating: flush of every device") && case.scheme == Scheme::Ordered;
    let longest_ns = report.latency_ns.during.max.max(report.latency_ns.after.max);
    report.outcome == Ending::Aborted
        && waited
        && case.sim.replies > 0.0
        && longest_ns > case.scenario().barrier_timeout_ns
}

fn agrees(tally: &Tally, case: &Case) -> Result<(), TestCaseError> {
    let named = |at| {
        let parameters = Parameters { root: None, seed: case.sim.seed };
        Arc::from(engine_named(case.engine(at).name, &parameters).expect("an engine of the list"))
    };
    let engines = Engines { before: named(0), after: named(1) };
    let report = match scenario::run(&case.scenario(), engines, &mut Unwatched) {
        Ok(report) => report,
        Err(error) => match refused(&error) {
            Some(why) => {
                tally.count(why);
                return Ok(());
            }
            None => return Err(TestCaseError::fail(error.to_string())),
        },
    };
    let reason = report.reason.clone().unwrap_or_default();
    prop_assert!(!reason.contains("the observer says that nothing stands there"), "{}", reason);
    let proved = report.proof.status == "proved";
    prop_assert!(!(proved && report.outcome == Ending::Deadlocked), "a proved plan deadlocks");
    let is_slow = is_slow(case, &report, &reason);
    tally.count(match (report.outcome, proved) {
        (Ending::Completed, true) => "completed",
        (Ending::Completed, false) => "completed, refused by the prover",
        (Ending::Deadlocked, _) => "deadlocked, refused by the prover",
        (Ending::Aborted, _) if is_slow => "no verdict: replies wait for longer in send queues than a wave may wait",
        (Ending::Aborted, _) => "no verdict: packets were lost, and counters cannot balance",
        _ => return Err(TestCaseError::fail(format!("{:?}: {reason}", report.outcome))),
    });
    if report.outcome == Ending::Aborted && !is_slow {
        // Counters of packets that are lost never balance, and nothing else may keep an observer from its verdict.
        let lost = report.packets.lost_to_failure + report.packets.lost_to_change + report.packets.stranded;
        let is_unbalanced = case.policy.observer == Observer::Conservation && lost > 0;
        prop_assert!(is_unbalanced, "{}", reason);
    }
    tally.count(case.scheme.name());
    tally.count(case.policy.observer.name());
    tally.count(LATCHES[case.latch].1);
    tally.count(case.engine(1).name);
    Ok(())
}

#[test]
fn the_account_of_the_simulation_agrees_with_every_barrier() {
    let drawn = cases(&SCHEMES, Observer::ALL);
    let (tally, cases) = claim("witnessed barriers", 50, drawn, |tally, case| agrees(tally, &case));
    tally.demand("completed", cases, 2);
    for &observer in Observer::ALL {
        tally.demand(observer.name(), cases, 10);
    }
    for &scheme in Scheme::ALL {
        // Some cases of this one do not begin.
        tally.demand(scheme.name(), cases, if scheme == Scheme::Ordered { 15 } else { 10 });
    }
}

/// The manager's questions wait behind the data of the half in use, and count where that counts: neither may delay a
/// verdict for good, or allow a wrong one.
#[test]
fn counters_that_are_read_on_the_lanes_of_data_agree_with_the_account() {
    let drawn = cases(&[Scheme::Double], &[Observer::Conservation]);
    let (tally, cases) = claim("counters among data", 15, drawn, |tally, case| agrees(tally, &case));
    // Others ask on layers that some port has no way back on, or lose packets.
    tally.demand("completed", cases, 4);
}
