//! Changes by scheme `double` behind a fence, while hosts send on whichever half they like: those that never asked
//! again since a half retired, and those that did.

use super::play::{End, MS, Management, Play, Setting, settings};
use super::proved::{precondition, prepared};
use super::world::{World, worlds};
use super::{Tally, assert_conserved, claim};
use proptest::prelude::*;
use reconfig::driver::DriverError;
use reconfig::machine::{CallOff, Outcome};
use reconfig::plan::{Arming, MovedBy, Observer, Policy, Scheme};
use reconfig::sim::Traffic;
use reconfig::subnet::SourceControl;

/// In every other case strays are many, and on their way for longer than a manager asks: everybody sends to one port,
/// and writes take no time.
fn fenced() -> impl Strategy<Value = Setting> {
    settings(&[Scheme::Double]).prop_map(|setting| {
        let policy = Policy { arming: Arming::Off, sources: MovedBy::Fence, ..setting.policy };
        let sources = SourceControl::Fenced { settle_ns: MS };
        let setting = Setting { policy, sources, both_halves: true, ..setting };
        if setting.seed.is_multiple_of(2) {
            return setting;
        }
        let traffic = Traffic::HotSpot { destination: 0, share: 0.7 };
        let management = Management { service_ns: 1_000, loss: 0.0, delay_ns: 0, window: 128, ..setting.management };
        Setting { traffic, management, buffer_credits: 128, ..setting }
    })
}

fn holds(tally: &Tally, world: &World, setting: &Setting) -> Result<(), TestCaseError> {
    let Some(built) = world.build() else { return Ok(()) };
    match prepared(world, setting, &built) {
        Ok(_) => {}
        Err(error) if precondition(&error).is_some() => return Ok(()),
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    }
    let mut play = Play::begin(world, setting, built);
    let actions = play.switching();
    let outcome = match play.change(world, actions) {
        End::Report(report) => report.outcome,
        End::Deadlock => return Err(TestCaseError::fail(format!("deadlock: {:?}", play.stuck()))),
        End::Error(DriverError::Change(error)) if precondition(&error).is_some() => return Ok(()),
        // A barrier that is not true ends so.
        end => return Err(TestCaseError::fail(format!("{end:?}"))),
    };
    let completed = outcome == Outcome::Completed;
    let packets = play.finish(completed && world.departs());
    prop_assert_eq!(play.stuck(), None);
    assert_conserved(&packets)?;
    // Counters do not balance once a packet is lost, and a fence loses what is sent on a closed half. A round of a
    // flush takes as long as what stands takes to leave: replies pile up in send queues, and a crowd before one port in
    // buffers (W.3).
    let too_long = matches!(&outcome, Outcome::CalledOff(CallOff::Failure(why)) if why.contains("not after"));
    let crowded = setting.replies > 0.0 || matches!(setting.traffic, Traffic::HotSpot { .. });
    let unended = setting.policy.observer == Observer::Conservation || crowded && too_long;
    prop_assert!(completed || unended, "{outcome:?}");
    tally.count(if completed { "completed" } else { "without a verdict" });
    tally.count(setting.policy.observer.name());
    Ok(())
}

#[test]
fn behind_a_fence_no_barrier_is_false_while_hosts_send_on_both_halves() {
    let (tally, cases) =
        claim("fenced changes", 60, (worlds(), fenced()), |tally, (world, setting)| holds(tally, &world, &setting));
    tally.demand("completed", cases, 2);
    for &observer in Observer::ALL {
        tally.demand(observer.name(), cases, 10);
    }
}
