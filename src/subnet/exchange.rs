//! Requests and their answers: windows, queues, time-outs, retries. Decides, but does no I/O.
//!
//! One [`Exchange`] serves one operation: requests are submitted, [`Exchange::transmit`] returns the next MAD to
//! send, [`Exchange::answer`] and [`Exchange::expire`] return requests that have ended, with their results. Time is
//! an argument. At most `window` requests are outstanding, at most `per_device` of one queue; queues take turns, and
//! each is served in the order of submission. A queue is normally one device; a sweep, which does not know yet which
//! device it asks, has one for each path, and writes that must keep their order share one. A retry keeps its
//! transaction ID, so the first answer counts, whichever copy it belongs to. No transaction ID is used twice, so a
//! later answer matches no request. Where MADs are being lost, a request that has had its tries waits until the
//! others are done, and is then sent again, as often as the observed loss requires.

use super::Timing;
use super::paths::DirectedPath;
use crate::tables::RoundTrip;
use crate::wire::{AttributeId, Method, PERF_DATA_SIZE, PerfAttributeId, SMP_DATA_SIZE, SwitchInfo, status};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

/// A request, and the queue that it waits in.
#[derive(Clone, Debug)]
pub(super) struct MadRequest {
    /// Its queue: a dense number that the caller chooses, for most operations that of the device.
    pub(super) queue: u32,
    /// The caller's tag.
    pub(super) tag: u64,
    pub(super) method: Method,
    pub(super) modifier: u32,
    /// The MAD's class, destination and content.
    pub(super) body: RequestBody,
}

impl MadRequest {
    /// A Get of subnet management.
    pub(super) fn get(queue: u32, tag: u64, path: DirectedPath, attribute: AttributeId, modifier: u32) -> MadRequest {
        let body = RequestBody::Smp { path, attribute, data: Box::new([0; SMP_DATA_SIZE]) };
        MadRequest { queue, tag, method: Method::Get, modifier, body }
    }

    /// Whether it changes what a device does with packets.
    pub(super) fn writes(&self) -> bool {
        let is_word = match &self.body {
            RequestBody::Smp { attribute: AttributeId::SmInfo, .. } => true,
            // Clears the bit by which a switch says that ports have changed, and writes nothing else.
            RequestBody::Smp { attribute: AttributeId::SwitchInfo, data, .. } => {
                SwitchInfo::decode(data).port_state_change
            }
            _ => false,
        };
        self.method == Method::Set && !is_word
    }

    /// Whether it asks for the attribute that another one asks for, in the same way.
    pub(super) fn asks_the_same(&self, other: &MadRequest) -> bool {
        match (&self.body, &other.body) {
            (RequestBody::Smp { attribute: own, .. }, RequestBody::Smp { attribute: other_one, .. }) => {
                own == other_one && self.method == other.method
            }
            _ => false,
        }
    }
}

/// The class-specific part of a request.
#[derive(Clone, Debug)]
pub(super) enum RequestBody {
    /// Subnet management by directed route.
    Smp {
        /// The path to the device.
        path: DirectedPath,
        /// The attribute.
        attribute: AttributeId,
        /// Its data.
        data: Box<[u8; SMP_DATA_SIZE]>,
    },
    /// Performance management, LID routed on a data VL.
    Perf {
        /// The way there and back.
        trip: RoundTrip,
        /// The attribute.
        attribute: PerfAttributeId,
        /// Its data.
        data: Box<[u8; PERF_DATA_SIZE]>,
    },
}

/// An answer as received.
#[derive(Clone, Debug)]
pub(super) struct MadAnswer {
    /// 15 bits of status; 0: success.
    pub(super) status: u16,
    /// The modifier of the answer, for comparison with that of the request.
    pub(super) modifier: u32,
    pub(super) data: MadData,
}

/// The data of an answer, with the attribute it belongs to.
#[derive(Clone, Debug)]
pub(super) enum MadData {
    /// Of subnet management.
    Smp(AttributeId, Box<[u8; SMP_DATA_SIZE]>),
    /// Of performance management.
    Perf(PerfAttributeId, Box<[u8; PERF_DATA_SIZE]>),
}

