//! Audits a subnet *as routed today*, and OpenSM's in-place update from one routing to the next; and subnets as an
//! engine routes them, with the routers between them ([`audit_whole`]).
//!
//! On entry: a [`RoutingSnapshot`], a fabric and the tables that run on it; two of them over one index space for an
//! update. On return: an [`Audit`], which judges everything and not only the first fault: credit loops (lanes that can
//! wait for each other in a cycle) with a shortest witness, loops of one DLID, black holes, wrong arrivals, and pairs
//! between which packets are lost. It knows no halves, no plan and no scheme: a packet is (source port, DLID, service
//! level), the service level from the file of paths, else 0; every LID of a range counts. An update may mix old and new
//! forwarding entries, SL-to-VL tables and paths in any way, and packets sent before it are still under way. The files
//! are assumed to be complete, except for switches that are named as unknown; packets that pass those are not judged.
//! Deliberately omitted: multicast, port states, how packets share lanes (arbitration), the proof of a plan (`verify`).

pub mod across;
mod explain;
mod fate;
mod finding;
mod lanes;
mod outcome;
mod senders;
mod survey;
mod whole;

pub use finding::{
    Audit, AuditVerdict, AuditedDependency, AuditedHole, AuditedLoop, CreditLoops, DiscardCause, Ends, Findings,
    LaneComponent, LossReason, SHOWN, Size, UnreachablePair, UpdateAudit,
};
pub use outcome::{AuditFindings, AuditReport, AuditedSubnet, Judged, TransitionReport};
pub use whole::{RoutedSubnets, WholeAudit, audit_whole};

use crate::fabric::{Fabric, NodeId, NodeKind, PortId};
use crate::ids::{Lid, Sl};
use crate::routers::LevelsError;
use crate::tables::Lft;
use crate::tables::dump::{PathSls, SlToVlDump};
use crate::verify::across::AcrossRefusal;
use senders::AuditWalk;
use std::sync::Arc;
use survey::FaultSurvey;

/// The stage of the moment before an update. It is walked only where the fabric was different then.
const EARLIER: usize = 0;
/// The stage of what runs now: while the update is on, if there is one.
const NOW: usize = 1;

/// A fabric, and the tables that run on it.
#[derive(Clone, Copy, Debug)]
pub struct RoutingSnapshot<'a> {
    /// The fabric, LIDs assigned.
    pub fabric: &'a Fabric,
    /// Forwarding tables by node; empty ones route nothing.
    pub lfts: &'a [Arc<Lft>],
    /// Switches whose table is not known, in index order. What becomes of packets there is not known, and is no fault.
    pub unknown: &'a [NodeId],
    /// SL-to-VL tables; without them every service level takes the lane of its number.
    pub sl_to_vl: Option<&'a SlToVlDump>,
    /// Service levels by path; without them every path has service level 0.
    pub path_sls: Option<&'a PathSls>,
}

/// The LIDs and senders that are in scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AuditRules {
    /// Whether switches send and receive, as management does; otherwise only CAs and routers do.
    pub switches: bool,
    /// Data VLs in operation, where that is known: higher lanes discard.
    pub data_vls: Option<u8>,
}

/// Why nothing could be audited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    /// No end port can send.
    #[error("no end port of the fabric has a LID: take a capture of the subnet after a subnet manager has set it up")]
    NoLids,
    /// The snapshots of an update are not over one index space.
    #[error(
        "the fabrics before and after have {before} and {after} ports in all: put both into one index space first \
         (fabric::difference::union)"
    )]
    Indices {
        /// Ports before.
        before: usize,
        /// Ports after.
        after: usize,
    },
    /// Packets cross more routers than service levels can be raised for.
    #[error(transparent)]
    Levels(#[from] LevelsError),
    /// Subnets whose routing cannot be judged together.
    #[error(transparent)]
    Whole(AcrossRefusal),
}

/// Audits one routing.
///
/// # Errors
/// A fabric without LIDs.
pub fn audit(now: &RoutingSnapshot<'_>, rules: AuditRules) -> Result<Audit, AuditError> {
    judge(&AuditCase { earlier: None, fabric: now.fabric, old: now, new: now, rules, is_destination: Vec::new() })
}

