//! `--foresee`: the plan for a loss is there before the loss, is the one that is run, and is made anew for what comes
//! after it.

use super::brings_up::{BOTH, all_is_well, expected, topology};
use super::fabrics::{SMALL, generated};
use super::installed;
use super::sm::{COMPLETED, Place, Sm, without};
use super::subnet::Subnet;
use reconfig::ids::Half;
use std::time::Duration;

const TAKEN: &str = "the plan for this loss was prepared before it happened";

/// Waits until no more plans are prepared; how many there are.
fn awaited(manager: &Sm, subnet: &Subnet) -> u64 {
    let mut ready = 0;
    subnet.wait("plans for losses to come", Duration::from_secs(180), || {
        let foreseen = &manager.status(subnet)["foreseen"];
        let count = |key: &str| foreseen[key].as_u64().unwrap_or_default();
        ready = count("ready");
        count("losses") > 0 && ready + count("without") == count("losses")
    });
    ready
}

#[test]
fn a_switch_and_then_a_cable_are_lost_as_foreseen() {
    if !installed() {
        return;
    }
    let (topology_name, seed) = SMALL[0];
    let net = generated(topology_name, seed);
    let topology = topology(&net);
    let place = Place::of(&topology);
    let mut subnet = Subnet::serve(&net.text);
    subnet.tools_at(&place.node);
    let manager = Sm::bring_up(&subnet, &place.node, &["--foresee"]);
    assert!(awaited(&manager, &subnet) > 0);
    let root = topology.node(place.root).description.trim().to_string();
    subnet.unlink(&root, None);
    manager.wait(&subnet, COMPLETED, 1);
    assert_eq!(manager.count(TAKEN), 1);
    let rest = without(&topology, place.root, &place.node);
    all_is_well(&subnet, &expected(&rest, 1, Half::Lower), &BOTH);

    // What may be lost next is another fabric's loss.
    let swept = manager.ask(&subnet, "status", &["--sweep"]);
    assert_eq!(swept.code, Some(0), "{}", swept.errors);
    assert!(awaited(&manager, &subnet) > 0);
    let is_switch = |port| rest.neighbour(port).is_some_and(|node| rest.node(node).is_switch());
    let cables = rest.links().filter(|&(one, other)| is_switch(one) && is_switch(other));
    // One that leaves everybody a way.
    let joined = |&(one, _): &_| {
        let without = rest.without_links(&[one]);
        let ends = without.end_ports().count();
        let found = reconfig::routing::Connectivity::of(&without);
        let sm = without.end_ports().next().expect("hosts");
        without.end_ports().filter(|&port| found.joins(port, sm)).count() == ends
    };
    let Some((one, _)) = cables.into_iter().find(joined) else { panic!("a cable that can be spared") };
    let port = rest.port(one);
    subnet.unlink(rest.node(port.node).description.trim(), Some(port.num.0));
    manager.wait(&subnet, COMPLETED, 2);
    assert_eq!(manager.count(TAKEN), 2);
    all_is_well(&subnet, &expected(&rest.without_links(&[one]), 1, Half::Lower), &BOTH);
}
