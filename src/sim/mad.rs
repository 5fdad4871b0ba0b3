//! How management travels: on VL 15, hop by hop, ahead of data and without credits.
//!
//! A MAD waits until the link has sent what it is sending, and goes before any data that waits. Directed routes are walked
//! as each node's SMI does; LID routes follow the forwarding tables. Faults strike a MAD once, where it sets out: lost,
//! late, or delivered a second time. Whose a MAD is, the device's own or a client's, `client` decides.

use super::packet::NIL;
use super::wheel::{Event, TICKS_PER_NS, Ticks};
use super::{Sim, kind};
use crate::fabric::NodeId;
use crate::ids::{Lid, PortNum, Sl};
use crate::transport::Datagram;
use crate::wire::{AttributeId, MAD_SIZE, Method, PortState, Route, Smp, SmpAction, class, class_of};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg32;

/// Bytes of a MAD on the wire: the MAD, its headers and checks.
const WIRE_BYTES: u64 = 256 + 34;

/// What a datagram carries.
#[derive(Clone, Debug)]
pub enum Body {
    /// Subnet management.
    Smp(Box<Smp>),
    /// General services, of whatever class, as they came.
    General(Box<[u8; MAD_SIZE]>),
}

/// A MAD on its way.
#[derive(Clone, Debug)]
pub struct Mad {
    /// Where it was sent from; where an answer goes.
    pub slid: Lid,
    /// Where it goes; permissive for directed routes.
    pub dlid: Lid,
    /// Its service level; none for subnet management, which VL 15 carries.
    pub sl: Sl,
    /// What it says.
    pub body: Body,
}

/// Something that management does at its time.
#[derive(Clone, Debug)]
pub enum Errand {
    /// A MAD comes in by a port.
    Arrive(u32, Mad),
    /// A MAD that was held up is where it was to go: the port by which it came in there.
    Deliver(u32, Mad),
    /// A MAD sets out from a node, out of its own agent or manager; the port is that of an end port, 0 of a switch.
    Depart(u32, Mad),
    /// A node's agent has finished with the first request in its queue.
    Served(u32),
    /// A token of the flush or drain agents comes in by a port.
    Token(u32, super::agent::Token),
    /// A trap that was not repressed is sent again.
    Trap(u32),
}

/// Errands to come; the event list holds their indices.
pub struct Errands {
    slab: Vec<Option<Errand>>,
    free: Vec<u32>,
    random: Pcg32,
    /// `Set`s to be held up on their way.
    held: Vec<HeldSet>,
}

/// A `Set` that takes longer on its way than any other MAD; a legal delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldSet {
    /// The device that it is for.
    pub node: NodeId,
    /// Its attribute.
    pub attribute: AttributeId,
    /// The attribute's modifier.
    pub modifier: u32,
    /// When an agent that is idle has carried it out, in nanoseconds.
    pub lands_ns: u64,
}

impl Errands {
    pub(super) fn new(seed: u64) -> Errands {
        Errands {
            slab: Vec::new(),
            free: Vec::new(),
            random: Pcg32::seed_from_u64(seed ^ 0x5EED_0F15),
            held: Vec::new(),
        }
    }

    /// Whether something of this probability happens.
    fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && f64::from(self.random.next_u32()) < probability * 4_294_967_296.0
    }

    fn up_to(&mut self, most: Ticks) -> Ticks {
        ((u128::from(self.random.next_u64()) * u128::from(most + 1)) >> 64) as Ticks
    }
}

/// Where every MAD says its method (section 13.4.2).
const METHOD: usize = 3;

impl Mad {
    /// Reads a datagram that a client sends; none where it is no MAD that could travel.
    pub(super) fn read(datagram: &Datagram, slid: Lid) -> Option<Mad> {
        let (sl, body) = match class_of(&datagram.bytes) {
            class::SUBNET_LID | class::SUBNET_DIRECTED => {
                (Sl::default(), Body::Smp(Box::new(Smp::decode(&datagram.bytes).ok()?)))
            }
            _ => (datagram.sl, Body::General(datagram.bytes.clone())),
        };
        Some(Mad { slid, dlid: datagram.lid, sl, body })
    }

    /// A LID-routed packet of subnet management.
    pub(super) fn smp(slid: Lid, dlid: Lid, smp: Smp) -> Mad {
        Mad { slid, dlid, sl: Sl::default(), body: Body::Smp(Box::new(smp)) }
    }

