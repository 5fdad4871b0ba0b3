//! `reconfig audit` as a user meets it.

use super::fixture;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn reconfig(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.args(arguments).env_remove("RECONFIG_LOG").stdin(Stdio::null());
    command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

const GHOST: &str = "fixtures/topologies/ghost-cycle.ibnetdiscover";
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
fn an_update_that_can_deadlock_is_answered_with_no_and_its_cycle() {
    let folder = tempfile::tempdir().unwrap();
    let dot = folder.path().join("cycle.dot");
    let dot = dot.to_str().unwrap();
    let output = reconfig(&["audit", GHOST, "--fdbs", OLD, "--after-fdbs", NEW, "--json", "--dot", dot]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["schema"], &report["verdict"]), (&"reconfig.audit/1".into(), &"unsafe".into()));
    let transition = &report["transition"];
    let verdicts = [&transition["before"]["verdict"], &report["verdict"], &transition["after"]["verdict"]];
    assert_eq!(verdicts, ["safe", "unsafe", "safe"]);
    assert_eq!(transition["before"]["credit_loops"]["cycle"], Value::Null, "none before the update");
    let cycle = report["credit_loops"]["cycle"].as_array().expect("a witness");
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
    let fields: Vec<&String> = report.as_object().unwrap().keys().collect();
    let expected = [
        "schema",
        "verdict",
        "faults",
        "fabric",
        "ends",
        "credit_loops",
        "loops",
        "black_holes",
        "wrong_arrivals",
        "unreachable_pairs",
        "pairs",
        "lanes",
        "channels",
        "dependencies",
        "notes",
        "transition",
    ];
    expected.iter().for_each(|field| assert!(fields.iter().any(|known| known == field), "{field} among {fields:?}"));
    assert_eq!(fields.len(), expected.len(), "{fields:?}");
    assert_eq!(report["fabric"]["switches"], 8);
    assert_eq!(report["ends"], "end-ports-and-switches");
    assert_eq!(report["pairs"], 48 * 47);
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
fn the_transcript_in_the_readme_is_what_is_printed() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let told = readme.split("<!-- audit transcript -->\n```text\n").nth(1).expect("the transcript");
    let told = told.split("```").next().unwrap();
    let output = reconfig(&["audit", GHOST, "--fdbs", OLD, "--after-fdbs", NEW]);
    assert_eq!(told, stdout(&output));
    assert!(fixture("dumps/README.md").is_file());
}
