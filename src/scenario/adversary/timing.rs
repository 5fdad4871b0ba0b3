//! Assigns times to the steps of an order: how long each takes on this hardware, and how long each hold lasts.

use super::needs::{Occurrence, describe};
use super::order::{Candidate, Hold, OrderedStep};
use super::schedule::{Landing, Role, Schedule, Step, StepAction, Train, Unreached};
use super::search::Choice;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Vl;
use crate::plan::Plan;
use crate::sim::SimConfig;
use std::collections::BTreeMap;

/// The longest packet, in bytes.
const MOST_BYTES: u16 = 4_200;

/// Bytes in a MAD with its headers; and the overhead of an exchange with a device besides its service, in nanoseconds.
const MAD_BYTES: u64 = 290;
const EXCHANGE_NS: u64 = 4_000;

/// Between two steps, so that neither disturbs the other.
const GAP_NS: u64 = 100;

/// The filling of a lane: packets of the cycle, and the room left for holding packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fill {
    /// Credits of a packet of the cycle.
    credits: u16,
    /// The number of these packets.
    packets: u16,
    /// Packets of one credit that fit before them; too few credits for one of the cycle.
    holds: u16,
}

impl Fill {
    /// The filling that leaves the most room for holding: when the holding packets are gone, no further packet of the
    /// cycle fits.
    fn of(buffer: u16) -> Fill {
        let fill = |credits: u16| Fill { credits, packets: buffer / credits, holds: buffer % credits };
        // The packets of the cycle leave less than one of them takes, so the lane stays full for the cycle.
        let sizes = (1..=MOST_BYTES.div_ceil(64).min(buffer)).map(fill);
        sizes.max_by_key(|fill| (fill.holds, fill.credits)).unwrap_or(Fill { credits: buffer, packets: 1, holds: 0 })
    }

    fn bytes(self) -> u16 {
        (self.credits * 64).min(MOST_BYTES)
    }
}

/// Assigns the times of an order.
pub fn schedule(plan: &Plan, choice: &Choice, wave: &str, config: &SimConfig) -> Result<Schedule, Unreached> {
    let fill = Fill::of(config.buffer_credits);
    if fill.holds == 0 {
        return Err(Unreached::NoRoom { credits: config.buffer_credits });
    }
    let mut clock = Clock::new(plan, config, fill);
    clock.dies_later = choice.order.steps.contains(&OrderedStep::Happen(Occurrence::Death));
    for step in &choice.order.steps {
        match *step {
            OrderedStep::Happen(event) => clock.happen(event),
            OrderedStep::Park(lane, hold) => clock.park(lane, choice, hold),
        }
    }
    clock.finish_holds(choice)?;
    Ok(clock.finish(choice, wave))
}

/// The hold of a lane, while it lasts.
struct Held<'a> {
    lane: usize,
    hold: &'a Hold,
    from_ns: u64,
}

/// The clock of the schedule.
struct Clock<'a> {
    plan: &'a Plan,
    config: &'a SimConfig,
    fill: Fill,
    now_ns: u64,
    /// The wave whose writes are in flight; none before the first.
    wave: Option<usize>,
    death_ns: Option<u64>,
    /// Whether the death is a step of its own, not the start.
    dies_later: bool,
    /// By device: the time at which it applied its last delayed write.
    landed: BTreeMap<NodeId, u64>,
    steps: Vec<Step>,
    trains: Vec<Train>,
    landings: Vec<Landing>,
    /// By lane: the time at which its packets stand.
    parked: BTreeMap<usize, u64>,
    held: Vec<Held<'a>>,
}

