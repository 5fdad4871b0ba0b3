//! What comes to a fabric, and what goes and comes in a row: plans, and the driver on a simulated subnet.

use crate::driver::bench::{
    Bench, MS, PHASES, TimedAction, at_rest, drive, kill, names, revive, tables_match, timing, tree,
};
use crate::support::bundled::bundled;
use crate::support::is_thorough;
use reconfig::change::{ChangeError, ChangeInput, engine_listed, prepare, prepare_baseline, prepare_cheapest};
use reconfig::check::lint;
use reconfig::driver::{ChangeRecord, DriverError};
use reconfig::fabric::generate::{BUNDLED, Options, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lmc, PortNum};
use reconfig::lid;
use reconfig::machine::{CallOff, Outcome};
use reconfig::plan::{Draft, Lanes, Observer, Phase, Plan, Policy, Scheme};
use reconfig::routing::{Connectivity, Demand, Engine, FatTree, Parameters, UpDown};
use reconfig::scenario::Unwatched;
use reconfig::scenario::{self, Element, Ending, Scenario};
use reconfig::sim::PacketCounts;
use reconfig::subnet::SubnetManager;
use reconfig::tables::{Lft, NodeSlToVl, Write};
use reconfig::verify::{Refusal, prove};
use std::collections::BTreeMap;
use std::sync::Arc;

const ENGINE: UpDown = UpDown { root: None };
const VLS: u8 = 4;

/// A switch comes to what is joined without it: the change, or none where nothing is left to come to.
fn arrival(whole: &Fabric, switch: NodeId, scheme: Scheme) -> Option<ChangeInput<'static>> {
    let rest = whole.without_nodes(&[switch]);
    let links = Connectivity::of(&rest);
    let first = rest.end_ports().next()?;
    let apart = |id: &NodeId| !rest.ports_of(*id).any(|port| links.joins(port, first));
    let before = rest.without_nodes(&rest.nodes().map(|(id, _)| id).filter(apart).collect::<Vec<_>>());
    let function = ENGINE.route(&before, &Demand::all(&before, 1)).ok()?;
    let tables = lid::bring_up(whole, &function, VLS);
    let surviving = Arc::new(whole.clone());
    Some(ChangeInput {
        before: Arc::new(before),
        after: surviving.clone(),
        surviving,
        tables,
        layers: 1,
        ways: None,
        old: Half::Lower,
        both_halves: false,
        engine: &ENGINE,
        scheme,
        policy: Policy::default(),
        sm: first,
        base: None,
    })
}

fn numbered(fabric: &Fabric, optimised: bool) -> Fabric {
    lid::assign(&fabric.with_capabilities(VLS, optimised), Lmc::masked(1)).expect("LIDs enough")
}

fn a_spine_comes(scheme: Scheme) -> ChangeInput<'static> {
    let whole = numbered(&bundled("fat-tree-4-2"), true);
    let spine = node(&whole, "spine-2");
    arrival(&whole, spine, scheme).expect("three spines are left")
}

fn a_leaf_comes(scheme: Scheme) -> ChangeInput<'static> {
    let whole = numbered(&bundled("fat-tree-4-2"), false);
    let leaf = node(&whole, "leaf-3");
    arrival(&whole, leaf, scheme).expect("three leaves are left")
}

fn node(fabric: &Fabric, name: &str) -> NodeId {
    let mut nodes = fabric.nodes().filter(|(_, node)| node.description == name);
    nodes.next().unwrap_or_else(|| panic!("no node {name}")).0
}

#[test]
fn every_switch_of_every_bundled_fabric_can_come() {
    for fabric in BUNDLED {
        let whole = numbered(&bundled(fabric.name), true);
        for switch in whole.switches() {
            let Some(input) = arrival(&whole, switch, Scheme::Double) else { continue };
            let what = format!("{} comes to {}", whole.describe_node(switch), fabric.name);
            let prepared = prepare(input).unwrap_or_else(|error| panic!("{what}: {error}"));
            let plan = prepared.plan.plan();
            assert_eq!(lint(plan), [], "{what}");
            assert_eq!(prepared.stranded, [], "{what}");
            let last = plan.tables_at(plan.waves().len());
            assert!(whole.end_ports().all(|port| last.sending[port.index()] == Half::Upper), "{what}");
        }
    }
}

