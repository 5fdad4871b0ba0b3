//! Joins change, machine and subnet in one future: passes events to the machine, which decides, and carries out its
//! commands.
//!
//! On entry: a [`SubnetManager`] and the known state of the subnet ([`Running`]). On return of a change: a
//! [`ChangeRecord`], and an updated `Running`, from which the next change starts. Between two commands the driver
//! checks whether the subnet changed: an event counts as a change only if a glance or a sweep confirms it, because
//! traps repeat and arrive late. Writes to dead elements count as done. A newcomer does not disturb a change in
//! progress: the next change serves it, and it must be known by then ([`fabric::difference`](crate::fabric::difference)
//! makes the union of two fabrics). With a journal, every command is on disk before it is carried out, and a later
//! driver continues where an earlier one was killed ([`StandingChange`]). Decided here: what counts as lost
//! (`sighting`), in which order the machine learns of an abort, of a loss and of an answer, for which fabric a change
//! follows, and when a journal that takes nothing is given up (`execution`). Deliberately omitted: what happens next
//! within a change (`machine`).

mod ahead;
mod emptying;
mod error;
mod execution;
mod foreseen;
mod record;
mod run_state;
mod shortfall;
mod sighting;
mod standing;

use ahead::BaseKeeper;
pub use error::DriverError;
use foreseen::PreparedFrom;
pub use foreseen::{ForeseenCount, Foreseer, ForesightScope, PreparedAhead};
pub use record::{ChangeRecord, ChangeUnderWay, PhaseRecord};
pub use shortfall::{Shortfall, narrow_ports};
pub use sighting::Sighting;
pub use standing::StandingChange;

use crate::change::{self, ChangeBase, ChangeInput, InForce, KnownBase, Prepared};
use crate::fabric::difference::{common, in_either, lacks, shared};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Half;
use crate::journal::Journal;
use crate::machine::{ChangeProgress, State, Ticket};
use crate::plan::{Draft, MovedBy, Plan, Policy, Scheme};
use crate::routing::Engine;
use crate::subnet::{Outlook, SubnetManager, long_work};
use crate::tables::{Lft, NodeSlToVl, PathLayers, SlToVl, SubnetTables};
use crate::vet::Vetted;
use futures_util::future::LocalBoxFuture;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// For how long a change waits for a journal that takes nothing, in nanoseconds.
const UNRECORDED_NS: u64 = 30_000_000_000;
/// The pause between two attempts to take up a journal that was given up, in nanoseconds.
const TEND_JOURNAL_NS: u64 = 10_000_000_000;

/// The known state of a running subnet. All fabrics share one index space.
#[derive(Clone, Debug)]
pub struct Running {
    /// Every node and cable that the subnet had, has or will have, LIDs assigned: the reference for sweeps.
    pub known: Arc<Fabric>,
    /// The fabric for which the routing in force was made.
    pub routed: Arc<Fabric>,
    /// The part that is present now.
    pub alive: Arc<Fabric>,
    /// The tables in force.
    pub tables: SubnetTables,
    /// Virtual layers that the routing in force needs.
    pub layers: u8,
    /// The paths and layers of each source; none if every source may use every path.
    pub ways: Option<Arc<PathLayers>>,
    /// The half in use.
    pub half: Half,
    /// Whether hosts may send on the other half as well, because it is open and leads where the half in use leads: a
    /// host that never queried the SA again stays on the half that retired.
    pub both_halves: bool,
    /// The SM's own port.
    pub sm: PortId,
}

/// How to make changes.
#[derive(Clone)]
pub struct Intent {
    /// The engine for new routings.
    pub engine: Arc<dyn Engine>,
    /// The scheme.
    pub scheme: Scheme,
    /// Whether `ordered`, which costs less, is taken wherever it is proved, and `double` elsewhere; `scheme` is not
    /// read then.
    pub auto: bool,
    /// The user's choices.
    pub policy: Policy,
    /// Whether plans of baseline schemes run even if the prover refused them, to show the consequences.
    pub unproved_baselines: bool,
}

