//! What a user has ordered away stays out of the routing until it is taken back or has left: whatever dies meanwhile,
//! whoever falls silent, and whoever manages the subnet next.

use super::masters::both;
use super::scene::{S, Scene, Setup};
use reconfig::drain::Observer;
use reconfig::ids::{Lid, PortNum};
use reconfig::journal::{Journal, JournalEntry, JournalError, JournalFile, JournalRecord};
use reconfig::machine::Outcome;
use reconfig::sim::{SickAttribute, Sickness, SimConfig};
use reconfig::sm::{Happening, ManagerOrder, OrderAnswer, SubnetArrival, SubnetElement, Takeover};
use reconfig::wire::AttributeId;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

const SPINE: &str = "spine-1";

fn cold() -> Scene {
    Scene::cold("fat-tree:4,2", SimConfig::default(), setup(), &[])
}

fn setup() -> Setup {
    Setup { engine: "fat-tree", takeover: Takeover::Rewrite, ..Setup::default() }
}

fn is_up(scene: &mut Scene) {
    assert!(scene.until(5 * S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
    scene.pass(5 * S);
}

/// A subnet of which the first spine was ordered away.
fn without_spine(journal: &Path) -> Scene {
    let mut scene = cold().recorded(setup(), journal);
    is_up(&mut scene);
    assert_ne!(rows_over(&scene, SPINE), 0, "the test wants a spine that is used");
    let element = SubnetElement::Switch(SPINE.to_string());
    order(&mut scene, ManagerOrder::SetAside { element, dry_run: false, cut_off_meant: false });
    assert_eq!((rows_over(&scene, SPINE), aside(&scene)), (0, vec![SPINE.to_string()]));
    scene
}

fn order(scene: &mut Scene, order: ManagerOrder) {
    scene.mailbox.borrow_mut().order(order);
    scene.pass(5 * S);
}

fn take_back() -> ManagerOrder {
    ManagerOrder::TakeBack(SubnetElement::Switch(SPINE.to_string()))
}

fn aside(scene: &Scene) -> Vec<String> {
    scene.mailbox.borrow().view.aside.clone()
}

/// Rows of leaves that lead to hosts through a spine.
fn rows_over(scene: &Scene, spine: &str) -> usize {
    let spine = scene.node(spine);
    let lids: Vec<Lid> = scene.fabric.end_ports().map(|port| scene.transport.with(|sim| sim.port_lid(port))).collect();
    let leads = |&(switch, lid): &(_, Lid)| {
        let port =
            scene.transport.with(|sim| sim.output(switch, lid)).and_then(|num| scene.fabric.port_at(switch, num));
        port.and_then(|port| scene.fabric.neighbour(port)) == Some(spine)
    };
    let leaves = scene.fabric.switches().filter(|&switch| !scene.hosts_on(switch).is_empty());
    leaves.flat_map(|leaf| lids.iter().map(move |&lid| (leaf, lid))).filter(leads).count()
}

/// Whether the routing in force serves the spine, to whose own LID rows lead then.
fn is_routed(scene: &Scene) -> bool {
    let view = &scene.mailbox.borrow().view;
    let routed = &view.running.as_ref().expect("it is up").routed;
    let spine = routed.by_guid(scene.fabric.node(scene.node(SPINE)).guid).expect("it is known");
    let lid = scene
        .transport
        .with(|sim| sim.port_lid(scene.fabric.port_at(scene.node(SPINE), PortNum::ZERO).expect("a switch")));
    let leaf = scene.node("leaf-4");
    routed.node(spine).present && scene.transport.with(|sim| sim.output(leaf, lid)).is_some()
}

#[test]
fn a_loss_after_a_restart_is_not_routed_over_what_is_set_aside() {
    let folder = tempfile::tempdir().expect("room");
    let path = folder.path().join("sm.journal");
    let mut scene = without_spine(&path).recorded(setup(), &path);
    is_up(&mut scene);
    assert_eq!(scene.arrival(), Some(SubnetArrival::Adopted));
    let dead = scene.node("spine-3");
    scene.transport.with(|sim| sim.kill(dead));
    scene.pass(5 * S);
    assert_eq!((rows_over(&scene, SPINE), scene.unreached(&[])), (0, vec![]), "{:?}", scene.failures());
}

fn answers(scene: &Scene) -> Vec<OrderAnswer> {
    let said = scene.said.borrow();
    let answered = |said: &Happening| match said {
        Happening::Answered(_, answer) => Some(answer.clone()),
        _ => None,
    };
    said.iter().filter_map(answered).collect()
}

/// It does not matter which was ordered first.
#[test]
fn a_cable_of_a_switch_that_is_set_aside_stays_so_when_the_switch_is_taken_back() {
    let folder = tempfile::tempdir().expect("room");
    let mut scene = without_spine(&folder.path().join("sm.journal"));
    let element = SubnetElement::Link(format!("{SPINE}:1"));
    order(&mut scene, ManagerOrder::SetAside { element: element.clone(), dry_run: true, cut_off_meant: false });
    assert_eq!(aside(&scene).len(), 1, "a dry run changes nothing");
    order(&mut scene, ManagerOrder::SetAside { element, dry_run: false, cut_off_meant: false });
    order(&mut scene, take_back());
    assert!(is_routed(&scene), "{:?}", scene.failures());
    let (aside, port) = (aside(&scene), scene.fabric.port_at(scene.node(SPINE), PortNum(1)).expect("it is cabled"));
    assert_eq!(aside, ["leaf-1[5]"], "its other end");
    let view = &scene.mailbox.borrow().view;
    let routed = &view.running.as_ref().expect("it is up").routed;
    let spine = routed.by_guid(scene.fabric.node(scene.node(SPINE)).guid).expect("it is known");
    let port = routed.port_at(spine, scene.fabric.port(port).num).expect("the same ports");
    assert_eq!(routed.peer(port), None);
}

/// By whichever name: it is used when it returns, and nobody is to believe that it is set aside.
#[test]
fn what_is_gone_cannot_be_set_aside() {
    let mut scene = cold();
    is_up(&mut scene);
    let dead = scene.node("spine-3");
    scene.transport.with(|sim| sim.kill(dead));
    scene.pass(5 * S);
    for name in ["spine-3".to_string(), scene.fabric.node(dead).guid.to_string()] {
        let element = SubnetElement::Switch(name);
        order(&mut scene, ManagerOrder::SetAside { element, dry_run: false, cut_off_meant: false });
        let answers = answers(&scene);
        let told = matches!(answers.last(), Some(OrderAnswer::Refused(why)) if why.starts_with("spine-3 is not found"));
        assert!(told, "{answers:?}");
    }
    assert_eq!(aside(&scene), [""; 0]);
}

#[test]
fn what_was_set_aside_before_a_restart_is_used_once_it_is_taken_back() {
    let folder = tempfile::tempdir().expect("room");
    let path = folder.path().join("sm.journal");
    let mut scene = without_spine(&path).recorded(setup(), &path);
    is_up(&mut scene);
    assert!(!is_routed(&scene));
    order(&mut scene, take_back());
    assert!(is_routed(&scene), "{:?}", scene.failures());
    assert_eq!((aside(&scene), scene.unreached(&[])), (vec![], vec![]));
}

/// On the island that is left to the manager, one port that is down is all that is seen of the spine.
#[test]
fn what_is_set_aside_stays_so_while_the_managers_own_leaf_is_cut_off() {
    let folder = tempfile::tempdir().expect("room");
    let mut scene = without_spine(&folder.path().join("sm.journal"));
    let cables = scene.uplinks("leaf-1");
    scene.transport.with(|sim| cables.iter().for_each(|&cable| sim.kill(cable)));
    // More surveys than a silent element is waited for.
    scene.pass(60 * S);
    assert_eq!(aside(&scene), [SPINE]);
    scene.transport.with(|sim| cables.iter().for_each(|&cable| sim.revive(cable)));
    scene.pass(20 * S);
    assert_eq!((aside(&scene), rows_over(&scene, SPINE)), (vec![SPINE.to_string()], 0), "{:?}", scene.failures());
    assert_eq!(scene.unreached(&[]), []);
}

/// The other spines die: nothing else would lead there, and that is no secret.
#[test]
fn hosts_that_are_cut_off_beside_what_is_set_aside_are_reported() {
    let folder = tempfile::tempdir().expect("room");
    let mut scene = without_spine(&folder.path().join("sm.journal"));
    let cut_off = |scene: &Scene| scene.mailbox.borrow().view.cut_off.clone();
    assert_eq!(cut_off(&scene), None);
    let others = ["spine-2", "spine-3", "spine-4"].map(|name| scene.node(name));
    scene.transport.with(|sim| others.into_iter().for_each(|spine| sim.kill(spine)));
    scene.pass(20 * S);
    let why = cut_off(&scene).expect("twelve of sixteen hosts have no way");
    assert!(why.starts_with("12 end ports are cut off, host-5 HCA-1[1] first, while spine-1 is set aside"), "{why}");
    order(&mut scene, take_back());
    scene.pass(10 * S);
    assert_eq!((cut_off(&scene), scene.unreached(&[])), (None, Vec::new()));
}

/// The plan that the heir makes for the loss shows the removal no more.
#[test]
fn a_removal_that_a_loss_meets_while_no_manager_runs_is_made_all_the_same() {
    let setup = || Setup { auto: false, ..setup() };
    let mut resumed = 0;
    for after_ns in [S / 500, S / 50] {
        let folder = tempfile::tempdir().expect("room");
        let path = folder.path().join("sm.journal");
        let cold = Scene::cold("fat-tree:4,2", SimConfig::default(), setup(), &[]);
        let mut scene = cold.recorded(setup(), &path);
        is_up(&mut scene);
        let element = SubnetElement::Switch(SPINE.to_string());
        scene.mailbox.borrow_mut().order(ManagerOrder::SetAside { element, dry_run: false, cut_off_meant: false });
        let begun = |scene: &Scene| scene.said.borrow().iter().any(|said| matches!(said, Happening::Begun { .. }));
        assert!(scene.until(5 * S, begun));
        scene.pass(after_ns);
        let cable = scene.fabric.ports_of(scene.node("spine-3")).find(|&port| scene.fabric.peer(port).is_some());
        let cable = cable.expect("a cable");
        scene.transport.with(|sim| sim.kill(cable));
        let mut scene = scene.recorded(setup(), &path);
        is_up(&mut scene);
        if matches!(scene.arrival(), Some(SubnetArrival::Resumed { .. })) {
            resumed += 1;
            scene.pass(20 * S);
            let left = (aside(&scene), rows_over(&scene, SPINE));
            assert_eq!(left, (vec![SPINE.to_string()], 0), "{after_ns} ns: {:?}", scene.failures());
        }
    }
    assert_ne!(resumed, 0, "some of these meet the change under way");
}

#[test]
fn a_subnet_without_power_comes_up_without_what_is_set_aside() {
    let folder = tempfile::tempdir().expect("room");
    let path = folder.path().join("sm.journal");
    drop(without_spine(&path));
    let mut scene = cold().recorded(setup(), &path);
    is_up(&mut scene);
    assert_eq!(scene.arrival(), Some(SubnetArrival::Cold));
    assert_eq!((rows_over(&scene, SPINE), scene.unreached(&[])), (0, vec![]), "{:?}", scene.failures());
    assert_eq!(aside(&scene), [SPINE]);
    order(&mut scene, take_back());
    assert!(is_routed(&scene), "{:?}", scene.failures());
    assert_eq!(scene.unreached(&[]), []);
}

/// By age, a removal waits for packets in what leaves. Who dies meanwhile cuts hosts off, and they do not wait.
#[test]
fn a_loss_while_what_leaves_empties_is_routed_around_at_once_and_the_removal_is_made() {
    let setup = Setup { observer: Observer::Lifetime, life_time_value: 17, ..setup() };
    let folder = tempfile::tempdir().expect("room");
    let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), setup, &[]);
    scene = scene.recorded(setup, &folder.path().join("sm.journal"));
    is_up(&mut scene);
    let element = SubnetElement::Switch(SPINE.to_string());
    scene.mailbox.borrow_mut().order(ManagerOrder::SetAside { element, dry_run: false, cut_off_meant: false });
    assert!(scene.until(S, |scene| rows_over(scene, SPINE) == 0), "its entries are written");
    scene.pass(S / 10);
    let (dead, began_ns) = (scene.node("spine-3"), scene.now_ns());
    assert_ne!(rows_over(&scene, "spine-3"), 0, "paths lead over it");
    scene.transport.with(|sim| sim.kill(dead));
    assert!(scene.until(S / 5, |scene| rows_over(scene, "spine-3") == 0), "hosts wait for what leaves to empty");
    assert_eq!(answers(&scene).len(), 0, "{:?}: it is not known yet that the spine is empty", answers(&scene));
    assert!(scene.until(10 * S, |scene| answers(scene).len() == 1));
    assert!(scene.now_ns() - began_ns > S, "that is known after three lifetimes alone");
    let answers = answers(&scene);
    let Some(OrderAnswer::Changed(record)) = answers.last() else { panic!("{answers:?}") };
    assert_eq!((&record.outcome, record.restarts), (&Outcome::Completed, 1));
    scene.pass(5 * S);
    assert_eq!((aside(&scene), rows_over(&scene, SPINE)), (vec![SPINE.to_string()], 0), "{:?}", scene.failures());
    assert_eq!(scene.unreached(&[]), []);
    // Until the change for the loss begins, who dies leaves a removal that waits.
    let records = reconfig::journal::read(&folder.path().join("sm.journal")).expect("whole").0;
    let kind = |entry: &JournalEntry| match entry.record {
        JournalRecord::Begun(_) => Some("begun"),
        JournalRecord::Completed | JournalRecord::Abandoned { .. } | JournalRecord::CalledOff { .. } => Some("ended"),
        _ => None,
    };
    assert_eq!(records.iter().filter_map(kind).collect::<Vec<_>>(), ["begun", "begun", "ended"], "{records:?}");
}

