//! Known devices that come back with less than the subnet needs of them: replaced under the same GUID, or reset by
//! firmware.
//!
//! What is known of a device is not read again once it carries data. A sweep reads capabilities all the same, so one
//! that comes back is judged at no cost, as a newcomer is (G.7): before any port of it is ARMED. One that falls short
//! counts as not found. Deliberately omitted: the manager's own device and its switch, without which there is no
//! subnet.

use super::Running;
use crate::change;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Lid;
use crate::plan::Lanes;
use crate::subnet::Discovered;
use crate::tables::PortState;
use std::borrow::Cow;

/// What a known device came back without, in the indices of the sweep that found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shortfall {
    /// A port has fewer data VLs than are in use.
    DataVls {
        /// The port.
        port: PortId,
        /// Those in use.
        in_use: usize,
    },
    /// A switch has no forwarding entries for the LIDs in use.
    Entries {
        /// The switch.
        switch: NodeId,
        /// The highest LID in use.
        top: Lid,
    },
}

/// Every shortfall of known devices that a sweep found, where they let no data through yet: what carries data was
/// judged before it did.
pub(super) fn shortfalls(running: &Running, discovered: &Discovered) -> Vec<Shortfall> {
    let found = &discovered.fabric;
    let in_use = Lanes::of_fabric(&running.routed, None).count();
    let top = running.known.max_lid().unwrap_or_default();
    let is_known = |node: NodeId| running.known.by_guid(found.node(node).guid).is_some();
    let is_out = |&switch: &NodeId| {
        let mut cabled = found.ports_of(switch).filter(|&port| found.peer(port).is_some());
        let is_short = found.node(switch).lft_capacity <= top.0 && is_known(switch) && !is_own(discovered, switch);
        is_short && cabled.all(|port| is_shut(discovered, port))
    };
    let switches = found.switches().filter(is_out).map(|switch| Shortfall::Entries { switch, top });
    let narrow = narrow_ports(discovered, in_use).filter(|&port| is_known(found.port(port).node));
    switches.chain(narrow.map(|port| Shortfall::DataVls { port, in_use })).collect()
}

/// Cabled ports that let no data through yet and have fewer data VLs than are in use, but for those of the manager's
/// own device and its switch.
pub fn narrow_ports(discovered: &Discovered, in_use: usize) -> impl Iterator<Item = PortId> + '_ {
    let found = &discovered.fabric;
    let narrow = found.ports().filter(move |(_, port)| port.peer.is_some() && usize::from(port.data_vls) < in_use);
    let shut = narrow.filter(|&(id, port)| is_shut(discovered, id) && !is_own(discovered, port.node));
    shut.map(|(id, _)| id)
}

fn is_shut(discovered: &Discovered, port: PortId) -> bool {
    !matches!(discovered.port_states[port.index()], PortState::Armed | PortState::Active)
}

fn is_own(Discovered { fabric, sm_port, .. }: &Discovered, node: NodeId) -> bool {
    fabric.port(*sm_port).node == node || fabric.neighbour(*sm_port) == Some(node)
}

/// What a sweep found, in its indices, without what falls short and what nothing else leads to.
pub(super) fn without<'a>(discovered: &'a Discovered, shortfalls: &[Shortfall]) -> Cow<'a, Fabric> {
    let Discovered { fabric: found, sm_port, .. } = discovered;
    if shortfalls.is_empty() {
        return Cow::Borrowed(found);
    }
    let cables = |shortfall: &Shortfall| match *shortfall {
        Shortfall::DataVls { port, .. } => vec![port],
        Shortfall::Entries { switch, .. } => found.ports_of(switch).collect(),
    };
    let cables: Vec<PortId> = shortfalls.iter().flat_map(cables).collect();
    Cow::Owned(change::within_reach(&found.without_links(&cables), *sm_port))
}
