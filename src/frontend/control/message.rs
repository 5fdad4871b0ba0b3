//! The messages of the control socket: values that are read and written as JSON, one object a line.
//!
//! A client sends a [`ControlOrder`]; the manager answers with [`Reply`]s, the last of which is never an event. Every
//! top-level object has a `schema`. A new field leaves the schema as it is; a new meaning of a field changes it. Times
//! are nanoseconds of the manager's clock, which starts with the manager. Nodes and ports go by the names that people
//! use.

use crate::change::served;
use crate::driver::{ChangeRecord, ForeseenCount, PhaseRecord, Running};
use crate::fabric::{Fabric, Node, NodeId, NodeKind, NodeRole};
use crate::ids::{Guid, Half, Lid, PortNum};
use crate::machine::{ChangeProgress, Outcome};
use crate::plan::{LanePartition, Plan};
use crate::sm::{Degraded, SubnetElement};
use crate::subnet::{DeviceProfile, SmpCounts};
use crate::tables::ChannelUse;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The schema of [`Status`].
pub const STATUS_SCHEMA: &str = "reconfig.status/1";
/// The schema of [`ControlEvent`].
pub const EVENT_SCHEMA: &str = "reconfig.event/1";
/// The schema of [`ChangeDone`].
pub const CHANGE_SCHEMA: &str = "reconfig.change/1";

/// The latest events that a manager keeps for clients that subscribe later.
pub const KEPT_EVENTS: usize = 60;

/// An order to a running manager.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "request", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ControlOrder {
    /// Report the state. Answered by [`Reply::Status`].
    Status,
    /// Report every event from now on, until the connection ends.
    Events {
        /// Report this many of the latest events first, or as many of them as are kept ([`KEPT_EVENTS`]).
        #[serde(default, skip_serializing_if = "is_zero")]
        last: u32,
    },
    /// Change the routing. Answered by events on the way, then by [`Reply::Changed`].
    Change(ChangeOrder),
    /// Use an element again that a planned removal set aside. Answered like a change.
    TakeBack {
        /// The element that returns.
        element: SubnetElement,
    },
    /// Sweep the whole subnet now. Answered by [`Reply::Done`], or like a change if one is needed.
    Sweep,
    /// Call off the change in progress. Answered by [`Reply::Done`] as soon as the request is noted, not when it is
    /// carried out.
    Abort,
    /// Continue from the barrier at which the manager pauses, if it pauses at barriers. Answered by [`Reply::Done`].
    Continue,
    /// Set the filter of the log, for example `debug,reconfig::subnet=trace`. Answered by [`Reply::Done`].
    LogLevel {
        /// The filter.
        filter: String,
    },
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A change that a client requests.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeOrder {
    /// The element to remove.
    pub remove: SubnetElement,
    /// Whether the element is alive and leaves only when it carries no more traffic. A dead one needs no order: the
    /// manager notices it.
    pub planned: bool,
    /// Plan and prove, but write nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether the change is meant to cut off end ports; otherwise one that does is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_cut_off: bool,
}

/// A message from the manager.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    /// Its state.
    Status(Box<Status>),
    /// An event; more replies follow.
    Event(ControlEvent),
    /// The result of a change.
    Changed(Box<ChangeDone>),
    /// Done.
    Done {
        /// A sentence that says what was done.
        text: String,
    },
    /// The order was not carried out.
    Refused {
        /// Where the fault lies.
        fault: Fault,
        /// The reason, and what to do about it.
        reason: String,
    },
}

impl Reply {
    /// A refusal.
    pub fn refused(fault: Fault, reason: impl ToString) -> Reply {
        Reply::Refused { fault, reason: reason.to_string() }
    }
}

/// Where the fault lies if an order was not carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// In the request: it cannot be parsed, or names something that does not exist.
    Request,
    /// In the manager's state: another change is in progress, or the manager is not the master.
    State,
    /// In the subnet: the order was tried and failed.
    Subnet,
}

