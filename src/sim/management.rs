//! How subnet management travels: on VL 15, hop by hop, ahead of data and without credits.
//!
//! A MAD of a general class leaves for the data plane where it sets out (`gmp`). Any other waits until the link has
//! sent what it is sending, and goes before any data that waits. Directed routes are walked as each node's SMI does, by
//! the switch's hardware or by its processor; LID routes follow the forwarding tables. What is for a device's processor
//! waits there, as far as the VL 15 buffer of the port has room. Faults strike a MAD once, where it sets out: lost,
//! late, or delivered a second time. `client` decides whether a MAD is for the device's agents or for a client. Tokens
//! and reports of the token agents (`agent`) are sent here, too.

use super::Sim;
use super::agent::{Agents, Effect, Surroundings, Token};
use super::device::WaitingMad;
use super::errand::{Errand, HeldSet};
use super::index::InLane;
use super::mad::Mad;
use super::wheel::{TICKS_PER_NS, Ticks};
use crate::fabric::{NodeId, PortId};
use crate::ids::PortNum;
use crate::wire::vendor::{DrainToken, Flush};
use crate::wire::{AttributeId, Method, Route, Smp, SmpAction};

/// Bytes of a MAD or a token on the wire: the MAD, its headers and its checksums.
const WIRE_BYTES: u64 = 256 + 34;

impl Sim {
    /// Schedules an errand for a time.
    pub(super) fn errand(&mut self, at: Ticks, errand: Errand) {
        self.errands.set(&mut self.clock, at, errand);
    }

    pub(super) fn run_errand(&mut self, index: u32) {
        match self.errands.take(index) {
            Errand::Arrive(port, mad) => self.mad_arrives(port, mad),
            Errand::Depart(port, mad) => self.mad_departs(port, mad),
            Errand::Deliver(port, mad) => self.mad_delivered(port, mad),
            Errand::Served(node) => self.served(node),
            Errand::Token(port, token) => self.token_arrives(port, token),
            Errand::Trap(node) => self.repeat_trap(node),
            Errand::Query(port) => self.queried(port),
            Errand::Connection(number, sent) => self.connection_is_due(number, sent),
        }
    }

    /// A node's agent or manager sends a MAD out of `port`, faults permitting.
    pub(super) fn send_mad(&mut self, port: PortId, mad: Mad) {
        let most_delay = self.config.smp_delay_ns * TICKS_PER_NS;
        // A copy may arrive although the original is lost, so it is drawn first. It sets out no sooner than the
        // original could at the latest: this is the late copy of P1.3.
        if self.errands.chance(self.config.smp_duplicate) {
            let late = self.clock.now() + most_delay + self.errands.up_to(most_delay.max(1_000_000 * TICKS_PER_NS));
            self.errand(late, Errand::Depart(port, mad.clone()));
        }
        if self.errands.chance(self.config.smp_loss) {
            return;
        }
        match most_delay {
            0 => self.mad_departs(port, mad),
            most => {
                let at = self.clock.now() + self.errands.up_to(most);
                self.errand(at, Errand::Depart(port, mad));
            }
        }
    }

    fn mad_departs(&mut self, port: PortId, mut mad: Mad) {
        if mad.is_general() {
            return self.gmp_departs(port, mad);
        }
        match mad.advance(None) {
            Some(SmpAction::Forward(num)) => self.mad_leaves(port, num, mad),
            Some(SmpAction::Deliver) => self.mad_delivered(port, mad),
            Some(SmpAction::Discard) => {}
            None => self.route_by_lid(port, mad, true),
        }
    }

