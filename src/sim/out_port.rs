//! A port as a sender: its state, its turns, and what a packet takes of it.
//!
//! Knows one port and the lane that a packet takes. Whether the packet may go is for the data plane (`plane`) to judge.

use super::clock::Clock;
use super::index::{Dense, InLane, OutLane};
use super::lanes::LaneEnds;
use super::packet::Packet;
use super::wheel::{SimEvent, TICKS_PER_NS, Ticks};
use super::{SimConfig, kind};
use crate::fabric::{Fabric, NodeId, NodeKind, PortId};
use crate::ids::PortNum;
use crate::wire::PortState;

/// What a port's in lanes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortRole {
    /// Of a switch, or without a cable: input buffers.
    Switch,
    /// Of a host: send queues.
    EndPort,
    /// Of a router between subnets: input buffers, which packets leave by the router's other ports.
    Router,
    /// Port 0 of a host or router: send queues of its general management packets (`gmp`). Those of a switch stand at a
    /// port like its others.
    Own,
}

impl PortRole {
    /// Whether its in lanes are send queues, of data or of general management.
    pub fn is_send_queue(self) -> bool {
        matches!(self, PortRole::EndPort | PortRole::Own)
    }
}

/// What takes in what a port sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FarEnd {
    /// The input buffer of a switch or router.
    Buffer,
    /// An input buffer inside the device that the port is in: packets from several inputs take turns word by word, so
    /// one that comes slowly does not hold the link until it has come.
    Stage,
    /// A host, which consumes packets on arrival.
    Sink,
}

/// A port as a sender; one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct OutPort {
    /// When the link finishes what it is sending, or has finished, in ticks.
    pub busy_until: Ticks,
    /// Bytes of all data packets sent.
    pub bytes_sent: u64,
    /// Data packets sent.
    pub packets_sent: u64,
    /// Ticks from the first byte sent to the request for the next output: flight time, and the routing delay of the
    /// port at the other end.
    pub hop_delay: u32,
    /// Ticks for a byte, in units of 1/65536 tick.
    pub ticks_per_byte: u32,
    /// The port at the other end as cabled, dead or alive; none without a cable.
    pub peer: PortId,
    /// The node that it belongs to.
    pub node: NodeId,
    /// Which row of forwarding entries is its node's own.
    pub row: u32,
    /// Bit mask by VL: lanes with a line of waiting queues.
    pub pending: u16,
    /// Credits that the lane in turn may still send.
    pub allowance: u16,
    /// The lane in turn.
    pub turn: u8,
    /// Its port number on its node.
    pub num: u8,
    /// The external ports of its node.
    pub fellows: u8,
    /// Data lanes in operation (PortInfo:OperationalVLs); packets mapped beyond them are discarded.
    pub lanes: u8,
    /// What its in lanes are.
    pub role: PortRole,
    /// What takes in what it sends.
    pub far_end: FarEnd,
    /// PortInfo:PortState; DOWN while the cable or a node at one of its ends is dead.
    pub state: PortState,
    /// Whether a wake-up at `busy_until` is pending.
    pub scheduled: bool,
    /// Packets wait for this port, its link was free, and none of their lanes had the credits (PortXmitWait). A MAD may
    /// take the link meanwhile, so this does not exclude `scheduled`.
    pub waits: bool,
    /// Whether somebody has written its VL arbitration lists, which stand elsewhere: sending looks here first.
    pub programmed: bool,
}

impl OutPort {
    /// A port that has sent nothing.
    pub fn new(fabric: &Fabric, id: PortId, row: u32, fellows: u8, config: &SimConfig) -> OutPort {
        let port = fabric.port(id);
        let kind = |port: PortId| fabric.node(fabric.port(port).node).kind;
        // Kilobytes per second to ticks per byte, times 65536.
        // Rounded up, so no link is faster than its rate.
        let ticks_per_byte = (TICKS_PER_NS * 1_000_000 * 65_536).div_ceil(port.width.data_rate_kbps(port.speed));
        OutPort {
            busy_until: 0,
            bytes_sent: 0,
            packets_sent: 0,
            hop_delay: hop_delay(config, config.routing_delay_ns),
            ticks_per_byte: ticks_per_byte as u32,
            peer: port.peer.unwrap_or(PortId::NONE),
            node: port.node,
            row,
            pending: 0,
            allowance: 0,
            turn: 0,
            num: port.num.0,
            fellows,
            role: match (kind(id), port.peer, port.num) {
                (NodeKind::Switch, ..) => PortRole::Switch,
                (_, _, PortNum::ZERO) => PortRole::Own,
                (_, Some(_), _) => PortRole::EndPort,
                (_, None, _) => PortRole::Switch,
            },
            far_end: match port.peer {
                Some(peer) if kind(peer) != NodeKind::Switch => FarEnd::Sink,
                _ => FarEnd::Buffer,
            },
            scheduled: false,
            state: if port.peer.is_some() { PortState::Active } else { PortState::Down },
            waits: false,
            programmed: false,
            lanes: config.data_vls,
        }
    }

