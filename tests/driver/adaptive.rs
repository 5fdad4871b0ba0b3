//! Switches that choose outputs by themselves are found, where they say so.

use crate::driver::bench::{drive, light, timing};
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeKind};
use reconfig::ids::{Guid, Lmc, PortNum};
use reconfig::lid;
use reconfig::sim::{Sim, SimTransport};
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
        drive(&transport, manager.adaptive_switches(), Vec::new()).expect("the port works")
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