impl Intent {
    /// By one scheme, and only what is proved.
    pub fn by(engine: Arc<dyn Engine>, scheme: Scheme, policy: Policy) -> Intent {
        Intent { engine, scheme, auto: false, policy, unproved_baselines: false }
    }

    /// Whether both intents make the same changes. Engines are compared by address.
    fn is(&self, other: &Intent) -> bool {
        let by = |intent: &Intent| (intent.scheme, intent.auto, intent.policy, intent.unproved_baselines);
        Arc::ptr_eq(&self.engine, &other.engine) && by(self) == by(other)
    }
}

/// Calls off a driver's change from outside its future.
#[derive(Clone, Debug, Default)]
pub struct AbortHandle(Rc<Cell<bool>>);

impl AbortHandle {
    /// Requests a call-off. The driver takes the request before the next command; from the swap on it is declined.
    pub fn abort(&self) {
        self.0.set(true);
    }

    fn take(&self) -> bool {
        self.0.take()
    }
}

/// Shows, from outside its future, the states that a driver's change has entered, and where it stands.
#[derive(Clone, Debug, Default)]
pub struct Trail(Rc<RefCell<TrailMarks>>);

#[derive(Debug, Default)]
struct TrailMarks {
    entered: Vec<&'static str>,
    progress: Option<ChangeProgress>,
    may_be_called_off: bool,
}

impl Trail {
    /// The states entered since the last call, in order, by their names in `state-machines/change.yaml`.
    pub fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.borrow_mut().entered)
    }

    /// Adds a state that was entered.
    pub fn enter(&self, state: &'static str) {
        self.0.borrow_mut().entered.push(state);
    }

    /// Position of the change in progress, or of a halted one; `None` between changes.
    pub fn progress(&self) -> Option<ChangeProgress> {
        self.0.borrow().progress.clone()
    }

    /// Whether the change under way would be called off if that were requested now.
    pub fn may_be_called_off(&self) -> bool {
        self.0.borrow().may_be_called_off
    }

    /// Marks a step of the machine.
    fn step(&self, from: &'static str, to: &State) {
        if to.name() != from {
            self.enter(to.name());
        }
        let marks = &mut *self.0.borrow_mut();
        (marks.progress, marks.may_be_called_off) = (to.progress().cloned(), to.may_be_called_off());
    }
}

/// Drives changes of one subnet.
pub struct Driver<S> {
    subnet: S,
    running: Running,
    intent: Intent,
    state: State,
    /// The halted change, if there is one.
    halted: Option<run_state::HaltedChange>,
    /// Plans of which what they took out is not known to be empty.
    unemptied: Vec<Arc<Vetted>>,
    /// Whether a newcomer appeared during a change and no change has served it yet.
    noticed: bool,
    abort: AbortHandle,
    trail: Trail,
    foreseer: Option<Foreseer>,
    /// The base of future changes, if it is computed ahead.
    bases: BaseKeeper,
    journal: Option<Journal>,
    /// Since when the journal takes nothing, in nanoseconds.
    unrecorded_since: Option<u64>,
    /// When the journal is looked after next, in nanoseconds.
    journal_due_ns: u64,
    /// See [`Driver::computes_for`].
    computing: ComputeTime,
    /// See [`Driver::plan_whole`].
    in_turn: bool,
    /// See [`Driver::hurry`].
    hurries: bool,
}

impl<S: SubnetManager> Driver<S> {
    /// A driver of a subnet that runs as described by `running`.
    pub fn new(mut subnet: S, running: Running, intent: Intent) -> Driver<S> {
        // Tickets rise with the transport's clock, so a second driver's are above a first one's.
        let first = Ticket::at(subnet.now_ns());
        subnet.set_topology(&running.alive, running.sm);
        let (abort, trail) = (AbortHandle::default(), Trail::default());
        let state = State::starting_at(first);
        Driver {
            subnet,
            running,
            intent,
            state,
            halted: None,
            unemptied: Vec::new(),
            noticed: false,
            abort,
            trail,
            foreseer: None,
            bases: BaseKeeper::default(),
            journal: None,
            unrecorded_since: None,
            journal_due_ns: 0,
            computing: ComputeTime::default(),
            in_turn: true,
            hurries: false,
        }
    }

