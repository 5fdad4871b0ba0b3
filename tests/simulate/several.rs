//! Several elements leave or come at once: named one by one, or as the difference of two captures.

use super::command::{FABRIC, QUICK, simulate};
use super::{DEPARTURES, assert_clean, run};
use crate::support::bundled::bundled;
use crate::support::short::short;
use reconfig::fabric::difference::union;
use reconfig::fabric::format::{self, Format};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::PortNum;
use reconfig::plan::Scheme;
use reconfig::scenario::{BusyLink, Departure, Element, LinkLoads, Scenario, ScenarioChange};
use serde_json::Value;
use std::path::PathBuf;
use tempfile::TempDir;

fn node(fabric: &Fabric, name: &str) -> NodeId {
    let found = fabric.nodes().find(|(_, node)| node.description == name);
    found.unwrap_or_else(|| panic!("no node {name}")).0
}

fn port(fabric: &Fabric, name: &str, num: u8) -> PortId {
    fabric.port_at(node(fabric, name), PortNum(num)).expect("a port")
}

/// The scheme that is chosen, and the double one.
fn schemes(scenario: &Scenario) -> [Scenario; 2] {
    [true, false].map(|auto| Scenario { auto, scheme: Scheme::Double, ..scenario.clone() })
}

#[test]
fn two_spines_at_once_are_one_proved_change() {
    let fabric = bundled("fat-tree-4-2");
    let spines = ["spine-1", "spine-3"].map(|name| Element::Switch(node(&fabric, name)));
    for departure in DEPARTURES {
        let base = Scenario { departure, ..short(Scenario::of_one(fabric.clone(), spines.to_vec())) };
        for scenario in schemes(&base) {
            let report = run(&scenario);
            let what = format!("{} auto {}", departure.name(), scenario.auto);
            assert_clean(&report, &what);
            assert_eq!((report.proof.status, report.changes.len()), ("proved", 1), "{what}");
            assert_eq!(report.moves.leaves, ["switch spine-1", "switch spine-3"], "{what}");
            assert_eq!(report.what, "remove switch spine-1 and switch spine-3", "{what}");
            assert_eq!(report.changes[0].root_after.as_deref(), Some("spine-2"), "{what}");
            assert!(report.changes[0].cut_off.is_empty(), "{what}: {:?}", report.changes[0].cut_off);
            assert_eq!(report.packets.lost_to_failure == 0, departure == Departure::Planned, "{what}");
            assert_eq!(report.packets.stranded, 0, "{what}");
        }
    }
}

#[test]
fn a_spine_a_cable_and_a_host_leave_together() {
    let fabric = bundled("fat-tree-4-2");
    let host = node(&fabric, "host-3 HCA-1");
    let elements =
        [Element::Switch(node(&fabric, "spine-1")), Element::Link(port(&fabric, "leaf-1", 6)), Element::EndNode(host)];
    for departure in DEPARTURES {
        let base = Scenario { departure, ..short(Scenario::of_one(fabric.clone(), elements.to_vec())) };
        for scenario in schemes(&base) {
            let report = run(&scenario);
            let what = format!("{} auto {}", departure.name(), scenario.auto);
            assert_clean(&report, &what);
            assert_eq!(report.proof.status, "proved", "{what}");
            assert_eq!(report.what, "remove switch spine-1, host host-3 HCA-1 and link leaf-1[6]", "{what}");
            // Who leaves is not cut off.
            assert!(report.changes[0].cut_off.is_empty() && report.is_yes(), "{what}: {:?}", report.changes[0].cut_off);
        }
    }
}

#[test]
fn the_root_and_another_spine_leave_together_and_a_root_named_twice_leaves_once() {
    let fabric = bundled("fat-tree-4-2");
    let root = Element::Switch(node(&fabric, "spine-1"));
    let other = Element::Switch(node(&fabric, "spine-2"));
    let of = |elements: &[Element]| run(&short(Scenario::of_one(fabric.clone(), elements.to_vec())));
    let both = of(&[Element::Root, other]);
    assert_clean(&both, "root and spine");
    assert_eq!(both.what, "remove root spine-1 and switch spine-2");
    let (twice, once) = (of(&[Element::Root, root]), of(&[Element::Root]));
    assert_eq!(twice, once);
}

