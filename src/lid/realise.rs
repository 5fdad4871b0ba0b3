//! From a routing function to forwarding tables: path k on the k-th LID of a half.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid, PortNum, Vl};
use crate::tables::{Lft, RoutingFunction, SlToVl, SubnetTables};
use std::sync::Arc;

/// Forwarding tables, by node, in which the LIDs of `halves` and those of ports without halves follow `function`;
/// all other LIDs have no route.
pub fn realise(fabric: &Fabric, function: &RoutingFunction, halves: &[Half]) -> Vec<Arc<Lft>> {
    merge(fabric, &vec![Arc::default(); fabric.node_count()], function, halves)
}

/// `base`, by node, in which the LIDs of `halves` and those of ports without halves (switches) follow `function`. If it
/// has no route, because it omits the port or the switch, the entry becomes "no route". Other LIDs stay.
pub fn merge(fabric: &Fabric, base: &[Arc<Lft>], function: &RoutingFunction, halves: &[Half]) -> Vec<Arc<Lft>> {
    let each: Vec<&[Half]> = halves.chunks(1).collect();
    merge_ranges(fabric, base, function, &each)
}

/// Merges like [`merge`]; the LIDs of each element of `ranges`, one half after the other, have paths of their own.
fn merge_ranges(fabric: &Fabric, base: &[Arc<Lft>], function: &RoutingFunction, ranges: &[&[Half]]) -> Vec<Arc<Lft>> {
    let paths = lid_paths(fabric, function, ranges);
    let mut tables = base.to_vec();
    for (switch, _) in fabric.nodes().filter(|(_, node)| node.is_switch()) {
        let mut table = (*tables[switch.index()]).clone();
        for &(lid, route) in &paths {
            let port = route.and_then(|(destination, path)| function.output(switch, destination, path));
            // A LID beyond the table has no route already.
            if port.is_some() || table.get(lid).is_some() {
                table.set(lid, port.unwrap_or(PortNum::NO_ROUTE));
            }
        }
        if table != *tables[switch.index()] {
            tables[switch.index()] = Arc::new(table);
        }
    }
    tables
}

/// Every LID concerned, with the destination's rank and the path that it realises; none if the function omits its
/// owner. If a range has more LIDs than its owner needs, the paths repeat.
fn lid_paths(fabric: &Fabric, function: &RoutingFunction, ranges: &[&[Half]]) -> Vec<(Lid, Option<(usize, usize)>)> {
    let mut rank = vec![None; fabric.port_count()];
    for (destination, port) in function.destinations().iter().enumerate() {
        rank[port.index()] = Some(destination);
    }
    let needed: Vec<usize> = (0..function.destinations().len()).map(|rank| function.needed(rank)).collect();
    let mut lids = Vec::new();
    for (port, _) in fabric.ports() {
        let mut add = |(k, lid)| lids.push((lid, rank[port.index()].map(|rank| (rank, k % needed[rank]))));
        match undivided(fabric, port) {
            Some(lid) => add((0, lid)),
            None => ranges.iter().for_each(|halves| {
                halves.iter().flat_map(|&half| fabric.half_lids(port, half)).enumerate().for_each(&mut add);
            }),
        }
    }
    lids
}

/// The only LID of a port without halves: port 0 of a switch with LMC 0.
fn undivided(fabric: &Fabric, port: PortId) -> Option<Lid> {
    fabric.port(port).lid.filter(|&lid| fabric.half_of(lid).is_none())
}

/// Forwarding tables in which the LIDs of the half other than `like` lead where the LIDs of `like` with the same rank
/// do. LIDs of ports that are gone are included: a host that still sends to them would otherwise use the previous
/// routing.
pub fn mirrored(fabric: &Fabric, lfts: &[Arc<Lft>], like: Half) -> Vec<Arc<Lft>> {
    mirrored_from(fabric, &[], lfts, like)
}

