//! A served fabric with traffic in this very process, and the record of what landed in it.

use reconfig::audit::{Audit, AuditRules, RoutingSnapshot, audit};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::Guid;
use reconfig::serve::{ConsoleCommand, Patience, ServeOptions, Server, Switchboard};
use reconfig::sim::{Sim, SimConfig};
use reconfig::tables::{LFT_BLOCK, Lft};
use reconfig_measuring::process::working_folder::working_folder;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

/// A subnet in service.
pub struct Subnet {
    pub socket: String,
    folder: TempDir,
    server: Option<JoinHandle<()>>,
}

/// What a record tells of.
pub enum Event {
    /// A block landed.
    Write { switch: Guid, block: u16, entries: [u8; LFT_BLOCK] },
    /// A command was carried out.
    Command(ConsoleCommand),
}

impl Subnet {
    /// Serves a fabric that has just been switched on, traffic on.
    pub fn serve(fabric: &Fabric, load: f64) -> Subnet {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let socket = format!("reconfig-opensm-{}-{number}", std::process::id());
        let folder = working_folder("reconfig-opensm-");
        let options = ServeOptions {
            name: socket.clone(),
            control: Some(folder.path().join("control")),
            console: false,
            speed: 0.0005,
            record: Some(folder.path().join("record")),
        };
        let mut sim = Sim::cold(fabric, SimConfig { load, ..SimConfig::default() }).expect("the fabric can be served");
        sim.outlast_deadlocks();
        sim.start();
        let fabric = fabric.clone();
        let (told, ready) = std::sync::mpsc::channel();
        let server = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            let board = Switchboard::new(fabric, sim, Patience::default());
            let server = {
                let _entered = runtime.enter();
                Server::bind(board, &options).expect("the name is ours")
            };
            told.send(()).expect("the test waits");
            runtime.block_on(server.run());
        });
        ready.recv().expect("the server is bound");
        Subnet { socket, folder, server: Some(server) }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Gives a command, and tells the reply.
    pub fn command(&self, line: &str) -> String {
        let mut stream = UnixStream::connect(self.folder().join("control")).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time that is not 0");
        writeln!(stream, "{line}").expect("the server listens");
        stream.shutdown(std::net::Shutdown::Write).expect("the server listens");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("the server replies");
        let reply = reply.trim_end().to_string();
        assert!(!reply.starts_with("error"), "{line}: {reply}");
        reply
    }

    /// The counts.
    pub fn status(&self) -> serde_json::Value {
        serde_json::from_str(&self.command("Status")).expect("counts are JSON")
    }

    fn record(&self) -> PathBuf {
        self.folder().join("record")
    }

    /// What has landed so far.
    pub fn events(&self) -> Vec<Event> {
        let text = std::fs::read_to_string(self.record()).expect("a record was wanted");
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(event).collect()
    }

    /// How many blocks have landed so far.
    pub fn written(&self) -> usize {
        std::fs::read_to_string(self.record())
            .map(|text| text.lines().filter(|line| !line.contains('!')).count())
            .unwrap_or(0)
    }
}

impl Drop for Subnet {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.command("Quit");
            let _ = self.server.take().map(JoinHandle::join);
        }
    }
}

fn event(line: &str) -> Event {
    let mut words = line.splitn(4, ' ');
    let mut word = || words.next().unwrap_or_else(|| panic!("a short line of the record: {line}"));
    let (_at, switch) = (word(), word());
    if switch == "!" {
        let command = line.split_once("! ").expect("it has one").1;
        return Event::Command(ConsoleCommand::read(command).expect("it was carried out").expect("it is not empty"));
    }
    let (block, digits) = (word().parse().expect("a number"), word());
    let digit = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("digits");
    Event::Write { switch: switch.parse().expect("a GUID"), block, entries: std::array::from_fn(digit) }
}

/// Every moment of a record: the fabric as it was then, and the tables.
pub struct Moments<'a> {
    whole: &'a Fabric,
    dead: Vec<PortId>,
    pub fabric: Fabric,
    pub lfts: Vec<Arc<Lft>>,
}

impl<'a> Moments<'a> {
    /// Before anything; `whole` has the LIDs.
    pub fn new(whole: &'a Fabric) -> Moments<'a> {
        Moments { whole, dead: Vec::new(), fabric: whole.clone(), lfts: vec![Arc::default(); whole.node_count()] }
    }

    /// The next moment; whether anything is different from the one before.
    pub fn step(&mut self, event: &Event) -> bool {
        match event {
            Event::Write { switch, block, entries } => {
                let at: NodeId = self.whole.by_guid(*switch).expect("the record is of this fabric");
                let own = &mut self.lfts[at.index()];
                let differs = own.block(*block) != *entries;
                if differs {
                    Arc::make_mut(own).set_block(*block, entries);
                }
                differs
            }
            Event::Command(ConsoleCommand::Unlink(named)) => {
                self.dead.extend(named.cables(self.whole).expect("it was carried out"));
                self.fabric = self.whole.without_links(&self.dead);
                true
            }
            Event::Command(ConsoleCommand::Relink(named)) => {
                let back = named.cables(self.whole).expect("it was carried out");
                self.dead.retain(|port| !back.contains(port));
                self.fabric = self.whole.without_links(&self.dead);
                true
            }
            Event::Command(_) => false,
        }
    }

    /// The verdict of `audit` on this moment.
    pub fn audited(&self) -> Audit {
        self.audit(false)
    }

    /// The same with switches among those who send and are sent to.
    pub fn audited_with_switches(&self) -> Audit {
        self.audit(true)
    }

    fn audit(&self, switches: bool) -> Audit {
        let snapshot =
            RoutingSnapshot { fabric: &self.fabric, lfts: &self.lfts, sl_to_vl: None, path_sls: None, unknown: &[] };
        audit(&snapshot, AuditRules { switches, data_vls: Some(1) }).expect("the fabric has LIDs")
    }
}
