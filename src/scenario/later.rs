//! What happens in a run after its first event: further losses and arrivals, and cables that are plugged in elsewhere.
//!
//! Only a subnet alone has such events. Each happens once, whatever the manager is doing then; a manager that serves
//! them is in `acting`, and one that takes over in `standby`.

use super::elements::Moves;
use super::event::{EventTime, LaterMoves};
use super::outcome::EventReport;
use super::subnet_setup::SubnetSetup;
use crate::change::Departure;
use crate::fabric::Fabric;
use crate::sim::Sim;
use std::cell::{Cell, RefCell};

/// A later event that has happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Struck {
    at_ns: u64,
    during: &'static str,
}

/// What the manager can wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextEvent {
    /// Something happens at a time.
    At(u64),
    /// Something happens once all else is served ([`LaterEvents::serve`]).
    Served,
    /// Nothing: what has not happened by now never will.
    None,
}

/// The later events of a run, and which of them have happened.
pub(super) struct LaterEvents<'a> {
    /// None where several subnets run.
    own: Option<&'a SubnetSetup>,
    departure: Departure,
    start_ns: Cell<u64>,
    state: Cell<&'static str>,
    struck: RefCell<Vec<Option<Struck>>>,
    departed: Cell<bool>,
    lost_ns: Cell<Option<u64>>,
}

