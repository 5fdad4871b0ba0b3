//! Where packets stand, seen from outside: what is none where a barrier says that lanes are empty.

use super::Sim;
use super::index::{By, Dense, EndPortRank, InLane, PacketId};
use super::out_port::{FarEnd, PortRole};
use super::packet::PacketMarks;
use super::plane::DataPlane;
use crate::fabric::PortId;
use crate::ids::{Half, Sl, Vl, VlSet};

/// How a lane is not empty.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LanePlace {
    /// Packets wait in this end port's send queue.
    SendQueue,
    /// Packets stand in this port's input buffer, or are on the wire to it.
    Buffer,
    /// Packets are on the wire from this port to an end port.
    Wire,
    /// Packets that stand in other lanes of its device are latched for this port's output.
    Latched,
    /// This end port's application makes packets for it.
    Source,
}

impl std::fmt::Display for LanePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            LanePlace::SendQueue => "in the send queue",
            LanePlace::Buffer => "in the input buffer",
            LanePlace::Wire => "on the wire to the end port",
            LanePlace::Latched => "latched for the output",
            LanePlace::Source => "at its source, which still sends there",
        })
    }
}

/// A lane that is not empty.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StandingLane {
    /// The port, in the simulation's indices.
    pub port: PortId,
    /// The lane.
    pub vl: Vl,
    /// Where.
    pub place: LanePlace,
}

/// A packet that was under way at some moment, which distinguishes it from all that are made later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketUnderWay {
    id: PacketId,
    /// When it was made, in ticks.
    born: u64,
}

impl Sim {
    /// How many of these lanes hold a packet, anywhere: in a send queue, in a buffer, or on the wire to a buffer or
    /// to an end port.
    pub fn occupied(&self, lanes: VlSet) -> usize {
        self.plane.holding(lanes).len()
    }

