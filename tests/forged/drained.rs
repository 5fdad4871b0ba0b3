//! Plans whose drain omits one step of the retiring packets, every fourth step in turn, and each in the long form:
//! neither the prover nor a checker takes them, whoever observes the drain.

use super::{Files, Script, layered};
use crate::support::brought_up::bring_up;
use crate::support::bundled::bundled;
use crate::support::is_thorough;
use crate::support::removal::{Removal, removal};
use reconfig::change::prepare;
use reconfig::ids::VlSet;
use reconfig::plan::{DrainGraph, DrainLayer, Plan, Scheme};
use reconfig::verify::prove;

/// What prover and checker say of a step that the drain omits.
const OMITTED: &str = "does not say so";

/// The script's words for it.
const UNKNOWN_WAY: &str = "does not know the way";

fn double(name: &str) -> Plan {
    let subnet = bring_up(&bundled(name), 1, false);
    let prepared = prepare(removal(&subnet, Scheme::Double, Removal::Planned)).expect("a plan of scheme double");
    prepared.plan.plan().clone()
}

/// The plan with other layers to drain.
fn with_layers(plan: &Plan, change: impl FnOnce(&mut Vec<DrainLayer>)) -> Plan {
    let mut draft = plan.draft().clone();
    change(&mut draft.drain);
    Plan::seal(draft)
}

/// The plan once for each arc of its drain, without that arc. The channels at its ends are waited for all the same.
fn without_an_arc(plan: &Plan) -> Vec<Plan> {
    let mut mutants = Vec::new();
    for (at, layer) in plan.drain().iter().enumerate() {
        let channels: Vec<_> = layer.graph.channels().iter().map(|channel| channel.channel).collect();
        for (&switch, masks) in layer.graph.arcs() {
            for (input, output) in masks.iter().enumerate().flat_map(|(at, mask)| mask.iter().map(move |num| (at, num)))
            {
                let mut arcs = layer.graph.arcs().clone();
                arcs.get_mut(&switch).expect("a switch")[input].remove(output);
                let graph = DrainGraph::new(&plan.draft().surviving, arcs, &channels).expect("fewer arcs, no cycle");
                mutants.push(with_layers(plan, |layers| layers[at].graph = graph));
            }
        }
    }
    mutants
}

#[test]
fn a_drain_without_one_of_its_arcs_is_refused() {
    let mut script = Script::start();
    let mut judged = 0;
    for plan in [double("ring-8"), double("fat-tree-4-2"), double("ghost-cycle"), layered("torus-4x4")] {
        let sound = Files::of(plan.clone());
        let mutants = without_an_arc(&plan);
        assert!(mutants.len() > 10, "{} arcs", mutants.len());
        for (at, mutant) in mutants.into_iter().enumerate().step_by(if is_thorough() { 1 } else { 20 }) {
            let forged = sound.with_plan(mutant.to_json());
            let refusal = prove(mutant).map(|_| ()).expect_err("an arc is missing").1.to_string();
            assert!(refusal.contains(OMITTED), "{refusal}");
            let fault = forged.checked().expect_err("an arc is missing");
            assert!(fault.contains(OMITTED), "{fault}");
            // The script takes a tenth of a second for each.
            if let Some(script) = script.as_mut().filter(|_| at % if is_thorough() { 20 } else { 60 } == 0) {
                let fault = script.judge(&forged).expect_err("an arc is missing");
                assert!(fault.contains(UNKNOWN_WAY), "{fault}");
            }
            judged += 1;
        }
    }
    println!("{judged} drains without one of their arcs refused by prover and checker");
}

#[test]
fn a_drain_without_one_of_its_lanes_is_refused() {
    for plan in [double("fat-tree-4-2"), layered("torus-4x4")] {
        let sound = Files::of(plan.clone());
        for at in 0..plan.drain().len() {
            // Of the lanes of a layer the last ones may be those that no packet uses.
            let first = plan.drain()[at].lanes.iter().next().expect("a layer has lanes");
            let mutant =
                with_layers(&plan, |layers| layers[at].lanes = layers[at].lanes.minus(VlSet::from_iter([first])));
            let forged = sound.with_plan(mutant.to_json());
            assert!(forged.checked().expect_err("a lane is missing").contains(OMITTED));
            let refusal = prove(mutant).map(|_| ()).expect_err("a lane is missing").1.to_string();
            assert!(refusal.contains(OMITTED), "{refusal}");
        }
    }
}
