//! Drained by tokens: the switches are told the arcs of the retiring routing function, the sources' devices start the
//! tokens, the leaves report them; twice, for requests and for the replies they caused. Reports can be lost, so leaves
//! that stay silent are asked.

use super::smp_data;
use crate::drain::{DrainGraph, Drained, Ticket, TokenJudge, TokenReading, Verdict};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{PortNum, VlSet};
use crate::subnet::SubnetError;
use crate::subnet::exchange::MadRequest;
use crate::subnet::manager::{Manager, TokenReport};
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
        self.token_reports.clear();
        self.tell_arcs(graph).await?;
        let mut judge = TokenJudge::new(ticket, lanes, graph.leaves());
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

    /// Writes every block of every switch, those without arcs too: an earlier change may have left some.
    async fn tell_arcs(&mut self, graph: &DrainGraph) -> Result<(), SubnetError> {
        let mut requests = Vec::new();
        for switch in self.live_switches()? {
            let fabric = &self.topology("draining")?.fabric;
            for (block, arcs) in arc_blocks(fabric, graph, switch) {
                requests.push(self.to_node(switch, Method::Set, AttributeId::DrainArcs, block, arcs.encode())?);
            }
        }
        self.ask_all(requests).await?;
        // A late copy must not fall into the next change.
        self.quieten().await?;
        Ok(())
    }

    async fn start_tokens(&mut self, graph: &DrainGraph, round: u32, lanes: VlSet) -> Result<(), SubnetError> {
        // Where no live channel leads into one, only the device's own sources fed it: nobody else can start its token.
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
        let data = DrainToken::new(round, lanes).encode();
        let start = |&node: &NodeId| self.to_node(node, Method::Set, AttributeId::DrainToken, 0, data);
        let requests = devices.iter().map(start).collect::<Result<Vec<MadRequest>, _>>()?;
        self.ask_all(requests).await?;
        Ok(())
    }

    /// Takes reports in until the round is complete; asks leaves that were silent for the time of an SMP's answer.
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
            if let Some(datagram) = self.transport.recv(ask_at_ns).await? {
                let answer = self.sort_in(datagram).await?;
                self.counts.late += u64::from(answer.is_some());
                continue;
            }
            let now_ns = self.transport.now_ns();
            if now_ns - wait.begin_ns >= self.timing.barrier_ns {
                let waiting: Vec<PortId> = judge.waiting().collect();
                let missing = format!("{} leaves, first behind {}", waiting.len(), self.port_name(waiting[0]));
                return Err(self.out_of_patience(&wait, missing));
            }
            self.ask_leaves(judge, lanes).await?;
            ask_at_ns = self.transport.now_ns().saturating_add(self.timing.timeout_ns);
        }
    }

    /// Asks every device that a channel leads into whether its token came and nothing stands behind it. The leaves'
    /// reports alone would not do: where something died after the plan was made, what was on its way there is behind a
    /// channel that the plan knew no leaf for.
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
            let data = DrainToken::new(round, lanes).encode();
            let ask = |&node: &NodeId| self.to_node(node, Method::Get, AttributeId::DrainToken, 0, data);
            let requests = devices.iter().map(ask).collect::<Result<Vec<_>, _>>()?;
            let answers = self.ask_all(requests).await?;
            for (&device, answer) in devices.iter().zip(&answers) {
                let token = DrainToken::decode(smp_data(answer));
                // A device that has not heard of this round speaks of an earlier one, which says nothing of this.
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
        // What a leaf channel leads to: the device that reports, and its port.
        let ends: Vec<(PortId, PortId)> =
            judge.waiting().filter_map(|leaf| fabric.peer(leaf).map(|end| (leaf, end))).collect();
        let devices: BTreeSet<NodeId> = ends.iter().map(|&(_, end)| fabric.port(end).node).collect();
        let data = DrainToken::new(round, lanes).encode();
        let ask = |&node: &NodeId| self.to_node(node, Method::Get, AttributeId::DrainToken, 0, data);
        let requests = devices.iter().map(ask).collect::<Result<Vec<_>, _>>()?;
        let answers = self.ask_all(requests).await?;
        let fabric = &self.topology("draining")?.fabric;
        for (&device, answer) in devices.iter().zip(&answers) {
            let token = DrainToken::decode(smp_data(answer));
            for &(channel, end) in ends.iter().filter(|&&(_, end)| fabric.port(end).node == device) {
                let complete = token.inputs_done.contains(fabric.port(end).num);
                judge.fold(&TokenReading { channel, round: token.round, lanes: token.lanes, complete });
            }
        }
        Ok(())
    }

    /// A report in the fabric's terms; none where its LID or port is nobody's.
    fn reading_of(&self, report: &TokenReport) -> Option<TokenReading> {
        let fabric = &self.topology.as_ref()?.fabric;
        let node = fabric.port(fabric.lid_owner(report.lid)?).node;
        let channel = fabric.peer(fabric.port_at(node, report.port)?)?;
        let DrainToken { round, lanes, .. } = report.token;
        Some(TokenReading { channel, round, lanes, complete: true })
    }
}

/// The blocks of one switch: by input, the outputs that packets of the retiring routing function take, among the cables
/// that are still there.
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
