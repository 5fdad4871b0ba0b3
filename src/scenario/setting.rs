//! What a user may set of a run.

use crate::change::Departure;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Lmc;
use crate::plan::{Policy, Scheme};
use crate::sim::SimConfig;

/// What leaves the fabric, or comes to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    /// The root of R leaves.
    Root,
    /// A switch leaves.
    Switch(NodeId),
    /// The cable at a port leaves.
    Link(PortId),
    /// A switch of the capture comes: the fabric before lacks it.
    Newcomer(NodeId),
    /// A node other than a switch leaves: a router.
    EndNode(NodeId),
    /// Nothing changes.
    Nothing,
}

/// One simulated change, before it is run. Times in nanoseconds of simulated time.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The fabric as captured.
    pub fabric: Fabric,
    /// What changes.
    pub element: Element,
    /// When it leaves.
    pub departure: Departure,
    /// How the routing is changed.
    pub scheme: Scheme,
    /// Arming and drain.
    pub policy: Policy,
    /// The least LMC: LIDs are numbered anew where the capture has less.
    pub lmc: Lmc,
    /// Whether `sim.data_vls` stays as it is where the engines need more lanes, which is an error then.
    pub vls_fixed: bool,
    /// Whether LMC stays as it is where the engines need more LIDs, which is an error then.
    pub lmc_fixed: bool,
    /// Whether switches take the optimised SL-to-VL form; none leaves it to the fabric.
    pub optimised_sl_to_vl: Option<bool>,
    /// The node that the subnet manager runs on; none chooses the capture's origin, or the first host that stays.
    pub sm: Option<NodeId>,
    /// Offered load; none chooses 0.3, or less where that would fill the busiest link or make the run long.
    pub load: Option<f64>,
    /// Hardware, traffic and faults; its load is overwritten by `load`.
    pub sim: SimConfig,
    /// Whether the traffic is the permutation that R serves worst ([`crate::tables::Crossings`]), whatever `sim` says.
    pub worst_traffic: bool,
    /// How many of the busiest links between switches are told; 0 for none.
    pub hot_links: usize,
    /// Requests of the subnet manager under way over all devices; none gives every device one.
    pub window: Option<usize>,
    /// How long an answer may take before a request is sent again.
    pub smp_timeout_ns: u64,
    /// How often a request is sent again before its device counts as gone.
    pub smp_retries: u32,
    /// How long a barrier may take.
    pub barrier_timeout_ns: u64,
    /// Traffic before the period that is measured as *before*.
    pub warm_up_ns: u64,
    /// Length of the period *before*.
    pub before_ns: u64,
    /// Length of the period *after*.
    pub after_ns: u64,
}

impl Scenario {
    /// The root of a fabric leaves, everything else as the command line has it by default.
    pub fn remove_root(fabric: Fabric) -> Scenario {
        Scenario {
            fabric,
            element: Element::Root,
            departure: Departure::default(),
            scheme: Scheme::Double,
            policy: Policy::default(),
            lmc: Lmc::masked(1),
            vls_fixed: false,
            lmc_fixed: false,
            optimised_sl_to_vl: None,
            sm: None,
            load: None,
            sim: SimConfig::default(),
            worst_traffic: false,
            hot_links: 0,
            window: None,
            smp_timeout_ns: 2_000_000,
            smp_retries: 11,
            barrier_timeout_ns: 1_000_000_000,
            warm_up_ns: 200_000,
            before_ns: 500_000,
            after_ns: 500_000,
        }
    }
}
