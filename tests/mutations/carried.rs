//! What goes wrong while a plan is carried out: readings and proofs that are forged, late or of another question;
//! `Set`s that are lost, altered, or answered by nobody that took them.

use super::{Catcher, Row};
use crate::support::brought_up::bring_up;
use crate::support::bundled::bundled;
use crate::support::proof::proof;
use crate::support::removal::{Removal, removal, root_of};
use async_trait::async_trait;
use reconfig::change::prepare;
use reconfig::drain::{
    AgeQuestion, ConservationJudge, CounterReading, DrainAge, Drained, FlushJudge, FlushReading, Flushed, LaneReading,
    LifetimeReading, PollJudge, PortMask, ReplyReading, SourceReading, SourcesJudge, Ticket, TokenJudge, TokenReading,
    Verdict,
};
use reconfig::driver::{Driver, Intent, Running};
use reconfig::fabric::{NodeId, PortId};
use reconfig::ids::{Half, VlSet};
use reconfig::machine::{Command, Event, Outcome, State, step};
use reconfig::plan::{Arming, Lanes, Plan, Policy, Scheme};
use reconfig::routing::UpDown;
use reconfig::sim::{Halt, Sim, SimConfig, SimTransport};
use reconfig::subnet::{Manager, Timing};
use reconfig::transport::{Datagram, Transport, TransportError};
use reconfig::verify::prove;
use reconfig::vet::Vetted;
use reconfig::wire::{self, AttributeId, Method, PortInfo, Smp};
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

/// One mishap, and who notices.
pub struct Mishap {
    name: &'static str,
    broken: &'static str,
    caught: fn() -> Vec<Catcher>,
    harmless: Option<&'static str>,
}

const fn mishap(name: &'static str, broken: &'static str, caught: fn() -> Vec<Catcher>) -> Mishap {
    Mishap { name, broken, caught, harmless: None }
}

