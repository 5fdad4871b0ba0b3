//! Estimates a run before it starts: simulated time from the SMPs that the change needs, and packet-hops from that
//! time, the load, and the lengths of paths. If the user gives no load, chooses one that the routing function can
//! carry, whatever the scheme.

use super::elements::ScenarioChange;
use super::setting::Scenario;
use super::subnet_setup::SubnetSetup;
use crate::change::Departure;
use crate::fabric::{NodeId, PortId, RankedSwitches};
use crate::plan::{Observer, Scheme};
use crate::tables::PathLayers;
use crate::verify;

/// The default load, where nothing lowers it.
pub const USUAL_LOAD: f64 = 0.3;
/// What lowers it: the share of the load that fills the busiest link under uniform traffic, and the packet-hops.
const BELOW_SATURATION: f64 = 0.8;
const USUAL_HOPS: f64 = 1.5e8;

/// The packet-hops where the Double Scheme cannot run, which loses most by little traffic.
const USUAL_HOPS_OF_ENTRIES: f64 = 3e7;

/// The round trip of a MAD adds about this much to its service.
const FLIGHT_NS: u64 = 2_500;

/// What a run will be like.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RunOutlook {
    /// Its load.
    pub load: f64,
    /// The packet-hops to expect.
    pub hops: u64,
    /// The load that would be chosen if it did not matter how long the run takes: no link is full.
    pub usual: f64,
}

/// Two digits of a load are enough, and easier to read.
pub fn two_digits(load: f64) -> f64 {
    let scale = 10f64.powi(1 - load.log10().floor() as i32);
    (load * scale).floor() / scale
}

/// The same for a length of time, rounded up.
pub fn two_digits_up(time: f64) -> f64 {
    let scale = 10f64.powi(1 - time.log10().floor() as i32);
    (time * scale).ceil() / scale
}

/// What to expect of a change by `scheme`. `planned_ns` is how long its plan waits by the clock, where there is one.
pub fn outlook(scenario: &Scenario, setup: &SubnetSetup, scheme: Scheme, planned_ns: Option<u64>) -> RunOutlook {
    let demand = demand(setup);
    let for_change = |change_ns: u64| {
        let time_ns = scenario.warm_up_ns + scenario.before_ns + change_ns + scenario.after_ns;
        time_ns as f64 * packets_per_ns(setup) * demand.hops
    };
    let estimated_ns = |scheme: Scheme| waits_ns(scenario, setup, scheme);
    let at_full_load = |scheme: Scheme, waits_ns: u64| for_change(change_ns(scenario, setup, scheme, waits_ns));
    let usual = USUAL_LOAD.min(demand.saturation * BELOW_SATURATION);
    let load = scenario.load.unwrap_or_else(|| {
        // The same for all schemes, or what they lose could not be compared.
        let slowest = slowest(setup);
        let hops = if slowest == Scheme::Double { USUAL_HOPS } else { USUAL_HOPS_OF_ENTRIES };
        two_digits(usual.min(hops / at_full_load(slowest, estimated_ns(slowest))))
    });
    // Beyond saturation the busiest link carries no more, however much sources offer.
    let expected = match scenario.change {
        ScenarioChange::Nothing => for_change(0),
        _ => at_full_load(scheme, planned_ns.unwrap_or_else(|| estimated_ns(scheme))),
    };
    RunOutlook { load, hops: (expected * load.min(demand.saturation)) as u64, usual: two_digits(usual) }
}

/// Packets that all end ports can send in a nanosecond.
fn packets_per_ns(setup: &SubnetSetup) -> f64 {
    let rate = |port: PortId| {
        let port = setup.whole.port(port);
        port.width.data_rate_kbps(port.speed) as f64 / 1e6
    };
    senders(setup).map(rate).sum::<f64>() / setup.config.mean_packet_bytes()
}

/// How long it takes on average from one packet of an ordered pair of end ports to its next, under uniform traffic.
pub fn pair_sends_every_ns(setup: &SubnetSetup, load: f64) -> f64 {
    let ends = senders(setup).count() as f64;
    ends * (ends - 1.0) / (packets_per_ns(setup) * load)
}

