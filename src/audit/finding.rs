//! The findings of an audit, for people as text (`report`) and for programs as JSON.

use crate::ids::{Lid, PortNum, Sl, Vl};
use crate::verify::{EntryAge, LoopHop, NamedDevice, PortLane, WrongArrival};
use serde::Serialize;

/// The number of findings of a kind that are reported with their evidence; all are counted.
pub const SHOWN: usize = 10;

/// The number of findings, and the first of them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Findings<T> {
    /// All.
    pub count: usize,
    /// The first [`SHOWN`], in the order of LIDs.
    pub first: Vec<T>,
}

impl<T> Default for Findings<T> {
    fn default() -> Findings<T> {
        Findings { count: 0, first: Vec::new() }
    }
}

impl<T> Findings<T> {
    /// Counts one more. `evidence` produces its evidence, and is called only where the evidence is kept.
    pub(super) fn add(&mut self, evidence: impl FnOnce() -> T) {
        self.count += 1;
        if self.first.len() < SHOWN {
            self.first.push(evidence());
        }
    }
}

/// Whether the routing is free of every fault that an audit looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuditVerdict {
    /// Nothing was found.
    Safe,
    /// Something was found.
    Unsafe,
    /// Nothing was found, but some pairs pass switches whose tables are not known, or the capture may lack a part.
    Unknown,
}

impl AuditVerdict {
    /// The verdict on two routings together: a fault of one is a fault, and if one is not known, neither is the whole.
    pub fn and(self, other: AuditVerdict) -> AuditVerdict {
        match (self, other) {
            (AuditVerdict::Unsafe, _) | (_, AuditVerdict::Unsafe) => AuditVerdict::Unsafe,
            (AuditVerdict::Unknown, _) | (_, AuditVerdict::Unknown) => AuditVerdict::Unknown,
            _ => AuditVerdict::Safe,
        }
    }
}

impl From<bool> for AuditVerdict {
    fn from(safe: bool) -> AuditVerdict {
        if safe { AuditVerdict::Safe } else { AuditVerdict::Unsafe }
    }
}

/// The extent of the audit, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Size {
    /// Switches.
    pub switches: usize,
    /// CAs.
    pub cas: usize,
    /// Routers.
    pub routers: usize,
    /// Links.
    pub links: usize,
}

/// Ports that send and are sent to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ends {
    /// Ports of CAs and routers.
    EndPorts,
    /// Those and the switches themselves.
    EndPortsAndSwitches,
}

/// The results for one routing, or for all mixtures of two.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Audit {
    /// The kinds of faults found, none where the routing is safe: `credit-loops`, `loops`, `black-holes`,
    /// `wrong-arrivals`, `unreachable-pairs`.
    pub faults: Vec<&'static str>,
    /// The fabric.
    pub fabric: Size,
    /// The ports that send and receive.
    pub ends: Ends,
    /// Lanes that can wait for each other.
    pub credit_loops: CreditLoops,
    /// Switches that send one DLID round.
    pub loops: Findings<AuditedLoop>,
    /// Devices that discard packets to a DLID, once for each device and DLID.
    pub black_holes: Findings<AuditedHole>,
    /// Ports that packets reach without being theirs, once for each port and DLID.
    pub wrong_arrivals: Findings<WrongArrival>,
    /// Pairs of source and DLID of which packets may not arrive.
    pub unreachable_pairs: Findings<UnreachablePair>,
    /// Pairs of source and DLID whose route leaves the known tables. They are not faults.
    pub unknown_pairs: Findings<UnreachablePair>,
    /// All pairs of source and DLID, without a source's own LIDs.
    pub pairs: usize,
    /// Lanes that can be occupied.
    pub lanes: usize,
    /// Channels that can be occupied.
    pub channels: usize,
    /// Distinct dependencies between lanes.
    pub dependencies: usize,
    /// Notes on what the files omit and what was assumed in its place.
    pub notes: Vec<String>,
}

