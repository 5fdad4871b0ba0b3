//! Observers of a run.

use crate::sim::Sim;

/// An observer of the progress of a run.
pub trait Watch {
    /// The run begins, and is expected to take so many packet-hops at the load decided on.
    fn begins(&mut self, expected_hops: u64, load: f64);

    /// So many packet-hops are done; this much simulated time has passed.
    fn passes(&mut self, packet_hops: u64, now_ns: u64);

    /// The change has come to this state of the machine (`state-machines/change.yaml`); no time has passed since, so that
    /// `sim` shows what the barrier before it left.
    fn enters(&mut self, _state: &'static str, _sim: &Sim) {}

    /// The run is over.
    fn ends(&mut self);
}

/// Nobody looks on.
#[derive(Clone, Copy, Default, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn begins(&mut self, _expected_hops: u64, _load: f64) {}

    fn passes(&mut self, _packet_hops: u64, _now_ns: u64) {}

    fn ends(&mut self) {}
}