/// The result of a request.
#[derive(Clone, Debug)]
pub(super) struct Completed {
    pub(super) request: MadRequest,
    /// Number of times it was sent.
    pub(super) sent: u32,
    /// When it was sent last.
    pub(super) last_sent_ns: u64,
    /// The answer; none when the device stayed silent.
    pub(super) answer: Option<MadAnswer>,
}

#[derive(Clone, Debug)]
struct Flight {
    request: MadRequest,
    sent: u32,
    last_sent_ns: u64,
    deadline_ns: u64,
}

/// The unsent requests of one queue, and how many of its requests are under way.
#[derive(Clone, Debug, Default)]
struct QueueState {
    waiting: VecDeque<MadRequest>,
    under_way: usize,
    /// Whether it is in the list of queues that are ready to send.
    listed: bool,
}

/// A request to send now.
#[derive(Debug)]
pub(super) struct Transmission<'a> {
    pub(super) tid: u32,
    pub(super) request: &'a MadRequest,
    /// Whether it is a retry.
    pub(super) again: bool,
}

/// The requests of one operation.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    timing: Timing,
    queues: Vec<QueueState>,
    /// Queues with a request to send and room for it, each once, in turn.
    ready: VecDeque<u32>,
    flights: FxHashMap<u32, Flight>,
    /// (deadline, transaction) of every outstanding request.
    deadlines: BTreeSet<(u64, u32)>,
    /// Transactions to retry.
    again: VecDeque<u32>,
    /// Transactions that have had all their tries while MADs are being lost. They are sent again when all others are
    /// done.
    parked: VecDeque<u32>,
    /// The answers of this operation.
    answered: Answered,
    /// The answers of operations shortly before this one, if they met loss.
    earlier: Answered,
    /// How many times over a request may have its tries while MADs are being lost.
    rounds_under_loss: u32,
    /// Tags of requests that are sent once, unless MADs are being lost.
    once: BTreeSet<u64>,
    /// Whether an event ends its `Set`s too.
    lets_go: bool,
    /// By queue: the queue of the previous device on the way, if that device is asked whenever a request is repeated.
    before: Vec<Option<u32>>,
    /// The request to the manager's own port that goes out with each repeated request, if that port can be asked.
    own: Option<MadRequest>,
}

/// Requests that were answered.
#[derive(Clone, Copy, Default, Debug)]
struct Answered {
    all: usize,
    /// Requests that were answered only when sent again.
    late: usize,
}

/// How long after an operation in which MADs were lost the next ones expect the same.
const LOSSY_NS: u64 = 10_000_000_000;
/// One in this many answers only after a retry means that MADs are being lost.
const LOSS_IS_ONE_IN: usize = 50;

/// How many times over a request has its tries at most while MADs are being lost: with one in five lost on each way,
/// one of ten million requests stays unanswered, instead of one of sixty.
const ROUNDS_UNDER_LOSS: u32 = 4;

/// The share of requests to answering devices that may stay unanswered while MADs are being lost.
const MAY_STAY_UNANSWERED: f64 = 1e-7;

impl Answered {
    /// Beyond so many answers the oldest count for less.
    const MANY: usize = 2_000;

    /// The sum of these answers and later ones.
    fn and(self, later: Answered) -> Answered {
        let (all, late) = (self.all + later.all, self.late + later.late);
        if all > Answered::MANY { Answered { all: all / 2, late: late.div_ceil(2) } } else { Answered { all, late } }
    }

    /// Whether MADs are being lost.
    fn shows_loss(self) -> bool {
        self.late * LOSS_IS_ONE_IN > self.all
    }

    /// The share of requests whose first copy, or its answer, is lost: two standard deviations above what was counted,
    /// for few answers show little.
    fn loss(self) -> f64 {
        let late = self.late as f64;
        (late + 2.0 * late.sqrt() + 2.0) / (self.all.max(1) as f64)
    }

    /// How often a request must be sent so that hardly any that could be answered is not, but not more often than
    /// `most`.
    fn tries(self, most: u32) -> u32 {
        let (loss, mut unanswered, mut tries) = (self.loss(), 1.0, 0);
        while unanswered > MAY_STAY_UNANSWERED && tries < most {
            (unanswered, tries) = (unanswered * loss, tries + 1);
        }
        tries
    }
}

