//! `reconfig simulate`: a change on a simulated copy of a fabric, under traffic.

mod change;
mod management;
mod traffic;

use super::choice::{
    self, CrossingArguments, DeviceArguments, EngineArguments, FromArguments, PartitionArguments, ReservedArguments,
    SchemeChoice, SlToVlChoice, ToArguments, TurnBackArguments,
};
use super::element::find_node;
use super::evidence::{draw, draw_across};
use super::input::{Captured, check_options, read_captured};
use super::outcome::{Answer, Failure};
use super::output::{Batch, Screen, check_folder, check_places};
use super::page::{Page, command};
use super::plan::certified;
use super::progress::{Progress, Waiting};
use super::stderr::remark;
use super::{Common, FabricReading};
use crate::report::{self, AutoInstead};
use anyhow::{Context, anyhow};
use change::{ChangeArguments, NamedChange};
use clap::{Args, ValueEnum};
use management::ManagementArguments;
use reconfig::change::{BringUpError, is_soon_judged};
use reconfig::fabric::Fabric;
use reconfig::fabric::subnets::Subnets;
use reconfig::ids::SubnetId;
use reconfig::plan::{Policy, Scheme};
use reconfig::routing::{DEFAULT_ENGINE, Imported};
use reconfig::scenario::{
    self, Accounting, Departure, Element, Engines, LaterEvent, LinkLoads, Moves, Periods, Scenario, ScenarioChange,
    ScenarioError, Settings, SimulationReport, adversary,
};
use reconfig::sim::{Latch, SimConfig, SimError};
use reconfig::subnet::{DeviceProfile, DeviceSettings};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
pub(super) use traffic::traffic;
use traffic::{TrafficArguments, WORST};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  reconfig simulate --remove-root fixtures/topologies/fat-tree-4-2.ibnetdiscover
  reconfig simulate --remove-switch spine-2 --planned --load 0.5 fabric.ibnetdiscover
  reconfig simulate --remove-switch spine-1 --remove-switch spine-2 --remove-link leaf-1:3 fabric.ibnetdiscover
  reconfig simulate before.ibnetdiscover after.ibnetdiscover --planned --scheme auto
  reconfig simulate --remove-switch spine-1 --at draining --remove-link leaf-1:3 fabric.ibnetdiscover
  reconfig simulate --move-cable leaf-1:3=spine-2:7 --planned fabric.ibnetdiscover
  reconfig simulate --remove-root --compare fabric.ibnetdiscover
  reconfig simulate --remove-root --json fabric.ibnetdiscover | jq .packets
  reconfig simulate --remove-root --scheme in-place --adversary fixtures/topologies/ghost-cycle.ibnetdiscover

In the report, the *glance* is a quick check of the switches that report a change, by which the manager finds a loss before it \
sweeps the subnet (docs/GLOSSARY.md defines the other terms).