/// Another manager may have used it meanwhile.
#[test]
fn what_is_set_aside_and_routed_all_the_same_is_taken_out_of_the_routing() {
    let folder = tempfile::tempdir().expect("room");
    let path = folder.path().join("sm.journal");
    let mut scene = cold();
    is_up(&mut scene);
    let guid = scene.fabric.node(scene.node(SPINE)).guid;
    Journal::open(&path, 0).expect("room").0.record_aside(0, vec![guid.to_string()]).expect("room");
    let mut scene = scene.recorded(setup(), &path);
    is_up(&mut scene);
    assert_eq!((rows_over(&scene, SPINE), scene.unreached(&[])), (0, vec![]), "{:?}", scene.failures());
    assert_eq!(aside(&scene), [SPINE]);
}

/// A manager that records nothing hands the subnet over, stands by, and gets it again when the other one dies.
#[test]
fn what_is_set_aside_stays_so_while_another_manager_is_master() {
    let mut first = cold();
    is_up(&mut first);
    let element = SubnetElement::Switch(SPINE.to_string());
    order(&mut first, ManagerOrder::SetAside { element, dry_run: false, cut_off_meant: false });
    let mut second = first.beside("host-9 HCA-1", Setup { priority: 1, ..setup() });
    let port = first.port("host-9 HCA-1");
    first.transport.with(|sim| sim.set_is_sm(port, true));
    first.mailbox.borrow_mut().order(ManagerOrder::Sweep);
    let handed = |one: &Scene, other: &Scene| (one.role(), other.role()) == ("standby", "master");
    assert!(both(&mut first, &mut second, 60 * S, handed), "{} {}", first.role(), second.role());
    both(&mut first, &mut second, 5 * S, |_, _| false);
    assert_eq!((aside(&first), aside(&second)), (vec![SPINE.to_string()], vec![]));
    second.transport.hang_up();
    drop(second);
    first.transport.with(|sim| sim.set_is_sm(port, false));
    assert!(first.until(60 * S, |first| first.role() == "master"), "{:?}", first.failures());
    first.pass(10 * S);
    assert_eq!((rows_over(&first, SPINE), aside(&first)), (0, vec![SPINE.to_string()]), "{:?}", first.failures());
    assert_eq!(first.unreached(&[]), []);
    order(&mut first, take_back());
    assert_eq!((is_routed(&first), aside(&first)), (true, vec![]), "{:?}", first.failures());
}

