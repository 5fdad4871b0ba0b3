//! Answers of several segments on their way to clients.

use super::agenda::Agenda;
use super::rmpp::{Sender, Step};
use super::{Datagram, Limits, SaEvent};
use crate::ids::{Lid, Sl};
use crate::wire::sa::SaMad;
use std::sync::Arc;

/// Who asked: LID, queue pair and transaction.
type Client = (Lid, u32, u64);

/// See the head of this file.
#[derive(Clone, Debug, Default)]
pub(super) struct Transfers {
    under_way: Agenda<Client, (Sl, Sender)>,
    /// Bytes of all of them.
    bytes: usize,
}

impl Transfers {
    /// Whether this very request is being answered already.
    pub(super) fn answers(&self, asked: &Datagram, tid: u64) -> bool {
        self.under_way.contains(&(asked.lid, asked.qp, tid))
    }

    /// Whether one more answer of so many bytes would be too much.
    pub(super) fn is_full(&self, bytes: usize, limits: &Limits) -> bool {
        self.under_way.len() >= limits.transfers || self.bytes.saturating_add(bytes) > limits.transfer_bytes
    }

    /// Begins to send a table as the answer with the headers of `head`.
    pub(super) fn begin(
        &mut self,
        asked: &Datagram,
        head: SaMad,
        data: Vec<u8>,
        limits: &Limits,
        now_ns: u64,
    ) -> Vec<Datagram> {
        let client = (asked.lid, asked.qp, head.tid);
        self.bytes += data.len();
        let (sender, first) = Sender::begin(head, Arc::from(data), limits.pace, now_ns);
        self.under_way.insert(client, sender.due_ns(), (asked.sl, sender));
        addressed(client, asked.sl, first)
    }

    /// A packet of the protocol came from a client.
    pub(super) fn take(
        &mut self,
        from: &Datagram,
        mad: &SaMad,
        now_ns: u64,
        events: &mut Vec<SaEvent>,
    ) -> Vec<Datagram> {
        let client = (from.lid, from.qp, mad.tid);
        match self.under_way.remove(&client) {
            Some((sl, mut sender)) => {
                let step = sender.take(mad, now_ns);
                self.follow(client, sl, sender, step, events)
            }
            None => Vec::new(),
        }
    }

    pub(super) fn due_ns(&self) -> u64 {
        self.under_way.due_ns()
    }

    pub(super) fn wake(&mut self, now_ns: u64, events: &mut Vec<SaEvent>) -> Vec<Datagram> {
        let mut sent = Vec::new();
        while let Some((client, (sl, mut sender))) = self.under_way.pop_due(now_ns) {
            let step = sender.wake(now_ns);
            sent.extend(self.follow(client, sl, sender, step, events));
        }
        sent
    }

    fn follow(
        &mut self,
        client: Client,
        sl: Sl,
        sender: Sender,
        step: Step<()>,
        events: &mut Vec<SaEvent>,
    ) -> Vec<Datagram> {
        match step.end {
            None => self.under_way.insert(client, sender.due_ns(), (sl, sender)),
            Some(end) => {
                self.bytes -= sender.bytes();
                events.extend(end.err().map(|failure| SaEvent::AnswerFailed { client: client.0, failure }));
            }
        }
        addressed(client, sl, step.mads)
    }
}

fn addressed((lid, qp, _): Client, sl: Sl, mads: Vec<SaMad>) -> Vec<Datagram> {
    mads.into_iter().map(|mad| Datagram { lid, qp, sl, bytes: Box::new(mad.encode()) }).collect()
}
