//! The entries of a [`Difference`](super::Difference): a node, port or cable, and how it changed.
//!
//! Elements are named by GUID and port number, never by index, so that an entry means the same in both captures.

use crate::fabric::{Fabric, LinkSpeed, LinkWidth, NodeId, NodeKind, PortId};
use crate::ids::{Guid, Lid, Lmc, PortNum};
use serde::Serialize;
use std::fmt;

/// A node, as a difference names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct NodeName {
    /// What it is.
    pub kind: NodeKind,
    /// Its GUID.
    pub guid: Guid,
    /// Its description, without blanks at either end.
    pub description: String,
}

impl NodeName {
    pub(super) fn of(fabric: &Fabric, id: NodeId) -> NodeName {
        let node = fabric.node(id);
        NodeName { kind: node.kind, guid: node.guid, description: node.description.trim().to_string() }
    }
}

/// One end of a cable, as a difference names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct EndName {
    /// GUID of the node.
    pub node: Guid,
    /// Number of the port.
    pub port: PortNum,
    /// `description[port]` for people.
    pub name: String,
}

/// A cable between two ports, the one with the lower node GUID first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Cable(pub EndName, pub EndName);

/// A cable of which one end stayed and the other moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Moved {
    /// The end that stayed.
    pub end: EndName,
    /// Where the other end was.
    pub from: EndName,
    /// Where it is.
    pub to: EndName,
}

/// A value before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Changed<Subject, Value> {
    /// What it belongs to.
    pub of: Subject,
    /// The value before.
    pub before: Value,
    /// The value after.
    pub after: Value,
}

/// Width and speed of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct LinkRate(pub LinkWidth, pub LinkSpeed);

impl LinkRate {
    pub(super) fn of(fabric: &Fabric, port: PortId) -> LinkRate {
        LinkRate(fabric.port(port).width, fabric.port(port).speed)
    }
}

/// The LIDs of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Lids {
    /// The base LID, if it has one.
    pub lid: Option<Lid>,
    /// Its LMC.
    pub lmc: Lmc,
}

impl Lids {
    pub(super) fn of(fabric: &Fabric, port: PortId) -> Lids {
        Lids { lid: fabric.port(port).lid, lmc: fabric.port(port).lmc }
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.kind, self.description, self.guid)
    }
}

impl fmt::Display for EndName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Display for Cable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.0, self.1)
    }
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {} to {}", self.end, self.from, self.to)
    }
}

impl<S: fmt::Display, V: fmt::Display> fmt::Display for Changed<S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, was {}", self.of, self.after, self.before)
    }
}

impl fmt::Display for LinkRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0, self.1)
    }
}

impl fmt::Display for Lids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lid {
            Some(lid) => write!(f, "LID {lid} LMC {}", self.lmc),
            None => f.write_str("no LID"),
        }
    }
}
