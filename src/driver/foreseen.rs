//! Plans for losses that have not happened: prepared in a thread while the subnet is quiet, and taken when one of them
//! happens.
//!
//! A preparation is a function of the state of the subnet, the intent and the surviving fabric, and of nothing else. So
//! a plan that was prepared for the same three is the plan that would be prepared now; that they are the same is
//! checked before it is used. A plan is for the loss of one switch or of one cable between switches; other losses are
//! planned when they happen. Deliberately omitted: the loss of a host, which leaves nothing to be routed around.

use super::{Intent, Running, prepared};
use crate::change::{self, ChangeBase, Prepared};
use crate::fabric::difference::lacks;
use crate::fabric::{Fabric, NodeId, Port, PortId};
use crate::tables::{LFT_BLOCK, RoutingFunction};
use rustc_hash::{FxHashMap, FxHasher};
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a thread that pauses waits before it looks again.
const PAUSE: Duration = Duration::from_millis(20);

/// Of [`ForesightScope::WhereCheap`]: rows (switches times owners of LIDs) of all plans together. Planning takes one to
/// two microseconds for each, so that a core is busy for some twenty seconds after a change at most.
const CHEAP_ROWS: usize = 10_000_000;
/// Of [`ForesightScope::WhereCheap`]: about the bytes that plans take at most.
const CHEAP_BYTES: usize = 128 << 20;

/// Where plans for losses are prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForesightScope {
    /// On fabrics on which that keeps a core busy for seconds only.
    WhereCheap,
    /// On every fabric, as long as plans take at most about so many bytes; a running preparation needs memory on top.
    UpTo(usize),
}

impl ForesightScope {
    fn most_bytes(self) -> usize {
        match self {
            ForesightScope::WhereCheap => CHEAP_BYTES,
            ForesightScope::UpTo(bytes) => bytes,
        }
    }

    /// The losses for which plans are prepared.
    fn losses(self, fabric: &Fabric) -> Vec<ForeseenLoss> {
        let rows = if self == ForesightScope::WhereCheap { fabric.rows() } else { 0 };
        // Without a list of the cables of a large fabric.
        if rows.saturating_mul(fabric.switches().count()) > CHEAP_ROWS {
            return Vec::new();
        }
        let losses = losses(fabric);
        if rows.saturating_mul(losses.len()) > CHEAP_ROWS { Vec::new() } else { losses }
    }
}

/// Progress of the plans for single losses.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ForeseenCount {
    /// Switches and cables between switches that can be lost.
    pub losses: usize,
    /// Losses with a plan.
    pub ready: usize,
    /// Losses for which no plan can be prepared: the SM is cut off, or no scheme is proved.
    pub without: usize,
    /// Memory that the plans take, about, in bytes.
    pub bytes: usize,
    /// Whether the rest is not prepared for want of memory.
    pub full: bool,
}

/// Prepares plans for the losses that may happen next.
pub struct Foreseer {
    foresight: ForesightScope,
    at_work: Option<Work>,
    /// Held while a plan is prepared: a thread that ends with the plan in hand may still be there when the next begins.
    turn: Arc<Mutex<()>>,
}

/// Plans from one state of a subnet. When this is dropped, its thread stops after the current plan.
struct Work {
    from: PreparedFrom,
    shared: Arc<Shared>,
}

