//! Drain by tokens: the manager writes the arcs of the retiring routing function to the switches, the devices of the
//! sources start the tokens, and the leaves report them; twice, for requests and for the replies that they caused
//! (P4.4). Reports can be lost, so silent leaves are asked (D.3).

use super::smp_data;
use crate::drain::{DrainGraph, Drained, Ticket, TokenJudge, TokenReading, Verdict};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{PortNum, VlSet};
use crate::subnet::manager::{Manager, TokenReport};
use crate::subnet::{Ask, RequestTarget, SubnetError};
use crate::transport::Transport;
use crate::wire::vendor::{ArcBlocks, DrainArcs, DrainToken, PortMask};
use crate::wire::{AttributeId, Method};
use std::collections::BTreeSet;

impl<T: Transport> Manager<T> {
    pub(super) async fn drain_by_tokens(
        &mut self,
        ticket: Ticket,
        graph: &DrainGraph,
        lanes: VlSet,
    ) -> Result<Drained, SubnetError> {
        // Reports of an earlier drain may have arrived: they belong to no round of this one.
        self.token_reports.clear();
        self.write_arcs(graph).await?;
        let mut judge = TokenJudge::new(ticket, lanes, graph.leaves());
        // A leaf without its cable never reports; packets on their way there are gone too (P4.3).
        for &leaf in graph.leaves().iter().filter(|&&leaf| !self.is_linked(leaf)) {
            judge.excuse(leaf);
        }
        while let Some(round) = judge.round() {
            tracing::debug!(round, "drain tokens start");
            self.start_tokens(graph, round, lanes).await?;
            self.await_round(&mut judge, round, lanes).await?;
            self.confirm_round(graph, round, lanes).await?;
        }
        match judge.verdict() {
            Verdict::Proof(drained) => Ok(drained),
            // Both rounds are complete, so nothing can be pending.
            Verdict::Pending | Verdict::NoVerdict(_) => unreachable!("a judge whose rounds are over has its proof"),
        }
    }

    /// Writes every block of every switch, even those without arcs: an earlier change may have left some.
    async fn write_arcs(&mut self, graph: &DrainGraph) -> Result<(), SubnetError> {
        let fabric = &self.topology("draining")?.fabric;
        let mut asks = Vec::new();
        for switch in self.live_switches()? {
            let set = |(block, arcs): (u32, DrainArcs)| {
                Ask::set(RequestTarget::Node(switch), AttributeId::DrainArcs, block, arcs.encode())
            };
            asks.extend(arc_blocks(fabric, graph, switch).into_iter().map(set));
        }
        self.put(asks).await?;
        // A late copy must not land in the next change.
        self.await_quiet().await?;
        Ok(())
    }

    async fn start_tokens(&mut self, graph: &DrainGraph, round: u32, lanes: VlSet) -> Result<(), SubnetError> {
        // If no live channel leads into a channel, only its own device fed it. No arriving token then makes the device
        // send one, so it must be ordered to (D.2).
        let devices: BTreeSet<NodeId> = graph
            .channels()
            .iter()
            .filter(|channel| self.is_linked(channel.channel))
            .filter(|channel| {
                let live = |&before: &u32| self.is_linked(graph.channels()[before as usize].channel);
                !channel.predecessors.iter().any(live)
            })
            .map(|channel| channel.sender)
            .collect();
        self.put_tokens(&devices, Method::Set, round, lanes).await?;
        Ok(())
    }

    /// Has these devices start the tokens of a round, or asks them about it. The answers are in their order.
    async fn put_tokens(
        &mut self,
        devices: &BTreeSet<NodeId>,
        method: Method,
        round: u32,
        lanes: VlSet,
    ) -> Result<Vec<DrainToken>, SubnetError> {
        let data = DrainToken::new(round, lanes).encode();
        let token = |&node| Ask { method, ..Ask::set(RequestTarget::Node(node), AttributeId::DrainToken, 0, data) };
        let answers = self.put(devices.iter().map(token)).await?;
        Ok(answers.iter().map(|answer| DrainToken::decode(smp_data(answer))).collect())
    }

