//! M_Keys of ports: detects another manager's key before anything relies on a write.
//!
//! A port drops a `Set` with another key than its own, without an answer, and lets any program read it (protection 0
//! and 1); with protection 0 the key itself reads back, with 1 it reads as 0. So a subnet under another key looks like
//! one that can be adopted, and every later write is lost. A port that reads as 0 under protection may also hold no key
//! at all: it is asked to take what it holds.

use super::error::SmError;
use crate::fabric::{Fabric, PortId};
use crate::ids::PortNum;
use crate::subnet::{Ask, FailingAs, Manager, RequestTarget, SubnetError};
use crate::transport::Transport;
use crate::wire::{AttributeId, Method, PortInfo};

/// The ports with a LID of their own that hold another M_Key than `own`, the manager's port first.
///
/// # Errors
/// The manager's port failed.
pub(super) async fn locked<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    sm: PortId,
    own: u64,
) -> Result<Vec<PortId>, SmError> {
    let mut suspects: Vec<(PortId, PortInfo)> = owners(fabric)
        .filter_map(|port| Some((port, manager.port_info(port)?.clone())))
        .filter(|(_, info)| match info.m_key {
            0 => info.m_key_protect_bits > 0,
            held => held != own,
        })
        .collect();
    suspects.sort_unstable_by_key(|&(port, _)| (port != sm, port));
    // A key that reads back is another one for certain.
    let (mut locked, hidden): (Vec<_>, Vec<_>) = suspects.into_iter().partition(|(_, info)| info.m_key != 0);
    let ask = |(port, info): &(PortId, PortInfo)| {
        let number = u32::from(fabric.port(*port).num.0);
        Ask::set(RequestTarget::Port(*port), AttributeId::PortInfo, number, info.unchanged().encode())
    };
    // If the manager's own port is under another key, the subnet is, and no other port need be asked.
    let own_first = hidden.iter().take_while(|(port, _)| *port == sm).count();
    for asked in [&hidden[..own_first], &hidden[own_first..]] {
        if locked.iter().any(|(port, _)| *port == sm) {
            locked.extend_from_slice(asked);
            continue;
        }
        let answers = manager.ask(asked.iter().map(ask).collect()).await?;
        for (suspect, answer) in asked.iter().zip(answers) {
            match answer {
                Err(SubnetError::Silent { .. }) => locked.push(suspect.clone()),
                Err(error) if error.is_fatal() => return Err(error.into()),
                _ => {}
            }
        }
    }
    locked.sort_unstable_by_key(|&(port, _)| (port != sm, port));
    Ok(locked.into_iter().map(|(port, _)| port).collect())
}

/// Ports that hold keys: of CAs and routers the cabled ones, of switches port 0.
fn owners(fabric: &Fabric) -> impl Iterator<Item = PortId> + '_ {
    fabric.ports().map(|(id, _)| id).filter(|&id| {
        let port = fabric.port(id);
        let node = fabric.node(port.node);
        node.present && if node.is_switch() { port.num == PortNum::ZERO } else { fabric.peer(id).is_some() }
    })
}

/// Refuses a subnet whose ports hold another M_Key. If they are few, they are recorded as devices that fail, so that
/// the rest can do without them.
///
/// # Errors
/// Some port does, or the manager's port failed.
pub(super) async fn refuse_locked<T: Transport>(
    manager: &mut Manager<T>,
    fabric: &Fabric,
    sm: PortId,
    own: u64,
) -> Result<(), SmError> {
    let locked = locked(manager, fabric, sm, own).await?;
    let Some((&first, others)) = locked.split_first() else { return Ok(()) };
    let (port, others) = (fabric.describe_port(first), others.len());
    if first == sm || 2 * locked.len() > owners(fabric).count() {
        return Err(SmError::Locked { port, others });
    }
    for &port in &locked {
        let node = fabric.port(port).node;
        manager.device_fails(node, AttributeId::PortInfo, Method::Set, FailingAs::Silent, true);
    }
    Err(SmError::LockedDevices { port, others })
}
