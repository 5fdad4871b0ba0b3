//! Waxman's random graphs (1988): switches at random points of the unit square, two of them joined with probability
//! α · exp(−d / (β · √2)), where d is their distance and √2 the longest possible. Larger α gives more links, larger β
//! longer ones. A draw that is not connected is given up; after 200 draws it is an error.

use super::random::{Edge, connected, first_success};
use super::sketch::{Place, Sketch, Why, require};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use std::f64::consts::SQRT_2;

/// Most switches: a draw weighs every pair.
const MOST_SWITCHES: u32 = 4096;

/// Waxman's random graph, connected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waxman {
    /// How many switches.
    pub switches: u32,
    /// Probability of a link between neighbours at distance nought, above 0 and at most 1.
    pub alpha: f64,
    /// How slowly the probability falls with distance, above 0.
    pub beta: f64,
    /// Hosts of a switch.
    pub hosts: u32,
}

impl Waxman {
    pub(super) fn draw(&self, seed: u64) -> Result<Sketch, Why> {
        require(self.alpha > 0.0 && self.alpha <= 1.0, || {
            format!("ALPHA is {}, and must be above 0 and at most 1", self.alpha)
        })?;
        require(self.beta > 0.0 && self.beta.is_finite(), || format!("BETA is {}, and must be above 0", self.beta))?;
        require(self.switches <= MOST_SWITCHES, || {
            format!("it has {} switches, and the generator weighs every pair: {MOST_SWITCHES} at most", self.switches)
        })?;
        let name = |switch| format!("switch-{}", switch + 1);
        let mut sketch = Sketch::with_hosts(self.switches.into(), self.hosts, name)?;
        let edges =
            first_success(seed, |rng| Some(self.edges(rng)).filter(|edges| connected(self.switches as usize, edges)))?;
        edges.into_iter().for_each(|(a, b)| sketch.cable(Place::Switch(a), Place::Switch(b)));
        Ok(sketch)
    }

    fn edges(&self, rng: &mut Pcg64Mcg) -> Vec<Edge> {
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