    /// Moves a directed route on at a node; none for what is LID routed.
    fn advance(&mut self, arrival: Option<PortNum>) -> Option<SmpAction> {
        match &mut self.body {
            Body::Smp(smp) => match &mut smp.route {
                Route::Directed(route) => Some(route.advance(arrival)),
                Route::Lid => None,
            },
            Body::General(_) => None,
        }
    }

    pub(super) fn method(&self) -> Method {
        match &self.body {
            Body::Smp(smp) => smp.method,
            Body::General(bytes) => bytes[METHOD].into(),
        }
    }

    /// The datagram that a client receives.
    pub(super) fn write(self) -> Datagram {
        let (qp, bytes) = match self.body {
            Body::Smp(smp) => (0, Box::new(smp.encode())),
            Body::General(bytes) => (1, bytes),
        };
        Datagram { lid: self.slid, qp, sl: self.sl, bytes }
    }
}

impl Sim {
    /// Sets an errand for a time.
    pub(super) fn errand(&mut self, at: Ticks, errand: Errand) {
        let index = self.errands.free.pop().unwrap_or_else(|| {
            self.errands.slab.push(None);
            (self.errands.slab.len() - 1) as u32
        });
        self.errands.slab[index as usize] = Some(errand);
        self.wheel.push(at, Event::new(kind::ERRAND, index, 0));
    }

    pub(super) fn run_errand(&mut self, index: u32) {
        let errand = self.errands.slab[index as usize].take().expect("an errand runs once");
        self.errands.free.push(index);
        match errand {
            Errand::Arrive(port, mad) => self.mad_arrives(port, mad),
            Errand::Depart(port, mad) => self.mad_departs(port, mad),
            Errand::Deliver(port, mad) => self.mad_delivered(port, mad),
            Errand::Served(node) => self.served(node),
            Errand::Token(port, token) => self.token_arrives(port, token),
            Errand::Trap(node) => self.repeat_trap(node),
        }
    }

    /// A node's agent or manager sends a MAD out of `port`, faults permitting.
    pub(super) fn send_mad(&mut self, port: u32, mad: Mad) {
        let most_delay = self.config.smp_delay_ns * TICKS_PER_NS;
        if self.errands.chance(self.config.smp_duplicate) {
            let late = self.now + most_delay + self.errands.up_to(most_delay.max(1_000_000 * TICKS_PER_NS));
            self.errand(late, Errand::Depart(port, mad.clone()));
        }
        if self.errands.chance(self.config.smp_loss) {
            return;
        }
        match most_delay {
            0 => self.mad_departs(port, mad),
            most => {
                let at = self.now + self.errands.up_to(most);
                self.errand(at, Errand::Depart(port, mad));
            }
        }
    }

    fn mad_departs(&mut self, port: u32, mut mad: Mad) {
        match mad.advance(None) {
            Some(SmpAction::Forward(num)) => self.mad_leaves(port, num, mad),
            Some(SmpAction::Deliver) => self.mad_delivered(port, mad),
            Some(SmpAction::Discard) => {}
            None => self.route_by_lid(port, mad, true),
        }
    }

    fn mad_arrives(&mut self, port: u32, mut mad: Mad) {
        let (node, num) = (self.net.ports[port as usize].node, self.net.ports[port as usize].num);
        let up = self.net.ports[port as usize].alive && self.devices.list[node as usize].alive;
        if !up || !self.passes(port, &mad) {
            return;
        }
        match mad.advance(Some(PortNum(num))) {
            // Only switches hand directed routes on.
            Some(SmpAction::Forward(next)) if self.is_switch(node) => self.mad_leaves(port, next, mad),
            Some(SmpAction::Deliver) => self.mad_delivered(port, mad),
            Some(SmpAction::Forward(_) | SmpAction::Discard) => {}
            None => self.route_by_lid(port, mad, false),
        }
    }

    pub(super) fn is_switch(&self, node: u32) -> bool {
        self.net.tables.row(node) != NIL
    }

    /// A LID-routed MAD at a node: for itself, on by the forwarding table, or out of an end port where it sets out.
    fn route_by_lid(&mut self, port: u32, mad: Mad, departs: bool) {
        let node = self.net.ports[port as usize].node;
        let own = self.management_port(port);
        if self.devices.owns(own, mad.dlid) {
            self.mad_delivered(port, mad);
        } else if self.is_switch(node) {
            match self.net.tables.output(node, mad.dlid.0) {
                0 | 255 => {}
                num => self.mad_leaves(port, PortNum(num), mad),
            }
        } else if departs {
            self.mad_leaves(port, PortNum(self.net.ports[port as usize].num), mad);
        }
    }

