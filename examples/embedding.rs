//! Our changes inside another project's subnet manager: `cargo run --release --example embedding`. docs/EMBEDDING.md
//! explains it.
//!
//! `Theirs` is such a manager. It writes forwarding tables by its own method (here a side door of the simulated
//! switches, elsewhere a vendor's tool or a database) and leaves everything else to [`Manager`]. `Logged` wraps any
//! manager, and counts the calls to it. When a trap reports that something died, the [`Driver`] takes over: it sweeps,
//! routes, proves, and carries the change out through them, while traffic flows.

use async_trait::async_trait;
use reconfig::drain::{Drained, Flushed, Observer, SourcesMoved, Ticket, Vacated};
use reconfig::driver::{Driver, Intent, Running};
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lmc, ReservedLevel, VlSet};
use reconfig::lid;
use reconfig::plan::{Policy, Scheme};
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::sim::{Sim, SimConfig, SimTransport};
use reconfig::subnet::{
    Applied, Discovered, Fence, Leaving, Manager, Retiring, SmpCounts, SubnetError, SubnetEvent, SubnetManager, Timing,
    WriteOrder,
};
use reconfig::tables::{SubnetTables, Write};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

const MS: u64 = 1_000_000;

/// Another project's subnet manager.
struct Theirs {
    /// Ours, for everything else.
    ours: Manager<SimTransport>,
    /// Their own access to the switches.
    side_door: SimTransport,
}

impl Theirs {
    /// Writes one block of a forwarding table, and reads it back: when this returns, it is in force.
    fn write_block(&self, switch: NodeId, block: u16, entries: &[u8; 64]) {
        self.side_door.with(|sim| sim.load_lft_block(switch, block, entries));
    }
}

#[async_trait(?Send)]
impl SubnetManager for Theirs {
    fn now_ns(&self) -> u64 {
        self.ours.now_ns()
    }

    fn smps(&self) -> &SmpCounts {
        self.ours.smps()
    }

    fn set_topology(&mut self, fabric: &Fabric, sm_port: PortId) {
        self.ours.set_topology(fabric, sm_port);
    }

    fn reserve(&mut self, level: Option<ReservedLevel>) {
        self.ours.reserve(level);
    }

    fn set_fence(&mut self, fence: &Fence) {
        self.ours.set_fence(fence);
    }

    fn set_ways(&mut self, longest: u32, through: &[NodeId]) {
        self.ours.set_ways(longest, through);
    }

    async fn discover(&mut self) -> Result<Discovered, SubnetError> {
        self.ours.discover().await
    }

    async fn apply(&mut self, fabric: &Fabric, writes: &[Write], order: WriteOrder) -> Result<Applied, SubnetError> {
        if order != WriteOrder::Any {
            // A plan that cares for the order of its writes gets it from one hand.
            return self.ours.apply(fabric, writes, order).await;
        }
        // The writes of a wave may land in any order: that is what was proved.
        let (blocks, rest): (Vec<&Write>, Vec<&Write>) =
            writes.iter().partition(|write| matches!(write, Write::LftBlock { .. }));
        for write in &blocks {
            if let Write::LftBlock { switch, block, entries } = write {
                self.write_block(*switch, *block, entries);
            }
        }
        let rest: Vec<Write> = rest.into_iter().cloned().collect();
        let applied = self.ours.apply(fabric, &rest, order).await?;
        Ok(Applied { writes: applied.writes + blocks.len(), ..applied })
    }

    async fn flush(&mut self, ticket: Ticket, observer: Observer, lanes: VlSet) -> Result<Flushed, SubnetError> {
        self.ours.flush(ticket, observer, lanes).await
    }

    async fn confirm_sources(
        &mut self,
        ticket: Ticket,
        ports: &[PortId],
        half: Half,
    ) -> Result<SourcesMoved, SubnetError> {
        self.ours.confirm_sources(ticket, ports, half).await
    }

    async fn drain(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        retiring: &Retiring<'_>,
    ) -> Result<Drained, SubnetError> {
        self.ours.drain(ticket, observer, retiring).await
    }

