//! What came and cannot be taken in. It is set apart before the rest is taken in, which does not wait for it.

use super::degraded::Degraded;
use crate::change::within_reach;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Guid;
use std::collections::BTreeSet;

/// A device that is not taken in, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Misfit {
    pub(super) guid: Guid,
    pub(super) device: String,
    pub(super) why: String,
    /// Since when, in nanoseconds of the manager's clock.
    pub(super) since_ns: u64,
}

impl Misfit {
    fn of(found: &Fabric, node: NodeId, why: String, since_ns: u64) -> Misfit {
        Misfit { guid: found.node(node).guid, device: found.describe_node(node), why, since_ns }
    }

    /// For the status.
    pub(super) fn shown(&self) -> Degraded {
        Degraded {
            device: self.device.clone(),
            guid: self.guid,
            attribute: "PortInfo".to_string(),
            method: "Get".to_string(),
            fails: "unfit".to_string(),
            status: None,
            since_ns: self.since_ns,
            left_out: true,
            follows: format!("it is not taken in: {}", self.why),
        }
    }
}

/// What is left of a sweep without what does not fit the known fabric, and who does not: ports of newcomers with fewer
/// data VLs than are in use (G.7), and ports that a known device did not have.
pub(super) fn fitting(
    known: &Fabric,
    (found, sm): (&Fabric, PortId),
    lanes_in_use: usize,
    now_ns: u64,
) -> (Fabric, Vec<Misfit>) {
    let mut misfits: Vec<Misfit> = Vec::new();
    let mut unfit = Vec::new();
    for (id, port) in found.ports().filter(|(_, port)| port.peer.is_some()) {
        let why = match known.by_guid(found.node(port.node).guid) {
            None if usize::from(port.data_vls) < lanes_in_use => {
                format!("port {} has {} data VLs, and {lanes_in_use} are in use", port.num, port.data_vls)
            }
            Some(node) if port.num.0 > known.node(node).num_ports => {
                format!("port {} is beyond the {} that it had", port.num, known.node(node).num_ports)
            }
            _ => continue,
        };
        unfit.push(id);
        if misfits.iter().all(|misfit| misfit.guid != found.node(port.node).guid) {
            misfits.push(Misfit::of(found, port.node, why, now_ns));
        }
    }
    match unfit.is_empty() {
        true => (found.clone(), misfits),
        false => (within_reach(&found.without_links(&unfit), sm), misfits),
    }
}

/// What is left of a sweep without the newcomer that owns the port with this name in `whole`, for which there are no
/// LIDs, and those behind it in line; and who these are. None if the port is of a known device, which does not give
/// way.
pub(super) fn without_room(
    known: &Fabric,
    whole: &Fabric,
    port: &str,
    (found, sm): (&Fabric, PortId),
    now_ns: u64,
) -> Option<(Fabric, Vec<Misfit>)> {
    let first = whole.lid_ports().find(|&id| whole.describe_port(id) == port)?;
    let first = whole.port(first).node;
    if first.index() < known.node_count() {
        return None;
    }
    let in_line = |(id, node): &(NodeId, &crate::fabric::Node)| *id >= first && node.present;
    let guids: BTreeSet<Guid> = whole.nodes().filter(in_line).map(|(_, node)| node.guid).collect();
    let out: Vec<NodeId> = guids.iter().filter_map(|&guid| found.by_guid(guid)).collect();
    let why = || "there are no LIDs left".to_string();
    let misfits = out.iter().map(|&node| Misfit::of(found, node, why(), now_ns)).collect();
    Some((within_reach(&found.without_nodes(&out), sm), misfits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::difference::union;
    use crate::fabric::{FabricBuilder, NodeKind};
    use crate::ids::PortNum;

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
        }
        builder.build().expect("a fabric")
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
        let (rest, misfits) = fitting(&known, (&found, sm(&found)), 4, 9);
        assert_eq!(present(&rest), [1, 0x10, 0x30]);
        union(&known, &rest).expect("it fits");
        let shown: Vec<String> = misfits.iter().map(|misfit| misfit.shown().in_words()).collect();
        assert_eq!(
            shown,
            [
                "switch: Get PortInfo: does not fit the subnet; it is not taken in: port 4 is beyond the 3 that it had",
                "host 32: Get PortInfo: does not fit the subnet; it is not taken in: port 1 has 1 data VLs, and 4 are in use",
            ]
        );
        assert_eq!(fitting(&known, (&rest, sm(&rest)), 4, 9), (rest.clone(), vec![]));
    }

    #[test]
    fn who_finds_no_lids_keeps_out_those_behind_it_in_line_alone() {
        let known = star(4, &[(0x10, 4)]);
        let found = star(4, &[(0x10, 4), (0x20, 4), (0x30, 4), (0x40, 4)]);
        let whole = union(&known, &found).expect("they fit").fabric;
        let port = |guid| {
            let node = whole.by_guid(Guid(guid)).expect("it is there");
            whole.describe_port(whole.port_at(node, PortNum(1)).expect("its port"))
        };
        let (rest, out) = without_room(&known, &whole, &port(0x30), (&found, sm(&found)), 9).expect("a newcomer");
        assert_eq!((present(&rest), out.len()), (vec![1, 0x10, 0x20], 2));
        assert_eq!(without_room(&known, &whole, &port(0x10), (&found, sm(&found)), 9), None);
    }
}
