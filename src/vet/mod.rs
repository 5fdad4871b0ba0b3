//! The door to the first write: makes the plans that the machine may run.
//!
//! On entry: a [`Plan`] from any source. On return: [`Vetted`], which only this module makes, or an [`Objection`] with
//! the plan. Three judges examine a plan, and none of them relies on another: the prover; the checker, which reads the
//! prover's certificate and shares no code with it; the lint, which shares no code with either. An error of one of the
//! first two goes unnoticed only if the other one errs too. Deliberately omitted: any way past one of them for a plan
//! that was proved.

use crate::check::certificate::{self, CertificateFault, CheckBase};
use crate::check::{self, Finding};
use crate::plan::{Phase, Plan, Scheme, Wave};
use crate::verify::{self, Approved, Certificate, ProofBase, ProofStatistics, Proved, Refusal};
use std::fmt;

/// Why a plan may not run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Objection {
    /// The prover refused it.
    #[error("{0}")]
    Refused(Refusal),
    /// The prover and the checker disagree, so that one of them is wrong.
    #[error(
        "the prover accepts it and the independent checker does not: {0}. One of the two is wrong, so nothing is \
         written: keep the plan (`reconfig plan -o FILE`) and report it"
    )]
    Unchecked(CertificateFault),
    /// A wave that takes the change back is not safe.
    #[error("the change could not be called off before its swap: {0}")]
    NoWayBack(Refusal),
    /// The lint has findings.
    #[error(
        "it is proved, and the lint objects: {}. The plan is not what its scheme says, so nothing is written: keep it \
         (`reconfig plan -o FILE`) and report it",
        list(.0)
    )]
    Findings(Vec<Finding>),
}

/// The results of each judge for a routing in force, each found independently.
pub struct VetBase {
    proof: ProofBase,
    /// None where no plan that changes nothing could be made, or the checker did not accept it.
    checked: Option<CheckBase>,
}

impl VetBase {
    /// Has the checker judge the routing that the prover has proved, by means of a plan that begins with that routing
    /// and changes nothing.
    pub fn of(proof: ProofBase, quiet: Option<Plan>) -> VetBase {
        let checked = quiet.and_then(|quiet| {
            let (proved, certificate) = verify::prove_certified(quiet).ok()?;
            let certificate = in_hand(proved.get(), certificate.as_ref()?);
            CheckBase::of(proved.get(), certificate.as_bytes()).ok()?
        });
        VetBase { proof, checked }
    }

    /// The prover's results.
    pub fn proof(&self) -> &ProofBase {
        &self.proof
    }
}

fn list(findings: &[Finding]) -> String {
    findings.iter().map(Finding::to_string).collect::<Vec<_>>().join("; ")
}

/// What a plan is found to be by those who judge it.
pub trait PlanVerdict: Sized {
    /// Judges a plan that may begin with a routing about which something is known.
    ///
    /// # Errors
    /// The plan back, and the first objection.
    fn on(plan: Plan, base: Option<&VetBase>) -> Result<Self, Box<(Plan, Objection)>>;

    /// The plan.
    fn plan(&self) -> &Plan;
}

impl PlanVerdict for Vetted {
    fn on(plan: Plan, base: Option<&VetBase>) -> Result<Vetted, Box<(Plan, Objection)>> {
        vet_from(plan, base)
    }

    fn plan(&self) -> &Plan {
        Vetted::plan(self)
    }
}

/// A plan that the prover accepts, with every way to call it off. Nobody has judged it a second time, so it may not
/// run: it says what a change would take.
#[derive(Clone, PartialEq, Debug)]
pub struct Provable(Box<Approved<Plan>>);

impl PlanVerdict for Provable {
    fn on(plan: Plan, base: Option<&VetBase>) -> Result<Provable, Box<(Plan, Objection)>> {
        let proved = verify::accept(base.map(|base| &base.proof), plan);
        let proved = proved.map_err(|(plan, refusal)| Box::new((plan, Objection::Refused(refusal))))?;
        let plan: &Plan = proved.get();
        let refused = |reached| verify::accept(None, plan.called_off(reached)).err();
        match (0..reversible(plan)).find_map(refused) {
            Some((_, refusal)) => Err(Box::new((proved.into_inner(), Objection::NoWayBack(refusal)))),
            None => Ok(Provable(Box::new(proved))),
        }
    }

    fn plan(&self) -> &Plan {
        self.0.get()
    }
}

