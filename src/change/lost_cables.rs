//! Cables that were lost while no manager was there, by the tables that lead over them still.
//!
//! On entry: what is there, and its forwarding tables. On return: the cables over which the tables led, if there is one
//! way only to join the ports that they name and that have no cable. With these the tables can be proved as they stand,
//! and what follows is a loss like any other: entries alone, and no half is closed. Deliberately omitted: switches that
//! were lost, of which nobody knows where they sent what came to them, and cables that were used one way.

use crate::fabric::{Fabric, PortId};
use crate::ids::{Lid, PortNum};
use crate::tables::{Lft, LidFate, LidFates};
use std::collections::BTreeMap;
use std::sync::Arc;

/// More ports than these are not the ends of cables that happened to die.
const MOST_ENDS: usize = 128;

/// The cables over which tables (by node) lead, each by both ends; `fabric` lacks them. None where no cable is missing,
/// where a port that is named fits no other or two others, or where so many ports are named that something else must
/// have happened.
///
/// Two ports fit if packets that the tables send out of either come home from the switch of the other, or come to
/// another port that is named.
pub fn lost_cables(fabric: &Fabric, lfts: &[Arc<Lft>]) -> Vec<(PortId, PortId)> {
    let ends = dead_ends(fabric, lfts);
    if ends.is_empty() || ends.len() > MOST_ENDS {
        return Vec::new();
    }
    let ports: Vec<PortId> = ends.keys().copied().collect();
    let mut fitting = vec![vec![true; ports.len()]; ports.len()];
    for (sender, lids) in ends.values().enumerate() {
        for &lid in lids {
            let mut fates = LidFates::new(fabric, lfts, lid);
            for (end, &port) in ports.iter().enumerate() {
                let switch = fabric.port(port).node;
                let goes_on = switch != fabric.port(ports[sender]).node
                    && match fates.of(switch) {
                        LidFate::Arrives(_) => true,
                        LidFate::Hole(at) => {
                            let named = lfts[at.index()].get(lid).and_then(|num| fabric.port_at(at, num));
                            named.is_some_and(|named| named != port && ends.contains_key(&named))
                        }
                        LidFate::Loop | LidFate::Wrong(_) => false,
                    };
                fitting[sender][end] &= goes_on;
            }
        }
    }
    joined(&fitting).into_iter().map(|(one, other)| (ports[one], ports[other])).collect()
}

/// Ports of switches without a cable out of which the tables send packets that somebody waits for, and their LIDs.
fn dead_ends(fabric: &Fabric, lfts: &[Arc<Lft>]) -> BTreeMap<PortId, Vec<Lid>> {
    let mut ends: BTreeMap<PortId, Vec<Lid>> = BTreeMap::new();
    for switch in fabric.switches() {
        for (lid, num) in lfts[switch.index()].routes() {
            let is_there = |owner: PortId| fabric.node(fabric.port(owner).node).present;
            let dead = fabric.port_at(switch, num).filter(|&port| num != PortNum::ZERO && fabric.peer(port).is_none());
            if let Some(port) = dead.filter(|_| fabric.lid_owner(lid).is_some_and(is_there)) {
                ends.entry(port).or_default().push(lid);
            }
        }
    }
    ends
}

/// The one way to join all of these in pairs that fit both ways; nothing where there is none, or a choice.
fn joined(fitting: &[Vec<bool>]) -> Vec<(usize, usize)> {
    let mut open: Vec<usize> = (0..fitting.len()).collect();
    let mut pairs = Vec::new();
    while !open.is_empty() {
        let forced = open.iter().find_map(|&one| {
            let mut fit = open.iter().copied().filter(|&other| fitting[one][other] && fitting[other][one]);
            let other = fit.next()?;
            fit.next().is_none().then_some((one, other))
        });
        let Some((one, other)) = forced else { return Vec::new() };
        open.retain(|&end| end != one && end != other);
        pairs.push((one.min(other), one.max(other)));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::ids::{Half, Lmc};
    use crate::lid;
    use crate::routing::{Demand, Engine, FatTree, UpDown};

    /// A fabric with the tables of an engine.
    fn routed(topology: &str, engine: &dyn Engine) -> (Fabric, Vec<Arc<Lft>>) {
        let plain = generate(&topology.parse().expect("a topology"), &Options::default()).expect("it can be made");
        let fabric = lid::assign(&plain.with_capabilities(4, true), Lmc::masked(1)).expect("LIDs suffice");
        let function = engine.route(&fabric, &Demand::all(&fabric, 1)).expect("a routing");
        let lfts = lid::realise(&fabric, &function, &[Half::Lower, Half::Upper]);
        (fabric, lfts)
    }

    /// Cables between switches.
    fn cables(fabric: &Fabric) -> Vec<(PortId, PortId)> {
        let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
        fabric.links().filter(|&(one, other)| is_switch(one) && is_switch(other)).collect()
    }

    fn sorted(mut cables: Vec<(PortId, PortId)>) -> Vec<(PortId, PortId)> {
        cables.iter_mut().for_each(|(one, other)| (*one, *other) = ((*one).min(*other), (*one).max(*other)));
        cables.sort_unstable();
        cables
    }

    #[test]
    fn a_cable_is_found_or_nothing_and_never_another() {
        let engines: [(&str, &dyn Engine); 3] = [
            ("fat-tree:4,2", &FatTree),
            ("torus:4x4,1", &UpDown::default()),
            ("random-regular:12,4,2", &UpDown::default()),
        ];
        for (topology, engine) in engines {
            let (fabric, lfts) = routed(topology, engine);
            assert_eq!(lost_cables(&fabric, &lfts), []);
            let cables = sorted(cables(&fabric));
            let mut found = 0;
            for &cable in &cables {
                let lost = lost_cables(&fabric.without_links(&[cable.0]), &lfts);
                assert!(lost.is_empty() || sorted(lost.clone()) == [cable], "{topology}: {cable:?} {lost:?}");
                found += lost.len();
            }
            assert!(4 * found > 3 * cables.len(), "{topology}: {found} of {}", cables.len());
        }
    }

    #[test]
    fn of_two_cables_both_are_found_or_none() {
        let (fabric, lfts) = routed("fat-tree:4,2", &FatTree);
        let cables = sorted(cables(&fabric));
        let (mut found, mut pairs) = (0, 0);
        for (rank, &one) in cables.iter().enumerate() {
            for &other in &cables[rank + 1..] {
                let lost = lost_cables(&fabric.without_links(&[one.0, other.0]), &lfts);
                assert!(lost.is_empty() || sorted(lost.clone()) == [one, other], "{one:?} {other:?} {lost:?}");
                (found, pairs) = (found + usize::from(!lost.is_empty()), pairs + 1);
            }
        }
        assert!(found > 0 && found < pairs, "{found} of {pairs}");
    }

    /// The far side of a switch that is gone is gone too.
    #[test]
    fn the_ports_around_a_lost_switch_are_joined_by_nothing() {
        let (fabric, lfts) = routed("fat-tree:4,2", &FatTree);
        let spine =
            fabric.switches().find(|&switch| fabric.node(switch).description.trim() == "spine-1").expect("a spine");
        let rest = fabric.without_nodes(&[spine]);
        assert!(!dead_ends(&rest, &lfts).is_empty());
        assert_eq!(lost_cables(&rest, &lfts), []);
    }
}
