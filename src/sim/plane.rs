//! The data plane: ports, lanes, tables and packets, and the steps that a packet takes from buffer to buffer.
//!
//! Flat arrays by port and by lane, so a packet-hop touches a few cache lines and no allocator. A lane's index is
//! `port << shift | vl`, `port` being a dense [`PortId`]. The *out lane* of a port is the lane it sends into; the *in
//! lane* is its input buffer for that lane. At an end port the in lane is the send queue instead, since what arrives
//! there is consumed at once.
//!
//! Every step here touches only lanes, packets and the clock. The caller (`forward`) carries out what a step means to
//! sources, routers, agents and counters, in the order in which it happens.

use super::arbitration::VlArbiter;
use super::clock::Clock;
use super::credit::{CreditBooks, Returns};
use super::index::{By, Dense, EndPortRank, InLane, OutLane, PacketId};
use super::lanes::LaneStore;
use super::out_port::{FarEnd, LinkTime, OutPort, PacketSent, PortRole, hop_delay};
use super::packet::{Packet, Packets};
use super::tables::Tables;
use super::wheel::{TICKS_PER_NS, Ticks};
use super::{ArmedPort, Latch, SimConfig};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Lid, PortNum, Vl, VlSet};
use crate::wire::PortState;
use rustc_hash::FxHashMap;

/// Settings that every hop obeys, copied from [`SimConfig`] next to the data that they act on.
#[derive(Clone, Copy)]
pub struct ForwardingRules {
    /// When a switch chooses output and lane.
    pub latch: Latch,
    /// What an ARMED port does with data.
    pub armed: ArmedPort,
    /// Whether a packet that would leave by the port it came in by is discarded.
    pub discards_turned_back: bool,
    /// Credits that a lane may send in one turn.
    pub vl_weight: u16,
    /// Flight time of a link, in ticks.
    pub link_delay: Ticks,
}

impl ForwardingRules {
    fn of(config: &SimConfig) -> ForwardingRules {
        ForwardingRules {
            latch: config.latch,
            armed: config.armed,
            discards_turned_back: config.discards_turned_back,
            vl_weight: config.vl_weight,
            link_delay: u64::from(config.link_delay_ns) * TICKS_PER_NS,
        }
    }
}

/// A packet that has left its queue, as its source, router and agents need to know it.
#[derive(Clone, Copy)]
pub struct Departed {
    /// The packet.
    pub id: PacketId,
    /// The in lane that it left.
    pub lane: InLane,
    /// The end port whose send queue it left; none where it left an input buffer.
    pub source: EndPortRank,
}

/// Ports, lanes, tables and packets.
pub struct DataPlane {
    /// How many bits of a lane index name the VL.
    shift: u32,
    /// These bits.
    vl_mask: u32,
    /// Data lanes in operation.
    pub data_vls: u8,
    /// The fewest data lanes that any port ever had in operation.
    fewest_lanes: u8,
    /// By port.
    pub ports: By<PortId, OutPort>,
    /// Both ends of every lane.
    pub lanes: LaneStore,
    /// Forwarding and SL-to-VL tables.
    pub tables: Tables,
    /// Credits of one input buffer.
    pub capacity: u16,
    /// All packets alive.
    pub packets: Packets,
    /// Credits on their way back.
    returns: Returns,
    /// Settings that every hop obeys.
    pub rules: ForwardingRules,
    /// Of the ports whose lists somebody has written.
    arbiters: FxHashMap<PortId, VlArbiter>,
    /// Packets through switches so far.
    pub packet_hops: u64,
}

impl DataPlane {
    pub(super) fn new(fabric: &Fabric, top: Lid, config: &SimConfig) -> DataPlane {
        let (data_vls, capacity) = (config.data_vls, config.buffer_credits);
        // Each port has a power of two of lanes, so a lane index splits into port and VL by shift and mask.
        let shift = u32::from(data_vls).next_power_of_two().trailing_zeros();
        let tables = Tables::new(fabric, top, data_vls);
        let ports: By<PortId, OutPort> = fabric
            .ports()
            .map(|(id, port)| OutPort::new(fabric, id, tables.row(port.node), tables.num_ports(port.node), config))
            .collect();
        let lanes = LaneStore::new(ports.iter().map(|port| port.peer), shift, capacity);
        DataPlane {
            shift,
            vl_mask: (1 << shift) - 1,
            data_vls,
            fewest_lanes: data_vls,
            ports,
            lanes,
            tables,
            capacity,
            packets: Packets::default(),
            returns: Returns::default(),
            rules: ForwardingRules::of(config),
            arbiters: FxHashMap::default(),
            packet_hops: 0,
        }
    }

