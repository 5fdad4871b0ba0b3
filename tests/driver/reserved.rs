//! A reserved service level under a fence: end ports close a half, and never that level.

use super::bench::{MS, bench, drive, light};
use reconfig::ids::{Half, ReservedLevel, Sl, Vl};
use reconfig::machine::Outcome;
use reconfig::plan::{LanePartition, Observer, Policy, Scheme};
use reconfig::sim::SimConfig;
use reconfig::subnet::SourceControl;
use reconfig::wire::{AttributeId, SlToVlMappingTable};
use std::sync::Arc;

const LEVEL: ReservedLevel = ReservedLevel { sl: Sl::masked(7), vl: Vl::masked(3) };

#[test]
fn a_fence_closes_every_level_of_the_old_half_but_the_reserved_one() {
    LanePartition::ALL.iter().for_each(|&partition| is_closed_but_for_the_level(partition));
}

fn is_closed_but_for_the_level(partition: LanePartition) {
    let observer = Observer::Lifetime;
    let policy = Policy { observer, partition, reserved_sl: Some(LEVEL.sl), ..Policy::default() };
    let config = SimConfig { switch_lifetime_ns: 100_000, ..light() };
    let mut bench = bench("fat-tree:4,2", config, Scheme::Double, policy);
    bench.driver.subnet_mut().move_sources(SourceControl::Fenced { settle_ns: MS });
    let after = Arc::new(bench.fabric.without_nodes(&[bench.root]));
    let transport = bench.transport.clone();
    let record = drive(&transport, bench.driver.change_to(after), Vec::new()).expect("it can be prepared");
    assert_eq!(record.outcome, Outcome::Completed);
    // Only a manager that mirrors the routing opens the half again.
    for port in bench.fabric.end_ports() {
        let data = transport.with(|sim| sim.attribute(port, AttributeId::SlToVlMappingTable, 0)).expect("it has one");
        let table = SlToVlMappingTable::decode(&data);
        for sl in Half::Lower.sls() {
            let lane = if sl == LEVEL.sl { LEVEL.vl } else { Vl::MANAGEMENT };
            assert_eq!(table.0[sl.index()], lane, "{partition}: SL {sl} at {}", bench.fabric.describe_port(port));
        }
    }
}
