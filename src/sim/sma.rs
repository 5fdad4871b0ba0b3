//! Subnet management agents: what Get and Set of each attribute do.
//!
//! A device decides by what it holds and sees ([`AgentView`]), writes its own settings, and lists what a Set means to
//! the rest of the subnet ([`Consequence`]); the simulation carries that out in the order given. A request that is
//! refused writes nothing. PortInfo, tables that are only kept, traps and performance management have files of their
//! own.

use super::Sim;
use super::agent::{Agents, Surroundings};
use super::counters::CounterView;
use super::device::{Consequence, Devices, Sickness};
use super::kept::KeptTable;
use super::mad::{Mad, MadBody};
use super::port_info::port_asked;
use super::power_on;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{PortNum, Vl};
use crate::wire::vendor::{ActiveHalf, DrainArcs, DrainToken, Flush, LaneStatus};
use crate::wire::{
    AttributeId, LinearForwardingTable, Method, NodeDescription, NodeInfo, Notice, NoticeType, PerfMad, PortInfo,
    SMP_DATA_SIZE, SlToVlMappingTable, SlToVlModifier, Smp, SwitchInfo, status,
};

/// An attribute as it now stands, or the status that refuses the request.
type Answer = Result<[u8; SMP_DATA_SIZE], u16>;

/// LIDs that a forwarding table can have entries for: the unicast ones.
const UNICAST_LIDS: usize = 0xC000;

/// What management agents see of the subnet.
#[derive(Clone, Copy)]
pub(super) struct AgentView<'a> {
    pub fabric: &'a Fabric,
    pub agents: &'a Agents,
    pub around: Surroundings<'a>,
    /// End ports move to another half when they are assigned one.
    pub sources_move: bool,
}

impl AgentView<'_> {
    /// The first LID of a block of a switch's forwarding table; refused where the switch has no room for it.
    fn first_lid(&self, node: NodeId, block: u32) -> Result<usize, u16> {
        let first = block as usize * 64;
        let room = UNICAST_LIDS.min(self.fabric.node(node).lft_capacity.into());
        if first < room { Ok(first) } else { Err(status::INVALID_VALUE) }
    }

    fn lft_block(&self, node: NodeId, modifier: u32) -> Answer {
        let first = self.first_lid(node, modifier)?;
        let entries = std::array::from_fn(|i| self.around.plane.tables.output(node, (first + i) as u16));
        Ok(LinearForwardingTable(entries).encode())
    }

    fn node_info(&self, port: PortId) -> NodeInfo {
        let at = &self.around.plane.ports[port];
        let own = self.fabric.port(self.around.plane.management_port(port));
        power_on::node_info(self.fabric.node(at.node), own.guid, PortNum(at.num))
    }

    fn sl_to_vl_scope(&self, port: PortId, modifier: u32) -> Result<SlToVlModifier, u16> {
        let plane = self.around.plane;
        let at = &plane.ports[port];
        if !plane.is_switch(at.node) {
            // An end port has one table, so its modifier means nothing.
            return Ok(SlToVlModifier::Pair { input: PortNum::ZERO, output: PortNum(at.num) });
        }
        let scope = SlToVlModifier::decode(modifier).ok_or(status::INVALID_VALUE)?;
        let most = plane.num_ports(at.node);
        let fits = match scope {
            SlToVlModifier::Pair { input, output } => input.0 <= most && output.0 <= most,
            _ => self.fabric.node(at.node).optimised_sl_to_vl,
        };
        if fits { Ok(scope) } else { Err(status::INVALID_VALUE) }
    }

    fn sl_to_vl(&self, port: PortId, modifier: u32) -> Answer {
        let plane = self.around.plane;
        let (input, output) = match self.sl_to_vl_scope(port, modifier)? {
            SlToVlModifier::Pair { input, output } => (input.0, output.0),
            SlToVlModifier::EveryInput { output } => (0, output.0),
            SlToVlModifier::EveryOutput { input } => (input.0, 0),
            SlToVlModifier::Every => (0, 0),
        };
        let table = plane.tables.sl_table(plane.ports[port].node, input, output);
        Ok(SlToVlMappingTable(table.map(Vl::masked)).encode())
    }

    fn active_half(&self, port: PortId) -> Result<ActiveHalf, u16> {
        let source = self.around.sources.at_port(port).ok_or(status::UNSUPPORTED_METHOD_ATTRIBUTE)?;
        // P3.5: *settled* means that no packet of the other half waits in its send queues.
        Ok(ActiveHalf { half: source.half, settled: source.queued[source.half.other().index()] == 0 })
    }
}

