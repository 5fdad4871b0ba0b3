//! [`Manager`]: the subnet manager over one port. Runs exchanges, dispatches incoming MADs, keeps counts.

use super::adaptive::AdaptiveKinds;
use super::apply::OnFailure;
use super::error::status_meaning;
use super::events::{OWN_PORT_NS, Traps};
use super::exchange::{Completed, Exchange, LossWatch, MadAnswer, MadData, MadRequest, RequestBody, Transmission};
use super::fence::{Fence, FenceState};
use super::health::Health;
use super::held_keys::HeldKeys;
use super::missing::MissingDevices;
use super::paths::{DirectedPath, DirectedPaths};
use super::port_changes::{Freshness, PortChanges};
use super::register::AskedClients;
use super::responder::Respond;
use super::silence::SilentPlaces;
use super::sweep::{AskedPlace, ClearedBits, Sweep};
use super::zero::CounterZero;
use super::{
    Applied, Discovered, Glance, Leaving, RequestTarget, Retiring, SmpCounts, SubnetError, SubnetEvent, SubnetManager,
    Timing, WriteOrder,
};
use crate::drain::{Drained, Flushed, Observer, SourcesMoved, Ticket, Vacated};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Guid, Half, Lid, PortName, PortNum, ReservedLevel, Sl, VlSet};
use crate::tables::{RoundTrip, Write};
use crate::transport::{Datagram, Transport};
use crate::wire::vendor::DrainToken;
use crate::wire::{self, AttributeId, Method, NodeInfo, PerfMad, PortInfo, Route, Smp, SwitchInfo};
use async_trait::async_trait;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

/// A manager that stood still for longer than this may have been given up. A standby waits for its master for four
/// polls of four tries each, which takes twelve seconds at least.
pub const AWAY_NS: u64 = 8_000_000_000;
/// The longest wait at a time.
const WAIT_SLICE_NS: u64 = 1_000_000_000;

/// How sources are moved from one half to the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SourceControl {
    /// The vendor attribute ActiveHalf notifies each end port, and each reports when it has moved (docs/WIRE.md).
    #[default]
    ByAgent,
    /// Only with what every InfiniBand device supports. ClientReregister makes clients query the SA again. After
    /// `settle_ns` the end ports' SL-to-VL tables map the SLs of the half that is left to VL 15, and packets still sent
    /// there are discarded at their source (section 7.6.6). So nothing enters on that half, whether its sender has
    /// moved or not. From the first wave to the swap the spare half is closed in the same way. A fence only removes
    /// packets, so what was proved without it holds with it.
    Fenced {
        /// Nanoseconds that clients have to query again.
        settle_ns: u64,
    },
}

impl SourceControl {
    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            SourceControl::ByAgent => "told",
            SourceControl::Fenced { .. } => "fence",
        }
    }

    /// Nanoseconds that clients have to query again; none if agents notify sources.
    pub fn settle_ns(self) -> Option<u64> {
        match self {
            SourceControl::ByAgent => None,
            SourceControl::Fenced { settle_ns } => Some(settle_ns),
        }
    }
}

/// A subnet manager that uses one port.
pub struct Manager<T> {
    pub(super) transport: T,
    pub(super) timing: Timing,
    m_key: u64,
    pub(super) topology: Option<KnownTopology>,
    pub(super) port_changes: PortChanges,
    next_tid: u32,
    pub(super) counts: SmpCounts,
    pub(super) events: VecDeque<SubnetEvent>,
    pub(super) traps: Traps,
    /// Unprocessed reports of drain tokens, with the sender's LID and the port that they name.
    pub(super) token_reports: Vec<TokenReport>,
    /// The last PortInfo of each port.
    pub(super) port_infos: BTreeMap<PortName, PortInfo>,
    /// The P_Key tables of ports.
    pub(super) held_keys: HeldKeys,
    /// The last NodeInfo and SwitchInfo of each device, by its GUID.
    pub(super) node_infos: BTreeMap<Guid, (NodeInfo, Option<SwitchInfo>)>,
    /// Until when a copy of a repeated `Set` may be in flight.
    pub(super) quiet_at_ns: u64,
    /// The half that the SA answers with and the SM itself sends on.
    pub(super) sa_half: Half,
    pub(super) next_light_sweep_ns: Option<u64>,
    pub(super) responder: Option<Rc<RefCell<dyn Respond>>>,
    pub(super) sources: SourceControl,
    pub(super) light_sweep_took_ns: Option<u64>,
    /// When the manager's own port is read next.
    pub(super) own_port_due_ns: u64,
    /// If sources are fenced: what end ports discard.
    pub(super) fence: FenceState,
    /// Which end ports were asked to register again.
    pub(super) asked_clients: AskedClients,
    /// Until when a copy of a `Set` of a multicast table may be in flight.
    pub(super) multicast_copies_until_ns: u64,
    /// The service level that is of neither half, and its lane.
    pub(super) reserved: Option<ReservedLevel>,
    /// Switches of the longest way of the routing in force, once it is known.
    pub(super) longest_way: Option<u32>,
    /// The switches that packets may be in while a plan runs; all before there was one.
    pub(super) ways_through: Option<BTreeSet<NodeId>>,
    /// From where counters of data count.
    pub(super) zero: CounterZero,
    /// Which kinds of switches report whether they choose outputs by themselves.
    pub(super) adaptive: AdaptiveKinds,
    /// Requests that went unanswered the last time they were made alongside other work.
    pub(super) silent: SilentPlaces,
    /// The failures of devices.
    pub(super) health: Health,
    /// Devices from which sweeps had no answer, behind links that are up.
    pub(super) missing: MissingDevices,
    standstill: Standstill,
    /// Requests of the last sweep that went unanswered.
    unanswered: BTreeSet<AskedPlace>,
    loss: LossWatch,
    /// How long requests are served at a time during long work, in nanoseconds; `None` where work takes no time.
    pub(super) serving_ns: Option<u64>,
}

