//! OpenSM as the subnet manager.

use super::subnet::Subnet;
use reconfig_measuring::process::background::{Background, lossy};
use reconfig_measuring::started;
use std::time::Duration;

/// How long it may take to bring a subnet up.
const LIMIT: Duration = Duration::from_secs(300);

/// OpenSM, running.
pub struct OpenSm {
    _process: Background,
    log: std::path::PathBuf,
}

impl OpenSm {
    /// Starts it at a node, under a name of its own, with lines for its configuration.
    pub fn start(subnet: &Subnet, node: Option<&str>, name: &str, options: &str) -> OpenSm {
        let process = started::opensm(subnet, node, name, options);
        OpenSm { _process: process, log: subnet.folder().join(format!("{name}.log")) }
    }

    /// Starts it, and waits until it has brought the subnet up.
    pub fn bring_up(subnet: &Subnet, node: Option<&str>, options: &str) -> OpenSm {
        let manager = OpenSm::start(subnet, node, "opensm", options);
        subnet.wait("OpenSM to bring the subnet up", LIMIT, || manager.says("SUBNET UP"));
        manager
    }

    /// Whether its log holds the words.
    pub fn says(&self, words: &str) -> bool {
        lossy(&self.log).is_ok_and(|text| text.contains(words))
    }
}
