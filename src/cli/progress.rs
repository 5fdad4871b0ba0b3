//! Progress of a long run, on standard error: a bar on a terminal, a line at every tenth elsewhere.

use crate::report::{count, duration, percent};
use indicatif::{ProgressBar, ProgressStyle};
use reconfig::scenario::Watch;
use std::io::{IsTerminal, Write};

/// Packet-hops below which a run shows no progress.
const WORTH_TELLING: u64 = 20_000_000;

/// Shows a run's progress.
pub(super) struct Progress {
    name: String,
    bar: ProgressBar,
    lines_only: bool,
    expected: u64,
    told: u64,
}

impl Progress {
    /// Progress of a run with this name.
    pub(super) fn new(name: impl Into<String>) -> Progress {
        Progress { name: name.into(), bar: ProgressBar::hidden(), lines_only: false, expected: 0, told: 0 }
    }

    /// Progress of one of several runs at once: lines, since bars would overwrite each other.
    pub(super) fn lines(name: impl Into<String>) -> Progress {
        Progress { lines_only: true, ..Progress::new(name) }
    }

    /// Does nothing if standard error is closed.
    fn say(&self, text: &str) {
        let _ = writeln!(anstream::stderr(), "{text}");
    }
}

impl Watch for Progress {
    fn begins(&mut self, expected_hops: u64, load: f64) {
        self.expected = expected_hops;
        if expected_hops < WORTH_TELLING {
            return;
        }
        self.say(&format!(
            "{}: about {} packet-hops to come at load {}; --load sets another",
            self.name,
            count(expected_hops),
            percent(load)
        ));
        if std::io::stderr().is_terminal() && !self.lines_only {
            let style = ProgressStyle::with_template("{msg} {wide_bar} {percent} %  {elapsed}, {eta} to go");
            let style = style.expect("the template names fields that a bar has");
            self.bar = ProgressBar::new(expected_hops).with_style(style);
        }
    }

    fn passes(&mut self, packet_hops: u64, now_ns: u64) {
        if self.expected < WORTH_TELLING {
            return;
        }
        self.bar.set_length(self.expected.max(packet_hops));
        self.bar.set_position(packet_hops);
        self.bar.set_message(format!("{} at {}", self.name, duration(now_ns)));
        let tenth = packet_hops * 10 / self.expected;
        if self.bar.is_hidden() && tenth > self.told {
            self.told = tenth;
            self.say(&format!("{}: {} packet-hops, {} simulated", self.name, count(packet_hops), duration(now_ns)));
        }
    }

    fn ends(&mut self) {
        self.bar.finish_and_clear();
    }
}
