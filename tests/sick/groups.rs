//! Multicast groups under a manager on a simulated subnet, by what its switches hold: what a member sends comes to each
//! other member once, and to nobody else, whatever has failed, and whoever manages the subnet.

use super::scene::{MS, S, Scene, Setup};
use crate::support::thorough::is_thorough;
use reconfig::fabric::PortId;
use reconfig::ids::{Guid, Lid, PortNum, Sl};
use reconfig::plan::Observer;
use reconfig::sim::{SickAttribute, Sickness, SimConfig};
use reconfig::sm::{Happening, REJOIN_NS, SubnetArrival};
use reconfig::wire::sa::{ComponentMask, McMemberRecord, Record, SaMad};
use reconfig::wire::{AttributeId, Gid, Method, PortState, SMP_DATA_SIZE, SlToVlMappingTable, SlToVlModifier, status};
use std::collections::{BTreeMap, BTreeSet};

use McMemberRecord as M;

/// The group level, which neither half has.
const LEVEL: u8 = 5;
const SETUP: Setup = Setup { reserved_sl: Some(LEVEL), ..Setup::DEFAULT };
/// The broadcast group of the default partition, and its LID.
const BROADCAST: Gid = Gid { prefix: 0xFF12_401B_FFFF_0000, guid: Guid(0xFFFF_FFFF) };
const MLID: Lid = Lid(0xC000);

fn up(topology: &str, setup: Setup, sick: &[(&str, SickAttribute)]) -> Scene {
    let mut scene = Scene::cold(topology, SimConfig::default(), setup, sick);
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(S);
    scene
}

fn hosts(scene: &Scene) -> Vec<String> {
    let fabric = &scene.fabric;
    let name = |port: PortId| fabric.node(fabric.port(port).node).description.trim().to_string();
    fabric.end_ports().map(name).collect()
}

fn asked(scene: &Scene, host: &str, method: Method, mgid: Gid, join_state: u8) -> Result<McMemberRecord, u16> {
    let guid = scene.fabric.port_guid(scene.port(host));
    let port_gid = Gid { prefix: Gid::DEFAULT_PREFIX, guid };
    let record = M { mgid, port_gid, join_state, q_key: 0x0B1B, p_key: 0xFFFF, ..M::default() };
    let joins = [M::MGID, M::PORT_GID, M::JOIN_STATE];
    let makes = [M::Q_KEY, M::P_KEY, M::TRAFFIC_CLASS, M::FLOW_LABEL, M::SL];
    let mask = if method == Method::Set { [&joins[..], &makes].concat() } else { joins.to_vec() };
    let mad = SaMad::request(method, ComponentMask::of(&mask), &record);
    scene.sa_answer(host, &mad).map(|answer| M::from_data(&answer.data))
}

fn join(scene: &Scene, host: &str, mgid: Gid) -> McMemberRecord {
    asked(scene, host, Method::Set, mgid, M::FULL).unwrap_or_else(|status| panic!("{host}: status {status:#06x}"))
}

/// How many copies of what a host sends each host gets, by the rows that switches hold.
fn copies(scene: &Scene, from: &str, mlid: Lid) -> BTreeMap<PortId, usize> {
    let fabric = &scene.fabric;
    let is_active = |port: PortId| scene.transport.with(|sim| sim.port_state(port)) == PortState::Active;
    let mut copies = BTreeMap::new();
    let mut under_way = vec![scene.port(from)];
    let mut sent = 0;
    while let Some(output) = under_way.pop() {
        sent += 1;
        assert!(sent < 10_000, "a packet of {from} goes round");
        let Some(input) = fabric.peer(output).filter(|&input| is_active(output) && is_active(input)) else { continue };
        let switch = fabric.port(input).node;
        if !fabric.node(switch).is_switch() {
            *copies.entry(input).or_default() += 1;
            continue;
        }
        let outputs = scene.transport.with(|sim| sim.multicast_outputs(switch, mlid));
        let others = outputs.iter().filter(|&num| num != fabric.port(input).num && num != PortNum::ZERO);
        under_way.extend(others.filter_map(|num| fabric.port_at(switch, num)));
    }
    copies
}

