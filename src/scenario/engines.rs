//! The engines for the routing before and after the change.

use crate::routing::Engine;
use std::sync::Arc;

/// The engines of one run: usually the same one twice.
#[derive(Clone)]
pub struct Engines {
    /// Computes R.
    pub before: Arc<dyn Engine>,
    /// Computes R′.
    pub after: Arc<dyn Engine>,
}

impl From<Arc<dyn Engine>> for Engines {
    fn from(engine: Arc<dyn Engine>) -> Engines {
        Engines { before: engine.clone(), after: engine }
    }
}

impl<E: Engine + 'static> From<Arc<E>> for Engines {
    fn from(engine: Arc<E>) -> Engines {
        Engines::from(engine as Arc<dyn Engine>)
    }
}
