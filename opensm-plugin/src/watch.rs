//! Looks after multicast in a thread: whether the trees that OpenSM has in force can wait in a ring together with
//! unicast.
//!
//! On entry: unicast as it is handed over, wave by wave. On return: words for OpenSM's log where something has changed.
//! OpenSM tells plugins of no join, so its tables are looked at every [`PERIOD`] too. One thread, which ends when the
//! engine does; it touches OpenSM through the functions only that it is given.

use crate::answer::Level;
use crate::multicast::{TreeRow, Unicast, judge};
use reconfig::verify::UnicastWaits;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often it looks by itself: OpenSM's own sweep interval by default.
pub const PERIOD: Duration = Duration::from_secs(10);

/// Writes a line to OpenSM's log.
pub type Say = Box<dyn Fn(Level, &str) + Send>;

/// What it needs.
pub struct WatchNeeds {
    /// What OpenSM's multicast tables hold; none where that cannot be had.
    pub look: Box<dyn Fn() -> Option<Vec<TreeRow>> + Send>,
    /// Writes to OpenSM's log.
    pub say: Say,
    /// Hears how many trees are in force, and whether they close a ring.
    pub count: Box<dyn Fn(usize, bool) + Send>,
    /// Has the thread that calls take the processor when nobody else wants it.
    pub stand_back: fn(),
    /// Asks for a whole sweep, in which trees are built anew; none where OpenSM builds them.
    pub rebuild: Option<Box<dyn Fn() + Send>>,
}

/// The thread.
pub struct WatchThread {
    told: Option<Sender<Unicast>>,
    thread: Option<JoinHandle<()>>,
}

impl WatchThread {
    /// Starts it.
    ///
    /// # Errors
    /// No thread is to be had.
    pub fn start(surroundings: WatchNeeds) -> std::io::Result<WatchThread> {
        let (told, heard) = channel();
        let watch = move || {
            (surroundings.stand_back)();
            Watchman { surroundings, known: None, rows: Vec::new(), said: String::new(), rebuilt: false }.watch(&heard);
        };
        let thread = Builder::new().name("reconfig-mcast".to_string()).spawn(watch)?;
        Ok(WatchThread { told: Some(told), thread: Some(thread) })
    }

    /// Unicast tables are written, or the subnet is up.
    pub fn tell(&self, unicast: Unicast) {
        // It ends only with the engine.
        let _ = self.told.as_ref().map(|told| told.send(unicast));
    }
}

impl Drop for WatchThread {
    fn drop(&mut self) {
        drop(self.told.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct Watchman {
    surroundings: WatchNeeds,
    /// Unicast, and what it can wait for, once that was wanted.
    known: Option<(Unicast, Option<Waits>)>,
    /// What the tables held at the last look, in rising order.
    rows: Vec<TreeRow>,
    said: String,
    /// Whether a sweep was asked for since unicast changed.
    rebuilt: bool,
}

impl Watchman {
    fn watch(mut self, heard: &Receiver<Unicast>) {
        loop {
            let told = match heard.recv_timeout(PERIOD) {
                Ok(first) => Some(heard.try_iter().last().unwrap_or(first)),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let look = || {
                let changed = told.is_some_and(|unicast| self.hear(unicast));
                let Some(mut rows) = (self.surroundings.look)() else { return };
                rows.sort_unstable();
                if changed || rows != self.rows {
                    self.judge(rows);
                }
            };
            // A fault of ours costs one judgement, is said in OpenSM's log, and does not end the thread.
            if catch_unwind(AssertUnwindSafe(look)).is_err() {
                (self.surroundings.say)(Level::Error, "multicast is not judged: a fault in judging it");
            }
        }
    }

    /// Takes in what is told; whether it is anything new.
    fn hear(&mut self, unicast: Unicast) -> bool {
        let known = self.known.as_ref().map(|(known, _)| known);
        let routes_alike = known.is_some_and(|own| *own.fabric == *unicast.fabric && own.lfts == unicast.lfts);
        if routes_alike && known.is_some_and(|own| own.earlier == unicast.earlier) {
            return false;
        }
        self.rebuilt &= routes_alike;
        self.known = Some((unicast, None));
        true
    }

    fn judge(&mut self, rows: Vec<TreeRow>) {
        let before = std::mem::replace(&mut self.rows, rows);
        if before.is_empty() && self.rows.is_empty() {
            return;
        }
        let Some((unicast, waits)) = &mut self.known else { return };
        let waits = waits.get_or_insert_with(|| Waits::of(unicast));
        let fabric = &*unicast.fabric;
        let groups = self.rows.iter().map(|row| row.mlid).collect::<BTreeSet<u16>>().len();
        let (level, text, ring) = match &waits.settled {
            Err(why) => (Level::Error, format!("multicast is not judged, because unicast is not sound: {why}"), false),
            Ok(settled) => match judge(fabric, settled, &self.rows) {
                Some(ring) => (Level::Error, format!("multicast: {ring}"), true),
                None => {
                    let plural = if groups == 1 { "" } else { "s" };
                    let text = format!(
                        "multicast: {groups} tree{plural} in force, and no ring with unicast ways or each other"
                    );
                    (Level::Info, text, false)
                }
            },
        };
        // Switches hold rows of before and after meanwhile, as they hold unicast entries of both.
        let meanwhile = waits.written.as_ref().or(waits.settled.as_ref().ok()).filter(|_| level == Level::Info);
        let meanwhile = meanwhile.and_then(|waits| judge(fabric, waits, &[&before[..], &self.rows[..]].concat()));
        if let Some(ring) = meanwhile {
            (self.surroundings.say)(Level::Error, &format!("multicast, while OpenSM was writing: {ring}"));
            self.said.clear();
        }
        (self.surroundings.count)(groups, ring);
        if text != self.said {
            (self.surroundings.say)(level, &text);
            self.said = text;
        }
        if let Some(rebuild) = self.surroundings.rebuild.as_ref().filter(|_| ring && !self.rebuilt) {
            self.rebuilt = true;
            rebuild();
        }
    }
}

/// What unicast packets can wait for.
struct Waits {
    /// Once the tables are in force; or why that cannot be told.
    settled: Result<UnicastWaits, String>,
    /// While they were written, where that can be told and is anything else.
    written: Option<UnicastWaits>,
}

impl Waits {
    fn of(unicast: &Unicast) -> Waits {
        let first = |text: String| text.lines().next().unwrap_or_default().to_string();
        let settled = unicast.waits().map_err(|refusal| first(refusal.to_string()));
        Waits { settled, written: unicast.waits_while_written() }
    }
}
