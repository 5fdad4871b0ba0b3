//! The installed state of a subnet: its tables, and whether it carries traffic.

use super::error::SmError;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum, Vl};
use crate::plan::{Lanes, Policy, sl_to_vl_pairs, writes_to};
use crate::subnet::{Ask, Manager, REQUESTS_AT_A_TIME, RequestTarget, SubnetError};
use crate::tables::{LFT_BLOCK, NodeSlToVl, PortState, SlToVl, SubnetTables, Write};
use crate::transport::Transport;
use crate::wire::{AttributeId, LinearForwardingTable, SlToVlMappingTable, SlToVlModifier};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Devices handled between two chances to serve incoming requests.
const DEVICES_AT_A_TIME: usize = 128;

/// The tables of all devices, as reported.
#[derive(Clone, Debug)]
pub(super) struct InstalledTables {
    /// The tables; one that a device did not report is empty.
    pub(super) tables: SubnetTables,
    /// The half in use: that of the LID under which end ports know the subnet manager.
    pub(super) half: Half,
    /// Devices that did not report a table.
    pub(super) silent: Vec<String>,
    /// These devices, as nodes of the fabric.
    pub(super) unread: Vec<NodeId>,
}

impl InstalledTables {
    /// End ports that discard service levels, as far as devices report.
    pub(super) fn closed_ends(&self, fabric: &Fabric) -> Vec<PortId> {
        let is_closed = |port: &PortId| {
            let at = fabric.port(*port);
            let table = self.tables.sl_to_vl[at.node.index()].get(PortNum::ZERO, at.num);
            !self.unread.contains(&at.node) && table.discards()
        };
        fabric.end_ports().filter(is_closed).collect()
    }

    /// Gives devices without a link that is up the SL-to-VL tables of the steady state. Such a device is the manager's
    /// own host or switch after a power cycle, which cannot be left for later. No packet meets these tables before the
    /// links are up. Returns the writes.
    pub(super) fn steady_where_idle(&mut self, fabric: &Fabric, states: &[PortState], policy: &Policy) -> Vec<Write> {
        let steady = Lanes::steady_table(fabric, policy);
        let wanted = Arc::new(NodeSlToVl::Uniform(steady));
        let is_up = |port: PortId| {
            fabric.peer(port).is_some() && matches!(states[port.index()], PortState::Armed | PortState::Active)
        };
        let InstalledTables { tables, unread, .. } = self;
        let is_idle = |node: NodeId| {
            let differs = *tables.sl_to_vl[node.index()] != *wanted && !unread.contains(&node);
            differs && !fabric.ports_of(node).any(is_up)
        };
        let present = fabric.nodes().filter(|(_, node)| node.present).map(|(id, _)| id);
        let idle: BTreeSet<NodeId> = present.filter(|&node| is_idle(node)).collect();
        idle.iter().for_each(|node| tables.sl_to_vl[node.index()] = wanted.clone());
        let mut writes = writes_to(fabric, &idle, &tables.lfts, steady);
        writes.retain(|write| matches!(write, Write::SlToVl { .. }));
        writes
    }
}

/// Whether data flows or may flow: some cable between two devices is ACTIVE at both ends.
pub(super) fn carries_traffic(fabric: &Fabric, states: &[PortState]) -> bool {
    let active = |port: PortId| states[port.index()] == PortState::Active;
    fabric.links().any(|(a, b)| active(a) && active(b))
}

