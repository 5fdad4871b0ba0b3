//! The layers `lid` and `routing`: numbers a fabric for two halves, routes it with up*/down*, and follows the resulting
//! tables: `cargo run --example route`.

use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Half, Lid, Lmc};
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::tables::SubnetTables;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let made = generate(&"mesh:4x4,1".parse()?, &Options::default())?;
    // LMC 1: every end port has two LIDs, one for each half.
    let fabric = reconfig::lid::assign(&made, Lmc::masked(1))?;
    let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1))?;
    let root = function.root().ok_or("up*/down* has a root")?;
    println!("up*/down* from {}: {} destinations", fabric.describe_node(root), function.destinations().len());

    let tables = reconfig::lid::bring_up(&fabric, &function, 4);
    let lft = &tables.lfts[root.index()];
    println!("the root's forwarding table: {} block(s) of 64 LIDs", lft.blocks());

    let ports: Vec<PortId> = fabric.end_ports().collect();
    let (from, to) = (ports[0], ports[ports.len() - 1]);
    for half in [Half::Lower, Half::Upper] {
        for lid in fabric.half_lids(to, half) {
            println!("{} to LID {lid} ({half} half):", fabric.describe_port(from));
            println!("  {}", path(&fabric, &tables, from, lid).join("\n  "));
        }
    }
    Ok(())
}

/// The ports that send a packet on its way to a LID.
fn path(fabric: &Fabric, tables: &SubnetTables, from: PortId, lid: Lid) -> Vec<String> {
    let mut sender = Some(from);
    let mut path = Vec::new();
    while let Some(port) = sender {
        path.push(fabric.describe_port(port));
        let next = fabric.neighbour(port).filter(|&node| fabric.node(node).is_switch());
        sender = next.and_then(|node| fabric.port_at(node, tables.lfts[node.index()].get(lid)?));
    }
    path
}
