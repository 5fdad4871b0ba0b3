//! Writes the line grammar of `lines`: to the byte as infiniband-diags prints it, or as ibsim loads it.

use super::lines::vl_cap;
use crate::fabric::{Fabric, LinkSpeed, LinkWidth, Node, NodeId, NodeKind, Port, PortId, PortZero};
use crate::ids::Guid;
use std::fmt::Write;

/// The tool whose lines are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// As the tool prints them.
    Ibnetdiscover,
    /// As ibsim reads them: neighbours are described only by their names, since ibsim takes any `=` after them for an
    /// option; a router's ports have masks, since ibsim reads no rate there; a link has the lesser rate of its two
    /// ends; and values that ibsim would assign are explicit.
    Ibsim,
}

/// The state of printing one fabric; `names` holds each node's name by index.
pub(super) struct Printer<'a> {
    pub fabric: &'a Fabric,
    pub names: Vec<String>,
    pub dialect: Dialect,
}

/// `S-0002c90300a1b2c0`
pub(super) fn node_id(node: &Node) -> String {
    let prefix = match node.kind {
        NodeKind::Switch => 'S',
        NodeKind::Ca => 'H',
        NodeKind::Router => 'R',
    };
    format!("{prefix}-{:016x}", node.guid.0)
}

impl Printer<'_> {
    /// Appends every present node and its cabled ports, in index order.
    pub fn print(&self, out: &mut String) {
        let fabric = self.fabric;
        let full = fabric.ports().any(|(_, port)| port.peer.is_some() && port.data_vls != 8);
        for (id, node) in fabric.nodes().filter(|(_, node)| node.present) {
            self.node(out, id, node);
            for (port, peer) in fabric.ports_of(id).filter_map(|port| fabric.peer(port).map(|peer| (port, peer))) {
                self.port(out, port, peer);
                if full {
                    let port = fabric.port(port);
                    let (speed, width) = (speed_code(port.speed), width_code(port.width));
                    push(out, format_args!(" s={speed} w={width} v={}", vl_cap(port.data_vls)));
                }
                out.push('\n');
            }
        }
    }

    fn node(&self, out: &mut String, id: NodeId, node: &Node) {
        push(out, format_args!("\nvendid=0x{:x}\ndevid=0x{:x}\n", node.vendor_id, node.device_id));
        if let Some(system) = node.system_guid.or(self.assigned(node.guid)) {
            push(out, format_args!("sysimgguid=0x{:x}", system.0));
            if let Some(chassis) = node.chassis.filter(|_| self.dialect == Dialect::Ibnetdiscover) {
                push(out, format_args!("\t\t# Chassis {chassis}"));
            }
            out.push('\n');
        }
        let (identifier, keyword) = match (node.kind, self.dialect) {
            (NodeKind::Switch, _) => ("switchguid", "Switch"),
            (NodeKind::Ca, Dialect::Ibnetdiscover) => ("caguid", "Ca"),
            (NodeKind::Ca, Dialect::Ibsim) => ("caguid", "Hca"),
            (NodeKind::Router, _) => ("rtguid", "Rt"),
        };
        push(out, format_args!("{identifier}=0x{:x}", node.guid.0));
        let zero = self.fabric.port(node.first_port);
        if let Some(guid) = self.port_guid(zero).filter(|_| node.is_switch()) {
            push(out, format_args!("({:x})", guid.0));
        }
        let name = &self.names[id.index()];
        let description = match (self.dialect, printable(&node.description)) {
            (Dialect::Ibsim, text) if text.is_empty() => name.clone(),
            (_, text) => text,
        };
        push(out, format_args!("\n{keyword}\t{} \"{name}\"\t\t# \"{description}\"", node.num_ports));
        if node.is_switch() {
            let kind = if node.port_zero == PortZero::Enhanced { "enhanced" } else { "base" };
            push(out, format_args!(" {kind} port 0 lid {} lmc {}", lid(zero), zero.lmc));
        }
        out.push('\n');
    }

    fn port(&self, out: &mut String, id: PortId, peer: PortId) {
        let (port, remote) = (self.fabric.port(id), self.fabric.port(peer));
        let (own_switch, remote_switch) =
            [port.node, remote.node].map(|node| self.fabric.node(node).is_switch()).into();
        push(out, format_args!("[{}]", port.num));
        if !own_switch {
            self.port_guid(port).iter().for_each(|guid| push(out, format_args!("({:x}) ", guid.0)));
        }
        let name = &self.names[remote.node.index()];
        push(out, format_args!("\t\"{name}\"[{}]", remote.num));
        if !remote_switch {
            let blank = if own_switch { "" } else { " " };
            self.port_guid(remote).iter().for_each(|guid| push(out, format_args!("{blank}({:x}) ", guid.0)));
        }
        let (width, speed) = match self.dialect {
            Dialect::Ibnetdiscover => (port.width, port.speed),
            Dialect::Ibsim => (port.width.min(remote.width), port.speed.min(remote.speed)),
        };
        if self.dialect == Dialect::Ibsim && self.fabric.node(port.node).kind == NodeKind::Router {
            push(out, format_args!(" w={} s={} e={}", width_code(width), speeds(speed), extended(speed)));
        }
        out.push_str("\t\t# ");
        if !own_switch {
            push(out, format_args!("lid {} lmc {} ", lid(port), port.lmc));
        }
        let described = self.fabric.node(remote.node);
        let owner = if remote_switch { self.fabric.port(described.first_port) } else { remote };
        let description = match self.dialect {
            Dialect::Ibnetdiscover => printable(&described.description),
            Dialect::Ibsim => name.clone(),
        };
        push(out, format_args!("\"{description}\" lid {} {width}{speed}", lid(owner)));
    }

    /// The port's GUID, or the one that ibsim would assign.
    fn port_guid(&self, port: &Port) -> Option<Guid> {
        let node = self.fabric.node(port.node);
        port.guid.or(self.assigned(Guid(node.guid.0.wrapping_add(port.num.0.into()))))
    }

    /// A GUID that ibsim assigns if the file gives none.
    fn assigned(&self, guid: Guid) -> Option<Guid> {
        (self.dialect == Dialect::Ibsim).then_some(guid)
    }
}