/// Whether this process stood still, as when it is stopped, for longer than another manager may have waited for it.
#[derive(Debug, Default)]
struct Standstill {
    /// Whether it did since the last look.
    is_noticed: bool,
    /// When it last ended a wait: then it ran. `None` before the first.
    served_ns: Option<u64>,
}

impl Standstill {
    /// A wait begins: the time since the last one may have been a stop.
    fn begin_wait(&mut self, now_ns: u64) {
        let away_ns = self.served_ns.map_or(0, |served_ns| now_ns.saturating_sub(served_ns));
        self.was_away_for(away_ns);
    }

    /// A wait ended that was to end at `due_ns` at the latest: the time beyond was a stop.
    fn end_wait(&mut self, due_ns: u64, back_ns: u64) {
        self.was_away_for(back_ns.saturating_sub(due_ns));
        self.served_ns = Some(back_ns);
    }

    fn was_away_for(&mut self, away_ns: u64) {
        if away_ns >= AWAY_NS && !std::mem::replace(&mut self.is_noticed, true) {
            let seconds = away_ns as f64 / 1e9;
            tracing::warn!(seconds, "this manager stood still: it asks who is master, and reads the subnet again");
        }
    }
}

/// The known fabric, and the paths through it.
#[derive(Debug)]
pub(super) struct KnownTopology {
    pub(super) fabric: Fabric,
    pub(super) paths: DirectedPaths,
    /// The SM's own port.
    pub(super) sm: PortId,
}

impl KnownTopology {
    pub(super) fn path_to(&self, target: RequestTarget) -> Option<DirectedPath> {
        match target {
            RequestTarget::Node(node) => self.paths.to_node(&self.fabric, node),
            RequestTarget::Port(port) => self.paths.to_port(&self.fabric, port),
        }
    }
}

/// The devices that a sweep found, known or not, with the paths through them.
#[derive(Debug)]
pub struct SweptTopology(KnownTopology);

impl SweptTopology {
    /// The subnet as found.
    pub fn new(found: &Discovered) -> SweptTopology {
        let (fabric, sm) = (found.fabric.clone(), found.sm_port);
        SweptTopology(KnownTopology { paths: DirectedPaths::new(&fabric, sm), fabric, sm })
    }
}

/// The report of a device that a drain token has arrived at a leaf.
#[derive(Clone, Debug)]
pub(super) struct TokenReport {
    /// The sender's LID.
    pub(super) lid: Lid,
    /// The attribute modifier: the port at which the token arrived.
    pub(super) port: PortNum,
    pub(super) token: DrainToken,
}

impl<T: Transport> Manager<T> {
    /// A manager that knows no fabric yet. `m_key` goes into every SMP; 0 if the subnet has none.
    pub fn new(transport: T, timing: Timing, m_key: u64) -> Manager<T> {
        let next_light_sweep_ns = timing.light_sweep_ns.map(|period| transport.now_ns().saturating_add(period));
        // A bring-up reads the port first anyway.
        let own_port_due_ns = transport.now_ns().saturating_add(OWN_PORT_NS);
        Manager {
            transport,
            timing,
            m_key,
            topology: None,
            next_tid: 1,
            counts: SmpCounts::default(),
            events: VecDeque::new(),
            traps: Traps::default(),
            token_reports: Vec::new(),
            port_infos: BTreeMap::new(),
            held_keys: HeldKeys::default(),
            node_infos: BTreeMap::new(),
            quiet_at_ns: 0,
            sa_half: Half::default(),
            next_light_sweep_ns,
            responder: None,
            sources: SourceControl::default(),
            light_sweep_took_ns: None,
            own_port_due_ns,
            fence: FenceState::default(),
            asked_clients: AskedClients::default(),
            multicast_copies_until_ns: 0,
            reserved: None,
            longest_way: None,
            ways_through: None,
            zero: CounterZero::default(),
            port_changes: PortChanges::new(),
            adaptive: AdaptiveKinds::default(),
            silent: SilentPlaces::default(),
            health: Health::default(),
            missing: MissingDevices::default(),
            standstill: Standstill::default(),
            unanswered: BTreeSet::new(),
            loss: LossWatch::default(),
            serving_ns: None,
        }
    }

