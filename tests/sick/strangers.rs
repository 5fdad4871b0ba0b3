//! What other programs write, or have written: addresses and entries are given back, partitions are left alone, and
//! lanes change only while a link is down.

use super::scene::{S, Scene, Setup};
use reconfig::fabric::PortId;
use reconfig::ids::{Lid, Lmc};
use reconfig::sim::{SickAttribute, Sickness, SimConfig};
use reconfig::sm::{Happening, SubnetArrival, Takeover};
use reconfig::wire::{AttributeId, DEFAULT_P_KEY, Method, PKeyTable, PortInfo, SMP_DATA_SIZE};

fn up(setup: Setup) -> Scene {
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup, &[]);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(3 * S);
    scene
}

fn mended(scene: &Scene) -> usize {
    mended_in_words(scene).len()
}

fn mended_in_words(scene: &Scene) -> Vec<String> {
    let words = |said: &Happening| if let Happening::Mended(what) = said { Some(what.clone()) } else { None };
    scene.said.borrow().iter().filter_map(words).collect()
}

fn address(scene: &Scene, name: &str) -> (PortId, Lid) {
    let port = scene.port(name);
    (port, scene.transport.with(|sim| sim.port_lid(port)))
}

/// No trap reports it, and no port-change bit: light sweeps find it.
#[test]
fn a_lid_that_somebody_else_changes_is_given_back() {
    for (device, modifier) in [("host-9 HCA-1", 1), ("spine-2", 0)] {
        let mut scene = up(Setup::default());
        let ((port, own), (_, other)) = (address(&scene, device), address(&scene, "host-3 HCA-1"));
        scene.rewrite(device, AttributeId::PortInfo, modifier, |held| {
            // The LID of another host: both would take its packets.
            PortInfo { lid: other, lmc: Lmc::default(), ..PortInfo::decode(&held).unchanged() }.encode()
        });
        assert_eq!(scene.transport.with(|sim| sim.port_lid(port)), other);
        let given = scene.until(120 * S, |scene| scene.transport.with(|sim| sim.port_lid(port)) == own);
        assert!(given, "{device}: {:?}", scene.failures());
        assert_eq!((mended(&scene), scene.unreached(&[])), (1, vec![]), "{device}");
        scene.pass(60 * S);
        let words = mended_in_words(&scene);
        assert!(matches!(&words[..], [once] if once.starts_with("somebody else has changed the LIDs of")), "{words:?}");
    }
}

/// A device whose agent has restarted has no LID, and nobody else took it.
#[test]
fn a_lid_that_a_device_has_lost_is_not_blamed_on_others() {
    let mut scene = up(Setup::default());
    scene.rewrite("host-9 HCA-1", AttributeId::PortInfo, 1, |held| {
        PortInfo { lid: Lid::default(), lmc: Lmc::default(), ..PortInfo::decode(&held).unchanged() }.encode()
    });
    assert!(scene.until(120 * S, |scene| mended(scene) > 0), "{:?}", scene.failures());
    let words = mended_in_words(&scene);
    assert_eq!(words, ["lost, as after a power cycle: the LIDs of host-9 HCA-1[1]; written again"]);
    assert!(scene.until(S, |scene| scene.unreached(&[]).is_empty()), "{:?}", scene.failures());
}

#[test]
fn entries_that_somebody_else_changes_are_given_back() {
    let mut scene = up(Setup::default());
    scene.rewrite("leaf-3", AttributeId::LinearForwardingTable, 0, |_| [0xFF; SMP_DATA_SIZE]);
    assert_ne!(scene.unreached(&[]), []);
    assert!(scene.until(120 * S, |scene| scene.unreached(&[]).is_empty()), "{:?}", scene.failures());
    assert_eq!(mended(&scene), 1);
}

fn keys(own: &[u16]) -> [u8; SMP_DATA_SIZE] {
    let mut table = PKeyTable { keys: [0; 32] };
    table.keys[..own.len()].copy_from_slice(own);
    table.encode()
}

