//! Vacating: rounds of flushes after the last write, one after the other (section V).
//!
//! A round shows that every device has sent off what stood in it when the round began; no lane need be empty for that.

use super::{Flushed, Ticket, Vacated};
use crate::ids::VlSet;

/// Joins the proofs of single rounds into one.
#[derive(Clone, Debug)]
pub struct VacateJudge {
    ticket: Ticket,
    rounds: u8,
    done: u8,
}

impl VacateJudge {
    /// A judge of up to sixteen `rounds`.
    pub fn new(ticket: Ticket, rounds: u8) -> VacateJudge {
        VacateJudge { ticket, rounds, done: 0 }
    }

    /// The ticket of the round to flush now; none if all are done.
    pub fn due(&self) -> Option<Ticket> {
        (self.done < self.rounds).then(|| self.ticket.part(usize::from(self.done)))
    }

    /// Adds the proof of one round; one that was not requested does not count.
    pub fn fold(&mut self, flushed: &Flushed) {
        // A round is valid only if it began after the one before had ended. Its ticket shows that, because the ticket
        // is not made known earlier.
        let asked = self.due() == Some(flushed.ticket) && flushed.lanes == VlSet::EMPTY;
        self.done += u8::from(asked);
    }

    /// The proof, once all rounds are done.
    pub fn verdict(&self) -> Option<Vacated> {
        self.due().is_none().then_some(Vacated { ticket: self.ticket, rounds: self.rounds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_counts_once_and_in_its_turn() {
        let mut judge = VacateJudge::new(Ticket(32), 2);
        let round = |part: u32| Flushed { ticket: Ticket(32 + part), lanes: VlSet::EMPTY };
        let others = [round(1), round(2), Flushed { lanes: VlSet(1), ..round(0) }];
        others.iter().for_each(|other| judge.fold(other));
        assert_eq!(judge.due(), Some(Ticket(32)), "another round, or a flush of lanes");
        [round(0), round(0)].iter().for_each(|flushed| judge.fold(flushed));
        assert_eq!((judge.due(), judge.verdict()), (Some(Ticket(33)), None));
        judge.fold(&round(1));
        assert_eq!(judge.verdict(), Some(Vacated { ticket: Ticket(32), rounds: 2 }));
    }
}
