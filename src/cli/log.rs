//! The library's log, on standard error.

use super::outcome::Failure;
use anyhow::{Context, anyhow};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, reload};

/// The variable that filters the log; it takes precedence over `-v`.
const VARIABLE: &str = "RECONFIG_LOG";

/// Changes the log's filter at run time.
pub(super) struct Reload(Box<dyn Fn(Targets) -> Result<(), String>>);

impl Reload {
    /// Sets the filter.
    ///
    /// # Errors
    /// The text is not a valid filter.
    pub(super) fn filter(&self, text: &str) -> Result<(), String> {
        (self.0)(targets(text).map_err(|why| format!("cannot read the filter `{text}`: {why}"))?)
    }
}

/// Reads a filter. [`Targets`] takes every text for the name of a module, and nothing is logged by a name that no
/// module has: so names must look like some, and one without a level must be of this program.
fn targets(text: &str) -> Result<Targets, String> {
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:".contains(&byte));
    let is_own = |name: &str| name.split("::").next() == Some(env!("CARGO_PKG_NAME"));
    let is_one = |directive: &str| match directive.split_once('=') {
        Some((name, _)) => is_name(name),
        None => directive.parse::<LevelFilter>().is_ok() || is_name(directive) && is_own(directive),
    };
    let expected = "expected levels such as `debug,reconfig::sim=trace`";
    match text.split(',').find(|directive| !is_one(directive)) {
        Some(wrong) => Err(format!("`{wrong}` is neither a level nor a module with one; {expected}")),
        None => text.parse::<Targets>().map_err(|error| format!("{error}; {expected}")),
    }
}

/// Starts logging, as text or as one JSON object a line. The text omits the time of day: it would be the only part of a
/// run that differs from another run's, and the journal records it.
pub(super) fn start(verbose: u8, json: bool) -> Result<Reload, Failure> {
    let level = match verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let filter = match std::env::var(VARIABLE) {
        Ok(text) => targets(&text).map_err(|why| Failure::input(anyhow!("cannot read {VARIABLE}=`{text}`: {why}")))?,
        Err(_) => Targets::new().with_default(level),
    };
    let (filter, handle) = reload::Layer::new(filter);
    let rows = tracing_subscriber::fmt::layer().with_writer(anstream::stderr);
    let rows = match json {
        true => rows.json().boxed(),
        false => rows.with_ansi(super::output::colours_errors()).without_time().boxed(),
    };
    let registry = tracing_subscriber::registry().with(filter).with(rows);
    tracing::subscriber::set_global_default(registry).context("cannot start logging").map_err(Failure::undone)?;
    Ok(Reload(Box::new(move |filter| handle.reload(filter).map_err(|error| error.to_string()))))
}
