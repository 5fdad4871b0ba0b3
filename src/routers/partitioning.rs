//! Partitions between subnets: the pairs of hosts that may communicate, and the enforcement by ports of routers.
//!
//! A packet carries a P_Key of its sender's table, and no router changes it: a partition that spans subnets has one key
//! in all of them. OpenSM's `part_enforce` selects the direction in which ports of switches that face end ports enforce
//! it; here the same words apply to ports of routers, each of which enforces its own table.

use super::Enforcement;
use crate::fabric::PortId;
use crate::fabric::subnets::partitions::KeyTables;
use crate::fabric::subnets::{SubnetPort, Subnets};
use crate::ids::PKey;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The direction in which router ports enforce partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartEnforce {
    /// On packets that enter and on packets that leave.
    Both,
    /// On packets that enter.
    In,
    /// On packets that leave.
    Out,
    /// Not at all.
    Off,
}

impl PartEnforce {
    /// Every way.
    pub const ALL: [PartEnforce; 4] = [PartEnforce::Both, PartEnforce::In, PartEnforce::Out, PartEnforce::Off];

    /// The name by which a command line calls it, which is OpenSM's.
    pub fn name(self) -> &'static str {
        match self {
            PartEnforce::Both => "both",
            PartEnforce::In => "in",
            PartEnforce::Out => "out",
            PartEnforce::Off => "off",
        }
    }

    fn looks_in(self) -> bool {
        matches!(self, PartEnforce::Both | PartEnforce::In)
    }

    fn looks_out(self) -> bool {
        matches!(self, PartEnforce::Both | PartEnforce::Out)
    }
}

impl fmt::Display for PartEnforce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PartEnforce {
    type Err = String;

    fn from_str(text: &str) -> Result<PartEnforce, String> {
        let unknown = || format!("`{text}` is no way to enforce partitions: expected both, in, out or off");
        PartEnforce::ALL.into_iter().find(|own| own.name() == text).ok_or_else(unknown)
    }
}

/// The partitions of several subnets, and how ports of routers enforce them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partitioning {
    /// Everybody's keys.
    pub keys: KeyTables,
    /// The direction in which router ports enforce partitions.
    pub enforce: PartEnforce,
}

impl Partitioning {
    /// The enforcement that is requested, or both ways where the subnets have partitions; none without either. The
    /// subnet managers run at these ports.
    ///
    /// Panics where there are not as many managers as subnets.
    pub fn of(subnets: &Subnets, managers: &[Option<PortId>], asked: Option<PartEnforce>) -> Option<Partitioning> {
        let spoken_of = asked.or(subnets.has_partitions().then_some(PartEnforce::Both));
        spoken_of.map(|enforce| Partitioning { keys: KeyTables::of(subnets, managers), enforce })
    }

    /// Returns whether a router's port lets a key come in.
    pub fn admits_in(&self, at: SubnetPort, key: PKey) -> bool {
        !self.enforce.looks_in() || key.is_among(self.keys.keys(at))
    }

    /// Returns whether a router's port lets a key go out.
    pub fn admits_out(&self, at: SubnetPort, key: PKey) -> bool {
        !self.enforce.looks_out() || key.is_among(self.keys.keys(at))
    }

    /// The enforcement of a router port.
    pub fn enforcement(&self, at: SubnetPort) -> Enforcement {
        let keys = |enforced: bool| enforced.then(|| self.keys.keys(at).to_vec());
        Enforcement { inbound: keys(self.enforce.looks_in()), outbound: keys(self.enforce.looks_out()) }
    }
}
