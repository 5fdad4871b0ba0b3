//! Writes that fail while forwarding entries alone are rewritten.

use crate::driver::bench::{Bench, MS, bench, drive, kill, light, policy, tables_match, timing};
use async_trait::async_trait;
use reconfig::driver::{ChangeRecord, Driver, Intent};
use reconfig::machine::Outcome;
use reconfig::plan::{Observer, Scheme};
use reconfig::routing::UpDown;
use reconfig::sim::SimTransport;
use reconfig::subnet::Manager;
use reconfig::transport::{Datagram, Transport, TransportError};
use reconfig::wire::{AttributeId, Method, Smp};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The simulation behind switches that are silent while the first waves are written.
struct Silent {
    inner: SimTransport,
    failures: usize,
    /// What the manager did, from the SMPs that it sent: one word however many they were.
    asked: Rc<RefCell<Vec<&'static str>>>,
}

impl Silent {
    /// Whether a datagram is lost.
    fn swallows(&self, datagram: &Datagram) -> bool {
        let Ok(smp) = Smp::decode(&datagram.bytes) else { return false };
        let mut asked = self.asked.borrow_mut();
        let last = asked.last().copied();
        let does = match (smp.method, smp.attribute) {
            (Method::Set, AttributeId::LinearForwardingTable) => "apply",
            (Method::Get, AttributeId::NodeInfo) => "sweep",
            // A sweep reads it too.
            (Method::Get, AttributeId::SwitchInfo) if last != Some("sweep") => "glance",
            _ => return false,
        };
        if last != Some(does) {
            asked.push(does);
        }
        does == "apply" && asked.iter().filter(|did| **did == "apply").count() <= self.failures
    }
}

#[async_trait(?Send)]
impl Transport for Silent {
    fn now_ns(&self) -> u64 {
        self.inner.now_ns()
    }

    async fn send(&mut self, datagram: Datagram) -> Result<(), TransportError> {
        if self.swallows(&datagram) { Ok(()) } else { self.inner.send(datagram).await }
    }

    async fn recv(&mut self, until_ns: u64) -> Result<Option<Datagram>, TransportError> {
        self.inner.recv(until_ns).await
    }
}

/// A driver of scheme `ordered` to which the first `failures` waves of writes fail, and what its manager does.
struct Failing {
    bench: Bench,
    driver: Driver<Manager<Silent>>,
    asked: Rc<RefCell<Vec<&'static str>>>,
}

fn failing(failures: usize) -> Failing {
    let policy = policy(Observer::Token);
    let bench = bench("fat-tree:4,2", light(), Scheme::Ordered, policy);
    let asked = Rc::default();
    let silent = Silent { inner: bench.transport.clone(), failures, asked: Rc::clone(&asked) };
    let intent = Intent::by(Arc::new(UpDown::default()), Scheme::Ordered, policy);
    let driver = Driver::new(Manager::new(silent, timing(), 0), bench.driver.running().clone(), intent);
    bench.transport.with(|sim| sim.run(MS / 10, false));
    Failing { bench, driver, asked }
}

fn removal(failures: usize) -> (Failing, ChangeRecord) {
    let mut failing = failing(failures);
    let after = Arc::new(failing.bench.fabric.without_nodes(&[failing.bench.root]));
    let change = failing.driver.change_to(after);
    let record = drive(&failing.bench.transport, change, Vec::new()).expect("it can be prepared");
    (failing, record)
}

/// Whoever is silent behind a link that is up shows in no glance.
#[test]
fn a_failed_write_during_ordered_sweeps_and_is_tried_again() {
    let (failing, record) = removal(1);
    assert_eq!(record.outcome, Outcome::Completed);
    assert_eq!(*failing.asked.borrow(), ["apply", "sweep", "apply"], "a glance would not have shown who is silent");
    let running = failing.driver.running();
    tables_match(&failing.bench, &running.tables, &running.alive);
    let (failing, record) = removal(3);
    assert!(matches!(record.outcome, Outcome::Failed { state: "rewriting", .. }), "{:?}", record.outcome);
    let asked = failing.asked.borrow();
    assert_eq!(asked.iter().filter(|did| **did == "sweep").count(), 3, "after each failure");
}

/// The write fails because a second switch has died meanwhile: the sweep shows it, and the rest is routed.
#[test]
fn a_failed_write_whose_sweep_shows_a_loss_is_followed_by_a_new_plan() {
    let Failing { bench, mut driver, asked } = failing(1);
    let (first, fabric) = (bench.root, bench.fabric.clone());
    let has_hosts = |id| {
        let mut ports = fabric.ports_of(id);
        ports.any(|port| fabric.neighbour(port).is_some_and(|next| !fabric.node(next).is_switch()))
    };
    let second = fabric.switches().find(|&id| id != first && !has_hosts(id)).expect("four spines");
    let after = Arc::new(fabric.without_nodes(&[first]));
    let prepared = driver.prepare(after).expect("it can be prepared");
    let now_ns = bench.transport.with(|sim| sim.now_ns());
    let record =
        drive(&bench.transport, driver.run(prepared), vec![kill(now_ns, second)]).expect("the rest can be routed");
    assert_eq!((&record.outcome, record.restarts), (&Outcome::Completed, 1));
    assert_eq!(asked.borrow()[..2], ["apply", "sweep"]);
    let running = driver.running();
    assert!(!running.alive.node(second).present && !running.has_lost_something());
}
