//! Plans against the model of packets and writes: what is proved is safe in every interleaving, and what is not safe is
//! found, in lanes that the prover names.

use super::changes::{Change, Event, complete_change, random_change, ring_change};
use super::flows::{Levels, choose, closing_on_new_half, leading_to};
use super::is_thorough;
use super::network::{Flow, Network, vl};
use super::packets::{Fault, Loss, Traffic};
use super::search::{Explored, explore};
use reconfig::ids::{Half, Lid};
use reconfig::plan::{Barrier, Draft, Phase, Plan, Scheme, Wave};
use reconfig::tables::Write;
use reconfig::verify::{Cycle, Refusal, foresee, prove};
use std::collections::BTreeSet;
use std::time::Instant;

/// For plans in place: every packet on VL 0.
const PLAIN: Levels = Levels { old: 0, new: 8 };
/// For `double`, with VL 0 in A and VL 1 in B: a level of the old half that leaves B in the split, and one of the new
/// half that comes to A in the restore.
const CROSSING: Levels = Levels { old: 1, new: 8 };
/// A level of the new half that stays on B throughout.
const STAYING: Levels = Levels { old: 0, new: 9 };

/// How much of a case is searched. More states than `states` are a failure, not an end.
#[derive(Clone, Copy)]
struct Bounds {
    flows: usize,
    in_flight: usize,
    per_flow: usize,
    states: usize,
}

const BRIEF: Bounds = Bounds { flows: 4, in_flight: 5, per_flow: 1, states: 4_000_000 };
/// One flow more than closes the cycle of a ring of four, and with it one packet more.
const WIDE: Bounds = Bounds { flows: 5, ..BRIEF };
/// Two packets of each flow.
const DEEP: Bounds = Bounds { in_flight: 4, per_flow: 2, states: 20_000_000, ..BRIEF };

fn traffic(plan: &Plan, flows: &[Flow], bounds: Bounds) -> Traffic {
    Traffic::new(Network::new(plan, flows), bounds.in_flight, bounds.per_flow)
}

/// Searches the whole of a case, or up to a fault; prints its size and the run to the fault.
fn search(name: &str, traffic: &Traffic, bounds: Bounds) -> Explored<Traffic> {
    let start = Instant::now();
    let explored = explore(traffic, bounds.states);
    let (flows, writes) = (traffic.network.flows.len(), traffic.network.tellings.len());
    let (states, steps) = (explored.states.len(), explored.steps());
    println!("{name}: {flows} flows, {writes} writes: {states} states, {steps} steps in {:.2?}", start.elapsed());
    if let Some(found) = &explored.fault {
        println!("  {:?}", found.fault);
        found.run.iter().for_each(|step| println!("    {}", traffic.describe(step)));
    }
    explored
}

/// No fault in any state, and from each the change can still reach its end.
fn assert_safe(name: &str, traffic: &Traffic, bounds: Bounds) -> Explored<Traffic> {
    let explored = search(name, traffic, bounds);
    assert!(explored.fault.is_none(), "{name}: a fault behind the run above");
    if let Some(trap) = explored.trap(traffic) {
        let run: Vec<String> = explored.run_to(traffic, trap).iter().map(|step| traffic.describe(step)).collect();
        panic!("{name}: the change can no longer end after\n{}", run.join("\n"));
    }
    explored
}

/// A proved plan of scheme `double` is safe, and halves really met on the way.
fn assert_double(change: &Change, levels: Levels, bounds: Bounds) {
    let plan = change.proved(Scheme::Double);
    let traffic = traffic(&plan, &choose(&plan, levels, bounds.flows), bounds);
    let explored = assert_safe(&format!("double, {}", change.name), &traffic, bounds);
    // Where a removal leaves one end port only, nobody sends on the new half.
    let both = traffic.network.flows.iter().any(|flow| flow.half == plan.new_half());
    let meet = explored.states.iter().any(|state| traffic.is_mixed(state));
    assert_eq!(meet, both, "{}: old and new packets meet", change.name);
}

const NEW_ROOT: Event = Event::NewRoot { from: 0, to: 2 };

