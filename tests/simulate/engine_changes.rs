//! Every engine under the Double Scheme: whatever the routing before and the routing after, however many virtual layers
//! and LIDs they need, nothing is lost to the change, and everybody who judges the plan says the same.

use super::small;
use crate::support::bundled::bundled;
use crate::support::is_thorough;
use crate::support::python::python;
use reconfig::change::{ChangeError, engine_named};
use reconfig::check::certificate;
use reconfig::plan::{Observer, Plan, Policy};
use reconfig::routing::{ENGINES, Parameters, RouteError};
use reconfig::scenario::Unwatched;
use reconfig::scenario::{self, Departure, Ending, Engines, Scenario, ScenarioError, SimulationReport};
use reconfig::tables::PathLayers;
use reconfig::verify::{Binding, prove, prove_certified};
use std::process::Command;
use std::sync::Arc;

pub(super) fn engines(before: &str, after: &str) -> Engines {
    let named = |name| Arc::from(engine_named(name, &Parameters { root: None, seed: 7 }).expect("an engine"));
    Engines { before: named(before), after: named(after) }
}

fn safe() -> impl Iterator<Item = &'static str> {
    ENGINES.iter().filter(|entry| entry.safe).map(|entry| entry.name)
}

/// The root leaves under a little traffic, for a short while; lanes for four layers in each set.
pub(super) fn layered(fabric: &str, departure: Departure) -> Scenario {
    let mut scenario = Scenario { departure, ..small(bundled(fabric)) };
    scenario.sim.data_vls = 8;
    scenario.sim.replies = 0.3;
    scenario
}

/// What a run comes to; none where an engine is not made for such a fabric.
fn run(scenario: &Scenario, engines: Engines) -> Option<SimulationReport> {
    match scenario::run(scenario, engines, &mut Unwatched) {
        Ok(report) => Some(report),
        Err(error) if is_unsuited(&error) => None,
        Err(error) => panic!("the run cannot begin: {error}"),
    }
}

fn is_unsuited(error: &ScenarioError) -> bool {
    use reconfig::change::BringUpError;
    let route = match error {
        ScenarioError::BringUp(BringUpError::Route(route)) => route,
        ScenarioError::Change(change) => match &**change {
            ChangeError::Route(route) => route,
            _ => return false,
        },
        _ => return false,
    };
    matches!(route, RouteError::Unsuited { .. })
}

pub(super) fn nothing_lost(what: &str, report: &SimulationReport) {
    assert_eq!((report.outcome, report.proof.status), (Ending::Completed, "proved"), "{what}: {:?}", report.reason);
    assert_eq!(report.packets.lost_to_change, 0, "{what}");
    assert!(report.packets.delivered > 1000, "{what}: {:?}", report.packets);
}

#[test]
fn every_safe_engine_loses_nothing_to_the_change() {
    for (at, engine) in safe().enumerate() {
        let mut runs = 0;
        for (which, fabric) in ["random-regular-16-4", "fat-tree-4-2", "torus-4x4"].into_iter().enumerate() {
            // In the brief form each engine and each fabric meets both, and each engine on a fabric one.
            let both = [Departure::Sudden, Departure::Planned];
            let met = if is_thorough() { &both[..] } else { &both[(at + which) % 2..][..1] };
            for &departure in met {
                if let Some(report) = run(&layered(fabric, departure), engines(engine, engine)) {
                    nothing_lost(&format!("{engine}, {fabric}, {departure:?}"), &report);
                    runs += 1;
                }
            }
        }
        let least = if is_thorough() { 2 } else { 1 };
        assert!(runs >= least, "{engine} was made for none of these fabrics");
    }
}

/// Lanes and LIDs are as many as the engines need, where nobody says how many.
#[test]
fn what_engines_need_is_provided() {
    let mut scenario = layered("torus-4x4", Departure::Planned);
    scenario.sim.data_vls = 2;
    let plan = scenario::plan(&scenario, engines("up-down-random", "dfsssp")).expect("a plan");
    assert!(plan.refusal().is_none() && plan.plan().lanes().a.len() >= 3, "{:?}", plan.plan().lanes());
    let fabric = &plan.plan().draft().before;
    let lmcs: Vec<u16> = fabric.end_ports().map(|port| fabric.port(port).lmc.lids()).collect();
    assert!(lmcs.iter().min() < lmcs.iter().max(), "each port has an LMC of its own: {lmcs:?}");
}

