//! The sending end: sends segments as far as the window reaches, and takes acknowledgements.

use super::{HEADER, RmppPace, RmppStep, TransferFailure, abort, control, segments_for};
use crate::wire::sa::{Rmpp, RmppStatus, RmppType, SA_DATA_SIZE, SaMad};
use std::sync::Arc;

/// The most segments sent beyond the last acknowledged one: far more than receivers' windows allow. A wider window is
/// served too, but each batch waits for a silence.
const MOST_AT_ONCE: u32 = 1024;

/// A message being sent.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The headers of every segment.
    head: SaMad,
    data: Arc<[u8]>,
    segments: u32,
    pace: RmppPace,
    /// Segments 1 to this one are known to have arrived.
    acknowledged: u32,
    /// The last segment sent.
    sent: u32,
    /// The last segment that the receiver accepts.
    window_last: u32,
    /// Silences since the last acknowledgement.
    silences: u32,
    resend_ns: u64,
    deadline_ns: u64,
    ended: bool,
}

impl Sender {
    /// Begins to send `data` under the headers of `head`, and returns the first packets. A message that fits one
    /// segment is one packet, and must be acknowledged too.
    pub fn begin(head: SaMad, data: Arc<[u8]>, pace: RmppPace, now_ns: u64) -> (Sender, Vec<SaMad>) {
        let segments = segments_for(data.len());
        let deadline_ns = now_ns.saturating_add(pace.total_ns);
        let mut sender = Sender {
            head,
            data,
            segments,
            pace,
            acknowledged: 0,
            sent: 0,
            // One segment until the receiver opens the window by its first acknowledgement.
            window_last: 1,
            silences: 0,
            resend_ns: 0,
            deadline_ns,
            ended: false,
        };
        let first = sender.send_on(now_ns);
        (sender, first)
    }

    /// The receiver has repeated its request. If it has acknowledged nothing, the first segment is sent again.
    pub fn begin_again(&mut self, now_ns: u64) -> Vec<SaMad> {
        if self.ended || self.acknowledged > 0 {
            return Vec::new();
        }
        self.sent = 0;
        self.send_on(now_ns)
    }

    /// Length of the message in bytes.
    pub fn bytes(&self) -> usize {
        self.data.len()
    }

    /// When [`Sender::wake`] must be called; `u64::MAX` once ended.
    pub fn due_ns(&self) -> u64 {
        if self.ended { u64::MAX } else { self.resend_ns.min(self.deadline_ns) }
    }

    /// Processes an Ack, Stop or Abort of this transfer. Anything else is ignored.
    pub fn take(&mut self, mad: &SaMad, now_ns: u64) -> RmppStep<()> {
        let rmpp = mad.rmpp;
        match rmpp.kind {
            _ if self.ended => RmppStep::nothing(),
            RmppType::Ack => self.acknowledge(rmpp.segment, rmpp.length, now_ns),
            RmppType::Stop | RmppType::Abort => {
                let (segments, of) = (self.acknowledged, self.segments);
                self.end(Vec::new(), Err(TransferFailure::Ended { segments, of, status: rmpp.status }))
            }
            _ => RmppStep::nothing(),
        }
    }

    /// The time that [`Sender::due_ns`] named has come.
    pub fn wake(&mut self, now_ns: u64) -> RmppStep<()> {
        if now_ns < self.due_ns() {
            return RmppStep::nothing();
        }
        if self.is_unheard() {
            let failure = TransferFailure::Unheard { segments: self.segments };
            return self.end(Vec::new(), Err(failure));
        }
        if now_ns >= self.deadline_ns {
            return self.give_up(RmppStatus::TooLong);
        }
        self.silences += 1;
        if self.silences > self.pace.retries {
            return self.give_up(RmppStatus::TooManyRetries);
        }
        // It is unknown which later segments arrived, so all of them are sent again.
        self.sent = self.acknowledged;
        RmppStep::send(self.send_on(now_ns))
    }

    fn acknowledge(&mut self, segment: u32, window_last: u32, now_ns: u64) -> RmppStep<()> {
        if segment > self.sent {
            return self.give_up(RmppStatus::SegmentTooBig);
        }
        if segment == self.segments {
            self.acknowledged = segment;
            return self.end(Vec::new(), Ok(()));
        }
        if (segment, window_last) <= (self.acknowledged, self.window_last) {
            return RmppStep::nothing(); // a later one overtook it
        }
        if window_last < self.window_last {
            return self.give_up(RmppStatus::WindowTooSmall);
        }
        (self.acknowledged, self.window_last, self.silences) = (segment, window_last, 0);
        RmppStep::send(self.send_on(now_ns))
    }

    /// Sends the segments that the window allows and restarts the timer.
    fn send_on(&mut self, now_ns: u64) -> Vec<SaMad> {
        let most = self.acknowledged.saturating_add(MOST_AT_ONCE);
        let last = self.segments.min(self.window_last).min(most);
        let mads: Vec<SaMad> = (self.sent + 1..=last).map(|number| self.segment(number)).collect();
        self.sent = self.sent.max(last);
        // Such a receiver gets no repetitions, so it is given the time of all retries at once.
        let silences = if self.is_unheard() { u64::from(self.pace.retries) + 1 } else { 1 };
        self.resend_ns = now_ns.saturating_add(self.pace.resend_ns.saturating_mul(silences));
        mads
    }

    /// Returns whether the receiver has not answered yet, so that nothing may be sent to it unrequested.
    fn is_unheard(&self) -> bool {
        !self.pace.unheard && (self.acknowledged, self.window_last) == (0, 1)
    }

    fn segment(&self, number: u32) -> SaMad {
        let start = (number as usize - 1) * SA_DATA_SIZE;
        let part = &self.data[start..self.data.len().min(start + SA_DATA_SIZE)];
        let (first, last) = (number == 1, number == self.segments);
        let length = match (first, last) {
            (true, _) => HEADER * self.segments + self.data.len() as u32,
            (_, true) => HEADER + part.len() as u32,
            _ => 0,
        };
        let rmpp = Rmpp { first, last, segment: number, length, ..Rmpp::of(RmppType::Data) };
        let mut mad = control(&self.head, rmpp);
        mad.data[..part.len()].copy_from_slice(part);
        mad
    }

    fn give_up(&mut self, status: RmppStatus) -> RmppStep<()> {
        let failure = TransferFailure::GaveUp { segments: self.acknowledged, of: self.segments, status };
        self.end(vec![abort(&self.head, status)], Err(failure))
    }

    fn end(&mut self, mads: Vec<SaMad>, end: Result<(), TransferFailure>) -> RmppStep<()> {
        self.ended = true;
        RmppStep { mads, end: Some(end) }
    }
}