    /// Prepares every change as one plan: pairs that forwarding entries alone can serve after a loss are not served
    /// before scheme `double` ([`change::prepare_in_turn`]).
    pub fn plan_whole(&mut self) {
        self.in_turn = false;
    }

    /// Serves hosts that have lost their paths first, and the rest later, where a change follows another one without a
    /// caller in between ([`Preparation::hurried`]).
    pub fn hurry(&mut self) {
        self.hurries = true;
    }

    /// Sets the simulated time that computing a new routing takes: before the first write or, by scheme `static`,
    /// once ports are stopped, as its authors have it. For simulated subnets, where computing takes none.
    pub fn computes_for(&mut self, computing: ComputeTime) {
        self.computing = computing;
    }

    /// The subnet manager.
    pub fn subnet(&self) -> &S {
        &self.subnet
    }

    /// The subnet manager, for use between changes.
    pub fn subnet_mut(&mut self) -> &mut S {
        &mut self.subnet
    }

    /// The subnet manager, and the subnet as it is now, for use between changes.
    pub fn subnet_and_running(&mut self) -> (&mut S, &Running) {
        (&mut self.subnet, &self.running)
    }

    /// The subnet manager, when the driver is no longer needed.
    pub fn into_subnet(self) -> S {
        self.subnet
    }

    /// The subnet as it is now.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Changes whose new routing is in force, and of which it is not known that what they took out is empty: a loss has
    /// cut them short.
    pub fn unemptied(&self) -> impl Iterator<Item = &Draft> {
        self.unemptied.iter().map(|plan| plan.plan().draft())
    }

    /// The state of the last change.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// A handle to call off the change in progress.
    pub fn abort_handle(&self) -> AbortHandle {
        self.abort.clone()
    }

    /// The states that the change in progress has entered.
    pub fn trail(&self) -> Trail {
        self.trail.clone()
    }

    /// Records every change in a journal from now on.
    pub fn record_in(&mut self, journal: Journal) {
        self.journal = Some(journal);
    }

    /// The journal, if there is one.
    pub fn journal_mut(&mut self) -> Option<&mut Journal> {
        self.journal.as_mut()
    }

    /// What follows from it that the journal takes no record, and why, while that is so: changes are refused or wait;
    /// or it had no room for half a minute, or has had none since the start, and they are made without it.
    pub fn unrecorded(&self) -> Option<String> {
        let journal = self.journal.as_ref()?;
        let without = |why| format!("changes are made without a journal until there is room for it ({why})");
        let waits =
            || format!("changes are refused or wait, since the journal takes no record ({})", journal.refusal());
        journal.given_up().map(without).or_else(|| self.unrecorded_since.map(|_| waits()))
    }

    /// The journal, for another driver.
    pub fn take_journal(&mut self) -> Option<Journal> {
        self.journal.take()
    }

    /// Extends the known fabric to `whole`, which begins with the known nodes and ports, LIDs assigned. The next
    /// [`Driver::look`] shows which part of it is present.
    ///
    /// # Panics
    /// `whole` has fewer nodes or ports than the known fabric.
    pub fn widen(&mut self, whole: Arc<Fabric>) {
        let (known, given) = (self.running.known.node_count(), whole.node_count());
        assert!(given >= known, "{given} nodes are not the {known} known ones and more");
        self.running = self.running.widened(whole, &self.intent.policy);
        self.subnet.set_topology(&self.running.alive, self.running.sm);
    }

