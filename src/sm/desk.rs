//! The desk between the subnet manager's one future and everybody else: what it tells, what it is asked.
//!
//! The manager looks at its desk between two steps, and puts there what happened; whoever runs it does the rest (control
//! socket, metrics, log, systemd). Nothing here waits.

use super::bring_up::Arrival;
use super::error::SmError;
use crate::driver::{AbortHandle, ChangeReport, Running};
use crate::fabric::{Fabric, NodeId};
use crate::ids::Guid;
use crate::subnet::{SmpCounts, SubnetEvent};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// What is to be set aside before maintenance, or taken back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Element {
    /// A switch, by GUID or description.
    Switch(String),
    /// A cable, by one end: a node and a port number.
    Link(String, u8),
}

/// What the subnet manager is asked to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// Route around an element that is to leave.
    SetAside {
        /// What leaves.
        element: Element,
        /// Only plan it and prove the plan.
        dry_run: bool,
    },
    /// Use an element again that was set aside.
    TakeBack(Element),
    /// Sweep, and route what is found.
    Sweep,
    /// Stop for good, at the end of the change under way.
    Stop,
}

/// Who gave an order hears under this number what came of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct OrderId(pub u64);

/// What became of an order.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Planned and proved; nothing was written. Waves, writes.
    Planned {
        /// Waves of the plan.
        waves: usize,
        /// Its writes.
        writes: usize,
    },
    /// A change was made.
    Changed(Box<ChangeReport>),
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
        arrival: Arrival,
    },
    /// The subnet told of something.
    Subnet(SubnetEvent),
    /// A sweep is over.
    Swept {
        /// Nanoseconds it took.
        length_ns: u64,
        /// What was left out.
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
    Changed(Box<ChangeReport>),
    /// Something cannot be done, and will be tried again.
    Failed(String),
    /// An order was carried out.
    Answered(OrderId, Answer),
    /// Another subnet manager rules the subnet, or does no more.
    Election {
        /// The state of section 14.4 that this manager is in now.
        state: &'static str,
    },
}

/// What can be said of the subnet at any time.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The subnet as the driver knows it; none before it is up.
    pub running: Option<Arc<Running>>,
    /// How it came under this manager.
    pub arrival: Option<Arrival>,
    /// The root of the routing in force, where it has one.
    pub root: Option<NodeId>,
    /// The state of the change under way, or of the last one.
    pub state: &'static str,
    /// The barrier that everything waits at.
    pub held: Option<&'static str>,
    /// Datagrams so far.
    pub smps: SmpCounts,
    /// Sweeps so far.
    pub sweeps: u64,
    /// The period of the light sweep.
    pub light_sweep_ns: Option<u64>,
    /// What was set aside.
    pub aside: Vec<String>,
}

/// The desk.
#[derive(Debug, Default)]
pub struct Desk {
    orders: VecDeque<(OrderId, Order)>,
    happenings: VecDeque<(u64, Happening)>,
    next: u64,
    abort: Option<AbortHandle>,
    /// Whether changes wait at each barrier for [`Desk::go_on`].
    hold: bool,
    leave: u32,
    /// What can be said of the subnet.
    pub view: View,
}

/// A desk that is shared.
pub type SharedDesk = Rc<RefCell<Desk>>;

impl Desk {
    /// A desk with nothing on it; with `hold`, changes wait at each barrier until they are told to go on.
    pub fn new(hold: bool) -> SharedDesk {
        Rc::new(RefCell::new(Desk { hold, ..Desk::default() }))
    }

    /// Gives an order.
    pub fn order(&mut self, order: Order) -> OrderId {
        self.next += 1;
        self.orders.push_back((OrderId(self.next), order));
        OrderId(self.next)
    }