    /// A manager whose first known fabric counts as the result of a sweep: it was taken from the subnet itself.
    #[must_use]
    pub fn swept(mut self) -> Manager<T> {
        self.port_changes.end_look(Freshness::New);
        self
    }

    /// Sweeps write nothing from now on, until a mastership begins: clearing port-change bits is left to the subnet's
    /// master.
    pub fn only_look(&mut self) {
        self.port_changes.clear(ClearedBits::None);
        self.standstill.is_noticed = false;
    }

    /// Whether this process stood still, for longer than another manager may have waited for it, since
    /// [`Manager::only_look`]. Until the next look it writes nothing.
    pub fn stood_still(&self) -> bool {
        self.standstill.is_noticed
    }

    pub(super) fn clear_bits(&mut self) {
        self.port_changes.clear(ClearedBits::All);
    }

    /// From now on these switches are this manager's: it clears their port-change bits, and no others. A switch that
    /// comes may have come with a manager of its own, which would hear of nothing if another cleared its bit.
    pub fn take_in(&mut self, fabric: &Fabric) {
        let switches = fabric.switches().map(|switch| fabric.node(switch)).filter(|node| node.present);
        self.port_changes.clear(ClearedBits::Of(switches.map(|node| node.guid).collect()));
    }

    /// Whether the port-change bit of a switch is cleared where it is found set.
    pub(super) fn clears_bit_of(&self, fabric: &Fabric, switch: NodeId) -> bool {
        self.port_changes.clears(fabric.node(switch).guid)
    }

    /// Sets how sources are moved.
    pub fn move_sources(&mut self, sources: SourceControl) {
        self.sources = sources;
    }

    /// How sources are moved.
    pub fn source_control(&self) -> SourceControl {
        self.sources
    }

    /// Sets the responder for MADs that do not concern the manager.
    pub fn respond_by(&mut self, responder: Rc<RefCell<dyn Respond>>) {
        self.responder = Some(responder);
    }

    /// The transport of its port.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// The transport of its port, mutable, for use between operations.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// The part of the known fabric that is present; none before the first sweep.
    pub fn present(&self) -> Option<&Fabric> {
        self.topology.as_ref().map(|known| &known.fabric)
    }

    pub(super) fn topology(&self, attempted: &'static str) -> Result<&KnownTopology, SubnetError> {
        self.topology.as_ref().ok_or(SubnetError::NoTopology { attempted })
    }

    /// Runs an exchange to its end. `on` receives every completed request, answered or not, and may submit more.
    pub(super) async fn run(
        &mut self,
        exchange: &mut Exchange,
        on: impl FnMut(&mut Exchange, Completed),
    ) -> Result<(), SubnetError> {
        self.run_until(exchange, on, |_, _| false).await
    }

    /// Runs an exchange to its end, but drops requests that only read as soon as `is_settled`, and all of an exchange
    /// that lets go.
    pub(super) async fn run_until(
        &mut self,
        exchange: &mut Exchange,
        mut on: impl FnMut(&mut Exchange, Completed),
        is_settled: impl Fn(&Manager<T>, &Exchange) -> bool,
    ) -> Result<(), SubnetError> {
        let settle = |manager: &mut Manager<T>, exchange: &mut Exchange| {
            if is_settled(manager, exchange)
                && let Some(last_sent_ns) = exchange.cut_short()
            {
                let quiet_at_ns = last_sent_ns.saturating_add(manager.timing.smp_lifetime_ns);
                manager.quiet_at_ns = manager.quiet_at_ns.max(quiet_at_ns);
            }
        };
        self.loss.warn(exchange, self.transport.now_ns());
        let mut has_waited = false;
        loop {
            // Expired requests make room in the window, so they are handled before the next is sent.
            while let Some(done) = exchange.expire(self.transport.now_ns()) {
                self.note_repeats(&done);
                on(exchange, done);
            }
            self.send_due(exchange).await?;
            if std::mem::take(&mut has_waited) {
                settle(self, exchange);
            }
            let Some(deadline_ns) = exchange.deadline_ns() else {
                self.loss.learn(exchange, self.transport.now_ns());
                return Ok(());
            };
            let Some(datagram) = self.receive(deadline_ns).await? else {
                has_waited = true;
                continue;
            };
            let answer = self.dispatch(datagram).await?;
            settle(self, exchange);
            let Some((tid, answer)) = answer else { continue };
            match exchange.answer(tid, answer) {
                Some(done) => {
                    self.note_repeats(&done);
                    on(exchange, done);
                }
                // A second copy was answered, or the answer came after the request was given up.
                None => self.counts.late += 1,
            }
        }
    }

