//! A routing function's use of a fabric: the lengths of its paths, and the number of paths over each cable.

use super::RoutingFunction;
use crate::fabric::{Fabric, NodeId, PortId};

/// The paths of a routing function between end ports: one for each ordered pair and each path number that the
/// destination needs and the source may use. Paths that do not arrive are not counted.
#[derive(Clone, PartialEq, Debug)]
pub struct Usage {
    /// The number of paths.
    pub paths: u64,
    /// Switches on a path: the fewest, the sum over all paths, the most; 0 without paths.
    pub switches: [u64; 3],
    /// By port: the number of paths that leave through it.
    load: Vec<u32>,
}

impl Usage {
    /// Counts the paths of `function`.
    pub fn of(fabric: &Fabric, function: &RoutingFunction) -> Usage {
        let mut usage = Usage { paths: 0, switches: [0; 3], load: vec![0; fabric.port_count()] };
        let homes = homes(fabric);
        let mut way = Vec::new();
        for (rank, &destination) in function.destinations().iter().enumerate() {
            if fabric.node(fabric.port(destination).node).is_switch() {
                continue;
            }
            for path in 0..function.needed(rank) {
                for (home, sources) in &homes {
                    let senders = sources.iter().filter(|&&source| opens(function, source, destination, path)).count();
                    if senders > 0 {
                        way.clear();
                        way.extend(function.way(fabric, *home, rank, path));
                    }
                    if senders > 0 && way.last().and_then(|&port| fabric.peer(port)) == Some(destination) {
                        usage.add(&way, senders as u32);
                    }
                }
            }
        }
        usage
    }

    fn add(&mut self, way: &[PortId], senders: u32) {
        let (length, many) = (way.len() as u64, u64::from(senders));
        let [least, all, most] = self.switches;
        let least = if self.paths == 0 { length } else { least.min(length) };
        self.switches = [least, all + length * many, most.max(length)];
        self.paths += many;
        way.iter().for_each(|port| self.load[port.index()] += senders);
    }

    /// The mean number of switches on a path.
    pub fn mean_switches(&self) -> f64 {
        self.switches[1] as f64 / self.paths.max(1) as f64
    }

    /// The number of paths that leave through a port.
    pub fn load(&self, port: PortId) -> u32 {
        self.load[port.index()]
    }

    /// Every port that leads from one switch to another, with the number of paths that leave through it.
    pub fn between_switches<'a>(&'a self, fabric: &'a Fabric) -> impl Iterator<Item = (PortId, u32)> + 'a {
        channels_between_switches(fabric).map(|id| (id, self.load(id)))
    }
}

/// Every port that leads from one switch to another.
pub(super) fn channels_between_switches(fabric: &Fabric) -> impl Iterator<Item = PortId> + '_ {
    let is_switch = |node: NodeId| fabric.node(node).is_switch();
    let inner =
        fabric.ports().filter(move |&(id, port)| is_switch(port.node) && fabric.neighbour(id).is_some_and(is_switch));
    inner.map(|(id, _)| id)
}

/// Every present switch with end ports, and those ports.
pub(super) fn homes(fabric: &Fabric) -> Vec<(NodeId, Vec<PortId>)> {
    let borne = |switch: NodeId| -> Vec<PortId> {
        let ends = fabric.ports_of(switch).filter_map(|port| fabric.peer(port));
        ends.filter(|&end| !fabric.node(fabric.port(end).node).is_switch()).collect()
    };
    fabric.switches().map(|switch| (switch, borne(switch))).filter(|(_, ends)| !ends.is_empty()).collect()
}

/// Returns whether a source may send to a destination, other than itself, by this path.
pub(super) fn opens(function: &RoutingFunction, source: PortId, destination: PortId, path: usize) -> bool {
    let open = function.path_layers().is_none_or(|layers| layers.layer(source, destination, path).is_some());
    source != destination && open
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, Topology, generate};
    use crate::routing::{Demand, Engine, UpDown};

    #[test]
    fn paths_of_a_star_are_counted() {
        // Three leaves of two hosts each under one spine.
        let topology: Topology = "leaf-spine:3,1,2".parse().expect("a topology");
        let fabric = generate(&topology, &Options::default()).expect("a fabric");
        let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 2)).expect("it routes");
        let usage = Usage::of(&fabric, &function);
        // Two LIDs each: 6 × 5 pairs; one in five stays below its leaf, which is one switch instead of three.
        assert_eq!((usage.paths, usage.switches), (60, [1, 12 + 3 * 48, 3]));
        assert!((usage.mean_switches() - 2.6).abs() < 1e-12);
        let loads: Vec<u32> = usage.between_switches(&fabric).map(|(_, load)| load).collect();
        assert_eq!(loads, [16; 6], "each leaf sends from two hosts to four, and is sent as much, twice");
    }
}