    /// Puts the channel into a cabled port inside a device.
    pub(super) fn put_in_chip(&mut self, port: PortId, config: &SimConfig, stage_ns: u32) {
        let peer = self.ports[port].peer;
        if peer.is_some() {
            self.ports[peer].hop_delay = hop_delay(config, stage_ns);
            self.ports[peer].far_end = FarEnd::Stage;
        }
    }

    /// Makes a cabled end port one of a router between subnets.
    pub(super) fn make_router_port(&mut self, port: PortId) {
        let peer = self.ports[port].peer;
        self.ports[port].role = PortRole::Router;
        if peer.is_some() {
            // A router's buffer fills up like a switch's, so its neighbour must count credits instead of taking
            // arrivals as consumed.
            self.ports[peer].far_end = FarEnd::Buffer;
        }
    }

    // Indices.

    /// Port 0 of a node.
    #[inline]
    pub fn first_port(&self, node: NodeId) -> PortId {
        self.tables.first_port(node)
    }

    /// A node's external ports.
    #[inline]
    pub fn num_ports(&self, node: NodeId) -> u8 {
        self.tables.num_ports(node)
    }

    /// The dense indices of a node's external ports.
    pub fn ports_of(&self, node: NodeId) -> impl Iterator<Item = PortId> + use<> {
        let first = self.first_port(node).0;
        (first + 1..=first + u32::from(self.num_ports(node))).map(PortId)
    }

    /// A port of a node by its number, which the node has.
    #[inline]
    pub fn port_at(&self, node: NodeId, num: PortNum) -> PortId {
        self.tables.port_at(node, num.0)
    }

    /// The port that the device of `port` knows by a number; none where it has none. 0 is `port` itself at an end node.
    pub fn port_named(&self, port: PortId, num: u32) -> Option<PortId> {
        let node = self.ports[port].node;
        if num == 0 && !self.is_switch(node) {
            return Some(port);
        }
        let num = u8::try_from(num).ok().filter(|&num| num <= self.num_ports(node))?;
        Some(self.port_at(node, PortNum(num)))
    }

    /// Whether a node is a switch.
    pub fn is_switch(&self, node: NodeId) -> bool {
        self.tables.is_switch(node)
    }

    /// Whether a port belongs to a router between subnets.
    pub fn is_router_port(&self, port: PortId) -> bool {
        self.ports[port].role == PortRole::Router
    }

    /// Whether a node is part of a router between subnets.
    pub fn is_router(&self, node: NodeId) -> bool {
        self.ports_of(node).any(|port| self.is_router_port(port))
    }

    /// The port that holds a node's management LID: port 0 of a switch, the port itself elsewhere.
    pub fn management_port(&self, port: PortId) -> PortId {
        let node = self.ports[port].node;
        if self.is_switch(node) { self.first_port(node) } else { port }
    }

    // These shifts wrap nothing: a port has at most 16 lanes, so `shift` is at most 4.

    /// The lane that a port receives by.
    #[inline(always)]
    pub fn in_lane(&self, port: PortId, vl: u8) -> InLane {
        InLane(port.0.wrapping_shl(self.shift) | u32::from(vl))
    }

    /// The lane that a port sends by.
    #[inline(always)]
    pub fn out_lane(&self, port: PortId, vl: u8) -> OutLane {
        OutLane(port.0.wrapping_shl(self.shift) | u32::from(vl))
    }

    /// The port of a lane.
    #[inline(always)]
    pub fn port_of(&self, lane: impl Dense) -> PortId {
        PortId((lane.index() as u32).wrapping_shr(self.shift))
    }

    /// The VL of a lane.
    #[inline(always)]
    pub fn vl_of(&self, lane: impl Dense) -> u8 {
        (lane.index() as u32 & self.vl_mask) as u8
    }

    /// The in lane that an out lane fills.
    #[inline]
    pub fn downstream(&self, lane: OutLane) -> InLane {
        self.lanes.fed_by(lane)
    }

