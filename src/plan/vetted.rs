//! A plan that the machine may run: a proved one, or a baseline that runs unproved.

use super::{Plan, Scheme};
use crate::verify::{ProofStatistics, Proved, Refusal};
use std::fmt;

/// A plan that may run. Scheme `double` requires a proof. The baseline schemes may run unproved, with the refusal on
/// record, because the simulator shows their consequences.
#[derive(Clone, PartialEq)]
pub struct Vetted(Inner);

#[derive(Clone, PartialEq)]
enum Inner {
    Proved(Box<Proved<Plan>>),
    Baseline { plan: Box<Plan>, refusal: Box<Refusal> },
}

/// One line: a plan may hold a million writes.
impl fmt::Debug for Vetted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let standing = if self.refusal().is_none() { "proved" } else { "baseline" };
        write!(
            f,
            "{standing} {} plan of {} waves for {}",
            self.plan().scheme(),
            self.plan().waves().len(),
            self.plan().digest()
        )
    }
}

impl From<Proved<Plan>> for Vetted {
    fn from(plan: Proved<Plan>) -> Vetted {
        Vetted(Inner::Proved(Box::new(plan)))
    }
}

impl Vetted {
    /// A plan of a baseline scheme that the prover refused, for runs that show the refusal come true.
    ///
    /// # Errors
    /// The scheme is `double`; plan and refusal are returned.
    pub fn baseline(plan: Plan, refusal: Refusal) -> Result<Vetted, Box<(Plan, Refusal)>> {
        match plan.scheme() {
            Scheme::Double => Err(Box::new((plan, refusal))),
            Scheme::Static | Scheme::InPlace => {
                Ok(Vetted(Inner::Baseline { plan: Box::new(plan), refusal: Box::new(refusal) }))
            }
        }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        match &self.0 {
            Inner::Proved(proved) => proved.get(),
            Inner::Baseline { plan, .. } => plan,
        }
    }

    /// The plan for a file: a baseline carries its refusal as a note, so that nobody takes it for proved.
    pub fn noted(&self) -> Plan {
        let Some(refusal) = self.refusal() else { return self.plan().clone() };
        let mut draft = self.plan().draft().clone();
        let text = refusal.to_string();
        draft.notes.push(format!("NOT PROVED: {}", text.lines().next().unwrap_or_default()));
        Plan::seal(draft)
    }

    /// The coverage of its proof; none for a baseline.
    pub fn proof(&self) -> Option<&ProofStatistics> {
        match &self.0 {
            Inner::Proved(proved) => Some(proved.statistics()),
            Inner::Baseline { .. } => None,
        }
    }

    /// Why the prover refused it; none if it is proved.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.0 {
            Inner::Proved(_) => None,
            Inner::Baseline { refusal, .. } => Some(refusal),
        }
    }
}
