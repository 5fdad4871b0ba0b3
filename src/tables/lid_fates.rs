//! What becomes of packets to a LID, by the forwarding entries as they are.
//!
//! Every switch is followed once for a LID, so all fates of a LID together take time linear in the switches.
//! Deliberately omitted: lanes and service levels, and mixtures of tables (`verify`).

use super::Lft;
use crate::fabric::{Fabric, NodeId, PortId, RankedSwitches};
use crate::ids::{Lid, PortNum};
use std::sync::Arc;

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LidFate {
    /// It comes to the LID's owner, after so many switches.
    Arrives(u32),
    /// A switch has no route for it, or one to a port without a cable.
    Hole(NodeId),
    /// Switches send it round.
    Loop,
    /// It comes to a port that does not own the LID.
    Wrong(PortId),
}

/// The fates of packets to one LID, found as they are asked for.
#[derive(Debug)]
pub struct LidFates<'a> {
    fabric: &'a Fabric,
    /// By node.
    lfts: &'a [Arc<Lft>],
    lid: Lid,
    owner: Option<PortId>,
    /// By node that the packet is in: the fates found so far.
    known: Vec<Option<LidFate>>,
    /// The switches passed by the packet that is being followed.
    way: Vec<NodeId>,
}

impl<'a> LidFates<'a> {
    /// Of a LID; nothing arrives at one without an owner. `lfts` is by node.
    pub fn new(fabric: &'a Fabric, lfts: &'a [Arc<Lft>], lid: Lid) -> LidFates<'a> {
        let known = vec![None; fabric.node_count()];
        LidFates { fabric, lfts, lid, owner: fabric.lid_owner(lid), known, way: Vec::new() }
    }

    /// The fate of a packet in a switch, which counts as passed.
    pub fn of(&mut self, switch: NodeId) -> LidFate {
        let mut at = switch;
        let mut fate = loop {
            if let Some(known) = self.known[at.index()] {
                break known;
            }
            // Provisional: a packet that comes here again loops. So a loop is found when it closes, and all of its
            // switches keep this answer.
            self.known[at.index()] = Some(LidFate::Loop);
            self.way.push(at);
            match self.onward(at) {
                Ok(next) => at = next,
                Err(end) => break end,
            }
        };
        for passed in self.way.drain(..).rev() {
            if let LidFate::Arrives(switches) = &mut fate {
                *switches += 1;
            }
            self.known[passed.index()] = Some(fate);
        }
        fate
    }

    /// The next switch.
    ///
    /// # Errors
    /// There is none: the packet's fate, without a count of this switch.
    fn onward(&self, at: NodeId) -> Result<NodeId, LidFate> {
        let hole = LidFate::Hole(at);
        let output = self.lfts[at.index()].get(self.lid).ok_or(hole)?;
        let port = self.fabric.port_at(at, output).ok_or(hole)?;
        // Port 0 is the switch itself.
        let is_own = output == PortNum::ZERO;
        let reached = if is_own { port } else { self.fabric.peer(port).ok_or(hole)? };
        if Some(reached) == self.owner {
            return Err(LidFate::Arrives(0));
        }
        let node = self.fabric.port(reached).node;
        if !is_own && self.fabric.node(node).is_switch() { Ok(node) } else { Err(LidFate::Wrong(reached)) }
    }
}

/// By node: whether a packet to `lid` in that switch arrives at the LID's owner. `lfts` is by node. False for other
/// nodes, and for all if the LID has no owner.
pub fn arrivals(fabric: &Fabric, lfts: &[Arc<Lft>], lid: Lid) -> Vec<bool> {
    let mut arrivals = Arrivals::of(fabric);
    arrivals.take(lfts, &[lid]);
    fabric.nodes().map(|(node, _)| arrivals.from(node, 0)).collect()
}

/// From which switches packets arrive at the owner of a LID, for several LIDs at a time: a table lies switch by switch,
/// and ways lead from switch to switch.
pub struct Arrivals<'a> {
    fabric: &'a Fabric,
    ranked: RankedSwitches,
    /// By node: its rank among the switches.
    ranks: Vec<Option<u32>>,
    /// By rank, then by LID in hand.
    steps: Vec<[Step; Arrivals::TOGETHER]>,
    /// The switches passed by the packet that is being followed.
    way: Vec<usize>,
}

/// What a switch does with a packet, or what becomes of it then.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Into the switch of a rank.
    To(u32),
    Arrives,
    /// It is lost, or goes round.
    Strays,
}

impl<'a> Arrivals<'a> {
    /// The most LIDs at a time.
    pub const TOGETHER: usize = 16;

