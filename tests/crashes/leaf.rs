//! The leaf switch of the manager dies amid a change, and the manager with it. A manager at another switch has stood by
//! all the while: it becomes master, and brings the subnet to a sound state without the journal.

use super::world::{Death, Setting, World, WorldEvent};
use super::{AUTO, DOUBLE, Going, STATES, loses, sound};
use crate::support::is_thorough;
use std::collections::BTreeMap;

/// States of a change by forwarding entries alone.
const ENTRIES_STATES: [&str; 2] = ["rewriting", "vacating"];

/// What hosts offer: most packets are sent while the standby waits for the master to answer.
const LOAD: f64 = 0.0001;

/// From the beginning of a state to the death, in nanoseconds.
const DELAYS_NS: [u64; 2] = [10_000, 0];

/// The leaf and the manager die so long after a change has entered a state; how the standby came to the subnet.
fn succeeded(setting: Setting, state: &'static str, delay_ns: u64) -> &'static str {
    let at = format!("{setting:?}: the manager's leaf dies {delay_ns} ns after {state} has begun");
    let world = World::new(setting);
    let (leaf, port) = (world.fabric.neighbour(world.sm).expect("at a switch"), world.other_port());
    world.stand_by(port);
    world.amid(state, delay_ns, WorldEvent::Dies(leaf));
    let killed = world.manage(world.sm, Some(world.journal()), &Going::Planned.events(&world), Death::Amid);
    assert!(killed.was_killed && killed.changes.is_empty(), "{at}: {killed:?}");
    let next = world.succeed();
    assert_eq!(next.role, "master", "{at}: {next:?}");
    assert_ne!(next.arrival, Some("rewritten"), "{at}: {next:?}");
    sound(&world, port, &next, loses(setting, &next), &at);
    next.arrival.expect("it is up")
}

#[test]
fn a_standby_finishes_when_the_masters_leaf_dies_in_any_state_of_a_change() {
    let settings = |setting: Setting| [false, true].map(|fenced| Setting { fenced, load: LOAD, ..setting });
    let by_entries = settings(AUTO).into_iter().flat_map(|setting| ENTRIES_STATES.map(|state| (setting, state)));
    let by_double = settings(DOUBLE).into_iter().flat_map(|setting| STATES.map(|state| (setting, state)));
    let delays_ns = if is_thorough() { &DELAYS_NS[..] } else { &DELAYS_NS[..1] };
    let mut arrivals = BTreeMap::new();
    for (setting, state) in by_entries.chain(by_double) {
        for &delay_ns in delays_ns {
            *arrivals.entry(succeeded(setting, state, delay_ns)).or_insert(0) += 1;
        }
    }
    println!("{arrivals:?}");
}
