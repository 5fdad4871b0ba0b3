//! The manager that `reconfig sm` runs meets a loss on a large fabric by two changes: hosts have ways again by the
//! first.

use super::scene::{MS, S, Scene, Setup};
use reconfig::driver::ChangeRecord;
use reconfig::fabric::{Fabric, PortId};
use reconfig::machine::Outcome;
use reconfig::plan::{Plan, Scheme};
use reconfig::sim::SimConfig;
use reconfig::sm::Happening;
use reconfig::verify::{Scope, prove_tables};
use std::path::Path;
use std::time::{Duration, Instant};

/// Losses, one after the other: what is known of the routing in force is found out by a thread, and nobody sees when.
const LOSSES: usize = 4;

const SETUP: Setup = Setup { engine: "fat-tree", is_threaded: true, ..Setup::DEFAULT };

/// The plans of all changes so far, each completed.
fn plans(scene: &Scene) -> Vec<Plan> {
    let said = scene.said.borrow();
    let records = said.iter().filter_map(|said| match said {
        Happening::Changed(record) => Some(&**record),
        _ => None,
    });
    let completed = |record: &ChangeRecord| {
        assert_eq!(record.outcome, Outcome::Completed);
        record.plan.plan().clone()
    };
    records.map(completed).collect()
}

fn changes(scene: &Scene) -> usize {
    scene.said.borrow().iter().filter(|said| matches!(said, Happening::Changed(_))).count()
}

