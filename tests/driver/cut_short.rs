//! A planned removal that meets a loss while it waits until what leaves is empty (W.6).

use crate::driver::bench::{
    Bench, MS, TimedAction, at_rest, bench, bench_by, drive, has_hosts, kill, light, names, policy, remove_root,
    revive, tables_match,
};
use reconfig::driver::Intent;
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::{Half, Lid};
use reconfig::machine::Outcome;
use reconfig::plan::{Observer, Scheme};
use reconfig::routing::{Engine, FatTree, UpDown};
use reconfig::sim::{SickAttribute, Sickness, SimConfig, SimTransport};
use reconfig::wire::{AttributeId, PortState};
use std::cell::Cell;
use std::cmp::Reverse;
use std::rc::Rc;
use std::sync::Arc;

/// A tree whose root is to be removed as planned, by entries alone and by age.
fn by_age() -> Bench {
    let config = SimConfig { switch_lifetime_ns: 4096 << 12, ..light() };
    bench("fat-tree:4,2", config, Scheme::Ordered, policy(Observer::Lifetime))
}

/// Counts the entries for hosts that lead to a switch.
fn leading_to(transport: &SimTransport, fabric: &Fabric, dead: NodeId) -> usize {
    let towards = |switch: NodeId, lid: Lid| {
        let output = transport.with(|sim| sim.output(switch, lid))?;
        fabric.neighbour(fabric.port_at(switch, output)?)
    };
    let lids: Vec<Lid> = fabric.end_ports().flat_map(|port| fabric.half_lids(port, Half::Lower)).collect();
    let leads = |switch| lids.iter().filter(|&&lid| towards(switch, lid) == Some(dead)).count();
    fabric.switches().map(leads).sum()
}

/// Such a tree, and what is known of its removal.
struct Removal {
    bench: Bench,
    /// When its wait begins and ends without a loss.
    start_ns: u64,
    end_ns: u64,
    /// The spine that carries most once the root is out of the routing, and another one.
    spines: [NodeId; 2],
}

fn removal() -> Removal {
    let mut whole = by_age();
    let report = remove_root(&mut whole, Vec::new()).expect("it can be prepared");
    let (start_ns, end_ns) = (report.phases[0].start_ns, report.phases[0].end_ns);
    assert!(end_ns - start_ns > 40 * MS, "it waits: {:?}", report.phases);
    let crossed = |switch: NodeId| leading_to(&whole.transport, &whole.fabric, switch);
    let spines = whole.fabric.switches().filter(|&id| id != whole.root && !has_hosts(&whole.fabric, id));
    let mut spines: Vec<NodeId> = spines.collect();
    spines.sort_by_key(|&spine| Reverse(crossed(spine)));
    assert!(crossed(spines[0]) > 0, "paths lead over it");
    Removal { bench: by_age(), start_ns, end_ns, spines: [spines[0], spines[1]] }
}

fn a_leaf(bench: &Bench) -> NodeId {
    bench.fabric.switches().find(|&id| has_hosts(&bench.fabric, id)).expect("a leaf")
}

#[test]
fn a_death_while_what_leaves_is_vacated_is_routed_around_at_once() {
    // Within the wait, and before the writes are acknowledged.
    for is_within in [true, false] {
        let Removal { mut bench, start_ns, end_ns, spines: [dead, _] } = removal();
        let at_ns = if is_within { (start_ns + end_ns) / 2 } else { start_ns + 10_000 };
        let later = Rc::new(Cell::new(None));
        let (fabric, counted) = (bench.fabric.clone(), later.clone());
        let count = move |transport: &SimTransport| counted.set(Some(leading_to(transport, &fabric, dead)));
        let actions: Vec<TimedAction> = vec![kill(at_ns, dead), (at_ns + 8 * MS, Box::new(count))];
        let report = remove_root(&mut bench, actions).expect("it can be prepared");
        assert_eq!(later.get(), Some(0), "entries lead to the dead switch after 8 ms, {at_ns} ns");
        assert_eq!((&report.outcome, report.restarts, report.made.len()), (&Outcome::Completed, 1, 1));
        let running = bench.driver.running();
        assert!(running.alive.node(bench.root).present, "it is to leave, and has not left");
        assert!(
            ![dead, bench.root].iter().any(|&gone| running.routed.node(gone).present),
            "both are out of the routing"
        );
        // What leaves is vacated all the same, no later than without the loss.
        let last = report.phases.last().expect("some");
        assert_eq!(
            (last.name, last.end_ns / MS - end_ns / MS),
            ("vacate", u64::from(!is_within)),
            "{:?}",
            report.phases
        );
        tables_match(&bench, &running.tables.clone(), &running.alive.clone());
        assert_eq!(at_rest(&bench).lost_to_change, 0);
    }
}

