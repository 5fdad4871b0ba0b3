//! The manager's life against its chart, and what holds in every state.

use crate::support::chart::Chart;
use crate::support::conformance::{Conformance, assert_page_is_current};
use crate::support::removal::Removal;
use reconfig::change::{Prepared, prepare};
use reconfig::driver::ChangeRecord;
use reconfig::fabric::{NodeId, PortId};
use reconfig::machine::{CallOff, Outcome};
use reconfig::plan::Scheme;
use reconfig::sm::lifecycle::{
    Goal, LifecycleCommand, LifecycleEvent, LifecycleInput, LifecycleState, Mandate, Purpose, Reaction, RetiredHalf,
    Unfinished, begin, step,
};
use reconfig::sm::{FoundElement, OrderAnswer, OrderId};

const ORDER: OrderId = OrderId(7);
const MANDATES: [Mandate; 3] = [Mandate::Silent, Mandate::Finish, Mandate::Full];

fn chart() -> Chart {
    Chart::parse(include_str!("../state-machines/lifecycle.yaml")).expect("state-machines/lifecycle.yaml can be read")
}

fn prepared() -> Prepared {
    let subnet = crate::support::brought_up::bring_up(&crate::support::bundled::bundled("ring-8"), 1, true);
    let prepared = prepare(crate::support::removal::removal(&subnet, Scheme::Double, Removal::Planned));
    // As if the root had no hosts: who is cut off is asked about elsewhere.
    Prepared { stranded: Vec::new(), ..prepared.unwrap_or_else(|error| panic!("{error}")) }
}

/// Every way a change can end.
fn outcomes() -> Vec<Outcome> {
    let reason = || "no answer".to_string();
    vec![
        Outcome::Completed,
        Outcome::CalledOff(CallOff::TopologyChanged),
        Outcome::CalledOff(CallOff::Abort),
        Outcome::CalledOff(CallOff::Failure(reason())),
        Outcome::Failed { state: "draining", reason: reason() },
        Outcome::Abandoned { state: "draining" },
    ]
}

fn record(prepared: &Prepared, outcome: Outcome) -> LifecycleEvent {
    let (phases, plan) = (Vec::new(), prepared.plan.clone());
    let (routed_by, stranded, not_held) = (prepared.routed_by, Vec::new(), Vec::new());
    LifecycleEvent::Changed(Box::new(ChangeRecord {
        outcome,
        sweep: None,
        phases,
        restarts: 0,
        plans: vec![plan.clone()],
        plan,
        routed_by,
        stranded,
        not_held,
    }))
}

fn removal(goal: Goal, dry_run: bool, cut_off_meant: bool) -> LifecycleEvent {
    let element = FoundElement::Node(NodeId(0));
    LifecycleEvent::RemovalOrdered { order: ORDER, element, dry_run, cut_off_meant, goal }
}

fn events(prepared: &Prepared) -> Vec<LifecycleEvent> {
    let goal = Goal { fabric: prepared.plan.plan().draft().after.clone(), why: "1 nodes and 2 cables go".to_string() };
    let removal = |dry_run| removal(goal.clone(), dry_run, false);
    let cutting_off = || Prepared { stranded: vec![PortId(0)], ..prepared.clone() };
    let mut events = vec![
        LifecycleEvent::Looked,
        LifecycleEvent::BroughtUp(RetiredHalf::Current),
        LifecycleEvent::BroughtUp(RetiredHalf::Stale { reopen: true }),
        LifecycleEvent::Glanced(Some(goal.clone())),
        LifecycleEvent::Glanced(None),
        LifecycleEvent::Surveyed,
        LifecycleEvent::Mirrored,
        LifecycleEvent::SetUp(None),
        LifecycleEvent::SetUp(Some(goal.clone())),
        LifecycleEvent::Prepared(Box::new(prepared.clone())),
        LifecycleEvent::Prepared(Box::new(cutting_off())),
        LifecycleEvent::Failed("a switch is silent".to_string()),
        LifecycleEvent::Noticed,
        LifecycleEvent::Due,
        LifecycleEvent::Summoned,
        LifecycleEvent::Deposed,
        LifecycleEvent::Ordered(ORDER),
        removal(false),
        removal(true),
        LifecycleEvent::StopOrdered,
    ];
    events.extend(outcomes().into_iter().map(|outcome| record(prepared, outcome)));
    events
}