impl<'a> Clock<'a> {
    fn new(plan: &'a Plan, config: &'a SimConfig, fill: Fill) -> Clock<'a> {
        Clock {
            plan,
            config,
            fill,
            now_ns: GAP_NS,
            wave: None,
            death_ns: None,
            dies_later: false,
            landed: BTreeMap::new(),
            steps: Vec::new(),
            trains: Vec::new(),
            landings: Vec::new(),
            parked: BTreeMap::new(),
            held: Vec::new(),
        }
    }

    fn fabric(&self) -> &'a Fabric {
        &self.plan.draft().before
    }

    /// Time to send this many bytes over a link, rounded up.
    fn sending_ns(&self, port: PortId, bytes: u64) -> u64 {
        let port = self.fabric().port(port);
        (bytes * 1_000_000).div_ceil(port.width.data_rate_kbps(port.speed)) + 1
    }

    /// Time to send this many bytes over the slowest link of the fabric.
    fn slowest_ns(&self, bytes: u64) -> u64 {
        let ports = self.fabric().ports().filter(|(_, port)| port.peer.is_some());
        ports.map(|(id, _)| self.sending_ns(id, bytes)).max().unwrap_or(0)
    }

    fn hop_ns(&self) -> u64 {
        u64::from(self.config.link_delay_ns) + u64::from(self.config.routing_delay_ns)
    }

    fn happen(&mut self, event: Occurrence) {
        let Occurrence::Land(id) = event else {
            self.death_ns = Some(self.now_ns);
            return self.note(StepAction::Death, GAP_NS);
        };
        self.reach(id.wave);
        let write = &self.plan.waves()[id.wave].writes[id.place];
        let node = write.node(self.fabric());
        // A device serves one MAD at a time, so two delayed writes to it are a service time apart.
        if let Some(last) = node.and_then(|node| self.landed.get(&node)) {
            self.now_ns = self.now_ns.max(last + self.config.sma_service_ns + GAP_NS);
        }
        let wave = self.plan.waves()[id.wave].name.clone();
        self.landed.extend(node.map(|node| (node, self.now_ns)));
        self.landings.push(Landing { id, wave: wave.clone(), place: id.place, at_ns: self.now_ns });
        let (device, what) = describe(self.fabric(), write);
        self.note(StepAction::Write { wave, device, what }, GAP_NS);
    }

    fn note(&mut self, what: StepAction, takes_ns: u64) {
        self.steps.push(Step { at_ns: self.now_ns, what });
        self.now_ns += takes_ns;
    }

    /// Waits until all undelayed writes of a wave have landed.
    fn reach(&mut self, wave: usize) {
        let first = self.wave.map_or(0, |last| last + 1);
        for next in first..=wave {
            // The acknowledgement of the wave before, then the writes of this one.
            self.now_ns += if next == 0 { 0 } else { EXCHANGE_NS } + self.writing_ns(next);
            self.wave = Some(next);
        }
    }

    /// How long the writes of a wave take: service at the busiest device, and the sending of all. PortInfo is read
    /// first.
    fn writing_ns(&self, wave: usize) -> u64 {
        let mut by_node: BTreeMap<NodeId, u64> = BTreeMap::new();
        let writes = &self.plan.waves()[wave].writes;
        for node in writes.iter().filter_map(|write| write.node(self.fabric())) {
            *by_node.entry(node).or_default() += 2;
        }
        let busiest = by_node.values().max().copied().unwrap_or(0);
        let sending = 4 * writes.len() as u64 * self.slowest_ns(MAD_BYTES);
        (busiest + 1) * (self.config.sma_service_ns + EXCHANGE_NS) + sending
    }

    fn park(&mut self, lane: usize, choice: &'a Choice, hold: Option<usize>) {
        // The first packets are sent when the undelayed writes of wave 0 have landed, unless a death must come first.
        let candidate = &choice.packets[lane];
        if self.wave.is_none() && (self.death_ns.is_some() || !self.dies_later) {
            self.reach(0);
        }
        let hold = hold.map(|index| &choice.holds[lane][index]);
        let begin_ns = self.now_ns;
        let mut at_ns = begin_ns;
        if let Some(hold) = hold {
            self.held.push(Held { lane, hold, from_ns: begin_ns });
            at_ns = self.send_hold(lane, hold, at_ns);
        }
        at_ns = self.send_packets(lane, candidate, at_ns);
        let at = candidate
            .way
            .hops
            .last()
            .map_or_else(String::new, |hop| format!("{}[{}] VL {}", hop.switch.name, hop.input.port, hop.input.vl));
        let behind = hold.and_then(|hold| self.fabric().lid_owner(hold.way.lid));
        let behind = behind.map(|port| self.fabric().describe_port(port));
        self.note(StepAction::Park { lane, at, behind }, at_ns - begin_ns);
        self.parked.insert(lane, self.now_ns);
    }

    /// Sends the small packets that stand before those of the cycle. Returns when the last has arrived.
    fn send_hold(&mut self, lane: usize, hold: &Hold, at_ns: u64) -> u64 {
        // The link that they wait for must be busy when the first of them arrives.
        let first_ns = at_ns + 2 * self.hop_ns();
        let every_ns = self.slowest_ns(64) + 1;
        let count = u32::from(self.fill.holds);
        let source = self.fabric().describe_port(hold.way.port);
        let (port, lid, sl) = (hold.way.port, hold.way.lid, hold.way.sl);
        self.trains.push(Train {
            role: Role::Holds,
            lane,
            source,
            port,
            lid,
            sl,
            bytes: 64,
            first_ns,
            every_ns,
            count,
        });
        first_ns + every_ns * u64::from(count) + self.hop_ns() * hold.way.hops.len() as u64 + GAP_NS
    }

    fn send_packets(&mut self, lane: usize, candidate: &Candidate, first_ns: u64) -> u64 {
        let way = &candidate.way;
        let (bytes, count) = (self.fill.bytes(), u32::from(self.fill.packets));
        let every_ns = self.slowest_ns(bytes.into()) + GAP_NS;
        let (source, port, lid, sl) = (way.source.clone(), way.port, way.lid, way.sl);
        self.trains.push(Train { role: Role::Waits, lane, source, port, lid, sl, bytes, first_ns, every_ns, count });
        first_ns + every_ns * u64::from(count) + self.hop_ns() * (way.hops.len() as u64 + 1) + GAP_NS
    }

    /// Keeps links busy for as long as each hold must last: until the lane after it is taken.
    fn finish_holds(&mut self, choice: &'a Choice) -> Result<(), Unreached> {
        let count = choice.packets.len();
        for Held { lane, hold, from_ns } in std::mem::take(&mut self.held) {
            let until_ns = self.parked[&((lane + 1) % count)];
            // Two fit into a buffer, so that the second asks for the link before the first has left.
            let bytes = MOST_BYTES.min((self.config.buffer_credits / 2).saturating_mul(64));
            let output = self.fabric().lid_owner(hold.way.lid).and_then(|port| self.fabric().peer(port));
            // Without the nanosecond that `sending_ns` adds: a round longer than the sending would let the link go
            // idle.
            let each_ns = output.map_or(0, |port| self.sending_ns(port, bytes.into())) - 1;
            let round_ns = each_ns * hold.busy.len() as u64;
            // Each round of the busy senders lets one of the small packets through.
            let (needed_ns, possible_ns) = (until_ns - from_ns, round_ns * u64::from(self.fill.holds));
            if needed_ns > possible_ns {
                return Err(Unreached::TooLong { needed_ns, possible_ns });
            }
            let rounds = needed_ns.div_ceil(round_ns.max(1)) as u32 + 3;
            for port in hold.busy.iter().map(|busy| busy.port) {
                let (role, source) = (Role::KeepsBusy, self.fabric().describe_port(port));
                let (lid, sl) = (hold.way.lid, hold.way.sl);
                let first =
                    Train { role, lane, source, port, lid, sl, bytes, first_ns: from_ns, every_ns: 1, count: 2 };
                // Two at once, then one each round: each sender always has one more waiting for the link.
                let rest = Train { first_ns: from_ns + round_ns, every_ns: round_ns, count: rounds, ..first.clone() };
                self.trains.extend([first, rest]);
            }
        }
        Ok(())
    }

    /// Where a packet stands at the end of its path, and what it waits for.
    fn turn(&self, packet: &Candidate) -> Option<(PortId, Vl, PortId, Vl)> {
        let hop = packet.way.hops.last()?;
        let port = |num| self.fabric().port_at(hop.node, num);
        Some((port(hop.input.port)?, hop.input.vl, port(hop.output.port)?, hop.output.vl))
    }

    fn finish(mut self, choice: &Choice, wave: &str) -> Schedule {
        self.trains.sort_by_key(|train| (train.first_ns, train.lane));
        Schedule {
            wave: wave.to_string(),
            packets: choice.packets.iter().map(|packet| packet.way.clone()).collect(),
            turns: choice.packets.iter().filter_map(|packet| self.turn(packet)).collect(),
            steps: self.steps,
            trains: self.trains,
            death_ns: self.death_ns,
            landings: self.landings,
            end_ns: self.now_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filled_lane_has_no_room_for_another_packet_of_the_cycle() {
        for buffer in 1..=2_048 {
            let fill = Fill::of(buffer);
            let waiting = fill.credits * fill.packets;
            assert!(fill.packets >= 1 && waiting + fill.holds <= buffer, "{buffer}: {fill:?}");
            assert!(buffer - waiting < fill.credits, "{buffer}: {fill:?}");
            assert!(fill.bytes().div_ceil(64) == fill.credits && fill.bytes() <= MOST_BYTES, "{buffer}: {fill:?}");
            assert!(buffer < 3 || fill.holds > 0, "{buffer}: {fill:?}");
        }
        assert_eq!(Fill::of(128), Fill { credits: 65, packets: 1, holds: 63 });
    }
}
