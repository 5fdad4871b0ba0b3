//! The switches and the cables between them as flat arrays, with what has died and what leaves marked.
//!
//! Rows are the switches of the fabric before, in index order. The channels out of a row are adjacent, by port; the
//! rank there is a channel's *local* number. Channels to and from end ports are absent: nothing waits for a channel out
//! of an end port, and an end port takes what comes, so neither lies on a cycle.

use super::RepairInput;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;
use std::ops::Range;

/// No row, no channel, no way.
pub(super) const NONE: u32 = u32::MAX;

/// In place of a channel: the row delivers to the owner of the LID.
pub(super) const HERE: u32 = u32::MAX - 1;

/// One direction of a cable between two switches.
#[derive(Clone, Copy, Debug)]
pub(super) struct NetChannel {
    /// The row that sends.
    pub from: u32,
    /// The row that receives.
    pub to: u32,
    /// The other direction of the cable.
    pub back: u32,
    /// Rank among the channels out of `from`.
    pub local: u32,
    /// The port that sends.
    pub port: PortNum,
    /// The port that receives.
    pub input: PortNum,
}

/// Rows and channels.
pub(super) struct Net {
    pub rows: Vec<NodeId>,
    pub channels: Vec<NetChannel>,
    /// By row: its first channel; one more at the end.
    first: Vec<u32>,
    /// By port of the fabric: the channel that it sends into.
    channel_of: Vec<u32>,
    /// By node of the fabric.
    row_of: Vec<u32>,
    /// By channel: whether it has survived.
    pub alive: Vec<bool>,
    /// By channel: whether it has survived and does not leave.
    pub kept: Vec<bool>,
    /// By row: whether the switch has survived.
    pub present: Vec<bool>,
    /// By row: whether it has survived and does not leave.
    pub stays: Vec<bool>,
    /// By row: end ports that have survived.
    pub ends: Vec<u32>,
    /// By row: which of the parts it is in that hang together by what stays.
    pub part: Vec<u32>,
}

impl Net {
    pub fn of(input: &RepairInput<'_>) -> Net {
        let before = input.before;
        let rows: Vec<NodeId> = before.switches().collect();
        let mut row_of = vec![NONE; before.node_count()];
        rows.iter().zip(0..).for_each(|(node, row)| row_of[node.index()] = row);
        let mut net = Net {
            first: vec![0],
            channel_of: vec![NONE; before.port_count()],
            present: rows.iter().map(|&node| input.surviving.node(node).present).collect(),
            stays: rows.iter().map(|&node| input.remaining.node(node).present).collect(),
            ends: rows.iter().map(|&node| end_ports_at(input.surviving, node).count() as u32).collect(),
            channels: Vec::new(),
            alive: Vec::new(),
            kept: Vec::new(),
            part: Vec::new(),
            row_of,
            rows,
        };
        net.add_channels(input);
        net.part = net.parts();
        net
    }

    fn add_channels(&mut self, input: &RepairInput<'_>) {
        let before = input.before;
        let mut ports = Vec::new();
        // Row by row, so that the channels out of a row are a range, and a bit set over a row needs no more bits than
        // the row has cables (`order`).
        for (from, &node) in self.rows.iter().enumerate() {
            let start = self.channels.len();
            for id in before.ports_of(node) {
                let Some(peer) = before.peer(id) else { continue };
                let to = self.row_of[before.port(peer).node.index()];
                if to == NONE {
                    continue;
                }
                self.channel_of[id.index()] = self.channels.len() as u32;
                ports.push(id);
                // Channels that have died stay, marked: the first wave begins with the packets that they led, and all
                // tables keep one numbering. A port that leads elsewhere by now has lost its cable of before.
                self.alive.push(input.surviving.peer(id) == Some(peer));
                self.kept.push(input.remaining.peer(id) == Some(peer));
                let local = (self.channels.len() - start) as u32;
                let (port, input) = (before.port(id).num, before.port(peer).num);
                self.channels.push(NetChannel { from: from as u32, to, back: NONE, local, port, input });
            }
            self.first.push(self.channels.len() as u32);
        }
        // Only now has every port its channel. The way back may be out of a row that came later.
        for (channel, id) in self.channels.iter_mut().zip(ports) {
            channel.back = before.peer(id).map_or(NONE, |peer| self.channel_of[peer.index()]);
        }
    }

    /// By row: the first row of its part. A row in another part than a target is not *lost* to it: no entry could serve
    /// it.
    fn parts(&self) -> Vec<u32> {
        // Every cable has both directions, so what a row can be led to is what can be led to it, and one search from
        // any row finds the whole part.
        let mut part = vec![NONE; self.rows.len()];
        let mut stack = Vec::new();
        for start in 0..self.rows.len() {
            stack.extend((part[start] == NONE).then_some(start));
            while let Some(row) = stack.pop() {
                part[row] = start as u32;
                let beyond = self.out(row).filter(|&channel| self.kept[channel as usize]);
                stack.extend(beyond.map(|channel| self.to(channel)).filter(|&to| part[to] == NONE));
            }
        }
        part
    }

    /// Whether a row can be given a way to another.
    pub fn can_reach(&self, row: usize, target: usize) -> bool {
        self.stays[row] && self.stays[target] && self.part[row] == self.part[target]
    }

    #[inline]
    pub fn channel(&self, at: u32) -> &NetChannel {
        &self.channels[at as usize]
    }

    /// The row that a channel leads to.
    #[inline]
    pub fn to(&self, at: u32) -> usize {
        self.channels[at as usize].to as usize
    }

    /// The channels out of a row.
    #[inline]
    pub fn out(&self, row: usize) -> Range<u32> {
        self.first[row]..self.first[row + 1]
    }

    /// The channels into a row: of each cable the other direction.
    pub fn into(&self, row: usize) -> impl Iterator<Item = u32> + '_ {
        self.out(row).map(|channel| self.channel(channel).back)
    }

    pub fn most_degree(&self) -> usize {
        (0..self.rows.len()).map(|row| self.out(row).len()).max().unwrap_or(0)
    }

    /// The row of a switch, [`NONE`] for any other node.
    pub fn row_of(&self, node: NodeId) -> u32 {
        self.row_of[node.index()]
    }

    /// The channel that a port sends into, [`NONE`] for a port that is not cabled to a switch.
    #[inline]
    pub fn channel_of(&self, port: PortId) -> u32 {
        self.channel_of[port.index()]
    }

    /// Whether an entry names a channel that exists by `flags` ([`Net::alive`] or [`Net::kept`]).
    #[inline]
    pub fn leads(flags: &[bool], entry: u32) -> bool {
        // `HERE` and `NONE` are above all channels.
        entry < HERE && flags[entry as usize]
    }
}

/// The end ports cabled to a switch.
pub(super) fn end_ports_at(fabric: &Fabric, switch: NodeId) -> impl Iterator<Item = PortId> + '_ {
    let peers = fabric.ports_of(switch).filter_map(|port| fabric.peer(port));
    peers.filter(|&peer| !fabric.node(fabric.port(peer).node).is_switch())
}
