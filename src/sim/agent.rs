//! Agents in the devices that make the two barriers provable: flush tokens and drain tokens.
//!
//! **Flush** (docs/PROTOCOL.md, F.2 and F.3): once told, a device sends off every packet that stood in its buffers at that
//! moment, from any lane; then it puts a token on each output behind that data. It is flushed once every live
//! neighbour's token came and the lanes asked about are empty at every input. **Drain** (D.1 to D.3): a token goes out on
//! an output once every input with an arc to it has its token and holds nothing on the lanes to be drained, and likewise
//! every input that no token will ever come by. Inputs whose link is dead count as having given theirs. An input without
//! arcs to a live output is a leaf: it reports to the subnet manager. Tokens never overtake data: they set out when the
//! link has sent what it is sending, and take the routing delay that data takes.

use super::Sim;
use super::mad::{Errand, Mad};
use super::packet::NIL;
use super::wheel::TICKS_PER_NS;
use crate::fabric::Fabric;
use crate::ids::{Lid, PortNum, Vl, VlSet};
use crate::wire::vendor::{ArcBlocks, DrainArcs, DrainToken, Flush, LaneStatus, PortMask};
use crate::wire::{AttributeId, Method, PortState, Route, Smp};

/// Bytes of a token on the wire: a MAD.
const TOKEN_BYTES: u64 = 256 + 34;

/// A token between neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    /// Behind all that its sender had latched before.
    Flush(u32),
    /// Behind all of the lanes to be drained.
    Drain(DrainToken),
}

/// A device's part in a flush.
#[derive(Clone, Default)]
struct Flushing {
    round: u32,
    lanes: VlSet,
    /// The subnet manager told it to begin.
    begun: bool,
    /// Its own tokens are out.
    sent: bool,
    /// Packets that stood in its buffers when it began and still do.
    before: u32,
    /// Inputs whose neighbour's token came.
    came: PortMask,
}

/// A device's part in a drain.
#[derive(Clone, Default)]
struct Draining {
    round: u32,
    lanes: VlSet,
    /// A source was told to begin.
    begun: bool,
    /// Inputs whose token came.
    came: PortMask,
    /// Outputs whose token went out.
    sent: PortMask,
    /// Leaves that have reported.
    reported: PortMask,
}

/// Rounds that lie so far back, at most, may come from late copies of what a manager once asked.
const RECENT: i32 = 1 << 22;

/// Whether a round is a new one to a device that knows `known`, 0 for none. Numbers go round, and a manager that was started
/// anew may begin low: what is neither ahead nor just behind is new.
fn is_newer(known: u32, told: u32) -> bool {
    let ahead = told.wrapping_sub(known) as i32;
    known == 0 || !(-RECENT..=0).contains(&ahead)
}

/// The agents of all devices.
pub struct Agents {
    /// Some agent must hear of departing packets.
    pub watching: bool,
    /// By node: its agent must hear of them.
    watched: Vec<bool>,
    /// By node and input: where packets of the old routing function go from there.
    arcs: Vec<Vec<PortMask>>,
    flushing: Vec<Flushing>,
    draining: Vec<Draining>,
    /// By in lane: packets that stood there when the flush began.
    stood: Vec<u32>,
}

impl Agents {
    pub(super) fn new(fabric: &Fabric, lanes: usize) -> Agents {
        Agents {
            watching: false,
            watched: vec![false; fabric.node_count()],
            arcs: vec![Vec::new(); fabric.node_count()],
            flushing: vec![Flushing::default(); fabric.node_count()],
            draining: vec![Draining::default(); fabric.node_count()],
            stood: vec![0; lanes],
        }
    }
}

impl Agents {
    /// A device begins anew, with nothing in its buffers.
    pub(super) fn forget(&mut self, node: usize) {
        self.arcs[node].clear();
        self.flushing[node] = Flushing::default();
        self.draining[node] = Draining::default();
        self.watched[node] = false;
        self.watching = self.watched.contains(&true);
    }
}