/// The state of a manager.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Status {
    /// [`STATUS_SCHEMA`].
    pub schema: String,
    /// The program's version.
    pub version: String,
    /// Time since the start.
    pub uptime_ns: u64,
    /// The state of the election: `discovering`, `standby`, `not-active`, `master`; `yielding`, a master that ends a
    /// change before it hands over; `handing-over`, one that has asked another manager to take over; `waiting`, one
    /// that waits for another master to hand over.
    pub role: String,
    /// The port it manages from.
    pub port: OwnPort,
    /// The state of the last change, by its name in `state-machines/change.yaml`.
    pub state: String,
    /// The barrier at which the current change waits to be continued, if the manager pauses at barriers.
    pub held: Option<String>,
    /// Where the current change stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<ChangeStanding>,
    /// Whether the subnet is routed, its ports are ACTIVE, and any change left by an earlier manager has ended.
    pub subnet_up: bool,
    /// How the subnet came under the manager: `cold`, `adopted`, `resumed`, `recovered` or `rewritten`.
    pub arrival: Option<String>,
    /// Why it was not adopted, if it carried traffic. For a resumed change: which change, and its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival_why: Option<String>,
    /// Counts of nodes and links.
    pub fabric: FabricStatus,
    /// The half in use; while a change is under way, the one that was in use before it.
    pub half: Option<Half>,
    /// LIDs in use.
    pub lids: LidStatus,
    /// The engine that computes routings, or several: the first of them that can route the subnet does.
    pub engine: String,
    /// The engine of the routing in force; after a change by forwarding entries alone, the one towards which it led.
    /// None for tables that were adopted.
    #[serde(default)]
    pub routed_by: Option<String>,
    /// The root of the routing in force, if it has one.
    pub root: Option<NamedNode>,
    /// Data VLs in use: those that every link has, and the most that may be used while the subnet is not up.
    pub data_vls: u8,
    /// Why no change by `double` is possible, if none is.
    #[serde(default)]
    pub without_double: Option<String>,
    /// What stands in for the engine or the scheme that was chosen, and why, if anything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// How evenly the half in use leads over the channels between switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<ChannelStatus>,
    /// Elements set aside for maintenance.
    pub aside: Vec<String>,
    /// What was seen before and is not there; nothing while the subnet is not reached.
    #[serde(default)]
    pub missing: MissingStatus,
    /// What the journal has lost of what was set aside, until something is set aside or taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_gap: Option<String>,
    /// How far plans for losses to come are, if any are prepared.
    #[serde(default)]
    pub foreseen: Option<ForeseenCount>,
    /// What devices fail at, and what follows; empty where all serve what they should.
    #[serde(default)]
    pub degraded: Vec<Degraded>,
    /// End ports that are known to discard what their hosts send on some service levels: behind a fence.
    #[serde(default)]
    pub end_ports_fenced: usize,
    /// Multicast groups; none without a reserved service level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupStatus>,
    /// Hosts ask for multicast groups, and there are none: what makes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_groups: Option<String>,
    /// How changes are made.
    pub policy: PolicyStatus,
    /// SMPs since the start.
    pub smps: SmpStatus,
    /// Sweeps and traps since the start.
    pub sweeps: SweepStatus,
    /// Requests to subnet administration since the start, by attribute.
    #[serde(default)]
    pub sa_requests: BTreeMap<String, u64>,
    /// Changes since the start, by outcome.
    pub changes: BTreeMap<String, u64>,
    /// The last change that ended.
    pub last_change: Option<Box<ChangeDone>>,
    /// The last failure, until a retry succeeds or finds nothing left to do. Otherwise what another manager does not do
    /// that it should, that the journal takes no record, that LIDs are not stored, or that hosts are cut off while an
    /// element is set aside that would reach them.
    pub trouble: Option<String>,
}

impl Status {
    /// Whether nothing is wrong that this manager knows of. A master is well if the subnet is up, no device is
    /// degraded and there is no trouble; a manager that stands by or still looks, if there is no trouble. While one
    /// manager hands the subnet over to another, neither manages all of it, and neither is well.
    pub fn is_well(&self) -> bool {
        match self.role.as_str() {
            "master" | "yielding" => self.subnet_up && self.degraded.is_empty() && self.trouble.is_none(),
            "waiting" | "handing-over" => false,
            "discovering" | "standby" => self.trouble.is_none(),
            _ => true,
        }
    }
}

