//! The mailbox between the subnet manager's future and its surroundings: orders in, events out, and a view of the
//! manager's state at any time.
//!
//! The manager reads its mailbox between two steps and posts events to it; the program around it does the rest (control
//! socket, metrics, log, systemd). The lifecycle's state lives here and nowhere else, because others use it: while it
//! shows a change, that change may be called off; and it shows for what a handover waits. Nothing here blocks.

use super::arrival::SubnetArrival;
use super::degraded::Degraded;
use super::error::SmError;
use super::groups::GroupView;
use super::lifecycle::{self, BringUpAttempt, LifecycleState};
use super::orders::{ManagerOrder, OrderAnswer, OrderId};
use crate::driver::{AbortHandle, ChangeRecord, ForeseenCount, Running, Trail};
use crate::fabric::Fabric;
use crate::subnet::{SmpCounts, SubnetEvent};
use crate::tables::RoutedBy;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// An event of the manager.
#[derive(Clone, Debug)]
pub enum Happening {
    /// All hosts have ways to each other; SL-to-VL tables are still to be written.
    HostsUp,
    /// The subnet runs under this manager.
    Up {
        /// How the subnet came under this manager.
        arrival: SubnetArrival,
        /// The engine that made its routing, if it was computed here.
        routed_by: Option<RoutedBy>,
    },
    /// The subnet no longer runs under this manager: another one is master, or this manager looks at the subnet again.
    Down,
    /// An event that the subnet reported.
    Subnet(SubnetEvent),
    /// A sweep ended.
    Swept {
        /// Its duration in nanoseconds.
        length_ns: u64,
        /// How many devices or answers it omitted.
        notices: usize,
    },
    /// A change begins.
    Begun {
        /// Nodes and cables that it routes around or adds.
        why: String,
    },
    /// A change entered a state of `state-machines/change.yaml`.
    Entered {
        /// The state.
        state: &'static str,
    },
    /// A change has passed a barrier and waits to be continued.
    Held {
        /// The barrier.
        barrier: &'static str,
    },
    /// A change ended.
    Changed(Box<ChangeRecord>),
    /// Something failed and will be retried.
    Failed(String),
    /// Values that somebody else had changed were written again.
    Mended(String),
    /// The stand-in for the user's choice, and the reason.
    Instead(String),
    /// A record of elements set aside by earlier managers is lost from the journal.
    Forgotten(String),
    /// An order was answered.
    Answered(OrderId, OrderAnswer),
    /// The election has gone on to another state.
    Election {
        /// This manager's state now (`state-machines/election.yaml`).
        state: &'static str,
    },
}

/// The state of the subnet at any time, published by the manager. The manager itself reads it only when it ends, to
/// call a change off, and to post only news.
#[derive(Clone, Debug, Default)]
pub struct SubnetView {
    /// The subnet as the driver knows it; none before it is up.
    pub running: Option<Arc<Running>>,
    /// Shows where the change under way stands, or one that stands still: the driver's own, no copy.
    pub trail: Trail,
    /// SMPs so far.
    pub smps: SmpCounts,
    /// The period of the light sweep.
    pub light_sweep_ns: Option<u64>,
    /// Elements set aside.
    pub aside: Vec<String>,
    /// Progress of the plans for future losses; `None` if none are prepared.
    pub foreseen: Option<ForeseenCount>,
    /// Failures of devices, and their consequences.
    pub degraded: Vec<Degraded>,
    /// The report on multicast groups in switches.
    pub groups: GroupView,
    /// End ports that are known to discard service levels of data.
    pub closed_ends: usize,
    /// Why no change by `double` is possible, if none is.
    pub without_double: Option<String>,
    /// The stand-in for the user's choice, and the reason; `None` without one.
    pub instead: Option<String>,
    /// The consequence of a journal that cannot be written, and the reason; `None` while it can be written.
    pub unrecorded: Option<String>,
    /// Why LIDs could not be stored when that was last tried, if it failed.
    pub unkept: Option<String>,
    /// Whether nothing was left to do when this was shown.
    pub is_done: bool,
    /// End ports whose last path died since elements were set aside, and what to do; `None` if there are none.
    pub cut_off: Option<String>,
    /// The fabric that the last look found, while the subnet is not up.
    pub found: Option<Arc<Fabric>>,
    /// Why the subnet is not reached, if it is not.
    pub unreached: Option<String>,
    /// The record of elements set aside that the journal has lost, until a user sets aside or takes back.
    pub journal_gap: Option<String>,
}

/// Whether changes pause at their barriers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pause {
    Never,
    /// A change pauses at the next barrier.
    Armed,
    /// A change pauses after this barrier.
    Held(&'static str),
    /// The paused change may continue.
    Released,
    /// The change is being called off, and pauses no more.
    Lifted,
}

