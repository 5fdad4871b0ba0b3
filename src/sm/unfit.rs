//! Newcomers that cannot be brought in, and known devices that return with too few lanes, LIDs or forwarding entries.
//! They are set apart first, so that the others do not wait for them.

use crate::change::within_reach;
use crate::driver::{Shortfall, Sighting, narrow_ports};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Lid;
use crate::lid::LidError;
use crate::subnet::{DeviceFault, Discovered, FailingAs};
use crate::wire::AttributeId;
use std::collections::BTreeSet;

/// A manager that starts knows no device yet.
const WAY_OUT: &str = "once the manager is restarted, it takes the device as it is";

/// Splits a sweep into what fits the known fabric and what does not: ports of newcomers with fewer data VLs than are in
/// use (G.7), ports that a known device did not have, and devices of another kind than the one that is known by their
/// GUID.
pub(super) fn fitting(
    known: &Fabric,
    (found, sm): (&Fabric, PortId),
    lanes_in_use: usize,
) -> (Fabric, Vec<DeviceFault>) {
    let mut faults: Vec<DeviceFault> = Vec::new();
    let mut unfit = Vec::new();
    for (id, port) in found.ports().filter(|(_, port)| port.peer.is_some()) {
        let (kind, owner) = (found.node(port.node).kind, known.by_guid(found.node(port.node).guid));
        let (attribute, why) = match owner.map(|owner| known.node(owner)) {
            None if usize::from(port.data_vls) < lanes_in_use => {
                (AttributeId::PortInfo, too_few_lanes(found, id, lanes_in_use))
            }
            Some(old) if old.kind != kind => {
                (AttributeId::NodeInfo, format!("it is a {kind}, and its GUID is that of a {}; {WAY_OUT}", old.kind))
            }
            Some(old) if port.num.0 > old.num_ports => (
                AttributeId::PortInfo,
                format!("port {} is beyond the {} that it had; {WAY_OUT}", port.num, old.num_ports),
            ),
            _ => continue,
        };
        unfit.push(id);
        if faults.iter().all(|fault| fault.device != found.node(port.node).guid) {
            faults.push(DeviceFault::unfit(found, port.node, attribute, why));
        }
    }
    match unfit.is_empty() {
        true => (found.clone(), faults),
        false => (within_reach(&found.without_links(&unfit), sm), faults),
    }
}

/// Known devices that came back with less than is in use.
pub(super) fn lesser(sighting: &Sighting) -> Vec<DeviceFault> {
    let found = &sighting.discovered.fabric;
    let mut faults: Vec<DeviceFault> = Vec::new();
    for shortfall in &sighting.shortfalls {
        let (node, attribute, why) = match *shortfall {
            Shortfall::Entries { switch, top } => {
                let why = too_few_entries(found.node(switch).lft_capacity, top);
                (switch, AttributeId::SwitchInfo, why)
            }
            Shortfall::DataVls { port, in_use } => {
                (found.port(port).node, AttributeId::PortInfo, too_few_lanes(found, port, in_use))
            }
        };
        if faults.iter().all(|fault| fault.device != found.node(node).guid) {
            faults.push(DeviceFault::unfit(found, node, attribute, why));
        }
    }
    for &(node, at) in &sighting.discovered.doubled {
        let place = found.describe_port(at);
        let why =
            format!("a second device with its GUID is at {place}, and is not used; give that one a GUID of its own");
        faults.push(DeviceFault::unfit(found, node, AttributeId::NodeInfo, why));
    }
    faults
}

/// The same faults, where those of devices that `rest` contains concern single links of theirs.
pub(super) fn parted(mut faults: Vec<DeviceFault>, rest: &Fabric) -> Vec<DeviceFault> {
    let is_in = |device| rest.by_guid(device).is_some_and(|node| rest.node(node).present);
    for DeviceFault { fails, device, .. } in &mut faults {
        if let FailingAs::Unfit { wholly, .. } = fails {
            *wholly = !is_in(*device);
        }
    }
    faults
}

