//! System files of ibdm (IBNL): which chips and boards a system is made of, how they are wired, and what is printed
//! beside its sockets (the manual page ibdm-ibnl-file of ibutils 1.5.7).
//!
//! ```text
//! SYSTEM LEAF
//! NODE SW 24 MT47396 U1
//!    1 -4x-> P1
//! TOPSYSTEM MyDirector,MyDirector-2
//! SUBSYSTEM LEAF leaf1
//!    P1 -> spine1 P1
//!    P13 -> L1/P1
//! ```
//!
//! A file holds boards and one top system, which has one or more names. What a wire ends at is a port of another part,
//! or a connector of the whole. A connector of which a board's variant has no counterpart is absent. Omitted:
//! attributes of chips (`U1=isChaBma`), which routing does not need.

use super::by_name::Rate;
use super::diagnostic::{ReadError, SourceLine, SourceText, Span};
use super::encoding;
use crate::fabric::{LinkSpeed, NodeKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Boards within boards: ibutils' deepest system has three levels.
const MOST_LEVELS: usize = 8;

/// Chips, boards and wires of one system, a wire at each board that it passes: ibutils' largest system has a tenth.
const MOST_PARTS: usize = 100_000;

/// So many bytes of a part's path count as one part.
const PATH: usize = 32;

/// What systems are made of, by type.
#[derive(Clone, Debug, Default)]
pub struct SystemFiles {
    by_type: FxHashMap<String, Arc<SystemFile>>,
}

#[derive(Debug, Default)]
struct SystemFile {
    boards: FxHashMap<String, Arc<Board>>,
    top: Board,
}

/// A board's parts, in the order of the file.
#[derive(Debug, Default)]
struct Board(Vec<Part>);

#[derive(Debug)]
struct Part {
    name: String,
    is: PartKind,
    wires: Vec<Wire>,
}

#[derive(Debug)]
enum PartKind {
    Chip { kind: NodeKind, ports: u8 },
    Board(String),
}

#[derive(Debug)]
struct Wire {
    pin: String,
    rate: Rate,
    to: WireEnd,
}

#[derive(Debug)]
enum WireEnd {
    Connector(String),
    Pin { part: String, pin: String },
}

/// A system with its boards resolved.
pub(super) struct Layout {
    /// The path, kind and number of ports of each chip.
    pub chips: Vec<(String, NodeKind, u8)>,
    pub wires: Vec<(ChipPort, ChipPort, Rate)>,
    /// By what is printed beside a socket.
    pub sockets: FxHashMap<String, (ChipPort, Rate)>,
    /// The first choice of a board that the system does not have.
    pub unused: Option<String>,
}

/// A chip's index and a port's number.
pub(super) type ChipPort = (usize, u8);

impl SystemFiles {
    /// The number of types that are known.
    pub fn len(&self) -> usize {
        self.by_type.len()
    }

    /// Whether no type is known.
    pub fn is_empty(&self) -> bool {
        self.by_type.is_empty()
    }

    /// Adds what a file describes, in place of an earlier file for the same type; `file` is its name in messages.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn add(&mut self, bytes: &[u8], file: &str) -> Result<(), ReadError> {
        let text = encoding::text(bytes, file)?;
        let source = SourceText { file, text: &text.text };
        encoding::check_lines(source)?;
        let (names, system) = Reader { source, system: SystemFile::default(), at: None }.read()?;
        let system = Arc::new(system);
        self.by_type.extend(names.into_iter().map(|name| (name, Arc::clone(&system))));
        Ok(())
    }

    /// Whether a file describes a type.
    pub(super) fn has(&self, of_type: &str) -> bool {
        self.by_type.contains_key(of_type)
    }

    /// A type's layout, with boards as `modifiers` choose them (`leaf1`, `R`: no board there), or what is wrong with
    /// the description, and the number of parts that were looked at; none if no file has the type.
    pub(super) fn layout<'a>(
        &'a self,
        of_type: &str,
        modifiers: &[(&'a str, &'a str)],
    ) -> Option<(Result<Layout, String>, usize)> {
        let file = self.by_type.get(of_type)?;
        let chosen = modifiers.iter().rev().copied().collect();
        let (parts, passed) = (modifiers.len(), FxHashSet::default());
        let mut resolver = Resolver { file, chosen, passed, parts, chips: Vec::new(), wires: Vec::new() };
        let sockets = resolver.board(&file.top, "", 0);
        let Resolver { chips, wires, parts, passed, .. } = resolver;
        let unused = modifiers.iter().find(|(board, _)| !passed.contains(board)).map(|(board, _)| board.to_string());
        let layout = sockets.map(|sockets| {
            let sockets = sockets.into_iter().map(|(name, socket)| (name.to_string(), socket)).collect();
            Layout { chips, wires, sockets, unused }
        });
        Some((layout, parts))
    }

    /// Whether two names stand for one type.
    pub(super) fn same_type(&self, one: &str, other: &str) -> bool {
        let files = [one, other].map(|name| self.by_type.get(name));
        one == other || matches!(files, [Some(one), Some(other)] if Arc::ptr_eq(one, other))
    }
}

