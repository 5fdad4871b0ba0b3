//! A manager is killed before any MAD of a change, or amid any record of its journal; whoever comes next brings the change
//! to its end, or the subnet to a proved state without it. In one process and in simulated time, so that every moment can be
//! tried: `RECONFIG_THOROUGH=1` tries them all.

mod files;
mod world;

use reconfig::fabric::PortId;
use reconfig::verify::{Scope, prove_tables};
use std::collections::{BTreeMap, BTreeSet};
use world::{Death, Held, Life, Setting, World, tear};

/// Sixteen switches, sixteen hosts; agents in the devices, a planned removal of the root by `double`.
const DOUBLE: Setting = Setting { topology: "torus:4x4,1", auto: false, fenced: false, sudden: false, load: 0.002 };
/// Standard devices and hosts that ask again.
const FENCED: Setting = Setting { fenced: true, load: 0.0, ..DOUBLE };
/// By forwarding entries alone, where that is proved.
const AUTO: Setting = Setting { auto: true, ..DOUBLE };

fn dying(setting: Setting) -> Setting {
    Setting { sudden: true, ..setting }
}

/// What a change comes to that nobody disturbs.
struct Undisturbed {
    before: Held,
    after: Held,
    /// MADs from the deed to rest.
    sent: usize,
    /// The MADs before which a record was written.
    records: BTreeSet<usize>,
}

fn undisturbed(setting: Setting) -> Undisturbed {
    let world = World::new(setting);
    let before = world.held();
    let life = world.manage(world.sm, Some(world.journal()), true, Death::Never);
    assert_eq!(life.arrival, Some("adopted"), "{life:?}");
    assert_eq!(life.changes, ["Completed"], "{life:?}");
    let after = world.held();
    assert_ne!(before, after, "the change changes something");
    assert_eq!(world.packets().lost_to_change, 0);
    Undisturbed { before, after, sent: life.sent, records: life.records }
}

/// All positions of a change, or some that are spread over it, and those after each record.
fn positions(reference: &Undisturbed) -> BTreeSet<usize> {
    let thorough = std::env::var_os("RECONFIG_THOROUGH").is_some();
    let step = if thorough { 1 } else { reference.sent.div_ceil(16) | 1 };
    (0..reference.sent).step_by(step).chain(reference.records.iter().copied()).collect()
}

/// What is demanded of a subnet at rest, whatever has happened.
fn sound(world: &World, successor: &Life, at: &str) -> Held {
    assert!(!successor.was_killed && successor.failures.is_empty(), "{at}: {successor:?}");
    let held = world.held();
    assert_eq!(held.closed(), BTreeSet::new(), "{at}: {successor:?}");
    let view = successor.running.as_ref().expect("it is up");
    let is_cut_off = |port: &PortId| {
        let (node, peer) = (view.routed.node(view.routed.port(*port).node), view.routed.peer(*port));
        !node.present || !node.is_switch() && peer.is_none()
    };
    let owners = view.routed.ports().filter(|(_, port)| port.lid.is_some()).map(|(id, _)| id);
    let scope = Scope { stranded: owners.filter(is_cut_off).collect(), ..Scope::of(view.routed.halves()) };
    let proved = prove_tables(&view.routed, &view.tables, &scope);
    assert!(proved.is_ok(), "{at}: {next:?}: {:?}", proved.err(), next = successor);
    let known = Held::of(&view.alive, &view.tables);
    assert!(known == held, "{at}: {successor:?}: known and held: {:?}", &known.differences(&held));
    let packets = world.packets();
    let may_lose = successor.closed_a_half || successor.arrival == Some("rewritten");
    assert!(packets.lost_to_change == 0 || may_lose, "{at}: {packets:?}, {successor:?}");
    assert_eq!(packets.in_flight, 0, "{at}: {packets:?}, {successor:?}");
    held
}

