//! Drain by polling: device by device, in the order of the channel dependency graph (P4.2).

use super::smp_data;
use crate::drain::{DrainGraph, Drained, LaneReading, PollJudge, Ticket, Verdict};
use crate::fabric::NodeId;
use crate::ids::VlSet;
use crate::subnet::SubnetError;
use crate::subnet::manager::Manager;
use crate::transport::Transport;
use crate::wire::vendor::LaneStatus;
use crate::wire::{AttributeId, Method, SMP_DATA_SIZE};

impl<T: Transport> Manager<T> {
    pub(super) async fn drain_by_polling(
        &mut self,
        ticket: Ticket,
        graph: &DrainGraph,
        lanes: VlSet,
    ) -> Result<Drained, SubnetError> {
        let mut judge = PollJudge::new(ticket, lanes, graph, self.transport.now_ns());
        for channel in graph.channels().iter().filter(|channel| !self.is_linked(channel.channel)) {
            judge.excuse(channel.channel);
        }
        let mut wait = self.begin_wait(format!("drain of lanes {lanes}, by polling"));
        loop {
            match judge.verdict() {
                Verdict::Proof(drained) => return Ok(drained),
                Verdict::NoVerdict(reason) => return Err(self.no_verdict(&wait, &reason)),
                Verdict::Pending => {}
            }
            // Only the frontier is asked: a reading counts for an output only if it was requested after all
            // predecessors were found empty (section D).
            let asked: Vec<NodeId> = judge.frontier().into_iter().collect();
            for reading in self.lane_readings(&asked, lanes).await? {
                judge.fold(&reading);
            }
            let waiting: Vec<NodeId> = judge.frontier().into_iter().collect();
            if waiting == asked {
                let first = waiting.first().map_or_else(String::new, |&node| self.name_of(node));
                let missing = format!("{} devices still hold packets, first {first}", waiting.len());
                self.pause(&mut wait, || missing).await?;
            } else {
                // The frontier has moved. How long the last devices took to empty says nothing about the next, so the
                // pause starts again from its shortest.
                wait.pause_ns = self.timing.poll_first_ns.max(1);
            }
        }
    }

    /// Reads the state of the outputs of each device. All count as requested when the first request was sent and as
    /// answered when the last answer came, which never favours a proof.
    async fn lane_readings(&mut self, devices: &[NodeId], lanes: VlSet) -> Result<Vec<LaneReading>, SubnetError> {
        let asked_ns = self.transport.now_ns();
        let modifier = LaneStatus::modifier(lanes);
        let ask =
            |&node: &NodeId| self.to_node(node, Method::Get, AttributeId::LaneStatus, modifier, [0; SMP_DATA_SIZE]);
        let requests = devices.iter().map(ask).collect::<Result<Vec<_>, _>>()?;
        let answers = self.ask_all(requests).await?;
        let answered_ns = self.transport.now_ns();
        let reading = |(&device, answer)| {
            let status = LaneStatus::decode(smp_data(answer));
            let drained = status.drained_outputs;
            LaneReading { device, asked_ns, answered_ns, lanes, drained }
        };
        Ok(devices.iter().zip(&answers).map(reading).collect())
    }
}
