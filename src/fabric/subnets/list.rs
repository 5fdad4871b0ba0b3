//! List files: the captures that are the subnets of one fabric (`NAME.subnets.yaml`; docs/SUBNETS.md shows one).
//!
//! Reading takes the list's text and a function that returns the bytes of a file that the list names. It returns
//! [`Subnets`], or a [`ReadError`] that shows file, line, column and what was expected, in the list, in a capture, or
//! in partitions. Writing returns every file's name and text; `read ∘ write` is the identity on what the captures'
//! format preserves (`format`). Names of captures are relative to the list. Unknown keys are refused. Deliberately
//! omitted: files, which are the caller's.

use super::partitions::Partitions;
use super::{JoinError, Subnet, SubnetPort, Subnets};
use crate::fabric::format::{self, Format, ReadError, SourceText, Span, SystemFiles, Tolerance, WriteError};
use crate::fabric::{Fabric, NodeKind};
use crate::ids::{GidPrefix, Guid, GuidError};
use serde::{Deserialize, Serialize};
use serde_saphyr::{Location, MessageFormatter, SingleQuoted, Spanned, UserMessageFormatter};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The extension of list files.
pub const EXTENSION: &str = ".subnets.yaml";

/// A list as its file has it, each value with its place.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    subnets: Spanned<Vec<Entry>>,
    /// NodeGUIDs of one router each.
    #[serde(default)]
    routers: Vec<Spanned<Vec<Spanned<String>>>>,
}

/// A subnet as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Spanned<String>,
    prefix: Option<Spanned<String>>,
    /// Relative to the list.
    fabric: Spanned<PathBuf>,
    /// A file in the format of OpenSM's `partitions.conf`, relative to the list.
    partitions: Option<Spanned<PathBuf>>,
}

/// A list to be written. GUIDs and prefixes are quoted: they are texts, which look like numbers.
#[derive(Serialize)]
struct Written<'a> {
    subnets: Vec<WrittenEntry<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routers: Vec<Vec<SingleQuoted<String>>>,
}

#[derive(Serialize)]
struct WrittenEntry<'a> {
    name: &'a str,
    prefix: SingleQuoted<String>,
    fabric: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    partitions: Option<String>,
}

/// Whether a file is a list: by its name, or by its first line that is not a comment.
pub fn is_list(file: &str, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim_end);
    let first = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with('#'));
    file.ends_with(EXTENSION)
        || first.is_some_and(|line| line == "---" || ["subnets:", "routers:"].iter().any(|key| line.starts_with(key)))
}

/// Reads a list; `file` is its path, and `open` returns the bytes of a file that it names, whose path begins with the
/// list's folder. Assumptions of those files' readers go to `tracing` as warnings.
///
/// # Errors
/// The first error of the list, a file that cannot be opened or read, or subnets that cannot be joined.
pub fn read(
    bytes: &[u8],
    file: &str,
    open: impl FnMut(&Path) -> std::io::Result<Vec<u8>>,
) -> Result<Subnets, ReadError> {
    read_with(bytes, file, Tolerance::default(), open, |_| Ok(SystemFiles::default()))
}

/// Reads a list like [`read`], with this tolerance of damage in captures; each must be complete. `systems` returns the
/// system files for an ibdm topology at a path.
///
/// # Errors
/// As [`read`].
pub fn read_with(
    bytes: &[u8],
    file: &str,
    tolerance: Tolerance,
    mut open: impl FnMut(&Path) -> std::io::Result<Vec<u8>>,
    mut systems: impl FnMut(&Path) -> std::io::Result<SystemFiles>,
) -> Result<Subnets, ReadError> {
    // The parser counts a byte-order mark as a column.
    let source = SourceText { file, text: format::decode(bytes, file)?.trim_start_matches('\u{feff}') };
    let list = parse(source)?;
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let (mut subnets, mut partitions) = (Vec::new(), Vec::new());
    for (rank, entry) in list.subnets.value.iter().enumerate() {
        let prefix = prefix(source, rank, entry)?;
        let path = folder.join(&entry.fabric.value);
        let unread = |problem: String| {
            Err(source.error(place(source, &entry.fabric), problem, "expected a file that holds one fabric"))
        };
        let name = path.display().to_string();
        let opened = open(&path).and_then(|bytes| {
            let systems = if format::needs_systems(&bytes) { systems(&path)? } else { SystemFiles::default() };
            Ok((bytes, systems))
        });
        let fabric = match opened {
            Err(error) => return unread(format!("cannot read {name}: {error}")),
            Ok((bytes, _)) if is_list(&name, &bytes) => return unread(format!("{name} is a list of subnets itself")),
            Ok((bytes, systems)) => {
                let reading = format::read_with(&bytes, &name, tolerance, &systems)?;
                reading.warn(&name);
                reading.complete()?
            }
        };
        let read = |file: &Spanned<PathBuf>| {
            let path = folder.join(&file.value);
            let bytes = open(&path).map_err(|error| {
                let problem = format!("cannot read {}: {error}", path.display());
                source.error(place(source, file), problem, "expected a file as OpenSM's partitions.conf")
            })?;
            read_partitions(&bytes, &path.display().to_string(), &fabric)
        };
        partitions.push(entry.partitions.as_ref().map(read).transpose()?);
        subnets.push(Subnet { name: entry.name.value.clone(), prefix, fabric });
    }
    let routers = routers(source, &list)?;
    let joined = Subnets::with_routers(subnets, &routers);
    joined.map(|joined| joined.with_partitions(partitions)).map_err(|error| unjoined(source, &list, &routers, &error))
}

