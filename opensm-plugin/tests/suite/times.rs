//! What a run of the routing takes: within OpenSM beside its own engines, and without OpenSM step by step. The long
//! form of docs/OPENSM.md's table; nothing here is run unless asked for by name.

use crate::decision::World;
use crate::harness::{OpenSm, installed, patience};
use crate::moments::{cables, name};
use reconfig::change::KnownBase;
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{Format, write};
use reconfig::fabric::generate::{Options, generate};
use reconfig::ids::Guid;
use reconfig_measuring::served::Served;
use reconfig_opensm::answer::Again;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub fn generated(topology: &str) -> Fabric {
    generate(&topology.parse().expect("a topology"), &Options::default()).expect("a fabric")
}

/// The fabrics of the table.
pub const FABRICS: [&str; 2] = ["three-level:16,8,8,8,8", "fat-tree:18,3"];

/// OpenSM's log as it grows: looked at seldom, and only what is new, so that looking takes no time from what is
/// measured.
struct Log {
    file: File,
    /// Lines of the routing.
    lines: Vec<String>,
    rest: String,
}

impl Log {
    fn open(folder: &Path) -> Log {
        let file = File::open(folder.join("osm.log")).expect("OpenSM has begun its log");
        Log { file, lines: Vec::new(), rest: String::new() }
    }

    fn read(&mut self) {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes).expect("the log can be read");
        self.rest += &String::from_utf8_lossy(&bytes);
        let whole = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let wanted = [BEGUN, SAID, WRITTEN, UP];
        let lines = self.rest[..whole].lines().filter(|line| wanted.iter().any(|wanted| line.contains(wanted)));
        self.lines.extend(lines.map(str::to_string));
        self.rest.drain(..whole);
    }

    fn ups(&self) -> usize {
        self.lines.iter().filter(|line| line.contains(UP)).count()
    }

    /// Waits until the subnet is up once more than so often, and then until OpenSM neither routes nor takes processor
    /// time: losses come when it has been idle for long.
    fn up_after(&mut self, ups: usize, opensm: &OpenSm) {
        let start = Instant::now();
        let (mut held, mut since) = ((0, 0), Instant::now());
        while self.ups() <= ups || since.elapsed() < Duration::from_secs(3) {
            assert!(start.elapsed() < patience(), "waited for the subnet to be up: {}", self.lines.join("\n"));
            std::thread::sleep(Duration::from_millis(500));
            self.read();
            let now = (self.lines.len(), ticks(opensm));
            if now.0 != held.0 || now.1 > held.1 + IDLE {
                since = Instant::now();
            }
            held = now;
        }
    }

    /// By run of the routing: milliseconds from its begin to tables configured, and what the engine said meanwhile.
    fn runs(&self) -> Vec<(u64, String)> {
        let mut found = Vec::new();
        let mut begun: Option<(u64, String)> = None;
        for line in &self.lines {
            if line.contains(BEGUN) {
                begun = Some((millisecond(line), String::new()));
            } else if let Some((_, said)) = line.split_once(SAID) {
                begun.iter_mut().for_each(|(_, own)| *own = said.to_string());
            } else if line.contains(WRITTEN) {
                found.extend(begun.take().map(|(start, said)| (millisecond(line) - start, said)));
            }
        }
        found
    }
}

/// Hundredths of a second that OpenSM's light sweeps may take in half a second.
const IDLE: u64 = 15;

/// Hundredths of a second of processor time that OpenSM has taken, all of its threads.
fn ticks(opensm: &OpenSm) -> u64 {
    let id = opensm.background.as_ref().expect("it runs").child.id();
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("it runs");
    let after_name = stat.rsplit(')').next().expect("it has a name");
    let fields: Vec<u64> =
        after_name.split_whitespace().skip(11).take(2).map(|text| text.parse().expect("ticks")).collect();
    fields.iter().sum()
}

const BEGUN: &str = "building routing with";
const SAID: &str = "-> reconfig: ";
const WRITTEN: &str = "tables configured on all switches";
const UP: &str = "-> SUBNET UP";

/// Processor time that this process has taken, all of its threads: what runs beside it does not count.
fn taken() -> Duration {
    on_processor(std::process::id(), |_| true)
}

/// Processor time that threads of a process have taken, by their names.
fn on_processor(process: u32, counts: impl Fn(&str) -> bool) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let text = |folder: &Path, file: &str| std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    let of = |folder: &Path| text(folder, "schedstat").split_whitespace().next().and_then(|ns| ns.parse::<u64>().ok());
    let folders = threads.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let counted = folders.filter(|folder| counts(text(folder, "comm").trim()));
    Duration::from_nanos(counted.filter_map(|folder| of(&folder)).sum())
}

