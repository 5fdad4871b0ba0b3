//! The published tables in a reduced run: inside their bands where a mean of few fabrics can be, the same for any
//! number of threads, and readable in every form. The full run is `reconfig reproduce`; docs/REPRODUCE.md has what it
//! gives.

use crate::support::is_thorough;
use reconfig::reproduce::{Band, ReproduceError, ResultTable, Study, StudyRequest, csv, plot, reproduce};
use std::collections::BTreeSet;
use std::process::Command;

fn request(study: Study, table: &str, rows: &[&str], fabrics: usize) -> StudyRequest {
    let rows = rows.iter().map(ToString::to_string).collect();
    StudyRequest { table: Some(table.to_string()), rows, fabrics, ..StudyRequest::of(study, 2) }
}

fn measured(request: &StudyRequest) -> Vec<ResultTable> {
    reproduce(request, &mut |_| {}).unwrap()
}

/// All tables of a study, measured once; by these names.
fn several<const COUNT: usize>(request: StudyRequest, names: [&str; COUNT]) -> [Vec<ResultTable>; COUNT] {
    let study = request.study;
    let tables = measured(&StudyRequest { table: None, ..request });
    names.map(|name| tables.iter().filter(|table| table.name == format!("{study} {name}")).cloned().collect())
}

fn assert_inside(tables: &[ResultTable], columns: &[&str]) {
    assert!(!tables.is_empty(), "no table to look for {columns:?} in");
    for table in tables {
        let mut seen = BTreeSet::new();
        for (row, column, cell) in table.cells().filter(|(_, column, _)| columns.contains(column)) {
            assert_eq!(cell.inside, Some(true), "{} {row} {column}: {cell:?}", table.name);
            seen.insert(column);
        }
        assert_eq!(seen.len(), columns.len(), "{}: the columns {seen:?}", table.name);
    }
}

#[test]
fn renaming_on_small_fabrics_is_inside_its_bands() {
    let tables = measured(&request(Study::Seed000, "4a", &["8", "16"], 10));
    assert_inside(&tables, &["total", "original", "new", "avg %"]);
    assert_inside(&measured(&request(Study::Seed000, "5a", &["8", "16"], 10)), &["avg", "max"]);
    assert_eq!(tables[0].rows.len(), 2);
}

/// Table 4b but for its extremes, which take more fabrics, table 5b, and the conflicts that the text reports.
#[test]
fn smart_routing_needs_the_papers_entries_and_renamings() {
    let names = ["4b", "5b", "smart-conflicts"];
    let [entries, renamings, conflicts] = several(request(Study::Seed000, "4b", &["32"], 10), names);
    assert_inside(&entries, &["total", "original", "new", "avg %"]);
    assert_inside(&renamings, &["avg", "max"]);
    let conflicts = conflicts[0].rows[0].cells[0];
    assert!((1.4..2.2).contains(&conflicts.ours), "{conflicts:?}");
}

/// Table 2 within its bands where eight fabrics suffice for a mean, and table 3's order of loads.
#[test]
fn paths_of_pairs_of_machines_need_the_papers_lids_and_load_links_in_its_order() {
    let rows = if is_thorough() { &["128/16", "128/32", "128/64"][..] } else { &["128/64"] };
    let columns = ["greedy", "s-m/S", "s-m/L", "color/S", "color/L"];
    let [ratios, lids, loads] = several(request(Study::Seed002, "2", rows, 8), ["2-ratios", "2", "3"]);
    assert_inside(&ratios, &["color/S ÷ color/L", "greedy ÷ color/L"]);
    assert_inside(&lids, &columns);
    assert_inside(&loads, &["loads in order"]);
}

#[test]
fn readings_are_compared_by_name_and_without_bands() {
    let rows = ["smart, fewest hops", "smart, random, spread 3", "random shortest path"];
    let tables = measured(&request(Study::Selection, "smart", &rows, 4));
    let new: Vec<f64> = tables[0].rows.iter().map(|row| row.cells[2].ours).collect();
    assert!(new[0] < new[1] && new[1] < new[2], "{new:?}");
    assert!(tables[0].cells().all(|(_, _, cell)| cell.band == Band::Open && cell.paper.is_some()));
    assert_eq!(["lids", "color", "smart"].map(|table| Study::Selection.rows(table).len()), [36, 6, 25]);
}

