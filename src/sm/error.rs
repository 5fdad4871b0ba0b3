//! Why the subnet manager cannot continue.

use crate::change::{BringUpError, ChangeError};
use crate::driver::DriverError;
use crate::fabric::difference::UnionError;
use crate::ids::Sl;
use crate::lid::LidError;
use crate::routing::RouteError;
use crate::subnet::SubnetError;
use crate::verify::Refusal;

/// Why a subnet cannot be brought up, or kept.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SmError {
    /// A device does not answer, or refuses.
    #[error(transparent)]
    Subnet(#[from] SubnetError),
    /// The fabric cannot be prepared.
    #[error(transparent)]
    BringUp(#[from] BringUpError),
    /// There are not enough LIDs.
    #[error("assigning LIDs: {0}")]
    Lids(#[from] LidError),
    /// The engine found no routing.
    #[error("routing the subnet: {0}")]
    Route(#[from] RouteError),
    /// The routing is not safe; nothing was written.
    #[error("the routing computed for the subnet cannot be proved, and is not written: {0}")]
    Unproved(Refusal),
    /// The subnet carries traffic under another subnet manager's tables.
    #[error(
        "the subnet carries traffic under tables that cannot be taken over with a proof ({why}): nothing is written, since \
         --takeover proved asks for that; without it they are rewritten in place, as any subnet manager does, and packets \
         may be lost or wait in a circle while that happens"
    )]
    Foreign {
        /// Why they cannot be proved.
        why: String,
    },
    /// Nothing shows that packets that met earlier tables have left.
    #[error(
        "the SL-to-VL tables of the running subnet are not replaced: {why}, so packets sent before this manager came may \
         remain, and --takeover proved requires that they have left; without that option the tables are replaced with a \
         warning; until then hosts send as before, and the manager tries again"
    )]
    Unaged {
        /// The reason that the wait failed.
        why: String,
    },
    /// A service level that all packets use cannot be reserved.
    #[error(
        "SL {sl} cannot be reserved: it is the first of its half, on which the SA's answers put data; reserve another (--reserved-sl)"
    )]
    ReservedFirst {
        /// The level.
        sl: Sl,
    },
    /// There are no lanes for two halves and a reserved service level.
    #[error(
        "reserving SL {sl} takes one data VL in addition to one for each half, three in all, and the links have \
         {data_vls}: raise --vls, or the links' OperationalVLs, or leave --reserved-sl out"
    )]
    NoLaneToReserve {
        /// The level.
        sl: Sl,
        /// Data VLs that every link has.
        data_vls: usize,
    },
    /// Switches choose outputs by themselves.
    #[error(
        "adaptive routing or fallback to other outputs is on at {switch} and {others} other switches: their forwarding \
         entries do not decide where packets go, so that nothing that is proved of them holds (assumption \
         `entries-decide`); switch it off there, or pass --allow-adaptive if this is intended"
    )]
    Adaptive {
        /// The first of them.
        switch: String,
        /// How many more.
        others: usize,
    },
    /// Ports hold another M_Key.
    #[error(
        "{port} and {others} other ports hold an M_Key that is not this manager's, and drop whatever it would write: nothing \
         is written; give the key of the subnet (--m-key-file, or the variable RECONFIG_M_KEY)"
    )]
    Locked {
        /// The first of them.
        port: String,
        /// How many more.
        others: usize,
    },
    /// A few ports hold another M_Key.
    #[error("{port} and {others} other ports hold an M_Key that is not this manager's, unlike the rest of the subnet")]
    LockedDevices {
        /// The first of them.
        port: String,
        /// How many more.
        others: usize,
    },
    /// A device rejects a setting that it needs to carry traffic.
    #[error("{port} does not accept its {setting}: the subnet cannot be brought up through it")]
    NotTaken {
        /// The port.
        port: String,
        /// The setting.
        setting: &'static str,
    },
    /// A device does not report a table of a subnet that carries traffic.
    #[error("{device} does not report its tables: what it does with packets is not known")]
    Unread {
        /// The first of them.
        device: String,
    },
    /// A change has not ended.
    #[error("the change stands still ({outcome}) and will be tried again")]
    StandsStill {
        /// Where it stands, and why.
        outcome: String,
    },
    /// A change can never be ended, or was tried often enough.
    #[error("the change is given up ({why}): the subnet is taken over as it is")]
    GivenUp {
        /// Why.
        why: &'static str,
    },
    /// The manager's own device or switch fails, and the rest was brought up around it.
    #[error("{why}; the rest of the subnet is served around that, with no proof")]
    AroundOwn {
        /// How it fails.
        why: Box<SmError>,
    },
    /// The manager was stopped before a change or a recovery ended.
    #[error(
        "the manager stopped before a change or a recovery ended: {ends} end ports discard what their hosts send on some \
         service levels; start it again, or inspect and open the ports with `reconfig rescue` (`--clear`)"
    )]
    LeftBehind {
        /// How many end ports are known to discard something.
        ends: usize,
    },
    /// There is no device at the other end of the manager's cable.
    #[error("the subnet is not reached: {port} has no link to a device that answers")]
    Unreached {
        /// The manager's own port.
        port: String,
    },
    /// New devices cannot be merged with the known fabric.
    #[error("merging new devices with the known fabric: {0}")]
    Union(#[from] UnionError),
    /// A change cannot be made.
    #[error(transparent)]
    Change(Box<ChangeError>),
    /// The driver failed.
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

impl SmError {
    /// Whether the user asked for a proof that does not exist.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, SmError::Foreign { .. } | SmError::Unaged { .. })
    }

    /// Whether every part of the subnet would fail alike: the manager's own port failed, or the key is wrong.
    pub(super) fn is_of_all(&self) -> bool {
        self.is_fatal() || matches!(self, SmError::Locked { .. })
    }

    /// Whether the manager's own port failed.
    pub(super) fn is_fatal(&self) -> bool {
        matches!(self, SmError::Subnet(error) if error.is_fatal())
    }
}
