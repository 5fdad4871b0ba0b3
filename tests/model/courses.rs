//! The machine, every sequence of events: changes of several schemes one after the other, answers of every kind to the
//! open question and to others, failures, time-outs, aborts, second changes, crashes, in any order.
//!
//! A watcher beside the machine reads the plan for itself and knows at every moment which one question the plan demands
//! next; what the machine commands is held against it. States of the machine are told apart by what it says of them,
//! tickets aside: tickets only rise, and nothing else depends on them (an answer's ticket is open, or it is not).

use super::changes::{Event as What, ring_change};
use super::is_thorough;
use super::search::{Model, explore};
use crate::support::proof::proof;
use reconfig::drain::{
    AgeQuestion, FlushJudge, Flushed, SourcesJudge, SourcesMoved, Ticket, TokenJudge, VacateAge, Vacated,
};
use reconfig::fabric::Fabric;
use reconfig::ids::{Half, PortNum, VlSet};
use reconfig::machine::{Command, Event, Outcome, State, step};
use reconfig::plan::{Arming, Barrier, Phase, Plan, Policy, Scheme, TurnedBack};
use reconfig::tables::{SubnetTables, Write};
use reconfig::vet::Vetted;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What the watcher knows. Everything of it tells states apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Watch {
    /// Changes begun so far.
    begun: usize,
    /// The change under way.
    course: Option<Watched>,
    breach: Option<String>,
}

/// A change under way, as its plan says it must go.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watched {
    plan: usize,
    wave: usize,
    /// Whether its writes were acknowledged.
    applied: bool,
    /// Its barriers that were shown to hold.
    passed: usize,
    calling_off: bool,
    /// Whether the subnet changed again, so that a new plan is owed at the end.
    owed: bool,
}

/// What a plan demands next.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Demand {
    Apply(usize),
    Undo(usize),
    Flush(VlSet),
    Confirm(Half),
    Drain(VlSet),
    Vacate(u8),
    /// Nothing: the change is made.
    End,
}

/// The machine and its watcher.
#[derive(Clone, Debug)]
struct Node {
    state: State,
    watch: Watch,
    /// The highest ticket so far.
    last: Option<Ticket>,
}

/// What tells states of the machine apart: name, where it stands still, wave, attempts, whether it puts a change off.
type Key = (&'static str, Option<&'static str>, Option<(usize, u8, bool)>);

impl Node {
    fn key(&self) -> Key {
        let at = match &self.state {
            State::Failed { at } => Some(at.name()),
            _ => None,
        };
        let place = self.state.progress().map(|course| (course.wave(), course.attempts(), course.is_deferred()));
        (self.state.name(), at, place)
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        (self.key(), &self.watch) == (other.key(), &other.watch)
    }
}

impl Eq for Node {}

impl Hash for Node {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.key(), &self.watch).hash(hasher);
    }
}

/// The machine and the plans that it may be given.
struct Courses {
    plans: Vec<Arc<Vetted>>,
    /// Changes begun at most.
    changes: usize,
}

impl Watched {
    fn begin(index: usize, plan: &Plan) -> Watched {
        let start = Watched { plan: index, wave: 0, applied: false, passed: 0, calling_off: false, owed: false };
        start.settled(plan)
    }

    /// Beyond what needs no question: waves without writes, and the acknowledgement of writes that were acknowledged.
    fn settled(mut self, plan: &Plan) -> Watched {
        while let Some(wave) = plan.waves().get(self.wave) {
            if !self.applied && !wave.writes.is_empty() {
                break;
            }
            self.applied = true;
            match wave.barriers.get(self.passed) {
                Some(Barrier::Acknowledged) => self.passed += 1,
                Some(Barrier::Flushed(_) | Barrier::SourcesMoved | Barrier::Drained(_) | Barrier::Vacated(_)) => break,
                None => self = Watched { wave: self.wave + 1, applied: false, passed: 0, ..self },
            }
        }
        self
    }

