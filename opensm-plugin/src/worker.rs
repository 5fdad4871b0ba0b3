//! What need not, or must not, be done while OpenSM waits for tables: evidence, and asking for another run in a while.
//!
//! Two threads, which end when the engine does: the next wave of a plan never waits for evidence. They touch OpenSM
//! through the functions only that they are given.

use crate::config::EvidenceConfig;
use crate::evidence::{self, Accepted};
use crate::metrics;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// What they need.
pub struct Outside {
    /// Asks for another run of the routing.
    pub sweep: Box<dyn Fn() + Send>,
    /// What keeps evidence.
    pub clerk: Clerk,
}

/// Keeps evidence.
pub struct Clerk {
    /// Says that something went wrong.
    pub complain: Box<dyn Fn(&str) + Send>,
    /// Has the thread that calls take the processor when nobody else wants it.
    pub stand_back: fn(),
    /// Where evidence goes.
    pub evidence: Option<EvidenceConfig>,
    /// Where metrics go.
    pub metrics: Option<PathBuf>,
}

/// What it is given.
enum Paper {
    /// What was accepted.
    Evidence(Box<Accepted>),
    /// The text of the metrics.
    Metrics(String),
}

/// The threads.
pub struct Worker {
    runs: Option<Sender<Duration>>,
    kept: Option<Sender<Paper>>,
    threads: Vec<JoinHandle<()>>,
}

impl Worker {
    /// Starts them.
    ///
    /// # Errors
    /// No thread is to be had.
    pub fn start(outside: Outside) -> std::io::Result<Worker> {
        let Outside { sweep, clerk } = outside;
        let ((runs, wanted), (kept, papers)) = (channel(), channel());
        let mut worker = Worker { runs: Some(runs), kept: Some(kept), threads: Vec::new() };
        let timer = Builder::new().name("reconfig".to_string()).spawn(move || run_all(&*sweep, &wanted))?;
        worker.threads.push(timer);
        let keeper = Builder::new().name("reconfig-keep".to_string()).spawn(move || clerk.keep_all(&papers))?;
        worker.threads.push(keeper);
        Ok(worker)
    }

    /// Another run of the routing is wanted in a while.
    pub fn run_in(&self, wait: Duration) {
        // The thread ends before the engine only by a panic, and all that it does is to ask OpenSM.
        let _ = self.runs.as_ref().map(|runs| runs.send(wait));
    }

    /// What was accepted is to be judged by all judges that have not yet, and kept as evidence.
    pub fn keep(&self, accepted: Accepted) {
        let _ = self.kept.as_ref().map(|kept| kept.send(Paper::Evidence(Box::new(accepted))));
    }

    /// Metrics are to be published.
    pub fn publish(&self, text: String) {
        let _ = self.kept.as_ref().map(|kept| kept.send(Paper::Metrics(text)));
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop((self.runs.take(), self.kept.take()));
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn run_all(sweep: &dyn Fn(), wanted: &Receiver<Duration>) {
    let mut due: Option<Instant> = None;
    loop {
        let now = Instant::now();
        if due.is_some_and(|due| due <= now) {
            due = None;
            sweep();
        }
        let next = match due {
            Some(due) => wanted.recv_timeout(due.saturating_duration_since(now)),
            None => wanted.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(wait) => due = Some(Instant::now() + wait),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl Clerk {
    fn keep_all(&self, papers: &Receiver<Paper>) {
        (self.stand_back)();
        for paper in papers {
            let keep = || match paper {
                Paper::Evidence(accepted) => self.keep(*accepted),
                Paper::Metrics(text) => self.metrics.iter().try_for_each(|file| metrics::write(file, &text)),
            };
            // A fault of ours costs one paper, is said in OpenSM's log, and does not end the thread.
            let kept = catch_unwind(AssertUnwindSafe(keep));
            if let Err(why) =
                kept.unwrap_or_else(|_| Err("a fault in judging or keeping what was accepted".to_string()))
            {
                (self.complain)(&why);
            }
        }
    }

    fn keep(&self, accepted: Accepted) -> Result<(), String> {
        let plan =
            accepted.plan().map_err(|why| format!("the tables that were handed over are proved, and yet: {why}"))?;
        self.evidence.iter().try_for_each(|config| evidence::keep(config, &plan).map(drop))
    }
}
