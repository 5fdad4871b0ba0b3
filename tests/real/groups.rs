//! Multicast groups of `reconfig sm`, by the tools that OpenSM comes with.

use super::brings_up::topology;
use super::fabrics::{SMALL, generated};
use super::installed;
use super::sm::{Place, Sm};
use super::subnet::Subnet;
use crate::support::tools::all_there;
use reconfig_measuring::process::programs::missing;

/// A subnet with a manager, and the tools at another host.
fn scene(options: &[&str]) -> (Subnet, Sm) {
    let net = generated(SMALL[1].0, SMALL[1].1);
    let fabric = topology(&net);
    let place = Place::of(&fabric);
    let mut subnet = Subnet::serve(&net.text);
    let manager = Sm::bring_up(&subnet, &place.node, options);
    let name = |port| fabric.node(fabric.port(port).node).description.trim().to_string();
    let other = fabric.end_ports().map(name).find(|name| *name != place.node).expect("another host");
    subnet.tools_at(&other);
    (subnet, manager)
}

#[test]
fn osmtest_and_saquery_find_groups_as_they_want_them() {
    if !installed() || !all_there(&missing(&["osmtest"]), "opensm") {
        return;
    }
    let (subnet, manager) = scene(&["--reserved-sl", "7"]);
    let inventory = subnet.folder().join("inventory");
    let inventory = inventory.to_str().expect("in UTF-8");
    subnet.tool(&["osmtest", "-f", "c", "-i", inventory]);
    let told = subnet.tool(&["osmtest", "-f", "m", "-M", "2", "-i", inventory]);
    assert!(told.contains("\"Multicast\" PASS"), "{told}");
    let groups = subnet.tool(&["saquery", "-g"]);
    let has = |line: &str| groups.lines().any(|own| own.trim().replace('.', "") == line.replace('.', ""));
    assert!(has("MGID....ff12:401b:ffff::ffff:ffff") && has("Mlid....0xC000") && has("SL....0x7"), "{groups}");
    let status = manager.status(&subnet);
    assert!(status["groups"]["groups"].as_u64().is_some_and(|groups| groups >= 1), "{status:#}");
    assert_eq!(status["without_groups"], serde_json::Value::Null);
}

#[test]
fn whoever_asks_for_groups_where_there_are_none_is_told_how_to_have_them() {
    if !installed() {
        return;
    }
    let (subnet, manager) = scene(&[]);
    assert_eq!(manager.status(&subnet)["without_groups"], serde_json::Value::Null, "nobody has asked");
    for _ in 0..2 {
        assert!(!subnet.run(&["saquery", "-g"]).output.contains("Mlid"));
    }
    assert!(manager.says(&subnet, "without_groups").contains("--reserved-sl"), "{}", manager.log());
    assert_eq!(manager.count("hosts ask for multicast groups"), 1, "{}", manager.log());
}