/// Proves a plan, checks the certificate of its proof, and lints it; then proves and checks every way to call it off.
///
/// # Errors
/// The plan back, and the first objection.
pub fn vet(plan: Plan) -> Result<Vetted, Box<(Plan, Objection)>> {
    vet_from(plan, None)
}

/// Vets a plan that may begin with a routing about which something is known.
///
/// # Errors
/// The plan back, and the first objection.
pub fn vet_from(plan: Plan, base: Option<&VetBase>) -> Result<Vetted, Box<(Plan, Objection)>> {
    let proved = match base {
        Some(base) => verify::prove_certified_from(&base.proof, plan),
        None => verify::prove_certified(plan),
    };
    let (proved, certificate) = match proved {
        Ok(proved) => proved,
        Err((plan, refusal)) => return Err(Box::new((plan, Objection::Refused(refusal)))),
    };
    match objection(proved.get(), certificate.as_ref(), base) {
        None => Ok(Vetted(Inner::Proved(Box::new(proved)))),
        Some(objection) => Err(Box::new((proved.into_inner(), objection))),
    }
}

/// The objections of the judges other than the prover, and of all of them to the ways back.
fn objection(plan: &Plan, certificate: Option<&Certificate>, base: Option<&VetBase>) -> Option<Objection> {
    // A plan without waves writes nothing: there is nothing to certify, and it has no phases.
    let certificate = in_hand(plan, certificate?);
    let checked = match base.and_then(|base| base.checked.as_ref()) {
        Some(base) => certificate::check_in_hand_from(base, plan, certificate.as_bytes()),
        None => certificate::check_in_hand(plan, certificate.as_bytes()),
    };
    if let Err(fault) = checked {
        return Some(Objection::Unchecked(fault));
    }
    let findings = check::lint(plan);
    if !findings.is_empty() {
        return Some(Objection::Findings(findings));
    }
    (0..reversible(plan)).find_map(|reached| no_way_back(plan, reached))
}

fn in_hand(plan: &Plan, certificate: &Certificate) -> String {
    certificate.to_text(&plan.binding(certificate::IN_HAND.to_string()))
}

/// The number of waves from the first that can be reverted: in scheme `double` those before the swap.
fn reversible(plan: &Plan) -> usize {
    let before_swap = |wave: &&Wave| matches!(wave.phase, Phase::Split | Phase::Install);
    match plan.scheme() {
        Scheme::Double => plan.waves().iter().take_while(before_swap).count(),
        Scheme::Ordered | Scheme::Static | Scheme::InPlace | Scheme::Recover => 0,
    }
}

/// Why the change may not be called off while a wave is under way (Lemma 2 of docs/PROOF.md, checked for this plan).
fn no_way_back(plan: &Plan, reached: usize) -> Option<Objection> {
    match verify::prove_certified(plan.called_off(reached)) {
        Err((_, refusal)) => Some(Objection::NoWayBack(refusal)),
        Ok((_, None)) => None,
        Ok((proved, Some(certificate))) => {
            let certificate = in_hand(proved.get(), &certificate);
            let checked = certificate::check_called_off(proved.get(), certificate.as_bytes());
            checked.err().map(Objection::Unchecked)
        }
    }
}

/// A plan that may run. Schemes `double` and `ordered` must be proved, checked and without findings of the lint. The
/// baseline schemes may run unproved, with the refusal on record, because the simulator shows their consequences; the
/// lint judges them all the same.
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

impl Vetted {
    /// A plan of a baseline scheme that the prover refused, for runs that show the refusal come true.
    ///
    /// # Errors
    /// The plan back: the scheme is no baseline, or the lint has findings.
    pub fn baseline(plan: Plan, refusal: Refusal) -> Result<Vetted, Box<(Plan, Objection)>> {
        if matches!(plan.scheme(), Scheme::Double | Scheme::Ordered | Scheme::Recover) {
            return Err(Box::new((plan, Objection::Refused(refusal))));
        }
        match check::lint(&plan) {
            findings if findings.is_empty() => {
                Ok(Vetted(Inner::Baseline { plan: Box::new(plan), refusal: Box::new(refusal) }))
            }
            findings => Err(Box::new((plan, Objection::Findings(findings)))),
        }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        match &self.0 {
            Inner::Proved(proved) => proved.get(),
            Inner::Baseline { plan, .. } => plan,
        }
    }

    /// The plan for a file: a baseline carries its refusal as a note, so that no reader takes it for proved.
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
