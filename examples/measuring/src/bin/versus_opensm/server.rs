//! `reconfig serve`, started for one trial: its control socket, and the counts that it reports.

use reconfig_measuring::process::background::Background;
use reconfig_measuring::process::wait_for::wait_for;
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The time limit of everything that is not measured.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A served fabric; dropping the value ends it.
pub struct Server {
    _process: Background,
    control: PathBuf,
    /// The socket name for clients.
    pub name: String,
}

impl Server {
    /// Serves the fabric file. Returns when clients may connect.
    pub fn start(
        program: &Path,
        fabric: &Path,
        folder: &Path,
        name: String,
        options: &[String],
    ) -> Result<Server, String> {
        let control = folder.join("serve.sock");
        let mut command = Command::new(program);
        command.arg("serve").arg(fabric).args(["--no-console", "--socket", &name, "--control"]).arg(&control);
        command.args(options).current_dir(folder);
        let printed = folder.join("serve.out");
        let told = |error: std::io::Error| format!("reconfig serve: {error}");
        let mut process = Background::start(&mut command, &printed, &folder.join("serve.err")).map_err(told)?;
        wait_for(&mut process, "ready", &printed, PATIENCE).map_err(|why| format!("reconfig serve: {why}"))?;
        Ok(Server { _process: process, control, name })
    }

    /// Sends a command, and returns the reply.
    pub fn command(&self, line: &str) -> Result<String, String> {
        self.exchange(line).map_err(|error| format!("reconfig serve, `{line}`: {error}"))
    }

    fn exchange(&self, line: &str) -> std::io::Result<String> {
        let mut stream = UnixStream::connect(&self.control)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        writeln!(stream, "{line}")?;
        stream.shutdown(std::net::Shutdown::Write)?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        Ok(reply.trim_end().to_string())
    }

    /// The counts at this moment.
    pub fn counts(&self) -> Result<Counts, String> {
        let reply = self.command("Status")?;
        let value =
            serde_json::from_str(&reply).map_err(|error| format!("reconfig serve, Status: {error}: {reply}"))?;
        Ok(Counts(value))
    }
}

/// The answer to `Status`.
pub struct Counts(Value);

impl Counts {
    /// A number, by the names on the way to it; 0 where there is none.
    pub fn number(&self, path: &str) -> u64 {
        self.0.pointer(path).and_then(Value::as_u64).unwrap_or_default()
    }

    /// MADs of clients whose name begins with this, such as `Set(`.
    pub fn mads(&self, beginning: &str) -> u64 {
        let mads = self.0["mads"].as_object().into_iter().flatten();
        mads.filter(|(name, _)| name.starts_with(beginning)).filter_map(|(_, count)| count.as_u64()).sum()
    }

    /// Packets that stand in the first deadlock's cycle.
    pub fn in_the_cycle(&self) -> u64 {
        self.0["deadlock"].as_array().map_or(0, |packets| packets.len() as u64)
    }

    /// A number of the period of measurement with this index.
    pub fn period(&self, index: usize, name: &str) -> u64 {
        self.number(&format!("/periods/{index}/{name}"))
    }

    /// Simulated time since the start.
    pub fn now_ns(&self) -> u64 {
        self.number("/simulated_ns")
    }
}
