//! A set of ports of one node in 32 bytes.

use crate::ids::PortNum;
use std::fmt;

/// A set of ports, 0 to 255: port p is bit p mod 8 (counted from the lowest) of byte p / 8.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PortMask(pub [u8; 32]);

impl PortMask {
    /// No port.
    pub const EMPTY: PortMask = PortMask([0; 32]);

    /// Whether `port` is in the set.
    pub fn contains(&self, port: PortNum) -> bool {
        self.0[port.index() / 8] >> (port.0 % 8) & 1 == 1
    }

    /// Adds `port`.
    pub fn insert(&mut self, port: PortNum) {
        self.0[port.index() / 8] |= 1 << (port.0 % 8);
    }

    /// Takes `port` out.
    pub fn remove(&mut self, port: PortNum) {
        self.0[port.index() / 8] &= !(1 << (port.0 % 8));
    }

    /// Whether it has no port.
    pub fn is_empty(&self) -> bool {
        *self == PortMask::EMPTY
    }

    /// Whether every port of `self` is in `other`.
    pub fn is_subset(&self, other: &PortMask) -> bool {
        self.0.iter().zip(&other.0).all(|(own, others)| own & !others == 0)
    }

    /// The ports in rising order.
    pub fn iter(&self) -> impl Iterator<Item = PortNum> {
        let some = (0u8..).zip(&self.0).filter(|&(_, &byte)| byte != 0);
        let bits = |byte: u8| (0..8).filter(move |bit| byte >> bit & 1 == 1);
        some.flat_map(move |(at, &byte)| bits(byte).map(move |bit| PortNum(8 * at + bit)))
    }
}

impl FromIterator<PortNum> for PortMask {
    fn from_iter<I: IntoIterator<Item = PortNum>>(ports: I) -> PortMask {
        let mut mask = PortMask::EMPTY;
        ports.into_iter().for_each(|port| mask.insert(port));
        mask
    }
}

impl fmt::Debug for PortMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|port| port.0)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_go_in_and_out() {
        let ports = [0, 7, 8, 36, 255].map(PortNum);
        let mut mask: PortMask = ports.into_iter().collect();
        assert_eq!((mask.0[0], mask.0[1], mask.0[4], mask.0[31]), (0x81, 0x01, 0x10, 0x80));
        assert_eq!(mask.iter().collect::<Vec<_>>(), ports);
        mask.remove(PortNum(7));
        assert!(!mask.contains(PortNum(7)) && mask.contains(PortNum(8)));
        assert!(mask.is_subset(&ports.into_iter().collect()));
        assert!(!ports.into_iter().collect::<PortMask>().is_subset(&mask));
        assert!(PortMask::EMPTY.is_empty() && !mask.is_empty());
    }
}
