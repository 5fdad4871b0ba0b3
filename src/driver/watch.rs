//! Looking whether the subnet is still what it was.

use super::{Driver, DriverError, PhaseRecord, Running};
use crate::fabric::{Fabric, NodeId, PortId, difference};
use crate::subnet::SubnetManager;
use std::sync::Arc;

/// Sweeps in a row at most, when events come during each.
const SWEEPS: usize = 4;

impl<S: SubnetManager> Driver<S> {
    /// Sweeps until a sweep passes without events, and takes what was found for what is there.
    ///
    /// # Errors
    /// The sweep failed, or found what is not known; then `running` stays as it is.
    pub(super) async fn look(&mut self) -> Result<PhaseRecord, DriverError> {
        let (start_ns, before) = (self.subnet.now_ns(), self.subnet.smps().clone());
        for _ in 0..SWEEPS {
            while self.subnet.pending_event().is_some() {}
            let discovered = self.subnet.discover().await?;
            discovered.notices.iter().for_each(|notice| tracing::warn!("{notice}"));
            let alive = difference::align(&self.running.known, &discovered.fabric)?;
            self.subnet.set_topology(&alive, self.running.sm);
            self.running.alive = Arc::new(alive);
            match self.subnet.pending_event() {
                Some(event) => tracing::debug!(?event, "the subnet changed during the sweep"),
                None => break,
            }
        }
        let smps = self.subnet.smps().since(&before);
        Ok(PhaseRecord { name: "sweep", start_ns, end_ns: self.subnet.now_ns(), smps })
    }

    /// Looks while a change is under way: whether something is gone. What a sweep cannot tell is no reason to stop, nor is
    /// what has come: that is remembered.
    pub(super) async fn glance(&mut self) -> Result<bool, DriverError> {
        let before = self.running.alive.clone();
        match self.look().await {
            Ok(_) => {
                self.noticed |= lacks(&before, &self.running.alive);
                Ok(lacks(&self.running.alive, &before))
            }
            Err(DriverError::Subnet(error)) if error.is_fatal() => Err(error.into()),
            Err(error) => {
                tracing::warn!(%error, "looking at the subnet during a change");
                Ok(false)
            }
        }
    }
}

impl Running {
    /// Whether a node or cable that the routing in force counts on is gone.
    pub fn has_lost_something(&self) -> bool {
        lacks(&self.alive, &self.routed)
    }

    /// Whether a node or cable is there that the routing in force does not count on.
    pub fn has_grown(&self) -> bool {
        lacks(&self.routed, &self.alive)
    }
}

/// Whether one restriction of a fabric lacks a node or cable that another has.
pub(super) fn lacks(fabric: &Fabric, other: &Fabric) -> bool {
    let mut nodes = fabric.nodes().zip(other.nodes());
    let mut ports = fabric.ports().zip(other.ports());
    nodes.any(|((_, own), (_, other))| !own.present && other.present)
        || ports.any(|((_, own), (_, other))| other.peer.is_some() && own.peer != other.peer)
}

/// What of `fabric` is in `other` too.
pub(super) fn common(fabric: &Fabric, other: &Fabric) -> Fabric {
    restricted(fabric, |node| other.node(node).present, |port| other.peer(port).is_some())
}

/// What of `fabric` is in one of two others.
pub(super) fn in_either(fabric: &Fabric, [a, b]: [&Fabric; 2]) -> Fabric {
    let node = |node| a.node(node).present || b.node(node).present;
    restricted(fabric, node, |port| a.peer(port).is_some() || b.peer(port).is_some())
}

fn restricted(fabric: &Fabric, node: impl Fn(NodeId) -> bool, link: impl Fn(PortId) -> bool) -> Fabric {
    let nodes = fabric.nodes().map(|(id, _)| id).filter(|&id| !node(id));
    let ports = fabric.ports().filter(|(_, port)| port.peer.is_some()).map(|(id, _)| id).filter(|&id| !link(id));
    fabric.without_nodes(&nodes.collect::<Vec<_>>()).without_links(&ports.collect::<Vec<_>>())
}
