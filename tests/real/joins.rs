//! Two parts that were never one subnet, each with `reconfig sm` as its master, are cabled together.

use super::brings_up::{BOTH, all_is_well, expected, topology};
use super::fabrics::{Net, generated};
use super::sm::Sm;
use super::subnet::Subnet;
use super::told::{Fields, sminfo};
use super::{installed, side_by_side};
use reconfig::fabric::format::{Format, write};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::Half;
use std::time::{Duration, Instant};

/// Leaves 1 and 2 with spine 1, and leaves 3 and 4 with spine 2, before they are joined.
const FABRIC: &str = "leaf-spine:4,2,2";
const FIRST_PART: [&str; 3] = ["leaf-1", "leaf-2", "spine-1"];
/// Where the managers are; at equal priority the lower GUID, which is the first one's, is of higher rank.
const PLACES: [&str; 2] = ["host-1 HCA-1", "host-5 HCA-1"];
/// The poll interval of both, in seconds. A request that nobody answers takes three seconds, of the two polls.
const POLL: &str = "4";
const POLL_S: u64 = 4;
/// How long a part may take to come up, or to see what has changed.
const LIMIT: Duration = Duration::from_secs(60);

fn name(fabric: &Fabric, node: NodeId) -> &str {
    fabric.node(node).description.trim()
}

/// A port as ibsim's console names it.
fn console_name(fabric: &Fabric, port: PortId) -> String {
    let told = fabric.port(port);
    format!("\"{}\"[{}]", name(fabric, told.node), told.num)
}

/// The cables that join the parts, by one of their ports.
fn joints(whole: &Fabric) -> Vec<PortId> {
    let is_first = |port: PortId| FIRST_PART.contains(&name(whole, whole.port(port).node));
    let is_switch = |port: PortId| whole.node(whole.port(port).node).is_switch();
    let crosses =
        |&(one, other): &(PortId, PortId)| is_switch(one) && is_switch(other) && is_first(one) != is_first(other);
    whole.links().filter(crosses).map(|(port, _)| port).collect()
}

/// The SMPs by which a manager has written, those between managers left out.
fn written(manager: &Sm, subnet: &Subnet) -> u64 {
    let status = manager.status(subnet);
    let sent = status["smps"]["sent"].as_object().expect("counts by attribute").clone();
    let counts = sent.iter().filter(|(attribute, _)| *attribute != "SmInfo");
    counts.filter_map(|(_, by_method)| by_method["Set"].as_u64()).sum()
}

/// Whether the second manager's port shows that a manager is there (IsSM): ibsim shows it until the port's link has
/// been down.
fn shows_bit(subnet: &Subnet) -> bool {
    let own = Fields::read(&subnet.tool(&["smpquery", "portinfo", "-D", "0", "1"]));
    own.number("CapMask") & 2 != 0
}

/// Exactly one is master two polls after the joint, and the other one writes nothing from then on.
fn two_parts_become_one(with_bit: bool) {
    let Net { name: net, text } = generated(FABRIC, 0);
    let whole = topology(&Net { name: net.clone(), text });
    let joints = joints(&whole);
    let parts = write(&whole.without_links(&joints), Format::IbsimNet).expect("ibsim nets are written");
    let mut subnet = Subnet::serve(&parts);
    subnet.tools_at(PLACES[1]);
    let start = |place: &&str| Sm::start(&subnet, place, &subnet.name("sm"), &["--standby-poll", POLL]);
    let managers: Vec<Sm> = PLACES.iter().map(start).collect();
    managers.iter().for_each(|manager| manager.wait(&subnet, "SUBNET UP", 1));
    if !with_bit {
        subnet.unlink(PLACES[1], Some(1));
        subnet.relink(PLACES[1], Some(1));
        managers[1].wait(&subnet, "ports bounced", 1);
    }
    assert_eq!(shows_bit(&subnet), with_bit);
    let roles = |subnet: &Subnet| [0, 1].map(|at: usize| managers[at].says(subnet, "role"));
    assert_eq!(roles(&subnet), ["master", "master"]);

    for &port in &joints {
        let far = whole.peer(port).expect("a cable has two ends");
        subnet.console(&format!("Link {} {}", console_name(&whole, port), console_name(&whole, far)));
    }
    let joined = Instant::now();
    subnet.wait("one master", LIMIT, || roles(&subnet) == ["master", "standby"]);
    assert!(joined.elapsed() < Duration::from_secs(2 * POLL_S), "{:?}", joined.elapsed());
    let before = written(&managers[1], &subnet);
    managers[0].wait(&subnet, "SUBNET UP", 2);
    let swept = managers[0].ask(&subnet, "status", &["--sweep"]);
    assert_eq!(swept.code, Some(0), "{}", swept.errors);

    let half = if managers[0].status(&subnet)["half"] == "upper" { Half::Upper } else { Half::Lower };
    let picture = all_is_well(&subnet, &expected(&whole, 1, half), &BOTH);
    let lids = picture.fabric.end_ports().map(|port| picture.lid(port)).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(lids.len(), whole.end_ports().count(), "each has LIDs of its own: {lids:?}");
    let (_, guid, _, state) = sminfo(&subnet.tool(&["sminfo"]));
    let first = whole.end_ports().find(|&port| name(&whole, whole.port(port).node) == PLACES[0]).expect("it is there");
    assert_eq!((Some(guid), state.as_str()), (whole.port(first).guid, "SMINFO_MASTER"));
    assert_eq!((roles(&subnet), written(&managers[1], &subnet)), (["master", "standby"].map(str::to_string), before));
}

/// Two masters do not see each other by the bit alone (IBA 14.4.1): the traps and the answers of the other part tell.
#[test]
fn two_parts_that_are_cabled_together_have_one_master_within_two_polls() {
    if installed() {
        side_by_side(&[true, false], |&with_bit| two_parts_become_one(with_bit));
    }
}
