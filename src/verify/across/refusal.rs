//! Why subnets and routers together are refused, with the evidence.

use crate::fabric::subnets::{SubnetPort, Subnets};
use crate::ids::{Guid, PortNum, Sl, Vl};
use crate::verify::{Dependency, Refusal};
use serde::Serialize;
use std::fmt;

/// Why subnets joined by routers are not accepted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, thiserror::Error, schemars::JsonSchema)]
#[serde(tag = "kind", content = "evidence", rename_all = "kebab-case")]
pub enum AcrossRefusal {
    /// The input contradicts itself; nothing was judged.
    #[error("several subnets: {0}")]
    Precondition(String),
    /// One subnet cannot be proved by itself.
    #[error("subnet {subnet}: {refusal}")]
    Part {
        /// The subnet.
        subnet: String,
        /// The refusal of that subnet.
        refusal: Refusal,
    },
    /// A routing function that specifies the paths and layers of each source. A router's packets have the level that
    /// the routers' rule gives them.
    #[error(
        "subnet {subnet}: its routing says who sends by which path and on which layer, and packets from routers have the \
         level that routers give them: route it with an engine that leaves every path open to everybody, such as up-down, fully-explicit, fat-tree or min-hop"
    )]
    PathLayers {
        /// The subnet.
        subnet: String,
    },
    /// More moments to distinguish than can be judged: whether there is a cycle depends on which wave of one subnet
    /// meets which of another.
    #[error(
        "too many moments to judge: {changing} subnets change at once, and whether lanes can wait for each other in a cycle \
         through routers depends on which of their waves meet ({searches} graphs were searched without an answer): change fewer \
         at a time, or let routers raise service levels"
    )]
    TooManyMoments {
        /// The number of subnets that change.
        changing: usize,
        /// Graphs that were searched.
        searches: usize,
    },
    /// Lanes can wait for each other in a cycle through routers.
    #[error("{0}")]
    Deadlock(AcrossCycle),
}

/// Lanes of several subnets that can wait for each other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct AcrossCycle {
    /// When it can close: the wave of each subnet that changes; nothing where none does.
    pub moment: Vec<MomentOf>,
    /// The dependencies in order: the output lane of each is the input lane of the next.
    pub links: Vec<Link>,
    /// The lanes of the cycle by index: the port that sends into each, and its VL; the lane in which the packets of the
    /// first dependency wait is the first.
    #[serde(skip)]
    pub lanes: Vec<(SubnetPort, Vl)>,
    /// Whether it is known that no shorter cycle exists.
    pub shortest: bool,
}

/// The wave of a changing subnet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct MomentOf {
    /// The subnet.
    pub subnet: String,
    /// Its wave; `steady` before the first.
    pub wave: String,
}

/// One dependency of a cycle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "where", rename_all = "lowercase")]
pub enum Link {
    /// In a switch.
    Inside {
        /// The subnet.
        subnet: String,
        /// The dependency, and the class that causes it.
        #[serde(flatten)]
        dependency: Dependency,
    },
    /// In a router.
    Through(Crossing),
}

/// Packets that came to a router wait for room beyond another of its ports.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Crossing {
    /// The name of the router.
    pub router: String,
    /// Its GUID.
    pub guid: Guid,
    /// The lane in which they stand.
    pub input: RouterLane,
    /// The lane that they wait for.
    pub output: RouterLane,
}

/// A lane at a port of a router.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct RouterLane {
    /// The subnet of the port.
    pub subnet: String,
    /// The name of the port.
    pub port: String,
    /// The port's number.
    pub num: PortNum,
    /// The lane.
    pub vl: Vl,
    /// A service level on which packets take it.
    pub sl: Sl,
}

impl RouterLane {
    pub(super) fn new(subnets: &Subnets, at: SubnetPort, vl: Vl, sl: Sl) -> RouterLane {
        let subnet = subnets.subnet(at.subnet);
        let num = subnet.fabric.port(at.port).num;
        RouterLane { subnet: subnet.name.clone(), port: subnet.fabric.describe_port(at.port), num, vl, sl }
    }
}

impl AcrossCycle {
    /// The number of its dependencies that lead through routers.
    pub fn crossings(&self) -> usize {
        self.links.iter().filter(|link| matches!(link, Link::Through(_))).count()
    }
}

impl fmt::Display for AcrossCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lanes, crossings) = (self.links.len(), self.crossings());
        write!(f, "{lanes} lanes can wait for each other in a cycle that leads ")?;
        match crossings {
            1 => f.write_str("once through a router")?,
            _ => write!(f, "{crossings} times through routers")?,
        }
        for (at, MomentOf { subnet, wave }) in self.moment.iter().enumerate() {
            write!(f, "{} {subnet} in wave {wave}", if at == 0 { ", with" } else { "," })?;
        }
        self.links.iter().try_for_each(|link| write!(f, "\n  {link}"))
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Link::Inside { subnet, dependency } => write!(f, "{subnet}: {dependency}"),
            Link::Through(crossing) => crossing.fmt(f),
        }
    }
}

impl fmt::Display for Crossing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Crossing { router, input, output, .. } = self;
        write!(f, "router {router:?}: in from {} by {} VL {} SL {}", input.subnet, input.port, input.vl, input.sl)?;
        write!(f, " → out to {} by {} VL {} SL {}", output.subnet, output.port, output.vl, output.sl)
    }
}