impl Sim {
    /// A packet has left a queue: counts it off, and sees whether a token may now go.
    #[cold]
    pub(super) fn agent_saw_departure(&mut self, lane: u32) {
        let node = self.net.ports[self.net.port_of(lane) as usize].node;
        let stood = &mut self.agents.stood[lane as usize];
        let counted = *stood > 0;
        *stood -= u32::from(counted);
        self.agent_goes_on(node, counted);
    }

    /// A packet has left a router by a leg of this node; `stood` where it did so when the flush began.
    #[cold]
    pub(super) fn agent_saw_leg(&mut self, node: u32, stood: bool) {
        self.agent_goes_on(node, stood && self.agents.flushing[node as usize].before > 0);
    }

    fn agent_goes_on(&mut self, node: u32, stood: bool) {
        if !self.agents.watched[node as usize] {
            return;
        }
        if stood {
            self.agents.flushing[node as usize].before -= 1;
            self.flush_goes_on(node);
        }
        self.drain_goes_on(node);
        self.rest_if_done(node);
    }

    fn watch(&mut self, node: u32) {
        self.agents.watched[node as usize] = true;
        self.agents.watching = true;
    }

    /// An agent that has sent and reported all it ever will in its rounds need not hear of packets any more.
    fn rest_if_done(&mut self, node: u32) {
        let flushing = &self.agents.flushing[node as usize];
        let draining = &self.agents.draining[node as usize];
        let flushed = flushing.before == 0;
        let drained = draining.round == 0
            || self.live_ports(node).all(|port| {
                let num = PortNum(self.net.ports[port as usize].num);
                let owes = |outputs: &PortMask| outputs.contains(num);
                let sends = draining.begun || self.agents.arcs[node as usize].iter().any(owes);
                let outputs = self.arcs_of(node, num);
                let hears = !self.is_switch(node) || !outputs.is_empty();
                let came = draining.came.contains(num);
                let reports = came && !self.leads_on(node, &outputs);
                (!sends || draining.sent.contains(num))
                    && (!hears || came)
                    && (!reports || draining.reported.contains(num))
            });
        if flushed && drained {
            self.agents.watched[node as usize] = false;
            self.agents.watching = self.agents.watched.contains(&true);
        }
    }

    pub(super) fn token_arrives(&mut self, port: u32, token: Token) {
        let at = &self.net.ports[port as usize];
        let (node, num) = (at.node, PortNum(at.num));
        if !at.alive || !self.devices.list[node as usize].alive {
            return;
        }
        match token {
            Token::Flush(round) => {
                self.enter_flush(node, round);
                let flushing = &mut self.agents.flushing[node as usize];
                if flushing.round == round {
                    flushing.came.insert(num);
                }
            }
            Token::Drain(token) => {
                self.enter_drain(node, &token);
                if self.agents.draining[node as usize].round == token.round {
                    self.agents.draining[node as usize].came.insert(num);
                    self.watch(node);
                    self.drain_goes_on(node);
                }
            }
        }
    }

    fn send_token(&mut self, out: u32, token: Token) {
        if let Some(end) = self.occupy(out, TOKEN_BYTES) {
            let peer = self.net.ports[out as usize].peer;
            let routing = u64::from(self.config.routing_delay_ns) * TICKS_PER_NS;
            self.errand(end + self.link_delay + routing, Errand::Token(peer, token));
        }
    }

