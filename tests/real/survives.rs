//! What `reconfig sm` survives: lost and late SMPs, a node that stops answering, an ibsim that dies, other managers.

use super::brings_up::{BOTH, all_is_well, expected, topology};
use super::fabrics::{SMALL, generated};
use super::installed;
use super::opensm::OpenSm;
use super::sm::{COMPLETED, Place, Sm, without};
use super::subnet::Subnet;
use super::told::sminfo;
use reconfig::ids::Half;
use std::time::Duration;

/// A fifth of the datagrams is lost each way, a fifth is late beyond the time-out, some come twice.
const FAULTS: &str = "loss=0.2,late=0.2,late-ms=60,double=0.02,seed=7";

#[test]
fn a_fifth_of_all_datagrams_lost_or_late() {
    if !installed() {
        return;
    }
    let net = generated(SMALL[0].0, SMALL[0].1);
    let topology = topology(&net);
    let place = Place::of(&topology);
    let mut subnet = Subnet::serve(&net.text);
    subnet.tools_at(&place.node);
    let manager = Sm::bring_up(&subnet, &place.node, &["--faults", FAULTS, "--timeout", "40", "--retries", "20"]);
    subnet.unlink(topology.node(place.root).description.trim(), None);
    manager.wait(&subnet, COMPLETED, 1);
    let rest = without(&topology, place.root, &place.node);
    drop(manager);
    // The tools would suffer from the faults in the SA's answers: who takes over has none.
    let _manager = Sm::start(&subnet, &place.node, "second", &[]);
    subnet.wait("the second manager", Duration::from_secs(60), || _manager.count("SUBNET UP") == 1);
    assert_eq!(_manager.count("arrival=Adopted"), 1, "what the first one left can be proved");
    all_is_well(&subnet, &expected(&rest, 1, Half::Upper), &BOTH[1..]);
}

#[test]
fn ibsim_that_loses_a_fifth_of_a_switchs_datagrams() {
    if !installed() {
        return;
    }
    let net = generated(SMALL[0].0, SMALL[0].1);
    let topology = topology(&net);
    let place = Place::of(&topology);
    let mut subnet = Subnet::serve(&net.text);
    subnet.tools_at(&place.node);
    let switches: Vec<String> =
        topology.switches().map(|id| topology.node(id).description.trim().to_string()).collect();
    switches.iter().for_each(|switch| subnet.error(switch, None, 20));
    let manager = Sm::bring_up(&subnet, &place.node, &["--timeout", "40", "--retries", "20"]);
    subnet.unlink(topology.node(place.root).description.trim(), None);
    manager.wait(&subnet, COMPLETED, 1);
    switches.iter().for_each(|switch| subnet.error(switch, None, 0));
    let rest = without(&topology, place.root, &place.node);
    all_is_well(&subnet, &expected(&rest, 1, Half::Upper), &BOTH[1..]);
}

#[test]
fn a_host_that_stops_answering() {
    if !installed() {
        return;
    }
    let net = generated(SMALL[0].0, SMALL[0].1);
    let topology = topology(&net);
    let place = Place::of(&topology);
    let mut subnet = Subnet::serve(&net.text);
    subnet.tools_at(&place.node);
    let manager = Sm::bring_up(&subnet, &place.node, &["--timeout", "40", "--sweep", "1"]);
    let elsewhere = |id: &reconfig::fabric::PortId| {
        let port = topology.port(*id);
        topology.node(port.node).description.trim() != place.node && topology.neighbour(*id) != Some(place.root)
    };
    let mute = topology.end_ports().find(elsewhere).expect("a host elsewhere");
    let mute = topology.node(topology.port(mute).node).description.trim().to_string();
    // The host is mute, its link up: only who asks it something can tell.
    subnet.error(&mute, None, 100);
    subnet.unlink(topology.node(place.root).description.trim(), None);
    subnet.wait("the change, or word of why not", Duration::from_secs(120), || {
        manager.count(COMPLETED) > 0 || manager.count("ERROR") > 0
    });
    subnet.error(&mute, None, 0);
    manager.wait(&subnet, COMPLETED, 1);
    let rest = without(&topology, place.root, &place.node);
    let quiet = || manager.status(&subnet)["trouble"].is_null();
    subnet.wait("the manager to be content", Duration::from_secs(60), quiet);
    let half = if manager.status(&subnet)["half"] == "upper" { Half::Upper } else { Half::Lower };
    all_is_well(&subnet, &expected(&rest, 1, half), &[half]);
}