pub const MISHAPS: &[Mishap] = &[
    mishap("a token of the second round before the first is complete", "a switch forwards out of turn", || {
        token(&[(0, 9), (0, 8), (1, 8), (0, 9), (1, 9)])
    }),
    mishap("tokens of an earlier drain", "they are behind other data", || token(&[(0, 6), (1, 6), (0, 7), (1, 7)])),
    mishap("one leaf reports twice, another never", "its lane may hold packets", || {
        token(&[(0, 8), (0, 8), (0, 9), (0, 9)])
    }),
    mishap("tokens for other lanes", "the devices run another change", || {
        let mut judge = TokenJudge::new(Ticket(4), A, &[PortId(0)]);
        judge.fold(&TokenReading { channel: PortId(0), round: 8, lanes: VlSet(0b1100), complete: true });
        judged(judge.verdict())
    }),
    mishap("an answer to an earlier flush", "it is from before the last write", || flush(12, B)),
    mishap("a flush of other lanes", "the devices run another change", || flush(14, A)),
    mishap("a poll in the wrong order", "a channel was empty before its predecessors were", poll_backwards),
    mishap("a poll of one pass only", "replies to the last requests are not looked for", poll_once),
    mishap("a counter at its end", "packets may be uncounted", || counters(true, 9)),
    mishap("a counter that was cleared", "packets may be uncounted", || counters(false, 1)),
    mishap("a switch without a limit", "packets may stay for ever", || {
        let graph = plan().plan().drain()[0].graph.clone();
        let switch = *graph.arcs().keys().next().expect("switches");
        let mut judge = DrainAge::new(age_question(), graph.depth(), [switch], Half::Upper, []);
        judge.fold(&LifetimeReading { ticket: Ticket(5), device: switch, lifetime_ns: None });
        judged(judge.verdict(u64::MAX))
    }),
    mishap("a responder asked while requests are under way", "a request comes after it answered", || replies(2_999)),
    mishap("a responder's latest answer, and no time after it", "its replies are under way", || replies(3_000)),
    mishap("a source that has old packets in its queue", "they would be sent after the drain", || {
        source(Ticket(3), Half::Upper, false)
    }),
    mishap("a source on the old half", "it was not told", || source(Ticket(3), Half::Lower, true)),
    mishap("a source's answer to an earlier question", "it may have moved back", || {
        source(Ticket(2), Half::Upper, true)
    }),
    mishap("a proof that fewer lanes are flushed", "the rest of B may hold packets", || {
        let lanes = VlSet(0b0100);
        after("flushing", |ticket| Event::Flushed(proof(FlushJudge::new(ticket, lanes, []).verdict())))
    }),
    mishap("a proof that B is drained, not A", "A may hold packets", || {
        after("draining", |ticket| Event::Drained(proof(TokenJudge::new(ticket, B, &[]).verdict())))
    }),
    mishap("a proof that sources are on the old half", "nobody has moved", || {
        after("moving", |ticket| Event::SourcesMoved(proof(SourcesJudge::new(ticket, Half::Lower, []).verdict())))
    }),
    mishap("an acknowledgement of an earlier wave", "this wave's writes may not have landed", || {
        after("installing", |ticket| Event::Acknowledged(Ticket(ticket.0.wrapping_sub(1))))
    }),
    mishap("an abort in the swap", "sources may be on either half", || after("swapping", |_| Event::Abort)),
    mishap("a double plan that was refused", "it is begun all the same", || {
        let mut draft = plan().plan().draft().clone();
        draft.waves[0].barriers.pop();
        let (plan, refusal) = prove(Plan::seal(draft)).map(|_| ()).expect_err("without its flush it is refused");
        if Vetted::baseline(plan, refusal).is_err() { vec![Catcher::Machine] } else { Vec::new() }
    }),
    mishap("a `Set` that never arrives", "a device keeps its old table", || {
        run(|smp, _| if is(smp, AttributeId::SlToVlMappingTable) { Fate::Lost } else { Fate::Sent })
    }),
    mishap("an ARM that never arrives", "a port carries data while tables are installed", || {
        run(|smp, port_infos| if nth_port(smp, port_infos, 0) { Fate::Lost } else { Fate::Sent })
    }),
    mishap("an SL-to-VL table altered on its way", "a device has another table than asked for", || {
        run(|smp, _| if is(smp, AttributeId::SlToVlMappingTable) { Fate::Altered } else { Fate::Sent })
    }),
    mishap("a block altered on its way", "a switch has another table than asked for", || {
        run(|smp, _| if is(smp, AttributeId::LinearForwardingTable) { Fate::Altered } else { Fate::Sent })
    }),
    mishap("a block lost, its acknowledgement forged", "a switch still routes through what leaves", || {
        run(|smp, _| if at_first_switch(smp) { Fate::Forged } else { Fate::Sent })
    }),
    mishap("an ACTIVE lost, its acknowledgement forged", "a port holds its data for ever", || {
        // Both of them: the one after *install*, and the one after the swap, which would heal a port of a host.
        run(|smp, port_infos| {
            let activates = is(smp, AttributeId::PortInfo)
                && port_infos > 1
                && PortInfo::decode(&smp.data).port_state == wire::PortState::Active;
            if activates || nth_port(smp, port_infos, 1) { Fate::Forged } else { Fate::Sent }
        })
    }),
    mishap("a source's move lost, its acknowledgement forged", "it goes on on the old half", || {
        run(|smp, _| if is(smp, AttributeId::ActiveHalf) { Fate::Forged } else { Fate::Sent })
    }),
];

const A: VlSet = VlSet(0b0011);
const B: VlSet = VlSet(0b1100);

/// Lets every mishap happen.
pub fn rows() -> Vec<Row> {
    let row = |mishap: &Mishap| Row {
        name: mishap.name,
        broken: mishap.broken,
        caught: (mishap.caught)(),
        harmless: mishap.harmless,
    };
    MISHAPS.iter().map(row).collect()
}

fn plan() -> Arc<Vetted> {
    let subnet = bring_up(&bundled("ring-8"), 1, true);
    prepare(removal(&subnet, Scheme::Double, Removal::Planned)).expect("provable").plan
}

/// A judge has noticed if its readings make no proof.
fn judged<P>(verdict: Verdict<P>) -> Vec<Catcher> {
    match verdict {
        Verdict::Pending | Verdict::NoVerdict(_) => vec![Catcher::Judge],
        Verdict::Proof(_) => Vec::new(),
    }
}

