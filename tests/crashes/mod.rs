//! A manager is killed before any MAD of a change, or within any record of its journal; whoever comes next brings the
//! change to its end, or the subnet to a proved state without it. In one process and in simulated time, so that every
//! moment can be tried: `RECONFIG_THOROUGH=1` tries them all.

mod drawn;
mod files;
mod lanes;
mod leaf;
mod live;
mod lossy;
mod returns;
mod standard;
mod world;

use crate::support::is_thorough;
use reconfig::driver::Running;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::Half;
use reconfig::plan::Arming;
use reconfig::sim::{SickAttribute, Sickness, StandingLane};
use reconfig::sm::Takeover;
use reconfig::verify::{Scope, prove_tables};
use reconfig::wire::AttributeId;
use std::collections::{BTreeMap, BTreeSet};
use world::{Death, Held, Life, Setting, World, WorldEvent, tear};

/// Sixteen switches, sixteen hosts, agents in the devices; what is to change is by `double`.
const DOUBLE: Setting = Setting {
    topology: "torus:4x4,1",
    auto: false,
    fenced: false,
    load: 0.002,
    loss: 0.0,
    seed: 1,
    patient: false,
    arming: Arming::Off,
};
/// Ports are ARMED, switch by switch.
const ARMED: Setting = Setting { topology: "torus:3x3,1", arming: Arming::HoldEach, ..DOUBLE };
/// Standard devices and hosts that ask again.
const FENCED: Setting = Setting { fenced: true, load: 0.0, ..DOUBLE };
/// By forwarding entries alone, where that is proved.
const AUTO: Setting = Setting { auto: true, ..DOUBLE };

/// What the SA answers with when a change by `double` begins on the upper half.
const BOTH_IN_TURN: [Half; 2] = [Half::Upper, Half::Lower];

/// How the root goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Going {
    Planned,
    Sudden,
}

impl Going {
    fn events(self, world: &World) -> [(u64, WorldEvent); 1] {
        match self {
            Going::Planned => [(0, WorldEvent::Removed(world.root))],
            Going::Sudden => [(0, WorldEvent::Dies(world.root))],
        }
    }
}

/// Who follows a manager that was killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Heir {
    WithJournal,
    WithoutJournal,
    Standby,
}

impl Heir {
    fn manages(self, world: &World) -> Life {
        let port = self.port(world);
        world.manage(port, (self == Heir::WithJournal).then(|| world.journal()), &[], Death::Never)
    }

    fn port(self, world: &World) -> PortId {
        if self == Heir::Standby { world.other_port() } else { world.sm }
    }
}

/// What a change comes to that nobody disturbs.
struct Undisturbed {
    before: Held,
    after: Held,
    /// MADs from the event to rest.
    sent: usize,
    /// The MADs before which a record was written.
    records: BTreeSet<usize>,
}

fn undisturbed(setting: Setting, going: Going) -> Undisturbed {
    let world = World::new(setting);
    let before = world.held(world.sm);
    let life = world.manage(world.sm, Some(world.journal()), &going.events(&world), Death::Never);
    assert_eq!(life.arrival, Some("adopted"), "{life:?}");
    assert_eq!(life.changes, ["Completed"], "{life:?}");
    let is_ordered = life.entered.iter().any(|&(state, _)| state == "rewriting");
    assert_eq!(is_ordered, setting.auto, "{:?}", life.entered);
    let after = world.held(world.sm);
    assert_ne!(before, after, "the change changes something");
    assert_eq!(world.packets().lost_to_change, 0);
    Undisturbed { before, after, sent: life.sent, records: life.records }
}

/// All positions of a change, or some that are spread over it and some of those after a record.
fn positions(reference: &Undisturbed) -> BTreeSet<usize> {
    let (step, apart) = if is_thorough() { (1, 1) } else { (reference.sent.div_ceil(4) | 1, 8) };
    (0..reference.sent).step_by(step).chain(reference.records.iter().copied().step_by(apart)).collect()
}

