//! Plans of every scheme on every bundled fabric, and what keeps a change from being planned.

mod changes;

use changes::{Removal, bring_up, bundled, removal};
use reconfig::change::{ChangeError, prepare, prepare_baseline};
use reconfig::check;
use reconfig::fabric::generate::BUNDLED;
use reconfig::ids::{Half, Lmc, PortNum};
use reconfig::plan::{Arming, Phase, Plan, PlanError, Policy, Scheme};
use reconfig::tables::Write;
use std::sync::Arc;

fn writes_of(plan: &Plan, phase: Phase) -> Vec<&Write> {
    plan.waves().iter().filter(|wave| wave.phase == phase).flat_map(|wave| &wave.writes).collect()
}

#[test]
fn every_bundled_fabric_loses_its_root_under_a_proved_plan() {
    for known in BUNDLED {
        let subnet = bring_up(&bundled(known.name), 1, true);
        for when in [Removal::Planned, Removal::Sudden] {
            let prepared = prepare(removal(&subnet, Scheme::Double, when));
            let prepared = prepared.unwrap_or_else(|error| panic!("{} {when:?}: {error}", known.name));
            let proof = prepared.plan.proof().expect("a plan of scheme double is proved");
            assert!(proof.dependencies > 0 && prepared.root != Some(subnet.root), "{}", known.name);
        }
    }
}

#[test]
fn a_static_plan_is_proved() {
    let subnet = bring_up(&bundled("torus-4x4"), 1, true);
    prepare(removal(&subnet, Scheme::Static, Removal::Sudden)).expect("stopped ports hold nothing");
}

#[test]
fn the_seeds_fabric_takes_the_seeds_number_of_writes() {
    for (optimised, wanted) in [(false, 302..=306), (true, 30..=30)] {
        let subnet = bring_up(&bundled("seed-16"), 1, optimised);
        let prepared = prepare(removal(&subnet, Scheme::Double, Removal::Planned)).expect("provable");
        let split = writes_of(prepared.plan.plan(), Phase::Split).len();
        assert!(wanted.contains(&split), "{split} SL-to-VL writes, optimised: {optimised}");
        let restore = writes_of(prepared.plan.plan(), Phase::Restore).len();
        assert_eq!(split, restore, "both passes write every table");
    }
}
