//! Devices that do not answer while something else is lost: nobody waits for them.

use super::scene::{MS, S, Scene, Setup};
use reconfig::sim::{SickAttribute, Sickness, SimConfig};
use reconfig::wire::AttributeId;

/// A host's agent hangs, another host's cable goes, and a spine dies while the sweep after that waits for the host.
#[test]
fn a_loss_does_not_wait_for_a_sweep_that_a_silent_host_holds_up() {
    for dies_after_ms in [5, 20, 40, 70, 100] {
        let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
        assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        scene.pass(3 * S);
        let (hung, spine, cable) = (scene.node("host-16 HCA-1"), scene.node("spine-1"), scene.port("host-15 HCA-1"));
        let sick = SickAttribute { attribute: AttributeId::NodeInfo, sickness: Sickness::Silent, writes_only: false };
        scene.transport.with(|sim| {
            sim.sicken_node(hung, sick);
            sim.kill(cable);
        });
        scene.pass(dies_after_ms * MS);
        scene.transport.with(|sim| sim.kill(spine));
        let gone = [hung, scene.node("host-15 HCA-1")];
        // A sweep that waits for one device takes 30 ms here, and a look makes four of them.
        let is_routed = scene.until(10 * MS, |scene| scene.unreached(&gone).is_empty());
        assert!(is_routed, "{dies_after_ms} ms: {:?}", scene.failures());
        scene.pass(5 * S);
        assert_eq!(scene.unreached(&gone), [], "{dies_after_ms} ms: {:?}", scene.failures());
    }
}

/// The same while the manager asks another one, which does not answer.
#[test]
fn a_loss_does_not_wait_for_a_standby_that_hangs() {
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(3 * S);
    let ([one, two], standby) = (["spine-1", "spine-2"].map(|spine| scene.node(spine)), scene.port("host-9 HCA-1"));
    let sick = SickAttribute { attribute: AttributeId::SmInfo, sickness: Sickness::Silent, writes_only: false };
    scene.transport.with(|sim| {
        sim.sicken_node(scene.fabric.port(standby).node, sick);
        sim.set_is_sm(standby, true);
        sim.kill(one);
    });
    assert!(scene.until(10 * MS, |scene| scene.unreached(&[]).is_empty()), "{:?}", scene.failures());
    scene.pass(15 * MS);
    scene.transport.with(|sim| sim.kill(two));
    assert!(scene.until(10 * MS, |scene| scene.unreached(&[]).is_empty()), "{:?}", scene.failures());
}

/// A spine answers nothing about one attribute, and dies so long before the manager has waited for all time-outs. It is
/// routed around within 10 ms.
fn dies_while_it_is_silent(attribute: AttributeId, config: &SimConfig, before_ns: u64) {
    let begun = || {
        let mut scene = Scene::cold("fat-tree:4,2", config.clone(), Setup::default(), &[]);
        assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        scene.pass(3 * S);
        let spine = scene.node("spine-1");
        let sick = SickAttribute { attribute, sickness: Sickness::Silent, writes_only: false };
        scene.transport.with(|sim| sim.sicken_node(spine, sick));
        (scene, spine)
    };
    // When that is, if nothing else happens.
    let (mut scene, _) = begun();
    assert!(scene.until(60 * S, |scene| !scene.degraded().is_empty()), "{:?}", scene.failures());
    let end_ns = scene.now_ns();
    let (mut scene, spine) = begun();
    scene.pass(end_ns - before_ns - scene.now_ns());
    scene.transport.with(|sim| sim.kill(spine));
    assert!(scene.until(10 * MS, |scene| scene.unreached(&[]).is_empty()), "{:?}", scene.failures());
}

/// The same while the manager asks a switch, which does not answer, what it holds; then it is the switch that dies.
#[test]
fn a_loss_does_not_wait_for_entries_that_are_read_back() {
    dies_while_it_is_silent(AttributeId::LinearForwardingTable, &SimConfig::default(), 15 * MS);
}

