//! Observer *conservation* (section D): counters of end ports, read in waves.
//!
//! A wave asks every port whether it is settled, then for what it has sent, then for what it has received; within each
//! of the three, answers come in any order and at any time.

use super::plane::{Counting, Hop, Layout, MOST, Manners, Plane, Set, fork, row};
use super::{Judged, Observed, assert_false, assert_true};
use crate::model::search::Model;
use reconfig::drain::{ConservationJudge, CounterReading, Ticket, Verdict};
use reconfig::fabric::PortId;
use reconfig::ids::VlSet;
use std::sync::Arc;

const A: VlSet = VlSet(0b0011);
const TICKET: Ticket = Ticket(16);

/// What a proof by conservation rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Condition {
    /// P3.5.
    SourcesMoved,
    /// D.5: counters begin at the same value.
    Zeroed,
    /// D.5: nobody clears a counter before the first wave.
    NotCleared,
    /// What is received once was sent once.
    NoMulticast,
    /// A packet counts as sent from the moment at which it leaves its queue.
    CountedAsItLeaves,
    /// No port that has sent is missing from the sums.
    EveryPort,
    /// A wave is asked for after the one before has ended.
    WavesInTurn,
    /// A reply that waits delays the proof.
    Settled,
    /// A port is asked whether it is settled before it is asked what it has sent.
    SettledFirst,
    /// A reply that is owed counts as one that waits.
    OwedWaits,
}

/// What is read of a port, in the order of the questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Item {
    Settled,
    Sent,
    Received,
}

/// The readings of one wave, by host and item.
type Readings = [[u8; 3]; MOST];

#[derive(Clone, Debug)]
struct Waves {
    judge: ConservationJudge,
    /// Waves that have ended. Of times the judge compares only those of neighbouring waves.
    ended: u64,
}

struct Counts {
    layout: Layout,
    without: Option<Condition>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    plane: Plane,
    /// Hosts that have said that they are settled; none once the drain has begun.
    settled: Option<Set>,
    /// Whether a counter was cleared, or a packet of many receivers came.
    disturbed: bool,
    previous: Option<Readings>,
    current: Readings,
    /// By item, in the order in which they are asked for: the hosts that have answered.
    answered: [Set; 3],
    waves: Judged<Waves>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    Data(Hop),
    Settle(usize),
    Begin,
    Read(usize, Item),
    /// A late answer of the wave before.
    ReadAgain(usize, Item),
    Clear(usize),
    Multicast(usize),
}

impl Counts {
    fn has(&self, condition: Condition) -> bool {
        self.without != Some(condition)
    }

    fn manners(&self) -> Manners {
        let counts = if self.has(Condition::CountedAsItLeaves) { Counting::Leaving } else { Counting::Arrived };
        Manners { counts }
    }

    fn items(&self) -> [Item; 3] {
        match self.has(Condition::SettledFirst) {
            true => [Item::Settled, Item::Sent, Item::Received],
            false => [Item::Sent, Item::Received, Item::Settled],
        }
    }

    fn ports(&self) -> impl Iterator<Item = usize> + use<> {
        let missing = usize::from(!self.has(Condition::EveryPort));
        self.layout.hosts().skip(missing)
    }

    fn judge(&self) -> ConservationJudge {
        ConservationJudge::new(TICKET, A, self.ports().map(|host| PortId(host as u32)), 0)
    }

    fn value(&self, plane: &Plane, host: usize, item: Item) -> u8 {
        match item {
            Item::Settled => {
                let settled = plane.is_settled(&self.layout, host, self.has(Condition::OwedWaits));
                u8::from(settled || !self.has(Condition::Settled))
            }
            Item::Sent => plane.sent[host],
            Item::Received => plane.received[host],
        }
    }

    /// A value comes in; with the last one the wave has ended.
    fn read(&self, state: &State, host: usize, turn: usize, value: u8) -> State {
        let mut next = state.clone();
        next.current[host][self.items()[turn] as usize] = value;
        next.answered[turn].add(host);
        if self.ports().all(|port| next.answered[2].has(port)) {
            self.end_wave(&mut next);
        }
        next
    }

    fn end_wave(&self, next: &mut State) {
        let Waves { mut judge, ended } = (*next.waves.judge).clone();
        for host in self.ports() {
            let [settled, sent, received] = next.current[host];
            let port = PortId(host as u32);
            judge.fold(&CounterReading {
                ticket: TICKET,
                port,
                asked_ns: 10 * ended,
                answered_ns: 10 * ended + 9,
                sent: sent.into(),
                received: received.into(),
                clamped: false,
                settled: settled == 1,
            });
        }
        // The verdict and the last wave are all that tells judges apart, times aside; the last wave is in the state.
        let key = format!("{:?}", judge.verdict()).into();
        next.waves = Judged { judge: Arc::new(Waves { judge, ended: ended + 1 }), key };
        next.previous = Some(std::mem::take(&mut next.current));
        next.answered = Default::default();
    }

