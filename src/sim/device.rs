//! The state of a device's management agent, apart from forwarding and SL-to-VL tables and port states.

use super::SimConfig;
use super::index::{By, EndPortRank};
use super::kept::KeptTables;
use super::mad::Mad;
use super::power_on;
use super::spaces::Spaces;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, Lmc, PortNum, Sl};
use crate::transport::Datagram;
use crate::wire::vendor::{DrainArcs, DrainToken, Flush};
use crate::wire::{
    AttributeId, Method, Notice, PortInfo, PortState, SMP_DATA_SIZE, SlToVlModifier, Smp, SwitchInfo, capability,
};
use std::collections::VecDeque;
use std::ops::Range;

/// A trap that has not been repressed yet.
#[derive(Clone)]
pub struct PendingTrap {
    /// Its transaction number.
    pub tid: u64,
    /// The port whose subnet manager is notified.
    pub port: PortId,
    /// What it says.
    pub notice: Notice,
}

/// How an agent fails at an attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sickness {
    /// It refuses: the method is not supported with this attribute.
    Refuses,
    /// It takes every `Set` as done, writes nothing, and answers with what it holds.
    Ignores,
    /// It does not answer.
    Silent,
    /// It does not have the attribute: it refuses, and of SLtoVLMappingTable its capability mask says so.
    Lacks,
}

/// What an agent fails at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SickAttribute {
    /// The attribute.
    pub attribute: AttributeId,
    /// How.
    pub sickness: Sickness,
    /// Whether it fails at writes only, and reports what it holds; [`Sickness::Ignores`] always does.
    pub writes_only: bool,
}

/// A MAD that waits for a device's processor.
pub struct WaitingMad {
    /// The port that it came by.
    pub port: PortId,
    /// The MAD.
    pub mad: Mad,
    /// The port by which it is to go on; none where it is for the device's agents.
    pub onward: Option<PortNum>,
}

/// One node's management.
pub struct Device {
    /// It has power. Independent of `deaf` and `serving`: a device that dies deaf comes back deaf, and work that was
    /// begun ends by an event of its own, dead or alive.
    pub alive: bool,
    /// Its agent takes no request, though the device forwards and sends as before. What waits already is served.
    pub deaf: bool,
    /// What its agent fails at.
    pub(super) sick: Vec<SickAttribute>,
    /// What waits for its processor.
    pub queue: VecDeque<WaitingMad>,
    /// The processor is at work on the first.
    pub serving: bool,
    /// SwitchInfo as it holds it; means nothing at other nodes.
    pub switch: SwitchInfo,
    /// The trap that it repeats.
    pub trap: Option<PendingTrap>,
}

impl Device {
    /// How the device fails at a request; none if it serves it.
    pub(super) fn fails_at(&self, smp: &Smp) -> Option<Sickness> {
        let is_set = smp.method == Method::Set;
        let at = self.sick.iter().find(|at| at.attribute == smp.attribute)?;
        let spares_reads = at.writes_only || at.sickness == Sickness::Ignores;
        (is_set || !spares_reads).then_some(at.sickness)
    }

    /// Ends the trap that the device repeats; false where it has none of this number.
    pub(super) fn repress(&mut self, tid: u64) -> bool {
        self.trap.take_if(|pending| pending.tid == tid).is_some()
    }

    pub(super) fn set_switch_info(&mut self, wanted: &SwitchInfo) {
        let held = &mut self.switch;
        held.linear_fdb_top = wanted.linear_fdb_top;
        held.multicast_fdb_top = wanted.multicast_fdb_top;
        held.life_time_value = wanted.life_time_value;
        held.default_multicast_primary_port = wanted.default_multicast_primary_port;
        held.default_multicast_not_primary_port = wanted.default_multicast_not_primary_port;
        // Writing a one clears the mark.
        held.port_state_change &= !wanted.port_state_change;
    }
}

/// What a Set means beyond the settings of its device.
pub(super) enum Consequence {
    /// A block of a switch's forwarding table is written.
    Forwarding {
        switch: NodeId,
        block: usize,
        entries: [u8; SMP_DATA_SIZE],
    },
    /// SL-to-VL tables of a node are written.
    SlToVl {
        node: NodeId,
        scope: SlToVlModifier,
        table: [u8; 16],
    },
    /// An end port is assigned a half.
    Half(EndPortRank, Half),
    /// A block of a node's arcs is written.
    Arcs {
        node: NodeId,
        block: u32,
        arcs: DrainArcs,
    },
    /// A node sends the tokens of its source channels.
    Tokens(NodeId, DrainToken),
    Flush(NodeId, Flush),
    /// A port takes LIDs.
    Lids {
        port: PortId,
        lid: Lid,
        lmc: Lmc,
    },
    /// A port's VL arbitration lists, or how long the one of high priority may send, are written.
    Arbitration(PortId),
    /// So many lanes of a port are in operation.
    Lanes(PortId, u8),
    /// A port enters a state.
    State(PortId, PortState),
    /// An end port is to query subnet administration again.
    Reregister(PortId),
}

