//! The readers of dumps: what OpenSM and its tools write is read alike whichever tool wrote it; what is wrong is told
//! with file, line, column and what was expected.

use super::{bytes, fabric, fdbs};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use reconfig::fabric::Fabric;
use reconfig::fabric::format::ReadError;
use reconfig::ids::{Guid, Lid, PortNum, Sl};
use reconfig::tables::Lft;
use reconfig::tables::dump::{read_fdbs, read_lfts, read_path_sls, read_sl_to_vl};

fn ring() -> Fabric {
    fabric("dumps/ring-3.ibnetdiscover")
}

fn readable<T>(result: Result<T, ReadError>) -> T {
    result.unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn one_routing_reads_alike_from_every_format() {
    let fabric = ring();
    let expected = fdbs("dumps/ring-3.fdbs", &fabric);
    for name in ["dumps/ring-3.lfts.dump", "dumps/ring-3.dump_fts"] {
        assert_eq!(readable(read_lfts(&bytes(name), name, &fabric)), expected, "{name}");
    }
    let first = fabric.by_guid(Guid(0x0200_0007_0000_0000)).expect("switch-1");
    let ports: Vec<_> = (1..=7).map(|lid| expected.tables[first.index()].get(Lid(lid)).map(|port| port.0)).collect();
    assert_eq!(ports, [Some(0), Some(2), Some(3), Some(1), Some(2), Some(3), None]);
    // The subnet list of the same run has other indices, and the same tables by GUID.
    let listed = super::fabric("dumps/ring-3.subnet.lst");
    let tables = fdbs("dumps/ring-3.fdbs", &listed);
    for (id, node) in fabric.nodes() {
        let there = listed.by_guid(node.guid).expect("the same nodes");
        assert_eq!(expected.tables[id.index()], tables.tables[there.index()], "{}", node.description);
    }
}

#[test]
fn lines_of_every_shape_are_read() {
    let fabric = ring();
    let text = "osm_ucast_mgr_dump_ucast_routes: Switch 0x200000700000000\r\nLID    : Port : Hops : Optimal\r\n\
                0x0001 : 000  : 00   : yes\r\n0x0002 : UNREACHABLE\n0x0003 : 003  : HOPS UNKNOWN\n\
                0x0004 : 001  : 05   : No 1 hop path possible via port 2!\n0x0005:2:1:yes\n0x0006 : 255  : 01   : yes";
    let lfts = readable(read_fdbs(text.as_bytes(), "fdbs", &fabric));
    let first = fabric.by_guid(Guid(0x0200_0007_0000_0000)).expect("switch-1");
    let entries = |table: &Lft| (1..=6).map(|lid| table.get(Lid(lid)).map(|port| port.0)).collect::<Vec<_>>();
    assert_eq!(entries(&lfts.tables[first.index()]), [Some(0), None, Some(3), Some(1), Some(2), None]);
    assert_eq!(lfts.missing.len(), 2, "the two switches that the file does not tell of");
    let text = "Unicast lids [0-3] of switch Lid 1 guid 0x0200000700000000 ('switch-1'):\n0x0000 000 # unknown node and type\n\
                0x0001 000 # Switch portguid 0x0200000700000000: 'switch-1'\n0x0003 3\n3 lids dumped\n";
    let lfts = readable(read_lfts(text.as_bytes(), "lfts", &fabric));
    assert_eq!(entries(&lfts.tables[first.index()])[..4], [Some(0), None, Some(3), None]);
}

#[test]
fn sl_to_vl_tables_read_alike_from_both_formats() {
    let fabric = ring();
    let name = "dumps/ring-3.sl2vl.dump";
    let dump = readable(read_sl_to_vl(&bytes(name), name, &fabric));
    let mut packed = String::new();
    for (id, node) in fabric.nodes() {
        let inputs = if node.is_switch() { 0..=node.num_ports } else { 0..=0 };
        for (input, output) in inputs.flat_map(|input| (1..=node.num_ports).map(move |output| (input, output))) {
            let port = fabric.port_at(id, PortNum(output)).expect("a port of the node");
            if fabric.peer(port).is_some() {
                packed += &format!("{} {input} {output} 0x01 0x23 0x45 0x67 0x01 0x23 0x45 0x67\n", node.guid);
            }
        }
    }
    assert_eq!(readable(read_sl_to_vl(packed.as_bytes(), "packed", &fabric)), dump);
    let (host, _) = fabric.nodes().find(|(_, node)| !node.is_switch()).expect("a host");
    let table = dump.get(host, PortNum::ZERO, PortNum(1)).expect("the host's table");
    assert_eq!(
        Sl::all().map(|sl| table.get(sl).get()).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]
    );
}