/// What is demanded of a subnet at rest, whatever has happened.
fn sound(world: &World, port: PortId, successor: &Life, may_lose: bool, at: &str) -> Held {
    assert!(!successor.was_killed, "{at}: {successor:?}");
    let view = successor.running.as_ref().expect("it is up");
    let reached = world.within_reach(port);
    // Only what was sick, and what is attached to it, may be left out.
    let left_out: Vec<_> = without(&reached, &view.alive);
    assert!(
        without(&world.owed(port), &view.alive).is_empty(),
        "{at}: left out, and never sick: {left_out:?}: {successor:?}"
    );
    let there = reached.without_nodes(&left_out);
    let held = world.held_of(&there);
    assert_eq!(held.closed(), BTreeSet::new(), "{at}: {successor:?}");
    let is_cut_off = |port: &PortId| {
        let (node, peer) = (view.routed.node(view.routed.port(*port).node), view.routed.peer(*port));
        !node.present || !node.is_switch() && peer.is_none()
    };
    let owners = view.routed.ports().filter(|(_, port)| port.lid.is_some()).map(|(id, _)| id);
    let scope = Scope { stranded: owners.filter(is_cut_off).collect(), ..Scope::of(view.routed.halves()) };
    let proved = prove_tables(&view.routed, &view.tables, &scope);
    assert!(proved.is_ok(), "{at}: {next:?}: {:?}", proved.err(), next = successor);
    // What is set aside, or joined to the rest by that alone, is none of the routing's: its tables may never have been
    // read, and whoever takes it back writes all of them.
    let used = within(&there, &view.routed);
    let (known, used) = (Held::of(&within(&view.alive, &used), &view.tables), world.held_of(&used));
    let differing = (known.differences(&used), used.differences(&known));
    assert!(known == used, "{at}: {successor:?}: known and not held, held and not known: {differing:?}");
    let hosts: Vec<PortId> = view.routed.end_ports().filter(|port| !is_cut_off(port)).collect();
    let is_here = |port: &&PortId| {
        let node = view.routed.node(view.routed.port(**port).node);
        there.by_guid(node.guid).is_some_and(|node| there.node(node).present)
    };
    let hosts: Vec<PortId> = hosts.iter().filter(is_here).copied().collect();
    for (&from, &to) in hosts.iter().zip(hosts.iter().cycle().skip(1)).filter(|(from, to)| from != to) {
        agrees(view, successor, &held, [from, to]).unwrap_or_else(|why| {
            let pair = [from, to].map(|port| view.routed.describe_port(port));
            panic!("{at}: {pair:?}: {why}: {successor:?}")
        });
    }
    let is_known = |&host: &PortId| {
        let at = view.routed.port(host);
        let node = world.fabric.by_guid(view.routed.node(at.node).guid).expect("the same devices");
        successor.registered.contains(&world.fabric.port_at(node, at.num).expect("the same ports"))
    };
    // Where they are told to ask again they do so unseen, and an answer that is lost or refused is awaited for long.
    if !world.setting.fenced && world.setting.loss == 0.0 && world.was_healthy() {
        let unknown: Vec<&PortId> = hosts.iter().filter(|host| !is_known(host)).collect();
        assert!(unknown.is_empty(), "{at}: not asked to register: {unknown:?}: {successor:?}");
    }
    let packets = world.packets();
    assert!(packets.lost_to_change == 0 || may_lose, "{at}: {packets:?}, {successor:?}");
    // Who is left out or dead keeps what stands in it: its links are down. In a run that began warm, the simulator
    // takes a link down at the end alone that was written to, so that a port at the other may stay ARMED.
    let keeps = |lane: &StandingLane| {
        let node = world.fabric.port(lane.port).node;
        left_out.contains(&node) || !reached.node(node).present
    };
    let stuck: Vec<StandingLane> = world.standing().into_iter().filter(|lane| !keeps(lane)).collect();
    assert_eq!(stuck, [], "{at}: {packets:?}, {successor:?}");
    held
}