/// The same fabric, another engine: that is a change, too.
#[test]
fn a_fabric_may_stay_and_its_engine_change() {
    use reconfig::change::{CaptureSettings, Captures, draw};
    let fabric = bundled("torus-4x4");
    let engines = engines("up-down", "nue");
    let captures = |after: &Engines| {
        draw(&Captures {
            before: &fabric,
            after: &fabric,
            departure: Departure::Planned,
            settings: CaptureSettings {
                data_vls: 4,
                optimised_sl_to_vl: None,
                lmc: reconfig::ids::Lmc::masked(1),
                reserved_sl: None,
            },
            vls_fixed: false,
            lmc_fixed: false,
            sm: None,
            engine: &*after.before,
            engine_after: &*after.after,
            scheme: reconfig::plan::Scheme::Double,
            auto: false,
            policy: Policy::default(),
            settle_ns: None,
        })
    };
    let drawn = captures(&engines).expect("a plan").expect("a change");
    assert!(drawn.prepared.plan.refusal().is_none());
    let same = Engines { after: engines.before.clone(), ..engines };
    assert!(captures(&same).expect("no error").is_none(), "the same engine: nothing to change");
}

#[test]
fn a_change_may_lead_from_any_engine_to_any_other() {
    let step = if is_thorough() { 1 } else { 5 };
    for (at, before) in safe().enumerate() {
        for after in safe().skip(at % step).step_by(step).filter(|&after| after != before) {
            let report = run(&layered("fat-tree-4-2", Departure::Planned), engines(before, after));
            let what = format!("{before} to {after}");
            let report = report.unwrap_or_else(|| panic!("{what}: every engine routes a fat tree"));
            nothing_lost(&what, &report);
            assert_eq!((report.engine.as_str(), report.engine_after.as_deref()), (before, Some(after)));
        }
    }
}

/// The layers of one function wait for each other in circles: each is drained by itself, whoever observes it.
#[test]
fn layers_are_drained_one_by_one_whoever_observes_it() {
    for observer in [Observer::Token, Observer::Poll, Observer::Lifetime, Observer::Conservation] {
        let mut scenario = layered("ring-8", Departure::Planned);
        scenario.policy = Policy { observer, ..scenario.policy };
        // Conservation cannot count what cut-off ports sent; a cable that leaves cuts nobody off.
        let cable = scenario.fabric().links().map(|(end, _)| end).find(|&end| {
            let ends = [end, scenario.fabric().peer(end).expect("a cable")];
            ends.iter().all(|&end| scenario.fabric().node(scenario.fabric().port(end).node).is_switch())
        });
        scenario.change = scenario::Element::Link(cable.expect("a ring has cables")).into();
        scenario.sim.switch_lifetime_ns = if observer == Observer::Lifetime { 4_096 << 4 } else { 0 };
        let plan = scenario::plan(&scenario, engines("dfsssp", "lash")).expect("a plan");
        assert!(plan.plan().drain().len() > 1, "a ring needs two layers");
        let report = run(&scenario, engines("dfsssp", "lash")).expect("both route a ring");
        nothing_lost(&observer.to_string(), &report);
    }
}

fn plan(engine: &str) -> Plan {
    let vetted = scenario::plan(&layered("ring-8", Departure::Sudden), engines(engine, engine)).expect("a plan");
    assert!(vetted.refusal().is_none());
    vetted.plan().clone()
}

fn certified(plan: Plan) -> (String, String) {
    let text = plan.to_json();
    let (proved, certificate) = prove_certified(plan).map_err(|(_, refusal)| refusal).expect("a proved plan");
    let binding = proved.get().binding(Binding::digest(text.as_bytes()));
    (text, certificate.expect("it has waves").to_text(&binding))
}

#[test]
fn the_checker_and_the_script_agree_with_the_prover() {
    for engine in ["dfsssp", "up-down-random"] {
        let original = plan(engine);
        let (text, certificate) = certified(original.clone());
        let plan = Plan::from_json(&text).expect("what was written can be read");
        assert_eq!(plan, original, "{engine}: a plan's file keeps its layers");
        let checked = certificate::check(&plan, text.as_bytes(), certificate.as_bytes());
        checked.unwrap_or_else(|fault| panic!("{engine}: {fault}"));
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path
        };
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/check_certificate.py");
        let mut command = Command::new(python().expect("python3"));
        command.arg(script).args([write("plan", &text), write("certificate", &certificate)]);
        let said = command.output().expect("python3");
        assert!(said.status.success(), "{engine}: {}", String::from_utf8_lossy(&said.stderr));
    }
}

