//! Agents in the devices, which make the two barriers provable: flush tokens and drain tokens.
//!
//! **Flush** (docs/PROTOCOL.md, F.2 and F.3): on the order a device sends off every packet that stood in its buffers at
//! that moment, from any lane but those set aside; then it puts a token on each live output, after that data. It is
//! flushed once every live neighbour's token has come and the lanes of the order are empty at every input. **Drain**
//! (D.1 to D.3): a token goes out on an output once every input with an arc to it has its token and holds nothing on
//! the lanes to be drained, and once every input that no token will reach holds nothing either. An input whose link is
//! dead counts as having its token. An input without arcs to a live output is a leaf: it reports to the subnet manager.
//! Tokens never overtake data: they set out when the link has sent what it is sending, and take the routing delay that
//! data takes.
//!
//! Agents decide, and list what is to be sent ([`Effect`]); the simulation sends it in that order.

use super::clock::Clock;
use super::index::{By, Dense, InLane, OutLane};
use super::out_port::OutPort;
use super::plane::DataPlane;
use super::relay::Routers;
use super::source::Sources;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{PortNum, Vl, VlSet};
use crate::wire::PortState;
use crate::wire::vendor::{ArcBlocks, DrainArcs, DrainToken, Flush, LaneStatus, PortMask};

/// A token between neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    /// Follows all that its sender had latched before; the round.
    Flush(u32),
    /// Follows all packets of the lanes to be drained.
    Drain(DrainToken),
}

/// What agents see of their devices.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub clock: &'a Clock,
    pub plane: &'a DataPlane,
    pub sources: &'a Sources,
    pub routers: Option<&'a Routers>,
}

impl Surroundings<'_> {
    fn num(&self, port: PortId) -> PortNum {
        PortNum(self.plane.ports[port].num)
    }

    /// The ports of a node that carry data, or did. A port in INITIALIZE is left out: its cable has just come, and its
    /// neighbour may not know the round (PROTOCOL.md, G.6).
    fn live_ports(&self, node: NodeId) -> impl Iterator<Item = PortId> {
        let carries = |port: &OutPort| port.is_up() && port.state != PortState::Initialize;
        self.plane.ports_of(node).filter(move |&port| carries(&self.plane.ports[port]))
    }

    /// Whether any of these outputs of a switch is alive.
    fn leads_on(&self, node: NodeId, outputs: &PortMask) -> bool {
        outputs.iter().any(|output| self.plane.ports[self.plane.port_at(node, output)].is_up())
    }

    /// Whether a switch still holds packets that came by a cable which has died since. No token comes behind them, and
    /// no neighbour's credits show them.
    fn holds_strays(&self, node: NodeId, lanes: VlSet) -> bool {
        let is_down = |port: &PortId| !self.plane.ports[*port].is_up();
        let holds = |port: PortId| !self.plane.holds_nothing(port, lanes);
        self.plane.is_switch(node) && self.plane.ports_of(node).filter(is_down).any(holds)
    }

    /// Whether a node consumes packets on arrival, as a host does.
    fn consumes(&self, node: NodeId) -> bool {
        !self.plane.is_switch(node) && !self.plane.is_router(node)
    }

    /// The in lanes that hold the packets a node will send: its own; at a router those of all its ports (R.1).
    fn lanes_feeding(&self, node: NodeId) -> Vec<InLane> {
        match self.routers.filter(|_| self.plane.is_router(node)) {
            Some(routers) => routers.lanes_of_router(self.plane, node),
            None => self.plane.lanes_of(node),
        }
    }
}

/// What an agent has to send.
pub(super) enum Effect {
    /// A token into the link of a port.
    Send(PortId, Token),
    /// A report to the subnet manager that a leaf channel, by its port, is drained.
    Report(PortId, DrainToken),
}

/// How far a device is with its own part in a flush.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum FlushStage {
    /// It knows the round; the subnet manager has not ordered it to begin.
    #[default]
    Opened,
    /// It was ordered to begin, and so many packets that stood in its buffers then still do.
    Emptying { before: u32 },
    /// Its tokens are out.
    Sent,
}

