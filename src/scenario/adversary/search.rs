//! The choice of packets: for each lane of the cycle one that can take its place, with holds, such that an order
//! exists.

use super::needs::{OccurrenceSides, Side, Writes, insert};
use super::order::{Blocked, Busy, Candidate, Hold, Order, arrange, holds_in, is_possible};
use super::schedule::Unreached;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, PortNum, Vl};
use crate::plan::Plan;
use crate::sim::Latch;
use crate::verify::{Cycle, LaneTurn, PortLane, Refusal, Tracer, Witness};
use std::collections::BTreeSet;

/// Limits: paths examined for each class, packets kept for each lane, holds kept for each lane.
const WAYS: usize = 4;
const PACKETS: usize = 48;
const HOLDS: usize = 24;

/// The most end ports that keep one link busy.
const BUSY: usize = 8;

/// Combinations of packets that are tried; and further ones, for fewer holds, once one has an order.
const TRIES: usize = 20_000;
const MORE_TRIES: usize = 200;

/// The packets chosen, by lane; the holds that the order may name, by lane; and the order.
pub struct Choice {
    pub packets: Vec<Candidate>,
    pub holds: Vec<Vec<Hold>>,
    pub order: Order,
}

/// Finds packets for the lanes of a cycle.
pub fn search(plan: &Plan, cycle: &Cycle, latch: Latch) -> Result<Choice, Unreached> {
    let lanes = Lanes::of(plan, cycle)?;
    let incoherent = |refusal: Refusal| Unreached::Foreign { why: refusal.to_string() };
    let tracer = Tracer::new(plan).map_err(incoherent)?;
    let tracer = tracer.ok_or_else(|| Unreached::Foreign { why: "the plan has no waves".to_string() })?;
    let Some(last) = tracer.stage(&cycle.wave) else {
        return Err(Unreached::Foreign { why: format!("the plan has no wave {}", cycle.wave) });
    };
    // Writes of later waves are ignored: the cycle closes in this one.
    let scout = Scout { plan, lanes: &lanes, tracer, writes: Writes::of(plan, last), latch, last };
    let packets: Vec<Vec<Candidate>> = (0..lanes.turns.len()).map(|lane| scout.packets(lane)).collect();
    if let Some(lane) = packets.iter().position(Vec::is_empty) {
        let dependency = cycle.dependencies[lane].to_string();
        return Err(match latch {
            Latch::Arrival | Latch::Head => Unreached::NoPacket { dependency },
            Latch::Grant => Unreached::NotLasting { dependency },
        });
    }
    let holds: Vec<Vec<Hold>> = (0..lanes.turns.len()).map(|lane| scout.holds(lane)).collect();
    let sudden = plan.draft().before != plan.draft().surviving;
    let mut combination = Combination {
        packets: &packets,
        holds: &holds,
        sudden,
        tries: 0,
        most_tries: TRIES,
        best: None,
        blocked: None,
    };
    combination.extend(&mut Vec::new());
    match combination.best {
        Some((order, chosen)) => {
            let packets = chosen.iter().zip(&packets).map(|(&choice, list)| list[choice].clone()).collect();
            Ok(Choice { packets, holds, order })
        }
        None if combination.tries >= TRIES => Err(Unreached::TooMany { tries: TRIES }),
        None => Err(match combination.blocked {
            Some(Blocked::NoHold) => Unreached::NoHold,
            Some(Blocked::Contradiction) | None => Unreached::Contradiction,
        }),
    }
}

/// The lanes of a cycle and the turns that packets take from one to the next.
struct Lanes {
    turns: Vec<LaneTurn>,
    /// By number: the port that sends into the lane, and its VL.
    channels: Vec<(PortId, Vl)>,
}

impl Lanes {
    fn of(plan: &Plan, cycle: &Cycle) -> Result<Lanes, Unreached> {
        let fabric = &*plan.draft().before;
        let mut lanes = Lanes { turns: Vec::new(), channels: Vec::new() };
        for dependency in &cycle.dependencies {
            let foreign = || Unreached::Foreign { why: format!("the plan's fabric lacks the ports of: {dependency}") };
            let switch = fabric.by_guid(dependency.switch.guid).ok_or_else(foreign)?;
            let input = fabric.port_at(switch, dependency.input.port).ok_or_else(foreign)?;
            let channel = fabric.peer(input).ok_or_else(foreign)?;
            lanes.turns.push(LaneTurn { switch, input: dependency.input, output: dependency.output });
            lanes.channels.push((channel, dependency.input.vl));
        }
        Ok(lanes)
    }

    /// The lanes of the cycle, other than `own`, that a path passes before its last turn.
    fn crossed(&self, fabric: &Fabric, way: &Witness, own: usize) -> BTreeSet<usize> {
        // The last hop is the turn at which the packet stands: the lane beyond it is never entered.
        let before_last = &way.hops[..way.hops.len() - 1];
        let passes = |lane: &usize| {
            let lane = self.channels[*lane];
            before_last
                .iter()
                .any(|hop| fabric.port_at(hop.node, hop.output.port) == Some(lane.0) && hop.output.vl == lane.1)
        };
        (0..self.turns.len()).filter(|&lane| lane != own).filter(passes).collect()
    }
}

