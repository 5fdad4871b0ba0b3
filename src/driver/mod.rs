//! Joins change, machine and subnet into one future: it takes in events, lets the machine decide, and carries out its
//! commands.
//!
//! On entry: a [`SubnetManager`] and what is known of the subnet ([`Running`]). On return of a change: a
//! [`ChangeRecord`], and `Running` as it is now, so that the next change starts from there. Between two commands the
//! driver checks whether the subnet changed: an event counts as a change only when a sweep sees one, since traps repeat
//! and come late. Writes to what died count as done. What comes disturbs no change under way: the next one serves it,
//! and it must be known beforehand ([`fabric::difference`](crate::fabric::difference) makes the union of two fabrics).
//! Lacks on purpose: any decision (`machine`), a journal that outlives the process.

mod error;
mod execution;
mod record;
mod watch;

pub use error::DriverError;
pub use record::{ChangeRecord, PhaseRecord};
pub use watch::Sighting;

use crate::change::{self, ChangeInput, Prepared};
use crate::fabric::{Fabric, PortId};
use crate::ids::Half;
use crate::machine::{State, Ticket};
use crate::plan::{Policy, Scheme};
use crate::routing::Engine;
use crate::subnet::SubnetManager;
use crate::tables::{Lft, PathLayers, SubnetTables};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// What is known of a running subnet. All fabrics share one index space.
#[derive(Clone, Debug)]
pub struct Running {
    /// Every node and cable that the subnet had, has or will have, LIDs assigned: what a sweep is compared with.
    pub known: Arc<Fabric>,
    /// What the routing in force was made for.
    pub routed: Arc<Fabric>,
    /// What is present now.
    pub alive: Arc<Fabric>,
    /// The tables in force.
    pub tables: SubnetTables,
    /// Virtual layers that the routing in force needs.
    pub layers: u8,
    /// Which source sends by which of its paths, on which layer; none where every source may use every path.
    pub ways: Option<Arc<PathLayers>>,
    /// The half in use.
    pub half: Half,
    /// The SM's own port.
    pub sm: PortId,
}

/// How changes are made.
#[derive(Clone)]
pub struct Intent {
    /// Who computes new routings.
    pub engine: Rc<dyn Engine>,
    /// How they are brought in.
    pub scheme: Scheme,
    /// What the user settled.
    pub policy: Policy,
    /// Whether plans of baseline schemes run although the prover refused them, to see what becomes of it.
    pub unproved_baselines: bool,
}

/// Asks a driver, from outside its future, to call its change off.
#[derive(Clone, Debug, Default)]
pub struct AbortHandle(Rc<Cell<bool>>);

impl AbortHandle {
    /// Requests it. The driver takes the request before the next command; from the swap on it is declined.
    pub fn abort(&self) {
        self.0.set(true);
    }

    fn take(&self) -> bool {
        self.0.take()
    }
}

/// Shows, from outside its future, which states a driver's change has come to.
#[derive(Clone, Debug, Default)]
pub struct Trail(Rc<RefCell<Vec<&'static str>>>);

impl Trail {
    /// The states entered since this was asked last, in order, by their names in `state-machines/change.yaml`.
    pub fn take(&self) -> Vec<&'static str> {
        self.0.take()
    }

    fn enter(&self, state: &'static str) {
        self.0.borrow_mut().push(state);
    }
}

/// Drives changes of one subnet.
pub struct Driver<S> {
    subnet: S,
    running: Running,
    intent: Intent,
    state: State,
    /// The change that stands still, where one does.
    halted: Option<Prepared>,
    /// Something came while a change was under way, and no change has served it yet.
    noticed: bool,
    abort: AbortHandle,
    trail: Trail,
}

impl<S: SubnetManager> Driver<S> {
    /// A driver of a subnet that runs as described by `running`.
    pub fn new(mut subnet: S, running: Running, intent: Intent) -> Driver<S> {
        // Tickets rise with the transport's clock, so that a second driver's are above a first one's.
        let first = Ticket::at(subnet.now_ns());
        subnet.set_topology(&running.alive, running.sm);
        let (abort, trail) = (AbortHandle::default(), Trail::default());
        Driver { subnet, running, intent, state: State::starting_at(first), halted: None, noticed: false, abort, trail }
    }

    /// The subnet manager.
    pub fn subnet(&self) -> &S {
        &self.subnet
    }

    /// The subnet manager, to be used between changes.
    pub fn subnet_mut(&mut self) -> &mut S {
        &mut self.subnet
    }

    /// The subnet manager, when the driver is needed no more.
    pub fn into_subnet(self) -> S {
        self.subnet
    }

    /// The subnet as it is now.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Where the last change stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What calls the change under way off.
    pub fn abort_handle(&self) -> AbortHandle {
        self.abort.clone()
    }

    /// What shows which states the change under way has come to.
    pub fn trail(&self) -> Trail {
        self.trail.clone()
    }

