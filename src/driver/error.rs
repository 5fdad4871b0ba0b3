//! Why a driver cannot go on.

use crate::change::ChangeError;
use crate::fabric::difference::AlignError;
use crate::subnet::SubnetError;

/// What stopped the driver. The subnet stays as described by the state of the machine.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DriverError {
    /// The subnet manager failed where no retry helps.
    #[error(transparent)]
    Subnet(#[from] SubnetError),
    /// A sweep found what is not known.
    #[error("comparing what a sweep found with what is known: {0}")]
    Unknown(#[from] AlignError),
    /// The change cannot be prepared; nothing of it was written.
    #[error(transparent)]
    Change(Box<ChangeError>),
}