/// Complete tokens by (leaf, round) of the drain that asks for rounds 8 and 9 at two leaves.
fn token(readings: &[(u32, u32)]) -> Vec<Catcher> {
    let mut judge = TokenJudge::new(Ticket(4), A, &[PortId(0), PortId(1)]);
    let reading = |&(leaf, round): &(u32, u32)| TokenReading { channel: PortId(leaf), round, lanes: A, complete: true };
    readings.iter().map(reading).for_each(|reading| judge.fold(&reading));
    judged(judge.verdict())
}

fn flush(round: u32, lanes: VlSet) -> Vec<Catcher> {
    let device = plan().plan().draft().before.switches().next().expect("switches");
    let mut judge = FlushJudge::new(Ticket(7), B, [device]);
    judge.fold(&FlushReading { device, round, lanes, flushed: true });
    judged(judge.verdict())
}

/// Switches keep packets for 1000 ns, and a path has three channels.
fn age_question() -> AgeQuestion {
    AgeQuestion { ticket: Ticket(5), lanes: A, since_ns: 0, wire_ns: 0 }
}

/// A responder that was asked at a time; the verdict two rounds of requests later.
fn replies(asked_ns: u64) -> Vec<Catcher> {
    let (switch, port) = (NodeId(0), PortId(0));
    let mut judge = DrainAge::new(age_question(), 3, [switch], Half::Upper, [port]);
    judge.fold(&LifetimeReading { ticket: Ticket(5), device: switch, lifetime_ns: Some(1_000) });
    let (ticket, half) = (Ticket(5), Half::Upper);
    judge.fold_reply(&ReplyReading { ticket, port, asked_ns, answered_ns: 3_001, half, settled: true });
    judged(judge.verdict(6_000))
}

fn source(ticket: Ticket, half: Half, settled: bool) -> Vec<Catcher> {
    let mut judge = SourcesJudge::new(Ticket(3), Half::Upper, [PortId(5)]);
    judge.fold(&SourceReading { ticket, port: PortId(5), half, settled });
    judged(judge.verdict())
}

fn counters(clamped: bool, later: u64) -> Vec<Catcher> {
    let mut judge = ConservationJudge::new(Ticket(2), A, [PortId(0)], 50);
    for (asked_ns, count) in [(60, 9), (70, later), (80, later), (90, later)] {
        judge.fold(&CounterReading {
            ticket: Ticket(2),
            port: PortId(0),
            asked_ns,
            answered_ns: asked_ns + 5,
            sent: count,
            received: count,
            clamped,
            settled: true,
        });
    }
    judged(judge.verdict())
}

/// What a device says whose outputs are all empty.
fn reading(plan: &Plan, device: reconfig::plan::DeviceId, at_ns: u64) -> LaneReading {
    let drained: PortMask = plan.drain()[0].graph.channels().iter().map(|channel| channel.num).collect();
    LaneReading { device, asked_ns: at_ns, answered_ns: at_ns, lanes: A, drained }
}

fn poll_backwards() -> Vec<Catcher> {
    let vetted = plan();
    let graph = &vetted.plan().drain()[0].graph;
    let mut judge = PollJudge::new(Ticket(1), A, graph, 0);
    for channel in graph.channels().iter().rev().chain(graph.channels().iter().rev()) {
        // Asked at one time, whatever is found empty in between.
        judge.fold(&reading(vetted.plan(), channel.sender, 0));
    }
    // Readings of one moment count where nothing has to come first; a channel behind another needs a later one.
    if graph.depth() > 2 { judged(judge.verdict()) } else { Vec::new() }
}

fn poll_once() -> Vec<Catcher> {
    let vetted = plan();
    let graph = &vetted.plan().drain()[0].graph;
    let mut judge = PollJudge::new(Ticket(1), A, graph, 0);
    for (channel, at_ns) in graph.channels().iter().zip(1..) {
        judge.fold(&reading(vetted.plan(), channel.sender, at_ns));
    }
    judged(judge.verdict())
}