/// The mailbox of one manager.
#[derive(Debug)]
pub struct Mailbox {
    orders: VecDeque<(OrderId, ManagerOrder)>,
    happenings: VecDeque<(u64, Happening)>,
    last_order: OrderId,
    lifecycle: LifecycleState,
    /// Calls off a change of the subnet that is up.
    abort: Option<AbortHandle>,
    pause: Pause,
    /// The published state of the subnet.
    pub view: SubnetView,
}

/// A shared mailbox.
pub type SharedMailbox = Rc<RefCell<Mailbox>>;

impl Mailbox {
    /// An empty mailbox; with `hold`, changes wait at each barrier for [`Mailbox::go_on`].
    pub fn new(hold: bool) -> SharedMailbox {
        Rc::new(RefCell::new(Mailbox {
            orders: VecDeque::new(),
            happenings: VecDeque::new(),
            last_order: OrderId::default(),
            lifecycle: lifecycle::begin().0,
            abort: None,
            pause: if hold { Pause::Armed } else { Pause::Never },
            view: SubnetView::default(),
        }))
    }

    /// Posts an order.
    pub fn order(&mut self, order: ManagerOrder) -> OrderId {
        self.last_order.0 += 1;
        self.orders.push_back((self.last_order, order));
        self.last_order
    }

    /// Events since the last call, each with the transport's time in nanoseconds.
    pub fn happenings(&mut self) -> impl Iterator<Item = (u64, Happening)> + '_ {
        self.happenings.drain(..)
    }

    /// The lifecycle's state.
    pub fn lifecycle(&self) -> LifecycleState {
        self.lifecycle
    }

    /// The barrier after which a change waits to be continued.
    pub fn held(&self) -> Option<&'static str> {
        match self.pause {
            Pause::Held(barrier) => Some(barrier),
            Pause::Never | Pause::Armed | Pause::Released | Pause::Lifted => None,
        }
    }

    /// Continues a change that waits after a barrier. Returns that barrier; none if no change waits.
    pub fn go_on(&mut self) -> Option<&'static str> {
        let held = self.held()?;
        self.pause = Pause::Released;
        Some(held)
    }

    /// Asks for the change in progress to be called off, also one that waits after a barrier. Returns whether it will
    /// be: from the swap on it goes to its end, or waits as before. None if there is none.
    pub fn abort(&mut self) -> Option<bool> {
        self.abort.as_ref().filter(|_| self.lifecycle.is_changing())?.abort();
        let is_called_off = self.view.trail.may_be_called_off();
        if is_called_off && self.pause != Pause::Never {
            self.pause = Pause::Lifted;
        }
        Some(is_called_off)
    }

    /// Whether the manager is finishing a change, a retired half or a recovery. A stop may interrupt all other work:
    /// reading, work on ports that carry no data yet, and work that waits to be retried.
    pub fn ends_what_it_owes(&self) -> bool {
        let has_begun = self.lifecycle.attempt().is_some_and(|attempt| attempt.has_begun);
        (self.lifecycle.holds_on() || has_begun) && !self.lifecycle.is_at_rest()
    }

    /// The error that states what a manager leaves behind if it ends at once: an unfinished change or recovery, or end
    /// ports that are closed while the subnet is not up.
    pub fn left_behind(&self) -> Option<SmError> {
        let attempt = self.lifecycle.attempt().map(BringUpAttempt::leaves_behind);
        self.left_behind_owing(attempt.or(self.lifecycle.holds_on().then_some(true))?)
    }

    /// As [`Mailbox::left_behind`]; `is_owed` says whether a change, its retired half or a recovery is unfinished.
    pub(super) fn left_behind_owing(&self, is_owed: bool) -> Option<SmError> {
        let closed_ends = self.view.closed_ends;
        (is_owed || closed_ends > 0).then_some(SmError::LeftBehind { ends: closed_ends })
    }

    pub(crate) fn next_order(&mut self) -> Option<(OrderId, ManagerOrder)> {
        self.orders.pop_front()
    }

    pub(crate) fn post(&mut self, now_ns: u64, happening: Happening) {
        self.happenings.push_back((now_ns, happening));
    }

    pub(crate) fn enter(&mut self, state: LifecycleState) {
        self.lifecycle = state;
        if self.pause == Pause::Lifted && !state.is_changing() {
            self.pause = Pause::Armed;
        }
    }

    pub(super) fn abort_by(&mut self, handle: AbortHandle) {
        self.abort = Some(handle);
    }

    /// Called when a change has passed a barrier. Returns whether it must wait there.
    pub(super) fn hold_at(&mut self, barrier: &'static str) -> bool {
        let holds = self.lifecycle.is_changing() && ![Pause::Never, Pause::Lifted].contains(&self.pause);
        if holds {
            self.pause = Pause::Held(barrier);
        }
        holds
    }

    /// Whether a waiting change may continue; resets the permission.
    pub(super) fn take_leave(&mut self) -> bool {
        if self.pause == Pause::Released {
            self.pause = Pause::Armed;
            return true;
        }
        self.pause == Pause::Lifted
    }
}