#[test]
fn throughput_after_is_that_of_the_hosts_that_are_left() {
    let fabric = bundled("fat-tree-4-2");
    let leaf = Element::Switch(node(&fabric, "leaf-2"));
    let base = Scenario {
        cut_off_meant: true,
        load: Some(0.25),
        before_ns: 300_000,
        after_ns: 300_000,
        ..short(Scenario::of_one(fabric, leaf))
    };
    for departure in DEPARTURES {
        for scenario in schemes(&Scenario { departure, ..base.clone() }) {
            let report = run(&scenario);
            let what = format!("{} auto {}: {:?}", departure.name(), scenario.auto, report.throughput);
            // Each of 12 hosts still sends what it sent to 11 of the 15 others.
            let (before, after) = (report.throughput.before, report.throughput.after);
            assert!((before - 0.25).abs() < 0.01 && (after - 0.25 * 11.0 / 15.0).abs() < 0.01, "{what}");
            assert_eq!(report.outage.as_ref().map(|own| own.cut_off), Some(108), "{what}");
            // In a planned change the hosts take part until it is made.
            assert_eq!(report.throughput.during > 0.2, departure == Departure::Planned && scenario.auto, "{what}");
        }
    }
}

/// Lines of the screen that begin with a word.
fn told<'a>(screen: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    screen.lines().filter(move |line| line.starts_with(word))
}

#[test]
fn nothing_is_called_lost_nowhere_where_packets_are_stranded() {
    let host = ["--remove-host", "host-3 HCA-1"];
    let leaf = ["--remove-switch", "leaf-2"];
    for (removal, pairs) in [(&host, "outage   none"), (&leaf, "outage   none; 108 pairs cut off for good")] {
        let output = simulate(&[&removal[..], &["--scheme", "auto", FABRIC]].concat());
        let screen = String::from_utf8_lossy(&output.stdout);
        let whose = "all from or to end ports that left or are cut off (stranded)";
        assert!(told(&screen, "lost ").all(|line| line.ends_with(whose)), "{screen}");
        assert!(told(&screen, "completed").all(|line| line.contains("nothing lost to the change, ")), "{screen}");
        assert!(told(&screen, "completed").all(|line| line.contains(" packets stranded")), "{screen}");
        assert!(told(&screen, "outage ").all(|line| line == pairs), "{screen}");
        assert_eq!(told(&screen, "proof ").next(), Some("proof    proved: no table has to be written"), "{screen}");
    }
    let output = simulate(&[&leaf[..], &["--compare", FABRIC]].concat());
    let table = String::from_utf8_lossy(&output.stdout);
    let row = table.lines().find(|line| line.starts_with(" stranded ")).expect("a row");
    assert!(row.split("  ").filter(|cell| !cell.trim().is_empty()).skip(1).all(|cell| cell.trim() != "0"), "{row}");
}

/// A fabric, two subsets of it without one spine and one host each, and without a cable.
struct Captures {
    whole: Fabric,
    first: Fabric,
    second: Fabric,
    unplugged: Fabric,
}

impl Captures {
    fn new() -> Captures {
        let whole = bundled("fat-tree-4-2");
        let without = |names: [&str; 2]| whole.without_nodes(&names.map(|name| node(&whole, name)));
        let (first, second) = (without(["spine-2", "host-16 HCA-1"]), without(["spine-1", "host-3 HCA-1"]));
        let unplugged = whole.without_links(&[port(&whole, "leaf-3", 5), port(&whole, "leaf-2", 6)]);
        Captures { whole, first, second, unplugged }
    }
}

fn between(before: &Fabric, after: &Fabric, departure: Departure) -> Scenario {
    let union = union(before, after).expect("they fit together");
    let change = ScenarioChange::from(&union);
    Scenario { departure, ..short(Scenario::of_one(union.fabric, change)) }
}

