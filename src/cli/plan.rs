//! `reconfig plan`: a proved plan for the change between two captures, or for removals from one.

use super::addition::{AdditionArguments, Named};
use super::choice::{
    self, DeviceArguments, EngineArguments, FromArguments, PartitionArguments, RateArguments, ReservedArguments,
    SchemeChoice, SlToVlChoice, ToArguments, TurnBackArguments,
};
use super::element::find_node;
use super::evidence::EvidenceArguments;
use super::input::{Capture, Captured, only, read_after, read_captured};
use super::outcome::{Answer, Failure};
use super::output::{self, Batch, Screen, check_places};
use super::page::Page;
use super::progress::Waiting;
use super::removal::RemovalArguments;
use super::{Common, FabricReading};
use crate::report::{self, PlanReport};
use anyhow::anyhow;
use reconfig::change::{self, BringUpError, CaptureSettings, Captures, CapturesError, Departure, Drawn};
use reconfig::fabric::difference::{Recabling, UnionError, union, union_recabled};
use reconfig::fabric::{Fabric, PortId};
use reconfig::plan::Plan;
use reconfig::routing::{DEFAULT_ENGINE, Imported};
use reconfig::scenario::{DeviceReport, Element, Moves};
use reconfig::subnet::{DeviceProfile, DeviceSettings};
use reconfig::verify::{self, Binding};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nodes and ports of the captures are matched by GUID and port number, nodes without GUIDs by name. Unless tables are given (--from-fdbs, \
--from-lfts), the tables in force are assumed to be the engine's for BEFORE. A plan that cannot be proved is not written; --allow-unproved \
writes one of scheme static or in-place unproved, and marks it so.

Examples:
  reconfig plan before.ibnetdiscover after.ibnetdiscover -o change.plan --certificate change.certificate
  reconfig plan before.lst after.lst --sudden --sm 'node-17 HCA-1'
  reconfig plan before.lst --remove-switch spine-1 --remove-switch spine-2 -o change.plan
  reconfig plan before.lst after.lst --json | jq '.plan.waves[] | [.name, .smps]'

Exit codes: 0 proved, or nothing to change; 1 the plan was refused, or cuts off end ports; 2 wrong usage or unreadable input; 3 the change \
cannot be planned at all.")]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
#[command(mut_arg("devices", |option| choice::by_default(option, "agents")))]
#[command(mut_arg("drain", |option| choice::by_default(option, "token; with --devices standard lifetime")))]
#[command(mut_arg("sources", |option| choice::by_default(option, "told; with --devices standard fence")))]
#[command(mut_arg("window", |option| choice::by_default(option, "one per device; with --devices standard 16")))]
#[command(mut_arg("engine", |option| choice::by_default(option, DEFAULT_ENGINE)))]
pub(super) struct Arguments {
    /// The fabric before: a file in any form of docs/READING.md; `-` is standard input.
    before: PathBuf,
    /// The fabric after; alternatively, options name what is removed or added.
    #[arg(group = "what", conflicts_with_all = ["removal", "addition"])]
    after: Option<PathBuf>,
    #[command(flatten)]
    removal: RemovalArguments,
    #[command(flatten)]
    addition: AdditionArguments,
    /// Write the plan to FILE, whole or not at all; by default the plan is only proved and reported.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the certificate of the plan's proof to FILE; independent checkers can verify it (docs/CERTIFICATE.md).
    #[arg(long, value_name = "FILE", requires = "output")]
    certificate: Option<PathBuf>,
    /// Write the result to FILE as a self-contained HTML page.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Elements missing from AFTER are removed after the routing has changed (the default; the plan halts if they go
    /// earlier).
    #[arg(long, conflicts_with = "sudden")]
    planned: bool,
    /// Elements missing from AFTER have already failed: nothing is written to them.
    #[arg(long)]
    sudden: bool,
    /// Allow the planned change to cut off end ports that AFTER still has; otherwise such a change is refused, and its
    /// plan is not written.
    #[arg(long, conflicts_with = "sudden")]
    allow_cut_off: bool,
    /// Scheme that changes the routing: double, ordered (forwarding entries only, in proved waves), static or in-place;
    /// auto uses ordered if it is proved, else double.
    #[arg(long, value_name = "SCHEME", default_value_t = SchemeChoice::Auto)]
    scheme: SchemeChoice,
    #[command(flatten)]
    engine: EngineArguments,
    #[command(flatten)]
    from: FromArguments,
    #[command(flatten)]
    to: ToArguments,
    /// LID mask control; LIDs are renumbered if the captures' LMC is smaller [default: 1, or more if the engines need
    /// more LIDs]
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=7))]
    lmc: Option<u8>,
    /// Data VLs in operation: 1, 2, 4, 8 or 15; fewer if a port has fewer [default: 4, or more if the engines need more
    /// virtual layers]
    #[arg(long)]
    vls: Option<u8>,
    /// Form of SL-to-VL tables that switches accept [default: as in the captures; plain for ibnetdiscover files].
    #[arg(long, value_enum, value_name = "FORM")]
    sl_to_vl: Option<SlToVlChoice>,
    #[command(flatten)]
    partition: PartitionArguments,
    #[command(flatten)]
    reserved: ReservedArguments,
    #[command(flatten)]
    turn_back: TurnBackArguments,
    /// Node that runs the subnet manager [default: the node that made the capture, or the first host that stays].
    #[arg(long, value_name = "NODE")]
    sm: Option<String>,
    #[command(flatten)]
    rate: RateArguments,
    /// Write a plan of scheme static or in-place even if it was refused.
    #[arg(long, requires = "output")]
    allow_unproved: bool,
    #[command(flatten)]
    devices: DeviceArguments,
    #[command(flatten)]
    evidence: EvidenceArguments,
    #[command(flatten)]
    pub(super) reading: FabricReading,
}

pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let (evidence, page) = (arguments.evidence.file(), arguments.report.as_ref());
    let files = [
        ("--output", arguments.output.as_ref()),
        ("--certificate", arguments.certificate.as_ref()),
        ("--dot", evidence),
        ("--report", page),
    ];
    let screen = Screen::beside(common, files)?;
    check_places(files)?;
    let mut batch = Batch::default();
    let before = arguments.before(common)?;
    let page = page.map(|file| Page::of(file, [&before.0])).transpose()?;
    let (report, drawing) = match arguments.draw(before, common)? {
        Ok((drawn, then)) => {
            if then.is_some() && arguments.output.as_ref().is_some_and(|file| output::is_stdout(file)) {
                let why = "a cable that moves takes two plans, and both would go to standard output";
                return Err(Failure::input(anyhow!("--output -: {why}: give a name")));
            }
            let engine = drawn.prepared.routed_by.engine;
            let second = |file: &PathBuf| output::numbered(file, 2);
            let files = [&arguments.output, &arguments.certificate].map(|file| file.as_ref().map(second));
            let then = then.map(|then| arguments.keep(&then, engine, files.each_ref().map(Option::as_ref), &mut batch));
            let then = then.transpose()?.map(Box::new);
            let files = [&arguments.output, &arguments.certificate].map(Option::as_ref);
            let report = arguments.keep(&drawn, arguments.engine_in_force(), files, &mut batch)?;
            // For a refusal, the evidence is drawn.
            let is_drawn = arguments.evidence.file().is_some() && report.refusal.is_none();
            let drawing = is_drawn.then(|| drawn.prepared.plan.plan().dependencies_dot());
            (PlanReport { then, ..report }, drawing)
        }
        Err(without) => (*without, None),
    };
    if report.unplanned.is_none() {
        arguments.evidence.draw_either(report.refusal.as_ref(), drawing, &mut batch)?;
    }
    if let Some(page) = page {
        page.stage(report::plan_page(&report, &page.origin), &mut batch)?;
    }
    batch.finish()?;
    if let Some(why) = &report.unplanned {
        if screen.is_json() {
            screen.show(&report, String::new)?;
        }
        return Err(Failure::undone(anyhow!("{why}")));
    }
    screen.show(&report, || report::plan(&report))?;
    arguments.evidence.show(report.refusal.as_ref(), screen)?;
    Ok(report.is_yes().into())
}

