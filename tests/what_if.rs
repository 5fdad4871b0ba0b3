//! `reconfig what-if`: what it says of a loss is what `plan` makes of it, and nobody is cut off unsaid.

use crate::support::bundled::bundled;
use reconfig::change::{self, CaptureSettings, Captures, Departure, Judges, Loss, Pace, WhatIf, engine_named};
use reconfig::fabric::PortId;
use reconfig::fabric::format::{Format, write};
use reconfig::fabric::generate::{Options, generate};
use reconfig::ids::Lmc;
use reconfig::plan::{MovedBy, Policy, Scheme};
use reconfig::routing::Parameters;
use reconfig::subnet::DeviceProfile;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

fn reconfig(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.args(arguments).env_remove("RECONFIG_LOG").stdin(Stdio::null()).output().expect("the binary runs")
}

fn fixture(name: &str) -> String {
    format!("{}/fixtures/topologies/{name}.ibnetdiscover", env!("CARGO_MANIFEST_DIR"))
}

/// The exit code, and the object printed.
fn json(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = reconfig(&[arguments, &["--json"]].concat());
    let value = serde_json::from_slice(&output.stdout);
    let value = value.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code(), value)
}

fn losses(report: &Value) -> &Vec<Value> {
    report["losses"].as_array().expect("a list")
}

fn named<'a>(report: &'a Value, name: &str) -> &'a Value {
    let found = losses(report).iter().find(|loss| loss["dies"][0] == name);
    found.unwrap_or_else(|| panic!("{name} is not among {:?}", losses(report).iter().map(|loss| &loss["dies"])))
}

/// A cable goes with the switch at its end: both together are no other loss than the switch.
#[test]
fn no_pair_is_of_a_switch_and_one_of_its_cables() {
    let file = fixture("fat-tree-4-2");
    let (_, report) = json(&["what-if", &file, "--pairs", "--worst", "0"]);
    // 8 switches and 16 cables, each with two ends.
    assert_eq!(losses(&report).len(), 24 * 23 / 2 - 16 * 2);
    for loss in losses(&report) {
        let dies = |rank: usize| loss["dies"][rank].as_str().expect("a name");
        if let (Some(switch), Some(cable)) = (dies(0).strip_prefix("switch "), dies(1).strip_prefix("cable ")) {
            assert!(!cable.split(" – ").any(|end| end.starts_with(&format!("{switch}["))), "{loss}");
        }
    }
    let shown = reconfig(&["what-if", &file, "--pairs", "--worst", "0"]).stdout;
    assert!(String::from_utf8_lossy(&shown).contains(": every two at once, 244 pairs\n"));
}

/// Of more pairs than can be looked at, those of the worst elements are, and everybody is told so.
#[test]
fn of_too_many_pairs_those_of_the_worst_elements_are_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wide.ibnetdiscover");
    let name = file.to_str().unwrap();
    // 120 leaves with a host each, and 12 spines: 1,572 elements.
    reconfig(&["fabric", "generate", "leaf-spine:120,12,1", "-o", name]);
    let refused = reconfig(&["what-if", name, "--pairs"]);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{told}");
    for part in ["1572 switches and cables make 1231926 pairs, more than 1000000", "--worst NUMBER looks at pairs of"] {
        assert!(told.contains(part), "{told}");
    }

    let output = reconfig(&["what-if", name, "--pairs", "--worst", "2", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    let how = "9 741 pairs are looked at: those of the 141 switches and cables, of 1 572, whose loss alone an estimate puts \
               first";
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.replace('\u{a0}', " ").contains(how), "{told}");
    assert_eq!((&report["at_once"], &report["pairs_among"]), (&2.into(), &141.into()));
    // A spine and a cable of its own are no pair, and each of the cables ends at a spine.
    assert_eq!(losses(&report).len(), 141 * 140 / 2 - 129);
    let elements: BTreeSet<&str> =
        losses(&report).iter().flat_map(|loss| loss["dies"].as_array().unwrap()).filter_map(Value::as_str).collect();
    // The loss of a leaf leaves nobody without a way but its own host, so it is no pair that a change could mend.
    let spines = elements.iter().filter(|own| own.starts_with("switch spine-")).count();
    let cables = elements.iter().filter(|own| own.starts_with("cable ")).count();
    assert_eq!((spines, cables, elements.len()), (12, 129, 141));
    assert_eq!(losses(&report).iter().filter(|loss| loss["change"].is_object()).count(), 2);
    assert!(losses(&report)[0]["dies"].as_array().unwrap().iter().all(|own| own.as_str().unwrap().contains("spine-")));

    let page = folder.path().join("page.html");
    let asked = ["what-if", name, "--pairs", "--worst", "0", "--report", page.to_str().unwrap()];
    let shown = reconfig(&asked).stdout;
    let page = std::fs::read_to_string(page).unwrap().replace('\u{a0}', " ");
    assert!(page.len() < 5_000_000 && page.contains(how), "{}", page.len());
    assert!(String::from_utf8_lossy(&shown).contains(": every two of the 141 worst alone at once, 9 741 pairs"));

    // Where all can be looked at, all are.
    let (_, report) = json(&["what-if", &fixture("fat-tree-4-2"), "--pairs", "--worst", "0"]);
    assert!(report["pairs_among"].is_null());
}

