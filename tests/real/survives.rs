//! What `reconfig sm` survives: lost and late SMPs, a node that stops answering, an ibsim that dies, other managers.

use super::agree::Expected;
use super::brings_up::{BOTH, all_is_well, expected, topology};
use super::fabrics::{Net, SMALL, generated};
use super::opensm::OpenSm;
use super::recovers::BARRIERS;
use super::sm::{COMPLETED, FOLLOWED, OVER, Place, Sm, without};
use super::subnet::Subnet;
use super::told::sminfo;
use super::{installed, side_by_side};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::Half;
use reconfig::plan::{LanePartition, Lanes};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// A fifth of the datagrams is lost each way, a fifth is late beyond the time-out, some come twice.
const FAULTS: &str = "loss=0.2,late=0.2,late-ms=60,double=0.02,seed=7";
/// The switches of the first small fabric, with two hosts each.
const FEW_HOSTS: (&str, u64) = ("random-regular:8,4,2", 112);
/// How long two managers may take to agree.
const AGREEING: Duration = Duration::from_secs(90);

/// The fabric whose root is worth most, a place in it, and ibsim over it.
struct Scene {
    topology: Fabric,
    place: Place,
    subnet: Subnet,
}

impl Scene {
    fn set() -> Scene {
        Scene::of(&generated(SMALL[0].0, SMALL[0].1))
    }

    fn of(net: &Net) -> Scene {
        let topology = topology(net);
        let place = Place::of(&topology);
        let mut subnet = Subnet::serve(&net.text);
        subnet.tools_at(&place.node);
        Scene { topology, place, subnet }
    }

    fn manager(&self, options: &[&str]) -> Sm {
        Sm::bring_up(&self.subnet, &self.place.node, options)
    }

    fn root_goes(&mut self) {
        self.subnet.unlink(self.topology.node(self.place.root).description.trim(), None);
    }

    /// What is left of the fabric when the root has gone.
    fn rest(&self) -> Fabric {
        without(&self.topology, self.place.root, &self.place.node)
    }

    fn name(&self, port: PortId) -> String {
        self.topology.node(self.topology.port(port).node).description.trim().to_string()
    }

    /// Another host, which is not attached to the root.
    fn other(&self) -> String {
        let fits = |&port: &PortId| {
            self.name(port) != self.place.node && self.topology.neighbour(port) != Some(self.place.root)
        };
        self.name(self.topology.end_ports().find(fits).expect("another host"))
    }

    fn role_is(&self, manager: &Sm, role: &str) {
        self.subnet.wait(&format!("the manager to be {role}"), AGREEING, || manager.says(&self.subnet, "role") == role);
    }

    /// The half that the manager says is in use.
    fn half(&self, manager: &Sm) -> Half {
        if manager.status(&self.subnet)["half"] == "upper" { Half::Upper } else { Half::Lower }
    }
}

/// With faults all the time, until `sign` is logged; whoever takes over adopts what was left, on this half.
fn a_fifth_is_lost_or_late(scheme: &str, sign: &str, half: Half) {
    // With fewer hosts than the others: every SMP waits for some time-outs, and more of them show nothing else.
    let mut scene = Scene::of(&generated(FEW_HOSTS.0, FEW_HOSTS.1));
    let faults = ["--scheme", scheme, "--faults", FAULTS, "--timeout", "40", "--retries", "20"];
    let manager = scene.manager(&faults);
    scene.root_goes();
    manager.wait(&scene.subnet, sign, 1);
    // Asked for a sweep, it answers when all that belongs to the change is done.
    let swept = manager.ask(&scene.subnet, "status", &["--sweep"]);
    assert_eq!(swept.code, Some(0), "{}", swept.errors);
    drop(manager);
    // The tools would suffer from the faults in the SA's answers: who takes over has none.
    let second = scene.manager(&[]);
    assert_eq!(second.count("arrival=Adopted"), 1, "what the first one left can be proved");
    assert_eq!(scene.half(&second), half);
    all_is_well(&scene.subnet, &expected(&scene.rest(), 1, half), &[half]);
}

#[test]
fn a_fifth_of_all_datagrams_lost_or_late() {
    if installed() {
        a_fifth_is_lost_or_late("double", FOLLOWED, Half::Upper);
    }
}

#[test]
fn a_fifth_of_all_datagrams_lost_or_late_while_entries_are_rewritten() {
    if installed() {
        a_fifth_is_lost_or_late("auto", OVER, Half::Lower);
    }
}