#[test]
fn proved_double_plans_are_safe_in_every_interleaving() {
    let goes = |sudden| Event::SwitchGoes { root: 0, switch: 0, sudden };
    let cut = |sudden| Event::LinkGoes { root: 0, link: 0, sudden };
    let changes = [
        ring_change(3, cut(true)),
        ring_change(4, NEW_ROOT),
        ring_change(4, goes(false)),
        ring_change(4, goes(true)),
        ring_change(4, cut(false)),
        ring_change(4, cut(true)),
        ring_change(4, cut(true)).plain(),
        ring_change(4, Event::SwitchComes { switch: 0 }),
        ring_change(4, Event::LinkComes { link: 0 }),
        complete_change(4, goes(true)),
        complete_change(4, cut(false)),
        ring_change(5, cut(true)),
    ];
    changes.iter().for_each(|change| assert_double(change, CROSSING, BRIEF));
    if is_thorough() {
        assert_double(&ring_change(4, NEW_ROOT), CROSSING, WIDE);
        changes.iter().for_each(|change| assert_double(change, CROSSING, DEEP));
        assert_double(&ring_change(5, NEW_ROOT), CROSSING, Bounds { states: 20_000_000, ..WIDE });
    }
}

/// What may happen to a random fabric.
fn events(switches: usize) -> [Event; 7] {
    [
        Event::NewRoot { from: 0, to: switches - 1 },
        Event::SwitchGoes { root: 0, switch: 0, sudden: false },
        Event::SwitchGoes { root: 0, switch: 0, sudden: true },
        Event::LinkGoes { root: 0, link: 0, sudden: false },
        Event::LinkGoes { root: 0, link: 0, sudden: true },
        Event::SwitchComes { switch: switches - 1 },
        Event::LinkComes { link: 0 },
    ]
}

/// Random fabrics of three to five switches, with one to three links beyond a tree, and all that may happen to them.
fn random_changes(seeds: u64) -> impl Iterator<Item = Change> {
    let fabrics =
        (0..seeds).flat_map(|seed| (3..=5).flat_map(move |size| (1..=3).map(move |extra| (seed, size, extra))));
    let changes =
        fabrics.flat_map(|(seed, size, extra)| events(size).map(|event| random_change(seed, size, extra, event)));
    changes.filter(Change::is_possible)
}

#[test]
fn proved_double_plans_of_random_fabrics_are_safe_in_every_interleaving() {
    let seeds = if is_thorough() { 20 } else { 1 };
    let bounds = Bounds { flows: 3, states: 20_000_000, ..BRIEF };
    random_changes(seeds).for_each(|change| assert_double(&change, CROSSING, bounds));
}

#[test]
fn a_change_called_off_while_it_splits_is_safe() {
    let plan = ring_change(4, NEW_ROOT).proved(Scheme::Double);
    let called_off = mutated(&plan, |draft| {
        let undo = Wave {
            name: "undo".to_string(),
            writes: plan.undo_writes(0),
            barriers: vec![Barrier::Acknowledged],
            ..draft.waves[0].clone()
        };
        draft.waves.truncate(1);
        draft.waves[0].barriers.clear();
        draft.waves.push(undo);
    });
    let old: Vec<Flow> =
        choose(&plan, CROSSING, 0).into_iter().filter(|flow| flow.half == Half::Lower).take(2).collect();
    assert_safe("double, called off", &traffic(&called_off, &old, BRIEF), BRIEF);
}

/// A plan with something changed in its draft.
fn mutated(plan: &Plan, change: impl FnOnce(&mut Draft)) -> Plan {
    let mut draft = plan.draft().clone();
    change(&mut draft);
    Plan::seal(draft)
}

fn without_barrier(plan: &Plan, phase: Phase, goes: fn(&Barrier) -> bool) -> Plan {
    mutated(plan, |draft| {
        let waves = draft.waves.iter_mut().filter(|wave| wave.phase == phase);
        waves.for_each(|wave| wave.barriers.retain(|barrier| !goes(barrier)));
    })
}

/// The broken plan deadlocks in the model; what the prover says of it comes back.
fn assert_deadlocks(name: &str, plan: &Plan, flows: &[Flow]) -> Option<Refusal> {
    let traffic = traffic(plan, flows, BRIEF);
    let explored = search(name, &traffic, BRIEF);
    let found = explored.fault.unwrap_or_else(|| panic!("{name}: nothing found"));
    let Fault::Deadlock(waits) = found.fault else { panic!("{name}: found {:?}", found.fault) };
    let refusal = prove(plan.clone()).err().map(|(_, refusal)| refusal);
    if let Some(Refusal::Deadlock(_)) = refusal {
        let met = foresee(plan, &waits).expect("waits that close a cycle");
        assert!(met.is_some(), "{name}: the prover holds this cycle possible too");
    }
    refusal
}

