//! A fabric as captured, made ready for a change: lanes, LIDs, the routing function in force, and a place for the SM.

use crate::fabric::{BuildError, Fabric, NodeId, NodeKind, NodeRole, PortId};
use crate::ids::{Half, Lmc, Sl};
use crate::lid::{self, LidError, Needs, TooFewLids};
use crate::plan::Lanes;
use crate::routing::{Connectivity, Demand, Engine, RouteError};
use crate::tables::RoutingFunction;

/// Why a fabric cannot be made ready.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BringUpError {
    /// Nothing to route.
    #[error("the fabric has no cabled switch: there is no routing to change")]
    NoSwitch,
    /// LIDs do not suffice.
    #[error("assigning LIDs: {0}")]
    Lids(#[from] LidError),
    /// LIDs of the capture contradict each other.
    #[error("assigning LIDs: {0}")]
    Build(#[from] BuildError),
    /// A port has too few LIDs for R.
    #[error("realising the routing of the fabric as captured: {0}")]
    Fit(#[from] TooFewLids),
    /// R cannot be computed.
    #[error("routing the fabric as captured: {0}")]
    Route(#[from] RouteError),
    /// R′ cannot be computed.
    #[error("routing the fabric after the change: {0}")]
    Next(RouteError),
    /// A subnet manager where it cannot be.
    #[error("{node} cannot run the subnet manager: {why}")]
    Manager {
        /// The node.
        node: String,
        /// Why not.
        why: &'static str,
    },
    /// No host could run the subnet manager.
    #[error("no host stays connected after the change: the subnet manager has nowhere to run")]
    NoHostStays,
}

/// What a capture does not say of a subnet, or what is to be otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CaptureSettings {
    /// Data VLs in operation; less where a cabled port has less.
    pub data_vls: u8,
    /// Whether switches take the optimised SL-to-VL form; none leaves it to the capture.
    pub optimised_sl_to_vl: Option<bool>,
    /// The least LMC: LIDs are numbered anew where the capture has less.
    pub lmc: Lmc,
    /// The service level that has one of the data VLs to itself.
    pub reserved_sl: Option<Sl>,
}

impl CaptureSettings {
    /// The fabric with its lanes, its form of SL-to-VL tables and its LIDs set.
    ///
    /// # Errors
    /// No switch, or LIDs that do not suffice.
    pub fn equip(&self, fabric: &Fabric) -> Result<Fabric, BringUpError> {
        match fabric.switches().next() {
            Some(_) => self.equip_routed_or_not(fabric),
            None => Err(BringUpError::NoSwitch),
        }
    }

    /// The same for a subnet that may be a single cable between two end ports, with nothing to route.
    ///
    /// # Errors
    /// No cable, or LIDs that do not suffice.
    pub fn equip_routed_or_not(&self, fabric: &Fabric) -> Result<Fabric, BringUpError> {
        let capable = fabric.ports().filter(|(_, port)| port.peer.is_some()).map(|(_, port)| port.data_vls).min();
        let lanes = self.data_vls.min(capable.ok_or(BringUpError::NoSwitch)?);
        let equipped = match self.optimised_sl_to_vl {
            Some(optimised) => fabric.with_capabilities(lanes, optimised),
            None => fabric.with_data_vls(lanes),
        };
        Ok(lid::assign(&equipped, self.lmc)?)
    }

    /// What an engine is asked for: everything that `fabric` has, as many paths as a half has LIDs.
    pub fn demand(&self, fabric: &Fabric) -> Demand {
        self.demand_of(fabric, usize::from(self.lmc.lids() / 2).max(1))
    }

    /// The demand on an engine if no half is spare: as many paths as an end port has LIDs.
    pub fn whole_demand(&self, fabric: &Fabric) -> Demand {
        self.demand_of(fabric, self.lmc.lids().into())
    }

    fn demand_of(&self, fabric: &Fabric, paths: usize) -> Demand {
        Demand::all(fabric, paths).within(super::room_for_layers(fabric, self.reserved_sl))
    }

    /// `whole` with the LIDs that a routing function in force needs and, where the engine of the next one gives paths
    /// by source too, those that it will need on `after`, less what no links join with `sm`. LIDs stay where they
    /// suffice.
    ///
    /// # Errors
    /// The next routing cannot be computed, or LIDs do not suffice.
    pub fn fitted(
        &self,
        whole: &Fabric,
        function: &RoutingFunction,
        after: &Fabric,
        sm: PortId,
        engine: &dyn Engine,
    ) -> Result<Fabric, BringUpError> {
        let mut needs = self.needs(whole, function)?;
        if function.path_layers().is_some() || engine.name() != function.engine() {
            let all = self.demand(after);
            let links = Connectivity::of(after);
            let destinations = all.destinations.iter().copied().filter(|&port| links.joins(port, sm)).collect();
            let next = engine.route(after, &Demand { destinations, ..all }).map_err(BringUpError::Next)?;
            needs = needs.join(&self.needs(whole, &next)?);
        }
        Ok(lid::assign_each(whole, &needs)?)
    }

    /// By port, how many LIDs the half of a routing function needs: those of the least LMC at least.
    ///
    /// # Errors
    /// A port that needs more than a half can have.
    fn needs(&self, fabric: &Fabric, function: &RoutingFunction) -> Result<Needs, BringUpError> {
        let mut needs = Needs::one(fabric);
        for port in fabric.end_ports() {
            needs.raise(fabric, port, usize::from(self.lmc.lids() / 2).max(1))?;
        }
        match function.path_layers() {
            Some(_) => Ok(needs.join(&Needs::of(fabric, function)?)),
            None => Ok(needs),
        }
    }

    /// The routing function in force: everything that `fabric` joins, as many paths as a half has LIDs.
    ///
    /// # Errors
    /// The engine cannot route it.
    pub fn route(&self, fabric: &Fabric, engine: &dyn Engine) -> Result<RoutingFunction, BringUpError> {
        Ok(engine.route(fabric, &self.demand(fabric))?)
    }
}

impl BringUpError {
    /// Whether an engine needs more virtual layers than there are lanes for.
    pub fn wants_lanes(&self) -> bool {
        matches!(
            self,
            BringUpError::Route(RouteError::TooFewLayers { .. }) | BringUpError::Next(RouteError::TooFewLayers { .. })
        )
    }
}

/// How many data VLs are wanted, and whether it may be more where more are needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataVls {
    /// As many as this.
    pub given: u8,
    /// No more.
    pub fixed: bool,
}

impl DataVls {
    /// What to go on to for engines that lay paths on layers.
    pub const LAYERED: &[u8] = &[8, 15];

    /// Makes something on as many data VLs as given, then on each greater number of `more`, until they suffice.
    ///
    /// # Errors
    /// The first that is no lack of VLs, or what the greatest number lacks.
    pub fn first_enough<T, E>(
        self,
        more: &[u8],
        lacks: impl Fn(&E) -> bool,
        mut make: impl FnMut(u8) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut made = make(self.given);
        for &vls in more.iter().filter(|&&vls| !self.fixed && vls > self.given) {
            if made.as_ref().is_err_and(&lacks) {
                made = make(vls);
            }
        }
        made
    }
}

/// Data VLs of an equipped fabric, a reserved one included.
pub fn data_vls(equipped: &Fabric) -> u8 {
    Lanes::of_fabric(equipped, None).count() as u8
}

/// Why no change by `double` is possible on an equipped fabric, whatever its routing: both halves need a lane, and
/// every end port a LID of each. None if nothing of the kind stands against it. `capable` knows how many data VLs a
/// port has by itself: in an equipped fabric each has as many as are in use.
pub fn without_double(equipped: &Fabric, capable: impl Fn(PortId) -> Option<u8>) -> Option<String> {
    if data_vls(equipped) < 2 {
        let mut cabled = equipped.ports().filter(|(_, port)| port.peer.is_some()).map(|(id, _)| id);
        let narrow = cabled.find(|&port| capable(port).is_some_and(|lanes| lanes < 2));
        let of_port = |port| format!("{} has one data VL", equipped.describe_port(port));
        return Some(narrow.map_or_else(|| "one data VL is in use, and every port has more".to_string(), of_port));
    }
    let single = equipped.end_ports().find(|&port| equipped.half_lids(port, Half::Upper).next().is_none())?;
    Some(format!("{} has one LID", equipped.describe_port(single)))
}

/// The subnet manager's port: of the node named, else of the capture's origin where it stays connected, else of the
/// first host that does, in the largest part of the fabric after the change.
///
/// # Errors
/// The node named is no host that stays, or no host stays.
pub fn manager_port(before: &Fabric, after: &Fabric, named: Option<NodeId>) -> Result<PortId, BringUpError> {
    let main = main_part(after);
    let stays = |port: &PortId| before.peer(*port).is_some() && main.contains(port);
    if let Some(node) = named {
        let refuse = |why| BringUpError::Manager { node: before.describe_node(node), why };
        if before.node(node).kind == NodeKind::Switch {
            return Err(refuse("a manager on a switch is not supported, name a host"));
        }
        if before.role(node) == NodeRole::InSwitch {
            return Err(refuse("it is a part of a switch and runs no manager, name a host"));
        }
        return before.ports_of(node).find(stays).ok_or_else(|| refuse("the change would cut it off"));
    }
    let origin = before.origin().and_then(|(node, _)| before.by_guid(node));
    let at_origin = origin.filter(|&node| !matches!(before.role(node), NodeRole::Switch | NodeRole::InSwitch));
    let first = at_origin.and_then(|node| before.ports_of(node).find(stays));
    // A router relays, an aggregation node reduces: neither runs a manager.
    let hosts = || before.end_ports().filter(|&port| before.is_host_port(port));
    first.or_else(|| hosts().find(stays)).or_else(|| before.end_ports().find(stays)).ok_or(BringUpError::NoHostStays)
}

/// The end ports of the largest part of a fabric, in index order; of equal parts the one with the lowest index.
fn main_part(fabric: &Fabric) -> Vec<PortId> {
    let links = Connectivity::of(fabric);
    let mut left: Vec<PortId> = fabric.end_ports().collect();
    let mut best = Vec::new();
    while let Some(&first) = left.first() {
        let (part, rest): (Vec<PortId>, Vec<PortId>) = left.iter().partition(|&&port| links.joins(first, port));
        left = rest;
        if part.len() > best.len() {
            best = part;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, Topology, generate};

    const FOUR: CaptureSettings =
        CaptureSettings { data_vls: 4, optimised_sl_to_vl: Some(true), lmc: Lmc::masked(1), reserved_sl: None };

    fn ring() -> Fabric {
        let topology: Topology = "ring:4".parse().expect("a topology");
        generate(&topology, &Options::default()).expect("a ring")
    }

    #[test]
    fn the_least_capable_port_says_how_many_lanes_there_are() {
        let equipped = FOUR.equip(&ring().with_data_vls(2)).expect("a ring can be equipped");
        assert_eq!(data_vls(&equipped), 2);
        assert!(equipped.end_ports().all(|port| equipped.port(port).lmc == Lmc::masked(1)));
        assert!(equipped.switches().all(|switch| equipped.node(switch).optimised_sl_to_vl));
    }

    #[test]
    fn a_manager_stays_in_the_larger_part() {
        let fabric = ring();
        let first = fabric.end_ports().next().expect("a host");
        let home = fabric.neighbour(first).expect("a cabled host");
        let after = fabric.without_nodes(&[home]);
        let chosen = manager_port(&fabric, &after, None).expect("hosts are left");
        assert_ne!(fabric.neighbour(chosen), Some(home));
        let named = manager_port(&fabric, &after, Some(fabric.port(first).node));
        assert!(named.is_err_and(|error| error.to_string().contains("the change would cut it off")));
        let switch = manager_port(&fabric, &after, Some(home));
        assert!(switch.is_err_and(|error| error.to_string().contains("name a host")));
    }
}
