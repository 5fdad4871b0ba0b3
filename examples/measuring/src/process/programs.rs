//! Which other programs are there.

use std::path::PathBuf;

/// Which of these programs are not installed.
pub fn missing(programs: &[&str]) -> Vec<String> {
    programs.iter().filter(|name| found(name).is_none()).map(ToString::to_string).collect()
}

/// Where a program is.
pub fn found(name: &str) -> Option<PathBuf> {
    folders().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The program `reconfig` of the same build as this one.
///
/// # Errors
/// It has not been built.
pub fn reconfig() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("the path of this program: {error}"))?;
    let program = own.with_file_name("reconfig");
    if program.is_file() {
        return Ok(program);
    }
    Err(format!("{} is not there; `cargo build --release` makes it", program.display()))
}

/// The folders that are searched: Debian installs opensm in one that only root has on its path.
fn folders() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from)).collect::<Vec<_>>().into_iter()
}