    /// Records forwarding tables that were written without the driver, between two changes, and whether hosts may send
    /// on both halves from then on.
    pub fn record_tables(&mut self, lfts: Vec<Arc<Lft>>, both_halves: bool) {
        assert_eq!(lfts.len(), self.running.tables.lfts.len(), "one forwarding table for each node");
        self.running.tables.lfts = lfts;
        self.running.both_halves = both_halves;
    }

    /// Records the SL-to-VL table that every pair of ports of some devices was given without the driver.
    pub fn record_lanes(&mut self, devices: impl IntoIterator<Item = NodeId>, table: SlToVl) {
        let table = Arc::new(NodeSlToVl::Uniform(table));
        devices.into_iter().for_each(|node| self.running.tables.sl_to_vl[node.index()] = table.clone());
    }

    /// Sets how later changes are made.
    pub fn intend(&mut self, intent: Intent) {
        self.foreseer.iter_mut().for_each(Foreseer::forget);
        self.intent = intent;
    }

    /// Sets the first of the following tickets. Devices keep a request under its ticket, so no two requests may share
    /// one, whichever driver sends them.
    pub fn begin_tickets_at(&mut self, first: Ticket) {
        self.state = State::starting_at(first);
    }

    /// Prepares the change of the routing to `after`, a part of the fabric: a planned removal, whose elements are
    /// removed when the change is done. Writes nothing.
    ///
    /// # Errors
    /// The change cannot be routed, planned or proved.
    pub fn prepare(&self, after: Arc<Fabric>) -> Result<Prepared, DriverError> {
        self.preparation(after).carried_out()
    }

