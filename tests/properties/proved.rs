//! Every plan of the Double Scheme is proved; what is proved, whatever its scheme, neither deadlocks nor loses a packet
//! to the change.

use super::play::{End, Play, Setting, settings};
use super::world::{Built, OLD, World, worlds};
use super::{Tally, assert_conserved, claim};
use proptest::prelude::*;
use reconfig::change::{ChangeError, ChangeInput, Prepared, prepare_baseline};
use reconfig::check::lint;
use reconfig::driver::DriverError;
use reconfig::lid;
use reconfig::machine::Outcome;
use reconfig::plan::{Arming, Observer, Plan, PlanError, Scheme};
use reconfig::verify::Refusal;

/// The change of a world, planned and judged; nothing is simulated.
pub fn prepared(world: &World, setting: &Setting, built: &Built) -> Result<Prepared, ChangeError> {
    let comes = !std::sync::Arc::ptr_eq(&built.whole, &built.before) && built.whole != built.before;
    let surviving = if comes || world.sudden() { built.after.clone() } else { built.before.clone() };
    prepare_baseline(ChangeInput {
        before: built.before.clone(),
        surviving,
        after: built.after.clone(),
        tables: built.tables.clone(),
        layers: 1,
        ways: None,
        old: OLD,
        both_halves: setting.both_halves,
        engine: &world.new,
        scheme: setting.scheme,
        policy: setting.policy,
        sm: built.sm,
        base: None,
    })
}

/// Why a change was refused that needs no proof to be refused.
pub fn precondition(error: &ChangeError) -> Option<&'static str> {
    match error {
        ChangeError::Plan(PlanError::Uncounted { .. }) => Some("precondition: counters of stranded ports"),
        // Scheme `ordered`: the scheme that always does is another.
        ChangeError::Unrepaired { .. } | ChangeError::NeitherInPlace { .. } | ChangeError::Repair(_) => {
            Some("precondition: entries alone do not do")
        }
        ChangeError::New(_) => Some("precondition: the repaired tables are not proved"),
        ChangeError::Refused { plan, .. } if plan.scheme() == Scheme::Ordered => {
            Some("precondition: the waves are not proved")
        }
        _ => None,
    }
}

#[test]
fn every_double_plan_is_proved() {
    let cases = (worlds(), settings(&[Scheme::Double]));
    let (tally, cases) = claim("double plans", 200, cases, |tally, (world, setting)| {
        let Some(built) = world.build() else {
            tally.count("nothing to change");
            return Ok(());
        };
        match prepared(&world, &setting, &built) {
            Ok(prepared) => {
                prop_assert!(prepared.plan.proof().is_some());
                prop_assert_eq!(lint(prepared.plan.plan()), vec![]);
                tally.count("proved");
            }
            Err(error) => match precondition(&error) {
                Some(why) => tally.count(why),
                None => return Err(TestCaseError::fail(error.to_string())),
            },
        }
        Ok(())
    });
    tally.demand("proved", cases, 2);
    let refused = tally.of("precondition: counters of stranded ports");
    assert!(refused <= cases / 8, "{refused} of {cases} are refused for a precondition");
}

