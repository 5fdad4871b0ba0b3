//! Flush and drain by age: reads the lifetime limit of every switch, then waits as long as the limits require; a drain
//! asks the responders between its two rounds (F.6, D.6).

use super::{Wait, smp_data};
use crate::drain::{
    AgeQuestion, AgeStage, DrainAge, Drained, FlushAge, Flushed, LifetimeReading, ReplyReading, Ticket, VacateAge,
    Vacated,
};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::VlSet;
use crate::subnet::manager::Manager;
use crate::subnet::{Ask, Leaving, RequestTarget, Retiring, SubnetError};
use crate::transport::Transport;
use crate::wire::vendor::ActiveHalf;
use crate::wire::{AttributeId, SwitchInfo};

/// The longest packet: the largest MTU, every header and both checksums (IBA 5.2).
const LONGEST_PACKET_BYTES: u64 = 4096 + 128;

/// The further delay of a cable and the ports at its ends: a kilometre of fibre takes 5 µs.
const CABLE_NS: u64 = 10_000;

impl<T: Transport> Manager<T> {
    pub(super) async fn flush_by_age(&mut self, ticket: Ticket, lanes: VlSet) -> Result<Flushed, SubnetError> {
        let wait = self.begin_wait(format!("flush of lanes {lanes}, by age"));
        let switches = self.aging_switches()?;
        // With a fence, stray packets of the spare half may be anywhere when the split closes that half, so each switch
        // of the longest way counts. Otherwise F.6 counts two lifetimes.
        let hops = if self.sources.settle_ns().is_some() { self.longest_way(&wait.awaited)? } else { 0 };
        let mut judge = FlushAge::new(self.age_question(ticket, lanes, &wait)?, switches.iter().copied(), hops);
        self.limits(ticket, &switches, false).await?.iter().for_each(|limit| judge.fold(limit));
        let due_ns = self.proof(&wait, judge.due_ns())?;
        self.wait_until(due_ns).await?;
        self.proof(&wait, judge.verdict(self.transport.now_ns()))
    }

    pub(super) async fn drain_by_age(
        &mut self,
        ticket: Ticket,
        retiring: &Retiring<'_>,
    ) -> Result<Drained, SubnetError> {
        let awaited = format!("drain of lanes {}, by age", retiring.lanes);
        let mut wait = self.begin_wait(awaited.clone());
        let switches = self.aging_switches()?;
        let question = self.age_question(ticket, retiring.lanes, &wait)?;
        let limited = switches.iter().copied();
        let way = self.longest_way(&awaited)?;
        let mut judge = match self.sources.settle_ns() {
            Some(_) => DrainAge::behind_fence(question, way, limited),
            // Dead devices are excused: they answer nothing, and nothing comes out of them (P4.3).
            None => {
                let alive = retiring.sources.iter().copied().filter(|&port| self.is_linked(port));
                DrainAge::new(question, way, limited, retiring.in_use.half, alive)
            }
        };
        self.limits(ticket, &switches, false).await?.iter().for_each(|limit| judge.fold(limit));
        let mut is_settling = false;
        loop {
            let stage = judge.stage(self.transport.now_ns()).map_err(|reason| self.no_verdict(&wait, &reason))?;
            match stage {
                AgeStage::Requests { due_ns } | AgeStage::Replies { due_ns } => self.wait_until(due_ns).await?,
                AgeStage::Settling => {
                    if !is_settling {
                        // The responders have a barrier's time from here: ages took what they had to.
                        (wait, is_settling) = (self.begin_wait(awaited.clone()), true);
                    }
                    self.ask_responders(ticket, &mut judge, &mut wait).await?;
                }
                // Every limit was folded, so the judge that still lacks one says so.
                AgeStage::Limits | AgeStage::Over => break,
            }
        }
        self.proof(&wait, judge.verdict(self.transport.now_ns()))
    }

    /// Reads the limit of every switch, without a wait.
    pub(super) async fn check_limits(&mut self) -> Result<(), SubnetError> {
        let ticket = Ticket::default();
        let wait = self.begin_wait("vacating, by age, before the first write");
        let switches = self.aging_switches()?;
        let mut judge = VacateAge::new(self.vacating_question(ticket, &wait)?, 1, switches.iter().copied());
        self.limits(ticket, &switches, true).await?.iter().for_each(|limit| judge.fold(limit));
        self.proof(&wait, judge.due_ns()).map(|_| ())
    }

