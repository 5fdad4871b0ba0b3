//! Multi-segment answers being sent to clients. Their number and their bytes are shared by the clients' ports.

use super::agenda::Agenda;
use super::rmpp::{RmppPace, RmppStep, Sender};
use super::{SaEvent, SaLimits};
use crate::ids::{Guid, Lid};
use crate::shares::Shares;
use crate::transport::Datagram;
use crate::wire::sa::SaMad;
use std::sync::Arc;

/// LID, queue pair and transaction ID of the client.
type Client = (Lid, u32, u64);

/// An answer in progress.
#[derive(Clone, Debug)]
struct Answer {
    asked: Datagram,
    /// The port to whose share it belongs.
    port: Guid,
    sender: Sender,
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub(super) struct Transfers {
    pace: RmppPace,
    under_way: Agenda<Client, Answer>,
    room: Shares<Guid>,
    byte_room: Shares<Guid>,
}

impl Transfers {
    pub(super) fn new(limits: &SaLimits) -> Transfers {
        Transfers {
            pace: limits.pace,
            under_way: Agenda::default(),
            room: Shares::new(limits.transfers),
            byte_room: Shares::new(limits.transfer_bytes),
        }
    }

    /// Handles a request that is already being answered: repeats the first segment if it seems lost. A different
    /// request under the same transaction ID ends the former answer, since the client no longer waits for it.
    pub(super) fn repeat(&mut self, asked: &Datagram, tid: u64, now_ns: u64) -> Option<Vec<Datagram>> {
        let client = (asked.lid, asked.qp, tid);
        let mut answer = self.under_way.remove(&client)?;
        if answer.asked != *asked {
            self.over(&answer);
            return None;
        }
        let mads = answer.sender.begin_again(now_ns);
        self.under_way.insert(client, answer.sender.due_ns(), answer);
        Some(addressed(asked, mads))
    }

    /// Begins to send a table as an answer with the headers of `head`, to a client at a port; none if the port has its
    /// share.
    pub(super) fn begin(
        &mut self,
        asked: &Datagram,
        head: SaMad,
        port: Guid,
        data: Vec<u8>,
        now_ns: u64,
    ) -> Option<Vec<Datagram>> {
        if !self.byte_room.has_room(&port, data.len()) || !self.room.take(port, 1) {
            return None;
        }
        assert!(self.byte_room.take(port, data.len()), "it has room");
        let client = (asked.lid, asked.qp, head.tid);
        let (sender, first) = Sender::begin(head, Arc::from(data), self.pace, now_ns);
        self.under_way.insert(client, sender.due_ns(), Answer { asked: asked.clone(), port, sender });
        Some(addressed(asked, first))
    }

    /// Processes an RMPP packet from a client.
    pub(super) fn take(
        &mut self,
        from: &Datagram,
        mad: &SaMad,
        now_ns: u64,
        events: &mut Vec<SaEvent>,
    ) -> Vec<Datagram> {
        let client = (from.lid, from.qp, mad.tid);
        match self.under_way.remove(&client) {
            Some(mut answer) => {
                let step = answer.sender.take(mad, now_ns);
                self.follow(client, answer, step, events)
            }
            None => Vec::new(),
        }
    }

    pub(super) fn due_ns(&self) -> u64 {
        self.under_way.due_ns()
    }

    pub(super) fn wake(&mut self, now_ns: u64, events: &mut Vec<SaEvent>) -> Vec<Datagram> {
        let mut sent = Vec::new();
        while let Some((client, mut answer)) = self.under_way.pop_due(now_ns) {
            let step = answer.sender.wake(now_ns);
            sent.extend(self.follow(client, answer, step, events));
        }
        sent
    }

    fn follow(
        &mut self,
        client: Client,
        answer: Answer,
        step: RmppStep<()>,
        events: &mut Vec<SaEvent>,
    ) -> Vec<Datagram> {
        let sent = addressed(&answer.asked, step.mads);
        match step.end {
            None => self.under_way.insert(client, answer.sender.due_ns(), answer),
            Some(end) => {
                self.over(&answer);
                events.extend(end.err().map(|failure| SaEvent::AnswerFailed { client: client.0, failure }));
            }
        }
        sent
    }

    /// Returns an answer's resources to its port's share.
    fn over(&mut self, answer: &Answer) {
        self.room.give_back(&answer.port, 1);
        self.byte_room.give_back(&answer.port, answer.sender.bytes());
    }
}

fn addressed(asked: &Datagram, mads: Vec<SaMad>) -> Vec<Datagram> {
    mads.into_iter().map(|mad| Datagram { bytes: Box::new(mad.encode()), ..asked.clone() }).collect()
}
