//! How long a trap is remembered, and how many are, so that a copy is told from a new one.

use super::fake::{Fake, Faults};
use super::{MS, calm, manager, now};
use reconfig::ids::Lid;
use reconfig::subnet::{Manager, SubnetEvent, SubnetManager};
use reconfig::wire::Notice;

const S: u64 = 1_000 * MS;
/// Traps that are remembered, and for how long.
const MOST: u16 = 4_096;
const AGE_NS: u64 = 30 * S;

/// A trap of a LID, and when it arrives: always the same transaction.
fn comes(manager: &mut Manager<Fake>, lid: u16, at_ns: u64) {
    manager.transport_mut().trap(&Notice::link_state_changed(Lid(lid)), 40, at_ns);
}

/// The LIDs whose traps are taken for new ones until then.
fn news(manager: &mut Manager<Fake>, until_ns: u64) -> Vec<u16> {
    let mut lids = Vec::new();
    while let Some(event) = now(manager.next_event(until_ns)).expect("the port is there") {
        let SubnetEvent::LinksChanged { lid, .. } = event else { panic!("{event:?}") };
        lids.push(lid.0);
    }
    lids
}

/// Counted from the last copy, since a device repeats its trap until it is repressed.
#[test]
fn a_transaction_is_a_new_trap_half_a_minute_after_its_last_copy() {
    let (mut manager, _) = manager(5, 3, calm(), Faults::default());
    let mut at_ns = MS;
    comes(&mut manager, 7, at_ns);
    for _ in 0..3 {
        at_ns += AGE_NS - 1;
        comes(&mut manager, 7, at_ns);
    }
    assert_eq!(news(&mut manager, at_ns + 1), [7], "three copies");
    comes(&mut manager, 7, at_ns + AGE_NS);
    assert_eq!(news(&mut manager, at_ns + AGE_NS + MS), [7]);
    assert_eq!(manager.transport().repressed, [40; 5], "copies are repressed all the same");
}

/// Somebody sends traps in the names of many: room is made by what has aged, else by all.
#[test]
fn no_more_than_4096_traps_are_remembered() {
    for (senders, is_forgotten) in [(MOST - 1, false), (MOST, true)] {
        let (mut manager, _) = manager(5, 3, calm(), Faults::default());
        (1..=senders).for_each(|lid| comes(&mut manager, lid, MS));
        assert_eq!(news(&mut manager, 2 * MS).len(), usize::from(senders));
        comes(&mut manager, 1, 3 * MS);
        assert_eq!(news(&mut manager, 4 * MS), vec![1; usize::from(is_forgotten)], "{senders} senders");
    }
}

/// Those of the last half minute are still told from new ones.
#[test]
fn where_there_is_no_room_what_has_aged_is_forgotten_first() {
    let (mut manager, _) = manager(5, 3, calm(), Faults::default());
    (1..=MOST / 2).for_each(|lid| comes(&mut manager, lid, MS));
    (MOST / 2 + 1..=MOST).for_each(|lid| comes(&mut manager, lid, MS + 20 * S));
    assert_eq!(news(&mut manager, MS + 21 * S).len(), usize::from(MOST));
    let aged_ns = MS + AGE_NS;
    [MOST + 1, MOST].iter().for_each(|&lid| comes(&mut manager, lid, aged_ns));
    assert_eq!(news(&mut manager, aged_ns + MS), [MOST + 1]);
    // There is room for nearly half of them again.
    (1..MOST / 2 - 1).for_each(|lid| comes(&mut manager, lid, aged_ns + 2 * MS));
    comes(&mut manager, MOST, aged_ns + 3 * MS);
    assert_eq!(news(&mut manager, aged_ns + 4 * MS), (1..MOST / 2 - 1).collect::<Vec<_>>());
}
