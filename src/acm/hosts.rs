//! ibacm's file of addresses, `ibacm_hosts.data`: which GID a host name or an IP address has.
//!
//! ```text
//! # address        GID
//! luna3            fec0::2:8:f104:39a:169
//! 192.168.1.3      fec0::2:8:f104:39a:169
//! ```
//! Any number of addresses may have one GID. Otherwise than ibacm: a line that is not understood is an error, and none left
//! out; an address that is given two GIDs is one too, where ibacm takes the last; and a `#` begins a comment anywhere.

use crate::fabric::format::{Cursor, ReadError, SourceText, Span, Spanned, decode};
use crate::wire::Gid;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// What people and programs know a host by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Address {
    /// An IPv4 or IPv6 address.
    Ip(IpAddr),
    /// A host name.
    Name(String),
}

impl Address {
    /// Characters of a host name at most, as ibacm has it.
    pub const LONGEST_NAME: usize = 31;
}

/// A text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address: expected an IP address, or a host name of 1 to 31 visible ASCII characters without `#`")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        if let Ok(ip) = text.parse() {
            return Ok(Address::Ip(ip));
        }
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        let fits = visible && (1..=Address::LONGEST_NAME).contains(&text.len());
        fits.then(|| Address::Name(text.into())).ok_or_else(|| AddressError(text.into()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ip(ip) => ip.fmt(f),
            Address::Name(name) => f.pad(name),
        }
    }
}

/// Addresses and their GIDs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hosts {
    gids: BTreeMap<Address, Gid>,
}

impl Hosts {
    /// Reads a file's bytes; `file` is its name in messages.
    ///
    /// # Errors
    /// The first line that is not understood, or gives an address a second GID.
    pub fn read(bytes: &[u8], file: &str) -> Result<Hosts, ReadError> {
        let source = SourceText { file, text: decode(bytes, file)? };
        let (mut hosts, mut places) = (Hosts::default(), BTreeMap::new());
        for line in source.lines() {
            let mut cursor = Cursor::new(source, line.before('#'));
            if !cursor.blanks() {
                let (address, gid) = entry(&mut cursor)?;
                hosts.enter(source, &mut places, address, gid)?;
            }
        }
        Ok(hosts)
    }

    fn enter(
        &mut self,
        source: SourceText<'_>,
        places: &mut BTreeMap<Address, Span>,
        address: Spanned<Address>,
        gid: Gid,
    ) -> Result<(), ReadError> {
        let before = self.gids.insert(address.value.clone(), gid);
        let place = *places.entry(address.value.clone()).or_insert(address.at);
        match before {
            Some(other) if other != gid => {
                let problem = format!("{} is given {gid}, and before that {other}", address.value);
                Err(source.clash(address.at, problem, "expected one GID for an address", (place, "the first time")))
            }
            _ => Ok(()),
        }
    }

    /// The GID of an address.
    pub fn get(&self, address: &Address) -> Option<Gid> {
        self.gids.get(address).copied()
    }

    /// Every address, IP addresses first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Address, Gid)> {
        self.gids.iter().map(|(address, &gid)| (address, gid))
    }
}

fn entry(cursor: &mut Cursor<'_>) -> Result<(Spanned<Address>, Gid), ReadError> {
    let address = word(cursor, "an IP address, or a host name of up to 31 visible ASCII characters")?;
    cursor.blanks();
    let gid: Spanned<Gid> = word(cursor, "a GID, written as an IPv6 address")?;
    cursor.finish()?;
    Ok((address, gid.value))
}

/// What stands up to the next blank.
fn word<T: FromStr>(cursor: &mut Cursor<'_>, expected: &str) -> Result<Spanned<T>, ReadError> {
    let start = cursor.offset();
    let text = cursor.rest().split([' ', '\t']).next().unwrap_or_default();
    let value = text.parse().map_err(|_| cursor.unexpected(expected))?;
    cursor.skip(text.len());
    Ok(Spanned { value, at: cursor.since(start) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Hosts, String> {
        Hosts::read(text.as_bytes(), "hosts").map_err(|error| error.to_string())
    }

    /// The samples in the file that rdma-core installs.
    #[test]
    fn ibacms_own_samples_are_read() {
        let text = "# Samples:\nluna3 fe80::8:f104:39a:169\n192.168.1.3 fe80::8:f104:39a:169\n\n\
                    fe80::208:f104:39a:169\tfe80::8:f104:39a:169  # the same\n192.168.1.3 fe80::8:f104:39a:169\n";
        let hosts = read(text).unwrap();
        let gid: Gid = "fe80::8:f104:39a:169".parse().unwrap();
        assert_eq!((hosts.iter().len(), hosts.iter().all(|(_, own)| own == gid)), (3, true));
        let known = |text: &str| hosts.get(&text.parse().unwrap());
        assert_eq!([known("luna3"), known("192.168.1.3"), known("fe80::208:f104:39a:169")], [Some(gid); 3]);
        assert_eq!(known("luna4"), None);
    }

    #[test]
    fn what_is_not_understood_is_told_with_its_place() {
        for (text, place) in [
            ("luna3\n", "hosts:1:6"),
            ("# none\nluna3 192.168.1.3\n", "hosts:2:7"),
            ("luna3 fe80::1 fe80::2\n", "hosts:1:15"),
            ("a-name-that-is-longer-than-31-chars fe80::1\n", "hosts:1:1"),
            ("lüna fe80::1\n", "hosts:1:1"),
            ("luna3 fe80::1\nluna3 fe80::2\n", "hosts:2:1"),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.contains(place), "`{text}`: {told}");
        }
    }
}
