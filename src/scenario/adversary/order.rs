//! An order of parking packets and landing writes, such that every packet finds the tables that its path needs, and
//! none moves on before the lane that it waits for is taken.
//!
//! A packet is *parked* when it stands in its lane of the cycle. If the next lane is already taken, it waits by itself.
//! Otherwise something must stand in front of it for a while: a *hold*, small packets to a host of that switch whose
//! link others keep busy. Orders with few holds are preferred; at least one is always needed.

use super::needs::{Occurrence, OccurrenceSides, Side, WriteId};
use crate::fabric::PortId;
use crate::ids::Vl;
use crate::verify::Witness;
use std::collections::BTreeSet;

/// A packet that can occupy one place of the cycle.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its path.
    pub way: Witness,
    /// Its needs at the time of parking.
    pub needs: OccurrenceSides,
    /// Whether it may be held: no write that may land meanwhile affects its last choice.
    pub holdable: bool,
    /// Other lanes of the cycle, by number, on its path.
    pub crosses: BTreeSet<usize>,
    /// All lanes between switches on its path, its own included.
    pub passes: BTreeSet<(PortId, Vl)>,
}

/// Packets that block the head of one lane for a while.
#[derive(Clone, Debug)]
pub struct Hold {
    /// The path of the packets that stand in the lane: to a host at the switch.
    pub way: Witness,
    /// The senders that keep the host's link busy.
    pub busy: Vec<Busy>,
    /// The needs of its packets.
    pub needs: OccurrenceSides,
    /// The needs of the busy senders, for as long as the hold lasts.
    pub lasting: OccurrenceSides,
    /// Other lanes of the cycle, by number, that its packets pass.
    pub crosses: BTreeSet<usize>,
}

/// An end port that keeps a link busy.
#[derive(Clone, Debug)]
pub struct Busy {
    /// The end port.
    pub port: PortId,
    /// Lanes between switches that its packets fill: none of the cycle, and none that other packets must pass
    /// meanwhile.
    pub fills: BTreeSet<(PortId, Vl)>,
}

/// One step of an order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OrderedStep {
    /// An event occurs.
    Happen(Occurrence),
    /// A packet parks; with the number of the hold before it, if it needs one.
    Park(usize, Option<usize>),
}

/// An order of steps, with the events that it delays or waits for; all other writes land as soon as they can.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// The steps.
    pub steps: Vec<OrderedStep>,
}

/// Why there is no order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Blocked {
    /// Packets need the same write on opposite sides, whichever comes first.
    Contradiction,
    /// There is an order, but it needs a hold where none is possible.
    NoHold,
}

/// Finds an order for one packet in each lane.
pub fn arrange(chosen: &[&Candidate], holds: &[Vec<Hold>], sudden: bool) -> Result<Order, Blocked> {
    let mut state = State::new(chosen, holds, sudden);
    if !is_possible(chosen) {
        return Err(Blocked::Contradiction);
    }
    while state.parked.len() < chosen.len() {
        state.next()?;
    }
    // All places are taken, so nothing is guarded any more, and the remaining events may occur.
    while let Some(event) = state.pending().first().copied() {
        state.happen(event);
    }
    Ok(Order { steps: state.steps })
}

/// Whether the packets chosen so far have an order, regardless of holds.
pub fn is_possible(chosen: &[&Candidate]) -> bool {
    let mut parked = BTreeSet::new();
    let mut happened = BTreeSet::new();
    let events: BTreeSet<Occurrence> = chosen.iter().flat_map(|candidate| candidate.needs.keys().copied()).collect();
    loop {
        // Greedy, without backtracking: a packet parks once no other must pass its lane, and an event occurs once none
        // must go before it, so no step takes anything from later ones.
        let before = (parked.len(), happened.len());
        let free = |at: &usize| !parked.contains(at) && is_ready(chosen, *at, &parked, &happened);
        let ready: Vec<usize> = (0..chosen.len()).filter(free).collect();
        parked.extend(ready);
        let left = events.difference(&happened).copied();
        let next = left.into_iter().find(|&event| may_happen(chosen, event, &parked, &happened, &events));
        happened.extend(next);
        if parked.len() == chosen.len() {
            return true;
        }
        if before == (parked.len(), happened.len()) {
            return false;
        }
    }
}

/// Whether a packet can park: the events that it needs have occurred, and all packets that must pass its lane have
/// passed.
fn is_ready(chosen: &[&Candidate], at: usize, parked: &BTreeSet<usize>, happened: &BTreeSet<Occurrence>) -> bool {
    let after = |(event, side): (&Occurrence, &Side)| *side == Side::Before || happened.contains(event);
    let passed = |other: usize| parked.contains(&other) || other == at || !chosen[other].crosses.contains(&at);
    chosen[at].needs.iter().all(after) && (0..chosen.len()).all(passed)
}

