//! The stage before the curtain rises: LIDs, R, who leaves, where the subnet manager runs, and a simulation with R loaded.

use super::setting::{Element, Scenario};
use super::{ScenarioError, estimate};
use crate::fabric::{Fabric, NodeId, NodeKind, PortId};
use crate::ids::{Half, Sl};
use crate::lid;
use crate::routing::{Connectivity, Demand, Engine};
use crate::sim::{Sim, SimConfig, SimTransport};
use crate::tables::{RoutingFunction, SubnetTables};
use std::sync::Arc;

/// What a run starts from. All fabrics share one index space.
pub struct Stage {
    /// Everything that is there before or after, LIDs assigned.
    pub whole: Arc<Fabric>,
    /// The fabric before the change.
    pub before: Arc<Fabric>,
    /// The fabric after the change.
    pub after: Arc<Fabric>,
    /// The routing function in force at the beginning.
    pub function: RoutingFunction,
    /// The tables that realise it.
    pub tables: SubnetTables,
    /// The subnet manager's port.
    pub sm: PortId,
    /// What changes; the root is resolved.
    pub element: Element,
    /// The simulation's settings, load decided.
    pub config: SimConfig,
    /// Packet-hops that the run is expected to take.
    pub expected_hops: u64,
}

impl Stage {
    /// Sets the stage.
    pub fn set(scenario: &Scenario, engine: &dyn Engine) -> Result<Stage, ScenarioError> {
        let lanes = scenario.sim.data_vls;
        let capable = scenario.fabric.ports().filter(|(_, port)| port.peer.is_some()).map(|(_, p)| p.data_vls).min();
        let lanes = lanes.min(capable.ok_or(ScenarioError::NoSwitch)?);
        if scenario.fabric.switches().next().is_none() {
            return Err(ScenarioError::NoSwitch);
        }
        let whole = scenario.fabric.with_data_vls(lanes);
        let whole = match scenario.optimised_sl_to_vl {
            Some(optimised) => whole.with_capabilities(lanes, optimised),
            None => whole,
        };
        let whole = lid::assign(&whole, scenario.lmc)?;
        let before = before(scenario, &whole)?;
        let paths = usize::from(scenario.lmc.lids() / 2).max(1);
        let function = engine.route(&before, &Demand::all(&before, paths))?;
        let (element, after) = after(scenario, &whole, &function)?;
        let sm = manager_port(scenario, &before, &after)?;
        let tables = lid::bring_up(&whole, &function, lanes);
        let mut stage = Stage {
            whole: Arc::new(whole),
            before: Arc::new(before),
            after: Arc::new(after),
            function,
            tables,
            sm,
            element,
            config: SimConfig { data_vls: lanes, ..scenario.sim.clone() },
            expected_hops: 0,
        };
        (stage.config.load, stage.expected_hops) = estimate::load_and_hops(scenario, &stage);
        Ok(stage)
    }

    /// The simulation with everything loaded, its sources silent.
    pub fn simulation(&self) -> Result<SimTransport, ScenarioError> {
        let mut sim = Sim::new(&self.whole, self.config.clone(), self.sm)?;
        for switch in self.whole.switches() {
            let lft = &self.tables.lfts[switch.index()];
            (0..lft.blocks()).for_each(|block| sim.load_lft_block(switch, block, &lft.block(block)));
        }
        sim.load_half(Half::Lower);
        if let Some(lid) = self.whole.port(self.sm).lid {
            sim.load_master_sm(lid, Sl::default());
        }
        if let Element::Newcomer(node) = self.element {
            sim.keep_away(node);
        }
        Ok(SimTransport::new(sim))
    }

    /// What leaves or comes, in words.
    pub fn describe(&self, asked: Element) -> String {
        let node = |node: NodeId| self.whole.describe_node(node);
        match (asked, self.element) {
            (Element::Root, Element::Switch(root)) => format!("remove root {}", node(root)),
            (_, Element::Switch(switch)) => format!("remove switch {}", node(switch)),
            (_, Element::Link(port)) => format!("remove link {}", self.whole.describe_port(port)),
            (_, Element::Newcomer(switch)) => format!("add switch {}", node(switch)),
            (_, Element::Root) => unreachable!("the stage resolves the root"),
        }
    }
}

/// The fabric before the change: without a newcomer, and without what only the newcomer joins with the largest part.
fn before(scenario: &Scenario, whole: &Fabric) -> Result<Fabric, ScenarioError> {
    let Element::Newcomer(node) = scenario.element else { return Ok(whole.clone()) };
    let rest = whole.without_nodes(&[a_switch(whole, node)?]);
    let first = match scenario.sm {
        Some(sm) => rest.ports_of(sm).find(|&port| rest.peer(port).is_some()),
        None => main_part(&rest).first().copied(),
    };
    let first = first.ok_or(ScenarioError::NoHostStays)?;
    let links = Connectivity::of(&rest);
    let joined = |node| rest.ports_of(node).any(|port| links.joins(port, first));
    let apart: Vec<NodeId> = rest.nodes().map(|(id, _)| id).filter(|&id| !joined(id)).collect();
    Ok(rest.without_nodes(&apart))
}

fn a_switch(fabric: &Fabric, node: NodeId) -> Result<NodeId, ScenarioError> {
    if fabric.node(node).is_switch() {
        return Ok(node);
    }
    Err(ScenarioError::NoSuchSwitch { node: fabric.describe_node(node) })
}

/// What changes, the root resolved, and the fabric after it.
fn after(scenario: &Scenario, whole: &Fabric, function: &RoutingFunction) -> Result<(Element, Fabric), ScenarioError> {
    match scenario.element {
        Element::Root => {
            let root = function.root().ok_or(ScenarioError::NoRoot { engine: function.engine() })?;
            Ok((Element::Switch(root), whole.without_nodes(&[root])))
        }
        Element::Switch(node) => {
            let node = a_switch(whole, node)?;
            Ok((Element::Switch(node), whole.without_nodes(&[node])))
        }
        Element::Link(port) if whole.peer(port).is_none() => {
            Err(ScenarioError::NoCable { port: whole.describe_port(port) })
        }
        Element::Link(port) => Ok((Element::Link(port), whole.without_links(&[port]))),
        Element::Newcomer(node) => Ok((Element::Newcomer(node), whole.clone())),
    }
}

/// The subnet manager's port: of the node named, else of the capture's origin where it stays connected, else of the first
/// host that does, in the largest part of the fabric after the change.
fn manager_port(scenario: &Scenario, before: &Fabric, after: &Fabric) -> Result<PortId, ScenarioError> {
    let main = main_part(after);
    let stays = |port: &PortId| before.peer(*port).is_some() && main.contains(port);
    if let Some(node) = scenario.sm {
        let refuse = |why| ScenarioError::Manager { node: before.describe_node(node), why };
        if before.node(node).kind == NodeKind::Switch {
            return Err(refuse("managers on switches are not simulated, name a host"));
        }
        return before.ports_of(node).find(stays).ok_or_else(|| refuse("the change would cut it off"));
    }
    let origin = before.origin().and_then(|(node, _)| before.by_guid(node));
    let at_origin = origin.filter(|&node| !before.node(node).is_switch());
    let first = at_origin.and_then(|node| before.ports_of(node).find(stays));
    first.or_else(|| before.end_ports().find(stays)).ok_or(ScenarioError::NoHostStays)
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