    /// Whether the cable and both of its ends live.
    #[inline]
    pub fn is_up(&self) -> bool {
        self.state != PortState::Down
    }

    /// Whether data may be sent.
    #[inline]
    pub fn sends(&self) -> bool {
        self.state == PortState::Active
    }

    /// A lane sends, so it becomes or remains the lane in turn.
    #[inline(always)]
    pub fn take_turn(&mut self, vl: u8, credits: u16, weight: u16) {
        // A packet longer than the rest of the allowance still goes, and the turn ends with it. A packet is never
        // split.
        let before = if vl == self.turn && self.allowance > 0 { self.allowance } else { weight };
        (self.turn, self.allowance) = (vl, before.saturating_sub(credits));
    }

    /// Schedules a wake-up of this port, `own`, for when its link is free, if a queue waits for it.
    #[inline(always)]
    pub fn wake_when_free(&mut self, clock: &mut Clock, own: PortId) {
        // One wake-up serves all that wait: the output decides only then whose turn it is.
        if self.pending != 0 && !self.scheduled {
            self.scheduled = true;
            clock.push(self.busy_until, SimEvent::new(kind::FREE, own.0, 0));
        }
    }

    /// The wake-up has come.
    #[inline(always)]
    pub fn wakes(&mut self) {
        self.scheduled = false;
    }

    /// The cable dies. Returns whether packets waited for credits here: they do so no longer.
    pub fn goes_down(&mut self) -> bool {
        self.state = PortState::Down;
        std::mem::take(&mut self.waits)
    }

    /// A packet takes the link, credits of a lane, whose ends these are, and room in the buffer at the other end.
    #[inline(always)]
    pub fn carry(&mut self, packet: &mut Packet, lane: (OutLane, InLane, &mut LaneEnds), at: LinkTime) -> PacketSent {
        let (out_lane, down, ends) = lane;
        let LinkTime { now, link_delay } = at;
        let (bytes, credits) = (u64::from(packet.bytes), packet.credits);
        let sending = (bytes * u64::from(self.ticks_per_byte)) >> 16;
        // A packet cannot leave before it has come: a fast output waits for the tail from a slow input.
        let end = (now + sending).max(packet.tail);
        self.busy_until = if self.far_end == FarEnd::Stage { now + sending } else { end };
        // Neither wraps: at 50 bytes a nanosecond it takes 2^64 bytes eleven years of simulated time.
        self.bytes_sent = self.bytes_sent.wrapping_add(bytes);
        self.packets_sent = self.packets_sent.wrapping_add(1);
        packet.tail = end + link_delay;
        ends.line.credits.spend(credits);
        let from_switch = self.role == PortRole::Switch;
        if from_switch {
            packet.hops = packet.hops.saturating_add(1);
        }
        let next = if self.far_end == FarEnd::Sink {
            // A sink has no buffer: the credits of its packet are coming back from the start, and DELIVER brings them.
            // The packet keeps the lane, since `deliver` returns the credits.
            ends.line.credits.expect(credits);
            packet.out_lane = out_lane;
            Next::EndPort { peer: self.peer, tail: packet.tail }
        } else {
            // Room is taken as the packet sets out, so credits at hand and room taken always add up to the buffer.
            ends.queue.held += u32::from(credits);
            // Any port but a sink latches anew.
            packet.out_lane = OutLane::NONE;
            Next::Buffer { down, asks: now + Ticks::from(self.hop_delay) }
        };
        let ends_wait = std::mem::replace(&mut self.waits, false);
        PacketSent { end, next, from_switch, ends_wait }
    }
}

/// What sending a packet needs to know of time.
#[derive(Clone, Copy)]
pub struct LinkTime {
    /// Now, in ticks.
    pub now: Ticks,
    /// Flight time of a link, in ticks.
    pub link_delay: Ticks,
}

/// A packet that has taken a link.
#[derive(Clone, Copy)]
pub struct PacketSent {
    /// When its tail leaves.
    pub end: Ticks,
    /// Where it comes next.
    pub next: Next,
    /// Whether it leaves a switch.
    pub from_switch: bool,
    /// Whether its output has waited for credits until now.
    pub ends_wait: bool,
}

/// Where a packet comes next.
#[derive(Clone, Copy)]
pub enum Next {
    /// To an end port, which consumes it when its tail has come.
    EndPort { peer: PortId, tail: Ticks },
    /// To a buffer, where it asks for its output.
    Buffer { down: InLane, asks: Ticks },
}

/// Ticks from the first byte sent to the request for the next output.
pub fn hop_delay(config: &SimConfig, routing_delay_ns: u32) -> u32 {
    let ticks = (u64::from(config.link_delay_ns) + u64::from(routing_delay_ns)) * TICKS_PER_NS;
    u32::try_from(ticks).expect("a hop takes less than a second")
}
