//! Drain by polling: device by device, in the order of the channel dependency graph (P4.2).

use super::smp_data;
use crate::drain::{DrainGraph, Drained, LaneReading, PollJudge, PortMask, Ticket, Verdict};
use crate::fabric::NodeId;
use crate::ids::VlSet;
use crate::subnet::exchange::Exchange;
use crate::subnet::manager::{Manager, answered_or_failed};
use crate::subnet::{Ask, RequestTarget, SubnetError, Timing};
use crate::transport::Transport;
use crate::wire::AttributeId;
use crate::wire::vendor::LaneStatus;
use std::collections::BTreeMap;

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
        let mut silence_ns = self.timing.poll_silence_ns.unwrap_or(0).max(1);
        loop {
            match judge.verdict() {
                Verdict::Proof(drained) => return Ok(drained),
                Verdict::NoVerdict(reason) => return Err(self.no_verdict(&wait, &reason)),
                Verdict::Pending => {}
            }
            // Only the frontier is asked: a reading counts for an output only if it was requested after all
            // predecessors were found empty (section D).
            let asked = judge.frontier();
            let readings = match self.timing.poll_silence_ns {
                None => self.lane_readings(&asked, lanes).await?,
                Some(_) => self.silent_readings(&asked, lanes, silence_ns).await?,
            };
            for reading in &readings {
                judge.fold(reading);
            }
            let waiting = judge.frontier();
            if waiting.keys().eq(asked.keys()) {
                let first = waiting.keys().next().map_or_else(String::new, |&node| self.name_of(node));
                let missing = format!("{} devices still hold packets, first {first}", waiting.len());
                // A device that answers later than it is waited for would never be heard.
                silence_ns = (silence_ns * 2).min(self.timing.timeout_ns.max(1));
                self.pause(&mut wait, || missing).await?;
            } else {
                // The frontier has moved. How long the last devices took to empty says nothing about the next, so the
                // pause starts again from its shortest.
                wait.pause_ns = self.timing.poll_first_ns.max(1);
            }
        }
    }

    /// Reads the state of the outputs of each device. All count as requested when the first request was sent, and as
    /// answered when the last answer arrived, which never favours a proof.
    async fn lane_readings(
        &mut self,
        devices: &BTreeMap<NodeId, PortMask>,
        lanes: VlSet,
    ) -> Result<Vec<LaneReading>, SubnetError> {
        let asked_ns = self.transport.now_ns();
        let modifier = LaneStatus::modifier(lanes);
        let ask = |&node: &NodeId| Ask::get(RequestTarget::Node(node), AttributeId::LaneStatus, modifier);
        let answers = self.put(devices.keys().map(ask)).await?;
        let answered_ns = self.transport.now_ns();
        let reading = |(&device, answer)| {
            let status = LaneStatus::decode(smp_data(answer));
            let drained = status.drained_outputs;
            LaneReading { device, asked_ns, answered_ns, lanes, drained }
        };
        Ok(devices.keys().zip(&answers).map(reading).collect())
    }

    /// Reads the state of devices that answer only once the requested outputs are drained (seed 001, step 4,
    /// *implementation alternatives*): a device that is silent for `silence_ns` holds packets, or an SMP was lost; it
    /// is asked again in either case.
    async fn silent_readings(
        &mut self,
        devices: &BTreeMap<NodeId, PortMask>,
        lanes: VlSet,
        silence_ns: u64,
    ) -> Result<Vec<LaneReading>, SubnetError> {
        let asked_ns = self.transport.now_ns();
        let modifier = LaneStatus::silent_modifier(lanes);
        let mut exchange = Exchange::of_one_round(Timing { timeout_ns: silence_ns, retries: 0, ..self.timing });
        let order: Vec<NodeId> = devices.keys().copied().collect();
        for (tag, (&node, &drained_outputs)) in (0..).zip(devices) {
            let data = Box::new(LaneStatus { drained_outputs, empty_inputs: PortMask::EMPTY }.encode());
            let ask = Ask { data, ..Ask::get(RequestTarget::Node(node), AttributeId::LaneStatus, modifier) };
            exchange.submit(self.request_of(ask, tag)??);
        }
        let (mut readings, mut refusal) = (Vec::new(), None);
        self.run(&mut exchange, |_, done| match answered_or_failed(done) {
            Ok((request, answer)) => {
                let drained = LaneStatus::decode(smp_data(&answer)).drained_outputs;
                let device = order[request.tag as usize];
                readings.push(LaneReading { device, asked_ns, answered_ns: 0, lanes, drained });
            }
            Err(failed) if failed.status.is_none() => {}
            Err(failed) => refusal = Some(failed),
        })
        .await?;
        if let Some(failed) = refusal {
            return Err(self.explain(failed));
        }
        let answered_ns = self.transport.now_ns();
        readings.iter_mut().for_each(|reading| reading.answered_ns = answered_ns);
        Ok(readings)
    }
}
