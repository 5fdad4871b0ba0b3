//! The fabric as the checker reads it: flat arrays by channel and by switch.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{PortMask, PortNum};
use crate::plan::Plan;

/// The element at the far end of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChannelEnd {
    Nowhere,
    Port(PortId),
    /// Into a switch, by its place in [`CheckedNet::switches`] and its port.
    Switch(u32, PortNum),
}

/// The fate of packets at an output of a switch at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outlet {
    /// Keeps them: port 0 is the switch itself.
    Own,
    /// Discards them: the switch has no such port, or it never had a cable.
    Hole,
    /// Loses them: its cable has died.
    Dead,
    /// Sends them to an end port.
    Port { channel: usize, at: PortId },
    /// Sends them into a switch, given by its place.
    Switch { channel: usize, next: usize },
}

/// An end port and where it sends into.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourcePort {
    pub port: PortId,
    pub input: PortNum,
}

pub(super) struct CheckedNet {
    /// In index order.
    pub switches: Vec<NodeId>,
    /// By switch: ports, port 0 included.
    pub sides: Vec<usize>,
    /// By switch: index of port 0.
    first: Vec<usize>,
    /// By channel.
    pub ends: Vec<ChannelEnd>,
    /// By channel: whether it exists once the waves have begun.
    survives: Vec<bool>,
    /// By channel: the data lanes that both its ends have.
    pub carried: Vec<u16>,
    /// Cabled channels of switches in index order: those that are numbered.
    pub sent: Vec<u32>,
    /// By switch.
    pub sources: Vec<Vec<SourcePort>>,
    /// By switch: the ports by which sources send into it.
    source_inputs: Vec<PortMask>,
    /// By channel into a switch from a switch: its way on by port 0 of that switch.
    first_way: Vec<usize>,
    /// By switch: channels from switches. Their ways on by one port are neighbours, because the packets of a DLID come
    /// by many of them and leave by one port.
    incoming: Vec<usize>,
    /// Ways in all.
    pub way_count: usize,
    /// By port: whether it is of a switch.
    at_switch: Vec<bool>,
}

impl CheckedNet {
    pub fn new(plan: &Plan) -> CheckedNet {
        let (fabric, surviving) = (&*plan.draft().before, &*plan.draft().surviving);
        let switches: Vec<NodeId> = fabric.switches().collect();
        let mut place = vec![u32::MAX; fabric.node_count()];
        switches.iter().zip(0..).for_each(|(node, at)| place[node.index()] = at);
        let end = |channel: PortId| match fabric.peer(channel) {
            None => ChannelEnd::Nowhere,
            Some(peer) if place[fabric.port(peer).node.index()] == u32::MAX => ChannelEnd::Port(peer),
            Some(peer) => ChannelEnd::Switch(place[fabric.port(peer).node.index()], fabric.port(peer).num),
        };
        let mut net = CheckedNet {
            sides: switches.iter().map(|&node| usize::from(fabric.node(node).num_ports) + 1).collect(),
            first: switches.iter().map(|&node| fabric.node(node).first_port.index()).collect(),
            ends: fabric.ports().map(|(id, _)| end(id)).collect(),
            survives: surviving.ports().map(|(_, port)| port.peer.is_some()).collect(),
            carried: fabric.ports().map(|(id, _)| carried(fabric, id)).collect(),
            sent: Vec::new(),
            sources: vec![Vec::new(); switches.len()],
            source_inputs: vec![PortMask::default(); switches.len()],
            first_way: vec![usize::MAX; fabric.port_count()],
            incoming: vec![0; switches.len()],
            way_count: 0,
            at_switch: fabric.ports().map(|(_, port)| place[port.node.index()] != u32::MAX).collect(),
            switches,
        };
        net.trace(fabric, &place);
        net
    }

    fn trace(&mut self, fabric: &Fabric, place: &[u32]) {
        for (channel, info) in fabric.ports() {
            let at_switch = place[info.node.index()] != u32::MAX;
            match self.ends[channel.index()] {
                ChannelEnd::Nowhere => {}
                ChannelEnd::Switch(to, input) if !at_switch => {
                    self.sources[to as usize].push(SourcePort { port: channel, input });
                    self.source_inputs[to as usize].insert(input);
                }
                ChannelEnd::Switch(to, _) => {
                    // Its place among the channels into the switch, until all are counted.
                    self.first_way[channel.index()] = self.incoming[to as usize];
                    self.incoming[to as usize] += 1;
                    self.sent.push(channel.0);
                }
                ChannelEnd::Port(_) if at_switch => self.sent.push(channel.0),
                ChannelEnd::Port(_) => {}
            }
        }
        let mut first = Vec::new();
        for (sides, incoming) in self.sides.iter().zip(&self.incoming) {
            first.push(self.way_count);
            self.way_count += sides * incoming;
        }
        for (way, end) in self.first_way.iter_mut().zip(&self.ends) {
            if let ChannelEnd::Switch(to, _) = *end
                && *way != usize::MAX
            {
                *way += first[to as usize];
            }
        }
    }

    /// The way of packets in a channel from a switch into a switch, on by one of its ports.
    #[inline]
    pub fn way(&self, inward: usize, switch: usize, output: usize) -> usize {
        self.first_way[inward] + output * self.incoming[switch]
    }

    /// Returns whether a source sends into a switch by a port.
    #[inline]
    pub fn is_source(&self, switch: usize, input: PortNum) -> bool {
        self.source_inputs[switch].contains(input)
    }

    /// The channel that a switch sends into by a port.
    #[inline]
    pub fn channel(&self, switch: usize, output: usize) -> usize {
        self.first[switch] + output
    }

    /// Returns whether a switch sends into a channel.
    pub fn is_sent(&self, channel: usize) -> bool {
        self.at_switch[channel] && self.ends[channel] != ChannelEnd::Nowhere
    }

    /// Returns whether a port is a cabled one of a CA or router.
    pub fn is_end_port(&self, port: PortId) -> bool {
        !self.at_switch[port.index()] && self.ends[port.index()] != ChannelEnd::Nowhere
    }

    /// The fate of packets at an output of a switch. *No route* is port 255, which no switch has.
    #[inline]
    pub fn outlet(&self, moment: usize, switch: usize, output: usize) -> Outlet {
        if output == 0 {
            return Outlet::Own;
        }
        if output >= self.sides[switch] {
            return Outlet::Hole;
        }
        let channel = self.channel(switch, output);
        match self.ends[channel] {
            ChannelEnd::Nowhere => Outlet::Hole,
            _ if !self.is_there(moment, channel) => Outlet::Dead,
            ChannelEnd::Port(at) => Outlet::Port { channel, at },
            ChannelEnd::Switch(next, _) => Outlet::Switch { channel, next: next as usize },
        }
    }

    /// Returns whether a channel exists at a moment; moment 0 is the one before the change.
    #[inline]
    pub fn is_there(&self, moment: usize, channel: usize) -> bool {
        self.ends[channel] != ChannelEnd::Nowhere && (moment == 0 || self.survives[channel])
    }
}

fn carried(fabric: &Fabric, channel: PortId) -> u16 {
    let ends = [Some(channel), fabric.peer(channel)];
    let vls = ends.into_iter().flatten().map(|end| fabric.port(end).data_vls.min(15)).min();
    ((1u32 << vls.unwrap_or(0)) - 1) as u16
}
