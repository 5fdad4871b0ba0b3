//! OpenSM with the plugin, and what it leaves.

use reconfig::fabric::Fabric;
use reconfig::ids::{Lid, Lmc, PortNum};
use reconfig::plan::Plan;
use reconfig::tables::dump::read_lfts;
use reconfig::tables::{LFT_BLOCK, Lft, SubnetTables};
use reconfig_measuring::process::background::Background;
use reconfig_measuring::process::programs::missing;
use reconfig_measuring::process::run::run;
use reconfig_measuring::process::under_ibsim::under_ibsim;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long any step may take.
pub fn patience() -> Duration {
    Duration::from_secs(if std::env::var_os("RECONFIG_THOROUGH").is_some() { 1200 } else { 300 })
}

/// How often OpenSM is started where it ends before it begins.
const ATTEMPTS: usize = 3;

/// Whether these programs are there; says `SKIPPED` where one is not.
pub fn installed(programs: &[&str]) -> bool {
    let missing = missing(programs);
    let required = std::env::var_os("RECONFIG_TOOLS_REQUIRED").is_some();
    assert!(missing.is_empty() || !required, "{} must be installed", missing.join(", "));
    if !missing.is_empty() {
        println!("SKIPPED: {} not installed (opensm, ibsim-utils, infiniband-diags, ibutils)", missing.join(", "));
    }
    missing.is_empty()
}

/// The bundled fabric with this name.
pub fn bundled(name: &str) -> Fabric {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../fixtures/topologies/{name}.ibnetdiscover"));
    let bytes = std::fs::read(&file).expect("a bundled fabric");
    reconfig::fabric::format::read(&bytes, name).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// The plugin as this build made it.
fn plugin() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    let built = own.with_file_name("libreconfig_opensm.so");
    assert!(built.is_file(), "{} is not there", built.display());
    built
}

/// A running OpenSM.
pub struct OpenSm {
    folder: PathBuf,
    pub background: Option<Background>,
}

impl OpenSm {
    /// Starts it in a folder; `settings` are lines of the engine's file, `options` of OpenSM's.
    pub fn start(socket: &str, folder: &Path, settings: &str, options: &str) -> OpenSm {
        OpenSm::start_at(None, socket, folder, settings, options)
    }

    /// The same on a node.
    pub fn start_at(node: Option<&str>, socket: &str, folder: &Path, settings: &str, options: &str) -> OpenSm {
        let library = folder.join("libreconfig.so");
        if !library.exists() {
            std::os::unix::fs::symlink(plugin(), &library).expect("a link in a temporary folder");
        }
        let write = |name: &str, text: String| {
            let file = folder.join(name);
            std::fs::write(&file, text).expect("a file in a temporary folder");
            file
        };
        let evidence = folder.join("evidence");
        let settings = write("reconfig.yaml", format!("{settings}\nevidence: {{folder: {}}}\n", evidence.display()));
        let options = format!(
            "force_log_flush TRUE\nevent_plugin_name reconfig\nevent_plugin_options reconfig_config={}\n{options}\n",
            settings.display()
        );
        let options = match options.contains("log_flags") {
            true => options,
            false => format!("{options}log_flags 0x43\n"),
        };
        // Packets live 4 ms in a switch, so that waits are short.
        let options = match options.contains("packet_life_time") {
            true => options,
            false => format!("{options}packet_life_time 0x0a\n"),
        };
        let options = match options.contains("routing_engine") {
            true => options,
            false => format!("{options}routing_engine reconfig no_fallback\n"),
        };
        let configuration = write("opensm.conf", options);
        let mut command = under_ibsim(socket, "opensm", folder);
        command.args(["-f", "osm.log", "-F"]).arg(configuration).env("LD_LIBRARY_PATH", folder);
        if let Some(node) = node {
            command.env("SIM_HOST", node);
        }
        let mut started = OpenSm { folder: folder.to_path_buf(), background: None };
        for _ in 0..ATTEMPTS {
            started.background = Some(started.begin(&mut command));
            if started.lives() {
                return started;
            }
        }
        panic!("OpenSM ends as soon as it is started: {}", started.log());
    }

    fn begin(&self, command: &mut Command) -> Background {
        let (printed, said) = (self.folder.join("osm.out"), self.folder.join("osm.err"));
        Background::start(command, &printed, &said).expect("OpenSM is installed")
    }