    /// The data lanes that a port receives by.
    pub fn in_lanes(&self, port: PortId) -> impl Iterator<Item = InLane> + use<> {
        let first = self.in_lane(port, 0).0;
        (first..first + u32::from(self.data_vls)).map(InLane)
    }

    /// The data lanes that a port sends by.
    pub fn out_lanes(&self, port: PortId) -> impl Iterator<Item = OutLane> + use<> {
        let first = self.out_lane(port, 0).0;
        (first..first + u32::from(self.data_vls)).map(OutLane)
    }

    /// The data lanes that a node's external ports receive by, and those of what it sends by itself.
    pub fn lanes_of(&self, node: NodeId) -> Vec<InLane> {
        self.ports_of(node).flat_map(|port| self.in_lanes(port)).chain(self.own_lanes(node)).collect()
    }

    /// The queues of the general management packets that a node itself sends (`gmp`).
    pub fn own_lanes(&self, node: NodeId) -> impl Iterator<Item = InLane> + use<> {
        self.in_lanes(self.first_port(node))
    }

    /// Whether a lane of a port is in operation.
    #[inline(always)]
    pub fn runs(&self, port: PortId, vl: u8) -> bool {
        // A lane that every port has always had needs no look at the port.
        vl < self.fewest_lanes || vl < self.ports[port].lanes
    }

    /// Sets a port's lanes in operation.
    pub fn set_lanes(&mut self, port: PortId, lanes: u8) {
        self.ports[port].lanes = lanes.min(self.data_vls);
        self.fewest_lanes = self.fewest_lanes.min(lanes);
    }

    /// Whether a port handles data that arrives; otherwise data waits in the port's buffer.
    #[inline]
    pub fn receives(&self, port: PortId) -> bool {
        self.ports[port].state != PortState::Armed || self.rules.armed == ArmedPort::Discards
    }

    // Occupancy.

    /// The packets of a queue, its head first.
    pub fn queue(&self, lane: InLane) -> impl Iterator<Item = PacketId> {
        std::iter::successors(self.lanes[lane].head.get(), |&id| self.packets[id].next.get())
    }

    /// Whether a port's in lanes hold nothing on `lanes`.
    pub fn holds_nothing(&self, port: PortId, lanes: VlSet) -> bool {
        let asked = |lane: &InLane| lanes.contains(Vl::masked(self.vl_of(*lane)));
        self.in_lanes(port).filter(asked).all(|lane| self.lanes[lane].count == 0)
    }

    // Credits.

    /// Whether the far buffer of an out lane is empty, and the wire to it too.
    pub fn has_all_credits(&self, clock: &Clock, out_lane: OutLane) -> bool {
        self.returns.usable(clock, &self.lanes[out_lane].credits) == self.capacity
    }

    /// Both ends of a cable that comes back agree on the sender's credits: the room in the far buffer, less the credits
    /// that events under way will add.
    pub fn restore_credits(&mut self, out_lane: OutLane) {
        // Packets on the wire when the cable died still count in `held` until their arrival, so their room is not given
        // away.
        let room = self.capacity - self.lanes[self.downstream(out_lane)].held as u16;
        self.returns.reset(&mut self.lanes[out_lane].credits, room);
    }

    /// Checks that every lane of a live cable conserves its credits: those at the sender, those on their way back and
    /// those taken in the buffer add up to the buffer. A packet takes its credits from the moment it sets out. Panics
    /// where one is lost or made up: that is a defect of the simulation, and later results mean nothing.
    pub fn assert_conserved(&self) {
        for out_lane in self.ports.keys().flat_map(|port| self.out_lanes(port)) {
            let port = &self.ports[self.port_of(out_lane)];
            if !port.is_up() {
                // Its buffers empty without returning credits; `restore_credits` sets both ends right.
                continue;
            }
            let far = self.in_lane(port.peer, self.vl_of(out_lane));
            assert!(self.downstream(out_lane) == far, "{out_lane:?} is not kept where its peer has it");
            // A sink holds nothing: the credits of its packets are on their way back from the moment they set out.
            let held = if port.far_end == FarEnd::Sink { 0 } else { self.lanes[self.downstream(out_lane)].held };
            let CreditBooks { at_hand, noted, coming } = self.returns.books(&self.lanes[out_lane].credits);
            assert!(
                at_hand + noted + coming + held == u32::from(self.capacity),
                "{out_lane:?}: {at_hand} credits at hand, {noted} noted and {coming} coming back, {held} held: expected {}",
                self.capacity
            );
        }
    }