#[test]
fn its_own_death_between_two_changes() {
    if !installed() {
        return;
    }
    let mut scene = Scene::set();
    let manager = scene.manager(&["--scheme", "double"]);
    scene.root_goes();
    manager.wait(&scene.subnet, FOLLOWED, 1);
    let swept = manager.ask(&scene.subnet, "status", &["--sweep"]);
    assert_eq!(swept.code, Some(0), "{}", swept.errors);
    drop(manager);
    // It need not change as the first one did: hosts that never asked again are on the half that retired.
    let second = scene.manager(&[]);
    assert_eq!(second.count("arrival=Adopted"), 1, "what the first one left can be proved");
    assert_eq!(scene.half(&second), Half::Upper, "the half that clients are on");
    scene.subnet.relink(scene.topology.node(scene.place.root).description.trim(), None);
    second.wait(&scene.subnet, OVER, 1);
    let half = scene.half(&second);
    all_is_well(&scene.subnet, &expected(&scene.topology, 1, half), &[half]);
}

#[test]
fn ibsim_that_loses_a_fifth_of_a_switchs_datagrams() {
    if !installed() {
        return;
    }
    let mut scene = Scene::set();
    let switches = scene.topology.switches().filter(|&switch| switch != scene.place.root);
    let lossy = scene.topology.node(switches.last().expect("a switch")).description.trim().to_string();
    scene.subnet.error(&lossy, None, 20);
    let manager = scene.manager(&["--timeout", "40", "--retries", "20"]);
    scene.root_goes();
    manager.wait(&scene.subnet, OVER, 1);
    scene.subnet.error(&lossy, None, 0);
    all_is_well(&scene.subnet, &expected(&scene.rest(), 1, Half::Lower), &BOTH);
}

#[test]
fn a_host_that_stops_answering() {
    if !installed() {
        return;
    }
    let mut scene = Scene::set();
    let manager = scene.manager(&["--timeout", "40", "--sweep", "1"]);
    let mute = scene.other();
    // Its link is up: only who asks it something can tell.
    scene.subnet.error(&mute, None, 100);
    scene.root_goes();
    manager.wait(&scene.subnet, OVER, 1);
    // No trap tells that it answers again, and no switch sees a change: somebody has to look.
    scene.subnet.error(&mute, None, 0);
    let swept = manager.ask(&scene.subnet, "status", &["--sweep"]);
    assert_eq!(swept.code, Some(0), "{}", swept.errors);
    let half = scene.half(&manager);
    all_is_well(&scene.subnet, &expected(&scene.rest(), 1, half), &[half]);
}

/// Over ibsim OpenSM goes no further than to be master, whoever hands over to it, another OpenSM too: it waits for the
/// repression of its own trap 144, which ibsim drops.
#[test]
fn opensm_of_higher_priority_is_handed_over_to_and_survived() {
    if !installed() {
        return;
    }
    let scene = Scene::set();
    let manager = scene.manager(&["--priority", "5", "--standby-poll", "1", "--sweep", "1"]);
    let other = scene.other();
    let opensm = OpenSm::start(&scene.subnet, Some(&other), "higher", "sm_priority 15\nlmc 1\n");
    scene.subnet.wait("OpenSM to be master", AGREEING, || opensm.says("Entering MASTER state"));
    scene.role_is(&manager, "standby");
    drop(opensm);
    scene.role_is(&manager, "master");
    scene.subnet.wait("the subnet to be up again", AGREEING, || manager.status(&scene.subnet)["subnet_up"] == true);
    let half = scene.half(&manager);
    all_is_well(&scene.subnet, &expected(&scene.topology, 1, half), &[half]);
}

/// A change is ended first, in whatever phase the other one comes.
#[test]
fn opensm_that_waits_through_every_phase_is_handed_over_to_at_the_end() {
    if !installed() {
        return;
    }
    let mut scene = Scene::set();
    let options =
        ["--scheme", "double", "--pause-at-barriers", "--priority", "5", "--standby-poll", "1", "--sweep", "1"];
    let manager = scene.manager(&options);
    let other = scene.other();
    scene.root_goes();
    let mut opensm = None;
    let states = manager.at_each_barrier(&scene.subnet, |state| {
        let start = || OpenSm::start(&scene.subnet, Some(&other), "higher", "sm_priority 15\nlmc 1\n");
        opensm.get_or_insert_with(start);
        assert_eq!(manager.says(&scene.subnet, "role"), "master", "{state}");
    });
    assert!(states.len() > 4, "it waited in {states:?}");
    let opensm = opensm.expect("it has come");
    scene.role_is(&manager, "standby");
    scene.subnet.wait("OpenSM to be master", AGREEING, || opensm.says("Entering MASTER state"));
    drop(opensm);
    scene.role_is(&manager, "master");
    let written = Cell::new(None);
    scene.subnet.wait("the subnet to be up again, and nothing to be written any more", AGREEING, || {
        // Whatever comes after the recovery waits at its barriers; without one there is nothing to be continued.
        let _ = manager.ask(&scene.subnet, "change", &["--continue"]);
        let status = manager.status(&scene.subnet);
        let now = status["smps"]["sent"]["LinearForwardingTable"]["Set"].as_u64();
        status["subnet_up"] == true && written.replace(now) == now
    });
    let half = scene.half(&manager);
    all_is_well(&scene.subnet, &expected(&scene.rest(), 1, half), &[half]);
}

