//! ibdm's topologies and their system files.

use reconfig::fabric::format::{Format, ReadError, Reading, SystemFiles, Tolerance, read_with};
use reconfig::fabric::{LinkSpeed, LinkWidth, NodeKind};

const CHIPS: &str = "\
TOPSYSTEM Small,Small-2
NODE SW 4 Chip U1
  1 -> P1
  2 -> P2
  3 -> P3
  4 -4x-5G-> P4
";
const HOST: &str = "TOPSYSTEM Host\nNODE CA 2 Chip U1\n 1 -> P1\n 2 -> P2\n";
const DIRECTOR: &str = "\
SYSTEM LEAF,LEAF:4x
NODE SW 4 Chip U1
  1 -> IN1
  2 -> IN2
  3 -> P1
  4 -> P2
SYSTEM SPINE
NODE SW 4 Chip U1
  1 -> P1
  2 -> P2
TOPSYSTEM Director
spine1/U1=isSomething
SUBSYSTEM SPINE spine1
SUBSYSTEM SPINE spine2
SUBSYSTEM LEAF leaf1
  IN1 -> spine1 P1
  IN2 -> spine2 P1
  P1 -> L1/P1
  P2 -> L1/P2
SUBSYSTEM LEAF leaf2
  IN1 -> spine1 P2
  IN2 -> spine2 P2
  P1 -> L2/P1
";

fn files() -> SystemFiles {
    let mut files = SystemFiles::default();
    for (text, name) in [(CHIPS, "Small.ibnl"), (HOST, "Host.ibnl"), (DIRECTOR, "Director.ibnl")] {
        files.add(text.as_bytes(), name).unwrap_or_else(|e| panic!("{}", e.render(false)));
    }
    files
}

fn read(text: &str) -> Reading {
    let reading = read_with(text.as_bytes(), "test", Tolerance::Repair, &files());
    reading.unwrap_or_else(|e| panic!("{}", e.render(false)))
}

fn told(reading: &Reading) -> Vec<(NodeKind, String, u8)> {
    reading.fabric.nodes().map(|(_, node)| (node.kind, node.description.clone(), node.num_ports)).collect()
}

#[test]
fn systems_are_made_of_their_chips_and_cables_join_their_sockets() {
    let text = "Small s1\n  P1 -> Host h1 P1\n  P4 -> Small-2 s2 P2\n\nSmall s2\n  P2 -> Small s1 P4\n";
    let reading = read(text);
    let (switch, ca) = (NodeKind::Switch, NodeKind::Ca);
    assert_eq!(told(&reading), [(switch, "s1".into(), 4), (switch, "s2".into(), 4), (ca, "h1".into(), 2)]);
    let rates: Vec<_> = reading.fabric.links().map(|link| reading.fabric.port(link.0).speed).collect();
    assert_eq!(rates, [LinkSpeed::Sdr, LinkSpeed::Ddr], "a chip's own rate counts");
    assert!(reading.numbered);
    assert_eq!(Format::detect(text), Format::Ibdm);
}

#[test]
fn boards_are_wired_as_the_system_file_says_and_left_out_as_the_topology_says() {
    let text = "Director d CFG: spine2=R\n  L1/P1 -8X-> Host h1 P2\n  L2/P1 -> Host h2 P1\n";
    let reading = read(text);
    let names: Vec<String> = told(&reading).into_iter().map(|(_, name, _)| name).collect();
    assert_eq!(names, ["d/spine1/U1", "d/leaf1/U1", "d/leaf2/U1", "h1", "h2"]);
    let fabric = &reading.fabric;
    assert_eq!(fabric.links().count(), 4);
    let systems: Vec<_> = fabric.switches().map(|id| fabric.node(id).system_guid).collect();
    assert!(systems[0].is_some() && systems.iter().all(|system| *system == systems[0]));
    assert!(fabric.links().any(|link| fabric.port(link.0).width == LinkWidth::X8));
}

