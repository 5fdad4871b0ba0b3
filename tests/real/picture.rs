//! A subnet as the tools see it from outside: topology, LIDs, forwarding tables, SL-to-VL tables. No word of a subnet
//! manager is asked for.

use super::subnet::Subnet;
use super::told::sl_to_vl;
use crate::support::python::python;
use reconfig::fabric::format::read;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Lid, PortNum};
use reconfig::tables::SlToVl;
use reconfig::tables::dump::{Lfts, read_lfts};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

/// What was seen.
pub struct Picture {
    /// What ibnetdiscover printed.
    pub net: String,
    /// What it means.
    pub fabric: Fabric,
    /// What dump_fts printed.
    pub fts: String,
    /// What it means.
    pub lfts: Lfts,
}

/// SL-to-VL tables by node, input and output; of a CA from input 0.
pub type Lanes = BTreeMap<(NodeId, PortNum, PortNum), SlToVl>;

impl Picture {
    /// Looks.
    pub fn take(subnet: &Subnet) -> Picture {
        let net = subnet.tool(&["ibnetdiscover"]);
        let fabric = read(net.as_bytes(), "ibnetdiscover").unwrap_or_else(|error| panic!("{}", error.render(false)));
        let fts = subnet.tool(&["dump_fts"]);
        let lfts =
            read_lfts(fts.as_bytes(), "dump_fts", &fabric).unwrap_or_else(|error| panic!("{}", error.render(false)));
        Picture { net, fabric, fts, lfts }
    }

    /// The same, as far as a smaller fabric of the same indices has it.
    pub fn within(&self, fabric: Fabric) -> Picture {
        Picture { net: self.net.clone(), fabric, fts: self.fts.clone(), lfts: self.lfts.clone() }
    }

    /// The cables, each as its two ends by description and port.
    pub fn links(fabric: &Fabric) -> BTreeSet<[(String, u8); 2]> {
        let end = |port: PortId| {
            let port = fabric.port(port);
            (fabric.node(port.node).description.trim().to_string(), port.num.0)
        };
        let sorted = |(a, b)| {
            let mut ends = [end(a), end(b)];
            ends.sort();
            ends
        };
        fabric.links().map(sorted).collect()
    }

    /// The LID that a device is asked at: its own, or its switch's.
    pub fn lid(&self, port: PortId) -> Lid {
        self.fabric.port(port).lid.unwrap_or_else(|| panic!("{} has no LID", self.fabric.describe_port(port)))
    }

    /// The LID of a switch.
    pub fn switch_lid(&self, switch: NodeId) -> Lid {
        self.lid(self.fabric.node(switch).first_port)
    }

    /// The cabled ports of a node, port 0 aside.
    pub fn cabled(&self, node: NodeId) -> Vec<PortNum> {
        let ports = self.fabric.ports_of(node).map(|id| self.fabric.port(id));
        ports.filter(|port| port.peer.is_some() && port.num != PortNum::ZERO).map(|port| port.num).collect()
    }

    /// Asks switches and CAs for the SL-to-VL tables of their cabled ports, by directed routes: no table need be right.
    /// One program asks for all of them: smpquery, which takes one port a run, is asked for the first, and must tell
    /// the same.
    pub fn lanes(&self, subnet: &Subnet, nodes: &[NodeId]) -> Lanes {
        let routes = self.routes();
        let mut asked = BTreeMap::new();
        for &node in nodes {
            let Some(route) = &routes[node.index()] else { panic!("no way to {}", self.fabric.describe_node(node)) };
            for port in self.cabled(node) {
                asked.insert(format!("{route}/{port}"), (node, port));
            }
        }
        let mut words = vec![python().expect("python3"), concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/lanes.py")];
        words.extend(asked.keys().map(String::as_str));
        let told = subnet.tool(&words);
        let mut lanes = Lanes::new();
        for told in told.split_inclusive("\n\n") {
            let (asked_for, rows) = told.split_once('\n').expect("what was asked for, and rows");
            let (node, output) = asked.remove(asked_for).expect("it was asked for");
            let tables = sl_to_vl(rows);
            assert!(!tables.is_empty(), "no table of {}[{output}]: {told}", self.fabric.describe_node(node));
            if lanes.is_empty() {
                let (route, port) = asked_for.split_once('/').expect("a route and a port");
                assert_eq!(sl_to_vl(&subnet.tool(&["smpquery", "-D", "sl2vl", route, port])), tables, "{asked_for}");
            }
            lanes.extend(tables.into_iter().map(|((input, _), table)| ((node, input, output), table)));
        }
        assert!(asked.is_empty(), "nothing was told of {asked:?}");
        lanes
    }

    /// Directed routes from where ibnetdiscover ran, as the tools take them, by node.
    fn routes(&self) -> Vec<Option<String>> {
        let mut routes = vec![None; self.fabric.node_count()];
        let (origin, _) = self.fabric.origin().expect("ibnetdiscover says where it ran");
        let start = self.fabric.by_guid(origin).expect("ibnetdiscover lists where it ran");
        routes[start.index()] = Some("0".to_string());
        let mut open = VecDeque::from([start]);
        while let Some(node) = open.pop_front() {
            for port in self.fabric.ports_of(node) {
                if let Some(next) = self.fabric.neighbour(port).filter(|next| routes[next.index()].is_none()) {
                    let so_far = routes[node.index()].clone().unwrap_or_default();
                    routes[next.index()] = Some(format!("{so_far},{}", self.fabric.port(port).num));
                    // A CA leads nowhere, unless it is the first.
                    open.extend(Some(next).filter(|&next| self.fabric.node(next).is_switch()));
                }
            }
        }
        routes
    }

    /// SL-to-VL tables in the form that ibdmchk and `reconfig audit` take.
    pub fn lanes_file(&self, lanes: &Lanes) -> String {
        let mut text = String::new();
        for ((node, input, output), table) in lanes.iter().filter(|((node, ..), _)| self.fabric.node(*node).present) {
            let _ = write!(text, "{} {input} {output}", self.fabric.node(*node).guid);
            for pair in table.0.chunks(2) {
                let _ = write!(text, " {:#04x}", pair[0].get() << 4 | pair[1].get());
            }
            text.push('\n');
        }
        text
    }
}