    /// The port that holds a node's management LID: port 0 of a switch, the port itself elsewhere.
    pub(super) fn management_port(&self, port: u32) -> u32 {
        let node = self.net.ports[port as usize].node;
        if self.is_switch(node) { self.net.first_port(node) } else { port }
    }

    /// Puts a MAD on the link of a node's port `num`, ahead of any data that waits.
    fn mad_leaves(&mut self, at: u32, num: PortNum, mad: Mad) {
        let node = self.net.ports[at as usize].node;
        if num == PortNum::ZERO || num.0 > self.net.num_ports(node) {
            return;
        }
        let out = self.net.first_port(node) + u32::from(num.0);
        if !self.passes(out, &mad) {
            return;
        }
        if let Some(end) = self.occupy(out, WIRE_BYTES) {
            let peer = self.net.ports[out as usize].peer;
            let at = end + self.link_delay + self.config.smi_forward_ns * TICKS_PER_NS;
            self.errand(at, Errand::Arrive(peer, mad));
        }
    }

    /// Whether a port lets a MAD out or in: subnet management always, general services once it is ACTIVE. In a subnet
    /// found running they pass through any port that is up.
    fn passes(&self, port: u32, mad: &Mad) -> bool {
        let general = matches!(mad.body, Body::General(_));
        !self.began_cold || !general || self.net.ports[port as usize].state == PortState::Active
    }

    /// Takes a live link for `bytes` as soon as it is free; tells when they have been sent.
    pub(super) fn occupy(&mut self, out: u32, bytes: u64) -> Option<Ticks> {
        let port = &mut self.net.ports[out as usize];
        if !port.alive {
            return None;
        }
        let start = port.busy_until.max(self.now);
        port.busy_until = start + ((bytes * u64::from(port.ticks_per_byte)) >> 16);
        Some(port.busy_until)
    }

    /// A MAD is where it was to go: what its device's agents see to queues there, the rest is for who is attached.
    fn mad_delivered(&mut self, port: u32, mad: Mad) {
        if !mad.is_for_agents() {
            return self.client_receives(port, mad);
        }
        let node = self.net.ports[port as usize].node;
        if let Some(at) = self.held_until(node, &mad) {
            return self.errand(at, Errand::Deliver(port, mad));
        }
        self.devices.list[node as usize].queue.push_back((port, mad));
        self.serve_next(node);
    }

    /// Holds `Set`s up on their way, the next of each kind once, so that they land when they are to. One that comes too
    /// late for that lands as soon as it can.
    pub fn hold_sets(&mut self, sets: impl IntoIterator<Item = HeldSet>) {
        self.errands.held.extend(sets);
    }

    /// Until when a MAD that has come to its device is held up; none where it is not.
    fn held_until(&mut self, node: u32, mad: &Mad) -> Option<Ticks> {
        let Body::Smp(smp) = &mad.body else { return None };
        let wanted = |held: &HeldSet| {
            (held.node.0, held.attribute, held.modifier, Method::Set) == (node, smp.attribute, smp.modifier, smp.method)
        };
        let at = self.errands.held.iter().position(wanted)?;
        let lands = self.errands.held.swap_remove(at).lands_ns * TICKS_PER_NS;
        Some(lands.saturating_sub(self.config.sma_service_ns * TICKS_PER_NS)).filter(|&at| at > self.now)
    }

    /// Sets the agent to work on the next request, if it is idle.
    fn serve_next(&mut self, node: u32) {
        let device = &mut self.devices.list[node as usize];
        if !device.serving && !device.queue.is_empty() {
            device.serving = true;
            let done = self.now + self.config.sma_service_ns * TICKS_PER_NS;
            self.errand(done, Errand::Served(node));
        }
    }

    fn served(&mut self, node: u32) {
        let device = &mut self.devices.list[node as usize];
        device.serving = false;
        if !device.alive {
            device.queue.clear();
            return;
        }
        if let Some((port, request)) = device.queue.pop_front()
            && let Some(answer) = self.agent_answers(port, &request)
        {
            self.send_mad(self.management_port(port), answer);
        }
        self.serve_next(node);
    }
}
