//! Observer *token* (D.1 to D.3): agents that pass tokens on, leaves that report them, a manager that starts rounds.
//!
//! Orders and reports are management packets: each may come at any time after it was sent, more than once, or never.

use super::plane::{Counting, Hop, Layout, MOST, Manners, Plane, Set, fork, round_of, row, token};
use super::{Judged, Observed, assert_false, assert_true};
use crate::model::search::Model;
use reconfig::drain::{ChannelId, DrainGraph, Ticket, TokenJudge, TokenReading, Verdict};
use reconfig::ids::VlSet;

const A: VlSet = VlSet(0b0011);
const TICKET: Ticket = Ticket(16);

/// What a proof by tokens rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Condition {
    /// P3.5: no source makes a packet of the old half any more.
    SourcesMoved,
    /// D.2: an end port sends its token once no packet of the old half waits in its own send queues.
    OwnQueueEmpty,
    /// D.1: the arcs are those that packets take.
    ArcsComplete,
    /// D.1: tokens wait for what stands at an input that no token will reach.
    StraysAwaited,
    /// Tokens never overtake data.
    TokensFollowData,
    /// P4.4: a second round follows the replies.
    SecondRound,
    /// D.3: it begins when the first is over.
    RoundsInTurn,
    /// D.3: every channel's end was asked, not the leaves alone.
    EveryChannelAsked,
    /// A reply that is owed counts as one that waits.
    OwedWaits,
}

struct Tokens {
    layout: Layout,
    graph: DrainGraph,
    arcs: Vec<(usize, usize)>,
    without: Option<Condition>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    plane: Plane,
    /// Hosts that have said that they are settled; none once the drain has begun.
    settled: Option<Set>,
    /// Channels that were dead when the arcs were written.
    known: Set,
    /// By node: the round that its agent is in.
    rounds: [u8; MOST],
    /// Nodes that were ordered to begin their round.
    begun: Set,
    /// Channels whose token has come, and those whose token was sent, each in the round of the node that knows.
    came: Set,
    sent: Set,
    /// By round: nodes to which an order is under way, and channels whose end has something to report.
    orders: [Set; 3],
    reports: [Set; 3],
    /// The round that the manager has begun last, and whether every channel's end has confirmed it.
    round: u8,
    confirmed: bool,
    judge: Judged<TokenJudge>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    Data(Hop),
    /// The token at the head of a wire comes to its end.
    Token(usize),
    /// A host answers that it has moved and that no packet of the old half waits.
    Settle(usize),
    /// The manager starts a round.
    Start(u8),
    /// An order comes to a device.
    Order(usize, u8),
    /// The agent that sends into a channel sends its token.
    Pass(usize),
    /// A report comes to the manager.
    Report(usize, u8),
    /// Every channel's end has answered that its token came and that nothing stands there.
    Confirm,
}

impl Tokens {
    fn new(layout: Layout, without: Option<Condition>) -> Tokens {
        let mut arcs = layout.arcs();
        if without == Some(Condition::ArcsComplete) {
            // The last step of the first flow is missing.
            let path = &layout.flows[0].path;
            arcs.retain(|arc| [arc.0, arc.1] != path[path.len() - 2..]);
        }
        Tokens { graph: layout.graph(&arcs), layout, arcs, without }
    }

    fn has(&self, condition: Condition) -> bool {
        self.without != Some(condition)
    }

    fn manners(&self) -> Manners {
        Manners { counts: Counting::Off }
    }

    /// The arcs that the manager writes: those between cables that it knows to be there.
    fn arcs<'a>(&'a self, state: &'a State) -> impl Iterator<Item = (usize, usize)> + 'a {
        self.arcs.iter().copied().filter(|arc| !state.known.has(arc.0) && !state.known.has(arc.1))
    }

    fn live(&self, state: &State) -> Set {
        (0..self.layout.channels.len()).filter(|&channel| !state.known.has(channel)).collect()
    }

    fn is_settled(&self, state: &State, host: usize) -> bool {
        state.plane.is_settled(&self.layout, host, self.has(Condition::OwedWaits))
    }

