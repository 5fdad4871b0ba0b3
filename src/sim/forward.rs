//! Packets through switches: arrival, the choice of output and lane, arbitration, sending.
//!
//! Virtual cut-through: a packet asks for its output one routing delay after its head came, and is sent once the link
//! is free and the next buffer has room for all of it. An output serves its lanes in weighted turn, and within a lane
//! the waiting inputs in the order in which they asked. A packet leaves its buffer, for its neighbour's credits, when
//! its tail has left.
//!
//! The data plane owns the steps themselves. This module joins them, and carries out what a step means to sources,
//! routers, agents and counters. Order matters: events of equal times happen in the order in which they were pushed.

use super::index::{Dense, InLane, OutLane, PacketId};
use super::out_port::{Next, PacketSent, PortRole};
use super::packet::PacketMarks;
use super::plane::Departed;
use super::wheel::{SimEvent, Ticks};
use super::{Latch, Sim, kind};
use crate::fabric::{NodeId, PortId};
use crate::ids::Lid;
use crate::wire::PortState;

impl Sim {
    /// A packet's head has come to a switch's input buffer and its route is looked up.
    #[inline(always)]
    pub(super) fn arrive(&mut self, id: PacketId, lane: InLane) {
        let plane = &self.plane;
        let port = plane.port_of(lane);
        let at = &plane.ports[port];
        if at.state != PortState::Active || at.role != PortRole::Switch {
            return self.arrive_elsewhere(id, lane);
        }
        // Nearly every arrival. Of what `arrive_elsewhere` asks, ACTIVE settles that the link is up, that the port is
        // not in INITIALIZE, and that it receives and so lets its head ask at once; the role, that no router chooses.
        // The latch alone is left to ask, and a switch chooses by its own tables.
        if plane.rules.latch == Latch::Arrival {
            let packet = &plane.packets[id];
            let (feeder, credits) = (at.peer, packet.credits);
            let out_lane = plane.way(port, at, packet);
            if out_lane.is_lane() && self.may_pass(lane) {
                if let Some(leaving) = self.plane.send_at_once(&mut self.clock, out_lane, id) {
                    self.count_departure(id, out_lane, &leaving);
                    // A packet that comes by a wire is none that its device must be notified of.
                    self.plane.vacate(&mut self.clock, (lane, feeder), credits, leaving.end);
                    return self.announce(id, leaving);
                }
                return self.stay(lane, id, out_lane);
            }
            self.plane.latch(id, out_lane);
        }
        if self.plane.enqueue(lane, id) {
            self.offer(lane);
        }
    }

    /// Whether a packet that comes to a queue need not join it if it can go on at once: the queue is empty, and nobody
    /// looks at queues.
    #[inline(always)]
    pub(super) fn may_pass(&self, lane: InLane) -> bool {
        self.plane.lanes[lane].head.is_none() && !self.lifetimes.any() && !self.agents.watching()
    }

    /// A packet that has come to an empty queue and cannot go on at once joins it.
    #[inline(never)]
    pub(super) fn stay(&mut self, lane: InLane, id: PacketId, out_lane: OutLane) {
        self.plane.latch(id, out_lane);
        self.plane.enqueue(lane, id);
        // It has asked just now, so it is not asked again; but `offer` alone discards.
        match self.plane.discards(out_lane, lane) {
            true => self.offer(lane),
            false => self.wait_for(lane, id, out_lane),
        }
    }

    /// The same at a port that is not ACTIVE, or belongs to a router.
    #[cold]
    fn arrive_elsewhere(&mut self, id: PacketId, lane: InLane) {
        let port = self.plane.port_of(lane);
        let receives = self.plane.receives(port);
        let at = &self.plane.ports[port];
        if !at.is_up() {
            // The link died under the head. Its room was taken when it set out, and goes back without credits: both
            // ends agree on new ones when the cable returns.
            self.plane.give_up_room(lane, id);
            self.counters.miss(port, self.plane.packets[id].bytes);
            self.lose(id);
            return;
        }
        if at.state == PortState::Initialize {
            // Discarded through the queue, so its credits return like any other's (assumption `initialize-discards`).
            self.plane.latch(id, OutLane::DISCARD);
        } else if at.role == PortRole::Router {
            // Routers choose on arrival, whatever the switches' latch.
            let out_lane = self.arrive_at_router(id, port);
            self.plane.latch(id, out_lane);
        } else if self.plane.rules.latch == Latch::Arrival && receives {
            self.plane.latch(id, self.plane.choose(port, id));
        }
        if self.plane.enqueue(lane, id) && receives {
            self.offer(lane);
        }
    }

