//! Plans during which hosts may send on either half of their LIDs, and plans that say nothing of the half that is
//! spare.

use super::{Files, Script};
use crate::support::brought_up::{ENGINE, Subnet, VLS, bring_up};
use crate::support::bundled::bundled;
use crate::support::removal::{Removal, removal};
use reconfig::change::{ChangeInput, prepare};
use reconfig::fabric::Fabric;
use reconfig::ids::{Half, Lid};
use reconfig::lid;
use reconfig::plan::{Draft, MovedBy, Observer, Plan, Policy, Scheme};
use reconfig::routing::{Demand, Engine};
use reconfig::tables::{LFT_BLOCK, Write};
use reconfig::verify::prove;
use serde_json::Value;
use std::sync::Arc;

const UNNAMED: &str = "spare-half-unused";

fn subnet(name: &str, lmc: u8) -> Subnet {
    bring_up(&bundled(name), lmc, false)
}

/// The removal of the root by entries alone.
fn ordered(subnet: &Subnet, gone: Removal, both_halves: bool) -> Plan {
    let input = ChangeInput { both_halves, ..removal(subnet, Scheme::Ordered, gone) };
    prepare(input).unwrap_or_else(|error| panic!("{error}")).plan.plan().clone()
}

/// A leaf and its hosts come.
fn arrival(name: &str) -> Plan {
    let subnet = subnet(name, 1);
    let whole = Arc::new(subnet.fabric.clone());
    let home = whole.neighbour(whole.end_ports().last().expect("hosts")).expect("a leaf");
    let away: Vec<_> = whole.ports_of(home).filter_map(|port| whole.neighbour(port)).collect();
    let hosts = away.into_iter().filter(|&node| !whole.node(node).is_switch()).chain([home]);
    let before = Arc::new(whole.without_nodes(&hosts.collect::<Vec<_>>()));
    let function = ENGINE.route(&before, &Demand::all(&before, 1)).expect("it is connected");
    let input = removal(&subnet, Scheme::Ordered, Removal::Planned);
    let tables = lid::bring_up(&whole, &function, VLS);
    let (surviving, after) = (whole.clone(), whole);
    let input = ChangeInput { before, surviving, after, tables, both_halves: true, ..input };
    prepare(input).unwrap_or_else(|error| panic!("{error}")).plan.plan().clone()
}

/// The plan with every entry of some LIDs as it was, whatever its waves write.
fn unmoved(draft: &Draft, of: impl Fn(Lid) -> bool) -> Draft {
    let mut draft = draft.clone();
    let initial = draft.initial.lfts.clone();
    for write in draft.waves.iter_mut().flat_map(|wave| &mut wave.writes) {
        if let Write::LftBlock { switch, block, entries } = write {
            let held = initial[switch.index()].block(*block);
            for (at, entry) in entries.iter_mut().enumerate() {
                if of(Lid(*block * LFT_BLOCK as u16 + at as u16)) {
                    *entry = held[at];
                }
            }
        }
    }
    draft
}

/// What checker and script say, where there is a script.
fn refused(files: &Files, script: &mut Option<Script>) -> Vec<String> {
    let verdicts = [Some(files.checked()), script.as_mut().map(|script| script.judge(files))];
    verdicts.into_iter().flatten().map(|verdict| verdict.expect_err("it is refused")).collect()
}

#[test]
fn both_checkers_read_a_plan_on_both_halves_alike() {
    let mut script = Script::start();
    let leaves = ordered(&subnet("fat-tree-4-2", 2), Removal::Planned, true);
    let dies = ordered(&subnet("mesh-4x4", 1), Removal::Sudden, true);
    for plan in [leaves, dies, arrival("fat-tree-4-2")] {
        assert!(plan.draft().both_halves && plan.draft().assumptions.iter().all(|held| held.name() != UNNAMED));
        let sound = Files::of(plan);
        let said = sound.checked().unwrap_or_else(|said| panic!("{said}"));
        if let Some(script) = &mut script {
            assert_eq!(script.judge(&sound), Ok(said));
        }
    }
}

