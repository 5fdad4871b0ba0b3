//! Packets through switches: arrival, the choice of output and lane, arbitration, sending.
//!
//! Virtual cut-through: a packet asks for its output one routing delay after its head came, and is sent once the link is
//! free and the next buffer has room for all of it. An output serves its lanes in weighted turn, and within a lane the
//! waiting inputs in the order in which they asked. A packet leaves its buffer, for its neighbour's credits, when its
//! tail has left.

use super::device::coded_limit_ns;
use super::packet::{NIL, RELAYED};
use super::state::DISCARD;
use super::wheel::{Event, TICKS_PER_NS, Ticks};
use super::{ArmedPort, Latch, Sim, kind};
use crate::wire::PortState;

impl Sim {
    /// A packet's head has come to a switch's input buffer and its route is looked up.
    #[inline]
    pub(super) fn arrive(&mut self, id: u32, lane: u32) {
        let port = self.net.port_of(lane);
        let receives = self.net.ports[port as usize].receives;
        if !self.net.ports[port as usize].alive {
            self.net.ins[lane as usize].held -= u32::from(self.packets[id].credits);
            self.count_missed(port, self.packets[id].bytes);
            self.lose(id);
            return;
        }
        if self.net.ports[port as usize].state == PortState::Initialize {
            self.packets[id].out_lane = DISCARD;
        } else if self.net.ports[port as usize].relays {
            self.packets[id].out_lane = self.relay_arrival(id, port);
        } else if self.latch == Latch::Arrival && receives {
            self.packets[id].out_lane = self.choose(port, id);
        }
        if self.enqueue(lane, id) && receives {
            self.offer(lane);
        }
    }

    /// Appends a packet to a queue; tells whether it is now the head.
    #[inline]
    pub(super) fn enqueue(&mut self, lane: u32, id: u32) -> bool {
        let queue = &mut self.net.ins[lane as usize];
        queue.count += 1;
        let was_empty = queue.head == NIL;
        if was_empty {
            queue.head = id;
        } else {
            self.packets[queue.tail].next = id;
        }
        queue.tail = id;
        was_empty
    }

    /// Output lane for a packet that stands at an input port of a switch; [`DISCARD`] where it has none.
    #[inline]
    pub(super) fn choose(&self, input: u32, id: u32) -> u32 {
        let packet = &self.packets[id];
        let from = &self.net.ports[input as usize];
        if from.source {
            let vl = self.net.tables.lane(from.node, 0, from.num, packet.sl);
            return if self.net.runs(input, vl) { self.net.lane(input, vl) } else { DISCARD };
        }
        match self.net.tables.way(from.node, from.num, packet.dlid, packet.sl) {
            Some((port, _)) if port == input && self.config.discards_turned_back => DISCARD,
            Some((port, vl)) if self.net.runs(port, vl) => self.net.lane(port, vl),
            _ => DISCARD,
        }
    }

    /// The head of a queue asks for its output; heads that have none are discarded.
    pub(super) fn offer(&mut self, lane: u32) {
        loop {
            let id = self.net.ins[lane as usize].head;
            if id == NIL {
                return;
            }
            if self.packets[id].out_lane == NIL {
                self.packets[id].out_lane = self.choose(self.net.port_of(lane), id);
            }
            let out_lane = self.packets[id].out_lane;
            if out_lane == DISCARD || self.discards(out_lane, lane) {
                self.discard_head(lane);
            } else if self.expired(lane, id) {
                self.lifetime_discards += 1;
                self.discard_head(lane);
            } else if self.goes_at_once(out_lane, id) {
                self.send_head(lane, out_lane);
            } else {
                return self.wait_for(lane, id, out_lane);
            }
        }
    }

    /// Whether packets from `lane` towards this output are discarded: the port is down, initialising, or ARMED and of
    /// the kind that discards. A source keeps them instead.
    #[inline]
    fn discards(&self, out_lane: u32, lane: u32) -> bool {
        let port = &self.net.ports[self.net.port_of(out_lane) as usize];
        if port.sends {
            return false;
        }
        let held = port.state == PortState::Armed && self.config.armed == ArmedPort::Holds;
        let own = self.net.ports[self.net.port_of(lane) as usize].source;
        !held && !own
    }

    /// Whether a head need not join a line: the link is free, nobody waits for it, and the lane has its credits. If so,
    /// the lane has its turn.
    #[inline]
    fn goes_at_once(&mut self, out_lane: u32, id: u32) -> bool {
        let (port, credits) = (self.net.port_of(out_lane), self.packets[id].credits);
        let out = &self.net.ports[port as usize];
        let free = out.pending == 0 && out.sends && out.busy_until <= self.now;
        let goes = free && self.has_credits(out_lane, credits);
        if goes {
            self.take_turn(port, self.net.vl_of(out_lane), credits);
        }
        goes
    }