    // Links.

    /// Takes a cable away, with no packet on it.
    pub fn unplug(&mut self, port: PortId) {
        for end in [port, self.ports[port].peer] {
            self.ports[end].state = PortState::Down;
        }
    }

    /// Plugs a cable in between two ports that are down: both get the rate of the first one.
    ///
    /// # Panics
    /// One of the ports is up.
    pub fn plug(&mut self, a: PortId, b: PortId) {
        let rate = self.ports[a].ticks_per_byte;
        for left in [a, b].map(|port| self.ports[port].peer) {
            if left.is_some() {
                self.ports[left].peer = PortId::NONE;
            }
        }
        for (port, peer) in [(a, b), (b, a)] {
            assert!(!self.ports[port].is_up(), "a port whose cable is up takes no other one");
            let is_switch = self.is_switch(self.ports[peer].node);
            let own = &mut self.ports[port];
            (own.peer, own.ticks_per_byte) = (peer, rate);
            own.far_end = if is_switch { FarEnd::Buffer } else { FarEnd::Sink };
        }
        self.lanes.plug(a, b);
    }

    /// Brings up a port whose cable is back: in INITIALIZE it carries no data yet; both ends agree on its credits.
    pub fn bring_up(&mut self, port: PortId) {
        self.ports[port].state = PortState::Initialize;
        self.out_lanes(port).for_each(|lane| self.restore_credits(lane));
    }

    /// Puts every port with a cable into INITIALIZE, as after its power came.
    pub fn train_links(&mut self) {
        for port in self.ports.iter_mut().filter(|port| port.is_up()) {
            port.state = PortState::Initialize;
        }
    }

    // The steps of a packet.

    /// Chooses for a packet the lane by which it goes on.
    #[inline(always)]
    pub fn latch(&mut self, id: PacketId, out_lane: OutLane) {
        self.packets[id].out_lane = out_lane;
    }

    /// A packet takes room in a buffer that no credits of a sender were spent for.
    pub fn take_room(&mut self, lane: InLane, id: PacketId) {
        self.lanes[lane].held += u32::from(self.packets[id].credits);
    }

    /// A packet gives up the room in a buffer that it does not reach. No credits go back for it.
    pub fn give_up_room(&mut self, lane: InLane, id: PacketId) {
        self.lanes[lane].held -= u32::from(self.packets[id].credits);
    }

    /// Counts a packet that leaves a switch.
    #[inline(always)]
    pub fn count_hop(&mut self) {
        // One at a time: no run gets to 2^64.
        self.packet_hops = self.packet_hops.wrapping_add(1);
    }

    /// Appends a packet to a queue; reports whether it is now the head.
    #[inline(always)]
    pub fn enqueue(&mut self, lane: InLane, id: PacketId) -> bool {
        let queue = &mut self.lanes[lane];
        queue.count += 1;
        let was_empty = queue.head.is_none();
        if was_empty {
            queue.head = id;
        } else {
            self.packets[queue.tail].next = id;
        }
        queue.tail = id;
        was_empty
    }

    /// Output lane for a packet that stands at a port, in an input buffer or a send queue; [`OutLane::DISCARD`] where
    /// it has none.
    #[inline]
    pub fn choose(&self, input: PortId, id: PacketId) -> OutLane {
        let packet = &self.packets[id];
        let from = &self.ports[input];
        if from.role == PortRole::EndPort {
            // An end port has one SL-to-VL table, kept under input 0. VL 15 is never a data lane, so a service level
            // that the fence maps there is discarded at its own port (PROTOCOL.md, P3.8).
            let vl = self.tables.lane(from.node, 0, from.num, packet.sl);
            return self.running(input, vl);
        }
        self.choose_at_switch(input, id)
    }

    /// The lane of a port; [`OutLane::DISCARD`] where it is not in operation.
    #[inline(always)]
    pub fn running(&self, port: PortId, vl: u8) -> OutLane {
        if self.runs(port, vl) { self.out_lane(port, vl) } else { OutLane::DISCARD }
    }

