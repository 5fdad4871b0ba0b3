//! Settings of the subnet manager, fixed when it starts.

use crate::ids::Lmc;
use crate::plan::Policy;
use crate::routing::Engine;
use crate::sa::Remote;
use crate::subnet::SourceControl;
use std::rc::Rc;
use std::sync::Arc;

/// Settings of a subnet manager. Names in parentheses are OpenSM's for the same.
#[derive(Clone)]
pub struct Config {
    /// Who computes routings.
    pub engine: Rc<dyn Engine>,
    /// How changes are made.
    pub policy: Policy,
    /// How sources are moved to the other half.
    pub sources: SourceControl,
    /// LIDs a port (`lmc`), at least 1: one half in use, one spare.
    pub lmc: Lmc,
    /// Data VLs in operation at most (`max_op_vls`, as a count).
    pub data_vls: u8,
    /// Key of the subnet's devices (`m_key`); 0: none.
    pub m_key: u64,
    /// Seconds until a device forgets its key (`m_key_lease_period`); 0: never.
    pub m_key_lease_s: u16,
    /// Who may read and write a device without its key, 0 to 3 (`m_key_protection_level`; section 14.2.4.1).
    pub m_key_protection: u8,
    /// The subnet's GID prefix (`subnet_prefix`).
    pub subnet_prefix: u64,
    /// Which routers lead to other subnets (`prefix_routes_file`).
    pub remote: Arc<Remote>,
    /// Age limits as exponents, 4.096 µs × 2^n (`head_of_queue_lifetime`, `leaf_head_of_queue_lifetime`,
    /// `packet_life_time`), and packets dropped in a row before a lane counts as stalled (`vl_stall_count`).
    pub limits: AgeLimits,
    /// How often a trap may be sent, 4.096 µs × 2^n (`subnet_timeout`).
    pub subnet_timeout: u8,
    /// What becomes of a subnet that runs on tables which are not ours and cannot be proved.
    pub takeover: Takeover,
}

/// Age limits of packets, as devices are given them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgeLimits {
    /// HOQLife of ports between switches, 0 to 31; 20 and above: none.
    pub hoq_life: u8,
    /// HOQLife of switch ports that lead to an end port.
    pub leaf_hoq_life: u8,
    /// SwitchInfo:LifeTimeValue.
    pub life_time_value: u8,
    /// VLStallCount, 0 to 7.
    pub vl_stall_count: u8,
}

impl Default for AgeLimits {
    /// OpenSM's.
    fn default() -> AgeLimits {
        AgeLimits { hoq_life: 0x12, leaf_hoq_life: 0x10, life_time_value: 0x12, vl_stall_count: 7 }
    }
}

/// What to do with a subnet that carries traffic under tables that cannot be proved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Takeover {
    /// Write nothing, and report why.
    #[default]
    Refuse,
    /// Rewrite it in place, as every subnet manager does that comes to a running subnet; that moment is not proved.
    Rewrite,
}
