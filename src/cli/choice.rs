//! Options that several commands take, and what they mean.

use super::input::read_dump;
use super::outcome::Failure;
use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use reconfig::change::{self, BringUpError};
use reconfig::fabric::Fabric;
use reconfig::ids::Lmc;
use reconfig::routing::{ENGINES, Engine, Imported, Parameters};
use reconfig::scenario::Engines;
use reconfig::tables::dump::{read_fdbs, read_lfts, read_path_sls};
use std::path::PathBuf;
use std::rc::Rc;

/// Who computes routing functions.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "How it is routed")]
pub(super) struct EngineArguments {
    /// Who computes the routing functions; `reconfig route --list` tells of each.
    #[arg(long, value_name = "ENGINE", default_value = ENGINES[0].name, value_parser = engine_names())]
    engine: String,
    /// Who computes the routing after the change, where another engine is to.
    #[arg(long, value_name = "ENGINE", value_parser = engine_names())]
    to_engine: Option<String>,
    /// Seeds the random choices of engines that make some.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    engine_seed: u64,
}

/// The names of engines, as clap wants them.
pub(super) fn engine_names() -> PossibleValuesParser {
    PossibleValuesParser::new(ENGINES.iter().map(|entry| entry.name))
}

impl EngineArguments {
    fn named(&self, name: &str) -> Result<Rc<dyn Engine>, Failure> {
        let parameters = Parameters { seed: self.engine_seed, ..Parameters::default() };
        let engine = change::engine_named(name, &parameters).map_err(Failure::input)?;
        Ok(Rc::from(engine))
    }

    /// The name of the engine before the change; a static one, as reports want it.
    pub(super) fn name(&self) -> &'static str {
        ENGINES.iter().map(|entry| entry.name).find(|&name| name == self.engine).unwrap_or(ENGINES[0].name)
    }

    /// The engine before the change, and the one after it.
    pub(super) fn engines(&self) -> Result<Engines, Failure> {
        let before = self.named(&self.engine)?;
        let after = self.to_engine.as_ref().map(|name| self.named(name)).transpose()?;
        Ok(Engines { after: after.unwrap_or_else(|| before.clone()), before })
    }
}

/// Tables that run already.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Tables that run already, in place of an engine")]
pub(super) struct FromArguments {
    /// Take the routing from forwarding tables as OpenSM's opensm.fdbs; the fabric must have LIDs.
    #[arg(long, value_name = "FILE", conflicts_with = "from_lfts")]
    from_fdbs: Option<PathBuf>,
    /// Take it from forwarding tables as OpenSM's opensm-lfts.dump, or from dump_fts, dump_lfts.sh or ibroute.
    #[arg(long, value_name = "FILE")]
    from_lfts: Option<PathBuf>,
    /// Service levels of its paths, as `reconfig audit` takes them.
    #[arg(long, value_name = "FILE")]
    from_path_sl: Option<PathBuf>,
}

impl FromArguments {
    /// Whether any file is named.
    pub(super) fn is_given(&self) -> bool {
        self.from_fdbs.is_some() || self.from_lfts.is_some() || self.from_path_sl.is_some()
    }

    /// The tables named, read over the fabric that they run on; none where no file is named.
    pub(super) fn read(&self, fabric: &Fabric) -> Result<Option<Imported>, Failure> {
        let lfts = match (&self.from_fdbs, &self.from_lfts) {
            (Some(file), _) => read_dump(file, fabric, read_fdbs)?,
            (None, Some(file)) => read_dump(file, fabric, read_lfts)?,
            (None, None) if self.from_path_sl.is_some() => {
                return Err(Failure::input(anyhow!("--from-path-sl goes with --from-fdbs or --from-lfts")));
            }
            (None, None) => return Ok(None),
        };
        let levels = self.from_path_sl.as_ref().map(|file| read_dump(file, fabric, read_path_sls)).transpose()?;
        Ok(Some(Imported::new(fabric, &lfts.tables, levels)))
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

/// What kind of failure it is that a fabric cannot be routed.
pub(super) fn unrouted(error: BringUpError) -> Failure {
    match error {
        BringUpError::NoSwitch | BringUpError::Fit(_) => Failure::input(error),
        _ => Failure::undone(error),
    }
}

/// What `--lmc` says.
pub(super) fn lmc(lmc: u8) -> Result<Lmc, Failure> {
    Lmc::new(lmc).ok_or_else(|| Failure::input(anyhow!("LMC {lmc}: expected 0 to 7")))
}