/// The page has every loss in the order of the table, and what JSON says of each.
#[test]
fn the_page_lists_every_loss() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let (_, report) = json(&["what-if", &fixture("fat-tree-4-2"), "--report", file.to_str().unwrap()]);
    let page = std::fs::read_to_string(&file).unwrap();
    let body = page.split_once("<tbody>").unwrap().1.split_once("</tbody>").unwrap().0;
    let rows: Vec<&str> = body.split("</tr>").filter(|row| row.contains("<th")).collect();
    assert_eq!(rows.len(), losses(&report).len());
    for (row, loss) in rows.iter().zip(losses(&report)) {
        let row = row.replace("<span class=\"whole\">", "").replace("</span>", "");
        assert!(row.contains(&format!(">{}</th>", loss["dies"][0].as_str().unwrap())), "{row}");
        let smps = loss["change"]["smps"].as_u64().unwrap();
        assert!(row.ends_with(&format!("data-rank=\"{smps}\">{smps}</td>")), "{row}");
    }
}

#[test]
fn each_loss_is_answered_by_the_change_that_plan_makes() {
    let file = fixture("fat-tree-4-2");
    let (code, report) = json(&["what-if", &file, "--engine", "up-down", "--devices", "agents"]);
    assert_eq!((code, losses(&report).len()), (Some(0), 24));
    let removals: [(&str, [&str; 2]); 4] = [
        ("switch spine-1", ["--remove-switch", "spine-1"]),
        ("switch leaf-3", ["--remove-switch", "leaf-3"]),
        ("cable leaf-1[5] – spine-1[1]", ["--remove-link", "leaf-1:5"]),
        ("cable leaf-2[6] – spine-2[2]", ["--remove-link", "spine-2[2]"]),
    ];
    for (name, removal) in removals {
        let (_, plan) = json(&[&["plan", &file, "--sudden"], &removal[..]].concat());
        let (own, facts) = (named(&report, name), &plan["plan"]);
        assert_eq!(own["change"]["scheme"], facts["scheme"], "{name}");
        assert_eq!(own["change"]["smps"], facts["smps"], "{name}");
        assert_eq!(own["change"]["waves"], facts["waves"].as_array().expect("waves").len(), "{name}");
        assert_eq!(own["cut_off"], facts["stranded"], "{name}");
    }
    // All twelve end ports at other leaves, from each of sixteen, go over the root.
    assert_eq!(named(&report, "switch spine-1")["pairs"], 16 * 12);
    assert_eq!(named(&report, "switch spine-2")["pairs"], 0);
    assert_eq!(named(&report, "switch leaf-3")["cut_off"].as_array().map(Vec::len), Some(4));
    assert_eq!(named(&report, "switch leaf-1")["needs_standby"], true);
}

