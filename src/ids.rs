//! Identifiers of the InfiniBand architecture, each a type of its own, so that no bare integer crosses a module.
//!
//! Holds on construction: a [`Lid`] is any 16-bit value (the wire carries all of them; [`Lid::is_unicast`]
//! distinguishes them), a [`Vl`], [`Sl`] is below 16, an [`Lmc`] below 8. Deliberately omitted: arithmetic beyond what
//! the protocol needs. Source: InfiniBand Architecture Specification, volume 1, chapters 3, 4 and 7.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A 64-bit globally unique identifier of a node, a port or a system image.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Guid(pub u64);

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:016x}", self.0)
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Guid> for String {
    fn from(guid: Guid) -> String {
        guid.to_string()
    }
}

/// A text that is no GUID: neither `0x` and hexadecimal digits nor bare hexadecimal digits, or more than 16 of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no GUID: expected up to 16 hexadecimal digits, with or without `0x`")]
pub struct GuidError(pub String);

impl FromStr for Guid {
    type Err = GuidError;

    fn from_str(text: &str) -> Result<Guid, GuidError> {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        let plausible = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
        plausible
            .then(|| u64::from_str_radix(digits, 16).ok())
            .flatten()
            .map(Guid)
            .ok_or_else(|| GuidError(text.to_string()))
    }
}

impl TryFrom<String> for Guid {
    type Error = GuidError;

    fn try_from(text: String) -> Result<Guid, GuidError> {
        text.parse()
    }
}

/// A subnet's rank among those of a fabric of several.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct SubnetId(pub u16);

impl SubnetId {
    /// The rank as a `usize`.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A subnet's prefix: the upper half of the GIDs of its ports (section 4.1.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct GidPrefix(pub u64);

impl GidPrefix {
    /// `fe80::/64`, of a subnet that was given no other: no router passes on what is addressed to it.
    pub const LINK_LOCAL: GidPrefix = GidPrefix(0xFE80_0000_0000_0000);

    /// `fec0:0:0:rank/64`: prefixes for subnets that were given none.
    pub const fn site_local(rank: u16) -> GidPrefix {
        GidPrefix(0xFEC0_0000_0000_0000 | rank as u64)
    }
}

impl Default for GidPrefix {
    fn default() -> GidPrefix {
        GidPrefix::LINK_LOCAL
    }
}

impl fmt::Display for GidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:016x}", self.0)
    }
}

impl fmt::Debug for GidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<GidPrefix> for String {
    fn from(prefix: GidPrefix) -> String {
        prefix.to_string()
    }
}

impl TryFrom<String> for GidPrefix {
    type Error = String;

    fn try_from(text: String) -> Result<GidPrefix, String> {
        let expected =
            || format!("`{text}` is no subnet prefix: expected up to 16 hexadecimal digits, as 0xfec0000000000001");
        text.parse::<Guid>().map(|guid| GidPrefix(guid.0)).map_err(|_| expected())
    }
}

/// A partition key: the lower 15 bits name the partition, the highest says full member (section 10.9.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct PKey(pub u16);

impl PKey {
    /// The partition that everybody is a full member of, unless an administrator says otherwise.
    pub const DEFAULT: PKey = PKey(0xFFFF);

    /// The bit of full members.
    pub const FULL: u16 = 0x8000;

    /// The partition that it names: its lower 15 bits, which are 0 in an unused entry of a table.
    pub const fn partition(self) -> u16 {
        self.0 & !PKey::FULL
    }

    /// Whether holders of two keys may speak with each other: one partition, and one of them a full member.
    pub const fn matches(self, other: PKey) -> bool {
        self.partition() == other.partition() && (self.0 | other.0) & PKey::FULL != 0
    }

    /// The key of packets from the holder of some keys to the holder of others: the first of its own, in the order of
    /// its table, that one of the others matches.
    pub fn shared(own: &[PKey], others: &[PKey]) -> Option<PKey> {
        own.iter().copied().find(|key| key.is_among(others))
    }

    /// Whether one of these matches it.
    pub fn is_among(self, others: &[PKey]) -> bool {
        others.iter().any(|other| self.matches(*other))
    }
}

