//! From the address of a host to a path and a connection, as a host does it that may be in another subnet.
//!
//! On entry a destination, IP address or GID, and the IPoIB interfaces of this host; [`choose`] determines the source
//! of the destination's GID: the neighbour table where the destination's IP subnet is adjacent, ibacm where it is not,
//! the caller where the destination is a GID. [`HostsFile`] is ibacm's file of addresses. [`ask`] fetches the path from
//! subnet administration. [`request_along`] and [`completed`] are the treatment by the two sides of a connection of the
//! LIDs in its request, which have no meaning across a router. Source: Bloch, Liss, "InfiniBand Router Premier", 12th
//! OpenFabrics Workshop 2016 (seed 004). Deliberately omitted: ARP itself, caches, the reply and what follows it.

mod connection;
mod hosts;
mod query;

pub use connection::{Completion, GlobalPath, ReplyPath, completed, reply_path, request_along};
pub use hosts::HostsFile;
pub use query::{ClientPort, QueryError, ask, own_port};

use crate::wire::Gid;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The port to reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// By IP address (AF_INET, AF_INET6).
    Ip(IpAddr),
    /// By GID (AF_IB).
    Ib(Gid),
}

/// An IPoIB interface of this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its address.
    pub address: IpAddr,
    /// Bits of the address that all hosts of its IP subnet share.
    pub prefix_length: u8,
}

/// A text that is no interface.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no interface: expected an IP address and the length of its prefix, such as 192.168.1.3/24")]
pub struct InterfaceError(String);

/// The source of a destination's GID.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Resolver {
    /// The neighbour table (ARP, neighbour discovery): the hardware address of IPoIB ends with the GID.
    Neighbour,
    /// The daemon ibacm: in the neighbour table is the next IP router, not the destination.
    Ibacm,
    /// The caller: the destination is a GID.
    Caller,
}

/// The way in which a destination is resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resolution {
    /// The source of its GID.
    pub by: Resolver,
    /// The interface that the source's GID is taken from; none: the caller must name the source.
    pub interface: Option<Interface>,
}

impl fmt::Display for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Resolver::Neighbour => "neighbour",
            Resolver::Ibacm => "ibacm",
            Resolver::Caller => "caller",
        })
    }
}

impl Interface {
    /// Returns whether an address is in the interface's IP subnet.
    pub fn is_adjacent(self, to: IpAddr) -> bool {
        let same = |own: u128, other: u128, bits: u32| {
            let apart = bits - u32::from(self.prefix_length).min(bits);
            own.checked_shr(apart).unwrap_or(0) == other.checked_shr(apart).unwrap_or(0)
        };
        match (self.address, to) {
            (IpAddr::V4(own), IpAddr::V4(to)) => same(own.to_bits().into(), to.to_bits().into(), 32),
            (IpAddr::V6(own), IpAddr::V6(to)) => same(own.to_bits(), to.to_bits(), 128),
            _ => false,
        }
    }
}

impl FromStr for Interface {
    type Err = InterfaceError;

    fn from_str(text: &str) -> Result<Interface, InterfaceError> {
        let read = || {
            let (address, length) = text.split_once('/')?;
            let address: IpAddr = address.parse().ok()?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            let prefix_length = length.parse().ok().filter(|&length| length <= most)?;
            Some(Interface { address, prefix_length })
        };
        read().ok_or_else(|| InterfaceError(text.to_string()))
    }
}

/// Chooses the source of a destination's GID, and the interface: the adjacent one with the longest prefix. If none is
/// adjacent, it is the first of the destination's family, as with a default route. The prefix of a GID chooses no
/// interface: beyond a router lie subnets to which no port of this host belongs.
pub fn choose(destination: Destination, interfaces: &[Interface]) -> Resolution {
    let Destination::Ip(to) = destination else { return Resolution { by: Resolver::Caller, interface: None } };
    let adjacent = interfaces.iter().filter(|own| own.is_adjacent(to));
    match adjacent.max_by_key(|own| own.prefix_length) {
        Some(&own) => Resolution { by: Resolver::Neighbour, interface: Some(own) },
        None => {
            let first = interfaces.iter().find(|own| own.address.is_ipv4() == to.is_ipv4());
            Resolution { by: Resolver::Ibacm, interface: first.copied() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interfaces(texts: &[&str]) -> Vec<Interface> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn adjacency_by_prefix_decides_who_is_asked() {
        let own = interfaces(&["10.1.0.5/16", "10.1.2.5/24", "fd00:1::5/64"]);
        let by = |to: &str| choose(Destination::Ip(to.parse().unwrap()), &own);
        assert_eq!(by("10.1.9.9"), Resolution { by: Resolver::Neighbour, interface: Some(own[0]) });
        assert_eq!(by("10.1.2.9"), Resolution { by: Resolver::Neighbour, interface: Some(own[1]) });
        assert_eq!(by("10.2.2.9"), Resolution { by: Resolver::Ibacm, interface: Some(own[0]) });
        assert_eq!(by("fd00:1::9"), Resolution { by: Resolver::Neighbour, interface: Some(own[2]) });
        assert_eq!(by("fd00:2::9"), Resolution { by: Resolver::Ibacm, interface: Some(own[2]) });
        let gid = "fec0::2:8:f104:39a:169".parse().unwrap();
        assert_eq!(choose(Destination::Ib(gid), &own), Resolution { by: Resolver::Caller, interface: None });
        let all = interfaces(&["0.0.0.0/0", "::/0"]);
        assert!(all[0].is_adjacent("1.2.3.4".parse().unwrap()) && all[1].is_adjacent("1::".parse().unwrap()));
        assert!(!all[0].is_adjacent("1::".parse().unwrap()));
    }

    #[test]
    fn what_is_no_interface_is_refused() {
        for text in ["10.1.0.5", "10.1.0.5/33", "fd00::1/129", "host/24", "10.1.0.5/-1", ""] {
            assert!(text.parse::<Interface>().unwrap_err().to_string().contains("192.168.1.3/24"), "{text}");
        }
    }
}