/// Somebody else has partitioned the subnet: the SA follows once the ports were asked in turn, and so does the SA of a
/// manager that takes over. Who is switched off and on has lost its table, and gets it back; what it holds already is
/// left alone.
#[test]
fn the_sa_answers_by_the_partitions_that_ports_hold() {
    let mut scene = up(Setup::default());
    let key = |scene: &Scene, from: u8, to: u8| {
        let path = scene.sa_path(&format!("host-{from} HCA-1"), &format!("host-{to} HCA-1"));
        path.map(|path| path.p_key)
    };
    assert_eq!((key(&scene, 9, 10), key(&scene, 11, 12)), (Some(0xFFFF), Some(0xFFFF)));
    let held: [(u8, &[u16]); 4] = [(9, &[0x7FFF]), (10, &[0x7FFF]), (11, &[0x7FFF, 0x8010]), (12, &[0x7FFF, 0x8010])];
    for (host, own) in held {
        scene.meddle(&format!("host-{host} HCA-1"), Method::Set, AttributeId::PKeyTable, 0, keys(own));
    }
    let ways = [(9, 10), (10, 9), (9, 11), (11, 12), (12, 11), (9, 1), (1, 9), (1, 2), (9, 9)];
    let wanted = [None, None, None, Some(0x8010), Some(0x8010), Some(0x7FFF), Some(0xFFFF), Some(0xFFFF), None];
    let is_followed = |scene: &Scene| ways.map(|(from, to)| key(scene, from, to)) == wanted;
    assert!(scene.until(120 * S, is_followed), "{:?}", ways.map(|(from, to)| key(&scene, from, to)));
    assert_eq!((mended(&scene), scene.failures()), (0, vec![]), "nothing is written");
    // A key in a later block; a switch's own port.
    scene.meddle("host-12 HCA-1", Method::Set, AttributeId::PKeyTable, 1, keys(&[0, 0x8020]));
    scene.meddle("spine-2", Method::Set, AttributeId::PKeyTable, 0, keys(&[0x7FFF]));

    let mut scene = scene.another(Setup::default());
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    assert_eq!(scene.arrival(), Some(SubnetArrival::Adopted));
    assert!(is_followed(&scene), "at once: {:?}", ways.map(|(from, to)| key(&scene, from, to)));
    for (host, own) in held {
        let table =
            scene.meddle(&format!("host-{host} HCA-1"), Method::Get, AttributeId::PKeyTable, 0, [0; SMP_DATA_SIZE]);
        assert_eq!(table, keys(own), "host {host}");
    }

    let devices = ["host-9 HCA-1", "host-12 HCA-1", "spine-2"];
    let holds = |scene: &Scene| {
        [(0, 0), (1, 0), (1, 1), (2, 0)].map(|(at, block): (usize, u32)| {
            scene.meddle(devices[at], Method::Get, AttributeId::PKeyTable, block, [0; SMP_DATA_SIZE])
        })
    };
    let nodes = devices.map(|device| scene.node(device));
    scene.transport.with(|sim| nodes.iter().for_each(|&node| sim.kill(node)));
    scene.pass(S / 10);
    scene.transport.with(|sim| nodes.iter().for_each(|&node| sim.revive(node)));
    let own = keys(&[DEFAULT_P_KEY]);
    assert_eq!(holds(&scene), [own, own, keys(&[]), own], "their devices' own");
    let given_back = [keys(&[0x7FFF]), keys(&[0x7FFF, 0x8010]), keys(&[0, 0x8020]), keys(&[0x7FFF])];
    assert!(scene.until(30 * S, |scene| holds(scene) == given_back), "{:?}", scene.failures());
    scene.pass(S);
    assert!(is_followed(&scene), "{:?}", ways.map(|(from, to)| key(&scene, from, to)));
    assert_eq!(scene.degraded(), []);
}