    /// Output lane for a packet that stands at an input port of a switch, no end port.
    #[inline]
    pub fn choose_at_switch(&self, input: PortId, id: PacketId) -> OutLane {
        self.way(input, &self.ports[input], &self.packets[id])
    }

    /// The same where port and packet are at hand.
    #[inline(always)]
    pub fn way(&self, input: PortId, from: &OutPort, packet: &Packet) -> OutLane {
        // Forwarding entry and lane are read as they stand at this moment: mixtures of old and new tables are real.
        match self.tables.way(input, from, packet.dlid, packet.sl) {
            Some((port, _)) if port == input && self.rules.discards_turned_back => OutLane::DISCARD,
            Some((port, vl)) => self.running(port, vl),
            None => OutLane::DISCARD,
        }
    }

    /// Output lane for a packet that a switch sends from its port 0, or another node from this port;
    /// [`OutLane::DISCARD`] where it has none.
    pub fn choose_own(&self, port: PortId, id: PacketId) -> OutLane {
        let from = &self.ports[port];
        if self.is_switch(from.node) {
            return self.choose(port, id);
        }
        let vl = self.tables.lane(from.node, 0, from.num, self.packets[id].sl);
        self.running(port, vl)
    }

    /// Whether packets from `lane` towards this output are discarded: the port is DOWN, in INITIALIZE, or ARMED and set
    /// to discard. A source keeps its packets instead.
    #[inline]
    pub fn discards(&self, out_lane: OutLane, lane: InLane) -> bool {
        let port = &self.ports[self.port_of(out_lane)];
        if port.sends() {
            return false;
        }
        // The arming variants `hold` and `discard` of PROTOCOL.md, A.1 and A.2; INITIALIZE and DOWN always discard.
        let held = port.state == PortState::Armed && self.rules.armed == ArmedPort::Holds;
        let own = self.ports[self.port_of(lane)].role == PortRole::EndPort;
        !held && !own
    }

    /// Sends a packet that need join no line: the link is free, no queue waits for it, and the lane has the credits.
    /// None where it has to wait.
    #[inline(always)]
    pub fn send_at_once(&mut self, clock: &mut Clock, out_lane: OutLane, id: PacketId) -> Option<PacketSent> {
        let (port, vl) = (self.port_of(out_lane), self.vl_of(out_lane));
        let out = &self.ports[port];
        // While any lane of the port has a line, the arbiter decides: going at once would overtake that line.
        if out.pending != 0 || !out.sends() || out.busy_until > clock.now() {
            return None;
        }
        let (down, out) = (self.in_lane(out.peer, vl), &mut self.ports[port]);
        let (packet, ends) = (&mut self.packets[id], self.lanes.ends(down));
        // Credits come last, because a refusal turns the lane's returns into events: only a head that then waits may
        // cause it.
        if !self.returns.suffice(clock, out_lane, &mut ends.line.credits, packet.credits) {
            return None;
        }
        if !out.programmed {
            out.take_turn(vl, packet.credits, self.rules.vl_weight);
        } else if !has_turn(&mut self.arbiters, port, vl, packet.credits) {
            return None;
        }
        let at = LinkTime { now: clock.now(), link_delay: self.rules.link_delay };
        Some(out.carry(packet, (out_lane, down, ends), at))
    }

    /// Puts a queue at the end of an output's line. Lines are first come, first served, and threaded through the
    /// queues: a queue has one head, so it stands in one line at most.
    #[inline]
    pub fn join_line(&mut self, lane: InLane, out_lane: OutLane) {
        let queue = &mut self.lanes[lane];
        (queue.waits_for, queue.next_waiter) = (out_lane, InLane::NONE);
        let line = &mut self.lanes[out_lane];
        let last = std::mem::replace(&mut line.last_waiter, lane);
        if line.first_waiter.is_none() {
            line.first_waiter = lane;
            let (port, vl) = (self.port_of(out_lane), self.vl_of(out_lane));
            // One bit for each lane with a line, so arbitration visits no lane without one.
            self.ports[port].pending |= 1 << vl;
        } else {
            self.lanes[last].next_waiter = lane;
        }
    }

