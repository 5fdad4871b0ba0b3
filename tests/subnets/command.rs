//! `reconfig fabric` about several subnets, as a user meets it.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const TWO: &str = "fixtures/subnets/two-subnets.subnets.yaml";

pub(super) fn reconfig(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.args(arguments).env_remove("RECONFIG_LOG").stdin(Stdio::null()).current_dir(env!("CARGO_MANIFEST_DIR"));
    command.output().expect("it runs")
}

/// Standard output of a command that must succeed and say nothing else.
fn done(arguments: &[&str]) -> String {
    let output = reconfig(arguments);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), told.as_str()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Exit code and standard error of a command that must print nothing.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = reconfig(arguments);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{arguments:?}");
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_list_is_shown_with_its_routers() {
    let shown = done(&["fabric", "show", TWO]);
    for part in [
        "subnets      2, all joined",
        "subnet-0     prefix 0xfec0000000000000",
        "16 switches, 32 ports of hosts, 2 ports of routers",
        "LIDs 1 to 50",
        "routers      2",
        "router-1     0x0200000002000000",
        "port 2 in subnet-1 at switch-",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/SUBNETS.md")).expect("a page");
    assert!(page.contains(&shown), "docs/SUBNETS.md shows what is printed:\n{shown}");
    let json: Value = serde_json::from_str(&done(&["fabric", "show", TWO, "--json"])).expect("JSON");
    assert_eq!(json["schema"], "reconfig.fabric-summary/1");
    assert_eq!(json["subnets"][1]["fabric"]["switches"], 16);
    assert_eq!(json["routers"][1]["ports"][0]["subnet"], "subnet-0");
}

/// A name may have 64 letters; what stands beside names stays one column.
#[test]
fn columns_stand_beside_names_of_any_length() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("two.subnets.yaml");
    let fixture = |name: &str| format!("{}/fixtures/subnets/{name}", env!("CARGO_MANIFEST_DIR"));
    let yaml = std::fs::read_to_string(fixture("two-subnets.subnets.yaml")).expect("a list");
    let yaml = yaml.replace("name: subnet-0", "name: the-subnet-of-the-western-hall");
    std::fs::write(&list, yaml.replace("fabric: ", &format!("fabric: {}", fixture("")))).expect("a list");
    let shown = done(&["fabric", "show", text(&list)]);
    let values = ["2, all joined", "prefix 0x", "16 switches, ", "32 links", "0x0200", "port "];
    let column = |line: &str| values.iter().find_map(|value| line.find(&format!(" {value}")));
    let columns: std::collections::BTreeSet<_> = shown.lines().filter_map(column).collect();
    assert_eq!(columns, [30].into(), "{shown}");
}

#[test]
fn what_is_generated_is_shown_converted_and_the_same_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (list, copy) = (folder.path().join("all.subnets.yaml"), folder.path().join("copy.subnets.yaml"));
    let topology = "random-regular:6,3,1";
    let make = ["fabric", "generate", topology, "--subnets", "3", "--join", "hub", "--routers", "2", "--seed", "4"];
    assert_eq!(done(&[&make[..], &["-o", text(&list)]].concat()), "");
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = entries.map(|name| name.into_string().expect("UTF-8")).collect();
        names.sort();
        names
    };
    let captures = [0, 1, 2].map(|rank| format!("all.subnet-{rank}.ibnetdiscover"));
    assert_eq!(names(folder.path()), [&captures[..], &["all.subnets.yaml".to_string()]].concat());
    assert_eq!(done(&["fabric", "convert", text(&list), "--to", "json", "-o", text(&copy)]), "");
    assert!(folder.path().join("copy.subnet-2.json").is_file());
    assert_eq!(done(&["fabric", "show", text(&list)]), done(&["fabric", "show", text(&copy)]));
    let capture = folder.path().join(&captures[0]);
    assert!(done(&["fabric", "show", text(&capture)]).contains("routers      2"), "a capture alone is a fabric");
}

#[test]
fn a_drawing_has_a_cluster_a_subnet_and_each_router_once() {
    let drawn = done(&["fabric", "convert", TWO, "--to", "dot"]);
    assert_eq!(drawn.matches("subgraph \"cluster_subnet-").count(), 2, "{drawn}");
    assert_eq!(drawn.matches("shape=diamond").count(), 2);
    assert_eq!(drawn.matches("shape=box").count(), 32);
    assert_eq!(drawn.matches(" -- \"router/").count() + drawn.matches("\"router/0x0200000002000000\" -- ").count(), 4);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("two.dot");
    done(&["fabric", "convert", TWO, "-o", text(&file)]);
    assert_eq!(std::fs::read_to_string(&file).expect("drawn"), drawn);
}

