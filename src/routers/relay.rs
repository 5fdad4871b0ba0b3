//! The forwarding of a packet that has arrived at a port of a router.
//!
//! The rules, in order (chapter 19; the order of checks is ours): a packet without a way on is discarded, and so is one
//! whose hop limit is below 2; the hop limit is decremented; traffic class and flow label stay; partitions are checked
//! on entry and on exit where a port enforces them; the level comes from [`Levels`]. Of several ways on, the flow label
//! picks one, so that packets that belong together stay on one way, and in order for (in port, out port, SL).

use super::{Levels, Onward, Routes};
use crate::ids::{GidPrefix, Guid, PKey, SubnetId};

/// The global route header as far as routers look at it (section 8.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grh {
    /// Traffic class.
    pub traffic_class: u8,
    /// Flow label, 20 bits: packets with equal ones keep their order.
    pub flow_label: u32,
    /// The number of links between subnets, the first included, that it may still take.
    pub hop_limit: u8,
    /// Prefix of the source.
    pub source_prefix: GidPrefix,
    /// GUID of the source's port.
    pub source_guid: Guid,
    /// Prefix of the destination.
    pub destination_prefix: GidPrefix,
    /// GUID of the destination's port.
    pub destination_guid: Guid,
}

/// Partitions that a port enforces; none: everything passes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Enforcement {
    /// Keys of what may come in by the port.
    pub inbound: Option<Vec<PKey>>,
    /// Keys of what may go out by it.
    pub outbound: Option<Vec<PKey>>,
}

impl Enforcement {
    fn admits(keys: Option<&Vec<PKey>>, key: PKey) -> bool {
        keys.is_none_or(|keys| key.is_among(keys))
    }
}

/// A packet that has come to a router.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Its global route header.
    pub grh: &'a Grh,
    /// Rank of its service level in its half.
    pub level: u8,
    /// The subnet that it comes from.
    pub from: SubnetId,
    /// The ways between subnets, which order them.
    pub routes: &'a Routes,
    /// Its partition.
    pub p_key: PKey,
    /// The enforcement of the port of arrival.
    pub enforcement: &'a Enforcement,
    /// The number of the router, so that consecutive routers choose independently.
    pub salt: u32,
}

/// A packet that is forwarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forwarded {
    /// The way on.
    pub onward: Onward,
    /// Rank of its service level in the half that the next subnet is on.
    pub level: u8,
    /// The hop limit that is left.
    pub hop_limit: u8,
    /// Picks one of several paths in the next subnet: the remaining choice by the flow label.
    pub path: u32,
}

/// Why a router discards a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Discard {
    /// No router leads to its destination's subnet.
    NoRoute,
    /// Its hop limit is below 2.
    HopLimit,
    /// Its partition may not come in, or not go out.
    Partition,
    /// It has crossed as many routers as there are layers for.
    Layers,
    /// It is addressed to the router itself.
    Unaddressed,
}

impl Discard {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Discard::NoRoute => "no-route",
            Discard::HopLimit => "hop-limit",
            Discard::Partition => "partition",
            Discard::Layers => "layers",
            Discard::Unaddressed => "unaddressed",
        }
    }
}

/// A number for choices by flow label: the same for equal labels, and independent between different salts.
pub fn mixed(flow_label: u32, salt: u32) -> u32 {
    // The finaliser of MurmurHash3 (public domain): every bit of the input moves every bit of the outcome.
    let mut word = flow_label ^ salt.wrapping_mul(0x9E37_79B1);
    word = (word ^ word >> 16).wrapping_mul(0x85EB_CA6B);
    word = (word ^ word >> 13).wrapping_mul(0xC2B2_AE35);
    word ^ word >> 16
}

/// Forwards a packet as a router does. `ways` are its ways on to the destination's subnet, `enforces` the enforcement
/// of each port.
///
/// # Errors
/// The reason for which the packet is discarded.
pub fn relay<'a>(
    arrival: &Arrival<'_>,
    ways: &[Onward],
    levels: Levels,
    enforces: impl Fn(Onward) -> &'a Enforcement,
) -> Result<Forwarded, Discard> {
    let grh = arrival.grh;
    let count = u32::try_from(ways.len()).ok().filter(|&count| count > 0).ok_or(Discard::NoRoute)?;
    if grh.hop_limit < 2 {
        return Err(Discard::HopLimit);
    }
    let choice = mixed(grh.flow_label, arrival.salt);
    let onward = ways[(choice % count) as usize];
    let inbound = Enforcement::admits(arrival.enforcement.inbound.as_ref(), arrival.p_key);
    let outbound = Enforcement::admits(enforces(onward).outbound.as_ref(), arrival.p_key);
    if !inbound || !outbound {
        return Err(Discard::Partition);
    }
    let falls = arrival.routes.falls(arrival.from, onward.out.subnet);
    let level = levels.crossing(grh.traffic_class, arrival.level, falls).ok_or(Discard::Layers)?;
    // The remainder chose the way, so the quotient is left for the path.
    Ok(Forwarded { onward, level, hop_limit: grh.hop_limit - 1, path: choice / count })
}
