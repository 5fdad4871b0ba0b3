//! Observer *lifetime* (D.6), and the fence before it (P3.8), in ticks: a packet may wait in a switch for as long as
//! the switch's limit, and is on a wire for one tick at most. Send queues have no limit.

use super::{Judged, Observed, assert_false, assert_true};
use crate::model::search::Model;
use reconfig::drain::{
    AgeQuestion, AgeStage, DrainAge, FenceJudge, FenceReading, LifetimeReading, ReplyReading, Ticket, Verdict,
};
use reconfig::fabric::{NodeId, PortId};
use reconfig::ids::{Half, Vl, VlSet};

const A: VlSet = VlSet(0b0011);
const TICKET: Ticket = Ticket(16);
/// How long a packet is on a wire at most.
pub const WIRE: u8 = 1;
/// What every switch reports.
pub const LIMIT: u8 = 2;
/// A switch whose limit nobody asked for.
pub const LONG: u8 = 6;
/// How long a lane of an end port that was fenced may take to run empty.
const HELD: u8 = 4;
/// Channels of the path from one end port to the other, over two switches.
const DEPTH: u8 = 3;

/// What a proof by age rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Condition {
    /// P3.5.
    SourcesMoved,
    /// Switches discard what has stood there for longer than the limit that they report.
    LimitsEnforced,
    /// Every switch's limit was read.
    EveryLimit,
    /// The time on wires counts.
    WiresCount,
    /// Every channel of the longest path counts.
    WholePath,
    /// D.6 (2): responders are asked again.
    AskedAgain,
    /// D.6 (2): they are asked when the requests are gone.
    AskedAfterRequests,
    /// D.6 (3): replies age too.
    RepliesAge,
    /// A reply that is owed counts as one that waits.
    OwedWaits,
    /// P3.8: every end port has answered with a table that closes the half.
    EveryPortFenced,
    /// P1.3: no copy of an older table comes after it.
    NoLateCopy,
    /// P3.8: the time of what ports hold is waited for.
    HeldCounts,
    /// Assumption `fenced-lanes-run-empty`.
    LanesRunEmpty,
}

/// How sources are moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Move {
    /// They are told, and asked whether they are settled.
    Told,
    /// Their ports are closed to the old half.
    Fenced,
}

struct Ages {
    moved: Move,
    without: Option<Condition>,
}

/// A packet: whether it is a reply, how far it has come, and for how long it has been there.
///
/// Places: 0 in a send queue, 1 on the first wire, 2 in the first switch, 3 on the second wire, and so on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Packet {
    is_reply: bool,
    place: u8,
    age: u8,
}

const END: u8 = 2 * DEPTH;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    /// In order, so that runs that differ in names alone are one.
    packets: Vec<Packet>,
    unmade: u8,
    owed: u8,
    /// By host: whether its port takes packets of the old half, for how long it has been closed, whether an older table
    /// came again.
    open: [bool; 2],
    closed_for: [u8; 2],
    reopened: bool,
    fence: Judged<FenceJudge>,
    /// Ticks since the drain began, those aside in which answers alone were waited for.
    now: u8,
    drain: Option<Judged<DrainAge>>,
    /// By host: when it was asked, and its answer.
    asked: [Option<(u8, Option<bool>)>; 2],
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    Tick,
    Make,
    Reply,
    /// The packet in this place of the list goes on.
    Go(usize),
    Close(usize),
    Reopen(usize),
    Begin,
    Ask(usize),
    Answer(usize),
    Fold(usize),
}

impl Ages {
    fn has(&self, condition: Condition) -> bool {
        self.without != Some(condition)
    }

    fn limit(&self, packet: &Packet) -> u8 {
        // The second switch is the last of requests and the first of replies.
        let is_second = (packet.place == 4) != packet.is_reply;
        if is_second && !self.has(Condition::EveryLimit) { LONG } else { LIMIT }
    }

    fn question(&self) -> AgeQuestion {
        let held = self.moved == Move::Fenced && self.has(Condition::HeldCounts);
        let wire = if self.has(Condition::WiresCount) { WIRE } else { 0 };
        let since_ns = if held { HELD.into() } else { 0 };
        AgeQuestion { ticket: TICKET, lanes: A, since_ns, wire_ns: wire.into() }
    }

