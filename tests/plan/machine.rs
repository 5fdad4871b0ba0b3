//! The machine against its chart, and in the hands of a driver.

use crate::support::brought_up::{Subnet, VLS, bring_up};
use crate::support::bundled::bundled;
use crate::support::chart::Chart;
use crate::support::conformance::{Conformance, assert_page_is_current};
use crate::support::fabrics::ring;
use crate::support::proof::proof;
use crate::support::removal::{Removal, removal};
use reconfig::change::{ChangeInput, prepare_baseline};
use reconfig::drain::{
    AgeQuestion, Drained, FlushJudge, Flushed, SourcesJudge, SourcesMoved, Ticket, TokenJudge, VacateAge, Vacated,
};
use reconfig::fabric::{NodeId, PortId};
use reconfig::ids::{Half, VlSet};
use reconfig::machine::{CallOff, ChangePosition, Command, Event, Outcome, State, step};
use reconfig::plan::{
    Arming, Assumption, Barrier, Draft, Lanes, Phase, Plan, Policy, Scheme, Sending, TurnedBack, Wave,
};
use reconfig::tables::{NodeSlToVl, SubnetTables};
use reconfig::vet::{Vetted, vet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_test::{assert_pending, assert_ready, task};

const CHART: &str = include_str!("../../state-machines/change.yaml");

fn chart() -> Chart {
    Chart::parse(CHART).expect("state-machines/change.yaml can be read")
}

/// Plans that between them go every way there is, by name.
fn plans() -> Vec<(&'static str, Arc<Vetted>)> {
    let subnet = bring_up(&bundled("ring-8"), 1, true);
    let root_goes = |scheme| removal(&subnet, scheme, Removal::Sudden);
    let root_leaves = |scheme| removal(&subnet, scheme, Removal::Planned);
    let mut separate = root_goes(Scheme::Double);
    let table = Lanes::of_count(VLS).separate(Half::Lower);
    separate.tables.sl_to_vl.fill(Arc::new(NodeSlToVl::Uniform(table)));
    let mut plans = prepared(vec![
        ("double", root_goes(Scheme::Double)),
        ("double, nothing to install", nothing_goes(&subnet, Scheme::Double)),
        ("double, separate already", separate),
        ("static", root_leaves(Scheme::Static)),
        ("static, nothing to install", nothing_goes(&subnet, Scheme::Static)),
        ("in-place", root_goes(Scheme::InPlace)),
        ("in-place, the root comes back", root_comes_back(&subnet, Scheme::InPlace)),
        ("in-place, the root comes back and another switch leaves", replaced(&subnet, Scheme::InPlace)),
        ("in-place, the root leaves", root_leaves(Scheme::InPlace)),
        ("in-place, a cable leaves, nothing to write", unused_leaves(&subnet, Scheme::InPlace)),
        ("in-place, nothing to write", nothing_goes(&subnet, Scheme::InPlace)),
    ]);
    plans.extend(ordered_plans(&subnet));
    plans
}

fn prepared(inputs: Vec<(&'static str, ChangeInput<'static>)>) -> Vec<(&'static str, Arc<Vetted>)> {
    let planned =
        |(name, input)| (name, prepare_baseline(input).unwrap_or_else(|error| panic!("{name}: {error}")).plan);
    inputs.into_iter().map(planned).collect()
}

/// Plans of scheme `ordered`, which have any number of waves, and waits between them.
fn ordered_plans(subnet: &Subnet) -> Vec<(&'static str, Arc<Vetted>)> {
    let scheme = Scheme::Ordered;
    let dies = |fabric| removal(&bring_up(&fabric, 1, true), scheme, Removal::Sudden);
    let comes_and_leaves = |subnet: &Subnet| {
        let leaves = unused_leaves(subnet, scheme);
        ChangeInput { before: leaves.after.clone(), ..leaves }
    };
    let comes = |subnet: &Subnet| {
        let both = comes_and_leaves(subnet);
        ChangeInput { after: both.surviving.clone(), ..both }
    };
    // With engine up-down hosts of a tree send over its root alone.
    let tree = bring_up(&bundled("fat-tree-4-2"), 1, true);
    // Entries for the LIDs of a host may outlive it.
    let mut host_comes = nothing_goes(subnet, scheme);
    let is_other = |&port: &PortId| port != subnet.sm;
    let host = subnet.fabric.end_ports().find(is_other).map(|port| subnet.fabric.port(port).node);
    host_comes.before = Arc::new(subnet.fabric.without_nodes(&[host.expect("a ring has several hosts")]));
    let mut plans = prepared(vec![
        ("ordered, the root dies, two waves", turning(dies(bundled("ring-8")))),
        ("ordered, the root dies, some waves at once", turning(dies(bundled("seed-16")))),
        ("ordered, the root dies, long waits", turning(dies(ring(32)))),
        ("ordered, the root dies, all waves at once", dies(bundled("ring-8"))),
        ("ordered, the root leaves", removal(&bring_up(&bundled("ghost-cycle"), 1, true), scheme, Removal::Planned)),
        ("ordered, the root comes back", root_comes_back(subnet, scheme)),
        ("ordered, the root comes back and another switch leaves", replaced(subnet, scheme)),
        ("ordered, a cable comes", comes(subnet)),
        ("ordered, a cable comes, and is to leave", comes_and_leaves(subnet)),
        ("ordered, a host comes", host_comes),
        ("ordered, a cable leaves, nothing to write", unused_leaves(subnet, scheme)),
        ("ordered, nothing to write", nothing_goes(subnet, scheme)),
        ("ordered, a cable comes over which nobody sends", comes(&tree)),
    ]);
    let draft = |place: usize| -> Draft { plans[place].1.plan().draft().clone() };
    let empty = |name: &str| Wave {
        name: name.to_string(),
        phase: Phase::Rewrite,
        writes: Vec::new(),
        barriers: vec![Barrier::Acknowledged],
        sending: Sending::AnyOrder,
    };
    // The first step waits for what was sent before.
    let mut first = draft(0);
    first.waves.insert(0, empty("rewrite/0"));
    first.waves[0].barriers.push(Barrier::Vacated(16));
    // The second step waits, and all its entries are of what has come, which the first wave has written.
    let mut last = draft(5);
    last.waves[1].barriers.push(Barrier::Vacated(16));
    last.waves.insert(2, empty("rewrite/2"));
    last.assumptions.push(Assumption::AgentsKeepTheProtocol);
    for (name, draft) in [("ordered, the first wave waits", first), ("ordered, the last step writes nothing", last)] {
        let vetted = vet(Plan::seal(draft)).unwrap_or_else(|refused| panic!("{name}: {}", refused.1));
        plans.push((name, Arc::new(vetted)));
    }
    plans
}

/// The same where switches may send packets back, so that waves wait for one another.
fn turning(input: ChangeInput<'static>) -> ChangeInput<'static> {
    ChangeInput { policy: Policy { turned_back: TurnedBack::Returned, ..input.policy }, ..input }
}

fn nothing_goes(subnet: &Subnet, scheme: Scheme) -> ChangeInput<'static> {
    ChangeInput {
        after: Arc::new(subnet.fabric.clone()),
        surviving: Arc::new(subnet.fabric.clone()),
        policy: Policy { arming: Arming::Off, ..Policy::default() },
        ..removal(subnet, scheme, Removal::Sudden)
    }
}

/// The tables with which a rewrite in place ends.
fn tables_after(input: &ChangeInput<'_>) -> SubnetTables {
    let made = prepare_baseline(ChangeInput { scheme: Scheme::InPlace, ..input.clone() });
    let plan = made.unwrap_or_else(|error| panic!("{error}")).plan;
    plan.plan().tables_at(plan.plan().waves().len()).clone()
}

fn root_comes_back(subnet: &Subnet, scheme: Scheme) -> ChangeInput<'static> {
    let mut comes = removal(subnet, scheme, Removal::Sudden);
    comes.tables = tables_after(&comes);
    std::mem::swap(&mut comes.before, &mut comes.after);
    comes.surviving = comes.after.clone();
    comes
}

