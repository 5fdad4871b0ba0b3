//! The manager's life against its chart, and what holds in every state.

use crate::support::chart::Chart;
use crate::support::conformance::{Conformance, assert_page_is_current};
use crate::support::removal::Removal;
use LifecycleCommand as C;
use reconfig::change::{Prepared, prepare};
use reconfig::driver::ChangeRecord;
use reconfig::fabric::{NodeId, PortId};
use reconfig::machine::{CallOff, Outcome};
use reconfig::plan::Scheme;
use reconfig::sm::lifecycle::{
    BringUpAttempt, Goal, LifecycleCommand, LifecycleEvent, LifecycleInput, LifecycleState, Mandate, Purpose, Reaction,
    RetiredHalf, Unfinished, begin, step,
};
use reconfig::sm::{FoundElement, OrderAnswer, OrderId};

const ORDER: OrderId = OrderId(7);
const MANDATES: [Mandate; 4] = [Mandate::Silent, Mandate::Guard, Mandate::Finish, Mandate::Full];
const S: u64 = 1_000_000_000;
/// After the moment that a state waits for: at once, and when what has failed has failed for long enough.
const LATER_NS: [u64; 2] = [1, 70 * S];

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
        Outcome::CutShort,
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
        made: Vec::new(),
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
    let goal = Goal { fabric: prepared.plan.plan().draft().after.clone(), why: "host-1 and its cable go".to_string() };
    let removal = |dry_run| removal(goal.clone(), dry_run, false);
    let cutting_off = || Prepared { stranded: vec![PortId(0)], ..prepared.clone() };
    let mut events = vec![
        LifecycleEvent::Looked,
        LifecycleEvent::RecoveryBegun,
        LifecycleEvent::StoodStill { own_failures: 0 },
        LifecycleEvent::StoodStill { own_failures: 2 },
        LifecycleEvent::BroughtUp(RetiredHalf::Current),
        LifecycleEvent::BroughtUp(RetiredHalf::Stale { reopen: true, since_ns: None }),
        LifecycleEvent::Glanced(Some(goal.clone())),
        LifecycleEvent::Glanced(None),
        LifecycleEvent::Surveyed,
        LifecycleEvent::Mirrored,
        LifecycleEvent::SetUp(None),
        LifecycleEvent::SetUp(Some(goal.clone())),
        LifecycleEvent::Prepared(Box::new(prepared.clone())),
        LifecycleEvent::Prepared(Box::new(cutting_off())),
        LifecycleEvent::Unreached,
        LifecycleEvent::Failed("a switch is silent".to_string()),
        LifecycleEvent::Refused(Some("nothing proves it".to_string())),
        LifecycleEvent::Refused(None),
        LifecycleEvent::Noticed,
        LifecycleEvent::OwnPartFails,
        LifecycleEvent::Due,
        LifecycleEvent::SweepRequested,
        LifecycleEvent::MastershipLost,
        LifecycleEvent::Ordered(ORDER),
        removal(false),
        removal(true),
        LifecycleEvent::StopOrdered,
    ];
    events.extend(outcomes().into_iter().map(|outcome| record(prepared, outcome)));
    events
}

/// So long after the time that the state waits for, else at no particular time.
fn input(state: &LifecycleState, mandate: Mandate, later_ns: u64) -> LifecycleInput {
    LifecycleInput { now_ns: state.due_ns().unwrap_or(1_000) + later_ns, mandate }
}

