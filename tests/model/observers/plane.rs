//! Packets of the retiring half in a small fabric: send queues, wires and buffers, all first in, first out.
//!
//! Tables do not change while lanes drain (P4.1), so every packet of a flow takes the flow's path.

use crate::support::fabrics::fabric_with;
use reconfig::drain::{ChannelId, DeviceId, DrainGraph, PortMask};
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::PortNum;
use std::collections::BTreeMap;

/// Channels and nodes at most.
pub const MOST: usize = 8;

/// Packets that a buffer of a switch has room for.
const ROOM: usize = 2;

/// Items in order, each of four bits and none 0; the first to leave in the lowest bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Fifo(u32);

impl Fifo {
    pub fn len(self) -> usize {
        (32 - self.0.leading_zeros() as usize).div_ceil(4)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn head(self) -> Option<u8> {
        self.items().next()
    }

    pub fn items(self) -> impl Iterator<Item = u8> {
        (0..self.len()).map(move |at| (self.0 >> (4 * at) & 15) as u8)
    }

    pub fn push(&mut self, item: u8) {
        assert!((1..16).contains(&item) && self.len() < 8, "four bits, eight items");
        self.0 |= u32::from(item) << (4 * self.len());
    }

    pub fn take(&mut self, at: usize) -> u8 {
        let item = self.items().nth(at).expect("an item stands there");
        let below = self.0 & ((1 << (4 * at)) - 1);
        self.0 = below | (u64::from(self.0) >> (4 * (at + 1)) << (4 * at)) as u32;
        item
    }

    /// Puts another item in a place.
    pub fn set(&mut self, at: usize, item: u8) {
        self.0 = self.0 & !(15 << (4 * at)) | u32::from(item) << (4 * at);
    }
}

/// A set of small numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Set(u16);

impl Set {
    pub fn has(self, item: usize) -> bool {
        self.0 >> item & 1 == 1
    }

    pub fn add(&mut self, item: usize) {
        self.0 |= 1 << item;
    }

    pub fn drop(&mut self, item: usize) {
        self.0 &= !(1 << item);
    }

