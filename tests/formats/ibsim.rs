//! What the writers write, loaded by ibsim and discovered by infiniband-diags.
//!
//! ibsim alters what it does not know: ports of CAs get GUIDs of its own, and ibnetdiscover finds only what can be
//! reached from the first node of the file. Everything else must come back.

use crate::support::corpus::corpus;
use crate::support::tools::all_there;
use reconfig::fabric::format::{Format, read, write};
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeKind, PortId, PortZero};
use reconfig::ids::{Guid, Lid, Lmc, PortNum};
use reconfig_measuring::process::programs::missing;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running ibsim; it ends with the value.
struct Ibsim {
    child: Child,
    socket: String,
}

impl Drop for Ibsim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ibsim {
    /// ibsim over a net file, ready; an error with what it said otherwise.
    fn start(file: &Path, socket: String) -> Result<Ibsim, String> {
        let child = Command::new("ibsim")
            .args(["-s", "-n", "-N", "40000", "-S", "4000", "-P", "400000"])
            .arg(file)
            .env("IBSIM_SOCKNAME", &socket)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut ibsim = Ibsim { child: child.map_err(|error| error.to_string())?, socket };
        let mut said = String::new();
        for line in ibsim.child.stdout.take().map(BufReader::new).into_iter().flat_map(BufReader::lines) {
            let line = line.map_err(|error| error.to_string())?;
            if line.contains("Network simulator ready") {
                return Ok(ibsim);
            }
            said += &line;
        }
        Err(said)
    }

    /// What ibnetdiscover prints here.
    fn discover(&self) -> String {
        self.print(&["ibnetdiscover"])
    }

    /// What a tool prints here.
    fn print(&self, words: &[&str]) -> String {
        // ibsim's clients leave a folder where they run.
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut tool = Command::new("ibsim-run");
        let tool = tool.args(words).env("IBSIM_SOCKNAME", &self.socket).current_dir(folder.path()).output();
        let output = tool.expect("ibsim-run, which comes with ibsim");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("ASCII")
    }
}

fn installed() -> bool {
    all_there(&missing(&["ibsim", "ibsim-run", "ibnetdiscover"]), "ibsim-utils, infiniband-diags")
}

/// Cables by descriptions and port numbers, with rates and LIDs: what every report of the tools has.
fn cables(fabric: &Fabric) -> BTreeSet<String> {
    let end = |port: PortId| {
        let own = fabric.port(port);
        let node = fabric.node(own.node);
        let lid = if node.is_switch() { fabric.port(node.first_port).lid } else { own.lid };
        format!("{} {} ports {lid:?} {:?} {}", fabric.describe_port(port), node.num_ports, own.width, own.speed)
    };
    fabric
        .links()
        .map(|(a, b)| [end(a), end(b)])
        .map(|mut ends| {
            ends.sort();
            ends.join(" - ")
        })
        .collect()
}

/// The reports of ibnetdiscover and iblinkinfo tell the same cables.
#[test]
fn every_report_of_the_tools_tells_the_same_cables() {
    let tools = missing(&["ibsim", "ibsim-run", "ibnetdiscover", "iblinkinfo"]);
    if !all_there(&tools, "ibsim-utils, infiniband-diags") {
        return;
    }
    for topology in ["fat-tree:4,2", "torus:3x3,2", "random-regular:8,4,3"] {
        let generated = generate(&topology.parse().expect("a topology"), &Options::default()).expect("a fabric");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("net");
        std::fs::write(&file, write(&generated, Format::IbsimNet).expect("it is written")).expect("a writable folder");
        let socket = format!("reports-{}-{}", std::process::id(), generated.node_count());
        let ibsim = Ibsim::start(&file, socket).unwrap_or_else(|said| panic!("{topology}: {said}"));
        let plain = ibsim.discover();
        let expected = cables(&read(plain.as_bytes(), "plain").expect("a capture"));
        let reports: [(&[&str], Format); 6] = [
            (&["ibnetdiscover", "-p"], Format::PortList),
            (&["ibnetdiscover", "-s"], Format::Ibnetdiscover),
            (&["ibnetdiscover", "-g"], Format::Ibnetdiscover),
            (&["ibnetdiscover", "-f"], Format::Ibnetdiscover),
            (&["iblinkinfo"], Format::Iblinkinfo),
            (&["iblinkinfo", "-l"], Format::Iblinkinfo),
        ];
        for (words, format) in reports {
            let printed = ibsim.print(words);
            assert_eq!(Format::detect(&printed), format, "{words:?}");
            let fabric = read(printed.as_bytes(), "printed").unwrap_or_else(|error| panic!("{}", error.render(false)));
            assert_eq!(cables(&fabric), expected, "{topology} by {words:?}");
        }
        for words in [["ibnetdiscover", "-l"], ["ibnetdiscover", "-S"], ["ibnetdiscover", "-H"]] {
            let refused = read(ibsim.print(&words).as_bytes(), "list").expect_err("a list has no cables");
            assert!(refused.problem().contains("list of nodes without cables"), "{refused}");
        }
    }
}

