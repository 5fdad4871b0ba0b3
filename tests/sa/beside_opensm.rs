//! OpenSM brings a fabric up on ibsim. What its SA answers is compared with what ours makes of the same ports and
//! tables, read with SMPs; then ours takes its place, and saquery asks.
//!
//! ibsim passes single MADs, so every request here has an answer of one (docs/WIRE.md).

use crate::sa::running::Across;
use crate::support::across::id;
use crate::support::bundled::bundled;
use crate::support::tools::all_there;
use reconfig::fabric::format::{Format, read, write};
use reconfig::fabric::{Fabric, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, Half, Lid, PortNum, Sl};
use reconfig::lid::steady_sl_to_vl;
use reconfig::sa::{Directory, DirectoryFacts, PrefixRoutes, Remote, Sa, SaLimits};
use reconfig::tables::{SlToVl, SubnetTables};
use reconfig::transport::Datagram;
use reconfig::wire::sa::*;
use reconfig::wire::*;
use reconfig_measuring::process::programs::missing;
use reconfig_measuring::process::working_folder::working_folder;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A program that ends with the value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A fabric on ibsim, OpenSM on one of its hosts.
struct Stage {
    opensm: Option<Running>,
    _ibsim: Running,
    folder: tempfile::TempDir,
    socket: String,
}

const TOOLS: [&str; 5] = ["ibsim", "opensm", "saquery", "ibnetdiscover", "python3"];

fn installed() -> bool {
    all_there(&missing(&TOOLS), "ibsim-utils, opensm, infiniband-diags, python3")
}

impl Stage {
    /// The fabric with LMC 1, routed by updn, SL-to-VL tables written (-Q); OpenSM goes on running on the host of this
    /// description.
    fn new(fabric: &Fabric, name: &str, host: &str) -> Stage {
        Stage::with(fabric, name, host, "", "")
    }

    /// The same with more settings of OpenSM's, and a file of prefix routes.
    fn with(fabric: &Fabric, name: &str, host: &str, more: &str, prefix_routes: &str) -> Stage {
        let folder = working_folder("reconfig-sa-");
        let net = folder.path().join("net");
        std::fs::write(&net, write(fabric, Format::IbsimNet).expect("a net file")).expect("a writable folder");
        let socket = format!("reconfig-sa-{}-{name}", std::process::id());
        let mut ibsim = Command::new("ibsim");
        ibsim.args(["-s", "-n", "-N", "40000", "-S", "4000", "-P", "400000"]).arg(&net);
        let ibsim = ibsim.env("IBSIM_SOCKNAME", &socket).current_dir(&folder).stdin(Stdio::null());
        let said = folder.path().join("ibsim.log");
        let output = std::fs::File::create(&said).expect("a writable folder");
        let ibsim = Running(ibsim.stdout(output).stderr(Stdio::null()).spawn().expect("ibsim"));
        await_line(&said, "ready");
        let mut stage = Stage { opensm: None, _ibsim: ibsim, folder, socket };
        let log = stage.folder.path().join("osm.log");
        let settings = stage.folder.path().join("opensm.conf");
        let routes = stage.folder.path().join("prefix-routes.conf");
        std::fs::write(&routes, prefix_routes).expect("a writable folder");
        let text = format!("force_log_flush TRUE\nprefix_routes_file {}\n{more}", routes.display());
        std::fs::write(&settings, text).expect("a writable folder");
        let mut opensm = stage.tool(host, "opensm");
        opensm
            .arg("-F")
            .arg(&settings)
            .args(["-Q", "-R", "updn", "-l", "1", "-f"])
            .arg(&log)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        stage.opensm = Some(Running(opensm.spawn().expect("opensm")));
        await_line(&log, "SUBNET UP");
        stage
    }

    /// Ends OpenSM in good order, so that ibsim knows that no SM is left.
    fn stop_opensm(&mut self) {
        let Some(mut running) = self.opensm.take() else { return };
        let told = Command::new("kill").arg(running.0.id().to_string()).status().expect("kill");
        assert!(told.success() && running.0.wait().is_ok());
    }