Exit codes: 0 completed, nothing lost to the change, and no end port cut off by a planned one (with --compare, by scheme auto); 1 otherwise; 2 wrong usage \
or unreadable input; 3 the change cannot be made at all.")]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
#[command(mut_arg("devices", |option| choice::by_default(option, "agents")))]
#[command(mut_arg("drain", |option| choice::by_default(option, "token; with --devices standard lifetime")))]
#[command(mut_arg("sources", |option| choice::by_default(option, "told; with --devices standard fence")))]
pub(super) struct Arguments {
    /// The fabric: a file in any form of docs/READING.md, or a list of several subnets (NAME.subnets.yaml); `-` is
    /// standard input.
    fabric: PathBuf,
    #[command(flatten)]
    change: ChangeArguments,
    #[command(flatten)]
    method: MethodArguments,
    #[command(flatten)]
    traffic: TrafficArguments,
    #[command(flatten)]
    subnets: SubnetsArguments,
    #[command(flatten)]
    devices: DeviceArguments,
    #[command(flatten)]
    hardware: HardwareArguments,
    #[command(flatten)]
    management: ManagementArguments,
    /// Count SMPs by these rules: `paper` prints the seed paper's table beside ours, `iba` the plan's own counts.
    #[arg(long, value_enum, value_name = "RULES", conflicts_with = "compare")]
    accounting: Option<AccountingChoice>,
    /// Attack the change: drive a refused plan into the deadlock that the proof names; run a proved one under saturated
    /// traffic with every MAD delayed.
    #[arg(long, conflicts_with_all = ["compare", "accounting"])]
    adversary: bool,
    /// If the plan is refused, write the cycle, loop or hole to FILE as a Graphviz digraph.
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    dot: Option<PathBuf>,
    /// Write the plan to FILE.
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    plan: Option<PathBuf>,
    /// Write the certificate of the plan's proof to FILE; `reconfig check PLAN CERTIFICATE` checks both.
    #[arg(long, value_name = "FILE", requires = "plan", conflicts_with = "compare")]
    certificate: Option<PathBuf>,
    /// Write a journal of the change to DIR/simulate.journal, replacing any earlier one; `reconfig journal show` reads
    /// it.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["compare", "adversary"])]
    journal: Option<PathBuf>,
    /// Write CSV files to DIR: time series (series.csv, smps.csv, phases.csv), losses per host (hosts.csv), load of
    /// each link between switches (links.csv), and LIDs that differ from the capture's (lids.csv); run.json says
    /// which run they are of. With --compare, each scheme has its own folder in DIR.
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Write an HTML report of the run (with --compare, of all runs) to FILE: what changed, and what was lost when.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Seed for all random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(super) reading: FabricReading,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Method", mut_arg("engine", |option| choice::by_default(option, DEFAULT_ENGINE)))]
struct MethodArguments {
    /// Scheme that installs the new routing: double, ordered (forwarding entries only, in proved waves), static or
    /// in-place; auto uses ordered if it is proved, else double.
    #[arg(long, value_name = "SCHEME", default_value_t = SchemeChoice::Only(Scheme::Double))]
    scheme: SchemeChoice,
    /// Run every scheme and compare the results.
    #[arg(long, conflicts_with = "scheme")]
    compare: bool,
    #[command(flatten)]
    engine: EngineArguments,
    #[command(flatten)]
    from: FromArguments,
    #[command(flatten)]
    to: ToArguments,
    #[command(flatten)]
    partition: PartitionArguments,
    #[command(flatten)]
    reserved: ReservedArguments,
    /// LID mask control; LIDs are renumbered if the capture's LMC is smaller [default: 1, or more if the engines need
    /// more LIDs]
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=7))]
    lmc: Option<u8>,
    /// Use all LIDs of an end port as paths, not just one half. Requires --steady, because a change needs a spare half.
    #[arg(long, requires = "steady")]
    undivided: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Several subnets (a list, docs/SUBNETS.md)")]
pub(super) struct SubnetsArguments {
    /// Subnet in which the change takes place [default: the one that has the element, else the first].
    #[arg(long, value_name = "NAME")]
    subnet: Option<String>,
    /// Fraction of packets with random destinations that are sent to other subnets [default: 0.1]
    #[arg(long, value_name = "SHARE")]
    cross: Option<f64>,
    #[command(flatten)]
    crossing: CrossingArguments,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Hardware")]
struct HardwareArguments {
    /// Data VLs in operation: 1, 2, 4, 8 or 15; fewer if a port has fewer [default: 4, or more if the engines need more
    /// virtual layers]
    #[arg(long)]
    vls: Option<u8>,
    /// Input buffer per lane, in credits of 64 bytes.
    #[arg(long, value_name = "CREDITS", default_value_t = SimConfig::default().buffer_credits)]
    buffer: u16,
    /// When a switch chooses a packet's output port and lane.
    #[arg(long, value_enum, default_value_t = LatchChoice::Arrival)]
    latch: LatchChoice,
    #[command(flatten)]
    turn_back: TurnBackArguments,
    /// Form of SL-to-VL tables that switches accept [default: as in the capture; plain for ibnetdiscover files].
    #[arg(long, value_enum, value_name = "FORM")]
    sl_to_vl: Option<SlToVlChoice>,
    /// Head-of-queue lifetime limit in nanoseconds; 0: none [default: 0; with --devices standard OpenSM's 1.07 s]
    #[arg(long, value_name = "NS")]
    hoq_life: Option<u64>,
    /// Switch lifetime limit in nanoseconds; 0: none [default: 0; with --devices standard OpenSM's 1.07 s]
    #[arg(long, value_name = "NS")]
    switch_life: Option<u64>,
    /// VLStallCount: consecutive packets of a lane discarded by the head-of-queue limit before the lane stalls and
    /// discards everything for eight times that limit; 0: never [default: 0; with --devices standard and that limit
    /// OpenSM's 7]
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u8).range(0..=7))]
    vl_stall: Option<u8>,
    /// How end ports react when told to move to the other half.
    #[arg(long, value_enum, default_value_t = PathCacheChoice::Told)]
    path_cache: PathCacheChoice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LatchChoice {
    /// On arrival (the hardest case).
    Arrival,
    /// When it reaches the head of the queue.
    Head,
    /// Again at every attempt to send.
    Grant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PathCacheChoice {
    /// Hosts move when one MAD names the half; SLID, DLID and SL follow.
    Told,
    /// Hosts never move. Use this to test that the drain does not complete.
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AccountingChoice {
    /// The paper's counting rules, with its figures for comparison.
    Paper,
    /// The plan's own counts, with plain and with optimised tables.
    Iba,
}

/// The report with what scheme `auto` would do.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct Beside<'a> {
    #[serde(flatten)]
    report: &'a SimulationReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    auto_instead: Option<&'a AutoInstead>,
}

/// The reports of `--compare`.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct Comparison<'a> {
    schema: &'static str,
    /// One of each scheme that ran, the one chosen by itself first.
    reports: &'a [SimulationReport],
    /// The schemes that cannot make this change, each with the reason.
    not_possible: &'a [String],
}

