//! What torus-2QoS must be given about a torus: its sides, one switch, and the direction of that switch's cables.

use reconfig::fabric::Fabric;
use reconfig::ids::Guid;
use std::fmt::Write;

/// The switches of a generated torus by their coordinates, taken from their names: `switch-` and a number each.
struct Points(Vec<(Vec<u32>, Guid)>);

/// The configuration file. The first of the engine's three dimensions has one switch where the torus has two. A side of
/// four needs both neighbours of the origin, others one: if a needed one is gone, OpenSM reports it.
pub fn seed(fabric: &Fabric) -> Result<String, String> {
    let points = Points::of(fabric);
    let dimensions = points.dimensions();
    if !(2..=3).contains(&dimensions) {
        return Err(format!("torus-2QoS routes two or three dimensions, not {dimensions}"));
    }
    let sides: Vec<String> = (0..dimensions).map(|dimension| points.side(dimension).to_string()).collect();
    let mut text = format!("torus {}{}\n", "1 ".repeat(3 - dimensions), sides.join(" "));
    for (dimension, axis) in (0..dimensions).zip(&["x", "y", "z"][3 - dimensions..]) {
        for (sign, place) in [("p", 1), ("m", points.side(dimension) - 1)] {
            if let Some((from, to)) = points.along(dimension, 0).zip(points.along(dimension, place)) {
                let _ = writeln!(text, "{axis}{sign}_link {from} {to}");
            }
        }
    }
    Ok(text)
}

impl Points {
    fn of(fabric: &Fabric) -> Points {
        let point = |switch| {
            let node = fabric.node(switch);
            let numbers = node.description.strip_prefix("switch-")?.split('-').map(|at| at.parse().ok());
            Some((numbers.collect::<Option<_>>()?, node.guid))
        };
        Points(fabric.switches().filter_map(point).collect())
    }

    fn dimensions(&self) -> usize {
        self.0.first().map_or(0, |(at, _)| at.len())
    }

    fn side(&self, dimension: usize) -> u32 {
        self.0.iter().map(|(at, _)| at[dimension] + 1).max().unwrap_or(1)
    }

    /// The switch on an axis through the origin.
    fn along(&self, dimension: usize, place: u32) -> Option<Guid> {
        let is_there = |at: &[u32]| (0..at.len()).all(|other| at[other] == if other == dimension { place } else { 0 });
        self.0.iter().find(|(at, _)| is_there(at)).map(|&(_, guid)| guid)
    }
}
