//! Changes that give all hosts ways again at once after a loss, and what they leave to the change after them.

use crate::support::bundled::bundled;
use crate::support::is_thorough;
use crate::support::python::python;
use reconfig::change::{
    ChangeBase, ChangeError, ChangeInput, Prepared, engine_named, prepare, prepare_at_once, prepare_cheapest,
    prepare_in_turn, prepare_partly,
};
use reconfig::check::{certificate, lint};
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lmc};
use reconfig::lid;
use reconfig::plan::{Draft, Plan, Policy, Scheme};
use reconfig::routing::{Demand, Engine, FatTree, Parameters, RouteError, UpDown};
use reconfig::tables::{PathLayers, RoutingFunction, SubnetTables, Write, arrivals};
use reconfig::verify::{Binding, Certificate, Scope, prove_certified, prove_tables};
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
    known_on(lid::assign(&plain.with_capabilities(4, true), Lmc::masked(1)).unwrap(), engine)
}

fn known_on(fabric: Fabric, engine: &dyn Engine) -> Known {
    let fabric = Arc::new(fabric);
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

/// One wave of entries is found and proved without the full re-route; every host has its ways again by it. What it
/// leaves is proved for the fabric before the loss, and the next change gives ways to all.
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

/// Whom other entries serve do not wait for `double`; if they serve all hosts, none need move.
#[test]
fn what_entries_alone_can_serve_comes_before_double() {
    let nue = engine_named("nue", &Parameters::default()).unwrap();
    let known = known_by("dragonfly:2,4,2", &*nue);
    let Known { layers, ref ways, .. } = known;
    let is_switch = |port: PortId| known.fabric.node(known.fabric.port(port).node).is_switch();
    let cables = known.fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b));
    let cables = cables.skip(1).step_by(2);
    let (mut alone, mut partly, mut whole, mut by_script) = (0, 0, 0, 0);
    for (which, (cable, _)) in cables.enumerate() {
        let rest = Arc::new(known.fabric.without_links(&[cable]));
        // In the brief form a cable has one of the two, and the next cable the other.
        let bases = [None, Some(&known.base)].into_iter().enumerate();
        for (_, base) in bases.filter(|&(number, _)| is_thorough() || number == which % 2) {
            let common = input(&known.fabric, &known.tables, &rest, base);
            let asked = ChangeInput { engine: &*nue, layers, ways: ways.clone(), ..common };
            let chosen = prepare_in_turn(asked.clone(), 0).unwrap();
            if prepare_cheapest(asked, 0).unwrap().plan.plan().scheme() == Scheme::Ordered {
                assert!(chosen.then.is_none() && chosen.plan.plan().scheme() == Scheme::Ordered);
                continue;
            }
            let mut lost = lost_rows(&rest, &known.tables).1;
            let mut turn = &chosen;
            while let Some(then) = &turn.then {
                let plan = turn.plan.plan();
                assert!(plan.scheme() == Scheme::Ordered && plan.waves().len() == 1 && plan.leads_into_loss());
                let left = lost_rows(&rest, last_tables(turn)).1;
                assert!(left < std::mem::replace(&mut lost, left), "each serves some");
                assert!(left == 0 || plan.draft().leaves_losses, "it says so");
                assert!(*last_tables(turn) == then.plan.plan().draft().initial);
                // The script takes tenths of a second for each.
                if base.is_none() && (by_script < 2 || is_thorough()) {
                    accepted_by_script(turn);
                    by_script += 1;
                }
                turn = then;
            }
            assert!(std::ptr::eq(turn, chosen.last()));
            match (turn.plan.plan().scheme(), &chosen.then) {
                (Scheme::Double, None) => alone += 1,
                (Scheme::Double, Some(_)) => partly += 1,
                _ => whole += 1,
            }
        }
    }
    assert!(alone > 0 && partly > 0 && whole > 0, "{alone}, {partly} and {whole}");
}

/// Fifty losses and returns of cables in a row, each from the tables that the last change left: entries alone always
/// do.
#[test]
fn many_losses_and_returns_in_a_row_are_repaired() {
    for (topology, engine) in
        [("torus:4x4,1", "up-down"), ("random-regular:16,4,2", "up-down-robust"), ("fat-tree:4,3", "fat-tree")]
    {
        let engine = engine_named(engine, &Parameters::default()).unwrap();
        let known = known_by(topology, &*engine);
        let is_switch = |port: PortId| known.fabric.node(known.fabric.port(port).node).is_switch();
        let cables: Vec<PortId> =
            known.fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b)).map(|(a, _)| a).collect();
        let mut tables = known.tables.clone();
        for event in 0..25 {
            let rest = Arc::new(known.fabric.without_links(&[cables[event * 7 % cables.len()]]));
            for (before, after) in [(&known.fabric, &rest), (&rest, &known.fabric)] {
                let common = input(before, &tables, after, None);
                let asked = ChangeInput { engine: &*engine, scheme: Scheme::Ordered, ..common };
                let made = prepare(asked).unwrap_or_else(|error| panic!("{topology}, event {event}: {error}"));
                tables = last_tables(&made).clone();
                assert_eq!(lost_rows(after, &tables), (0, 0), "{topology}, event {event}");
            }
        }
    }
}

