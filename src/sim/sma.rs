//! Subnet management agents: what each attribute reads and does. PortInfo, tables that are only kept, traps and performance
//! management have files of their own.

use super::Sim;
use super::mad::{Body, Mad};
use super::packet::NIL;
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
    /// What a node's agent answers to a request that came in by `port`.
    pub(super) fn agent_answers(&mut self, port: u32, request: &Mad) -> Option<Mad> {
        let body = match &request.body {
            Body::Smp(smp) if smp.method == Method::TrapRepress => {
                if !self.repress_trap(port, smp.tid) {
                    self.client_receives(port, request.clone());
                }
                return None;
            }
            Body::Smp(smp) if !self.key_fits(port, smp) => return None,
            Body::Smp(smp) => {
                let answer = match smp.method {
                    Method::Get => self.get(port, smp),
                    Method::Set => self.set(port, smp).and_then(|()| self.get(port, smp)),
                    _ => Err(status::UNSUPPORTED_METHOD),
                };
                Body::Smp(Box::new(answer.map_or_else(|status| smp.refusal(status), |data| smp.response(data))))
            }
            Body::General(bytes) => {
                let perf = PerfMad::decode(bytes).ok()?;
                Body::General(Box::new(self.perf_answers(port, &perf).encode()))
            }
        };
        let slid = self.devices.ports[self.management_port(port) as usize].lid;
        Some(Mad { slid, dlid: request.slid, sl: request.sl, body })
    }

    fn get(&self, port: u32, smp: &Smp) -> Answer {
        let node = self.net.ports[port as usize].node;
        let switch = self.is_switch(node);
        match smp.attribute {
            AttributeId::NodeInfo => Ok(self.node_info(port).encode()),
            AttributeId::NodeDescription => {
                Ok(NodeDescription::new(&self.fabric.node(NodeId(node)).description).encode())
            }
            AttributeId::SwitchInfo if switch => Ok(self.devices.list[node as usize].switch.encode()),
            AttributeId::Notice => Ok(Notice { notice_type: NoticeType::Empty, ..Notice::decode(&smp.data) }.encode()),
            AttributeId::PortInfo => Ok(self.port_info(self.port_asked(port, smp.modifier)?, port, smp).encode()),
            AttributeId::LinearForwardingTable if switch => self.lft_block(node, smp.modifier),
            AttributeId::SlToVlMappingTable => self.sl_to_vl(port, smp.modifier),
            AttributeId::ActiveHalf => self.active_half(port).map(|half| half.encode()),
            AttributeId::DrainToken => Ok(self.token_state(node).encode()),
            AttributeId::Flush => Ok(self.flush_state(node).encode()),
            AttributeId::LaneStatus => Ok(self.lane_status(node, LaneStatus::lanes(smp.modifier)).encode()),
            AttributeId::DrainArcs => Ok(self.drain_arcs(node, smp.modifier).encode()),
            _ => match self.kept_table(port, smp)? {
                Some(table) => Ok(self.read_kept(table)),
                None => Err(status::UNSUPPORTED_METHOD_ATTRIBUTE),
            },
        }
    }

    fn set(&mut self, port: u32, smp: &Smp) -> Result<(), u16> {
        let node = self.net.ports[port as usize].node;
        let switch = self.is_switch(node);
        match smp.attribute {
            AttributeId::SwitchInfo if switch => self.set_switch_info(node, &SwitchInfo::decode(&smp.data)),
            AttributeId::PortInfo => {
                let subject = self.port_asked(port, smp.modifier)?;
                return self.set_port_info(subject, port, &PortInfo::decode(&smp.data));
            }
            AttributeId::LinearForwardingTable if switch => return self.set_lft_block(node, smp),
            AttributeId::SlToVlMappingTable => return self.set_sl_to_vl(port, smp),
            AttributeId::ActiveHalf => return self.set_active_half(port, ActiveHalf::decode(&smp.data)),
            AttributeId::DrainArcs => self.set_drain_arcs(node, smp.modifier, &DrainArcs::decode(&smp.data)),
            AttributeId::DrainToken => self.start_tokens(node, DrainToken::decode(&smp.data)),
            AttributeId::Flush => self.start_flush(node, Flush::decode(&smp.data)),
            _ => match self.kept_table(port, smp)? {
                Some(table) => self.write_kept(table, &smp.data),
                None => return Err(status::UNSUPPORTED_METHOD_ATTRIBUTE),
            },
        }
        Ok(())
    }

    fn node_info(&self, port: u32) -> NodeInfo {
        let at = &self.net.ports[port as usize];
        let own = self.fabric.port(PortId(self.management_port(port)));
        power_on::node_info(self.fabric.node(NodeId(at.node)), own.guid, PortNum(at.num))
    }

    fn set_switch_info(&mut self, node: u32, told: &SwitchInfo) {
        let held = &mut self.devices.list[node as usize].switch;
        held.linear_fdb_top = told.linear_fdb_top;
        held.multicast_fdb_top = told.multicast_fdb_top;
        held.life_time_value = told.life_time_value;
        held.default_multicast_primary_port = told.default_multicast_primary_port;
        held.default_multicast_not_primary_port = told.default_multicast_not_primary_port;
        // Writing a one clears the mark.
        held.port_state_change &= !told.port_state_change;
    }

    fn lft_block(&self, node: u32, modifier: u32) -> Answer {
        let first = self.first_lid(node, modifier)?;
        let entries = std::array::from_fn(|i| self.net.tables.output(node, (first + i) as u16));
        Ok(LinearForwardingTable(entries).encode())
    }

    /// The first LID of a block of a switch's forwarding table; refused where the switch has no room for it.
    fn first_lid(&self, node: u32, block: u32) -> Result<usize, u16> {
        let first = block as usize * 64;
        let room = UNICAST_LIDS.min(self.fabric.node(NodeId(node)).lft_capacity.into());
        if first < room { Ok(first) } else { Err(status::INVALID_VALUE) }
    }

    fn set_lft_block(&mut self, node: u32, smp: &Smp) -> Result<(), u16> {
        let first = self.first_lid(node, smp.modifier)?;
        let (row, block, now) = (self.net.tables.row(node), first / 64, self.now);
        self.net.tables.reach(first + 64);
        let entries = self.net.tables.block_mut(node, block).ok_or(status::INVALID_VALUE)?;
        self.ledger.remember(row, block as u16, now, entries);
        entries.copy_from_slice(&smp.data);
        self.reconsider(node);
        Ok(())
    }

    fn sl_to_vl_scope(&self, port: u32, modifier: u32) -> Result<SlToVlModifier, u16> {
        let at = &self.net.ports[port as usize];
        if !self.is_switch(at.node) {
            return Ok(SlToVlModifier::Pair { input: PortNum::ZERO, output: PortNum(at.num) });
        }
        let scope = SlToVlModifier::decode(modifier).ok_or(status::INVALID_VALUE)?;
        let most = self.net.num_ports(at.node);
        let optimised = self.fabric.node(NodeId(at.node)).optimised_sl_to_vl;
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

    fn sl_to_vl(&self, port: u32, modifier: u32) -> Answer {
        let node = self.net.ports[port as usize].node;
        let (input, output) = match self.sl_to_vl_scope(port, modifier)? {
            SlToVlModifier::Pair { input, output } => (input.0, output.0),
            SlToVlModifier::EveryInput { output } => (0, output.0),
            SlToVlModifier::EveryOutput { input } => (input.0, 0),
            SlToVlModifier::Every => (0, 0),
        };
        let table = self.net.tables.sl_table(node, input, output);
        Ok(SlToVlMappingTable(table.map(Vl::masked)).encode())
    }

    fn set_sl_to_vl(&mut self, port: u32, smp: &Smp) -> Result<(), u16> {
        let node = self.net.ports[port as usize].node;
        let most = self.net.num_ports(node);
        let table = SlToVlMappingTable::decode(&smp.data).0.map(Vl::get);
        match self.sl_to_vl_scope(port, smp.modifier)? {
            SlToVlModifier::Every => self.net.tables.set_sl_uniform(node, table),
            SlToVlModifier::Pair { input, output } => {
                self.net.tables.set_sl_pair(node, most, input.0, output.0, table);
            }
            SlToVlModifier::EveryInput { output } => {
                (0..=most).for_each(|input| self.net.tables.set_sl_pair(node, most, input, output.0, table));
            }
            SlToVlModifier::EveryOutput { input } => {
                (0..=most).for_each(|output| self.net.tables.set_sl_pair(node, most, input.0, output, table));
            }
        }
        self.reconsider(node);
        Ok(())
    }

    pub(super) fn source_at(&self, port: u32) -> Result<usize, u16> {
        let rank = self.sources.by_port[port as usize];
        if rank == NIL { Err(status::UNSUPPORTED_METHOD_ATTRIBUTE) } else { Ok(rank as usize) }
    }

    fn active_half(&self, port: u32) -> Result<ActiveHalf, u16> {
        let source = &self.sources.list[self.source_at(port)?];
        Ok(ActiveHalf { half: source.half, settled: source.queued[source.half.other().index()] == 0 })
    }

    fn set_active_half(&mut self, port: u32, told: ActiveHalf) -> Result<(), u16> {
        let rank = self.source_at(port)?;
        // Who has come has no paths yet that could stay behind.
        if self.config.sources_move || self.sources.list[rank].silent {
            self.tell_half(rank, told.half);
        }
        Ok(())
    }
}
