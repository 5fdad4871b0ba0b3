//! From a file's bytes to text: what encodings and terminals did to it is undone, and said.
//!
//! The tools print ASCII; what differs was made by an editor, a shell or a terminal in between. UTF-16, which
//! PowerShell writes, is converted; bytes that are no UTF-8 are read as Latin-1, which gives every byte one meaning; a
//! terminal's control sequences are left out. Files that hold no text are refused with what they look like.

use super::diagnostic::{ReadError, SourceText, Span};
use std::borrow::Cow;

/// A file's text, and what was done to get it.
pub(crate) struct Text<'a> {
    pub text: Cow<'a, str>,
    /// One sentence each.
    pub converted: Vec<&'static str>,
}

/// The longest line that is read: no tool prints one, and a file without line ends is no capture.
pub(crate) const LONGEST_LINE: usize = 1 << 20;

/// The bytes in which a file that is no text shows it.
const HEAD: usize = 4096;

/// The text of a file.
///
/// # Errors
/// It holds no text.
pub(crate) fn text<'a>(bytes: &'a [u8], file: &str) -> Result<Text<'a>, ReadError> {
    let mut converted = Vec::new();
    let bytes = match bytes.iter().rposition(|&byte| byte != 0) {
        // The last unit of UTF-16 may end with a zero byte of its own.
        Some(last) if bytes.len() > last + 1 && utf16(bytes).is_none() => {
            converted.push("zero bytes at the end, as a disk leaves them after a crash, were left out");
            &bytes[..=last]
        }
        _ => bytes,
    };
    if matches!(bytes, [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..]) {
        return Err(refused(file, "UTF-32", "expected UTF-8: `iconv -f utf-32 -t utf-8` converts it"));
    }
    let text = match utf16(bytes) {
        Some(text) => {
            converted.push("the file is UTF-16: it was converted");
            Cow::Owned(text)
        }
        None => {
            if let Some((looks, mend)) = no_text(bytes) {
                return Err(refused(file, looks, mend));
            }
            match std::str::from_utf8(bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => {
                    converted.push("bytes that are no UTF-8 text were read as Latin-1");
                    Cow::Owned(latin1(bytes))
                }
            }
        }
    };
    let is_control = |c: char| matches!(c, '\u{1b}' | '\u{8}' | '\0');
    if !text.contains(is_control) {
        return Ok(Text { text, converted });
    }
    converted.push("a terminal's control characters were left out");
    Ok(Text { text: Cow::Owned(without_controls(&text)), converted })
}

fn refused(file: &str, looks: &str, mend: &str) -> ReadError {
    let start = Span { start: 0, end: 0 };
    SourceText { file, text: "" }.error(start, format!("the file is no text: it looks like {looks}"), mend)
}

/// Refuses a file of lines with a line that is longer than any tool prints.
pub(crate) fn check_lines(source: SourceText<'_>) -> Result<(), ReadError> {
    match source.lines().find(|line| line.text.len() > LONGEST_LINE) {
        None => Ok(()),
        Some(line) => {
            let problem = format!("a line of {} bytes", line.text.len());
            let at = Span { start: line.start, end: line.start };
            Err(source.error(at, problem, format!("expected lines of at most {LONGEST_LINE} bytes")))
        }
    }
}