    /// Widens what the driver knows: `whole` begins with the nodes and ports that are known, LIDs assigned. The next
    /// [`Driver::look`] shows what of it is present.
    ///
    /// # Panics
    /// `whole` has fewer nodes or ports than are known.
    pub fn widen(&mut self, whole: Arc<Fabric>) {
        let (known, given) = (self.running.known.node_count(), whole.node_count());
        assert!(given >= known, "{given} nodes are not the {known} known ones and more");
        self.running = self.running.widened(whole);
        self.subnet.set_topology(&self.running.alive, self.running.sm);
    }

    /// Records forwarding tables that were written past the driver, between two changes.
    pub fn tables_are(&mut self, lfts: Vec<Arc<Lft>>) {
        assert_eq!(lfts.len(), self.running.tables.lfts.len(), "one forwarding table for each node");
        self.running.tables.lfts = lfts;
    }

    /// Changes how later changes are made.
    pub fn intend(&mut self, intent: Intent) {
        self.intent = intent;
    }

    /// From now on tickets are `first` and above. Devices that keep what they were asked under a ticket must never be
    /// asked under the same one twice, by any driver.
    pub fn begin_tickets_at(&mut self, first: Ticket) {
        self.state = State::starting_at(first);
    }

    /// Prepares the change of the routing to what `after` leaves of the fabric: a planned removal, whose elements leave
    /// when the change is done. Writes nothing.
    ///
    /// # Errors
    /// The change cannot be routed, planned or proved.
    pub fn prepare(&self, after: Arc<Fabric>) -> Result<Prepared, DriverError> {
        let input = ChangeInput {
            before: self.running.routed.clone(),
            // What has left the routing, and is not to come back, takes no part.
            surviving: Arc::new(watch::in_either(&self.running.alive, [&self.running.routed, &after])),
            after,
            tables: self.running.tables.clone(),
            layers: self.running.layers,
            ways: self.running.ways.clone(),
            old: self.running.half,
            engine: &*self.intent.engine,
            scheme: self.intent.scheme,
            policy: self.intent.policy,
            sm: self.running.sm,
        };
        let span = tracing::info_span!("prepare", scheme = %self.intent.scheme, engine = self.intent.engine.name());
        let _entered = span.enter();
        let prepared =
            if self.intent.unproved_baselines { change::prepare_baseline(input) } else { change::prepare(input) };
        prepared.map_err(|error| DriverError::Change(Box::new(error)))
    }

    /// A planned change, from its preparation to its end. If the subnet changes meanwhile and the change is called off
    /// for that reason, it starts again from what is present then.
    ///
    /// # Errors
    /// It cannot be prepared, or the SM's own port failed.
    pub async fn change_to(&mut self, after: Arc<Fabric>) -> Result<ChangeRecord, DriverError> {
        let prepared = self.prepare(after)?;
        self.run(prepared).await
    }

    /// Waits until the subnet has lost something, or `until_ns` has come, then routes what is left. None where nothing
    /// was lost.
    ///
    /// # Errors
    /// The sweep failed, found more than is known, or the change cannot be prepared.
    pub async fn await_loss(&mut self, until_ns: u64) -> Result<Option<ChangeRecord>, DriverError> {
        let left = |running: &Running| watch::common(&running.alive, &running.routed);
        self.await_difference(until_ns, |running| running.has_lost_something().then(|| left(running))).await
    }

    /// Waits until something known has come to the subnet that the routing in force does not serve, or `until_ns` has
    /// come, then routes all that is present. None where nothing came. What came during an earlier change counts too.
    /// Where something was lost as well, this call makes the change for the loss, and the next call, without waiting,
    /// the other (G.6).
    ///
    /// # Errors
    /// As for [`Driver::await_loss`].
    pub async fn await_growth(&mut self, until_ns: u64) -> Result<Option<ChangeRecord>, DriverError> {
        let wanted = |running: &Running| match running.has_lost_something() {
            true => watch::common(&running.alive, &running.routed),
            false => (*running.alive).clone(),
        };
        self.await_difference(until_ns, |running| running.has_grown().then(|| wanted(running))).await
    }

    async fn await_difference(
        &mut self,
        until_ns: u64,
        wanted: impl Fn(&Running) -> Option<Fabric>,
    ) -> Result<Option<ChangeRecord>, DriverError> {
        // What came during the last change sent its trap then: waiting for another would wait forever.
        let mut noticed = self.noticed;
        loop {
            if !std::mem::take(&mut noticed) {
                let Some(event) = self.subnet.next_event(until_ns).await? else { return Ok(None) };
                tracing::info!(?event, "the subnet reports a change");
            }
            let sighting = self.look().await?;
            if let Some(stranger) = sighting.stranger {
                return Err(stranger.into());
            }
            let Some(after) = wanted(&self.running) else { continue };
            // What is alive and not in this change is left for the next one.
            self.noticed = watch::lacks(&after, &self.running.alive);
            let prepared = self.prepare(Arc::new(after))?;
            let mut report = self.run(prepared).await?;
            report.sweep = Some(sighting.record);
            return Ok(Some(report));
        }
    }
}
