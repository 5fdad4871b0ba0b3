//! Subnet management agents: what Get and Set of each attribute do. PortInfo, tables that are only kept, traps and
//! performance management have files of their own.

use super::Sim;
use super::agent::Agents;
use super::counters::CounterView;
use super::mad::{Mad, MadBody};
use super::power_on;
use crate::fabric::{NodeId, PortId};
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

impl Sim {
    /// The answer of a node's agent to a request that came in by `port`.
    pub(super) fn agent_answers(&mut self, port: PortId, request: &Mad) -> Option<Mad> {
        let body = match &request.body {
            MadBody::Smp(smp) if smp.method == Method::TrapRepress => {
                let node = self.plane.ports[port].node;
                if !self.devices.list[node].repress(smp.tid) {
                    self.client_receives(port, request.clone());
                }
                return None;
            }
            MadBody::Smp(smp) if !self.devices.key_fits(self.plane.management_port(port), smp) => return None,
            MadBody::Smp(smp) => {
                let answer = match smp.method {
                    Method::Get => self.get(port, smp),
                    Method::Set => self.set(port, smp).and_then(|()| self.get(port, smp)),
                    _ => Err(status::UNSUPPORTED_METHOD),
                };
                MadBody::Smp(Box::new(answer.map_or_else(|status| smp.refusal(status), |data| smp.response(data))))
            }
            MadBody::General(bytes) => {
                let perf = PerfMad::decode(bytes).ok()?;
                let at = CounterView { plane: &self.plane, now: self.clock.now() };
                MadBody::General(Box::new(self.counters.answer(at, &mut self.sources, port, &perf).encode()))
            }
        };
        let slid = self.devices.ports[self.plane.management_port(port)].lid;
        Some(Mad { slid, dlid: request.slid, sl: request.sl, body })
    }

    fn get(&self, port: PortId, smp: &Smp) -> Answer {
        let node = self.plane.ports[port].node;
        let switch = self.plane.is_switch(node);
        match smp.attribute {
            AttributeId::NodeInfo => Ok(self.node_info(port).encode()),
            AttributeId::NodeDescription => Ok(NodeDescription::new(&self.fabric.node(node).description).encode()),
            AttributeId::SwitchInfo if switch => Ok(self.devices.list[node].switch.encode()),
            AttributeId::Notice => Ok(Notice { notice_type: NoticeType::Empty, ..Notice::decode(&smp.data) }.encode()),
            AttributeId::PortInfo => Ok(self.port_info(self.port_asked(port, smp.modifier)?, port, smp).encode()),
            AttributeId::LinearForwardingTable if switch => self.lft_block(node, smp.modifier),
            AttributeId::SlToVlMappingTable => self.sl_to_vl(port, smp.modifier),
            AttributeId::ActiveHalf => self.active_half(port).map(|half| half.encode()),
            AttributeId::DrainToken => Ok(self.agents.token_state(self.surroundings(), node).encode()),
            AttributeId::Flush => Ok(self.agents.flush_state(self.surroundings(), node).encode()),
            AttributeId::LaneStatus => {
                Ok(Agents::lane_status(self.surroundings(), node, LaneStatus::lanes(smp.modifier)).encode())
            }
            AttributeId::DrainArcs => Ok(self.agents.drain_arcs(self.surroundings(), node, smp.modifier).encode()),
            _ => match self.kept_table(port, smp)? {
                Some(table) => Ok(self.read_kept(table)),
                None => Err(status::UNSUPPORTED_METHOD_ATTRIBUTE),
            },
        }
    }

    fn set(&mut self, port: PortId, smp: &Smp) -> Result<(), u16> {
        let node = self.plane.ports[port].node;
        let switch = self.plane.is_switch(node);
        match smp.attribute {
            AttributeId::SwitchInfo if switch => {
                self.devices.list[node].set_switch_info(&SwitchInfo::decode(&smp.data))
            }
            AttributeId::PortInfo => {
                let subject = self.port_asked(port, smp.modifier)?;
                return self.set_port_info(subject, port, &PortInfo::decode(&smp.data));
            }
            AttributeId::LinearForwardingTable if switch => return self.set_lft_block(node, smp),
            AttributeId::SlToVlMappingTable => return self.set_sl_to_vl(port, smp),
            AttributeId::ActiveHalf => return self.set_active_half(port, ActiveHalf::decode(&smp.data)),
            AttributeId::DrainArcs => {
                let arcs = DrainArcs::decode(&smp.data);
                self.with_agents(|agents, at| agents.set_drain_arcs(at, node, smp.modifier, &arcs));
            }
            AttributeId::DrainToken => {
                let token = DrainToken::decode(&smp.data);
                self.with_agents(|agents, at| agents.start_tokens(at, node, token));
            }
            AttributeId::Flush => self.start_flush(node, Flush::decode(&smp.data)),
            _ => match self.kept_table(port, smp)? {
                Some(table) => self.write_kept(table, &smp.data),
                None => return Err(status::UNSUPPORTED_METHOD_ATTRIBUTE),
            },
        }
        Ok(())
    }