impl fmt::Display for PKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}", self.0)
    }
}

impl Default for PKey {
    fn default() -> PKey {
        PKey::DEFAULT
    }
}

/// A 16-bit local identifier: unicast 0x0001–0xBFFF, multicast 0xC000–0xFFFE, permissive 0xFFFF, reserved 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Lid(pub u16);

impl Lid {
    /// The largest unicast LID.
    pub const MAX_UNICAST: Lid = Lid(0xBFFF);
    /// The first multicast LID.
    pub const FIRST_MULTICAST: Lid = Lid(0xC000);
    /// The LID of directed routes that begin or end without one.
    pub const PERMISSIVE: Lid = Lid(0xFFFF);

    /// Whether this LID can name an end port.
    #[inline]
    pub fn is_unicast(self) -> bool {
        (1..=Lid::MAX_UNICAST.0).contains(&self.0)
    }

    /// This LID as an index.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for Lid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for Lid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lid {}", self.0)
    }
}

/// A value outside the range of its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {value} is out of range: at most {most}")]
pub struct OutOfRange {
    /// The field.
    pub what: &'static str,
    /// The value given.
    pub value: u32,
    /// The largest value allowed.
    pub most: u32,
}

macro_rules! small_number {
    ($(#[$doc:meta])* $name:ident, $what:literal, $most:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(try_from = "u8", into = "u8")]
        pub struct $name(u8);

        impl $name {
            /// The largest value.
            pub const MAX: $name = $name($most);

            /// The value, where it is in range.
            pub fn new(value: u8) -> Option<$name> {
                (value <= $most).then_some($name(value))
            }

            /// The low bits of `value` that the field has.
            #[inline]
            pub const fn masked(value: u8) -> $name {
                $name(value & $most)
            }

            /// Every value in rising order.
            pub fn all() -> impl Iterator<Item = $name> {
                (0..=$most).map($name)
            }

            /// The bare number.
            #[inline]
            pub const fn get(self) -> u8 {
                self.0
            }

            /// The number as an index.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl TryFrom<u8> for $name {
            type Error = OutOfRange;

            fn try_from(value: u8) -> Result<$name, OutOfRange> {
                $name::new(value).ok_or(OutOfRange { what: $what, value: value.into(), most: $most })
            }
        }

        impl From<$name> for u8 {
            fn from(value: $name) -> u8 {
                value.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($what, " {}"), self.0)
            }
        }
    };
}

small_number!(
    /// A virtual lane: data on 0–14, management on 15.
    Vl, "VL", 15
);
small_number!(
    /// A service level, 0–15.
    Sl, "SL", 15
);
small_number!(
    /// The LID mask control: an end port owns 2^LMC consecutive LIDs.
    Lmc, "LMC", 7
);

impl Vl {
    /// The lane of management packets.
    pub const MANAGEMENT: Vl = Vl(15);
}

impl Lmc {
    /// How many LIDs a port with this LMC owns.
    pub const fn lids(self) -> u16 {
        1 << self.0
    }
}

/// A port's number on its node: 0 is a switch's management port, external ports count from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct PortNum(pub u8);

impl PortNum {
    /// A switch's own management port.
    pub const ZERO: PortNum = PortNum(0);
    /// In forwarding tables: no route; packets are discarded.
    pub const NO_ROUTE: PortNum = PortNum(255);

    /// The number as an index.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for PortNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for PortNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {}", self.0)
    }
}

/// One half of an end port's LIDs and of the service levels (docs/GLOSSARY.md, *half*).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Half {
    /// The lower 2^(LMC−1) LIDs; SL 0–7.
    #[default]
    Lower,
    /// The upper 2^(LMC−1) LIDs; SL 8–15.
    Upper,
}

impl Half {
    /// The other half.
    #[inline]
    pub fn other(self) -> Half {
        match self {
            Half::Lower => Half::Upper,
            Half::Upper => Half::Lower,
        }
    }

    /// 0 for the lower, 1 for the upper half.
    #[inline]
    pub fn index(self) -> usize {
        match self {
            Half::Lower => 0,
            Half::Upper => 1,
        }
    }