    /// What happened since this was asked last, with the transport's time in nanoseconds.
    pub fn happenings(&mut self) -> impl Iterator<Item = (u64, Happening)> + '_ {
        self.happenings.drain(..)
    }

    /// Lets a change that waits at a barrier go on.
    pub fn go_on(&mut self) {
        self.leave += 1;
    }

    /// Asks the change under way to be called off; whether there is one.
    pub fn abort(&self) -> bool {
        self.abort.as_ref().inspect(|handle| handle.abort()).is_some()
    }

    pub(super) fn next_order(&mut self) -> Option<(OrderId, Order)> {
        self.orders.pop_front()
    }

    /// Takes every order: whether one of them is to stop. The others are refused for this reason.
    pub(super) fn told_to_stop(&mut self, why: &str) -> bool {
        let orders: Vec<(OrderId, Order)> = self.orders.drain(..).collect();
        let stop = orders.iter().any(|(_, order)| *order == Order::Stop);
        for (id, _) in orders.into_iter().filter(|(_, order)| *order != Order::Stop) {
            self.tell(0, Happening::Answered(id, Answer::Refused(why.to_string())));
        }
        stop
    }

    pub(super) fn tell(&mut self, now_ns: u64, happening: Happening) {
        self.happenings.push_back((now_ns, happening));
    }

    pub(super) fn holds(&self) -> bool {
        self.hold
    }

    /// Takes one leave to go on, where there is one.
    pub(super) fn take_leave(&mut self) -> bool {
        let given = self.leave > 0;
        self.leave = self.leave.saturating_sub(1);
        given
    }

    pub(super) fn change_begins(&mut self, abort: AbortHandle) {
        (self.abort, self.leave) = (Some(abort), 0);
    }

    pub(super) fn change_ends(&mut self) {
        self.abort = None;
    }
}

impl Element {
    /// The element in a fabric: nodes to take out, or one end of a cable.
    ///
    /// # Errors
    /// There is none, or several.
    pub(super) fn find(&self, fabric: &Fabric) -> Result<Found, String> {
        match self {
            Element::Switch(name) => {
                let node = node_named(fabric, name)?;
                if !fabric.node(node).is_switch() {
                    return Err(format!("{} is no switch", fabric.describe_node(node)));
                }
                Ok(Found::Node(node))
            }
            Element::Link(name, num) => {
                let node = node_named(fabric, name)?;
                let port = fabric.port_at(node, crate::ids::PortNum(*num)).filter(|&port| fabric.peer(port).is_some());
                port.map(|port| Found::Cable(fabric.peer(port).map_or(port, |peer| port.min(peer))))
                    .ok_or_else(|| format!("{} has no cable at port {num}", fabric.describe_node(node)))
            }
        }
    }
}

/// An element in a fabric.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Found {
    Node(NodeId),
    Cable(crate::fabric::PortId),
}

impl Found {
    pub(super) fn taken_out_of(self, fabric: &Fabric) -> Fabric {
        match self {
            Found::Node(node) => fabric.without_nodes(&[node]),
            Found::Cable(port) => fabric.without_links(&[port]),
        }
    }

    pub(super) fn describe(self, fabric: &Fabric) -> String {
        match self {
            Found::Node(node) => fabric.describe_node(node),
            Found::Cable(port) => fabric.describe_port(port),
        }
    }

    /// Whether it is there.
    pub(super) fn is_in(self, fabric: &Fabric) -> bool {
        match self {
            Found::Node(node) => fabric.node(node).present,
            Found::Cable(port) => fabric.peer(port).is_some(),
        }
    }
}

fn node_named(fabric: &Fabric, name: &str) -> Result<NodeId, String> {
    if let Ok(guid) = name.parse::<Guid>()
        && let Some(node) = fabric.by_guid(guid)
    {
        return Ok(node);
    }
    let mut named = fabric.nodes().filter(|(_, node)| node.present && node.description.trim() == name.trim());
    match (named.next(), named.next()) {
        (Some((node, _)), None) => Ok(node),
        (None, _) => Err(format!("no node of the subnet is called `{name}` or has it for a GUID")),
        (Some(_), Some(_)) => Err(format!("several nodes of the subnet are called `{name}`: give the GUID")),
    }
}

impl From<SmError> for Answer {
    fn from(error: SmError) -> Answer {
        Answer::Refused(error.to_string())
    }
}
