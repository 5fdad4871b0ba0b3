//! What need not, or must not, be done while OpenSM waits for tables: evidence, and asking for another run in a while.
//!
//! One thread, which ends when the engine does. It touches OpenSM through the functions only that it is given.

use crate::config::EvidenceConfig;
use crate::evidence::{self, Accepted};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

enum Task {
    Run(Duration),
    Keep(Accepted),
}

/// What it needs of OpenSM.
pub struct Outside {
    /// Asks for another run of the routing.
    pub sweep: Box<dyn Fn() + Send>,
    /// Says that something went wrong.
    pub complain: Box<dyn Fn(&str) + Send>,
    /// Has the thread that calls take the processor when nobody else wants it.
    pub stand_back: fn(),
    /// Where evidence goes.
    pub evidence: Option<EvidenceConfig>,
}

/// The thread.
pub struct Worker {
    tasks: Option<Sender<Task>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts it.
    ///
    /// # Errors
    /// No thread is to be had.
    pub fn start(outside: Outside) -> std::io::Result<Worker> {
        let (tasks, taken) = channel();
        let thread = std::thread::Builder::new().name("reconfig".to_string()).spawn(move || work(&outside, &taken))?;
        Ok(Worker { tasks: Some(tasks), thread: Some(thread) })
    }

    /// Another run of the routing is wanted in a while.
    pub fn run_in(&self, wait: Duration) {
        self.send(Task::Run(wait));
    }

    /// What was accepted is to be judged by all judges that have not yet, and kept as evidence.
    pub fn keep(&self, accepted: Accepted) {
        self.send(Task::Keep(accepted));
    }

    fn send(&self, task: Task) {
        // It ends before the engine only by a panic, which has been reported.
        let _ = self.tasks.as_ref().map(|tasks| tasks.send(task));
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.tasks.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn work(outside: &Outside, tasks: &Receiver<Task>) {
    (outside.stand_back)();
    let mut due: Option<Instant> = None;
    loop {
        let now = Instant::now();
        if due.is_some_and(|due| due <= now) {
            due = None;
            (outside.sweep)();
        }
        let task = match due {
            Some(due) => tasks.recv_timeout(due.saturating_duration_since(now)),
            None => tasks.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match task {
            Ok(Task::Run(wait)) => due = Some(Instant::now() + wait),
            Ok(Task::Keep(accepted)) => {
                if let Err(why) = keep(outside, accepted) {
                    (outside.complain)(&why);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn keep(outside: &Outside, accepted: Accepted) -> Result<(), String> {
    let plan = accepted.plan().map_err(|why| format!("the tables that were handed over are proved, and yet: {why}"))?;
    outside.evidence.iter().try_for_each(|config| evidence::keep(config, &plan).map(drop))
}
