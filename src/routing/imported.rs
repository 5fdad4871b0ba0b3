//! A routing function from the tables of another program: OpenSM's, as it dumps them.
//!
//! The LIDs of the capture give table entries their meaning: path k of a destination is the route of its k-th LID. If
//! the second half of every port's LIDs has the routes of the first, on the same service levels or on those eight
//! above, they are taken for the same paths. Service levels, if a dump lists them, become layers in ascending order.
//! This module judges nothing: tables with holes or loops give a function with the same faults, which `verify` refuses.

use super::{Demand, Engine, RouteError};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Lid, PortNum, Sl};
use crate::tables::dump::PathSls;
use crate::tables::{Lft, PathLayers, RoutingFunction};
use std::sync::Arc;

/// The engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Imported {
    /// By node.
    lfts: Vec<Arc<Lft>>,
    /// By port: the first LID of the capture, and the number of LIDs.
    lids: Vec<Option<(Lid, u16)>>,
    levels: Option<PathSls>,
}

impl Imported {
    /// Its name as an engine.
    pub const NAME: &str = "imported";

    /// Forwarding tables by node, and service levels of paths where they are known, of a fabric with LIDs.
    pub fn new(fabric: &Fabric, lfts: &[Arc<Lft>], levels: Option<PathSls>) -> Imported {
        let lids = fabric.ports().map(|(_, port)| Some((port.lid?, port.lmc.lids()))).collect();
        Imported { lfts: lfts.to_vec(), lids, levels }
    }

    /// A destination's LID for a path: ports with fewer LIDs repeat them.
    fn lid(&self, destination: PortId, path: usize) -> Option<Lid> {
        let (base, lids) = self.lids[destination.index()]?;
        Some(Lid(base.0 + (path % usize::from(lids)) as u16))
    }

    /// As many as the port with most LIDs has; half of them while the second half has the routes of the first.
    fn paths(&self, fabric: &Fabric, destinations: &[PortId]) -> usize {
        let lids = destinations.iter().filter_map(|port| self.lids[port.index()]).map(|(_, lids)| usize::from(lids));
        let mut paths = lids.max().unwrap_or(1);
        while paths > 1 && self.repeats(fabric, destinations, paths / 2) {
            paths /= 2;
        }
        paths
    }

    fn repeats(&self, fabric: &Fabric, destinations: &[PortId], period: usize) -> bool {
        let pairs = || {
            let both = move |port: &PortId, path| Some((self.lid(*port, path)?, self.lid(*port, path + period)?));
            destinations.iter().flat_map(move |port| (0..period).filter_map(move |path| both(port, path)))
        };
        let alike = |(one, other)| {
            fabric.switches().all(|switch| {
                let table = &self.lfts[switch.index()];
                table.get(one) == table.get(other)
            })
        };
        let heard = |(one, other)| {
            destinations.iter().all(|&source| {
                let [one, other] = [one, other].map(|lid| self.level(source, lid));
                one == other || one.map(raised) == other
            })
        };
        pairs().all(|pair| alike(pair) && heard(pair))
    }

    /// The service level of a source's packets; 0 if no dump mentions the source.
    fn level(&self, source: PortId, lid: Lid) -> Option<u8> {
        match self.levels.as_ref().filter(|levels| levels.tells_of(source)) {
            Some(levels) => levels.get(source, lid).map(Sl::get),
            None => Some(0),
        }
    }

    /// The paths that each source may use, with service levels: group, rank, path, level.
    fn levels(&self, ports: &[PortId], paths: usize) -> impl Iterator<Item = (usize, usize, usize, u8)> {
        let ends = (0..ports.len()).flat_map(|group| (0..ports.len()).map(move |rank| (group, rank)));
        ends.filter(|(group, rank)| group != rank).flat_map(move |(group, rank)| {
            let level = move |path| {
                let level = self.level(ports[group], self.lid(ports[rank], path)?)?;
                Some((group, rank, path, level))
            };
            (0..paths).filter_map(level)
        })
    }

    fn layers(&self, fabric: &Fabric, demand: &Demand, paths: usize) -> Result<PathLayers, RouteError> {
        let ports = &demand.destinations;
        let mut used = [false; 16];
        self.levels(ports, paths).for_each(|(.., level)| used[usize::from(level)] = true);
        let needed = used.iter().filter(|&&used| used).count();
        if needed > usize::from(demand.layers) {
            return Err(RouteError::TooFewLayers { engine: Imported::NAME, needed, offered: demand.layers });
        }
        let mut layers = PathLayers::by_port(fabric, ports, ports, paths);
        let layer = |level: u8| used[..usize::from(level)].iter().filter(|&&used| used).count() as u8;
        self.levels(ports, paths).for_each(|(group, rank, path, level)| layers.open(group, rank, path, layer(level)));
        Ok(layers)
    }
}

