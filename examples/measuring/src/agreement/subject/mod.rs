//! The subject and its judges: a fabric that real OpenSM routes under ibsim, and the two judges of its files.
//!
//! Every program has a time limit, its own folder and socket name, and is reaped. The comparison and the bench share
//! this module.

mod ibsim;
pub mod judges;
pub mod opensm;
pub mod path_sl;
pub mod sample;
mod torus;

use crate::process::programs::missing;
use ibsim::Ibsim;
use opensm::{Routed, Routing};
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{Format, write};
use std::path::Path;
use std::time::Duration;

/// How long OpenSM may route.
const ROUTING_LIMIT: Duration = Duration::from_secs(300);
/// What all of it takes.
const PROGRAMS: [&str; 4] = ["ibsim", "ibsim-run", "opensm", "ibdmchk"];

/// Routes the fabric by OpenSM under ibsim; the files stay in the folder.
pub fn route(fabric: &Fabric, routing: Routing, folder: &Path) -> Result<Routed, String> {
    let net = folder.join("fabric.net");
    let text = write(fabric, Format::IbsimNet).map_err(|error| error.to_string())?;
    std::fs::write(&net, text).map_err(|error| format!("{}: {error}", net.display()))?;
    // The names of folders, and so of sockets, are unique at this time.
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let ibsim = Ibsim::start(&net, folder, format!("agreement-{}-{name}", std::process::id()))?;
    opensm::route(&ibsim, fabric, routing, folder, ROUTING_LIMIT)
}

/// The external programs that are not installed: none if the comparison can be made.
pub fn programs_missing() -> Vec<String> {
    missing(&PROGRAMS)
}
