//! Engines: a fabric in, a routing function out, one engine a file.
//!
//! On entry: a [`Fabric`] and a [`Demand`], the ports that must be led to and how many paths to each. On return: a
//! [`RoutingFunction`] with a route from every switch that bears a demanded port to every demanded port, or an error
//! that names what cannot be joined. An engine never falls back to another one. Same input, same tables: choices
//! among equals go by load counted on the way, then by port number. Engines promise freedom from deadlock; `verify`
//! checks it. Lacks on purpose: LIDs (`lid` realises a function), the input port (InfiniBand forwards by DLID alone),
//! multicast.

mod acyclic;
mod connectivity;
mod dfsssp;
mod downhill;
mod earlier;
mod fat_tree;
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
mod shortest_widest;
mod smart;
mod spread;
mod switch_graph;
mod switch_tree;
mod up_down;
mod up_down_paths;

pub use connectivity::{Connectivity, stranded};
pub use dfsssp::Dfsssp;
pub use fat_tree::FatTree;
pub use fully_explicit::FullyExplicit;
pub use imported::Imported;
pub use l_turn::LTurn;
pub use lash::Lash;
pub use legal::{TurnModel, TurnRule, random_root};
pub use min_hop::MinHop;
pub use multiple_roots::MultipleRoots;
pub use nue::Nue;
pub use path_selection::{PathSelection, Removed};
pub use registry::{ENGINES, EngineEntry, EngineKind, Parameters, engine_named};
pub use shortest_widest::ShortestWidest;
pub use smart::Smart;
pub use up_down::{UpDown, choose_root};
pub use up_down_paths::{UpDownBalanced, UpDownRandom};

use crate::fabric::{Fabric, PortId};
use crate::tables::{PathSet, RoutingFunction};

/// What an engine must join.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Ports that own LIDs: cabled end ports, port 0 of present switches. Others get no route.
    pub destinations: Vec<PortId>,
    /// Paths to each destination: with LMC m, one for each LID of a half is 2^(m−1).
    pub paths: usize,
    /// The most virtual layers that may be needed, 1 to 8: there is a lane for each in both lane sets of a change.
    pub layers: u8,
}

/// The most layers that there can be: each takes one of the eight service levels of a half.
pub const MOST_LAYERS: u8 = 8;

impl Demand {
    /// Every end port and every switch of the fabric.
    pub fn all(fabric: &Fabric, paths: usize) -> Demand {
        Demand { destinations: fabric.lid_ports().collect(), paths, layers: MOST_LAYERS }
    }

    /// Every end port and switch that links join with `sm`; what is cut off from it is left out.
    pub fn joined_with(fabric: &Fabric, sm: PortId, paths: usize) -> Demand {
        let links = Connectivity::of(fabric);
        let destinations = fabric.lid_ports().filter(|&port| links.joins(port, sm)).collect();
        Demand { destinations, paths, layers: MOST_LAYERS }
    }

    /// The same with room for fewer layers.
    #[must_use]
    pub fn within(self, layers: u8) -> Demand {
        Demand { layers, ..self }
    }
}

/// Why an engine cannot route.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No engine of that name.
    #[error("there is no engine `{name}`; choose one of: {}", registry::names().join(", "))]
    NoSuchEngine {
        /// The name given.
        name: String,
    },
    /// The root given is no switch of the fabric, or has left it.
    #[error(
        "{engine}: the root given, {root}, is no switch that is present; name one, or leave the choice to the engine"
    )]
    RootAbsent {
        /// The engine.
        engine: &'static str,
        /// The node given.
        root: String,
    },
    /// The root given is not joined with what is demanded.
    #[error(
        "{engine}: no links join the root given, {root}, with {port}, which must be led to; name a root among its own"
    )]
    RootApart {
        /// The engine.
        engine: &'static str,
        /// The root given.
        root: String,
        /// A demanded port.
        port: String,
    },
    /// More virtual layers are needed than there is room for.
    #[error(
        "{engine}: {needed} virtual layers are needed and there is room for {offered}; give the subnet more data VLs (--vls; \
         a change splits them in two sets), or choose another engine"
    )]
    TooFewLayers {
        /// The engine.
        engine: &'static str,
        /// Layers needed.
        needed: usize,
        /// Layers there is room for.
        offered: u8,
    },
    /// The fabric is not of the kind that the engine routes.
    #[error("{engine}: {why}; choose another engine")]
    Unsuited {
        /// The engine.
        engine: &'static str,
        /// What it is not, and where.
        why: String,
    },
    /// The paths that the engine found cannot be realised.
    #[error("{engine}: {why}")]
    Unrealised {
        /// The engine.
        engine: &'static str,
        /// Why not, naming the destination.
        why: String,
    },
    /// No path was asked for, or more than an LMC can realise.
    #[error("{engine}: {paths} paths to each destination were asked for; from 1 to 128 are possible")]
    Paths {
        /// The engine.
        engine: &'static str,
        /// The number given.
        paths: usize,
    },
    /// Demanded ports that no links join.
    #[error(
        "{engine}: {pairs} ordered pairs of ports are not joined by any links, among them {examples}; \
         demand only what is joined with the subnet manager's port to leave the others out"
    )]
    Unreachable {
        /// The engine.
        engine: &'static str,
        /// Ordered pairs.
        pairs: usize,
        /// The first few, for people.
        examples: String,
    },
}

/// A routing engine.
pub trait Engine {
    /// Its name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// Routes every demanded port from every switch that its links join with it.
    ///
    /// # Errors
    /// Demanded ports that are not joined, or parameters that do not fit the fabric.
    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError>;
}

/// An engine whose routes depend on where a packet comes from: they are paths, and `lid` realises them.
pub trait PathEngine {
    /// Its name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// A path, or several, from every demanded port to every other demanded end port that its links join with it; and
    /// to every demanded switch paths along one tree, since a switch has one LID.
    ///
    /// # Errors
    /// Demanded ports that are not joined, or parameters that do not fit the fabric.
    fn paths(&self, fabric: &Fabric, demand: &Demand) -> Result<PathSet, RouteError>;
}
