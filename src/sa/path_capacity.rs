//! MTU and rate of a path: a walk along the forwarding tables, and the minimum over its links.

use super::directory::Directory;
use super::path_rate::{PathCapacity, PathRate};
use crate::fabric::PortId;
use crate::ids::{Lid, PortNum};

/// A packet that has taken more hops than this is in a loop: no fabric has such a diameter.
const MOST_HOPS: usize = 64;

impl PathCapacity {
    /// Walks the path from a port that owns LIDs to `dlid`. None if the tables do not lead there, or a link on the path
    /// reports no MTU, width or speed.
    pub fn walk(directory: &Directory, source: PortId, dlid: Lid) -> Option<PathCapacity> {
        let fabric = directory.fabric();
        let owner = fabric.lid_owner(dlid)?;
        let mut route = PathCapacity::within(directory, source)?;
        let mut at = if fabric.node(fabric.port(source).node).is_switch() || source == owner {
            source
        } else {
            route = route.over(directory, source)?;
            fabric.peer(source)?
        };
        for _ in 0..MOST_HOPS {
            let node = fabric.port(at).node;
            if at == owner || fabric.port(owner).node == node && fabric.port(owner).num == PortNum::ZERO {
                return Some(route.and(PathCapacity::within(directory, owner)?));
            }
            if !fabric.node(node).is_switch() {
                return None;
            }
            let output = directory.facts().tables.lfts[node.index()].get(dlid)?;
            let channel = fabric.port_at(node, output).filter(|_| output != PortNum::ZERO)?;
            route = route.over(directory, channel)?;
            at = fabric.peer(channel)?;
        }
        None
    }

    /// The MTU and rate of an end port itself.
    fn within(directory: &Directory, port: PortId) -> Option<PathCapacity> {
        let info = directory.port_info(port)?;
        info.mtu_cap.bytes()?;
        Some(PathCapacity { mtu: info.mtu_cap, rate: PathRate::of_link(info)? })
    }

    /// The minimum of this and the link that `port` sends into.
    fn over(self, directory: &Directory, port: PortId) -> Option<PathCapacity> {
        let info = directory.port_info(port)?;
        info.neighbour_mtu.bytes()?;
        Some(self.and(PathCapacity { mtu: info.neighbour_mtu, rate: PathRate::of_link(info)? }))
    }

    fn and(self, other: PathCapacity) -> PathCapacity {
        PathCapacity { mtu: self.mtu.min(other.mtu), rate: self.rate.min(other.rate) }
    }
}
