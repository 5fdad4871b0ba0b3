//! What surrounds `reconfig sm` may be unkind: a supervisor that wants to be told, a log that takes nothing, a folder
//! that takes no file, two devices under one GUID.

use super::brings_up::topology;
use super::fabrics::{Net, SMALL, generated};
use super::sm::{Place, Sm};
use super::subnet::Subnet;
use super::{installed, reconfig};
use reconfig::fabric::Fabric;
use reconfig_measuring::process::background::Background;
use reconfig_measuring::process::run::run;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

fn served() -> (Fabric, Place, Subnet) {
    let net: Net = generated(SMALL[1].0, SMALL[1].1);
    let topology = topology(&net);
    let place = Place::of(&topology);
    (topology, place, Subnet::serve(&net.text))
}

/// A manager at a node, not started yet.
fn manager(subnet: &Subnet, node: &str, options: &[&str]) -> Command {
    let mut command = subnet.command(reconfig(), Some(node));
    complete(&mut command, subnet);
    command.args(options);
    command
}

fn complete(command: &mut Command, subnet: &Subnet) {
    command.args(["sm", "--settle", "0.2", "--life-time-value", "8", "--socket"]).arg(subnet.folder().join("sm.sock"));
}

fn status(subnet: &Subnet) -> serde_json::Value {
    let mut command = Command::new(reconfig());
    command.args(["status", "--json", "--socket"]).arg(subnet.folder().join("sm.sock"));
    let ended = run(&mut command, subnet.folder(), &subnet.name("status"), LIMIT).expect("the binary is built");
    serde_json::from_str(&ended.output).unwrap_or_default()
}

#[test]
fn a_supervisor_is_told_when_the_manager_serves_that_it_lives_and_that_it_ends() {
    if !installed() {
        return;
    }
    let (_, place, subnet) = served();
    let path = subnet.folder().join("notify.sock");
    let supervisor = UnixDatagram::bind(&path).expect("a socket");
    supervisor.set_read_timeout(Some(LIMIT)).expect("a limit");
    // A watchdog is meant for one process, which systemd names.
    let mut command = subnet.command("sh", Some(&place.node));
    command.args(["-c", "WATCHDOG_PID=$$ exec \"$0\" \"$@\""]).arg(reconfig());
    complete(&mut command, &subnet);
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "400000");
    let process = subnet.background(&mut command, "sm");
    let told = |wanted: &str| {
        let mut lines = Vec::new();
        loop {
            let mut text = [0; 4096];
            let length =
                supervisor.recv(&mut text).unwrap_or_else(|error| panic!("no {wanted}: {error}, after {lines:?}"));
            lines.extend(String::from_utf8_lossy(&text[..length]).lines().map(String::from));
            if lines.iter().any(|line| line.starts_with(wanted)) {
                return lines;
            }
        }
    };
    told("READY=1");
    assert_eq!(status(&subnet)["subnet_up"], true, "it serves when it says so");
    let line = told("STATUS=");
    assert!(line.iter().any(|line| line.contains("switches")), "{line:?}");
    for _ in 0..3 {
        told("WATCHDOG=1");
    }
    let asked = Command::new("kill").args(["-TERM", &process.child.id().to_string()]).status();
    assert!(asked.is_ok_and(|asked| asked.success()));
    told("STOPPING=1");
}

/// A terminal that is closed sends SIGHUP, and tools that rotate OpenSM's log send SIGUSR1.
#[test]
fn signals_that_others_obey_do_not_end_it_and_one_has_it_sweep() {
    if !installed() {
        return;
    }
    let (_, place, subnet) = served();
    let mut process = subnet.background(&mut manager(&subnet, &place.node, &["-v"]), "sm");
    subnet.wait("the subnet to be up", LIMIT, || status(&subnet)["subnet_up"] == true);
    let sweeps = || status(&subnet)["sweeps"]["heavy"].as_u64().expect("a count");
    let before = sweeps();
    for name in ["-USR1", "-USR2", "-HUP"] {
        let asked = Command::new("kill").args([name, &process.child.id().to_string()]).status();
        assert!(asked.is_ok_and(|asked| asked.success()), "kill {name}");
    }
    subnet.wait("a sweep", LIMIT, || sweeps() > before);
    assert!(matches!(process.child.try_wait(), Ok(None)));
}

#[test]
fn a_log_that_takes_nothing_stops_nothing() {
    if !installed() {
        return;
    }
    let (topology, place, mut subnet) = served();
    let full = Path::new("/dev/full");
    let _process = Background::start(&mut manager(&subnet, &place.node, &["-v"]), full, full).expect("it starts");
    subnet.wait("the subnet to be up", LIMIT, || status(&subnet)["subnet_up"] == true);
    subnet.unlink(topology.node(place.root).description.trim(), None);
    subnet.wait("the change", LIMIT, || status(&subnet)["last_change"]["outcome"] == "completed");
}