/// What is wrong with a group: who sends, and how many copies of it whoever should have got one, or none, gets.
fn wrong(scene: &Scene, mlid: Lid, senders: &[String], receivers: &[String]) -> Vec<String> {
    let mut wrong = Vec::new();
    for from in senders {
        let own = scene.port(from);
        let wanted: BTreeMap<PortId, usize> =
            receivers.iter().map(|host| (scene.port(host), 1)).filter(|(port, _)| *port != own).collect();
        let got = copies(scene, from, mlid);
        let differ = wanted.keys().chain(got.keys()).filter(|port| wanted.get(port) != got.get(port));
        let differ: BTreeSet<String> = differ.map(|&port| scene.fabric.describe_port(port)).collect();
        if !differ.is_empty() {
            wrong.push(format!("of {from}: {differ:?}"));
        }
    }
    wrong
}

fn without(hosts: &[String], gone: &[String]) -> Vec<String> {
    hosts.iter().filter(|host| !gone.contains(host)).cloned().collect()
}

#[test]
fn each_member_gets_what_each_member_sends_once_and_nobody_else_does() {
    let mut scene = up("fat-tree:4,3", SETUP, &[]);
    let all = hosts(&scene);
    let members: Vec<String> = all.iter().step_by(2).cloned().collect();
    let given = members.iter().map(|host| join(&scene, host, BROADCAST)).collect::<Vec<_>>();
    assert!(given.iter().all(|own| (own.mlid, own.sl.get(), own.mtu, own.rate) == (MLID, LEVEL, 4, 3)), "{given:?}");
    scene.pass(S);
    assert_eq!(wrong(&scene, MLID, &members, &members), [""; 0], "{:?}", scene.failures());
    // One leaves, one comes, and one only sends.
    let (left, sender) = (&members[0], &all[3]);
    assert!(asked(&scene, left, Method::Delete, BROADCAST, M::FULL).is_ok());
    join(&scene, &all[1], BROADCAST);
    assert!(asked(&scene, sender, Method::Set, BROADCAST, M::SEND_ONLY_NON).is_ok());
    scene.pass(S);
    let members = [without(&members, std::slice::from_ref(left)), vec![all[1].clone()]].concat();
    let senders = [&members[..], std::slice::from_ref(sender)].concat();
    assert_eq!(wrong(&scene, MLID, &senders, &members), [""; 0], "{:?}", scene.failures());
    assert_eq!((scene.failures(), scene.degraded()), (vec![], vec![]));
}

#[test]
fn trees_follow_each_loss_and_each_return() {
    for topology in ["fat-tree:4,2", "torus:3x3,2"] {
        let mut scene = up(topology, SETUP, &[]);
        let all = hosts(&scene);
        let other = Gid { prefix: 0xFF12_A0A0_0000_0000, guid: Guid(7) };
        let some: Vec<String> = all.iter().skip(1).step_by(3).cloned().collect();
        all.iter().for_each(|host| _ = join(&scene, host, BROADCAST));
        let mlids: BTreeSet<Lid> = some.iter().map(|host| join(&scene, host, other).mlid).collect();
        let mlid = *mlids.first().expect("members");
        scene.pass(S);
        let switches: Vec<_> = scene.fabric.switches().collect();
        let own = scene.fabric.neighbour(scene.port(&all[0])).expect("a switch");
        for switch in switches.into_iter().filter(|&switch| switch != own) {
            let name = scene.fabric.describe_node(switch);
            let cut: Vec<String> = scene
                .hosts_on(switch)
                .iter()
                .map(|&host| scene.fabric.node(host).description.trim().to_string())
                .collect();
            scene.transport.with(|sim| sim.kill(switch));
            scene.pass(2 * S);
            let (left, some_left) = (without(&all, &cut), without(&some, &cut));
            assert_eq!(wrong(&scene, MLID, &left, &left), [""; 0], "{topology} without {name}: {:?}", scene.failures());
            assert_eq!(wrong(&scene, mlid, &some_left, &some_left), [""; 0], "{topology} without {name}");
            scene.transport.with(|sim| sim.revive(switch));
            scene.pass(5 * S);
            // They were gone, so they are members no more until they join again.
            assert_eq!(
                wrong(&scene, MLID, &left, &left),
                [""; 0],
                "{topology}, {name} is back: {:?}",
                scene.failures()
            );
            cut.iter().for_each(|host| _ = join(&scene, host, BROADCAST));
            cut.iter().filter(|host| some.contains(host)).for_each(|host| _ = join(&scene, host, other));
            scene.pass(S);
            assert_eq!(wrong(&scene, MLID, &all, &all), [""; 0], "{topology}, {name} is back: {:?}", scene.failures());
            assert_eq!(wrong(&scene, mlid, &some, &some), [""; 0], "{topology}, {name} is back");
        }
    }
}