/// The report with the lines of `--accounting`.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct Accounted<'a> {
    #[serde(flatten)]
    report: &'a SimulationReport,
    accounting: Vec<scenario::Line>,
}

pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let (subnets, captured) = read_captured(&arguments.fabric, common)?;
    arguments.check(&subnets, common)?;
    let files = [
        ("--plan", arguments.plan.as_ref()),
        ("--certificate", arguments.certificate.as_ref()),
        ("--dot", arguments.dot.as_ref()),
        ("--report", arguments.report.as_ref()),
    ];
    let screen = Screen::beside(common, files)?;
    check_places(files)?;
    arguments.journal.iter().try_for_each(|folder| check_folder("--journal", folder))?;
    arguments.csv_folders().iter().try_for_each(|folder| check_folder("--csv", folder))?;
    let fabrics = subnets.subnets().map(|(_, subnet)| &subnet.fabric);
    let page = arguments.report.as_deref().map(|file| Page::of(file, fabrics)).transpose()?;
    let mut batch = Batch::default();
    arguments.csv.iter().try_for_each(|folder| batch.folder(folder))?;
    let (scenario, routings) = arguments.scenario(subnets, &captured, common)?;
    if arguments.method.compare {
        return run_compared(arguments, &routings, &scenario, screen, page, batch);
    }
    let kept = plan_files(arguments, &routings, &scenario)?;
    let outcome = match arguments.adversary {
        false => scenario::run(
            &scenario,
            routings.engines()?,
            &mut Progress::new(progress_name(&scenario), scenario.load.is_none()),
        ),
        true => adversary::run(&scenario, routings.engines()?, &mut Progress::new("adversary", false)),
    };
    // A refused change among several subnets has no report, but its evidence is still drawn.
    if let Err(ScenarioError::Refused(refusal)) = &outcome {
        let mut drawn = Batch::default();
        draw_across(arguments.dot.as_deref(), Some(refusal), &mut drawn)?;
        drawn.finish()?;
    }
    let mut report = outcome.map_err(|error| match &error {
        ScenarioError::Change(change) => Failure::undone(anyhow!("{error}{}", arguments.method.from.doubt(change))),
        _ => failure(error),
    })?;
    report.notes.extend(in_place_refused(&routings, &scenario, &report));
    tell_renumbered(&report);
    let loads = shown_loads(&mut report, arguments.traffic.sources.hot_links.into());
    // With --accounting that is not asked for, and planning again takes its time.
    let auto = arguments.accounting.is_none().then(|| auto_instead(&routings, &scenario, &report)).flatten();
    match arguments.accounting {
        None => {
            let line = auto.as_ref().map_or_else(String::new, report::auto_instead);
            let beside = Beside { report: &report, auto_instead: auto.as_ref() };
            screen.show(&beside, || report::simulation(&report) + &line)?;
        }
        Some(rules) => account(&routings, rules, &scenario, &report, screen)?,
    }
    let runs = std::slice::from_ref(&report);
    let shown = |page: &Page<'_>| report::simulation_page(runs, auto.as_ref(), &page.origin);
    page.iter().try_for_each(|page| page.stage(shown(page), &mut batch))?;
    arguments.csv.iter().try_for_each(|folder| stage_csv(&report, &loads, folder, &mut batch))?;
    kept.into_iter().try_for_each(|(file, text)| batch.stage_text(file, text))?;
    match &report.proof.whole {
        None => draw(arguments.dot.as_deref(), report.proof.evidence.as_ref(), &mut batch)?,
        Some(whole) => draw_across(arguments.dot.as_deref(), whole.evidence.as_ref(), &mut batch)?,
    }
    batch.finish()?;
    Ok(report.is_yes().into())
}