/// The same while a light sweep waits for a switch, and no trap tells. It has just begun; it and two sweeps after it
/// wait 30 ms each.
#[test]
fn a_loss_does_not_wait_for_a_light_sweep_though_no_trap_tells() {
    let config = SimConfig { without_traps: true, ..SimConfig::default() };
    dies_while_it_is_silent(AttributeId::SwitchInfo, &config, 95 * MS);
}

/// Who does not answer at all is cut off, and shows; and it is looked for again, without anything else that happens.
#[test]
fn who_was_silent_for_a_while_comes_back_by_itself() {
    for (device, attribute) in [
        ("leaf-2", AttributeId::NodeInfo),
        ("spine-2", AttributeId::NodeInfo),
        ("spine-2", AttributeId::SwitchInfo),
        ("leaf-2", AttributeId::PortInfo),
        ("host-7 HCA-1", AttributeId::NodeInfo),
    ] {
        let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
        assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        scene.pass(3 * S);
        let (node, cable) = (scene.node(device), scene.port("host-16 HCA-1"));
        let sick = SickAttribute { attribute, sickness: Sickness::Silent, writes_only: false };
        scene.transport.with(|sim| {
            sim.sicken_node(node, sick);
            sim.kill(cable);
        });
        let other = scene.node("host-16 HCA-1");
        let gone = [scene.hosts_on(node), vec![node, other]].concat();
        scene.pass(30 * S);
        assert_eq!(scene.unreached(&gone), [], "{device}, {attribute:?}: {:?}", scene.failures());
        let degraded = scene.degraded();
        assert!(degraded.iter().any(|at| at.device == device), "{device}, {attribute:?}: {degraded:?}");
        scene.transport.with(|sim| sim.heal_node(node));
        let is_back = scene.until(65 * S, |scene| scene.unreached(&[other]).is_empty() && scene.degraded().is_empty());
        assert!(is_back, "{device}, {attribute:?}: {:?}, {:?}", scene.degraded(), scene.failures());
    }
}

/// One that was silent when it came, and that no routing has ever served.
#[test]
fn who_is_silent_when_it_comes_is_taken_in_once_it_answers() {
    let sick = SickAttribute { attribute: AttributeId::NodeInfo, sickness: Sickness::Silent, writes_only: false };
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[("host-9 HCA-1", sick)]);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(20 * S);
    let node = scene.node("host-9 HCA-1");
    assert_eq!(scene.unreached(&[node]), []);
    scene.transport.with(|sim| sim.heal_node(node));
    assert!(scene.until(65 * S, |scene| scene.unreached(&[]).is_empty()), "{:?}", scene.failures());
}

/// The second switch dies while the manager looks at what the first one broke: it is not waited for until all tries are
/// over.
#[test]
fn two_switches_that_die_one_after_the_other_cost_no_more_than_a_try() {
    let setup = Setup { engine: "fat-tree", ..Setup::default() };
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup, &[]);
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    let [leaf, spine] = ["leaf-2", "spine-3"].map(|name| scene.node(name));
    let mut worst_ns = 0;
    for delay_us in (0..1_500).step_by(50) {
        scene.pass(5 * S);
        scene.transport.with(|sim| sim.kill(leaf));
        scene.pass(delay_us * MS / 1_000);
        scene.transport.with(|sim| sim.kill(spine));
        let gone = [scene.hosts_on(leaf), vec![leaf]].concat();
        let began_ns = scene.now_ns();
        assert!(scene.until(S, |scene| scene.unreached(&gone).is_empty()), "{delay_us}: {:?}", scene.failures());
        worst_ns = worst_ns.max(scene.now_ns() - began_ns);
        scene.transport.with(|sim| [leaf, spine].into_iter().for_each(|switch| sim.revive(switch)));
        assert!(scene.until(20 * S, |scene| scene.unreached(&[]).is_empty()), "{delay_us}: {:?}", scene.failures());
    }
    assert!(worst_ns < 10 * MS, "{worst_ns} ns");
}