#[test]
fn lids_on_small_fabrics_are_near_the_paper_and_in_its_order() {
    let tables = measured(&request(Study::Seed002, "1", &["128/32", "128/64"], 6));
    assert_inside(&tables, &["in order"]);
    for (row, column, cell) in tables[0].cells() {
        let paper = cell.paper.unwrap();
        assert!((cell.ours / paper - 1.0).abs() < 0.15, "{row} {column}: {cell:?}, six fabrics only");
    }
}

#[test]
fn the_optimum_is_below_every_heuristic_and_mostly_proved() {
    let tables = measured(&request(Study::Optimum, "1-lids", &["128/32"], 2));
    let cell = |column: &str| tables[0].cells().find(|(_, name, _)| *name == column).unwrap().2.ours;
    assert!(cell("proved %") > 95.0);
    assert!(cell("least") <= cell("fewest") && cell("fewest") > 128.0);
    for heuristic in ["greedy +%", "s-m/S +%", "s-m/L +%", "color/S +%", "color/L +%", "dsatur +%"] {
        assert!(cell(heuristic) >= cell("best +%") && cell("best +%") >= 0.0, "{heuristic}");
    }
    assert!(cell("color/S +%") > cell("color/L +%"), "as in the paper");
}

/// The slides' counts and sentences; a gap in the latency of static reconfiguration, none in that of the Double Scheme.
#[test]
fn the_double_scheme_counts_and_claims_hold() {
    let tables = measured(&StudyRequest::of(Study::Seed001, 2));
    let (inside, banded) =
        tables.iter().map(ResultTable::inside).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    assert_eq!((inside, banded), (12, 12));
    // 200 SMPs to compute, and 0.1 s, which is given.
    assert_eq!(tables.iter().map(ResultTable::unjudged).sum::<usize>(), 2);
    let latency = tables.iter().find(|table| table.name == "seed-001 latency").expect("a table over time");
    let gaps = |column: &str| latency.cells().filter(|(_, name, cell)| *name == column && cell.ours.is_nan()).count();
    // Computing takes 0.1 s, in bins of a millisecond; the runs end a bin apart.
    assert!((90..110).contains(&gaps("static, queued")) && gaps("Double, queued") <= 2);
    let picture = plot(&tables);
    assert_eq!(picture.matches("<path").count(), 4);
    assert!(!picture.contains("NaN") && !csv(&tables).contains("NaN"));
    let scheme = |row: &str, column: &str| {
        let table = tables.iter().find(|table| table.name == "seed-001 schemes").expect("a table");
        table.cells().find(|(name, of, _)| (*name, *of) == (row, column)).expect("a cell").2.ours
    };
    // Whether hosts queue or applications wait decides whether anything is late, and how much is discarded.
    assert!(scheme("static, queued", "p99 during µs") > 1e4 * scheme("static, waiting", "p99 during µs"));
    assert!(scheme("static, queued", "discarded") > scheme("static, waiting", "discarded"));
    let gap = |row: &str| scheme(row, "longest gap ms");
    assert!(gap("Double, ports ARMED, queued") > 2.0 * gap("Double, ARMED in turn, queued"));
    let late = |row: &str| scheme(row, "max during µs");
    assert!(late("Double, ARMED in turn, queued") > 10.0 * late("Double, queued"));
}

/// Lysne and Duato measured 85 to 95 % of the most frequent changes on fabrics of their own.
#[test]
fn most_skylines_of_a_lost_cable_are_empty_and_those_of_a_lost_switch_are_small() {
    let rows = ["regular 32, a cable", "regular 32, a switch", "seed-16, a switch", "waxman 32, a cable"];
    let table = &measured(&request(Study::Skyline, "losses", &rows, 4))[0];
    let cell = |row: &str, column: &str| {
        table.cells().find(|(name, of, _)| (*name, *of) == (row, column)).expect("a cell").2.ours
    };
    assert_eq!((cell(rows[0], "losses"), cell(rows[1], "losses"), cell(rows[2], "losses")), (256.0, 128.0, 16.0));
    assert!((60.0..95.0).contains(&cell(rows[0], "empty %")) && cell(rows[3], "empty %") > 90.0);
    for row in rows {
        let share = cell(row, "switches %");
        assert!(share > 0.0 && share < 100.0, "{row}: {share}");
        assert!(cell(row, "SMPs, skyline") < cell(row, "SMPs, whole"), "{row}");
    }
}

