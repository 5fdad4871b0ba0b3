//! Where SL-to-VL tables are most of what is to be written, hosts do not wait for them; and who dies before they are
//! written is followed by one that writes them, and nothing else.

use super::scene::{MS, S, Scene, Setup};
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, PortNum, Sl, Vl};
use reconfig::plan::Observer;
use reconfig::sim::{SickAttribute, Sickness, SimConfig};
use reconfig::sm::{Happening, SmError, SubnetArrival, Takeover};
use reconfig::wire::{AttributeId, Method, SMP_DATA_SIZE, SlToVlMappingTable, SlToVlModifier};

/// As devices may be when their power comes: each service level on the lane of its number, most of them not in
/// operation.
fn one_lane_each(sl: Sl) -> Vl {
    Vl::masked(sl.get())
}

/// As the manager has it: the rank of the level in its half, on four lanes in turn.
fn in_turn(sl: Sl) -> Vl {
    Vl::masked(sl.get() % 4)
}

/// A cold subnet of such devices, up to where hosts may send.
fn hosts_up(setup: Setup) -> Scene {
    hosts_up_on("fat-tree:4,2", setup)
}

fn hosts_up_on(topology: &str, setup: Setup) -> Scene {
    let mut scene = Scene::cold(topology, SimConfig::default(), setup, &[]);
    let nodes: Vec<_> = scene.fabric.nodes().map(|(id, _)| id).collect();
    scene.transport.with(|sim| nodes.iter().for_each(|&node| sim.load_sl_to_vl(node, one_lane_each)));
    assert!(scene.until(S, is_hosts_up), "{:?}", scene.failures());
    scene
}

fn is_hosts_up(scene: &Scene) -> bool {
    scene.said.borrow().iter().any(|said| matches!(said, Happening::HostsUp))
}

/// How many tables of a device, one for each two of its cabled ports, put levels on these lanes.
fn tables_by(scene: &Scene, device: &str, lane: fn(Sl) -> Vl) -> [usize; 2] {
    let (fabric, node): (&Fabric, _) = (&scene.fabric, scene.node(device));
    let cabled = |port: &PortId| fabric.peer(*port).is_some();
    let ports: Vec<PortNum> = fabric.ports_of(node).filter(cabled).map(|port| fabric.port(port).num).collect();
    let mut found = [0; 2];
    for &input in &ports {
        for &output in ports.iter().filter(|&&output| output != input) {
            let modifier = SlToVlModifier::Pair { input, output }.encode();
            let data = scene.meddle(device, Method::Get, AttributeId::SlToVlMappingTable, modifier, [0; SMP_DATA_SIZE]);
            let held = SlToVlMappingTable::decode(&data).0;
            found[0] += usize::from(Sl::all().filter(|&sl| sl != Sl::MAX).all(|sl| held[sl.index()] == lane(sl)));
            found[1] += 1;
        }
    }
    found
}

#[test]
fn hosts_have_ways_before_sl_to_vl_tables_are_written() {
    let mut scene = hosts_up(Setup::default());
    assert_eq!(scene.unreached(&[]), []);
    assert_eq!(scene.arrival(), None);
    assert_eq!(tables_by(&scene, "leaf-1", in_turn), [0, 56], "none is written yet");
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    assert_eq!(scene.arrival(), Some(SubnetArrival::Cold));
    assert_eq!(tables_by(&scene, "leaf-1", in_turn), [56, 56]);
}