/// The certificate is true of the waves. What the forger keeps quiet is that something leaves after them.
#[test]
fn a_plan_that_moves_one_half_away_from_what_leaves_is_refused() {
    let mut script = Script::start();
    let plan = ordered(&subnet("fat-tree-4-2", 1), Removal::Planned, true);
    let fabric = plan.draft().before.clone();
    for half in [Half::Lower, Half::Upper] {
        let forged = unmoved(plan.draft(), |lid| fabric.half_of(lid) == Some(half));
        let stays = Draft { after: forged.surviving.clone(), ..forged.clone() };
        let forged = Plan::seal(forged);
        let files = Files::of(Plan::seal(stays)).with_plan(forged.to_json());
        let refusal = prove(forged).map(|_| ()).expect_err("it leads into what leaves").1.to_string();
        assert!(refusal.contains("leave"), "{refusal}");
        for said in refused(&files, &mut script) {
            assert!(said.contains("afterwards") || said.contains("after the change"), "{half}: {said}");
        }
    }
}

#[test]
fn whoever_comes_is_led_to_on_both_halves() {
    let mut script = Script::start();
    let plan = arrival("fat-tree-4-2");
    let draft = plan.draft();
    let (fabric, known) = (draft.before.clone(), draft.routed.clone());
    let come = |lid| fabric.lid_owner(lid).is_some_and(|port| known.peer(port).is_none());
    for half in [Half::Lower, Half::Upper] {
        let forged = unmoved(draft, |lid| come(lid) && fabric.half_of(lid) == Some(half));
        let files = Files::of(plan.clone()).with_plan(Plan::seal(forged.clone()).to_json());
        let refusal = prove(Plan::seal(forged)).map(|_| ()).expect_err("nobody knows the way").1.to_string();
        assert!(refusal.contains("no route"), "{refusal}");
        refused(&files, &mut script);
    }
}

#[test]
fn no_half_retires_while_hosts_may_send_on_both() {
    let mut script = Script::start();
    let subnet = subnet("fat-tree-4-2", 1);
    let sound = prepare(removal(&subnet, Scheme::Double, Removal::Planned)).expect("a plan").plan.plan().clone();
    let forged = Plan::seal(Draft { both_halves: true, ..sound.draft().clone() });
    let files = Files::of(sound).with_plan(forged.to_json());
    let refusal = prove(forged).map(|_| ()).expect_err("a half is drained").1.to_string();
    assert!(refusal.contains("sources may send on either throughout"), "{refusal}");
    for said in refused(&files, &mut script) {
        assert!(said.contains("are said to be empty"), "{said}");
    }
}

/// All ports stop and start again, and the certificate has nobody start on the upper half.
#[test]
fn hosts_on_both_halves_go_on_on_both_after_a_stop() {
    let mut script = Script::start();
    let subnet = subnet("fat-tree-4-2", 1);
    let baseline = prepare(removal(&subnet, Scheme::Static, Removal::Planned)).expect("a plan").plan.plan().clone();
    let sound = Files::of(Plan::seal(Draft { both_halves: true, ..baseline.draft().clone() }));
    assert!(sound.checked().is_ok());
    let forged = sound.with_evidence(&without_last_rows(&sound, &baseline, Half::Upper));
    for said in refused(&forged, &mut script) {
        assert!(said.contains("LID"), "{said}");
    }
}

