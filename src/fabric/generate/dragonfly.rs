//! The canonical dragonfly (Kim et al., 2008): fully connected groups of routers, and one link between any two groups.
//! InfiniBand calls these routers switches.

use super::sketch::{DrawError, MOST_PORTS, Sketch, SketchNode, require};

/// A dragonfly with as many groups as its global links can connect: `routers` × `globals` + 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dragonfly {
    /// p: hosts for each router.
    pub hosts: u32,
    /// a: routers in a group.
    pub routers: u32,
    /// h: global links of a router.
    pub globals: u32,
}

impl Dragonfly {
    pub(super) fn draw(&self) -> Result<Sketch, DrawError> {
        require(self.routers >= 1 && self.globals >= 1, || {
            format!("A is {} and H is {}: a group needs a router and a global link", self.routers, self.globals)
        })?;
        let ports = u64::from(self.hosts) + u64::from(self.routers) - 1 + u64::from(self.globals);
        require(ports <= MOST_PORTS, || {
            format!("a router needs P + A - 1 + H = {ports} ports, and has {MOST_PORTS} at most")
        })?;
        let routers = self.routers as usize;
        let spokes = routers * self.globals as usize;
        let groups = spokes + 1;
        let name = |switch: usize| format!("group-{} router-{}", switch / routers + 1, switch % routers + 1);
        let mut sketch = Sketch::with_hosts((groups * routers) as u64, self.hosts, name)?;
        for group in 0..groups {
            join_group(&mut sketch, group * routers..(group + 1) * routers);
        }
        for group in 0..groups {
            for spoke in 0..spokes {
                self.join_groups(&mut sketch, groups, group, spoke);
            }
        }
        Ok(sketch)
    }

    /// Spoke k of a group leads to the group k + 1 places on, whose spoke `spokes` − 1 − k leads back.
    fn join_groups(&self, sketch: &mut Sketch, groups: usize, group: usize, spoke: usize) {
        let other = (group + spoke + 1) % groups;
        if group < other {
            let back = groups - 2 - spoke;
            sketch.cable_at(self.spoke_end(group, spoke), self.spoke_end(other, back));
        }
    }

    /// The port of spoke k: global ports follow a router's host ports and local ports.
    fn spoke_end(&self, group: usize, spoke: usize) -> (SketchNode, u32) {
        let globals = self.globals as usize;
        let router = group * self.routers as usize + spoke / globals;
        (SketchNode::Switch(router), self.hosts + self.routers + (spoke % globals) as u32)
    }
}

fn join_group(sketch: &mut Sketch, group: std::ops::Range<usize>) {
    for a in group.clone() {
        for b in a + 1..group.end {
            sketch.cable(SketchNode::Switch(a), SketchNode::Switch(b));
        }
    }
}
