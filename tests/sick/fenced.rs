//! Hosts behind a fence: whatever becomes of the change, of its manager's switch or of its mastership, they are opened.

use super::masters::both;
use super::scene::{S, Scene, Setup};
use reconfig::fabric::{NodeId, PortId};
use reconfig::ids::{Sl, Vl};
use reconfig::machine::{CallOff, Outcome};
use reconfig::sim::{SickAttribute, Sickness, SimConfig};
use reconfig::sm::{Happening, ManagerOrder, RunUntil, SmError, SubnetArrival, SubnetElement, Takeover};
use reconfig::wire::{AttributeId, SlToVlMappingTable};
use std::collections::BTreeSet;

const SETUP: Setup = Setup { auto: false, takeover: Takeover::Rewrite, ..Setup::DEFAULT };

/// No SL-to-VL table is taken.
const REFUSES: SickAttribute =
    SickAttribute { attribute: AttributeId::SlToVlMappingTable, sickness: Sickness::Refuses, writes_only: true };

/// Hosts whose ports discard some service level.
fn closed(scene: &Scene) -> usize {
    let is_closed = |port: &PortId| {
        let read = scene.transport.with(|sim| sim.attribute(*port, AttributeId::SlToVlMappingTable, 0));
        let table = SlToVlMappingTable::decode(&read.expect("it has lanes")).0;
        Sl::all().any(|sl| table[usize::from(sl.get())] == Vl::MANAGEMENT)
    };
    scene.fabric.end_ports().filter(is_closed).count()
}

fn entered(scene: &Scene, state: &str) -> bool {
    scene.said.borrow().iter().any(|said| matches!(said, Happening::Entered { state: other } if *other == state))
}

fn given_up(scene: &Scene) -> bool {
    scene.failures().iter().any(|why| why.contains("given up"))
}

fn cold(setup: Setup) -> Scene {
    Scene::cold("fat-tree:4,2", SimConfig::default(), setup, &[])
}

/// A subnet from which a switch is being removed: the change has come to a state.
fn removing(state: &str, setup: Setup) -> Scene {
    removing_on(cold(setup), state)
}

fn removing_on(mut scene: Scene, state: &str) -> Scene {
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(S);
    let element = SubnetElement::Switch("spine-1".to_string());
    let order = ManagerOrder::SetAside { element, dry_run: false, cut_off_meant: false };
    scene.mailbox.borrow_mut().order(order);
    assert!(scene.until(10 * S, |scene| entered(scene, state)), "{:?}", scene.failures());
    scene
}

/// The manager's own switch takes no SL-to-VL table any more.
fn sicken_own_switch(scene: &Scene) -> NodeId {
    let own = scene.fabric.neighbour(scene.port("host-1 HCA-1")).expect("its leaf");
    scene.transport.with(|sim| sim.sicken_node(own, REFUSES));
    own
}

