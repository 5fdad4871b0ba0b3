//! Finds nodes and ports by the names that people use: a description, a GUID, or `ibnetdiscover`'s name (`S-…`, `H-…`,
//! `R-…`).

use super::outcome::Failure;
use anyhow::anyhow;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Guid, PortNum};

/// The node that `text` names.
pub(super) fn find_node(fabric: &Fabric, text: &str) -> Result<NodeId, Failure> {
    let wanted = text.trim();
    let described: Vec<NodeId> =
        fabric.nodes().filter(|(_, node)| node.description.trim() == wanted).map(|(id, _)| id).collect();
    if let [only] = described[..] {
        return Ok(only);
    }
    if let Some(node) = guid_of(wanted).and_then(|guid| fabric.by_guid(guid)) {
        return Ok(node);
    }
    Err(Failure::input(match described[..] {
        [] => anyhow!("no node has the name `{wanted}`: give a description or a GUID{}", alike(fabric, wanted)),
        _ => {
            let guids: Vec<_> = described.iter().take(3).map(|&id| fabric.node(id).guid.to_string()).collect();
            anyhow!("{} nodes have the name `{wanted}`: give a GUID, such as {}", described.len(), guids.join(", "))
        }
    }))
}

/// The GUID that `text` denotes: bare, with `0x`, or in `ibnetdiscover`'s form (`S-…`, `H-…`, `R-…`).
pub(super) fn guid_of(text: &str) -> Option<Guid> {
    let digits = ["S-", "H-", "R-"].iter().find_map(|prefix| text.strip_prefix(prefix));
    digits.unwrap_or(text).parse().ok()
}

/// A few descriptions that contain the text.
fn alike(fabric: &Fabric, wanted: &str) -> String {
    let lower = wanted.to_lowercase();
    let similar = fabric.nodes().map(|(_, node)| node.description.trim());
    let names: Vec<_> = similar.filter(|name| name.to_lowercase().contains(&lower)).take(3).collect();
    if names.is_empty() { String::new() } else { format!("; there are {}", names.join(", ")) }
}

/// The port that `NODE:PORT` names; a description may contain colons.
pub(super) fn find_port(fabric: &Fabric, text: &str) -> Result<PortId, Failure> {
    let expected = || Failure::input(anyhow!("`{text}` names no port: expected NODE:PORT, such as `leaf-1:3`"));
    let (node, num) = text.rsplit_once(':').ok_or_else(expected)?;
    let num: u8 = num.trim().parse().map_err(|_| expected())?;
    let node = find_node(fabric, node)?;
    fabric.port_at(node, PortNum(num)).filter(|_| num > 0).ok_or_else(|| {
        let ports = fabric.node(node).num_ports;
        Failure::input(anyhow!("{} has ports 1 to {ports}: there is no port {num}", fabric.describe_node(node)))
    })
}
