//! The management agents: what each attribute reads and does.

use super::device::limit_code;
use super::mad::{Body, Errand, Mad};
use super::wheel::TICKS_PER_NS;
use super::{ArmedPort, Sim};
use crate::fabric::{LinkSpeed, LinkWidth, NodeId, NodeKind, PortId, PortZero};
use crate::ids::{Guid, Lid, PortNum, Sl, Vl};
use crate::wire::vendor::{ActiveHalf, DrainArcs, DrainToken, Flush, LaneStatus};
use crate::wire::{
    AttributeId, LinearForwardingTable, Method, Mtu, NodeDescription, NodeInfo, NodeType, Notice, PERF_DATA_SIZE,
    PerfAttributeId, PerfMad, PortDataSl, PortInfo, PortPhysState, PortState, Route, SMP_DATA_SIZE, SlToVlMappingTable,
    SlToVlModifier, Smp, Speed, SwitchInfo, VlCount, Width, status,
};

/// An attribute as it now stands, or the status that refuses the request.
type Answer = Result<[u8; SMP_DATA_SIZE], u16>;

/// How often a trap is sent again until it is repressed (SubnetTimeOut, about a second on real devices).
const TRAP_PERIOD_NS: u64 = 1_000_000;

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
            AttributeId::SwitchInfo if switch => Ok(self.switch_info(node).encode()),
            AttributeId::PortInfo => Ok(self.port_info(self.port_asked(port, smp.modifier)?, port).encode()),
            AttributeId::LinearForwardingTable if switch => self.lft_block(node, smp.modifier),
            AttributeId::SlToVlMappingTable => self.sl_to_vl(port, smp.modifier),
            AttributeId::ActiveHalf => self.active_half(port).map(|half| half.encode()),
            AttributeId::DrainToken => Ok(self.token_state(node).encode()),
            AttributeId::Flush => Ok(self.flush_state(node).encode()),
            AttributeId::LaneStatus => Ok(self.lane_status(node, LaneStatus::lanes(smp.modifier)).encode()),
            AttributeId::DrainArcs => Ok(self.drain_arcs(node, smp.modifier).encode()),
            _ => Err(status::UNSUPPORTED_METHOD_ATTRIBUTE),
        }
    }

    fn set(&mut self, port: u32, smp: &Smp) -> Result<(), u16> {
        let node = self.net.ports[port as usize].node;
        let switch = self.is_switch(node);
        match smp.attribute {
            AttributeId::SwitchInfo if switch => self.set_switch_info(node, &SwitchInfo::decode(&smp.data)),
            AttributeId::PortInfo => {
                let subject = self.port_asked(port, smp.modifier)?;
                return self.set_port_info(subject, &PortInfo::decode(&smp.data));
            }
            AttributeId::LinearForwardingTable if switch => return self.set_lft_block(node, smp),
            AttributeId::SlToVlMappingTable => return self.set_sl_to_vl(port, smp),
            AttributeId::ActiveHalf => return self.set_active_half(port, ActiveHalf::decode(&smp.data)),
            AttributeId::DrainArcs => self.set_drain_arcs(node, smp.modifier, &DrainArcs::decode(&smp.data)),
            AttributeId::DrainToken => self.start_tokens(node, DrainToken::decode(&smp.data)),
            AttributeId::Flush => self.start_flush(node, Flush::decode(&smp.data)),
            _ => return Err(status::UNSUPPORTED_METHOD_ATTRIBUTE),
        }
        Ok(())
    }

    /// The port that a modifier names; 0 means the one that received, at an end node.
    fn port_asked(&self, port: u32, modifier: u32) -> Result<u32, u16> {
        let node = self.net.ports[port as usize].node;
        if modifier == 0 && !self.is_switch(node) {
            return Ok(port);
        }
        if modifier > self.net.num_ports(node).into() {
            return Err(status::INVALID_VALUE);
        }
        Ok(self.net.first_port(node) + modifier)
    }

    fn node_info(&self, port: u32) -> NodeInfo {
        let at = &self.net.ports[port as usize];
        let node = self.fabric.node(NodeId(at.node));
        let own = self.fabric.port(PortId(self.management_port(port)));
        NodeInfo {
            base_version: 1,
            class_version: 1,
            node_type: match node.kind {
                NodeKind::Switch => NodeType::Switch,
                NodeKind::Ca => NodeType::ChannelAdapter,
                NodeKind::Router => NodeType::Router,
            },
            num_ports: node.num_ports,
            system_guid: node.system_guid.unwrap_or(Guid(0)),
            node_guid: node.guid,
            port_guid: own.guid.unwrap_or(node.guid),
            partition_cap: 32,
            device_id: node.device_id as u16,
            revision: 0,
            local_port: PortNum(at.num),
            vendor_id: node.vendor_id,
        }
    }

    fn switch_info(&self, node: u32) -> SwitchInfo {
        let (device, subject) = (&self.devices.list[node as usize], self.fabric.node(NodeId(node)));
        let mut info = SwitchInfo::decode(&[0; SMP_DATA_SIZE]);
        info.linear_fdb_cap = subject.lft_capacity;
        info.linear_fdb_top = device.lft_top;
        info.life_time_value = limit_code(self.config.switch_lifetime_ns);
        info.port_state_change = device.port_state_change;
        info.optimised_sl_to_vl_programming = u8::from(subject.optimised_sl_to_vl);
        info.enhanced_port0 = subject.port_zero == PortZero::Enhanced;
        info
    }

    fn set_switch_info(&mut self, node: u32, info: &SwitchInfo) {
        let device = &mut self.devices.list[node as usize];
        device.lft_top = info.linear_fdb_top;
        // Writing a one clears the mark.
        if info.port_state_change {
            device.port_state_change = false;
        }
    }

    fn port_info(&self, subject: u32, arrival: u32) -> PortInfo {
        let (port, held) = (&self.net.ports[subject as usize], &self.devices.ports[subject as usize]);
        let cable = self.fabric.port(PortId(subject));
        let lanes = VlCount::at_most(cable.data_vls).unwrap_or(VlCount::One);
        let mut info = PortInfo::decode(&[0; SMP_DATA_SIZE]);
        (info.m_key, info.lid, info.lmc) = (held.m_key, held.lid, held.lmc);
        (info.master_sm_lid, info.master_sm_sl) = (held.master_sm_lid, held.master_sm_sl);
        info.local_port_num = PortNum(self.net.ports[arrival as usize].num);
        (info.vl_cap, info.operational_vls) = (lanes, VlCount::at_most(self.net.data_vls).unwrap_or(VlCount::One));
        (info.mtu_cap, info.neighbour_mtu) = (Mtu::B4096, Mtu::B4096);
        info.hoq_life = limit_code(self.config.hoq_lifetime_ns);
        let management = port.num == 0;
        let up = port.alive || management;
        info.port_state = if management { PortState::Active } else { port.state };
        info.port_phys_state = if up { PortPhysState::LinkUp } else { PortPhysState::Polling };
        let width = width_on_wire(cable.width);
        (info.link_width_active, info.link_width_supported) = (width, width.into());
        info.link_width_enabled = width.into();
        info.set_speed(speed_on_wire(cable.speed));
        info
    }

    fn set_port_info(&mut self, subject: u32, info: &PortInfo) -> Result<(), u16> {
        let held = &mut self.devices.ports[subject as usize];
        if held.lid.is_unicast() && (held.lid, held.lmc) != (info.lid, info.lmc) {
            // LIDs are given before traffic begins; moving one under traffic is not modelled.
            return Err(status::INVALID_VALUE);
        }
        (held.master_sm_lid, held.master_sm_sl) = (info.master_sm_lid, info.master_sm_sl);
        held.m_key = info.m_key;
        self.set_port_state(subject, info.port_state)
    }

    /// ACTIVE ↔ ARMED as told; DOWN bounces the link, which comes back in INITIALIZE.
    fn set_port_state(&mut self, subject: u32, state: PortState) -> Result<(), u16> {
        let port = &mut self.net.ports[subject as usize];
        let next = match state {
            PortState::NoChange => return Ok(()),
            _ if port.num == 0 => return Ok(()),
            _ if !port.alive => return Err(status::INVALID_VALUE),
            PortState::Down => PortState::Initialize,
            PortState::Armed | PortState::Active => state,
            _ => return Err(status::INVALID_VALUE),
        };
        if next == port.state {
            return Ok(());
        }
        port.state = next;
        port.sends = next == PortState::Active;
        port.receives = next != PortState::Armed || self.config.armed == ArmedPort::Discards;
        if next == PortState::Initialize {
            self.empty_buffers(subject);
        }
        self.port_changed(subject);
        Ok(())
    }

    fn lft_block(&self, node: u32, modifier: u32) -> Answer {
        let first = modifier as usize * 64;
        if first >= 0xC000 || first >= usize::from(self.fabric.node(NodeId(node)).lft_capacity) {
            return Err(status::INVALID_VALUE);
        }
        let entries = std::array::from_fn(|i| self.net.tables.output(node, (first + i) as u16));
        Ok(LinearForwardingTable(entries).encode())
    }

    fn set_lft_block(&mut self, node: u32, smp: &Smp) -> Result<(), u16> {
        let (row, block) = (self.net.tables.row(node), smp.modifier as usize);
        let now = self.now;
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

    fn source_at(&self, port: u32) -> Result<usize, u16> {
        let rank = self.sources.by_port[port as usize];
        if rank == super::packet::NIL { Err(status::UNSUPPORTED_METHOD_ATTRIBUTE) } else { Ok(rank as usize) }
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

    fn perf_answers(&mut self, port: u32, perf: &PerfMad) -> PerfMad {
        match self.count_data(port, perf) {
            Ok(data) => perf.response(data),
            Err(status) => perf.refusal(status),
        }
    }

    fn count_data(&mut self, port: u32, perf: &PerfMad) -> Result<[u8; PERF_DATA_SIZE], u16> {
        let rank = self.source_at(port)?;
        let source = &mut self.sources.list[rank];
        let counts = match perf.attribute {
            PerfAttributeId::PortXmitDataSl => &mut source.sent,
            PerfAttributeId::PortRcvDataSl => &mut source.received,
            PerfAttributeId::Unknown(_) => return Err(status::UNSUPPORTED_METHOD_ATTRIBUTE),
        };
        let mut data = PortDataSl::decode(&perf.data);
        if perf.method == Method::Set {
            let chosen = (0..16).filter(|sl| data.counter_select >> sl & 1 == 1);
            chosen.for_each(|sl| counts[sl] = data.counters[sl].into());
        }
        // The counters have 32 bits and stay at their end.
        data.counters = counts.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        Ok(data.encode())
    }

    /// A link of a living switch changed: marks it, and tells the subnet manager.
    pub(super) fn notice_link_state(&mut self, port: u32) {
        let node = self.net.ports[port as usize].node;
        let device = &mut self.devices.list[node as usize];
        if !device.alive || self.net.tables.row(node) == super::packet::NIL {
            return;
        }
        device.port_state_change = true;
        if device.trap.is_none() {
            device.trap = Some(u64::from(node) << 32 | self.now & 0xFFFF_FFFF);
            self.errand(self.now, Errand::Trap(node));
        }
    }

    /// Sends a switch's pending trap to the subnet manager, by the forwarding tables as they are, until it is repressed.
    pub(super) fn repeat_trap(&mut self, node: u32) {
        let device = &self.devices.list[node as usize];
        let (Some(tid), true) = (device.trap, device.alive) else { return };
        let own = self.net.first_port(node);
        let held = &self.devices.ports[own as usize];
        let notice = Notice::link_state_changed(held.lid);
        let smp = Smp::new(Route::Lid, Method::Trap, AttributeId::Notice, 0, notice.encode()).with_tid(tid);
        let mad = Mad::smp(held.lid, held.master_sm_lid, smp);
        self.send_mad(own, mad);
        self.errand(self.now + TRAP_PERIOD_NS * TICKS_PER_NS, Errand::Trap(node));
    }

    /// Ends a device's own trap; false where it has none of this number.
    fn repress_trap(&mut self, port: u32, tid: u64) -> bool {
        let device = &mut self.devices.list[self.net.ports[port as usize].node as usize];
        let own = device.trap == Some(tid);
        if own {
            device.trap = None;
        }
        own
    }

    /// Loads what every port holds of the subnet manager, as found running: its LID and the SL towards it.
    pub fn load_master_sm(&mut self, lid: Lid, sl: Sl) {
        self.devices.ports.iter_mut().for_each(|port| (port.master_sm_lid, port.master_sm_sl) = (lid, sl));
    }
}

fn width_on_wire(width: LinkWidth) -> Width {
    match width {
        LinkWidth::X1 => Width::X1,
        LinkWidth::X2 => Width::X2,
        LinkWidth::X4 => Width::X4,
        LinkWidth::X8 => Width::X8,
        LinkWidth::X12 => Width::X12,
    }
}

fn speed_on_wire(speed: LinkSpeed) -> Speed {
    match speed {
        LinkSpeed::Sdr => Speed::Sdr,
        LinkSpeed::Ddr => Speed::Ddr,
        LinkSpeed::Qdr | LinkSpeed::Fdr10 => Speed::Qdr,
        LinkSpeed::Fdr => Speed::Fdr,
        LinkSpeed::Edr => Speed::Edr,
        LinkSpeed::Hdr => Speed::Hdr,
        LinkSpeed::Ndr => Speed::Ndr,
        LinkSpeed::Xdr => Speed::Xdr,
    }
}
