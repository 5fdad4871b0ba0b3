//! What subnet administration knows of other subnets: which of this subnet's router ports lead to which prefix.
//!
//! A value, set with the [`DirectoryFacts`](super::Facts) of a directory. It names router ports by GUID, so that it
//! outlives sweeps and changes; a port that is not in the directory leads nowhere. Rules are tried in order, and the
//! first whose prefix fits decides, whether or not a router of it is present, as in OpenSM. There are two kinds of
//! routers. Of those that [`crate::routers`] describes it is known how many are crossed and what becomes of a service
//! level ([`Remote::of_routes`]). Of others, listed by [`PrefixRoutes`], only their presence is known. Lacks on
//! purpose: the inside of other subnets (MTU, rate, ports): a path is described as far as its first router. Source: the
//! specification leaves open how subnet administration learns of it (chapter 19).

use super::PrefixRoutes;
use crate::fabric::subnets::Subnets;
use crate::ids::{GidPrefix, Guid, SubnetId};
use crate::routers::{Levels, Routes};

/// Rules for prefixes of other subnets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remote {
    rules: Vec<RemoteRule>,
}

/// One rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteRule {
    /// The prefix that it is for; none: every one.
    pub prefix: Option<GidPrefix>,
    /// The routers that lead there.
    pub routers: LeadingRouters,
    /// The way beyond them.
    pub beyond: Beyond,
}

/// Routers' ports in this subnet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LeadingRouters {
    /// The one that OpenSM calls the first, whichever that is ([`PrefixRoutes`]).
    First,
    /// These ports; paths are spread over them.
    Ports(Vec<Guid>),
}

/// What is known of the way beyond the first router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beyond {
    /// Routers that use this policy.
    Known {
        /// How many of them are crossed, 1 at least.
        crossings: u8,
        /// What they make of service levels.
        levels: Levels,
    },
    /// Nothing.
    Unknown {
        /// The hop limit to answer with.
        hop_limit: u8,
    },
}

impl Beyond {
    /// PathRecord:HopLimit: the links between subnets that a packet takes at most, the subnets at both ends included.
    /// The last router requires 2, and each router before it takes one.
    pub fn hop_limit(self) -> u8 {
        match self {
            Beyond::Known { crossings, .. } => crossings.saturating_add(1),
            Beyond::Unknown { hop_limit } => hop_limit,
        }
    }

    /// Routers that are known to be crossed.
    pub(super) fn crossings(self) -> u8 {
        match self {
            Beyond::Known { crossings, .. } => crossings,
            Beyond::Unknown { .. } => 0,
        }
    }
}

impl Remote {
    /// There are no other subnets.
    pub fn none() -> Remote {
        Remote::default()
    }

    /// These rules, in this order.
    pub fn new(rules: Vec<RemoteRule>) -> Remote {
        Remote { rules }
    }

    /// What the subnet administration of subnet `home` is to know where `routes` lead between `subnets`, and routers go
    /// by `levels`: a rule for each other subnet that is reached, in the order of subnets, with every first router on a
    /// shortest way.
    pub fn of_routes(subnets: &Subnets, routes: &Routes, home: SubnetId, levels: Levels) -> Remote {
        let rule = |(to, subnet): (SubnetId, &crate::fabric::subnets::Subnet)| {
            let crossings = routes.crossings(home, to).filter(|&crossings| crossings > 0)?;
            let ports = routes.first(home, to).iter().map(|at| subnets.fabric(at.subnet).port_guid(at.port)).collect();
            let beyond = Beyond::Known { crossings, levels };
            Some(RemoteRule { prefix: Some(subnet.prefix), routers: LeadingRouters::Ports(ports), beyond })
        };
        Remote { rules: subnets.subnets().filter_map(rule).collect() }
    }

    /// The rules of a file of prefix routes; `hop_limit` goes into every path, since the length of the way is unknown.
    /// OpenSM's is [`Remote::OPENSM_HOP_LIMIT`].
    pub fn of_prefix_routes(routes: &PrefixRoutes, hop_limit: u8) -> Remote {
        let beyond = Beyond::Unknown { hop_limit };
        let rule = |route: &super::PrefixRoute| {
            let routers = route.router.map_or(LeadingRouters::First, |guid| LeadingRouters::Ports(vec![guid]));
            RemoteRule { prefix: route.prefix, routers, beyond }
        };
        Remote { rules: routes.iter().map(rule).collect() }
    }

    /// The hop limit in OpenSM's answers, the most that the field holds.
    pub const OPENSM_HOP_LIMIT: u8 = 255;

    /// The rules, in order.
    pub fn rules(&self) -> &[RemoteRule] {
        &self.rules
    }

    /// The rule for a prefix of another subnet.
    pub fn rule(&self, prefix: GidPrefix) -> Option<&RemoteRule> {
        self.rules.iter().find(|rule| rule.prefix.is_none_or(|own| own == prefix))
    }
}
