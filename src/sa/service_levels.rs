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
