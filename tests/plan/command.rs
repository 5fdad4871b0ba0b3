//! `reconfig plan` and `reconfig check`: from two captures to a proved plan in a file, and back.

use crate::support::bundled::bundled;
use crate::support::capture::capture;
use crate::support::properties::properties;
use proptest::prelude::*;
use reconfig::fabric::format::{self, Format};
use reconfig::fabric::generate::BUNDLED;
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::Lid;
use reconfig::plan::Plan;
use reconfig::routing::choose_root;
use reconfig::{check, verify};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Two captures in a folder, and what came of commands on them.
struct Desk(TempDir);

impl Desk {
    fn with(before: &Fabric, after: &Fabric) -> Desk {
        let desk = Desk(tempfile::tempdir().expect("a folder"));
        for (fabric, name) in [(before, "before"), (after, "after")] {
            let text = format::write(fabric, Format::Json).expect("the project's own format bears every fabric");
            std::fs::write(desk.path(name), text).expect("can be written");
        }
        desk
    }

    /// The bundled fabric of this name, and what is left without its root.
    fn losing_the_root(name: &str) -> Desk {
        let fabric = bundled(name);
        let root = choose_root(&fabric).expect("a fabric has switches");
        Desk::with(&fabric, &fabric.without_nodes(&[root]))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("the file is there")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("can be written");
    }

    /// Runs `reconfig` in the folder.
    fn run(&self, arguments: &[&str]) -> Answer {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
        command.args(arguments).current_dir(self.0.path()).env_remove("RECONFIG_LOG").stdin(Stdio::null());
        Answer(command.output().expect("the binary runs"))
    }

    /// Plans the change, by scheme `double` unless another is named; what it cuts off is meant.
    fn plan(&self, arguments: &[&str]) -> Answer {
        let meant: &[&str] = if arguments.contains(&"--sudden") { &[] } else { &["--allow-cut-off"] };
        let scheme: &[&str] = if arguments.contains(&"--scheme") { &[] } else { &["--scheme", "double"] };
        self.run(&[&["plan", "before", "after"], meant, scheme, arguments].concat())
    }
}

struct Answer(Output);

impl Answer {
    fn code(&self) -> Option<i32> {
        self.0.status.code()
    }

    fn stdout(&self) -> &str {
        std::str::from_utf8(&self.0.stdout).expect("UTF-8")
    }

    fn stderr(&self) -> &str {
        std::str::from_utf8(&self.0.stderr).expect("UTF-8")
    }

    fn json(&self) -> Value {
        serde_json::from_str(self.stdout()).unwrap_or_else(|error| panic!("{error}: {}", self.stderr()))
    }

    /// The exit code is this one, and the text holds each of the parts.
    fn says(&self, code: i32, parts: &[&str]) {
        let text = format!("{}{}", self.stdout(), self.stderr());
        assert_eq!(self.code(), Some(code), "{text}");
        parts.iter().for_each(|part| assert!(text.contains(part), "`{part}` is missing:\n{text}"));
    }
}

fn named(fabric: &Fabric, description: &str) -> NodeId {
    let found = fabric.nodes().find(|(_, node)| node.description == description);
    found.unwrap_or_else(|| panic!("no node {description}")).0
}

#[test]
fn every_bundled_fabric_gets_a_plan_that_is_checked_again() {
    for known in BUNDLED {
        let desk = Desk::losing_the_root(known.name);
        for departure in ["--planned", "--sudden"] {
            desk.plan(&[departure, "-o", "change.plan"]).says(0, &["yes, proved: written to change.plan"]);
            desk.run(&["check", "change.plan"]).says(0, &["lint     nothing found", "yes, the plan is sound"]);
        }
    }
}

/// By default the cheapest way that is proved is planned, and what was passed over is in the plan.
#[test]
fn without_a_scheme_the_cheapest_is_planned() {
    for (name, option, scheme) in
        [("fat-tree-4-2", None, "ordered"), ("seed-16", None, "ordered"), ("seed-16", Some("--turn-back"), "double")]
    {
        let desk = Desk::losing_the_root(name);
        let asked = ["plan", "before", "after", "--sudden", "-o", "change.plan"];
        let asked: Vec<&str> = asked.into_iter().chain(option).collect();
        desk.run(&asked).says(0, &[&format!("sudden change, scheme {scheme}"), "yes, proved: written to change.plan"]);
        desk.run(&["check", "change.plan"]).says(0, &["lint     nothing found", "yes, the plan is sound"]);
        let passed_over = desk.text("change.plan").contains("scheme ordered was passed over: ");
        assert_eq!(passed_over, scheme == "double", "{name}");
    }
    // Without a spare half, or with one data VL, entries alone are the only way; neither is needed for them.
    let desk = Desk::losing_the_root("fat-tree-4-2");
    for spare in [["--lmc", "0"], ["--vls", "1"]] {
        for devices in ["agents", "standard"] {
            let asked = [&["plan", "before", "after", "--sudden", "--devices", devices], &spare[..]].concat();
            desk.run(&asked).says(0, &["scheme ordered", "yes, proved"]);
        }
    }
    // Where neither does, both reasons are told.
    let desk = Desk::losing_the_root("torus-4x4");
    let asked = ["plan", "before", "after", "--allow-cut-off", "--lmc", "0"];
    desk.run(&asked)
        .says(3, &["\nscheme ordered: repairing the routing in force: ", "\nscheme double: ", "has LMC 0, one LID"]);
}

