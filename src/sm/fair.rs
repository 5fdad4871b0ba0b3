//! What a port needs besides PortInfo before it may carry data: an arbitration list with every lane, and the default
//! partition.
//!
//! A lane without an entry never sends and so never drains (docs/PROOF.md, M3). A port whose list already serves every lane
//! keeps it, whichever manager wrote it.

use super::error::SmError;
use crate::fabric::{Fabric, PortId};
use crate::ids::{PortNum, VlSet};
use crate::subnet::{Ask, AskResult, Manager, RequestTarget};
use crate::transport::Transport;
use crate::wire::{AttributeId, DEFAULT_P_KEY, PKeyTable, VlArbitrationBlock, VlArbitrationEntry, VlArbitrationTable};

/// The weight of each lane, in units of 64 bytes.
const WEIGHT: u8 = 64;

/// Writes arbitration lists and partition tables where they are needed.
///
/// # Errors
/// A port cannot serve all lanes, or has no room for the default partition.
pub(super) async fn provide<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    ports: &[PortId],
    lanes: VlSet,
) -> Result<(), SmError> {
    let cabled: Vec<PortId> = ports.iter().copied().filter(|&port| fabric.peer(port).is_some()).collect();
    serve_lanes(manager, fabric, &cabled, lanes).await?;
    let owners: Vec<PortId> = ports.iter().copied().filter(|&port| owns_keys(fabric, port)).collect();
    join_partition(manager, fabric, &owners).await
}

fn owns_keys(fabric: &Fabric, port: PortId) -> bool {
    let at = fabric.port(port);
    !fabric.node(at.node).is_switch() || at.num == PortNum::ZERO
}

/// Writes a list of all lanes to each port whose own list does not serve them all.
async fn serve_lanes<T: Transport>(
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
    let told = manager.ask(asks.collect()).await?;
    let mut writes = Vec::new();
    for (&port, told) in ports.iter().zip(told) {
        if serves(&VlArbitrationTable::decode(&*told?), lanes) {
            continue;
        }
        let room = manager.port_info(port).map_or(0, |info| info.vl_arbitration_low_cap);
        if usize::from(room) < lanes.len() {
            let setting = "VLArbitrationTable: its list has fewer entries than there are lanes";
            return Err(SmError::NotTaken { port: fabric.describe_port(port), setting });
        }
        writes.push((port, Ask::set(RequestTarget::Port(port), attribute, modifier(port), list(lanes).encode())));
    }
    let told = manager.ask(writes.iter().map(|(_, ask)| ask.clone()).collect()).await?;
    check(fabric, writes.iter().map(|(port, _)| *port).zip(told), "VLArbitrationTable", |data| {
        serves(&VlArbitrationTable::decode(data), lanes)
    })
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

/// Writes the default P_Key into the first free entry of each partition table that lacks it.
async fn join_partition<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    ports: &[PortId],
) -> Result<(), SmError> {
    let modifier = |port: PortId| match fabric.node(fabric.port(port).node).is_switch() {
        true => PKeyTable::modifier(PortNum::ZERO, 0),
        // A CA has one table for each port, read through that port.
        false => 0,
    };
    let get = |&port: &PortId| Ask::get(RequestTarget::Port(port), AttributeId::PKeyTable, modifier(port));
    let told = manager.ask(ports.iter().map(get).collect()).await?;
    let mut writes = Vec::new();
    for (&port, told) in ports.iter().zip(told) {
        let mut table = PKeyTable::decode(&*told?);
        if table.keys.contains(&DEFAULT_P_KEY) {
            continue;
        }
        let Some(free) = table.keys.iter_mut().find(|key| **key & 0x7FFF == 0) else {
            return Err(SmError::NotTaken { port: fabric.describe_port(port), setting: "P_KeyTable: it is full" });
        };
        *free = DEFAULT_P_KEY;
        writes
            .push((port, Ask::set(RequestTarget::Port(port), AttributeId::PKeyTable, modifier(port), table.encode())));
    }
    let told = manager.ask(writes.iter().map(|(_, ask)| ask.clone()).collect()).await?;
    check(fabric, writes.iter().map(|(port, _)| *port).zip(told), "P_KeyTable", |data| {
        PKeyTable::decode(data).keys.contains(&DEFAULT_P_KEY)
    })
}

fn check(
    fabric: &Fabric,
    told: impl Iterator<Item = (PortId, AskResult)>,
    setting: &'static str,
    taken: impl Fn(&[u8; crate::wire::SMP_DATA_SIZE]) -> bool,
) -> Result<(), SmError> {
    for (port, told) in told {
        if !taken(&*told?) {
            return Err(SmError::NotTaken { port: fabric.describe_port(port), setting });
        }
    }
    Ok(())
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
