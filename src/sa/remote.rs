//! The routes to other subnets that subnet administration knows: which router ports of this subnet lead to which
//! prefix.
//!
//! A value, part of the [`DirectoryFacts`](super::DirectoryFacts) of a directory. It names router ports by GUID and so
//! outlives sweeps and changes; a port that is not in the directory leads nowhere. Rules are tried in order, and the
//! first whose prefix matches decides, whether or not its routers are present, as in OpenSM. There are two kinds of
//! routers. For those that [`crate::routers`] describes, the number of crossings and the effect on service levels are
//! known ([`Remote::of_routes`]). For others, listed by [`PrefixRoutes`], only their presence is known. Deliberately
//! omitted: the inside of other subnets (MTU, rate, ports); a path is described as far as its first router. Source: the
//! specification leaves open how subnet administration learns of them (chapter 19).

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
    /// The destination prefix; none: any.
    pub prefix: Option<GidPrefix>,
    /// The routers that lead there.
    pub routers: LeadingRouters,
    /// The path beyond them.
    pub beyond: Beyond,
}

/// Router ports in this subnet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LeadingRouters {
    /// The first by OpenSM's order ([`PrefixRoutes`]).
    First,
    /// These ports; paths are spread over them.
    Ports(Vec<Guid>),
}

/// The known properties of the path beyond the first router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beyond {
    /// Known routers follow this policy.
    Known {
        /// Routers crossed, at least 1.
        crossings: u8,
        /// The effect of the routers on service levels.
        levels: Levels,
    },
    /// The path is unknown.
    Unknown {
        /// The hop limit to answer with.
        hop_limit: u8,
    },
}

impl Beyond {
    /// PathRecord:HopLimit: the number of subnets that a packet visits, both ends included. The last router requires 2,
    /// and each router before it decrements the limit.
    pub fn hop_limit(self) -> u8 {
        match self {
            Beyond::Known { crossings, .. } => crossings.saturating_add(1),
            Beyond::Unknown { hop_limit } => hop_limit,
        }
    }

    /// The number of routers that are known to be crossed.
    pub(super) fn crossings(self) -> u8 {
        match self {
            Beyond::Known { crossings, .. } => crossings,
            Beyond::Unknown { .. } => 0,
        }
    }
}

impl Remote {
    /// No other subnets.
    pub fn none() -> Remote {
        Remote::default()
    }

    /// The given rules, in this order.
    pub fn new(rules: Vec<RemoteRule>) -> Remote {
        Remote { rules }
    }

    /// The rules for subnet `home`, from `routes` between `subnets` and the routers' policy `levels`: one for each
    /// other subnet that can be reached, in the order of subnets, with every first router on a shortest path.
    pub fn of_routes(subnets: &Subnets, routes: &Routes, home: SubnetId, levels: Levels) -> Remote {
        let rule = |(to, subnet): (SubnetId, &crate::fabric::subnets::Subnet)| {
            let crossings = routes.crossings(home, to).filter(|&crossings| crossings > 0)?;
            let ports = routes.first(home, to).iter().map(|at| subnets.fabric(at.subnet).port_guid(at.port)).collect();
            let beyond = Beyond::Known { crossings, levels };
            Some(RemoteRule { prefix: Some(subnet.prefix), routers: LeadingRouters::Ports(ports), beyond })
        };
        Remote { rules: subnets.subnets().filter_map(rule).collect() }
    }

    /// The rules of a prefix-routes file. Every path gets `hop_limit`, since the length of the path is unknown; OpenSM
    /// uses [`Remote::OPENSM_HOP_LIMIT`].
    pub fn of_prefix_routes(routes: &PrefixRoutes, hop_limit: u8) -> Remote {
        let beyond = Beyond::Unknown { hop_limit };
        let rule = |route: &super::PrefixRoute| {
            let routers = route.router.map_or(LeadingRouters::First, |guid| LeadingRouters::Ports(vec![guid]));
            RemoteRule { prefix: route.prefix, routers, beyond }
        };
        Remote { rules: routes.iter().map(rule).collect() }
    }

    /// The hop limit in OpenSM's answers: the largest that the field holds.
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