/// Whether the path that the SA names between two hosts is one by which packets arrive: on the LIDs and the levels of
/// the half in force, by the entries that the switches hold.
fn agrees(view: &Running, manager: &Life, held: &Held, [from, to]: [PortId; 2]) -> Result<(), String> {
    let path = manager.path(from, to).map_err(|status| format!("refused with status 0x{status:04x}"))?;
    let owners = [path.slid, path.dlid].map(|lid| view.routed.lid_owner(lid));
    if owners != [Some(from), Some(to)] {
        return Err(format!("the SA names LIDs of {owners:?}: {path:?}"));
    }
    let halves = [path.slid, path.dlid].map(|lid| {
        [Half::Lower, Half::Upper]
            .into_iter()
            .find(|&half| view.routed.half_lids(view.routed.lid_owner(lid).expect("owned"), half).any(|own| own == lid))
    });
    if view.routed.has_both_halves() && (halves != [Some(view.half); 2] || !view.half.sls().any(|sl| sl == path.sl)) {
        return Err(format!("{path:?} is of the halves {halves:?}, and {:?} is in force", view.half));
    }
    let switch = view.routed.neighbour(from).filter(|&switch| held.leads(&view.routed, switch, path.dlid));
    switch.map(|_| ()).ok_or_else(|| format!("{path:?} leads elsewhere"))
}

/// The nodes of a fabric that another one does not have, by GUIDs.
fn without(fabric: &Fabric, other: &Fabric) -> Vec<NodeId> {
    let is_there = |guid| other.by_guid(guid).is_some_and(|node| other.node(node).present);
    fabric.nodes().filter(|(_, node)| node.present && !is_there(node.guid)).map(|(id, _)| id).collect()
}

/// Whether a manager came by a way on which packets may be lost. Sources that are told where to send are not on the
/// half that is closed, or leave it first, unless so many MADs are lost that nobody waits for their answers.
fn loses(setting: Setting, life: &Life) -> bool {
    life.closed_a_half && (setting.fenced || setting.loss > 0.0) || life.arrival == Some("rewritten")
}

/// The same for a successor in the middle of the setting's change: by forwarding entries alone hosts stay on their
/// half, which nobody closes, and nothing may be lost.
fn may_lose(setting: Setting, life: &Life) -> bool {
    !setting.auto && loses(setting, life)
}

/// What of a fabric another one has too, by GUIDs.
fn within(known: &Fabric, there: &Fabric) -> Fabric {
    let is_there = |guid| there.by_guid(guid).is_some_and(|node| there.node(node).present);
    let others: Vec<_> = known.nodes().filter(|(_, node)| !is_there(node.guid)).map(|(id, _)| id).collect();
    known.without_nodes(&others)
}

/// What was lost to the change at the positions of one.
#[derive(Default)]
struct Losses {
    /// Positions with a loss.
    positions: usize,
    /// Packets at the worst of them.
    worst: u64,
    /// Packets at all of them together, and how many were sent.
    lost: u64,
    sent: u64,
    /// Successors that closed a half, and those that rewrote the subnet.
    closed: usize,
    rewritten: usize,
}

impl Losses {
    fn add(&mut self, world: &World, successor: &Life) {
        let packets = world.packets();
        self.positions += usize::from(packets.lost_to_change > 0);
        self.worst = self.worst.max(packets.lost_to_change);
        self.lost += packets.lost_to_change;
        self.sent += packets.injected;
        self.closed += usize::from(successor.closed_a_half);
        self.rewritten += usize::from(successor.arrival == Some("rewritten"));
    }
}

impl std::fmt::Display for Losses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Losses { positions, worst, lost, sent, closed, rewritten } = self;
        write!(f, "{lost} of {sent} packets lost at {positions} positions, {worst} at most; ")?;
        write!(f, "{closed} closed a half, {rewritten} rewrote")
    }
}

