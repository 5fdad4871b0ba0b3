//! LIDs of a port that lead by several ways, as OpenSM leaves them with an LMC above 0: a loss is repaired on each.

use reconfig::change::{ChangeInput, engine_named, prepare};
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Half, Lid, Lmc, Vl};
use reconfig::lid;
use reconfig::plan::{Policy, Scheme};
use reconfig::routing::{Demand, Parameters};
use reconfig::tables::{Lft, SlToVl, SubnetTables};
use std::sync::Arc;

/// Tables by which the k-th LID of a port takes the k-th path of up*/down*.
fn each_its_own_way(fabric: &Fabric) -> Vec<Arc<Lft>> {
    let engine = engine_named("up-down-robust", &Parameters::default()).expect("an engine");
    let function = engine.route(fabric, &Demand::all(fabric, 2)).expect("it is connected");
    let mut lfts = vec![Lft::new(); fabric.node_count()];
    for (rank, &port) in function.destinations().iter().enumerate() {
        let first = fabric.port(port).lid.expect("assigned").0;
        for path in 0..usize::from(fabric.port(port).lmc.lids()) {
            for switch in fabric.switches() {
                if let Some(output) = function.output(switch, rank, path % function.needed(rank)) {
                    lfts[switch.index()].set(Lid(first + path as u16), output);
                }
            }
        }
    }
    lfts.into_iter().map(Arc::new).collect()
}

#[test]
fn every_lid_of_a_port_is_repaired_on_its_own_way() {
    let plain = generate(&"torus:4x4,2".parse().expect("a topology"), &Options::default()).expect("it exists");
    let fabric = Arc::new(lid::assign(&plain.with_data_vls(1), Lmc::masked(1)).expect("LIDs enough"));
    let mut tables = SubnetTables::new(&fabric, SlToVl::from_fn(|_| Vl::default()), Half::Lower);
    tables.lfts = each_its_own_way(&fabric);
    assert_ne!(lid::mirrored(&fabric, &tables.lfts, Half::Lower), tables.lfts, "a port has two ways somewhere");
    let engine = engine_named("up-down-robust", &Parameters::default()).expect("an engine");
    let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
    let cables = fabric.links().filter(|&(one, other)| is_switch(one) && is_switch(other)).map(|(one, _)| one);
    let mut parted = 0;
    for cable in cables {
        let surviving = Arc::new(fabric.without_links(&[cable]));
        let prepared = prepare(ChangeInput {
            before: fabric.clone(),
            tables: tables.clone(),
            layers: 1,
            ways: None,
            old: Half::Lower,
            both_halves: true,
            engine: &*engine,
            scheme: Scheme::Ordered,
            policy: Policy::default(),
            sm: fabric.end_ports().next().expect("hosts"),
            base: None,
            after: surviving.clone(),
            surviving,
        });
        // Prover, checker and lint have accepted the plan, for all LIDs.
        let prepared = prepared.unwrap_or_else(|why| panic!("{}: {why}", fabric.describe_port(cable)));
        let plan = prepared.plan.plan();
        let last = &plan.tables_at(plan.waves().len()).lfts;
        parted += usize::from(lid::mirrored(&fabric, last, Half::Lower) != *last);
    }
    assert!(parted > 0, "ways of their own are kept where they can be");
}
