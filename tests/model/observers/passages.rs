//! Flushes by age (F.6) and vacating by age (V.2), in ticks, as in `aged`: packets that their first switch has chosen a
//! lane or an output for, by a table that is then written.

use super::aged::{LIMIT, LONG, WIRE};
use super::{Observed, assert_false, assert_true};
use crate::model::search::Model;
use reconfig::drain::{AgeQuestion, FlushAge, LifetimeReading, Ticket, VacateAge, Verdict};
use reconfig::fabric::NodeId;
use reconfig::ids::VlSet;

const TICKET: Ticket = Ticket(16);

/// What a proof by age of the last write rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Condition {
    /// Time counts from the acknowledgement of the last write.
    Acknowledged,
    /// Switches discard what has stood there for longer than the limit that they report.
    LimitsEnforced,
    /// Every switch's limit was read.
    EveryLimit,
    /// The time on wires counts.
    WiresCount,
    /// Every switch of the way counts: two for a flush, n + 2 rounds where n switches leave.
    EverySwitch,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Aim {
    Flush,
    /// So many joined switches leave.
    Vacate(u8),
}

struct Passages {
    aim: Aim,
    without: Option<Condition>,
}

/// Where a packet is that the old table has led: 0 in the switch of that table, 1 on the wire behind it, 2 in the next
/// switch, and so on; and for how long.
type Packet = (u8, u8);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    unmade: u8,
    packets: Vec<Packet>,
    written: bool,
    /// Ticks since the wait began.
    waited: Option<u8>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    Tick,
    /// A packet comes to the first switch, which chooses by the old table.
    Come,
    Go(usize),
    Write,
    Begin,
}

impl Passages {
    fn has(&self, condition: Condition) -> bool {
        self.without != Some(condition)
    }

    /// Switches in which a packet may stand that the old table has led.
    fn switches(&self) -> u8 {
        match self.aim {
            Aim::Flush => 2,
            Aim::Vacate(leaving) => leaving + 2,
        }
    }

    fn limit(&self, place: u8) -> u8 {
        if place == 2 && !self.has(Condition::EveryLimit) { LONG } else { LIMIT }
    }

    /// When the real judge has its proof.
    fn due(&self) -> u8 {
        let wire = if self.has(Condition::WiresCount) { WIRE } else { 0 };
        let question = AgeQuestion { ticket: TICKET, lanes: VlSet(0b1100), since_ns: 0, wire_ns: wire.into() };
        let limit = LifetimeReading { ticket: TICKET, device: NodeId(0), lifetime_ns: Some(LIMIT.into()) };
        let due = match self.aim {
            Aim::Flush => {
                let mut judge = FlushAge::new(question, [NodeId(0)], 0);
                judge.fold(&limit);
                judge.due_ns()
            }
            Aim::Vacate(leaving) => {
                let rounds = leaving + 2 - u8::from(!self.has(Condition::EverySwitch));
                let mut judge = VacateAge::new(question, rounds, [NodeId(0)]);
                judge.fold(&limit);
                judge.due_ns()
            }
        };
        let Verdict::Proof(due_ns) = due else { panic!("the limit was read") };
        // The judge of a flush has no number of switches to be told; one lifetime less is one switch less.
        let less = if self.aim == Aim::Flush && !self.has(Condition::EverySwitch) { LIMIT + WIRE } else { 0 };
        due_ns as u8 - less
    }

    fn tick(&self, state: &State) -> Option<State> {
        let mut next = state.clone();
        for (place, age) in &mut next.packets {
            if *place % 2 == 1 && *age == WIRE {
                return None;
            }
            *age = (*age + 1).min(LONG + 1);
        }
        let stays = |&(place, age): &Packet| place % 2 == 1 || age <= self.limit(place);
        next.packets.retain(|packet| stays(packet) || !self.has(Condition::LimitsEnforced));
        // Nothing depends on the time after the proof.
        next.waited = next.waited.map(|waited| (waited + 1).min(self.due()));
        Some(next)
    }
}

impl Model for Passages {
    type State = State;
    type Step = Step;
    type Fault = &'static str;

    fn initial(&self) -> State {
        State { unmade: 2, packets: Vec::new(), written: false, waited: None }
    }

    fn steps(&self, state: &State, found: &mut Vec<(Step, State)>) {
        found.extend(self.tick(state).map(|next| (Step::Tick, next)));
        if state.unmade > 0 && !state.written {
            let mut next = State { unmade: state.unmade - 1, ..state.clone() };
            next.packets.push((0, 0));
            found.push((Step::Come, next));
        }
        for at in 0..state.packets.len() {
            let mut next = state.clone();
            next.packets[at] = (state.packets[at].0 + 1, 0);
            next.packets.retain(|&(place, _)| place < 2 * self.switches() - 1);
            found.push((Step::Go(at), next));
        }
        if !state.written {
            found.push((Step::Write, State { written: true, ..state.clone() }));
        }
        if state.waited.is_none() && (state.written || !self.has(Condition::Acknowledged)) {
            found.push((Step::Begin, State { waited: Some(0), ..state.clone() }));
        }
        found.iter_mut().for_each(|(_, next)| next.packets.sort_unstable());
    }

    fn fault(&self, state: &State) -> Option<&'static str> {
        (self.claims(state) && !state.packets.is_empty()).then_some("proved by age, and a packet is left")
    }

    fn is_end(&self, state: &State) -> bool {
        self.claims(state)
    }
}

impl Observed for Passages {
    fn claims(&self, state: &State) -> bool {
        state.waited.is_some_and(|waited| waited >= self.due())
    }
}

const AIMS: [(&str, Aim); 3] = [
    ("flush by age", Aim::Flush),
    ("vacated by age, a cable leaves", Aim::Vacate(0)),
    ("vacated by age, 1 switch leaves", Aim::Vacate(1)),
];

#[test]
fn what_the_old_table_led_has_aged() {
    AIMS.iter().for_each(|&(what, aim)| assert_true(what, &Passages { aim, without: None }, true));
}

#[test]
fn passages_depend_on_each_condition() {
    use Condition::*;
    for (what, aim) in AIMS {
        for condition in [Acknowledged, LimitsEnforced, EveryLimit, WiresCount, EverySwitch] {
            assert_false(what, condition, &Passages { aim, without: Some(condition) });
        }
    }
}
