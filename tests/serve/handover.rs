//! OpenSM and `reconfig sm` hand a served subnet to each other while either is at work. On ibsim OpenSM goes no further
//! than to be master (docs/TESTING.md); here it also brings the subnet up.

use crate::serve::harness::{Beside, Served, bundled, installed};
use crate::serve::managers::{Manager, OpenSm};
use std::time::{Duration, Instant};

/// So many packets miss no pair of hosts.
const MANY: u64 = 20_000;
const OURS: &str = "host-9 HCA-1";
const THEIRS: &str = "host-1 HCA-1";
/// OpenSM's lines of configuration, but for its priority.
const OPENSM: &str = "routing_engine updn\nlmc 1\nsminfo_polling_timeout 1000\n";

fn served(fabric: &str) -> Served {
    Served::start(&bundled(fabric), &["--load", "0.05", "--paths", "records"])
}

fn is_up(manager: &Manager) -> bool {
    let status = manager.status();
    status["role"] == "master" && status["subnet_up"] == true
}

/// Hosts know their paths, and packets between all pairs of them arrive: none is lost.
fn every_packet_arrives(served: &Served, when: &str) {
    served.until("hosts know their paths", |served| served.status()["paths"]["open"] == 0);
    let count = |fate: &str| served.status()["packets"][fate].as_u64().expect("a count");
    let lost = || ["lost_to_change", "lost_to_failure"].map(count);
    served.command("Traffic on");
    let (before, delivered) = (lost(), count("delivered"));
    served.until("packets between all pairs", |_| count("delivered") > delivered + MANY);
    assert_eq!(lost(), before, "{when}");
    served.command("Traffic off");
    served.until("the last packet", |_| count("in_flight") == 0);
}

/// A change waits at a barrier while OpenSM of higher priority comes: it is ended first. OpenSM then brings the subnet
/// up, dies and comes back.
#[test]
fn opensm_that_comes_amid_a_change_brings_the_subnet_up_after_it_and_is_survived() {
    if !installed(&["opensm"]) {
        return;
    }
    let served = served("fat-tree-4-2");
    let options = ["--scheme", "double", "--pause-at-barriers", "--priority", "5", "--standby-poll", "1"];
    let ours = Manager::start(&served, OURS, "sm", &options);
    served.until("our subnet is up", |_| is_up(&ours));
    let order = Beside::start(ours.command(&["change", "--remove-switch", "spine-1", "--planned"]));
    let barriers = || ours.log().matches("waiting to be continued").count();
    let is_over = || ours.log().contains("the change is over");
    served.until("a barrier", |_| barriers() == 1);
    let config = format!("sm_priority 15\n{OPENSM}");
    let opensm = OpenSm::start(&served, THEIRS, "first", &config);
    served.until("OpenSM stands by", |_| opensm.said("Entering STANDBY") == 1);
    for passed in 1.. {
        served.until("the next barrier", |_| barriers() == passed || is_over());
        if is_over() {
            break;
        }
        assert_eq!((ours.status()["role"].as_str(), opensm.said("Entering MASTER")), (Some("master"), 0));
        ours.ask(&["change", "--continue"]).well();
    }
    drop(order);
    served.until("OpenSM brings the subnet up", |_| opensm.said("SUBNET UP") > 0);
    assert!(ours.log().contains("outcome=Completed"), "{}", ours.log());
    served.until("ours stands by", |_| ours.status()["role"] == "standby");
    let written = ours.written();
    every_packet_arrives(&served, "under OpenSM");
    assert_eq!(ours.written(), written, "who stands by writes nothing");

    drop(opensm);
    // OpenSM has used again what is set aside, so ours takes it out once more, which waits at barriers too.
    served.until("ours takes over, and has ended what it began", |_| {
        ours.ask(&["change", "--continue"]);
        let is_out = ours.log().matches("change: spine-1").count() == 2 && ours.status()["state"] == "completed";
        is_up(&ours) && is_out
    });
    assert!(!ours.log().contains("REWRITTEN"), "{}", ours.log());
    every_packet_arrives(&served, "under ours again");
    let opensm = OpenSm::start(&served, THEIRS, "second", &config);
    served.until("OpenSM is back", |_| opensm.said("SUBNET UP") > 0 && ours.status()["role"] == "standby");
}

/// What OpenSM is at when ours comes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum AtWork {
    BringingUp,
    Rerouting,
}

/// MADs of OpenSM's by which it is at work: there are some hundreds in a sweep.
const BEGUN: u64 = 40;
/// How often ours is started anew that came too late, as on a busy machine.
const TRIES: usize = 6;

/// Ours, of higher priority, is started while OpenSM works, and takes over; whether it came before OpenSM was done.
fn ours_comes_while_opensm_is(at_work: AtWork) -> bool {
    let served = served("dragonfly-2-4-2");
    let sent = || served.status()["mads_sent"].as_u64().expect("a count");
    let config = format!("sm_priority 1\nmax_wire_smps 1\n{OPENSM}");
    let opensm = OpenSm::start(&served, THEIRS, "opensm", &config);
    let (mut switches, mut before, mut ups) = (36, 0, 0);
    if at_work == AtWork::Rerouting {
        served.until("OpenSM has brought the subnet up", |_| opensm.said("SUBNET UP") > 0);
        served.until("hosts know their paths", |served| served.status()["paths"]["open"] == 0);
        (before, ups, switches) = (sent(), opensm.said("SUBNET UP"), 35);
        served.command("Kill \"group-5 router-2\"");
    }
    let start = Instant::now();
    while sent() < before + BEGUN {
        assert!(start.elapsed() < Duration::from_secs(20), "OpenSM does nothing");
    }
    let ours = Manager::start(&served, OURS, "sm", &["--priority", "9", "--standby-poll", "1"]);
    let clients = || served.status()["clients"].as_array().map_or(0, Vec::len);
    while clients() < 2 {
        assert!(start.elapsed() < Duration::from_secs(20), "{}", ours.log());
    }
    let in_time = opensm.said("SUBNET UP") == ups;
    served.until("OpenSM stands by", |_| opensm.said("Entering STANDBY") > 0);
    served.until("ours is up", |_| is_up(&ours) && ours.status()["fabric"]["switches"] == switches);
    // It ends in order where something is DEGRADED, too.
    ours.ask(&["status", "--sweep"]);
    every_packet_arrives(&served, &format!("{at_work:?}"));
    assert!(is_up(&ours), "{}", ours.log());
    println!("{at_work:?}: ours came {}", if in_time { "in time" } else { "too late" });
    in_time
}

#[test]
fn opensm_amid_its_bring_up_hands_over() {
    if installed(&["opensm"]) {
        assert!((0..TRIES).any(|_| ours_comes_while_opensm_is(AtWork::BringingUp)));
    }
}

#[test]
fn opensm_amid_a_reroute_hands_over() {
    if installed(&["opensm"]) {
        assert!((0..TRIES).any(|_| ours_comes_while_opensm_is(AtWork::Rerouting)));
    }
}