#[test]
fn a_double_plan_that_does_not_flush_b_deadlocks() {
    let plan = ring_change(4, NEW_ROOT).proved(Scheme::Double);
    let broken = without_barrier(&plan, Phase::Split, |barrier| matches!(barrier, Barrier::Flushed(_)));
    let refusal = assert_deadlocks("no flush", &broken, &choose(&plan, CROSSING, 0));
    assert!(matches!(refusal, Some(Refusal::Deadlock(_))), "{refusal:?}");
}

#[test]
fn a_double_plan_that_does_not_drain_a_deadlocks() {
    let plan = ring_change(4, NEW_ROOT).proved(Scheme::Double);
    let broken = without_barrier(&plan, Phase::Drain, |barrier| matches!(barrier, Barrier::Drained(_)));
    let refusal = assert_deadlocks("no drain", &broken, &choose(&plan, CROSSING, 0));
    assert!(matches!(refusal, Some(Refusal::Deadlock(_))), "{refusal:?}");
}

#[test]
fn a_double_plan_with_a_level_in_the_wrong_set_deadlocks() {
    let plan = ring_change(4, NEW_ROOT).proved(Scheme::Double);
    let broken = mutated(&plan, |draft| {
        let split = draft.waves.iter_mut().filter(|wave| wave.phase == Phase::Split);
        for write in split.flat_map(|wave| &mut wave.writes) {
            if let Write::SlToVl { table, .. } = write {
                table.0[usize::from(CROSSING.old)] = vl(1);
            }
        }
    });
    let refusal = assert_deadlocks("a level in the wrong set", &broken, &choose(&plan, CROSSING, 0));
    assert!(matches!(refusal, Some(Refusal::Deadlock(_))), "{refusal:?}");
}

#[test]
fn a_double_plan_that_does_not_wait_for_the_new_tables_deadlocks() {
    let plan = ring_change(4, NEW_ROOT).proved(Scheme::Double);
    let broken = without_barrier(&plan, Phase::Install, |barrier| *barrier == Barrier::Acknowledged);
    assert!(matches!(prove(broken.clone()), Err((_, Refusal::Precondition { .. }))));
    assert_deadlocks("install not awaited", &broken, &closing_on_new_half(&plan, STAYING));
}

/// Planned removals in place that are proved, and what the model finds where nobody waits for what leaves.
#[test]
fn what_leaves_in_place_leaves_empty_and_only_by_its_barrier() {
    let bounds = Bounds { flows: 3, states: 20_000_000, ..BRIEF };
    let (mut safe, mut found) = (0, 0);
    for change in random_changes(if is_thorough() { 20 } else { 3 }) {
        let (plan, refusal) = change.judged(Scheme::InPlace);
        let vacates = plan.waves().iter().flat_map(|wave| &wave.barriers).any(|one| matches!(one, Barrier::Vacated(_)));
        assert_eq!(vacates, plan.draft().surviving != plan.draft().after, "{}", change.name);
        if refusal.is_some() || !vacates {
            continue;
        }
        let flows = choose(&plan, PLAIN, bounds.flows);
        assert_safe(&format!("in place, {}", change.name), &traffic(&plan, &flows, bounds), bounds);
        safe += 1;
        let broken = without_barrier(&plan, Phase::Rewrite, |barrier| matches!(barrier, Barrier::Vacated(_)));
        let refused = prove(broken.clone()).err().map(|(_, refusal)| refusal);
        let fault = search(&change.name, &traffic(&broken, &flows, bounds), bounds).fault.map(|found| found.fault);
        assert!(matches!(fault, None | Some(Fault::LeftBehind)), "{}: {fault:?}", change.name);
        // The prover looks at all flows, the model at a few.
        let refuses = matches!(&refused, Some(Refusal::Precondition { what, .. }) if what.contains("what leaves"));
        assert!(refuses || refused.is_none() && fault.is_none(), "{}: {refused:?}, {fault:?}", change.name);
        found += usize::from(fault.is_some());
    }
    println!("{safe} planned removals in place are safe; {found} of them lose packets without the barrier");
    assert!(safe > 5 && found > 3, "{safe}, {found}");
}

