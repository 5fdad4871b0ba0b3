//! Other programs beside this one: started, and reaped whatever happens.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A program that runs beside this one; dropping the value ends it.
pub struct Background {
    pub child: Child,
}

impl Background {
    pub fn start(command: &mut Command, printed: &Path, said: &Path) -> io::Result<Background> {
        command.stdin(Stdio::null()).stdout(File::create(printed)?).stderr(File::create(said)?);
        Ok(Background { child: command.spawn()? })
    }

    /// Seconds that its threads, those that have ended too, have had a processor, in steps of the kernel's clock
    /// (Linux).
    ///
    /// # Errors
    /// It has ended, or the kernel does not say.
    pub fn processor_seconds(&self) -> io::Result<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // After the name in brackets, which may contain anything: user and system time are the 12th and 13th.
        let ticks = text.rsplit(") ").next().unwrap_or_default().split_whitespace().skip(11).take(2);
        let ticks: Option<u64> = ticks.map(|ticks| ticks.parse::<u64>().ok()).sum();
        // USER_HZ is 100 wherever Linux shows it.
        ticks.map(|ticks| ticks as f64 / 100.0).ok_or_else(|| io::Error::other(text))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Neither can fail in a way that matters: a program that ended is not killed, and is reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A text file: names in it may be anything.
pub fn lossy(file: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&std::fs::read(file)?).into_owned())
}
