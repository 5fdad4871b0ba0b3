//! The messages of the control socket: values that read and write as JSON, one object a line.
//!
//! A client sends a [`ControlOrder`]; the manager answers with [`Reply`]s, of which the last is never an event. Every object
//! that stands for itself has a `schema`; a field that is added leaves it as it is, one that changes its meaning does not.
//! Times are nanoseconds of the manager's clock, which begins with it. Nodes and ports are named as people name them.

use super::super::element::SubnetElement;
use crate::driver::{ChangeRecord, PhaseRecord};
use crate::fabric::{Fabric, NodeId, NodeKind};
use crate::ids::{Guid, Half, Lid, PortNum};
use crate::machine::Outcome;
use crate::plan::Scheme;
use crate::subnet::SmpCounts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema of [`Status`].
pub const STATUS_SCHEMA: &str = "reconfig.status/1";
/// The schema of [`ControlEvent`].
pub const EVENT_SCHEMA: &str = "reconfig.event/1";
/// The schema of [`ChangeDone`].
pub const CHANGE_SCHEMA: &str = "reconfig.change/1";

/// What is asked of a running manager.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ControlOrder {
    /// How are you? Answered by [`Reply::Status`].
    Status,
    /// Report everything that happens from now on, until the connection ends.
    Events,
    /// Change the routing. Answered by events as it goes, then by [`Reply::Changed`].
    Change(ChangeOrder),
    /// Use an element again that was set aside by a planned removal. Answered as a change.
    TakeBack {
        /// What comes back.
        element: SubnetElement,
    },
    /// Look at the whole subnet now. Answered by [`Reply::Done`], or as a change where one was called for.
    Sweep,
    /// Call the change under way off. Answered by [`Reply::Done`] when that was taken note of, not when it is done.
    Abort,
    /// Go on from the barrier at which the manager pauses, if it pauses at barriers. Answered by [`Reply::Done`].
    Continue,
    /// Log by this filter from now on, for example `debug,reconfig::subnet=trace`. Answered by [`Reply::Done`].
    LogLevel {
        /// The filter.
        filter: String,
    },
}

/// A change that a client requests.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeOrder {
    /// What leaves.
    pub remove: SubnetElement,
    /// It is alive and will leave when it bears no traffic any more. What died already needs no order: it is seen.
    pub planned: bool,
    /// Plan and prove, and write nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What the manager answers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    /// How it is.
    Status(Box<Status>),
    /// Something happened; more follows.
    Event(ControlEvent),
    /// What became of a change.
    Changed(Box<ChangeDone>),
    /// Done.
    Done {
        /// What was done, in a sentence.
        text: String,
    },
    /// It was not done.
    Refused {
        /// Who has to do something about it.
        fault: Fault,
        /// Why not, and what to do.
        reason: String,
    },
}

impl Reply {
    /// A refusal.
    pub fn refused(fault: Fault, reason: impl ToString) -> Reply {
        Reply::Refused { fault, reason: reason.to_string() }
    }
}

/// At whom the fault lies that something was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The request cannot be read, or names what is not there.
    Request,
    /// It cannot be done now: another change is under way, this manager is not the master.
    State,
    /// It was tried, and failed.
    Subnet,
}

/// How a manager is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Status {
    /// [`STATUS_SCHEMA`].
    pub schema: String,
    /// The program's version.
    pub version: String,
    /// How long it has been running.
    pub uptime_ns: u64,
    /// `discovering`, `standby`, `master` or `not-active`.
    pub role: String,
    /// The port it manages from.
    pub port: OwnPort,
    /// Where the last change stands, by its name in `state-machines/change.yaml`.
    pub state: String,
    /// The barrier at which the change under way waits for leave to go on, if the manager pauses at barriers.
    pub held: Option<String>,
    /// Whether the subnet is routed and its ports ACTIVE.
    pub subnet_up: bool,
    /// How it came to that: `cold`, `adopted` or `rewritten`.
    pub arrival: Option<String>,
    /// What there is.
    pub fabric: FabricStatus,
    /// The half in use.
    pub half: Option<Half>,
    /// LIDs in use.
    pub lids: LidStatus,
    /// Who computes routings.
    pub engine: String,
    /// The root of the routing in force, where it has one.
    pub root: Option<NamedNode>,
    /// Data VLs in use at most.
    pub data_vls: u8,
    /// What was set aside for maintenance.
    pub aside: Vec<String>,
    /// How changes are made.
    pub policy: PolicyStatus,
    /// Datagrams sent since the beginning.
    pub smps: SmpStatus,
    /// Sweeps and traps since the beginning.
    pub sweeps: SweepStatus,
    /// Requests to subnet administration since the beginning, by attribute.
    #[serde(default)]
    pub sa_requests: BTreeMap<String, u64>,
    /// Changes since the beginning, by outcome.
    pub changes: BTreeMap<String, u64>,
    /// The last change that ended.
    pub last_change: Option<Box<ChangeDone>>,
    /// The last thing that could not be done, and is tried again at the next sweep.
    pub trouble: Option<String>,
}

