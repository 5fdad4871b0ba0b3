//! The channels between present switches in flat arrays, for engines that weigh channels and their dependencies.
//!
//! Switches are numbered by the rows of [`SwitchGraph`]. The channels out of a row are adjacent, in ascending order of
//! (neighbour's row, port); their rank there is the channel's *local* number. A cable from a switch to itself is
//! omitted. A dependency, from a channel into a row to one out of it, has a *slot*: a dense number, so that counts of
//! all dependencies fit one array (the sum of the squares of the degrees) without hashing.

use super::switch_graph::{SwitchGraph, Target};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;
use std::ops::Range;

/// No row, or no channel.
pub(super) const NONE: u32 = u32::MAX;

/// One direction of one link between two switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Channel {
    /// Row that sends.
    pub from: u32,
    /// Row that receives.
    pub to: u32,
    /// The channel of the other direction.
    pub back: u32,
    /// Rank among the channels out of `from`; below 254, as ports are.
    pub local: u8,
    /// The port of `from` that sends.
    pub port: PortNum,
}

/// Rows and channels of a fabric.
pub(super) struct FlatGraph {
    graph: SwitchGraph,
    /// By row: its first channel; one more at the end.
    first: Vec<u32>,
    channels: Vec<Channel>,
    /// By row: its first slot; one more at the end.
    square: Vec<usize>,
}

impl FlatGraph {
    pub fn of(fabric: &Fabric) -> FlatGraph {
        let mut net =
            FlatGraph { graph: SwitchGraph::of(fabric), first: vec![0], channels: Vec::new(), square: vec![0] };
        let mut channel_of = vec![NONE; fabric.port_count()];
        for from in 0..net.rows() {
            let start = net.channels.len();
            let cables =
                net.graph.neighbours(from).iter().flat_map(|next| next.ports.iter().map(|&port| (next.row, port)));
            for (to, port) in cables {
                if let Some(id) = fabric.port_at(net.graph.node(from), port) {
                    channel_of[id.index()] = net.channels.len() as u32;
                }
                let local = (net.channels.len() - start) as u8;
                // Its other direction is known once all channels are.
                net.channels.push(Channel { from: from as u32, to: to as u32, back: NONE, local, port });
            }
            let degree = net.channels.len() - start;
            net.first.push(net.channels.len() as u32);
            net.square.push(net.square[from] + degree * degree);
        }
        for (id, port) in fabric.ports() {
            if let (at, Some(peer)) = (channel_of[id.index()], port.peer)
                && at != NONE
            {
                net.channels[at as usize].back = channel_of[peer.index()];
            }
        }
        net
    }

    pub fn rows(&self) -> usize {
        self.graph.len()
    }

    pub fn node(&self, row: usize) -> NodeId {
        self.graph.node(row)
    }

    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    #[inline]
    pub fn channel(&self, at: u32) -> Channel {
        self.channels[at as usize]
    }

    /// The channels out of a row by number.
    #[inline]
    pub fn out(&self, row: usize) -> Range<u32> {
        self.first[row]..self.first[row + 1]
    }

    /// The channels out of a row.
    pub fn leaving(&self, row: usize) -> &[Channel] {
        &self.channels[self.first[row] as usize..self.first[row + 1] as usize]
    }

    pub fn degree(&self, row: usize) -> usize {
        (self.first[row + 1] - self.first[row]) as usize
    }

    /// The most channels out of one row.
    pub fn most_degree(&self) -> usize {
        (0..self.rows()).map(|row| self.degree(row)).max().unwrap_or(0)
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.square[self.rows()]
    }

    /// The slot of the dependency from a channel to the first channel out of the row at its end; the slots of the
    /// others follow, by local number.
    pub fn slots_from(&self, channel: u32) -> usize {
        let Channel { to, back, .. } = self.channel(channel);
        self.square[to as usize] + usize::from(self.channel(back).local) * self.degree(to as usize)
    }

    /// The slot of a dependency; `after` leaves the row that `before` leads into.
    pub fn slot(&self, before: u32, after: u32) -> usize {
        self.slots_from(before) + usize::from(self.channel(after).local)
    }

    /// The port of rank `destination` in a demand; see [`SwitchGraph::target`].
    pub fn target(&self, fabric: &Fabric, destination: usize, port: PortId) -> Option<Target> {
        self.graph.target(fabric, destination, port)
    }
}
