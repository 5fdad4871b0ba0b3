//! Options that several commands take, and what they mean.

use super::outcome::Failure;
use crate::ids::Lmc;
use crate::routing::{Engine, UpDown};
use anyhow::anyhow;
use clap::ValueEnum;
use std::rc::Rc;

/// Who computes routing functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum EngineChoice {
    /// Restricted up*/down*.
    UpDown,
}

impl EngineChoice {
    pub(super) fn engine(self) -> Rc<dyn Engine> {
        match self {
            EngineChoice::UpDown => Rc::new(UpDown::default()),
        }
    }
}

/// Form of the SL-to-VL tables that switches take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SlToVlChoice {
    /// A table for every input and output.
    Plain,
    /// One SMP for all of them.
    Optimised,
}

/// What `--vls` says.
pub(super) fn data_vls(vls: u8) -> Result<u8, Failure> {
    if [1, 2, 4, 8, 15].contains(&vls) {
        return Ok(vls);
    }
    Err(Failure::input(anyhow!("{vls} data VLs: InfiniBand ports have 1, 2, 4, 8 or 15")))
}

/// What `--lmc` says.
pub(super) fn lmc(lmc: u8) -> Result<Lmc, Failure> {
    Lmc::new(lmc).ok_or_else(|| Failure::input(anyhow!("LMC {lmc}: expected 0 to 7")))
}
