//! Outages of pairs of end ports in numbers (docs/SIMULATOR.md, *Outages*).

use super::estimate;
use super::measures::{AFTER, present};
use super::outcome::{HostLosses, LongestOutage, OutageReport};
use super::setup::Setup;
use super::subnet_setup::SubnetSetup;
use crate::fabric::{Fabric, NodeRole, PortId};
use crate::routing::Connectivity;
use crate::sim::{OutageEnd, PairOutage, Sim, Traffic};
use std::collections::BTreeMap;

/// What each end port lost, in the order of ports; nothing of those that lost nothing.
pub(super) fn hosts(setup: &Setup<'_>, sim: &Sim) -> Vec<HostLosses> {
    let mut hosts: BTreeMap<PortId, HostLosses> = BTreeMap::new();
    for pair in sim.outages() {
        let mut count = |port: PortId, of: fn(&mut HostLosses) -> &mut u64| {
            let host = hosts.entry(port).or_default();
            if matches!(pair.end, OutageEnd::CutOff) {
                host.stranded += pair.lost;
                host.cut_off += 1;
                return;
            }
            *of(host) += pair.lost;
            host.pairs += 1;
            host.not_back += u64::from(pair.length_ns().is_none());
            host.not_seen_again += u64::from(matches!(pair.end, OutageEnd::NotSeenAgain));
            host.longest_ns = host.longest_ns.max(pair.length_ns());
        };
        count(pair.source, |host| &mut host.lost_sent);
        count(pair.destination, |host| &mut host.lost_received);
    }
    hosts.into_iter().map(|(port, host)| HostLosses { name: setup.describe_port(port), ..host }).collect()
}

/// The outages of a finished run.
pub(super) fn outages(setup: &Setup<'_>, sim: &Sim, made: bool) -> OutageReport {
    let pairs = sim.outages();
    let count = |is: fn(&OutageEnd) -> bool| pairs.iter().filter(|pair| is(&pair.end)).count();
    let lengths = || pairs.iter().filter_map(PairOutage::length_ns);
    let longest = lengths().max();
    let name = |pair: &PairOutage, ns| LongestOutage {
        source: setup.describe_port(pair.source),
        destination: setup.describe_port(pair.destination),
        ns,
    };
    let back = lengths().count();
    OutageReport {
        pairs: pairs.len() - count(|end| matches!(end, OutageEnd::CutOff)),
        back,
        longest: longest.and_then(|ns| {
            let first = pairs.iter().find(|pair| pair.length_ns() == Some(ns));
            first.map(|pair| name(pair, ns))
        }),
        mean_ns: lengths().sum::<u64>().checked_div(back as u64),
        still_out: count(|end| matches!(end, OutageEnd::Out)),
        not_seen_again: count(|end| matches!(end, OutageEnd::NotSeenAgain)),
        cut_off: setup.each.iter().map(|own| apart(own, present(own, setup.scenario.departure, made, AFTER))).sum(),
    }
}

/// Mean gaps between two packets of a pair in which 19 of 20 pairs send: e^-3 is a twentieth.
const GAPS: f64 = 3.0;
/// The longest `--after` that the command takes, in microseconds.
const LONGEST_AFTER_US: f64 = 1e7;

/// Says that most pairs sent nothing more, so that the figures of outages are those of few, and what would show more.
pub(super) fn seldom_seen(setup: &Setup<'_>, sim: &Sim, outage: &OutageReport) -> Option<String> {
    let OutageReport { pairs, back, not_seen_again, .. } = *outage;
    // Who waits in a circle waits however long the run.
    let ended = sim.periods().len() > AFTER + 1 && sim.deadlock().is_none();
    (ended && back < not_seen_again).then(|| {
        format!(
            "{back} of {pairs} pairs of end ports are seen to be back, and longest and mean outage are of these alone: \
             {not_seen_again} sent nothing more before the run ended; {}",
            more_seen(setup, sim)
        )
    })
}

/// What would show most pairs again.
fn more_seen(setup: &Setup<'_>, sim: &Sim) -> String {
    let (sent, option) = (&setup.scenario.sim, "a longer --after, or a higher --load, shows more".to_string());
    let ([own], Traffic::Uniform, 1, []) =
        (&setup.each[..], &sent.traffic, sent.message_packets, &sent.message_mix[..])
    else {
        return option;
    };
    let every_us = estimate::pair_sends_every_ns(own, sim.load()) / 1e3;
    let after_us = estimate::two_digits_up(GAPS * every_us).ceil();
    // A source that waits for room sends more seldom than its load says.
    if !(setup.scenario.after_ns as f64 / 1e3..=LONGEST_AFTER_US).contains(&after_us) {
        return option;
    }
    format!("at this load a pair sends every {:.2} ms on average, so --after {after_us} shows 19 of 20", every_us / 1e3)
}

/// Ordered pairs of hosts of a subnet that links join before, but not `after`, though neither leaves.
fn apart(own: &SubnetSetup, after: &Fabric) -> usize {
    let joined = [&own.before, after].map(Connectivity::of);
    let stays = |&port: &PortId| {
        let node = own.before.port(port).node;
        own.before.role(node) == NodeRole::Host && !own.leaves(node)
    };
    let hosts: Vec<PortId> =
        own.before.end_ports().filter(stays).filter(|&port| joined[0].joins(port, own.sm)).collect();
    let left = hosts.iter().filter(|&&port| joined[1].joins(port, own.sm_in(after))).count();
    let pairs = |ends: usize| ends * ends.saturating_sub(1);
    pairs(hosts.len()) - pairs(left)
}