/// The text of UTF-16, with a byte-order mark or with the zero bytes that ASCII has in it.
fn utf16(bytes: &[u8]) -> Option<String> {
    let (little, body) = match bytes {
        [0xff, 0xfe, body @ ..] => (true, body),
        [0xfe, 0xff, body @ ..] => (false, body),
        _ => {
            let head = &bytes[..bytes.len().min(HEAD) & !1];
            let zeros = |at: usize| head.iter().skip(at).step_by(2).filter(|&&byte| byte == 0).count();
            let (even, odd) = (zeros(0), zeros(1));
            match head.len() / 4 {
                0 => return None,
                least if odd > least && even == 0 => (true, bytes),
                least if even > least && odd == 0 => (false, bytes),
                _ => return None,
            }
        }
    };
    let unit = |pair: &[u8]| match (pair, little) {
        (&[low, high], true) | (&[high, low], false) => u16::from_be_bytes([high, low]),
        _ => u16::from(pair[0]),
    };
    let decoded = char::decode_utf16(body.chunks(2).map(unit));
    Some(decoded.map(|read| read.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// What a file without text looks like, and what to do.
fn no_text(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let compressed = "expected text: decompress it first";
    let known: [(&[u8], &str, &str); 9] = [
        (
            &[0x2b, 0x83, 0xe7, 0x8f],
            "a cache of ibnetdiscover (--cache)",
            "expected text: `ibnetdiscover --load-cache FILE > TEXT` prints what it holds",
        ),
        (&[0x1f, 0x8b], "a file of gzip", compressed),
        (&[0x28, 0xb5, 0x2f, 0xfd], "a file of zstd", compressed),
        (&[0xfd, b'7', b'z', b'X', b'Z'], "a file of xz", compressed),
        (b"BZh", "a file of bzip2", compressed),
        (b"PK\x03\x04", "a zip archive", "expected text: extract the capture first"),
        (b"%PDF", "a PDF", "expected text, as ibnetdiscover prints it"),
        (b"\x7fELF", "a program", "expected text, as ibnetdiscover prints it"),
        (b"\x89PNG", "an image", "expected text, as ibnetdiscover prints it"),
    ];
    let named = known.iter().find(|(magic, ..)| bytes.starts_with(magic)).map(|&(_, looks, mend)| (looks, mend));
    let head = &bytes[..bytes.len().min(HEAD)];
    let zeros = head.iter().filter(|&&byte| byte == 0).count();
    named.or_else(|| {
        let binary = ("binary data", "expected text, as `ibnetdiscover > FILE` writes it");
        (zeros > head.len() / 16).then_some(binary)
    })
}

/// Text in which each byte that is no UTF-8 is the Latin-1 character of its number.
fn latin1(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 16);
    for chunk in bytes.utf8_chunks() {
        text += chunk.valid();
        text.extend(chunk.invalid().iter().map(|&byte| char::from(byte)));
    }
    text
}

/// A text without zero bytes, backspaces and escape sequences: `ESC [ … letter`, `ESC ] … BEL`, `ESC` and a character.
fn without_controls(text: &str) -> String {
    let mut rest = text.chars().peekable();
    let mut plain = String::with_capacity(text.len());
    while let Some(c) = rest.next() {
        match c {
            '\0' | '\u{8}' => {}
            '\u{1b}' => match rest.next_if(|&c| c != '\n') {
                Some('[') => while rest.next_if(|c| c.is_ascii_digit() || ";?= ".contains(*c)).is_some() {},
                Some(']') => while rest.next_if(|&c| c != '\u{7}' && c != '\n').is_some() {},
                _ => continue,
            },
            _ => {
                plain.push(c);
                continue;
            }
        }
        if c == '\u{1b}' {
            // The letter that ends the sequence.
            rest.next_if(|&c| c != '\n');
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> String {
        text(bytes, "test").unwrap_or_else(|error| panic!("{error}")).text.into_owned()
    }

    #[test]
    fn encodings_are_converted_and_said() {
        let converted = |bytes: &[u8]| text(bytes, "test").expect("text").converted.len();
        let units = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        assert_eq!(read(&units("\u{feff}Switch é")), "Switch é");
        assert_eq!(read(&units("Switch 36 leaf")), "Switch 36 leaf");
        let big: Vec<u8> = "\u{feff}Ca 1".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(read(&big), "Ca 1");
        assert_eq!(read(b"feuille-\xe9 \xc3\xa9"), "feuille-é é");
        assert_eq!((converted(b"plain"), converted(b"\xe9")), (0, 1));
        assert_eq!(read(b"\x1b[01;32m[1]\x1b[0m \x1b]0;title\x07x\x08"), "[1] x");
    }

    #[test]
    fn zero_bytes_at_the_end_are_left_out_and_said() {
        let cut = text(b"Switch 36\0\0\0\0", "test").expect("text");
        assert_eq!((&*cut.text, cut.converted.len()), ("Switch 36", 1));
        assert!(cut.converted[0].contains("zero bytes"), "{:?}", cut.converted);
    }

    #[test]
    fn files_without_text_are_refused_by_name() {
        for (bytes, named) in [
            (&[0u8; 64][..], "binary data"),
            (&[0x2b, 0x83, 0xe7, 0x8f, 1, 0][..], "a cache of ibnetdiscover"),
            (&[0x1f, 0x8b, 8][..], "gzip"),
            (&[0xff, 0xfe, 0, 0, b'S', 0, 0, 0][..], "UTF-32"),
        ] {
            let error = text(bytes, "test").map(|read| read.text.into_owned()).expect_err("no text");
            assert!(error.problem().contains(named), "{error}");
        }
    }
}
