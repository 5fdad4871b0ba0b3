//! Losses that are met by two changes: hosts have ways again after the first, everything else after the second.

use crate::driver::bench::{Bench, MS, at_rest, bench_by, drive, light, policy, tables_match};
use reconfig::change::{ChangeBase, ChangeInput, Prepared, prepare_at_once};
use reconfig::driver::{ChangeRecord, Intent, Running};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::Half;
use reconfig::machine::Outcome;
use reconfig::plan::{Observer, Scheme};
use reconfig::routing::FatTree;
use reconfig::sim::PacketCounts;
use reconfig::verify::{Scope, prove_tables};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What fails.
#[derive(Clone, Copy)]
enum Loss {
    Cable(PortId),
    Switch(NodeId),
}

fn fabric_bench() -> Bench {
    let mut bench = bench_by("fat-tree:8,3", light(), Scheme::Double, policy(Observer::Token), Arc::new(FatTree));
    bench.driver.intend(intent());
    bench.transport.with(|sim| sim.run(MS / 20, false));
    bench
}

fn intent() -> Intent {
    let policy = policy(Observer::Token);
    Intent { auto: true, ..Intent::by(Arc::new(FatTree), Scheme::Double, policy) }
}

fn is_bare(fabric: &Fabric, node: NodeId) -> bool {
    let mut next = fabric.ports_of(node).filter_map(|port| fabric.neighbour(port));
    fabric.node(node).is_switch() && next.all(|node| fabric.node(node).is_switch())
}

/// Cables between switches, of leaves or not, at their first ends.
fn cables(fabric: &Fabric, of_leaves: bool) -> Vec<PortId> {
    let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
    let is_leafs = |port: PortId| !is_bare(fabric, fabric.port(port).node);
    let between = fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b));
    between.filter(|&(a, b)| (is_leafs(a) || is_leafs(b)) == of_leaves).map(|(a, _)| a).collect()
}

/// The loss, as a sweep finds it.
fn lose(bench: &mut Bench, loss: Loss) {
    bench.transport.with(|sim| match loss {
        Loss::Cable(port) => sim.kill(port),
        Loss::Switch(node) => sim.kill(node),
    });
    let transport = bench.transport.clone();
    drive(&transport, bench.driver.look(), Vec::new()).expect("it answers");
    assert!(bench.driver.running().has_lost_something());
}

/// What hosts need at once, by what is known of the routing in force now.
fn at_once(running: &Running, known: &Running) -> Option<Prepared> {
    let asked = |running: &Running| ChangeInput {
        before: running.routed.clone(),
        surviving: running.alive.clone(),
        after: running.alive.clone(),
        tables: running.tables.clone(),
        layers: running.layers,
        ways: running.ways.clone(),
        old: running.half,
        both_halves: running.both_halves,
        engine: &FatTree,
        scheme: Scheme::Double,
        policy: policy(Observer::Token),
        sm: running.sm,
        base: None,
    };
    let base = ChangeBase::of(&asked(known).in_force()).expect("the routing is safe");
    prepare_at_once(&ChangeInput { base: Some(&base), ..asked(running) })
}