    async fn send_due(&mut self, exchange: &mut Exchange) -> Result<(), SubnetError> {
        while let Some(sent) = exchange.transmit(self.transport.now_ns(), &mut self.next_tid) {
            let Transmission { tid, request, again } = sent;
            // Another manager may be master by now. Clearing port-change bits, and SMInfo between managers, change no
            // tables.
            if self.standstill.is_noticed && request.writes() {
                return Err(SubnetError::StoodStill);
            }
            let datagram = datagram_of(request, tid, self.m_key);
            match &request.body {
                RequestBody::Smp { attribute, .. } => self.counts.count(*attribute, request.method),
                RequestBody::Perf { .. } => self.counts.perf += 1,
            }
            self.counts.retries += u64::from(again);
            self.transport.send(datagram).await?;
        }
        Ok(())
    }

    /// A `Set` that was repeated or never answered may have a copy in flight for an SMP's lifetime (P1.3).
    fn note_repeats(&mut self, done: &Completed) {
        if done.request.method == Method::Set && (done.sent > 1 || done.answer.is_none()) {
            let gone_ns = done.last_sent_ns.saturating_add(self.timing.smp_lifetime_ns);
            self.quiet_at_ns = self.quiet_at_ns.max(gone_ns);
        }
    }

    /// Waits until no copy of a `Set` can be in flight (P1.3). Returns the nanoseconds that this took.
    pub(super) async fn await_quiet(&mut self) -> Result<u64, SubnetError> {
        let begin_ns = self.transport.now_ns();
        self.wait_until(self.quiet_at_ns).await?;
        Ok(self.transport.now_ns() - begin_ns)
    }

    /// Waits, and handles incoming MADs.
    pub(super) async fn wait_until(&mut self, until_ns: u64) -> Result<(), SubnetError> {
        while self.transport.now_ns() < until_ns {
            if let Some(datagram) = self.receive(until_ns).await? {
                let answer = self.dispatch(datagram).await?;
                self.counts.late += u64::from(answer.is_some());
            }
        }
        Ok(())
    }

    /// The next MAD, or `None` once that time is reached; wakes the responder whenever it is due.
    pub(super) async fn receive(&mut self, until_ns: u64) -> Result<Option<Datagram>, SubnetError> {
        loop {
            let due_ns = self.responder.as_ref().map_or(u64::MAX, |responder| responder.borrow().due_ns());
            let now_ns = self.transport.now_ns();
            if now_ns >= due_ns {
                self.tell_responder(|responder| responder.wake(now_ns)).await?;
                continue;
            }
            if let Some(datagram) = self.recv(until_ns.min(due_ns)).await? {
                return Ok(Some(datagram));
            }
            if self.transport.now_ns() >= until_ns {
                return Ok(None);
            }
        }
    }

    /// The next MAD until then. If control returns much later than that, the process was stopped. Long waits are made
    /// in slices: within a wait of 20 s, a stop of 20 s would not show. A long pause between two waits is taken for a
    /// stop too, unless this manager computes between them; a manager that serves pending requests does not do so for
    /// long.
    pub(super) async fn recv(&mut self, until_ns: u64) -> Result<Option<Datagram>, SubnetError> {
        loop {
            let now_ns = self.transport.now_ns();
            if self.serving_ns.is_some() {
                self.standstill.begin_wait(now_ns);
            }
            let slice_ns = until_ns.min(now_ns.saturating_add(WAIT_SLICE_NS));
            let received = self.transport.recv(slice_ns).await?;
            let back_ns = self.transport.now_ns();
            self.standstill.end_wait(slice_ns.max(now_ns), back_ns);
            if received.is_some() || self.transport.now_ns() >= until_ns {
                return Ok(received);
            }
        }
    }

