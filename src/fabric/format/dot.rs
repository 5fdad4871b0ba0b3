//! Graphviz: switches as boxes, end nodes as ellipses, one edge for each cable with its ports, width and speed. Written
//! only.
//!
//! `neato` or `sfdp` draw large fabrics, `fdp -Tsvg` small ones. Written by hand, since petgraph's writer cannot name
//! nodes by GUID, which makes two drawings comparable.

use crate::fabric::{Fabric, Node, NodeKind};
use std::fmt::Write;

/// The fabric as an undirected graph, without departed nodes.
pub(super) fn write(fabric: &Fabric) -> String {
    let mut out = "graph fabric {\n  overlap=false;\n  node [fontname=\"sans-serif\"];\n".to_string();
    for (_, node) in fabric.nodes().filter(|(_, node)| node.present) {
        write_node(&mut out, node);
    }
    for (a, b) in fabric.links() {
        let (a, b) = (fabric.port(a), fabric.port(b));
        let [from, to] = [a, b].map(|port| fabric.node(port.node).guid);
        let edge = format!("  \"{from}\" -- \"{to}\" [taillabel=\"{}\", headlabel=\"{}\"", a.num, b.num);
        writeln!(out, "{edge}, label=\"{}{}\"];", a.width, a.speed).expect("a String takes every text");
    }
    out + "}\n"
}

fn write_node(out: &mut String, node: &Node) {
    let shape = match node.kind {
        NodeKind::Switch => "box",
        NodeKind::Ca => "ellipse",
        NodeKind::Router => "diamond",
    };
    let text = label(node);
    writeln!(out, "  \"{}\" [shape={shape}, label=\"{text}\"];", node.guid).expect("a String takes every text");
}

/// A node's label, escaped for quotes.
pub(in crate::fabric) fn label(node: &Node) -> String {
    match node.description.trim() {
        "" => node.guid.to_string(),
        text => text.replace(char::is_control, " ").replace('\\', "\\\\").replace('"', "\\\""),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Format, read, write};

    #[test]
    fn a_drawing_has_nodes_by_guid_and_one_edge_a_cable() {
        let text = "# Net configuration\nSwitch 2 \"s\" # \"a \\ \"b\"\"\n[1] \"h\"[1]\n[2] \"h\"[2]\n\nHca 2 \"h\"\n[1] \"s\"[1]\n[2] \"s\"[2]\n";
        let fabric = read(text.as_bytes(), "test").expect("a good file");
        let expected = r#"graph fabric {
  overlap=false;
  node [fontname="sans-serif"];
  "0x0000000000200000" [shape=box, label="a \\ \"b\""];
  "0x0000000000100000" [shape=ellipse, label="h"];
  "0x0000000000200000" -- "0x0000000000100000" [taillabel="1", headlabel="1", label="4xSDR"];
  "0x0000000000200000" -- "0x0000000000100000" [taillabel="2", headlabel="2", label="4xSDR"];
}
"#;
        assert_eq!(write(&fabric, Format::Dot).as_deref(), Ok(expected));
    }
}
