//! What reports of lists tell: settings, loads of links and routers, losses by reason, what was not sent, drawings.

use super::{DEPARTURES, fixture, root_of, run, small};
use reconfig::scenario::{Departure, LinkLoads, Scenario, ScenarioChange, SimulationReport};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

const TWO: &str = "fixtures/subnets/two-subnets.subnets.yaml";
const CYCLE: &str = "fixtures/subnets/router-cycle.subnets.yaml";
const QUICK: [&str; 6] = ["--warm-up", "20", "--before", "50", "--after", "50"];

fn command(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.args(arguments).env_remove("RECONFIG_LOG").stdin(Stdio::null());
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Exit code and screen of a short run.
fn screen(arguments: &[&str]) -> (Option<i32>, String) {
    let (code, shown, told) = command(&[&["simulate"], arguments, &QUICK].concat());
    let others: Vec<&str> = told.lines().filter(|line| !line.contains("ports have other LIDs here")).collect();
    assert_eq!(others, [""; 0], "{arguments:?}");
    (code, shown)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&screen(&[arguments, &["--json"]].concat()).1).expect("JSON")
}

fn assert_tells(shown: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(shown.contains(part), "`{part}` is missing:\n{shown}"));
}

fn assert_is_silent(shown: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(!shown.contains(part), "`{part}` is there:\n{shown}"));
}

#[test]
fn settings_are_told_as_of_one_fabric() {
    let several = ["--lmc", "3", "--path-selection", "paired", "--paths", "1", "--message", "4", "--latch", "head"];
    let change = ["--remove-router", "router-1", "--planned", "--load", "0.05", TWO];
    let (_, shown) = screen(&[&several[..], &change].concat());
    let sources = "sources  pairs of LIDs in turn, 1 of 4 LIDs of a half, a turn for each message; 4 packets a message";
    let traffic =
        "traffic  load 5.0 %, 10.0 % of it between subnets, 1024 bytes a packet, latch at head; arming off; seed 1";
    let devices = "devices  agents (drain by token, sources told)";
    assert_tells(&shown, &[sources, devices, traffic, "late packets", "latency p50", "throughput"]);
    let settings = &json(&[&several[..], &change].concat())["settings"];
    assert_eq!(
        (&settings["latch"], &settings["arming"], &settings["drain"]),
        (&"head".into(), &"off".into(), &"token".into())
    );
    assert_eq!(
        (&settings["sources"]["choice"], &settings["sources"]["message_packets"]),
        (&"paired".into(), &4.into())
    );
    assert_eq!(settings["traffic"]["pattern"], "uniform");
}

#[test]
fn order_is_counted_where_that_is_asked_for() {
    let base = ["--steady", "--load", "0.05", TWO];
    let (_, shown) = screen(&[&base[..], &["--count-order"]].concat());
    assert_tells(&shown, &["late packets", "within their message", "late messages"]);
    assert_is_silent(&screen(&base).1, &["late packets", "sources  ", "links between", "arming"]);
}

#[test]
fn links_and_routers_are_named_with_what_they_carried() {
    let (_, shown) = screen(&["--remove-root", "--hot-links", "3", "--cross", "0.5", "--load", "0.05", TWO]);
    assert_tells(
        &shown,
        &[
            "links between switches and routers, before:",
            "router-1[1] → subnet-",
            "in before",
            "  subnet-1:router-2[2] ",
        ],
    );
    let report = json(&["--remove-root", "--hot-links", "3", "--cross", "0.5", "--load", "0.05", TWO]);
    assert_eq!(report["links"]["before"]["busiest"].as_array().map(Vec::len), Some(3));
}

/// Always, whatever is asked for: what goes in by one port of a router goes out by the other.
#[test]
fn ports_of_routers_have_their_loads_in_the_object() {
    let report = json(&["--steady", "--cross", "0.5", "--load", "0.05", TWO]);
    assert!(report["links"].is_null());
    for router in report["routers"].as_array().expect("routers") {
        let carried =
            |port: usize, what: &str| router["ports"][port]["carried"]["before"][what].as_f64().expect("a number");
        for (from, to) in [(0, 1), (1, 0)] {
            let (came, went) = (carried(from, "bytes_in"), carried(to, "bytes_out"));
            assert!(came > 0.0 && (0.8..1.25).contains(&(went / came)), "{router}");
            let load = carried(from, "load_in");
            assert!(load > 0.0 && load < 1.0, "{router}");
        }
    }
}

