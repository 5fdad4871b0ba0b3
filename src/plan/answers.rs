//! The subnet manager's answers in a plan: proved like data, or assumed to stay within the halves.
//!
//! A plan is made with assumption `answers-are-legal`. Here it is exchanged for the classes of the answers, which
//! the drain must then know as well, and taken back where the prover refuses them.

use super::{Assumption, CyclicDrain, DrainGraph, DrainLayer, Plan};
use crate::fabric::NodeId;
use crate::ids::{PortMask, VlSet};
use crate::verify::{self, AnswerWay, Refusal, Transition};
use std::collections::BTreeMap;

/// The record of a plan in which answers are assumed to stay within the halves.
#[derive(Clone, Debug)]
pub struct AssumedAnswers {
    drain: Vec<DrainLayer>,
    assumptions: Vec<Assumption>,
}

/// The reason for which a plan only assumes that answers are legal.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnswersUnproved {
    /// Answers of a switch stand in no lane of a source.
    #[error("the subnet manager's port is of a switch")]
    OfSwitch,
    /// They go in a loop or to a wrong port, or the plan contradicts itself.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// Together with the routing that retires they leave no order in which channels can run empty.
    #[error("{0}")]
    Cyclic(#[from] CyclicDrain),
}

impl Plan {
    /// Returns whether the manager's answers are among the classes that the judges of the plan follow.
    pub fn proves_answers(&self) -> bool {
        !self.draft.assumptions.contains(&Assumption::AnswersAreLegal)
    }

    /// The plan with the manager's answers among its classes instead of the assumption about them, and the record of
    /// that assumption.
    ///
    /// # Errors
    /// The plan as it was, and the reason.
    pub fn prove_answers(mut self) -> Result<(Plan, AssumedAnswers), Box<(Plan, AnswersUnproved)>> {
        let fabric = &self.draft.before;
        if fabric.node(fabric.port(self.draft.sm).node).is_switch() {
            return Err(Box::new((self, AnswersUnproved::OfSwitch)));
        }
        let assumed = AssumedAnswers { drain: self.draft.drain.clone(), assumptions: self.draft.assumptions.clone() };
        self.draft.assumptions.retain(|&assumption| assumption != Assumption::AnswersAreLegal);
        match self.drained_with_answers() {
            Ok(drain) => {
                self.draft.drain = drain;
                Ok((self, assumed))
            }
            Err(why) => {
                self.draft.assumptions = assumed.assumptions;
                Err(Box::new((self, why)))
            }
        }
    }

    /// The plan with the assumption about the manager's answers, and why they are not proved.
    #[must_use]
    pub fn assume_answers(mut self, assumed: AssumedAnswers, why: &str) -> Plan {
        (self.draft.drain, self.draft.assumptions) = (assumed.drain, assumed.assumptions);
        self.note_unproved_answers(why)
    }

    /// The plan with a note on why the manager's answers are assumed about, not proved.
    #[must_use]
    pub fn note_unproved_answers(mut self, why: &str) -> Plan {
        let (name, why) = (Assumption::AnswersAreLegal.name(), why.lines().next().unwrap_or_default());
        self.draft.notes.push(format!("`{name}` is assumed, because the SM's answers are not proved: {why}"));
        self
    }

    fn drained_with_answers(&self) -> Result<Vec<DrainLayer>, AnswersUnproved> {
        if self.draft.drain.is_empty() {
            return Ok(Vec::new());
        }
        let ways = verify::answer_ways(self, self.old())?;
        let layer = |layer: &DrainLayer| {
            let graph = self.with_answers(layer, &ways)?;
            Ok(DrainLayer { lanes: layer.lanes, graph })
        };
        self.draft.drain.iter().map(layer).collect()
    }

    fn with_answers(&self, layer: &DrainLayer, ways: &[AnswerWay]) -> Result<DrainGraph, CyclicDrain> {
        let mut arcs: BTreeMap<NodeId, Vec<PortMask>> = layer.graph.arcs().clone();
        let mut sources = layer.graph.sources().to_vec();
        for way in ways.iter().filter(|way| !VlSet(way.lanes.0 & layer.lanes.0).is_empty()) {
            let ports = usize::from(self.fabric().node(way.switch).num_ports) + 1;
            let inputs = arcs.entry(way.switch).or_insert_with(|| vec![PortMask::default(); ports]);
            inputs[way.input.index()].insert(way.output);
            sources.push(self.draft.sm);
        }
        sources.dedup();
        DrainGraph::new(&self.draft.surviving, arcs, &sources)
    }
}
