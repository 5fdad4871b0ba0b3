//! P5.4 as the prover sees it: the retired half's entries are written while the other half is sent on.
//!
//! No packet of a legal class reads those entries. The manager's answers do (P0.8): they go to base LIDs, which are of
//! the retired half after every second change.

use crate::driver::Running;
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, VlSet};
use crate::lid;
use crate::plan::{Lanes, Policy};
use crate::tables::{Lft, PathLayers, SubnetTables};
use crate::verify::{self, ProofWave, Refusal, Scope, Transition};
use std::sync::Arc;

/// The entries with the retired half leading where the half in use leads. Warns of what is not proved while they are
/// written.
///
/// # Errors
/// They are not proved once both halves are open, when packets of both are under way at the same time.
pub(super) fn mirrored(running: &Running, policy: &Policy) -> Result<Vec<Arc<Lft>>, Refusal> {
    let Running { routed: fabric, tables: before, half, ways, sm, .. } = running;
    let (half, ways) = (*half, ways.as_ref());
    let lfts = lid::mirrored(fabric, &before.lfts, half);
    let after = SubnetTables { lfts, ..before.clone() };
    verify::prove_tables(fabric, &after, &Scope::of(&[half, half.other()]).by(ways))?;
    if let Err((_, refusal)) = verify::prove(Mirroring { fabric, before, after: &after, half, ways, sm: *sm }) {
        tracing::warn!(%refusal, "answers to base LIDs are not proved while the retired half's entries are written");
    }
    if let Some(level) = Lanes::of_fabric(fabric, policy.reserved_sl).reserved
        && let Err(refusal) = verify::prove_reserved(fabric, level, &[before, &after])
    {
        tracing::warn!(%refusal, "packets on the reserved level are not proved while the retired half's entries are written");
    }
    Ok(after.lfts)
}

/// One wave: every entry that P5.4 writes, in any order.
struct Mirroring<'a> {
    fabric: &'a Fabric,
    before: &'a SubnetTables,
    after: &'a SubnetTables,
    /// The half in use.
    half: Half,
    ways: Option<&'a Arc<PathLayers>>,
    sm: PortId,
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
