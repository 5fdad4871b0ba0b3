//! `reconfig sm` brings a subnet up, and every tool agrees.

use super::agree::Expected;
use super::fabrics::{Net, SMALL, examples, generated, large};
use super::installed;
use super::judges::Judges;
use super::picture::Picture;
use super::sm::{Place, Sm};
use super::subnet::Subnet;
use reconfig::fabric::format::read;
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::{Half, Lmc};
use reconfig::plan::{LanePartition, Lanes};

/// Data VLs that the manager uses.
const VLS: u8 = 4;
/// Every LID.
pub const BOTH: [Half; 2] = [Half::Lower, Half::Upper];
/// Nodes whose SL-to-VL tables are all asked for: where there are more, judges go by the steady tables.
const FEW: usize = 64;

/// A net's topology.
pub fn topology(net: &Net) -> Fabric {
    read(net.text.as_bytes(), &net.name).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// What is expected of a subnet under `reconfig sm`.
pub fn expected(topology: &Fabric, lmc: u8, half: Half) -> Expected<'_> {
    let lanes = Lanes::of_count(VLS).steady(LanePartition::Temporary);
    Expected { topology, lmc: Lmc::masked(lmc), lanes: Some(lanes), half: Some(half) }
}

/// The same where each half keeps its own lanes (`--standing-partition`).
pub fn standing(topology: &Fabric, lmc: u8, half: Half) -> Expected<'_> {
    let lanes = Lanes::of_count(VLS).steady(LanePartition::Standing);
    Expected { lanes: Some(lanes), ..expected(topology, lmc, half) }
}

/// Every tool agrees, and every judge accepts these halves; where both are accepted, also together.
pub fn all_is_well(subnet: &Subnet, expected: &Expected<'_>, halves: &[Half]) -> Picture {
    let picture = expected.agrees(subnet);
    let nodes: Vec<NodeId> = picture.fabric.nodes().filter(|(_, node)| node.present).map(|(id, _)| id).collect();
    let few = nodes.len() <= FEW;
    let asked: Vec<NodeId> = nodes.iter().copied().step_by(if few { 1 } else { nodes.len() / 8 }).collect();
    let lanes = expected.lanes_are(subnet, &picture, &asked);
    let judges = Judges::new(subnet, &picture, few.then_some(&lanes));
    judges.accepts(halves);
    if halves == BOTH {
        judges.finds_no_loop();
    }
    picture
}

fn brings_up(net: &Net, lmc: u8) {
    let topology = topology(net);
    let subnet = Subnet::serve(&net.text);
    let _manager = Sm::bring_up(&subnet, &Place::of(&topology).node, &["--lmc", &lmc.to_string()]);
    all_is_well(&subnet, &expected(&topology, lmc, Half::Lower), &BOTH);
}

#[test]
fn ibsims_example_nets() {
    if installed() {
        examples().iter().for_each(|net| brings_up(net, 1));
    }
}

#[test]
fn small_fabrics() {
    if installed() {
        SMALL.iter().for_each(|&(topology, seed)| brings_up(&generated(topology, seed), 1));
    }
}

#[test]
fn more_than_one_path_a_half() {
    if installed() {
        let (topology, seed) = SMALL[1];
        brings_up(&generated(topology, seed), 2);
    }
}

#[test]
fn hundreds_of_switches() {
    if installed() {
        let (topology, seed) = large();
        brings_up(&generated(topology, seed), 1);
    }
}
