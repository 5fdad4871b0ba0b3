//! Errands: management actions that are due later, kept until the event that names them comes.

use super::agent::Token;
use super::clock::Clock;
use super::kind;
use super::mad::{Mad, MadBody};
use super::wheel::{SimEvent, TICKS_PER_NS, Ticks};
use crate::fabric::{NodeId, PortId};
use crate::wire::{AttributeId, Method};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg32;

/// A management action that is due later.
#[derive(Clone, Debug)]
pub enum Errand {
    /// A MAD comes in by a port.
    Arrive(PortId, Mad),
    /// A MAD that was held up, or whose tail was still to come, is where it was to go: the port by which it came in
    /// there.
    Deliver(PortId, Mad),
    /// A MAD sets out from a node, out of its own agent or manager; the port is that of an end port, 0 of a switch.
    Depart(PortId, Mad),
    /// A node's agent has finished with the first request in its queue.
    Served(NodeId),
    /// A token of the flush or drain agents comes in by a port.
    Token(PortId, Token),
    /// A trap that was not repressed is sent again.
    Trap(NodeId),
    /// The time for an answer to the request of a connection is over; so many had been sent.
    Connection(u32, u32),
    /// An end port that was asked to register again has its new paths.
    Query(PortId),
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

    /// Schedules an errand for a time.
    pub(super) fn set(&mut self, clock: &mut Clock, at: Ticks, errand: Errand) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slab.push(None);
            (self.slab.len() - 1) as u32
        });
        self.slab[index as usize] = Some(errand);
        clock.push(at, SimEvent::new(kind::ERRAND, index, 0));
    }

    /// Takes an errand whose time has come.
    pub(super) fn take(&mut self, index: u32) -> Errand {
        self.free.push(index);
        self.slab[index as usize].take().expect("an errand runs once")
    }

    /// Holds up `Set`s on their way: each entry one that matches it.
    pub(super) fn hold(&mut self, sets: impl IntoIterator<Item = HeldSet>) {
        self.held.extend(sets);
    }

    /// When a MAD that has come to its device must reach the agent, so that an idle one has carried it out when it is
    /// to land; none where it is not held up.
    pub(super) fn due_at_agent(&mut self, node: NodeId, mad: &Mad, service: Ticks) -> Option<Ticks> {
        let MadBody::Smp(smp) = &mad.body else { return None };
        let wanted = |held: &HeldSet| {
            (held.node, held.attribute, held.modifier, Method::Set) == (node, smp.attribute, smp.modifier, smp.method)
        };
        let at = self.held.iter().position(wanted)?;
        // Each entry holds up one `Set`: a repetition of it travels freely.
        Some((self.held.swap_remove(at).lands_ns * TICKS_PER_NS).saturating_sub(service))
    }

    /// Draws whether an event of this probability happens.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && f64::from(self.random.next_u32()) < probability * 4_294_967_296.0
    }

    pub(super) fn up_to(&mut self, most: Ticks) -> Ticks {
        ((u128::from(self.random.next_u64()) * u128::from(most + 1)) >> 64) as Ticks
    }
}
