//! Whether every tool tells the same of a subnet: what one prints is held against what another does, and against what
//! was asked for. A few devices and pairs are drawn by lot, from a seed.

use super::picture::{Lanes, Picture};
use super::subnet::Subnet;
use super::told::{Fields, Path, lft_block, paths, records, sl_to_vl_records, sminfo, trace};
use crate::support::is_thorough;
use rand::{SeedableRng, seq::IndexedRandom};
use rand_pcg::Pcg64Mcg;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lid, Lmc, PortNum};
use reconfig::tables::SlToVl;
use reconfig::tables::dump::read_lfts;
use std::collections::BTreeSet;

/// Devices that are asked about one by one, and end ports in a row: each look costs three to four tools for one.
fn sample() -> usize {
    if is_thorough() { 5 } else { 2 }
}

/// Entries of a block of a forwarding table.
const BLOCK: u16 = 64;

/// What the tools are to see.
pub struct Expected<'a> {
    /// The topology, whose LIDs do not count.
    pub topology: &'a Fabric,
    /// The LMC of end ports.
    pub lmc: Lmc,
    /// The SL-to-VL table, everywhere; none where that is the manager's own business.
    pub lanes: Option<SlToVl>,
    /// The half that the SA answers with, where the manager knows halves.
    pub half: Option<Half>,
}

impl Expected<'_> {
    /// Looks at the subnet with every tool; panics at the first contradiction.
    pub fn agrees(&self, subnet: &Subnet) -> Picture {
        let picture = Picture::take(subnet);
        self.topology_is(&picture);
        self.lids_are(&picture);
        let mut lot = Pcg64Mcg::seed_from_u64(1);
        let mut draw = |all: Vec<PortId>| all.sample(&mut lot, sample()).copied().collect::<Vec<PortId>>();
        let switches = draw(picture.fabric.switches().map(|switch| picture.fabric.node(switch).first_port).collect());
        let ends = draw(picture.fabric.end_ports().collect());
        let master = sminfo(&subnet.tool(&["sminfo"])).0;
        for &port in switches.iter().chain(&ends) {
            self.port_is(subnet, &picture, port, master);
        }
        for &port in &switches {
            self.tables_are(subnet, &picture, picture.fabric.port(port).node);
        }
        for (&from, &to) in ends.iter().zip(ends.iter().skip(1)) {
            self.pair_is(subnet, &picture, from, to);
        }
        picture
    }

    /// ibnetdiscover finds the topology, whole.
    fn topology_is(&self, picture: &Picture) {
        let (seen, meant) = (Picture::links(&picture.fabric), Picture::links(self.topology));
        let (missing, strange): (Vec<_>, Vec<_>) =
            (meant.difference(&seen).collect(), seen.difference(&meant).collect());
        assert!(missing.is_empty() && strange.is_empty(), "missing: {missing:?}, too many: {strange:?}");
        assert!(picture.lfts.missing.is_empty(), "dump_fts does not tell of {:?}", picture.lfts.missing);
    }

    /// Every port that needs LIDs has as many as it should, aligned; every switch with end ports has a route to each.
    fn lids_are(&self, picture: &Picture) {
        let fabric = &picture.fabric;
        let leaves: BTreeSet<NodeId> = fabric.end_ports().filter_map(|port| fabric.neighbour(port)).collect();
        for port in fabric.lid_ports() {
            let told = fabric.port(port);
            let lmc = if fabric.node(told.node).is_switch() { Lmc::default() } else { self.lmc };
            let (lid, name) = (picture.lid(port), fabric.describe_port(port));
            assert_eq!((told.lmc, lid.0 % lmc.lids()), (lmc, 0), "{name} has LID {lid}, LMC {}", told.lmc);
            for lid in (lid.0..lid.0 + lmc.lids()).map(Lid).filter(|&lid| !is_left_out(fabric, lid)) {
                let has_none = |leaf: &&NodeId| picture.lfts.tables[leaf.index()].get(lid).is_none();
                let hole = leaves.iter().find(has_none).map(|&leaf| fabric.describe_node(leaf));
                assert_eq!(hole, None, "no route there for LID {lid} of {name}");
            }
        }
    }

    /// smpquery and saquery tell the same of a port.
    fn port_is(&self, subnet: &Subnet, picture: &Picture, port: PortId, master: Lid) {
        let told = picture.fabric.port(port);
        let (lid, name) = (picture.lid(port), picture.fabric.describe_port(port));
        let (at, num) = (lid.to_string(), told.num.to_string());
        let info = Fields::read(&subnet.tool(&["smpquery", "portinfo", &at, &num]));
        let seen = (info.lid("Lid"), info.number("LMC"), info.lid("SMLid"));
        assert_eq!(seen, (lid, u64::from(told.lmc.get()), master), "smpquery portinfo of {name}");
        if told.num != PortNum::ZERO {
            assert_eq!(info.text("LinkState"), "Active", "{name}");
        }
        let record = subnet.tool(&["saquery", "PIR", &format!("{at}/{num}")]);
        let known = records(&record, "PortInfoRecord dump:").into_iter().map(Fields::read).any(|fields| {
            fields.lid("EndPortLid") == lid
                && fields.number("LMC") == u64::from(told.lmc.get())
                && fields.lid("Lid") == lid
        });
        assert!(known, "saquery PIR of {name}: {record}");
        let record = subnet.tool(&["saquery", "NR", &at]);
        let node = picture.fabric.node(told.node);
        let known = records(&record, "NodeRecord dump:").into_iter().map(Fields::read).any(|fields| {
            let guids = (fields.guid("node_guid"), fields.guid("port_guid"));
            fields.lid("lid") == lid
                && guids == (node.guid, told.guid.unwrap_or(node.guid))
                && fields.text("NodeDescription").trim() == node.description.trim()
        });
        assert!(known, "saquery NR of {name}: {record}");
    }

    /// ibroute and saquery LFTR have the tables that dump_fts has.
    fn tables_are(&self, subnet: &Subnet, picture: &Picture, switch: NodeId) {
        let lid = picture.switch_lid(switch);
        let table = &picture.lfts.tables[switch.index()];
        let told = subnet.tool(&["ibroute", &lid.to_string()]);
        let routes = read_lfts(told.as_bytes(), "ibroute", &picture.fabric)
            .unwrap_or_else(|error| panic!("{}", error.render(false)));
        assert_eq!(&routes.tables[switch.index()], table, "ibroute {lid}");
        let top = picture.fabric.max_lid().map_or(0, |lid| lid.0);
        for block in [0, top / BLOCK] {
            let told = lft_block(&subnet.tool(&["saquery", "LFTR", &format!("{lid}/{block}")]));
            let meant = |lid| table.get(lid).unwrap_or(PortNum::NO_ROUTE);
            let first = block * BLOCK;
            let rows: Vec<_> = (first..first + BLOCK).map(|lid| (Lid(lid), meant(Lid(lid)))).collect();
            let known = |&(lid, _): &(Lid, PortNum)| !is_left_out(&picture.fabric, lid);
            let [told, rows]: [Vec<_>; 2] = [told, rows].map(|rows| rows.into_iter().filter(known).take(64).collect());
            assert_eq!(told, rows, "saquery LFTR {lid}/{block}");
        }
    }

    /// The SA gives a path of the active half, and ibtracert goes the way of the tables, for that one and for all
    /// others.
    fn pair_is(&self, subnet: &Subnet, picture: &Picture, from: PortId, to: PortId) {
        let fabric = &picture.fabric;
        let base = |port| picture.lid(port).to_string();
        let told = paths(&subnet.tool(&["saquery", "PR", "--slid", &base(from), "--dlid", &base(to)]));
        assert!(!told.is_empty(), "no path from {} to {}", fabric.describe_port(from), fabric.describe_port(to));
        told.into_iter().for_each(|path| self.path_is(fabric, path, from, to));
        for offset in 0..self.lmc.lids() {
            let [slid, dlid] = [from, to].map(|port| Lid(picture.lid(port).0 + offset));
            let told = trace(&subnet.tool(&["ibtracert", &slid.to_string(), &dlid.to_string()]));
            assert_eq!(told, way(picture, from, dlid), "ibtracert from LID {slid} to {dlid}");
        }
    }

    fn path_is(&self, fabric: &Fabric, path: Path, from: PortId, to: PortId) {
        let ends = (fabric.lid_owner(path.slid), fabric.lid_owner(path.dlid));
        assert_eq!(ends, (Some(from), Some(to)), "{path:?}");
        if let Some(half) = self.half {
            let halves = (fabric.half_of(path.slid), fabric.half_of(path.dlid), Half::of_sl(path.sl));
            assert_eq!(halves, (Some(half), Some(half), half), "{path:?}");
        }
    }

    /// The SL-to-VL tables of some nodes, as smpquery sees them, are as meant; saquery has the same.
    pub fn lanes_are(&self, subnet: &Subnet, picture: &Picture, nodes: &[NodeId]) -> Lanes {
        let lanes = picture.lanes(subnet, nodes);
        if let Some(meant) = self.lanes {
            for ((node, input, output), table) in &lanes {
                let cabled = *input == PortNum::ZERO || picture.cabled(*node).contains(input);
                if cabled && input != output {
                    assert_eq!(*table, meant, "{}[{input}] to [{output}]", picture.fabric.describe_node(*node));
                }
            }
        }
        let Some(&switch) = nodes.iter().find(|&&node| picture.fabric.node(node).is_switch()) else { return lanes };
        let ports = picture.cabled(switch);
        let (lid, input, output) = (picture.switch_lid(switch), ports[0], ports[ports.len() - 1]);
        let records = sl_to_vl_records(&subnet.tool(&["saquery", "SL2VL", &format!("{lid}/{input}/{output}")]));
        assert_eq!(
            records.get(&(lid, input, output)),
            lanes.get(&(switch, input, output)),
            "saquery SL2VL {lid}/{input}/{output}"
        );
        lanes
    }
}