    fn judge(&self) -> DrainAge {
        let switches = (0..2).take(if self.has(Condition::EveryLimit) { 2 } else { 1 }).map(NodeId);
        let depth = if self.has(Condition::WholePath) { DEPTH.into() } else { 1 };
        let mut judge = match self.moved {
            Move::Fenced => DrainAge::behind_fence(self.question(), depth, switches.clone()),
            Move::Told => {
                let responders = (0..2).take(if self.has(Condition::AskedAgain) { 2 } else { 0 }).map(PortId);
                DrainAge::new(self.question(), depth, switches.clone(), Half::Upper, responders)
            }
        };
        let limit = |device| LifetimeReading { ticket: TICKET, device, lifetime_ns: Some(LIMIT.into()) };
        switches.for_each(|device| judge.fold(&limit(device)));
        judge
    }

    fn stage(&self, state: &State) -> Option<AgeStage> {
        state.drain.as_ref().map(|drain| drain.judge.stage(state.now.into()).expect("limits are short"))
    }

    /// Requests are sent by host 0, replies by host 1.
    fn sends(packet: &Packet) -> usize {
        usize::from(packet.is_reply)
    }

    fn queued(&self, state: &State, host: usize) -> bool {
        state.packets.iter().any(|packet| packet.place == 0 && Ages::sends(packet) == host)
    }

    /// A packet is handed to a host's port.
    fn hand_over(next: &mut State, is_reply: bool) {
        if next.open[usize::from(is_reply)] {
            next.packets.push(Packet { is_reply, place: 0, age: 0 });
        }
    }

    fn go(&self, state: &State, at: usize) -> State {
        let mut next = state.clone();
        let packet = &mut next.packets[at];
        (packet.place, packet.age) = (packet.place + 1, 0);
        if packet.place == END {
            let Packet { is_reply, .. } = next.packets.remove(at);
            // A responder may think for as long as it likes.
            next.owed += u8::from(!is_reply);
        }
        next
    }

    /// Time passes, if nothing has to happen first.
    fn tick(&self, state: &State) -> Option<State> {
        let on_wire = |packet: &Packet| packet.place % 2 == 1;
        if state.packets.iter().any(|packet| on_wire(packet) && packet.age == WIRE) {
            return None;
        }
        let held = |host: usize| !state.open[host] && state.closed_for[host] == HELD && self.queued(state, host);
        if self.moved == Move::Fenced && self.has(Condition::LanesRunEmpty) && (0..2).any(held) {
            return None;
        }
        let mut next = state.clone();
        next.packets.retain(|packet| {
            let is_aged = packet.place > 0 && !on_wire(packet) && packet.age == self.limit(packet);
            !is_aged || !self.has(Condition::LimitsEnforced)
        });
        for packet in next.packets.iter_mut().filter(|packet| packet.place > 0) {
            packet.age = (packet.age + 1).min(LONG);
        }
        for host in (0..2).filter(|&host| !state.open[host]) {
            next.closed_for[host] = (next.closed_for[host] + 1).min(HELD);
        }
        // While answers alone are waited for, the judge only compares times from here on: they may stand still.
        let counts = !matches!(self.stage(state), None | Some(AgeStage::Settling | AgeStage::Over));
        next.now += u8::from(counts);
        Some(next)
    }

    fn close(state: &State, host: usize) -> State {
        let mut next = state.clone();
        (next.open[host], next.closed_for[host]) = (false, 0);
        let mut lanes = [Vl::MANAGEMENT; 16];
        lanes[8..].fill(Vl::masked(1));
        let mut judge = (*state.fence.judge).clone();
        judge.fold(&FenceReading { ticket: TICKET, port: PortId(host as u32), lanes });
        State { fence: Judged::whole(judge), ..next }
    }

    /// Moves the sources, then begins to drain.
    fn begin(&self, state: &State, found: &mut Vec<(Step, State)>) {
        let moved = match self.moved {
            Move::Told => (0..2).all(|host| !self.queued(state, host)) || !self.has(Condition::SourcesMoved),
            Move::Fenced => matches!(state.fence.judge.verdict(), Verdict::Proof(_)),
        };
        if moved {
            let mut next = State { drain: Some(Judged::whole(self.judge())), ..state.clone() };
            if self.moved == Move::Told && self.has(Condition::SourcesMoved) {
                next.unmade = 0;
            }
            found.push((Step::Begin, next));
        }
        if self.moved == Move::Fenced {
            let open = (0..2).filter(|&host| state.open[host] && !state.reopened);
            found.extend(open.map(|host| (Step::Close(host), Ages::close(state, host))));
        }
    }