#[test]
fn the_verdict_survives_the_plan_s_file() {
    let cases = (worlds(), settings(Scheme::ALL));
    let (tally, cases) = claim("plans in their files", 120, cases, |tally, (world, setting)| {
        let Some(built) = world.build() else { return Ok(()) };
        let Ok(prepared) = prepared(&world, &setting, &built) else { return Ok(()) };
        let plan = prepared.plan.plan();
        let back = Plan::from_json(&plan.to_json()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(back == *plan, "the file tells another plan");
        let again = reconfig::verify::prove(back).map(|_| ()).map_err(|(_, refusal)| refusal);
        prop_assert_eq!(again.as_ref().err(), prepared.plan.refusal());
        tally.count(if again.is_ok() { "proved" } else { "refused" });
        Ok(())
    });
    tally.demand("proved", cases, 2);
    tally.demand("refused", cases, 40);
}

/// Whether a change lost nothing that it may not lose, and ended as it should.
fn holds(tally: &Tally, world: &World, setting: &Setting) -> Result<(), TestCaseError> {
    let Some(built) = world.build() else { return Ok(()) };
    let refusal = match prepared(world, setting, &built) {
        Ok(prepared) => {
            prop_assert!(!setting.both_halves || keeps_twins(prepared.plan.plan()), "a half lags behind");
            prepared.plan.refusal().cloned()
        }
        Err(error) => match precondition(&error) {
            Some(why) => {
                tally.count(why);
                return Ok(());
            }
            None => return Err(TestCaseError::fail(error.to_string())),
        },
    };
    if let Some(refusal) = refusal {
        tally.count(match refusal {
            Refusal::Deadlock(_) => "refused: a cycle",
            Refusal::Loop(_) => "refused: a loop",
            _ => "refused otherwise",
        });
        return Ok(());
    }

    let mut play = Play::begin(world, setting, built);
    let actions = if setting.both_halves { play.switching() } else { Vec::new() };
    let end = play.change(world, actions);
    let completed = match &end {
        End::Report(report) => report.outcome == Outcome::Completed,
        End::Deadlock => return Err(TestCaseError::fail(format!("a proved plan deadlocks: {:?}", play.stuck()))),
        End::Endless => return Err(TestCaseError::fail("the change does not end")),
        End::Unheard => return Err(TestCaseError::fail("nobody heard of the change")),
        End::Error(DriverError::Change(error)) if precondition(error).is_some() => return Ok(()),
        End::Error(error) => return Err(TestCaseError::fail(error.to_string())),
        End::Killed => unreachable!("nobody kills this manager"),
    };
    let packets = play.finish(completed && world.departs());
    prop_assert_eq!(play.stuck(), None);
    assert_conserved(&packets)?;
    prop_assert_eq!(packets.in_flight, 0, "{:?}", packets);
    judge_loss(tally, world, setting, &play, packets.lost_to_change)?;
    match (&end, completed) {
        (_, true) => tally.count("completed"),
        // What died was sent and never received, so counters cannot balance: the change stands still, safely.
        (End::Report(_), false)
            if setting.policy.observer == Observer::Conservation && packets.injected > packets.delivered =>
        {
            tally.count("stands still for want of a verdict");
        }
        (End::Report(report), false) => return Err(TestCaseError::fail(format!("{:?}", report.outcome))),
        _ => unreachable!("other ends were dealt with"),
    }
    Ok(())
}

fn judge_loss(tally: &Tally, world: &World, setting: &Setting, play: &Play, lost: u64) -> Result<(), TestCaseError> {
    let (_, aged) = play.transport.with(|sim| sim.limits_at_work());
    let stops = setting.scheme == Scheme::Static;
    let discards = setting.scheme == Scheme::Double && setting.policy.arming == Arming::Discard;
    // Tables lead to what comes before its ports are started (claim G.5).
    let starts_late = setting.scheme == Scheme::InPlace && world.grows();
    if stops || discards || starts_late {
        // The scheme's own price, or the specification's (claim A.2).
        tally.count(if lost > 0 { "lost by design" } else { "lost nothing though it might" });
    } else {
        let why = play.transport.with(|sim| format!("{:?}", sim.relay_discards()));
        prop_assert!(
            lost <= aged,
            "{lost} packets are lost to the change, {aged} by age; {why}: {:?}",
            world.happening
        );
        tally.count(if lost > 0 { "lost by age" } else { "lost nothing" });
    }
    Ok(())
}

#[test]
fn what_is_proved_neither_deadlocks_nor_loses_a_packet() {
    let cases =
        (worlds(), settings(&[Scheme::Double, Scheme::Double, Scheme::Ordered, Scheme::Static, Scheme::InPlace]));
    let (tally, cases) =
        claim("proved plans under load", 75, cases, |tally, (world, setting)| holds(tally, &world, &setting));
    tally.demand("completed", cases, 2);
    tally.demand("lost nothing", cases, 4);
}

/// Whether the LIDs of the two halves lead alike whenever a wave has landed, those of the dead included.
fn keeps_twins(plan: &Plan) -> bool {
    let draft = plan.draft();
    let alike = |lfts: &[_]| lid::mirrored(&draft.before, lfts, draft.old) == lfts;
    (0..=plan.waves().len()).all(|moment| alike(&plan.tables_at(moment).lfts))
}

/// Hosts that never asked again since a half retired send on it, others on the half in use.
#[test]
fn what_is_proved_on_both_halves_holds_while_sources_send_on_both() {
    let settings = settings(&[Scheme::Ordered]).prop_map(|setting| Setting { both_halves: true, ..setting });
    let (tally, cases) = claim("proved plans on both halves", 80, (worlds(), settings), |tally, (world, setting)| {
        holds(tally, &world, &setting)
    });
    tally.demand("completed", cases, 3);
    tally.demand("lost nothing", cases, 3);
}