    /// The half that a service level belongs to.
    #[inline]
    pub fn of_sl(sl: Sl) -> Half {
        if sl.0 < 8 { Half::Lower } else { Half::Upper }
    }

    /// The rank of a service level in its half, 0 to 7: virtual layer l takes the one of rank l.
    #[inline]
    pub fn rank(sl: Sl) -> usize {
        usize::from(sl.0 % 8)
    }

    /// The service level of a virtual layer, 0 to 7, in this half.
    #[inline]
    pub fn sl_of(self, layer: u8) -> Sl {
        assert!(layer < 8, "a half has eight service levels");
        Sl(8 * self.index() as u8 + layer % 8)
    }

    /// The service levels of this half, in rising order.
    pub fn sls(self) -> impl Iterator<Item = Sl> {
        let first = 8 * self.index() as u8;
        (first..first + 8).map(Sl)
    }
}

impl fmt::Display for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Half::Lower => "lower",
            Half::Upper => "upper",
        })
    }
}

/// What names a port in every fabric, whose indices differ: the GUID of its node, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PortName {
    /// The GUID of the node.
    pub guid: Guid,
    /// The number of the port.
    pub num: PortNum,
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.guid, self.num)
    }
}

/// A service level that is of neither half, and the data lane that it has to itself (docs/PROTOCOL.md, section K).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReservedLevel {
    /// The service level of multicast and of management to and from switches.
    pub sl: Sl,
    /// Its lane, which no other service level takes.
    pub vl: Vl,
}

/// A set of virtual lanes, as a mask: bit v stands for VL v.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct VlSet(pub u16);

impl VlSet {
    /// No lane.
    pub const EMPTY: VlSet = VlSet(0);

    /// The first `count` data lanes, VL 0 to VL `count` − 1 (at most 15).
    pub fn first(count: u8) -> VlSet {
        assert!(count <= 15, "{count} data VLs: InfiniBand has 15 at most");
        VlSet(((1u32 << count) - 1) as u16)
    }

    /// Whether `vl` is in the set.
    #[inline]
    pub fn contains(self, vl: Vl) -> bool {
        self.0 >> vl.0 & 1 == 1
    }

    /// How many lanes it has.
    #[inline]
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether it has none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The lanes of `self` that are not in `other`.
    #[inline]
    pub fn minus(self, other: VlSet) -> VlSet {
        VlSet(self.0 & !other.0)
    }

    /// The lanes in rising order.
    pub fn iter(self) -> impl Iterator<Item = Vl> {
        (0..16).map(Vl).filter(move |&vl| self.contains(vl))
    }
}

impl FromIterator<Vl> for VlSet {
    fn from_iter<I: IntoIterator<Item = Vl>>(lanes: I) -> VlSet {
        VlSet(lanes.into_iter().fold(0, |mask, vl| mask | 1 << vl.0))
    }
}

impl fmt::Display for VlSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, vl) in self.iter().enumerate() {
            write!(f, "{}{vl}", if i == 0 { "" } else { "," })?;
        }
        f.write_str("}")
    }
}

impl fmt::Debug for VlSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VLs {self}")
    }
}

/// A set of ports, 0 to 255: port p is bit p mod 8 (counted from the lowest) of byte p / 8.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PortMask(pub [u8; 32]);

impl PortMask {
    /// No port.
    pub const EMPTY: PortMask = PortMask([0; 32]);

    /// Whether `port` is in the set.
    #[inline]
    pub fn contains(&self, port: PortNum) -> bool {
        self.0[port.index() / 8] >> (port.0 % 8) & 1 == 1
    }

    /// Adds `port`.
    #[inline]
    pub fn insert(&mut self, port: PortNum) {
        self.0[port.index() / 8] |= 1 << (port.0 % 8);
    }

    /// Takes `port` out.
    pub fn remove(&mut self, port: PortNum) {
        self.0[port.index() / 8] &= !(1 << (port.0 % 8));
    }

    /// Whether it has no port.
    #[inline]
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