/// Simulates every scheme of the comparison.
fn run_compared(
    arguments: &Arguments,
    routings: &Routings,
    scenario: &Scenario,
    screen: Screen,
    page: Option<Page<'_>>,
    mut batch: Batch,
) -> Result<Answer, Failure> {
    let Compared { answer, reports, loads } =
        compare(routings, scenario, arguments.traffic.sources.hot_links.into(), screen)?;
    page.iter().try_for_each(|page| page.stage(report::simulation_page(&reports, None, &page.origin), &mut batch))?;
    if let Some(folder) = &arguments.csv {
        for (report, (choice, loads)) in reports.iter().zip(&loads) {
            let own = folder.join(choice.name());
            batch.folder(&own)?;
            stage_csv(report, loads, &own, &mut batch)?;
        }
    }
    batch.finish()?;
    if let Some(folder) = &arguments.csv {
        let absent = compared().filter(|choice| loads.iter().all(|(ran, _)| ran != choice));
        absent.into_iter().try_for_each(|choice| remove_left(&folder.join(choice.name())))?;
    }
    Ok(answer)
}

fn stage_csv(
    report: &SimulationReport,
    loads: &Periods<LinkLoads>,
    folder: &Path,
    batch: &mut Batch,
) -> Result<(), Failure> {
    let files = report::run_csv(report, loads).map_err(Failure::undone)?;
    assert!(files.iter().all(|(name, _)| report::RUN_FILES.contains(name)), "another run could not remove them");
    files.into_iter().try_for_each(|(name, text)| batch.stage_text(&folder.join(name), text))?;
    let of = FolderOf {
        schema: "reconfig.run/1",
        command: command(),
        version: env!("CARGO_PKG_VERSION"),
        scheme: report.scheme,
        auto: report.auto,
        seed: report.seed,
        trace_hash: format!("{:016x}", report.trace_hash),
        settings: &report.settings,
    };
    let text = serde_json::to_string_pretty(&of).map_err(Failure::undone)?;
    batch.stage_text(&folder.join("run.json"), text + "\n")
}

/// The run that files of a folder are of, and how to make it again.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct FolderOf<'a> {
    schema: &'static str,
    command: String,
    version: &'static str,
    scheme: Scheme,
    auto: bool,
    seed: u64,
    trace_hash: String,
    settings: &'a Settings,
}

/// Removes the folder of a scheme that did not run, which an earlier comparison left, so that its files do not pass for
/// those of this one. A folder that holds anything else stays.
fn remove_left(folder: &Path) -> Result<(), Failure> {
    if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    let cannot = || format!("cannot remove {}, which an earlier run has left", folder.display());
    let entries: Result<Vec<fs::DirEntry>, std::io::Error> = fs::read_dir(folder).and_then(Iterator::collect);
    let entries = entries.with_context(cannot).map_err(Failure::undone)?;
    let is_own = |entry: &fs::DirEntry| {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        is_file && entry.file_name().to_str().is_some_and(|name| report::RUN_FILES.contains(&name))
    };
    if !entries.iter().all(is_own) {
        remark(&format!("{} is of an earlier run, and stays since it holds other files too", folder.display()));
        return Ok(());
    }
    let removed = entries.iter().try_for_each(|entry| fs::remove_file(entry.path()));
    removed.and_then(|()| fs::remove_dir(folder)).with_context(cannot).map_err(Failure::undone)
}

/// Says which ports have other LIDs; programs have that among the notes.
fn tell_renumbered(report: &SimulationReport) {
    let notes = report.renumbering.iter();
    notes.for_each(|note| remark(&format!("{note}; --csv FOLDER lists them")));
}

/// The loads that the run has, of which only the busiest are reported.
fn shown_loads(report: &mut SimulationReport, most: usize) -> Periods<LinkLoads> {
    let loads = report.links.take().unwrap_or_default();
    let shown = |loads: &LinkLoads| LinkLoads { busiest: loads.busiest.iter().take(most).cloned().collect(), ..*loads };
    let Periods { before, during, after } = &loads;
    report.links = (most > 0).then(|| Periods { before: shown(before), during: shown(during), after: shown(after) });
    loads
}

