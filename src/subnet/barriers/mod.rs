//! Barriers: fetches the readings that [`drain`](crate::drain) judges, until there is a proof, none is possible, or
//! [`Timing::barrier_ns`](super::Timing::barrier_ns) has passed.
//!
//! Elements that have left the known fabric are excused: they cannot answer, and nothing stands in them (P4.3).

mod ages;
mod conservation;
mod flush;
mod poll;
mod sources;
mod token;
mod vacate;

use super::exchange::{MadAnswer, MadData};
use super::manager::Manager;
use super::{Ask, Retiring, SubnetError};
use crate::drain::{DrainLayer, Drained, LayersJudge, NoVerdict, Observer, Subject, Ticket, Verdict};
use crate::fabric::{NodeId, PortId};
use crate::ids::VlSet;
use crate::transport::Transport;
use crate::wire::SMP_DATA_SIZE;

/// A wait for one barrier.
#[derive(Debug)]
struct Wait {
    awaited: String,
    begin_ns: u64,
    pause_ns: u64,
}

impl<T: Transport> Manager<T> {
    /// Waits until the retiring lanes are empty by the counters of end ports.
    ///
    /// Where these are to show it and have no known zero, tokens do, and the counters are zeroed for the next drain of
    /// that half (D.5): the plan names what tokens rest on, too, since its flush is by the same agents.
    async fn drain_by_counters(&mut self, ticket: Ticket, retiring: &Retiring<'_>) -> Result<Drained, SubnetError> {
        let half = retiring.in_use.half.other();
        let is_known = self.counters_are_known(half);
        let drained = if is_known {
            self.drain_by_conservation(ticket, retiring).await?
        } else {
            tracing::warn!(%half, "counters of data have no known zero: drained by tokens");
            Box::pin(self.await_drained(ticket, Observer::Token, retiring)).await?
        };
        self.zero_retired(retiring).await?;
        Ok(drained)
    }

    /// Waits until `lanes` are empty according to `observer`.
    pub(super) async fn await_drained(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        retiring: &Retiring<'_>,
    ) -> Result<Drained, SubnetError> {
        let Retiring { layers, lanes, .. } = *retiring;
        match (observer, layers) {
            (Observer::Conservation, _) => self.drain_by_counters(ticket, retiring).await,
            (Observer::Lifetime, _) => self.drain_by_age(ticket, retiring).await,
            (_, [layer]) if layer.lanes == lanes => self.drain_layer(ticket, layer, observer).await,
            _ => self.drain_layers(ticket, layers, observer, lanes).await,
        }
    }

    async fn drain_layer(
        &mut self,
        ticket: Ticket,
        layer: &DrainLayer,
        observer: Observer,
    ) -> Result<Drained, SubnetError> {
        match observer {
            Observer::Poll => self.drain_by_polling(ticket, &layer.graph, layer.lanes).await,
            _ => self.drain_by_tokens(ticket, &layer.graph, layer.lanes).await,
        }
    }

    /// One layer after another, then each once more: a reply to a packet on the last layer may go on the first (P4.5).
    async fn drain_layers(
        &mut self,
        ticket: Ticket,
        layers: &[DrainLayer],
        observer: Observer,
        lanes: VlSet,
    ) -> Result<Drained, SubnetError> {
        let mut judge = LayersJudge::new(ticket, layers.iter().map(|layer| layer.lanes).collect());
        let mut last = None;
        // Lanes of several layers wait for each other in cycles; only those of one layer empty in an order (P4.5).
        while let Some((layer, part)) = judge.due() {
            let drained = self.drain_layer(part, &layers[layer], observer).await?;
            judge.fold(&drained);
            last = Some(drained);
        }
        last.and_then(|last| judge.verdict(lanes, &last)).ok_or_else(|| SubnetError::NoVerdict {
            awaited: format!("drain of lanes {lanes}"),
            reason: "the layers to be drained do not cover these lanes".to_string(),
        })
    }

    fn begin_wait(&self, awaited: impl Into<String>) -> Wait {
        Wait { awaited: awaited.into(), begin_ns: self.transport.now_ns(), pause_ns: self.timing.poll_first_ns.max(1) }
    }

    /// Pauses before the next reading, each time twice as long.
    ///
    /// # Errors
    /// The time for this barrier is over.
    async fn pause(&mut self, wait: &mut Wait, missing: impl FnOnce() -> String) -> Result<(), SubnetError> {
        let now_ns = self.transport.now_ns();
        if now_ns - wait.begin_ns >= self.timing.barrier_ns {
            return Err(self.timed_out(wait, missing()));
        }
        self.wait_until(now_ns.saturating_add(wait.pause_ns)).await?;
        wait.pause_ns = (wait.pause_ns * 2).min(self.timing.poll_most_ns.max(1));
        Ok(())
    }

    fn timed_out(&self, wait: &Wait, missing: String) -> SubnetError {
        let waited_ms = (self.transport.now_ns() - wait.begin_ns) / 1_000_000;
        SubnetError::BarrierTimeout { awaited: wait.awaited.clone(), waited_ms, missing }
    }

    /// Sends these at once. Returns the answers in their order.
    async fn put(&mut self, asks: impl IntoIterator<Item = Ask>) -> Result<Vec<MadAnswer>, SubnetError> {
        let requests = asks.into_iter().map(|ask| self.request_of(ask, 0)?).collect::<Result<_, _>>()?;
        self.ask_all(requests).await
    }

    /// The most switches that a packet under way may have before it.
    ///
    /// # Errors
    /// The number is unknown: then no time and no number of rounds proves anything.
    fn longest_way(&self, awaited: &str) -> Result<u32, SubnetError> {
        let unknown = || SubnetError::NoVerdict {
            awaited: awaited.to_string(),
            reason: "the length of ways is unknown".to_string(),
        };
        self.longest_way.ok_or_else(unknown)
    }

    fn name_of(&self, node: NodeId) -> String {
        self.topology.as_ref().map_or_else(|| format!("{node:?}"), |known| known.fabric.describe_node(node))
    }

    /// Every present device that can be reached, in index order.
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

impl<T: Transport> Manager<T> {
    /// The error that states why there will be no proof, with the name of the device or port concerned.
    fn no_verdict(&self, wait: &Wait, reason: &NoVerdict) -> SubnetError {
        let name = reason.about().zip(self.topology.as_ref()).map(|(about, known)| match about {
            Subject::Device(device) => known.fabric.describe_node(device),
            Subject::Port(port) => known.fabric.describe_port(port),
        });
        let reason = name.map_or_else(|| reason.to_string(), |name| format!("{name}: {reason}"));
        SubnetError::NoVerdict { awaited: wait.awaited.clone(), reason }
    }

    /// Unwraps a verdict that should not be pending any more.
    fn proof<P>(&self, wait: &Wait, verdict: Verdict<P>) -> Result<P, SubnetError> {
        match verdict {
            Verdict::Proof(proof) => Ok(proof),
            Verdict::NoVerdict(reason) => Err(self.no_verdict(wait, &reason)),
            Verdict::Pending => Err(SubnetError::NoVerdict {
                awaited: wait.awaited.clone(),
                reason: "a switch did not report its limit".to_string(),
            }),
        }
    }
}

/// The 64 bytes of an SMP's answer; zeroes for another kind, which no request here can get.
fn smp_data(answer: &MadAnswer) -> &[u8; SMP_DATA_SIZE] {
    match &answer.data {
        MadData::Smp(_, data) => data,
        MadData::Perf(..) => &[0; SMP_DATA_SIZE],
    }
}
