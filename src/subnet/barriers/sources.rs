//! The move of the sources: every end port is asked which half it sends on, until all send on the new one.

use super::{no_verdict, smp_data};
use crate::drain::{SourceReading, SourcesJudge, SourcesMoved, Ticket, Verdict};
use crate::fabric::PortId;
use crate::ids::Half;
use crate::subnet::SubnetError;
use crate::subnet::manager::Manager;
use crate::transport::Transport;
use crate::wire::vendor::ActiveHalf;
use crate::wire::{AttributeId, Method, SMP_DATA_SIZE};

impl<T: Transport> Manager<T> {
    /// Waits until each of `ports` sends on `half` alone.
    pub(in crate::subnet) async fn await_sources(
        &mut self,
        ticket: Ticket,
        ports: &[PortId],
        half: Half,
    ) -> Result<SourcesMoved, SubnetError> {
        let alive = ports.iter().copied().filter(|&port| self.is_linked(port));
        let mut judge = SourcesJudge::new(ticket, half, alive);
        let mut wait = self.begin_wait(format!("move of the sources to the {half} half"));
        loop {
            match judge.verdict() {
                Verdict::Proof(moved) => return Ok(moved),
                Verdict::NoVerdict(reason) => return Err(no_verdict(&wait, &reason)),
                Verdict::Pending => {}
            }
            let asked: Vec<PortId> = judge.waiting().collect();
            for (reading, &port) in self.halves_of(&asked).await?.into_iter().zip(&asked) {
                let ActiveHalf { half, settled } = reading;
                judge.fold(&SourceReading { ticket, port, half, settled });
            }
            let waiting: Vec<PortId> = judge.waiting().collect();
            if let Some(&first) = waiting.first() {
                let missing = format!("{} end ports, first {}", waiting.len(), self.port_name(first));
                self.pause(&mut wait, || missing).await?;
            }
        }
    }

    /// The half that each end port sends on.
    pub(super) async fn halves_of(&mut self, ports: &[PortId]) -> Result<Vec<ActiveHalf>, SubnetError> {
        let ask = |&port: &PortId| self.to_port(port, Method::Get, AttributeId::ActiveHalf, [0; SMP_DATA_SIZE]);
        let requests = ports.iter().map(ask).collect::<Result<Vec<_>, _>>()?;
        let answers = self.ask_all(requests).await?;
        Ok(answers.iter().map(|answer| ActiveHalf::decode(smp_data(answer))).collect())
    }

    pub(super) fn port_name(&self, port: PortId) -> String {
        self.topology.as_ref().map_or_else(|| format!("{port:?}"), |known| known.fabric.describe_port(port))
    }
}
