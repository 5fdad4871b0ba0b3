//! Fat trees of every kind: one rule generates k-ary n-trees, extended generalised fat trees (XGFT; Öhring et al.,
//! 1995) and those with parallel links (PGFT; Zahavi, 2010).
//!
//! A node of level l in a tree of h levels is a tuple (a₁ … a_h) with a_i < parents_i for i ≤ l and a_i < children_i
//! for i > l. It is joined to the nodes of level l + 1 that differ from it in digit l + 1 only.

use super::sketch::{DrawError, MOST_PORTS, Sketch, SketchNode, product, require};

/// A PGFT. Index 0 of each list is for the links between hosts and leaf switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneralTree {
    /// Children of a switch, from the leaf switches up.
    pub children: Vec<u32>,
    /// Parents of a host (one: a second would lie in a plane of its own), of a leaf switch, and so on up.
    pub parents: Vec<u32>,
    /// Parallel links between a child and each of its parents.
    pub trunks: Vec<u32>,
}

impl GeneralTree {
    /// The k-ary n-tree.
    pub(super) fn k_ary(arity: u32, levels: u32) -> Result<GeneralTree, DrawError> {
        require(arity >= 2, || format!("K is {arity}, and a switch with fewer than 2 children makes no tree"))?;
        require((1..=16).contains(&levels), || format!("N is {levels}, and must be 1 to 16"))?;
        let levels = levels as usize;
        let mut parents = vec![arity; levels];
        parents[0] = 1;
        Ok(GeneralTree { children: vec![arity; levels], parents, trunks: vec![1; levels] })
    }

    /// How many levels of switches.
    pub fn levels(&self) -> usize {
        self.children.len()
    }

    pub(super) fn draw(&self) -> Result<Sketch, DrawError> {
        self.check()?;
        let counts: Vec<u64> = (0..=self.levels()).map(|level| product(&self.radices(level))).collect();
        let switches = counts[1..].iter().fold(0u64, |all, &count| all.saturating_add(count));
        let mut starts = vec![0u64; counts.len()];
        for level in 2..counts.len() {
            starts[level] = starts[level - 1].saturating_add(counts[level - 1]);
        }
        let mut sketch = Sketch::new(switches, counts[0], |switch| self.name(&starts, switch as u64))?;
        for level in 1..=self.levels() {
            for child in 0..counts[level - 1] {
                self.cable_up(&mut sketch, &starts, level, child);
            }
        }
        Ok(sketch)
    }

    fn check(&self) -> Result<(), DrawError> {
        let levels = self.levels();
        require(levels > 0 && self.parents.len() == levels && self.trunks.len() == levels, || {
            format!(
                "{levels} numbers of children, {} of parents and {} of parallel links: each level needs one of each",
                self.parents.len(),
                self.trunks.len()
            )
        })?;
        let all = self.children.iter().chain(&self.parents).chain(&self.trunks);
        require(all.clone().all(|&n| n > 0), || "children, parents and parallel links must be 1 at least".to_string())?;
        for level in 0..levels {
            let down = product([&self.children[level], &self.trunks[level]]);
            let up = if level + 1 < levels { product([&self.parents[level + 1], &self.trunks[level + 1]]) } else { 0 };
            let ports = down.saturating_add(up);
            require(ports <= MOST_PORTS, || {
                format!("a switch of level {} needs {down} ports down and {up} up, {MOST_PORTS} at most", level + 1)
            })?;
        }
        require(self.parents[0] == 1, || {
            let planes = self.parents[0];
            format!("a host has {planes} parents, which makes {planes} planes without a link between: a subnet is one")
        })
    }

    /// The bounds of the digits of a node of `level`, the least significant first.
    fn radices(&self, level: usize) -> Vec<u32> {
        let mut radices = self.children.clone();
        radices[..level].copy_from_slice(&self.parents[..level]);
        radices
    }

    /// Cables node `child` of the level below `level` to its parents.
    fn cable_up(&self, sketch: &mut Sketch, starts: &[u64], level: usize, child: u64) {
        let below = product(&self.parents[..level - 1]);
        let (low, rest) = (child % below, child / below);
        let high = rest / u64::from(self.children[level - 1]);
        let lower = if level == 1 {
            SketchNode::Host(child as usize)
        } else {
            SketchNode::Switch((starts[level - 1] + child) as usize)
        };
        for parent in 0..self.parents[level - 1] {
            let upper = (high * u64::from(self.parents[level - 1]) + u64::from(parent)) * below + low;
            for _ in 0..self.trunks[level - 1] {
                sketch.cable(lower, SketchNode::Switch((starts[level] + upper) as usize));
            }
        }
    }

    fn name(&self, starts: &[u64], switch: u64) -> String {
        let level = (1..starts.len()).rev().find(|&level| starts[level] <= switch).unwrap_or(1);
        let number = switch - starts[level] + 1;
        match (self.levels(), level) {
            (1, _) => format!("switch-{number}"),
            (_, 1) => format!("leaf-{number}"),
            (2, 2) | (3, 2) => format!("spine-{number}"),
            (3, 3) => format!("core-{number}"),
            _ => format!("level{level}-{number}"),
        }
    }
}