/// OpenSM comes at one barrier of a planned removal, ours stays master to its end, and hands over then.
fn opensm_comes_at_barrier(nth: usize) {
    let scene = Scene::of(&generated("fat-tree:4,2", 0));
    let manager = scene.manager(&["--scheme", "double", "--pause-at-barriers", "--priority", "5", "--sweep", "1"]);
    let _order = manager.begin(&scene.subnet, "change", &["--remove-switch", "spine-2", "--planned"]);
    let (mut opensm, mut passed) = (None, 0);
    let states = manager.at_each_barrier(&scene.subnet, |state| {
        passed += 1;
        if passed == nth {
            let higher = OpenSm::start(&scene.subnet, Some(&scene.other()), "higher", "sm_priority 15\nlmc 1\n");
            // It has found the master, and has sent it trap 144.
            scene.subnet.wait("OpenSM to stand by", AGREEING, || higher.says("Entering STANDBY state"));
            opensm = Some(higher);
        }
        assert_eq!(manager.says(&scene.subnet, "role"), "master", "barrier {nth}: {state}");
        let is_master = opensm.as_ref().is_some_and(|opensm| opensm.says("Entering MASTER state"));
        assert!(!is_master, "barrier {nth}: {state}");
    });
    let opensm = opensm.unwrap_or_else(|| panic!("barrier {nth} of {states:?}"));
    assert_eq!((states.len(), manager.count(COMPLETED)), (BARRIERS, 1), "barrier {nth}: {states:?}\n{}", manager.log());
    scene.subnet.wait("OpenSM to be master", AGREEING, || opensm.says("Entering MASTER state"));
    scene.role_is(&manager, "standby");
    // Nothing is closed that OpenSM, which knows no halves, would leave closed.
    let program = super::reconfig();
    let open = scene.subnet.run(&[program.to_str().expect("a path in Unicode"), "rescue"]);
    assert_eq!(open.code, Some(0), "barrier {nth}: {}{}", open.output, open.errors);
}

#[test]
fn opensm_that_comes_in_any_phase_is_handed_over_to_at_the_end() {
    if installed() {
        let barriers: Vec<usize> = (1..=BARRIERS).collect();
        side_by_side(&barriers, |&nth| opensm_comes_at_barrier(nth));
    }
}

#[test]
fn a_second_one_of_higher_priority_is_handed_over_to_and_survived() {
    if !installed() {
        return;
    }
    let scene = Scene::set();
    let manager = scene.manager(&["--priority", "5", "--standby-poll", "1", "--sweep", "1"]);
    let higher = Sm::start(&scene.subnet, &scene.other(), "higher", &["--priority", "9", "--standby-poll", "1"]);
    scene.role_is(&higher, "master");
    scene.role_is(&manager, "standby");
    scene.subnet.wait("the subnet to be up", AGREEING, || higher.status(&scene.subnet)["subnet_up"] == true);
    let (_, _, priority, state) = sminfo(&scene.subnet.tool(&["sminfo"]));
    assert_eq!((priority, state.as_str()), (9, "SMINFO_MASTER"));
    all_is_well(&scene.subnet, &expected(&scene.topology, 1, scene.half(&higher)), &[scene.half(&higher)]);
    drop(higher);
    scene.role_is(&manager, "master");
    scene.subnet.wait("the subnet to be up again", AGREEING, || manager.status(&scene.subnet)["subnet_up"] == true);
    let half = scene.half(&manager);
    all_is_well(&scene.subnet, &expected(&scene.topology, 1, half), &[half]);
}