/// The state with every time in it put to one, and what only lengthens pauses to no more than one.
fn timeless(state: LifecycleState) -> LifecycleState {
    let half = |retired| match retired {
        RetiredHalf::Stale { reopen, since_ns } => RetiredHalf::Stale { reopen, since_ns: since_ns.map(|_| 1) },
        RetiredHalf::Current => RetiredHalf::Current,
    };
    let still = |unfinished: Unfinished| Unfinished {
        retry_ns: unfinished.retry_ns.map(|_| 1),
        failures: 0,
        retired: half(unfinished.retired),
    };
    let react = |reaction: Reaction| Reaction { retired: half(reaction.retired), failures: 0, ..reaction };
    let purpose = |purpose| match purpose {
        Purpose::React(reaction) => Purpose::React(react(reaction)),
        Purpose::Glanced(reaction) => Purpose::Glanced(react(reaction)),
        Purpose::Remove { order, element, dry_run, cut_off_meant, unfinished } => {
            Purpose::Remove { order, element, dry_run, cut_off_meant, unfinished: still(unfinished) }
        }
    };
    let bring_up = |attempt: BringUpAttempt| BringUpAttempt {
        refused: attempt.refused.min(1),
        stands_since_ns: attempt.stands_since_ns.map(|_| 1),
        ..attempt
    };
    match state {
        LifecycleState::Looking(attempt) => LifecycleState::Looking(bring_up(attempt)),
        LifecycleState::BringingUp(attempt) => LifecycleState::BringingUp(bring_up(attempt)),
        LifecycleState::BackingOff { attempt, .. } => {
            LifecycleState::BackingOff { until_ns: 1, attempt: bring_up(attempt) }
        }
        LifecycleState::Idle(unfinished) => LifecycleState::Idle(still(unfinished)),
        LifecycleState::Halted { unfinished, removes, .. } => {
            LifecycleState::Halted { unfinished: still(unfinished), since_ns: 1, removes }
        }
        LifecycleState::Resuming { reaction, removes, .. } => {
            LifecycleState::Resuming { reaction: react(reaction), since_ns: 1, removes }
        }
        LifecycleState::Surveying(reaction) => LifecycleState::Surveying(react(reaction)),
        LifecycleState::Mirroring(reaction) => LifecycleState::Mirroring(react(reaction)),
        LifecycleState::SettingUp(reaction) => LifecycleState::SettingUp(react(reaction)),
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
        let from = timeless(from);
        if known.contains(&from) {
            continue;
        }
        known.push(from);
        for event in &events {
            for (mandate, later_ns) in MANDATES.into_iter().flat_map(|own| LATER_NS.map(|later_ns| (own, later_ns))) {
                let at = input(&from, mandate, later_ns);
                let (to, commands) = step(from, event.clone(), at);
                seen(&Step { from, event, at, to, commands });
                open.push(to);
            }
        }
    }
}

/// Whether a step does what the pattern of a command says.
macro_rules! does {
    ($step:expr, $command:pat) => {
        $step.commands.iter().any(|command| matches!(command, $command))
    };
}

/// Whether an event answers the command.
fn asks(command: &LifecycleCommand) -> bool {
    let sweeps = matches!(command, C::Look | C::BringUp | C::Glance | C::Survey | C::Mirror { .. } | C::SetUp);
    sweeps || matches!(command, C::Prepare(_) | C::Change(_) | C::Resume)
}

/// Whether nothing is asked in a state, and orders and the election are heard.
fn waits(state: &LifecycleState) -> bool {
    matches!(
        state,
        LifecycleState::Standby
            | LifecycleState::BackingOff { .. }
            | LifecycleState::Idle(_)
            | LifecycleState::Halted { .. }
            | LifecycleState::Stopped
    )
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
        let questions = step.commands.iter().filter(|command| asks(command)).count();
        let last = step.commands.last().is_some_and(asks);
        // A survey after a glance is of the same state: it surveys.
        let heard = step.from != step.to || !step.commands.is_empty();
        // The bring-up goes on, and its answer is still awaited.
        let notes = matches!(step.event, LifecycleEvent::RecoveryBegun | LifecycleEvent::StoodStill { .. });
        let wanted = usize::from(heard && !notes && !waits(&step.to));
        let (from, on, names) = (step.from, step.event.name(), step.names());
        assert_eq!((questions, last), (wanted, wanted == 1), "{from:?} on {on}: {names:?}");
    });
}

