//! Engines: a fabric in, a routing function out, one engine a file.
//!
//! On entry: a [`Fabric`] and a [`Demand`], the ports to reach and the number of paths to each. On return: a
//! [`RoutingFunction`] with a route from every switch with a demanded port to every demanded port, or an error that
//! names what cannot be connected. An engine never falls back to another one; a list of engines that the user gave
//! ([`FirstOf`]) does. The same input gives the same tables: ties are broken by load, then by port number. Engines
//! promise freedom from deadlock; `verify` checks it. Trees for multicast ([`SpanningTree`]) are searched for along the
//! engines' orders of the switches first ([`TreeSearch`]). Deliberately omitted: LIDs (`lid` realises a function), the
//! input port (InfiniBand forwards by DLID alone).

mod acyclic;
mod connectivity;
mod dfsssp;
mod downhill;
mod earlier;
mod fat_tree;
mod first_of;
mod flat_graph;
mod forest;
mod fully_explicit;
mod guarded;
mod imported;
mod l_turn;
mod lash;
mod layers;
mod legal;
mod load;
mod min_hop;
mod multiple_roots;
mod nue;
mod path_selection;
mod registry;
mod relief;
mod shortest_widest;
mod smart;
mod spanning_tree;
mod spread;
mod switch_graph;
mod switch_tree;
mod tree_search;
mod turn_search;
mod up_down;
mod up_down_paths;
mod up_down_robust;

pub use connectivity::{Connectivity, stranded};
pub use dfsssp::Dfsssp;
pub use fat_tree::FatTree;
pub use first_of::FirstOf;
pub use fully_explicit::FullyExplicit;
pub use imported::Imported;
pub use l_turn::LTurn;
pub use lash::Lash;
pub use legal::{TurnModel, TurnRule, random_root};
pub use min_hop::MinHop;
pub use multiple_roots::MultipleRoots;
pub use nue::Nue;
pub use path_selection::{PathSelection, Removed, SelectedPairs, SelectionRule, Ties};
pub use registry::{
    DEFAULT_ENGINE, ENGINES, EngineEntry, EngineKind, FALLBACK_ENGINE, MANAGER_ENGINES, Parameters, chosen_root,
    engine_named, of_opensm, switch_order,
};
pub use shortest_widest::ShortestWidest;
pub use smart::{Smart, SmartOptimum, SmartTurns};
pub use spanning_tree::SpanningTree;
pub use tree_search::{FoundTree, TreeSearch};
pub use up_down::{UpDown, choose_root};
pub use up_down_paths::{UpDownBalanced, UpDownRandom};
pub use up_down_robust::UpDownRobust;

use crate::fabric::{Fabric, NodeId, PortId};
use crate::tables::{PathSet, RoutingFunction};

/// The ports that an engine must connect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Ports that own LIDs: cabled end ports, port 0 of present switches. Others get no route.
    pub destinations: Vec<PortId>,
    /// Paths to each destination: with LMC m, one for each LID of a half is 2^(m−1).
    pub paths: usize,
    /// The most virtual layers that may be used, 1 to 8: both lane sets of a change have a lane for each.
    pub layers: u8,
}

/// The most layers possible: each takes one of the eight service levels of a half.
pub const MOST_LAYERS: u8 = 8;

impl Demand {
    /// Every end port and every switch of the fabric.
    pub fn all(fabric: &Fabric, paths: usize) -> Demand {
        Demand { destinations: fabric.lid_ports().collect(), paths, layers: MOST_LAYERS }
    }

    /// Every end port and switch connected to `sm`; the rest is omitted.
    pub fn joined_with(fabric: &Fabric, sm: PortId, paths: usize) -> Demand {
        let links = Connectivity::of(fabric);
        let destinations = fabric.lid_ports().filter(|&port| links.joins(port, sm)).collect();
        Demand { destinations, paths, layers: MOST_LAYERS }
    }

    /// This demand with room for fewer layers.
    #[must_use]
    pub fn within(self, layers: u8) -> Demand {
        Demand { layers, ..self }
    }
}