/// Multicast groups.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GroupStatus {
    /// Groups, the predefined ones included.
    pub groups: usize,
    /// Memberships: ports, each once for each group that it is in.
    pub members: usize,
    /// Memberships of ports that no tree reaches.
    pub unreached: usize,
    /// Why packets on the reserved lane may wait for each other in a ring, if they may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproved: Option<String>,
}

/// Where a change stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChangeStanding {
    /// The scheme.
    pub scheme: String,
    /// The states that it goes through where nothing fails, each where it is entered first.
    pub states: Vec<String>,
    /// The wave under way, counted from 1.
    pub wave: usize,
    /// The waves that there are.
    pub waves: usize,
    /// The wave's name.
    pub name: String,
    /// The wave's barriers, in order.
    pub barriers: Vec<String>,
    /// How many of them were passed.
    pub passed: usize,
}

impl ChangeStanding {
    /// Of a change, which may be held at a barrier: then it has passed one more than its machine was told.
    pub fn of(progress: &ChangeProgress, held: bool) -> ChangeStanding {
        let (plan, wave) = (progress.plan(), progress.wave());
        let own = &plan.waves()[wave];
        ChangeStanding {
            scheme: plan.scheme().to_string(),
            states: progress.course().into_iter().map(str::to_string).collect(),
            wave: wave + 1,
            waves: plan.waves().len(),
            name: own.name.clone(),
            barriers: own.barriers.iter().map(ToString::to_string).collect(),
            passed: progress.passed() + usize::from(held),
        }
    }
}

/// The use of the channels between switches, when every end port sends to every other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChannelStatus {
    /// Channels from one switch to another.
    pub channels: usize,
    /// Those that some pair of end ports uses.
    pub used: usize,
    /// The busiest.
    pub busiest: Option<String>,
    /// The pairs that use it.
    pub pairs: u64,
}

impl ChannelStatus {
    /// Of a subnet as it runs.
    pub fn of(running: &Running) -> ChannelStatus {
        let fabric = &running.alive;
        let ChannelUse { channels, used, busiest } = ChannelUse::of(fabric, &running.tables.lfts, running.half);
        let (busiest, pairs) = busiest.map_or((None, 0), |(port, pairs)| (Some(fabric.describe_port(port)), pairs));
        ChannelStatus { channels, used, busiest, pairs }
    }
}

/// The port that a manager uses.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OwnPort {
    /// The adapter's name.
    pub adapter: String,
    /// The port's number on the adapter.
    pub port: PortNum,
    /// The port's GUID.
    pub guid: Guid,
    /// The manager's priority.
    pub priority: u8,
}

/// The size of a fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FabricStatus {
    /// Switches.
    pub switches: u64,
    /// Channel adapters.
    pub cas: u64,
    /// Cables, including those to channel adapters.
    pub links: u64,
}

impl FabricStatus {
    /// Counts the nodes and links that are present.
    pub fn of(fabric: &Fabric) -> FabricStatus {
        let present = |kind| fabric.nodes().filter(|(_, node)| node.present && node.kind == kind).count() as u64;
        FabricStatus {
            switches: present(NodeKind::Switch),
            cas: present(NodeKind::Ca),
            links: fabric.links().count() as u64,
        }
    }
}

/// What a manager has seen in its subnet and does not see now. What is set aside is there, and so not missing; nor are
/// devices that it leaves out because they fail, and devices that others have replaced at all their cables.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MissingStatus {
    /// Switches.
    pub switches: MissingElements,
    /// Nodes that are no switches.
    pub hosts: MissingElements,
    /// Cables whose ends are both there and joined to nothing: those of a missing node go with it.
    pub cables: MissingElements,
}

/// Missing elements of one kind.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MissingElements {
    /// How many there are.
    pub count: u64,
    /// The names of the first 20 in the order of the fabric.
    pub names: Vec<String>,
}

impl MissingElements {
    /// The most that are named: a subnet whose half is dark must not fill a screen, or every status with its names.
    const NAMED: usize = 20;

    fn add(&mut self, name: impl FnOnce() -> String) {
        self.count += 1;
        if self.names.len() < MissingElements::NAMED {
            self.names.push(name());
        }
    }
}