    /// Trades the known fabric for another view of the subnet, or back: for questions to devices that are not known
    /// yet. Indices are those of the view in place. Does nothing before a fabric is known.
    pub fn trade_topology(&mut self, other: &mut SweptTopology) {
        let Some(own) = &mut self.topology else { return };
        std::mem::swap(own, &mut other.0);
        self.port_changes.rename(|node| own.fabric.by_guid(other.0.fabric.node(node).guid));
    }

    /// Calls the responder and sends what it returns.
    pub(super) async fn tell_responder(
        &mut self,
        call: impl FnOnce(&mut dyn Respond) -> Vec<Datagram>,
    ) -> Result<(), SubnetError> {
        let wanted = self.responder.as_ref().map(|responder| call(&mut *responder.borrow_mut()));
        for datagram in wanted.unwrap_or_default() {
            self.counts.attended += 1;
            self.transport.send(datagram).await?;
        }
        Ok(())
    }

    /// Passes a MAD that is not for the manager to the responder, and counts it if the responder ignores it.
    async fn pass_on(&mut self, datagram: &Datagram) -> Result<(), SubnetError> {
        let now_ns = self.transport.now_ns();
        if self.is_asked_from_beyond(datagram) {
            self.responder.iter().for_each(|responder| responder.borrow_mut().asked_from_beyond(now_ns));
        }
        let wanted = self.responder.as_ref().and_then(|responder| responder.borrow_mut().take(datagram, now_ns));
        match wanted {
            Some(wanted) => self.tell_responder(|_| wanted).await,
            None => {
                self.counts.unknown += 1;
                Ok(())
            }
        }
    }

    /// Whether a datagram asks for this manager's SMInfo along a route that begins beyond the known fabric. No switch
    /// need have told this manager of the cable that it came over.
    fn is_asked_from_beyond(&self, datagram: &Datagram) -> bool {
        let asked = Smp::decode(&datagram.bytes).ok();
        let asked = asked.filter(|smp| (smp.method, smp.attribute) == (Method::Get, AttributeId::SmInfo));
        let Some(Route::Directed(route)) = asked.map(|smp| smp.route) else { return false };
        let back: Vec<PortNum> = route.path_back().collect();
        self.topology.is_some() && self.at_end_of(&back).is_none()
    }

    /// Dispatches an incoming MAD. Returns transaction and answer if it answers a request.
    pub(super) async fn dispatch(&mut self, datagram: Datagram) -> Result<Option<(u32, MadAnswer)>, SubnetError> {
        if wire::class_of(&datagram.bytes) == wire::class::PERFORMANCE {
            let mad = PerfMad::decode(&datagram.bytes).ok().filter(|mad| mad.method == Method::GetResp);
            let Some(mad) = mad else {
                self.pass_on(&datagram).await?;
                return Ok(None);
            };
            let data = MadData::Perf(mad.attribute, Box::new(mad.data));
            return Ok(Some((mad.tid as u32, MadAnswer { status: mad.status, modifier: mad.modifier, data })));
        }
        // Transactions are compared by their low 32 bits: the others identify the kernel's agent (docs/WIRE.md).
        let Ok(smp) = Smp::decode(&datagram.bytes) else {
            self.pass_on(&datagram).await?;
            return Ok(None);
        };
        match (smp.method, smp.attribute) {
            (Method::GetResp, attribute) => {
                let data = MadData::Smp(attribute, Box::new(smp.data));
                return Ok(Some((smp.tid as u32, MadAnswer { status: smp.status, modifier: smp.modifier, data })));
            }
            (Method::Trap, AttributeId::Notice) => self.on_trap(&datagram, &smp).await?,
            (Method::Report, AttributeId::DrainToken) => {
                self.send_smp(&smp.response(smp.data), datagram.lid).await?;
                let token = DrainToken::decode(&smp.data);
                self.token_reports.push(TokenReport { lid: datagram.lid, port: PortNum(smp.modifier as u8), token });
            }
            _ => self.pass_on(&datagram).await?,
        }
        Ok(None)
    }

    /// Sends one SMP to which no answer is expected.
    pub(super) async fn send_smp(&mut self, smp: &Smp, lid: Lid) -> Result<(), SubnetError> {
        self.counts.count(smp.attribute, smp.method);
        let bytes = Box::new(smp.encode());
        self.transport.send(Datagram { lid, from: None, qp: 0, sl: Sl::default(), bytes }).await?;
        Ok(())
    }

    /// Sends many requests at once. Returns the answers in the order of the requests.
    ///
    /// # Errors
    /// A device stayed silent or refused. All requests are completed first.
    pub(super) async fn ask_all(&mut self, requests: Vec<MadRequest>) -> Result<Vec<MadAnswer>, SubnetError> {
        self.ask_while(requests, |_, _| true).await
    }