/// The port that a manager uses.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OwnPort {
    /// The adapter's name.
    pub adapter: String,
    /// The port's number there.
    pub port: PortNum,
    /// Its GUID.
    pub guid: Guid,
    /// The manager's priority.
    pub priority: u8,
}

/// Counts of a fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FabricStatus {
    /// Switches.
    pub switches: u64,
    /// Channel adapters.
    pub cas: u64,
    /// Cables, those to channel adapters too.
    pub links: u64,
}

impl FabricStatus {
    /// Counts what is present.
    pub fn of(fabric: &Fabric) -> FabricStatus {
        let present = |kind| fabric.nodes().filter(|(_, node)| node.present && node.kind == kind).count() as u64;
        FabricStatus {
            switches: present(NodeKind::Switch),
            cas: present(NodeKind::Ca),
            links: fabric.links().count() as u64,
        }
    }
}

/// LIDs of end ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LidStatus {
    /// Every end port has 2^LMC.
    pub lmc: u8,
    /// How many are given out, those of switches too.
    pub given: u64,
    /// The highest.
    pub highest: Lid,
}

/// A node by both its names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NamedNode {
    /// Its GUID.
    pub guid: Guid,
    /// What it calls itself.
    pub description: String,
}

impl NamedNode {
    /// The names of a node.
    pub fn of(fabric: &Fabric, node: NodeId) -> NamedNode {
        let node = fabric.node(node);
        NamedNode { guid: node.guid, description: node.description.clone() }
    }
}

/// How changes are made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PolicyStatus {
    /// What observes that lanes are empty.
    pub observer: String,
    /// Port states during *install*.
    pub arming: String,
    /// How sources are moved to the other half.
    pub sources: String,
}

/// Datagrams sent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SmpStatus {
    /// SMPs, those sent again too.
    pub total: u64,
    /// Sent again.
    pub retries: u64,
    /// Answers that nobody waited for any more.
    pub late: u64,
    /// By attribute, then by method.
    pub sent: BTreeMap<String, BTreeMap<String, u64>>,
}

impl From<&SmpCounts> for SmpStatus {
    fn from(counts: &SmpCounts) -> SmpStatus {
        let mut sent: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for ((attribute, method), count) in &counts.sent {
            *sent.entry(format!("{attribute:?}")).or_default().entry(format!("{method:?}")).or_default() += count;
        }
        SmpStatus { total: counts.total(), retries: counts.retries, late: counts.late, sent }
    }
}

/// Sweeps and traps.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SweepStatus {
    /// Sweeps of the whole subnet.
    pub heavy: u64,
    /// How long the last of them took.
    pub last_heavy_ns: u64,
    /// The pause between two light ones, where there are any.
    pub period_ns: Option<u64>,
    /// Traps by number, without repetitions.
    pub traps: BTreeMap<String, u64>,
}

/// Something that happened.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ControlEvent {
    /// [`EVENT_SCHEMA`].
    pub schema: String,
    /// When.
    pub at_ns: u64,
    /// What.
    #[serde(flatten)]
    pub what: EventKind,
}

impl ControlEvent {
    /// Something that happened at a time.
    pub fn at(at_ns: u64, what: EventKind) -> ControlEvent {
        ControlEvent { schema: EVENT_SCHEMA.to_string(), at_ns, what }
    }
}

