//! Checks whether the subnet is still as known.

use super::{Driver, DriverError, PhaseRecord, Running};
use crate::fabric::difference::{self, AlignError, Recognised};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::plan::Lanes;
use crate::subnet::{Discovered, SubnetManager};
use crate::tables::{NodeSlToVl, PortState};
use std::sync::Arc;

/// Sweeps in a row at most, when events come during each.
const SWEEPS: usize = 4;

/// The result of a look at the subnet. The known part of it is in [`Running::alive`].
#[derive(Clone, Debug)]
pub struct Sighting {
    /// The sweeps it took.
    pub record: PhaseRecord,
    /// The subnet as found, in indices of its own.
    pub discovered: Discovered,
    /// The first thing found that is not known. It can be served once the driver knows it
    /// ([`Driver::widen`]).
    pub stranger: Option<AlignError>,
}

impl<S: SubnetManager> Driver<S> {
    /// Sweeps until a sweep passes without events, and takes its result for the present subnet.
    ///
    /// # Errors
    /// The sweep failed, or found a node that contradicts what is known; then `running` stays as it is.
    pub async fn look(&mut self) -> Result<Sighting, DriverError> {
        let (start_ns, before) = (self.subnet.now_ns(), self.subnet.smps().clone());
        let mut sweeps = 0;
        loop {
            // Events from before the sweep: the sweep itself shows what they report.
            while self.subnet.pending_event().is_some() {}
            let discovered = self.subnet.discover().await?;
            discovered.notices.iter().for_each(|notice| tracing::warn!("{notice}"));
            let Recognised { alive, stranger } = difference::recognise(&self.running.known, &discovered.fabric)?;
            self.subnet.set_topology(&alive, self.running.sm);
            self.running.alive = Arc::new(alive);
            sweeps += 1;
            let event = self.subnet.pending_event();
            // A lost SMP looks like a lost switch. Taking a switch for dead by mistake costs a change; another sweep
            // costs less.
            let silent = !discovered.notices.is_empty() && self.running.has_lost_something();
            match (sweeps < SWEEPS, event) {
                (true, Some(event)) => tracing::debug!(?event, "the subnet changed during the sweep"),
                // Silence is no proof of a loss: sweep again.
                (true, None) if silent => {}
                (_, event) => {
                    self.noticed |= event.is_some();
                    let (end_ns, smps) = (self.subnet.now_ns(), self.subnet.smps().since(&before));
                    let record = PhaseRecord { name: "sweep", start_ns, end_ns, smps };
                    return Ok(Sighting { record, discovered, stranger });
                }
            }
        }
    }

    /// Looks while a change is under way, and returns whether something is gone. A sweep that fails is no reason to
    /// stop the change; what has come is none either, and is remembered.
    pub(super) async fn glance(&mut self) -> Result<bool, DriverError> {
        let before = self.running.alive.clone();
        match self.look().await {
            // What died while the change runs excuses writes, and may call it off. What came waits for the next change.
            Ok(sighting) => {
                self.noticed |= sighting.stranger.is_some() || lacks(&before, &self.running.alive);
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
    /// Whether a node or cable that the routing in force uses is gone.
    pub fn has_lost_something(&self) -> bool {
        lacks(&self.alive, &self.routed)
    }

    /// The same state of a fabric that has more: `whole` begins with the nodes and ports that are known, and may lack
    /// cables that the routing in force does not count on.
    pub(super) fn widened(&self, whole: Arc<Fabric>) -> Running {
        let of = |part: &Fabric| {
            let node = |id: NodeId| id.index() < part.node_count() && part.node(id).present;
            let link = |id: PortId| id.index() < part.port_count() && part.peer(id) == whole.peer(id);
            Arc::new(restricted(&whole, node, link))
        };
        let mut tables = self.tables.clone();
        let (nodes, ports) = (whole.node_count(), whole.port_count());
        // What has come holds no known tables (G.2). Its lanes are recorded as bring-up will leave them, its ports as
        // not yet up.
        let steady = Arc::new(NodeSlToVl::Uniform(Lanes::of_fabric(&self.routed).steady()));
        tables.lfts.resize_with(nodes, Arc::default);
        tables.sl_to_vl.resize(nodes, steady);
        tables.sending.resize(ports, self.half);
        tables.port_states.resize(ports, PortState::Initialize);
        Running { routed: of(&self.routed), alive: of(&self.alive), known: whole, tables, ..self.clone() }
    }

    /// What the routing is to be changed to next: where something was lost, what is left of what is routed; else all
    /// that is present, without what `aside` takes out of it. None where the routing in force serves exactly that.
    pub fn wanted(&self, aside: impl Fn(&Fabric) -> Fabric) -> Option<Fabric> {
        if self.has_lost_something() {
            return Some(common(&self.alive, &self.routed));
        }
        let wanted = aside(&self.alive);
        lacks(&self.routed, &wanted).then_some(wanted)
    }

    /// Whether a node or cable is present that the routing in force does not serve.
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
