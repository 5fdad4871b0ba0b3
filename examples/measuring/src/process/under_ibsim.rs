use super::programs::found;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// A program that treats the subnet of an ibsim as real; what it writes beside its output goes to the folder.
pub fn under_ibsim(socket: &str, program: impl AsRef<OsStr>, folder: &Path) -> Command {
    // By its path: a bare name and a changed PATH make the standard library fork instead of spawn, and a fork copies
    // the page tables of a test process that holds gigabytes.
    let mut command = Command::new(found("ibsim-run").unwrap_or_else(|| "ibsim-run".into()));
    // A client of ibsim makes a folder where it runs, and a killed one does not remove it.
    command.arg(program).current_dir(folder).env("IBSIM_SOCKNAME", socket);
    // Debian installs opensm and the tools in a folder that only root has on its path.
    command.env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default()));
    command.env("OSM_TMP_DIR", folder).env("OSM_CACHE_DIR", folder);
    command
}