    /// As [`Manager::ask_all`], before anything is written: a silent device is not waited for once the subnet has
    /// reported a change, which may be that this device died.
    ///
    /// # Errors
    /// Those of [`Manager::ask_all`], and such a change.
    pub(super) async fn ask_all_or_change(&mut self, requests: Vec<MadRequest>) -> Result<Vec<MadAnswer>, SubnetError> {
        self.ask_while(requests, |manager, exchange| manager.events.is_empty() || !exchange.repeats()).await
    }

    async fn ask_while(
        &mut self,
        requests: Vec<MadRequest>,
        goes_on: impl Fn(&Manager<T>, &Exchange) -> bool,
    ) -> Result<Vec<MadAnswer>, SubnetError> {
        let mut exchange = Exchange::new(self.timing);
        let mut answers: Vec<Option<MadAnswer>> = vec![None; requests.len()];
        let mut failure = None;
        for (tag, request) in requests.into_iter().enumerate() {
            exchange.submit(MadRequest { tag: tag as u64, ..request });
        }
        let on = |_: &mut Exchange, done: Completed| {
            let tag = done.request.tag as usize;
            match answered_or_failed(done) {
                Ok((_, answer)) => answers[tag] = Some(answer),
                Err(failed) => failure = Some(failed),
            }
        };
        self.run_until(&mut exchange, on, |manager, exchange| !goes_on(manager, exchange)).await?;
        match failure {
            Some(failed) => Err(self.explain(failed)),
            None => answers.into_iter().collect::<Option<_>>().ok_or(SubnetError::Changed),
        }
    }

    /// A failed request in words.
    pub(super) fn explain(&self, failed: Failed) -> SubnetError {
        let attempted = self.describe(&failed.request);
        match failed.status {
            Some(status) => SubnetError::Refused { attempted, status, meaning: status_meaning(status) },
            None => {
                let waited_ns: u64 = (0..failed.sent).map(|attempt| self.timing.patience_ns(attempt)).sum();
                SubnetError::Silent { attempted, sent: failed.sent, waited_ms: waited_ns / 1_000_000 }
            }
        }
    }

    /// `Set LinearForwardingTable (modifier 0x3) at path 0,1,7 (leaf-1)`, for messages.
    pub(super) fn describe(&self, request: &MadRequest) -> String {
        let (attribute, place) = match &request.body {
            RequestBody::Smp { path, attribute, .. } => {
                let name = self.at_end_of(path.hops()).map_or_else(String::new, |name| format!(" ({name})"));
                (format!("{attribute:?}"), format!("path {path}{name}"))
            }
            RequestBody::Perf { trip: RoundTrip { to, from, sl }, attribute, .. } => {
                (format!("{attribute:?}"), format!("LID {to} from LID {from} on SL {sl}"))
            }
        };
        format!("{:?} {attribute} (modifier {:#x}) at {place}", request.method, request.modifier)
    }

    /// The device to which a path leads through the known fabric.
    fn at_end_of(&self, hops: &[PortNum]) -> Option<String> {
        let KnownTopology { fabric, sm, .. } = self.topology.as_ref()?;
        let own = fabric.port(*sm).node;
        let node = hops.iter().try_fold(own, |node, &hop| fabric.neighbour(fabric.port_at(node, hop)?))?;
        Some(fabric.describe_node(node))
    }
}

/// A request that failed.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    pub(super) request: MadRequest,
    pub(super) sent: u32,
    /// The status of the refusal; none if there was no answer.
    pub(super) status: Option<u16>,
}

/// A request with its answer, if the answer reports success.
pub(super) fn answered_or_failed(done: Completed) -> Result<(MadRequest, MadAnswer), Failed> {
    match done.answer {
        Some(answer) if answer.status == 0 => Ok((done.request, answer)),
        answer => Err(Failed { request: done.request, sent: done.sent, status: answer.map(|answer| answer.status) }),
    }
}

fn datagram_of(request: &MadRequest, tid: u32, m_key: u64) -> Datagram {
    let tid = u64::from(tid);
    let (method, modifier) = (request.method, request.modifier);
    match &request.body {
        RequestBody::Smp { path, attribute, data } => {
            let smp = Smp::directed(path.hops(), method, *attribute, modifier, **data);
            let smp = smp.expect("paths are built with 63 hops at most").with_tid(tid);
            let smp = Smp { m_key, ..smp };
            Datagram { lid: Lid::PERMISSIVE, from: None, qp: 0, sl: Sl::default(), bytes: Box::new(smp.encode()) }
        }
        RequestBody::Perf { trip: RoundTrip { to, from, sl }, attribute, data } => {
            let mad = PerfMad { method, status: 0, tid, attribute: *attribute, modifier, data: **data };
            Datagram { lid: *to, from: Some(*from), qp: 1, sl: *sl, bytes: Box::new(mad.encode()) }
        }
    }
}