/// Brings the machine to a state by right answers, then tells it something wrong: noticed if it goes on to no wave and
/// no barrier that the right answer would have led to.
fn after(state: &str, wrong: impl FnOnce(Ticket) -> Event) -> Vec<Catcher> {
    let (mut now, mut commands) = step(State::new(), Event::Begin(plan()));
    while now.name() != state {
        let answer = match commands[0] {
            Command::Apply { ticket, .. } | Command::Undo { ticket, .. } => Event::Acknowledged(ticket),
            Command::Flush { ticket, lanes } => {
                let flushed: Flushed = proof(FlushJudge::new(ticket, lanes, []).verdict());
                Event::Flushed(flushed)
            }
            Command::ConfirmSources { ticket, half } => {
                Event::SourcesMoved(proof(SourcesJudge::new(ticket, half, []).verdict()))
            }
            Command::Drain { ticket, lanes, .. } => {
                let drained: Drained = proof(TokenJudge::new(ticket, lanes, &[]).verdict());
                Event::Drained(drained)
            }
            ref other => panic!("{} before {state}", other.name()),
        };
        (now, commands) = step(now, answer);
    }
    let course = now.progress().expect("a change is under way");
    let (wave, asked) = (course.wave(), course.asked());
    let (next, _) = step(now, wrong(asked));
    let stays = next.name() == state && next.progress().is_some_and(|course| course.wave() == wave);
    if stays || next.name() == "calling-off" { vec![Catcher::Machine] } else { Vec::new() }
}

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Sent,
    /// It goes nowhere.
    Lost,
    /// It goes nowhere, and is answered as if it had been taken.
    Forged,
    /// The device gets another value, and answers with that.
    Altered,
}

/// What happens to the first device that a rule picks; the number counts the `Set`s of PortInfo sent to it so far.
type Rule = fn(&Smp, u32) -> Fate;

fn is(smp: &Smp, attribute: AttributeId) -> bool {
    smp.method == Method::Set && smp.attribute == attribute
}

/// Whether this is a forwarding block for the switch that the manager is attached to, whose ways lead through the root.
fn at_first_switch(smp: &Smp) -> bool {
    is(smp, AttributeId::LinearForwardingTable)
        && matches!(&smp.route, wire::Route::Directed(route) if route.hop_count == 1)
}

/// Whether this is the victim's PortInfo `Set` of that number: ARM, ACTIVE, the SM's address, ARM and ACTIVE again.
fn nth_port(smp: &Smp, port_infos: u32, number: u32) -> bool {
    is(smp, AttributeId::PortInfo) && port_infos == number
}

/// A request's path and its modifier.
type Place = ([u8; 64], u32);

/// The manager's port, with a hand in between.
struct Meddled {
    inner: SimTransport,
    rule: Rule,
    /// The path and the modifier of the first request that the rule picked.
    victim: Rc<Cell<Option<Place>>>,
    port_infos: u32,
    answers: VecDeque<Datagram>,
}

impl Meddled {
    /// What the rule says, for one device and one instance of its attribute alone.
    fn fate(&mut self, smp: &Smp) -> Fate {
        let wire::Route::Directed(route) = &smp.route else { return Fate::Sent };
        let place = (route.initial_path, smp.modifier);
        let known = self.victim.get();
        let armed = is(smp, AttributeId::PortInfo);
        if armed
            && known.is_none()
            && (self.rule)(smp, u32::MAX) == Fate::Sent
            && (self.rule)(smp, 0) != (self.rule)(smp, 1)
        {
            // The first port to be ARMED is the victim, whichever of its two writes the rule is about.
            self.victim.set(Some(place));
        }
        if self.victim.get().is_some_and(|victim| victim != place) {
            return Fate::Sent;
        }
        let fate = (self.rule)(smp, self.port_infos);
        if fate != Fate::Sent {
            self.victim.set(Some(place));
        }
        if armed && fate != Fate::Lost {
            self.port_infos += 1;
        }
        fate
    }
}

#[async_trait(?Send)]
impl Transport for Meddled {
    fn now_ns(&self) -> u64 {
        self.inner.now_ns()
    }

