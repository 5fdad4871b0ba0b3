//! `reconfig audit` as a user meets it.

use super::fixture;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn reconfig(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.args(arguments).env_remove("RECONFIG_LOG").stdin(Stdio::null());
    command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap()
}

fn text_of(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

const GHOST: &str = "fixtures/topologies/ghost-cycle.ibnetdiscover";
const TWO: &str = "fixtures/subnets/two-subnets.subnets.yaml";
const OLD: &str = "fixtures/dumps/ghost-cycle-root-1.fdbs";
const NEW: &str = "fixtures/dumps/ghost-cycle-root-2.fdbs";

#[test]
fn a_safe_routing_is_answered_with_yes() {
    let output = reconfig(&["audit", GHOST, "--fdbs", OLD]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert!(stdout(&output).contains("8 switches, 40 CAs, 56 links"), "{}", stdout(&output));
    assert!(stdout(&output).trim_end().ends_with("every pair is connected"), "{}", stdout(&output));
}

#[test]
fn options_of_lists_go_with_lists() {
    let options: [&[&str]; 3] = [&["--hop-limit", "3"], &["--router-sl", "keep"], &["--part-enforce", "in"]];
    for given in options {
        for tables in [&["--fdbs", OLD][..], &["--engine", "up-down"], &[]] {
            let output = reconfig(&[&["audit", GHOST], tables, given].concat());
            let part = format!("{} is for a list of several subnets", given[0]);
            assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""), "{given:?}");
            assert!(stderr(&output).contains(&part), "{given:?}: {}", stderr(&output));
        }
    }
    for of_dumps in ["--after", "--after-sl2vl", "--after-path-sl"] {
        let output = reconfig(&["audit", TWO, "--engine", "up-down", of_dumps, OLD]);
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""), "{of_dumps}");
        assert!(stderr(&output).contains("cannot be used with"), "{of_dumps}: {}", stderr(&output));
    }
}

/// One fabric is a list of one: an engine routes it where no dumps are named.
#[test]
fn one_fabric_is_routed_and_judged_as_a_list_of_one_is() {
    let output = reconfig(&["audit", GHOST, "--engine", "up-down"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    let text = stdout(&output);
    assert!(text.contains("40 hosts") && !text.contains("levels "), "{text}");
    assert!(text.trim_end().ends_with("safe: every path arrives, and no deadlock is possible"), "{text}");
    let json = |more: &[&str]| -> Value {
        let output = reconfig(&[&["audit", GHOST, "--json", "--engine"], more].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)))
    };
    let report = json(&["up-down"]);
    assert_eq!((&report["verdict"], report["whole"]["routers"].as_u64()), (&"safe".into(), Some(0)));
    assert_eq!(report["whole"]["paths"]["by_crossings"][0]["pairs"], 1560);
    // The option's name of old is taken, too.
    assert_eq!(json(&["lash", "--seed", "3"]), json(&["lash", "--engine-seed", "3"]));
    let refused = reconfig(&["audit", GHOST, "--fdbs", OLD, "--engine-seed", "1"]);
    assert_eq!((refused.status.code(), stderr(&refused).contains("--engine ENGINE")), (Some(2), true));

    let folder = tempfile::tempdir().unwrap();
    let silent = folder.path().join("silent.ibnetdiscover");
    let message = "ibwarn: [7] _do_madrpc: send failed; DR path slid 0; dlid 0; 0,1,7: timed out\n";
    std::fs::write(&silent, message.to_string() + &text_of(GHOST)).unwrap();
    let output = reconfig(&["audit", silent.to_str().unwrap(), "--engine", "up-down"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("NOT KNOWN: no fault in what the capture shows"), "{}", stdout(&output));
}

/// What passes a switch without a table is not known. It is neither called lost, nor taken for safe.
#[test]
fn tables_of_some_switches_are_refused_and_judged_as_far_as_they_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let whole = text_of(OLD);
    let (head, rest) = whole.split_once("dump_ucast_routes: Switch").expect("a switch");
    let some = folder.path().join("some.fdbs");
    let one = rest.split("dump_ucast_routes: Switch").next().unwrap();
    std::fs::write(&some, format!("{head}dump_ucast_routes: Switch{one}")).unwrap();
    let some = some.to_str().unwrap();
    let refused = reconfig(&["audit", GHOST, "--fdbs", some]);
    assert_eq!((refused.status.code(), stdout(&refused)), (Some(2), ""));
    let told = stderr(&refused);
    assert!(told.contains("7 of 8 switches have no forwarding table: ") && told.contains("--partial"), "{told}");
    assert_eq!(told.matches(", ").count(), 7, "each of the seven is named: {told}");
    let imported = reconfig(&["route", GHOST, "--from-fdbs", some]);
    assert_eq!((imported.status.code(), stdout(&imported)), (Some(2), ""));
    assert!(stderr(&imported).contains("7 of 8 switches have no forwarding table: "), "{}", stderr(&imported));
    let partial = reconfig(&["audit", GHOST, "--fdbs", some, "--partial", "--json"]);
    assert_eq!(partial.status.code(), Some(1), "not known is not safe: {}", stderr(&partial));
    let report: Value = serde_json::from_slice(&partial.stdout).unwrap();
    let found = &report["subnets"][0]["tables"];
    assert_eq!((&report["verdict"], &found["faults"]), (&"unknown".into(), &Value::Array(Vec::new())));
    let counts = ["black_holes", "unreachable_pairs"].map(|kind| found[kind]["count"].as_u64().unwrap());
    assert_eq!(counts, [0, 0]);
    // Five hosts at the known switch reach each other, and nobody else is known to.
    assert_eq!((found["pairs"].as_u64(), found["unknown_pairs"]["count"].as_u64()), (Some(1560), Some(1540)));
    assert_eq!(found["unknown_pairs"]["first"][0]["why"], "not-known");
    let text = reconfig(&["audit", GHOST, "--fdbs", some, "--partial"]);
    assert!(stdout(&text).trim_end().ends_with("some pairs pass switches without a known table"), "{}", stdout(&text));
    assert!(stdout(&text).contains(" pairs that are not known: their route"), "{}", stdout(&text));
}

