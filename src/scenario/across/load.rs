//! The load of a run of several subnets, where nobody asked for one: what each subnet can carry, and each port of a router.

use super::Theatre;
use crate::fabric::subnets::SubnetPort;
use crate::ids::SubnetId;
use crate::scenario::estimate;
use std::collections::BTreeMap;

/// What the busiest port of a router may be filled to, of its rate.
const BELOW_SATURATION: f64 = 0.6;

/// The load, and the packet-hops to expect.
pub(super) fn load_and_hops(theatre: &Theatre<'_>) -> (f64, u64) {
    let each =
        theatre.scenarios.iter().zip(&theatre.stages).map(|(scenario, stage)| estimate::load_and_hops(scenario, stage));
    let each: Vec<(f64, u64)> = each.collect();
    let least = each.iter().map(|&(load, _)| load).fold(1.0, f64::min);
    let load = theatre.asked.settings.load.unwrap_or_else(|| {
        let busiest = router_loads(theatre).into_values().fold(0.0, f64::max);
        let most = if busiest > 0.0 { least.min(BELOW_SATURATION / busiest) } else { least };
        (most * 100.0).floor().max(1.0) / 100.0
    });
    let hops = each.iter().map(|&(own, hops)| if own > 0.0 { hops as f64 * load / own } else { 0.0 });
    (load, hops.sum::<f64>() as u64)
}

/// By router port: what goes in or out of it, whichever is more, where every host sends at its full rate; ports are taken
/// to have the hosts' rate.
fn router_loads(theatre: &Theatre<'_>) -> BTreeMap<SubnetPort, f64> {
    let (mut inward, mut outward) = (BTreeMap::new(), BTreeMap::new());
    let hosts: Vec<f64> = theatre.subnet_ids().map(|id| theatre.subnets.hosts(id).count() as f64).collect();
    let total: f64 = hosts.iter().sum();
    for from in theatre.subnet_ids() {
        for to in theatre.subnet_ids().filter(|&to| to != from) {
            let others = total - hosts[from.index()];
            if others <= 0.0 {
                continue;
            }
            let rate = hosts[from.index()] * theatre.asked.cross * hosts[to.index()] / others;
            let first = theatre.routes.first(from, to);
            for &port in first {
                follow(theatre, (port, to), rate / first.len() as f64, (&mut inward, &mut outward));
            }
        }
    }
    for (port, load) in outward {
        let most: &mut f64 = inward.entry(port).or_default();
        *most = most.max(load);
    }
    inward
}

type Loads<'a> = (&'a mut BTreeMap<SubnetPort, f64>, &'a mut BTreeMap<SubnetPort, f64>);

fn follow(theatre: &Theatre<'_>, (port, to): (SubnetPort, SubnetId), rate: f64, (inward, outward): Loads<'_>) {
    *inward.entry(port).or_default() += rate;
    let Some(router) = theatre.subnets.router_of(port) else { return };
    let ways = theatre.routes.onward(router, to);
    for way in ways {
        let share = rate / ways.len() as f64;
        *outward.entry(way.out).or_default() += share;
        if let Some(next) = way.to {
            follow(theatre, (next, to), share, (inward, outward));
        }
    }
}
