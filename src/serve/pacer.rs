//! How simulated time is tied to real time.
//!
//! While a MAD is under way in the subnet, simulated time passes as fast as it can be computed, and nothing is owed: a
//! waiting client is answered after as much simulated time as the model says, and as little real time as possible.
//! While none is, simulated time is owed: real time multiplied by the speed. What cannot be computed within a tenth of
//! a second is given up and counted: the simulation falls behind, and says so.

/// Real time whose debt is kept, in nanoseconds; what is older is given up.
const MOST_KEPT_NS: f64 = 1e8;

/// Real time whose debt is paid at least, in nanoseconds.
const LEAST_PAID_NS: f64 = 1e6;

/// Simulated time that is owed, and an account of what was paid.
#[derive(Clone, Debug)]
pub struct Pacer {
    speed: f64,
    owed: f64,
    given_up: f64,
    paced_ns: u64,
    hastened_ns: u64,
    real_ns: u64,
    waited_ns: u64,
}

/// What became of the time so far, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct Times {
    /// Simulated nanoseconds to be passed in a real one while no MAD is under way.
    pub speed: f64,
    /// What was reached of it; none before the first time that was owed.
    pub speed_reached: Option<f64>,
    /// Real time since the start.
    pub real_ns: u64,
    /// Of that, with a MAD under way.
    pub real_under_way_ns: u64,
    /// Simulated time that passed at that speed.
    pub paced_ns: u64,
    /// Simulated time that passed because a MAD was under way.
    pub under_way_ns: u64,
    /// Simulated time that was owed and could not be computed in time.
    pub fallen_behind_ns: u64,
}

impl Pacer {
    /// A pace of `speed` simulated nanoseconds in a real one.
    pub fn new(speed: f64) -> Pacer {
        Pacer { speed, owed: 0.0, given_up: 0.0, paced_ns: 0, hastened_ns: 0, real_ns: 0, waited_ns: 0 }
    }

    /// Real time has passed, with a MAD under way or not.
    pub fn elapse(&mut self, real_ns: u64, under_way: bool) {
        self.real_ns += real_ns;
        if under_way {
            self.waited_ns += real_ns;
            return;
        }
        let most = self.speed * MOST_KEPT_NS;
        self.owed += self.speed * real_ns as f64;
        self.given_up += (self.owed - most).max(0.0);
        self.owed = self.owed.min(most);
    }

    /// Whole simulated nanoseconds that are owed, once it is those of a millisecond: paying less at a time would keep
    /// the processor busy with nothing.
    pub fn due_ns(&self) -> u64 {
        if self.owed >= self.speed * LEAST_PAID_NS { self.owed as u64 } else { 0 }
    }

    /// Simulated time has passed, because it was owed or because a MAD was under way.
    pub fn pass(&mut self, simulated_ns: u64, under_way: bool) {
        if under_way {
            self.hastened_ns += simulated_ns;
        } else {
            self.paced_ns += simulated_ns;
            self.owed = (self.owed - simulated_ns as f64).max(0.0);
        }
    }

    /// The account.
    pub fn times(&self) -> Times {
        let free = self.real_ns - self.waited_ns;
        Times {
            speed: self.speed,
            speed_reached: (self.speed > 0.0 && free > 0).then(|| self.paced_ns as f64 / free as f64),
            real_ns: self.real_ns,
            real_under_way_ns: self.waited_ns,
            paced_ns: self.paced_ns,
            under_way_ns: self.hastened_ns,
            fallen_behind_ns: self.given_up as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_owed_while_no_mad_is_under_way() {
        let mut pace = Pacer::new(0.001);
        pace.elapse(1_000_000, false);
        assert_eq!(pace.due_ns(), 1_000);
        pace.elapse(50_000_000, true);
        assert_eq!(pace.due_ns(), 1_000, "who waits owes nothing");
        pace.pass(40_000, true);
        assert_eq!(pace.due_ns(), 1_000, "and pays nothing");
        pace.pass(1_000, false);
        assert_eq!(pace.due_ns(), 0);
        pace.elapse(999_000, false);
        assert_eq!(pace.due_ns(), 0, "too little to begin");
        let times = pace.times();
        assert_eq!((times.paced_ns, times.under_way_ns, times.real_under_way_ns), (1_000, 40_000, 50_000_000));
        assert_eq!(times.speed_reached, Some(1_000.0 / 1_999_000.0));
    }

    #[test]
    fn a_debt_that_grows_too_old_is_given_up_and_told() {
        let mut pace = Pacer::new(1.0);
        pace.elapse(1_000_000_000, false);
        assert_eq!(pace.due_ns(), 100_000_000);
        assert_eq!(pace.times().fallen_behind_ns, 900_000_000);
        pace.pass(100_000_000, false);
        assert_eq!(pace.times().speed_reached, Some(0.1));
    }

    #[test]
    fn at_speed_zero_time_stands_still_between_mads() {
        let mut pace = Pacer::new(0.0);
        pace.elapse(1_000_000_000, false);
        assert_eq!((pace.due_ns(), pace.times().fallen_behind_ns, pace.times().speed_reached), (0, 0, None));
    }
}
