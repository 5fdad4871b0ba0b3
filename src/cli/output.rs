//! The destination of results: standard output, or a file that exists whole or not at all. A file named `-` is standard
//! output; the command's report then goes to standard error.

use super::Common;
use super::clobber;
use super::outcome::Failure;
use anyhow::Context;
use clap::ColorChoice;
use serde::Serialize;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Applies the user's choice of colours to standard output and standard error.
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

/// Whether standard output shows colours.
pub(super) fn colours_output() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
}

/// Prints `text` on standard output. A closed pipe is not a failure.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    print_to_reader(text).map(|_| ())
}

/// Prints `text` on standard output; returns false if the pipe is closed.
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
    print(&json_of(value)?)
}

fn json_of(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).context("cannot write the result as JSON");
    text.map(|text| text + "\n").map_err(Failure::undone)
}

/// An option, and the file that it names for a result, if it is given.
pub(super) type NamedFile<'a> = (&'static str, Option<&'a PathBuf>);

/// The destination of a command's report if the command writes files too.
#[derive(Clone, Copy)]
pub(super) struct Screen {
    json: bool,
    /// Whether a file takes standard output.
    aside: bool,
}

impl Screen {
    /// The destination beside the given files.
    ///
    /// # Errors
    /// Two of the options name standard output, or one file.
    pub(super) fn beside<'a>(
        common: Common,
        files: impl IntoIterator<Item = NamedFile<'a>>,
    ) -> Result<Screen, Failure> {
        let mut aside = false;
        let mut places: Vec<(&str, PathBuf)> = Vec::new();
        for (option, file) in files.into_iter().filter_map(|(option, file)| file.map(|file| (option, file))) {
            if is_stdout(file) && std::mem::replace(&mut aside, true) {
                return Err(two_for_stdout());
            }
            let Some(place) = place_of(file) else { continue };
            if let Some((other, _)) = places.iter().find(|(_, known)| *known == place) {
                return Err(Failure::input(anyhow::anyhow!("{other} and {option} both name {}", file.display())));
            }
            places.push((option, place));
        }
        Ok(Screen { json: common.json, aside })
    }

    /// Whether values are shown as JSON.
    pub(super) fn is_json(self) -> bool {
        self.json
    }

    /// Shows a value as JSON if requested, otherwise as text.
    pub(super) fn show(self, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Failure> {
        let text = if self.json { json_of(value)? } else { text() };
        self.print(&text)
    }

    pub(super) fn print(self, text: &str) -> Result<(), Failure> {
        if !self.aside {
            return print(text);
        }
        // Standard error may be closed, which is not a failure.
        let _ = anstream::stderr().write_all(text.as_bytes());
        Ok(())
    }
}

fn two_for_stdout() -> Failure {
    Failure::input(anyhow::anyhow!("two files would go to standard output (`-`): give one of them a name"))
}

/// Whether an output file is standard output.
pub(super) fn is_stdout(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// The name of a file beside another one, with a number before its extension: `change.2.plan`. Standard output stays
/// it.
pub(super) fn numbered(file: &Path, number: usize) -> PathBuf {
    let extension = file.extension().map(|text| text.to_string_lossy().into_owned());
    match extension {
        _ if is_stdout(file) => file.to_path_buf(),
        Some(extension) => file.with_extension(format!("{number}.{extension}")),
        None => file.with_extension(number.to_string()),
    }
}

/// The name of a file in reports.
pub(super) fn name_of(file: &Path) -> String {
    if is_stdout(file) { "standard output".to_string() } else { file.display().to_string() }
}

/// Checks in advance that output files can be written: their folders exist and accept new files. From then on none of
/// them is read.
///
/// # Errors
/// A file cannot be written, or is a folder.
pub(super) fn check_places<'a>(files: impl IntoIterator<Item = NamedFile<'a>>) -> Result<(), Failure> {
    let check = |(option, file): (&str, &PathBuf)| {
        if file.is_dir() {
            return Err(Failure::input(anyhow::anyhow!("{} is a folder; {option} takes a file", file.display())));
        }
        clobber::will_write(file).map_err(Failure::input)?;
        let cannot = || format!("cannot write {}: nothing was done", file.display());
        check_place(file).with_context(cannot).map_err(Failure::undone)
    };
    files.into_iter().filter_map(|(option, file)| file.map(|file| (option, file))).try_for_each(check)
}

/// Checks that a folder for results is one, if it exists.
///
/// # Errors
/// It is a file.
pub(super) fn check_folder(option: &str, folder: &Path) -> Result<(), Failure> {
    if !folder.exists() || folder.is_dir() {
        return Ok(());
    }
    let input = if clobber::is_read(folder) { ", and an input" } else { "" };
    Err(Failure::input(anyhow::anyhow!("{} is a file{input}; {option} takes a folder", folder.display())))
}

fn check_place(file: &Path) -> Result<(), anyhow::Error> {
    let target = target_of(file)?;
    if is_stdout(file) || is_special(&target) {
        return Ok(());
    }
    let mut batch = Batch::default();
    batch.beside(target).map(|_| ())
}