#[test]
fn a_second_death_while_what_leaves_is_vacated_does_not_wait_either() {
    let Removal { mut bench, end_ns, spines: [first, second], .. } = removal();
    let report =
        remove_root(&mut bench, vec![kill(10 * MS, first), kill(20 * MS, second)]).expect("it can be prepared");
    assert_eq!(
        (&report.outcome, report.plans.len()),
        (&Outcome::Completed, report.restarts + 1),
        "{:?}",
        names(&report)
    );
    assert_eq!(report.phases.last().expect("some").end_ns, end_ns);
    let running = bench.driver.running();
    assert!(![first, second, bench.root].iter().any(|&gone| running.routed.node(gone).present));
    tables_match(&bench, &running.tables.clone(), &running.alive.clone());
    assert_eq!(at_rest(&bench).lost_to_change, 0);
}

#[test]
fn a_cable_that_bounces_while_what_leaves_is_vacated_is_taken_on_again() {
    let Removal { mut bench, end_ns, spines: [first, second], .. } = removal();
    let port = bench.fabric.ports_of(second).find(|&port| bench.fabric.peer(port).is_some()).expect("a spine");
    let state = Rc::new(Cell::new(None));
    let seen = state.clone();
    let report = remove_root(
        &mut bench,
        vec![
            kill(10 * MS, first),
            (20 * MS, Box::new(move |transport| transport.with(|sim| sim.kill(port)))),
            (20 * MS + 2_000, Box::new(move |transport| transport.with(|sim| sim.revive(port)))),
            (35 * MS, Box::new(move |transport| seen.set(Some(transport.with(|sim| sim.port_state(port)))))),
        ],
    )
    .expect("it can be prepared");
    assert_eq!((&report.outcome, report.phases.last().expect("some").end_ns), (&Outcome::Completed, end_ns));
    assert_eq!(state.get(), Some(PortState::Active), "it carries data long before the wait ends");
}

#[test]
fn an_abort_while_what_leaves_is_vacated_concerns_no_later_change() {
    for dies in [false, true] {
        let Removal { mut bench, spines: [first, second], .. } = removal();
        let handle = bench.driver.abort_handle();
        let mut actions: Vec<TimedAction> = vec![(20 * MS, Box::new(move |_| handle.abort()))];
        actions.extend(dies.then(|| kill(10 * MS, first)));
        let report = remove_root(&mut bench, actions).expect("it can be prepared");
        assert_eq!(report.outcome, Outcome::Completed, "{dies}");
        let running = bench.driver.running();
        let after = Arc::new(running.alive.without_nodes(&[bench.root, if dies { second } else { first }]));
        bench.driver.intend(Intent::by(Arc::new(UpDown::default()), Scheme::Double, policy(Observer::Token)));
        let transport = bench.transport.clone();
        let next = drive(&transport, bench.driver.change_to(after), Vec::new()).expect("it can be prepared");
        assert_eq!(next.outcome, Outcome::Completed, "{dies}");
    }
}

/// What leaves is not empty because the change for the loss has stood still.
#[test]
fn a_follow_up_that_stands_still_and_is_resumed_is_followed_by_the_wait() {
    let Removal { mut bench, end_ns, spines: [first, _], .. } = removal();
    let leaf = a_leaf(&bench);
    let sick =
        SickAttribute { attribute: AttributeId::LinearForwardingTable, sickness: Sickness::Ignores, writes_only: true };
    let sickens = move |transport: &SimTransport| transport.with(|sim| sim.sicken_node(leaf, sick));
    let actions: Vec<TimedAction> = vec![(9 * MS, Box::new(sickens)), kill(10 * MS, first)];
    let report = remove_root(&mut bench, actions).expect("it can be prepared");
    assert!(matches!(report.outcome, Outcome::Failed { state: "rewriting", .. }), "{:?}", report.outcome);
    let transport = bench.transport.clone();
    transport.with(|sim| sim.heal_node(leaf));
    let again =
        drive(&transport, bench.driver.resume(), Vec::new()).expect("the port is there").expect("it stands still");
    assert_eq!(again.outcome, Outcome::Completed);
    let last = again.phases.last().expect("some");
    assert_eq!((last.name, last.end_ns), ("vacate", end_ns), "{:?}", again.phases);
}