/// A running subnet as found, without ports that let no data through yet and have fewer than `lanes` data VLs, those in
/// operation: other ports would keep no more than they have. They are left for later, and then judged like newcomers.
/// None if there are none. The manager's own device and its switch are never left for later.
pub(super) fn without_narrow(found: &Discovered, lanes: u8) -> Option<Fabric> {
    let Discovered { fabric, sm_port, .. } = found;
    let narrow: Vec<PortId> = narrow_ports(found, lanes.into()).collect();
    let port = fabric.describe_port(*narrow.first()?);
    tracing::warn!(
        ports = narrow.len(),
        port,
        lanes,
        "ports that carry no data have fewer data VLs than are in operation: left for later"
    );
    Some(within_reach(&fabric.without_links(&narrow), *sm_port))
}

/// The sweep without the newcomers for which `whole` gets no LIDs, and these newcomers. They are ports for which no
/// LIDs are left, and those behind them in line; switches without forwarding entries for all LIDs; ports beyond the
/// entries of a known switch. `None` if only known devices are in the way: these do not give way.
pub(super) fn without_room(
    known: &Fabric,
    whole: &Fabric,
    error: &LidError,
    (found, sm): (&Fabric, PortId),
) -> Option<(Fabric, Vec<DeviceFault>)> {
    let is_new = |node: NodeId| node.index() >= known.node_count();
    let nodes = || whole.nodes().filter(|(_, node)| node.present).map(|(id, _)| id);
    let (unfit, (attribute, why)): (BTreeSet<NodeId>, _) = match error {
        LidError::NoRoom { at, .. } => {
            let first = Some(whole.port(*at).node).filter(|&first| is_new(first))?;
            let why = (AttributeId::PortInfo, "there are no LIDs left".to_string());
            (nodes().filter(|&node| node >= first).collect(), why)
        }
        LidError::LftCapacity { at, capacity, top, .. } if is_new(*at) => {
            (BTreeSet::from([*at]), (AttributeId::SwitchInfo, too_few_entries(*capacity, *top)))
        }
        LidError::LftCapacity { switch, beyond, .. } => {
            let why = format!("there are no LIDs left for which {switch} has forwarding entries");
            (beyond.iter().map(|&port| whole.port(port).node).collect(), (AttributeId::PortInfo, why))
        }
        LidError::Exhausted { .. } | LidError::HalfTooSmall { .. } => return None,
    };
    let unfit = unfit.into_iter().filter(|&node| is_new(node)).map(|node| whole.node(node).guid);
    let out: Vec<NodeId> = unfit.filter_map(|guid| found.by_guid(guid)).collect();
    if out.is_empty() {
        return None;
    }
    let faults = out.iter().map(|&node| DeviceFault::unfit(found, node, attribute, why.clone())).collect();
    Some((within_reach(&found.without_nodes(&out), sm), faults))
}

fn too_few_lanes(found: &Fabric, port: PortId, in_use: usize) -> String {
    let port = found.port(port);
    format!("port {} has {} data VLs, and {in_use} are in use", port.num, port.data_vls)
}

/// Why a switch cannot take part where LIDs go up to `top`.
pub(super) fn too_few_entries(capacity: u16, top: Lid) -> String {
    format!("it has {capacity} forwarding entries, and LIDs up to {top} are in use")
}

#[cfg(test)]
mod tests {
    use super::super::degraded;
    use super::*;
    use crate::fabric::difference::{AlignError, recognise, union};
    use crate::fabric::{FabricBuilder, NodeKind};
    use crate::ids::{Guid, Lmc, PortNum};
    use crate::lid::{Guid2Lid, assign_stable};

    const SWITCH: Guid = Guid(1);