impl Drop for Work {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

/// What plans are prepared from.
#[derive(Clone)]
pub(super) struct PreparedFrom {
    pub running: Running,
    pub intent: Intent,
    pub settle_ns: Option<u64>,
    /// See [`super::Driver::plan_whole`].
    pub in_turn: bool,
}

impl PreparedFrom {
    /// Whether plans from it are plans from this state, whatever is present.
    fn is(&self, other: &PreparedFrom) -> bool {
        let (own, running) = (&self.running, &other.running);
        Arc::ptr_eq(&own.routed, &running.routed)
            && own.tables == running.tables
            && own.layers == running.layers
            && own.ways == running.ways
            && own.half == running.half
            && own.both_halves == running.both_halves
            && own.sm == running.sm
            && self.intent.is(&other.intent)
            && (self.settle_ns, self.in_turn) == (other.settle_ns, other.in_turn)
    }
}

/// A change that was prepared for later, and what it was prepared from: a driver takes it from that state alone.
#[derive(Clone)]
pub struct PreparedAhead {
    pub(super) change: Prepared,
    pub(super) from: PreparedFrom,
}

impl PreparedAhead {
    /// The change.
    pub fn change(&self) -> &Prepared {
        &self.change
    }
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Whether the manager has something to compute by itself.
    pause: AtomicBool,
    plans: Mutex<Plans>,
}

impl Shared {
    fn plans(&self) -> MutexGuard<'_, Plans> {
        // A thread that panicked left whole plans behind: each is stored in one step.
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Plans {
    /// By what [`missing`] says of the rest.
    by_rest: FxHashMap<u64, Vec<Prepared>>,
    count: ForeseenCount,
}

/// What may be lost.
#[derive(Clone, Copy)]
enum ForeseenLoss {
    Switch(NodeId),
    Cable(PortId),
}

impl Foreseer {
    /// A foreseer that has not started.
    pub fn new(foresight: ForesightScope) -> Foreseer {
        Foreseer { foresight, at_work: None, turn: Arc::default() }
    }

    /// One that knows this change, and prepares no other.
    pub(super) fn of_one(PreparedAhead { change, from }: PreparedAhead) -> Foreseer {
        let shared = Arc::<Shared>::default();
        let key = missing(&from.running.routed, &change.plan.plan().draft().surviving);
        shared.plans().by_rest.insert(key, vec![change]);
        Foreseer { at_work: Some(Work { from, shared }), ..Foreseer::new(ForesightScope::UpTo(0)) }
    }

    /// Its progress; no losses where none are foreseen.
    pub fn count(&self) -> ForeseenCount {
        self.at_work.as_ref().map(|work| work.shared.plans().count).unwrap_or_default()
    }

    /// Whether it has begun with this fabric, and foresees no loss of it.
    pub(super) fn rests_on(&self, routed: &Arc<Fabric>) -> bool {
        let is_without =
            |work: &Work| Arc::ptr_eq(&work.from.running.routed, routed) && work.shared.plans().count.losses == 0;
        self.at_work.as_ref().is_some_and(is_without)
    }

    /// Starts with the losses that may happen next, unless it has already started from this state.
    pub fn begin(&mut self, running: &Running, intent: &Intent, settle_ns: Option<u64>) {
        self.begin_from(PreparedFrom { running: running.clone(), intent: intent.clone(), settle_ns, in_turn: true });
    }

    pub(super) fn begin_from(&mut self, from: PreparedFrom) {
        if let Some(work) = self.at_work.as_ref().filter(|work| work.from.is(&from)) {
            work.shared.pause.store(false, Ordering::Relaxed);
            return;
        }
        let losses = self.foresight.losses(&from.running.routed);
        let shared = Arc::<Shared>::default();
        shared.plans().count.losses = losses.len();
        let (thread_from, thread_shared) = (from.clone(), shared.clone());
        self.at_work = Some(Work { from, shared });
        if losses.is_empty() {
            return;
        }
        let (most_bytes, turn) = (self.foresight.most_bytes(), self.turn.clone());
        // On a pool of its own: a loss that was not foreseen does not wait until these plans leave it a thread.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let work = move || match pool {
            Ok(pool) => pool.install(|| prepare_all(&thread_from, losses, most_bytes, &turn, &thread_shared)),
            Err(error) => tracing::warn!(%error, "no plans for losses to come from this state"),
        };
        if let Err(error) = std::thread::Builder::new().name("foresee".to_string()).spawn(work) {
            tracing::warn!(%error, "no plans for losses to come from this state");
        }
    }

    /// Prepares nothing more until [`Foreseer::begin`], once the plan in hand is done: the manager is at work itself.
    pub fn pause(&self) {
        self.at_work.iter().for_each(|work| work.shared.pause.store(true, Ordering::Relaxed));
    }

    /// Forgets all plans.
    pub fn forget(&mut self) {
        self.at_work = None;
    }