#[test]
fn one_silent_sweep_does_not_take_back_what_is_set_aside() {
    let folder = tempfile::tempdir().expect("room");
    let mut scene = without_spine(&folder.path().join("sm.journal"));
    let spine = scene.node(SPINE);
    let sick = SickAttribute { attribute: AttributeId::SwitchInfo, sickness: Sickness::Silent, writes_only: false };
    for _ in 0..2 {
        scene.transport.with(|sim| sim.sicken_node(spine, sick));
        order(&mut scene, ManagerOrder::Sweep);
        assert_eq!(aside(&scene), [SPINE]);
        scene.transport.with(|sim| sim.heal_node(spine));
        order(&mut scene, ManagerOrder::Sweep);
        assert_eq!((rows_over(&scene, SPINE), aside(&scene)), (0, vec![SPINE.to_string()]));
    }
    // Who is silent in four sweeps in a row counts as gone.
    scene.transport.with(|sim| sim.sicken_node(spine, sick));
    for _ in 0..4 {
        assert_eq!(aside(&scene), [SPINE]);
        order(&mut scene, ManagerOrder::Sweep);
    }
    assert_eq!(aside(&scene), [""; 0]);
}

#[test]
fn what_is_switched_off_and_on_is_no_longer_set_aside() {
    let folder = tempfile::tempdir().expect("room");
    let mut scene = without_spine(&folder.path().join("sm.journal"));
    let spine = scene.node(SPINE);
    scene.transport.with(|sim| sim.kill(spine));
    scene.pass(10 * S);
    assert_eq!(aside(&scene), [""; 0]);
    scene.transport.with(|sim| sim.revive(spine));
    scene.pass(10 * S);
    assert!(is_routed(&scene), "{:?}", scene.failures());
    assert_eq!(scene.unreached(&[]), []);
}

