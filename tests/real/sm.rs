//! `reconfig sm` as the subnet manager.

use super::reconfig;
use super::subnet::Subnet;
use reconfig::fabric::{Fabric, NodeId};
use reconfig_measuring::process::background::{Background, lossy};
use reconfig_measuring::process::run::{Ended, run};
use reconfig_measuring::started;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What its log says of a change that was made.
pub const COMPLETED: &str = "outcome=Completed smps=";
/// What its log says when a change has ended, however it did.
pub const OVER: &str = "the change is over";
/// What its log says once the tables of the retired half lead there too (P5.4), and nothing is left to write.
pub const FOLLOWED: &str = "the retired half follows";
/// How long it may take to bring a subnet up, or to change it.
const LIMIT: Duration = Duration::from_secs(180);

/// `reconfig sm`, running.
pub struct Sm {
    process: Background,
    log: PathBuf,
    socket: PathBuf,
}

impl Sm {
    /// Starts it at a node, under a name of its own.
    pub fn start(subnet: &Subnet, node: &str, name: &str, options: &[&str]) -> Sm {
        let process = started::reconfig(subnet, &reconfig(), node, name, options);
        let [log, socket] = ["err", "sock"].map(|kind| subnet.folder().join(format!("{name}.{kind}")));
        Sm { process, log, socket }
    }

    /// Starts it, and waits until it has brought the subnet up.
    pub fn bring_up(subnet: &Subnet, node: &str, options: &[&str]) -> Sm {
        let manager = Sm::start(subnet, node, &subnet.name("sm"), options);
        manager.wait(subnet, "SUBNET UP", 1);
        manager
    }

    /// What `reconfig status` says.
    pub fn status(&self, subnet: &Subnet) -> serde_json::Value {
        let ended = self.ask(subnet, "status", &["--json"]);
        serde_json::from_str(&ended.output).unwrap_or_else(|_| panic!("status: {} {}", ended.how, ended.errors))
    }

    /// One word of what `reconfig status` says; none while nobody answers.
    pub fn says(&self, subnet: &Subnet, key: &str) -> String {
        let ended = self.ask(subnet, "status", &["--json"]);
        let status: serde_json::Value = serde_json::from_str(&ended.output).unwrap_or_default();
        status[key].as_str().unwrap_or_default().to_string()
    }

    /// `reconfig change` or another command that speaks to it, to its end.
    pub fn ask(&self, subnet: &Subnet, command: &str, options: &[&str]) -> Ended {
        let mut program = Command::new(reconfig());
        program.arg(command).args(options).arg("--socket").arg(&self.socket);
        run(&mut program, subnet.folder(), &subnet.name(command), LIMIT).expect("the binary is built")
    }

    /// The same beside others.
    pub fn begin(&self, subnet: &Subnet, command: &str, options: &[&str]) -> Background {
        let mut program = Command::new(reconfig());
        program.arg(command).args(options).arg("--socket").arg(&self.socket);
        subnet.background(&mut program, &subnet.name(command))
    }

    /// Goes from barrier to barrier until a change is over, and looks round at each; the states that it stood in.
    pub fn at_each_barrier(&self, subnet: &Subnet, mut look: impl FnMut(&str)) -> Vec<String> {
        let mut states = Vec::new();
        loop {
            let next = states.len() + 1;
            let come = || self.count("waiting to be continued") >= next || self.count(OVER) > 0;
            subnet.wait("the next barrier", LIMIT, come);
            if self.count(OVER) > 0 {
                return states;
            }
            let status = self.status(subnet);
            let state = status["state"].as_str().unwrap_or_default().to_string();
            assert!(status["held"].is_string(), "it waits at a barrier: {status:#}");
            look(&state);
            states.push(state);
            let ended = self.ask(subnet, "change", &["--continue"]);
            assert_eq!(ended.code, Some(0), "change --continue: {}", ended.errors);
        }
    }

    /// Its control socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Kills it.
    pub fn ends(&mut self) {
        let _ = self.process.child.kill();
        let _ = self.process.child.wait();
    }

    /// Asks it to end.
    pub fn signal(&self) {
        let asked = Command::new("kill").args(["-TERM", &self.process.child.id().to_string()]).status();
        assert!(asked.is_ok_and(|asked| asked.success()), "kill -TERM");
    }

    /// Its exit code, if it has ended by itself.
    pub fn code(&mut self) -> Option<i32> {
        self.process.child.try_wait().ok().flatten().and_then(|status| status.code())
    }

    /// Whether it runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.process.child.try_wait(), Ok(None))
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        lossy(&self.log).unwrap_or_default()
    }

    /// How often its log holds the words.
    pub fn count(&self, words: &str) -> usize {
        lossy(&self.log).map_or(0, |text| text.matches(words).count())
    }

    /// Waits until its log holds the words so often.
    pub fn wait(&self, subnet: &Subnet, words: &str, times: usize) {
        subnet.wait(&format!("`{words}` in the log of reconfig sm"), LIMIT, || self.count(words) >= times);
    }
}

/// Where a manager sits, and what it routes by.
pub struct Place {
    /// The root of up*/down*.
    pub root: NodeId,
    /// The description, hence ibsim's name, of the manager's node: the first CA that is not attached to the root.
    pub node: String,
}

impl Place {
    /// In a fabric as it is served.
    pub fn of(fabric: &Fabric) -> Place {
        let (root, node) = started::place(fabric);
        Place { root, node }
    }
}

/// What is left of a fabric without a switch, seen from a node: what is attached to nothing else is gone too.
pub fn without(fabric: &Fabric, switch: NodeId, from: &str) -> Fabric {
    let rest = fabric.without_nodes(&[switch]);
    let named = |id: &NodeId| rest.node(*id).description.trim() == from;
    let start = rest.nodes().map(|(id, _)| id).find(named).expect("the manager's node is there");
    let mut reached = vec![false; rest.node_count()];
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut reached[node.index()], true) {
            open.extend(rest.ports_of(node).filter_map(|port| rest.neighbour(port)));
        }
    }
    let gone: Vec<NodeId> = rest.nodes().map(|(id, _)| id).filter(|id| !reached[id.index()]).collect();
    rest.without_nodes(&gone)
}