    /// Takes the first waiter out of an output's line.
    fn unwait_first(&mut self, out_lane: OutLane, lane: InLane) {
        let queue = &mut self.lanes[lane];
        let next = queue.next_waiter;
        queue.waits_for = OutLane::NONE;
        self.lanes[out_lane].first_waiter = next;
        if next.is_none() {
            let (port, vl) = (self.port_of(out_lane), self.vl_of(out_lane));
            self.ports[port].pending &= !(1 << vl);
        }
    }

    /// Takes a waiter out of an output's line wherever it stands.
    pub fn unwait(&mut self, lane: InLane) {
        let out_lane = self.lanes[lane].waits_for;
        if out_lane.is_none() {
            return;
        }
        let first = self.lanes[out_lane].first_waiter;
        if first == lane {
            return self.unwait_first(out_lane, lane);
        }
        // Only discards and changed choices leave a line from the middle, so lines need no links backwards.
        let mut before = first;
        while self.lanes[before].next_waiter != lane {
            before = self.lanes[before].next_waiter;
        }
        let next = self.lanes[lane].next_waiter;
        self.lanes[before].next_waiter = next;
        self.lanes[lane].waits_for = OutLane::NONE;
        if next.is_none() {
            self.lanes[out_lane].last_waiter = before;
        }
    }

    /// The queues in an output's line, the first one first.
    pub fn line(&self, out_lane: OutLane) -> impl Iterator<Item = InLane> {
        std::iter::successors(self.lanes[out_lane].first_waiter.get(), |&lane| self.lanes[lane].next_waiter.get())
    }

    /// Sends the head of the first queue in line of the next lane in turn that has the credits for it: the queue, the
    /// packet, the lane that it takes, and how it leaves. The lane takes its turn, and the queue leaves the line, but
    /// keeps its head. None where no lane has the credits.
    #[inline(always)]
    pub fn send_next_in_turn(
        &mut self,
        clock: &mut Clock,
        port: PortId,
    ) -> Option<(InLane, PacketId, OutLane, PacketSent)> {
        let out = &self.ports[port];
        // The lane in turn continues while its allowance lasts; then the next lanes follow, and it comes last.
        let (mut pending, mut start) = (out.pending, if out.allowance > 0 { out.turn } else { out.turn + 1 });
        if out.programmed {
            let picked = self.pick_by_lists(clock, port)?;
            (pending, start) = (1 << picked, picked);
        }
        let (first_own, first_down) = (self.out_lane(port, 0).0, self.in_lane(self.ports[port].peer, 0).0);
        let out = &mut self.ports[port];
        // Written twice side by side, the sixteen bits rotate by a shift.
        let rotated = (u32::from(pending) | u32::from(pending) << 16) >> (start % 16);
        let mut waiting = rotated & 0xFFFF;
        while waiting != 0 {
            let vl = (start + waiting.trailing_zeros() as u8) % 16;
            waiting &= waiting - 1;
            let (out_lane, down) = (OutLane(first_own | u32::from(vl)), InLane(first_down | u32::from(vl)));
            let lane = self.lanes.ends(down).line.first_waiter;
            let (id, next_waiter) = (self.lanes[lane].head, self.lanes[lane].next_waiter);
            let (packet, ends) = (&mut self.packets[id], self.lanes.ends(down));
            // A lane without credits is passed over. Its returns are events from here on, and those wake this port.
            if !self.returns.suffice(clock, out_lane, &mut ends.line.credits, packet.credits) {
                continue;
            }
            if !out.programmed {
                out.take_turn(vl, packet.credits, self.rules.vl_weight);
            }
            ends.line.first_waiter = next_waiter;
            if next_waiter.is_none() {
                out.pending &= !(1 << vl);
            }
            let at = LinkTime { now: clock.now(), link_delay: self.rules.link_delay };
            let leaving = out.carry(packet, (out_lane, down, ends), at);
            self.lanes[lane].waits_for = OutLane::NONE;
            return Some((lane, id, out_lane, leaving));
        }
        None
    }

    /// The lane that sends next by the lists that somebody has written, which has the credits for its first waiter.
    #[cold]
    fn pick_by_lists(&mut self, clock: &mut Clock, port: PortId) -> Option<u8> {
        let mut arbiter = self.arbiters.remove(&port)?;
        let pending = self.ports[port].pending;
        let picked = arbiter.pick(|vl| {
            if pending & 1 << vl == 0 {
                return None;
            }
            let out_lane = self.out_lane(port, vl);
            let credits = self.packets[self.lanes[self.lanes[out_lane].first_waiter].head].credits;
            let own = &mut self.lanes[out_lane].credits;
            self.returns.suffice(clock, out_lane, own, credits).then_some(credits)
        });
        self.arbiters.insert(port, arbiter);
        picked
    }

