//! The cheapest scheme that is proved: `ordered`, which asks nothing of hosts, or `double`, which always works.

use super::{ChangeError, ChangeInput, Groundwork, PlannedChange, Prepared, refused};
use crate::fabric::PortId;
use crate::plan::{Barrier, Observer, Phase, Plan, Scheme, Wave};
use crate::tables::{Lft, arrivals};
use crate::verify;
use std::sync::Arc;

/// SMPs that a device serves, one after another, in a round of flushes: the order, and a question whether it is done.
const ROUND: u64 = 2;
/// The same while a switch lifetime passes: 1.07 s, as OpenSM programs it, of some 20 µs for an SMP.
const LIFETIME: u64 = 50_000;

/// Prepares the cheapest change that is proved. Scheme `ordered` is taken wherever it is proved, unless something died
/// and its waves wait so long for one another that pairs of a switch and a LID would be without a way for longer, in
/// all, than until the swap of `double`. The scheme of the input is not read.
///
/// # Errors
/// What [`ChangeError`] lists; where each scheme fails for a reason of its own, both reasons.
pub fn prepare_cheapest(input: ChangeInput<'_>) -> Result<Prepared, ChangeError> {
    let ground = Groundwork::of(&input)?;
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
    let (own, other) = (outage(ordered.plan.plan()), outage(&double.plan));
    if other >= own {
        return Ok(ordered);
    }
    let why = format!(
        "it is proved, but its waves wait for one another, and pairs of a host and a LID are without a way for longer: in \
         SMPs served meanwhile, summed over pairs, {own}, by scheme double {other}"
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

/// How long pairs of a switch with hosts and a LID in use have no way, summed over pairs and weighted with the switch's
/// hosts: by the SMPs that are served one after another until the last rewrite or the swap has landed.
fn outage(plan: &Plan) -> u64 {
    let serves = |wave: &Wave| matches!(wave.phase, Phase::Rewrite | Phase::Swap);
    let last = plan.waves().iter().rposition(serves).map_or(0, |last| last + 1);
    let unserved: Vec<u64> = (0..=last).map(|index| unserved(plan, &plan.tables_at(index).lfts)).collect();
    let waits = |wave: &Wave| wave.barriers.iter().map(|barrier| wait(*barrier, plan)).sum::<u64>();
    let lasts = |(index, wave): (usize, &Wave)| {
        // While it waits for its barriers its writes have landed; after the last one nobody waits for them.
        let waited = if index + 1 < last { waits(wave) * unserved[index + 1] } else { 0 };
        plan.cost(wave, 1).expected_ns * unserved[index] + waited
    };
    plan.waves()[..last].iter().enumerate().map(lasts).sum()
}

/// Pairs of a host and a LID that the tables lead nowhere; those that the change cuts off do not count.
fn unserved(plan: &Plan, lfts: &[Arc<Lft>]) -> u64 {
    let fabric = &*plan.draft().surviving;
    let counts = |port: &PortId| !plan.draft().stranded.contains(port) && fabric.peer(*port).is_some();
    let mut hosts = vec![0; fabric.node_count()];
    let homes = fabric.end_ports().filter(counts).filter_map(|port| fabric.neighbour(port));
    homes.for_each(|home| hosts[home.index()] += 1);
    let lids = fabric.end_ports().filter(counts).flat_map(|port| fabric.half_lids(port, plan.old()));
    let lost = |lid| arrivals(fabric, lfts, lid).into_iter().zip(&hosts).filter(|(arrives, _)| !arrives);
    lids.map(|lid| lost(lid).map(|(_, hosts)| hosts).sum::<u64>()).sum()
}

/// SMPs served one after another while a barrier is waited for.
fn wait(barrier: Barrier, plan: &Plan) -> u64 {
    match (barrier, plan.policy().observer) {
        (Barrier::Vacated(rounds), Observer::Lifetime) => u64::from(rounds) * LIFETIME,
        (Barrier::Vacated(rounds), _) => u64::from(rounds) * ROUND,
        // Behind a fence, strays of the spare half have a whole way before them (F.6).
        (Barrier::Flushed(_), Observer::Lifetime) => {
            let draft = plan.draft();
            let way = verify::rounds_to_age(&draft.before, &draft.surviving, plan.tables_at(0));
            (1 + way as u64) * LIFETIME
        }
        (Barrier::Flushed(_), Observer::Token | Observer::Poll | Observer::Conservation) => ROUND,
        (Barrier::Acknowledged | Barrier::SourcesMoved | Barrier::Drained(_), _) => 0,
    }
}
