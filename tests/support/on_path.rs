//! Which programs a test can start by their names.

/// Those that no folder of `PATH` has.
pub fn missing(programs: &[&str]) -> Vec<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let found = |name: &&str| folders.iter().any(|folder| folder.join(name).is_file());
    programs.iter().filter(|name| !found(name)).map(ToString::to_string).collect()
}
