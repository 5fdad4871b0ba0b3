//! Finds the seed of the bundled fabric `ghost-cycle`: a small random fabric whose routings before and after the loss of
//! the root are each free of deadlock, and which deadlocks all the same when tables are rewritten in place, in a cycle
//! of dependencies that the prover names beforehand and of which no class (DLID, SL) alone goes round.
//!
//! A fabric fits if that happens in nine runs of ten at the default load, whether the root dies or leaves as planned; if
//! the routing before carries that load; and if the Double Scheme, under the same traffic, loses nothing:
//! `cargo run --release --example find_ghost_cycle [TOPOLOGY [FIRST_SEED [SEEDS]]]`.

use reconfig::fabric::Fabric;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::plan::Scheme;
use reconfig::routing::UpDown;
use reconfig::scenario::{self, Departure, Ending, Foreseen, Scenario, ScenarioError, SimulationReport, Watch};
use reconfig::verify::Refusal;
use std::rc::Rc;

const RUNS: u64 = 10;
const ENOUGH: u64 = 9;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let topology: Topology = arguments.next().map_or("random-regular:8,4,5".parse(), |text| text.parse())?;
    let first: u64 = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let seeds: u64 = arguments.next().map_or(Ok(1_000), |text| text.parse())?;
    for seed in first..first.saturating_add(seeds) {
        let fabric = generate(&topology, &Options { seed, ..Options::default() })?;
        if fits(seed, &fabric)? {
            println!("seed {seed} of {topology} fits");
            return Ok(());
        }
    }
    Err(format!("none of {seeds} seeds of {topology} from {first} fits").into())
}

fn fits(seed: u64, fabric: &Fabric) -> Result<bool, ScenarioError> {
    let mut enough = true;
    for departure in [Departure::Sudden, Departure::Planned] {
        let scenario = Scenario { departure, scheme: Scheme::InPlace, ..Scenario::remove_root(fabric.clone()) };
        if !has_ghost_cycle(&scenario)? {
            return Ok(false);
        }
        let tally = Tally::of(&scenario)?;
        println!("seed {seed}, {}: {}", departure.name(), tally.describe());
        enough &= tally.is_enough();
    }
    Ok(enough)
}

/// Whether the prover refuses the plan for a cycle that takes several classes.
fn has_ghost_cycle(scenario: &Scenario) -> Result<bool, ScenarioError> {
    let plan = scenario::plan(scenario, Rc::new(UpDown::default()))?;
    Ok(matches!(plan.refusal(), Some(Refusal::Deadlock(_))))
}

/// What several runs came to.
#[derive(Default)]
struct Tally {
    deadlocks: u64,
    /// Of those, in the cycle that the refusal names, whatever the lanes.
    named: u64,
    /// Runs of the Double Scheme that completed without loss.
    clean: u64,
    /// Runs before whose change the load was carried.
    carried: u64,
}

impl Tally {
    fn of(scenario: &Scenario) -> Result<Tally, ScenarioError> {
        let mut tally = Tally::default();
        for seed in 1..=RUNS {
            let mut scenario = scenario.clone();
            scenario.sim.seed = seed;
            let report = run(&scenario)?;
            let how = report.foresight.as_ref().map(|foresight| foresight.how);
            tally.deadlocks += u64::from(report.outcome == Ending::Deadlocked);
            tally.named += u64::from(matches!(how, Some(Foreseen::Named | Foreseen::NamedOnOtherLanes)));
            tally.carried += u64::from(report.throughput.before > 0.95 * report.settings.load);
            let double = run(&Scenario { scheme: Scheme::Double, ..scenario })?;
            tally.clean += u64::from(double.is_clean());
        }
        Ok(tally)
    }

    fn is_enough(&self) -> bool {
        self.deadlocks >= ENOUGH && self.clean == RUNS && self.carried == RUNS
    }

    fn describe(&self) -> String {
        let Tally { deadlocks, named, clean, carried } = self;
        format!(
            "{deadlocks} of {RUNS} runs deadlock, {named} in the cycle that the prover names; \
             the load is carried in {carried}; the Double Scheme loses nothing in {clean}"
        )
    }
}

fn run(scenario: &Scenario) -> Result<SimulationReport, ScenarioError> {
    scenario::run(scenario, Rc::new(UpDown::default()), &mut Unwatched)
}

/// Nobody watches the runs.
struct Unwatched;

impl Watch for Unwatched {
    fn begins(&mut self, _: u64, _: f64) {}

    fn passes(&mut self, _: u64, _: u64) {}

    fn ends(&mut self) {}
}
