//! Tokens: an agent passes a token on once the lane is empty and the tokens of all predecessors have arrived, so a
//! token at a leaf follows all data. Two rounds: the first follows the requests, the second the replies that they
//! caused.

use super::{ChannelId, Drained, NoVerdict, Observer, Ticket, Verdict};
use crate::ids::VlSet;
use std::collections::BTreeSet;

/// One leaf's report that tokens came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenReading {
    /// The leaf channel that the token came through.
    pub channel: ChannelId,
    /// The round on the wire.
    pub round: u32,
    /// The lanes it is for.
    pub lanes: VlSet,
    /// Whether the tokens of all these lanes arrived.
    pub complete: bool,
}

/// Waits for every leaf, twice.
#[derive(Clone, Debug)]
pub struct TokenJudge {
    ticket: Ticket,
    lanes: VlSet,
    /// Round under way: 0 or 1; 2 when both are complete.
    round: usize,
    waiting: [BTreeSet<ChannelId>; 2],
    spoilt: Option<NoVerdict>,
}

impl TokenJudge {
    /// A judge of tokens for `lanes` that end at `leaves`.
    pub fn new(ticket: Ticket, lanes: VlSet, leaves: &[ChannelId]) -> TokenJudge {
        let waiting: BTreeSet<_> = leaves.iter().copied().collect();
        let mut judge = TokenJudge { ticket, lanes, round: 0, waiting: [waiting.clone(), waiting], spoilt: None };
        // Without leaves there is nothing to wait for, in either round.
        judge.advance();
        judge
    }

    /// The round on the wire that tokens are to be started for now; none when both are complete. When it changes, the
    /// caller starts tokens at the sources anew.
    pub fn round(&self) -> Option<u32> {
        self.ticket.rounds().get(self.round).copied()
    }

    /// Takes one report in. Reports of other questions and of rounds gone by count for nothing.
    pub fn fold(&mut self, reading: &TokenReading) {
        // Rounds of different questions share no number, so a late token of an earlier change ends here.
        let Some(round) = self.ticket.rounds().iter().position(|&round| round == reading.round) else { return };
        if round > self.round {
            // The second round is started only when every leaf has reported the first (D.3). No device of ours started
            // this token, so it may be ahead of replies.
            self.spoilt.get_or_insert(NoVerdict::EarlyToken { channel: reading.channel });
        } else if reading.lanes != self.lanes {
            // Agents pass tokens on lane by lane: a token that followed other lanes proves nothing about these.
            self.spoilt.get_or_insert(NoVerdict::OtherLanes { asked: self.lanes, found: reading.lanes });
        } else if round == self.round && reading.complete {
            self.waiting[round].remove(&reading.channel);
            self.advance();
        }
    }

    /// The channel died: what stood in it is gone, so its token counts as given, in both rounds (P4.3).
    pub fn excuse(&mut self, channel: ChannelId) {
        self.waiting.iter_mut().for_each(|waiting| _ = waiting.remove(&channel));
        self.advance();
    }

    fn advance(&mut self) {
        while self.waiting.get(self.round).is_some_and(BTreeSet::is_empty) {
            self.round += 1;
        }
    }

    /// The leaves that the round under way still waits for.
    pub fn waiting(&self) -> impl Iterator<Item = ChannelId> + '_ {
        self.waiting.get(self.round).into_iter().flatten().copied()
    }

    /// The verdict that the reports allow.
    pub fn verdict(&self) -> Verdict<Drained> {
        match &self.spoilt {
            Some(reason) => Verdict::NoVerdict(reason.clone()),
            None if self.round().is_none() => {
                Verdict::Proof(Drained { ticket: self.ticket, lanes: self.lanes, observer: Observer::Token })
            }
            None => Verdict::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::channel;
    use super::*;

    const A: VlSet = VlSet(0b0011);

    fn judge() -> TokenJudge {
        TokenJudge::new(Ticket(4), A, &[channel(1), channel(2)])
    }

    fn came(number: u32, round: u32) -> TokenReading {
        TokenReading { channel: channel(number), round, lanes: A, complete: true }
    }

    #[test]
    fn the_second_round_begins_when_the_first_is_complete() {
        let mut judge = judge();
        assert_eq!(judge.round(), Some(8));
        judge.fold(&came(2, 8));
        assert_eq!((judge.round(), judge.verdict()), (Some(8), Verdict::Pending));
        judge.fold(&came(1, 8));
        assert_eq!((judge.round(), judge.verdict()), (Some(9), Verdict::Pending));
        [came(1, 9), came(2, 9)].iter().for_each(|reading| judge.fold(reading));
        assert!(matches!(judge.verdict(), Verdict::Proof(proof) if proof.lanes() == A));
    }

    #[test]
    fn a_repeated_report_of_the_first_round_is_none_of_the_second() {
        let mut judge = judge();
        [came(1, 8), came(2, 8), came(1, 8), came(2, 8)].iter().for_each(|reading| judge.fold(reading));
        assert_eq!(judge.waiting().count(), 2);
        assert_eq!(judge.verdict(), Verdict::Pending);
    }

    #[test]
    fn a_second_round_out_of_turn_allows_no_verdict() {
        let mut judge = judge();
        judge.fold(&came(1, 9));
        [came(1, 8), came(2, 8), came(1, 9), came(2, 9)].iter().for_each(|reading| judge.fold(reading));
        assert_eq!(judge.verdict(), Verdict::NoVerdict(NoVerdict::EarlyToken { channel: channel(1) }));
    }

    #[test]
    fn unfinished_and_foreign_tokens_count_for_nothing() {
        let mut judge = judge();
        judge.fold(&TokenReading { complete: false, ..came(1, 8) });
        judge.fold(&came(1, 6));
        judge.fold(&came(7, 8));
        assert_eq!(judge.waiting().count(), 2);
    }

    #[test]
    fn a_dead_leafs_token_counts_in_both_rounds() {
        let mut judge = judge();
        judge.excuse(channel(1));
        [came(2, 8), came(2, 9)].iter().for_each(|reading| judge.fold(reading));
        assert!(matches!(judge.verdict(), Verdict::Proof(_)));
    }
}