    /// Prepares like [`Driver::prepare`], while the subnet manager serves requests.
    fn prepare_meanwhile(&mut self, work: Preparation) -> LocalBoxFuture<'_, Result<Prepared, DriverError>> {
        Box::pin(async move {
            let (work, result) = long_work(|| work.carried_out());
            self.subnet.compute(work).await?;
            result.take()
        })
    }

    /// The work of [`Driver::prepare`], for any thread: it takes seconds on a thousand switches.
    pub fn preparation(&self, after: Arc<Fabric>) -> Preparation {
        let (from, running) = (self.prepared_from(), &self.running);
        // An element that has left the routing, and does not return, takes no part.
        let surviving = Arc::new(in_either(&running.alive, [&running.routed, &after]));
        let foreseen = self.foreseer.as_ref().and_then(|own| own.find_from(&from, &surviving, &after));
        match foreseen {
            Some(_) => tracing::info!("the plan was prepared before it was asked for"),
            None => self.foreseer.iter().for_each(Foreseer::pause),
        }
        let PreparedFrom { running, intent, settle_ns, in_turn } = from;
        let base = self.bases.known();
        Preparation { foreseen, hurries: false, in_turn, running, intent, surviving, after, settle_ns, base }
    }

    /// Prepares a change like [`Driver::prepare`], for a later driver: [`Driver::expect`].
    ///
    /// # Errors
    /// As there.
    pub fn prepare_ahead(&self, after: Arc<Fabric>) -> Result<PreparedAhead, DriverError> {
        Ok(PreparedAhead { change: self.prepare(after)?, from: self.prepared_from() })
    }

    /// What a change is prepared from.
    fn prepared_from(&self) -> PreparedFrom {
        let (running, intent) = (self.running.clone(), self.intent.clone());
        PreparedFrom { running, intent, settle_ns: self.subnet.settle_ns(), in_turn: self.in_turn }
    }

    /// Has a thread find out what the next change begins with, whatever happens first. For use between changes, as
    /// often as wanted.
    pub fn ready(&mut self) {
        let settle_ns = self.subnet.settle_ns();
        self.bases.begin(&self.running, policy(&self.intent, settle_ns));
    }

    /// Whether the thread that [`Driver::ready`] began last has found that out.
    pub fn is_ready(&self) -> bool {
        self.bases.known().is_some_and(|base| base.get().is_some())
    }

    /// Prepares plans for possible losses whenever [`Driver::foresee`] is called.
    pub fn foresee_by(&mut self, foreseer: Foreseer) {
        self.foreseer = Some(foreseer);
    }

    /// Runs this change where it is the next one wanted, if the driver that prepared it began in this state and
    /// with this intent, whatever it took to be present.
    pub fn expect(&mut self, ahead: PreparedAhead) {
        self.foreseer = Some(Foreseer::of_one(ahead));
    }

    /// Ensures that plans are being prepared for the losses that may happen next. Call it between changes, as often as
    /// wanted. It does nothing while something is missing, because the next change restores the state that plans would
    /// begin from.
    pub fn foresee(&mut self) {
        let rests = |foreseer: &Foreseer| foreseer.rests_on(&self.running.routed);
        if self.foreseer.as_ref().is_none_or(rests) || self.running.has_lost_something() {
            return;
        }
        let from = self.prepared_from();
        if let Some(foreseer) = &mut self.foreseer {
            foreseer.begin_from(from);
        }
    }

    /// Progress of the foreseen plans; `None` if none are being prepared.
    pub fn foreseen(&self) -> Option<ForeseenCount> {
        self.foreseer.as_ref().map(Foreseer::count).filter(|count| count.losses > 0)
    }

    /// Makes a planned change, from preparation to end. If it is called off because the subnet changed, it starts again
    /// from what is present then.
    ///
    /// # Errors
    /// It cannot be prepared, or the SM's own port failed.
    pub async fn change_to(&mut self, after: Arc<Fabric>) -> Result<ChangeRecord, DriverError> {
        let prepared = self.prepare_meanwhile(self.preparation(after)).await?;
        self.run(prepared).await
    }

    /// Waits until the subnet has lost something, or until `until_ns`, then routes the rest. None if nothing was lost.
    ///
    /// # Errors
    /// The sweep failed or found something unknown, or the change cannot be prepared.
    pub async fn await_loss(&mut self, until_ns: u64) -> Result<Option<ChangeRecord>, DriverError> {
        let left = |running: &Running| common(&running.alive, &running.routed);
        self.await_difference(until_ns, |running| running.has_lost_something().then(|| left(running))).await
    }

    /// Waits until a known element appears that the routing in force does not serve, or until `until_ns`, then routes
    /// all that is present. None if nothing appeared. Newcomers during an earlier change count too. If something was
    /// lost as well, this call makes the change for the loss, and the next call, without waiting, the other (G.6).
    ///
    /// # Errors
    /// As for [`Driver::await_loss`].
    pub async fn await_growth(&mut self, until_ns: u64) -> Result<Option<ChangeRecord>, DriverError> {
        self.await_growth_without(until_ns, Fabric::clone).await
    }

    /// Like [`Driver::await_growth`]; the same change also removes from the routing what `aside` takes from the subnet,
    /// as a planned removal.
    ///
    /// # Errors
    /// As for [`Driver::await_loss`].
    pub async fn await_growth_without(
        &mut self,
        until_ns: u64,
        aside: impl Fn(&Fabric) -> Fabric,
    ) -> Result<Option<ChangeRecord>, DriverError> {
        let wanted = |running: &Running| match running.has_lost_something() {
            true => common(&running.alive, &running.routed),
            false => aside(&running.alive),
        };
        self.await_difference(until_ns, |running| running.has_grown().then(|| wanted(running))).await
    }

    async fn await_difference(
        &mut self,
        until_ns: u64,
        wanted: impl Fn(&Running) -> Option<Fabric>,
    ) -> Result<Option<ChangeRecord>, DriverError> {
        // A newcomer during the last change sent its trap then: waiting for another would never end.
        let mut noticed = self.noticed;
        loop {
            if !std::mem::take(&mut noticed) {
                let Some(event) = self.subnet.next_event(until_ns).await? else { return Ok(None) };
                tracing::info!(?event, "the subnet reports a change");
            }
            let glanced = self.glance().await?;
            if let Some(record) = &glanced
                && let Some(after) = wanted(&self.running)
            {
                let after = Arc::new(after);
                match self.prepare_meanwhile(self.preparation(after.clone())).await {
                    Ok(prepared) => return self.follow(record.clone(), &after, prepared).await.map(Some),
                    // What the glance saw may be half of what happened: the sweep below shows the rest.
                    Err(error) => tracing::warn!(%error, "no change for what a glance found: sweeping"),
                }
            }
            let Sighting { record, stranger, .. } = self.look().await?;
            if let Some(stranger) = stranger {
                return Err(stranger.into());
            }
            self.noticed = false;
            let Some(after) = wanted(&self.running) else { continue };
            let after = Arc::new(after);
            let prepared = self.prepare_meanwhile(self.preparation(after.clone())).await?;
            let found = glanced.map_or_else(|| record.clone(), |glance| record.with(&glance));
            return self.follow(found, &after, prepared).await.map(Some);
        }
    }

    /// Runs a change for what a glance or a sweep found.
    async fn follow(
        &mut self,
        found: PhaseRecord,
        after: &Fabric,
        prepared: Prepared,
    ) -> Result<ChangeRecord, DriverError> {
        // Elements that are alive but not part of this change are left for the next one.
        self.noticed |= lacks(after, &self.running.alive);
        let mut report = self.run(prepared).await?;
        report.sweep = Some(found);
        Ok(report)
    }
}

