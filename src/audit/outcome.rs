//! The outcome of an audit: one value, for people (the command's screen) and for programs (JSON, schema
//! `reconfig.audit/1`).
//!
//! Tables of a subnet and subnets with their routers are asked different questions. What an [`Audit`] finds, all faults
//! with their evidence, belongs to the subnet whose tables were read. Whether packets arrive through routers, and
//! whether all subnets together are free of deadlock, belongs to none of them: [`AuditReport::whole`].

use super::finding::{Audit, AuditVerdict, AuditedDependency, UpdateAudit};
use super::whole::WholeAudit;
use crate::fabric::format::Completeness;
use crate::fabric::subnets::Subnets;
use crate::ids::GidPrefix;
use serde::Serialize;

/// An audit of subnets, of which there may be one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct AuditReport {
    /// The name and version of the JSON object.
    pub schema: &'static str,
    /// Whether nothing was found, at any moment and in any subnet.
    pub verdict: AuditVerdict,
    /// The subnets.
    pub subnets: Vec<AuditedSubnet>,
    /// The results for all subnets with their routers, where an engine routed them.
    pub whole: Option<WholeAudit>,
}

/// One subnet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct AuditedSubnet {
    /// Its name.
    pub name: String,
    /// Its prefix.
    pub prefix: GidPrefix,
    /// Its switches.
    pub switches: usize,
    /// End ports that are no router's.
    pub hosts: usize,
    /// The results for the tables that were read: for the routing, or for any mixture of both.
    pub tables: Option<Audit>,
    /// The routings of an update, each by itself.
    pub transition: Option<Box<TransitionReport>>,
    /// Whether its captures hold the whole fabric; of a subnet of a list nothing is said.
    #[serde(flatten)]
    pub captured: Option<Completeness>,
}

/// The two routings of an update.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct TransitionReport {
    /// The routing before.
    pub before: Judged,
    /// The routing after.
    pub after: Judged,
}

/// One routing of an update, by itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Judged {
    /// Whether nothing was found.
    pub verdict: AuditVerdict,
    /// The results.
    #[serde(flatten)]
    pub found: Audit,
}

impl From<Audit> for Judged {
    fn from(found: Audit) -> Judged {
        Judged { verdict: found.verdict(), found }
    }
}

/// What an audit found, by what it was asked about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AuditFindings {
    /// In the tables of one subnet, as they run.
    Tables(Box<Audit>),
    /// In an update of one subnet.
    Update(Box<UpdateAudit>),
    /// In subnets with their routers.
    Whole(Box<WholeAudit>),
}

impl AuditFindings {
    /// The gravest verdict on any part.
    pub fn verdict(&self) -> AuditVerdict {
        match self {
            AuditFindings::Tables(found) => found.verdict(),
            AuditFindings::Update(found) => found.verdict(),
            AuditFindings::Whole(found) => found.verdict(),
        }
    }
}

impl AuditReport {
    /// Of subnets; of an update, as they are after it. Tables belong to the first.
    pub fn new(subnets: &Subnets, found: AuditFindings) -> AuditReport {
        let verdict = found.verdict();
        let (mut tables, mut transition, mut whole) = (None, None, None);
        match found {
            AuditFindings::Tables(found) => tables = Some(*found),
            AuditFindings::Update(found) => {
                let UpdateAudit { before, during, after } = *found;
                tables = Some(during);
                transition = Some(Box::new(TransitionReport { before: before.into(), after: after.into() }));
            }
            AuditFindings::Whole(found) => whole = Some(*found),
        }
        let own = subnets.subnets().map(|(id, subnet)| AuditedSubnet {
            name: subnet.name.clone(),
            prefix: subnet.prefix,
            switches: subnet.fabric.switches().count(),
            hosts: subnets.hosts(id).count(),
            tables: tables.take(),
            transition: transition.take(),
            captured: None,
        });
        AuditReport { schema: "reconfig.audit/1", verdict, subnets: own.collect(), whole }
    }

    /// This report, for a subnet whose captures may be incomplete. The missing parts are unknown, so tables without a
    /// fault are safe only if that is `accepted`.
    pub fn captured(mut self, captured: Option<Completeness>, accepted: bool) -> AuditReport {
        let lacks = !accepted && captured.as_ref().is_some_and(|known| !known.complete);
        if lacks && self.is_safe() {
            self.verdict = AuditVerdict::Unknown;
        }
        self.subnets.iter_mut().for_each(|subnet| subnet.captured.clone_from(&captured));
        self
    }

    /// Returns whether nothing was found.
    pub fn is_safe(&self) -> bool {
        self.verdict == AuditVerdict::Safe
    }

    /// The shortest credit loop of tables that were read: of an update, else of one of its routings.
    pub fn witness(&self) -> Option<&[AuditedDependency]> {
        self.audits().find_map(|audit| audit.credit_loops.cycle.as_deref())
    }

    /// What was found in tables: in those of each subnet or their mixtures, then in each routing of an update.
    pub fn audits(&self) -> impl Iterator<Item = &Audit> {
        self.subnets.iter().flat_map(AuditedSubnet::audits)
    }
}

impl AuditedSubnet {
    fn audits(&self) -> impl Iterator<Item = &Audit> {
        let alone = self.transition.iter().flat_map(|transition| [&transition.before.found, &transition.after.found]);
        self.tables.iter().chain(alone)
    }

    /// The parts that its captures lack, if any.
    pub fn incomplete(&self) -> Option<&Completeness> {
        self.captured.as_ref().filter(|known| !known.complete)
    }
}
