//! A router leaves or dies: its packets go on, others take over, and where it was the only one both sides are told so.

use super::{DEPARTURES, assert_adds_up, assert_clean, assert_whole, fixture, generated, small, watched};
use reconfig::fabric::generate::JoinShape;
use reconfig::fabric::subnets::Subnets;
use reconfig::scenario::Unwatched;
use reconfig::scenario::{Departure, Ending, RouterReport, ScenarioChange, SimulationReport, Watch};
use reconfig::sim::Sim;

/// Looks at the buffers of one router whenever the machine comes to a new state.
struct Buffers {
    router: usize,
    held: Vec<(&'static str, u32)>,
}

impl Watch for Buffers {
    fn begins(&mut self, hops: u64, load: f64) {
        Unwatched.begins(hops, load);
    }

    fn passes(&mut self, _: u64, _: u64) {}

    fn enters(&mut self, state: &'static str, sim: &Sim) {
        self.held.push((state, sim.held_by_router(self.router)));
    }

    fn ends(&mut self) {}
}

/// A router goes while a third of the traffic crosses; what is in its buffers when the last manager is done.
fn without(subnets: &Subnets, router: usize, departure: Departure) -> (SimulationReport, u32) {
    let mut asked = small(subnets.clone(), ScenarioChange::Router(router), departure);
    asked.cross = 0.3;
    let mut buffers = Buffers { router, held: Vec::new() };
    let report = watched(&asked, &mut buffers).unwrap_or_else(|error| panic!("the run cannot begin: {error}"));
    assert_adds_up(&report);
    let mut last_first = buffers.held.iter().rev();
    let &(_, held) = last_first.find(|(state, _)| *state == "completed").expect("every change ends");
    (report, held)
}

fn stays(router: &RouterReport) -> bool {
    router.ports.iter().all(|port| port.stays)
}

fn assert_every_router_can_go(subnets: &Subnets) {
    for router in 0..subnets.routers().len() {
        for departure in DEPARTURES {
            let (report, held) = without(subnets, router, departure);
            let what = format!("{} ({departure:?})", report.what);
            assert_clean(&report);
            assert_eq!(report.changes.len(), subnets.routers()[router].ports.len(), "{what}: one for each subnet");
            let stay: Vec<bool> = report.routers.iter().map(stays).collect();
            assert!(stay.iter().enumerate().all(|(rank, &stays)| stays == (rank != router)), "{what}: {stay:?}");
            for relation in report.relations.iter().filter(|relation| relation.from == relation.to) {
                assert_whole(relation, &what);
            }
            if departure == Departure::Planned {
                report.relations.iter().for_each(|relation| assert_whole(relation, &what));
                assert_eq!(held, 0, "{what}: packets in the buffers of what goes");
            }
            let crossing = report.relations.iter().filter(|relation| relation.from != relation.to);
            crossing.for_each(|relation| assert!(relation.delivered.after > 0, "{what}: {relation:?}"));
        }
    }
}

#[test]
fn each_router_between_two_subnets() {
    assert_every_router_can_go(&fixture("two-subnets"));
}

#[test]
fn each_router_of_a_ring_of_four_subnets() {
    assert_every_router_can_go(&fixture("four-subnets"));
}

#[test]
fn each_router_of_a_hub() {
    assert_every_router_can_go(&generated("random-regular:8,3,2", 3, JoinShape::Hub, 2, 3));
}

/// A ring with one router at each place: what went by the router that leaves takes the long way round, by three
/// routers.
#[test]
fn the_long_way_round_a_ring() {
    let subnets = generated("random-regular:8,3,1", 4, JoinShape::Ring, 1, 2);
    for departure in DEPARTURES {
        let (report, _) = without(&subnets, 0, departure);
        assert_clean(&report);
        assert_eq!(report.settings.between.expect("several subnets").layers, 4, "three crossings take four layers");
        let around =
            report.relations.iter().find(|relation| (&*relation.from, &*relation.to) == ("subnet-0", "subnet-1"));
        assert!(around.is_some_and(|relation| relation.delivered.after > 0), "{around:?}");
    }
}

/// The only router between two subnets: nobody sends across any more, and every packet is accounted for.
#[test]
fn the_only_router() {
    let subnets = generated("random-regular:8,3,2", 2, JoinShape::Line, 1, 1);
    for departure in DEPARTURES {
        let (report, _) = without(&subnets, 0, departure);
        let what = format!("{departure:?}: {:?}", report.packets);
        assert_eq!(report.outcome, Ending::Completed, "{what}");
        assert_clean(&report);
        assert!(!stays(&report.routers[0]));
        for relation in &report.relations {
            if relation.from == relation.to || departure == Departure::Planned {
                assert_whole(relation, &what);
            } else {
                assert!(relation.packets.lost_to_failure > 0, "{what}: {relation:?}");
            }
            assert_eq!(relation.delivered.after > 0, relation.from == relation.to, "{what}: {relation:?}");
        }
    }
}
