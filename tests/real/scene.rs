//! A subnet that `reconfig sm` has brought up, and what it takes to watch it.

use super::brings_up::topology;
use super::fabrics::Net;
use super::sm::{COMPLETED, Place, Sm};
use super::subnet::Subnet;
use reconfig::fabric::Fabric;

/// A subnet up, the tools at the manager's node, which is not attached to the root.
pub struct Scene {
    pub topology: Fabric,
    pub place: Place,
    pub subnet: Subnet,
    pub manager: Sm,
}

impl Scene {
    /// Serves a fabric and brings it up.
    pub fn of(net: &Net, options: &[&str]) -> Scene {
        let topology = topology(net);
        let place = Place::of(&topology);
        let mut subnet = Subnet::serve(&net.text);
        subnet.tools_at(&place.node);
        let manager = Sm::bring_up(&subnet, &place.node, options);
        Scene { topology, place, subnet, manager }
    }

    /// So many changes are over, and a sweep after them has found no work: cables go one after another.
    pub fn settles(&self, changes: usize) {
        self.manager.wait(&self.subnet, COMPLETED, changes);
        let swept = self.manager.ask(&self.subnet, "status", &["--sweep"]);
        assert_eq!(swept.code, Some(0), "{}", swept.errors);
    }

    /// The root's description.
    pub fn root(&self) -> String {
        self.topology.node(self.place.root).description.trim().to_string()
    }
}