/// Simulated time that a manager takes to compute a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComputeTime {
    /// Nanoseconds.
    Given(u64),
    /// By scheme and size: what `cargo bench --bench reaction` measured (docs/REPAIR.md) for each row, that is, for
    /// each switch with each LID owner, on fabrics of 320 and 972 switches. Judging a change of scheme `ordered` takes
    /// a third of the time.
    Scaled,
}

impl Default for ComputeTime {
    fn default() -> ComputeTime {
        ComputeTime::Given(0)
    }
}

impl ComputeTime {
    /// Nanoseconds for a row of a plan of scheme `ordered`, and of the others.
    const ROW_NS: [u64; 2] = [700, 2_200];

    /// Nanoseconds for a change of a fabric by a scheme.
    pub fn of(self, fabric: &Fabric, scheme: Scheme) -> u64 {
        match self {
            ComputeTime::Given(ns) => ns,
            ComputeTime::Scaled => ComputeTime::ROW_NS[usize::from(scheme != Scheme::Ordered)] * fabric.rows() as u64,
        }
    }
}

/// A change that is to be prepared, from the state in which it was asked for.
#[derive(Clone)]
pub struct Preparation {
    /// The change, where it was prepared before.
    foreseen: Option<Prepared>,
    /// Whether hosts that have lost their paths are served first, and the rest later.
    hurries: bool,
    in_turn: bool,
    running: Running,
    intent: Intent,
    surviving: Arc<Fabric>,
    after: Arc<Fabric>,
    settle_ns: Option<u64>,
    base: Option<KnownBase>,
}

impl Preparation {
    /// This preparation, under time pressure: a change that reconnects hosts at once suffices if it is known to be safe
    /// ([`change::prepare_at_once`]). If something is still lost then, the next change serves the rest.
    #[must_use]
    pub fn hurried(self) -> Preparation {
        Preparation { hurries: true, ..self }
    }

    /// This change by the cheapest scheme that is proved, with the routing of another engine.
    pub fn otherwise(self, engine: Arc<dyn Engine>) -> Preparation {
        Preparation { foreseen: None, intent: Intent { engine, auto: true, ..self.intent }, ..self }
    }

    /// Prepares what forwarding entries alone serve of it, if they serve anybody: the last resort after a loss
    /// ([`change::prepare_partly`]).
    pub fn partly(self) -> Option<Prepared> {
        let Preparation { running, intent, surviving, after, settle_ns, base, .. } = self;
        let base = base.as_ref().and_then(KnownBase::get);
        change::prepare_partly(&running.change(&intent, surviving, after, settle_ns, base))
    }