/// As the subnet manager does if it is told nothing: standard devices, and the first engine that can route.
#[test]
fn engines_and_devices_are_those_of_the_subnet_manager() {
    for (name, engine) in [("fat-tree-4-2", "fat-tree"), ("torus-4x4", "up-down-robust")] {
        let (_, report) = json(&["what-if", &fixture(name), "--worst", "0"]);
        assert_eq!((&report["engine"], &report["devices"]["profile"]), (&engine.into(), &"standard".into()), "{name}");
    }
}

/// Four writes to four switches, as many at a time as are under way.
#[test]
fn writes_take_as_long_as_there_are_few_under_way() {
    let spine = |window: &str| {
        let (_, report) = json(&["what-if", &fixture("fat-tree-4-2"), "--window", window]);
        let change = &named(&report, "switch spine-1")["change"];
        assert_eq!(change["smps"], 4);
        change["reconnected_ns"].as_u64().expect("a time")
    };
    assert_eq!(["1", "2", "3", "4", "16"].map(spine), [4, 2, 2, 1, 1].map(|rounds| rounds * 18_600));
}

/// Changes for the worst alone: what is told of these, and of harm, is what is told where every change is planned. They
/// are the first of the list that put pairs out.
#[test]
fn of_the_worst_alone_the_same_is_told() {
    let file = fixture("fat-tree-4-2");
    let (_, all) = json(&["what-if", &file]);
    let (code, worst) = json(&["what-if", &file, "--worst", "3"]);
    assert_eq!((code, losses(&worst).len(), &worst["worst"]), (Some(0), losses(&all).len(), &3.into()));
    let mut least_planned = u64::MAX;
    let mut most_unplanned = 0;
    for loss in losses(&worst) {
        let whole = named(&all, loss["dies"][0].as_str().expect("a name"));
        let pairs = loss["pairs"].as_u64().expect("a number");
        if loss["change"].is_null() {
            assert_eq!((&loss["cut_off"], &loss["pairs"]), (&whole["cut_off"], &whole["pairs"]));
            most_unplanned = most_unplanned.max(pairs);
        } else {
            assert_eq!(loss, whole);
            least_planned = least_planned.min(pairs);
        }
    }
    assert_eq!(losses(&worst).iter().filter(|loss| !loss["change"].is_null()).count(), 3);
    assert!(least_planned >= most_unplanned && most_unplanned > 0, "{least_planned} {most_unplanned}");
    let text = String::from_utf8(reconfig(&["what-if", &file, "--worst", "3"]).stdout).expect("UTF-8");
    // Leaves cut more off than spines, and come below these: nothing was planned for them.
    let (_, rows) = text.split_once("\n loss ").expect("a table");
    let rows: Vec<&str> = rows.lines().skip(1).take_while(|row| !row.is_empty()).collect();
    assert!(rows[..3].iter().all(|row| row.contains("switch spine-") && row.contains("ordered")), "{text}");
    assert!(rows[3].contains("switch leaf-") && rows[3..20].iter().all(|row| row.contains("not planned")), "{text}");
    assert!(rows[20].ends_with("less harmful or not planned (--all lists them)"), "{text}");
    let planned: Vec<bool> = losses(&worst).iter().map(|loss| !loss["change"].is_null()).collect();
    assert!(planned.is_sorted_by(|a, b| a >= b), "JSON has the same order: {planned:?}");
    assert!(text.contains("changes were planned for 3 of "), "{text}");
}

/// Where cables put more pairs out than switches with hosts of their own, the order is still that of the list.
#[test]
fn the_worst_that_are_planned_for_are_the_first_that_put_pairs_out() {
    let (_, report) = json(&["what-if", &fixture("torus-4x4"), "--worst", "3"]);
    let out = losses(&report).iter().filter(|loss| loss["pairs"] != 0);
    let planned: Vec<bool> = out.map(|loss| !loss["change"].is_null()).collect();
    assert!(planned.len() > 3 && planned.iter().enumerate().all(|(rank, own)| *own == (rank < 3)), "{planned:?}");
}