/// The same, where the tables of `held`, by node, are so already: only others are looked at.
pub fn mirrored_from(fabric: &Fabric, held: &[Arc<Lft>], lfts: &[Arc<Lft>], like: Half) -> Vec<Arc<Lft>> {
    let ports = fabric.ports().map(|(port, _)| port).filter(|&port| fabric.half_lids(port, like).next().is_some());
    let pairs = ports.flat_map(|port| fabric.half_lids(port, like).zip(fabric.half_lids(port, like.other())));
    let pairs: Vec<(Lid, Lid)> = pairs.collect();
    let mut tables = lfts.to_vec();
    let is_held =
        |switch: NodeId| held.get(switch.index()).is_some_and(|held| Arc::ptr_eq(held, &lfts[switch.index()]));
    // Entries are copied, not paths: how the half in use shares its LIDs among paths does not matter here.
    for switch in fabric.switches().filter(|&switch| !is_held(switch)) {
        let table = &mut tables[switch.index()];
        for &(from, to) in pairs.iter() {
            let output = table.get(from);
            if table.get(to) != output {
                Arc::make_mut(table).set(to, output.unwrap_or(PortNum::NO_ROUTE));
            }
        }
    }
    tables
}

/// A port has fewer LIDs in each half than the paths to it need.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{port} has {offered} LIDs in each half, and the paths of engine {engine} to it need {needed}: assign LIDs with LMC \
     {} at least", 1 + needed.next_power_of_two().trailing_zeros()
)]
pub struct TooFewLids {
    /// The port.
    pub port: String,
    /// The engine.
    pub engine: &'static str,
    /// LIDs of the port in each half.
    pub offered: usize,
    /// LIDs needed in each half.
    pub needed: usize,
}

/// Checks that each end port among the destinations has a LID in each half for every path that some source needs.
///
/// # Errors
/// The port that lacks most.
pub fn check_fits(fabric: &Fabric, function: &RoutingFunction) -> Result<(), TooFewLids> {
    let ends = function.destinations().iter().enumerate();
    let ends = ends.filter(|&(_, &port)| !fabric.node(fabric.port(port).node).is_switch());
    let held = |port| fabric.half_lids(port, Half::Lower).count();
    let lacking = ends.map(|(rank, &port)| (function.needed(rank), held(port), port));
    let Some((needed, offered, port)) = lacking.filter(|(needed, held, _)| needed > held).max() else { return Ok(()) };
    Err(TooFewLids { port: fabric.describe_port(port), engine: function.engine(), offered, needed })
}

/// In the steady state the service level of rank r in its half takes lane r mod `vls` everywhere.
pub fn steady_sl_to_vl(vls: u8) -> SlToVl {
    assert!((1..=15).contains(&vls), "{vls} data VLs: from 1 to 15 are possible");
    SlToVl::from_fn(|sl| Vl::masked(Half::rank(sl) as u8 % vls))
}

/// The subnet before a change: `function` on both halves and on the switches' LIDs, the steady SL-to-VL tables over
/// `vls` lanes, sources on the lower half, every linked port ACTIVE.
pub fn bring_up(fabric: &Fabric, function: &RoutingFunction, vls: u8) -> SubnetTables {
    let mut tables = SubnetTables::new(fabric, steady_sl_to_vl(vls), Half::Lower);
    tables.lfts = realise(fabric, function, &[Half::Lower, Half::Upper]);
    tables
}

