//! Graphviz: a cluster for each subnet, routers once, as diamonds between them. Written only.
//!
//! Nodes are named `SUBNET/GUID` and routers `router/GUID`, so that two drawings can be compared. A router that joins
//! nothing is drawn in its subnet.

use super::{SubnetPort, Subnets};
use crate::fabric::format::dot_label;
use crate::fabric::{NodeKind, PortId};
use crate::ids::SubnetId;
use std::fmt::Write;

/// The subnets as an undirected graph, without departed nodes.
pub fn write(subnets: &Subnets) -> String {
    let mut out = "graph subnets {\n  overlap=false;\n  node [fontname=\"sans-serif\"];\n".to_string();
    for (id, _) in subnets.subnets() {
        write_cluster(&mut out, subnets, id);
    }
    for router in subnets.routers() {
        let Some(first) = router.ports.first() else { continue };
        let node = subnets.fabric(first.subnet).node(subnets.fabric(first.subnet).port(first.port).node);
        push(&mut out, format_args!("  \"router/{}\" [shape=diamond, label=\"{}\"];\n", router.guid, dot_label(node)));
    }
    for (id, subnet) in subnets.subnets() {
        for (a, b) in subnet.fabric.links() {
            write_link(&mut out, subnets, id, (a, b));
        }
    }
    out + "}\n"
}

fn write_cluster(out: &mut String, subnets: &Subnets, id: SubnetId) {
    let subnet = subnets.subnet(id);
    push(out, format_args!("  subgraph \"cluster_{}\" {{\n    label=\"{0} {}\";\n", subnet.name, subnet.prefix));
    let fabric = &subnet.fabric;
    for (node_id, node) in fabric.nodes().filter(|(_, node)| node.present) {
        let joins = fabric.ports_of(node_id).any(|port| subnets.router_of(SubnetPort { subnet: id, port }).is_some());
        if joins {
            continue;
        }
        let shape = match node.kind {
            NodeKind::Switch => "box",
            NodeKind::Ca => "ellipse",
            NodeKind::Router => "diamond",
        };
        let name = format!("{}/{}", subnet.name, node.guid);
        push(out, format_args!("    \"{name}\" [shape={shape}, label=\"{}\"];\n", dot_label(node)));
    }
    out.push_str("  }\n");
}

fn write_link(out: &mut String, subnets: &Subnets, id: SubnetId, (a, b): (PortId, PortId)) {
    let fabric = subnets.fabric(id);
    let name = |port: PortId| match subnets.router_of(SubnetPort { subnet: id, port }) {
        Some(router) => format!("router/{}", subnets.routers()[router].guid),
        None => format!("{}/{}", subnets.subnet(id).name, fabric.node(fabric.port(port).node).guid),
    };
    let (from, to) = (name(a), name(b));
    let (a, b) = (fabric.port(a), fabric.port(b));
    let ports = format!("taillabel=\"{}\", headlabel=\"{}\"", a.num, b.num);
    push(out, format_args!("  \"{from}\" -- \"{to}\" [{ports}, label=\"{}{}\"];\n", a.width, a.speed));
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a String takes every text");
}
