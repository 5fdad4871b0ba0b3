//! The cheapest scheme that is proved: `ordered`, which asks nothing of hosts, or `double`, which always works.

use super::{ChangeError, ChangeInput, Ground, PlannedChange, Prepared, refused};
use crate::plan::{Barrier, Observer, Phase, Plan, Scheme, Wave};

/// SMPs that a device serves, one after another, in a round of flushes: the order, and a question whether it is done.
const ROUND: u64 = 2;

/// Prepares the cheapest change that is proved. Scheme `ordered` is taken wherever it is proved, unless something died
/// and its waves wait so long for one another that the swap of `double` would reach all sources sooner. The scheme of
/// the input is not read.
///
/// # Errors
/// What [`ChangeError`] lists; where each scheme fails for a reason of its own, both reasons.
pub fn prepare_cheapest(input: ChangeInput<'_>) -> Result<Prepared, ChangeError> {
    let ground = Ground::of(&input)?;
    let planned = ground.planned(Scheme::Ordered);
    let waits = planned.as_ref().is_ok_and(|ordered| has_lost(&ordered.plan) && waits(&ordered.plan));
    let ordered = match planned.and_then(|ordered| ordered.vet(refused)) {
        Ok(ordered) => ordered,
        Err(why) => {
            let note = first_line(&why.to_string());
            let double = ground.planned(Scheme::Double).and_then(|double| noting(double, note).vet(refused));
            return double.map_err(|double| ChangeError::NoScheme { ordered: Box::new(why), double: Box::new(double) });
        }
    };
    if !waits {
        return Ok(ordered);
    }
    // What is proved is not given up for a scheme that is not.
    let Ok(double) = ground.planned(Scheme::Double) else { return Ok(ordered) };
    let (own, other) = (until_served(ordered.plan.plan()), until_served(&double.plan));
    if other >= own {
        return Ok(ordered);
    }
    let why = format!(
        "it is proved, but its waves wait for one another until about {own} SMPs have been served one after another, and \
         the swap of scheme double is made after {other}"
    );
    Ok(noting(double, why).vet(refused).unwrap_or(ordered))
}

/// The change by scheme `double`, with a note on why `ordered` was not taken.
fn noting(double: PlannedChange, why: String) -> PlannedChange {
    PlannedChange { plan: double.plan.note_passed_over(Scheme::Ordered, &why), ..double }
}

/// Whether something died.
fn has_lost(plan: &Plan) -> bool {
    let (before, surviving) = (&plan.draft().before, &plan.draft().surviving);
    before.ports().any(|(port, info)| info.peer.is_some() && surviving.peer(port).is_none())
}

/// Whether a wave waits until what was sent before has left.
fn waits(plan: &Plan) -> bool {
    plan.waves().iter().rev().skip(1).any(|wave| wave.vacating_rounds().is_some())
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
