//! What an administrator asks after a loss: how long pairs were without connection, what was lost in all, and who is
//! cut off. Whoever removes a switch on purpose is told beforehand whom that strands.

use super::command::{FABRIC, QUICK, screen, simulate};
use super::{run, small};
use crate::support::bundled::bundled;
use crate::support::capture::capture;
use crate::support::is_thorough;
use reconfig::plan::Scheme;
use reconfig::scenario::{Departure, Element, HostLosses, OutageReport, Scenario, SimulationReport};
use serde_json::Value;
use std::path::Path;

fn outage(report: &SimulationReport) -> &OutageReport {
    report.outage.as_ref().expect("something changes")
}

fn longest_ns(report: &SimulationReport) -> u64 {
    outage(report).longest.as_ref().expect("some pair is back").ns
}

#[test]
fn the_double_scheme_reconnects_later_than_a_rewrite_in_place() {
    // Enough traffic that every pair is seen again.
    let scenario = Scenario { load: Some(0.25), after_ns: 500_000, ..small(bundled("fat-tree-4-2")) };
    let of = |scheme| run(&Scenario { scheme, ..scenario.clone() });
    let (double, in_place) = (of(Scheme::Double), of(Scheme::InPlace));
    for report in [&double, &in_place] {
        let own = outage(report);
        assert_eq!((own.pairs, own.back, own.cut_off), (192, 192, 0), "all that led over the dead spine: {own:?}");
        assert_eq!(report.lost_in_all, report.packets.lost_to_failure + report.packets.lost_to_change);
        assert!(own.mean_ns <= Some(longest_ns(report)), "{own:?}");
        // Nobody is reconnected before the manager has found the loss.
        let sweep = report.changes[0].sweep.as_ref().expect("it was sudden");
        assert!(own.mean_ns > Some(sweep.end_ns - sweep.start_ns), "{own:?} {sweep:?}");
    }
    assert!(longest_ns(&double) > longest_ns(&in_place));
    assert!(outage(&double).mean_ns > outage(&in_place).mean_ns && double.lost_in_all > in_place.lost_in_all);
}

/// The mean of a few says nothing of the others: it says of whom it is, and what would show more of them.
#[test]
fn figures_of_few_pairs_say_so_and_what_would_show_more() {
    let asked = |after: &str| {
        let settings = ["--remove-root", "--load", "0.0002", "--after", after, "--json", FABRIC];
        let output = simulate(&settings);
        serde_json::from_slice::<Value>(&output.stdout).expect("an object")
    };
    let note = |report: &Value| {
        let notes = report["notes"].as_array().expect("notes").iter().filter_map(Value::as_str);
        notes.map(str::to_string).find(|note| note.contains("are seen to be back"))
    };
    let seldom = asked("100");
    let told = note(&seldom).expect("most pairs send nothing more");
    let (back, all) = (&seldom["outage"]["back"], &seldom["outage"]["pairs"]);
    assert!(told.starts_with(&format!("{back} of {all} pairs of end ports are seen to be back, ")), "{told}");
    let after = told.split("--after ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a number");
    let longer = asked(after);
    let of = |name: &str| longer["outage"][name].as_u64().expect("a number");
    assert!(note(&longer).is_none() && of("back") * 10 > of("pairs") * 8, "{}", longer["outage"]);
    let (_, shown) = screen(&["--remove-root", "--load", "0.0002", "--after", "100", FABRIC]);
    assert!(shown.contains(&format!(" lost packets; {back} back: longest ")), "{shown}");
}

#[test]
fn nobody_is_out_where_nothing_is_lost() {
    let scenario = Scenario { departure: Departure::Planned, ..small(bundled("fat-tree-4-2")) };
    let double = run(&scenario);
    let none =
        OutageReport { pairs: 0, back: 0, longest: None, mean_ns: None, still_out: 0, not_seen_again: 0, cut_off: 0 };
    assert_eq!((double.lost_in_all, outage(&double)), (0, &none));
    let stopped = run(&Scenario { scheme: Scheme::Static, ..scenario });
    assert!(stopped.lost_in_all > 0 && outage(&stopped).pairs > 0, "{:?}", stopped.outage);
}

#[test]
fn a_dead_leaf_cuts_its_hosts_off_and_no_change_is_to_blame() {
    let fabric = bundled("fat-tree-4-2");
    let leaf = fabric.nodes().find(|(_, node)| node.description == "leaf-2").expect("a leaf").0;
    let report = run(&Scenario { change: Element::Switch(leaf).into(), ..small(fabric) });
    let names: Vec<(&str, u8, bool)> =
        report.changes[0].cut_off.iter().map(|port| (port.node.as_str(), port.port, port.leaves)).collect();
    let expected = ["host-5 HCA-1", "host-6 HCA-1", "host-7 HCA-1", "host-8 HCA-1"].map(|name| (name, 1, false));
    assert_eq!(names, expected);
    assert_eq!(outage(&report).pairs, 0, "{:?}", report.outage);
    // 240 pairs of 16 hosts, 132 of the 12 that are left, whatever they send.
    assert_eq!(outage(&report).cut_off, 108);
    assert!(report.packets.stranded > 0, "{:?}", report.packets);
    assert!(report.is_yes() && report.strands().is_none(), "it was sudden");
    // End ports tell the same as the run: what is stranded is not lost, and who is cut off has no pair to come back.
    let sum = |of: fn(&HostLosses) -> u64| report.hosts.iter().map(of).sum::<u64>();
    assert_eq!(sum(|host| host.lost_sent), report.lost_in_all);
    assert_eq!(sum(|host| host.stranded), 2 * report.packets.stranded, "each with its sender and its receiver");
    assert!(report.hosts.iter().any(|host| host.cut_off > 0));
    assert_eq!(sum(|host| host.not_back), 0, "{:?}", report.hosts);
}

