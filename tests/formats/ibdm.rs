//! ibdm's topologies and their system files.

use reconfig::fabric::format::{Format, Reading, SystemFiles, Tolerance, read_with};
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
