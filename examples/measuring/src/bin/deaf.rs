//! For how long `reconfig sm` answers nobody while it brings a large subnet through a loss: clients of the SA, other
//! managers and users at the control socket wait that long at most, beside what the wire takes.
//!
//! `cargo run --release -p reconfig-measuring --bin deaf -- [TOPOLOGY]` runs the manager, with planning in a thread and
//! a journal as the program has them, on a simulated subnet, by default of 972 switches: bring-up, the death of a
//! spine, its return, a second manager's start, and a planned removal within which another spine dies. A stretch is
//! what the manager does between two moments at which it would take a request. What counts is the processor's time of
//! its thread, so that other work on the machine does not; the disk is waited for beside that, and up to 10 ms the
//! thread that plans. It fails if a stretch is longer than anybody should have to wait.

use reconfig::change::engine_named;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, NodeId};
use reconfig::frontend::control::ChannelStatus;
use reconfig::ids::Guid;
use reconfig::journal::Journal;
use reconfig::routing::{Engine, Parameters};
use reconfig::sim::{Halt, Sim, SimConfig, SimTransport};
use reconfig::sm::election::{ElectionRules, Rank};
use reconfig::sm::{
    self, AgeLimits, Config, Context, Happening, Mailbox, ManagerOrder, Planning, RunUntil, SharedMailbox, SmError,
    SubnetElement,
};
use reconfig::subnet::{Manager, SourceControl, Timing};
use reconfig::transport::AnyTransport;
use reconfig_measuring::started;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;
use tempfile::TempDir;

const TOPOLOGY: &str = "three-level:18,18,18,18,18";
const MS: u64 = 1_000_000;
/// The stretch that nobody should have to wait for.
const MOST_NS: u64 = 50 * MS;
/// How long the manager is watched after each event, in simulated nanoseconds.
const WATCHED_NS: u64 = 8_000 * MS;
/// The longest stretches that are listed.
const LISTED: usize = 8;

/// What the manager did between two moments at which it would take a request.
struct Stretch {
    cpu_ns: u64,
    state: &'static str,
}

fn main() -> Result<(), Box<dyn Error>> {
    let topology = std::env::args().nth(1).unwrap_or_else(|| TOPOLOGY.to_string());
    let fabric = generate(&topology.parse::<Topology>()?, &Options::default())?.with_capabilities(4, true);
    println!("{topology}: {} switches, {} CAs", fabric.switches().count(), fabric.end_ports().count());
    let (spine, _) = started::place(&fabric);
    let mut over = 0;
    let mut scene = Scene::cold(&fabric)?;
    let up = scene.watch(u64::MAX, |said| matches!(said, Happening::Up { .. }))?;
    over += show("bring-up", up);
    let settled = scene.watch(WATCHED_NS, |_| false)?;
    over += show("settling", settled);
    let running = scene.mailbox.borrow().view.running.clone().ok_or("no subnet")?;
    let before_ns = cpu_ns()?;
    let channels = ChannelStatus::of(&running);
    let counted_ns = cpu_ns()? - before_ns;
    println!(
        "counting channels ({} of {} used): {:.1} ms",
        channels.used,
        channels.channels,
        counted_ns as f64 / MS as f64
    );
    scene.transport.with(|sim| sim.kill(spine));
    let lost = scene.watch(WATCHED_NS, |_| false)?;
    over += show("a spine dies", lost);
    scene.transport.with(|sim| sim.revive(spine));
    let back = scene.watch(2 * WATCHED_NS, |_| false)?;
    over += show("it comes back", back);
    // What carries traffic is read and proved before the next manager serves it.
    let mut scene = scene.another(&fabric)?;
    let adopted = scene.watch(u64::MAX, |said| matches!(said, Happening::Up { .. }))?;
    over += show("another manager starts and adopts", adopted);
    over += show("settling", scene.watch(WATCHED_NS, |_| false)?);
    let element = SubnetElement::Switch(fabric.node(spine).description.trim().to_string());
    let order = ManagerOrder::SetAside { element, dry_run: false, cut_off_meant: false };
    scene.mailbox.borrow_mut().order(order);
    let empties = |said: &Happening| matches!(said, Happening::Entered { state: "vacating" });
    over += show("the spine is removed", scene.watch(WATCHED_NS, empties)?);
    let other = fabric.switches().filter(|&switch| switch != spine);
    let other = other.max_by_key(|&switch| neighbouring_switches(&fabric, switch)).ok_or("one switch")?;
    scene.transport.with(|sim| sim.kill(other));
    over += show("another one dies before it is empty", scene.watch(WATCHED_NS, |_| false)?);
    match over {
        0 => Ok(()),
        over => Err(format!("{over} stretches above {} ms", MOST_NS / MS).into()),
    }
}

/// Cables of a switch to other switches; 0 if a host is attached to it.
fn neighbouring_switches(fabric: &Fabric, switch: NodeId) -> usize {
    let peers = || fabric.ports_of(switch).filter_map(|port| fabric.neighbour(port));
    if peers().all(|peer| fabric.node(peer).is_switch()) { peers().count() } else { 0 }
}

