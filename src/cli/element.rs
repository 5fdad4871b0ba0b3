//! Finds nodes and ports by the names people use: a description, a GUID, `ibnetdiscover`'s name (`S-…`, `H-…`, `R-…`),
//! a name that a report gives, or a pattern with `*` that one description matches.

use super::outcome::Failure;
use anyhow::anyhow;
use reconfig::fabric::{Fabric, Node, NodeId, PortId, guid_behind, split_port};
use reconfig::ids::{Guid, PortNum};

/// The node that `text` names.
pub(super) fn find_node(fabric: &Fabric, text: &str) -> Result<NodeId, Failure> {
    find_fit(fabric, text, &|_| true)
}

/// The node that `text` names, among those that fit; if there is none, the error suggests nodes that fit.
fn find_fit(fabric: &Fabric, text: &str, fits: &dyn Fn(NodeId) -> bool) -> Result<NodeId, Failure> {
    let wanted = text.trim();
    let described: Vec<NodeId> =
        fabric.nodes().filter(|(_, node)| node.description.trim() == wanted).map(|(id, _)| id).collect();
    if let [only] = described[..] {
        return Ok(only);
    }
    if let Some(node) = guid_of(wanted).or_else(|| guid_behind(wanted)).and_then(|guid| fabric.by_guid(guid)) {
        return Ok(node);
    }
    let matching = matching(fabric, wanted);
    match matching[..] {
        [] => {}
        [only] => return Ok(only),
        _ => {
            let names: Vec<_> = matching.iter().take(3).map(|&id| fabric.describe_node(id)).collect();
            let (count, names) = (matching.len(), names.join(", "));
            return Err(Failure::input(anyhow!("{count} nodes match `{wanted}`, such as {names}: one is needed here")));
        }
    }
    Err(Failure::input(match described[..] {
        [] => anyhow!("no node has the name `{wanted}`: give a description or a GUID{}", alike(fabric, wanted, fits)),
        _ => {
            let guids: Vec<_> = described.iter().take(3).map(|&id| fabric.node(id).guid.to_string()).collect();
            anyhow!("{} nodes have the name `{wanted}`: give a GUID, such as {}", described.len(), guids.join(", "))
        }
    }))
}

/// The nodes that `text` names, one at least: one, or all that a pattern matches. A name that no node has is answered
/// by names of nodes that fit.
pub(super) fn find_nodes(fabric: &Fabric, text: &str, fits: &dyn Fn(NodeId) -> bool) -> Result<Vec<NodeId>, Failure> {
    let matching = matching(fabric, text.trim());
    if matching.is_empty() { Ok(vec![find_fit(fabric, text, fits)?]) } else { Ok(matching) }
}

/// The nodes that a pattern matches; none if the text is no pattern.
fn matching(fabric: &Fabric, pattern: &str) -> Vec<NodeId> {
    let described = |(id, node): (NodeId, &Node)| matches(pattern, node.description.trim()).then_some(id);
    if pattern.contains('*') { fabric.nodes().filter_map(described).collect() } else { Vec::new() }
}

/// The GUID that `text` denotes: bare, with `0x`, or in `ibnetdiscover`'s form (`S-…`, `H-…`, `R-…`).
pub(super) fn guid_of(text: &str) -> Option<Guid> {
    let digits = ["S-", "H-", "R-"].iter().find_map(|prefix| text.strip_prefix(prefix));
    digits.unwrap_or(text).parse().ok()
}

/// Whether a description matches a pattern, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let (first, rest) = pattern.split_once('*').unwrap_or((pattern, ""));
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or("");
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

/// Names are taken for misspelt from this likeness on, of 1 for the same.
const ALIKE: f64 = 0.8;

/// A few descriptions that contain the text, else the one that is spelt most like it, of nodes that fit.
fn alike(fabric: &Fabric, wanted: &str, fits: &dyn Fn(NodeId) -> bool) -> String {
    let lower = wanted.to_lowercase();
    let all = || fabric.nodes().filter(|&(id, _)| fits(id)).map(|(_, node)| node.description.trim());
    let names: Vec<_> = all().filter(|name| name.to_lowercase().contains(&lower)).take(3).collect();
    if !names.is_empty() {
        return format!("; there are {}", names.join(", "));
    }
    let rated = all().map(|name| (strsim::jaro_winkler(&lower, &name.to_lowercase()), name));
    // Of names that are as much alike the first one counts.
    let best = rated.reduce(|best, other| if other.0 > best.0 { other } else { best });
    best.filter(|&(likeness, _)| likeness >= ALIKE)
        .map_or_else(String::new, |(_, name)| format!("; did you mean {name}?"))
}

/// The port that `NODE:PORT` names, or `NODE[PORT]` as reports write it; a description may contain colons.
pub(super) fn find_port(fabric: &Fabric, text: &str) -> Result<PortId, Failure> {
    let expected = || Failure::input(anyhow!("`{text}` names no port: expected NODE:PORT, such as `leaf-1:3`"));
    let (node, num) = split_port(text).ok_or_else(expected)?;
    let num: u8 = num.parse().map_err(|_| expected())?;
    let node = find_node(fabric, node)?;
    fabric.port_at(node, PortNum(num)).filter(|_| num > 0).ok_or_else(|| {
        let ports = fabric.node(node).num_ports;
        Failure::input(anyhow!("{} has ports 1 to {ports}: there is no port {num}", fabric.describe_node(node)))
    })
}

/// The ports that `NODE:PORT` names, one at least: one, or with `*` for the number all of the node that have a cable.
pub(super) fn find_ports(fabric: &Fabric, text: &str) -> Result<Vec<PortId>, Failure> {
    let Some((node, "*")) = split_port(text) else { return Ok(vec![find_port(fabric, text)?]) };
    let node = find_node(fabric, node)?;
    let cabled: Vec<PortId> = fabric.ports_of(node).filter(|&port| fabric.peer(port).is_some()).collect();
    match cabled.is_empty() {
        true => Err(Failure::input(anyhow!("{} has no cable", fabric.describe_node(node)))),
        false => Ok(cabled),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_whole_descriptions() {
        for (pattern, text, expected) in [
            ("spine-*", "spine-12", true),
            ("*:MQM8700/U1", "MF0;leaf:MQM8700/U1", true),
            ("a*b*c", "a-b-b-c", true),
            ("*", "", true),
            ("spine-*", "leaf-1", false),
            ("a*a", "a", false),
            ("a*b*c", "a-c-b", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
