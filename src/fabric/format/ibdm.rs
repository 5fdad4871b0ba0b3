//! ibdm's topologies, as ibtopodiff and ibdmsh read them: systems and the cables between their sockets (the manual page
//! ibdm-topo-file of ibutils 1.5.7), and ibdm's lists of cables.
//!
//! ```text
//! MTS2400 leaf-1
//!    P1 -> MT23108 host-1 P1
//!    P24 -4x-5G-> MTS2400 spine-1 P1
//! ```
//!
//! Which chips a system is made of is in its system file ([`ibnl`](super::ibnl)); a type without one is a fault, as it
//! is to ibdm. A system of one chip has the system's name, any other chip has its path (`leaf-1/board/U1`); chips of
//! one system share a system GUID. Cables may be listed at one end or at both. There are neither GUIDs nor LIDs; a rate
//! that is not stated is 4x at 2.5 Gb/s, as it is to ibdm. A list of cables has the same content, six words a line.

use super::assemble::ParsedFabric;
use super::by_name::{NamedEnd, NamedFabric, Rate};
use super::diagnostic::{ReadError, SourceLine, Span, Spanned};
use super::ibnl::{Layout, SystemFiles, arrow};
use super::ledger::FaultLedger;
use crate::fabric::{LinkSpeed, LinkWidth};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Whether a line describes a cable of a topology.
pub(super) fn is_cable(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let arrow_is_second = words.nth(1).is_some_and(|word| word.starts_with('-') && word.ends_with("->"));
    arrow_is_second && words.count() == 3 && arrow(line).is_some()
}

/// Whether a line is the heading of a list of cables.
pub(super) fn is_cables_heading(line: &str) -> bool {
    line.strip_prefix('#').is_some_and(|rest| rest.trim_start().starts_with("<SysType> <sysName> <portName>"))
}

/// Whether a line is meant to be a cable, whether or not it can be read.
fn has_arrow(line: SourceLine<'_>) -> bool {
    line.text.contains("->")
}

/// Reads a topology, or a list of cables.
pub(super) fn read<'a>(ledger: &mut FaultLedger<'a>, files: &SystemFiles) -> ParsedFabric<'a> {
    let source = ledger.source;
    let is_list = source.lines().find(|line| !line.text.trim().is_empty());
    let is_list = is_list.is_some_and(|line| is_cables_heading(line.text));
    let mut reader = Reader {
        files,
        fabric: NamedFabric::new(source),
        systems: FxHashMap::default(),
        layouts: FxHashMap::default(),
    };
    reader.fabric.rate_untold(LinkWidth::X4, LinkSpeed::Sdr);
    let mut section = Section::None;
    // A system's boards are chosen where it is declared, which may be after its first mention.
    if !is_list {
        for line in source.lines().map(|line| line.before('#')).filter(|line| !has_arrow(*line)) {
            if ledger.is_full() || reader.fabric.is_full() {
                break;
            }
            if let Err(fault) = reader.declare(ledger, line) {
                ledger.fault(fault);
            }
        }
    }
    for line in source.lines().map(|line| line.before('#')) {
        if ledger.is_full() || reader.fabric.is_full() {
            break;
        }
        let words = words(line);
        let result = match (&words[..], is_list) {
            ([], _) => Ok(()),
            (&[a, b, c, d, e, f], true) => reader.cable(
                ledger,
                SocketName { system: Named { of_type: a, name: b }, socket: c },
                SocketName { system: Named { of_type: d, name: e }, socket: f },
                (None, None),
            ),
            (_, true) => {
                Err(source.error(line.span(), "a line that is no cable", "expected type, name and port, twice"))
            }
            (words, false) if has_arrow(line) => match (words, arrow(line.text), section) {
                (&[pin, _, of_type, name, port], Some((_, rate, _)), Section::Of(own)) if is_cable(line.text) => {
                    let remote = SocketName { system: Named { of_type, name }, socket: port };
                    reader.cable(ledger, SocketName { system: own, socket: pin }, remote, rate)
                }
                _ if !is_cable(line.text) => {
                    let expected = "expected `PORT -> TYPE NAME PORT`, or `PORT -4x-5G-> TYPE NAME PORT`";
                    Err(source.error(line.span(), "a cable that cannot be read", expected))
                }
                (.., Section::None) => {
                    let expected = "expected its system first: `TYPE NAME`";
                    Err(source.error(line.span(), "a cable without a system", expected))
                }
                _ => Ok(()),
            },
            // Declared, or reported as a fault, above.
            (words, false) => {
                section = system(words).map_or(Section::Unreadable, Section::Of);
                Ok(())
            }
        };
        if let Err(fault) = result {
            ledger.fault(fault);
        }
    }
    let text = "the file has no LIDs; a rate that it does not state is 4x at 2.5 Gb/s, as it is to ibdm";
    ledger.assume(Span { start: 0, end: 0 }, text, "");
    reader.fabric.finish(ledger)
}

