//! How long the subnet manager waits, how often it asks again, and how much it has under way at once.

/// One millisecond in nanoseconds.
const MS: u64 = 1_000_000;

/// Limits of the request engine and of the waits built on it. All times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// How long an answer may take before the request is sent again. OpenSM's 200 ms by default.
    pub timeout_ns: u64,
    /// How often a request is sent again; each time the wait doubles, up to eight times `timeout_ns`.
    pub retries: u32,
    /// Requests under way over all devices.
    pub window: usize,
    /// Requests under way to one device. An SMA serves one at a time, and more would only queue there.
    pub per_device: usize,
    /// The longest that a copy of an SMP can live in the subnet; waited for after a `Set` that was sent twice, before
    /// the next wave begins.
    pub smp_lifetime_ns: u64,
    /// The first pause between two readings of a device that is not ready; each further one is twice as long.
    pub poll_first_ns: u64,
    /// The longest pause between two readings.
    pub poll_most_ns: u64,
    /// How long a barrier may take before the wait for it is given up.
    pub barrier_ns: u64,
    /// The period of the light sweep, which looks for changes that no trap reported; none turns it off.
    pub light_sweep_ns: Option<u64>,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            timeout_ns: 200 * MS,
            retries: 3,
            window: 128,
            per_device: 1,
            smp_lifetime_ns: 1_000 * MS,
            poll_first_ns: 20_000,
            poll_most_ns: 10 * MS,
            barrier_ns: 60_000 * MS,
            light_sweep_ns: Some(10_000 * MS),
        }
    }
}

impl Timing {
    /// The wait for an answer to the transmission after `attempt` others.
    pub(super) fn patience_ns(&self, attempt: u32) -> u64 {
        self.timeout_ns << attempt.min(3)
    }
}
