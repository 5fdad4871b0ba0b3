//! Subnet managers in front of a served fabric, beside each other.

use crate::serve::harness::{Ran, Served};
use reconfig_measuring::process::background::{Background, lossy};
use reconfig_measuring::process::under_ibsim::under_ibsim;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// `reconfig sm`, running.
pub struct Manager {
    _process: Background,
    socket: PathBuf,
    log: PathBuf,
}

impl Manager {
    /// Starts it on a host, under a name of its own.
    pub fn start(served: &Served, host: &str, name: &str, options: &[&str]) -> Manager {
        let [socket, log] = ["sock", "log"].map(|kind| served.folder.path().join(format!("{name}.{kind}")));
        let mut command = before(served, host, env!("CARGO_BIN_EXE_reconfig"));
        command.args(["sm", "-v", "--color", "never", "--no-journal", "--settle", "0.2", "--life-time-value", "8"]);
        command.arg("--socket").arg(&socket).args(options);
        let process = Background::start(&mut command, &served.folder.path().join(format!("{name}.out")), &log);
        Manager { _process: process.expect("the binary is built"), socket, log }
    }

    /// A command that speaks to it, to its end.
    pub fn ask(&self, arguments: &[&str]) -> Ran {
        Ran::of(arguments[0], self.command(arguments).output().expect("the binary is built"))
    }

    /// The same, not started yet.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
        command.args(arguments).arg("--socket").arg(&self.socket);
        command
    }

    /// What `reconfig status` says; null while nobody answers.
    pub fn status(&self) -> Value {
        serde_json::from_str(&self.ask(&["status", "--json"]).text()).unwrap_or_default()
    }

    /// The SMPs by which it has written; those between managers do not count.
    pub fn written(&self) -> u64 {
        let status = self.status();
        let sent = status["smps"]["sent"].as_object().expect("counts by attribute");
        let counts = sent.iter().filter(|(attribute, _)| *attribute != "SmInfo");
        counts.filter_map(|(_, by_method)| by_method["Set"].as_u64()).sum()
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        lossy(&self.log).unwrap_or_default()
    }
}

/// OpenSM, running.
pub struct OpenSm {
    _process: Background,
    log: PathBuf,
}

impl OpenSm {
    /// Starts it on a host, under a name of its own, with lines for its configuration.
    pub fn start(served: &Served, host: &str, name: &str, options: &str) -> OpenSm {
        let [log, configuration] = ["log", "conf"].map(|kind| served.folder.path().join(format!("{name}.{kind}")));
        std::fs::write(&configuration, format!("force_log_flush TRUE\n{options}")).expect("a file in a folder of ours");
        let mut command = before(served, host, "opensm");
        command.args(["-D", "0x43", "-f"]).arg(&log).arg("-F").arg(configuration);
        let [out, err] = ["out", "err"].map(|kind| served.folder.path().join(format!("{name}.{kind}")));
        OpenSm { _process: Background::start(&mut command, &out, &err).expect("it is installed"), log }
    }

    /// How often its log has the words.
    pub fn said(&self, words: &str) -> usize {
        lossy(&self.log).map_or(0, |text| text.matches(words).count())
    }
}

/// A program of a host in front of the server.
fn before(served: &Served, host: &str, program: &str) -> Command {
    let mut command = under_ibsim(served.name(), program, served.folder.path());
    command.env("SIM_HOST", host);
    command
}