#[test]
fn plans_of_every_scheme_pass_the_lint_and_survive_their_file() {
    for scheme in [Scheme::Double, Scheme::Static, Scheme::InPlace] {
        for input in [a_spine_comes(scheme), a_leaf_comes(scheme)] {
            let prepared = prepare_baseline(input).unwrap_or_else(|error| panic!("{scheme}: {error}"));
            let plan = prepared.plan.plan();
            assert_eq!(lint(plan), [], "{scheme}");
            let back = Plan::from_json(&plan.to_json()).expect("it was just written");
            assert!(back == *plan, "{scheme}: the file tells another plan");
            assert_ne!(plan.draft().routed, plan.draft().before, "{scheme}");
        }
    }
}

#[test]
fn nobody_passes_a_switch_that_has_come_on_the_old_half() {
    let input = a_leaf_comes(Scheme::Double);
    let leaf = node(&input.surviving, "leaf-3");
    let plan = prepare(input).expect("provable").plan;
    let (plan, last) = (plan.plan(), plan.plan().tables_at(plan.plan().waves().len()));
    let fabric = &plan.draft().before;
    for port in fabric.end_ports() {
        let mut lower = fabric.half_lids(port, Half::Lower);
        assert!(lower.all(|lid| last.lfts[leaf.index()].get(lid).is_none()), "{}", fabric.describe_port(port));
        let mut upper = fabric.half_lids(port, Half::Upper);
        assert!(upper.all(|lid| last.lfts[leaf.index()].get(lid).is_some()), "{}", fabric.describe_port(port));
    }
    let first = &plan.waves()[0];
    let activated = first.writes.iter().filter(|write| matches!(write, Write::PortState { .. })).count();
    assert_eq!((first.phase, activated), (Phase::Split, 16), "both ends of four cables up and four down");
}

/// Tables that a device may have kept from an earlier life are overwritten whole.
#[test]
fn a_switch_that_comes_with_old_tables_is_written_whole() {
    let mut input = a_spine_comes(Scheme::Double);
    let spine = node(&input.surviving, "spine-2");
    let blank = prepare(input.clone()).expect("provable").plan;
    let other = input.surviving.switches().find(|&id| id != spine).expect("seven others");
    input.tables.lfts[spine.index()] = input.tables.lfts[other.index()].clone();
    let stale = prepare(input).expect("provable").plan;
    assert!(blank.plan() == stale.plan());
    let blocks = |plan: &Plan| {
        let writes = plan.waves().iter().flat_map(|wave| &wave.writes);
        writes.filter(|write| matches!(write, Write::LftBlock { switch, .. } if *switch == spine)).count()
    };
    let whole = blank.plan().tables_at(5).lfts[spine.index()].blocks();
    assert_eq!(blocks(blank.plan()), usize::from(whole));
}

/// What is believed of a table between a cable that has come and another is not relied on.
#[test]
fn sl_to_vl_tables_at_cables_that_have_come_are_always_written() {
    let mut input = a_leaf_comes(Scheme::Double);
    let spine = node(&input.surviving, "spine-1");
    let table = Lanes::of_count(VLS).separate(Half::Lower);
    input.tables.sl_to_vl[spine.index()] = Arc::new(NodeSlToVl::Uniform(table));
    let plan = prepare(input).expect("provable").plan;
    let of_spine = |write: &&Write| matches!(write, Write::SlToVl { node, .. } if *node == spine);
    // One of four cables has come: from it to all four, and from port 0 and the other three to it.
    assert_eq!(plan.plan().waves()[0].writes.iter().filter(of_spine).count(), 4 + 4);
}

