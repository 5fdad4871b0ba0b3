//! A wave in parts, such that no way that is there is taken away again while OpenSM writes.
//!
//! On entry: the tables in force, and those of a proved wave. On return: the part of the wave that may be written next
//! in any order, or none where that is all of it. A mixture of a part with what is in force is a mixture of the wave,
//! so it is proved. But where rows lead into what has died, mixtures may lose packets, and OpenSM writes in an order of
//! its own: a pair that the death has cut off could have a way as soon as some switches are written, and lose it when
//! another is. So a part holds the entries that lead nowhere, which no way crosses, and those whose new way is there to
//! its end.

use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::{Lid, PortNum};
use reconfig::tables::Lft;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The part of a wave from the first tables to the second that may be written now; by node, as they are. `turns_back`
/// tells whether the wave rests on it that switches discard what turns back: packets may then be lost between two
/// switches that are both alive.
pub fn part(fabric: &Fabric, [held, wanted]: [&[Arc<Lft>]; 2], turns_back: bool) -> Option<Vec<Arc<Lft>>> {
    let mut changed: BTreeMap<Lid, Vec<NodeId>> = BTreeMap::new();
    for switch in fabric.switches() {
        for lid in wanted[switch.index()].differing(&held[switch.index()]).filter(|&lid| is_of_host(fabric, lid)) {
            changed.entry(lid).or_default().push(switch);
        }
    }
    let mut part: Option<Vec<Arc<Lft>>> = None;
    for (lid, switches) in changed {
        let leads_nowhere = |&switch: &NodeId| next(fabric, held, switch, lid).is_none();
        let is_safe = |switch: &NodeId| leads_nowhere(switch) || is_whole(fabric, [held, wanted], *switch, lid);
        // Where all lead on, and nothing goes round, everything arrives.
        if switches.iter().all(leads_nowhere) || !turns_back && !fabric.switches().any(|at| leads_nowhere(&at)) {
            continue;
        }
        for switch in switches.into_iter().filter(|switch| !is_safe(switch)) {
            let tables = part.get_or_insert_with(|| wanted.to_vec());
            let entry = held[switch.index()].get(lid).unwrap_or(PortNum::NO_ROUTE);
            Arc::make_mut(&mut tables[switch.index()]).set(lid, entry);
        }
    }
    part
}

fn is_of_host(fabric: &Fabric, lid: Lid) -> bool {
    fabric.lid_owner(lid).is_some_and(|owner| !fabric.node(fabric.port(owner).node).is_switch())
}

/// The node that a switch leads packets to; none where it leads them nowhere, or into what has died.
fn next(fabric: &Fabric, lfts: &[Arc<Lft>], switch: NodeId, lid: Lid) -> Option<NodeId> {
    let port = lfts[switch.index()].get(lid)?;
    fabric.neighbour(fabric.port_at(switch, port)?)
}

/// Whether the new way of a switch is in force already from its next switch on.
fn is_whole(fabric: &Fabric, [held, wanted]: [&[Arc<Lft>]; 2], switch: NodeId, lid: Lid) -> bool {
    let mut at = next(fabric, wanted, switch, lid);
    // A way of more switches than there are is a ring, and no wave has one.
    for _ in 0..fabric.node_count() {
        let Some(switch) = at.filter(|&node| fabric.node(node).is_switch()) else { return true };
        if wanted[switch.index()].get(lid) != held[switch.index()].get(lid) {
            return false;
        }
        at = next(fabric, wanted, switch, lid);
    }
    true
}
