//! Multicast: trees that OpenSM builds are judged, and trees of our own reach everybody and close no ring.

use crate::harness::{OpenSm, bundled, installed, patience};
use crate::moments::{cables, name, random};
use crate::sixteen::console;
use reconfig::change::engine_named;
use reconfig::fabric::format::{Format, write};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Guid, Lmc, PortNum};
use reconfig::lid;
use reconfig::routing::Parameters;
use reconfig_measuring::process::run::run;
use reconfig_measuring::process::under_ibsim::under_ibsim;
use reconfig_measuring::served::Served;
use reconfig_opensm::multicast::{TreeBuilder, TreeRow, Unicast, judge};
use reconfig_opensm::plans::rerouted;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// IPoIB's broadcast group, the first that OpenSM makes.
const BROADCAST: u16 = 0xC000;

/// A fabric, and what an engine makes of it.
fn routed(fabric: &Fabric, engine: &str) -> Unicast {
    let fabric = lid::assign(&fabric.with_data_vls(1), Lmc::masked(0)).expect("LIDs suffice");
    let engine = engine_named(engine, &Parameters::default()).expect("an engine");
    let sm = fabric.end_ports().next().expect("a host");
    let (_, lfts) = rerouted(&*engine, &fabric, sm).expect("it can be routed");
    Unicast { fabric: Arc::new(fabric), earlier: lfts.clone(), lfts, ways: None }
}

fn hosts(fabric: &Fabric) -> Vec<NodeId> {
    fabric.nodes().filter(|(_, node)| !node.is_switch()).map(|(id, _)| id).collect()
}

/// Where hosts are attached.
fn attached(fabric: &Fabric, hosts: &[NodeId]) -> Vec<(Guid, PortNum)> {
    let at = |&host: &NodeId| {
        let far = fabric.ports_of(host).find_map(|port| fabric.peer(port)).expect("every host has a cable");
        (fabric.node(fabric.port(far).node).guid, fabric.port(far).num)
    };
    hosts.iter().map(at).collect()
}

fn switches(fabric: &Fabric) -> BTreeSet<Guid> {
    fabric.switches().map(|switch| fabric.node(switch).guid).collect()
}

/// Sends a packet from every member through the rows: each other member has it once, and nobody else.
fn assert_everybody_is_reached(fabric: &Fabric, rows: &[TreeRow], members: &[NodeId]) {
    let rows: BTreeMap<NodeId, &[PortNum]> =
        rows.iter().filter_map(|row| Some((fabric.by_guid(row.switch)?, &row.ports[..]))).collect();
    for &source in members {
        let first = fabric.ports_of(source).find_map(|port| fabric.peer(port)).expect("every host has a cable");
        let (mut had, mut under_way, mut hops) = (Vec::new(), vec![first], 0);
        while let Some(input) = under_way.pop() {
            hops += 1;
            assert!(hops < 10_000, "copies go round");
            let switch = fabric.port(input).node;
            for &num in rows.get(&switch).copied().unwrap_or_default() {
                let output = fabric.port_at(switch, num).expect("a row names ports that are there");
                let Some(next) = fabric.peer(output).filter(|_| output != input) else { continue };
                let node = fabric.port(next).node;
                if fabric.node(node).is_switch() { under_way.push(next) } else { had.push(node) }
            }
        }
        had.sort_unstable();
        let mut others: Vec<NodeId> = members.iter().copied().filter(|&member| member != source).collect();
        others.sort_unstable();
        assert_eq!(had, others, "from {}", fabric.describe_node(source));
    }
}