/// Audits the update from one routing to the next, made in place: any mixture of entries, in any order. Elements that
/// only the fabric before has died when it began; those that only the fabric after has came then. The loss of packets
/// to ports that left or came, or on cables that died, is no fault; the lanes that they hold count.
///
/// # Errors
/// A fabric without LIDs, or fabrics that are indexed differently.
pub fn audit_update(
    before: &RoutingSnapshot<'_>,
    after: &RoutingSnapshot<'_>,
    rules: AuditRules,
) -> Result<UpdateAudit, AuditError> {
    let [was, is] = [before, after].map(|snapshot| snapshot.fabric.port_count());
    if was != is || before.fabric.node_count() != after.fabric.node_count() {
        return Err(AuditError::Indices { before: was, after: is });
    }
    // Where nothing left or came, the mixtures include everything that was possible before.
    let earlier = (before.fabric != after.fabric).then_some(before.fabric);
    let during =
        AuditCase { earlier, fabric: after.fabric, old: before, new: after, rules, is_destination: Vec::new() };
    Ok(UpdateAudit { before: audit(before, rules)?, during: judge(&during)?, after: audit(after, rules)? })
}

/// The subject of the audit: one routing, or all mixtures of two.
struct AuditCase<'a> {
    /// The fabric before the change, where it differs.
    earlier: Option<&'a Fabric>,
    fabric: &'a Fabric,
    old: &'a RoutingSnapshot<'a>,
    /// The routing after the update; equal to `old` if only one routing is judged.
    new: &'a RoutingSnapshot<'a>,
    rules: AuditRules,
    /// By port: whether it is sent to at either stage.
    is_destination: Vec<bool>,
}

/// The service levels that a source may use towards a DLID.
#[derive(Clone, Copy, Debug, Default)]
struct Levels {
    old: Option<Sl>,
    new: Option<Sl>,
    /// Whether a file that applies specifies none.
    lacking: bool,
}

impl Levels {
    /// Each once.
    fn sls(self) -> impl Iterator<Item = Sl> {
        self.old.into_iter().chain(self.new.filter(|_| self.new != self.old))
    }
}

impl<'a> AuditCase<'a> {
    fn snapshots(&self) -> [&'a RoutingSnapshot<'a>; 2] {
        [self.old, self.new]
    }

    /// Returns whether files specify service levels; otherwise all paths have SL 0.
    fn has_levels(&self) -> bool {
        self.snapshots().iter().any(|snapshot| snapshot.path_sls.is_some())
    }