fn read_partitions(bytes: &[u8], file: &str, fabric: &Fabric) -> Result<Partitions, ReadError> {
    let (partitions, notices) = Partitions::read(bytes, file)?;
    for notice in notices.iter().chain(&partitions.strangers(fabric)) {
        tracing::warn!("{file}: {notice}");
    }
    Ok(partitions)
}

fn prefix(source: SourceText<'_>, rank: usize, entry: &Entry) -> Result<GidPrefix, ReadError> {
    let Some(text) = &entry.prefix else { return Ok(GidPrefix::site_local(rank as u16)) };
    let refuse = |problem| source.error(place(source, text), problem, "expected the upper half of a GID");
    let prefix = GidPrefix::try_from(text.value.clone()).map_err(refuse)?;
    match prefix.0 >> 56 {
        // The GIDs `::` and `::1` have this prefix: one is reserved, the other the loopback (IBA, 4.1.1).
        _ if prefix.0 == 0 => {
            Err(refuse("prefix 0 is that of the reserved GID and of the loopback: no subnet has it".into()))
        }
        0xFF => Err(refuse(format!("{prefix} is a prefix of multicast GIDs: no subnet has it"))),
        _ => Ok(prefix),
    }
}

fn routers(source: SourceText<'_>, list: &List) -> Result<Vec<Vec<Guid>>, ReadError> {
    let guid = |text: &Spanned<String>| {
        let refuse = |error: GuidError| {
            source.error(place(source, text), error.to_string(), "expected the NodeGUID of a router")
        };
        text.value.parse::<Guid>().map_err(refuse)
    };
    if let Some(router) = list.routers.iter().find(|router| router.value.is_empty()) {
        return Err(source.error(place(source, router), "a router of no node", "expected the NodeGUIDs of one router"));
    }
    list.routers.iter().map(|router| router.value.iter().map(guid).collect()).collect()
}

fn parse(source: SourceText<'_>) -> Result<List, ReadError> {
    // The parser's own limits stop short of 65,535 subnets, each of which takes nine nodes and more events.
    let limits = serde_saphyr::budget! { max_nodes: 4_000_000, max_events: 8_000_000 };
    let options = serde_saphyr::options! { budget: limits, with_snippet: false };
    let list: List =
        serde_saphyr::from_str_with_options(source.text, options).map_err(|error| unparsed(source, &error))?;
    let start = place(source, &list.subnets);
    match list.subnets.value.len() {
        0 => Err(source.error(start, "the list has no subnet", "expected `- name: …` and `fabric: …` below it")),
        count if count > usize::from(u16::MAX) => {
            Err(source.error(start, JoinError::Count(count).to_string(), "expected fewer"))
        }
        _ => Ok(list),
    }
}

/// Why a text is not a list, at the place that the parser names.
fn unparsed(source: SourceText<'_>, error: &serde_saphyr::Error) -> ReadError {
    let mut at = error.location().map_or(Span { start: 0, end: 0 }, |at| span(source, at));
    let problem = match error {
        serde_saphyr::Error::Unexpected { expected, .. } => {
            format!("expected a {}", expected.trim_end_matches(" start"))
        }
        _ => UserMessageFormatter.format_message(error).into_owned(),
    };
    // The scanner names the scalar that it was reading, which may have begun lines before the tab.
    if problem.ends_with("found a tab")
        && let Some(tab) = source.text[at.start..].find('\t')
    {
        at = Span { start: at.start + tab, end: at.start + tab + 1 };
    }
    source.error(at, problem, "expected a list as docs/SUBNETS.md shows it")
}