type Fault = (&'static str, fn(&mut Draft), fn(&Refusal) -> bool);

/// Plans that forget something about what has come, and what the prover says of them.
const FAULTS: &[Fault] = &[
    (
        "a newcomer's tables are not installed",
        |draft| {
            let leaf = node(&draft.before, "leaf-3");
            let kept = |write: &Write| !matches!(write, Write::LftBlock { switch, .. } if *switch == leaf);
            draft.waves.iter_mut().for_each(|wave| wave.writes.retain(kept));
        },
        |refusal| matches!(refusal, Refusal::BlackHole(hole) if hole.wave == "swap" && hole.switch.name == "leaf-3"),
    ),
    (
        "nobody is told the way to a newcomer's hosts",
        |draft| {
            let leaf = node(&draft.before, "leaf-3");
            let kept = |write: &Write| !matches!(write, Write::LftBlock { switch, .. } if *switch != leaf);
            draft.waves.iter_mut().for_each(|wave| wave.writes.retain(kept));
        },
        |refusal| matches!(refusal, Refusal::BlackHole(hole) if hole.wave == "swap" && hole.switch.name != "leaf-3"),
    ),
    (
        "the old routing is said to serve the newcomer",
        |draft| draft.routed = draft.before.clone(),
        |refusal| matches!(refusal, Refusal::BlackHole(hole) if hole.wave == "steady"),
    ),
];

#[test]
fn a_plan_that_forgets_a_newcomer_is_refused() {
    let sound = prepare(a_leaf_comes(Scheme::Double)).expect("provable").plan;
    prove(sound.plan().clone()).map_err(|(_, refusal)| refusal).expect("it was proved before");
    for (fault, break_it, seen) in FAULTS {
        let mut draft = sound.plan().draft().clone();
        break_it(&mut draft);
        let Err((_, refusal)) = prove(Plan::seal(draft)) else { panic!("{fault}: proved") };
        assert!(seen(&refusal), "{fault}: {refusal}");
    }
}

#[test]
fn loss_and_growth_at_once_are_two_changes() {
    let mut input = a_spine_comes(Scheme::Double);
    let other = node(&input.before, "spine-4");
    input.surviving = Arc::new(input.surviving.without_nodes(&[other]));
    input.after = input.surviving.clone();
    let error = prepare(input).expect_err("it cannot be one");
    assert!(matches!(error, ChangeError::LostAndGained { .. }), "{error}");
    assert!(error.to_string().contains("spine-4") && error.to_string().contains("spine-2"), "{error}");
}

/// Pairs of end ports by channel between switches, each by the first LID of its destination.
fn pairs(fabric: &Fabric, lfts: &[Arc<Lft>]) -> BTreeMap<(NodeId, NodeId), usize> {
    let mut pairs = BTreeMap::new();
    for (from, to) in fabric.end_ports().flat_map(|from| fabric.end_ports().map(move |to| (from, to))) {
        let lid = fabric.port(to).lid.expect("assigned");
        let mut at = fabric.neighbour(from).expect("it is cabled");
        while let Some(next) = lfts[at.index()].get(lid).and_then(|num| fabric.neighbour(fabric.port_at(at, num)?)) {
            if !fabric.node(next).is_switch() {
                break;
            }
            *pairs.entry((at, next)).or_insert(0) += 1;
            at = next;
        }
    }
    pairs
}

/// The most of them on one channel.
fn most_pairs(fabric: &Fabric, lfts: &[Arc<Lft>]) -> usize {
    pairs(fabric, lfts).into_values().max().unwrap_or(0)
}

/// Three of four spines go and come back one by one: each carries its share again.
#[test]
fn what_comes_between_switches_carries_traffic() {
    let whole = numbered(&bundled("fat-tree-4-2"), true);
    let [first, second, third] = ["spine-1", "spine-2", "spine-3"].map(|name| node(&whole, name));
    let mut before = whole.without_nodes(&[first, second, third]);
    let function = FatTree.route(&before, &Demand::all(&before, 1)).expect("a tree");
    let mut tables = lid::bring_up(&whole, &function, VLS);
    assert_eq!(most_pairs(&before, &tables.lfts), 48);
    for (gone, share) in [(vec![first, second], 24), (vec![first], 16), (vec![], 12)] {
        let surviving = Arc::new(whole.without_nodes(&gone));
        let prepared = prepare(ChangeInput {
            before: Arc::new(before),
            after: surviving.clone(),
            surviving: surviving.clone(),
            tables,
            engine: &FatTree,
            ..a_spine_comes(Scheme::Ordered)
        });
        let plan = prepared.unwrap_or_else(|error| panic!("{error}")).plan;
        tables = plan.plan().tables_at(plan.plan().waves().len()).clone();
        assert_eq!(most_pairs(&surviving, &tables.lfts), share, "without {gone:?}");
        before = whole.without_nodes(&gone);
    }
}

/// The forwarding tables after a fabric, routed as a tree, has been each of the others in turn, under an engine list as
/// a manager has by default.
fn led_through(whole: &Fabric, turns: impl IntoIterator<Item = Fabric>) -> Vec<Arc<Lft>> {
    let function = FatTree.route(whole, &Demand::all(whole, 1)).expect("a tree");
    let mut tables = lid::bring_up(whole, &function, VLS);
    let names = ["fat-tree", "up-down-robust"].map(str::to_string);
    let engine = engine_listed(&names, &Parameters::default()).expect("both are in the list");
    let mut before = Arc::new(whole.clone());
    for next in turns {
        let next = Arc::new(next);
        let input = ChangeInput {
            before,
            after: next.clone(),
            surviving: next.clone(),
            tables,
            engine: &*engine,
            both_halves: true,
            sm: whole.end_ports().next().expect("hosts"),
            ..a_spine_comes(Scheme::Ordered)
        };
        let plan = prepare_cheapest(input, 0).unwrap_or_else(|error| panic!("{error}")).plan;
        tables = plan.plan().tables_at(plan.plan().waves().len()).clone();
        before = next;
    }
    tables.lfts
}

/// A spine goes, then a cable of another one; they come back in the same order. The cable comes back last, and the
/// entries that lead over it find their place one after the other.
#[test]
fn a_cable_that_comes_back_last_carries_its_share() {
    let whole = numbered(&bundled("fat-tree-4-2"), true);
    let spine = node(&whole, "spine-1");
    let cable = whole.port_at(node(&whole, "leaf-1"), PortNum(7)).expect("it is cabled to spine-3");
    let cut = whole.without_links(&[cable]);
    assert_eq!(most_pairs(&whole, &led_through(&whole, [])), 12);
    let turns = [whole.without_nodes(&[spine]), cut.without_nodes(&[spine]), cut, whole.clone()];
    assert_eq!(most_pairs(&whole, &led_through(&whole, turns)), 12);
}

/// Where leaves have fewer hosts than there are spines, the busiest channel is one that leads down, whatever comes
/// back.
#[test]
fn a_spine_that_comes_back_carries_its_share_where_the_busiest_channel_keeps_its_load() {
    for topology in ["leaf-spine:8,4,2", "leaf-spine:8,4,3", "leaf-spine:8,6,4", "leaf-spine:12,6,5"] {
        let whole = generate(&topology.parse().expect("a topology"), &Options::default()).expect("a fabric");
        let whole = numbered(&whole, true);
        let spine = node(&whole, "spine-1");
        let lfts = led_through(&whole, [whole.without_nodes(&[spine]), whole.clone()]);
        let spines = whole.nodes().filter(|(_, node)| node.description.starts_with("spine")).count();
        let pairs = pairs(&whole, &lfts);
        let is_at_it = |(from, to): &(NodeId, NodeId)| [*from, *to].contains(&spine);
        let own: usize = pairs.iter().filter(|(channel, _)| is_at_it(channel)).map(|(_, own)| own).sum();
        let share = pairs.values().sum::<usize>() / spines;
        assert!(2 * own >= share, "{topology}: {own} of {share} and more");
        let most = most_pairs(&whole, &led_through(&whole, []));
        assert_eq!(pairs.into_values().max(), Some(most), "{topology}");
    }
}

#[test]
fn what_comes_with_fewer_lanes_than_are_in_use_is_named() {
    let mut input = a_spine_comes(Scheme::Double);
    let whole = input.surviving.with_data_vls(2);
    input.surviving = Arc::new(whole.clone());
    input.after = Arc::new(whole);
    let error = prepare(input).expect_err("SL 2 and 3 have nowhere to go");
    assert!(matches!(error, ChangeError::NarrowNewcomer { data_vls: 2, in_use: 4, .. }), "{error}");
}

fn comes(fabric: &str, name: &str, scheme: Scheme) -> Scenario {
    let fabric = bundled(fabric);
    let element = Element::Newcomer(node(&fabric, name));
    let mut scenario = Scenario { scheme, ..Scenario::of_one(fabric, element) };
    (scenario.load, scenario.optimised_sl_to_vl) = (Some(0.1), Some(true));
    scenario
}

fn run(scenario: &Scenario) -> scenario::SimulationReport {
    scenario::run(scenario, Arc::new(ENGINE), &mut Unwatched).unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(fabric: &str, name: &str, scheme: Scheme) -> scenario::SimulationReport {
    run(&comes(fabric, name, scheme))
}

#[test]
fn switches_come_under_traffic_and_nothing_is_lost() {
    let cases =
        [("fat-tree-4-2", "spine-1"), ("fat-tree-4-2", "leaf-1"), ("ring-8", "switch-3"), ("mesh-4x4", "switch-1-1")];
    for (fabric, name) in cases {
        let report = simulate(fabric, name, Scheme::Double);
        assert_eq!(report.outcome, Ending::Completed, "{fabric}, {name}: {:?}", report.reason);
        let packets = report.packets;
        assert_eq!(packets.injected, packets.delivered, "{fabric}, {name}: {packets:?}");
        let phases: Vec<&str> = report.changes[0].phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(phases, PHASES, "{fabric}, {name}");
    }
}

#[test]
fn hosts_that_have_come_send_and_receive_in_every_scheme() {
    for scheme in [Scheme::Double, Scheme::Static, Scheme::InPlace] {
        let report = simulate("fat-tree-4-2", "leaf-1", scheme);
        assert_eq!(report.outcome, Ending::Completed, "{scheme}: {:?}", report.reason);
        // Twelve hosts know eleven others, then sixteen know fifteen; throughput is a share of what those that are
        // there can take, so it grows by 15/11, and by nothing if the newcomers are silent.
        let (before, after) = (report.throughput.before, report.throughput.after);
        assert!(after > before * 1.25, "{scheme}: {before} → {after}");
        assert!(scheme == Scheme::Static || report.packets.lost_to_change == 0, "{scheme}: {:?}", report.packets);
    }
}

/// The next change that the subnet asks for, of the kind that `wait` waits for.
macro_rules! next_change {
    ($bench:expr, $wait:ident, $actions:expr) => {{
        let transport = $bench.transport.clone();
        let until_ns = transport.with(|sim| sim.now_ns()) + 60 * MS;
        let waited: Result<Option<ChangeRecord>, DriverError> =
            drive(&transport, $bench.driver.$wait(until_ns), $actions);
        waited.unwrap_or_else(|error| panic!("{error}")).expect("something happened")
    }};
}

fn now(bench: &Bench) -> u64 {
    bench.transport.with(|sim| sim.now_ns())
}

fn is_sound(bench: &Bench) -> PacketCounts {
    let (running, packets) = (bench.driver.running().clone(), at_rest(bench));
    tables_match(bench, &running.tables, &running.alive);
    let PacketCounts { injected, delivered, in_flight, stranded, lost_to_failure, lost_to_change } = packets;
    assert_eq!(lost_to_change, 0, "{packets:?}");
    assert_eq!(in_flight, 0, "{packets:?}");
    assert_eq!(injected, delivered + stranded + lost_to_failure, "{packets:?}");
    packets
}

#[test]
fn the_root_goes_and_comes_back_time_and_again() {
    let mut bench = tree(Scheme::Double);
    let root = bench.root;
    let mut half = Half::Lower;
    for round in 0..2 {
        let actions = vec![kill(now(&bench) + MS / 4, root)];
        let gone = next_change!(bench, await_loss, actions);
        assert_eq!(gone.outcome, Outcome::Completed, "round {round}");
        assert_ne!(gone.routed_by.root, Some(root), "round {round}");
        half = half.other();
        assert_eq!(bench.driver.running().half, half, "round {round}");
        let actions = vec![revive(now(&bench) + MS / 4, root)];
        let back = next_change!(bench, await_growth, actions);
        assert_eq!((back.outcome, back.routed_by.root), (Outcome::Completed, Some(root)), "round {round}");
        half = half.other();
        assert_eq!(bench.driver.running().half, half, "round {round}");
        assert_eq!(bench.driver.running().routed, bench.fabric, "round {round}");
    }
    let packets = is_sound(&bench);
    assert!(packets.lost_to_failure > 0 && packets.stranded == 0, "{packets:?}");
}

#[test]
fn a_leaf_with_its_hosts_goes_and_comes_back() {
    let mut bench = tree(Scheme::Double);
    let far = bench.fabric.end_ports().last().expect("sixteen hosts");
    let leaf = bench.fabric.neighbour(far).expect("it is cabled");
    let actions = vec![kill(MS / 4, leaf)];
    let gone = next_change!(bench, await_loss, actions);
    assert_eq!((gone.outcome, gone.stranded.len()), (Outcome::Completed, 4));
    let actions = vec![revive(now(&bench) + MS / 4, leaf)];
    let back = next_change!(bench, await_growth, actions);
    assert_eq!((back.outcome, back.stranded.len()), (Outcome::Completed, 0));
    // A change after that moves the hosts that came back like any others.
    let after = Arc::new(bench.fabric.without_nodes(&[bench.root]));
    let transport = bench.transport.clone();
    let next = drive(&transport, bench.driver.change_to(after), Vec::new()).expect("it can be prepared");
    assert_eq!(next.outcome, Outcome::Completed);
    let packets = is_sound(&bench);
    assert!(packets.stranded > 0, "what was sent to the dead leaf's hosts: {packets:?}");
}

#[test]
fn two_spines_go_one_after_the_other_and_come_back() {
    let mut bench = tree(Scheme::Double);
    let (root, other) = (bench.root, second(&bench));
    for node in [root, other] {
        let actions = vec![kill(now(&bench) + MS / 4, node)];
        assert_eq!(next_change!(bench, await_loss, actions).outcome, Outcome::Completed);
    }
    assert_eq!(bench.driver.running().half, Half::Lower);
    for node in [other, root] {
        let actions = vec![revive(now(&bench) + MS / 4, node)];
        assert_eq!(next_change!(bench, await_growth, actions).outcome, Outcome::Completed);
    }
    assert_eq!(bench.driver.running().routed, bench.fabric);
    is_sound(&bench);
}

/// A spine switch that is not the root.
fn second(bench: &Bench) -> NodeId {
    let fabric = &bench.fabric;
    let hosts = |id: NodeId| {
        let mut ends = fabric.ports_of(id).filter_map(|port| fabric.neighbour(port));
        ends.any(|end| !fabric.node(end).is_switch())
    };
    fabric.switches().find(|&id| id != bench.root && !hosts(id)).expect("four spines")
}

/// Times within the phases of the change that the root's death calls for: name, share of the phase, time.
fn moments(of: &ChangeRecord) -> Vec<(&'static str, u64)> {
    let at = |(start_ns, end_ns): (u64, u64), share: u64| start_ns + (end_ns - start_ns) * share / 100;
    let records = of.sweep.iter().chain(&of.phases);
    let all = records.flat_map(|r| [10, 55, 95].map(|share| (r.name, at((r.start_ns, r.end_ns), share))));
    // In the brief form early in the first phase, in the middle of the second, late in the third, and so on.
    all.enumerate().filter(|(which, _)| is_thorough() || which / 3 % 3 == which % 3).map(|(_, moment)| moment).collect()
}

/// The root dies at a quarter of a millisecond; `actions` say what else happens.
fn root_dies(bench: &mut Bench, actions: Vec<TimedAction>) -> ChangeRecord {
    let mut all = vec![kill(MS / 4, bench.root)];
    all.extend(actions);
    next_change!(bench, await_loss, all)
}

#[test]
fn a_second_death_at_any_time_is_routed_around() {
    let undisturbed = root_dies(&mut tree(Scheme::Double), Vec::new());
    for (phase, at_ns) in moments(&undisturbed) {
        let mut bench = tree(Scheme::Double);
        let dead = second(&bench);
        let report = root_dies(&mut bench, vec![kill(at_ns, dead)]);
        assert_eq!(report.outcome, Outcome::Completed, "{phase} at {at_ns} ns");
        if bench.driver.running().has_lost_something() {
            // The trap was still under way when the last phase ended.
            assert_eq!(phase, "restore", "{phase} at {at_ns} ns");
            assert_eq!(next_change!(bench, await_loss, Vec::new()).outcome, Outcome::Completed);
        }
        let called_off = names(&report).contains(&"call-off");
        assert_eq!(called_off, ["split", "install"].contains(&phase), "{phase} at {at_ns} ns: {:?}", names(&report));
        let alive = &bench.driver.running().alive;
        assert!(!alive.node(dead).present && !alive.node(bench.root).present, "{phase} at {at_ns} ns");
        is_sound(&bench);
    }
}

#[test]
fn an_arrival_disturbs_no_change_under_way_and_is_served_by_the_next() {
    let mut bench = tree(Scheme::Double);
    let other = second(&bench);
    let actions = vec![kill(MS / 4, other)];
    next_change!(bench, await_loss, actions);
    let start_ns = now(&bench);
    let after = Arc::new(bench.fabric.without_nodes(&[other, bench.root]));
    let transport = bench.transport.clone();
    let actions = vec![revive(start_ns + MS / 20, other)];
    let report = drive(&transport, bench.driver.change_to(after), actions).expect("it can be prepared");
    assert_eq!((report.outcome.clone(), report.restarts), (Outcome::Completed, 0));
    assert_eq!(names(&report), PHASES);
    transport.with(|sim| sim.kill(bench.root));
    assert!(bench.driver.running().has_grown());
    let served = next_change!(bench, await_growth, Vec::new());
    assert_eq!(served.outcome, Outcome::Completed);
    assert!(bench.driver.running().routed.node(other).present);
    is_sound(&bench);
}

/// A spine that is not the root dies, is routed around and comes back after five milliseconds; `actions` say what else
/// happens. What came of its return.
fn spine_returns(actions: impl FnOnce(&Bench) -> Vec<TimedAction>) -> (Bench, NodeId, ChangeRecord) {
    let mut bench = tree(Scheme::Double);
    let spine = second(&bench);
    let deaths = vec![kill(MS / 4, spine)];
    next_change!(bench, await_loss, deaths);
    let mut all = vec![revive(5 * MS, spine)];
    all.extend(actions(&bench));
    let report = next_change!(bench, await_growth, all);
    (bench, spine, report)
}

#[test]
fn a_newcomer_that_dies_while_it_is_brought_in_is_left_out_again() {
    let (_, spine, undisturbed) = spine_returns(|_| Vec::new());
    for (phase, at_ns) in moments(&undisturbed).into_iter().filter(|(phase, _)| *phase != "sweep") {
        let (mut bench, _, report) = spine_returns(|_| vec![kill(at_ns, spine)]);
        if ["split", "install"].contains(&phase) {
            assert_eq!(report.outcome, Outcome::CalledOff(CallOff::TopologyChanged), "{phase} at {at_ns} ns");
        } else {
            assert_eq!(report.outcome, Outcome::Completed, "{phase} at {at_ns} ns");
        }
        if bench.driver.running().has_lost_something() {
            assert_eq!(phase, "restore", "{phase} at {at_ns} ns");
            assert_eq!(next_change!(bench, await_loss, Vec::new()).outcome, Outcome::Completed);
        }
        assert!(!bench.driver.running().routed.node(spine).present, "{phase} at {at_ns} ns");
        is_sound(&bench);
    }
}

#[test]
fn a_death_while_a_newcomer_is_brought_in_is_answered_first() {
    let (_, _, undisturbed) = spine_returns(|_| Vec::new());
    for (phase, at_ns) in moments(&undisturbed) {
        let (mut bench, spine, report) = spine_returns(|bench| vec![kill(at_ns, bench.root)]);
        assert_eq!(report.outcome, Outcome::Completed, "{phase} at {at_ns} ns: {:?}", names(&report));
        if bench.driver.running().has_lost_something() {
            assert_eq!(phase, "restore", "{phase} at {at_ns} ns");
            assert_eq!(next_change!(bench, await_loss, Vec::new()).outcome, Outcome::Completed);
        }
        if !bench.driver.running().routed.node(spine).present {
            assert!(["sweep", "split", "install"].contains(&phase), "{phase} at {at_ns} ns");
            let served = next_change!(bench, await_growth, Vec::new());
            assert_eq!(served.outcome, Outcome::Completed, "{phase} at {at_ns} ns");
        }
        let running = bench.driver.running();
        assert!(!running.routed.node(bench.root).present, "{phase} at {at_ns} ns");
        assert!(running.routed.node(spine).present && !running.has_grown(), "{phase} at {at_ns} ns");
        is_sound(&bench);
    }
}

#[test]
fn every_observer_sees_growth_through() {
    for &observer in Observer::ALL {
        let mut scenario = comes("fat-tree-4-2", "leaf-1", Scheme::Double);
        scenario.policy.observer = observer;
        scenario.sim.switch_lifetime_ns = if observer == Observer::Lifetime { 4096 << 6 } else { 0 };
        let report = run(&scenario);
        assert_eq!(report.outcome, Ending::Completed, "{observer}: {:?}", report.reason);
        assert_eq!(report.packets.injected, report.packets.delivered, "{observer}: {:?}", report.packets);
    }
}

#[test]
fn one_seed_gives_one_course_of_growth() {
    let twice = || {
        let report = simulate("fat-tree-4-2", "leaf-2", Scheme::Double);
        (report.trace_hash, report.packets)
    };
    assert_eq!(twice(), twice());
}

#[test]
fn ports_are_in_initialize_until_the_split_has_started_them() {
    let bench = tree(Scheme::Double);
    let port: PortId = bench.fabric.ports_of(bench.root).nth(1).expect("spines have ports");
    bench.transport.with(|sim| sim.kill(bench.root));
    bench.transport.with(|sim| sim.revive(bench.root));
    let mut manager = reconfig::subnet::Manager::new(bench.transport.clone(), timing(), 0);
    let found = drive(&bench.transport, manager.discover(), Vec::new()).expect("the SM's port is there");
    let node = found.fabric.by_guid(bench.fabric.node(bench.root).guid).expect("it answers");
    let num = bench.fabric.port(port).num;
    let port = found.fabric.port_at(node, num).expect("it has that many ports");
    let peer = found.fabric.peer(port).expect("it is cabled");
    let initialize = reconfig::tables::PortState::Initialize;
    assert_eq!([port, peer].map(|port| found.port_states[port.index()]), [initialize; 2]);
}
