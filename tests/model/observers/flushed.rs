//! Flushes by agents (section F), and vacating by them (section V): counts of what stood in a device, tokens behind it,
//! reports of devices.
//!
//! All packets go to one end port, so tables say where a node's packets go on, whatever they are: by the old tables, by
//! the new ones. Lanes and channels are one here: a *street* is a lane of a channel.

use super::plane::{Fifo, Set};
use super::{Judged, Observed, assert_false, assert_true};
use crate::model::is_thorough;
use crate::model::search::Model;
use reconfig::drain::{FlushJudge, FlushReading, Flushed, Ticket, VacateJudge, Verdict};
use reconfig::fabric::NodeId;
use reconfig::ids::VlSet;

const TICKET: Ticket = Ticket(16);
/// Streets, wires and nodes at most.
const MOST: usize = 7;
/// What stands in a buffer and has not chosen yet.
const FREE: u8 = 8;

/// What a flush rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Condition {
    /// Every write is acknowledged before the first order.
    Acknowledged,
    /// F.2: what stood in the device, in whatever lane, leaves before the tokens.
    AllThatStood,
    /// F.2: tokens never overtake data.
    TokensFollowData,
    /// F.3: the token of every live neighbour has come.
    EveryNeighbour,
    /// F.3: the lanes are empty at every input.
    LanesEmpty,
    /// D.7: at those of dead cables too.
    DeadInputsEmpty,
    /// F.4: every device has answered.
    EveryDevice,
    /// A report of an earlier round does not count.
    ReportsOfTheRound,
    /// V.3: one round more than channels in what leaves.
    EveryRound,
    /// V.2: a round begins when the one before is over.
    RoundsInTurn,
}

/// A lane of a channel: where it begins and ends, and the wire that it shares.
struct Street {
    from: usize,
    to: usize,
    wire: usize,
}

/// What is to be empty, and who says so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// Streets of the lanes to be flushed.
    Flush,
    /// Streets into, within and out of what leaves, by so many rounds.
    Vacate(u8),
}

struct Town {
    streets: Vec<Street>,
    nodes: usize,
    /// The end port that takes all packets.
    sink: usize,
    source: usize,
    /// By node: the streets that packets take, by the old tables and by the new ones.
    tables: Vec<[Vec<usize>; 2]>,
    aim: Aim,
    /// Packets that the source makes.
    packets: u8,
    /// What is to be empty.
    closed: Set,
    /// A wire that may die.
    mortal: Option<usize>,
    without: Option<Condition>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Device {
    /// Counted from 1; 0 before the first.
    round: u8,
    ordered: bool,
    sent: bool,
    /// Wires by which a token of the round has come.
    came: Set,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    unmade: u8,
    /// The source's send queue, by the street that was chosen when a packet was queued.
    queue: Fifo,
    wires: [Fifo; MOST],
    /// By street: what stands at its end, by the street chosen, or [`FREE`].
    buffers: [Fifo; MOST],
    written: Set,
    dead: Option<usize>,
    devices: [Device; MOST],
    /// By street, and for the send queue: packets that stood there when their device's flush began, and still do.
    stood: [u8; MOST + 1],
    /// By node: the highest round whose completion it has reported.
    reports: [u8; MOST],
    round: u8,
    flush: Judged<FlushJudge>,
    vacate: Judged<VacateJudge>,
    proof: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    Make(usize),
    Write(usize),
    Send,
    Arrive(usize),
    Choose(usize, usize),
    Forward(usize),
    Die(usize),
    Begin,
    Order(usize),
    Tokens(usize),
    Token(usize),
    Report(usize),
}

impl Town {
    fn has(&self, condition: Condition) -> bool {
        self.without != Some(condition)
    }

    fn lanes(&self) -> VlSet {
        if self.aim == Aim::Flush { VlSet(0b1100) } else { VlSet::EMPTY }
    }

    fn rounds(&self) -> u8 {
        match self.aim {
            Aim::Flush => 1,
            Aim::Vacate(rounds) => rounds - u8::from(!self.has(Condition::EveryRound)),
        }
    }

    fn wires(&self) -> usize {
        self.streets.iter().map(|street| street.wire + 1).max().unwrap_or(0)
    }

    fn ends(&self, wire: usize) -> (usize, usize) {
        let street = self.streets.iter().find(|street| street.wire == wire).expect("a wire has a street");
        (street.from, street.to)
    }

    fn tables(&self, state: &State, node: usize) -> &[usize] {
        &self.tables[node][usize::from(state.written.has(node))]
    }

