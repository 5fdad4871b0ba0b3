//! Cables that die while no manager is there: the next one finds tables that lead over them.

use super::scene::{MS, S, Scene, Setup};
use reconfig::fabric::PortId;
use reconfig::ids::PortNum;
use reconfig::plan::Scheme;
use reconfig::sim::SimConfig;
use reconfig::sm::{Happening, SubnetArrival};

/// A subnet that came up, whose manager died; then cables died. The manager that follows, when it has the subnet.
fn followed(topology: &str, engine: &'static str, cables: &[(&str, u8)], at: Option<&str>) -> Scene {
    let setup = Setup { engine, ..Setup::default() };
    let mut scene = Scene::cold(topology, SimConfig::default(), setup, &[]);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(S);
    assert_eq!(scene.unreached(&[]), []);
    let port =
        |&(switch, num): &(&str, u8)| scene.fabric.port_at(scene.node(switch), PortNum(num)).expect("it has that port");
    let ports: Vec<PortId> = cables.iter().map(port).collect();
    scene.transport.with(|sim| ports.iter().for_each(|&port| sim.kill(port)));
    let mut heir = match at {
        Some(host) => scene.succeeded_at(host, setup),
        None => scene.another(setup),
    };
    assert!(heir.until(40 * S, |heir| heir.arrival().is_some()), "{:?}", heir.failures());
    heir
}

/// The schemes of the changes so far.
fn schemes(scene: &Scene) -> Vec<Scheme> {
    let said = scene.said.borrow();
    let plans =
        said.iter().filter_map(|said| if let Happening::Changed(record) = said { Some(&record.plan) } else { None });
    plans.map(|plan| plan.plan().scheme()).collect()
}

/// The tables are those of the subnet before, and what follows is a loss like any other: by entries alone, in
/// milliseconds, whoever comes after whom.
#[test]
fn a_cable_that_nobody_saw_die_is_a_loss_like_any_other() {
    for (topology, engine, cable) in
        [("fat-tree:4,2", "fat-tree", ("leaf-2", 5)), ("torus:4x4,1", "up-down", ("switch-0-0", 2))]
    {
        for at in [None, Some("host-9 HCA-1")] {
            let mut heir = followed(topology, engine, &[cable], at);
            assert_eq!(heir.arrival(), Some(SubnetArrival::Adopted), "{topology} {at:?}");
            let up_ns = heir.now_ns();
            assert!(heir.until(S, |heir| heir.unreached(&[]).is_empty()), "{topology} {at:?}");
            let took_ns = heir.now_ns() - up_ns;
            assert!(took_ns < 100 * MS, "{topology} {at:?}: {took_ns} ns");
            heir.pass(5 * S);
            assert!(schemes(&heir).iter().all(|&scheme| scheme == Scheme::Ordered), "{topology}: {:?}", schemes(&heir));
            assert_eq!(heir.failures(), [""; 0], "{topology} {at:?}");
        }
    }
}

/// Nobody can tell which of the ports were joined: what is there is mended, as after any loss of more than cables.
#[test]
fn cables_that_may_have_been_joined_in_two_ways_are_not_guessed() {
    let mut heir = followed("fat-tree:4,2", "fat-tree", &[("leaf-2", 5), ("leaf-3", 6)], None);
    let arrival = heir.arrival();
    heir.pass(20 * S);
    assert_eq!(heir.unreached(&[]), [], "{arrival:?}");
    assert_eq!(heir.failures(), [""; 0], "{arrival:?}");
}
