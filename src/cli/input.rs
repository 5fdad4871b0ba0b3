//! Reads the user's input, fabrics and plans, from files or standard input.

use super::Common;
use super::clobber;
use super::outcome::Failure;
use super::output::colours_errors;
use super::stderr::remark;
use anyhow::{Context, anyhow};
use reconfig::fabric::difference::guids_by_name;
use reconfig::fabric::format::{Completeness, Reading, SystemFiles};
use reconfig::fabric::subnets::{Subnet, Subnets, list};
use reconfig::fabric::{Fabric, format};
use reconfig::plan::{Plan, PlanReadError};
use reconfig::tables::dump::{Lfts, read_lfts};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Refuses the first option given that is not implemented, or means nothing, for as many subnets.
pub(super) fn check_options(
    subnets: &Subnets,
    for_several: &[(bool, &'static str)],
    for_one: &[(bool, &'static str)],
) -> Result<(), Failure> {
    let first = |options: &[(bool, &'static str)]| options.iter().find(|(given, _)| *given).map(|&(_, name)| name);
    let refused = match subnets.len() {
        1 => first(for_several).map(|name| anyhow!("{name} is for a list of several subnets (docs/SUBNETS.md)")),
        _ => first(for_one).map(|name| anyhow!("{name}: not for a list of several subnets; name one of its files")),
    };
    refused.map_or(Ok(()), |error| Err(Failure::input(error)))
}

/// Reads the one fabric in `file` (`-` is standard input), in any format, which must be complete. Assumptions and
/// repairs of the reader are logged as warnings.
pub(super) fn read_fabric(file: &Path, common: Common) -> Result<Fabric, Failure> {
    read_fabric_or(file, common, ", but one fabric is needed here: name a file that it lists")
}

/// Reads the one fabric in `file`; `fix` states what to do if the file lists several subnets.
pub(super) fn read_fabric_or(file: &Path, common: Common, fix: &str) -> Result<Fabric, Failure> {
    only(read_subnets(file, common)?, file, fix).map(|subnet| subnet.fabric)
}

/// Reads the subnets that `file` (`-` is standard input) lists, whose files lie beside it. A fabric is a list of one.
pub(super) fn read_subnets(file: &Path, common: Common) -> Result<Subnets, Failure> {
    read_any(file, common, |reading| reading.complete().map_err(unreadable))
}

/// What is known about a file besides its fabric; nothing for a list.
#[derive(Default)]
pub(super) struct Captured {
    /// Whether it holds the whole fabric.
    pub completeness: Option<Completeness>,
    /// Whether its nodes got GUIDs that it does not state.
    pub numbered: bool,
}

impl From<&Reading> for Captured {
    fn from(reading: &Reading) -> Captured {
        Captured { completeness: Some(reading.completeness()), numbered: reading.numbered }
    }
}

/// A fabric that was read, with what is known of its file.
#[derive(Clone, Copy)]
pub(super) struct Capture<'a> {
    pub fabric: &'a Fabric,
    pub known: &'a Captured,
}

/// The subnets in `file`. Devices that did not answer may be missing, and so may anything that `--partial` accepts.
pub(super) fn read_captured(file: &Path, common: Common) -> Result<(Subnets, Captured), Failure> {
    let mut captured = Captured::default();
    let subnets = read_any(file, common, |reading| {
        captured = Captured::from(&reading);
        reading.complete().map_err(unreadable)
    })?;
    Ok((subnets, captured))
}

/// The one fabric in `file`, another capture of `before`, with the GUIDs of that where one of both states none.
pub(super) fn read_after(before: Capture<'_>, file: &Path, common: Common) -> Result<Fabric, Failure> {
    let (subnets, captured) = read_captured(file, common)?;
    let after = only(subnets, file, ", but one fabric is needed here: name a file that it lists")?.fabric;
    let after = match_names(before, after, &captured)?;
    if !after.nodes().any(|(_, node)| before.fabric.by_guid(node.guid).is_some()) {
        let why = "the two files have no node in common: nodes are matched by GUID";
        return Err(Failure::input(anyhow!("{why}, and by name where a file states none")));
    }
    Ok(after)
}

fn match_names(before: Capture<'_>, after: Fabric, known: &Captured) -> Result<Fabric, Failure> {
    if !before.known.numbered && !known.numbered {
        return Ok(after);
    }
    remark("a capture states no GUIDs, so the nodes of both captures are matched by their names");
    guids_by_name(before.fabric, &after).map_err(Failure::input)
}

/// The subnets in `file`, for display: an incomplete fabric is shown with a warning. A list must be complete, so it
/// needs none.
pub(super) fn read_to_look_at(file: &Path, common: Common) -> Result<(Subnets, Captured), Failure> {
    let mut captured = Captured::default();
    let subnets = read_any(file, common, |reading| {
        captured = Captured::from(&reading);
        if let Some(incomplete) = &reading.incomplete {
            let warning = incomplete.render_warning(colours_errors());
            remark(&format!("{warning}\nthe fabric is INCOMPLETE: what follows is what the file states"));
        }
        Ok(reading.fabric)
    })?;
    Ok((subnets, captured))
}

/// Two captures of one fabric, for display.
pub(super) fn look_at_both(before: &Path, after: &Path, common: Common) -> Result<(Fabric, Fabric), Failure> {
    let look = |file: &Path| {
        let (subnets, captured) = read_to_look_at(file, common)?;
        let fix = ", but one fabric is needed here: name a file that it lists";
        Ok::<_, Failure>((only(subnets, file, fix)?.fabric, captured))
    };
    let ((before, known), (after, captured)) = (look(before)?, look(after)?);
    let after = match_names(Capture { fabric: &before, known: &known }, after, &captured)?;
    Ok((before, after))
}

fn read_any(
    file: &Path,
    common: Common,
    accept: impl FnOnce(Reading) -> Result<Fabric, Failure>,
) -> Result<Subnets, Failure> {
    let subnets = read_unnamed(file, common, accept)?;
    match common.reading.names {
        None => Ok(subnets),
        Some(names) => with_names(&subnets, file, names),
    }
}

/// The subnets that `file` holds with the names in a file of names for the descriptions.
fn with_names(subnets: &Subnets, file: &Path, names: &Path) -> Result<Subnets, Failure> {
    let map = format::read_names(&read_named(names)?, &name_of(names)).map_err(unreadable)?;
    let fabrics = || subnets.subnets().map(|(_, subnet)| &subnet.fabric);
    let known: usize = fabrics().map(|fabric| map.known(fabric)).sum();
    let (all, names, file) = (map.len(), name_of(names), name_of(file));
    remark(&format!("{names}: {known} of its {all} GUIDs are in {file}"));
    Ok(subnets.with_fabrics(fabrics().map(|fabric| map.apply(fabric)).collect()))
}

fn read_unnamed(
    file: &Path,
    common: Common,
    accept: impl FnOnce(Reading) -> Result<Fabric, Failure>,
) -> Result<Subnets, Failure> {
    let bytes = read_named(file)?;
    let name = name_of(file);
    if list::is_list(&name, &bytes) {
        let named = common.reading.systems.map(|folder| systems_in(folder, true)).transpose()?;
        let systems = |capture: &Path| match &named {
            Some(systems) => Ok(systems.clone()),
            None => systems_in(beside(capture), false).map_err(|failure| std::io::Error::other(failure.text())),
        };
        return list::read_with(&bytes, &name, common.tolerance(), read_bytes, systems).map_err(unreadable);
    }
    let systems = match format::needs_systems(&bytes) {
        true => systems_in(common.reading.systems.unwrap_or(beside(file)), common.reading.systems.is_some())?,
        false => SystemFiles::default(),
    };
    let reading = format::read_with(&bytes, &name, common.tolerance(), &systems).map_err(unreadable)?;
    reading.warn(&name);
    accept(reading).map(Subnets::alone)
}

/// The folder of a file.
fn beside(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The system files for topologies of ibdm in a folder. A file that cannot be read is refused if an option names the
/// folder. In the folder of a topology, which may not need the file, it is left out with a warning.
fn systems_in(folder: &Path, named: bool) -> Result<SystemFiles, Failure> {
    let read = || format!("cannot read the system files in {}", folder.display());
    let entries = std::fs::read_dir(folder).with_context(read).map_err(Failure::input)?;
    let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.with_context(read).map_err(Failure::input)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ibnl"));
    paths.sort_unstable();
    let mut systems = SystemFiles::default();
    for path in &paths {
        match read_named(path).map(|bytes| systems.add(&bytes, &name_of(path))) {
            Ok(Ok(())) => {}
            Ok(Err(error)) if named => return Err(unreadable(error)),
            Err(failure) if named => return Err(failure),
            Ok(Err(error)) => {
                let warning = error.render_warning(colours_errors());
                remark(&format!("{warning}\n{}: left out, as if there were no such system file", path.display()));
            }
            Err(failure) => remark(&format!("{}: left out", failure.text())),
        }
    }
    if systems.is_empty() && named {
        return Err(Failure::input(anyhow!("{}: no system file (*.ibnl) in it", folder.display())));
    }
    Ok(systems)
}

/// The subnet that `file` holds, where one is needed; `fix` states what to do if it lists several.
pub(super) fn only(subnets: Subnets, file: &Path, fix: &str) -> Result<Subnet, Failure> {
    subnets.into_only().map_err(|_| lists_several(file, fix))
}

fn lists_several(file: &Path, fix: &str) -> Failure {
    Failure::input(anyhow!("{} lists several subnets{fix}", file.display()))
}

pub(super) fn unreadable(error: format::ReadError) -> Failure {
    Failure::Unreadable(shown(&error))
}

fn shown(error: &format::ReadError) -> String {
    error.render(colours_errors())
}

/// A plan with the text of its file.
pub(super) struct PlanFile {
    pub plan: Plan,
    pub text: String,
}

/// Reads the bytes of a certificate (`-` is standard input).
pub(super) fn read_certificate(file: &Path) -> Result<Vec<u8>, Failure> {
    read_named(file)
}

/// Parses `file` (`-` is standard input), a dump of tables of `fabric`, with `read`.
pub(super) fn read_dump<T>(
    file: &Path,
    fabric: &Fabric,
    read: impl Fn(&[u8], &str, &Fabric) -> Result<T, format::ReadError>,
) -> Result<T, Failure> {
    let bytes = read_named(file)?;
    read(&bytes, &name_of(file), fabric).map_err(unreadable)
}

/// Reads forwarding tables of `fabric` in the format of ibroute, dump_fts or `opensm-lfts.dump` from `files`, each of
/// which may be a folder of such files. In a folder, files of other formats are passed over and named.
pub(super) fn read_lfts_of(files: &[PathBuf], fabric: &Fabric) -> Result<Lfts, Failure> {
    let mut all: Option<Lfts> = None;
    for (file, alone) in dumps(files)? {
        let bytes = read_named(&file)?;
        if !alone && !looks_like_lfts(&bytes) {
            remark(&format!("{}: no dump of forwarding tables, left out", file.display()));
            continue;
        }
        let read = read_lfts(&bytes, &name_of(&file), fabric).map_err(unreadable)?;
        let Some(known) = &mut all else {
            all = Some(read);
            continue;
        };
        known.join(&read, fabric).map_err(|node| {
            let name = fabric.describe_node(node);
            Failure::input(anyhow!("{}: the table of switch {name:?} is in another file too", file.display()))
        })?;
    }
    all.ok_or_else(|| {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        Failure::input(anyhow!("{}: no dump of forwarding tables in it", names.join(", ")))
    })
}

/// The files that are named, and those in the folders that are, in the order of names; whether each is named itself.
fn dumps(named: &[PathBuf]) -> Result<Vec<(PathBuf, bool)>, Failure> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push((path.clone(), true));
            continue;
        }
        let read = || format!("cannot read {}", path.display());
        let entries = std::fs::read_dir(path).with_context(read).map_err(Failure::input)?;
        let entries: std::io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
        let mut inside = entries.with_context(read).map_err(Failure::input)?;
        inside.retain(|file| file.is_file());
        inside.sort_unstable();
        files.extend(inside.into_iter().map(|file| (file, false)));
    }
    Ok(files)
}

fn looks_like_lfts(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]).contains("Unicast lids [")
}

/// Reads the plan in `file` (`-` is standard input).
pub(super) fn read_plan(file: &Path) -> Result<PlanFile, Failure> {
    let read = || format!("cannot read {}", file.display());
    let text = read_named(file).map(String::from_utf8)?;
    let text = text.with_context(read).map_err(Failure::input)?;
    if list::is_list(&name_of(file), text.as_bytes()) {
        return Err(lists_several(file, ", but a plan is needed here, as `reconfig plan` writes it"));
    }
    let plan = Plan::read(&text, &name_of(file)).map_err(|error| match error {
        PlanReadError::Fabric(error) => unreadable(error),
        error => Failure::input(anyhow::Error::new(error).context(format!("{} is not a plan", file.display()))),
    })?;
    Ok(PlanFile { plan, text })
}

/// The display name and the text of a file (`-` is standard input).
pub(super) fn read_text(file: impl AsRef<Path>) -> Result<(String, String), Failure> {
    let path = file.as_ref();
    let text = read_named(path).map(String::from_utf8)?;
    let text = text.with_context(|| format!("cannot read {}", name_of(path))).map_err(Failure::input)?;
    Ok((name_of(path), text))
}

fn name_of(file: &Path) -> String {
    if is_stdin(file) { "standard input".to_string() } else { file.display().to_string() }
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// A file that has been read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ReadFile {
    /// As it was named.
    pub name: String,
    /// Of its bytes, in hexadecimal.
    pub sha256: String,
}

/// The files that this process has read. All readers use one function, and no result depends on this list. A page shows
/// it, so that its reader can check whether another run had the same input.
static FILES_READ: Mutex<Vec<ReadFile>> = Mutex::new(Vec::new());

/// Every file that has been read so far, each content once, in the order in which they were first read.
pub(super) fn files_read() -> Vec<ReadFile> {
    FILES_READ.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn record(file: &Path, bytes: &[u8]) {
    let own = ReadFile { name: name_of(file), sha256: hexadecimal(&Sha256::digest(bytes)) };
    let mut read = FILES_READ.lock().unwrap_or_else(PoisonError::into_inner);
    if !read.contains(&own) {
        read.push(own);
    }
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read_named(file: &Path) -> Result<Vec<u8>, Failure> {
    clobber::will_read(source(file)).map_err(Failure::input)?;
    read_bytes(file).with_context(|| format!("cannot read {}", file.display())).map_err(Failure::input)
}

/// The file behind a name.
fn source(file: &Path) -> &Path {
    if is_stdin(file) { Path::new("/dev/stdin") } else { file }
}

/// The bytes of a file, up to the limit; a device that yields zero bytes without end is refused at its first ones.
fn read_bytes(file: &Path) -> std::io::Result<Vec<u8>> {
    const HEAD: u64 = 4096;
    let most = most_bytes()?;
    clobber::will_read(source(file))?;
    let refused = |why: String| Err(std::io::Error::new(std::io::ErrorKind::InvalidData, why));
    let mut source: Box<dyn Read> = match is_stdin(file) {
        true => Box::new(std::io::stdin()),
        false => Box::new(std::fs::File::open(file)?),
    };
    let mut bytes = Vec::new();
    source.by_ref().take(HEAD).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == HEAD && bytes.iter().all(|&byte| byte == 0) {
        return refused("it begins with 4096 zero bytes, so it is no text".into());
    }
    source.take(most.saturating_sub(HEAD) + 1).read_to_end(&mut bytes)?;
    record(file, &bytes);
    match bytes.len() as u64 > most {
        true => refused(format!("it has more than {} MiB: RECONFIG_MAX_INPUT=MIB raises the limit", most >> 20)),
        false => Ok(bytes),
    }
}

/// The largest file that is read.
fn most_bytes() -> std::io::Result<u64> {
    let Some(stated) = std::env::var_os("RECONFIG_MAX_INPUT") else { return Ok(1024 << 20) };
    let mib = stated.to_str().and_then(|text| text.parse::<u64>().ok()).filter(|mib| (1..1 << 40).contains(mib));
    mib.map(|mib| mib << 20).ok_or_else(|| {
        let why = format!("RECONFIG_MAX_INPUT={} is no number of MiB from 1 on", stated.display());
        std::io::Error::new(std::io::ErrorKind::InvalidInput, why)
    })
}