/// Its ports come back before any sweep has missed it, and all its tables are gone.
#[test]
fn a_switch_that_was_off_for_a_moment_gets_its_rows_back() {
    let mut scene = up("fat-tree:4,2", SETUP, &[]);
    let all = hosts(&scene);
    all.iter().for_each(|host| _ = join(&scene, host, BROADCAST));
    scene.pass(S);
    for name in ["spine-1", "spine-2", "leaf-3"] {
        let switch = scene.node(name);
        scene.transport.with(|sim| {
            sim.kill(switch);
            sim.revive(switch);
        });
        scene.pass(5 * S);
        all.iter().for_each(|host| _ = join(&scene, host, BROADCAST));
        scene.pass(S);
        assert_eq!(wrong(&scene, MLID, &all, &all), [""; 0], "{name}: {:?}", scene.failures());
    }
}

/// The loss is noticed, and the switch is back before the loss has been followed.
#[test]
fn a_switch_that_blinks_after_a_managers_start_gets_its_rows_back() {
    for away_us in [200, 500, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000, 30_000, 300_000] {
        let mut scene = up("fat-tree:4,2", SETUP, &[]);
        let all = hosts(&scene);
        all.iter().for_each(|host| _ = join(&scene, host, BROADCAST));
        scene.pass(S);
        let mut scene = scene.another(SETUP);
        assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        all.iter().for_each(|host| _ = join(&scene, host, BROADCAST));
        scene.pass(2 * S);
        let leaf = scene.node("leaf-2");
        scene.transport.with(|sim| sim.kill(leaf));
        scene.pass(away_us * MS / 1_000);
        scene.transport.with(|sim| sim.revive(leaf));
        scene.pass(10 * S);
        all.iter().for_each(|host| _ = join(&scene, host, BROADCAST));
        scene.pass(2 * S);
        assert_eq!(wrong(&scene, MLID, &all, &all), [""; 0], "{away_us} us: {:?}", scene.failures());
    }
}

/// The manager's own host, or its switch, was switched off and on: what they hold carries nothing yet, and the rest is
/// taken over as without groups.
#[test]
fn what_the_manager_needs_itself_may_have_been_switched_off_and_on() {
    for (device, is_adopted) in [("host-1 HCA-1", true), ("leaf-1", false)] {
        let scene = up("fat-tree:4,2", SETUP, &[]);
        let node = scene.node(device);
        scene.transport.with(|sim| sim.kill(node));
        let mut heir = scene.another(SETUP);
        heir.transport.with(|sim| sim.revive(node));
        assert!(heir.until(30 * S, |heir| heir.arrival().is_some()), "{device}: {:?}", heir.failures());
        match heir.arrival() {
            Some(SubnetArrival::Adopted) if is_adopted => {}
            // Rows of its switch are lost.
            Some(SubnetArrival::Recovered { .. }) if !is_adopted => {}
            other => panic!("{device}: {other:?}"),
        }
        heir.pass(20 * S);
        assert_eq!((heir.unreached(&[]), heir.failures()), (vec![], vec![]), "{device}");
    }
}

/// A subnet that was managed without the level, as by OpenSM: no forwarding entry is written, and a loss before all
/// SL-to-VL tables are replaced does not wait for that.
#[test]
fn a_subnet_without_the_level_is_adopted_and_gets_it() {
    for dies in [false, true] {
        let scene = up("fat-tree:4,2", Setup::DEFAULT, &[]);
        let spine = scene.node("spine-1");
        let entries = |scene: &Scene| scene.mailbox.borrow().view.smps.of(AttributeId::LinearForwardingTable);
        let mut heir = scene.another(Setup { observer: Observer::Lifetime, ..SETUP });
        assert!(heir.until(S, |heir| heir.said.borrow().iter().any(|own| matches!(own, Happening::HostsUp))));
        let read = entries(&heir);
        if dies {
            heir.transport.with(|sim| sim.kill(spine));
        }
        assert!(heir.until(30 * S, |heir| heir.arrival().is_some()), "{:?}", heir.failures());
        assert_eq!(heir.arrival(), Some(SubnetArrival::Adopted));
        assert_eq!(entries(&heir) > read, dies, "{read} and {}", entries(&heir));
        heir.pass(2 * S);
        assert_eq!(heir.unreached(&[spine]), [], "{:?}", heir.failures());
        let all = hosts(&heir);
        all.iter().for_each(|host| _ = join(&heir, host, BROADCAST));
        heir.pass(2 * S);
        assert_eq!(wrong(&heir, MLID, &all, &all), [""; 0], "{:?}", heir.failures());
        assert_alone(&heir);
    }
}

