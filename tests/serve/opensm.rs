//! OpenSM as the subnet manager of a served fabric, and the tools that need one.

use crate::serve::harness::{Beside, Served, bundled, installed};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Errors in OpenSM's log.
fn errors(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains("ERR ")).collect()
}

fn log_of(served: &Served) -> PathBuf {
    served.folder.path().join("osm.log")
}

fn read_log(served: &Served) -> String {
    std::fs::read_to_string(log_of(served)).unwrap_or_default()
}

/// Brings the subnet up once, and tells the log.
fn bring_up(served: &Served, host: &str, engine: &str) -> String {
    // It may be the first.
    let _ = std::fs::remove_file(log_of(served));
    served.run(host, "opensm", &["-o", "-R", engine, "-f", "osm.log", "-D", "0x43"]).well();
    read_log(served)
}

#[test]
fn every_engine_ends_in_subnet_up_without_an_error() {
    if !installed(&["opensm"]) {
        return;
    }
    let cases: [(&str, &[&str]); 3] = [
        ("random-regular-16-4", &["minhop", "updn", "dfsssp", "nue", "lash"]),
        ("fat-tree-4-2", &["ftree", "updn", "nue"]),
        ("torus-4x4", &["dfsssp", "minhop"]),
    ];
    for (fabric, engines) in cases {
        for engine in engines {
            let served = Served::start(&bundled(fabric), &["--start"]);
            let log = bring_up(&served, "", engine);
            assert!(log.contains("SUBNET UP"), "{fabric}, {engine}:\n{log}");
            // Without a root file updn gives up on a random graph, and OpenSM routes with minhop.
            let routed = if (fabric, *engine) == ("random-regular-16-4", "updn") { "minhop" } else { engine };
            let configured = format!("{routed} tables configured on all switches");
            assert!(log.contains(&configured), "{fabric}, {engine}:\n{log}");
            assert_eq!(errors(&log), Vec::<&str>::new(), "{fabric}, {engine}");
        }
    }
}

/// A second manager finds the subnet as the first left it; the fabric found is still the one that is served.
#[test]
fn a_subnet_that_is_up_is_taken_over_without_an_error() {
    if !installed(&["opensm", "ibnetdiscover"]) {
        return;
    }
    let served = Served::start(&bundled("fat-tree-4-2"), &["--start"]);
    for (host, engine) in [("host-1 HCA-1", "updn"), ("host-9 HCA-1", "minhop")] {
        let log = bring_up(&served, host, engine);
        assert!(log.contains("SUBNET UP") && errors(&log).is_empty(), "{engine} on {host}:\n{log}");
    }
    let found = served.run("host-2 HCA-1", "ibnetdiscover", &[]).well();
    assert_eq!(found.matches("Switch\t").count(), 8, "{found}");
    let packets = &served.end()["packets"];
    assert!(packets["delivered"].as_u64().unwrap() > 0, "{packets}");
}

fn daemon(served: &Served, host: &str, engine: &str) -> Beside {
    let mut command = served.program(host, "opensm");
    // Each line is written at once.
    command.args(["-R", engine, "-f", "osm.log", "-D", "0x43", "-d2"]);
    let beside = Beside::start(command);
    served.until("SUBNET UP", |served| read_log(served).contains("SUBNET UP"));
    beside
}

/// What dump_fts tells of each switch: the order of switches, and the way to each, is that in which answers came to it.
fn tables(served: &Served) -> BTreeMap<String, Vec<String>> {
    let text = served.run("host-2 HCA-1", "dump_fts", &[]).well();
    let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut switch = String::new();
    for line in text.lines() {
        match line.split_once(" guid ") {
            Some((heading, guid)) if heading.starts_with("Unicast lids") => switch = guid.to_string(),
            _ => tables.entry(switch.clone()).or_default().push(line.to_string()),
        }
    }
    tables
}