    fn mad_arrives(&mut self, port: PortId, mut mad: Mad) {
        let (node, num) = (self.plane.ports[port].node, self.plane.ports[port].num);
        let up = self.plane.ports[port].is_up() && self.devices.list[node].alive;
        if !up {
            return;
        }
        mad.came_on_vl15 = true;
        match mad.advance(Some(PortNum(num))) {
            // Only switches forward directed routes.
            Some(SmpAction::Forward(next)) if self.plane.is_switch(node) => match self.config.smi_processor_ns {
                0 => self.mad_leaves(port, next, mad),
                _ => self.wait_for_processor(node, WaitingMad { port, mad, onward: Some(next) }),
            },
            Some(SmpAction::Deliver) => self.mad_delivered(port, mad),
            Some(SmpAction::Forward(_) | SmpAction::Discard) => {}
            None => self.route_by_lid(port, mad, false),
        }
    }

    /// A LID-routed MAD at a node: delivered where the node owns the LID, forwarded by a switch's table, or sent out of
    /// the end port where it `departs`.
    fn route_by_lid(&mut self, port: PortId, mad: Mad, departs: bool) {
        let node = self.plane.ports[port].node;
        // A switch holds its LID at port 0, whatever port brought the MAD.
        let own = self.plane.management_port(port);
        if self.devices.owns(own, mad.dlid) {
            self.mad_delivered(port, mad);
        } else if self.plane.is_switch(node) {
            match self.plane.tables.output(node, mad.dlid.0) {
                0 | 255 => {}
                num => self.mad_leaves(port, PortNum(num), mad),
            }
        } else if departs {
            self.mad_leaves(port, PortNum(self.plane.ports[port].num), mad);
        }
    }

    /// Puts a MAD on the link of a node's port `num`, ahead of any data that waits.
    fn mad_leaves(&mut self, at: PortId, num: PortNum, mad: Mad) {
        let node = self.plane.ports[at].node;
        if num == PortNum::ZERO || num.0 > self.plane.num_ports(node) {
            return;
        }
        let out = self.plane.port_at(node, num);
        // Data takes a link only when it is free, so taking it now puts the MAD ahead of all data that waits.
        if let Some(end) = self.plane.occupy(&self.clock, out, WIRE_BYTES) {
            let peer = self.plane.ports[out].peer;
            let at = end + self.plane.rules.link_delay + self.config.smi_forward_ns * TICKS_PER_NS;
            self.errand(at, Errand::Arrive(peer, mad));
        }
    }

    /// A MAD has reached its device: requests to the device's agents queue there, the rest goes to the client of the
    /// port.
    pub(super) fn mad_delivered(&mut self, port: PortId, mad: Mad) {
        if !mad.is_for_agents() {
            return self.client_receives(port, mad);
        }
        let node = self.plane.ports[port].node;
        if self.devices.list[node].deaf {
            return;
        }
        let service = self.config.service_of(&mad) * TICKS_PER_NS;
        // A held `Set` that arrives too late lands as soon as it can.
        if let Some(at) = self.errands.due_at_agent(node, &mad, service).filter(|&at| at > self.clock.now()) {
            return self.errand(at, Errand::Deliver(port, mad));
        }
        self.wait_for_processor(node, WaitingMad { port, mad, onward: None });
    }

    /// Puts a MAD in line for a device's processor, if the VL 15 buffer of its port has room.
    fn wait_for_processor(&mut self, node: NodeId, waiting: WaitingMad) {
        match self.devices.queue(node, waiting, self.config.vl15_buffer.into()) {
            Ok(()) => self.serve_next(node),
            Err(dropped) => self.counters.drop_smp(dropped.port),
        }
    }

    /// Delays `Set`s on their way, so that they land at the times given: each entry holds up one `Set` that matches it.
    /// A `Set` that arrives too late lands as soon as it can.
    pub fn hold_sets(&mut self, sets: impl IntoIterator<Item = HeldSet>) {
        self.errands.hold(sets);
    }

    /// Lets an idle processor begin with what comes next.
    fn serve_next(&mut self, node: NodeId) {
        let Some(next) = self.devices.begin_service(node) else { return };
        let ns = match next.onward {
            Some(_) => self.config.smi_processor_ns,
            None => self.config.service_of(&next.mad),
        };
        self.errand(self.clock.now() + ns * TICKS_PER_NS, Errand::Served(node));
    }

