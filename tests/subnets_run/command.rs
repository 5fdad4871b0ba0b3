//! `reconfig simulate` on lists of subnets, as a user meets it: exit codes, messages, JSON.

use serde_json::Value;
use std::process::{Command, Output, Stdio};

const TWO: &str = "fixtures/subnets/two-subnets.subnets.yaml";
const CYCLE: &str = "fixtures/subnets/router-cycle.subnets.yaml";
const ONE: &str = "fixtures/topologies/fat-tree-4-2.ibnetdiscover";
const QUICK: [&str; 6] = ["--warm-up", "20", "--before", "50", "--after", "50"];
const LITTLE: [&str; 2] = ["--load", "0.05"];

fn simulate(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.arg("simulate").args(arguments).env_remove("RECONFIG_LOG").stdin(Stdio::null());
    command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

/// Exit code and screen of a short run.
fn screen(arguments: &[&str]) -> (Option<i32>, String) {
    let output = simulate(&[arguments, &QUICK].concat());
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    (output.status.code(), text(&output.stdout).to_string())
}

fn json(arguments: &[&str]) -> (Option<i32>, Value) {
    let (code, screen) = screen(&[arguments, &["--json"]].concat());
    (code, serde_json::from_str(&screen).expect("JSON"))
}

fn assert_keys(value: &Value, wanted: &[&str]) {
    let object = value.as_object().expect("an object");
    let missing: Vec<_> = wanted.iter().filter(|key| !object.contains_key(**key)).collect();
    assert!(missing.is_empty(), "{missing:?} are missing among {:?}", object.keys().collect::<Vec<_>>());
}

/// A list may name two nodes of one subnet as one router; nothing is removed by halves.
#[test]
fn a_router_of_two_nodes_in_a_subnet_is_not_removed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let list = folder.path().join("joined.subnets.yaml");
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/subnets");
    let subnet =
        |name, rank| format!("- name: {name}\n  fabric: {fixtures}/router-cycle.subnet-{rank}.ibnetdiscover\n");
    let routers = "routers:\n- [0x0200000002000000, 0x0200000002000100]\n";
    std::fs::write(&list, format!("subnets:\n{}{}{routers}", subnet("a", 0), subnet("b", 1))).expect("can be written");
    let output = simulate(&["--remove-router", "router-1", "--planned", list.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(told.contains("router-1 is several nodes of subnet a") && told.contains("a router of its own"), "{told}");
}

#[test]
fn the_report_has_the_keys_that_programs_count_on() {
    let (code, report) = json(&[&["--remove-root", "--subnet", "subnet-1", TWO], &LITTLE[..]].concat());
    assert_eq!(code, Some(0));
    let top = [
        "schema",
        "outcome",
        "reason",
        "what",
        "departure",
        "scheme",
        "engine",
        "seed",
        "trace_hash",
        "settings",
        "subnets",
        "routers",
        "changes",
        "proof",
        "packets",
        "misdelivered",
        "relay_discards",
        "packet_hops",
        "relations",
        "deadlock",
        "latency_ns",
        "throughput",
    ];
    assert_keys(&report, &top);
    assert_eq!((&report["schema"], &report["outcome"]), (&"reconfig.simulation/1".into(), &"completed".into()));
    assert_keys(&report["settings"], &["load", "cross", "packet_bytes", "data_vls", "rule", "layers", "hop_limit"]);
    assert_eq!((&report["settings"]["rule"], &report["settings"]["cross"]), (&"raise".into(), &0.1.into()));
    assert_keys(&report["subnets"][1], &["name", "prefix", "fabric", "hosts", "lmc", "sm"]);
    assert_keys(&report["routers"][1], &["name", "guid", "ports"]);
    assert_keys(&report["routers"][1]["ports"][0], &["name", "stays"]);
    assert_eq!(report["changes"].as_array().map(Vec::len), Some(1), "one subnet changes");
    let change = &report["changes"][0];
    assert_keys(change, &["subnet", "outcome", "what", "root_before", "root_after", "stranded", "sweep", "phases"]);
    assert_keys(change, &["change_ns", "smps", "proof"]);
    assert_eq!(change["subnet"], "subnet-1");
    assert_keys(&report["proof"], &["status", "statistics", "refusal", "evidence"]);
    assert_keys(&report["proof"]["statistics"], &["moments", "lanes", "dependencies", "couplings"]);
    let packets = ["injected", "delivered", "in_flight", "stranded", "lost_to_failure", "lost_to_change"];
    assert_keys(&report["packets"], &packets);
    let relations = report["relations"].as_array().expect("a list");
    assert_eq!(relations.len(), 4, "from each of two to each");
    for relation in relations {
        assert_keys(relation, &["from", "to", "crossings", "packets", "delivered", "latency_ns", "longest_gap_ns"]);
        assert_keys(&relation["packets"], &packets);
        assert_keys(&relation["latency_ns"]["during"], &["p50", "p99", "max"]);
    }
    let hash = report["trace_hash"].as_str().expect("a text: numbers of 64 bits do not survive every reader");
    assert!(hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()), "{hash}");
}

#[test]
fn the_screen_says_what_happened() {
    let (code, shown) = screen(&[&["--remove-router", "router-1", "--planned", TWO], &LITTLE[..]].concat());
    assert_eq!(code, Some(0), "{shown}");
    for part in [
        "remove router router-1 (planned), scheme double",
        "router   router-1: subnet-0:",
        "[1] (leaves) — subnet-1:",
        "service levels raised, 2 layers",
        "the whole is proved",
        "subnet-0: remove router router-1",
        "within subnet-0",
        "subnet-0 → subnet-1",
        "nothing lost to the change",
    ] {
        assert!(shown.contains(part), "{part} is missing:\n{shown}");
    }
    let (code, shown) = screen(&[&["--steady", TWO], &LITTLE[..]].concat());
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.starts_with("nothing changes\n") && !shown.contains("during"), "{shown}");
    assert!(shown.contains("\ncompleted: nothing lost"), "{shown}");
}

