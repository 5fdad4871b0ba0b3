//! `reconfig sm` on a served fabric takes as long for a change as `reconfig simulate` says of the same devices.
//!
//! The manager's clock is the machine's, so only changes that wait for seconds are compared here: of shorter ones the
//! machine's scheduler is a part. `simulate::devices` compares those on the simulation's clock.

use crate::serve::harness::{Beside, Ran, Served, bundled, installed};
use crate::support::schema::assert_keeps;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// Hosts have 0.3 s, and switches keep packets for 0.13 s: long beside the machine's own time, and soon over.
const SETTLE: [&str; 4] = ["--devices", "standard", "--settle", "0.3"];
const LIFE_TIME_VALUE: &str = "15";

/// How much sooner `sm` may be done, as a share of what `simulate` says.
const APART: f64 = 0.2;

/// How many times as long it may take: on idle processors 1.0 to 1.25; on busy ones each of its SMPs takes longer.
const MOST: f64 = 2.0;

/// How often a change that took longer is made again.
const TRIES: usize = 5;

/// From the first phase of a change to the end of its last, in seconds.
fn length_s(phases: &Value) -> f64 {
    let phases = phases.as_array().unwrap_or_else(|| panic!("no phases: {phases}"));
    let at = |phase: &Value, key: &str| phase[key].as_f64().unwrap_or_else(|| panic!("no {key}: {phase}"));
    let (first, last) = (phases.first().expect("phases"), phases.last().expect("phases"));
    (at(last, "end_ns") - at(first, "start_ns")) / 1e9
}

/// A root that `simulate` removes as planned.
fn simulated(scheme: &str) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    let life_ns = (4096u64 << LIFE_TIME_VALUE.parse::<u32>().unwrap()).to_string();
    command.args(["simulate", "--remove-root", "--planned", "--json", "--load", "0.0001", "--switch-life", &life_ns]);
    command.args(SETTLE).args(["--scheme", scheme]).arg(bundled("fat-tree-4-2"));
    let report = Ran::of("simulate", command.output().unwrap()).well();
    serde_json::from_str(&report).unwrap()
}

/// A manager of a served fat tree, up.
struct Managed {
    socket: PathBuf,
    _manager: Beside,
    served: Served,
}

impl Managed {
    fn start(serve: &[&str], sm: &[&str]) -> Self {
        let served = Served::start(&bundled("fat-tree-4-2"), &[&["--speed", "0"], serve].concat());
        let socket = served.folder.path().join("sm.sock");
        let mut manager = served.program("host-1 HCA-1", env!("CARGO_BIN_EXE_reconfig"));
        manager.args(["sm", "--life-time-value", LIFE_TIME_VALUE]).args(SETTLE).args(sm);
        manager.arg("--socket").arg(&socket);
        let managed = Managed { socket, _manager: Beside::start(manager), served };
        let is_up = |status: Ran| status.succeeded() && status.text().contains("\"subnet_up\": true");
        managed.served.until("the subnet is up", |_| is_up(managed.ask(&["status", "--json"])));
        managed
    }

    fn ask(&self, arguments: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
        command.args(arguments).arg("--socket").arg(&self.socket);
        Ran::of(arguments[0], command.output().unwrap())
    }

    /// The record of spine-1's planned removal.
    fn remove(&self) -> Value {
        let done = self.ask(&["change", "--remove-switch", "spine-1", "--planned", "--json"]).well();
        let record = serde_json::from_str(&done).unwrap_or_else(|error| panic!("{error}: {done}"));
        assert_keeps("change", &record);
        record
    }
}

#[test]
fn a_change_takes_what_simulate_says() {
    if !installed(&[]) {
        return;
    }
    for scheme in ["auto", "double"] {
        let expected = length_s(&simulated(scheme)["changes"][0]["phases"]);
        let takes_as_long = || {
            let record = Managed::start(&[], &["--scheme", scheme]).remove();
            assert_eq!(record["outcome"], "completed", "{scheme}: {record}");
            let taken = length_s(&record["phases"]);
            println!("{scheme}: simulate {expected:.3} s, sm {taken:.3} s");
            // Waits last as long everywhere, so it is never done much sooner.
            assert!(taken >= expected * (1.0 - APART), "{scheme}: {expected} s and {taken} s");
            taken <= expected * MOST
        };
        // Real time passes: on a busy machine a change takes longer.
        assert!((0..TRIES).any(|_| takes_as_long()), "{scheme}: {expected} s, and longer each time");
    }
}

#[test]
fn one_data_vl_is_told_and_rerouted_by_entries_alone() {
    if !installed(&[]) {
        return;
    }
    let managed = Managed::start(&["--vls", "1"], &[]);
    let status = managed.ask(&["status"]).well();
    for said in ["1 data VLs", "never by double: ", " has one data VL"] {
        assert!(status.contains(said), "`{said}` in:\n{status}");
    }
    let record = managed.remove();
    assert_eq!(
        (record["outcome"].as_str(), record["scheme"].as_str()),
        (Some("completed"), Some("ordered")),
        "{record}"
    );
}
