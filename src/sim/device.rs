//! What a device's management agent knows of itself, apart from tables and port states.

use super::mad::Mad;
use crate::fabric::Fabric;
use crate::ids::{Lid, Lmc, Sl};
use std::collections::VecDeque;

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
}

/// A lifetime limit as HOQLife and LifeTimeValue code it: the least n with 4.096 µs × 2^n not below it; 20 for none.
pub fn limit_code(limit_ns: u64) -> u8 {
    match limit_ns {
        0 => 20,
        limit => (0..20).find(|n| 4096 << n >= limit).unwrap_or(20),
    }
}

impl Devices {
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
        Devices { list: list.collect(), ports: ports.collect() }
    }
}
