//! Who computes the routing before the change, and who the one after it.

use crate::routing::Engine;
use std::rc::Rc;

/// The engines of one run: usually one and the same.
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