    /// Whether the agent that sends into a channel may send its token now.
    fn passes(&self, state: &State, channel: usize) -> bool {
        let node = self.layout.channels[channel].from;
        if state.rounds[node] == 0 || state.sent.has(channel) || !state.plane.is_up(channel) {
            return false;
        }
        if !self.layout.is_switch(node) {
            let empty = self.is_settled(state, node) || !self.has(Condition::OwnQueueEmpty);
            return state.begun.has(node) && empty;
        }
        let mut leads = state.begun.has(node);
        for input in self.layout.ends_at(node) {
            let up = state.plane.is_up(input);
            let empty = state.plane.buffers[input].is_empty();
            let done = empty && (state.came.has(input) || !up);
            let feeds = self.arcs(state).any(|arc| arc == (input, channel));
            let expected = up && self.arcs(state).any(|arc| arc.0 == input);
            let strays = !expected && !empty && self.has(Condition::StraysAwaited);
            if strays || feeds && !done {
                return false;
            }
            leads |= feeds;
        }
        leads
    }

    /// An agent enters a round that is new to it.
    fn enter(&self, state: &mut State, node: usize, round: u8) {
        if round > state.rounds[node] {
            state.rounds[node] = round;
            state.begun.drop(node);
            self.layout.ends_at(node).for_each(|channel| state.came.drop(channel));
            self.layout.begins_at(node).for_each(|channel| state.sent.drop(channel));
        }
    }

    /// What ends of channels have to report from now on: their token came, and nothing stands before it.
    fn note(&self, state: &mut State) {
        for (at, channel) in self.layout.channels.iter().enumerate() {
            if state.came.has(at) && state.plane.buffers[at].is_empty() {
                state.reports[usize::from(state.rounds[channel.to])].add(at);
            }
        }
    }

    /// The devices to be ordered to begin a round: no live channel leads into one of theirs.
    fn starters(&self, state: &State) -> Set {
        let is_live = |place: u32| !state.known.has(self.layout.channel(self.graph.channels()[place as usize].channel));
        let places = self.graph.channels().iter().filter(|channel| {
            let at = self.layout.channel(channel.channel);
            !state.known.has(at) && !channel.predecessors.iter().any(|&before| is_live(before))
        });
        places.map(|channel| channel.sender.index()).collect()
    }

    fn manage(&self, state: &State, found: &mut Vec<(Step, State)>) {
        let Some(settled) = state.settled else {
            return self.observe(state, found);
        };
        for host in self.layout.hosts().filter(|&host| !settled.has(host)) {
            if self.is_settled(state, host) || !self.has(Condition::OwnQueueEmpty) {
                let mut next = state.clone();
                next.settled = Some(Set::from_iter(settled.items().chain([host])));
                next.plane.silence(&self.layout, host);
                found.push((Step::Settle(host), next));
            }
        }
        let all = self.layout.hosts().all(|host| settled.has(host));
        if all || !self.has(Condition::SourcesMoved) {
            let mut next = state.clone();
            (next.settled, next.known) = (None, state.plane.dead);
            let mut judge = (*state.judge.judge).clone();
            let leaves = self.graph.leaves().iter();
            leaves.filter(|leaf| next.known.has(self.layout.channel(**leaf))).for_each(|&leaf| judge.excuse(leaf));
            next.judge = Judged::whole(judge);
            self.start(&mut next, 1);
            found.push((Step::Start(1), next));
        }
    }

    fn start(&self, next: &mut State, round: u8) {
        (next.round, next.confirmed) = (round, false);
        next.orders[usize::from(round)] = self.starters(next);
    }

    /// What the manager does while lanes drain.
    fn observe(&self, state: &State, found: &mut Vec<(Step, State)>) {
        for round in 1..=2u8 {
            for node in state.orders[usize::from(round)].items() {
                let mut next = state.clone();
                self.enter(&mut next, node, round);
                if next.rounds[node] == round {
                    next.begun.add(node);
                }
                found.push((Step::Order(node, round), next));
            }
            let leaves = self.graph.leaves().iter().map(|&leaf| self.layout.channel(leaf));
            for leaf in leaves.filter(|&leaf| state.reports[usize::from(round)].has(leaf)) {
                let mut judge = (*state.judge.judge).clone();
                judge.fold(&reading(self.layout.channels[leaf].id, round));
                found.push((Step::Report(leaf, round), State { judge: Judged::whole(judge), ..state.clone() }));
            }
        }
        let over = state.judge.judge.round() != Some(wire_round(state.round));
        let live = self.live(state);
        let all = live.items().all(|channel| state.reports[usize::from(state.round)].has(channel));
        if over && !state.confirmed && (all || !self.has(Condition::EveryChannelAsked)) {
            found.push((Step::Confirm, State { confirmed: true, ..state.clone() }));
        }
        if state.round == 1 && (state.confirmed || !self.has(Condition::RoundsInTurn)) {
            let mut next = state.clone();
            self.start(&mut next, 2);
            found.push((Step::Start(2), next));
        }
    }
}

