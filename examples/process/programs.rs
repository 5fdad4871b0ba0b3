//! Which other programs are there.

use std::path::PathBuf;

/// Which of these programs are not installed.
pub fn missing(programs: &[&str]) -> Vec<String> {
    let found = |name: &str| folders().any(|folder| folder.join(name).is_file());
    programs.iter().filter(|name| !found(name)).map(ToString::to_string).collect()
}

/// Where programs are looked for: Debian keeps opensm where only root looks.
fn folders() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from)).collect::<Vec<_>>().into_iter()
}