#[test]
fn what_the_capture_after_has_beside_comes_and_is_used() {
    let Captures { whole, second, unplugged, .. } = Captures::new();
    let cases: [(&Fabric, &str, &[&str]); 2] = [
        (&second, "add switch spine-1 and host host-3 HCA-1", &["spine-1["]),
        (&unplugged, "add link leaf-2[6] and link leaf-3[5]", &["leaf-2[6]", "leaf-3[5]"]),
    ];
    for (before, what, ends) in cases {
        for scenario in schemes(&between(before, &whole, Departure::Sudden)) {
            let report = run(&Scenario { hot_links: 40, ..scenario });
            assert_clean(&report, what);
            assert_eq!((report.proof.status, report.departure), ("proved", "arrival"), "{what}");
            assert_eq!(report.what, what);
            assert_eq!(report.lost_in_all, 0, "{what}: {:?}", report.packets);
            let links = report.links.expect("links were asked for");
            let carried = |loads: &LinkLoads| -> u64 {
                let new = |busy: &&BusyLink| ends.iter().any(|end| busy.from.starts_with(end));
                loads.busiest.iter().filter(new).map(|busy| busy.bytes).sum()
            };
            assert_eq!(carried(&links.before), 0, "{what}: {:?}", links.before);
            // Scheme `ordered` leaves ways alone that still lead somewhere: nobody has to use what is new.
            assert!(carried(&links.after) > 0 || report.scheme == Scheme::Ordered, "{what}: {:?}", links.after);
        }
    }
}

#[test]
fn a_spine_and_a_host_make_room_for_others_in_one_planned_change() {
    let Captures { first, second, .. } = Captures::new();
    for scenario in schemes(&between(&first, &second, Departure::Planned)) {
        let report = run(&scenario);
        assert_clean(&report, "exchange");
        assert_eq!((report.proof.status, report.departure), ("proved", "planned"));
        assert_eq!(
            report.what,
            "remove switch spine-1 and host host-3 HCA-1; add switch spine-2 and host host-16 HCA-1"
        );
        assert_eq!((report.lost_in_all, report.is_yes()), (0, true), "{:?}", report.packets);
    }
}

/// Files of the captures in a folder.
struct Files(TempDir);

impl Files {
    fn of(captures: &[(&str, &Fabric)]) -> Files {
        let files = Files(tempfile::tempdir().expect("a folder"));
        for (name, fabric) in captures {
            let text = format::write(fabric, Format::Json).expect("the project's own format bears every fabric");
            std::fs::write(files.path(name), text).expect("can be written");
        }
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("a path in UTF-8").to_string()
    }
}

/// The exit code and the object printed.
fn json(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = simulate(&[arguments, &QUICK, &["--json"]].concat());
    let text = String::from_utf8_lossy(&output.stderr);
    let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"));
    (output.status.code(), value)
}