/// Pairs that are back after the first of two waves do not count until the second: the mean is far below the last, most
/// of which is waiting. Page and screen say so.
#[test]
fn time_that_is_spent_waiting_is_not_called_writing() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    let asked = ["what-if", &fixture("torus-4x4"), "--pairs", "--all", "--report", page.to_str().expect("UTF-8")];
    let (_, report) = json(&asked);
    let number = |loss: &Value, name: &str| loss["change"][name].as_u64().expect("a number");
    let waits = |loss: &&Value| loss["change"]["waits"] == true;
    let waiting: Vec<&Value> = losses(&report).iter().filter(waits).collect();
    assert!(!waiting.is_empty());
    for loss in &waiting {
        let [last, waited, mean] = ["reconnected_ns", "waited_ns", "mean_outage_ns"].map(|name| number(loss, name));
        assert!(waited > 1_000_000_000 && last - waited < 10_000_000 && mean <= last, "{loss}");
    }
    let soon = |loss: &&Value| number(loss, "mean_outage_ns") < number(loss, "reconnected_ns") / 2;
    assert!(waiting.iter().copied().any(|loss| soon(&loss)), "some pairs are back long before the last");
    assert!(losses(&report).iter().filter(|loss| !waits(loss)).all(|loss| number(loss, "waited_ns") == 0));
    // Pairs times the mean are what sorts those that cut off equally many.
    let harm = |loss: &Value| loss["pairs"].as_u64().expect("a number") * number(loss, "mean_outage_ns");
    let uncut: Vec<u64> =
        losses(&report).iter().filter(|loss| loss["cut_off"] == serde_json::json!([])).map(harm).collect();
    assert!(uncut.len() > 100 && uncut.is_sorted_by(|a, b| a >= b), "{uncut:?}");
    let page = std::fs::read_to_string(page).expect("written");
    assert!(page.contains(">of it waiting<") && !page.to_lowercase().contains("writes take"));
    let text = String::from_utf8(reconfig(&["what-if", &fixture("torus-4x4"), "--pairs"]).stdout).expect("UTF-8");
    assert!(text.contains("  of it waiting  ") && !text.contains("writes take"), "{text}");
    let single = String::from_utf8(reconfig(&["what-if", &fixture("fat-tree-4-2")]).stdout).expect("UTF-8");
    assert!(single.contains("  last back  ") && !single.contains("of it waiting"), "nothing waits there: {single}");
}

/// Those for which changes are planned are chosen by an estimate, and the screen says so.
#[test]
fn the_choice_of_the_worst_is_called_an_estimate() {
    let said = |more: &[&str]| {
        let file = fixture("torus-4x4");
        let text = String::from_utf8(reconfig(&[&["what-if", &file], more].concat()).stdout).expect("UTF-8");
        text.contains("note: changes were planned for the 3 that an estimate puts first")
            && text.contains("may do more harm")
    };
    assert!(said(&["--worst", "3"]));
    assert!(!said(&[]));
}

/// On a large fabric the answer is the change by which the manager brings hosts back first. It serves all of them, and
/// is no later than the whole change that `plan` makes.
#[test]
fn on_large_fabrics_hosts_come_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("large.ibnetdiscover");
    let file = file.to_str().expect("UTF-8");
    assert!(reconfig(&["fabric", "generate", "leaf-spine:200,20,2", "-o", file]).status.success());
    let (code, report) = json(&["what-if", file, "--engine", "fat-tree", "--worst", "3"]);
    assert_eq!(code, Some(0));
    let planned: Vec<&Value> = losses(&report).iter().filter(|loss| !loss["change"].is_null()).collect();
    assert_eq!(planned.len(), 3);
    for loss in planned {
        let change = &loss["change"];
        assert_eq!((&change["scheme"], &change["hosts_that_move"]), (&"ordered".into(), &0.into()), "{loss}");
        assert!(change["notes"].to_string().contains("hosts have ways again before it is found and judged"), "{loss}");
        let name = loss["dies"][0].as_str().and_then(|name| name.strip_prefix("switch ")).expect("spines have most");
        let asked =
            ["plan", file, "--engine", "fat-tree", "--sudden", "--devices", "standard", "--remove-switch", name];
        let (_, plan) = json(&asked);
        assert_eq!(loss["cut_off"], plan["plan"]["stranded"]);
        assert!(change["smps"].as_u64() <= plan["plan"]["smps"].as_u64(), "{loss}");
        assert_eq!(change["reconnected_ns"], change["mean_outage_ns"], "one wave: {loss}");
    }
}

