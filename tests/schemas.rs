//! The JSON Schemas in docs/schemas: `reconfig schema` prints them, and what commands print keeps to them.

use crate::support::schema::errors;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Commands with the schema that their JSON keeps to, refusals and several subnets among them.
const PRINTED: [(&str, &str); 22] = [
    ("audit", "audit dumps/torus-minhop.ibnetdiscover --lfts dumps/torus-minhop.dump_fts"),
    (
        "audit",
        "audit topologies/ghost-cycle.ibnetdiscover --fdbs dumps/ghost-cycle-root-1.fdbs --after-fdbs dumps/ghost-cycle-root-2.fdbs",
    ),
    ("audit", "audit subnets/router-cycle.subnets.yaml --engine up-down"),
    (
        "fabric-diff",
        "fabric diff dumps/fat-tree-spine-2-before.ibnetdiscover dumps/fat-tree-spine-2-after.ibnetdiscover",
    ),
    ("fabric-show", "fabric show topologies/fat-tree-4-2.ibnetdiscover"),
    ("fabric-show", "fabric show subnets/two-subnets.subnets.yaml"),
    ("lids", "lids topologies/seed-16.ibnetdiscover --engine up-down-random --compare"),
    ("plan", "plan dumps/fat-tree-spine-2-before.ibnetdiscover dumps/fat-tree-spine-2-after.ibnetdiscover"),
    ("plan", "plan topologies/ring-8.ibnetdiscover topologies/ring-8.ibnetdiscover"),
    ("plan", "plan topologies/ghost-cycle.ibnetdiscover --remove-switch switch-1 --scheme in-place"),
    ("reproduce", "reproduce seed-002 --table 1 --fabrics 1"),
    ("route", "route topologies/torus-4x4.ibnetdiscover --engine min-hop"),
    ("route", "route subnets/two-subnets.subnets.yaml --engine up-down"),
    ("route-list", "route --list"),
    ("simulate", "simulate --remove-root topologies/fat-tree-4-2.ibnetdiscover"),
    ("simulate", "simulate --remove-root --scheme in-place --adversary topologies/ghost-cycle.ibnetdiscover"),
    ("simulate", "simulate --steady topologies/ring-8.ibnetdiscover"),
    ("simulate", "simulate --remove-root --path-cache never topologies/fat-tree-4-2.ibnetdiscover"),
    ("simulate", "simulate --steady subnets/two-subnets.subnets.yaml"),
    ("simulate-accounting", "simulate --remove-root --accounting iba topologies/fat-tree-4-2.ibnetdiscover"),
    ("simulate-compare", "simulate --remove-root --compare --load 0.05 topologies/fat-tree-4-2.ibnetdiscover"),
    ("what-if", "what-if topologies/fat-tree-4-2.ibnetdiscover"),
];

fn reconfig<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"));
    command.args(arguments).env_remove("RECONFIG_LOG").stdin(Stdio::null()).output().expect("the binary runs")
}

fn value(output: &Output) -> Value {
    let value = serde_json::from_slice(&output.stdout);
    value.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schemas")
}

fn names() -> Vec<String> {
    String::from_utf8(reconfig(["schema"]).stdout).expect("text").lines().map(str::to_string).collect()
}

/// That they are what the types make is tested where the types are (src/cli/schema.rs).
#[test]
fn every_file_is_printed_by_its_name() {
    for name in names() {
        let (kept, printed) =
            (std::fs::read(folder().join(format!("{name}.json"))), reconfig(["schema", &name]).stdout);
        assert!(kept.expect("a file") == printed, "{name}.json is not what `reconfig schema {name}` prints");
    }
    let files = std::fs::read_dir(folder()).expect("docs/schemas").map(|file| file.expect("a file").file_name());
    let files: BTreeSet<String> = files.map(|name| name.to_string_lossy().replace(".json", "")).collect();
    assert_eq!(files, names().into_iter().collect(), "a file without a schema");
}

#[test]
fn what_commands_print_keeps_to_the_schemas() {
    for (name, line) in PRINTED {
        let schema = value(&reconfig(["schema", name]));
        let printed = value(&reconfig(line.split(' ').chain(["--json"])));
        let errors = errors(&schema, &printed);
        assert!(errors.is_empty(), "{line}\n{}", errors.join("\n"));
    }
}

/// A plan, judged from its file.
#[test]
fn what_check_prints_keeps_to_its_schema() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = folder.path().join("change.plan");
    let plan = plan.to_str().expect("a path");
    let [before, after] = ["before", "after"].map(|when| format!("dumps/fat-tree-spine-2-{when}.ibnetdiscover"));
    assert!(reconfig(["plan", &before, &after, "-o", plan]).status.success());
    let printed = value(&reconfig(["check", plan, "--json"]));
    assert_eq!(errors(&value(&reconfig(["schema", "check"])), &printed), [""; 0]);
}

#[test]
fn what_stands_beside_csv_files_keeps_to_its_schema() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().to_str().expect("a path");
    let run = reconfig(["simulate", "--remove-root", "topologies/fat-tree-4-2.ibnetdiscover", "--csv", to]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let written = std::fs::read_to_string(folder.path().join("run.json")).expect("a file");
    let written = serde_json::from_str(&written).expect("JSON");
    assert_eq!(errors(&value(&reconfig(["schema", "simulate-run"])), &written), [""; 0]);
}

/// The schemas can refuse: a field that is missing, or of another type, is told with its place.
#[test]
fn a_report_without_its_verdict_is_refused() {
    let schema = value(&reconfig(["schema", "simulate"]));
    let mut report = value(&reconfig(["simulate", "--remove-root", "topologies/fat-tree-4-2.ibnetdiscover", "--json"]));
    report["packets"]["delivered"] = "many".into();
    report.as_object_mut().expect("an object").remove("outcome");
    let errors = errors(&schema, &report).join("\n");
    assert!(errors.contains("/packets/delivered") && errors.contains("outcome"), "{errors}");
}

#[test]
fn a_schema_that_does_not_exist_is_refused_with_those_that_do() {
    let output = reconfig(["schema", "simulat"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("choose one of audit, campaign"));
}
