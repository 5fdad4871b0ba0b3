//! All engines by name: what the command line and reports list.

use super::{
    Dfsssp, Engine, FatTree, Lash, MinHop, Nue, PathEngine, RouteError, UpDown, dfsssp, fat_tree, lash, min_hop, nue,
    up_down,
};
use crate::fabric::NodeId;

/// What engines may be told; each takes what it has a use for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parameters {
    /// The root of the spanning tree; where none is given, [`super::choose_root`].
    pub root: Option<NodeId>,
    /// Seeds every random choice.
    pub seed: u64,
}

/// An engine, by what its routes depend on.
pub enum EngineKind {
    /// On the DLID alone, as InfiniBand forwards.
    ByDestination(Box<dyn Engine>),
    /// On where a packet comes from, too: LIDs must be found that realise its paths.
    ByPath(Box<dyn PathEngine>),
}

/// An engine that can be chosen.
pub struct EngineEntry {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line, with its source.
    pub about: &'static str,
    /// Whether its routes are free of deadlock by construction.
    pub safe: bool,
    make: fn(&Parameters) -> EngineKind,
}

impl EngineEntry {
    /// The engine with these parameters.
    pub fn make(&self, parameters: &Parameters) -> EngineKind {
        (self.make)(parameters)
    }
}

fn by_destination(engine: impl Engine + 'static) -> EngineKind {
    EngineKind::ByDestination(Box::new(engine))
}

/// All engines; the first is the default.
pub const ENGINES: &[EngineEntry] = &[
    EngineEntry {
        name: up_down::NAME,
        about: "restricted up*/down*: down wherever a way down leads there (Duato 2001)",
        safe: true,
        make: |parameters| by_destination(UpDown { root: parameters.root }),
    },
    EngineEntry {
        name: min_hop::NAME,
        about: "fewest hops, evenly spread, nothing done against deadlock: for comparison (OpenSM's default)",
        safe: false,
        make: |_| by_destination(MinHop),
    },
    EngineEntry {
        name: dfsssp::NAME,
        about: "fewest hops, spread over whole ways, layers by breaking cycles (Domke, Hoefler, Nagel 2011)",
        safe: true,
        make: |_| by_destination(Dfsssp),
    },
    EngineEntry {
        name: nue::NAME,
        about: "short ways within the dependency graph, on however few layers (Domke, Hoefler, Matsuoka 2016)",
        safe: true,
        make: |_| by_destination(Nue),
    },
    EngineEntry {
        name: lash::NAME,
        about: "fewest hops, each pair of switches on the first layer that it leaves acyclic (Skeie, Lysne, Theiss 2002)",
        safe: true,
        make: |_| by_destination(Lash),
    },
    EngineEntry {
        name: fat_tree::NAME,
        about: "up and then down by the destination's number, for fat trees, faults allowed (d-mod-k, Zahavi 2010)",
        safe: true,
        make: |_| by_destination(FatTree),
    },
];

/// Their names.
pub fn names() -> Vec<&'static str> {
    ENGINES.iter().map(|entry| entry.name).collect()
}

/// The engine of a name.
///
/// # Errors
/// A name that is not in [`ENGINES`].
pub fn engine_named(name: &str, parameters: &Parameters) -> Result<EngineKind, RouteError> {
    let entry = ENGINES.iter().find(|entry| entry.name == name);
    entry.map(|entry| entry.make(parameters)).ok_or_else(|| RouteError::NoSuchEngine { name: name.to_string() })
}
