//! What the machine runs: a plan that was proved, or a baseline that is run although it was not.

use super::{Plan, Scheme};
use crate::verify::Proved;
use std::fmt;

/// A plan that may be run. A plan of scheme `double` gets here by proof alone; plans of the baseline schemes may run
/// unproved, with the reason on record, because the simulator is to show what becomes of them.
#[derive(Clone)]
pub struct Vetted(Inner);

#[derive(Clone)]
enum Inner {
    Proved(Proved<Plan>),
    Baseline { plan: Plan, refusal: String },
}

/// A plan of scheme `double` without a proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a plan of scheme `double` runs only when it is proved; it was refused: {refusal}")]
pub struct ProofNeeded {
    /// Why the prover refused it.
    pub refusal: String,
}

/// In one line: a plan may hold a million writes.
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
        Vetted(Inner::Proved(plan))
    }
}

impl Vetted {
    /// A plan of a baseline scheme that the prover refused, for runs that want to see the refusal come true.
    ///
    /// # Errors
    /// The scheme is `double`.
    pub fn baseline(plan: Plan, refusal: String) -> Result<Vetted, ProofNeeded> {
        match plan.scheme() {
            Scheme::Double => Err(ProofNeeded { refusal }),
            Scheme::Static | Scheme::InPlace => Ok(Vetted(Inner::Baseline { plan, refusal })),
        }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        match &self.0 {
            Inner::Proved(proved) => proved.get(),
            Inner::Baseline { plan, .. } => plan,
        }
    }

    /// Why the prover refused it; none when it is proved.
    pub fn refusal(&self) -> Option<&str> {
        match &self.0 {
            Inner::Proved(_) => None,
            Inner::Baseline { refusal, .. } => Some(refusal),
        }
    }
}
