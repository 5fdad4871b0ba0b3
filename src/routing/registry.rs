//! All engines by name, as the command line and reports list them.

use super::legal::TurnModel;
use super::{
    Dfsssp, Engine, FatTree, FullyExplicit, LTurn, Lash, MinHop, MultipleRoots, Nue, PathEngine, PathSelection,
    RouteError, ShortestWidest, Smart, UpDown, UpDownBalanced, UpDownRandom, UpDownRobust,
};
use super::{
    dfsssp, fat_tree, fully_explicit, l_turn, lash, min_hop, multiple_roots, nue, path_selection, shortest_widest,
    smart, up_down, up_down_paths, up_down_robust,
};
use crate::fabric::{Fabric, NodeId};

/// Parameters of engines; each engine uses those that apply to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parameters {
    /// The root of the spanning tree; if none is given, [`super::choose_root`].
    pub root: Option<NodeId>,
    /// Seeds every random choice.
    pub seed: u64,
}

/// An engine, by what its routes depend on.
pub enum EngineKind {
    /// On the DLID alone, as InfiniBand forwards.
    ByDestination(Box<dyn Engine>),
    /// On the source too: LIDs must be found that realise its paths.
    ByPath(Box<dyn PathEngine>),
}

/// An engine that can be chosen.
pub struct EngineEntry {
    /// Its name.
    pub name: &'static str,
    /// One line on the engine, with its source.
    pub about: &'static str,
    /// Whether its routes are free of deadlock by construction.
    pub safe: bool,
    /// Whether its root can be chosen.
    pub rooted: bool,
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

fn by_path(engine: impl PathEngine + 'static) -> EngineKind {
    EngineKind::ByPath(Box::new(engine))
}

/// The engine of a single change, if none is given.
pub const DEFAULT_ENGINE: &str = up_down::NAME;

/// The engines of a running manager, and of OpenSM's plugin, if none are given, in the order in which they are tried:
/// fat trees by their own; elsewhere up*/down* by the order that outlives its root.
pub const MANAGER_ENGINES: [&str; 2] = [fat_tree::NAME, FALLBACK_ENGINE];

/// The engine that takes over if those of a manager find no routing.
pub const FALLBACK_ENGINE: &str = up_down_robust::NAME;

/// All engines.
pub const ENGINES: &[EngineEntry] = &[
    EngineEntry {
        name: up_down::NAME,
        about: "restricted up*/down*: down wherever a way down exists (Duato 2001)",
        safe: true,
        rooted: true,
        make: |parameters| by_destination(UpDown { root: parameters.root }),
    },
    EngineEntry {
        name: up_down_robust::NAME,
        about: "up*/down* whose order of switches outlives the loss of its root",
        safe: true,
        rooted: true,
        make: |parameters| by_destination(UpDownRobust { root: parameters.root }),
    },
    EngineEntry {
        name: up_down_paths::RANDOM,
        about: "up*/down*: a random shortest legal path for each pair of ports (López, Flich, Duato 2001)",
        safe: true,
        rooted: true,
        make: |parameters| by_path(UpDownRandom { root: parameters.root, seed: parameters.seed }),
    },
    EngineEntry {
        name: up_down_paths::BALANCED,
        about: "up*/down*: for each pair of ports the shortest legal path with the least loaded links",
        safe: true,
        rooted: true,
        make: |parameters| by_path(UpDownBalanced { root: parameters.root }),
    },
    EngineEntry {
        name: multiple_roots::NAME,
        about: "up*/down* with a root for each layer, LIDs of a port by different ones (after Lysne, Skeie 2001)",
        safe: true,
        rooted: true,
        make: |parameters| by_destination(MultipleRoots { root: parameters.root }),
    },
    EngineEntry {
        name: fully_explicit::NAME,
        about: "up*/down* with one LID for each destination, balanced (after Sancho, Robles, Duato 2001)",
        safe: true,
        rooted: true,
        make: |parameters| by_destination(FullyExplicit { model: TurnModel::UpDown, root: parameters.root }),
    },
    EngineEntry {
        name: shortest_widest::NAME,
        about: "up*/down*: shortest legal paths, of those the one of least weight (Nienaber, Yuan, Duan 2007)",
        safe: true,
        rooted: true,
        make: |parameters| by_path(ShortestWidest { model: TurnModel::UpDown, root: parameters.root }),
    },
    EngineEntry {
        name: path_selection::NAME,
        about: "up*/down*: of up to 16 legal paths the one left when those over busy links go (Koibuchi 2005)",
        safe: true,
        rooted: true,
        make: |parameters| by_path(PathSelection { root: parameters.root, ..PathSelection::default() }),
    },
    EngineEntry {
        name: path_selection::SWITCHES,
        about: "path selection with one path for each pair of switches: fewer LIDs",
        safe: true,
        rooted: true,
        make: |parameters| by_path(PathSelection { root: parameters.root, ..PathSelection::between_switches() }),
    },
    EngineEntry {
        name: l_turn::NAME,
        about: "left before right in a walk of the tree: the least loaded shortest legal paths (after Koibuchi 2001)",
        safe: true,
        rooted: true,
        make: |parameters| by_path(LTurn { root: parameters.root, seed: None }),
    },
    EngineEntry {
        name: smart::NAME,
        about: "a linear program chooses among legal paths of up*/down* (after Cherkasova, Kotov, Rokicki 1996)",
        safe: true,
        rooted: true,
        make: |parameters| by_path(Smart { root: parameters.root, ..Smart::default() }),
    },
    EngineEntry {
        name: min_hop::NAME,
        about: "fewest hops, evenly spread, nothing done against deadlock: for comparison (OpenSM's default)",
        safe: false,
        rooted: false,
        make: |_| by_destination(MinHop),
    },
    EngineEntry {
        name: dfsssp::NAME,
        about: "fewest hops, spread over whole ways, layers by breaking cycles (Domke, Hoefler, Nagel 2011)",
        safe: true,
        rooted: false,
        make: |_| by_destination(Dfsssp),
    },
    EngineEntry {
        name: nue::NAME,
        about: "short ways within the dependency graph, on however few layers (Domke, Hoefler, Matsuoka 2016)",
        safe: true,
        rooted: false,
        make: |_| by_destination(Nue),
    },
    EngineEntry {
        name: lash::NAME,
        about: "fewest hops, each pair of switches on the first layer that it leaves acyclic (Skeie, Lysne, Theiss 2002)",
        safe: true,
        rooted: false,
        make: |_| by_destination(Lash),
    },
    EngineEntry {
        name: fat_tree::NAME,
        about: "up and then down by the destination's number, for fat trees, faults allowed (d-mod-k, Zahavi 2010)",
        safe: true,
        rooted: false,
        make: |_| by_destination(FatTree),
    },
];

/// Their names.
pub fn names() -> Vec<&'static str> {
    ENGINES.iter().map(|entry| entry.name).collect()
}