    fn node_info(&self, port: PortId) -> NodeInfo {
        let at = &self.plane.ports[port];
        let own = self.fabric.port(self.plane.management_port(port));
        power_on::node_info(self.fabric.node(at.node), own.guid, PortNum(at.num))
    }

    fn lft_block(&self, node: NodeId, modifier: u32) -> Answer {
        let first = self.first_lid(node, modifier)?;
        let entries = std::array::from_fn(|i| self.plane.tables.output(node, (first + i) as u16));
        Ok(LinearForwardingTable(entries).encode())
    }

    /// The first LID of a block of a switch's forwarding table; refused where the switch has no room for it.
    fn first_lid(&self, node: NodeId, block: u32) -> Result<usize, u16> {
        let first = block as usize * 64;
        let room = UNICAST_LIDS.min(self.fabric.node(node).lft_capacity.into());
        if first < room { Ok(first) } else { Err(status::INVALID_VALUE) }
    }

    fn set_lft_block(&mut self, node: NodeId, smp: &Smp) -> Result<(), u16> {
        let first = self.first_lid(node, smp.modifier)?;
        let (block, now) = (first / 64, self.clock.now());
        // The device has room for the block (`first_lid`), but its table here grows only with the blocks in use.
        self.plane.tables.reach(first + 64);
        let entries = self.plane.tables.block_mut(node, block).ok_or(status::INVALID_VALUE)?;
        // Recorded before it is overwritten: losses are judged by the tables as they stood when a packet was sent.
        self.ledger.remember(node, block as u16, now, entries);
        entries.copy_from_slice(&smp.data);
        self.reconsider(node);
        Ok(())
    }

    fn sl_to_vl_scope(&self, port: PortId, modifier: u32) -> Result<SlToVlModifier, u16> {
        let at = &self.plane.ports[port];
        if !self.plane.is_switch(at.node) {
            // An end port has one table, so its modifier means nothing.
            return Ok(SlToVlModifier::Pair { input: PortNum::ZERO, output: PortNum(at.num) });
        }
        let scope = SlToVlModifier::decode(modifier).ok_or(status::INVALID_VALUE)?;
        let most = self.plane.num_ports(at.node);
        let optimised = self.fabric.node(at.node).optimised_sl_to_vl;
        match scope {
            SlToVlModifier::Pair { input, output } if input.0 <= most && output.0 <= most => Ok(scope),
            SlToVlModifier::Every | SlToVlModifier::EveryInput { .. } | SlToVlModifier::EveryOutput { .. }
                if optimised =>
            {
                Ok(scope)
            }
            _ => Err(status::INVALID_VALUE),
        }
    }

    fn sl_to_vl(&self, port: PortId, modifier: u32) -> Answer {
        let node = self.plane.ports[port].node;
        let (input, output) = match self.sl_to_vl_scope(port, modifier)? {
            SlToVlModifier::Pair { input, output } => (input.0, output.0),
            SlToVlModifier::EveryInput { output } => (0, output.0),
            SlToVlModifier::EveryOutput { input } => (input.0, 0),
            SlToVlModifier::Every => (0, 0),
        };
        let table = self.plane.tables.sl_table(node, input, output);
        Ok(SlToVlMappingTable(table.map(Vl::masked)).encode())
    }

    fn set_sl_to_vl(&mut self, port: PortId, smp: &Smp) -> Result<(), u16> {
        let node = self.plane.ports[port].node;
        let most = self.plane.num_ports(node);
        let table = SlToVlMappingTable::decode(&smp.data).0.map(Vl::get);
        match self.sl_to_vl_scope(port, smp.modifier)? {
            SlToVlModifier::Every => self.plane.tables.set_sl_uniform(node, table),
            SlToVlModifier::Pair { input, output } => {
                self.plane.tables.set_sl_pair(node, most, input.0, output.0, table);
            }
            SlToVlModifier::EveryInput { output } => {
                (0..=most).for_each(|input| self.plane.tables.set_sl_pair(node, most, input, output.0, table));
            }
            SlToVlModifier::EveryOutput { input } => {
                (0..=most).for_each(|output| self.plane.tables.set_sl_pair(node, most, input.0, output, table));
            }
        }
        self.reconsider(node);
        Ok(())
    }

    fn active_half(&self, port: PortId) -> Result<ActiveHalf, u16> {
        let source = self.sources.list.get(self.sources.by_port[port]);
        let source = source.ok_or(status::UNSUPPORTED_METHOD_ATTRIBUTE)?;
        // P3.5: *settled* means that no packet of the other half waits in its send queues.
        Ok(ActiveHalf { half: source.half, settled: source.queued[source.half.other().index()] == 0 })
    }

    fn set_active_half(&mut self, port: PortId, told: ActiveHalf) -> Result<(), u16> {
        let source = self.sources.at_port(port).ok_or(status::UNSUPPORTED_METHOD_ATTRIBUTE)?;
        // A newcomer takes a half even where sources do not move: it has no paths that could stay as they are.
        if self.config.sources_move || source.is_silent() {
            let rank = source.rank;
            self.tell_half(rank, told.half);
        }
        Ok(())
    }
}
