//! Plans that lead packets with a whole way to a switch whose own way has died and is not yet repaired.

use super::{Files, Script};
use crate::support::brought_up::bring_up;
use crate::support::bundled::bundled;
use crate::support::removal::{Removal, removal};
use reconfig::change::{ChangeError, prepare};
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::{Lid, PortNum};
use reconfig::plan::{Draft, Plan, Scheme};
use reconfig::tables::{LFT_BLOCK, Write};
use reconfig::verify::{HoleCause, Refusal, prove};

/// Whether the first tables lead from a switch to the owner of a LID.
fn arrives(draft: &Draft, mut at: NodeId, lid: Lid) -> bool {
    for _ in 0..draft.before.node_count() {
        let Some(port) = draft.initial.lfts[at.index()].get(lid) else { return false };
        let Some(next) = draft.surviving.port_at(at, port).and_then(|port| draft.surviving.neighbour(port)) else {
            return false;
        };
        if !draft.surviving.node(next).is_switch() {
            return true;
        }
        at = next;
    }
    false
}

/// Each switch with a way to an end port's LID, the LID, and a port to a neighbour without one.
fn temptations(draft: &Draft) -> Vec<(NodeId, Lid, PortNum)> {
    let fabric: &Fabric = &draft.surviving;
    let lids: Vec<Lid> = fabric.end_ports().filter_map(|port| fabric.port(port).lid).collect();
    let at_switch = |switch: NodeId| {
        let lids = lids.clone().into_iter().filter(move |&lid| arrives(draft, switch, lid));
        lids.flat_map(move |lid| {
            let ports = fabric.ports_of(switch).filter(move |&port| {
                let next = fabric.neighbour(port).filter(|&next| fabric.node(next).is_switch());
                next.is_some_and(|next| !arrives(draft, next, lid))
            });
            ports.map(move |port| (switch, lid, fabric.port(port).num))
        })
    };
    fabric.switches().flat_map(at_switch).collect()
}

/// The plan with another entry in its first wave.
fn tempted(draft: &Draft, (switch, lid, port): (NodeId, Lid, PortNum)) -> Plan {
    let mut draft = draft.clone();
    let block = lid.0 / LFT_BLOCK as u16;
    let at = usize::from(lid.0) % LFT_BLOCK;
    let writes = &mut draft.waves[0].writes;
    let written = writes.iter_mut().find_map(|write| match write {
        Write::LftBlock { switch: own, block: number, entries } if (*own, *number) == (switch, block) => Some(entries),
        _ => None,
    });
    match written {
        Some(entries) => entries[at] = port.0,
        None => {
            let mut entries = Box::new(draft.initial.lfts[switch.index()].block(block));
            entries[at] = port.0;
            writes.push(Write::LftBlock { switch, block, entries });
        }
    }
    Plan::seal(draft)
}

#[test]
fn whoever_has_a_way_is_not_led_to_one_who_has_none() {
    let subnet = bring_up(&bundled("mesh-4x4"), 1, false);
    let plan = match prepare(removal(&subnet, Scheme::InPlace, Removal::Sudden)) {
        Ok(prepared) => prepared.plan.plan().clone(),
        Err(ChangeError::Refused { plan, .. }) => *plan,
        Err(error) => panic!("{error}"),
    };
    // Repairs nothing: what was lost stays lost, and that is sound.
    let mut draft = plan.draft().clone();
    draft.waves[0].writes.clear();
    let sound = Files::of(Plan::seal(draft.clone()));
    let temptations = temptations(&draft);
    assert!(temptations.len() > 20, "the root's neighbours lose ways, and others keep theirs: {}", temptations.len());
    let mut script = Script::start();
    for &temptation in temptations.iter().step_by(temptations.len() / 8) {
        let forged = tempted(&draft, temptation);
        let files = sound.with_plan(forged.to_json());
        let (_, refusal) = prove(forged).expect_err("packets that had a way can be lost");
        let astray = |cause: &HoleCause| matches!(cause, HoleCause::Astray { port } if *port == temptation.2);
        assert!(matches!(&refusal, Refusal::BlackHole(hole) if astray(&hole.cause)), "{refusal}");
        let said = files.checked().expect_err("the checker refuses it too");
        assert!(said.contains("leads packets that have a way to a switch that has lost its own"), "{said}");
        if let Some(script) = &mut script {
            let said = script.judge(&files).expect_err("the script refuses it too");
            assert!(said.contains("from a whole way to one that died"), "{said}");
        }
    }
}
