//! Binary cubes: switches are connected if their numbers differ in one bit. Hosts take the first ports, then dimension
//! 0, dimension 1, and so on.

use super::sketch::{DrawError, Sketch, SketchNode, require};

/// A binary cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hypercube {
    /// The number of dimensions, 1 to 15.
    pub dimensions: u32,
    /// Hosts on each switch.
    pub hosts: u32,
}

impl Hypercube {
    pub(super) fn draw(&self) -> Result<Sketch, DrawError> {
        require((1..=15).contains(&self.dimensions), || {
            format!("it has {} dimensions, and must have 1 to 15", self.dimensions)
        })?;
        let width = self.dimensions as usize;
        let name = |switch| format!("switch-{switch:0width$b}");
        let mut sketch = Sketch::with_hosts(1 << self.dimensions, self.hosts, name)?;
        for switch in 0..1usize << self.dimensions {
            for bit in 0..self.dimensions {
                let other = switch ^ 1 << bit;
                if switch < other {
                    let port = self.hosts + 1 + bit;
                    sketch.cable_at((SketchNode::Switch(switch), port), (SketchNode::Switch(other), port));
                }
            }
        }
        Ok(sketch)
    }
}
