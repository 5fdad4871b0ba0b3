//! Finds cycles in which multicast trees and unicast packets wait together.
//!
//! On entry: the waits of unicast packets ([`UnicastWaits`], made of tables or of a transition), and the turns that
//! trees make: a switch copies a packet that enters by one port of a tree to all others. On return: a cycle of turns,
//! or none. Beyond the switch the copies are independent, since its buffers hold whole packets, so a packet waits for
//! one output at a time. Where no unicast packet changes its lane, trees are judged beside each lane by itself, since a
//! group's service level may share any lane. Elsewhere the lanes of a channel are treated as one. Deliberately omitted:
//! loops of one tree's own edges other than as such a cycle.

use super::Transition;
use super::case::{ProofCase, Scope};
use super::collector::{DependencyCollector, united};
use super::evidence;
use super::graph::{Graph, NodeCycle};
use super::input::{case_of, check_tables};
use super::proof_walk::ProofWalk;
use super::refusal::Refusal;
use super::reserved;
use crate::fabric::{Fabric, PortId};
use crate::ids::ReservedLevel;
use crate::tables::{SubnetTables, TreeTurn};

/// One wait of a cycle: a packet has come in by a port of a switch and waits for another port of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TurnWait {
    /// The ports.
    pub turn: TreeTurn,
    /// Whether unicast packets can wait so.
    pub unicast: bool,
    /// Whether multicast packets can wait so.
    pub multicast: bool,
}

/// The waits of unicast packets.
#[derive(Clone, Debug)]
pub struct UnicastWaits {
    /// The number of channels: each goes by the port that it leaves from.
    channels: usize,
    /// By lane, or of all: a channel, and one that its packets can wait for; in rising order, each once.
    waits: Vec<Vec<(u32, u32)>>,
}

impl UnicastWaits {
    /// Of tables by themselves.
    ///
    /// # Errors
    /// What is wrong with the tables, but for cycles.
    pub fn of_tables(fabric: &Fabric, tables: &SubnetTables, scope: &Scope) -> Result<UnicastWaits, Refusal> {
        let case = ProofCase::of_tables(fabric, tables, scope);
        check_tables(&case)?;
        UnicastWaits::of_case(case, fabric)
    }

    /// Of all moments of a transition; none of one without waves.
    ///
    /// # Errors
    /// What is wrong with it, but for cycles.
    pub fn of(transition: &impl Transition) -> Result<UnicastWaits, Refusal> {
        match case_of(transition)? {
            Some(case) => UnicastWaits::of_case(case, transition.surviving()),
            None => Ok(UnicastWaits { channels: transition.fabric().port_count(), waits: vec![Vec::new()] }),
        }
    }

    /// Of packets on a lane of their own, by the channels that they wait in and for.
    fn of_channels(channels: usize, mut waits: Vec<(u32, u32)>) -> UnicastWaits {
        waits.sort_unstable();
        waits.dedup();
        UnicastWaits { channels, waits: vec![waits] }
    }

    fn of_case(case: ProofCase<'_>, surviving: &Fabric) -> Result<UnicastWaits, Refusal> {
        let proof_walk = ProofWalk::new(case, surviving)?;
        let layout = proof_walk.layout();
        let mut collector = DependencyCollector::new(&proof_walk, &layout);
        if let Some(fault) = proof_walk.walk_all(&mut collector) {
            return Err(evidence::of_fault(&proof_walk, fault));
        }
        let halves = collector.finish();
        let vls = proof_walk.lanes.vls as u32;
        let (mut waits, mut stays) = (vec![Vec::new(); vls as usize], true);
        for stage in 0..proof_walk.case.stages.len() {
            let all = united(&proof_walk.case, &halves, stage);
            all.each_edge(&layout, stage, &mut |from, to| {
                stays &= from % vls == to % vls;
                waits[(from % vls) as usize].push((from / vls, to / vls));
            });
        }
        if !stays {
            waits = vec![waits.concat()];
        }
        for lane in &mut waits {
            lane.sort_unstable();
            lane.dedup();
        }
        Ok(UnicastWaits { channels: layout.net.channels(), waits })
    }

    /// The number of waits.
    pub fn count(&self) -> usize {
        self.waits.iter().map(Vec::len).sum()
    }

    /// Returns whether these waits, together with those of multicast packets, close no cycle; `fabric` is the one that
    /// these waits are of. Turns that begin or end at a port without a cable are ignored.
    pub fn go_with(&self, fabric: &Fabric, turns: &[TreeTurn]) -> bool {
        let trees = channels(fabric, turns);
        self.waits.iter().all(|lane| self.graph_of(lane, &trees).is_acyclic())
    }

    /// A shortest cycle that they close; none where they close none.
    pub fn cycle_with(&self, fabric: &Fabric, turns: &[TreeTurn]) -> Option<Vec<TurnWait>> {
        let trees = channels(fabric, turns);
        let cycle = |lane: &'_ Vec<(u32, u32)>| self.graph_of(lane, &trees).order().err();
        let (lane, NodeCycle { nodes, .. }) = self.waits.iter().find_map(|lane| Some((lane, cycle(lane)?)))?;
        let waits = nodes.iter().zip(nodes.iter().cycle().skip(1)).map(|(&from, &to)| {
            let has = |waits: &[(u32, u32)]| waits.binary_search(&(from, to)).is_ok();
            let input = fabric.peer(PortId(from)).expect("a channel that packets stand in leads somewhere");
            let turn = TreeTurn { input, output: PortId(to) };
            TurnWait { turn, unicast: has(lane), multicast: has(&trees) }
        });
        Some(waits.collect())
    }