/// A subnet that is never to change: no half is spare, and path k is on the k-th LID of all. Otherwise as [`bring_up`].
pub fn bring_up_undivided(fabric: &Fabric, function: &RoutingFunction, vls: u8) -> SubnetTables {
    let mut tables = SubnetTables::new(fabric, steady_sl_to_vl(vls), Half::Lower);
    let whole: &[Half] = &[Half::Lower, Half::Upper];
    tables.lfts = merge_ranges(fabric, &vec![Arc::default(); fabric.node_count()], function, &[whole]);
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{FabricBuilder, NodeKind};
    use crate::ids::{Guid, Lmc};

    /// Two switches, one adapter each.
    fn pair() -> (Fabric, [NodeId; 2], [PortId; 2]) {
        let mut builder = FabricBuilder::new();
        let switches = [1, 2].map(|guid| builder.node(NodeKind::Switch, Guid(guid), 4, ""));
        let hosts = [11, 12].map(|guid| builder.node(NodeKind::Ca, Guid(guid), 1, ""));
        let mut link = |a, b| builder.link(a, b, Default::default(), Default::default()).unwrap();
        link((switches[0], PortNum(1)), (switches[1], PortNum(1)));
        (0..2).for_each(|i| link((switches[i], PortNum(2)), (hosts[i], PortNum(1))));
        let fabric = crate::lid::assign(&builder.build().unwrap(), Lmc::new(2).unwrap()).unwrap();
        let ports = hosts.map(|host| fabric.port_at(host, PortNum(1)).unwrap());
        (fabric, switches, ports)
    }

    #[test]
    fn halves_follow_their_own_function() {
        let (fabric, [first, _], [near, far]) = pair();
        let mut function = RoutingFunction::new(&fabric, "test", vec![near, far], 2);
        function.set_output(first, 0, 0, PortNum(2));
        function.set_output(first, 1, 0, PortNum(1));
        function.set_output(first, 1, 1, PortNum(3));
        let lower = realise(&fabric, &function, &[Half::Lower]);
        let base = fabric.port(far).lid.unwrap().0;
        let outputs = |tables: &[Arc<Lft>]| [0, 1, 2, 3].map(|i| tables[first.index()].get(Lid(base + i)));
        assert_eq!(outputs(&lower), [Some(PortNum(1)), Some(PortNum(3)), None, None]);
        let both = merge(&fabric, &lower, &function, &[Half::Upper]);
        assert_eq!(outputs(&both), [Some(PortNum(1)), Some(PortNum(3)), Some(PortNum(1)), Some(PortNum(3))]);
    }

    #[test]
    fn an_omitted_port_loses_its_route_in_the_half_concerned_only() {
        let (fabric, [first, _], [near, far]) = pair();
        let mut all = RoutingFunction::new(&fabric, "test", vec![near, far], 1);
        (0..2).for_each(|destination| all.set_output(first, destination, 0, PortNum(1)));
        let some = RoutingFunction::new(&fabric, "test", vec![near], 1);
        let tables = bring_up(&fabric, &all, 4);
        let merged = merge(&fabric, &tables.lfts, &some, &[Half::Upper]);
        let lids = |half| fabric.half_lids(far, half);
        assert!(lids(Half::Lower).all(|lid| merged[first.index()].get(lid) == Some(PortNum(1))));
        assert!(lids(Half::Upper).all(|lid| merged[first.index()].get(lid).is_none()));
    }

    #[test]
    fn the_mirror_has_no_route_to_what_is_gone() {
        let (fabric, [first, second], [near, far]) = pair();
        let mut all = RoutingFunction::new(&fabric, "test", vec![near, far], 1);
        (0..2).for_each(|destination| all.set_output(first, destination, 0, PortNum(1)));
        let tables = bring_up(&fabric, &all, 4);
        let after = fabric.without_nodes(&[second, fabric.port(far).node]);
        let some = RoutingFunction::new(&after, "test", vec![near], 1);
        let merged = merge(&after, &tables.lfts, &some, &[Half::Upper]);
        assert!(fabric.half_lids(far, Half::Lower).all(|lid| merged[first.index()].get(lid).is_some()));
        let mirrored = mirrored(&after, &merged, Half::Upper);
        assert!(fabric.half_lids(far, Half::Lower).all(|lid| mirrored[first.index()].get(lid).is_none()));
    }
}
