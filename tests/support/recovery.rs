//! Subnets that a manager left during a change, and the recovery of one.

use super::brought_up::{ENGINE, Subnet, bring_up};
use super::bundled::bundled;
use super::removal::{Removal, removal};
use reconfig::change::{RecoveryInput, RecoveryWay, prepare, prepare_recovery};
use reconfig::ids::Half;
use reconfig::plan::{LanePartition, Phase, Plan, Scheme};
use reconfig::routing::{Demand, Engine};
use reconfig::tables::{NodeSlToVl, PortState, SubnetTables};
use std::sync::Arc;

/// What a successor makes of these tables.
pub fn input(subnet: &Subnet, mut tables: SubnetTables, in_use: Half) -> RecoveryInput {
    let function = ENGINE.route(&subnet.fabric, &Demand::all(&subnet.fabric, 1)).expect("it is connected");
    let policy = removal(subnet, Scheme::Double, Removal::Planned).policy;
    let fabric = Arc::new(subnet.fabric.clone());
    // A manager arms no ports; these plans do, and what is ARMED a bring-up makes ACTIVE by itself.
    for (id, _) in fabric.ports().filter(|(_, port)| port.peer.is_some()) {
        tables.port_states[id.index()] = PortState::Active;
    }
    RecoveryInput { fabric, tables, in_use, policy, sm: subnet.sm, function: Arc::new(function), may_close: true }
}

/// Two halves that lead by different roots over one ring, with hosts on both: neither can follow the other under
/// traffic.
pub fn two_roots() -> (Subnet, SubnetTables) {
    let subnet = bring_up(&bundled("torus-4x4"), 1, false);
    let plan = prepare(removal(&subnet, Scheme::Double, Removal::Planned)).expect("a plan of scheme double");
    let plan = plan.plan.plan();
    let swap = plan.waves().iter().position(|wave| wave.phase == Phase::Swap).expect("a swap");
    let mut tables = plan.tables_at(swap).clone();
    // On all lanes at once: what is left of a restore without a fence.
    let steady = Arc::new(NodeSlToVl::Uniform(plan.lanes().steady(LanePartition::Temporary)));
    let separate = Arc::new(NodeSlToVl::Uniform(plan.lanes().separate(Half::Lower)));
    tables.sl_to_vl = vec![separate; tables.sl_to_vl.len()];
    assert_ne!(tables.sl_to_vl[0], steady);
    (subnet, tables)
}

/// The recovery of that: the other half is closed, follows, and then everything opens.
pub fn closing() -> Option<Plan> {
    let (subnet, tables) = two_roots();
    let found = prepare_recovery(&input(&subnet, tables, Half::Lower)).expect("it is recovered");
    (found.way == RecoveryWay::Close).then(|| found.prepared.plan.plan().clone())
}