    /// The head of a queue asks for its output; heads that have none are discarded.
    #[inline(never)]
    pub(super) fn offer(&mut self, lane: InLane) {
        loop {
            let id = self.plane.lanes[lane].head;
            if id.is_none() {
                return;
            }
            // With the latches `head` and `grant` a switch chooses here. With `arrival`, and in send queues, the choice
            // stands.
            if self.plane.packets[id].out_lane.is_none() {
                self.plane.latch(id, self.plane.choose(self.plane.port_of(lane), id));
            }
            let out_lane = self.plane.packets[id].out_lane;
            if out_lane == OutLane::DISCARD || self.plane.discards(out_lane, lane) {
                self.discard_head(lane);
            } else if self.lifetimes.any() && self.has_outlived(lane, out_lane) {
                self.lifetimes.discards += 1;
                self.discard_head(lane);
            } else if let Some(leaving) = self.plane.send_at_once(&mut self.clock, out_lane, id) {
                self.depart(lane, id, out_lane, leaving);
            } else {
                return self.wait_for(lane, id, out_lane);
            }
        }
    }

    /// Whether a limit discards the head of a queue that asks for a lane.
    fn has_outlived(&self, lane: InLane, out_lane: OutLane) -> bool {
        self.lifetimes.is_stalled(out_lane, self.clock.now())
            || self.lifetimes.outlived(&self.plane, &self.devices, &self.clock, lane)
    }

    fn wait_for(&mut self, lane: InLane, id: PacketId, out_lane: OutLane) {
        self.plane.join_line(lane, out_lane);
        if self.lifetimes.any() {
            self.lifetimes.set_expiry(&self.plane, &self.devices, &mut self.clock, lane);
        }
        // The link may be free while the other lanes of the port wait for credits: then this head goes now.
        self.serve(self.plane.port_of(out_lane));
        // Serving may have sent this very head; only one that still waits adds an edge to the graph of waits.
        let queue = &self.plane.lanes[lane];
        if queue.head == id && queue.waits_for == out_lane {
            self.look_for_deadlock(lane);
        }
    }

    /// Lets an output send if it can, now or when its link is free.
    #[inline(never)]
    pub(super) fn serve(&mut self, port: PortId) {
        let out = &mut self.plane.ports[port];
        if out.pending == 0 || !out.sends() {
            return;
        }
        if out.busy_until > self.clock.now() {
            out.wake_when_free(&mut self.clock, port);
        } else if let Some((lane, id, out_lane, leaving)) = self.plane.send_next_in_turn(&mut self.clock, port) {
            self.depart(lane, id, out_lane, leaving);
            self.plane.ports[port].wake_when_free(&mut self.clock, port);
            // The next head of the queue asks last: queues that waited before it have the first claim on the link.
            if self.plane.lanes[lane].head.is_some() {
                self.offer(lane);
            }
        } else if !self.plane.ports[port].waits {
            // No event is needed: the refusals made every waiting lane's returns events, and each of those serves the
            // port.
            self.plane.ports[port].waits = true;
            self.counters.wait_begins(port, self.clock.now());
        }
    }

    /// The link is free again.
    pub(super) fn link_free(&mut self, port: PortId) {
        self.plane.ports[port].wakes();
        self.serve(port);
    }

    /// Credits have come back.
    #[inline(always)]
    pub(super) fn credit(&mut self, credits: u16, out_lane: OutLane) {
        let line = &mut self.plane.lanes[out_lane];
        line.credits.come_back(credits);
        if line.first_waiter.is_some() {
            self.serve(self.plane.port_of(out_lane));
        }
    }

    /// The head of `lane`, `id`, which waits in no line, has taken the link, and leaves its queue.
    #[inline(always)]
    fn depart(&mut self, lane: InLane, id: PacketId, out_lane: OutLane, leaving: PacketSent) {
        self.count_departure(id, out_lane, &leaving);
        // `busy_until` covers this packet already, so a token that its departure sets free goes after it (PROTOCOL.md,
        // F.2).
        self.dequeue(lane, leaving.end);
        self.announce(id, leaving);
        // The buffer may have filled up under a head that waits for it already: an edge that no new wait announces.
        if let Next::Buffer { down, .. } = leaving.next
            && self.plane.lanes.ends(down).line.first_waiter.is_some()
        {
            self.look_for_deadlock(down);
        }
    }