/// A loss of MADs that an operation has met: the next ones expect it, too.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossWatch {
    /// The answers that showed it.
    answered: Answered,
    /// Until when it is expected.
    until_ns: u64,
}

impl LossWatch {
    /// Lets an exchange that begins expect a loss that was met lately.
    pub fn warn(&self, exchange: &mut Exchange, now_ns: u64) {
        if now_ns < self.until_ns {
            exchange.expect_loss(self.answered);
        }
    }

    /// Notes the loss that an exchange has met, if it met any.
    pub fn learn(&mut self, exchange: &Exchange, now_ns: u64) {
        if let Some(answered) = exchange.met_loss() {
            *self = LossWatch { answered, until_ns: now_ns.saturating_add(LOSSY_NS) };
        }
    }
}

impl Exchange {
    /// No request yet.
    pub(super) fn new(timing: Timing) -> Exchange {
        assert!(timing.window > 0 && timing.per_device > 0, "a window of 0 would wait for ever: {timing:?}");
        Exchange {
            timing,
            queues: Vec::new(),
            ready: VecDeque::new(),
            flights: FxHashMap::default(),
            deadlines: BTreeSet::new(),
            again: VecDeque::new(),
            parked: VecDeque::new(),
            answered: Answered::default(),
            earlier: Answered::default(),
            rounds_under_loss: ROUNDS_UNDER_LOSS,
            once: BTreeSet::new(),
            lets_go: false,
            before: Vec::new(),
            own: None,
        }
    }

    /// An exchange for requests whose answers another operation also obtains: none is repeated later.
    pub(super) fn of_one_round(timing: Timing) -> Exchange {
        Exchange { rounds_under_loss: 1, ..Exchange::new(timing) }
    }

    /// An exchange whose `Set`s change nothing that a plan relies on: an event ends it at once, and none is repeated
    /// later.
    pub(super) fn ended_by_event(timing: Timing) -> Exchange {
        Exchange { lets_go: true, ..Exchange::of_one_round(timing) }
    }

    /// Adds a request to its queue.
    pub(super) fn submit(&mut self, request: MadRequest) {
        let queue = request.queue;
        if self.queues.len() <= queue as usize {
            self.queues.resize_with(queue as usize + 1, QueueState::default);
        }
        self.queues[queue as usize].waiting.push_back(request);
        self.list(queue);
    }

    /// Adds a request that went unanswered the last time: it is sent once, unless MADs are being lost.
    pub(super) fn submit_once(&mut self, request: MadRequest) {
        self.once.insert(request.tag);
        self.submit(request);
    }

    /// Has the devices on the way asked, too, whenever a request by directed route goes out again: a link that failed
    /// there shows at its near end at once, and at its far end only when all tries are over. `before` gives, by queue,
    /// that of the last device before on the way; `own` is asked of the manager's own port.
    pub(super) fn ask_on_the_way(&mut self, before: Vec<Option<u32>>, own: Option<MadRequest>) {
        (self.before, self.own) = (before, own);
    }

    fn submit_those_before(&mut self, mut request: MadRequest) {
        while let (Some(&Some(before)), RequestBody::Smp { path, .. }) =
            (self.before.get(request.queue as usize), &mut request.body)
        {
            path.0.pop();
            (request.queue, request.tag) = (before, before.into());
            if !self.has_any_of(before) {
                self.submit(request.clone());
            }
        }
        let own = self.own.clone().filter(|own| !self.has_any_of(own.queue));
        own.into_iter().for_each(|own| self.submit(own));
    }

    /// Whether requests of a queue wait, or are under way.
    fn has_any_of(&self, queue: u32) -> bool {
        let state = self.queues.get(queue as usize);
        state.is_some_and(|state| state.under_way > 0 || !state.waiting.is_empty())
    }