impl Audit {
    /// Safe if nothing was found and everything is known.
    pub fn verdict(&self) -> AuditVerdict {
        match (self.faults.is_empty(), self.unknown_pairs.count) {
            (false, _) => AuditVerdict::Unsafe,
            (true, 0) => AuditVerdict::Safe,
            (true, _) => AuditVerdict::Unknown,
        }
    }
}

/// Lanes that can wait for each other in cycles.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct CreditLoops {
    /// The strongly connected components of lanes, largest first.
    pub components: Vec<LaneComponent>,
    /// Lanes in all of them.
    pub lanes: usize,
    /// The shortest cycle: each dependency's output lane is the next one's input lane, at the other end of the cable.
    pub cycle: Option<Vec<AuditedDependency>>,
    /// Whether it is known that no shorter one exists; in very large components the search ends after a fixed amount
    /// of work.
    pub shortest: bool,
}

/// Lanes of which each can wait for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct LaneComponent {
    /// The number of lanes.
    pub lanes: usize,
}

/// At one switch, a packet in the input lane can wait for the output lane.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct AuditedDependency {
    /// The switch.
    pub switch: NamedDevice,
    /// The lane in which the packet stands.
    pub input: PortLane,
    /// The lane that it waits for.
    pub output: PortLane,
    /// The DLID of a class that does so.
    pub lid: Lid,
    /// Its service level.
    pub sl: Sl,
    /// The owner of the DLID.
    pub destination: String,
    /// A source that may have sent it.
    pub source: String,
    /// The forwarding entry that it follows.
    pub entry: EntryAge,
    /// The SL-to-VL table that it follows.
    pub mapping: EntryAge,
    /// The path that its source uses.
    pub path: EntryAge,
}

/// Switches that send one DLID round.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct AuditedLoop {
    /// The DLID.
    pub lid: Lid,
    /// A service level with which packets come there.
    pub sl: Sl,
    /// The switches in order; the last leads to the first.
    pub hops: Vec<LoopHop>,
}

/// A device that discards packets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct AuditedHole {
    /// The device.
    pub device: NamedDevice,
    /// The DLID.
    pub lid: Lid,
    /// The service level of a packet that comes there.
    pub sl: Sl,
    /// Why it discards them.
    #[serde(flatten)]
    pub cause: DiscardCause,
    /// The entry that causes it.
    pub entry: EntryAge,
}

/// Why a device discards packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum DiscardCause {
    /// No output port.
    NoRoute,
    /// An output port without a cable.
    NoCable {
        /// The output port.
        port: PortNum,
    },
    /// A service level that has no data lane there: mapped to VL 15, to a lane that is not in operation, or not at all.
    NoLane {
        /// The input port; 0 at a source.
        input: PortNum,
        /// The output port.
        output: PortNum,
        /// The lane, where there is one.
        vl: Option<Vl>,
    },
}

/// A source and a DLID between which packets may be lost.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct UnreachablePair {
    /// The source.
    pub source: String,
    /// The owner of the DLID.
    pub destination: String,
    /// The DLID.
    pub lid: Lid,
    /// The reason for the loss.
    pub why: LossReason,
}

/// The reason for which packets do not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossReason {
    /// They are discarded.
    BlackHole,
    /// They go round.
    Loop,
    /// They come to another port.
    WrongArrival,
    /// The file of paths gives no service level: there is no path.
    NoPath,
    /// Unknown: they come to a switch whose table is not known.
    NotKnown,
}

/// The results for an update: for each routing by itself, and for every mixture of both.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct UpdateAudit {
    /// The routing before.
    pub before: Audit,
    /// Every mixture, from the first write to the last.
    pub during: Audit,
    /// The routing after.
    pub after: Audit,
}

impl UpdateAudit {
    /// Returns whether nothing was found at any moment.
    pub fn is_safe(&self) -> bool {
        self.verdict() == AuditVerdict::Safe
    }

    /// The gravest verdict of any moment.
    pub fn verdict(&self) -> AuditVerdict {
        self.before.verdict().and(self.during.verdict()).and(self.after.verdict())
    }
}