#[test]
fn the_subnet_is_changed_under_a_full_mandate_only() {
    explore(|step| {
        assert!(!does!(step, C::BringUp) || step.at.mandate >= Mandate::Finish, "{:?}", step.from);
        // Between a survey or a glance and the end of its change the election is not heard.
        let heard = matches!(step.event, LifecycleEvent::Surveyed | LifecycleEvent::Glanced(_));
        assert!(!heard || !does!(step, C::SetUp) || step.at.mandate == Mandate::Full, "{:?}", step.from);
        // The retired half is ended with its change.
        assert!(!heard || !does!(step, C::Mirror { .. }) || step.at.mandate >= Mandate::Finish, "{:?}", step.from);
        assert!(!heard || !does!(step, C::Prepare(_)) || step.at.mandate == Mandate::Full, "{:?}", step.from);
        // A loss waits for no other manager, and that one may have written.
        let is_lost =
            matches!((&step.from, step.event), (LifecycleState::Surveying(_), LifecycleEvent::Glanced(Some(_))));
        let looks = matches!(&step.commands[..], [.., C::StepDown, C::Look]);
        assert!(!is_lost || looks == (step.at.mandate == Mandate::Guard), "{:?}: {:?}", step.from, step.names());
        let least = match step.from {
            LifecycleState::Preparing(Purpose::Remove { .. }) => Mandate::Full,
            _ => Mandate::Finish,
        };
        let begins = does!(step, C::Change(_)) && matches!(step.event, LifecycleEvent::Prepared(_));
        assert!(!begins || step.at.mandate >= least, "{:?} under {:?}", step.from, step.at.mandate);
        let is_ordered = matches!(step.event, LifecycleEvent::RemovalOrdered { .. });
        assert!(!is_ordered || !does!(step, C::Prepare(_)) || step.at.mandate == Mandate::Full);
    });
}

/// Which ports bounced is known from the last sweep: on the word of a glance they would be set up for what they were.
#[test]
fn nothing_is_set_up_before_a_survey() {
    explore(|step| {
        let sets_up = does!(step, C::SetUp | C::Mirror { .. });
        assert!(
            !sets_up || matches!(step.event, LifecycleEvent::Surveyed | LifecycleEvent::Mirrored),
            "{:?}",
            step.from
        );
    });
}

/// What a glance shows may be half of what happened.
#[test]
fn a_change_that_cannot_be_made_after_a_glance_is_followed_by_a_survey_at_once() {
    let at = LifecycleInput { now_ns: 1, mandate: Mandate::Full };
    let (failed, prepared) = (|| LifecycleEvent::Failed("no way is left".to_string()), prepared());
    let goal = Goal { fabric: prepared.plan.plan().draft().after.clone(), why: "host-1 and its cable go".to_string() };
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
        let (preparing, prepares) = step(idle, removal(goal.clone(), dry_run, meant), at);
        assert!(matches!(&prepares[..], [LifecycleCommand::Prepare(_)]), "it may be refused yet: {prepares:?}");
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
            (false, true) => {
                let [LifecycleCommand::Announce(why), LifecycleCommand::Change(_)] = &commands[..] else {
                    panic!("{commands:?}")
                };
                assert!(why.ends_with(" is set aside"), "{why}");
                assert_eq!(state.name(), "changing");
            }
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

/// What is refused waits for a user or a device, so it is tried less and less often, and soon after an event.
#[test]
fn the_pause_after_a_refusal_doubles_until_the_subnet_reports_a_change() {
    let refused = || LifecycleEvent::Refused(None);
    let again = |state: LifecycleState, now_ns| {
        let looking = stepped(state, LifecycleEvent::Due, now_ns, Mandate::Full).0;
        stepped(looking, LifecycleEvent::Looked, now_ns, Mandate::Full).0
    };
    let (mut state, mut now_ns, mut pauses) = (LifecycleState::BringingUp(BringUpAttempt::default()), 0, Vec::new());
    for attempt in 0..12 {
        state = stepped(state, refused(), now_ns, Mandate::Full).0;
        if attempt == 6 {
            // A second event does not put off the look after the first one.
            for after_ns in [10 * S, 11 * S] {
                state = stepped(state, LifecycleEvent::Noticed, now_ns + after_ns, Mandate::Full).0;
            }
        }
        let due_ns = state.due_ns().expect("it tries again");
        pauses.push((due_ns - now_ns) / S);
        now_ns = due_ns;
        state = again(state, now_ns);
        if attempt == 9 {
            let failed = stepped(state, no_answer(), now_ns, Mandate::Full).0;
            now_ns = failed.due_ns().expect("it tries again");
            state = again(failed, now_ns);
        }
    }
    assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 12, 2, 4, 8, 2, 4]);
    let backing_off = stepped(state, refused(), now_ns, Mandate::Full).0;
    let noticed = stepped(backing_off, LifecycleEvent::Noticed, now_ns + 7 * S, Mandate::Full).0;
    assert_eq!(noticed.due_ns(), backing_off.due_ns(), "an event does not lengthen a pause");
}