/// A journal that has lost what was set aside: the user is told so until something is ordered.
#[test]
fn what_a_journal_has_forgotten_is_said() {
    let folder = tempfile::tempdir().expect("room");
    let path = folder.path().join("sm.journal");
    drop(without_spine(&path));
    let mut bytes = std::fs::read(&path).expect("it was written");
    let half = bytes.len() / 2;
    bytes[half..].fill(0);
    std::fs::write(&path, &bytes).expect("room");
    let mut scene = cold().recorded(setup(), &path);
    is_up(&mut scene);
    assert_eq!(aside(&scene), [""; 0]);
    let gap = |scene: &Scene| scene.mailbox.borrow().view.journal_gap.clone();
    let said = |scene: &Scene| scene.said.borrow().iter().any(|said| matches!(said, Happening::Forgotten(_)));
    assert!(
        gap(&scene).is_some_and(|why| why.contains("is unknown: order it again")) && said(&scene),
        "{:?}",
        gap(&scene)
    );
    let element = SubnetElement::Switch(SPINE.to_string());
    order(&mut scene, ManagerOrder::SetAside { element, dry_run: false, cut_off_meant: false });
    assert_eq!((aside(&scene), gap(&scene)), (vec![SPINE.to_string()], None));
}

/// A journal whose disk is full at times; emptying it takes no room.
struct Disk {
    path: PathBuf,
    is_full: Rc<Cell<bool>>,
}

