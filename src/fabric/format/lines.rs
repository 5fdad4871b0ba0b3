//! The line grammar that `ibnetdiscover` prints and ibsim reads: node lines and port lines.
//!
//! ```text
//! Switch  36 "S-0002c90300a1b2c0"    # "leaf 1" enhanced port 0 lid 5 lmc 0
//! [1][ext 3]  "H-0002c90300f1e2d0"[2](2c90300f1e2d2)    # "host 7 HCA-1" lid 9 4xQDR
//! [2](2c90300f1e2d2)  "S-0002c90300a1b2c0"[1]    # lid 9 lmc 0 "leaf 1" lid 5 4xQDR
//! ```
//!
//! A description may contain `#` and quotes: it ends at the last quote of the line. Parts of the comment (LIDs, LMC,
//! rate, the fields of `ibnetdiscover --full`) may be missing, but those present must be valid.

use super::cursor::Cursor;
use super::diagnostic::{ReadError, Span, Spanned};
use crate::fabric::{LinkSpeed, LinkWidth, NodeKind, PortZero};
use crate::ids::{Guid, Lid, Lmc};
use std::str::FromStr;

/// `Switch 36 "S-…" # …`
pub(super) struct NodeLine<'a> {
    pub kind: NodeKind,
    pub num_ports: u8,
    pub id: Spanned<&'a str>,
    pub tail: Tail<'a>,
}

/// `[1] "S-…"[2] # …`
pub(super) struct PortLine<'a> {
    pub num: Spanned<u8>,
    /// The port's own GUID.
    pub guid: Option<Spanned<Guid>>,
    /// The neighbour's name.
    pub id: Spanned<&'a str>,
    /// The neighbour's port, if the line gives it.
    pub remote_num: Option<Spanned<u8>>,
    /// The neighbour's port GUID.
    pub remote_guid: Option<Spanned<Guid>>,
    /// ibsim's `w=`, `s=`, `e=` between the neighbour and the comment.
    pub masks: Masks,
    pub tail: Tail<'a>,
}

/// The comment of a node or port line.
#[derive(Default)]
pub(super) struct Tail<'a> {
    /// The port's own base LID, if it precedes the description.
    pub own_lid: Option<Spanned<Lid>>,
    pub lmc: Option<Lmc>,
    pub description: Option<&'a str>,
    pub port_zero: Option<PortZero>,
    /// The LID after the description: of a node line the node's, of a port line the neighbour's.
    pub lid: Option<Spanned<Lid>>,
    pub rate: Option<Spanned<PrintedRate>>,
    /// PortInfo:VLCap of `ibnetdiscover --full`, in data VLs.
    pub data_vls: Option<u8>,
    /// Where `lid` is followed by something that stands for no LID: 65535, -1 or nothing.
    pub unassigned: Vec<Span>,
    /// The `"` that stands for the comment's `#`.
    pub quote: Option<Span>,
}

/// Active width and speed; `None` if the tool printed question marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrintedRate {
    pub width: Option<LinkWidth>,
    pub speed: Option<LinkSpeed>,
}

/// ibsim's bit masks of the widths and speeds that are enabled.
#[derive(Clone, Copy, Default)]
pub(super) struct Masks {
    pub width: Option<u8>,
    pub speed: Option<u8>,
    pub extended: Option<u8>,
}

/// The kind of node that a line's first word names, and the rest of the line.
pub(super) fn node_keyword(line: &str) -> Option<(NodeKind, usize)> {
    let word = line.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(line.len());
    let kind = match &line[..word] {
        "Switch" => NodeKind::Switch,
        "Ca" | "Hca" => NodeKind::Ca,
        "Rt" | "Router" => NodeKind::Router,
        _ => return None,
    };
    Some((kind, word))
}

/// The rest of a node line, after its first word.
pub(super) fn node_line<'a>(cursor: &mut Cursor<'a>, kind: NodeKind) -> Result<NodeLine<'a>, ReadError> {
    cursor.blanks();
    let num_ports = cursor.port_number()?.value;
    cursor.blanks();
    let id = cursor.quoted("the node's name in double quotes")?;
    let tail = tail(cursor, false)?;
    Ok(NodeLine { kind, num_ports, id, tail })
}

