//! A server of our own for each test, and programs that run in front of it.

use crate::support::schema::assert_keeps;
use crate::support::tools::all_there;
use reconfig_measuring::process::programs::missing;
use reconfig_measuring::process::working_folder::working_folder;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long any program may take.
pub const PATIENCE: &str = "60";

/// What a failed test shows of each log.
const LOG_LINES: usize = 60;

/// The bundled fabric with this name.
pub fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/topologies/{name}.ibnetdiscover"))
}

/// Whether all of these programs are installed; says `SKIPPED` where one is not.
pub fn installed(programs: &[&str]) -> bool {
    let programs = [programs, &["ibsim-run", "timeout"]].concat();
    all_there(&missing(&programs), "opensm, ibsim-utils, infiniband-diags")
}

/// A running server. It ends with the test, however that ends.
pub struct Served {
    child: Child,
    name: String,
    pub folder: TempDir,
}

impl Served {
    /// Serves a fabric, and returns when clients may connect.
    pub fn start(fabric: &Path, options: &[&str]) -> Served {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("reconfig-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let folder = working_folder("reconfig-serve-");
        let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
        command.arg("serve").arg(fabric).args(["--no-console", "--json", "--socket", &name]).args(options);
        command.arg("--control").arg(folder.path().join("control"));
        let errors = std::fs::File::create(folder.path().join("errors")).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let mut ready = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut ready).unwrap();
        child.stdout = Some(output.into_inner());
        let served = Served { child, name, folder };
        assert_eq!(ready, "ready\n", "{}", served.errors());
        served
    }

    fn errors(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("errors")).unwrap_or_default()
    }

    /// A program in front of the server, on a node, to be run in the test's folder.
    pub fn program(&self, host: &str, program: &str) -> Command {
        self.program_for(host, &[PATIENCE], program)
    }

    /// The same, ended as these arguments tell `timeout`.
    pub fn program_for(&self, host: &str, patience: &[&str], program: &str) -> Command {
        let mut command = Command::new("timeout");
        command.args(patience).args(["ibsim-run", program]).current_dir(self.folder.path());
        command.env("IBSIM_SOCKNAME", &self.name).env("SIM_HOST", host);
        command.env("OSM_TMP_DIR", self.folder.path()).env("OSM_CACHE_DIR", self.folder.path());
        command.env("STATE_DIRECTORY", self.folder.path());
        command
    }

    /// Runs a program to its end.
    pub fn run(&self, host: &str, program: &str, arguments: &[&str]) -> Ran {
        let output = self.program(host, program).args(arguments).output().unwrap();
        Ran { what: format!("{program} {}", arguments.join(" ")), output }
    }

    /// Gives a command at the control socket, and tells the reply.
    pub fn command(&self, line: &str) -> String {
        let mut stream = UnixStream::connect(self.folder.path().join("control")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        writeln!(stream, "{line}").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply.trim_end().to_string()
    }

    /// The name of its sockets.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits for its end.
    pub fn wait(mut self) -> std::process::ExitStatus {
        self.child.wait().unwrap()
    }

    /// The counts.
    pub fn status(&self) -> serde_json::Value {
        let reply = self.command("Status");
        let status = serde_json::from_str(&reply).unwrap_or_else(|error| panic!("{error}: {reply}"));
        // It is asked many times while a test waits; its shape does not change meanwhile.
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| assert_keeps("serve", &status));
        status
    }

    /// Waits until `done` holds, and panics where it does not within 40 s.
    pub fn until(&self, what: &str, mut done: impl FnMut(&Served) -> bool) {
        let came = self.within(Duration::from_secs(40), || done(self));
        assert!(came, "{what} did not come about\n{}{}", self.errors(), self.logs());
    }

    /// Waits so long for `done` to hold; whether it came to.
    pub fn within(&self, patience: Duration, mut done: impl FnMut() -> bool) -> bool {
        let start = Instant::now();
        loop {
            if done() {
                return true;
            }
            if start.elapsed() > patience {
                return false;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The last lines of every log in the test's folder, for a failed test to show.
    fn logs(&self) -> String {
        let mut text = String::new();
        for entry in std::fs::read_dir(self.folder.path()).unwrap().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "log") {
                let log = std::fs::read_to_string(&path).unwrap_or_default();
                let lines: Vec<&str> = log.lines().collect();
                let last = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
                text.push_str(&format!("--- {}\n{last}\n", entry.file_name().to_string_lossy()));
            }
        }
        text
    }

    /// Ends the server by SIGTERM, and tells the last counts.
    pub fn end(mut self) -> serde_json::Value {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let mut last = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut last).unwrap();
        assert!(self.child.wait().unwrap().success(), "{}", self.errors());
        assert!(!self.folder.path().join("control").exists(), "the control socket was left behind");
        serde_json::from_str(&last).unwrap_or_else(|error| panic!("{error}: {last}"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Both fail where the server has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that runs on beside the test, killed with it.
pub struct Beside(Child);

impl Beside {
    pub fn start(mut command: Command) -> Beside {
        Beside(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Has `timeout` take the time for over: the signal of its clock makes it send the program its own.
    pub fn time_runs_out(&self) {
        assert!(Command::new("kill").args(["-ALRM", &self.0.id().to_string()]).status().unwrap().success());
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // `timeout` hands the signal on to the program; it may have ended already.
        let _ = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status();
        let _ = self.0.wait();
    }
}

/// What a program said.
pub struct Ran {
    what: String,
    output: Output,
}

impl Ran {
    /// What a program said that has ended.
    pub fn of(what: &str, output: Output) -> Ran {
        Ran { what: what.to_string(), output }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    fn all(&self) -> String {
        format!("{}{}", self.text(), String::from_utf8_lossy(&self.output.stderr))
    }

    pub fn succeeded(&self) -> bool {
        self.output.status.success()
    }

    /// What it printed, where it ended well.
    pub fn well(self) -> String {
        assert!(self.succeeded(), "{} ended with {}:\n{}", self.what, self.output.status, self.all());
        self.text()
    }
}
