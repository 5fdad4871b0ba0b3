//! ibdiagnet2's dump of switches.

use reconfig::fabric::format::{Format, read_as};
use reconfig::fabric::{LinkSpeed, NodeKind};
use reconfig::ids::{Guid, Lid};

const DUMP: &str = "\
\"MF0;leaf:one/U1\", Mellanox, 0x10, LID 5
# : IB# : Sta : PhysSta : MTU : LWA : LSA : FEC mode : Retran : Neighbor Guid : N# : NLID : Neighbor Description
1/1 : 1 : ACT : LINK UP : 5 : 4x : 50 : STD-RS : NO-RTR : 0x20 : 1 : 12 : \"host: one mlx5_0\"
1/2 : 2 : DOWN : POLLING : N/A : N/A : N/A : N/A : N/A :  :  :  : \"\"
1/3 : 3 : ACT : LINK UP : 5 : 4x : 100 : STD-RS : NO-RTR : 0x30 : 7/1 : 6 : \"spine\"
\"spine\", Mellanox, 0x30, LID 6
# : IB# : Sta : PhysSta : MTU : LWA : LSA : FEC mode : Retran : Neighbor Guid : N# : NLID : Neighbor Description
7/1 : 2 : ACT : LINK UP : 5 : 4x : 100 : STD-RS : NO-RTR : 0x10 : 1/3 : 5 : \"MF0;leaf:one/U1\"
";

#[test]
fn ports_are_found_by_what_is_printed_beside_them() {
    let reading = read_as(Format::NetDump, DUMP.as_bytes(), "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert!(reading.incomplete.is_none());
    let fabric = &reading.fabric;
    let told: Vec<_> = fabric.nodes().map(|(_, node)| (node.kind, node.guid, node.num_ports)).collect();
    let (switch, ca) = (NodeKind::Switch, NodeKind::Ca);
    assert_eq!(told, [(switch, Guid(0x10), 3), (switch, Guid(0x30), 2), (ca, Guid(0x20), 1)]);
    let host = fabric.end_ports().map(|id| fabric.port(id)).next().expect("one host");
    assert_eq!((host.lid, host.speed), (Some(Lid(12)), LinkSpeed::Hdr));
    assert_eq!(fabric.links().count(), 2);
    assert_eq!(Format::detect(DUMP), Format::NetDump);
}

#[test]
fn a_switch_without_a_block_is_missing() {
    let cut = DUMP.split("\"spine\", Mell").next().expect("a part").replace("7/1", "17");
    let reading = read_as(Format::NetDump, cut.as_bytes(), "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert!(reading.incomplete.is_some(), "{:?}", reading.notices);
}
