//! Standard error, which remarks share with the spinner of long work.

use indicatif::ProgressBar;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The spinner that a terminal shows, so that lines are printed above it.
static SPINNER: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// The spinner, if one is shown.
pub(super) fn spinner() -> MutexGuard<'static, Option<ProgressBar>> {
    SPINNER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints something to standard error, above the spinner if there is one.
pub(super) fn above(print: impl FnOnce()) {
    let bar = spinner().clone();
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Prints a line on standard error, even if it is closed.
pub(super) fn remark(text: &str) {
    above(|| {
        let _ = writeln!(anstream::stderr(), "{text}");
    });
}