    /// The plan for what is left, if it was prepared from this very state.
    pub fn find(
        &self,
        running: &Running,
        intent: &Intent,
        settle_ns: Option<u64>,
        surviving: &Fabric,
        after: &Fabric,
    ) -> Option<Prepared> {
        let from = PreparedFrom { running: running.clone(), intent: intent.clone(), settle_ns, in_turn: true };
        self.find_from(&from, surviving, after)
    }

    pub(super) fn find_from(&self, from: &PreparedFrom, surviving: &Fabric, after: &Fabric) -> Option<Prepared> {
        let work = self.at_work.as_ref().filter(|work| work.from.is(from))?;
        let running = &from.running;
        let rest = change::within_reach(surviving, running.sm);
        let key = missing(&running.routed, &rest);
        let whole = if lacks(&running.routed, surviving) { surviving } else { &running.routed };
        let left = if after == surviving { &rest } else { &change::within_reach(after, running.sm) };
        let is_for = |prepared: &&Prepared| {
            let draft = prepared.plan.plan().draft();
            (&*draft.before, &*draft.surviving, &*draft.after, draft.sm) == (whole, &rest, left, running.sm)
        };
        work.shared.plans().by_rest.get(&key)?.iter().find(is_for).cloned()
    }
}

/// The switches, and then the cables between switches.
fn losses(fabric: &Fabric) -> Vec<ForeseenLoss> {
    let is_switch = |port| fabric.neighbour(port).is_some_and(|node| fabric.node(node).is_switch());
    let switches = fabric.switches().filter(|&node| fabric.node(node).present).map(ForeseenLoss::Switch);
    let cables = fabric.links().filter(|&(one, other)| is_switch(one) && is_switch(other));
    switches.chain(cables.map(|(one, _)| ForeseenLoss::Cable(one))).collect()
}

fn prepare_all(from: &PreparedFrom, losses: Vec<ForeseenLoss>, most_bytes: usize, turn: &Mutex<()>, shared: &Shared) {
    let PreparedFrom { running, intent, settle_ns, in_turn } = from;
    let mut ground: Option<Option<ChangeBase>> = None;
    for loss in losses {
        while shared.pause.load(Ordering::Relaxed) && !shared.stop.load(Ordering::Relaxed) {
            std::thread::sleep(PAUSE);
        }
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        let routed = &running.routed;
        let rest = match loss {
            ForeseenLoss::Switch(node) => routed.without_nodes(&[node]),
            ForeseenLoss::Cable(port) => routed.without_links(&[port]),
        };
        let rest = Arc::new(change::within_reach(&rest, running.sm));
        // All losses begin with the same routing.
        let ground =
            ground.get_or_insert_with(|| ChangeBase::of(&running.in_force(super::policy(intent, *settle_ns))).ok());
        let input = running.change(intent, rest.clone(), rest.clone(), *settle_ns, ground.as_ref());
        let found = prepared(intent, input, *settle_ns, *in_turn);
        let mut plans = shared.plans();
        let Ok(found) = found else {
            plans.count.without += 1;
            continue;
        };
        let bytes = plans.count.bytes + size(&found);
        if bytes > most_bytes {
            plans.count.full = true;
            return;
        }
        plans.count.bytes = bytes;
        plans.count.ready += 1;
        plans.by_rest.entry(missing(routed, &rest)).or_default().push(found);
    }
}

/// A number for the cables that a part of a fabric lacks.
fn missing(whole: &Fabric, rest: &Fabric) -> u64 {
    let mut hasher = FxHasher::default();
    let lacks = |&(id, _): &(PortId, &Port)| whole.peer(id).is_some() && rest.peer(id).is_none();
    whole.ports().filter(lacks).for_each(|(id, _)| id.hash(&mut hasher));
    hasher.finish()
}

/// About the bytes that a prepared change takes beyond what it shares with the state that it begins from.
fn size(prepared: &Prepared) -> usize {
    let then = prepared.then.as_deref().map_or(0, size);
    /// Of a port or a write with its entries, and of a pointer to a table.
    const ITEM: usize = 96;
    const POINTER: usize = 8;
    let plan = prepared.plan.plan();
    let fabric = &plan.draft().surviving;
    let writes: usize = plan.waves().iter().map(|wave| wave.writes.len()).sum();
    let own = |index: usize| {
        let (before, now) = (plan.tables_at(index), plan.tables_at(index + 1));
        let tables = now.lfts.iter().zip(&before.lfts).filter(|(now, before)| !Arc::ptr_eq(now, before));
        tables.map(|(now, _)| usize::from(now.blocks()) * LFT_BLOCK).sum::<usize>() + 4 * POINTER * now.lfts.len()
    };
    let waves: usize = (0..plan.waves().len()).map(own).sum();
    let routes = |function: &RoutingFunction| function.destinations().len() * function.paths();
    let reroute = fabric.switches().count() * prepared.function.as_deref().map_or(0, routes);
    // What survives, and what remains.
    2 * ITEM * fabric.port_count() + ITEM * writes + waves + reroute + then
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::ids::{Half, Lmc};
    use crate::lid;
    use crate::plan::{Policy, Scheme};
    use crate::routing::{Demand, Engine, UpDown};
    const SETTLE_NS: Option<u64> = Some(1000);

    fn running() -> Running {
        let plain = generate(&"fat-tree:4,2".parse().unwrap(), &Options::default()).unwrap();
        let fabric = Arc::new(lid::assign(&plain.with_capabilities(4, true), Lmc::masked(1)).unwrap());
        let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).unwrap();
        Running {
            known: fabric.clone(),
            routed: fabric.clone(),
            alive: fabric.clone(),
            tables: lid::bring_up(&fabric, &function, 4),
            layers: 1,
            ways: None,
            half: Half::Lower,
            both_halves: false,
            sm: fabric.end_ports().next().unwrap(),
        }
    }