/// Just after the time that the state waits for, else at no particular time.
fn input(state: &LifecycleState, mandate: Mandate) -> LifecycleInput {
    LifecycleInput { now_ns: state.due_ns().map_or(1_000, |due_ns| due_ns + 1), mandate }
}

/// The state with every time that it waits for, and what only such times follow from, put to nought.
fn timeless(state: LifecycleState) -> LifecycleState {
    let still =
        |unfinished: Unfinished| Unfinished { retry_ns: unfinished.retry_ns.map(|_| 0), failures: 0, ..unfinished };
    let again = |reaction: Reaction| Reaction { failures: 0, ..reaction };
    let purpose = |purpose| match purpose {
        Purpose::Remove { order, element, dry_run, cut_off_meant, unfinished } => {
            Purpose::Remove { order, element, dry_run, cut_off_meant, unfinished: still(unfinished) }
        }
        Purpose::React(reaction) => Purpose::React(again(reaction)),
        Purpose::Glanced(reaction) => Purpose::Glanced(again(reaction)),
    };
    match state {
        LifecycleState::BackingOff { .. } => LifecycleState::BackingOff { until_ns: 0 },
        LifecycleState::Idle(unfinished) => LifecycleState::Idle(still(unfinished)),
        LifecycleState::Halted { unfinished, in_vain, removes } => {
            LifecycleState::Halted { unfinished: still(unfinished), in_vain, removes }
        }
        LifecycleState::Surveying(reaction) => LifecycleState::Surveying(again(reaction)),
        LifecycleState::Mirroring(reaction) => LifecycleState::Mirroring(again(reaction)),
        LifecycleState::SettingUp(reaction) => LifecycleState::SettingUp(again(reaction)),
        LifecycleState::Resuming { reaction, in_vain, removes } => {
            LifecycleState::Resuming { reaction: again(reaction), in_vain, removes }
        }
        LifecycleState::Preparing(of) => LifecycleState::Preparing(purpose(of)),
        LifecycleState::Changing(of) => LifecycleState::Changing(purpose(of)),
        other => other,
    }
}

/// One step taken.
struct Step<'a> {
    from: LifecycleState,
    event: &'a LifecycleEvent,
    at: LifecycleInput,
    to: LifecycleState,
    commands: Vec<LifecycleCommand>,
}

impl Step<'_> {
    fn names(&self) -> Vec<&'static str> {
        self.commands.iter().map(LifecycleCommand::name).collect()
    }
}