/// All layers made one: a routing that nobody may use.
fn flattened(ways: &Arc<PathLayers>, fabric: &reconfig::fabric::Fabric) -> Arc<PathLayers> {
    let groups: Vec<_> = ways.groups().map(|(sources, layers)| (sources, layers.to_vec())).collect();
    let sources: Vec<_> = groups.iter().map(|(sources, _)| sources.clone()).collect();
    let mut flat = PathLayers::by_groups(fabric, &sources, &ways.destinations(), ways.paths());
    for (group, (_, layers)) in groups.iter().enumerate() {
        for (slot, _) in layers.iter().enumerate().filter(|&(_, &layer)| layer != u8::MAX) {
            flat.open(group, slot / ways.paths(), slot % ways.paths(), 0);
        }
    }
    Arc::new(flat)
}

#[test]
fn sources_on_other_layers_or_paths_than_were_proved_are_refused() {
    let original = plan("dfsssp");
    let (_, certificate) = certified(original.clone());
    let mut draft = original.draft().clone();
    draft.old_ways = draft.old_ways.map(|ways| flattened(&ways, &original.draft().before));
    let flat = Plan::seal(draft);
    let (_, refusal) = prove(flat.clone()).expect_err("a ring on one layer deadlocks");
    assert!(refusal.to_string().contains("cycle"), "{refusal}");
    let text = flat.to_json();
    let lines: Vec<&str> = certificate.lines().collect();
    let mut header: serde_json::Value = serde_json::from_str(lines[1]).expect("a header");
    header["plan"] = Binding::digest(text.as_bytes()).into();
    let body = [&[lines[0], &header.to_string()], &lines[2..lines.len() - 1]].concat().join("\n") + "\n";
    let forged = format!("{body}sha256 {}\n", Binding::digest(body.as_bytes()));
    certificate::check(&flat, text.as_bytes(), forged.as_bytes()).expect_err("it was made for other sources");

    // Unwatched by any path: what is not sent cannot be proved.
    let mut draft = original.draft().clone();
    let ways = draft.old_ways.take().expect("a ring has layers");
    let groups: Vec<_> = ways.groups().map(|(sources, _)| sources).collect();
    draft.old_ways = Some(Arc::new(PathLayers::by_groups(&draft.before, &groups, &ways.destinations(), 1)));
    let (_, refusal) = prove(Plan::seal(draft)).expect_err("sources without a path");
    assert!(refusal.to_string().contains("has no path to"), "{refusal}");

    // Everybody by every path: renamed paths do not lead there from everywhere.
    let original = plan("up-down-random");
    let mut draft = original.draft().clone();
    (draft.old_ways, draft.new_ways) = (None, None);
    prove(Plan::seal(draft)).expect_err("not every source has a route by each LID");
}

#[test]
fn an_unsafe_engine_is_refused_with_its_cycle() {
    let error = scenario::plan(&layered("torus-4x4", Departure::Sudden), engines("min-hop", "min-hop"));
    let error = error.expect_err("shortest paths on a torus deadlock").to_string();
    assert!(error.contains("the routing in force cannot be proved") && error.contains("cycle"), "{error}");
}

/// What an engine needs and the subnet lacks is said beforehand, with the number that would do.
#[test]
fn too_few_lanes_or_lids_are_errors_that_say_what_would_do() {
    let mut scenario = layered("torus-4x4", Departure::Sudden);
    (scenario.sim.data_vls, scenario.vls_fixed) = (2, true);
    let error = scenario::plan(&scenario, engines("dfsssp", "dfsssp")).expect_err("one lane in each set");
    assert!(error.to_string().contains("virtual layers are needed, but only 1"), "{error}");
    let scenario = Scenario { lmc_fixed: true, ..layered("random-regular-16-4", Departure::Sudden) };
    let error = scenario::plan(&scenario, engines("up-down-random", "up-down-random")).expect_err("one LID each");
    let error = error.to_string();
    assert!(error.contains("has 1 LIDs in each half") && error.contains("assign LIDs with LMC"), "{error}");
}
