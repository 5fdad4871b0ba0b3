//! Performance management agents: what a port sent, received, discarded and waited for.
//!
//! The sending port counts what a link carries; the far end has received all of it that is not known to be lost on the
//! wire. So a packet counts at both ends when its sending begins. Only data packets count. Links have no errors.
//! PortXmitWait counts nanoseconds in which packets waited for credits and the link was free.

use super::index::{By, Dense, InLane, OutLane};
use super::plane::DataPlane;
use super::power_on::RESPONSE_TIME;
use super::source::Sources;
use super::wheel::{TICKS_PER_NS, Ticks};
use crate::fabric::PortId;
use crate::ids::PortNum;
use crate::wire::{
    ClassPortInfo, Method, PERF_DATA_SIZE, PerfAttributeId, PerfMad, PortCounters, PortCountersExtended, PortDataSl,
    status,
};

/// ClassPortInfo:CapabilityMask: PortCountersExtended with packets, and PortXmitWait.
const CAPABILITIES: u16 = 1 << 9 | 1 << 12;
/// ClassPortInfo:CapabilityMask2. PortCountersExtended counts errors too, but no bit says so: libumad2sim hands its
/// programs 224 bytes of a MAD, and with the bit set they take the memory after these bytes for counters.
const CAPABILITIES2: u32 = 0;

/// The attribute as it now stands, or the status that refuses the request.
type Answer = Result<[u8; PERF_DATA_SIZE], u16>;

/// Counters of a port that the hot path does not touch.
#[derive(Clone, Default)]
struct Tally {
    /// Packets on the wire towards it that were lost with the link.
    missed_packets: u64,
    /// Their bytes.
    missed_bytes: u64,
    /// Packets that were to leave by it and were discarded.
    xmit_discards: u64,
    /// Packets that came in and had no output.
    relay_errors: u64,
    /// Times that its link went down.
    link_downed: u64,
    /// Ticks in which it waited for credits, without the present wait.
    waited: Ticks,
    /// When the present wait began, in ticks.
    waits_since: Ticks,
    /// SMPs that its VL 15 buffer had no room for.
    vl15_dropped: u64,
    /// Subtracted from each reading: the counter when it was last set, less the value that it was set to.
    offsets: [u64; Counter::COUNT],
}

/// The counters that a port reports.
#[derive(Clone, Copy)]
enum Counter {
    LinkDowned,
    RelayErrors,
    XmitDiscards,
    XmitData,
    RcvData,
    XmitPackets,
    RcvPackets,
    XmitWait,
    Vl15Dropped,
}

impl Counter {
    const COUNT: usize = 9;

    /// The counters of traffic, in the order of PortCountersExtended:CounterSelect.
    const TRAFFIC: [Counter; 4] = [Counter::XmitData, Counter::RcvData, Counter::XmitPackets, Counter::RcvPackets];
}

/// A counter of a narrower field, which stops at its highest value.
fn clamped<T: TryFrom<u64>>(count: u64, most: T) -> T {
    T::try_from(count).unwrap_or(most)
}

/// The counters of all ports.
pub(super) struct Counters {
    by_port: By<PortId, Tally>,
}

/// The data plane from which counters are read, and the time of the reading.
#[derive(Clone, Copy)]
pub(super) struct CounterView<'a> {
    pub plane: &'a DataPlane,
    pub now: Ticks,
}

impl CounterView<'_> {
    /// The port whose counters a request that came in by `arrival` names: any of the node's; all at once are refused.
    fn port(&self, arrival: PortId, named: PortNum) -> Result<PortId, u16> {
        let node = self.plane.ports[arrival].node;
        let exists = named.0 <= self.plane.num_ports(node) && (named.0 > 0 || self.plane.is_switch(node));
        if exists { Ok(self.plane.port_at(node, named)) } else { Err(status::INVALID_VALUE) }
    }
}

impl Counters {
    pub fn new(ports: usize) -> Counters {
        Counters { by_port: By::filled(Tally::default(), ports) }
    }

    /// The answer of a node's agent to a request that came in by `port`.
    pub fn answer(&mut self, at: CounterView<'_>, sources: &mut Sources, port: PortId, perf: &PerfMad) -> PerfMad {
        let set = perf.method == Method::Set;
        let answer = match perf.attribute {
            PerfAttributeId::ClassPortInfo if !set => Ok(class_port_info()),
            PerfAttributeId::PortCounters => self.port_counters(at, port, perf, set),
            PerfAttributeId::PortCountersExtended => self.port_counters_extended(at, port, perf, set),
            PerfAttributeId::PortXmitDataSl | PerfAttributeId::PortRcvDataSl => data_by_sl(sources, port, perf, set),
            _ => Err(status::UNSUPPORTED_METHOD_ATTRIBUTE),
        };
        answer.map_or_else(|status| perf.refusal(status), |data| perf.response(data))
    }