/// A change that an earlier manager left is given up as one of this manager would be.
#[test]
fn a_change_of_the_journal_is_given_up_by_the_clock_or_when_the_manager_itself_fails() {
    let stood_still = |own_failures| LifecycleEvent::StoodStill { own_failures };
    let begun = || LifecycleState::BringingUp(BringUpAttempt::default());
    for mandate in MANDATES {
        let own = [1, 2].map(|failures| stepped(begun(), stood_still(failures), S, mandate).1);
        assert_eq!(own, [vec![], vec!["abandon"]], "{mandate:?}");
    }
    let (mut state, mut now_ns) = (begun(), 0);
    loop {
        let (still, commands) = stepped(state, stood_still(0), now_ns, Mandate::Full);
        assert_eq!((still.name(), commands[..] == ["abandon"]), ("bringing-up", now_ns >= 60 * S), "{now_ns}");
        state = still;
        if !commands.is_empty() {
            break;
        }
        // Whatever is tried, and however it fails.
        state = stepped(state, no_answer(), now_ns, Mandate::Full).0;
        now_ns = state.due_ns().expect("it tries again");
        for event in [LifecycleEvent::Due, LifecycleEvent::Looked] {
            state = stepped(state, event, now_ns, Mandate::Full).0;
        }
    }
    let next = stepped(state, stood_still(0), now_ns, Mandate::Full).1;
    assert!(next.is_empty(), "what stands still next has a minute of its own: {next:?}");
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
        let up = matches!(step.from, LifecycleState::Idle(_) | LifecycleState::Halted { .. });
        let ordered = match step.event {
            LifecycleEvent::Ordered(_) => {
                up || matches!(step.from, LifecycleState::Standby | LifecycleState::BackingOff { .. })
            }
            LifecycleEvent::RemovalOrdered { .. } => up,
            _ => false,
        };
        let answers = step.commands.iter().filter(|command| matches!(command, C::Answer(..))).count();
        let (before, after) = (owed(&step.from) + usize::from(ordered), owed(&step.to) + answers);
        assert_eq!(before, after, "{:?} on {}", step.from, step.event.name());
    });
}