/// The scheme that takes longest of those that can run: the Double Scheme needs two LIDs at every end port.
pub fn slowest(setup: &SubnetSetup) -> Scheme {
    if setup.whole.port(setup.sm).lmc.get() == 0 { Scheme::InPlace } else { Scheme::Double }
}

/// The end ports that offer traffic.
fn senders(setup: &SubnetSetup) -> impl Iterator<Item = PortId> + '_ {
    setup.before.end_ports().filter(|&port| setup.before.is_host_port(port))
}

/// About how long the change takes: the busiest device's SMPs, one after the other, each as slow as the slowest, and
/// what it waits by the clock.
fn change_ns(scenario: &Scenario, setup: &SubnetSetup, scheme: Scheme, waits_ns: u64) -> u64 {
    let each = scenario.sim.longest_service_ns() + scenario.sim.smi_processor_ns + FLIGHT_NS;
    let busiest = setup.whole.switches().map(|switch| smps_at(setup, scheme, switch)).max().unwrap_or(0);
    let sweep = setup.whole.switches().map(|switch| setup.whole.port_range(switch).len() as u64 + 3).max().unwrap_or(0);
    let swept = if scenario.departure == Departure::Sudden { sweep * 3 } else { 0 };
    (busiest + swept) * each + waits_ns + scenario.computing.of(&setup.whole, scheme)
}

/// About how long barriers wait by the clock, for hosts behind a fence and for age. How often waves of scheme `ordered`
/// wait for one another is not known before they are made; most do not.
pub fn waits_ns(scenario: &Scenario, setup: &SubnetSetup, scheme: Scheme) -> u64 {
    let settle_ns = scenario.sources.settle_ns().unwrap_or(0);
    let by_age = scenario.policy.observer == Observer::Lifetime;
    let life_ns = scenario.sim.switch_lifetime_ns;
    match scheme {
        // Sources settle; by age the flush and the drain wait as long, and for the longest way each.
        Scheme::Double if by_age => {
            let way = verify::longest_way(&setup.before, &setup.after, &setup.tables) as u64;
            3 * settle_ns + (2 + 2 * way) * life_ns
        }
        Scheme::Double => settle_ns,
        Scheme::Ordered | Scheme::InPlace if by_age && scenario.departure == Departure::Planned => {
            verify::rounds_to_vacate(&setup.before, &setup.after).unwrap_or(0) as u64 * life_ns
        }
        Scheme::Ordered | Scheme::InPlace | Scheme::Static | Scheme::Recover => 0,
    }
}

fn smps_at(setup: &SubnetSetup, scheme: Scheme, switch: NodeId) -> u64 {
    let linked = setup.whole.ports_of(switch).filter(|&port| setup.whole.peer(port).is_some()).count() as u64;
    let blocks = u64::from(setup.tables.lfts[switch.index()].blocks());
    // P1.1: one table for each pair of cabled input and output; port 0 is one input more.
    let one_pass = if setup.whole.node(switch).optimised_sl_to_vl { 1 } else { linked * (linked + 1) };
    match scheme {
        // The SL-to-VL tables are written twice, by the split and by the restore (P1.1, P5.1).
        Scheme::Double => blocks + 2 * one_pass + linked / 8 + 12,
        Scheme::Static => blocks + 4 * linked,
        // Few entries change, so a block counts once.
        Scheme::Ordered | Scheme::Recover => blocks + 12,
        // Four SMPs are on the wire at a time, over all switches together, not per device.
        Scheme::InPlace => blocks * setup.whole.switches().count() as u64 / 4,
    }
}

/// The demand of uniform traffic at full load.
struct Demand {
    /// The mean number of switches on a path.
    hops: f64,
    /// The load at which the busiest link is full.
    saturation: f64,
}

/// Follows every path, and sums what the end ports below each channel send through it.
fn demand(setup: &SubnetSetup) -> Demand {
    let rate = |port: PortId| {
        let port = setup.whole.port(port);
        port.width.data_rate_kbps(port.speed) as f64
    };
    let ends: Vec<PortId> = senders(setup).collect();
    let each = 1.0 / (ends.len() - 1).max(1) as f64;
    let (load, visits) = match setup.function.path_layers() {
        Some(ways) => by_pairs(setup, ways, &ends, |source| rate(source) * each),
        None => by_trees(setup, &ends, |source| rate(source) * each),
    };
    let used = load.iter().enumerate().filter(|&(_, &load)| load > 0.0);
    let fullest = used.map(|(channel, load)| load / rate(PortId(channel as u32))).fold(0.0, f64::max);
    let pairs = (ends.len() * ends.len()).max(1) as f64;
    Demand { hops: visits / pairs, saturation: if fullest > 0.0 { 1.0 / fullest } else { 1.0 } }
}

