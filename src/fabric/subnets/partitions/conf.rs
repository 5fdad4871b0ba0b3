//! The reader of OpenSM's `partitions.conf`.
//!
//! ```text
//! # comment
//! Storage = 0x10, ipoib, mtu=4, defmember=full :    # NAME [= P_KEY] [, FLAG [= VALUE]]* :
//!     0x0200000000000111, 0x0200000000000121=limited,
//!     mgid=ff12:401b::16, sl=1                      # a multicast group takes the rest of its line
//!     ALL_ROUTERS=full ;
//! ```
//!
//! Behaviour is that of OpenSM's reader (`osm_prtn_config.c`, version 3.3.24), even where its documentation differs:
//! words may be abbreviated (`limi`), everything before the colon stands on one line, ends of lines separate members
//! like commas, and the last `;` may be missing. An unknown flag is ignored, and an unknown membership is limited; both
//! yield notices here.

use super::{DEFAULT, Partition, Partitions, Rule, Who};
use crate::fabric::NodeKind;
use crate::fabric::format::{ReadError, ReadNotice, SourceText, Span, Spanned, decode};
use crate::ids::{Guid, PKey};
use std::net::Ipv6Addr;

/// Bytes of a line that OpenSM reads at a time.
const LONGEST_LINE: usize = 4094;

/// Bytes of a name that OpenSM keeps.
const LONGEST_NAME: usize = 31;

/// Flags of multicast groups, and of the group that `ipoib` creates: they do not affect a port's partitions.
const GROUP_FLAGS: [&str; 7] = ["mtu", "rate", "scope", "Q_Key", "TClass", "sl", "FlowLabel"];

const MEMBERS: &str = "expected a port GUID, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, SELF or NONE, each perhaps with \
                       `=full`, `=limited` or `=both`; a `;` ends the definition before";

pub(super) fn read(bytes: &[u8], file: &str) -> Result<(Partitions, Vec<ReadNotice>), ReadError> {
    let source = SourceText { file, text: decode(bytes, file)? };
    let mut reader = Reader::new(source);
    let mut start = 0;
    for line in source.text.split_inclusive('\n') {
        reader.line(start, line.trim_end_matches('\n'))?;
        start += line.len();
    }
    if !reader.defined {
        let end = Span { start, end: start };
        return Err(source.error(end, "the file defines no partition", "expected NAME=P_KEY : MEMBERS ;"));
    }
    let Reader { list, rules, notices, .. } = reader;
    Ok((Partitions { text: source.text.into(), list, rules }, notices))
}

/// The definition that the following members belong to.
#[derive(Clone, Copy)]
struct Definition {
    partition: usize,
    full: bool,
    first: bool,
}

struct Reader<'a> {
    source: SourceText<'a>,
    list: Vec<Partition>,
    /// By partition: its key was generated.
    generated: Vec<bool>,
    rules: Vec<Rule>,
    notices: Vec<ReadNotice>,
    /// The definition whose `;` has not come yet.
    open: Option<Definition>,
    defined: bool,
    last_generated: u16,
}

