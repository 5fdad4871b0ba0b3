//! Pages about a fabric of about 4,000 nodes: none has more than 5 MB, and none draws every node.

use super::looks::reconfig;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// 128 leaves with 29 hosts each, and 16 spines: 3,856 nodes and 5,760 cables.
const TOPOLOGY: &str = "leaf-spine:128,16,29";
const MOST_BYTES: usize = 5_000_000;

/// The fabric in a folder, each name with this in front of it.
fn generated(folder: &Path, prefix: &str) -> String {
    let file = folder.join("large.ibnetdiscover");
    let name = file.to_str().expect("a folder in UTF-8").to_string();
    reconfig(&["fabric", "generate", TOPOLOGY, "-o", &name]);
    let text = fs::read_to_string(&file).expect("generated");
    let text = text.replace("\"leaf-", &format!("\"{prefix}leaf-")).replace("\"host-", &format!("\"{prefix}host-"));
    fs::write(&file, text).expect("a file");
    name
}

fn page(arguments: &[&str], folder: &Path) -> (String, Value) {
    let file = folder.join("page.html");
    let name = file.to_str().expect("a folder in UTF-8");
    let printed = reconfig(&[arguments, &["--json", "--report", name]].concat());
    let json = serde_json::from_slice(&printed).expect("JSON");
    (fs::read_to_string(&file).expect("the page was written"), json)
}

#[test]
fn pages_of_a_large_fabric_fold_it_and_stay_small() {
    let folder = tempfile::tempdir().expect("a folder");
    let fabric = generated(folder.path(), "");
    let steady = ["--steady", "--load", "0.001", "--warm-up", "1", "--before", "5", "--after", "5"];
    for command in [
        &["plan", &fabric, "--remove-switch", "spine-1"][..],
        &[&["simulate", &fabric], &steady[..]].concat(),
        &["route", &fabric],
    ] {
        let (text, json) = page(command, folder.path());
        assert!(text.len() < MOST_BYTES, "{command:?}: {} bytes", text.len());
        let removes = command[0] == "plan";
        assert_eq!(json["plan"].is_object(), removes);
        let (_, map) = text.split_once("<figure class=\"map\">").expect("the fabric");
        let map = map.split("</figure>").next().expect("its end");
        let drawn = ["<rect", "<circle", "<line"].map(|own| map.matches(own).count());
        assert!(drawn.iter().sum::<usize>() < 20, "{command:?} draws {drawn:?}");
        let spines = if removes { "15 switches" } else { "16 switches" };
        for told in ["144 switches, 3\u{a0}712 hosts, 5\u{a0}760 cables", ">128 switches<", &format!(">{spines}<")] {
            assert!(map.contains(told), "{command:?}: {told} in {map}");
        }
        assert_eq!(map.matches("class=\"switch leaves\"").count(), usize::from(removes), "what leaves is by itself");
    }
}

/// With names as long as descriptions may be, the list of losses is cut where the page would become too large.
#[test]
fn a_page_of_losses_with_long_names_stays_small_and_says_what_is_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let fabric = generated(folder.path(), &"MF0;a-long-name-of-a-row-and-a-rack:MQM9700/U1 ".repeat(6));
    let csv = folder.path().join("losses.csv");
    let every = ["--every-cable", "--host-cables", "--worst", "2", "--csv", csv.to_str().expect("UTF-8")];
    let (text, json) = page(&[&["what-if", &fabric], &every[..]].concat(), folder.path());
    let losses = json["losses"].as_array().expect("losses").len();
    assert_eq!(losses, 144 + 5_760);
    assert!(text.len() < MOST_BYTES, "{} bytes", text.len());
    let shown = text.matches("<tr><th scope=\"row\"").count() - text.matches("<td class=\"value\">").count();
    let (told, _) =
        text.split_once(" losses less harmful are not shown here; --csv FILE lists all.").expect("it says so");
    let told: String = told.rsplit('>').next().expect("a number").chars().filter(char::is_ascii_digit).collect();
    let omitted: usize = told.parse().expect("a number");
    assert!(omitted > 500, "{omitted}");
    assert_eq!(shown + omitted, losses);
    let mut rows = csv::Reader::from_path(csv).expect("a table");
    assert_eq!(rows.records().count(), losses, "the file has them all");
}