#[test]
fn the_screen_and_the_object_say_the_same() {
    let desk = Desk::losing_the_root("fat-tree-4-2");
    let screen = desk.plan(&[]);
    let parts = [
        "planned change, scheme double",
        "leaves   spine-1",
        "root spine-1 → spine-2",
        "5 waves",
        "yes, proved: -o FILE writes the plan",
    ];
    screen.says(0, &parts);
    let object = desk.plan(&["--json", "-o", "change.plan"]).json();
    assert_eq!((&object["outcome"], &object["file"]), (&"proved".into(), &"change.plan".into()));
    assert_eq!(object["schema"], "reconfig.plan-report/1");
    let facts = &object["plan"];
    let waves = facts["waves"].as_array().expect("a list");
    let names: Vec<_> = waves.iter().map(|wave| wave["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["split", "install", "swap", "drain", "restore"]);
    // Seven switches route seven LFT blocks; the busiest device has its SL-to-VL tables: 8 ports × 9 inputs, or fewer.
    let smps: u64 = waves.iter().map(|wave| wave["smps"].as_u64().expect("a count")).sum();
    assert_eq!(facts["smps"].as_u64(), Some(smps));
    let busiest = waves[0]["busiest"].as_u64().expect("a count");
    assert_eq!(waves[0]["expected_ns"].as_u64(), Some(busiest * 18_600));
    assert_eq!(waves[0]["writes"]["SLtoVLMappingTable"].as_u64(), waves[0]["smps"].as_u64());
    assert!(object["proof"]["dependencies"].as_u64() > Some(0));
    let slower = desk.plan(&["--json", "--smp-time", "37200"]).json();
    assert_eq!(slower["plan"]["expected_ns"].as_u64(), facts["expected_ns"].as_u64().map(|time| 2 * time));
    let again = desk.run(&["check", "change.plan", "--json"]).json();
    assert_eq!((&again["sound"], &again["plan"]), (&true.into(), facts));
    assert_eq!(again["proof"], object["proof"]);
}

#[test]
fn what_comes_is_planned_for_too() {
    let whole = bundled("fat-tree-4-2");
    let (spine, other) = (named(&whole, "spine-2"), named(&whole, "spine-3"));
    let desk = Desk::with(&whole.without_nodes(&[spine]), &whole);
    desk.plan(&["-o", "change.plan"]).says(0, &["fabric   7 switches", "comes    spine-2", "yes, proved"]);
    desk.run(&["check", "change.plan"]).says(0, &["comes    spine-2", "yes, the plan is sound"]);
    let desk = Desk::with(&whole.without_nodes(&[spine]), &whole.without_nodes(&[other]));
    desk.plan(&["--planned"]).says(0, &["leaves   spine-3", "comes    spine-2", "yes, proved"]);
    desk.plan(&["--sudden"]).says(3, &["make the change for the loss first"]);
}

#[test]
fn what_leaves_is_named_in_place_of_a_capture() {
    let fabric = bundled("fat-tree-4-2");
    let (spine, host) = (named(&fabric, "spine-1"), named(&fabric, "host-3 HCA-1"));
    let cable = fabric.ports_of(named(&fabric, "leaf-1")).nth(6).expect("a switch has ports");
    let desk = Desk::with(&fabric, &fabric.without_nodes(&[spine, host]).without_links(&[cable]));
    let removed = ["--remove-switch", "spine-1", "--remove-host", "host-3 *", "--remove-link", "leaf-1:6"];
    for departure in ["--planned", "--sudden"] {
        desk.run(&["plan", "before", "after", departure, "-o", "two.plan"]).says(0, &["yes, proved: written"]);
        let asked = [&["plan", "before", departure, "-o", "named.plan"][..], &removed].concat();
        desk.run(&asked).says(0, &["leaves   spine-1, host-3 HCA-1", "yes, proved: written"]);
        assert_eq!(desk.text("two.plan"), desk.text("named.plan"), "{departure}");
    }
    desk.run(&["plan", "before"]).says(2, &["say what changes: --remove-switch, ", "or a second capture"]);
    desk.run(&["plan", "before", "after", "--remove-switch", "spine-1"]).says(2, &["cannot be used with"]);
    desk.run(&["plan", "before", "--remove-switch", "host-1 HCA-1"]).says(2, &["host-1 HCA-1 is no switch"]);
    desk.run(&["plan", "before", "--remove-switch", "spin-1"]).says(2, &["did you mean spine-1?"]);
    let leaf = ["plan", "before", "--remove-switch", "leaf-2"];
    desk.run(&leaf).says(1, &["NO: 4 end ports would be cut off"]);
}

/// A plan is for all hosts; what a manager does before it is said.
#[test]
fn what_comes_before_the_double_scheme_is_said() {
    let fabric = bundled("seed-16");
    let desk = Desk::with(&fabric, &fabric.without_nodes(&[named(&fabric, "switch-12")]));
    let said =
        "a manager first gives ways to 18 of the 37 pairs of a host and a LID that have lost theirs, by 7 writes";
    desk.plan(&["--sudden", "--engine", "lash", "--scheme", "auto"]).says(0, &["scheme double", said]);
    for quiet in [["--sudden", "--scheme", "double"], ["--planned", "--scheme", "auto"]] {
        let output = desk.plan(&[&["--engine", "lash"], &quiet[..]].concat());
        assert!(!output.stdout().contains("a manager first"), "{}", output.stdout());
    }
}

#[test]
fn tables_in_force_are_read_and_no_engine_is_assumed() {
    let fabric = bundled("fat-tree-4-2");
    let desk = Desk::with(&fabric, &fabric);
    desk.run(&["route", "before", "--engine", "nue", "-o", "routed"]).says(0, &[]);
    let asked = ["plan", "routed/fabric.json", "--remove-switch", "spine-1", "--remove-switch", "spine-2"];
    let tables = ["--from-fdbs", "routed/opensm.fdbs", "--engine", "up-down"];
    let object = desk.run(&[&asked[..], &tables, &["--json"]].concat()).json();
    assert_eq!((&object["outcome"], &object["engine"]), (&"proved".into(), &"imported".into()));
    assert_eq!(object["engine_after"], "up-down");
    let assumed = |object: &Value| object["notes"].to_string().contains("are taken to be those of engine");
    assert!(!assumed(&object), "{}", object["notes"]);
    assert!(assumed(&desk.run(&[&asked[..], &["--json"]].concat()).json()));
    // The same cables, and other tables: there is a change to plan.
    desk.run(&[&["plan", "routed/fabric.json", "after"], &tables[..]].concat()).says(0, &["imported → up-down"]);
}

#[test]
fn equal_captures_leave_nothing_to_change() {
    let fabric = bundled("torus-4x4");
    let desk = Desk::with(&fabric, &fabric);
    desk.plan(&["-o", "change.plan"]).says(0, &["nothing to change"]);
    assert!(!desk.path("change.plan").exists());
    assert_eq!(desk.plan(&["--json"]).json()["outcome"], "nothing-to-change");
}

#[test]
fn a_plan_that_cannot_be_proved_is_refused_with_its_cycle_and_not_written() {
    let desk = Desk::losing_the_root("random-regular-16-4");
    desk.write("change.plan", "what was there");
    let refused = desk.plan(&["--scheme", "in-place", "-o", "change.plan"]);
    refused.says(1, &["refused: wave rewrite:", "switch \"", "NO, refused: no plan is written"]);
    assert_eq!(desk.text("change.plan"), "what was there");
    let object = desk.plan(&["--scheme", "in-place", "--json"]).json();
    assert_eq!((&object["outcome"], &object["proof"]), (&"refused".into(), &Value::Null));
    assert!(object["refusal"]["evidence"]["kind"].is_string(), "{}", object["refusal"]);
    desk.plan(&["--scheme", "static", "-o", "static.plan"]).says(0, &["yes, proved"]);
}

#[test]
fn a_baseline_is_written_unproved_when_asked_for_and_marked() {
    let desk = Desk::losing_the_root("random-regular-16-4");
    let written = desk.plan(&["--scheme", "in-place", "--allow-unproved", "-o", "change.plan"]);
    written.says(1, &["NO, refused: written to change.plan"]);
    let plan: Value = serde_json::from_str(&desk.text("change.plan")).expect("JSON");
    let notes = plan["notes"].as_array().expect("a list");
    assert!(notes.iter().any(|note| note.as_str().is_some_and(|note| note.starts_with("NOT PROVED: "))), "{notes:?}");
    desk.run(&["check", "change.plan"]).says(1, &["note: NOT PROVED", "proof    refused", "NO, the plan is not sound"]);
    desk.plan(&["--allow-unproved"]).says(2, &["--output"]);
}

#[test]
fn a_plan_without_its_flush_is_found_out_twice() {
    let desk = Desk::losing_the_root("random-regular-16-4");
    desk.plan(&["-o", "change.plan"]).says(0, &[]);
    let mut plan: Value = serde_json::from_str(&desk.text("change.plan")).expect("JSON");
    let barriers = plan["waves"][0]["barriers"].as_array_mut().expect("a list");
    assert!(barriers.pop().is_some_and(|barrier| barrier["flushed"].is_number()));
    desk.write("change.plan", &plan.to_string());
    let answer = desk.run(&["check", "change.plan"]);
    answer
        .says(1, &["lint     1 found", "split: Barriers", "proof    refused: wave ", "lanes can wait for each other"]);
    let object = desk.run(&["check", "change.plan", "--json"]).json();
    assert_eq!((&object["sound"], &object["findings"][0]["rule"]), (&false.into(), &"barriers".into()));
}

#[test]
fn what_is_no_plan_is_refused_with_its_place() {
    let desk = Desk::losing_the_root("ring-8");
    desk.plan(&["-o", "good.plan"]).says(0, &[]);
    let good = desk.text("good.plan");
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "`{from}` is in no plan");
        good.replacen(from, to, 1)
    };
    let line_of = |part: &str| 1 + good[..good.find(part).expect("in the plan")].matches('\n').count();
    let kind = r#""kind": "switch""#;
    let in_fabric = format!("bad.plan:{}:", line_of(kind));
    let comma = format!("line {}", line_of(r#""digest""#));
    let cases = [
        (String::new(), "line 1 column 0"),
        ("{\"schema\": 7".to_string(), "line 1 column 12"),
        (good[..good.len() / 2].to_string(), "line "),
        (with(r#""scheme": "double","#, r#""scheme": "double""#), &comma),
        (with(r#""scheme": "double""#, r#""scheme": "twice""#), "unknown variant `twice`"),
        (with(r#""scheme":"#, r#""schema2":"#), "unknown field `schema2`"),
        (with("reconfig.plan/2", "reconfig.plan/9"), "its schema is `reconfig.plan/9`, expected `reconfig.plan/2`"),
        (with(kind, r#""kind": "toaster""#), &in_fabric),
        (with("switch-1", "switch-one"), ""),
    ];
    for (text, part) in &cases[..cases.len() - 1] {
        desk.write("bad.plan", text);
        desk.run(&["check", "bad.plan"]).says(2, &[part]);
    }
    // A description is no part of what a plan is for.
    desk.write("bad.plan", &cases[cases.len() - 1].0);
    desk.run(&["check", "bad.plan"]).says(0, &[]);
    desk.run(&["check", "no-such-file"]).says(2, &["cannot read no-such-file"]);
    desk.run(&["check", "before"]).says(2, &["before is not a plan"]);
}

#[test]
fn what_an_accepted_plan_drains_or_leads_to_is_drawn() {
    let desk = Desk::losing_the_root("ring-8");
    desk.plan(&["--dot", "drain.dot", "-o", "change.plan"]).says(0, &[]);
    let (drawing, plan) = (desk.text("drain.dot"), Plan::from_json(&desk.text("change.plan")).expect("a plan"));
    let channels = plan.drain()[0].graph.channels();
    assert!(drawing.starts_with("digraph {") && drawing.trim_end().ends_with('}'), "{drawing}");
    assert_eq!(drawing.matches("label = ").count(), channels.len(), "{drawing}");
    let arcs: usize = channels.iter().map(|channel| channel.predecessors.len()).sum();
    assert_eq!((drawing.matches(" -> ").count(), plan.drain().len()), (arcs, 1));
    assert!(drawing.contains(" → host-1 HCA-1"), "{drawing}");
    // Entries alone drain nothing: what is drawn is the routing afterwards, of what is still there.
    let fabric = bundled("fat-tree-4-2");
    let root = fabric.describe_node(choose_root(&fabric).expect("a fabric has switches"));
    let desk = Desk::losing_the_root("fat-tree-4-2");
    desk.plan(&["--scheme", "ordered", "--dot", "after.dot"]).says(0, &[]);
    let drawing = desk.text("after.dot");
    assert!(drawing.contains(" → host-1 HCA-1") && !drawing.contains(&format!("{root} ")), "{root}: {drawing}");
}

#[test]
fn captures_that_do_not_fit_are_told_apart_from_changes_that_cannot_be_made() {
    let fabric = bundled("fat-tree-4-2");
    let (leaf, host) = (named(&fabric, "leaf-1"), named(&fabric, "host-1 HCA-1"));
    let desk = Desk::with(&fabric, &fabric.without_nodes(&[leaf]));
    desk.plan(&["--sm", "host-1 HCA-1"]).says(2, &["host-1 HCA-1 cannot run the subnet manager", "cut it off"]);
    desk.plan(&["--sm", "nobody"]).says(2, &["no node has the name `nobody`"]);
    desk.plan(&["--lmc", "0"]).says(3, &["has LMC 0, one LID"]);
    desk.plan(&["--vls", "1"]).says(3, &["1 data VL"]);
    desk.plan(&["--vls", "3"]).says(2, &["3 data VLs"]);
    desk.plan(&["--planned", "--sudden"]).says(2, &["cannot be used with"]);
    desk.plan(&["--planned", "--drain", "conservation"]).says(3, &["choose another drain observer than conservation"]);
    desk.plan(&["-o", "/no/such/folder/plan"]).says(3, &["cannot write /no/such/folder/plan"]);
    desk.plan(&[]).says(0, &["cut off  4 end ports:", "host-1 HCA-1[1] (0x"]);
    let home = fabric.ports_of(host).find(|&port| fabric.peer(port).is_some()).expect("a cabled host");
    let desk = Desk::with(&fabric, &moved(&fabric.without_links(&[home]), host));
    // A host whose only cable moves is cut off in between.
    let told = desk.plan(&["--json"]).json();
    assert_eq!((&told["cut_off"][0]["node"], &told["outcome"]), (&"host-1 HCA-1".into(), &"proved".into()));
    assert_eq!(
        (&told["then"]["outcome"], &told["then"]["plan"]["comes"][0]),
        (&"proved".into(), &"host-1 HCA-1".into())
    );
}

#[test]
fn a_planned_change_that_strands_hosts_is_a_no_unless_it_is_meant() {
    let fabric = bundled("fat-tree-4-2");
    let (leaf, host) = (named(&fabric, "leaf-2"), named(&fabric, "host-5 HCA-1"));
    let desk = Desk::with(&fabric, &fabric.without_nodes(&[leaf]));
    let asked = ["plan", "before", "after", "-o", "change.plan"];
    let no = ["NO: 4 end ports would be cut off, host-5 HCA-1[1] (0x", "NO, though proved: no plan is written"];
    desk.run(&asked).says(1, &no);
    assert!(!desk.path("change.plan").exists());
    let object = desk.run(&["plan", "before", "after", "--json"]).json();
    assert_eq!((&object["outcome"], object["cut_off"].as_array().map(Vec::len)), (&"proved".into(), Some(4)));
    assert_eq!(object["cut_off"][0]["node"], "host-5 HCA-1");
    desk.run(&[&asked[..], &["--sudden"]].concat()).says(0, &["cut off  4 end ports:", "yes, proved: written"]);
    desk.run(&[&asked[..], &["--allow-cut-off"]].concat()).says(0, &["cut off  4 end ports:", "yes, proved: written"]);
    desk.run(&[&asked[..], &["--allow-cut-off", "--sudden"]].concat()).says(2, &["cannot be used with"]);
    // What the capture after lacks leaves with its switch.
    let hosts = [5, 6, 7, 8].map(|n| named(&fabric, &format!("host-{n} HCA-1")));
    let desk = Desk::with(&fabric, &fabric.without_nodes(&[leaf]).without_nodes(&hosts));
    desk.run(&asked).says(0, &["host-5 HCA-1[1] (", "whose node leaves", "yes, proved: written"]);
    let desk = Desk::with(&fabric, &fabric.without_nodes(&[host]));
    desk.run(&asked).says(0, &["cut off  1 end port: host-5 HCA-1[1] (", "whose node leaves"]);
}

/// The fabric with the first port of `host` on the first free port of `leaf-2`.
fn moved(fabric: &Fabric, host: NodeId) -> Fabric {
    let leaf = named(fabric, "leaf-2");
    let free = fabric.ports_of(leaf).skip(1).find(|&port| fabric.peer(port).is_none());
    let free = free.unwrap_or_else(|| fabric.ports_of(leaf).last().expect("a switch has ports"));
    let fabric = fabric.without_links(&[free]);
    let text = format::write(&fabric, Format::Json).expect("can be written");
    let mut object: Value = serde_json::from_str(&text).expect("JSON");
    let mut link = object["links"][0].clone();
    let guid = |node: NodeId| fabric.node(node).guid.to_string();
    link["a"] = guid(host).into();
    link["a_port"] = 1.into();
    link["b"] = guid(leaf).into();
    link["b_port"] = fabric.port(free).num.0.into();
    object["links"].as_array_mut().expect("a list").push(link);
    format::read(object.to_string().as_bytes(), "moved").expect("can be read")
}

#[test]
fn help_shows_examples() {
    let desk = Desk::losing_the_root("ring-8");
    for command in ["plan", "check"] {
        desk.run(&[command, "--help"]).says(0, &["Examples:", "Exit codes:"]);
    }
}

/// Two spines of a captured 512-host cluster leave, with what is attached to them.
#[test]
fn a_captured_pair_is_planned_and_proved() {
    let files = ["before", "after"].map(|name| capture(&format!("opensm/rhino512-{name}.subnet.lst")));
    let [Some(before), Some(after)] = files else { return };
    let [before, after] = [&before, &after].map(|path| path.to_str().expect("UTF-8"));
    let desk = Desk(tempfile::tempdir().expect("a folder"));
    let sl_to_vl = ["--sl-to-vl", "optimised"];
    for departure in ["--planned", "--sudden"] {
        let answer =
            desk.run(&[&["plan", before, after, departure, "-o", "change.plan", "--json"], &sl_to_vl[..]].concat());
        let object = answer.json();
        assert_eq!((answer.code(), &object["outcome"]), (Some(0), &"proved".into()));
        assert_eq!(object["plan"]["leaves"].as_array().map(Vec::len), Some(18));
        assert_eq!(object["plan"]["stranded"].as_array().map(Vec::len), Some(0));
        desk.run(&["check", "change.plan"]).says(0, &["yes, the plan is sound"]);
    }
}

/// A small plan, as text.
fn small_plan() -> String {
    let desk = Desk::losing_the_root("ring-8");
    desk.plan(&["--sl-to-vl", "optimised", "--arming", "hold", "-o", "change.plan"]).says(0, &[]);
    desk.text("change.plan")
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever is changed in a file: it is no plan, or it is judged; and a plan that both judges accept is one that
    /// they accept again when it is written anew.
    #[test]
    fn a_damaged_plan_is_judged_and_never_brings_the_judges_down(
        places in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(&b"0123456789abcdef\"[]{},"[..])), 1..4),
        only_digits in any::<bool>(),
    ) {
        static PLAN: std::sync::LazyLock<String> = std::sync::LazyLock::new(small_plan);
        let mut bytes = PLAN.clone().into_bytes();
        let digits: Vec<usize> = (0..bytes.len()).filter(|&at| !only_digits || bytes[at].is_ascii_hexdigit()).collect();
        for (place, byte) in places {
            if !only_digits || byte.is_ascii_hexdigit() {
                bytes[digits[place.index(digits.len())]] = byte;
            }
        }
        let text = String::from_utf8(bytes).expect("ASCII for ASCII");
        if let Ok(plan) = Plan::from_json(&text) {
            let findings = check::lint(&plan);
            let written = plan.to_json();
            if findings.is_empty() && verify::prove(plan).is_ok() {
                let again = Plan::from_json(&written).expect("what was written can be read");
                prop_assert!(check::lint(&again).is_empty() && verify::prove(again).is_ok());
            }
        }
    }
}

#[test]
fn a_plan_for_standard_devices_says_how_long_it_waits() {
    let desk = Desk::losing_the_root("fat-tree-4-2");
    let report = desk.plan(&["--sudden", "--scheme", "double", "--devices", "standard", "--json"]).json();
    // Three times two seconds for hosts, and the longest way by age twice.
    let waits_ns = report["waits_ns"].as_u64().expect("a number");
    assert_eq!(waits_ns, 3 * 2_000_000_000 + 6 * (4096 << 18), "{report}");
    assert_eq!((&report["devices"]["profile"], &report["plan"]["drain"]), (&"standard".into(), &"lifetime".into()));
    desk.plan(&["--sudden", "--scheme", "double", "--devices", "standard"]).says(0, &["and 12.4 s by the clock"]);
    let agents = desk.plan(&["--sudden", "--scheme", "double", "--json"]).json();
    assert_eq!((&agents["devices"]["profile"], agents["waits_ns"].as_u64()), (&"agents".into(), Some(0)), "{agents}");
}

/// The nets of ibsim state no GUIDs here: ibsim numbers nodes in the order of the file.
const BEFORE_NET: &str = r#"
Switch 8 "S1"
[1] "H1"[1]
[2] "H2"[1]
[3] "S2"[3]
[4] "S3"[3]

Switch 8 "S2"
[1] "H3"[1]
[3] "S1"[3]
[4] "S3"[4]

Switch 8 "S3"
[3] "S1"[4]
[4] "S2"[4]

Hca 1 "H1"
[1] "S1"[1]
Hca 1 "H2"
[1] "S1"[2]
Hca 1 "H3"
[1] "S2"[1]
"#;

/// The same in another order, without H1, and with H4.
const AFTER_NET: &str = r#"
Switch 8 "S3"
[3] "S1"[4]
[4] "S2"[4]

Hca 1 "H4"
[1] "S1"[5]
Hca 1 "H3"
[1] "S2"[1]
Hca 1 "H2"
[1] "S1"[2]

Switch 8 "S2"
[1] "H3"[1]
[3] "S1"[3]
[4] "S3"[4]

Switch 8 "S1"
[2] "H2"[1]
[3] "S2"[3]
[4] "S3"[3]
[5] "H4"[1]
"#;

#[test]
fn captures_without_guids_are_matched_by_names() {
    let desk = Desk(tempfile::tempdir().expect("a folder"));
    desk.write("before.net", BEFORE_NET);
    desk.write("after.net", AFTER_NET);
    let difference = desk.run(&["fabric", "diff", "before.net", "after.net", "--json"]);
    let object: Value = serde_json::from_slice(&difference.0.stdout).expect("an object");
    let names =
        |list: &str| object[list].as_array().map(|all| all.iter().map(|node| node["description"].clone()).collect());
    let of = |names: &[&str]| Some(names.iter().map(|&name| Value::from(name)).collect::<Vec<Value>>());
    assert_eq!((names("nodes_gone"), names("nodes_new")), (of(&["H1"]), of(&["H4"])), "{object}");
    let lengths = ["links_gone", "links_new", "links_moved"].map(|list| object[list].as_array().map(Vec::len));
    assert_eq!(lengths, [Some(1), Some(1), Some(0)], "{object}");
    let plan = desk.run(&["plan", "before.net", "after.net", "--json"]);
    let object: Value = serde_json::from_slice(&plan.0.stdout).expect("an object");
    assert_eq!((&object["outcome"], &object["plan"]["leaves"][0]), (&"proved".into(), &"H1".into()), "{object}");
    let told = String::from_utf8_lossy(&plan.0.stderr);
    assert!(told.contains("matched by their names"), "{told}");
    // What stays the same is the same, in whatever order.
    let reordered = AFTER_NET.split_once("\n\nSwitch 8 \"S1\"").map(|(rest, _)| rest).expect("it has that switch");
    desk.write("again.net", &format!("{}\n{reordered}\n", &AFTER_NET[reordered.len()..]));
    let same = desk.run(&["fabric", "diff", "after.net", "again.net"]);
    assert_eq!(same.0.status.code(), Some(0), "{}", String::from_utf8_lossy(&same.0.stdout));
    let twice = AFTER_NET.replace("Switch 8 \"S2\"", "Switch 8 \"S2\"\t# \"S1\"");
    desk.write("twice.net", &twice);
    let refused = desk.run(&["plan", "before.net", "twice.net"]);
    let told = String::from_utf8_lossy(&refused.0.stderr);
    assert!(refused.0.status.code() == Some(2) && told.contains("2 nodes of one of them have the name `S1`"), "{told}");
}

#[test]
fn a_lid_that_changed_is_told_and_kept() {
    let fabric = bundled("fat-tree-4-2");
    let host = fabric.nodes().find(|(_, node)| node.description == "host-5 HCA-1").expect("a host").0;
    let port = fabric.ports_of(host).last().expect("a port");
    let lids = fabric.lid_ports().filter_map(|id| Some((id, fabric.port(id).lid?, fabric.port(id).lmc)));
    let lids = lids.map(|(id, lid, lmc)| (id, if id == port { Lid(99) } else { lid }, lmc));
    let moved = fabric.with_lids(lids).expect("a free LID");
    let told = "1 port has another LID after than before (host-5 HCA-1[1] first: 13 before, 99 after)";
    let desk = Desk::with(&fabric, &moved);
    let nothing = desk.run(&["plan", "before", "after"]);
    let screen = String::from_utf8_lossy(&nothing.0.stdout);
    assert!(nothing.0.status.success() && screen.starts_with("nothing to change") && screen.contains(told), "{screen}");
    let simulated = desk.run(&["simulate", "before", "after"]);
    assert!(String::from_utf8_lossy(&simulated.0.stderr).contains(told), "nothing else differs");
    let root = choose_root(&fabric).expect("a fabric has switches");
    let desk = Desk::with(&fabric, &moved.without_nodes(&[root]));
    let quick = ["--load", "0.05", "--warm-up", "20", "--before", "50", "--after", "50"];
    for command in ["plan", "simulate"] {
        let more: &[&str] = if command == "plan" { &[] } else { &quick };
        let answer = desk.run(&[&[command, "before", "after", "--json"], more].concat());
        let object: Value = serde_json::from_slice(&answer.0.stdout).expect("an object");
        let notes = object["notes"].as_array().expect("notes");
        assert!(notes.iter().any(|note| note.as_str().is_some_and(|note| note.starts_with(told))), "{notes:?}");
    }
}

#[test]
fn what_loses_every_way_is_not_said_to_leave_and_a_plan_without_writes_says_so() {
    let fabric = bundled("fat-tree-4-2");
    let desk = Desk::with(&fabric, &fabric);
    let spines = desk.run(&["plan", "before", "--remove-switch", "spine-*", "--sudden"]);
    spines.says(
        0,
        &["isolated leaf-2, leaf-3, leaf-4\n", "cut off  12 end ports:", "writes   none: the tables in force"],
    );
    assert!(!spines.stdout().contains("0 waves") && !spines.stdout().contains(" wave  SMPs"), "{}", spines.stdout());
    let leaf = desk.run(&["plan", "before", "--remove-switch", "leaf-2", "--sudden", "--json"]).json();
    assert_eq!(leaf["plan"]["leaves"], serde_json::json!(["leaf-2"]));
    assert_eq!(leaf["plan"]["isolated"], Value::Null);
}

#[test]
fn tables_that_are_to_run_afterwards_are_led_to() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    let fabric = format!("{fixtures}/topologies/ghost-cycle.ibnetdiscover");
    let [one, two] = [1, 2].map(|root| format!("{fixtures}/dumps/ghost-cycle-root-{root}.fdbs"));
    let desk = Desk(tempfile::tempdir().expect("a folder"));
    let plan = |from: &str, to: &str, scheme: &str| {
        desk.run(&["plan", &fabric, "--from-fdbs", from, "--to-fdbs", to, "--scheme", scheme, "-o", "plan"])
    };
    // OpenSM's rewrite from one root to the other can deadlock, whatever the other way round does; two halves cannot.
    plan(&one, &two, "in-place").says(1, &["4 lanes can wait for each other in a cycle", "NO, refused"]);
    plan(&one, &two, "double").says(0, &["routing  imported", "yes, proved"]);
    let written = Plan::read(&desk.text("plan"), "plan").expect("a plan");
    assert!(written.waves().iter().map(|wave| wave.writes.len()).sum::<usize>() > 0);
    plan(&one, &one, "in-place").says(0, &[" rewrite     0 ", "yes, proved"]);
    plan(&one, &two, "auto").says(2, &["choose double, in-place or static"]);
    desk.run(&["plan", &fabric, "--to-fdbs", &two, "--to-engine", "up-down"]).says(2, &["cannot be used with"]);
    // The same, under traffic.
    let quick = ["--load", "0.05", "--warm-up", "20", "--before", "50", "--after", "50"];
    let run = |to: &[&str]| {
        desk.run(&[&["simulate", &fabric, "--from-fdbs", &one, "--to-fdbs", &two], &quick[..], to].concat())
    };
    run(&["--planned"]).says(0, &["tables alone change (planned), scheme double", "proof    proved", "nothing lost"]);
    run(&["--planned", "--scheme", "in-place"]).says(0, &["proof    refused: wave rewrite: 4 lanes can wait"]);
    run(&[]).says(2, &["add --planned"]);
    run(&["--planned", "--scheme", "auto"]).says(2, &["choose double, in-place or static"]);
    run(&["--remove-root"]).says(2, &["name the switch that leaves"]);
    run(&["--planned", "--compare"]).says(2, &["not with --compare"]);
    run(&["--steady"]).says(2, &["cannot be used with"]);
    run(&["--at", "5", "--remove-link", "switch-1:1"]).says(2, &["for a change at once"]);
}

#[test]
fn what_comes_by_name_is_planned() {
    let fabric = bundled("fat-tree-4-2");
    let desk = Desk::with(&fabric, &fabric);
    let grown = ["--add-switch", "leaf-5=LIKE:leaf-1", "--add-host", "h-17=leaf-5:1", "--remove-host", "host-3 HCA-1"];
    let plan = desk.run(&[&["plan", "before", "-o", "plan", "--certificate", "certificate"], &grown[..]].concat());
    plan.says(0, &["leaves   host-3 HCA-1\n", "comes    leaf-5, h-17\n", "yes, proved: written to plan"]);
    desk.run(&["check", "plan", "certificate"]).says(0, &["yes, the plan is sound"]);
    desk.run(&["plan", "before", "after", "--add-host", "h-17=spine-1:8"]).says(2, &["cannot be used with"]);
    desk.run(&["plan", "before", "--add-switch", "spine-1"]).says(2, &["expected NAME=LIKE:NODE"]);
}

#[test]
fn a_cable_that_moves_takes_two_plans_and_both_are_checked() {
    let fabric = bundled("fat-tree-4-2");
    let desk = Desk::with(&fabric, &fabric);
    let moved = ["plan", "before", "--move-cable", "leaf-1:5=spine-2:7"];
    let both = [&moved[..], &["-o", "move.plan", "--certificate", "move.certificate", "--json"]].concat();
    let told = desk.run(&both).json();
    assert_eq!((&told["outcome"], &told["then"]["outcome"]), (&"proved".into(), &"proved".into()), "{told}");
    assert_eq!((&told["file"], &told["then"]["file"]), (&"move.plan".into(), &"move.2.plan".into()));
    for (plan, certificate) in [("move.plan", "move.certificate"), ("move.2.plan", "move.2.certificate")] {
        assert_eq!(desk.run(&["check", plan, certificate]).0.status.code(), Some(0), "{plan}");
    }
    // The second begins where the first ends, and has the cable.
    let [first, second] = ["move.plan", "move.2.plan"].map(|name| Plan::from_json(&desk.text(name)).expect("a plan"));
    assert_eq!(first.tables_at(first.waves().len()).lfts, second.tables_at(0).lfts);
    let cables = |plan: &Plan| plan.draft().after.links().count();
    assert_eq!((cables(&first), cables(&second)), (31, 32));
    desk.run(&[&moved[..], &["-o", "-"]].concat()).says(2, &["takes two plans"]);
}

/// OpenSM's ftree dumps tables that lead from spines nowhere to each other. They are taken as they are, and it is said.
#[test]
fn entries_that_the_tables_in_force_lack_are_told() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    let fabric = format!("{fixtures}/topologies/fat-tree-4-2.ibnetdiscover");
    let tables = format!("{fixtures}/dumps/fat-tree-ftree.fdbs");
    let told = "12 entries are absent from the tables in force (4 switches to LIDs of other switches";
    let desk = Desk(tempfile::tempdir().expect("a folder"));
    let asked = ["--from-fdbs", &tables, "--remove-switch", "spine-2"];
    for scheme in ["auto", "double", "in-place"] {
        let planned = desk.run(&[&["plan", &fabric, "--scheme", scheme, "--json"], &asked[..]].concat());
        let object = planned.json();
        assert_eq!(object["outcome"], "proved", "{scheme}: {object}");
        let notes = object["notes"].as_array().expect("notes");
        assert!(
            notes.iter().any(|note| note.as_str().is_some_and(|note| note.starts_with(told))),
            "{scheme}: {notes:?}"
        );
        assert!(!String::from_utf8_lossy(&planned.0.stderr).contains("absent"), "{scheme}: it is told once");
    }
    let quick = ["--load", "0.05", "--warm-up", "20", "--before", "50", "--after", "50", "--planned", "--json"];
    let run = desk.run(&[&["simulate", &fabric, "--scheme", "auto"], &asked[..], &quick[..]].concat()).json();
    assert_eq!((&run["outcome"], &run["lost_in_all"]), (&"completed".into(), &0.into()), "{run}");
    // An entry for a host is another matter.
    let text = std::fs::read_to_string(&tables).expect("a fixture");
    desk.write("holed.fdbs", &text.replacen("0x0009 : 001  : 01   : yes", "0x0009 : UNREACHABLE", 1));
    desk.run(&["plan", &fabric, "--from-fdbs", "holed.fdbs", "--remove-switch", "spine-2"])
        .says(1, &["it has no route", "NO, refused"]);
}

/// The boards of a director leave together, by the number of its section in a capture.
#[test]
fn a_chassis_leaves_by_the_name_of_its_section() {
    let fabric = format!("{}/fixtures/topologies/fat-tree-4-2.ibnetdiscover", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(fabric).expect("a fixture");
    let sections: Vec<&str> = text.split("\nvendid=").collect();
    let of = |names: &[&str]| {
        let is_of = |section: &&&str| names.iter().any(|name| section.contains(&format!("# \"{name}\" base")));
        sections.iter().skip(1).filter(is_of).map(|section| format!("vendid={section}\n")).collect::<String>()
    };
    let spines = ["spine-2", "spine-3"];
    let boards = of(&spines);
    let others = sections.iter().skip(1).map(|section| format!("vendid={section}\n")).collect::<String>();
    let others = spines.iter().fold(others, |text, name| text.replace(&of(&[name]), ""));
    let desk = Desk(tempfile::tempdir().expect("a folder"));
    desk.write("grouped", &format!("Chassis 1 (guid 0x8f1)\n\n# Spine Nodes\n{boards}\nNon-Chassis Nodes\n\n{others}"));
    let planned = desk.run(&["plan", "grouped", "--remove-chassis", "Chassis 1", "--json"]).json();
    let leaves = planned["plan"]["leaves"].as_array().expect("a list").clone();
    assert_eq!(leaves, ["spine-2", "spine-3"].map(Value::from), "{planned}");
    desk.run(&["plan", "grouped", "--remove-chassis", "Chassis 7"])
        .says(2, &["no section `Chassis 7`: it has Chassis 1"]);
}
