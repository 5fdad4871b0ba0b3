//! List files: which captures are the subnets of one fabric (`NAME.subnets.yaml`; docs/SUBNETS.md shows one).
//!
//! Reading takes the list's text and a function that gives the bytes of a file that it names, and returns [`Subnets`],
//! or a [`ReadError`] that shows file, line, column and what was expected: of the list, of the
//! capture at fault, or of the partitions.
//! Writing gives every file's name and text; `read ∘ write` is the identity on what the captures' format bears
//! (`format`). Names of captures are relative to the list. Unknown keys are refused.
//! Lacks on purpose: files (callers own them).

use super::partitions::Partitions;
use super::{JoinError, Subnet, SubnetPort, Subnets};
use crate::fabric::format::{self, Format, ReadError, SourceLine, SourceText, Span, WriteError};
use crate::fabric::{Fabric, NodeKind};
use crate::ids::{GidPrefix, Guid, SubnetId};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// How the names of list files end.
pub const EXTENSION: &str = ".subnets.yaml";

/// A list as its file tells it.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "a list of subnets: `subnets:`, perhaps `routers:`")]
struct List {
    subnets: Vec<Entry>,
    /// NodeGUIDs of one router each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    routers: Vec<Vec<String>>,
}

/// A subnet as the file tells it.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "a subnet: `name:`, `fabric:`, perhaps `prefix:` and `partitions:`")]
struct Entry {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    /// Relative to the list.
    fabric: PathBuf,
    /// A file in the format of OpenSM's `partitions.conf`, relative to the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partitions: Option<PathBuf>,
}

/// Whether a file is a list: its name says so, or its first line that is no comment.
pub fn is_list(file: &str, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim_end);
    let first = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with('#'));
    file.ends_with(EXTENSION)
        || first.is_some_and(|line| line == "---" || ["subnets:", "routers:"].iter().any(|key| line.starts_with(key)))
}

