//! What a period of a run came to: latency, throughput, order, and the busiest links.

use super::outcome::{BusyLink, Latency, LinkLoads};
use crate::fabric::{Fabric, PortId};
use crate::sim::{Period, Sim};

/// Quantiles of latency.
pub(super) fn latency(period: &Period) -> Latency {
    let quantile = |q| period.latency_ns.value_at_quantile(q);
    Latency { p50: quantile(0.5), p99: quantile(0.99), max: period.latency_ns.max() }
}

/// Bytes delivered, as a fraction of what all end ports could take.
pub(super) fn throughput(sim: &Sim, period: usize) -> f64 {
    let length_ns = sim.period_ns(period);
    if length_ns == 0 {
        return 0.0;
    }
    sim.periods()[period].bytes as f64 / length_ns as f64 / sim.delivery_capacity()
}

/// Of the end ports that received anything, what the one that received least did, as a fraction of what it could take.
pub(super) fn slowest(sim: &Sim, fabric: &Fabric, period: usize) -> f64 {
    let (sent, length_ns) = (sim.bytes_sent(period), sim.period_ns(period).max(1));
    let towards = fabric.end_ports().filter_map(|port| fabric.peer(port)).filter(|port| sent[port.index()] > 0);
    let shares = towards.map(|port| {
        let held = fabric.port(port);
        sent[port.index()] as f64 / (held.width.data_rate_kbps(held.speed) as f64 / 1e6 * length_ns as f64)
    });
    shares.reduce(f64::min).unwrap_or(0.0)
}

/// What the channels between switches carried, and the busiest of them, `most` at most.
pub(super) fn link_loads(sim: &Sim, fabric: &Fabric, period: usize, most: usize) -> LinkLoads {
    let (sent, length_ns) = (sim.bytes_sent(period), sim.period_ns(period));
    let mut loads: Vec<(PortId, f64)> = channels(fabric)
        .map(|port| (port, sent[port.index()]))
        .map(|(port, bytes)| {
            let held = fabric.port(port);
            let capacity = held.width.data_rate_kbps(held.speed) as f64 / 1e6 * length_ns as f64;
            (port, if length_ns == 0 { 0.0 } else { bytes as f64 / capacity })
        })
        .collect();
    loads.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mean = loads.iter().map(|&(_, load)| load).sum::<f64>() / loads.len().max(1) as f64;
    let busiest = loads.iter().take(most).map(|&(port, load)| BusyLink {
        from: fabric.describe_port(port),
        to: fabric.peer(port).map(|peer| fabric.describe_port(peer)).unwrap_or_default(),
        bytes: sent[port.index()],
        load,
    });
    LinkLoads { mean, most: loads.first().map_or(0.0, |&(_, load)| load), busiest: busiest.collect() }
}

/// The ports of switches that are cabled to switches.
fn channels(fabric: &Fabric) -> impl Iterator<Item = PortId> + '_ {
    let switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
    fabric.ports().map(|(id, _)| id).filter(move |&port| switch(port) && fabric.peer(port).is_some_and(switch))
}