#[test]
fn what_is_left_to_do_is_done_without_an_event() {
    explore(|step| {
        let tried_again = match step.to {
            LifecycleState::Halted { unfinished, .. } => unfinished.retry_ns.is_some(),
            LifecycleState::Idle(idle) if does!(step, C::Report(_)) => idle.retry_ns.is_some(),
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
            (Some(false), Some(true)) => assert!(does!(step, C::Change(_)), "{:?}", step.from),
            _ => {}
        }
        let mirrors = does!(step, C::Mirror { .. });
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
    while let Some(question) = commands.last().filter(|command| asks(command)) {
        let event = match question {
            C::Survey => LifecycleEvent::Surveyed,
            C::Mirror { .. } => LifecycleEvent::Mirrored,
            C::SetUp => LifecycleEvent::SetUp(Some(goal())),
            C::Prepare(_) => LifecycleEvent::Prepared(Box::new(prepared.clone())),
            C::Change(_) => record(&prepared, Outcome::Completed),
            other => panic!("{}", other.name()),
        };
        changes += u32::from(matches!(question, C::Change(_)));
        (state, commands) = step(state, event, at);
    }
    assert_eq!((changes, state.name()), (8, "idle"));
    assert!(state.due_ns().is_some(), "and surveyed again");
    assert!(matches!(commands.last(), Some(LifecycleCommand::Answer(ORDER, OrderAnswer::Surveyed))));
}

/// One step, and the names of its commands.
fn stepped(
    state: LifecycleState,
    event: LifecycleEvent,
    now_ns: u64,
    mandate: Mandate,
) -> (LifecycleState, Vec<&'static str>) {
    let (state, commands) = step(state, event, LifecycleInput { now_ns, mandate });
    let names = commands.iter().map(LifecycleCommand::name).collect();
    (state, names)
}

fn no_answer() -> LifecycleEvent {
    LifecycleEvent::Failed("no answer".to_string())
}

fn stands_still() -> Outcome {
    Outcome::Failed { state: "draining", reason: "no answer".to_string() }
}

/// A removal by `double` that is under way, for a manager that had nothing else to do.
fn removing(prepared: &Prepared) -> LifecycleState {
    let goal = Goal { fabric: prepared.plan.plan().draft().after.clone(), why: "spine-1 is set aside".to_string() };
    let idle = LifecycleState::Idle(Unfinished { retry_ns: None, failures: 0, retired: RetiredHalf::Current });
    let preparing = stepped(idle, removal(goal, false, false), 1, Mandate::Full).0;
    stepped(preparing, LifecycleEvent::Prepared(Box::new(prepared.clone())), 1, Mandate::Full).0
}

/// What is closed stays closed under a manager that knows nothing of it.
#[test]
fn no_other_manager_is_given_the_subnet_before_the_retired_half_follows() {
    let prepared = prepared();
    let changing = removing(&prepared);
    let (idle, _) = stepped(changing, record(&prepared, Outcome::Completed), 2, Mandate::Finish);
    let (surveying, _) = stepped(idle, LifecycleEvent::Due, 3, Mandate::Finish);
    let (mirroring, mirrors) = stepped(surveying, LifecycleEvent::Surveyed, 4, Mandate::Finish);
    assert_eq!((mirroring.name(), &mirrors[..]), ("mirroring", &["mirror"][..]));
    for state in [changing, idle, surveying, mirroring] {
        assert!(state.holds_on(), "{state:?}");
    }
    let (rests, publishes) = stepped(mirroring, LifecycleEvent::Mirrored, 5, Mandate::Finish);
    assert_eq!((rests.name(), &publishes[..], rests.holds_on()), ("idle", &["publish"][..], false));
}

/// Nor before a change that stood still has been given up and recovered; but a recovery that always fails holds nothing
/// up for ever.
#[test]
fn no_other_manager_is_given_the_subnet_before_what_was_given_up_is_recovered() {
    let prepared = prepared();
    let (halted, _) = stepped(removing(&prepared), record(&prepared, stands_still()), 2, Mandate::Finish);
    let (looking, _) = stepped(halted, LifecycleEvent::Due, 70 * S, Mandate::Finish);
    let (mut state, _) = stepped(looking, LifecycleEvent::Looked, 71 * S, Mandate::Finish);
    for state in [halted, looking, state] {
        assert!(state.holds_on(), "{state:?}");
    }
    let up = stepped(state, LifecycleEvent::BroughtUp(RetiredHalf::Current), 72 * S, Mandate::Finish).0;
    assert!(!up.holds_on(), "{up:?}");
    let (mut now_ns, mut pauses) = (72 * S, Vec::new());
    for attempt in 1..=9 {
        let (backing_off, commands) = stepped(state, no_answer(), now_ns, Mandate::Finish);
        let opened: &[&str] = if attempt < 3 { &["report"] } else { &["report", "open-ends", "resign"] };
        assert_eq!((&commands[..], backing_off.holds_on()), (opened, attempt < 3), "attempt {attempt}");
        pauses.push((backing_off.due_ns().expect("it tries again") - now_ns) / S);
        now_ns = backing_off.due_ns().expect("it tries again");
        let looking = stepped(backing_off, LifecycleEvent::Due, now_ns, Mandate::Finish).0;
        state = stepped(looking, LifecycleEvent::Looked, now_ns, Mandate::Finish).0;
    }
    assert_eq!(pauses, [2, 2, 2, 4, 8, 16, 32, 60, 60]);
}

/// A cable that flaps, or a barrier that is waited for for minutes, does not keep hosts behind a fence.
#[test]
fn what_stands_still_is_given_up_by_the_clock_whatever_happens_meanwhile() {
    let prepared = prepared();
    for (every_ns, takes_ns) in [(3 * S, S / 10), (5 * S, S / 10), (S, 180 * S)] {
        let (mut state, _) = stepped(removing(&prepared), record(&prepared, stands_still()), 2, Mandate::Full);
        let (mut now_ns, mut attempts) = (2, 0);
        while state.name() == "halted" {
            attempts += 1;
            assert!(attempts < 30, "every {every_ns} ns: it is resumed for ever");
            now_ns += every_ns;
            let noticed = stepped(state, LifecycleEvent::Noticed, now_ns, Mandate::Full).0;
            now_ns += takes_ns;
            state = match noticed.name() {
                "resuming" => stepped(noticed, record(&prepared, stands_still()), now_ns, Mandate::Full).0,
                _ => noticed,
            };
        }
        assert_eq!(state.name(), "looking");
        let late_ns = 60 * S + every_ns.max(takes_ns) + S;
        assert!((60 * S..=late_ns + every_ns).contains(&now_ns), "every {every_ns} ns: after {now_ns} ns");
    }
}

#[test]
fn a_half_that_cannot_follow_is_given_up_by_the_clock() {
    let prepared = prepared();
    let (mut state, _) = stepped(removing(&prepared), record(&prepared, Outcome::Completed), 2, Mandate::Full);
    let mut now_ns = 2;
    while state.name() == "idle" {
        assert!(now_ns < 120 * S, "it is tried for ever");
        let surveying = stepped(state, LifecycleEvent::Noticed, now_ns, Mandate::Full).0;
        let mirroring = stepped(surveying, LifecycleEvent::Surveyed, now_ns, Mandate::Full).0;
        state = stepped(mirroring, no_answer(), now_ns, Mandate::Full).0;
        now_ns += 3 * S;
    }
    assert_eq!(state.name(), "looking");
    assert!(now_ns > 60 * S, "after {now_ns} ns");
}

/// Whoever ordered a survey hears of a change that is not made.
#[test]
fn an_order_whose_change_is_not_made_is_not_called_done() {
    let prepared = prepared();
    let reaction = Reaction { order: Some(ORDER), changes: 0, failures: 0, retired: RetiredHalf::Current };
    let changing = LifecycleState::Changing(Purpose::React(reaction));
    let resuming = LifecycleState::Resuming { reaction, since_ns: 1, removes: None };
    let called_off = || record(&prepared, Outcome::CalledOff(CallOff::Abort));
    let answer = |state, event| {
        let (_, commands) = step(state, event, LifecycleInput { now_ns: 3, mandate: Mandate::Full });
        commands.into_iter().find_map(|command| match command {
            LifecycleCommand::Answer(ORDER, answer) => Some(answer),
            _ => None,
        })
    };
    for state in [LifecycleState::Surveying(reaction), LifecycleState::Preparing(Purpose::React(reaction)), changing] {
        let told = answer(state, no_answer());
        assert!(matches!(&told, Some(OrderAnswer::NotDone(why)) if why == "no answer"), "{state:?}: {told:?}");
    }
    for state in [changing, resuming] {
        for ended in [called_off(), record(&prepared, stands_still())] {
            assert!(matches!(answer(state, ended), Some(OrderAnswer::Changed(_))), "{state:?}");
        }
    }
    let done = answer(LifecycleState::SettingUp(reaction), LifecycleEvent::SetUp(None));
    assert_eq!(done, Some(OrderAnswer::Surveyed));
}

#[test]
fn whoever_stops_beside_what_is_not_ended_says_so() {
    let prepared = prepared();
    let stop = |state| stepped(state, LifecycleEvent::StopOrdered, 3, Mandate::Full).1;
    let (halted, told) = stepped(removing(&prepared), record(&prepared, stands_still()), 2, Mandate::Full);
    assert_eq!(told, ["report", "answer"], "an order that stands still is trouble, too");
    let (stale, _) = stepped(removing(&prepared), record(&prepared, Outcome::Completed), 2, Mandate::Full);
    assert_eq!((stop(halted), stop(stale)), (vec!["report-unfinished"], vec!["report-unfinished"]));
    // Of what an earlier manager has closed the lifecycle knows nothing.
    let attempt = BringUpAttempt::default();
    assert_eq!(stop(LifecycleState::BackingOff { until_ns: 9, attempt }), ["report-unfinished"]);
    let idle = LifecycleState::Idle(Unfinished { retry_ns: None, failures: 0, retired: RetiredHalf::Current });
    assert_eq!(stop(idle), Vec::<&str>::new());
    // What a bring-up has begun is remembered through failures, and not beyond its end.
    let failed = || LifecycleEvent::Failed("no answer".to_string());
    let leaves = |state: LifecycleState| state.attempt().is_some_and(BringUpAttempt::leaves_behind);
    let (begun, _) = stepped(LifecycleState::BringingUp(attempt), LifecycleEvent::RecoveryBegun, 1, Mandate::Full);
    let (backing_off, _) = stepped(begun, failed(), 2, Mandate::Full);
    assert!(leaves(begun) && leaves(backing_off) && !leaves(LifecycleState::BringingUp(attempt)));
    let (up, _) = stepped(begun, LifecycleEvent::BroughtUp(RetiredHalf::Current), 3, Mandate::Full);
    assert!(!leaves(up) && up.name() == "idle", "{up:?}");
}

/// Another manager that was asked to take over, and says nothing, must not leave a loss to nobody. It may have written.
#[test]
fn a_loss_while_another_manager_is_waited_for_has_the_subnet_read_anew() {
    let prepared = prepared();
    let goal = Goal { fabric: prepared.plan.plan().draft().after.clone(), why: "spine-1 goes".to_string() };
    let idle = LifecycleState::Idle(Unfinished { retry_ns: None, failures: 0, retired: RetiredHalf::Current });
    let glancing = stepped(idle, LifecycleEvent::Noticed, 1, Mandate::Guard).0;
    let looking = stepped(glancing, LifecycleEvent::Glanced(Some(goal.clone())), 2, Mandate::Guard).0;
    assert!(looking.name() == "looking" && looking.holds_on(), "{looking:?}");
    let preparing = stepped(glancing, LifecycleEvent::Glanced(Some(goal)), 2, Mandate::Full).0;
    let prepared = || LifecycleEvent::Prepared(Box::new(prepared.clone()));
    // It has taken over meanwhile, or is to.
    for mandate in [Mandate::Silent, Mandate::Guard] {
        assert_eq!(stepped(preparing, prepared(), 3, mandate).0, idle);
    }
    assert_eq!(stepped(preparing, prepared(), 3, Mandate::Full).0.name(), "changing");
}
