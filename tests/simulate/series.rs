//! What happened when: the bins add up to the run, and show what the run did in its phases.

use super::command::{FABRIC, QUICK, simulate};
use super::{run, small};
use crate::support::bundled::bundled;
use crate::support::columns::{documented, section};
use reconfig::plan::Scheme;
use reconfig::scenario::{BinReport, Departure, Scenario, SimulationReport};
use reconfig::sim::{MOST_BINS, SimConfig};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn sum(report: &SimulationReport, of: impl Fn(&BinReport) -> u64) -> u64 {
    report.series.bins.iter().map(of).sum()
}

fn assert_bins_add_up(report: &SimulationReport, what: &str) {
    let (bins, packets) = (&report.series.bins, &report.packets);
    assert!(bins.len() <= MOST_BINS, "{what}: {} bins", bins.len());
    assert!(bins.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns), "{what}: bins leave no gap");
    assert_eq!(sum(report, |bin| bin.delivered), packets.delivered, "{what}");
    assert_eq!(sum(report, |bin| bin.lost_to_failure), packets.lost_to_failure, "{what}");
    assert_eq!(sum(report, |bin| bin.lost_to_change), packets.lost_to_change, "{what}");
    // What a cut-off source still holds at the end is stranded, and was never discarded.
    assert!(sum(report, |bin| bin.stranded) <= packets.stranded, "{what}");
    let mut smps: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in bins.iter().flat_map(|bin| &bin.smps) {
        *smps.entry(name.clone()).or_default() += count;
    }
    assert_eq!(smps, report.smps().by_attribute, "{what}");
    let lost: u64 = report.hosts.iter().map(|host| host.lost_sent).sum();
    assert_eq!(lost, report.hosts.iter().map(|host| host.lost_received).sum::<u64>(), "{what}");
}

#[test]
fn bins_add_up_to_the_run_under_every_scheme() {
    for departure in super::DEPARTURES {
        for &scheme in Scheme::ALL {
            let what = format!("{scheme}, {}", departure.name());
            let report = run(&Scenario { scheme, departure, ..small(bundled("fat-tree-4-2")) });
            assert_bins_add_up(&report, &what);
            let lost: u64 = report.hosts.iter().map(|host| host.lost_sent).sum();
            assert_eq!(lost, report.lost_in_all, "{what}: nobody is cut off, so every loss is of a pair");
        }
    }
}

#[test]
fn lanes_a_empty_while_b_fill() {
    let report = run(&Scenario { departure: Departure::Planned, ..small(bundled("fat-tree-4-2")) });
    let phase =
        |name: &str| report.changes[0].phases.iter().find(|phase| phase.name == name).expect("a phase of the scheme");
    let bins_of = |from_ns: u64, to_ns: u64| {
        report.series.bins.iter().filter(move |bin| bin.start_ns >= from_ns && bin.start_ns < to_ns)
    };
    let before: Vec<_> = bins_of(0, phase("swap").start_ns).collect();
    assert!(before.iter().any(|bin| bin.under_way[0] > 0) && before.iter().all(|bin| bin.under_way[1] == 0));
    let after: Vec<_> =
        bins_of(phase("drain").end_ns, report.series.marks.stop_ns.expect("it ran to its end")).collect();
    assert!(after.iter().any(|bin| bin.under_way[1] > 0) && after.iter().all(|bin| bin.under_way[0] == 0));
    let last = report.series.bins.last().expect("a run has bins");
    assert_eq!(report.packets.in_flight, 0, "{last:?}");
}

#[test]
fn pairs_are_out_from_the_loss_until_the_change_reconnects_them() {
    let report = run(&Scenario { load: Some(0.25), after_ns: 500_000, ..small(bundled("fat-tree-4-2")) });
    let pairs = report.outage.as_ref().expect("something changes").pairs as u64;
    let during_ns = report.series.marks.during_ns.expect("something changes");
    let most = report.series.bins.iter().map(|bin| bin.pairs_out).max();
    assert_eq!(most, Some(pairs), "all at once");
    assert!(report.series.bins.iter().filter(|bin| bin.end_ns <= during_ns).all(|bin| bin.pairs_out == 0));
    assert_eq!(report.series.bins.last().map(|bin| bin.pairs_out), Some(0));
}