/// Where nothing serves everybody, some are served, and no more than once.
#[test]
fn where_there_is_no_change_for_all_some_are_served() {
    let lash = engine_named("lash", &Parameters::default()).unwrap();
    // One LID a port: there is no other half.
    let plain = bundled("seed-16").with_capabilities(4, true);
    let known = known_on(lid::assign(&plain, Lmc::default()).unwrap(), &*lash);
    let Known { layers, ref ways, .. } = known;
    let (mut none, mut some) = (0, 0);
    let is_switch = |port: PortId| known.fabric.node(known.fabric.port(port).node).is_switch();
    let cables = known.fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b));
    for (cable, _) in cables {
        let rest = Arc::new(known.fabric.without_links(&[cable]));
        let common = input(&known.fabric, &known.tables, &rest, None);
        let asked = ChangeInput { engine: &*lash, layers, ways: ways.clone(), ..common };
        let Err(ChangeError::NoScheme { .. }) = prepare_cheapest(asked.clone(), 0) else { continue };
        let mut lost = lost_rows(&rest, &known.tables).1;
        let mut asked = asked;
        none += 1;
        while let Some(partly) = prepare_partly(&asked) {
            let left = lost_rows(&rest, last_tables(&partly)).1;
            assert!(left < std::mem::replace(&mut lost, left), "each serves some");
            assert!(left == 0 || partly.plan.plan().draft().leaves_losses, "it says so");
            if some < 2 || is_thorough() {
                accepted_by_script(&partly);
            }
            asked = ChangeInput { tables: last_tables(&partly).clone(), ..asked };
            some += 1;
        }
    }
    assert!(none > 0 && some > 0, "{some} waves where {none} have no change");
}

/// A plan that leaves hosts without a way, and does not say so, is refused; and what it says forgives no other loss.
#[test]
fn hosts_that_stay_lost_are_named_as_such() {
    let nue = engine_named("nue", &Parameters::default()).unwrap();
    let known = known_by("dragonfly:2,4,2", &*nue);
    let is_switch = |port: PortId| known.fabric.node(known.fabric.port(port).node).is_switch();
    let cables = known.fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b));
    let leaving = cables.filter_map(|(cable, _)| {
        let rest = Arc::new(known.fabric.without_links(&[cable]));
        let Known { layers, ref ways, .. } = known;
        let common = input(&known.fabric, &known.tables, &rest, Some(&known.base));
        let asked = ChangeInput { engine: &*nue, layers, ways: ways.clone(), ..common };
        prepare_in_turn(asked, 0).ok().filter(|first| first.plan.plan().draft().leaves_losses)
    });
    let first = leaving.take(1).next().expect("a loss that one wave does not mend");
    let plan = first.plan.plan();
    let (_, certificate) = prove_certified(plan.clone()).unwrap();
    let certificate = certificate.unwrap();
    judged(plan, &certificate, true);
    let unsaid = Plan::seal(Draft { leaves_losses: false, ..plan.draft().clone() });
    judged(&unsaid, &certificate, false);
    assert!(!lint(&unsaid).is_empty());
    let elsewhere = Plan::seal(Draft { leaves_losses: true, ..chosen_double(&known).draft().clone() });
    assert!(lint(&elsewhere).iter().any(|finding| finding.to_string().contains("leaves losses")));

    // An entry that has a way is set to the dead cable.
    let dead = plan.draft().before.links().find(|&(a, _)| plan.draft().surviving.peer(a).is_none()).unwrap().0;
    let (switch, output) = (known.fabric.port(dead).node, known.fabric.port(dead).num);
    let fabric = &plan.draft().surviving;
    let intact = known.tables.lfts[switch.index()].routes().find(|&(lid, own)| {
        own != output
            && fabric.half_of(lid) == Some(Half::Lower)
            && arrivals(fabric, &known.tables.lfts, lid)[switch.index()]
            && fabric.lid_owner(lid).and_then(|owner| fabric.neighbour(owner)) != Some(switch)
    });
    let (lid, _) = intact.expect("a row that has a way");
    let block = lid.0 / 64;
    let mut entries = known.tables.lfts[switch.index()].block(block);
    entries[usize::from(lid.0 % 64)] = output.0;
    let mut draft = plan.draft().clone();
    draft.waves[0].writes.retain(
        |write| !matches!(write, Write::LftBlock { switch: own, block: at, .. } if (own, at) == (&switch, &block)),
    );
    draft.waves[0].writes.push(Write::LftBlock { switch, block, entries: Box::new(entries) });
    prove_certified(Plan::seal(draft)).expect_err("a new loss");
}

