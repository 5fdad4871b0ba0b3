//! The tables of ibdiagnet2.

use reconfig::fabric::format::{Format, Tolerance, read_as, read_tolerating};
use reconfig::fabric::{LinkSpeed, LinkWidth, NodeKind};
use reconfig::ids::{Guid, Lid};

const TABLES: &str = "\
# ibdiagnet 2.1
START_NODES
NodeDesc,NumPorts,NodeType,ClassVersion,BaseVersion,SystemImageGUID,NodeGUID,PortGUID,DeviceID,VendorID,LocalPortNum
\"leaf, one\",3,2,1,1,0x10,0x10,0x10,53000,713,1
\"host-1 mlx5_0\",1,1,1,1,0x20,0x20,0x21,4123,0x2c9,1
\"spine\",2,2,1,1,0x30,0x30,0x30,53000,713,1
END_NODES

START_PORTS
NodeGuid,PortGuid,PortNum,LID,LinkWidthActv,LinkSpeedActv,LMC,PortState,VLCap
0x10,0x10,0,7,0,0,0,0,0
0x10,0x10,1,0,2,1024,0,4,4
0x10,0x10,2,0,2,2048,0,4,4
0x10,0x10,3,0,2,1,0,1,4
0x20,0x21,1,12,2,1024,1,4,3
0x30,0x30,0,8,0,0,0,0,0
0x30,0x30,1,0,2,2048,0,4,4
END_PORTS

START_LINKS
NodeGuid1,PortNum1,NodeGuid2,PortNum2
0x20,1,0x10,1
0x10,2,0x30,1
END_LINKS
";

#[test]
fn nodes_ports_and_links_are_joined() {
    let reading = read_as(Format::DbCsv, TABLES.as_bytes(), "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert!(reading.incomplete.is_none() && reading.notices.is_empty(), "{:?}", reading.notices);
    let fabric = &reading.fabric;
    let told: Vec<_> = fabric.nodes().map(|(_, node)| (node.kind, node.guid, node.num_ports)).collect();
    assert_eq!(told[0], (NodeKind::Switch, Guid(0x10), 3));
    let host = fabric.end_ports().map(|id| fabric.port(id)).next().expect("one host");
    assert_eq!((host.lid, host.lmc.lids(), host.data_vls), (Some(Lid(12)), 2, 4));
    assert_eq!((host.width, host.speed), (LinkWidth::X4, LinkSpeed::Hdr));
    let names: Vec<_> = fabric.nodes().map(|(_, node)| node.description.as_str()).collect();
    assert_eq!(names, ["leaf, one", "host-1 mlx5_0", "spine"]);
    assert_eq!(Format::detect(TABLES), Format::DbCsv);
}

#[test]
fn a_cut_file_is_never_taken_for_a_whole_one() {
    for (mark, told) in [
        ("0x10,2,0x30,1\n", "is up, and no row of LINKS names it"),
        ("END_LINKS\n", "does not end"),
        ("\"spine\",2,2,1,1,0x30,0x30,0x30,53000,713,1\n", "no row of NODES has"),
    ] {
        let cut = TABLES.replace(mark, "");
        let said = match read_tolerating(cut.as_bytes(), "test", Tolerance::Repair) {
            Ok(reading) => reading.incomplete.expect("incomplete").to_string(),
            Err(error) => error.to_string(),
        };
        assert!(said.contains(told), "{said}");
    }
    let without = &TABLES[..TABLES.find("START_LINKS").expect("there")];
    let error = read_tolerating(without.as_bytes(), "test", Tolerance::Repair).expect_err("no links");
    assert!(error.to_string().contains("no table LINKS"), "{error}");
}

/// The one fault of a file, and its line.
fn fault(text: &str) -> (usize, String) {
    let error = read_as(Format::DbCsv, text.as_bytes(), "test").expect_err("a fault");
    assert_eq!(error.count(), 1, "{}", error.render(false));
    (error.line(), format!("{}: {}", error.problem(), error.expected()))
}

#[test]
fn a_port_has_one_row() {
    let row = "0x20,0x21,1,12,2,1024,1,4,3\n";
    let repeated = TABLES.replace(row, &row.repeat(2));
    let reading = read_as(Format::DbCsv, repeated.as_bytes(), "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert!(reading.notices[0].text.contains("a repeated line is left out"), "{:?}", reading.notices);
    let (line, told) = fault(&TABLES.replace(row, &format!("{row}{}", row.replace(",12,", ",13,"))));
    assert!(line == 16 && told.starts_with("two rows for port 1 of 0x0000000000000020, which differ"), "{line} {told}");
}

#[test]
fn no_value_is_taken_for_another_one() {
    let row = "0x20,0x21,1,12,2,1024,1,4,3";
    for (place, value, told) in [
        (3, "60000", "LID 60000 is out of range: expected a LID from 1 to 49151, or 0 for none"),
        (4, "x", "a number for LinkWidthActv"),
        (6, "8", "a number for LMC, at most 7"),
        (7, "N/A", "a number for PortState, at most 4"),
        (8, "65539", "a number for VLCap"),
        (8, "9", "a VLCap from 1 to 5, or 0 for none"),
    ] {
        let mut values: Vec<&str> = row.split(',').collect();
        values[place] = value;
        let (line, said) = fault(&TABLES.replace(row, &values.join(",")));
        assert!(line == 15 && said.contains(told), "{line} {said}");
    }
    let (line, said) = fault(&TABLES.replace("4123,0x2c9", "4123,99999999999"));
    assert!(line == 5 && said.contains("a number for VendorID, at most 16777215"), "{line} {said}");
    // What is not stated is told, as far as it matters.
    let silent = TABLES.replace(row, "0x20,0x21,1,12,N/A,N/A,N/A,4,N/A");
    let reading = read_as(Format::DbCsv, silent.as_bytes(), "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let texts: String = reading.notices.iter().map(|notice| &*notice.text).collect();
    assert!(texts.contains("states no LMC") && texts.contains("a link's rate is missing"), "{texts}");
}

#[test]
fn a_column_that_is_missing_is_told_once() {
    for (column, line, table) in [("PortState", 10, "PORTS"), ("NodeType", 3, "NODES"), ("PortNum2", 21, "LINKS")] {
        let (at, told) = fault(&TABLES.replace(column, "Other"));
        assert!(told.starts_with(&format!("the table {table} has no column {column}: expected ")), "{told}");
        assert_eq!(at, line);
    }
}
