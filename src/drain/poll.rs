//! Polling: devices are asked in the order of the channel dependency graph. A channel runs empty for good once
//! nothing can come into it any more, so a reading counts only when it was asked for after all predecessors were
//! found empty. Two passes: the replies that requests caused start anew at the sources.

use super::{ChannelId, DeviceId, DrainGraph, Drained, Observer, PortMask, Ticket, Verdict};
use crate::ids::VlSet;
use std::collections::{BTreeMap, BTreeSet};

/// One device's answer about its outputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneReading {
    /// The device that answers.
    pub device: DeviceId,
    /// When it was asked, in nanoseconds of the transport's clock.
    pub asked_ns: u64,
    /// When its answer came.
    pub answered_ns: u64,
    /// The lanes it speaks of.
    pub lanes: VlSet,
    /// The outputs for which nothing is queued or latched on those lanes, and every credit is back.
    pub drained: PortMask,
}

/// Follows the channels in order, twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PollJudge<'a> {
    ticket: Ticket,
    lanes: VlSet,
    graph: &'a DrainGraph,
    /// By position of the predecessor.
    successors: Vec<Vec<u32>>,
    excused: BTreeSet<ChannelId>,
    /// Passes complete: 0 to 2.
    passes: usize,
    /// By position: predecessors not yet found empty in this pass.
    missing: Vec<u32>,
    /// By position: when the last of what must come first was found empty.
    ready_ns: Vec<u64>,
    /// By position.
    empty: Vec<bool>,
    left: usize,
    /// When the last channel of this pass was found empty.
    last_ns: u64,
}

const PASSES: usize = 2;

impl<'a> PollJudge<'a> {
    /// A judge of `lanes` over the channels of `graph`; readings asked for before `since_ns` count for nothing.
    pub fn new(ticket: Ticket, lanes: VlSet, graph: &'a DrainGraph, since_ns: u64) -> PollJudge<'a> {
        let channels = graph.channels();
        let mut successors = vec![Vec::new(); channels.len()];
        for (channel, place) in channels.iter().zip(0u32..) {
            channel.predecessors.iter().for_each(|&before| successors[before as usize].push(place));
        }
        let excused = BTreeSet::new();
        let mut judge = PollJudge {
            ticket,
            lanes,
            graph,
            successors,
            excused,
            passes: 0,
            missing: Vec::new(),
            ready_ns: Vec::new(),
            empty: Vec::new(),
            left: 0,
            last_ns: since_ns,
        };
        judge.begin_pass();
        judge
    }

    fn begin_pass(&mut self) {
        let channels = self.graph.channels();
        self.missing = channels.iter().map(|channel| channel.predecessors.len() as u32).collect();
        self.ready_ns = vec![self.last_ns; channels.len()];
        self.empty = vec![false; channels.len()];
        self.left = channels.len();
        if self.left == 0 {
            // No channel, no request, hence no reply.
            self.passes = PASSES;
        }
        let excused: Vec<_> = (0..channels.len()).filter(|&at| self.excused.contains(&channels[at].channel)).collect();
        // The second pass begins when the last channel of the first was found empty. By then every request has arrived
        // at its responder, and a reply that is owed counts as one that waits in its send queue (docs/WIRE.md).
        let since_ns = self.last_ns;
        excused.into_iter().for_each(|at| self.mark_empty(at, since_ns));
        self.end_pass();
    }

    /// Takes one answer in.
    pub fn fold(&mut self, reading: &LaneReading) {
        if reading.lanes != self.lanes || self.passes == PASSES {
            return;
        }
        for &place in self.graph.sent_by(reading.device) {
            let at = place as usize;
            // Of a device asked earlier the answer may be older than the last packet that a predecessor sent it.
            let counts = self.missing[at] == 0 && reading.asked_ns >= self.ready_ns[at];
            let channel = &self.graph.channels()[at];
            if counts && !self.empty[at] && reading.drained.contains(channel.num) {
                self.mark_empty(at, reading.answered_ns.max(reading.asked_ns));
            }
        }
        self.end_pass();
    }

    fn mark_empty(&mut self, at: usize, when_ns: u64) {
        if std::mem::replace(&mut self.empty[at], true) {
            return;
        }
        self.left -= 1;
        self.last_ns = self.last_ns.max(when_ns);
        for i in 0..self.successors[at].len() {
            let next = self.successors[at][i] as usize;
            self.missing[next] -= 1;
            self.ready_ns[next] = self.ready_ns[next].max(when_ns);
        }
    }

    fn end_pass(&mut self) {
        if self.left == 0 && self.passes < PASSES {
            self.passes += 1;
            if self.passes < PASSES {
                self.begin_pass();
            }
        }
    }

    /// The channel died: it holds nothing.
    pub fn excuse(&mut self, channel: ChannelId) {
        if !self.excused.insert(channel) || self.passes == PASSES {
            return;
        }
        if let Some(at) = self.graph.channels().iter().position(|other| other.channel == channel) {
            // Predecessors may still send towards it, but nothing passes: it delays no successor.
            self.mark_empty(at, self.ready_ns[at]);
            self.end_pass();
        }
    }

    /// The devices to ask now: those that send into a channel all of whose predecessors are empty, each with its
    /// outputs to such channels.
    pub fn frontier(&self) -> BTreeMap<DeviceId, PortMask> {
        let mut frontier: BTreeMap<DeviceId, PortMask> = BTreeMap::new();
        for at in (0..self.empty.len()).filter(|&at| !self.empty[at] && self.missing[at] == 0) {
            let channel = &self.graph.channels()[at];
            frontier.entry(channel.sender).or_insert(PortMask::EMPTY).insert(channel.num);
        }
        frontier
    }

    /// The verdict that the answers allow.
    pub fn verdict(&self) -> Verdict<Drained> {
        if self.passes < PASSES {
            return Verdict::Pending;
        }
        Verdict::Proof(Drained { ticket: self.ticket, lanes: self.lanes, observer: Observer::Poll })
    }
}

#[cfg(test)]
mod tests {
    use super::super::NoVerdict;
    use super::super::testing::{chain, num};
    use super::*;