#[test]
fn service_levels_read_alike_from_both_formats() {
    let fabric = ring();
    let rows = "0x0200000701000000 5 1\n0x0200000701000000 6 2\n0x0200000701000100 4 0\n";
    let records = "Channel Adapter 0x0200000701000001, base LID 4, \"host-1 HCA-1\", port 1\n# LID  : SL : MTU : RATE\n\
                   0x0005 : 1  : 5   : 3   \n0x0006 : 2  : 5   : 3   \n0x0004 : UNREACHABLE\n\n\
                   Channel Adapter 0x0200000701000101, base LID 5, \"host-2 HCA-1\", port 1\n0x0004 : 0\n";
    for text in [rows, records] {
        let sls = readable(read_path_sls(text.as_bytes(), "paths", &fabric));
        let ends: Vec<_> = fabric.end_ports().collect();
        let level = |source: usize, lid| sls.get(ends[source], Lid(lid)).map(Sl::get);
        assert_eq!(
            [level(0, 5), level(0, 6), level(0, 4), level(1, 4), level(2, 4)],
            [Some(1), Some(2), None, Some(0), None]
        );
        assert_eq!(ends.iter().map(|&end| sls.tells_of(end)).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(sls.in_use().map(Sl::get).collect::<Vec<_>>(), [0, 1, 2]);
    }
}

/// dump_fts and ibroute end each table with the number of its entries: one that lost lines is not taken for a whole
/// one.
#[test]
fn a_table_that_lost_lines_is_refused() {
    let fabric = ring();
    let name = "dumps/ring-3.dump_fts";
    let whole = String::from_utf8(bytes(name)).expect("text");
    let is_count = |line: &str| line.contains("valid lids dumped");
    let lines: Vec<&str> = whole.lines().collect();
    let tables = lines.iter().filter(|line| line.starts_with("Unicast")).count();
    assert_eq!((tables, lines.iter().filter(|line| is_count(line)).count()), (3, 3), "{whole}");
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("0x") || is_count(line)) {
        let without = [&lines[..at], &lines[at + 1..]].concat().join("\n");
        let error = read_lfts(without.as_bytes(), name, &fabric).expect_err(line).render(false);
        let expected = if is_count(line) { "was cut" } else { "lines were lost" };
        assert!(error.contains(expected), "without {line:?}: {error}");
    }
    // Cut after any line but the last of a table, and the blank line after it.
    for (end, last) in (1..).zip(&lines).filter(|(_, line)| !is_count(line) && !line.is_empty()) {
        let cut = lines[..end].join("\n");
        assert!(read_lfts(cut.as_bytes(), name, &fabric).is_err(), "cut after {last:?}");
    }
}

type Reader = fn(&[u8], &str, &Fabric) -> Result<(), ReadError>;

const FDBS: Reader = |bytes, file, fabric| read_fdbs(bytes, file, fabric).map(drop);
const LFTS: Reader = |bytes, file, fabric| read_lfts(bytes, file, fabric).map(drop);
const SL_TO_VL: Reader = |bytes, file, fabric| read_sl_to_vl(bytes, file, fabric).map(drop);
const PATHS: Reader = |bytes, file, fabric| read_path_sls(bytes, file, fabric).map(drop);

