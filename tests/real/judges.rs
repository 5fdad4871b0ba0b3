//! Who judges a routing seen from outside: ibdmchk, which none of us wrote, and `reconfig audit`, which knows no subnet
//! manager. Files for ibdmchk are written here in the forms of OpenSM, from what the tools told.
//!
//! ibdmchk takes a port for one LID, and misreads an LMC that it is told of (docs/ORACLE.md). So both are asked once
//! for each LID of a port, with that LID as its only one: together all LIDs of both halves. A loop that LIDs close
//! together is looked for by `audit`, which is asked once more for all of them at once.

use super::picture::{Lanes, Picture};
use super::subnet::Subnet;
use reconfig::fabric::format::{Format, write};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lid, Lmc, PortNum};
use reconfig_measuring::process::run::run;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How long a judge may take.
const LIMIT: Duration = Duration::from_secs(300);
/// A path SL has a line for each pair of end ports: beyond so many of these, judges take SL 0 for all.
const FEW: usize = 130;

/// A subnet before its judges.
pub struct Judges<'a> {
    subnet: &'a Subnet,
    picture: &'a Picture,
    fdbs: PathBuf,
    lanes: Option<PathBuf>,
}

impl<'a> Judges<'a> {
    /// With the SL-to-VL tables of all nodes, or none: then every service level takes the lane of its number.
    pub fn new(subnet: &'a Subnet, picture: &'a Picture, lanes: Option<&Lanes>) -> Judges<'a> {
        put(subnet, "no-multicast", "");
        let fdbs = put(subnet, "seen.fdbs", &fdbs(picture));
        let lanes = lanes.map(|lanes| put(subnet, "seen.sl2vl", &picture.lanes_file(lanes)));
        Judges { subnet, picture, fdbs, lanes }
    }

    /// Every pair reaches each other by every LID of these halves, and no LID closes a loop by itself.
    pub fn accepts(&self, halves: &[Half]) {
        for (offset, half) in self.offsets().into_iter().filter(|(_, half)| halves.contains(half)) {
            self.ibdmchk(offset, half);
            let fabric = with_one_lid(&self.picture.fabric, offset);
            let said = self.audit(&fabric, &format!("lid-{offset}"));
            assert_eq!(said["verdict"], "safe", "audit, LID {offset} of each port: {said:#}");
        }
    }

    /// Packets of all LIDs together close no loop, pairs that are cut off included.
    pub fn finds_no_loop(&self) {
        let said = self.audit(&self.picture.fabric, "all");
        let components = said["subnets"][0]["tables"]["credit_loops"]["components"].as_array().map(Vec::len);
        assert_eq!(components, Some(0), "audit, all LIDs: {:#}", said["subnets"][0]["tables"]["credit_loops"]);
    }

    /// Which LID of a port, and its half.
    fn offsets(&self) -> Vec<(u16, Half)> {
        let fabric = &self.picture.fabric;
        let lmc = fabric.end_ports().map(|port| fabric.port(port).lmc).max().unwrap_or_default();
        let half = |offset| if lmc.get() > 0 && offset >= lmc.lids() / 2 { Half::Upper } else { Half::Lower };
        (0..lmc.lids()).map(|offset| (offset, half(offset))).collect()
    }

    fn ibdmchk(&self, offset: u16, half: Half) {
        let fabric = with_one_lid(&self.picture.fabric, offset);
        let mut command = Command::new("ibdmchk");
        command.arg("-s").arg(put(self.subnet, &format!("lid-{offset}.lst"), &subnet_lst(&fabric)));
        command.arg("-f").arg(&self.fdbs);
        command.arg("-m").arg(self.subnet.folder().join("no-multicast"));
        self.lanes.iter().for_each(|file| _ = command.arg("-d").arg(file));
        if self.has_path_sl() {
            command.arg("-c").arg(put(self.subnet, &format!("lid-{offset}.path-sl"), &path_sl(&fabric, |_| half)));
        }
        let name = format!("ibdmchk-{offset}");
        let ended = run(&mut command, self.subnet.folder(), &name, LIMIT).expect("ibdmchk is installed");
        // It crashes after every verdict: the line that it printed is the verdict.
        let free = ended.output.lines().any(|line| line == "-I- no credit loops found");
        let all = ended.output.lines().any(|line| line.starts_with("-I- Scanned:"));
        assert!(free && all, "ibdmchk, LID {offset} of each port: {}\n{}", ended.how, tail(&ended.output));
    }

    fn audit(&self, fabric: &Fabric, name: &str) -> serde_json::Value {
        let text = write(fabric, Format::Json).expect("fabrics are written as JSON");
        let mut command = Command::new(super::reconfig());
        command
            .arg("audit")
            .arg(put(self.subnet, &format!("{name}.json"), &text))
            .arg("--fdbs")
            .arg(&self.fdbs)
            .arg("--json");
        self.lanes.iter().for_each(|file| _ = command.arg("--sl2vl").arg(file));
        if self.has_path_sl() {
            let whole = &self.picture.fabric;
            let half = |lid| whole.half_of(lid).unwrap_or_default();
            command.arg("--path-sl").arg(put(self.subnet, &format!("{name}.audit-sl"), &path_sl(fabric, half)));
        }
        let name = format!("audit-{name}");
        let ended = run(&mut command, self.subnet.folder(), &name, LIMIT).expect("the binary is built");
        serde_json::from_str(&ended.output).unwrap_or_else(|_| panic!("{name}: {}\n{}", ended.how, tail(&ended.errors)))
    }

    fn has_path_sl(&self) -> bool {
        self.lanes.is_some() && self.picture.fabric.end_ports().count() <= FEW
    }
}