#[test]
fn partitions_are_shown_and_carried_along() {
    let list = "fixtures/subnets/forgotten-router.subnets.yaml";
    let shown = done(&["fabric", "show", list]);
    let lines: Vec<&str> = shown.lines().filter_map(|line| line.trim().strip_prefix("partition ")).collect();
    assert_eq!(lines.len(), 8, "{shown}");
    let blue = ["2 of routers", "1 of routers"]
        .map(|routers| format!("Blue 0x0020: 14 ports of hosts and {routers} are full members, 0 and 0 limited ones"));
    assert_eq!([lines[2], lines[6]], [&blue[0], &blue[1]]);
    let json: Value = serde_json::from_str(&done(&["fabric", "show", list, "--json"])).expect("JSON");
    let storage = &json["subnets"][1]["partitions"][3];
    assert_eq!(
        (&storage["name"], &storage["key"], &storage["limited_hosts"]),
        (&"Storage".into(), &0x30.into(), &28.into())
    );
    assert!(!done(&["fabric", "show", TWO, "--json"]).contains("partitions"), "where there are none nothing is told");
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.subnets.yaml");
    done(&["fabric", "convert", list, "--to", "json", "-o", text(&copy)]);
    assert_eq!(done(&["fabric", "show", text(&copy)]), shown);
    let files = ["copy.subnet-1.partitions.conf", "forgotten-router.subnet-1.partitions.conf"];
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/subnets");
    let [written, read] = [folder.path().join(files[0]), here.join(files[1])].map(std::fs::read);
    assert_eq!(written.expect("written"), read.expect("bundled"), "comments and all");
}

#[test]
fn an_audit_of_a_list_asks_for_an_engine() {
    for arguments in [&["audit", TWO][..], &["audit", TWO, "--fdbs", "fixtures/dumps/ring-3.fdbs"]] {
        let (code, told) = refused(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {told}");
        assert!(
            told.contains("two-subnets.subnets.yaml lists several subnets: name an engine to route them"),
            "{told}"
        );
    }
}

#[test]
fn a_list_is_refused_where_one_fabric_is_wanted() {
    for arguments in [&["fabric", "diff", TWO, TWO][..], &["plan", TWO, TWO], &["lids", TWO], &["serve", TWO]] {
        let (code, told) = refused(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {told}");
        assert!(
            told.contains("two-subnets.subnets.yaml lists several subnets, but one fabric is needed here"),
            "{told}"
        );
    }
}

#[test]
fn wrong_usage_is_told() {
    let ring = ["fabric", "generate", "ring:4"];
    for (arguments, part) in [
        (&["--subnets", "2"][..], "write a list of them (-o NAME.subnets.yaml), or draw them (--to dot)"),
        (&["--subnets", "2", "-o", "two.ibnetdiscover"], "several subnets need several files"),
        (&["--subnets", "2", "--json"], "several subnets need several files"),
        (&["--subnets", "2", "--to", "dot", "-o", "two.subnets.yaml"], "name a .dot file"),
        (&["--subnets", "1", "-o", "one.subnets.yaml"], "a line has 2 to 64"),
        (&["--subnets", "2", "--join", "tree", "-o", "two.subnets.yaml"], "`tree` is no shape"),
        (&["--join", "ring"], "--subnets <COUNT>"),
        (&["--routers", "2"], "--subnets <COUNT>"),
        (&["-o", "one.subnets.yaml"], "names no format"),
    ] {
        let (code, told) = refused(&[&ring[..], arguments].concat());
        assert_eq!(code, Some(2), "{arguments:?}: {told}");
        assert!(told.contains(part), "{arguments:?}: {told}");
    }
    let (code, told) = refused(&["fabric", "generate", "ring:4", "--subnets", "2", "-o", "/no/such/two.subnets.yaml"]);
    assert_eq!(code, Some(3), "{told}");
}

#[test]
fn faults_name_the_file_that_has_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("all.subnets.yaml");
    std::fs::write(&list, "subnets:\n  - {name: a, fabric: a.net}\n").expect("writable");
    let (code, told) = refused(&["fabric", "show", text(&list)]);
    assert_eq!(code, Some(2));
    assert!(told.contains("cannot read") && told.contains("all.subnets.yaml:2:23"), "{told}");
    std::fs::write(folder.path().join("a.net"), "Switch 4 \"s\"\n[9] \"h\"[1]\n").expect("writable");
    let (code, told) = refused(&["fabric", "show", text(&list)]);
    assert_eq!(code, Some(2));
    assert!(told.contains("a.net:2:"), "{told}");
}