const HEAD: &str = "dump_ucast_routes: Switch 0x0200000700000000\n";
const LIDS: &str = "Unicast lids [0-6] of switch Lid 1 guid 0x0200000700000000 ('switch-1'):\n";
const HOST: &str = "Channel Adapter 0x0200000701000001, base LID 4, \"host-1 HCA-1\"\n";
const SWITCH: &str = "Switch 0x0200000700000000, base LID 1, \"switch-1\"\n";
const LANES: &str = "0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7";

/// Reader, text before the fault, the faulty line, column, what is wrong, what was expected.
#[rustfmt::skip]
const FAULTS: &[(Reader, &str, &str, usize, &str, &str)] = &[
    (FDBS, "", "dump_ucast_routes: Switch 0x77", 27, "no device with GUID 0x0000000000000077", "a GUID of the fabric"),
    (FDBS, "", "dump_ucast_routes: Switch 0x0200000701000000", 27, "is a CA, not a switch", "the GUID of a switch"),
    (FDBS, HEAD, "dump_ucast_routes: Switch 0x0200000700000000", 27, "is given twice", "each switch once"),
    (FDBS, HEAD, "dump_ucast_routes: Switch 0", 27, "unexpected `0`", "a GUID other than 0"),
    (FDBS, "", "0x0001 : 000  : 00   : yes", 1, "before any switch", "the line that names the switch first"),
    (FDBS, HEAD, "0x0001 : 005  : 00   : yes", 10, "has no port 5", "a port from 0 to 4"),
    (FDBS, HEAD, "0xc001 : 001  : 00   : yes", 1, "unexpected `0xc001`", "a unicast LID"),
    (FDBS, HEAD, "0x0001 : 001  : maybe", 17, "unexpected `maybe`", "a number of hops"),
    (FDBS, HEAD, "0x0001 : 001  : 01   : perhaps", 24, "unexpected `perhaps`", "`yes`"),
    (FDBS, HEAD, "0x0001 : 001", 13, "ends too early", "`:`"),
    (FDBS, HEAD, "0x0001 : UNREACHABLE really", 22, "unexpected `really`", "the end of the line"),
    (FDBS, HEAD, "Unicast lids [0-6] of switch Lid 1", 1, "unexpected `Unicast`", "the other format"),
    (FDBS, HEAD, "routes: none", 1, "unexpected `routes:`", "a LID such as `0x0001`"),
    (FDBS, "LID    : Port : Hops : Optimal\n", "", 1, "ends without a forwarding table", "a switch"),
    (LFTS, "", "dump_ucast_routes: Switch 0x0200000700000000", 1, "unexpected", "the other format"),
    (LFTS, "", "Unicast lids [0-6] of switch Lid 1", 15, "unexpected", "`guid` and the switch's GUID"),
    (LFTS, LIDS, "0x0001 004 # x\n0x0001 003 # x", 1, "the entry for LID 1 is given twice", "each LID once"),
    (LFTS, LIDS, "0x0001 256 # x", 8, "unexpected `256`", "a port from 0 to 255"),
    (LFTS, LIDS, "0x0001 002 x", 12, "unexpected `x`", "`#` or `:`"),
    (SL_TO_VL, "", "0 1 : 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7", 1, "before any device", "the line that names the device"),
    (SL_TO_VL, SWITCH, "0 5 : 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7", 1, "has no such ports", "an output from 0 to 4"),
    (SL_TO_VL, HOST, "1 1 : 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7", 1, "has no such ports", "an input from 0 to 0"),
    (SL_TO_VL, SWITCH, "0 1 : 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6", 36, "ends too early", "a VL from 0 to 15"),
    (SL_TO_VL, SWITCH, "0 1 : 0 1 2 3 4 5 6 16 0 1 2 3 4 5 6 7", 21, "unexpected `16`", "a VL from 0 to 15"),
    (SL_TO_VL, "", "0x0200000700000000 1 2 0x01 0x23 0x45 0x67 0x01 0x23 0x45", 58, "ends too early", "two VLs"),
    (SL_TO_VL, "", "Switch 0x99, base LID 1", 8, "no device with GUID", "a GUID of the fabric"),
    (PATHS, "", "0x0200000701000000 0 1", 20, "unexpected `0`", "a unicast LID from 1"),
    (PATHS, "", "0x0200000701000000 5 16", 22, "unexpected `16`", "a service level from 0 to 15"),
    (PATHS, "", "0x55 5 1", 1, "no device with GUID", "a GUID of the fabric"),
    (PATHS, "0x0200000701000000 5 1\n", "0x0200000701000000 5 2", 1, "two service levels", "expected SL 1"),
    (PATHS, "0x0200000701000000 5 1\n", "Switch 0x0200000700000000, base", 8, "two ways to name sources", "the form of the lines"),
    (PATHS, HOST, "0x0001 : 99", 10, "unexpected `99`", "a service level from 0 to 15"),
    (PATHS, "", "0x0001 : 0", 1, "before any source", "the line that names the source"),
    (PATHS, "# nothing\n", "", 1, "ends without a service level", "a source"),
];