/// Reads a list; `file` is its path, and `open` gives the bytes of a file that it names, whose path begins with the list's
/// folder. What the readers of those files had to assume goes to `tracing` as warnings.
///
/// # Errors
/// The first fault of the list, a file that cannot be opened or read, or subnets that cannot be joined.
pub fn read(
    bytes: &[u8],
    file: &str,
    mut open: impl FnMut(&Path) -> std::io::Result<Vec<u8>>,
) -> Result<Subnets, ReadError> {
    // The parser counts a byte-order mark as a column.
    let source = SourceText { file, text: format::decode(bytes, file)?.trim_start_matches('\u{feff}') };
    let list = parse(source)?;
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let (mut subnets, mut partitions) = (Vec::new(), Vec::new());
    for (rank, entry) in list.subnets.iter().enumerate() {
        let prefix = prefix(source, rank, entry)?;
        let path = folder.join(&entry.fabric);
        let unread = |problem: String| {
            let at = place(source, &entry_key(rank, "fabric"));
            Err(source.error(at, problem, "expected a file that holds one fabric"))
        };
        let name = path.display().to_string();
        let fabric = match open(&path) {
            Err(error) => return unread(format!("cannot read {name}: {error}")),
            Ok(bytes) if is_list(&name, &bytes) => return unread(format!("{name} is a list of subnets itself")),
            Ok(bytes) => format::read(&bytes, &name)?,
        };
        let path = entry.partitions.as_ref().map(|file| folder.join(file));
        let read = |path: PathBuf| {
            let bytes = open(&path).map_err(|error| {
                let problem = format!("cannot read {}: {error}", path.display());
                let at = place(source, &entry_key(rank, "partitions"));
                source.error(at, problem, "expected a file as OpenSM's partitions.conf")
            })?;
            read_partitions(&bytes, &path.display().to_string(), &fabric)
        };
        partitions.push(path.map(read).transpose()?);
        subnets.push(Subnet { name: entry.name.clone(), prefix, fabric });
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
    let refuse = |problem| {
        let at = place(source, &entry_key(rank, "prefix"));
        source.error(at, problem, "expected the upper half of a GID")
    };
    let prefix = GidPrefix::try_from(text.clone()).map_err(refuse)?;
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
    let guid = |router: usize, at: usize, text: &str| {
        text.parse::<Guid>().map_err(|error| {
            let at = place(source, &[Step::Key("routers"), Step::At(router), Step::At(at)]);
            source.error(at, error.to_string(), "expected the NodeGUID of a router")
        })
    };
    if let Some(router) = list.routers.iter().position(Vec::is_empty) {
        let at = place(source, &[Step::Key("routers"), Step::At(router)]);
        return Err(source.error(at, "a router of no node", "expected the NodeGUIDs of one router"));
    }
    let each = list
        .routers
        .iter()
        .enumerate()
        .map(|(router, texts)| texts.iter().enumerate().map(|(at, text)| guid(router, at, text)).collect());
    each.collect()
}

fn parse(source: SourceText<'_>) -> Result<List, ReadError> {
    let list: List = serde_yaml::from_str(source.text).map_err(|error| {
        let at = error.location().map_or(Span { start: 0, end: 0 }, |at| {
            again(source, at.line(), &error.to_string()).unwrap_or_else(|| word_at(source, at.line(), at.column()))
        });
        source.error(at, problem_of(&error), "expected a list as docs/SUBNETS.md shows it")
    })?;
    let start = || place(source, &[Step::Key("subnets")]);
    match list.subnets.len() {
        0 => Err(source.error(start(), "the list has no subnet", "expected `- name: …` and `fabric: …` below it")),
        count if count > usize::from(u16::MAX) => {
            Err(source.error(start(), JoinError::Count(count).to_string(), "expected fewer"))
        }
        _ => Ok(list),
    }
}

/// Where a key stands for the second time in a map that begins on a line: a parser tells that line alone.
fn again(source: SourceText<'_>, line: usize, problem: &str) -> Option<Span> {
    let (_, rest) = problem.split_once("duplicate field `")?;
    let (key, _) = rest.split_once('`')?;
    let words = source.lines().map(|line| {
        let word = line.text.trim_start_matches([' ', '-']);
        (line.start + line.text.len() - word.len(), word)
    });
    let is_it = |word: &str| word.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
    let (start, _) = words.skip(line.saturating_sub(1)).filter(|(_, word)| is_it(word)).nth(1)?;
    Some(Span { start, end: start + key.len() + 1 })
}

/// The message without its position, which [`ReadError`] tells.
fn problem_of(error: &serde_yaml::Error) -> String {
    let text = error.to_string();
    let position = error.location().map(|at| format!(" at line {} column {}", at.line(), at.column()));
    position.map_or(text.clone(), |position| text.replacen(&position, "", 1))
}

/// Why subnets cannot be joined, at the place in the list where it is to be mended.
fn unjoined(source: SourceText<'_>, list: &List, routers: &[Vec<Guid>], error: &JoinError) -> ReadError {
    let last = |name: &str| list.subnets.iter().rposition(|entry| entry.name == name).unwrap_or_default();
    let router = |guid: Guid| {
        let found = routers.iter().enumerate().rev().find_map(|(router, guids)| {
            guids
                .iter()
                .rposition(|&named| named == guid)
                .map(|at| vec![Step::Key("routers"), Step::At(router), Step::At(at)])
        });
        found.unwrap_or_default()
    };
    let (path, expected) = match error {
        JoinError::Count(_) => (vec![Step::Key("subnets")], "expected 1 to 65535 subnets"),
        JoinError::NameShared(name) | JoinError::Name(name) => (entry_key(last(name), "name"), "expected another name"),
        JoinError::LinkLocal { subnet } => (entry_key(last(subnet), "prefix"), "expected another prefix"),
        JoinError::PrefixShared { second, .. } => {
            let rank = last(second);
            let told = if list.subnets[rank].prefix.is_some() { "prefix" } else { "name" };
            (entry_key(rank, told), "expected a `prefix:` of its own")
        }
        JoinError::NodeShared { second, .. } | JoinError::PortShared { second, .. } => {
            (entry_key(last(second), "fabric"), "expected the capture of another subnet")
        }
        JoinError::NoRouter(guid) => (router(*guid), "expected the NodeGUID of a router of these captures"),
        JoinError::NamedTwice(guid) => (router(*guid), "expected each node once"),
    };
    source.error(place(source, &path), error.to_string(), expected)
}

/// A way down into the list.
#[derive(Clone, Copy)]
enum Step {
    Key(&'static str),
    At(usize),
}

fn entry_key(rank: usize, key: &'static str) -> Vec<Step> {
    vec![Step::Key("subnets"), Step::At(rank), Step::Key(key)]
}

/// Where the list tells the value at the end of `path`.
fn place(source: SourceText<'_>, path: &[Step]) -> Span {
    let found = Seek(path).deserialize(serde_yaml::Deserializer::from_str(source.text)).err();
    let at = found.and_then(|error| error.location());
    at.map_or(Span { start: 0, end: 0 }, |at| word_at(source, at.line(), at.column()))
}

/// The word that begins at a line and column, both counted from 1.
fn word_at(source: SourceText<'_>, line: usize, column: usize) -> Span {
    let Some(SourceLine { start: first, text }) = source.lines().nth(line.saturating_sub(1)) else {
        return Span { start: source.text.len(), end: source.text.len() };
    };
    let from = text.char_indices().nth(column.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    let length = text[from..].find([' ', ',', ']', '}', '\t']).unwrap_or(text.len() - from);
    Span { start: first + from, end: first + from + length.max(1) }
}

/// Walks down a path and stops there with an error: the parser knows where it is only when it fails.
struct Seek<'a>(&'a [Step]);

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.0.first() {
            Some(Step::Key(_)) => deserializer.deserialize_map(self),
            Some(Step::At(_)) => deserializer.deserialize_seq(self),
            // Whatever is there, it is not this.
            None => deserializer.deserialize_unit_struct("the place", self),
        }
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a way on")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match self.0 {
                [Step::Key(wanted), rest @ ..] if key == *wanted => map.next_value_seed(Seek(rest))?,
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let [Step::At(wanted), rest @ ..] = self.0 else { return Ok(()) };
        for _ in 0..*wanted {
            if list.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        list.next_element_seed(Seek(rest)).map(|_| ())
    }
}

/// The files of `subnets`: names and texts, the list `STEM.subnets.yaml` first, then for each subnet a capture and, where it has
/// partitions, their file as it was read.
/// Routers are named in the list where the captures alone would not tell them.
///
/// # Errors
/// A format that is not both written and read.
pub fn write(subnets: &Subnets, stem: &str, format: Format) -> Result<Vec<(String, String)>, WriteError> {
    let extension = match format {
        Format::Ibnetdiscover => "ibnetdiscover",
        Format::IbsimNet => "net",
        Format::Json => "json",
        Format::SubnetLst | Format::Dot => return Err(WriteError::ReadOnly(format)),
    };
    let name = |subnet: &Subnet| format!("{stem}.{}.{extension}", subnet.name);
    let conf = |subnet: &Subnet| format!("{stem}.{}.partitions.conf", subnet.name);
    let entry = |(id, subnet): (SubnetId, &Subnet)| Entry {
        name: subnet.name.clone(),
        prefix: Some(subnet.prefix.to_string()),
        fabric: name(subnet).into(),
        partitions: subnets.partitions(id).map(|_| conf(subnet).into()),
    };
    let entries = subnets.subnets().map(entry).collect();
    let list = serde_yaml::to_string(&List { subnets: entries, routers: named(subnets) });
    let list = "# Subnets joined by routers; docs/SUBNETS.md tells the format.\n".to_string() + &list.expect("strings");
    let mut files = vec![(format!("{stem}{EXTENSION}"), list)];
    for (id, subnet) in subnets.subnets() {
        files.push((name(subnet), format::write(&subnet.fabric, format)?));
        files.extend(subnets.partitions(id).map(|own| (conf(subnet), own.text().to_string())));
    }
    Ok(files)
}

/// The NodeGUIDs of each router, and of each that joins nothing, where the captures alone do not tell them.
fn named(subnets: &Subnets) -> Vec<Vec<String>> {
    let told = Subnets::new(subnets.subnets().map(|(_, subnet)| subnet.clone()).collect());
    if told.is_ok_and(|told| told.routers() == subnets.routers()) {
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
    nodes.into_values().map(|guids| guids.iter().map(Guid::to_string).collect()).collect()
}