/// What an engine of OpenSM is called here, in words; none if it has the same name, or no counterpart.
pub fn of_opensm(name: &str) -> Option<String> {
    let own = match name.to_lowercase().as_str() {
        "updn" | "dnup" => up_down::NAME,
        "ftree" => fat_tree::NAME,
        "minhop" => min_hop::NAME,
        "sssp" => dfsssp::NAME,
        _ => return None,
    };
    Some(format!("OpenSM's {name} is {own} here"))
}

/// The engine of a name.
///
/// # Errors
/// A name that is not in [`ENGINES`].
pub fn engine_named(name: &str, parameters: &Parameters) -> Result<EngineKind, RouteError> {
    let entry = ENGINES.iter().find(|entry| entry.name == name);
    entry.map(|entry| entry.make(parameters)).ok_or_else(|| RouteError::NoSuchEngine { name: name.to_string() })
}

/// [`Engine::switch_order`] of an engine by name; none if its routes depend on sources, or there is no such engine.
pub fn switch_order(engine: &str, fabric: &Fabric, root: NodeId) -> Option<Vec<NodeId>> {
    by_destination_named(engine)?.switch_order(fabric, root)
}

/// [`Engine::chosen_root`] of an engine by name; none if its routes depend on sources, or there is no such engine.
pub fn chosen_root(engine: &str, fabric: &Fabric) -> Option<NodeId> {
    by_destination_named(engine)?.chosen_root(fabric)
}

fn by_destination_named(name: &str) -> Option<Box<dyn Engine>> {
    match engine_named(name, &Parameters::default()) {
        Ok(EngineKind::ByDestination(engine)) => Some(engine),
        Ok(EngineKind::ByPath(_)) | Err(_) => None,
    }
}