/// On the last of four lanes, between two ports of a leaf.
fn assert_alone(scene: &Scene) {
    let modifier = SlToVlModifier::Pair { input: PortNum(1), output: PortNum(6) }.encode();
    let attribute = AttributeId::SlToVlMappingTable;
    let data = scene.meddle("leaf-1", Method::Get, attribute, modifier, [0; SMP_DATA_SIZE]);
    let held = SlToVlMappingTable::decode(&data).0;
    let alone = |sl: Sl| (held[sl.index()].get() == 3) == (sl.get() == LEVEL);
    assert!(Sl::all().all(alone), "{held:?}");
}

/// The manager of before reserved no level, and was killed amid a change: that goes on without it, and the level comes
/// with the manager after that.
#[test]
fn the_level_comes_after_a_change_that_knew_none() {
    let [before, after] = [Setup::DEFAULT, SETUP].map(|setup| Setup { auto: false, ..setup });
    let folder = tempfile::tempdir().expect("a folder");
    for passed_us in [600, 1_000, 1_500] {
        let journal = folder.path().join(format!("{passed_us}"));
        let mut scene = up("fat-tree:4,2", before, &[]).recorded(before, &journal);
        assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        scene.pass(S);
        let spine = scene.node("spine-1");
        scene.transport.with(|sim| sim.kill(spine));
        scene.pass(passed_us * MS / 1_000);
        let mut heir = scene.recorded(after, &journal);
        assert!(heir.until(60 * S, |heir| heir.arrival().is_some()), "{passed_us}: {:?}", heir.failures());
        let resumed = matches!(heir.arrival(), Some(SubnetArrival::Resumed { .. }));
        assert!(resumed, "{passed_us}: {:?}, {:?}", heir.arrival(), heir.failures());
        heir.pass(5 * S);
        assert_eq!(heir.unreached(&[spine]), [], "{passed_us}: {:?}", heir.failures());
        let all = hosts(&heir);
        let refused = Err(status::UNSUPPORTED_METHOD_ATTRIBUTE);
        assert_eq!(asked(&heir, &all[0], Method::Set, BROADCAST, M::FULL), refused, "{passed_us}");
        let mut last = heir.recorded(after, &journal);
        assert!(last.until(60 * S, |last| last.arrival().is_some()), "{passed_us}: {:?}", last.failures());
        assert_eq!(last.arrival(), Some(SubnetArrival::Adopted), "{passed_us}: {:?}", last.failures());
        assert_alone(&last);
        all.iter().for_each(|host| _ = join(&last, host, BROADCAST));
        last.pass(2 * S);
        assert_eq!(last.unreached(&[spine]), [], "{passed_us}: {:?}", last.failures());
        assert_eq!(wrong(&last, MLID, &all, &all), [""; 0], "{passed_us}: {:?}", last.failures());
    }
}

#[test]
fn a_later_manager_keeps_hosts_in_their_groups_until_they_have_joined_again() {
    for elsewhere in [false, true] {
        let mut scene = up("fat-tree:4,2", SETUP, &[]);
        let all = hosts(&scene);
        let members: Vec<String> = all.iter().step_by(2).cloned().collect();
        members.iter().for_each(|host| _ = join(&scene, host, BROADCAST));
        scene.pass(S);
        let mut scene = match elsewhere {
            false => scene.another(SETUP),
            true => scene.succeeded_at(&all[5].clone(), SETUP),
        };
        assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        assert_eq!(wrong(&scene, MLID, &members, &members), [""; 0], "at once");
        scene.pass(2 * S);
        assert_eq!(wrong(&scene, MLID, &members, &members), [""; 0], "nobody has joined again yet");
        // A newcomer is served beside them; who does not come back is forgotten, after a time.
        let (back, new) = (&members[..3], &all[1]);
        back.iter().chain([new]).for_each(|host| _ = join(&scene, host, BROADCAST));
        scene.pass(2 * S);
        let with = [&members[..], std::slice::from_ref(new)].concat();
        assert_eq!(wrong(&scene, MLID, &with, &with), [""; 0], "{:?}", scene.failures());
        scene.pass(REJOIN_NS + 10 * S);
        let left = [back, std::slice::from_ref(new)].concat();
        assert_eq!(wrong(&scene, MLID, &left, &left), [""; 0], "{:?}", scene.failures());
    }
}