#[test]
fn a_second_manager_of_higher_priority_and_its_end() {
    if !installed() {
        return;
    }
    let net = generated(SMALL[0].0, SMALL[0].1);
    let topology = topology(&net);
    let place = Place::of(&topology);
    let mut subnet = Subnet::serve(&net.text);
    subnet.tools_at(&place.node);
    let manager = Sm::bring_up(&subnet, &place.node, &["--priority", "5", "--standby-poll", "1", "--sweep", "1"]);
    let other = topology.end_ports().map(|port| topology.node(topology.port(port).node).description.trim().to_string());
    let other = other.into_iter().find(|name| *name != place.node).expect("another host");
    let opensm = OpenSm::start(&subnet, Some(&other), "higher", "sm_priority 15\nlmc 1\nhonor_guid2lid_file FALSE\n");
    subnet.wait("OpenSM to be master", Duration::from_secs(90), || opensm.says("Entering MASTER state"));
    subnet.wait("reconfig sm to stand by", Duration::from_secs(90), || manager.status(&subnet)["role"] == "standby");
    subnet.wait("one master", Duration::from_secs(60), || {
        let ended = subnet.run(&["sminfo"]);
        ended.code == Some(0) && sminfo(&ended.output).2 == 15
    });
    drop(opensm);
    subnet.wait("reconfig sm to take over", Duration::from_secs(90), || manager.status(&subnet)["role"] == "master");
}

#[test]
fn a_second_manager_of_lower_priority_stands_by() {
    if !installed() {
        return;
    }
    let net = generated(SMALL[0].0, SMALL[0].1);
    let topology = topology(&net);
    let place = Place::of(&topology);
    let mut subnet = Subnet::serve(&net.text);
    subnet.tools_at(&place.node);
    let manager = Sm::bring_up(&subnet, &place.node, &["--priority", "5"]);
    let other = topology.end_ports().map(|port| topology.node(topology.port(port).node).description.trim().to_string());
    let other = other.into_iter().find(|name| *name != place.node).expect("another host");
    let opensm = OpenSm::start(&subnet, Some(&other), "lower", "sm_priority 1\nlmc 1\n");
    subnet.wait("OpenSM to stand by", Duration::from_secs(60), || opensm.says("Entering STANDBY state"));
    assert_eq!(manager.status(&subnet)["role"], "master");
    all_is_well(&subnet, &expected(&topology, 1, Half::Lower), &BOTH);
}

#[test]
fn ibsim_killed_and_started_again() {
    if !installed() {
        return;
    }
    let net = generated(SMALL[0].0, SMALL[0].1);
    let topology = topology(&net);
    let place = Place::of(&topology);
    let mut subnet = Subnet::serve(&net.text);
    subnet.tools_at(&place.node);
    let mut manager = Sm::bring_up(&subnet, &place.node, &["--sweep", "1"]);
    subnet.kill();
    // Its port is gone for good: the preloaded library makes no new connection. What it says is an error, no panic.
    subnet.wait("the manager to notice", Duration::from_secs(60), || !manager.is_alive() || manager.count("ERROR") > 0);
    assert_eq!(manager.count("panicked"), 0);
    subnet.start();
    let _manager = Sm::bring_up(&subnet, &place.node, &[]);
    all_is_well(&subnet, &expected(&topology, 1, Half::Lower), &BOTH);
}