    /// Counts a packet that has taken a link.
    #[inline(always)]
    pub(super) fn count_departure(&mut self, id: PacketId, out_lane: OutLane, leaving: &PacketSent) {
        if leaving.from_switch {
            self.plane.count_hop();
        } else {
            // The packet's source is the port's own: the host's, or the router's that `take_over` put there.
            let packet = &self.plane.packets[id];
            self.sources.list[packet.source].sends(packet.sl, packet.bytes);
        }
        self.lifetimes.sent(out_lane);
        if leaving.ends_wait {
            self.counters.wait_ends(self.plane.port_of(out_lane), self.clock.now());
        }
    }

    /// A packet that has set out is on its way to where it comes next.
    #[inline(always)]
    pub(super) fn announce(&mut self, id: PacketId, leaving: PacketSent) {
        let (at, event) = match leaving.next {
            Next::EndPort { peer, tail } => (tail, SimEvent::new(kind::DELIVER, id.0, peer.0)),
            Next::Buffer { down, asks } => (asks, SimEvent::new(kind::ARRIVE, id.0, down.0)),
        };
        self.clock.push(at, event);
    }

    /// Takes the head out of its queue; its buffer is free when the tail has left, at `end`.
    #[inline(always)]
    fn dequeue(&mut self, lane: InLane, end: Ticks) {
        let Departed { id, lane, source } = self.plane.dequeue(&mut self.clock, lane, end);
        if source.is_some() {
            let packet = &self.plane.packets[id];
            self.left_send_queue(source, packet.sl, !packet.marks.intersects(PacketMarks::NO_DATA));
        }
        if self.plane.packets[id].marks.intersects(PacketMarks::COUNTED_BY_DEVICE) {
            self.left_device(id);
        }
        // Agents look last, when queue and counts are without the packet.
        if self.agents.watching() {
            self.agent_saw_departure(lane);
        }
    }

    /// Discards the head of a queue, which stands in no line.
    #[inline(never)]
    pub(super) fn discard_head(&mut self, lane: InLane) {
        let id = self.plane.lanes[lane].head;
        // A discarded packet still occupies its buffer until its tail has arrived.
        let gone = self.clock.now().max(self.plane.packets[id].tail);
        if self.is_at_its_device(lane, id) {
            self.dequeue(lane, gone);
            return self.taken_in(id, lane);
        }
        self.counters.discard(&self.plane, lane, self.plane.packets[id].out_lane);
        self.dequeue(lane, gone);
        self.lose(id);
    }

    /// A packet that a router, or the queue of its own GMPs, keeps count of has left its buffer.
    #[inline(never)]
    fn left_device(&mut self, id: PacketId) {
        if self.plane.packets[id].marks.contains(PacketMarks::OWN) {
            self.left_own_queue(id);
        } else {
            self.left_router(id);
        }
    }

    /// Whether a packet is a question or a GMP that has come to the switch or router that it is for.
    fn is_at_its_device(&self, lane: InLane, id: PacketId) -> bool {
        let packet = &self.plane.packets[id];
        let port = self.plane.port_of(lane);
        let input = &self.plane.ports[port];
        // A switch delivers to its port 0 what its table has for port 0, and nothing else.
        let here = || match self.plane.is_switch(input.node) {
            true => self.plane.tables.output(input.node, packet.dlid) == 0,
            false => input.role == PortRole::Router,
        };
        packet.marks.intersects(PacketMarks::NO_DATA)
            && self.devices.list[input.node].alive
            && input.state != PortState::Initialize
            // Port 0 is no output, so a packet for the device itself is latched like one without a way.
            && packet.out_lane == OutLane::DISCARD
            && here()
            && self.devices.owns(self.plane.management_port(port), Lid(packet.dlid))
    }

    /// A device takes in a question or a GMP.
    fn taken_in(&mut self, id: PacketId, lane: InLane) {
        if self.plane.packets[id].marks.contains(PacketMarks::GMP) {
            self.gmp_taken_in(id, lane);
        } else {
            self.end_question(id, true);
        }
    }