/// Issue 6, (c): each subnet is sound, the whole deadlocks, the proof refuses it, and the policy cures it.
#[test]
fn kept_levels_deadlock_where_the_proof_says_so_and_raised_ones_do_not() {
    let all = ["--steady", "--cross", "1", "--load", "1", CYCLE];
    let (code, shown) = screen(&[&all[..], &["--router-sl", "keep"]].concat());
    assert_eq!(code, Some(1), "{shown}");
    for part in ["service levels kept", "the whole is refused", "deadlock of ", "DEADLOCKED", "packets stuck"] {
        assert!(shown.contains(part), "{part} is missing:\n{shown}");
    }
    let (code, shown) = screen(&[&all[..], &["--router-sl", "raise"]].concat());
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("the whole is proved") && !shown.contains("DEADLOCKED"), "{shown}");
    let output = simulate(&["--remove-router", "router-1", "--router-sl", "keep", CYCLE]);
    let told = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(3), ""), "{told}");
    assert!(told.contains("the change is refused") && told.contains("through routers"), "{told}");
}

#[test]
fn a_hop_limit_that_is_too_low_is_a_no() {
    let (code, shown) = screen(&[&["--steady", "--hop-limit", "1", TWO], &LITTLE[..]].concat());
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("discarded: hop limit "), "{shown}");
}

