//! Two managers in a subnet that falls apart and is joined again.

use super::scene::{POLL_NS, S, Scene, Setup, timing};
use reconfig::fabric::NodeId;
use reconfig::sim::{Halt, SickAttribute, Sickness, SimConfig};
use reconfig::sm::{Happening, Takeover, rescue};
use reconfig::subnet::{AWAY_NS, Manager};
use reconfig::transport::AnyTransport;
use reconfig::wire::{AttributeId, Method, SMP_DATA_SIZE, Smp, SwitchInfo};
use std::task::{Context, Waker};

/// Runs both until something holds, or for so long; whether it came to hold.
pub fn both(one: &mut Scene, other: &mut Scene, limit_ns: u64, holds: impl Fn(&Scene, &Scene) -> bool) -> bool {
    let end_ns = one.now_ns() + limit_ns;
    loop {
        one.poll();
        other.poll();
        if holds(one, other) {
            return true;
        }
        if one.now_ns() >= end_ns {
            return false;
        }
        let next_ns = end_ns.min(other.transport.waits_until_ns());
        assert_ne!(one.transport.advance(next_ns), Halt::Deadlock, "deadlock");
    }
}

fn roles(one: &Scene, other: &Scene) -> [&'static str; 2] {
    [one.role(), other.role()]
}

/// Ports of ibsim lose their capability bits with their link, so the bit alone must not decide: the manager of higher
/// rank is not seen by it, and asks for the subnet itself.
#[test]
fn two_masters_are_one_within_two_polls_of_the_joint() {
    for shows_bit in [true, false] {
        let [mut first, mut second] = two();
        let own = first.port("host-1 HCA-1");
        // The first manager's switch loses all its cables to other switches.
        let cables = first.uplinks("leaf-1");
        first.transport.with(|sim| {
            cables.iter().for_each(|&cable| sim.kill(cable));
            sim.set_is_sm(own, shows_bit);
        });
        let split = both(&mut first, &mut second, 60 * S, |one, other| roles(one, other) == ["master", "master"]);
        assert!(split, "{:?}", roles(&first, &second));
        assert!(both(&mut first, &mut second, 30 * S, |_, other| other.arrival().is_some()), "{:?}", second.failures());
        both(&mut first, &mut second, 5 * S, |_, _| false);
        first.transport.with(|sim| cables.iter().for_each(|&cable| sim.revive(cable)));
        let one = |one: &Scene, other: &Scene| roles(one, other) == ["master", "standby"];
        let joined = both(&mut first, &mut second, 2 * POLL_NS, one);
        assert!(joined, "bit {shows_bit}: {:?}", roles(&first, &second));
        let whole = both(&mut first, &mut second, 60 * S, |one, _| one.unreached(&[]).is_empty());
        assert!(whole, "bit {shows_bit}: {:?}", first.failures());
        // Longer than a standby waits for a master that does not answer.
        let parted = both(&mut first, &mut second, 10 * POLL_NS, |first, second| !one(first, second));
        assert!(!parted, "bit {shows_bit}: {:?}", roles(&first, &second));
    }
}

/// The time-outs of one poll are not added to each of the four.
#[test]
fn a_standby_waits_out_all_tries_of_the_first_unanswered_poll_only() {
    let [mut master, mut standby] = two();
    let silent_ns = master.now_ns();
    master.is_deaf.set(true);
    let taken = both(&mut master, &mut standby, 20 * S, |_, other| other.role() == "master");
    let waited_ns = master.now_ns() - silent_ns;
    assert!(taken && waited_ns <= 5 * POLL_NS, "{waited_ns}");
}

fn says_so(scene: &Scene, switch: &str) -> bool {
    let held = scene.meddle(switch, Method::Get, AttributeId::SwitchInfo, 0, [0; SMP_DATA_SIZE]);
    SwitchInfo::decode(&held).port_state_change
}

