//! Switches by rank, and where their ports lead: for ways that are followed from switch to switch for every LID, where
//! hosts are many times as many as switches.

use super::{Fabric, NodeId, PortId};

/// The switches that are present, by rank in index order.
pub struct RankedSwitches {
    /// By rank.
    pub switches: Vec<NodeId>,
    /// By port: the rank of the switch at the other end of its cable.
    behind: Vec<Option<u32>>,
}

impl RankedSwitches {
    /// Those of a fabric.
    pub fn of(fabric: &Fabric) -> RankedSwitches {
        let switches: Vec<NodeId> = fabric.switches().collect();
        let mut ranks = vec![None; fabric.node_count()];
        (0..).zip(&switches).for_each(|(rank, switch)| ranks[switch.index()] = Some(rank));
        let far = |(port, _)| fabric.neighbour(port).and_then(|node| ranks[node.index()]);
        let behind = fabric.ports().map(far).collect();
        RankedSwitches { switches, behind }
    }

    /// The rank of the switch that a port is cabled to; none where that is no switch.
    #[inline]
    pub fn behind(&self, port: PortId) -> Option<usize> {
        self.behind[port.index()].map(|rank| rank as usize)
    }
}