/// A pair that sends nothing more after its loss has not come back, whatever the picture: it is drawn to the end.
#[test]
fn pairs_that_are_not_seen_again_count_to_the_end() {
    let report = run(&Scenario { load: Some(0.0002), ..small(bundled("fat-tree-4-2")) });
    let outage = report.outage.as_ref().expect("something changes");
    let last = report.series.bins.last().expect("a run has bins");
    assert!(outage.not_seen_again > 0, "{outage:?}");
    assert_eq!(last.pairs_not_seen_again, outage.not_seen_again as u64);
    assert_eq!(last.pairs_out, outage.still_out as u64);
    // Nobody can be back before the first write.
    let writes = |bin: &BinReport| bin.smps.keys().any(|name| name.starts_with("Set("));
    let during_ns = report.series.marks.during_ns.expect("something changes");
    let waiting = report.series.bins.iter().skip_while(|bin| bin.end_ns <= during_ns).take_while(|bin| !writes(bin));
    let out: Vec<u64> = waiting.map(|bin| bin.pairs_out + bin.pairs_not_seen_again).collect();
    assert!(out.len() > 1 && out.is_sorted(), "{out:?}");
}

/// By column: the sum of its numbers.
fn sums(file: &Path) -> BTreeMap<String, u64> {
    let mut table = csv::Reader::from_path(file).expect("a table");
    let header = table.headers().expect("a header").clone();
    let mut sums = BTreeMap::new();
    for row in table.records() {
        for (name, field) in header.iter().zip(&row.expect("a row")) {
            *sums.entry(name.to_string()).or_default() += field.parse::<u64>().unwrap_or_default();
        }
    }
    sums
}

#[test]
fn the_files_say_what_the_json_says() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let name = folder.to_str().expect("a name in UTF-8");
    let output = simulate(&[&["--remove-root", "--json", "--csv", name, FABRIC], &QUICK[..]].concat());
    let json: Value = serde_json::from_slice(&output.stdout).expect("an object");
    let (series, smps, phases) =
        (sums(&folder.join("series.csv")), sums(&folder.join("smps.csv")), sums(&folder.join("phases.csv")));
    assert_eq!(json["packets"]["delivered"], series["delivered_packets"]);
    assert_eq!(json["packets"]["lost_to_failure"], series["lost_to_failure_packets"]);
    let change = &json["changes"][0];
    assert_eq!(change["smps"]["total"], smps["count"]);
    let told = change["phases"].as_array().expect("phases").iter().chain([&change["sweep"]]);
    assert_eq!(told.map(|phase| phase["smps"].as_u64().expect("a count")).sum::<u64>(), phases["smps"]);
    assert_eq!(json["lost_in_all"], sums(&folder.join("hosts.csv"))["lost_sent_packets"]);
    // Eight switches, of which each leaf has four cables up, in both directions, before.
    let links = std::fs::read_to_string(folder.join("links.csv")).expect("written");
    assert_eq!(links.lines().filter(|line| line.starts_with("before,")).count(), 32);
    assert!(json.get("links").is_none_or(Value::is_null), "shown on request only");
    let run = std::fs::read_to_string(folder.join("run.json")).expect("written");
    let run: Value = serde_json::from_str(&run).expect("an object");
    for name in ["seed", "trace_hash", "scheme", "settings"] {
        assert_eq!(run[name], json[name], "{name}");
    }
    assert_eq!(run["settings"]["link_delay_ns"], 10);
    assert!(
        run["command"].as_str().is_some_and(|own| own.starts_with("reconfig simulate --remove-root --json --csv "))
    );
}

