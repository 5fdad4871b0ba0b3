//! A run of several subnets that is ready to begin: a stage for each, and what is between them.

use super::super::engines::Engines;
use super::super::setting::{Element, Scenario};
use super::super::site::Site;
use super::super::stage::{Place, Stage};
use super::{AcrossError, AcrossScenario};
use crate::change::{DataVls, Prepared};
use crate::fabric::subnets::{Joined, SubnetPort, Subnets};
use crate::fabric::{NodeId, PortId};
use crate::ids::{Half, SubnetId};
use crate::plan::Vetted;
use crate::routers::{Levels, Partitioning, Routes};
use crate::routing::Connectivity;
use crate::sim::{Joining, Sim, SimConfig, SimError, SimTransport};
use crate::verify::Scope;
use crate::verify::across::{AcrossRefusal, AcrossStatistics, Part, Whole, prove_across};
use std::sync::Arc;

/// The data VLs to go on to where raising service levels takes more.
const RAISED: &[u8] = &[2, 4, 8];

/// A run that is ready to begin.
pub(super) struct Theatre<'a> {
    pub asked: &'a AcrossScenario,
    /// By subnet: what is asked of it.
    pub scenarios: Vec<Scenario>,
    pub stages: Vec<Stage>,
    /// LIDs assigned.
    pub subnets: Subnets,
    pub joined: Joined,
    pub routes: Routes,
    /// The ways without the ports of routers that the change takes away.
    pub routes_after: Routes,
    pub levels: Levels,
    /// Who may speak with whom, where not everybody may with everybody.
    pub partitioning: Option<Partitioning>,
}

