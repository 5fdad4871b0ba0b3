//! Bytes and nibbles as hexadecimal text.

use std::fmt::Write;

/// Two digits for each byte.
pub(super) fn of_bytes(bytes: impl IntoIterator<Item = u8>) -> String {
    bytes.into_iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

/// One digit for each nibble.
pub(super) fn of_nibbles(nibbles: impl IntoIterator<Item = u8>) -> String {
    nibbles.into_iter().fold(String::new(), |mut text, nibble| {
        _ = write!(text, "{nibble:x}");
        text
    })
}

/// The nibbles of a text; none if it has characters other than hexadecimal digits.
pub(super) fn nibbles(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect()
}

/// The bytes of a text; none if it has other characters, or an odd number of digits.
pub(super) fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = nibbles(text)?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}
