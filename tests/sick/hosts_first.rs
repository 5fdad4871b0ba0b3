//! The manager that `reconfig sm` runs meets a loss on a large fabric by two changes: hosts have ways again by the first.

use super::scene::{MS, S, Scene, Setup};
use reconfig::driver::ChangeRecord;
use reconfig::fabric::PortId;
use reconfig::machine::Outcome;
use reconfig::plan::{Plan, Scheme};
use reconfig::sim::SimConfig;
use reconfig::sm::Happening;
use std::time::{Duration, Instant};

/// Losses, one after the other: what is known of the routing in force is found out by a thread, and nobody sees when.
const LOSSES: usize = 4;

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

#[test]
fn a_manager_whose_planning_takes_time_gives_hosts_ways_first() {
    let setup = Setup { engine: "fat-tree", is_threaded: true, ..Setup::default() };
    let mut scene = Scene::cold("fat-tree:8,3", SimConfig::default(), setup, &[]);
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
        scene.transport.with(|sim| sim.kill_link(cable));
        assert!(awaited(&mut scene, |scene| changes(scene) > earlier), "{:?}", scene.failures());
        let first = plans(&scene).swap_remove(earlier);
        if !first.leads_into_loss() {
            scene.pass(S);
            continue;
        }
        assert!(first.scheme() == Scheme::Ordered && first.waves().len() == 1);
        assert!(scene.unreached(&[]).is_empty(), "hosts have ways by the first change");
        assert!(awaited(&mut scene, |scene| changes(scene) > earlier + 1), "no second change follows");
        scene.pass(5 * S);
        let made = plans(&scene);
        assert_eq!(made.len(), earlier + 2, "no end of changes");
        assert!(!made[earlier + 1].leads_into_loss());
        assert!(scene.unreached(&[]).is_empty());
        assert!(scene.failures().is_empty(), "{:?}", scene.failures());
        return;
    }
    panic!("no loss was met by hosts first");
}