fn with_all_links(change: ScenarioChange, departure: Departure) -> SimulationReport {
    let mut asked = Scenario { cross: 0.3, ..small(fixture("two-subnets"), change, departure) };
    asked.hot_links = usize::MAX;
    run(&asked)
}

/// That each link that is named is there, that all are, and that their mean is what is told.
fn assert_all_of(loads: &LinkLoads, gone: &str, is_there: bool) {
    let named = loads.busiest.iter().any(|link| link.from.starts_with(gone) || link.to.starts_with(gone));
    assert_eq!(named, is_there, "{gone}");
    let mean = loads.busiest.iter().map(|link| link.load).sum::<f64>() / loads.busiest.len() as f64;
    assert!((mean - loads.mean).abs() < 1e-12 && mean > 0.0, "{mean} and {}", loads.mean);
}

#[test]
fn links_that_are_gone_count_no_more() {
    for departure in DEPARTURES {
        for (change, gone) in [(root_of(0), "subnet-0:switch-1["), (ScenarioChange::Router(0), "subnet-0:router-1[")] {
            let links = with_all_links(change, departure).links.expect("asked for");
            assert_all_of(&links.before, gone, true);
            assert_all_of(&links.during, gone, departure == Departure::Planned);
            assert_all_of(&links.after, gone, false);
            assert!(links.after.busiest.len() < links.before.busiest.len());
        }
    }
}

#[test]
fn a_share_between_subnets_is_told_only_where_there_is_one() {
    let (_, shown) = screen(&["--steady", "--load", "0.05", "--traffic", "permutation", TWO]);
    assert_tells(&shown, &["traffic  load 5.0 %, 1024 bytes", "pattern  a permutation drawn by the seed"]);
    assert_is_silent(&shown, &["between subnets"]);
    let hot = json(&["--steady", "--load", "0.05", "--traffic", "hot-spot:3,0.25", TWO]);
    let traffic = &hot["settings"]["traffic"];
    assert_eq!(
        (&traffic["pattern"], &traffic["destination"], &traffic["share"]),
        (&"hot-spot".into(), &3.into(), &0.25.into())
    );
    let desk = tempfile::tempdir().expect("a folder");
    let list = desk.path().join("one.subnets.yaml");
    let fabric = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/topologies/fat-tree-4-2.ibnetdiscover");
    let lines = format!("subnets:\n- name: only\n  prefix: '0xfec0000000000000'\n  fabric: {}\n", fabric.display());
    std::fs::write(&list, lines).expect("can be written");
    let (_, shown) = screen(&["--steady", "--load", "0.05", list.to_str().expect("UTF-8")]);
    assert_tells(&shown, &["traffic  load 5.0 %, 1024 bytes", "; 4 data VLs\n", "proved: 1 moment, "]);
    assert_is_silent(&shown, &["router", "raised", "within only"]);
}

#[test]
fn where_nothing_changes_what_is_lost_is_discarded_by_reason() {
    let (code, shown) = screen(&["--steady", "--hop-limit", "1", "--load", "0.05", TWO]);
    assert_eq!(code, Some(1), "{shown}");
    assert_tells(
        &shown,
        &[
            "\ndiscarded: hop limit ",
            " packets discarded (hop limit ",
            "stranded  discarded\n",
            "delivered  discarded\n",
        ],
    );
    assert_is_silent(&shown, &["change;", "to change", "to failure"]);
}

#[test]
fn what_was_discarded_for_its_age_is_told() {
    let old = ["--steady", "--cross", "0.5", "--load", "0.9", "--hoq-life", "300", TWO];
    let (code, shown) = screen(&old);
    assert_eq!(code, Some(1), "{shown}");
    assert_tells(&shown, &["\ndiscarded: lifetime ", " packets discarded (lifetime "]);
    let report = json(&old);
    let discards = report["lifetime_discards"].as_u64().expect("a number");
    assert!(discards > 0 && Some(discards) == report["packets"]["lost_to_change"].as_u64(), "{report}");
    assert!(report["deadlocks_broken"].is_u64());
}