/// Where *drained* is true of the sources too, as it is here, it says what this barrier says, and more. The prover asks
/// for it all the same: observers of the drain rest on it.
#[test]
fn a_double_plan_that_does_not_ask_the_sources_is_saved_by_the_drain() {
    let plan = ring_change(4, NEW_ROOT).proved(Scheme::Double);
    let broken = without_barrier(&plan, Phase::Swap, |barrier| *barrier == Barrier::SourcesMoved);
    assert!(matches!(prove(broken.clone()), Err((_, Refusal::Precondition { .. }))));
    assert_safe("sources not asked", &traffic(&broken, &choose(&plan, CROSSING, 0), BRIEF), BRIEF);
}

/// What came of in-place plans.
#[derive(Default, Debug)]
struct Tally {
    accepted: usize,
    deadlocks: usize,
    /// Deadlocks found among the flows that the prover named, and not among those of a cycle of R and R′.
    mixed: usize,
    loops: usize,
    holes: usize,
    /// Accepted, and packets are led over ports that have come and are not ACTIVE yet: port states are not looked at.
    stopped: usize,
    /// Refused for one fault, and found to have another.
    several: usize,
    states: usize,
}

/// All flows of the classes that a cycle names, with as many packets as it has lanes.
fn named(plan: &Plan, cycle: &Cycle) -> Traffic {
    let lids: BTreeSet<Lid> = cycle.dependencies.iter().map(|dependency| dependency.lid).collect();
    let flows: Vec<Flow> = lids.into_iter().flat_map(|lid| leading_to(plan, PLAIN, lid)).collect();
    Traffic::new(Network::new(plan, &flows), cycle.dependencies.len(), 1)
}

/// The model and the prover say the same of a plan in place; a deadlock that the model finds is one of those that the
/// prover holds possible.
fn assert_agreement(change: &Change, tally: &mut Tally) {
    let (plan, refusal) = change.judged(Scheme::InPlace);
    let bounds = Bounds { flows: 6, states: 20_000_000, ..BRIEF };
    let flows = match &refusal {
        // The paths of R and R′ show a cycle, but not a place where packets of one class can meet no entry.
        Some(Refusal::BlackHole(hole)) => leading_to(&plan, PLAIN, hole.lid),
        _ => choose(&plan, PLAIN, bounds.flows),
    };
    let mut traffic = traffic(&plan, &flows, bounds);
    let mut explored = explore(&traffic, bounds.states);
    if let (Some(Refusal::Deadlock(cycle)), None) = (&refusal, &explored.fault) {
        // Some turns are on no path of R or of R′, but on ways that change from one to the other.
        traffic = named(&plan, cycle);
        explored = explore(&traffic, bounds.states);
        tally.mixed += 1;
    }
    tally.states += explored.states.len();
    let comes = plan.draft().routed != plan.draft().before;
    let found = explored.fault.as_ref().map(|found| &found.fault);
    match (&refusal, found) {
        (None, None) => {
            tally.accepted += 1;
            assert!(explored.trap(&traffic).is_none(), "{}: the change can no longer end", change.name);
        }
        (Some(Refusal::Deadlock(_)), Some(Fault::Deadlock(waits))) => {
            tally.deadlocks += 1;
            let foreseen = foresee(&plan, waits).expect("waits that close a cycle");
            assert!(foreseen.is_some(), "{}: not foreseen: {waits:?}", change.name);
        }
        (Some(Refusal::Loop(_)), Some(Fault::Loop)) => tally.loops += 1,
        (Some(Refusal::BlackHole(_)), Some(Fault::Lost(Loss::Dropped))) => tally.holes += 1,
        (None, Some(Fault::Lost(Loss::Dropped))) if comes => tally.stopped += 1,
        // Such a plan can have several faults, and the two do not look in one order.
        (Some(_), Some(_)) if comes => tally.several += 1,
        _ => panic!("{}: the prover says {refusal:?}, the model {found:?}", change.name),
    }
}

#[test]
fn the_prover_and_the_model_say_the_same_of_plans_in_place() {
    let mut tally = Tally::default();
    random_changes(if is_thorough() { 60 } else { 12 }).for_each(|change| assert_agreement(&change, &mut tally));
    println!("{tally:?}");
    assert!(tally.accepted > 100 && tally.deadlocks > 5 && tally.loops > 5 && tally.holes > 5, "{tally:?}");
}
