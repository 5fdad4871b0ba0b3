//! The switches whose packets to a LID arrive, by the forwarding entries as they are.

use super::Lft;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Lid, PortNum};
use std::sync::Arc;

/// The known end of the way from a switch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrival {
    Unknown,
    /// It ends, or it is being followed: a way that comes here again goes round.
    Never,
    Arrives,
}

/// By node: whether a packet to `lid` in that switch arrives at the LID's owner. `lfts` is by node. False for other
/// nodes, and for all if the LID has no owner.
pub fn arrivals(fabric: &Fabric, lfts: &[Arc<Lft>], lid: Lid) -> Vec<bool> {
    let owner = fabric.lid_owner(lid);
    let mut known = vec![Arrival::Unknown; fabric.node_count()];
    let mut passed: Vec<NodeId> = Vec::new();
    for start in fabric.switches() {
        let mut at = start;
        let found = loop {
            match known[at.index()] {
                Arrival::Unknown => {}
                found => break found,
            }
            known[at.index()] = Arrival::Never;
            passed.push(at);
            let output = lfts[at.index()].get(lid).and_then(|port| fabric.port_at(at, port));
            let reached =
                output.and_then(|port| if port_is_own(fabric, port) { Some(port) } else { fabric.peer(port) });
            match reached {
                None => break Arrival::Never,
                Some(port) if Some(port) == owner => break Arrival::Arrives,
                Some(port) if fabric.node(fabric.port(port).node).is_switch() => at = fabric.port(port).node,
                Some(_) => break Arrival::Never,
            }
        };
        passed.drain(..).for_each(|switch| known[switch.index()] = found);
    }
    known.into_iter().map(|arrival| arrival == Arrival::Arrives).collect()
}

/// Port 0 is the switch itself.
fn port_is_own(fabric: &Fabric, port: PortId) -> bool {
    fabric.port(port).num == PortNum::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, Topology, generate};
    use crate::ids::Lmc;
    use crate::lid;
    use crate::routing::{Demand, Engine, UpDown};

    #[test]
    fn a_hole_and_a_ring_stop_what_comes_through_them() {
        let topology: Topology = "ring:6,1".parse().expect("a topology");
        let fabric = generate(&topology, &Options::default()).expect("a ring");
        let fabric = lid::assign(&fabric, Lmc::masked(1)).expect("LIDs suffice");
        let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).expect("connected");
        let mut lfts = lid::bring_up(&fabric, &function, 1).lfts;
        let owner = fabric.end_ports().next().expect("a host");
        let lid = fabric.port(owner).lid.expect("a LID");
        let home = fabric.neighbour(owner).expect("a switch");
        let count = |lfts: &[Arc<Lft>]| arrivals(&fabric, lfts, lid).into_iter().filter(|&arrives| arrives).count();
        assert_eq!(count(&lfts), 6);
        let port_zero = fabric.port(fabric.port_at(home, PortNum(0)).expect("port 0")).lid.expect("a LID");
        assert_eq!(arrivals(&fabric, &lfts, port_zero).into_iter().filter(|&arrives| arrives).count(), 6);
        // A neighbour forwards the packet away from its owner: all switches before it on such a way loop with it or
        // lose packets there.
        let behind =
            fabric.switches().find(|&switch| fabric.ports_of(switch).any(|port| fabric.neighbour(port) == Some(home)));
        let behind = behind.expect("a neighbour");
        let before = count(&lfts);
        Arc::make_mut(&mut lfts[behind.index()]).set(lid, PortNum::NO_ROUTE);
        assert!(count(&lfts) < before);
        Arc::make_mut(&mut lfts[home.index()]).set(lid, PortNum::NO_ROUTE);
        assert_eq!(count(&lfts), 0);
        assert_eq!(count(&vec![Arc::default(); fabric.node_count()]), 0);
    }
}