    fn graph_of(&self, lane: &[(u32, u32)], trees: &[(u32, u32)]) -> Graph {
        Graph::new(self.channels, |emit| lane.iter().chain(trees).for_each(|&(from, to)| emit(from, to)))
    }
}

/// What packets on a lane of their own can wait for, from any port to any LID, by tables any entries of which are in
/// force.
///
/// # Errors
/// Packets arrive at a port that does not own their LID.
pub fn reserved_waits(
    fabric: &Fabric,
    level: ReservedLevel,
    tables: &[&SubnetTables],
) -> Result<UnicastWaits, Refusal> {
    Ok(UnicastWaits::of_channels(fabric.port_count(), reserved::waits(fabric, level, tables)?))
}

/// Turns by the channels that lead in and out; in rising order, each once.
fn channels(fabric: &Fabric, turns: &[TreeTurn]) -> Vec<(u32, u32)> {
    let channel = |turn: &TreeTurn| {
        let inward = fabric.peer(turn.input)?;
        fabric.peer(turn.output).map(|_| (inward.0, turn.output.0))
    };
    let mut channels: Vec<(u32, u32)> = turns.iter().filter_map(channel).collect();
    channels.sort_unstable();
    channels.dedup();
    channels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::ids::{Half, Vl};
    use crate::routing::{Demand, Engine, UpDown, choose_root};
    use crate::tables::SlToVl;
    use crate::{fabric::NodeId, lid};

    /// A ring of switches, routed by up*/down*.
    fn ring() -> (Fabric, UnicastWaits, NodeId) {
        let topology = "ring:6,2".parse().expect("a topology");
        let fabric = generate(&topology, &Options::default()).expect("a fabric").with_data_vls(1);
        let fabric = lid::assign(&fabric, crate::ids::Lmc::masked(0)).expect("LIDs suffice");
        let root = choose_root(&fabric).expect("a root");
        let function = UpDown { root: None }.route(&fabric, &Demand::all(&fabric, 1)).expect("a routing");
        let mut tables = SubnetTables::new(&fabric, SlToVl::from_fn(|_| Vl::default()), Half::Lower);
        tables.lfts = lid::realise(&fabric, &function, &[Half::Lower]);
        let waits = UnicastWaits::of_tables(&fabric, &tables, &Scope::of(&[Half::Lower])).expect("sound tables");
        (fabric, waits, root)
    }

    /// Cables between switches, by the port at one end.
    fn cables(fabric: &Fabric) -> Vec<PortId> {
        let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
        fabric.links().filter(|&(one, other)| is_switch(one) && is_switch(other)).map(|(one, _)| one).collect()
    }

    /// All turns of the tree that lacks one cable of the ring.
    fn turns(fabric: &Fabric, without: PortId) -> Vec<TreeTurn> {
        let left = fabric.without_links(&[without]);
        let cabled = |node| {
            let between = |&port: &PortId| left.neighbour(port).is_some_and(|other| left.node(other).is_switch());
            left.ports_of(node).filter(between).collect::<Vec<_>>()
        };
        let mut turns = Vec::new();
        for switch in left.switches() {
            let ports = cabled(switch);
            for &input in &ports {
                let others = ports.iter().filter(|&&output| output != input);
                turns.extend(others.map(|&output| TreeTurn { input, output }));
            }
        }
        turns
    }

    #[test]
    fn the_tree_of_the_order_goes_with_it_and_one_across_it_does_not() {
        let (fabric, waits, root) = ring();
        assert!(waits.go_with(&fabric, &[]));
        let verdicts: Vec<(bool, bool)> = cables(&fabric)
            .into_iter()
            .map(|cable| {
                let turns = turns(&fabric, cable);
                let at_root = [Some(fabric.port(cable).node), fabric.neighbour(cable)].contains(&Some(root));
                (at_root, waits.go_with(&fabric, &turns))
            })
            .collect();
        // A tree without a cable of the root passes from one branch to the other below, where no unicast turns.
        assert!(verdicts.iter().filter(|(at_root, _)| *at_root).all(|&(_, goes)| !goes), "{verdicts:?}");
        assert!(verdicts.iter().any(|&(_, goes)| goes), "{verdicts:?}");
    }

    #[test]
    fn a_cycle_is_told_turn_by_turn() {
        let (fabric, waits, root) = ring();
        let cable = cables(&fabric).into_iter().find(|&cable| fabric.port(cable).node == root);
        let cycle = waits.cycle_with(&fabric, &turns(&fabric, cable.expect("the root has cables")));
        let cycle = cycle.expect("no up*/down* order of that root allows for this tree");
        for (wait, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            assert_eq!(fabric.port(wait.turn.input).node, fabric.port(wait.turn.output).node);
            assert_eq!(fabric.peer(wait.turn.output), Some(next.turn.input));
            assert!(wait.unicast || wait.multicast);
        }
        assert!(cycle.iter().any(|wait| !wait.unicast), "unicast alone closes none");
        assert!(cycle.iter().any(|wait| !wait.multicast), "a tree alone closes none");
    }
}
