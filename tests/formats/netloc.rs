//! netloc's lists of nodes and cables.

use reconfig::fabric::format::{Format, read_as};
use reconfig::fabric::{LinkSpeed, NodeKind};
use reconfig::ids::{Guid, Lid};

const NODES: &str = r#"{"network_info":{"network_type":2,"subnet_id":"fe80:0000:0000:0000","version":"","desc":""},
"node_info":{"0000:0000:0000:0010":{"network_type":2,"node_type":1,"log_id":"5","desc":"'leaf'","edge_ids":[2]},
"0000:0000:0000:0021":{"network_type":2,"node_type":2,"log_id":"12","desc":"'host \"1\" HCA-1'","edge_ids":[1]}},
"edge_info":{"1":{"desc":"","src_port_id":"1","euid":1,"src_node_type":2,"src_node_id":"0000:0000:0000:0021","dest_node_id":"0000:0000:0000:0010","speed":"QDR","dest_node_type":1,"dest_port_id":"3","width":"4x"},
"2":{"desc":"","src_port_id":"3","euid":2,"src_node_type":1,"src_node_id":"0000:0000:0000:0010","dest_node_id":"0000:0000:0000:0021","speed":"QDR","dest_node_type":2,"dest_port_id":"1","width":"4x"}}}"#;

#[test]
fn cables_join_ports() {
    let reading = read_as(Format::Netloc, NODES.as_bytes(), "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let fabric = &reading.fabric;
    let told: Vec<_> = fabric.nodes().map(|(_, node)| (node.kind, node.guid, node.num_ports)).collect();
    assert_eq!(told, [(NodeKind::Switch, Guid(0x10), 3), (NodeKind::Ca, Guid(0x21), 1)]);
    let host = fabric.end_ports().map(|id| fabric.port(id)).next().expect("one host");
    assert_eq!((host.lid, host.guid, host.speed), (Some(Lid(12)), Some(Guid(0x21)), LinkSpeed::Qdr));
    assert_eq!(fabric.nodes().nth(1).expect("two").1.description, "host \"1\" HCA-1");
    assert_eq!(Format::detect(NODES), Format::Netloc);
}

#[test]
fn what_is_wrong_names_the_cable_and_paths_alone_the_file_beside() {
    let unknown =
        NODES.replacen("\"dest_node_id\":\"0000:0000:0000:0010\"", "\"dest_node_id\":\"0000:0000:0000:0011\"", 1);
    for (text, told) in [
        (unknown.as_str(), "cable 1: no node 0000:0000:0000:0011"),
        (&NODES[..NODES.len() - 1], "not the JSON that netloc writes"),
        ("{\"network_info\":{},\"path_info\":{}}", "…-nodes.ndat"),
    ] {
        let error = read_as(Format::Netloc, text.as_bytes(), "test").expect_err("not whole");
        let said = format!("{error} {}", error.expected());
        assert!(said.contains(told), "{said}");
    }
}

#[test]
fn what_is_listed_twice_is_told() {
    let node = r#""0000:0000:0000:0010":{"network_type":2,"node_type":2,"log_id":"9","desc":"'x'","edge_ids":[2]},"#;
    let twice = NODES.replace("\"node_info\":{", &format!("\"node_info\":{{{node}"));
    let cable = NODES.replace("\n\"2\":{\"desc\"", "\n\"1\":{\"desc\"");
    let far = NODES.replace("\"log_id\":\"12\"", "\"log_id\":\"60000\"");
    for (text, told) in [
        (twice, "node 0000:0000:0000:0010 is listed twice"),
        (cable, "cable 1 is listed twice"),
        (far, "node 0000:0000:0000:0021: LID 60000 is out of range, expected a LID from 1 to 49151, or 0 for none"),
    ] {
        let error = read_as(Format::Netloc, text.as_bytes(), "test").expect_err(told);
        assert_eq!(error.problem(), told);
    }
}

#[test]
fn a_rate_that_is_not_known_is_told() {
    let text = NODES.replace("QDR", "100");
    let reading = read_as(Format::Netloc, text.as_bytes(), "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let told = |notice: &str| reading.notices.iter().any(|told| told.text.contains(notice));
    assert!(told("a link's rate is missing") && told("(cable 1: speed `100`, width `4x`)"), "{:?}", reading.notices);
}
