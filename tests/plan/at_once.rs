//! Changes that give all hosts ways again at once after a loss, and what they leave to the change after them.

use reconfig::change::{
    ChangeBase, ChangeInput, Prepared, engine_named, prepare_at_once, prepare_before, prepare_cheapest,
};
use reconfig::check::certificate;
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lmc};
use reconfig::lid;
use reconfig::plan::{Policy, Scheme};
use reconfig::routing::{Demand, Engine, FatTree, Parameters, RouteError, UpDown};
use reconfig::tables::{PathLayers, RoutingFunction, SubnetTables, Write, arrivals};
use reconfig::verify::{Binding, Scope, prove_certified, prove_tables};
use std::process::Command;
use std::sync::Arc;

/// A subnet routed as a fat tree, and what is known of its routing.
struct Known {
    fabric: Arc<Fabric>,
    tables: SubnetTables,
    layers: u8,
    ways: Option<Arc<PathLayers>>,
    base: ChangeBase,
}

fn known(topology: &str) -> Known {
    known_by(topology, &FatTree)
}

fn known_by(topology: &str, engine: &dyn Engine) -> Known {
    let plain = generate(&topology.parse().unwrap(), &Options::default()).unwrap();
    let fabric = Arc::new(lid::assign(&plain.with_capabilities(4, true), Lmc::masked(1)).unwrap());
    let sm = fabric.end_ports().next().unwrap();
    let function = engine.route(&fabric, &Demand::joined_with(&fabric, sm, 1).within(2)).unwrap();
    let tables = lid::bring_up(&fabric, &function, 4);
    let (layers, ways) = (function.layers(), function.path_layers().cloned());
    let in_force = ChangeInput { layers, ways: ways.clone(), ..input(&fabric, &tables, &fabric, None) }.in_force();
    let base = ChangeBase::of(&in_force).unwrap();
    Known { fabric, tables, layers, ways, base }
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

/// Where hosts would have to wait, and so `double` is chosen, because rows of switches have to wait, no host waits and none
/// moves.
#[test]
fn hosts_need_not_move_where_only_switches_have_to_wait() {
    let nue = engine_named("nue", &Parameters::default()).unwrap();
    let known = known_by("dragonfly:2,4,2", &*nue);
    let Known { layers, ref ways, .. } = known;
    let is_switch = |port: PortId| known.fabric.node(known.fabric.port(port).node).is_switch();
    let cables = known.fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b));
    let (mut doubles, mut before) = (0, 0);
    for (cable, _) in cables {
        let rest = Arc::new(known.fabric.without_links(&[cable]));
        for base in [None, Some(&known.base)] {
            let common = input(&known.fabric, &known.tables, &rest, base);
            let asked = ChangeInput { engine: &*nue, layers, ways: ways.clone(), ..common };
            let chosen = prepare_cheapest(asked.clone(), 0).unwrap();
            let first = prepare_before(&asked, &chosen);
            if chosen.plan.plan().scheme() != Scheme::Double {
                assert!(first.is_none());
                continue;
            }
            doubles += 1;
            let Some(first) = first else { continue };
            before += 1;
            assert_eq!(first.plan.plan().scheme(), Scheme::Ordered);
            assert_eq!(lost_rows(&rest, last_tables(&first)).1, 0, "hosts have ways again");
            let then = ChangeInput { tables: last_tables(&first).clone(), base: None, ..asked };
            let then = prepare_cheapest(then, 0).unwrap();
            assert_eq!(then.plan.plan().scheme(), Scheme::Ordered, "no host moves");
            assert_eq!(lost_rows(&rest, last_tables(&then)), (0, 0));
        }
    }
    assert!(before > 0 && before < doubles, "{before} of {doubles}");
}

/// Forwarding entries alone are enough where the engine has no routing for what is left.
#[test]
fn a_repair_needs_no_full_re_route() {
    struct Once(UpDown, Arc<Fabric>);
    impl Engine for Once {
        fn name(&self) -> &'static str {
            "once"
        }
        fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
            match *fabric == *self.1 {
                true => self.0.route(fabric, demand),
                false => Err(RouteError::Unsuited { engine: "once", why: "something is lost".to_string() }),
            }
        }
    }
    let known = known_by("mesh:4x4", &UpDown::default());
    let engine = Once(UpDown::default(), known.fabric.clone());
    let is_switch = |port: PortId| known.fabric.node(known.fabric.port(port).node).is_switch();
    let cables = known.fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b));
    for (cable, _) in cables {
        let rest = Arc::new(known.fabric.without_links(&[cable]));
        let asked = ChangeInput { engine: &engine, ..input(&known.fabric, &known.tables, &rest, None) };
        let found = prepare_cheapest(asked.clone(), 0).unwrap();
        let plan = found.plan.plan();
        assert!(found.function.is_none() && plan.scheme() == Scheme::Ordered);
        assert!(plan.draft().notes.iter().any(|note| note.contains("something is lost")), "{:?}", plan.draft().notes);
        assert_eq!(lost_rows(&rest, last_tables(&found)), (0, 0));
        prove_tables(&rest, last_tables(&found), &Scope::of(&[Half::Lower])).expect("a routing of what is left");
        let known_too = ChangeInput { base: Some(&known.base), ..asked };
        assert_eq!(last_tables(&prepare_cheapest(known_too, 0).unwrap()), last_tables(&found), "with a base");
    }
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
