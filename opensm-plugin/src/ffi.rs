//! The only unsafe code: the shim's plain structures (`shim/shim.h`) into values, and tables back.
//!
//! Every function that C calls catches panics: a fault of ours is a failed run of this engine, never OpenSM's end.

use crate::ahead::ProofThread;
use crate::answer::{Again, Level, RunAnswer, RunFailure, RunOutcome};
use crate::config::{Multicast, PluginConfig};
use crate::decision::EngineState;
use crate::levels::GivenLevels;
use crate::metrics::{MeteredRun, RunMetrics, Sizes};
use crate::multicast::{TreeBuilder, TreeRow};
use crate::plain::{
    BLOCK_SILENT, BLOCK_WANTED, EVENT_HEAVY_SWEEP, EVENT_SUBNET_UP, EVENT_TAKEN_OVER, EVENT_WRITTEN, LEVEL_ERROR,
    LEVEL_INFO, NO_PEER, PlainFabric, PlainMember, PlainNode, PlainPort, PlainTree,
};
use crate::sight::{SeenNode, SeenPort, SeenSubnet, SeenTable};
use crate::watch::{WatchNeeds, WatchThread};
use crate::worker::{Clerk, Outside, Worker};
use reconfig::fabric::Fabric;
use reconfig::ids::{Guid, Lid, PortNum, Sl};
use reconfig::tables::LFT_BLOCK;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const FAILED: c_int = -1;
const MORE_FOLLOWS: c_int = 1;

unsafe extern "C" {
    fn reconfig_log(osm: *mut c_void, level: c_int, text: *const c_char);
    fn reconfig_sweep(osm: *mut c_void);
    fn reconfig_sweep_all(osm: *mut c_void);
    fn reconfig_read_trees(osm: *mut c_void, rows: *mut *mut PlainTree) -> i64;
    fn reconfig_free_trees(rows: *mut PlainTree);
    fn reconfig_stand_back();
    fn reconfig_plugin() -> *const c_void;
}

/// Nothing else in Rust names the shim, so without this the linker would leave it out.
#[used]
static SHIM: unsafe extern "C" fn() -> *const c_void = reconfig_plugin;

/// OpenSM's own structure, of which we know nothing but where it is.
#[derive(Clone, Copy)]
struct Osm(*mut c_void);

// SAFETY: what is done with it, logging and asking for a sweep, OpenSM does from several threads itself, and it
// outlives the plugin: OpenSM destroys its plugins first.
unsafe impl Send for Osm {}

impl Osm {
    fn log(self, level: Level, text: &str) {
        let level = if level == Level::Error { LEVEL_ERROR } else { LEVEL_INFO };
        let text = CString::new(text.replace('\0', "?")).unwrap_or_default();
        // SAFETY: the pointer is OpenSM's, see above; the text ends with a zero and outlives the call.
        unsafe { reconfig_log(self.0, level, text.as_ptr()) }
    }

    fn sweep(self) {
        // SAFETY: the pointer is OpenSM's, see above.
        unsafe { reconfig_sweep(self.0) }
    }

    fn sweep_all(self) {
        // SAFETY: the pointer is OpenSM's, see above.
        unsafe { reconfig_sweep_all(self.0) }
    }

    /// What OpenSM's multicast tables hold. Takes OpenSM's lock, so the caller holds no lock that runs of the engine
    /// take.
    fn trees(self) -> Option<Vec<TreeRow>> {
        let mut rows = null_mut();
        // SAFETY: the pointer is OpenSM's, see above; the shim allots as many rows as it counts, and takes them back.
        unsafe {
            let count = usize::try_from(reconfig_read_trees(self.0, &raw mut rows)).ok()?;
            let read = slice::from_raw_parts(rows, count).iter().map(tree_row).collect();
            reconfig_free_trees(rows);
            Some(read)
        }
    }
}

