//! Other programs run to their end, with a time limit.

use super::background::{Background, lossy};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The interval at which a program is polled for its end.
const POLL: Duration = Duration::from_millis(2);

/// How a program ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Ended {
    /// What it printed.
    pub output: String,
    /// What it said on standard error.
    pub errors: String,
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// `exit code 3`, `signal 11` or `stopped after 60 s`.
    pub how: String,
    /// Wall-clock time from start to end.
    pub seconds: f64,
}

/// Runs a program to its end, or ends it at the limit. Its output passes through files, so that no pipe fills up.
pub fn run(command: &mut Command, folder: &Path, name: &str, limit: Duration) -> io::Result<Ended> {
    let (printed, said) = (folder.join(format!("{name}.out")), folder.join(format!("{name}.err")));
    let start = Instant::now();
    let mut program = Background::start(command, &printed, &said)?;
    let status = loop {
        if let Some(status) = program.child.try_wait()? {
            break Some(status);
        }
        if start.elapsed() > limit {
            break None;
        }
        std::thread::sleep(POLL);
    };
    let seconds = start.elapsed().as_secs_f64();
    drop(program);
    let how = match status.map(|status| (status.code(), status.signal())) {
        None => format!("stopped after {} s", limit.as_secs()),
        Some((Some(code), _)) => format!("exit code {code}"),
        Some((None, signal)) => format!("signal {}", signal.unwrap_or_default()),
    };
    let code = status.and_then(|status| status.code());
    Ok(Ended { output: lossy(&printed)?, errors: lossy(&said)?, code, how, seconds })
}