/// No trap reports the joint, and whoever has read the bits has cleared them: that another manager asks is all that
/// the lower one hears of it.
#[test]
fn a_master_that_is_asked_from_beyond_its_subnet_looks_who_is_there() {
    let setup = || Setup { takeover: Takeover::Rewrite, ..Setup::default() };
    let config = SimConfig { without_traps: true, ..SimConfig::default() };
    let mut first = Scene::cold("fat-tree:4,2", config, setup(), &[]);
    let cables = first.uplinks("leaf-1");
    first.transport.with(|sim| cables.iter().for_each(|&cable| sim.kill(cable)));
    let mut second = first.beside("host-9 HCA-1", setup());
    let both_up = |one: &Scene, other: &Scene| one.arrival().is_some() && other.arrival().is_some();
    assert!(both(&mut first, &mut second, 60 * S, both_up), "{:?}", roles(&first, &second));
    both(&mut first, &mut second, 5 * S, |_, _| false);
    first.transport.with(|sim| cables.iter().for_each(|&cable| sim.revive(cable)));
    let spines = first.fabric.switches().map(|switch| first.fabric.node(switch).description.clone());
    for spine in spines.filter(|name| name.starts_with("spine")) {
        // Written as read, a bit is cleared.
        first.rewrite(&spine, AttributeId::SwitchInfo, 0, |held| held);
        assert!(!says_so(&first, &spine));
    }
    let one = |one: &Scene, other: &Scene| roles(one, other) == ["master", "standby"];
    assert!(both(&mut first, &mut second, 2 * POLL_NS, one), "{:?}", roles(&first, &second));
    let whole = both(&mut first, &mut second, 60 * S, |one, _| one.unreached(&[]).is_empty());
    assert!(whole, "{:?}", first.failures());
}

/// What a switch says is for its own manager: another one that finds it reads it, and does not clear it.
#[test]
fn a_master_clears_no_bits_of_switches_before_it_has_asked_whose_they_are() {
    let [mut first, mut second] = two();
    let cables = first.uplinks("leaf-1");
    first.transport.with(|sim| cables.iter().for_each(|&cable| sim.kill(cable)));
    let split = both(&mut first, &mut second, 60 * S, |one, other| roles(one, other) == ["master", "master"]);
    assert!(split, "{:?}", roles(&first, &second));
    both(&mut first, &mut second, 30 * S, |_, _| false);
    first.transport.with(|sim| cables.iter().for_each(|&cable| sim.revive(cable)));
    // The other one's process does nothing until the first has asked it.
    let (own, end_ns) = (second.port("host-9 HCA-1"), first.now_ns() + 2 * POLL_NS);
    let is_asked = |first: &Scene| {
        let came = || first.transport.with(|sim| sim.received_at(own));
        let smps = std::iter::from_fn(came).filter_map(|came| Smp::decode(&came.bytes).ok());
        smps.filter(|smp| (smp.method, smp.attribute) == (Method::Get, AttributeId::SmInfo)).count() > 0
    };
    while !is_asked(&first) {
        assert!(first.now_ns() < end_ns, "{:?}", roles(&first, &second));
        first.poll();
        assert_ne!(first.transport.advance(end_ns), Halt::Deadlock, "deadlock");
    }
    assert!(!says_so(&first, "leaf-1"), "its own is cleared");
    assert!(says_so(&first, "spine-1"));
}

/// Two subnets that were never one are joined: their managers decide which of them is master before either takes in
/// what the other has, though LIDs are held twice.
#[test]
fn two_subnets_that_never_met_have_one_master_before_either_takes_the_other_in() {
    for shows_bit in [true, false] {
        // LIDs are held twice, which no proof covers.
        let setup = || Setup { takeover: Takeover::Rewrite, ..Setup::default() };
        let mut first = Scene::cold("fat-tree:4,2", SimConfig::default(), setup(), &[]);
        let cables = first.uplinks("leaf-1");
        first.transport.with(|sim| cables.iter().for_each(|&cable| sim.kill(cable)));
        let mut second = first.beside("host-9 HCA-1", setup());
        let ends = ["host-1 HCA-1", "host-9 HCA-1"].map(|name| first.port(name));
        first.transport.with(|sim| ends.iter().for_each(|&end| sim.set_is_sm(end, shows_bit)));
        let both_up = |one: &Scene, other: &Scene| one.arrival().is_some() && other.arrival().is_some();
        assert!(both(&mut first, &mut second, 60 * S, both_up), "{:?}", roles(&first, &second));
        both(&mut first, &mut second, 5 * S, |_, _| false);
        assert_eq!(roles(&first, &second), ["master", "master"]);
        first.transport.with(|sim| cables.iter().for_each(|&cable| sim.revive(cable)));
        let begun = |scene: &Scene| scene.said.borrow().iter().any(|said| matches!(said, Happening::Begun { .. }));
        let decided = |one: &Scene, other: &Scene| roles(one, other) == ["master", "standby"];
        let joined = both(&mut first, &mut second, 2 * POLL_NS, |one, other| decided(one, other) || begun(one));
        assert!(joined && decided(&first, &second), "bit {shows_bit}: {:?}", roles(&first, &second));
        assert!(!begun(&first) && !begun(&second), "bit {shows_bit}: a change began before there was one master");
        let whole = both(&mut first, &mut second, 60 * S, |one, _| one.unreached(&[]).is_empty());
        assert!(whole, "bit {shows_bit}: {:?}", first.failures());
        assert_eq!(roles(&first, &second), ["master", "standby"], "bit {shows_bit}");
        // LIDs that the other part has given up are those of the ports that hold them still: what goes there arrives.
        let takes = |port| first.transport.with(|sim| sim.end_port_of(port, sim.port_lid(port)));
        let astray: Vec<_> = first.fabric.end_ports().filter(|&port| takes(port) != Some(port)).collect();
        assert!(astray.is_empty(), "bit {shows_bit}: {astray:?}");
    }
}

