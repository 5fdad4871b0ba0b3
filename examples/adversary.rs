//! How often the adversary brings about the deadlock that the prover named: random fabrics lose their root, are rewritten
//! in place, and every plan that the prover refuses is steered at its cycle:
//! `cargo run --release --example adversary [FABRICS_EACH]`.

use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::plan::Scheme;
use reconfig::routing::UpDown;
use reconfig::scenario::{Departure, Foreseen, Scenario, ScenarioError, SimulationReport, Watch, adversary};
use reconfig::sim::Latch;
use std::collections::BTreeMap;
use std::rc::Rc;

const TOPOLOGIES: [&str; 4] =
    ["random-regular:8,4,3", "random-regular:8,4,5", "random-regular:12,4,3", "random-regular:16,4,3"];
const LATCHES: [Latch; 3] = [Latch::Arrival, Latch::Head, Latch::Grant];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let each = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    println!("{:<22} {:<8} {:<8} refused  reached  as named", "fabrics", "leaves", "latch");
    let mut misses: BTreeMap<String, u64> = BTreeMap::new();
    for topology in TOPOLOGIES {
        let parsed: Topology = topology.parse()?;
        for departure in [Departure::Sudden, Departure::Planned] {
            for latch in LATCHES {
                let mut tally = Tally::default();
                for seed in 1..=each {
                    let fabric = generate(&parsed, &Options { seed, ..Options::default() })?;
                    let base = Scenario::remove_root(fabric);
                    let mut scenario = Scenario { departure, scheme: Scheme::InPlace, ..base };
                    scenario.sim.latch = latch;
                    tally.add(&steer(&scenario)?, &mut misses);
                }
                let Tally { refused, reached, named } = tally;
                let latch = format!("{latch:?}").to_lowercase();
                println!(
                    "{:<22} {:<8} {latch:<8} {refused:>7}  {reached:>7}  {named:>8}",
                    format!("{each} × {topology}"),
                    departure.name()
                );
            }
        }
    }
    for (why, count) in misses {
        println!("{count:>4} × {why}");
    }
    Ok(())
}

#[derive(Default)]
struct Tally {
    refused: u64,
    /// A deadlock closed.
    reached: u64,
    /// On the very lanes that the refusal names.
    named: u64,
}

impl Tally {
    fn add(&mut self, report: &SimulationReport, misses: &mut BTreeMap<String, u64>) {
        self.refused += u64::from(report.proof.status == "refused");
        let Some(adversary) = &report.adversary else { return };
        self.reached += u64::from(adversary.reached == Some(true));
        self.named += u64::from(report.foresight.as_ref().is_some_and(|foresight| foresight.how == Foreseen::Named));
        if let Some(why) = &adversary.why {
            *misses.entry(kind(why)).or_default() += 1;
        }
    }
}

/// A reason without its particulars.
fn kind(why: &str) -> String {
    why.split(": ").next().unwrap_or(why).to_string()
}

fn steer(scenario: &Scenario) -> Result<SimulationReport, ScenarioError> {
    adversary::run(scenario, Rc::new(UpDown::default()), &mut Unwatched)
}

/// Nobody watches the runs.
struct Unwatched;

impl Watch for Unwatched {
    fn begins(&mut self, _: u64, _: f64) {}

    fn passes(&mut self, _: u64, _: u64) {}

    fn ends(&mut self) {}
}
