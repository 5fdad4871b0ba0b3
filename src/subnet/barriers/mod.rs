//! Barriers: fetches the readings that [`drain`](crate::drain) judges, until there is a proof, none is possible, or the
//! patience of [`Timing::barrier_ns`](super::Timing::barrier_ns) is over.
//!
//! What has gone from the known fabric is excused: it has nothing to say, and nothing stands in it.

mod ages;
mod conservation;
mod flush;
mod poll;
mod sources;
mod token;

use super::SubnetError;
use super::exchange::{Answer, AnswerData, Body, Request};
use super::manager::Manager;
use super::paths::Path;
use crate::drain::{DrainGraph, Drained, NoVerdict, Observer, Ticket};
use crate::fabric::{NodeId, PortId};
use crate::ids::{Half, VlSet};
use crate::transport::Transport;
use crate::wire::{AttributeId, Method, SMP_DATA_SIZE};

/// A wait for one barrier.
#[derive(Debug)]
struct Wait {
    awaited: String,
    begin_ns: u64,
    pause_ns: u64,
}

impl<T: Transport> Manager<T> {
    /// Waits until `lanes` are empty, as `observer` sees it.
    pub(super) async fn await_drained(
        &mut self,
        ticket: Ticket,
        graph: &DrainGraph,
        observer: Observer,
        lanes: VlSet,
        half: Half,
    ) -> Result<Drained, SubnetError> {
        match observer {
            Observer::Token => self.drain_by_tokens(ticket, graph, lanes).await,
            Observer::Poll => self.drain_by_polling(ticket, graph, lanes).await,
            Observer::Conservation => self.drain_by_conservation(ticket, lanes, half).await,
            Observer::Lifetime => self.drain_by_age(ticket, graph, lanes).await,
        }
    }

    fn begin_wait(&self, awaited: impl Into<String>) -> Wait {
        Wait { awaited: awaited.into(), begin_ns: self.transport.now_ns(), pause_ns: self.timing.poll_first_ns.max(1) }
    }

    /// Pauses before the next reading, each time twice as long.
    ///
    /// # Errors
    /// The patience for this barrier is over.
    async fn pause(&mut self, wait: &mut Wait, missing: impl FnOnce() -> String) -> Result<(), SubnetError> {
        let now_ns = self.transport.now_ns();
        if now_ns - wait.begin_ns >= self.timing.barrier_ns {
            return Err(self.out_of_patience(wait, missing()));
        }
        self.wait_until(now_ns.saturating_add(wait.pause_ns)).await?;
        wait.pause_ns = (wait.pause_ns * 2).min(self.timing.poll_most_ns.max(1));
        Ok(())
    }

    fn out_of_patience(&self, wait: &Wait, missing: String) -> SubnetError {
        let waited_ms = (self.transport.now_ns() - wait.begin_ns) / 1_000_000;
        SubnetError::BarrierTimeout { awaited: wait.awaited.clone(), waited_ms, missing }
    }

    /// A request to a device, through whichever of its ports is nearest.
    fn to_node(
        &self,
        node: NodeId,
        method: Method,
        attribute: AttributeId,
        modifier: u32,
        data: [u8; SMP_DATA_SIZE],
    ) -> Result<Request, SubnetError> {
        let topology = self.topology("waiting for a barrier")?;
        let path = topology.paths.to_node(&topology.fabric, node);
        self.along(path, node, method, attribute, modifier, data)
    }

    /// A request to a port, through itself where it is an end port.
    fn to_port(
        &self,
        port: PortId,
        method: Method,
        attribute: AttributeId,
        data: [u8; SMP_DATA_SIZE],
    ) -> Result<Request, SubnetError> {
        let topology = self.topology("waiting for a barrier")?;
        let path = topology.paths.to_port(&topology.fabric, port);
        let owner = topology.fabric.port(port);
        self.along(path, owner.node, method, attribute, u32::from(owner.num.0), data)
    }

    fn along(
        &self,
        path: Option<Path>,
        node: NodeId,
        method: Method,
        attribute: AttributeId,
        modifier: u32,
        data: [u8; SMP_DATA_SIZE],
    ) -> Result<Request, SubnetError> {
        let path = path.ok_or_else(|| SubnetError::NoPath {
            attempted: format!("{method:?} {attribute:?} of {}", self.name_of(node)),
        })?;
        let body = Body::Smp { path, attribute, data: Box::new(data) };
        Ok(Request { device: node.0, tag: 0, method, modifier, body })
    }

    fn name_of(&self, node: NodeId) -> String {
        self.topology.as_ref().map_or_else(|| format!("{node:?}"), |known| known.fabric.describe_node(node))
    }

    /// Every device that is there and can be reached, in index order.
    fn devices(&self) -> Result<Vec<NodeId>, SubnetError> {
        let topology = self.topology("waiting for a barrier")?;
        let fabric = &topology.fabric;
        let present = fabric.nodes().filter(|(_, node)| node.present).map(|(id, _)| id);
        Ok(present.filter(|&node| topology.paths.reaches(node)).collect())
    }

    /// Whether a channel still exists.
    fn is_linked(&self, channel: PortId) -> bool {
        self.topology.as_ref().is_some_and(|known| known.fabric.peer(channel).is_some())
    }
}

/// The 64 bytes of an SMP's answer; zeroes for another kind, which no request here can get.
fn smp_data(answer: &Answer) -> &[u8; SMP_DATA_SIZE] {
    match &answer.data {
        AnswerData::Smp(_, data) => data,
        AnswerData::Perf(..) => &[0; SMP_DATA_SIZE],
    }
}

fn no_verdict(wait: &Wait, reason: &NoVerdict) -> SubnetError {
    SubnetError::NoVerdict { awaited: wait.awaited.clone(), reason: reason.to_string() }
}
