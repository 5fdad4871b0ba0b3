//! The needs of a port besides PortInfo before it may carry data: an arbitration list with every lane, and a partition.
//!
//! A lane without an entry never sends and so never drains (docs/PROOF.md, M3). A port whose list already serves every
//! lane keeps it, whichever manager wrote it. [`partitions`] sees to the partition.

use super::error::SmError;
use super::partitions::{self, answered};
use crate::fabric::{Fabric, PortId};
use crate::ids::VlSet;
use crate::subnet::{Ask, FailingAs, Manager, RequestTarget, SubnetError};
use crate::transport::Transport;
use crate::wire::{AttributeId, Method, VlArbitrationBlock, VlArbitrationEntry, VlArbitrationTable};

/// The weight of each lane, in units of 64 bytes.
const WEIGHT: u8 = 64;

/// Writes arbitration lists and partition tables where they are needed.
///
/// # Errors
/// A port cannot serve all lanes.
pub(super) async fn provide<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    ports: &[PortId],
    lanes: VlSet,
) -> Result<(), SmError> {
    let cabled: Vec<PortId> = ports.iter().copied().filter(|&port| fabric.peer(port).is_some()).collect();
    serve_lanes(manager, fabric, &cabled, lanes).await?;
    partitions::join(manager, fabric, ports).await
}

/// Writes a list of all lanes to each port whose own list does not serve them all.
pub(super) async fn serve_lanes<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    ports: &[PortId],
    lanes: VlSet,
) -> Result<(), SmError> {
    let several = |&port: &PortId| manager.port_info(port).is_some_and(|info| info.vl_arbitration_low_cap > 0);
    let ports: Vec<PortId> = ports.iter().copied().filter(several).collect();
    let modifier = |port: PortId| VlArbitrationBlock::LowFirst.modifier(fabric.port(port).num);
    let attribute = AttributeId::VlArbitrationTable;
    let asks = ports.iter().map(|&port| Ask::get(RequestTarget::Port(port), attribute, modifier(port)));
    let answers = manager.ask(asks.collect()).await?;
    let mut writes = Vec::new();
    let mut fault = None;
    for (&port, answer) in ports.iter().zip(answers) {
        // A port that does not report its list may starve a lane, which would never drain (M3): it carries no data.
        let Some(data) = answered(answer)? else {
            manager.device_fails(fabric.port(port).node, attribute, Method::Get, FailingAs::Silent, true);
            let setting = "VLArbitrationTable: it does not show its list";
            fault.get_or_insert(SmError::NotTaken { port: fabric.describe_port(port), setting });
            continue;
        };
        if serves(&VlArbitrationTable::decode(&data), lanes) {
            continue;
        }
        let room = manager.port_info(port).map_or(0, |info| info.vl_arbitration_low_cap);
        if usize::from(room) < lanes.len() {
            let setting = "VLArbitrationTable: its list has fewer entries than there are lanes";
            manager.device_fails(fabric.port(port).node, attribute, Method::Set, FailingAs::HoldsOther, true);
            fault.get_or_insert(SmError::NotTaken { port: fabric.describe_port(port), setting });
            continue;
        }
        writes.push((port, Ask::set(RequestTarget::Port(port), attribute, modifier(port), list(lanes).encode())));
    }
    let answers = manager.ask(writes.iter().map(|(_, ask)| ask.clone()).collect()).await?;
    for ((port, _), answer) in writes.iter().zip(answers) {
        let fails = match answer {
            Ok(data) if serves(&VlArbitrationTable::decode(&data), lanes) => continue,
            Ok(_) => FailingAs::HoldsOther,
            Err(SubnetError::Refused { status, .. }) => FailingAs::Refuses(status),
            Err(error) if error.is_fatal() => return Err(error.into()),
            Err(_) => FailingAs::Silent,
        };
        manager.device_fails(fabric.port(*port).node, attribute, Method::Set, fails, true);
        fault.get_or_insert(SmError::NotTaken { port: fabric.describe_port(*port), setting: "VLArbitrationTable" });
    }
    fault.map_or(Ok(()), Err)
}

/// Whether a list has every lane with a positive weight.
fn serves(table: &VlArbitrationTable, lanes: VlSet) -> bool {
    lanes.iter().all(|lane| table.0.iter().any(|entry| entry.vl == lane && entry.weight > 0))
}

/// Every lane once, with equal weights.
fn list(lanes: VlSet) -> VlArbitrationTable {
    let mut table = VlArbitrationTable::default();
    for (entry, vl) in table.0.iter_mut().zip(lanes.iter()) {
        *entry = VlArbitrationEntry { vl, weight: WEIGHT };
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Vl;

    #[test]
    fn the_list_written_serves_every_lane_and_one_without_weight_does_not() {
        let lanes = VlSet::first(4);
        let mut table = list(lanes);
        assert!(serves(&table, lanes));
        assert!(!serves(&table, VlSet::first(5)));
        table.0[2] = VlArbitrationEntry { vl: Vl::masked(2), weight: 0 };
        assert!(!serves(&table, lanes));
    }
}