/// A device's part in a flush.
#[derive(Clone, Default)]
struct Flushing {
    round: u32,
    lanes: VlSet,
    aside: VlSet,
    stage: FlushStage,
    /// Inputs by which a token of the round has come.
    came: PortMask,
}

/// A device's part in a drain.
#[derive(Clone, Default)]
struct Draining {
    round: u32,
    lanes: VlSet,
    /// The subnet manager has ordered it to send the tokens of its source channels.
    begun: bool,
    /// Inputs by which a token of the round has come.
    came: PortMask,
    /// Outputs whose token has gone out.
    sent: PortMask,
    /// Leaves that have reported.
    reported: PortMask,
}

/// How far a round may lie back and still count as a late copy of an earlier order.
const RECENT: i32 = 1 << 22;

/// Whether a round is new to a device that holds round `known`, 0 for none. Numbers wrap, and a restarted manager may
/// begin low: a round is old only if it lies within [`RECENT`] before `known`, or is `known` itself.
fn is_newer(known: u32, new: u32) -> bool {
    let ahead = new.wrapping_sub(known) as i32;
    known == 0 || !(-RECENT..=0).contains(&ahead)
}

/// The agents of all devices.
pub(super) struct Agents {
    /// Some agent must see packets depart.
    watching: bool,
    /// By node: its agent must see packets depart.
    watched: By<NodeId, bool>,
    /// By node and input: the outputs that packets of the old routing function take from there (D.1).
    arcs: By<NodeId, Vec<PortMask>>,
    flushing: By<NodeId, Flushing>,
    draining: By<NodeId, Draining>,
    /// By in lane: packets that stood there when the flush began, and still do.
    stood: By<InLane, u32>,
    /// What is to be sent.
    effects: Vec<Effect>,
}

impl Agents {
    pub fn new(fabric: &Fabric, lanes: usize) -> Agents {
        Agents {
            watching: false,
            watched: By::filled(false, fabric.node_count()),
            arcs: By::filled(Vec::new(), fabric.node_count()),
            flushing: By::filled(Flushing::default(), fabric.node_count()),
            draining: By::filled(Draining::default(), fabric.node_count()),
            stood: By::filled(0, lanes),
            effects: Vec::new(),
        }
    }

    /// Whether some agent must see packets depart. Outside a round none must, so a hop costs one look at a flag.
    #[inline]
    pub fn watching(&self) -> bool {
        self.watching
    }

    /// A device begins anew, with nothing in its buffers.
    pub fn forget(&mut self, node: NodeId) {
        self.arcs[node].clear();
        self.flushing[node] = Flushing::default();
        self.draining[node] = Draining::default();
        self.watched[node] = false;
        self.watching = self.watched.iter().any(|&watched| watched);
    }

    /// Counts a packet that has left a queue. Where the node's agent watches: whether the packet stood in that queue
    /// when the flush began.
    #[inline]
    pub fn count_departure(&mut self, node: NodeId, lane: InLane) -> Option<bool> {
        let stood = &mut self.stood[lane];
        // Queues are first in, first out, so the first `stood` departures are the packets of F.2.
        let counted = *stood > 0;
        *stood -= u32::from(counted);
        self.watched[node].then_some(counted)
    }

    /// A packet has left a router by the port of this node; `stood` if it stood in the router when the flush began.
    pub fn saw_router_departure(&mut self, at: Surroundings<'_>, node: NodeId, stood: bool) {
        self.goes_on(at, node, stood && matches!(self.flushing[node].stage, FlushStage::Emptying { .. }));
    }