/// Whoever only looks leaves it to the master to learn what switches say: the trap may be lost.
#[test]
fn who_does_not_manage_the_subnet_clears_no_bits() {
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(3 * S);
    let says_so = |scene: &Scene| says_so(scene, "leaf-4");
    assert!(!says_so(&scene), "the master has cleared it");
    scene.transport.hang_up();
    let cable = scene.port("host-15 HCA-1");
    scene.transport.with(|sim| sim.kill(cable));
    assert!(says_so(&scene));
    // `reconfig rescue`, while the master sleeps.
    let port = scene.transport.attach_another(scene.port("host-5 HCA-1")).expect("a host's port");
    let mut manager = Manager::new(Box::new(port.clone()) as AnyTransport, timing(), 0);
    let mut looking = rescue::find_closed(&mut manager);
    while looking.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
        let next_ns = scene.now_ns() + S;
        assert_ne!(port.advance(next_ns), Halt::Deadlock, "deadlock");
    }
    drop(looking);
    assert!(says_so(&scene));
}

/// A subnet with a master at its first host, and a standby.
fn two() -> [Scene; 2] {
    let mut first = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
    assert!(first.until(S, |scene| scene.arrival().is_some()), "{:?}", first.failures());
    let mut second = first.beside("host-9 HCA-1", Setup::default());
    let other = first.port("host-9 HCA-1");
    first.transport.with(|sim| sim.set_is_sm(other, true));
    assert!(both(&mut first, &mut second, 20 * S, |one, other| roles(one, other) == ["master", "standby"]));
    both(&mut first, &mut second, 3 * S, |_, _| false);
    [first, second]
}

/// How often a manager has taken the subnet over, and what it has found changed by others.
fn terms(scene: &Scene) -> (usize, usize) {
    let said = scene.said.borrow();
    let count = |is_it: fn(&Happening) -> bool| said.iter().filter(|said| is_it(said)).count();
    (count(|said| matches!(said, Happening::Up { .. })), count(|said| matches!(said, Happening::Mended(_))))
}

/// Runs the other manager while this one's process is stopped, as [`Scene::until`] does.
fn alone(stopped: &Scene, other: &mut Scene, limit_ns: u64, holds: impl Fn(&Scene) -> bool) -> bool {
    let (own, end_ns) = (stopped.port("host-1 HCA-1"), other.now_ns() + limit_ns);
    loop {
        other.poll();
        // The simulation stops for what has come and is not taken.
        stopped.transport.with(|sim| while sim.received_at(own).is_some() {});
        if holds(other) {
            return true;
        }
        if other.now_ns() >= end_ns {
            return false;
        }
        assert_ne!(other.transport.advance(end_ns), Halt::Deadlock, "deadlock");
    }
}

/// The master's process is stopped; the standby takes over, and routes around a spine that dies. When the process goes
/// on, what it knows is true no longer: it writes none of it.
#[test]
fn a_master_that_stood_still_reads_the_subnet_anew() {
    let [mut first, mut second] = two();
    assert!(alone(&first, &mut second, 60 * S, |scene| scene.role() == "master"), "it takes over");
    assert!(alone(&first, &mut second, 60 * S, |scene| scene.arrival().is_some()), "{:?}", second.failures());
    alone(&first, &mut second, 3 * S, |_| false);
    let spine = first.node("spine-1");
    first.transport.with(|sim| sim.kill(spine));
    assert!(alone(&first, &mut second, 30 * S, |scene| scene.unreached(&[]).is_empty()), "{:?}", second.failures());
    alone(&first, &mut second, 5 * S, |_| false);
    let is_broken = both(&mut first, &mut second, 60 * S, |one, _| !one.unreached(&[]).is_empty());
    assert!(!is_broken, "{:?} {:?}", first.failures(), second.failures());
    assert_eq!((roles(&first, &second), terms(&first)), (["master", "standby"], (2, 0)), "{:?}", first.failures());
}

