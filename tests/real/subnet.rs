//! ibsim over one fabric, its console, and programs that take it for a real subnet.
//!
//! Each subnet has a folder and a socket name of its own. Programs run in that folder, with a time limit, and what they
//! print goes to files there; the folder stays, and is named, where a test fails. Every process ends with its value.
//! Source of the console's words: what ibsim 0.10 answers to `help`.

use super::process::{Background, Ended, lossy, run};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long ibsim may take to load a fabric.
const LOADING: Duration = Duration::from_secs(60);
/// How long a tool may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// libumad2sim reads through a null pointer when a MAD comes for a class that its client has not asked for, such as an answer
/// repeated for a tool that ran before at the same place: seen as a crash in pthread_mutex_lock.
const BROUGHT_DOWN: &str = "signal 11";
/// How often a tool is run at most, for that reason.
const ATTEMPTS: usize = 5;
/// Tools at once; ibsim takes a good handful of clients.
const SIDE_BY_SIDE: usize = 4;
/// How often the state of something is looked at.
const PAUSE: Duration = Duration::from_millis(20);

/// A simulated subnet.
pub struct Subnet {
    server: Option<Child>,
    socket: String,
    net: PathBuf,
    /// Where the tools run; none for the first node of the net file.
    place: Option<String>,
    folder: Option<tempfile::TempDir>,
    /// Programs run so far: their files are numbered.
    runs: AtomicU32,
}

impl Subnet {
    /// ibsim over a net file's text, ready.
    pub fn serve(net: &str) -> Subnet {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = tempfile::Builder::new().prefix("reconfig-real-").tempdir().expect("a temporary folder");
        let file = folder.path().join("fabric.net");
        std::fs::write(&file, net).expect("a file in a temporary folder");
        let socket = format!("reconfig-real-{}-{number}", std::process::id());
        let mut subnet =
            Subnet { server: None, socket, net: file, place: None, folder: Some(folder), runs: AtomicU32::new(0) };
        subnet.start();
        subnet
    }

    /// Has the tools run at a node from now on.
    pub fn tools_at(&mut self, node: &str) {
        self.place = Some(node.to_string());
    }

    /// Where its files lie.
    pub fn folder(&self) -> &Path {
        self.folder.as_ref().expect("the folder stays until the subnet ends").path()
    }

    /// Starts ibsim, which must not run.
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

    /// Has a node, or a port of it, lose so many of a hundred datagrams.
    pub fn error(&mut self, node: &str, port: Option<u8>, rate: u8) {
        self.console(&format!("Error \"{node}\"{} {rate}", bracketed(port)));
    }

    /// A program that takes the subnet for real, at a node, or at the first one of the net file.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>, node: Option<&str>) -> Command {
        let mut command = Command::new("ibsim-run");
        command.arg(program).current_dir(self.folder()).env("IBSIM_SOCKNAME", &self.socket);
        // Debian keeps opensm and the tools where only root looks.
        command.env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default()));
        command.env("OSM_TMP_DIR", self.folder()).env("OSM_CACHE_DIR", self.folder());
        match node {
            Some(node) => command.env("SIM_HOST", node),
            None => command.env_remove("SIM_HOST"),
        };
        command
    }

    /// Runs a tool to its end; once more where ibsim's library has brought it down before it began.
    pub fn run(&self, words: &[&str]) -> Ended {
        let [program, arguments @ ..] = words else { panic!("no program") };
        let once = || {
            let mut command = self.command(program, self.place.as_deref());
            command.args(arguments);
            run(&mut command, self.folder(), &self.name(program), PATIENCE).expect("the tools are installed")
        };
        (1..ATTEMPTS).map(|_| once()).find(|ended| ended.how != BROUGHT_DOWN).unwrap_or_else(once)
    }

    /// What a tool prints, which must succeed.
    pub fn tool(&self, words: &[&str]) -> String {
        let ended = self.run(words);
        assert_eq!(ended.code, Some(0), "{}: {}\n{}{}", words.join(" "), ended.how, ended.output, ended.errors);
        ended.output
    }

    /// What each of several calls of tools prints; a few run side by side, for they wait more than they work.
    pub fn tools(&self, calls: &[Vec<String>]) -> Vec<String> {
        let printed: Vec<Mutex<String>> = calls.iter().map(|_| Mutex::default()).collect();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..SIDE_BY_SIDE {
                scope.spawn(|| {
                    while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&at| at < calls.len()) {
                        let words: Vec<&str> = calls[at].iter().map(String::as_str).collect();
                        *printed[at].lock().expect("nobody panics holding it") = self.tool(&words);
                    }
                });
            }
        });
        printed.into_iter().map(|text| text.into_inner().expect("nobody panics holding it")).collect()
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

    /// A file's name without an extension, not used before.
    pub fn name(&self, program: &str) -> String {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        format!("{number:04}-{}", program.rsplit('/').next().unwrap_or_default())
    }
}

fn bracketed(port: Option<u8>) -> String {
    port.map(|port| format!("[{port}]")).unwrap_or_default()
}

impl Drop for Subnet {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking()
            && let Some(folder) = self.folder.take()
        {
            println!("what the programs said is kept in {}", folder.keep().display());
        }
    }
}