    /// Whether anything is to be sent since the last call of [`Agents::take_effects`].
    #[inline]
    pub fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Takes what is to be sent since the last call.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// A packet has left a device; `stood` where it stood there when the flush began.
    pub fn goes_on(&mut self, at: Surroundings<'_>, node: NodeId, stood: bool) {
        if !self.watched[node] {
            return;
        }
        if stood {
            let FlushStage::Emptying { before } = &mut self.flushing[node].stage else {
                unreachable!("packets are counted as standing only while a device empties its buffers")
            };
            *before -= 1;
            self.flush_goes_on(at, node);
        }
        self.drain_goes_on(at, node);
        self.rest_if_done(at, node);
    }

    /// A token has come to a living device by a port.
    pub fn token_arrives(&mut self, at: Surroundings<'_>, port: PortId, token: Token) {
        let (node, num) = (at.plane.ports[port].node, at.num(port));
        match token {
            Token::Flush(round) => {
                self.enter_flush(at, node, round);
                let flushing = &mut self.flushing[node];
                if flushing.round == round {
                    // A token may come before the manager's order: it opens the round (`enter_flush`) and is kept,
                    // since it comes once.
                    flushing.came.insert(num);
                }
            }
            Token::Drain(token) => {
                self.enter_drain(node, &token);
                if self.draining[node].round == token.round {
                    // An earlier round's token proves nothing about this one, so only tokens of the round held count.
                    self.draining[node].came.insert(num);
                    self.watch(node);
                    self.drain_goes_on(at, node);
                }
            }
        }
    }

    fn watch(&mut self, node: NodeId) {
        self.watched[node] = true;
        self.watching = true;
    }

    /// An agent that has sent and reported all that its rounds require need not see packets any more.
    fn rest_if_done(&mut self, at: Surroundings<'_>, node: NodeId) {
        let flushing = &self.flushing[node];
        let draining = &self.draining[node];
        // Resting too early would lose a token for good. So the agent rests only when every live port has sent, heard
        // and reported all that its part in the drain requires.
        let flushed = !matches!(flushing.stage, FlushStage::Emptying { .. });
        let drained = draining.round == 0
            || at.live_ports(node).all(|port| {
                let num = at.num(port);
                let owes = |outputs: &PortMask| outputs.contains(num);
                let sends = draining.begun || self.arcs[node].iter().any(owes);
                let outputs = self.arcs_of(node, num);
                // A switch input without arcs takes no part (D.1); an end port always hears from its switch.
                let hears = !at.plane.is_switch(node) || !outputs.is_empty();
                let came = draining.came.contains(num);
                let reports = came && !at.leads_on(node, &outputs);
                (!sends || draining.sent.contains(num))
                    && (!hears || came)
                    && (!reports || draining.reported.contains(num))
            });
        if flushed && drained {
            self.watched[node] = false;
            self.watching = self.watched.iter().any(|&watched| watched);
        }
    }

    // Flush.

    fn enter_flush(&mut self, at: Surroundings<'_>, node: NodeId, round: u32) {
        if is_newer(self.flushing[node].round, round) {
            for lane in at.plane.lanes_of(node) {
                // Counts of an abandoned round would take departures for packets of this one.
                self.stood[lane] = 0;
            }
            self.flushing[node] = Flushing { round, ..Flushing::default() };
        }
    }

    /// The subnet manager orders a device to flush (F.1). Returns whether it begins, which it does once a round; then
    /// the caller must call [`Agents::flush_counted`] with the packets that other devices' buffers hold for it.
    pub fn begin_flush(&mut self, at: Surroundings<'_>, node: NodeId, asked: Flush) -> bool {
        self.enter_flush(at, node, asked.round);
        let flushing = &mut self.flushing[node];
        // A repeated order must not count again: packets that came since would hold the token back for no reason.
        if flushing.round != asked.round || flushing.stage != FlushStage::Opened {
            return false;
        }
        (flushing.stage, flushing.lanes) = (FlushStage::Emptying { before: 0 }, asked.lanes);
        flushing.aside = asked.aside;
        self.watch(node);
        true
    }