#[async_trait(?Send)]
impl<T: Transport> SubnetManager for Manager<T> {
    async fn rest_until(&mut self, until_ns: u64) -> Result<(), SubnetError> {
        self.wait_until(until_ns).await
    }

    fn now_ns(&self) -> u64 {
        self.transport.now_ns()
    }

    fn smps(&self) -> &SmpCounts {
        &self.counts
    }

    fn set_topology(&mut self, fabric: &Fabric, sm_port: PortId) {
        let paths = DirectedPaths::new(fabric, sm_port);
        self.forget_counters_without(fabric);
        let out = self.health.left_out();
        if !out.is_empty() && self.topology.as_ref().is_some_and(|known| has_lost_cable(&known.fabric, fabric, &out)) {
            self.health.hurry_retrials(self.transport.now_ns());
        }
        if let Some(known) = &self.topology {
            self.port_changes.rename(|node| fabric.by_guid(known.fabric.node(node).guid));
        }
        self.topology = Some(KnownTopology { fabric: fabric.clone(), paths, sm: sm_port });
        self.port_changes.follow();
    }

    fn reserve(&mut self, level: Option<ReservedLevel>) {
        self.reserved = level;
    }

    fn set_fence(&mut self, fence: &Fence) {
        self.adopt_fence(fence);
    }

    async fn discover(&mut self) -> Result<Discovered, SubnetError> {
        let found = self.find(false).await?;
        Ok(found.expect("only a sweep that an event may end ends before its time"))
    }

    async fn discover_until_event(&mut self) -> Result<Option<Discovered>, SubnetError> {
        self.find(true).await
    }

    async fn glance(&mut self) -> Result<Glance, SubnetError> {
        self.glance_around().await
    }

    async fn apply(&mut self, fabric: &Fabric, writes: &[Write], order: WriteOrder) -> Result<Applied, SubnetError> {
        // Every subset of a wave is proved (P0.5), and each entry that lands may give pairs a path: no switch that
        // refuses keeps that from the others.
        let is_entry = |write: &Write| matches!(write, Write::LftBlock { .. });
        let on_failure = match order {
            WriteOrder::Any if writes.iter().all(is_entry) => OnFailure::EndsAtSilence,
            WriteOrder::Any | WriteOrder::Listed { .. } => OnFailure::Ends,
        };
        self.apply_writes(fabric, writes, order, on_failure).await
    }

    async fn flush(&mut self, ticket: Ticket, observer: Observer, lanes: VlSet) -> Result<Flushed, SubnetError> {
        // Under a standing partition no wave closes the spare half, and what came from it must be gone before the flush
        // ends.
        self.move_fence().await?;
        self.await_flushed(ticket, observer, lanes).await
    }

    async fn confirm_sources(
        &mut self,
        ticket: Ticket,
        ports: &[PortId],
        half: Half,
    ) -> Result<SourcesMoved, SubnetError> {
        self.await_sources(ticket, ports, half).await
    }

    fn settle_ns(&self) -> Option<u64> {
        self.sources.settle_ns()
    }

    fn set_ways(&mut self, longest: u32, through: &[NodeId]) {
        self.longest_way = Some(longest);
        self.ways_through = Some(through.iter().copied().collect());
    }

    async fn drain(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        retiring: &Retiring<'_>,
    ) -> Result<Drained, SubnetError> {
        self.await_drained(ticket, observer, retiring).await
    }

    async fn can_vacate(&mut self, observer: Observer) -> Result<(), SubnetError> {
        self.check_vacating(observer).await
    }

    async fn vacate(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        leaving: &Leaving<'_>,
    ) -> Result<Vacated, SubnetError> {
        self.await_vacated(ticket, observer, leaving).await
    }

    fn pending_event(&mut self) -> Option<SubnetEvent> {
        self.events.pop_front()
    }

    async fn next_event(&mut self, until_ns: u64) -> Result<Option<SubnetEvent>, SubnetError> {
        self.await_event(until_ns).await
    }
}

