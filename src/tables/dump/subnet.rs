//! The node list that accompanies dumps, in the format of OpenSM's `opensm-subnet.lst`, which ibdmchk reads with `-s`.
//! [`fabric::format`](crate::fabric::format) reads it.
//!
//! Braces in descriptions, which would end them, become parentheses. Descriptions that several nodes share, which
//! ibdmchk would take for one node, are prefixed with the GUID. Routers are omitted: ibdmchk's reader does not support
//! them.

use super::plain;
use crate::fabric::{Fabric, LinkSpeed, NodeKind, PortId};
use rustc_hash::FxHashMap;

/// Every cable from both ends, one line each, in the order of nodes and ports, as in OpenSM's file. So the reader of a
/// truncated file sees neighbours that have no line of their own.
pub fn write_subnet(fabric: &Fabric) -> impl Iterator<Item = String> + '_ {
    let names = names(fabric);
    let is_listed = |port: PortId| fabric.node(fabric.port(port).node).kind != NodeKind::Router;
    let ends = fabric.ports().filter_map(|(id, port)| Some((id, port.peer?)));
    ends.filter(move |&(own, peer)| is_listed(own) && is_listed(peer)).map(move |(own, peer)| {
        let [from, to] = [own, peer].map(|port| side(fabric, port, &names));
        let (width, speed) = (fabric.port(own).width, rate(fabric.port(own).speed));
        format!("{from} {to} PHY={width} LOG=ACT SPD={speed}\n")
    })
}

/// By node: its description, made unique.
fn names(fabric: &Fabric) -> Vec<String> {
    let bare = |text: &str| plain(text).replace('{', "(").replace('}', ")");
    let mut bearers: FxHashMap<String, usize> = FxHashMap::default();
    fabric.nodes().for_each(|(_, node)| *bearers.entry(bare(&node.description)).or_default() += 1);
    let name = |guid, text: String| if bearers[&text] > 1 { format!("{guid} {text}") } else { text };
    fabric.nodes().map(|(_, node)| name(node.guid, bare(&node.description))).collect()
}

fn side(fabric: &Fabric, id: PortId, names: &[String]) -> String {
    let port = fabric.port(id);
    let node = fabric.node(port.node);
    let (kind, owner) = match node.is_switch() {
        true => ("SW", node.first_port),
        false => ("CA", id),
    };
    let guid = fabric.port_guid(owner).0;
    let system = node.system_guid.unwrap_or(node.guid).0;
    let lid = fabric.port(owner).lid.map_or(0, |lid| lid.0);
    format!(
        "{{ {kind} Ports:{:02X} SystemGUID:{system:016x} NodeGUID:{:016x} PortGUID:{guid:016x} VenID:{:06X} DevID:{:04X} \
         Rev:00000000 {{{}}} LID:{lid:04X} PN:{:02X} }}",
        node.num_ports,
        node.guid.0,
        node.vendor_id,
        node.device_id,
        names[port.node.index()],
        port.num.0,
    )
}

/// Signalling rate of one lane, in the spelling of such files.
fn rate(speed: LinkSpeed) -> &'static str {
    match speed {
        LinkSpeed::Sdr => "2.5",
        LinkSpeed::Ddr => "5",
        LinkSpeed::Qdr => "10",
        LinkSpeed::Fdr10 => "FDR10",
        LinkSpeed::Fdr => "14",
        LinkSpeed::Edr => "25",
        LinkSpeed::Hdr => "50",
        LinkSpeed::Ndr => "100",
        LinkSpeed::Xdr => "200",
    }
}