    pub fn items(self) -> impl Iterator<Item = usize> {
        (0..16).filter(move |&item| self.has(item))
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<usize> for Set {
    fn from_iter<I: IntoIterator<Item = usize>>(items: I) -> Set {
        let mut set = Set::default();
        items.into_iter().for_each(|item| set.add(item));
        set
    }
}

/// One direction of a cable.
pub struct Channel {
    pub id: ChannelId,
    pub from: usize,
    pub to: usize,
    pub num: PortNum,
}

/// Packets of one path.
pub struct Flow {
    pub path: Vec<usize>,
    /// The flow of the replies that its packets cause.
    pub reply: Option<u8>,
}

/// A fabric with the flows of the retiring half. Switches are the first nodes.
pub struct Layout {
    pub fabric: Fabric,
    pub switches: usize,
    pub nodes: usize,
    pub channels: Vec<Channel>,
    pub flows: Vec<Flow>,
    /// By flow: packets that its source may make.
    pub packets: Vec<u8>,
    /// The cable that may die: both of its channels.
    pub mortal: Set,
}

/// A flow as it is written down: the nodes that it passes, and its replies.
pub type Route = (&'static [usize], Option<u8>);

impl Layout {
    pub fn new(
        (switches, links, hosts): (usize, &[(usize, usize)], &[usize]),
        routes: &[(Route, u8)],
        mortal: Option<(usize, usize)>,
    ) -> Layout {
        let fabric = fabric_with(switches, links, hosts);
        let mut channels: Vec<Channel> = Vec::new();
        let mut flows = Vec::new();
        for &((nodes, reply), _) in routes {
            let path = nodes.windows(2).map(|pair| place(&mut channels, &fabric, pair[0], pair[1])).collect();
            flows.push(Flow { path, reply });
        }
        assert!(channels.len() <= MOST, "more channels than a state has room for");
        let ends = |channel: &Channel| [(channel.from, channel.to), (channel.to, channel.from)];
        let dies = |at: &usize| mortal.is_some_and(|cable| ends(&channels[*at]).contains(&cable));
        let mortal = (0..channels.len()).filter(dies).collect();
        let packets = routes.iter().map(|&(_, packets)| packets).collect();
        let nodes = switches + hosts.len();
        Layout { fabric, switches, nodes, channels, flows, packets, mortal }
    }

    pub fn is_switch(&self, node: usize) -> bool {
        node < self.switches
    }

    pub fn hosts(&self) -> impl Iterator<Item = usize> + use<> {
        self.switches..self.nodes
    }

    pub fn ends_at(&self, node: usize) -> impl Iterator<Item = usize> {
        (0..self.channels.len()).filter(move |&channel| self.channels[channel].to == node)
    }

    pub fn begins_at(&self, node: usize) -> impl Iterator<Item = usize> {
        (0..self.channels.len()).filter(move |&channel| self.channels[channel].from == node)
    }

    /// From which channel packets of some flow go on into which.
    pub fn arcs(&self) -> Vec<(usize, usize)> {
        let pairs = self.flows.iter().flat_map(|flow| flow.path.windows(2).map(|pair| (pair[0], pair[1])));
        let mut arcs: Vec<_> = pairs.collect();
        arcs.sort_unstable();
        arcs.dedup();
        arcs
    }

    /// The drain graph of some arcs.
    pub fn graph(&self, arcs: &[(usize, usize)]) -> DrainGraph {
        let mut masks: BTreeMap<DeviceId, Vec<PortMask>> = BTreeMap::new();
        for &(from, to) in arcs {
            let node = NodeId(self.channels[to].from as u32);
            let ports = usize::from(self.fabric.node(node).num_ports) + 1;
            let input = self.fabric.peer(self.channels[from].id).expect("a cable has two ends");
            let mask = masks.entry(node).or_insert_with(|| vec![PortMask::EMPTY; ports]);
            mask[self.fabric.port(input).num.index()].insert(self.channels[to].num);
        }
        // Channels without arcs are in the graph too: a source's, and one whose arcs were taken away.
        let all: Vec<ChannelId> = self.channels.iter().map(|channel| channel.id).collect();
        DrainGraph::new(&self.fabric, masks, &all).expect("flows have no cycle")
    }

    pub fn channel(&self, id: ChannelId) -> usize {
        self.channels.iter().position(|channel| channel.id == id).expect("a channel of this fabric")
    }

    fn next(&self, flow: u8, channel: usize) -> Option<usize> {
        let path = &self.flows[usize::from(flow)].path;
        let at = path.iter().position(|&passed| passed == channel)?;
        path.get(at + 1).copied()
    }

    fn source(&self, flow: u8) -> usize {
        self.channels[self.flows[usize::from(flow)].path[0]].from
    }
}

fn place(channels: &mut Vec<Channel>, fabric: &Fabric, from: usize, to: usize) -> usize {
    if let Some(known) = channels.iter().position(|channel| (channel.from, channel.to) == (from, to)) {
        return known;
    }
    let node = NodeId(from as u32);
    let leads = |port| fabric.neighbour(port) == Some(NodeId(to as u32));
    let id = fabric.ports_of(node).find(|&port| leads(port)).expect("a cable joins them");
    channels.push(Channel { id, from, to, num: fabric.port(id).num });
    channels.len() - 1
}

/// On a wire, a token of a round; packets are numbered by flow, from 1.
pub fn token(round: u8) -> u8 {
    8 + round
}

pub fn round_of(item: u8) -> Option<u8> {
    item.checked_sub(8).filter(|_| item >= 8)
}

/// What becomes of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hop {
    /// The source of a flow makes a packet.
    Make(u8),
    /// A responder queues a reply that it owes.
    Reply(u8),
    /// The head of a host's send queue goes onto the wire.
    Send(usize),
    /// The head of a wire comes to the channel's end.
    Arrive(usize),
    /// The head of a channel's buffer goes on.
    Forward(usize),
    /// The mortal cable dies.
    Die,
}

/// Where packets are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Plane {
    /// By flow: packets that its source may still make.
    pub unmade: [u8; MOST],
    /// By host: its send queue.
    pub queues: [Fifo; MOST],
    pub wires: [Fifo; MOST],
    pub buffers: [Fifo; MOST],
    /// By flow: replies owed that are in no queue yet.
    pub owed: [u8; MOST],
    pub dead: Set,
    /// By host: packets sent and received.
    pub sent: [u8; MOST],
    pub received: [u8; MOST],
}

/// How devices are.
#[derive(Clone, Copy)]
pub struct Manners {
    pub counts: Counting,
}

/// When an end port counts a packet as sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// Nobody counts.
    Off,
    /// When it leaves the send queue.
    Leaving,
    /// When it has come to its end.
    Arrived,
}

impl Plane {
    pub fn new(layout: &Layout) -> Plane {
        let mut unmade = [0; MOST];
        unmade[..layout.packets.len()].copy_from_slice(&layout.packets);
        let (none, zero) = ([Fifo::default(); MOST], [0; MOST]);
        let (queues, wires, buffers, dead) = (none, none, none, Set::default());
        Plane { unmade, queues, wires, buffers, owed: zero, dead, sent: zero, received: zero }
    }

    pub fn is_up(&self, channel: usize) -> bool {
        !self.dead.has(channel)
    }

    /// Whether a packet is anywhere, or a reply that was not queued yet.
    pub fn holds_packets(&self) -> bool {
        let packets = |fifo: &Fifo| fifo.items().any(|item| round_of(item).is_none());
        let all = [&self.queues, &self.wires, &self.buffers];
        all.into_iter().flatten().any(packets) || self.owed != [0; MOST]
    }

