//! Global identifiers (section 4.1.1): the subnet's prefix and the port's GUID, 128 bits, written like an IPv6 address.

use super::format::Field;
use crate::ids::Guid;
use std::fmt;

/// A unicast GID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Gid {
    /// The subnet's prefix, [`Gid::DEFAULT_PREFIX`] unless an administrator chose another.
    pub prefix: u64,
    /// The port.
    pub guid: Guid,
}

impl Gid {
    /// The link-local prefix, `fe80::/64`.
    pub const DEFAULT_PREFIX: u64 = 0xFE80_0000_0000_0000;
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = u128::from(self.prefix) << 64 | u128::from(self.guid.0);
        f.pad(&std::net::Ipv6Addr::from_bits(bits).to_string())
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