    fn fabrics(&self) -> impl Iterator<Item = &'a Fabric> {
        self.earlier.into_iter().chain([self.fabric])
    }

    /// Returns whether a node was there before the change.
    fn was_there(&self, node: NodeId) -> bool {
        self.earlier.is_none_or(|fabric| fabric.node(node).present)
    }

    fn is_there(&self, node: NodeId) -> bool {
        self.fabric.node(node).present
    }

    /// Returns whether a loss of packets to a port is no fault: it left or came with the change.
    fn is_lenient(&self, owner: PortId) -> bool {
        let node = self.fabric.port(owner).node;
        let cabled = self.earlier.is_none_or(|earlier| {
            // Port 0 of a switch has no cable in any fabric: only end ports can lose theirs.
            let end_port = !earlier.node(node).is_switch();
            !end_port || earlier.peer(owner).is_some() && self.fabric.peer(owner).is_some()
        });
        !(self.was_there(node) && self.is_there(node) && cabled)
    }

    /// Returns whether the table of a switch is known; in an update, both tables.
    fn is_known(&self, switch: NodeId) -> bool {
        self.snapshots().iter().all(|snapshot| snapshot.unknown.binary_search(&switch).is_err())
    }

    /// The owner of a LID that is sent to.
    fn destination(&self, lid: Lid) -> Option<PortId> {
        self.fabric.lid_owner(lid).filter(|owner| self.is_destination[owner.index()])
    }

    fn levels(&self, stage: usize, source: PortId, lid: Lid, owner: PortId) -> Levels {
        let level = |snapshot| self.level(snapshot, source, lid, owner);
        if stage == EARLIER {
            return Levels { old: level(self.old), ..Levels::default() };
        }
        let [sends, receives] = [source, owner].map(|port| self.fabric.port(port).node);
        let before = self.was_there(sends) && self.was_there(receives);
        let old = before.then(|| level(self.old));
        // One file in both places is asked once.
        let same = std::ptr::eq(self.old, self.new);
        let new = (self.is_there(receives) && !(before && same)).then(|| level(self.new));
        Levels { old: old.flatten(), new: new.flatten(), lacking: old == Some(None) || new == Some(None) }
    }

    /// The service level of a path in one snapshot. Files list paths between end ports. A path of a switch that they
    /// omit, or of a source that they omit altogether, has service level 0.
    fn level(&self, snapshot: &RoutingSnapshot<'_>, source: PortId, lid: Lid, owner: PortId) -> Option<Sl> {
        let Some(sls) = snapshot.path_sls else { return Some(Sl::default()) };
        let is_switch = |port: PortId| self.fabric.node(self.fabric.port(port).node).is_switch();
        let excused = || !sls.tells_of(source) || is_switch(source) || is_switch(owner);
        sls.get(source, lid).or_else(|| excused().then(Sl::default))
    }

    fn find_destinations(&mut self) {
        let mut found = vec![false; self.fabric.port_count()];
        for fabric in self.fabrics() {
            let counts = |port: &PortId| self.rules.switches || !fabric.node(fabric.port(*port).node).is_switch();
            fabric.lid_ports().filter(counts).for_each(|port| found[port.index()] = true);
        }
        self.is_destination = found;
    }

    fn size(&self) -> Size {
        let present = || self.fabric.nodes().filter(|(_, node)| node.present);
        let count = |kind| present().filter(|(_, node)| node.kind == kind).count();
        Size {
            switches: count(NodeKind::Switch),
            cas: count(NodeKind::Ca),
            routers: count(NodeKind::Router),
            links: self.fabric.links().count(),
        }
    }

    /// Notes on what the files omit.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut add = |count: usize, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        let fabric = self.fabric;
        add(
            fabric.end_ports().filter(|&port| fabric.port(port).lid.is_none()).count(),
            "end ports have no LID: they neither send nor are sent to",
        );
        add(
            fabric.switches().filter(|&switch| !self.is_known(switch)).count(),
            "switches have no known forwarding table: what passes them is not known, and neither are credit loops there",
        );
        let unowned = self.unowned();
        add(
            unowned,
            "LIDs have routes and no owner; where the LMC is above 0 and the fabric's format does not state it, specify it",
        );
        let dumps = || self.snapshots().into_iter().filter_map(|snapshot| snapshot.sl_to_vl);
        let untold = |node: &NodeId| dumps().any(|dump| !dump.tells_of(*node));
        add(
            fabric.switches().filter(untold).count(),
            "switches are not in the file of SL-to-VL tables: every service level takes the lane of its number there",
        );
        let files = || self.snapshots().into_iter().filter_map(|snapshot| snapshot.path_sls);
        let silent = |port: &PortId| files().any(|sls| !sls.tells_of(*port));
        add(fabric.end_ports().filter(silent).count(), "end ports are not in the file of paths: they send on SL 0");
        notes
    }

    /// The number of LIDs that some switch routes to a cabled port and that no port owns.
    fn unowned(&self) -> usize {
        let lfts = || self.snapshots().into_iter().flat_map(|snapshot| snapshot.lfts);
        let blocks = lfts().map(|lft| lft.blocks()).max().unwrap_or(0);
        let mut routed = vec![false; usize::from(blocks) * crate::tables::LFT_BLOCK];
        for lft in lfts() {
            for block in 0..lft.blocks() {
                let start = usize::from(block) * crate::tables::LFT_BLOCK;
                let entries = lft.block(block);
                routed[start..].iter_mut().zip(entries).for_each(|(routed, port)| *routed |= port != u8::MAX);
            }
        }
        let unowned = |&(lid, _): &(u16, &bool)| self.fabric.lid_owner(Lid(lid)).is_none();
        (0..).zip(&routed).filter(|(_, routed)| **routed).filter(unowned).count()
    }
}

fn judge(case: &AuditCase<'_>) -> Result<Audit, AuditError> {
    let mut case = AuditCase { is_destination: Vec::new(), ..*case };
    case.find_destinations();
    let net = senders::flat(&case);
    if net.senders(NOW).is_empty() {
        return Err(AuditError::NoLids);
    }
    let lanes = lanes::read(&case, &net);
    let mut walk = AuditWalk::new(&case, &net, &lanes);
    let mut survey = FaultSurvey::new(&case, &net, &lanes);
    walk.run(&mut survey);
    survey.add_hosts(walk.hosts());
    let witness = survey.cycle().map(|knots| explain::explain(&case, &net, &mut walk, knots));
    Ok(survey.finish(witness))
}