#[test]
fn a_cable_that_dies_is_told_by_a_trap_and_routed_around() {
    if !installed(&["opensm", "dump_fts"]) {
        return;
    }
    let served = Served::start(&bundled("random-regular-16-4"), &["--start", "--load", "0.05"]);
    let _opensm = daemon(&served, "host-1 HCA-1", "updn");
    let before = tables(&served);
    let cabled = served.command("Dump");
    let switch = cabled.split("switch \"switch-3\"").nth(1).unwrap();
    let port = switch.lines().find(|line| line.contains("to switch-")).unwrap();
    let port = port.split(['[', ']']).nth(1).unwrap();
    served.command("Period");
    assert_eq!(served.command(&format!("Unlink \"switch-3\"[{port}]")), "1 cable unlinked");
    // How often OpenSM sweeps for the traps of both ends is its own business.
    let is_done = |served: &Served| {
        let log = read_log(served);
        let trap = log.rfind("num:128");
        trap.is_some() && log.rfind("SUBNET UP") > trap
    };
    served.until("another routing", |served| is_done(served) && tables(served) != before);
    let status = served.status();
    assert!(
        status["packets"]["lost_to_failure"].as_u64().unwrap() + status["packets"]["lost_to_change"].as_u64().unwrap()
            > 0
    );
    assert!(status["mads"]["Set(LinearForwardingTable)"].as_u64().unwrap() > 0, "{}", status["mads"]);
    assert!(status["mads"]["TrapRepress(Notice)"].as_u64().unwrap() > 0, "{}", status["mads"]);
    // The trap was repressed, so that the next change is told by another.
    served.command(&format!("Relink \"switch-3\"[{port}]"));
    served.until("everything as it was", |served| is_done(served) && tables(served) == before);
}

#[test]
fn tools_that_need_a_manager_find_what_it_made() {
    let tools = ["saquery", "sminfo", "ibtracert", "iblinkinfo", "ibqueryerrors", "perfquery", "ibroute", "ibaddr"];
    if !installed(&["opensm"]) || !installed(&tools) {
        return;
    }
    let served = Served::start(&bundled("fat-tree-4-2"), &[]);
    let _opensm = daemon(&served, "host-3 HCA-1", "updn");
    let run = |program: &str, arguments: &[&str]| served.run("host-1 HCA-1", program, arguments).well();
    assert!(run("sminfo", &[]).contains("SMINFO_MASTER"));
    assert!(run("saquery", &["-s"]).contains("IsSM ports"));
    assert!(run("saquery", &["NR", "1"]).contains("host-3 HCA-1"));
    let own = run("ibaddr", &["-l"]);
    let own = own.split_whitespace().skip_while(|&word| word != "start").nth(1).unwrap();
    let own = u16::from_str_radix(own.trim_start_matches("0x"), 16).unwrap().to_string();
    let path = run("saquery", &["--slid", &own, "--dlid", "1", "PR"]);
    assert!(path.contains("PathRecord dump") && path.contains("pkey....................0xFFFF"), "{path}");
    let trace = run("ibtracert", &[&own, "1"]);
    assert!(trace.contains("To ca {0x0200000101000200}"), "{trace}");
    let links = run("iblinkinfo", &[]);
    assert_eq!((links.matches("Active/  LinkUp").count(), links.matches("Down/ Polling").count()), (64, 16), "{links}");
    let errors = served.run("host-1 HCA-1", "ibqueryerrors", &[]);
    assert!(errors.succeeded() && errors.text().contains("0 bad nodes found"), "{}", errors.text());
    assert!(!errors.text().contains("PMA query failures"), "{}", errors.text());
}

#[test]
fn counters_move_under_traffic() {
    if !installed(&["opensm", "perfquery"]) {
        return;
    }
    let served = Served::start(&bundled("fat-tree-4-2"), &["--load", "0.1"]);
    let _opensm = daemon(&served, "host-3 HCA-1", "updn");
    let sent = || {
        let text = served.run("host-1 HCA-1", "perfquery", &["-x", "1", "1"]).well();
        let line = text.lines().find(|line| line.starts_with("PortXmitData:")).unwrap().to_string();
        line.rsplit('.').next().unwrap().trim().parse::<u64>().unwrap()
    };
    let idle = sent();
    // Nobody sends data yet: perfquery's questions are answered on the lanes of data, 73 words each.
    let again = sent();
    assert!((idle + 1..=idle + 4 * 73).contains(&again), "{idle} {again}");
    served.command("Traffic on");
    served.until("a packet", |served| served.status()["packets"]["delivered"].as_u64().unwrap() > 1_000);
    let first = sent();
    assert!(first > again + 1_000);
    served.until("more packets", |served| served.status()["packets"]["delivered"].as_u64().unwrap() > 10_000);
    assert!(sent() > first);
}