/// Shows the longest stretches, and returns how many are too long.
fn show(what: &str, mut stretches: Vec<Stretch>) -> usize {
    stretches.sort_by_key(|stretch| std::cmp::Reverse(stretch.cpu_ns));
    let over = stretches.iter().filter(|stretch| stretch.cpu_ns > MOST_NS).count();
    println!("{what}: {} stretches, {over} of them above {} ms", stretches.len(), MOST_NS / MS);
    for Stretch { cpu_ns, state } in stretches.iter().take(LISTED) {
        println!("  {:>8.1} ms, {state}", *cpu_ns as f64 / MS as f64);
    }
    over
}

/// A manager at work.
struct Scene {
    transport: SimTransport,
    mailbox: SharedMailbox,
    manager: Pin<Box<dyn Future<Output = Result<(), SmError>>>>,
    /// With the journal.
    folder: TempDir,
}

impl Scene {
    /// A subnet as after a power cut, with a manager at its first host.
    fn cold(fabric: &Fabric) -> Result<Scene, Box<dyn Error>> {
        let config = SimConfig { load: 0.0, fixed_links: true, ..SimConfig::default() };
        let sim = Sim::cold(fabric, config)?;
        let sm = fabric.end_ports().next().ok_or("no hosts")?;
        let transport = SimTransport::attach(sim, sm)?;
        transport.with(|sim| sim.set_is_sm(sm, true));
        Scene::on(transport, fabric.port_guid(sm), tempfile::tempdir()?)
    }

    fn on(transport: SimTransport, guid: Guid, folder: TempDir) -> Result<Scene, Box<dyn Error>> {
        let mailbox = Mailbox::new(false);
        let mut context = context(guid, mailbox.clone());
        context.journal = Some(Journal::open(&folder.path().join("sm.journal"), 0)?.0);
        let manager = Manager::new(Box::new(transport.clone()) as AnyTransport, timing(), 0);
        let manager = Box::pin(sm::run(manager, context, RunUntil::Stopped));
        Ok(Scene { transport, mailbox, manager, folder })
    }

    /// The manager dies at once, and another one starts in its place.
    fn another(self, fabric: &Fabric) -> Result<Scene, Box<dyn Error>> {
        let Scene { transport, manager, folder, .. } = self;
        drop(manager);
        transport.hang_up();
        let sm = fabric.end_ports().next().ok_or("no hosts")?;
        transport.with(|sim| sim.attach(sm))?;
        Scene::on(transport, fabric.port_guid(sm), folder)
    }

    /// Runs until something has happened, or for so long; what the manager did meanwhile.
    fn watch(&mut self, length_ns: u64, is_over: impl Fn(&Happening) -> bool) -> Result<Vec<Stretch>, Box<dyn Error>> {
        let mut polls = std::task::Context::from_waker(Waker::noop());
        let now_ns = || self.transport.with(|sim| sim.now_ns());
        let end_ns = now_ns().saturating_add(length_ns);
        let mut stretches = Vec::new();
        loop {
            let before_ns = cpu_ns()?;
            if let Poll::Ready(ended) = self.manager.as_mut().poll(&mut polls) {
                return Err(format!("the manager ended: {ended:?}").into());
            }
            let state = self.mailbox.borrow().lifecycle().name();
            stretches.push(Stretch { cpu_ns: cpu_ns()? - before_ns, state });
            let happened: Vec<Happening> = self.mailbox.borrow_mut().happenings().map(|(_, what)| what).collect();
            if now_ns() >= end_ns || happened.iter().any(&is_over) {
                return Ok(stretches);
            }
            let before_ns = now_ns();
            if self.transport.advance(end_ns) == Halt::Deadlock {
                return Err("deadlock".into());
            }
            // No faster than real time, in which the thread computes.
            std::thread::sleep(Duration::from_nanos(now_ns() - before_ns));
        }
    }
}

/// Nanoseconds that this thread has had a processor.
fn cpu_ns() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("an empty schedstat")?.parse()?)
}

fn timing() -> Timing {
    Timing {
        timeout_ns: 20 * MS,
        window: 16,
        smp_lifetime_ns: 40 * MS,
        light_sweep_ns: Some(1_000 * MS),
        ..Timing::default()
    }
}

fn engine(name: &str) -> Arc<dyn Engine> {
    Arc::from(engine_named(name, &Parameters::default()).expect("it is in the list"))
}

/// What `reconfig sm` has by default, but for short limits.
fn context(guid: Guid, mailbox: SharedMailbox) -> Context {
    let config = Config {
        sources: SourceControl::Fenced { settle_ns: 200 * MS },
        limits: AgeLimits { life_time_value: 8, ..AgeLimits::default() },
        planning: Planning::Threaded,
        fallback: Some(engine("up-down-robust")),
        ..Config::by(engine("fat-tree"))
    };
    let rules = ElectionRules::new(Rank { priority: 0, guid });
    Context::of(config, rules, mailbox)
}
