//! `reconfig check`: a plan, judged again from its file alone, or by its certificate.

use super::input::{PlanFile, read_certificate, read_plan};
use super::outcome::{Answer, Failure};
use super::{Common, output};
use crate::report::{self, CheckReport, Judgement, PlanFacts};
use crate::sim::SimConfig;
use crate::{check, verify};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Two judges look at the plan. A lint that shares no code with the planner (phases, barriers, lanes, targets); and, for
every order in which the writes of a wave may land, the prover, or with a certificate the checker, which shares no code
with the prover. A third, in Python's standard library alone, is examples/check_certificate.py.

Examples:
  reconfig check change.plan
  reconfig check change.plan change.certificate
  reconfig check change.plan --json | jq .findings

Exit codes: 0 the plan is sound, 1 it is not, or the certificate is not accepted, 2 wrong usage or the file is no plan.")]
pub(super) struct Arguments {
    /// The plan: a file that `reconfig plan` wrote; `-` is standard input.
    plan: PathBuf,
    /// The certificate of its proof: checked instead of proving again.
    certificate: Option<PathBuf>,
    /// Time in which a device serves one SMP, in nanoseconds; expected durations follow from it.
    #[arg(long, value_name = "NS", default_value_t = SimConfig::default().sma_service_ns)]
    smp_time: u64,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let PlanFile { plan, text } = read_plan(&arguments.plan)?;
    let certificate = arguments.certificate.as_ref().map(|file| read_certificate(file)).transpose()?;
    let (facts, findings) = (PlanFacts::of(&plan, arguments.smp_time), check::lint(&plan));
    let judgement = match certificate {
        Some(bytes) => Judgement::Certificate(check::certificate::check(&plan, text.as_bytes(), &bytes)),
        None => Judgement::Proof(match verify::prove(plan) {
            Ok(proved) => Ok(proved.statistics().clone()),
            Err((_, refusal)) => Err(refusal),
        }),
    };
    let report = CheckReport::new(facts, findings, judgement);
    if common.json {
        output::print_json(&report)?;
    } else {
        output::print(&report::check(&report))?;
    }
    Ok(report.sound.into())
}