    fn port_counters(&mut self, at: CounterView<'_>, arrival: PortId, perf: &PerfMad, set: bool) -> Answer {
        let sent = PortCounters::decode(&perf.data);
        let port = at.port(arrival, sent.port)?;
        if set {
            let chosen = |bit: u16| sent.counter_select >> bit & 1 == 1;
            for (bit, counter, value) in [
                (2, Counter::LinkDowned, sent.link_downed.into()),
                (5, Counter::RelayErrors, sent.rcv_switch_relay_errors.into()),
                (6, Counter::XmitDiscards, sent.xmit_discards.into()),
                (11, Counter::Vl15Dropped, sent.vl15_dropped.into()),
                (12, Counter::XmitData, sent.xmit_data.into()),
                (13, Counter::RcvData, sent.rcv_data.into()),
                (14, Counter::XmitPackets, sent.xmit_packets.into()),
                (15, Counter::RcvPackets, sent.rcv_packets.into()),
            ] {
                if chosen(bit) {
                    self.set(at, port, counter, value);
                }
            }
            if sent.counter_select2 & 1 == 1 {
                self.set(at, port, Counter::XmitWait, sent.xmit_wait.into());
            }
        }
        let count = |counter| self.read(at, port, counter);
        let counters = PortCounters {
            port: sent.port,
            counter_select: sent.counter_select,
            counter_select2: sent.counter_select2,
            link_downed: clamped(count(Counter::LinkDowned), u8::MAX),
            rcv_switch_relay_errors: clamped(count(Counter::RelayErrors), u16::MAX),
            xmit_discards: clamped(count(Counter::XmitDiscards), u16::MAX),
            vl15_dropped: clamped(count(Counter::Vl15Dropped), u16::MAX),
            xmit_data: clamped(count(Counter::XmitData), u32::MAX),
            rcv_data: clamped(count(Counter::RcvData), u32::MAX),
            xmit_packets: clamped(count(Counter::XmitPackets), u32::MAX),
            rcv_packets: clamped(count(Counter::RcvPackets), u32::MAX),
            xmit_wait: clamped(count(Counter::XmitWait), u32::MAX),
            ..PortCounters::default()
        };
        Ok(counters.encode())
    }

    /// The long form. All packets are unicast, so the counters of unicast packets are those of packets, and are set
    /// with them.
    fn port_counters_extended(&mut self, at: CounterView<'_>, arrival: PortId, perf: &PerfMad, set: bool) -> Answer {
        let sent = PortCountersExtended::decode(&perf.data);
        let port = at.port(arrival, sent.port)?;
        if set {
            let values = [sent.xmit_data, sent.rcv_data, sent.xmit_packets, sent.rcv_packets];
            for (bit, (counter, value)) in Counter::TRAFFIC.into_iter().zip(values).enumerate() {
                if sent.counter_select >> bit & 1 == 1 {
                    self.set(at, port, counter, value);
                }
            }
            for (bit, counter, value) in [
                (2, Counter::LinkDowned, sent.link_downed),
                (5, Counter::RelayErrors, sent.rcv_switch_relay_errors),
                (6, Counter::XmitDiscards, sent.xmit_discards),
                (11, Counter::Vl15Dropped, sent.vl15_dropped),
                (12, Counter::XmitWait, sent.xmit_wait),
            ] {
                if sent.counter_select2 >> bit & 1 == 1 {
                    self.set(at, port, counter, value);
                }
            }
        }
        let count = |counter| self.read(at, port, counter);
        let counters = PortCountersExtended {
            port: sent.port,
            counter_select: sent.counter_select,
            counter_select2: sent.counter_select2,
            xmit_data: count(Counter::XmitData),
            rcv_data: count(Counter::RcvData),
            xmit_packets: count(Counter::XmitPackets),
            rcv_packets: count(Counter::RcvPackets),
            unicast_xmit_packets: count(Counter::XmitPackets),
            unicast_rcv_packets: count(Counter::RcvPackets),
            link_downed: count(Counter::LinkDowned),
            rcv_switch_relay_errors: count(Counter::RelayErrors),
            xmit_discards: count(Counter::XmitDiscards),
            vl15_dropped: count(Counter::Vl15Dropped),
            xmit_wait: count(Counter::XmitWait),
            ..PortCountersExtended::default()
        };
        Ok(counters.encode())
    }

