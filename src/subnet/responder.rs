//! Handles MADs that do not concern the manager itself: other managers' requests, clients of the SA.
//!
//! The manager is one future that mostly waits for something else. So the responder answers at once, from its own
//! knowledge, and states when it must be woken.

use crate::ids::Half;
use crate::transport::Datagram;
use crate::wire::Notice;

/// Answers MADs while the manager does something else.
pub trait Respond {
    /// Processes a MAD that is neither an answer to one of the manager's requests, nor a trap, nor a token's report.
    /// Returns what to send; none if the responder cannot use it either.
    fn take(&mut self, datagram: &Datagram, now_ns: u64) -> Option<Vec<Datagram>>;

    /// Another manager has asked what this one is, along a route that begins beyond the known subnet.
    fn asked_from_beyond(&mut self, now_ns: u64);

    /// Processes a trap that is not a repetition. Returns what to send, for example reports to subscribers.
    fn notice(&mut self, notice: &Notice, now_ns: u64) -> Vec<Datagram>;

    /// The SA answers with this half from now on.
    fn half_moved(&mut self, half: Half);

    /// When [`Respond::wake`] must be called next; `u64::MAX` if nothing waits.
    fn due_ns(&self) -> u64;

    /// Performs what is due. Returns what to send.
    fn wake(&mut self, now_ns: u64) -> Vec<Datagram>;
}
