//! Carries out writes: each becomes a `Set`, and the answer is compared with the request.
//!
//! PortInfo is written whole, so an unknown PortInfo is read first, and all changes of one wave at a port go in one
//! `Set`. On return every write was answered and no copy of a `Set` is in flight; on an error some writes were applied
//! and others not, and no copy is in flight either.

use super::exchange::{Completed, Exchange, MadAnswer, MadData, MadRequest, RequestBody};
use super::health::WrittenTable;
use super::manager::{Failed, Manager, SourceControl, answered_or_failed};
use super::paths::DirectedPath;
use super::{Applied, FailingAs, REQUESTS_AT_A_TIME, RequestTarget, SubnetError, Timing, WriteOrder};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Lid, PortNum, Sl, Vl};
use crate::tables::{PortState, SlToVlScope, Write};
use crate::transport::Transport;
use crate::wire::vendor::ActiveHalf;
use crate::wire::{self, AttributeId, Method, PortInfo, SMP_DATA_SIZE, SlToVlMappingTable, SlToVlModifier};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Jobs built between two chances to serve incoming requests.
const JOBS_AT_A_TIME: usize = 32_768;

/// The changes of a wave to one PortInfo.
#[derive(Clone, Copy, Debug, Default)]
struct PortChange {
    state: Option<PortState>,
    master_sm: Option<(Lid, Sl)>,
    /// Whether clients at the port must query the SA again.
    reregister: bool,
    /// Whether a port may keep its MasterSMSL: what it sends on the old one is discarded at the fence.
    any_sl: bool,
}

#[derive(Clone, Debug)]
struct Job {
    device: NodeId,
    path: DirectedPath,
    modifier: u32,
    kind: Kind,
    /// Its place in the list of writes, or of the first of them.
    write: usize,
}

/// The writes of a wave, and the `Set`s that they become. Tables are encoded as they are sent: a thousand switches have
/// two hundred thousand blocks.
struct JobList<'a> {
    writes: Vec<Cow<'a, Write>>,
    jobs: Vec<Job>,
}

impl JobList<'_> {
    /// The table that a job writes, if it writes one.
    fn table(&self, job: &Job) -> Option<WrittenTable> {
        match &job.kind {
            Kind::Table(_) => Some((job.modifier, self.data(job))),
            Kind::Port(..) => None,
        }
    }

    /// The data of a table's attribute.
    fn data(&self, job: &Job) -> Box<[u8; SMP_DATA_SIZE]> {
        match &*self.writes[job.write] {
            Write::LftBlock { entries, .. } => entries.clone(),
            Write::SlToVl { table, .. } => Box::new(SlToVlMappingTable(table.0).encode()),
            Write::ActiveHalf { half, .. } => Box::new(ActiveHalf { half: *half, settled: false }.encode()),
            write => unreachable!("{} is no table", name_of(write)),
        }
    }
}

#[derive(Clone, Debug)]
enum Kind {
    /// A table, written as given.
    Table(AttributeId),
    /// PortInfo, based on its current value.
    Port(PortId, PortChange),
}

/// The effect of a failed write on those that are not sent yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum OnFailure {
    /// None of them is sent.
    #[default]
    Ends,
    /// Jobs to other devices are sent, unless the device is silent: it may be lost, and many others with it.
    EndsAtSilence,
    /// Those to other devices are sent.
    GoesOnElsewhere,
}

/// How a device failed at a job.
#[derive(Debug)]
enum DeviceFailure {
    /// It holds this instead.
    Holds(Box<[u8; SMP_DATA_SIZE]>),
    Other(FailingAs),
}

/// Why a wave failed.
#[derive(Debug)]
enum Failure {
    NoAnswer(Failed),
    NotTaken {
        request: MadRequest,
        /// What was asked for, and what was answered.
        texts: Box<(String, String)>,
        /// What the device holds.
        held: Box<[u8; SMP_DATA_SIZE]>,
    },
    /// The port has no link any more, or one that has been re-established since the port was ARMED.
    LinkDown {
        request: MadRequest,
        /// What was asked for, and what was answered.
        texts: Box<(String, String)>,
    },
}

