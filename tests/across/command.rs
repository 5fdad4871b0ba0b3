//! `reconfig audit` of a list of subnets.

use serde_json::Value;
use std::process::{Command, Output};

const CYCLE: &str = "fixtures/subnets/router-cycle.subnets.yaml";

fn audit(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.arg("audit").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("RECONFIG_LOG");
    let Output { status, stdout, stderr } = command.output().expect("the binary runs");
    (status.code(), String::from_utf8([stdout, stderr].concat()).expect("UTF-8"))
}

fn says(arguments: &[&str], code: i32, parts: &[&str]) {
    let (found, text) = audit(arguments);
    assert_eq!(found, Some(code), "{text}");
    parts.iter().for_each(|part| assert!(text.contains(part), "`{part}` is missing:\n{text}"));
}

#[test]
fn kept_levels_are_unsafe_and_raised_ones_safe() {
    let base = [CYCLE, "--engine", "up-down", "--vls", "4", "--router-sl"];
    let both = |rule| [&base[..], &[rule]].concat();
    let paths = "paths    all arrive: 240 ordered pairs";
    let cycle = "deadlock NOT EXCLUDED: 6 lanes can wait for each other in a cycle that leads 2 times through routers";
    says(
        &both("keep"),
        1,
        &[
            paths,
            "levels   kept at routers",
            cycle,
            "router \"router-2\": in from subnet-0",
            "UNSAFE: 6 lanes can wait",
        ],
    );
    says(
        &both("raise"),
        0,
        &[paths, "raised by a layer at each router: 2 layers", "no cycle", "safe: every path arrives"],
    );
}

