//! The number of different paths that a routing function gives a source: several LIDs help only as far as their paths
//! differ.

use super::RoutingFunction;
use super::usage::{homes, opens};
use crate::fabric::{Fabric, PortId};

/// The paths open to a source, over ordered pairs of end ports on different switches; a pair on one switch has only
/// one. Two paths differ if they use a different cable anywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Diversity {
    /// The number of pairs.
    pub pairs: u64,
    /// The most paths open to any source towards a destination: LIDs of a half that it may choose from.
    pub offered: usize,
    /// Different paths of a pair: the fewest, the sum over all pairs, the most; 0 without pairs.
    pub distinct: [u64; 3],
}

impl Diversity {
    /// Follows every path of every pair.
    pub fn of(fabric: &Fabric, function: &RoutingFunction) -> Diversity {
        let mut diversity = Diversity::default();
        let homes = homes(fabric);
        let mut led_to = vec![false; fabric.port_count()];
        function.destinations().iter().for_each(|port| led_to[port.index()] = true);
        for (destination, &to) in function.destinations().iter().enumerate() {
            if fabric.node(fabric.port(to).node).is_switch() {
                continue;
            }
            for (home, sources) in homes.iter().filter(|&&(home, _)| fabric.neighbour(to) != Some(home)) {
                let paths = 0..function.needed(destination);
                let ways: Vec<Vec<PortId>> =
                    paths.map(|path| function.way(fabric, *home, destination, path).collect()).collect();
                for &from in sources.iter().filter(|from| led_to[from.index()]) {
                    diversity.add(ways.iter().enumerate().filter(|&(path, _)| opens(function, from, to, path)));
                }
            }
        }
        diversity
    }

    /// The mean number of different paths of a pair; 0 without pairs.
    pub fn mean(&self) -> f64 {
        self.distinct[1] as f64 / self.pairs.max(1) as f64
    }

    fn add<'a>(&mut self, open: impl Iterator<Item = (usize, &'a Vec<PortId>)>) {
        let mut ways: Vec<&Vec<PortId>> = open.map(|(_, way)| way).collect();
        self.offered = self.offered.max(ways.len());
        ways.sort_unstable();
        ways.dedup();
        let here = ways.len() as u64;
        let [least, all, most] = self.distinct;
        let least = if self.pairs == 0 { here } else { least.min(here) };
        self.distinct = [least, all + here, most.max(here)];
        self.pairs += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, Topology, generate};
    use crate::routing::{Demand, Engine, FatTree};

    #[test]
    fn ways_over_different_spines_are_told_apart() {
        // Three leaves of two hosts each under three spines.
        let topology: Topology = "leaf-spine:3,3,2".parse().expect("a topology");
        let fabric = generate(&topology, &Options::default()).expect("a fabric");
        for (paths, ways) in [(1, 1), (2, 2), (4, 3)] {
            let function = FatTree.route(&fabric, &Demand::all(&fabric, paths)).expect("a fat tree");
            let diversity = Diversity::of(&fabric, &function);
            let wanted = Diversity { pairs: 24, offered: paths, distinct: [ways, 24 * ways, ways] };
            assert_eq!(diversity, wanted, "each of six sends to four on other leaves");
            assert!((diversity.mean() - ways as f64).abs() < 1e-12);
        }
    }
}
