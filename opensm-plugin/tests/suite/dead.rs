//! A switch dies with a host on it, under traffic: sources go on sending to that host.

use crate::harness::{OpenSm, installed};
use crate::moments::QUIET;
use crate::subnet::{Moments, Subnet};
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, NodeId};

fn node(fabric: &Fabric, name: &str) -> NodeId {
    fabric.nodes().find(|(_, node)| node.description == name).unwrap_or_else(|| panic!("no {name}")).0
}

/// No entry is left that leads to what died: no later change is proved beside such ways. With them this torus
/// deadlocked whenever ways were shortened after the death.
#[test]
fn nobody_leads_to_what_died() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let topology = "torus:8x8,1".parse().expect("a topology");
    let fabric = generate(&topology, &Options::default()).expect("a fabric");
    let victim = node(&fabric, "switch-0-0");
    // At three times the load the simulator answers too late for OpenSM where other work runs beside it.
    let subnet = Subnet::serve(&fabric, 0.1);
    let manager = fabric.nodes().filter(|(_, node)| !node.is_switch()).last().expect("hosts").1.description.clone();
    let opensm = OpenSm::start_at(Some(&manager), &subnet.socket, subnet.folder(), "", "");
    opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
    opensm.quiet(QUIET, || subnet.written());
    subnet.command("Kill \"switch-0-0\"");
    opensm.until("nothing to gain", |opensm| opensm.said().iter().any(|said| said.contains("nothing is gained by")));
    opensm.quiet(QUIET, || subnet.written());

    let whole = opensm.seen(&fabric);
    let mut moments = Moments::new(&whole);
    for event in subnet.events() {
        moments.step(&event);
    }
    let of_victim =
        |node: NodeId| node == victim || whole.ports_of(node).any(|port| whole.neighbour(port) == Some(victim));
    let is_dead = |port| {
        let node = whole.port(port).node;
        node == victim || !whole.node(node).is_switch() && of_victim(node)
    };
    let mut led = Vec::new();
    for switch in whole.switches().filter(|&switch| switch != victim) {
        let routes = moments.lfts[switch.index()].routes();
        let strays = routes.filter(|&(lid, _)| whole.lid_owner(lid).is_none_or(is_dead));
        led.extend(strays.map(|(lid, port)| format!("{} LID {lid} port {port}", whole.describe_node(switch))));
    }
    assert_eq!(led, Vec::<String>::new(), "{}", opensm.said().join("\n"));
    assert_eq!(subnet.status()["deadlocks"].as_u64(), Some(0), "{}", opensm.said().join("\n"));
}

/// Switches whose M_Key is set take no write without it: the parts that the engine has written itself carry it.
#[test]
fn parts_carry_the_m_key() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let fabric = generate(&"torus:8x8,1".parse().expect("a topology"), &Options::default()).expect("a fabric");
    let subnet = Subnet::serve(&fabric, 0.02);
    let manager = fabric.nodes().filter(|(_, node)| !node.is_switch()).last().expect("hosts").1.description.clone();
    let keys = "m_key 0x1122334455667788\nm_key_protection_level 1";
    let opensm = OpenSm::start_at(Some(&manager), &subnet.socket, subnet.folder(), "", keys);
    opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
    opensm.quiet(QUIET, || subnet.written());
    subnet.command("Kill \"switch-0-0\"");
    opensm
        .until("a part to be written", |opensm| opensm.said().iter().any(|said| said.starts_with("part of the wave")));
    opensm.until("the loss to be repaired", OpenSm::has_ended);
    let said = opensm.said();
    let mut parts = said.iter().skip_while(|said| !said.starts_with("part of the wave"));
    let failed = parts.find(|said| said.contains("not written everywhere") || said.contains("does not report"));
    assert_eq!(failed, None, "{}", said.join("\n"));
}