    /// Whether nothing of a host waits to be sent; what it owes may count as well.
    pub fn is_settled(&self, layout: &Layout, host: usize, owed_counts: bool) -> bool {
        let owes = |flow: usize| self.owed[flow] > 0 && layout.source(flow as u8) == host;
        self.queues[host].is_empty() && !(owed_counts && (0..layout.flows.len()).any(owes))
    }

    /// A host makes no packets any more.
    pub fn silence(&mut self, layout: &Layout, host: usize) {
        for flow in 0..layout.flows.len() {
            if layout.source(flow as u8) == host {
                self.unmade[flow] = 0;
            }
        }
    }

    /// Every step that a packet can take, and what follows.
    pub fn hops(&self, layout: &Layout, manners: Manners, found: &mut Vec<(Hop, Plane)>) {
        for flow in 0..layout.flows.len() as u8 {
            let at = usize::from(flow);
            if self.unmade[at] > 0 {
                found.push((Hop::Make(flow), self.after(|next| next.unmade[at] -= 1).queued(layout, flow)));
            }
            if self.owed[at] > 0 {
                found.push((Hop::Reply(flow), self.after(|next| next.owed[at] -= 1).queued(layout, flow)));
            }
        }
        for host in layout.hosts().filter(|&host| !self.queues[host].is_empty()) {
            found.push((Hop::Send(host), self.after(|next| next.send(layout, manners, host))));
        }
        for channel in 0..layout.channels.len() {
            if self.wires[channel].head().is_some_and(|item| round_of(item).is_none()) && self.has_room(layout, channel)
            {
                found.push((Hop::Arrive(channel), self.after(|next| next.arrive(layout, manners, channel))));
            }
            if !self.buffers[channel].is_empty() {
                found.push((Hop::Forward(channel), self.after(|next| next.forward(layout, channel))));
            }
        }
        if self.dead.is_empty() && !layout.mortal.is_empty() {
            found.push((Hop::Die, self.after(|next| next.die(layout))));
        }
    }

    fn after(&self, change: impl FnOnce(&mut Plane)) -> Plane {
        let mut next = *self;
        change(&mut next);
        next
    }

    fn queued(mut self, layout: &Layout, flow: u8) -> Plane {
        self.queues[layout.source(flow)].push(flow + 1);
        self
    }

    fn has_room(&self, layout: &Layout, channel: usize) -> bool {
        !layout.is_switch(layout.channels[channel].to) || self.buffers[channel].len() < ROOM
    }

    fn send(&mut self, layout: &Layout, manners: Manners, host: usize) {
        let packet = self.queues[host].take(0);
        self.sent[host] += u8::from(manners.counts == Counting::Leaving);
        self.put(layout.flows[usize::from(packet - 1)].path[0], packet);
    }

    /// A packet sent towards a dead cable vanishes (M5).
    fn put(&mut self, channel: usize, packet: u8) {
        if self.is_up(channel) {
            self.wires[channel].push(packet);
        }
    }

    fn arrive(&mut self, layout: &Layout, manners: Manners, channel: usize) {
        let packet = self.wires[channel].take(0);
        let node = layout.channels[channel].to;
        if layout.is_switch(node) {
            self.buffers[channel].push(packet);
            return;
        }
        self.received[node] += u8::from(manners.counts != Counting::Off);
        self.sent[layout.source(packet - 1)] += u8::from(manners.counts == Counting::Arrived);
        // A responder may think for as long as it likes.
        if let Some(reply) = layout.flows[usize::from(packet - 1)].reply {
            self.owed[usize::from(reply)] += 1;
        }
    }

    fn forward(&mut self, layout: &Layout, channel: usize) {
        let packet = self.buffers[channel].take(0);
        let next = layout.next(packet - 1, channel).expect("a switch is no path's end");
        self.put(next, packet);
    }

    /// What is on the wire is lost; what stands in the buffers behind it goes on.
    fn die(&mut self, layout: &Layout) {
        self.dead = layout.mortal;
        self.dead.items().for_each(|channel| self.wires[channel] = Fifo::default());
    }

    /// The channel that the head of a buffer is latched for.
    pub fn bound(&self, layout: &Layout, channel: usize) -> Option<usize> {
        layout.next(self.buffers[channel].head()? - 1, channel)
    }
}

/// Two switches in a row, an end port at each: requests one way, and their replies.
pub fn row(requests: u8) -> Layout {
    const THERE: Route = (&[2, 0, 1, 3], Some(1));
    const BACK: Route = (&[3, 1, 0, 2], None);
    Layout::new((2, &[(0, 1)], &[0, 1]), &[(THERE, requests), (BACK, 0)], None)
}

/// The same with a third end port, and a cable between the switches that may die.
pub fn fork() -> Layout {
    const FAR: Route = (&[2, 0, 1, 3], Some(2));
    const NEAR: Route = (&[2, 0, 1, 4], None);
    const BACK: Route = (&[3, 1, 0, 2], None);
    let routes = [(FAR, 1), (NEAR, 1), (BACK, 0)];
    Layout::new((2, &[(0, 1)], &[0, 1, 1]), &routes, Some((0, 1)))
}
