//! OpenSM's prefix-routes file: which router port of this subnet leads to which other subnet.
//!
//! Each line holds a prefix and the GUID of a router's port, hexadecimal with or without `0x`, or `*` for any:
//! ```text
//! # prefix          router port
//! fec0000000000002  0x0002c90300a1b2c1
//! *                 *
//! ```
//! A `#` starts a comment. The first line whose prefix matches decides. Source: the section PREFIX ROUTES of opensm(8),
//! and OpenSM 3.3.23 itself where the two differ: 0 means `*`; a matching line whose router is absent ends the search;
//! and `*` for the router selects the one whose GUID, read as a little-endian number, is the lowest. Three things
//! differ from OpenSM: a line that cannot be parsed is an error, and none is skipped; only a comment may follow the
//! GUID, with or without a blank before it; and a link-local or multicast prefix, which no lookup ever reaches, is an
//! error.

use crate::fabric::format::{Cursor, ReadError, SourceText, decode};
use crate::ids::{GidPrefix, Guid};
use crate::wire::Gid;
use std::cmp::Reverse;

/// One line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrefixRoute {
    /// The destination prefix; none: any.
    pub prefix: Option<GidPrefix>,
    /// The GUID of the router's port; none: the first router.
    pub router: Option<Guid>,
}

/// The lines of a file, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PrefixRoutes {
    routes: Vec<PrefixRoute>,
}

impl PrefixRoutes {
    /// Parses a file; `file` is its name in messages. A file without lines has no routes.
    ///
    /// # Errors
    /// The first line that cannot be parsed.
    pub fn read(bytes: &[u8], file: &str) -> Result<PrefixRoutes, ReadError> {
        let source = SourceText { file, text: decode(bytes, file)? };
        let mut routes = Vec::new();
        for line in source.lines() {
            let mut cursor = Cursor::new(source, line.before('#'));
            if !cursor.blanks() {
                routes.push(route(&mut cursor)?);
            }
        }
        Ok(PrefixRoutes { routes })
    }

    /// The lines, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &PrefixRoute> {
        self.routes.iter()
    }

    /// The router port that OpenSM takes for `*`: its table of routers is sorted by GUID, read as a little-endian
    /// number.
    pub fn first_router<T>(ports: impl Iterator<Item = (Guid, T)>) -> Option<T> {
        ports.max_by_key(|(guid, _)| Reverse(guid.0.swap_bytes())).map(|(_, port)| port)
    }
}

fn route(cursor: &mut Cursor<'_>) -> Result<PrefixRoute, ReadError> {
    let expected = "a subnet prefix of up to 16 hexadecimal digits, or `*`";
    let before = cursor.clone();
    let prefix = any_or_hex(cursor, expected)?.map(GidPrefix);
    let beyond = |prefix: GidPrefix| {
        let gid = Gid { prefix: prefix.0, guid: Guid(0) };
        gid.leaves_its_subnet() && !gid.is_multicast()
    };
    if !prefix.is_none_or(beyond) {
        return Err(before.unexpected("a prefix of another subnet, neither link-local nor multicast"));
    }
    cursor.blanks();
    let router = any_or_hex(cursor, "the GUID of a router's port, up to 16 hexadecimal digits, or `*`")?.map(Guid);
    cursor.finish()?;
    Ok(PrefixRoute { prefix, router })
}

/// `*` or 0 is none; any other number is itself.
fn any_or_hex(cursor: &mut Cursor<'_>, expected: &str) -> Result<Option<u64>, ReadError> {
    let before = cursor.clone();
    let number = if cursor.eat("*") { 0 } else { cursor.hex::<u64>(expected)?.value };
    if !cursor.at_border() {
        return Err(before.unexpected(expected));
    }
    Ok(Some(number).filter(|&number| number != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<PrefixRoute>, String> {
        let routes = PrefixRoutes::read(text.as_bytes(), "routes").map_err(|error| error.to_string())?;
        Ok(routes.iter().copied().collect())
    }

    #[test]
    fn lines_are_read_as_opensm_reads_them() {
        let text = "# all of them\n\nfec0000000000002 0x2c90300a1b2c1\n\t0xFEC0000000000003\t*# the first\n* 12\n0 0\n";
        let route =
            |prefix, router| PrefixRoute { prefix: Option::map(prefix, GidPrefix), router: Option::map(router, Guid) };
        let wanted = [
            route(Some(0xFEC0_0000_0000_0002), Some(0x0002_C903_00A1_B2C1)),
            route(Some(0xFEC0_0000_0000_0003), None),
            route(None, Some(0x12)),
            route(None, None),
        ];
        assert_eq!(read(text).unwrap(), wanted);
        assert_eq!(read("").unwrap(), []);
    }

    #[test]
    fn what_is_not_understood_is_told_with_its_place() {
        for (text, place) in [
            ("* *\nfec0000000000002\n", "routes:2:17"),
            ("fec00000000000021 *", "routes:1:1"),
            ("fec0:: *", "routes:1:1"),
            ("* 12 13", "routes:1:6"),
            ("* host-1", "routes:1:3"),
            ("fe80000000000000 *", "routes:1:1"),
            ("ff12000000000000 *", "routes:1:1"),
            ("** *", "routes:1:1"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(place), "`{text}`: {message}");
        }
    }

    #[test]
    fn the_first_router_is_opensms() {
        let ports = [0x0100_0000_0000_0002, 0x0200_0000_0000_0001, 0x0300_0000_0000_0002].map(Guid);
        let first = |ports: &[Guid]| PrefixRoutes::first_router(ports.iter().map(|&guid| (guid, guid)));
        assert_eq!(first(&ports), Some(ports[1]), "the last byte counts most");
        assert_eq!(first(&[ports[2], ports[0]]), Some(ports[0]));
        assert_eq!(first(&[]), None);
    }
}
