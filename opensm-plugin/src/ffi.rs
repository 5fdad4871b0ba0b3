//! The only unsafe code: the shim's plain structures (`shim/shim.h`) into values, and tables back.
//!
//! Every function that C calls catches panics: a fault of ours is a failed run of this engine, never OpenSM's end.

use crate::ahead::Ahead;
use crate::config::Config;
use crate::decision::{Again, Answer, Failure, Level, Router};
use crate::sight::{Seen, SeenNode, SeenPort, SeenTable};
use crate::worker::{Clerk, Outside, Worker};
use reconfig::ids::Guid;
use reconfig::tables::LFT_BLOCK;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::slice;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const NO_PEER: u32 = u32::MAX;
const BLOCK_WANTED: u8 = 1;
const BLOCK_SILENT: u8 = 2;
const EVENT_HEAVY_SWEEP: c_int = 0;
const EVENT_WRITTEN: c_int = 1;
const EVENT_SUBNET_UP: c_int = 2;
const FAILED: c_int = -1;

/// `struct reconfig_port`.
#[repr(C)]
struct PlainPort {
    guid: u64,
    peer: u32,
    lid: u16,
    lmc: u8,
    state: u8,
    width: u8,
    speed: u8,
}

/// `struct reconfig_node`.
#[repr(C)]
struct PlainNode {
    guid: u64,
    name: *const c_char,
    first_port: u32,
    kind: u8,
    num_ports: u8,
    enhanced: u8,
    reset: u8,
    lft_capacity: u16,
    lft_top: u16,
    lft_size: u32,
    lft: *const u8,
    wanted_lft: *mut u8,
    blocks: *mut u8,
}

/// `struct reconfig_fabric`.
#[repr(C)]
struct PlainFabric {
    nodes: *mut PlainNode,
    ports: *mut PlainPort,
    node_count: u32,
    port_count: u32,
    sm_port_guid: u64,
    max_lid: u16,
    life_time: u8,
    reserved: u8,
}

unsafe extern "C" {
    fn reconfig_log(osm: *mut c_void, level: c_int, text: *const c_char);
    fn reconfig_sweep(osm: *mut c_void);
    fn reconfig_stand_back();
    fn reconfig_plugin() -> *const c_void;
}

/// Nothing else in Rust names the shim, so without this the linker would leave it out.
#[used]
static SHIM: unsafe extern "C" fn() -> *const c_void = reconfig_plugin;

/// OpenSM's own structure, of which we know nothing but where it is.
#[derive(Clone, Copy)]
struct Osm(*mut c_void);

// SAFETY: what is done with it, logging and asking for a sweep, OpenSM does from several threads itself, and it outlives
// the plugin: OpenSM destroys its plugins first.
unsafe impl Send for Osm {}

impl Osm {
    fn log(self, level: Level, text: &str) {
        let level = if level == Level::Error { 0 } else { 1 };
        let text = CString::new(text.replace('\0', "?")).unwrap_or_default();
        // SAFETY: the pointer is OpenSM's, see above; the text ends with a zero and outlives the call.
        unsafe { reconfig_log(self.0, level, text.as_ptr()) }
    }

    fn sweep(self) {
        // SAFETY: the pointer is OpenSM's, see above.
        unsafe { reconfig_sweep(self.0) }
    }
}

/// What a call from C works on.
struct Engine {
    osm: Osm,
    started: Instant,
    state: Mutex<State>,
    worker: Worker,
}

struct State {
    /// Why there is none: the settings cannot be used.
    router: Result<Router, String>,
    again: Option<Again>,
    ahead: Ahead,
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
extern "C" fn reconfig_start(osm: *mut c_void, options: *const c_char) -> *mut c_void {
    let osm = Osm(osm);
    let started = catch_unwind(|| {
        // SAFETY: OpenSM's option is a text that ends with a zero, or none.
        let options = (!options.is_null()).then(|| unsafe { CStr::from_ptr(options) }.to_string_lossy().into_owned());
        start(osm, options.as_deref())
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

fn start(osm: Osm, options: Option<&str>) -> std::io::Result<Engine> {
    let config = Config::load(options).map_err(|error| error.to_string());
    match &config {
        Ok(config) => {
            let engines = config.engines.join(", ");
            osm.log(Level::Info, &format!("routing engine `reconfig` is ready; base engines: {engines}"));
        }
        Err(why) => osm.log(Level::Error, &format!("routing engine `reconfig` will fail until this is mended: {why}")),
    }
    let evidence = config.as_ref().ok().and_then(|config| config.evidence.clone());
    let router = config.and_then(|config| Router::new(config).map_err(|error| error.to_string()));
    let worker = Worker::start(Outside {
        sweep: Box::new(move || ask(osm)),
        clerk: Clerk { complain: Box::new(move |text| complain(osm, text)), stand_back, evidence },
    })?;
    let state = Mutex::new(State { router, again: None, ahead: Ahead::start(stand_back)?, sm: 0 });
    Ok(Engine { osm, started: Instant::now(), state, worker })
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
    guarded(engine, "routing", FAILED, |engine| {
        let mut state = engine.state();
        (state.again, state.sm) = (None, fabric.sm_port_guid);
        let now = engine.now();
        let routed = match &mut state.router {
            Ok(router) => seen(fabric).sight().map_err(Failure::from).and_then(|sight| router.route(&sight, now)),
            Err(why) => {
                engine.osm.log(Level::Error, why);
                return FAILED;
            }
        };
        let took = engine.now() - now;
        match routed {
            Ok(answer) => {
                state.again = answer.again;
                hand_over(engine, fabric, answer, took);
                0
            }
            Err(failure) => {
                engine.osm.log(
                    Level::Error,
                    &format!("this engine fails, and OpenSM goes on as it is configured to: {failure}"),
                );
                FAILED
            }
        }
    })
}

fn hand_over(engine: &Engine, fabric: &mut PlainFabric, answer: Answer, took: Duration) {
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
            } else if event != EVENT_HEAVY_SWEEP && state.again.is_none() {
                let in_force = router.in_force(Guid(state.sm));
                in_force.into_iter().for_each(|routing| router.know(state.ahead.begin(routing)));
            }
        }
        if let Some(wait) = due {
            state.again = None;
            engine.worker.run_in(wait);
        }
    });
}

fn nodes(fabric: &mut PlainFabric) -> &mut [PlainNode] {
    // SAFETY: the shim allotted as many nodes as it counts, and passes the fabric to one call at a time.
    unsafe { slice::from_raw_parts_mut(fabric.nodes, fabric.node_count as usize) }
}

/// The shim's structures as values.
fn seen(fabric: &PlainFabric) -> Seen {
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
    };
    Seen {
        nodes: nodes.iter().map(seen_node).collect(),
        ports: ports.iter().map(port).collect(),
        sm_port_guid: fabric.sm_port_guid,
        max_lid: fabric.max_lid,
        life_time: fabric.life_time,
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
