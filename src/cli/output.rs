//! Where results go: standard output, or a file that is there whole or not at all.

use super::outcome::Failure;
use anyhow::Context;
use clap::ColorChoice;
use serde::Serialize;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Holds standard output and standard error to the user's choice of colours.
pub(super) fn choose_colour(choice: ColorChoice) {
    let choice = match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Whether standard error shows colours.
pub(super) fn colours_errors() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// Prints `text` on standard output. A reader that has gone away is no failure.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    print_to_reader(text).map(|_| ())
}

/// Prints `text` on standard output; whether somebody still reads it.
pub(super) fn print_to_reader(text: &str) -> Result<bool, Failure> {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::undone(anyhow::Error::new(error).context("cannot write to standard output"))),
    }
}

/// Prints `value` as one JSON object.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(value).context("cannot write the result as JSON").map_err(Failure::undone)?;
    print(&(text + "\n"))
}

/// Says something on standard error. Where that is closed, nobody listens.
pub(super) fn remark(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Writes `text` to `file`, or prints it where there is none.
pub(super) fn deliver(text: &str, file: Option<&Path>) -> Result<(), Failure> {
    match file {
        None => print(text),
        Some(file) => write_whole(file, text.as_bytes())
            .with_context(|| format!("cannot write {}: the file is as it was before", file.display()))
            .map_err(Failure::undone),
    }
}

/// Writes a file beside its final place and renames it, so that nobody ever sees half of it. Devices and pipes, which
/// cannot be renamed over, are written to directly.
fn write_whole(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let target = match fs::canonicalize(file) {
        Ok(target) => target,
        Err(error) if error.kind() == ErrorKind::NotFound => file.to_path_buf(),
        Err(error) => return Err(error),
    };
    if fs::metadata(&target).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return OpenOptions::new().write(true).open(&target)?.write_all(bytes);
    }
    let partial = partial_name(&target)?;
    let written = write_new(&partial, bytes).and_then(|()| fs::rename(&partial, &target));
    if written.is_err() {
        // The first error is the one to tell; a partial file that cannot be removed either is in the way of nobody.
        let _ = fs::remove_file(&partial);
    }
    written
}

/// `.NAME.PROCESS.partial` in the directory of `target`.
fn partial_name(target: &Path) -> std::io::Result<PathBuf> {
    let name = target.file_name().ok_or_else(|| std::io::Error::new(ErrorKind::InvalidInput, "it has no file name"))?;
    let mut partial = OsString::from(".");
    partial.push(name);
    partial.push(format!(".{}.partial", std::process::id()));
    Ok(target.with_file_name(partial))
}

fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