/// A port line, from its `[` on. `own` says that the port has a LID of its own: any but a switch's.
pub(super) fn port_line<'a>(cursor: &mut Cursor<'a>, own: bool) -> Result<PortLine<'a>, ReadError> {
    cursor.expect("[", "`[` and a port number")?;
    let num = cursor.port_number()?;
    cursor.expect("]", "`]`")?;
    external_number(cursor)?;
    let guid = cursor.guid_in_parentheses()?;
    cursor.blanks();
    let id = cursor.quoted("the neighbour's name in double quotes")?;
    cursor.blanks();
    let remote_num = match cursor.eat("[") {
        true => Some(cursor.port_number()?),
        false => None,
    };
    if remote_num.is_some() {
        cursor.expect("]", "`]`")?;
        external_number(cursor)?;
    }
    let remote_guid = cursor.guid_in_parentheses()?;
    let masks = masks(cursor)?;
    let tail = tail(cursor, own)?;
    Ok(PortLine { num, guid, id, remote_num, remote_guid, masks, tail })
}

/// `[ext 3]`, the port number printed on a chassis, which the model ignores.
fn external_number(cursor: &mut Cursor<'_>) -> Result<(), ReadError> {
    if cursor.eat("[ext ") {
        cursor.decimal("the external port's number")?;
        cursor.expect("]", "`]`")?;
    }
    Ok(())
}

fn masks(cursor: &mut Cursor<'_>) -> Result<Masks, ReadError> {
    let mut masks = Masks::default();
    loop {
        cursor.blanks();
        let (slot, most, expected) = if cursor.eat("w=") {
            (&mut masks.width, 31, "a mask of widths, 1 to 31: the sum of 1 (1x), 2 (4x), 4 (8x), 8 (12x), 16 (2x)")
        } else if cursor.eat("s=") {
            (&mut masks.speed, 7, "a mask of speeds, 0 to 7: the sum of 1 (SDR), 2 (DDR), 4 (QDR)")
        } else if cursor.eat("e=") {
            (
                &mut masks.extended,
                15,
                "a mask of extended speeds, 0 to 15: the sum of 1 (FDR), 2 (EDR), 4 (HDR), 8 (NDR)",
            )
        } else {
            return Ok(masks);
        };
        let before = cursor.clone();
        let stated = cursor.c_number(most, expected)?;
        if !cursor.at_border() {
            return Err(before.unexpected(expected));
        }
        *slot = Some(stated.value as u8);
    }
}

/// The part after a node's or a neighbour's name, with or without `#`.
fn tail<'a>(cursor: &mut Cursor<'a>, own: bool) -> Result<Tail<'a>, ReadError> {
    let mut tail = Tail::default();
    if cursor.blanks() {
        return Ok(tail);
    }
    if begins_with_a_quote(cursor.rest(), own) {
        tail.quote = Some(Span { start: cursor.offset(), end: cursor.offset() + 1 });
        cursor.skip(1);
        cursor.blanks();
    } else if cursor.eat("#") {
        cursor.blanks();
    }
    if own && cursor.eat("lid ") {
        tail.own_lid = lid(cursor, &mut tail.unassigned)?;
        cursor.blanks();
        if cursor.eat("lmc ") {
            tail.lmc = Some(lmc(cursor)?);
            cursor.blanks();
        }
    }
    tail.description = description(cursor)?;
    while !cursor.blanks() {
        let empty = tail.unassigned.len();
        word(cursor, &mut tail)?;
        if !cursor.at_border() && tail.unassigned.len() == empty {
            return Err(cursor.unexpected("a blank or the end of the line"));
        }
    }
    Ok(tail)
}

/// What is said of such a character.
pub(super) const QUOTE_FOR_HASH: &str = "a `\"` before a comment is read as its `#`";

/// Whether a `"` stands for the `#` of a comment: it has no partner, and what follows is how a comment begins.
fn begins_with_a_quote(rest: &str, own: bool) -> bool {
    let Some(comment) = rest.strip_prefix('"').map(str::trim_start) else { return false };
    let begins = comment.starts_with('"') || own && comment.starts_with("lid ");
    begins && rest.matches('"').count() % 2 == 1
}

/// One of the words that may follow a description.
fn word(cursor: &mut Cursor<'_>, tail: &mut Tail<'_>) -> Result<(), ReadError> {
    let number = "a number";
    if cursor.eat("lid ") || (cursor.rest().trim_end() == "lid" && cursor.eat("lid")) {
        tail.lid = lid(cursor, &mut tail.unassigned)?;
    } else if cursor.eat("lmc ") {
        tail.lmc = Some(lmc(cursor)?);
    } else if cursor.eat("enhanced port 0") {
        tail.port_zero = Some(PortZero::Enhanced);
    } else if cursor.eat("base port 0") {
        tail.port_zero = Some(PortZero::Base);
    } else if cursor.eat("s=") || cursor.eat("w=") || cursor.eat("slot ") {
        cursor.decimal(number)?;
    } else if cursor.eat("v=") {
        let stated = cursor.decimal(number)?;
        tail.data_vls = data_vls(stated.value);
    } else if !cursor.eat("(scp)") {
        tail.rate = Some(rate(cursor)?);
    }
    Ok(())
}

