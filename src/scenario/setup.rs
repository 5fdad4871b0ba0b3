//! A scenario prepared for a run: each subnet by itself, the routes between them, and a simulation of the whole.

use super::ScenarioError;
use super::acting::ActingSubnet;
use super::engines::Engines;
use super::setting::{Detection, Scenario};
use super::subnet_setup::{Placement, SubnetRequest, SubnetSetup};
use crate::change::DataVls;
use crate::driver::PreparedAhead;
use crate::fabric::subnets::{Joined, SubnetPort, Subnets};
use crate::fabric::{NodeId, PortId};
use crate::ids::{Half, SubnetId};
use crate::routers::{Levels, Partitioning, Routes};
use crate::routing::Connectivity;
use crate::sim::{Joining, Sim, SimConfig, SimTransport};
use crate::verify::Scope;
use crate::verify::across::{AcrossRefusal, AcrossStatistics, Part, Whole, prove_across};
use crate::vet::Vetted;
use std::cell::RefCell;
use std::sync::Arc;

/// Numbers of data VLs to try if raising service levels needs more.
const RAISED: &[u8] = &[2, 4, 8];

/// A run that is ready to begin.
pub(super) struct Setup<'a> {
    pub scenario: &'a Scenario,
    /// LIDs assigned.
    pub subnets: Subnets,
    /// By subnet.
    pub each: Vec<SubnetSetup>,
    /// None if one subnet is [alone](Scenario::is_alone).
    pub between: Option<Between>,
}

/// The routes and partitions between subnets.
pub(super) struct Between {
    pub joined: Joined,
    pub routes: Routes,
    /// The routes without the router ports that the change removes.
    pub routes_after: Routes,
    pub levels: Levels,
    /// Which hosts may communicate; none if all may.
    pub partitioning: Option<Partitioning>,
}

impl<'a> Setup<'a> {
    /// Prepares a scenario on the requested data VLs, or, if none are requested, on as many as rising service levels
    /// need.
    ///
    /// # Errors
    /// What is not implemented for several subnets; a subnet that cannot be prepared; too few lanes for service levels.
    pub fn new(scenario: &'a Scenario, engines: &Engines) -> Result<Setup<'a>, ScenarioError> {
        scenario.check()?;
        let vls = DataVls { given: scenario.sim.data_vls, fixed: scenario.vls_fixed };
        let lacks = |error: &ScenarioError| matches!(error, ScenarioError::Levels(_));
        vls.first_enough(RAISED, lacks, |data_vls| Setup::on_lanes(scenario, engines, data_vls))
    }

    fn on_lanes(scenario: &'a Scenario, engines: &Engines, data_vls: u8) -> Result<Setup<'a>, ScenarioError> {
        let ids = scenario.subnets.subnets().map(|(subnet, _)| subnet);
        let set_up = |subnet| {
            let request = SubnetRequest { scenario, subnet, data_vls };
            SubnetSetup::new(request, engines).map_err(|error| named(scenario, subnet, error))
        };
        let each: Vec<SubnetSetup> = ids.map(set_up).collect::<Result<_, _>>()?;
        let subnets = scenario.subnets.with_fabrics(each.iter().map(|own| (*own.whole).clone()).collect());
        let between = if scenario.is_alone() { None } else { Some(Between::new(scenario, &subnets, &each)?) };
        Ok(Setup { scenario, subnets, each, between })
    }

    /// Where a subnet's nodes and ports are in the simulation.
    pub fn placement(&self, subnet: SubnetId) -> Placement {
        let Some(Between { joined, .. }) = &self.between else { return Placement::default() };
        let first_port = joined.port(SubnetPort { subnet, port: PortId(0) }).0;
        Placement { subnet, first_node: joined.node(subnet, NodeId(0)).0, first_port }
    }

    pub fn subnet_ids(&self) -> impl Iterator<Item = SubnetId> + use<> {
        (0..self.each.len()).map(|rank| SubnetId(rank as u16))
    }

    /// Describes a port of the simulation.
    pub fn describe_port(&self, port: PortId) -> String {
        match &self.between {
            Some(between) => self.subnets.describe_port(between.joined.at(port)),
            None => self.each[0].whole.describe_port(port),
        }
    }

    /// The simulation with everything loaded and silent sources: one transport for each subnet whose manager acts; a
    /// single one if none does.
    pub fn simulation(&self, load: f64) -> Result<Vec<SimTransport>, ScenarioError> {
        let without_traps = self.scenario.detection != Detection::Trap;
        let config = SimConfig { load, without_traps, ..self.each[0].config.clone() };
        let Some(between) = &self.between else { return Ok(vec![self.simulation_of_one(config)?]) };
        let managers: Vec<SubnetPort> =
            self.subnet_ids().zip(&self.each).map(|(subnet, own)| SubnetPort { subnet, port: own.sm }).collect();
        let mut joining = Joining::new(self.subnets.clone(), between.levels, managers.clone());
        (joining.cross, joining.hop_limit) = (self.scenario.cross, self.scenario.hop_limit);
        if let Some(partitioning) = &between.partitioning {
            joining = joining.partitioned(partitioning);
        }
        let mut sim = Sim::joined(joining, config)?;
        for (subnet, own) in self.subnet_ids().zip(&self.each) {
            own.load(&mut sim, self.placement(subnet));
        }
        let acting = self.acting();
        let at = |subnet: SubnetId| between.joined.port(managers[subnet.index()]);
        let first = acting.first().copied().unwrap_or_default();
        let mut transports = vec![SimTransport::attach(sim, at(first))?];
        for &subnet in acting.iter().skip(1) {
            transports.push(transports[0].attach_another(at(subnet))?);
        }
        Ok(transports)
    }

    /// A simulation without routers: sources draw destinations within their own subnet, and newcomers are supported.
    fn simulation_of_one(&self, config: SimConfig) -> Result<SimTransport, ScenarioError> {
        let own = &self.each[0];
        let mut sim = Sim::new(&own.whole, config, own.sm)?;
        own.load(&mut sim, Placement::default());
        sim.keep_away(&own.moves.coming);
        own.later.iter().for_each(|event| sim.keep_away(&event.moves.coming));
        own.standby.into_iter().for_each(|port| sim.stand_by(port));
        Ok(SimTransport::new(sim))
    }

    /// The subnets that change; for a subnet alone, that one, even if nothing changes.
    pub fn acting(&self) -> Vec<SubnetId> {
        let changes = |id: &SubnetId| self.between.is_none() || !self.each[id.index()].moves.is_empty();
        self.subnet_ids().filter(changes).collect()
    }

    /// The subnets that act, each with its transport.
    pub fn acting_subnets<'b>(&'b self, transports: &[SimTransport]) -> Vec<ActingSubnet<'b>> {
        let acting = self.acting().into_iter().zip(transports);
        let subnet = |(subnet, transport): (SubnetId, &SimTransport)| ActingSubnet {
            scenario: self.scenario,
            setup: &self.each[subnet.index()],
            placement: self.placement(subnet),
            transport: transport.clone(),
            journal: RefCell::default(),
            is_joined: self.between.is_some(),
        };
        acting.map(subnet).collect()
    }