/// Reads every forwarding block up to the LID `top`, and every SL-to-VL table that a packet may use.
pub(super) async fn read<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    states: &[PortState],
    sm: PortId,
    top: Lid,
) -> Result<InstalledTables, SmError> {
    let half = half_in_use(manager, fabric, sm);
    let mut tables = SubnetTables::new(fabric, SlToVl::from_fn(|_| Vl::MANAGEMENT), half);
    tables.port_states = states.to_vec();
    let questions = questions(manager, fabric, &mut tables, top).await?;
    let mut unread = BTreeSet::new();
    for part in questions.chunks(REQUESTS_AT_A_TIME) {
        let part: Vec<TableQuestion> =
            part.iter().copied().filter(|question| !unread.contains(&question.node())).collect();
        let answers = manager.ask(part.iter().map(|question| question.ask(fabric)).collect()).await?;
        for (question, answer) in part.iter().zip(answers) {
            match answer {
                Ok(data) => question.note(fabric, &mut tables, &data),
                Err(SubnetError::Refused { .. } | SubnetError::Silent { .. } | SubnetError::NoPath { .. }) => {
                    unread.insert(question.node());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    let silent = unread.iter().map(|&node| fabric.describe_node(node)).collect();
    let unread = unread.into_iter().collect();
    for part in present(fabric).chunks(DEVICES_AT_A_TIME) {
        manager.serve_waiting().await?;
        for &node in part {
            simplify(&mut tables.sl_to_vl[node.index()], &sl_to_vl_pairs(fabric, node));
        }
    }
    Ok(InstalledTables { tables, half, silent, unread })
}

/// One table of one device.
#[derive(Clone, Copy, Debug)]
enum TableQuestion {
    Block(NodeId, u16),
    Lanes(NodeId, PortNum, PortNum),
}

impl TableQuestion {
    fn node(self) -> NodeId {
        match self {
            TableQuestion::Block(node, _) | TableQuestion::Lanes(node, ..) => node,
        }
    }

    fn ask(self, fabric: &Fabric) -> Ask {
        match self {
            TableQuestion::Block(switch, block) => {
                Ask::get(RequestTarget::Node(switch), AttributeId::LinearForwardingTable, block.into())
            }
            TableQuestion::Lanes(node, input, output) => {
                let (place, modifier) = match (fabric.node(node).is_switch(), fabric.port_at(node, output)) {
                    (false, Some(port)) => (RequestTarget::Port(port), 0),
                    _ => (RequestTarget::Node(node), SlToVlModifier::Pair { input, output }.encode()),
                };
                Ask::get(place, AttributeId::SlToVlMappingTable, modifier)
            }
        }
    }

    fn note(self, fabric: &Fabric, tables: &mut SubnetTables, data: &[u8; 64]) {
        match self {
            TableQuestion::Block(switch, block) => {
                let entries = LinearForwardingTable::decode(data).0;
                Arc::make_mut(&mut tables.lfts[switch.index()]).set_block(block, &entries);
            }
            TableQuestion::Lanes(node, input, output) => {
                let table = SlToVl(SlToVlMappingTable::decode(data).0);
                let num_ports = fabric.node(node).num_ports;
                Arc::make_mut(&mut tables.sl_to_vl[node.index()]).set(num_ports, input, output, table);
            }
        }
    }
}

fn present(fabric: &Fabric) -> Vec<NodeId> {
    fabric.nodes().filter(|(_, node)| node.present).map(|(id, _)| id).collect()
}

/// The questions, devices in turn, so that every batch keeps as many devices busy as possible; tables that are known
/// without asking are filled in at once. The work is done in batches: a thousand switches have a million pairs of
/// ports, and incoming requests must not wait for all of them.
async fn questions<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    tables: &mut SubnetTables,
    top: Lid,
) -> Result<Vec<TableQuestion>, SubnetError> {
    let blocks = top.index() / LFT_BLOCK + 1;
    let mut asked = Vec::new();
    for block in 0..blocks {
        let holds = |switch: &NodeId| block < usize::from(fabric.node(*switch).lft_capacity).div_ceil(LFT_BLOCK);
        asked.extend(fabric.switches().filter(holds).map(|switch| TableQuestion::Block(switch, block as u16)));
    }
    let mut lanes: Vec<(NodeId, Vec<(PortNum, PortNum)>)> = Vec::new();
    for part in present(fabric).chunks(DEVICES_AT_A_TIME) {
        manager.serve_waiting().await?;
        for &node in part {
            let (known, unknown): (Vec<_>, Vec<_>) =
                sl_to_vl_pairs(fabric, node).into_iter().partition(|&(_, output)| manager.lacks_sl_to_vl(node, output));
            for (input, output) in known {
                let num_ports = fabric.node(node).num_ports;
                Arc::make_mut(&mut tables.sl_to_vl[node.index()]).set(num_ports, input, output, SlToVl::ONE);
            }
            lanes.push((node, unknown));
        }
    }
    for rank in 0.. {
        // Devices without further pairs are dropped from the round.
        lanes.retain(|(_, pairs)| pairs.len() > rank);
        if lanes.is_empty() {
            break;
        }
        asked.extend(lanes.iter().map(|(node, pairs)| {
            let (input, output) = pairs[rank];
            TableQuestion::Lanes(*node, input, output)
        }));
        if rank % DEVICES_AT_A_TIME == 0 {
            manager.serve_waiting().await?;
        }
    }
    Ok(asked)
}

/// Merges the tables of all port pairs that a packet may use into one, if they are the same.
fn simplify(tables: &mut Arc<NodeSlToVl>, pairs: &[(PortNum, PortNum)]) {
    let mut all = pairs.iter().map(|&(input, output)| *tables.get(input, output));
    if let Some(first) = all.next()
        && all.all(|table| table == first)
    {
        *tables = Arc::new(NodeSlToVl::Uniform(first));
    }
}

/// The half of the LID under which most end ports know the subnet manager; the lower if no port does. MasterSMSL would
/// show the half too, but not every device keeps it (ibsim's do not).
///
/// The LID is that of the earlier manager's port, which may be gone: then the low bits of the LID show the half.
fn half_in_use<T: Transport>(manager: &Manager<T>, fabric: &Fabric, sm: PortId) -> Half {
    let lids = fabric.port(sm).lmc.lids();
    let manager_lid = |port: PortId| manager.port_info(port).map(|info| info.master_sm_lid);
    let looks_up = |lid: Lid| match fabric.lid_owner(lid) {
        Some(_) => fabric.half_of(lid) == Some(Half::Upper),
        None => lid.0 % lids >= lids.div_ceil(2),
    };
    let (up, all) = fabric
        .end_ports()
        .filter_map(manager_lid)
        .fold((0, 0), |(up, all), lid| (up + usize::from(looks_up(lid)), all + 1));
    if up * 2 > all { Half::Upper } else { Half::Lower }
}