    /// Prepares it.
    ///
    /// # Errors
    /// As for [`Driver::prepare`].
    pub fn carried_out(self) -> Result<Prepared, DriverError> {
        let Preparation { foreseen, hurries, in_turn, running, intent, surviving, after, settle_ns, base } = self;
        if let Some(foreseen) = foreseen {
            return Ok(foreseen);
        }
        let input = running.change(&intent, surviving, after, settle_ns, base.as_ref().and_then(KnownBase::get));
        let at_once = if hurries && intent.auto { change::prepare_at_once(&input) } else { None };
        at_once.map_or_else(|| prepared(&intent, input, settle_ns, in_turn), Ok)
    }
}

impl Running {
    /// What the SA answers from while nothing changes.
    pub fn outlook(&self) -> Outlook {
        let Running { routed, alive, tables, ways, half, sm, .. } = self;
        // Of what is lost and still routed there is nothing to answer.
        let fabric = shared(routed, alive);
        Outlook { fabric, tables: tables.clone(), ways: [ways.clone(), ways.clone()], half: *half, sm: *sm }
    }

    /// What it answers from while a plan runs: answers about the half in use stay valid, and there are paths on the
    /// other.
    fn outlook_of(&self, plan: &Plan) -> Outlook {
        let lfts = plan.tables_at(plan.waves().len()).lfts.clone();
        let mut ways = [self.ways.clone(), self.ways.clone()];
        ways[plan.new_half().index()] = plan.new_ways().cloned();
        let tables = SubnetTables { lfts, ..self.tables.clone() };
        Outlook { fabric: plan.draft().after.clone(), tables, ways, ..self.outlook() }
    }

    /// What it answers from while a plan runs that an earlier manager left within a wave. After the swap this is the
    /// new half from the start: a host that asks must not return to the half that is being drained and rewritten. There
    /// are no answers about elements that are gone since.
    fn outlook_within(&self, plan: &Plan, wave: usize) -> Outlook {
        let fabric = Arc::new(common(&self.alive, &plan.draft().after));
        Outlook { fabric, half: plan.answered_half(wave), ..self.outlook_of(plan) }
    }

    /// A change of it; `surviving` and `after` are as for [`ChangeInput`].
    fn change<'a>(
        &self,
        intent: &'a Intent,
        surviving: Arc<Fabric>,
        after: Arc<Fabric>,
        settle_ns: Option<u64>,
        base: Option<&'a ChangeBase>,
    ) -> ChangeInput<'a> {
        let InForce { before, tables, layers, ways, old, both_halves, policy, sm } =
            self.in_force(policy(intent, settle_ns));
        let (engine, scheme) = (&*intent.engine, intent.scheme);
        ChangeInput {
            before,
            surviving,
            after,
            tables,
            layers,
            ways,
            old,
            both_halves,
            engine,
            scheme,
            policy,
            sm,
            base,
        }
    }
}

/// Prepares a change in full.
fn prepared(
    intent: &Intent,
    input: ChangeInput<'_>,
    settle_ns: Option<u64>,
    in_turn: bool,
) -> Result<Prepared, DriverError> {
    let span = tracing::info_span!("prepare", scheme = %intent.scheme, engine = intent.engine.name());
    let _entered = span.enter();
    let prepared = match (intent.auto, intent.unproved_baselines) {
        (true, _) if in_turn => change::prepare_in_turn(input, settle_ns.unwrap_or(0)),
        (true, _) => change::prepare_cheapest(input, settle_ns.unwrap_or(0)),
        (false, true) => change::prepare_baseline(input),
        (false, false) => change::prepare(input),
    };
    prepared.map_err(|error| DriverError::Change(Box::new(error)))
}

/// How sources are moved is the subnet manager's to say; the plan records what that rests on.
fn policy(intent: &Intent, settle_ns: Option<u64>) -> Policy {
    Policy { sources: MovedBy::of_settle(settle_ns), ..intent.policy }
}
