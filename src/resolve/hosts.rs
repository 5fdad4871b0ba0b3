//! ibacm's file of addresses (`ibacm_hosts.data`): in each line an IP address or a name, and the GID of its port.
//!
//! ```text
//! # address     GID
//! 10.2.0.9      fec0::2:8:f104:39a:169
//! storage-1     fec0::2:8:f104:39a:169
//! ```
//! A `#` starts a comment. A line that cannot be read is an error, where ibacm skips it, and so is an address that has
//! two GIDs.

use crate::fabric::format::{Cursor, ReadError, SourceText, decode};
use crate::wire::Gid;
use std::net::IpAddr;

/// The lines of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostsFile {
    lines: Vec<(HostName, Gid)>,
}

/// An address as a file has it.
#[derive(Clone, PartialEq, Eq, Debug)]
enum HostName {
    Ip(IpAddr),
    Name(String),
}

impl HostName {
    fn of(text: &str) -> HostName {
        text.parse().map_or_else(|_| HostName::Name(text.to_string()), HostName::Ip)
    }
}

impl HostsFile {
    /// Reads a file; `file` is its name in messages.
    ///
    /// # Errors
    /// The first line that cannot be read, or that gives an address a second GID.
    pub fn read(bytes: &[u8], file: &str) -> Result<HostsFile, ReadError> {
        let source = SourceText { file, text: decode(bytes, file)? };
        let mut lines: Vec<(HostName, Gid)> = Vec::new();
        for line in source.lines() {
            let mut cursor = Cursor::new(source, line.before('#'));
            if cursor.blanks() {
                continue;
            }
            let before = cursor.clone();
            let host = HostName::of(word(&mut cursor, "an IP address or a name")?);
            cursor.blanks();
            let expected = "a GID, 128 bits written as an IPv6 address";
            let at_gid = cursor.clone();
            let gid: Gid = word(&mut cursor, expected)?.parse().map_err(|_| at_gid.unexpected(expected))?;
            cursor.finish()?;
            match lines.iter().find(|(known, _)| *known == host) {
                Some((_, known)) if *known != gid => {
                    return Err(before.unexpected(&format!("another address: this one has the GID {known} already")));
                }
                Some(_) => {}
                None => lines.push((host, gid)),
            }
        }
        Ok(HostsFile { lines })
    }

    /// The GID of an address or name.
    pub fn gid(&self, name: &str) -> Option<Gid> {
        let wanted = HostName::of(name);
        self.lines.iter().find(|(host, _)| *host == wanted).map(|&(_, gid)| gid)
    }
}

/// The text before the next blank.
fn word<'a>(cursor: &mut Cursor<'a>, expected: &str) -> Result<&'a str, ReadError> {
    let rest = cursor.rest();
    let word = rest.split(char::is_whitespace).next().filter(|word| !word.is_empty());
    let word = word.ok_or_else(|| cursor.unexpected(expected))?;
    cursor.skip(word.len());
    Ok(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_compared_as_numbers_and_names_as_texts() {
        let text = "# all\n10.2.0.9 fec0::2:8:f104:39a:169 # far\n\nfd00::0:1\tfec0::1\nstorage-1 fec0::3\n";
        let file = HostsFile::read(text.as_bytes(), "hosts").unwrap();
        assert_eq!(file.gid("10.2.0.9"), "fec0::2:8:f104:39a:169".parse().ok());
        assert_eq!((file.gid("fd00::1"), file.gid("storage-1")), ("fec0::1".parse().ok(), "fec0::3".parse().ok()));
        assert_eq!((file.gid("storage-2"), file.gid("10.2.0.8")), (None, None));
    }

    #[test]
    fn what_is_not_understood_is_told_with_its_place() {
        for (text, place) in [
            ("10.2.0.9\n", "hosts:1:9"),
            ("a fec0::1\nb 10.0.0.1\n", "hosts:2:3"),
            ("a fec0::1 more\n", "hosts:1:11"),
            ("a fec0::1\na fec0::2\n", "hosts:2:1"),
        ] {
            let message = HostsFile::read(text.as_bytes(), "hosts").unwrap_err().to_string();
            assert!(message.contains(place), "`{text}`: {message}");
        }
    }
}
