//! The time until the next light sweep: a pure function of what the last sweeps saw.
//!
//! The seed paper's manager polls its switches for changes, and sweeps at a rate "dynamically computed using the subnet
//! sweeping time and an additional factor value" (seed 001, step 1). So here: the base period is
//! [`SweepPolicy::factor`] times the duration of a light sweep, so that sweeping costs the same share of the manager's
//! and the wire's time in a subnet of any size. After a change or a silent switch more changes are likely, and the
//! period drops to the shortest. Each quiet sweep doubles it, until it reaches the base. A subnet that stays quiet
//! stays at the base. Holds: the period is never below [`SweepPolicy::least_ns`] nor above [`SweepPolicy::most_ns`].
//! Deliberately omitted: a clock, and traps: the sweep is for changes that no trap reported.

/// The result of a light sweep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Seen {
    /// No change.
    Quiet,
    /// A switch did not answer; otherwise no change.
    Silence,
    /// A port changed, according to the sweep or a trap.
    Change,
}

/// Limits and factor. Periods run from the end of a sweep to the start of the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SweepPolicy {
    /// The shortest period in nanoseconds; at least 1.
    pub least_ns: u64,
    /// The longest period. `least_ns` prevails if it is greater.
    pub most_ns: u64,
    /// The base period divided by the duration of a sweep: with 99 the manager sweeps a hundredth of the time.
    pub factor: u32,
}

impl Default for SweepPolicy {
    /// From one second to OpenSM's ten; in between, a hundredth of the time goes to sweeping.
    fn default() -> SweepPolicy {
        SweepPolicy { least_ns: 1_000_000_000, most_ns: 10_000_000_000, factor: 99 }
    }
}

impl SweepPolicy {
    /// The period of a quiet subnet whose light sweep takes `sweep_ns`.
    pub fn base_ns(&self, sweep_ns: u64) -> u64 {
        // A period of 0 would sweep without pause, and doubling would leave it at 0.
        let least_ns = self.least_ns.max(1);
        sweep_ns.saturating_mul(u64::from(self.factor)).clamp(least_ns, self.most_ns.max(least_ns))
    }
}

/// The current rate of light sweeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SweepPace {
    policy: SweepPolicy,
    period_ns: u64,
}

impl SweepPace {
    /// The pace before the first sweep: the shortest period, since nothing is known to be quiet.
    pub fn new(policy: SweepPolicy) -> SweepPace {
        SweepPace { policy, period_ns: policy.least_ns.max(1) }
    }

    /// The wait until the next sweep.
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// The pace after a sweep that took `sweep_ns` and saw `seen`. A longer sweep lengthens the base period, but after
    /// a change or silence the period is always the shortest.
    pub fn after(self, seen: Seen, sweep_ns: u64) -> SweepPace {
        let period_ns = match seen {
            // Doubled, not reset to the base: one change is often followed by others.
            Seen::Quiet => self.period_ns.saturating_mul(2).min(self.policy.base_ns(sweep_ns)),
            // A silent switch may have changed too: only its next answer shows.
            Seen::Silence | Seen::Change => self.policy.least_ns.max(1),
        };
        SweepPace { period_ns, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_change_is_followed_by_sweeps_ever_further_apart() {
        let mut pace = SweepPace::new(SweepPolicy::default());
        let mut periods = vec![pace.period_ns() / MS];
        let seen = [Seen::Quiet, Seen::Quiet, Seen::Quiet, Seen::Quiet, Seen::Change, Seen::Quiet, Seen::Silence];
        for seen in seen {
            pace = pace.after(seen, 50 * MS);
            periods.push(pace.period_ns() / MS);
        }
        assert_eq!(periods, [1000, 2000, 4000, 4950, 4950, 1000, 2000, 1000]);
    }

    #[test]
    fn a_hundredth_of_the_time_is_spent_on_sweeps_within_the_limits() {
        let policy = SweepPolicy::default();
        let periods = [0, 1, 20, 100, 102, u64::MAX / MS].map(|sweep_ms| policy.base_ns(sweep_ms * MS) / MS);
        assert_eq!(periods, [1000, 1000, 1980, 9900, 10_000, 10_000]);
    }

    fn policy() -> impl Strategy<Value = SweepPolicy> {
        (0u64..1 << 40, any::<u64>(), any::<u32>()).prop_map(|(least_ns, most_ns, factor)| SweepPolicy {
            least_ns,
            most_ns,
            factor,
        })
    }

    fn seen() -> impl Strategy<Value = Seen> {
        prop_oneof![Just(Seen::Quiet), Just(Seen::Silence), Just(Seen::Change)]
    }

    proptest! {
        #[test]
        fn the_limits_hold(policy in policy(), course in prop::collection::vec((seen(), any::<u64>()), 0..50)) {
            let mut pace = SweepPace::new(policy);
            for (seen, sweep_ns) in course {
                pace = pace.after(seen, sweep_ns);
                let least_ns = policy.least_ns.max(1);
                prop_assert!((least_ns..=policy.most_ns.max(least_ns)).contains(&pace.period_ns()));
            }
        }

        #[test]
        fn unrest_is_met_sooner_than_quiet(policy in policy(), course in prop::collection::vec((seen(), any::<u64>()), 0..50), sweep_ns in any::<u64>()) {
            let pace = course.into_iter().fold(SweepPace::new(policy), |pace, (seen, ns)| pace.after(seen, ns));
            let quiet = pace.after(Seen::Quiet, sweep_ns).period_ns();
            for unrest in [Seen::Silence, Seen::Change] {
                prop_assert!(pace.after(unrest, sweep_ns).period_ns() <= quiet.min(pace.period_ns()));
            }
        }

        #[test]
        fn quiet_leads_back_to_the_base(policy in policy(), sweep_ns in any::<u64>(), before in any::<u64>(), seen in seen()) {
            let mut pace = SweepPace::new(policy).after(Seen::Quiet, before).after(seen, before);
            let base_ns = policy.base_ns(sweep_ns);
            // From the least period p, k doublings reach p·2^k ≥ base: k = ⌈log₂(base / p)⌉. One sweep if the period
            // was above the base and must fall to it.
            let doublings = base_ns.div_ceil(policy.least_ns.max(1)).next_power_of_two().trailing_zeros();
            for _ in 0..doublings.max(1) {
                pace = pace.after(Seen::Quiet, sweep_ns);
            }
            prop_assert_eq!(pace.period_ns(), base_ns);
        }
    }
}
