//! A switch that cannot be served: it is left out by itself, and everybody else is served.

use super::scene::{S, Scene, Setup, named};
use reconfig::fabric::{Fabric, FabricBuilder, NodeId, NodeKind};
use reconfig::ids::{Guid, PortNum};
use reconfig::sim::SimConfig;
use reconfig::sm::SubnetArrival;

const SHORT: &str = "short";

/// Three hosts on a switch, and two more switches on that one with a host each; the one called `short` has room for
/// four forwarding entries.
fn fabric() -> Fabric {
    let mut builder = FabricBuilder::new();
    let switch = |builder: &mut FabricBuilder, guid, name: &str| builder.node(NodeKind::Switch, Guid(guid), 8, name);
    let middle = switch(&mut builder, 0x10, "middle");
    let short = switch(&mut builder, 0x20, SHORT);
    let sound = switch(&mut builder, 0x30, "sound");
    builder.node_mut(short).lft_capacity = 4;
    let mut cables = vec![((middle, 7), (short, 8)), ((middle, 8), (sound, 8))];
    for (rank, (at, num)) in (1..).zip([(middle, 1), (middle, 2), (middle, 3), (short, 1), (sound, 1)]) {
        let host = builder.node(NodeKind::Ca, Guid(0x100 * rank), 1, format!("host-{rank}"));
        cables.push(((at, num), (host, 1)));
    }
    for ((a, a_num), (b, b_num)) in cables {
        let ends = [(a, PortNum(a_num)), (b, PortNum(b_num))];
        builder.link(ends[0], ends[1], Default::default(), Default::default()).expect("both ports are free");
    }
    builder.build().expect("a fabric")
}

/// The rest is served, nothing fails, and the status names the switch.
fn it_alone_is_left_out(scene: &Scene) {
    let out: Vec<NodeId> = [SHORT, "host-4"].map(|name| named(&scene.fabric, name)).to_vec();
    assert_eq!((scene.unreached(&out), scene.failures()), (vec![], vec![]));
    let told: Vec<_> =
        scene.degraded().into_iter().map(|at| (at.device, at.attribute, at.fails, at.left_out)).collect();
    let named = (SHORT.to_string(), "SwitchInfo".to_string(), "unfit".to_string(), true);
    assert_eq!(told, [named]);
}

#[test]
fn a_switch_with_too_few_forwarding_entries_keeps_no_subnet_from_coming_up() {
    let mut scene = Scene::cold_of(fabric(), SimConfig::default(), Setup::default(), &[]);
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    assert_eq!(scene.arrival(), Some(SubnetArrival::Cold));
    scene.pass(3 * S);
    it_alone_is_left_out(&scene);
    // It is tried again meanwhile.
    scene.pass(60 * S);
    it_alone_is_left_out(&scene);
    let mut scene = scene.another(Setup::default());
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    assert_eq!(scene.arrival(), Some(SubnetArrival::Adopted));
    scene.pass(60 * S);
    it_alone_is_left_out(&scene);
}

#[test]
fn a_newcomer_with_too_few_forwarding_entries_keeps_no_other_newcomer_out() {
    let mut scene = Scene::cold_of(fabric(), SimConfig::default(), Setup::default(), &[]);
    let late = [SHORT, "sound"].map(|name| scene.node(name));
    scene.transport.with(|sim| late.iter().for_each(|&switch| sim.kill(switch)));
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(3 * S);
    scene.transport.with(|sim| late.iter().for_each(|&switch| sim.revive(switch)));
    scene.pass(10 * S);
    it_alone_is_left_out(&scene);
    // Changes go on beside it.
    let host = scene.node("host-2");
    scene.transport.with(|sim| sim.kill(host));
    scene.pass(5 * S);
    scene.transport.with(|sim| sim.revive(host));
    scene.pass(10 * S);
    it_alone_is_left_out(&scene);
}