    /// Whether it gets as far as its log; ibsim's library brings programs down before they begin now and then.
    fn lives(&mut self) -> bool {
        let start = Instant::now();
        loop {
            let ended =
                self.background.as_mut().is_some_and(|own| own.child.try_wait().is_ok_and(|ended| ended.is_some()));
            if ended || start.elapsed() > patience() {
                return false;
            }
            if self.log().contains("Entering DISCOVERING state") {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Its log.
    pub fn log(&self) -> String {
        std::fs::read(self.folder.join("osm.log"))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// What the engine said.
    pub fn said(&self) -> Vec<String> {
        let log = self.log();
        log.lines().filter_map(|line| line.split_once("-> reconfig: ")).map(|(_, said)| said.to_string()).collect()
    }

    pub fn ups(&self) -> usize {
        self.log().matches("SUBNET UP").count()
    }

    /// Whether no wave waits or is left of what the engine began.
    pub fn has_ended(&self) -> bool {
        let goes_on = |said: &String| said.contains("wait") || said.contains("left") && !said.contains("; 0 are left");
        !self.said().last().is_some_and(goes_on)
    }

    /// Waits until its log holds so many of a word.
    pub fn until(&self, what: &str, mut holds: impl FnMut(&OpenSm) -> bool) {
        let start = Instant::now();
        while !holds(self) {
            if start.elapsed() > patience() {
                let log = self.log();
                let last: Vec<&str> = log.lines().rev().take(20).collect();
                let last: Vec<&str> = last.into_iter().rev().collect();
                panic!("waited for {what}; the engine said:\n{}\nOpenSM:\n{}", self.said().join("\n"), last.join("\n"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until it has nothing more to write: what it last said has stood for a while.
    pub fn settle(&self) {
        let (mut last, mut since) = (String::new(), Instant::now());
        self.until("it to settle", |own| {
            let log = own.log();
            if log != last {
                (last, since) = (log, Instant::now());
            }
            since.elapsed() > Duration::from_millis(2500)
        });
    }

    /// Waits until what it writes, and says, has stood for a while.
    pub fn quiet(&self, a_while: Duration, written: impl Fn() -> usize) {
        let (mut last, mut since) = ((usize::MAX, 0), Instant::now());
        self.until("it to write nothing", |own| {
            let now = (written(), own.said().len());
            if now != last {
                (last, since) = (now, Instant::now());
            }
            since.elapsed() > a_while
        });
    }

    /// The fabric with the LIDs that it gave, as it dumps them.
    pub fn seen(&self, fabric: &Fabric) -> Fabric {
        let text = std::fs::read_to_string(self.folder.join("guid2lid")).expect("it keeps a file of LIDs");
        let mut lids = Vec::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [guid, first, last] = words[..] else { continue };
            let number = |text: &str| u16::from_str_radix(text.trim_start_matches("0x"), 16).expect("a LID");
            let (guid, first, last) = (guid.parse().expect("a GUID"), number(first), number(last));
            let port = fabric.lid_ports().find(|&port| fabric.port_guid(port) == guid);
            let lmc = (last - first + 1).trailing_zeros() as u8;
            lids.extend(port.map(|port| (port, Lid(first), Lmc::masked(lmc))));
        }
        fabric.with_lids(lids).expect("LIDs do not overlap")
    }

    /// Ends it at once, whatever it is doing.
    pub fn kill(&mut self) {
        drop(self.background.take());
    }

    /// The last plan that it kept, its certificate checked by the checker that shares no code with the prover.
    pub fn last_plan(&self) -> Plan {
        let folder = self.folder.join("evidence");
        let plans = || {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
            let mut plans: Vec<PathBuf> =
                entries.filter(|path| path.extension().is_some_and(|kind| kind == "plan")).collect();
            plans.sort();
            plans
        };
        let wanted = self.log().matches(" dependencies of ").count();
        self.until("evidence", |_| {
            plans().len() >= wanted && plans().last().is_some_and(|last| last.with_extension("certificate").exists())
        });
        let last = plans().pop().expect("a plan was kept");
        let text = std::fs::read_to_string(&last).expect("it can be read");
        let plan = Plan::read(&text, "plan").unwrap_or_else(|error| panic!("{}: {error}", last.display()));
        let certificate = std::fs::read(last.with_extension("certificate")).expect("each plan has one");
        let checked = reconfig::check::certificate::check(&plan, text.as_bytes(), &certificate);
        assert!(checked.is_ok(), "{}: {checked:?}", last.display());
        assert_eq!(reconfig::check::lint(&plan), Vec::new(), "{}", last.display());
        plan
    }
}

/// The tables that switches hold, as dump_fts reads them.
pub fn held(socket: &str, folder: &Path, fabric: &Fabric) -> Vec<Arc<Lft>> {
    let mut command: Command = under_ibsim(socket, "dump_fts", folder);
    let ended = run(&mut command, folder, "dump_fts", patience()).expect("dump_fts is installed");
    let read = read_lfts(ended.output.as_bytes(), "dump_fts", fabric);
    let read = read.unwrap_or_else(|error| panic!("{}\n{}", error.render(false), ended.errors));
    assert_eq!(read.missing, Vec::new(), "dump_fts leaves switches out");
    let mut tables = read.tables;
    // dump_fts of infiniband-diags reads no last block that holds the top LID alone: that one is as OpenSM dumps it.
    let top = fabric.max_lid().filter(|top| top.index().is_multiple_of(LFT_BLOCK));
    if let Some(top) = top {
        let dumped = std::fs::read(folder.join("opensm-lfts.dump")).expect("OpenSM dumps its tables");
        let dumped = read_lfts(&dumped, "opensm-lfts.dump", fabric);
        let dumped = dumped.unwrap_or_else(|error| panic!("{}", error.render(false))).tables;
        for (own, dumped) in tables.iter_mut().zip(&dumped) {
            dumped.get(top).into_iter().for_each(|port| Arc::make_mut(own).set(top, port));
        }
    }
    tables
}

/// Where a plan ends and switches stand otherwise, LIDs alone that somebody owns who is still there.
pub fn differing(plan: &Plan, held: &[Arc<Lft>]) -> Vec<String> {
    let fabric = &plan.draft().after;
    let last: &SubnetTables = plan.tables_at(plan.waves().len());
    let mut found = Vec::new();
    let is_there = |lid| {
        let node = fabric.lid_owner(lid).map(|owner| fabric.port(owner).node);
        node.is_some_and(|node| fabric.ports_of(node).any(|port| fabric.peer(port).is_some()))
    };
    for switch in fabric.switches() {
        let (wanted, own) = (&last.lfts[switch.index()], &held[switch.index()]);
        for lid in wanted.differing(own).filter(|&lid| is_there(lid)) {
            let show = |port: Option<PortNum>| port.map_or("none".to_string(), |port| port.to_string());
            let (is, wants) = (show(own.get(lid)), show(wanted.get(lid)));
            found.push(format!("{} LID {lid}: {is}, planned {wants}", fabric.describe_node(switch)));
        }
    }
    found
}