#[test]
fn faults_are_told_with_their_places() {
    let fabric = ring();
    for &(read, before, line, column, problem, expected) in FAULTS {
        let text = format!("{before}{line}");
        let error = read(text.as_bytes(), "dump", &fabric).expect_err(line);
        let place = (1 + text.matches('\n').count(), column);
        assert_eq!((error.line(), error.column()), place, "{}", error.render(false));
        assert!(error.problem().contains(problem), "{problem}: {}", error.render(false));
        assert!(error.expected().contains(expected), "{expected}: {}", error.render(false));
    }
}

#[test]
fn damaged_files_are_read_or_refused_and_nothing_else() {
    let fabric = ring();
    let mut rng = Pcg64::seed_from_u64(7);
    let files: [(&str, Reader); 4] = [
        ("dumps/ring-3.fdbs", FDBS),
        ("dumps/ring-3.lfts.dump", LFTS),
        ("dumps/ring-3.dump_fts", LFTS),
        ("dumps/ring-3.sl2vl.dump", SL_TO_VL),
    ];
    for (name, read) in files {
        let whole = bytes(name);
        let mut refused = 0;
        for _ in 0..400 {
            let mut damaged = whole.clone();
            for _ in 0..rng.random_range(1..4) {
                let at = rng.random_range(0..damaged.len());
                match rng.random_range(0..3) {
                    0 => damaged[at] = rng.random(),
                    1 => drop(damaged.drain(at..(at + 7).min(damaged.len()))),
                    _ => damaged.insert(at, b"0x9 :\n"[rng.random_range(0..6)]),
                }
            }
            if let Err(error) = read(&damaged, name, &fabric) {
                refused += 1;
                assert!(error.line() >= 1 && error.column() >= 1 && !error.render(false).is_empty());
            }
        }
        assert!(refused > 100, "{name}: {refused} of 400 refused");
    }
}

#[test]
fn a_fault_is_shown_in_its_line() {
    let text = format!("{HEAD}0x0001 : 000  : 00   : yes\n0x0002 : 001  : 01   : yes\n0x0001 : 002  : 01   : yes\n");
    let error = read_fdbs(text.as_bytes(), "opensm.fdbs", &ring()).expect_err("LID 1 twice");
    assert_eq!(
        error.render(false),
        "error: the entry for LID 1 is given twice
 --> opensm.fdbs:4:1
  |
4 | 0x0001 : 002  : 01   : yes
  | ^^^^^^ expected each LID once
  |
 ::: opensm.fdbs:2:1
  |
2 | 0x0001 : 000  : 00   : yes
  | ------ given here"
    );
    let text = format!("{SWITCH}0 1 : {LANES}\n0   1   : {LANES}\n");
    let error = read_sl_to_vl(text.as_bytes(), "sl2vl", &ring()).expect_err("a table twice");
    assert_eq!((error.line(), error.expected()), (3, "expected each (input, output) once"));
}