    /// Which of these lanes are not empty, anywhere, in rising order. What a drain or a flush claims to be none.
    pub fn standing(&self, lanes: VlSet) -> Vec<StandingLane> {
        let mut found = self.plane.holding(lanes);
        found.extend(self.plane.latched(lanes));
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl Sim {
    /// Which lanes hold packets of a half in a send queue or a buffer, in rising order: whatever lane that is.
    pub fn standing_of(&self, half: Half) -> Vec<StandingLane> {
        let plane = &self.plane;
        let of_half = |id: PacketId| {
            let sl = self.sl_in_its_lane(id);
            Half::of_sl(sl) == half && !self.is_reserved(sl.get())
        };
        let lanes = plane.ports.keys().flat_map(|port| plane.in_lanes(port));
        let lanes = lanes.filter(|&lane| plane.queue(lane).any(of_half));
        lanes.map(|lane| StandingLane::of_queue(plane, lane)).collect()
    }
}

impl Sim {
    /// Lanes that are not empty and lead into these ports or out of them. Where some ends are `omitted`, packets from
    /// and to them are left out, and so is what is on a wire: only a packet in a queue says whose it is.
    pub fn standing_about(&self, ports: &[PortId], omitted: &[PortId]) -> Vec<StandingLane> {
        if omitted.is_empty() {
            let all = VlSet(((1u32 << self.plane.data_vls) - 1) as u16);
            let aside = self.config.reserved.map(|level| level.vl).into_iter().collect();
            let mut found = self.standing(all.minus(aside));
            found.retain(|lane| ports.contains(&lane.port));
            return found;
        }
        let plane = &self.plane;
        let is_omitted = |rank: EndPortRank| rank.is_some() && omitted.contains(&self.sources.list[rank].port);
        let concerns = |id: PacketId| {
            let (source, destination) = self.ends_of(id);
            !is_omitted(source) && !is_omitted(destination) && !self.is_reserved(plane.packets[id].sl)
        };
        let inputs = plane.ports.keys().filter(|&port| !plane.ports[port].role.is_send_queue());
        let mut found = Vec::new();
        for lane in inputs.flat_map(|port| plane.in_lanes(port)) {
            for id in plane.queue(lane).filter(|&id| concerns(id)) {
                if ports.contains(&plane.port_of(lane)) {
                    found.push(StandingLane::of_queue(plane, lane));
                }
                let out_lane = plane.packets[id].out_lane;
                if out_lane.is_lane() && ports.contains(&plane.port_of(out_lane)) {
                    let (port, vl) = (plane.port_of(out_lane), Vl::masked(plane.vl_of(out_lane)));
                    found.push(StandingLane { port, vl, place: LanePlace::Latched });
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The data packets that are under way: in a buffer, on a wire or, if those count, in a send queue. Packets on the
    /// reserved level and questions to switches are left out: no barrier speaks of them.
    pub fn under_way(&self, in_send_queues: bool) -> Vec<PacketUnderWay> {
        let plane = &self.plane;
        let mut waits: By<PacketId, bool> = By::filled(in_send_queues, plane.packets.slots());
        let queues = plane.ports.keys().filter(|&port| plane.ports[port].role.is_send_queue());
        let queued = queues.flat_map(|port| plane.in_lanes(port)).flat_map(|lane| plane.queue(lane));
        queued.filter(|_| !in_send_queues).for_each(|id| waits[id] = true);
        let is_data = |id: PacketId| {
            let packet = &plane.packets[id];
            !self.is_reserved(packet.sl) && !packet.marks.contains(PacketMarks::QUESTION)
        };
        let alive = plane.packets.alive().filter(|&id| (in_send_queues || !waits[id]) && is_data(id));
        alive.map(|id| PacketUnderWay { id, born: plane.packets.born[id] }).collect()
    }

    /// Where packets that were under way at an earlier moment are still.
    pub fn still_under_way(&self, earlier: &[PacketUnderWay]) -> Vec<StandingLane> {
        self.plane.still_under_way(earlier)
    }

    /// Where requests on a half may still set out from these end ports: the lane of each that sends on it, and the send
    /// queues in which a packet of it waits. Replies are left out, because a host that is asked on a half answers on
    /// it.
    pub fn still_on(&self, half: Half, ports: &[PortId]) -> Vec<StandingLane> {
        let plane = &self.plane;
        let mut found = Vec::new();
        for source in ports.iter().filter_map(|&port| self.sources.at_port(port)) {
            let own = &plane.ports[source.port];
            let vl = plane.tables.lane(own.node, 0, own.num, half.sl_of(0).get());
            // VL 15: the port discards what its application makes for that half (P3.8).
            if source.half == half && !source.is_silent() && vl < plane.data_vls {
                found.push(StandingLane { port: source.port, vl: Vl::masked(vl), place: LanePlace::Source });
            }
            let asks = |id: PacketId| {
                plane.packets[id].source == source.rank
                    && Half::of_sl(Sl::masked(plane.packets[id].sl)) == half
                    && !self.is_reserved(plane.packets[id].sl)
                    && !plane.packets[id].marks.contains(PacketMarks::REPLY)
            };
            let queues = plane.in_lanes(source.port).filter(|_| own.role == PortRole::EndPort);
            let queues = queues.chain(plane.own_lanes(own.node));
            found.extend(
                queues.filter(|&lane| plane.queue(lane).any(asks)).map(|lane| StandingLane::of_queue(plane, lane)),
            );
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl StandingLane {
    fn of_queue(plane: &DataPlane, lane: InLane) -> StandingLane {
        let port = plane.port_of(lane);
        let is_queue = plane.ports[port].role.is_send_queue();
        let place = if is_queue { LanePlace::SendQueue } else { LanePlace::Buffer };
        StandingLane { port, vl: Vl::masked(plane.vl_of(lane)), place }
    }
}

impl DataPlane {
    fn holding(&self, lanes: VlSet) -> Vec<StandingLane> {
        let mut found = Vec::new();
        for port in self.ports.keys() {
            let at = &self.ports[port];
            for vl in (0..self.data_vls).filter(|&vl| lanes.contains(Vl::masked(vl))) {
                let lane = self.in_lane(port, vl);
                let queue = &self.lanes[lane];
                // `held` counts the credits of input buffers; a send queue takes none.
                let holds = if at.role == PortRole::EndPort { queue.count > 0 } else { queue.held > 0 };
                if holds {
                    found.push(StandingLane::of_queue(self, lane));
                }
                // A sink returns credits with the tail, so one that is missing is on the wire with its packet.
                let sends_to_sink = at.far_end == FarEnd::Sink && at.is_up();
                if sends_to_sink && self.lanes[self.out_lane(port, vl)].credits.at_hand() < self.capacity {
                    found.push(StandingLane { port, vl: Vl::masked(vl), place: LanePlace::Wire });
                }
            }
        }
        found
    }

    fn still_under_way(&self, earlier: &[PacketUnderWay]) -> Vec<StandingLane> {
        let mut left: By<PacketId, bool> = By::filled(false, self.packets.slots());
        for id in self.packets.alive() {
            left[id] = true;
        }
        // A number is given anew, but to packets that are made later.
        let is_same = |seen: &&PacketUnderWay| left[seen.id] && self.packets.born[seen.id] == seen.born;
        let mut wanted: By<PacketId, bool> = By::filled(false, self.packets.slots());
        earlier.iter().filter(is_same).for_each(|seen| wanted[seen.id] = true);
        let mut found = Vec::new();
        for lane in self.ports.keys().flat_map(|port| self.in_lanes(port)) {
            for id in self.queue(lane).filter(|&id| wanted[id]).collect::<Vec<_>>() {
                wanted[id] = false;
                found.push(StandingLane::of_queue(self, lane));
            }
        }
        // The rest is in no queue: on the wire to an end port.
        for id in wanted.keys().filter(|&id| wanted[id]) {
            let lane = self.packets[id].out_lane;
            if lane.is_lane() {
                let (port, vl) = (self.port_of(lane), Vl::masked(self.vl_of(lane)));
                found.push(StandingLane { port, vl, place: LanePlace::Wire });
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Lanes that a packet will enter although it stands in another lane. What waits for a dead output enters none.
    fn latched(&self, lanes: VlSet) -> impl Iterator<Item = StandingLane> {
        let inputs = self.ports.keys().filter(|&port| self.ports[port].role != PortRole::EndPort);
        let queued = inputs.flat_map(|port| self.in_lanes(port)).flat_map(|lane| self.queue(lane));
        let chosen = queued.map(|id: PacketId| self.packets[id].out_lane).filter(|out_lane| out_lane.is_lane());
        let entered = chosen.map(|out_lane| (self.port_of(out_lane), Vl::masked(self.vl_of(out_lane))));
        entered
            .filter(move |&(port, vl)| lanes.contains(vl) && self.ports[port].is_up())
            .map(|(port, vl)| StandingLane { port, vl, place: LanePlace::Latched })
    }
}
