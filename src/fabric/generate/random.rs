//! Common parts of the random families: their generator, the number of draws, and the check of connectivity.

use super::sketch::DrawError;
use petgraph::unionfind::UnionFind;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// How often a random family draws before it gives up. Every draw continues the same random sequence.
const ATTEMPTS: u32 = 200;

/// A link between two switches, the lower number first.
pub(super) type SwitchPair = (usize, usize);

/// The first of a bounded number of draws that succeeds.
pub(super) fn first_success<T>(seed: u64, mut draw: impl FnMut(&mut Pcg64Mcg) -> Option<T>) -> Result<T, DrawError> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    (0..ATTEMPTS).find_map(|_| draw(&mut rng)).ok_or(DrawError::Luckless { attempts: ATTEMPTS })
}

/// Whether `edges` connect all of `switches` nodes.
pub(super) fn connected<'a>(switches: usize, edges: impl IntoIterator<Item = &'a SwitchPair>) -> bool {
    let mut sets = UnionFind::<usize>::new(switches);
    let merges = edges.into_iter().filter(|&&(a, b)| sets.union(a, b)).count();
    merges + 1 == switches
}