/// What its updn leaves lacks rows, and is mended with a proof.
#[test]
fn opensm_of_lower_priority_that_is_master_hands_over() {
    if !installed() {
        return;
    }
    let scene = Scene::set();
    let roots = scene.subnet.folder().join("roots");
    std::fs::write(&roots, format!("{}\n", scene.topology.node(scene.place.root).guid)).expect("a writable folder");
    let updn = format!("routing_engine updn\nroot_guid_file {}\n", roots.display());
    let options = format!("sm_priority 1\nlmc 1\nsweep_interval 1\n{updn}");
    let opensm = OpenSm::bring_up(&scene.subnet, Some(&scene.other()), &options);
    let manager = scene.manager(&["--priority", "9", "--standby-poll", "1"]);
    scene.subnet.wait("OpenSM to stand by", AGREEING, || opensm.says("Entering STANDBY state"));
    scene.role_is(&manager, "master");
    let status = manager.status(&scene.subnet);
    assert!(["adopted", "recovered"].contains(&status["arrival"].as_str().unwrap_or_default()), "{status}");
    let half = scene.half(&manager);
    // The lanes that OpenSM has put into operation are kept, all that ibsim's ports have.
    let lanes = Some(Lanes::of_count(8).steady(LanePartition::Temporary));
    all_is_well(&scene.subnet, &Expected { lanes, ..expected(&scene.topology, 1, half) }, &[half]);
}

#[test]
fn opensm_of_lower_priority_stands_by() {
    if !installed() {
        return;
    }
    let scene = Scene::set();
    let manager = scene.manager(&["--priority", "5"]);
    let opensm = OpenSm::start(&scene.subnet, Some(&scene.other()), "lower", "sm_priority 1\nlmc 1\n");
    scene.subnet.wait("OpenSM to stand by", AGREEING, || opensm.says("Entering STANDBY state"));
    scene.role_is(&manager, "master");
    all_is_well(&scene.subnet, &expected(&scene.topology, 1, Half::Lower), &BOTH);
}

/// The manager's link bounces, so no trap comes, and its switch loses all others.
#[test]
fn what_it_no_longer_sees_is_not_called_up_for_long() {
    if !installed() {
        return;
    }
    let mut scene = Scene::of(&generated("mesh:3x3,1", 0));
    let manager = scene.manager(&[]);
    let node = scene.place.node.clone();
    let named = |name: &str| scene.topology.end_ports().find(|&port| scene.name(port) == name).expect("it is there");
    let switch = scene.topology.neighbour(named(&node)).expect("it is cabled");
    let cables = scene.topology.ports_of(switch);
    let cables =
        cables.filter(|&port| scene.topology.neighbour(port).is_some_and(|far| scene.topology.node(far).is_switch()));
    let ports: Vec<u8> = cables.map(|port| scene.topology.port(port).num.0).collect();
    let switch = scene.topology.node(switch).description.trim().to_string();
    scene.subnet.unlink(&node, Some(1));
    ports.iter().for_each(|&port| scene.subnet.unlink(&switch, Some(port)));
    scene.subnet.relink(&node, Some(1));
    let is_seen = || manager.status(&scene.subnet)["fabric"]["switches"] == 1;
    // A sweep that was under way when the links went waits three seconds for answers that were lost, and is repeated: a
    // silence is no proof of a loss.
    scene.subnet.wait("the manager to see that", Duration::from_secs(10), is_seen);
}

/// Nothing is under way but questions to devices that do not answer, each of which has fifteen seconds.
#[test]
fn a_stop_does_not_wait_for_devices_that_do_not_answer() {
    if !installed() {
        return;
    }
    let mut scene = Scene::set();
    let mut manager = scene.manager(&["--sweep", "1", "--timeout", "1000"]);
    for switch in scene.topology.switches() {
        scene.subnet.error(scene.topology.node(switch).description.trim(), None, 100);
    }
    std::thread::sleep(Duration::from_secs(4));
    let asked = Instant::now();
    manager.signal();
    let mut code = None;
    scene.subnet.wait("its end", AGREEING, || {
        code = manager.code();
        code.is_some()
    });
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}: {}", asked.elapsed(), manager.log());
    assert_eq!((code, manager.count("is broken off")), (Some(0), 1), "{}", manager.log());
}

#[test]
fn ibsim_killed_and_started_again() {
    if !installed() {
        return;
    }
    let mut scene = Scene::set();
    let mut manager = scene.manager(&["--sweep", "1"]);
    scene.subnet.kill();
    // Its port is gone for good: the preloaded library makes no new connection. It ends with an error, and is started
    // anew.
    scene.subnet.wait("the manager to end", AGREEING, || !manager.is_alive());
    assert_eq!((manager.count("panicked"), manager.count("the port is gone")), (0, 1));
    scene.subnet.start();
    let _second = scene.manager(&[]);
    all_is_well(&scene.subnet, &expected(&scene.topology, 1, Half::Lower), &BOTH);
}