/// Kills a manager at every position of a change; its successor, with the journal, finds the change that was asked for
/// and makes it: the subnet comes to what it comes to undisturbed.
fn resumed_by_itself(setting: Setting, going: Going) -> Losses {
    let mut losses = Losses::default();
    let reference = undisturbed(setting, going);
    let (mut arrivals, mut torn, mut equal, mut tried) = (BTreeMap::new(), 0, 0, 0);
    for position in positions(&reference) {
        // The record that was written last, whole and torn: who dies while writing has not yet acted on it.
        let tears: &[Option<usize>] = match (reference.records.contains(&position), is_thorough()) {
            (true, true) => &[None, Some(0), Some(7), Some(40)],
            (true, false) => &[None, Some(7)],
            (false, _) => &[None],
        };
        for &keep in tears {
            let at = format!("{setting:?}, {going:?}, killed before MAD {position}, torn to {keep:?}");
            let world = World::new(setting);
            let killed = world.manage(world.sm, Some(world.journal()), &going.events(&world), Death::Before(position));
            assert!(killed.was_killed, "{at}: {killed:?}");
            if let Some(keep) = keep {
                torn += 1;
                tear(&world.journal_path(), keep);
            }
            world.pass(200_000);
            let next = world.manage(world.sm, Some(world.journal()), &[], Death::Never);
            let held = sound(&world, world.sm, &next, may_lose(setting, &next), &at);
            losses.add(&world, &next);
            *arrivals.entry(next.arrival.expect("it is up")).or_insert(0) += 1;
            (tried, equal) = (tried + 1, equal + usize::from(held == reference.after));
            // An order that was not yet recorded is forgotten with its manager; whatever dies is found by anyone.
            let is_forgotten = going == Going::Planned && held == reference.before && next.arrival == Some("adopted");
            let is_resumed = next.arrival == Some("resumed");
            // Once it answers with the new half, no host is to come back to the one that is drained and rewritten. Who
            // dies while writing has not moved the SA either, and here it has: the record is torn only afterwards.
            let mut answered = [killed.answered, next.answered.clone()].concat();
            answered.dedup();
            let is_going_on = !is_resumed || keep.is_some() || answered.is_sorted();
            assert!(is_going_on, "{at}: the SA answered with the halves {answered:?}: {next:?}");
            assert!(held == reference.after || is_forgotten || !is_resumed, "{at}: {next:?}");
        }
    }
    println!(
        "{setting:?}, {going:?}: {} MADs, {tried} crashes, {torn} with a torn record: {arrivals:?}, {equal} as \
         undisturbed; {losses}",
        reference.sent
    );
    assert!(arrivals["resumed"] > 0);
    losses
}

/// Between the two managers a host is switched off and on: its port is in INITIALIZE, and no token passes it. The
/// change goes on without it, and it comes back as anything that comes.
#[test]
fn a_host_that_went_off_and_on_meanwhile_does_not_hold_up_a_resumed_change() {
    for going in [Going::Planned, Going::Sudden] {
        let reference = undisturbed(DOUBLE, going);
        let mut resumed = 0;
        for position in positions(&reference) {
            let at = format!("{going:?}, killed before MAD {position}, a host went off and on");
            let world = World::new(DOUBLE);
            let killed = world.manage(world.sm, Some(world.journal()), &going.events(&world), Death::Before(position));
            assert!(killed.was_killed, "{at}: {killed:?}");
            let host = world.fabric.port(world.fabric.end_ports().last().expect("a host")).node;
            assert!(world.switch_off_and_on(host), "{at}");
            world.pass(200_000);
            let next = world.manage(world.sm, Some(world.journal()), &[], Death::Never);
            // What is on its way to it is lost to no change.
            sound(&world, world.sm, &next, true, &at);
            assert!(next.changes.iter().all(|change| change == "Completed"), "{at}: {next:?}");
            resumed += usize::from(next.arrival == Some("resumed"));
        }
        println!("{going:?}: {resumed} resumed");
        assert!(resumed > 0, "{going:?}");
    }
}

/// States of a change by `double`.
const STATES: [&str; 7] = ["splitting", "flushing", "installing", "swapping", "moving", "draining", "restoring"];

