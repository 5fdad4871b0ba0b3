//! Captures of real fabrics with the tables that ran on them.

use super::{judged, plain};
use reconfig::audit::{AuditRules, AuditVerdict, audit};
use reconfig::fabric::{Fabric, NodeId, format};
use reconfig::ids::Guid;
use reconfig::tables::dump::{Lfts, read_fdbs};
use std::path::{Path, PathBuf};

/// The captures, where they are at hand; prints a line otherwise.
fn corpus() -> Option<PathBuf> {
    let given = std::env::var_os("RECONFIG_CORPUS").map(PathBuf::from);
    let folder = given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/fabrics"));
    if !folder.is_dir() {
        println!("SKIPPED: no captures in {} (set RECONFIG_CORPUS)", folder.display());
        return None;
    }
    Some(folder.join("opensm"))
}

fn credit_loop() -> Option<(Fabric, Lfts)> {
    let folder = corpus()?;
    let bytes = |name: &str| std::fs::read(folder.join(name)).expect("a capture");
    let fabric = format::read(&bytes("credit-loop-62sw.subnet.lst"), "subnet.lst");
    let fabric = fabric.unwrap_or_else(|error| panic!("{}", error.render(false)));
    let lfts = read_fdbs(&bytes("credit-loop-62sw.fdbs"), "fdbs", &fabric);
    Some((fabric, lfts.unwrap_or_else(|error| panic!("{}", error.render(false)))))
}

/// The host that the subnet manager ran on when OpenSM dumped the capture: `CA-SM`.
fn sm_host(fabric: &Fabric) -> NodeId {
    fabric.by_guid(Guid(0x0002_c901_0976_9a00)).expect("the SM's host")
}

#[test]
fn the_known_credit_loop_is_found_where_switches_count_as_ends() {
    let Some((fabric, lfts)) = credit_loop() else { return };
    assert!(lfts.missing.is_empty());
    let rules = AuditRules { switches: true, data_vls: None };
    let found = audit(&plain(&fabric, &lfts.tables), rules).unwrap();
    assert_eq!(found.faults, ["credit-loops"]);
    assert_eq!((found.credit_loops.components.len(), found.credit_loops.lanes), (1, 216));
    assert_eq!((found.pairs, found.dependencies), (65 * 64, 959));
    // Those who do not read the line of the SM's host count two CAs, and a component of 208.
    let without = fabric.without_nodes(&[sm_host(&fabric)]);
    let found = audit(&plain(&without, &lfts.tables), rules).unwrap();
    assert_eq!((found.fabric.switches, found.fabric.cas, found.fabric.links), (62, 2, 171));
    let lanes: Vec<usize> = found.credit_loops.components.iter().map(|component| component.lanes).collect();
    assert_eq!((lanes, found.dependencies), (vec![208], 925));
    let cycle = found.credit_loops.cycle.expect("a witness");
    assert!(found.credit_loops.shortest && cycle.len() == 8, "{} lanes", cycle.len());
}

#[test]
fn between_its_hosts_alone_that_fabric_has_no_credit_loop() {
    let Some((fabric, lfts)) = credit_loop() else { return };
    let found = judged(&plain(&fabric, &lfts.tables));
    assert_eq!((found.verdict(), found.pairs), (AuditVerdict::Safe, 6));
}
