//! Random regular graphs: link ends are shuffled and paired; pairs that would make a loop or a parallel link are
//! shuffled again, and a draw in which no pair is possible any more is discarded (Steger and Wormald, 1999: nearly
//! uniform for small degrees). A draw that is not connected is discarded too; 200 failed draws are an error.

use super::random::{SwitchPair, connected, first_success};
use super::sketch::{DrawError, Sketch, SketchNode, require};
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeSet;

/// A random simple connected graph in which every switch has the same degree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomRegular {
    /// How many switches.
    pub switches: u32,
    /// Links of each switch to others.
    pub degree: u32,
    /// Hosts of a switch.
    pub hosts: u32,
}

impl RandomRegular {
    pub(super) fn draw(&self, seed: u64) -> Result<Sketch, DrawError> {
        let RandomRegular { switches, degree, hosts } = *self;
        require(degree < switches, || {
            format!("DEGREE is {degree}, but each of {switches} switches has only {} others", switches.max(1) - 1)
        })?;
        require(u64::from(switches) * u64::from(degree) % 2 == 0, || {
            format!("{switches} switches of degree {degree} have an odd number of link ends: make one of them even")
        })?;
        require(degree >= 2 || switches == degree + 1, || {
            format!("{switches} switches of degree {degree} cannot be connected: use a degree of 2 at least")
        })?;
        let mut sketch = Sketch::with_hosts(switches.into(), hosts, |switch| format!("switch-{}", switch + 1))?;
        let (switches, degree) = (switches as usize, degree as usize);
        let edges =
            first_success(seed, |rng| pair_ends(switches, degree, rng).filter(|edges| connected(switches, edges)))?;
        edges.into_iter().for_each(|(a, b)| sketch.cable(SketchNode::Switch(a), SketchNode::Switch(b)));
        Ok(sketch)
    }
}

/// The links of one draw, or `None` if the remaining ends cannot be paired.
fn pair_ends(switches: usize, degree: usize, rng: &mut Pcg64Mcg) -> Option<BTreeSet<SwitchPair>> {
    let mut ends: Vec<usize> = (0..switches).flat_map(|switch| std::iter::repeat_n(switch, degree)).collect();
    let mut edges = BTreeSet::new();
    while !ends.is_empty() {
        ends.shuffle(rng);
        let mut left = Vec::new();
        for pair in ends.chunks_exact(2) {
            let (a, b) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
            if a == b || !edges.insert((a, b)) {
                left.extend([a, b]);
            }
        }
        if left.len() == ends.len() && !can_join(&left, &edges) {
            return None;
        }
        ends = left;
    }
    Some(edges)
}

/// Whether two of the ends can still be paired.
fn can_join(ends: &[usize], edges: &BTreeSet<SwitchPair>) -> bool {
    let open: BTreeSet<usize> = ends.iter().copied().collect();
    open.iter().any(|&a| open.range(a + 1..).any(|&b| !edges.contains(&(a, b))))
}
