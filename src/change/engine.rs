//! Engines as a change uses them: one that gives paths is joined with the LID assignment that realises them.

use crate::fabric::Fabric;
use crate::lid::Heuristic;
use crate::routing::{self, Demand, Engine, EngineKind, FirstOf, Parameters, PathEngine, RouteError};
use crate::tables::RoutingFunction;

/// The engine of a name, whatever its routes depend on.
///
/// # Errors
/// There is none of that name.
pub fn engine_named(name: &str, parameters: &Parameters) -> Result<Box<dyn Engine>, RouteError> {
    Ok(match routing::engine_named(name, parameters)? {
        EngineKind::ByDestination(engine) => engine,
        EngineKind::ByPath(paths) => Box::new(Realised { paths, heuristic: Heuristic::default() }),
    })
}

/// The engine of a name, or of several a list that takes the first of them that can route the fabric.
///
/// # Errors
/// There is none of one of the names.
pub fn engine_listed(names: &[String], parameters: &Parameters) -> Result<Box<dyn Engine>, RouteError> {
    match names {
        [name] => engine_named(name, parameters),
        _ => {
            let engines: Result<_, _> = names.iter().map(|name| engine_named(name, parameters)).collect();
            Ok(Box::new(FirstOf::new(engines?)))
        }
    }
}

/// An engine that gives paths, and the LIDs that realise them.
pub struct Realised {
    /// The engine.
    pub paths: Box<dyn PathEngine>,
    /// How the LIDs are found.
    pub heuristic: Heuristic,
}

impl Engine for Realised {
    fn name(&self) -> &'static str {
        self.paths.name()
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let paths = self.paths.paths(fabric, demand)?;
        crate::lid::realise_paths(fabric, &paths, self.heuristic)
            .map_err(|error| RouteError::Unrealised { engine: self.name(), why: error.to_string() })
    }
}