impl<'a> Reader<'a> {
    /// OpenSM's state before it reads a file: all ports are limited members of the default partition, its own port a
    /// full one.
    fn new(source: SourceText<'a>) -> Reader<'a> {
        let rule = |who, full| Rule { partition: 0, who, full, first: false, line: 0 };
        Reader {
            source,
            list: vec![Partition { name: "Default".to_string(), key: DEFAULT }],
            generated: vec![false],
            rules: vec![rule(Who::All, false), rule(Who::Manager, true)],
            notices: Vec::new(),
            open: None,
            defined: false,
            last_generated: 0,
        }
    }

    fn line(&mut self, start: usize, line: &'a str) -> Result<(), ReadError> {
        if line.len() > LONGEST_LINE {
            let problem = format!(
                "the line has {} bytes: OpenSM reads {LONGEST_LINE} at a time, and parts words there",
                line.len()
            );
            let at = Span { start: start + LONGEST_LINE, end: start + LONGEST_LINE + 1 };
            return Err(self.source.error(at, problem, "expected the end of the line before this"));
        }
        let text = line.split('#').next().unwrap_or_default();
        for (mark, problem, fix) in [
            ('\r', "a carriage return: OpenSM refuses the file", "expected the end of the line; `dos2unix` mends this"),
            ('\u{feff}', "a byte-order mark: OpenSM takes it for a part of the name", "expected a file without one"),
        ] {
            if let Some(at) = text.find(mark) {
                let at = Span { start: start + at, end: start + at + mark.len_utf8() };
                return Err(self.source.error(at, problem, fix));
            }
        }
        let mut at = start;
        for chunk in text.split_inclusive(';') {
            let (part, ends) = chunk.strip_suffix(';').map_or((chunk, false), |part| (part, true));
            if ends && part.trim().is_empty() && self.open.is_some() {
                let place = Span { start: at + part.len(), end: at + chunk.len() };
                let problem =
                    "nothing stands before the `;` on its line: OpenSM reads on in what is left of an earlier one";
                return Err(self.source.error(place, problem, "expected the `;` behind the last member"));
            }
            if ends || !part.trim().is_empty() {
                self.part(Spanned { value: part, at: Span { start: at, end: at + part.len() } })?;
            }
            if ends {
                self.open = None;
            }
            at += chunk.len();
        }
        Ok(())
    }

    /// Parses a part of a line, up to its end or a `;`.
    fn part(&mut self, part: Spanned<&'a str>) -> Result<(), ReadError> {
        if let Some(open) = self.open {
            return self.members(open, part);
        }
        let Some((header, members)) = part.value.split_once(':') else {
            let expected = "expected NAME=P_KEY and flags, then `:`, all on one line";
            return Err(self.source.error(trimmed(part).at, "a partition is defined without a `:`", expected));
        };
        let border = part.at.start + header.len();
        let open = self.header(Spanned { value: header, at: Span { start: part.at.start, end: border } })?;
        self.open = Some(open);
        self.defined = true;
        self.members(open, Spanned { value: members, at: Span { start: border + 1, end: part.at.end } })
    }

    fn header(&mut self, header: Spanned<&'a str>) -> Result<Definition, ReadError> {
        let mut fields = split(header, ',');
        let (name, key) = pair(fields.next().unwrap_or(header));
        let (mut full, mut first) = (false, false);
        for field in fields {
            let (flag, value) = pair(field);
            match flag.value {
                text if GROUP_FLAGS.iter().any(|known| known.starts_with(text)) || "ipoib".starts_with(text) => {}
                text if "defmember".starts_with(text) => match value.and_then(|value| membership(value.value)) {
                    Some(value) => full = value,
                    None => self
                        .note(field.at, format!("`{}` is no `defmember`: OpenSM passes over it", field.value.trim())),
                },
                "indx0" => first = true,
                text => self.note(flag.at, format!("no flag of a partition is called `{text}`: OpenSM passes over it")),
            }
        }
        Ok(Definition { partition: self.partition(name, key)?, full, first })
    }

    /// The rank of the partition with this name and key, newly defined if necessary.
    fn partition(&mut self, name: Spanned<&'a str>, key: Option<Spanned<&'a str>>) -> Result<usize, ReadError> {
        let by_number = key.is_none() && name.value.starts_with(|c: char| c.is_ascii_digit());
        let (name_text, key) = if by_number { ("", Some(name)) } else { (name.value, key) };
        let given = key.map(|key| self.key(key)).transpose()?.filter(|key| key.0 != 0);
        if let Some(key) = given {
            return Ok(self.with_key(name_text, key, name.at));
        }
        if let Some(known) = self.by_name(name_text) {
            return Ok(known);
        }
        let free = |key: &u16| self.list.iter().all(|other| other.key.0 != *key);
        let Some(next) = (self.last_generated + 1..DEFAULT.0).find(free) else {
            let expected = "expected a P_Key: none is left to give";
            return Err(self.source.error(name.at, "no P_Key is left for this partition", expected));
        };
        self.last_generated = next;
        Ok(self.add(name_text, PKey(next), true))
    }

    fn key(&self, text: Spanned<&'a str>) -> Result<PKey, ReadError> {
        let expected = "expected a P_Key of 15 bits, such as 0x10";
        match c_number(text.value) {
            Some(number) if number <= 0xFFFF => Ok(PKey(number as u16 & !PKey::FULL)),
            Some(_) => {
                let problem = format!("`{}` has more than 16 bits: OpenSM would take the lower ones", text.value);
                Err(self.source.error(text.at, problem, expected))
            }
            None => Err(self.source.error(text.at, format!("`{}` is no P_Key", text.value), expected)),
        }
    }

    fn with_key(&mut self, name: &str, key: PKey, at: Span) -> usize {
        let Some(rank) = self.list.iter().position(|other| other.key == key) else { return self.add(name, key, false) };
        if self.generated[rank] {
            let (key, other) = (key.0, &self.list[rank].name);
            let text =
                format!("`{other}` names no P_Key and was given 0x{key:04x}, so OpenSM makes both one partition");
            self.note(at, text);
        }
        rank
    }

    /// Finds a partition by its full name: OpenSM truncates longer ones, and does not find those again. Of several
    /// partitions with one name it finds the first in its own order.
    fn by_name(&self, name: &str) -> Option<usize> {
        let called = |&rank: &usize| self.list[rank].name == name;
        let found = (0..self.list.len()).filter(called).min_by_key(|&rank| self.list[rank].key.0.swap_bytes());
        found.filter(|_| name.len() <= LONGEST_NAME)
    }

    fn add(&mut self, name: &str, key: PKey, generated: bool) -> usize {
        let name = if name.is_empty() { format!("{:04x}", key.0) } else { name.to_string() };
        self.list.push(Partition { name, key });
        self.generated.push(generated);
        self.list.len() - 1
    }

    fn members(&mut self, open: Definition, part: Spanned<&'a str>) -> Result<(), ReadError> {
        for field in split(part, ',') {
            let (name, value) = pair(field);
            if name.value == "mgid" {
                // The rest of the line is the group's.
                self.group(value, Span { start: field.at.end, end: part.at.end });
                return Ok(());
            }
            self.member(open, name, value)?;
        }
        Ok(())
    }

    fn member(
        &mut self,
        open: Definition,
        name: Spanned<&'a str>,
        value: Option<Spanned<&'a str>>,
    ) -> Result<(), ReadError> {
        // An empty member, after a comma at the end of a line, begins this word as well.
        if "NONE".starts_with(name.value) {
            return Ok(());
        }
        let full = match value {
            None => open.full,
            Some(value) => match membership(value.value) {
                Some(full) => {
                    if value.value.is_empty() {
                        self.note(value.at, "no membership follows the `=`: OpenSM takes `full`".to_string());
                    }
                    full
                }
                None => {
                    self.note(value.at, format!("`{}` is no membership: OpenSM takes `limited`", value.value));
                    false
                }
            },
        };
        let Some(who) = who(name.value) else {
            return Err(self.source.error(name.at, format!("`{}` is no member", name.value), MEMBERS));
        };
        let line = self.source.line_of(name.at.start);
        let Definition { partition, first, .. } = open;
        self.rules.push(Rule { partition, who, full, first, line });
        Ok(())
    }

    /// A multicast group and its flags, which do not affect a port's keys.
    fn group(&mut self, gid: Option<Spanned<&'a str>>, rest: Span) {
        let is_multicast = |text: &str| text.parse::<Ipv6Addr>().is_ok_and(|gid| gid.octets()[0] == 0xFF);
        let text = gid.map_or("", |gid| gid.value);
        if !is_multicast(text) {
            let at = gid.map_or(rest, |gid| gid.at);
            self.note(at, format!("`{text}` is no multicast GID: OpenSM makes no such group"));
        }
        let flags = Spanned { value: &self.source.text[rest.start..rest.end], at: rest };
        for (flag, _) in split(flags, ',').map(pair) {
            if !GROUP_FLAGS.iter().any(|known| known.starts_with(flag.value)) {
                let text = format!("no flag of a multicast group is called `{}`: OpenSM passes over it", flag.value);
                self.note(flag.at, text);
            }
        }
    }

    fn note(&mut self, at: Span, text: String) {
        self.notices.push(ReadNotice { line: self.source.line_of(at.start), text });
    }
}

/// Whether a word, or its abbreviation, means full; `both` is full unless a port may have a key in both forms.
fn membership(text: &str) -> Option<bool> {
    let words = [("full", true), ("both", true), ("limited", false)];
    words.into_iter().find(|(word, _)| word.starts_with(text)).map(|(_, full)| full)
}

fn who(text: &str) -> Option<Who> {
    let words = [
        ("ALL", Who::All),
        ("ALL_CAS", Who::Kind(NodeKind::Ca)),
        ("ALL_SWITCHES", Who::Kind(NodeKind::Switch)),
        ("ALL_ROUTERS", Who::Kind(NodeKind::Router)),
        ("SELF", Who::Manager),
    ];
    let word = words.into_iter().find(|(word, _)| word.starts_with(text)).map(|(_, who)| who);
    word.or_else(|| c_number(text).filter(|&guid| guid != 0).map(|guid| Who::Port(Guid(guid))))
}

/// A number as C writes it: `0x` hexadecimal, `0` octal, else decimal.
fn c_number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    // `from_str_radix` takes a sign.
    let plain = digits.starts_with(|c: char| c.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, radix).ok()).flatten()
}

/// The fields between separators, blanks included.
fn split(part: Spanned<&str>, separator: char) -> impl Iterator<Item = Spanned<&str>> {
    let mut start = part.at.start;
    part.value.split(separator).map(move |value| {
        let at = Span { start, end: start + value.len() };
        start = at.end + separator.len_utf8();
        Spanned { value, at }
    })
}

/// `NAME` or `NAME=VALUE`.
fn pair(field: Spanned<&str>) -> (Spanned<&str>, Option<Spanned<&str>>) {
    let Some((name, value)) = field.value.split_once('=') else { return (trimmed(field), None) };
    let border = field.at.start + name.len();
    let name = Spanned { value: name, at: Span { start: field.at.start, end: border } };
    (trimmed(name), Some(trimmed(Spanned { value, at: Span { start: border + 1, end: field.at.end } })))
}

/// Without the blanks around it.
fn trimmed(part: Spanned<&str>) -> Spanned<&str> {
    let blank = [' ', '\t'];
    let start = part.at.start + part.value.len() - part.value.trim_start_matches(blank).len();
    let value = part.value.trim_matches(blank);
    Spanned { value, at: Span { start, end: start + value.len() } }
}
