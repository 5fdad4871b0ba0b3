//! The layer `verify`: proves a routing function free of deadlock, then lets the prover refuse a plan that overwrites
//! its tables under traffic, and shows the cycle that could close: `cargo run --example prove`.

use reconfig::change::{ChangeError, ChangeInput, prepare};
use reconfig::fabric::generate::{Options, generate};
use reconfig::ids::{Half, Lmc};
use reconfig::plan::{Policy, Scheme};
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::verify::{Scope, prove_tables};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let made = generate(&"torus:4x4,2".parse()?, &Options::default())?;
    let fabric = Arc::new(reconfig::lid::assign(&made, Lmc::masked(1))?);
    let engine = UpDown::default();
    let function = engine.route(&fabric, &Demand::all(&fabric, 1))?;
    let tables = reconfig::lid::bring_up(&fabric, &function, 4);
    let proof = prove_tables(&fabric, &tables, &Scope::of(&[Half::Lower]))?;
    let found = proof.statistics();
    println!(
        "R is free of deadlock: {} dependencies between {} lanes all lead upwards; so are loops and black holes excluded",
        found.dependencies, found.lanes
    );

    let root = function.root().ok_or("up*/down* has a root")?;
    let sm = fabric.end_ports().find(|&port| fabric.neighbour(port) != Some(root)).ok_or("no host off the root")?;
    for scheme in [Scheme::InPlace, Scheme::Double] {
        let change = ChangeInput {
            before: fabric.clone(),
            surviving: fabric.clone(),
            after: Arc::new(fabric.without_nodes(&[root])),
            tables: tables.clone(),
            layers: 1,
            ways: None,
            old: Half::Lower,
            both_halves: false,
            engine: &engine,
            scheme,
            policy: Policy::default(),
            sm,
            base: None,
        };
        println!("\n{} leaves, scheme {scheme}:", fabric.describe_node(root));
        match prepare(change) {
            Ok(prepared) => {
                let proof = prepared.plan.proof().ok_or("a prepared plan is proved")?;
                println!("proved: {} waves, {} dependencies", proof.waves, proof.dependencies);
            }
            Err(ChangeError::Refused { refusal, .. }) => println!("refused: {refusal}"),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
