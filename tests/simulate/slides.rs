//! The example of a deadlock in the slides of seed 001: the root leaves, packets A go from 3 to 6 and packets B from 7
//! to 2. Its picture is not in the text; `fixtures/papers/slides-deadlock.ibnetdiscover` is the smallest of many random
//! fabrics with the same numbers, in which the two alone close a cycle.

use reconfig::fabric::{self, Fabric, NodeId, PortId};
use reconfig::ids::Vl;
use reconfig::plan::Scheme;
use reconfig::routing::{Demand, Engine, RouteError, UpDown};
use reconfig::scenario::{self, Element, Scenario};
use reconfig::tables::RoutingFunction;
use reconfig::verify::{Refusal, Wait, foresee};
use std::sync::Arc;

/// The only way by up*/down* while switch-8 is the root, and the only one once switch-1 is.
const A: [u8; 5] = [3, 2, 4, 7, 6];
const B: [u8; 5] = [7, 6, 1, 3, 2];

fn slides() -> Fabric {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/papers/slides-deadlock.ibnetdiscover");
    fabric::format::read(&std::fs::read(path).expect("a fixture"), path).expect("a good file")
}

fn named(fabric: &Fabric, name: &str) -> NodeId {
    fabric.nodes().find(|(_, node)| node.description.starts_with(name)).expect("it is there").0
}

fn switch(fabric: &Fabric, number: u8) -> NodeId {
    named(fabric, &format!("switch-{number}"))
}

/// up*/down* from switch-8 where it is, else from switch-1.
struct FromTheHighest;

impl Engine for FromTheHighest {
    fn name(&self) -> &'static str {
        UpDown::default().name()
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let highest = switch(fabric, 8);
        let root = if fabric.node(highest).present { highest } else { switch(fabric, 1) };
        UpDown { root: Some(root) }.route(fabric, demand)
    }
}

/// The switches that a packet passes.
fn way(fabric: &Fabric, from: u8, to: u8) -> Vec<NodeId> {
    let host = named(fabric, &format!("host-{to} "));
    let end = fabric.end_ports().find(|&port| fabric.port(port).node == host).expect("a host has a port");
    let demand = Demand::all(fabric, 1);
    let routing = FromTheHighest.route(fabric, &demand).expect("routable");
    let at = routing.destinations().iter().position(|&port| port == end).expect("demanded");
    routing.way(fabric, switch(fabric, from), at, 0).map(|port| fabric.port(port).node).collect()
}

fn plan(scheme: Scheme) -> (Arc<reconfig::vet::Vetted>, Option<Refusal>) {
    let fabric = slides();
    let root = Element::Switch(switch(&fabric, 8));
    let vetted = scenario::plan(&Scenario { scheme, ..Scenario::of_one(fabric, root) }, Arc::new(FromTheHighest));
    let vetted = vetted.expect("each routing is proved");
    let refusal = vetted.refusal().cloned();
    (vetted, refusal)
}

/// A holds what B waits for, and B what A waits for.
fn cycle(fabric: &Fabric) -> Vec<Wait> {
    let round = [3u8, 2, 4, 7, 6, 1].map(|number| switch(fabric, number));
    let towards = |from: NodeId, to: NodeId| -> PortId {
        fabric.ports_of(from).find(|&port| fabric.neighbour(port) == Some(to)).expect("a cable")
    };
    let vl = Vl::masked(0);
    let wait = |at: usize| {
        let [before, here, next] = [at, at + 1, at + 2].map(|at| round[at % round.len()]);
        Wait { input: towards(here, before), input_vl: vl, output: towards(here, next), output_vl: vl }
    };
    (0..round.len()).map(wait).collect()
}

#[test]
fn packets_a_and_b_of_the_slides_wait_for_each_other_and_not_under_the_double_scheme() {
    let whole = slides();
    let left = whole.without_nodes(&[switch(&whole, 8)]);
    assert_eq!(way(&whole, 3, 6), A.map(|number| switch(&whole, number)));
    assert_eq!(way(&left, 7, 2), B.map(|number| switch(&whole, number)));
    // Each of the two enters by the cable at which the other one ends.
    assert_eq!((&A[..2], &A[3..], &B[..2], &B[3..]), (&B[3..], &B[..2], &A[3..], &A[..2]));

    let waits = cycle(&whole);
    let (in_place, refusal) = plan(Scheme::InPlace);
    // The prover looks for loops first, and rewriting in place makes one, too.
    assert!(matches!(refusal, Some(Refusal::Loop(_))), "{refusal:?}");
    let met = foresee(in_place.plan(), &waits).expect("a cycle").expect("possible");
    assert_eq!(met.dependencies.len(), 6);
    let (double, refusal) = plan(Scheme::Double);
    assert!(refusal.is_none());
    assert_eq!(foresee(double.plan(), &waits), Ok(None));
}
