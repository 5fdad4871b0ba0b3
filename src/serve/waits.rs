//! Requests that clients wait for, and MADs that are under way.
//!
//! libumad2sim passes no time-out on, so a client would wait forever for an answer that never arrives. So the server
//! keeps it, and gives it back with the status *timed out* when its time is up, as the kernel does. What a device's
//! agent answers is waited for in simulated time; what another client answers (an administration, a manager asked for
//! its SMInfo), in real time.

use super::protocol::SimDatagram;
use crate::wire::MAD_SIZE;
use std::collections::BTreeMap;

/// Simulated time in which any MAD that is not lost gets from one port to another, generously: twenty hops with a
/// packet before it at each.
const FLIGHT_NS: u64 = 50_000;

/// Until when something is waited for, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deadline {
    /// Of simulated time.
    Simulated(u64),
    /// Of real time.
    Real(u64),
}

/// A request that is not answered yet.
struct Wait {
    until: Deadline,
    packet: SimDatagram,
    retries: u32,
}

/// A request whose time is up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expired {
    /// The client that asked.
    pub client: u32,
    /// What.
    pub packet: SimDatagram,
    /// How often it may still be sent again.
    pub retries: u32,
}

/// A MAD on its way.
struct Flight {
    /// When it is surely delivered or lost.
    until: u64,
    /// Bytes of it that mean something, as its sender said.
    length: u64,
}

/// All requests not answered, by client and transaction.
#[derive(Default)]
pub struct Waits {
    open: BTreeMap<(u32, u64), Wait>,
    /// MADs that no agent answers, by transaction.
    flights: BTreeMap<u64, Flight>,
}

impl Waits {
    /// A client waits for the answer to this request, which may be sent again so often.
    pub fn expect(&mut self, client: u32, transaction: u64, packet: SimDatagram, until: Deadline, retries: u32) {
        self.open.insert((client, transaction), Wait { until, packet, retries });
    }

    /// A MAD is under way that no agent answers.
    pub fn fly(&mut self, transaction: u64, length: u64, now_ns: u64) {
        // The loss of a MAD is not reported, so a flight ends by time.
        self.flights.insert(transaction, Flight { until: now_ns + FLIGHT_NS, length });
    }

    /// A client's answer has come. Whether it was waited for.
    pub fn answered(&mut self, client: u32, transaction: u64) -> bool {
        self.open.remove(&(client, transaction)).is_some()
    }

    /// A MAD has come to a port. How many bytes of it mean something; all, where no client sent it.
    pub fn landed(&mut self, transaction: u64) -> u64 {
        self.flights.remove(&transaction).map_or(MAD_SIZE as u64, |flight| flight.length)
    }

    /// A client is gone.
    pub fn forget(&mut self, client: u32) {
        self.open.retain(|&(waiting, _), _| waiting != client);
    }

    /// The simulated time up to which something is under way; none where nothing is.
    pub fn under_way_until(&self, now_ns: u64) -> Option<u64> {
        let simulated = self.open.values().filter_map(|wait| match wait.until {
            Deadline::Simulated(ns) => Some(ns),
            Deadline::Real(_) => None,
        });
        simulated.chain(self.flights.values().map(|flight| flight.until)).max().filter(|&until| until > now_ns)
    }

    /// Takes out the requests whose time is up, and forgets flights that have ended.
    pub fn expire(&mut self, simulated_ns: u64, real_ns: u64) -> Vec<Expired> {
        self.flights.retain(|_, flight| flight.until > simulated_ns);
        // Two clocks: a request runs out on the clock of who answers it, and a server that stands still lets no
        // agent's request run out.
        let over = |wait: &Wait| match wait.until {
            Deadline::Simulated(ns) => ns <= simulated_ns,
            Deadline::Real(ns) => ns <= real_ns,
        };
        let expired = self.open.extract_if(.., |_, wait| over(wait));
        expired.map(|((client, _), wait)| Expired { client, packet: wait.packet, retries: wait.retries }).collect()
    }

    /// How many requests are not answered.
    pub fn open(&self) -> usize {
        self.open.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Lid;

    fn packet() -> SimDatagram {
        let mad = Box::new([0; MAD_SIZE]);
        SimDatagram { dlid: Lid(1), slid: Lid(0), dqp: 0, sqp: 0, status: 0, length: 256, mad }
    }

    #[test]
    fn a_request_is_answered_or_given_back_by_its_own_clock() {
        let mut waits = Waits::default();
        waits.expect(1, 7, packet(), Deadline::Simulated(1_000), 0);
        waits.expect(1, 8, packet(), Deadline::Real(1_000), 0);
        waits.expect(2, 7, packet(), Deadline::Simulated(3_000), 0);
        assert_eq!(waits.under_way_until(0), Some(3_000));
        assert!(waits.expire(999, 999).is_empty());
        assert_eq!(waits.expire(1_000, 0).into_iter().map(|expired| expired.client).collect::<Vec<_>>(), [1]);
        assert!(waits.answered(2, 7));
        assert!(!waits.answered(2, 7), "nobody waits for it any more");
        assert_eq!((waits.under_way_until(1_000), waits.open()), (None, 1), "a person's answer hastens nothing");
        assert_eq!(waits.expire(1_000, 1_000).len(), 1);
    }

    #[test]
    fn what_no_agent_answers_hastens_until_it_has_landed() {
        let mut waits = Waits::default();
        waits.fly(9, 120, 100);
        assert_eq!(waits.under_way_until(100), Some(100 + FLIGHT_NS));
        assert_eq!(waits.landed(9), 120);
        assert_eq!(waits.landed(9), 256, "nobody's");
        assert_eq!(waits.under_way_until(100), None);
        waits.fly(9, 120, 100);
        assert!(waits.expire(100 + FLIGHT_NS, 0).is_empty());
        assert_eq!(waits.under_way_until(0), None, "lost, then");
    }

    #[test]
    fn who_is_gone_waits_for_nothing() {
        let mut waits = Waits::default();
        waits.expect(1, 7, packet(), Deadline::Simulated(1_000), 0);
        waits.forget(1);
        assert_eq!((waits.open(), waits.under_way_until(0)), (0, None));
    }
}