/// A row of a table by its columns, as text.
fn rows(file: &Path) -> (Vec<String>, Vec<BTreeMap<String, String>>) {
    let mut table = csv::Reader::from_path(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let header: Vec<String> = table.headers().expect("a header").iter().map(str::to_string).collect();
    let row = |row: csv::StringRecord| header.iter().cloned().zip(row.iter().map(str::to_string)).collect();
    let rows = table.records().map(|own| row(own.expect("a row"))).collect();
    (header, rows)
}

/// Who draws a figure of a run from its files alone finds in them what the run measured.
#[test]
fn bins_hold_bytes_rates_latencies_and_what_is_under_way() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let name = folder.to_str().expect("a name in UTF-8");
    let output = simulate(&[&["--remove-root", "--planned", "--json", "--csv", name, FABRIC], &QUICK[..]].concat());
    let json: Value = serde_json::from_slice(&output.stdout).expect("an object");
    let (_, bins) = rows(&folder.join("series.csv"));
    let number = |bin: &BTreeMap<String, String>, name: &str| bin[name].parse::<f64>().expect("a number");
    let bytes: f64 = bins.iter().map(|bin| number(bin, "delivered_bytes")).sum();
    let packets = json["packets"]["delivered"].as_f64().expect("a number");
    assert_eq!(bytes, packets * 1024.0, "all packets are of 1,024 bytes");
    let highest = ["before", "during", "after"].map(|own| json["latency_ns"][own]["max"].as_f64().expect("a number"));
    let highest = highest.into_iter().fold(0.0, f64::max);
    let mut measured = 0;
    for bin in &bins {
        let lasts_ns = number(bin, "end_ns") - number(bin, "start_ns");
        let rate = number(bin, "delivered_bytes") * 8.0 / lasts_ns;
        assert!((rate - number(bin, "throughput_gbps")).abs() < 0.001, "{bin:?}");
        let [p50, p99, max] = ["latency_p50_ns", "latency_p99_ns", "latency_max_ns"].map(|own| &bin[own]);
        assert_eq!([p50, p99, max].map(|own| own.is_empty()), [number(bin, "delivered_packets") == 0.0; 3], "{bin:?}");
        if !p50.is_empty() {
            let [p50, p99, max] = [p50, p99, max].map(|own| own.parse::<f64>().expect("a number"));
            // A packet of 1,024 bytes takes more than 100 ns to leave.
            assert!(100.0 < p50 && p50 <= p99 && p99 <= max && max <= highest, "{bin:?}, {highest}");
            measured += 1;
        }
    }
    assert!(measured > 20, "{measured} bins have latencies");
    // Lanes A carry everything until the swap, and lanes B afterwards.
    let phases = json["changes"][0]["phases"].as_array().expect("phases");
    let moment = |name: &str, end: &str| {
        let own = phases.iter().find(|phase| phase["name"] == name).expect("a phase of the scheme");
        own[end].as_f64().expect("a number")
    };
    let (swap_ns, drained_ns) = (moment("swap", "start_ns"), moment("drain", "end_ns"));
    let most = |name: &str, is: &dyn Fn(f64) -> bool| {
        let own = bins.iter().filter(|bin| is(number(bin, "start_ns"))).map(|bin| number(bin, name));
        own.fold(0.0, f64::max)
    };
    let [a, b] = ["under_way_a_packets", "under_way_b_packets"];
    let (before, after) = (|ns: f64| ns < swap_ns, |ns: f64| ns >= drained_ns);
    assert!(most(a, &before) > 0.0 && most(b, &before) == 0.0, "until the swap");
    assert!(most(a, &after) == 0.0 && most(b, &after) > 0.0, "after the drain");
}

/// The pages define every column of every file, and no other.
#[test]
fn columns_are_those_that_the_pages_define() {
    let place = tempfile::tempdir().expect("a folder");
    let file = |name: &str| place.path().join(name);
    let name = |path: &Path| path.to_str().expect("a name in UTF-8").to_string();
    simulate(&[&["--remove-root", "--csv", &name(&file("run")), FABRIC], &QUICK[..]].concat());
    let header = |path: &Path| rows(path).0;
    let series = documented("SIMULATOR.md", "`series.csv` has one row for each bin:");
    assert_eq!(header(&file("run").join("series.csv")), series);
    let prose = section("SIMULATOR.md", "`smps.csv` has one row", "`run.json` (`reconfig schema");
    for own in ["smps", "phases", "links", "lids", "hosts"] {
        let told = prose.split_once(&format!("`{own}.csv`")).map_or(&prose[..], |(_, told)| told);
        for column in header(&file("run").join(format!("{own}.csv"))) {
            assert!(told.contains(&format!("`{column}`")), "SIMULATOR.md does not define {column} of {own}.csv");
        }
    }
    let reconfig = |arguments: &[&str]| {
        let run = Command::new(env!("CARGO_BIN_EXE_reconfig")).args(arguments).output().expect("the binary runs");
        assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    };
    reconfig(&["what-if", FABRIC, "--csv", &name(&file("losses.csv"))]);
    let losses = documented("OPERATING.md", "The `--csv` file has\na line for each loss:");
    assert_eq!(header(&file("losses.csv")), losses);
    let campaign = "schema: reconfig.campaign/1\nfabrics: [\"torus:3x3,1\"]\nchanges: [root]\nschemes: [auto]\n\
                    loads: [0.1]\nseeds: {from: 7, count: 1}\nwarm_up_us: 10\naround_us: 30\n";
    std::fs::write(file("campaign.yaml"), campaign).expect("written");
    reconfig(&["campaign", &name(&file("campaign.yaml")), "--into", &name(&file("into"))]);
    let own = header(&file("into").join("runs.csv"));
    assert_eq!(own, documented("CAMPAIGNS.md", "`runs.csv` has one row a run"));
}

/// A bin knows two figures of a latency, and the run three: it must not exceed what the run says.
#[test]
fn no_bin_exceeds_the_highest_latency_of_the_run() {
    for seed in 0..4 {
        let base = small(bundled("fat-tree-4-2"));
        let report = run(&Scenario { sim: SimConfig { seed, ..base.sim.clone() }, ..base });
        let marks = report.series.marks;
        let stop_ns = marks.stop_ns.expect("it ran to its end");
        let within = |bin: &&BinReport| bin.start_ns > marks.before_ns && bin.end_ns < stop_ns;
        let bins = report.series.bins.iter().filter(within).filter_map(|bin| bin.latency_max_ns).max();
        let times = report.latency_ns;
        let run = [times.before.max, times.during.max, times.after.max].into_iter().max();
        assert!(bins <= run, "seed {seed}: {bins:?} of {run:?}");
    }
}

