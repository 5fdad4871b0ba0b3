//! Counts of SMPs by the rules of the Double Scheme's paper, and by those of InfiniBand (seed 001, results).
//!
//! The paper gives counts for "16 switch topology (14 nodes)", and times that amount to 18.6 µs for each SMP. Rules
//! that fit its counts: for SL-to-VL tables, one `Get` and one `Set` for each connected port end, twice (split and
//! restore); for forwarding tables, four SMPs for each connected port end and each switch; for the drain, one control
//! packet to each switch and each end node and one back. InfiniBand has a table for every pair of input and output of a
//! switch; the true counts are those of a plan for the fabric, in the plain form and in the optimised one.

use super::Engines;
use super::ScenarioError;
use super::outcome::SimulationReport;
use super::run::plan;
use super::setting::Scenario;
use crate::fabric::Fabric;
use crate::plan::{Phase, Plan};
use crate::tables::Write;
use serde::Serialize;

/// The rules to count by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accounting {
    /// The paper's rules, compared with its own figures.
    Paper,
    /// The plan's own SMPs, in both forms of SL-to-VL tables.
    Iba,
}

/// Nanoseconds that one SMP takes in the paper: 0.011 s for 592, 0.0067 s for 360.
pub const PAPER_SMP_NS: u64 = 18_600;

/// SMPs by the paper's rules, request and answer each counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PaperCounts {
    /// Both passes over SL-to-VL tables.
    pub mapping: u64,
    /// Forwarding tables.
    pub distributing: u64,
    /// The drain.
    pub drainage: u64,
}

impl PaperCounts {
    /// For so many switches, end nodes, and connected port ends.
    pub fn of(switches: u64, nodes: u64, ends: u64) -> PaperCounts {
        PaperCounts { mapping: 2 * 2 * 2 * ends, distributing: 4 * (ends + switches), drainage: 2 * (switches + nodes) }
    }
}

/// One line of the table.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Line {
    /// What is counted.
    pub what: &'static str,
    /// The paper's figure, for its own topology.
    pub paper: Option<String>,
    /// Ours, by the rules requested.
    pub ours: String,
    /// Whether they agree; none if the paper has no figure.
    pub agrees: Option<bool>,
    /// The rule, or a note.
    pub rule: String,
}

impl Line {
    fn compared(what: &'static str, paper: &str, ours: String, rule: String) -> Line {
        Line { what, agrees: Some(paper == ours), paper: Some(paper.into()), ours, rule }
    }

    fn alone(what: &'static str, ours: String, rule: impl Into<String>) -> Line {
        Line { what, paper: None, ours, agrees: None, rule: rule.into() }
    }
}

/// The table for a scenario that was run: its fabric, its plan in both forms, and the run itself.
///
/// # Errors
/// The plan cannot be made in one of the forms.
pub fn accounting(
    by: Accounting,
    scenario: &Scenario,
    engines: impl Into<Engines>,
    run: &SimulationReport,
) -> Result<Vec<Line>, ScenarioError> {
    let form = |optimised| Scenario { optimised_sl_to_vl: Some(optimised), ..scenario.clone() };
    let engines = engines.into();
    let plain = plan(&form(false), engines.clone())?;
    Ok(match by {
        Accounting::Paper => by_paper(&plain.plan().draft().before, plain.plan(), run),
        Accounting::Iba => by_plan(plain.plan(), plan(&form(true), engines)?.plan(), run),
    })
}

fn by_paper(fabric: &Fabric, plan: &Plan, run: &SimulationReport) -> Vec<Line> {
    let switches = run.fabric.switches as u64;
    let nodes = run.fabric.cas as u64;
    let ends = 2 * fabric.links().count() as u64;
    let PaperCounts { mapping: sl_to_vl, distributing: tables, drainage: drain } =
        PaperCounts::of(switches, nodes, ends);
    let seconds = |smps: u64, decimals: usize| format!("{:.decimals$} s", (smps * PAPER_SMP_NS) as f64 / 1e9);
    let each = format!("{:.1} µs an SMP", PAPER_SMP_NS as f64 / 1e3);
    let planned = |phase| writes(plan, phase);
    vec![
        Line::compared(
            "SL-to-VL mapping, SMPs",
            "592",
            sl_to_vl.to_string(),
            format!("(Get + Set) × (request + answer) × 2 passes × {ends} connected port ends"),
        ),
        Line::compared("SL-to-VL mapping, time", "0.011 s", seconds(sl_to_vl, 3), each.clone()),
        Line::compared(
            "computing tables, SMPs",
            "200",
            "0".into(),
            "we found no rule that gives the paper's 200: computing sends nothing here".into(),
        ),
        Line::compared(
            "distributing tables, SMPs",
            "360",
            tables.to_string(),
            format!("4 × ({ends} port ends + {switches} switches)"),
        ),
        Line::compared("distributing tables, time", "0.0067 s", seconds(tables, 4), each),
        Line::compared(
            "VL drainage, SMPs",
            "60",
            drain.to_string(),
            format!("2 × ({switches} switches + {nodes} nodes)"),
        ),
        Line::compared(
            "VL drainage, hops",
            "7",
            plan.drain_depth().to_string(),
            "longest path of R's channel dependency graph, in channels, without what died".into(),
        ),
        Line::alone(
            "the plan's own Sets",
            format!("{} + {} + {}", planned(Phase::Split), planned(Phase::Install), planned(Phase::Restore)),
            "split + install + restore of this fabric, plain form; see --accounting iba",
        ),
    ]
}

fn by_plan(plain: &Plan, optimised: &Plan, run: &SimulationReport) -> Vec<Line> {
    let both = |phase| format!("{} / {}", writes(plain, phase), writes(optimised, phase));
    let sl_to_vl = |plan: &Plan| plan.waves().iter().flat_map(|wave| &wave.writes).filter(|w| is_sl_to_vl(w)).count();
    vec![
        Line::alone("split, Sets, plain / optimised", both(Phase::Split), "SLtoVLMappingTable, one pass"),
        Line::alone(
            "install, Sets, plain / optimised",
            both(Phase::Install),
            "LFT blocks that differ (and port states)",
        ),
        Line::alone(
            "swap, Sets, plain / optimised",
            both(Phase::Swap),
            "PortInfo:MasterSMLID/SL, active half; SA's own",
        ),
        Line::alone("restore, Sets, plain / optimised", both(Phase::Restore), "SLtoVLMappingTable, one pass"),
        Line::alone(
            "SL-to-VL Sets in all, plain / optimised",
            format!("{} / {}", sl_to_vl(plain), sl_to_vl(optimised)),
            "two passes; a Set is answered with the table in force, so no Get is needed",
        ),
        Line::alone(
            "drain graph, channels",
            plain.drain().iter().map(|layer| layer.graph.channels().len()).sum::<usize>().to_string(),
            "channels a token passes",
        ),
        Line::alone("drain graph, depth", plain.drain_depth().to_string(), "channels on its longest path"),
        Line::alone(
            "SMPs sent in the run",
            run.smps().total.to_string(),
            "sweep and all phases, reading back and retries included",
        ),
    ]
}

fn is_sl_to_vl(write: &Write) -> bool {
    matches!(write, Write::SlToVl { .. })
}

fn writes(plan: &Plan, phase: Phase) -> usize {
    plan.waves().iter().filter(|wave| wave.phase == phase).map(|wave| wave.writes.len()).sum()
}
