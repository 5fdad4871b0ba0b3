//! Aggregation nodes, gateways and routers beside hosts: they are routed to, and offer no traffic.

use crate::support::short::short;
use reconfig::fabric::format::{Format, write};
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind};
use reconfig::ids::{Guid, PortNum};
use reconfig::routing::FatTree;
use reconfig::scenario::{self, Departure, Element, Ending, Scenario, SimulationReport, Unwatched};
use serde_json::Value;
use std::process::Command;
use std::sync::Arc;

/// Three leaves of three hosts below two spines; each switch has an aggregation node, the first spine a gateway, the
/// second leaf a router.
fn tree() -> Fabric {
    let mut builder = FabricBuilder::new();
    let names = ["leaf-1", "leaf-2", "leaf-3", "spine-1", "spine-2"];
    let mut used = [0; 64];
    let switches: Vec<NodeId> =
        (0..).zip(names).map(|(at, name)| builder.node(NodeKind::Switch, Guid(0x100 + at), 16, name)).collect();
    for (&switch, at) in switches.iter().zip(0..) {
        builder.node_mut(switch).system_guid = Some(Guid(0x100 + at));
    }
    let mut cable = |builder: &mut FabricBuilder, a: NodeId, b: NodeId| {
        let ends = [a, b].map(|node| {
            used[node.index()] += 1;
            (node, PortNum(used[node.index()]))
        });
        builder.link(ends[0], ends[1], LinkWidth::X4, LinkSpeed::Hdr).expect("free ports");
    };
    for &leaf in &switches[..3] {
        switches[3..].iter().for_each(|&spine| cable(&mut builder, leaf, spine));
    }
    let mut guid = 0x200;
    let mut add = |builder: &mut FabricBuilder, kind, name: String, at: usize, is_part: bool| {
        guid += 1;
        let node = builder.node(kind, Guid(guid), 2, name);
        builder.node_mut(node).system_guid = Some(Guid(if is_part { 0x100 + at as u64 } else { guid }));
        cable(builder, switches[at], node);
    };
    (0..9).for_each(|host| add(&mut builder, NodeKind::Ca, format!("host-{} HCA-1", host + 1), host / 3, false));
    (0..5).for_each(|at| add(&mut builder, NodeKind::Ca, format!("part of {}", names[at]), at, true));
    add(&mut builder, NodeKind::Ca, "gateway".to_string(), 3, true);
    add(&mut builder, NodeKind::Router, "router".to_string(), 1, false);
    builder.build().expect("a fabric")
}

fn loses(fabric: &Fabric, name: &str, departure: Departure) -> SimulationReport {
    let node = fabric.switches().find(|&node| fabric.node(node).description == name).expect("a switch");
    let scenario = Scenario { departure, ..short(Scenario::of_one(fabric.clone(), Element::Switch(node))) };
    scenario::run(&scenario, Arc::new(FatTree), &mut Unwatched).expect("it begins")
}

#[test]
fn only_hosts_send() {
    let fabric = tree();
    let report = loses(&fabric, "spine-1", Departure::Sudden);
    let offered = report.settings.load;
    let (before, subnet) = (report.throughput.before, &report.subnets[0]);
    assert!((before / offered - 1.0).abs() < 0.1, "nine hosts send {offered} of their rate, and {before} arrives");
    assert_eq!(subnet.hosts, 9);
    let names: Vec<&str> = report.hosts.iter().map(|host| host.name.as_str()).collect();
    assert!(!names.is_empty() && names.iter().all(|name| name.starts_with("host-")), "{names:?}");
    assert!(report.outage.is_some_and(|outage| outage.pairs > 0 && outage.cut_off == 0));
}

#[test]
fn a_spine_leaves_with_its_parts_and_nobody_notices() {
    let report = loses(&tree(), "spine-1", Departure::Planned);
    assert_eq!((report.outcome, report.lost_in_all, report.packets.stranded), (Ending::Completed, 0, 0));
    assert!(report.changes[0].cut_off.is_empty(), "{:?}", report.changes[0].cut_off);
    assert!(report.is_yes());
}

#[test]
fn what_if_cuts_off_nobody_where_only_parts_of_switches_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tree.ibnetdiscover");
    std::fs::write(&file, write(&tree(), Format::Ibnetdiscover).expect("it can be written")).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    let output =
        command.args(["what-if", "--json", "--engine", "fat-tree"]).arg(&file).output().expect("the binary runs");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let cut_off = |name: &str| {
        let losses = report["losses"].as_array().expect("a list");
        let loss = losses.iter().find(|loss| loss["dies"][0] == name).expect("the loss");
        loss["cut_off"].as_array().map(Vec::len)
    };
    assert_eq!(["switch spine-1", "switch spine-2"].map(cut_off), [Some(0); 2]);
    // Its hosts and the router.
    assert_eq!(["switch leaf-2", "switch leaf-3"].map(cut_off), [Some(4), Some(3)]);
}
