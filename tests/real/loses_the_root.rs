//! The root's cables go in ibsim's console: trap 128, five phases with real SMPs, and every tool agrees on what is left.

use super::brings_up::{all_is_well, expected, topology};
use super::fabrics::{Net, SMALL, generated};
use super::installed;
use super::sm::{Place, Sm, without};
use super::subnet::Subnet;
use reconfig::ids::Half;

/// The states that a change passes.
const PHASES: [&str; 7] = ["splitting", "flushing", "installing", "swapping", "moving", "draining", "restoring"];

fn loses_the_root(net: &Net) {
    let topology = topology(net);
    let place = Place::of(&topology);
    let mut subnet = Subnet::serve(&net.text);
    let manager = Sm::bring_up(&subnet, &place.node, &[]);
    all_is_well(&subnet, &expected(&topology, 1, Half::Lower));
    let root = topology.node(place.root).description.trim().to_string();
    subnet.unlink(&root, None);
    manager.wait(&subnet, "outcome=Completed", 1);
    for phase in PHASES {
        assert_eq!(manager.count(&format!("state=\"{phase}\"")), 1, "{phase}, of {}", net.name);
    }
    let rest = without(&topology, place.root, &place.node);
    all_is_well(&subnet, &expected(&rest, 1, Half::Upper));
}

#[test]
fn small_fabrics() {
    if installed() {
        SMALL.iter().for_each(|&(topology, seed)| loses_the_root(&generated(topology, seed)));
    }
}
