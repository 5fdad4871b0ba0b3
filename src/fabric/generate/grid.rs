//! Meshes, tori and rings. Port numbers have the same meaning on every switch: hosts first, then for each dimension the
//! port to the next switch and the port to the previous one.

use super::sketch::{DrawError, Sketch, SketchNode, product, require};

/// Switches at the points of a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Switches along each dimension.
    pub sides: Vec<u32>,
    /// Hosts on each switch.
    pub hosts: u32,
}

impl Grid {
    pub(super) fn draw(&self, wraps: bool) -> Result<Sketch, DrawError> {
        require(!self.sides.is_empty() && self.sides.len() <= 16, || {
            format!("it has {} dimensions, and must have 1 to 16", self.sides.len())
        })?;
        require(self.sides.iter().all(|&side| side >= 2), || {
            format!("a side of {:?} is shorter than 2 switches", self.sides)
        })?;
        let switches = product(&self.sides);
        let mut sketch = Sketch::with_hosts(switches, self.hosts, |switch| self.name(switch))?;
        for switch in 0..switches as usize {
            let mut stride = 1;
            for (dimension, &side) in self.sides.iter().enumerate() {
                let side = side as usize;
                let forward = self.hosts + 1 + 2 * dimension as u32;
                if let Some(next) = next_along(switch, stride, side, wraps) {
                    sketch.cable_at((SketchNode::Switch(switch), forward), (SketchNode::Switch(next), forward + 1));
                }
                stride *= side;
            }
        }
        Ok(sketch)
    }

    /// `switch-` and the coordinates, counted from 0.
    fn name(&self, switch: usize) -> String {
        let mut rest = switch;
        let mut name = "switch".to_string();
        for &side in &self.sides {
            name += &format!("-{}", rest % side as usize);
            rest /= side as usize;
        }
        name
    }
}

/// The switch after `switch` along the dimension with this stride and side.
fn next_along(switch: usize, stride: usize, side: usize, wraps: bool) -> Option<usize> {
    let at = switch / stride % side;
    if at + 1 < side { Some(switch + stride) } else { (wraps && side > 2).then(|| switch - at * stride) }
}

/// A cycle of switches.
pub(super) fn ring(switches: u32, hosts: u32) -> Result<Sketch, DrawError> {
    require(switches >= 3, || format!("{switches} switches close no ring: it takes 3"))?;
    let mut sketch = Sketch::with_hosts(switches.into(), hosts, |switch| format!("switch-{}", switch + 1))?;
    let switches = switches as usize;
    for switch in 0..switches {
        let next = (switch + 1) % switches;
        sketch.cable_at((SketchNode::Switch(switch), hosts + 1), (SketchNode::Switch(next), hosts + 2));
    }
    Ok(sketch)
}
