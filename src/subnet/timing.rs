//! Time-outs, retries and windows of the subnet manager.

/// One millisecond in nanoseconds.
const MS: u64 = 1_000_000;

/// Limits of the request engine and of the waits built on it. All times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Time without an answer after which a request is repeated; by default OpenSM's 200 ms.
    pub timeout_ns: u64,
    /// Maximum retransmissions of a request; each time the wait doubles, up to eight times `timeout_ns`.
    pub retries: u32,
    /// Requests outstanding over all devices.
    pub window: usize,
    /// Requests outstanding at one device. An SMA serves one at a time, and more would only queue there.
    pub per_device: usize,
    /// The longest life of an SMP's copy in the subnet; after a repeated `Set`, the next wave waits for it.
    pub smp_lifetime_ns: u64,
    /// The first pause between two readings of a device that is not ready; each further one is twice as long.
    pub poll_first_ns: u64,
    /// The longest pause between two readings.
    pub poll_most_ns: u64,
    /// For drain by polling: time after which a device that answers only once its lanes are empty counts as not empty.
    /// It doubles with each time-out, up to `timeout_ns`. `None`: devices always answer.
    pub poll_silence_ns: Option<u64>,
    /// Time after which a barrier is given up.
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
            poll_silence_ns: None,
            barrier_ns: 60_000 * MS,
            light_sweep_ns: Some(10_000 * MS),
        }
    }
}

impl Timing {
    /// SMPs under way from a manager on standard devices. OpenSM keeps 4; 8 to 16 sweep fastest (docs/SM.md).
    pub const STANDARD_WINDOW: usize = 16;

    /// The wait for an answer after `attempt` earlier transmissions.
    pub(super) fn patience_ns(&self, attempt: u32) -> u64 {
        self.timeout_ns << attempt.min(3)
    }
}