    fn intent() -> Intent {
        Intent { auto: true, ..Intent::by(Arc::new(UpDown::default()), Scheme::Double, Policy::default()) }
    }

    fn from(running: &Running, intent: &Intent, settle_ns: Option<u64>) -> PreparedFrom {
        PreparedFrom { running: running.clone(), intent: intent.clone(), settle_ns, in_turn: true }
    }

    fn foreseer(most_bytes: usize) -> Foreseer {
        Foreseer::new(ForesightScope::UpTo(most_bytes))
    }

    /// Waits until nothing more is prepared.
    fn awaited(foreseer: &Foreseer) -> ForeseenCount {
        for _ in 0..6000 {
            let count = foreseer.count();
            if count.full || count.losses > 0 && count.ready + count.without == count.losses {
                return count;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("not ready after a minute: {:?}", foreseer.count());
    }

    /// What a manager finds after a loss: the dead switch and its hosts are there no more.
    fn rests(running: &Running) -> Vec<Arc<Fabric>> {
        let rest = |loss| match loss {
            ForeseenLoss::Switch(node) => running.routed.without_nodes(&[node]),
            ForeseenLoss::Cable(port) => running.routed.without_links(&[port]),
        };
        losses(&running.routed).into_iter().map(|loss| Arc::new(rest(loss))).collect()
    }

    #[test]
    fn what_was_prepared_before_is_what_is_prepared_now() {
        let (running, intent, mut foreseer) = (running(), intent(), foreseer(1 << 30));
        foreseer.begin_from(from(&running, &intent, SETTLE_NS));
        let count = awaited(&foreseer);
        // The SM's leaf has no plan.
        assert_eq!((count.losses, count.ready, count.without), (8 + 16, 23, 1), "{count:?}");
        let mut found = 0;
        for rest in rests(&running) {
            let input = running.change(&intent, rest.clone(), rest.clone(), SETTLE_NS, None);
            let now = prepared(&intent, input, SETTLE_NS, true);
            let before = foreseer.find_from(&from(&running, &intent, SETTLE_NS), &rest, &rest);
            assert_eq!(before.is_some(), now.is_ok());
            let (Some(before), Ok(now)) = (before, now) else { continue };
            assert!(before.plan == now.plan && before.function == now.function && before.stranded == now.stranded);
            assert_eq!((before.layers, before.routed_by), (now.layers, now.routed_by));
            found += 1;
        }
        assert_eq!(found, count.ready);
    }

    #[test]
    fn a_plan_from_another_state_or_for_another_loss_is_not_taken() {
        let (running, intent, mut foreseer) = (running(), intent(), foreseer(1 << 30));
        foreseer.begin_from(from(&running, &intent, SETTLE_NS));
        awaited(&foreseer);
        let rest = rests(&running).pop().unwrap();
        let finds = |running: &Running, intent: &Intent, settle_ns, surviving: &Fabric, after: &Fabric| {
            foreseer.find_from(&from(running, intent, settle_ns), surviving, after).is_some()
        };
        assert!(finds(&running, &intent, SETTLE_NS, &rest, &rest));
        // As a planned removal, it is not dead while the change runs.
        assert!(!finds(&running, &intent, SETTLE_NS, &running.routed, &rest));
        assert!(!finds(&running, &intent, Some(1001), &rest, &rest));
        assert!(!finds(&running, &intent, None, &rest, &rest));
        let fewer = rest.without_links(&[rest.links().next().unwrap().0]);
        assert!(!finds(&running, &intent, SETTLE_NS, &fewer, &fewer));
        let (mut other, mut otherwise) = (running.clone(), intent.clone());
        other.half = Half::Upper;
        otherwise.auto = false;
        assert!(!finds(&other, &intent, SETTLE_NS, &rest, &rest));
        assert!(!finds(&running, &otherwise, SETTLE_NS, &rest, &rest));
        let mut written = running.clone();
        let switch = written.routed.switches().next().unwrap();
        let lid = written.routed.port(written.sm).lid.unwrap();
        Arc::make_mut(&mut written.tables.lfts[switch.index()]).set(lid, crate::ids::PortNum::NO_ROUTE);
        assert!(!finds(&written, &intent, SETTLE_NS, &rest, &rest));
    }

    /// Whatever hands a change to a driver: in another state, or with another intent, the driver prepares its own.
    #[test]
    fn a_change_that_was_prepared_for_later_is_taken_with_what_it_was_prepared_with_alone() {
        let (running, intent) = (running(), intent());
        let rest = rests(&running).pop().unwrap();
        let input = running.change(&intent, rest.clone(), rest.clone(), SETTLE_NS, None);
        let change = prepared(&intent, input, SETTLE_NS, true).unwrap();
        let own = from(&running, &intent, SETTLE_NS);
        let foreseer = Foreseer::of_one(PreparedAhead { change, from: own.clone() });
        let takes = |other: &PreparedFrom| foreseer.find_from(other, &rest, &rest).is_some();
        let with_less = PreparedFrom { running: Running { alive: rest.clone(), ..running }, ..own.clone() };
        assert!(takes(&own) && takes(&with_less));
        let other_engine = Intent { engine: Arc::new(UpDown::default()), ..intent.clone() };
        for other in [
            PreparedFrom { intent: Intent { auto: false, ..intent.clone() }, ..own.clone() },
            PreparedFrom { intent: other_engine, ..own.clone() },
            PreparedFrom { settle_ns: None, ..own.clone() },
            PreparedFrom { in_turn: false, ..own.clone() },
            PreparedFrom { running: Running { both_halves: true, ..own.running.clone() }, ..own.clone() },
        ] {
            assert!(!takes(&other));
        }
    }

    /// 24 losses of 192 rows, and 7,776 of 6,614,460.
    #[test]
    fn plans_for_losses_come_by_themselves_where_they_are_cheap() {
        let foreseen = |topology: &str| {
            let fabric = generate(&topology.parse().unwrap(), &Options::default()).unwrap();
            let fabric = lid::assign(&fabric.with_capabilities(4, true), Lmc::masked(1)).unwrap();
            ForesightScope::WhereCheap.losses(&fabric).len()
        };
        assert_eq!((foreseen("fat-tree:4,2"), foreseen("fat-tree:4,3"), foreseen("fat-tree:18,3")), (24, 176, 0));
        // Few switches with many cables.
        assert_eq!(foreseen("leaf-spine:48,16,8"), 0);
    }

    #[test]
    fn memory_is_bounded_and_said() {
        const MOST: usize = 200_000;
        let (running, intent, mut foreseer) = (running(), intent(), foreseer(MOST));
        foreseer.begin_from(from(&running, &intent, SETTLE_NS));
        let count = awaited(&foreseer);
        assert!(count.full && count.bytes <= MOST && count.ready < count.losses - 1, "{count:?}");
    }
}