/// Hosts are addressed by it: who takes over keeps it, unless another one is required.
#[test]
fn the_gid_prefix_of_a_running_subnet_stays() {
    const SITE: u64 = 0xFEC0_0000_0000_0001;
    let with = |subnet_prefix| Setup { subnet_prefix, ..Setup::default() };
    let mut scene = up(with(Some(SITE)));
    for (required, wanted) in [(None, SITE), (Some(SITE + 1), SITE + 1), (None, SITE + 1)] {
        scene = scene.another(with(required));
        assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        scene.pass(S);
        let held = scene.meddle("host-9 HCA-1", Method::Get, AttributeId::PortInfo, 1, [0; SMP_DATA_SIZE]);
        assert_eq!(PortInfo::decode(&held).gid_prefix, wanted, "{required:?}");
        let path = scene.sa_path("host-9 HCA-1", "host-10 HCA-1").expect("there is a path");
        assert_eq!((path.sgid.prefix, path.dgid.prefix), (wanted, wanted), "{required:?}");
    }
}

/// A limited member stays limited, and who is kept out of the default partition stays out.
#[test]
fn partitions_are_never_widened() {
    let cases: [(&str, &[u16], &[u16]); 4] = [
        ("host-9 HCA-1", &[0x7FFF, 0x8001], &[0x7FFF, 0x8001]),
        ("host-10 HCA-1", &[0x8001], &[0x8001]),
        ("host-11 HCA-1", &[], &[DEFAULT_P_KEY]),
        ("leaf-2", &[0x7FFF], &[0x7FFF]),
    ];
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
    for (device, before, _) in cases {
        scene.meddle(device, Method::Set, AttributeId::PKeyTable, 0, keys(before));
    }
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(3 * S);
    for (device, _, after) in cases {
        let held = scene.meddle(device, Method::Get, AttributeId::PKeyTable, 0, [0; SMP_DATA_SIZE]);
        assert_eq!(held, keys(after), "{device}");
    }
    assert_eq!(scene.degraded(), []);
}

/// A port that serves no lane and takes no list would hold up whoever sends through it.
#[test]
fn a_port_that_does_not_serve_its_lanes_is_left_out() {
    let sick =
        SickAttribute { attribute: AttributeId::VlArbitrationTable, sickness: Sickness::Ignores, writes_only: true };
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
    let node = scene.node("host-9 HCA-1");
    scene.meddle("host-9 HCA-1", Method::Set, AttributeId::VlArbitrationTable, 1 << 16 | 1, [0; SMP_DATA_SIZE]);
    scene.transport.with(|sim| sim.sicken_node(node, sick));
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(3 * S);
    assert_eq!(scene.unreached(&[node]), []);
    assert_ne!(scene.unreached(&[]), []);
    let degraded = scene.degraded();
    assert!(degraded.iter().any(|at| at.left_out && at.attribute == "VlArbitrationTable"), "{degraded:?}");
}

/// The simulated devices refuse other lanes while a link lets data through.
#[test]
fn lanes_of_a_running_subnet_change_with_the_link_taken_down() {
    let lanes = |scene: &Scene| {
        let held = scene.meddle("host-9 HCA-1", Method::Get, AttributeId::PortInfo, 1, [0; SMP_DATA_SIZE]);
        PortInfo::decode(&held).operational_vls.lanes()
    };
    let setup = |data_vls| Setup { data_vls, takeover: Takeover::Rewrite, ..Setup::default() };
    let mut scene = up(setup(2));
    assert_eq!(lanes(&scene), Some(2));
    for data_vls in [4, 2] {
        scene = scene.another(setup(data_vls));
        assert!(scene.until(60 * S, |scene| scene.arrival().is_some()), "{data_vls}: {:?}", scene.failures());
        scene.pass(3 * S);
        assert_eq!(scene.unreached(&[]), [], "{data_vls}");
        assert_eq!(scene.degraded(), [], "{data_vls}");
        // Lanes that are no longer in use may stay in operation.
        assert_eq!(lanes(&scene), Some(4), "{data_vls}");
    }
}
