//! Additional evidence of a refusal, on request: a drawing, and routes of packets.

use super::outcome::Failure;
use super::output::{Batch, Screen};
use super::stderr::remark;
use crate::report::{self, Refused};
use clap::Args;
use reconfig::plan::LayerGraphError;
use reconfig::verify::Refusal;
use reconfig::verify::across::AcrossRefusal;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(next_help_heading = "Evidence")]
pub(super) struct EvidenceArguments {
    /// If the plan is refused, write the cycle, loop or hole to FILE as a Graphviz digraph. For an accepted plan,
    /// `plan` draws the dependencies among the channels that it drains, or among those of the new routing.
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// If the plan is refused for a cycle, show the route of a packet into each dependency (always with --json).
    #[arg(long)]
    witnesses: bool,
}

impl EvidenceArguments {
    /// The file for the drawing.
    pub(super) fn file(&self) -> Option<&PathBuf> {
        self.dot.as_ref()
    }

    /// Shows the routes of packets if requested.
    pub(super) fn show(&self, refused: Option<&Refused>, screen: Screen) -> Result<(), Failure> {
        match refused.filter(|_| self.witnesses && !screen.is_json()) {
            Some(refused) => screen.print(&format!("\n{}", report::witnesses(refused))),
            None => Ok(()),
        }
    }

    /// Draws the refusal, or else what an accepted plan has to show, if requested; remarks why it has nothing.
    pub(super) fn draw_either(
        &self,
        refused: Option<&Refused>,
        accepted: Option<Result<String, LayerGraphError>>,
        batch: &mut Batch,
    ) -> Result<(), Failure> {
        match (&self.dot, refused, accepted) {
            (Some(file), None, Some(Ok(drawing))) => batch.stage_text(file, drawing),
            (Some(file), None, Some(Err(error))) => {
                remark(&format!("nothing to draw: {error}; {} was not written", file.display()));
                Ok(())
            }
            _ => self.draw(refused, batch),
        }
    }

    /// Draws the refusal, if requested.
    pub(super) fn draw(&self, refused: Option<&Refused>, batch: &mut Batch) -> Result<(), Failure> {
        draw(self.dot.as_deref(), refused.map(|refused| &refused.evidence), batch)
    }
}

/// Stages a drawing of the refusal, if a file is named; remarks if there is nothing to draw.
pub(super) fn draw(file: Option<&Path>, refusal: Option<&Refusal>, batch: &mut Batch) -> Result<(), Failure> {
    stage(file, refusal.map(Refusal::to_dot), batch)
}

/// Stages a drawing of the refusal of several subnets.
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
            remark(&format!("nothing to draw: the plan was not refused; {} was not written", file.display()));
            Ok(())
        }
    }
}
