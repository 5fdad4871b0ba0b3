//! Spreads load over equal choices. Among the ports that serve a destination equally well, it prefers one by which no
//! earlier path to it had the same whole way, or else the way unused for longest; on ties the port used least by
//! earlier paths, then the neighbour used least by earlier paths, then the port with the fewest end ports so far, on
//! the current path and on all, then the lowest number.

use super::earlier::Earlier;
use super::switch_graph::SwitchGraph;
use crate::fabric::Fabric;
use crate::ids::PortNum;

/// No switch.
const NOWHERE: u32 = u32::MAX;

/// The number of end ports routed so far through each port of each switch.
pub(super) struct Spread {
    /// By row and port number: by all paths; then, if there are several, by the first, the second, and so on.
    loads: Vec<Vec<[u32; 256]>>,
    /// By row and port number: the row of the switch that it leads to, [`NOWHERE`] where it leads to none.
    neighbour: Vec<[u32; 256]>,
    /// By row: the ports that earlier paths to the current destination took.
    taken: Vec<Vec<PortNum>>,
    /// Ways of earlier paths to it; a port stands for the channel that it sends into.
    earlier: Earlier,
}

impl Spread {
    /// No routes yet; there will be `paths` paths to each destination.
    pub fn new(graph: &SwitchGraph, paths: usize) -> Spread {
        let rows = graph.len();
        let mut neighbour = vec![[NOWHERE; 256]; rows];
        for (row, ports) in neighbour.iter_mut().enumerate() {
            for next in graph.neighbours(row) {
                next.ports.iter().for_each(|port| ports[port.index()] = next.row as u32);
            }
        }
        let counts = if paths > 1 { paths + 1 } else { 1 };
        Spread {
            loads: vec![vec![[0; 256]; rows]; counts],
            neighbour,
            taken: vec![Vec::new(); rows],
            earlier: Earlier::new(rows, paths),
        }
    }

    /// Begins a destination: no path to it took any port.
    pub fn begin(&mut self) {
        self.taken.iter_mut().for_each(Vec::clear);
        self.earlier.begin();
    }

    /// Begins the next path to it. A row must choose after the rows that it can choose to send to.
    pub fn next_path(&mut self) {
        self.earlier.next_path();
    }

    /// The port for the next path at `row`, out of `choices`. `weight` is 1 for end ports, 0 for what bears no data.
    pub fn choose(&mut self, row: usize, path: usize, choices: &[PortNum], weight: u32) -> Option<PortNum> {
        let (taken, led_to) = (&self.taken[row], &self.neighbour[row]);
        let uses = |port: PortNum| taken.iter().filter(|&&earlier| earlier == port).count();
        let visits =
            |port: PortNum| taken.iter().filter(|earlier| led_to[earlier.index()] == led_to[port.index()]).count();
        // The port that delivers leads to no switch.
        let beyond = |port: PortNum| Some(led_to[port.index()] as usize).filter(|&next| next != NOWHERE as usize);
        let last = |port: PortNum| beyond(port).map_or(0, |next| self.earlier.last(row, port.0.into(), next));
        let (paths, all) = (self.loads.len() as u32 - 1, &self.loads[0][row]);
        let own = |port: PortNum| self.loads.get(path + 1).map_or(0, |class| paths * class[row][port.index()]);
        let best = choices
            .iter()
            .copied()
            .min_by_key(|&port| (last(port), uses(port), visits(port), all[port.index()] + own(port), port))?;
        if let Some(next) = beyond(best) {
            self.earlier.settle(row, best.0.into(), next);
        }
        self.loads[0][row][best.index()] += weight;
        if let Some(class) = self.loads.get_mut(path + 1) {
            class[row][best.index()] += weight;
        }
        self.taken[row].push(best);
        Some(best)
    }
}

/// The weight of a destination: only end ports receive data.
pub(super) fn weight_of(fabric: &Fabric, destination: crate::fabric::PortId) -> u32 {
    u32::from(!fabric.node(fabric.port(destination).node).is_switch())
}