impl Devices {
    /// An attribute as the agent of a node reports it to a request that came in by `port`.
    ///
    /// # Errors
    /// The status that refuses the request.
    fn get(&self, view: AgentView<'_>, port: PortId, smp: &Smp) -> Answer {
        let (around, plane) = (view.around, view.around.plane);
        let node = plane.ports[port].node;
        let switch = plane.is_switch(node);
        match smp.attribute {
            AttributeId::NodeInfo => Ok(view.node_info(port).encode()),
            AttributeId::NodeDescription => Ok(NodeDescription::new(&view.fabric.node(node).description).encode()),
            AttributeId::SwitchInfo if switch => Ok(self.list[node].switch.encode()),
            AttributeId::Notice => Ok(Notice { notice_type: NoticeType::Empty, ..Notice::decode(&smp.data) }.encode()),
            AttributeId::PortInfo => {
                Ok(self.port_info(plane, port_asked(plane, port, smp.modifier)?, port, smp).encode())
            }
            AttributeId::LinearForwardingTable if switch => view.lft_block(node, smp.modifier),
            AttributeId::SlToVlMappingTable => view.sl_to_vl(port, smp.modifier),
            AttributeId::ActiveHalf => view.active_half(port).map(|half| half.encode()),
            AttributeId::DrainToken => Ok(view.agents.token_state(around, node).encode()),
            AttributeId::Flush => Ok(view.agents.flush_state(around, node).encode()),
            AttributeId::LaneStatus => Ok(Agents::lane_status(around, node, LaneStatus::lanes(smp.modifier)).encode()),
            AttributeId::DrainArcs => Ok(view.agents.drain_arcs(around, node, smp.modifier).encode()),
            _ => match KeptTable::asked(plane, port, smp)? {
                Some(table) => Ok(self.kept.read(view.fabric, plane.data_vls, table)),
                None => Err(status::UNSUPPORTED_METHOD_ATTRIBUTE),
            },
        }
    }

    /// Carries out a Set that came in by `port` as far as the device itself goes, and lists what follows for others.
    ///
    /// # Errors
    /// The status that refuses the request, of which nothing is written.
    fn set(&mut self, view: AgentView<'_>, port: PortId, smp: &Smp) -> Result<Vec<Consequence>, u16> {
        let plane = view.around.plane;
        let node = plane.ports[port].node;
        let switch = plane.is_switch(node);
        let consequence = match smp.attribute {
            AttributeId::SwitchInfo if switch => {
                self.list[node].set_switch_info(&SwitchInfo::decode(&smp.data));
                return Ok(Vec::new());
            }
            AttributeId::PortInfo => {
                let subject = port_asked(plane, port, smp.modifier)?;
                return self.set_port_info(plane, subject, port, &PortInfo::decode(&smp.data));
            }
            AttributeId::LinearForwardingTable if switch => {
                let block = view.first_lid(node, smp.modifier)? / 64;
                Consequence::Forwarding { switch: node, block, entries: smp.data }
            }
            AttributeId::SlToVlMappingTable => {
                let table = SlToVlMappingTable::decode(&smp.data).0.map(Vl::get);
                Consequence::SlToVl { node, scope: view.sl_to_vl_scope(port, smp.modifier)?, table }
            }
            AttributeId::ActiveHalf => {
                let source = view.around.sources.at_port(port).ok_or(status::UNSUPPORTED_METHOD_ATTRIBUTE)?;
                // A newcomer takes a half even where sources do not move: it has no paths that could stay as they are.
                if !view.sources_move && !source.is_silent() {
                    return Ok(Vec::new());
                }
                Consequence::Half(source.rank, ActiveHalf::decode(&smp.data).half)
            }
            AttributeId::DrainArcs => {
                Consequence::Arcs { node, block: smp.modifier, arcs: DrainArcs::decode(&smp.data) }
            }
            AttributeId::DrainToken => Consequence::Tokens(node, DrainToken::decode(&smp.data)),
            AttributeId::Flush => Consequence::Flush(node, Flush::decode(&smp.data)),
            _ => {
                let table = KeptTable::asked(plane, port, smp)?.ok_or(status::UNSUPPORTED_METHOD_ATTRIBUTE)?;
                self.kept.write(view.fabric, table, &smp.data);
                return Ok(table.arbitrated().map(Consequence::Arbitration).into_iter().collect());
            }
        };
        Ok(vec![consequence])
    }
}