#[test]
fn a_list_of_cables_says_the_same() {
    let reading = read("# <SysType> <sysName> <portName>\nHost h1 P1 Small s1 P2\nSmall s1 P1 Small s2 P1\n");
    assert_eq!((told(&reading).len(), reading.fabric.links().count()), (3, 2));
}

#[test]
fn what_is_not_known_is_told_with_its_mend() {
    for (text, told) in [
        ("Other s1\n  P1 -> Host h1 P1\n", "no system file describes type Other"),
        ("Small s1\n  P9 -> Host h1 P1\n", "s1 has no port \"P9\""),
        ("Small s1\n  P1 -> Host h1 P1\nHost h2\n  P1 -> Host s1 P2\n", "of two types"),
        ("Director d CFG: leaf1=9x\n  L1/P1 -> Host h1 P2\n", "no board LEAF:9x"),
        ("Small s1\n  P1 -> Host h1 P1\n  P1 -> Host h2 P1\n", "described twice"),
    ] {
        let error = read_with(text.as_bytes(), "test", Tolerance::Repair, &files()).expect_err(text);
        assert!(error.to_string().contains(told), "{text}: {error}");
    }
    let mut files = SystemFiles::default();
    let error = files.add(b"SYSTEM A\nNODE SW 4 Chip\n", "bad.ibnl").expect_err("a node without a name");
    assert_eq!((error.line(), error.file()), (2, "bad.ibnl"));
}

fn refused(text: &str, files: &SystemFiles) -> ReadError {
    read_with(text.as_bytes(), "test", Tolerance::Partial, files).expect_err(text)
}

fn of_file(text: &str) -> SystemFiles {
    let mut files = SystemFiles::default();
    files.add(text.as_bytes(), "test.ibnl").unwrap_or_else(|e| panic!("{}", e.render(false)));
    files
}

/// Boards of `width` boards each, `levels` deep, around one chip; the top system is `T`.
fn nested(width: usize, levels: usize, chip: &str) -> String {
    let mut text = String::new();
    for level in 0..levels {
        text += &format!("SYSTEM B{level}\n");
        (0..width).for_each(|at| text += &format!("SUBSYSTEM B{} x{at}\n", level + 1));
    }
    format!("{text}SYSTEM B{levels}\n{chip}TOPSYSTEM T\nSUBSYSTEM B0 r\n")
}

/// Sixty boards in each of sixty, six levels deep, would be walked 60⁶ times.
#[test]
fn boards_without_chips_are_counted_too() {
    let error = refused("T t\n  P1 -> T u P1\n", &of_file(&nested(60, 6, "")));
    assert!(error.problem().contains("type T: more than 100000 chips, boards and wires"), "{error}");
    assert_eq!((error.line(), error.count()), (1, 1), "it is told once");
}

/// A few hundred bytes of system file and a line each describe systems of 254 × 81 ports.
#[test]
fn systems_without_end_are_refused_where_they_begin_to_be_too_many() {
    let files = of_file(&nested(3, 4, "NODE SW 254 Chip U1\n"));
    let systems: String = (0..1500).map(|at| format!("T s{at}\n")).collect();
    let text = format!("T first\n  P1 -> T second P1\n{systems}");
    let error = refused(&text, &files);
    assert!(error.problem().contains("more than 1000000 ports, cables and parts"), "{error}");
    assert!((40..60).contains(&error.line()), "1,000,000 / (81 × 255) systems are taken: {error}");
    // Choices of boards that differ in nothing do not make it slow either.
    let files = of_file(&nested(60, 2, "NODE SW 1 Chip U1\n"));
    let systems: String = (0..20_000).map(|at| format!("T s{at} CFG: none{at}=R\n")).collect();
    let error = refused(&format!("T first\n  P1 -> T second P1\n{systems}"), &files);
    assert!(error.problem().contains("ports, cables and parts"), "{error}");
}