/// The standby hears nothing of the master for so long that it takes over, and no port changes.
#[test]
fn two_masters_are_one_though_the_subnet_is_quiet() {
    let [mut first, mut second] = two();
    first.is_deaf.set(true);
    let taken = both(&mut first, &mut second, 20 * S, |_, other| other.role() == "master");
    assert!(taken, "{:?}", roles(&first, &second));
    first.is_deaf.set(false);
    let one = both(&mut first, &mut second, 12 * S, |one, other| roles(one, other) == ["master", "standby"]);
    assert!(one, "{:?}", roles(&first, &second));
    let again = both(&mut first, &mut second, 12 * S, |one, _| terms(one) == (2, 0));
    assert!(again, "it reads what the other may have written: {:?} {:?}", terms(&first), first.failures());
}

/// Neither has met the other, and neither port says that a manager runs there.
#[test]
fn a_master_that_does_not_show_itself_is_found_by_the_ports_that_name_it() {
    let mut first = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
    assert!(first.until(S, |scene| scene.arrival().is_some()), "{:?}", first.failures());
    first.pass(3 * S);
    let own = first.port("host-1 HCA-1");
    first.transport.with(|sim| sim.set_is_sm(own, false));
    let mut second = first.beside("host-9 HCA-1", Setup::default());
    let two = both(&mut first, &mut second, 20 * S, |_, other| other.role() == "master");
    assert!(!two, "{:?}", roles(&first, &second));
    assert_eq!(roles(&first, &second), ["master", "standby"]);
}

/// Whatever the manager tried meanwhile, and however long its switch was away.
#[test]
fn the_managers_own_switch_is_noticed_soon_after_it_comes_back() {
    for away_ns in [S / 2, 2 * S, 100 * S] {
        let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
        assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        scene.pass(3 * S);
        let leaf = scene.node("leaf-1");
        let is_reached = |scene: &Scene| scene.mailbox.borrow().view.unreached.is_none();
        scene.transport.with(|sim| sim.kill(leaf));
        assert!(scene.until(15 * S, |scene| !is_reached(scene)), "{:?}", scene.failures());
        scene.pass(away_ns);
        assert!(!is_reached(&scene));
        assert_eq!(scene.failures().len(), 1, "it is said once: {:?}", scene.failures());
        scene.transport.with(|sim| sim.revive(leaf));
        assert!(scene.until(3 * S / 2, is_reached), "after {away_ns} ns: {:?}", scene.failures());
        let is_whole = |scene: &Scene| scene.unreached(&[]).is_empty();
        assert!(scene.until(10 * S, is_whole), "after {away_ns} ns: {:?}", scene.failures());
        // Another manager may have come and gone.
        assert_eq!(terms(&scene), (1 + usize::from(away_ns > AWAY_NS), 0), "after {away_ns} ns");
    }
}

/// The switch that the manager depends on cannot be left out, so nothing is brought up by this manager: another one
/// that stands by gets the subnet, and keeps it, though its rank is lower.
#[test]
fn a_manager_whose_own_switch_fails_leaves_the_subnet_to_another() {
    let setup = || Setup { takeover: Takeover::Rewrite, ..Setup::default() };
    let attribute = AttributeId::LinearForwardingTable;
    for sickness in [Sickness::Refuses, Sickness::Silent] {
        let sick = [("leaf-1", SickAttribute { attribute, sickness, writes_only: true })];
        let mut first = Scene::cold("fat-tree:4,2", SimConfig::default(), setup(), &sick);
        let mut second = first.beside("host-9 HCA-1", setup());
        let other = first.port("host-9 HCA-1");
        first.transport.with(|sim| sim.set_is_sm(other, true));
        let handed_over = |one: &Scene, other: &Scene| roles(one, other) == ["standby", "master"];
        assert!(both(&mut first, &mut second, 60 * S, handed_over), "{sickness:?}: {:?}", first.failures());
        let is_up = |_: &Scene, other: &Scene| other.arrival().is_some();
        assert!(both(&mut first, &mut second, 60 * S, is_up), "{sickness:?}: {:?}", second.failures());
        both(&mut first, &mut second, 5 * S, |_, _| false);
        let behind: Vec<NodeId> = first.hosts_on(first.node("leaf-1"));
        assert_eq!(second.unreached(&behind), [], "{sickness:?}: {:?}", second.failures());
        assert!(first.trouble().is_some_and(|why| why.contains("has resigned")), "{sickness:?}");
        let returned = both(&mut first, &mut second, 60 * S, |one, other| !handed_over(one, other));
        assert!(!returned, "{sickness:?}: {:?}", roles(&first, &second));
        // The other one ends, and nobody else is there.
        let leaf = first.node("leaf-1");
        first.transport.with(|sim| sim.heal_node(leaf));
        second.transport.hang_up();
        drop(second);
        first.transport.with(|sim| sim.set_is_sm(other, false));
        assert!(first.until(60 * S, |scene| scene.arrival().is_some()), "{sickness:?}: {:?}", first.failures());
        first.pass(5 * S);
        assert_eq!((first.role(), first.trouble(), first.unreached(&[])), ("master", None, Vec::new()), "{sickness:?}");
    }
}

