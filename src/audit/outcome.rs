//! The outcome of an audit: one value, for people (the command's screen) and for programs (JSON, schema
//! `reconfig.audit/1`).

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
    /// The results.
    #[serde(flatten)]
    pub found: Audited,
    /// The subnets.
    pub subnets: Vec<AuditedSubnet>,
    /// Whether the captures hold the whole fabric; of a list of subnets nothing is said.
    #[serde(flatten)]
    pub captured: Option<Completeness>,
}

/// The subject of the audit, with its results.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Audited {
    /// Tables of one subnet, as they run.
    Tables {
        /// The results: for the routing, or for any mixture of both.
        #[serde(flatten)]
        found: Audit,
        /// The routings of an update, each by itself.
        transition: Option<Box<TransitionReport>>,
    },
    /// Subnets that an engine routed, with their routers.
    Whole(WholeAudit),
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
}

impl From<Audit> for Judged {
    fn from(found: Audit) -> Judged {
        Judged { verdict: found.verdict(), found }
    }
}

impl AuditReport {
    /// Of a routing as it runs.
    pub fn of(subnets: &Subnets, found: Audit) -> AuditReport {
        let verdict = found.verdict();
        AuditReport::new(subnets, verdict, Audited::Tables { found, transition: None })
    }

    /// Of an update of the subnet that there is after it.
    pub fn of_update(subnets: &Subnets, found: UpdateAudit) -> AuditReport {
        let verdict = found.verdict();
        let UpdateAudit { before, during, after } = found;
        let transition = Some(Box::new(TransitionReport { before: before.into(), after: after.into() }));
        AuditReport::new(subnets, verdict, Audited::Tables { found: during, transition })
    }

    /// Of subnets with their routers.
    pub fn of_whole(subnets: &Subnets, found: WholeAudit) -> AuditReport {
        let verdict = found.verdict();
        AuditReport::new(subnets, verdict, Audited::Whole(found))
    }

    fn new(subnets: &Subnets, verdict: AuditVerdict, found: Audited) -> AuditReport {
        let own = subnets.subnets().map(|(id, subnet)| AuditedSubnet {
            name: subnet.name.clone(),
            prefix: subnet.prefix,
            switches: subnet.fabric.switches().count(),
            hosts: subnets.hosts(id).count(),
        });
        AuditReport { schema: "reconfig.audit/1", verdict, found, subnets: own.collect(), captured: None }
    }

    /// The same for captures that may lack parts of the fabric. The missing parts are unknown, so a fabric without a
    /// fault is safe only if that is `accepted`.
    pub fn captured(self, captured: Option<Completeness>, accepted: bool) -> AuditReport {
        let lacks = !accepted && captured.as_ref().is_some_and(|known| !known.complete);
        let verdict = if lacks && self.is_safe() { AuditVerdict::Unknown } else { self.verdict };
        AuditReport { verdict, captured, ..self }
    }

    /// The parts that the captures lack, if any.
    pub fn incomplete(&self) -> Option<&Completeness> {
        self.captured.as_ref().filter(|known| !known.complete)
    }

    /// Returns whether nothing was found.
    pub fn is_safe(&self) -> bool {
        self.verdict == AuditVerdict::Safe
    }
}

impl Audited {
    /// The shortest credit loop of tables as they run: of the update, else of one of its routings.
    pub fn witness(&self) -> Option<&[AuditedDependency]> {
        let Audited::Tables { found, transition } = self else { return None };
        let alone = transition.iter().flat_map(|transition| [&transition.before.found, &transition.after.found]);
        std::iter::once(found).chain(alone).find_map(|audit| audit.credit_loops.cycle.as_deref())
    }
}