fn refused(arguments: &[&str], code: i32, part: &str) {
    let output = simulate(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(code) && said.contains(part), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
}

const TWO_SPINES: [&str; 4] = ["--remove-switch", "spine-1", "--remove-switch", "spine-3"];

#[test]
fn names_patterns_and_guids_name_the_same_elements_and_each_counts_once() {
    let (code, once) = json(&[&TWO_SPINES[..], &[FABRIC]].concat());
    assert_eq!((code, &once["what"]), (Some(0), &"remove switch spine-1 and switch spine-3".into()));
    assert_eq!(once["leaves"], serde_json::json!(["switch spine-1", "switch spine-3"]));
    let guid = bundled("fat-tree-4-2").nodes().find(|(_, node)| node.description == "spine-3").expect("a spine").1.guid;
    let guid = guid.to_string();
    let twice = ["--remove-switch", "spine-*1", "--remove-switch", &guid, "--remove-switch", "spine-3"];
    assert_eq!(json(&[&twice[..], &[FABRIC]].concat()), (code, once));
    // A cable is named by either end.
    let one = ["--remove-link", "leaf-1:5", FABRIC];
    let both = ["--remove-link", "leaf-1:5", "--remove-link", "spine-1:1", FABRIC];
    assert_eq!(json(&one), json(&both));
    // Every cable of a spine, and so the spine is out of use; hosts still have three others.
    let (code, report) = json(&["--remove-link", "spine-1:*", FABRIC]);
    let cables = ["link spine-1[1]", "link spine-1[2]", "link spine-1[3]", "link spine-1[4]"];
    assert_eq!((code, &report["leaves"]), (Some(0), &serde_json::json!(cables)));
    // A bundled switch is a system of its own.
    let fabric = bundled("fat-tree-4-2");
    let chassis = fabric.node(node(&fabric, "spine-1")).system_guid.expect("captures give it").to_string();
    let (by_chassis, by_name) = (["--remove-chassis", &chassis, FABRIC], ["--remove-switch", "spine-1", FABRIC]);
    assert_eq!(json(&by_chassis), json(&by_name));
}

#[test]
fn hosts_that_a_leaf_strands_are_listed_unless_they_leave_too() {
    let leaf = ["--planned", "--remove-switch", "leaf-2", "--remove-switch", "spine-1", FABRIC];
    let (code, report) = json(&leaf);
    assert_eq!((code, report["changes"][0]["cut_off"].as_array().map(Vec::len)), (Some(1), Some(4)));
    assert_eq!(report["changes"][0]["cut_off"][0]["node"], "host-5 HCA-1");
    let hosts = ["--remove-host", "host-5 *", "--remove-host", "host-6 *", "--remove-host", "host-7 *"];
    let (code, report) = json(&[&hosts[..], &leaf].concat());
    assert_eq!((code, report["changes"][0]["cut_off"].as_array().map(Vec::len)), (Some(1), Some(1)));
    let (code, report) = json(&[&hosts[..], &["--remove-host", "host-8 *"], &leaf].concat());
    assert_eq!((code, report["changes"][0]["cut_off"].as_array().map(Vec::len)), (Some(0), Some(0)));
}

/// A leaf like another one, with hosts, and a cable between spines.
const GROWN: [&str; 8] = [
    "--add-switch",
    "leaf-5=LIKE:leaf-1",
    "--add-link",
    "spine-1:8=spine-2:8",
    "--add-host",
    "h-17=leaf-5:1",
    "--add-host",
    "h-18=leaf-5:2",
];

#[test]
fn what_no_capture_has_comes_by_name() {
    let (code, report) = json(&[&GROWN[..], &["--scheme", "auto", FABRIC]].concat());
    assert_eq!(
        (code, &report["departure"], &report["proof"]["status"]),
        (Some(0), &"arrival".into(), &"proved".into())
    );
    let comes = ["switch leaf-5", "host h-17", "host h-18", "link spine-1[8]"];
    assert_eq!(report["comes"], serde_json::json!(comes));
    assert_eq!((&report["lost_in_all"], &report["outcome"]), (&0.into(), &"completed".into()));
    assert!(
        report["throughput"]["after"].as_f64() > report["throughput"]["before"].as_f64(),
        "{}",
        report["throughput"]
    );
    // Which cables a switch like another one has is told, and is the same in every run.
    let output = simulate(&[&GROWN[..], &QUICK, &["--scheme", "auto", "--json", FABRIC]].concat());
    let cables = "leaf-5[5] to spine-1[5], leaf-5[6] to spine-2[5], leaf-5[7] to spine-3[5], leaf-5[8] to spine-4[5]";
    assert!(String::from_utf8_lossy(&output.stderr).contains(&format!("leaf-5 comes with the cables {cables}")));
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).expect("an object"), report);
    // With what leaves it is one planned change, and two if that dies: what died is routed around first.
    let both = ["--remove-switch", "spine-3", "--add-host", "h-17=spine-1:8"];
    let (code, report) = json(&[&both[..], &["--planned", "--scheme", "auto", FABRIC]].concat());
    assert_eq!((code, &report["what"]), (Some(0), &"remove switch spine-3; add host h-17".into()));
    let (code, report) =
        json(&["--remove-switch", "spine-3", "--add-host", "h-17=spine-1:8", "--scheme", "auto", FABRIC]);
    assert_eq!((code, &report["departure"]), (Some(0), &"sudden".into()));
    assert_eq!((&report["outcome"], &report["packets"]["lost_to_change"]), (&"completed".into(), &0.into()));
}