    fn wait_for(&mut self, lane: u32, id: u32, out_lane: u32) {
        let port = self.net.port_of(out_lane);
        self.net.ins[lane as usize].waits_for = out_lane;
        self.net.ins[lane as usize].next_waiter = NIL;
        let out = &mut self.net.outs[out_lane as usize];
        if out.first_waiter == NIL {
            out.first_waiter = lane;
            let vl = self.net.vl_of(out_lane);
            self.net.ports[port as usize].pending |= 1 << vl;
        } else {
            let last = out.last_waiter;
            self.net.ins[last as usize].next_waiter = lane;
        }
        self.net.outs[out_lane as usize].last_waiter = lane;
        if self.limits {
            self.set_expiry(lane, id);
        }
        self.serve(port);
        if self.net.ins[lane as usize].head == id && self.net.ins[lane as usize].waits_for == out_lane {
            self.look_for_deadlock(lane);
        }
    }

    /// Lets an output send if it can, now or when its link is free.
    #[inline]
    pub(super) fn serve(&mut self, port: u32) {
        let out = &self.net.ports[port as usize];
        if out.pending == 0 || !out.sends {
            return;
        }
        if out.busy_until > self.now {
            self.wake_when_free(port);
        } else if let Some((out_lane, lane)) = self.arbitrate(port) {
            self.unwait_first(out_lane, lane);
            self.send_head(lane, out_lane);
            self.wake_when_free(port);
            self.offer(lane);
        } else if !self.net.ports[port as usize].waits {
            self.wait_begins(port);
        }
    }

    /// Sees to a wake-up of an output when its link is free, if anybody waits.
    #[inline]
    fn wake_when_free(&mut self, port: u32) {
        let out = &mut self.net.ports[port as usize];
        if out.pending != 0 && !out.scheduled {
            out.scheduled = true;
            self.wheel.push(out.busy_until, Event::new(kind::FREE, port, 0));
        }
    }

    /// The link is free again.
    pub(super) fn link_free(&mut self, port: u32) {
        self.net.ports[port as usize].scheduled = false;
        self.serve(port);
    }

    /// The lane in turn that has a waiter and its credits, and that waiter.
    #[inline]
    fn arbitrate(&mut self, port: u32) -> Option<(u32, u32)> {
        let out = &self.net.ports[port as usize];
        let (turn, pending) = (out.turn, out.pending);
        // The lane in turn goes on while its allowance lasts; then the next ones, it last of all.
        let start = if out.allowance > 0 { turn } else { turn + 1 };
        let rotated = (u32::from(pending) | u32::from(pending) << 16) >> (start % 16);
        let mut waiting = rotated & 0xFFFF;
        while waiting != 0 {
            let vl = (start + waiting.trailing_zeros() as u8) % 16;
            waiting &= waiting - 1;
            let out_lane = self.net.lane(port, vl);
            let lane = self.net.outs[out_lane as usize].first_waiter;
            let credits = self.packets[self.net.ins[lane as usize].head].credits;
            if self.has_credits(out_lane, credits) {
                self.take_turn(port, vl, credits);
                return Some((out_lane, lane));
            }
        }
        None
    }

    /// A lane sends: it is, or remains, the one in turn.
    #[inline]
    fn take_turn(&mut self, port: u32, vl: u8, credits: u16) {
        let out = &mut self.net.ports[port as usize];
        let before = if vl == out.turn && out.allowance > 0 { out.allowance } else { self.config.vl_weight };
        (out.turn, out.allowance) = (vl, before.saturating_sub(credits));
    }

    /// Sends the head of `lane`, which waits in no line, on `out_lane`.
    #[inline]
    fn send_head(&mut self, lane: u32, out_lane: u32) {
        let id = self.net.ins[lane as usize].head;
        let port = self.net.port_of(out_lane);
        let packet = &mut self.packets[id];
        let out = &mut self.net.ports[port as usize];
        let sending = (Ticks::from(packet.bytes) * Ticks::from(out.ticks_per_byte)) >> 16;
        // A packet cannot leave before it has come: a fast output waits for the tail from a slow input.
        let end = (self.now + sending).max(packet.tail);
        out.busy_until = end;
        out.bytes_sent += u64::from(packet.bytes);
        out.packets_sent += 1;
        let (sink, peer, credits) = (out.sink, out.peer, packet.credits);
        packet.tail = end + self.link_delay;
        packet.out_lane = if sink { out_lane } else { NIL };
        if out.source || out.relays {
            self.sources.list[packet.source as usize].sent[usize::from(packet.sl)] += u64::from(packet.bytes / 4);
        } else {
            packet.hops = packet.hops.saturating_add(1);
            self.packet_hops += 1;
        }
        let tail = packet.tail;
        if out.waits {
            self.wait_ends(port);
        }
        let out = &mut self.net.outs[out_lane as usize];
        out.credits -= credits;
        out.starved = false;
        self.dequeue(lane, end);
        if sink {
            self.wheel.push(tail, Event::new(kind::DELIVER, id, peer));
        } else {
            let down = self.net.lane(peer, self.net.vl_of(out_lane));
            self.net.ins[down as usize].held += u32::from(credits);
            self.wheel.push(self.now + self.hop_delay, Event::new(kind::ARRIVE, id, down));
            if self.net.outs[out_lane as usize].first_waiter != NIL {
                self.look_for_deadlock(down);
            }
        }
    }