/// Runs until something holds; the simulation's clock waits for the threads of the manager.
fn awaited(scene: &mut Scene, holds: impl Fn(&Scene) -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_mins(2) {
        if scene.until(5 * MS, &holds) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// A scene in which hosts have just been given ways by a first change, and rows of switches wait for a second; and the
/// changes made so far.
fn after_the_first(journal: Option<&Path>) -> (Scene, usize) {
    let mut scene = Scene::cold("fat-tree:8,3", SimConfig::default(), SETUP, &[]);
    if let Some(journal) = journal {
        // Nothing has been done yet.
        scene = scene.recorded(SETUP, journal);
    }
    assert!(awaited(&mut scene, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    let is_leaf = |port: PortId| {
        !scene.hosts_on(scene.fabric.port(port).node).iter().all(|&node| scene.fabric.node(node).is_switch())
    };
    let is_switch = |port: PortId| scene.fabric.node(scene.fabric.port(port).node).is_switch();
    let cables: Vec<PortId> = scene
        .fabric
        .links()
        .filter(|&(a, b)| is_switch(a) && is_switch(b) && (is_leaf(a) || is_leaf(b)))
        .map(|(a, _)| a)
        .skip(5)
        .step_by(9)
        .take(LOSSES)
        .collect();
    for cable in cables {
        scene.pass(100 * MS);
        std::thread::sleep(Duration::from_secs(10));
        let earlier = changes(&scene);
        scene.transport.with(|sim| sim.kill(cable));
        assert!(awaited(&mut scene, |scene| changes(scene) > earlier), "{:?}", scene.failures());
        let first = plans(&scene).swap_remove(earlier);
        if first.leads_into_loss() {
            assert!(first.scheme() == Scheme::Ordered && first.waves().len() == 1);
            assert!(scene.unreached(&[]).is_empty(), "hosts have ways by the first change");
            return (scene, earlier + 1);
        }
        scene.pass(S);
    }
    panic!("no loss was met by hosts first");
}

/// Every row has a way, by tables that are proved for what is there and that devices hold.
fn is_whole(scene: &Scene, at: &str) {
    assert!(scene.unreached(&[]).is_empty(), "{at}");
    let mailbox = scene.mailbox.borrow();
    let running = mailbox.view.running.as_ref().expect("it is up");
    assert!(!running.has_lost_something() && running.wanted(Fabric::clone).is_none(), "{at}: rows are lost still");
    prove_tables(&running.alive, &running.tables, &Scope::of(running.alive.halves())).expect(at);
    for (id, node) in running.alive.nodes().filter(|(_, node)| node.present && node.is_switch()) {
        let own = scene.fabric.by_guid(node.guid).expect("it is there");
        for (lid, output) in running.tables.lfts[id.index()].routes() {
            assert_eq!(scene.transport.with(|sim| sim.output(own, lid)), Some(output), "{at}: LID {lid}");
        }
    }
}

#[test]
fn a_manager_whose_planning_takes_time_gives_hosts_ways_first() {
    let (mut scene, made) = after_the_first(None);
    assert!(awaited(&mut scene, |scene| changes(scene) > made), "no second change follows");
    scene.pass(5 * S);
    let plans = plans(&scene);
    assert_eq!(plans.len(), made + 1, "no end of changes");
    assert!(!plans[made].leads_into_loss());
    is_whole(&scene, "by two changes");
    assert!(scene.failures().is_empty(), "{:?}", scene.failures());
}

/// Whether whoever comes after a manager that died between the two changes gives the rest ways by what it finds, while
/// hosts keep theirs.
fn finds_the_rest(mut scene: Scene, at: &str) {
    assert!(scene.unreached(&[]).is_empty(), "{at}: hosts have their ways");
    assert!(awaited(&mut scene, |scene| scene.arrival().is_some()), "{at}: {:?}", scene.failures());
    // The tables are adopted with the cable that led there, and a change follows.
    let is_mended = |scene: &Scene| {
        let mailbox = scene.mailbox.borrow();
        mailbox.view.running.as_ref().is_some_and(|running| !running.has_lost_something())
    };
    assert!(awaited(&mut scene, is_mended), "{at}: {:?}", scene.failures());
    scene.pass(5 * S);
    is_whole(&scene, at);
    assert!(scene.failures().is_empty(), "{at}: {:?}", scene.failures());
}

#[test]
fn a_manager_that_dies_between_the_two_changes_finds_the_rest_when_it_is_back() {
    let folder = tempfile::tempdir().expect("room");
    let journal = folder.path().join("sm.journal");
    let (scene, _) = after_the_first(Some(&journal));
    finds_the_rest(scene.recorded(SETUP, &journal), "with its journal");
}

#[test]
fn a_standby_without_the_journal_finds_the_rest_after_the_first_change() {
    let (scene, _) = after_the_first(None);
    let host = scene.fabric.end_ports().last().map(|port| scene.fabric.port(port).node).expect("hosts");
    let name = scene.fabric.node(host).description.trim().to_string();
    finds_the_rest(scene.succeeded_at(&name, SETUP), "a standby");
}

/// A subnet routed by layers that has lost one of its 24 cables between switches, when the change is over; and the
/// plans of all changes.
fn after_a_loss_by_layers(cable: usize) -> (Scene, Vec<Plan>) {
    let setup = Setup { is_threaded: false, engine: "lash", ..SETUP };
    let mut scene = Scene::cold("mesh:4x4", SimConfig::default(), setup, &[]);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(S);
    let is_switch = |port: PortId| scene.fabric.node(scene.fabric.port(port).node).is_switch();
    let (cable, _) = scene.fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b)).nth(cable).expect("24 cables");
    let before = changes(&scene);
    scene.transport.with(|sim| sim.kill(cable));
    assert!(scene.until(60 * S, |scene| changes(scene) > before), "{:?}", scene.failures());
    let plans = plans(&scene);
    (scene, plans)
}

/// The old routing's ways are short, though channels on lanes of several layers depend on each other in long chains: as
/// many rounds of flushes as ways have channels are enough, and one question has room for them.
#[test]
fn double_by_an_engine_of_layers_ends() {
    let (mut scene, plans) = after_a_loss_by_layers(16);
    assert_eq!(plans.last().map(Plan::scheme), Some(Scheme::Double));
    scene.pass(S);
    assert_eq!(scene.unreached(&[]), []);
}

/// Where scheme `double` would be taken for a loss, waves of entries that serve some come first, and what follows them
/// is part of the same change.
#[test]
fn what_entries_alone_serve_comes_before_double() {
    let (mut scene, _) = after_a_loss_by_layers(12);
    let (schemes, restarts): (Vec<Scheme>, usize) = {
        let said = scene.said.borrow();
        let record = said.iter().rev().find_map(|said| match said {
            Happening::Changed(record) => Some(&**record),
            _ => None,
        });
        let record = record.expect("a change");
        assert_eq!(record.outcome, Outcome::Completed);
        assert!(record.plans[0].plan().leads_into_loss() && !record.plan.plan().leads_into_loss());
        (record.plans.iter().map(|plan| plan.plan().scheme()).collect(), record.restarts)
    };
    // The first has served so many that nobody need move for the rest.
    assert_eq!((&schemes[..], restarts), (&[Scheme::Ordered, Scheme::Ordered][..], 0));
    scene.pass(S);
    assert_eq!(scene.unreached(&[]), []);
}