/// PortInfo:LinkWidthActive.
fn width_code(width: LinkWidth) -> u8 {
    match width {
        LinkWidth::X1 => 1,
        LinkWidth::X4 => 2,
        LinkWidth::X8 => 4,
        LinkWidth::X12 => 8,
        LinkWidth::X2 => 16,
    }
}

/// PortInfo:LinkSpeedActive, which stays at 10 Gb/s if an extended speed is active.
fn speed_code(speed: LinkSpeed) -> u8 {
    match speed {
        LinkSpeed::Sdr => 1,
        LinkSpeed::Ddr => 2,
        _ => 4,
    }
}

/// ibsim's mask of the speeds up to this one.
fn speeds(speed: LinkSpeed) -> u8 {
    match speed {
        LinkSpeed::Sdr => 1,
        LinkSpeed::Ddr => 3,
        _ => 7,
    }
}

/// ibsim's mask of the extended speeds up to this one; ibsim 0.10 refuses masks above that of HDR.
fn extended(speed: LinkSpeed) -> u8 {
    match speed {
        LinkSpeed::Fdr => 1,
        LinkSpeed::Edr => 3,
        LinkSpeed::Hdr | LinkSpeed::Ndr | LinkSpeed::Xdr => 7,
        _ => 0,
    }
}

/// The base LID, 0 for none.
fn lid(port: &Port) -> u16 {
    port.lid.map_or(0, |lid| lid.0)
}

/// The description on one line: control characters become blanks.
fn printable(description: &str) -> String {
    description.replace(char::is_control, " ")
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a String takes every text");
}
