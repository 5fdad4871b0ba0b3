//! Why a run could not begin. What goes wrong within one is an outcome, not an error.

use crate::change::ChangeError;
use crate::fabric::BuildError;
use crate::lid::LidError;
use crate::routing::RouteError;
use crate::sim::SimError;

/// Why a run could not begin.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    /// Nothing to route.
    #[error("the fabric has no switch: there is no routing to change")]
    NoSwitch,
    /// The engine has no root to remove.
    #[error("engine {engine} has no root: name what is to leave (--remove-switch)")]
    NoRoot {
        /// The engine.
        engine: &'static str,
    },
    /// The node named is no switch.
    #[error("{node} is no switch: only switches can be removed or added")]
    NoSuchSwitch {
        /// The node.
        node: String,
    },
    /// The port named has no cable.
    #[error("{port} has no cable that could be pulled")]
    NoCable {
        /// The port.
        port: String,
    },
    /// A subnet manager where it cannot be.
    #[error("{node} cannot run the subnet manager: {why}")]
    Manager {
        /// The node.
        node: String,
        /// Why not.
        why: &'static str,
    },
    /// Nobody could run the subnet manager.
    #[error("no host stays connected after the change: the subnet manager has nowhere to run")]
    NoHostStays,
    /// LIDs do not suffice.
    #[error("assigning LIDs: {0}")]
    Lids(#[from] LidError),
    /// LIDs of the capture contradict each other.
    #[error("assigning LIDs: {0}")]
    Build(#[from] BuildError),
    /// R cannot be computed.
    #[error("routing the fabric as captured: {0}")]
    Route(#[from] RouteError),
    /// Settings that the simulator refuses.
    #[error("setting up the simulation: {0}")]
    Sim(#[from] SimError),
    /// The change cannot be made.
    #[error(transparent)]
    Change(#[from] Box<ChangeError>),
}
