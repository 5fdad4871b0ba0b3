//! Several subnets in one run: traffic within and between them, and a change in one, or of a router between some.
//!
//! Each subnet has a stage of its own (LIDs, R, tables, a manager); one simulation holds them all. Before anything is
//! written the whole is proved, every moment of the change included ([`prove_across`](crate::verify::across::prove_across)). A change in one
//! subnet is driven by that subnet's manager alone; where a router leaves, the managers of its subnets act at once, and all
//! subnet administrations name other routers from then on: before the change where it is planned, once a manager has
//! heard of the loss where it is sudden. Hosts learn of that at once: what a cache of paths costs is not modelled.
//! Lacks on purpose: newcomers, engines that need virtual layers or paths of their own, the adversary.

mod load;
mod outcome;

pub use outcome::{
    ACROSS_SCHEMA, AcrossReport, AcrossSettings, ChangeIn, RelationReport, RouterPortReport, RouterReport,
    SubnetReport, WholeProof,
};

use super::engines::Engines;
use super::outcome::Ending;
use super::run::{Watch, armed, judge};
use super::setting::{Element, Scenario};
use super::site::{Place, Site};
use super::stage::Stage;
use super::summary::Change;
use super::time::Time;
use super::{ScenarioError, site};
use crate::change::Prepared;
use crate::fabric::subnets::partitions::KeyTables;
use crate::fabric::subnets::{Joined, SubnetPort, Subnets};
use crate::fabric::{NodeId, PortId};
use crate::ids::{Half, SubnetId};
use crate::plan::{Scheme, Vetted};
use crate::routers::{Levels, LevelsRule, PartEnforce, Partitioning, Routes};
use crate::routing::Connectivity;
use crate::sim::{Joining, Sim, SimConfig, SimTransport};
use crate::verify::Scope;
use crate::verify::across::{AcrossRefusal, AcrossStatistics, Part, Whole, prove_across};
use std::sync::Arc;

/// What changes among several subnets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AcrossChange {
    /// Something in one subnet.
    In {
        /// The subnet.
        subnet: SubnetId,
        /// What.
        element: Element,
    },
    /// A router leaves, by its rank among the routers.
    Router(usize),
    /// Nothing: traffic alone.
    Nothing,
}

/// One run of several subnets, before it is run.
#[derive(Clone, Debug)]
pub struct AcrossScenario {
    /// The subnets as captured.
    pub subnets: Subnets,
    /// What changes.
    pub change: AcrossChange,
    /// What routers do with service levels.
    pub rule: LevelsRule,
    /// Of the packets whose destination is drawn: the share that goes to other subnets, 0 to 1.
    pub cross: f64,
    /// The hop limit that sources give.
    pub hop_limit: u8,
    /// Which way ports of routers look at partitions; where it is not said, both where the subnets have some, else not at all.
    pub part_enforce: Option<PartEnforce>,
    /// Everything else; its fabric and element count for nothing, its manager only in the subnet that it is of.
    pub settings: Scenario,
}

impl AcrossScenario {
    /// A change among subnets, everything else as the command line has it by default.
    pub fn new(subnets: Subnets, change: AcrossChange) -> AcrossScenario {
        let settings = Scenario::remove_root(subnets.fabric(SubnetId(0)).clone());
        let rule = LevelsRule::default();
        AcrossScenario { subnets, change, rule, cross: 0.1, hop_limit: 64, part_enforce: None, settings }
    }
}