    fn streets_to(&self, node: usize) -> impl Iterator<Item = usize> {
        (0..self.streets.len()).filter(move |&street| self.streets[street].to == node)
    }

    /// Packets that must leave a device before its tokens, from the moment of the order.
    fn count(&self, state: &mut State, node: usize) {
        for street in self.streets_to(node) {
            let counts = self.has(Condition::AllThatStood) || self.closed.has(street);
            state.stood[street] = if counts { state.buffers[street].len() as u8 } else { 0 };
        }
        if node == self.source {
            state.stood[MOST] = state.queue.len() as u8;
        }
    }

    fn stands(&self, state: &State, node: usize) -> bool {
        let queued = node == self.source && state.stood[MOST] > 0;
        queued || self.streets_to(node).any(|street| state.stood[street] > 0)
    }

    fn put(&self, state: &mut State, street: usize) {
        let wire = self.streets[street].wire;
        if state.dead != Some(wire) {
            state.wires[wire].push(street as u8 + 1);
        }
    }

    fn enter(&self, state: &mut State, node: usize, round: u8) {
        if round > state.devices[node].round {
            state.devices[node] = Device { round, ..Device::default() };
            self.streets_to(node).for_each(|street| state.stood[street] = 0);
        }
    }

    /// Whether a device's part is complete (F.3).
    fn is_flushed(&self, state: &State, node: usize) -> bool {
        let device = &state.devices[node];
        let token = |wire: usize| {
            let live = state.dead != Some(wire);
            self.ends(wire).1 != node || !live || device.came.has(wire) || !self.has(Condition::EveryNeighbour)
        };
        let empty = |street: usize| {
            let live = state.dead != Some(self.streets[street].wire);
            let asked = self.aim == Aim::Flush && self.closed.has(street) && self.has(Condition::LanesEmpty);
            !asked || state.buffers[street].is_empty() || !live && !self.has(Condition::DeadInputsEmpty)
        };
        device.sent && (0..self.wires()).all(token) && self.streets_to(node).all(empty)
    }

    /// What follows a step at once: devices that are done have something to report.
    fn note(&self, state: &mut State) {
        let flushed: Set = (0..self.nodes).filter(|&node| self.is_flushed(state, node)).collect();
        for node in flushed.items() {
            state.reports[node] = state.reports[node].max(state.devices[node].round);
        }
    }

    fn question(&self, part: u8) -> FlushJudge {
        let devices = (0..self.nodes as u32).take(if self.has(Condition::EveryDevice) { self.nodes } else { 1 });
        FlushJudge::new(Ticket(TICKET.0 + u32::from(part)), self.lanes(), devices.map(NodeId))
    }

    fn begin_round(&self, state: &mut State) {
        state.round += 1;
        state.flush = Judged::whole(self.question(state.round - 1));
    }

    fn report(&self, state: &State, node: usize) -> State {
        let mut next = state.clone();
        let mut judge = (*state.flush.judge).clone();
        let strict = self.has(Condition::ReportsOfTheRound) && self.has(Condition::RoundsInTurn);
        let named = if strict { state.reports[node] } else { state.round };
        // Rounds on the wire follow from tickets; the first of a ticket's two is that of its flush.
        let round = Ticket(TICKET.0 + u32::from(named) - 1).rounds()[0];
        judge.fold(&FlushReading { device: NodeId(node as u32), round, lanes: self.lanes(), flushed: true });
        let verdict = judge.verdict();
        next.flush = Judged::whole(judge);
        if let Verdict::Proof(flushed) = verdict {
            self.pass(&mut next, &flushed);
        }
        next
    }

    /// A round is over.
    fn pass(&self, next: &mut State, flushed: &Flushed) {
        let mut judge = (*next.vacate.judge).clone();
        judge.fold(flushed);
        let over = self.aim == Aim::Flush || judge.verdict().is_some();
        next.vacate = Judged::whole(judge);
        match over {
            true => next.proof = Some(true),
            false => self.begin_round(next),
        }
    }

