//! Orders to the subnet manager, and its answers.

use super::element::SubnetElement;
use crate::driver::ChangeRecord;
use crate::plan::Scheme;

/// An order to the subnet manager, taken between two changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ManagerOrder {
    /// Route around an element that is about to leave.
    SetAside {
        /// The element.
        element: SubnetElement,
        /// Plan and prove only.
        dry_run: bool,
        /// Cut off end ports, if that is what it takes.
        cut_off_meant: bool,
    },
    /// Use an element again that was set aside.
    TakeBack(SubnetElement),
    /// Sweep, and route what is found.
    Sweep,
    /// Stop after the change in progress.
    Stop,
}

/// Identifies an order; its answer carries the same number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct OrderId(pub u64);

/// The result of an order.
#[derive(Clone, PartialEq, Debug)]
pub enum OrderAnswer {
    /// Planned and proved; nothing was written.
    Planned {
        /// Scheme of the plan.
        scheme: Scheme,
        /// Waves of the plan.
        waves: usize,
        /// Writes of the plan.
        writes: usize,
        /// End ports that it cuts off.
        stranded: Vec<String>,
        /// End ports that have to send to other LIDs on other service levels.
        hosts_that_move: usize,
        /// The plan's notes.
        notes: Vec<String>,
    },
    /// Nothing was written: the change cuts off these end ports, and the order does not allow that.
    CutsOff(Vec<String>),
    /// A change was made.
    Changed(Box<ChangeRecord>),
    /// Nothing had to change.
    Nothing,
    /// The subnet was surveyed, and what that showed was reported as it happened.
    Surveyed,
    /// The survey, or the work that was to follow it, could not be done for this reason; it is tried again.
    NotDone(String),
    /// The order cannot be carried out, for this reason.
    Refused(String),
}