/// Nothing changes, or not in one subnet: what says how and where has no effect.
#[test]
fn settings_of_a_change_go_with_a_change() {
    let of_a_change: &[&[&str]] = &[
        &["--subnet", "subnet-0"],
        &["--scheme", "in-place"],
        &["--to-engine", "up-down"],
        &["--arming", "hold"],
        &["--drain", "poll"],
        &["--path-cache", "never"],
        &["--window", "2"],
        &["--smp-time", "2"],
        &["--smp-timeout", "2"],
        &["--smp-retries", "2"],
        &["--smp-loss", "0.2"],
        &["--smp-duplicates", "0.2"],
        &["--smp-delay", "2"],
        &["--barrier-timeout", "2"],
    ];
    for &given in of_a_change {
        let output = simulate(&[&["--steady"], given, &[TWO]].concat());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{given:?}: {message}");
        assert!(message.contains("cannot be used with") && message.contains(given[0]), "{given:?}: {message}");
    }
    let output = simulate(&["--remove-router", "router-1", "--subnet", "subnet-0", TWO]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot be used with"), "{}", text(&output.stderr));
}

/// A list whose first router is a node of its own in each subnet, and whose routers share a name.
fn router_of_two_nodes(folder: &std::path::Path) -> String {
    for subnet in ["subnet-0", "subnet-1"] {
        let name = format!("two-subnets.{subnet}.ibnetdiscover");
        let capture = std::fs::read_to_string(format!("{}/fixtures/subnets/{name}", env!("CARGO_MANIFEST_DIR")));
        let capture = capture.expect("bundled").replace("\"router-2\"", "\"router-1\"");
        let own = match subnet {
            "subnet-0" => capture,
            _ => capture
                .replace("R-0200000002000000", "R-0200000002000042")
                .replace("rtguid=0x200000002000000", "rtguid=0x200000002000042"),
        };
        std::fs::write(folder.join(name), own).expect("a writable folder");
    }
    let list = folder.join("two.subnets.yaml");
    let bundled = std::fs::read_to_string(format!("{}/{TWO}", env!("CARGO_MANIFEST_DIR"))).expect("bundled");
    let joined = bundled + "routers:\n- [0x0200000002000000, 0x0200000002000042]\n";
    std::fs::write(&list, joined).expect("a writable folder");
    list.display().to_string()
}

#[test]
fn a_router_is_found_by_any_of_its_guids_as_captures_print_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = router_of_two_nodes(folder.path());
    for name in ["0x0200000002000042", "R-0200000002000042", "0200000002000042", "0x200000002000000"] {
        let (code, report) = json(&[&["--remove-router", name, "--planned", &list], &LITTLE[..]].concat());
        assert_eq!((code, &report["what"]), (Some(0), &"remove router router-1".into()), "{name}");
        let leaves = |port: &Value| port["stays"] == false;
        let ports = report["routers"][0]["ports"].as_array().expect("a list");
        assert!(ports.iter().all(leaves), "{name}: {ports:?}");
    }
    let output = simulate(&["--remove-router", "router-1", &list]);
    let message = text(&output.stderr);
    let part = "2 routers have the name `router-1`: give a GUID, one of 0x0200000002000000, 0x0200000002000100";
    assert!(output.status.code() == Some(2) && message.contains(part), "{message}");
}

#[test]
fn where_no_router_joins_anything_that_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("apart.subnets.yaml");
    let entry = |name, file| format!("- name: {name}\n  fabric: {}/{file}\n", env!("CARGO_MANIFEST_DIR"));
    let entries = [entry("one", ONE), entry("other", "fixtures/subnets/two-subnets.subnet-1.ibnetdiscover")];
    std::fs::write(&list, format!("subnets:\n{}", entries.concat())).expect("a writable folder");
    let output = simulate(&["--remove-router", "router-1", &list.display().to_string()]);
    let message = text(&output.stderr);
    let part = "no router between subnets has the name `router-1`: none joins these subnets";
    assert!(output.status.code() == Some(2) && message.contains(part), "{message}");
}

/// What is typed, the exit code, and a part of the message.
type Case<'a> = (&'a [&'a str], i32, &'a str);

