//! Flush and drain by age: reads the lifetime limit of every switch, then waits as long as the limits require (F.6, D).

use super::{Wait, smp_data};
use crate::drain::{DrainAge, Drained, FlushAge, Flushed, LifetimeReading, Ticket, VacateAge, Vacated, Verdict};
use crate::fabric::NodeId;
use crate::ids::VlSet;
use crate::subnet::SubnetError;
use crate::subnet::manager::{Manager, SourceControl};
use crate::transport::Transport;
use crate::wire::{AttributeId, Method, SMP_DATA_SIZE, SwitchInfo};

impl<T: Transport> Manager<T> {
    pub(super) async fn flush_by_age(&mut self, ticket: Ticket, lanes: VlSet) -> Result<Flushed, SubnetError> {
        let wait = self.begin_wait(format!("flush of lanes {lanes}, by age"));
        let switches = self.live_switches()?;
        // With a fence, stray packets of the spare half may be anywhere when the split closes that half, so each hop of
        // the longest path counts. Otherwise F.6 counts two lifetimes.
        let hops = if matches!(self.sources, SourceControl::Fenced { .. }) { self.longest_way } else { 0 };
        let mut judge = FlushAge::new(ticket, lanes, switches.iter().copied(), wait.begin_ns, hops);
        self.limits(ticket, &switches).await?.iter().for_each(|limit| judge.fold(limit));
        self.wait_for_age(&wait, judge.due_ns()).await?;
        self.proof(&wait, judge.verdict(self.transport.now_ns()))
    }

    pub(super) async fn drain_by_age(
        &mut self,
        ticket: Ticket,
        depth: u32,
        lanes: VlSet,
    ) -> Result<Drained, SubnetError> {
        let wait = self.begin_wait(format!("drain of lanes {lanes}, by age"));
        let switches = self.live_switches()?;
        let mut judge = DrainAge::new(ticket, lanes, depth, switches.iter().copied(), wait.begin_ns);
        self.limits(ticket, &switches).await?.iter().for_each(|limit| judge.fold(limit));
        self.wait_for_age(&wait, judge.due_ns()).await?;
        self.proof(&wait, judge.verdict(self.transport.now_ns()))
    }

    pub(super) async fn vacate_by_age(&mut self, ticket: Ticket, rounds: u8) -> Result<Vacated, SubnetError> {
        let wait = self.begin_wait("the departure of what leaves, by age");
        let switches = self.live_switches()?;
        let mut judge = VacateAge::new(ticket, rounds, switches.iter().copied(), wait.begin_ns);
        self.limits(ticket, &switches).await?.iter().for_each(|limit| judge.fold(limit));
        self.wait_for_age(&wait, judge.due_ns()).await?;
        self.proof(&wait, judge.verdict(self.transport.now_ns()))
    }

    async fn wait_for_age(&mut self, wait: &Wait, due: Verdict<u64>) -> Result<(), SubnetError> {
        let due_ns = self.proof(wait, due)?;
        self.wait_until(due_ns).await
    }

    pub(super) fn live_switches(&self) -> Result<Vec<NodeId>, SubnetError> {
        let devices = self.devices()?;
        let topology = self.topology("waiting for a barrier")?;
        Ok(devices.into_iter().filter(|&node| topology.fabric.node(node).is_switch()).collect())
    }

    async fn limits(&mut self, ticket: Ticket, switches: &[NodeId]) -> Result<Vec<LifetimeReading>, SubnetError> {
        let ask = |&node: &NodeId| self.to_node(node, Method::Get, AttributeId::SwitchInfo, 0, [0; SMP_DATA_SIZE]);
        let requests = switches.iter().map(ask).collect::<Result<Vec<_>, _>>()?;
        let answers = self.ask_all(requests).await?;
        let reading = |(&device, answer)| {
            let lifetime_ns = limit_ns(SwitchInfo::decode(smp_data(answer)).life_time_value);
            LifetimeReading { ticket, device, lifetime_ns }
        };
        Ok(switches.iter().zip(&answers).map(reading).collect())
    }
}

/// SwitchInfo:LifeTimeValue in nanoseconds: 4.096 µs × 2^n, none from 20 on (section 18.2.5.4).
fn limit_ns(value: u8) -> Option<u64> {
    (value < 20).then(|| 4096 << value)
}
