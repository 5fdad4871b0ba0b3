//! Switches that choose outputs by themselves are found, where they say so.

use crate::driver::bench::{MS, drive, light, timing};
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeKind};
use reconfig::ids::{Guid, Lmc, PortNum};
use reconfig::lid;
use reconfig::sim::{SickAttribute, Sickness, Sim, SimTransport};
use reconfig::subnet::{Ask, Manager, RequestTarget, SubnetManager};
use reconfig::wire::AttributeId;
use reconfig::wire::vendor::AdaptiveRoutingInfo;

/// Three switches in a row with a host at each end; the last is of another maker.
fn row() -> Fabric {
    let mut builder = FabricBuilder::new();
    let switch = |at: u64| (NodeKind::Switch, Guid(at), 4, format!("switch-{at}"));
    let [a, b, c] = [1, 2, 3].map(switch).map(|(kind, guid, ports, name)| builder.node(kind, guid, ports, name));
    for node in [a, b] {
        builder.node_mut(node).vendor_id = 0x2C9;
    }
    let ends = [4, 5].map(|at| builder.node(NodeKind::Ca, Guid(at), 1, format!("host-{at}")));
    let cables = [(a, 1, b, 1), (b, 2, c, 1), (ends[0], 1, a, 2), (ends[1], 1, c, 2)];
    for (from, from_port, to, to_port) in cables {
        let link = builder.link((from, PortNum(from_port)), (to, PortNum(to_port)), LinkWidth::X4, LinkSpeed::Sdr);
        link.expect("free ports");
    }
    lid::assign(&builder.build().expect("a fabric").with_capabilities(4, true), Lmc::masked(1)).expect("LIDs enough")
}

#[test]
fn switches_that_choose_outputs_by_themselves_are_found() {
    let fabric = row();
    let sm = fabric.end_ports().next().expect("a host");
    let transport = SimTransport::new(Sim::new(&fabric, light(), sm).expect("settings that can be meant"));
    let mut manager = Manager::new(transport.clone(), timing(), 0);
    manager.set_topology(&fabric, sm);
    let found = |manager: &mut Manager<SimTransport>| {
        drive(&transport, manager.adaptive_switches(false), Vec::new()).expect("the port works").expect("to its end")
    };
    assert_eq!(found(&mut manager), [], "nobody says so");
    let switches: Vec<_> = fabric.switches().collect();
    let set = |at: usize, info: AdaptiveRoutingInfo| {
        Ask::set(RequestTarget::Node(switches[at]), AttributeId::AdaptiveRoutingInfo, 0, info.encode())
    };
    let asks = vec![
        set(1, AdaptiveRoutingInfo { fallback: true, enabled: false }),
        set(2, AdaptiveRoutingInfo { fallback: false, enabled: true }),
    ];
    drive(&transport, manager.ask(asks), Vec::new()).expect("they answer");
    assert_eq!(found(&mut manager), [switches[1]], "the number means something else to another maker");
}

/// A star of switches around one of another maker, on which the manager's host is, with the kind of each.
fn star(kinds: &[u32]) -> Fabric {
    let mut builder = FabricBuilder::new();
    let middle = builder.node(NodeKind::Switch, Guid(1), 12, "middle");
    let mut cables = Vec::new();
    for (&kind, num) in kinds.iter().zip(1..) {
        let switch = builder.node(NodeKind::Switch, Guid(0x10 + u64::from(num)), 2, format!("switch-{num}"));
        (builder.node_mut(switch).vendor_id, builder.node_mut(switch).device_id) = (0x2C9, kind);
        cables.push((num, switch));
    }
    cables.extend([11, 12].map(|num| (num, builder.node(NodeKind::Ca, Guid(num.into()), 1, format!("host-{num}")))));
    for (num, node) in cables {
        let link = builder.link((middle, PortNum(num)), (node, PortNum(1)), LinkWidth::X4, LinkSpeed::Sdr);
        link.expect("free ports");
    }
    lid::assign(&builder.build().expect("a fabric").with_capabilities(4, true), Lmc::masked(1)).expect("LIDs enough")
}

#[test]
fn switches_that_do_not_say_so_delay_the_rest_once_and_together() {
    let fabric = star(&[1, 1, 1, 2, 2, 2, 3, 3, 4]);
    let sm = fabric.end_ports().next().expect("a host");
    let transport = SimTransport::new(Sim::new(&fabric, light(), sm).expect("settings that can be meant"));
    let mut manager = Manager::new(transport.clone(), timing(), 0);
    manager.set_topology(&fabric, sm);
    let switch = |num: u64| fabric.by_guid(Guid(0x10 + num)).expect("it is there");
    // One of the first kind is ill; of the second and third none serves the attribute.
    let attribute = AttributeId::AdaptiveRoutingInfo;
    for num in [1, 4, 5, 6, 7, 8] {
        let sick = SickAttribute { attribute, sickness: Sickness::Silent, writes_only: false };
        transport.with(|sim| sim.sicken_node(switch(num), sick));
    }
    let on = AdaptiveRoutingInfo { fallback: false, enabled: true };
    let set = |num| Ask::set(RequestTarget::Node(switch(num)), attribute, 0, on.encode());
    drive(&transport, manager.ask(vec![set(2), set(3), set(9)]), Vec::new()).expect("they answer");
    // All tries at one silent device.
    let tries_ns = (0..=timing().retries).map(|sent| timing().timeout_ns << sent.min(3)).sum::<u64>();
    let took: Vec<u64> = (0..2)
        .map(|_| {
            let began_ns = transport.with(|sim| sim.now_ns());
            let found = drive(&transport, manager.adaptive_switches(false), Vec::new()).expect("the port works");
            assert_eq!(found.expect("to its end"), [2, 3, 9].map(switch));
            transport.with(|sim| sim.now_ns()) - began_ns
        })
        .collect();
    println!("{} and {} us; all tries at one device: {} us", took[0] / 1000, took[1] / 1000, tries_ns / 1000);
    assert!(took[0] < tries_ns + MS && took[1] < timing().timeout_ns + MS, "{took:?}, {tries_ns} ns for one device");
}