/// The search for packets.
struct Scout<'a> {
    plan: &'a Plan,
    lanes: &'a Lanes,
    tracer: Tracer<'a>,
    writes: Writes<'a>,
    latch: Latch,
    /// The stage at which the cycle closes.
    last: usize,
}

impl Scout<'_> {
    /// Packets that can take a place, those with the fewest needs first; only a few with equal needs.
    fn packets(&self, lane: usize) -> Vec<Candidate> {
        let fabric = &*self.plan.draft().before;
        let stages = (0..=self.last).rev();
        let ways = stages.flat_map(|stage| self.tracer.ways(self.lanes.turns[lane], stage, WAYS));
        let mut packets: Vec<Candidate> = ways.filter_map(|way| self.candidate(fabric, lane, way)).collect();
        packets.sort_by_key(|packet| (packet.needs.len() + packet.crosses.len(), packet.way.hops.len()));
        let mut kept: Vec<Candidate> = Vec::new();
        for packet in packets {
            // Packets with the same needs differ only in their source, and a source serves one lane of the cycle: a few
            // sources suffice to choose from.
            let alike = |other: &&Candidate| {
                (&other.needs, &other.crosses, other.holdable) == (&packet.needs, &packet.crosses, packet.holdable)
            };
            let same = |other: &Candidate| other.way.port == packet.way.port;
            if kept.iter().filter(alike).count() < 4 && !kept.iter().filter(alike).any(same) {
                kept.push(packet);
            }
        }
        kept.truncate(PACKETS);
        kept
    }

    fn candidate(&self, fabric: &Fabric, lane: usize, way: Witness) -> Option<Candidate> {
        let needs = self.writes.needs(&way)?;
        let at_end = self.writes.needs_at_end(&way);
        // The last choice reads an entry that a write of the plan still changes.
        let old = at_end.values().any(|&side| side == Side::Before);
        // With latch `grant` a waiting packet chooses again and again, so its choice must survive every write of the
        // wave.
        let lasts = match self.latch {
            Latch::Arrival | Latch::Head => true,
            Latch::Grant => !old,
        };
        let crosses = self.lanes.crossed(fabric, &way, lane);
        // Latched on arrival, a packet keeps its choice while it is held. Otherwise it chooses at the head, after the
        // hold, when the write may have landed.
        let holdable = self.latch == Latch::Arrival || !old;
        let passes = passed(fabric, &way);
        lasts.then_some(Candidate { way, needs, holdable, crosses, passes })
    }

    /// Holds for a lane: to every host of its switch, by every path through the lane.
    fn holds(&self, lane: usize) -> Vec<Hold> {
        let draft = self.plan.draft();
        let LaneTurn { switch, input, .. } = self.lanes.turns[lane];
        let hosts = hosts(&draft.before, &draft.surviving, switch);
        let mut holds = Vec::new();
        for &(output, host) in &hosts {
            let siblings: Vec<PortId> = hosts.iter().map(|&(_, other)| other).filter(|&other| other != host).collect();
            for (stage, vl) in (0..=self.last).rev().flat_map(|stage| draft.lanes.all.iter().map(move |vl| (stage, vl)))
            {
                let turn = LaneTurn { switch, input, output: PortLane { port: output, vl } };
                for way in self.tracer.ways(turn, stage, 1) {
                    holds.extend(self.hold_by(lane, way.clone(), &siblings));
                    // Too few hosts at this switch to keep the link busy: hosts of neighbouring switches may do it.
                    if siblings.len() < 2 {
                        holds.extend(self.hold_from_afar(lane, way, turn, stage));
                    }
                }
            }
        }
        holds.sort_by_key(|hold: &Hold| (hold.needs.len() + hold.crosses.len(), hold.way.hops.len()));
        holds.truncate(HOLDS);
        holds
    }

    /// A hold by other hosts of the same switch.
    fn hold_by(&self, lane: usize, way: Witness, siblings: &[PortId]) -> Option<Hold> {
        let half = Half::of_sl(way.sl);
        let ports: Vec<PortId> = siblings.iter().copied().filter(|&port| port != way.port).take(BUSY).collect();
        let mut lasting = OccurrenceSides::new();
        let possible = ports
            .iter()
            .fold(!ports.is_empty(), |possible, &port| self.writes.add_half(&mut lasting, port, half) && possible);
        let busy = ports.into_iter().map(|port| Busy { port, fills: BTreeSet::new() }).collect();
        possible.then(|| self.hold(lane, way, busy, lasting)).flatten()
    }

    /// A hold by hosts of neighbouring switches, whose packets arrive at other ports.
    fn hold_from_afar(&self, lane: usize, way: Witness, turn: LaneTurn, stage: usize) -> Option<Hold> {
        let fabric = &*self.plan.draft().before;
        let (mut busy, mut lasting) = (Vec::new(), OccurrenceSides::new());
        let inputs = fabric.ports_of(turn.switch).map(|port| fabric.port(port).num);
        for port in inputs.filter(|&port| port != turn.input.port && port != turn.output.port) {
            let ways = self.tracer.ways(LaneTurn { input: PortLane { port, ..turn.input }, ..turn }, stage, 1);
            let near = |other: &&Witness| {
                (other.lid, other.sl, other.hops.len()) == (way.lid, way.sl, 2) && other.port != way.port
            };
            let Some(other) = ways.iter().find(near) else { continue };
            let fills = passed(fabric, other);
            // These packets queue up. In a lane of the cycle they would stand where its own packets belong.
            let of_cycle = self.lanes.channels.iter().any(|lane| fills.contains(lane));
            let needs = self.writes.needs(other).filter(|_| !of_cycle);
            // Into a copy: each end port must agree with those accepted so far, and a refused one must leave no trace.
            let agree =
                |needs: &OccurrenceSides| needs.iter().all(|(&event, &side)| insert(&mut lasting.clone(), event, side));
            if let Some(needs) = needs.filter(agree) {
                lasting.extend(needs);
                busy.push(Busy { port: other.port, fills });
            }
        }
        busy.truncate(2);
        (busy.len() == 2).then(|| self.hold(lane, way, busy, lasting)).flatten()
    }

    fn hold(&self, lane: usize, way: Witness, busy: Vec<Busy>, lasting: OccurrenceSides) -> Option<Hold> {
        let crosses = self.lanes.crossed(&self.plan.draft().before, &way, lane);
        let needs = self.writes.needs(&way)?;
        Some(Hold { way, busy, needs, lasting, crosses })
    }
}