impl Sim {
    /// The answer of a node's agent to a request that came in by `port`.
    pub(super) fn agent_answers(&mut self, port: PortId, request: &Mad) -> Option<Mad> {
        let own = self.plane.management_port(port);
        let body = match &request.body {
            MadBody::Smp(smp) if smp.method == Method::TrapRepress => {
                if !self.devices.list[self.plane.ports[port].node].repress(smp.tid) {
                    self.client_receives(port, request.clone());
                }
                return None;
            }
            MadBody::Smp(smp) if !self.devices.key_fits(own, smp) || self.is_silent_poll(port, smp) => return None,
            MadBody::Smp(smp) => {
                let answer = match self.devices.list[self.plane.ports[port].node].fails_at(smp) {
                    None => self.agent_serves(port, smp),
                    Some(Sickness::Silent) => return None,
                    Some(Sickness::Refuses | Sickness::Lacks) => Err(status::UNSUPPORTED_METHOD_ATTRIBUTE),
                    Some(Sickness::Ignores) => {
                        let (devices, view) = self.devices_in_view();
                        devices.get(view, port, smp)
                    }
                };
                MadBody::Smp(Box::new(answer.map_or_else(|status| smp.refusal(status), |data| smp.response(data))))
            }
            MadBody::General(bytes) => {
                let perf = PerfMad::decode(bytes).ok()?;
                let at = CounterView { plane: &self.plane, now: self.clock.now() };
                MadBody::General(Box::new(self.counters.answer(at, &mut self.sources, port, &perf).encode()))
            }
        };
        // An answer of general services goes back on the way of its question; one of subnet management from the base
        // LID.
        let slid = if request.is_general() { request.dlid } else { self.devices.ports[own].lid };
        Some(Mad { slid, dlid: request.slid, sl: request.sl, came_on_vl15: false, body })
    }

    /// Whether a question about lanes gets no answer yet: some output that it names is not drained.
    fn is_silent_poll(&mut self, port: PortId, smp: &Smp) -> bool {
        if smp.attribute != AttributeId::LaneStatus || !LaneStatus::wants_silence(smp.modifier) {
            return false;
        }
        let (_, view) = self.devices_in_view();
        let node = view.around.plane.ports[port].node;
        let drained = Agents::lane_status(view.around, node, LaneStatus::lanes(smp.modifier)).drained_outputs;
        LaneStatus::decode(&smp.data).drained_outputs.iter().any(|output| !drained.contains(output))
    }

    fn agent_serves(&mut self, port: PortId, smp: &Smp) -> Answer {
        match smp.method {
            Method::Get => {}
            Method::Set => {
                let (devices, view) = self.devices_in_view();
                let consequences = devices.set(view, port, smp)?;
                consequences.into_iter().for_each(|consequence| self.carry_out(consequence));
            }
            _ => return Err(status::UNSUPPORTED_METHOD),
        }
        let (devices, view) = self.devices_in_view();
        devices.get(view, port, smp)
    }

    /// The devices, and what their agents see.
    fn devices_in_view(&mut self) -> (&mut Devices, AgentView<'_>) {
        let around = Surroundings {
            clock: &self.clock,
            plane: &self.plane,
            sources: &self.sources,
            routers: self.routers.as_deref(),
        };
        let sources_move = self.config.sources_move;
        (&mut self.devices, AgentView { fabric: &self.fabric, agents: &self.agents, around, sources_move })
    }

    /// Carries out what a Set means beyond its device.
    fn carry_out(&mut self, consequence: Consequence) {
        match consequence {
            Consequence::Forwarding { switch, block, entries } => {
                self.record(switch, block, &entries);
                self.write_block(switch, block, &entries);
            }
            Consequence::SlToVl { node, scope, table } => {
                self.plane.tables.set_sl_to_vl(node, scope, table);
                self.reconsider(node);
            }
            Consequence::Half(rank, half) => self.tell_half(rank, half),
            Consequence::Arcs { node, block, arcs } => {
                self.with_agents(|agents, at| agents.set_drain_arcs(at, node, block, &arcs));
            }
            Consequence::Tokens(node, token) => self.with_agents(|agents, at| agents.start_tokens(at, node, token)),
            Consequence::Flush(node, flush) => self.start_flush(node, flush),
            Consequence::Lids { port, lid, lmc } => {
                self.sources.take_lids(port, lid, lmc);
                self.source_wakes(port);
            }
            Consequence::Arbitration(port) => self.arbitrate_as_told(port),
            Consequence::Lanes(port, lanes) => self.plane.set_lanes(port, lanes),
            Consequence::State(port, next) => self.set_port_state(port, next),
            Consequence::Reregister(port) => self.reregister(port),
        }
    }

    /// A port serves its lanes by what its lists say now.
    pub(super) fn arbitrate_as_told(&mut self, port: PortId) {
        let high_limit = self.devices.ports[port].vl_high_limit;
        let arbiter = self.devices.kept.arbiter(&self.fabric, self.plane.data_vls, port, high_limit);
        self.plane.arbitrates(port, arbiter);
        // A lane that no list had may have one now.
        self.serve(port);
    }

    fn write_block(&mut self, switch: NodeId, block: usize, written: &[u8; SMP_DATA_SIZE]) {
        // The device has room for the block (`first_lid`), but its table here grows only with the blocks in use.
        self.plane.tables.reach((block + 1) * 64);
        let held =
            self.plane.tables.replace_block(switch, block, written).expect("the table has just been made to reach");
        // Recorded, since losses are judged by the tables as they stood when a packet was sent.
        self.ledger.remember(switch, block as u16, self.clock.now(), held);
        self.reconsider(switch);
    }
}
