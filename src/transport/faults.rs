//! [`Faulty`]: a transport that randomly loses, duplicates and delays MADs, to test whether the layers above tolerate
//! it.
//!
//! The probabilities of each direction are given, and faults are drawn from a seed: if the transport below behaves the
//! same in every run, so do the faults. A delayed MAD waits inside, and continues at the first send or receive after
//! its time; the clock is that of the transport below.

use super::{Datagram, Transport, TransportError};
use crate::ids::Lmc;
use async_trait::async_trait;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;
use std::collections::BTreeMap;

/// Faults of one direction: each a probability from 0 to 1, drawn for each MAD in this order.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Chances {
    /// Probability of loss.
    pub lost: f64,
    /// Probability of duplication; either copy may be late.
    pub doubled: f64,
    /// Probability of a delay, uniform up to `late_ns`.
    pub late: f64,
    /// The longest delay, in nanoseconds.
    pub late_ns: u64,
}

/// The fate of the MADs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultCounts {
    /// MADs seen in both directions.
    pub seen: u64,
    /// Lost.
    pub lost: u64,
    /// Doubled.
    pub doubled: u64,
    /// Delayed, copies included.
    pub late: u64,
}

/// A transport with faults.
pub struct Faulty<T> {
    inner: T,
    outgoing: Chances,
    incoming: Chances,
    random: Pcg32,
    counts: FaultCounts,
    /// Waiting MADs, by (time to continue, order of arrival).
    to_send: BTreeMap<(u64, u64), Datagram>,
    to_receive: BTreeMap<(u64, u64), Datagram>,
    next: u64,
}

impl<T: Transport> Faulty<T> {
    /// `inner` with these faults.
    pub fn new(inner: T, outgoing: Chances, incoming: Chances, seed: u64) -> Faulty<T> {
        Faulty {
            inner,
            outgoing,
            incoming,
            random: Pcg32::seed_from_u64(seed),
            counts: FaultCounts::default(),
            to_send: BTreeMap::new(),
            to_receive: BTreeMap::new(),
            next: 0,
        }
    }

    /// The transport below.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// The fate of the MADs so far.
    pub fn counts(&self) -> FaultCounts {
        self.counts
    }

    /// The times at which the copies of one MAD continue: none if it is lost.
    fn fates(&mut self, chances: Chances) -> Vec<u64> {
        let now_ns = self.inner.now_ns();
        self.counts.seen += 1;
        if self.random.random_bool(chances.lost) {
            self.counts.lost += 1;
            return Vec::new();
        }
        let doubled = self.random.random_bool(chances.doubled);
        self.counts.doubled += u64::from(doubled);
        (0..1 + usize::from(doubled))
            .map(|_| {
                if !self.random.random_bool(chances.late) {
                    return now_ns;
                }
                self.counts.late += 1;
                now_ns.saturating_add(self.random.random_range(0..=chances.late_ns))
            })
            .collect()
    }

    fn ticket(&mut self, at_ns: u64) -> (u64, u64) {
        self.next += 1;
        (at_ns, self.next)
    }

    /// Sends MADs whose delay is over.
    async fn send_due(&mut self) -> Result<(), TransportError> {
        while let Some(entry) = self.to_send.first_entry().filter(|entry| entry.key().0 <= self.inner.now_ns()) {
            self.inner.send(entry.remove()).await?;
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl<T: Transport> Transport for Faulty<T> {
    fn answers_to(&mut self, lmc: Lmc) {
        self.inner.answers_to(lmc);
    }

    fn now_ns(&self) -> u64 {
        self.inner.now_ns()
    }

    async fn send(&mut self, datagram: Datagram) -> Result<(), TransportError> {
        for at_ns in self.fates(self.outgoing) {
            let ticket = self.ticket(at_ns);
            self.to_send.insert(ticket, datagram.clone());
        }
        self.send_due().await
    }

    async fn recv(&mut self, until_ns: u64) -> Result<Option<Datagram>, TransportError> {
        loop {
            self.send_due().await?;
            let now_ns = self.inner.now_ns();
            if let Some(entry) = self.to_receive.first_entry().filter(|entry| entry.key().0 <= now_ns) {
                return Ok(Some(entry.remove()));
            }
            let due = [self.to_send.keys().next(), self.to_receive.keys().next()];
            let wake_ns = due.into_iter().flatten().map(|&(at_ns, _)| at_ns).fold(until_ns, u64::min);
            match self.inner.recv(wake_ns).await? {
                Some(datagram) => {
                    for at_ns in self.fates(self.incoming) {
                        let ticket = self.ticket(at_ns);
                        self.to_receive.insert(ticket, datagram.clone());
                    }
                }
                None if self.inner.now_ns() >= until_ns => return Ok(None),
                None => {}
            }
        }
    }
}