/// What can happen.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum EventKind {
    /// The election gave the manager another part to play.
    Role {
        /// `discovering`, `standby`, `master` or `not-active`.
        role: String,
    },
    /// The subnet is routed and its ports ACTIVE.
    SubnetUp {
        /// What there is.
        fabric: FabricStatus,
        /// How it came to that: `cold`, `adopted` or `rewritten`.
        arrival: String,
    },
    /// A trap came, no repetition.
    Trap {
        /// Its number.
        number: u16,
        /// Who sent it.
        lid: Lid,
        /// The same by name, where it is known.
        node: Option<String>,
    },
    /// The light sweep found that a switch has a changed port, or has not answered.
    Noticed {
        /// The switch.
        node: String,
        /// Whether it did not answer.
        silent: bool,
    },
    /// A sweep of the whole subnet ended.
    Swept {
        /// How long it took.
        took_ns: u64,
        /// How many devices or answers it had to leave out.
        left_out: u64,
    },
    /// A change begins.
    Begun {
        /// What called for it.
        cause: String,
    },
    /// The change under way came to another state of `state-machines/change.yaml`.
    State {
        /// Its name.
        state: String,
    },
    /// The change under way waits at a barrier for leave to go on.
    Held {
        /// The barrier that was passed.
        barrier: String,
    },
    /// A change ended.
    Change {
        /// How.
        done: Box<ChangeDone>,
    },
    /// What an administrator should know.
    Warning {
        /// In a sentence.
        text: String,
    },
    /// Too slow: so many events were not sent to this listener.
    Missed {
        /// How many.
        events: u64,
    },
}

/// One phase of a change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PhaseStatus {
    /// Its name.
    pub name: String,
    /// When it began.
    pub start_ns: u64,
    /// When its last barrier was passed.
    pub end_ns: u64,
    /// SMPs sent meanwhile.
    pub smps: u64,
}

impl From<&PhaseRecord> for PhaseStatus {
    fn from(phase: &PhaseRecord) -> PhaseStatus {
        let PhaseRecord { name, start_ns, end_ns, smps } = phase;
        PhaseStatus { name: name.to_string(), start_ns: *start_ns, end_ns: *end_ns, smps: smps.total() }
    }
}

/// How a change ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeOutcome {
    /// It was made.
    Completed,
    /// It was taken back.
    CalledOff,
    /// It stands still, safely.
    Failed,
    /// It cannot be routed, planned or proved: nothing was written.
    Refused,
    /// A dry run: it was planned and proved, and nothing was written.
    Planned,
    /// It needs no write: what was asked changes no routing.
    Nothing,
}

impl ChangeOutcome {
    /// Its name, as JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            ChangeOutcome::Completed => "completed",
            ChangeOutcome::CalledOff => "called-off",
            ChangeOutcome::Failed => "failed",
            ChangeOutcome::Refused => "refused",
            ChangeOutcome::Planned => "planned",
            ChangeOutcome::Nothing => "nothing",
        }
    }

    /// Whether what was requested is in force now.
    pub fn is_done(self) -> bool {
        matches!(self, ChangeOutcome::Completed | ChangeOutcome::Planned | ChangeOutcome::Nothing)
    }
}

/// What became of a change.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ChangeDone {
    /// [`CHANGE_SCHEMA`].
    pub schema: String,
    /// What called for it, in a few words: `trap 128 from spine-1`, `removal of spine-1`.
    pub cause: String,
    /// How it ended.
    pub outcome: ChangeOutcome,
    /// Why, where it was not made.
    pub reason: Option<String>,
    /// The scheme.
    pub scheme: String,
    /// The half in use afterwards.
    pub half: Half,
    /// The root of the new routing, where it has one.
    pub root: Option<NamedNode>,
    /// Its phases in order.
    pub phases: Vec<PhaseStatus>,
    /// How often it was called off because the subnet changed, and started again.
    pub restarts: u32,
    /// Waves of the plan.
    pub waves: u64,
    /// Writes of the plan.
    pub writes: u64,
    /// Whether every moment of the plan was proved free of deadlock.
    pub proved: bool,
    /// SMPs sent, the sweep's too.
    pub smps: SmpStatus,
    /// End ports that the new routing omits.
    pub stranded: Vec<String>,
}