/// The manager's own switch is switched off and on in any state of a change: it has lost its tables, nothing passes it,
/// and it cannot count as gone. The change does not stand still: what is there is taken over as it is.
#[test]
fn a_change_is_given_up_at_once_if_the_managers_own_switch_comes_up_anew() {
    let mut given_up = 0;
    for (setting, state) in [DOUBLE, FENCED].iter().flat_map(|&setting| STATES.map(|state| (setting, state))) {
        let at = format!("{setting:?}: the manager's switch goes off and on while {state}");
        let mut world = World::new(setting);
        world.limit_ns = 5_000_000_000;
        let own = world.fabric.neighbour(world.sm).expect("at a switch");
        world.amid(state, 10_000, WorldEvent::Restarts(own));
        let life = world.manage(world.sm, Some(world.journal()), &Going::Planned.events(&world), Death::Never);
        println!("{at}: {} ms, {life:?}", life.took_ns / 1_000_000);
        assert!(life.changes.iter().all(|change| !change.starts_with("Failed")), "{at}: {life:?}");
        assert!(life.took_ns < 2_000_000_000, "{at}: {} ns", life.took_ns);
        sound(&world, world.sm, &life, true, &at);
        given_up += usize::from(life.changes.iter().any(|change| change.starts_with("Abandoned")));
    }
    assert!(given_up > 0);
}

/// The switch that is set aside is switched off and on in any state of that change, or one of its links bounces: it
/// holds what the manager has on record for it, though nobody uses it. Taken back, it carries traffic again.
#[test]
fn what_is_set_aside_and_comes_up_anew_amid_that_change_holds_what_is_on_record() {
    let states = STATES.iter().map(|&state| (state, DOUBLE)).chain(STATES.iter().map(|&state| (state, FENCED)));
    for (state, setting) in states.chain([("rewriting", AUTO)]) {
        let world = World::new(setting);
        let link = world.fabric.ports_of(world.root).find(|&port| world.fabric.peer(port).is_some()).expect("joined");
        for event in [WorldEvent::Restarts(world.root), WorldEvent::Bounces(link)] {
            let at = format!("{setting:?}: {event:?} while {state}, as it is set aside");
            let world = World::new(setting);
            world.amid(state, 10_000, event);
            let life = world.manage(world.sm, Some(world.journal()), &Going::Planned.events(&world), Death::Never);
            assert!(life.changes.iter().any(|change| change == "Completed"), "{at}: {life:?}");
            sound(&world, world.sm, &life, true, &at);
            let back =
                world.manage(world.sm, Some(world.journal()), &[(0, WorldEvent::TakenBack(world.root))], Death::Never);
            sound(&world, world.sm, &back, true, &at);
            let routed = &back.running.as_ref().expect("it is up").routed;
            let root = routed.by_guid(world.fabric.node(world.root).guid).expect("known");
            assert!(routed.node(root).present, "{at}: {back:?}");
        }
    }
}

/// Links that fail and train again in any state of a change: the manager's own, one between switches, a host's. No
/// change stands still for them.
#[test]
fn a_link_that_bounces_amid_a_change_does_not_hold_it_up() {
    let settings = [DOUBLE, FENCED, ARMED];
    let cases = settings.iter().flat_map(|&setting| STATES.map(|state| (setting, state)));
    for (setting, state) in cases.filter(|(setting, _)| is_thorough() || setting.arming == Arming::Off) {
        let links: [fn(&World) -> PortId; 3] = [
            |world| world.sm,
            |world| {
                let fabric = &world.fabric;
                let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
                let apart = |port: PortId| fabric.port(port).node != world.root;
                let is_between = |&(a, b): &(PortId, PortId)| is_switch(a) && is_switch(b) && apart(a) && apart(b);
                fabric.links().find(is_between).expect("switches are joined").0
            },
            |world| world.fabric.end_ports().last().expect("a host"),
        ];
        for link in links {
            let world = World::new(setting);
            let link = link(&world);
            let at = format!("{setting:?}: {} bounces while {state}", world.fabric.describe_port(link));
            world.amid(state, 10_000, WorldEvent::Bounces(link));
            let life = world.manage(world.sm, Some(world.journal()), &Going::Planned.events(&world), Death::Never);
            assert!(life.changes.iter().all(|change| !change.starts_with("Failed")), "{at}: {life:?}");
            assert!(life.took_ns < 2_000_000_000, "{at}: {} ns", life.took_ns);
            sound(&world, world.sm, &life, true, &at);
        }
    }
}