#[test]
fn the_screen_says_what_planning_took_and_what_is_set_otherwise_than_the_profile() {
    let file = fixture("ring-8");
    let asked = ["what-if", &file, "--devices", "standard", "--settle", "3"];
    let text = |more: &[&str]| String::from_utf8(reconfig(&[&asked, more].concat()).stdout).expect("UTF-8");
    let all = text(&[]);
    assert!(all.contains("\ndevices  standard except for --settle (drain by lifetime of "), "{all}");
    let (_, time) = all.split_once("\ntime     planning took ").expect("a time");
    let (mean, most) = time.lines().next().and_then(|line| line.split_once(" on average and ")).expect("two times");
    assert!(
        mean.ends_with('s') && most.contains("s at most (") && most.ends_with("comes before the first write"),
        "{time}"
    );
    assert!(!text(&["--worst", "0"]).contains("\ntime "), "nothing was planned");
    assert!(!text(&["--json"]).contains("took"), "what is measured is no result");
}

#[test]
fn the_worst_come_first_and_what_is_not_proved_is_the_worst() {
    // With one LID a port there is no other half, and lash leaves some rows no way on their layer.
    let file = fixture("mesh-4x4");
    let asked = ["what-if", &file, "--engine", "lash", "--lmc", "0"];
    let (code, report) = json(&asked);
    let refused: Vec<bool> = losses(&report).iter().map(|loss| !loss["refusal"].is_null()).collect();
    let bad = refused.iter().filter(|refused| **refused).count();
    assert!(code == Some(1) && bad > 0 && bad < refused.len() && refused.is_sorted_by(|a, b| a >= b), "{refused:?}");
    assert!(losses(&report).iter().all(|loss| loss["change"].is_null() != loss["refusal"].is_null()));
    let shown = reconfig(&asked);
    let text = String::from_utf8(shown.stdout).expect("UTF-8");
    assert!(text.ends_with(&format!("NO PROVED CHANGE answers {bad} of 40\n")), "{text}");
    assert_eq!(text.matches("NONE PROVED").count(), bad, "{text}");
    let cut_off = losses(&report)[bad..].iter().map(|loss| loss["cut_off"].as_array().map_or(0, Vec::len));
    assert!(cut_off.is_sorted_by(|a, b| a >= b), "of those that are answered, who cuts off most comes first");
}

#[test]
fn a_loss_by_which_hosts_move_says_why() {
    let (code, report) = json(&["what-if", &fixture("torus-4x4"), "--engine", "dfsssp"]);
    let double: Vec<&Value> = losses(&report).iter().filter(|loss| loss["change"]["scheme"] == "double").collect();
    assert!(code == Some(0) && !double.is_empty());
    for loss in double {
        let notes = loss["change"]["notes"].as_array().expect("a list");
        assert!(
            notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains("scheme ordered was passed over")))
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.html");
    let asked = ["what-if", &fixture("torus-4x4"), "--engine", "dfsssp", "--report", file.to_str().expect("UTF-8")];
    let text = String::from_utf8(reconfig(&asked).stdout).expect("UTF-8");
    assert!(
        text.contains("hosts move after the loss of ") && text.contains(": scheme ordered was passed over"),
        "{text}"
    );
    let page = std::fs::read_to_string(&file).expect("a page");
    assert!(
        page.contains("Why hosts move") && page.contains("<p>Scheme ordered was passed over"),
        "the page says it too"
    );
}

