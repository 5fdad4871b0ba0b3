//! The fabric as the walk needs it: flat arrays by channel and by switch *row*, the links before the change and those
//! that survive it side by side.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;

/// Where a channel leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Head {
    /// Nowhere: the port has no cable.
    Nothing,
    /// To an end port.
    End(PortId),
    /// Into a switch, by one of its ports.
    Switch { row: u32, input: PortNum },
}

/// A port that injects at a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Source {
    /// The switch.
    pub row: usize,
    /// The switch's port: 0 for the switch itself.
    pub input: PortNum,
    /// The port that sends; names the injection channel too, except for a switch itself, which has none.
    pub port: PortId,
}

/// Flat view of a fabric and of what survives of it.
pub(super) struct Net {
    /// Switches present before the change, in index order.
    pub rows: Vec<NodeId>,
    /// By row: index of port 0.
    pub first_port: Vec<u32>,
    /// By row: ports, port 0 included.
    pub sides: Vec<usize>,
    /// By channel, before the change.
    pub heads: Vec<Head>,
    /// By channel: whether it survives.
    pub survives: Vec<bool>,
    /// In order of rows, then inputs.
    pub sources: Vec<Source>,
}

impl Net {
    /// The view of `fabric` and of its restriction `surviving`. With `switches`, they inject too.
    pub fn new(fabric: &Fabric, surviving: &Fabric, switches: bool) -> Net {
        let rows: Vec<NodeId> = fabric.switches().collect();
        let mut row_of = vec![u32::MAX; fabric.node_count()];
        rows.iter().zip(0..).for_each(|(node, row)| row_of[node.index()] = row);
        let head = |channel: PortId| match fabric.peer(channel) {
            None => Head::Nothing,
            Some(peer) if fabric.node(fabric.port(peer).node).is_switch() => {
                let end = fabric.port(peer);
                Head::Switch { row: row_of[end.node.index()], input: end.num }
            }
            Some(peer) => Head::End(peer),
        };
        let sources =
            rows.iter().enumerate().flat_map(|(row, &node)| sources_at(fabric, row, node, switches)).collect();
        Net {
            first_port: rows.iter().map(|&node| fabric.node(node).first_port.0).collect(),
            sides: rows.iter().map(|&node| usize::from(fabric.node(node).num_ports) + 1).collect(),
            heads: fabric.ports().map(|(id, _)| head(id)).collect(),
            survives: surviving.ports().map(|(_, port)| port.peer.is_some()).collect(),
            sources,
            rows,
        }
    }

    /// The channel that a switch sends into by one of its ports.
    pub fn channel(&self, row: usize, output: PortNum) -> usize {
        self.first_port[row] as usize + output.index()
    }

    /// Whether a channel exists at a stage; stage 0 is the moment before the change.
    pub fn exists(&self, stage: usize, channel: usize) -> bool {
        self.heads[channel] != Head::Nothing && (stage == 0 || self.survives[channel])
    }
}

fn sources_at(fabric: &Fabric, row: usize, node: NodeId, switches: bool) -> impl Iterator<Item = Source> {
    fabric.ports_of(node).filter_map(move |id| {
        let input = fabric.port(id).num;
        if input == PortNum::ZERO {
            return switches.then_some(Source { row, input, port: id });
        }
        let port = fabric.peer(id)?;
        let end = !fabric.node(fabric.port(port).node).is_switch();
        end.then_some(Source { row, input, port })
    })
}
