//! What the library says while it runs, on standard error.

use super::outcome::Failure;
use anyhow::Context;
use tracing_subscriber::EnvFilter;

/// The variable that filters what is logged; it goes before `-v`.
const VARIABLE: &str = "RECONFIG_LOG";

/// Starts logging. The time of day is left out: it would be the only part of a run that differs from another.
pub(super) fn start(verbose: u8) -> Result<(), Failure> {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = match std::env::var(VARIABLE) {
        Ok(text) => EnvFilter::try_new(&text)
            .with_context(|| {
                format!("cannot read {VARIABLE}=`{text}`: expected levels such as `debug,reconfig::sim=trace`")
            })
            .map_err(Failure::input)?,
        Err(_) => EnvFilter::new(level),
    };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(anstream::stderr)
        .with_ansi(super::output::colours_errors())
        .without_time()
        .finish();
    tracing::subscriber::set_global_default(subscriber).context("cannot start logging").map_err(Failure::undone)
}
