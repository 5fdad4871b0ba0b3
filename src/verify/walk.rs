//! Follows one class of packets after the other through all stages: from every source that sends it, through every
//! mixture of old and new entries, onto every lane that a mixture of old and new SL-to-VL tables allows. This is the
//! closure of docs/PROOF.md, as prover and audit compute it. The certificate's checker has code of its own by intent;
//! and a search for waves follows one LID by `repair::occupancy`, whose result is judged by the prover.
//!
//! On entry: a flat fabric, the lanes of every hop, the entries of every switch for the current DLID, and [`Senders`],
//! which specify the sources of a stage and the packets that the stage before leaves. A *stage* is the moment before
//! the change (0) or a part of the change in which any mixture may be in force (from 1 on). On return a [`Sink`] has
//! received every hop that can happen and every end that is no delivery; it decides whether the first fault ends the
//! walk. Deliberately omitted: which classes there are, and what a fault means (`proof_walk` for a proof, `audit` for
//! an audit).

use super::lanes::{DISCARD, HopLanes, LaneMask, lanes_of};
use super::net::{Exit, FlatFabric, Head};
use super::refusal::EntryAge;
use crate::fabric::PortId;
use crate::ids::{Lid, PortNum};
use std::ops::Range;

/// Packets that look alike to every switch: one DLID, and service levels that no table distinguishes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Class {
    pub lid: Lid,
    /// The owner of the DLID.
    pub owner: PortId,
    /// Index into the groups of [`HopLanes`].
    pub group: usize,
}

/// The class and the stage in hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now<'a> {
    pub class: &'a Class,
    pub stage: usize,
}

/// Packets that stand together at an input of a switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassPackets<O> {
    /// The lanes in which they stand; none for those of the switch itself, at input 0.
    pub from: LaneMask,
    /// Whether the loss of one of them for want of a route is a fault.
    pub firm: bool,
    /// A source that may have sent them, where the walk records that.
    pub origin: O,
}

/// One possible hop of a class: packets in the input, on any lane of `from`, can take the output, on any lane of `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassHop<O = ()> {
    pub stage: usize,
    pub row: usize,
    pub input: PortNum,
    pub from: LaneMask,
    pub output: PortNum,
    pub to: LaneMask,
    /// A source that may have sent the packets.
    pub origin: O,
}

/// Packets of every end port at a switch that treats its inputs alike enter an output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entrance {
    pub stage: usize,
    pub row: usize,
    pub channel: usize,
    pub to: LaneMask,
}

/// An end that is no delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DeadEnd {
    /// A switch has no way on, or one into a cable that died. `firm`: see [`ClassPackets`].
    Hole { row: usize, exit: Exit, firm: bool },
    /// A switch discards packets that are to leave by the port they came in by. `from` is the row that sent them, with
    /// its output.
    TurnedBack { row: usize, port: PortNum, from: (usize, PortNum) },
    /// A switch discards for want of a lane.
    Laneless { row: usize, input: PortNum, output: PortNum },
    /// A source discards for want of a lane.
    Unsent { source: PortId },
    /// Packets come to a port that does not own the DLID.
    Wrong { at: PortId },
}

/// Receives everything that can happen. `O` is the type of a packet's recorded origin.
pub(crate) trait Sink<O = ()> {
    /// Whether only the first fault matters. If so, packets do not enter a channel that leads to a wrong port;
    /// otherwise they do, and the walk follows them to their end.
    const STOPS: bool = false;