/// A system as a line names it.
#[derive(Clone, Copy)]
struct Named<'a> {
    of_type: Spanned<&'a str>,
    name: Spanned<&'a str>,
}

/// What a socket of a system is called.
struct SocketName<'a> {
    system: Named<'a>,
    socket: Spanned<&'a str>,
}

/// The system to which cables belong.
#[derive(Clone, Copy)]
enum Section<'a> {
    /// No line names one yet.
    None,
    /// The line that names it is at fault, so its cables are passed over.
    Unreadable,
    Of(Named<'a>),
}

struct System<'a> {
    of_type: Spanned<&'a str>,
    /// The index of its first node.
    first: usize,
    layout: Arc<Layout>,
}

/// A type, and its boards as a line chooses them.
type Choice<'a> = (&'a str, Vec<(&'a str, &'a str)>);

struct Reader<'a, 'f> {
    files: &'f SystemFiles,
    fabric: NamedFabric<'a>,
    systems: FxHashMap<&'a str, System<'a>>,
    /// None where the type is unknown or its description wrong, which is reported once.
    layouts: FxHashMap<Choice<'a>, Option<Arc<Layout>>>,
}

/// `TYPE NAME`, or `TYPE NAME CFG: …`.
fn system<'a>(words: &[Spanned<&'a str>]) -> Option<Named<'a>> {
    match *words {
        [of_type, name] => Some(Named { of_type, name }),
        [of_type, name, cfg, ..] if cfg.value.starts_with("CFG:") => Some(Named { of_type, name }),
        _ => None,
    }
}