    /// Has a port go by lists of lanes from now on; by equal weights where there are none.
    pub(super) fn arbitrates(&mut self, port: PortId, arbiter: Option<VlArbiter>) {
        self.ports[port].programmed = arbiter.is_some();
        match arbiter {
            Some(arbiter) => drop(self.arbiters.insert(port, arbiter)),
            None => drop(self.arbiters.remove(&port)),
        }
    }

    /// Takes the head out of its queue. Its buffer is free when its tail has left, at `end`; its neighbour knows a
    /// link's delay later.
    #[inline(always)]
    pub fn dequeue(&mut self, clock: &mut Clock, lane: InLane, end: Ticks) -> Departed {
        let own = &self.ports[self.port_of(lane)];
        let ends = self.lanes.ends(lane);
        let id = ends.queue.head;
        let packet = &mut self.packets[id];
        ends.queue.head = std::mem::replace(&mut packet.next, PacketId::NONE);
        ends.queue.count -= 1;
        let (credits, source) = (packet.credits, packet.source);
        if own.role == PortRole::EndPort {
            return Departed { id, lane, source };
        }
        // A dead cable carries no credits back: both ends agree on new ones when it returns (`restore_credits`).
        let feeder = if own.is_up() { own.peer } else { PortId::NONE };
        self.vacate(clock, (lane, feeder), credits, end);
        Departed { id, lane, source: EndPortRank::NONE }
    }

    /// A packet leaves an input buffer, which is free of it when its tail has left, at `end`. Credits go back to the
    /// port that feeds the buffer, if there is one.
    #[inline(always)]
    pub fn vacate(&mut self, clock: &mut Clock, (lane, feeder): (InLane, PortId), credits: u16, end: Ticks) {
        // The tail may occupy the buffer until `end`. The books move at once: these credits are on their way back from
        // here on, which keeps the sum that `assert_conserved` checks.
        let upstream = OutLane(feeder.0.wrapping_shl(self.shift) | lane.0 & self.vl_mask);
        let ends = self.lanes.ends(lane);
        ends.queue.held -= u32::from(credits);
        if feeder.is_some() {
            self.returns.note(clock, upstream, &mut ends.line.credits, credits, end + self.rules.link_delay);
        }
    }

    /// Takes a live link for `bytes` as soon as it is free. Returns when they have been sent, in ticks; none if it is
    /// down.
    pub fn occupy(&mut self, clock: &Clock, out: PortId, bytes: u64) -> Option<Ticks> {
        let port = &mut self.ports[out];
        if !port.is_up() {
            return None;
        }
        // Data that is being sent is never cut short. A wake-up set for the old `busy_until` finds the link busy, and
        // sets another.
        let start = port.busy_until.max(clock.now());
        port.busy_until = start + ((bytes * u64::from(port.ticks_per_byte)) >> 16);
        Some(port.busy_until)
    }
}

/// Whether a lane that alone has a packet may send it by the port's lists. If so, it takes its turn.
#[cold]
fn has_turn(arbiters: &mut FxHashMap<PortId, VlArbiter>, port: PortId, vl: u8, credits: u16) -> bool {
    let arbiter = arbiters.get_mut(&port);
    arbiter.is_none_or(|arbiter| arbiter.pick(|own| (own == vl).then_some(credits)).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};

    #[test]
    #[should_panic(expected = "9 credits at hand")]
    fn a_lost_credit_is_noticed() {
        let made = generate(&"ring:4,1".parse().unwrap(), &Options::default()).unwrap();
        let fabric = crate::lid::assign(&made, crate::ids::Lmc::masked(1)).unwrap();
        let config = SimConfig { buffer_credits: 10, packet_bytes: 64, ..SimConfig::default() };
        let mut plane = DataPlane::new(&fabric, Lid(8), &config);
        plane.assert_conserved();
        plane.lanes[OutLane(4)].credits.spend(1);
        plane.assert_conserved();
    }
}