/// The last two lines of the screen.
fn verdict(screen: &str) -> (&str, &str) {
    // What another scheme would do comes after the verdict, and notes come before it.
    let mut lines = screen.lines().rev().filter(|line| !line.starts_with("auto: ") && !line.starts_with("note: "));
    let last = lines.next().unwrap_or_default();
    (lines.next().unwrap_or_default(), last)
}

#[test]
fn a_planned_removal_that_strands_hosts_is_a_no_unless_it_is_meant() {
    let removal = ["--remove-switch", "leaf-2"];
    let asked = |more: &[&str]| screen(&[&removal, more, &QUICK, &[FABRIC]].concat());
    let (code, shown) = asked(&["--planned"]);
    let (answer, last) = verdict(&shown);
    assert_eq!(code, Some(1), "{shown}");
    assert!(answer.starts_with("NO: 4 end ports would be cut off, host-5 HCA-1[1] (0x"), "{answer}");
    assert!(answer.ends_with("pass --allow-cut-off if this is intended"), "{answer}");
    assert!(last.starts_with("completed in ") && last.contains("; 4 end ports cut off; "), "{last}");
    for part in ["\ncut off  4 end ports:\n", "\n         host-8 HCA-1[1] (0x", "\nlost     nothing\n"] {
        assert!(shown.contains(part), "`{part}` is missing:\n{shown}");
    }
    for (more, lost) in
        [(&["--planned", "--allow-cut-off"][..], "lost     nothing"), (&["--sudden"], "outage   none; ")]
    {
        let (code, shown) = asked(more);
        let (before, last) = verdict(&shown);
        assert_eq!((code, before), (Some(0), ""), "{shown}");
        assert!(last.contains("; 4 end ports cut off; ") && shown.contains(lost), "{shown}");
    }
    let (code, shown) = asked(&["--planned", "--compare"]);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("\ncut off  4 end ports:\n") && shown.contains("\nNO: 4 end ports"), "{shown}");
    let (code, shown) = asked(&["--planned", "--json"]);
    let report: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!((code, report["changes"][0]["cut_off"].as_array().map(Vec::len)), (Some(1), Some(4)));
    assert!(report["changes"][0]["cut_off"][0]["guid"].is_string() && report["outage"]["pairs"] == 0, "{report}");
}

