//! Settings of the subnet manager, fixed when it starts.

use super::planning::Planning;
use crate::driver::ForesightScope;
use crate::ids::Lmc;
use crate::plan::Policy;
use crate::routing::Engine;
use crate::sa::{MulticastFacts, PathCapacity, Remote};
use crate::subnet::SourceControl;
use crate::wire::Gid;
use std::sync::Arc;

/// Settings of a subnet manager. Names in parentheses are OpenSM's for the same setting.
#[derive(Clone)]
pub struct Config {
    /// The engine that computes routings.
    pub engine: Arc<dyn Engine>,
    /// The engine that stands in if `engine`, or the scheme, finds nothing that is proved; `None`: no engine does.
    pub fallback: Option<Arc<dyn Engine>>,
    /// How changes are made.
    pub policy: Policy,
    /// Whether a change writes forwarding entries alone where every mixture of them is proved, and moves hosts to the
    /// other half elsewhere only; otherwise every change moves them.
    pub auto: bool,
    /// Where plans for future losses are prepared while the subnet is quiet; `None` prepares none.
    pub foresee: Option<ForesightScope>,
    /// How sources are moved to the other half of LIDs.
    pub sources: SourceControl,
    /// 2^LMC LIDs for each port (`lmc`), one half in use and one spare; 0: one LID, and no change by the Double Scheme.
    pub lmc: Lmc,
    /// Whether a subnet that carries traffic under another LMC is to get this one.
    pub lmc_is_required: bool,
    /// The most data VLs in operation (`max_op_vls`, as a count).
    pub data_vls: u8,
    /// Whether a subnet that carries traffic on another number of data VLs is to get this one.
    pub data_vls_are_required: bool,
    /// The devices' M_Key (`m_key`); 0: none.
    pub m_key: u64,
    /// Seconds until a device forgets its M_Key (`m_key_lease_period`); 0: never.
    pub m_key_lease_s: u16,
    /// Who may read and write a device without its M_Key, 0 to 3 (`m_key_protection_level`; section 14.2.4.1).
    pub m_key_protection: u8,
    /// The subnet's GID prefix (`subnet_prefix`).
    pub subnet_prefix: u64,
    /// Whether a subnet that carries traffic under another prefix is to get this one.
    pub subnet_prefix_is_required: bool,
    /// The routers that lead to other subnets (`prefix_routes_file`).
    pub remote: Arc<Remote>,
    /// MTU and rate of the predefined multicast groups (`ipoib, mtu=…, rate=…` of OpenSM's `partitions.conf`).
    pub broadcast: PathCapacity,
    /// Age limits as exponents, 4.096 µs × 2^n (`head_of_queue_lifetime`, `leaf_head_of_queue_lifetime`,
    /// `packet_life_time`), and the number of consecutive drops after which a lane counts as stalled
    /// (`vl_stall_count`).
    pub limits: AgeLimits,
    /// The shortest interval between traps, 4.096 µs × 2^n (`subnet_timeout`).
    pub subnet_timeout: u8,
    /// Whether hosts are asked to register again with the SA where this manager becomes the one that answers (not
    /// `no_clients_rereg`).
    pub asks_clients: bool,
    /// Where long computations run.
    pub planning: Planning,
    /// What to do with a running subnet whose tables can neither be proved nor repaired with a proof.
    pub takeover: Takeover,
    /// Whether switches are managed that choose outputs by themselves: no proof covers what they send elsewhere than
    /// their entries say.
    pub allows_adaptive: bool,
}

impl Config {
    /// Default limit on data VLs.
    pub const DATA_VLS: u8 = 4;

    /// A manager that routes by this engine and otherwise has the common settings: changes by entries alone where that
    /// is proved, agents that move sources, two LIDs for each port, no keys, OpenSM's limits, and no other subnet.
    /// Nothing stands in for the engine, and long computations run on the spot.
    pub fn by(engine: Arc<dyn Engine>) -> Config {
        Config {
            engine,
            fallback: None,
            policy: Policy::default(),
            auto: true,
            foresee: None,
            sources: SourceControl::default(),
            lmc: Lmc::masked(1),
            lmc_is_required: false,
            data_vls: Config::DATA_VLS,
            data_vls_are_required: false,
            m_key: 0,
            m_key_lease_s: 0,
            m_key_protection: 1,
            subnet_prefix: Gid::DEFAULT_PREFIX,
            subnet_prefix_is_required: false,
            remote: Remote::none().into(),
            broadcast: MulticastFacts::BROADCAST,
            limits: AgeLimits::default(),
            subnet_timeout: 18,
            asks_clients: true,
            planning: Planning::Inline,
            takeover: Takeover::default(),
            allows_adaptive: false,
        }
    }

    /// Paths to each port in one half of its LIDs.
    pub(super) fn paths(&self) -> usize {
        usize::from(self.lmc.lids() / 2).max(1)
    }
}

/// Age limits of packets, as written to devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgeLimits {
    /// HOQLife of ports between switches, 0 to 31; from 20 on, unlimited.
    pub hoq_life: u8,
    /// HOQLife of switch ports that lead to an end port.
    pub leaf_hoq_life: u8,
    /// SwitchInfo:LifeTimeValue.
    pub life_time_value: u8,
    /// VLStallCount, 0 to 7.
    pub vl_stall_count: u8,
}

impl Default for AgeLimits {
    /// OpenSM's defaults.
    fn default() -> AgeLimits {
        AgeLimits { hoq_life: 0x12, leaf_hoq_life: 0x10, life_time_value: 0x12, vl_stall_count: 7 }
    }
}

/// What to do with a subnet that carries traffic under tables that can neither be proved nor repaired with a proof.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Takeover {
    /// Write nothing, and report why: hosts may stay without connection for as long as that lasts.
    Proved,
    /// Rewrite it in place, as any subnet manager does that takes over a running subnet; no proof covers that moment.
    #[default]
    Rewrite,
}
