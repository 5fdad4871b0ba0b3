//! Progress of long operations, on standard error: a terminal shows movement from the start; otherwise a run prints a
//! line at every tenth.

use super::stderr::{remark, spinner};
use crate::report::{count, duration, percent};
use indicatif::{ProgressBar, ProgressStyle};
use reconfig::scenario::Watch;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Packet-hops below which a run shows no progress.
const WORTH_TELLING: u64 = 20_000_000;
/// Typical packet-hops per second on current processors.
const HOPS_A_SECOND: f64 = 5e6;
/// Below this queues are empty, and latency is that of one packet.
const NEARLY_IDLE: f64 = 0.05;
/// Time and share of the work after which the remaining time can be estimated.
const FIRST_ESTIMATE: (Duration, f64) = (Duration::from_secs(2), 0.01);

/// Without a terminal, shorter counted work prints nothing.
const WORTH_SAYING: Duration = Duration::from_secs(5);
/// The longest that nothing is said of it then.
const SILENT_FOR: Duration = Duration::from_secs(30);

/// Work of unknown length: while it lasts, a terminal shows what it is and the elapsed time.
pub(super) struct Waiting(ProgressBar);

impl Waiting {
    pub(super) fn at(what: &'static str) -> Waiting {
        if !std::io::stderr().is_terminal() {
            return Waiting(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
        let bar = ProgressBar::new_spinner().with_style(style.expect("the template names fields that a bar has"));
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(150));
        *spinner() = Some(bar.clone());
        Waiting(bar)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        *spinner() = None;
        self.0.finish_and_clear();
    }
}

/// Whether the user has interrupted the work (SIGINT), which then ends with what it has. The second interrupt ends the
/// program.
pub(super) struct Interrupt(Arc<InterruptState>);

#[derive(Default)]
struct InterruptState {
    came: AtomicBool,
    /// Whether there is nothing left to interrupt.
    is_over: AtomicBool,
}

/// What a shell reports of a program that an interrupt has ended.
const INTERRUPTED: i32 = 130;

impl Interrupt {
    /// From now on, and as long as this lives, an interrupt does not end the program.
    pub(super) fn awaited() -> Interrupt {
        let state = Arc::new(InterruptState::default());
        let noted = state.clone();
        std::thread::spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
            if runtime.block_on(tokio::signal::ctrl_c()).is_err() {
                return;
            }
            if noted.is_over.load(Ordering::Relaxed) {
                std::process::exit(INTERRUPTED);
            }
            noted.came.store(true, Ordering::Relaxed);
            remark("interrupted: ends after the plans under way; interrupt again to end at once");
            if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
                std::process::exit(INTERRUPTED);
            }
        });
        Interrupt(state)
    }

    pub(super) fn came(&self) -> bool {
        self.0.came.load(Ordering::Relaxed)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

/// Work on a counted number of items: a bar on a terminal. Otherwise, if it takes more than a few seconds, a line at
/// every tenth, and with the first item that ends after half a minute without one. Threads may share it.
pub(super) struct Counted {
    bar: ProgressBar,
    what: &'static str,
    passed: AtomicUsize,
    all: usize,
    begun: Instant,
    /// Seconds after the beginning of the last line.
    said_s: AtomicU64,
}

impl Counted {
    /// Work on `all` items.
    pub(super) fn of(all: usize, what: &'static str) -> Counted {
        let bar = if std::io::stderr().is_terminal() && all > 0 {
            let style = ProgressStyle::with_template("{pos} of {len} {msg} {wide_bar} {elapsed}, {eta} to go");
            ProgressBar::new(all as u64).with_style(style.expect("the template names fields that a bar has"))
        } else {
            ProgressBar::hidden()
        };
        bar.set_message(what);
        Counted { bar, what, passed: AtomicUsize::new(0), all, begun: Instant::now(), said_s: AtomicU64::new(0) }
    }

    /// One item is done.
    pub(super) fn passes(&self) {
        self.bar.inc(1);
        let passed = self.passed.fetch_add(1, Ordering::Relaxed) + 1;
        let tenth = |number: usize| number * 10 / self.all;
        let took = self.begun.elapsed();
        let is_due = tenth(passed) > tenth(passed - 1)
            || took.as_secs() >= self.said_s.load(Ordering::Relaxed) + SILENT_FOR.as_secs();
        if self.bar.is_hidden() && is_due && took > WORTH_SAYING && passed < self.all {
            self.said_s.store(took.as_secs(), Ordering::Relaxed);
            let left = took.as_secs_f64() * (self.all - passed) as f64 / passed as f64;
            remark(&format!("{passed} of {} {}, about {} to go", self.all, self.what, rough(left)));
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Shows a run's progress.
pub(super) struct Progress {
    name: String,
    /// Whether the load was chosen for the user.
    chosen_load: bool,
    /// The load that would be chosen if it did not matter how long the run takes.
    usual: f64,
    /// Until the run begins.
    waiting: Option<Waiting>,
    bar: ProgressBar,
    lines_only: bool,
    begun: Instant,
    expected: u64,
    reported: u64,
}

impl Progress {
    /// Progress of a run with this name.
    pub(super) fn new(name: impl Into<String>, chosen_load: bool) -> Progress {
        let waiting = Some(Waiting::at("routing, planning and proving the change"));
        Progress { waiting, lines_only: false, ..Progress::lines(name, chosen_load) }
    }

    /// Progress of one of several runs at once: lines, since bars would overwrite each other.
    pub(super) fn lines(name: impl Into<String>, chosen_load: bool) -> Progress {
        let (bar, begun) = (ProgressBar::hidden(), Instant::now());
        let name = name.into();
        Progress {
            name,
            chosen_load,
            usual: 1.0,
            waiting: None,
            bar,
            lines_only: true,
            begun,
            expected: 0,
            reported: 0,
        }
    }

    /// Describes the load.
    fn load(&self, hops: u64, load: f64) -> String {
        if !self.chosen_load {
            return format!("at load {}", percent(load));
        }
        let usual = self.usual;
        if load >= NEARLY_IDLE || load >= usual {
            return format!("at load {}, chosen so that no link is full; --load sets another", percent(load));
        }
        let seconds = hops as f64 * usual / load.max(f64::MIN_POSITIVE) / HOPS_A_SECOND;
        format!(
            "at load {}, chosen so that the run ends soon: latencies are those of a subnet that is nearly idle; \
             --load {usual} would take about {}",
            percent(load),
            rough(seconds)
        )
    }

    /// The remaining time, once it can be estimated.
    fn left(&self, done: u64) -> String {
        let (elapsed, share) = (self.begun.elapsed(), done as f64 / self.expected.max(1) as f64);
        if elapsed < FIRST_ESTIMATE.0 || share < FIRST_ESTIMATE.1 {
            return String::new();
        }
        let left = elapsed.as_secs_f64() * (1.0 - share).max(0.0) / share;
        format!(", about {} to go", rough(left))
    }
}

/// Seconds, minutes or hours, as precise as an estimate is.
fn rough(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 1.0 => "a second".to_string(),
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds if seconds < 5_400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3_600.0),
    }
}

impl Watch for Progress {
    fn usual_load_is(&mut self, load: f64) {
        self.usual = load;
    }

    fn begins(&mut self, expected_hops: u64, load: f64) {
        self.waiting = None;
        (self.expected, self.begun) = (expected_hops, Instant::now());
        let is_light = self.chosen_load && load < NEARLY_IDLE;
        if expected_hops < WORTH_TELLING && !is_light {
            return;
        }
        remark(&format!(
            "{}: about {} packet-hops to come {}",
            self.name,
            count(expected_hops),
            self.load(expected_hops, load)
        ));
        if std::io::stderr().is_terminal() && !self.lines_only && expected_hops >= WORTH_TELLING {
            let style = ProgressStyle::with_template("{msg} {wide_bar} {percent} %  {elapsed}{prefix}");
            let style = style.expect("the template names fields that a bar has");
            self.bar = ProgressBar::new(expected_hops).with_style(style);
            self.bar.enable_steady_tick(Duration::from_millis(500));
        }
    }

    fn passes(&mut self, packet_hops: u64, now_ns: u64) {
        if self.expected < WORTH_TELLING {
            return;
        }
        self.bar.set_length(self.expected.max(packet_hops));
        self.bar.set_position(packet_hops);
        self.bar.set_message(format!("{} at {}", self.name, duration(now_ns)));
        self.bar.set_prefix(self.left(packet_hops));
        let tenth = packet_hops * 10 / self.expected;
        if self.bar.is_hidden() && tenth > self.reported {
            self.reported = tenth;
            let (hops, left) = (count(packet_hops), self.left(packet_hops));
            remark(&format!("{}: {hops} packet-hops, {} simulated{left}", self.name, duration(now_ns)));
        }
    }

    fn ends(&mut self) {
        self.bar.finish_and_clear();
    }
}
