//! What a device's management agent knows of itself, apart from tables and port states.

use super::mad::Mad;
use crate::fabric::Fabric;
use crate::ids::{Lid, Lmc, Sl};
use std::collections::VecDeque;
use std::ops::Range;

/// One node's management.
pub struct Device {
    /// It answers.
    pub alive: bool,
    /// Requests that wait for the agent: the port each came by, and the MAD.
    pub queue: VecDeque<(u32, Mad)>,
    /// The agent is at work on the first.
    pub serving: bool,
    /// SwitchInfo:PortStateChange.
    pub port_state_change: bool,
    /// SwitchInfo:LinearFDBTop.
    pub lft_top: Lid,
    /// A trap 128 that nobody has repressed yet: its transaction number.
    pub trap: Option<u64>,
}

/// What the agent holds for one port.
pub struct PortSettings {
    /// Base LID.
    pub lid: Lid,
    /// Its LMC.
    pub lmc: Lmc,
    /// Where the subnet manager is.
    pub master_sm_lid: Lid,
    /// The SL towards it.
    pub master_sm_sl: Sl,
    /// PortInfo:M_Key.
    pub m_key: u64,
}

/// All devices.
pub struct Devices {
    /// By node.
    pub list: Vec<Device>,
    /// By port.
    pub ports: Vec<PortSettings>,
    /// By LID: the base LID of the port that holds it; 0 where none does.
    base_of: Vec<Lid>,
}

/// A lifetime limit as HOQLife and LifeTimeValue code it: the least n with 4.096 µs × 2^n not below it; 20 for none.
pub fn limit_code(limit_ns: u64) -> u8 {
    match limit_ns {
        0 => 20,
        limit => (0..20).find(|n| 4096 << n >= limit).unwrap_or(20),
    }
}

impl Devices {
    /// Whether a port holds a LID as its own.
    pub(super) fn owns(&self, port: u32, lid: Lid) -> bool {
        let held = &self.ports[port as usize];
        held.lid.is_unicast() && (held.lid.0..held.lid.0.saturating_add(held.lmc.lids())).contains(&lid.0)
    }

    /// Which of its owner's LIDs a LID is, counted from 0; 0 where nobody holds it.
    pub(super) fn rank_of(&self, lid: Lid) -> u16 {
        let base = self.base_of[lid.index()];
        if base.is_unicast() { lid.0 - base.0 } else { 0 }
    }

    /// A port takes LIDs, and gives back those that it held. What another port holds already is now held twice; the last
    /// to take it is known as its owner.
    pub(super) fn take_lids(&mut self, port: u32, lid: Lid, lmc: Lmc) {
        let held = &mut self.ports[port as usize];
        let old = range(held.lid, held.lmc);
        let before = std::mem::replace(&mut held.lid, lid);
        held.lmc = lmc;
        // Who took one of them meanwhile keeps it.
        let given_back = self.base_of[old].iter_mut().filter(|base| **base == before);
        given_back.for_each(|base| *base = Lid::default());
        self.base_of[range(lid, lmc)].fill(lid);
    }

    pub(super) fn new(fabric: &Fabric) -> Devices {
        let top = fabric.max_lid().unwrap_or_default();
        let list = fabric.nodes().map(|(_, node)| Device {
            alive: node.present,
            queue: VecDeque::new(),
            serving: false,
            port_state_change: false,
            lft_top: top,
            trap: None,
        });
        let ports = fabric.ports().map(|(_, port)| PortSettings {
            lid: port.lid.unwrap_or_default(),
            lmc: port.lmc,
            master_sm_lid: Lid::default(),
            master_sm_sl: Sl::default(),
            m_key: 0,
        });
        let mut devices =
            Devices { list: list.collect(), ports: ports.collect(), base_of: vec![Lid::default(); 1 << 16] };
        for (id, port) in fabric.ports() {
            if let Some(lid) = port.lid {
                devices.take_lids(id.0, lid, port.lmc);
            }
        }
        devices
    }
}

/// The LIDs of a port as indices; none where its base LID is no unicast LID.
fn range(lid: Lid, lmc: Lmc) -> Range<usize> {
    let count = if lid.is_unicast() { usize::from(lmc.lids()) } else { 0 };
    lid.index()..(lid.index() + count).min(1 << 16)
}