/// The root comes back, and another switch leaves.
fn replaced(subnet: &Subnet, scheme: Scheme) -> ChangeInput<'static> {
    let mut replaced = root_comes_back(subnet, scheme);
    let goes = |&node: &NodeId| replaced.before.node(node).present && subnet.fabric.neighbour(subnet.sm) != Some(node);
    let other = subnet.fabric.switches().find(goes).expect("a switch that the manager does not need");
    replaced.after = Arc::new(replaced.after.without_nodes(&[other]));
    replaced
}

/// A cable leaves that the routing in force does not use: no table changes.
fn unused_leaves(subnet: &Subnet, scheme: Scheme) -> ChangeInput<'static> {
    let is_switch = |port| subnet.fabric.node(subnet.fabric.port(port).node).is_switch();
    let inner = |&(one, other): &(PortId, PortId)| is_switch(one) && is_switch(other);
    let (cable, _) = subnet.fabric.links().filter(inner).last().expect("switches are cabled");
    let mut leaves = removal(subnet, scheme, Removal::Planned);
    leaves.after = Arc::new(subnet.fabric.without_links(&[cable]));
    leaves.tables = tables_after(&leaves);
    leaves
}

fn plan(name: &str) -> Arc<Vetted> {
    let found = plans().into_iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no plan `{name}`")).1
}