#[test]
fn a_switch_that_fails_at_its_table_is_passed_by_and_named() {
    let attribute = AttributeId::MulticastForwardingTable;
    for sickness in [Sickness::Refuses, Sickness::Ignores, Sickness::Silent] {
        for writes_only in [false, true] {
            let sick = SickAttribute { attribute, sickness, writes_only };
            let mut scene = up("fat-tree:4,2", SETUP, &[("spine-1", sick), ("leaf-4", sick)]);
            let all = hosts(&scene);
            all.iter().for_each(|host| _ = join(&scene, host, BROADCAST));
            scene.pass(5 * S);
            let leaf = scene.node("leaf-4");
            let cut: Vec<String> = scene
                .hosts_on(leaf)
                .iter()
                .map(|&host| scene.fabric.node(host).description.trim().to_string())
                .collect();
            let rest = without(&all, &cut);
            let case = format!("{sickness:?}, writes only: {writes_only}");
            assert_eq!(wrong(&scene, MLID, &rest, &rest), [""; 0], "{case}: {:?}", scene.failures());
            let named: BTreeSet<String> = scene.degraded().into_iter().map(|own| own.device).collect();
            assert!(named.contains("leaf-4"), "{case}: {named:?}");
            assert!(scene.degraded().iter().all(|own| !own.left_out), "{case}: {:?}", scene.degraded());
            assert_eq!(scene.mailbox.borrow().view.groups.unreached, cut.len(), "{case}");
        }
    }
}

/// Where no switch forwards multicast, every member is counted as not reached.
#[test]
fn where_every_switch_refuses_multicast_nobody_is_reached() {
    let sick = SickAttribute {
        attribute: AttributeId::MulticastForwardingTable,
        sickness: Sickness::Refuses,
        writes_only: false,
    };
    let switches = ["leaf-1", "leaf-2", "leaf-3", "leaf-4", "spine-1", "spine-2", "spine-3", "spine-4"];
    let mut scene = up("fat-tree:4,2", SETUP, &switches.map(|switch| (switch, sick)));
    let all = hosts(&scene);
    all.iter().for_each(|host| _ = join(&scene, host, BROADCAST));
    scene.pass(5 * S);
    assert_eq!(scene.mailbox.borrow().view.groups.unreached, all.len(), "{:?}", scene.failures());
}

/// Without a level for them there are none, and nothing is asked of a switch for them.
#[test]
fn without_a_reserved_level_there_are_no_groups() {
    let scene = up("fat-tree:4,2", Setup::DEFAULT, &[]);
    let host = &hosts(&scene)[2];
    let refused = Err(status::UNSUPPORTED_METHOD_ATTRIBUTE);
    assert_eq!(asked(&scene, host, Method::Set, BROADCAST, M::FULL), refused);
    assert_eq!(asked(&scene, host, Method::Delete, BROADCAST, M::FULL), refused);
    let sent = scene.mailbox.borrow().view.smps.of(AttributeId::MulticastForwardingTable);
    assert_eq!(sent, 0);
}

