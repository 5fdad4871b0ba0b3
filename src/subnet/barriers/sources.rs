//! The move of the sources (P3.5): asks every end port which half it sends on, until all send on the new one. If
//! devices do not support halves, every end port is fenced instead (P3.8).

use super::smp_data;
use crate::drain::{FenceJudge, FenceReading, SourceReading, SourcesJudge, SourcesMoved, Ticket, Verdict};
use crate::fabric::PortId;
use crate::ids::{Half, Vl};
use crate::subnet::manager::{Manager, SourceControl};
use crate::subnet::{Ask, Fence, FenceStage, RequestTarget, SubnetError};
use crate::tables::SlToVl;
use crate::transport::Transport;
use crate::wire::vendor::ActiveHalf;
use crate::wire::{AttributeId, Method, SMP_DATA_SIZE, SlToVlMappingTable};

impl<T: Transport> Manager<T> {
    /// Waits until each of `ports` sends on `half` only.
    pub(in crate::subnet) async fn await_sources(
        &mut self,
        ticket: Ticket,
        ports: &[PortId],
        half: Half,
    ) -> Result<SourcesMoved, SubnetError> {
        if let SourceControl::Fenced { settle_ns } = self.sources {
            return self.fence(ticket, ports, half, settle_ns).await;
        }
        let alive = ports.iter().copied().filter(|&port| self.is_linked(port));
        let mut judge = SourcesJudge::new(ticket, half, alive);
        let mut wait = self.begin_wait(format!("move of the sources to the {half} half"));
        loop {
            match judge.verdict() {
                Verdict::Proof(moved) => return Ok(moved),
                Verdict::NoVerdict(reason) => return Err(self.no_verdict(&wait, &reason)),
                Verdict::Pending => {}
            }
            let asked: Vec<PortId> = judge.waiting().collect();
            for (reading, &port) in self.halves_of(&asked).await?.into_iter().zip(&asked) {
                let ActiveHalf { half, settled } = reading;
                judge.fold(&SourceReading { ticket, port, half, settled });
            }
            let waiting: Vec<PortId> = judge.waiting().collect();
            if let Some(&first) = waiting.first() {
                let missing = format!("{} end ports, first {}", waiting.len(), self.describe_port(first));
                self.pause(&mut wait, || missing).await?;
            }
        }
    }

    /// Gives clients time to query again, then closes every end port to what its host sends on the other half (P3.8).
    async fn fence(
        &mut self,
        ticket: Ticket,
        ports: &[PortId],
        half: Half,
        settle_ns: u64,
    ) -> Result<SourcesMoved, SubnetError> {
        let wait = self.begin_wait(format!("fence behind the move of the sources to the {half} half"));
        self.wait_until(wait.begin_ns.saturating_add(settle_ns)).await?;
        // Recorded before the first `Set`: if one fails below, some ports may be closed, and later tables must keep
        // that half closed.
        self.adopt_fence(&Fence { stage: FenceStage::Retired(half.other()), ..Fence::default() });
        let alive: Vec<PortId> = ports.iter().copied().filter(|&port| self.is_linked(port)).collect();
        let reserved = self.reserved_sl();
        let mut judge = FenceJudge::new(ticket, half, alive.iter().copied()).sparing(reserved);
        // Read first: only the entries of the old half change.
        let tables = self.exchange_sl_to_vl(&alive, Method::Get, &vec![[0; SMP_DATA_SIZE]; alive.len()]).await?;
        let closed = tables.iter().map(|table| {
            let mut lanes = table.0;
            let closed = half.other().sls().filter(|&sl| Some(sl) != reserved);
            closed.for_each(|sl| lanes[usize::from(sl.get())] = Vl::MANAGEMENT);
            SlToVlMappingTable(lanes).encode()
        });
        let closed: Vec<_> = closed.collect();
        alive.iter().for_each(|&port| self.fence_stands_at(port, None));
        for (&port, table) in alive.iter().zip(self.exchange_sl_to_vl(&alive, Method::Set, &closed).await?) {
            judge.fold(&FenceReading { ticket, port, lanes: table.0 });
            self.fence_stands_at(port, Some(SlToVl(table.0)));
        }
        // A late copy must not close the half again once it has been opened.
        self.await_quiet().await?;
        let open: Vec<PortId> = judge.waiting().collect();
        match judge.verdict() {
            Verdict::Proof(moved) => Ok(moved),
            Verdict::NoVerdict(reason) => Err(self.no_verdict(&wait, &reason)),
            Verdict::Pending => {
                let first = open.first().map(|&port| self.describe_port(port)).unwrap_or_default();
                Err(self.timed_out(&wait, format!("{} end ports do not accept VL 15, first {first}", open.len())))
            }
        }
    }

    /// Reads or writes the SL-to-VL tables of end ports; returns the tables in the answers.
    async fn exchange_sl_to_vl(
        &mut self,
        ports: &[PortId],
        method: Method,
        data: &[[u8; SMP_DATA_SIZE]],
    ) -> Result<Vec<SlToVlMappingTable>, SubnetError> {
        let ask = |(&port, data): (&PortId, &[u8; SMP_DATA_SIZE])| {
            // An end port has one table; the modifier has no meaning there.
            let set = Ask::set(RequestTarget::Port(port), AttributeId::SlToVlMappingTable, 0, *data);
            Ask { method, ..set }
        };
        let answers = self.put(ports.iter().zip(data).map(ask)).await?;
        Ok(answers.iter().map(|answer| SlToVlMappingTable::decode(smp_data(answer))).collect())
    }

    /// The half that each end port sends on.
    pub(super) async fn halves_of(&mut self, ports: &[PortId]) -> Result<Vec<ActiveHalf>, SubnetError> {
        let fabric = &self.topology("waiting for a barrier")?.fabric;
        let num = |port: PortId| u32::from(fabric.port(port).num.0);
        let ask = |&port: &PortId| Ask::get(RequestTarget::Port(port), AttributeId::ActiveHalf, num(port));
        let asks: Vec<Ask> = ports.iter().map(ask).collect();
        let answers = self.put(asks).await?;
        Ok(answers.iter().map(|answer| ActiveHalf::decode(smp_data(answer))).collect())
    }

    pub(super) fn describe_port(&self, port: PortId) -> String {
        self.topology.as_ref().map_or_else(|| format!("{port:?}"), |known| known.fabric.describe_port(port))
    }
}