fn flushed(ticket: Ticket, lanes: VlSet) -> Flushed {
    proof(FlushJudge::new(ticket, lanes, []).verdict())
}

fn moved(ticket: Ticket, half: Half) -> SourcesMoved {
    proof(SourcesJudge::new(ticket, half, []).verdict())
}

pub fn vacated(ticket: Ticket, rounds: u8) -> Vacated {
    let question = AgeQuestion { ticket, lanes: VlSet::EMPTY, since_ns: 0, wire_ns: 0 };
    proof(VacateAge::new(question, rounds, []).verdict(0))
}

fn drained(ticket: Ticket, lanes: VlSet) -> Drained {
    proof(TokenJudge::new(ticket, lanes, &[]).verdict())
}

/// Every event that can come while `ticket` is the open question's: answers of every kind, right and wrong.
fn answers(ticket: Ticket) -> Vec<Event> {
    let lanes = Lanes::of_count(VLS);
    let reason = || "tried in vain".to_string();
    let mut events = vec![
        Event::Acknowledged(ticket),
        Event::WriteFailed { ticket, reason: reason() },
        Event::TimedOut { ticket, reason: reason() },
        Event::Interrupted(ticket),
    ];
    for set in [lanes.a, lanes.b, lanes.all] {
        events.push(Event::Flushed(flushed(ticket, set)));
        events.push(Event::Drained(drained(ticket, set)));
    }
    events.extend([Half::Lower, Half::Upper].map(|half| Event::SourcesMoved(moved(ticket, half))));
    events.extend((1..=16).map(|rounds| Event::Vacated(vacated(ticket, rounds))));
    events
}

/// What tells states apart, tickets aside.
fn identity(state: &State) -> String {
    let at = match state {
        State::Failed { at } => at.name(),
        _ => "",
    };
    let plan = state.progress().map(|course| std::ptr::from_ref(course.plan()));
    let place =
        state.progress().map(|course| (course.wave(), course.passed(), course.attempts(), course.is_deferred()));
    format!("{} {at} {plan:?} {place:?}", state.name())
}

/// Every way to take up a plan where an earlier machine may have left it.
fn taken_up(plan: &Arc<Vetted>) -> impl Iterator<Item = Event> {
    let before_swap = |wave: &&Wave| matches!(wave.phase, Phase::Split | Phase::Install);
    let retreats = match plan.plan().scheme() {
        Scheme::Double => plan.plan().waves().iter().take_while(before_swap).count(),
        _ => 0,
    };
    let forward = (0..plan.plan().waves().len()).map(|wave| ChangePosition { wave, call_off: None });
    let back = (0..retreats).map(|wave| ChangePosition { wave, call_off: Some(CallOff::Abort) });
    let plan = plan.clone();
    forward.chain(back).map(move |position| Event::Continue(plan.clone(), position))
}