impl<'a> Reader<'a, '_> {
    /// `TYPE NAME`, or `TYPE NAME CFG: board=modifier, board=modifier`.
    fn declare(&mut self, ledger: &mut FaultLedger<'a>, line: SourceLine<'a>) -> Result<(), ReadError> {
        let words = words(line);
        if words.is_empty() {
            return Ok(());
        }
        let Some(Named { of_type, name }) = system(&words) else {
            let expected = "expected `TYPE NAME`, or `PORT -> TYPE NAME PORT` below it";
            return Err(ledger.source.error(line.span(), "a line that is neither a system nor a cable", expected));
        };
        let cfg = line.text.split_once("CFG:").map_or("", |(_, cfg)| cfg);
        let pairs = cfg.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        let modifiers: Option<Vec<(&'a str, &'a str)>> = pairs.map(|pair| pair.split_once('=')).collect();
        let modifiers = modifiers.ok_or_else(|| {
            ledger.source.error(
                line.span(),
                "a choice of boards that cannot be read",
                "expected `CFG: board=modifier, …`",
            )
        })?;
        if self.systems.contains_key(name.value) {
            let problem = format!("two systems {:?}", name.value);
            return Err(ledger.source.error(name.at, problem, "expected each system once"));
        }
        self.add(ledger, Named { of_type, name }, modifiers).map(|_| ())
    }

    /// Adds a system's chips and inner wires; whether its type is known, and there is room.
    fn add(
        &mut self,
        ledger: &mut FaultLedger<'a>,
        system: Named<'a>,
        modifiers: Vec<(&'a str, &'a str)>,
    ) -> Result<bool, ReadError> {
        let Named { of_type, name } = system;
        let Some(layout) = self.layout(ledger, of_type, modifiers)? else { return Ok(false) };
        let mut first = None;
        for (path, kind, ports) in &layout.chips {
            let label = if layout.chips.len() == 1 { name.value.to_string() } else { format!("{}/{path}", name.value) };
            let index = self.fabric.add(name.at, *kind, *ports, label, first);
            first = first.or(Some(index));
            if self.fabric.is_full() {
                return Ok(false);
            }
        }
        let Some(first) = first else {
            return Err(ledger.source.error(of_type.at, format!("type {} has no chip", of_type.value), "expected one"));
        };
        let end = |(chip, num): (usize, u8)| NamedEnd { at: name.at, node: first + chip, num };
        for &(own, remote, rate) in &layout.wires {
            self.fabric.link(end(own), end(remote), rate);
        }
        self.systems.insert(name.value, System { of_type, first, layout });
        Ok(true)
    }

    /// A type's layout; none if it is not known, which is reported once.
    fn layout(
        &mut self,
        ledger: &mut FaultLedger<'a>,
        of_type: Spanned<&'a str>,
        modifiers: Vec<(&'a str, &'a str)>,
    ) -> Result<Option<Arc<Layout>>, ReadError> {
        let modifiers = if self.files.has(of_type.value) { modifiers } else { Vec::new() };
        let vacant = match self.layouts.entry((of_type.value, modifiers)) {
            Entry::Occupied(known) => return Ok(known.get().clone()),
            Entry::Vacant(vacant) => vacant,
        };
        let (problem, mend) = match self.files.layout(of_type.value, &vacant.key().1) {
            Some((layout, parts)) => {
                self.fabric.spend(of_type.at, parts);
                match layout {
                    Ok(layout) => {
                        if let Some(board) = &layout.unused {
                            let kind = "a choice for a board that the system does not have is passed over: ";
                            ledger.assume(of_type.at, kind, &format!("{board:?} of type {}", of_type.value));
                        }
                        return Ok(vacant.insert(Some(Arc::new(layout))).clone());
                    }
                    Err(problem) => (format!("type {}: {problem}", of_type.value), "expected a whole system file"),
                }
            }
            None => (
                format!("no system file describes type {}", of_type.value),
                "expected its IBNL file: `--systems FOLDER` names where they are (ibutils installs those of many \
                 systems in lib/…/ibdm…/ibnl)",
            ),
        };
        vacant.insert(None);
        Err(ledger.source.error(of_type.at, problem, mend))
    }

    fn cable(
        &mut self,
        ledger: &mut FaultLedger<'a>,
        own: SocketName<'a>,
        remote: SocketName<'a>,
        given: Rate,
    ) -> Result<(), ReadError> {
        let (own, remote) = (self.socket(ledger, own)?, self.socket(ledger, remote)?);
        let (Some((own, near)), Some((remote, far))) = (own, remote) else { return Ok(()) };
        let rate = (near.0.or(far.0).or(given.0), near.1.or(far.1).or(given.1));
        self.fabric.link(own, remote, rate);
        Ok(())
    }

    /// Where a system's socket leads; none if its type is not known, which is reported once.
    fn socket(
        &mut self,
        ledger: &mut FaultLedger<'a>,
        SocketName { system, socket }: SocketName<'a>,
    ) -> Result<Option<(NamedEnd, Rate)>, ReadError> {
        let Named { of_type, name } = system;
        if !self.systems.contains_key(name.value) && !self.add(ledger, system, Vec::new())? {
            return Ok(None);
        }
        let known = &self.systems[name.value];
        if !self.files.same_type(known.of_type.value, of_type.value) {
            let problem = format!("system {:?} is of two types", name.value);
            let label = format!("expected {}", known.of_type.value);
            return Err(ledger.source.clash(of_type.at, problem, label, (known.of_type.at, "as stated here")));
        }
        let Some(&((chip, num), rate)) = known.layout.sockets.get(socket.value) else {
            let problem = format!("{} has no port {:?}", name.value, socket.value);
            let mut sockets: Vec<&str> = known.layout.sockets.keys().map(String::as_str).collect();
            sockets.sort_by_key(|name| (name.len(), *name));
            let shown = sockets.iter().take(3).copied().collect::<Vec<_>>().join(", ");
            let label = match sockets.len() {
                0 => format!("expected a system with ports: type {} has none", known.of_type.value),
                1..=3 => format!("expected a port of its type: {shown}"),
                ports => format!("expected one of the {ports} ports of its type: {shown}, …"),
            };
            return Err(ledger.source.error(socket.at, problem, label));
        };
        Ok(Some((NamedEnd { at: socket.at, node: known.first + chip, num }, rate)))
    }
}

fn words(line: SourceLine<'_>) -> Vec<Spanned<&str>> {
    line.text.split_whitespace().map(|word| line.part(word)).collect()
}