#[test]
fn a_rate_is_told_by_either_end_of_a_cable() {
    let reading = read("Small a\n  P1 -4x-10G-> Small b P2\n\nSmall b\n  P2 -> Small a P1\n  P3 -> Host h P1\n");
    let rates: Vec<_> = reading.fabric.links().map(|link| reading.fabric.port(link.0).speed).collect();
    assert_eq!(rates, [LinkSpeed::Qdr, LinkSpeed::Sdr]);
    assert!(!reading.notices.iter().any(|notice| notice.text.contains("lower")), "{:?}", reading.notices);
}

#[test]
fn a_cable_that_cannot_be_read_is_no_system() {
    let text = "Small a\n  P1 -9x-> Host h1 P1\n  P2 -> Host h2 P1\n  P3 -> Host h3\n  P3 -> Host h3 P1\n";
    let error = read_with(text.as_bytes(), "test", Tolerance::Repair, &files()).expect_err("a width of 9x");
    assert_eq!((error.line(), error.count(), error.problem()), (2, 2, "a cable that cannot be read"));
    assert!(error.expected().contains("PORT -4x-5G-> TYPE NAME PORT"), "{error}");
    // What can be read belongs to the system above.
    let reading = read_with(text.as_bytes(), "test", Tolerance::Partial, &files()).expect("the rest");
    assert_eq!((told(&reading).len(), reading.fabric.links().count()), (3, 2));
    // The cables of a system that cannot be read are nobody's.
    let text = "Small a\n  P1 -> Host h1 P1\nSmall b c d\n  P2 -> Host h2 P1\n";
    let error = read_with(text.as_bytes(), "test", Tolerance::Repair, &files()).expect_err("four words");
    assert_eq!((error.line(), error.count()), (3, 1));
    let reading = read_with(text.as_bytes(), "test", Tolerance::Partial, &files()).expect("the rest");
    assert_eq!(reading.fabric.links().count(), 1);
}

#[test]
fn a_system_without_ports_is_told_as_such() {
    let files = of_file("TOPSYSTEM Bare\nNODE SW 4 Chip U1\n");
    let error = read_with(b"Bare a\n  P1 -> Bare b P1\n", "test", Tolerance::Repair, &files).expect_err("no port");
    assert_eq!(error.expected(), "expected a system with ports: type Bare has none");
}

#[test]
fn a_choice_for_a_board_that_is_not_there_is_told() {
    let reading = read("Director d CFG: spine2=R, leaf3=R\n  L1/P1 -> Host h1 P2\n");
    let told = |notice: &str| reading.notices.iter().any(|told| told.text.contains(notice));
    assert!(told("passed over: \"leaf3\" of type Director"), "{:?}", reading.notices);
    assert_eq!(read("Director d CFG: spine2=R\n  L1/P1 -> Host h1 P2\n").notices.len(), reading.notices.len() - 1);
}

#[test]
fn names_cost_no_more_than_the_files() {
    // A long connector on many boards, a long name of a system of many chips, and many choices for many boards.
    let long = "x".repeat(1 << 19);
    let boards: String = (0..5_000).map(|board| format!("SUBSYSTEM B b{board}\n")).collect();
    let many = of_file(&format!("SYSTEM B\nNODE SW 4 Chip U1\n 1 -> {long}\nTOPSYSTEM Many\n{boards} {long} -> P1\n"));
    let reading = read_with(b"Many a\n  P1 -> Many b P1\n", "test", Tolerance::Repair, &many).expect("10,000 chips");
    assert_eq!(reading.fabric.switches().count(), 10_000);
    let cable = "  P1 -> Many b P1";
    assert!(refused(&format!("Many {long}\n{cable}\n"), &many).problem().contains("ports, cables and parts"));
    let choices: Vec<String> = (0..50_000).map(|board| format!("c{board}=R")).collect();
    let chosen = format!("Many a CFG: {}\n{cable}\n", choices.join(","));
    let reading = read_with(chosen.as_bytes(), "test", Tolerance::Repair, &many).expect("choices that do nothing");
    assert_eq!(reading.fabric.switches().count(), 10_000);
}