/// The corresponding service level of the upper half.
fn raised(level: u8) -> u8 {
    level + 8
}

impl Engine for Imported {
    fn name(&self) -> &'static str {
        Imported::NAME
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let unknown = |port: &&PortId| self.lids[port.index()].is_none();
        if let Some(&port) = demand.destinations.iter().find(unknown) {
            let why = format!(
                "the capture gives no LID for {}, so no table shows how to reach it",
                fabric.describe_port(port)
            );
            return Err(RouteError::Unsuited { engine: Imported::NAME, why });
        }
        let paths = self.paths(fabric, &demand.destinations);
        let mut function = RoutingFunction::new(fabric, Imported::NAME, demand.destinations.clone(), paths);
        for switch in fabric.switches() {
            let table = &self.lfts[switch.index()];
            let outputs = function.outputs_mut(switch);
            for (slot, output) in outputs.iter_mut().enumerate() {
                let lid = self.lid(demand.destinations[slot / paths], slot % paths);
                *output = lid.and_then(|lid| table.get(lid)).unwrap_or(PortNum::NO_ROUTE).0;
            }
        }
        if self.levels.is_some() {
            function.set_path_layers(self.layers(fabric, demand, paths)?);
        }
        Ok(function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, Topology, generate};
    use crate::ids::{Half, Lmc};
    use crate::routing::UpDown;
    use crate::tables::dump::{read_path_sls, write_path_sls};

    fn fabric(lmc: u8) -> Fabric {
        let topology: Topology = "torus:3x3,2".parse().expect("a topology");
        let made = generate(&topology, &Options::default()).expect("a torus");
        crate::lid::assign(&made, Lmc::masked(lmc)).expect("LIDs suffice")
    }

    #[test]
    fn tables_give_back_the_function_that_they_realise() {
        for (lmc, paths) in [(0, 1), (1, 1), (2, 2), (3, 4)] {
            let fabric = fabric(lmc);
            let demand = Demand::all(&fabric, paths);
            let function = UpDown::default().route(&fabric, &demand).expect("it routes");
            let tables = crate::lid::bring_up(&fabric, &function, 4);
            let imported = Imported::new(&fabric, &tables.lfts, None).route(&fabric, &demand).expect("all have LIDs");
            assert!(paths.is_multiple_of(imported.paths()), "LMC {lmc}: {} paths of {paths}", imported.paths());
            let again = crate::lid::realise(&fabric, &imported, &[Half::Lower, Half::Upper]);
            assert_eq!(again, tables.lfts, "LMC {lmc}");
        }
    }

    #[test]
    fn service_levels_become_layers_and_what_has_none_is_closed() {
        let fabric = fabric(0);
        let demand = Demand::all(&fabric, 1);
        let function = UpDown::default().route(&fabric, &demand).expect("it routes");
        let tables = crate::lid::bring_up(&fabric, &function, 4);
        let ends: Vec<PortId> = fabric.end_ports().collect();
        let level = |source: PortId, lid: Lid| match (source == ends[0], lid.0 % 3) {
            (true, 0) => None,
            (_, rest) => Sl::new(rest as u8 * 2),
        };
        let text: String = write_path_sls(&fabric, level).collect();
        let levels = read_path_sls(text.as_bytes(), "levels", &fabric).expect("what was written is read");
        let engine = Imported::new(&fabric, &tables.lfts, Some(levels));
        let function = engine.route(&fabric, &demand).expect("three levels fit");
        let layers = function.path_layers().expect("levels were given");
        assert_eq!(layers.layers(), 3);
        for &destination in &ends[1..] {
            let lid = fabric.port(destination).lid.expect("an assigned LID");
            let layer = layers.layer(ends[0], destination, 0);
            assert_eq!(layer, Some((lid.0 % 3) as u8).filter(|&layer| layer > 0), "to LID {lid}");
        }
        let narrow = engine.route(&fabric, &Demand::all(&fabric, 1).within(2));
        assert!(matches!(narrow, Err(RouteError::TooFewLayers { needed: 3, offered: 2, .. })));
    }

    #[test]
    fn a_port_without_a_lid_is_named() {
        let fabric = fabric(0);
        let bare = fabric.with_lids([]).expect("no LIDs");
        let error = Imported::new(&bare, &[], None).route(&fabric, &Demand::all(&fabric, 1));
        assert!(error.is_err_and(|error| error.to_string().contains("gives no LID for")));
    }
}