/// What a call from C works on.
struct Engine {
    osm: Osm,
    started: Instant,
    state: Mutex<State>,
    // Before the worker, to which it tells what it counts.
    watch: WatchThread,
    worker: Arc<Worker>,
    metrics: Arc<Mutex<RunMetrics>>,
    /// Whether trees of multicast are ours.
    orders: bool,
    /// Where levels that were given out are kept; nowhere without `layers`.
    kept: Option<PathBuf>,
    /// By LID: the port, and the levels that hosts are told. Apart from the state, which a run of the routing holds.
    told: Mutex<Option<(Arc<Fabric>, Arc<GivenLevels>)>>,
}

struct State {
    /// Why there is none: the settings cannot be used.
    router: Result<EngineState, String>,
    again: Option<Again>,
    ahead: ProofThread,
    trees: TreeBuilder,
    /// Whether a tree lacks members on switches that the routing takes in later.
    trees_lack: bool,
    /// PortGUID of OpenSM's port in the last run.
    sm: u64,
}

impl Engine {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while it was held was a failed run; what the router remembers is compared with the switches anyway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Keeps levels that have changed, and answers by them from now on.
    fn tell_levels(
        &self,
        router: &mut EngineState,
        before: Option<Arc<GivenLevels>>,
        fabric: &Arc<Fabric>,
    ) -> Result<(), RunFailure> {
        let Some(file) = &self.kept else { return Ok(()) };
        let levels = router.levels().cloned();
        if levels != before {
            let kept = match &levels {
                Some(levels) => levels.write(file),
                None => std::fs::remove_file(file).map_err(|error| format!("{}: {error}", file.display())),
            };
            if let Err(why) = kept {
                router.take_up(before);
                return Err(RunFailure::Levels(why));
            }
        }
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = levels.map(|levels| (fabric.clone(), levels));
        Ok(())
    }

    /// The level from one LID to another.
    fn level(&self, source: u16, destination: u16) -> Option<u8> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let (fabric, levels) = told.as_ref()?;
        let guid = |lid| fabric.lid_owner(Lid(lid)).map(|port| fabric.port_guid(port));
        levels.level(guid(source)?, guid(destination)?).map(Sl::get)
    }
}

/// Runs what C asked for; a panic becomes an error in OpenSM's log and `failed`.
fn guarded<T>(engine: &Engine, what: &str, failed: T, run: impl FnOnce(&Engine) -> T) -> T {
    catch_unwind(AssertUnwindSafe(|| run(engine))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("no message");
        engine.osm.log(Level::Error, &format!("a fault of ours while {what}: {text}; please report it"));
        failed
    })
}

#[unsafe(no_mangle)]
extern "C" fn reconfig_start(osm: *mut c_void, options: *const c_char, port: u64) -> *mut c_void {
    let osm = Osm(osm);
    let started = catch_unwind(|| {
        // SAFETY: OpenSM's option is a text that ends with a zero, or none.
        let options = (!options.is_null()).then(|| unsafe { CStr::from_ptr(options) }.to_string_lossy().into_owned());
        start(osm, options.as_deref(), Guid(port))
    });
    match started {
        Ok(Ok(engine)) => Box::into_raw(Box::new(engine)).cast(),
        Ok(Err(error)) => {
            osm.log(Level::Error, &format!("no thread is to be had: {error}"));
            null_mut()
        }
        Err(_) => {
            osm.log(Level::Error, "a fault of ours while starting; please report it");
            null_mut()
        }
    }
}

