//! What goes and comes between two states of one fabric, as a clause for people.

use super::super::summary::counted;
use super::super::{Fabric, NodeId, PortId};

/// Elements that a clause names; it counts the others, so that a loss of a thousand nodes stays one line.
const NAMED: usize = 3;

/// What goes and what comes from `before` to `after`, which have the same indices: `spine-2 and its 4 cables go; cable
/// leaf-1[5] – spine-1[3] comes`. Switches come first, then other nodes, each by GUID. None where nothing differs.
pub fn moved(before: &Fabric, after: &Fabric) -> Option<String> {
    let gone = clause(before, after, ["goes", "go"]);
    let come = clause(after, before, ["comes", "come"]);
    let clauses: Vec<String> = gone.into_iter().chain(come).collect();
    (!clauses.is_empty()).then(|| clauses.join("; "))
}

/// What `whole` has and `part` lacks; none if it lacks nothing.
fn clause(whole: &Fabric, part: &Fabric, [of_one, of_several]: [&str; 2]) -> Option<String> {
    let is_missing = |id: NodeId| whole.node(id).present && !part.node(id).present;
    let mut nodes: Vec<NodeId> = whole.nodes().map(|(id, _)| id).filter(|&id| is_missing(id)).collect();
    nodes.sort_by_key(|&id| (!whole.node(id).is_switch(), whole.node(id).guid));
    let name = |port: PortId| whole.port_name(port);
    let missing = whole.links().filter(|&(a, b)| part.peer(a) != Some(b));
    let missing = missing.map(|(a, b)| if name(b) < name(a) { (b, a) } else { (a, b) });
    let (own, mut others): (Vec<_>, Vec<_>) =
        missing.partition(|&(a, b)| [a, b].iter().any(|&end| is_missing(whole.port(end).node)));
    others.sort_by_key(|&(a, _)| name(a));
    let items = items(whole, &nodes, own.len(), &others);
    let verb = if nodes.len() + own.len() + others.len() == 1 { of_one } else { of_several };
    let (last, first) = items.split_last()?;
    Some(match first {
        [] => format!("{last} {verb}"),
        _ => format!("{} and {last} {verb}", first.join(", ")),
    })
}

/// The parts of a clause: nodes, how many cables go with them, and other cables.
fn items(fabric: &Fabric, nodes: &[NodeId], own: usize, others: &[(PortId, PortId)]) -> Vec<String> {
    let named = nodes.len().min(NAMED);
    let mut items: Vec<String> = nodes[..named].iter().map(|&id| plain(&fabric.describe_node(id))).collect();
    if nodes.len() > named {
        items.push(counted(nodes.len() - named, "more node"));
    }
    match (nodes, own) {
        (_, 0) => {}
        ([_], 1) => items.push("its cable".to_string()),
        ([_], _) => items.push(format!("its {own} cables")),
        (_, _) => items.push(format!("their {}", counted(own, "cable"))),
    }
    let room = others.len().min(NAMED - named);
    let cable = |&(a, b): &(PortId, PortId)| {
        format!("cable {} – {}", plain(&fabric.describe_port(a)), plain(&fabric.describe_port(b)))
    };
    items.extend(others[..room].iter().map(cable));
    if others.len() > room {
        items.push(counted(others.len() - room, if room == 0 { "other cable" } else { "more cable" }));
    }
    items
}

/// A name on one line: a device may describe itself by anything.
fn plain(name: &str) -> String {
    name.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};

    #[test]
    fn what_goes_and_comes_is_named_and_the_rest_is_counted() {
        let whole = generate(&"fat-tree:4,2".parse().expect("a topology"), &Options::default()).expect("a fabric");
        // Four leaves, four spines, hosts.
        let nodes: Vec<NodeId> = whole.nodes().map(|(id, _)| id).collect();
        let links: Vec<PortId> = whole.links().map(|(a, _)| a).collect();
        for (part, expected) in [
            (whole.without_nodes(&nodes[..1]), "leaf-1 and its 8 cables"),
            (whole.without_nodes(&nodes[8..9]), "host-1 HCA-1 and its cable"),
            (whole.without_nodes(&nodes[8..10]), "host-1 HCA-1, host-2 HCA-1 and their 2 cables"),
            (whole.without_nodes(&nodes[..9]), "leaf-1, leaf-2, leaf-3, 6 more nodes and their 32 cables"),
            (
                whole.without_links(&links[..2]),
                "cable leaf-1[1] – host-1 HCA-1[1] and cable leaf-1[2] – host-2 HCA-1[1]",
            ),
            (
                whole.without_nodes(&nodes[..1]).without_links(&links[20..21]),
                "leaf-1, its 8 cables and cable leaf-3[5] – spine-1[3]",
            ),
            (
                whole.without_nodes(&nodes[8..11]).without_links(&links[20..21]),
                "host-1 HCA-1, host-2 HCA-1, host-3 HCA-1, their 3 cables and 1 other cable",
            ),
        ] {
            let said = [moved(&whole, &part), moved(&part, &whole)].map(Option::unwrap_or_default);
            assert_eq!(said, [format!("{expected} go"), format!("{expected} come")]);
        }
        let all = moved(&whole, &whole.without_links(&links)).unwrap_or_default();
        assert!(all.ends_with(" – host-3 HCA-1[1] and 29 more cables go"), "{all}");
        let [one, other] = [0, 1].map(|rank| whole.without_links(&links[rank..=rank]));
        let said = "cable leaf-1[2] – host-2 HCA-1[1] goes; cable leaf-1[1] – host-1 HCA-1[1] comes";
        assert_eq!((moved(&one, &other).as_deref(), moved(&whole, &whole)), (Some(said), None));
    }
}
