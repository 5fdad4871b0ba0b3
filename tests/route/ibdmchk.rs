//! What ibdmchk, which none of us wrote, says of our exports: free of credit loops where the prover accepted, loops
//! where it refused, service levels and SL-to-VL tables included (docs/ORACLE.md tells how it is asked).
//!
//! ibdmchk takes a CA for one LID, and every CA for a source that sends to every other. Where an engine needs several
//! LIDs for a destination, each LID is shown to it as a CA of its own ([`exploded`]).

use super::{kept, made, reconfig, stderr, text_of};
use crate::support::tools::all_there;
use petgraph::algo::is_cyclic_directed;
use petgraph::graphmap::DiGraphMap;
use reconfig::change::{BringUpError, LmcWish, Routed, engine_named, route};
use reconfig::fabric::{Fabric, FabricBuilder, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, Lid, Lmc, PortNum, Sl, Vl};
use reconfig::routing::{ENGINES, EngineEntry, Parameters, RouteError};
use reconfig::tables::dump::{write_fdbs, write_path_sls, write_sl_to_vl, write_subnet};
use reconfig::tables::{Lft, NodeSlToVl, SlToVl};
use reconfig_measuring::process::programs::missing;
use reconfig_measuring::process::run::run;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

const LIMIT: std::time::Duration = std::time::Duration::from_secs(120);
/// A torus, on which shortest paths close cycles; a random graph; a fat tree.
const TOPOLOGIES: [&str; 3] = ["torus:4x4,2", "random-regular:12,4,2", "leaf-spine:6,3,3"];
/// Lanes for the packets that only ibdmchk thinks of.
const SPARE: std::ops::Range<u8> = 8..16;

fn installed() -> bool {
    all_there(&missing(&["ibdmchk"]), "ibutils")
}

/// Whether ibdmchk finds the files of a folder free of credit loops. Its exit code says nothing: it crashes after every
/// verdict.
fn free(folder: &Path) -> bool {
    std::fs::write(folder.join("no-multicast"), "").expect("a writable folder");
    let mut command = Command::new("ibdmchk");
    for (option, name) in
        [("-s", "opensm-subnet.lst"), ("-f", "opensm.fdbs"), ("-m", "no-multicast"), ("-d", "sl2vl"), ("-c", "path-sl")]
    {
        command.arg(option).arg(folder.join(name));
    }
    let ended = run(&mut command, folder, "ibdmchk", LIMIT).expect("ibdmchk is installed");
    let says = |words: &str| ended.output.lines().any(|line| line == words);
    match (says("-I- no credit loops found"), says("-E- credit loops in routing")) {
        (true, false) => true,
        (false, true) => false,
        _ => panic!("no verdict, {}:\n{}{}", ended.how, ended.output, ended.errors),
    }
}

/// What is written by the command with one LID for each destination. None where the engine needs more, or does not
/// route it.
fn exported(entry: &EngineEntry, topology: &str) -> Option<(bool, bool)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, out) = (kept(folder.path(), &made(topology)), folder.path().join("out"));
    let output =
        reconfig(&["route", &input, "--engine", entry.name, "--lmc", "0", "--allow-unproved", "-o", text_of(&out)]);
    match output.status.code() {
        Some(code @ (0 | 1)) => Some((code == 0, free(&out))),
        Some(2 | 3) => None,
        _ => panic!("{}: {}", entry.name, stderr(&output)),
    }
}