/// The label of the progress bar.
fn progress_name(scenario: &Scenario) -> &'static str {
    match (scenario.subnets.len() > 1, scenario.auto) {
        (true, _) => "subnets",
        _ if matches!(scenario.change, ScenarioChange::Nothing) => "steady",
        (false, true) => SchemeChoice::Auto.name(),
        (false, false) => scenario.scheme.name(),
    }
}

/// The routings: engines by name, or, before the change, tables that are already in force.
#[derive(Clone)]
struct Routings {
    engine: EngineArguments,
    running: Option<Imported>,
    to: Option<Imported>,
}

impl Routings {
    fn engines(&self) -> Result<Engines, Failure> {
        let mut engines = self.engine.engines_or(&[DEFAULT_ENGINE])?;
        if let Some(running) = &self.running {
            engines.before = Arc::new(running.clone());
        }
        if let Some(to) = &self.to {
            engines.after = Arc::new(to.clone());
        }
        Ok(engines)
    }
}

/// A file and its content.
type Kept<'a> = (&'a PathBuf, String);

/// The plan that is run and the certificate of its proof, if requested.
fn plan_files<'a>(
    arguments: &'a Arguments,
    routings: &Routings,
    scenario: &Scenario,
) -> Result<Vec<Kept<'a>>, Failure> {
    let Some(file) = &arguments.plan else { return Ok(Vec::new()) };
    let vetted = scenario::plan(scenario, routings.engines()?).map_err(failure)?;
    let proved = vetted.refusal().is_none();
    if !proved {
        remark("the plan was refused: it is written for study, with the refusal as a note");
    }
    let text = vetted.noted().to_json();
    let certificate = match &arguments.certificate {
        Some(to) if proved => Some((to, certified(vetted.plan(), &text)?)),
        Some(_) => {
            remark("the plan was refused: there is no certificate to write");
            None
        }
        None => None,
    };
    Ok([Some((file, text)), certificate].into_iter().flatten().collect())
}

fn simulate(routings: &Routings, scenario: &Scenario, mut progress: Progress) -> Result<SimulationReport, Failure> {
    scenario::run(scenario, routings.engines()?, &mut progress).map_err(failure)
}

/// Settings that contradict each other are usage errors; any other error means that the change cannot be made.
fn failure(error: ScenarioError) -> Failure {
    if is_the_users(&error) { Failure::input(error) } else { Failure::undone(error) }
}

fn is_the_users(error: &ScenarioError) -> bool {
    use SimError::{NoConnection, NoSuchRank, Setting, TooFewLanes};
    if let ScenarioError::Subnet { source, .. } = error {
        // The same mistake has the same exit code in one fabric and among several.
        return is_the_users(source);
    }
    matches!(
        error,
        ScenarioError::Sim(Setting { .. } | NoSuchRank { .. } | TooFewLanes { .. } | NoConnection { .. })
            | ScenarioError::NoSuchSwitch { .. }
            | ScenarioError::NoCable { .. }
            | ScenarioError::Levels(_)
            | ScenarioError::Lanes { .. }
            | ScenarioError::SeveralNodes { .. }
            | ScenarioError::Unsupported(_)
            | ScenarioError::BringUp(BringUpError::Manager { .. } | BringUpError::Fit(_))
    )
}

/// The change that scheme `auto` would make instead of the Double Scheme; `None` if another scheme was requested,
/// nothing changed, or several subnets were simulated.
fn auto_instead(routings: &Routings, scenario: &Scenario, report: &SimulationReport) -> Option<AutoInstead> {
    let several = scenario.subnets.len() > 1;
    if scenario.scheme != Scheme::Double || scenario.auto || several || !report.has_change() {
        return None;
    }
    let auto = Scenario { auto: true, ..scenario.clone() };
    let prepared = routings.engines().and_then(|engines| scenario::prepared(&auto, engines).map_err(failure));
    Some(match prepared {
        Ok(prepared) => AutoInstead::planned(&prepared),
        Err(failure) => AutoInstead::NotPossible { error: failure.text() },
    })
}

