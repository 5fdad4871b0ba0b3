//! The transport against real ibsim, through real libibumad: what a sweep finds, what a trap brings, what loss costs,
//! and what is said where there is nothing to speak through.
//!
//! ibsim's preload must be in the process that speaks, so that process is this binary again, which runs the example
//! `sweep` where [`SWEEP`] has its arguments ([`the_process_that_sweeps`]).

// Its `main` is for cargo.
#[expect(dead_code)]
#[path = "../examples/sweep.rs"]
mod sweep;

use crate::support::tools::all_there;
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{Format, read, write};
use reconfig::fabric::generate::{Options, generate};
use reconfig::frontend::control::{ChangeDone, ChangeOutcome, Status};
use reconfig_measuring::process::programs::missing;
use reconfig_measuring::process::working_folder::working_folder;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long a test waits for any one thing.
const PATIENCE: Duration = Duration::from_secs(60);

/// When a program that a failed test has left behind ends by itself: a test waits several times within one program's
/// life.
const LIFE: Duration = Duration::from_secs(600);

/// How long an answer may take where none is lost: nothing is sent again, however busy the machine.
const LONG_MS: &str = "5000";

/// A running ibsim with its console; it ends with the value.
struct Ibsim {
    child: Child,
    console: ChildStdin,
    folder: tempfile::TempDir,
    socket: String,
}

impl Drop for Ibsim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ibsim {
    fn start(name: &str, fabric: &Fabric) -> Ibsim {
        let folder = working_folder("reconfig-umad-");
        let net = folder.path().join("net");
        std::fs::write(&net, write(fabric, Format::IbsimNet).expect("a fabric that ibsim loads")).expect("room");
        let socket = format!("reconfig-umad-{}-{name}", std::process::id());
        let said = std::fs::File::create(folder.path().join("ibsim.out")).expect("room");
        let mut child = Command::new("ibsim")
            .args(["-s", "-N", "40000", "-S", "4000", "-P", "400000", "net"])
            .current_dir(folder.path())
            .env("IBSIM_SOCKNAME", &socket)
            .stdin(Stdio::piped())
            .stdout(said)
            .stderr(Stdio::null())
            .spawn()
            .expect("ibsim");
        let console = child.stdin.take().expect("piped");
        let ibsim = Ibsim { child, console, folder, socket };
        wait_for(&ibsim.folder.path().join("ibsim.out"), "Network simulator ready");
        ibsim
    }

    fn tell(&mut self, command: &str) {
        writeln!(self.console, "{command}").expect("ibsim runs");
    }

    /// A program in this subnet.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        self.in_subnet(Command::new(program).args(arguments))
    }

    /// A command's program in this subnet, with the command's arguments and environment.
    fn in_subnet(&self, inner: &Command) -> Command {
        let mut command = Command::new("timeout");
        command.args([LIFE.as_secs().to_string().as_str(), "ibsim-run"]).arg(inner.get_program());
        command.args(inner.get_args()).envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
        command.current_dir(self.folder.path()).env("IBSIM_SOCKNAME", &self.socket).stdin(Stdio::null());
        command.env("STATE_DIRECTORY", self.folder.path());
        command
    }

    fn sweep(&self, arguments: &[&str]) -> Output {
        without_heading(self.in_subnet(&sweeping(arguments)).output().expect("timeout, ibsim-run"))
    }
}