impl JournalFile for Disk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut file = File::options().append(true).create(true).open(&self.path)?;
        let room = if self.is_full.get() { bytes.len().min(11) } else { bytes.len() };
        file.write_all(&bytes[..room])?;
        if room < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        File::options().write(true).open(&self.path)?.set_len(len)
    }

    fn renew(&mut self, _: &Path, _: &Path, _: &[u8]) -> Result<(), JournalError> {
        unreachable!("the journal is small")
    }
}

/// A removal that is refused because the disk is full is trouble only as long as that is so.
#[test]
fn a_journal_that_has_room_again_is_no_trouble() {
    let folder = tempfile::tempdir().expect("room");
    let path = folder.path().join("sm.journal");
    let is_full = Rc::new(Cell::new(false));
    let disk = Disk { path: path.clone(), is_full: is_full.clone() };
    let journal = Journal::begin(Box::new(disk), &path, 0).expect("there is room");
    let mut scene = cold().recorded_in(setup(), journal);
    is_up(&mut scene);
    let unrecorded = |scene: &Scene| scene.mailbox.borrow().view.unrecorded.clone();
    is_full.set(true);
    let element = SubnetElement::Switch(SPINE.to_string());
    order(&mut scene, ManagerOrder::SetAside { element, dry_run: false, cut_off_meant: false });
    scene.pass(12 * S);
    assert!(unrecorded(&scene).is_some_and(|why| why.contains("takes no record")), "{:?}", unrecorded(&scene));
    is_full.set(false);
    scene.pass(12 * S);
    assert_eq!(unrecorded(&scene), None);
    let (journal, told) = Journal::open(&path, 0).expect("the file is whole");
    assert_eq!((journal.gap(), told), (None, Vec::new()));
}

