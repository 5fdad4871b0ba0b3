//! The reserved level: alone on its lane at every moment (K.1), and, where a plan claims it, free of cycles there
//! (K.3).
//!
//! Nothing else takes the lane, and no barrier waits for it. So a packet sent on the level before the first write may
//! still be there in the last wave, and may have followed any entry that was in force since: the waves are not judged
//! one after the other, but all their tables as one mixture. Every switch is taken as a source of packets to every LID.
//! The steps that this allows are those of rules 1 to 4 of docs/PROOF.md and more, and a channel stands for its only
//! lane. A packet may be lost, as management repeats what gets no answer.

use super::case::STEADY;
use super::graph::Graph;
use super::refusal::{
    Cycle, Dependency, EntryAge, NamedDevice, PortLane, Refusal, WaveArrival, WrongArrival, precondition,
};
use super::{ProofWave, Transition};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Lid, PortMask, PortNum, ReservedLevel, Sl, Vl};
use crate::tables::{Lft, NodeSlToVl, SlToVl, SubnetTables};
use std::sync::Arc;

/// The statement of a transition about a service level that is of neither half.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// The level and its lane.
    pub level: ReservedLevel,
    /// Whether packets on it, from any port to any LID, are to be proved free of cycles, loops and wrong arrivals.
    pub followed: bool,
    /// Switches whose first tables are unknown: there must be none where packets are followed.
    pub unknown: Vec<NodeId>,
}

/// Judges the statements of a transition about its reserved level.
///
/// # Errors
/// Another level on its lane, a lane of its own that is not kept; a cycle, or a wrong arrival, where packets are
/// followed.
pub fn prove_reservation(transition: &(impl Transition + ?Sized)) -> Result<(), Refusal> {
    check(transition, &transition.waves())
}