/// Walks from `steady` through every state that `events` lead to, and tells `seen` each step taken.
fn explore(plans: &[Arc<Vetted>], mut seen: impl FnMut(&State, &Event, &State, &[Command])) {
    let mut known = BTreeSet::new();
    let mut open = vec![State::new()];
    while let Some(state) = open.pop() {
        if !known.insert(identity(&state)) {
            continue;
        }
        let asked = state.progress().map_or(Ticket(0), |course| course.asked());
        let mut events: Vec<Event> = plans.iter().cloned().map(Event::Begin).collect();
        events.extend(plans.iter().flat_map(taken_up));
        events.extend([Event::TopologyChanged, Event::Unfinishable, Event::Abort, Event::Resume]);
        events.extend(answers(asked));
        for event in events {
            let (next, commands) = step(state.clone(), event.clone());
            seen(&state, &event, &next, &commands);
            open.push(next);
        }
    }
}

#[test]
fn the_machine_does_what_the_chart_says_and_nothing_else() {
    let plans: Vec<_> = plans().into_iter().map(|(_, plan)| plan).collect();
    let mut seen = Conformance::default();
    explore(&plans, |from, event, to, commands| {
        seen.meet(from.name(), event.name());
        if commands.is_empty() {
            assert_eq!(identity(from), identity(to), "{} went on {} in silence", from.name(), event.name());
        } else {
            let commands = commands.iter().map(|command| command.name().to_string()).collect();
            seen.take(from.name(), event.name(), to.name(), commands);
        }
    });
    seen.assert_agrees_with(&chart());
}

#[test]
fn an_answer_to_another_question_changes_nothing() {
    let plans: Vec<_> = plans().into_iter().map(|(_, plan)| plan).collect();
    let mut judged = BTreeSet::new();
    explore(&plans, |state, _, _, _| {
        let Some(course) = state.progress() else { return };
        judged.insert(state.name());
        let asked = course.asked();
        for stale in [Ticket(asked.0.wrapping_sub(1)), Ticket(asked.0.wrapping_add(1))] {
            for event in answers(stale) {
                let (next, commands) = step(state.clone(), event);
                assert_eq!((identity(&next), commands), (identity(state), Vec::new()));
                assert_eq!(next.progress().map(|course| course.asked()), Some(asked));
            }
        }
    });
    // No question is open before a change and after its end.
    let closed = ["steady", "completed", "called-off", "cut-short", "abandoned"];
    let states = chart().states.into_iter().map(|state| state.name).filter(|name| !closed.contains(&&**name));
    assert_eq!(judged.into_iter().map(String::from).collect::<BTreeSet<_>>(), states.collect());
}

#[test]
fn a_wave_is_left_by_its_own_barriers_only() {
    let plans: Vec<_> = plans().into_iter().map(|(_, plan)| plan).collect();
    let mut left_on = BTreeSet::new();
    explore(&plans, |from, event, to, _| {
        let (Some(old), Some(new)) = (from.progress(), to.progress()) else { return };
        assert!(new.wave() >= old.wave(), "waves never run backwards");
        let forward = matches!(
            event,
            Event::Acknowledged(_) | Event::Flushed(_) | Event::SourcesMoved(_) | Event::Drained(_) | Event::Vacated(_)
        );
        assert!(new.wave() == old.wave() || forward, "{} left wave {} on {}", from.name(), old.wave(), event.name());
        if new.wave() > old.wave() {
            left_on.insert(event.name());
        }
    });
    assert_eq!(left_on, BTreeSet::from(["acknowledged", "drained", "flushed", "sources-moved", "vacated"]));
}

#[test]
fn no_question_is_asked_under_an_old_ticket() {
    let plans: Vec<_> = plans().into_iter().map(|(_, plan)| plan).collect();
    let mut judged = BTreeSet::new();
    explore(&plans, |from, _, _, commands| {
        let Some(last) = from.progress().map(|course| course.asked()) else { return };
        for (command, ticket) in commands.iter().filter_map(|command| Some((command, ticket_of(command)?))) {
            assert!(ticket > last, "{} asks {ticket:?} after {last:?}", from.name());
            judged.insert(command.name());
        }
    });
    assert_eq!(judged, BTreeSet::from(["apply", "confirm-sources", "drain", "flush", "undo", "vacate"]));
}

fn ticket_of(command: &Command) -> Option<Ticket> {
    match command {
        Command::Apply { ticket, .. }
        | Command::Undo { ticket, .. }
        | Command::Flush { ticket, .. }
        | Command::ConfirmSources { ticket, .. }
        | Command::Drain { ticket, .. }
        | Command::Vacate { ticket, .. } => Some(*ticket),
        Command::Report(_) | Command::Replan | Command::DeferChange | Command::Decline(_) => None,
    }
}