    /// A packet already in a lane hops on.
    fn hop(&mut self, class: &Class, columns: &Columns, hop: &ClassHop<O>);
    /// See [`Entrance`].
    #[inline]
    fn enter(&mut self, _class: &Class, _entrance: Entrance) {}
    /// A packet ends where it should not.
    fn dead_end(&mut self, _now: Now<'_>, _columns: &Columns, _end: DeadEnd) {}
    /// Reports the places that packets of the class can occupy at a stage: channels, and by channel the lanes.
    fn occupied(&mut self, _now: Now<'_>, _channels: &[u32], _lanes: &[LaneMask]) {}
    /// Nothing happens at a stage that did not happen at the one before.
    fn repeat(&mut self, _stage: usize) {}
    /// Returns whether hops must be repeated for stages that repeat the one before.
    fn hears_repeats(&self) -> bool {
        true
    }
    /// The first stage that no longer matters.
    fn limit(&self) -> usize {
        usize::MAX
    }
}

/// Two sinks of the same walk; the second is optional. For sinks below the prover's judge, which takes dead ends
/// itself: neither may have a limit or end the walk.
pub(crate) struct Both<A, B>(pub A, pub Option<B>);

impl<A: Sink, B: Sink> Sink for Both<A, B> {
    #[inline]
    fn hop(&mut self, class: &Class, columns: &Columns, hop: &ClassHop) {
        self.0.hop(class, columns, hop);
        self.1.iter_mut().for_each(|second| second.hop(class, columns, hop));
    }

    #[inline]
    fn enter(&mut self, class: &Class, entrance: Entrance) {
        self.0.enter(class, entrance);
        self.1.iter_mut().for_each(|second| second.enter(class, entrance));
    }

    fn occupied(&mut self, now: Now<'_>, channels: &[u32], lanes: &[LaneMask]) {
        self.0.occupied(now, channels, lanes);
        self.1.iter_mut().for_each(|second| second.occupied(now, channels, lanes));
    }

    fn repeat(&mut self, stage: usize) {
        self.0.repeat(stage);
        self.1.iter_mut().for_each(|second| second.repeat(stage));
    }

    fn hears_repeats(&self) -> bool {
        self.0.hears_repeats() || self.1.as_ref().is_some_and(Sink::hears_repeats)
    }
}

/// The senders of each stage, and the packets that last from one stage to the next.
pub(crate) trait Senders<O> {
    /// Of the lanes that packets of the class could occupy at the stage before, those in which they may still stand
    /// when this stage begins.
    fn left(&self, now: Now<'_>) -> LaneMask;

    /// Returns whether a stage allows the class exactly the steps that the stage before allowed; `occupied` are the
    /// channels that the class could occupy there.
    fn repeats(&self, _now: Now<'_>, _columns: &Columns, _occupied: &[u32]) -> bool {
        false
    }

    /// Sends the class from every source: by [`Walk::forward`], [`Walk::send_together`] and [`Walk::occupy`].
    fn send(&self, now: Now<'_>, walk: &mut Walk<'_, O>, sink: &mut impl Sink<O>);
}

/// Output ports for one DLID at every switch, at every stage: old and new.
#[derive(PartialEq)]
pub(crate) struct Columns {
    rows: usize,
    outputs: Vec<[PortNum; 2]>,
}

impl Columns {
    /// Columns to be filled for one LID after the other.
    pub fn new(rows: usize, stages: usize) -> Columns {
        Columns { rows, outputs: vec![[PortNum::NO_ROUTE; 2]; rows * stages] }
    }

    /// The entries of a stage by row, to be filled.
    pub fn column(&mut self, stage: usize) -> &mut [[PortNum; 2]] {
        &mut self.outputs[stage * self.rows..(stage + 1) * self.rows]
    }

    /// Has a stage begin, and end, with the entries that ended the stage before.
    pub fn keep(&mut self, stage: usize) {
        let (earlier, column) = self.outputs.split_at_mut(stage * self.rows);
        let ended = &earlier[(stage - 1) * self.rows..];
        column.iter_mut().zip(ended).for_each(|(entry, &[_, new])| *entry = [new, new]);
    }

    /// Old and new output port at a switch; [`PortNum::NO_ROUTE`] for none.
    #[inline]
    pub fn at(&self, stage: usize, row: usize) -> [PortNum; 2] {
        self.outputs[stage * self.rows + row]
    }

    /// The outputs of a switch, once where old and new agree.
    #[inline]
    pub fn choices(&self, stage: usize, row: usize) -> impl Iterator<Item = PortNum> + use<> {
        let [old, new] = self.at(stage, row);
        std::iter::once(old).chain((old != new).then_some(new))
    }

    /// Returns whether all entries are at a stage what they were at the one before.
    pub fn repeats(&self, stage: usize) -> bool {
        let column = |stage: usize| &self.outputs[stage * self.rows..(stage + 1) * self.rows];
        column(stage) == column(stage - 1)
    }

    /// Returns whether a stage changes the entry of a switch.
    #[inline]
    pub fn changes(&self, stage: usize, row: usize) -> bool {
        let [old, new] = self.at(stage, row);
        old != new
    }

    /// The entry that names an output port.
    #[inline]
    pub fn entry(&self, stage: usize, row: usize, output: PortNum) -> EntryAge {
        let [old, new] = self.at(stage, row);
        EntryAge::of(&old, &new, &output)
    }
}

/// Packets in a channel that the walk has not followed yet.
#[derive(Clone, Copy)]
struct Standing<O> {
    channel: u32,
    lanes: LaneMask,
    origin: O,
}

/// A way through a switch.
#[derive(Clone, Copy)]
struct SwitchTurn {
    row: usize,
    input: PortNum,
    output: PortNum,
}

/// One class on its way.
pub(crate) struct Walk<'a, O = ()> {
    pub net: &'a FlatFabric,
    pub lanes: &'a HopLanes,
    /// The entries for the DLID in hand.
    pub columns: Columns,
    stages: Range<usize>,
    /// By channel: lanes that the class can occupy; of injection channels, those that [`Walk::occupy`] was called for.
    pub occupied: Vec<LaneMask>,
    /// Channels of which some lane is occupied.
    pub touched: Vec<u32>,
    /// Lanes that are occupied and not followed yet. Each lane is pushed at most once in each stage, so the walk ends.
    stack: Vec<Standing<O>>,
    /// By lane: the first sender of packets that can stand there. Kept only where a later stage begins with them.
    origins: Vec<O>,
    /// The origin where none is recorded.
    nobody: O,
}

impl<'a, O: Copy + PartialEq> Walk<'a, O> {
    /// A walk through some stages. `nobody` is the origin of lanes into which nothing was sent.
    pub fn new(net: &'a FlatFabric, lanes: &'a HopLanes, stages: Range<usize>, nobody: O) -> Walk<'a, O> {
        let kept = if stages.len() > 1 { net.channels() * lanes.vls } else { 0 };
        Walk {
            net,
            lanes,
            columns: Columns::new(net.rows.len(), stages.end),
            stages,
            occupied: vec![0; net.channels()],
            touched: Vec::new(),
            stack: Vec::new(),
            origins: vec![nobody; kept],
            nobody,
        }
    }

    /// Follows a class through all stages. The lanes that it can occupy at the last one remain until [`Walk::clear`].
    pub fn follow(&mut self, class: &Class, senders: &impl Senders<O>, sink: &mut impl Sink<O>) {
        // The limit is read once: a fault that this class causes shortens the walk of later classes, not of this one.
        let stages = self.stages.start..self.stages.end.min(sink.limit());
        for stage in stages {
            let now = Now { class, stage };
            // The occupied lanes are a least fixed point of the packets left, sent and passed on. Where none of the
            // three changes, neither does it.
            if !sink.hears_repeats() && senders.repeats(now, &self.columns, &self.touched) {
                sink.repeat(stage);
            } else {
                self.carry_over(now, senders.left(now));
                senders.send(now, self, sink);
                self.drain(now, sink);
            }
            sink.occupied(now, &self.touched, &self.occupied);
        }
    }

    /// Forgets the class.
    pub fn clear(&mut self) {
        self.touched.drain(..).for_each(|channel| self.occupied[channel as usize] = 0);
    }

    /// Rule 1 of the closure: this stage begins with the packets that the stage before left. All of them must be
    /// followed again, since they meet other entries now.
    fn carry_over(&mut self, now: Now<'_>, left: LaneMask) {
        let (net, vls, occupied) = (self.net, self.lanes.vls, &mut self.occupied);
        // The lanes that the barrier leaves occupied (E and G in docs/PROOF.md), less the channels that died with the
        // change.
        self.touched.retain(|&channel| {
            let lanes = &mut occupied[channel as usize];
            *lanes &= if net.exists(now.stage, channel as usize) { left } else { 0 };
            *lanes != 0
        });
        for &channel in &self.touched {
            if size_of::<O>() == 0 {
                let origin = self.nobody;
                self.stack.push(Standing { channel, lanes: self.occupied[channel as usize], origin });
                continue;
            }
            // Neighbouring lanes of one origin become one entry of the stack: a hop costs per entry, not per lane.
            // Origins are recorded whenever a later stage exists, so those read here are never the initial ones.
            let mut run: Option<Standing<O>> = None;
            for lane in lanes_of(self.occupied[channel as usize]) {
                let origin = self.origins[channel as usize * vls + lane];
                match &mut run {
                    Some(same) if same.origin == origin => same.lanes |= 1 << lane,
                    _ => self.stack.extend(run.replace(Standing { channel, lanes: 1 << lane, origin })),
                }
            }
            self.stack.extend(run);
        }
    }

    /// Follows every packet that stands in a channel, and all its consequences.
    pub fn drain(&mut self, now: Now<'_>, sink: &mut impl Sink<O>) {
        while let Some(Standing { channel, lanes, origin }) = self.stack.pop() {
            match self.net.head(now.stage, channel as usize) {
                Head::Switch { row, input } => {
                    // A lane does not record whether its senders are stranded, so from the second switch on every loss
                    // is a fault. That is the stricter reading.
                    let packets = ClassPackets { from: lanes, firm: true, origin };
                    self.forward(now, row as usize, input, packets, sink);
                }
                Head::End(at) if at != now.class.owner => sink.dead_end(now, &self.columns, DeadEnd::Wrong { at }),
                Head::End(_) | Head::Nothing => {}
            }
        }
    }

    /// Sends packets of all end ports at a switch that treats its inputs alike. One input stands for all of them, so
    /// the work is of the order of switches, not of end ports.
    #[inline]
    pub fn send_together(&mut self, now: Now<'_>, row: usize, packets: ClassPackets<O>, sink: &mut impl Sink<O>) {
        for output in self.columns.choices(now.stage, row) {
            // Input 0 stands for every input: callers have verified that the lanes here do not depend on it. No hop
            // is reported, because no single input lane waits; the sink adds a dependency for each source afterwards.
            if let Some(to) = self.take(now, SwitchTurn { row, input: PortNum::ZERO, output }, packets, sink) {
                let channel = self.net.channel(row, output);
                sink.enter(now.class, Entrance { stage: now.stage, row, channel, to });
            }
        }
    }

    /// Rule 3 of the closure: packets in one input of a switch go on by every output that an entry names. Those of
    /// the switch itself (input 0) stand in no lane, so nothing waits for them, and they cause no dependency.
    #[inline]
    pub fn forward(
        &mut self,
        now: Now<'_>,
        row: usize,
        input: PortNum,
        packets: ClassPackets<O>,
        sink: &mut impl Sink<O>,
    ) {
        for output in self.columns.choices(now.stage, row) {
            if output == input
                && let Some(from) = self.turned_back_to(now.stage, row, input)
            {
                // A discarded packet waits for no lane.
                sink.dead_end(now, &self.columns, DeadEnd::TurnedBack { row, port: input, from });
                continue;
            }
            let taken = self.take(now, SwitchTurn { row, input, output }, packets, sink);
            if let Some(to) = taken
                && input != PortNum::ZERO
            {
                let ClassPackets { from, origin, .. } = packets;
                let hop = ClassHop { stage: now.stage, row, input, from, output, to, origin };
                sink.hop(now.class, &self.columns, &hop);
            }
        }
    }

    /// The switch from which packets come by an input, with its output, where those that are to leave by it again are
    /// discarded.
    #[inline]
    fn turned_back_to(&self, stage: usize, row: usize, input: PortNum) -> Option<(usize, PortNum)> {
        match self.net.exit(stage, row, input) {
            Exit::Channel(back) if self.net.discards_turned_back => match self.net.head(stage, back) {
                // The head of the channel back is the port that sends into the input.
                Head::Switch { row, input } => Some((row as usize, input)),
                Head::End(_) | Head::Nothing => None,
            },
            _ => None,
        }
    }

    /// Takes an output of a switch. Returns the lanes that packets can take there; none where they end here.
    #[inline]
    fn take<S: Sink<O>>(
        &mut self,
        now: Now<'_>,
        turn: SwitchTurn,
        packets: ClassPackets<O>,
        sink: &mut S,
    ) -> Option<LaneMask> {
        let (Now { class, stage }, SwitchTurn { row, input, output }) = (now, turn);
        match self.net.exit(stage, row, output) {
            Exit::Channel(channel) => {
                // A proof reports the wrong arrival before anything enters the channel: what follows from a fault is
                // not judged.
                if S::STOPS
                    && let Head::End(at) = self.net.head(stage, channel)
                    && at != class.owner
                {
                    sink.dead_end(now, &self.columns, DeadEnd::Wrong { at });
                    return None;
                }
                let lanes = self.lanes.at_switch(stage, row, class.group, input, output);
                // Discarding is only one of the mixtures. The lanes of the others are followed all the same.
                if lanes & DISCARD != 0 {
                    sink.dead_end(now, &self.columns, DeadEnd::Laneless { row, input, output });
                }
                self.occupy(stage, channel, lanes & !DISCARD, packets.origin);
                return Some(lanes & !DISCARD);
            }
            Exit::Own => {
                let at = PortId(self.net.first_port[row]);
                if at != class.owner {
                    sink.dead_end(now, &self.columns, DeadEnd::Wrong { at });
                }
            }
            exit @ (Exit::NoRoute | Exit::NoCable(_) | Exit::Died(_)) => {
                sink.dead_end(now, &self.columns, DeadEnd::Hole { row, exit, firm: packets.firm });
            }
        }
        None
    }

    /// Marks lanes of a channel as occupied. Those that the class did not occupy yet are to be followed.
    #[inline]
    pub fn occupy(&mut self, stage: usize, channel: usize, lanes: LaneMask, origin: O) {
        let own = &mut self.occupied[channel];
        // Occupied lanes only grow within a stage and are finite, so this is where the least fixed point is reached.
        let fresh = lanes & !*own;
        if fresh == 0 {
            return;
        }
        if *own == 0 {
            self.touched.push(channel as u32);
        }
        *own |= fresh;
        self.stack.push(Standing { channel: channel as u32, lanes: fresh, origin });
        // The first origin stays: within a stage a lane is fresh once, and evidence must not depend on later senders.
        if size_of::<O>() > 0 && stage + 1 < self.stages.end {
            let vls = self.lanes.vls;
            lanes_of(fresh).for_each(|lane| self.origins[channel * vls + lane] = origin);
        }
    }
}
