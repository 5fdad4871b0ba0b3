//! What passes between the subnet manager's one future and everyone else: orders in, events out, and what can be seen of
//! the manager at any time.
//!
//! The manager looks into its mailbox between two steps, and puts there what happened; the program around it does the
//! rest (control socket, metrics, log, systemd). The state of the manager's life is held here and nowhere else, since
//! others use it: while it shows a change, that change may be aborted and the election waits. Nothing here waits.

use super::bring_up::SubnetArrival;
use super::element::SubnetElement;
use super::lifecycle::{self, LifecycleState};
use crate::driver::{AbortHandle, ChangeRecord, Running};
use crate::fabric::NodeId;
use crate::subnet::{SmpCounts, SubnetEvent};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// What the subnet manager is asked to do between two changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ManagerOrder {
    /// Route around an element that is to leave.
    SetAside {
        /// What leaves.
        element: SubnetElement,
        /// Only plan it and prove the plan.
        dry_run: bool,
    },
    /// Use an element again that was set aside.
    TakeBack(SubnetElement),
    /// Sweep, and route what is found.
    Sweep,
    /// Stop, at the end of the change under way.
    Stop,
}

/// The number under which the answer to an order comes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct OrderId(pub u64);

/// What became of an order.
#[derive(Clone, PartialEq, Debug)]
pub enum OrderAnswer {
    /// Planned and proved; nothing was written.
    Planned {
        /// Waves of the plan.
        waves: usize,
        /// Its writes.
        writes: usize,
    },
    /// A change was made.
    Changed(Box<ChangeRecord>),
    /// There was nothing to change.
    Nothing,
    /// It cannot be done.
    Refused(String),
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Happening {
    /// The subnet runs under this manager.
    Up {
        /// How it came to that.
        arrival: SubnetArrival,
        /// The root of its routing, where that has one and was computed here.
        root: Option<NodeId>,
    },
    /// The subnet reported something.
    Subnet(SubnetEvent),
    /// A sweep is over.
    Swept {
        /// Nanoseconds it took.
        length_ns: u64,
        /// How many devices or answers it omitted.
        notices: usize,
    },
    /// A change begins.
    Begun {
        /// Nodes and cables that it routes around or brings in.
        why: String,
    },
    /// A change has come to this state (`state-machines/change.yaml`).
    Entered {
        /// The state.
        state: &'static str,
    },
    /// A barrier of a change has been passed, and everything waits for leave to go on.
    Held {
        /// What was passed.
        barrier: &'static str,
    },
    /// A change is over.
    Changed(Box<ChangeRecord>),
    /// Something cannot be done, and will be tried again.
    Failed(String),
    /// An order was carried out.
    Answered(OrderId, OrderAnswer),
    /// A look at the subnet has settled who is master.
    Election {
        /// The state that this manager is in now (`state-machines/election.yaml`).
        state: &'static str,
    },
}

/// The state of the subnet at any time: published by the manager, which bases no decision on it.
#[derive(Clone, Debug, Default)]
pub struct SubnetView {
    /// The subnet as the driver knows it; none before it is up.
    pub running: Option<Arc<Running>>,
    /// Datagrams so far.
    pub smps: SmpCounts,
    /// The period of the light sweep.
    pub light_sweep_ns: Option<u64>,
    /// What was set aside.
    pub aside: Vec<String>,
}

/// Whether changes wait at their barriers to be looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pause {
    Never,
    /// At the next barrier that is passed.
    Armed,
    /// Now, after this barrier.
    Held(&'static str),
    /// Leave to go on was given.
    Released,
}

/// The mailbox of one manager.
#[derive(Debug)]
pub struct Mailbox {
    orders: VecDeque<(OrderId, ManagerOrder)>,
    happenings: VecDeque<(u64, Happening)>,
    last_order: OrderId,
    lifecycle: LifecycleState,
    /// What aborts a change of the subnet that is up.
    abort: Option<AbortHandle>,
    pause: Pause,
    /// What can be said of the subnet.
    pub view: SubnetView,
}

/// A mailbox that is shared.
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

    /// Gives an order.
    pub fn order(&mut self, order: ManagerOrder) -> OrderId {
        self.last_order.0 += 1;
        self.orders.push_back((self.last_order, order));
        self.last_order
    }

    /// What happened since this was asked last, with the transport's time in nanoseconds.
    pub fn happenings(&mut self) -> impl Iterator<Item = (u64, Happening)> + '_ {
        self.happenings.drain(..)
    }

    /// Where the manager is in its life.
    pub fn lifecycle(&self) -> LifecycleState {
        self.lifecycle
    }

    /// The barrier after which a change waits for leave to go on.
    pub fn held(&self) -> Option<&'static str> {
        match self.pause {
            Pause::Held(barrier) => Some(barrier),
            Pause::Never | Pause::Armed | Pause::Released => None,
        }
    }

    /// Lets a change that waits after a barrier go on. Returns that barrier; none where no change waits.
    pub fn go_on(&mut self) -> Option<&'static str> {
        let held = self.held()?;
        self.pause = Pause::Released;
        Some(held)
    }

    /// Asks the change under way to be called off; whether there is one.
    pub fn abort(&self) -> bool {
        let handle = self.abort.as_ref().filter(|_| self.lifecycle.is_changing());
        handle.inspect(|handle| handle.abort()).is_some()
    }

    pub(super) fn next_order(&mut self) -> Option<(OrderId, ManagerOrder)> {
        self.orders.pop_front()
    }

    pub(super) fn post(&mut self, now_ns: u64, happening: Happening) {
        self.happenings.push_back((now_ns, happening));
    }

    pub(super) fn enter(&mut self, state: LifecycleState) {
        self.lifecycle = state;
    }

    pub(super) fn abort_by(&mut self, handle: AbortHandle) {
        self.abort = Some(handle);
    }

    /// A change has passed a barrier; whether it is to wait there.
    pub(super) fn hold_at(&mut self, barrier: &'static str) -> bool {
        let holds = self.lifecycle.is_changing() && self.pause != Pause::Never;
        if holds {
            self.pause = Pause::Held(barrier);
        }
        holds
    }

    /// Takes the leave to go on, where it was given.
    pub(super) fn take_leave(&mut self) -> bool {
        let given = self.pause == Pause::Released;
        if given {
            self.pause = Pause::Armed;
        }
        given
    }
}
