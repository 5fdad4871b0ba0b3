//! A switch dies while a manager that has adopted the subnet waits before it replaces SL-to-VL tables (E.9), and the
//! manager is killed before any MAD of the change for that loss. That change is planned, and recorded, with every level
//! on one lane, which devices may have or not.

use super::world::{Death, HOSTS_UP, Life, World, WorldEvent};
use super::{AUTO, Heir, loses, sound};
use crate::support::is_thorough;
use reconfig::ids::{Sl, Vl};
use std::collections::{BTreeMap, BTreeSet};

/// The lane of each level.
type LaneOf = fn(Sl) -> Vl;

/// What devices came with, and whether it is what such a change begins with.
const LANES: [(&str, LaneOf, bool); 2] =
    [("one lane", |_| Vl::masked(0), true), ("two lanes in turn", |sl| Vl::masked(sl.get() % 2), false)];

fn in_turn(sl: Sl) -> Vl {
    Vl::masked(sl.get() % 4)
}

fn adopts(lane: LaneOf, death: Death) -> (World, Life) {
    let world = World::new(AUTO);
    world.load_lanes(lane);
    world.amid(HOSTS_UP, 20_000, WorldEvent::Dies(world.root));
    let life = world.manage(world.sm, Some(world.journal()), &[], death);
    (world, life)
}

#[test]
fn a_loss_before_sl_to_vl_tables_are_replaced_ends_on_the_lanes_wanted_whoever_goes_on() {
    for (name, lane, is_recorded) in LANES {
        let (world, life) = adopts(lane, Death::Never);
        assert_eq!((life.arrival, &life.changes[..]), (Some("adopted"), &["Completed".to_string()][..]), "{life:?}");
        let held = sound(&world, world.sm, &life, false, name);
        assert_eq!(held.on_other_lanes(in_turn), BTreeSet::new(), "{name}: {life:?}");
        let (from, to) = (life.amid_at.expect("a root"), life.changed_at[0] + 8);
        for heir in [Heir::WithJournal, Heir::WithoutJournal, Heir::Standby] {
            let mut arrivals = BTreeMap::new();
            let step = if is_thorough() { 1 } else { 31 };
            let recorded = life.records.range(from..to).copied();
            for position in (from..to).step_by(step).chain(recorded).collect::<BTreeSet<_>>() {
                let at = format!("{name}: killed before MAD {position} of {from} to {to}, {heir:?}");
                let (world, killed) = adopts(lane, Death::Before(position));
                assert!(killed.was_killed, "{at}: {killed:?}");
                world.pass(200_000);
                let next = heir.manages(&world);
                let held = sound(&world, heir.port(&world), &next, loses(world.setting, &next), &at);
                assert_eq!(held.on_other_lanes(in_turn), BTreeSet::new(), "{at}: {next:?}");
                *arrivals.entry(next.arrival.expect("it is up")).or_insert(0) += 1;
            }
            println!("{name}, {heir:?}, MADs {from} to {to}: {arrivals:?}");
            // The change is resumed only where devices hold what it begins with.
            let resumes = is_recorded && heir == Heir::WithJournal;
            assert_eq!(arrivals.contains_key("resumed"), resumes, "{name}, {heir:?}: {arrivals:?}");
            assert!(!arrivals.contains_key("rewritten"), "{name}, {heir:?}: {arrivals:?}");
        }
    }
}
