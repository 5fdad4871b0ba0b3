//! `reconfig route` and `reconfig lids` as a user meets them: what it writes is read back alike from every format and
//! judged alike by `audit`; what is refused is told and not written; nothing half-written is left behind.

mod exports;
mod ibdmchk;
mod imports;
mod lids;

use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, format};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn reconfig(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.args(arguments).env_remove("RECONFIG_LOG").stdin(Stdio::null()).output().expect("the binary is built")
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("text")
}

/// Runs a command that must end so.
fn ends(arguments: &[&str], code: i32) -> String {
    let output = reconfig(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    stdout(&output).to_string()
}

fn json(arguments: &[&str], code: i32) -> Value {
    let text = ends(&[arguments, &["--json"]].concat(), code);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{text}"))
}

fn text_of(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn made(topology: &str) -> Fabric {
    let topology: Topology = topology.parse().unwrap_or_else(|error| panic!("{error}"));
    generate(&topology, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// A fabric as a file, with all that is known of it.
fn kept(folder: &Path, fabric: &Fabric) -> String {
    let file = folder.join("fabric.in.json");
    let text = format::write(fabric, format::Format::Json).unwrap_or_else(|error| panic!("{error}"));
    std::fs::write(&file, text).expect("a file in a temporary folder");
    text_of(&file).to_string()
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}
