//! The layer `scenario`: a change under traffic from within a program. The root of a fat tree dies; every packet is
//! accounted for: `cargo run --release --example simulate`.

use reconfig::fabric::generate::{Options, generate};
use reconfig::routing::UpDown;
use reconfig::scenario::{self, Scenario, Watch};
use std::sync::Arc;

/// Prints the run's progress.
struct Narrator;

impl Watch for Narrator {
    fn begins(&mut self, expected_hops: u64, load: f64) {
        println!("expecting about {expected_hops} packet-hops at load {load}");
    }

    fn passes(&mut self, _: u64, _: u64) {}

    fn ends(&mut self) {
        println!("over\n");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fabric = generate(&"fat-tree:4,2".parse()?, &Options::default())?;
    let report = scenario::run(&Scenario::remove_root(fabric), Arc::new(UpDown::default()), &mut Narrator)?;
    println!("{}: {:?} in {:?} ns, {}", report.what, report.outcome, report.change_ns(), report.proof.status);
    for phase in &report.changes[0].phases {
        println!("  {:<8} {:>9} ns, {} SMPs", phase.name, phase.end_ns - phase.start_ns, phase.smps);
    }

    let packets = report.packets;
    assert_eq!(packets.lost_to_change, 0, "the Double Scheme loses nothing");
    println!("{} of {} packets delivered; trace {:016x}", packets.delivered, packets.injected, report.trace_hash);
    Ok(())
}