    fn served(&mut self, node: NodeId) {
        match self.devices.end_service(node) {
            Some(WaitingMad { port, mad, onward: Some(next) }) => self.mad_leaves(port, next, mad),
            Some(WaitingMad { port, mad, onward: None }) => {
                if let Some(answer) = self.agent_answers(port, &mad) {
                    self.send_mad(self.plane.management_port(port), answer);
                }
            }
            None => {}
        }
        self.serve_next(node);
    }

    // Token agents.

    /// Lets the agents act, and sends the tokens and reports that they list.
    pub(super) fn with_agents<T>(&mut self, act: impl FnOnce(&mut Agents, Surroundings<'_>) -> T) -> T {
        let around = Surroundings {
            clock: &self.clock,
            plane: &self.plane,
            sources: &self.sources,
            routers: self.routers.as_deref(),
        };
        let outcome = act(&mut self.agents, around);
        // Agents only read the simulation, so what they want sent waits until they have decided. Nearly always that is
        // nothing: they look at every packet that leaves a device that they watch.
        if self.agents.has_effects() {
            self.carry_out_effects();
        }
        outcome
    }

    #[cold]
    fn carry_out_effects(&mut self) {
        for effect in self.agents.take_effects() {
            match effect {
                Effect::Send(port, token) => self.send_token(port, token),
                Effect::Report(port, state) => self.report_leaf(port, state),
            }
        }
    }

    /// A packet has left a queue while some agent watches.
    #[cold]
    pub(super) fn agent_saw_departure(&mut self, lane: InLane) {
        let node = self.plane.ports[self.plane.port_of(lane)].node;
        if let Some(stood) = self.agents.count_departure(node, lane) {
            self.with_agents(|agents, at| agents.goes_on(at, node, stood));
        }
    }

    fn token_arrives(&mut self, port: PortId, token: Token) {
        let at = &self.plane.ports[port];
        if at.is_up() && self.devices.list[at.node].alive {
            self.with_agents(|agents, around| agents.token_arrives(around, port, token));
        }
    }

    /// Puts a token on a link after what the link is sending. The token takes the routing delay that data takes, so it
    /// never overtakes a packet that set out before it (F.2).
    fn send_token(&mut self, out: PortId, token: Token) {
        if let Some(end) = self.plane.occupy(&self.clock, out, WIRE_BYTES) {
            let peer = self.plane.ports[out].peer;
            self.errand(end + Ticks::from(self.plane.ports[out].hop_delay), Errand::Token(peer, token));
        }
    }

    fn report_leaf(&mut self, port: PortId, state: DrainToken) {
        let at = &self.plane.ports[port];
        let (node, num) = (at.node, at.num);
        let own = self.plane.management_port(port);
        let held = &self.devices.ports[own];
        let smp = Smp::new(Route::Lid, Method::Report, AttributeId::DrainToken, num.into(), state.encode());
        let tid = u64::from(node.0) << 32 | u64::from(state.round) << 8 | u64::from(num);
        let mad = Mad::smp(held.lid, self.devices.manager_lid(held.master_sm_lid), smp.with_tid(tid));
        self.send_mad(own, mad);
    }

    /// The subnet manager orders a device to flush (F.1).
    pub(super) fn start_flush(&mut self, node: NodeId, flush: Flush) {
        if self.with_agents(|agents, at| agents.begin_flush(at, node, flush)) {
            // Only an order that begins a flush may open an epoch: a repeated one would make packets look as if they
            // had stood.
            let latched =
                self.routers.as_mut().map_or(0, |routers| routers.begin_epoch(&self.plane, &self.sources, node));
            self.with_agents(|agents, at| agents.flush_counted(at, node, latched));
        }
    }
}
