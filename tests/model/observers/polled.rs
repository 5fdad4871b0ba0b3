//! Observer *poll* (section D): readings of devices' outputs, in the order of the channels.
//!
//! Devices of the judge's frontier are asked at any time, and each answers at any later moment; the answer comes later
//! still. The manager's rule to await all answers before it asks again is omitted: the judge alone decides what counts.

use super::plane::{Counting, Hop, Layout, MOST, Manners, Plane, Set, fork, row};
use super::{Judged, Observed, assert_false, assert_true};
use crate::model::search::Model;
use reconfig::drain::{DrainGraph, LaneReading, PollJudge, PortMask, Ticket, Verdict};
use reconfig::fabric::NodeId;
use reconfig::ids::VlSet;
use std::sync::Arc;

const A: VlSet = VlSet(0b0011);

/// What a proof by polling rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Condition {
    /// P3.5.
    SourcesMoved,
    /// A channel counts as empty only after its predecessors.
    PredecessorsFirst,
    /// A reading counts from the moment at which it was asked for.
    AskedWhen,
    /// P4.4.
    SecondPass,
    /// A drained output has every credit back.
    CreditsBack,
    /// A drained output has nothing queued for it.
    NothingQueued,
    /// No output is drained while something stands behind a dead cable.
    StraysAwaited,
    /// A reply that is owed counts as one that waits.
    OwedWaits,
}

struct Polls<'a> {
    layout: &'a Layout,
    graph: &'a DrainGraph,
    without: Option<Condition>,
}

/// A question to one device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Question {
    /// How many readings have counted since it was asked; 0 as well where that makes no difference to the judge.
    lag: u8,
    /// The channels that were drained when it was answered.
    drained: Option<Set>,
}

/// The judge, and time as the manager tells it: it passes when a reading has counted.
#[derive(Clone, Debug)]
struct Clocked<'a> {
    judge: PollJudge<'a>,
    now: u8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State<'a> {
    plane: Plane,
    /// Hosts that have said that they are settled; none once the drain has begun.
    settled: Option<Set>,
    questions: [Option<Question>; MOST],
    polled: Judged<Clocked<'a>>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    Data(Hop),
    Settle(usize),
    Begin,
    Ask(usize),
    Answer(usize),
    Read(usize),
}

impl<'a> Polls<'a> {
    fn has(&self, condition: Condition) -> bool {
        self.without != Some(condition)
    }

    fn manners(&self) -> Manners {
        Manners { counts: Counting::Off }
    }

    /// The channels out of a device for which it holds nothing, and whose credits are all back.
    fn drained(&self, plane: &Plane, node: usize) -> Set {
        let strays = self.layout.ends_at(node).any(|input| !plane.is_up(input) && !plane.buffers[input].is_empty());
        if strays && self.has(Condition::StraysAwaited) {
            return Set::default();
        }
        let drained = |&channel: &usize| {
            // What waits at the head has chosen; what stands behind it has not, and no reading shows it.
            let bound = |input: usize| plane.bound(self.layout, input) == Some(channel);
            let settled = plane.is_settled(self.layout, node, self.has(Condition::OwedWaits));
            let queued = !settled || self.layout.ends_at(node).any(bound);
            let credits = plane.wires[channel].is_empty() && plane.buffers[channel].is_empty();
            let nothing = !queued || !self.has(Condition::NothingQueued);
            plane.is_up(channel) && nothing && (credits || !self.has(Condition::CreditsBack))
        };
        self.layout.begins_at(node).filter(drained).collect()
    }

    fn reading(&self, node: usize, drained: Set, (asked, answered): (u8, u8)) -> LaneReading {
        let nums = drained.items().map(|channel| self.layout.channels[channel].num);
        let drained: PortMask = nums.collect();
        let device = NodeId(node as u32);
        LaneReading { device, asked_ns: asked.into(), answered_ns: answered.into(), lanes: A, drained }
    }

