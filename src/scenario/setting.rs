//! What a user may set of a run.

use super::ScenarioError;
use crate::change::Departure;
use crate::fabric::subnets::{SubnetPort, Subnets};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Lmc, SubnetId};
use crate::plan::{Observer, Policy, Scheme};
use crate::routers::{LevelsRule, PartEnforce};
use crate::sim::SimConfig;

/// What leaves a subnet, or comes to it.
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

/// What changes among the subnets of a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScenarioChange {
    /// Something in one subnet.
    In {
        /// The subnet.
        subnet: SubnetId,
        /// What.
        element: Element,
    },
    /// A router leaves all of its subnets, by its rank among the routers.
    Router(usize),
    /// Nothing: traffic alone.
    Nothing,
}

impl From<Element> for ScenarioChange {
    /// In the first subnet, which is the only one where there is one.
    fn from(element: Element) -> ScenarioChange {
        ScenarioChange::In { subnet: SubnetId(0), element }
    }
}

/// One simulated change, before it is run. Times in nanoseconds of simulated time.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The subnets as captured: usually one.
    pub subnets: Subnets,
    /// What changes.
    pub change: ScenarioChange,
    /// What routers do with service levels.
    pub rule: LevelsRule,
    /// Of the packets whose destination is drawn: the share that goes to other subnets, 0 to 1.
    pub cross: f64,
    /// The hop limit that sources give.
    pub hop_limit: u8,
    /// Which way ports of routers look at partitions; none: both where the subnets have some, else not at all.
    pub part_enforce: Option<PartEnforce>,
    /// When it leaves.
    pub departure: Departure,
    /// How the routing is changed.
    pub scheme: Scheme,
    /// Arming and drain.
    pub policy: Policy,
    /// The least LMC: LIDs are renumbered where the capture has less.
    pub lmc: Lmc,
    /// Whether `sim.data_vls` stays as it is where the engines need more lanes, which is an error then.
    pub vls_fixed: bool,
    /// Whether LMC stays as it is where the engines need more LIDs, which is an error then.
    pub lmc_fixed: bool,
    /// Whether switches take the optimised SL-to-VL form; none leaves it to the fabric.
    pub optimised_sl_to_vl: Option<bool>,
    /// The node that the subnet manager runs on in the subnet that changes; none chooses the capture's origin, or the first
    /// host that stays. The managers of the other subnets are chosen so.
    pub sm: Option<NodeId>,
    /// Offered load; none chooses 0.3, or less where that would fill the busiest link or make the run long.
    pub load: Option<f64>,
    /// Hardware, traffic and faults; its load is overwritten by `load`.
    pub sim: SimConfig,
    /// Whether the traffic is the permutation that R serves worst ([`crate::tables::Crossings`]), whatever `sim`
    /// specifies.
    pub worst_traffic: bool,
    /// How many of the busiest links between switches are reported; 0 for none.
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
        Scenario::of_one(fabric, Element::Root)
    }

    /// Something in a fabric that is a subnet by itself, everything else as the command line has it by default.
    pub fn of_one(fabric: Fabric, element: Element) -> Scenario {
        Scenario::new(Subnets::alone(fabric), element)
    }

    /// A change among subnets, everything else as the command line has it by default.
    pub fn new(subnets: Subnets, change: impl Into<ScenarioChange>) -> Scenario {
        Scenario {
            subnets,
            change: change.into(),
            rule: LevelsRule::default(),
            cross: 0.1,
            hop_limit: 64,
            part_enforce: None,
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

    /// The fabric of the first subnet, as captured.
    pub fn fabric(&self) -> &Fabric {
        self.subnets.fabric(SubnetId(0))
    }

    /// Whether it is one subnet that changes, and nothing lies between subnets: no other subnet, no partitions.
    pub(super) fn is_alone(&self) -> bool {
        let changes = matches!(self.change, ScenarioChange::In { .. });
        self.subnets.len() == 1 && changes && !self.subnets.has_partitions()
    }

    /// All that is asked is implemented. What is so for one subnet only is refused here, and nowhere else in the library.
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        if let ScenarioChange::Router(router) = self.change {
            self.check_router(router)?;
        }
        if self.is_alone() {
            return Ok(());
        }
        let newcomer = matches!(self.change, ScenarioChange::In { element: Element::Newcomer(_), .. });
        let refused = [
            (newcomer, "nothing can be added among several subnets yet: give the subnet by itself"),
            (
                self.policy.observer == Observer::Lifetime,
                "drain by lifetime counts on lifetime limits, which routers have none of: choose token, poll or conservation",
            ),
            (
                self.worst_traffic,
                "the worst permutation is one of a single subnet: give the subnet by itself, or choose other traffic",
            ),
        ];
        refused.into_iter().find(|(asked, _)| *asked).map_or(Ok(()), |(_, why)| Err(ScenarioError::Unsupported(why)))
    }

    /// A router is one node in each of its subnets.
    fn check_router(&self, router: usize) -> Result<(), ScenarioError> {
        let device = &self.subnets.routers()[router];
        let node = |at: SubnetPort| Some(self.subnets.fabric(at.subnet).port(at.port).node);
        let other = device.ports.iter().find(|&&at| self.subnets.router_node(router, at.subnet) != node(at));
        other.map_or(Ok(()), |at| {
            let (router, subnet) = (device.name.clone(), self.subnets.subnet(at.subnet).name.clone());
            Err(ScenarioError::SeveralNodes { router, subnet })
        })
    }

    /// What changes in one of the subnets.
    pub(super) fn element_in(&self, id: SubnetId) -> Element {
        match self.change {
            ScenarioChange::In { subnet, element } if subnet == id => element,
            ScenarioChange::Router(router) => {
                self.subnets.router_node(router, id).map_or(Element::Nothing, Element::EndNode)
            }
            ScenarioChange::In { .. } | ScenarioChange::Nothing => Element::Nothing,
        }
    }
}