fn wait_for(file: &Path, word: &str) {
    let began = Instant::now();
    while !std::fs::read_to_string(file).is_ok_and(|text| text.contains(word)) {
        assert!(began.elapsed() < PATIENCE, "{} never said `{word}`", file.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The arguments of a sweep, a line each; set in the process that is to sweep.
const SWEEP: &str = "RECONFIG_TEST_SWEEP";

/// This binary again, as the process that sweeps.
fn sweeping(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test has a path"));
    // With one thread the harness would print the test's name before what it prints.
    command.args(["--exact", "umad::the_process_that_sweeps", "--nocapture", "--test-threads", "2"]);
    command.env(SWEEP, arguments.join("\n"));
    command
}

/// What the sweep printed, without what the harness had printed before it.
fn without_heading(mut output: Output) -> Output {
    const HEADING: &[u8] = b"\nrunning 1 test\n";
    assert!(output.stdout.starts_with(HEADING), "{}", text(&output.stdout));
    output.stdout.drain(..HEADING.len());
    output
}

/// Not a test of its own: the body of the process that the tests below start.
#[test]
fn the_process_that_sweeps() {
    let Ok(arguments) = std::env::var(SWEEP) else { return };
    let result = sweep::run(arguments.lines().map(String::from));
    std::process::exit(match result {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{error}");
            1
        }
    });
}

fn installed() -> bool {
    all_there(&missing(&["ibsim", "ibsim-run"]), "ibsim-utils")
}

fn made(topology: &str) -> Fabric {
    generate(&topology.parse().expect("a topology"), &Options { seed: 7, ..Options::default() }).expect("it exists")
}

/// Nodes and cables, by GUID and port.
fn shape(fabric: &Fabric) -> Vec<String> {
    let name = |port| {
        let port = fabric.port(port);
        format!("{}[{}]", fabric.node(port.node).guid, port.num)
    };
    let nodes = fabric
        .nodes()
        .map(|(_, node)| format!("{} {:?} {} ports {:?}", node.guid, node.kind, node.num_ports, node.description));
    let links = fabric.links().map(|(a, b)| {
        let (a, b) = (name(a), name(b));
        if a < b { format!("{a} to {b}") } else { format!("{b} to {a}") }
    });
    let mut lines: Vec<String> = nodes.chain(links).collect();
    lines.sort();
    lines
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn found(output: &Output) -> Fabric {
    assert!(output.status.success(), "{}", text(&output.stderr));
    read(&output.stdout, "sweep").unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// How many SMPs were sent again.
fn sent_again(output: &Output) -> u64 {
    let said = text(&output.stderr);
    let words: Vec<&str> = said.split_whitespace().collect();
    let of = words.iter().position(|&word| word == "SMPs,").expect("the counts");
    words[of + 1].parse().expect("a count")
}

#[test]
fn a_sweep_finds_what_ibsim_was_given_whatever_the_window() {
    if !installed() {
        return;
    }
    for (name, topology) in [("tree", "fat-tree:4,3"), ("torus", "torus:3x3x3,2"), ("random", "random-regular:24,5,3")]
    {
        let fabric = made(topology);
        let ibsim = Ibsim::start(name, &fabric);
        for window in ["1", "8", "128"] {
            let output = ibsim.sweep(&["--window", window, "--timeout", LONG_MS]);
            assert_eq!(shape(&found(&output)), shape(&fabric), "{topology}, window {window}");
            assert_eq!(sent_again(&output), 0, "{topology}, window {window}: nothing is lost here");
        }
    }
}

#[test]
fn a_fifth_of_all_mads_lost_and_a_fifth_late_costs_retries_and_nothing_else() {
    if !installed() {
        return;
    }
    let fabric = made("mesh:3x3,1");
    let ibsim = Ibsim::start("loss", &fabric);
    let output = ibsim.sweep(&["--loss", "0.2", "--seed", "3", "--window", "32"]);
    assert_eq!(shape(&found(&output)), shape(&fabric));
    assert!(sent_again(&output) > 10, "{}", text(&output.stderr));
}

#[test]
fn a_trap_reaches_whoever_manages_the_port() {
    // Without opensm no port knows where its manager is.
    if !installed() || !all_there(&missing(&["opensm"]), "opensm") {
        return;
    }
    let fabric = made("ring:4,1");
    let mut ibsim = Ibsim::start("trap", &fabric);
    let mut opensm = ibsim.command("opensm", &["-o", "-f", "osm.log"]);
    let opensm = opensm.env("OSM_TMP_DIR", ibsim.folder.path()).env("OSM_CACHE_DIR", ibsim.folder.path()).output();
    let opensm = opensm.expect("opensm");
    let log = std::fs::read_to_string(ibsim.folder.path().join("osm.log")).expect("OpenSM's log");
    assert!(log.contains("SUBNET UP"), "{}\n{}\n{log}", text(&opensm.stdout), text(&opensm.stderr));
    let said = ibsim.folder.path().join("said");
    let mut listener = ibsim
        .in_subnet(&sweeping(&["--listen", "30"]))
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&said).expect("room"))
        .spawn()
        .expect("timeout, ibsim-run");
    wait_for(&said, "listening");
    let (port, _) = fabric
        .links()
        .find(|&(a, b)| [a, b].iter().all(|&port| fabric.node(fabric.port(port).node).is_switch()))
        .expect("a ring of switches");
    let (node, num) = (fabric.node(fabric.port(port).node), fabric.port(port).num);
    ibsim.tell(&format!("Unlink \"{}\"[{num}]", node.description));
    let ended = listener.wait().expect("it is ours");
    let said = std::fs::read_to_string(&said).expect("what it said");
    assert!(ended.success() && said.contains("LinksChanged"), "{said}");
}

#[test]
fn the_ports_of_this_machine_can_be_listed() {
    if !installed() {
        return;
    }
    let fabric = made("ring:4,1");
    let ibsim = Ibsim::start("list", &fabric);
    let output = ibsim.sweep(&["--list"]);
    assert!(text(&output.stdout).starts_with("ibsim0 port "), "{}", text(&output.stdout));
    let missing = ibsim.sweep(&["--ca", "mlx5_7"]);
    assert!(!missing.status.success());
    assert!(text(&missing.stderr).contains("there is no adapter `mlx5_7` here; there are: `ibsim0`"));
}

#[test]
fn without_an_adapter_it_says_what_is_missing() {
    if !installed() {
        return;
    }
    if Path::new("/sys/class/infiniband").exists() {
        println!("SKIPPED: this machine has InfiniBand adapters");
        return;
    }
    let output = sweeping(&[]).output().expect("this binary");
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("no InfiniBand adapter") || said.contains("libibumad3"), "{said}");
}

/// The binary with a control socket.
fn asked(socket: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.args(arguments).arg("--socket").arg(socket).output().expect("the binary")
}

#[test]
fn a_running_manager_answers_through_its_socket() {
    if !installed() {
        return;
    }
    let fabric = made("fat-tree:2,3");
    let mut ibsim = Ibsim::start("manager", &fabric);
    let socket = ibsim.folder.path().join("sm.sock");
    let at = socket.to_str().expect("UTF-8");
    let log = std::fs::File::create(ibsim.folder.path().join("sm.log")).expect("room");
    let mut manager = ibsim.command(env!("CARGO_BIN_EXE_reconfig"), &["sm", "--socket", at, "--timeout", LONG_MS]);
    let mut manager = manager.stderr(log).spawn().expect("timeout, ibsim-run");
    wait_for(&ibsim.folder.path().join("sm.log"), "SUBNET UP");
    let status = asked(&socket, &["status", "--json"]);
    assert_eq!(status.status.code(), Some(0), "{}", text(&status.stderr));
    let status: Status = serde_json::from_slice(&status.stdout).expect("the schema");
    assert_eq!((status.fabric.switches, status.fabric.cas, status.fabric.links), (12, 8, 24));
    assert_eq!((status.role.as_str(), status.arrival.as_deref()), ("master", Some("cold")));
    assert!(status.smps.sent["NodeInfo"]["Get"] >= 20 && status.smps.retries == 0, "{:?}", status.smps);

    assert_eq!((status.engine.as_str(), status.routed_by.as_deref()), ("fat-tree,up-down-robust", Some("fat-tree")));
    let root = "core-1";
    let dry = asked(&socket, &["change", "--remove-switch", root, "--planned", "--dry-run", "--json"]);
    let done: ChangeDone = serde_json::from_slice(&dry.stdout).expect("the schema");
    assert_eq!((dry.status.code(), done.outcome, done.waves), (Some(0), ChangeOutcome::Planned, 5));
    assert_eq!(done.scheme.as_deref(), Some("double"), "as its five waves show");
    let nowhere = asked(&socket, &["change", "--remove-switch", "nowhere", "--planned"]);
    assert_eq!(nowhere.status.code(), Some(2), "{}", text(&nowhere.stderr));
    let second = ibsim
        .command(env!("CARGO_BIN_EXE_reconfig"), &["sm", "--socket", at, "--no-journal"])
        .output()
        .expect("timeout");
    assert_eq!(second.status.code(), Some(3), "{}", text(&second.stderr));

    let mut events = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    let events = events.args(["events", "--socket", at]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut events = events.spawn().expect("the binary");
    let mut lines = BufReader::new(events.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let listener = std::thread::spawn(move || lines.find(|line| line.contains("trap 128 from LID")));
    // The listener hears only what happens after it has connected, and on a busy machine that is late: each cable goes
    // and comes back, again and again, until it has heard.
    let began = Instant::now();
    for (port, command) in (1..=4).flat_map(|port| ["Unlink", "ReLink"].map(|command| (port, command))).cycle() {
        std::thread::sleep(Duration::from_millis(200));
        if listener.is_finished() {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "nothing was heard");
        ibsim.tell(&format!("{command} \"{root}\"[{port}]"));
    }
    assert!(listener.join().expect("it ends").is_some(), "the manager has ended");
    assert!(events.kill().is_ok() && events.wait().is_ok());
    // Ended by a signal to whoever started it: `timeout` passes it on.
    let told = Command::new("kill").args(["-TERM", &manager.id().to_string()]).status().expect("kill");
    assert!(told.success() && manager.wait().is_ok());
    assert!(!socket.exists(), "the socket goes with its manager");
}