fn start(osm: Osm, options: Option<&str>, port: Guid) -> std::io::Result<Engine> {
    let config = PluginConfig::load(options).map(|config| config.of_port(port)).map_err(|error| error.to_string());
    match &config {
        Ok(config) => {
            let engines = config.engines.join(", ");
            osm.log(Level::Info, &format!("routing engine `reconfig` is ready; base engines: {engines}"));
        }
        Err(why) => osm.log(Level::Error, &format!("routing engine `reconfig` will fail until this is mended: {why}")),
    }
    let orders = config.as_ref().is_ok_and(|config| config.multicast == Multicast::Ordered);
    let kept = config.as_ref().ok().and_then(|config| config.layers.as_ref()).map(|layers| layers.file.clone());
    let evidence = config.as_ref().ok().and_then(|config| config.evidence.clone());
    let metrics = config.as_ref().ok().and_then(|config| config.metrics.clone());
    let mut router = config.and_then(|config| EngineState::new(config).map_err(|error| error.to_string()));
    if let Some(file) = &kept {
        router = router.and_then(|router| with_levels(osm, router, file));
    }
    let worker = Worker::start(Outside {
        sweep: Box::new(move || ask(osm)),
        clerk: Clerk { complain: Box::new(move |text| complain(osm, text)), stand_back, evidence, metrics },
    })?;
    let (worker, metrics) = (Arc::new(worker), Arc::new(Mutex::new(RunMetrics::default())));
    let watch = WatchThread::start(WatchNeeds {
        look: Box::new(move || look(osm)),
        say: Box::new(move |level, text| say(osm, level, text)),
        count: {
            let (worker, metrics) = (worker.clone(), metrics.clone());
            Box::new(move |trees, ring| counted(&worker, &metrics, |metrics| metrics.judged(trees, ring)))
        },
        stand_back,
        rebuild: orders.then(|| -> Box<dyn Fn() + Send> { Box::new(move || rebuild(osm)) }),
    })?;
    let (ahead, trees) = (ProofThread::start(stand_back)?, TreeBuilder::default());
    let state = Mutex::new(State { router, again: None, ahead, trees, trees_lack: false, sm: 0 });
    Ok(Engine { osm, started: Instant::now(), state, watch, worker, metrics, orders, kept, told: Mutex::default() })
}

/// With the levels that hosts were given before OpenSM started.
fn with_levels(osm: Osm, mut router: EngineState, file: &Path) -> Result<EngineState, String> {
    let held = GivenLevels::read(file).map_err(|why| {
        format!(
            "the service levels that hosts send on are not known: {why}; where no host keeps a path, remove the file"
        )
    })?;
    if let Some(levels) = held {
        let (layers, file) = (levels.layers(), file.display());
        osm.log(Level::Info, &format!("hosts send on {layers} service levels, as {file} says"));
        router.take_up(Some(Arc::new(levels)));
    }
    Ok(router)
}

// Functions take `Osm` whole: a closure that named its field would hold a bare pointer, which cannot move to a thread.
fn ask(osm: Osm) {
    osm.sweep();
}

fn stand_back() {
    // SAFETY: it takes nothing and changes the priority of the calling thread alone.
    unsafe { reconfig_stand_back() }
}

fn complain(osm: Osm, text: &str) {
    osm.log(Level::Error, text);
}

fn say(osm: Osm, level: Level, text: &str) {
    osm.log(level, text);
}

/// Counts something, and publishes all counts.
fn counted(worker: &Worker, metrics: &Mutex<RunMetrics>, count: impl FnOnce(&mut RunMetrics)) {
    let mut metrics = metrics.lock().unwrap_or_else(PoisonError::into_inner);
    count(&mut metrics);
    worker.publish(metrics.text());
}

fn look(osm: Osm) -> Option<Vec<TreeRow>> {
    osm.trees()
}

fn rebuild(osm: Osm) {
    osm.sweep_all();
}

#[unsafe(no_mangle)]
extern "C" fn reconfig_stop(engine: *mut c_void) {
    if !engine.is_null() {
        // SAFETY: it is what reconfig_start made, and the shim stops an engine once, when nothing else can call it.
        let engine = unsafe { Box::from_raw(engine.cast::<Engine>()) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(engine)));
    }
}