    /// Lets waiting heads of a switch choose anew after its tables changed, with the latch `grant`. A packet in a send
    /// queue has its lane for good: the queue is that lane's, and the lanes' turns depend on who waits in which.
    pub(super) fn reconsider(&mut self, node: NodeId) {
        if self.plane.rules.latch != Latch::Grant || !self.plane.is_switch(node) {
            return;
        }
        // Only heads have chosen: the packets after them choose when they become heads.
        for lane in self.plane.lanes_of(node) {
            let id = self.plane.lanes[lane].head;
            if id.is_none() || self.plane.lanes[lane].waits_for.is_none() {
                continue;
            }
            let choice = self.plane.choose(self.plane.port_of(lane), id);
            let left = self.plane.packets[id].out_lane;
            if choice != left {
                self.plane.unwait(lane);
                self.plane.latch(id, choice);
                self.offer(lane);
                // The next in the line left behind may be longer: then the line waits for a buffer in which its first
                // would have had room.
                if self.plane.lanes[left].first_waiter.is_some() {
                    self.look_for_deadlock(self.plane.downstream(left));
                }
            }
        }
    }

    /// Follows a change of a port's state: discards what waits for an output that may no longer send, and offers what
    /// the port held back.
    pub(super) fn port_changed(&mut self, port: PortId) {
        for out_lane in self.plane.out_lanes(port) {
            // Copied, since each discard offers the next head, which may join the same line.
            for lane in self.plane.line(out_lane).collect::<Vec<_>>() {
                if self.plane.lanes[lane].waits_for == out_lane && self.plane.discards(out_lane, lane) {
                    self.plane.unwait(lane);
                    self.discard_head(lane);
                    self.offer(lane);
                }
            }
        }
        if self.plane.receives(port) {
            self.plane.in_lanes(port).for_each(|lane| self.release(lane));
        }
        self.serve(port);
        // What waited for a port that held its data waits for a buffer from now on.
        for out_lane in self.plane.out_lanes(port) {
            let waiter = self.plane.lanes[out_lane].first_waiter;
            if waiter.is_some() {
                self.look_for_deadlock(waiter);
                self.look_for_deadlock(self.plane.downstream(out_lane));
            }
        }
    }

    /// Latches the packets that arrived while the port held its data back, and lets the head ask.
    fn release(&mut self, lane: InLane) {
        let mut id = self.plane.lanes[lane].head;
        while id.is_some() && self.plane.rules.latch == Latch::Arrival {
            if self.plane.packets[id].out_lane.is_none() {
                self.plane.latch(id, self.plane.choose(self.plane.port_of(lane), id));
            }
            id = self.plane.packets[id].next;
        }
        if self.plane.lanes[lane].waits_for.is_none() {
            self.offer(lane);
        }
    }

    /// Discards every packet in the buffers or send queues of a port.
    pub(super) fn empty_queues(&mut self, port: PortId) {
        for lane in self.plane.in_lanes(port) {
            while self.plane.lanes[lane].head.is_some() {
                self.plane.unwait(lane);
                self.discard_head(lane);
            }
        }
    }

    /// A lifetime limit has come: discards the packet if it still heads the same queue and waits.
    pub(super) fn expire(&mut self, id: PacketId, lane: InLane) {
        // Packet numbers are used again, and a head may wait anew: only the time noted for the lane makes this limit
        // its own.
        let queue = &self.plane.lanes[lane];
        if queue.head == id && queue.waits_for.is_some() && self.lifetimes.is_due(lane, self.clock.now()) {
            let out_lane = queue.waits_for;
            let by_hoq = !self.lifetimes.outlived(&self.plane, &self.devices, &self.clock, lane);
            self.lifetimes.discards += 1;
            self.plane.unwait(lane);
            self.discard_head(lane);
            let named = (self.plane.port_of(out_lane), out_lane);
            if by_hoq && self.lifetimes.counts_towards_stall(&self.devices, named, self.clock.now()) {
                self.stall_begins(out_lane);
            }
            self.offer(lane);
        }
    }

    /// A lane stalls (VLStallCount): what waits for it is discarded, as everything is that asks for it until the stall
    /// ends.
    fn stall_begins(&mut self, out_lane: OutLane) {
        // Copied, since each discard offers the next head, which may ask for the same lane.
        for lane in self.plane.line(out_lane).collect::<Vec<_>>() {
            if self.plane.lanes[lane].waits_for == out_lane {
                self.lifetimes.discards += 1;
                self.plane.unwait(lane);
                self.discard_head(lane);
                self.offer(lane);
            }
        }
    }
}