#[test]
fn end_ports_ask_opensm_for_their_paths() {
    if !installed(&["opensm"]) {
        return;
    }
    let served = Served::start(&bundled("ring-8"), &["--start", "--load", "0.05", "--paths", "records"]);
    let _opensm = daemon(&served, "host-1 HCA-1", "dfsssp");
    let pairs = 16 * 15;
    // A port that OpenSM tells to register once more asks once more.
    let mut paths = serde_json::Value::Null;
    served.until("a path for each pair", |served| {
        paths = served.status()["paths"].take();
        paths["open"] == 0 && paths["known"].as_u64() >= Some(pairs)
    });
    assert_eq!(paths["given_up"], 0);
    // A ring needs two layers: not everything is on SL 0 any more.
    served.until("packets", |served| served.status()["packets"]["delivered"].as_u64().unwrap() > 10_000);
    let text = served.run("host-2 HCA-1", "perfquery", &["--xmtsl", "1", "1"]).well();
    let busy = text.lines().filter(|line| line.starts_with("XmtDataSL") && !line.ends_with(".0")).count();
    assert!(busy > 1, "{text}");
}

/// Two managers settle between themselves, by SMInfo through the subnet, who is master.
///
/// OpenSM has a race of its own: asked to take over while it still discovers the subnet, it does not, and then both
/// stand by for ever. The second one is then started anew.
#[test]
fn the_manager_of_higher_priority_takes_over() {
    if !installed(&["opensm", "sminfo"]) {
        return;
    }
    let served = Served::start(&bundled("fat-tree-4-2"), &[]);
    let opensm = |host: &str, priority: &str, log: &str| {
        let mut command = served.program(host, "opensm");
        // On a busy machine the other manager, a process like any, may answer late.
        command.args(["-p", priority, "-f", log, "-D", "0x43", "-d2", "-t", "5000"]);
        Beside::start(command)
    };
    let read = |log: &str| std::fs::read_to_string(served.folder.path().join(log)).unwrap_or_default();
    let _low = opensm("host-1 HCA-1", "3", "low.log");
    served.until("SUBNET UP", |_| read("low.log").contains("SUBNET UP"));
    for attempt in 1.. {
        // OpenSM goes on with a log that is there.
        let _ = std::fs::remove_file(served.folder.path().join("high.log"));
        let _high = opensm("host-9 HCA-1", "5", "high.log");
        let stands_by = |log: &str| read(log).contains("Entering STANDBY");
        let took_over = || read("high.log").contains("SUBNET UP");
        served.until("a hand-over", |_| stands_by("low.log") && (took_over() || stands_by("high.log")));
        // One that stood by on its way to a hand-over in good order is up soon after, if the machine is not busy.
        if !served.within(Duration::from_secs(15), took_over) {
            assert!(attempt < 5, "OpenSM's race five times in a row");
            continue;
        }
        let told = served.run("host-2 HCA-1", "sminfo", &[]).well();
        assert!(told.contains("sm guid 0x200000101000801") && told.contains("SMINFO_MASTER"), "{told}");
        break;
    }
    for log in ["low.log", "high.log"] {
        let text = read(log);
        // For the same reason an answer of the other one may be late for the server, which waits for a second.
        let late = |line: &&str| line.contains("IB_TIMEOUT") || line.contains("Timeout while getting");
        let found: Vec<&str> = errors(&text).into_iter().filter(|line| !late(line)).collect();
        assert_eq!(found, Vec::<&str>::new(), "{log}");
    }
}