#[test]
fn what_cannot_be_meant_is_refused_with_a_reason() {
    let cases: &[Case<'_>] = &[
        (&[TWO], 2, "say what changes: --remove-switch, "),
        (
            &["--remove-router", "router-9", TWO],
            2,
            "no router between subnets has the name `router-9`: there are router-1, router-2",
        ),
        (
            &["--remove-root", "--subnet", "subnet-9", TWO],
            2,
            "no subnet has the name `subnet-9`: there are subnet-0, subnet-1",
        ),
        (&["--remove-router", "router-1", "--steady", TWO], 2, "cannot be used with"),
        (&["--steady", "--planned", TWO], 2, "cannot be used with"),
        (&["--remove-switch", "nobody", TWO], 2, "no node has the name `nobody`"),
        (&["--remove-link", "nobody:1", TWO], 2, "no node has the name `nobody`"),
        (
            &["--add-switch", "switch-1", TWO],
            2,
            "--add-switch, --add-link, --add-host or --move-cable: not for a list of several subnets",
        ),
        (&["--steady", "--cross", "2", TWO], 2, "share of packets between subnets is 2: expected 0 to 1"),
        (&["--steady", "--load", "2", TWO], 2, "load is 2: expected 0 to 1"),
        (
            &["--steady", "--router-sl", "lower", TWO],
            2,
            "`lower` is no rule for service levels at routers: expected raise, turn or keep",
        ),
        (&["--steady", "--hop-limit", "256", TWO], 2, "256 is not in 0..=255"),
        (&["--steady", "--vls", "2", TWO], 2, "half of 2 data VLs has room for 1"),
        (&["--steady", "--sm", "host-1 HCA-1", TWO], 2, "--sm names the manager of the one subnet that changes"),
        (&["--remove-root", "--drain", "lifetime", TWO], 2, "choose token, poll or conservation"),
        (
            &["--remove-root", "--compare", TWO],
            2,
            "--compare: not for a list of several subnets; name one of its files",
        ),
        (&["--remove-root", "--adversary", TWO], 2, "--adversary: not for a list of several subnets"),
        (&["--remove-root", "--accounting", "iba", TWO], 2, "--accounting: not for a list"),
        (&["--remove-root", "--plan", "plan.json", TWO], 2, "--plan: not for a list"),
        (&["--remove-router", "router-1", ONE], 2, "--remove-router is for a list of several subnets"),
        (&["--remove-root", "--subnet", "subnet-0", ONE], 2, "--subnet is for a list of several subnets"),
        (&["--remove-root", "--cross", "0.5", ONE], 2, "--cross is for a list of several subnets"),
        (&["--remove-root", "--router-sl", "keep", ONE], 2, "--router-sl is for a list of several subnets"),
        (&["--remove-root", "--hop-limit", "3", ONE], 2, "--hop-limit is for a list of several subnets"),
        (&["--remove-root", "--router-sl", "keep", CYCLE], 3, "the change is refused"),
        (&["--remove-root", "--traffic", "worst", TWO], 2, "--traffic worst: not for a list of several subnets"),
        (&["--remove-root", "--traffic", "permutation:-", TWO], 2, "standard input: holds no ranks"),
        // The same mistake has the exit code that it has with one fabric.
        (&["--remove-switch", "host-1 HCA-1", "--subnet", "subnet-0", TWO], 2, "host-1 HCA-1 is no switch"),
        (&["--remove-link", "router-1:2", "--subnet", "subnet-0", TWO], 2, "has no cable that could be pulled"),
        (&["--remove-root", "--sm", "switch-1", TWO], 2, "switch-1 cannot run the subnet manager"),
        (&["--remove-root", "--lmc", "0", TWO], 3, "has LMC 0, one LID"),
        (
            &["--remove-switch", "switch-1", TWO],
            2,
            "2 subnets have an element `switch-1`: choose one by its GUID or subnet (--subnet): subnet-0, ",
        ),
        (
            &["--remove-switch", "0x0200000a00000000", "--remove-switch", "0x0200000a04000100", TWO],
            2,
            "`0x0200000a04000100` is in subnet-1 and others in subnet-0: one subnet changes",
        ),
        (&[TWO, ONE], 2, "a fabric after the change: not for a list of several subnets"),
        (&["--remove-router", "0x4711", TWO], 2, "there are router-1, router-2"),
        (&["--steady", "--spray", "packet", TWO], 2, "--spray: one path for each destination takes no turns"),
    ];
    for &(arguments, code, part) in cases {
        let output = simulate(arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
        assert!(message.contains(part), "{arguments:?}: {message}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
    }
}
