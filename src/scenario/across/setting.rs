//! What is asked of a run of several subnets, and why it may not begin.

use super::super::ScenarioError;
use super::super::setting::{Element, Scenario};
use crate::fabric::subnets::{SubnetPort, Subnets};
use crate::ids::SubnetId;
use crate::plan::Observer;
use crate::routers::{LevelsRule, PartEnforce};
use crate::verify::across::AcrossRefusal;

/// What changes among several subnets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AcrossChange {
    /// Something in one subnet.
    In {
        /// The subnet.
        subnet: SubnetId,
        /// What.
        element: Element,
    },
    /// A router leaves, by its rank among the routers.
    Router(usize),
    /// Nothing: traffic alone.
    Nothing,
}

/// One run of several subnets, before it is run.
#[derive(Clone, Debug)]
pub struct AcrossScenario {
    /// The subnets as captured.
    pub subnets: Subnets,
    /// What changes.
    pub change: AcrossChange,
    /// What routers do with service levels.
    pub rule: LevelsRule,
    /// Of the packets whose destination is drawn: the share that goes to other subnets, 0 to 1.
    pub cross: f64,
    /// The hop limit that sources give.
    pub hop_limit: u8,
    /// Which way ports of routers look at partitions; where it is not said, both where the subnets have some, else not at all.
    pub part_enforce: Option<PartEnforce>,
    /// Everything else; its fabric and element count for nothing, its manager only in the subnet that it is of.
    pub settings: Scenario,
}

impl AcrossScenario {
    /// A change among subnets, everything else as the command line has it by default.
    pub fn new(subnets: Subnets, change: AcrossChange) -> AcrossScenario {
        let settings = Scenario::remove_root(subnets.fabric(SubnetId(0)).clone());
        let rule = LevelsRule::default();
        AcrossScenario { subnets, change, rule, cross: 0.1, hop_limit: 64, part_enforce: None, settings }
    }

    /// It is possible among several subnets.
    pub(super) fn check(&self) -> Result<(), AcrossError> {
        if let AcrossChange::Router(router) = self.change {
            self.check_router(router)?;
        }
        match self.change {
            AcrossChange::In { element: Element::Newcomer(_), .. } => Err(AcrossError::Unsupported(
                "nothing can be added among several subnets yet: give the subnet by itself",
            )),
            _ if self.settings.policy.observer == Observer::Lifetime => Err(AcrossError::Unsupported(
                "drain by lifetime counts on lifetime limits, which routers have none of: choose token, poll or conservation",
            )),
            _ => Ok(()),
        }
    }

    /// A router is one node in each of its subnets.
    fn check_router(&self, router: usize) -> Result<(), AcrossError> {
        let device = &self.subnets.routers()[router];
        let node = |at: SubnetPort| Some(self.subnets.fabric(at.subnet).port(at.port).node);
        let other = device.ports.iter().find(|&&at| self.subnets.router_node(router, at.subnet) != node(at));
        other.map_or(Ok(()), |at| {
            let (router, subnet) = (device.name.clone(), self.subnets.subnet(at.subnet).name.clone());
            Err(AcrossError::SeveralNodes { router, subnet })
        })
    }

    /// What changes in one of the subnets.
    pub(super) fn element_in(&self, id: SubnetId) -> Element {
        match self.change {
            AcrossChange::In { subnet, element } if subnet == id => element,
            AcrossChange::Router(router) => {
                self.subnets.router_node(router, id).map_or(Element::Nothing, Element::EndNode)
            }
            AcrossChange::In { .. } | AcrossChange::Nothing => Element::Nothing,
        }
    }
}

/// Why a run of several subnets could not begin.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AcrossError {
    /// One subnet could not be made ready, or its change cannot be made.
    #[error("subnet {subnet}: {source}")]
    Subnet {
        /// The subnet.
        subnet: String,
        /// Why not.
        source: ScenarioError,
    },
    /// The simulator refuses the whole.
    #[error(transparent)]
    Run(ScenarioError),
    /// Too few lanes to raise service levels.
    #[error(transparent)]
    Levels(#[from] crate::routers::LevelsError),
    /// Subnets whose ports run different numbers of lanes.
    #[error("subnet {subnet} runs {lanes} data VLs and the others {others}: choose a number that all have (--vls)")]
    Lanes {
        /// The subnet.
        subnet: String,
        /// Its lanes.
        lanes: u8,
        /// Theirs.
        others: u8,
    },
    /// The change is refused: the whole could deadlock.
    #[error("the change is refused: {0}")]
    Refused(Box<AcrossRefusal>),
    /// A router that is to leave is several nodes of one subnet.
    #[error(
        "router {router} is several nodes of subnet {subnet}, as the list says, and only routers of one node in each subnet can be \
         removed: name each of these nodes as a router of its own"
    )]
    SeveralNodes {
        /// The router.
        router: String,
        /// The subnet.
        subnet: String,
    },
    /// Not possible among several subnets.
    #[error("{0}")]
    Unsupported(&'static str),
}