/// The evidence, whose rows for the LIDs of a half say at the last moment that nobody sends there.
fn without_last_rows(files: &Files, plan: &Plan, half: Half) -> Vec<u8> {
    let fabric: &Fabric = &plan.draft().before;
    let (evidence, mut at) = (files.evidence(), files.rows_at());
    let mut forged = evidence[..at].to_vec();
    let bytes = fabric.switches().count().div_ceil(8);
    let mut lids: Vec<Lid> = fabric.end_ports().flat_map(|port| halves_of(fabric, port)).collect();
    lids.sort_unstable();
    let moments = plan.waves().len() + 1;
    for lid in lids {
        for moment in 0..moments {
            let length = match evidence[at] {
                0 | 1 => 1,
                2 => 1 + bytes,
                kind => panic!("a row of kind {kind}, where switches treat all ports alike"),
            };
            let quiet = moment + 1 == moments && fabric.half_of(lid) == Some(half);
            forged.extend_from_slice(if quiet { &[0] } else { &evidence[at..at + length] });
            at += length;
        }
    }
    forged.extend_from_slice(&evidence[at..]);
    forged
}

fn halves_of(fabric: &Fabric, port: reconfig::fabric::PortId) -> Vec<Lid> {
    [Half::Lower, Half::Upper].into_iter().flat_map(|half| fabric.half_lids(port, half)).collect()
}

#[test]
fn a_plan_that_leaves_a_half_out_says_so() {
    let mut script = Script::start();
    for scheme in [Scheme::Ordered, Scheme::Static, Scheme::InPlace] {
        for lmc in [0, 1] {
            let subnet = subnet("fat-tree-4-2", lmc);
            let prepared = prepare(removal(&subnet, scheme, Removal::Planned)).expect("a plan");
            let draft = prepared.plan.plan().draft();
            let is_named = draft.assumptions.iter().any(|held| held.name() == UNNAMED);
            assert_eq!(is_named, lmc > 0, "{scheme}, LMC {lmc}: with LMC 0 nobody has a second half");
            let sound = Files::of(prepared.plan.plan().clone());
            assert!(sound.checked().is_ok(), "{scheme}, LMC {lmc}");
            if lmc > 0 {
                for said in refused(&without_assumption(&sound, UNNAMED), &mut script) {
                    assert!(said.contains(UNNAMED), "{scheme}: {said}");
                }
            }
        }
    }
}

/// Agents say that sources have moved, or a fence does; a plan names that on which its barrier rests, and no other.
#[test]
fn a_plan_names_what_the_move_of_its_sources_rests_on() {
    const EVERY: [&str; 4] =
        ["agents-keep-the-protocol", "lifetimes-are-enforced", "fences-discard", "fenced-lanes-run-empty"];
    let cases = [
        (MovedBy::Told, Observer::Token, &EVERY[..1]),
        (MovedBy::Told, Observer::Lifetime, &EVERY[..2]),
        (MovedBy::Fence, Observer::Lifetime, &EVERY[1..]),
    ];
    let mut script = Script::start();
    for (sources, observer, names) in cases {
        let subnet = subnet("fat-tree-4-2", 1);
        let policy = Policy { sources, observer, ..Policy::default() };
        let input = ChangeInput { policy, ..removal(&subnet, Scheme::Double, Removal::Planned) };
        let sound = Files::of(prepare(input).expect("a plan").plan.plan().clone());
        assert!(sound.checked().is_ok(), "{sources}, {observer}");
        let named = sound.plan_value()["assumptions"].clone();
        let is_named = |name: &&str| named.as_array().expect("a list").iter().any(|held| held == name);
        assert_eq!(EVERY.iter().copied().filter(is_named).collect::<Vec<_>>(), names, "{sources}, {observer}");
        for name in names {
            for said in refused(&without_assumption(&sound, name), &mut script) {
                assert!(said.contains(name), "{sources}, {observer}: {said}");
            }
        }
    }
}

/// Both files without an assumption.
fn without_assumption(sound: &Files, name: &str) -> Files {
    let without = |value: &mut Value| {
        value["assumptions"].as_array_mut().expect("a list").retain(|held| held != name);
    };
    let (mut plan, mut header) = (sound.plan_value(), sound.header());
    without(&mut plan);
    without(&mut header);
    sound.with_header(&header.to_string()).with_plan(plan.to_string())
}
