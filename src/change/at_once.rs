//! A change for a loss that gives hosts ways again by one wave of forwarding entries, and leaves the rest to a second.
//!
//! On a thousand switches most of the time between a loss and the first write goes into what the first write does not
//! need: the full re-route, a count of what scheme `double` would write, and searches for ways to LIDs of switches, and
//! from switches that no host's way crosses any more. [`prepare_at_once`] does without, where all hosts are served so.
//! And where `double` is what gives all of them ways, those whom other entries serve need not wait for it:
//! [`prepare_in_turn`].
//!
//! On entry: a loss, and the routing in force. On return: a change of scheme `ordered` with one wave, judged like any
//! other; none where there is no such wave, or it is not worth a change of its own. Other rows may stay lost by it. The
//! tables that it leaves are then proved as a routing of the fabric *before* the loss, so that what was the routing of
//! that fabric is so still, and the next change, prepared in full, begins with it and finds the rest. Deliberately
//! omitted: several waves, and changes of anything but a loss.

use super::cheapest::cheapest;
use super::repairing::RepairSteps;
use super::{
    ChangeError, ChangeInput, FREE_ROWS, ONE_WAVE, Outset, PlannedChange, Prepared, SenderWays, absent, is_soon_judged,
    refused, repairing, served,
};
use crate::fabric::Fabric;
use crate::plan::{self, Scheme};
use crate::tables::RoutedBy;
use crate::verify::Scope;
use crate::vet::PlanVerdict;

/// Why another way is passed over.
const NOT_WEIGHED: &str = "hosts have ways again before it is found and judged";

/// Prepares what reconnects all hosts at once after a loss. None where that is not known to be safe, or would not be
/// much sooner: the base of the input is not of the routing in force, something else than a loss has happened, rows are
/// few, or one wave does not do. The scheme of the input is not read, and its engine is only named.
pub fn prepare_at_once(input: &ChangeInput<'_>) -> Option<Prepared> {
    at_once(input)
}

/// The same by other judges.
pub(super) fn at_once<V: PlanVerdict>(input: &ChangeInput<'_>) -> Option<Prepared<V>> {
    input.base()?;
    let outset = Outset::of(input).ok()?;
    if outset.rows() <= FREE_ROWS {
        return None;
    }
    let change = outset.first_wave(Serving::AllHosts)?;
    let double = format!("scheme {}", Scheme::Double);
    change.noted(&double, NOT_WEIGHED).noted(ONE_WAVE, NOT_WEIGHED).vet(input.base(), refused).ok()
}

/// Prepares the cheapest change. Where it is of scheme `double` and for a loss, what forwarding entries alone serve
/// comes first, wave by wave, as changes of their own: hosts that they serve do not wait for the rest. What follows the
/// first is prepared with it, but on large fabrics, where that takes long. The scheme of the input is not read.
///
/// # Errors
/// As for [`super::prepare_cheapest`].
pub fn prepare_in_turn(input: ChangeInput<'_>, settle_ns: u64) -> Result<Prepared, ChangeError> {
    in_turn(input, settle_ns)
}

/// The same by other judges.
///
/// # Errors
/// As for [`super::prepare_cheapest`].
pub(super) fn in_turn<V: PlanVerdict>(input: ChangeInput<'_>, settle_ns: u64) -> Result<Prepared<V>, ChangeError> {
    let chosen: Prepared<V> = cheapest(input.clone(), settle_ns)?;
    if chosen.plan.plan().scheme() != Scheme::Double {
        return Ok(chosen);
    }
    let Some(first) = partly(&input) else { return Ok(chosen) };
    // Preparing what follows would delay hosts that can be served now.
    if !is_soon_judged(&input.before) {
        return Ok(first);
    }
    let tables = first.plan.plan().tables_at(first.plan.plan().waves().len()).clone();
    match in_turn(ChangeInput { tables, base: None, ..input }, settle_ns) {
        Ok(then) => Ok(Prepared { then: Some(Box::new(then)), ..first }),
        Err(_) => Ok(chosen),
    }
}

/// Prepares one wave of forwarding entries that gives some pairs of hosts ways again after a loss, whoever it leaves
/// without; none if it would serve no host. The scheme of the input is not read, and its engine is only named.
pub fn prepare_partly(input: &ChangeInput<'_>) -> Option<Prepared> {
    partly(input)
}

fn partly<V: PlanVerdict>(input: &ChangeInput<'_>) -> Option<Prepared<V>> {
    let change = Outset::of(input).ok()?.first_wave(Serving::SomeHosts)?;
    let (pairs, served) = served(&change.plan);
    let why =
        format!("{served} of {pairs} pairs of a host and a LID that have lost their ways need only other entries");
    (served > 0).then(|| change.noted(&format!("scheme {}", Scheme::Double), &why).vet(input.base(), refused).ok())?
}

/// Whom one wave is to give ways again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Serving {
    /// All hosts to all hosts.
    AllHosts,
    /// As many as it can.
    SomeHosts,
}

impl Outset<'_> {
    /// One wave that gives hosts ways again after a loss; none where there is none, or something else has happened.
    fn first_wave(&self, serving: Serving) -> Option<PlannedChange> {
        let input = self.input;
        let is_loss = *self.whole == *input.before && *self.surviving == *self.after && *self.after != *self.whole;
        let (repair, is_partial) = is_loss.then(|| repairing::first_wave(self))??;
        // Planning and proving what is not wanted would take longer than finding it.
        if repair.steps.is_empty() || serving == Serving::AllHosts && repair.leaves_losses {
            return None;
        }
        // The first write of what follows must find tables that are proved: of what is left where all rows have ways,
        // and otherwise of the fabric for which the routing in force was made.
        let (fabric, scope) = match is_partial {
            true => (&input.before, input.scope()),
            false => (&self.after, Scope { stranded: self.stranded.clone(), ..input.scope() }),
        };
        self.unguided(repair, fabric, &scope).ok()
    }

    /// A repair as a change, where nothing is known of a full re-route. Its last tables are proved by themselves, as a
    /// routing of this fabric.
    pub(super) fn unguided(
        &self,
        repair: RepairSteps,
        fabric: &Fabric,
        scope: &Scope,
    ) -> Result<PlannedChange, ChangeError> {
        let input = self.input;
        let last = repair.steps.last().map_or(&self.initial.lfts, |last| &last.lfts).clone();
        let sending = SenderWays { layers: input.layers, ways: input.ways.clone() };
        let plan = plan::plan(Scheme::Ordered, self.plan_input(Scheme::Ordered, repair, last, Vec::new(), sending))?;
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
