//! Planned removals that people order from a running manager: who would be cut off, and two at once.

use super::fabrics::generated;
use super::installed;
use super::sm::{FOLLOWED, OVER, Sm};
use super::subnet::Subnet;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

const DOUBLE: [&str; 2] = ["--scheme", "double"];

fn fat_tree() -> Subnet {
    let mut subnet = Subnet::serve(&generated("fat-tree:4,2", 0).text);
    subnet.tools_at("host-1 HCA-1");
    subnet
}

#[test]
fn a_removal_that_cuts_off_hosts_asks_first() {
    if !installed() {
        return;
    }
    let subnet = fat_tree();
    let manager = Sm::bring_up(&subnet, "host-1 HCA-1", &DOUBLE);
    let asked = ["--remove-switch", "leaf-2", "--planned"];
    for dry in [&[][..], &["--dry-run"]] {
        let refused = manager.ask(&subnet, "change", &[&asked, dry].concat());
        assert_eq!(refused.code, Some(1), "{}{}", refused.output, refused.errors);
        assert!(
            refused.output.contains("refused: 4 end ports would be cut off, host-5 HCA-1[1]"),
            "{}",
            refused.output
        );
        assert!(refused.output.contains("--allow-cut-off"), "{}", refused.output);
        assert!(refused.output.contains("cut off: 4 in all: host-5 HCA-1[1], host-6 HCA-1[1]"), "{}", refused.output);
    }
    assert_eq!(manager.count(OVER), 0, "nothing was written");
    let meant = manager.ask(&subnet, "change", &[&asked[..], &["--allow-cut-off", "--json"]].concat());
    let done: serde_json::Value = serde_json::from_str(&meant.output).expect("JSON");
    assert_eq!((meant.code, &done["outcome"]), (Some(0), &"completed".into()), "{}", meant.errors);
    assert_eq!(done["stranded"].as_array().map(Vec::len), Some(4), "{done}");
    // The hosts are there, but no change leads to them.
    let swept = manager.ask(&subnet, "status", &["--sweep"]);
    assert_eq!((swept.code, manager.count(OVER)), (Some(0), 1), "{}", manager.log());
}

/// The second order comes while the first is carried out. Before it is prepared, the half that the first retired leads
/// where the half in use leads: beside stale entries it could be refused.
#[test]
fn the_second_of_two_removals_waits_until_the_retired_half_follows() {
    if !installed() {
        return;
    }
    let subnet = fat_tree();
    let manager = Sm::bring_up(&subnet, "host-1 HCA-1", &DOUBLE);
    let first = manager.begin(&subnet, "change", &["--remove-switch", "spine-1", "--planned"]);
    subnet.wait("the first change", LIMIT, || manager.count("is set aside") == 1);
    let second = manager.ask(&subnet, "change", &["--remove-switch", "spine-2", "--planned"]);
    assert_eq!(second.code, Some(0), "{}{}", second.output, second.errors);
    drop(first);
    let log = manager.log();
    let at = |words: &str, nth: usize| {
        let found = log.match_indices(words).nth(nth);
        found.unwrap_or_else(|| panic!("no `{words}`, {nth}, in {log}")).0
    };
    // What the frontend logs comes late; these lines are the manager's own.
    assert!(at(FOLLOWED, 0) < at("event=\"removal-ordered\"", 1), "{log}");
}