    fn demand(&self, plan: &Plan) -> Demand {
        if self.calling_off {
            return Demand::Undo(self.wave);
        }
        let Some(wave) = plan.waves().get(self.wave) else { return Demand::End };
        match wave.barriers.get(self.passed) {
            _ if !self.applied => Demand::Apply(self.wave),
            Some(Barrier::Flushed(lanes)) => Demand::Flush(*lanes),
            Some(Barrier::SourcesMoved) => Demand::Confirm(plan.new_half()),
            Some(Barrier::Drained(lanes)) => Demand::Drain(*lanes),
            Some(Barrier::Vacated(rounds)) => Demand::Vacate(*rounds),
            Some(Barrier::Acknowledged) | None => unreachable!("settled beyond it"),
        }
    }

    /// Goes on, what is demanded having been shown.
    fn pass(mut self, plan: &Plan) -> Watched {
        match self.applied {
            true => self.passed += 1,
            false => self.applied = true,
        }
        self.settled(plan)
    }

    /// Whether all is written, and what is left is to wait until what leaves is empty.
    fn may_be_cut_short(&self, plan: &Plan) -> bool {
        let is_last = plan.waves()[self.wave + 1..].is_empty();
        plan.scheme() == Scheme::Ordered && is_last && matches!(self.demand(plan), Demand::Vacate(_))
    }

    /// Whether the way back is still open: nobody was told to move.
    fn is_reversible(&self, plan: &Plan) -> bool {
        let mut phases = plan.waves().iter().take(self.wave + 1).map(|wave| wave.phase);
        plan.scheme() == Scheme::Double && phases.all(|phase| matches!(phase, Phase::Split | Phase::Install))
    }
}

/// What a command asks, its ticket aside.
fn asked(command: &Command) -> Option<(Ticket, Demand)> {
    match *command {
        Command::Apply { ticket, wave } => Some((ticket, Demand::Apply(wave))),
        Command::Undo { ticket, reached } => Some((ticket, Demand::Undo(reached))),
        Command::Flush { ticket, lanes } => Some((ticket, Demand::Flush(lanes))),
        Command::ConfirmSources { ticket, half } => Some((ticket, Demand::Confirm(half))),
        Command::Drain { ticket, lanes, .. } => Some((ticket, Demand::Drain(lanes))),
        Command::Vacate { ticket, rounds, .. } => Some((ticket, Demand::Vacate(rounds))),
        Command::Report(_) | Command::Replan | Command::DeferChange | Command::Decline(_) => None,
    }
}

fn flushed(ticket: Ticket, lanes: VlSet) -> Flushed {
    proof(FlushJudge::new(ticket, lanes, []).verdict())
}

fn vacated(ticket: Ticket, rounds: u8) -> Vacated {
    let question = AgeQuestion { ticket, lanes: VlSet::EMPTY, since_ns: 0, wire_ns: 0 };
    proof(VacateAge::new(question, rounds, []).verdict(0))
}

fn moved(ticket: Ticket, half: Half) -> SourcesMoved {
    proof(SourcesJudge::new(ticket, half, []).verdict())
}

/// The right answer to a question.
fn answer(ticket: Ticket, demand: &Demand) -> Event {
    match *demand {
        Demand::Apply(_) | Demand::Undo(_) | Demand::End => Event::Acknowledged(ticket),
        Demand::Flush(lanes) => Event::Flushed(flushed(ticket, lanes)),
        Demand::Confirm(half) => Event::SourcesMoved(moved(ticket, half)),
        Demand::Drain(lanes) => Event::Drained(proof(TokenJudge::new(ticket, lanes, &[]).verdict())),
        Demand::Vacate(rounds) => Event::Vacated(vacated(ticket, rounds)),
    }
}

/// Whether an event with the right ticket shows what was demanded.
fn shows(event: &Event, demand: &Demand) -> bool {
    match (event, demand) {
        (Event::Acknowledged(_), Demand::Apply(_) | Demand::Undo(_)) => true,
        (Event::Flushed(proof), Demand::Flush(lanes)) => proof.lanes() == *lanes,
        (Event::SourcesMoved(proof), Demand::Confirm(half)) => proof.half() == *half,
        (Event::Drained(proof), Demand::Drain(lanes)) => proof.lanes() == *lanes,
        (Event::Vacated(proof), Demand::Vacate(rounds)) => proof.rounds() == *rounds,
        _ => false,
    }
}

impl Courses {
    fn plan(&self, watched: &Watched) -> &Plan {
        self.plans[watched.plan].plan()
    }

