//! Barriers compared with where packets stand: one that is not true ends the change, whoever lied about what.

use crate::driver::bench::{Bench, MS, bench, drive, light, policy, timing};
use crate::driver::liars::{Liars, Lie};
use reconfig::driver::{Driver, DriverError, Intent};
use reconfig::plan::{Observer, Scheme};
use reconfig::routing::UpDown;
use reconfig::scenario::Witnessed;
use reconfig::sim::{SimConfig, Traffic};
use reconfig::subnet::{Manager, SubnetError, Timing};
use std::sync::Arc;

/// Every host sends to one, as fast as it can, and buffers are large, so that packets wait for long; switches keep them
/// for ever.
fn congested() -> SimConfig {
    let traffic = Traffic::HotSpot { destination: 1, share: 0.9 };
    SimConfig { load: 1.0, buffer_credits: 8_192, traffic, ..light() }
}

/// A lie, and the barrier that it concerns.
struct Case {
    lie: Lie,
    /// Whether devices are honest before the sources move.
    only_after_swap: bool,
    topology: &'static str,
    scheme: Scheme,
    observer: Observer,
    /// What the error says of the barrier.
    barrier: &'static str,
}

/// What a planned removal of the root comes to.
fn with_liars(case: &Case) -> DriverError {
    let policy = policy(case.observer);
    // Where devices are honest at first, the flush by age needs limits that are kept.
    let switch_lifetime_ns = if case.only_after_swap { 4_096 << 8 } else { 0 };
    let config = SimConfig { switch_lifetime_ns, ..congested() };
    let Bench { transport, driver, root, fabric } = bench(case.topology, config, case.scheme, policy);
    let running = driver.running().clone();
    let liars = Liars::new(transport.clone(), case.lie, case.only_after_swap);
    // Soon asked again, so that a token that comes late is asked for.
    let timing = Timing { timeout_ns: MS / 10, ..timing() };
    let mut manager = Manager::new(liars, timing, 0);
    manager.count_from_power_on();
    let intent = Intent {
        engine: Arc::new(UpDown::default()),
        scheme: case.scheme,
        auto: false,
        policy,
        unproved_baselines: true,
    };
    let witnessed = Witnessed::new(transport.clone(), manager, 0);
    let mut driver = Driver::new(witnessed, running, intent);
    transport.with(|sim| sim.run(MS, false));
    let after = Arc::new(fabric.without_nodes(&[root]));
    match drive(&transport, driver.change_to(after), Vec::new()) {
        Err(error) => error,
        Ok(record) => panic!("{:?}, {}: {:?}", case.lie, case.barrier, record.outcome),
    }
}

#[test]
fn every_barrier_that_a_lie_makes_false_is_found_out() {
    let double = |lie, only_after_swap, observer, barrier| Case {
        lie,
        only_after_swap,
        topology: "fat-tree:4,2",
        scheme: Scheme::Double,
        observer,
        barrier,
    };
    let in_place = |lie, observer, barrier| Case { scheme: Scheme::InPlace, ..double(lie, false, observer, barrier) };
    // Its waves wait for one another.
    let ordered = |lie, observer, barrier| Case {
        topology: "mesh:4x4,1",
        scheme: Scheme::Ordered,
        ..double(lie, false, observer, barrier)
    };
    let cases = [
        double(Lie::Flushed, false, Observer::Token, "flush of lanes {2,3}, by token"),
        double(Lie::ShortLives, false, Observer::Lifetime, "flush of lanes {2,3}, by lifetime"),
        double(Lie::Settled, false, Observer::Token, "move of the sources from the lower half"),
        double(Lie::TokensCame, false, Observer::Token, "drain of lanes {0,1}, by token"),
        double(Lie::LanesEmpty, false, Observer::Poll, "drain of lanes {0,1}, by poll"),
        double(Lie::ShortLives, true, Observer::Lifetime, "drain of lanes {0,1}, by lifetime"),
        double(Lie::NothingCounted, false, Observer::Conservation, "drain of lanes {0,1}, by conservation"),
        in_place(Lie::Flushed, Observer::Token, "departure of what leaves, by token"),
        in_place(Lie::ShortLives, Observer::Lifetime, "departure of what leaves, by lifetime"),
        ordered(Lie::Flushed, Observer::Token, "end of all that was sent before, by token"),
        ordered(Lie::ShortLives, Observer::Lifetime, "end of all that was sent before, by lifetime"),
    ];
    let mut unnoticed = Vec::new();
    for case in cases {
        let error = with_liars(&case);
        let text = error.to_string();
        let found = matches!(error, DriverError::Subnet(SubnetError::FalseBarrier { .. }));
        if !(found && text.starts_with(case.barrier)) {
            unnoticed.push(format!("{:?}, {}: {text}", case.lie, case.barrier));
        }
    }
    assert!(unnoticed.is_empty(), "{}", unnoticed.join("\n"));
}
