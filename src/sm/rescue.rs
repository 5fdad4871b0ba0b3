//! A subnet whose manager died and left hosts unable to send: finds service levels that devices discard, and opens
//! them.
//!
//! A manager that died during a change may leave a fence: end ports that discard what their hosts send on the service
//! levels of a half (P3.8). The next manager of this program opens it (section E of docs/PROTOCOL.md). Other managers
//! leave SL-to-VL tables as they are, unless configured otherwise. This module needs no manager and is not one: it
//! works from any port, and writes only the tables in which it found VL 15. Deliberately omitted: a proof.

use super::error::SmError;
use super::installed;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Lid, PortNum, Sl, Vl};
use crate::plan::sl_to_vl_pairs;
use crate::subnet::{Ask, AskResult, Manager, RequestTarget, SubnetManager};
use crate::tables::SlToVl;
use crate::transport::AnyTransport;
use crate::wire::capability::IS_SM;
use crate::wire::{AttributeId, SlToVlMappingTable, SlToVlModifier, SmInfo, SmState};
use futures_util::future::LocalBoxFuture;

/// A table that discards service levels of data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClosedTable {
    /// The place of the table.
    pub place: String,
    /// The service levels that it discards.
    pub levels: Vec<Sl>,
    node: NodeId,
    pair: (PortNum, PortNum),
    open: SlToVl,
}

/// The closed tables of a subnet, and its master.
#[derive(Clone, Debug)]
pub struct ClosedSubnet {
    /// The subnet, in the indices of the sweep.
    pub fabric: Fabric,
    /// The port of a manager that says it is master, if one does.
    pub master: Option<String>,
    /// Devices whose tables could not be read.
    pub silent: Vec<String>,
    /// The table that most pairs of ports have; closed levels are opened to its lanes.
    pub usual: Option<SlToVl>,
    /// Every table that discards.
    pub closed: Vec<ClosedTable>,
}

/// Sweeps, and reads every SL-to-VL table. Writes nothing.
///
/// # Errors
/// The subnet cannot be swept.
pub fn find_closed(manager: &mut Manager<AnyTransport>) -> LocalBoxFuture<'_, Result<ClosedSubnet, SmError>> {
    Box::pin(look(manager))
}

async fn look(manager: &mut Manager<AnyTransport>) -> Result<ClosedSubnet, SmError> {
    // Another manager may be at work, and port-change bits are left for it.
    manager.only_look();
    let found = manager.discover().await?;
    manager.set_topology(&found.fabric, found.sm_port);
    let fabric = &found.fabric;
    let master = master(manager, fabric).await?;
    // The first forwarding block of each switch is read too, and not looked at.
    let installed = installed::read(manager, fabric, &found.port_states, found.sm_port, Lid(0)).await?;
    let silent = installed.silent;
    let tables: Vec<(NodeId, (PortNum, PortNum), SlToVl)> = fabric
        .nodes()
        .filter(|&(id, node)| node.present && !silent.contains(&fabric.describe_node(id)))
        .flat_map(|(node, _)| sl_to_vl_pairs(fabric, node).into_iter().map(move |pair| (node, pair)))
        .map(|(node, pair)| (node, pair, *installed.tables.sl_to_vl[node.index()].get(pair.0, pair.1)))
        .collect();
    let whole: Vec<SlToVl> = tables.iter().map(|&(.., table)| table).filter(|table| !table.discards()).collect();
    let usual = most_frequent(&whole);
    let closed = tables.iter().filter(|(.., table)| table.discards()).map(|&(node, pair, table)| {
        let open = SlToVl::from_fn(|sl| match (table.get(sl), usual) {
            (Vl::MANAGEMENT, Some(usual)) => usual.get(sl),
            (lane, _) => lane,
        });
        let place = match fabric.node(node).is_switch() {
            true => format!("{}, port {} to port {}", fabric.describe_node(node), pair.0, pair.1),
            false => fabric.port_at(node, pair.1).map_or_else(String::new, |port| fabric.describe_port(port)),
        };
        ClosedTable { place, levels: discarded(&table), node, pair, open }
    });
    let closed = closed.collect();
    Ok(ClosedSubnet { master, silent, usual, closed, fabric: found.fabric })
}

/// Opens what [`find_closed`] found with this manager. Returns the places that did not take their table, and why.
///
/// # Errors
/// The port failed.
pub fn open_closed<'a>(
    manager: &'a mut Manager<AnyTransport>,
    found: &'a ClosedSubnet,
) -> LocalBoxFuture<'a, Result<Vec<String>, SmError>> {
    Box::pin(open(manager, found))
}

async fn open(manager: &mut Manager<AnyTransport>, found: &ClosedSubnet) -> Result<Vec<String>, SmError> {
    let (fabric, closed) = (&found.fabric, &found.closed);
    let ask = |table: &ClosedTable| {
        let data = SlToVlMappingTable(table.open.0).encode();
        let (input, output) = table.pair;
        match (fabric.node(table.node).is_switch(), fabric.port_at(table.node, output)) {
            (false, Some(port)) => Ask::set(RequestTarget::Port(port), AttributeId::SlToVlMappingTable, 0, data),
            _ => {
                let pair = SlToVlModifier::Pair { input, output }.encode();
                Ask::set(RequestTarget::Node(table.node), AttributeId::SlToVlMappingTable, pair, data)
            }
        }
    };
    let answers = manager.ask(closed.iter().map(ask).collect()).await?;
    let fault = |(table, answer): (&ClosedTable, AskResult)| match answer {
        Ok(data) if SlToVlMappingTable::decode(&data).0 == table.open.0 => None,
        Ok(_) => Some(format!("{} answers with another table than was set", table.place)),
        Err(error) => Some(format!("{}: {error}", table.place)),
    };
    Ok(closed.iter().zip(answers).filter_map(fault).collect())
}

/// A port whose manager says that it is master.
async fn master(manager: &mut Manager<AnyTransport>, fabric: &Fabric) -> Result<Option<String>, SmError> {
    let ports: Vec<PortId> = fabric
        .lid_ports()
        .filter(|&port| manager.port_info(port).is_some_and(|info| info.capability_mask & IS_SM != 0))
        .collect();
    let ask = |&port: &PortId| Ask::get(RequestTarget::Port(port), AttributeId::SmInfo, 0);
    let answers = manager.ask(ports.iter().map(ask).collect()).await?;
    let is_master =
        |answer: &AskResult| answer.as_ref().is_ok_and(|data| SmInfo::decode(data).state == SmState::Master);
    Ok(ports.iter().zip(&answers).find(|(_, answer)| is_master(answer)).map(|(&port, _)| fabric.describe_port(port)))
}

/// The service levels that a table discards.
fn discarded(table: &SlToVl) -> Vec<Sl> {
    Sl::all().filter(|&sl| table.get(sl) == Vl::MANAGEMENT).collect()
}

fn most_frequent(tables: &[SlToVl]) -> Option<SlToVl> {
    let mut sorted: Vec<[u8; 16]> = tables.iter().map(|table| table.0.map(Vl::get)).collect();
    sorted.sort_unstable();
    let longest = sorted.chunk_by(|a, b| a == b).max_by_key(|run| run.len())?;
    Some(SlToVl(longest[0].map(Vl::masked)))
}