#[test]
fn the_object_says_the_same() {
    let base = [CYCLE, "--engine", "up-down", "--vls", "4", "--json"];
    let object = |more: &[&str]| -> Value {
        let (_, text) = audit(&[&base[..], more].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let safe = object(&[]);
    assert_eq!((&safe["schema"], &safe["verdict"]), (&"reconfig.audit/1".into(), &"safe".into()));
    assert_eq!((&safe["whole"]["refusal"], &safe["whole"]["layers"]), (&Value::Null, &2.into()));
    assert_eq!((&safe["subnets"][1]["name"], &safe["whole"]["engine"]), (&"subnet-1".into(), &"up-down".into()));
    assert_eq!(safe["whole"]["paths"]["by_crossings"][1]["crossings"], 1);
    let refused = object(&["--router-sl", "keep"]);
    let refusal = &refused["whole"]["refusal"];
    assert_eq!((&refused["verdict"], &refusal["kind"]), (&"unsafe".into(), &"deadlock".into()));
    assert_eq!(refusal["evidence"]["links"].as_array().map(Vec::len), Some(6));
}

#[test]
fn what_cannot_be_audited_is_refused() {
    says(&[CYCLE, "--engine", "up-down", "--vls", "2"], 2, &["2 layers", "choose 4 data VLs"]);
    says(&["fixtures/subnets/two-subnets.subnets.yaml", "--engine", "dfsssp"], 2, &["subnet-0", "such as up-down"]);
    says(&[CYCLE, "--fdbs", "none"], 2, &["lists several subnets"]);
    says(
        &[CYCLE, "--engine", "up-down", "--hop-limit", "1"],
        1,
        &["LOST", "the hop limit is below what its routers take"],
    );
}

const PARTED: &str = "fixtures/subnets/partitions.subnets.yaml";
const FORGOTTEN: &str = "fixtures/subnets/forgotten-router.subnets.yaml";

/// Two blue groups of 14 hosts, and one router of two that is not blue in one subnet: a half of the ways between the
/// groups.
#[test]
fn a_router_that_was_forgotten_in_a_partition_is_named() {
    let base = ["--engine", "up-down"];
    let parted = "P_Keys   1 456 ordered pairs share no partition, and have no path; ports of routers";
    let comes_in = "subnet-1:router-2[2] does not let P_Key 0x8020 in: it is no full member of that partition";
    let goes_out = "subnet-1:router-2[2] does not let P_Key 0x8020 out: it is no full member of that partition";
    says(
        &[&[PARTED], &base[..]].concat(),
        0,
        &["paths    all arrive: 2 576 ordered pairs", parted, "look at what comes in and goes out"],
    );
    let told = "UNSAFE: 392 of 2 576 pairs of hosts lose paths at routers; no deadlock is possible";
    says(&[&[FORGOTTEN], &base[..]].concat(), 1, &["LOST: of 392 pairs of 2 576", comes_in, goes_out, told]);
    for (way, pairs, told) in [("in", "196", comes_in), ("out", "196", goes_out)] {
        let lost = format!("LOST: of {pairs} pairs of 2 576");
        says(&[&[FORGOTTEN], &base[..], &["--part-enforce", way]].concat(), 1, &[&lost, told]);
    }
    says(&[&[FORGOTTEN], &base[..], &["--part-enforce", "off"]].concat(), 0, &[parted, "do not look at them", "safe"]);
    let (_, text) = audit(&[&[FORGOTTEN], &base[..], &["--json"]].concat());
    let object: Value = serde_json::from_str(&text).expect("JSON");
    let faults = object["whole"]["paths"]["faults"].as_array().expect("faults");
    assert_eq!(
        (faults.len(), &faults[0]["why"]["kind"]),
        (2, &"partition".into()),
        "one for each way, not for each pair"
    );
    assert_eq!((&object["whole"]["paths"]["parted"], &object["whole"]["part_enforce"]), (&1456.into(), &"both".into()));
}

#[test]
fn without_partitions_nothing_is_told_of_them() {
    let two = "fixtures/subnets/two-subnets.subnets.yaml";
    let (_, text) = audit(&[two, "--engine", "up-down"]);
    assert!(!text.contains("P_Keys"), "{text}");
    let (_, json) = audit(&[two, "--engine", "up-down", "--json"]);
    assert!(!json.contains("parted") && !json.contains("part_enforce"), "{json}");
    says(&[two, "--engine", "up-down", "--part-enforce", "both"], 0, &["P_Keys   0 ordered pairs share no partition"]);
    says(&[two, "--part-enforce", "both"], 2, &["--engine"]);
    says(&[two, "--engine", "up-down", "--part-enforce", "on"], 2, &["`on` is no way to enforce partitions"]);
}

#[test]
fn several_subnets_are_routed_into_folders_of_their_names() {
    let desk = tempfile::tempdir().expect("a folder");
    let out = desk.path().join("routed");
    let folder = out.to_str().expect("UTF-8");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
        command.arg("route").arg(CYCLE).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
        let Output { status, stdout, stderr } = command.env_remove("RECONFIG_LOG").output().expect("the binary runs");
        (status.code(), String::from_utf8([stdout, stderr].concat()).expect("UTF-8"))
    };
    let (code, text) = run(&["-o", folder]);
    assert!(code == Some(0) && text.contains("subnet subnet-0") && text.contains("subnet subnet-1"), "{text}");
    for file in ["opensm-lfts.dump", "fabric.json"] {
        let texts = ["subnet-0", "subnet-1"].map(|name| std::fs::read_to_string(out.join(name).join(file)));
        let [first, second] = texts.map(|text| text.expect("written"));
        assert_ne!(first, second, "{file}");
    }
    for (asked, words) in [
        (&["--root", "switch-0"][..], "--root: not for a list of several subnets; name one of its files"),
        (&["--lfts", "x"], "a file by its name"),
    ] {
        let (code, text) = run(asked);
        assert!(code == Some(2) && text.contains(words), "{text}");
    }
    // What is remarked on standard error, that LIDs are numbered anew, follows it.
    let text = run(&["--json"]).1;
    assert!(text.contains("ports have other LIDs here than in the capture"), "{text}");
    let mut objects = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let object = objects.next().expect("an object").expect("JSON");
    assert_eq!((&object["schema"], &object["safe"]), (&"reconfig.route/1".into(), &true.into()));
    let second = &object["subnets"][1];
    assert_eq!((&second["name"], &second["engine"]), (&"subnet-1".into(), &"up-down".into()));
}
