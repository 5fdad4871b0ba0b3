//! What a manager that takes over a subnet leaves for later: what came, or was switched on again, while no manager ran.
//!
//! The tables in force know nothing of it. So they are judged, adopted or mended without it, and it is brought in
//! afterwards like anything that comes. What ports hold does not always show which ones came: [`trials`] lists the
//! readings. Deliberately omitted: bringing them in (`admission`).

use super::error::SmError;
use super::inherited::is_active;
use super::installed;
use crate::change::within_reach;
use crate::fabric::{Fabric, PortId};
use crate::ids::{Lmc, PortNum};
use crate::subnet::{Discovered, Manager};
use crate::tables::{PortState, Write};
use crate::transport::Transport;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The subnet without what is left for later (`None`: nothing is), by each reading, and whether that is a trial: the
/// subnet is taken over so only if the tables in force lead to all that remains. The last one is no trial. What may
/// still be a newcomer is left for later only if nothing can be adopted otherwise.
pub(super) fn trials(found: &Discovered, whole: &Fabric) -> Vec<(Option<Arc<Fabric>>, bool)> {
    let odd = odd_ports(found, whole);
    let without = |which| without_newcomers(found, whole, &odd, which).map(Arc::new);
    let [likely, possible, shut] = [LeftForLater::Likely, LeftForLater::Possible, LeftForLater::Shut].map(without);
    let mut tried = vec![likely, possible.clone(), shut];
    tried.dedup();
    // The last one is judged in full.
    if tried.last() == Some(&possible) {
        tried.pop();
    }
    let mut trials: Vec<_> = tried.into_iter().map(|rest| (rest, true)).collect();
    trials.push((possible, false));
    trials
}

/// Which ports without data, of those that own a LID, are taken for newcomers: they came, or were switched on again,
/// while no manager ran.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftForLater {
    /// Those that hold no LID, or are not ARMED and hold another LID than they should.
    Likely,
    /// Those that hold no LID or are not ARMED: a right LID may be that of another subnet.
    Possible,
    /// All: an earlier manager may have ARMED them, and not led anything to them yet.
    Shut,
}

impl LeftForLater {
    /// Whether they include a port.
    pub(super) fn include(self, found: &Discovered, fabric: &Fabric, owner: PortId) -> bool {
        let states = || ports_of_owner(&found.fabric, owner).into_iter().map(|port| found.port_states[port.index()]);
        let is_armed = states().any(|state| state == PortState::Armed);
        let (held, wanted) = (found.fabric.port(owner), fabric.port(owner));
        let is_other = (held.lid, held.lmc) != (wanted.lid, wanted.lmc);
        let is_due = match self {
            LeftForLater::Likely => held.lid.is_none() || !is_armed && is_other,
            LeftForLater::Possible => held.lid.is_none() || !is_armed,
            LeftForLater::Shut => true,
        };
        is_due && !states().any(|state| state == PortState::Active)
    }
}

/// The fabric without newcomers, without `odd` ports, and without devices that only these join to the rest. The tables
/// in force know nothing of them, and are adopted or mended for the rest as they stand; newcomers are brought in
/// afterwards, like any others. `None` if there are none, or if nothing carries traffic. The manager's own device and
/// its switch are never left for later.
fn without_newcomers(
    found: &Discovered,
    fabric: &Fabric,
    odd: &BTreeSet<PortId>,
    which: LeftForLater,
) -> Option<Fabric> {
    if !installed::carries_traffic(&found.fabric, &found.port_states) {
        return None;
    }
    let own = [Some(fabric.port(found.sm_port).node), fabric.neighbour(found.sm_port)];
    let later = fabric.lid_ports().filter(|&port| odd.contains(&port) || which.include(found, fabric, port));
    let later = later.filter(|&port| !own.contains(&Some(fabric.port(port).node)));
    let cables: Vec<PortId> = later.flat_map(|port| ports_of_owner(fabric, port)).collect();
    if cables.is_empty() {
        return None;
    }
    Some(within_reach(&fabric.without_links(&cables), found.sm_port))
}

/// End ports that carry data under a LID or an LMC that they should not have, as long as they are fewer than half:
/// another port holds the same LID, or somebody wrote it there.
pub(super) fn odd_ports(found: &Discovered, fabric: &Fabric) -> BTreeSet<PortId> {
    let addresses = |fabric: &Fabric, port: PortId| (fabric.port(port).lid, fabric.port(port).lmc);
    let carrying = || found.fabric.end_ports().filter(|&port| is_active(found, port));
    let is_odd = |&port: &PortId| addresses(&found.fabric, port) != addresses(fabric, port);
    let odd: BTreeSet<PortId> = carrying().filter(is_odd).collect();
    if 2 * odd.len() < carrying().count() { odd } else { BTreeSet::new() }
}

/// Owners of LIDs that carry data and may keep these LIDs; port 0 of a switch carries data if another port of the
/// switch does.
pub(super) fn keeping_their_lids(found: &Discovered, lmc: Lmc) -> BTreeSet<PortId> {
    let fabric = &found.fabric;
    let flows = |&port: &PortId| ports_of_owner(fabric, port).iter().any(|&port| is_active(found, port));
    let suits = |&port: &PortId| fabric.port(port).lmc == lmc || fabric.node(fabric.port(port).node).is_switch();
    fabric.lid_ports().filter(flows).filter(suits).collect()
}

/// Takes down links whose near end is ACTIVE or ARMED and whose far end is left for later. The far end carries data
/// under another LID than it should have, or its device restarted without its neighbour's notice. No token of a barrier
/// would ever come from there, and packets would stand for ever before a port that stays ARMED. The links come back in
/// INITIALIZE, like those of any newcomer (E.1).
pub(super) async fn part_from<T: Transport>(
    manager: &mut Manager<T>,
    found: &Discovered,
    fabric: &Fabric,
) -> Result<(), SmError> {
    let leads_there = |&port: &PortId| {
        let is_used = fabric.node(fabric.port(port).node).present;
        let is_up = matches!(found.port_states[port.index()], PortState::Armed | PortState::Active);
        is_used && fabric.peer(port).is_none() && found.fabric.peer(port).is_some() && is_up
    };
    let near: Vec<PortId> = found.fabric.ports().map(|(id, _)| id).filter(leads_there).collect();
    if let Some(&first) = near.first() {
        let port = found.fabric.peer(first).map_or_else(String::new, |port| found.fabric.describe_port(port));
        tracing::warn!(
            ports = near.len(),
            port,
            "links to ports that are new or have other LIDs than they should are up: they are taken down, and these ports are \
             brought in later"
        );
        manager.apply_each(fabric, &Write::links_down(&near)).await?;
    }
    Ok(())
}

/// Logs what is left for later.
pub(super) fn log(fabric: &Fabric, rest: &Fabric) {
    let gone = fabric.nodes().filter(|&(id, node)| node.present && !rest.node(id).present);
    let gone: Vec<String> = gone.map(|(id, _)| fabric.describe_node(id)).collect();
    let first = gone.first().map_or("a port of a device", String::as_str);
    tracing::warn!(
        devices = gone.len(),
        first,
        "added while no manager ran, or with other LIDs than it should have: brought in once the rest is up"
    );
}

/// The ports that join the owner of a LID with others: all external ports of a switch; of another node, the port
/// itself.
fn ports_of_owner(fabric: &Fabric, owner: PortId) -> Vec<PortId> {
    match fabric.port(owner).num {
        PortNum::ZERO => fabric.ports_of(fabric.port(owner).node).filter(|&port| port != owner).collect(),
        _ => vec![owner],
    }
}
