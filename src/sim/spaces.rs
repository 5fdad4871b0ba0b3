//! LID spaces: the subnet of each port. A LID has a meaning only within its subnet.

use super::index::By;
use crate::fabric::subnets::Joined;
use crate::fabric::{Fabric, PortId};
use crate::ids::Lid;

/// By port: the subnet; and how far each subnet's LIDs reach.
#[derive(Clone, Debug)]
pub struct Spaces {
    of_port: By<PortId, u16>,
    top: Vec<Lid>,
}

impl Spaces {
    /// One subnet.
    pub fn one(fabric: &Fabric) -> Spaces {
        Spaces { of_port: By::filled(0, fabric.port_count()), top: vec![highest(fabric, |_| true)] }
    }

    /// Several subnets side by side.
    pub fn of(joined: &Joined) -> Spaces {
        let ports = joined.fabric.ports().map(|(port, _)| joined.at(port).subnet.0);
        let of_port: By<PortId, u16> = ports.collect();
        let top = (0..joined.subnets()).map(|rank| highest(&joined.fabric, |port| usize::from(of_port[port]) == rank));
        Spaces { top: top.collect(), of_port }
    }

    /// How many subnets.
    pub fn count(&self) -> usize {
        self.top.len()
    }

    /// The subnet of a port.
    #[inline]
    pub fn at(&self, port: PortId) -> usize {
        usize::from(self.of_port[port])
    }

    /// Where a LID of a port's subnet is in an array over all LIDs of all subnets.
    #[inline]
    pub fn slot(&self, port: PortId, lid: u16) -> usize {
        self.at(port) << 16 | usize::from(lid)
    }

    /// The highest LID in use in the subnet of a port; 0 where none is.
    pub fn top_at(&self, port: PortId) -> Lid {
        self.top[self.at(port)]
    }

    /// The highest LID in use in any subnet; 0 where none is.
    pub fn top(&self) -> Lid {
        self.top.iter().copied().max().unwrap_or_default()
    }
}

fn highest(fabric: &Fabric, within: impl Fn(PortId) -> bool) -> Lid {
    let held = fabric.ports().filter(|&(id, _)| within(id));
    let last = held.filter_map(|(_, port)| port.lid.map(|lid| Lid(lid.0 + port.lmc.lids() - 1)));
    last.max().unwrap_or_default()
}
