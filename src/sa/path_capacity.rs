//! MTU and rate of a path: a walk along the forwarding tables, and the minimum over its links.

use super::directory::Directory;
use crate::fabric::{LinkSpeed, PortId};
use crate::ids::{Lid, PortNum};
use crate::wire::{Mtu, PortInfo};

/// A packet that has taken more hops than this is in a loop: no fabric has such a diameter.
const MOST_HOPS: usize = 64;

/// Rates as PathRecord numbers them, in ascending order, in tenths of Gb/s (section 15.2.5.16).
const RATES: [(u8, u64); 23] = [
    (2, 25),
    (5, 50),
    (3, 100),
    (11, 140),
    (6, 200),
    (15, 250),
    (19, 280),
    (4, 300),
    (7, 400),
    (20, 500),
    (12, 560),
    (8, 600),
    (9, 800),
    (16, 1000),
    (13, 1120),
    (10, 1200),
    (14, 1680),
    (17, 2000),
    (18, 3000),
    (21, 4000),
    (22, 6000),
    (23, 8000),
    (24, 12000),
];

/// A rate for which PathRecord has a number. Faster links count as the fastest of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PathRate(usize);

impl PathRate {
    /// The rate with this number; none if the number is reserved.
    pub fn from_number(number: u8) -> Option<PathRate> {
        RATES.iter().position(|&(known, _)| known == number).map(PathRate)
    }

    /// The number in PathRecord:Rate.
    pub fn number(self) -> u8 {
        RATES[self.0].0
    }

    /// The next lower rate.
    pub fn below(self) -> Option<PathRate> {
        self.0.checked_sub(1).map(PathRate)
    }

    /// The rate of a link.
    pub(super) fn of_link(info: &PortInfo) -> Option<PathRate> {
        let lanes = info.link_width_active.of_link()?.lanes();
        let lane = match info.speed()? {
            LinkSpeed::Sdr => 25,
            LinkSpeed::Ddr => 50,
            LinkSpeed::Qdr | LinkSpeed::Fdr10 => 100,
            LinkSpeed::Fdr => 140,
            LinkSpeed::Edr => 250,
            LinkSpeed::Hdr => 500,
            LinkSpeed::Ndr => 1000,
            LinkSpeed::Xdr => 2000,
        };
        RATES.iter().rposition(|&(_, tenths)| tenths <= lanes * lane).map(PathRate)
    }
}

/// MTU and rate that every link of a path supports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathCapacity {
    /// The largest packet.
    pub mtu: Mtu,
    /// The rate.
    pub rate: PathRate,
}

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
