//! The flush of some lanes (section F): orders it at every device, then polls until all have reported completion.

use super::smp_data;
use crate::drain::{FlushJudge, FlushReading, Flushed, Observer, StraysJudge, Ticket, Verdict};
use crate::fabric::{NodeId, PortId};
use crate::ids::VlSet;
use crate::subnet::manager::Manager;
use crate::subnet::{Ask, RequestTarget, SubnetError};
use crate::transport::Transport;
use crate::wire::vendor::Flush;
use crate::wire::{AttributeId, Method, PortState};

impl<T: Transport> Manager<T> {
    /// Waits until `lanes` are empty and nothing is latched for them: by age if the observer is age, otherwise by the
    /// devices' agents.
    pub(in crate::subnet) async fn await_flushed(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        lanes: VlSet,
    ) -> Result<Flushed, SubnetError> {
        match observer {
            Observer::Lifetime => self.flush_by_age(ticket, lanes).await,
            Observer::Token | Observer::Poll | Observer::Conservation if self.sources.settle_ns().is_some() => {
                self.flush_behind_fence(ticket, lanes).await
            }
            Observer::Token | Observer::Poll | Observer::Conservation => self.flush_by_agents(ticket, lanes).await,
        }
    }

    /// Behind a fence strays of the spare half may be anywhere when it is closed, and the tables of the split lead them
    /// into `lanes`: so all that was sent before comes to its end first (F.7).
    async fn flush_behind_fence(&mut self, ticket: Ticket, lanes: VlSet) -> Result<Flushed, SubnetError> {
        let awaited = format!("flush of lanes {lanes}");
        let rounds = self.longest_way(&awaited)?;
        if rounds > StraysJudge::MOST {
            let reason = format!("ways of {rounds} switches need more than {} rounds", StraysJudge::MOST);
            return Err(SubnetError::NoVerdict { awaited, reason });
        }
        let mut judge = StraysJudge::new(ticket, lanes, rounds as u8);
        while let Some((part, lanes)) = judge.due() {
            judge.fold(&self.flush_by_agents(part, lanes).await?);
        }
        let reason = "a round of flushes is missing".to_string();
        judge.verdict().ok_or(SubnetError::NoVerdict { awaited, reason })
    }

    pub(super) async fn flush_by_agents(&mut self, ticket: Ticket, lanes: VlSet) -> Result<Flushed, SubnetError> {
        let devices = self.flushing_devices()?;
        let mut judge = FlushJudge::new(ticket, lanes, devices.iter().copied());
        let what = if lanes == VlSet::EMPTY { "every device".to_string() } else { format!("lanes {lanes}") };
        let mut wait = self.begin_wait(format!("flush of {what}"));
        // The order (F.1). Its answers count as readings, since a device may be done at once.
        self.ask_about_flush(&mut judge, &devices, Method::Set, lanes).await?;
        loop {
            match judge.verdict() {
                Verdict::Proof(flushed) => return Ok(flushed),
                Verdict::NoVerdict(reason) => return Err(self.no_verdict(&wait, &reason)),
                Verdict::Pending => {}
            }
            let waiting: Vec<NodeId> = judge.waiting().collect();
            let missing = || format!("{} devices, first {}", waiting.len(), self.name_of(waiting[0]));
            let missing = missing();
            self.pause(&mut wait, || missing).await?;
            self.ask_about_flush(&mut judge, &waiting, Method::Get, lanes).await?;
        }
    }

    /// The devices that take part (F.1): those that some link joins to others, of which both ends can take data. One
    /// that is back and not in use yet may hold packets from before, which nothing takes and nothing meets; nor does a
    /// token come from a far end that is INIT.
    fn flushing_devices(&self) -> Result<Vec<NodeId>, SubnetError> {
        let fabric = &self.topology("waiting for a barrier")?.fabric;
        let is_up = |port: PortId| {
            let known = self.port_infos.get(&fabric.port_name(port));
            known.is_none_or(|info| matches!(info.port_state, PortState::Armed | PortState::Active))
        };
        let may_carry = |port: PortId| fabric.peer(port).is_some_and(|far| is_up(port) && is_up(far));
        let mut devices = self.devices()?;
        devices.retain(|&node| fabric.ports_of(node).any(may_carry));
        Ok(devices)
    }

    async fn ask_about_flush(
        &mut self,
        judge: &mut FlushJudge,
        devices: &[NodeId],
        method: Method,
        lanes: VlSet,
    ) -> Result<(), SubnetError> {
        let aside = self.reserved.map(|level| level.vl).into_iter().collect();
        let data = Flush { round: judge.round(), lanes, flushed: false, aside }.encode();
        let ask = |&node: &NodeId| Ask { method, ..Ask::set(RequestTarget::Node(node), AttributeId::Flush, 0, data) };
        for (&device, answer) in devices.iter().zip(self.put(devices.iter().map(ask)).await?) {
            // Round and lanes are those of the answer, not of the request: the judge ignores a device's report on
            // another flush.
            let Flush { round, lanes, flushed, .. } = Flush::decode(smp_data(&answer));
            judge.fold(&FlushReading { device, round, lanes, flushed });
        }
        Ok(())
    }
}
