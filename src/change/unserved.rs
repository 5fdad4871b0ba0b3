//! Pairs of a host and a LID that forwarding tables lead nowhere, after a loss and while a plan runs.
//!
//! On entry: a routing that is proved for a fabric, and what survives of that fabric. Where tables lead a LID as the
//! proved ones do, and by no lost link, it arrives from everywhere. Only the others are followed: few of thousands
//! after the loss of a cable.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lid};
use crate::plan::Plan;
use crate::tables::{Arrivals, Lft};
use std::sync::Arc;

/// A routing that is proved.
#[derive(Clone, Copy)]
pub(super) struct ProvedRouting<'a> {
    pub fabric: &'a Fabric,
    /// By node.
    pub lfts: &'a [Arc<Lft>],
}

/// What survives, and who counts there.
#[derive(Clone, Copy)]
pub(super) struct Survivors<'a> {
    pub fabric: &'a Fabric,
    /// End ports that the change cuts off: they do not count.
    pub stranded: &'a [PortId],
    /// The half in use.
    pub half: Half,
}

/// Pairs of a host and a LID that the tables of a plan lead nowhere at some moment; those that the change cuts off do
/// not count.
pub(super) fn unserved(plan: &Plan, lfts: &[Arc<Lft>]) -> u64 {
    let draft = plan.draft();
    let whole = ProvedRouting { fabric: &draft.before, lfts: &plan.tables_at(0).lfts };
    // What was proved says nothing of newcomers, nor of tables that an earlier manager left half written.
    let proved = Some(whole).filter(|_| draft.before == draft.routed && !draft.begins_with_losses);
    pairs(proved, Survivors { fabric: &draft.surviving, stranded: &draft.stranded, half: plan.old() }, lfts)
}

/// Pairs of a host and a LID that these tables, by node, lead nowhere.
pub(super) fn pairs(proved: Option<ProvedRouting<'_>>, among: Survivors<'_>, lfts: &[Arc<Lft>]) -> u64 {
    let Survivors { fabric, stranded, half } = among;
    let counts = |port: &PortId| fabric.peer(*port).is_some() && !stranded.contains(port);
    let mut hosts = vec![0; fabric.node_count()];
    let homes = fabric.end_ports().filter(counts).filter_map(|port| fabric.neighbour(port));
    homes.for_each(|home| hosts[home.index()] += 1);
    let suspects = proved.map(|proved| suspects(proved, fabric, lfts));
    let is_suspect = |lid: &Lid| suspects.as_ref().is_none_or(|suspects| suspects[lid.index()]);
    let lids = fabric.end_ports().filter(counts).flat_map(|port| fabric.half_lids(port, half)).filter(is_suspect);
    let lids: Vec<Lid> = lids.collect();
    let homes: Vec<(NodeId, u64)> =
        fabric.nodes().map(|(node, _)| (node, hosts[node.index()])).filter(|&(_, hosts)| hosts > 0).collect();
    let mut arrivals = Arrivals::of(fabric);
    let mut lost = 0;
    for lids in lids.chunks(Arrivals::TOGETHER) {
        arrivals.take(lfts, lids);
        for own in 0..lids.len() {
            lost += homes.iter().filter(|&&(home, _)| !arrivals.from(home, own)).map(|(_, hosts)| hosts).sum::<u64>();
        }
    }
    lost
}

/// By LID: whether some switch leads it elsewhere than the proved tables do, or to a link that is lost.
fn suspects(proved: ProvedRouting<'_>, surviving: &Fabric, lfts: &[Arc<Lft>]) -> Vec<bool> {
    let mut suspects = vec![false; usize::from(u16::MAX) + 1];
    for switch in surviving.switches() {
        let (own, before) = (&lfts[switch.index()], &proved.lfts[switch.index()]);
        if !Arc::ptr_eq(own, before) {
            own.differing(before).for_each(|lid| suspects[lid.index()] = true);
        }
        let mut lost = [false; 256];
        let is_lost = |port: &PortId| proved.fabric.peer(*port).is_some() && surviving.peer(*port).is_none();
        let ports = surviving.ports_of(switch).filter(is_lost);
        ports.for_each(|port| lost[usize::from(surviving.port(port).num.0)] = true);
        if lost.contains(&true) {
            let led = own.routes().filter(|(_, port)| lost[usize::from(port.0)]);
            led.for_each(|(lid, _)| suspects[lid.index()] = true);
        }
    }
    suspects
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::ids::Lmc;
    use crate::lid;
    use crate::routing::{Demand, Engine, UpDown};

    /// What is left out arrives: the count is that of following every LID.
    #[test]
    fn following_the_suspects_is_enough() {
        let fabric = generate(&"torus:4x4,2".parse().expect("a topology"), &Options::default()).expect("it exists");
        let fabric = lid::assign(&fabric, Lmc::masked(1)).expect("LIDs suffice");
        let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).expect("connected");
        let lfts = lid::bring_up(&fabric, &function, 1).lfts;
        let proved = Some(ProvedRouting { fabric: &fabric, lfts: &lfts });
        let switches: Vec<_> = fabric.switches().collect();
        let cables = fabric.links().map(|(end, _)| fabric.without_links(&[end]));
        let mut harmful = 0;
        for rest in cables.chain(switches.iter().map(|&switch| fabric.without_nodes(&[switch]))) {
            let among = Survivors { fabric: &rest, stranded: &[], half: Half::Lower };
            let found = pairs(proved, among, &lfts);
            assert_eq!(found, pairs(None, among, &lfts));
            harmful += usize::from(found > 0);
            // Tables that differ, with a hole that the loss has not made.
            let mut holed = lfts.clone();
            let lid = fabric.end_ports().find_map(|port| fabric.port(port).lid).expect("a LID");
            Arc::make_mut(&mut holed[switches[5].index()]).set(lid, crate::ids::PortNum::NO_ROUTE);
            assert_eq!(pairs(proved, among, &holed), pairs(None, among, &holed));
        }
        assert!(harmful > 16, "{harmful}");
    }
}
