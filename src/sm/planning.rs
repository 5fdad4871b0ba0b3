//! Long computations, while the manager keeps answering.
//!
//! Routing, planning and proving take seconds on a thousand switches. Meanwhile SA clients, other managers and users of
//! the control socket must be answered, and traps must be repressed. So a thread does that work, and the manager idles
//! until it is done. In a simulation, no time passes during a computation, and a run must not depend on the speed of
//! the machine: there the work is done in place.

use crate::subnet::{Manager, SubnetError, SubnetManager as _, long_work};
use crate::transport::Transport;
use futures_util::future::LocalBoxFuture;
use std::sync::mpsc::{self, RecvTimeoutError, TryRecvError};
use std::time::Duration;

/// How long the manager waits for the thread and nothing else: short computations end within it, and it is too short
/// for anybody to take the manager for dead.
const THREAD_WAIT: Duration = Duration::from_millis(10);

/// The longest time for which the manager serves requests at a time during long work of its own.
pub(super) const SERVING_NS: u64 = 10_000_000;

/// How often it looks afterwards whether the thread is done.
const LOOK_NS: u64 = 1_000_000;

/// Where long computations run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Planning {
    /// A thread of its own, while the manager answers.
    Threaded,
    /// The manager, which does nothing else meanwhile: in a simulation.
    Inline,
}

/// The result of `work`.
///
/// # Errors
/// The port failed, or there is no thread.
///
/// # Panics
/// `work` panicked.
pub(super) async fn computed<T: Transport, R: Send + 'static>(
    manager: &mut Manager<T>,
    planning: Planning,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, SubnetError> {
    let (work, result) = long_work(work);
    done(manager, planning, work).await?;
    Ok(result.take())
}

/// Does work, as [`computed`] does; one function for all results.
///
/// # Errors
/// As there.
///
/// # Panics
/// As there.
pub(super) fn done<T: Transport>(
    manager: &mut Manager<T>,
    planning: Planning,
    work: Box<dyn FnOnce() + Send>,
) -> LocalBoxFuture<'_, Result<(), SubnetError>> {
    Box::pin(async move {
        if planning == Planning::Inline {
            work();
            return Ok(());
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        let span = tracing::Span::current();
        let work = move || {
            let _entered = span.enter();
            work();
            // Nobody listens if the manager has ended meanwhile.
            let _ = sender.send(());
        };
        let thread = std::thread::Builder::new().name("planning".to_string()).spawn(work);
        let thread = thread.map_err(|error| SubnetError::NoThread { why: error.to_string() })?;
        let mut ended = receiver.recv_timeout(THREAD_WAIT).map_err(|error| match error {
            RecvTimeoutError::Timeout => TryRecvError::Empty,
            RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
        });
        loop {
            match ended {
                Ok(()) => return Ok(()),
                Err(TryRecvError::Empty) => manager.idle(manager.now_ns().saturating_add(LOOK_NS)).await?,
                Err(TryRecvError::Disconnected) => {
                    let panic = thread.join().expect_err("a thread that ends well has said so");
                    std::panic::resume_unwind(panic);
                }
            }
            ended = receiver.try_recv();
        }
    })
}
