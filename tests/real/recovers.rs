//! What a manager that was killed during a change leaves, and what others leave that never knew halves: whoever takes
//! over with defaults brings the subnet to one routing on all lanes, and no host stays fenced.

use super::agree::Expected;
use super::brings_up::{BOTH, all_is_well, expected, topology};
use super::fabrics::{Net, generated};
use super::opensm::OpenSm;
use super::sm::{OVER, Place, Sm, without};
use super::subnet::Subnet;
use super::told::sl_to_vl;
use super::{installed, side_by_side};
use crate::support::is_thorough;
use crate::support::schema::assert_keeps;
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::{Half, Vl};
use reconfig::plan::{LanePartition, Lanes};
use reconfig::tables::SlToVl;
use reconfig_measuring::process::run::Ended;
use std::time::{Duration, Instant};

/// How long a manager may take to come to a barrier, or two to agree.
const LIMIT: Duration = Duration::from_secs(90);
/// How long a successor may take from its start to SUBNET UP: its waits are lifetimes of a millisecond, and the 0.2 s
/// that hosts are given.
const RECOVERING: Duration = Duration::from_secs(20);
/// Barriers of a planned removal by `double`: of split two, of install one, of swap two, of drain and restore one each.
pub const BARRIERS: usize = 7;

fn net() -> Net {
    generated("fat-tree:4,2", 0)
}

/// Lets a change that waits at every barrier go on until it stands at the `nth`; whether it came so far.
fn at_barrier(manager: &Sm, subnet: &Subnet, nth: usize) -> bool {
    for passed in 1..=nth {
        let come = || manager.count("waiting to be continued") >= passed || manager.count(OVER) > 0;
        subnet.wait("the next barrier", LIMIT, come);
        if manager.count("waiting to be continued") < passed {
            return false;
        }
        if passed < nth {
            let ended = manager.ask(subnet, "change", &["--continue"]);
            assert_eq!(ended.code, Some(0), "change --continue: {}", ended.errors);
        }
    }
    true
}

/// A successor with defaults brings the subnet up in time, and everything outside agrees that it is sound.
fn successor(subnet: &Subnet, node: &str, topology: &Fabric, sign: &str, options: &[&str]) -> Sm {
    let begun = Instant::now();
    let next = Sm::bring_up(subnet, node, options);
    assert!(begun.elapsed() < RECOVERING, "{:?} until SUBNET UP\n{}", begun.elapsed(), next.log());
    assert_eq!(next.count(sign), 1, "{sign}\n{}", next.log());
    // Asked for a sweep, it answers when nothing is left to do.
    let swept = next.ask(subnet, "status", &["--sweep"]);
    assert_eq!(swept.code, Some(0), "{}", swept.errors);
    let half = if next.status(subnet)["half"] == "upper" { Half::Upper } else { Half::Lower };
    all_is_well(subnet, &expected(topology, 1, half), &BOTH);
    next
}

#[test]
fn killed_at_every_barrier_of_a_change_by_double() {
    if !installed() {
        return;
    }
    let net = net();
    let topology = topology(&net);
    for nth in 1..=BARRIERS {
        let mut subnet = Subnet::serve(&net.text);
        subnet.tools_at("host-1 HCA-1");
        let options = ["--scheme", "double", "--pause-at-barriers", "--no-journal"];
        let manager = Sm::bring_up(&subnet, "host-1 HCA-1", &options);
        let _order = manager.begin(&subnet, "change", &["--remove-switch", "spine-2", "--planned"]);
        assert!(at_barrier(&manager, &subnet, nth), "barrier {nth}\n{}", manager.log());
        drop(manager);
        let next = successor(&subnet, "host-1 HCA-1", &topology, "arrival=Recovered", &["--no-journal"]);
        assert_eq!(next.status(&subnet)["arrival"], "recovered", "barrier {nth}");
    }
}

/// With the journal the change is made that was ordered, and what was to be set aside is.
/// The first signal waits for the end of the change, the second does not: then exit code and log say what is left.
#[test]
fn asked_twice_to_end_behind_the_fence() {
    if !installed() {
        return;
    }
    let subnet = Subnet::serve(&net().text);
    let options = ["--scheme", "double", "--pause-at-barriers", "--no-journal"];
    let mut manager = Sm::bring_up(&subnet, "host-1 HCA-1", &options);
    let _order = manager.begin(&subnet, "change", &["--remove-switch", "spine-2", "--planned"]);
    assert!(at_barrier(&manager, &subnet, BARRIERS - 1), "{}", manager.log());
    for asked in ["asked to end", "asked twice to end"] {
        manager.signal();
        manager.wait(&subnet, asked, 1);
    }
    let mut code = None;
    subnet.wait("its end", LIMIT, || {
        code = manager.code();
        code.is_some()
    });
    assert_eq!(code, Some(3), "{}", manager.log());
    assert!(manager.log().contains("16 end ports discard"), "{}", manager.log());
}