/// Of a capture in which a device did not answer nobody knows what is attached to that device.
#[test]
fn a_capture_with_silent_devices_is_safe_only_if_that_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let silent = folder.path().join("silent.ibnetdiscover");
    let message = "ibwarn: [7] _do_madrpc: send failed; DR path slid 0; dlid 0; 0,1,7: timed out\n";
    std::fs::write(&silent, message.to_string() + &text_of(GHOST)).unwrap();
    let silent = silent.to_str().unwrap();
    let audit = |file: &str, more: &[&str]| reconfig(&[&["audit", file, "--fdbs", OLD][..], more].concat());
    let json = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).expect("an object");
    for more in [&[][..], &["--after-fdbs", OLD], &["--after-fdbs", OLD, "--after", GHOST]] {
        let (whole, lacking) = (audit(GHOST, more), audit(silent, more));
        assert_eq!((whole.status.code(), lacking.status.code()), (Some(0), Some(1)), "{more:?}");
        let last = stdout(&lacking).lines().last().unwrap_or_default();
        let told = "NOT KNOWN: no fault in what the capture shows, but 1 device did not answer the tool: ";
        assert!(last.starts_with(told) && last.ends_with("(--partial)"), "{more:?}: {last}");
        let report = json(&audit(silent, &[more, &["--json"]].concat()));
        assert_eq!(
            (&report["verdict"], &report["subnets"][0]["complete"]),
            (&"unknown".into(), &false.into()),
            "{more:?}"
        );
        assert_eq!(report["subnets"][0]["unanswered"], 1, "{more:?}");
        let report = json(&audit(GHOST, &[more, &["--json"]].concat()));
        assert_eq!((&report["verdict"], &report["subnets"][0]["complete"]), (&"safe".into(), &true.into()), "{more:?}");
        let accepted = audit(silent, &[more, &["--partial"]].concat());
        let last = stdout(&accepted).lines().last().unwrap_or_default();
        assert!(last.starts_with("safe") && last.ends_with("1 device did not answer the tool"), "{more:?}: {last}");
        assert_eq!(accepted.status.code(), Some(0), "{more:?}");
        let report = json(&audit(silent, &[more, &["--partial", "--json"]].concat()));
        assert_eq!(
            (&report["verdict"], &report["subnets"][0]["complete"]),
            (&"safe".into(), &false.into()),
            "{more:?}"
        );
    }
}