    fn observe(&self, state: &State, found: &mut Vec<(Step, State)>) {
        let Some(turn) = (0..3).find(|&turn| self.ports().any(|port| !state.answered[turn].has(port))) else { return };
        let item = self.items()[turn];
        for host in self.ports().filter(|&host| !state.answered[turn].has(host)) {
            let value = self.value(&state.plane, host, item);
            found.push((Step::Read(host, item), self.read(state, host, turn, value)));
            if let Some(previous) = state.previous.filter(|_| !self.has(Condition::WavesInTurn)) {
                let value = previous[host][item as usize];
                found.push((Step::ReadAgain(host, item), self.read(state, host, turn, value)));
            }
        }
    }

    /// What must not happen to counters.
    fn disturb(&self, state: &State, found: &mut Vec<(Step, State)>) {
        for host in self.layout.hosts().filter(|_| !state.disturbed) {
            let with = |change: fn(&mut Plane, usize)| {
                let mut next = State { disturbed: true, ..state.clone() };
                change(&mut next.plane, host);
                next
            };
            if !self.has(Condition::NotCleared) && state.settled.is_some() {
                let clear = |plane: &mut Plane, host: usize| (plane.sent[host], plane.received[host]) = (0, 0);
                found.push((Step::Clear(host), with(clear)));
            }
            if !self.has(Condition::NoMulticast) {
                found.push((Step::Multicast(host), with(|plane, host| plane.received[host] += 1)));
            }
        }
    }
}

impl Model for Counts {
    type State = State;
    type Step = Step;
    type Fault = &'static str;

    fn initial(&self) -> State {
        let mut plane = Plane::new(&self.layout);
        if !self.has(Condition::Zeroed) {
            plane.received[self.layout.switches] = 1;
        }
        State {
            plane,
            settled: Some(Set::default()),
            disturbed: false,
            previous: None,
            current: Readings::default(),
            answered: Default::default(),
            waves: Judged { judge: Arc::new(Waves { judge: self.judge(), ended: 0 }), key: "".into() },
        }
    }

    fn steps(&self, state: &State, found: &mut Vec<(Step, State)>) {
        let mut hops = Vec::new();
        state.plane.hops(&self.layout, self.manners(), &mut hops);
        found.extend(hops.into_iter().map(|(hop, plane)| (Step::Data(hop), State { plane, ..state.clone() })));
        self.disturb(state, found);
        let Some(settled) = state.settled else { return self.observe(state, found) };
        for host in self.layout.hosts().filter(|&host| !settled.has(host) && state.plane.queues[host].is_empty()) {
            let mut next = state.clone();
            next.settled = Some(Set::from_iter(settled.items().chain([host])));
            next.plane.silence(&self.layout, host);
            found.push((Step::Settle(host), next));
        }
        if self.layout.hosts().all(|host| settled.has(host)) || !self.has(Condition::SourcesMoved) {
            found.push((Step::Begin, State { settled: None, ..state.clone() }));
        }
    }

    fn fault(&self, state: &State) -> Option<&'static str> {
        (self.claims(state) && state.plane.holds_packets()).then_some("drained by conservation, and a packet is left")
    }

    fn is_end(&self, state: &State) -> bool {
        self.claims(state)
    }
}

impl Observed for Counts {
    fn claims(&self, state: &State) -> bool {
        matches!(state.waves.judge.judge.verdict(), Verdict::Proof(_))
    }
}

#[test]
fn what_was_received_is_what_was_sent() {
    assert_true("conservation, row", &Counts { layout: row(2), without: None }, true);
    // What dies with the cable was sent and never received: no proof comes, and no false one.
    assert_true("conservation, fork", &Counts { layout: fork(), without: None }, false);
}

#[test]
fn counts_depend_on_each_condition() {
    use Condition::*;
    for condition in [
        SourcesMoved,
        Zeroed,
        NotCleared,
        NoMulticast,
        CountedAsItLeaves,
        EveryPort,
        WavesInTurn,
        Settled,
        SettledFirst,
        OwedWaits,
    ] {
        assert_false("conservation, row", condition, &Counts { layout: row(2), without: Some(condition) });
    }
}