    fn list(&mut self, queue: u32) {
        // At most once in the ring, however many wait: a queue gets no more turns than the others.
        let state = &mut self.queues[queue as usize];
        if !state.listed && !state.waiting.is_empty() && state.under_way < self.timing.per_device {
            state.listed = true;
            self.ready.push_back(queue);
        }
    }

    /// The next request to send now. `next_tid` is the transaction of the next new one, and is incremented.
    pub(super) fn transmit(&mut self, now_ns: u64, next_tid: &mut u32) -> Option<Transmission<'_>> {
        // Retries first: they occupy both windows, and requests behind them cannot go before they are done.
        let tid = match self.again.pop_front() {
            Some(tid) => tid,
            None => match self.start(next_tid) {
                Some(tid) => tid,
                None => self.unpark()?,
            },
        };
        let flight = self.flights.get_mut(&tid).expect("what is to be sent again is still under way");
        flight.last_sent_ns = now_ns;
        flight.deadline_ns = now_ns.saturating_add(self.timing.patience_ns(flight.sent));
        flight.sent += 1;
        self.deadlines.insert((flight.deadline_ns, tid));
        if flight.sent > 1 && !self.before.is_empty() && flight.request.method == Method::Get {
            let repeated = flight.request.clone();
            self.submit_those_before(repeated);
        }
        let flight = &self.flights[&tid];
        Some(Transmission { tid, request: &flight.request, again: flight.sent > 1 })
    }

    fn start(&mut self, next_tid: &mut u32) -> Option<u32> {
        // A silent request keeps its place in the window until it is given up: a subnet that loses MADs must not be
        // sent more of them.
        if self.flights.len() - self.parked.len() >= self.timing.window {
            return None;
        }
        let queue = self.ready.pop_front()?;
        let state = &mut self.queues[queue as usize];
        state.listed = false;
        // Occupied until `land`, retries and their pauses included.
        state.under_way += 1;
        let request = state.waiting.pop_front().expect("only queues with a request are listed");
        self.list(queue);
        let tid = *next_tid;
        *next_tid = next_tid.wrapping_add(1);
        let flight = Flight { request, sent: 0, last_sent_ns: 0, deadline_ns: 0 };
        let earlier = self.flights.insert(tid, flight);
        assert!(earlier.is_none(), "transaction {tid:#x} is still under way after 2^32 others");
        Some(tid)
    }

    /// The first of the parked transactions, once nothing else is under way.
    fn unpark(&mut self) -> Option<u32> {
        if !self.deadlines.is_empty() {
            return None;
        }
        let turn = self.parked.len().min(self.timing.window);
        self.again.extend(self.parked.drain(..turn));
        self.again.pop_front()
    }

    /// The answers of this operation and of those before it, if those of this one show that MADs are being lost.
    fn met_loss(&self) -> Option<Answered> {
        self.answered.shows_loss().then(|| self.earlier.and(self.answered))
    }

    /// Notes that answers of earlier operations showed a loss of MADs.
    fn expect_loss(&mut self, earlier: Answered) {
        self.earlier = earlier;
    }

    /// Whether a request that was sent so often is given up. Where MADs are being lost it has as many tries as the loss
    /// requires, later ones included, and a silent device costs no more time than it must. Requests to other managers
    /// are excepted: a manager that is gone must not hold up every survey, and the next survey asks again.
    fn gives_up_after(&self, flight: &Flight) -> bool {
        let Flight { request, sent, .. } = flight;
        let is_of_manager = matches!(request.body, RequestBody::Smp { attribute: AttributeId::SmInfo, .. })
            && request.method == Method::Get;
        let tries = self.timing.retries + 1;
        let is_lossy = !is_of_manager && (self.earlier.shows_loss() || self.answered.shows_loss());
        if self.once.contains(&request.tag) && !self.earlier.shows_loss() && !self.answered.shows_loss() {
            return true;
        }
        let needed = if is_lossy { self.earlier.and(self.answered).tries(tries * self.rounds_under_loss) } else { 0 };
        *sent >= tries.max(needed)
    }

    /// Takes back the unsent requests of a queue that `picked` names.
    pub(super) fn withdraw(&mut self, queue: u32, picked: impl Fn(&MadRequest) -> bool) -> Vec<MadRequest> {
        let Some(state) = self.queues.get_mut(queue as usize) else { return Vec::new() };
        let (taken, left): (Vec<_>, Vec<_>) = state.waiting.drain(..).partition(picked);
        state.waiting = left.into();
        if state.waiting.is_empty() && std::mem::take(&mut state.listed) {
            self.ready.retain(|&other| other != queue);
        }
        taken
    }

    /// Matches an answer with its request. None if no request waits for it, if it does not fit the request, or if the
    /// device is busy (the request is then repeated).
    pub(super) fn answer(&mut self, tid: u32, answer: MadAnswer) -> Option<Completed> {
        let flight = self.flights.get(&tid)?;
        // A busy device counts as silent: the request is repeated at its deadline, no sooner and no more often.
        if !answer.fits(&flight.request) || answer.status & status::BUSY != 0 {
            return None;
        }
        self.deadlines.remove(&(flight.deadline_ns, tid));
        // It may be queued for a retry. That is rare, and the list is then short.
        self.again.retain(|&other| other != tid);
        self.parked.retain(|&other| other != tid);
        let sent_again = self.flights[&tid].sent > 1;
        self.answered.all += 1;
        self.answered.late += usize::from(sent_again);
        Some(self.land(tid, Some(answer)))
    }

    /// Returns the next request whose last attempt has timed out. Requests with attempts left are queued for a retry.
    /// Call until it returns `None`.
    pub(super) fn expire(&mut self, now_ns: u64) -> Option<Completed> {
        while let Some(&(deadline_ns, tid)) = self.deadlines.first() {
            if deadline_ns > now_ns {
                return None;
            }
            self.deadlines.pop_first();
            // The first transmission is not a retry.
            let sent = self.flights[&tid].sent;
            if self.gives_up_after(&self.flights[&tid]) {
                return Some(self.land(tid, None));
            }
            if sent > self.timing.retries {
                self.parked.push_back(tid);
                continue;
            }
            // Its old deadline is gone, and `transmit` sets the next: until then it cannot expire again.
            self.again.push_back(tid);
        }
        None
    }

    fn land(&mut self, tid: u32, answer: Option<MadAnswer>) -> Completed {
        let Flight { request, sent, last_sent_ns, .. } = self.flights.remove(&tid).expect("it is under way");
        self.queues[request.queue as usize].under_way -= 1;
        self.list(request.queue);
        Completed { request, sent, last_sent_ns, answer }
    }

    /// When [`Exchange::expire`] is due; none if every request has been completed, provided that all that could be sent
    /// was.
    pub(super) fn deadline_ns(&self) -> Option<u64> {
        self.deadlines.first().map(|&(deadline_ns, _)| deadline_ns)
    }

    /// Drops requests that only read, outstanding or not: they change nothing, so there is no need to wait for them.
    pub(super) fn forget_reads(&mut self) {
        self.forget(|request| request.method == Method::Get);
    }

    /// Whether a request has had no answer in its time, and waits for one again.
    pub(super) fn repeats(&self) -> bool {
        self.flights.values().any(|flight| flight.sent > 1)
    }

    /// Drops the requests that an event ends: those that only read, or all of them if the exchange lets go. Returns
    /// when the last outstanding `Set` among them was sent.
    pub(super) fn cut_short(&mut self) -> Option<u64> {
        if !self.lets_go {
            self.forget_reads();
            return None;
        }
        let sets = self.flights.values().filter(|flight| flight.request.method == Method::Set && flight.sent > 0);
        let last_sent_ns = sets.map(|flight| flight.last_sent_ns).max();
        self.forget(|_| true);
        last_sent_ns
    }

    fn forget(&mut self, is_one: impl Fn(&MadRequest) -> bool) {
        for queue in 0..self.queues.len() as u32 {
            self.withdraw(queue, &is_one);
        }
        let mut forgotten: Vec<u32> =
            self.flights.iter().filter(|(_, flight)| is_one(&flight.request)).map(|(&tid, _)| tid).collect();
        forgotten.sort_unstable();
        for tid in forgotten {
            let deadline_ns = self.flights[&tid].deadline_ns;
            self.deadlines.remove(&(deadline_ns, tid));
            self.again.retain(|&other| other != tid);
            self.parked.retain(|&other| other != tid);
            self.land(tid, None);
        }
    }

    /// Drops every unsent request. Outstanding ones run to their end: copies of them are on the wire, and only their
    /// end bounds how long such copies can live (P1.3).
    pub(super) fn abandon(&mut self) {
        self.queues.iter_mut().for_each(|state| state.waiting.clear());
        (self.earlier, self.answered) = Default::default();
        // Unlisted, or a queue that is refilled would never be listed again.
        self.ready.drain(..).for_each(|queue| self.queues[queue as usize].listed = false);
    }
}

