use super::programs::found;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// A program that treats the subnet of an ibsim as real; what it writes beside its output goes to the folder.
pub fn under_ibsim(socket: &str, program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let program = program.as_ref();
    // By its path: a bare name and a changed PATH make the standard library fork instead of spawn, and a fork copies
    // the page tables of a test process that holds gigabytes.
    let mut command = Command::new(program.to_str().and_then(found).unwrap_or_else(|| program.into()));
    command.env("LD_PRELOAD", preloaded());
    // A client of ibsim makes a folder where it runs, and a killed one does not remove it.
    command.current_dir(folder).env("IBSIM_SOCKNAME", socket);
    // Debian installs opensm and the tools in a folder that only root has on its path.
    command.env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default()));
    command.env("OSM_TMP_DIR", folder).env("OSM_CACHE_DIR", folder);
    command
}

/// The library that `ibsim-run` has programs load. It is asked once: its shell costs half as much as most tools.
fn preloaded() -> &'static OsStr {
    static LIBRARY: OnceLock<OsString> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let told = Command::new("ibsim-run").args(["printenv", "LD_PRELOAD"]).output();
        let mut library = told.map(|told| told.stdout).unwrap_or_default();
        library.truncate(library.trim_ascii_end().len());
        // Without it programs would take real hardware for the subnet.
        assert!(!library.is_empty(), "ibsim-run of ibsim-utils does not say which library it has programs load");
        OsString::from_vec(library)
    })
}