#[test]
fn ordered_trees_go_with_every_engines_unicast() {
    for (topology, engine) in [
        ("fat-tree-4-3", "fat-tree"),
        ("fat-tree-three-level", "fat-tree"),
        ("random-regular-16-4", "up-down-robust"),
        ("waxman-24", "up-down"),
        ("torus-4x4", "up-down-robust"),
        ("dragonfly-2-4-2", "up-down-robust"),
        ("hypercube-4", "up-down"),
        ("mesh-4x4", "nue"),
    ] {
        let unicast = routed(&bundled(topology), engine);
        let fabric = &*unicast.fabric;
        let waits = unicast.waits().expect("the engine's tables are sound");
        let (all, mut builder) = (hosts(fabric), TreeBuilder::default());
        let mut rows = Vec::new();
        // Groups of all hosts, of every third and of two.
        let groups = [all.clone(), all.iter().copied().step_by(3).collect(), vec![all[0], all[all.len() - 1]]];
        for (members, mlid) in groups.iter().zip(BROADCAST..) {
            let tree = builder.build(&unicast, mlid, &attached(fabric, members), &switches(fabric));
            let tree = tree.expect("the tables are sound");
            assert_eq!(tree.complaints, Vec::<String>::new(), "{topology} by {engine}");
            assert_everybody_is_reached(fabric, &tree.rows, members);
            rows.extend(tree.rows);
        }
        assert_eq!(judge(fabric, &waits, &rows), None, "{topology} by {engine}");
    }
}

/// A tree of shortest ways around another root is what OpenSM builds.
#[test]
fn a_tree_across_the_order_closes_a_ring_that_is_named() {
    let unicast = routed(&bundled("ring-8"), "up-down");
    let fabric = &*unicast.fabric;
    let waits = unicast.waits().expect("the engine's tables are sound");
    // The ring without one cable, cable after cable.
    let mut verdicts = Vec::new();
    for cable in cables(fabric) {
        let left = fabric.without_links(&[cable]);
        let row = |switch: NodeId| {
            let ports = left.ports_of(switch).filter(|&port| left.peer(port).is_some());
            let ports = ports.map(|port: PortId| left.port(port).num).collect();
            TreeRow { switch: left.node(switch).guid, mlid: BROADCAST, ports }
        };
        let rows: Vec<TreeRow> = left.switches().map(row).collect();
        verdicts.push(judge(fabric, &waits, &rows));
    }
    let rings: Vec<String> = verdicts.iter().flatten().map(ToString::to_string).collect();
    // The order turns at the switch opposite to the root: trees that do not pass it go with unicast.
    assert_eq!((verdicts.len(), rings.len()), (8, 6), "{rings:?}");
    assert!(rings.iter().all(|ring| ring.contains("(0xc000)") && ring.contains("(multicast)")), "{rings:?}");
    assert!(rings.iter().all(|ring| ring.contains("ring of 8 lanes") && ring.contains("(unicast)")), "{rings:?}");
}

/// A switch that does not forward multicast is passed by; a member behind it is named.
#[test]
fn switches_without_multicast_are_left_out() {
    let unicast = routed(&bundled("torus-4x4"), "up-down-robust");
    let fabric = &*unicast.fabric;
    let all = hosts(fabric);
    let (at, _) = attached(fabric, &all[..1])[0];
    let mut able = switches(fabric);
    able.remove(&at);
    let behind: Vec<NodeId> = all.iter().copied().filter(|&host| attached(fabric, &[host])[0].0 == at).collect();
    let others: Vec<NodeId> = all.iter().copied().filter(|host| !behind.contains(host)).collect();
    let mut builder = TreeBuilder::default();
    let tree = builder.build(&unicast, BROADCAST, &attached(fabric, &others), &able).expect("sound tables");
    assert_everybody_is_reached(fabric, &tree.rows, &others);
    let tree = builder.build(&unicast, BROADCAST, &attached(fabric, &all), &able).expect("sound tables");
    let lost = format!("reaches {} of its {} members", behind.len(), all.len());
    assert!(tree.complaints.iter().any(|text| text.contains(&lost)), "{:?}", tree.complaints);
    assert_everybody_is_reached(fabric, &tree.rows, &others);
}

/// A program that joins a host to the broadcast group, made for the test.
fn joiner(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/join.c");
    let program = folder.join("join");
    let made = Command::new("cc").arg("-o").arg(&program).arg(source).arg("-libumad").status();
    assert!(made.is_ok_and(|status| status.success()), "libibumad-dev is needed, as for the plugin");
    program
}

/// Joins hosts, one after the other.
fn join(served: &Served, fabric: &Fabric, hosts: &[NodeId]) {
    let (folder, program) = (served.folder(), joiner(served.folder()));
    for &host in hosts {
        let mut command = under_ibsim(served.socket(), &program, folder);
        command.env("SIM_HOST", fabric.node(host).description.trim());
        let ended = run(&mut command, folder, "join", patience()).expect("it was made");
        assert_eq!(ended.output.trim(), "MLID 0xc000", "{}: {}", fabric.describe_node(host), ended.errors);
    }
}

