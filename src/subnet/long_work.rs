//! Long work for [`SubnetManager::compute`](super::SubnetManager::compute), which knows nothing of results: the work
//! leaves its result in a place that whoever asked for it keeps.

use std::sync::{Arc, Mutex};

/// Where long work leaves its result.
pub struct WorkResult<R>(Arc<Mutex<Option<R>>>);

/// Work for any thread, and where it leaves the result of `work`.
pub fn long_work<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> (Box<dyn FnOnce() + Send>, WorkResult<R>) {
    let place = Arc::new(Mutex::new(None));
    let found = place.clone();
    let work = move || {
        let result = work();
        *found.lock().expect("nobody else holds it") = Some(result);
    };
    (Box::new(work), WorkResult(place))
}

impl<R> WorkResult<R> {
    /// The result.
    ///
    /// # Panics
    /// The work is not done.
    pub fn take(self) -> R {
        let result = self.0.lock().expect("nobody else holds it").take();
        result.expect("work that is done has left its result")
    }
}
