//! The load of a run of several subnets, where nobody asked for one: what every channel can carry, under the routing before
//! the change and under that after it.
//!
//! Beyond saturation the buffers of routers fill, and what is stuck behind them holds up the subnets before: congestion
//! crosses routers, as packets do. A run that is to show what a change does to others must stay well below.

use super::Theatre;
use crate::change::Prepared;
use crate::fabric::subnets::SubnetPort;
use crate::fabric::{Fabric, PortId};
use crate::ids::SubnetId;
use crate::routers::Routes;
use crate::scenario::estimate;
use crate::tables::RoutingFunction;
use std::collections::BTreeMap;

/// What the busiest channel may be filled to.
const BELOW_SATURATION: f64 = 0.5;

/// The most that is offered where nobody asks for more.
const USUAL_LOAD: f64 = 0.3;

/// What each end port of a subnet sends to each other one, in units of a host's rate; ports are taken to have that rate.
type Demand = BTreeMap<(PortId, PortId), f64>;

/// The load, and the packet-hops to expect.
pub(super) fn load_and_hops(theatre: &Theatre<'_>, prepared: &[Prepared]) -> (f64, u64) {
    let each: Vec<(f64, u64)> =
        theatre.scenarios.iter().zip(&theatre.stages).map(|(of, stage)| estimate::load_and_hops(of, stage)).collect();
    let least = each.iter().map(|&(load, _)| load).fold(USUAL_LOAD, f64::min);
    let load = theatre.asked.settings.load.unwrap_or_else(|| {
        let busiest = busiest(theatre, prepared);
        let most = if busiest > 0.0 { least.min(BELOW_SATURATION / busiest) } else { least };
        // Two figures are enough, and read better.
        let scale = 10f64.powi(1 - most.log10().floor() as i32);
        (most * scale).floor() / scale
    });
    let hops = each.iter().map(|&(own, hops)| if own > 0.0 { hops as f64 * load / own } else { 0.0 });
    (load, hops.sum::<f64>() as u64)
}

/// The load on the busiest channel, at full load of all hosts, before the change and after it.
fn busiest(theatre: &Theatre<'_>, prepared: &[Prepared]) -> f64 {
    let before = demands(theatre, &theatre.routes);
    let after = demands(theatre, &theatre.routes_after);
    let acting = theatre.acting();
    let mut most: f64 = 0.0;
    for (rank, stage) in theatre.stages.iter().enumerate() {
        most = most.max(busiest_channel(&stage.before, &stage.function, &before[rank]));
        let change = acting.iter().position(|subnet| subnet.index() == rank).and_then(|at| prepared.get(at));
        let function = change.map_or(&stage.function, |change| &change.function);
        most = most.max(busiest_channel(&stage.after, function, &after[rank]));
    }
    most
}

/// The load on the busiest channel of a subnet; each end port takes the paths to another in equal parts.
fn busiest_channel(fabric: &Fabric, function: &RoutingFunction, demand: &Demand) -> f64 {
    let mut load = vec![0.0; fabric.port_count()];
    let mut rank = vec![usize::MAX; fabric.port_count()];
    function.destinations().iter().enumerate().for_each(|(at, port)| rank[port.index()] = at);
    for (&(from, to), &rate) in demand {
        let (destination, home) = (rank[to.index()], fabric.neighbour(from));
        let (true, Some(home)) = (destination != usize::MAX, home) else { continue };
        load[from.index()] += rate;
        for path in 0..function.paths() {
            let share = rate / function.paths() as f64;
            function.way(fabric, home, destination, path).for_each(|port| load[port.index()] += share);
        }
    }
    load.into_iter().fold(0.0, f64::max)
}

/// By subnet: what its end ports send to each other, routers included, where hosts send at their full rate.
fn demands(theatre: &Theatre<'_>, routes: &Routes) -> Vec<Demand> {
    let hosts: Vec<Vec<PortId>> = theatre.subnet_ids().map(|id| theatre.subnets.hosts(id).collect()).collect();
    let total: usize = hosts.iter().map(Vec::len).sum();
    let mut demands: Vec<Demand> = hosts.iter().map(|_| Demand::new()).collect();
    for (rank, own) in hosts.iter().enumerate() {
        let others = (total - own.len()) as f64;
        let cross = if others > 0.0 { theatre.asked.cross } else { 0.0 };
        for &from in own {
            let inside = (1.0 - cross) / (own.len().saturating_sub(1)).max(1) as f64;
            own.iter()
                .filter(|&&to| to != from)
                .for_each(|&to| *demands[rank].entry((from, to)).or_default() += inside);
        }
        for to in theatre.subnet_ids().filter(|to| to.index() != rank) {
            let rate = cross * hosts[to.index()].len() as f64 / others.max(1.0);
            let first = routes.first(SubnetId(rank as u16), to);
            for &port in first {
                let each = rate / first.len() as f64;
                own.iter().for_each(|&from| *demands[rank].entry((from, port.port)).or_default() += each);
                follow(theatre, routes, &hosts, (port, to), each * own.len() as f64, &mut demands);
            }
        }
    }
    demands
}

/// Adds what goes on from a router.
fn follow(
    theatre: &Theatre<'_>,
    routes: &Routes,
    hosts: &[Vec<PortId>],
    (port, to): (SubnetPort, SubnetId),
    rate: f64,
    demands: &mut [Demand],
) {
    let Some(router) = theatre.subnets.router_of(port) else { return };
    let ways = routes.onward(router, to);
    for way in ways {
        let share = rate / ways.len() as f64;
        let demand = &mut demands[way.out.subnet.index()];
        match way.to {
            Some(next) => {
                *demand.entry((way.out.port, next.port)).or_default() += share;
                follow(theatre, routes, hosts, (next, to), share, demands);
            }
            None => {
                let each = share / hosts[to.index()].len().max(1) as f64;
                for &host in &hosts[to.index()] {
                    *demand.entry((way.out.port, host)).or_default() += each;
                }
            }
        }
    }
}