/// The same, and a manager at another port follows, which knows nothing of the journal.
fn recovered_by_a_standby(setting: Setting, going: Going) -> Losses {
    recovered(setting, going, Heir::Standby)
}

/// The same with any successor that has no journal.
fn recovered(setting: Setting, going: Going, heir: Heir) -> Losses {
    let reference = undisturbed(setting, going);
    let (mut arrivals, mut ends, mut losses) = (BTreeMap::new(), (0, 0), Losses::default());
    for position in positions(&reference) {
        let at = format!("{setting:?}, {going:?}, killed before MAD {position}, {heir:?} follows");
        let world = World::new(setting);
        let killed = world.manage(world.sm, Some(world.journal()), &going.events(&world), Death::Before(position));
        assert!(killed.was_killed, "{at}: {killed:?}");
        world.pass(200_000);
        let next = heir.manages(&world);
        let held = sound(&world, heir.port(&world), &next, may_lose(setting, &next), &at);
        losses.add(&world, &next);
        ends.0 += usize::from(held == reference.before);
        ends.1 += usize::from(held == reference.after);
        // Nothing is lost, so nothing moves hosts once it has found which half they are on.
        let half = next.running.as_ref().map(|running| running.half);
        let is_steady = going == Going::Sudden || next.answered.iter().copied().eq(half);
        assert!(is_steady, "{at}: the SA answered with the halves {:?}, {half:?} is in force: {next:?}", next.answered);
        *arrivals.entry(next.arrival.expect("it is up")).or_insert(0) += 1;
    }
    let (before, after) = ends;
    println!(
        "{setting:?}, {going:?}, {heir:?}: {} MADs: {arrivals:?}; tables as before {before}, as undisturbed {after}; \
         {losses}",
        reference.sent
    );
    losses
}

#[test]
fn a_planned_change_by_double_is_resumed() {
    resumed_by_itself(DOUBLE, Going::Planned);
}

#[test]
fn a_loss_routed_around_by_double_is_resumed() {
    resumed_by_itself(DOUBLE, Going::Sudden);
}

/// What stays ARMED would hold its packets for ever: the world comes to rest only if the successor makes it ACTIVE.
#[test]
fn a_change_that_arms_ports_is_resumed() {
    resumed_by_itself(ARMED, Going::Planned);
}

#[test]
fn a_standby_makes_ports_active_that_stayed_armed() {
    recovered_by_a_standby(ARMED, Going::Planned);
}

#[test]
fn a_change_behind_a_fence_is_resumed() {
    resumed_by_itself(FENCED, Going::Planned);
}

#[test]
fn a_loss_repaired_by_entries_alone_is_resumed() {
    resumed_by_itself(AUTO, Going::Sudden);
}

#[test]
fn a_standby_recovers_a_planned_change_by_double() {
    recovered_by_a_standby(DOUBLE, Going::Planned);
}

#[test]
fn a_standby_recovers_what_a_fence_closed() {
    recovered_by_a_standby(FENCED, Going::Planned);
}

#[test]
fn a_standby_recovers_a_loss_repaired_by_entries_alone() {
    recovered_by_a_standby(AUTO, Going::Sudden);
}