/// Its tables are proved on any lanes, so nothing is rewritten without a proof, and no host loses its way. Packets that
/// met other tables are not in that proof, so none is written before four lifetimes of a switch have passed.
#[test]
fn who_dies_before_sl_to_vl_tables_are_written_is_followed_by_one_that_writes_them() {
    let scene = hosts_up(Setup::default());
    let mut heir = scene.another(Setup { observer: Observer::Lifetime, ..Setup::default() });
    assert!(heir.until(S, is_hosts_up), "{:?}", heir.failures());
    heir.pass(4 * (4096 << 8));
    assert_eq!(tables_by(&heir, "leaf-1", in_turn), [0, 56], "what was sent before may be anywhere");
    assert!(heir.until(S, |heir| heir.arrival().is_some()), "{:?}", heir.failures());
    assert_eq!((heir.arrival(), is_hosts_up(&heir)), (Some(SubnetArrival::Adopted), true));
    assert_eq!(heir.unreached(&[]), []);
    assert_eq!(tables_by(&heir, "leaf-1", in_turn), [56, 56]);
}

/// Layers need their lanes: all tables are written before hosts may send.
#[test]
fn hosts_wait_for_the_lanes_of_layers() {
    let setup = Setup { engine: "dfsssp", ..Setup::default() };
    let mut scene = Scene::cold("torus:4x4,1", SimConfig::default(), setup, &[]);
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    assert!(!is_hosts_up(&scene));
}

/// A spine dies with the manager, or alone, when so many tables are written: the rest is recovered with a proof, though
/// switches discard levels on which hosts send.
#[test]
fn a_loss_before_all_sl_to_vl_tables_are_written_is_recovered() {
    for dies_too in [true, false] {
        for passed_ns in (0..20).map(|step| step * MS / 10) {
            let mut scene = hosts_up(Setup::default());
            scene.pass(passed_ns);
            let spine = scene.node("spine-1");
            scene.transport.with(|sim| sim.kill(spine));
            let mut last = if dies_too { scene.another(Setup::default()) } else { scene };
            let up = last.until(60 * S, |last| last.arrival().is_some());
            let at = format!("{passed_ns} ns, the manager too: {dies_too}");
            assert!(up, "{at}: {:?}", last.failures());
            last.pass(10 * S);
            assert!(!matches!(last.arrival(), Some(SubnetArrival::Rewritten { .. })), "{at}: {:?}", last.arrival());
            let gone = last.hosts_on(spine).into_iter().chain([spine]).collect::<Vec<_>>();
            assert_eq!(last.unreached(&gone), [], "{at}: {:?}", last.failures());
            // Those between the seven ports that have a cable yet.
            assert!(tables_by(&last, "leaf-1", in_turn)[0] >= 42, "{at}");
        }
    }
}

/// A spine dies while tables are written: hosts have ways again by forwarding entries alone, and then the rest of the
/// tables is written. So it is where a manager waits for what the one before may have sent, and after a link of a host
/// has bounced, when only a sweep tells.
#[test]
fn a_loss_while_sl_to_vl_tables_are_written_does_not_wait_for_the_rest() {
    for (adopts, bounces) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut scene = hosts_up_on("fat-tree:16,2", Setup::default());
        if adopts {
            scene = scene.another(Setup::default());
            assert!(scene.until(S, is_hosts_up), "{:?}", scene.failures());
        }
        let bounced = scene.fabric.end_ports().last().filter(|_| bounces);
        if let Some(port) = bounced {
            scene.transport.with(|sim| {
                sim.kill(port);
                sim.revive(port);
            });
            scene.pass(MS / 2);
        }
        let away: Vec<NodeId> = bounced.map(|port| scene.fabric.port(port).node).into_iter().collect();
        let spine = scene.node("spine-2");
        scene.transport.with(|sim| sim.kill(spine));
        let changed = |scene: &Scene| scene.said.borrow().iter().any(|said| matches!(said, Happening::Changed(_)));
        assert!(scene.until(S, changed), "{adopts} {bounces}: {:?}", scene.failures());
        assert_eq!(scene.unreached(&[&[spine], &away[..]].concat()), [], "{adopts} {bounces}");
        assert_eq!(scene.arrival(), None, "{adopts} {bounces}");
        let written = tables_by(&scene, "leaf-8", in_turn);
        assert!(written[0] < written[1], "{adopts} {bounces}: {written:?}");
        assert!(scene.until(S, |scene| scene.arrival().is_some()), "{adopts} {bounces}: {:?}", scene.failures());
        let arrival = if adopts { SubnetArrival::Adopted } else { SubnetArrival::Cold };
        assert_eq!(scene.arrival(), Some(arrival), "{adopts} {bounces}");
        assert_eq!(scene.failures(), [""; 0], "{adopts} {bounces}");
        let written = tables_by(&scene, "leaf-8", in_turn);
        assert_eq!(written[0], written[1], "{adopts} {bounces}");
        scene.pass(S);
        assert_eq!(scene.unreached(&[spine]), [], "{adopts} {bounces}");
    }
}

