//! Drains of a routing function with several virtual layers: each layer by itself, and then each once more.
//!
//! The lanes of all layers together wait for each other in cycles; those of one layer never do. Replies to packets on
//! one layer may use another: only a second pass over all layers, after the first, follows every reply.

use super::{Drained, Ticket};
use crate::ids::VlSet;

/// Passes over all layers: one for requests, one for the replies that they caused (P4.5).
const PASSES: usize = 2;

/// Joins the proofs of single layers into one for all.
#[derive(Clone, Debug)]
pub struct LayersJudge {
    ticket: Ticket,
    layers: Vec<VlSet>,
    /// Parts done, layer by layer, pass by pass.
    done: usize,
}

impl LayersJudge {
    /// A judge of `layers`, up to eight, by the lanes of each.
    pub fn new(ticket: Ticket, layers: Vec<VlSet>) -> LayersJudge {
        LayersJudge { ticket, layers, done: 0 }
    }

    /// The layer to drain now, with its ticket; none if all are drained.
    pub fn due(&self) -> Option<(usize, Ticket)> {
        let parts = PASSES * self.layers.len();
        (self.done < parts).then(|| (self.done % self.layers.len(), self.ticket.part(self.done)))
    }

    /// Adds the proof of one layer; one that was not requested does not count.
    pub fn fold(&mut self, drained: &Drained) {
        // The ticket distinguishes the passes: proof of an empty layer in the first says nothing about the second.
        let asked =
            self.due().is_some_and(|(layer, ticket)| (drained.ticket, drained.lanes) == (ticket, self.layers[layer]));
        self.done += usize::from(asked);
    }

    /// The proof that `lanes` are empty: once all layers are, and no other lane remains.
    pub fn verdict(&self, lanes: VlSet, last: &Drained) -> Option<Drained> {
        let all = self.layers.iter().fold(0, |all, layer| all | layer.0);
        // A lane that belongs to no layer was not observed.
        let whole = self.due().is_none() && lanes.0 & !all == 0;
        whole.then_some(Drained { ticket: self.ticket, lanes, observer: last.observer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drain::Observer;

    fn drained(ticket: Ticket, lanes: u16) -> Drained {
        Drained { ticket, lanes: VlSet(lanes), observer: Observer::Token }
    }

    #[test]
    fn every_layer_is_drained_twice_in_turn() {
        let mut judge = LayersJudge::new(Ticket(3), vec![VlSet(1), VlSet(2)]);
        let mut order = Vec::new();
        while let Some((layer, ticket)) = judge.due() {
            order.push(layer);
            judge.fold(&drained(ticket, 1 << (1 - layer)));
            assert_eq!(judge.due(), Some((layer, ticket)), "the lanes of another layer count for nothing");
            assert_eq!(judge.verdict(VlSet(3), &drained(ticket, 3)), None);
            judge.fold(&drained(ticket, 1 << layer));
        }
        assert_eq!(order, [0, 1, 0, 1]);
        let last = drained(Ticket(3), 2);
        assert_eq!(judge.verdict(VlSet(3), &last).map(|all| all.lanes), Some(VlSet(3)));
        assert_eq!(judge.verdict(VlSet(7), &last), None, "nobody drained lane 2");
    }

    #[test]
    fn parts_have_tickets_of_their_own_and_they_rise() {
        let first = Ticket::at(7_000_000);
        let rounds = [first, first.next(), first.next().next()]
            .map(|ticket| (0..16).flat_map(move |part| ticket.part(part).rounds()).collect::<Vec<u32>>());
        let rounds = rounds.concat();
        assert!(rounds.windows(2).all(|pair| pair[0] < pair[1]), "{rounds:?}");
    }
}
