//! Why the subnet manager cannot go on.

use crate::change::{BringUpError, ChangeError};
use crate::driver::DriverError;
use crate::fabric::difference::UnionError;
use crate::lid::LidError;
use crate::routing::RouteError;
use crate::subnet::SubnetError;
use crate::verify::Refusal;

/// Why a subnet cannot be brought up, or kept.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SmError {
    /// Its devices do not answer, or refuse.
    #[error(transparent)]
    Subnet(#[from] SubnetError),
    /// Its fabric cannot be made ready.
    #[error(transparent)]
    BringUp(#[from] BringUpError),
    /// LIDs do not suffice.
    #[error("assigning LIDs: {0}")]
    Lids(#[from] LidError),
    /// No routing.
    #[error("routing the subnet: {0}")]
    Route(#[from] RouteError),
    /// A routing that is not safe; nothing was written.
    #[error("the routing computed for the subnet cannot be proved, and is not written: {0}")]
    Unproved(Refusal),
    /// Another subnet manager's tables, with traffic on them.
    #[error(
        "the subnet carries traffic under tables that cannot be taken over with a proof ({why}): start with \
         --takeover rewrite to rewrite them in place, as any subnet manager does; packets may be lost or wait in a circle \
         while that happens"
    )]
    Foreign {
        /// Why not.
        why: String,
    },
    /// A device that does not take what it needs to carry traffic.
    #[error("{port} does not take its {setting}: the subnet cannot be brought up through it")]
    NotTaken {
        /// The port.
        port: String,
        /// What it does not take.
        setting: &'static str,
    },
    /// A change has not come to its end.
    #[error("the change stands still ({outcome}) and will be tried again")]
    StandsStill {
        /// Where, and why.
        outcome: String,
    },
    /// What came cannot be joined with what is known.
    #[error("joining what has come with what is known: {0}")]
    Union(#[from] UnionError),
    /// A change cannot be made.
    #[error(transparent)]
    Change(Box<ChangeError>),
    /// The driver.
    #[error(transparent)]
    Driver(Box<DriverError>),
}

impl From<DriverError> for SmError {
    fn from(error: DriverError) -> SmError {
        match error {
            DriverError::Subnet(error) => SmError::Subnet(error),
            DriverError::Change(error) => SmError::Change(error),
            other => SmError::Driver(Box::new(other)),
        }
    }
}