impl Failure {
    fn request(&self) -> &MadRequest {
        match self {
            Failure::NoAnswer(failed) => &failed.request,
            Failure::NotTaken { request, .. } | Failure::LinkDown { request, .. } => request,
        }
    }

    /// How the device failed; none if only its cable, or the device behind that, has gone.
    fn of_device(&self) -> Option<DeviceFailure> {
        match self {
            Failure::NoAnswer(failed) => {
                Some(DeviceFailure::Other(failed.status.map_or(FailingAs::Silent, FailingAs::Refuses)))
            }
            Failure::NotTaken { held, .. } => Some(DeviceFailure::Holds(held.clone())),
            Failure::LinkDown { .. } => None,
        }
    }
}

impl<T: Transport> Manager<T> {
    /// Carries out writes that no wave waits for: a device that fails at one is not written to any more, and the others
    /// are. What failed is on record ([`Manager::faults`]).
    ///
    /// # Errors
    /// Some write failed: the first.
    pub async fn apply_each(&mut self, fabric: &Fabric, writes: &[Write]) -> Result<Applied, SubnetError> {
        self.apply_writes(fabric, writes, WriteOrder::Any, OnFailure::GoesOnElsewhere).await
    }

    /// Carries out the writes of one wave.
    pub(super) async fn apply_writes(
        &mut self,
        fabric: &Fabric,
        writes: &[Write],
        order: WriteOrder,
        on_failure: OnFailure,
    ) -> Result<Applied, SubnetError> {
        let given = writes.len();
        let writes: Vec<Cow<'_, Write>> = match self.sources {
            SourceControl::ByAgent => writes.iter().map(Cow::Borrowed).collect(),
            // P3.8: a device without ActiveHalf is controlled by its SL-to-VL tables.
            SourceControl::Fenced { .. } => self.fenced(fabric, writes),
        };
        // Long work is done in batches, so that incoming requests do not wait for all of it.
        let is_long = writes.len() > REQUESTS_AT_A_TIME;
        if is_long {
            self.serve_waiting().await?;
        }
        let mut jobs = self.jobs(fabric, &writes).await?;
        jobs.iter_mut().for_each(|job| self.ask_as_it_starts(fabric, job));
        if jobs.iter().any(|job| matches!(job.kind, Kind::Port(..))) {
            self.await_registering().await?;
        }
        let wave = JobList { jobs, writes };
        if is_long {
            self.serve_waiting().await?;
        }
        // Only now, with a path for every write: a wave refused above must not move the SA. And before the first `Set`,
        // so that the SA already answers with the new half when end ports are notified (P3.1).
        self.move_sa(&wave.writes);
        let before = self.counts.clone();
        let mut progress = WaveProgress { on_failure, ..WaveProgress::default() };
        self.send_wave(fabric, &wave, order, &mut progress).await?;
        // After a failure too: these ports have answered, and the next `Set` is based on what they hold.
        self.note_asked(fabric, &wave, &progress);
        self.note_ports(fabric, progress.port_infos);
        let failed = self.at_fault(fabric, &wave, progress.failed).await?;
        self.note_failed(&wave, failed);
        // After a failure too: a copy that lands later would change what the next wave relies on (P1.3).
        let quiet_ns = self.await_quiet().await?;
        if let Some(failure) = progress.failure {
            return Err(self.explain_failure(failure));
        }
        self.all_work(&wave);
        self.fence_stands(fabric, &wave.writes);
        // Freeing a hundred thousand jobs takes time, too.
        drop(wave);
        if is_long {
            self.serve_waiting().await?;
        }
        let retried = self.counts.since(&before).retries;
        Ok(Applied { writes: given, retried, quiet_ns, not_held: progress.not_held })
    }

    /// Has the SA answer with the half that a wave moves to, if it moves.
    fn move_sa(&mut self, writes: &[Cow<'_, Write>]) {
        for write in writes {
            if let Write::SaHalf { half } = &**write {
                self.sa_half = *half;
                if let Some(responder) = &self.responder {
                    responder.borrow_mut().half_moved(*half);
                }
            }
        }
    }

    async fn send_wave(
        &mut self,
        fabric: &Fabric,
        wave: &JobList<'_>,
        order: WriteOrder,
        progress: &mut WaveProgress,
    ) -> Result<(), SubnetError> {
        match order {
            WriteOrder::Any => {
                for stage in self.stages(fabric, wave) {
                    for part in in_turn(stage.iter().map(|&tag| wave.jobs[tag].device)).chunks(REQUESTS_AT_A_TIME) {
                        let jobs = part.iter().map(|&rank| (stage[rank], wave.jobs[stage[rank]].device));
                        let jobs = jobs.filter(|&(_, device)| !progress.gave_up(device));
                        let requests: Vec<MadRequest> =
                            jobs.map(|(tag, device)| self.first_request(fabric, wave, tag, device.0)).collect();
                        self.send_jobs(self.timing, requests, wave, progress).await?;
                        if progress.has_ended {
                            return Ok(());
                        }
                    }
                }
            }
            WriteOrder::Listed { window } => {
                let window = usize::from(window).max(1);
                let timing = Timing { window, per_device: window, ..self.timing };
                // A single queue keeps the order of the list; its window is then that of the wave.
                let requests = (0..wave.jobs.len()).map(|tag| self.first_request(fabric, wave, tag, 0)).collect();
                self.send_jobs(timing, requests, wave, progress).await?;
            }
        }
        Ok(())
    }

    /// The jobs of a wave whose writes may land in any order, in stages one after the other (G.3). Ports become ACTIVE
    /// last, and first those from which packets leave what comes: while a port is ARMED, packets may wait there that
    /// tables lead to it already, and others behind them. Those that lead from what carries data into what comes
    /// follow, then end ports, which send nothing before. Where nothing carries data there is one stage: a bring-up has
    /// end ports follow by itself, and a scheme that stops all ports starts them together.
    fn stages(&self, fabric: &Fabric, wave: &JobList<'_>) -> Vec<Vec<usize>> {
        let is_active = |port: PortId| {
            let held = self.port_infos.get(&fabric.port_name(port));
            fabric.port(port).num != PortNum::ZERO
                && held.is_some_and(|held| held.port_state == wire::PortState::Active)
        };
        let carries_data = |node: NodeId| fabric.ports_of(node).any(is_active);
        let activates =
            |job: &Job| matches!(job.kind, Kind::Port(_, PortChange { state: Some(PortState::Active), .. }));
        let may_wait = || fabric.nodes().any(|(id, node)| node.present && carries_data(id));
        if !wave.jobs.iter().any(activates) || !may_wait() {
            return vec![(0..wave.jobs.len()).collect()];
        }
        let mut known: FxHashMap<NodeId, bool> = FxHashMap::default();
        let mut stages: [Vec<usize>; 4] = Default::default();
        for (tag, job) in wave.jobs.iter().enumerate() {
            let stage = match fabric.node(job.device) {
                _ if !activates(job) => 0,
                node if !node.is_switch() => 3,
                _ if *known.entry(job.device).or_insert_with(|| carries_data(job.device)) => 2,
                _ => 1,
            };
            stages[stage].push(tag);
        }
        stages.into_iter().filter(|stage| !stage.is_empty()).collect()
    }

    /// A port that is to become ACTIVE has its clients asked in the same `Set`, if they are to be asked.
    fn ask_as_it_starts(&self, fabric: &Fabric, job: &mut Job) {
        if let Kind::Port(port, change @ PortChange { state: Some(PortState::Active), .. }) = &mut job.kind {
            change.reregister |= self.asks_as_it_starts(fabric, *port);
        }
    }

    /// Records the ports whose clients were asked in a `Set` that made the port ACTIVE; those that became ACTIVE by
    /// themselves do not count.
    fn note_asked(&mut self, fabric: &Fabric, wave: &JobList<'_>, progress: &WaveProgress) {
        let asks = |(tag, job): (u64, &Job)| match &job.kind {
            Kind::Port(port, PortChange { reregister: true, .. }) if !progress.doubted.contains(&tag) => Some(*port),
            _ => None,
        };
        let asked: BTreeSet<PortId> = (0..).zip(&wave.jobs).filter_map(asks).collect();
        for (port, holds) in &progress.port_infos {
            if asked.contains(port) && holds.port_state == wire::PortState::Active {
                self.was_asked(fabric, *port);
            }
        }
    }

    fn note_ports(&mut self, fabric: &Fabric, holds: Vec<(PortId, PortInfo)>) {
        for (port, info) in holds {
            self.holds(fabric.port_name(port), info);
        }
    }

    /// The failures that are the devices' own. A device that was silent because a link on the path to it changed is
    /// excused, and so is a port whose own link changed.
    async fn at_fault(
        &mut self,
        fabric: &Fabric,
        wave: &JobList<'_>,
        failed: Vec<(u64, DeviceFailure)>,
    ) -> Result<Vec<(u64, DeviceFailure)>, SubnetError> {
        let witnesses = |(tag, fails): &(u64, DeviceFailure)| {
            let job = &wave.jobs[*tag as usize];
            match (&job.kind, fails) {
                (Kind::Port(port, _), DeviceFailure::Holds(_)) => self.witnesses_of_link(fabric, *port),
                (_, DeviceFailure::Other(FailingAs::Silent)) => self.witnesses_of_way(fabric, job.device),
                _ => BTreeSet::new(),
            }
        };
        let witnesses: Vec<_> = failed.iter().map(witnesses).collect();
        let changed = self.changed_among(witnesses.iter().flatten()).await?;
        let own = failed.into_iter().zip(witnesses).filter(|(_, switches)| changed.is_disjoint(switches));
        Ok(own.map(|(failed, _)| failed).collect())
    }

    fn note_failed(&mut self, wave: &JobList<'_>, failed: Vec<(u64, DeviceFailure)>) {
        for (tag, fails) in failed {
            let job = &wave.jobs[tag as usize];
            match (wave.table(job), fails) {
                (Some(asked), DeviceFailure::Holds(held)) => {
                    self.keeps_another(job.device, job.attribute(), asked, held);
                }
                (None, DeviceFailure::Holds(_)) => {
                    let fails = FailingAs::HoldsOther;
                    self.fails_when_asked(job.device, job.attribute(), Method::Set, job.modifier, fails);
                }
                (_, DeviceFailure::Other(fails)) => {
                    self.fails_when_asked(job.device, job.attribute(), Method::Set, job.modifier, fails);
                }
            }
        }
    }

    fn explain_failure(&self, failure: Failure) -> SubnetError {
        match failure {
            Failure::NoAnswer(failed) => self.explain(failed),
            Failure::NotTaken { request, texts, .. } | Failure::LinkDown { request, texts } => {
                let (asked, answered) = *texts;
                SubnetError::NotTaken { attempted: self.describe(&request), asked, answered }
            }
        }
    }

    async fn send_jobs(
        &mut self,
        timing: Timing,
        requests: Vec<MadRequest>,
        wave: &JobList<'_>,
        progress: &mut WaveProgress,
    ) -> Result<(), SubnetError> {
        let mut exchange = Exchange::new(timing);
        requests.into_iter().for_each(|request| exchange.submit(request));
        self.run(&mut exchange, |exchange, done| progress.take(wave, exchange, done)).await
    }

    /// Records that all of these jobs were carried out.
    fn all_work(&mut self, wave: &JobList<'_>) {
        for job in &wave.jobs {
            // Few devices fail at anything, and the tables of a wave are many.
            if !self.fails_at(job.device, job.attribute(), Method::Set) {
                continue;
            }
            match wave.table(job) {
                Some(written) => self.table_was_taken(job.device, job.attribute(), &written),
                None => self.request_went(job.device, job.attribute(), Method::Set, Ok(())),
            }
        }
    }

    async fn jobs(&mut self, fabric: &Fabric, writes: &[Cow<'_, Write>]) -> Result<Vec<Job>, SubnetError> {
        let attempted = "applying writes";
        let (given, known) = (fabric.port_count(), self.topology(attempted)?.fabric.port_count());
        if given != known {
            return Err(SubnetError::OtherTopology { attempted, given, known });
        }
        let mut jobs: Vec<Job> = Vec::with_capacity(writes.len());
        let mut ports: BTreeMap<PortId, usize> = BTreeMap::new();
        for (at, write) in writes.iter().enumerate() {
            if at % JOBS_AT_A_TIME == JOBS_AT_A_TIME - 1 {
                self.serve_waiting().await?;
            }
            if self.holds_without_write(write) {
                continue;
            }
            let Some((target, modifier, kind)) = kind_of(fabric, write, self.sources) else { continue };
            if let Kind::Port(port, change) = kind {
                // PortInfo is written whole: of two `Set`s the second, built from the same reading, would undo the
                // first.
                if let Some(&at) = ports.get(&port) {
                    jobs[at].merge(change);
                    continue;
                }
                ports.insert(port, jobs.len());
            }
            let device = target.node(fabric);
            let path = self.topology(attempted)?.path_to(target).ok_or_else(|| SubnetError::NoPath {
                attempted: format!("{} of {}", name_of(write), fabric.describe_node(device)),
            })?;
            jobs.push(Job { device, path, modifier, kind, write: at });
        }
        Ok(jobs)
    }

    /// Whether a device lacks the table of a write and already behaves as that table requires.
    fn holds_without_write(&self, write: &Write) -> bool {
        let Write::SlToVl { node, scope, table } = write else { return false };
        let output = match *scope {
            SlToVlScope::Pair { output, .. } | SlToVlScope::EndPort { port: output } => output,
            SlToVlScope::All => return false,
        };
        Sl::all().all(|sl| table.get(sl) == Vl::masked(0)) && self.lacks_sl_to_vl(*node, output)
    }

    fn first_request(&self, fabric: &Fabric, wave: &JobList<'_>, tag: usize, queue: u32) -> MadRequest {
        let (job, tag) = (&wave.jobs[tag], tag as u64);
        match &job.kind {
            Kind::Table(_) => job.set(queue, tag, wave.data(job)),
            Kind::Port(port, change) => match self.port_infos.get(&fabric.port_name(*port)) {
                Some(known) => job.set_port(queue, tag, known, *change),
                None => job.get(queue, tag),
            },
        }
    }
}

/// The progress of a wave.
#[derive(Debug, Default)]
struct WaveProgress {
    on_failure: OnFailure,
    failure: Option<Failure>,
    /// Whether nothing more is to be sent.
    has_ended: bool,
    /// Every job that failed, and how its device did.
    failed: Vec<(u64, DeviceFailure)>,
    port_infos: Vec<(PortId, PortInfo)>,
    not_held: Vec<PortId>,
    /// Jobs whose refusal counts only after the port was read.
    doubted: BTreeSet<u64>,
    /// Devices that are not written to any more.
    given_up: BTreeSet<NodeId>,
}

impl WaveProgress {
    fn gave_up(&self, device: NodeId) -> bool {
        self.given_up.contains(&device)
    }

    fn take(&mut self, wave: &JobList<'_>, exchange: &mut Exchange, done: Completed) {
        let judged = match answered_or_failed(done) {
            Ok((request, answer)) => self.judge(wave, exchange, request, answer),
            Err(failed) => self.doubt(&wave.jobs, exchange, failed),
        };
        if let Err(failure) = judged {
            let (tag, queue) = (failure.request().tag, failure.request().queue);
            let ends = match self.on_failure {
                OnFailure::Ends => true,
                OnFailure::EndsAtSilence => matches!(&failure, Failure::NoAnswer(failed) if failed.status.is_none()),
                OnFailure::GoesOnElsewhere => false,
            };
            if ends {
                // The wave can no longer be acknowledged: unsent writes stay unsent.
                exchange.abandon();
                self.has_ended = true;
            } else {
                exchange.withdraw(queue, |_| true);
                self.given_up.insert(wave.jobs[tag as usize].device);
            }
            self.failed.extend(failure.of_device().map(|fails| (tag, fails)));
            self.failure.get_or_insert(failure);
        }
    }

    /// If a `Set` of a port's state was duplicated, one copy may be refused because the other was applied. So a refused
    /// port is read.
    fn doubt(&mut self, jobs: &[Job], exchange: &mut Exchange, failed: Failed) -> Result<(), Failure> {
        let tag = failed.request.tag;
        let job = &jobs[tag as usize];
        let doubtful = failed.status.is_some() && failed.request.method == Method::Set;
        if !doubtful || !matches!(job.kind, Kind::Port(..)) || !self.doubted.insert(tag) {
            return Err(Failure::NoAnswer(failed));
        }
        exchange.submit(job.get(failed.request.queue, tag));
        Ok(())
    }

    fn judge(
        &mut self,
        wave: &JobList<'_>,
        exchange: &mut Exchange,
        request: MadRequest,
        answer: MadAnswer,
    ) -> Result<(), Failure> {
        let MadData::Smp(_, answered) = answer.data else { return Ok(()) };
        let job = &wave.jobs[request.tag as usize];
        match &job.kind {
            Kind::Table(attribute) => same_table(*attribute, &wave.data(job), &answered)
                .map_err(|texts| Failure::NotTaken { request, texts: Box::new(texts), held: answered }),
            Kind::Port(port, change) => {
                let info = PortInfo::decode(&answered);
                // The port's PortInfo was unknown: now the `Set` can be based on it. A doubted port was read only for
                // comparison.
                if request.method == Method::Get && !self.doubted.contains(&request.tag) {
                    exchange.submit(job.set_port(request.queue, request.tag, &info, *change));
                    return Ok(());
                }
                let taken = change.compare(&info);
                let is_down = match info.port_state {
                    wire::PortState::Down => true,
                    wire::PortState::Initialize => change.state == Some(PortState::Active),
                    _ => false,
                };
                // Whether or not the change was accepted: this is what the port holds now.
                self.port_infos.push((*port, info));
                match taken {
                    Ok(held) => self.not_held.extend((!held).then_some(*port)),
                    Err(texts) if is_down => return Err(Failure::LinkDown { request, texts: Box::new(texts) }),
                    Err(texts) => {
                        return Err(Failure::NotTaken { request, texts: Box::new(texts), held: answered });
                    }
                }
                Ok(())
            }
        }
    }
}

impl Job {
    fn attribute(&self) -> AttributeId {
        match &self.kind {
            Kind::Table(attribute) => *attribute,
            Kind::Port(..) => AttributeId::PortInfo,
        }
    }

    fn merge(&mut self, later: PortChange) {
        if let Kind::Port(_, change) = &mut self.kind {
            // The later write of the list wins, as it would if both were sent.
            change.state = later.state.or(change.state);
            change.master_sm = later.master_sm.or(change.master_sm);
            change.reregister |= later.reregister;
            change.any_sl |= later.any_sl;
        }
    }

    fn get(&self, queue: u32, tag: u64) -> MadRequest {
        MadRequest::get(queue, tag, self.path.clone(), self.attribute(), self.modifier)
    }

    fn set(&self, queue: u32, tag: u64, data: Box<[u8; SMP_DATA_SIZE]>) -> MadRequest {
        let body = RequestBody::Smp { path: self.path.clone(), attribute: self.attribute(), data };
        MadRequest { queue, tag, method: Method::Set, modifier: self.modifier, body }
    }

    fn set_port(&self, queue: u32, tag: u64, known: &PortInfo, change: PortChange) -> MadRequest {
        self.set(queue, tag, Box::new(change.written_over(known).encode()))
    }
}

impl PortChange {
    /// The PortInfo to set: the known one with this change.
    fn written_over(self, known: &PortInfo) -> PortInfo {
        let mut info = known.unchanged();
        info.client_reregister = self.reregister;
        if let Some(state) = self.state {
            info.port_state = wire_state(state);
        }
        if let Some((lid, sl)) = self.master_sm {
            (info.master_sm_lid, info.master_sm_sl) = (lid, sl);
        }
        info
    }

    /// Whether a port that answered with `info` accepted the change: `Ok(false)` if it went from ARMED to ACTIVE by
    /// itself, as a port does when data arrives (A.4); `Err` with the two values if it did not accept it.
    fn compare(self, info: &PortInfo) -> Result<bool, (String, String)> {
        let mut held = true;
        if let Some(state) = self.state {
            // A port that was taken down retrains its link and returns to INITIALIZE by itself.
            let again_up = (state, info.port_state) == (PortState::Initialize, wire::PortState::Initialize);
            held = info.port_state == wire_state(state) || again_up;
            if !held && (state, info.port_state) != (PortState::Armed, wire::PortState::Active) {
                return Err((format!("state {state:?}"), format!("state {:?}", info.port_state)));
            }
        }
        match self.master_sm {
            Some((lid, sl)) if info.master_sm_lid != lid || (info.master_sm_sl != sl && !self.any_sl) => Err((
                format!("MasterSMLID {lid}, SL {sl}"),
                format!("MasterSMLID {}, SL {}", info.master_sm_lid, info.master_sm_sl),
            )),
            _ => Ok(held),
        }
    }
}

fn same_table(
    attribute: AttributeId,
    asked: &[u8; SMP_DATA_SIZE],
    answered: &[u8; SMP_DATA_SIZE],
) -> Result<(), (String, String)> {
    match attribute {
        AttributeId::SlToVlMappingTable => {
            let lanes = |data| SlToVlMappingTable::decode(data).0.map(|vl| vl.get());
            let (asked, answered) = (lanes(asked), lanes(answered));
            if asked == answered { Ok(()) } else { Err((format!("VLs {asked:?}"), format!("VLs {answered:?}"))) }
        }
        AttributeId::ActiveHalf => {
            let (asked, answered) = (ActiveHalf::decode(asked).half, ActiveHalf::decode(answered).half);
            if asked == answered { Ok(()) } else { Err((asked.to_string(), answered.to_string())) }
        }
        _ => match asked.iter().zip(answered).position(|(asked, answered)| asked != answered) {
            None => Ok(()),
            Some(at) => Err((format!("port {} for entry {at}", asked[at]), format!("port {}", answered[at]))),
        },
    }
}

/// The target of a write and what it sets; none for a write that changes only the manager itself.
fn kind_of(fabric: &Fabric, write: &Write, sources: SourceControl) -> Option<(RequestTarget, u32, Kind)> {
    let number = |port: PortId| u32::from(fabric.port(port).num.0);
    Some(match write {
        Write::LftBlock { switch, block, .. } => {
            (RequestTarget::Node(*switch), u32::from(*block), Kind::Table(AttributeId::LinearForwardingTable))
        }
        Write::SlToVl { node, scope, .. } => {
            let (target, modifier) = sl_to_vl_target(fabric, *node, *scope);
            (target, modifier, Kind::Table(AttributeId::SlToVlMappingTable))
        }
        Write::PortState { port, state } => {
            let change = PortChange { state: Some(*state), ..PortChange::default() };
            (RequestTarget::Port(*port), number(*port), Kind::Port(*port, change))
        }
        Write::MasterSm { port, lid, sl } => {
            // P3.8: what such a port still sends on its old service level is discarded at the port itself.
            let any_sl = matches!(sources, SourceControl::Fenced { .. });
            let change = PortChange { master_sm: Some((*lid, *sl)), any_sl, ..PortChange::default() };
            (RequestTarget::Port(*port), number(*port), Kind::Port(*port, change))
        }
        Write::ActiveHalf { port, .. } if matches!(sources, SourceControl::Fenced { .. }) => {
            // Clients that are asked to reregister query the SA again, and learn the new half (P3.8).
            let change = PortChange { reregister: true, ..PortChange::default() };
            (RequestTarget::Port(*port), number(*port), Kind::Port(*port, change))
        }
        Write::ActiveHalf { port, .. } => {
            (RequestTarget::Port(*port), number(*port), Kind::Table(AttributeId::ActiveHalf))
        }
        Write::SaHalf { .. } => return None,
    })
}

fn sl_to_vl_target(fabric: &Fabric, node: NodeId, scope: SlToVlScope) -> (RequestTarget, u32) {
    match scope {
        SlToVlScope::Pair { input, output } => {
            (RequestTarget::Node(node), SlToVlModifier::Pair { input, output }.encode())
        }
        SlToVlScope::All => (RequestTarget::Node(node), SlToVlModifier::Every.encode()),
        // An end port has one table, which is reached through the port itself; the modifier has no meaning there.
        SlToVlScope::EndPort { port } => {
            let target = fabric.port_at(node, port).map_or(RequestTarget::Node(node), RequestTarget::Port);
            (target, SlToVlModifier::Pair { input: PortNum::ZERO, output: PortNum::ZERO }.encode())
        }
    }
}

fn name_of(write: &Write) -> &'static str {
    match write {
        Write::LftBlock { .. } => "Set LinearForwardingTable",
        Write::SlToVl { .. } => "Set SLtoVLMappingTable",
        Write::PortState { .. } | Write::MasterSm { .. } => "Set PortInfo",
        Write::ActiveHalf { .. } => "Set ActiveHalf",
        Write::SaHalf { .. } => "the SA's half",
    }
}