/// Where losses that cut somebody off fill the list, those that put pairs out follow.
#[test]
fn pairs_that_are_out_are_listed_below_those_who_are_cut_off() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wide.ibnetdiscover");
    let wide = reconfig(&["fabric", "generate", "leaf-spine:21,2,1", "-o", file.to_str().expect("UTF-8")]);
    assert!(wide.status.success(), "{}", String::from_utf8_lossy(&wide.stderr));
    let asked = ["what-if", file.to_str().expect("UTF-8"), "--engine", "fat-tree"];
    let text = String::from_utf8(reconfig(&asked).stdout).expect("UTF-8");
    let (above, below) =
        text.split_once("not listed, the ten by which most pairs are out for longest:").expect("a second list");
    let (_, above) = above.split_once("\n loss ").expect("a table");
    assert!(above.contains("switch leaf-") && !above.contains("switch spine-"), "{above}");
    let rows: Vec<&str> = below.lines().skip(2).take_while(|line| !line.is_empty()).collect();
    assert_eq!(rows.len(), 10, "{below}");
    assert!(rows[..2].iter().all(|row| row.trim_start().starts_with("switch spine-")), "{below}");
    assert!(rows[2..].iter().all(|row| row.trim_start().starts_with("cable leaf-")), "{below}");
    let all = String::from_utf8(reconfig(&[&asked[..], &["--all"]].concat()).stdout).expect("UTF-8");
    assert!(!all.contains("by which most pairs are out for longest"), "all are listed already");
}

/// A chain of switches with a host each: the middle one takes the far end with it.
#[test]
fn who_is_cut_off_beyond_the_loss_is_counted() {
    let ring = bundled("ring-8");
    let cut = ring.links().find(|&(a, b)| [a, b].iter().all(|&end| ring.node(ring.port(end).node).is_switch()));
    let chain = ring.without_links(&[cut.expect("a cable between switches").0]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("chain.ibnetdiscover");
    std::fs::write(&file, write(&chain, Format::Ibnetdiscover).expect("it can be written")).expect("written");
    let (code, report) = json(&["what-if", file.to_str().expect("UTF-8")]);
    assert_eq!((code, losses(&report).len()), (Some(0), 8 + 7));
    let elsewhere = |loss: &Value| loss["cut_off_elsewhere"].as_u64().expect("a number");
    let all = |loss: &Value| loss["cut_off"].as_array().expect("a list").len() as u64;
    // Two hosts a switch. A switch inside takes its own with it and cuts one side off; a cable cuts one side off.
    for loss in losses(&report) {
        let own = if loss["dies"][0].as_str().is_some_and(|name| name.starts_with("switch")) { 2 } else { 0 };
        assert_eq!(all(loss) - elsewhere(loss), own, "{loss}");
    }
    let ends = losses(&report).iter().filter(|loss| elsewhere(loss) == 0).count();
    assert_eq!(ends, 2, "only the switches at the ends cut off none but their own");
}

#[test]
fn a_file_has_every_loss_and_the_number_of_threads_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = |threads: &str| {
        let file = folder.path().join(threads);
        let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
        command.args(["what-if", &fixture("ring-8"), "--host-cables", "--csv"]).arg(&file);
        let done = command.env("RAYON_NUM_THREADS", threads).stdin(Stdio::null()).output().expect("it runs");
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
        std::fs::read_to_string(file).expect("written")
    };
    let (one, three) = (text("1"), text("3"));
    assert_eq!(one, three);
    let mut rows = csv::Reader::from_reader(one.as_bytes());
    assert_eq!(
        rows.headers().expect("a head").iter().take(3).collect::<Vec<_>>(),
        ["dies", "cut_off", "cut_off_elsewhere"]
    );
    let dies: BTreeSet<String> = rows.records().map(|row| row.expect("whole")[0].to_string()).collect();
    assert_eq!(dies.len(), 8 + 8 + 16);
}

