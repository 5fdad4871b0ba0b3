//! The checks themselves, with OpenSM as the manager: what they are to find right in another one, they find right here.

use super::agree::Expected;
use super::fabrics::{Net, SMALL, examples, generated};
use super::installed;
use super::judges::Judges;
use super::opensm::OpenSm;
use super::subnet::Subnet;
use reconfig::fabric::NodeId;
use reconfig::fabric::format::read;
use reconfig::ids::{Half, Lmc};

fn agrees(net: &Net, lmc: u8) {
    let topology = read(net.text.as_bytes(), &net.name).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let subnet = Subnet::serve(&net.text);
    let _manager = OpenSm::bring_up(&subnet, None, &format!("routing_engine updn\nlmc {lmc}\nqos TRUE\n"));
    let expected = Expected { topology: &topology, lmc: Lmc::masked(lmc), lanes: None, half: None };
    let picture = expected.agrees(&subnet);
    let nodes: Vec<NodeId> = picture.fabric.nodes().filter(|(_, node)| node.present).map(|(id, _)| id).collect();
    let lanes = expected.lanes_are(&subnet, &picture, &nodes[..nodes.len().min(6)]);
    assert!(!lanes.is_empty());
    Judges::new(&subnet, &picture, None).accepts(&[Half::Lower, Half::Upper]);
}

#[test]
fn every_tool_tells_the_same_of_ibsims_example_nets() {
    if installed() {
        for net in examples() {
            [0, 1].into_iter().for_each(|lmc| agrees(&net, lmc));
        }
    }
}

#[test]
fn every_tool_tells_the_same_of_a_fat_tree() {
    if installed() {
        let (topology, seed) = SMALL[1];
        agrees(&generated(topology, seed), 1);
    }
}