    fn observe(&self, state: &State<'a>, found: &mut Vec<(Step, State<'a>)>) {
        let frontier = state.polled.judge.judge.frontier();
        for node in 0..self.layout.nodes {
            let with = |question| {
                let mut next = state.clone();
                next.questions[node] = Some(question);
                next
            };
            match state.questions[node] {
                None if frontier.contains_key(&NodeId(node as u32)) => {
                    found.push((Step::Ask(node), with(Question { lag: 0, drained: None })));
                }
                Some(question @ Question { drained: None, .. }) => {
                    let drained = Some(self.drained(&state.plane, node));
                    found.push((Step::Answer(node), with(Question { drained, ..question })));
                }
                Some(Question { lag, drained: Some(drained) }) => {
                    found.push((Step::Read(node), self.read(state, node, lag, drained)));
                }
                None => {}
            }
        }
    }

    fn begin(&self, state: &State<'a>) -> State<'a> {
        let Clocked { mut judge, now } = (*state.polled.judge).clone();
        state.plane.dead.items().for_each(|channel| judge.excuse(self.layout.channels[channel].id));
        State { settled: None, polled: judged(Clocked { judge, now }, &state.questions), ..state.clone() }
    }

    fn read(&self, state: &State<'a>, node: usize, lag: u8, drained: Set) -> State<'a> {
        let mut next = state.clone();
        next.questions[node] = None;
        let Clocked { mut judge, now } = (*state.polled.judge).clone();
        let asked = if self.has(Condition::AskedWhen) { now - lag } else { now };
        judge.fold(&self.reading(node, drained, (asked, now + 1)));
        if judge != state.polled.judge.judge {
            // What is asked from now on is later than this answer.
            next.questions.iter_mut().flatten().for_each(|question| question.lag += 1);
            self.forget(&judge, now + 1, &mut next.questions);
            next.polled = judged(Clocked { judge, now: now + 1 }, &next.questions);
        }
        next
    }

    /// Forgets what makes no difference to the judge: when a question was asked, or that it was asked at all. What
    /// comes too late for a channel now comes too late for ever.
    fn forget(&self, judge: &PollJudge<'_>, now: u8, questions: &mut [Option<Question>; MOST]) {
        for (node, asked) in questions.iter_mut().enumerate() {
            let Some(question) = asked.filter(|question| question.lag > 0) else { continue };
            let counts = |asked: u8, channel: usize| {
                let mut told = judge.clone();
                told.fold(&self.reading(node, [channel].into_iter().collect(), (asked, now + 1)));
                told != *judge
            };
            let counted = |asked: u8| self.layout.begins_at(node).filter(|&channel| counts(asked, channel)).collect();
            let (then, today): (Set, Set) = (counted(now - question.lag), counted(now));
            if then == today {
                *asked = Some(Question { lag: 0, ..question });
            } else if then.is_empty() && self.has(Condition::AskedWhen) {
                *asked = None;
            }
        }
    }
}

/// What a judge holds, its graph aside, which never changes.
fn holding(judge: &PollJudge<'_>) -> String {
    let whole = format!("{judge:?}");
    let changing = whole.find("excused:").expect("the judge has this field after its graph");
    whole[changing..].to_string()
}

/// A judge in a state. Times matter only where some question was asked before the last reading that counted.
fn judged<'a>(clocked: Clocked<'a>, questions: &[Option<Question>; MOST]) -> Judged<Clocked<'a>> {
    let holding = holding(&clocked.judge);
    let lags = questions.iter().flatten().any(|question| question.lag > 0);
    let key = if lags { format!("{holding} {}", clocked.now) } else { timeless(&holding) };
    Judged { judge: Arc::new(clocked), key: key.into() }
}

/// The same without times.
fn timeless(holding: &str) -> String {
    let (before, times) = holding.split_once("ready_ns:").expect("the judge has this field");
    let (_, rest) = times.split_once("empty:").expect("the judge has this field");
    let (rest, _) = rest.split_once("last_ns:").expect("the judge has this field last");
    format!("{before}{rest}")
}

impl<'a> Model for Polls<'a> {
    type State = State<'a>;
    type Step = Step;
    type Fault = &'static str;

    fn initial(&self) -> State<'a> {
        let judge = PollJudge::new(Ticket(16), A, self.graph, 0);
        let (plane, questions) = (Plane::new(self.layout), [None; MOST]);
        let polled = judged(Clocked { judge, now: 0 }, &questions);
        State { plane, settled: Some(Set::default()), questions, polled }
    }

    fn steps(&self, state: &State<'a>, found: &mut Vec<(Step, State<'a>)>) {
        let mut hops = Vec::new();
        state.plane.hops(self.layout, self.manners(), &mut hops);
        found.extend(hops.into_iter().map(|(hop, plane)| (Step::Data(hop), State { plane, ..state.clone() })));
        let Some(settled) = state.settled else {
            self.observe(state, found);
            return;
        };
        for host in self.layout.hosts().filter(|&host| !settled.has(host) && state.plane.queues[host].is_empty()) {
            let mut next = state.clone();
            next.settled = Some(Set::from_iter(settled.items().chain([host])));
            next.plane.silence(self.layout, host);
            found.push((Step::Settle(host), next));
        }
        if self.layout.hosts().all(|host| settled.has(host)) || !self.has(Condition::SourcesMoved) {
            found.push((Step::Begin, self.begin(state)));
        }
    }

    fn fault(&self, state: &State<'a>) -> Option<&'static str> {
        (self.claims(state) && state.plane.holds_packets()).then_some("drained by polling, and a packet is left")
    }

    fn is_end(&self, state: &State<'a>) -> bool {
        self.claims(state)
    }
}

impl<'a> Observed for Polls<'a> {
    fn claims(&self, state: &State<'a>) -> bool {
        // The judge shows no end of its first pass but in what it holds.
        let once = !self.has(Condition::SecondPass) && state.polled.key.contains("passes: 1");
        matches!(state.polled.judge.judge.verdict(), Verdict::Proof(_)) || once
    }
}

fn polls(layout: &Layout, without: Option<Condition>, run: impl FnOnce(&Polls<'_>)) {
    let arcs = if without == Some(Condition::PredecessorsFirst) { Vec::new() } else { layout.arcs() };
    run(&Polls { layout, graph: &layout.graph(&arcs), without });
}

#[test]
fn polled_channels_are_empty_for_good() {
    polls(&row(1), None, |model| assert_true("poll, row", model, true));
    polls(&fork(), None, |model| assert_true("poll, fork", model, false));
}

#[test]
fn polls_depend_on_each_condition() {
    use Condition::*;
    for condition in [SourcesMoved, PredecessorsFirst, AskedWhen, SecondPass, CreditsBack, NothingQueued, OwedWaits] {
        polls(&row(1), Some(condition), |model| assert_false("poll, row", condition, model));
    }
    polls(&fork(), Some(StraysAwaited), |model| assert_false("poll, fork", StraysAwaited, model));
}
