//! Vacating (section V; between waves, W.3): flushes of every device, one after the other, or lifetimes.

use crate::drain::{Observer, Ticket, VacateJudge, Vacated};
use crate::ids::VlSet;
use crate::subnet::manager::Manager;
use crate::subnet::{Leaving, SubnetError};
use crate::transport::Transport;

impl<T: Transport> Manager<T> {
    /// Waits until every device has sent off the packets that stood in it, as many times in a row as `leaving` has
    /// rounds.
    pub(in crate::subnet) async fn await_vacated(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        leaving: &Leaving<'_>,
    ) -> Result<Vacated, SubnetError> {
        match observer {
            Observer::Lifetime => self.vacate_by_age(ticket, leaving).await,
            // Agents wait for what stands in the lanes of end ports, too.
            Observer::Token | Observer::Poll | Observer::Conservation => {
                self.vacate_by_agents(ticket, leaving.rounds).await
            }
        }
    }

    /// Verifies that every switch has the limit by which [`Manager::await_vacated`] counts, if the observer is age.
    pub(in crate::subnet) async fn check_vacating(&mut self, observer: Observer) -> Result<(), SubnetError> {
        match observer {
            Observer::Lifetime => self.check_limits().await,
            Observer::Token | Observer::Poll | Observer::Conservation => Ok(()),
        }
    }

    async fn vacate_by_agents(&mut self, ticket: Ticket, rounds: u8) -> Result<Vacated, SubnetError> {
        let mut judge = VacateJudge::new(ticket, rounds);
        while let Some(round) = judge.due() {
            // Traffic goes on in every lane, so the flush demands that none is empty (V.2).
            judge.fold(&self.flush_by_agents(round, VlSet::EMPTY).await?);
        }
        judge.verdict().ok_or_else(|| SubnetError::NoVerdict {
            awaited: format!("vacating in {rounds} rounds"),
            reason: "a round of flushes is missing".to_string(),
        })
    }
}
