//! Judges the claim of a barrier that a half is drained. Its observer waits for the channels of the half to run empty,
//! layer by layer. It must wait for every lane in which packets of the half can stand, and know every step that they
//! can take.
//!
//! A token that passes a channel shows that the channel is empty only if it waited for all channels whose packets go on
//! into it. A step that the graph of its layer omits is a way past the token (docs/PROOF.md, *Drained*).

use super::case::DrainClaim;
use super::dependencies::{ChannelTurn, Dependencies, DependencyLayout};
use super::lanes::{LaneMask, lanes_of};
use super::proof_walk::ProofWalk;
use super::refusal::Refusal;
use crate::fabric::NodeId;
use crate::ids::{Half, PortNum, VlSet};

impl DrainClaim<'_> {
    /// Returns whether the layer of a lane includes the step through a switch into some lanes. A step into the lanes of
    /// another layer is in none of the graphs: each has its own order of channels.
    fn includes(&self, switch: NodeId, turn: &ChannelTurn, lane: usize, to: LaneMask) -> bool {
        let Some(layer) = self.layers.iter().find(|layer| layer.lanes.0 >> lane & 1 == 1) else { return false };
        let mask = layer.arcs.get(&switch).and_then(|inputs| inputs.get(turn.input.index()));
        to & !layer.lanes.0 == 0 && mask.is_some_and(|mask| mask.contains(turn.output))
    }
}

/// Judges the claim at the end of a stage, if there is one, by the dependencies of its half, those latched earlier
/// included.
pub(super) fn check(
    proof_walk: &ProofWalk<'_>,
    layout: &DependencyLayout<'_>,
    halves: &[Vec<Dependencies>; 2],
    stage: usize,
) -> Result<(), Refusal> {
    let case = &proof_walk.case;
    let Some(claim) = case.drains.get(stage).and_then(Option::as_ref) else { return Ok(()) };
    let half = claim.half;
    let refusal = |what: String| Refusal::Precondition { wave: case.stages[stage].name.clone(), what };
    let waits = &halves[half.index()][stage];
    // Lanes of sources count, whether or not their packets have anywhere to go.
    let left = VlSet(waits.lanes(layout, stage) | injected(proof_walk, stage, half)).minus(claim.lanes);
    if !left.is_empty() {
        return Err(refusal(format!("packets of the {half} half can be on {left}, which is not drained")));
    }
    // By the channel that leads in, then the output: the first one is the evidence.
    let mut first: Option<((usize, PortNum), usize, ChannelTurn)> = None;
    layout.each_turn(stage, |turn| {
        let ChannelTurn { row, input, inward, output, .. } = turn;
        let omitted = |lane: &usize| {
            let to = waits.at(layout, row, input, *lane, output);
            to != 0 && !claim.includes(proof_walk.net.rows[row], &turn, *lane, to)
        };
        if first.is_none_or(|(place, ..)| (inward, output) < place)
            && let Some(lane) = (0..layout.vls).find(omitted)
        {
            first = Some(((inward, output), lane, turn));
        }
    });
    let Some((_, lane, ChannelTurn { row, input, output, .. })) = first else { return Ok(()) };
    let switch = case.fabric.describe_node(proof_walk.net.rows[row]);
    Err(refusal(step_omitted(half, &switch, (input, lane), output)))
}

fn step_omitted(half: Half, switch: &str, (input, lane): (PortNum, usize), output: PortNum) -> String {
    format!(
        "packets of the {half} half on VL {lane} can pass {switch} from port {input} to port {output}, and the order in \
         which channels are drained does not say so"
    )
}

/// The lanes of sources' channels in which packets of a half can stand.
fn injected(proof_walk: &ProofWalk<'_>, stage: usize, half: Half) -> LaneMask {
    let groups = proof_walk.lanes.groups.iter().enumerate().filter(|(_, group)| group.half() == half);
    let sources = proof_walk.net.senders(stage).iter().enumerate().filter(|(_, source)| !source.is_switch());
    let masks = groups.flat_map(|(group, _)| sources.clone().map(move |(source, _)| (source, group)));
    let lanes = masks.fold(0, |all, (source, group)| all | proof_walk.injection.mask(stage, source, group));
    lanes_of(lanes).filter(|&lane| lane < proof_walk.lanes.vls).fold(0, |all, lane| all | 1 << lane)
}
