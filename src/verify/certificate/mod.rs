//! Certificates: the evidence of a proof, for a check that searches nothing.
//!
//! For each moment (the one before the change, then every wave) a number for each lane, which rises along every
//! possible dependency; for each DLID the switches at which its packets can choose their next lane. A checker needs
//! nothing else: it sees that the listed places are closed under every step that the plan allows, and that the numbers
//! rise. Made by [`prove_certified`](super::prove_certified) alone, from what the walk passed; docs/CERTIFICATE.md has
//! the file's form. Deliberately omitted: the plan itself, which it names by digest, and anything that the checker must
//! work out for itself.

mod recorder;
mod text;

pub(super) use recorder::Recorder;
pub use text::Binding;

use super::dependencies::DependencyLayout;
use super::graph::Graph;
use super::lanes::LaneMask;
use crate::ids::Sl;

/// The evidence of one proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// Lanes that each channel is numbered with: VL 0 to `vls` − 1.
    vls: usize,
    /// Service levels that no table distinguishes; those of one half are neighbours.
    groups: Vec<Vec<Sl>>,
    /// The moment before the change, then the waves.
    moments: Vec<CertifiedMoment>,
    /// For each LID of an end port whose half is sent on, in rising order, for each moment: one row as
    /// docs/CERTIFICATE.md has it.
    rows: Vec<u8>,
}

/// The evidence of one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
struct CertifiedMoment {
    name: String,
    /// By group: the lanes that its packets take at this moment, wherever a row names no others.
    lanes: Vec<LaneMask>,
    /// By cabled channel of a switch in index order, then VL: the lane's number, 0 where nothing can stand.
    numbers: Vec<u32>,
}

/// The lanes' numbers: one more than the most lanes that a packet can have been kept waiting by, one after the other.
pub(super) fn numbers(layout: &DependencyLayout<'_>, graph: &Graph, order: &[u32]) -> Vec<u32> {
    let touched = graph.touched();
    let mut numbers: Vec<u32> = touched.iter().map(|&touched| u32::from(touched)).collect();
    for &lane in order {
        // The longest path in topological order: a lane is complete when it is reached. Lanes without an edge keep 0.
        let next = numbers[lane as usize] + 1;
        for &target in graph.successors(lane) {
            numbers[target as usize] = numbers[target as usize].max(next);
        }
    }
    let net = layout.net;
    let sent = (0..net.rows.len()).flat_map(|row| (1..net.sides[row]).map(move |side| (row, side)));
    let channels = sent.map(|(row, side)| net.first_port[row] as usize + side);
    let cabled = channels.filter(|&channel| net.exists(0, channel));
    cabled.flat_map(|channel| numbers[channel * layout.vls..(channel + 1) * layout.vls].iter().copied()).collect()
}