/// Why subnets cannot be joined, at the place in the list where that can be corrected.
fn unjoined(source: SourceText<'_>, list: &List, routers: &[Vec<Guid>], error: &JoinError) -> ReadError {
    let subnets = &list.subnets.value;
    let last = |name: &str| subnets.iter().rfind(|entry| entry.name.value == name).unwrap_or(&subnets[0]);
    let router = |guid: Guid| {
        let texts = list.routers.iter().flat_map(|router| &router.value);
        let named = routers.iter().flatten().zip(texts).filter(|&(&named, _)| named == guid).last();
        named.map_or(Span { start: 0, end: 0 }, |(_, text)| place(source, text))
    };
    let name = |subnet: &str| place(source, &last(subnet).name);
    let prefix = |subnet: &str| last(subnet).prefix.as_ref().map_or(name(subnet), |prefix| place(source, prefix));
    let (at, expected) = match error {
        JoinError::Count(_) => (place(source, &list.subnets), "expected 1 to 65535 subnets"),
        JoinError::NameShared(subnet) | JoinError::Name(subnet) => (name(subnet), "expected another name"),
        JoinError::LinkLocal { subnet } => (prefix(subnet), "expected another prefix"),
        JoinError::PrefixShared { second, .. } => (prefix(second), "expected a `prefix:` of its own"),
        JoinError::NodeShared { second, .. } | JoinError::PortShared { second, .. } => {
            (place(source, &last(second).fabric), "expected the capture of another subnet")
        }
        JoinError::NoRouter(guid) => (router(*guid), "expected the NodeGUID of a router of these captures"),
        JoinError::NamedTwice(guid) => (router(*guid), "expected each node once"),
    };
    source.error(at, error.to_string(), expected)
}

/// The place of a value in the list, or, if an alias stands for it, of that alias.
fn place<T>(source: SourceText<'_>, value: &Spanned<T>) -> Span {
    span(source, value.referenced)
}

/// The bytes of a place, which the parser counts in characters where it scans ahead.
fn span(source: SourceText<'_>, at: Location) -> Span {
    let byte =
        |character: u64| source.text.char_indices().nth(character as usize).map_or(source.text.len(), |(byte, _)| byte);
    let (first, length) = (at.span().offset(), at.span().len().max(1));
    Span { start: byte(first), end: byte(first + length) }
}

/// The files of `subnets`: names and texts, the list `STEM.subnets.yaml` first, then for each subnet a capture and,
/// where it has partitions, their file as it was read. Routers are named in the list where the captures alone would not
/// tell them.
///
/// # Errors
/// A format that is not both written and read.
pub fn write(subnets: &Subnets, stem: &str, format: Format) -> Result<Vec<(String, String)>, WriteError> {
    let extension = match format {
        Format::Ibnetdiscover => "ibnetdiscover",
        Format::IbsimNet => "net",
        Format::Json => "json",
        _ => {
            return Err(WriteError::ReadOnly(format));
        }
    };
    let name = |subnet: &Subnet| format!("{stem}.{}.{extension}", subnet.name);
    let conf = |subnet: &Subnet| format!("{stem}.{}.partitions.conf", subnet.name);
    let list = Written {
        subnets: subnets
            .subnets()
            .map(|(id, subnet)| WrittenEntry {
                name: &subnet.name,
                prefix: SingleQuoted(subnet.prefix.to_string()),
                fabric: name(subnet),
                partitions: subnets.partitions(id).map(|_| conf(subnet)),
            })
            .collect(),
        routers: named(subnets),
    };
    let layout = serde_saphyr::ser_options! { compact_list_indent: true };
    let list = serde_saphyr::to_string_with_options(&list, layout);
    let list =
        "# Subnets joined by routers; docs/SUBNETS.md describes the format.\n".to_string() + &list.expect("strings");
    let mut files = vec![(format!("{stem}{EXTENSION}"), list)];
    for (id, subnet) in subnets.subnets() {
        files.push((name(subnet), format::write(&subnet.fabric, format)?));
        files.extend(subnets.partitions(id).map(|own| (conf(subnet), own.text().to_string())));
    }
    Ok(files)
}

/// The NodeGUIDs of each router, and of each that joins nothing, where the captures alone do not show them.
fn named(subnets: &Subnets) -> Vec<Vec<SingleQuoted<String>>> {
    let found = Subnets::new(subnets.subnets().map(|(_, subnet)| subnet.clone()).collect());
    if found.is_ok_and(|found| found.routers() == subnets.routers()) {
        return Vec::new();
    }
    let mut nodes: BTreeMap<Guid, BTreeSet<Guid>> = BTreeMap::new();
    for (id, subnet) in subnets.subnets() {
        for port in subnet.fabric.end_ports() {
            let node = subnet.fabric.node(subnet.fabric.port(port).node);
            if node.kind == NodeKind::Router {
                let router = subnets.router_of(SubnetPort { subnet: id, port });
                let device = router.map_or(node.guid, |router| subnets.routers()[router].guid);
                nodes.entry(device).or_default().insert(node.guid);
            }
        }
    }
    nodes.into_values().map(|guids| guids.iter().map(|guid| SingleQuoted(guid.to_string())).collect()).collect()
}