#[test]
fn killed_at_every_barrier_and_resumed_by_the_journal() {
    if !installed() {
        return;
    }
    let net = net();
    for nth in 1..=BARRIERS {
        let mut subnet = Subnet::serve(&net.text);
        subnet.tools_at("host-1 HCA-1");
        let manager = Sm::bring_up(&subnet, "host-1 HCA-1", &["--scheme", "double", "--pause-at-barriers"]);
        let _order = manager.begin(&subnet, "change", &["--remove-switch", "spine-2", "--planned"]);
        assert!(at_barrier(&manager, &subnet, nth), "barrier {nth}\n{}", manager.log());
        drop(manager);
        let begun = Instant::now();
        let next = Sm::bring_up(&subnet, "host-1 HCA-1", &[]);
        assert!(begun.elapsed() < RECOVERING, "barrier {nth}: {:?}\n{}", begun.elapsed(), next.log());
        assert_eq!(next.count("arrival=Resumed"), 1, "barrier {nth}\n{}", next.log());
        let swept = next.ask(&subnet, "status", &["--sweep"]);
        assert_eq!(swept.code, Some(0), "{}", swept.errors);
        let status = next.status(&subnet);
        assert_eq!((&status["arrival"], &status["half"]), (&"resumed".into(), &"upper".into()), "barrier {nth}");
        assert!(status["aside"][0].as_str().is_some_and(|name| name.contains("spine-2")), "barrier {nth}: {status}");
        // Nothing is closed any more.
        let open = rescue(&subnet, &[]);
        assert_eq!(open.code, Some(0), "barrier {nth}: {}{}", open.output, open.errors);
    }
}

/// The root dies for good, and the manager with it: what it leaves differs by barrier, from tables that lead into the
/// dead root to those of the change made.
fn killed_after_a_loss(scheme: &str, at_most: usize, journal: &[&str]) {
    let net = net();
    let topology = topology(&net);
    let place = Place::of(&topology);
    let rest = without(&topology, place.root, &place.node);
    for nth in 1..=at_most {
        let mut subnet = Subnet::serve(&net.text);
        subnet.tools_at(&place.node);
        let options = [&["--scheme", scheme, "--pause-at-barriers"], journal].concat();
        let manager = Sm::bring_up(&subnet, &place.node, &options);
        subnet.unlink(topology.node(place.root).description.trim(), None);
        if !at_barrier(&manager, &subnet, nth) {
            assert!(nth > 1, "the change stops at one barrier at least\n{}", manager.log());
            return;
        }
        drop(manager);
        let next = Sm::bring_up(&subnet, &place.node, journal);
        assert_eq!(next.count("REWRITTEN"), 0, "barrier {nth}\n{}", next.log());
        assert_eq!(next.count("arrival=Resumed"), usize::from(journal.is_empty()), "barrier {nth}\n{}", next.log());
        let swept = next.ask(&subnet, "status", &["--sweep"]);
        assert_eq!(swept.code, Some(0), "{}", swept.errors);
        let half = if next.status(&subnet)["half"] == "upper" { Half::Upper } else { Half::Lower };
        all_is_well(&subnet, &expected(&rest, 1, half), &BOTH);
    }
}

#[test]
fn killed_at_every_barrier_after_the_root_has_died() {
    if installed() {
        killed_after_a_loss("double", BARRIERS, &["--no-journal"]);
    }
}

#[test]
fn killed_between_waves_of_forwarding_entries() {
    if installed() {
        killed_after_a_loss("auto", 3, &["--no-journal"]);
    }
}

#[test]
fn killed_after_the_root_has_died_and_resumed_by_the_journal() {
    if installed() {
        killed_after_a_loss("double", BARRIERS, &[]);
        killed_after_a_loss("auto", 3, &[]);
    }
}

/// The standby takes over a subnet in which rows lead nowhere: those of the switch that died with the master.
#[test]
fn the_masters_leaf_dies_and_the_standby_mends() {
    if !installed() {
        return;
    }
    let net = generated("leaf-spine:6,3,3", 0);
    let topology = topology(&net);
    let leaf = leaf_of(&topology, "host-1 HCA-1");
    let standby = "host-9 HCA-1";
    let mut subnet = Subnet::serve(&net.text);
    subnet.tools_at(standby);
    let master = Sm::bring_up(&subnet, "host-1 HCA-1", &["--standby-poll", "1"]);
    let next = Sm::start(&subnet, standby, "next", &["--standby-poll", "1"]);
    subnet.wait("the second manager to stand by", LIMIT, || next.says(&subnet, "role") == "standby");
    subnet.unlink(topology.node(leaf).description.trim(), None);
    subnet.wait("the standby to take over", LIMIT, || next.count("SUBNET UP") == 1);
    assert_eq!(next.count("REWRITTEN"), 0, "{}", next.log());
    drop(master);
    let swept = next.ask(&subnet, "status", &["--sweep"]);
    assert_eq!(swept.code, Some(0), "{}", swept.errors);
    all_is_well(&subnet, &expected(&without(&topology, leaf, standby), 1, Half::Lower), &BOTH);
}