/// The manager's own switch cannot be left out when a change halts at it. The rest does not wait for it, and a manager
/// that stands by gets the subnet soon.
#[test]
fn the_rest_does_not_wait_for_the_managers_own_switch() {
    let setup = || Setup { engine: "fat-tree", takeover: Takeover::Rewrite, ..Setup::default() };
    let attribute = AttributeId::LinearForwardingTable;
    let falls_sick = |scene: &Scene, sickness: Sickness| {
        let [leaf, spine] = ["leaf-1", "spine-1"].map(|name| scene.node(name));
        scene.transport.with(|sim| {
            sim.sicken_node(leaf, SickAttribute { attribute, sickness, writes_only: true });
            sim.kill(spine);
        });
        scene.hosts_on(leaf)
    };
    for sickness in [Sickness::Refuses, Sickness::Silent] {
        let folder = tempfile::tempdir().expect("room");
        let cold = Scene::cold("fat-tree:4,2", SimConfig::default(), setup(), &[]);
        let mut scene = cold.recorded(setup(), &folder.path().join("sm.journal"));
        assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        scene.pass(3 * S);
        let behind = falls_sick(&scene, sickness);
        assert!((0..20).any(|_| {
            scene.pass(S);
            scene.unreached(&behind).is_empty()
        }));

        let [mut first, mut second] = two();
        let behind = falls_sick(&first, sickness);
        let handed_over = |one: &Scene, other: &Scene| roles(one, other) == ["standby", "master"];
        assert!(both(&mut first, &mut second, 40 * S, handed_over), "{sickness:?}: {:?}", first.failures());
        let is_up = |_: &Scene, other: &Scene| other.arrival().is_some();
        assert!(both(&mut first, &mut second, 20 * S, is_up), "{sickness:?}: {:?}", second.failures());
        both(&mut first, &mut second, 5 * S, |_, _| false);
        assert_eq!(second.unreached(&behind), [], "{sickness:?}: {:?}", second.failures());
    }
}

/// No manager stands by: the other hosts reach one another all the same, though nothing is proved of that switch.
#[test]
fn a_lone_manager_brings_up_the_rest_around_its_own_switch() {
    let faults = [
        (AttributeId::LinearForwardingTable, Sickness::Refuses),
        (AttributeId::LinearForwardingTable, Sickness::Silent),
        (AttributeId::SlToVlMappingTable, Sickness::Refuses),
        (AttributeId::PortInfo, Sickness::Refuses),
    ];
    for (attribute, sickness) in faults {
        for takeover in [Takeover::Rewrite, Takeover::Proved] {
            let sick = [("leaf-1", SickAttribute { attribute, sickness, writes_only: true })];
            let setup = Setup { engine: "fat-tree", takeover, ..Setup::default() };
            let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup, &sick);
            scene.pass(60 * S);
            let leaf = scene.node("leaf-1");
            let is_served = scene.unreached(&scene.hosts_on(leaf)).is_empty();
            let may_be = takeover == Takeover::Rewrite || scene.arrival().is_some();
            assert_eq!(is_served, may_be, "{attribute:?} {sickness:?} {takeover:?}: {:?}", scene.failures());
            scene.transport.with(|sim| sim.heal_node(leaf));
            let is_up = scene.until(70 * S, |scene| scene.arrival().is_some());
            assert!(is_up || takeover == Takeover::Proved, "{attribute:?} {sickness:?}: {:?}", scene.failures());
            scene.pass(5 * S);
            if is_up {
                assert_eq!(scene.unreached(&[]), [], "{attribute:?} {sickness:?}: {:?}", scene.failures());
            }
        }
    }
}
