//! End ports that a change cuts off from the subnet manager, by name.

use crate::fabric::{Fabric, NodeRole, PortId};
use crate::ids::Guid;
use serde::Serialize;
use std::fmt;

/// An end port of the fabric before the change that no links join with the subnet manager's part after it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct CutOffPort {
    /// The description of its node, as captured.
    pub node: String,
    /// The GUID of its node.
    pub guid: Guid,
    /// The number of the port.
    pub port: u8,
    /// Whether the node itself is removed, so that the port is not cut off from it but leaves with it.
    pub leaves: bool,
}

impl CutOffPort {
    /// The end ports of a list in the order of their names in `fabric`, numbers by value; a node that `leaves` takes
    /// them along. What is a part of a switch goes with it and is cut off from nothing.
    pub fn named(fabric: &Fabric, ports: &[PortId], leaves: impl Fn(Guid) -> bool) -> Vec<CutOffPort> {
        let name = |&id: &PortId| {
            let port = fabric.port(id);
            let node = fabric.node(port.node);
            let description = node.description.trim().to_string();
            CutOffPort { node: description, guid: node.guid, port: port.num.0, leaves: leaves(node.guid) }
        };
        let is_own = |port: &&PortId| fabric.role(fabric.port(**port).node) != NodeRole::InSwitch;
        let mut named: Vec<CutOffPort> = ports.iter().filter(is_own).map(name).collect();
        named.sort_by_cached_key(|port| (by_number(&port.node), port.guid, port.port));
        named
    }
}

/// A name in pieces that sort as people number: `node9` before `node10`.
fn by_number(name: &str) -> Vec<(String, u64)> {
    let mut pieces: Vec<(String, u64)> = vec![(String::new(), 0)];
    let mut in_number = false;
    for char in name.chars() {
        let digit = char.to_digit(10).map(u64::from);
        if in_number && digit.is_none() {
            pieces.push((String::new(), 0));
        }
        in_number = digit.is_some();
        if let Some((text, number)) = pieces.last_mut() {
            match digit {
                Some(digit) => *number = number.saturating_mul(10).saturating_add(digit),
                None => text.push(char),
            }
        }
    }
    pieces
}

impl fmt::Display for CutOffPort {
    /// `description[port] (GUID)`; a node without a description has its GUID alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CutOffPort { node, guid, port, .. } = self;
        if node.is_empty() { write!(f, "{guid}[{port}]") } else { write!(f, "{node}[{port}] ({guid})") }
    }
}
