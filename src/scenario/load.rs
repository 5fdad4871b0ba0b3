//! The default load of a run among several subnets: what every channel can carry, under the routing before the change
//! and under that after it.
//!
//! Beyond saturation the buffers of routers fill, and packets that wait for them delay the subnets before: congestion
//! crosses routers as packets do. A run that shows what a change does to others must stay well below.

use super::estimate::{self, RunOutlook, two_digits};
use super::setup::{Between, Setup};
use crate::change::Prepared;
use crate::fabric::subnets::SubnetPort;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::SubnetId;
use crate::routers::Routes;
use crate::tables::RoutingFunction;
use std::collections::BTreeMap;
use std::iter;

/// The largest share of its capacity to which the busiest channel may be filled.
const BELOW_SATURATION: f64 = 0.5;

/// The highest default load.
const USUAL_LOAD: f64 = 0.3;

/// The traffic that crosses one subnet on its way between subnets, in units of a host's rate. Every host takes an equal
/// part, and ports are assumed to have a host's rate.
#[derive(Clone, Default)]
struct Crossing {
    /// From each host to a router's port.
    out: BTreeMap<PortId, f64>,
    /// From a router's port to each host.
    home: BTreeMap<PortId, f64>,
    /// From a router's port to another's.
    through: BTreeMap<(PortId, PortId), f64>,
}

/// What to expect of the run of these changes.
pub(super) fn outlook(setup: &Setup<'_>, prepared: &[Prepared]) -> RunOutlook {
    // What `auto` has chosen, where it was to choose.
    let scheme = prepared.first().map_or(setup.scenario.scheme, |change| change.last().plan.plan().scheme());
    let waits_ns = waits_ns(setup, prepared);
    let outlook = |own| estimate::outlook(setup.scenario, own, scheme, waits_ns);
    let each: Vec<RunOutlook> = setup.each.iter().map(outlook).collect();
    // A single subnet has no router whose buffers could fill, so its own estimate suffices.
    let Some(between) = &setup.between else { return each[0] };
    let busiest = busiest(setup, between, prepared) * concentration(setup, between);
    let bears = |load: f64| two_digits(if busiest > 0.0 { load.min(BELOW_SATURATION / busiest) } else { load });
    let least = |of: fn(&RunOutlook) -> f64| each.iter().map(of).fold(USUAL_LOAD, f64::min);
    let load = setup.scenario.load.unwrap_or_else(|| bears(least(|own| own.load)));
    let hops = each.iter().map(|own| if own.load > 0.0 { own.hops as f64 * load / own.load } else { 0.0 });
    RunOutlook { load, hops: hops.sum::<f64>() as u64, usual: bears(least(|own| own.usual)) }
}

/// How long the slowest of these changes waits by the clock, with those that follow it; none where none is prepared.
fn waits_ns(setup: &Setup<'_>, prepared: &[Prepared]) -> Option<u64> {
    let (life_ns, settle_ns) = (setup.scenario.sim.switch_lifetime_ns, setup.scenario.sources.settle_ns());
    let of_change = |change: &Prepared| -> u64 {
        let all = iter::successors(Some(change), |change| change.then.as_deref());
        all.map(|change| change.plan.plan().all_waits_ns(life_ns, settle_ns)).sum()
    };
    prepared.iter().map(of_change).max()
}

/// The load on the busiest channel, at full load of all hosts, before the change and after it.
fn busiest(setup: &Setup<'_>, between: &Between, prepared: &[Prepared]) -> f64 {
    let (before, after) = (crossings(setup, &between.routes), crossings(setup, &between.routes_after));
    let acting = setup.acting();
    let mut most: f64 = 0.0;
    for (subnet, own) in setup.subnet_ids().zip(&setup.each) {
        let hosts: Vec<PortId> = setup.subnets.hosts(subnet).collect();
        let inside = 1.0 - share_out(setup, subnet);
        let at = subnet.index();
        most = most.max(busiest_channel(&own.before, &own.function, &hosts, inside, &before[at]));
        let change = acting.iter().position(|&other| other == subnet).and_then(|at| prepared.get(at));
        let function = change.and_then(|change| change.function.as_deref()).unwrap_or(&own.function);
        most = most.max(busiest_channel(&own.after, function, &hosts, inside, &after[at]));
    }
    most
}

/// The most that a host sends to one partner, as a multiple of its share if every host sends to every other: partitions
/// load no channel more than this many times as much.
fn concentration(setup: &Setup<'_>, between: &Between) -> f64 {
    let Some(partitioning) = &between.partitioning else { return 1.0 };
    let hosts = |subnet| setup.subnets.hosts(subnet).map(move |port| SubnetPort { subnet, port });
    let all: Vec<SubnetPort> = setup.subnet_ids().flat_map(hosts).collect();
    let mut most: f64 = 1.0;
    for &host in &all {
        let (mut ends, mut partners) = ([0.0, 0.0], [0.0, 0.0]);
        for &other in all.iter().filter(|&&other| other != host) {
            let side = usize::from(other.subnet != host.subnet);
            ends[side] += 1.0;
            partners[side] += if partitioning.keys.shared(host, other).is_some() { 1.0 } else { 0.0 };
        }
        let out = share_out(setup, host.subnet);
        // A host without a partner in other subnets sends everything to those of its own.
        let within = if partners[1] > 0.0 || out >= 1.0 { 1.0 } else { 1.0 / (1.0 - out) };
        let busier = [ends[0] / partners[0] * within, ends[1] / partners[1]];
        most = busier.into_iter().filter(|times| times.is_finite()).fold(most, f64::max);
    }
    most
}