#[test]
fn the_drawings_are_current() {
    assert_page_is_current(&chart());
}

/// A driver in little: carries commands out by asking `world`, and feeds its answers back. Every event that the machine
/// takes goes to `record` first, so that a driver after a crash can take the same way.
async fn drive(
    mut state: State,
    mut events: UnboundedReceiver<Event>,
    world: UnboundedSender<Command>,
    record: &mut Vec<Event>,
) -> (State, Option<Outcome>) {
    while let Some(event) = events.recv().await {
        record.push(event.clone());
        let (next, commands) = step(state, event);
        state = next;
        for command in commands {
            if let Command::Report(outcome) = command {
                return (state, Some(outcome));
            }
            world.send(command).expect("the world outlives the driver");
        }
    }
    (state, None)
}

/// The right answer to a command.
fn obey(command: &Command, new: Half) -> Event {
    match *command {
        Command::Apply { ticket, .. } | Command::Undo { ticket, .. } => Event::Acknowledged(ticket),
        Command::Flush { ticket, lanes } => Event::Flushed(flushed(ticket, lanes)),
        Command::ConfirmSources { ticket, .. } => Event::SourcesMoved(moved(ticket, new)),
        Command::Drain { ticket, lanes, .. } => Event::Drained(drained(ticket, lanes)),
        Command::Vacate { ticket, rounds, .. } => Event::Vacated(vacated(ticket, rounds)),
        Command::Report(_) | Command::Replan | Command::DeferChange | Command::Decline(_) => {
            panic!("{} asks for no answer", command.name())
        }
    }
}

#[test]
fn a_change_goes_through_the_states_that_it_names() {
    let (mut named, mut vacate) = (BTreeMap::new(), 0);
    for (name, plan) in plans() {
        let half = plan.plan().new_half();
        let (mut state, mut commands) = step(State::new(), Event::Begin(plan));
        let mut entered: Vec<&str> = Vec::new();
        while let Some(progress) = state.progress() {
            if !entered.contains(&state.name()) {
                entered.push(state.name());
            }
            assert_eq!(named.entry(name).or_insert_with(|| progress.course()), &progress.course(), "{name}");
            (state, commands) = step(state.clone(), obey(&commands[0], half));
        }
        assert_eq!(named.remove(name).unwrap_or_default(), entered, "{name}");
        vacate += usize::from(entered.contains(&"vacating"));
    }
    assert!(vacate > 1, "{vacate} plans vacate something");
}

#[test]
fn a_driver_waits_for_each_barrier_and_ends_with_the_last() {
    let (tell, events) = unbounded_channel();
    let (world, mut commands) = unbounded_channel();
    let mut record = Vec::new();
    let mut driver = task::spawn(drive(State::new(), events, world, &mut record));
    tell.send(Event::Begin(plan("double"))).unwrap();
    let mut asked = Vec::new();
    let end = loop {
        match driver.poll() {
            std::task::Poll::Ready(end) => break end,
            std::task::Poll::Pending => {}
        }
        let command = commands.try_recv().expect("a driver that waits has asked");
        asked.push(command.name());
        assert_pending!(driver.poll(), "no barrier falls by itself");
        tell.send(obey(&command, Half::Upper)).unwrap();
        assert!(driver.is_woken(), "an answer wakes the driver");
    };
    // Ports that are held are opened in waves of their own.
    let (install, swap) = (["apply"; 3], ["apply"; 4]);
    let wanted = [&["apply", "flush"][..], &install, &swap, &["confirm-sources", "drain", "apply"]].concat();
    assert_eq!((asked, end.1), (wanted, Some(Outcome::Completed)));
}

#[test]
fn a_driver_that_crashed_anywhere_finds_its_way_by_replay() {
    let change = plan("double");
    let questions = 9;
    for crash in 1..=questions {
        let mut record = Vec::new();
        let open = run_until(&change, crash, &mut record);
        let replayed = record.into_iter().fold(State::new(), |state, event| step(state, event).0);
        let (resumed, commands) = step(replayed, Event::Resume);
        let [again] = &commands[..] else { panic!("one question is open, not {commands:?}") };
        assert_eq!(again.name(), open.name(), "crash after question {crash}");
        let end = tokio_test::block_on(finish(resumed, again.clone()));
        assert_eq!(end, Some(Outcome::Completed), "crash after question {crash}");
    }
}

