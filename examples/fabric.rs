//! The layer `fabric`: makes a topology, writes it as ibnetdiscover prints it, reads that back, and converts it:
//! `cargo run --example fabric [FILE]` takes a file instead of the topology.

use reconfig::fabric::format::{Format, read, write};
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::summary::Summary;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (name, text) = match std::env::args().nth(1) {
        Some(file) => (file.clone(), std::fs::read(file)?),
        None => {
            let made = generate(&"fat-tree:4,2".parse()?, &Options::default())?;
            ("fat-tree:4,2".into(), write(&made, Format::Ibnetdiscover)?.into_bytes())
        }
    };
    let fabric = read(&text, &name)?;
    println!("{}", Summary::of(&fabric));

    let switch = fabric.switches().next().ok_or("the fabric has no switch")?;
    println!("{} and its neighbours:", fabric.describe_node(switch));
    for port in fabric.ports_of(switch) {
        if let Some(peer) = fabric.peer(port) {
            println!("  {} <-> {}", fabric.describe_port(port), fabric.describe_port(peer));
        }
    }

    // Indices do not change when elements leave: earlier tables still name the same ports.
    let without = fabric.without_nodes(&[switch]);
    println!("\nwithout it: {} cables instead of {}", without.links().count(), fabric.links().count());

    println!("\nas ibsim's net file it begins:");
    write(&fabric, Format::IbsimNet)?.lines().take(8).for_each(|line| println!("  {line}"));
    Ok(())
}
