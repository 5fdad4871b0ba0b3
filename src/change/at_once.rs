//! A change for a loss that gives all hosts ways again by one wave of forwarding entries, and leaves the rest to a second.
//!
//! On a thousand switches most of the time between a loss and the first write goes into what the first write does not
//! need: the full re-route, a count of what scheme `double` would write, and searches for ways to LIDs of switches, and
//! from switches that no host's way crosses any more. [`prepare_at_once`] does without. And where rows of switches have to
//! wait for what was sent before, hosts need not move by `double`, nor wait with them: [`prepare_before`].
//!
//! On entry: a loss, and the routing in force. On return: a change of scheme `ordered` with one wave, judged like any
//! other; none where there is no such wave, or it is not worth a change of its own. All other rows may stay lost by it. The
//! tables that it leaves are then proved as a routing of the fabric *before* the loss, so that what was the routing of that
//! fabric is so still, and the next change, prepared in full, begins with it and finds the rest. Deliberately omitted: a
//! wave that leaves hosts without a way, and changes of anything but a loss.

use super::repairing::RepairSteps;
use super::{
    ChangeError, ChangeInput, FREE_ROWS, ONE_WAVE, Outset, PlannedChange, Prepared, absent, refused, repairing,
};
use crate::fabric::Fabric;
use crate::plan::Scheme;
use crate::tables::RoutedBy;
use crate::verify::Scope;

/// Why another way is passed over.
const NOT_WEIGHED: &str = "hosts have ways again before it is found and judged";

/// Prepares what reconnects all hosts at once after a loss. None where that is not known to be safe, or would not be much
/// sooner: the base of the input is not of the routing in force, something else than a loss has happened, rows are few, or
/// one wave does not do. The scheme of the input is not read, and its engine is only named.
pub fn prepare_at_once(input: &ChangeInput<'_>) -> Option<Prepared> {
    input.base()?;
    let outset = Outset::of(input).ok()?;
    if outset.rows() <= FREE_ROWS {
        return None;
    }
    outset.hosts_first()?.noted(ONE_WAVE, NOT_WEIGHED).vet(input.base(), refused).ok()
}

/// Prepares the same where the change that was chosen for a loss is of scheme `double`: hosts need not move. None where that
/// change is of another scheme, or one wave does not do. The scheme of the input is not read, and its engine is only named.
pub fn prepare_before(input: &ChangeInput<'_>, chosen: &Prepared) -> Option<Prepared> {
    if chosen.plan.plan().scheme() != Scheme::Double {
        return None;
    }
    Outset::of(input).ok()?.hosts_first()?.vet(input.base(), refused).ok()
}

impl Outset<'_> {
    /// One wave that gives all hosts ways again after a loss; none where there is none, or something else has happened.
    fn hosts_first(&self) -> Option<PlannedChange> {
        let input = self.input;
        let is_loss = *self.whole == *input.before && *self.surviving == *self.after && *self.after != *self.whole;
        let (repair, is_partial) = is_loss.then(|| repairing::first_wave(self))??;
        if repair.steps.is_empty() {
            return None;
        }
        // The first write of what follows must find tables that are proved: of what is left where all rows have ways, and
        // otherwise of the fabric for which the routing in force was made.
        let (fabric, scope) = match is_partial {
            true => (&input.before, input.scope()),
            false => (&self.after, Scope { stranded: self.stranded.clone(), ..input.scope() }),
        };
        Some(self.unguided(repair, fabric, &scope).ok()?.noted(&format!("scheme {}", Scheme::Double), NOT_WEIGHED))
    }

    /// A repair as a change, where nothing is known of a full re-route. Its last tables are proved by themselves, as a routing
    /// of this fabric.
    pub(super) fn unguided(
        &self,
        repair: RepairSteps,
        fabric: &Fabric,
        scope: &Scope,
    ) -> Result<PlannedChange, ChangeError> {
        let input = self.input;
        let last = repair.steps.last().map_or(&self.initial.lfts, |last| &last.lfts).clone();
        let plan = self.plan_with(Scheme::Ordered, repair, last, Vec::new(), (input.layers, input.ways.clone()))?;
        let tables = plan.tables_at(plan.waves().len());
        match input.base() {
            Some(base) => base.proof().prove_tables(fabric, tables, scope),
            None => absent::prove_in_force(fabric, tables, scope),
        }
        .map_err(ChangeError::New)?;
        let routed_by = RoutedBy { engine: input.engine.name(), root: None };
        let stranded = self.stranded.clone();
        Ok(PlannedChange { plan, layers: input.layers, function: None, routed_by, stranded })
    }
}