#[test]
fn a_cable_that_moves_is_named_by_one_option_or_two_and_by_captures() {
    let fabric = bundled("fat-tree-4-2");
    let at = |name: &str, num| fabric.port_at(node(&fabric, name), PortNum(num)).expect("a port");
    let recabled = fabric.with_plugged(&[(at("leaf-1", 5), at("spine-1", 7))]);
    let files = Files::of(&[("before", &fabric), ("after", &recabled)]);
    let (before, after) = (files.text("before"), files.text("after"));
    let moved = json(&["--move-cable", "leaf-1:5=spine-1:7", "--planned", &before]);
    let removed = ["--remove-link", "leaf-1:5", "--add-link", "leaf-1:5=spine-1:7", "--planned", &before];
    assert_eq!(json(&removed), moved);
    assert_eq!(json(&[&before, &after, "--planned"]), moved);
    assert_eq!((moved.0, &moved.1["lost_in_all"]), (Some(0), &0.into()));
    let cases = [
        (["--move-cable", "leaf-1:5=spine-1:2"], "spine-1[2] is cabled to leaf-2[5]: name a port without a cable"),
        (["--move-cable", "spine-1:8=spine-2:8"], "spine-1[8] has no cable that could be moved"),
        (["--move-cable", "leaf-1:5"], "expected NODE:PORT=NODE:PORT"),
    ];
    cases.iter().for_each(|(arguments, part)| refused(&[&arguments[..], &[FABRIC]].concat(), 2, part));
    let twice = ["--move-cable", "leaf-1:5=spine-1:7", "--move-cable", "leaf-2:5=spine-1:7", FABRIC];
    refused(&twice, 2, "two cables are to be plugged in at spine-1[7]");
    // Two cables may change places.
    let (code, report) = json(&[
        "--move-cable",
        "leaf-1:5=spine-2:1",
        "--move-cable",
        "leaf-1:6=spine-1:1",
        "--planned",
        "--scheme",
        "auto",
        FABRIC,
    ]);
    assert_eq!((code, &report["lost_in_all"]), (Some(0), &0.into()));
}

#[test]
fn options_behind_a_time_name_what_happens_then() {
    let two = ["--remove-switch", "spine-1", "--at", "400", "--remove-link", "leaf-1:6", "--at", "draining"];
    let (code, report) = json(&[&two[..], &["--remove-host", "host-16 *", FABRIC]].concat());
    assert_eq!((code, &report["leaves"]), (Some(0), &serde_json::json!(["switch spine-1"])));
    let events: Vec<_> = report["events"].as_array().expect("two").iter().map(|event| &event["what"]).collect();
    assert_eq!(events, ["remove link leaf-1[6]", "remove host host-16 HCA-1"]);
    refused(&["--remove-switch", "spine-1", "--at", "4", FABRIC], 2, "no option behind it names what happens then");
    refused(&["--remove-root", "--at", "dozing", "--remove-link", "leaf-1:6", FABRIC], 2, "a state of the change");
}

#[test]
fn what_cannot_come_is_refused_with_a_reason() {
    let cases = [
        (["--add-link", "leaf-1:5=spine-1:8"], "leaf-1[5] is cabled to spine-1[1]: name a port without a cable"),
        (["--add-link", "spine-1:8"], "expected NODE:PORT=NODE:PORT"),
        (["--add-link", "spine-1:8=spine-1:8"], "cabled to itself"),
        (["--add-host", "h=spine-1:9"], "there is no port 9"),
        (["--add-host", "h=host-1 HCA-1:1"], "is cabled to leaf-1[1]"),
        (["--add-host", "spine-2=spine-1:8"], "a node has the name `spine-2` already"),
        (["--add-switch", "spine-5=LIKE:spine-1"], "leaf-1 has no free port for another switch like spine-1"),
        (["--add-switch", "spine-5=LIKE:host-1 HCA-1"], "there is nothing to imitate"),
    ];
    cases.iter().for_each(|(arguments, part)| refused(&[&arguments[..], &[FABRIC]].concat(), 2, part));
    let and_root = ["--remove-root", "--add-host", "h=spine-1:8", FABRIC];
    refused(&and_root, 2, "name the switch that leaves");
}

#[test]
fn two_captures_run_to_the_end_on_standard_devices() {
    let Captures { first, second, .. } = Captures::new();
    let files = Files::of(&[("first", &first), ("second", &second)]);
    let (first, second) = (files.text("first"), files.text("second"));
    let standard = ["--devices", "standard", "--planned", "--load", "0.0005", "--json", &first, &second];
    for scheme in [&["--scheme", "auto"][..], &["--scheme", "auto", "--lmc", "0"]] {
        let output = simulate(&[&standard[..], scheme].concat());
        let text = String::from_utf8_lossy(&output.stderr);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!((output.status.code(), &report["outcome"]), (Some(0), &"completed".into()), "{scheme:?}: {report}");
        assert_eq!(report["packets"]["lost_to_change"], 0, "{scheme:?}");
    }
}

