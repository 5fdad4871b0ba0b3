//! Evidence of a refusal, where somebody asks for more of it: a drawing, the ways of packets.

use super::outcome::Failure;
use super::{Common, output};
use crate::report::{self, Refused};
use crate::verify::Refusal;
use crate::verify::across::AcrossRefusal;
use clap::Args;
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
    /// Shows what was asked for.
    pub(super) fn show(&self, refused: Option<&Refused>, common: Common) -> Result<(), Failure> {
        if let Some(refused) = refused.filter(|_| self.witnesses && !common.json) {
            output::print(&format!("\n{}", report::witnesses(refused)))?;
        }
        draw(self.dot.as_deref(), refused.map(|refused| &refused.evidence))
    }
}

/// Writes a drawing of a refusal to a file, where one is named; says so where there is nothing to draw.
pub(super) fn draw(file: Option<&Path>, refusal: Option<&Refusal>) -> Result<(), Failure> {
    deliver(file, refusal.map(Refusal::to_dot))
}

/// The same of a refusal of several subnets.
pub(super) fn draw_across(file: Option<&Path>, refusal: Option<&AcrossRefusal>) -> Result<(), Failure> {
    deliver(file, refusal.map(AcrossRefusal::to_dot))
}

fn deliver(file: Option<&Path>, drawing: Option<String>) -> Result<(), Failure> {
    match (file, drawing) {
        (None, _) => Ok(()),
        (Some(file), Some(drawing)) => output::deliver(&drawing, Some(file)),
        (Some(file), None) => {
            output::remark(&format!("nothing to draw: the plan was not refused; {} is not written", file.display()));
            Ok(())
        }
    }
}