    fn ask(&self, state: &State, drain: &Judged<DrainAge>, found: &mut Vec<(Step, State)>) {
        let settling = self.stage(state) == Some(AgeStage::Settling);
        let early = !self.has(Condition::AskedAfterRequests);
        for host in 0..2 {
            let with = |asked| {
                let mut next = state.clone();
                next.asked[host] = asked;
                next
            };
            let port = PortId(host as u32);
            let is_open = drain.judge.unsettled().any(|unsettled| unsettled == port);
            match state.asked[host] {
                None if is_open && (settling || early) => {
                    found.push((Step::Ask(host), with(Some((state.now, None)))));
                }
                Some((asked, None)) => {
                    let owes = host == 1 && state.owed > 0 && self.has(Condition::OwedWaits);
                    let settled = !self.queued(state, host) && !owes;
                    found.push((Step::Answer(host), with(Some((asked, Some(settled))))));
                }
                Some((asked, Some(settled))) if settling => {
                    let asked = if early { state.now } else { asked };
                    let (asked_ns, answered_ns) = (asked.into(), state.now.into());
                    let half = Half::Upper;
                    let mut judge = (*drain.judge).clone();
                    judge.fold_reply(&ReplyReading { ticket: TICKET, port, asked_ns, answered_ns, half, settled });
                    found.push((Step::Fold(host), State { drain: Some(Judged::whole(judge)), ..with(None) }));
                }
                _ => {}
            }
        }
    }
}

impl Model for Ages {
    type State = State;
    type Step = Step;
    type Fault = &'static str;

    fn initial(&self) -> State {
        let ports = (0..2).skip(usize::from(!self.has(Condition::EveryPortFenced))).map(PortId);
        let fence = Judged::whole(FenceJudge::new(TICKET, Half::Upper, ports));
        State {
            packets: Vec::new(),
            unmade: 2,
            owed: 0,
            open: [true; 2],
            closed_for: [0; 2],
            reopened: false,
            fence,
            now: 0,
            drain: None,
            asked: [None; 2],
        }
    }

    fn steps(&self, state: &State, found: &mut Vec<(Step, State)>) {
        found.extend(self.tick(state).map(|next| (Step::Tick, next)));
        if state.unmade > 0 {
            let mut next = State { unmade: state.unmade - 1, ..state.clone() };
            Ages::hand_over(&mut next, false);
            found.push((Step::Make, next));
        }
        if state.owed > 0 {
            let mut next = State { owed: state.owed - 1, ..state.clone() };
            Ages::hand_over(&mut next, true);
            found.push((Step::Reply, next));
        }
        found.extend((0..state.packets.len()).map(|at| (Step::Go(at), self.go(state, at))));
        if !self.has(Condition::NoLateCopy) && !state.reopened {
            for host in (0..2).filter(|&host| !state.open[host]) {
                let mut next = State { reopened: true, ..state.clone() };
                next.open[host] = true;
                found.push((Step::Reopen(host), next));
            }
        }
        match &state.drain {
            None => self.begin(state, found),
            Some(drain) => self.ask(state, drain, found),
        }
        found.iter_mut().for_each(|(_, next)| next.packets.sort_unstable());
    }

    fn fault(&self, state: &State) -> Option<&'static str> {
        let holds = !state.packets.is_empty() || state.owed > 0 && state.open[1];
        (self.claims(state) && holds).then_some("drained by age, and a packet is left")
    }

    fn is_end(&self, state: &State) -> bool {
        self.claims(state)
    }
}

impl Observed for Ages {
    fn claims(&self, state: &State) -> bool {
        match self.stage(state) {
            Some(AgeStage::Replies { .. }) => !self.has(Condition::RepliesAge),
            Some(stage) => stage == AgeStage::Over,
            None => false,
        }
    }
}

#[test]
fn what_has_aged_is_gone() {
    assert_true("lifetime", &Ages { moved: Move::Told, without: None }, true);
    assert_true("lifetime, fenced", &Ages { moved: Move::Fenced, without: None }, true);
}

#[test]
fn ages_depend_on_each_condition() {
    use Condition::*;
    for condition in [
        SourcesMoved,
        LimitsEnforced,
        EveryLimit,
        WiresCount,
        WholePath,
        AskedAgain,
        AskedAfterRequests,
        RepliesAge,
        OwedWaits,
    ] {
        assert_false("lifetime", condition, &Ages { moved: Move::Told, without: Some(condition) });
    }
    for condition in [EveryPortFenced, NoLateCopy, HeldCounts, LanesRunEmpty, LimitsEnforced, EveryLimit, WholePath] {
        assert_false("lifetime, fenced", condition, &Ages { moved: Move::Fenced, without: Some(condition) });
    }
}
