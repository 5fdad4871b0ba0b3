//! UFM's lists of cables.

use reconfig::fabric::NodeKind;
use reconfig::fabric::format::{Format, read_as};

const LIST: &str = "\
#StartDevice,StartPort,EndDevice,EndPort,LinkType
host-1,host-1 mlx5_0,leaf-1,Port 1, Data
host-1,mlx5_1,leaf-1,Port 2, Data
leaf-1,Port 33,spine-1,Port 4, Data
";

#[test]
fn devices_are_known_by_their_ports() {
    let reading = read_as(Format::Ndt, LIST.as_bytes(), "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert!(reading.numbered && reading.incomplete.is_none());
    let told: Vec<_> =
        reading.fabric.nodes().map(|(_, node)| (node.kind, node.description.clone(), node.num_ports)).collect();
    let (switch, ca) = (NodeKind::Switch, NodeKind::Ca);
    let expected = [
        (ca, "host-1 mlx5_0".to_string(), 1),
        (switch, "leaf-1".to_string(), 33),
        (ca, "host-1 mlx5_1".to_string(), 1),
        (switch, "spine-1".to_string(), 4),
    ];
    assert_eq!(told, expected);
    assert_eq!(Format::detect(LIST), Format::Ndt);
}

#[test]
fn a_director_is_refused_with_what_captures_it() {
    let text = LIST.replace("spine-1,Port 4", "director,Blade 2_Port 1/7");
    let error = read_as(Format::Ndt, text.as_bytes(), "test").expect_err("its boards are not told");
    assert!(error.to_string().contains("director") && error.expected().contains("ibnetdiscover"), "{error}");
}

#[test]
fn a_column_that_is_missing_is_told_once() {
    for (heading, problem) in
        [("#StartDevice,StartPrt,EndDevice,EndPort", "a column is missing"), ("#none", "no names of columns above")]
    {
        let text = LIST.replace("#StartDevice,StartPort,EndDevice,EndPort,LinkType", heading);
        let error = read_as(Format::Ndt, text.as_bytes(), "test").expect_err("which column is what?");
        assert_eq!((error.problem(), error.count()), (problem, 1));
        assert!(error.expected().contains("StartDevice, StartPort, EndDevice and EndPort"), "{error}");
    }
}
