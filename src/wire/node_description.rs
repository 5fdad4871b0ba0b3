//! NodeDescription (section 14.2.5.2): 64 bytes of text for people, padded with zeroes where shorter.

use super::SMP_DATA_SIZE;
use super::format::attribute;
use std::fmt;

attribute! {
    /// NodeDescription, kept byte for byte: nothing obliges a device to send clean UTF-8.
    NodeDescription([u8; SMP_DATA_SIZE] = 0, 512)
}

impl NodeDescription {
    /// The description that `text` spells, cut at the last character that fits 64 bytes.
    pub fn new(text: &str) -> NodeDescription {
        let fits = |end: &usize| *end <= SMP_DATA_SIZE;
        let end =
            text.char_indices().map(|(at, character)| at + character.len_utf8()).take_while(fits).last().unwrap_or(0);
        let mut bytes = [0; SMP_DATA_SIZE];
        bytes[..end].copy_from_slice(&text.as_bytes()[..end]);
        NodeDescription(bytes)
    }
}

/// The text up to the first zero byte; bytes that are no UTF-8 show as U+FFFD.
impl fmt::Display for NodeDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(SMP_DATA_SIZE);
        f.pad(&String::from_utf8_lossy(&self.0[..end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_reads_back_and_a_long_one_is_cut_between_characters() {
        assert_eq!(NodeDescription::new("leaf-07 HCA-1").to_string(), "leaf-07 HCA-1");
        let long = format!("{}é", "x".repeat(63));
        assert_eq!(NodeDescription::new(&long).to_string(), "x".repeat(63));
        assert_eq!(NodeDescription::new(&"y".repeat(64)).to_string(), "y".repeat(64));
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_and_kept() {
        let mut bytes = [0; SMP_DATA_SIZE];
        bytes[..3].copy_from_slice(&[b'a', 0xFF, b'b']);
        let description = NodeDescription::decode(&bytes);
        assert_eq!(description.to_string(), "a\u{FFFD}b");
        assert_eq!(description.encode(), bytes);
    }
}
