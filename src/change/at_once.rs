//! A change for a loss that is found, proved and judged in a small part of the time of a whole one: the first wave of a
//! repair, without the full re-route.
//!
//! On a thousand switches most of the time between a loss and the first write goes into what the first write does not
//! need: the full re-route, a count of what scheme `double` would write, and searches for ways to LIDs of switches, and
//! from switches that no host's way crosses any more. On entry: a loss, and what is known of the routing in force. On return: a change of scheme
//! `ordered` with one wave that gives every pair of end ports a way again, judged like any other; none where there is
//! no such wave, or the whole change is as soon prepared. All other rows may stay lost by it. The tables
//! that it leaves are then proved as a routing of the fabric *before* the loss, so that what was the routing of that
//! fabric is so still, and the next change, prepared in full, begins with it and finds the rest. Deliberately omitted: a
//! wave that leaves hosts without a way, and changes of anything but a loss.

use super::{ChangeInput, FREE_ROWS, ONE_WAVE, Outset, PlannedChange, Prepared, refused, repairing};
use crate::plan::Scheme;
use crate::tables::RoutedBy;
use crate::verify::Scope;

/// Why another way is passed over.
const NOT_WEIGHED: &str = "hosts have ways again before it is found and judged";

/// Prepares what reconnects all hosts at once after a loss. None where that is not known to be safe, or would not be much
/// sooner: the base of the input is not of the routing in force, something else than a loss has happened, rows are few, or
/// one wave does not do. The scheme of the input is not read, and its engine is only named.
pub fn prepare_at_once(input: &ChangeInput<'_>) -> Option<Prepared> {
    let base = input.base()?;
    let outset = Outset::of(input).ok()?;
    let is_loss = *outset.whole == *input.before && *outset.surviving == *outset.after;
    if !is_loss || *outset.after == *outset.whole || outset.rows() <= FREE_ROWS {
        return None;
    }
    let (repair, is_partial) = repairing::first_wave(&outset)?;
    let last = repair.steps.last()?.lfts.clone();
    let plan = outset.plan_with(Scheme::Ordered, repair, last, Vec::new(), (input.layers, input.ways.clone())).ok()?;
    let tables = plan.tables_at(plan.waves().len());
    // The first write of what follows must find tables that are proved: of what is left where all rows have ways, and
    // otherwise of the fabric for which the routing in force was made.
    match is_partial {
        true => base.proof().prove_tables(&input.before, tables, &input.scope()),
        false => {
            let scope = Scope { stranded: outset.stranded.clone(), ..input.scope() };
            base.proof().prove_tables(&outset.after, tables, &scope)
        }
    }
    .ok()?;
    let routed_by = RoutedBy { engine: input.engine.name(), root: None };
    let stranded = outset.stranded.clone();
    let change = PlannedChange { plan, layers: input.layers, function: None, routed_by, stranded };
    let double = format!("scheme {}", Scheme::Double);
    change.noted(ONE_WAVE, NOT_WEIGHED).noted(&double, NOT_WEIGHED).vet(Some(base), refused).ok()
}