    /// Plans the changes before anything has happened, on a simulation without traffic.
    pub fn prepare(&self, engines: &Engines) -> Result<Vec<PreparedAhead>, ScenarioError> {
        let transports = self.simulation(0.0)?;
        let prepare = |own: &ActingSubnet<'_>| {
            own.prepare(engines).map_err(|error| named(self.scenario, own.placement.subnet, error))
        };
        self.acting_subnets(&transports).iter().map(prepare).collect()
    }

    /// Proves that the whole is free of deadlock at every moment; none for a single subnet, for which the proof of its
    /// plan suffices.
    pub fn prove(&self, plans: &[Arc<Vetted>]) -> Option<Result<AcrossStatistics, AcrossRefusal>> {
        let between = self.between.as_ref()?;
        let scopes: Vec<Scope> = self.each.iter().map(scope).collect();
        let mut parts: Vec<Part<'_>> = self
            .each
            .iter()
            .zip(&scopes)
            .map(|(own, scope)| Part::Steady { fabric: &own.whole, tables: &own.tables, scope })
            .collect();
        for (subnet, plan) in self.acting().into_iter().zip(plans) {
            parts[subnet.index()] = Part::Changing(plan.plan());
        }
        let routes = vec![&between.routes, &between.routes_after];
        let whole = Whole { subnets: &self.subnets, parts, routes, levels: between.levels };
        Some(prove_across(&whole).map(|proof| proof.statistics()))
    }
}

impl Between {
    fn new(scenario: &Scenario, subnets: &Subnets, each: &[SubnetSetup]) -> Result<Between, ScenarioError> {
        let others = each[0].config.data_vls;
        if let Some(rank) = each.iter().position(|own| own.config.data_vls != others) {
            let (subnet, lanes) = (subnets.subnet(SubnetId(rank as u16)).name.clone(), each[rank].config.data_vls);
            return Err(ScenarioError::Lanes { subnet, lanes, others });
        }
        let stays: Vec<Connectivity> = each.iter().map(|own| Connectivity::of(&own.after)).collect();
        let leads = |at: SubnetPort| stays[at.subnet.index()].joins(at.port, each[at.subnet.index()].sm);
        let routes = Routes::all(subnets);
        let routes_after = Routes::new(subnets, leads).keeping(&routes);
        let levels =
            Levels::new(scenario.rule, routes.most_raises_until(scenario.rule, &routes_after, subnets), others)?;
        let managers: Vec<Option<PortId>> = each.iter().map(|own| Some(own.sm)).collect();
        let partitioning = Partitioning::of(subnets, &managers, scenario.part_enforce);
        Ok(Between { joined: Joined::of(subnets), routes, routes_after, levels, partitioning })
    }
}

/// Adds the name of the subnet to an error if there are several.
fn named(scenario: &Scenario, subnet: SubnetId, error: ScenarioError) -> ScenarioError {
    if scenario.is_alone() {
        return error;
    }
    let subnet = scenario.subnets.subnet(subnet).name.clone();
    ScenarioError::Subnet { subnet, source: Box::new(error) }
}

/// The scope in use in a subnet that does not change: the lower half or, undivided, all LIDs, by its hosts and routers.
fn scope(setup: &SubnetSetup) -> Scope {
    let own = if setup.config.undivided { Scope::undivided() } else { Scope::of(&[Half::Lower]) };
    Scope { switches: false, ..own }.by(setup.function.path_layers())
}
