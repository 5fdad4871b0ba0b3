use super::*;
use crate::fabric::generate::{Options, Topology, generate};
use crate::fabric::{FabricBuilder, LinkWidth, NodeId};
use crate::ids::{Lid, Lmc};
use std::sync::Arc;

fn make(topology: &str) -> Fabric {
    generate(&topology.parse::<Topology>().unwrap(), &Options::default()).unwrap()
}

fn node(fabric: &Fabric, text: &str) -> NodeId {
    fabric.nodes().find(|(_, node)| node.description == text).unwrap().0
}

fn port(fabric: &Fabric, text: &str, num: u8) -> PortId {
    fabric.port_at(node(fabric, text), PortNum(num)).unwrap()
}

/// The fabric again with its nodes in reverse order, cables in `but` left out and those in `plus` put in.
fn rebuilt(fabric: &Fabric, but: &[PortId], plus: &[(PortId, PortId)]) -> Fabric {
    let mut builder = FabricBuilder::new();
    let nodes: Vec<_> = fabric.nodes().filter(|(_, node)| node.present).collect();
    for (id, node) in nodes.into_iter().rev() {
        let copy = builder.node(node.kind, node.guid, node.num_ports, node.description.clone());
        for port in fabric.ports_of(id).map(|id| fabric.port(id)) {
            let slot = builder.port_mut(copy, port.num).unwrap();
            (slot.guid, slot.lid, slot.lmc) = (port.guid, port.lid, port.lmc);
        }
    }
    let place = |builder: &FabricBuilder, port: PortId| {
        let PortName { guid, num } = fabric.port_name(port);
        let at = builder.nodes().iter().position(|node| node.guid == guid).unwrap();
        (NodeId(at as u32), num)
    };
    let kept = fabric.links().filter(|(a, b)| !but.contains(a) && !but.contains(b));
    for (a, b) in kept.chain(plus.iter().copied()) {
        let (a_end, b_end) = (place(&builder, a), place(&builder, b));
        builder.link(a_end, b_end, fabric.port(a).width, fabric.port(a).speed).unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn the_order_of_capture_is_no_difference() {
    let fabric = make("fat-tree:4,2");
    let other = rebuilt(&fabric, &[], &[]);
    assert_ne!(fabric.node(NodeId(0)).guid, other.node(NodeId(0)).guid);
    assert_eq!(Difference::between(&fabric, &other), Difference::default());
    assert_eq!(Difference::between(&fabric, &other).to_string(), "no difference\n");
}

#[test]
fn a_lost_switch_takes_its_links_with_it() {
    let before = make("fat-tree:4,2");
    let after = before.without_nodes(&[node(&before, "spine-2")]);
    let difference = Difference::between(&before, &after);
    assert_eq!(difference.nodes_gone.iter().map(|name| &name.description).collect::<Vec<_>>(), ["spine-2"]);
    assert_eq!((difference.links_gone.len(), difference.links_new.len(), difference.links_moved.len()), (4, 0, 0));
    let text = difference.to_string();
    assert!(text.starts_with("nodes gone: 1\n  switch spine-2 (0x0200000100000500)\nlinks gone: 4\n"), "{text}");
    assert!(text.contains("  leaf-1[6] to spine-2[1]\n"), "{text}");
    let back = Difference::between(&after, &before);
    assert_eq!((back.nodes_new, back.links_new), (difference.nodes_gone, difference.links_gone));
}

#[test]
fn a_cable_put_elsewhere_is_one_move() {
    let before = make("ring:4");
    // switch-1 port 2 led to switch-2 port 3; now it leads to switch-3 port 5.
    let (stays, leaves, comes) =
        (port(&before, "switch-1", 2), port(&before, "switch-2", 3), port(&before, "switch-3", 5));
    assert_eq!(before.peer(stays), Some(leaves));
    let after = rebuilt(&before, &[stays], &[(stays, comes)]);
    let difference = Difference::between(&before, &after);
    assert_eq!((difference.links_gone.len(), difference.links_new.len()), (0, 0));
    assert_eq!(
        difference.links_moved.iter().map(Moved::to_string).collect::<Vec<_>>(),
        ["switch-1[2] from switch-2[3] to switch-3[5]"]
    );
}

#[test]
fn rates_lids_and_descriptions_are_compared() {
    let before = make("ring:4");
    let mut after = before.clone();
    let link = after.links().next().unwrap();
    for end in [link.0, link.1] {
        Arc::make_mut(&mut after.ports)[end.index()].width = LinkWidth::X1;
    }
    Arc::make_mut(&mut after.nodes)[0].description = "renamed".to_string();
    let lids = after.lid_ports().map(|id| (id, Lid(2 * after.port(id).lid.unwrap().0), Lmc::masked(1)));
    let after = after.with_lids(lids.collect::<Vec<_>>()).unwrap();
    let difference = Difference::between(&before, &after);
    assert_eq!(difference.rates.len(), 1);
    assert!(difference.rates[0].to_string().ends_with(": 1xHDR, was 4xHDR"), "{}", difference.rates[0]);
    assert_eq!(difference.lids.len(), 8);
    assert!(difference.lids[0].to_string().ends_with("LID 2 LMC 1, was LID 1 LMC 0"), "{}", difference.lids[0]);
    let text = difference.descriptions[0].to_string();
    assert_eq!(text, "switch renamed (0x0200000700000000): renamed, was switch-1");
    assert!(difference.nodes_gone.is_empty() && difference.links_gone.is_empty());
}

#[test]
fn the_union_restricts_to_both_fabrics() {
    let whole = make("fat-tree:4,2");
    let (gone, new) = (node(&whole, "spine-2"), node(&whole, "spine-3"));
    let pulled = port(&whole, "leaf-1", 5);
    let before = rebuilt(&whole.without_nodes(&[new]), &[], &[]);
    let after = rebuilt(&whole.without_nodes(&[gone]).without_links(&[pulled]), &[], &[]);
    let union = union(&before, &after).unwrap();
    assert_eq!((union.absent_before.len(), union.absent_after.len()), (1, 1));
    assert_eq!((union.uncabled_before.len(), union.uncabled_after.len()), (0, 1));
    assert!(union.lid_conflicts.is_empty());
    assert!(Difference::between(&union.before(), &before).is_empty());
    assert!(Difference::between(&union.after(), &after).is_empty());
    for (id, node) in before.nodes() {
        assert_eq!(union.fabric.node(id).guid, node.guid, "indices before are indices of the union");
        assert_eq!(union.fabric.node(id).first_port, node.first_port);
    }
    assert_eq!(union.before().nodes().count(), union.after().nodes().count());
}

#[test]
fn the_union_of_equals_is_the_fabric_itself() {
    let fabric = make("three-level:2,2,2,2,2,2");
    let union = union(&fabric, &rebuilt(&fabric, &[], &[])).unwrap();
    assert_eq!(union.fabric, fabric);
    assert_eq!((union.before(), union.after()), (fabric.clone(), fabric));
}

#[test]
fn a_node_that_left_and_came_back_is_new() {
    let whole = make("ring:4");
    let before = whole.without_nodes(&[NodeId(1)]);
    let union = union(&before, &whole).unwrap();
    assert_eq!((union.absent_before.clone(), union.absent_after.len()), (vec![NodeId(1)], 0));
    assert_eq!((union.before(), union.after()), (before, whole));
}

#[test]
fn a_port_with_two_peers_has_no_union() {
    let before = make("ring:4");
    let (stays, comes) = (port(&before, "switch-1", 2), port(&before, "switch-3", 5));
    let error = union(&before, &rebuilt(&before, &[stays], &[(stays, comes)])).unwrap_err().to_string();
    assert!(error.starts_with("port switch-1[2] is cabled to switch-2[3] before and to switch-3[5] after"), "{error}");
}

#[test]
fn lids_that_clash_stay_as_they_were_and_are_listed() {
    let whole = make("ring:4,0");
    let before = whole.without_nodes(&[NodeId(3)]);
    let before = rebuilt(&before, &[], &[]);
    // After the newcomer takes LID 1, which switch-1 has before; switch-1 moves to LID 9.
    let taken = [(0, 9), (1, 2), (2, 3), (3, 1)];
    let assignment = taken.map(|(id, lid)| (whole.node(NodeId(id)).first_port, Lid(lid), Lmc::default()));
    let after = whole.with_lids(assignment).unwrap();
    let union = union(&before, &after).unwrap();
    let found: Vec<_> = union
        .lid_conflicts
        .iter()
        .map(|clash| (union.fabric.describe_port(clash.port), clash.kept.map(|kept| kept.0), clash.wanted.0))
        .collect();
    let expected = [("switch-1[0]", Some(Lid(1)), Lid(9)), ("switch-4[0]", None, Lid(1))];
    assert_eq!(found, expected.map(|(name, kept, wanted)| (name.to_string(), kept, wanted)));
}

#[test]
fn one_guid_of_two_kinds_has_no_union_and_no_alignment() {
    let before = make("ring:4");
    let mut after = before.clone();
    Arc::make_mut(&mut after.nodes)[7].kind = NodeKind::Router;
    assert!(matches!(union(&before, &after), Err(UnionError::Redefined { after: NodeKind::Router, .. })));
    assert!(matches!(align(&before, &after), Err(AlignError::Redefined { found: NodeKind::Router, .. })));
}

#[test]
fn a_sweep_is_told_in_known_indices() {
    let known = make("torus:3x3,2");
    let left = known.without_nodes(&[NodeId(4)]).without_links(&[port(&known, "switch-0-0", 3)]);
    let found = rebuilt(&left, &[], &[]);
    assert_eq!(align(&known, &found).unwrap(), left);
    assert_eq!(align(&known, &known).unwrap(), known);
}

#[test]
fn a_sweep_that_found_more_is_no_alignment() {
    let whole = make("ring:4");
    let known = whole.without_nodes(&[NodeId(1)]);
    let error = align(&known, &whole).unwrap_err().to_string();
    assert!(error.starts_with("switch switch-2 (0x0200000700000100) was found but is not known"), "{error}");
    let known = whole.without_links(&[port(&whole, "switch-1", 2)]);
    let error = align(&known, &whole).unwrap_err().to_string();
    assert!(error.starts_with("the cable from switch-1[2] to switch-2[3] was found but is not known"), "{error}");
}