impl<'a> Theatre<'a> {
    /// Sets it on the data VLs asked for, or on as many as raising service levels takes where that is left open.
    pub fn set(asked: &'a AcrossScenario, engines: &Engines) -> Result<Theatre<'a>, AcrossError> {
        asked.check()?;
        let settings = &asked.settings;
        let vls = DataVls { given: settings.sim.data_vls, fixed: settings.vls_fixed };
        let lacks = |error: &AcrossError| matches!(error, AcrossError::Levels(_));
        vls.first_enough(RAISED, lacks, |data_vls| Theatre::on_lanes(asked, engines, data_vls))
    }

    fn on_lanes(asked: &'a AcrossScenario, engines: &Engines, data_vls: u8) -> Result<Theatre<'a>, AcrossError> {
        let subnets = &asked.subnets;
        let settings = &asked.settings;
        let mut scenarios = Vec::new();
        for (id, subnet) in subnets.subnets() {
            let sim = SimConfig { data_vls, ..settings.sim.clone() };
            let element = asked.element_in(id);
            let sm = settings.sm.filter(|_| element != Element::Nothing);
            scenarios.push(Scenario { fabric: subnet.fabric.clone(), element, sm, sim, ..settings.clone() });
        }
        let named = |id: SubnetId, source| AcrossError::Subnet { subnet: subnets.subnet(id).name.clone(), source };
        let set = |(rank, scenario)| Stage::set(scenario, engines).map_err(|error| named(SubnetId(rank as u16), error));
        let stages: Vec<Stage> = scenarios.iter().enumerate().map(set).collect::<Result<_, _>>()?;
        let others = stages[0].config.data_vls;
        if let Some(rank) = stages.iter().position(|stage| stage.config.data_vls != others) {
            let (subnet, lanes) = (subnets.subnet(SubnetId(rank as u16)).name.clone(), stages[rank].config.data_vls);
            return Err(AcrossError::Lanes { subnet, lanes, others });
        }
        let subnets = subnets.with_fabrics(stages.iter().map(|stage| (*stage.whole).clone()).collect());
        let stays: Vec<Connectivity> = stages.iter().map(|stage| Connectivity::of(&stage.after)).collect();
        let leads = |at: SubnetPort| stays[at.subnet.index()].joins(at.port, stages[at.subnet.index()].sm);
        let routes = Routes::all(&subnets);
        let routes_after = Routes::new(&subnets, leads).keeping(&routes);
        let levels = Levels::new(asked.rule, routes.most_crossings_until(&routes_after, &subnets), others)?;
        let joined = Joined::of(&subnets);
        let managers: Vec<Option<PortId>> = stages.iter().map(|stage| Some(stage.sm)).collect();
        let partitioning = Partitioning::of(&subnets, &managers, asked.part_enforce);
        Ok(Theatre { asked, scenarios, stages, subnets, joined, routes, routes_after, levels, partitioning })
    }

    fn place(&self, subnet: SubnetId) -> Place {
        let first_port = self.joined.port(SubnetPort { subnet, port: PortId(0) }).0;
        Place { subnet, first_node: self.joined.node(subnet, NodeId(0)).0, first_port }
    }

    pub fn subnet_ids(&self) -> impl Iterator<Item = SubnetId> + use<> {
        (0..self.stages.len()).map(|rank| SubnetId(rank as u16))
    }

    /// The simulation with everything loaded, its sources silent: a transport for the first subnet whose manager acts, and so on;
    /// one into the simulation where none does.
    pub fn simulation(&self, load: f64) -> Result<Vec<SimTransport>, AcrossError> {
        let managers: Vec<SubnetPort> =
            self.subnet_ids().zip(&self.stages).map(|(subnet, stage)| SubnetPort { subnet, port: stage.sm }).collect();
        let mut joining = Joining::new(self.subnets.clone(), self.levels, managers.clone());
        (joining.cross, joining.hop_limit) = (self.asked.cross, self.asked.hop_limit);
        if let Some(partitioning) = &self.partitioning {
            joining = joining.partitioned(partitioning);
        }
        let config = SimConfig { load, ..self.stages[0].config.clone() };
        let mut sim = Sim::joined(joining, config).map_err(|error| AcrossError::Run(error.into()))?;
        for (subnet, stage) in self.subnet_ids().zip(&self.stages) {
            stage.load(&mut sim, self.place(subnet));
        }
        let acting = self.acting();
        let at = |subnet: SubnetId| self.joined.port(managers[subnet.index()]);
        let first = acting.first().copied().unwrap_or_default();
        let wrong = |error: SimError| AcrossError::Run(error.into());
        let mut transports = vec![SimTransport::attach(sim, at(first)).map_err(wrong)?];
        for &subnet in acting.iter().skip(1) {
            transports.push(transports[0].attach_another(at(subnet)).map_err(wrong)?);
        }
        Ok(transports)
    }

    /// The subnets in which something changes.
    pub fn acting(&self) -> Vec<SubnetId> {
        let changes = |id: &SubnetId| self.stages[id.index()].element != Element::Nothing;
        self.subnet_ids().filter(changes).collect()
    }

    pub fn sites<'b>(&'b self, transports: &[SimTransport]) -> Vec<Site<'b>> {
        let acting = self.acting().into_iter().zip(transports);
        let site = |(subnet, transport): (SubnetId, &SimTransport)| Site {
            scenario: &self.scenarios[subnet.index()],
            stage: &self.stages[subnet.index()],
            place: self.place(subnet),
            transport: transport.clone(),
        };
        acting.map(site).collect()
    }

    pub fn prepare(&self, sites: &[Site<'_>], engines: &Engines) -> Result<Vec<Prepared>, AcrossError> {
        let prepare = |site: &Site<'_>| {
            let subnet = self.subnets.subnet(site.place.subnet).name.clone();
            site.prepare(engines).map_err(|source| AcrossError::Subnet { subnet, source })
        };
        sites.iter().map(prepare).collect()
    }

    /// Whether the whole is free of deadlock at every moment.
    pub fn prove(&self, sites: &[Site<'_>], plans: &[Arc<Vetted>]) -> Result<AcrossStatistics, AcrossRefusal> {
        let scopes: Vec<Scope> = self.stages.iter().map(scope).collect();
        let mut parts: Vec<Part<'_>> = self
            .stages
            .iter()
            .zip(&scopes)
            .map(|(stage, scope)| Part::Steady { fabric: &stage.whole, tables: &stage.tables, scope })
            .collect();
        for (site, plan) in sites.iter().zip(plans) {
            parts[site.place.subnet.index()] = Part::Changing(plan.plan());
        }
        let routes = vec![&self.routes, &self.routes_after];
        let whole = Whole { subnets: &self.subnets, parts, routes, levels: self.levels };
        prove_across(&whole).map(|proof| proof.statistics())
    }
}

/// What is in use in a subnet in which nothing changes: the lower half, by its hosts and routers.
fn scope(stage: &Stage) -> Scope {
    Scope { switches: false, ..Scope::of(&[Half::Lower]) }.by(stage.function.path_layers())
}