    /// A switch with four lanes and hosts with so many each, at ports 1, 2 and so on.
    fn star(ports: u8, hosts: &[(u64, u8)]) -> Fabric {
        let mut builder = FabricBuilder::new();
        let switch = builder.node(NodeKind::Switch, SWITCH, ports, "switch");
        for (&(guid, lanes), num) in hosts.iter().zip(1..) {
            let host = builder.node(NodeKind::Ca, Guid(guid), 1, format!("host {guid}"));
            let ends = [(switch, PortNum(num)), (host, PortNum(1))];
            builder.link(ends[0], ends[1], Default::default(), Default::default()).expect("both ports are free");
            for ((node, num), lanes) in ends.into_iter().zip([4, lanes]) {
                builder.port_mut(node, num).expect("cabled").data_vls = lanes;
            }
            builder.port_mut(host, PortNum(1)).expect("cabled").guid = Some(Guid(guid));
        }
        builder.build().expect("a fabric")
    }

    fn in_words(fault: &DeviceFault) -> String {
        degraded::of_fault(fault, false).in_words()
    }

    fn sm(fabric: &Fabric) -> PortId {
        fabric.port_at(fabric.by_guid(Guid(0x10)).expect("it is there"), PortNum(1)).expect("its port")
    }

    fn present(fabric: &Fabric) -> Vec<u64> {
        fabric.nodes().filter(|(_, node)| node.present).map(|(_, node)| node.guid.0).collect()
    }

    #[test]
    fn who_does_not_fit_keeps_no_other_newcomer_out() {
        let known = star(3, &[(0x10, 4)]);
        let found = star(4, &[(0x10, 4), (0x20, 1), (0x30, 4), (0x40, 4)]);
        let (rest, faults) = fitting(&known, (&found, sm(&found)), 4);
        assert_eq!(present(&rest), [1, 0x10, 0x30]);
        union(&known, &rest).expect("it fits");
        let shown: Vec<String> = parted(faults, &rest).iter().map(in_words).collect();
        assert_eq!(
            shown,
            [
                "switch: Get PortInfo: does not fit the subnet; part of it is not taken in: port 4 is beyond the 3 that it had; \
                 once the manager is restarted, it takes the device as it is",
                "host 32: Get PortInfo: does not fit the subnet; it is not taken in: port 1 has 1 data VLs, and 4 are in use",
            ]
        );
        assert_eq!(fitting(&known, (&rest, sm(&rest)), 4), (rest.clone(), vec![]));
    }

    /// `known` with the newcomers, and the reason why not all can get LIDs.
    fn refused(known: &Fabric, found: &Fabric, kept: &str) -> (Fabric, LidError) {
        let whole = union(known, found).expect("they fit").fabric;
        let kept = Guid2Lid::read(kept.as_bytes(), "kept").expect("it can be read");
        let error = assign_stable(&whole, Lmc::masked(1), &kept).expect_err("not all find room");
        (whole, error)
    }

    #[test]
    fn who_finds_no_lids_keeps_out_those_behind_it_in_line_alone() {
        let known = star(4, &[(0x10, 4)]);
        let found = star(4, &[(0x10, 4), (0x20, 4), (0x30, 4), (0x40, 4)]);
        let whole = union(&known, &found).expect("they fit").fabric;
        let no_room = |guid| {
            let at = whole.port_at(whole.by_guid(Guid(guid)).expect("it is there"), PortNum(1)).expect("its port");
            LidError::NoRoom { port: whole.describe_port(at), at, lids: 2, taken: 49_150 }
        };
        let (rest, out) = without_room(&known, &whole, &no_room(0x30), (&found, sm(&found))).expect("a newcomer");
        assert_eq!((present(&rest), out.len()), (vec![1, 0x10, 0x20], 2));
        assert_eq!(without_room(&known, &whole, &no_room(0x10), (&found, sm(&found))), None);
    }

