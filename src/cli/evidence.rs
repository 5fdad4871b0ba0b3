//! Evidence of a refusal, where somebody asks for more of it: a drawing, the ways of packets.

use super::outcome::Failure;
use super::output::{self, Batch, Screen};
use crate::report::{self, Refused};
use clap::Args;
use reconfig::verify::Refusal;
use reconfig::verify::across::AcrossRefusal;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(next_help_heading = "Evidence")]
pub(super) struct EvidenceArguments {
    /// Where the plan is refused: write the cycle, loop or hole to this file as a Graphviz digraph.
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Where it is refused for a cycle: show the way of a packet into each dependency (--json always does).
    #[arg(long)]
    witnesses: bool,
}

impl EvidenceArguments {
    /// The file for the drawing.
    pub(super) fn file(&self) -> Option<&PathBuf> {
        self.dot.as_ref()
    }

    /// Shows the ways of packets, where they were asked for.
    pub(super) fn show(&self, refused: Option<&Refused>, screen: Screen) -> Result<(), Failure> {
        match refused.filter(|_| self.witnesses && !screen.is_json()) {
            Some(refused) => screen.print(&format!("\n{}", report::witnesses(refused))),
            None => Ok(()),
        }
    }

    /// Draws the refusal, where that was asked for.
    pub(super) fn draw(&self, refused: Option<&Refused>, batch: &mut Batch) -> Result<(), Failure> {
        draw(self.dot.as_deref(), refused.map(|refused| &refused.evidence), batch)
    }
}

/// A drawing of a refusal for a file, where one is named; says so where there is nothing to draw.
pub(super) fn draw(file: Option<&Path>, refusal: Option<&Refusal>, batch: &mut Batch) -> Result<(), Failure> {
    stage(file, refusal.map(Refusal::to_dot), batch)
}

/// The same of a refusal of several subnets.
pub(super) fn draw_across(
    file: Option<&Path>,
    refusal: Option<&AcrossRefusal>,
    batch: &mut Batch,
) -> Result<(), Failure> {
    stage(file, refusal.map(AcrossRefusal::to_dot), batch)
}

fn stage(file: Option<&Path>, drawing: Option<String>, batch: &mut Batch) -> Result<(), Failure> {
    match (file, drawing) {
        (None, _) => Ok(()),
        (Some(file), Some(drawing)) => batch.stage_text(file, drawing),
        (Some(file), None) => {
            output::remark(&format!("nothing to draw: the plan was not refused; {} is not written", file.display()));
            Ok(())
        }
    }
}
