//! Several subnets from within a program: two random ones joined by two routers. The root of the first dies, then, in
//! another run, a router leaves as planned: `cargo run --release --example subnets`.

use reconfig::change::Departure;
use reconfig::fabric::generate::{JoinShape, JoinedTopology, Options, joined};
use reconfig::ids::SubnetId;
use reconfig::routing::UpDown;
use reconfig::scenario::{self, Element, Scenario, ScenarioChange, SimulationReport, Unwatched};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let topology = "random-regular:8,3,2".parse()?;
    let asked = JoinedTopology { topology, subnets: 2, shape: JoinShape::Line, routers: 2 };
    let subnets = joined(&asked, &Options { seed: 3, ..Options::default() })?;
    let root = ScenarioChange::In { subnet: SubnetId(0), elements: vec![Element::Root] };
    let mut scenario = Scenario::new(subnets, root);
    let report = scenario::run(&scenario, Arc::new(UpDown::default()), &mut Unwatched)?;
    show(&report);
    assert_eq!(report.packets.lost_to_change, 0, "the change loses nothing");

    scenario.change = ScenarioChange::Router(0);
    scenario.departure = Departure::Planned;
    let report = scenario::run(&scenario, Arc::new(UpDown::default()), &mut Unwatched)?;
    show(&report);
    assert_eq!(report.packets.delivered, report.packets.injected, "a planned removal loses nothing at all");
    Ok(())
}

fn show(report: &SimulationReport) {
    println!("{}: {:?}, the whole {}", report.what, report.outcome, report.proof.status);
    for relation in &report.relations {
        let (packets, latency) = (&relation.packets, relation.latency_ns.during);
        let sums = format!("{} of {} packets delivered", packets.delivered, packets.injected);
        println!("  {} → {}: {sums}; p99 {} ns during the change", relation.from, relation.to, latency.p99);
    }
}
