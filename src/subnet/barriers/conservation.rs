//! Drain by conservation: reads the end ports' counters of the retired service levels, wave after wave (section D).
//!
//! No device reports discards by service level: a discarded packet leaves *received* below *sent* for good, and the
//! time limit ends the wait. After the proof the counters are zeroed and read again, because these levels are unused
//! until the next change (D.5).

use crate::drain::{ConservationJudge, CounterReading, Drained, Ticket, Verdict};
use crate::fabric::PortId;
use crate::ids::Sl;
use crate::subnet::Retiring;
use crate::subnet::SubnetError;
use crate::subnet::exchange::{MadData, MadRequest, RequestBody};
use crate::subnet::manager::Manager;
use crate::tables::{HalfInForce, RoundTrip, round_trip};
use crate::transport::Transport;
use crate::wire::{Method, PerfAttributeId, PortDataSl};

/// The counters that a wave reads at each port, besides the half that it sends on.
const COUNTERS: [PerfAttributeId; 2] = [PerfAttributeId::PortXmitDataSl, PerfAttributeId::PortRcvDataSl];

impl<T: Transport> Manager<T> {
    pub(super) async fn drain_by_conservation(
        &mut self,
        ticket: Ticket,
        retiring: &Retiring<'_>,
    ) -> Result<Drained, SubnetError> {
        let lanes = retiring.lanes;
        let topology = self.topology("draining")?;
        let ports: Vec<PortId> = topology.fabric.end_ports().collect();
        let mut wait = self.begin_wait(format!("drain of lanes {lanes}, by conservation"));
        let mut judge = ConservationJudge::new(ticket, lanes, ports.iter().copied(), wait.begin_ns);
        // Unlike the other observers, this one cannot excuse dead ports: the remaining ports have counted packets
        // exchanged with them.
        retiring.sources.iter().filter(|&&port| !self.is_linked(port)).for_each(|&port| judge.lose(port));
        if let Verdict::NoVerdict(reason) = judge.verdict() {
            return Err(self.no_verdict(&wait, &reason));
        }
        loop {
            for reading in self.counter_readings(ticket, &ports, retiring).await? {
                judge.fold(&reading);
            }
            match judge.verdict() {
                Verdict::Proof(drained) => return Ok(drained),
                Verdict::NoVerdict(reason) => return Err(self.no_verdict(&wait, &reason)),
                Verdict::Pending => {}
            }
            let missing = "more was sent on the retired service levels than was received".to_string();
            self.pause(&mut wait, || missing).await?;
        }
    }

    async fn counter_readings(
        &mut self,
        ticket: Ticket,
        ports: &[PortId],
        retiring: &Retiring<'_>,
    ) -> Result<Vec<CounterReading>, SubnetError> {
        let half = retiring.in_use.half;
        let asked_ns = self.transport.now_ns();
        // Halves first: a port that has settled sends nothing more on the retired levels, so the counters read after
        // are final.
        let halves = self.halves_of(ports).await?;
        let mut counted = Vec::new();
        for counter in COUNTERS {
            counted.push(self.counters(ports, retiring, counter, Method::Get).await?);
        }
        let answered_ns = self.transport.now_ns();
        // One interval for the whole wave: the inequality of section D compares waves, not single readings.
        let reading = |(at, &port): (usize, &PortId)| {
            let [sent, received] = [0, 1].map(|which: usize| &counted[which][at]);
            let reserved = self.reserved_sl();
            let retired = || half.other().sls().filter(move |&sl| Some(sl) != reserved);
            let sum = |data: &PortDataSl| retired().map(|sl| u64::from(data.counters[sl.index()])).sum();
            CounterReading {
                ticket,
                port,
                asked_ns,
                answered_ns,
                sent: sum(sent),
                received: sum(received),
                clamped: [sent, received].iter().any(|data| retired().any(|sl| data.counted(sl).is_none())),
                settled: halves[at].half == half && halves[at].settled,
            }
        };
        Ok(ports.iter().enumerate().map(reading).collect())
    }

    /// Zeroes the counters of the half that has been drained, and records which ports show zero afterwards.
    pub(super) async fn zero_retired(&mut self, retiring: &Retiring<'_>) -> Result<(), SubnetError> {
        let half = retiring.in_use.half.other();
        self.counters_stand_at_zero(half, &[]);
        let ports: Vec<PortId> = self.topology("draining")?.fabric.end_ports().collect();
        for counter in COUNTERS {
            self.counters(&ports, retiring, counter, Method::Set).await?;
        }
        // A late copy of a `Set` would take away what has been counted since.
        self.await_quiet().await?;
        let mut zeroed = ports.clone();
        for counter in COUNTERS {
            let held = self.counters(&ports, retiring, counter, Method::Get).await?;
            let is_zero = |data: &PortDataSl| self.retired_levels(retiring).all(|sl| data.counters[sl.index()] == 0);
            let counting = ports.iter().zip(&held).filter(|(_, data)| !is_zero(data)).map(|(&port, _)| port);
            let counting: Vec<PortId> = counting.collect();
            zeroed.retain(|port| !counting.contains(port));
        }
        self.counters_stand_at_zero(half, &zeroed);
        Ok(())
    }

    fn retired_levels(&self, retiring: &Retiring<'_>) -> impl Iterator<Item = Sl> + use<T> {
        let (half, reserved) = (retiring.in_use.half.other(), self.reserved_sl());
        half.sls().filter(move |&sl| Some(sl) != reserved)
    }

    /// Reads one counter of every port for the retired service levels, or resets it, on the half in use.
    async fn counters(
        &mut self,
        ports: &[PortId],
        retiring: &Retiring<'_>,
        attribute: PerfAttributeId,
        method: Method,
    ) -> Result<Vec<PortDataSl>, SubnetError> {
        let retired = self.retired_levels(retiring).fold(0, |mask: u16, sl| mask | 1 << sl.get());
        let mut requests = Vec::with_capacity(ports.len());
        // On the half in use: a request on the retired levels would count in what it reads (D.5).
        for &port in ports {
            let trip = self.round_trip(port, retiring)?;
            let fabric = &self.topology("draining")?.fabric;
            let owner = fabric.port(port);
            let data = PortDataSl { counter_select: retired, ..PortDataSl::all(owner.num) }.encode();
            let body = RequestBody::Perf { trip, attribute, data: Box::new(data) };
            requests.push(MadRequest { queue: owner.node.0, tag: 0, method, modifier: 0, body });
        }
        let answers = self.ask_all(requests).await?;
        let counters = answers.iter().filter_map(|answer| match &answer.data {
            MadData::Perf(_, data) => Some(PortDataSl::decode(data)),
            MadData::Smp(..) => None,
        });
        Ok(counters.collect())
    }

    /// The way by which the manager's port asks an end port, on the half in use.
    fn round_trip(&self, port: PortId, retiring: &Retiring<'_>) -> Result<RoundTrip, SubnetError> {
        let topology = self.topology("draining")?;
        let in_use = HalfInForce { fabric: &topology.fabric, ..retiring.in_use };
        round_trip(in_use, topology.sm, port).ok_or_else(|| SubnetError::Unsendable {
            attempted: format!("reading the counters of {}", topology.fabric.describe_port(port)),
            reason: format!(
                "no path there and back is open to the SM's port and to it on one layer of the {} half: use another \
                 drain observer",
                in_use.half
            ),
        })
    }
}
