//! `reconfig check`: judges a plan again, from its file alone or with its certificate.

use super::Common;
use super::choice::{self, RateArguments};
use super::evidence::EvidenceArguments;
use super::input::{PlanFile, read_certificate, read_plan};
use super::outcome::{Answer, Failure};
use super::output::{Batch, Screen, check_places};
use crate::report::{self, CheckReport, Judgement, PlanFacts, Refused};
use reconfig::plan::Plan;
use reconfig::verify::Binding;
use reconfig::{check, verify};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Several judges examine the plan. A lint that shares no code with the planner checks phases, barriers, lanes and \
targets. The prover proves the plan for every order in which the writes of a wave may land. The checker, which \
shares no code with the prover, checks the certificate of that proof; given a certificate file, only the checker runs. \
examples/check_certificate.py is another judge, in plain Python.

Examples:
  reconfig check change.plan
  reconfig check change.plan change.certificate
  reconfig check change.plan --json | jq .findings

Exit codes: 0 the plan is sound, 1 it is not, or the certificate is not accepted, 2 wrong usage or not a plan.")]
#[command(mut_arg("window", |option| choice::by_default(option, "one per device")))]
pub(super) struct Arguments {
    /// The plan: a file that `reconfig plan` wrote; `-` is standard input.
    plan: PathBuf,
    /// The certificate of the plan's proof, which is checked instead of proving the plan again.
    certificate: Option<PathBuf>,
    #[command(flatten)]
    rate: RateArguments,
    #[command(flatten)]
    evidence: EvidenceArguments,
}

pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let files = [("--dot", arguments.evidence.file())];
    let screen = Screen::beside(common, files)?;
    check_places(files)?;
    let PlanFile { plan, text } = read_plan(&arguments.plan)?;
    let certificate = arguments.certificate.as_ref().map(|file| read_certificate(file)).transpose()?;
    let (facts, findings) = (PlanFacts::of(&plan, arguments.rate.rate()), check::lint(&plan));
    let judgement = match certificate {
        Some(bytes) => Judgement::Certificate(check::certificate::check(&plan, text.as_bytes(), &bytes)),
        None => proved_and_checked(plan, &text),
    };
    let report = CheckReport::new(facts, findings, judgement);
    let mut batch = Batch::default();
    screen.show(&report, || report::check(&report))?;
    arguments.evidence.show(report.refusal.as_ref(), screen)?;
    arguments.evidence.draw(report.refusal.as_ref(), &mut batch)?;
    batch.finish()?;
    Ok(report.sound.into())
}

/// The prover's verdict, and the checker's verdict on the prover's certificate.
fn proved_and_checked(plan: Plan, text: &str) -> Judgement {
    let (proved, certificate) = match verify::prove_certified(plan) {
        Ok(proved) => proved,
        Err((plan, refusal)) => return Judgement::Proof(Err(Refused::of(&plan, &refusal))),
    };
    let proof = proved.statistics().clone();
    let Some(certificate) = certificate else { return Judgement::Proof(Ok(proof)) };
    let certificate = certificate.to_text(&proved.get().binding(Binding::digest(text.as_bytes())));
    let checked = check::certificate::check(proved.get(), text.as_bytes(), certificate.as_bytes());
    Judgement::Both(proof, checked)
}