/// What a change did before it deadlocked is in the files as on the page, and its window is the scheme's own.
#[test]
fn an_unfinished_change_has_its_phases_in_the_files() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let name = folder.to_str().expect("a name in UTF-8");
    let fabric = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies/ghost-cycle.ibnetdiscover");
    let page = place.path().join("page.html");
    let report = ["--report", page.to_str().expect("a name in UTF-8"), "--json", "--csv", name, fabric];
    let output = simulate(&[&["--remove-root", "--scheme", "in-place", "--seed", "9"], &report[..]].concat());
    let json: Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!((&json["outcome"], &json["settings"]["devices"]["window"]), (&"deadlocked".into(), &4.into()));
    let phases = std::fs::read_to_string(folder.join("phases.csv")).expect("written");
    let rows: Vec<Vec<&str>> = phases.lines().skip(1).map(|row| row.split(',').collect()).collect();
    let names: Vec<[&str; 2]> = rows.iter().map(|row| [row[0], row[1]]).collect();
    let subnet = json["subnets"][0]["name"].as_str().expect("a name");
    assert_eq!(names, [[subnet, "no write"], [subnet, "unfinished"]]);
    let smps: u64 = rows.iter().map(|row| row[4].parse::<u64>().expect("a count")).sum();
    assert_eq!(json["changes"][0]["smps"]["total"], smps);
    let page = std::fs::read_to_string(page).expect("written").replace('\u{a0}', " ");
    assert!(page.contains(&format!("unfinished 471 µs, {} SMPs", rows[1][4])), "{phases}");
    let run = std::fs::read_to_string(folder.join("run.json")).expect("written");
    let run: Value = serde_json::from_str(&run).expect("an object");
    assert_eq!(run["settings"]["devices"]["window"], 4);
}

#[test]
fn a_comparison_has_a_folder_for_each_scheme() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("runs");
    let name = folder.to_str().expect("a name in UTF-8");
    let output = simulate(&[&["--remove-root", "--compare", "--json", "--csv", name, FABRIC], &QUICK[..]].concat());
    let json: Value = serde_json::from_slice(&output.stdout).expect("an object");
    let runs = json["reports"].as_array().expect("a run for each scheme");
    assert_eq!(std::fs::read_dir(&folder).expect("the folder").count(), runs.len());
    for run in runs {
        let scheme = if run["auto"] == true { "auto" } else { run["scheme"].as_str().expect("a name") };
        let own = folder.join(scheme);
        assert_eq!(run["packets"]["delivered"], sums(&own.join("series.csv"))["delivered_packets"], "{scheme}");
        let links = std::fs::read_to_string(own.join("links.csv")).expect("written");
        assert_eq!(links.lines().filter(|line| line.starts_with("before,")).count(), 32, "{scheme}");
        assert!(run.get("links").is_none_or(Value::is_null), "{scheme}: shown on request only");
    }
}

/// What an earlier comparison wrote of a scheme must not pass for a part of this one; what the user put there stays.
#[test]
fn a_scheme_that_does_not_run_leaves_no_folder_of_an_earlier_one() {
    let place = tempfile::tempdir().expect("a folder");
    let double = place.path().join("double");
    std::fs::create_dir(&double).expect("a folder");
    std::fs::write(double.join("series.csv"), "earlier").expect("written");
    std::fs::write(double.join("mine.txt"), "kept").expect("written");
    let name = place.path().to_str().expect("a name in UTF-8");
    let asked = [&["--remove-root", "--compare", "--lmc", "0", "--csv", name, FABRIC], &QUICK[..]].concat();
    let told = simulate(&asked).stderr;
    assert!(
        String::from_utf8_lossy(&told).contains("double is of an earlier run, and stays since it holds other files")
    );
    assert!(double.join("mine.txt").exists() && double.join("series.csv").exists());
    std::fs::remove_file(double.join("mine.txt")).expect("removed");
    assert_eq!(simulate(&asked).status.code(), Some(0));
    assert!(!double.exists() && place.path().join("auto/run.json").exists());
}

#[test]
fn a_run_that_cannot_begin_leaves_no_folder() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let name = folder.to_str().expect("a name in UTF-8");
    let output = simulate(&["--remove-switch", "nobody", "--csv", name, FABRIC]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!folder.exists());
    let beyond = folder.join("deeper");
    let output = simulate(&["--remove-root", "--csv", beyond.to_str().expect("a name in UTF-8"), FABRIC]);
    assert_ne!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot create the folder"), "{output:?}");
}