/// Judges these statements for given waves.
pub(super) fn check(transition: &(impl Transition + ?Sized), waves: &[ProofWave<'_>]) -> Result<(), Refusal> {
    let Some(reservation) = transition.reservation() else { return Ok(()) };
    check_kept(transition, waves, reservation.level)?;
    if reservation.followed { follow(transition, waves, &reservation) } else { Ok(()) }
}

/// Tables of one moment after the other, as packets on a lane of their own meet them: whether they are free of cycles,
/// loops and wrong arrivals, whichever entries have landed.
///
/// # Errors
/// What can happen.
pub fn prove_reserved(fabric: &Fabric, level: ReservedLevel, tables: &[&SubnetTables]) -> Result<(), Refusal> {
    let moments = tables.iter().map(|&tables| (STEADY, tables)).collect();
    Mixture { fabric, owners: fabric, level, discards_turned_back: false, moments }.judge()
}

/// What packets on a lane of their own can wait for, from any port to any LID, by tables any entries of which are in
/// force: channels that they stand in, and channels that they wait for.
///
/// # Errors
/// Packets arrive at a port that does not own their LID.
pub(super) fn waits(
    fabric: &Fabric,
    level: ReservedLevel,
    tables: &[&SubnetTables],
) -> Result<Vec<(u32, u32)>, Refusal> {
    let moments = tables.iter().map(|&tables| (STEADY, tables)).collect();
    let mixture = Mixture { fabric, owners: fabric, level, discards_turned_back: false, moments };
    let ways = mixture.ways()?;
    let mut waits = Vec::new();
    mixture.each_wait(&ways, &mut |from, to| waits.push((from, to)));
    Ok(waits)
}

// K.1: the lane is kept.

fn check_kept(
    transition: &(impl Transition + ?Sized),
    waves: &[ProofWave<'_>],
    level: ReservedLevel,
) -> Result<(), Refusal> {
    let fabric = transition.fabric();
    for (index, facts) in waves.iter().enumerate() {
        let drained = transition.drains(index).is_some_and(|claim| claim.lanes.contains(level.vl));
        if drained || facts.empty.contains(level.vl) {
            let what = format!("VL {} is reserved, and a barrier says that it is empty: none waits for it", level.vl);
            return Err(precondition(&facts.name, what));
        }
        let steady = (index == 0).then_some((STEADY, facts.before));
        for (name, tables) in steady.into_iter().chain([(facts.name.as_str(), facts.after)]) {
            for (node, _) in fabric.nodes().filter(|(_, info)| info.present) {
                if let Some(what) = stray(fabric, node, &tables.sl_to_vl[node.index()], level) {
                    return Err(precondition(name, what));
                }
            }
        }
    }
    Ok(())
}

/// A cabled way through a node on which the level has not its lane, or not to itself.
fn stray(fabric: &Fabric, node: NodeId, tables: &NodeSlToVl, level: ReservedLevel) -> Option<String> {
    let ReservedLevel { sl, vl } = level;
    let cabled = || fabric.ports_of(node).filter(|&port| fabric.peer(port).is_some());
    let lacks = |port: PortId| {
        let ends = [Some(port), fabric.peer(port)];
        ends.into_iter().flatten().any(|end| fabric.port(end).data_vls <= vl.get())
    };
    if let Some(port) = cabled().find(|&port| lacks(port)) {
        return Some(format!("VL {vl} is reserved, and the link at {} lacks it", fabric.describe_port(port)));
    }
    let wrong = |table: &SlToVl| Sl::all().find(|&other| (table.get(other) == vl) != (other == sl));
    let describe = |other: Sl, on: Vl| {
        let node = fabric.describe_node(node);
        format!("VL {vl} is reserved for SL {sl} alone, and {node} has SL {other} on VL {on}")
    };
    match tables {
        NodeSlToVl::Uniform(table) => wrong(table).map(|other| describe(other, table.get(other))),
        NodeSlToVl::PerPair { .. } => {
            let numbers: Vec<PortNum> = cabled().map(|port| fabric.port(port).num).collect();
            let through = if fabric.node(node).is_switch() { numbers.clone() } else { Vec::new() };
            let inputs = std::iter::once(PortNum::ZERO).chain(through);
            let mut pairs = inputs.flat_map(|input| numbers.iter().map(move |&output| (input, output)));
            pairs.find_map(|(input, output)| {
                let table = tables.get(input, output);
                wrong(table).map(|other| describe(other, table.get(other)))
            })
        }
    }
}

// K.3: its packets are followed.

fn follow(
    transition: &(impl Transition + ?Sized),
    waves: &[ProofWave<'_>],
    reservation: &Reservation,
) -> Result<(), Refusal> {
    let Some(first) = waves.first() else { return Ok(()) };
    if let Some(&switch) = reservation.unknown.first() {
        let switch = transition.fabric().describe_node(switch);
        let what = format!("{switch} has come, so what its tables do with packets on the reserved level is unknown");
        return Err(precondition(STEADY, what));
    }
    let discards_turned_back = transition.discards_turned_back();
    let level = reservation.level;
    let owners = transition.fabric();
    let mixture = |fabric, moments| Mixture { fabric, owners, level, discards_turned_back, moments };
    mixture(transition.fabric(), vec![(STEADY, first.before)]).judge()?;
    let mut moments: Vec<(&str, &SubnetTables)> = Vec::new();
    for facts in waves {
        // Every port discarded its packets, on this lane too; while all ports do, nothing moves.
        let nothing_left = facts.gone == [true; 2];
        if nothing_left {
            mixture(transition.surviving(), std::mem::take(&mut moments)).judge()?;
        }
        if facts.injected != [false; 2] || !nothing_left {
            moments.extend([(facts.name.as_str(), facts.before), (facts.name.as_str(), facts.after)]);
        }
    }
    mixture(transition.surviving(), moments).judge()
}

/// Tables any of whose entries a packet may meet at any time.
struct Mixture<'a> {
    fabric: &'a Fabric,
    /// The fabric whose LIDs have owners: a monitor goes on querying dead ports.
    owners: &'a Fabric,
    level: ReservedLevel,
    discards_turned_back: bool,
    /// By wave, in order.
    moments: Vec<(&'a str, &'a SubnetTables)>,
}

impl Mixture<'_> {
    fn judge(&self) -> Result<(), Refusal> {
        let ways = self.ways()?;
        let Err(cycle) = self.graph(&ways).order() else { return Ok(()) };
        // The first wave with which a cycle closes has the better name for it, and mostly the shorter cycle.
        for until in 1..self.moments.len() {
            let part = Mixture { moments: self.moments[..until].to_vec(), ..*self };
            if let Err(cycle) = part.graph(&part.ways()?).order() {
                return Err(part.evidence(&cycle.nodes, cycle.shortest));
            }
        }
        Err(self.evidence(&cycle.nodes, cycle.shortest))
    }

    /// By switch (node index) and input: the outputs by which some packet goes on.
    fn ways(&self) -> Result<Vec<Vec<PortMask>>, Refusal> {
        let sides = |node: NodeId| usize::from(self.fabric.node(node).num_ports) + 1;
        let mut ways: Vec<Vec<PortMask>> =
            self.fabric.nodes().map(|(node, _)| vec![PortMask::default(); sides(node)]).collect();
        let tables = self.distinct();
        let mut outputs: Vec<Vec<PortNum>> = vec![Vec::new(); tables.len()];
        for (lid, owner) in self.lids() {
            for (outputs, tables) in outputs.iter_mut().zip(&tables) {
                outputs.clear();
                for output in tables.iter().filter_map(|table| table.get(lid)) {
                    if !outputs.contains(&output) {
                        outputs.push(output);
                    }
                }
            }
            self.add(&mut ways, &outputs, (lid, owner))?;
        }
        Ok(ways)
    }

    fn add(
        &self,
        ways: &mut [Vec<PortMask>],
        outputs: &[Vec<PortNum>],
        (lid, owner): (Lid, PortId),
    ) -> Result<(), Refusal> {
        for switch in self.fabric.switches() {
            for &output in &outputs[switch.index()] {
                let Some(port) = self.fabric.port_at(switch, output) else { continue };
                let Some(peer) = self.fabric.peer(port) else {
                    self.check_arrival(output == PortNum::ZERO, lid, port, owner)?;
                    continue;
                };
                let next = self.fabric.port(peer);
                if !self.fabric.node(next.node).is_switch() {
                    self.check_arrival(true, lid, peer, owner)?;
                    continue;
                }
                for &onward in &outputs[next.node.index()] {
                    if self.goes_on(next.node, next.num, onward) {
                        ways[next.node.index()][next.num.index()].insert(onward);
                    }
                }
            }
        }
        Ok(())
    }

    fn check_arrival(&self, arrives: bool, lid: Lid, at: PortId, owner: PortId) -> Result<(), Refusal> {
        if !arrives || at == owner {
            return Ok(());
        }
        let wave = self.moments.last().map_or(STEADY, |(name, _)| name).to_string();
        Err(Refusal::WrongArrival(WaveArrival { wave, arrival: WrongArrival::new(self.fabric, lid, at, owner) }))
    }

    /// Returns whether a packet that has come to a switch by an input and is to leave by an output enters a channel.
    fn goes_on(&self, switch: NodeId, input: PortNum, output: PortNum) -> bool {
        let channel = self.fabric.port_at(switch, output).filter(|&port| self.fabric.peer(port).is_some());
        channel.is_some() && !(self.discards_turned_back && input == output)
    }

    fn graph(&self, ways: &[Vec<PortMask>]) -> Graph {
        Graph::new(self.fabric.port_count(), |emit| self.each_wait(ways, emit))
    }

    /// Calls `emit` with each channel that packets come in by, and the one that they wait for there.
    fn each_wait(&self, ways: &[Vec<PortMask>], emit: &mut dyn FnMut(u32, u32)) {
        for switch in self.fabric.switches() {
            for (input, outputs) in (0u8..).zip(&ways[switch.index()]) {
                let inward = self.fabric.port_at(switch, PortNum(input)).and_then(|port| self.fabric.peer(port));
                let Some(inward) = inward else { continue };
                let channels = outputs.iter().filter_map(|output| self.fabric.port_at(switch, output));
                channels.for_each(|outward| emit(inward.0, outward.0));
            }
        }
    }

    /// By node: its different tables.
    fn distinct(&self) -> Vec<Vec<&Lft>> {
        let mut tables: Vec<Vec<&Lft>> = vec![Vec::new(); self.fabric.node_count()];
        for (_, moment) in &self.moments {
            for (held, table) in tables.iter_mut().zip(&moment.lfts) {
                let table: &Lft = Arc::as_ref(table);
                // Waves share the tables that they do not write.
                if !held.iter().any(|known| std::ptr::eq(*known, table)) {
                    held.push(table);
                }
            }
        }
        tables
    }

    /// Every LID that has, or had, an owner, with that owner.
    fn lids(&self) -> impl Iterator<Item = (Lid, PortId)> + '_ {
        self.owners.lid_ports().flat_map(|owner| {
            let port = self.owners.port(owner);
            let lids = port.lid.into_iter().flat_map(move |base| (0..port.lmc.lids()).map(move |at| Lid(base.0 + at)));
            lids.map(move |lid| (lid, owner))
        })
    }

    fn evidence(&self, channels: &[u32], shortest: bool) -> Refusal {
        let pairs = channels.iter().zip(channels.iter().cycle().skip(1));
        let dependencies = pairs.map(|(&inward, &outward)| self.dependency(PortId(inward), PortId(outward)));
        let wave = self.moments.last().map_or(STEADY, |(name, _)| name).to_string();
        Refusal::Deadlock(Cycle { wave, dependencies: dependencies.collect(), shortest })
    }

    /// The first LID whose packets can wait in one channel for another.
    fn dependency(&self, inward: PortId, outward: PortId) -> Dependency {
        let tables = self.distinct();
        let (from, at) = (self.fabric.port(inward), self.fabric.port(outward));
        let leads = |port: &crate::fabric::Port, lid| {
            let mut tables = tables[port.node.index()].iter();
            tables.any(|table| table.get(lid) == Some(port.num))
        };
        let lid = self.lids().map(|(lid, _)| lid).find(|&lid| leads(from, lid) && leads(at, lid)).unwrap_or_default();
        let own = &tables[at.node.index()];
        let [first, last] = [own.first(), own.last()].map(|table| table.and_then(|table| table.get(lid)));
        let input = self.fabric.peer(inward).map_or(PortNum::ZERO, |port| self.fabric.port(port).num);
        Dependency {
            switch: NamedDevice::of(self.fabric, at.node),
            input: PortLane { port: input, vl: self.level.vl },
            output: PortLane { port: at.num, vl: self.level.vl },
            lid,
            sl: self.level.sl,
            entry: EntryAge::of(&first, &last, &Some(at.num)),
            mapping: EntryAge::Unchanged,
            latched: None,
        }
    }
}
