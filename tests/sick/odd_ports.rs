//! One port that is unlike the others: what it holds says nothing of the subnet.

use super::scene::{S, Scene, Setup};
use reconfig::ids::{Lid, Lmc};
use reconfig::sim::SimConfig;
use reconfig::sm::{SubnetArrival, Takeover};
use reconfig::wire::{AttributeId, Method, Mtu, PortInfo, PortPhysState, PortState, SMP_DATA_SIZE, VlCount};

const HOST: &str = "host-16 HCA-1";

fn setup() -> Setup {
    Setup { data_vls_are_required: false, ..Setup::default() }
}

fn is_up(scene: &mut Scene) {
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(5 * S);
}

fn info(scene: &Scene, host: &str) -> PortInfo {
    PortInfo::decode(&scene.meddle(host, Method::Get, AttributeId::PortInfo, 1, [0; SMP_DATA_SIZE]))
}

/// A running subnet whose last host came up anew while nobody managed it, and holds something else; its next manager.
fn with_odd_port(setup: Setup, edit: impl FnOnce(PortInfo) -> PortInfo) -> Scene {
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup, &[]);
    is_up(&mut scene);
    let port = scene.port(HOST);
    scene.transport.with(|sim| {
        sim.kill(port);
        sim.revive(port);
    });
    let scene = scene.another(setup);
    assert_eq!(info(&scene, HOST).port_state, PortState::Initialize);
    meddled(&scene, HOST, edit);
    scene
}

/// Somebody writes other settings to a host's port, which stays in its state.
fn meddled(scene: &Scene, host: &str, edit: impl FnOnce(PortInfo) -> PortInfo) {
    scene.rewrite(host, AttributeId::PortInfo, 1, |held| {
        let unchanged = PortInfo {
            port_state: PortState::NoChange,
            port_phys_state: PortPhysState::NoChange,
            link_down_default_state: 0,
            ..PortInfo::decode(&held)
        };
        edit(unchanged).encode()
    });
}

fn lmcs(scene: &Scene) -> Vec<Lmc> {
    ["host-9 HCA-1", HOST].map(|host| info(scene, host).lmc).to_vec()
}

/// As a host from a subnet of OpenSM.
#[test]
fn a_port_with_a_lid_of_another_subnet_changes_nothing_for_the_others() {
    for (lid, lmc) in [(500, 0), (500, 1), (3, 0)] {
        let mut scene = with_odd_port(setup(), |held| PortInfo { lid: Lid(lid), lmc: Lmc::masked(lmc), ..held });
        is_up(&mut scene);
        assert_eq!(scene.arrival(), Some(SubnetArrival::Adopted), "LID {lid} LMC {lmc}");
        assert_eq!((scene.unreached(&[]), lmcs(&scene)), (vec![], vec![Lmc::masked(1); 2]), "LID {lid} LMC {lmc}");
    }
}

/// A port that carries data under an LMC that it should not have is brought in anew, and nobody else notices.
#[test]
fn an_active_port_with_another_lmc_changes_nothing_for_the_others() {
    for lmc in [0, 2] {
        let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup(), &[]);
        is_up(&mut scene);
        let mut scene = scene.another(setup());
        meddled(&scene, HOST, |held| PortInfo { lmc: Lmc::masked(lmc), ..held });
        assert_eq!(info(&scene, HOST).port_state, PortState::Active);
        is_up(&mut scene);
        assert_eq!(scene.arrival(), Some(SubnetArrival::Adopted), "LMC {lmc}");
        assert_eq!((scene.unreached(&[]), lmcs(&scene)), (vec![], vec![Lmc::masked(1); 2]), "LMC {lmc}");
        assert_eq!((scene.failures(), scene.degraded()), (vec![], vec![]), "LMC {lmc}");
    }
}

/// Where half of the ports are unlike the others, nobody knows who is odd.
#[test]
fn ports_that_are_no_minority_are_not_taken_down() {
    let setup = Setup { takeover: Takeover::Rewrite, ..setup() };
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup, &[]);
    is_up(&mut scene);
    let mut scene = scene.another(setup);
    for host in 9..=16 {
        meddled(&scene, &format!("host-{host} HCA-1"), |held| PortInfo { lmc: Lmc::masked(0), ..held });
    }
    is_up(&mut scene);
    assert!(matches!(scene.arrival(), Some(SubnetArrival::Rewritten { .. })), "{:?}", scene.arrival());
    assert_eq!(scene.unreached(&[]), []);
}

