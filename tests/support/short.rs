//! Runs that are over soon.

use reconfig::scenario::Scenario;

/// The same under a little traffic, for a short while.
pub fn short(scenario: Scenario) -> Scenario {
    Scenario {
        load: Some(0.05),
        warm_up_ns: 20_000,
        before_ns: 50_000,
        after_ns: 50_000,
        barrier_timeout_ns: 20_000_000,
        ..scenario
    }
}
