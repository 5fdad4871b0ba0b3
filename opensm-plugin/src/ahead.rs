//! What the next change begins with, found out in a thread while OpenSM is idle: decision 29 (docs/decisions).
//!
//! On entry: the routing in force. On return: the same proved, once the thread is done with it. A change that is
//! prepared with it is the change that would be prepared without it. One thread, which ends when the engine does:
//! OpenSM unloads the plugin, so no thread may outlive that.

use reconfig::change::{InForce, KnownBase};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// The thread.
pub struct ProofThread {
    wanted: Option<Sender<(InForce, KnownBase)>>,
    thread: Option<JoinHandle<()>>,
    begun: Option<(InForce, KnownBase)>,
}

impl ProofThread {
    /// Starts it; `stand_back` has a thread take the processor when nobody else wants it.
    ///
    /// # Errors
    /// No thread is to be had.
    pub fn start(stand_back: fn()) -> std::io::Result<ProofThread> {
        let (wanted, taken) = channel();
        let work = move || {
            stand_back();
            work(&taken);
        };
        let thread = std::thread::Builder::new().name("reconfig-ahead".to_string()).spawn(work)?;
        Ok(ProofThread { wanted: Some(wanted), thread: Some(thread), begun: None })
    }

    /// Begins with a routing, unless it has begun with this very one; what is known of it, now or later.
    pub fn begin(&mut self, routing: InForce) -> KnownBase {
        if let Some((_, known)) = self.begun.as_ref().filter(|(begun, _)| *begun == routing) {
            return known.clone();
        }
        let known = KnownBase::default();
        // It ends only with the engine.
        if let Some(wanted) = &self.wanted {
            let _ = wanted.send((routing.clone(), known.clone()));
        }
        self.begun = Some((routing, known.clone()));
        known
    }
}

impl Drop for ProofThread {
    fn drop(&mut self) {
        drop(self.wanted.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn work(taken: &Receiver<(InForce, KnownBase)>) {
    while let Ok(first) = taken.recv() {
        // What was wanted before the last is of a routing that has passed.
        let (routing, known) = taken.try_iter().last().unwrap_or(first);
        // After a fault of ours nothing is known, and changes take longer.
        let _ = catch_unwind(AssertUnwindSafe(|| known.find_out(&routing)));
    }
}