    /// In a fabric; none is in hand yet.
    pub fn of(fabric: &'a Fabric) -> Arrivals<'a> {
        let ranked = RankedSwitches::of(fabric);
        let mut ranks = vec![None; fabric.node_count()];
        (0..).zip(&ranked.switches).for_each(|(rank, switch)| ranks[switch.index()] = Some(rank));
        let steps = vec![[Step::Strays; Arrivals::TOGETHER]; ranked.switches.len()];
        Arrivals { fabric, ranked, ranks, steps, way: Vec::new() }
    }

    /// Takes up to [`TOGETHER`](Self::TOGETHER) LIDs in hand, by the tables `lfts`, by node. Nothing arrives at a LID
    /// without an owner.
    pub fn take(&mut self, lfts: &[Arc<Lft>], lids: &[Lid]) {
        let owners: Vec<Option<PortId>> = lids.iter().map(|&lid| self.fabric.lid_owner(lid)).collect();
        for (rank, &switch) in self.ranked.switches.iter().enumerate() {
            for (at, (&lid, &owner)) in lids.iter().zip(&owners).enumerate() {
                self.steps[rank][at] = self.step(switch, lfts[switch.index()].get(lid), owner);
            }
        }
        (0..lids.len()).for_each(|own| (0..self.steps.len()).for_each(|start| self.follow(start, own)));
    }

    fn step(&self, switch: NodeId, output: Option<PortNum>, owner: Option<PortId>) -> Step {
        let Some((output, port)) = output.and_then(|num| Some((num, self.fabric.port_at(switch, num)?))) else {
            return Step::Strays;
        };
        // Port 0 is the switch itself.
        let is_own = output == PortNum::ZERO;
        match if is_own { Some(port) } else { self.fabric.peer(port) } {
            None => Step::Strays,
            reached if reached == owner => Step::Arrives,
            Some(_) if is_own => Step::Strays,
            Some(_) => self.ranked.behind(port).map_or(Step::Strays, |rank| Step::To(rank as u32)),
        }
    }

    /// Replaces the steps on a way by what becomes of packets.
    fn follow(&mut self, start: usize, own: usize) {
        let mut at = start;
        let end = loop {
            match self.steps[at][own] {
                Step::To(next) => {
                    self.way.push(at);
                    // A packet that comes here again goes round.
                    self.steps[at][own] = Step::Strays;
                    at = next as usize;
                }
                end => break end,
            }
        };
        self.way.drain(..).for_each(|passed| self.steps[passed][own] = end);
    }

    /// Whether a packet in a switch, to the LID of this place among those in hand, arrives; false for other nodes.
    #[inline]
    pub fn from(&self, switch: NodeId, own: usize) -> bool {
        self.ranks[switch.index()].is_some_and(|rank| self.steps[rank as usize][own] == Step::Arrives)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, Topology, generate};
    use crate::ids::Lmc;
    use crate::lid;
    use crate::routing::{Demand, Engine, UpDown};
    use proptest::prelude::*;

    #[test]
    fn a_hole_and_a_ring_stop_what_comes_through_them() {
        let topology: Topology = "ring:6,1".parse().expect("a topology");
        let fabric = generate(&topology, &Options::default()).expect("a ring");
        let fabric = lid::assign(&fabric, Lmc::masked(1)).expect("LIDs suffice");
        let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).expect("connected");
        let mut lfts = lid::bring_up(&fabric, &function, 1).lfts;
        let owner = fabric.end_ports().next().expect("a host");
        let lid = fabric.port(owner).lid.expect("a LID");
        let home = fabric.neighbour(owner).expect("a switch");
        let count = |lfts: &[Arc<Lft>]| arrivals(&fabric, lfts, lid).into_iter().filter(|&arrives| arrives).count();
        assert_eq!(count(&lfts), 6);
        let port_zero = fabric.port(fabric.port_at(home, PortNum(0)).expect("port 0")).lid.expect("a LID");
        assert_eq!(arrivals(&fabric, &lfts, port_zero).into_iter().filter(|&arrives| arrives).count(), 6);
        // A neighbour forwards the packet away from its owner: all switches before it on such a way loop with it or
        // lose packets there.
        let behind =
            fabric.switches().find(|&switch| fabric.ports_of(switch).any(|port| fabric.neighbour(port) == Some(home)));
        let behind = behind.expect("a neighbour");
        let before = count(&lfts);
        Arc::make_mut(&mut lfts[behind.index()]).set(lid, PortNum::NO_ROUTE);
        assert!(count(&lfts) < before);
        Arc::make_mut(&mut lfts[home.index()]).set(lid, PortNum::NO_ROUTE);
        assert_eq!(count(&lfts), 0);
        assert_eq!(count(&vec![Arc::default(); fabric.node_count()]), 0);
    }

