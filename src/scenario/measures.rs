//! Results of one period of a run: latency, throughput, order, and the busiest links.

use super::outcome::{BusyLink, Latency, LinkLoads, Periods};
use super::subnet_setup::SubnetSetup;
use crate::change::Departure;
use crate::fabric::{Fabric, PortId};
use crate::sim::{Period, Sim};
use crate::wire::{AttributeId, Method};

pub(super) fn latency(period: &Period) -> Latency {
    let quantile = |q| period.latency_ns.value_at_quantile(q);
    Latency { p50: quantile(0.5), p99: quantile(0.99), max: period.latency_ns.max() }
}

/// The periods of a run by their index; 0 is the warm-up.
pub(super) const BEFORE: usize = 1;
pub(super) const DURING: usize = 2;
/// Between them is the time from the end of the change to a planned departure, which no report shows.
pub(super) const AFTER: usize = 4;

/// Bytes delivered, as a fraction of what `capacity` bytes in a nanosecond could have been.
pub(super) fn throughput(sim: &Sim, period: usize, capacity: f64) -> f64 {
    let length_ns = sim.period_ns(period);
    let possible = capacity * length_ns as f64;
    if possible > 0.0 { sim.periods()[period].bytes as f64 / possible } else { 0.0 }
}

/// Of the end ports that received anything, the received share of the slowest, as a fraction of what it could receive.
pub(super) fn slowest(sim: &Sim, fabric: &Fabric, period: usize) -> f64 {
    let (sent, length_ns) = (sim.bytes_sent(period), sim.period_ns(period).max(1));
    let towards = fabric.end_ports().filter_map(|port| fabric.peer(port)).filter(|port| sent[port.index()] > 0);
    let shares = towards.map(|port| {
        let held = fabric.port(port);
        sent[port.index()] as f64 / (held.width.data_rate_kbps(held.speed) as f64 / 1e6 * length_ns as f64)
    });
    shares.reduce(f64::min).unwrap_or(0.0)
}

/// The fabric of a period. What comes, or leaves unannounced, does so at the start of *during*; what leaves as planned,
/// at the start of *after*; later events count from *after* on. If the change was not `made`, what was to leave is
/// present to the end.
pub(super) fn present(setup: &SubnetSetup, departure: Departure, made: bool, period: usize) -> &Fabric {
    match period {
        0..=BEFORE => &setup.before,
        AFTER.. if made || departure == Departure::Sudden => &setup.after,
        _ if departure == Departure::Sudden => &setup.after_first,
        _ => &setup.at_first,
    }
}

/// The loads of the channels between switches, with the `most` busiest. `fabric` has no others.
pub(super) fn link_loads(sim: &Sim, fabric: &Fabric, period: usize, most: usize) -> LinkLoads {
    let between = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
    loads_between(sim, fabric, period, most, between, |port| fabric.describe_port(port))
}

/// The loads of the channels between the given ports, under the given names.
pub(super) fn loads_between(
    sim: &Sim,
    fabric: &Fabric,
    period: usize,
    most: usize,
    between: impl Fn(PortId) -> bool,
    name: impl Fn(PortId) -> String,
) -> LinkLoads {
    let (sent, length_ns) = (sim.bytes_sent(period), sim.period_ns(period));
    let channels = fabric.ports().filter_map(|(port, _)| Some((port, fabric.peer(port)?)));
    let channels = channels.filter(|&(port, peer)| between(port) && between(peer));
    let mut loads: Vec<(PortId, PortId, f64)> =
        channels.map(|(port, peer)| (port, peer, load(fabric, port, sent[port.index()], length_ns))).collect();
    loads.sort_unstable_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    let mean = loads.iter().map(|&(.., load)| load).sum::<f64>() / loads.len().max(1) as f64;
    let busiest = loads.iter().take(most).map(|&(port, peer, load)| BusyLink {
        from: name(port),
        to: name(peer),
        bytes: sent[port.index()],
        load,
    });
    LinkLoads { mean, most: loads.first().map_or(0.0, |&(.., load)| load), busiest: busiest.collect() }
}

/// Bytes that a port sent, as a fraction of what it could have sent; 0 if the time is 0.
pub(super) fn load(fabric: &Fabric, port: PortId, bytes: u64, length_ns: u64) -> f64 {
    let held = fabric.port(port);
    let capacity = held.width.data_rate_kbps(held.speed) as f64 / 1e6 * length_ns as f64;
    if length_ns == 0 { 0.0 } else { bytes as f64 / capacity }
}

/// The periods *before*, *during* and *after*; the one of warming up comes first.
pub(super) fn periods<T: Default>(sim: &Sim, value: impl Fn(usize) -> T) -> Periods<T> {
    let of = |index: usize| if index < sim.periods().len() { value(index) } else { T::default() };
    Periods { before: of(BEFORE), during: of(DURING), after: of(AFTER) }
}

/// An attribute and a method as reports name them.
pub(super) fn smp_name((attribute, method): (AttributeId, Method)) -> String {
    format!("{method:?}({attribute:?})")
}
