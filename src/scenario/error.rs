//! Why a run could not begin. What goes wrong within one is an outcome, not an error.

use crate::change::{BringUpError, ChangeError};
use crate::sim::SimError;

/// Why a run could not begin.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScenarioError {
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
    /// There is no worst traffic.
    #[error(
        "there is no worst permutation: no two end ports send over a channel between switches; choose other traffic"
    )]
    NoWorst,
    /// The fabric cannot be made ready.
    #[error(transparent)]
    BringUp(#[from] BringUpError),
    /// Settings that the simulator refuses.
    #[error("setting up the simulation: {0}")]
    Sim(#[from] SimError),
    /// The change cannot be made.
    #[error(transparent)]
    Change(#[from] Box<ChangeError>),
}