impl<'a> LaterEvents<'a> {
    /// The events of a subnet alone, or none.
    pub fn new(own: Option<&'a SubnetSetup>, departure: Departure) -> LaterEvents<'a> {
        LaterEvents {
            own,
            departure,
            start_ns: Cell::new(0),
            state: Cell::new("steady"),
            struck: RefCell::new(vec![None; own.map_or(0, |own| own.later.len())]),
            departed: Cell::new(false),
            lost_ns: Cell::new(None),
        }
    }

    /// Whether the first event is the only one, and one change serves it.
    pub fn is_plain(&self) -> bool {
        let mixed = |own: &SubnetSetup| {
            self.departure == Departure::Sudden && !own.moves.leaving.is_empty() && !own.moves.coming.is_empty()
        };
        self.own.is_none_or(|own| own.later.is_empty() && !mixed(own))
    }

    /// The first event has happened.
    pub fn begins(&self, sim: &Sim) {
        self.start_ns.set(sim.now_ns());
        self.look_for_master(sim);
    }

    /// When the next event of a time is due; at once if the master was lost, which its own wait does not show.
    pub fn due_ns(&self) -> Option<u64> {
        let lost = self.lost_ns.get().map(|_| 0);
        lost.or_else(|| self.waiting(|at| matches!(at, EventTime::AfterNs(_))).map(|(_, due_ns)| due_ns).min())
    }

    /// What is due happens.
    pub fn strike_due(&self, sim: &mut Sim) {
        let now_ns = sim.now_ns();
        let due = |at| matches!(at, EventTime::AfterNs(_));
        let ranks: Vec<usize> =
            self.waiting(due).filter(|&(_, due_ns)| due_ns <= now_ns).map(|(rank, _)| rank).collect();
        ranks.into_iter().for_each(|rank| self.strike(rank, sim));
    }

    /// The manager's change has entered a state.
    pub fn enters(&self, state: &'static str, sim: &mut Sim) {
        self.state.set(state);
        let ranks: Vec<usize> = self.waiting(|at| at == EventTime::Entering(state)).map(|(rank, _)| rank).collect();
        ranks.into_iter().for_each(|rank| self.strike(rank, sim));
    }

    /// What the manager, which has nothing to do, can wait for.
    pub fn next(&self) -> NextEvent {
        let served = || self.waiting(|at| at == EventTime::Served).next();
        let timed = self.waiting(|at| matches!(at, EventTime::AfterNs(_))).map(|(_, due_ns)| due_ns).min();
        match (timed, served()) {
            (Some(due_ns), _) => NextEvent::At(due_ns),
            (None, Some(_)) => NextEvent::Served,
            (None, None) => NextEvent::None,
        }
    }

    /// All that happened is served: what was planned to leave leaves, and what waits for that happens. Returns the
    /// fabric with the cables that were plugged in, in which nothing else is missing.
    pub fn serve(&self, sim: &mut Sim) -> Option<Fabric> {
        let own = self.own?;
        if self.departure == Departure::Planned {
            self.depart(sim);
        }
        let ranks: Vec<usize> = self.waiting(|at| at == EventTime::Served).map(|(rank, _)| rank).collect();
        ranks.into_iter().for_each(|rank| self.strike(rank, sim));
        let struck = self.struck.borrow();
        let plugged = own.later.iter().zip(struck.iter()).filter(|(_, struck)| struck.is_some());
        let plugged: Vec<_> = plugged.flat_map(|(event, _)| event.plugged.iter().copied()).collect();
        (!plugged.is_empty()).then(|| own.whole.with_plugged(&plugged))
    }

    /// What was planned to leave leaves, if it has not.
    pub fn depart(&self, sim: &mut Sim) {
        let Some(own) = self.own.filter(|_| !self.departed.replace(true)) else { return };
        sim.retire(&own.moves.leaving);
    }

    /// Whether what was planned to leave has left.
    pub fn has_departed(&self) -> bool {
        self.departed.get()
    }

    /// When the port of the subnet manager went down, if it has and another one stands by.
    pub fn lost_master_ns(&self) -> Option<u64> {
        self.lost_ns.get()
    }

    /// What happened, for the report.
    pub fn report(&self) -> Vec<EventReport> {
        let Some(own) = self.own else { return Vec::new() };
        let struck = self.struck.borrow();
        let event = |(event, struck): (&LaterMoves, &Option<Struck>)| {
            let moves = event.named(&own.whole);
            EventReport {
                what: moves.to_string(),
                moves,
                at_ns: struck.map(|struck| struck.at_ns),
                during: struck.map(|struck| struck.during),
            }
        };
        own.later.iter().zip(struck.iter()).map(event).collect()
    }

    /// Events that have not happened and are of a kind, with the time of those that have one.
    fn waiting(&self, is: impl Fn(EventTime) -> bool) -> impl Iterator<Item = (usize, u64)> {
        let later = self.own.map_or(&[][..], |own| &own.later);
        let struck = self.struck.borrow();
        let waiting: Vec<(usize, u64)> = later
            .iter()
            .enumerate()
            .filter(|(rank, event)| struck[*rank].is_none() && is(event.at))
            .map(|(rank, event)| match event.at {
                EventTime::AfterNs(ns) => (rank, self.start_ns.get().saturating_add(ns)),
                EventTime::Entering(_) | EventTime::Served => (rank, u64::MAX),
            })
            .collect();
        waiting.into_iter()
    }

    fn strike(&self, rank: usize, sim: &mut Sim) {
        let Some(own) = self.own else { return };
        self.struck.borrow_mut()[rank] = Some(Struck { at_ns: sim.now_ns(), during: self.state.get() });
        let LaterMoves { moves: Moves { leaving, coming, .. }, plugged, .. } = &own.later[rank];
        sim.revive(coming);
        sim.kill(leaving);
        // A cable that still stands where another one is to be plugged in is pulled first.
        plugged.iter().flat_map(|&(a, b)| [a, b]).for_each(|port| sim.kill(port));
        plugged.iter().for_each(|&(a, b)| sim.plug(a, b));
        self.look_for_master(sim);
    }

    fn look_for_master(&self, sim: &Sim) {
        let lost = self.own.is_some_and(|own| own.standby.is_some() && !sim.is_up(own.sm));
        if lost && self.lost_ns.get().is_none() {
            self.lost_ns.set(Some(sim.now_ns()));
        }
    }
}