    /// The ports of a node that carry data, or did: where a cable has just come, nobody at its far end need know of the
    /// round.
    fn live_ports(&self, node: u32) -> impl Iterator<Item = u32> + use<'_> {
        let first = self.net.first_port(node);
        let last = first + u32::from(self.net.num_ports(node));
        let carries = |port: &super::state::OutPort| port.alive && port.state != PortState::Initialize;
        (first + 1..=last).filter(move |&port| carries(&self.net.ports[port as usize]))
    }

    /// Whether a port's in lanes hold nothing on `lanes`.
    fn holds_nothing(&self, port: u32, lanes: VlSet) -> bool {
        (0..self.net.data_vls)
            .filter(|&vl| lanes.contains(Vl::masked(vl)))
            .all(|vl| self.net.ins[self.net.lane(port, vl) as usize].count == 0)
    }

    // Flush.

    fn enter_flush(&mut self, node: u32, round: u32) {
        if is_newer(self.agents.flushing[node as usize].round, round) {
            for lane in self.lanes_of(node) {
                self.agents.stood[lane as usize] = 0;
            }
            self.agents.flushing[node as usize] = Flushing { round, ..Flushing::default() };
        }
    }

    /// The subnet manager tells a device to flush.
    pub(super) fn start_flush(&mut self, node: u32, told: Flush) {
        self.enter_flush(node, told.round);
        let flushing = &mut self.agents.flushing[node as usize];
        if flushing.round != told.round || flushing.begun {
            return;
        }
        (flushing.begun, flushing.lanes) = (true, told.lanes);
        self.watch(node);
        let mut before = self.latched_for(node);
        // What stands in a router's own buffers goes on into other subnets.
        for lane in if self.is_relay(node) { Vec::new() } else { self.lanes_of(node) } {
            let count = self.net.ins[lane as usize].count;
            self.agents.stood[lane as usize] = count;
            before += count;
        }
        self.agents.flushing[node as usize].before = before;
        self.flush_goes_on(node);
    }

    fn flush_goes_on(&mut self, node: u32) {
        let flushing = &mut self.agents.flushing[node as usize];
        if flushing.begun && !flushing.sent && flushing.before == 0 {
            flushing.sent = true;
            let round = flushing.round;
            for port in self.live_ports(node).collect::<Vec<_>>() {
                self.send_token(port, Token::Flush(round));
            }
        }
    }

    pub(super) fn flush_state(&self, node: u32) -> Flush {
        let flushing = &self.agents.flushing[node as usize];
        let done = |port: u32| {
            let num = PortNum(self.net.ports[port as usize].num);
            flushing.came.contains(num) && self.holds_nothing(port, flushing.lanes)
        };
        let flushed = flushing.sent && self.live_ports(node).all(done);
        Flush { round: flushing.round, lanes: flushing.lanes, flushed }
    }

    // Drain.

    pub(super) fn set_drain_arcs(&mut self, node: u32, block: u32, arcs: &DrainArcs) {
        let num_ports = self.net.num_ports(node);
        let blocks = ArcBlocks::of(num_ports);
        let masks = &mut self.agents.arcs[node as usize];
        masks.resize(usize::from(num_ports) + 1, PortMask::EMPTY);
        for input in blocks.inputs(block) {
            masks[input.index()] = arcs.outputs(blocks, input);
        }
    }

    /// One block of a device's arcs as it holds them.
    pub(super) fn drain_arcs(&self, node: u32, block: u32) -> DrainArcs {
        let blocks = ArcBlocks::of(self.net.num_ports(node));
        let mut arcs = DrainArcs::EMPTY;
        for input in blocks.inputs(block) {
            if let Some(outputs) = self.agents.arcs[node as usize].get(input.index()) {
                arcs.set_outputs(blocks, input, outputs);
            }
        }
        arcs
    }

    fn enter_drain(&mut self, node: u32, token: &DrainToken) {
        if is_newer(self.agents.draining[node as usize].round, token.round) {
            self.watch(node);
            let fresh = Draining { round: token.round, lanes: token.lanes, ..Draining::default() };
            self.agents.draining[node as usize] = fresh;
        }
    }

    /// The subnet manager tells a device to send the tokens of its source channels.
    pub(super) fn start_tokens(&mut self, node: u32, token: DrainToken) {
        self.enter_drain(node, &token);
        if self.agents.draining[node as usize].round == token.round {
            self.watch(node);
            self.agents.draining[node as usize].begun = true;
            self.drain_goes_on(node);
        }
    }

    fn drain_goes_on(&mut self, node: u32) {
        if self.agents.draining[node as usize].round == 0 {
            return;
        }
        if self.is_switch(node) { self.switch_drains(node) } else { self.end_node_drains(node) }
    }

    /// An end port sends its token once its sources have moved and nothing of the retired half waits; what comes to it is
    /// consumed, so a token that came is reported at once.
    fn end_node_drains(&mut self, node: u32) {
        for port in self.live_ports(node).collect::<Vec<_>>() {
            let num = PortNum(self.net.ports[port as usize].num);
            let rank = self.sources.by_port[port as usize];
            let silent = rank == NIL || {
                let source = &self.sources.list[rank as usize];
                source.queued[source.half.other().index()] == 0
            };
            let draining = &mut self.agents.draining[node as usize];
            if draining.begun && silent && !draining.sent.contains(num) {
                draining.sent.insert(num);
                let token = Token::Drain(DrainToken::new(draining.round, draining.lanes));
                self.send_token(port, token);
            }
            let draining = &self.agents.draining[node as usize];
            // A host consumes what comes; a router's buffer must be empty.
            let empty = !self.net.ports[port as usize].relays || self.holds_nothing(port, draining.lanes);
            if draining.came.contains(num) && empty {
                self.report_leaf(node, port);
            }
        }
    }

    fn switch_drains(&mut self, node: u32) {
        let first = self.net.first_port(node);
        let count = u32::from(self.net.num_ports(node));
        let draining = &self.agents.draining[node as usize];
        let (mut open, mut strays) = (PortMask::EMPTY, false);
        let mut leaves = Vec::new();
        for port in first + 1..=first + count {
            let at = &self.net.ports[port as usize];
            let num = PortNum(at.num);
            let outputs = self.arcs_of(node, num);
            let expected = at.alive && !outputs.is_empty();
            let empty = self.holds_nothing(port, draining.lanes);
            let done = empty && (draining.came.contains(num) || !at.alive);
            if !expected && !done {
                strays |= !empty;
            }
            if !done && !outputs.is_empty() {
                outputs.iter().for_each(|output| open.insert(output));
            }
            if at.alive && draining.came.contains(num) && empty && !self.leads_on(node, &outputs) {
                leaves.push(port);
            }
        }
        leaves.into_iter().for_each(|port| self.report_leaf(node, port));
        if !strays {
            self.send_ready_tokens(node, &open);
        }
    }

    /// Where packets of the retiring routing function go from an input; nowhere, as long as nobody told.
    fn arcs_of(&self, node: u32, input: PortNum) -> PortMask {
        self.agents.arcs[node as usize].get(input.index()).copied().unwrap_or_default()
    }

    /// Whether any of these outputs of a switch is alive.
    fn leads_on(&self, node: u32, outputs: &PortMask) -> bool {
        let first = self.net.first_port(node);
        outputs.iter().any(|output| self.net.ports[(first + u32::from(output.0)) as usize].alive)
    }

    /// Sends tokens on the outputs that some input leads to and that wait for none (`open`) any more. A switch that was
    /// told to begin sends them on its other outputs too: what fed those channels has died.
    fn send_ready_tokens(&mut self, node: u32, open: &PortMask) {
        let first = self.net.first_port(node);
        let mut ready: PortMask = self.agents.arcs[node as usize].iter().flat_map(|outputs| outputs.iter()).collect();
        if self.agents.draining[node as usize].begun {
            self.live_ports(node).map(|port| PortNum(self.net.ports[port as usize].num)).for_each(|n| ready.insert(n));
        }
        for num in ready.iter().filter(|&num| !open.contains(num)) {
            let draining = &mut self.agents.draining[node as usize];
            if !draining.sent.contains(num) {
                draining.sent.insert(num);
                let token = Token::Drain(DrainToken::new(draining.round, draining.lanes));
                self.send_token(first + u32::from(num.0), token);
            }
        }
    }

    /// Reports to the subnet manager, once, that a leaf channel is drained.
    fn report_leaf(&mut self, node: u32, port: u32) {
        let num = PortNum(self.net.ports[port as usize].num);
        let draining = &mut self.agents.draining[node as usize];
        if draining.reported.contains(num) {
            return;
        }
        draining.reported.insert(num);
        let state = self.token_state(node);
        let own = self.management_port(port);
        let held = &self.devices.ports[own as usize];
        let smp = Smp::new(Route::Lid, Method::Report, AttributeId::DrainToken, num.0.into(), state.encode());
        let tid = u64::from(node) << 32 | u64::from(state.round) << 8 | u64::from(num.0);
        let mad = Mad::smp(held.lid, self.sm_lid(held.master_sm_lid), smp.with_tid(tid));
        self.send_mad(own, mad);
    }

    fn sm_lid(&self, master: Lid) -> Lid {
        if master.is_unicast() {
            master
        } else {
            self.managers.first().map_or(master, |&port| self.devices.ports[port as usize].lid)
        }
    }

    /// Whether what comes to a node's ports is gone at once, as at a host.
    fn consumes(&self, node: u32) -> bool {
        !self.is_switch(node) && !self.is_relay(node)
    }

    /// What a device tells of its drain: the inputs whose token came and whose lanes are empty.
    pub(super) fn token_state(&self, node: u32) -> DrainToken {
        let draining = &self.agents.draining[node as usize];
        let first = self.net.first_port(node);
        let empty = |num: &PortNum| self.consumes(node) || self.holds_nothing(first + u32::from(num.0), draining.lanes);
        let inputs_done: PortMask = draining.came.iter().filter(empty).collect();
        let complete = self.live_ports(node).all(|port| {
            let num = PortNum(self.net.ports[port as usize].num);
            self.arcs_of(node, num).is_empty() || inputs_done.contains(num)
        });
        DrainToken { round: draining.round, lanes: draining.lanes, complete, inputs_done }
    }

    // Poll.

    /// What stands on some lanes of a device, as its ports' credits and queues tell.
    pub(super) fn lane_status(&self, node: u32, lanes: VlSet) -> LaneStatus {
        let asked = |vl: &u8| lanes.contains(Vl::masked(*vl));
        let capacity = self.net.capacity;
        let drained = |port: u32| {
            (0..self.net.data_vls).filter(asked).all(|vl| {
                let out_lane = self.net.lane(port, vl);
                self.net.outs[out_lane as usize].first_waiter == NIL && self.credits_of(out_lane) == capacity
            })
        };
        let latched = self.outputs_latched(node, lanes);
        let num = |port: u32| PortNum(self.net.ports[port as usize].num);
        LaneStatus {
            drained_outputs: self
                .live_ports(node)
                .filter(|&p| drained(p))
                .map(num)
                .filter(|n| !latched.contains(*n))
                .collect(),
            empty_inputs: self.live_ports(node).filter(|&p| self.holds_nothing(p, lanes)).map(num).collect(),
        }
    }

    /// Outputs that some packet in the node's buffers, at the head or behind it, is latched for on these lanes.
    fn outputs_latched(&self, node: u32, lanes: VlSet) -> PortMask {
        let mut mask = PortMask::EMPTY;
        let own = |out: u32| self.net.ports[self.net.port_of(out) as usize].node == node;
        for lane in self.lanes_feeding(node) {
            let mut id = self.net.ins[lane as usize].head;
            while id != NIL {
                let out = self.packets[id].out_lane;
                if out < super::state::DISCARD && own(out) && lanes.contains(Vl::masked(self.net.vl_of(out))) {
                    mask.insert(PortNum(self.net.ports[self.net.port_of(out) as usize].num));
                }
                id = self.packets[id].next;
            }
        }
        mask
    }
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn rounds_that_were_just_there_are_old_and_all_others_new() {
        for (known, told) in [(0, 5), (5, 6), (u32::MAX - 1, 3), (1 << 31, 110), (4_000_000_000, 32)] {
            assert!(is_newer(known, told), "{known}, {told}");
        }
        for (known, told) in [(5, 5), (6, 5), (3, u32::MAX), (1 << 30, (1 << 30) - 4_000_000)] {
            assert!(!is_newer(known, told), "{known}, {told}");
        }
    }
}