struct Reader<'a> {
    source: SourceText<'a>,
    system: SystemFile,
    /// The names of the board whose parts follow; the flag marks the top system.
    at: Option<(Vec<String>, bool, Board)>,
}

impl Reader<'_> {
    fn read(mut self) -> Result<(Vec<String>, SystemFile), ReadError> {
        let mut top = Vec::new();
        for line in self.source.lines() {
            let line = line.before('#');
            let words: Vec<&str> = line.text.split_whitespace().collect();
            match words[..] {
                [] => {}
                [word @ ("SYSTEM" | "TOPSYSTEM"), ..] => {
                    self.close(&mut top);
                    let names = words[1..].concat();
                    let names = names.split(',').filter(|name| !name.is_empty()).map(String::from).collect();
                    self.at = Some((names, word == "TOPSYSTEM", Board::default()));
                }
                ["NODE", kind, ports, _, name] => {
                    let kind = match kind {
                        "SW" => NodeKind::Switch,
                        "CA" | "HCA" => NodeKind::Ca,
                        _ => return Err(self.unexpected(line, "`NODE SW` or `NODE CA`")),
                    };
                    let ports = ports.parse().ok().filter(|ports| (1..=254).contains(ports));
                    let ports = ports.ok_or_else(|| self.unexpected(line, "a number of ports from 1 to 254"))?;
                    self.part(line, name, PartKind::Chip { kind, ports })?;
                }
                ["SUBSYSTEM", board, name] => self.part(line, name, PartKind::Board(board.into()))?,
                _ if line.text.contains("->") => self.wire(line)?,
                [attribute] if attribute.contains('=') => {}
                _ => return Err(self.unexpected(line, "SYSTEM, TOPSYSTEM, NODE, SUBSYSTEM or a wire (`1 -> P1`)")),
            }
        }
        self.close(&mut top);
        if top.is_empty() {
            let end = Span { start: self.source.text.len(), end: self.source.text.len() };
            return Err(self.source.error(end, "the file has no TOPSYSTEM", "expected one, as in IBNL files of ibdm"));
        }
        Ok((top, self.system))
    }

    fn close(&mut self, top: &mut Vec<String>) {
        match self.at.take() {
            None => {}
            Some((names, true, board)) => {
                self.system.top = board;
                *top = names;
            }
            Some((names, false, board)) => {
                let board = Arc::new(board);
                self.system.boards.extend(names.into_iter().map(|name| (name, Arc::clone(&board))));
            }
        }
    }

    fn part(&mut self, line: SourceLine<'_>, name: &str, is: PartKind) -> Result<(), ReadError> {
        let error = self.unexpected(line, "SYSTEM or TOPSYSTEM first");
        let (_, _, board) = self.at.as_mut().ok_or(error)?;
        board.0.push(Part { name: name.into(), is, wires: Vec::new() });
        Ok(())
    }

    fn wire(&mut self, line: SourceLine<'_>) -> Result<(), ReadError> {
        let error =
            self.unexpected(line, "`PORT -> CONNECTOR` or `PORT -4x-5G-> PART PORT`, below a NODE or SUBSYSTEM");
        let (pin, rate, right) = arrow(line.text).ok_or_else(|| error.clone())?;
        let to = match right[..] {
            [connector] => WireEnd::Connector(connector.into()),
            [part, pin] => WireEnd::Pin { part: part.into(), pin: pin.into() },
            _ => return Err(error),
        };
        let part = self.at.as_mut().and_then(|(_, _, board)| board.0.last_mut()).ok_or(error)?;
        part.wires.push(Wire { pin: pin.into(), rate, to });
        Ok(())
    }

    fn unexpected(&self, line: SourceLine<'_>, expected: &str) -> ReadError {
        let at = line.text.len() - line.text.trim_start().len();
        let at = Span { start: line.start + at, end: line.span().end };
        self.source.error(at, "a line that does not belong in a system file", format!("expected {expected}"))
    }
}

/// `PORT -4x-5G-> words`: the port, the rate and the words behind the arrow. None for anything else.
pub(super) fn arrow(text: &str) -> Option<(&str, Rate, Vec<&str>)> {
    let (left, right) = text.split_once("->")?;
    let left = left.trim();
    let (pin, words) = left.split_once(char::is_whitespace).unwrap_or((left, ""));
    let mut rate: Rate = (None, None);
    for word in words.trim().split('-').filter(|word| !word.trim().is_empty()) {
        let word = word.trim().to_ascii_lowercase();
        match word.strip_suffix('g') {
            Some(speed) => rate.1 = Some(speed_of(speed)?),
            None => rate.0 = Some(word.parse().ok()?),
        }
    }
    let plain = !pin.is_empty() && !pin.contains(['"', ';', '{']);
    plain.then(|| (pin, rate, right.split_whitespace().collect()))
}