/// The objection to rewriting tables in place as other managers do, if scheme `auto` used forwarding entries in proved
/// waves; `None` if there is none, or the fabric is large.
fn in_place_refused(routings: &Routings, scenario: &Scenario, report: &SimulationReport) -> Option<String> {
    if !scenario.auto
        || report.scheme != Scheme::Ordered
        || scenario.subnets.len() > 1
        || !is_soon_judged(scenario.fabric())
    {
        return None;
    }
    let in_place = Scenario { auto: false, scheme: Scheme::InPlace, ..scenario.clone() };
    let judged = scenario::plan(&in_place, routings.engines().ok()?).ok()?;
    judged.refusal().map(|refusal| format!("scheme {} was passed over: {refusal}", Scheme::InPlace))
}

/// What a comparison runs, the scheme that is chosen by itself first.
fn compared() -> impl Iterator<Item = SchemeChoice> {
    [SchemeChoice::Auto].into_iter().chain(Scheme::ALL.iter().copied().map(SchemeChoice::Only))
}

/// The runs of a comparison, and for each what was asked for and the loads of all links.
struct Compared {
    answer: Answer,
    reports: Vec<SimulationReport>,
    loads: Vec<(SchemeChoice, Periods<LinkLoads>)>,
}

/// Runs every scheme, first the one that is chosen by itself. The runs share nothing, so each has its own thread. The
/// answer is that of the first; the table exists to show what the others cost.
fn compare(routings: &Routings, scenario: &Scenario, hot_links: usize, screen: Screen) -> Result<Compared, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(Failure::undone)?;
    let start = |choice: SchemeChoice| {
        let scenario = Scenario { scheme: choice.scheme(), auto: choice.is_auto(), ..scenario.clone() };
        let routings = routings.clone();
        runtime.spawn_blocking(move || {
            let progress = Progress::lines(choice.name(), scenario.load.is_none());
            simulate(&routings, &scenario, progress)
        })
    };
    let runs: Vec<_> = compared().map(|choice| (choice, start(choice))).collect();
    let waiting = Waiting::at("running the change by each scheme");
    let (reports, loads, absent) = runtime.block_on(async {
        let (mut reports, mut loads, mut absent) = (Vec::with_capacity(runs.len()), Vec::new(), Vec::new());
        for (scheme, run) in runs {
            match run.await.map_err(Failure::undone)? {
                Ok(mut report) => {
                    loads.push((scheme, shown_loads(&mut report, hot_links)));
                    reports.push(report);
                }
                // It is the answer; each of the others needs something that a subnet may lack.
                Err(failure) if scheme == SchemeChoice::Auto => return Err(failure),
                Err(failure) => absent.push(format!("{scheme}: not possible: {}", failure.text())),
            }
        }
        Ok::<_, Failure>((reports, loads, absent))
    })?;
    drop(waiting);
    absent.iter().for_each(|why| remark(why));
    let comparison =
        Comparison { schema: "reconfig.simulation-comparison/1", reports: &reports, not_possible: &absent };
    screen.show(&comparison, || report::comparison(&reports))?;
    Ok(Compared { answer: reports.first().is_some_and(SimulationReport::is_yes).into(), reports, loads })
}

fn account(
    routings: &Routings,
    rules: AccountingChoice,
    scenario: &Scenario,
    run: &SimulationReport,
    screen: Screen,
) -> Result<(), Failure> {
    let rules = match rules {
        AccountingChoice::Paper => Accounting::Paper,
        AccountingChoice::Iba => Accounting::Iba,
    };
    let lines = scenario::accounting(rules, scenario, routings.engines()?, run).map_err(failure)?;
    let accounted = Accounted { report: run, accounting: lines };
    screen.show(&accounted, || report::simulation(run) + "\n" + &report::accounting(&accounted.accounting))
}

impl Arguments {
    /// Refuses options that do not apply to what the file holds: one fabric or a list.
    fn check(&self, subnets: &Subnets, common: Common) -> Result<(), Failure> {
        let (element, between) = (&self.change.element, &self.subnets);
        let for_several = [
            (element.remove_router.is_some(), "--remove-router"),
            (between.subnet.is_some(), "--subnet"),
            (between.cross.is_some(), "--cross"),
        ];
        let for_several = [&for_several[..], &between.crossing.given()].concat();
        let for_one = [
            (element.adds(), "--add-switch, --add-link, --add-host or --move-cable"),
            (element.spreads(), "--at"),
            (self.management.standby.is_some(), "--standby"),
            (element.fabric_after.is_some(), "a fabric after the change"),
            (self.method.compare, "--compare"),
            (self.adversary, "--adversary"),
            (self.accounting.is_some(), "--accounting"),
            (self.plan.is_some(), "--plan"),
            (self.journal.is_some(), "--journal"),
            (self.method.from.is_given(), "tables that run already"),
            (self.method.to.is_given(), "tables that are to run"),
            (self.traffic.traffic == WORST, "--traffic worst"),
        ];
        check_options(subnets, &for_several, &for_one)?;
        self.traffic.check()?;
        self.devices.check(self.devices())?;
        self.traffic.sources.check_compared(self.method.compare && !common.json)
    }