#[test]
fn a_comparison_shows_what_was_lost_in_all_and_for_how_long() {
    let (code, shown) = screen(&[&["--remove-root", "--compare"], &QUICK[..], &[FABRIC]].concat());
    assert_eq!(code, Some(0), "{shown}");
    for line in
        ["\nfabric   8 switches,", "\nrouting  up-down", "\ntraffic  load 5.0 %; seed 1", "\nauto loses least ("]
    {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    for row in [
        "lost in all",
        "pairs that lost packets",
        "pairs back",
        "outage longest, of these",
        "outage mean, of these",
        "pairs still out",
        "pairs that sent no more",
    ] {
        let values = shown.lines().find_map(|line| line.trim_start().strip_prefix(row));
        let values = values.unwrap_or_else(|| panic!("no row `{row}`:\n{shown}")).split_whitespace().count();
        assert!(values >= 4, "{row}: one for each scheme\n{shown}");
    }
}

/// A circle that closes soon leaves few packets to measure: what they show is not to pass for the best.
#[test]
fn a_run_that_deadlocks_is_best_in_nothing_and_losses_are_named() {
    let fabric = format!("{BUNDLED_FILES}/fat-tree-three-level.ibnetdiscover");
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    let (_, shown) =
        screen(&["--remove-root", "--compare", "--report", page.to_str().expect("a name in UTF-8"), &fabric]);
    let row = |name: &str| -> Vec<&str> {
        let cells = shown.lines().find_map(|line| line.trim_start().strip_prefix(name));
        let cells = cells.unwrap_or_else(|| panic!("no row `{name}`:\n{shown}")).split("  ");
        cells.map(str::trim).filter(|cell| !cell.is_empty()).collect()
    };
    let outcomes = row("outcome");
    let [of_static, of_in_place] = [outcomes[outcomes.len() - 2], outcomes[outcomes.len() - 1]];
    assert_eq!((of_static, of_in_place), ("completed with losses", "deadlocked"), "{shown}");
    assert!(shown.contains("\na deadlock ends its run: "), "{shown}");
    let text = std::fs::read_to_string(&page).expect("the page was written").replace('\u{a0}', " ");
    let (_, table) = text.split_once("Schemes side by side</h2>").expect("a table");
    let table = table.split("</table>").next().expect("its end");
    let listed: Vec<&str> = ["outcome"].into_iter().chain(MEASURED_DURING).chain(LOST_UNTIL_THEN).collect();
    for name in listed {
        let cells = row(name);
        let last = cells.last().expect("a cell");
        match name {
            "outcome" => assert_eq!(*last, "deadlocked", "{shown}"),
            _ if MEASURED_DURING.contains(&name) => assert_eq!(*last, "–", "{name}\n{shown}"),
            _ => assert!(last.starts_with("≥ "), "{name}\n{shown}"),
        }
        let (_, on_page) = table.split_once(&format!("<th scope=\"row\">{name}</th>")).expect("a row");
        let on_page = on_page.split("</tr>").next().expect("its end").split("</td>");
        let on_page = on_page.filter_map(|cell| Some(cell.split_once('>')?.1));
        assert_eq!(on_page.collect::<Vec<_>>(), cells, "{name}: screen and page say the same");
    }
}

const MEASURED_DURING: [&str; 10] = [
    "change took",
    "SMPs",
    "longest gap in delivery",
    "throughput during",
    "latency p50 during",
    "latency p99 during",
    "latency max during",
    "delivered",
    "outage longest, of these",
    "outage mean, of these",
];

/// What is the least, where the run ended too soon to show all.
const LOST_UNTIL_THEN: [&str; 5] =
    ["lost to failure", "lost to change", "lost in all", "stranded", "pairs that lost packets"];

/// The folder of bundled captures.
const BUNDLED_FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies");

/// What README says of `auto`: beside every other scheme that is proved, it loses least when the root dies.
#[test]
fn no_proved_scheme_loses_less_than_auto_on_a_bundled_fabric() {
    let files = std::fs::read_dir(BUNDLED_FILES).expect("the folder").map(|entry| entry.expect("an entry").path());
    let mut count = 0;
    for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "ibnetdiscover")) {
        loses_least(&file, &QUICK);
        count += 1;
    }
    assert_eq!(count, 12);
}

/// A spine of a cluster that `up-down` takes for the root: a repair writes eight times as much as the full re-route,
/// which is proved in one wave.
#[test]
fn a_clusters_root_is_repaired_in_one_wave() {
    let Some(file) = capture("opensm/rhino512-after.subnet.lst") else { return };
    let options = [&["--load", if is_thorough() { "0.02" } else { "0.005" }], &QUICK[2..]].concat();
    // Beside it scheme `double` takes ten times as long: the brief form compares on bundled fabrics only.
    if is_thorough() {
        loses_least(&file, &options);
    }
    let file = file.to_str().expect("UTF-8");
    let (code, shown) = printed(&[&["--remove-root", "--scheme", "auto"], &options[..], &[file]].concat());
    assert_eq!(code, Some(0), "{shown}");
    for part in ["proof    proved: 1 wave,", "scheme ordered 228 writes in 1 wave"] {
        assert!(shown.contains(part), "`{part}` is missing:\n{shown}");
    }
}

#[test]
fn where_a_repair_writes_more_the_full_re_route_in_one_wave_is_taken() {
    let arguments = ["--remove-root", "--scheme", "auto", "--engine", "nue", FABRIC];
    let (code, shown) = printed(&[&arguments[..], &QUICK[2..]].concat());
    assert_eq!(code, Some(0), "{shown}");
    let why = "repairing what is lost and no more was passed over: it takes 9 writes in 2 waves";
    for part in ["proof    proved: 1 wave,", why] {
        assert!(shown.contains(part), "`{part}` is missing:\n{shown}");
    }
}

/// What is printed, whatever the reader remarks on the file.
fn printed(arguments: &[&str]) -> (Option<i32>, String) {
    let output = simulate(arguments);
    (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
}

fn loses_least(file: &Path, options: &[&str]) {
    let named = file.to_str().expect("UTF-8");
    let (code, shown) = printed(&[&["--remove-root", "--compare"], options, &[named]].concat());
    assert_eq!(code, Some(0), "{shown}");
    let row = |name: &str| -> Vec<String> {
        let cells = shown.lines().find_map(|line| line.trim_start().strip_prefix(name));
        // Digits come in groups of three, columns are further apart.
        let cells = cells.unwrap_or_else(|| panic!("no row `{name}`:\n{shown}")).trim().split("  ");
        cells.map(|cell| cell.replace(' ', "")).filter(|cell| !cell.is_empty()).collect()
    };
    let (proofs, lost) = (row("proof "), row("lost in all "));
    let lost: Vec<u64> = lost.iter().map(|cell| cell.trim_start_matches('≥').parse().expect("a number")).collect();
    assert!(proofs.len() >= 4 && proofs.len() == lost.len(), "{shown}");
    let others = proofs.iter().zip(&lost).skip(1).filter(|(proof, _)| *proof == "proved").map(|(_, &lost)| lost);
    assert_eq!((proofs[0].as_str(), Some(lost[0])), ("proved", others.min()), "{named}\n{shown}");
}