/// Names of those who are cut off, in words why there is no change, and a line for each loss.
#[test]
fn a_row_of_a_file_says_who_is_cut_off_and_why_no_change_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("losses.csv");
    let of = |arguments: &[&str]| {
        let (_, report) = json(&[&["what-if"], arguments, &["--csv", file.to_str().expect("UTF-8")]].concat());
        let text = std::fs::read_to_string(&file).expect("written");
        assert_eq!(text.lines().count(), 1 + losses(&report).len(), "{text}");
        let mut rows = csv::Reader::from_reader(text.as_bytes());
        let header = rows.headers().expect("a head").clone();
        let rows: Vec<_> = rows.records().map(|row| row.expect("whole")).collect();
        let column = |name: &str| {
            let at = header.iter().position(|own| own == name).expect("a column");
            rows.iter().map(|row| row[at].to_string()).collect::<Vec<String>>()
        };
        (losses(&report).clone(), ["names_cut_off", "scheme", "refusal"].map(column))
    };
    let (all, [names, schemes, _]) = of(&[&fixture("fat-tree-4-2"), "--worst", "2"]);
    for (loss, names) in all.iter().zip(&names) {
        let own: Vec<&str> = loss["cut_off"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        assert_eq!(names, &own.join("; "));
    }
    assert!(names.iter().any(|names| names.contains("; ")), "{names:?}");
    assert_eq!(schemes.iter().filter(|scheme| *scheme == "not planned").count(), all.len() - 2, "{schemes:?}");
    assert!(of(&[&fixture("fat-tree-4-2")]).1[1].contains(&"none needed".to_string()));
    let (_, [_, schemes, refusals]) = of(&[&fixture("mesh-4x4"), "--engine", "lash", "--lmc", "0"]);
    for (scheme, refusal) in schemes.iter().zip(&refusals) {
        assert_eq!(scheme == "none proved", !refusal.is_empty(), "{scheme}: {refusal}");
    }
}

/// Of a fabric of one switch nobody is left, who could ask for a change.
#[test]
fn where_nobody_is_left_no_change_is_missed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("one.ibnetdiscover");
    let file = file.to_str().expect("UTF-8");
    assert!(reconfig(&["fabric", "generate", "random-regular:1,0,4", "-o", file]).status.success());
    let (code, report) = json(&["what-if", file]);
    assert_eq!((code, &losses(&report)[0]["nobody_left"], losses(&report).len()), (Some(0), &true.into(), 1));
    let text = String::from_utf8(reconfig(&["what-if", file]).stdout).expect("UTF-8");
    assert!(
        text.ends_with("; no host is left that could manage the subnet\n") && text.contains("no host left"),
        "{text}"
    );
}

#[test]
fn tables_of_another_moment_are_asked_after() {
    let dump = format!("{}/fixtures/dumps/fat-tree-spine-2-before.dump_fts", env!("CARGO_MANIFEST_DIR"));
    let tables = ["--from-lfts", &dump];
    let removal = ["--remove-switch", "spine-1", "--planned"];
    for (command, change) in [("what-if", &[][..]), ("plan", &removal), ("simulate", &removal)] {
        let output = reconfig(&[&[command, &fixture("fat-tree-4-2")], change, &tables].concat());
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("owns it; are both files of the same moment?"), "{command}: {said}");
    }
}

/// An interrupt ends the looks that are under way, and begins no others.
#[test]
fn losses_are_looked_at_in_their_order_until_nothing_is_said_of_one() {
    let losses = vec![Loss { nodes: Vec::new(), links: Vec::new() }; 100];
    let looks = AtomicUsize::new(0);
    let ten = change::each(&losses, &|_| Some(looks.fetch_add(1, Ordering::Relaxed)).filter(|&rank| rank < 10));
    assert_eq!(ten.iter().flatten().count(), 10);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(ten[10 + threads..].iter().all(Option::is_none), "{ten:?}");
    assert!(change::each(&losses, &|_| Some(())).iter().all(Option::is_some));
    assert!(change::each(&[], &|_| Some(())).is_empty());
}

/// Fabric, engine. Of the fat trees some cables are missing.
const JUDGED: [(&str, &str, bool); 7] = [
    ("fat-tree:4,2", "fat-tree", true),
    ("fat-tree:4,3", "fat-tree", true),
    ("leaf-spine:6,3,3", "up-down-robust", true),
    ("torus:3x4,1", "up-down", false),
    ("mesh:4x4,1", "lash", false),
    ("ring:6", "up-down", false),
    ("dragonfly:2,4,2", "up-down-robust", false),
];