impl MadAnswer {
    fn fits(&self, request: &MadRequest) -> bool {
        let same_attribute = match (&self.data, &request.body) {
            (MadData::Smp(answered, _), RequestBody::Smp { attribute, .. }) => answered == attribute,
            (MadData::Perf(answered, _), RequestBody::Perf { attribute, .. }) => answered == attribute,
            _ => false,
        };
        same_attribute && self.modifier == request.modifier
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PortNum;

    fn request(queue: u32, tag: u64) -> MadRequest {
        let attribute = AttributeId::LinearForwardingTable;
        let body = RequestBody::Smp { path: DirectedPath::default(), attribute, data: Box::new([0; SMP_DATA_SIZE]) };
        MadRequest { queue, tag, method: Method::Set, modifier: 0, body }
    }

    fn exchange(window: usize, per_device: usize, requests: &[(u32, u64)]) -> Exchange {
        let timing = Timing { timeout_ns: 100, retries: 1, window, per_device, ..Timing::default() };
        let mut exchange = Exchange::new(timing);
        requests.iter().for_each(|&(queue, tag)| exchange.submit(request(queue, tag)));
        exchange
    }

    /// Tags of what goes out now.
    fn sent(exchange: &mut Exchange, now_ns: u64, tid: &mut u32) -> Vec<u64> {
        std::iter::from_fn(|| exchange.transmit(now_ns, tid).map(|sent| sent.request.tag)).collect()
    }

    fn done() -> MadAnswer {
        let data = MadData::Smp(AttributeId::LinearForwardingTable, Box::new([0; SMP_DATA_SIZE]));
        MadAnswer { status: 0, modifier: 0, data }
    }

    #[test]
    fn queues_take_turns_and_each_is_served_in_order() {
        let mut exchange = exchange(2, 1, &[(0, 1), (0, 2), (0, 3), (7, 4), (9, 5)]);
        let mut tid = 1;
        assert_eq!(sent(&mut exchange, 0, &mut tid), [1, 4]);
        assert_eq!(exchange.answer(1, done()).map(|done| done.request.tag), Some(1));
        assert_eq!(sent(&mut exchange, 0, &mut tid), [5]);
        assert_eq!(exchange.answer(2, done()).map(|done| done.request.tag), Some(4));
        assert_eq!(sent(&mut exchange, 0, &mut tid), [2]);
    }

    #[test]
    fn what_is_silent_is_sent_again_then_given_up() {
        let mut exchange = exchange(1, 1, &[(0, 1), (0, 2)]);
        let mut tid = 1;
        assert_eq!(sent(&mut exchange, 0, &mut tid), [1]);
        assert_eq!(exchange.deadline_ns(), Some(100));
        assert!(exchange.expire(99).is_none());
        assert!(exchange.expire(100).is_none());
        assert_eq!(exchange.transmit(100, &mut tid).map(|sent| (sent.tid, sent.again)), Some((1, true)));
        assert_eq!(exchange.deadline_ns(), Some(300), "twice as patient");
        let lost = exchange.expire(300).expect("one retry was granted");
        assert_eq!((lost.request.tag, lost.sent, lost.answer.is_none()), (1, 2, true));
        assert_eq!(sent(&mut exchange, 300, &mut tid), [2]);
        assert!(exchange.answer(1, done()).is_none(), "too late");
        assert!(exchange.answer(2, done()).is_some());
        assert_eq!(exchange.deadline_ns(), None);
    }

    #[test]
    fn the_less_is_lost_the_fewer_tries_are_needed() {
        let tries = |late, all| Answered { all, late }.tries(16);
        assert!(!Answered { all: 1_000, late: 20 }.shows_loss() && Answered { all: 1_000, late: 21 }.shows_loss());
        // Two MADs in a hundred lost on each way, one in five, and too few answers to decide.
        assert_eq!((tries(40, 1_000), tries(360, 1_000), tries(1, 10)), (6, 16, 16));
        assert_eq!(Answered { all: 1_000, late: 360 }.tries(4), 4);
    }

    #[test]
    fn an_answer_that_comes_just_before_the_retry_spares_it() {
        let mut exchange = exchange(1, 1, &[(0, 1)]);
        let mut tid = 1;
        assert_eq!(sent(&mut exchange, 0, &mut tid), [1]);
        assert!(exchange.expire(100).is_none());
        assert!(exchange.answer(1, done()).is_some());
        assert_eq!(sent(&mut exchange, 100, &mut tid), [0; 0]);
    }

    #[test]
    fn a_retry_has_the_devices_on_the_way_asked_too() {
        let get = |queue: u32, path: &[u8]| {
            let path = path.iter().fold(DirectedPath::default(), |path, &num| path.through(PortNum(num)));
            MadRequest::get(queue, queue.into(), path, AttributeId::SwitchInfo, 0)
        };
        let mut exchange = exchange(4, 1, &[]);
        exchange.ask_on_the_way(vec![None, None, Some(1), Some(2)], Some(get(0, &[])));
        exchange.submit(get(3, &[1, 7, 9]));
        exchange.submit(get(2, &[1, 7]));
        let mut tid = 1;
        assert_eq!(sent(&mut exchange, 0, &mut tid), [3, 2]);
        let answer = MadAnswer { data: MadData::Smp(AttributeId::SwitchInfo, Box::new([0; SMP_DATA_SIZE])), ..done() };
        assert!(exchange.answer(2, answer).is_some());
        assert!(exchange.expire(100).is_none());
        let again: Vec<(u64, String)> = std::iter::from_fn(|| {
            let sent = exchange.transmit(100, &mut tid)?;
            let RequestBody::Smp { path, .. } = &sent.request.body else { panic!("{sent:?}") };
            Some((sent.request.tag, path.to_string()))
        })
        .collect();
        assert_eq!(again, [(3, "0,1,7,9"), (2, "0,1,7"), (1, "0,1"), (0, "0")].map(|(tag, path)| (tag, path.into())));
    }

    #[test]
    fn reads_are_forgotten_wherever_they_are_and_writes_are_seen_to_their_end() {
        let mut exchange = exchange(3, 1, &[(0, 1), (0, 2)]);
        for (queue, tag) in [(4, 3), (5, 4), (5, 5), (6, 6)] {
            exchange.submit(MadRequest { method: Method::Get, ..request(queue, tag) });
        }
        let mut tid = 1;
        assert_eq!(sent(&mut exchange, 0, &mut tid), [1, 3, 4]);
        assert!(exchange.expire(100).is_none());
        exchange.forget_reads();
        assert!(exchange.answer(2, done()).is_none());
        assert_eq!(sent(&mut exchange, 100, &mut tid), [1], "its retry");
        assert!(exchange.answer(1, done()).is_some());
        assert_eq!(sent(&mut exchange, 100, &mut tid), [2]);
        assert!(exchange.answer(4, done()).is_some());
        assert_eq!(exchange.deadline_ns(), None);
    }

    #[test]
    fn what_is_abandoned_stays_unsent_and_the_rest_is_seen_to_its_end() {
        let mut exchange = exchange(1, 1, &[(0, 1), (0, 2), (3, 3)]);
        let mut tid = 1;
        assert_eq!(sent(&mut exchange, 0, &mut tid), [1]);
        exchange.abandon();
        assert!(exchange.answer(1, done()).is_some());
        assert_eq!(sent(&mut exchange, 0, &mut tid), [0; 0]);
        exchange.submit(request(3, 4));
        assert_eq!(sent(&mut exchange, 0, &mut tid), [4]);
    }
}