    async fn can_vacate(&mut self, observer: Observer) -> Result<(), SubnetError> {
        self.ours.can_vacate(observer).await
    }

    async fn vacate(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        leaving: &Leaving<'_>,
    ) -> Result<Vacated, SubnetError> {
        self.ours.vacate(ticket, observer, leaving).await
    }

    fn pending_event(&mut self) -> Option<SubnetEvent> {
        self.ours.pending_event()
    }

    async fn next_event(&mut self, until_ns: u64) -> Result<Option<SubnetEvent>, SubnetError> {
        self.ours.next_event(until_ns).await
    }
}

/// Any manager, with a log of what the driver asks of it.
struct Logged<S> {
    inner: S,
    asked: BTreeMap<&'static str, usize>,
}

impl<S: SubnetManager> Logged<S> {
    fn note(&mut self, what: &'static str, how_many: usize) {
        println!("{:>10.3} ms  {what}: {how_many}", self.inner.now_ns() as f64 / 1e6);
        *self.asked.entry(what).or_default() += how_many;
    }
}

#[async_trait(?Send)]
impl<S: SubnetManager> SubnetManager for Logged<S> {
    fn now_ns(&self) -> u64 {
        self.inner.now_ns()
    }

    fn smps(&self) -> &SmpCounts {
        self.inner.smps()
    }

    fn set_topology(&mut self, fabric: &Fabric, sm_port: PortId) {
        self.inner.set_topology(fabric, sm_port);
    }

    fn reserve(&mut self, level: Option<ReservedLevel>) {
        self.inner.reserve(level);
    }

    fn set_fence(&mut self, fence: &Fence) {
        self.inner.set_fence(fence);
    }

    fn set_ways(&mut self, longest: u32, through: &[NodeId]) {
        self.inner.set_ways(longest, through);
    }

    async fn compute(&mut self, work: Box<dyn FnOnce() + Send>) -> Result<(), SubnetError> {
        self.inner.compute(work).await
    }

    async fn discover(&mut self) -> Result<Discovered, SubnetError> {
        self.note("sweep", 1);
        self.inner.discover().await
    }

    async fn apply(&mut self, fabric: &Fabric, writes: &[Write], order: WriteOrder) -> Result<Applied, SubnetError> {
        self.note("writes of a wave", writes.len());
        self.inner.apply(fabric, writes, order).await
    }

    async fn flush(&mut self, ticket: Ticket, observer: Observer, lanes: VlSet) -> Result<Flushed, SubnetError> {
        self.note("lanes to be flushed", lanes.len());
        self.inner.flush(ticket, observer, lanes).await
    }

    fn settle_ns(&self) -> Option<u64> {
        self.inner.settle_ns()
    }

    async fn confirm_sources(
        &mut self,
        ticket: Ticket,
        ports: &[PortId],
        half: Half,
    ) -> Result<SourcesMoved, SubnetError> {
        self.note("sources to have moved", ports.len());
        self.inner.confirm_sources(ticket, ports, half).await
    }

    async fn drain(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        retiring: &Retiring<'_>,
    ) -> Result<Drained, SubnetError> {
        self.note("lanes to run empty", retiring.lanes.len());
        self.inner.drain(ticket, observer, retiring).await
    }

    async fn can_vacate(&mut self, observer: Observer) -> Result<(), SubnetError> {
        self.inner.can_vacate(observer).await
    }

    async fn vacate(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        leaving: &Leaving<'_>,
    ) -> Result<Vacated, SubnetError> {
        self.note("rounds until what leaves is empty", leaving.rounds.into());
        self.inner.vacate(ticket, observer, leaving).await
    }

    fn pending_event(&mut self) -> Option<SubnetEvent> {
        self.inner.pending_event()
    }

