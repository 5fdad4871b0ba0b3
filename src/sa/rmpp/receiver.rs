//! The receiving end: takes segments in any order and repeatedly, and sends acknowledgements.

use super::{HEADER, RmppPace, RmppStep, TransferFailure, abort, control};
use crate::wire::sa::{Rmpp, RmppStatus, RmppType, SA_DATA_SIZE, SaMad};
use std::collections::BTreeMap;

/// A complete message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RmppMessage {
    /// Its first segment: headers and attribute.
    pub head: SaMad,
    /// All its data.
    pub data: Vec<u8>,
}

/// A message being received.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The first packet seen; its headers are copied into replies.
    head: SaMad,
    pace: RmppPace,
    /// Segments 1 to this one have arrived.
    arrived: u32,
    /// Their data.
    data: Vec<u8>,
    /// Segments that arrived out of order.
    early: BTreeMap<u32, SaMad>,
    /// The length in the first segment: bytes after the RMPP header; 0 if the sender gave none.
    promised: u32,
    /// The last segment that is accepted.
    window_last: u32,
    /// Whether the message is complete or has failed.
    complete: bool,
    failed: bool,
    deadline_ns: u64,
}

impl Receiver {
    /// Waits for the message that `mad` is a segment of; pass `mad` to [`Receiver::take`] as well.
    pub fn begin(mad: &SaMad, pace: RmppPace, now_ns: u64) -> Receiver {
        Receiver {
            head: mad.clone(),
            pace,
            arrived: 0,
            data: Vec::new(),
            early: BTreeMap::new(),
            promised: 0,
            window_last: pace.window.max(1),
            complete: false,
            failed: false,
            deadline_ns: now_ns.saturating_add(pace.total_ns),
        }
    }

    /// When [`Receiver::wake`] must be called; `u64::MAX` after a failure.
    pub fn due_ns(&self) -> u64 {
        if self.failed { u64::MAX } else { self.deadline_ns }
    }

    /// Returns whether the transfer can be forgotten: failed, or remembered long enough.
    pub fn is_over(&self, now_ns: u64) -> bool {
        self.failed || self.complete && now_ns >= self.deadline_ns
    }

    /// Processes a packet of this transfer.
    pub fn take(&mut self, mad: &SaMad, now_ns: u64) -> RmppStep<RmppMessage> {
        let rmpp = mad.rmpp;
        match rmpp.kind {
            _ if self.failed => RmppStep::nothing(),
            _ if rmpp.version != Rmpp::VERSION => self.give_up(RmppStatus::UnsupportedVersion),
            RmppType::Data => self.segment(mad, now_ns),
            RmppType::Stop | RmppType::Abort if !self.complete => {
                let failure = TransferFailure::Ended { segments: self.arrived, of: 0, status: rmpp.status };
                self.fail(Vec::new(), failure)
            }
            RmppType::Stop | RmppType::Abort => RmppStep::nothing(),
            _ => self.give_up(RmppStatus::BadType),
        }
    }

    /// The time that [`Receiver::due_ns`] named has come.
    pub fn wake(&mut self, now_ns: u64) -> RmppStep<RmppMessage> {
        if self.complete || self.failed || now_ns < self.deadline_ns {
            return RmppStep::nothing();
        }
        self.give_up(RmppStatus::TooLong)
    }

    fn segment(&mut self, mad: &SaMad, now_ns: u64) -> RmppStep<RmppMessage> {
        let number = mad.rmpp.segment;
        if mad.rmpp.first != (number == 1) {
            return self.give_up(RmppStatus::InconsistentFirst);
        }
        // A repetition: its acknowledgement was lost, or the sender went back. The sender continues once it is
        // acknowledged again.
        if self.complete || number <= self.arrived || number > self.window_last {
            return RmppStep::send(vec![self.acknowledgement()]);
        }
        if number as usize * SA_DATA_SIZE > self.pace.most_bytes {
            return self.stop();
        }
        self.early.insert(number, mad.clone());
        let mut filled = false;
        while let Some(next) = self.early.remove(&(self.arrived + 1)) {
            match self.append(&next) {
                Err(status) => return self.give_up(status),
                Ok(true) => return self.finish(now_ns),
                // The first segment is acknowledged at once, to open the window; later ones when the window is full.
                Ok(false) => filled |= self.arrived == self.window_last || self.arrived == 1,
            }
        }
        if filled {
            self.window_last = self.arrived.saturating_add(self.pace.window.max(1));
            return RmppStep::send(vec![self.acknowledgement()]);
        }
        RmppStep::nothing()
    }

    /// Appends the next segment; true for the last.
    fn append(&mut self, mad: &SaMad) -> Result<bool, RmppStatus> {
        self.arrived += 1;
        if self.arrived == 1 {
            (self.head, self.promised) = (mad.clone(), mad.rmpp.length);
        }
        if !mad.rmpp.last {
            self.data.extend_from_slice(&mad.data);
            return Ok(false);
        }
        let own = mad.rmpp.length.checked_sub(HEADER).filter(|&bytes| bytes <= SA_DATA_SIZE as u32);
        let own = own.ok_or(RmppStatus::InconsistentLast)?;
        self.data.extend_from_slice(&mad.data[..own as usize]);
        let whole = u64::from(HEADER) * u64::from(self.arrived) + self.data.len() as u64;
        // The length in the first segment includes one class header for each segment.
        if self.promised != 0 && u64::from(self.promised) != whole {
            return Err(RmppStatus::InconsistentLast);
        }
        Ok(true)
    }

    fn finish(&mut self, now_ns: u64) -> RmppStep<RmppMessage> {
        self.complete = true;
        self.early.clear();
        // Remembered until then, to acknowledge repetitions.
        self.deadline_ns = now_ns.saturating_add(self.pace.total_ns);
        let message = RmppMessage { head: self.head.clone(), data: std::mem::take(&mut self.data) };
        RmppStep { mads: vec![self.acknowledgement()], end: Some(Ok(message)) }
    }

    /// Acknowledges all segments up to the last that arrived in order; the window does not move.
    fn acknowledgement(&self) -> SaMad {
        let rmpp = Rmpp { segment: self.arrived, length: self.window_last, ..Rmpp::of(RmppType::Ack) };
        self.back(rmpp)
    }

    /// A packet to the sender. Its method is the response to that of the segments, as in the Linux kernel.
    fn back(&self, rmpp: Rmpp) -> SaMad {
        let method = (u8::from(self.head.method) ^ 0x80).into();
        SaMad { method, ..control(&self.head, rmpp) }
    }

    fn stop(&mut self) -> RmppStep<RmppMessage> {
        let status = RmppStatus::ResourcesExhausted;
        let stop = self.back(Rmpp { status, ..Rmpp::of(RmppType::Stop) });
        self.fail(vec![stop], TransferFailure::GaveUp { segments: self.arrived, of: 0, status })
    }

    fn give_up(&mut self, status: RmppStatus) -> RmppStep<RmppMessage> {
        if self.complete {
            return RmppStep::nothing();
        }
        let mad = self.back(abort(&self.head, status).rmpp);
        self.fail(vec![mad], TransferFailure::GaveUp { segments: self.arrived, of: 0, status })
    }

    fn fail(&mut self, mads: Vec<SaMad>, failure: TransferFailure) -> RmppStep<RmppMessage> {
        self.failed = true;
        self.early.clear();
        RmppStep { mads, end: Some(Err(failure)) }
    }
}
