//! `reconfig reproduce`: measures the published tables again and compares the figures.

use super::Common;
use super::outcome::{Answer, Failure};
use super::output::{Batch, Screen, check_places};
use super::page::Page;
use super::stderr::remark;
use crate::report;
use reconfig::reproduce::{self, ReproduceError, ResultTable, Study, StudyRequest};
use serde::Serialize;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
seed-000 is López, Flich, Duato, ICPP 2001 (destination renaming); seed-001 is Pinkston, Zafar, Duato (the Double \
Scheme over InfiniBand); seed-002 is Nienaber, Yuan, Duan, ANCS 2007 (LID \
assignment); optimum compares the heuristics of the latter with an exact solver, selection compares readings of both \
where they leave points open. docs/REPRODUCE.md explains where the \
bands come from and how the papers were read. seed-003 measures what sources gain from several paths (docs/DISPERSIVE.md); seed-004 is Bloch, Liss (InfiniBand routers).

Examples:
  reconfig reproduce seed-000 --bands
  reconfig reproduce seed-001 --csv over-time.csv --plot over-time.svg
  reconfig reproduce seed-002 --table 1 --csv table-1.csv --plot table-1.svg
  reconfig reproduce optimum --fabrics 4
  reconfig reproduce selection --table smart --fabrics 10
  reconfig reproduce skyline --fabrics 4
  reconfig reproduce seed-003 --table gain --csv gain.csv

Exit codes: 0 every figure is inside its band (of table 2 of seed-002: 40 of 45); 1 one is not; 2 wrong usage; 3 the work could not be carried out.")]
pub(super) struct Arguments {
    /// The study: seed-000, seed-001, seed-002, seed-003, seed-004, optimum, selection or skyline.
    study: Study,
    /// Reproduce only this table: 4a, 5a, 6; 1, 2, 3; 1-lids; lids, color, smart; …
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,
    /// Reproduce only this row, such as 16 or 128/32; may be repeated.
    #[arg(long = "row", value_name = "ROW")]
    rows: Vec<String>,
    /// Fabrics for each row [default: 100 for seed-000, 32 for seed-002 as in the paper, 10 for skyline, 1 for seed-001
    /// and seed-004, 2 for seed-003 and selection, 8 for optimum].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    fabrics: Option<u32>,
    /// Seed of the first fabric of each row.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Fabrics to measure in parallel [default: one per processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Step limit of the exact solver for one destination.
    #[arg(long, value_name = "N", default_value_t = StudyRequest::of(Study::Optimum, 1).steps)]
    steps: u64,
    /// Show one figure per line: the paper's, ours, the band, and whether ours is inside.
    #[arg(long)]
    bands: bool,
    /// Write the figures to FILE as CSV.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write a plot of the figures to FILE as SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Write the result to FILE as a self-contained HTML page.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct StudyDocument<'a> {
    schema: &'static str,
    study: &'static str,
    fabrics: usize,
    seed: u64,
    inside: usize,
    banded: usize,
    unjudged: usize,
    tables: &'a [ResultTable],
}

pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let files = [
        ("--csv", arguments.csv.as_ref()),
        ("--plot", arguments.plot.as_ref()),
        ("--report", arguments.report.as_ref()),
    ];
    let screen = Screen::beside(common, files)?;
    check_places(files)?;
    let request = arguments.request();
    let tables = reproduce::reproduce(&request, &mut remark).map_err(failure)?;
    let (inside, banded) =
        tables.iter().map(ResultTable::inside).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let (study, fabrics, seed) = (request.study.name(), request.fabrics, request.seed);
    let unjudged = tables.iter().map(ResultTable::unjudged).sum();
    let schema = "reconfig.reproduction/1";
    let document = StudyDocument { schema, study, fabrics, seed, inside, banded, unjudged, tables: &tables };
    screen.show(&document, || report::reproduction(&request, &tables, arguments.bands))?;
    let mut batch = Batch::default();
    if let Some(file) = &arguments.csv {
        batch.stage_text(file, reproduce::csv(&tables))?;
    }
    if let Some(file) = &arguments.plot {
        batch.stage_text(file, reproduce::plot(&tables))?;
    }
    if let Some(file) = &arguments.report {
        let page = Page::of(file, [])?;
        page.stage(report::reproduction_page(&request, &tables, &page.origin), &mut batch)?;
    }
    batch.finish()?;
    Ok(tables.iter().all(ResultTable::is_reproduced).into())
}

impl Arguments {
    fn request(&self) -> StudyRequest {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = self.threads.map_or(processors, usize::from);
        let study = StudyRequest::of(self.study, threads);
        let fabrics = self.fabrics.map_or(study.fabrics, |fabrics| fabrics as usize);
        StudyRequest {
            table: self.table.clone(),
            rows: self.rows.clone(),
            fabrics,
            seed: self.seed,
            steps: self.steps,
            ..study
        }
    }
}

fn failure(error: ReproduceError) -> Failure {
    match error {
        ReproduceError::NoSuchTable { .. } | ReproduceError::NoSuchRow { .. } | ReproduceError::NoSuchStudy { .. } => {
            Failure::input(error)
        }
        _ => Failure::undone(error),
    }
}