    /// Every answer that can come under a ticket, right and wrong.
    fn answers(&self, ticket: Ticket) -> Vec<Event> {
        let lanes = self.plans[0].plan().lanes();
        let mut events = vec![
            Event::Acknowledged(ticket),
            Event::WriteFailed { ticket, reason: "tried in vain".to_string() },
            Event::TimedOut { ticket, reason: "tried in vain".to_string() },
            Event::Interrupted(ticket),
        ];
        for set in [lanes.a, lanes.b, lanes.all] {
            events.push(answer(ticket, &Demand::Flush(set)));
            events.push(answer(ticket, &Demand::Drain(set)));
        }
        events.extend((2..=7).map(|rounds| answer(ticket, &Demand::Vacate(rounds))));
        events.extend([Half::Lower, Half::Upper].map(|half| answer(ticket, &Demand::Confirm(half))));
        events
    }

    fn events(&self, node: &Node) -> Vec<Event> {
        let mut events = vec![Event::TopologyChanged, Event::Unfinishable, Event::Abort, Event::Resume];
        if !node.state.is_idle() || node.watch.begun < self.changes {
            events.extend(self.plans.iter().cloned().map(Event::Begin));
        }
        let last = node.last.unwrap_or_default();
        let tickets = [Ticket(last.0.wrapping_sub(1)), last, Ticket(last.0.wrapping_add(1))];
        events.extend(tickets.into_iter().flat_map(|ticket| self.answers(ticket)));
        events
    }

    fn after(&self, node: &Node, event: Event) -> Node {
        let (state, commands) = step(node.state.clone(), event.clone());
        let mut next = Node { state, watch: node.watch.clone(), last: node.last };
        let course = node.watch.course.clone();
        let told = match course {
            None => self.watch_idle(&mut next, &event, &commands),
            Some(watched) => self.watch_course(&mut next, node, watched, &event, &commands),
        };
        next.watch.breach = told.err();
        next
    }

    /// Between changes: a plan is begun, a second look is taken, anything else is nothing.
    fn watch_idle(&self, next: &mut Node, event: &Event, commands: &[Command]) -> Result<(), String> {
        match event {
            Event::Begin(plan) => {
                let index = self.plans.iter().position(|own| Arc::ptr_eq(own, plan)).ok_or("a plan of its own")?;
                let watched = Watched::begin(index, plan.plan());
                next.watch.begun += 1;
                self.go_on(next, watched, commands)
            }
            Event::TopologyChanged => demand(commands == [Command::Replan], "a change between changes is looked at"),
            _ => demand(commands.is_empty(), "nothing is done between changes"),
        }
    }

    fn watch_course(
        &self,
        next: &mut Node,
        node: &Node,
        mut watched: Watched,
        event: &Event,
        commands: &[Command],
    ) -> Result<(), String> {
        let (plan, stands) = (self.plan(&watched), matches!(node.state, State::Failed { .. }));
        let due = watched.demand(plan);
        if let Some(ticket) = event.ticket() {
            if stands || Some(ticket) != node.last {
                demand(
                    commands.is_empty() && next.key() == node.key(),
                    "an answer to no open question changed something",
                )?;
            } else if shows(event, &due) {
                if watched.calling_off {
                    return self.close(next, watched, commands, |outcome| matches!(outcome, Outcome::CalledOff(_)));
                }
                watched = watched.pass(plan);
            }
        }
        match event {
            Event::TopologyChanged => {
                watched.owed = true;
                let waits_on = !stands && watched.may_be_cut_short(plan) && !next.state.is_idle();
                demand(!waits_on, "a loss waits until what leaves is empty")?;
            }
            Event::Abort => demand(commands.len() == 1, "an abort is answered")?,
            // Wherever it stands, nothing more is asked, and no plan is owed: what comes next begins from what is read.
            Event::Unfinishable => {
                watched.owed = false;
                return self.close(next, watched, commands, |outcome| matches!(outcome, Outcome::Abandoned { .. }));
            }
            Event::Begin(_) => demand(matches!(commands, [Command::Decline(_)]), "a second plan is declined")?,
            Event::Resume => demand(commands.iter().any(|command| asked(command).is_some()), "a resumed change asks")?,
            _ => {}
        }
        let undoes = commands.iter().any(|command| matches!(command, Command::Undo { .. }));
        if undoes && !watched.calling_off {
            demand(watched.is_reversible(plan), "called off when the way was forward only")?;
            watched.calling_off = true;
        }
        self.go_on(next, watched, commands)
    }