    /// The star, with so many forwarding entries, and a second switch with so many and a host at its last port.
    fn two_stars(entries: [u16; 2], hosts: &[(u64, u8)]) -> Fabric {
        let mut builder = FabricBuilder::new();
        star(4, hosts).nodes().for_each(|(id, _)| _ = builder.copy(&star(4, hosts), id));
        builder.node_mut(NodeId(0)).lft_capacity = entries[0];
        let other = builder.node(NodeKind::Switch, Guid(0x50), 2, "other switch");
        builder.node_mut(other).lft_capacity = entries[1];
        let host = builder.node(NodeKind::Ca, Guid(0x60), 1, "host behind");
        builder.port_mut(host, PortNum(1)).expect("its port").guid = Some(Guid(0x60));
        let mut link = |a, b| builder.link(a, b, Default::default(), Default::default()).expect("both ports are free");
        hosts.iter().zip(1..).for_each(|(_, num)| {
            link((NodeId(0), PortNum(num)), (NodeId(num.into()), PortNum(1)));
        });
        link((NodeId(0), PortNum(4)), (other, PortNum(1)));
        link((other, PortNum(2)), (host, PortNum(1)));
        builder.build().expect("a fabric")
    }

    #[test]
    fn a_newcomer_with_too_few_entries_keeps_out_what_is_behind_it_alone() {
        let known = star(4, &[(0x10, 4)]);
        let found = two_stars([0xC000, 3], &[(0x10, 4), (0x20, 4)]);
        let (whole, error) = refused(&known, &found, "");
        let (rest, out) = without_room(&known, &whole, &error, (&found, sm(&found))).expect("a newcomer");
        assert_eq!(present(&rest), [1, 0x10, 0x20]);
        let told: Vec<String> = out.iter().map(in_words).collect();
        let why = "it has 3 forwarding entries, and LIDs up to 8 are in use";
        assert_eq!(told, [format!("other switch: Get SwitchInfo: does not fit the subnet; it is not taken in: {why}")]);
    }

    #[test]
    fn newcomers_beyond_the_entries_of_a_known_switch_keep_nobody_else_out() {
        let known = two_stars([0xC000, 9], &[(0x10, 4)]);
        let found = two_stars([0xC000, 9], &[(0x10, 4), (0x20, 4), (0x30, 4)]);
        let (whole, error) = refused(&known, &found, "");
        let (rest, out) = without_room(&known, &whole, &error, (&found, sm(&found))).expect("a newcomer");
        assert_eq!(present(&rest), [1, 0x10, 0x20, 0x50, 0x60]);
        assert_eq!(out.iter().map(|fault| fault.device).collect::<Vec<_>>(), [Guid(0x30)]);
        // Known devices do not give way.
        let known = two_stars([0xC000, 5], &[(0x10, 4)]);
        let (whole, error) = refused(&known, &known, "");
        assert_eq!(without_room(&known, &whole, &error, (&known, sm(&known))), None);
    }

    #[test]
    fn who_has_the_guid_of_another_kind_of_device_is_not_taken_for_it() {
        let (known, narrow) = (star(4, &[(0x10, 4), (0x20, 4)]), star(4, &[(0x10, 4), (0x20, 4), (0x30, 4)]));
        let mut builder = FabricBuilder::new();
        narrow.nodes().for_each(|(id, _)| _ = builder.copy(&narrow, id));
        builder.node_mut(NodeId(2)).kind = NodeKind::Router;
        for (at, num) in (1..=3).zip(1..) {
            let ends = [(NodeId(0), PortNum(num)), (NodeId(at), PortNum(1))];
            builder.link(ends[0], ends[1], Default::default(), Default::default()).expect("both ports are free");
        }
        let found = builder.build().expect("a fabric");
        let recognised = recognise(&known, &found);
        assert_eq!(present(&recognised.alive), [1, 0x10]);
        assert!(matches!(recognised.stranger, Some(AlignError::Redefined { guid: Guid(0x20), .. })));
        let (rest, out) = fitting(&known, (&found, sm(&found)), 4);
        assert_eq!(present(&rest), [1, 0x10, 0x30]);
        assert_eq!(out.iter().map(|fault| fault.device).collect::<Vec<_>>(), [Guid(0x20)]);
        union(&known, &rest).expect("it fits");
    }
}