/// Whether an event may occur: no packet to be parked must go before it, and no event that precedes it is outstanding.
fn may_happen(
    chosen: &[&Candidate],
    event: Occurrence,
    parked: &BTreeSet<usize>,
    happened: &BTreeSet<Occurrence>,
    events: &BTreeSet<Occurrence>,
) -> bool {
    let waits = |at: usize| !parked.contains(&at) && chosen[at].needs.get(&event) == Some(&Side::Before);
    let earlier = |other: &Occurrence| !happened.contains(other) && comes_first(*other, event);
    !(0..chosen.len()).any(waits) && !events.iter().any(earlier)
}

/// Whether the protocol orders an event before another.
fn comes_first(first: Occurrence, second: Occurrence) -> bool {
    match (first, second) {
        (Occurrence::Death, Occurrence::Land(_)) => true,
        (Occurrence::Land(first), Occurrence::Land(second)) => first.wave < second.wave,
        (_, Occurrence::Death) => false,
    }
}

/// The progress of an order.
struct State<'a> {
    chosen: &'a [&'a Candidate],
    holds: &'a [Vec<Hold>],
    sudden: bool,
    events: BTreeSet<Occurrence>,
    parked: BTreeSet<usize>,
    happened: BTreeSet<Occurrence>,
    /// Writes that are not events of the order: a hold assumes that they have landed.
    assumed: BTreeSet<WriteId>,
    /// End ports that keep links busy.
    busy: BTreeSet<PortId>,
    /// Lanes that their packets fill.
    filled: BTreeSet<(PortId, Vl)>,
    /// Events that must wait until a lane is taken, because a hold lasts until then.
    guarded: Vec<(Occurrence, usize)>,
    steps: Vec<OrderedStep>,
}

