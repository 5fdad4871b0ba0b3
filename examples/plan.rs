//! The layers `change`, `plan` and `check`: plans the removal of a fabric's root and prints its waves with their
//! barriers; then an independent lint judges the plan: `cargo run --example plan`.

use reconfig::check::lint;
use reconfig::fabric::generate::BUNDLED;
use reconfig::plan::Scheme;
use reconfig::routing::UpDown;
use reconfig::scenario::{self, Departure, Scenario};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bundled = BUNDLED.iter().find(|bundled| bundled.name == "seed-16").ok_or("seed-16 is bundled")?;
    for scheme in [Scheme::Double, Scheme::Static] {
        let scenario = Scenario { scheme, departure: Departure::Planned, ..Scenario::remove_root(bundled.generate()?) };
        let vetted = scenario::plan(&scenario, Arc::new(UpDown::default()))?;
        let plan = vetted.plan();
        println!("scheme {scheme} on {}: from the {} half to the {}", bundled.name, plan.old(), plan.new_half());
        for wave in plan.waves() {
            let barriers: Vec<String> = wave.barriers.iter().map(ToString::to_string).collect();
            println!("  {:<10} {:>4} writes, then {}", wave.name, wave.writes.len(), barriers.join(", "));
        }
        println!("  taken for granted:");
        plan.draft().assumptions.iter().for_each(|assumption| println!("    {}", assumption.name()));
        match lint(plan).as_slice() {
            [] => println!("  the lint finds nothing to say\n"),
            findings => println!("  the lint says: {findings:#?}\n"),
        }
    }
    Ok(())
}