/// Why an engine cannot route.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No engine of that name.
    #[error(
        "there is no engine `{name}`{}; choose one of: {}",
        registry::of_opensm(name).map_or_else(String::new, |own| format!(" ({own})")),
        registry::names().join(", ")
    )]
    NoSuchEngine {
        /// The unknown name.
        name: String,
    },
    /// The given root is not a switch, or has left the fabric.
    #[error("{engine}: the given root, {root}, is not a present switch; name one, or leave the choice to the engine")]
    RootAbsent {
        /// The engine.
        engine: &'static str,
        /// The node given.
        root: String,
    },
    /// The given root is not connected to a demanded port.
    #[error(
        "{engine}: no links connect the given root, {root}, to {port}, which must be reached; name a root connected to it"
    )]
    RootApart {
        /// The engine.
        engine: &'static str,
        /// The root given.
        root: String,
        /// A demanded port.
        port: String,
    },
    /// More virtual layers are needed than are available.
    #[error(
        "{engine}: {needed} virtual layers are needed, but only {offered} are available; give the subnet more data VLs (--vls; \
         a change splits them in two sets), or choose another engine"
    )]
    TooFewLayers {
        /// The engine.
        engine: &'static str,
        /// Layers needed.
        needed: usize,
        /// Layers available.
        offered: u8,
    },
    /// The fabric does not have the topology that the engine requires.
    #[error("{engine}: {why}; choose another engine")]
    Unsuited {
        /// The engine.
        engine: &'static str,
        /// The requirement, and where it fails.
        why: String,
    },
    /// The engine's paths cannot be realised.
    #[error("{engine}: {why}")]
    Unrealised {
        /// The engine.
        engine: &'static str,
        /// Why not, naming the destination.
        why: String,
    },
    /// The number of paths is zero, or more than an LMC can realise.
    #[error("{engine}: {paths} paths to each destination were requested; 1 to 128 are possible")]
    Paths {
        /// The engine.
        engine: &'static str,
        /// The number given.
        paths: usize,
    },
    /// Of a list of engines none can.
    #[error("no engine of the list can route the fabric: {refusals}")]
    NoneOf {
        /// The message of each, in order.
        refusals: String,
    },
    /// Demanded ports are not connected.
    #[error(
        "{engine}: {pairs} ordered pairs of ports are not connected by any links, among them {examples}; \
         demand only what is joined with the subnet manager's port to leave the others out"
    )]
    Unreachable {
        /// The engine.
        engine: &'static str,
        /// Ordered pairs.
        pairs: usize,
        /// The first few.
        examples: String,
    },
}

/// A routing engine.
pub trait Engine: Send + Sync {
    /// Its name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// Routes every demanded port from every switch connected to it.
    ///
    /// # Errors
    /// Demanded ports are not connected, or parameters do not suit the fabric.
    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError>;

    /// The root that it was given, if it has an order of switches; else it chooses one by itself
    /// ([`Engine::chosen_root`]).
    fn given_root(&self) -> Option<NodeId> {
        None
    }

    /// The root that it chooses for ways between all end ports, if none is given; none without switches.
    fn chosen_root(&self, fabric: &Fabric) -> Option<NodeId> {
        choose_root(fabric)
    }

    /// The switches that are connected to `root`, in the order by which its routes go up to the front of that order and
    /// down from it: a guide for repairs of tables that it made. None if it has no such order, or if `root` is not a
    /// present switch.
    fn switch_order(&self, fabric: &Fabric, root: NodeId) -> Option<Vec<NodeId>> {
        let _ = (fabric, root);
        None
    }
}

/// An engine whose routes depend on the source: it yields paths, which `lid` realises.
pub trait PathEngine: Send + Sync {
    /// Its name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// One or more paths from every demanded port to every other connected, demanded end port; and paths along one tree
    /// to every demanded switch, since a switch has one LID.
    ///
    /// # Errors
    /// Demanded ports are not connected, or parameters do not suit the fabric.
    fn paths(&self, fabric: &Fabric, demand: &Demand) -> Result<PathSet, RouteError>;
}