#[unsafe(no_mangle)]
extern "C" fn reconfig_unsure(engine: *mut c_void, fabric: *mut PlainFabric) -> i64 {
    // SAFETY: the shim passes what reconfig_start made, and a fabric that is its own until this returns.
    let (engine, fabric) = unsafe { (&*engine.cast::<Engine>(), &mut *fabric) };
    guarded(engine, "looking for unknown tables", i64::from(FAILED), |engine| {
        let mut state = engine.state();
        let router = match &mut state.router {
            Ok(router) => router,
            Err(why) => {
                engine.osm.log(Level::Error, why);
                return i64::from(FAILED);
            }
        };
        let unsure = router.unsure(&seen(fabric));
        let nodes = nodes(fabric);
        for &(node, block) in &unsure {
            let blocks = nodes[node].lft_size as usize / LFT_BLOCK;
            assert!(usize::from(block) < blocks, "block {block} of a table of {blocks}");
            // SAFETY: the shim allotted a byte for each block of the table.
            unsafe { *nodes[node].blocks.add(usize::from(block)) = BLOCK_WANTED };
        }
        unsure.len() as i64
    })
}

#[unsafe(no_mangle)]
extern "C" fn reconfig_route(engine: *mut c_void, fabric: *mut PlainFabric) -> c_int {
    // SAFETY: as for reconfig_unsure.
    let (engine, fabric) = unsafe { (&*engine.cast::<Engine>(), &mut *fabric) };
    let now = engine.now();
    let mut run = MeteredRun { outcome: RunOutcome::Failed, writes: false, took: Duration::ZERO };
    let (mut sizes, mut waves_left) = (None, 0);
    let result = guarded(engine, "routing", FAILED, |engine| {
        let mut state = engine.state();
        (state.again, state.sm) = (None, fabric.sm_port_guid);
        let routed = match &mut state.router {
            Ok(router) => seen(fabric).sight().map_err(RunFailure::from).and_then(|sight| {
                sizes = Some(Sizes::of(&sight.fabric));
                let before = router.levels().cloned();
                let answer = router.route(&sight, now)?;
                engine.tell_levels(router, before, &sight.fabric)?;
                Ok(answer)
            }),
            Err(why) => {
                engine.osm.log(Level::Error, why);
                return FAILED;
            }
        };
        let took = engine.now() - now;
        waves_left = state.router.as_ref().map_or(0, EngineState::waves_left);
        match routed {
            Ok(answer) => {
                state.again = answer.again;
                let (outcome, writes, more_follows) = (answer.outcome, answer.writes, answer.more_follows);
                hand_over(engine, fabric, answer, took);
                run = MeteredRun { outcome, writes, took };
                if !more_follows {
                    return 0;
                }
                state.router.iter_mut().for_each(EngineState::asks);
                MORE_FOLLOWS
            }
            Err(failure) => {
                engine.osm.log(
                    Level::Error,
                    &format!("this engine fails, and OpenSM goes on as it is configured to: {failure}"),
                );
                FAILED
            }
        }
    });
    let run = MeteredRun { took: engine.now() - now, ..run };
    guarded(engine, "counting", (), |engine| {
        counted(&engine.worker, &engine.metrics, |metrics| metrics.ran(run, waves_left, sizes));
    });
    result
}