/// All devices.
pub struct Devices {
    /// By node.
    pub list: By<NodeId, Device>,
    /// By port: PortInfo as the port holds it. What is a matter of the moment, states for example, is put in on
    /// reading.
    pub ports: By<PortId, PortInfo>,
    /// Tables that are written and read back, and otherwise mean nothing here.
    pub(super) kept: KeptTables,
    /// The ports that subnet managers run on.
    pub managers: Vec<PortId>,
    /// End ports that were asked to query subnet administration anew.
    pub reregistered: Vec<PortId>,
    /// They began without LIDs, tables and ACTIVE ports, as after their power came.
    pub cold: bool,
    /// Lanes and MTU of ACTIVE ports do not change.
    pub(super) fixed_links: bool,
    /// By subnet and LID ([`Spaces::slot`]): the base LID of the port that holds it; 0 where none does.
    base_of: Vec<Lid>,
    spaces: Spaces,
}

impl Devices {
    pub(super) fn new(fabric: &Fabric, config: &SimConfig, spaces: &Spaces, cold: bool) -> Devices {
        let list = fabric.nodes().map(|(_, node)| Device {
            alive: node.present,
            deaf: false,
            sick: Vec::new(),
            queue: VecDeque::new(),
            serving: false,
            switch: SwitchInfo {
                linear_fdb_top: spaces.top_at(node.first_port),
                ..power_on::switch_info(node, config)
            },
            trap: None,
        });
        let mut devices = Devices {
            list: list.collect(),
            ports: fabric.ports().map(|(_, port)| power_on::port_info(fabric, port, config, cold)).collect(),
            kept: KeptTables::default(),
            managers: Vec::new(),
            reregistered: Vec::new(),
            cold,
            fixed_links: config.fixed_links,
            base_of: vec![Lid::default(); spaces.count() << 16],
            spaces: spaces.clone(),
        };
        for (id, port) in fabric.ports() {
            devices.take_lids(id, port.lid.unwrap_or_default(), port.lmc);
        }
        devices
    }

    /// Takes the power of some nodes away.
    pub(super) fn power_off(&mut self, nodes: &[NodeId]) {
        nodes.iter().for_each(|&node| self.list[node].alive = false);
    }

    /// Gives a node its power back: nothing waits to be served, and its ports have changed.
    pub(super) fn power_on(&mut self, node: NodeId) {
        let device = &mut self.list[node];
        device.queue.clear();
        (device.alive, device.trap) = (true, None);
        device.switch.port_state_change = true;
    }

    /// Resets the settings of a node and of its ports, LIDs included.
    pub(super) fn forget_settings(&mut self, fabric: &Fabric, config: &SimConfig, node: NodeId) {
        self.list[node].switch = power_on::switch_info(fabric.node(node), config);
        self.kept.forget(&fabric.port_range(node));
        for port in fabric.ports_of(node) {
            // Before what the port holds is overwritten: these are the LIDs that it gives back.
            self.take_lids(port, Lid::default(), Lmc::default());
            self.ports[port] = power_on::port_info(fabric, fabric.port(port), config, true);
        }
    }

    /// Lets a node's agent fail at one attribute, besides what it fails at already.
    pub(super) fn sicken(&mut self, fabric: &Fabric, node: NodeId, sick: SickAttribute) {
        self.list[node].sick.push(sick);
        self.show_sl_mapping(fabric, node);
    }

    /// Lets a node's agent serve all attributes again.
    pub(super) fn heal(&mut self, fabric: &Fabric, node: NodeId) {
        self.list[node].sick.clear();
        self.show_sl_mapping(fabric, node);
    }

    /// Has a node's capability masks say whether it has SL-to-VL tables.
    fn show_sl_mapping(&mut self, fabric: &Fabric, node: NodeId) {
        let lacks = |sick: &SickAttribute| {
            sick.attribute == AttributeId::SlToVlMappingTable && sick.sickness == Sickness::Lacks
        };
        let lacks_it = self.list[node].sick.iter().any(lacks);
        for port in fabric.ports_of(node).filter(|&port| power_on::is_end(fabric, fabric.port(port))) {
            let mask = &mut self.ports[port].capability_mask;
            *mask = if lacks_it { *mask & !capability::SL_TO_VL } else { *mask | capability::SL_TO_VL };
        }
    }

    /// Puts a MAD in line for a node's processor, unless it came by a link and the VL 15 buffer of its port, of so many
    /// SMPs, has no room; 0 for a buffer without limit. What the device's own host sends it takes no room there.
    pub(super) fn queue(&mut self, node: NodeId, waiting: WaitingMad, room: usize) -> Result<(), WaitingMad> {
        let device = &mut self.list[node];
        if room > 0 && waiting.mad.came_on_vl15 {
            // The first one has left the buffer once the processor is at work on it.
            let in_buffer = device.queue.iter().skip(usize::from(device.serving));
            let beside = in_buffer.filter(|own| own.port == waiting.port && own.mad.came_on_vl15);
            if beside.count() >= room {
                return Err(waiting);
            }
        }
        device.queue.push_back(waiting);
        Ok(())
    }

