//! What a device's management agent holds of itself, apart from forwarding and SL-to-VL tables and port states.

use super::SimConfig;
use super::mad::Mad;
use super::power_on;
use super::spaces::Spaces;
use crate::fabric::Fabric;
use crate::ids::{Lid, Lmc};
use crate::wire::{Notice, PortInfo, SMP_DATA_SIZE, SwitchInfo};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::Range;

/// A trap that nobody has repressed yet.
#[derive(Clone)]
pub struct PendingTrap {
    /// Its transaction number.
    pub tid: u64,
    /// The port whose subnet manager is told.
    pub port: u32,
    /// What it says.
    pub notice: Notice,
}

/// One node's management.
pub struct Device {
    /// It answers.
    pub alive: bool,
    /// Requests that wait for the agent: the port each came by, and the MAD.
    pub queue: VecDeque<(u32, Mad)>,
    /// The agent is at work on the first.
    pub serving: bool,
    /// SwitchInfo as it holds it; means nothing at other nodes.
    pub switch: SwitchInfo,
    /// The trap that it repeats.
    pub trap: Option<PendingTrap>,
}

/// All devices.
pub struct Devices {
    /// By node.
    pub list: Vec<Device>,
    /// By port: PortInfo as the port holds it. What is a matter of the moment, states for example, is put in on reading.
    pub ports: Vec<PortInfo>,
    /// Tables that are written and read back, and otherwise mean nothing here: by port, attribute and modifier.
    pub kept: FxHashMap<(u32, u16, u32), [u8; SMP_DATA_SIZE]>,
    /// By subnet and LID ([`Spaces::slot`]): the base LID of the port that holds it; 0 where none does.
    base_of: Vec<Lid>,
    spaces: Spaces,
}

/// A lifetime limit as HOQLife and LifeTimeValue code it: the least n with 4.096 µs × 2^n not below it; 20 for none.
pub fn limit_code(limit_ns: u64) -> u8 {
    match limit_ns {
        0 => 20,
        limit => (0..20).find(|n| 4096 << n >= limit).unwrap_or(20),
    }
}

/// The limit that a code stands for, in nanoseconds; none from 20 on.
#[inline]
pub fn coded_limit_ns(code: u8) -> Option<u64> {
    (code < 20).then(|| 4096 << code)
}

impl Devices {
    pub(super) fn new(fabric: &Fabric, config: &SimConfig, spaces: &Spaces, cold: bool) -> Devices {
        let list = fabric.nodes().map(|(_, node)| Device {
            alive: node.present,
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
            kept: FxHashMap::default(),
            base_of: vec![Lid::default(); spaces.count() << 16],
            spaces: spaces.clone(),
        };
        for (id, port) in fabric.ports() {
            devices.take_lids(id.0, port.lid.unwrap_or_default(), port.lmc);
        }
        devices
    }

    /// Whether a port holds a LID as its own.
    pub(super) fn owns(&self, port: u32, lid: Lid) -> bool {
        let held = &self.ports[port as usize];
        lid_range(held.lid, held.lmc).contains(&lid.index())
    }

    /// Which of its owner's LIDs a LID of a port's subnet is, counted from 0; 0 where nobody holds it.
    pub(super) fn rank_of(&self, port: u32, lid: Lid) -> u16 {
        let base = self.base_of[self.spaces.slot(port, lid.0)];
        if base.is_unicast() { lid.0 - base.0 } else { 0 }
    }

    /// A port takes LIDs, and gives back those that it held. What another port holds already is held twice then; the last
    /// to take it is known as its owner.
    pub(super) fn take_lids(&mut self, port: u32, lid: Lid, lmc: Lmc) {
        let held = &mut self.ports[port as usize];
        let (old, before) = (lid_range(held.lid, held.lmc), held.lid);
        (held.lid, held.lmc) = (lid, lmc);
        // Who took one of them meanwhile keeps it.
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
