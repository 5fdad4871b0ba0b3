//! Observers of a run.

use crate::sim::Sim;

/// An observer of the progress of a run.
pub trait Watch {
    /// The load that would be chosen if it did not matter how long the run takes; given before the run begins.
    fn usual_load_is(&mut self, _load: f64) {}

    /// The run begins; this many packet-hops are expected at the chosen load.
    fn begins(&mut self, expected_hops: u64, load: f64);

    /// This many packet-hops are done, and this much simulated time has passed.
    fn passes(&mut self, packet_hops: u64, now_ns: u64);

    /// The change has entered this state of the machine (`state-machines/change.yaml`). No time has passed since, so
    /// `sim` shows what the barrier before it left.
    fn enters(&mut self, _state: &'static str, _sim: &Sim) {}

    /// The run is over.
    fn ends(&mut self);
}

/// Observes nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn begins(&mut self, _expected_hops: u64, _load: f64) {}

    fn passes(&mut self, _packet_hops: u64, _now_ns: u64) {}

    fn ends(&mut self) {}
}