/// The prover alone, by difference where that is enough, answers every loss as all judges do: switches, cables, pairs.
#[test]
fn the_prover_alone_answers_as_all_judges_do() {
    let settings = DeviceProfile::Standard.settings();
    let settle_ns = settings.sources.settle_ns();
    let pace = Pace { smps: settings.rate(), lifetime_ns: settings.switch_life_ns, settle_ns };
    let (mut changes, mut refused) = (0, 0);
    for (topology, engine, is_damaged) in JUDGED {
        let whole = generate(&topology.parse().expect("a topology"), &Options::default()).expect("it exists");
        let is_switch = |port| whole.neighbour(port).is_some_and(|node| whole.node(node).is_switch());
        let between = whole.links().filter(|&(a, b)| is_switch(a) && is_switch(b)).map(|(a, _)| a);
        let missing: Vec<PortId> = between.step_by(9).filter(|_| is_damaged).collect();
        let fabric = whole.without_links(&missing);
        let named = engine_named(engine, &Parameters::default()).expect("an engine");
        let captures = Captures {
            before: &fabric,
            after: &fabric,
            departure: Departure::Sudden,
            settings: CaptureSettings { data_vls: 4, optimised_sl_to_vl: None, lmc: Lmc::masked(1), reserved_sl: None },
            vls_fixed: false,
            lmc_fixed: false,
            sm: None,
            engine: &*named,
            engine_after: &*named,
            scheme: Scheme::Double,
            auto: true,
            settle_ns,
            policy: Policy { observer: settings.observer, sources: MovedBy::of_settle(settle_ns), ..Policy::default() },
        };
        let [alone, all] = [Judges::Prover, Judges::All]
            .map(|judges| WhatIf::of(&captures, pace, judges).unwrap_or_else(|error| panic!("{topology}: {error}")));
        let switches = alone.fabric().switches().map(|node| Loss { nodes: vec![node], links: Vec::new() });
        let cables = alone.cables(true).into_iter().map(|port| Loss { nodes: Vec::new(), links: vec![port] });
        let single: Vec<Loss> = switches.chain(cables).collect();
        let both = |at: usize| Loss {
            nodes: [&single[at].nodes[..], &single[at * 5 % single.len()].nodes].concat(),
            links: [&single[at].links[..], &single[at * 5 % single.len()].links].concat(),
        };
        let pairs = (1..single.len()).step_by(2).filter(|&at| at != at * 5 % single.len()).map(both);
        for loss in single.iter().cloned().chain(pairs) {
            let (own, full) = (alone.after(&loss), all.after(&loss));
            assert_eq!(own, full, "{topology} by {engine}, {loss:?}");
            changes += usize::from(matches!(&own.change, Some(Ok(change)) if change.writes > 0));
            refused += usize::from(matches!(&own.change, Some(Err(_))));
        }
    }
    assert!(changes > 200, "{changes} changes, {refused} refused");
}

/// On the line that a ring leaves, four pairs are back when the first wave has landed, and four when the second has:
/// both are counted from the first write, each for its own time.
#[test]
fn a_pair_is_back_when_its_own_wave_has_landed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ring.ibnetdiscover");
    let file = file.to_str().expect("UTF-8");
    assert!(reconfig(&["fabric", "generate", "ring:6", "-o", file]).status.success());
    let (_, report) = json(&["what-if", file, "--engine", "up-down"]);
    let loss = named(&report, "switch switch-1");
    let change = &loss["change"];
    assert_eq!((&loss["pairs"], &change["waves"], &change["waited_ns"]), (&8.into(), &2.into(), &0.into()));
    let wave_ns = 18_600;
    assert_eq!(change["reconnected_ns"], 2 * wave_ns);
    assert_eq!(change["mean_outage_ns"], (4 * wave_ns + 4 * 2 * wave_ns) / 8);
}