    async fn next_event(&mut self, until_ns: u64) -> Result<Option<SubnetEvent>, SubnetError> {
        let event = self.inner.next_event(until_ns).await?;
        self.note("events", usize::from(event.is_some()));
        Ok(event)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (fabric, running, transport) = subnet()?;
    let theirs = Theirs { ours: Manager::new(transport.clone(), timing(), 0), side_door: transport.clone() };
    let manager = Logged { inner: theirs, asked: BTreeMap::new() };

    // The Double Scheme, up*/down*, drain tokens. The change runs only if it was proved.
    let engine = UpDown::default();
    let root = engine.route(&fabric, &Demand::all(&fabric, 1))?.root().ok_or("up*/down* has a root")?;
    let intent = Intent::by(Arc::new(engine), Scheme::Double, Policy::default());
    let mut driver = Driver::new(manager, running, intent);

    println!("{} dies under traffic", fabric.describe_node(root));
    transport.with(|sim| {
        sim.run(MS, false);
        sim.kill(root);
    });
    // A trap wakes the driver, which does the rest.
    let report = run(&transport, driver.await_loss(100 * MS))?.ok_or("the loss was not noticed")?;
    println!("{:?}; the {} half is in use", report.outcome, driver.running().half);
    for phase in &report.phases {
        println!("  {:<8} {:>8.3} ms", phase.name, (phase.end_ns - phase.start_ns) as f64 / 1e6);
    }

    let packets = transport.with(|sim| {
        sim.stop_sources();
        let end_ns = sim.now_ns() + 20 * MS;
        sim.run(end_ns, false);
        sim.packets()
    });
    println!("{packets:?}");
    assert_eq!(
        packets.lost_to_change, 0,
        "what the dead switch took with it is lost to the failure, nothing to the change"
    );
    assert!(driver.subnet().asked["writes of a wave"] > 0 && report.plan.proof().is_some());
    Ok(())
}

/// A running subnet: what a manager must know of it when it hands a change over.
fn subnet() -> Result<(Arc<Fabric>, Running, SimTransport), Box<dyn Error>> {
    let made = generate(&"fat-tree:4,2".parse()?, &Options::default())?;
    // Two LIDs a port, one for each half, and four data VLs.
    let fabric = Arc::new(lid::assign(&made.with_capabilities(4, true), Lmc::masked(1))?);
    let tables = lid::bring_up(&fabric, &UpDown::default().route(&fabric, &Demand::all(&fabric, 1))?, 4);
    let sm = fabric.end_ports().next().ok_or("hosts")?;
    let transport = SimTransport::new(simulation(&fabric, &tables, sm)?);
    let running = Running {
        known: fabric.clone(),
        routed: fabric.clone(),
        alive: fabric.clone(),
        tables,
        layers: 1,
        ways: None,
        half: Half::Lower,
        both_halves: false,
        sm,
    };
    Ok((fabric, running, transport))
}

/// The simulated subnet, with those tables in force and traffic flowing.
fn simulation(fabric: &Fabric, tables: &SubnetTables, sm: PortId) -> Result<Sim, Box<dyn Error>> {
    let config = SimConfig { load: 0.05, replies: 0.5, ..SimConfig::default() };
    let mut sim = Sim::new(fabric, config, sm)?;
    for (switch, block, entries) in tables.lft_blocks(fabric) {
        sim.load_lft_block(switch, block, &entries);
    }
    sim.load_half(Half::Lower);
    let sm_lid = fabric.port(sm).lid.ok_or("LIDs were assigned")?;
    sim.load_master_sm(sm_lid, Half::Lower.sls().next().ok_or("eight SLs")?);
    sim.start();
    Ok(sim)
}

/// Waits that suit a simulated subnet, whose devices answer within microseconds.
fn timing() -> Timing {
    Timing {
        timeout_ns: 2 * MS,
        smp_lifetime_ns: 4 * MS,
        barrier_ns: 10 * MS,
        light_sweep_ns: None,
        ..Timing::default()
    }
}

/// Runs a future to its end, with the simulation as its clock. Against hardware a runtime does this.
fn run<T>(transport: &SimTransport, future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => transport.advance(u64::MAX),
        };
    }
}
