//! Writes that fail while forwarding entries alone are rewritten.

use crate::driver::bench::{Bench, MS, bench, drive, kill, light, policy};
use async_trait::async_trait;
use reconfig::drain::{Drained, Flushed, Observer, SourcesMoved, Ticket, Vacated};
use reconfig::driver::{ChangeRecord, Driver, Intent};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Half, Lid, ReservedLevel, VlSet};
use reconfig::machine::Outcome;
use reconfig::plan::Scheme;
use reconfig::routing::UpDown;
use reconfig::sim::SimTransport;
use reconfig::subnet::{
    Applied, Discovered, Glance, Leaving, Manager, Retiring, SmpCounts, SubnetError, SubnetEvent, SubnetManager,
    WriteOrder,
};
use reconfig::tables::Write;
use std::rc::Rc;
use std::sync::Arc;

/// A manager whose first waves of writes fail, as if a device were silent.
struct Failing {
    inner: Manager<SimTransport>,
    failures: usize,
    /// What it was asked for.
    asked: Vec<&'static str>,
}

#[async_trait(?Send)]
impl SubnetManager for Failing {
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

    async fn discover(&mut self) -> Result<Discovered, SubnetError> {
        self.asked.push("sweep");
        self.inner.discover().await
    }

    async fn glance(&mut self) -> Result<Glance, SubnetError> {
        self.asked.push("glance");
        self.inner.glance().await
    }

    async fn apply(&mut self, fabric: &Fabric, writes: &[Write], order: WriteOrder) -> Result<Applied, SubnetError> {
        self.asked.push("apply");
        if self.failures > 0 {
            self.failures -= 1;
            let attempted = "Set(LinearForwardingTable) at a switch".to_string();
            return Err(SubnetError::Silent { attempted, sent: 9, waited_ms: 18 });
        }
        self.inner.apply(fabric, writes, order).await
    }

    async fn flush(&mut self, ticket: Ticket, observer: Observer, lanes: VlSet) -> Result<Flushed, SubnetError> {
        self.inner.flush(ticket, observer, lanes).await
    }

    async fn confirm_sources(
        &mut self,
        ticket: Ticket,
        ports: &[PortId],
        half: Half,
    ) -> Result<SourcesMoved, SubnetError> {
        self.inner.confirm_sources(ticket, ports, half).await
    }

    async fn drain(
        &mut self,
        ticket: Ticket,
        observer: Observer,
        retiring: &Retiring<'_>,
    ) -> Result<Drained, SubnetError> {
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
        self.inner.vacate(ticket, observer, leaving).await
    }

    fn pending_event(&mut self) -> Option<SubnetEvent> {
        self.inner.pending_event()
    }

    async fn next_event(&mut self, until_ns: u64) -> Result<Option<SubnetEvent>, SubnetError> {
        self.inner.next_event(until_ns).await
    }
}

/// A driver of scheme `ordered` on a manager whose first `failures` waves of writes fail.
fn failing(bench: Bench, failures: usize) -> (SimTransport, Driver<Failing>) {
    let Bench { transport, driver, .. } = bench;
    let running = driver.running().clone();
    let inner = driver.into_subnet();
    let (engine, policy) = (Rc::new(UpDown::default()), policy(Observer::Token));
    let intent = Intent { engine, scheme: Scheme::Ordered, auto: false, policy, unproved_baselines: false };
    (transport, Driver::new(Failing { inner, failures, asked: Vec::new() }, running, intent))
}

fn removal(failures: usize) -> (Driver<Failing>, SimTransport, ChangeRecord) {
    let bench = bench("fat-tree:4,2", light(), Scheme::Ordered, policy(Observer::Token));
    let (root, fabric) = (bench.root, bench.fabric.clone());
    let (transport, mut driver) = failing(bench, failures);
    transport.with(|sim| sim.run(MS / 10, false));
    let after = Arc::new(fabric.without_nodes(&[root]));
    let record = drive(&transport, driver.change_to(after), Vec::new()).expect("it can be prepared");
    (driver, transport, record)
}

/// Whoever is silent behind a link that is up shows in no glance.
#[test]
fn a_failed_write_during_ordered_sweeps_and_is_tried_again() {
    let (driver, transport, record) = removal(1);
    assert_eq!(record.outcome, Outcome::Completed);
    assert_eq!(driver.subnet().asked, ["apply", "sweep", "apply"], "a glance would not have shown who is silent");
    let running = driver.running();
    let tables = &running.tables;
    for switch in running.routed.switches() {
        for lid in (1..=running.routed.max_lid().expect("LIDs").0).map(Lid) {
            let there = transport.with(|sim| sim.output(switch, lid));
            assert_eq!(there, tables.lfts[switch.index()].get(lid), "{}", running.routed.describe_node(switch));
        }
    }
    let (driver, _, record) = removal(3);
    assert!(matches!(record.outcome, Outcome::Failed { state: "rewriting", .. }), "{:?}", record.outcome);
    assert_eq!(driver.subnet().asked.iter().filter(|asked| **asked == "sweep").count(), 3, "after each failure");
}

/// The write fails because a second switch has died meanwhile: the sweep shows it, and the rest is routed.
#[test]
fn a_failed_write_whose_sweep_shows_a_loss_is_followed_by_a_new_plan() {
    let bench = bench("fat-tree:4,2", light(), Scheme::Ordered, policy(Observer::Token));
    let (first, fabric) = (bench.root, bench.fabric.clone());
    let has_hosts = |id| {
        let mut ports = fabric.ports_of(id);
        ports.any(|port| fabric.neighbour(port).is_some_and(|next| !fabric.node(next).is_switch()))
    };
    let second = fabric.switches().find(|&id| id != first && !has_hosts(id)).expect("four spines");
    let (transport, mut driver) = failing(bench, 1);
    transport.with(|sim| sim.run(MS / 10, false));
    let after = Arc::new(fabric.without_nodes(&[first]));
    let prepared = driver.prepare(after).expect("it can be prepared");
    let now_ns = transport.with(|sim| sim.now_ns());
    let record = drive(&transport, driver.run(prepared), vec![kill(now_ns, second)]).expect("the rest can be routed");
    assert_eq!((&record.outcome, record.restarts), (&Outcome::Completed, 1));
    assert_eq!(driver.subnet().asked[..2], ["apply", "sweep"], "{:?}", driver.subnet().asked);
    let running = driver.running();
    assert!(!running.alive.node(second).present && !running.has_lost_something());
}