fn refuses_to_flush() -> SickAttribute {
    SickAttribute { attribute: AttributeId::Flush, sickness: Sickness::Refuses, writes_only: false }
}

/// A subnet on other lanes than wanted, and a manager that comes to it, of which a spine does not say what it has sent
/// off.
fn unseen(setup: Setup) -> Scene {
    let scene = hosts_up(setup);
    let spine = scene.node("spine-2");
    scene.transport.with(|sim| sim.sicken_node(spine, refuses_to_flush()));
    scene.another(setup)
}

fn count(scene: &Scene, what: fn(&Happening) -> bool) -> usize {
    scene.said.borrow().iter().filter(|said| what(said)).count()
}

/// Hosts send, and the SA answers: nothing is worse for waiting. It is said once, and tried again less and less often;
/// at once where the subnet reports something.
#[test]
fn where_nothing_shows_that_packets_have_left_it_is_said_once_and_tried_again_ever_later() {
    let mut scene = unseen(Setup::default());
    scene.pass(300 * S);
    let failures = scene.failures();
    let [why] = &failures[..] else { panic!("said {} times: {failures:?}", failures.len()) };
    assert!(why.contains("Flush") && why.contains("--takeover proved requires that"), "{why}");
    // After 2, 4, 8, 16 and 32 seconds, and then after each minute.
    let sweeps = count(&scene, |said| matches!(said, Happening::HostsUp));
    assert_eq!((scene.arrival(), sweeps), (None, 1 + 5 + 3));
    assert_eq!(tables_by(&scene, "leaf-1", in_turn), [0, 56]);
    assert_eq!((scene.unreached(&[]), scene.sa_names_a_path("host-2 HCA-1", "host-9 HCA-1")), (vec![], true));
    // An event ends the pause.
    let spine = scene.node("spine-2");
    scene.transport.with(|sim| sim.heal_node(spine));
    let port = scene.fabric.end_ports().last().expect("hosts");
    scene.transport.with(|sim| {
        sim.kill(port);
        sim.revive(port);
    });
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    assert_eq!(scene.arrival(), Some(SubnetArrival::Adopted));
    scene.pass(10 * S);
    assert_eq!((scene.unreached(&[]), tables_by(&scene, "leaf-1", in_turn)), (vec![], [56, 56]));
}

#[test]
fn where_nothing_shows_that_packets_have_left_a_user_may_go_on_all_the_same() {
    let mut scene = unseen(Setup { takeover: Takeover::Rewrite, ..Setup::default() });
    assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    assert_eq!((scene.arrival(), scene.failures()), (Some(SubnetArrival::Adopted), vec![]));
    assert_eq!((scene.unreached(&[]), tables_by(&scene, "leaf-1", in_turn)), (vec![], [56, 56]));
}

#[test]
fn a_port_that_fails_amid_the_wait_ends_the_manager() {
    for takeover in [Takeover::Proved, Takeover::Rewrite] {
        let setup = Setup { takeover, port_breaks_at: Some(AttributeId::Flush), ..Setup::default() };
        let mut scene = hosts_up(Setup { takeover, ..Setup::default() }).another(setup);
        let ended = scene.ended(S);
        assert!(matches!(&ended, Some(Err(SmError::Subnet(error))) if error.is_fatal()), "{takeover:?}: {ended:?}");
    }
}

