//! ibdiagnet2's dump of switches.

use reconfig::fabric::format::{Format, Tolerance, read_as, read_tolerating};
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

fn incomplete(text: &str) -> String {
    let reading = read_as(Format::NetDump, text.as_bytes(), "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    reading.incomplete.expect("a part is missing").to_string()
}

#[test]
fn rows_below_a_heading_that_cannot_be_read_are_no_other_switch_s() {
    // Where a port is named by what is printed beside it, the block that is lost has its number.
    for (heading, problem, faults) in [
        ("\"spine\", Mellanox, 0x3z, LID 6\n", "a switch's line that cannot be read", 2),
        ("\"spine\", Mellanox, 0x30\n", "a switch's line that cannot be read", 2),
        ("\"spine\", Mellanox, 0x30, LID 70000\n", "LID 70000 is out of range", 1),
        ("MF0;spine:one\", Mellanox, 0x30, LID 6\n", "a line that is no port's row", 2),
    ] {
        let text = DUMP.replace("\"spine\", Mellanox, 0x30, LID 6\n", heading);
        let error = read_as(Format::NetDump, text.as_bytes(), "test").expect_err("a heading at fault");
        assert_eq!((error.line(), error.problem(), error.count()), (6, problem, faults), "{error}");
        let reading = read_tolerating(text.as_bytes(), "test", Tolerance::Partial).expect("the rest");
        let leaf = reading.fabric.by_guid(Guid(0x10)).expect("the leaf");
        assert_eq!(reading.fabric.node(leaf).num_ports, 3, "the spine's row 2 is not the leaf's");
    }
}

#[test]
fn a_link_has_a_row_at_both_of_its_switches() {
    let row = DUMP.lines().last().expect("the spine's row");
    let other = row.replace("7/1 : 2", "7/2 : 3").replace("0x10 : 1/3 : 5", "0x40 : 1 : 9");
    // The row that the leaf's cable leads to is lost, another one is not.
    let told = incomplete(&DUMP.replace(row, &other).replace("7/1", "2"));
    assert!(told.contains("port 3 of `MF0;leaf:one/U1` is cabled to port 2 of `spine`, which has no row"), "{told}");
    let down = row.replace("ACT", "DOWN");
    let error = read_as(Format::NetDump, DUMP.replace(row, &down).as_bytes(), "test").expect_err("two states");
    assert_eq!((error.line(), error.count()), (5, 1));
    assert!(error.render(false).contains("test:8:"), "the row at the other end is shown");
    let said = "port 3 of `MF0;leaf:one/U1` is up, and port 2 of `spine` at the other end of its cable is down";
    assert_eq!(error.problem(), said);
}

#[test]
fn a_neighbour_of_several_ports_and_one_lid_is_a_switch() {
    let cut = DUMP.split("\"spine\", Mell").next().expect("a part").replace("7/1", "1");
    let twice = cut.replace(
        "1/2 : 2 : DOWN : POLLING : N/A : N/A : N/A : N/A : N/A :  :  :  : \"\"",
        "1/2 : 2 : ACT : LINK UP : 5 : 4x : 100 : STD-RS : NO-RTR : 0x30 : 2 : 6 : \"spine\"",
    );
    let told = incomplete(&twice);
    assert!(told.contains("`spine`") && told.contains("has no section of its own"), "{told}");
    // A CA's two ports have two LIDs.
    let adapter = twice.replace("0x30 : 2 : 6", "0x30 : 2 : 7");
    let reading =
        read_as(Format::NetDump, adapter.as_bytes(), "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert!(reading.incomplete.is_none());
    assert_eq!(reading.fabric.switches().count(), 1);
}

#[test]
fn a_lid_that_is_none_is_refused() {
    let text = DUMP.replace("0x20 : 1 : 12", "0x20 : 1 : 60000");
    let error = read_as(Format::NetDump, text.as_bytes(), "test").expect_err("a LID of multicast");
    assert_eq!((error.line(), error.problem()), (3, "LID 60000 is out of range"));
    assert_eq!(error.expected(), "expected a LID from 1 to 49151, or 0 for none");
}

#[test]
fn a_state_that_is_not_known_is_refused() {
    let text = DUMP.replacen("ACT", "ON", 1);
    let error = read_as(Format::NetDump, text.as_bytes(), "test").expect_err("up or down?");
    assert_eq!((error.line(), error.problem()), (3, "unexpected `ON`"));
    assert_eq!(error.expected(), "expected a port's state: DOWN, INI, ARM or ACT");
}