/// The lanes between switches that a path passes or fills.
fn passed(fabric: &Fabric, way: &Witness) -> BTreeSet<(PortId, Vl)> {
    let before_last = &way.hops[..way.hops.len() - 1];
    let lanes = before_last.iter().filter_map(|hop| {
        let port = fabric.port_at(hop.node, hop.output.port)?;
        Some((port, hop.output.vl))
    });
    lanes.collect()
}

/// The surviving end ports at a switch, with the switch's ports towards them.
fn hosts(fabric: &Fabric, surviving: &Fabric, switch: NodeId) -> Vec<(PortNum, PortId)> {
    let host = |port: PortId| {
        let end = surviving.peer(port).filter(|&end| !fabric.node(fabric.port(end).node).is_switch())?;
        Some((fabric.port(port).num, end))
    };
    fabric.ports_of(switch).filter_map(host).collect()
}

/// Combinations of one packet for each lane, tried in turn.
struct Combination<'a> {
    packets: &'a [Vec<Candidate>],
    holds: &'a [Vec<Hold>],
    sudden: bool,
    tries: usize,
    most_tries: usize,
    best: Option<(Order, Vec<usize>)>,
    /// The least hopeless reason for which a combination has no order.
    blocked: Option<Blocked>,
}

impl Combination<'_> {
    /// Tries every packet for the remaining lanes, lane by lane.
    fn extend(&mut self, chosen: &mut Vec<usize>) {
        let picked: Vec<&Candidate> = chosen.iter().zip(self.packets).map(|(&at, list)| &list[at]).collect();
        if chosen.len() == self.packets.len() {
            return self.judge(&picked, chosen);
        }
        for at in 0..self.packets[chosen.len()].len() {
            let next = &self.packets[chosen.len()][at];
            // One source cannot fill two lanes: its packets leave one after the other.
            if picked.iter().any(|other| other.way.port == next.way.port) {
                continue;
            }
            if self.is_over() {
                return;
            }
            self.tries += 1;
            chosen.push(at);
            // More packets only add needs, so a contradiction here rules out every combination that begins like this.
            if is_possible(&[picked.as_slice(), &[next]].concat()) {
                self.extend(chosen);
            } else {
                self.blocked = self.blocked.max(Some(Blocked::Contradiction));
            }
            chosen.pop();
        }
    }

    /// Whether to stop: enough was tried, or an order has one hold, which is optimal.
    fn is_over(&self) -> bool {
        self.tries >= self.most_tries || self.best.as_ref().is_some_and(|(order, _)| holds_in(order) <= 1)
    }

    fn judge(&mut self, picked: &[&Candidate], chosen: &[usize]) {
        match arrange(picked, self.holds, self.sudden) {
            Ok(order) => {
                let better = |(best, _): &(Order, Vec<usize>)| holds_in(&order) < holds_in(best);
                // An order exists. Fewer holds are worth some more tries, but not all of them.
                if self.best.is_none() {
                    self.most_tries = self.most_tries.min(self.tries + MORE_TRIES);
                }
                if self.best.as_ref().is_none_or(better) {
                    self.best = Some((order, chosen.to_vec()));
                }
            }
            Err(blocked) => self.blocked = self.blocked.max(Some(blocked)),
        }
    }
}