/// The number on the wire of a round counted from 1.
fn wire_round(round: u8) -> u32 {
    TICKET.rounds()[usize::from(round - 1)]
}

fn reading(channel: ChannelId, round: u8) -> TokenReading {
    TokenReading { channel, round: wire_round(round), lanes: A, complete: true }
}

impl Model for Tokens {
    type State = State;
    type Step = Step;
    type Fault = &'static str;

    fn initial(&self) -> State {
        State {
            plane: Plane::new(&self.layout),
            settled: Some(Set::default()),
            known: Set::default(),
            rounds: [0; MOST],
            begun: Set::default(),
            came: Set::default(),
            sent: Set::default(),
            orders: [Set::default(); 3],
            reports: [Set::default(); 3],
            round: 0,
            confirmed: false,
            judge: Judged::whole(TokenJudge::new(TICKET, A, self.graph.leaves())),
        }
    }

    fn steps(&self, state: &State, found: &mut Vec<(Step, State)>) {
        let mut hops = Vec::new();
        state.plane.hops(&self.layout, self.manners(), &mut hops);
        found.extend(hops.into_iter().map(|(hop, plane)| (Step::Data(hop), State { plane, ..state.clone() })));
        for (at, channel) in self.layout.channels.iter().enumerate() {
            let tokens =
                state.plane.wires[at].items().enumerate().find_map(|(place, item)| Some((place, round_of(item)?)));
            if let Some((place, round)) =
                tokens.filter(|&(place, _)| place == 0 || !self.has(Condition::TokensFollowData))
            {
                let mut next = state.clone();
                next.plane.wires[at].take(place);
                self.enter(&mut next, channel.to, round);
                if next.rounds[channel.to] == round {
                    next.came.add(at);
                }
                found.push((Step::Token(at), next));
            }
            if self.passes(state, at) {
                let mut next = state.clone();
                next.sent.add(at);
                next.plane.wires[at].push(token(next.rounds[channel.from]));
                found.push((Step::Pass(at), next));
            }
        }
        self.manage(state, found);
        found.iter_mut().for_each(|(_, next)| self.note(next));
    }

    fn fault(&self, state: &State) -> Option<&'static str> {
        (self.claims(state) && state.plane.holds_packets()).then_some("drained by tokens, and a packet is left")
    }

    fn is_end(&self, state: &State) -> bool {
        self.claims(state)
    }
}

impl Observed for Tokens {
    fn claims(&self, state: &State) -> bool {
        match self.has(Condition::SecondRound) {
            true => state.confirmed && matches!(state.judge.judge.verdict(), Verdict::Proof(_)),
            false => state.confirmed,
        }
    }
}

#[test]
fn tokens_that_arrive_are_behind_all_packets() {
    assert_true("token, row", &Tokens::new(row(1), None), true);
    assert_true("token, fork", &Tokens::new(fork(), None), false);
}

#[test]
fn tokens_depend_on_each_condition() {
    use Condition::*;
    for condition in [SourcesMoved, OwnQueueEmpty, ArcsComplete, TokensFollowData, SecondRound, OwedWaits] {
        assert_false("token, row", condition, &Tokens::new(row(1), Some(condition)));
    }
    for condition in [StraysAwaited, EveryChannelAsked] {
        assert_false("token, fork", condition, &Tokens::new(fork(), Some(condition)));
    }
}

/// That rounds come in turn is a precaution: an end port that is in the second round before the first has reached it
/// reports no first round any more.
#[test]
fn a_second_round_begun_early_proves_nothing_false() {
    assert_true("token, row, rounds at once", &Tokens::new(row(1), Some(Condition::RoundsInTurn)), false);
}