    /// Collects reports until the round is complete. Asks leaves that stay silent for an SMP's time-out (D.3).
    async fn await_round(&mut self, judge: &mut TokenJudge, round: u32, lanes: VlSet) -> Result<(), SubnetError> {
        let wait = self.begin_wait(format!("drain of lanes {lanes}, by tokens"));
        let mut ask_at_ns = wait.begin_ns.saturating_add(self.timing.timeout_ns);
        loop {
            for report in std::mem::take(&mut self.token_reports) {
                if let Some(reading) = self.reading_of(&report) {
                    judge.fold(&reading);
                }
            }
            if let Verdict::NoVerdict(reason) = judge.verdict() {
                return Err(self.no_verdict(&wait, &reason));
            }
            if judge.round() != Some(round) {
                return Ok(());
            }
            // Reports come unrequested, outside any exchange, so this loop reads the transport itself.
            if let Some(datagram) = self.recv(ask_at_ns).await? {
                let answer = self.dispatch(datagram).await?;
                self.counts.late += u64::from(answer.is_some());
                continue;
            }
            let now_ns = self.transport.now_ns();
            if now_ns - wait.begin_ns >= self.timing.barrier_ns {
                let waiting: Vec<PortId> = judge.waiting().collect();
                let missing = format!("{} leaves, first behind {}", waiting.len(), self.describe_port(waiting[0]));
                return Err(self.timed_out(&wait, missing));
            }
            self.ask_leaves(judge, lanes).await?;
            ask_at_ns = self.transport.now_ns().saturating_add(self.timing.timeout_ns);
        }
    }

    /// Asks the device at the end of every channel whether the channel's token arrived and the input is empty. The
    /// leaves' reports alone do not suffice: if something died after the plan was made, packets on their way there
    /// stand behind a channel for which the plan has no leaf.
    async fn confirm_round(&mut self, graph: &DrainGraph, round: u32, lanes: VlSet) -> Result<(), SubnetError> {
        let mut wait = self.begin_wait(format!("drain of lanes {lanes}, by tokens"));
        let mut open: Vec<(NodeId, PortNum)> = graph
            .channels()
            .iter()
            .filter(|channel| self.is_linked(channel.channel))
            .map(|channel| (channel.receiver, channel.receiver_num))
            .collect();
        loop {
            let devices: BTreeSet<NodeId> = open.iter().map(|&(device, _)| device).collect();
            let tokens = self.put_tokens(&devices, Method::Get, round, lanes).await?;
            for (&device, token) in devices.iter().zip(tokens) {
                // A device that does not know this round answers for an earlier one, which proves nothing about this
                // one.
                let current = (token.round, token.lanes) == (round, lanes);
                open.retain(|&(node, num)| node != device || !current || !token.inputs_done.contains(num));
            }
            if open.is_empty() {
                return Ok(());
            }
            let missing = format!("{} channels have not seen their token, or hold packets behind it", open.len());
            self.pause(&mut wait, || missing).await?;
        }
    }

    async fn ask_leaves(&mut self, judge: &mut TokenJudge, lanes: VlSet) -> Result<(), SubnetError> {
        let Some(round) = judge.round() else { return Ok(()) };
        let fabric = &self.topology("draining")?.fabric;
        // The port at the end of each leaf channel; its device is the one that reports.
        let ends: Vec<(PortId, PortId)> =
            judge.waiting().filter_map(|leaf| fabric.peer(leaf).map(|end| (leaf, end))).collect();
        let devices: BTreeSet<NodeId> = ends.iter().map(|&(_, end)| fabric.port(end).node).collect();
        let tokens = self.put_tokens(&devices, Method::Get, round, lanes).await?;
        let fabric = &self.topology("draining")?.fabric;
        for (&device, token) in devices.iter().zip(tokens) {
            for &(channel, end) in ends.iter().filter(|&&(_, end)| fabric.port(end).node == device) {
                let complete = token.inputs_done.contains(fabric.port(end).num);
                judge.fold(&TokenReading { channel, round: token.round, lanes: token.lanes, complete });
            }
        }
        Ok(())
    }

    /// A report in terms of the fabric; none if no port has its LID or number.
    fn reading_of(&self, report: &TokenReport) -> Option<TokenReading> {
        let fabric = &self.topology.as_ref()?.fabric;
        let node = fabric.port(fabric.lid_owner(report.lid)?).node;
        let channel = fabric.peer(fabric.port_at(node, report.port)?)?;
        let DrainToken { round, lanes, .. } = report.token;
        Some(TokenReading { channel, round, lanes, complete: true })
    }
}

/// The blocks of one switch: by input, the outputs of packets of the retiring routing function, limited to cables that
/// are still present.
fn arc_blocks(fabric: &Fabric, graph: &DrainGraph, switch: NodeId) -> Vec<(u32, DrainArcs)> {
    let blocks = ArcBlocks::of(fabric.node(switch).num_ports);
    let linked = |num| fabric.port_at(switch, num).is_some_and(|port| fabric.peer(port).is_some());
    let masks = graph.arcs().get(&switch);
    let filled = |block| {
        let mut arcs = DrainArcs::EMPTY;
        for input in blocks.inputs(block).filter(|&input| linked(input)) {
            if let Some(mask) = masks.and_then(|masks| masks.get(input.index())) {
                let outputs: PortMask = mask.iter().filter(|&num| linked(num)).collect();
                arcs.set_outputs(blocks, input, &outputs);
            }
        }
        (block, arcs)
    };
    (0..blocks.count()).map(filled).collect()
}