    /// Takes the first waiter out of an output's line.
    fn unwait_first(&mut self, out_lane: u32, lane: u32) {
        let next = self.net.ins[lane as usize].next_waiter;
        self.net.ins[lane as usize].waits_for = NIL;
        let out = &mut self.net.outs[out_lane as usize];
        out.first_waiter = next;
        if next == NIL {
            out.last_waiter = NIL;
            let (port, vl) = (self.net.port_of(out_lane), self.net.vl_of(out_lane));
            self.net.ports[port as usize].pending &= !(1 << vl);
        }
    }

    /// Takes a waiter out of an output's line wherever it stands.
    pub(super) fn unwait(&mut self, lane: u32) {
        let out_lane = self.net.ins[lane as usize].waits_for;
        if out_lane == NIL {
            return;
        }
        let first = self.net.outs[out_lane as usize].first_waiter;
        if first == lane {
            return self.unwait_first(out_lane, lane);
        }
        let mut before = first;
        while self.net.ins[before as usize].next_waiter != lane {
            before = self.net.ins[before as usize].next_waiter;
        }
        let next = self.net.ins[lane as usize].next_waiter;
        self.net.ins[before as usize].next_waiter = next;
        self.net.ins[lane as usize].waits_for = NIL;
        if next == NIL {
            self.net.outs[out_lane as usize].last_waiter = before;
        }
    }

    /// Takes the head out of its queue; its buffer is free when the tail has left, at `end`.
    #[inline]
    fn dequeue(&mut self, lane: u32, end: Ticks) {
        let port = self.net.port_of(lane);
        let queue = &mut self.net.ins[lane as usize];
        let id = queue.head;
        let packet = &mut self.packets[id];
        queue.head = std::mem::replace(&mut packet.next, NIL);
        if queue.head == NIL {
            queue.tail = NIL;
        }
        queue.count -= 1;
        let (credits, source, half) = (packet.credits, packet.source, usize::from(packet.sl / 8));
        let own = &self.net.ports[port as usize];
        if own.source {
            self.sources.list[source as usize].waiting -= 1;
            self.sources.list[source as usize].queued[half] -= 1;
            self.queue_moved(source);
        } else {
            queue.held -= u32::from(credits);
            if own.alive {
                let upstream = self.net.lane(own.peer, self.net.vl_of(lane));
                self.return_credits(upstream, credits, end + self.link_delay);
            }
        }
        if self.packets[id].flags & RELAYED != 0 {
            self.left_router(id);
        }
        if self.agents.watching {
            self.agent_saw_departure(lane);
        }
    }

    /// Discards the head of a queue, which waits for nothing.
    #[inline(never)]
    pub(super) fn discard_head(&mut self, lane: u32) {
        let id = self.net.ins[lane as usize].head;
        let gone = self.now.max(self.packets[id].tail);
        self.count_discard(lane, self.packets[id].out_lane);
        self.dequeue(lane, gone);
        self.lose(id);
    }

    /// Sees again to the queues of a node whose tables changed, where choices are made anew at every attempt.
    pub(super) fn reconsider(&mut self, node: u32) {
        if self.latch != Latch::Grant || self.is_relay(node) {
            return;
        }
        for lane in self.lanes_of(node) {
            let id = self.net.ins[lane as usize].head;
            if id == NIL || self.net.ins[lane as usize].waits_for == NIL {
                continue;
            }
            let choice = self.choose(self.net.port_of(lane), id);
            if choice != self.packets[id].out_lane {
                self.unwait(lane);
                self.packets[id].out_lane = choice;
                self.offer(lane);
            }
        }
    }

