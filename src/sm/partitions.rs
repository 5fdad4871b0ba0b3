//! Partition tables: read for the SA, which names the partition of each path, and otherwise left as they are.
//!
//! A port that is a member of any partition keeps its table: the program that configured it, with limited membership or
//! without the default partition, decides which ports may communicate. Only an empty table, under which no port can
//! communicate with it at all, gets the default partition. Tables are read when the subnet is brought up or taken over,
//! when a port is set up, and by turns afterwards ([`drift`](super::drift)). Managers fill a table from its beginning,
//! so its later blocks are read only where the first holds more or other keys than every port does by itself. What a
//! port does not report counts as the default partition.

use super::error::SmError;
use super::fair::answered;
use crate::fabric::{Fabric, PortId};
use crate::ids::{PKey, PortNum};
use crate::subnet::{Ask, FailingAs, Manager, RequestTarget};
use crate::transport::Transport;
use crate::wire::{AttributeId, DEFAULT_P_KEY, Method, PKeyTable};
use std::collections::BTreeSet;

/// A Get of one block of the table of a port that owns LIDs.
pub(super) fn reading(fabric: &Fabric, port: PortId, block: u16) -> Ask {
    Ask::get(RequestTarget::Port(port), AttributeId::PKeyTable, modifier(fabric, port, block))
}

fn modifier(fabric: &Fabric, port: PortId, block: u16) -> u32 {
    match fabric.node(fabric.port(port).node).is_switch() {
        true => PKeyTable::modifier(PortNum::ZERO, block),
        // A CA has one table for each port, read through that port.
        false => block.into(),
    }
}

/// Whether a port was last read to hold this first block.
pub(super) fn is_known<T: Transport>(manager: &Manager<T>, port: PortId, first: &PKeyTable) -> bool {
    let known = manager.p_keys(port);
    let at = |entry: usize| known.and_then(|keys| keys.get(entry)).map_or(0, |key| key.0);
    known.is_some() && !manager.p_keys_are_partial(port) && (0..).zip(first.keys).all(|(entry, key)| key == at(entry))
}

/// Reads the tables of ports that own LIDs.
///
/// # Errors
/// The port failed.
pub(super) async fn read<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    ports: &[PortId],
) -> Result<(), SmError> {
    let asks = ports.iter().map(|&port| reading(fabric, port, 0)).collect();
    let mut tables: Vec<Option<Vec<u16>>> = Vec::new();
    let mut more: Vec<(usize, u16)> = Vec::new();
    for (answer, &port) in manager.ask(asks).await?.into_iter().zip(ports) {
        let first = answered(answer)?.map(|data| PKeyTable::decode(&data).keys.to_vec());
        let blocks = usize::from(manager.key_room(port)).div_ceil(PKeyTable::BLOCK) as u16;
        if first.as_ref().is_some_and(|keys| keys[0] != DEFAULT_P_KEY || names_a_partition(&keys[1..])) {
            more.extend((1..blocks).map(|block| (tables.len(), block)));
        }
        tables.push(first);
    }
    let asks = more.iter().map(|&(at, block)| reading(fabric, ports[at], block)).collect();
    let answers = manager.ask(asks).await?;
    let mut later: Vec<Vec<u16>> = vec![Vec::new(); ports.len()];
    let mut partial: BTreeSet<usize> = BTreeSet::new();
    for (&(at, _), answer) in more.iter().zip(answers) {
        let Some(data) = answered(answer)? else {
            // It may hold keys there, so that it is unknown whether it holds any.
            partial.insert(at);
            tables[at] = tables[at].take().filter(|first| names_a_partition(first));
            later[at].extend(PKeyTable::default().keys);
            continue;
        };
        later[at].extend(PKeyTable::decode(&data).keys);
    }
    for (at, (table, later)) in tables.into_iter().zip(later).enumerate() {
        // Of a port that did not say, what was known stays known.
        let Some(mut table) = table else { continue };
        table.extend(&later);
        manager.holds_p_keys(ports[at], &table, !partial.contains(&at));
    }
    Ok(())
}

/// Reads the tables that are not known yet, of ports that own LIDs.
///
/// # Errors
/// The port failed.
pub(super) async fn read_unknown<T: Transport>(manager: &mut Manager<T>, fabric: &Fabric) -> Result<(), SmError> {
    let is_unknown = |&port: &PortId| {
        let node = fabric.port(port).node;
        fabric.node(node).present
            && manager.p_keys(port).is_none()
            && !manager.failed_lately(node, AttributeId::PKeyTable)
    };
    let unknown: Vec<PortId> = fabric.lid_ports().filter(is_unknown).collect();
    read(manager, fabric, &unknown).await
}

/// Warns where ports hold other tables than every port does by itself: nothing gives them back what they lose.
pub(super) fn warn_of_others<T: Transport>(manager: &Manager<T>, fabric: &Fabric) {
    let is_other = |&port: &PortId| manager.p_keys(port).is_some_and(|keys| *keys != [PKey::DEFAULT]);
    let others: Vec<PortId> = fabric.lid_ports().filter(is_other).collect();
    if let Some(&first) = others.first() {
        tracing::warn!(
            ports = others.len(),
            first = fabric.describe_port(first),
            "ports hold other P_Keys than the default partition's: their tables stay as they are and are not managed, and \
             a port whose device is switched off and on comes back with those of its device"
        );
    }
}

/// Reads the tables of those ports that own LIDs, and writes the default P_Key into each that has no key at all.
/// Nothing that is proved rests on it: a port that does not take it is on record, and its table stays as it is.
///
/// # Errors
/// The port failed.
pub(super) async fn join<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    ports: &[PortId],
) -> Result<(), SmError> {
    let owns_keys = |port: &PortId| {
        let at = fabric.port(*port);
        !fabric.node(at.node).is_switch() || at.num == PortNum::ZERO
    };
    let owners: Vec<PortId> = ports.iter().copied().filter(owns_keys).collect();
    read(manager, fabric, &owners).await?;
    let has_none =
        |port: &PortId| manager.p_keys(*port).is_some_and(|keys| keys.iter().all(|key| key.partition() == 0));
    let without: Vec<PortId> = owners.into_iter().filter(has_none).collect();
    let mut table = PKeyTable::default();
    table.keys[0] = DEFAULT_P_KEY;
    let write = |&port: &PortId| {
        let (place, modifier) = (RequestTarget::Port(port), modifier(fabric, port, 0));
        Ask::set(place, AttributeId::PKeyTable, modifier, table.encode())
    };
    let answers = manager.ask(without.iter().map(write).collect()).await?;
    for (port, answer) in without.into_iter().zip(answers) {
        let Some(data) = answered(answer)? else { continue };
        let keys = PKeyTable::decode(&data).keys;
        manager.holds_p_keys(port, &keys, true);
        if !keys.contains(&DEFAULT_P_KEY) {
            let node = fabric.port(port).node;
            manager.device_fails(node, AttributeId::PKeyTable, Method::Set, FailingAs::HoldsOther, false);
        }
    }
    Ok(())
}

/// Whether an entry of a partition table names a partition, of which the port is then a full or limited member.
fn names_a_partition(keys: &[u16]) -> bool {
    keys.iter().any(|&key| PKey(key).partition() != 0)
}
