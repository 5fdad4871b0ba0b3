//! Behind a fence, on random fabrics under load: no barrier is false while packets of both halves are under way.

use super::bench::{Bench, MS, TimedAction, at_rest, bench, drive, kill, light, revive, timing};
use crate::support::properties::properties;
use proptest::prelude::*;
use proptest::test_runner::Config;
use reconfig::driver::{ChangeRecord, Driver, DriverError, Intent, Running};
use reconfig::fabric::NodeId;
use reconfig::ids::Half;
use reconfig::machine::Outcome;
use reconfig::plan::{LanePartition, MovedBy, Observer, Policy, Scheme};
use reconfig::routing::UpDown;
use reconfig::scenario::Witnessed;
use reconfig::sim::{SimConfig, SimTransport, Traffic};
use reconfig::subnet::{Manager, SourceControl, Timing};
use std::future::Future;
use std::sync::Arc;

const TOPOLOGIES: [&str; 6] =
    ["random-regular:8,3,2", "random-regular:12,4,1", "ring:7,2", "mesh:4x3,1", "torus:3x3,2", "fat-tree:4,2"];
const SETTLE_NS: u64 = MS / 2;

type Witness = Driver<Witnessed<SimTransport>>;

fn witness(bench: &Bench, policy: Policy) -> Witness {
    let timing = Timing { barrier_ns: 60 * MS, ..timing() };
    let mut manager = Manager::new(bench.transport.clone(), timing, 0);
    manager.move_sources(SourceControl::Fenced { settle_ns: SETTLE_NS });
    let witnessed = Witnessed::new(bench.transport.clone(), manager, 0);
    let intent = Intent::by(Arc::new(UpDown::default()), Scheme::Double, policy);
    // Hosts send on whichever half they like, and the fence is told so.
    let running = Running { both_halves: true, ..bench.driver.running().clone() };
    Driver::new(witnessed, running, intent)
}

/// Puts packets of one half after the other on their way.
fn crowd(transport: &SimTransport, halves: &[Half]) {
    for &half in halves {
        transport.with(|sim| {
            sim.load_half(half);
            sim.run(sim.now_ns() + MS / 10, false)
        });
    }
}

fn came<F>(transport: &SimTransport, future: F, actions: Vec<TimedAction>) -> Result<ChangeRecord, TestCaseError>
where
    F: Future<Output = Result<Option<ChangeRecord>, DriverError>>,
{
    let record = drive(transport, future, actions).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let record = record.ok_or_else(|| TestCaseError::fail("nothing was noticed"))?;
    prop_assert_eq!(&record.outcome, &Outcome::Completed);
    Ok(record)
}

properties! {
    #![proptest_config(Config { cases: 24, max_shrink_iters: 200, ..Config::default() })]

    /// A switch leaves or dies, and comes back: from the lower half to the upper one, and the other way.
    #[test]
    fn barriers_behind_a_fence_are_true(
        topology in prop::sample::select(&TOPOLOGIES[..]), seed in 0u64..1_000, which in 0usize..64,
        sudden in any::<bool>(), observer in prop::sample::select(&[Observer::Lifetime, Observer::Token][..]),
        partition in prop::sample::select(LanePartition::ALL),
        load in prop::sample::select(&[0.1, 0.5, 1.0][..]), share in prop::sample::select(&[0.0, 0.6][..]),
        lifetime_ns in prop::sample::select(&[20_000u64, 100_000][..]),
    ) {
        let policy = Policy { observer, partition, sources: MovedBy::Fence, ..Policy::default() };
        let traffic = Traffic::HotSpot { destination: 1, share };
        let switch_lifetime_ns = if observer == Observer::Lifetime { lifetime_ns } else { 0 };
        let config = SimConfig { seed, load, traffic, switch_lifetime_ns, buffer_credits: 128, replies: 0.0, ..light() };
        let bench = bench(topology, config, Scheme::Double, policy);
        let (transport, fabric) = (bench.transport.clone(), bench.fabric.clone());
        let home = fabric.neighbour(bench.driver.running().sm);
        let switches: Vec<NodeId> = fabric.switches().filter(|&id| Some(id) != home).collect();
        let switch = switches[which % switches.len()];
        let mut driver = witness(&bench, policy);
        crowd(&transport, &[Half::Upper, Half::Lower]);
        let now_ns = || transport.with(|sim| sim.now_ns());
        if sudden {
            let begin_ns = now_ns();
            came(&transport, driver.await_loss(begin_ns + 60 * MS), vec![kill(begin_ns + 1_000, switch)])?;
        } else {
            let after = Arc::new(fabric.without_nodes(&[switch]));
            came(&transport, async { driver.change_to(after).await.map(Some) }, Vec::new())?;
            transport.with(|sim| sim.kill(switch));
        }
        // The lower half stays closed: nothing has made it follow (P5.4).
        crowd(&transport, &[Half::Upper]);
        let begin_ns = now_ns();
        came(&transport, driver.await_growth(begin_ns + 60 * MS), vec![revive(begin_ns + 1_000, switch)])?;
        at_rest(&bench);
    }
}
