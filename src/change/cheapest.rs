//! The cheapest scheme that is proved: `ordered`, which asks nothing of hosts, or `double`, which always works.

use super::{ChangeError, ChangeInput, PlannedChange, Prepared, prepare};
use crate::plan::{Barrier, Observer, Phase, Plan, Scheme, Wave};

/// A scheme that was not taken.
#[derive(Clone, PartialEq, Debug)]
pub struct PassedOver {
    /// The scheme.
    pub scheme: Scheme,
    /// Why.
    pub why: String,
}

/// SMPs that a device serves, one after another, in a round of flushes: the order, and a question whether it is done.
const ROUND: u64 = 2;

/// Prepares the cheapest change that is proved. Scheme `ordered` is taken wherever it is proved, unless something died
/// and its waves wait so long for one another that the swap of `double` would reach all sources sooner. The scheme of
/// the input is not read.
///
/// # Errors
/// What [`ChangeError`] lists, of the scheme tried last.
pub fn prepare_cheapest(input: ChangeInput<'_>) -> Result<Prepared, ChangeError> {
    let ordered = match prepare(ChangeInput { scheme: Scheme::Ordered, ..input.clone() }) {
        Ok(ordered) => ordered,
        Err(why) if why.is_of_every_scheme() => return Err(why),
        Err(why) => return double(input, first_line(&why.to_string())),
    };
    let lost = ordered
        .plan
        .plan()
        .draft()
        .before
        .ports()
        .any(|(port, info)| info.peer.is_some() && ordered.plan.plan().draft().surviving.peer(port).is_none());
    let waits = ordered.plan.plan().waves().iter().rev().skip(1).any(|wave| wave.vacating_rounds().is_some());
    if !lost || !waits {
        return Ok(ordered);
    }
    let own = until_served(ordered.plan.plan());
    let why = |other: u64| {
        format!(
            "it is proved, but its waves wait for one another until about {own} SMPs have been served one after another, \
             and the swap of scheme double is made after {other}"
        )
    };
    match prepare(ChangeInput { scheme: Scheme::Double, ..input.clone() }) {
        Ok(other) if until_served(other.plan.plan()) < own => double(input, why(until_served(other.plan.plan()))),
        // What is proved is not given up for a scheme that is not.
        Ok(_) | Err(_) => Ok(ordered),
    }
}

/// The change by scheme `double`, with a note on why `ordered` was not taken.
fn double(input: ChangeInput<'_>, why: String) -> Result<Prepared, ChangeError> {
    let planned = PlannedChange::of(ChangeInput { scheme: Scheme::Double, ..input })?;
    let passed_over = vec![PassedOver { scheme: Scheme::Ordered, why }];
    planned.after(passed_over).vet(|plan, refusal| Err(ChangeError::Refused { plan: Box::new(plan), refusal }))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_string()
}

/// SMPs that are served one after another until every source has its way again: after the last rewrite, or the swap.
fn until_served(plan: &Plan) -> u64 {
    let serves = |wave: &Wave| matches!(wave.phase, Phase::Rewrite | Phase::Swap);
    let last = plan.waves().iter().rposition(serves).unwrap_or(0);
    let observer = plan.policy().observer;
    let waits = |wave: &Wave| wave.barriers.iter().map(|barrier| rounds(*barrier, observer)).sum::<u64>() * ROUND;
    let before: u64 = plan.waves()[..last].iter().map(waits).sum();
    plan.waves()[..=last].iter().map(|wave| plan.cost(wave, 1).expected_ns).sum::<u64>() + before
}

/// Rounds in which every device takes part, or lifetimes.
fn rounds(barrier: Barrier, observer: Observer) -> u64 {
    match (barrier, observer) {
        (Barrier::Vacated(rounds), _) => u64::from(rounds),
        (Barrier::Flushed(_), Observer::Lifetime) => 2,
        (Barrier::Flushed(_), Observer::Token | Observer::Poll | Observer::Conservation) => 1,
        (Barrier::Acknowledged | Barrier::SourcesMoved | Barrier::Drained(_), _) => 0,
    }
}
