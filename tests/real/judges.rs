//! Who judges a routing seen from outside: ibdmchk, which none of us wrote, and `reconfig audit`, which knows no subnet
//! manager. Files for ibdmchk are written here in the forms of OpenSM, from what the tools told.
//!
//! ibdmchk takes a port for one LID, and misreads an LMC that it is told of (docs/ORACLE.md). So it is asked once for each
//! LID of a port, with that LID as the base: together all LIDs of both halves. Which cannot see a loop that two of them
//! close together; `audit` judges all at once.

use super::picture::{Lanes, Picture};
use super::process::run;
use super::subnet::Subnet;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lid, PortNum};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How long a judge may take.
const LIMIT: Duration = Duration::from_secs(300);
/// A path SL has a line for each pair of end ports: beyond so many of these, judges take SL 0 for all.
const FEW: usize = 130;

/// Panics unless every judge finds every pair reachable and no credit loop.
pub fn judge(subnet: &Subnet, picture: &Picture, lanes: Option<&Lanes>) {
    let files = Files::write(subnet, picture, lanes);
    let lmc = picture.fabric.end_ports().map(|port| picture.fabric.port(port).lmc).max().unwrap_or_default();
    for offset in 0..lmc.lids() {
        files.ibdmchk(subnet, picture, offset);
    }
    files.audit(subnet);
}

struct Files {
    net: PathBuf,
    fts: PathBuf,
    lanes: Option<PathBuf>,
    path_sl: Option<PathBuf>,
}

impl Files {
    fn write(subnet: &Subnet, picture: &Picture, lanes: Option<&Lanes>) -> Files {
        let put = |name: &str, text: &str| {
            let file = subnet.folder().join(name);
            std::fs::write(&file, text).expect("a file in a temporary folder");
            file
        };
        put("no-multicast", "");
        let few = picture.fabric.end_ports().count() <= FEW;
        Files {
            net: put("seen.ibnetdiscover", &picture.net),
            fts: put("seen.lfts", &picture.fts),
            lanes: lanes.map(|lanes| put("seen.sl2vl", &picture.lanes_file(lanes))),
            path_sl: (few && lanes.is_some()).then(|| put("seen.path-sl", &path_sl(&picture.fabric))),
        }
    }

    fn ibdmchk(&self, subnet: &Subnet, picture: &Picture, offset: u16) {
        let put = |name: String, text: String| {
            let file = subnet.folder().join(name);
            std::fs::write(&file, text).expect("a file in a temporary folder");
            file
        };
        let mut command = Command::new("ibdmchk");
        command.arg("-s").arg(put(format!("lid-{offset}.lst"), subnet_lst(&picture.fabric, offset)));
        command.arg("-f").arg(put(format!("lid-{offset}.fdbs"), fdbs(picture)));
        command.arg("-m").arg(subnet.folder().join("no-multicast"));
        self.lanes.iter().for_each(|file| _ = command.arg("-d").arg(file));
        self.path_sl.iter().for_each(|file| _ = command.arg("-c").arg(file));
        let ended =
            run(&mut command, subnet.folder(), &format!("ibdmchk-{offset}"), LIMIT).expect("ibdmchk is installed");
        // It crashes after every verdict: the line that it printed is the verdict.
        let free = ended.output.lines().any(|line| line == "-I- no credit loops found");
        let all = ended.output.lines().any(|line| line.starts_with("-I- Scanned:"));
        assert!(free && all, "ibdmchk, LID {offset} of each port: {}\n{}", ended.how, tail(&ended.output));
    }

    fn audit(&self, subnet: &Subnet) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
        command.arg("audit").arg(&self.net).arg("--lfts").arg(&self.fts);
        self.lanes.iter().for_each(|file| _ = command.arg("--sl2vl").arg(file));
        self.path_sl.iter().for_each(|file| _ = command.arg("--path-sl").arg(file));
        let ended = run(&mut command, subnet.folder(), "audit", LIMIT).expect("the binary is built");
        assert_eq!(ended.code, Some(0), "audit: {}\n{}{}", ended.how, ended.output, tail(&ended.errors));
    }
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

/// Service levels of both halves: 0 for a LID of the lower, 8 for one of the upper.
fn path_sl(fabric: &Fabric) -> String {
    let mut text = String::new();
    for source in fabric.end_ports() {
        for destination in fabric.end_ports().filter(|&port| port != source) {
            for half in [Half::Lower, Half::Upper] {
                for lid in fabric.half_lids(destination, half) {
                    let guid = fabric.node(fabric.port(source).node).guid;
                    let _ = writeln!(text, "{guid} {} {}", lid.0, 8 * half.index());
                }
            }
        }
    }
    text
}

/// The subnet as OpenSM lists it, end ports by one LID of theirs.
fn subnet_lst(fabric: &Fabric, offset: u16) -> String {
    let end = |id: PortId| {
        let port = fabric.port(id);
        let node = fabric.node(port.node);
        let owner = if node.is_switch() { fabric.port(node.first_port) } else { port };
        let lid = owner.lid.map_or(0, |lid| lid.0 + if node.is_switch() { 0 } else { offset });
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