    const A: VlSet = VlSet(0b0011);

    /// A reading that says that the device's channel is empty.
    fn empty(graph: &DrainGraph, place: usize, asked_ns: u64, answered_ns: u64) -> LaneReading {
        let channel = &graph.channels()[place];
        let drained = [channel.num].into_iter().collect();
        LaneReading { device: channel.sender, asked_ns, answered_ns, lanes: A, drained }
    }

    #[test]
    fn channels_run_empty_in_their_order_twice() {
        let graph = chain();
        let mut judge = PollJudge::new(Ticket(1), A, &graph, 100);
        for pass in 0..2 {
            for place in 0..graph.channels().len() {
                assert_eq!(judge.verdict(), Verdict::Pending);
                assert_eq!(judge.frontier().into_keys().collect::<Vec<_>>(), [graph.channels()[place].sender]);
                let asked_ns = 200 + 100 * (pass * 10 + place as u64);
                judge.fold(&empty(&graph, place, asked_ns, asked_ns + 50));
            }
        }
        assert!(matches!(judge.verdict(), Verdict::Proof(_)));
        assert!(judge.frontier().is_empty());
    }

    #[test]
    fn a_reading_asked_for_before_its_predecessor_was_empty_counts_for_nothing() {
        let graph = chain();
        let mut judge = PollJudge::new(Ticket(1), A, &graph, 0);
        judge.fold(&empty(&graph, 1, 10, 20));
        judge.fold(&empty(&graph, 0, 10, 30));
        // Asked at 29, while channel 0 was found empty at 30: a packet may have come in between.
        judge.fold(&empty(&graph, 1, 29, 40));
        assert_eq!(judge.frontier().into_keys().collect::<Vec<_>>(), [graph.channels()[1].sender]);
        judge.fold(&empty(&graph, 1, 30, 40));
        assert_eq!(judge.frontier().into_keys().collect::<Vec<_>>(), [graph.channels()[2].sender]);
    }

    #[test]
    fn readings_of_the_first_pass_do_not_count_in_the_second() {
        let graph = chain();
        let mut judge = PollJudge::new(Ticket(1), A, &graph, 0);
        let first: Vec<_> =
            (0..3).map(|place| empty(&graph, place, 100 * place as u64, 100 * place as u64 + 9)).collect();
        first.iter().chain(&first).for_each(|reading| judge.fold(reading));
        assert_eq!(judge.verdict(), Verdict::Pending, "the replies start anew at the sources");
    }

    #[test]
    fn readings_of_other_lanes_and_other_outputs_count_for_nothing() {
        let graph = chain();
        let mut judge = PollJudge::new(Ticket(1), A, &graph, 0);
        let reading = empty(&graph, 0, 10, 20);
        judge.fold(&LaneReading { lanes: VlSet(0b1100), ..reading.clone() });
        judge.fold(&LaneReading { drained: [num(9)].into_iter().collect(), ..reading });
        assert_eq!(judge.frontier().into_keys().collect::<Vec<_>>(), [graph.channels()[0].sender]);
    }

    #[test]
    fn a_dead_channel_is_empty_in_both_passes() {
        let graph = chain();
        let mut judge = PollJudge::new(Ticket(1), A, &graph, 0);
        judge.excuse(graph.channels()[1].channel);
        for place in [0, 2, 0, 2] {
            let now_ns = 1000 * judge.last_ns.max(1);
            judge.fold(&empty(&graph, place, now_ns, now_ns + 1));
        }
        assert!(matches!(judge.verdict(), Verdict::Proof(_)));
    }

    #[test]
    fn a_graph_of_no_channels_is_empty() {
        let graph = DrainGraph::default();
        let verdict: Verdict<Drained> = PollJudge::new(Ticket(1), A, &graph, 0).verdict();
        assert!(!matches!(verdict, Verdict::NoVerdict(NoVerdict::OtherLanes { .. }) | Verdict::Pending));
    }
}