    /// A counter since the run began.
    fn since_start(&self, at: CounterView<'_>, port: PortId, counter: Counter) -> u64 {
        let (own, tally) = (&at.plane.ports[port], &self.by_port[port]);
        let (bytes_in, packets_in) = match own.peer {
            PortId::NONE => (0, 0),
            peer => (at.plane.ports[peer].bytes_sent, at.plane.ports[peer].packets_sent),
        };
        match counter {
            Counter::LinkDowned => tally.link_downed,
            Counter::RelayErrors => tally.relay_errors,
            Counter::XmitDiscards => tally.xmit_discards,
            Counter::Vl15Dropped => tally.vl15_dropped,
            Counter::XmitData => own.bytes_sent / 4,
            Counter::RcvData => (bytes_in - tally.missed_bytes) / 4,
            Counter::XmitPackets => own.packets_sent,
            Counter::RcvPackets => packets_in - tally.missed_packets,
            Counter::XmitWait => {
                let present = if own.waits { at.now - tally.waits_since } else { 0 };
                (tally.waited + present) / TICKS_PER_NS
            }
        }
    }

    /// A counter as the port reports it. Other ports read the same counts, so a Set leaves them as they are, and
    /// readings are relative to an offset.
    fn read(&self, at: CounterView<'_>, port: PortId, counter: Counter) -> u64 {
        self.since_start(at, port, counter).wrapping_sub(self.by_port[port].offsets[counter as usize])
    }

    fn set(&mut self, at: CounterView<'_>, port: PortId, counter: Counter, value: u64) {
        let offset = self.since_start(at, port, counter).wrapping_sub(value);
        self.by_port[port].offsets[counter as usize] = offset;
    }

    /// Packets wait for an output whose link is free: none of their lanes has the credits.
    #[cold]
    pub fn wait_begins(&mut self, port: PortId, now: Ticks) {
        self.by_port[port].waits_since = now;
    }

    /// An output that waited sends, or goes down.
    #[cold]
    pub fn wait_ends(&mut self, port: PortId, now: Ticks) {
        let tally = &mut self.by_port[port];
        tally.waited += now - tally.waits_since;
    }

    /// An SMP finds no room in the VL 15 buffer of the port by which it came.
    pub fn drop_smp(&mut self, port: PortId) {
        self.by_port[port].vl15_dropped += 1;
    }

    /// SMPs for which the VL 15 buffers of all ports had no room.
    pub fn smps_dropped(&self) -> u64 {
        self.by_port.iter().map(|tally| tally.vl15_dropped).sum()
    }

    /// A packet is lost on the wire to a port.
    #[cold]
    pub fn miss(&mut self, port: PortId, bytes: u16) {
        let tally = &mut self.by_port[port];
        tally.missed_packets += 1;
        tally.missed_bytes += u64::from(bytes);
    }

    /// The head of a queue is discarded because its output may not send, or because it has none. A packet that was not
    /// latched yet was lost with the link of its own port, and counts as no error.
    #[cold]
    pub fn discard(&mut self, plane: &DataPlane, lane: InLane, out_lane: OutLane) {
        let input = plane.port_of(lane);
        match out_lane {
            OutLane::NONE => {}
            OutLane::DISCARD if plane.ports[input].role.is_send_queue() => {
                self.by_port[input].xmit_discards += 1;
            }
            OutLane::DISCARD => self.by_port[input].relay_errors += 1,
            out_lane => self.by_port[plane.port_of(out_lane)].xmit_discards += 1,
        }
    }

    /// A port's link goes down.
    pub fn link_down(&mut self, port: PortId) {
        self.by_port[port].link_downed += 1;
    }
}

/// Data by service level, which end ports count.
fn data_by_sl(sources: &mut Sources, port: PortId, perf: &PerfMad, set: bool) -> Answer {
    let source = sources.at_port_mut(port).ok_or(status::UNSUPPORTED_METHOD_ATTRIBUTE)?;
    let sent = perf.attribute == PerfAttributeId::PortXmitDataSl;
    let counts = if sent { &mut source.sent } else { &mut source.received };
    let mut data = PortDataSl::decode(&perf.data);
    if set {
        let chosen = (0..16).filter(|sl| data.counter_select >> sl & 1 == 1);
        chosen.for_each(|sl| counts[sl] = data.counters[sl].into());
    }
    // The counters have 32 bits and stay at their end.
    data.counters = counts.map(|count| clamped(count, u32::MAX));
    Ok(data.encode())
}

fn class_port_info() -> [u8; PERF_DATA_SIZE] {
    let mut data = [0; PERF_DATA_SIZE];
    let info = ClassPortInfo::new(1, CAPABILITIES, CAPABILITIES2, RESPONSE_TIME).encode();
    data[..info.len()].copy_from_slice(&info);
    data
}