/// The value that brings a port into a state. INITIALIZE cannot be written: a port taken DOWN arrives there (section
/// 14.2.5.6).
fn wire_state(state: PortState) -> wire::PortState {
    match state {
        PortState::Down | PortState::Initialize => wire::PortState::Down,
        PortState::Armed => wire::PortState::Armed,
        PortState::Active => wire::PortState::Active,
    }
}

/// The order in which jobs of these devices are sent. Of more than one part: devices in turn, each with its first job,
/// its second and so on, so that a part keeps as many devices busy as can be. Each device's own order stays.
pub(crate) fn in_turn(devices: impl ExactSizeIterator<Item = NodeId>) -> Vec<usize> {
    if devices.len() <= REQUESTS_AT_A_TIME {
        return (0..devices.len()).collect();
    }
    let mut sent: FxHashMap<NodeId, usize> = FxHashMap::default();
    let mut turns: Vec<Vec<usize>> = Vec::new();
    for (tag, device) in devices.enumerate() {
        let turn = sent.entry(device).or_default();
        if *turn == turns.len() {
            turns.push(Vec::new());
        }
        turns[*turn].push(tag);
        *turn += 1;
    }
    turns.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of lanes are listed switch by switch, a thousand of one after the other.
    #[test]
    fn a_part_of_a_wave_keeps_all_devices_busy() {
        let device = |tag: usize| NodeId(tag as u32 / 1_000);
        let order = in_turn((0..8 * 1_000).map(device));
        for part in order.chunks(REQUESTS_AT_A_TIME) {
            let busy: BTreeSet<NodeId> = part.iter().map(|&tag| device(tag)).collect();
            assert_eq!(busy.len(), 8);
        }
        for own in 0..8 {
            let tags: Vec<usize> = order.iter().copied().filter(|&tag| device(tag) == NodeId(own)).collect();
            assert!(tags.len() == 1_000 && tags.is_sorted());
        }
        assert!(in_turn((0..REQUESTS_AT_A_TIME).map(device)).is_sorted(), "one part is sent as it is listed");
    }
}
