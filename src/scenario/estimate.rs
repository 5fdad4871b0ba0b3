//! How long a run will be, told beforehand: simulated time from the SMPs that the change needs, packet-hops from that, the
//! load, and the lengths of sampled paths.

use super::setting::Scenario;
use super::stage::Stage;
use crate::change::Departure;
use crate::fabric::{NodeId, PortId};
use crate::ids::{Half, PortNum};
use crate::plan::Scheme;

/// The load where nobody asks for another, and the packet-hops that it may lead to.
const USUAL_LOAD: f64 = 0.3;
const USUAL_HOPS: f64 = 1.5e8;

/// A MAD there and back costs about this much more than its service.
const FLIGHT_NS: u64 = 2_500;

/// The load of a run, and the packet-hops to expect.
pub fn load_and_hops(scenario: &Scenario, stage: &Stage) -> (f64, u64) {
    let time_ns = scenario.warm_up_ns + scenario.before_ns + change_ns(scenario, stage) + scenario.after_ns;
    let at_full_load = time_ns as f64 * packets_per_ns(stage) * mean_hops(stage);
    let load = scenario.load.unwrap_or_else(|| {
        // Two figures are enough, and read better.
        let most = (USUAL_HOPS / at_full_load).min(USUAL_LOAD);
        let scale = 10f64.powi(1 - most.log10().floor() as i32);
        (most * scale).floor() / scale
    });
    (load, (at_full_load * load) as u64)
}

/// Packets that all end ports could send in a nanosecond.
fn packets_per_ns(stage: &Stage) -> f64 {
    let rate = |port: PortId| {
        let port = stage.whole.port(port);
        port.width.data_rate_kbps(port.speed) as f64 / 1e6
    };
    stage.before.end_ports().map(rate).sum::<f64>() / f64::from(stage.config.packet_bytes)
}

/// About how long the change takes: the busiest device's SMPs, one after the other.
fn change_ns(scenario: &Scenario, stage: &Stage) -> u64 {
    let each = scenario.sim.sma_service_ns + FLIGHT_NS;
    let busiest = stage.whole.switches().map(|switch| smps_at(scenario, stage, switch)).max().unwrap_or(0);
    let sweep = stage.whole.switches().map(|switch| stage.whole.port_range(switch).len() as u64 + 3).max().unwrap_or(0);
    let swept = if scenario.departure == Departure::Sudden { sweep * 3 } else { 0 };
    (busiest + swept) * each
}

fn smps_at(scenario: &Scenario, stage: &Stage, switch: NodeId) -> u64 {
    let linked = stage.whole.ports_of(switch).filter(|&port| stage.whole.peer(port).is_some()).count() as u64;
    let blocks = u64::from(stage.tables.lfts[switch.index()].blocks());
    let one_pass = if stage.whole.node(switch).optimised_sl_to_vl { 1 } else { linked * (linked + 1) };
    match scenario.scheme {
        Scheme::Double => blocks + 2 * one_pass + linked / 8 + 12,
        Scheme::Static => blocks + 4 * linked,
        Scheme::InPlace => blocks * stage.whole.switches().count() as u64 / 4,
    }
}

/// Switches on a path, the mean over sampled pairs.
fn mean_hops(stage: &Stage) -> f64 {
    let ends: Vec<PortId> = stage.before.end_ports().collect();
    let step = (ends.len() / 16).max(1);
    let sampled: Vec<PortId> = ends.into_iter().step_by(step).collect();
    let pairs = sampled.iter().flat_map(|&from| sampled.iter().map(move |&to| (from, to))).filter(|(a, b)| a != b);
    let lengths: Vec<usize> = pairs.map(|(from, to)| hops(stage, from, to)).collect();
    lengths.iter().sum::<usize>() as f64 / lengths.len().max(1) as f64
}

fn hops(stage: &Stage, from: PortId, to: PortId) -> usize {
    let Some(lid) = stage.whole.half_lids(to, Half::Lower).next().or(stage.whole.port(to).lid) else { return 0 };
    let mut at = stage.before.neighbour(from);
    let mut count = 0;
    while let Some(switch) = at.filter(|&node| stage.before.node(node).is_switch()) {
        count += 1;
        let out = stage.tables.lfts[switch.index()].get(lid).filter(|&port| port != PortNum::ZERO);
        at = out.and_then(|num| stage.before.port_at(switch, num)).and_then(|port| stage.before.neighbour(port));
    }
    count
}
