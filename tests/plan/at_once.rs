//! Changes that give all hosts ways again at once after a loss, and what they leave to the change after them.

use reconfig::change::{ChangeBase, ChangeInput, Prepared, prepare_at_once, prepare_cheapest};
use reconfig::check::certificate;
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lmc};
use reconfig::lid;
use reconfig::plan::{Policy, Scheme};
use reconfig::routing::{Demand, Engine, FatTree};
use reconfig::tables::{SubnetTables, Write, arrivals};
use reconfig::verify::{Binding, Scope, prove_certified, prove_tables};
use std::process::Command;
use std::sync::Arc;

/// A subnet routed as a fat tree, and what is known of its routing.
struct Known {
    fabric: Arc<Fabric>,
    tables: SubnetTables,
    base: ChangeBase,
}

fn known(topology: &str) -> Known {
    let plain = generate(&topology.parse().unwrap(), &Options::default()).unwrap();
    let fabric = Arc::new(lid::assign(&plain.with_capabilities(4, true), Lmc::masked(1)).unwrap());
    let function = FatTree.route(&fabric, &Demand::all(&fabric, 1)).unwrap();
    let tables = lid::bring_up(&fabric, &function, 4);
    let base = ChangeBase::of(&input(&fabric, &tables, &fabric, None).in_force()).unwrap();
    Known { fabric, tables, base }
}

fn input<'a>(
    fabric: &Arc<Fabric>,
    tables: &SubnetTables,
    rest: &Arc<Fabric>,
    base: Option<&'a ChangeBase>,
) -> ChangeInput<'a> {
    ChangeInput {
        before: fabric.clone(),
        surviving: rest.clone(),
        after: rest.clone(),
        tables: tables.clone(),
        layers: 1,
        ways: None,
        old: Half::Lower,
        both_halves: false,
        engine: &FatTree,
        scheme: Scheme::Double,
        policy: Policy::default(),
        sm: fabric.end_ports().next().unwrap(),
        base,
    }
}

/// The first cable between switches, one of a leaf, and a switch without hosts.
fn losses(fabric: &Fabric) -> Vec<Arc<Fabric>> {
    let is_switch = |port: PortId| fabric.neighbour(port).is_some_and(|node| fabric.node(node).is_switch());
    let is_bare =
        |&node: &NodeId| fabric.ports_of(node).all(|port| fabric.neighbour(port).is_none() || is_switch(port));
    let cables: Vec<PortId> = fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b)).map(|(a, _)| a).collect();
    let is_of_leaf = |&port: &PortId| {
        let ends = [Some(fabric.port(port).node), fabric.neighbour(port)];
        ends.into_iter().flatten().any(|node| !is_bare(&node))
    };
    let leafs = cables.iter().copied().filter(is_of_leaf).nth(5).unwrap();
    let switch = fabric.switches().find(is_bare).unwrap();
    vec![
        Arc::new(fabric.without_links(&cables[..1])),
        Arc::new(fabric.without_links(&[leafs])),
        Arc::new(fabric.without_nodes(&[switch])),
    ]
}

/// Rows (switch and LID in use) without a way: all of them, and those by which hosts send to hosts.
fn lost_rows(rest: &Fabric, tables: &SubnetTables) -> (usize, usize) {
    let has_hosts = |node: NodeId| {
        let mut next = rest.ports_of(node).filter_map(|port| rest.neighbour(port));
        next.any(|node| !rest.node(node).is_switch())
    };
    let (mut all, mut of_hosts) = (0, 0);
    for owner in rest.lid_ports() {
        let own = rest.port(owner).lid.filter(|_| rest.node(rest.port(owner).node).is_switch());
        for lid in own.into_iter().chain(rest.half_lids(owner, Half::Lower)) {
            let arrives = arrivals(rest, &tables.lfts, lid);
            for switch in rest.switches().filter(|switch| rest.node(*switch).present && !arrives[switch.index()]) {
                all += 1;
                of_hosts += usize::from(own.is_none() && has_hosts(switch));
            }
        }
    }
    (all, of_hosts)
}

