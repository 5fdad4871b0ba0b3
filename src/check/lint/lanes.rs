//! Classes on their own lanes.

use super::{Findings, Rule};
use crate::fabric::{Fabric, NodeId};
use crate::ids::{Half, PortNum, Sl, Vl, VlSet};
use crate::plan::{LanePartition, Phase, Plan, Scheme};
use crate::tables::{NodeSlToVl, SlToVl, SubnetTables};

pub(super) fn check(plan: &Plan, findings: &mut Findings) {
    check_sets(plan, findings);
    for (index, wave) in plan.waves().iter().enumerate() {
        let tables = plan.tables_at(index + 1);
        let rejoined = wave.phase == Phase::Restore && plan.policy().partition == LanePartition::Temporary;
        let apart = plan.scheme() == Scheme::Double && !rejoined;
        // Until the last wave, which must end in the steady state (`Restored`), the tables are as they were found. The
        // judges that follow packets decide whether they are acceptable.
        if plan.scheme() == Scheme::Recover && index + 1 < plan.waves().len() {
            continue;
        }
        if let Some(what) = first_stray(plan, tables, |sl| allowed(plan, sl, apart)) {
            let rule = if apart { Rule::OwnLanes } else { Rule::DataLanes };
            findings.wave(rule, &wave.name, what);
        }
    }
}

fn check_sets(plan: &Plan, findings: &mut Findings) {
    let lanes = plan.lanes();
    if lanes.a.0 & lanes.b.0 != 0 || lanes.a.0 | lanes.b.0 != lanes.all.0 {
        let what = format!("A = {} and B = {} do not part {} in two", lanes.a, lanes.b, lanes.all);
        findings.plan(Rule::LaneSets, what);
    }
    if plan.scheme() == Scheme::Double && (lanes.a.is_empty() || lanes.b.is_empty()) {
        findings.plan(Rule::LaneSets, format!("A = {}, B = {}: one of them is empty", lanes.a, lanes.b));
    }
    if let Some(level) = lanes.reserved.filter(|level| lanes.all.contains(level.vl)) {
        let what =
            format!("VL {} is reserved for SL {}, and among the lanes {} of the halves", level.vl, level.sl, lanes.all);
        findings.plan(Rule::LaneSets, what);
    }
    let ways = [&plan.draft().old_ways, &plan.draft().new_ways].into_iter().flatten();
    let layers = ways.map(|ways| usize::from(ways.layers())).max().unwrap_or(1);
    if let Some(level) = lanes.reserved.filter(|level| Half::rank(level.sl) < layers) {
        findings.plan(Rule::LaneSets, format!("SL {} is reserved, and a layer of data is on it", level.sl));
    }
    if plan.policy().reserved_sl != lanes.reserved.map(|level| level.sl) {
        findings.plan(Rule::LaneSets, "policy and lanes name different reserved service levels".to_string());
    }
    let highest = lanes.in_operation().iter().last().unwrap_or_default();
    let fabric = &*plan.draft().before;
    let narrow = fabric.ports().find(|(_, port)| port.peer.is_some() && port.data_vls <= highest.get());
    if let Some((id, port)) = narrow {
        let what = format!("VL {highest} is used, {} has {} data VLs", fabric.describe_port(id), port.data_vls);
        findings.plan(Rule::LaneSets, what);
    }
}

fn allowed(plan: &Plan, sl: Sl, apart: bool) -> VlSet {
    let lanes = plan.lanes();
    match (lanes.reserved, apart, Half::of_sl(sl) == plan.old()) {
        (Some(level), ..) if level.sl == sl => [level.vl].into_iter().collect(),
        (_, false, _) => lanes.all,
        (_, true, true) => lanes.a,
        (_, true, false) => lanes.b,
    }
}

/// The first table of a present device that maps a service level to a lane which it may not use.
fn first_stray(plan: &Plan, tables: &SubnetTables, allowed: impl Fn(Sl) -> VlSet) -> Option<String> {
    let fabric = &*plan.draft().surviving;
    let stray = |table: &SlToVl| -> Option<(Sl, Vl)> {
        Sl::all().map(|sl| (sl, table.get(sl))).find(|&(sl, vl)| !allowed(sl).contains(vl))
    };
    for (node, _) in fabric.nodes().filter(|(_, node)| node.present) {
        let held = &*tables.sl_to_vl[node.index()];
        // One table for all ways is looked at once.
        let some = if matches!(held, NodeSlToVl::Uniform(_)) { 1 } else { usize::MAX };
        for (input, output) in pairs(fabric, node).into_iter().take(some) {
            if let Some((sl, vl)) = stray(held.get(input, output)) {
                let name = fabric.describe_node(node);
                return Some(format!("{name}, port {input} to port {output}: SL {sl} is on VL {vl}"));
            }
        }
    }
    None
}

/// The ways through a node that have cables at both ends.
pub(super) fn pairs(fabric: &Fabric, node: NodeId) -> Vec<(PortNum, PortNum)> {
    let cabled = |num: &PortNum| fabric.port_at(node, *num).is_some_and(|port| fabric.peer(port).is_some());
    let outputs: Vec<_> = (1..=fabric.node(node).num_ports).map(PortNum).filter(cabled).collect();
    let mut inputs = vec![PortNum::ZERO];
    if fabric.node(node).is_switch() {
        inputs.extend(&outputs);
    }
    inputs.iter().flat_map(|&input| outputs.iter().map(move |&output| (input, output))).collect()
}
