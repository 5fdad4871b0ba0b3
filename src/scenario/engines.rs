//! The engines for the routing before and after the change.

use crate::routing::Engine;
use std::rc::Rc;

/// The engines of one run: usually the same one twice.
#[derive(Clone)]
pub struct Engines {
    /// Computes R.
    pub before: Rc<dyn Engine>,
    /// Computes R′.
    pub after: Rc<dyn Engine>,
}

impl From<Rc<dyn Engine>> for Engines {
    fn from(engine: Rc<dyn Engine>) -> Engines {
        Engines { before: engine.clone(), after: engine }
    }
}

impl<E: Engine + 'static> From<Rc<E>> for Engines {
    fn from(engine: Rc<E>) -> Engines {
        Engines::from(engine as Rc<dyn Engine>)
    }
}
