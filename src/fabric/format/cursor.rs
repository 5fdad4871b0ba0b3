//! Parses one line token by token, and always knows its place in the file.

use super::diagnostic::{ReadError, SourceLine, SourceText, Span, Spanned};
use crate::ids::Guid;
use winnow::Parser;
use winnow::ascii::dec_uint;
use winnow::combinator::{alt, opt, preceded};
use winnow::error::ContextError;
use winnow::token::literal;

/// The unread rest of one line.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    source: SourceText<'a>,
    rest: &'a str,
    end: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning of `line`.
    pub fn new(source: SourceText<'a>, line: SourceLine<'a>) -> Cursor<'a> {
        Cursor { source, rest: line.text, end: line.start + line.text.len() }
    }

    /// The unread text.
    pub fn rest(&self) -> &'a str {
        self.rest
    }

    /// The cursor's byte offset in the source.
    pub fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    /// The bytes from `start` to the cursor.
    pub fn since(&self, start: usize) -> Span {
        Span { start, end: self.offset() }
    }

    /// The word at the cursor, for an error: up to the next blank, at least one character.
    pub fn here(&self) -> Span {
        let start = self.offset();
        let word = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        Span { start, end: start + word.max(self.rest.chars().next().map_or(0, char::len_utf8)) }
    }

    /// Skips blanks; true if nothing follows them.
    pub fn blanks(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.is_empty()
    }

    /// Whether a word ends here.
    pub fn at_border(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with(char::is_whitespace)
    }

    /// Skips `n` bytes, which must end on a character's border.
    pub fn skip(&mut self, n: usize) {
        self.rest = &self.rest[n..];
    }

    /// Reads `text` if it comes next.
    pub fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Reads `text`.
    ///
    /// # Errors
    /// Something else comes next.
    pub fn expect(&mut self, text: &str, expected: &str) -> Result<(), ReadError> {
        if self.eat(text) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Reads one token.
    ///
    /// # Errors
    /// Something else comes next.
    pub fn take<O>(
        &mut self,
        mut token: impl Parser<&'a str, O, ContextError>,
        expected: &str,
    ) -> Result<Spanned<O>, ReadError> {
        let start = self.offset();
        let mut rest = self.rest;
        match token.parse_next(&mut rest) {
            Ok(value) => {
                self.rest = rest;
                Ok(Spanned { value, at: self.since(start) })
            }
            Err(_) => Err(self.unexpected(expected)),
        }
    }

    /// The error for something other than `expected`.
    pub fn unexpected(&self, expected: &str) -> ReadError {
        let problem = if self.rest.trim().is_empty() {
            "the line ends too early".to_string()
        } else {
            let at = self.here();
            format!("unexpected `{}`", &self.source.text[at.start..at.end])
        };
        self.source.error(self.here(), problem, format!("expected {expected}"))
    }

    /// The end of the line, blanks aside.
    ///
    /// # Errors
    /// Something is left.
    pub fn finish(&mut self) -> Result<(), ReadError> {
        if self.blanks() { Ok(()) } else { Err(self.unexpected("the end of the line")) }
    }

    /// A port's number, 1 to 254.
    pub fn port_number(&mut self) -> Result<Spanned<u8>, ReadError> {
        self.take(dec_uint::<_, u8, _>.verify(|n| (1..=254).contains(n)), "a port number from 1 to 254")
    }

    /// A decimal number of 16 bits.
    pub fn decimal(&mut self, expected: &str) -> Result<Spanned<u16>, ReadError> {
        self.take(dec_uint::<_, u16, _>, expected)
    }

    /// A number in C's notation, `0x` and hexadecimal digits or decimal digits, at most `most`.
    pub fn c_number(&mut self, most: u64, expected: &str) -> Result<Spanned<u64>, ReadError> {
        let hexadecimal = preceded(alt((literal("0x"), literal("0X"))), hex_digits);
        self.take(alt((hexadecimal, dec_uint::<_, u64, _>)).verify(|&n| n <= most), expected)
    }

    /// Hexadecimal digits, with or without `0x`, as a number of `T`'s size.
    pub fn hex<T: TryFrom<u64>>(&mut self, expected: &str) -> Result<Spanned<T>, ReadError> {
        let digits = preceded(opt(literal("0x")), hex_digits);
        self.take(digits.verify_map(|n| T::try_from(n).ok()), expected)
    }

    /// A GUID in hexadecimal; `None` for 0, which is how tools print one that they do not know.
    pub fn guid(&mut self) -> Result<Spanned<Option<Guid>>, ReadError> {
        let stated = self.hex::<u64>("a GUID: up to 16 hexadecimal digits")?;
        Ok(Spanned { value: (stated.value != 0).then_some(Guid(stated.value)), at: stated.at })
    }

    /// `(GUID)` if it comes next, after optional blanks.
    pub fn guid_in_parentheses(&mut self) -> Result<Option<Spanned<Guid>>, ReadError> {
        self.blanks();
        if !self.eat("(") {
            return Ok(None);
        }
        let guid = self.guid()?;
        self.expect(")", "`)`")?;
        Ok(guid.value.map(|value| Spanned { value, at: guid.at }))
    }

    /// A text in double quotes that holds none.
    pub fn quoted(&mut self, expected: &str) -> Result<Spanned<&'a str>, ReadError> {
        let start = self.offset();
        let Some(length) = self.rest.strip_prefix('"').and_then(|rest| rest.find('"')) else {
            return Err(self.unexpected(expected));
        };
        let value = &self.rest[1..=length];
        self.skip(length + 2);
        Ok(Spanned { value, at: self.since(start) })
    }
}

/// Up to 16 hexadecimal digits. By hand: subnet lists hold a dozen such numbers a line.
fn hex_digits(input: &mut &str) -> winnow::Result<u64> {
    let mut value = 0;
    let digits = input.bytes().take(16).map_while(|byte| char::from(byte).to_digit(16));
    let count = digits.map(|digit| value = value << 4 | u64::from(digit)).count();
    if count == 0 {
        return Err(ContextError::new());
    }
    *input = &input[count..];
    Ok(value)
}