fn chosen_double(known: &Known) -> Plan {
    let cable = known.fabric.links().last().expect("cables").0;
    let rest = Arc::new(known.fabric.without_links(&[cable]));
    let Known { layers, ref ways, .. } = *known;
    let nue = engine_named("nue", &Parameters::default()).unwrap();
    let common = input(&known.fabric, &known.tables, &rest, None);
    prepare(ChangeInput { engine: &*nue, layers, ways: ways.clone(), ..common }).unwrap().plan.plan().clone()
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
    let plan = prepared.plan.plan();
    let (_, found) = prove_certified(plan.clone()).expect("it is proved");
    judged(plan, &found.expect("it has a wave"), true);
}

/// Whether the checker and the script accept a plan with a certificate.
fn judged(plan: &Plan, found: &Certificate, accepted: bool) {
    let file = plan.to_json();
    let found = found.to_text(&plan.binding(Binding::digest(file.as_bytes())));
    let checked = certificate::check(plan, file.as_bytes(), found.as_bytes());
    assert_eq!(checked.is_ok(), accepted, "{checked:?}");
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (plan, certificate) = (folder.path().join("plan"), folder.path().join("certificate"));
    std::fs::write(&plan, &file).unwrap();
    std::fs::write(&certificate, &found).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/check_certificate.py");
    let run = Command::new(python).arg(script).args([&plan, &certificate]).output().unwrap();
    assert_eq!(run.status.code(), Some(i32::from(!accepted)), "{}", String::from_utf8_lossy(&run.stdout));
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

/// Hosts that wait, summed over the moments after each write of a wave.
fn waiting(fabric: &Fabric, before: &SubnetTables, writes: &[&Write]) -> u64 {
    let mut tables = before.clone();
    let lids: Vec<_> = fabric.end_ports().flat_map(|port| fabric.half_lids(port, Half::Lower)).collect();
    let leaves: Vec<NodeId> = fabric.end_ports().filter_map(|port| fabric.neighbour(port)).collect();
    let pairs = |tables: &SubnetTables| -> u64 {
        let without = |lid: &reconfig::ids::Lid| {
            let arrives = arrivals(fabric, &tables.lfts, *lid);
            leaves.iter().filter(|leaf| !arrives[leaf.index()]).count() as u64
        };
        lids.iter().map(without).sum()
    };
    let after = |write: &&Write| {
        tables.apply(fabric, write);
        pairs(&tables)
    };
    writes.iter().map(after).sum()
}

#[test]
fn writes_that_reconnect_most_pairs_go_first() {
    let known = known_by("torus:6x6,1", &UpDown::default());
    let mut sooner = 0;
    for switch in known.fabric.switches().skip(1).step_by(5) {
        let rest = Arc::new(known.fabric.without_nodes(&[switch]));
        let input = input(&known.fabric, &known.tables, &rest, None);
        let prepared = prepare(ChangeInput { engine: &UpDown::default(), scheme: Scheme::Ordered, ..input });
        let prepared = prepared.unwrap_or_else(|why| panic!("{}: {why}", known.fabric.describe_node(switch)));
        let plan = prepared.plan.plan();
        // Some switches led nobody but their own hosts.
        let Some(wave) = plan.waves().first() else { continue };
        let of_wave: Vec<&Write> = wave.writes.iter().collect();
        let mut by_block = of_wave.clone();
        by_block.sort_by_key(|write| match write {
            Write::LftBlock { switch, block, .. } => (*block, rest.node(*switch).guid),
            other => panic!("{other:?} in a wave of entries"),
        });
        let [own, other] = [&of_wave, &by_block].map(|writes| waiting(&rest, plan.tables_at(0), writes));
        assert!(own <= other, "{}: {own} and {other}", known.fabric.describe_node(switch));
        sooner += u64::from(own < other);
    }
    assert!(sooner > 3, "{sooner} of 7");
}