/// A LID; `None` for 0, which means unassigned. So do 65535, -1 and nothing at all, whose places are added to
/// `unassigned`.
fn lid(cursor: &mut Cursor<'_>, unassigned: &mut Vec<Span>) -> Result<Option<Spanned<Lid>>, ReadError> {
    let word = cursor.rest().split_whitespace().next().unwrap_or("");
    let is_rate = word.split_once('x').is_some_and(|(_, speed)| speed.starts_with(|c: char| c.is_ascii_uppercase()));
    let is_next = is_rate || word == "lmc";
    if cursor.rest().starts_with(char::is_whitespace) || word.is_empty() || is_next || matches!(word, "65535" | "-1") {
        let start = cursor.offset();
        cursor.skip(if matches!(word, "65535" | "-1") && cursor.rest().starts_with(word) { word.len() } else { 0 });
        unassigned.push(Span { start, end: cursor.offset().max(start + 1) });
        return Ok(None);
    }
    let stated = cursor.decimal("a LID from 0 (none) to 49151")?;
    Ok((stated.value != 0).then_some(Spanned { value: Lid(stated.value), at: stated.at }))
}

fn lmc(cursor: &mut Cursor<'_>) -> Result<Lmc, ReadError> {
    let expected = "an LMC from 0 to 7";
    let before = cursor.clone();
    let stated = cursor.decimal(expected)?;
    u8::try_from(stated.value).ok().and_then(Lmc::new).ok_or_else(|| before.unexpected(expected))
}

/// PortInfo:VLCap in data VLs; 0 stands for a port without the field.
pub(super) fn data_vls(vl_cap: u16) -> Option<u8> {
    Some(match vl_cap {
        1 => 1,
        2 => 2,
        3 => 4,
        4 => 8,
        5 => 15,
        _ => return None,
    })
}

/// PortInfo:VLCap that stands for `data_vls` lanes, or the next fewer that it can express.
pub(super) fn vl_cap(data_vls: u8) -> u8 {
    match data_vls {
        0..=1 => 1,
        2..=3 => 2,
        4..=7 => 3,
        8..=14 => 4,
        _ => 5,
    }
}

fn rate(cursor: &mut Cursor<'_>) -> Result<Spanned<PrintedRate>, ReadError> {
    let expected = "a width and a speed such as `4xHDR`, or `lid`, `lmc`, `base port 0`, `enhanced port 0`";
    let word = cursor.here();
    let text = &cursor.rest()[..word.end - word.start];
    let border = if text.starts_with("??") { Some(2) } else { text.find('x').map(|x| x + 1) };
    let (width, speed) = border.map(|at| text.split_at(at)).ok_or_else(|| cursor.unexpected(expected))?;
    let width = known(width, "??").ok_or_else(|| cursor.unexpected(expected))?;
    let speed = known(speed, "???").ok_or_else(|| cursor.unexpected(expected))?;
    cursor.skip(text.len());
    Ok(Spanned { value: PrintedRate { width, speed }, at: word })
}

/// The value; `Some(None)` for the tool's question marks; `None` for anything else.
fn known<T: FromStr>(text: &str, unknown: &str) -> Option<Option<T>> {
    if text == unknown { Some(None) } else { text.parse().ok().map(Some) }
}

/// The description: in quotes up to the line's last one, or, as early versions of the tool print it, bare up to the
/// first of the words that may follow.
fn description<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a str>, ReadError> {
    let rest = cursor.rest();
    if let Some(quoted) = rest.strip_prefix('"') {
        let Some(length) = quoted.rfind('"') else {
            return Err(cursor.unexpected("the description's closing quote before the end of the line"));
        };
        cursor.skip(length + 2);
        return Ok(Some(&quoted[..length]));
    }
    let markers = ["enhanced port ", "base port ", "lid ", "lmc ", "s=", "w=", "v=", "slot ", "(scp)"];
    let bare_word = rest.chars().next().is_some_and(char::is_alphabetic);
    if !bare_word || markers.iter().any(|marker| rest.starts_with(marker)) {
        return Ok(None);
    }
    let end = markers[..4].iter().filter_map(|marker| rest.find(&format!(" {marker}"))).min();
    let text = rest[..end.unwrap_or(rest.len())].trim_end();
    cursor.skip(text.len());
    Ok(Some(text))
}