/// Walks through every state that events lead to under every mandate, and tells `seen` each step taken.
fn explore(mut seen: impl FnMut(&Step<'_>)) {
    let events = events(&prepared());
    let mut known = Vec::new();
    let mut open = vec![begin().0];
    while let Some(from) = open.pop() {
        if known.contains(&timeless(from)) {
            continue;
        }
        known.push(timeless(from));
        for event in &events {
            for mandate in MANDATES {
                let at = input(&from, mandate);
                let (to, commands) = step(from, event.clone(), at);
                seen(&Step { from, event, at, to, commands });
                open.push(to);
            }
        }
    }
}

/// The commands that an event answers.
const QUESTIONS: [&str; 9] =
    ["look", "bring-up", "glance", "survey", "mirror", "set-up", "prepare", "change", "resume"];
/// The states in which nothing is asked, and orders and the election are heard.
const WAITING: [&str; 5] = ["standby", "backing-off", "idle", "halted", "stopped"];

fn waits(state: &LifecycleState) -> bool {
    WAITING.contains(&state.name())
}

#[test]
fn the_lifecycle_does_what_the_chart_says_and_nothing_else() {
    let mut seen = Conformance::default();
    explore(|step| {
        seen.meet(step.from.name(), step.event.name());
        if step.from != step.to || !step.commands.is_empty() {
            let commands = step.names().into_iter().map(String::from).collect();
            seen.take(step.from.name(), step.event.name(), step.to.name(), commands);
        }
    });
    seen.assert_agrees_with(&chart());
}

#[test]
fn the_drawing_is_current() {
    assert_page_is_current(&chart());
}

#[test]
fn one_question_is_open_in_every_state_that_does_not_wait() {
    explore(|step| {
        let names = step.names();
        let questions = names.iter().filter(|name| QUESTIONS.contains(name)).count();
        let last = names.last().is_some_and(|name| QUESTIONS.contains(name));
        // A survey after a glance is of the same state: it surveys.
        let (heard, asks) = (step.from != step.to || !names.is_empty(), !waits(&step.to));
        let wanted = usize::from(asks && heard);
        assert_eq!((questions, last), (wanted, wanted == 1), "{:?} on {}: {names:?}", step.from, step.event.name());
    });
}

#[test]
fn the_subnet_is_changed_under_a_full_mandate_only() {
    explore(|step| {
        let names = step.names();
        let does = |command| names.contains(&command);
        assert!(!does("bring-up") || step.at.mandate >= Mandate::Finish, "{:?}", step.from);
        // Between a survey or a glance and the end of its change the election is not heard.
        let begins = does("mirror") || does("set-up") || does("prepare");
        let begins = begins && ["surveyed", "glanced"].contains(&step.event.name());
        assert!(!begins || step.at.mandate == Mandate::Full, "{:?}", step.from);
        assert!(step.event.name() != "removal-ordered" || !does("prepare") || step.at.mandate == Mandate::Full);
    });
}

/// Which ports bounced is known from the last sweep: on the word of a glance they would be set up for what they were.
#[test]
fn nothing_is_set_up_before_a_survey() {
    explore(|step| {
        let sets_up = step.names().contains(&"set-up") || step.names().contains(&"mirror");
        assert!(!sets_up || ["surveyed", "mirrored"].contains(&step.event.name()), "{:?}", step.from);
    });
}

/// What a glance shows may be half of what happened.
#[test]
fn a_change_that_cannot_be_made_after_a_glance_is_followed_by_a_survey_at_once() {
    let at = LifecycleInput { now_ns: 1, mandate: Mandate::Full };
    let (failed, prepared) = (|| LifecycleEvent::Failed("no way is left".to_string()), prepared());
    let goal = Goal { fabric: prepared.plan.plan().draft().after.clone(), why: "1 nodes and 2 cables go".to_string() };
    let idle = LifecycleState::Idle(Unfinished { retry_ns: None, failures: 0, retired: RetiredHalf::Current });
    let surveying = step(idle, LifecycleEvent::Noticed, at).0;
    let preparing = step(surveying, LifecycleEvent::Glanced(Some(goal.clone())), at).0;
    let changing = step(preparing, LifecycleEvent::Prepared(Box::new(prepared)), at).0;
    for state in [preparing, changing] {
        let (mut state, commands) = step(state, failed(), at);
        let names: Vec<&str> = commands.iter().map(LifecycleCommand::name).collect();
        assert_eq!((state.name(), &names[..]), ("surveying", &["report", "survey"][..]));
        // The survey has shown the rest: what still fails waits.
        let found = [LifecycleEvent::Surveyed, LifecycleEvent::Mirrored, LifecycleEvent::SetUp(Some(goal.clone()))];
        for event in found.into_iter().chain([failed()]) {
            state = step(state, event, at).0;
        }
        assert_eq!(state.name(), "idle");
        assert!(state.due_ns().is_some_and(|due_ns| due_ns > at.now_ns), "{state:?}");
    }
}

/// As `plan` and `simulate`, an order asks before it cuts off anybody; a loss has done so already.
#[test]
fn a_removal_that_cuts_off_end_ports_is_made_only_if_that_is_meant() {
    let at = LifecycleInput { now_ns: 1, mandate: Mandate::Full };
    let whole = prepared();
    let goal = Goal { fabric: whole.plan.plan().draft().after.clone(), why: "leaf-1 is set aside".to_string() };
    let idle = LifecycleState::Idle(Unfinished { retry_ns: None, failures: 0, retired: RetiredHalf::Current });
    let sm = whole.plan.plan().draft().sm;
    let name = whole.plan.plan().draft().before.describe_port(sm);
    let cutting_off = Prepared { stranded: vec![sm], ..whole };
    for (dry_run, meant) in [(false, false), (true, false), (false, true), (true, true)] {
        let preparing = step(idle, removal(goal.clone(), dry_run, meant), at).0;
        let (state, commands) = step(preparing, LifecycleEvent::Prepared(Box::new(cutting_off.clone())), at);
        match (dry_run, meant) {
            (_, false) => {
                let [LifecycleCommand::Answer(ORDER, OrderAnswer::CutsOff(ports))] = &commands[..] else {
                    panic!("{commands:?}")
                };
                assert_eq!((state, &ports[..]), (idle, &[name.clone()][..]));
            }
            (true, true) => {
                let [LifecycleCommand::Answer(ORDER, OrderAnswer::Planned { stranded, .. })] = &commands[..] else {
                    panic!("{commands:?}")
                };
                assert_eq!((state, &stranded[..]), (idle, &[name.clone()][..]));
            }
            (false, true) => assert_eq!(state.name(), "changing"),
        }
    }
    for glanced in [true, false] {
        let surveying = step(idle, LifecycleEvent::Noticed, at).0;
        let preparing = match glanced {
            true => step(surveying, LifecycleEvent::Glanced(Some(goal.clone())), at).0,
            false => {
                let set_up = step(step(surveying, LifecycleEvent::Glanced(None), at).0, LifecycleEvent::Surveyed, at).0;
                step(set_up, LifecycleEvent::SetUp(Some(goal.clone())), at).0
            }
        };
        let changing = step(preparing, LifecycleEvent::Prepared(Box::new(cutting_off.clone())), at).0;
        assert_eq!(changing.name(), "changing", "glanced: {glanced}");
    }
}

/// Between a removal and the mirror that follows it the next order waits; a mirror that failed holds nothing up.
#[test]
fn the_retired_half_follows_before_the_next_order_is_taken() {
    let at = LifecycleInput { now_ns: 1, mandate: Mandate::Full };
    let prepared = prepared();
    let goal = Goal { fabric: prepared.plan.plan().draft().after.clone(), why: "spine-1 is set aside".to_string() };
    let idle = LifecycleState::Idle(Unfinished { retry_ns: Some(1), failures: 0, retired: RetiredHalf::Current });
    assert!(!idle.precedes_orders(at.now_ns), "orders come before a survey that mirrors nothing");
    let preparing = step(idle, removal(goal, false, false), at).0;
    let changing = step(preparing, LifecycleEvent::Prepared(Box::new(prepared.clone())), at).0;
    let removed = step(changing, record(&prepared, Outcome::Completed), at).0;
    assert!(removed.precedes_orders(at.now_ns), "{removed:?}");
    let mirroring = step(step(removed, LifecycleEvent::Due, at).0, LifecycleEvent::Surveyed, at).0;
    assert_eq!(mirroring.name(), "mirroring");
    let failed = step(mirroring, LifecycleEvent::Failed("a switch is silent".to_string()), at).0;
    assert!(!failed.precedes_orders(at.now_ns), "{failed:?}");
    let followed = step(step(mirroring, LifecycleEvent::Mirrored, at).0, LifecycleEvent::SetUp(None), at).0;
    assert!(!followed.precedes_orders(at.now_ns), "{followed:?}");
}

/// A removal that stands still and is made later is a removal all the same.
#[test]
fn what_a_removal_removes_is_set_aside_however_late_it_is_made() {
    let at = |now_ns| LifecycleInput { now_ns, mandate: Mandate::Full };
    let prepared = prepared();
    let goal = Goal { fabric: prepared.plan.plan().draft().after.clone(), why: "spine-1 is set aside".to_string() };
    let idle = LifecycleState::Idle(Unfinished { retry_ns: None, failures: 0, retired: RetiredHalf::Current });
    let preparing = step(idle, removal(goal, false, false), at(1)).0;
    let mut state = step(preparing, LifecycleEvent::Prepared(Box::new(prepared.clone())), at(1)).0;
    let failed = || Outcome::Failed { state: "draining", reason: "no answer".to_string() };
    for (outcome, sets_aside) in [(failed(), false), (failed(), false), (Outcome::Completed, true)] {
        if let Some(due_ns) = state.due_ns() {
            state = step(state, LifecycleEvent::Due, at(due_ns)).0;
        }
        let (next, commands) = step(state, record(&prepared, outcome), at(2));
        let is_it = |command: &LifecycleCommand| {
            let LifecycleCommand::SetAside(element) = command else { return false };
            *element == FoundElement::Node(NodeId(0))
        };
        assert_eq!(commands.iter().any(is_it), sets_aside, "{state:?}: {commands:?}");
        state = next;
    }
    assert_eq!(state.name(), "surveying");
}

/// What fails again and again is tried less and less often, and at once when something happens.
#[test]
fn the_pause_after_a_failure_doubles_up_to_a_minute() {
    let at = |now_ns| LifecycleInput { now_ns, mandate: Mandate::Full };
    let idle = LifecycleState::Idle(Unfinished { retry_ns: Some(0), failures: 0, retired: RetiredHalf::Current });
    let failed = || LifecycleEvent::Failed("no room".to_string());
    let (mut state, mut now_ns, mut pauses) = (idle, 0, Vec::new());
    for _ in 0..7 {
        state = step(step(state, LifecycleEvent::Due, at(now_ns)).0, failed(), at(now_ns)).0;
        let due_ns = state.due_ns().expect("it is tried again");
        pauses.push((due_ns - now_ns) / 1_000_000_000);
        now_ns = due_ns;
    }
    assert_eq!(pauses, [5, 10, 20, 40, 60, 60, 60]);
    state = step(step(state, LifecycleEvent::Noticed, at(now_ns)).0, failed(), at(now_ns)).0;
    assert_eq!(state.due_ns(), Some(now_ns + 5_000_000_000));
}

/// The order that a state has yet to answer.
fn owed(state: &LifecycleState) -> usize {
    let by_order = |reaction: &Reaction| usize::from(reaction.order.is_some());
    match state {
        LifecycleState::Surveying(reaction)
        | LifecycleState::Mirroring(reaction)
        | LifecycleState::SettingUp(reaction)
        | LifecycleState::Resuming { reaction, .. }
        | LifecycleState::Preparing(Purpose::React(reaction) | Purpose::Glanced(reaction))
        | LifecycleState::Changing(Purpose::React(reaction) | Purpose::Glanced(reaction)) => by_order(reaction),
        LifecycleState::Preparing(Purpose::Remove { .. }) | LifecycleState::Changing(Purpose::Remove { .. }) => 1,
        _ => 0,
    }
}

#[test]
fn every_order_is_answered_once() {
    explore(|step| {
        // An order is resolved to an element only while the subnet is up.
        let up = matches!(step.from.name(), "idle" | "halted");
        let ordered = match step.event.name() {
            "ordered" => up || matches!(step.from.name(), "standby" | "backing-off"),
            "removal-ordered" => up,
            _ => false,
        };
        let answers = step.names().iter().filter(|name| **name == "answer").count();
        let (before, after) = (owed(&step.from) + usize::from(ordered), owed(&step.to) + answers);
        assert_eq!(before, after, "{:?} on {}", step.from, step.event.name());
    });
}

#[test]
fn what_is_left_to_do_is_done_without_an_event() {
    explore(|step| {
        let tried_again = match step.to {
            LifecycleState::Halted { unfinished, .. } => unfinished.retry_ns.is_some(),
            LifecycleState::Idle(idle) if step.names().contains(&"report") => idle.retry_ns.is_some(),
            _ => true,
        };
        assert!(tried_again, "{:?} on {}: {:?}", step.from, step.event.name(), step.to);
        let early = LifecycleInput { now_ns: step.from.due_ns().map_or(0, |due_ns| due_ns - 1), ..step.at };
        let waits_on = reconfig::sm::lifecycle::step(step.from, LifecycleEvent::Due, early);
        assert_eq!((waits_on.0, waits_on.1.len()), (step.from, 0), "{:?} before its time", step.from);
    });
}

#[test]
fn only_a_mirror_makes_the_retired_half_current_again() {
    explore(|step| {
        let stale = |state: &LifecycleState| match state {
            LifecycleState::Idle(unfinished) | LifecycleState::Halted { unfinished, .. } => {
                Some(unfinished.retired != RetiredHalf::Current)
            }
            LifecycleState::Surveying(reaction)
            | LifecycleState::SettingUp(reaction)
            | LifecycleState::Mirroring(reaction)
            | LifecycleState::Resuming { reaction, .. }
            | LifecycleState::Preparing(Purpose::React(reaction) | Purpose::Glanced(reaction))
            | LifecycleState::Changing(Purpose::React(reaction) | Purpose::Glanced(reaction)) => {
                Some(reaction.retired != RetiredHalf::Current)
            }
            LifecycleState::Preparing(Purpose::Remove { unfinished, .. })
            | LifecycleState::Changing(Purpose::Remove { unfinished, .. }) => {
                Some(unfinished.retired != RetiredHalf::Current)
            }
            _ => None,
        };
        match (stale(&step.from), stale(&step.to)) {
            (Some(true), Some(false)) => assert_eq!(step.event.name(), "mirrored"),
            (Some(false), Some(true)) => assert!(step.names().contains(&"change"), "{:?}", step.from),
            _ => {}
        }
        let mirrors = step.names().contains(&"mirror");
        assert!(!mirrors || stale(&step.from) == Some(true), "a mirror that nothing called for");
    });
}

#[test]
fn a_subnet_that_always_changes_is_listened_to_after_eight_changes() {
    let prepared = prepared();
    let goal = || Goal { fabric: prepared.plan.plan().draft().after.clone(), why: "cables go and come".to_string() };
    let at = LifecycleInput { now_ns: 1, mandate: Mandate::Full };
    let idle = Unfinished { retry_ns: None, failures: 0, retired: RetiredHalf::Current };
    let (mut state, mut commands) = step(LifecycleState::Idle(idle), LifecycleEvent::Ordered(ORDER), at);
    let mut changes = 0;
    while let Some(question) = commands.last().map(LifecycleCommand::name).filter(|name| QUESTIONS.contains(name)) {
        let event = match question {
            "survey" => LifecycleEvent::Surveyed,
            "mirror" => LifecycleEvent::Mirrored,
            "set-up" => LifecycleEvent::SetUp(Some(goal())),
            "prepare" => LifecycleEvent::Prepared(Box::new(prepared.clone())),
            "change" => record(&prepared, Outcome::Completed),
            other => panic!("{other}"),
        };
        changes += u32::from(question == "change");
        (state, commands) = step(state, event, at);
    }
    assert_eq!((changes, state.name()), (8, "idle"));
    assert!(state.due_ns().is_some(), "and surveyed again");
    assert!(matches!(commands.last(), Some(LifecycleCommand::Answer(ORDER, OrderAnswer::Nothing))));
}
