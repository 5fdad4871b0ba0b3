//! `reconfig simulate` as a user meets it: exit codes, messages, JSON.

use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};

pub(super) const FABRIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies/fat-tree-4-2.ibnetdiscover");
pub(super) const QUICK: [&str; 8] = ["--load", "0.05", "--warm-up", "20", "--before", "50", "--after", "50"];

pub(super) fn simulate(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.arg("simulate").args(arguments).env_remove("RECONFIG_LOG").stdin(Stdio::null());
    command.output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

/// A fabric with LMC 0 gets other LIDs, which standard error says, and nothing else.
fn assert_told_of_lids_only(output: &Output) {
    let told = text(&output.stderr);
    assert!(told.lines().all(|line| line.ends_with("--csv FOLDER lists them")) && told.lines().count() < 2, "{told}");
}

/// The exit code, and what is on the screen.
pub(super) fn screen(arguments: &[&str]) -> (Option<i32>, String) {
    let output = simulate(arguments);
    assert_told_of_lids_only(&output);
    (output.status.code(), text(&output.stdout).to_string())
}

/// Runs with little traffic; the exit code and the object printed.
pub(super) fn json(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = simulate(&[arguments, &QUICK, &["--json", FABRIC]].concat());
    let value = serde_json::from_slice(&output.stdout);
    let value = value.unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    (output.status.code(), value)
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn assert_keys(value: &Value, wanted: &[&str]) {
    let found = keys(value);
    let missing: Vec<_> = wanted.iter().filter(|key| !found.contains(*key)).collect();
    assert!(missing.is_empty(), "{missing:?} are missing among {found:?}");
}

#[test]
fn the_report_has_the_keys_that_programs_count_on() {
    let (code, report) = json(&["--remove-root"]);
    assert_eq!(code, Some(0));
    let top = [
        "schema",
        "outcome",
        "scheme",
        "engine",
        "seed",
        "trace_hash",
        "fabric",
        "packets",
        "packet_hops",
        "deadlock",
        "latency_ns",
        "throughput",
        "subnets",
        "changes",
        "proof",
    ];
    assert_keys(&report, &top);
    assert_eq!((&report["schema"], &report["outcome"]), (&"reconfig.simulation/1".into(), &"completed".into()));
    assert_keys(&report["fabric"], &["switches", "cas", "links"]);
    let packets = ["injected", "delivered", "in_flight", "stranded", "lost_to_failure", "lost_to_change"];
    assert_keys(&report["packets"], &packets);
    assert_keys(&report["changes"][0]["smps"], &["by_attribute", "total"]);
    assert_keys(&report["proof"], &["status", "waves", "channels", "dependencies"]);
    assert_keys(&report["throughput"], &["before", "during", "after"]);
    for period in ["before", "during", "after"] {
        assert_keys(&report["latency_ns"][period], &["p50", "p99", "max"]);
        let throughput = report["throughput"][period].as_f64().expect("a number");
        assert!((0.0..=1.0).contains(&throughput), "{period}: {throughput}");
    }
    let phases = report["changes"][0]["phases"].as_array().expect("a list");
    let names: Vec<_> = phases.iter().map(|phase| phase["name"].as_str().expect("a name")).collect();
    assert_eq!(names, super::PHASES);
    phases.iter().for_each(|phase| assert_keys(phase, &["name", "start_ns", "end_ns", "smps"]));
    let hash = report["trace_hash"].as_str().expect("a text: numbers of 64 bits do not survive every reader");
    assert!(hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()), "{hash}");
    assert!(report["deadlock"].is_null());
}

#[test]
fn packets_lost_to_the_change_and_changes_that_end_early_are_a_no() {
    let (code, report) = json(&["--remove-root", "--planned", "--scheme", "static"]);
    assert_eq!((code, &report["outcome"]), (Some(1), &"completed".into()));
    assert!(report["packets"]["lost_to_change"].as_u64() > Some(0));
    let (code, report) = json(&["--remove-root", "--path-cache", "never"]);
    assert_eq!((code, &report["outcome"]), (Some(1), &"aborted".into()));
    assert!(report["reason"].as_str().is_some_and(|reason| reason.contains("stands still while swapping")));
}

#[test]
fn a_comparison_lists_the_reports_and_answers_for_the_cheapest_scheme() {
    let (code, comparison) = json(&["--remove-root", "--planned", "--compare"]);
    assert_eq!(comparison["schema"], "reconfig.simulation-comparison/1");
    assert_eq!(comparison["not_possible"].as_array().map(Vec::len), Some(0));
    let reports = comparison["reports"].as_array().expect("a list");
    let schemes: Vec<_> = reports.iter().map(|report| report["scheme"].as_str().expect("a name")).collect();
    assert_eq!((code, schemes), (Some(0), vec!["ordered", "double", "ordered", "static", "in-place"]));
    let chosen: Vec<_> = reports.iter().map(|report| report["auto"] == true).collect();
    assert_eq!(chosen, [true, false, false, false, false]);
    assert!(reports[..3].iter().all(|report| report["packets"]["lost_to_change"] == 0));
    assert!(reports[3]["packets"]["lost_to_change"].as_u64() > Some(0), "stopped ports lose what stands in them");
}

/// Whoever ran the Double Scheme reads what the tool would have chosen, on the screen and in the object alike.
#[test]
fn what_would_have_been_chosen_stands_beside_the_double_scheme() {
    let seed_16 = FABRIC.replace("fat-tree-4-2", "seed-16");
    let (double, ordered) = ("scheme double was passed over: ", "scheme ordered was passed over: ");
    for (options, fabric, scheme, passed_over, says) in [
        (&[][..], FABRIC, "ordered", double, "auto: 4 writes in 1 wave would do, proved"),
        (&[], &seed_16, "ordered", double, "would do, proved"),
        (&["--turn-back"], &seed_16, "double", ordered, "auto: scheme double too: scheme ordered was passed"),
    ] {
        let asked = [&["--remove-root"], options, &QUICK[..], &[fabric]].concat();
        let report: Value =
            serde_json::from_slice(&simulate(&[&asked[..], &["--json"]].concat()).stdout).expect("JSON");
        let auto = &report["auto_instead"];
        assert_eq!((&report["auto"], auto["scheme"].as_str()), (&false.into(), Some(scheme)), "{fabric}");
        let note = auto["passed_over"][0].as_str().unwrap_or_default();
        assert!(note.starts_with(passed_over), "{fabric}: {auto}");
        let screen = simulate(&asked);
        assert!(text(&screen.stdout).contains(says), "{fabric}: {}", text(&screen.stdout));
    }
    let (_, chosen) = json(&["--remove-root", "--scheme", "auto"]);
    assert!(chosen["auto_instead"].is_null() && chosen["auto"] == true, "it was chosen");
    let note = chosen["notes"][0].as_str().unwrap_or_default();
    assert!(note.starts_with("scheme double was passed over: "), "{chosen}");
}

/// The Double Scheme needs two LIDs at each port; the comparison shows the schemes that do not.
#[test]
fn a_comparison_leaves_out_what_the_subnet_cannot_do() {
    for devices in ["agents", "standard"] {
        let asked = ["--remove-root", "--compare", "--lmc", "0", "--devices", devices];
        let output = simulate(&[&asked, &QUICK[..], &[FABRIC]].concat());
        assert_eq!(output.status.code(), Some(0), "{devices}: {}", text(&output.stderr));
        let shown = text(&output.stdout);
        assert!(shown.starts_with("remove root spine-1 (sudden), 4 schemes\n"), "{devices}: {shown}");
        let heading = shown.lines().find(|line| line.contains("auto: ordered")).unwrap_or_default();
        let heading: Vec<&str> = heading.split_whitespace().collect();
        assert_eq!(heading, ["auto:", "ordered", "ordered", "static", "in-place"], "{devices}");
        assert!(text(&output.stderr).contains("double: not possible: "), "{devices}: {}", text(&output.stderr));
    }
}

#[test]
fn the_screen_says_what_happened() {
    let output = simulate(&[&["--remove-switch", "spine-2", "--planned"], &QUICK[..], &[FABRIC]].concat());
    let screen = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert_told_of_lids_only(&output);
    for part in ["remove switch spine-2 (planned), scheme double", "proved: 5 waves", "lost to change", "completed in"]
    {
        assert!(screen.contains(part), "{part} is missing:\n{screen}");
    }
    let columns: Vec<&str> = super::PHASES.to_vec();
    let rows = screen.lines().filter_map(|line| line.split_whitespace().next());
    let phases: Vec<&str> = rows.filter(|word| columns.contains(word)).collect();
    assert_eq!(phases, super::PHASES);
}

/// What is outside of the phases has a row where it is noticeable, and then all rows add up.
#[test]
fn phases_add_up_to_the_totals() {
    let ghost = FABRIC.replace("fat-tree-4-2", "ghost-cycle");
    let (_, shown) = screen(&[&["--remove-root", "--scheme", "auto"], &QUICK[..], &[&ghost]].concat());
    let (_, rows) = shown.split_once("\n phase ").expect("phases");
    let rows: Vec<&str> = rows.lines().skip(1).take_while(|line| !line.is_empty()).collect();
    let smps = |row: &&str| row.split_whitespace().last().expect("a number").parse::<u64>().expect("a small number");
    let (all, others) = rows.split_last().expect("rows");
    assert!(all.starts_with(" in all ") && others.iter().any(|row| row.starts_with(" outside them ")), "{shown}");
    assert_eq!(others.iter().map(smps).sum::<u64>(), smps(all), "{shown}");
    assert!(shown.contains(&format!(", {} SMPs; trace ", smps(all))), "{shown}");
}

/// A period without any time has no throughput, and so has one that a deadlock precedes.
#[test]
fn a_period_that_never_was_has_a_dash() {
    let ghost = FABRIC.replace("fat-tree-4-2", "ghost-cycle");
    let short = ["--remove-root", "--scheme", "auto", "--load", "0.05", "--before", "0", "--after", "0", FABRIC];
    let deadlocked = ["--remove-root", "--scheme", "in-place", &ghost];
    for (asked, periods) in [(&short[..], &["before", "after"][..]), (&deadlocked, &["after"])] {
        let shown = simulate(asked).stdout;
        let rows = text(&shown).lines().filter(|line| line.contains('–'));
        let rows: Vec<Vec<&str>> = rows.map(|line| line.split_whitespace().collect()).collect();
        let without: Vec<Vec<&str>> = periods.iter().map(|name| vec![*name, "–", "–", "–", "–"]).collect();
        assert_eq!(rows, without, "{}", text(&shown));
    }
}

/// What is typed, the exit code, and a part of the message.
type Case<'a> = (&'a [&'a str], i32, &'a str);

#[test]
fn what_cannot_be_meant_is_refused_with_a_reason() {
    let cases: &[Case<'_>] = &[
        (&[], 2, "say what changes: --remove-switch, "),
        (&["--remove-root", "--steady"], 2, "cannot be used with"),
        (&["--remove-root", "--add-switch", "spine-1"], 2, "name the switch that leaves"),
        (&["--remove-root", "--planned", "--sudden"], 2, "cannot be used with"),
        (&["--add-switch", "spine-1", "--planned"], 2, "expected NAME=LIKE:NODE"),
        (&["--remove-root", "--compare", "--scheme", "double"], 2, "cannot be used with"),
        (
            &["--remove-switch", "spin-1"],
            2,
            "no node has the name `spin-1`: give a description or a GUID; did you mean spine-1?",
        ),
        (
            &["--remove-root", "--sm", "spine-*"],
            2,
            "4 nodes match `spine-*`, such as spine-1, spine-2, spine-3: one is needed here",
        ),
        (&["--remove-root", "--packet-bytes", "0"], 2, "packet length is 0: expected 64 to 4200"),
        (&["--remove-switch", "nobody"], 2, "no node has the name `nobody`: give a description or a GUID"),
        (&["--remove-switch", "spine"], 2, "there are spine-1, spine-2"),
        (&["--remove-switch", "host-1 HCA-1"], 2, "host-1 HCA-1 is no switch"),
        (&["--remove-link", "spine-1"], 2, "expected NODE:PORT"),
        (&["--remove-link", "spine-1:0"], 2, "spine-1 has ports 1 to 8"),
        (&["--remove-link", "spine-1:9"], 2, "there is no port 9"),
        (&["--remove-root", "--load", "2"], 2, "load is 2: expected 0 to 1"),
        (&["--remove-root", "--load", "-1"], 2, "load is -1: expected 0 to 1"),
        (&["--remove-root", "--load", "nan"], 2, "load is NaN: expected 0 to 1"),
        (&["--remove-root", "--vls", "3"], 2, "3 data VLs: InfiniBand ports have 1, 2, 4, 8 or 15"),
        (&["--remove-root", "--lmc", "8"], 2, "8 is not in 0..=7"),
        (&["--remove-root", "--scheme", "twice"], 2, "expected one of auto, double, ordered, static, in-place"),
        (&["--remove-root", "--drain", "hope"], 2, "expected one of token, poll, conservation, lifetime"),
        (&["--remove-root", "--packet-bytes", "9000"], 2, "packet length is 9000: expected 64 to 4200"),
        (&["--remove-root", "--buffer", "3"], 2, "input buffer is 3 credits"),
        (&["--remove-root", "--smp-loss", "2"], 2, "SMP loss is 2: expected 0 to 1"),
        (&["--remove-root", "--smp-timeout", "0"], 2, "0 is not in 1.."),
        (&["--remove-root", "--barrier-timeout", "0"], 2, "0 is not in 1.."),
        (&["--remove-root", "--window", "0"], 2, "0 is not in 1.."),
        (&["--remove-root", "--sm", "spine-1"], 2, "spine-1 cannot run the subnet manager"),
        (&["--remove-root", "--traffic", "storm"], 2, "`storm` is not a traffic pattern"),
        (&["--remove-root", "--traffic", "hot-spot:3"], 2, "hot-spot:RANK,SHARE or trace:FILE"),
        (&["--remove-root", "--traffic", "hot-spot:3,2"], 2, "is not a traffic pattern"),
        (&["--remove-root", "--traffic", "hot-spot:16,0.5"], 2, "rank 16: the fabric's end ports have ranks 0 to 15"),
        (&["--remove-root", "--traffic", "trace:no-such-file"], 2, "cannot read no-such-file"),
        (&["--remove-root", "--spray", "packet"], 2, "--spray: one path for each destination takes no turns"),
        (&["--remove-root", "--path-selection", "base", "--spray", "message"], 2, "--spray: one path"),
        (&["--remove-root", "--path-selection", "base", "--paths", "2"], 2, "--paths: with --path-selection base"),
        (
            &["--remove-root", "--compare", "--hot-links", "3"],
            2,
            "--hot-links: the table of --compare does not show it",
        ),
        (&["--remove-root", "--compare", "--count-order"], 2, "--count-order: the table of --compare does not show it"),
        (&["--remove-root", "--compare", "--certificate", "c"], 2, "cannot be used with"),
        (&["--remove-root", "--plan", "-", "--dot", "-"], 2, "two files would go to standard output"),
        (&["--remove-root", "--lmc", "0"], 3, "has LMC 0, one LID"),
        (&["--remove-root", "--vls", "1"], 3, "has 1 data VL"),
        (
            &["--remove-root", "--vl-stall", "7"],
            2,
            "VLStallCount is 7: expected 0 where no head-of-queue limit applies",
        ),
    ];
    for &(arguments, code, part) in cases {
        let output = simulate(&[arguments, &[FABRIC]].concat());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
        assert!(message.contains(part), "{arguments:?}: {message}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
    }
}

#[test]
fn traces_and_fabrics_that_cannot_be_read_name_the_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = [
        ("", "holds no packet"),
        ("# only a remark\n", "holds no packet"),
        ("100 0 1 512\n200 0 1\n", ":2: expected four fields: time in ns"),
        ("100 0 one 512\n", ":1: expected whole numbers"),
        ("100 0 1 512\n200 0 1 9000\n", ":2: a packet has 64 to 4200 bytes, headers included, not 9000"),
        ("100 3 3 512\n", ":1: a packet to its own sender"),
        ("200 0 1 512\n100 0 1 512\n", ":2: this packet is earlier than the one before"),
        ("100 0 1 512\n200 99 1 512\n", ":2: there is no rank 99: 16 end ports send, of ranks 0 to 15"),
    ];
    for (trace, part) in cases {
        let file = folder.path().join("trace");
        std::fs::write(&file, trace).expect("can be written");
        let output = simulate(&["--remove-root", "--traffic", &format!("trace:{}", file.display()), FABRIC]);
        assert_eq!(output.status.code(), Some(2), "{trace:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(part), "{trace:?}: {}", text(&output.stderr));
    }
    let whole = std::fs::read_to_string(FABRIC).expect("bundled");
    let file = folder.path().join("broken.ibnetdiscover");
    let broken = whole.replacen("Switch\t8", "Switch\teight", 1);
    assert_ne!(broken, whole);
    std::fs::write(&file, broken).expect("can be written");
    let output = simulate(&["--remove-root", file.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("broken.ibnetdiscover:") && message.contains("eight"), "{message}");
}

/// In a permutation the wrong rank is named as it is written, where it is written.
#[test]
fn a_rank_that_is_not_there_is_named_in_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pairs");
    let traffic = format!("permutation:{}", file.display());
    for (pairs, place) in [("99 0\n", ":1:1: `99`"), ("# two\n0 1\n1  99\n", ":3:4: `99`"), ("16\n", ":1:1: `16`")] {
        std::fs::write(&file, pairs).expect("can be written");
        let output = simulate(&["--remove-root", "--traffic", &traffic, FABRIC]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{pairs:?}: {message}");
        let told = format!("pairs{place} is not a rank: 16 end ports send, of ranks 0 to 15");
        assert!(message.contains(&told), "{pairs:?}: {message}");
    }
}

#[test]
fn a_permutation_is_read_from_standard_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pairs");
    std::fs::write(&file, "0 5\n5 0\n").expect("can be written");
    let from = |traffic: &str, input: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
        command.args(["simulate", "--remove-root", "--json", "--traffic", traffic]).args(QUICK).arg(FABRIC);
        let output = command.env_remove("RECONFIG_LOG").stdin(input).output().expect("the binary runs");
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["trace_hash"].clone()
    };
    let input = std::fs::File::open(&file).expect("just written");
    assert_eq!(from("permutation:-", input.into()), from(&format!("permutation:{}", file.display()), Stdio::null()));
}

#[test]
fn files_are_written_all_or_none_and_looked_at_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (plan, certificate) = (at("p"), at("c"));
    let itself = folder.path().to_str().expect("UTF-8");
    let cases: [(&[&str], i32, &str); 3] = [
        (&["--plan", &plan, "--certificate", &at("nowhere/c")], 3, "cannot write "),
        (&["--plan", &plan, "--dot", &at("nowhere/d")], 3, "cannot write "),
        (&["--plan", &plan, "--certificate", itself], 2, "is a folder; --certificate takes a file"),
    ];
    for (files, code, said) in cases {
        let output = simulate(&[&["--remove-root"], files, &QUICK, &[FABRIC]].concat());
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(code), ""), "{files:?}: refused before the run");
        assert!(text(&output.stderr).contains(said), "{files:?}: {}", text(&output.stderr));
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "{files:?} left something behind");
    }
    let output =
        simulate(&[&["--remove-root", "--plan", &plan, "--certificate", &plan], &QUICK[..], &[FABRIC]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    let output =
        simulate(&[&["--remove-root", "--plan", &plan, "--certificate", &certificate], &QUICK[..], &[FABRIC]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2);
    // A file on standard output has it to itself.
    let output = simulate(&[&["--remove-root", "--plan", "-"], &QUICK[..], &[FABRIC]].concat());
    assert_eq!(text(&output.stdout), std::fs::read_to_string(&plan).expect("written"));
    assert!(text(&output.stderr).contains("nothing lost to the change"), "{}", text(&output.stderr));
}

#[test]
fn a_trace_sends_what_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trace");
    std::fs::write(&file, "# time, source, destination, bytes\n100 0 5 512\n1000,1,5,256\n").expect("can be written");
    let traffic = format!("trace:{}", file.display());
    let asked = ["--remove-root", "--planned", "--traffic", &traffic, "--json", FABRIC];
    let output = simulate(&[&asked[..], &QUICK[2..]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &report["packets"]["delivered"]), (Some(0), &2.into()));
    // The trace says all of that by itself.
    for (option, value) in [("--load", "0.1"), ("--packet-bytes", "512"), ("--message", "2")] {
        let output = simulate(&[&asked[..], &[option, value]].concat());
        let told = format!("{option}: a trace gives time and length of each packet");
        assert!(output.status.code() == Some(2) && text(&output.stderr).contains(&told), "{}", text(&output.stderr));
    }
}

#[test]
fn a_subnet_that_does_not_take_its_load_is_said_to_be_saturated() {
    let noted = |arguments: &[&str]| {
        let output = simulate(&[&["--steady", "--json"], arguments, &QUICK[2..], &[FABRIC]].concat());
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let notes = report["notes"].as_array().expect("notes").iter().map(|note| note.as_str().expect("text"));
        (report["held_back"]["before"].as_f64().expect("a share"), notes.collect::<Vec<_>>().join("\n"))
    };
    let (share, notes) = noted(&["--load", "0.9"]);
    assert!(
        share > 0.3 && notes.contains("the subnet is saturated: before anything happened applications waited"),
        "{share}: {notes}"
    );
    let (share, notes) = noted(&["--load", "0.1"]);
    assert!(share == 0.0 && !notes.contains("saturated"), "{share}: {notes}");
    // Not the subnet's own tables, and the capture shows that it has some.
    assert!(notes.contains("the tables in force are taken to be those of engine up-down"), "{notes}");
    // What a trace has after the end is not sent.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trace");
    std::fs::write(&file, "100 0 5 512\n900000000 1 5 256\n").expect("can be written");
    let (_, notes) = noted(&["--traffic", &format!("trace:{}", file.display())]);
    assert!(notes.contains("due after the sources stopped, and were not sent: 1"), "{notes}");
}

#[test]
fn a_profile_of_devices_is_named_with_what_was_given_beside_it() {
    let change = ["--remove-root", "--planned", "--scheme", "auto"];
    let standard = ["--devices", "standard", "--switch-life", "131072", "--drain", "token"];
    let (code, report) = json(&[&change[..], &standard].concat());
    let devices = &report["settings"]["devices"];
    assert_eq!(code, Some(0), "{report}");
    assert_eq!((&devices["profile"], &devices["sources"]), (&"standard".into(), &"fence".into()), "{devices}");
    assert_eq!(devices["given"], serde_json::json!(["drain", "switch-life"]), "{devices}");
    // With little traffic: a run of seconds tells how far it is.
    let quiet = ["--load", "0.0001", "--warm-up", "20", "--before", "50", "--after", "50"];
    let (_, shown) = screen(&[&change[..], &standard, &quiet, &[FABRIC]].concat());
    let line = "devices  standard except for --drain, --switch-life (drain by token, sources fenced after 2.00 s)\n";
    assert!(shown.contains(line), "{shown}");
}

#[test]
fn hosts_that_are_told_need_no_time() {
    let output = simulate(&["--remove-root", "--settle", "1", FABRIC]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--settle: sources that are told move at once"), "{}", text(&output.stderr));
}

/// 8 switches with 24 LID owners are 192 rows.
#[test]
fn computing_takes_the_time_that_was_asked_for() {
    let computing = |scheme: &str, time: &str| {
        let (code, report) = json(&["--remove-root", "--scheme", scheme, "--compute-time", time]);
        let phases = report["changes"][0]["phases"].as_array().expect("a list");
        let phase = phases.iter().find(|phase| phase["name"] == "compute");
        let ns = phase.map(|phase| phase["end_ns"].as_u64().unwrap() - phase["start_ns"].as_u64().unwrap());
        assert_eq!((code, &report["packets"]["lost_to_change"]), (Some(0), &Value::from(0)), "{scheme} {time}");
        ns
    };
    assert_eq!(computing("double", "0"), None);
    assert_eq!(computing("double", "150"), Some(150_000));
    assert_eq!(computing("double", "scaled"), Some(192 * 2_200));
    assert_eq!(computing("ordered", "scaled"), Some(192 * 700));
}

/// What stands at a place of the report, `null` if nothing.
type At<'a> = (&'a [&'a str], &'a str, &'a dyn Fn(&Value) -> bool);

/// An option changes what it names: a setting that the report tells, or what only that setting does.
#[test]
fn options_change_what_they_name() {
    let took = |report: &Value, name: &str| {
        let phases = report["changes"][0]["phases"].as_array().expect("phases").clone();
        let own = phases.iter().find(|phase| phase["name"] == name).expect("a phase");
        own["end_ns"].as_u64().expect("a time") - own["start_ns"].as_u64().expect("a time")
    };
    let (_, usual) = json(&["--remove-root"]);
    assert!(usual["settings"].get("sources").is_none(), "{}", usual["settings"]);
    let slow = &["--smi-processor", "20000"][..];
    let narrow = &["--smi-processor", "20000", "--vl15-buffer", "1"][..];
    let cases: [At<'_>; 6] = [
        (&["--arrivals", "on-off:5"], "/settings/sources/burst", &|own| *own == 5.0),
        (&["--message-mix", "256:0.9,8192:0.1"], "/settings/sources/message_mix", &|own| {
            *own == serde_json::json!([{"bytes": 256, "share": 0.9}, {"bytes": 8192, "share": 0.1}])
        }),
        // One block of entries a switch is written: its time is that of one SMP.
        (&["--smp-time-of", "LinearForwardingTable=400000"], "", &|own| {
            let longer = took(own, "install") - took(&usual, "install");
            longer == 400_000 - 18_600 && took(own, "split") == took(&usual, "split")
        }),
        (&["--smp-time-of", "SLtoVLMappingTable=400000"], "", &|own| {
            took(own, "split") > took(&usual, "split") + 381_400 && took(own, "install") == took(&usual, "install")
        }),
        (slow, "", &|own| took(own, "split") > 5 * took(&usual, "split") && own.get("smps_dropped").is_none()),
        (narrow, "/smps_dropped", &|own| own.as_u64() > Some(0)),
    ];
    for (options, place, is_so) in cases {
        let (_, report) = json(&[&["--remove-root"], options].concat());
        let found = report.pointer(place).unwrap_or(&Value::Null);
        assert!(is_so(found), "{options:?}: {place} is {found}");
    }
}

/// Each named pattern is the permutation that its name stands for: a file of it is the same run.
#[test]
fn named_traffic_is_the_permutation_of_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |traffic: &str| json(&["--steady", "--traffic", traffic]).1;
    // The ranks of sixteen end ports have four bits.
    type Permutation = fn(u32) -> u32;
    let named: [(&str, Permutation); 6] = [
        ("complement", |rank| 15 - rank),
        ("reverse", |rank| (0..4).map(|bit| (rank >> bit & 1) << (3 - bit)).sum()),
        ("shuffle", |rank| rank * 2 % 16 + rank / 8),
        ("transpose", |rank| rank % 4 * 4 + rank / 4),
        ("tornado", |rank| (rank + 7) % 16),
        ("neighbour", |rank| (rank + 1) % 16),
    ];
    let mut traces = BTreeSet::new();
    for (name, destination) in named {
        let file = folder.path().join(name);
        let lines: String = (0..16).map(|rank| format!("{}\n", destination(rank))).collect();
        std::fs::write(&file, lines).expect("a file");
        let (own, written) = (run(name), run(&format!("permutation:{}", file.display())));
        assert_eq!(own["trace_hash"], written["trace_hash"], "{name}");
        let senders = (0..16).filter(|&rank| destination(rank) != rank).count();
        let told = serde_json::json!({"pattern": "named", "name": name, "senders": senders});
        assert_eq!(own["settings"]["traffic"], told);
        let told = serde_json::json!({"pattern": "pairs", "senders": senders});
        assert_eq!(written["settings"]["traffic"], told, "{name}");
        traces.insert(own["trace_hash"].to_string());
    }
    for (asked, told) in [
        ("uniform", serde_json::json!({"pattern": "uniform"})),
        ("permutation", serde_json::json!({"pattern": "permutation"})),
        ("worst", serde_json::json!({"pattern": "worst", "senders": 16})),
        ("hot-spot:3,0.5", serde_json::json!({"pattern": "hot-spot", "destination": 3, "share": 0.5})),
    ] {
        let own = run(asked);
        assert_eq!(own["settings"]["traffic"], told, "{asked}");
        traces.insert(own["trace_hash"].to_string());
    }
    assert_eq!(traces.len(), 10, "no two patterns are the same run");
}