/// What is confined writes no SL-to-VL table and fewer switches, and every run in the simulator is proved and loses
/// nothing, or the study ends with an error.
#[test]
fn a_change_confined_to_a_skyline_writes_less_than_the_whole() {
    let rows = ["seed-16, a cable", "regular 16, a switch"];
    let tables = measured(&request(Study::Skyline, "confined", &rows, 3));
    for row in rows {
        let of = |column: &str| {
            let cell = tables[0].cells().find(|(name, heading, _)| (*name, *heading) == (row, column));
            cell.unwrap_or_else(|| panic!("{row}, {column}")).2.ours
        };
        assert!(of("losses") >= 3.0, "{row}");
        assert!(of("SMPs, confined") < 0.7 * of("SMPs, whole"), "{row}: {}", of("SMPs, confined"));
        assert!(of("written, confined") <= of("written, standing"), "{row}: {}", of("written, confined"));
        assert!(of("written, confined") > 0.0, "{row}");
    }
}

/// What the slides say of routers, and what it takes: a crossing of 50 ns, inside the device, as wide as the ports.
#[test]
fn a_router_in_the_chip_adds_latency_and_nothing_that_shows() {
    let tables = measured(&StudyRequest::of(Study::Seed004, 2));
    let (inside, banded) =
        tables.iter().map(ResultTable::inside).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    assert_eq!((inside, banded), (22, 22));
    let figure = |table: &str, row: &str, column: &str| {
        let table = tables.iter().find(|own| own.name == format!("seed-004 {table}")).expect("a table");
        table.cells().find(|(name, of, _)| (*name, *of) == (row, column)).expect("a cell").2.ours
    };
    // Cut-through: a packet's time is not waited for again, so a longer packet crosses as fast.
    assert!((figure("latency", "4 KiB", "added ns") - figure("latency", "8 B", "added ns")).abs() < 10.0);
    // The global header: 40 bytes on each packet of 4096.
    let less = figure("bandwidth", "1 MiB", "less %");
    assert!((0.9..1.1).contains(&less), "{less}");
    // A box of its own is two more stages of 100 ns and two cables of 10 ns.
    assert_eq!(figure("devices", "a box of its own", "added ns"), 220.0);
    // Sixteen nodes would notice a router of one cable.
    assert!(figure("width", "1 of 1 port's rate", "all-to-all") > 300.0);
    assert!(figure("width", "8 of 12 ports' rate", "all-to-all") < 5.0);
}

/// At LMC 3 without a spare half eight paths are eight ways; the worst permutation shows them, beyond the scatter.
#[test]
fn eight_paths_at_lmc_3_gain_in_the_worst_case() {
    let tables = measured(&request(Study::Seed003, "claim", &["fat-tree fat-tree worst"], 1));
    let figure = |column: &str| tables[0].cells().find(|(_, name, _)| *name == column).expect("a cell").2.ours;
    assert!(figure("8 over 4 %") > 2.0 * figure("± gain") && figure("± gain") > 0.0);
    assert!(figure("8 paths %") > 1.8 * figure("2 paths %"));
}

#[test]
fn threads_change_nothing_and_seeds_do() {
    let two = request(Study::Seed000, "6", &["3"], 3);
    let one = StudyRequest { threads: 1, ..two.clone() };
    let other = StudyRequest { seed: 100, ..two.clone() };
    assert_eq!(csv(&measured(&one)), csv(&measured(&two)));
    assert_eq!(plot(&measured(&one)), plot(&measured(&two)));
    assert_ne!(csv(&measured(&two)), csv(&measured(&other)));
}

#[test]
fn every_cell_is_in_the_values_and_in_the_picture() {
    let tables = measured(&request(Study::Seed000, "4a", &["8"], 2));
    let values = csv(&tables);
    assert_eq!(values.lines().count(), 1 + 6);
    assert_eq!(values.lines().next(), Some("table,row,column,paper,ours,least,most,inside"));
    assert!(values.contains("seed-000 4a,8,original,256,256,255.232,256.768,yes"), "{values}");
    let picture = plot(&tables);
    // The legend has a mark for each kind that is drawn.
    let is_outside = tables[0].cells().any(|(_, _, cell)| cell.inside == Some(false));
    assert_eq!(picture.contains(">ours, outside its band<"), is_outside);
    assert!(picture.contains(">ours<") && picture.contains("on an axis from 60 % to 140 % of it"), "{picture}");
    let marks = 1 + usize::from(is_outside);
    assert_eq!((picture.matches("<circle").count(), picture.matches("<svg").count()), (6 + marks, 1));
    assert!(tables[0].cells().all(|(_, _, cell)| cell.band != Band::Open));
}