/// The share of a subnet's traffic that goes to other subnets.
fn share_out(setup: &Setup<'_>, subnet: SubnetId) -> f64 {
    let others = setup.subnet_ids().filter(|&other| other != subnet);
    let anybody = others.into_iter().any(|other| setup.subnets.hosts(other).next().is_some());
    if anybody { setup.scenario.cross } else { 0.0 }
}

/// Loads of a subnet's channels, walked switch by switch; each end port uses the paths to another in equal parts.
struct Walk<'a> {
    fabric: &'a Fabric,
    function: &'a RoutingFunction,
    /// By port: its rank among the destinations.
    rank: Vec<usize>,
    load: Vec<f64>,
}

impl Walk<'_> {
    /// Adds the traffic from a switch to a port.
    fn add(&mut self, from: NodeId, to: PortId, rate: f64) {
        let destination = self.rank[to.index()];
        if destination == usize::MAX || rate == 0.0 {
            return;
        }
        for path in 0..self.function.paths() {
            let share = rate / self.function.paths() as f64;
            let way = self.function.way(self.fabric, from, destination, path);
            way.for_each(|port| self.load[port.index()] += share);
        }
    }

    /// Adds the traffic from an end port to a port.
    fn add_from(&mut self, from: PortId, to: PortId, rate: f64) {
        if let Some(home) = self.fabric.neighbour(from).filter(|_| from != to) {
            self.load[from.index()] += rate;
            self.add(home, to, rate);
        }
    }
}

/// The load on the busiest channel of a subnet whose hosts send `inside` of their rate to each other.
fn busiest_channel(
    fabric: &Fabric,
    function: &RoutingFunction,
    hosts: &[PortId],
    inside: f64,
    crossing: &Crossing,
) -> f64 {
    let mut rank = vec![usize::MAX; fabric.port_count()];
    function.destinations().iter().enumerate().for_each(|(at, port)| rank[port.index()] = at);
    let mut walk = Walk { fabric, function, rank, load: vec![0.0; fabric.port_count()] };
    let mut homes: BTreeMap<NodeId, f64> = BTreeMap::new();
    for home in hosts.iter().filter_map(|&host| fabric.neighbour(host)) {
        *homes.entry(home).or_default() += 1.0;
    }
    let each = inside / hosts.len().saturating_sub(1).max(1) as f64;
    for (&home, &count) in &homes {
        hosts.iter().for_each(|&to| walk.add(home, to, count * each));
        crossing.out.iter().for_each(|(&to, &rate)| walk.add(home, to, count * rate));
    }
    for (&from, &rate) in &crossing.home {
        hosts.iter().for_each(|&to| walk.add_from(from, to, rate));
    }
    crossing.through.iter().for_each(|(&(from, to), &rate)| walk.add_from(from, to, rate));
    walk.load.into_iter().fold(0.0, f64::max)
}

/// By subnet: the crossing traffic if hosts send at their full rate.
fn crossings(setup: &Setup<'_>, routes: &Routes) -> Vec<Crossing> {
    let mut each = vec![Crossing::default(); setup.each.len()];
    let hosts: Vec<f64> = setup.subnet_ids().map(|id| setup.subnets.hosts(id).count() as f64).collect();
    let total: f64 = hosts.iter().sum();
    let mut routers: BTreeMap<SubnetPort, usize> = BTreeMap::new();
    for (rank, router) in setup.subnets.routers().iter().enumerate() {
        routers.extend(router.ports.iter().map(|&port| (port, rank)));
    }
    for to in setup.subnet_ids() {
        // By crossings left: the traffic that arrives at each router port.
        let mut due: BTreeMap<u8, BTreeMap<SubnetPort, f64>> = BTreeMap::new();
        for from in setup.subnet_ids().filter(|&from| from != to && hosts[from.index()] > 0.0) {
            let others = total - hosts[from.index()];
            let rate = share_out(setup, from) * hosts[to.index()] / others.max(1.0);
            let (first, far) = (routes.first(from, to), routes.crossings(from, to).unwrap_or(0));
            for &port in first {
                let own = rate / first.len() as f64;
                *each[from.index()].out.entry(port.port).or_default() += own;
                *due.entry(far).or_default().entry(port).or_default() += own * hosts[from.index()];
            }
        }
        // Most crossings left first: a router passes packets to routers with fewer left, so all traffic of a round
        // has arrived.
        while let Some((far, arrivals)) = due.pop_last() {
            for (port, rate) in arrivals {
                let ways = routers.get(&port).map_or(&[][..], |&router| routes.onward(router, to));
                for way in ways {
                    let share = rate / ways.len() as f64;
                    let crossing = &mut each[way.out.subnet.index()];
                    let Some(next) = way.to else {
                        *crossing.home.entry(way.out.port).or_default() += share / hosts[to.index()].max(1.0);
                        continue;
                    };
                    *crossing.through.entry((way.out.port, next.port)).or_default() += share;
                    if let Some(nearer) = far.checked_sub(1) {
                        *due.entry(nearer).or_default().entry(next).or_default() += share;
                    }
                }
            }
        }
    }
    each
}
