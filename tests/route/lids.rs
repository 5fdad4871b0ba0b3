//! `reconfig lids`: counts that add up, LIDs that meet them, heuristics side by side.

use super::{ends, json, kept, made, reconfig, stderr, text_of};
use reconfig::ids::Guid;
use reconfig::lid::{Guid2Lid, Heuristic};
use serde_json::Value;
use std::collections::BTreeSet;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn counts_add_up_and_ports_get_what_they_need() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (fabric, file) = (made("random-regular:16,4,2"), folder.path().join("guid2lid"));
    let input = kept(folder.path(), &fabric);
    for (engine, several) in [("up-down", false), ("up-down-random", true)] {
        let report = json(&["lids", &input, "--engine", engine, "--guid2lid", text_of(&file)], 0);
        let (found, ports) = (&report["found"][0], report["ports"].as_array().expect("rows"));
        let needed: Vec<u64> = ports.iter().map(|port| number(&port["needed"])).collect();
        assert_eq!(ports.len(), fabric.end_ports().count());
        assert_eq!(number(&found["needed"]), needed.iter().sum::<u64>());
        assert_eq!(number(&found["in_blocks"]), needed.iter().map(|needed| needed.next_power_of_two()).sum::<u64>());
        assert_eq!(Some(number(&found["most"])), needed.iter().copied().max());
        assert_eq!(number(&found["most"]) > 1, several, "{engine}");
        assert_eq!(found["heuristic"].is_null(), !several);
        let told: u64 = found["ports"].as_object().expect("a histogram").values().map(number).sum();
        assert_eq!(told, needed.len() as u64);
        let bytes = std::fs::read(&file).expect("it was written");
        let lids = Guid2Lid::read(&bytes, "guid2lid").unwrap_or_else(|error| panic!("{}", error.render(false)));
        assert_eq!(lids.iter().len(), fabric.lid_ports().count());
        for (end, needed) in fabric.end_ports().zip(needed) {
            let guid: Guid = fabric.port(end).guid.expect("generated ports have GUIDs");
            let range = lids.get(guid).expect("every port is listed");
            let lids = u64::from(range.last().0 - range.first().0 + 1);
            assert_eq!(lids, 2 * needed.next_power_of_two(), "two halves");
        }
    }
}

#[test]
fn heuristics_stand_side_by_side_and_none_beats_the_best() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let input = kept(folder.path(), &made("random-regular:12,4,2"));
    let report = json(&["lids", &input, "--engine", "up-down-random", "--compare"], 0);
    let found = report["found"].as_array().expect("a row each");
    let names: BTreeSet<&str> = found.iter().map(|row| row["heuristic"].as_str().expect("a name")).collect();
    assert_eq!(names, Heuristic::ALL.map(Heuristic::name).into());
    let needed = |name: &str| found.iter().find(|row| row["heuristic"] == name).map(|row| number(&row["needed"]));
    let best = needed("best");
    assert!(found.iter().all(|row| Some(number(&row["needed"])) >= best || row["heuristic"] == "exact"));
    assert!(needed("exact") <= best);
    let text = ends(&["lids", &input, "--engine", "up-down-random", "--compare", "--ports"], 0);
    assert!(Heuristic::ALL.iter().all(|heuristic| text.contains(heuristic.name())), "{text}");
    assert!(text.contains("host-1 HCA-1[1]") && text.contains("two halves:"), "{text}");
}

#[test]
fn a_heuristic_that_is_none_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let input = kept(folder.path(), &made("ring:4,1"));
    let output = reconfig(&["lids", &input, "--heuristic", "magic"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("choose one of: greedy"), "{}", stderr(&output));
}