/// Writes `text` to `file`, or prints it if there is no file.
pub(super) fn deliver(text: &str, file: Option<&Path>) -> Result<(), Failure> {
    match file.filter(|file| !is_stdout(file)) {
        None => print(text),
        Some(file) if file.is_dir() => Err(Failure::input(anyhow::anyhow!("{} is a folder", file.display()))),
        Some(file) => clobber::will_write(file).map_err(Failure::input).and_then(|()| {
            write_whole(file, text.as_bytes())
                .with_context(|| format!("cannot write {}: the file is as it was before", file.display()))
                .map_err(Failure::undone)
        }),
    }
}

/// Files that appear together: each is written to a temporary file in its folder, and all are renamed when all are
/// complete.
#[derive(Default)]
pub(super) struct Batch {
    /// Temporary file and final place of each.
    staged: Vec<(PathBuf, PathBuf)>,
    /// Folders created for them, each after its parent.
    folders: Vec<PathBuf>,
    /// Text for standard output.
    printed: Option<String>,
}

impl Batch {
    /// Creates a folder for files if it does not exist.
    pub(super) fn folder(&mut self, folder: &Path) -> Result<(), Failure> {
        if !folder.is_dir() {
            fs::create_dir(folder)
                .with_context(|| format!("cannot create the folder {}: nothing was written", folder.display()))
                .map_err(Failure::undone)?;
            self.folders.push(folder.to_path_buf());
        }
        Ok(())
    }

    /// Writes a file's parts to a temporary file; a device or a pipe, which cannot be replaced by renaming, is written
    /// at once.
    pub(super) fn stage(
        &mut self,
        file: &Path,
        parts: impl Iterator<Item = Result<String, anyhow::Error>>,
    ) -> Result<(), Failure> {
        let name = || format!("cannot write {}: nothing was written", file.display());
        if is_stdout(file) {
            let text: String = parts.collect::<Result<_, _>>().with_context(name).map_err(Failure::undone)?;
            return self.printed.replace(text).map_or(Ok(()), |_| Err(two_for_stdout()));
        }
        clobber::will_write(file).map_err(Failure::input)?;
        let target = target_of(file).with_context(name).map_err(Failure::undone)?;
        if self.staged.iter().any(|(_, other)| *other == target) {
            return Err(Failure::input(anyhow::anyhow!("two options name one file, {}", file.display())));
        }
        let written = match is_special(&target) {
            true => OpenOptions::new().write(true).open(&target).map_err(anyhow::Error::new),
            false => self.beside(target),
        };
        written.and_then(|file| write_parts(file, parts)).with_context(name).map_err(Failure::undone)
    }

    /// Writes a text to a temporary file.
    pub(super) fn stage_text(&mut self, file: &Path, text: String) -> Result<(), Failure> {
        self.stage(file, std::iter::once(Ok(text)))
    }

    /// A new temporary file for a place.
    fn beside(&mut self, target: PathBuf) -> Result<File, anyhow::Error> {
        anyhow::ensure!(!target.is_dir(), "it is a folder");
        let partial = partial_name(&target)?;
        let file = File::create_new(&partial)?;
        self.staged.push((partial, target));
        Ok(file)
    }

    /// Renames all files into place, and prints the text for standard output.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        while let Some((partial, file)) = self.staged.last() {
            fs::rename(partial, file)
                .with_context(|| format!("cannot rename {} into place", file.display()))
                .map_err(Failure::undone)?;
            self.staged.pop();
        }
        self.folders.clear();
        self.printed.take().map_or(Ok(()), |text| print(&text))
    }
}

impl Drop for Batch {
    /// Removes temporary files; one that cannot be removed does no harm.
    fn drop(&mut self) {
        self.staged.iter().for_each(|(partial, _)| _ = fs::remove_file(partial));
        self.folders.iter().rev().for_each(|folder| _ = fs::remove_dir(folder));
    }
}

fn write_parts(file: File, parts: impl Iterator<Item = Result<String, anyhow::Error>>) -> Result<(), anyhow::Error> {
    let is_regular = file.metadata()?.is_file();
    let mut writer = BufWriter::new(file);
    for part in parts {
        writer.write_all(part?.as_bytes())?;
    }
    let file = writer.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    if is_regular {
        file.sync_all()?;
    }
    Ok(())
}

/// The file that a name leads to, links resolved; the name itself if nothing exists there.
fn target_of(file: &Path) -> std::io::Result<PathBuf> {
    match fs::canonicalize(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(file.to_path_buf()),
        found => found,
    }
}

/// The file that a name leads to, whether it exists or not; none of standard output, devices and pipes, which may be
/// named twice, and of a folder that does not exist.
fn place_of(file: &Path) -> Option<PathBuf> {
    match fs::canonicalize(file) {
        _ if is_stdout(file) => None,
        Ok(target) => (!is_special(&target)).then_some(target),
        Err(_) => {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(fs::canonicalize(folder).ok()?.join(file.file_name()?))
        }
    }
}

/// Whether the target exists and is neither a file nor a folder.
fn is_special(target: &Path) -> bool {
    fs::metadata(target).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Writes a temporary file beside the final place and renames it, so that no reader ever sees half of it. Devices and
/// pipes, which cannot be replaced by renaming, are written directly.
fn write_whole(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let target = target_of(file)?;
    if is_special(&target) {
        return OpenOptions::new().write(true).open(&target)?.write_all(bytes);
    }
    let partial = partial_name(&target)?;
    let written = write_new(&partial, bytes).and_then(|()| fs::rename(&partial, &target));
    if written.is_err() {
        // The first error is the one to report; a temporary file that cannot be removed does no harm.
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