    /// The MAD that the processor of a node begins to serve; none where it is at work, or nothing waits.
    pub(super) fn begin_service(&mut self, node: NodeId) -> Option<&WaitingMad> {
        let device = &mut self.list[node];
        let next = device.queue.front().filter(|_| !device.serving)?;
        device.serving = true;
        Some(next)
    }

    /// The MAD that the processor of a node has finished with; none where the node died meanwhile.
    pub(super) fn end_service(&mut self, node: NodeId) -> Option<WaitingMad> {
        let device = &mut self.list[node];
        device.serving = false;
        if !device.alive {
            // Its power is gone, and with it what waited for service.
            device.queue.clear();
        }
        device.queue.pop_front()
    }

    /// Has a subnet manager run on a port, or run there no longer. Whether that is a change.
    pub(super) fn set_manager(&mut self, port: PortId, is_sm: bool) -> bool {
        let changes = self.managers.contains(&port) != is_sm;
        if changes {
            match is_sm {
                true => self.managers.push(port),
                false => self.managers.retain(|&other| other != port),
            }
        }
        changes
    }

    /// Loads what a port holds of the subnet manager: its LID and the SL towards it.
    pub(super) fn load_master_sm(&mut self, port: PortId, lid: Lid, sl: Sl) {
        let held = &mut self.ports[port];
        (held.master_sm_lid, held.master_sm_sl) = (lid, sl);
    }

    /// Whether a port holds a LID as its own.
    pub(super) fn owns(&self, port: PortId, lid: Lid) -> bool {
        let held = &self.ports[port];
        lid_range(held.lid, held.lmc).contains(&lid.index())
    }

    /// PortInfo:CapabilityMask of a port.
    pub(super) fn capability_mask(&self, port: PortId) -> u32 {
        let is_sm = if self.managers.contains(&port) { capability::IS_SM } else { 0 };
        self.ports[port].capability_mask | is_sm
    }

    /// Whether a request may be carried out as far as the M_Key goes (section 14.2.4): a port that holds a key takes
    /// Sets with that key alone, and with protect bits of 2 and 3 Gets too. A wrong key is counted, and the request
    /// dropped.
    pub(super) fn key_fits(&mut self, own: PortId, smp: &Smp) -> bool {
        let held = &mut self.ports[own];
        let open = smp.method == Method::Get && held.m_key_protect_bits < 2;
        let fits = held.m_key == 0 || held.m_key == smp.m_key || open;
        if !fits {
            held.m_key_violations = held.m_key_violations.saturating_add(1);
        }
        fits
    }

    /// The LID of the subnet manager that a port holds; where it holds none, that of the first manager.
    pub(super) fn manager_lid(&self, known: Lid) -> Lid {
        let first = || self.managers.first().map_or(known, |&port| self.ports[port].lid);
        if known.is_unicast() { known } else { first() }
    }

    /// The LID of a port that a datagram comes from, and that answers go back to: the one that it names by its path
    /// bits, or else the one of the same rank among the port's LIDs as the DLID among its owner's, so that both ways
    /// are on one half.
    pub(super) fn source_lid(&self, port: PortId, datagram: &Datagram) -> Lid {
        let own = &self.ports[port];
        let last = own.lmc.lids() - 1;
        let rank = datagram.from.map_or_else(|| self.rank_of(port, datagram.lid).min(last), |from| from.0 & last);
        Lid(own.lid.0 + rank)
    }

    /// The rank of a LID among its owner's LIDs, from 0, in the subnet of a port; 0 where no port holds it.
    fn rank_of(&self, port: PortId, lid: Lid) -> u16 {
        let base = self.base_of[self.spaces.slot(port, lid.0)];
        if base.is_unicast() { lid.0 - base.0 } else { 0 }
    }

    /// A port takes LIDs, and gives back those that it held. What another port holds already is held twice then; the
    /// last to take it is known as its owner.
    pub(super) fn take_lids(&mut self, port: PortId, lid: Lid, lmc: Lmc) {
        let held = &mut self.ports[port];
        let (old, before) = (lid_range(held.lid, held.lmc), held.lid);
        (held.lid, held.lmc) = (lid, lmc);
        // A port that has taken one of them meanwhile keeps it.
        let space = self.spaces.slot(port, 0);
        let own = &mut self.base_of[space..];
        own[old].iter_mut().filter(|base| **base == before).for_each(|base| *base = Lid::default());
        own[lid_range(lid, lmc)].fill(lid);
    }
}

/// The LIDs of a port as indices; none where its base LID is no unicast LID.
pub fn lid_range(lid: Lid, lmc: Lmc) -> Range<usize> {
    let count = if lid.is_unicast() { usize::from(lmc.lids()) } else { 0 };
    lid.index()..lid.index() + count
}