fn leaf_of(fabric: &Fabric, node: &str) -> NodeId {
    let named = |&port: &reconfig::fabric::PortId| fabric.node(fabric.port(port).node).description.trim() == node;
    fabric.end_ports().find(named).and_then(|port| fabric.neighbour(port)).expect("a host at a switch")
}

/// OpenSM with its own LMC, 0, and levels that it does not map: what it left is taken over with a proof, under its
/// LIDs.
#[test]
fn what_opensm_left_is_taken_over_under_its_lids() {
    if !installed() {
        return;
    }
    let net = net();
    let topology = topology(&net);
    for engine in ["minhop", "updn", "ftree"] {
        let mut subnet = Subnet::serve(&net.text);
        subnet.tools_at("host-1 HCA-1");
        let options = format!("routing_engine {engine}\n");
        let opensm = OpenSm::bring_up(&subnet, Some("host-2 HCA-1"), &options);
        drop(opensm);
        let next = Sm::bring_up(&subnet, "host-1 HCA-1", &["--sm-key", "1"]);
        assert_eq!(next.count("REWRITTEN"), 0, "{engine}\n{}", next.log());
        let swept = next.ask(&subnet, "status", &["--sweep"]);
        assert_eq!(swept.code, Some(0), "{}", swept.errors);
        assert_eq!(next.status(&subnet)["lids"]["lmc"], 0, "{engine}");
        // OpenSM's lanes are kept, too: packets may stand in them.
        let lanes = Some(Lanes::of_count(8).steady(LanePartition::Temporary));
        all_is_well(&subnet, &Expected { lanes, ..expected(&topology, 0, Half::Lower) }, &[Half::Lower]);
    }
}

/// `reconfig rescue` at the port of the tools.
fn rescue(subnet: &Subnet, options: &[&str]) -> Ended {
    let program = super::reconfig();
    let program = program.to_str().expect("a path in Unicode");
    subnet.run(&[&[program, "rescue"], options].concat())
}

/// Nobody manages: the fence that a dead manager left is found and opened from any port, and nothing is touched while a
/// manager is there.
#[test]
fn rescue_opens_what_a_dead_manager_closed() {
    if !installed() {
        return;
    }
    let net = net();
    // The first two barriers of the fence of the spare half, and those of the retired one.
    for nth in [1, 5, 7] {
        let mut subnet = Subnet::serve(&net.text);
        subnet.tools_at("host-3 HCA-1");
        let manager = Sm::bring_up(&subnet, "host-1 HCA-1", &["--scheme", "double", "--pause-at-barriers"]);
        let none = rescue(&subnet, &[]);
        assert_eq!(none.code, Some(0), "{}{}", none.output, none.errors);
        assert!(none.output.contains("No table maps a service level of data to VL 15"), "{}", none.output);
        assert_keeps("rescue", &serde_json::from_str(&rescue(&subnet, &["--json"]).output).expect("JSON"));
        let _order = manager.begin(&subnet, "change", &["--remove-switch", "spine-2", "--planned"]);
        assert!(at_barrier(&manager, &subnet, nth), "barrier {nth}");
        let kept = rescue(&subnet, &["--clear"]);
        assert_eq!(kept.code, Some(3), "{}{}", kept.output, kept.errors);
        assert!(kept.errors.contains("says that it is master"), "{}", kept.errors);
        drop(manager);
        let found = rescue(&subnet, &[]);
        assert_eq!(found.code, Some(1), "{}{}", found.output, found.errors);
        assert!(found.output.contains("discards SL "), "{}", found.output);
        assert_keeps("rescue", &serde_json::from_str(&rescue(&subnet, &["--json"]).output).expect("JSON"));
        let cleared = rescue(&subnet, &["--clear"]);
        assert_eq!(cleared.code, Some(0), "{}{}", cleared.output, cleared.errors);
        let rest = rescue(&subnet, &[]);
        assert_eq!(rest.code, Some(0), "barrier {nth}: {}{}", rest.output, rest.errors);
        // Who manages next takes it from there: OpenSM with defaults leaves what is open open.
        let opensm = OpenSm::bring_up(&subnet, Some("host-2 HCA-1"), "");
        let open = rescue(&subnet, &[]);
        assert_eq!(open.code, Some(0), "barrier {nth}: {}{}", open.output, open.errors);
        drop(opensm);
        let next = Sm::bring_up(&subnet, "host-1 HCA-1", &[]);
        assert_eq!(next.count("REWRITTEN"), 0, "{}", next.log());
    }
}