/// A thousand joins are not a thousand rounds: what is written depends on the tables, not on who came when. A loss
/// costs no more than two writes for each switch of the old tree and the new one.
#[test]
fn joins_are_written_together() {
    let topologies: &[&str] = if is_thorough() { &["fat-tree:8,2", "fat-tree:8,3"] } else { &["fat-tree:8,2"] };
    for topology in topologies {
        let smps = |scene: &Scene| scene.mailbox.borrow().view.smps.of(AttributeId::MulticastForwardingTable);
        let mut scene = up(topology, SETUP, &[]);
        let (all, switches) = (hosts(&scene), scene.fabric.switches().count() as u64);
        scene.pass(5 * S);
        let (read, began_ns) = (smps(&scene), scene.now_ns());
        all.iter().for_each(|host| _ = join(&scene, host, BROADCAST));
        let mut is_done = false;
        while !is_done && scene.now_ns() < began_ns + S {
            scene.pass(MS / 4);
            is_done = wrong(&scene, MLID, &all[..1], &all).is_empty();
        }
        let (written, took_ns) = (smps(&scene) - read, scene.now_ns() - began_ns);
        eprintln!(
            "{topology}: {read} SMPs at arrival; {} hosts join: {written} SMPs, {} us",
            all.len(),
            took_ns / 1_000
        );
        assert!(is_done && written <= switches, "{topology}: {written} SMPs in {} ms", took_ns / MS);
        let before = smps(&scene);
        let used = |name: &&str| scene.transport.with(|sim| !sim.multicast_outputs(scene.node(name), MLID).is_empty());
        let spine = ["spine-1", "spine-2", "spine-3", "spine-4", "spine-5", "spine-6", "spine-7", "spine-8", "top-1"];
        let mut spine =
            spine.into_iter().filter(|name| scene.fabric.nodes().any(|(_, node)| node.description.trim() == *name));
        if let Some(name) = spine.find(used) {
            let node = scene.node(name);
            scene.transport.with(|sim| sim.kill(node));
            scene.pass(3 * S);
            assert_eq!(wrong(&scene, MLID, &all, &all), [""; 0], "{topology}: {:?}", scene.failures());
            let written = smps(&scene) - before;
            eprintln!("{topology}: {written} SMPs after the loss of {name}");
            assert!(written <= 4 * switches, "{topology}: {written}");
        }
    }
}

/// By `double`, a change waits for seconds. Trees lead past what died before the first of these waits.
#[test]
fn trees_follow_a_loss_before_the_change_of_the_routing_has_ended() {
    let setup = Setup { observer: Observer::Lifetime, auto: false, ..SETUP };
    for (topology, names) in [("fat-tree:4,2", ["spine-1", "spine-2"]), ("torus:4x4,1", ["switch-1-1", "switch-2-1"])] {
        let mut scene = up(topology, setup, &[]);
        let all = hosts(&scene);
        all.iter().for_each(|host| _ = join(&scene, host, BROADCAST));
        scene.pass(S);
        let in_use = |scene: &Scene, name: &str| {
            scene.transport.with(|sim| !sim.multicast_outputs(scene.node(name), MLID).is_empty())
        };
        let name = names.into_iter().find(|name| in_use(&scene, name)).expect("a switch of the tree");
        let node = scene.node(name);
        let gone = scene.hosts_on(node);
        let gone = gone.iter().map(|&host| scene.fabric.node(host).description.trim().to_string());
        let rest = without(&all, &gone.collect::<Vec<_>>());
        scene.transport.with(|sim| sim.kill(node));
        assert_ne!(wrong(&scene, MLID, &rest, &rest), [""; 0], "{topology}: the tree leads through {name}");
        scene.pass(100 * MS);
        assert_eq!(scene.mailbox.borrow().lifecycle().name(), "changing", "{topology} without {name}");
        assert_eq!(wrong(&scene, MLID, &rest, &rest), [""; 0], "{topology} without {name}: {:?}", scene.failures());
        // A further one dies within that change.
        let further = scene.fabric.switches().filter(|&switch| scene.hosts_on(switch).is_empty() && switch != node);
        let further = further.map(|switch| scene.fabric.describe_node(switch)).find(|name| in_use(&scene, name));
        assert_eq!(further.is_some(), topology.starts_with("fat-tree"), "{topology}");
        if let Some(further) = further {
            let node = scene.node(&further);
            scene.transport.with(|sim| sim.kill(node));
            assert_ne!(wrong(&scene, MLID, &rest, &rest), [""; 0], "{topology}: the tree leads through {further}");
            scene.pass(200 * MS);
            assert_eq!(scene.mailbox.borrow().lifecycle().name(), "changing", "{topology} without {further}");
            assert_eq!(wrong(&scene, MLID, &rest, &rest), [""; 0], "without {further}: {:?}", scene.failures());
        }
        scene.pass(20 * S);
        assert_eq!(scene.mailbox.borrow().lifecycle().name(), "idle", "{topology} without {name}");
        assert_eq!(wrong(&scene, MLID, &rest, &rest), [""; 0], "{topology}, changed: {:?}", scene.failures());
        assert_eq!(scene.failures(), [""; 0], "{topology} without {name}");
    }
}
