//! ibsim over one fabric, and programs that treat it as a real subnet.
//!
//! Each has its own folder and socket name. Programs run in that folder, and their output goes to files there; if a
//! test fails, the folder stays and is named. Dropping a value ends its process.

use crate::process::background::{Background, lossy};
use crate::process::under_ibsim::under_ibsim;
use crate::process::working_folder::working_folder;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long ibsim may take to load a fabric.
const LOADING: Duration = Duration::from_secs(60);
/// The interval at which a state is polled.
const PAUSE: Duration = Duration::from_millis(20);

/// A simulated subnet.
pub struct Served {
    /// ibsim, its console open.
    pub server: Option<Child>,
    socket: String,
    net: PathBuf,
    folder: Option<tempfile::TempDir>,
}

impl Served {
    /// ibsim over a net file's text, ready.
    pub fn serve(net: &str) -> Served {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = working_folder("reconfig-real-");
        let file = folder.path().join("fabric.net");
        std::fs::write(&file, net).expect("a file in a temporary folder");
        let socket = format!("reconfig-real-{}-{number}", std::process::id());
        let mut served = Served { server: None, socket, net: file, folder: Some(folder) };
        served.start();
        served
    }

    /// The name by which its programs find it.
    pub fn socket(&self) -> &str {
        &self.socket
    }

    /// Where its files lie.
    pub fn folder(&self) -> &Path {
        self.folder.as_ref().expect("the folder stays until the subnet ends").path()
    }

    /// Starts ibsim, which must not be running.
    pub fn start(&mut self) {
        assert!(self.server.is_none(), "ibsim runs already");
        let (printed, said) = (self.folder().join("ibsim.out"), self.folder().join("ibsim.err"));
        let (out, err) = (File::create(&printed), File::create(said));
        let child = Command::new("ibsim")
            .args(["-s", "-N", "40000", "-S", "4000", "-P", "400000"])
            .arg(&self.net)
            .env("IBSIM_SOCKNAME", &self.socket)
            .current_dir(self.folder())
            .stdin(Stdio::piped())
            .stdout(out.expect("a file in a temporary folder"))
            .stderr(err.expect("a file in a temporary folder"))
            .spawn();
        self.server = Some(child.expect("ibsim is installed"));
        let ready = || lossy(&printed).is_ok_and(|text| text.contains("Network simulator ready"));
        self.wait("ibsim to be ready", LOADING, ready);
    }

    /// Kills ibsim.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            // Neither can fail in a way that matters: what has ended is reaped.
            let _ = server.kill();
            let _ = server.wait();
        }
    }

    /// One line for ibsim's console.
    pub fn console(&mut self, line: &str) {
        let server = self.server.as_mut().expect("ibsim runs");
        let stdin = server.stdin.as_mut().expect("the console was opened");
        writeln!(stdin, "{line}").and_then(|()| stdin.flush()).expect("ibsim reads its console");
    }

    /// Pulls the cable of a port, or without a port all of the node's.
    pub fn unlink(&mut self, node: &str, port: Option<u8>) {
        self.console(&format!("Unlink \"{node}\"{}", bracketed(port)));
    }

    /// Puts it back.
    pub fn relink(&mut self, node: &str, port: Option<u8>) {
        self.console(&format!("ReLink \"{node}\"{}", bracketed(port)));
    }

    /// A program that treats the subnet as real, at a node, or at the first one of the net file.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>, node: Option<&str>) -> Command {
        let mut command = under_ibsim(&self.socket, program, self.folder());
        command.env("STATE_DIRECTORY", self.folder());
        match node {
            Some(node) => command.env("SIM_HOST", node),
            None => command.env_remove("SIM_HOST"),
        };
        command
    }

    /// A program beside the others; its output goes to NAME.out and NAME.err.
    pub fn background(&self, command: &mut Command, name: &str) -> Background {
        let (printed, said) = (self.folder().join(format!("{name}.out")), self.folder().join(format!("{name}.err")));
        Background::start(command, &printed, &said).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Waits until something holds.
    pub fn wait(&self, what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(
                start.elapsed() < limit,
                "waited {} s for {what}: see {}",
                limit.as_secs(),
                self.folder().display()
            );
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking()
            && let Some(folder) = self.folder.take()
        {
            println!("what the programs said is kept in {}", folder.keep().display());
        }
    }
}

/// A port as ibsim's console names it.
pub fn bracketed(port: Option<u8>) -> String {
    port.map_or_else(String::new, |port| format!("[{port}]"))
}