    /// A program on a host.
    fn tool(&self, host: &str, program: &str) -> Command {
        let mut tool = Command::new("ibsim-run");
        tool.arg(program);
        tool.env("IBSIM_SOCKNAME", &self.socket).env("SIM_HOST", host).current_dir(&self.folder);
        tool.env("OSM_TMP_DIR", self.folder.path()).env("OSM_CACHE_DIR", self.folder.path()).stdin(Stdio::null());
        tool
    }

    fn output(&self, host: &str, program: &str, arguments: &[&str]) -> String {
        let output = self.tool(host, program).args(arguments).output().expect("a program that is installed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text + &String::from_utf8_lossy(&output.stderr)
    }

    fn client(&self, host: &str) -> Client {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sa/client.py");
        let mut python = self.tool(host, "python3");
        let python = python.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = Running(python.spawn().expect("python3"));
        let stdin = running.0.stdin.take().expect("a pipe");
        let stdout = BufReader::new(running.0.stdout.take().expect("a pipe"));
        Client { _running: running, stdin, stdout, tid: 0 }
    }
}

/// Waits until a program wrote this into its log.
fn await_line(log: &Path, wanted: &str) {
    let begun = Instant::now();
    while !std::fs::read_to_string(log).unwrap_or_default().contains(wanted) {
        assert!(begun.elapsed() < Duration::from_secs(30), "{} does not say `{wanted}`", log.display());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// `client.py`.
struct Client {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    tid: u64,
    _running: Running,
}

impl Client {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a client that lives");
        line.trim_end().to_string()
    }

    fn say(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("a client that lives");
    }

    /// Asks and awaits the answer, with its length.
    fn ask(&mut self, lid: Lid, qp: u32, mad: &[u8; MAD_SIZE]) -> ([u8; MAD_SIZE], usize) {
        for _ in 0..3 {
            self.say(&format!("ask {lid} {qp} {}", hex(mad)));
            let line = self.line();
            if let Some((answer, length)) = line.split_once(' ') {
                return (unhex(answer), length.parse().expect("a number"));
            }
        }
        panic!("no answer to {}", hex(mad));
    }

    fn smp(&mut self, lid: Lid, attribute: AttributeId, modifier: u32) -> [u8; SMP_DATA_SIZE] {
        self.tid += 1;
        let smp = Smp::lid_routed(Method::Get, attribute, modifier, [0; SMP_DATA_SIZE]).with_tid(self.tid);
        let answer = Smp::decode(&self.ask(lid, 0, &smp.encode()).0).expect("an SMP");
        assert_eq!((answer.status, answer.attribute), (0, attribute), "{attribute:?} {modifier:#x} of {lid:?}");
        answer.data
    }

    fn sa(&mut self, lid: Lid, mad: &SaMad) -> SaMad {
        self.tid += 1;
        let request = mad.clone().with_tid(self.tid);
        SaMad::decode(&self.ask(lid, 1, &request.encode()).0).expect("a MAD of subnet administration")
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> [u8; MAD_SIZE] {
    std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hexadecimal"))
}

/// The facts of a subnet, every device asked with SMPs.
fn facts(stage: &Stage, host: &str, sm: &str) -> DirectoryFacts {
    let printed = stage.output(host, "ibnetdiscover", &[]);
    let fabric =
        Arc::new(read(printed.as_bytes(), "ibnetdiscover").unwrap_or_else(|fault| panic!("{}", fault.render(false))));
    let mut client = stage.client(host);
    let mut tables = SubnetTables::new(&fabric, steady_sl_to_vl(8), Half::Lower);
    let (mut nodes, mut switches) = (vec![None; fabric.node_count()], vec![None; fabric.node_count()]);
    let (mut ports, mut p_keys) = (vec![None; fabric.port_count()], vec![vec![]; fabric.port_count()]);
    let mut vl_arbitration = BTreeMap::new();
    for owner in fabric.lid_ports() {
        let (lid, node) = (fabric.port(owner).lid.expect("a LID"), fabric.port(owner).node);
        nodes[node.index()] = Some(NodeInfo::decode(&client.smp(lid, NodeInfo::ID, 0)));
        let is_switch = fabric.node(node).is_switch();
        for port in fabric.ports_of(node).filter(|&port| is_switch || port == owner) {
            let num = fabric.port(port).num;
            ports[port.index()] = Some(PortInfo::decode(&client.smp(lid, PortInfo::ID, num.0.into())));
            let modifier = PKeyTable::modifier(if is_switch { num } else { PortNum::ZERO }, 0);
            p_keys[port.index()] = PKeyTable::decode(&client.smp(lid, PKeyTable::ID, modifier)).keys.to_vec();
            for block in
                [VlArbitrationBlock::LowFirst, VlArbitrationBlock::HighFirst].into_iter().filter(|_| !is_switch)
            {
                let table = VlArbitrationTable::decode(&client.smp(lid, VlArbitrationTable::ID, block.modifier(num)));
                vl_arbitration.insert((port, block), table);
            }
        }
        if is_switch {
            let info = SwitchInfo::decode(&client.smp(lid, SwitchInfo::ID, 0));
            for block in 0..=info.linear_fdb_top.0 / 64 {
                let entries = client.smp(lid, LinearForwardingTable::ID, block.into());
                Arc::make_mut(&mut tables.lfts[node.index()]).set_block(block, &entries);
            }
            switches[node.index()] = Some(info);
        }
        read_sl_to_vl(&mut client, &fabric, node, owner, &mut tables);
    }
    let named = |port: &PortId| fabric.node(fabric.port(*port).node).description == sm;
    let sm = fabric.end_ports().find(named).expect("the SM's host");
    let lid = fabric.port(sm).lid.expect("a LID");
    let managers = vec![(sm, SmInfo::decode(&client.smp(lid, SmInfo::ID, 0)))];
    let model = DirectoryFacts::modelled(fabric.clone(), Arc::new(tables), sm, Mtu::B2048);
    DirectoryFacts { managers, nodes, switches, ports, p_keys, vl_arbitration, ..model }
}

fn read_sl_to_vl(client: &mut Client, fabric: &Fabric, node: NodeId, owner: PortId, tables: &mut SubnetTables) {
    let lid = fabric.port(owner).lid.expect("a LID");
    let linked = |port: &PortId| fabric.peer(*port).is_some();
    let pairs: Vec<(PortNum, PortNum)> = if fabric.node(node).is_switch() {
        let ports: Vec<PortNum> = fabric.ports_of(node).filter(linked).map(|port| fabric.port(port).num).collect();
        ports.iter().flat_map(|&input| ports.iter().map(move |&output| (input, output))).take(6).collect()
    } else {
        vec![(PortNum::ZERO, fabric.port(owner).num)]
    };
    for (input, output) in pairs {
        let modifier = SlToVlModifier::Pair { input, output }.encode();
        let table = SlToVlMappingTable::decode(&client.smp(lid, SlToVlMappingTable::ID, modifier));
        let num_ports = fabric.node(node).num_ports;
        Arc::make_mut(&mut tables.sl_to_vl[node.index()]).set(num_ports, input, output, SlToVl(table.0));
    }
}

/// What both answered to the same request.
struct Pairs<'a> {
    ours: &'a mut Sa,
    directory: Arc<Directory>,
    theirs: &'a mut Client,
    sm: Lid,
    compared: usize,
}

impl Pairs<'_> {
    fn ask(&mut self, mad: &SaMad) -> (SaMad, SaMad) {
        let theirs = self.theirs.sa(self.sm, mad);
        let asked = Datagram { lid: self.sm, from: None, qp: 1, sl: Sl::default(), bytes: Box::new(mad.encode()) };
        let ours = SaMad::decode(&self.ours.answer(&asked, 0).expect("of this class")[0].bytes).unwrap();
        self.compared += 1;
        (ours, theirs)
    }

    /// One record from both, equal but for what `same` makes equal.
    fn get<R: Record + PartialEq + std::fmt::Debug>(&mut self, mask: &[u32], record: &R, same: impl Fn(R) -> R) {
        self.get_with(0, mask, record, same);
    }

    fn get_with<R: Record + PartialEq + std::fmt::Debug>(
        &mut self,
        sm_key: u64,
        mask: &[u32],
        record: &R,
        same: impl Fn(R) -> R,
    ) {
        let request = SaMad { sm_key, ..SaMad::request(Method::Get, ComponentMask::of(mask), record) };
        let (ours, theirs) = self.ask(&request);
        assert_eq!(ours.status, theirs.status, "{:?} {mask:?} {:x?}", R::ID, record.to_data());
        if ours.status == 0 {
            assert_eq!(same(R::from_data(&ours.data)), same(R::from_data(&theirs.data)), "ours, OpenSM's");
        }
    }
}

/// Every kind of record of every device, and paths between all pairs.
#[test]
fn records_and_paths_are_those_of_opensm() {
    if !installed() {
        return;
    }
    for name in ["ghost-cycle", "fat-tree-4-2"] {
        let fabric = bundled(name);
        let hosts: Vec<String> =
            fabric.end_ports().map(|port| fabric.node(fabric.port(port).node).description.clone()).collect();
        let stage = Stage::new(&fabric, name, &hosts[0]);
        let directory = Arc::new(Directory::new(facts(&stage, &hosts[1], &hosts[0])).expect("a subnet that is up"));
        let mut ours = Sa::new(SaLimits::default());
        ours.set_directory(directory.clone(), 0);
        let sm = directory.base_lid(directory.facts().sm).expect("a LID");
        let mut client = stage.client(&hosts[1]);
        let mut pairs = Pairs { ours: &mut ours, directory: directory.clone(), theirs: &mut client, sm, compared: 0 };
        same_records(&mut pairs);
        same_paths(&mut pairs);
        println!("{name}: {} answers compared", pairs.compared);
        assert!(pairs.compared > 300, "{}", pairs.compared);
    }
}

fn same_records(pairs: &mut Pairs<'_>) {
    let directory = pairs.directory.clone();
    let fabric = directory.fabric();
    for owner in fabric.lid_ports() {
        let (lid, node) = (directory.base_lid(owner).unwrap(), fabric.port(owner).node);
        pairs.get(&[0], &NodeRecord { lid, ..Default::default() }, |record| record);
        let info =
            NodeInfo { port_guid: directory.guid(owner), ..directory.facts().nodes[node.index()].clone().unwrap() };
        let by_guid = NodeRecord { info, ..Default::default() };
        pairs.get(&[NodeRecord::PORT_GUID], &by_guid, |record| record);
        // One of its other LIDs, or nobody's.
        pairs.get(&[0], &NodeRecord { lid: Lid(lid.0 + 1), ..Default::default() }, |record| record);
        // Of ports without a link OpenSM knows only that they have none.
        let linked = |port: &PortId| fabric.peer(*port).is_some() || *port == owner;
        let is_switch = fabric.node(node).is_switch();
        for port in fabric.ports_of(node).filter(linked).filter(|&port| is_switch || port == owner) {
            let port = fabric.port(port).num;
            pairs.get(&[0, 1], &PortInfoRecord { lid, port, ..Default::default() }, without_asker);
            // OpenSM lists a link only where both ends share a P_Key, which it misses at many external ports of
            // switches.
            let from = LinkRecord { from_lid: lid, from_port: port, ..Default::default() };
            if !is_switch {
                pairs.get(&[0, 1], &from, |record| record);
            }
        }
        pairs.get(&[0], &SwitchInfoRecord { lid, ..Default::default() }, |record| record);
        pairs.get(&[0, 1], &GuidInfoRecord { lid, ..Default::default() }, |record| record);
        if !is_switch {
            pairs.get(&[0], &SlToVlRecord { lid, ..Default::default() }, |record| record);
            for block in [1, 3] {
                pairs.get(&[0, 2], &VlArbitrationRecord { lid, block, ..Default::default() }, |record| record);
            }
            pairs.get_with(1, &[0, 1], &PKeyTableRecord { lid, ..Default::default() }, |record| record);
            pairs.get(&[0, 1], &PKeyTableRecord { lid, ..Default::default() }, |record| record);
        }
        for block in 0..2 {
            pairs.get(&[0, 1], &LftRecord { lid, block, ..Default::default() }, |record| record);
        }
    }
    let mask = ComponentMask::of(&[PortInfoRecord::CAPABILITY_MASK]);
    let sm = PortInfo { capability_mask: capability::IS_SM, ..PortInfo::default() };
    let asked = SaMad::request(Method::GetTable, mask, &PortInfoRecord { info: sm, ..Default::default() });
    let (ours, theirs) = pairs.ask(&SaMad { modifier: PortInfoRecord::MATCH_CAPABILITIES, ..asked });
    let lid = |mad: &SaMad| PortInfoRecord::decode(&mad.data).lid;
    assert_eq!((lid(&ours), ours.attribute_offset), (lid(&theirs), theirs.attribute_offset));
}

/// LocalPortNum is the port by which the device was asked, and the two asked from different hosts.
fn without_asker(record: PortInfoRecord) -> PortInfoRecord {
    PortInfoRecord { info: PortInfo { local_port_num: PortNum::ZERO, ..record.info }, ..record }
}

/// For each pair of ports: the path that ours names, asked of OpenSM by its LIDs.
fn same_paths(pairs: &mut Pairs<'_>) {
    let directory = pairs.directory.clone();
    let fabric = directory.fabric();
    for source in fabric.lid_ports().step_by(3) {
        for destination in fabric.lid_ports() {
            let asked = PathRecord {
                sgid: directory.gid(source),
                dgid: directory.gid(destination),
                slid: directory.lids(source, Half::Lower)[0],
                dlid: directory.lids(destination, Half::Lower)[0],
                ..PathRecord::default()
            };
            let of_pair = [PathRecord::SGID, PathRecord::DGID, PathRecord::SLID, PathRecord::DLID];
            pairs.get(&of_pair, &asked, |record| record);
        }
    }
}

/// Subnet 0 of two that are joined by three routers, the first with two ports in it: paths to other subnets by a file
/// of prefix routes, asked of OpenSM and of ours.
#[test]
fn paths_to_other_subnets_are_those_of_opensm() {
    if !installed() {
        return;
    }
    let across = Across::new(2, 1, &[&[0, 0, 1], &[0, 1], &[0, 1]]);
    let fabric = across.subnets.fabric(id(0));
    let guid = |router, n: usize| fabric.port(across.router_ports(router, 0)[n]).guid.expect("routers have one");
    let text = format!(
        "# prefix, router\n fec0000000000002 {} # the first that fits\nfec0000000000002 *\nFEC0000000000003 0x77\n\
         fec0000000000003 *\nfec0000000000004\t{}\nfec0000000000005 {}\n* * # any\n",
        guid(1, 0),
        guid(0, 0),
        guid(0, 1)
    );
    let hosts: Vec<String> =
        (0..6).map(|host| fabric.node(fabric.port(across.host(0, host)).node).description.clone()).collect();
    let stage = Stage::with(fabric, "routers", &hosts[0], "subnet_prefix 0xfec0000000000001\n", &text);
    let routes = PrefixRoutes::read(text.as_bytes(), "prefix-routes.conf").expect("a file that OpenSM reads");
    let remote = Arc::new(Remote::of_prefix_routes(&routes, Remote::OPENSM_HOP_LIMIT));
    let told = facts(&stage, &hosts[1], &hosts[0]);
    assert_eq!(told.fabric.nodes().filter(|(_, node)| node.kind == NodeKind::Router).count(), 3);
    let directory = Directory::new(DirectoryFacts { subnet_prefix: 0xFEC0_0000_0000_0001, remote, ..told });
    let directory = Arc::new(directory.expect("a subnet that is up"));
    let mut ours = Sa::new(SaLimits::default());
    ours.set_directory(directory.clone(), 0);
    let sm = directory.base_lid(directory.facts().sm).expect("a LID");
    let mut client = stage.client(&hosts[1]);
    let mut pairs = Pairs { ours: &mut ours, directory: directory.clone(), theirs: &mut client, sm, compared: 0 };
    let mask = [PathRecord::SGID, PathRecord::DGID];
    for source in directory.fabric().lid_ports() {
        for prefix in [2, 3, 9].map(|subnet| 0xFEC0_0000_0000_0000 | subnet) {
            let dgid = Gid { prefix, guid: Guid(0x4711) };
            let asked = PathRecord { sgid: directory.gid(source), dgid, ..PathRecord::default() };
            pairs.get(&mask, &asked, |record| record);
        }
    }
    assert_eq!(pairs.compared, 3 * directory.fabric().lid_ports().count());
    println!("{} answers compared", pairs.compared);
    // Of a router with two ports in the subnet OpenSM knows the one that it found first.
    let mut statuses = [4, 5].map(|subnet| {
        let dgid = Gid { prefix: 0xFEC0_0000_0000_0000 | subnet, guid: Guid(0x4711) };
        let sgid = directory.gid(directory.fabric().end_ports().next().expect("a host"));
        let asked = PathRecord { sgid, dgid, ..PathRecord::default() };
        let (ours, theirs) = pairs.ask(&SaMad::request(Method::Get, ComponentMask::of(&mask), &asked));
        (theirs.status, ours.status)
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [(status::SUCCESS, status::SUCCESS), (status::NO_RECORDS, status::SUCCESS)]);
    resolves(&stage, &hosts[2], &directory);
}

/// `reconfig resolve` on a host asks OpenSM.
fn resolves(stage: &Stage, host: &str, directory: &Directory) {
    let near = directory.fabric().end_ports().nth(3).expect("a host");
    let near = directory.gid(near);
    let text = format!("10.2.0.9 fec0:0:0:2::4711\nstorage {near}\n10.1.0.7 {near}\n10.4.0.1 ff12::1\n");
    let file = stage.folder.path().join("hosts");
    std::fs::write(&file, text).expect("a writable folder");
    let file = file.display().to_string();
    let asked = |name: &str, more: &[&str]| -> serde_json::Value {
        let words = [&["resolve", name, "--hosts", &file, "--json"], more].concat();
        let told = stage.tool(host, env!("CARGO_BIN_EXE_reconfig")).args(words).output().expect("reconfig");
        let text = String::from_utf8_lossy(&told.stdout).into_owned();
        let errors = String::from_utf8_lossy(&told.stderr).into_owned();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text}{errors}"))
    };
    let far = asked("10.2.0.9", &["--interface", "10.1.0.5/16"]);
    assert_eq!((&far["by"], &far["interface"]), (&"ibacm".into(), &"10.1.0.5/16".into()));
    let path = &far["path"];
    assert_eq!((&path["crosses_routers"], &path["hop_limit"]), (&true.into(), &255.into()), "{far}");
    assert_eq!((&path["request_local_lid"], &path["request_remote_lid"]), (&0xFFFF.into(), &0xFFFF.into()));
    let owner = directory.fabric().lid_owner(Lid(path["dlid"].as_u64().expect("a LID") as u16)).expect("an owner");
    assert_eq!(directory.fabric().node(directory.fabric().port(owner).node).kind, NodeKind::Router);
    for (name, by) in [("10.1.0.7", "neighbour"), ("storage", "ibacm")] {
        let here = asked(name, &["--interface", "10.1.0.5/16"]);
        assert_eq!((&here["by"], &here["path"]["crosses_routers"]), (&by.into(), &false.into()), "{here}");
        assert_eq!(here["path"]["request_remote_lid"], here["path"]["dlid"]);
    }
    assert_eq!(asked("10.9.9.9", &[])["dgid"], serde_json::Value::Null);
}

/// Ours in OpenSM's place.
#[test]
fn saquery_reads_our_answers() {
    if !installed() {
        return;
    }
    let fabric = bundled("ghost-cycle");
    let hosts: Vec<String> =
        fabric.end_ports().map(|port| fabric.node(fabric.port(port).node).description.clone()).collect();
    let mut stage = Stage::new(&fabric, "ours", &hosts[0]);
    let directory = Arc::new(Directory::new(facts(&stage, &hosts[1], &hosts[0])).expect("a subnet that is up"));
    let theirs = questions(&directory).map(|question| stage.output(&hosts[2], "saquery", &question));
    stage.stop_opensm();
    let mut ours = Sa::new(SaLimits::default());
    ours.set_directory(directory.clone(), 0);
    let mut server = stage.client(&hosts[0]);
    server.say("serve");
    assert_eq!(server.line(), "serving");
    for (question, theirs) in questions(&directory).into_iter().zip(theirs) {
        let answered = std::thread::scope(|scope| {
            let asking = scope.spawn(|| stage.output(&hosts[2], "saquery", &question));
            while !asking.is_finished() {
                serve(&mut server, &mut ours);
            }
            asking.join().expect("saquery ends")
        });
        // ActCount grows while OpenSM lives.
        let lasting = |text: &str| text.lines().filter(|line| !line.contains("ActCount")).map(String::from).collect();
        let (ours, theirs): (Vec<String>, Vec<String>) = (lasting(&answered), lasting(&theirs));
        assert_eq!(ours, theirs, "saquery {question:?}: ours, OpenSM's");
        assert!(answered.lines().count() > 3, "{answered}");
    }
}

fn questions(directory: &Directory) -> [Vec<&'static str>; 8] {
    let fabric = directory.fabric();
    let text = |lid: Lid| -> &'static str { Box::leak(lid.to_string().into_boxed_str()) };
    let host = text(directory.base_lid(fabric.end_ports().nth(4).unwrap()).unwrap());
    let switch = fabric.switches().next().unwrap();
    let switch = text(directory.base_lid(fabric.port_at(switch, PortNum::ZERO).unwrap()).unwrap());
    [
        vec!["NR", host],
        vec!["NR", switch],
        vec!["PIR", Box::leak(format!("{host}/1").into_boxed_str())],
        vec!["SWIR", switch],
        vec!["LFTR", Box::leak(format!("{switch}/0").into_boxed_str())],
        vec!["LR", Box::leak(format!("{switch}/1").into_boxed_str())],
        vec!["SMIR"],
        vec!["-s"],
    ]
}

/// Answers the next request, if one comes.
fn serve(server: &mut Client, ours: &mut Sa) {
    let line = server.line();
    if line == "idle" {
        return;
    }
    let [lid, qp, mad] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("`{line}`") };
    let asked = Datagram {
        lid: Lid(lid.parse().expect("a LID")),
        from: None,
        qp: qp.parse().expect("a queue pair"),
        sl: Sl::default(),
        bytes: Box::new(unhex(mad)),
    };
    for answer in ours.answer(&asked, 0).expect("a MAD of this class") {
        let length = length_of(&answer.bytes);
        server.say(&format!("{} {} {length} {}", answer.lid, answer.qp, hex(&answer.bytes[..])));
    }
    server.say(".");
}