/// E.8: a host whose agent fails at our attribute stays on the half that is closed. All others are waited for all the
/// same: each is asked whether it has left that half, before and after all has aged that was sent.
#[test]
fn a_host_that_does_not_leave_a_half_ends_the_wait_for_no_other() {
    for sickness in [Sickness::Refuses, Sickness::Silent, Sickness::Ignores] {
        let at = format!("{sickness:?}");
        let world = World::new(DOUBLE);
        let death = Death::Before(309);
        let killed = world.manage(world.sm, Some(world.journal()), &Going::Planned.events(&world), death);
        assert!(killed.was_killed, "{at}: {killed:?}");
        world.pass(200_000);
        let host = world.fabric.port(world.fabric.end_ports().last().expect("a host")).node;
        world.sicken(host, SickAttribute { attribute: AttributeId::ActiveHalf, sickness, writes_only: false });
        let next = world.manage(world.other_port(), None, &[], Death::Never);
        sound(&world, world.other_port(), &next, true, &at);
        assert!(next.closed_a_half, "{at}: {next:?}");
        let others = world.fabric.end_ports().count() - 1;
        assert!(next.halves_asked >= 2 * others, "{at}: {} questions to {others} hosts", next.halves_asked);
        assert!(next.degraded.iter().any(|what| what.contains("ActiveHalf")), "{at}: {:?}", next.degraded);
    }
}

/// Hosts know the manager before by a LID of its own, not of the port at which the standby is.
#[test]
fn a_standby_goes_on_with_the_half_that_hosts_use() {
    let world = World::new(Setting { load: 0.02, ..DOUBLE });
    let first = world.manage(world.sm, Some(world.journal()), &Going::Planned.events(&world), Death::Never);
    assert_eq!(first.running.expect("at rest").half, Half::Upper, "a change by `double` ends there");
    world.pass(1_000_000);
    let taken = [world.sm, world.other_port()].map(|port| world.fabric.neighbour(port).expect("at a switch"));
    let others = world.fabric.switches().filter(|node| *node != world.root && !taken.contains(node));
    let another = others.last().expect("sixteen switches");
    let next = world.manage(world.other_port(), None, &[(0, WorldEvent::Removed(another))], Death::Never);
    assert_eq!(next.answered, BOTH_IN_TURN, "{next:?}");
    assert_eq!(world.packets().lost_to_change, 0, "{next:?}");
}

/// Nobody follows, but `reconfig rescue` from another port: from whatever moment of a change behind a fence, no host is
/// fenced any more, whoever manages next.
#[test]
fn rescue_opens_what_any_moment_left_closed() {
    let reference = undisturbed(FENCED, Going::Planned);
    let (mut tried, mut fenced) = (0, 0);
    for position in positions(&reference) {
        let at = format!("killed before MAD {position}, rescued");
        let world = World::new(FENCED);
        let death = Death::Before(position);
        let killed = world.manage(world.sm, Some(world.journal()), &Going::Planned.events(&world), death);
        assert!(killed.was_killed, "{at}: {killed:?}");
        world.pass(200_000);
        let other = world.other_port();
        let closed = world.held(other).closed();
        let (found, rest) = world.rescue(other);
        assert_eq!(found > 0, !closed.is_empty(), "{at}: {closed:?}");
        assert_eq!((rest, world.held(other).closed()), (vec![], BTreeSet::new()), "{at}");
        (tried, fenced) = (tried + 1, fenced + usize::from(found > 0));
        let next = world.manage(other, None, &[], Death::Never);
        sound(&world, other, &next, loses(world.setting, &next), &at);
    }
    println!("{} MADs, {tried} crashes, {fenced} left something closed", reference.sent);
    assert!(fenced > 0, "some moments are behind the fence");
}

/// The successor is killed too, again and again, each time a little later.
#[test]
fn successors_that_are_killed_are_resumed_by_theirs() {
    let reference = undisturbed(DOUBLE, Going::Planned);
    let world = World::new(DOUBLE);
    let mut next = world.manage(
        world.sm,
        Some(world.journal()),
        &Going::Planned.events(&world),
        Death::Before(reference.sent / 2),
    );
    let mut lives = 1;
    while next.was_killed {
        world.pass(100_000);
        // Reading the subnet takes some hundred MADs before the first write.
        next = world.manage(world.sm, Some(world.journal()), &[], Death::Before(200 + 100 * lives));
        lives += 1;
        assert!(lives < 100, "never at rest");
    }
    assert!(lives > 4, "only {lives} lives");
    let held = sound(&world, world.sm, &next, false, "killed again and again");
    assert!(held == reference.after, "{next:?}: {:?}", held.differences(&reference.after));
}