/// The fabric in words that do not depend on the order of nodes, without what ibsim alters.
fn canonical(fabric: &Fabric) -> Vec<String> {
    let mut lines = Vec::new();
    for (id, node) in fabric.nodes() {
        let zero = fabric.port(node.first_port);
        lines.push(format!(
            "{} {:?} {} ports, system {:?}, {:x}/{:x}, {:?} port 0, {:?} lid {:?} lmc {}",
            node.guid,
            node.kind,
            node.num_ports,
            node.system_guid.unwrap_or(node.guid),
            node.vendor_id,
            node.device_id,
            node.port_zero,
            node.description,
            zero.lid,
            zero.lmc
        ));
        for port in fabric.ports_of(id).map(|port| fabric.port(port)) {
            let Some(peer) = port.peer.map(|peer| fabric.port(peer)) else { continue };
            let (num, other, rate) = (port.num, fabric.node(peer.node).guid, (port.width, port.speed));
            lines.push(format!("{}[{num}] to {other}[{}] {rate:?} {:?} {}", node.guid, peer.num, port.lid, port.lmc));
        }
    }
    lines.sort();
    lines
}

/// Writes the fabric in formats that ibsim loads, compares what is discovered, and holds the writer to the tool's
/// bytes.
fn comes_back(name: &str, fabric: &Fabric, formats: &[Format]) {
    for &format in formats {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("net");
        std::fs::write(&file, write(fabric, format).expect("a format that is written")).expect("a writable folder");
        let socket = format!("reconfig-formats-{}-{name}-{format}", std::process::id());
        let ibsim = Ibsim::start(&file, socket).unwrap_or_else(|said| panic!("{name} as {format}: {said}"));
        let printed = ibsim.discover();
        let found = read(printed.as_bytes(), name).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let written = write(&found, Format::Ibnetdiscover).expect("a format that is written");
        let differs =
            written.lines().zip(printed.lines()).enumerate().find(|(line, (ours, tools))| *line != 1 && ours != tools);
        assert_eq!(differs, None, "{name} as {format}: our line and the tool's, the date's aside");
        assert_eq!(written.lines().count(), printed.lines().count(), "{name} as {format}");
        let (ours, theirs) = (canonical(fabric), canonical(&found));
        let missing: Vec<_> = ours.iter().filter(|line| !theirs.contains(line)).take(5).collect();
        let foreign: Vec<_> = theirs.iter().filter(|line| !ours.contains(line)).take(5).collect();
        assert!(missing.is_empty() && foreign.is_empty(), "{name} as {format}: lost {missing:#?}, found {foreign:#?}");
    }
}

#[test]
fn captures_come_back_from_ibsim() {
    let Some(folder) = corpus() else { return };
    if !installed() {
        return;
    }
    let names = [
        "real/qdr-mesh-8sw.ibnetdiscover",
        "real/psmn-x5.ibnetdiscover",
        "odd/self-loops-mixed-speeds.ibnetdiscover",
        "odd/ibtopotool-2.ibnetdiscover",
        "odd/ibtopotool-3.ibnetdiscover",
        "ibsim/net",
        "ibsim/net.2sw2path4hca2port",
    ];
    for name in names {
        let bytes = std::fs::read(folder.join(name)).expect("a readable capture");
        let fabric = read(&bytes, name).unwrap_or_else(|error| panic!("{}", error.render(false)));
        comes_back(&name.replace('/', "-"), &fabric, &[Format::Ibnetdiscover, Format::IbsimNet]);
    }
}

/// Every width and every speed that ibsim 0.10 knows (but FDR10, which ibnetdiscover asks of known devices only, and
/// which a capture above has), routers, LMC, descriptions with all that hurts. In ibnetdiscover's own
/// format ibsim would take the `w=9` of the description for an option and refuse the routers' widths.
#[test]
fn an_odd_fabric_comes_back_from_ibsim() {
    if !installed() {
        return;
    }
    comes_back("odd", &odd_fabric(), &[Format::IbsimNet]);
}

fn odd_fabric() -> Fabric {
    let mut builder = FabricBuilder::new();
    let switch = builder.node(NodeKind::Switch, Guid(0x10), 40, "w=9 # lid 3 enhanced");
    builder.node_mut(switch).port_zero = PortZero::Enhanced;
    let zero = builder.port_mut(switch, PortNum::ZERO).expect("port 0");
    (zero.lid, zero.lmc) = (Some(Lid(8)), Lmc::masked(2));
    let speeds = LinkSpeed::ALL.iter().filter(|&&speed| speed <= LinkSpeed::Hdr && speed != LinkSpeed::Fdr10);
    let rates = speeds.map(|&speed| (LinkWidth::X4, speed));
    let rates = rates.chain(LinkWidth::ALL.iter().map(|&width| (width, LinkSpeed::Ddr)));
    for (i, (width, speed)) in rates.enumerate() {
        let i = i as u8 + 1;
        // ibsim gives routers no LIDs.
        let kind = if matches!(i, 4 | 8 | 10) { NodeKind::Router } else { NodeKind::Ca };
        let node = builder.node(kind, Guid(0x100 * u64::from(i)), 2, format!("host {i} s=7 HCA-1 "));
        let num = PortNum(1 + i % 2);
        builder.link((switch, PortNum(i)), (node, num), width, speed).expect("free ports");
        let port = builder.port_mut(node, num).expect("a port of the node");
        if kind == NodeKind::Ca {
            (port.lid, port.lmc) = (Some(Lid(16 * u16::from(i))), Lmc::masked(i % 4));
        }
        port.guid = Some(Guid(0x100 * u64::from(i) + u64::from(num.0)));
    }
    builder.build().expect("distinct GUIDs, LIDs apart")
}
