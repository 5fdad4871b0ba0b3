//! The cost of a wave before it runs: SMPs, and the time that the devices need to serve them.

use super::{Barrier, Observer, Plan, Sending, Wave};
use crate::tables::Write;
use serde::Serialize;
use std::collections::BTreeMap;

/// How fast a subnet manager gets SMPs served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmpRate {
    /// Time in which a device serves one, in nanoseconds.
    pub smp_ns: u64,
    /// SMPs under way over all devices; none: one for each device.
    pub window: Option<usize>,
}

/// The cost of a wave's writes; barriers wait for traffic and come on top.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct WaveCost {
    /// Writes by the attribute that is `Set`; a change at the SM itself counts as `SA`.
    pub writes: BTreeMap<&'static str, usize>,
    /// SMPs: one `Set` for each write; responses and retries are not counted.
    pub smps: usize,
    /// The most SMPs that one device receives.
    pub busiest: usize,
    /// Time in nanoseconds: each device serves one SMP after another, and as many work at once as SMPs are under way.
    pub expected_ns: u64,
}

impl Plan {
    /// How many SMPs are under way over all devices while the plan is written: the scheme's own number or that of the
    /// devices, whichever is less; none: one for each device.
    pub fn window(&self, of_devices: Option<usize>) -> Option<usize> {
        self.waves().iter().filter_map(window_of).chain(of_devices).min()
    }

    /// The cost of one of the plan's waves.
    pub fn cost(&self, wave: &Wave, rate: SmpRate) -> WaveCost {
        let fabric = &self.draft.before;
        let mut cost = WaveCost::default();
        let mut by_device = vec![0usize; fabric.node_count()];
        for write in &wave.writes {
            *cost.writes.entry(attribute(write)).or_default() += 1;
            if let Some(device) = write.node(fabric) {
                by_device[device.index()] += 1;
                cost.smps += 1;
            }
        }
        cost.busiest = by_device.into_iter().max().unwrap_or(0);
        let narrowest = window_of(wave).into_iter().chain(rate.window).min();
        let rounds = narrowest.map_or(0, |window| cost.smps.div_ceil(window.max(1)));
        cost.expected_ns = cost.busiest.max(rounds) as u64 * rate.smp_ns;
        cost
    }

    /// Nanoseconds for which the barriers of a wave wait by the clock, whatever the traffic: for age, where switches
    /// keep packets for `lifetime_ns`, and for hosts behind a fence, which have `settle_ns` to follow. The delay of
    /// cables, some microseconds, is ignored.
    pub fn waits_ns(&self, wave: &Wave, lifetime_ns: u64, settle_ns: Option<u64>) -> u64 {
        let settle = settle_ns.unwrap_or(0);
        let way = u64::from(self.longest_way());
        let waits = |barrier: &Barrier| match (barrier, self.policy().observer) {
            (Barrier::SourcesMoved, _) => settle,
            // F.6 and F.7: behind a fence, strays of the spare half may have their whole way before them.
            (Barrier::Flushed(_), Observer::Lifetime) => {
                settle + (2 + if settle_ns.is_some() { way } else { 0 }) * lifetime_ns
            }
            // D.6: behind a fence no reply enters, so there is one round.
            (Barrier::Drained(_), Observer::Lifetime) => {
                settle + (if settle_ns.is_some() { 1 } else { 2 }) * way * lifetime_ns
            }
            (Barrier::Vacated(rounds), Observer::Lifetime) => u64::from(*rounds) * lifetime_ns,
            (Barrier::Acknowledged, _)
            | (
                Barrier::Flushed(_) | Barrier::Drained(_) | Barrier::Vacated(_),
                Observer::Token | Observer::Poll | Observer::Conservation,
            ) => 0,
        };
        wave.barriers.iter().map(waits).sum()
    }

    /// Nanoseconds for which the barriers of all waves wait by the clock.
    pub fn all_waits_ns(&self, lifetime_ns: u64, settle_ns: Option<u64>) -> u64 {
        self.waves().iter().map(|wave| self.waits_ns(wave, lifetime_ns, settle_ns)).sum()
    }
}

/// The window that a wave's own order has.
fn window_of(wave: &Wave) -> Option<usize> {
    match wave.sending {
        Sending::AnyOrder => None,
        Sending::Listed { window } => Some(usize::from(window)),
    }
}

/// The specification's name of the attribute that a write sets.
fn attribute(write: &Write) -> &'static str {
    match write {
        Write::LftBlock { .. } => "LinearForwardingTable",
        Write::SlToVl { .. } => "SLtoVLMappingTable",
        Write::PortState { .. } => "PortInfo:PortState",
        Write::MasterSm { .. } => "PortInfo:MasterSM",
        Write::ActiveHalf { .. } => "ActiveHalf",
        Write::SaHalf { .. } => "SA",
    }
}