/// dump_fts and ibroute end at the last whole block below LinearFDBTop: where that begins a block, they leave it out.
fn is_left_out(fabric: &Fabric, lid: Lid) -> bool {
    fabric.max_lid() == Some(lid) && lid.0.is_multiple_of(BLOCK)
}

/// The way from an end port to a LID by the tables: the port out of each node, and the end of that cable.
fn way(picture: &Picture, from: PortId, dlid: Lid) -> Vec<(PortNum, reconfig::ids::Guid, PortNum)> {
    let fabric = &picture.fabric;
    let (mut at, mut way) = (from, Vec::new());
    loop {
        let peer = fabric.peer(at).unwrap_or_else(|| panic!("{} has no cable", fabric.describe_port(at)));
        let (end, node) = (fabric.port(peer), fabric.port(peer).node);
        // ibtracert names a CA by its port.
        let guid = if fabric.node(node).is_switch() { Some(fabric.node(node).guid) } else { end.guid };
        way.push((fabric.port(at).num, guid.unwrap_or(fabric.node(node).guid), end.num));
        if !fabric.node(node).is_switch() {
            return way;
        }
        assert!(way.len() <= fabric.node_count(), "LID {dlid} goes round");
        let out = picture.lfts.tables[node.index()].get(dlid).unwrap_or_else(|| panic!("no route for LID {dlid}"));
        at = fabric.port_at(node, out).expect("tables name ports that are there");
    }
}
