//! `reconfig lids`: counts the LIDs that an engine's routing needs, by destination and heuristic.

use super::choice;
use super::input::read_fabric;
use super::outcome::{Answer, Failure};
use super::output::{self, Batch, Screen, check_places};
use super::route::EngineChoice;
use super::{Common, FabricReading};
use crate::report::{self, LidCount, LidReport, PortNeed};
use reconfig::change::{self, CaptureSettings, Computed};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::Lmc;
use reconfig::lid::{Guid2Lid, Heuristic};
use reconfig::routing::{Demand, MOST_LAYERS};
use reconfig::scenario::FabricSize;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Engines that route by source need several LIDs per destination, because diverging paths cannot share one. A heuristic \
minimises their number; each half of a port's LIDs holds that many, rounded up to a power of two. See docs/LIDS.md.

Examples:
  reconfig lids fabric.ibnetdiscover --engine up-down-random
  reconfig lids fabric.ibnetdiscover --engine shortest-widest --compare
  reconfig lids fabric.ibnetdiscover --engine up-down-random --heuristic color/L --ports --guid2lid guid2lid

Exit codes: 0 done; 2 wrong usage or unreadable input; 3 the engine cannot route this fabric, there are too few LIDs, or the \
file cannot be written.")]
pub(super) struct Arguments {
    /// The fabric: a file in any form of docs/READING.md; `-` is standard input.
    fabric: PathBuf,
    #[command(flatten)]
    choice: EngineChoice,
    /// Try every heuristic and compare the results.
    #[arg(long)]
    compare: bool,
    /// Show a row for each end port (always with --json).
    #[arg(long)]
    ports: bool,
    /// Write LIDs for two halves, each port with its own LMC, in the format of OpenSM's guid2lid.
    #[arg(long, value_name = "FILE")]
    guid2lid: Option<PathBuf>,
    #[command(flatten)]
    pub(super) reading: FabricReading,
}

pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let files = [("--guid2lid", arguments.guid2lid.as_ref())];
    let screen = Screen::beside(common, files)?;
    check_places(files)?;
    let fabric = read_fabric(&arguments.fabric, common)?;
    let fabric = arguments.equip(&fabric)?;
    let computed = arguments.computed(&fabric)?;
    let (needed, first) = counted(&fabric, &computed, arguments.choice.heuristic);
    let others = Heuristic::ALL
        .into_iter()
        .filter(|&other| arguments.compares(&computed) && other != arguments.choice.heuristic);
    let found = std::iter::once(first).chain(others.map(|other| counted(&fabric, &computed, other).1)).collect();
    let assigned = change::assign_needed(&fabric, &needed).map_err(Failure::undone)?;
    let report = LidReport {
        schema: "reconfig.lids/1",
        engine: computed.engine(),
        root: computed.root().map(|root| fabric.describe_node(root)),
        fabric: FabricSize::of(&fabric),
        found,
        ports: PortNeed::list(&assigned, &needed),
        files: arguments.write(&assigned)?,
    };
    screen.show(&report, || report::lids(&report, arguments.ports))?;
    Ok(Answer::Yes)
}

/// The counts that a heuristic finds, and the time it takes.
fn counted(fabric: &Fabric, computed: &Computed, heuristic: Heuristic) -> (Vec<(PortId, usize)>, LidCount) {
    let start = Instant::now();
    let needed = computed.needed(fabric, heuristic);
    let time_ns = start.elapsed().as_nanos() as u64;
    let name = matches!(computed, Computed::Paths(_)).then(|| heuristic.to_string());
    let count = LidCount::of(name, &needed, time_ns);
    (needed, count)
}

impl Arguments {
    /// Whether heuristics can differ: the LIDs of a function by DLID are fixed.
    fn compares(&self, computed: &Computed) -> bool {
        self.compare && matches!(computed, Computed::Paths(_))
    }

    fn equip(&self, fabric: &Fabric) -> Result<Fabric, Failure> {
        let data_vls = choice::data_vls(self.choice.vls)?;
        let settings = CaptureSettings { data_vls, optimised_sl_to_vl: None, lmc: Lmc::default(), reserved_sl: None };
        settings.equip(fabric).map_err(Failure::input)
    }

    fn computed(&self, fabric: &Fabric) -> Result<Computed, Failure> {
        let layers = change::data_vls(fabric).min(MOST_LAYERS);
        let engine = self.choice.kind(fabric)?;
        Computed::by(&engine, fabric, &Demand::all(fabric, 1).within(layers)).map_err(Failure::undone)
    }

    fn write(&self, assigned: &Fabric) -> Result<Vec<String>, Failure> {
        let Some(file) = &self.guid2lid else { return Ok(Vec::new()) };
        let mut batch = Batch::default();
        batch.stage(file, std::iter::once(Ok(Guid2Lid::new().learn(assigned).write())))?;
        batch.finish()?;
        Ok(vec![output::name_of(file)])
    }
}
