//! The library's log, on standard error.

use super::outcome::Failure;
use anyhow::Context;
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
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
        let filter = text.parse().map_err(|error: ParseError| format!("cannot read the filter `{text}`: {error}"))?;
        (self.0)(filter)
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
        Ok(text) => text
            .parse::<Targets>()
            .with_context(|| {
                format!("cannot read {VARIABLE}=`{text}`: expected levels such as `debug,reconfig::sim=trace`")
            })
            .map_err(Failure::input)?,
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
