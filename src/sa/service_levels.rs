//! The service level of a path. The routing decides; subnet administration only asks.

use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, Lid, Sl};
use crate::tables::PathLayers;
use std::fmt::Debug;
use std::sync::Arc;

/// Chooses the service level of a path.
pub trait ServiceLevels: Send + Sync + Debug {
    /// The service level from a port to a LID of the active half: `wanted`, if the path may take it. None if the path
    /// has no such level.
    fn choose(&self, source: PortId, dlid: Lid, half: Half, wanted: Option<Sl>) -> Option<Sl>;
}

/// Every service level of a half leads everywhere; the first is taken unless another is requested. Correct for routing
/// functions that need no layers.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstOfHalf;

impl ServiceLevels for FirstOfHalf {
    fn choose(&self, _source: PortId, _dlid: Lid, half: Half, wanted: Option<Sl>) -> Option<Sl> {
        match wanted {
            Some(sl) => Some(sl).filter(|&sl| Half::of_sl(sl) == half),
            None => half.sls().next(),
        }
    }
}

/// The service level of the virtual layer that the routing assigns to the path. A LID whose path the source may not use
/// has none.
#[derive(Clone, Debug)]
pub struct OfLayers {
    /// The fabric, LIDs assigned.
    pub fabric: Arc<Fabric>,
    /// By half: the paths and layers of each source; none if every source may use every path, on any layer.
    pub ways: [Option<Arc<PathLayers>>; 2],
}

impl ServiceLevels for OfLayers {
    fn choose(&self, source: PortId, dlid: Lid, half: Half, wanted: Option<Sl>) -> Option<Sl> {
        let Some(ways) = &self.ways[half.index()] else { return FirstOfHalf.choose(source, dlid, half, wanted) };
        let owner = self.fabric.lid_owner(dlid)?;
        let divided = self.fabric.half_of(dlid).is_some();
        let path = if divided { self.fabric.half_lids(owner, half).position(|lid| lid == dlid)? } else { 0 };
        let layer = if source == owner { Some(0) } else { ways.layer(source, owner, path) };
        layer.map(|layer| half.sl_of(layer)).filter(|&sl| wanted.is_none_or(|wanted| wanted == sl))
    }
}

/// A reserved level for every path from or to a switch, and for no other (K.2): management to switches is on it, data
/// never.
#[derive(Clone, Debug)]
pub struct Reserving {
    /// The fabric, LIDs assigned.
    pub fabric: Arc<Fabric>,
    /// The reserved level.
    pub sl: Sl,
    /// The levels of paths between end ports.
    pub data: Arc<dyn ServiceLevels>,
}

impl ServiceLevels for Reserving {
    fn choose(&self, source: PortId, dlid: Lid, half: Half, wanted: Option<Sl>) -> Option<Sl> {
        let is_switch = |port: PortId| self.fabric.node(self.fabric.port(port).node).is_switch();
        if is_switch(source) || self.fabric.lid_owner(dlid).is_some_and(is_switch) {
            return Some(self.sl).filter(|&sl| wanted.is_none_or(|wanted| wanted == sl));
        }
        self.data.choose(source, dlid, half, wanted).filter(|&sl| sl != self.sl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::ids::{Lmc, PortNum};
    use crate::lid;

    #[test]
    fn paths_of_switches_are_on_the_reserved_level_and_no_others() {
        let made = generate(&"ring:4,1".parse().expect("a topology"), &Options::default()).expect("a ring");
        let fabric = Arc::new(lid::assign(&made, Lmc::masked(1)).expect("LIDs suffice"));
        let ends: Vec<PortId> = fabric.end_ports().take(2).collect();
        let switch = fabric.switches().next().and_then(|node| fabric.port_at(node, PortNum::ZERO)).expect("a switch");
        let lid = |port: PortId| fabric.port(port).lid.expect("a LID");
        let levels = Reserving { fabric: fabric.clone(), sl: Sl::masked(7), data: Arc::new(FirstOfHalf) };
        let choose = |from, to, half, wanted: Option<u8>| levels.choose(from, lid(to), half, wanted.map(Sl::masked));
        for half in [Half::Lower, Half::Upper] {
            assert_eq!(choose(ends[0], switch, half, None), Some(Sl::masked(7)));
            assert_eq!(choose(switch, ends[0], half, Some(7)), Some(Sl::masked(7)));
            assert_eq!(choose(ends[0], switch, half, Some(0)), None);
            assert_eq!(choose(ends[0], ends[1], half, None), half.sls().next());
            assert_eq!(choose(ends[0], ends[1], half, Some(7)), None, "data is never on the reserved level");
        }
    }
}
