//! Plans that rest on switches which discard packets that are to leave by the port they came in by.

use super::{Files, Script};
use crate::support::brought_up::bring_up;
use crate::support::bundled::bundled;
use crate::support::removal::{Removal, removal};
use reconfig::change::{ChangeInput, prepare};
use reconfig::fabric::NodeId;
use reconfig::ids::{Lid, PortNum};
use reconfig::plan::{Assumption, Draft, Plan, Policy, Scheme, TurnedBack};
use reconfig::tables::{LFT_BLOCK, SubnetTables, Write};
use reconfig::verify::{Refusal, prove};

const NAMED: Assumption = Assumption::TurnedBackIsDiscarded;

/// The death of the root, repaired by entries alone.
fn repaired(name: &str) -> Plan {
    let subnet = bring_up(&bundled(name), 1, false);
    let input = removal(&subnet, Scheme::Ordered, Removal::Sudden);
    let plan = prepare(input).unwrap_or_else(|error| panic!("{name}: {error}")).plan.plan().clone();
    assert!(plan.draft().assumptions.contains(&NAMED), "{name}");
    plan
}

/// What checker and script say, where there is a script.
fn refused(files: &Files, script: &mut Option<Script>) -> Vec<String> {
    let verdicts = [Some(files.checked()), script.as_mut().map(|script| script.judge(files))];
    verdicts.into_iter().flatten().map(|verdict| verdict.expect_err("it is refused")).collect()
}

#[test]
fn without_the_assumption_no_judge_accepts_what_rests_on_it() {
    let mut script = Script::start();
    for name in ["ring-8", "mesh-4x4", "dragonfly-2-4-2"] {
        let plan = repaired(name);
        let sound = Files::of(plan.clone());
        let said = sound.checked().unwrap_or_else(|said| panic!("{name}: {said}"));
        assert!(script.as_mut().is_none_or(|script| script.judge(&sound) == Ok(said)), "{name}");

        let mut draft = plan.draft().clone();
        draft.assumptions.retain(|held| *held != NAMED);
        let forged = Plan::seal(draft);
        refused(&sound.with_plan(forged.to_json()), &mut script);
        let refusal = prove(forged).map(|_| ()).expect_err("packets turn back").1;
        assert!(matches!(refusal, Refusal::Deadlock(_)), "{name}: {refusal}");
    }
}

/// Ways out of broken rows may lead round, so no number of rounds is enough.
#[test]
fn whoever_waits_may_not_rest_on_it() {
    let mut script = Script::start();
    let subnet = bring_up(&bundled("ring-8"), 1, false);
    let input = removal(&subnet, Scheme::Ordered, Removal::Sudden);
    let policy = Policy { turned_back: TurnedBack::Returned, ..input.policy };
    let plan = prepare(ChangeInput { policy, ..input }).expect("a plan").plan.plan().clone();
    assert!(plan.waves().iter().any(|wave| wave.vacating_rounds().is_some()), "it waits");

    let mut draft = plan.draft().clone();
    draft.assumptions.push(NAMED);
    let forged = Plan::seal(draft);
    let files = Files::of(plan).with_plan(forged.to_json());
    let mut header = files.header();
    header["assumptions"].as_array_mut().expect("a list").push(NAMED.name().into());
    for said in refused(&files.with_header(&header.to_string()), &mut script) {
        assert!(said.contains("waits for what was sent before"), "{said}");
    }
    let refusal = prove(forged).map(|_| ()).expect_err("it waits").1.to_string();
    assert!(refusal.contains("wait for what was sent before"), "{refusal}");
}

/// The switch after another on the way to a LID, and the port that leads back; none where the way breaks off.
fn back(draft: &Draft, at: NodeId, lid: Lid) -> Option<(NodeId, PortNum)> {
    let fabric = &draft.surviving;
    let port = draft.initial.lfts[at.index()].get(lid)?;
    let peer = fabric.peer(fabric.port_at(at, port)?)?;
    let next = fabric.port(peer).node;
    fabric.node(next).is_switch().then_some((next, fabric.port(peer).num))
}

fn arrives(draft: &Draft, tables: &SubnetTables, mut at: NodeId, lid: Lid) -> bool {
    for _ in 0..draft.before.node_count() {
        let port = tables.lfts[at.index()].get(lid).and_then(|port| draft.surviving.port_at(at, port));
        match port.and_then(|port| draft.surviving.neighbour(port)) {
            Some(next) if draft.surviving.node(next).is_switch() => at = next,
            Some(_) => return true,
            None => return false,
        }
    }
    false
}

/// The plan with another entry in its first wave; later waves repeat it.
fn turned(draft: &Draft, switch: NodeId, lid: Lid, port: PortNum) -> Plan {
    let mut draft = draft.clone();
    let (block, at) = (lid.0 / LFT_BLOCK as u16, usize::from(lid.0) % LFT_BLOCK);
    let own =
        |write: &Write| matches!(write, Write::LftBlock { switch: s, block: b, .. } if (*s, *b) == (switch, block));
    if !draft.waves[0].writes.iter().any(own) {
        let entries = Box::new(draft.initial.lfts[switch.index()].block(block));
        draft.waves[0].writes.push(Write::LftBlock { switch, block, entries });
    }
    for write in draft.waves.iter_mut().flat_map(|wave| &mut wave.writes).filter(|write| own(write)) {
        if let Write::LftBlock { entries, .. } = write {
            entries[at] = port.0;
        }
    }
    Plan::seal(draft)
}

/// The assumption excuses what had lost its way, and no packet of a whole one.
#[test]
fn no_packet_with_a_way_is_turned_back() {
    let mut script = Script::start();
    let plan = repaired("torus-4x4");
    let sound = Files::of(plan.clone());
    let draft = plan.draft();
    let fabric = draft.surviving.clone();
    let lids: Vec<Lid> = fabric.end_ports().filter_map(|port| fabric.port(port).lid).collect();
    let (mut forgeries, mut told) = (0, 0);
    for (number, switch) in fabric.switches().enumerate() {
        for &lid in lids.iter().skip(number % 5).step_by(5) {
            let Some((next, port)) = back(draft, switch, lid) else { continue };
            if !arrives(draft, &draft.initial, switch, lid) {
                continue;
            }
            let forged = turned(draft, next, lid, port);
            forgeries += 1;
            for said in refused(&sound.with_plan(forged.to_json()), &mut script) {
                told += usize::from(said.contains("come in by the port") || said.contains("turn back"));
            }
            let refusal = prove(forged).map(|_| ()).expect_err("a whole way turns back").1;
            assert!(matches!(refusal, Refusal::BlackHole(_)), "lid {lid} at {switch:?}: {refusal}");
        }
    }
    assert!(forgeries >= 30 && told >= forgeries / 4, "{forgeries} forgeries, of which {told} are seen to turn back");
}
