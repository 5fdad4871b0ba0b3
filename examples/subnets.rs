//! Several subnets from within a program: two random ones joined by two routers. The root of the first dies, then, in
//! another run, a router leaves as planned: `cargo run --release --example subnets`.

use reconfig::change::Departure;
use reconfig::fabric::generate::{JoinShape, JoinedTopology, Options, joined};
use reconfig::ids::SubnetId;
use reconfig::report;
use reconfig::routing::UpDown;
use reconfig::scenario::{AcrossChange, AcrossScenario, Element, Unwatched, run_across};
use std::rc::Rc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let topology = "random-regular:8,3,2".parse()?;
    let asked = JoinedTopology { topology, subnets: 2, shape: JoinShape::Line, routers: 2 };
    let subnets = joined(&asked, &Options { seed: 3, ..Options::default() })?;
    let root = AcrossChange::In { subnet: SubnetId(0), element: Element::Root };
    let mut scenario = AcrossScenario::new(subnets, root);
    let report = run_across(&scenario, Rc::new(UpDown::default()), &mut Unwatched)?;
    println!("{}", report::subnets_simulation(&report));
    assert_eq!(report.packets.lost_to_change, 0, "the change loses nothing");

    scenario.change = AcrossChange::Router(0);
    scenario.settings.departure = Departure::Planned;
    let report = run_across(&scenario, Rc::new(UpDown::default()), &mut Unwatched)?;
    println!("{}", report::subnets_simulation(&report));
    assert_eq!(report.packets.delivered, report.packets.injected, "a planned removal loses nothing at all");
    Ok(())
}
