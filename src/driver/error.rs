//! Why a driver cannot continue.

use crate::change::ChangeError;
use crate::fabric::difference::AlignError;
use crate::plan::MovedBy;
use crate::subnet::SubnetError;

/// The error that stopped the driver. The machine's state describes the subnet.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DriverError {
    /// The subnet manager failed where no retry helps.
    #[error(transparent)]
    Subnet(#[from] SubnetError),
    /// A sweep found something unknown.
    #[error("comparing the result of a sweep with the known fabric: {0}")]
    Unknown(#[from] AlignError),
    /// The change cannot be recorded; nothing was written to the subnet.
    #[error("the change is not begun: {0}")]
    Journal(String),
    /// The plan rests on another way of moving sources than this manager's; nothing was written.
    #[error(
        "the plan rests on sources moved by way of `{planned}`, and this manager's way is `{own}`: start it with the --devices or --sources of the plan"
    )]
    Sources {
        /// What the plan names.
        planned: MovedBy,
        /// What the manager does.
        own: MovedBy,
    },
    /// The change cannot be prepared; nothing was written.
    #[error(transparent)]
    Change(Box<ChangeError>),
}