    /// The folder for CSV files, and those in it that schemes may have.
    fn csv_folders(&self) -> Vec<PathBuf> {
        let Some(folder) = &self.csv else { return Vec::new() };
        let own = compared().filter(|_| self.method.compare).map(|choice| folder.join(choice.name()));
        [folder.clone()].into_iter().chain(own).collect()
    }

    /// The scenario, and what routes in it.
    fn scenario(&self, subnets: Subnets, captured: &Captured, common: Common) -> Result<(Scenario, Routings), Failure> {
        let running = match subnets.len() {
            1 => self.method.from.read(subnets.fabric(SubnetId(0)))?.map(|(running, _)| running),
            _ => None,
        };
        let between = &self.subnets;
        let NamedChange { subnets, change, later, notes } = self.change.of(subnets, captured, between, common)?;
        let to = self.tables_after(subnets.fabric(SubnetId(0)), &change, &later, &notes)?;
        // Traffic names senders by rank: all end ports of one fabric, or the hosts of a list, without router ports.
        let ends = match subnets.len() {
            1 => subnets.fabric(SubnetId(0)).end_ports().count(),
            _ => subnets.subnets().map(|(id, _)| subnets.hosts(id).count()).sum(),
        };
        let connections = self.traffic.connections(&subnets)?;
        let base = Scenario { devices: self.devices(), notes, later, ..Scenario::new(subnets, change) };
        let standby = self.management.standby(&base)?;
        let sm = match (&self.management.sm, &base.change) {
            (None, _) => None,
            (Some(name), ScenarioChange::In { subnet, .. }) => Some(find_node(base.subnets.fabric(*subnet), name)?),
            (Some(_), _) => {
                return Err(Failure::input(anyhow!("--sm names the manager of the one subnet that changes")));
            }
        };
        let scenario = Scenario {
            sm,
            standby,
            rule: between.crossing.rule(),
            cross: between.cross.unwrap_or(base.cross),
            hop_limit: between.crossing.hop_limit(),
            part_enforce: between.crossing.part_enforce,
            departure: if self.change.planned { Departure::Planned } else { Departure::Sudden },
            cut_off_meant: self.change.allow_cut_off,
            scheme: self.method.scheme.scheme(),
            auto: self.method.scheme.is_auto(),
            policy: Policy {
                partition: self.method.partition.chosen(),
                turned_back: self.hardware.turn_back.chosen(),
                reserved_sl: self.method.reserved.chosen(),
                ..base.policy
            },
            lmc: choice::lmc(self.method.lmc.unwrap_or(1))?,
            undivided: self.method.undivided,
            vls_fixed: self.hardware.vls.is_some(),
            lmc_fixed: self.method.lmc.is_some(),
            optimised_sl_to_vl: self.hardware.sl_to_vl.map(|form| form == SlToVlChoice::Optimised),
            load: self.traffic.load,
            sim: self.sim_config(ends)?,
            worst_traffic: self.traffic.traffic == WORST,
            traffic_name: super::permutation::NAMED.into_iter().find(|name| *name == self.traffic.traffic),
            engine_seed: self.method.engine.engine_seed,
            hot_links: if self.csv.is_some() { usize::MAX } else { self.traffic.sources.hot_links.into() },
            connections,
            detection: self.management.detection()?,
            computing: self.management.compute_time,
            poll_silence_ns: self.management.poll_silence.map(|us| us * 1_000),
            journal: self.journal.as_ref().map(|folder| folder.join("simulate.journal")),
            warm_up_ns: self.traffic.warm_up * 1_000,
            before_ns: self.traffic.before * 1_000,
            after_ns: self.traffic.after * 1_000,
            ..base
        };
        let routings = Routings { engine: self.method.engine.clone(), running, to };
        Ok((scenario.with_device_settings(self.device_settings()), routings))
    }

