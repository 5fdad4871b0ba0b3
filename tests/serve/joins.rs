//! Two parts of a served fabric, each with `reconfig sm` as its master, are cabled together under the eyes of the
//! simulator, which counts what becomes of packets.

use crate::serve::harness::{Served, bundled, installed};
use crate::serve::managers::Manager;
use reconfig::fabric::{Fabric, PortId, format};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const FABRIC: &str = "fat-tree-4-2";
const FIRST_PART: [&str; 4] = ["leaf-1", "leaf-2", "spine-1", "spine-2"];
/// Where the managers are; at equal priority the lower GUID, which is the first one's, is of higher rank.
const PLACES: [&str; 2] = ["host-1 HCA-1", "host-9 HCA-1"];
/// The poll interval of both, in seconds.
const POLL: &str = "4";
const POLL_S: u64 = 4;
/// So many packets between sixteen hosts miss no pair.
const MANY: u64 = 20_000;

/// The cables between the parts, as commands name them.
fn joints(whole: &Fabric) -> Vec<String> {
    let node = |port: PortId| whole.node(whole.port(port).node);
    let is_first = |port: PortId| FIRST_PART.contains(&node(port).description.as_str());
    let crosses = |&(one, other): &(PortId, PortId)| {
        node(one).is_switch() && node(other).is_switch() && is_first(one) != is_first(other)
    };
    let named = |(port, _)| format!("\"{}\"[{}]", node(port).description, whole.port(port).num);
    whole.links().filter(crosses).map(named).collect()
}

/// The base LIDs of adapters and switches.
fn lids(served: &Served) -> Vec<u64> {
    let dump = served.command("Dump");
    let lids = dump.lines().filter_map(|line| line.split_once("lid ").map(|(_, rest)| rest));
    lids.filter_map(|rest| rest.split(' ').next()?.parse().ok()).filter(|&lid| lid > 0).collect()
}

#[test]
fn two_parts_that_are_cabled_together_have_one_master_and_every_packet_arrives() {
    if !installed(&[]) {
        return;
    }
    let whole = format::read(&std::fs::read(bundled(FABRIC)).expect("it is bundled"), FABRIC).expect("it can be read");
    let joints = joints(&whole);
    let served = Served::start(&bundled(FABRIC), &["--load", "0.1", "--paths", "records"]);
    joints.iter().for_each(|joint| assert_eq!(served.command(&format!("Unlink {joint}")), "1 cable unlinked"));
    let [first, second] =
        [0, 1].map(|at| Manager::start(&served, PLACES[at], &format!("sm-{at}"), &["--standby-poll", POLL]));
    for manager in [&first, &second] {
        served.until("a part is up", |_| manager.status()["subnet_up"] == true);
        assert_eq!(
            (manager.status()["role"].as_str(), &manager.status()["fabric"]["cas"]),
            (Some("master"), &8.into())
        );
    }

    joints.iter().for_each(|joint| assert_eq!(served.command(&format!("Relink {joint}")), "1 cable relinked"));
    let joined = Instant::now();
    let is_one = || first.status()["role"] == "master" && second.status()["role"] == "standby";
    served.until("one master", |_| is_one());
    assert!(joined.elapsed() < Duration::from_secs(2 * POLL_S), "{:?}\n{}", joined.elapsed(), second.log());
    let before = second.written();
    served.until("the whole is up", |_| first.status()["subnet_up"] == true && first.status()["fabric"]["cas"] == 16);
    first.ask(&["status", "--sweep"]).well();

    let lids = lids(&served);
    assert_eq!(lids.iter().collect::<BTreeSet<_>>().len(), whole.nodes().count(), "LIDs are held once: {lids:?}");
    let paths = || served.status()["paths"]["open"] == 0;
    served.until("hosts know their paths", |_| paths());
    served.command("Traffic on");
    served.until("packets between all pairs", |served| served.status()["packets"]["delivered"].as_u64() > Some(MANY));
    let status = served.status();
    let lost = ["lost_to_change", "lost_to_failure", "stranded"].map(|fate| status["packets"][fate].as_u64());
    assert_eq!((lost, &status["misdelivered"]), ([Some(0); 3], &0.into()), "{}", status["packets"]);
    assert_eq!((is_one(), second.written()), (true, before), "{}", second.log());
}