impl MissingStatus {
    /// Of a subnet as it runs, with what fails in it.
    pub fn of(running: &Running, degraded: &[Degraded]) -> MissingStatus {
        let left_out = degraded.iter().filter(|own| own.left_out).map(|own| own.guid).collect();
        MissingStatus::between(&running.known, &running.alive, &left_out)
    }

    fn between(known: &Fabric, alive: &Fabric, left_out: &BTreeSet<Guid>) -> MissingStatus {
        let mut missing = MissingStatus::default();
        let is_lost = |node: NodeId| !alive.node(node).present;
        // All its cables lead to others now: another device has its place.
        let is_replaced = |id: NodeId| known.ports_of(id).all(|port| known.peer(port).is_none());
        let is_missing =
            |id: NodeId, node: &Node| node.present && is_lost(id) && !left_out.contains(&node.guid) && !is_replaced(id);
        for (id, node) in known.nodes().filter(|&(id, node)| is_missing(id, node)) {
            // What is a part of a switch goes with it.
            match known.role(id) {
                NodeRole::InSwitch => {}
                _ if node.is_switch() => missing.switches.add(|| known.describe_node(id)),
                _ => missing.hosts.add(|| known.describe_node(id)),
            }
        }
        for (a, b) in known.links() {
            let ends = [a, b];
            if ends.iter().all(|&end| !is_lost(known.port(end).node) && alive.peer(end).is_none()) {
                missing.cables.add(|| ends.map(|end| known.describe_port(end)).join(" – "));
            }
        }
        missing
    }
}

/// LIDs in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LidStatus {
    /// Every end port has 2^LMC.
    pub lmc: u8,
    /// The number of LIDs assigned, including those of switches.
    pub given: u64,
    /// The highest LID.
    pub highest: Lid,
}

/// A node by GUID and description.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NamedNode {
    /// Its GUID.
    pub guid: Guid,
    /// Its NodeDescription.
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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PolicyStatus {
    /// The profile of the devices, which supplies every setting that is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<DeviceProfile>,
    /// What was set otherwise than the profile has it, by its options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<String>,
    /// The scheme, or `auto`.
    pub scheme: String,
    /// The observer of empty lanes.
    pub observer: String,
    /// Port states during *install*.
    pub arming: String,
    /// How sources are moved to the other half.
    pub sources: String,
    /// When the halves have lanes of their own; a manager that does not say so has the temporary partition.
    #[serde(default)]
    pub partition: LanePartition,
}

/// SMPs sent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SmpStatus {
    /// All, retries included.
    pub total: u64,
    /// Retries.
    pub retries: u64,
    /// Answers that came after the request was given up.
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
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SweepStatus {
    /// Heavy sweeps: of the whole subnet.
    pub heavy: u64,
    /// Duration of the last heavy sweep.
    pub last_heavy_ns: u64,
    /// Time between two light sweeps; none if there are none.
    pub period_ns: Option<u64>,
    /// Traps by number, without repetitions.
    pub traps: BTreeMap<String, u64>,
}

/// An event and its time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ControlEvent {
    /// [`EVENT_SCHEMA`].
    pub schema: String,
    /// Nanoseconds of the manager's clock.
    pub at_ns: u64,
    /// The event.
    #[serde(flatten)]
    pub what: EventKind,
}

impl ControlEvent {
    /// An event at a time.
    pub fn at(at_ns: u64, what: EventKind) -> ControlEvent {
        ControlEvent { schema: EVENT_SCHEMA.to_string(), at_ns, what }
    }
}