/// Why a run of several subnets could not begin.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AcrossError {
    /// One subnet could not be made ready, or its change cannot be made.
    #[error("subnet {subnet}: {source}")]
    Subnet {
        /// The subnet.
        subnet: String,
        /// Why not.
        source: ScenarioError,
    },
    /// The simulator refuses the whole.
    #[error(transparent)]
    Run(ScenarioError),
    /// Too few lanes to raise service levels.
    #[error(transparent)]
    Levels(#[from] crate::routers::LevelsError),
    /// Subnets whose ports run different numbers of lanes.
    #[error("subnet {subnet} runs {lanes} data VLs and the others {others}: choose a number that all have (--vls)")]
    Lanes {
        /// The subnet.
        subnet: String,
        /// Its lanes.
        lanes: u8,
        /// Theirs.
        others: u8,
    },
    /// The change is refused: the whole could deadlock.
    #[error("the change is refused: {0}")]
    Refused(Box<AcrossRefusal>),
    /// Not possible among several subnets.
    #[error("{0}")]
    Unsupported(&'static str),
}

/// A run that is ready to begin.
struct Theatre<'a> {
    asked: &'a AcrossScenario,
    /// By subnet: what is asked of it.
    scenarios: Vec<Scenario>,
    stages: Vec<Stage>,
    /// LIDs assigned.
    subnets: Subnets,
    joined: Joined,
    routes: Routes,
    /// The ways without the ports of routers that the change takes away.
    routes_after: Routes,
    levels: Levels,
    /// Who may speak with whom, where not everybody may with everybody.
    partitioning: Option<Partitioning>,
}

/// Runs a scenario.
///
/// # Errors
/// The run could not begin, or the change is refused. What goes wrong later is an outcome.
pub fn run_across(
    asked: &AcrossScenario,
    engines: impl Into<Engines>,
    watch: &mut dyn Watch,
) -> Result<AcrossReport, AcrossError> {
    let engines = engines.into();
    let theatre = Theatre::set(asked, &engines)?;
    let prepared = theatre.prepare(&theatre.sites(&theatre.simulation(0.0)?), &engines)?;
    let (load, expected_hops) = load::load_and_hops(&theatre, &prepared);
    let transports = theatre.simulation(load)?;
    watch.begins(expected_hops, load);
    let sites: Vec<Site<'_>> = theatre.sites(&transports);
    let plans: Vec<Arc<Vetted>> = prepared.iter().map(|prepared| prepared.plan.clone()).collect();
    let proof = theatre.prove(&sites, &plans);
    if let (Err(refusal), false) = (&proof, sites.is_empty() || asked.settings.scheme != Scheme::Double) {
        return Err(AcrossError::Refused(Box::new(refusal.clone())));
    }
    let transport = transports[0].clone();
    let mut time = Time { transport: transport.clone(), watch };
    let changes = perform(&theatre, &mut time, &sites, &engines, &prepared);
    watch.ends();
    // After a loss a manager plans anew: the proof that is told is of what ran.
    let ran = |(change, plan): (&Change, &Arc<Vetted>)| change.report.as_ref().map_or(plan, |run| &run.plan).clone();
    let ran: Vec<Arc<Vetted>> = changes.iter().zip(&plans).map(ran).collect();
    let same = ran.iter().zip(&plans).all(|(ran, plan)| ran.plan() == plan.plan());
    let proof = if same { proof } else { theatre.prove(&sites, &ran) };
    Ok(transport.with(|sim| outcome::report(&theatre, sim, &sites, changes, &prepared, proof)))
}

/// Proves subnets as they are, routed by an engine: no change.
///
/// # Errors
/// They could not be made ready; the answer itself is within.
pub fn prove_subnets(
    asked: &AcrossScenario,
    engines: impl Into<Engines>,
) -> Result<Result<AcrossStatistics, AcrossRefusal>, AcrossError> {
    let asked = AcrossScenario { change: AcrossChange::Nothing, ..asked.clone() };
    Ok(Theatre::set(&asked, &engines.into())?.prove(&[], &[]))
}