    /// Counts the packets in a device's buffers as its flush begins: by F.2 all of them leave before the tokens do.
    pub fn flush_counted(&mut self, at: Surroundings<'_>, node: NodeId, latched_elsewhere: u32) {
        let mut before = latched_elsewhere;
        // A packet in a router's buffer counts at the port for which it is latched (R.1; `Routers::begin_epoch`).
        let aside = self.flushing[node].aside;
        let waited_for = |lane: &InLane| !aside.contains(Vl::masked(at.plane.vl_of(*lane)));
        let lanes = if at.plane.is_router(node) { at.plane.own_lanes(node).collect() } else { at.plane.lanes_of(node) };
        for lane in lanes.into_iter().filter(waited_for) {
            let count = at.plane.lanes[lane].count;
            self.stood[lane] = count;
            before += count;
        }
        self.flushing[node].stage = FlushStage::Emptying { before };
        self.flush_goes_on(at, node);
    }

    fn flush_goes_on(&mut self, at: Surroundings<'_>, node: NodeId) {
        let flushing = &mut self.flushing[node];
        // F.2: the token leaves only after the order, and after all that stood here then.
        if flushing.stage == (FlushStage::Emptying { before: 0 }) {
            flushing.stage = FlushStage::Sent;
            let round = flushing.round;
            for port in at.live_ports(node).collect::<Vec<_>>() {
                self.effects.push(Effect::Send(port, Token::Flush(round)));
            }
        }
    }

    pub fn flush_state(&self, at: Surroundings<'_>, node: NodeId) -> Flush {
        let flushing = &self.flushing[node];
        // F.3, and F.4 needs both: lanes that are empty before the token has come may fill again.
        let done = |port: PortId| {
            let num = at.num(port);
            flushing.came.contains(num) && at.plane.holds_nothing(port, flushing.lanes)
        };
        let flushed = flushing.stage == FlushStage::Sent
            && at.live_ports(node).all(done)
            && !at.holds_strays(node, flushing.lanes);
        Flush { round: flushing.round, lanes: flushing.lanes, flushed, aside: flushing.aside }
    }

    // Drain.

    pub fn set_drain_arcs(&mut self, at: Surroundings<'_>, node: NodeId, block: u32, arcs: &DrainArcs) {
        let num_ports = at.plane.num_ports(node);
        let blocks = ArcBlocks::of(num_ports);
        let masks = &mut self.arcs[node];
        masks.resize(usize::from(num_ports) + 1, PortMask::EMPTY);
        for input in blocks.inputs(block) {
            masks[input.index()] = arcs.outputs(blocks, input);
        }
    }

    /// One block of a device's arcs as it holds them.
    pub fn drain_arcs(&self, at: Surroundings<'_>, node: NodeId, block: u32) -> DrainArcs {
        let blocks = ArcBlocks::of(at.plane.num_ports(node));
        let mut arcs = DrainArcs::EMPTY;
        for input in blocks.inputs(block) {
            if let Some(outputs) = self.arcs[node].get(input.index()) {
                arcs.set_outputs(blocks, input, outputs);
            }
        }
        arcs
    }

    fn enter_drain(&mut self, node: NodeId, token: &DrainToken) {
        if is_newer(self.draining[node].round, token.round) {
            self.watch(node);
            let fresh = Draining { round: token.round, lanes: token.lanes, ..Draining::default() };
            self.draining[node] = fresh;
        }
    }

    /// The subnet manager orders a device to send the tokens of its source channels.
    pub fn start_tokens(&mut self, at: Surroundings<'_>, node: NodeId, token: DrainToken) {
        self.enter_drain(node, &token);
        if self.draining[node].round == token.round {
            self.watch(node);
            // D.2: what fed these channels has died or sends no more, so no token would come for them.
            self.draining[node].begun = true;
            self.drain_goes_on(at, node);
        }
    }

    fn drain_goes_on(&mut self, at: Surroundings<'_>, node: NodeId) {
        if self.draining[node].round == 0 {
            return;
        }
        if at.plane.is_switch(node) { self.switch_drains(at, node) } else { self.end_node_drains(at, node) }
    }

