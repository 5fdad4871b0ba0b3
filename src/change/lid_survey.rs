//! How many LIDs an engine's routing needs, by destination: what `lid` finds, before any LID is given away.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::lid::{self, Heuristic, LidError, Needs};
use crate::routing::{Demand, EngineKind, RouteError};
use crate::tables::{PathSet, RoutingFunction};

/// What an engine computes.
pub enum Computed {
    /// A routing function by DLID, which says by itself how many LIDs it needs.
    Function(RoutingFunction),
    /// Paths, for which LIDs must be found.
    Paths(PathSet),
}

impl Computed {
    /// Has an engine route a fabric.
    ///
    /// # Errors
    /// The engine cannot.
    pub fn by(engine: &EngineKind, fabric: &Fabric, demand: &Demand) -> Result<Computed, RouteError> {
        match engine {
            EngineKind::ByDestination(engine) => engine.route(fabric, demand).map(Computed::Function),
            EngineKind::ByPath(engine) => engine.paths(fabric, demand).map(Computed::Paths),
        }
    }

    /// The engine's name.
    pub fn engine(&self) -> &'static str {
        match self {
            Computed::Function(function) => function.engine(),
            Computed::Paths(paths) => paths.engine(),
        }
    }

    /// The root of the spanning tree, where the engine has one.
    pub fn root(&self) -> Option<NodeId> {
        match self {
            Computed::Function(function) => function.root(),
            Computed::Paths(paths) => paths.root(),
        }
    }

    /// LIDs that each end port among the destinations needs in a half, in the order of the destinations.
    pub fn needed(&self, fabric: &Fabric, heuristic: Heuristic) -> Vec<(PortId, usize)> {
        let (destinations, needed): (&[PortId], Vec<usize>) = match self {
            Computed::Function(function) => {
                let ranks = 0..function.destinations().len();
                (function.destinations(), ranks.map(|rank| function.needed(rank)).collect())
            }
            Computed::Paths(paths) => {
                let numbered = lid::number_paths(fabric, paths, &*heuristic.solver());
                (paths.destinations(), numbered.needed().iter().map(|&needed| needed as usize).collect())
            }
        };
        let is_end = |port: PortId| !fabric.node(fabric.port(port).node).is_switch();
        destinations.iter().copied().zip(needed).filter(|&(port, _)| is_end(port)).collect()
    }
}

/// The fabric with LIDs that give each half what is needed, each port its own LMC.
///
/// # Errors
/// LIDs that do not suffice.
pub fn assign_needed(fabric: &Fabric, needed: &[(PortId, usize)]) -> Result<Fabric, LidError> {
    let mut needs = Needs::one(fabric);
    for &(port, needed) in needed {
        needs.raise(fabric, port, needed)?;
    }
    lid::assign_each(fabric, &needs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, Topology, generate};
    use crate::routing::{Parameters, engine_named};

    #[test]
    fn what_a_heuristic_finds_is_what_ports_get() {
        let topology: Topology = "random-regular:16,4,2".parse().expect("a topology");
        let fabric = generate(&topology, &Options::default()).expect("a graph");
        for (name, most) in [("up-down", 1), ("up-down-random", 4)] {
            let engine = engine_named(name, &Parameters::default()).expect("an engine");
            let computed = Computed::by(&engine, &fabric, &Demand::all(&fabric, 1)).expect("it routes");
            let needed = computed.needed(&fabric, Heuristic::Greedy);
            assert_eq!(needed.len(), fabric.end_ports().count());
            assert_eq!(needed.iter().map(|&(_, needed)| needed).max() > Some(1), most > 1, "{name}");
            let assigned = assign_needed(&fabric, &needed).expect("LIDs suffice");
            for (port, needed) in needed {
                let lids = usize::from(assigned.port(port).lmc.lids());
                assert_eq!(lids, 2 * needed.next_power_of_two(), "{name}");
            }
        }
    }
}