fn put(subnet: &Subnet, name: &str, text: &str) -> PathBuf {
    let file = subnet.folder().join(name);
    std::fs::write(&file, text).expect("a file in a temporary folder");
    file
}

/// The fabric with one LID for each port: of end ports the one at an offset.
fn with_one_lid(fabric: &Fabric, offset: u16) -> Fabric {
    let one = |id: PortId| {
        let port = fabric.port(id);
        let offset = if fabric.node(port.node).is_switch() { 0 } else { offset };
        port.lid.map(|lid| (id, Lid(lid.0 + offset), Lmc::default()))
    };
    fabric.with_lids(fabric.lid_ports().filter_map(one)).expect("LIDs of different ports differ")
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

/// Service levels by DLID: 0 for one of the lower half, 8 for one of the upper.
fn path_sl(fabric: &Fabric, half: impl Fn(Lid) -> Half) -> String {
    let mut text = String::new();
    for source in fabric.end_ports() {
        let guid = fabric.node(fabric.port(source).node).guid;
        for destination in fabric.end_ports().filter(|&port| port != source).map(|port| fabric.port(port)) {
            let base = destination.lid.map_or(0, |lid| lid.0);
            for lid in base..base + destination.lmc.lids() {
                let _ = writeln!(text, "{guid} {lid} {}", 8 * half(Lid(lid)).index());
            }
        }
    }
    text
}

/// The subnet as OpenSM lists it.
fn subnet_lst(fabric: &Fabric) -> String {
    let end = |id: PortId| {
        let port = fabric.port(id);
        let node = fabric.node(port.node);
        let owner = if node.is_switch() { fabric.port(node.first_port) } else { port };
        let lid = owner.lid.map_or(0, |lid| lid.0);
        let guid = owner.guid.unwrap_or(node.guid).0;
        let system = node.system_guid.unwrap_or(node.guid).0;
        format!(
            "{{ {} Ports:{:02X} SystemGUID:{system:016x} NodeGUID:{:016x} PortGUID:{guid:016x} VenID:{:06X} DevID:{:04X} \
             Rev:00000000 {{{}}} LID:{lid:04X} PN:{:02X} }}",
            if node.is_switch() { "SW" } else { "CA" },
            node.num_ports,
            node.guid.0,
            node.vendor_id,
            node.device_id,
            node.description.trim(),
            port.num.0,
        )
    };
    let line =
        |(a, b)| format!("{} {} PHY=4x LOG=ACT SPD=10\n{} {} PHY=4x LOG=ACT SPD=10\n", end(a), end(b), end(b), end(a));
    fabric.links().map(line).collect()
}

/// The forwarding tables as OpenSM lists them.
fn fdbs(picture: &Picture) -> String {
    let fabric = &picture.fabric;
    let top = fabric.max_lid().map_or(0, |lid| lid.0);
    let entry = |switch: NodeId, lid: u16| match picture.lfts.tables[switch.index()].get(Lid(lid)) {
        Some(PortNum(port)) => format!("0x{lid:04X} : {port:03}  : 01   : yes\n"),
        None => format!("0x{lid:04X} : UNREACHABLE\n"),
    };
    let block = |switch: NodeId| {
        let head = format!("dump_ucast_routes: Switch {}\nLID    : Port : Hops : Optimal\n", fabric.node(switch).guid);
        head + &(1..=top).map(|lid| entry(switch, lid)).collect::<String>()
    };
    fabric.switches().map(block).collect()
}
