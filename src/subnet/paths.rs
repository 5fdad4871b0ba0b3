//! Directed paths: the hops of an SMP from the SM's port to a device, over the known fabric.
//!
//! Each is a shortest path, found once by breadth-first search; ties go to the lower port. Only switches forward
//! directed routes (section 14.2.2), so an end port is reached through that very port.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::fmt;

/// Hops that fit a directed route (InitialPath: 64 entries, the first unused).
pub(super) const MOST_HOPS: usize = 63;

/// The output ports, from the SM's own port on; empty for the SM's own port.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct DirectedPath(pub(super) SmallVec<[PortNum; 14]>);

impl DirectedPath {
    /// This path, extended through `port`.
    pub(super) fn through(&self, port: PortNum) -> DirectedPath {
        let mut longer = self.clone();
        longer.0.push(port);
        longer
    }

    pub(super) fn hops(&self) -> &[PortNum] {
        &self.0
    }
}

impl fmt::Display for DirectedPath {
    /// In the notation of infiniband-diags: `0,1,7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0")?;
        self.0.iter().try_for_each(|hop| write!(f, ",{hop}"))
    }
}

/// Shortest directed paths from one port to every device.
#[derive(Clone, Debug)]
pub(super) struct DirectedPaths {
    sm_port: PortId,
    /// By node: the previous device's port that leads here; none if unreachable, or at the SM.
    via: Vec<Option<PortId>>,
    /// By node.
    reached: Vec<bool>,
}

impl DirectedPaths {
    /// Paths from `sm_port` over the links of `fabric`.
    pub(super) fn new(fabric: &Fabric, sm_port: PortId) -> DirectedPaths {
        let nodes = fabric.node_count();
        let mut paths = DirectedPaths { sm_port, via: vec![None; nodes], reached: vec![false; nodes] };
        let home = fabric.port(sm_port).node;
        paths.reached[home.index()] = true;
        let mut queue = VecDeque::new();
        if fabric.node(home).is_switch() {
            queue.push_back(home);
        } else {
            // A CA forwards nothing: its other ports cannot be reached from this one.
            paths.step(fabric, sm_port, &mut queue);
        }
        while let Some(switch) = queue.pop_front() {
            fabric.ports_of(switch).for_each(|port| paths.step(fabric, port, &mut queue));
        }
        paths
    }

    fn step(&mut self, fabric: &Fabric, port: PortId, queue: &mut VecDeque<NodeId>) {
        let Some(node) = fabric.neighbour(port) else { return };
        // The first to arrive has a shortest path, and the lower port on ties, since ports are tried in order.
        if std::mem::replace(&mut self.reached[node.index()], true) {
            return;
        }
        self.via[node.index()] = Some(port);
        if fabric.node(node).is_switch() {
            queue.push_back(node);
        }
    }

    /// Whether any path leads to a device.
    pub(super) fn reaches(&self, node: NodeId) -> bool {
        self.reached[node.index()]
    }

    /// The last switch before a device on the path to it, if there is one.
    pub(super) fn switch_before(&self, fabric: &Fabric, node: NodeId) -> Option<NodeId> {
        let before = fabric.port(self.via[node.index()]?).node;
        fabric.node(before).is_switch().then_some(before)
    }

    /// The path to a device, through its nearest port.
    pub(super) fn to_node(&self, fabric: &Fabric, node: NodeId) -> Option<DirectedPath> {
        if !self.reached[node.index()] {
            return None;
        }
        let mut hops: SmallVec<[PortNum; 14]> = SmallVec::new();
        let mut at = node;
        while let Some(port) = self.via[at.index()] {
            hops.push(fabric.port(port).num);
            at = fabric.port(port).node;
        }
        hops.reverse();
        (hops.len() <= MOST_HOPS).then_some(DirectedPath(hops))
    }

    /// The path to a port: for a CA or a router through that very port, for a switch to the device.
    pub(super) fn to_port(&self, fabric: &Fabric, port: PortId) -> Option<DirectedPath> {
        let node = fabric.port(port).node;
        if fabric.node(node).is_switch() {
            return self.to_node(fabric, node);
        }
        if port == self.sm_port {
            return Some(DirectedPath::default());
        }
        // The SMA of a CA answers for the port at which the request arrived, so the last hop must end in this very
        // port.
        let peer = fabric.peer(port)?;
        let before = fabric.port(peer).node;
        if !fabric.node(before).is_switch() && peer != self.sm_port {
            return None;
        }
        let path = self.to_node(fabric, before)?.through(fabric.port(peer).num);
        (path.hops().len() <= MOST_HOPS).then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{FabricBuilder, LinkSpeed, LinkWidth, NodeKind};
    use crate::ids::Guid;

    /// host – s1 = s2 (two cables) – s3, a second host with one port on s1 and one on s3, and s3 cabled to itself.
    fn fabric() -> Fabric {
        let mut builder = FabricBuilder::new();
        let host = builder.node(NodeKind::Ca, Guid(1), 1, "host");
        let [s1, s2, s3] = [2, 3, 4].map(|guid| builder.node(NodeKind::Switch, Guid(guid), 8, format!("s{guid}")));
        let twin = builder.node(NodeKind::Ca, Guid(5), 2, "twin");
        let alone = builder.node(NodeKind::Switch, Guid(6), 8, "alone");
        let _ = alone;
        let cables = [
            (host, 1, s1, 3),
            (s1, 5, s2, 5),
            (s1, 6, s2, 6),
            (s2, 1, s3, 2),
            (s1, 8, twin, 2),
            (s3, 8, twin, 1),
            (s3, 3, s3, 4),
        ];
        for (a, a_num, b, b_num) in cables {
            builder
                .link((a, PortNum(a_num)), (b, PortNum(b_num)), LinkWidth::X4, LinkSpeed::default())
                .expect("distinct ports");
        }
        builder.build().expect("a sound fabric")
    }

    #[test]
    fn the_shortest_path_takes_the_lower_port() {
        let fabric = fabric();
        let paths = DirectedPaths::new(&fabric, fabric.port_at(NodeId(0), PortNum(1)).expect("port 1"));
        let text = |node: u32| paths.to_node(&fabric, NodeId(node)).map(|path| path.to_string());
        assert_eq!(text(0).as_deref(), Some("0"));
        assert_eq!(text(1).as_deref(), Some("0,1"));
        assert_eq!(text(2).as_deref(), Some("0,1,5"));
        assert_eq!(text(3).as_deref(), Some("0,1,5,1"));
        assert_eq!(text(5), None);
    }

    #[test]
    fn an_end_port_is_reached_through_itself() {
        let fabric = fabric();
        let paths = DirectedPaths::new(&fabric, fabric.port_at(NodeId(0), PortNum(1)).expect("port 1"));
        let text = |num: u8| {
            let port = fabric.port_at(NodeId(4), PortNum(num)).expect("a port of the twin");
            paths.to_port(&fabric, port).map(|path| path.to_string())
        };
        assert_eq!(text(1).as_deref(), Some("0,1,5,1,8"));
        assert_eq!(text(2).as_deref(), Some("0,1,8"));
    }

    #[test]
    fn a_switch_sends_from_itself() {
        let fabric = fabric();
        let paths = DirectedPaths::new(&fabric, fabric.port_at(NodeId(3), PortNum(0)).expect("port 0"));
        assert_eq!(paths.to_node(&fabric, NodeId(1)).map(|path| path.to_string()).as_deref(), Some("0,2,5"));
    }
}
