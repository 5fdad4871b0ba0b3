//! Follows packet by packet through the tables, and looks for a cycle of lanes: petgraph's search on what packets do. Knows
//! the fabric, the tables and the service levels, and nothing of the prover.

use petgraph::algo::is_cyclic_directed;
use petgraph::graphmap::DiGraphMap;
use reconfig::change::Routed;
use reconfig::fabric::PortId;
use reconfig::ids::{Lid, PortNum};

/// A lane: the port that sends, and the virtual lane.
type Lane = (PortId, u8);

/// Whether packets between end ports and switches can wait for each other in a circle.
///
/// # Errors
/// A packet that does not arrive.
pub fn closes_a_cycle(routed: &Routed) -> Result<bool, String> {
    let fabric = &routed.fabric;
    let mut graph: DiGraphMap<Lane, ()> = DiGraphMap::new();
    let top = fabric.max_lid().map_or(0, |lid| lid.0);
    for lid in (1..=top).map(Lid).filter(|&lid| fabric.lid_owner(lid).is_some()) {
        for source in fabric.lid_ports() {
            if let Some(level) = levels(routed, source, lid) {
                level.into_iter().try_for_each(|sl| follow(routed, source, lid, sl, &mut graph))?;
            }
        }
    }
    Ok(is_cyclic_directed(&graph))
}

/// Service levels that a source may send to a LID on: without layers each of the half, with them one.
fn levels(routed: &Routed, source: PortId, lid: Lid) -> Option<Vec<u8>> {
    let level = routed.level(source, lid)?.get();
    let own = routed.fabric.lid_owner(lid)?;
    if own == source {
        return None;
    }
    match routed.function.path_layers() {
        Some(_) => Some(vec![level]),
        None => Some((level & 8..(level & 8) + 8).collect()),
    }
}

fn follow(routed: &Routed, source: PortId, lid: Lid, sl: u8, graph: &mut DiGraphMap<Lane, ()>) -> Result<(), String> {
    let fabric = &routed.fabric;
    let owner = fabric.lid_owner(lid).expect("asked for LIDs with owners");
    let lane = |node: reconfig::fabric::NodeId, input, output| {
        let table = routed.tables.sl_to_vl[node.index()].get(input, output);
        table.0[usize::from(sl)].get()
    };
    let own = fabric.port(source).node;
    let (mut at, mut input, mut held) = match fabric.node(own).is_switch() {
        true => (own, PortNum::ZERO, None),
        false => {
            let first = fabric.port(fabric.peer(source).expect("end ports are cabled"));
            (first.node, first.num, Some((source, lane(own, PortNum::ZERO, fabric.port(source).num))))
        }
    };
    for _ in 0..=fabric.node_count() {
        let output = routed.tables.lfts[at.index()].get(lid);
        let lost = || format!("{} → LID {lid} is lost at {}", fabric.describe_port(source), fabric.describe_node(at));
        let output = output.ok_or_else(lost)?;
        if output == PortNum::ZERO {
            return if fabric.node(at).first_port == owner { Ok(()) } else { Err(lost()) };
        }
        let port = fabric.port_at(at, output).ok_or_else(lost)?;
        let next = (port, lane(at, input, output));
        if let Some(held) = held {
            graph.add_edge(held, next, ());
        }
        let far = fabric.peer(port).ok_or_else(lost)?;
        if !fabric.node(fabric.port(far).node).is_switch() {
            return if far == owner { Ok(()) } else { Err(lost()) };
        }
        (held, at, input) = (Some(next), fabric.port(far).node, fabric.port(far).num);
    }
    Err(format!("{} → LID {lid} goes round", fabric.describe_port(source)))
}