/// The engines that the refusal names can route subnets that are joined.
#[test]
fn engines_that_a_refusal_names_can_do_it() {
    let output = reconfig(&["audit", TWO, "--engine", "multiple-roots", "--lmc", "2"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let (_, named) = stderr(&output).split_once("such as ").expect("names");
    let named: Vec<&str> = named.trim().split([',', ' ']).filter(|word| !["", "or"].contains(word)).collect();
    assert_eq!(named, ["up-down", "fully-explicit", "fat-tree", "min-hop"]);
    for engine in named {
        let output = reconfig(&["audit", TWO, "--engine", engine, "--lmc", "3"]);
        assert!(!stderr(&output).contains("who sends by which path"), "{engine}: {}", stderr(&output));
    }
}

/// A subnet of a list that cannot be routed is neither safe nor unsafe, and no wrong usage.
#[test]
fn a_subnet_that_cannot_be_routed_is_told_by_a_code_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("rings.subnets.yaml");
    let made = reconfig(&["fabric", "generate", "ring:8,1", "--subnets", "2", "-o", list.to_str().unwrap()]);
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    let output = reconfig(&["audit", list.to_str().unwrap(), "--engine", "lash", "--vls", "1"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(3), ""), "{}", stderr(&output));
    assert!(stderr(&output).contains("subnet subnet-0"), "{}", stderr(&output));
}

#[test]
fn an_update_that_can_deadlock_is_answered_with_no_and_its_cycle() {
    let folder = tempfile::tempdir().unwrap();
    let dot = folder.path().join("cycle.dot");
    let dot = dot.to_str().unwrap();
    let output = reconfig(&["audit", GHOST, "--fdbs", OLD, "--after-fdbs", NEW, "--json", "--dot", dot]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["schema"], &report["verdict"]), (&"reconfig.audit/1".into(), &"unsafe".into()));
    let (found, transition) = (&report["subnets"][0]["tables"], &report["subnets"][0]["transition"]);
    let verdicts = [&transition["before"]["verdict"], &report["verdict"], &transition["after"]["verdict"]];
    assert_eq!(verdicts, ["safe", "unsafe", "safe"]);
    assert_eq!(transition["before"]["credit_loops"]["cycle"], Value::Null, "none before the update");
    let cycle = found["credit_loops"]["cycle"].as_array().expect("a witness");
    assert_eq!(cycle.len(), 4);
    let text = std::fs::read_to_string(dot).unwrap();
    assert!(text.starts_with("digraph credit_loop {") && text.trim_end().ends_with('}'), "{text}");
    assert_eq!(text.matches(" -> ").count(), cycle.len());
    for dependency in cycle {
        assert!(text.contains(dependency["switch"]["name"].as_str().unwrap()), "{text}");
    }
}

#[test]
fn a_report_has_every_field_that_programs_rely_on() {
    let output = reconfig(&["audit", GHOST, "--fdbs", OLD, "--json", "--switches", "--vls", "4"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let assert_fields = |object: &Value, expected: &[&str]| {
        let fields: BTreeSet<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, expected.iter().copied().collect());
    };
    assert_fields(&report, &["schema", "verdict", "subnets", "whole"]);
    assert_eq!((report["whole"].is_null(), report["subnets"].as_array().map(Vec::len)), (true, Some(1)));
    let subnet = &report["subnets"][0];
    let captured = ["complete", "missing", "unanswered"];
    let own = ["name", "prefix", "switches", "hosts", "tables", "transition"];
    assert_fields(subnet, &[&own[..], &captured].concat());
    let told = serde_json::json!([subnet["name"], subnet["prefix"], subnet["switches"], subnet["hosts"]]);
    assert_eq!(told, serde_json::json!(["subnet", "0xfe80000000000000", 8, 40]));
    let found = &subnet["tables"];
    let (faults, size) =
        (["black_holes", "wrong_arrivals", "unreachable_pairs"], ["lanes", "channels", "dependencies"]);
    let others = ["faults", "fabric", "ends", "credit_loops", "loops", "unknown_pairs", "pairs", "notes"];
    assert_fields(found, &[&faults[..], &size, &others].concat());
    assert_eq!((&found["fabric"]["switches"], &found["pairs"]), (&8.into(), &(48 * 47).into()));
    assert_eq!(found["ends"], "end-ports-and-switches");
}

#[test]
fn wrong_usage_and_unreadable_dumps_are_told() {
    let ring = "fixtures/dumps/ring-3.ibnetdiscover";
    let cases: &[(&[&str], &str)] = &[
        (&["audit", ring], "name a file with --fdbs or --lfts"),
        (&["audit", ring, "--fdbs", "a", "--lfts", "b"], "cannot be used with"),
        (&["audit", ring, "--fdbs", "no-such-file"], "cannot read no-such-file"),
        (&["audit", ring, "--fdbs", OLD], "the fabric has no device with GUID"),
        (&["audit", ring, "--fdbs", "fixtures/dumps/ring-3.lfts.dump"], "this is a dump of LFTs"),
        (&["audit", ring, "--fdbs", "fixtures/dumps/ring-3.fdbs", "--after", ring], "--after-fdbs"),
        (&["audit", ring, "--fdbs", "fixtures/dumps/ring-3.fdbs", "--vls", "16"], "16 is not in 1..=15"),
        (&["audit", ring, "--fdbs", "fixtures/dumps/ring-3.fdbs", "--lmc", "2"], "LMC 2 does not fit the LIDs"),
    ];
    for &(arguments, part) in cases {
        let output = reconfig(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

#[test]
fn the_transcript_in_the_tour_is_what_is_printed() {
    let tour = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/TOUR.md")).unwrap();
    let told = tour.split("<!-- audit transcript -->\n```text\n").nth(1).expect("the transcript");
    let told = told.split("```").next().unwrap();
    let output = reconfig(&["audit", GHOST, "--fdbs", OLD, "--after-fdbs", NEW]);
    assert_eq!(told, stdout(&output));
    assert!(fixture("dumps/README.md").is_file());
}