    fn data(&self, state: &State, found: &mut Vec<(Step, State)>) {
        let with = |change: &dyn Fn(&mut State)| {
            let mut next = state.clone();
            change(&mut next);
            next
        };
        for &street in self.tables(state, self.source).iter().filter(|_| state.unmade > 0) {
            let make = |next: &mut State| {
                next.unmade -= 1;
                next.queue.push(street as u8 + 1);
            };
            found.push((Step::Make(street), with(&make)));
        }
        if !state.queue.is_empty() {
            let send = |next: &mut State| {
                let street = next.queue.take(0);
                next.stood[MOST] = next.stood[MOST].saturating_sub(1);
                self.put(next, usize::from(street - 1));
            };
            found.push((Step::Send, with(&send)));
        }
        for wire in (0..self.wires()).filter(|&wire| state.wires[wire].head().is_some_and(|item| item < FREE)) {
            let arrive = |next: &mut State| {
                let street = usize::from(next.wires[wire].take(0) - 1);
                if self.streets[street].to != self.sink {
                    next.buffers[street].push(FREE);
                }
            };
            found.push((Step::Arrive(wire), with(&arrive)));
        }
        for street in (0..self.streets.len()).filter(|&street| !state.buffers[street].is_empty()) {
            let place = state.buffers[street].items().position(|chosen| chosen == FREE);
            for &onto in place.iter().flat_map(|_| self.tables(state, self.streets[street].to)) {
                let choose = |next: &mut State| next.buffers[street].set(place.unwrap_or(0), onto as u8 + 1);
                found.push((Step::Choose(street, onto), with(&choose)));
            }
            if state.buffers[street].head() != Some(FREE) {
                let forward = |next: &mut State| {
                    let onto = next.buffers[street].take(0);
                    next.stood[street] = next.stood[street].saturating_sub(1);
                    self.put(next, usize::from(onto - 1));
                };
                found.push((Step::Forward(street), with(&forward)));
            }
        }
        if let (Some(wire), None) = (self.mortal, state.dead) {
            let die = |next: &mut State| {
                next.dead = Some(wire);
                next.wires[wire] = Fifo::default();
            };
            found.push((Step::Die(wire), with(&die)));
        }
    }

    fn manage(&self, state: &State, found: &mut Vec<(Step, State)>) {
        for node in (0..self.nodes).filter(|&node| !state.written.has(node)) {
            let mut next = state.clone();
            next.written.add(node);
            found.push((Step::Write(node), next));
        }
        let acknowledged = (0..self.nodes).all(|node| state.written.has(node));
        if state.round == 0 && (acknowledged || !self.has(Condition::Acknowledged)) {
            let mut next = state.clone();
            self.begin_round(&mut next);
            found.push((Step::Begin, next));
        }
        if state.round == 0 || state.proof.is_some() {
            return;
        }
        // Out of turn, one flush counts for all rounds.
        let ordered = if self.has(Condition::RoundsInTurn) { state.round } else { 1 };
        for node in 0..self.nodes {
            if state.devices[node].round < ordered || !state.devices[node].ordered {
                let mut next = state.clone();
                self.enter(&mut next, node, ordered);
                next.devices[node].ordered = true;
                self.count(&mut next, node);
                found.push((Step::Order(node), next));
            }
            let waits = state.flush.judge.waiting().any(|device| device == NodeId(node as u32));
            if state.reports[node] > 0 && waits {
                found.push((Step::Report(node), self.report(state, node)));
            }
        }
    }

    fn agents(&self, state: &State, found: &mut Vec<(Step, State)>) {
        for node in 0..self.nodes {
            let device = state.devices[node];
            if device.ordered && !device.sent && !self.stands(state, node) {
                let mut next = state.clone();
                next.devices[node].sent = true;
                let out = (0..self.wires()).filter(|&wire| self.ends(wire).0 == node && state.dead != Some(wire));
                out.for_each(|wire| next.wires[wire].push(FREE + device.round));
                found.push((Step::Tokens(node), next));
            }
        }
        for wire in 0..self.wires() {
            let token = state.wires[wire].items().enumerate().find(|&(_, item)| item > FREE);
            let Some((place, item)) = token else { continue };
            if place == 0 || !self.has(Condition::TokensFollowData) {
                let (mut next, node) = (state.clone(), self.ends(wire).1);
                next.wires[wire].take(place);
                self.enter(&mut next, node, item - FREE);
                if next.devices[node].round == item - FREE {
                    next.devices[node].came.add(wire);
                }
                found.push((Step::Token(wire), next));
            }
        }
    }
}

impl Model for Town {
    type State = State;
    type Step = Step;
    type Fault = &'static str;

    fn initial(&self) -> State {
        State {
            unmade: self.packets,
            queue: Fifo::default(),
            wires: [Fifo::default(); MOST],
            buffers: [Fifo::default(); MOST],
            written: Set::default(),
            dead: None,
            devices: [Device::default(); MOST],
            stood: [0; MOST + 1],
            reports: [0; MOST],
            round: 0,
            flush: Judged::whole(self.question(0)),
            vacate: Judged::whole(VacateJudge::new(TICKET, self.rounds())),
            proof: None,
        }
    }

