//! The lanes that a service level can take at each hop: the old and the new SL-to-VL tables together.
//!
//! A switch whose tables agree for every cabled (input, output) is held as one table, however the dump spells it.

use super::{AuditCase, EARLIER, NOW, RoutingSnapshot};
use crate::fabric::{Fabric, NodeId};
use crate::ids::{PortNum, Sl, Vl};
use crate::verify::lanes::{DISCARD, Group, HopLanes, LaneMask, StageLanes};
use crate::verify::net::FlatFabric;

/// Reads the tables of both stages. Each service level in use is a group of its own: dumps are walked one level at a
/// time.
pub(super) fn read(case: &AuditCase<'_>, net: &FlatFabric) -> HopLanes {
    let groups: Vec<Group> = in_use(case).into_iter().map(|sl| Group { sls: vec![sl] }).collect();
    let now = stage_lanes(case, net, &groups, &case.snapshots());
    let earlier = match case.earlier {
        Some(_) => stage_lanes(case, net, &groups, &[case.old]),
        // This stage is not walked.
        None => StageLanes::new(groups.len(), 0),
    };
    HopLanes::new(groups, vec![earlier, now])
}

/// The lanes by any of the snapshots.
fn stage_lanes(
    case: &AuditCase<'_>,
    net: &FlatFabric,
    groups: &[Group],
    snapshots: &[&RoutingSnapshot<'_>],
) -> StageLanes {
    let mut lanes = StageLanes::new(groups.len(), case.fabric.port_count());
    for (row, &node) in net.rows.iter().enumerate() {
        let both = |group: &Group, input, output| mask(case, snapshots, node, [input, output], group.sl());
        if !snapshots.iter().any(|snapshot| snapshot.sl_to_vl.is_some_and(|dump| dump.tells_of(node))) {
            lanes.push_uniform(groups.iter().map(|group| both(group, PortNum::ZERO, PortNum::ZERO)));
            continue;
        }
        let pairs = pairs(case, node);
        let agree = |group: &Group| {
            let mut masks = pairs.iter().map(|&(input, output)| both(group, input, output));
            let first = masks.next();
            masks.all(|mask| Some(mask) == first).then_some(first.unwrap_or(DISCARD))
        };
        match groups.iter().map(agree).collect::<Option<Vec<_>>>() {
            Some(agreed) => lanes.push_uniform(agreed),
            None => lanes.push_pairs(net.sides[row], |group, input, output| both(&groups[group], input, output)),
        }
    }
    for stage in [EARLIER, NOW] {
        for source in net.senders(stage).iter().filter(|source| !source.is_switch()) {
            let port = case.fabric.port(source.port);
            let hop = [PortNum::ZERO, port.num];
            lanes.set_source(source.port, groups.iter().map(|group| mask(case, snapshots, port.node, hop, group.sl())));
        }
    }
    lanes
}

/// The lane of one snapshot from an input to an output; none where packets are discarded. Without a file, and for
/// devices that it omits, the lane of a service level is its number, modulo the lanes in operation where they are
/// known. The same holds at the beginning of a path where the file lists other inputs only: most files omit input 0.
pub(super) fn lane(
    snapshot: &RoutingSnapshot<'_>,
    vls: Option<u8>,
    node: NodeId,
    hop: [PortNum; 2],
    sl: Sl,
) -> Option<Vl> {
    let [input, output] = hop;
    let dump = snapshot.sl_to_vl.filter(|dump| dump.tells_of(node));
    let vl = match dump.map(|dump| dump.get(node, input, output)) {
        Some(Some(table)) => table.get(sl),
        Some(None) if input != PortNum::ZERO => return None,
        _ => Vl::masked(vls.map_or(sl.get(), |vls| sl.get() % vls)),
    };
    let data = vl != Vl::MANAGEMENT && vls.is_none_or(|vls| vl.get() < vls);
    data.then_some(vl)
}

fn mask(case: &AuditCase<'_>, snapshots: &[&RoutingSnapshot<'_>], node: NodeId, hop: [PortNum; 2], sl: Sl) -> LaneMask {
    let of = |snapshot| lane(snapshot, case.rules.data_vls, node, hop, sl).map_or(DISCARD, |vl| 1 << vl.get());
    snapshots.iter().fold(0, |mask, snapshot| mask | of(snapshot))
}

fn in_use(case: &AuditCase<'_>) -> Vec<Sl> {
    let mut used = [false; 16];
    used[0] = true;
    let files = case.snapshots().into_iter().filter_map(|snapshot| snapshot.path_sls);
    files.flat_map(|sls| sls.in_use()).for_each(|sl| used[sl.index()] = true);
    Sl::all().filter(|sl| used[sl.index()]).collect()
}

/// The (input, output) pairs of a switch that data can take, at either stage.
fn pairs(case: &AuditCase<'_>, node: NodeId) -> Vec<(PortNum, PortNum)> {
    let has_cable = |fabric: &Fabric, port| fabric.peer(port).is_some();
    let cabled = |&port: &_| has_cable(case.fabric, port) || case.earlier.is_some_and(|fabric| has_cable(fabric, port));
    let ports: Vec<PortNum> =
        case.fabric.ports_of(node).filter(cabled).map(|port| case.fabric.port(port).num).collect();
    let inputs = ports.iter().copied().chain(case.rules.switches.then_some(PortNum::ZERO));
    inputs.flat_map(|input| ports.iter().map(move |&output| (input, output))).collect()
}