/// The kinds of event.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum EventKind {
    /// The election changed the manager's role.
    Role {
        /// `discovering`, `standby`, `master` or `not-active`.
        role: String,
    },
    /// All hosts have ways to each other, by tables that close no cycle on any lanes; SL-to-VL tables are still to be
    /// written.
    HostsUp,
    /// The subnet is routed and its ports ACTIVE.
    SubnetUp {
        /// Counts of nodes and links.
        fabric: FabricStatus,
        /// How the subnet came under the manager: `cold`, `adopted`, `resumed`, `recovered` or `rewritten`.
        arrival: String,
        /// Why it was not adopted, where it carried traffic; of a change that was resumed, which, and where it stood.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// A trap came that is not a repetition.
    Trap {
        /// Its number.
        number: u16,
        /// Who sent it.
        lid: Lid,
        /// The sender's name, if known.
        node: Option<String>,
    },
    /// The light sweep found a switch with a changed port, or one that did not answer.
    Noticed {
        /// The switch.
        node: String,
        /// Whether the switch did not answer.
        silent: bool,
    },
    /// A heavy sweep ended.
    Swept {
        /// How long it took.
        took_ns: u64,
        /// How many devices or answers it had to omit.
        left_out: u64,
    },
    /// A change begins.
    Begun {
        /// The cause of the change.
        cause: String,
    },
    /// The change in progress entered a state of `state-machines/change.yaml`.
    State {
        /// Its name.
        state: String,
    },
    /// The change in progress waits at a barrier to be continued.
    Held {
        /// The barrier that was passed.
        barrier: String,
    },
    /// A change ended.
    Change {
        /// How it ended.
        done: Box<ChangeDone>,
    },
    /// A warning to the administrator.
    Warning {
        /// The warning, a sentence.
        text: String,
    },
    /// The listener was too slow: this many events were not sent to it.
    Missed {
        /// Events omitted.
        events: u64,
    },
}

/// One phase of a change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PhaseStatus {
    /// The phase's name.
    pub name: String,
    /// When it began.
    pub start_ns: u64,
    /// When its last barrier was passed.
    pub end_ns: u64,
    /// SMPs sent during the phase.
    pub smps: u64,
}

impl From<&PhaseRecord> for PhaseStatus {
    fn from(phase: &PhaseRecord) -> PhaseStatus {
        let PhaseRecord { name, start_ns, end_ns, smps } = phase;
        PhaseStatus { name: name.to_string(), start_ns: *start_ns, end_ns: *end_ns, smps: smps.total() }
    }
}

/// How a change ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeOutcome {
    /// The new routing is in force.
    Completed,
    /// It was taken back.
    CalledOff,
    /// It is halted in a safe state; or the new routing is in force, and what leaves is not known to be empty.
    Failed,
    /// It could not be routed, planned or proved; nothing was written.
    Refused,
    /// A dry run: planned and proved; nothing was written.
    Planned,
    /// No write was needed: the request changes no routing.
    Nothing,
}

impl ChangeOutcome {
    /// Its name in JSON.
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

    /// Whether the request is in force now.
    pub fn is_done(self) -> bool {
        matches!(self, ChangeOutcome::Completed | ChangeOutcome::Planned | ChangeOutcome::Nothing)
    }
}

/// The result of a change.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChangeDone {
    /// [`CHANGE_SCHEMA`].
    pub schema: String,
    /// The cause, in a few words: `trap 128 from spine-1`, `removal of spine-1`.
    pub cause: String,
    /// How it ended.
    pub outcome: ChangeOutcome,
    /// Why it was not made.
    pub reason: Option<String>,
    /// The scheme of the plan; none where there is no plan.
    pub scheme: Option<String>,
    /// The half of LIDs in use afterwards.
    pub half: Half,
    /// The root of the new routing, if it has one.
    pub root: Option<NamedNode>,
    /// Its phases in order.
    pub phases: Vec<PhaseStatus>,
    /// How often the change was called off because the subnet changed, and started again.
    pub restarts: u32,
    /// Waves of the plan, and of those that came first.
    pub waves: u64,
    /// Their writes.
    pub writes: u64,
    /// Pairs of a host and a LID that have no way by it, and could have one: another change is to give them ways.
    pub pairs_without_a_way: u64,
    /// Whether every moment of the plan was proved free of deadlock.
    pub proved: bool,
    /// End ports that have to send to other LIDs on other service levels.
    pub hosts_that_move: u64,
    /// The plan's notes: which ways were passed over, and why.
    pub notes: Vec<String>,
    /// SMPs sent, including those of the sweep.
    pub smps: SmpStatus,
    /// End ports that the new routing omits; of a change that was refused, those that it would have omitted.
    pub stranded: Vec<String>,
}

