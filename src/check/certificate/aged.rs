//! Verifies that packets sent before a moment have left where a barrier claims it (section W of docs/PROTOCOL.md).

use super::CertificateFault;
use super::moments::PlanMoments;
use super::net::{CheckedNet, Outlet};
use crate::ids::{Half, Lid, PortNum};
use crate::plan::{Assumption, Plan};
use crate::tables::SubnetTables;

/// A barrier that ages has as many rounds as the longest way by the tables that it follows has switches, and one more
/// for packets that were on a cable or latched by an older entry.
pub(super) fn check(plan: &Plan, net: &CheckedNet, moments: &PlanMoments<'_>) -> Result<(), CertificateFault> {
    let fabric = &*plan.draft().before;
    // Where packets that turn back are discarded, ways out of switches that lost theirs may lead round.
    let unbounded = plan.draft().assumptions.contains(&Assumption::TurnedBackIsDiscarded);
    for (number, moment) in moments.all.iter().enumerate() {
        let Some(rounds) = moment.aged else { continue };
        if unbounded {
            let what = format!(
                "it waits for what was sent before, and the plan takes `{}` for granted",
                Assumption::TurnedBackIsDiscarded.name()
            );
            return Err(CertificateFault::Plan { wave: moment.name.clone(), what });
        }
        // Packets are on their way to end ports that have died, too.
        let lids =
            fabric.end_ports().flat_map(|port| [Half::Lower, Half::Upper].map(|half| fabric.half_lids(port, half)));
        let needed = 1 + lids.flatten().map(|lid| longest(net, number, moment.tables[0], lid)).max().unwrap_or(0);
        if rounds < needed {
            let what =
                format!("what was sent before has left after {needed} rounds, and the barrier waits for {rounds}");
            return Err(CertificateFault::Plan { wave: moment.name.clone(), what });
        }
    }
    Ok(())
}

/// The switches of the longest way to a LID, the one in which packets may be discarded included: waves of switches,
/// outward from where ways end. Switches on a ring are never reached.
fn longest(net: &CheckedNet, moment: usize, tables: &SubnetTables, lid: Lid) -> usize {
    let mut before = vec![Vec::new(); net.switches.len()];
    let (mut last, mut hops) = (Vec::new(), 0);
    for (switch, node) in net.switches.iter().enumerate() {
        let output = tables.lfts[node.index()].get(lid).unwrap_or(PortNum::NO_ROUTE);
        match net.outlet(moment, switch, output.index()) {
            Outlet::Switch { next, .. } => before[next].push(switch),
            Outlet::Port { .. } | Outlet::Own | Outlet::Hole | Outlet::Dead => last.push(switch),
        }
    }
    while !last.is_empty() {
        hops += 1;
        last = last.iter().flat_map(|&switch| before[switch].iter().copied()).collect();
    }
    hops
}
