//! Asks hosts to register again, once each: when this manager becomes the one that answers, and when a host appears.
//!
//! On entry: a subnet that is up, whose SA answers by the tables in force. The ports that the manager made ACTIVE have
//! been asked by the same `Set`; each other end port is asked by one of its own, a window at a time, while nothing else
//! is to be done. A port that cannot be asked now, or is silent, is asked later, after pauses. The list is in memory
//! only: the next manager asks all of them anyway.

use super::error::SmError;
use super::upkeep::Upkeep;
use crate::fabric::{Fabric, PortId};
use crate::ids::{PortName, PortNum};
use crate::subnet::MayRegister;
use crate::transport::Transport;
use std::collections::{BTreeSet, VecDeque};

/// Pause before a port is asked again that could not be asked, or did not take the request. It doubles each further
/// time that the port does not take it.
const PAUSE_NS: u64 = 2_000_000_000;
/// The longest such pause.
const LONGEST_PAUSE_NS: u64 = 256_000_000_000;
/// The log names a port that has not taken this many requests.
const WARNS_AT: u32 = 3;

/// An end port whose clients are still to be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Waiting {
    /// By name, since indices change when the known fabric grows.
    port: PortName,
    /// Number of requests that it did not take.
    failed: u32,
}

impl Waiting {
    fn pause_ns(self) -> u64 {
        PAUSE_NS.saturating_mul(1 << self.failed.saturating_sub(1).min(16)).min(LONGEST_PAUSE_NS)
    }
}

/// The end ports whose clients are still to be asked.
#[derive(Debug, Default)]
pub(super) struct Registering {
    now: VecDeque<Waiting>,
    /// With the time when each is due.
    later: Vec<(u64, Waiting)>,
    /// Ports that have taken the request since the lists were last empty.
    taken: usize,
}

impl Registering {
    /// Adds ports that are not waiting already.
    fn owe(&mut self, ports: impl Iterator<Item = PortName>) {
        let later = self.later.iter().map(|(_, waiting)| waiting);
        let waiting: BTreeSet<PortName> = self.now.iter().chain(later).map(|waiting| waiting.port).collect();
        self.now.extend(ports.filter(|port| !waiting.contains(port)).map(|port| Waiting { port, failed: 0 }));
    }

    /// Whether a port can be asked at once.
    pub(super) fn is_under_way(&self) -> bool {
        !self.now.is_empty()
    }

    fn put_off(&mut self, waiting: Waiting, now_ns: u64) {
        let due_ns = now_ns.saturating_add(waiting.pause_ns());
        self.later.push((due_ns, waiting));
    }

    /// Moves the ports whose pauses are over to those that are asked now.
    fn resume(&mut self, now_ns: u64) {
        if self.later.iter().any(|&(due_ns, _)| due_ns <= now_ns) {
            let (due, later): (Vec<_>, Vec<_>) = self.later.drain(..).partition(|&(due_ns, _)| due_ns <= now_ns);
            self.later = later;
            self.now.extend(due.into_iter().map(|(_, waiting)| waiting));
        }
    }
}

impl<T: Transport> Upkeep<T> {
    /// Queues every routed end port that was not asked since it appeared.
    pub(super) fn owe_requests_to_register(&mut self) {
        let (manager, routed) = (self.driver.subnet().manager(), &self.driver.running().routed);
        self.registering.owe(manager.unasked(routed));
    }

    /// Asks some end ports, as many at once as may be under way. Ends with the first event of the subnet; ports that
    /// have not answered by then are asked again.
    pub(super) async fn ask_to_register(&mut self) -> Result<(), SmError> {
        let now_ns = self.now_ns();
        self.registering.resume(now_ns);
        let window = self.driver.subnet().manager().timing().window;
        let mut asked: Vec<(PortId, Waiting)> = Vec::new();
        while asked.len() < window
            && let Some(waiting) = self.registering.now.pop_front()
        {
            match self.found(waiting.port).map(|port| (port, self.driver.subnet().manager().may_register(port))) {
                Some((port, MayRegister::Now)) => asked.push((port, waiting)),
                Some((_, MayRegister::Needless)) => {}
                Some((_, MayRegister::Later)) | None => self.registering.put_off(waiting, now_ns),
            }
        }
        if asked.is_empty() {
            return Ok(());
        }
        let ports: Vec<PortId> = asked.iter().map(|&(port, _)| port).collect();
        let answers = match self.driver.subnet_mut().manager.ask_to_register(&ports).await {
            Err(error) if error.is_fatal() => return Err(error.into()),
            // None of them counts as answered; they are asked again while this manager may.
            Err(_) => Vec::new(),
            Ok(answers) => answers,
        };
        let now_ns = self.now_ns();
        for (port, waiting) in asked {
            match answers.iter().find(|&&(answered, _)| answered == port) {
                Some((_, true)) => self.registering.taken += 1,
                Some((_, false)) => self.did_not_take_it(port, waiting, now_ns),
                None => self.registering.now.push_front(waiting),
            }
        }
        if !self.registering.is_under_way() && self.registering.later.is_empty() {
            tracing::info!(ports = std::mem::take(&mut self.registering.taken), "hosts were asked to register again");
        }
        Ok(())
    }

    /// The port, if it is routed and there.
    fn found(&self, name: PortName) -> Option<PortId> {
        let running = self.driver.running();
        let is_there = |fabric: &Fabric, port: PortId| {
            fabric.node(fabric.port(port).node).present && (name.num == PortNum::ZERO || fabric.peer(port).is_some())
        };
        let port = running.routed.port_named(name)?;
        (is_there(&running.routed, port) && is_there(&running.alive, port)).then_some(port)
    }

    fn did_not_take_it(&mut self, port: PortId, waiting: Waiting, now_ns: u64) {
        let failed = waiting.failed + 1;
        if failed == WARNS_AT {
            let port = self.driver.running().routed.describe_port(port);
            tracing::warn!(
                port,
                "does not take the request that its host register again; it is asked from time to time"
            );
        }
        self.registering.put_off(Waiting { failed, ..waiting }, now_ns);
    }
}