/// A drawn plan, with the one that follows once cables are plugged in where others were; or the report that there is
/// nothing to change, or of a refusal.
type Outcome = Result<(Drawn, Option<Drawn>), Box<PlanReport>>;

impl Arguments {
    fn devices(&self) -> DeviceProfile {
        self.devices.devices_or(DeviceProfile::Agents)
    }

    /// The settings of the devices that the plan is for.
    fn device_settings(&self) -> DeviceSettings {
        self.rate.over(self.devices.settings(self.devices()))
    }

    /// The name of the engine that made the tables in force.
    fn engine_in_force(&self) -> &'static str {
        if self.from.is_given() { Imported::NAME } else { self.engine.name_or(DEFAULT_ENGINE) }
    }

    fn departure(&self) -> Departure {
        if self.sudden { Departure::Sudden } else { Departure::Planned }
    }

    /// The fabric before, as captured.
    fn before(&self, common: Common) -> Result<(Fabric, Captured), Failure> {
        let (subnets, captured) = read_captured(&self.before, common)?;
        let before = only(subnets, &self.before, ", but one fabric is needed here: name a file that it lists")?.fabric;
        Ok((before, captured))
    }

    /// The fabric after, and the cables that are plugged in once the change has been made.
    fn after(
        &self,
        before: &Fabric,
        captured: &Captured,
        common: Common,
    ) -> Result<(Fabric, Vec<(PortId, PortId)>), Failure> {
        Ok(match &self.after {
            Some(file) => {
                let after = read_after(Capture { fabric: before, known: captured }, file, common)?;
                let Recabling { union, plugged } = union_recabled(before, &after).map_err(not_united)?;
                // What is to leave keeps its ports until the change has been made, so nothing can be cabled to them.
                let pulled = |port: PortId| after.port_named(union.fabric.port_name(port));
                let ports: Vec<PortId> = plugged.iter().filter_map(|&(port, _)| pulled(port)).collect();
                (after.without_links(&ports), plugged)
            }
            None => {
                let Named { fabric, elements, plugged } = self.addition.with(&self.removal, before)?;
                let gone: Vec<Element> = elements.into_iter().map(|(_, own)| own).filter(|own| !own.comes()).collect();
                let no_root = || unreachable!("no option here names a root");
                let moves = Moves::of(&gone, &fabric, no_root).map_err(Failure::input)?;
                (moves.leaving.taken_from(&fabric), plugged)
            }
        })
    }

    fn draw(&self, (before, captured): (Fabric, Captured), common: Common) -> Result<Outcome, Failure> {
        let (after, plugged) = self.after(&before, &captured, common)?;
        let sm = self.sm.as_ref().map(|name| find_node(&before, name)).transpose()?;
        let mut engines = self.from.engines(&before, self.engine.engines_or(&[DEFAULT_ENGINE])?)?;
        if let Some(tables) = self.tables_after(&before, &after)? {
            engines.after = Arc::new(tables);
        }
        let devices = self.devices();
        self.devices.check(devices)?;
        let settings = self.devices.settings(devices);
        let waiting = Waiting::at("routing, planning and proving the change");
        let captures = Captures {
            before: &before,
            after: &after,
            departure: self.departure(),
            settings: CaptureSettings {
                optimised_sl_to_vl: self.sl_to_vl.map(|form| form == SlToVlChoice::Optimised),
                ..choice::capture_settings(self.lmc, self.vls, self.reserved)?
            },
            vls_fixed: self.vls.is_some(),
            lmc_fixed: self.lmc.is_some(),
            sm,
            engine: &*engines.before,
            engine_after: &*engines.after,
            scheme: self.scheme.scheme(),
            auto: self.scheme.is_auto(),
            settle_ns: settings.sources.settle_ns(),
            policy: choice::policy(settings, self.partition, self.reserved, self.turn_back),
        };
        let drawn = change::draw(&captures).and_then(|drawn| {
            let next = |first: &Drawn| change::draw_next(&captures, first, &plugged);
            let then = drawn.as_ref().filter(|_| !plugged.is_empty()).map(next).transpose()?;
            Ok(drawn.map(|drawn| (drawn, then)))
        });
        drop(waiting);
        match drawn {
            Ok(Some(drawn)) => Ok(Ok(drawn)),
            Ok(None) => {
                let report = PlanReport::nothing_to_change(self.departure(), self.engine_in_force());
                let notes = change::renumbered(&union(&before, &after).map_err(not_united)?);
                Ok(Err(Box::new(PlanReport { notes: notes.into_iter().collect(), ..report })))
            }
            Err(CapturesError::Change(error)) => {
                let (departure, engine) = (self.departure(), self.engine_in_force());
                let refused = PlanReport::refused(&error, departure, engine, self.device_settings().rate());
                let mut report = refused.unwrap_or_else(|| PlanReport::not_planned(&error, departure, engine));
                if let Some(refusal) = &mut report.refusal {
                    refusal.text += self.from.doubt(&error);
                }
                Ok(Err(Box::new(report)))
            }
            Err(error) => Err(failure(error)),
        }
    }

    /// The target tables of the change, if files give them: in the indices of both captures together, and for the LIDs
    /// before, which the plan keeps.
    fn tables_after(&self, before: &Fabric, after: &Fabric) -> Result<Option<Imported>, Failure> {
        if !self.to.is_given() {
            return Ok(None);
        }
        let union = union(before, after).map_err(not_united)?;
        self.to.read(self.scheme, &union.after(), change::renumbered(&union).as_deref())
    }

    /// Stages the plan if it may be written, and reports it.
    fn keep(
        &self,
        drawn: &Drawn,
        engine: &'static str,
        [output, certificate]: [Option<&PathBuf>; 2],
        batch: &mut Batch,
    ) -> Result<PlanReport, Failure> {
        let drawn_up = PlanReport::drawn(drawn, self.departure(), engine, self.device_settings().rate());
        let in_force = self.device_settings();
        let plan = drawn.prepared.plan.plan();
        let report = PlanReport {
            cut_off_meant: self.allow_cut_off,
            devices: Some(DeviceReport::new(self.devices(), in_force)),
            waits_ns: plan.all_waits_ns(in_force.switch_life_ns, in_force.sources.settle_ns()),
            ..drawn_up
        };
        let may_stand = report.refusal.is_none() || self.allow_unproved;
        let file = output.filter(|_| may_stand && report.strands().is_none());
        let Some(file) = file else { return Ok(report) };
        let text = drawn.plan().to_json();
        let certificate = certificate.filter(|_| report.is_yes());
        let certified = certificate.map(|to| certified(&drawn.plan(), &text).map(|text| (to, text))).transpose()?;
        batch.stage_text(file, text)?;
        if let Some((file, text)) = certified {
            batch.stage_text(file, text)?;
        }
        let name = |file: &PathBuf| output::name_of(file);
        Ok(PlanReport { file: Some(name(file)), certificate: certificate.map(name), ..report })
    }
}

