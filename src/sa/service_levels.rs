//! Which service level a path takes. The routing decides; subnet administration only asks.

use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, Lid, Sl};
use crate::tables::PathLayers;
use std::fmt::Debug;
use std::sync::Arc;

/// Says the service level of a path.
pub trait ServiceLevels: Send + Sync + Debug {
    /// The service level from a port to a LID of the half that is active: `wanted`, where someone asks for one and the
    /// path may take it. None where the path has no such level.
    fn choose(&self, source: PortId, dlid: Lid, half: Half, wanted: Option<Sl>) -> Option<Sl>;
}

/// Every service level of a half leads there; the first is taken unless another is requested. Right for routing
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

/// The service level of the virtual layer that the routing gives the path; a LID whose path is not for the source has
/// none.
#[derive(Clone, Debug)]
pub struct OfLayers {
    /// The fabric, LIDs assigned.
    pub fabric: Arc<Fabric>,
    /// By half: who sends by which path, on which layer; none where everybody may by each, on any.
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