#[test]
fn lids_that_cannot_be_stored_are_told_and_nothing_is_left_of_them() {
    if !installed() {
        return;
    }
    let (_, place, subnet) = served();
    // A folder cannot be replaced by a file.
    let folder = subnet.folder().join("lids");
    let file = folder.join("guid2lid");
    std::fs::create_dir_all(&file).expect("a folder");
    std::fs::write(subnet.folder().join("bad"), "0x0200000200000001 0x0042\n").expect("a file");
    let told = |file: &Path| {
        let name = file.to_str().expect("in UTF-8");
        let mut command = manager(&subnet, &place.node, &["--once", "--guid2lid", name]);
        run(&mut command, subnet.folder(), &subnet.name("once"), LIMIT).expect("the binary is built")
    };
    let (unread, bad) = (told(&file), told(&subnet.folder().join("bad")));
    assert_eq!((unread.code, bad.code), (Some(2), Some(2)), "{}{}", unread.errors, bad.errors);
    assert!(bad.errors.contains("bad:1:"), "{}", bad.errors);
    let missing = told(&folder.join("nowhere/guid2lid"));
    assert_eq!(missing.code, Some(0), "the subnet is up all the same: {}", missing.errors);
    assert!(missing.errors.contains("writing LIDs to"), "{}", missing.errors);
    assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), 1);
}

/// Status says so as long as it lasts, and the LIDs are stored once they can be, though none of them has changed.
#[test]
fn lids_that_could_not_be_stored_are_stored_later() {
    if !installed() {
        return;
    }
    let (_, place, subnet) = served();
    let file = subnet.folder().join("later/guid2lid");
    let manager = Sm::bring_up(&subnet, &place.node, &["--guid2lid", file.to_str().expect("in UTF-8")]);
    let told = manager.ask(&subnet, "status", &["--json"]);
    assert_eq!(told.code, Some(1), "{}", told.output);
    assert!(manager.says(&subnet, "trouble").starts_with("writing LIDs to"), "{}", told.output);
    std::fs::create_dir(file.parent().expect("a folder")).expect("a folder");
    manager.ask(&subnet, "status", &["--sweep"]);
    assert_eq!(manager.ask(&subnet, "status", &["--json"]).code, Some(0), "{}", manager.log());
    assert_eq!((manager.count("writing LIDs to"), file.exists()), (1, true));
}

#[test]
fn two_devices_under_one_guid_cost_nobody_else_anything() {
    if !installed() {
        return;
    }
    let (topology, place, mut subnet) = served();
    let manager = Sm::bring_up(&subnet, &place.node, &[]);
    let elsewhere = topology.end_ports().filter(|&port| {
        let node = topology.node(topology.port(port).node);
        node.description.trim() != place.node && topology.neighbour(port) != Some(place.root)
    });
    let hosts: Vec<_> = elsewhere.take(2).map(|port| topology.port(port).node).collect();
    let (first, second) = (topology.node(hosts[0]), topology.node(hosts[1]));
    let name = first.description.trim();
    subnet.console(&format!("Guid \"{name}\" {:#018x}", second.guid.0));
    subnet.console(&format!("Guid \"{name}\"[1] {:#018x}", second.guid.0 + 1));
    let swept = manager.ask(&subnet, "status", &["--sweep"]);
    assert!(manager.log().contains("two devices have the GUID"), "{}{}", swept.errors, manager.log());
    // Somebody has no connection, so status says who, and a manager that starts now says so as well.
    let is_named = |manager: &Sm, subnet: &_| {
        let status = manager.ask(subnet, "status", &[]);
        status.code == Some(1) && status.output.contains("a second device with its GUID is at ")
    };
    subnet.wait("the second device to be named", LIMIT, || is_named(&manager, &subnet));
    drop(manager);
    let manager = Sm::bring_up(&subnet, &place.node, &[]);
    subnet.wait("the second device to be named again", LIMIT, || is_named(&manager, &subnet));
    subnet.unlink(topology.node(place.root).description.trim(), None);
    let cas = topology.end_ports().count() as u64;
    let switches = topology.switches().count() as u64 - 1;
    let rest = |status: &serde_json::Value| {
        let count = |what: &str| status["fabric"][what].as_u64();
        count("switches") == Some(switches) && count("cas").is_some_and(|count| count >= cas - 3)
    };
    subnet.wait("the rest to be up without the root", LIMIT, || {
        let status = manager.status(&subnet);
        status["subnet_up"] == true && status["last_change"]["outcome"] == "completed" && rest(&status)
    });
}
