//! How a subnet came under this manager, and what then remains to be done before it is up.

use crate::change::{Recovery, RecoveryWay};
use crate::driver::{Running, StandingChange};
use crate::tables::{RoutedBy, Write};

/// How a subnet came under this manager.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SubnetArrival {
    /// It carried no traffic and was written whole.
    Cold,
    /// It carried traffic under forwarding tables that were proved as they stood; they are now the routing in force.
    Adopted,
    /// It carried traffic under what an unfinished change had left, and was led back to one routing by waves that are
    /// proved.
    Recovered {
        /// How.
        way: RecoveryWay,
        /// Why it could not be adopted.
        why: String,
    },
    /// It carried traffic in the midst of a change that an earlier manager left, and the change went on by its journal.
    Resumed {
        /// The change, and where it stood.
        what: String,
    },
    /// It carried traffic under tables that could neither be proved nor mended with a proof, and was rewritten in
    /// place.
    Rewritten {
        /// Why not.
        why: String,
    },
}

impl SubnetArrival {
    /// Its name in status and events.
    pub fn name(&self) -> &'static str {
        match self {
            SubnetArrival::Cold => "cold",
            SubnetArrival::Adopted => "adopted",
            SubnetArrival::Recovered { .. } => "recovered",
            SubnetArrival::Resumed { .. } => "resumed",
            SubnetArrival::Rewritten { .. } => "rewritten",
        }
    }

    /// The reason that nothing less would do; for a resumed change, which one it was and where it stood.
    pub fn why(&self) -> Option<&str> {
        match self {
            SubnetArrival::Cold | SubnetArrival::Adopted => None,
            SubnetArrival::Recovered { why, .. } | SubnetArrival::Rewritten { why } => Some(why),
            SubnetArrival::Resumed { what } => Some(what),
        }
    }
}

/// A running subnet.
pub(super) struct BroughtUp {
    pub(super) running: Running,
    pub(super) arrival: SubnetArrival,
    /// The engine that made the routing, if it was computed here.
    pub(super) routed_by: Option<RoutedBy>,
    /// The stand-in for the user's choice, if there is one.
    pub(super) instead: Option<String>,
    /// The work that remains before it is up.
    pub(super) pending: Option<Pending>,
    /// Whether a change is due at once: something that was found is still to be brought in, or something was lost.
    pub(super) change_is_due: bool,
}

/// Work that remains before a subnet is up.
pub(super) enum Pending {
    /// SL-to-VL tables, while hosts have ways to each other by tables that are proved on any lanes.
    Lanes {
        writes: Vec<Write>,
        /// Whether packets may be under way that were sent under tables of an earlier manager.
        ages: bool,
    },
    /// The way back to one routing.
    Recovery(Recovery),
    /// A change that an earlier manager left.
    Standing(StandingChange),
}
