//! Which service level a path takes. The routing decides; subnet administration only asks.

use crate::fabric::PortId;
use crate::ids::{Half, Lid, Sl};
use std::fmt::Debug;

/// Says the service level of a path.
pub trait ServiceLevels: Send + Sync + Debug {
    /// The service level from a port to a LID of the half that is active: `wanted`, where someone asks for one and the path
    /// may take it. None where the path has no such level.
    fn choose(&self, source: PortId, dlid: Lid, half: Half, wanted: Option<Sl>) -> Option<Sl>;
}

/// Every service level of a half leads there; the first is taken unless another is asked for. Right for routing functions
/// that need no layers.
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
