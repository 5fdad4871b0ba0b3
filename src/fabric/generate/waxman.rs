//! Waxman's random graphs (1988): switches at random points of the unit square, two of them linked with probability α ·
//! exp(−d / (β · √2)), where d is their distance and √2 the longest possible. Larger α gives more links, larger β
//! longer ones. A draw that is not connected is discarded; 200 failed draws are an error. Hosts are spread evenly, or
//! each is placed on a random switch.

use super::random::{SwitchPair, connected, first_success};
use super::sketch::{DrawError, Sketch, SketchNode, require};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use std::f64::consts::SQRT_2;

/// The most switches: a draw considers every pair.
const MOST_SWITCHES: u32 = 4096;

/// Waxman's random graph, connected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waxman {
    /// How many switches.
    pub switches: u32,
    /// Probability of a link between neighbours at distance 0, above 0 and at most 1.
    pub alpha: f64,
    /// How slowly the probability falls with distance, above 0.
    pub beta: f64,
    /// Its hosts.
    pub hosts: HostPlacement,
}

/// The number and places of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostPlacement {
    /// This many on every switch.
    Each(u32),
    /// This many in all, each on a random switch. Written `~N`.
    Scattered(u32),
}

impl Waxman {
    pub(super) fn draw(&self, seed: u64) -> Result<Sketch, DrawError> {
        require(self.alpha > 0.0 && self.alpha <= 1.0, || {
            format!("ALPHA is {}, and must be above 0 and at most 1", self.alpha)
        })?;
        require(self.beta > 0.0 && self.beta.is_finite(), || format!("BETA is {}, and must be above 0", self.beta))?;
        require(self.switches <= MOST_SWITCHES, || {
            format!("it has {} switches, and the generator weighs every pair: {MOST_SWITCHES} at most", self.switches)
        })?;
        let name = |switch| format!("switch-{}", switch + 1);
        let mut sketch = match self.hosts {
            HostPlacement::Each(hosts) => Sketch::with_hosts(self.switches.into(), hosts, name)?,
            HostPlacement::Scattered(hosts) => Sketch::new(self.switches.into(), hosts.into(), name)?,
        };
        let (edges, homes) = first_success(seed, |rng| {
            let edges = self.edges(rng);
            connected(self.switches as usize, &edges).then(|| (edges, self.homes(rng)))
        })?;
        homes
            .into_iter()
            .enumerate()
            .for_each(|(host, home)| sketch.cable(SketchNode::Switch(home), SketchNode::Host(host)));
        edges.into_iter().for_each(|(a, b)| sketch.cable(SketchNode::Switch(a), SketchNode::Switch(b)));
        Ok(sketch)
    }

    /// The switches of scattered hosts.
    fn homes(&self, rng: &mut Pcg64Mcg) -> Vec<usize> {
        match self.hosts {
            HostPlacement::Each(_) => Vec::new(),
            HostPlacement::Scattered(hosts) => {
                (0..hosts).map(|_| rng.random_range(0..self.switches as usize)).collect()
            }
        }
    }

    fn edges(&self, rng: &mut Pcg64Mcg) -> Vec<SwitchPair> {
        let points: Vec<(f64, f64)> = (0..self.switches).map(|_| (rng.random(), rng.random())).collect();
        let mut edges = Vec::new();
        for (a, from) in points.iter().enumerate() {
            for (b, to) in points.iter().enumerate().skip(a + 1) {
                let distance = (from.0 - to.0).hypot(from.1 - to.1);
                let probability = self.alpha * (-distance / (self.beta * SQRT_2)).exp();
                if rng.random::<f64>() < probability {
                    edges.push((a, b));
                }
            }
        }
        edges
    }
}