    fn steps(&self, state: &State, found: &mut Vec<(Step, State)>) {
        self.data(state, found);
        self.agents(state, found);
        self.manage(state, found);
        found.iter_mut().for_each(|(_, next)| self.note(next));
    }

    fn fault(&self, state: &State) -> Option<&'static str> {
        let closed = |item: u8| item < FREE && self.closed.has(usize::from(item - 1));
        let stands = self.closed.items().any(|street| !state.buffers[street].is_empty());
        let chosen = state.buffers.iter().chain(&state.wires).chain([&state.queue]);
        let chosen = chosen.flat_map(|fifo| fifo.items()).any(closed);
        (self.claims(state) && (stands || chosen)).then_some("flushed, and a packet is left")
    }

    fn is_end(&self, state: &State) -> bool {
        self.claims(state)
    }
}

impl Observed for Town {
    fn claims(&self, state: &State) -> bool {
        state.proof.is_some()
    }
}

/// Two switches in a row, an end port at each; every cable has two lanes, of which the second is to be flushed. Packets
/// took both, and take the first now.
fn lanes(without: Option<Condition>) -> Town {
    let hops = [(2, 0), (0, 1), (1, 3)];
    let streets = hops.iter().enumerate().flat_map(|(wire, &(from, to))| [0, 1].map(|_| Street { from, to, wire }));
    let both = |first: usize| [vec![first, first + 1], vec![first]];
    let tables = vec![both(2), both(4), both(0), Default::default()];
    let closed = [1, 3, 5].into_iter().collect();
    let streets = streets.collect();
    Town { streets, nodes: 4, sink: 3, source: 2, tables, aim: Aim::Flush, packets: 2, closed, mortal: None, without }
}

/// The same, and the cable between the switches may die.
fn mortal_lanes(without: Option<Condition>) -> Town {
    Town { mortal: Some(1), ..lanes(without) }
}

/// A way from the first switch to the last over the switches that leave, and one without them.
fn detour(leaving: usize, without: Option<Condition>) -> Town {
    let last = leaving + 1;
    let (source, sink) = (last + 1, last + 2);
    let mut streets = vec![Street { from: source, to: 0, wire: 0 }];
    let hops = (0..last).map(|at| (at, at + 1)).chain([(0, last), (last, sink)]);
    streets.extend(hops.enumerate().map(|(at, (from, to))| Street { from, to, wire: at + 1 }));
    let (through, around, out) = (1, last + 1, last + 2);
    let mut tables = vec![[vec![through], vec![around]]];
    tables.extend((1..last).map(|at| [vec![at + 1], vec![at + 1]]));
    tables.extend([[vec![out], vec![out]], [vec![0], vec![0]], Default::default()]);
    let closed = (1..=last).collect();
    let aim = Aim::Vacate(leaving as u8 + 2);
    Town { streets, nodes: sink + 1, sink, source, tables, aim, packets: 1, closed, mortal: None, without }
}

#[test]
fn what_was_flushed_is_empty() {
    assert_true("flush, row", &lanes(None), true);
    assert_true("flush, row, cable dies", &mortal_lanes(None), false);
}

#[test]
fn what_was_vacated_is_empty() {
    let most = if is_thorough() { 2 } else { 1 };
    for leaving in 0..=most {
        assert_true(&format!("vacated, {leaving} switches leave"), &detour(leaving, None), true);
    }
}

#[test]
fn flushes_depend_on_each_condition() {
    use Condition::*;
    for condition in [Acknowledged, AllThatStood, TokensFollowData, EveryNeighbour, LanesEmpty, EveryDevice] {
        assert_false("flush, row", condition, &lanes(Some(condition)));
    }
    assert_false("flush, row, cable dies", DeadInputsEmpty, &mortal_lanes(Some(DeadInputsEmpty)));
}

#[test]
fn vacating_depends_on_each_condition() {
    use Condition::*;
    for condition in [
        Acknowledged,
        AllThatStood,
        TokensFollowData,
        EveryNeighbour,
        EveryDevice,
        ReportsOfTheRound,
        EveryRound,
        RoundsInTurn,
    ] {
        assert_false("vacated, 0 switches leave", condition, &detour(0, Some(condition)));
    }
    assert_false("vacated, 1 switches leave", EveryRound, &detour(1, Some(EveryRound)));
}
