//! Why a run could not begin. Failures within a run are outcomes, not errors.

use crate::change::{BringUpError, ChangeError};
use crate::routers::LevelsError;
use crate::sim::SimError;
use crate::verify::across::AcrossRefusal;

/// Why a run could not begin.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    /// The engine has no root to remove.
    #[error("engine {engine} has no root: name the switch to remove (--remove-switch)")]
    NoRoot {
        /// The engine.
        engine: &'static str,
    },
    /// The node is not a switch.
    #[error("{node} is not a switch: only a switch can leave or come as one")]
    NoSuchSwitch {
        /// The node.
        node: String,
    },
    /// The port has no cable.
    #[error("{port} has no cable that could be pulled")]
    NoCable {
        /// The port.
        port: String,
    },
    /// There is no worst traffic.
    #[error(
        "there is no worst permutation: no pair of end ports sends over a channel between switches; choose other traffic"
    )]
    NoWorst,
    /// The fabric cannot be prepared.
    #[error(transparent)]
    BringUp(#[from] BringUpError),
    /// The change cannot be recorded.
    #[error("{0}")]
    Journal(String),
    /// Settings that the simulator rejects.
    #[error("setting up the simulation: {0}")]
    Sim(#[from] SimError),
    /// The change cannot be made.
    #[error(transparent)]
    Change(#[from] Box<ChangeError>),
    /// One subnet of several cannot be prepared, or its change cannot be made.
    #[error("subnet {subnet}: {source}")]
    Subnet {
        /// The subnet.
        subnet: String,
        /// The error.
        source: Box<ScenarioError>,
    },
    /// Too few lanes to raise service levels.
    #[error(transparent)]
    Levels(#[from] LevelsError),
    /// Subnets whose ports run different numbers of lanes.
    #[error("subnet {subnet} runs {lanes} data VLs and the others {others}: choose a number that all have (--vls)")]
    Lanes {
        /// The subnet.
        subnet: String,
        /// Its data VLs.
        lanes: u8,
        /// The data VLs of the others.
        others: u8,
    },
    /// The change is refused: the whole could deadlock.
    #[error("the change is refused: {0}")]
    Refused(Box<AcrossRefusal>),
    /// A router that leaves has several nodes in one subnet.
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
    /// Not supported with these settings.
    #[error("{0}")]
    Unsupported(&'static str),
}
