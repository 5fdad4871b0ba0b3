//! What the barriers claim, seen from outside: the simulator is asked what stands in its buffers at the moment when the
//! change goes on.

use super::{LATCHES, assert_clean, small, watched};
use crate::support::bundled::bundled;
use reconfig::ids::VlSet;
use reconfig::plan::{Arming, Observer, Policy};
use reconfig::scenario::{Departure, Scenario, Watch};
use reconfig::sim::{Sim, SimConfig};

/// With four data VLs: A retires, B takes over.
const A: VlSet = VlSet(0b0011);
const B: VlSet = VlSet(0b1100);

/// Counts the occupied lanes of each set at every state that the change enters.
#[derive(Default)]
struct Inspector {
    /// State, lanes of A, lanes of B.
    seen: Vec<(&'static str, usize, usize)>,
}

impl Watch for Inspector {
    fn begins(&mut self, _: u64, _: f64) {}

    fn passes(&mut self, _: u64, _: u64) {}

    fn enters(&mut self, state: &'static str, sim: &Sim) {
        self.seen.push((state, sim.occupied(A), sim.occupied(B)));
    }

    fn ends(&mut self) {}
}

impl Inspector {
    fn at(&self, state: &str) -> (usize, usize) {
        let found = self.seen.iter().find(|seen| seen.0 == state);
        let &(_, a, b) = found.unwrap_or_else(|| panic!("the change never came to {state}: {:?}", self.seen));
        (a, b)
    }
}

#[test]
fn lanes_are_empty_when_the_barriers_say_so() {
    for departure in [Departure::Planned, Departure::Sudden] {
        for latch in LATCHES {
            for (observer, arming) in [(Observer::Token, Arming::Hold), (Observer::Poll, Arming::Off)] {
                let base = small(bundled("random-regular-16-4"));
                let sim = SimConfig { latch, replies: 0.5, buffer_credits: 48, ..base.sim.clone() };
                let policy = Policy { arming, observer, ..Policy::default() };
                // As much as the fabric can carry, so that lanes are full when they are asked to run empty.
                let scenario = Scenario { sim, departure, policy, load: Some(0.15), ..base };
                let mut inspector = Inspector::default();
                let report = watched(&scenario, &mut inspector).expect("the run begins");
                let what = format!("{} {latch:?} {observer}", departure.name());
                assert_clean(&report, &what);
                assert_eq!(inspector.at("installing").1, 0, "{what}: B was flushed: {:?}", inspector.seen);
                assert_eq!(inspector.at("swapping").1, 0, "{what}: nobody sends to B yet: {:?}", inspector.seen);
                assert_eq!(inspector.at("restoring").0, 0, "{what}: A was drained: {:?}", inspector.seen);
                let (a, b) = inspector.at("splitting");
                assert!(a > 0 && b > 0, "{what}: both sets were in use: {:?}", inspector.seen);
                assert!(inspector.at("swapping").0 > 0, "{what}: A was in use: {:?}", inspector.seen);
                assert!(inspector.at("restoring").1 > 0, "{what}: B was in use: {:?}", inspector.seen);
            }
        }
    }
}

#[test]
fn a_change_passes_its_states_in_order() {
    let mut inspector = Inspector::default();
    watched(&small(bundled("seed-16")), &mut inspector).expect("the run begins");
    let states: Vec<_> = inspector.seen.iter().map(|seen| seen.0).collect();
    let expected = ["splitting", "flushing", "installing", "swapping", "moving", "draining", "restoring", "completed"];
    assert_eq!(states, expected);
}