    proptest! {
        /// Followed together, LIDs arrive from where they arrive one by one, whatever the tables say.
        #[test]
        fn together_they_arrive_as_one_by_one(
            changes in prop::collection::vec((any::<usize>(), any::<usize>(), any::<u8>()), 0..60),
            dead in any::<usize>(),
        ) {
            let fabric = generate(&"torus:4x4,2".parse().expect("a topology"), &Options::default()).expect("a torus");
            let fabric = lid::assign(&fabric, Lmc::masked(1)).expect("LIDs suffice");
            let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).expect("connected");
            let mut lfts = lid::bring_up(&fabric, &function, 1).lfts;
            let switches: Vec<NodeId> = fabric.switches().collect();
            let lids: Vec<Lid> = (0..120).map(Lid).collect();
            for (switch, lid, port) in changes {
                let switch = switches[switch % switches.len()];
                let port = if port % 9 == 8 { PortNum::NO_ROUTE } else { PortNum(port % 9) };
                Arc::make_mut(&mut lfts[switch.index()]).set(lids[lid % lids.len()], port);
            }
            let left = fabric.without_nodes(&[switches[dead % switches.len()]]);
            let mut together = Arrivals::of(&left);
            for some in lids.chunks(Arrivals::TOGETHER) {
                together.take(&lfts, some);
                for (own, &lid) in some.iter().enumerate() {
                    let mut fates = LidFates::new(&left, &lfts, lid);
                    for switch in left.switches() {
                        let arrives = matches!(fates.of(switch), LidFate::Arrives(_));
                        prop_assert_eq!(together.from(switch, own), arrives, "{} from {:?}", lid, switch);
                    }
                }
            }
        }
    }

    #[test]
    fn each_fate_is_that_of_all_switches_before_it() {
        let fabric = generate(&"ring:3,1".parse().expect("a topology"), &Options::default()).expect("a ring");
        let fabric = lid::assign(&fabric, Lmc::masked(0)).expect("LIDs suffice");
        let switches: Vec<NodeId> = fabric.switches().collect();
        let hosts: Vec<PortId> = switches
            .iter()
            .filter_map(|&home| fabric.end_ports().find(|&p| fabric.neighbour(p) == Some(home)))
            .collect();
        let towards = |at: NodeId, end: PortId| fabric.ports_of(at).find(|&port| fabric.peer(port) == Some(end));
        let next = |at: usize, to: usize| {
            fabric.ports_of(switches[at]).find(|&port| fabric.neighbour(port) == Some(switches[to]))
        };
        let lid = fabric.port(hosts[0]).lid.expect("a LID");
        let fates = |outputs: [Option<PortId>; 3], lid| {
            let mut lfts = vec![Lft::new(); fabric.node_count()];
            for (&switch, port) in switches.iter().zip(outputs) {
                lfts[switch.index()].set(lid, port.map_or(PortNum::NO_ROUTE, |port| fabric.port(port).num));
            }
            let lfts: Vec<Arc<Lft>> = lfts.into_iter().map(Arc::new).collect();
            let mut fates = LidFates::new(&fabric, &lfts, lid);
            // From the last: the first find their fates by what is known.
            let mut found = [2, 1, 0].map(|at| fates.of(switches[at]));
            found.reverse();
            found
        };
        let home = towards(switches[0], hosts[0]);
        let arrive = [1, 2, 3].map(LidFate::Arrives);
        assert_eq!(fates([home, next(1, 0), next(2, 1)], lid), arrive);
        assert_eq!(fates([None, next(1, 0), next(2, 1)], lid), [LidFate::Hole(switches[0]); 3]);
        assert_eq!(fates([next(0, 1), next(1, 0), next(2, 1)], lid), [LidFate::Loop; 3]);
        let (away, wrong) = (towards(switches[1], hosts[1]), LidFate::Wrong(hosts[1]));
        assert_eq!(fates([home, away, next(2, 1)], lid), [LidFate::Arrives(1), wrong, wrong]);
        // A switch takes a packet to its own LID by its entry for port 0 alone.
        let own = fabric.port_at(switches[0], PortNum::ZERO);
        let lid = own.and_then(|port| fabric.port(port).lid).expect("a LID");
        assert_eq!(fates([own, next(1, 0), next(2, 1)], lid), arrive);
        assert_eq!(fates([next(0, 1), next(1, 0), next(2, 1)], lid), [LidFate::Loop; 3]);
        let not_theirs = fabric.port_at(switches[1], PortNum::ZERO);
        assert_eq!(fates([own, not_theirs, next(2, 1)], lid)[2], LidFate::Wrong(not_theirs.expect("port 0")));
    }
}
