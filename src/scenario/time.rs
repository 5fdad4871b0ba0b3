//! Advances simulated time: with traffic alone, or while drivers act.

use super::later::LaterEvents;
use super::watch::Watch;
use crate::driver::Trail;
use crate::sim::{Halt, Sim, SimTransport};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// The least simulated time between two reports of progress.
const SLICE_NS: u64 = 20_000;

/// Packet-hops that a slice should take: one with fewer is followed by one of twice its length, so that a long wait of
/// a quiet subnet costs no more than what happens in it.
const SLICE_HOPS: u64 = 1_000;

/// The longest that packets may take to arrive after the last one is sent.
const RUN_OUT_NS: u64 = 50_000_000;

/// Work of a subnet manager.
pub(super) struct ManagerTask<'a, T> {
    /// What it does.
    pub future: Pin<Box<dyn Future<Output = T> + 'a>>,
    /// The states that it enters.
    pub trail: Trail,
    /// The transport that it waits on.
    pub transport: SimTransport,
    /// When it is to be polled although nothing has come for it.
    pub alarm: Rc<Cell<u64>>,
    /// Whether the manager does nothing more in this run.
    pub is_last: bool,
}

/// A simulation, and the watch that follows it.
pub(super) struct Time<'a> {
    pub transport: SimTransport,
    pub watch: &'a mut dyn Watch,
}

impl Time<'_> {
    /// Simulated time, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.transport.with(|sim| sim.now_ns())
    }

    /// Lets traffic run for a while.
    pub fn pass(&mut self, length_ns: u64) {
        let end_ns = self.now_ns() + length_ns;
        while self.transport.with(|sim| sim.deadlock().is_none() && sim.now_ns() < end_ns) {
            self.transport.with(|sim| sim.run((sim.now_ns() + SLICE_NS).min(end_ns), false));
            self.report();
        }
    }

    fn report(&mut self) {
        let (hops, now_ns) = self.transport.with(|sim| (sim.packet_hops(), sim.now_ns()));
        self.watch.passes(hops, now_ns);
    }

    /// Polls the drivers' futures in turn; when all that remain wait, the simulation advances, and what is due of later
    /// events happens. Returns the results in the order of `tasks`, or `None` once a deadlock has closed. `entered` is
    /// called for each state that a driver enters.
    pub fn drive<T>(
        &mut self,
        tasks: Vec<ManagerTask<'_, T>>,
        later: &LaterEvents<'_>,
        mut entered: impl FnMut(&mut Sim),
    ) -> Option<Vec<T>> {
        let mut results: Vec<Option<T>> = tasks.iter().map(|_| None).collect();
        let mut tasks: Vec<(usize, ManagerTask<'_, T>)> = tasks.into_iter().enumerate().collect();
        // No task ever wakes another: only the simulation can make a future ready, so each is polled after every halt.
        let mut context = Context::from_waker(Waker::noop());
        loop {
            tasks.retain_mut(|(rank, task)| {
                let polled = task.future.as_mut().poll(&mut context);
                // Even if the task is ready: the states that it entered in its last poll count.
                for state in task.trail.take() {
                    self.transport.with(|sim| {
                        self.watch.enters(state, sim);
                        entered(sim);
                        later.enters(state, sim);
                    });
                }
                let Poll::Ready(result) = polled else { return true };
                results[*rank] = Some(result);
                // Otherwise a late answer to this manager would stop the simulation again and again, because no client
                // would receive it.
                if task.is_last {
                    task.transport.hang_up();
                }
                false
            });
            if tasks.is_empty() {
                return results.into_iter().collect();
            }
            // The simulation is the only clock: it may run until the earliest deadline of a manager.
            let waits = tasks.iter().map(|(_, task)| task.transport.waits_until_ns().min(task.alarm.get()));
            let until_ns = waits.chain(later.due_ns()).min().unwrap_or(u64::MAX);
            if !self.wait(until_ns) {
                return None;
            }
            self.transport.with(|sim| later.strike_due(sim));
        }
    }

    /// Advances to the next MAD or to a time; false once a deadlock has closed.
    fn wait(&mut self, until_ns: u64) -> bool {
        let (mut slice_ns, mut hops) = (SLICE_NS, self.transport.with(|sim| sim.packet_hops()));
        loop {
            let at_most_ns = self.now_ns().saturating_add(slice_ns).min(until_ns);
            match self.transport.with(|sim| sim.run(at_most_ns, true)) {
                Halt::Deadlock => return false,
                Halt::Mad => return true,
                Halt::Time => {
                    let before = std::mem::replace(&mut hops, self.transport.with(|sim| sim.packet_hops()));
                    slice_ns = if hops - before < SLICE_HOPS { slice_ns.saturating_mul(2) } else { SLICE_NS };
                    self.report();
                    if self.now_ns() >= until_ns {
                        return true;
                    }
                }
            }
        }
    }

    /// Stops all sources, and waits until every packet in flight has arrived or is known never to arrive.
    pub fn run_out(&mut self) {
        // A period of its own, so that the one after the change measures only time in which sources sent.
        self.transport.with(Sim::begin_period);
        self.transport.with(Sim::stop_sources);
        let end_ns = self.now_ns() + RUN_OUT_NS;
        while self
            .transport
            .with(|sim| sim.deadlock().is_none() && sim.packets().in_flight > 0 && sim.now_ns() < end_ns)
        {
            self.transport.with(|sim| sim.run(sim.now_ns() + SLICE_NS, false));
            self.report();
        }
        // While a table may still be written, a cycle of waiting packets is only a suspicion. No table is written any
        // more, so a cycle that exists now is permanent.
        self.transport.with(Sim::confirm_deadlock);
    }
}
