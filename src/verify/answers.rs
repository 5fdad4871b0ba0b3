//! The ways of the subnet manager's answers, for which a drain must wait besides the routing that it retires.
//!
//! A client asks with path bits 0, so the answer's DLID is the client's base LID, and its service level that of the
//! request. After every second change the two are of different halves: the answer then follows the entries of one
//! routing on the lanes of the other. Only the manager sends such classes.

use super::input::case_of;
use super::lanes::LaneMask;
use super::proof_walk::{ProofSink, ProofWalk};
use super::refusal::Refusal;
use super::walk::{Class, ClassHop, Columns, Entrance, Sink};
use super::{Transition, evidence};
use crate::fabric::NodeId;
use crate::ids::{Half, PortNum, VlSet};
use std::collections::{BTreeMap, BTreeSet};

/// A way through a switch that answers can take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnswerWay {
    /// The switch.
    pub switch: NodeId,
    /// The port by which they come.
    pub input: PortNum,
    /// The port by which they leave.
    pub output: PortNum,
    /// The lanes of the input in which they can stand.
    pub lanes: VlSet,
}

/// All ways that answers on the levels of a half can take, at any moment, in order of switches and ports; where paths
/// belong to sources, those of all packets to base LIDs.
///
/// # Errors
/// The transition contradicts itself, or answers go in a loop or to a wrong port.
pub fn answer_ways(transition: &impl Transition, half: Half) -> Result<Vec<AnswerWay>, Refusal> {
    let Some(case) = case_of(transition)? else { return Ok(Vec::new()) };
    let proof_walk = ProofWalk::new(case, transition.surviving())?;
    let case = &proof_walk.case;
    let selected = case.stages.iter().any(|facts| !facts.ways[half.index()].is_empty());
    let classes = proof_walk.classes().filter(|class| {
        let is_base = case.fabric.port(class.owner).lid == Some(class.lid);
        proof_walk.half(class) == half && (case.is_answer(class.lid, half) || selected && is_base)
    });
    let mut ways = AnswerWays {
        proof_walk: &proof_walk,
        sources: proof_walk
            .net
            .senders(0)
            .iter()
            .filter_map(|source| Some((source.row? as usize, source.input)))
            .collect(),
        entered: BTreeSet::new(),
        lanes: BTreeMap::new(),
    };
    if let Some(fault) = proof_walk.walk_classes(classes, &mut ways) {
        return Err(evidence::of_fault(&proof_walk, fault));
    }
    let way = |((row, input, output), lanes)| AnswerWay { switch: proof_walk.net.rows[row], input, output, lanes };
    Ok(ways.lanes.into_iter().map(way).collect())
}

struct AnswerWays<'a> {
    proof_walk: &'a ProofWalk<'a>,
    /// Rows and inputs at which a source sends in.
    sources: BTreeSet<(usize, PortNum)>,
    /// Stages, groups, rows and outputs that some source enters.
    entered: BTreeSet<(usize, usize, usize, PortNum)>,
    /// By row, input and output: the lanes of the input.
    lanes: BTreeMap<(usize, PortNum, PortNum), VlSet>,
}

impl AnswerWays<'_> {
    fn add(&mut self, row: usize, input: PortNum, output: PortNum, from: LaneMask) {
        let lanes = self.lanes.entry((row, input, output)).or_insert(VlSet::EMPTY);
        *lanes = VlSet(lanes.0 | from);
    }

    /// The judges of a drain count what one source of a switch enters as entered by all of them. Nothing waits for a
    /// source's channel, so these arcs close no cycle.
    fn add_sources(&mut self, class: &Class, stage: usize, row: usize, output: PortNum) {
        let ProofWalk { net, injection, .. } = self.proof_walk;
        if !self.entered.insert((stage, class.group, row, output)) {
            return;
        }
        for (index, source) in net.senders(stage).iter().enumerate() {
            if source.row == Some(row as u32) && source.input != output {
                self.add(row, source.input, output, injection.mask(stage, index, class.group));
            }
        }
    }
}

impl Sink for AnswerWays<'_> {
    /// Ways are united over stages anyway.
    fn hears_repeats(&self) -> bool {
        false
    }

    fn hop(&mut self, class: &Class, _columns: &Columns, hop: &ClassHop) {
        match self.sources.contains(&(hop.row, hop.input)) {
            true => self.add_sources(class, hop.stage, hop.row, hop.output),
            false => self.add(hop.row, hop.input, hop.output, hop.from),
        }
    }

    fn enter(&mut self, class: &Class, Entrance { stage, row, channel, .. }: Entrance) {
        self.add_sources(class, stage, row, self.proof_walk.net.output(row, channel));
    }
}

impl ProofSink for AnswerWays<'_> {}
