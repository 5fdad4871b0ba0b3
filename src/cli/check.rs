//! `reconfig check`: a plan, judged again from its file alone.

use super::evidence::EvidenceArguments;
use super::input::read_plan;
use super::outcome::{Answer, Failure};
use super::{Common, output};
use crate::report::{self, CheckReport, PlanFacts, Refused};
use crate::sim::SimConfig;
use crate::{check, verify};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Two judges look at the plan: a lint that shares no code with the planner (phases, barriers, lanes, targets), and the
prover, for every order in which the writes of a wave may land.

Examples:
  reconfig check change.plan
  reconfig check change.plan --json | jq .findings

Exit codes: 0 the plan is sound, 1 it is not, 2 wrong usage or the file is no plan.")]
pub(super) struct Arguments {
    /// The plan: a file that `reconfig plan` wrote; `-` is standard input.
    plan: PathBuf,
    /// Time in which a device serves one SMP, in nanoseconds; expected durations follow from it.
    #[arg(long, value_name = "NS", default_value_t = SimConfig::default().sma_service_ns)]
    smp_time: u64,
    #[command(flatten)]
    evidence: EvidenceArguments,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let plan = read_plan(&arguments.plan)?;
    let (facts, findings) = (PlanFacts::of(&plan, arguments.smp_time), check::lint(&plan));
    let proof = verify::prove(plan)
        .map(|proved| proved.statistics().clone())
        .map_err(|(plan, refusal)| Refused::of(&plan, &refusal));
    let report = CheckReport::new(facts, findings, proof);
    if common.json {
        output::print_json(&report)?;
    } else {
        output::print(&report::check(&report))?;
    }
    arguments.evidence.show(report.refusal.as_ref(), common)?;
    Ok(report.sound.into())
}