fn hand_over(engine: &Engine, fabric: &mut PlainFabric, answer: RunAnswer, took: Duration) {
    for note in &answer.notes {
        engine.osm.log(note.level, &format!("{} [{} ms]", note.text, took.as_millis()));
    }
    answer.accepted.into_iter().for_each(|accepted| engine.worker.keep(accepted));
    for (node, lft) in nodes(fabric).iter_mut().zip(&answer.lfts).filter(|(node, _)| !node.wanted_lft.is_null()) {
        // SAFETY: the shim says how many entries OpenSM has allotted for what it is to write, and holds OpenSM's lock.
        let wanted = unsafe { slice::from_raw_parts_mut(node.wanted_lft, node.lft_size as usize) };
        for (entries, block) in wanted.chunks_exact_mut(LFT_BLOCK).zip(0..) {
            entries.copy_from_slice(&lft.block(block));
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn reconfig_event(engine: *mut c_void, event: c_int) {
    // SAFETY: the shim passes what reconfig_start made.
    let engine = unsafe { &*engine.cast::<Engine>() };
    guarded(engine, "hearing of an event", (), |engine| {
        let now = engine.now();
        let mut guard = engine.state();
        let state = &mut *guard;
        if event == EVENT_TAKEN_OVER {
            return taken_over(engine, state);
        }
        let due = match (event, state.again) {
            (EVENT_WRITTEN, Some(Again::Written)) | (EVENT_SUBNET_UP, Some(Again::Up)) => Some(Duration::ZERO),
            (EVENT_WRITTEN, Some(Again::Later(wait))) => Some(wait),
            _ => None,
        };
        if let Ok(router) = &mut state.router {
            match event {
                EVENT_HEAVY_SWEEP => router.sweeps(),
                EVENT_WRITTEN => router.written(now),
                _ => {}
            }
            if due.is_some() {
                router.asks();
            }
            // While a run waits there is time, too.
            let is_idle = matches!(state.again, None | Some(Again::Later(_)));
            if event != EVENT_HEAVY_SWEEP && is_idle {
                let in_force = router.in_force(Guid(state.sm));
                in_force.into_iter().for_each(|routing| router.know(state.ahead.begin(routing)));
            }
        }
        let unicast = state.router.as_ref().ok().filter(|_| event != EVENT_HEAVY_SWEEP).and_then(EngineState::unicast);
        unicast.into_iter().for_each(|unicast| engine.watch.tell(unicast));
        // OpenSM builds trees in whole sweeps only.
        if event == EVENT_WRITTEN && state.again.is_none() && std::mem::take(&mut state.trees_lack) {
            engine.osm.sweep_all();
        }
        if let Some(wait) = due {
            state.again = None;
            engine.worker.run_in(wait);
        }
    });
}

/// OpenSM was standby: tables, and service levels, may be another master's.
fn taken_over(engine: &Engine, state: &mut State) {
    let router = std::mem::replace(&mut state.router, Err("service levels are being read".to_string()));
    state.router = router.and_then(|mut router| {
        router.forget();
        match &engine.kept {
            Some(file) => with_levels(engine.osm, router, file),
            None => Ok(router),
        }
    });
}

#[unsafe(no_mangle)]
extern "C" fn reconfig_orders_trees(engine: *mut c_void) -> c_int {
    // SAFETY: the shim passes what reconfig_start made.
    c_int::from(unsafe { &*engine.cast::<Engine>() }.orders)
}

#[unsafe(no_mangle)]
extern "C" fn reconfig_gives_levels(engine: *mut c_void) -> c_int {
    // SAFETY: the shim passes what reconfig_start made.
    c_int::from(unsafe { &*engine.cast::<Engine>() }.kept.is_some())
}

#[unsafe(no_mangle)]
extern "C" fn reconfig_path_sl(engine: *mut c_void, hint: u8, source: u16, destination: u16) -> u8 {
    // SAFETY: the shim passes what reconfig_start made.
    let engine = unsafe { &*engine.cast::<Engine>() };
    guarded(engine, "looking up a service level", hint, |engine| engine.level(source, destination).unwrap_or(hint))
}

#[unsafe(no_mangle)]
extern "C" fn reconfig_order_tree(
    engine: *mut c_void,
    members: *const PlainMember,
    member_count: u32,
    rows: *mut PlainTree,
    row_count: u32,
) -> c_int {
    // SAFETY: the shim passes what reconfig_start made, and as many members and rows as it counts, its own until this
    // returns.
    let (engine, members, rows) = unsafe {
        (
            &*engine.cast::<Engine>(),
            slice::from_raw_parts(members, member_count as usize),
            slice::from_raw_parts_mut(rows, row_count as usize),
        )
    };
    guarded(engine, "building a multicast tree", FAILED, |engine| {
        let Some(mlid) = rows.first().map(|row| row.mlid) else { return FAILED };
        let mut state = engine.state();
        let Some(unicast) = state.router.as_ref().ok().and_then(EngineState::unicast) else {
            let text = format!("MLID 0x{mlid:x} gets no tree: what unicast is in force is not known");
            engine.osm.log(Level::Error, &text);
            return FAILED;
        };
        let members: Vec<(Guid, PortNum)> =
            members.iter().map(|member| (Guid(member.guid), PortNum(member.port))).collect();
        let switches = rows.iter().map(|row| Guid(row.guid)).collect();
        match state.trees.build(&unicast, mlid, &members, &switches) {
            Ok(tree) => {
                let complain = |text: &String| engine.osm.log(Level::Error, &format!("multicast: {text}"));
                tree.complaints.iter().for_each(complain);
                state.trees_lack |= tree.ahead;
                for row in rows {
                    let own = tree.rows.iter().find(|own| own.switch.0 == row.guid);
                    for port in own.into_iter().flat_map(|own| &own.ports) {
                        row.ports[port.index() / 8] |= 1 << (port.index() % 8);
                    }
                }
                0
            }
            Err(refusal) => {
                let text = format!("MLID 0x{mlid:x} gets no tree, because unicast is not sound: {refusal}");
                engine.osm.log(Level::Error, &text);
                FAILED
            }
        }
    })
}

fn tree_row(row: &PlainTree) -> TreeRow {
    let is_port = |num: &u8| row.ports[usize::from(num / 8)] >> (num % 8) & 1 == 1;
    TreeRow { switch: Guid(row.guid), mlid: row.mlid, ports: (0..=u8::MAX).filter(is_port).map(PortNum).collect() }
}

fn nodes(fabric: &mut PlainFabric) -> &mut [PlainNode] {
    // SAFETY: the shim allotted as many nodes as it counts, and passes the fabric to one call at a time.
    unsafe { slice::from_raw_parts_mut(fabric.nodes, fabric.node_count as usize) }
}

/// The shim's structures as values.
fn seen(fabric: &PlainFabric) -> SeenSubnet {
    // SAFETY: the shim allotted as many nodes and ports as it counts.
    let (nodes, ports) = unsafe {
        (
            slice::from_raw_parts(fabric.nodes, fabric.node_count as usize),
            slice::from_raw_parts(fabric.ports, fabric.port_count as usize),
        )
    };
    let port = |port: &PlainPort| SeenPort {
        guid: port.guid,
        peer: (port.peer != NO_PEER).then_some(port.peer as usize),
        lid: port.lid,
        lmc: port.lmc,
        state: port.state,
        width: port.width,
        speed: port.speed,
        op_vls: port.op_vls,
    };
    SeenSubnet {
        nodes: nodes.iter().map(seen_node).collect(),
        ports: ports.iter().map(port).collect(),
        sm_port_guid: fabric.sm_port_guid,
        max_lid: fabric.max_lid,
        life_time: fabric.life_time,
        plain_levels: fabric.plain_levels,
    }
}

fn seen_node(node: &PlainNode) -> SeenNode {
    let name = match node.name.is_null() {
        true => String::new(),
        // SAFETY: OpenSM's description of a node ends with a zero.
        false => unsafe { CStr::from_ptr(node.name) }.to_string_lossy().into_owned(),
    };
    SeenNode {
        guid: node.guid,
        name,
        kind: node.kind,
        num_ports: node.num_ports,
        first_port: node.first_port as usize,
        enhanced: node.enhanced != 0,
        table: (!node.lft.is_null()).then(|| seen_table(node)),
    }
}

fn seen_table(node: &PlainNode) -> SeenTable {
    let size = node.lft_size as usize;
    // SAFETY: OpenSM's table has as many entries as the shim says, and `blocks` a byte for each block of them.
    let (entries, blocks) =
        unsafe { (slice::from_raw_parts(node.lft, size), slice::from_raw_parts(node.blocks, size / LFT_BLOCK)) };
    SeenTable {
        entries: entries.to_vec(),
        top: node.lft_top,
        capacity: node.lft_capacity,
        reset: node.reset != 0,
        silent: blocks.iter().zip(0..).filter(|(state, _)| **state == BLOCK_SILENT).map(|(_, block)| block).collect(),
    }
}
