//! Updates in place: what real OpenSM routed with one root and then with another, and elements that leave.

use super::{fabric, fdbs, plain, shortest};
use reconfig::audit::{AuditError, AuditRules, AuditVerdict, RoutingSnapshot, audit_update};
use reconfig::fabric::Fabric;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::ids::{Half, VlSet};
use reconfig::lid::steady_sl_to_vl;
use reconfig::tables::SubnetTables;
use reconfig::verify::{ProofWave, Refusal, Transition, prove};

/// One wave from one set of tables to another, as the prover takes it.
#[derive(Debug)]
struct InPlace<'a> {
    fabric: &'a Fabric,
    tables: [SubnetTables; 2],
}

impl Transition for InPlace<'_> {
    fn fabric(&self) -> &Fabric {
        self.fabric
    }

    fn surviving(&self) -> &Fabric {
        self.fabric
    }

    fn waves(&self) -> Vec<ProofWave<'_>> {
        vec![ProofWave {
            name: "rewrite".to_string(),
            before: &self.tables[0],
            after: &self.tables[1],
            injected: [true, false],
            ways: Default::default(),
            empty: VlSet::EMPTY,
            gone: [false; 2],
            aged: None,
        }]
    }
}

#[test]
fn opensm_with_another_root_is_safe_before_and_after_and_deadlocks_in_between() {
    let fabric = fabric("topologies/ghost-cycle.ibnetdiscover");
    let [old, new] = ["dumps/ghost-cycle-root-1.fdbs", "dumps/ghost-cycle-root-2.fdbs"].map(|name| fdbs(name, &fabric));
    let (before, after) = (plain(&fabric, &old.tables), plain(&fabric, &new.tables));
    let found = audit_update(&before, &after, AuditRules::default()).unwrap();
    assert_eq!((found.before.verdict(), found.after.verdict()), (AuditVerdict::Safe, AuditVerdict::Safe));
    assert_eq!(found.during.faults, ["credit-loops"], "no loop, no hole: lanes alone");
    assert!(!found.is_safe());
    let cycle = found.during.credit_loops.cycle.as_ref().expect("a witness");

    // The prover, whose code is another, refuses the same update with a cycle of the same length.
    let tables = [&old, &new].map(|lfts| {
        let mut tables = SubnetTables::new(&fabric, steady_sl_to_vl(1), Half::Lower);
        tables.lfts = lfts.tables.clone();
        tables
    });
    let (_, refusal) = prove(InPlace { fabric: &fabric, tables }).expect_err("a mixture deadlocks");
    let Refusal::Deadlock(named) = refusal else { panic!("{refusal}") };
    assert_eq!((named.wave.as_str(), named.dependencies.len()), ("rewrite", cycle.len()));
    let lanes = |switch: &reconfig::verify::NamedDevice, input, output| (switch.guid, input, output);
    let ours: Vec<_> = cycle.iter().map(|d| lanes(&d.switch, d.input, d.output)).collect();
    let theirs: Vec<_> = named.dependencies.iter().map(|d| lanes(&d.switch, d.input, d.output)).collect();
    assert_eq!(ours, theirs);
}

#[test]
fn an_update_to_the_same_tables_changes_nothing() {
    let fabric = fabric("topologies/ghost-cycle.ibnetdiscover");
    let tables = fdbs("dumps/ghost-cycle-root-1.fdbs", &fabric);
    let now = plain(&fabric, &tables.tables);
    let found = audit_update(&now, &now, AuditRules::default()).unwrap();
    assert_eq!((&found.before, &found.during), (&found.after, &found.before));
    assert!(found.is_safe());
}

#[test]
fn packets_lost_to_a_cable_that_died_are_no_fault_of_the_update() {
    let topology: Topology = "fat-tree:3,2".parse().unwrap();
    let fabric = generate(&topology, &Options::default()).unwrap();
    let spine = fabric.switches().find(|&id| fabric.node(id).description == "spine-1").expect("a spine");
    let after = fabric.without_nodes(&[spine]);
    let [old, new] = [shortest(&fabric), shortest(&after)];
    let found = audit_update(&plain(&fabric, &old), &plain(&after, &new), AuditRules::default()).unwrap();
    assert!(found.is_safe(), "{:?}", found.during.faults);
    assert_eq!(found.during.channels, found.after.channels, "nothing stands where nothing is");
    // Where the new tables leave a switch without a route, that is the update's own fault.
    let mut broken = new.clone();
    let leaf = after.switches().find(|&id| after.node(id).description == "leaf-1").expect("a leaf");
    broken[leaf.index()] = Default::default();
    let found = audit_update(&plain(&fabric, &old), &plain(&after, &broken), AuditRules::default()).unwrap();
    assert_eq!(found.during.faults, ["black-holes", "unreachable-pairs"]);
    assert_eq!(found.before.verdict(), AuditVerdict::Safe);
}

#[test]
fn fabrics_of_other_indices_are_refused() {
    let [ring, other] = ["topologies/ring-8.ibnetdiscover", "topologies/mesh-4x4.ibnetdiscover"].map(fabric);
    let [old, new] = [shortest(&ring), shortest(&other)];
    let (before, after): (RoutingSnapshot<'_>, RoutingSnapshot<'_>) = (plain(&ring, &old), plain(&other, &new));
    let error = audit_update(&before, &after, AuditRules::default()).expect_err("two fabrics");
    assert!(matches!(error, AuditError::Indices { .. }), "{error}");
}