/// The manager's own switch takes no SL-to-VL table, so neither the change nor its recovery can end. A cable that flaps
/// all the while has the change resumed at once each time, and puts nothing off.
#[test]
fn hosts_do_not_wait_for_a_recovery_that_always_fails() {
    for flaps in [false, true] {
        let mut scene = removing("draining", SETUP);
        let own = sicken_own_switch(&scene);
        scene.pass(5 * S);
        assert_eq!((closed(&scene), scene.mailbox.borrow().view.closed_ends), (16, 16), "flaps: {flaps}");
        let cable = scene.port("host-16 HCA-1");
        let begun_ns = scene.now_ns();
        while !given_up(&scene) {
            assert!(scene.now_ns() < begun_ns + 70 * S, "flaps: {flaps}: {:?}", scene.failures().last());
            if flaps {
                scene.transport.with(|sim| sim.kill(cable));
                scene.pass(3 * S / 2);
                scene.transport.with(|sim| sim.revive(cable));
            }
            scene.pass(3 * S / 2);
        }
        scene.pass(20 * S);
        assert_eq!(closed(&scene), 0, "flaps: {flaps}: {:?}", scene.failures());
        let view = scene.mailbox.borrow().view.clone();
        assert_eq!((view.running.is_some(), view.closed_ends), (false, 0));
        assert!(view.degraded.iter().any(|at| at.device.contains("leaf-1")), "{:?}", view.degraded);
        let failures = scene.failures();
        assert!(failures.iter().any(|why| why.contains("16 end ports") && why.contains("nothing is proved")));
        assert!(failures.iter().any(|why| why.contains("(leaf-1): refused")), "{failures:?}");
        // Attempts become fewer.
        scene.said.borrow_mut().clear();
        scene.pass(100 * S);
        assert!(scene.failures().len() < 5, "{:?}", scene.failures());
        scene.transport.with(|sim| sim.heal_node(own));
        assert!(scene.until(61 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        scene.pass(5 * S);
        assert_eq!((closed(&scene), scene.unreached(&[])), (0, vec![]), "flaps: {flaps}");
    }
}

/// A stop waits for a change, its retired half and a recovery while they are being ended, and for nothing else.
#[test]
fn only_what_is_being_ended_keeps_a_manager_from_stopping() {
    let owes = |scene: &Scene| scene.mailbox.borrow().ends_what_it_owes();
    let mut scene = cold(SETUP);
    scene.poll();
    assert!(!owes(&scene), "amid its first look");
    let mut scene = removing_on(scene, "draining");
    assert!(owes(&scene), "amid the change");
    let own = sicken_own_switch(&scene);
    assert!(scene.until(10 * S, |scene| !owes(scene)), "{:?}", scene.failures());
    assert_eq!(scene.mailbox.borrow().lifecycle().name(), "halted");
    scene.transport.with(|sim| sim.heal_node(own));
    assert!(scene.until(10 * S, owes), "it is resumed");
    let mut states = BTreeSet::new();
    while !scene.mailbox.borrow().lifecycle().is_done() {
        let state = scene.mailbox.borrow().lifecycle();
        if owes(&scene) {
            states.insert(state.name());
        }
        assert_eq!(owes(&scene), state.holds_on() && !state.is_at_rest(), "{state:?}");
        scene.pass(S / 1_000);
    }
    assert!(states.contains("resuming") && states.contains("surveying"), "{states:?}");
    assert!(!owes(&scene) && closed(&scene) == 0);
    // The next one recovers what another left amid a change.
    let mut heir = removing("draining", SETUP).another(SETUP);
    assert!(heir.until(10 * S, owes), "{:?}", heir.failures());
    assert_eq!(heir.mailbox.borrow().lifecycle().name(), "bringing-up");
    assert!(heir.until(30 * S, |heir| heir.arrival().is_some()), "{:?}", heir.failures());
    assert!(!owes(&heir));
}

/// How a manager says that it ends: the first signal is an order, the second ends it at once.
fn ends_stopped(scene: &mut Scene) -> [Option<SmError>; 2] {
    let at_once = scene.mailbox.borrow().left_behind();
    scene.mailbox.borrow_mut().order(ManagerOrder::Stop);
    [at_once, scene.ended(30 * S).expect("it ends").err()]
}

/// Whoever closed them: the manager that ends, or one before it.
#[test]
fn a_manager_that_ends_says_how_many_hosts_stay_closed() {
    let left = |ends| Some(SmError::LeftBehind { ends });
    let mut idle = cold(SETUP);
    assert!(idle.until(S, |scene| scene.mailbox.borrow().lifecycle().is_done()), "{:?}", idle.failures());
    assert_eq!(ends_stopped(&mut idle), [None, None]);
    for takeover in [Takeover::Rewrite, Takeover::Proved] {
        for is_killed in [false, true] {
            let setup = Setup { takeover, ..SETUP };
            let mut scene = removing("draining", setup);
            assert_eq!((closed(&scene), scene.mailbox.borrow().left_behind()), (16, left(16)), "amid the change");
            sicken_own_switch(&scene);
            if is_killed {
                scene = scene.another(setup);
            }
            // The recovery fails at the manager's own switch, and is tried again.
            let fails = |scene: &Scene| scene.failures().iter().any(|why| why.contains("the recovery of the subnet"));
            let mut least = 16;
            while !fails(&scene) {
                assert!(scene.now_ns() < 90 * S, "{:?}", scene.failures().last());
                scene.pass(S / 10);
                let view = scene.mailbox.borrow().view.clone();
                least = least.min(if view.running.is_some() || !is_killed { view.closed_ends } else { least });
            }
            assert_eq!((closed(&scene), least), (16, 16), "{takeover:?}, killed: {is_killed}");
            let said = ends_stopped(&mut scene);
            assert_eq!(said, [left(16), left(16)], "{takeover:?}, killed: {is_killed}");
            assert!(said[1].as_ref().is_some_and(|why| why.to_string().contains("`reconfig rescue`")));
        }
    }
}

/// A manager that has opened them, since the recovery fails again and again, has not ended it.
#[test]
fn a_manager_that_ends_before_its_recovery_has_ended_says_so() {
    for is_killed in [false, true] {
        let mut scene = removing("draining", SETUP);
        sicken_own_switch(&scene);
        if is_killed {
            scene = scene.another(SETUP);
        }
        assert!(scene.until(90 * S, |scene| closed(scene) == 0), "{:?}", scene.failures());
        scene.pass(S / 2);
        let left = || Some(SmError::LeftBehind { ends: 0 });
        assert_eq!(ends_stopped(&mut scene), [left(), left()], "killed: {is_killed}");
    }
}

/// Killed amid a change, and started only to bring the subnet up: it goes on with the change, and ends when the half
/// that the change leaves is open again.
#[test]
fn a_manager_that_ends_once_the_subnet_is_up_leaves_no_host_closed() {
    let folder = tempfile::tempdir().expect("room");
    let path = folder.path().join("sm.journal");
    let killed = removing_on(cold(SETUP).recorded(SETUP, &path), "draining");
    let mut scene = killed.recorded(Setup { until: RunUntil::Up, ..SETUP }, &path);
    assert_eq!((closed(&scene), scene.ended(30 * S)), (16, Some(Ok(()))));
    assert_eq!(closed(&scene), 0);
}

/// The same, and meanwhile a switch came that the change lacks, and somebody wrote an entry: the change is not resumed,
/// and nothing of its smaller fabric is left.
#[test]
fn a_change_that_is_not_resumed_leaves_nothing_of_its_fabric() {
    let folder = tempfile::tempdir().expect("room");
    let path = folder.path().join("sm.journal");
    let mut smaller = cold(SETUP);
    assert!(smaller.until(S, |scene| scene.arrival().is_some()), "{:?}", smaller.failures());
    let late = smaller.node("spine-3");
    smaller.transport.with(|sim| sim.kill(late));
    smaller.pass(5 * S);
    let killed = removing_on(smaller.recorded(SETUP, &path), "draining");
    killed.transport.with(|sim| sim.revive(late));
    killed.rewrite("leaf-2", AttributeId::LinearForwardingTable, 0, |mut entries| {
        entries.swap(1, 5);
        entries
    });
    let mut scene = killed.recorded(SETUP, &path);
    assert!(scene.until(30 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    assert!(!matches!(scene.arrival(), Some(SubnetArrival::Resumed { .. })), "{:?}", scene.arrival());
    scene.pass(20 * S);
    assert_eq!((closed(&scene), scene.unreached(&[])), (0, vec![]), "{:?}", scene.failures());
}

#[test]
fn a_change_that_waits_at_a_barrier_is_called_off_before_the_swap_and_held_after_it() {
    for (state, is_called_off) in [("splitting", true), ("draining", false)] {
        let mut scene = removing("splitting", Setup { pauses: true, ..SETUP });
        let held = |scene: &Scene| scene.mailbox.borrow().held();
        let limit_ns = scene.now_ns() + 10 * S;
        while !entered(&scene, state) || held(&scene).is_none() {
            assert!(scene.now_ns() < limit_ns, "{state}: {:?}", scene.failures());
            scene.mailbox.borrow_mut().go_on();
            scene.pass(S / 10);
        }
        let at = held(&scene);
        assert_eq!(scene.mailbox.borrow_mut().abort(), Some(is_called_off), "{state}");
        scene.pass(5 * S);
        let is_off = scene.said.borrow().iter().any(|said| match said {
            Happening::Changed(record) => record.outcome == Outcome::CalledOff(CallOff::Abort),
            _ => false,
        });
        let stays = at.filter(|_| !is_called_off);
        assert_eq!((is_off, held(&scene)), (is_called_off, stays), "{state}");
        // The next one waits again.
        if is_called_off {
            let element = SubnetElement::Switch("spine-2".to_string());
            let order = ManagerOrder::SetAside { element, dry_run: false, cut_off_meant: false };
            scene.mailbox.borrow_mut().order(order);
            assert!(scene.until(10 * S, |scene| held(scene).is_some()), "{:?}", scene.failures());
        }
    }
}

/// Other managers leave SL-to-VL tables of hosts as they are: a half that is closed at the handover stays closed.
#[test]
fn a_manager_of_higher_rank_finds_no_half_closed() {
    // Amid a change that ends, and one that is given up and recovered once its switch serves again.
    for (state, stands_still) in [("splitting", false), ("draining", true)] {
        let mut first = removing(state, SETUP);
        let own = first.fabric.neighbour(first.port("host-1 HCA-1")).expect("its leaf");
        let mut second = first.beside("host-9 HCA-1", Setup { priority: 15, ..SETUP });
        let other = first.port("host-9 HCA-1");
        first.transport.with(|sim| sim.set_is_sm(other, true));
        if stands_still {
            first.transport.with(|sim| sim.sicken_node(own, REFUSES));
            let is_master = |second: &Scene| second.role() == "master";
            let limit_ns = 80 * S;
            both(&mut first, &mut second, limit_ns, |first, second| is_master(second) || given_up(first));
            assert_eq!((given_up(&first), is_master(&second)), (true, false), "{:?}", first.failures());
            first.transport.with(|sim| sim.heal_node(own));
        }
        let handed_over = both(&mut first, &mut second, 90 * S, |_, second| second.role() == "master");
        assert!(handed_over, "{state}: {:?}", [first.role(), second.role()]);
        assert_eq!(closed(&first), 0, "{state}: hosts are closed at the handover");
        let said = first.said.borrow();
        let elections = said.iter().filter_map(|said| match said {
            Happening::Election { state } => Some(*state),
            _ => None,
        });
        assert_eq!(elections.take(3).collect::<Vec<_>>(), ["master", "yielding", "handing-over"], "{state}");
    }
}
