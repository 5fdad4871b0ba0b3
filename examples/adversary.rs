//! How often the adversary causes the deadlock that the prover named. Random fabrics lose their root and are rewritten
//! in place; the adversary drives every refused plan at its cycle:
//! `cargo run --release --example adversary [FABRICS_EACH]`.

use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::plan::Scheme;
use reconfig::routing::UpDown;
use reconfig::scenario::{self, Departure, Scenario, ScenarioError, SimulationReport, Unwatched, adversary};
use reconfig::sim::Latch;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Switches, links to other switches, hosts on each.
const TOPOLOGIES: [&str; 5] = [
    "random-regular:8,4,5",
    "random-regular:8,3,2",
    "random-regular:12,4,3",
    "random-regular:16,4,2",
    "random-regular:12,4,1",
];
const LATCHES: [Latch; 3] = [Latch::Arrival, Latch::Head, Latch::Grant];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let each = std::env::args().nth(1).map_or(Ok(4), |text| text.parse())?;
    println!("{:<26} {:<8} {:<8} refused  reached", "fabrics", "leaves", "latch");
    let mut all = Tally::default();
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
                    if scenario::plan(&scenario, Arc::new(UpDown::default()))?.refusal().is_some() {
                        tally.add(&steer(&scenario)?, &mut misses);
                    }
                }
                let Tally { refused, reached } = tally;
                let (latch, fabrics) = (format!("{latch:?}").to_lowercase(), format!("{each} × {topology}"));
                println!("{fabrics:<26} {:<8} {latch:<8} {refused:>7}  {reached:>7}", departure.name());
                all = Tally { refused: all.refused + refused, reached: all.reached + reached };
            }
        }
    }
    println!(
        "in all: {} plans refused, {} driven into the deadlock named, lane by lane; the rest:",
        all.refused, all.reached
    );
    for (why, count) in misses {
        println!("{count:>4} × {why}");
    }
    Ok(())
}

#[derive(Default)]
struct Tally {
    refused: u64,
    /// A deadlock closed on the very lanes that the refusal names.
    reached: u64,
}

impl Tally {
    fn add(&mut self, report: &SimulationReport, misses: &mut BTreeMap<String, u64>) {
        self.refused += 1;
        let Some(adversary) = &report.adversary else { return };
        self.reached += u64::from(adversary.reached == Some(true));
        if let Some(why) = &adversary.why {
            *misses.entry(kind(why)).or_default() += 1;
        }
    }
}

/// A reason without its details.
fn kind(why: &str) -> String {
    why.split(": ").next().unwrap_or(why).to_string()
}

fn steer(scenario: &Scenario) -> Result<SimulationReport, ScenarioError> {
    adversary::run(scenario, Arc::new(UpDown::default()), &mut Unwatched)
}
