//! P5.4 as the prover sees it: the retired half's entries are written while the other half is sent on.
//!
//! No packet of a legal class reads those entries. The manager's answers do (P0.8): they go to base LIDs, which are of
//! the retired half after every second change.

use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, VlSet};
use crate::tables::{PathLayers, SubnetTables};
use crate::verify::{ProofWave, Transition};
use std::sync::Arc;

/// One wave: every entry that P5.4 writes, in any order.
pub(super) struct Mirroring<'a> {
    pub fabric: &'a Fabric,
    pub before: &'a SubnetTables,
    pub after: &'a SubnetTables,
    /// The half in use.
    pub half: Half,
    pub ways: Option<&'a Arc<PathLayers>>,
    /// The manager's port.
    pub sm: PortId,
}

impl Transition for Mirroring<'_> {
    fn fabric(&self) -> &Fabric {
        self.fabric
    }

    fn surviving(&self) -> &Fabric {
        self.fabric
    }

    fn waves(&self) -> Vec<ProofWave<'_>> {
        let (mut injected, mut ways) = ([false; 2], [Vec::new(), Vec::new()]);
        injected[self.half.index()] = true;
        ways[self.half.index()] = self.ways.into_iter().cloned().collect();
        vec![ProofWave {
            name: "mirror".to_string(),
            before: self.before,
            after: self.after,
            injected,
            ways,
            empty: VlSet::EMPTY,
            gone: [false; 2],
            aged: None,
        }]
    }

    fn answerer(&self) -> Option<PortId> {
        Some(self.sm)
    }
}