impl<'a> Theatre<'a> {
    /// Sets it on the data VLs asked for, or on as many as raising service levels takes where that is left open.
    fn set(asked: &'a AcrossScenario, engines: &Engines) -> Result<Theatre<'a>, AcrossError> {
        check_supported(asked)?;
        let asked_for = asked.settings.sim.data_vls;
        let more = [2, 4, 8].into_iter().filter(|&lanes| lanes > asked_for && !asked.settings.vls_fixed);
        let mut lacking = None;
        for data_vls in std::iter::once(asked_for).chain(more) {
            match Theatre::on_lanes(asked, engines, data_vls) {
                Err(AcrossError::Levels(error)) => lacking = lacking.or(Some(error)),
                other => return other,
            }
        }
        Err(lacking.map_or(AcrossError::Unsupported("no number of data VLs was tried"), AcrossError::Levels))
    }

    fn on_lanes(asked: &'a AcrossScenario, engines: &Engines, data_vls: u8) -> Result<Theatre<'a>, AcrossError> {
        let subnets = &asked.subnets;
        let settings = &asked.settings;
        let mut scenarios = Vec::new();
        for (id, subnet) in subnets.subnets() {
            let sim = SimConfig { data_vls, ..settings.sim.clone() };
            let element = element_in(asked, id);
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
        let partitioning = partitioning(asked, &subnets, &stages);
        Ok(Theatre { asked, scenarios, stages, subnets, joined, routes, routes_after, levels, partitioning })
    }

    fn place(&self, subnet: SubnetId) -> Place {
        let first_port = self.joined.port(SubnetPort { subnet, port: PortId(0) }).0;
        Place { subnet, first_node: self.joined.node(subnet, NodeId(0)).0, first_port }
    }

    fn subnet_ids(&self) -> impl Iterator<Item = SubnetId> + use<> {
        (0..self.stages.len()).map(|rank| SubnetId(rank as u16))
    }

    /// The simulation with everything loaded, its sources silent: a transport for the first subnet whose manager acts, and so on;
    /// one into the simulation where none does.
    fn simulation(&self, load: f64) -> Result<Vec<SimTransport>, AcrossError> {
        let managers: Vec<SubnetPort> =
            self.subnet_ids().zip(&self.stages).map(|(subnet, stage)| SubnetPort { subnet, port: stage.sm }).collect();
        let mut joining = Joining::new(self.subnets.clone(), self.levels, managers.clone());
        (joining.cross, joining.hop_limit) = (self.asked.cross, self.asked.hop_limit);
        if let Some(partitioning) = &self.partitioning {
            joining = joining.partitioned(partitioning);
        }
        let config = SimConfig { load, armed: armed(&self.asked.settings), ..self.stages[0].config.clone() };
        let mut sim = Sim::joined(joining, config).map_err(|error| AcrossError::Run(error.into()))?;
        for (subnet, stage) in self.subnet_ids().zip(&self.stages) {
            stage.load(&mut sim, self.place(subnet));
        }
        let acting = self.acting();
        let at = |subnet: SubnetId| self.joined.port(managers[subnet.index()]);
        let first = acting.first().copied().unwrap_or_default();
        let wrong = |error: crate::sim::SimError| AcrossError::Run(error.into());
        let mut transports = vec![SimTransport::attach(sim, at(first)).map_err(wrong)?];
        for &subnet in acting.iter().skip(1) {
            transports.push(transports[0].attach_another(at(subnet)).map_err(wrong)?);
        }
        Ok(transports)
    }

    /// The subnets in which something changes.
    fn acting(&self) -> Vec<SubnetId> {
        let changes = |id: &SubnetId| self.stages[id.index()].element != Element::Nothing;
        self.subnet_ids().filter(changes).collect()
    }

    fn sites<'b>(&'b self, transports: &[SimTransport]) -> Vec<Site<'b>> {
        let acting = self.acting().into_iter().zip(transports);
        let site = |(subnet, transport): (SubnetId, &SimTransport)| Site {
            scenario: &self.scenarios[subnet.index()],
            stage: &self.stages[subnet.index()],
            place: self.place(subnet),
            transport: transport.clone(),
        };
        acting.map(site).collect()
    }

    fn prepare(&self, sites: &[Site<'_>], engines: &Engines) -> Result<Vec<Prepared>, AcrossError> {
        let prepare = |site: &Site<'_>| {
            let subnet = self.subnets.subnet(site.place.subnet).name.clone();
            site.prepare(engines).map_err(|source| AcrossError::Subnet { subnet, source })
        };
        sites.iter().map(prepare).collect()
    }

    /// Whether the whole is free of deadlock at every moment.
    fn prove(&self, sites: &[Site<'_>], plans: &[Arc<Vetted>]) -> Result<AcrossStatistics, AcrossRefusal> {
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

/// Who may speak with whom, where the subnets or whoever asks speak of partitions.
fn partitioning(asked: &AcrossScenario, subnets: &Subnets, stages: &[Stage]) -> Option<Partitioning> {
    let managers: Vec<Option<PortId>> = stages.iter().map(|stage| Some(stage.sm)).collect();
    let spoken_of = asked.part_enforce.or(subnets.has_partitions().then_some(PartEnforce::Both));
    spoken_of.map(|enforce| Partitioning { keys: KeyTables::of(subnets, &managers), enforce })
}

/// What is in use in a subnet in which nothing changes: the lower half, by its hosts and routers.
fn scope(stage: &Stage) -> Scope {
    Scope { switches: false, ..Scope::of(&[Half::Lower]) }.by(stage.function.path_layers())
}

fn check_supported(asked: &AcrossScenario) -> Result<(), AcrossError> {
    match asked.change {
        AcrossChange::In { element: Element::Newcomer(_), .. } => {
            Err(AcrossError::Unsupported("nothing can be added among several subnets yet: give the subnet by itself"))
        }
        _ if asked.settings.policy.observer == crate::plan::Observer::Lifetime => Err(AcrossError::Unsupported(
            "drain by lifetime counts on lifetime limits, which routers have none of: choose token, poll or conservation",
        )),
        _ => Ok(()),
    }
}

/// What changes in one of the subnets.
fn element_in(asked: &AcrossScenario, id: SubnetId) -> Element {
    match asked.change {
        AcrossChange::In { subnet, element } if subnet == id => element,
        AcrossChange::Router(router) => {
            asked.subnets.router_node(router, id).map_or(Element::Nothing, Element::EndNode)
        }
        AcrossChange::In { .. } | AcrossChange::Nothing => Element::Nothing,
    }
}

fn perform(
    theatre: &Theatre<'_>,
    time: &mut Time<'_>,
    sites: &[Site<'_>],
    engines: &Engines,
    prepared: &[Prepared],
) -> Vec<Change> {
    let settings = &theatre.asked.settings;
    let transport = time.transport.clone();
    let mut drivers: Vec<_> = sites.iter().map(|site| site.driver(engines.after.clone(), &site.stage.before)).collect();
    sites.iter().zip(prepared).for_each(|(site, prepared)| site.make_known(prepared));
    transport.with(Sim::start);
    time.pass(settings.warm_up_ns);
    transport.with(Sim::begin_period);
    time.pass(settings.before_ns);
    transport.with(Sim::begin_period);
    let start_ns = time.now_ns();
    let sudden = settings.departure == super::Departure::Sudden;
    if !sudden {
        transport.with(|sim| sim.set_routes(theatre.routes_after.clone()));
    }
    sites.iter().for_each(Site::strike);
    let victims: Vec<NodeId> = sites.iter().filter_map(Site::victim).collect();
    if !victims.is_empty() {
        transport.with(|sim| sim.kill_nodes(&victims));
    }
    let until_ns = start_ns + settings.barrier_timeout_ns;
    let tasks = sites.iter().zip(&mut drivers).zip(prepared);
    let tasks: Vec<_> = tasks.map(|((site, driver), prepared)| site.task(driver, prepared.clone(), until_ns)).collect();
    let mut told = !sudden;
    let results = time.drive(tasks, |_, _, sim| {
        if !std::mem::replace(&mut told, true) {
            sim.set_routes(theatre.routes_after.clone());
        }
    });
    let mut results: Vec<Option<site::Driven>> = match results {
        Some(results) => results.into_iter().map(Some).collect(),
        None => sites.iter().map(|_| None).collect(),
    };
    let changes = sites.iter().zip(&drivers).zip(&mut results);
    let changes: Vec<Change> =
        changes.map(|((site, driver), result)| site.change(result.take(), driver, start_ns)).collect();
    transport.with(Sim::begin_period);
    if !sudden && !changes.is_empty() && changes.iter().all(|change| change.ending == Ending::Aborted) {
        // What was to leave stays.
        transport.with(|sim| sim.set_routes(theatre.routes.clone()));
    }
    sites.iter().zip(prepared).for_each(|(site, prepared)| site.ask_anew(prepared));
    if transport.with(|sim| sim.deadlock().is_none()) {
        time.pass(settings.after_ns);
        let completed = changes.iter().all(|change| change.ending == Ending::Completed);
        if completed && sites.iter().filter(|site| site.depart()).count() > 0 {
            time.pass(settings.after_ns / 4);
        }
        time.run_out();
    }
    transport.with(|sim| changes.into_iter().map(|change| judge(change, sim)).collect())
}
