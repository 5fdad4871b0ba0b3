//! Subnet managers on a served fabric: how each is started, and on which node.

use super::served::Served;
use crate::process::background::Background;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::Lmc;
use reconfig::lid;
use reconfig::routing::{Demand, Engine, UpDown};
use std::path::Path;

/// `reconfig sm`, the program given, at a node; its log is NAME.err, its control socket NAME.sock.
pub fn reconfig(served: &Served, program: &Path, node: &str, name: &str, options: &[&str]) -> Background {
    let mut command = served.command(program, Some(node));
    command
        .args(["sm", "-v", "--color", "never", "--settle", "0.2", "--life-time-value", "8", "--socket"])
        .arg(served.folder().join(format!("{name}.sock")))
        .args(options);
    served.background(&mut command, name)
}

/// OpenSM at a node, with lines for its configuration; its log is NAME.log.
pub fn opensm(served: &Served, node: Option<&str>, name: &str, options: &str) -> Background {
    let [log, configuration] = ["log", "conf"].map(|kind| served.folder().join(format!("{name}.{kind}")));
    std::fs::write(&configuration, format!("force_log_flush TRUE\n{options}")).expect("a file in a temporary folder");
    let mut command = served.command("opensm", node);
    command.args(["-D", "0x3", "-f"]).arg(&log).arg("-F").arg(&configuration);
    served.background(&mut command, name)
}

/// The root by which a manager routes the fabric as served, and the description, hence ibsim's name, of the first CA
/// that is not attached to it: the manager's node.
pub fn place(fabric: &Fabric) -> (NodeId, String) {
    let numbered = lid::assign(fabric, Lmc::masked(1)).unwrap_or_else(|error| panic!("{error}"));
    let demand = Demand::all(&numbered, 1);
    let function = UpDown::default().route(&numbered, &demand).unwrap_or_else(|error| panic!("{error}"));
    let root = function.root().expect("up*/down* has a root");
    let elsewhere = |port: &PortId| numbered.neighbour(*port) != Some(root);
    let port = numbered.end_ports().find(elsewhere).or_else(|| numbered.end_ports().next()).expect("a CA");
    (root, fabric.node(fabric.port(port).node).description.trim().to_string())
}