impl ChangeDone {
    /// A change that wrote nothing.
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
            scheme: None,
            half,
            root: None,
            phases: Vec::new(),
            restarts: 0,
            waves: 0,
            writes: 0,
            proved: outcome == ChangeOutcome::Planned,
            pairs_without_a_way: 0,
            hosts_that_move: 0,
            notes: Vec::new(),
            smps: SmpStatus::default(),
            stranded: Vec::new(),
        }
    }

    /// The driver's record of a change as a message. Indices are those of `fabric`; `half` is now in use.
    pub fn of(record: &ChangeRecord, fabric: &Fabric, half: Half, cause: impl Into<String>) -> ChangeDone {
        let (outcome, reason) = match &record.outcome {
            Outcome::Completed => (ChangeOutcome::Completed, None),
            Outcome::CalledOff(why) => (ChangeOutcome::CalledOff, Some(why.to_string())),
            Outcome::Failed { .. } | Outcome::CutShort | Outcome::Abandoned { .. } => {
                (ChangeOutcome::Failed, Some(record.outcome.to_string()))
            }
        };
        let mut smps = SmpCounts::default();
        record.sweep.iter().chain(&record.phases).for_each(|phase| smps.add(&phase.smps));
        let plan = record.plan.plan();
        // With what was completed before, and without what was called off.
        let made: Vec<&Plan> = record.made.iter().map(|plan| plan.plan()).chain([plan]).collect();
        let (pairs, served) = if plan.draft().leaves_losses { served(plan) } else { (0, 0) };
        ChangeDone {
            schema: CHANGE_SCHEMA.to_string(),
            cause: cause.into(),
            outcome,
            reason,
            scheme: Some(plan.scheme().to_string()),
            half,
            root: record.routed_by.root.map(|root| NamedNode::of(fabric, root)),
            phases: record.phases.iter().map(PhaseStatus::from).collect(),
            restarts: u32::try_from(record.restarts).expect("a change follows the subnet for less than years"),
            waves: made.iter().map(|plan| plan.waves().len() as u64).sum(),
            writes: made.iter().flat_map(|plan| plan.waves()).map(|wave| wave.writes.len() as u64).sum(),
            proved: record.plan.proof().is_some(),
            pairs_without_a_way: pairs - served,
            hosts_that_move: plan.hosts_that_move() as u64,
            notes: plan.draft().notes.clone(),
            smps: SmpStatus::from(&smps),
            stranded: record.stranded.iter().map(|&port| fabric.describe_port(port)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::PortId;
    use crate::fabric::generate::{Options, generate};
    use schemars::{JsonSchema, schema_for};
    use serde_json::{Value, json};
    use std::fmt::Debug;

    /// Serialised and parsed again, which must give the same.
    fn assert_is_understood<T: Serialize + for<'a> Deserialize<'a> + PartialEq + Debug>(value: &T) -> Value {
        let text = serde_json::to_string(value).expect("plain values");
        let again: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(again, *value);
        serde_json::from_str(&text).expect("JSON")
    }

    /// Values of every kind that the schema of their type lists.
    fn assert_all_are_understood<T>(tag: &str, values: &[T])
    where
        T: JsonSchema + Serialize + for<'a> Deserialize<'a> + PartialEq + Debug,
    {
        let schema = schema_for!(T).to_value();
        let known = schema["oneOf"].as_array().expect("several kinds").iter();
        let known: BTreeSet<String> = known.map(|kind| kind["properties"][tag]["const"].to_string()).collect();
        let said = values.iter().map(|value| assert_is_understood(value)[tag].to_string()).collect();
        assert_eq!(known, said);
    }

    /// With what every manager says.
    fn status() -> Status {
        let policy = json!({"scheme": "auto", "observer": "lifetime", "arming": "off", "sources": "fence"});
        let status = json!({
            "schema": STATUS_SCHEMA, "version": "1", "uptime_ns": 9, "role": "master", "state": "steady",
            "port": {"adapter": "mlx5_0", "port": 1, "guid": Guid(7), "priority": 3},
            "subnet_up": true, "fabric": FabricStatus::default(), "lids": LidStatus::default(), "engine": "up-down",
            "data_vls": 4, "aside": ["spine-1"], "policy": policy, "smps": SmpStatus::default(),
            "sweeps": SweepStatus::default(), "changes": {"completed": 1},
        });
        serde_json::from_value(status).expect("what is not said is none")
    }

    #[test]
    fn everything_said_is_understood() {
        let done = ChangeDone::unwritten(ChangeOutcome::CalledOff, Half::Upper, "test", Some("why".to_string()));
        let (state, node, text) = ("draining".to_string(), "spine-1".to_string(), "a sentence".to_string());
        let fabric = FabricStatus { switches: 1, cas: 2, links: 3 };
        let happenings = [
            EventKind::Role { role: "master".to_string() },
            EventKind::HostsUp,
            EventKind::SubnetUp { fabric, arrival: "cold".to_string(), why: None },
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
        assert_all_are_understood("event", &happenings);
        let mut replies: Vec<_> = happenings.map(|what| Reply::Event(ControlEvent::at(8, what))).into();
        replies.extend([Reply::Status(Box::new(status())), Reply::Changed(Box::new(done))]);
        replies.extend([Reply::Done { text: text.clone() }, Reply::refused(Fault::Subnet, text)]);
        assert_all_are_understood("reply", &replies);
    }

    /// Cables and hosts of what is missing do not count twice, and names do not grow with the loss.
    #[test]
    fn what_is_missing_is_counted_by_kind_and_named() {
        let known = generate(&"leaf-spine:2,2,30".parse().expect("a topology"), &Options::default()).expect("a fabric");
        let at = |name: &str| known.nodes().find(|(_, node)| node.description == name).expect("a node").0;
        let cable = known.ports_of(at("leaf-2")).find(|&port| known.neighbour(port) == Some(at("spine-2")));
        let hosts = known.nodes().filter(|(_, node)| !node.is_switch()).map(|(id, _)| id).skip(1).take(25);
        let gone: Vec<NodeId> = hosts.chain([at("spine-1")]).collect();
        let alive = known.without_nodes(&gone).without_links(&[cable.expect("a cable")]);
        let missing = MissingStatus::between(&known, &alive, &BTreeSet::new());
        assert_eq!((missing.switches.count, &missing.switches.names[..]), (1, &["spine-1".to_string()][..]));
        assert_eq!((missing.hosts.count, missing.hosts.names.len()), (25, 20));
        assert_eq!(missing.cables.count, 1, "{missing:?}");
        assert!(missing.cables.names[0].contains("leaf-2[") && missing.cables.names[0].contains(" – "), "{missing:?}");
        assert_eq!(MissingStatus::between(&known, &known, &BTreeSet::new()), MissingStatus::default());
        // What is left out because it fails is named as that.
        let out = BTreeSet::from([known.node(at("spine-1")).guid]);
        assert_eq!(MissingStatus::between(&known, &alive, &out).switches, MissingElements::default());
        // So is not what lost all its cables to another device; one cable that nobody took keeps it missing.
        let cables: Vec<PortId> = known.ports_of(at("spine-1")).filter(|&port| known.peer(port).is_some()).collect();
        let missing = |taken: &[PortId]| {
            let known = known.without_links(taken);
            let alive = known.without_nodes(&[at("spine-1")]);
            MissingStatus::between(&known, &alive, &BTreeSet::new()).switches.count
        };
        assert_eq!((missing(&cables[1..]), missing(&cables)), (1, 0));
    }

    #[test]
    fn every_order_is_understood() {
        let link = SubnetElement::Link("leaf-1:3".to_string());
        let orders = [
            ControlOrder::Status,
            ControlOrder::Events { last: 0 },
            ControlOrder::Events { last: 7 },
            ControlOrder::Change(ChangeOrder {
                remove: link.clone(),
                planned: true,
                dry_run: true,
                allow_cut_off: true,
            }),
            ControlOrder::TakeBack { element: link },
            ControlOrder::Sweep,
            ControlOrder::Abort,
            ControlOrder::Continue,
            ControlOrder::LogLevel { filter: "debug".to_string() },
        ];
        assert_all_are_understood("request", &orders);
    }
}