/// While the disk is full, what the journal says of earlier orders is no longer so: no later manager goes by it. Once
/// there is room, the same manager records again, first of all what is set aside now.
#[test]
fn a_journal_that_was_given_up_is_believed_by_nobody() {
    for has_room_again in [false, true] {
        let folder = tempfile::tempdir().expect("room");
        let path = folder.path().join("sm.journal");
        let is_full = Rc::new(Cell::new(false));
        let disk = Disk { path: path.clone(), is_full: is_full.clone() };
        let journal = Journal::begin(Box::new(disk), &path, 0).expect("there is room");
        let mut scene = cold().recorded_in(setup(), journal);
        is_up(&mut scene);
        let remove = |spine: &str| {
            let element = SubnetElement::Switch(spine.to_string());
            ManagerOrder::SetAside { element, dry_run: false, cut_off_meant: false }
        };
        order(&mut scene, remove(SPINE));
        assert_eq!(aside(&scene), [SPINE]);
        is_full.set(true);
        scene.said.borrow_mut().clear();
        order(&mut scene, take_back());
        // It is not begun, and that is what the user hears.
        assert_eq!(rows_over(&scene, SPINE), 0);
        let told = scene.said.borrow().iter().find_map(|said| match said {
            Happening::Answered(_, answer) => Some(answer.clone()),
            _ => None,
        });
        assert!(matches!(&told, Some(OrderAnswer::NotDone(why)) if why.contains("sm.journal")), "{told:?}");
        scene.pass(40 * S);
        let instead = |scene: &Scene| scene.mailbox.borrow().view.unrecorded.clone();
        assert!(instead(&scene).is_some_and(|why| why.contains("without a journal")), "{:?}", instead(&scene));
        assert_ne!(rows_over(&scene, SPINE), 0, "{:?}", scene.failures());
        order(&mut scene, remove("spine-2"));
        assert_eq!(rows_over(&scene, "spine-2"), 0);
        is_full.set(!has_room_again);
        scene.pass(15 * S);
        assert_eq!(instead(&scene).is_none(), has_room_again, "{:?}", instead(&scene));
        let mut scene = scene.recorded(setup(), &path);
        is_up(&mut scene);
        let known: &[&str] = if has_room_again { &["spine-2"] } else { &[] };
        assert_eq!(aside(&scene), known);
        // What was adopted stays as it is.
        assert_eq!((rows_over(&scene, SPINE) > 0, rows_over(&scene, "spine-2")), (true, 0));
    }
}
