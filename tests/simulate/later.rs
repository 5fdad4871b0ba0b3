//! Changes that are spread over time: a second loss in each state of a change, cables that move, and a manager that
//! stands by and takes over.

use super::{assert_clean, run, small, watched};
use crate::support::bundled::bundled;
use crate::support::is_thorough;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::PortNum;
use reconfig::plan::Scheme;
use reconfig::scenario::Departure;
use reconfig::scenario::{Element, Ending, EventTime, LaterEvent, Scenario, ScenarioChange, Standby, Unwatched};

fn node(fabric: &Fabric, name: &str) -> NodeId {
    fabric.nodes().find(|(_, node)| node.description == name).expect("it is in the capture").0
}

fn port(fabric: &Fabric, name: &str, num: u8) -> PortId {
    fabric.port_at(node(fabric, name), PortNum(num)).expect("it has that port")
}

fn later(at: EventTime, elements: Vec<Element>) -> LaterEvent {
    LaterEvent { at, elements, plugged: Vec::new() }
}

/// A spine dies, and something happens after that.
fn spine_then(events: impl Fn(&Fabric) -> Vec<LaterEvent>) -> Scenario {
    let fabric = bundled("fat-tree-4-2");
    let change = Element::Switch(node(&fabric, "spine-1")).into();
    let later = events(&fabric);
    let base = small(fabric);
    Scenario { change, later, barrier_timeout_ns: 100_000_000, load: Some(0.01), ..base }
}

#[test]
fn a_second_loss_in_each_state_of_a_change_is_served_with_proof() {
    let states = ["splitting", "flushing", "installing", "swapping", "moving", "draining", "restoring", "completed"];
    for state in states {
        let cable = |fabric: &Fabric| vec![Element::Link(port(fabric, "leaf-1", 6))];
        let scenario = spine_then(|fabric| vec![later(EventTime::Entering(state), cable(fabric))]);
        let report = run(&scenario);
        assert_clean(&report, state);
        assert_eq!(report.proof.status, "proved", "{state}");
        let [event] = &report.events[..] else { panic!("{state}: {:?}", report.events) };
        assert_eq!((event.during, event.what.as_str()), (Some(state), "remove link leaf-1[6]"));
        if is_thorough() || state == states[0] {
            assert_eq!(run(&scenario).trace_hash, report.trace_hash, "{state}: the same run twice");
        }
    }
}

#[test]
fn what_happens_at_a_time_happens_then_whatever_the_manager_does() {
    for us in [0, 30, 400, 9_000] {
        let at = EventTime::AfterNs(us * 1_000);
        let scenario = spine_then(|fabric| vec![later(at, vec![Element::Switch(node(fabric, "spine-3"))])]);
        let report = run(&Scenario { auto: true, ..scenario });
        assert_clean(&report, &format!("{us} µs"));
        let at_ns = report.events[0].at_ns.expect("it happened");
        assert_eq!(at_ns, report.event_ns + us * 1_000);
    }
}

#[test]
fn what_never_happens_is_told() {
    let report = run(&spine_then(|fabric| {
        vec![later(EventTime::Entering("stopping"), vec![Element::Link(port(fabric, "leaf-1", 6))])]
    }));
    assert_clean(&report, "stopping");
    assert_eq!((report.events[0].at_ns, report.events[0].during), (None, None));
}

/// The cable from leaf-1 to spine-1 goes to another port.
fn moved(to: (&str, u8), departure: Departure) -> Scenario {
    let fabric = bundled("fat-tree-4-2");
    let (from, to) = (port(&fabric, "leaf-1", 5), port(&fabric, to.0, to.1));
    let plugged = LaterEvent { at: EventTime::Served, elements: Vec::new(), plugged: vec![(from, to)] };
    let change: ScenarioChange = Element::Link(from).into();
    let base = small(fabric);
    Scenario { change, later: vec![plugged], departure, hot_links: 40, barrier_timeout_ns: 100_000_000, ..base }
}