    /// Holds the commands of a step against what the plan demands now.
    fn go_on(&self, next: &mut Node, watched: Watched, commands: &[Command]) -> Result<(), String> {
        let due = watched.demand(self.plan(&watched));
        if due == Demand::End {
            return self.close(next, watched, commands, |outcome| *outcome == Outcome::Completed);
        }
        if watched.owed && watched.may_be_cut_short(self.plan(&watched)) && next.state.is_idle() {
            return self.close(next, watched, commands, |outcome| *outcome == Outcome::CutShort);
        }
        for (ticket, question) in commands.iter().filter_map(asked) {
            demand(question == due, "asked for something else than the plan demands now")?;
            demand(next.last.is_none_or(|last| ticket > last), "a ticket was used twice")?;
            next.last = Some(ticket);
        }
        let standing = matches!(next.state, State::Failed { .. });
        let ends = commands.iter().any(|command| match command {
            Command::Report(Outcome::Failed { .. }) => !standing,
            Command::Report(_) | Command::Replan => true,
            _ => false,
        });
        demand(!ends, "an end was reported before the plan's end")?;
        demand(next.state.progress().is_some(), "the change was dropped")?;
        demand(standing || next.state.progress().map(|course| course.asked()) == next.last, "no question is open")?;
        next.watch.course = Some(watched);
        Ok(())
    }

    /// The change has ended: reported, and a new plan made if one is owed.
    fn close(
        &self,
        next: &mut Node,
        watched: Watched,
        commands: &[Command],
        right: fn(&Outcome) -> bool,
    ) -> Result<(), String> {
        next.watch.course = None;
        let reported = matches!(commands.first(), Some(Command::Report(outcome)) if right(outcome));
        demand(reported, "the end was not reported, or another one was")?;
        demand(
            commands[1..] == *[Command::Replan].get(..usize::from(watched.owed)).unwrap_or_default(),
            "a new plan is made if it is owed",
        )?;
        demand(next.state.is_idle(), "the change is over")
    }

    /// Answered rightly from now on, and resumed where it stands, a change comes to its end.
    fn ends_under_fair_answers(&self, node: &Node) -> bool {
        let mut node = node.clone();
        for _ in 0..64 {
            let Some(watched) = &node.watch.course else { return true };
            let event = match (&node.state, node.last) {
                (State::Failed { .. }, _) | (_, None) => Event::Resume,
                (_, Some(last)) => answer(last, &watched.demand(self.plan(watched))),
            };
            node = self.after(&node, event);
            if node.watch.breach.is_some() {
                return false;
            }
        }
        false
    }
}

fn demand(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_string()) }
}

impl Model for Courses {
    type State = Node;
    type Step = String;
    type Fault = String;

    fn initial(&self) -> Node {
        Node { state: State::new(), watch: Watch::default(), last: None }
    }

    fn steps(&self, node: &Node, found: &mut Vec<(String, Node)>) {
        let named = |event: Event| (format!("{event:?}"), self.after(node, event));
        found.extend(self.events(node).into_iter().map(named));
    }

    fn fault(&self, node: &Node) -> Option<String> {
        let stuck = !self.ends_under_fair_answers(node);
        node.watch.breach.clone().or_else(|| stuck.then(|| "no end in spite of right answers".to_string()))
    }

    fn is_end(&self, node: &Node) -> bool {
        node.watch.course.is_none()
    }
}