impl ChangeDone {
    /// A change of which nothing was written.
    pub fn unwritten(
        outcome: ChangeOutcome,
        half: Half,
        cause: impl Into<String>,
        reason: Option<String>,
    ) -> ChangeDone {
        ChangeDone {
            schema: CHANGE_SCHEMA.to_string(),
            cause: cause.into(),
            outcome,
            reason,
            scheme: Scheme::Double.to_string(),
            half,
            root: None,
            phases: Vec::new(),
            restarts: 0,
            waves: 0,
            writes: 0,
            proved: outcome == ChangeOutcome::Planned,
            smps: SmpStatus::default(),
            stranded: Vec::new(),
        }
    }

    /// The driver's record of a change, in the words of the control socket. The indices are those of `fabric`; `half`
    /// is in use now.
    pub fn of(record: &ChangeRecord, fabric: &Fabric, half: Half, cause: impl Into<String>) -> ChangeDone {
        let (outcome, reason) = match &record.outcome {
            Outcome::Completed => (ChangeOutcome::Completed, None),
            Outcome::CalledOff(why) => (ChangeOutcome::CalledOff, Some(why.to_string())),
            Outcome::Failed { state, reason } => (ChangeOutcome::Failed, Some(format!("in state {state}: {reason}"))),
        };
        let mut smps = SmpCounts::default();
        record.sweep.iter().chain(&record.phases).for_each(|phase| smps.add(&phase.smps));
        let plan = record.plan.plan();
        ChangeDone {
            schema: CHANGE_SCHEMA.to_string(),
            cause: cause.into(),
            outcome,
            reason,
            scheme: plan.scheme().to_string(),
            half,
            root: record.root.map(|root| NamedNode::of(fabric, root)),
            phases: record.phases.iter().map(PhaseStatus::from).collect(),
            restarts: record.restarts,
            waves: plan.waves().len() as u64,
            writes: plan.waves().iter().map(|wave| wave.writes.len() as u64).sum(),
            proved: record.plan.proof().is_some(),
            smps: SmpStatus::from(&smps),
            stranded: record.stranded.iter().map(|&port| fabric.describe_port(port)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written and read again.
    fn again<T: Serialize + for<'a> Deserialize<'a>>(value: &T) -> T {
        let text = serde_json::to_string(value).expect("plain values");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn everything_said_is_understood() {
        let done = ChangeDone::unwritten(ChangeOutcome::CalledOff, Half::Upper, "test", Some("why".to_string()));
        let (state, node, text) = ("draining".to_string(), "spine-1".to_string(), "a sentence".to_string());
        let fabric = FabricStatus { switches: 1, cas: 2, links: 3 };
        let happenings = [
            EventKind::Role { role: "master".to_string() },
            EventKind::SubnetUp { fabric, arrival: "cold".to_string() },
            EventKind::Trap { number: 128, lid: Lid(4), node: Some(node.clone()) },
            EventKind::Noticed { node, silent: true },
            EventKind::Swept { took_ns: 5, left_out: 6 },
            EventKind::Begun { cause: text.clone() },
            EventKind::State { state: state.clone() },
            EventKind::Held { barrier: state },
            EventKind::Change { done: Box::new(done.clone()) },
            EventKind::Warning { text: text.clone() },
            EventKind::Missed { events: 7 },
        ];
        for what in happenings {
            let reply = Reply::Event(ControlEvent::at(8, what));
            assert_eq!(again(&reply), reply);
        }
        let replies =
            [Reply::Changed(Box::new(done)), Reply::Done { text: text.clone() }, Reply::refused(Fault::Subnet, text)];
        for reply in replies {
            assert_eq!(again(&reply), reply);
        }
    }

    #[test]
    fn every_order_is_understood() {
        let link = SubnetElement::Link("leaf-1:3".to_string());
        let orders = [
            ControlOrder::Status,
            ControlOrder::Events,
            ControlOrder::Change(ChangeOrder { remove: link.clone(), planned: true, dry_run: true }),
            ControlOrder::TakeBack { element: link },
            ControlOrder::Sweep,
            ControlOrder::Abort,
            ControlOrder::Continue,
            ControlOrder::LogLevel { filter: "debug".to_string() },
        ];
        for order in orders {
            assert_eq!(again(&order), order);
        }
    }
}