/// Behind P5.4 a half may hold parts of two routings, and is then closed before anything is proved. `--takeover proved`
/// refuses that, and writes no table. Where a manager has closed it that died before its plan began, it goes on: no
/// table is written either before all that was sent until then has come to its end, and the rest is proved.
#[test]
fn whoever_wants_a_proof_does_not_close_a_half_and_goes_on_where_it_is_closed() {
    let reference = undisturbed(DOUBLE, Going::Planned);
    let (mut refused, mut gone_on) = (0, 0);
    let step = if is_thorough() { 1 } else { 12 };
    // Between the end of the change and the end of the mirror.
    for position in (reference.sent * 3 / 4..reference.sent).step_by(step) {
        let at = format!("killed before MAD {position}");
        let died = |closing: bool| {
            let mut world = World::new(DOUBLE);
            let death = Death::Before(position);
            world.manage(world.sm, Some(world.journal()), &Going::Planned.events(&world), death);
            world.pass(200_000);
            let is_closing = |life: &Life| life.closed_a_half && life.first_table_ns.is_some();
            if closing {
                let next = world.manage(world.other_port(), None, &[], Death::OnceWritten);
                if !is_closing(&next) || world.held(world.sm).closed().is_empty() {
                    return None;
                }
                world.pass(200_000);
            }
            world.takeover = Takeover::Proved;
            Some(world)
        };
        let Some(world) = died(true) else { continue };
        let next = world.manage(world.sm, None, &[], Death::Never);
        sound(&world, world.sm, &next, true, &at);
        assert_eq!(
            (next.arrival, next.changes.first().map(String::as_str)),
            (Some("recovered"), Some("Completed")),
            "{at}"
        );
        let written_ns = next.entered.iter().find(|(state, _)| *state == "rewriting").map(|&(_, ns)| ns);
        assert_eq!(next.entered.first().map(|&(state, _)| state), Some("vacating"), "{at}: {:?}", next.entered);
        assert!(next.first_table_ns >= written_ns && written_ns.is_some(), "{at}: {:?}", next.entered);
        gone_on += 1;
        // The same subnet, where nobody has closed the half.
        let world = died(false).expect("a world");
        let before = world.held(world.sm);
        let next = world.manage(world.sm, None, &[], Death::OnceAnnounced);
        if next.failures.iter().any(|why| why.contains("--takeover proved")) {
            assert_eq!((next.arrival, next.first_table_ns), (None, None), "{at}: {next:?}");
            assert!(world.held(world.sm) == before, "{at}: {next:?}");
            refused += 1;
        }
    }
    println!("{refused} refused, {gone_on} gone on with");
    assert!(refused > 0 && gone_on > 0);
}

/// A plan for hosts that are told is not resumed by a manager that has them ask again: it is recovered by the
/// tables.
#[test]
fn a_successor_with_another_way_of_moving_sources_does_not_go_on() {
    let reference = undisturbed(DOUBLE, Going::Planned);
    let world = World::new(DOUBLE);
    let death = Death::Before(reference.sent / 3);
    let killed = world.manage(world.sm, Some(world.journal()), &Going::Planned.events(&world), death);
    assert!(killed.was_killed, "{killed:?}");
    let mut world = world;
    world.setting = Setting { fenced: true, load: 0.0, ..DOUBLE };
    let next = world.manage(world.sm, Some(world.journal()), &[], Death::Never);
    sound(&world, world.sm, &next, true, "told before, fenced now");
    assert_ne!(next.arrival, Some("resumed"), "{next:?}");
    let (entries, _) = reconfig::journal::read(&world.journal_path()).expect("a journal");
    let why = entries.iter().find_map(|entry| match &entry.record {
        reconfig::journal::JournalRecord::Abandoned { why } => Some(why.clone()),
        _ => None,
    });
    assert!(why.is_some_and(|why| why.contains("moved by way of `told`")), "{next:?}");
}