#[test]
fn what_does_not_exist_is_refused_by_name() {
    let refused = |request: StudyRequest| reproduce(&request, &mut |_| {}).unwrap_err();
    assert!(
        matches!(refused(request(Study::Seed000, "7", &[], 1)), ReproduceError::NoSuchTable { name, .. } if name == "7")
    );
    assert!(matches!(refused(request(Study::Seed000, "6", &["9"], 1)), ReproduceError::NoSuchRow { .. }));
    assert!(matches!(refused(request(Study::Seed002, "1", &[], 0)), ReproduceError::NoFabrics { .. }));
    // Nothing is measured where a row is not there: a whole study would take minutes.
    let all = StudyRequest { rows: vec!["nope".to_string()], ..StudyRequest::of(Study::Seed003, 1) };
    let told = reproduce(&all, &mut |line| panic!("measures {line}")).unwrap_err().to_string();
    assert!(told.contains("has a row `nope`; choose one of: fat-tree fat-tree uniform, "), "{told}");
    assert!("seed-005".parse::<Study>().unwrap_err().to_string().contains("seed-002"));
}

#[test]
fn every_row_is_known_before_it_is_measured() {
    for (study, table, row) in
        [(Study::Seed000, "6", "3"), (Study::Seed000, "5a", "8"), (Study::Seed002, "2", "128/32")]
    {
        let tables = measured(&request(study, table, &[row], 1));
        assert_eq!(tables[0].rows.len(), 1);
        assert!(study.rows(table).contains(&tables[0].rows[0].name));
    }
    let rows = |table| Study::Seed003.rows(table);
    assert_eq!((rows("fat-tree-worst").len(), rows("regular-uniform").len(), rows("gain").len()), (60, 40, 20));
}

#[test]
fn the_command_says_inside_or_not_by_its_exit_code() {
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_reconfig")).arg("reproduce").args(arguments).output().unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (values, picture) = (file("5a.csv"), file("5a.svg"));
    let told = run(&["seed-000", "--table", "5a", "--row", "8", "--json", "--csv", &values, "--plot", &picture]);
    let document: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(document["schema"], "reconfig.reproduction/1");
    assert_eq!(document["inside"] == document["banded"], told.status.code() == Some(0));
    assert!(std::fs::read_to_string(values).unwrap().contains("seed-000 5a,8,avg,1.1,"));
    assert!(std::fs::read_to_string(picture).unwrap().starts_with("<svg"));
    let told = run(&["seed-000", "--table", "5a", "--row", "8", "--fabrics", "9", "--bands"]);
    let screen = String::from_utf8(told.stdout).unwrap();
    let line = |figure: &str| screen.lines().find(|line| line.split_whitespace().nth(1) == Some(figure)).unwrap();
    assert!(line("avg").contains("0.95 to 1.25") && line("avg").trim_end().ends_with("yes"), "{screen}");
    assert!(line("figure").contains("paper") && line("max").contains("1.0 to 5.0"), "{screen}");
    let before = std::fs::read_dir(folder.path()).unwrap().count();
    for option in ["--csv", "--plot"] {
        // Of a whole study: it would take minutes to be refused at its end.
        let other = if option == "--csv" { "--plot" } else { "--csv" };
        let refused = run(&["seed-003", option, &file("nowhere/x"), other, &file("y")]);
        assert_eq!((refused.status.code(), &refused.stdout[..]), (Some(3), &b""[..]));
        let told = String::from_utf8(refused.stderr).unwrap();
        assert!(told.contains("nowhere/x: nothing was done") && told.lines().count() == 1, "{told}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), before, "something was left behind");
    assert_eq!(run(&["seed-000", "--table", "9"]).status.code(), Some(2));
    assert_eq!(run(&["seed-005"]).status.code(), Some(2));
}
