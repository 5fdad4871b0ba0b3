//! infiniband-diags on a cold subnet: what directed routes can ask.

use crate::serve::harness::{Beside, PATIENCE, Served, bundled, installed};
use reconfig::fabric::{Fabric, NodeKind, format};
use reconfig::ids::{Guid, PortNum};
use std::collections::BTreeSet;

/// What ibnetdiscover can know of a fabric: its nodes, and its cables both ways.
type Seen = (BTreeSet<(Guid, NodeKind, u8, String)>, BTreeSet<(Guid, PortNum, Guid, PortNum)>);

fn seen(fabric: &Fabric) -> Seen {
    let node =
        |node: &reconfig::fabric::Node| (node.guid, node.kind, node.num_ports, node.description.trim().to_string());
    let end = |port| (fabric.node(fabric.port(port).node).guid, fabric.port(port).num);
    let both = fabric.links().flat_map(|(one, other)| [(one, other), (other, one)]);
    let links = both.map(|(one, other)| (end(one).0, end(one).1, end(other).0, end(other).1));
    (fabric.nodes().map(|(_, found)| node(found)).collect(), links.collect())
}

fn read(text: &[u8], name: &str) -> Fabric {
    format::read(text, name).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn ibnetdiscover_finds_the_fabric_that_is_served() {
    if !installed(&["ibnetdiscover"]) {
        return;
    }
    for name in ["fat-tree-4-2", "random-regular-16-4", "dragonfly-2-4-2"] {
        let file = bundled(name);
        let served = Served::start(&file, &[]);
        let found = served.run("", "ibnetdiscover", &[]).well();
        let fabric = read(&std::fs::read(&file).unwrap(), name);
        assert_eq!(seen(&read(found.as_bytes(), "ibnetdiscover")), seen(&fabric), "{name}");
    }
}

#[test]
fn ibstat_tells_the_port_that_was_named() {
    if !installed(&["ibstat"]) {
        return;
    }
    let served = Served::start(&bundled("fat-tree-4-2"), &[]);
    let text = served.run("host-7 HCA-1", "ibstat", &[]).well();
    for line in ["State: Initializing", "Physical state: LinkUp", "Port GUID: 0x0200000101000601"] {
        assert!(text.contains(line), "no `{line}` in\n{text}");
    }
    let text = served.run("leaf-2", "ibstat", &[]).well();
    assert!(text.contains("Switch type: simulator") && text.contains("Port 0:"), "{text}");
}

#[test]
fn smpquery_asks_for_every_attribute() {
    if !installed(&["smpquery"]) {
        return;
    }
    let served = Served::start(&bundled("fat-tree-4-2"), &[]);
    let queries: [(&[&str], &str); 9] = [
        (&["nodeinfo", "-D", "0"], "PortGuid:........................0x0200000101000001"),
        (&["nodedesc", "-D", "0,1"], "leaf-1"),
        (&["nodeinfo", "-D", "0,1,5"], "NodeType:........................Switch"),
        (&["portinfo", "-D", "0,1", "5"], "LinkState:.......................Initialize"),
        (&["switchinfo", "-D", "0,1"], "LinearFdbCap:....................49152"),
        (&["pkeys", "-D", "0"], "0xffff"),
        (&["guidinfo", "-D", "0"], "0x0200000101000001"),
        (&["sl2vl", "-D", "0,1", "2"], "ports: in  1, out  2: | 0| 1| 2| 3| 0| 1| 2| 3| 0| 1| 2| 3| 0| 1| 2| 3|"),
        (&["vlarb", "-D", "0,1", "1"], "WEIGHT"),
    ];
    for (query, line) in queries {
        let text = served.run("host-1 HCA-1", "smpquery", query).well();
        assert!(text.contains(line), "no `{line}` in smpquery {query:?}:\n{text}");
    }
    assert!(
        !served.run("host-1 HCA-1", "smpquery", &["nodeinfo", "-D", "0,1,2,1"]).succeeded(),
        "hosts hand nothing on"
    );
}

/// One MAD at a time, and time that stands still in between: the same events to the last.
#[test]
fn a_program_that_waits_for_each_answer_repeats_exactly() {
    if !installed(&["smpquery"]) {
        return;
    }
    let conversation = || {
        let served = Served::start(&bundled("fat-tree-4-2"), &["--speed", "0", "--start"]);
        for query in [&["portinfo", "-D", "0,1", "5"][..], &["sl2vl", "-D", "0,1", "2"], &["nodeinfo", "-D", "0,1,2,1"]]
        {
            served.run("host-1 HCA-1", "smpquery", query);
        }
        let last = served.end();
        (last["simulated_ns"].clone(), last["trace_hash"].clone(), last["mads"].clone())
    };
    assert_eq!(conversation(), conversation());
}

#[test]
fn a_program_that_is_killed_is_noticed() {
    if !installed(&["ibping"]) {
        return;
    }
    let served = Served::start(&bundled("ring-8"), &[]);
    let clients = |served: &Served| served.status()["clients"].as_array().unwrap().len();
    let mut program = served.program_for("host-1 HCA-1", &["-s", "KILL", PATIENCE], "ibping");
    program.arg("-S");
    let program = Beside::start(program);
    served.until("a client", |served| clients(served) == 1);
    program.time_runs_out();
    served.until("its death", |served| clients(served) == 0);
}

#[test]
fn a_subnet_that_is_up_needs_no_manager() {
    if !installed(&["perfquery"]) {
        return;
    }
    let served = Served::start(&bundled("fat-tree-4-2"), &["--warm", "--lmc", "1", "--start"]);
    let text = served.run("host-2 HCA-1", "smpquery", &["portinfo", "-D", "0"]).well();
    assert!(text.contains("LinkState:.......................Active"), "{text}");
    assert!(text.contains("LMC:.............................1"), "{text}");
    served.until("packets", |served| served.status()["packets"]["delivered"].as_u64().unwrap() > 1_000);
    let text = served.run("host-2 HCA-1", "perfquery", &[]).well();
    assert!(!text.contains("PortXmitPkts:....................0\n"), "{text}");
}