/// The same, each LID of the lower half a CA of its own. None where the engine does not route the fabric.
fn told_apart(entry: &EngineEntry, topology: &str) -> Option<(bool, bool)> {
    let fabric = made(topology);
    let engine = engine_named(entry.name, &Parameters::default()).expect("an engine of the list");
    let input = reconfig::change::RouteInput { fabric: &fabric, engine: &*engine, data_vls: 8, lmc: LmcWish::Common };
    let routed = match route(input) {
        Ok(routed) => routed,
        Err(BringUpError::Route(RouteError::Unsuited { .. })) => return None,
        Err(error) => panic!("{}, {topology}: {error}", entry.name),
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    exploded(&routed).write(folder.path());
    Some((routed.prove().is_ok(), free(folder.path())))
}

#[test]
fn ibdmchk_says_of_every_engine_what_the_prover_says() {
    if !installed() {
        return;
    }
    let mut told: BTreeMap<&str, Vec<(bool, bool)>> = BTreeMap::new();
    for (entry, topology) in ENGINES.iter().flat_map(|entry| TOPOLOGIES.map(|topology| (entry, topology))) {
        let verdicts = exported(entry, topology).or_else(|| told_apart(entry, topology));
        let Some((proved, free)) = verdicts else { continue };
        assert_eq!(proved, free, "{}, {topology}: our verdict, and ibdmchk's", entry.name);
        told.entry(entry.name).or_default().push((proved, free));
    }
    for entry in ENGINES {
        let verdicts = told.get(entry.name).unwrap_or_else(|| panic!("{} was judged nowhere", entry.name));
        assert!(verdicts.contains(&(true, true)), "{}", entry.name);
        assert_eq!(verdicts.contains(&(false, false)), !entry.safe, "{}", entry.name);
    }
}

/// ibdmchk looks at the service levels: with all of them on one lane, layers meet again.
#[test]
fn ibdmchk_finds_the_loops_of_layers_that_share_a_lane() {
    if !installed() {
        return;
    }
    let Some(entry) = ENGINES.iter().find(|entry| entry.name == "dfsssp") else { return };
    let fabric = made(TOPOLOGIES[0]);
    let engine = engine_named(entry.name, &Parameters::default()).expect("an engine of the list");
    let lmc = LmcWish::Least(Lmc::default());
    let input = reconfig::change::RouteInput { fabric: &fabric, engine: &*engine, data_vls: 8, lmc };
    let routed = route(input).unwrap_or_else(|error| panic!("{error}"));
    assert!(routed.function.layers() > 1, "a torus needs several layers");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut shown = exploded(&routed);
    shown.write(folder.path());
    assert!(free(folder.path()));
    shown.lanes = SlToVl::from_fn(|_| Vl::masked(0));
    shown.write(folder.path());
    assert!(!free(folder.path()), "all layers on one lane");
}

/// A routed fabric as ibdmchk can judge it.
struct Shown {
    fabric: Fabric,
    lfts: Vec<Arc<Lft>>,
    /// By source and destination CA.
    levels: BTreeMap<(NodeId, Lid), Sl>,
    lanes: SlToVl,
}

impl Shown {
    fn write(&self, folder: &Path) {
        let put = |name: &str, text: String| std::fs::write(folder.join(name), text).expect("a writable folder");
        put("opensm-subnet.lst", write_subnet(&self.fabric).collect());
        put("opensm.fdbs", write_fdbs(&self.fabric, &self.lfts).collect());
        let level = |source: PortId, lid| self.levels.get(&(self.fabric.port(source).node, lid)).copied();
        put("path-sl", write_path_sls(&self.fabric, level).collect());
        let table = Arc::new(NodeSlToVl::Uniform(self.lanes));
        let tables = vec![table; self.fabric.node_count()];
        put("sl2vl", write_sl_to_vl(&self.fabric, &tables).collect());
    }
}

/// A CA of the picture: a LID of a real end port.
struct Copy {
    node: NodeId,
    owner: PortId,
    /// The real LID, which it has in the picture too.
    lid: Lid,
    home: NodeId,
}

/// The fabric with a CA for each LID that an end port needs in the lower half, all on its switch. Each is taken for a
/// source, too, which the real port is.
///
/// ibdmchk sends from everyone to everyone. A source that a LID is not for is given a way that adds nothing to the real
/// dependencies: from its switch as another source's packets go on from there, on their service level; and where
/// nobody's pass there, on spare lanes, kept free of cycles here.
fn exploded(routed: &Routed) -> Shown {
    let (mut builder, copies) = (FabricBuilder::new(), std::cell::RefCell::new(Vec::new()));
    let fabric = &routed.fabric;
    let mut lfts: Vec<Lft> = Vec::new();
    let switches: Vec<NodeId> = fabric.switches().collect();
    let drawn: BTreeMap<NodeId, NodeId> = switches
        .iter()
        .map(|&switch| {
            let node = builder.node(NodeKind::Switch, fabric.node(switch).guid, 200, fabric.describe_node(switch));
            let lid = fabric.port(fabric.node(switch).first_port).lid;
            builder.port_mut(node, PortNum::ZERO).expect("every switch has it").lid = lid;
            (switch, node)
        })
        .collect();
    for (a, b) in fabric.links() {
        let [one, other] = [a, b].map(|port| (drawn.get(&fabric.port(port).node), fabric.port(port).num));
        if let ((Some(&one), at), (Some(&other), to)) = (one, other) {
            builder.link((one, at), (other, to), Default::default(), Default::default()).expect("as in the fabric");
        }
    }
    let mut extra: BTreeMap<NodeId, u8> = BTreeMap::new();
    for (rank, &owner) in routed.function.destinations().iter().enumerate() {
        let Some(home) = fabric.neighbour(owner).filter(|_| !fabric.node(fabric.port(owner).node).is_switch()) else {
            continue;
        };
        let lids = fabric.half_lids(owner, reconfig::ids::Half::Lower).take(routed.function.needed(rank));
        for lid in lids {
            let guid = Guid(0xCA_0000 + u64::from(lid.0));
            let node = builder.node(NodeKind::Ca, guid, 1, format!("lid-{lid}"));
            let num = extra.entry(home).or_insert(100);
            builder
                .link((drawn[&home], PortNum(*num)), (node, PortNum(1)), Default::default(), Default::default())
                .expect("a free port");
            *num += 1;
            let port = builder.port_mut(node, PortNum(1)).expect("its only port");
            (port.lid, port.guid) = (Some(lid), Some(guid));
            copies.borrow_mut().push((Copy { node, owner, lid, home }, PortNum(*num - 1)));
        }
    }
    let picture = builder.build().expect("LIDs and ports are distinct");
    lfts.resize(picture.node_count(), Lft::new());
    let copies = copies.into_inner();
    let mut spare = Spare::default();
    let mut levels = BTreeMap::new();
    for switch in &switches {
        for (lid, port) in (1..=routed.fabric.max_lid().map_or(0, |lid| lid.0)).filter_map(|lid| {
            let owner = fabric.lid_owner(Lid(lid))?;
            let is_switch = fabric.node(fabric.port(owner).node).is_switch();
            Some((Lid(lid), routed.tables.lfts[switch.index()].get(Lid(lid)).filter(|_| is_switch)?))
        }) {
            lfts[drawn[switch].index()].set(lid, port);
        }
    }
    for (copy, last) in &copies {
        let mut table = tree(routed, copy);
        let passing = passing(routed, copy, &copies, &table);
        extend(fabric, &switches, &mut table);
        table.insert(copy.home, *last);
        table.iter().for_each(|(switch, &port)| lfts[drawn[switch].index()].set(copy.lid, port));
        for (source, _) in copies.iter().filter(|(source, _)| source.node != copy.node) {
            let own = (source.owner != copy.owner).then(|| routed.level(source.owner, copy.lid)).flatten();
            let shared = || passing.get(&source.home).copied();
            let level = own.or_else(shared).unwrap_or_else(|| spare.level(fabric, &table, source.home, copy));
            levels.insert((source.node, copy.lid), level);
        }
    }
    let lfts = lfts.into_iter().map(Arc::new).collect();
    Shown { fabric: picture, lfts, levels, lanes: SlToVl::from_fn(|sl| Vl::masked(sl.get())) }
}

/// The entries for a LID at switches.
type Tree = BTreeMap<NodeId, PortNum>;

fn tree(routed: &Routed, copy: &Copy) -> Tree {
    let entry = |switch: NodeId| Some((switch, routed.tables.lfts[switch.index()].get(copy.lid)?));
    routed.fabric.switches().filter_map(entry).collect()
}

/// By switch that real packets to the LID pass: the service level of some of them.
fn passing(routed: &Routed, copy: &Copy, copies: &[(Copy, PortNum)], table: &Tree) -> BTreeMap<NodeId, Sl> {
    let mut levels = BTreeMap::new();
    for (source, _) in copies.iter().filter(|(source, _)| source.owner != copy.owner) {
        let Some(level) = routed.level(source.owner, copy.lid) else { continue };
        for switch in way(&routed.fabric, table, source.home, copy).0 {
            levels.entry(switch).or_insert(level);
        }
    }
    levels
}

/// The switches from one to the LID's home, and the ports that lead from each but the last.
fn way(fabric: &Fabric, table: &Tree, from: NodeId, copy: &Copy) -> (Vec<NodeId>, Vec<PortId>) {
    let (mut at, mut nodes, mut ports) = (from, vec![from], Vec::new());
    while at != copy.home {
        let port = fabric.port_at(at, table[&at]).expect("a port of the switch");
        at = fabric.neighbour(port).expect("a cabled port");
        nodes.push(at);
        ports.push(port);
        assert!(nodes.len() <= fabric.node_count(), "LID {} goes round", copy.lid);
    }
    (nodes, ports)
}

/// Entries for switches that have none: towards the nearest that has one.
fn extend(fabric: &Fabric, switches: &[NodeId], table: &mut Tree) {
    let mut open: VecDeque<NodeId> = switches.iter().copied().filter(|switch| table.contains_key(switch)).collect();
    while let Some(switch) = open.pop_front() {
        for port in fabric.ports_of(switch) {
            let Some(peer) = fabric.peer(port).map(|peer| fabric.port(peer)) else { continue };
            if fabric.node(peer.node).is_switch() && !table.contains_key(&peer.node) {
                table.insert(peer.node, peer.num);
                open.push_back(peer.node);
            }
        }
    }
}

/// Lanes that no real packet takes.
#[derive(Default)]
struct Spare {
    lanes: BTreeMap<u8, DiGraphMap<PortId, ()>>,
}

impl Spare {
    /// The first service level whose lane stays free of cycles with this way.
    fn level(&mut self, fabric: &Fabric, table: &Tree, from: NodeId, copy: &Copy) -> Sl {
        let ports = way(fabric, table, from, copy).1;
        for level in SPARE {
            let lane = self.lanes.entry(level).or_default();
            let added: Vec<_> = ports.windows(2).filter(|pair| !lane.contains_edge(pair[0], pair[1])).collect();
            added.iter().for_each(|pair| _ = lane.add_edge(pair[0], pair[1], ()));
            if !is_cyclic_directed(&*lane) {
                return Sl::new(level).expect("below 16");
            }
            added.iter().for_each(|pair| _ = lane.remove_edge(pair[0], pair[1]));
        }
        panic!("no spare lane takes a packet from {} to LID {}", fabric.describe_node(from), copy.lid)
    }
}
