//! Compares an observed deadlock with the proof: whether it was foreseeable, at which moment, and by which classes.

use super::Transition;
use super::collector::DependencyCollector;
use super::evidence;
use super::graph::NodeCycle;
use super::input::case_of;
use super::proof_walk::ProofWalk;
use super::refusal::{Cycle, Refusal};
use crate::fabric::{Fabric, PortId};
use crate::ids::Vl;

/// A packet stands in the input lane of a switch and waits for room beyond the output lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The port that it came in by.
    pub input: PortId,
    /// The lane that it came in on.
    pub input_vl: Vl,
    /// The port that it is to leave by.
    pub output: PortId,
    /// The lane that it is to leave on.
    pub output_vl: Vl,
}

/// Waits that close a cycle, each for the buffer in which the next stands, as dependencies of the first moment of a
/// transition at which all of them are possible; none where no such moment exists. The search does not look for a
/// shorter cycle: `shortest` is false.
///
/// # Errors
/// [`Refusal::Precondition`]: the transition contradicts itself, or the waits close no cycle.
pub fn foresee(transition: &impl Transition, waits: &[Wait]) -> Result<Option<Cycle>, Refusal> {
    let Some(case) = case_of(transition)? else { return Ok(None) };
    let proof_walk = ProofWalk::new(case, transition.surviving())?;
    let layout = proof_walk.layout();
    let nodes = nodes(proof_walk.case.fabric, proof_walk.lanes.vls, waits)?;
    let cycle = NodeCycle { nodes, shortest: false };
    let mut collector = DependencyCollector::new(&proof_walk, &layout);
    // Where the walk finds another fault it ends early, and later moments have no dependencies.
    proof_walk.walk_all(&mut collector);
    let halves = collector.finish();
    let possible = |&stage: &usize| evidence::is_possible(&layout, &halves, stage, &cycle);
    let first = (0..proof_walk.case.stages.len()).find(possible);
    Ok(first.map(|stage| evidence::explained(&proof_walk, &layout, &halves, stage, &cycle)))
}

/// The lanes in which the packets stand, as nodes of the dependency graph.
fn nodes(fabric: &Fabric, vls: usize, waits: &[Wait]) -> Result<Vec<u32>, Refusal> {
    let refuse = |what: String| Refusal::Precondition { wave: "observed".to_string(), what };
    let mut nodes = Vec::new();
    for (wait, next) in waits.iter().zip(waits.iter().cycle().skip(1)) {
        let Wait { input, input_vl, output, output_vl } = *wait;
        let name = |port| fabric.describe_port(port);
        let Some(channel) = fabric.peer(input).filter(|_| fabric.node(fabric.port(input).node).is_switch()) else {
            return Err(refuse(format!("no packet waits at {}: it is no cabled port of a switch", name(input))));
        };
        if fabric.port(input).node != fabric.port(output).node || usize::from(input_vl.get()) >= vls {
            let (input, output) = (name(input), name(output));
            return Err(refuse(format!("no switch leads from {input} VL {input_vl} to {output} VL {output_vl}")));
        }
        if fabric.peer(output) != Some(next.input) || output_vl != next.input_vl {
            let (output, next_vl, next) = (name(output), next.input_vl, name(next.input));
            return Err(refuse(format!("{output} VL {output_vl} does not lead to {next} VL {next_vl}")));
        }
        nodes.push((channel.index() * vls + usize::from(input_vl.get())) as u32);
    }
    Ok(nodes)
}
