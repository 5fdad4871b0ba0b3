//! How equal choices share the load: of the ports that serve a destination equally well, the one that an earlier path to
//! it used least, then the one that the fewest end ports are routed through so far, then the lowest number.

use crate::fabric::Fabric;
use crate::ids::PortNum;

/// How many end ports are routed through each port of each switch so far.
pub(super) struct Spread {
    /// By row and port number.
    load: Vec<[u32; 256]>,
    /// By row: the ports that earlier paths to the destination in hand took.
    taken: Vec<Vec<PortNum>>,
}

impl Spread {
    pub fn new(rows: usize) -> Spread {
        Spread { load: vec![[0; 256]; rows], taken: vec![Vec::new(); rows] }
    }

    /// Begins a destination: no path to it took any port.
    pub fn begin(&mut self) {
        self.taken.iter_mut().for_each(Vec::clear);
    }

    /// The port for the next path at `row`, out of `choices`. `weight` is 1 for end ports, 0 for what bears no data.
    pub fn choose(&mut self, row: usize, choices: &[PortNum], weight: u32) -> Option<PortNum> {
        let taken = &self.taken[row];
        let uses = |port: PortNum| taken.iter().filter(|&&earlier| earlier == port).count();
        let load = &self.load[row];
        let best = choices.iter().copied().min_by_key(|&port| (uses(port), load[port.index()], port))?;
        self.load[row][best.index()] += weight;
        self.taken[row].push(best);
        Some(best)
    }
}

/// The weight of a destination: only end ports receive data.
pub(super) fn weight_of(fabric: &Fabric, destination: crate::fabric::PortId) -> u32 {
    u32::from(!fabric.node(fabric.port(destination).node).is_switch())
}
