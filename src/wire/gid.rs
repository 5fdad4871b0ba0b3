//! Global identifiers (section 4.1.1): the subnet's prefix and the port's GUID, 128 bits, written like an IPv6 address.

use super::format::Field;
use crate::ids::{GidPrefix, Guid};
use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// A GID: of a port, or of a multicast group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Gid {
    /// The subnet's prefix, [`Gid::DEFAULT_PREFIX`] unless an administrator chose another.
    pub prefix: u64,
    /// The port.
    pub guid: Guid,
}

impl Gid {
    /// The link-local prefix, `fe80::/64`.
    pub const DEFAULT_PREFIX: u64 = GidPrefix::LINK_LOCAL.0;

    /// The prefix of its subnet.
    pub fn prefix(self) -> GidPrefix {
        GidPrefix(self.prefix)
    }

    /// Returns whether a router may forward packets addressed to it: not where its scope ends with the subnet
    /// (`fe80::/10`, section 4.1.1).
    pub fn leaves_its_subnet(self) -> bool {
        self.prefix >> 54 != Gid::DEFAULT_PREFIX >> 54
    }

    /// Returns whether it names a group of ports (`ff00::/8`).
    pub fn is_multicast(self) -> bool {
        self.prefix >> 56 == 0xFF
    }
}

/// A text that is no GID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no GID: expected 128 bits written as an IPv6 address, such as fe80::8:f104:39a:169")]
pub struct GidError(String);

impl FromStr for Gid {
    type Err = GidError;

    fn from_str(text: &str) -> Result<Gid, GidError> {
        let bits = text.parse::<Ipv6Addr>().map_err(|_| GidError(text.to_string()))?.to_bits();
        Ok(Gid { prefix: (bits >> 64) as u64, guid: Guid(bits as u64) })
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = u128::from(self.prefix) << 64 | u128::from(self.guid.0);
        f.pad(&Ipv6Addr::from_bits(bits).to_string())
    }
}

impl Field for Gid {
    fn read(data: &[u8], offset: usize, width: usize) -> Gid {
        assert_eq!(width, 128);
        Gid { prefix: u64::read(data, offset, 64), guid: Guid::read(data, offset + 64, 64) }
    }

    fn write(&self, data: &mut [u8], offset: usize, width: usize) {
        assert_eq!(width, 128);
        self.prefix.write(data, offset, 64);
        self.guid.write(data, offset + 64, 64);
    }
}