    /// The target tables of the change, if files give them, for the remaining part of `whole`. `notes` name LIDs on
    /// which the captures disagree.
    fn tables_after(
        &self,
        whole: &Fabric,
        change: &ScenarioChange,
        later: &[LaterEvent],
        notes: &[String],
    ) -> Result<Option<Imported>, Failure> {
        let (to, ScenarioChange::In { elements, .. }) = (&self.method.to, change) else { return Ok(None) };
        if !to.is_given() {
            return Ok(None);
        }
        let refused = |why: &str| Err(Failure::input(anyhow!("--to-fdbs, --to-lfts: {why}")));
        if self.method.compare {
            return refused("not with --compare, some of whose schemes end with other tables");
        }
        if !later.is_empty() {
            return refused("for a change at once: cables that are plugged in later, and --at, need another one");
        }
        if elements.contains(&Element::Root) {
            return refused("name the switch that leaves, in place of --remove-root");
        }
        if elements.is_empty() && !self.change.planned {
            return refused("where nothing leaves and nothing comes, the change is planned: add --planned");
        }
        let no_root = || unreachable!("no element is the root");
        let moves = Moves::of(elements, whole, no_root).map_err(Failure::input)?;
        to.read(self.method.scheme, &moves.leaving.taken_from(whole), notes.first().map(String::as_str))
    }

    fn devices(&self) -> DeviceProfile {
        self.devices.devices_or(DeviceProfile::Agents)
    }

    /// The profile, and the options given with it.
    fn device_settings(&self) -> DeviceSettings {
        let own = self.devices.settings(self.devices());
        let (hardware, management) = (&self.hardware, &self.management);
        DeviceSettings {
            switch_life_ns: hardware.switch_life.unwrap_or(own.switch_life_ns),
            hoq_life_ns: hardware.hoq_life.unwrap_or(own.hoq_life_ns),
            smp_time_ns: management.smp_time,
            window: management.window.map(|window| window as usize).or(own.window),
            smp_timeout_ns: management.smp_timeout.map_or(own.smp_timeout_ns, |us| us * 1_000),
            smp_retries: management.smp_retries.unwrap_or(own.smp_retries),
            barrier_timeout_ns: management.barrier_timeout.map_or(own.barrier_timeout_ns, |ms| ms * 1_000_000),
            ..own
        }
    }

    fn sim_config(&self, ends: usize) -> Result<SimConfig, Failure> {
        let (hardware, management) = (&self.hardware, &self.management);
        Ok(SimConfig {
            seed: self.seed,
            data_vls: choice::data_vls(hardware.vls.unwrap_or(SimConfig::default().data_vls))?,
            buffer_credits: hardware.buffer,
            latch: hardware.latch.into(),
            discards_turned_back: hardware.turn_back.are_discarded(),
            packet_bytes: self.traffic.packet_bytes.unwrap_or(SimConfig::default().packet_bytes),
            send_queue: self.traffic.send_queue.unwrap_or(SimConfig::default().send_queue),
            traffic: self.traffic.pattern(ends)?,
            dispersal: self.traffic.sources.dispersal(),
            message_packets: self.traffic.sources.message,
            arrivals: self.traffic.sources.arrivals,
            message_mix: self.traffic.sources.message_mix.clone(),
            vl_stall_count: hardware.vl_stall.unwrap_or(match self.devices() {
                // Without a head-of-queue limit nothing is discarded in a row.
                DeviceProfile::Standard if hardware.hoq_life != Some(0) => 7,
                DeviceProfile::Standard | DeviceProfile::Agents => 0,
            }),
            sma_times: management.smp_time_of.clone(),
            smi_processor_ns: management.smi_processor,
            vl15_buffer: management.vl15_buffer,
            count_order: self.traffic.sources.counts_order(),
            replies: self.traffic.replies,
            monitor: self.traffic.monitor(),
            smp_loss: management.smp_loss,
            smp_duplicate: management.smp_duplicates,
            smp_delay_ns: management.smp_delay,
            sources_move: hardware.path_cache == PathCacheChoice::Told,
            ..SimConfig::default()
        })
    }
}

impl From<LatchChoice> for Latch {
    fn from(choice: LatchChoice) -> Latch {
        match choice {
            LatchChoice::Arrival => Latch::Arrival,
            LatchChoice::Head => Latch::Head,
            LatchChoice::Grant => Latch::Grant,
        }
    }
}
