//! Follows packet by packet through the tables, and looks for a cycle of lanes: petgraph's search on what packets do.
//! Knows the fabric, the tables and the service levels, and nothing of the prover.

use petgraph::algo::is_cyclic_directed;
use petgraph::graphmap::DiGraphMap;
use reconfig::change::Routed;
use reconfig::fabric::{NodeId, PortId};
use reconfig::ids::{Lid, PortNum};

/// A lane: the port that sends, and the virtual lane.
type Lane = (PortId, u8);

/// Whether packets between end ports and switches can wait for each other in a circle.
///
/// # Errors
/// A packet that does not arrive.
pub fn closes_a_cycle(routed: &Routed) -> Result<bool, String> {
    let fabric = &routed.fabric;
    let mut walk = Walk { routed, graph: DiGraphMap::new(), arrived: vec![(Lid(0), 0); fabric.port_count()] };
    let top = fabric.max_lid().map_or(0, |lid| lid.0);
    for lid in (1..=top).map(Lid).filter(|&lid| fabric.lid_owner(lid).is_some()) {
        let sources = fabric.lid_ports().filter(|&source| fabric.lid_owner(lid) != Some(source));
        for (source, level) in sources.filter_map(|source| Some((source, routed.level(source, lid)?.get()))) {
            // Without layers it may send on each service level of the half, with them on one.
            let levels = match routed.function.path_layers() {
                Some(_) => level..level + 1,
                None => (level & 8)..(level & 8) + 8,
            };
            levels.into_iter().try_for_each(|sl| walk.follow(source, lid, sl))?;
        }
    }
    Ok(is_cyclic_directed(&walk.graph))
}

struct Walk<'a> {
    routed: &'a Routed,
    graph: DiGraphMap<Lane, ()>,
    /// By input port: the LID, and the levels (a bit each) on which a packet that came in there has arrived. What comes
    /// in there to the same LID, on the same level, goes the same way from there on.
    arrived: Vec<(Lid, u16)>,
}

impl Walk<'_> {
    fn lane(&self, sl: u8, node: NodeId, input: PortNum, output: PortNum) -> u8 {
        self.routed.tables.sl_to_vl[node.index()].get(input, output).0[usize::from(sl)].get()
    }

    fn note(&mut self, input: PortId, lid: Lid, sl: u8) {
        let known = &mut self.arrived[input.index()];
        let before = if known.0 == lid { known.1 } else { 0 };
        *known = (lid, before | 1 << sl);
    }

    fn follow(&mut self, source: PortId, lid: Lid, sl: u8) -> Result<(), String> {
        let fabric = &self.routed.fabric;
        let owner = fabric.lid_owner(lid).expect("asked for LIDs with owners");
        let own = fabric.port(source).node;
        let (mut input, mut held) = match fabric.node(own).is_switch() {
            true => (source, None),
            false => {
                let lane = self.lane(sl, own, PortNum::ZERO, fabric.port(source).num);
                (fabric.peer(source).expect("end ports are cabled"), Some((source, lane)))
            }
        };
        let mut passed = Vec::new();
        for _ in 0..=fabric.node_count() {
            let (at, num) = (fabric.port(input).node, fabric.port(input).num);
            let output = self.routed.tables.lfts[at.index()].get(lid);
            let lost =
                || format!("{} → LID {lid} is lost at {}", fabric.describe_port(source), fabric.describe_node(at));
            let output = output.ok_or_else(lost)?;
            let next = match output {
                PortNum::ZERO => None,
                _ => Some(fabric.port_at(at, output).ok_or_else(lost)?),
            };
            let next = next.map(|port| (port, self.lane(sl, at, num, output)));
            if let (Some(held), Some(next)) = (held, next) {
                self.graph.add_edge(held, next, ());
            }
            let far = match next {
                Some((port, _)) => fabric.peer(port).ok_or_else(lost)?,
                None => fabric.node(at).first_port,
            };
            let ends = next.is_none() || !fabric.node(fabric.port(far).node).is_switch();
            if ends && far != owner {
                return Err(lost());
            }
            passed.push(input);
            let known = self.arrived[input.index()];
            if ends || known.0 == lid && known.1 >> sl & 1 == 1 {
                passed.into_iter().for_each(|port| self.note(port, lid, sl));
                return Ok(());
            }
            (held, input) = (next, far);
        }
        Err(format!("{} → LID {lid} goes round", fabric.describe_port(source)))
    }
}