/// Plans that between them go every way there is.
fn plans() -> Vec<Arc<Vetted>> {
    let (new_root, nothing) = (What::NewRoot { from: 0, to: 2 }, What::NewRoot { from: 0, to: 0 });
    let (comes, leaves) = (What::SwitchComes { switch: 0 }, What::LinkGoes { root: 0, link: 0, sudden: false });
    let dies = What::SwitchGoes { root: 0, switch: 0, sudden: true };
    let cases = [
        (new_root, Scheme::Double, Arming::Hold),
        (nothing, Scheme::Double, Arming::Off),
        (new_root, Scheme::Static, Arming::Off),
        (nothing, Scheme::Static, Arming::Off),
        (comes, Scheme::InPlace, Arming::Off),
        (nothing, Scheme::InPlace, Arming::Off),
        (leaves, Scheme::InPlace, Arming::Off),
        (comes, Scheme::Ordered, Arming::Off),
        (leaves, Scheme::Ordered, Arming::Off),
    ];
    let of_four = cases.into_iter().map(|(what, scheme, arming)| ring_change(4, what).vetted(scheme, arming));
    // Where packets may turn back, the second wave waits.
    let turning = Policy { turned_back: TurnedBack::Returned, ..Policy::default() };
    let waits = ring_change(8, dies).vetted_under(Scheme::Ordered, turning);
    assert!(waits.plan().waves()[0].vacating_rounds().is_some(), "two waves, and a wait between them");
    of_four.chain([waits]).collect()
}

/// States that `state-machines/change.yaml` draws.
const STATES: usize = 18;

#[test]
fn in_every_sequence_of_events_the_machine_does_what_the_plan_demands() {
    let changes = if is_thorough() { 4 } else { 2 };
    let courses = Courses { plans: plans(), changes };
    let explored = explore(&courses, 1_000_000);
    let names: BTreeSet<_> = explored.states.iter().map(|node| node.state.name()).collect();
    println!("{changes} changes: {} states, {} steps; {names:?}", explored.states.len(), explored.steps());
    if let Some(found) = &explored.fault {
        panic!("{}, after\n{}", found.fault, found.run.join("\n"));
    }
    assert_eq!(names.len(), STATES, "every state of the machine was met");
    assert_eq!(explored.trap(&courses), None, "from every state an end is within reach");
}

/// Whether two subnets forward alike: every table that a packet of the old half can meet, every port's state and half.
fn are_alike(fabric: &Fabric, plan: &Plan, one: &SubnetTables, other: &SubnetTables) -> bool {
    let old_lids = fabric.end_ports().flat_map(|port| fabric.half_lids(port, plan.old())).collect::<Vec<_>>();
    let tables = fabric.nodes().all(|(id, node)| {
        let (a, b) = (&one.sl_to_vl[id.index()], &other.sl_to_vl[id.index()]);
        let ports = || (0..=node.num_ports).map(PortNum);
        let mapped = ports().all(|input| ports().all(|output| a.get(input, output) == b.get(input, output)));
        let (a, b) = (&one.lfts[id.index()], &other.lfts[id.index()]);
        mapped && old_lids.iter().all(|&lid| a.get(lid) == b.get(lid))
    });
    tables && (&one.port_states, &one.sending, one.sa_half) == (&other.port_states, &other.sending, other.sa_half)
}

/// Whatever of the first waves has landed, what takes a change back leaves the tables of before.
#[test]
fn calling_off_leads_back_to_the_tables_of_before() {
    let plans = plans();
    let double: Vec<_> = plans.iter().filter(|plan| plan.plan().scheme() == Scheme::Double).collect();
    assert!(!double.is_empty());
    for vetted in double {
        let plan = vetted.plan();
        let fabric = &*plan.draft().before;
        let swap = plan.waves().iter().position(|wave| wave.phase == Phase::Swap).expect("a double plan swaps");
        for reached in 0..swap {
            let writes: Vec<&Write> = plan.waves()[..=reached].iter().flat_map(|wave| &wave.writes).collect();
            // Of the last wave, any stretch of its list; the waves before it have landed.
            let last = plan.waves()[reached].writes.len();
            for (from, to) in (0..=last).flat_map(|from| (from..=last).map(move |to| (from, to))) {
                let mut tables = plan.draft().initial.clone();
                let base = writes.len() - last;
                writes[..base].iter().for_each(|write| tables.apply(fabric, write));
                writes[base + from..base + to].iter().for_each(|write| tables.apply(fabric, write));
                plan.undo_writes(reached).iter().for_each(|write| tables.apply(fabric, write));
                assert!(
                    are_alike(fabric, plan, &tables, &plan.draft().initial),
                    "wave {reached}, writes {from} to {to}"
                );
            }
        }
    }
}
