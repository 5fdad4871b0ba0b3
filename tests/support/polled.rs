//! Futures of transports and driver, polled by hand: the test decides when time passes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A future, and whether it was woken since it was last polled.
pub struct Polled<F> {
    future: Pin<Box<F>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The future, not polled yet.
pub fn by_hand<F: Future>(future: F) -> Polled<F> {
    Polled { future: Box::pin(future), woken: Arc::new(Woken(AtomicBool::new(false))) }
}

impl<F: Future> Polled<F> {
    pub fn poll(&mut self) -> Poll<F::Output> {
        self.woken.0.store(false, Ordering::SeqCst);
        let waker = Waker::from(self.woken.clone());
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    pub fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::SeqCst)
    }
}

/// The result of a future whose end nothing outside it delays; one that is pending and was not woken would never end.
pub fn at_once<F: Future>(future: F) -> F::Output {
    let mut polled = by_hand(future);
    loop {
        match polled.poll() {
            Poll::Ready(output) => return output,
            Poll::Pending => assert!(polled.is_woken(), "the future waits for something outside it"),
        }
    }
}