/// Has a thread find out what the next change begins with, and waits for it.
fn make_ready(bench: &mut Bench) {
    bench.driver.ready();
    let began = Instant::now();
    while !bench.driver.is_ready() {
        assert!(began.elapsed() < Duration::from_mins(5), "it is never found out");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn run(bench: &mut Bench, prepared: Prepared) -> ChangeRecord {
    let transport = bench.transport.clone();
    let record = drive(&transport, bench.driver.run(prepared), Vec::new()).expect("it runs");
    assert_eq!(record.outcome, Outcome::Completed);
    let running = bench.driver.running();
    tables_match(bench, &running.tables, &running.alive);
    record
}

/// The change for what is still lost, as the manager finds it: after a sweep, in full.
fn finish(bench: &mut Bench) {
    let transport = bench.transport.clone();
    drive(&transport, bench.driver.look(), Vec::new()).expect("it answers");
    let left = Arc::new(bench.driver.running().wanted(Fabric::clone).expect("rows are lost"));
    let prepared = bench.driver.prepare(left).expect("it can be prepared");
    assert!(!prepared.plan.plan().leads_into_loss());
    run(bench, prepared);
}

/// Nothing is lost any more, and all rows have ways.
fn is_whole(bench: &Bench) {
    let running = bench.driver.running();
    assert!(!running.has_lost_something() && running.wanted(Fabric::clone).is_none());
    assert!(*running.routed == *running.alive);
    prove_tables(&running.alive, &running.tables, &Scope::of(&[running.half])).expect("a routing of what is left");
}

fn nothing_lost_to_the_change(bench: &Bench) {
    let packets @ PacketCounts { in_flight, lost_to_change, injected, .. } = at_rest(bench);
    assert!(injected > 0 && in_flight == 0 && lost_to_change == 0, "{packets:?}");
}

fn losses(fabric: &Fabric) -> [Loss; 3] {
    let bare = fabric.switches().find(|&node| is_bare(fabric, node)).expect("a switch without hosts");
    [Loss::Cable(cables(fabric, false)[0]), Loss::Cable(cables(fabric, true)[5]), Loss::Switch(bare)]
}

/// The routing in force stays that of the fabric before the loss as long as rows lead into it, so the loss stands until
/// the second change is made.
#[test]
fn a_change_that_leaves_rows_lost_is_followed_by_one_for_them() {
    let mut partial = 0;
    for which in 0..3 {
        let mut bench = fabric_bench();
        let loss = losses(&bench.fabric)[which];
        let whole = bench.driver.running().clone();
        lose(&mut bench, loss);
        let lost = bench.driver.running().clone();
        let first = at_once(&lost, &whole).expect("one wave does");
        let leaves_rows = first.plan.plan().leads_into_loss();
        run(&mut bench, first);
        let between = bench.driver.running().clone();
        assert_eq!(between.has_lost_something(), leaves_rows, "loss {which}");
        if leaves_rows {
            partial += 1;
            assert!(Arc::ptr_eq(&between.routed, &whole.routed), "the loss stands");
            // Even if all is known of the routing in between, no change is made twice.
            assert!(at_once(&between, &between).is_none_or(|next| !next.plan.plan().leads_into_loss()));
            finish(&mut bench);
        }
        is_whole(&bench);
        nothing_lost_to_the_change(&bench);
    }
    assert!(partial > 0, "no loss leaves rows to the second change");
}

/// What is lost between the two changes is met by the second, or by one more.
#[test]
fn a_second_loss_between_the_two_changes_is_met_with_the_rest() {
    let mut bench = fabric_bench();
    let (first, second) = (cables(&bench.fabric, true)[5], *cables(&bench.fabric, true).last().expect("cables"));
    let whole = bench.driver.running().clone();
    lose(&mut bench, Loss::Cable(first));
    let prepared = at_once(bench.driver.running(), &whole).expect("one wave does");
    assert!(prepared.plan.plan().leads_into_loss());
    run(&mut bench, prepared);
    let between = bench.driver.running().clone();
    lose(&mut bench, Loss::Cable(second));
    // With all known of the routing in between, hosts come first once more; the rest of both losses waits.
    let again = at_once(bench.driver.running(), &between).expect("one wave does");
    assert!(again.plan.plan().leads_into_loss());
    run(&mut bench, again);
    assert!(Arc::ptr_eq(&bench.driver.running().routed, &whole.routed), "both losses stand");
    finish(&mut bench);
    is_whole(&bench);
    nothing_lost_to_the_change(&bench);
}

/// A cable that comes back between the two changes needs no second one.
#[test]
fn what_comes_back_between_the_two_changes_needs_no_second_one() {
    let mut bench = fabric_bench();
    let cable = cables(&bench.fabric, true)[5];
    let whole = bench.driver.running().clone();
    lose(&mut bench, Loss::Cable(cable));
    let prepared = at_once(bench.driver.running(), &whole).expect("one wave does");
    assert!(prepared.plan.plan().leads_into_loss());
    run(&mut bench, prepared);
    bench.transport.with(|sim| sim.revive(cable));
    let transport = bench.transport.clone();
    drive(&transport, bench.driver.look(), Vec::new()).expect("it answers");
    let running = bench.driver.running();
    assert!(!running.has_lost_something() && running.wanted(Fabric::clone).is_none());
    prove_tables(&running.alive, &running.tables, &Scope::of(&[Half::Lower])).expect("a routing of the whole");
    tables_match(&bench, &running.tables, &running.alive);
}

/// By the way that a manager takes it: what is known of the routing is found out by a thread while nothing happens.
#[test]
fn a_preparation_that_hurries_reconnects_hosts_first() {
    let mut bench = fabric_bench();
    let cable = cables(&bench.fabric, true)[5];
    make_ready(&mut bench);
    lose(&mut bench, Loss::Cable(cable));
    let mut changes = 0;
    while let Some(wanted) = bench.driver.running().wanted(Fabric::clone) {
        let wanted = Arc::new(wanted);
        let prepared = bench.driver.preparation(wanted).hurried().carried_out().expect("it can be prepared");
        assert_eq!(prepared.plan.plan().leads_into_loss(), changes == 0);
        run(&mut bench, prepared);
        make_ready(&mut bench);
        let transport = bench.transport.clone();
        drive(&transport, bench.driver.look(), Vec::new()).expect("it answers");
        changes += 1;
        assert!(changes <= 2, "no end of changes");
    }
    assert_eq!(changes, 2);
    is_whole(&bench);
    nothing_lost_to_the_change(&bench);
}