/// The certificate of a plan whose file is `text`.
pub(super) fn certified(plan: &Plan, text: &str) -> Result<String, Failure> {
    let binding = plan.binding(Binding::digest(text.as_bytes()));
    match verify::prove_certified(plan.clone()) {
        Ok((_, Some(certificate))) => Ok(certificate.to_text(&binding)),
        Ok((_, None)) => Err(Failure::undone(anyhow::anyhow!("the plan has no waves: there is nothing to certify"))),
        Err((_, refusal)) => Err(Failure::undone(refusal)),
    }
}

/// Captures that contradict each other are wrong input; others give a change that has to be made in two steps.
pub(super) fn not_united(error: UnionError) -> Failure {
    match error {
        UnionError::Redefined { .. } | UnionError::PortsGrew { .. } | UnionError::Build(_) => {
            Failure::input(CapturesError::Union(error))
        }
        UnionError::Recabled { .. } => Failure::undone(CapturesError::Union(error)),
    }
}

/// Errors in the user's names or captures are usage errors; any other means that the change cannot be planned.
fn failure(error: CapturesError) -> Failure {
    match error {
        CapturesError::Union(error) => not_united(error),
        CapturesError::BringUp(BringUpError::Manager { .. }) => Failure::input(error),
        _ => Failure::undone(error),
    }
}
