//! From where the counters of *conservation* count: equal sums show that nothing is under way only if every counter
//! began at zero while nothing was (D.5 of docs/PROTOCOL.md).
//!
//! Known are counters that this manager has zeroed after a drain, and has read as zero, and those of a subnet that was
//! switched on with it, for as long as no end port goes. Counters that an earlier manager left are not known.

use super::manager::{KnownTopology, Manager};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, PortName};
use crate::transport::Transport;
use std::collections::BTreeSet;

/// Which counters are known to have begun at zero.
#[derive(Debug, Default)]
pub(super) struct CounterZero {
    /// Every one: the subnet was switched on with this manager.
    from_power_on: bool,
    /// By half: the ports whose counters were zeroed.
    zeroed: [BTreeSet<PortName>; 2],
}

fn linked(fabric: &Fabric) -> impl Iterator<Item = (PortId, PortName)> + '_ {
    let ports = fabric.end_ports().filter(|&port| fabric.peer(port).is_some());
    ports.map(|id| (id, fabric.port_name(id)))
}

impl<T: Transport> Manager<T> {
    /// States that every counter of the subnet was at zero when the first packet was sent: it was switched on with this
    /// manager.
    pub fn count_from_power_on(&mut self) {
        self.zero.from_power_on = true;
    }

    /// Whether the counters of a half are known to have begun at zero, in every end port that is read.
    pub(super) fn counters_are_known(&self, half: Half) -> bool {
        let Some(known) = &self.topology else { return false };
        let zeroed = &self.zero.zeroed[half.index()];
        self.zero.from_power_on || linked(&known.fabric).all(|(_, port)| zeroed.contains(&port))
    }

    /// Records which ports have shown zero on a half.
    pub(super) fn counters_stand_at_zero(&mut self, half: Half, ports: &[PortId]) {
        let Some(known) = &self.topology else { return };
        let zeroed = linked(&known.fabric).filter(|(id, _)| ports.contains(id)).map(|(_, port)| port);
        self.zero.zeroed[half.index()] = zeroed.collect();
    }

    /// Forgets all of them if a known port is missing from a fabric: the others have counted packets exchanged with it,
    /// which are on one side of the sums only.
    pub(super) fn forget_counters_without(&mut self, fabric: &Fabric) {
        let there: BTreeSet<PortName> = linked(fabric).map(|(_, port)| port).collect();
        let is_missing = |known: &KnownTopology| linked(&known.fabric).any(|(_, port)| !there.contains(&port));
        if self.topology.as_ref().is_some_and(is_missing) {
            self.forget_counters();
        }
    }

    /// Forgets all of them: another manager may have reset any counter.
    pub(super) fn forget_counters(&mut self) {
        self.zero = CounterZero::default();
    }
}