impl<T: Transport> Manager<T> {
    /// Sweeps; `None` if `until_event` is set and an event has arrived.
    async fn find(&mut self, until_event: bool) -> Result<Option<Discovered>, SubnetError> {
        // Until its result is the known fabric, it is unknown what the change bits that it cleared reported.
        let (found, reported) = (self.port_changes.begin_look(), self.port_changes.take_reported());
        let mut sweep = self.sweep(until_event).await?;
        let mut said: Vec<Guid> = sweep.changed().collect();
        // A device that was silent because its cable went must not be omitted by the very sweep that finds that.
        if !self.is_interrupted(until_event) && self.may_have_lost_its_cable(&sweep) {
            self.health.hurry_retrials(self.transport.now_ns());
            sweep = self.sweep(until_event).await?;
            said.extend(sweep.changed());
        }
        if self.is_interrupted(until_event) {
            // All that is known is that these switches reported a change; their ports were not all read.
            let topology = self.topology.as_ref();
            let node = |guid| topology.and_then(|known| known.fabric.by_guid(guid));
            self.port_changes.report(reported.into_iter().chain(said.into_iter().filter_map(node)));
            self.port_changes.end_look(found);
            return Ok(None);
        }
        // While a copy of a `Set` is under way, it may clear a bit that a later change sets. Judged when the last port
        // is read: what waits is served meanwhile.
        let settled = self.transport.now_ns() >= self.quiet_at_ns;
        self.serve_waiting().await?;
        sweep.port_infos().for_each(|(port, info)| self.holds(port, info.clone()));
        for (guid, info, switch) in sweep.node_infos() {
            self.node_infos.insert(guid, (info.clone(), switch.cloned()));
        }
        self.swept_over(&sweep);
        self.swept_for_missing(&sweep);
        self.serve_waiting().await?;
        let discovered = sweep.finish()?;
        self.serve_waiting().await?;
        // Freeing the answers of fifty thousand ports takes time, too.
        drop(sweep);
        self.serve_waiting().await?;
        self.port_changes.end_look(if settled { Freshness::New } else { Freshness::Stale });
        Ok(Some(discovered))
    }

    /// Whether an event has arrived that nobody has taken.
    pub fn has_event(&self) -> bool {
        self.is_interrupted(true)
    }

    /// Whether to stop, because an event has arrived and may end this.
    pub(super) fn is_interrupted(&self, until_event: bool) -> bool {
        until_event && !self.events.is_empty()
    }

    async fn sweep(&mut self, until_event: bool) -> Result<Sweep, SubnetError> {
        let mut exchange = Exchange::new(self.timing);
        let before = std::mem::take(&mut self.unanswered);
        let clears = self.port_changes.begin_sweep();
        let mut sweep = Sweep::begin(&mut exchange, self.health.left_out(), clears, before.clone());
        let on = |exchange: &mut Exchange, done| sweep.take(exchange, done);
        self.run_until(&mut exchange, on, |manager, _| manager.is_interrupted(until_event)).await?;
        self.unanswered = sweep.unanswered().clone();
        if self.is_interrupted(until_event) {
            self.unanswered.extend(before);
        }
        Ok(sweep)
    }

    /// Whether a known cable to a device that is left out is gone by now, or the neighbour at its other end. A link
    /// that was taken down for its sake has trained again.
    fn may_have_lost_its_cable(&self, sweep: &Sweep) -> bool {
        let Some(KnownTopology { fabric, sm, .. }) = &self.topology else { return false };
        // A device that does not answer at all counts as gone itself; other devices may have been reached through it.
        let mut out = self.health.left_out();
        out.retain(|&device| sweep.name(device).is_some());
        if out.is_empty() {
            return false;
        }
        let guid = |node: NodeId| fabric.node(node).guid;
        // A device reachable only through such a device is not found either, and shows nothing.
        let omitted: Vec<NodeId> = fabric.nodes().map(|(id, _)| id).filter(|&id| out.contains(&guid(id))).collect();
        let rest = DirectedPaths::new(&fabric.without_nodes(&omitted), *sm);
        let is_gone = |(near, far): (PortId, PortId)| {
            let [near, far] = [near, far].map(|port| fabric.port(port));
            rest.reaches(near.node)
                && out.contains(&guid(far.node))
                && sweep.is_gone(PortName { guid: guid(near.node), num: near.num })
        };
        fabric.links().any(|(a, b)| is_gone((a, b)) || is_gone((b, a)))
    }
}

/// Whether a cable between switches is gone from one fabric to the next, over one index space. Cables of the devices
/// `without` do not count unless the device is still present: they are taken down once a sweep has omitted it.
fn has_lost_cable(known: &Fabric, fabric: &Fabric, without: &BTreeSet<Guid>) -> bool {
    let counts = |port: PortId| {
        let node = known.node(known.port(port).node);
        node.is_switch() && !without.contains(&node.guid)
    };
    let stays = |port: PortId| {
        let node = fabric.node(fabric.port(port).node);
        node.present && without.contains(&node.guid)
    };
    (known.node_count(), known.port_count()) == (fabric.node_count(), fabric.port_count())
        && known.links().any(|(a, b)| fabric.peer(a) != Some(b) && (counts(a) && counts(b) || stays(a) || stays(b)))
}