#[test]
fn two_captures_make_the_change_that_names_make() {
    let fabric = bundled("fat-tree-4-2");
    let spines = ["spine-1", "spine-3"].map(|name| node(&fabric, name));
    let files = Files::of(&[("before", &fabric), ("after", &fabric.without_nodes(&spines))]);
    let (before, after) = (files.text("before"), files.text("after"));
    for departure in ["--sudden", "--planned"] {
        let named = json(&[&TWO_SPINES[..], &[departure, &before]].concat());
        assert_eq!(json(&[&before, &after, departure]), named, "{departure}");
        assert_eq!(named.0, Some(0), "{departure}");
    }
}

#[test]
fn tables_in_force_are_those_of_the_fabric_before() {
    let fabric = bundled("fat-tree-4-2");
    let spines = ["spine-1", "spine-3"].map(|name| node(&fabric, name));
    let files = Files::of(&[("whole", &fabric), ("less", &fabric.without_nodes(&spines))]);
    for (from, to) in [("whole", "less"), ("less", "whole")] {
        let folder = files.text(&format!("routed-{from}"));
        let mut route = std::process::Command::new(env!("CARGO_BIN_EXE_reconfig"));
        let routed = route.args(["route", &files.text(from), "--engine", "up-down", "-o", &folder]).output();
        assert!(routed.expect("the binary runs").status.success());
        let (routed, tables) = (format!("{folder}/fabric.json"), format!("{folder}/opensm.fdbs"));
        let (code, report) = json(&[&routed, &files.text(to), "--from-fdbs", &tables, "--scheme", "auto"]);
        assert_eq!((code, &report["engine"]), (Some(0), &"imported".into()), "{from} to {to}");
        assert_eq!((&report["proof"]["status"], &report["outcome"]), (&"proved".into(), &"completed".into()));
    }
}

#[test]
fn changes_that_cannot_be_meant_or_made_are_refused_with_a_reason() {
    let Captures { whole, first, .. } = Captures::new();
    let files = Files::of(&[("whole", &whole), ("first", &first)]);
    let [whole, first] = ["whole", "first"].map(|name| files.text(name));
    refused(&["--remove-switch", "spine-1", "--remove-switch", "spin-2", FABRIC], 2, "did you mean spine-2?");
    refused(&["--remove-switch", "spine-1", "--remove-link", "spine-9:1", FABRIC], 2, "no node has the name `spine-9`");
    refused(&["--remove-switch", "nobody-*", FABRIC], 2, "no node has the name `nobody-*`");
    refused(&["--remove-host", "spine-1", FABRIC], 2, "spine-1 is no host: it is a switch (--remove-switch)");
    let none =
        "none of the 8 nodes that match `host-1*` is a switch, host-1 HCA-1 for one: it is a host (--remove-host)";
    refused(&["--remove-switch", "host-1*", FABRIC], 2, none);
    refused(&["--remove-switch", "host-1 HCA-1", FABRIC], 2, "host-1 HCA-1 is no switch: it is a host");
    refused(&["--remove-link", "spine-9:*", FABRIC], 2, "no node has the name `spine-9`");
    refused(&["--remove-chassis", "0x1", FABRIC], 2, "no node has the system image GUID `0x1`");
    refused(&["--remove-chassis", "spine-1", FABRIC], 2, "the one of the node of that name is 0x");
    refused(&["--remove-switch", "spine-1", &whole, &first], 2, "cannot be used with");
    refused(&["--remove-root", "--remove-switch", "spine-2", "--steady", FABRIC], 2, "cannot be used with");
    refused(&[&whole, &whole], 2, "no node and no cable differs between the two fabrics");
    refused(&[&whole, "no-such-file"], 2, "cannot read no-such-file");
    refused(&["--remove-host", "host-1 HCA-1", "--sm", "host-1 HCA-1", FABRIC], 2, "the change would cut it off");
}