/// Load by channel, and the sum of switches passed, pair by pair: each source has a path of its own.
fn by_pairs(setup: &SubnetSetup, ways: &PathLayers, ends: &[PortId], sends: impl Fn(PortId) -> f64) -> (Vec<f64>, f64) {
    let mut load = vec![0.0; setup.whole.port_count()];
    let mut visits = 0.0;
    for (destination, &port) in setup.function.destinations().iter().enumerate() {
        for &source in ends.iter().filter(|&&source| source != port && setup.before.is_host_port(port)) {
            let Some((path, _)) = ways.ways(source, port).next() else { continue };
            let Some(home) = setup.before.neighbour(source) else { continue };
            for out in setup.function.way(&setup.before, home, destination, path) {
                load[out.index()] += sends(source);
                visits += 1.0;
            }
        }
    }
    (load, visits)
}

/// The estimate if all sources share one tree of paths to each destination.
fn by_trees(setup: &SubnetSetup, ends: &[PortId], sends: impl Fn(PortId) -> f64) -> (Vec<f64>, f64) {
    let ranked = RankedSwitches::of(&setup.before);
    let (mut sent, mut hosts) = (vec![0.0; ranked.switches.len()], vec![0.0; ranked.switches.len()]);
    for &end in ends {
        if let Some(switch) = ranked.behind(end) {
            sent[switch] += sends(end);
            hosts[switch] += 1.0;
        }
    }
    let mut load = vec![0.0; setup.whole.port_count()];
    let mut visits = 0.0;
    // Traffic goes to hosts; a switch and what is a part of it are destinations of management only.
    let destinations = setup.function.destinations().iter().enumerate();
    let wanted: Vec<usize> =
        destinations.filter(|&(_, &port)| setup.before.is_host_port(port)).map(|(rank, _)| rank).collect();
    for some in wanted.chunks(TOGETHER) {
        let rows: Vec<[Option<PortId>; TOGETHER]> =
            ranked.switches.iter().map(|&switch| outputs(setup, switch, some)).collect();
        for own in 0..some.len() {
            // Starts with what the switches' own hosts send. The destination is counted among them; one sender more
            // does not matter for an estimate.
            let (mut through, mut packets) = (sent.clone(), hosts.clone());
            // Farthest first: when a switch is reached, all traffic that joins its tree farther away has been added.
            for hop in farthest_first(&ranked, rows.iter().map(|row| row[own])) {
                load[hop.out.index()] += through[hop.switch];
                visits += packets[hop.switch];
                if let Some(next) = hop.next {
                    through[next] += through[hop.switch];
                    packets[next] += packets[hop.switch];
                }
            }
        }
    }
    (load, visits)
}

/// Destinations for which a function is read at once: it lies switch by switch, and trees are followed from switch to
/// switch.
const TOGETHER: usize = 16;

/// The ports by which a switch sends to these destinations.
fn outputs(setup: &SubnetSetup, switch: NodeId, destinations: &[usize]) -> [Option<PortId>; TOGETHER] {
    let mut outputs = [None; TOGETHER];
    for (output, &destination) in outputs.iter_mut().zip(destinations) {
        let num = setup.function.output(switch, destination, 0);
        *output = num.and_then(|num| setup.before.port_at(switch, num));
    }
    outputs
}

/// A step towards a destination: switches by rank.
struct TreeHop {
    switch: usize,
    out: PortId,
    next: Option<usize>,
}