#[test]
fn a_port_in_initialize_on_one_lane_does_not_take_the_others_lanes() {
    let lanes = |scene: &Scene| {
        scene.meddle("host-9 HCA-1", Method::Get, AttributeId::SlToVlMappingTable, 0, [0; SMP_DATA_SIZE])
    };
    let mut scene = with_odd_port(setup(), |held| PortInfo { operational_vls: VlCount::One, ..held });
    let before = lanes(&scene);
    is_up(&mut scene);
    assert_eq!((scene.arrival(), lanes(&scene)), (Some(SubnetArrival::Adopted), before));
    assert_eq!(scene.unreached(&[]), []);
    assert_eq!(info(&scene, HOST).operational_vls.lanes(), Some(4));
}

/// What carries data stays where it is, whatever LID a file has for it.
#[test]
fn a_file_with_another_lid_for_a_port_moves_nobody() {
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup(), &[]);
    is_up(&mut scene);
    let port = scene.port(HOST);
    let held = scene.transport.with(|sim| sim.port_lid(port));
    let guid = scene.fabric.port_guid(port);
    for kept in [format!("{guid} 0x0100 0x0101\n"), format!("0x77 {:#06x} {:#06x}\n", held.0, held.0 + 1)] {
        scene = scene.remembering(setup(), &kept);
        is_up(&mut scene);
        assert_eq!(scene.arrival(), Some(SubnetArrival::Adopted), "{kept}");
        assert_eq!(scene.transport.with(|sim| sim.port_lid(port)), held, "{kept}");
    }
}

/// The MTU that each end of a host's link uses.
fn mtus(scene: &Scene, host: &str) -> [Mtu; 2] {
    let peer = scene.fabric.port(scene.fabric.peer(scene.port(host)).expect("cabled"));
    let switch = &scene.fabric.node(peer.node).description;
    let read = scene.meddle(switch, Method::Get, AttributeId::PortInfo, peer.num.0.into(), [0; SMP_DATA_SIZE]);
    [info(scene, host), PortInfo::decode(&read)].map(|info| info.neighbour_mtu)
}

/// Whether the host's port and the one at its switch carry data.
fn is_active(scene: &Scene) -> bool {
    let port = scene.port(HOST);
    let ends = [port, scene.fabric.peer(port).expect("cabled")];
    scene.transport.with(|sim| ends.iter().all(|&end| sim.port_state(end) == PortState::Active))
}

fn sets_mtu_cap(scene: &Scene, cap: Mtu) {
    let port = scene.port(HOST);
    scene.transport.with(|sim| sim.set_mtu_cap(port, cap));
}

/// The simulated devices refuse another MTU while a link lets data through.
#[test]
fn an_mtu_that_is_too_large_for_a_port_is_changed_with_the_link_taken_down() {
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup(), &[]);
    is_up(&mut scene);
    assert_eq!(mtus(&scene, HOST), [Mtu::B4096; 2]);
    sets_mtu_cap(&scene, Mtu::B2048);
    let mut scene = scene.another(setup());
    assert!(is_active(&scene));
    assert!(scene.until(5 * S, |scene| !is_active(scene)), "{:?}", scene.failures());
    is_up(&mut scene);
    assert_eq!((scene.arrival(), scene.unreached(&[])), (Some(SubnetArrival::Adopted), vec![]));
    assert_eq!((mtus(&scene, HOST), mtus(&scene, "host-9 HCA-1")), ([Mtu::B2048; 2], [Mtu::B4096; 2]));
    assert_eq!((scene.failures(), scene.degraded()), (vec![], vec![]));
}

/// No link goes down for a larger MTU: it is set when the link comes up anew by itself.
#[test]
fn an_mtu_that_is_smaller_than_it_could_be_stays_while_the_link_lets_data_through() {
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup(), &[]);
    sets_mtu_cap(&scene, Mtu::B2048);
    is_up(&mut scene);
    assert_eq!((mtus(&scene, HOST), mtus(&scene, "host-9 HCA-1")), ([Mtu::B2048; 2], [Mtu::B4096; 2]));
    sets_mtu_cap(&scene, Mtu::B4096);
    let mut scene = scene.another(setup());
    assert!(!scene.until(10 * S, |scene| !is_active(scene)), "{:?}", scene.failures());
    assert_eq!((scene.arrival(), mtus(&scene, HOST)), (Some(SubnetArrival::Adopted), [Mtu::B2048; 2]));
    let port = scene.port(HOST);
    scene.transport.with(|sim| {
        sim.kill(port);
        sim.revive(port);
    });
    assert!(scene.until(10 * S, is_active), "{:?}", scene.failures());
    scene.pass(S);
    assert_eq!((mtus(&scene, HOST), scene.unreached(&[])), ([Mtu::B4096; 2], vec![]));
    assert_eq!((scene.failures(), scene.degraded()), (vec![], vec![]));
}
