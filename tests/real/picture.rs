//! A subnet as the tools see it from outside: topology, LIDs, forwarding tables, SL-to-VL tables. No word of a subnet
//! manager is asked for.

use super::subnet::Subnet;
use super::told::sl_to_vl;
use reconfig::fabric::format::read;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Lid, PortNum};
use reconfig::tables::SlToVl;
use reconfig::tables::dump::{Lfts, read_lfts};
use std::collections::{BTreeMap, BTreeSet};
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

    /// Asks switches and CAs for the SL-to-VL tables of their cabled ports.
    pub fn lanes(&self, subnet: &Subnet, nodes: &[NodeId]) -> Lanes {
        let mut asked = Vec::new();
        for &node in nodes {
            for port in self.cabled(node) {
                let id = self.fabric.port_at(node, port).expect("a cabled port is there");
                let switch = self.fabric.node(node).is_switch();
                let lid = if switch { self.switch_lid(node) } else { self.lid(id) };
                asked.push((
                    node,
                    port,
                    ["smpquery", "sl2vl", &lid.to_string(), &port.to_string()].map(String::from).to_vec(),
                ));
            }
        }
        let calls: Vec<Vec<String>> = asked.iter().map(|(_, _, call)| call.clone()).collect();
        let mut lanes = Lanes::new();
        for ((node, output, _), told) in asked.into_iter().zip(subnet.tools(&calls)) {
            let tables = sl_to_vl(&told);
            assert!(!tables.is_empty(), "no table of {}[{output}]: {told}", self.fabric.describe_node(node));
            lanes.extend(tables.into_iter().map(|((input, _), table)| ((node, input, output), table)));
        }
        lanes
    }

    /// SL-to-VL tables in the form that ibdmchk and `reconfig audit` take.
    pub fn lanes_file(&self, lanes: &Lanes) -> String {
        let mut text = String::new();
        for ((node, input, output), table) in lanes {
            let _ = write!(text, "{} {input} {output}", self.fabric.node(*node).guid);
            for pair in table.0.chunks(2) {
                let _ = write!(text, " {:#04x}", pair[0].get() << 4 | pair[1].get());
            }
            text.push('\n');
        }
        text
    }
}
