//! Tables that somebody else computed.

use super::{ends, json, kept, made, names, reconfig, stderr, stdout, text_of};
use crate::support::capture::capture;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::PortNum;
use reconfig::tables::Lft;
use reconfig::tables::dump::write_lfts;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The port of a switch to another.
fn port_to(fabric: &Fabric, from: NodeId, to: NodeId) -> PortNum {
    let port = fabric.ports_of(from).find(|&port| fabric.neighbour(port) == Some(to)).expect("they are joined");
    fabric.port(port).num
}

/// A ring's tables by which every packet goes the same way round: the textbook deadlock.
fn one_way(fabric: &Fabric) -> Vec<Arc<Lft>> {
    let ring: Vec<NodeId> = fabric.switches().collect();
    let home = |port: PortId| {
        let node = fabric.port(port).node;
        if fabric.node(node).is_switch() { node } else { fabric.neighbour(port).expect("a cabled host") }
    };
    let mut tables = vec![Lft::new(); fabric.node_count()];
    for port in fabric.lid_ports() {
        let lid = fabric.port(port).lid.expect("generated fabrics have LIDs");
        for (at, &switch) in ring.iter().enumerate() {
            let output = match (home(port) == switch, fabric.port(port).node == switch) {
                (_, true) => PortNum::ZERO,
                (true, false) => port_to(fabric, switch, fabric.port(port).node),
                (false, _) => port_to(fabric, switch, ring[(at + 1) % ring.len()]),
            };
            tables[switch.index()].set(lid, output);
        }
    }
    tables.into_iter().map(Arc::new).collect()
}

fn dumped(folder: &Path, fabric: &Fabric, tables: &[Arc<Lft>]) -> PathBuf {
    let file = folder.join("theirs.lfts");
    std::fs::write(&file, write_lfts(fabric, tables).collect::<String>()).expect("a file in a temporary folder");
    file
}

#[test]
fn what_can_deadlock_is_refused_with_its_cycle_and_not_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fabric = made("ring:4,1");
    let (input, theirs) = (kept(folder.path(), &fabric), dumped(folder.path(), &fabric, &one_way(&fabric)));
    let (out, dot) = (folder.path().join("out"), folder.path().join("cycle.dot"));
    let arguments = ["route", &input, "--from-lfts", text_of(&theirs), "-o", text_of(&out), "--dot", text_of(&dot)];
    let output = reconfig(&arguments);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stdout(&output).contains("NO, refused: nothing was written"), "{}", stdout(&output));
    assert!((1..=4).all(|switch| stdout(&output).contains(&format!("switch-{switch}"))), "{}", stdout(&output));
    assert!(!out.exists());
    assert!(std::fs::read_to_string(&dot).expect("it was drawn").starts_with("digraph"));
    let report = json(&[&arguments[..6], &["--allow-unproved", "--lmc", "0"]].concat(), 1);
    let routed = &report["subnets"][0];
    assert_eq!((report["safe"].as_bool(), routed["engine"].as_str()), (Some(false), Some("imported")));
    assert_eq!(routed["proof"], serde_json::Value::Null);
    assert!(names(&out).len() == 9, "written all the same: {:?}", names(&out));
}

#[test]
fn tables_of_ours_come_back_as_they_went() {
    for lmc in ["0", "1", "2"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let input = kept(folder.path(), &made("torus:3x3,2"));
        let (first, again) = (folder.path().join("first"), folder.path().join("again"));
        ends(&["route", &input, "--lmc", lmc, "-o", text_of(&first)], 0);
        let file = |name: &str| first.join(name).to_str().expect("UTF-8").to_string();
        let from = [file("fabric.json"), file("opensm.fdbs"), file("path-sl")];
        let arguments = [
            "route",
            &from[0],
            "--from-fdbs",
            &from[1],
            "--from-path-sl",
            &from[2],
            "--lmc",
            lmc,
            "-o",
            text_of(&again),
        ];
        // The upper half, on SL 8, is taken for the lower once more.
        let report = json(&arguments, 0);
        assert_eq!(report["subnets"][0]["layers"], 1, "LMC {lmc}");
        let both =
            |name: &str| [&first, &again].map(|folder| std::fs::read(folder.join(name)).expect("it was written"));
        for name in ["opensm-lfts.dump", "guid2lid", "random-tables"] {
            let [first, again] = both(name);
            assert_eq!(first, again, "LMC {lmc}: {name}");
        }
    }
}

#[test]
fn the_credit_loop_of_opensms_own_tables_is_refused() {
    let files = ["subnet.lst", "fdbs"].map(|kind| capture(&format!("opensm/credit-loop-62sw.{kind}")));
    let [Some(subnet), Some(fdbs)] = files else { return };
    let report = json(&["route", text_of(&subnet), "--from-fdbs", text_of(&fdbs), "--lmc", "0"], 1);
    let refusal = &report["subnets"][0]["refusal"];
    assert_eq!(refusal["kind"], "deadlock");
    assert!(refusal["dependencies"].as_array().is_some_and(|cycle| cycle.len() > 1), "{report:#}");
    assert_eq!(report["safe"], false);
}

#[test]
fn a_change_starts_from_the_tables_that_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let input = kept(folder.path(), &made("torus:3x3,2"));
    let out = folder.path().join("out");
    ends(&["route", &input, "--root", "switch-1-1", "-o", text_of(&out)], 0);
    let file = |name: &str| out.join(name).to_str().expect("UTF-8").to_string();
    let (fabric, fdbs) = (file("fabric.json"), file("opensm.fdbs"));
    let change = ["simulate", &fabric, "--remove-switch", "switch-0-0", "--from-fdbs", &fdbs, "--engine", "up-down"];
    let report = json(&change, 0);
    assert_eq!((report["engine"].as_str(), report["outcome"].as_str()), (Some("imported"), Some("completed")));
    assert_eq!(report["packets"]["lost_to_change"], 0);
    let both = reconfig(&["route", &fabric, "--from-fdbs", &fdbs, "--engine", "up-down"]);
    assert!(both.status.code() == Some(2) && stderr(&both).contains("leave out one of them"), "{}", stderr(&both));
}