/// The signalling rate of one lane in Gb/s.
fn speed_of(text: &str) -> Option<LinkSpeed> {
    super::subnet_lst::speed(text)
}

struct Resolver<'f> {
    file: &'f SystemFile,
    /// Modifiers by the path of their board.
    chosen: FxHashMap<&'f str, &'f str>,
    /// The paths in `chosen` that are there.
    passed: FxHashSet<&'f str>,
    /// How many parts there are up to here.
    parts: usize,
    chips: Vec<(String, NodeKind, u8)>,
    wires: Vec<(ChipPort, ChipPort, Rate)>,
}

/// The connectors of a board.
type Connectors<'f> = FxHashMap<&'f str, (ChipPort, Rate)>;

/// What is below a board.
enum Inner<'f> {
    Chip {
        index: usize,
        ports: u8,
    },
    Board(Connectors<'f>),
    /// No board is in its place.
    Empty,
}

impl<'f> Resolver<'f> {
    /// Adds a board's chips and wires; its connectors.
    fn board(&mut self, board: &'f Board, path: &str, level: usize) -> Result<Connectors<'f>, String> {
        if level > MOST_LEVELS {
            return Err(format!("boards within boards at {path:?}, more than {MOST_LEVELS} deep"));
        }
        let mut inner: FxHashMap<&str, Inner<'f>> = FxHashMap::default();
        for part in &board.0 {
            let path = if path.is_empty() { part.name.clone() } else { format!("{path}/{}", part.name) };
            let is = self.part(part, path, level)?;
            if inner.insert(&part.name, is).is_some() {
                return Err(format!("two parts {:?} on one board", part.name));
            }
        }
        let mut connectors = Connectors::default();
        for (part, wire) in board.0.iter().flat_map(|part| part.wires.iter().map(move |wire| (part, wire))) {
            self.count(1)?;
            let Some((own, below)) = pin(&inner, &part.name, &wire.pin)? else { continue };
            // What is stated nearest to the chip counts.
            let rate = (below.0.or(wire.rate.0), below.1.or(wire.rate.1));
            match &wire.to {
                WireEnd::Connector(name) => {
                    if connectors.insert(name, (own, rate)).is_some() {
                        return Err(format!("two wires at connector {name:?} of one board"));
                    }
                }
                WireEnd::Pin { part, pin: name } => {
                    if let Some((remote, far)) = pin(&inner, part, name)? {
                        let rate = (rate.0.or(far.0), rate.1.or(far.1));
                        self.wires.push((own, remote, rate));
                    }
                }
            }
        }
        Ok(connectors)
    }

    /// Counts parts before anything is made of them.
    fn count(&mut self, parts: usize) -> Result<(), String> {
        self.parts += parts;
        match self.parts > MOST_PARTS {
            true => Err(format!("more than {MOST_PARTS} chips, boards and wires")),
            false => Ok(()),
        }
    }

    fn part(&mut self, part: &'f Part, path: String, level: usize) -> Result<Inner<'f>, String> {
        self.count(1 + path.len() / PATH)?;
        let board = match &part.is {
            &PartKind::Chip { kind, ports } => {
                self.chips.push((path, kind, ports));
                return Ok(Inner::Chip { index: self.chips.len() - 1, ports });
            }
            PartKind::Board(board) => board,
        };
        let chosen = self.chosen.get_key_value(&*path).map(|(&at, &modifier)| (at, modifier));
        self.passed.extend(chosen.map(|(at, _)| at));
        let modifier = chosen.map(|(_, modifier)| modifier);
        let file = self.file;
        let found = match modifier {
            Some("R") => return Ok(Inner::Empty),
            Some(modifier) => file.boards.get(&format!("{board}:{modifier}")),
            None => file.boards.get(board),
        };
        let found = found.ok_or_else(|| match modifier {
            Some(modifier) => format!("no board {board}:{modifier} for {path:?}"),
            None => format!("no board {board} for {path:?}"),
        })?;
        Ok(Inner::Board(self.board(found, &path, level + 1)?))
    }
}

/// Where a part's port leads; none where its board's variant lacks it.
fn pin(inner: &FxHashMap<&str, Inner<'_>>, part: &str, pin: &str) -> Result<Option<(ChipPort, Rate)>, String> {
    match inner.get(part) {
        None => Err(format!("a wire to {part:?}, which the board does not have")),
        Some(Inner::Empty) => Ok(None),
        Some(Inner::Board(connectors)) => Ok(connectors.get(pin).copied()),
        Some(&Inner::Chip { index, ports }) => {
            let num: Option<u8> = pin.parse().ok().filter(|num| (1..=ports).contains(num));
            let num = num.ok_or_else(|| format!("port {pin:?} of chip {part:?}, which has {ports}"))?;
            Ok(Some(((index, num), (None, None))))
        }
    }
}