    pub(super) async fn vacate_by_age(
        &mut self,
        ticket: Ticket,
        leaving: &Leaving<'_>,
    ) -> Result<Vacated, SubnetError> {
        let Leaving { rounds, since_ns, fenced, until_event, .. } = *leaving;
        let begun = self.begin_wait(format!("vacating in {rounds} rounds, by age"));
        let wait = Wait { begin_ns: since_ns.min(begun.begin_ns), ..begun };
        let switches = self.aging_switches()?;
        let question = match fenced {
            // Packets that an end port holds on the lanes of a level that it now discards meet entries of later waves.
            true => self.age_question(ticket, VlSet::EMPTY, &wait)?,
            false => self.vacating_question(ticket, &wait)?,
        };
        let mut judge = VacateAge::new(question, rounds, switches.iter().copied());
        self.limits(ticket, &switches, until_event).await?.iter().for_each(|limit| judge.fold(limit));
        let due_ns = self.proof(&wait, judge.due_ns())?;
        let is_due = self.transport.now_ns() >= due_ns;
        if until_event
            && !is_due
            && let Some(event) = self.await_event(due_ns).await?
        {
            // The caller looks at what the event reports.
            self.events.push_front(event);
            return Err(SubnetError::Changed);
        }
        self.wait_until(due_ns).await?;
        self.proof(&wait, judge.verdict(self.transport.now_ns()))
    }

    /// Asks once; pauses if some have not settled.
    async fn ask_responders(
        &mut self,
        ticket: Ticket,
        judge: &mut DrainAge,
        wait: &mut Wait,
    ) -> Result<(), SubnetError> {
        let asked: Vec<PortId> = judge.unsettled().collect();
        // All count as asked when the first request was sent and as answered when the last answer came, which never
        // favours a proof.
        let asked_ns = self.transport.now_ns();
        let halves = self.halves_of(&asked).await?;
        let answered_ns = self.transport.now_ns();
        for (ActiveHalf { half, settled }, &port) in halves.into_iter().zip(&asked) {
            judge.fold_reply(&ReplyReading { ticket, port, asked_ns, answered_ns, half, settled });
        }
        let left: Vec<PortId> = judge.unsettled().collect();
        let Some(&first) = left.first() else { return Ok(()) };
        let missing = format!("{} end ports hold replies, first {}", left.len(), self.describe_port(first));
        self.pause(wait, || missing).await
    }

    /// The time from which packets in the subnet age, and how long one may be on a wire.
    fn age_question(&self, ticket: Ticket, lanes: VlSet, wait: &Wait) -> Result<AgeQuestion, SubnetError> {
        // A fence closes what a host hands to its port from then on. Packets that the port had mapped to a lane before
        // stand there, and no device can be asked: assumption `fenced-lanes-run-empty`.
        let held_ns = self.sources.settle_ns().unwrap_or(0);
        if held_ns > 0 {
            tracing::info!(assumption = "fenced-lanes-run-empty", settle_ns = held_ns, "{}", wait.awaited);
        }
        let wire_ns = wire_ns(&self.topology("waiting for a barrier")?.fabric);
        Ok(AgeQuestion { ticket, lanes, since_ns: wait.begin_ns.saturating_add(held_ns), wire_ns })
    }

    /// Packets in switches age from the last write on. A packet that an end port holds back has met no entry yet, and
    /// meets the present ones when it is sent.
    fn vacating_question(&self, ticket: Ticket, wait: &Wait) -> Result<AgeQuestion, SubnetError> {
        let wire_ns = wire_ns(&self.topology("waiting for a barrier")?.fabric);
        Ok(AgeQuestion { ticket, lanes: VlSet::EMPTY, since_ns: wait.begin_ns, wire_ns })
    }

    pub(in crate::subnet) fn live_switches(&self) -> Result<Vec<NodeId>, SubnetError> {
        let devices = self.devices()?;
        let topology = self.topology("waiting for a barrier")?;
        Ok(devices.into_iter().filter(|&node| topology.fabric.node(node).is_switch()).collect())
    }

    /// The present switches that packets may be in.
    fn aging_switches(&self) -> Result<Vec<NodeId>, SubnetError> {
        let mut switches = self.live_switches()?;
        if let Some(through) = &self.ways_through {
            switches.retain(|switch| through.contains(switch));
        }
        Ok(switches)
    }

    async fn limits(
        &mut self,
        ticket: Ticket,
        switches: &[NodeId],
        until_event: bool,
    ) -> Result<Vec<LifetimeReading>, SubnetError> {
        let asks = switches.iter().map(|&switch| Ask::get(RequestTarget::Node(switch), AttributeId::SwitchInfo, 0));
        let answers = match until_event {
            true => {
                let requests = asks.map(|ask| self.request_of(ask, 0)?).collect::<Result<_, _>>()?;
                self.ask_all_or_change(requests).await?
            }
            false => self.put(asks).await?,
        };
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

/// How long the longest packet takes over the slowest cable.
fn wire_ns(fabric: &Fabric) -> u64 {
    let cabled = fabric.ports().filter(|(_, port)| port.peer.is_some());
    let slowest = cabled.map(|(_, port)| port.width.data_rate_kbps(port.speed)).min();
    // Kilobytes a second: a byte takes a millionth of that many nanoseconds.
    CABLE_NS + slowest.map_or(0, |rate| (LONGEST_PACKET_BYTES * 1_000_000).div_ceil(rate.max(1)))
}
