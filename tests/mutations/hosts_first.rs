//! A plan that gives hosts ways first and leaves rows (switch and LID) of switches lost, with one thing wrong.

use super::Row;
use super::plans::{Sound, caught};
use reconfig::change::{ChangeBase, ChangeInput, prepare_at_once};
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lid, Lmc, PortNum};
use reconfig::lid;
use reconfig::plan::{Draft, Plan, Policy, Scheme};
use reconfig::routing::{Demand, Engine, FatTree};
use reconfig::tables::{LFT_BLOCK, Write, arrivals};
use std::sync::Arc;

/// One way to break such a plan.
pub struct Mutation {
    name: &'static str,
    broken: &'static str,
    apply: fn(&mut Draft),
}

const fn mutation(name: &'static str, broken: &'static str, apply: fn(&mut Draft)) -> Mutation {
    Mutation { name, broken, apply }
}

pub const MUTATIONS: &[Mutation] = &[
    mutation("a lost row led round in a loop", "management packets go round between two switches", |draft| {
        let (lid, [one, other]) = lost_neighbours(draft);
        let after = draft.after.clone();
        for (from, to) in [(one, other), (other, one)] {
            let output = after.ports_of(from).find(|&port| after.neighbour(port) == Some(to)).expect("a cable");
            lead(draft, from, lid, after.port(output).num);
        }
    }),
    mutation("a lost row without an entry", "no cable that comes back gives it its way again", |draft| {
        let (lid, [one, _]) = lost_neighbours(draft);
        lead(draft, one, lid, PortNum::NO_ROUTE);
    }),
    mutation("a block of the only wave not written", "hosts stay without ways", |draft| {
        let writes = &mut draft.waves[0].writes;
        let at = writes.iter().position(|write| matches!(write, Write::LftBlock { .. })).expect("a block");
        writes.remove(at);
    }),
    mutation("a row robbed of its way", "packets are lost at a switch", |draft| {
        let host = draft.after.end_ports().next().and_then(|port| draft.after.port(port).lid).expect("a host");
        let switch = draft.after.switches().next().expect("a switch");
        lead(draft, switch, host, PortNum::NO_ROUTE);
    }),
];

fn lfts(draft: &Draft) -> Vec<Arc<reconfig::tables::Lft>> {
    let plan = Plan::seal(draft.clone());
    plan.tables_at(plan.waves().len()).lfts.clone()
}

/// A switch's LID, and two switches next to each other of which neither has a way to it, at the first and in the end.
fn lost_neighbours(draft: &Draft) -> (Lid, [NodeId; 2]) {
    let (after, last) = (&*draft.after, lfts(draft));
    let owners = after.lid_ports().map(|port| after.port(port)).filter(|port| after.node(port.node).is_switch());
    for lid in owners.filter_map(|port| port.lid) {
        let (arrived, arrives) = (arrivals(after, &draft.initial.lfts, lid), arrivals(after, &last, lid));
        let is_lost = |node: NodeId| after.node(node).is_switch() && !arrived[node.index()] && !arrives[node.index()];
        let both = |&(a, b): &(PortId, PortId)| is_lost(after.port(a).node) && is_lost(after.port(b).node);
        if let Some((a, b)) = after.links().find(both) {
            return (lid, [after.port(a).node, after.port(b).node]);
        }
    }
    panic!("no lost rows next to each other");
}

/// Has the plan's wave lead a LID by an output of a switch.
fn lead(draft: &mut Draft, switch: NodeId, lid: Lid, output: PortNum) {
    let (number, at) = ((lid.index() / LFT_BLOCK) as u16, lid.index() % LFT_BLOCK);
    let held = draft.initial.lfts[switch.index()].block(number);
    let writes = &mut draft.waves[0].writes;
    let own = |write: &&mut Write| matches!(write, Write::LftBlock { switch: of, block, .. } if (*of, *block) == (switch, number));
    match writes.iter_mut().find(own) {
        Some(Write::LftBlock { entries, .. }) => entries[at] = output.0,
        _ => {
            let mut entries = Box::new(held);
            entries[at] = output.0;
            writes.push(Write::LftBlock { switch, block: number, entries });
        }
    }
}

/// A fat tree that lost a cable of a leaf: all hosts have ways by one wave, and rows of switches wait for the change
/// after it.
fn sound() -> Sound {
    let plain = generate(&"fat-tree:8,3".parse().expect("a topology"), &Options::default()).expect("it can be made");
    let fabric = Arc::new(lid::assign(&plain.with_capabilities(4, true), Lmc::masked(1)).expect("LIDs enough"));
    let function = FatTree.route(&fabric, &Demand::all(&fabric, 1)).expect("a tree");
    let rest = Arc::new(fabric.without_links(&[leafs_cable(&fabric)]));
    let asked = ChangeInput {
        before: fabric.clone(),
        surviving: rest.clone(),
        after: rest,
        tables: lid::bring_up(&fabric, &function, 4),
        layers: 1,
        ways: None,
        old: Half::Lower,
        both_halves: false,
        engine: &FatTree,
        scheme: Scheme::Ordered,
        policy: Policy::default(),
        sm: fabric.end_ports().next().expect("hosts"),
        base: None,
    };
    let base = ChangeBase::of(&asked.in_force()).expect("the routing is safe");
    let prepared = prepare_at_once(&ChangeInput { base: Some(&base), ..asked }).expect("one wave does");
    assert!(prepared.plan.plan().leads_into_loss(), "no row stays lost");
    Sound::certified(prepared.plan.plan().clone())
}

fn leafs_cable(fabric: &Fabric) -> PortId {
    let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
    let has_hosts = |node: NodeId| {
        let mut next = fabric.ports_of(node).filter_map(|port| fabric.neighbour(port));
        next.any(|next| !fabric.node(next).is_switch())
    };
    let is_leafs = |&(a, b): &(PortId, PortId)| {
        is_switch(a) && is_switch(b) && [a, b].into_iter().any(|end| has_hosts(fabric.port(end).node))
    };
    fabric.links().filter(is_leafs).nth(5).expect("cables of leaves").0
}

/// Applies every mutation.
pub fn rows() -> Vec<Row> {
    let sound = sound();
    let row = |mutation: &Mutation| {
        let mut draft = sound.plan.draft().clone();
        (mutation.apply)(&mut draft);
        assert!(draft != *sound.plan.draft(), "{}: nothing is changed", mutation.name);
        let caught = caught(&sound, Plan::seal(draft));
        Row { name: mutation.name, broken: mutation.broken, caught, harmless: None }
    };
    MUTATIONS.iter().map(row).collect()
}