/// The steps of all switches towards a destination by these outputs of theirs, the farthest first.
fn farthest_first(ranked: &RankedSwitches, outputs: impl Iterator<Item = Option<PortId>>) -> Vec<TreeHop> {
    let hop = |(switch, out): (usize, Option<PortId>)| out.map(|out| TreeHop { switch, out, next: ranked.behind(out) });
    let mut hops: Vec<TreeHop> = outputs.enumerate().filter_map(hop).collect();
    // Following each switch to the first one whose distance is known visits each switch once: a tree of any depth takes
    // linear time, without recursion.
    let mut depth = vec![u32::MAX; ranked.switches.len()];
    let mut next = vec![None; ranked.switches.len()];
    hops.iter().for_each(|hop| next[hop.switch] = hop.next);
    let mut path = Vec::new();
    for hop in &hops {
        let mut at = Some(hop.switch);
        // The bound ends a path that runs in a loop; the proof refuses such a function later.
        while let Some(switch) = at.filter(|&switch| depth[switch] == u32::MAX && path.len() <= hops.len()) {
            path.push(switch);
            at = next[switch];
        }
        // `None`: the path ended at the switch of the destination, whose depth is 0.
        let mut reached = at.map_or(0, |switch| depth[switch].saturating_add(1));
        for switch in path.drain(..).rev() {
            depth[switch] = reached;
            reached = reached.saturating_add(1);
        }
    }
    hops.sort_by_key(|hop| std::cmp::Reverse(depth[hop.switch]));
    hops
}

#[cfg(test)]
mod tests {
    use super::super::setup::Setup;
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::routing::{Engine, UpDown};
    use crate::scenario::Engines;
    use crate::sim::{AttributeTime, MessageShare, SimConfig};
    use std::sync::Arc;

    /// Slow agents, so that the change is what takes long and the load is lowered for it.
    #[test]
    fn every_scheme_gets_the_same_load() {
        let fabric = generate(&"fat-tree:2,3".parse().expect("a topology"), &Options::default()).expect("it exists");
        let engine: Arc<dyn Engine> = Arc::new(UpDown::default());
        let load_of = |scheme: &Scheme| {
            let mut scenario = Scenario { scheme: *scheme, ..Scenario::remove_root(fabric.clone()) };
            scenario.sim.sma_service_ns = 50_000_000;
            let setup = Setup::new(&scenario, &Engines::from(engine.clone())).expect("it can be set up");
            outlook(&scenario, &setup.each[0], *scheme, None)
        };
        let loads: Vec<RunOutlook> = Scheme::ALL.iter().map(load_of).collect();
        assert!(loads[0].load < 0.1, "{loads:?}");
        assert!(loads.iter().all(|own| own.load == loads[0].load), "{loads:?}");
        assert!(loads.iter().any(|own| own.hops != loads[0].hops), "{loads:?}");
    }
    /// Packets of a mix are shorter than the longest, and one slow attribute or a processor slows a change.
    #[test]
    fn mixes_and_slow_devices_count() {
        let fabric = generate(&"fat-tree:2,3".parse().expect("a topology"), &Options::default()).expect("it exists");
        let engine: Arc<dyn Engine> = Arc::new(UpDown::default());
        let (scheme, base) = (Scheme::Double, Scenario { load: Some(0.01), ..Scenario::remove_root(fabric) });
        let hops = |sim: SimConfig| {
            let scenario = Scenario { sim, ..base.clone() };
            let setup = Setup::new(&scenario, &Engines::from(engine.clone())).expect("it can be set up");
            outlook(&scenario, &setup.each[0], scheme, None).hops as f64
        };
        let plain = hops(base.sim.clone());
        // Of three packets two have 1024 bytes and one 512: 2560 for three.
        let message_mix = vec![MessageShare { bytes: 2_560, share: 1.0 }];
        let mixed = hops(SimConfig { message_mix, ..base.sim.clone() }) / plain;
        assert!((mixed / (1024.0 * 3.0 / 2_560.0) - 1.0).abs() < 0.001, "{mixed}");
        let slow = SimConfig { sma_service_ns: 1_000_000, ..base.sim.clone() };
        let sma_times = vec![AttributeTime { attribute: 0x17, service_ns: 1_000_000 }];
        assert_eq!(hops(SimConfig { sma_times, ..base.sim.clone() }), hops(slow.clone()));
        let smi_processor_ns = slow.sma_service_ns - base.sim.sma_service_ns;
        assert_eq!(hops(SimConfig { smi_processor_ns, ..base.sim.clone() }), hops(slow));
    }
}