/// One of a host's two cables fails while tables are written: the host keeps the other.
#[test]
fn a_cable_of_a_host_with_two_that_fails_takes_the_other_from_nobody() {
    let mut builder = FabricBuilder::new();
    let mut node = |kind, guid, ports, name: String| (builder.node(kind, Guid(guid), ports, name), guid);
    let leaves: Vec<NodeId> = (0..8).map(|i| node(NodeKind::Switch, 0x100 + i, 12, format!("leaf-{i}")).0).collect();
    let spines: Vec<NodeId> = (0..4).map(|i| node(NodeKind::Switch, 0x200 + i, 12, format!("spine-{i}")).0).collect();
    let hosts: Vec<_> = (0..8).map(|i| node(NodeKind::Ca, 0x1000 + 16 * i, 2, format!("host-{i}"))).collect();
    let mut link = |a, b| builder.link(a, b, LinkWidth::X4, LinkSpeed::Edr).expect("free ports");
    for (&leaf, up) in leaves.iter().zip(1..) {
        spines.iter().zip(5..).for_each(|(&spine, port)| link((leaf, PortNum(port)), (spine, PortNum(up))));
    }
    for (at, &(host, _)) in hosts.iter().enumerate() {
        for port in 1..=2 {
            link((host, PortNum(port)), (leaves[(at + usize::from(port)) % 8], PortNum(port)));
        }
    }
    for (host, guid) in hosts {
        for port in 1..=2 {
            builder.port_mut(host, PortNum(port)).expect("two ports").guid = Some(Guid(guid + u64::from(port)));
        }
    }
    let fabric = builder.build().expect("a fabric");
    for adopts in [false, true] {
        let mut scene = Scene::cold_of(fabric.clone(), SimConfig::default(), Setup::default(), &[]);
        let nodes: Vec<NodeId> = scene.fabric.nodes().map(|(id, _)| id).collect();
        scene.transport.with(|sim| nodes.iter().for_each(|&node| sim.load_sl_to_vl(node, one_lane_each)));
        assert!(scene.until(S, is_hosts_up), "{:?}", scene.failures());
        if adopts {
            scene = scene.another(Setup::default());
            assert!(scene.until(S, is_hosts_up), "{:?}", scene.failures());
        }
        let [kept, lost] = [1, 2].map(|port| scene.fabric.port_at(scene.node("host-5"), PortNum(port)).expect("two"));
        scene.transport.with(|sim| sim.kill(lost));
        assert!(scene.until(S, |scene| scene.arrival().is_some()), "{adopts}: {:?}", scene.failures());
        let arrival = if adopts { SubnetArrival::Adopted } else { SubnetArrival::Cold };
        assert_eq!((scene.arrival(), scene.failures()), (Some(arrival), vec![]), "{adopts}");
        assert!(scene.leads(scene.port("host-2"), kept), "{adopts}");
    }
}

/// A subnet on two lanes is taken over on two: no link goes down for more, unless more are required.
#[test]
fn a_running_subnet_keeps_its_lanes() {
    for (required, lanes) in [(false, 2), (true, 4)] {
        let mut scene =
            Scene::cold("fat-tree:4,2", SimConfig::default(), Setup { data_vls: 2, ..Setup::default() }, &[]);
        assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        let setup = Setup { data_vls_are_required: required, ..Setup::default() };
        let mut heir = scene.another(setup);
        assert!(heir.until(20 * S, |heir| heir.arrival().is_some()), "{:?}", heir.failures());
        heir.pass(S);
        assert_eq!(heir.unreached(&[]), [], "{required}");
        let in_turn: fn(Sl) -> Vl = if lanes == 2 { |sl| Vl::masked(sl.get() % 2) } else { in_turn };
        assert_eq!(tables_by(&heir, "leaf-1", in_turn), [56, 56], "{required}");
        if !required {
            assert_eq!((heir.arrival(), is_hosts_up(&heir)), (Some(SubnetArrival::Adopted), false));
        }
    }
}