    async fn send(&mut self, mut datagram: Datagram) -> Result<(), TransportError> {
        let Ok(mut smp) = Smp::decode(&datagram.bytes) else { return self.inner.send(datagram).await };
        match self.fate(&smp) {
            Fate::Sent => {}
            Fate::Lost => return Ok(()),
            Fate::Forged => {
                datagram.bytes = Box::new(smp.response(smp.data).encode());
                self.answers.push_back(datagram);
                return Ok(());
            }
            Fate::Altered => {
                smp.data[0] ^= 0x11;
                datagram.bytes = Box::new(smp.encode());
            }
        }
        self.inner.send(datagram).await
    }

    async fn recv(&mut self, until_ns: u64) -> Result<Option<Datagram>, TransportError> {
        match self.answers.pop_front() {
            Some(answer) => Ok(Some(answer)),
            None => self.inner.recv(until_ns).await,
        }
    }
}

/// A planned change of a simulated tree with one mishap: the manager notices if it does not complete, the simulator if
/// a packet is lost or never arrives.
fn run(rule: Rule) -> Vec<Catcher> {
    let subnet = bring_up(&bundled("fat-tree-4-2"), 1, true);
    let fabric = Arc::new(subnet.fabric.clone());
    let config = SimConfig { load: 0.1, ..SimConfig::default() };
    let mut sim = Sim::new(&fabric, config, subnet.sm).expect("the settings can be meant");
    for (switch, block, entries) in subnet.tables.lft_blocks(&fabric) {
        sim.load_lft_block(switch, block, &entries);
    }
    sim.load_half(Half::Lower);
    sim.load_master_sm(fabric.port(subnet.sm).lid.expect("LIDs"), Half::Lower.sls().next().expect("eight"));
    sim.start();
    let transport = SimTransport::new(sim);
    let victim = Rc::new(Cell::new(None));
    let meddled =
        Meddled { inner: transport.clone(), rule, victim: victim.clone(), port_infos: 0, answers: VecDeque::new() };
    let ms = 1_000_000;
    let timing = Timing { timeout_ns: ms, retries: 2, smp_lifetime_ns: ms, barrier_ns: 5 * ms, ..Timing::default() };
    let running = Running {
        known: fabric.clone(),
        routed: fabric.clone(),
        alive: fabric.clone(),
        tables: subnet.tables.clone(),
        layers: 1,
        ways: None,
        half: Half::Lower,
        both_halves: false,
        sm: subnet.sm,
    };
    let policy = Policy { arming: Arming::Hold, ..Policy::default() };
    let intent = Intent::by(Arc::new(UpDown::default()), Scheme::Double, policy);
    let mut driver = Driver::new(Manager::new(meddled, timing, 0), running, intent);
    let root = root_of(&subnet);
    let after = Arc::new(fabric.without_nodes(&[root]));
    let outcome = drive(&transport, driver.change_to(after));
    assert!(victim.get().is_some(), "nothing was meddled with");
    let packets = transport.with(|sim| {
        if outcome == Some(Outcome::Completed) {
            sim.retire(root);
        }
        sim.run(sim.now_ns() + ms / 5, false);
        sim.stop_sources();
        sim.run(sim.now_ns() + 20 * ms, false);
        sim.packets()
    });
    let lanes = Lanes::of_fabric(&fabric, None).all;
    let stands = transport.with(|sim| sim.deadlock().is_some() || sim.occupied(lanes) > 0);
    let mut caught = Vec::new();
    if outcome != Some(Outcome::Completed) {
        caught.push(Catcher::Manager);
    }
    if packets.lost_to_change > 0 || packets.in_flight > 0 || stands {
        caught.push(Catcher::Ledger);
    }
    caught
}

/// How the change ends; none where it deadlocks, or even calling it off fails.
fn drive<E>(
    transport: &SimTransport,
    future: impl Future<Output = Result<reconfig::driver::ChangeRecord, E>>,
) -> Option<Outcome> {
    let mut task = tokio_test::task::spawn(future);
    loop {
        if let Poll::Ready(report) = task.poll() {
            return report.ok().map(|report| report.outcome);
        }
        if transport.advance(u64::MAX - 1) == Halt::Deadlock {
            return None;
        }
    }
}