    /// An end port sends its token once no packet of the retired half waits (D.2). It consumes what it receives, so it
    /// reports a token on arrival.
    fn end_node_drains(&mut self, at: Surroundings<'_>, node: NodeId) {
        for port in at.live_ports(node).collect::<Vec<_>>() {
            let num = at.num(port);
            let rank = at.sources.by_port[port];
            // D.2. The lanes count, not the half that the source sends on: behind a fence it may still be the old one,
            // and what waits in the lanes was queued before the fence closed. A router's port has no queue of its own;
            // what waits for it carries its half.
            let silent = if at.plane.is_router_port(port) {
                rank.is_none() || {
                    let source = &at.sources.list[rank];
                    source.queued[source.half.other().index()] == 0
                }
            } else {
                // Its GMPs wait beside its data.
                let own = at.plane.first_port(node);
                [port, own].into_iter().all(|port| at.plane.holds_nothing(port, self.draining[node].lanes))
            };
            let draining = &mut self.draining[node];
            if draining.begun && silent && !draining.sent.contains(num) {
                draining.sent.insert(num);
                let token = Token::Drain(DrainToken::new(draining.round, draining.lanes));
                self.effects.push(Effect::Send(port, token));
            }
            let draining = &self.draining[node];
            // A host consumes what it receives; a router's buffer must be empty (R.2).
            let empty = !at.plane.is_router_port(port) || at.plane.holds_nothing(port, draining.lanes);
            if draining.came.contains(num) && empty {
                self.report_leaf(at, node, port);
            }
        }
    }

    /// Reports to the subnet manager, once, that a leaf channel is drained.
    fn report_leaf(&mut self, at: Surroundings<'_>, node: NodeId, port: PortId) {
        let draining = &mut self.draining[node];
        if !draining.reported.contains(at.num(port)) {
            draining.reported.insert(at.num(port));
            let state = self.token_state(at, node);
            self.effects.push(Effect::Report(port, state));
        }
    }

    fn switch_drains(&mut self, at: Surroundings<'_>, node: NodeId) {
        let draining = &self.draining[node];
        let (mut open, mut strays) = (PortMask::EMPTY, false);
        let mut leaves = Vec::new();
        for port in at.plane.ports_of(node) {
            let (up, num) = (at.plane.ports[port].is_up(), at.num(port));
            let outputs = self.arcs_of(node, num);
            // An input with arcs and no token yet holds back the tokens of its outputs. An input that no token will
            // reach may still hold packets of the retiring lanes. They may leave by any output, so all tokens wait for
            // them (D.1).
            let expected = up && !outputs.is_empty();
            let empty = at.plane.holds_nothing(port, draining.lanes);
            let done = empty && (draining.came.contains(num) || !up);
            if !expected && !done {
                strays |= !empty;
            }
            // An output stays open while any input with an arc to it is not done.
            if !done && !outputs.is_empty() {
                outputs.iter().for_each(|output| open.insert(output));
            }
            // No live output follows, so no agent downstream will prove this channel empty: this one reports it (D.3).
            if up && draining.came.contains(num) && empty && !at.leads_on(node, &outputs) {
                leaves.push(port);
            }
        }
        leaves.into_iter().for_each(|port| self.report_leaf(at, node, port));
        if !strays {
            self.send_ready_tokens(at, node, &open);
        }
    }

    /// The outputs that packets of the retiring routing function take from an input; none before DrainArcs is set.
    fn arcs_of(&self, node: NodeId, input: PortNum) -> PortMask {
        self.arcs[node].get(input.index()).copied().unwrap_or_default()
    }