/// Runs until question number `crash` is open, then drops the driver where it stands; returns that question.
fn run_until(change: &Arc<Vetted>, crash: usize, record: &mut Vec<Event>) -> Command {
    let (tell, events) = unbounded_channel();
    let (world, mut commands) = unbounded_channel();
    let mut driver = task::spawn(drive(State::new(), events, world, record));
    tell.send(Event::Begin(change.clone())).unwrap();
    for _ in 1..crash {
        assert_pending!(driver.poll());
        tell.send(obey(&commands.try_recv().unwrap(), Half::Upper)).unwrap();
    }
    assert_pending!(driver.poll());
    commands.try_recv().unwrap()
}

/// Answers every question rightly from `first` on.
async fn finish(state: State, first: Command) -> Option<Outcome> {
    let (tell, events) = unbounded_channel();
    let (world, mut commands) = unbounded_channel();
    tell.send(obey(&first, Half::Upper)).unwrap();
    let world_answers = async {
        while let Some(command) = commands.recv().await {
            tell.send(obey(&command, Half::Upper)).unwrap();
        }
    };
    let mut record = Vec::new();
    let (end, ()) = tokio::join!(drive(state, events, world, &mut record), world_answers);
    end.1
}

#[test]
fn a_topology_change_before_the_swap_calls_off_and_after_it_waits() {
    let change = plan("double");
    let mut ends = BTreeMap::new();
    for moment in 1..=12 {
        let mut record = Vec::new();
        let open = run_until(&change, moment, &mut record);
        let state = record.into_iter().fold(State::new(), |state, event| step(state, event).0);
        let phase = state.name();
        let (mut state, mut commands) = step(state, Event::TopologyChanged);
        if commands == [Command::DeferChange] {
            commands = vec![open];
        }
        while ticket_of(&commands[0]).is_some() {
            let answer = obey(&commands[0], Half::Upper);
            (state, commands) = step(state, answer);
        }
        assert_eq!(commands[1], Command::Replan, "what was put off is looked at in the end");
        ends.insert(phase, (state.name(), commands.swap_remove(0)));
    }
    let back = ("called-off", Command::Report(Outcome::CalledOff(CallOff::TopologyChanged)));
    let made = ("completed", Command::Report(Outcome::Completed));
    let wanted = [("splitting", &back), ("flushing", &back), ("installing", &back)].into_iter();
    let later = ["swapping", "moving", "draining", "restoring"].map(|phase| (phase, &made));
    assert_eq!(ends, wanted.chain(later).map(|(phase, end)| (phase, end.clone())).collect());
}

#[test]
fn a_swap_that_fails_stands_still_and_goes_on_when_resumed() {
    let (tell, events) = unbounded_channel();
    let (world, mut commands) = unbounded_channel();
    let mut record = Vec::new();
    let mut driver = task::spawn(drive(State::new(), events, world, &mut record));
    tell.send(Event::Begin(plan("double, nothing to install"))).unwrap();
    for _ in 0..2 {
        assert_pending!(driver.poll());
        tell.send(obey(&commands.try_recv().unwrap(), Half::Upper)).unwrap();
    }
    for _ in 0..3 {
        assert_pending!(driver.poll(), "the swap is tried three times");
        let ticket = ticket_of(&commands.try_recv().unwrap()).expect("the swap is a question");
        tell.send(Event::WriteFailed { ticket, reason: "host-3[1] does not answer".into() }).unwrap();
    }
    let (state, outcome) = assert_ready!(driver.poll());
    let reason = "host-3[1] does not answer".to_string();
    assert_eq!(outcome, Some(Outcome::Failed { state: "swapping", reason }));
    let (resumed, commands) = step(state, Event::Resume);
    assert_eq!(resumed.name(), "swapping");
    assert_eq!(tokio_test::block_on(finish(resumed, commands[0].clone())), Some(Outcome::Completed));
}
