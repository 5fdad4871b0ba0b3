//! What the next events will read, read for all of them at once.
//!
//! On a fabric of ten thousand hosts nothing that a packet-hop touches is in the cache, and each step of a hop waits
//! for the one before: the packet says where it goes, the table of its switch by which port, the port whether it may.
//! One hop after the other, that is a miss of the cache nine times; for several events side by side the processor waits
//! for each step once. Nothing here changes anything: a guess that an earlier event proves wrong costs a miss, as
//! before.

use super::index::{Dense, InLane, OutLane, PacketId};
use super::out_port::PortRole;
use super::plane::DataPlane;
use super::sending::Injector;
use super::wheel::{CHUNK, SimEvent};
use super::{Sim, kind};
use crate::fabric::PortId;

/// What the next step of an event reads, as far as the steps before have shown it.
#[derive(Clone, Copy)]
enum Sight {
    /// Nothing more.
    Nothing,
    /// The way of a packet from an input: its DLID and service level.
    Way(PortId, u16, u8),
    /// An output and a lane of it.
    Output(PortId, u8),
    /// An output, its first lane that has a line.
    Line(PortId, u8),
    /// The first queue of a line.
    Queue(InLane),
    Packet(PacketId),
    /// The port of a host that sends.
    Host(PortId),
}

/// Steps after the first.
const STEPS: usize = 3;

impl Sim {
    /// Reads what these events will read.
    #[inline(never)]
    pub(super) fn look_ahead(&self, events: &[SimEvent]) {
        let mut seen = 0;
        // Step by step for all of them, in loops so short that the processor has all of a step under way at once.
        let mut sights = [Sight::Nothing; CHUNK];
        let sights = &mut sights[..events.len()];
        for (event, sight) in events.iter().zip(sights.iter_mut()) {
            *sight = self.first_sight(*event, &mut seen);
        }
        for _ in 0..STEPS {
            for sight in sights.iter_mut() {
                *sight = self.plane.next_sight(*sight, &mut seen);
            }
        }
        // What is read must not look useless.
        std::hint::black_box(seen);
    }

    #[inline(always)]
    fn first_sight(&self, event: SimEvent, seen: &mut u32) -> Sight {
        let plane = &self.plane;
        match event.kind() {
            kind::ARRIVE => {
                let (packet, lane) = (&plane.packets[PacketId(event.a())], InLane(event.b()));
                let input = plane.port_of(lane);
                *seen ^= plane.lanes[lane].count;
                match plane.ports[input].role {
                    PortRole::Switch => Sight::Way(input, packet.dlid, packet.sl),
                    _ => Sight::Nothing,
                }
            }
            kind::DELIVER => {
                let (packet, rank) = (&plane.packets[PacketId(event.a())], self.sources.by_port[PortId(event.b())]);
                let received = self.sources.list.get(rank).map_or(0, |source| source.received[0]);
                *seen ^= u32::from(packet.bytes) ^ received as u32;
                // The lane that brought it has its credits back.
                match packet.out_lane.is_lane() {
                    true => Sight::Output(plane.port_of(packet.out_lane), plane.vl_of(packet.out_lane)),
                    false => Sight::Nothing,
                }
            }
            kind::FREE => {
                let port = PortId(event.a());
                match plane.ports[port].pending {
                    0 => Sight::Nothing,
                    pending => Sight::Line(port, pending.trailing_zeros() as u8),
                }
            }
            kind::CREDIT => {
                let lane = OutLane(event.b());
                Sight::Output(plane.port_of(lane), plane.vl_of(lane))
            }
            kind::INJECT => match Injector::of(event) {
                Injector::Source(rank) => {
                    let source = &self.sources.list[rank];
                    *seen ^= source.waiting ^ source.sent[0] as u32;
                    Sight::Host(source.port)
                }
                Injector::Trace | Injector::Script | Injector::Monitor => Sight::Nothing,
            },
            _ => Sight::Nothing,
        }
    }
}

impl DataPlane {
    #[inline(always)]
    fn next_sight(&self, sight: Sight, seen: &mut u32) -> Sight {
        match sight {
            Sight::Way(input, dlid, sl) => match self.tables.way(input, &self.ports[input], dlid, sl) {
                Some((port, vl)) => Sight::Output(port, vl.min(self.data_vls - 1)),
                None => Sight::Nothing,
            },
            Sight::Output(port, vl) => {
                *seen ^= self.lanes[self.out_lane(port, vl)].first_waiter.0 ^ u32::from(self.ports[port].pending);
                Sight::Nothing
            }
            Sight::Line(port, vl) => match self.lanes[self.out_lane(port, vl)].first_waiter.get() {
                Some(lane) => Sight::Queue(lane),
                None => Sight::Nothing,
            },
            Sight::Queue(lane) => self.lanes[lane].head.get().map_or(Sight::Nothing, Sight::Packet),
            Sight::Packet(id) => {
                *seen ^= u32::from(self.packets[id].bytes);
                Sight::Nothing
            }
            Sight::Host(port) => {
                *seen ^= u32::from(self.ports[port].pending) ^ self.lanes[self.in_lane(port, 0)].count;
                Sight::Nothing
            }
            Sight::Nothing => Sight::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::ids::{Half, Lmc};
    use crate::routing::{Demand, Engine, UpDown};
    use crate::sim::SimConfig;
    use crate::sim::wheel::TICKS_PER_NS;

    /// A saturated torus, of which a switch dies at 20 µs.
    fn sim() -> Sim {
        let made = generate(&"torus:4x4,2".parse().unwrap(), &Options::default()).unwrap();
        let fabric = crate::lid::assign(&made, Lmc::masked(1)).unwrap();
        let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).unwrap();
        let config = SimConfig { load: 0.8, replies: 0.3, ..SimConfig::default() };
        let tables = crate::lid::bring_up(&fabric, &function, config.data_vls);
        let manager = fabric.end_ports().next().unwrap();
        let mut sim = Sim::new(&fabric, config, manager).unwrap();
        for (switch, block, entries) in tables.lft_blocks(&fabric) {
            sim.load_lft_block(switch, block, &entries);
        }
        sim.load_half(Half::Lower);
        sim.start();
        sim
    }

    #[test]
    fn every_kind_of_event_may_be_looked_at_and_nothing_changes() {
        let (mut plain, mut looking) = (sim(), sim());
        let mut kinds = [0; 7];
        for until_ns in [20_000, 40_000] {
            plain.run(until_ns, false);
            while let Some(event) = looking.clock.step(until_ns * TICKS_PER_NS) {
                looking.look_ahead(&[event; CHUNK]);
                kinds[usize::from(event.kind())] += 1;
                looking.handle(event);
            }
            for sim in [&mut plain, &mut looking] {
                let switch = sim.fabric.switches().last().unwrap();
                sim.kill(switch);
            }
        }
        assert_eq!((plain.trace_hash(), plain.packet_hops()), (looking.trace_hash(), looking.packet_hops()));
        let seen = [kind::ARRIVE, kind::DELIVER, kind::CREDIT, kind::FREE, kind::INJECT].map(usize::from);
        assert!(seen.iter().all(|&kind| kinds[kind] > 100), "{kinds:?}");
    }
}