#[test]
fn a_cable_that_moves_as_planned_loses_nothing_and_carries_traffic_where_it_goes() {
    for scheme in [Scheme::Double, Scheme::Ordered] {
        let report = run(&Scenario { scheme, ..moved(("spine-1", 7), Departure::Planned) });
        assert_clean(&report, "planned");
        assert_eq!((report.lost_in_all, report.packets.stranded), (0, 0), "{scheme}: {:?}", report.packets);
        let links = report.links.expect("asked for");
        let carries = |busiest: &[reconfig::scenario::BusyLink]| {
            busiest.iter().any(|link| link.to == "spine-1[7]" && link.from == "leaf-1[5]" && link.bytes > 0)
        };
        // By entries alone, ways that still lead somewhere stay as they are.
        let used = scheme == Scheme::Double;
        assert_eq!((carries(&links.after.busiest), carries(&links.before.busiest)), (used, false), "{scheme}");
        assert_eq!(report.events[0].moves.comes, ["cable from leaf-1[5] to spine-1[7]"]);
    }
    // One that is pulled at once is a loss first.
    let report = run(&moved(("spine-2", 7), Departure::Sudden));
    assert_clean(&report, "sudden");
    assert!(report.packets.lost_to_failure > 0);
}

#[test]
fn what_dies_while_something_else_comes_is_served_by_two_changes() {
    let fabric = bundled("fat-tree-4-2");
    let grown = fabric.with_cable(port(&fabric, "spine-2", 8), port(&fabric, "spine-3", 8)).expect("both are free");
    let elements = vec![Element::Switch(node(&grown, "spine-1")), Element::NewLink(port(&grown, "spine-2", 8))];
    let report = run(&Scenario { change: elements.into(), barrier_timeout_ns: 100_000_000, ..small(grown) });
    assert_clean(&report, "both");
    let sweeps = report.changes[0].phases.iter().filter(|phase| phase.name == "split").count();
    assert_eq!(sweeps, 2, "{:?}", report.changes[0].phases);
}

#[test]
fn a_manager_that_stands_by_takes_over_in_each_state_of_a_change() {
    let master = "host-1 HCA-1";
    for state in ["splitting", "installing", "swapping", "moving", "draining", "restoring"] {
        let scenario =
            spine_then(|fabric| vec![later(EventTime::Entering(state), vec![Element::EndNode(node(fabric, master))])]);
        let fabric = scenario.fabric();
        let (sm, standby) = (node(fabric, master), node(fabric, "host-9 HCA-1"));
        let standby = Some(Standby { node: standby, after_ns: 500_000 });
        let report = run(&Scenario { sm: Some(sm), standby, ..scenario });
        assert_eq!(report.outcome, Ending::Completed, "{state}: {:?}", report.reason);
        assert_eq!(report.packets.lost_to_change, 0, "{state}: {:?}", report.packets);
        let takeover = report.takeover.expect("it takes over");
        assert_eq!(takeover.began_ns, takeover.lost_ns + 500_000, "{state}");
        assert!(matches!(takeover.arrival, Some("adopted" | "recovered")), "{state}: {takeover:?}");
        assert!(takeover.changes.iter().all(|change| change.proved && change.completed), "{state}: {takeover:?}");
    }
}

#[test]
fn the_managers_own_switch_may_die_where_another_manager_stands_by() {
    let fabric = bundled("fat-tree-4-2");
    let (sm, standby) = (node(&fabric, "host-1 HCA-1"), node(&fabric, "host-9 HCA-1"));
    let change = Element::Switch(node(&fabric, "leaf-1")).into();
    let alone = Scenario { change, sm: Some(sm), barrier_timeout_ns: 100_000_000, ..small(fabric) };
    let refused = watched(&alone, &mut Unwatched).expect_err("nobody is left").to_string();
    assert!(refused.contains("the change would cut it off"), "{refused}");
    let standby = Some(Standby { node: standby, after_ns: 500_000 });
    let report = run(&Scenario { standby, ..alone.clone() });
    assert_clean(&report, "its own switch");
    assert_eq!(report.takeover.expect("it takes over").arrival, Some("recovered"));
    // Nobody needs one that the change does not call for.
    let idle = Scenario { standby, change: Element::Root.into(), ..alone };
    let refused = watched(&idle, &mut Unwatched).expect_err("nothing stops the first").to_string();
    assert!(refused.contains("nothing that happens stops the first one"), "{refused}");
}