    /// Sends tokens on the outputs to which some input has an arc and that no input holds open any more. A switch that
    /// was ordered to begin sends them on its other outputs too: their predecessors have died (D.2).
    fn send_ready_tokens(&mut self, at: Surroundings<'_>, node: NodeId, open: &PortMask) {
        let mut ready: PortMask = self.arcs[node].iter().flat_map(|outputs| outputs.iter()).collect();
        if self.draining[node].begun {
            at.live_ports(node).map(|port| at.num(port)).for_each(|n| ready.insert(n));
        }
        for num in ready.iter().filter(|&num| !open.contains(num)) {
            let draining = &mut self.draining[node];
            if !draining.sent.contains(num) {
                draining.sent.insert(num);
                let token = Token::Drain(DrainToken::new(draining.round, draining.lanes));
                self.effects.push(Effect::Send(at.plane.port_at(node, num), token));
            }
        }
    }

    /// The state of a device's drain as it reports it: the inputs whose token has come and whose lanes are empty.
    pub fn token_state(&self, at: Surroundings<'_>, node: NodeId) -> DrainToken {
        let draining = &self.draining[node];
        let empty =
            |num: &PortNum| at.consumes(node) || at.plane.holds_nothing(at.plane.port_at(node, *num), draining.lanes);
        // Token and empty lanes together: packets ahead of the token may still stand here.
        let inputs_done: PortMask = draining.came.iter().filter(empty).collect();
        let complete = at.live_ports(node).all(|port| {
            let num = at.num(port);
            self.arcs_of(node, num).is_empty() || inputs_done.contains(num)
        });
        DrainToken { round: draining.round, lanes: draining.lanes, complete, inputs_done }
    }

    // Poll.

    /// Which outputs and inputs of a device are empty on some lanes, judged by its own credits and queues.
    pub fn lane_status(at: Surroundings<'_>, node: NodeId, lanes: VlSet) -> LaneStatus {
        let asked = |lane: &OutLane| lanes.contains(Vl::masked(at.plane.vl_of(*lane)));
        // Full credits mean that the far buffer is empty and the wire too; a line means that more will follow.
        let idle = |out_lane: OutLane| {
            at.plane.lanes[out_lane].first_waiter.is_none() && at.plane.has_all_credits(at.clock, out_lane)
        };
        let drained = |port: &PortId| at.plane.out_lanes(*port).filter(asked).all(idle);
        let latched = outputs_latched(at, node, lanes);
        let empty = |port: &PortId| at.plane.holds_nothing(*port, lanes);
        // Only the head of a queue has chosen its output: no credit and no line shows the rest of what strays.
        let strays = at.holds_strays(node, lanes);
        let outputs = at.live_ports(node).filter(|port| !strays && drained(port)).map(|port| at.num(port));
        LaneStatus {
            drained_outputs: outputs.filter(|num| !latched.contains(*num)).collect(),
            empty_inputs: at.live_ports(node).filter(empty).map(|port| at.num(port)).collect(),
        }
    }
}

/// Outputs for which some packet in the node's buffers is latched on these lanes. A packet latched after the head of
/// its queue stands in no line yet, and no credit shows it.
fn outputs_latched(at: Surroundings<'_>, node: NodeId, lanes: VlSet) -> PortMask {
    let queued = at.lanes_feeding(node).into_iter().flat_map(|lane| at.plane.queue(lane));
    let latched = queued.map(|id| at.plane.packets[id].out_lane).filter(|out_lane| out_lane.is_lane());
    latched
        .filter(|&out_lane| lanes.contains(Vl::masked(at.plane.vl_of(out_lane))))
        .map(|out_lane| at.plane.port_of(out_lane))
        .filter(|&port| at.plane.ports[port].node == node)
        .map(|port| at.num(port))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn rounds_that_were_just_there_are_old_and_all_others_new() {
        for (known, new) in [(0, 5), (5, 6), (u32::MAX - 1, 3), (1 << 31, 110), (4_000_000_000, 32)] {
            assert!(is_newer(known, new), "{known}, {new}");
        }
        for (known, new) in [(5, 5), (6, 5), (3, u32::MAX), (1 << 30, (1 << 30) - 4_000_000)] {
            assert!(!is_newer(known, new), "{known}, {new}");
        }
    }
}