/// A switch says no longer how long it keeps packets: the spine may hold some, and is out of the routing all the same.
#[test]
fn what_leaves_and_is_never_known_to_be_empty_stays_out_of_the_routing() {
    let Removal { mut bench, spines: [first, _], .. } = removal();
    let leaf = a_leaf(&bench);
    let sick = SickAttribute { attribute: AttributeId::SwitchInfo, sickness: Sickness::Refuses, writes_only: false };
    let sickens = move |transport: &SimTransport| transport.with(|sim| sim.sicken_node(leaf, sick));
    let actions: Vec<TimedAction> = vec![kill(10 * MS, first), (10 * MS + 1, Box::new(sickens))];
    let report = remove_root(&mut bench, actions).expect("it can be prepared");
    assert_eq!(report.outcome, Outcome::CutShort, "{:?}", names(&report));
    assert_eq!(bench.driver.unemptied().count(), 1);
    assert!(!bench.driver.running().routed.node(bench.root).present);
    assert_eq!(bench.driver.trail().take().last(), Some(&"cut-short"));
}

/// Of a leaf that leaves no switch keeps rows. What is routed next is the rest, and the leaf is empty when it would
/// have been. A cable of its own is no loss to anybody.
#[test]
fn a_removal_that_cuts_off_hosts_is_cut_short_by_what_the_rest_has_lost_alone() {
    let removed = |dying: &str| {
        let config = SimConfig { switch_lifetime_ns: 4096 << 12, ..light() };
        let engine: Arc<dyn Engine> = Arc::new(FatTree);
        let mut bench = bench_by("fat-tree:2,3", config, Scheme::Ordered, policy(Observer::Lifetime), engine);
        let (fabric, transport) = (bench.fabric.clone(), bench.transport.clone());
        let named = |name: &str| fabric.nodes().find(|(_, node)| node.description == name).expect("it is there").0;
        let leaf = named("leaf-2");
        let hosts = fabric.ports_of(leaf).filter_map(|port| fabric.peer(port)).map(|port| fabric.port(port).node);
        let gone: Vec<NodeId> = hosts.filter(|&node| !fabric.node(node).is_switch()).chain([leaf]).collect();
        assert!(!gone.contains(&fabric.port(bench.driver.running().sm).node), "the manager stays");
        let cable = fabric
            .ports_of(leaf)
            .find(|&port| fabric.neighbour(port).is_some_and(|next| fabric.node(next).is_switch()));
        let actions: Vec<TimedAction> = match dying {
            "" => Vec::new(),
            "its cable" => {
                let cable = cable.expect("an uplink");
                vec![(20 * MS, Box::new(move |transport| transport.with(|sim| sim.kill(cable))))]
            }
            name => vec![kill(20 * MS, named(name))],
        };
        let after = Arc::new(fabric.without_nodes(&gone));
        let report = drive(&transport, bench.driver.change_to(after), actions).expect("it can be prepared");
        assert_eq!((&report.outcome, report.stranded.len()), (&Outcome::Completed, gone.len() - 1), "{dying}");
        let running = bench.driver.running();
        assert!(!running.routed.node(leaf).present && !running.has_lost_something(), "{dying}");
        (report.phases.last().expect("some").end_ns, report.restarts)
    };
    let (end_ns, _) = removed("");
    assert!(end_ns > 40 * MS);
    assert_eq!([removed("core-1"), removed("its cable")], [(end_ns, 1), (end_ns, 0)]);
}

#[test]
fn a_removal_that_waits_is_not_cut_short_by_what_returns() {
    let waits = |returns: bool| {
        let Removal { mut bench, spines: [_, spine], .. } = removal();
        let transport = bench.transport.clone();
        let lost = drive(&transport, bench.driver.await_loss(20 * MS), vec![kill(MS / 10, spine)]);
        assert_eq!(lost.expect("the rest can be routed").expect("a trap was sent").outcome, Outcome::Completed);
        let begin_ns = transport.with(|sim| sim.now_ns());
        let actions = if returns { vec![revive(begin_ns + 25 * MS, spine)] } else { Vec::new() };
        let after = Arc::new(bench.driver.running().alive.without_nodes(&[bench.root]));
        let report = drive(&transport, bench.driver.change_to(after), actions).expect("it can be prepared");
        assert_eq!((&report.outcome, report.restarts), (&Outcome::Completed, 0), "{:?}", names(&report));
        assert!(!bench.driver.running().routed.node(bench.root).present);
        report.phases.last().expect("some").end_ns - begin_ns
    };
    let [undisturbed, disturbed] = [false, true].map(waits);
    assert!(undisturbed > 40 * MS && disturbed == undisturbed, "it waits on: {undisturbed}, {disturbed}");
}