/// What docs/SM.md tells those who have OpenSM alone: its defaults leave the fence, and quality of service opens every
/// port. Without the list of lanes switches then know more lanes than there are.
#[test]
fn opensm_alone_opens_what_a_dead_manager_closed_if_quality_of_service_is_on() {
    type LaneOf = fn(u8) -> u8;
    if !installed() {
        return;
    }
    // The tables of a host and of a switch, of eight lanes each.
    let [mod_8, as_numbered, mod_4]: [LaneOf; 3] = [|sl| sl % 8, |sl| if sl < 15 { sl } else { 7 }, |sl| sl % 4];
    let four = "qos TRUE\nqos_max_vls 4\nqos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3\n";
    // The fence of the retired half, and that of the spare half.
    let ways: [(usize, &str, Option<[LaneOf; 2]>); 4] = [
        (7, "", None),
        (7, "qos TRUE\n", Some([mod_8, as_numbered])),
        (7, four, Some([mod_4, mod_4])),
        (1, four, Some([mod_4, mod_4])),
    ];
    side_by_side(&ways, |&(nth, configuration, lanes)| {
        let mut subnet = Subnet::serve(&net().text);
        subnet.tools_at("host-3 HCA-1");
        let options = ["--scheme", "double", "--pause-at-barriers", "--no-journal"];
        let manager = Sm::bring_up(&subnet, "host-1 HCA-1", &options);
        let _order = manager.begin(&subnet, "change", &["--remove-switch", "spine-2", "--planned"]);
        assert!(at_barrier(&manager, &subnet, nth), "{}", manager.log());
        drop(manager);
        let closed = rescue(&subnet, &[]);
        assert_eq!(closed.code, Some(1), "{}{}", closed.output, closed.errors);
        let _opensm = OpenSm::bring_up(&subnet, Some("host-2 HCA-1"), configuration);
        let rest = rescue(&subnet, &[]);
        let is_closed = lanes.is_none();
        assert_eq!(rest.code, Some(i32::from(is_closed)), "{configuration}: {}{}", rest.output, rest.errors);
        for (path, lane) in ["0", "0,1"].into_iter().zip(lanes.into_iter().flatten()) {
            let tables = sl_to_vl(&subnet.tool(&["smpquery", "sl2vl", "-D", path, "1"]));
            let meant = SlToVl::from_fn(|sl| Vl::masked(lane(sl.get())));
            assert!(!tables.is_empty() && tables.values().all(|table| *table == meant), "{configuration}: {tables:?}");
        }
    });
}

/// Killed at moments spread over a change, not at its barriers; `reconfig rescue` opens what is closed, and OpenSM
/// brings up what is there: nothing is closed then, and its tables are sound.
#[test]
fn opensm_follows_a_manager_that_died_at_any_moment() {
    if !installed() {
        return;
    }
    let net = net();
    let count = if is_thorough() { 60 } else { 2 };
    let (mut took, mut closed) = (None, 0);
    for nth in 0..=count {
        let mut subnet = Subnet::serve(&net.text);
        subnet.tools_at("host-3 HCA-1");
        let manager = Sm::bring_up(&subnet, "host-1 HCA-1", &["--scheme", "double"]);
        let begun = Instant::now();
        let _order = manager.begin(&subnet, "change", &["--remove-switch", "spine-2", "--planned"]);
        // The first change is left to end, to see how long it takes.
        let Some(took) = took else {
            subnet.wait("the change to end", LIMIT, || manager.count(OVER) > 0);
            took = Some(begun.elapsed());
            continue;
        };
        let took: Duration = took;
        std::thread::sleep(took.mul_f64((f64::from(nth) - 0.5) / f64::from(count)));
        drop(manager);
        closed += usize::from(rescue(&subnet, &[]).code == Some(1));
        let cleared = rescue(&subnet, &["--clear"]);
        assert_eq!(cleared.code, Some(0), "moment {nth}: {}{}", cleared.output, cleared.errors);
        let opensm = OpenSm::bring_up(&subnet, Some("host-2 HCA-1"), "");
        let rest = rescue(&subnet, &[]);
        assert_eq!(rest.code, Some(0), "moment {nth}: {}{}", rest.output, rest.errors);
        drop(opensm);
        // Who takes over from OpenSM proves what it finds, as it stands or on its way.
        let next = Sm::bring_up(&subnet, "host-1 HCA-1", &[]);
        assert_eq!(next.count("REWRITTEN"), 0, "moment {nth}: {}", next.log());
    }
    println!("killed at {count} moments of {took:?}: {closed} left something closed");
}