#[test]
fn what_could_not_be_sent_is_part_of_the_verdict() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("line.subnets.yaml");
    let line = list.to_str().expect("UTF-8");
    let (code, _, told) = command(&["fabric", "generate", "ring:4", "--subnets", "4", "--seed", "1", "-o", line]);
    assert_eq!(code, Some(0), "{told}");
    let arguments = ["--remove-router", "router-2", "--planned", "--load", "0.02", line];
    let report = json(&arguments);
    let relations = report["relations"].as_array().expect("a list");
    let unsent: Vec<u64> = relations.iter().filter_map(|own| own["unsendable"].as_u64()).filter(|&n| n > 0).collect();
    assert_eq!(unsent.len(), 8, "{unsent:?}");
    let (_, shown) = screen(&arguments);
    let verdict = shown.lines().last().expect("a verdict");
    // Figures have their thousands apart, and so few packets have none.
    let total: u64 = unsent.iter().sum();
    assert!(total < 1000, "{total}: shorten the run");
    let told = format!("{total} packets of 8 relations not sent: no router leads there any more;");
    assert!(verdict.contains(&told), "{verdict}");
    let parted = ["--steady", "--traffic", "permutation", "--load", "0.05", "fixtures/subnets/partitions.subnets.yaml"];
    let (_, shown) = screen(&parted);
    assert_tells(shown.lines().last().expect("a verdict"), &[" relations not sent: no partition in common; "]);
}

#[test]
fn a_router_that_leaves_is_not_cut_off_and_a_root_that_stays_is_no_change() {
    let (_, shown) = screen(&["--remove-router", "router-1", "--planned", "--load", "0.05", TWO]);
    assert_tells(&shown, &["\nsubnet-0: remove router router-1, root switch-1\n"]);
    assert_is_silent(&shown, &["; stranded"]);
}

#[test]
fn a_deadlock_has_its_time_where_nothing_changes() {
    let locked = ["--steady", "--cross", "1", "--load", "1", "--router-sl", "keep", CYCLE];
    let (code, shown) = screen(&locked);
    assert_eq!(code, Some(1), "{shown}");
    assert_tells(&shown, &["\nDEADLOCKED at ", "–"]);
    assert_is_silent(&shown, &[" 0 ns"]);
    assert!(json(&locked)["deadlock_ns"].as_u64() > Some(0));
    assert!(json(&["--steady", "--load", "0.05", TWO])["deadlock_ns"].is_null());
}

/// Balanced, each edge between nodes that are declared, each router a diamond.
fn assert_draws_the_cycle(file: &Path) {
    let text = std::fs::read_to_string(file).expect("written");
    assert!(text.starts_with("digraph refusal {\n") && text.ends_with("}\n"), "{text}");
    assert_eq!(text.matches('{').count(), text.matches('}').count(), "{text}");
    let edges: Vec<&str> = text.lines().filter(|line| line.contains(" -> ")).collect();
    assert_eq!(edges.len(), 6, "{text}");
    for edge in edges {
        let (from, rest) = edge.split_once(" -> ").expect("an edge");
        for node in [from, rest.split(" [").next().expect("a node")] {
            let declared = format!("{} [", node.trim());
            assert!(text.lines().any(|line| line.trim().starts_with(&declared)), "{node} in\n{text}");
        }
    }
    assert_tells(
        &text,
        &["subgraph \"cluster_subnet-0\"", "subgraph \"cluster_subnet-1\"", "[shape=diamond, label=\"router-2\"]"],
    );
}

#[test]
fn the_cycle_through_routers_is_drawn() {
    let desk = tempfile::tempdir().expect("a folder");
    let file = |name: &str| desk.path().join(name);
    let keep = ["--router-sl", "keep"];
    for (name, code, arguments) in [
        ("audit", 1, &["audit", CYCLE, "--engine", "up-down", "--vls", "4"][..]),
        ("refused", 3, &["simulate", "--remove-router", "router-1", CYCLE]),
        ("steady", 1, &["simulate", "--steady", "--cross", "1", "--load", "1", CYCLE]),
    ] {
        let to = file(name);
        let dot = ["--dot", to.to_str().expect("UTF-8")];
        let (found, shown, told) = command(&[arguments, &keep, &dot].concat());
        assert_eq!(found, Some(code), "{name}: {shown}{told}");
        assert_draws_the_cycle(&to);
        let (_, _, told) = command(
            &[arguments, &["--router-sl", "raise"], &["--dot", file("none").to_str().expect("UTF-8")]].concat(),
        );
        assert!(told.contains("nothing to draw") && !file("none").exists(), "{name}: {told}");
    }
}