    /// Discards what waits for an output that may send no more, and offers what it held back.
    pub(super) fn port_changed(&mut self, port: u32) {
        let first = self.net.lane(port, 0);
        for out_lane in first..first + u32::from(self.net.data_vls) {
            let mut waiting = Vec::new();
            let mut next = self.net.outs[out_lane as usize].first_waiter;
            while next != NIL {
                waiting.push(next);
                next = self.net.ins[next as usize].next_waiter;
            }
            for lane in waiting {
                if self.net.ins[lane as usize].waits_for == out_lane && self.discards(out_lane, lane) {
                    self.unwait(lane);
                    self.discard_head(lane);
                    self.offer(lane);
                }
            }
        }
        if self.net.ports[port as usize].receives {
            for lane in first..first + u32::from(self.net.data_vls) {
                self.release(lane);
            }
        }
        self.serve(port);
        // What waited for a port that held its data waits for a buffer from now on.
        for out_lane in first..first + u32::from(self.net.data_vls) {
            let waiter = self.net.outs[out_lane as usize].first_waiter;
            if waiter != NIL {
                self.look_for_deadlock(waiter);
                self.look_for_deadlock(self.net.across(out_lane));
            }
        }
    }

    /// Latches what came while the port held its data back, and lets the head ask.
    fn release(&mut self, lane: u32) {
        let mut id = self.net.ins[lane as usize].head;
        while id != NIL && self.latch == Latch::Arrival {
            if self.packets[id].out_lane == NIL {
                self.packets[id].out_lane = self.choose(self.net.port_of(lane), id);
            }
            id = self.packets[id].next;
        }
        if self.net.ins[lane as usize].waits_for == NIL {
            self.offer(lane);
        }
    }

    /// The data lanes of a node's cabled ports.
    pub(super) fn lanes_of(&self, node: u32) -> Vec<u32> {
        let first = self.net.first_port(node);
        let ports = first + 1..=first + u32::from(self.net.num_ports(node));
        ports
            .flat_map(|port| (0..self.net.data_vls).map(move |vl| (port, vl)))
            .map(|(p, vl)| self.net.lane(p, vl))
            .collect()
    }

    /// Whether a packet at the head has stood longer than the switch lifetime limit allows.
    #[inline]
    fn expired(&self, lane: u32, id: u32) -> bool {
        self.limits && self.outlived(lane, id)
    }

    #[inline]
    fn outlived(&self, lane: u32, id: u32) -> bool {
        let at = &self.net.ports[self.net.port_of(lane) as usize];
        let in_switch = !at.source && !at.relays;
        let limit = self.switch_limit(self.net.port_of(lane));
        in_switch && limit.is_some_and(|limit| self.now >= self.packets[id].tail.saturating_add(limit))
    }

    /// How long a packet may head its queue for an output; none without limit.
    fn hoq_limit(&self, output: u32) -> Option<Ticks> {
        if self.config.limits_as_programmed {
            return coded_limit_ns(self.devices.ports[output as usize].hoq_life).map(|ns| ns * TICKS_PER_NS);
        }
        Some(self.hoq_lifetime).filter(|&limit| limit > 0)
    }

    /// How long a packet may stay in the switch of a port; none without limit.
    #[inline]
    fn switch_limit(&self, port: u32) -> Option<Ticks> {
        if self.config.limits_as_programmed {
            let device = &self.devices.list[self.net.ports[port as usize].node as usize];
            return coded_limit_ns(device.switch.life_time_value).map(|ns| ns * TICKS_PER_NS);
        }
        Some(self.switch_lifetime).filter(|&limit| limit > 0)
    }

    /// Whether a limit will discard a packet that heads a queue and waits for an output.
    pub(super) fn is_limited(&self, output: u32) -> bool {
        self.hoq_limit(output).is_some() || self.switch_limit(output).is_some()
    }

    #[cold]
    fn set_expiry(&mut self, lane: u32, id: u32) {
        let at = &self.net.ports[self.net.port_of(lane) as usize];
        // Hosts and routers have no such limits.
        if at.source || at.relays {
            return;
        }
        let output = self.net.port_of(self.net.ins[lane as usize].waits_for);
        let by_hoq = self.hoq_limit(output).map(|limit| self.now + limit);
        let by_life = self.switch_limit(output).map(|limit| self.packets[id].tail.saturating_add(limit));
        let Some(expiry) = by_hoq.into_iter().chain(by_life).min() else { return };
        self.expiries[lane as usize] = expiry.max(self.now);
        self.wheel.push(self.expiries[lane as usize], Event::new(kind::EXPIRE, id, lane));
    }

    /// A lifetime limit has come: discards the packet if it still stands where it stood.
    pub(super) fn expire(&mut self, id: u32, lane: u32) {
        let queue = &self.net.ins[lane as usize];
        if queue.head == id && queue.waits_for != NIL && self.expiries[lane as usize] == self.now {
            self.lifetime_discards += 1;
            self.unwait(lane);
            self.discard_head(lane);
            self.offer(lane);
        }
    }
}