/// What OpenSM wrote into multicast tables, as it dumps it.
fn dumped(folder: &Path) -> Vec<TreeRow> {
    let text = std::fs::read_to_string(folder.join("opensm.mcfdbs")).expect("OpenSM dumps its multicast tables");
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a hexadecimal number");
    let (mut rows, mut switch) = (Vec::new(), Guid(0));
    for line in text.lines() {
        if let Some(guid) = line.strip_prefix("Switch ") {
            switch = Guid(number(guid.trim()));
        } else if let Some((mlid, ports)) = line.split_once(" : ").filter(|(mlid, _)| mlid.starts_with("0x")) {
            let ports = ports.split_whitespace().map(|port| PortNum(number(port) as u8)).collect();
            rows.push(TreeRow { switch, mlid: number(mlid.trim()) as u16, ports });
        }
    }
    rows
}

fn said_of_multicast(opensm: &OpenSm) -> Vec<String> {
    opensm.said().into_iter().filter(|said| said.contains("multicast")).collect()
}

/// Waits until OpenSM has a tree for all members and something was said of it.
fn until_judged(opensm: &OpenSm, told: usize) {
    opensm.until("a verdict on multicast", |opensm| said_of_multicast(opensm).len() > told);
    opensm.settle();
}

#[test]
fn rings_that_opensms_trees_close_are_told() {
    if !installed(&["opensm", "ibsim", "ibsim-run", "cc"]) {
        return;
    }
    let fabric = random(16, 4, 2);
    let served = Served::serve(&write(&fabric, Format::IbsimNet).expect("ibsim can have it"));
    let opensm = OpenSm::start(served.socket(), served.folder(), "", "sweep_interval 1");
    opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
    join(&served, &fabric, &hosts(&fabric));
    // OpenSM tells no plugin of a join: the tables are looked at now and then.
    until_judged(&opensm, 0);
    let said = said_of_multicast(&opensm);
    let last = said.last().expect("something was said");
    assert!(last.starts_with("multicast: packets of multicast (0xc000) and of unicast can wait"), "{said:?}");
    assert!(last.contains("(multicast)") && opensm.log().contains("0x01 -> reconfig: multicast: packets"), "{said:?}");
    assert_everybody_is_reached(&fabric, &dumped(served.folder()), &hosts(&fabric));
}

#[test]
fn ordered_trees_reach_everybody_and_close_no_ring() {
    if !installed(&["opensm", "ibsim", "ibsim-run", "cc"]) {
        return;
    }
    let fabric = random(16, 4, 2);
    let mut served = Served::serve(&write(&fabric, Format::IbsimNet).expect("ibsim can have it"));
    let opensm = OpenSm::start(served.socket(), served.folder(), "multicast: ordered", "sweep_interval 1");
    opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
    let all = hosts(&fabric);
    join(&served, &fabric, &all);
    until_judged(&opensm, 0);
    let rows = dumped(served.folder());
    assert_everybody_is_reached(&fabric, &rows, &all);

    // A cable of the tree dies.
    let of_tree = |&cable: &PortId| {
        let (node, num) = (fabric.port(cable).node, fabric.port(cable).num);
        rows.iter().any(|row| row.switch == fabric.node(node).guid && row.ports.contains(&num))
    };
    let cable = cables(&fabric).into_iter().find(of_tree).expect("the tree has cables");
    let ups = opensm.ups();
    console(&mut served, &format!("Unlink {}", name(&fabric, cable)));
    opensm.until("the loss", |opensm| opensm.ups() > ups);
    opensm.settle();
    let left = fabric.without_links(&[cable]);
    assert_everybody_is_reached(&left, &dumped(served.folder()), &all);

    // While a change goes on, trees and ways may close a ring, which is told; when it is over they close none.
    let said = said_of_multicast(&opensm);
    assert!(said.last().is_some_and(|said| said.contains("no ring with unicast ways")), "{said:?}");
    assert!(said.iter().all(|said| !said.contains("no tree was found")), "{said:?}");
    assert!(!opensm.log().contains("ERR 0A17"), "OpenSM got no tree");
}