/// Kills a manager at every position of a change; its successor, with the journal, finds the change that was asked for
/// and makes it: the subnet comes to what it comes to undisturbed.
fn resumed_by_itself(setting: Setting) {
    let reference = undisturbed(setting);
    let (mut arrivals, mut torn, mut equal, mut tried) = (BTreeMap::new(), 0, 0, 0);
    for position in positions(&reference) {
        // The record that was written last, whole and torn: who dies while writing has not yet acted on it.
        let tears: &[Option<usize>] = match reference.records.contains(&position) {
            true => &[None, Some(0), Some(7), Some(40)],
            false => &[None],
        };
        for &keep in tears {
            let at = format!("{setting:?}, killed before MAD {position}, torn to {keep:?}");
            let world = World::new(setting);
            let killed = world.manage(world.sm, Some(world.journal()), true, Death::Before(position));
            assert!(killed.was_killed, "{at}: {killed:?}");
            if let Some(keep) = keep {
                torn += 1;
                tear(&world.journal_path(), keep);
            }
            world.pass(200_000);
            let next = world.manage(world.sm, Some(world.journal()), false, Death::Never);
            let held = sound(&world, &next, &at);
            *arrivals.entry(next.arrival.expect("it is up")).or_insert(0) += 1;
            (tried, equal) = (tried + 1, equal + usize::from(held == reference.after));
            // An order that was not yet recorded is forgotten with its manager; whatever dies is found by anyone.
            let is_forgotten = !setting.sudden && held == reference.before && next.arrival == Some("adopted");
            let is_resumed = next.arrival == Some("resumed");
            assert!(held == reference.after || is_forgotten || !is_resumed, "{at}: {next:?}");
        }
    }
    println!(
        "{setting:?}: {} MADs, {tried} crashes, {torn} with a torn record: {arrivals:?}, {equal} as undisturbed",
        reference.sent
    );
    assert!(arrivals["resumed"] > 0);
}

/// The same, and a manager at another port follows, which knows nothing of the journal.
fn recovered_by_a_standby(setting: Setting) {
    let reference = undisturbed(setting);
    let mut arrivals = BTreeMap::new();
    for position in positions(&reference) {
        let at = format!("{setting:?}, killed before MAD {position}, a standby follows");
        let world = World::new(setting);
        let killed = world.manage(world.sm, Some(world.journal()), true, Death::Before(position));
        assert!(killed.was_killed, "{at}: {killed:?}");
        world.pass(200_000);
        let next = world.manage(world.other_port(), None, false, Death::Never);
        sound(&world, &next, &at);
        *arrivals.entry(next.arrival.expect("it is up")).or_insert(0) += 1;
    }
    println!("{setting:?}: {} MADs: {arrivals:?}", reference.sent);
}

#[test]
fn a_planned_change_by_double_is_resumed() {
    resumed_by_itself(DOUBLE);
}

#[test]
fn a_loss_routed_around_by_double_is_resumed() {
    resumed_by_itself(dying(DOUBLE));
}

#[test]
fn a_change_behind_a_fence_is_resumed() {
    resumed_by_itself(FENCED);
}

#[test]
fn a_loss_repaired_by_entries_alone_is_resumed() {
    resumed_by_itself(dying(AUTO));
}

#[test]
fn a_standby_recovers_a_planned_change_by_double() {
    recovered_by_a_standby(DOUBLE);
}

#[test]
fn a_standby_recovers_what_a_fence_closed() {
    recovered_by_a_standby(FENCED);
}

#[test]
fn a_standby_recovers_a_loss_repaired_by_entries_alone() {
    recovered_by_a_standby(dying(AUTO));
}

/// The successor is killed too, again and again, each time a little later.
#[test]
fn successors_that_are_killed_are_resumed_by_theirs() {
    let reference = undisturbed(DOUBLE);
    let world = World::new(DOUBLE);
    let mut next = world.manage(world.sm, Some(world.journal()), true, Death::Before(reference.sent / 2));
    let mut lives = 1;
    while next.was_killed {
        world.pass(100_000);
        // Reading the subnet takes some hundred MADs before the first write.
        next = world.manage(world.sm, Some(world.journal()), false, Death::Before(200 + 100 * lives));
        lives += 1;
        assert!(lives < 100, "never at rest");
    }
    assert!(lives > 4, "only {lives} lives");
    let held = sound(&world, &next, "killed again and again");
    assert!(held == reference.after, "{next:?}: {:?}", held.differences(&reference.after));
}
