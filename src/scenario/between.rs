//! The report on several subnets: size and manager of each, loads of routers, packets by the subnets of source and
//! destination.

use super::measures::{self, AFTER, BEFORE, DURING, periods};
use super::outcome::{FabricSize, Periods, PortLoad, RelationReport, RouterPortReport, RouterReport, SubnetReport};
use super::setup::{Between, Setup};
use super::subnet_setup::SubnetSetup;
use crate::fabric::PortId;
use crate::fabric::subnets::{Router, SubnetPort};
use crate::routing::Connectivity;
use crate::sim::{PacketCounts, Period, Relation, Sim};

pub(super) fn subnets(setup: &Setup<'_>) -> Vec<SubnetReport> {
    let report = |(id, own): (_, &SubnetSetup)| {
        let subnet = setup.subnets.subnet(id);
        let sm = own.whole.port(own.sm);
        SubnetReport {
            name: subnet.name.clone(),
            prefix: subnet.prefix,
            fabric: FabricSize::of(&own.before),
            hosts: setup.subnets.hosts(id).filter(|&port| own.whole.is_host_port(port)).count(),
            lmc: sm.lmc.get(),
            sm: own.whole.describe_node(sm.node),
        }
    };
    setup.subnet_ids().zip(&setup.each).map(report).collect()
}

pub(super) fn routers(setup: &Setup<'_>, between: &Between, sim: &Sim) -> Vec<RouterReport> {
    let carried = carried(between, sim);
    // A port stays in use where the fabric after the change still joins it with the manager of its subnet.
    let leads = |at: &SubnetPort| {
        let own = &setup.each[at.subnet.index()];
        Connectivity::of(&own.after).joins(at.port, own.sm)
    };
    let report = |router: &Router| RouterReport {
        name: router.name.clone(),
        guid: router.guid,
        ports: router
            .ports
            .iter()
            .map(|at| RouterPortReport {
                name: setup.subnets.describe_port(*at),
                stays: leads(at),
                carried: carried(between.joined.port(*at)),
            })
            .collect(),
    };
    setup.subnets.routers().iter().map(report).collect()
}

/// The load of a port's link, by period.
fn carried(between: &Between, sim: &Sim) -> impl Fn(PortId) -> Periods<PortLoad> {
    let sent = periods(sim, |index| (sim.bytes_sent(index), sim.period_ns(index)));
    let fabric = &between.joined.fabric;
    move |port| {
        let of = |(sent, length_ns): &(Vec<u64>, u64)| {
            let bytes = |port: PortId| sent.get(port.index()).copied().unwrap_or(0);
            // Channels count at the sender, so the bytes in are those that the peer sent. A missing count means that
            // the port sent nothing.
            let (bytes_in, bytes_out) = (fabric.peer(port).map_or(0, bytes), bytes(port));
            let load = |bytes| measures::load(fabric, port, bytes, *length_ns);
            PortLoad { bytes_in, bytes_out, load_in: load(bytes_in), load_out: load(bytes_out) }
        };
        Periods { before: of(&sent.before), during: of(&sent.during), after: of(&sent.after) }
    }
}

pub(super) fn relations(setup: &Setup<'_>, between: &Between, sim: &Sim) -> Vec<RelationReport> {
    let report = |((from, to, relation), packets): ((_, _, &Relation), PacketCounts)| RelationReport {
        from: setup.subnets.subnet(from).name.clone(),
        to: setup.subnets.subnet(to).name.clone(),
        crossings: between.routes.crossings(from, to),
        crossings_after: between.routes_after.crossings(from, to),
        unsendable: relation.unsendable,
        parted: between.partitioning.as_ref().map(|_| relation.parted),
        packets,
        delivered: by_period(&relation.periods, |period| period.delivered),
        latency_ns: by_period(&relation.periods, measures::latency),
        longest_gap_ns: relation.periods.get(DURING).map_or(0, Period::longest_gap_ns),
    };
    sim.relations().zip(sim.relation_counts()).map(report).collect()
}

/// The periods *before*, *during* and *after*: index 0 is the warm-up. A run that ended early lacks the later ones.
fn by_period<T: Default>(periods: &[Period], value: impl Fn(&Period) -> T) -> Periods<T> {
    let of = |index: usize| periods.get(index).map_or_else(T::default, &value);
    Periods { before: of(BEFORE), during: of(DURING), after: of(AFTER) }
}
