//! Partition tables: read for the SA, which names the partition of each path, and otherwise left as they are.
//!
//! A port that is a member of any partition keeps its table: the program that configured it, with limited membership or
//! without the default partition, decides which ports may communicate. Only an empty table, under which no port can
//! communicate with it at all, gets the default partition, and a device that was switched off and on gets back what it
//! held. Tables are read when the subnet is brought up or taken over, when a port is set up, and by turns afterwards
//! ([`drift`](super::drift)). Managers fill a table from its beginning, so its later blocks are read only where the
//! first holds more or other keys than every port does by itself. A port that reports no table counts as a member of
//! the default partition.

use super::error::SmError;
use crate::fabric::{Fabric, PortId};
use crate::ids::{PKey, PortNum};
use crate::subnet::{Ask, AskResult, FailingAs, Manager, RequestTarget};
use crate::transport::Transport;
use crate::wire::{AttributeId, Method, PKeyTable, SMP_DATA_SIZE};
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
    let mut tables: Vec<Option<Vec<PKey>>> = Vec::new();
    let mut more: Vec<(usize, u16)> = Vec::new();
    for (answer, &port) in manager.ask(asks).await?.into_iter().zip(ports) {
        let first = answered(answer)?.map(|data| keys_of(&data).to_vec());
        let blocks = usize::from(manager.key_room(port)).div_ceil(PKeyTable::BLOCK) as u16;
        if first.as_ref().is_some_and(|keys| keys[0] != PKey::DEFAULT || names_a_partition(&keys[1..])) {
            more.extend((1..blocks).map(|block| (tables.len(), block)));
        }
        tables.push(first);
    }
    let asks = more.iter().map(|&(at, block)| reading(fabric, ports[at], block)).collect();
    let answers = manager.ask(asks).await?;
    let mut later: Vec<Vec<PKey>> = vec![Vec::new(); ports.len()];
    let mut partial: BTreeSet<usize> = BTreeSet::new();
    for (&(at, _), answer) in more.iter().zip(answers) {
        let Some(data) = answered(answer)? else {
            // It may hold keys there, so that it is unknown whether it holds any.
            partial.insert(at);
            tables[at] = tables[at].take().filter(|first| names_a_partition(first));
            later[at].extend([PKey(0); PKeyTable::BLOCK]);
            continue;
        };
        later[at].extend(keys_of(&data));
    }
    for (at, (table, later)) in tables.into_iter().zip(later).enumerate() {
        // The known table of a port that did not answer stays.
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

/// Warns where ports hold other tables than every port does by itself: a table that is lost while no manager runs is
/// not restored.
pub(super) fn warn_of_others<T: Transport>(manager: &Manager<T>, fabric: &Fabric) {
    let is_other = |&port: &PortId| manager.p_keys(port).is_some_and(|keys| *keys != [PKey::DEFAULT]);
    let others: Vec<PortId> = fabric.lid_ports().filter(is_other).collect();
    if let Some(&first) = others.first() {
        tracing::warn!(
            ports = others.len(),
            first = fabric.describe_port(first),
            "ports hold other P_Keys than the default partition's: their tables stay as they are and are not managed; a \
             port whose device is switched off and on gets its table back only while this manager runs"
        );
    }
}

/// Reads the tables of those ports that own LIDs. A device that was switched off and on has lost its table, and gets
/// back what it was last read to hold. A port without any key gets the default P_Key. Nothing that is proved rests on
/// it: a port that does not take its table is on record.
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
    let known = |port: &PortId| manager.p_keys(*port).filter(|_| !manager.p_keys_are_partial(*port));
    let before: Vec<Vec<PKey>> = owners.iter().map(|port| known(port).unwrap_or_default().to_vec()).collect();
    read(manager, fabric, &owners).await?;
    let mut wanted: Vec<(PortId, Vec<PKey>)> = Vec::new();
    for (port, before) in owners.into_iter().zip(before) {
        let Some(held) = manager.p_keys(port) else { continue };
        if is_as_delivered(held) && !is_as_delivered(&before) {
            let device = fabric.describe_port(port);
            tracing::info!(device, keys = before.len(), "a port has lost its P_Key table, and gets it back");
            wanted.push((port, before));
        } else if !names_a_partition(held) {
            wanted.push((port, vec![PKey::DEFAULT]));
        }
    }
    write(manager, fabric, &wanted).await
}

/// Writes tables, each from its beginning.
async fn write<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    wanted: &[(PortId, Vec<PKey>)],
) -> Result<(), SmError> {
    let mut asks = Vec::new();
    for (port, keys) in wanted {
        for (block, part) in (0..).zip(keys.chunks(PKeyTable::BLOCK)) {
            let mut table = PKeyTable { keys: [0; PKeyTable::BLOCK] };
            table.keys.iter_mut().zip(part).for_each(|(entry, key)| *entry = key.0);
            let (place, modifier) = (RequestTarget::Port(*port), modifier(fabric, *port, block));
            asks.push(Ask::set(place, AttributeId::PKeyTable, modifier, table.encode()));
        }
    }
    let mut answers = manager.ask(asks).await?.into_iter();
    for (port, keys) in wanted {
        let mut held = Vec::new();
        for answer in answers.by_ref().take(keys.len().div_ceil(PKeyTable::BLOCK)) {
            held.extend(answered(answer)?.map(|data| keys_of(&data)));
        }
        let held = held.concat();
        if held.len() < keys.len() {
            // It did not answer each time: what it holds is read in turn.
            continue;
        }
        manager.holds_p_keys(*port, &held, true);
        if !held.starts_with(keys) {
            let node = fabric.port(*port).node;
            manager.device_fails(node, AttributeId::PKeyTable, Method::Set, FailingAs::HoldsOther, false);
        }
    }
    Ok(())
}

/// Whether a table is what a device holds by itself: the default P_Key, or nothing.
fn is_as_delivered(keys: &[PKey]) -> bool {
    *keys == [PKey::DEFAULT] || !names_a_partition(keys)
}

/// Whether an entry of a partition table names a partition, of which the port is then a full or limited member.
fn names_a_partition(keys: &[PKey]) -> bool {
    keys.iter().any(|key| key.partition() != 0)
}

/// The keys of one block.
fn keys_of(data: &[u8; SMP_DATA_SIZE]) -> [PKey; PKeyTable::BLOCK] {
    PKeyTable::decode(data).keys.map(PKey)
}

/// The answer of a device; `None` if it refused or was silent, which is on record.
pub(super) fn answered(answer: AskResult) -> Result<Option<Box<[u8; SMP_DATA_SIZE]>>, SmError> {
    match answer {
        Ok(data) => Ok(Some(data)),
        Err(error) if error.is_fatal() => Err(error.into()),
        Err(_) => Ok(None),
    }
}