impl<'a> State<'a> {
    fn new(chosen: &'a [&'a Candidate], holds: &'a [Vec<Hold>], sudden: bool) -> State<'a> {
        let events = chosen.iter().flat_map(|candidate| candidate.needs.keys().copied()).collect();
        State {
            chosen,
            holds,
            sudden,
            events,
            parked: BTreeSet::new(),
            happened: BTreeSet::new(),
            assumed: BTreeSet::new(),
            busy: BTreeSet::new(),
            filled: BTreeSet::new(),
            guarded: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Events that may occur now: first those that a packet waits for; within each group in the protocol's order.
    fn pending(&self) -> Vec<Occurrence> {
        let mut pending: Vec<Occurrence> = self.events.difference(&self.happened).copied().collect();
        pending.retain(|&event| !self.is_guarded(event));
        pending.retain(|&event| may_happen(self.chosen, event, &self.parked, &self.happened, &self.events));
        pending.sort_unstable_by_key(|event| (!self.is_awaited(*event), *event));
        pending
    }

    /// Whether an unparked packet can go only after the event, or after one that must come later still.
    fn is_awaited(&self, event: Occurrence) -> bool {
        let later = |other: &Occurrence| *other == event || comes_first(event, *other);
        (0..self.chosen.len()).filter(|at| !self.parked.contains(at)).any(|at| {
            let mut needs = self.chosen[at].needs.iter();
            needs.any(|(other, side)| *side == Side::After && !self.happened.contains(other) && later(other))
        })
    }

    /// Whether a hold in place forbids an event.
    fn is_guarded(&self, event: Occurrence) -> bool {
        self.guarded.iter().any(|&(other, next)| other == event && !self.parked.contains(&next))
    }

    fn happen(&mut self, event: Occurrence) {
        self.happened.insert(event);
        self.steps.push(OrderedStep::Happen(event));
    }

    /// Parks a packet, or lets an event occur that a packet waits for.
    fn next(&mut self) -> Result<(), Blocked> {
        let count = self.chosen.len();
        let ready = |at: &usize| !self.parked.contains(at) && is_ready(self.chosen, *at, &self.parked, &self.happened);
        // Downwards: a packet waits for the lane after its own, which is then more likely to be taken.
        let ready: Vec<usize> = (0..count).rev().filter(ready).collect();
        let free = |at: usize| {
            let Candidate { way, passes, .. } = self.chosen[at];
            !self.busy.contains(&way.port) && passes.is_disjoint(&self.filled)
        };
        // No hold is needed if the next lane is taken: the packet cannot move on, and stays by itself.
        if let Some(&at) = ready.iter().find(|&&at| self.parked.contains(&((at + 1) % count)) && free(at)) {
            self.park(at, None);
            return Ok(());
        }
        let held = ready.iter().filter(|&&at| free(at)).find_map(|&at| self.hold(at).map(|hold| (at, hold)));
        if let Some((at, hold)) = held {
            self.take_up(at, hold);
            return Ok(());
        }
        // Last, since an event can rule out holds that need the state before it.
        match self.pending().into_iter().find(|&event| self.is_awaited(event)) {
            Some(event) => {
                self.happen(event);
                Ok(())
            }
            None => Err(Blocked::NoHold),
        }
    }

    fn park(&mut self, at: usize, hold: Option<usize>) {
        self.parked.insert(at);
        self.steps.push(OrderedStep::Park(at, hold));
    }

    /// A hold that can be set up now.
    fn hold(&self, at: usize) -> Option<usize> {
        if !self.chosen[at].holdable {
            return None;
        }
        (0..self.holds[at].len()).find(|&index| {
            let hold = &self.holds[at][index];
            let used = |port: &PortId| self.chosen.iter().any(|other| other.way.port == *port);
            let clear = hold.crosses.iter().all(|lane| !self.parked.contains(lane));
            let apart = !hold.busy.iter().any(|busy| used(&busy.port) || self.busy.contains(&busy.port));
            let way_free = |other: &Candidate| hold.busy.iter().all(|busy| busy.fills.is_disjoint(&other.passes));
            let apart = apart && self.chosen.iter().all(|other| way_free(other));
            clear
                && apart
                && !self.busy.contains(&hold.way.port)
                && hold.needs.iter().chain(&hold.lasting).all(|need| self.agrees(need))
        })
    }

    /// Whether a need of a hold agrees with the events so far, or can be made to.
    fn agrees(&self, (event, side): (&Occurrence, &Side)) -> bool {
        let free = !self.events.contains(event);
        match (*event, side) {
            // A death outside the order occurs at the very start: nothing comes before it, everything after.
            (Occurrence::Death, Side::Before) => {
                self.sudden && self.events.contains(event) && !self.happened.contains(event)
            }
            (Occurrence::Death, Side::After) => free || self.happened.contains(event),
            // A write outside the order lands as soon as its wave runs.
            (Occurrence::Land(write), Side::After) if free => self.has_begun(write.wave),
            // It can still be delayed (`take_up` makes it an event), unless a hold relies on it having landed or a
            // later wave has begun.
            (Occurrence::Land(write), Side::Before) if free => {
                let over = |other: &Occurrence| matches!(other, Occurrence::Land(other) if other.wave > write.wave);
                !self.assumed.contains(&write) && !self.happened.iter().any(over)
            }
            (event, Side::After) => self.happened.contains(&event),
            (event, Side::Before) => !self.happened.contains(&event),
        }
    }

    /// Whether a wave's undelayed writes have landed: no event of an earlier wave is outstanding.
    fn has_begun(&self, wave: usize) -> bool {
        let outstanding = |event: &&Occurrence| match event {
            Occurrence::Death => !self.happened.contains(event),
            Occurrence::Land(write) => write.wave < wave && !self.happened.contains(event),
        };
        // A wave after that of every event begins only when all events are over, so the order cannot rely on it.
        let reached = self.events.iter().any(|event| matches!(event, Occurrence::Land(write) if write.wave >= wave));
        !self.events.iter().any(|event| outstanding(&event)) && (wave == 0 || reached)
    }

    fn take_up(&mut self, at: usize, index: usize) {
        let hold = &self.holds[at][index];
        // The hold lasts until the next lane is taken; events that would end it early wait until then.
        for (&event, _) in hold.lasting.iter().filter(|&(_, &side)| side == Side::Before) {
            self.guarded.push((event, (at + 1) % self.chosen.len()));
        }
        for (&event, &side) in hold.needs.iter().chain(&hold.lasting) {
            match (event, side) {
                (Occurrence::Land(write), Side::After) if !self.events.contains(&event) => {
                    self.assumed.insert(write);
                }
                _ => {
                    self.events.insert(event);
                }
            }
        }
        for busy in &hold.busy {
            self.busy.insert(busy.port);
            self.filled.extend(&busy.fills);
        }
        self.park(at, Some(index));
    }
}

/// The number of holds in an order.
pub fn holds_in(order: &Order) -> usize {
    order.steps.iter().filter(|step| matches!(step, OrderedStep::Park(_, Some(_)))).count()
}
