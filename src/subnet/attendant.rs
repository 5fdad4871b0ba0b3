//! Who sees to MADs that are none of the manager's own business: other managers' questions, clients of the SA.
//!
//! The manager is one future, and most of the time it waits for something else. So the attendant answers at once, from
//! what it knows, and states when it must be woken.

use crate::ids::Half;
use crate::transport::Datagram;
use crate::wire::Notice;

/// Answers what comes in while the manager does whatever it does.
pub trait Attendant {
    /// Takes a MAD that is neither an answer to one of the manager's requests nor a trap nor a token's report. Returned
    /// is what is to be sent; none where it means nothing to this attendant either.
    fn take(&mut self, datagram: &Datagram, now_ns: u64) -> Option<Vec<Datagram>>;

    /// A trap came in, and is no repetition. Returned is what is to be sent, for example reports to subscribers.
    fn notice(&mut self, notice: &Notice, now_ns: u64) -> Vec<Datagram>;

    /// The SA answers with this half from now on.
    fn half_moved(&mut self, half: Half);

    /// When [`Attendant::wake`] must be called next; `u64::MAX` where nothing waits.
    fn due_ns(&self) -> u64;

    /// The time has come. Returned is what is to be sent.
    fn wake(&mut self, now_ns: u64) -> Vec<Datagram>;
}