/// The time of day of a line of OpenSM's log, `Nov 25 12:56:44 443871 [thread] …`, the number after it microseconds.
fn millisecond(line: &str) -> u64 {
    let words: Vec<&str> = line.split_whitespace().collect();
    let part = |text: &str| text.parse::<u64>().unwrap_or_else(|error| panic!("{line}: {error}"));
    words[2].split(':').fold(0, |sum, text| sum * 60 + part(text)) * 1000 + part(words[3]) / 1000
}

/// One line for ibsim's console.
fn console(served: &mut Served, line: &str) {
    let stdin = served.server.as_mut().and_then(|server| server.stdin.as_mut()).expect("ibsim's console is open");
    writeln!(stdin, "{line}").and_then(|()| stdin.flush()).expect("ibsim reads its console");
}

#[test]
#[ignore = "minutes on a quiet machine: the table of docs/OPENSM.md"]
fn beside_opensms_own_engines() {
    if !installed(&["opensm", "ibsim", "ibsim-run"]) {
        return;
    }
    println!("| fabric | engine | run | ms | what the engine said |");
    for topology in FABRICS {
        let fabric = generated(topology);
        let net = write(&fabric, Format::IbsimNet).expect("ibsim can have it");
        let cable = name(&fabric, cables(&fabric)[0]);
        for engine in ["reconfig no_fallback", "minhop", "updn"] {
            let mut served = Served::serve(&net);
            let (socket, folder) = (served.socket().to_string(), served.folder().to_path_buf());
            let options = format!("sweep_interval 1\nlog_flags 0x07\nrouting_engine {engine}");
            let opensm = OpenSm::start(&socket, &folder, "", &options);
            let mut log = Log::open(&folder);
            log.up_after(0, &opensm);
            let process = opensm.background.as_ref().expect("it runs").child.id();
            // Threads that work ahead at low priority are not what a loss waits for.
            let own = || on_processor(process, |name| !name.starts_with("reconfig"));
            for command in ["Unlink", "ReLink"] {
                let (ups, before) = (log.ups(), own());
                console(&mut served, &format!("{command} {cable}"));
                log.up_after(ups, &opensm);
                println!(
                    "| {topology} | {engine} | {command} | {:?} of processor time, sweeps included |",
                    own() - before
                );
            }
            let found = log.runs();
            assert!(found.len() >= 3, "bring-up, loss and return: {found:?}");
            for (number, (took, said)) in found.iter().enumerate() {
                println!("| {topology} | {engine} | {number} | {took} | {said} |");
            }
        }
    }
}

#[test]
#[ignore = "a minute on a quiet machine: the steps of docs/OPENSM.md's table"]
fn without_opensm() {
    for topology in FABRICS {
        let mut world = World::new(&generated(topology), 0, "renew: false");
        let cables = cables(&world.whole);
        let mut now = Duration::from_secs(60);
        let mut run = |world: &mut World, what: &str| {
            loop {
                let seen = world.seen();
                let start = taken();
                let asked = world.router.unsure(&seen).len();
                let sight = seen.sight().expect("what the world shows fits together");
                let sighted = taken() - start;
                world.router.sweeps();
                let answer = world.router.route(&sight, now).expect("it can be routed");
                let took = taken() - start;
                let said = answer.notes.last().map_or("", |note| &note.text);
                println!("{topology}: {what}: {took:?}, of which reading {asked} blocks {sighted:?}; {said}");
                for switch in sight.fabric.switches() {
                    world.lfts[switch.index()] = Arc::clone(&answer.lfts[switch.index()]);
                }
                world.router.written(now);
                match answer.again {
                    None => break,
                    Some(Again::Later(wait)) => now += wait,
                    again => assert_eq!(again, Some(Again::Written), "no renewal"),
                }
            }
            let sm = Guid(world.seen().sm_port_guid);
            let in_force = world.router.in_force(sm).expect("no change is under way");
            let start = taken();
            world.router.know(KnownBase::of(&in_force));
            println!("{topology}: {what}: known for the next change after {:?}", taken() - start);
        };
        run(&mut world, "bring-up");
        run(&mut world, "nothing new");
        for at in [0, cables.len() / 2] {
            world.dead = vec![cables[at]];
            run(&mut world, "a cable lost");
            world.dead.clear();
            run(&mut world, "a cable back");
        }
    }
}