fn last_tables(prepared: &Prepared) -> &SubnetTables {
    let plan = prepared.plan.plan();
    plan.tables_at(plan.waves().len())
}

/// One wave of entries is found and proved without the full re-route; every host has its ways again by it. What it leaves
/// is proved for the fabric before the loss, and the next change gives ways to all.
#[test]
fn hosts_come_first_and_the_next_change_finds_the_rest() {
    let known = known("fat-tree:8,3");
    let mut partial = 0;
    for rest in losses(&known.fabric) {
        let first = prepare_at_once(&input(&known.fabric, &known.tables, &rest, Some(&known.base))).expect("at once");
        let plan = first.plan.plan();
        assert!(first.plan.proof().is_some() && plan.scheme() == Scheme::Ordered);
        assert_eq!(plan.waves().len(), 1);
        assert!(plan.waves()[0].writes.iter().all(|write| matches!(write, Write::LftBlock { .. })));
        assert!(plan.draft().notes.iter().any(|note| note.starts_with("scheme double was passed over")));
        let (lost, of_hosts) = lost_rows(&rest, last_tables(&first));
        assert!(lost_rows(&rest, &known.tables).1 > 0 && of_hosts == 0, "{of_hosts} rows of hosts stay lost");
        assert_eq!(plan.leads_into_loss(), lost > 0);
        if lost == 0 {
            continue;
        }
        partial += 1;
        let scope = Scope::of(&[Half::Lower]);
        prove_tables(&known.fabric, last_tables(&first), &scope).expect("a routing of the fabric before the loss");
        accepted_by_script(&first);
        let then = prepare_cheapest(input(&known.fabric, last_tables(&first), &rest, Some(&known.base)), 0).unwrap();
        assert!(!then.plan.plan().leads_into_loss());
        assert_eq!(lost_rows(&rest, last_tables(&then)), (0, 0));
        prove_tables(&rest, last_tables(&then), &scope).expect("a routing of what is left");
    }
    assert!(partial > 0, "no loss leaves rows to the next change");
}

/// The certificate is one like any other: the checker and the script of Python's standard library accept it.
fn accepted_by_script(prepared: &Prepared) {
    let file = prepared.plan.plan().to_json();
    let (proved, found) = prove_certified(prepared.plan.plan().clone()).expect("it is proved");
    let found = found.expect("it has a wave").to_text(&proved.get().binding(Binding::digest(file.as_bytes())));
    certificate::check(proved.get(), file.as_bytes(), found.as_bytes()).expect("the checker accepts it");
    if Command::new("python3").arg("--version").output().is_err() {
        println!("SKIPPED: python3 is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (plan, certificate) = (folder.path().join("plan"), folder.path().join("certificate"));
    std::fs::write(&plan, &file).unwrap();
    std::fs::write(&certificate, &found).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/check_certificate.py");
    let run = Command::new("python3").arg(script).args([&plan, &certificate]).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stdout));
}

#[test]
fn nothing_but_a_loss_of_a_known_routing_is_met_at_once() {
    let known = known("fat-tree:8,3");
    let rest = losses(&known.fabric).remove(0);
    let at_once = |input: &ChangeInput<'_>| prepare_at_once(input).is_some();
    let asked = input(&known.fabric, &known.tables, &rest, Some(&known.base));
    assert!(at_once(&asked));
    assert!(!at_once(&ChangeInput { base: None, ..asked.clone() }), "nothing is known");
    assert!(!at_once(&ChangeInput { surviving: known.fabric.clone(), ..asked.clone() }), "it leaves as planned");
    let nothing = known.fabric.clone();
    assert!(!at_once(&ChangeInput { surviving: nothing.clone(), after: nothing, ..asked.clone() }), "nothing is lost");
    let first = prepare_at_once(&asked).unwrap();
    assert!(!at_once(&ChangeInput { tables: last_tables(&first).clone(), ..asked }), "another routing is known");
    // As soon prepared in full.
    let small = self::known("fat-tree:4,3");
    let rest = losses(&small.fabric).remove(0);
    assert!(!at_once(&input(&small.fabric, &small.tables, &rest, Some(&small.base))));
}
