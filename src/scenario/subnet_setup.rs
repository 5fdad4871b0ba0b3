//! One subnet prepared for a run: LIDs, R, what leaves and comes, the subnet manager's node, and loading R into a
//! simulation.

use super::ScenarioError;
use super::elements::{Element, Moves};
use super::engines::Engines;
use super::event::{LaterEvent, LaterMoves};
use super::setting::Scenario;
use crate::change::{self, BringUpError, CaptureSettings, DataVls};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, Lmc, Sl, SubnetId};
use crate::lid;
use crate::plan::{Arming, Lanes};
use crate::routing::{Connectivity, choose_root};
use crate::sim::{
    ArmedPort, Dispersal, Elements, MOST_PAIRED, OpenPath, OpenPaths, PathChoice, Sim, SimConfig, Traffic,
};
use crate::tables::{Crossings, NodeSlToVl, PathLayers, RoutingFunction, Selection, SubnetTables, address};
use std::sync::Arc;

/// Where a subnet's nodes and ports are in a simulation of several.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Placement {
    pub subnet: SubnetId,
    pub first_node: u32,
    pub first_port: u32,
}

impl Placement {
    pub fn node(self, node: NodeId) -> NodeId {
        NodeId(node.0 + self.first_node)
    }

    pub fn port(self, port: PortId) -> PortId {
        PortId(port.0 + self.first_port)
    }

    pub fn elements(self, elements: &Elements) -> Elements {
        Elements {
            nodes: elements.nodes.iter().map(|&node| self.node(node)).collect(),
            links: elements.links.iter().map(|&port| self.port(port)).collect(),
        }
    }
}

/// One subnet of a scenario, as specified.
#[derive(Clone, Copy)]
pub(super) struct SubnetRequest<'a> {
    pub scenario: &'a Scenario,
    pub subnet: SubnetId,
    pub data_vls: u8,
}

impl<'a> SubnetRequest<'a> {
    fn fabric(self) -> &'a Fabric {
        self.scenario.subnets.fabric(self.subnet)
    }

    fn elements(self) -> Vec<Element> {
        self.scenario.elements_in(self.subnet)
    }

    /// The manager's node, if chosen: only in a subnet that changes, since a node belongs to one subnet.
    fn sm(self) -> Option<NodeId> {
        self.scenario.sm.filter(|_| !self.elements().is_empty())
    }
}

/// The start of a run in one subnet. All fabrics share one index space.
#[derive(Clone)]
pub(super) struct SubnetSetup {
    /// Everything that is present before or after, LIDs assigned.
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
    /// What leaves and comes at first.
    pub moves: Moves,
    /// What happens after that.
    pub later: Vec<LaterMoves>,
    /// Everything but what comes later.
    pub at_first: Arc<Fabric>,
    /// The fabric after the first event: that of the end, if it is the only one.
    pub after_first: Arc<Fabric>,
    /// The port of the manager that stands by, if one does.
    pub standby: Option<PortId>,
    /// The simulation's settings; the caller sets the load.
    pub config: SimConfig,
}

impl SubnetSetup {
    /// Prepares a subnet, on more lanes than requested if the engines need them and the number is not fixed.
    ///
    /// # Errors
    /// Too few LIDs, lanes or links, an engine that cannot route the fabric, or an element that does not exist.
    pub fn new(request: SubnetRequest<'_>, engines: &Engines) -> Result<SubnetSetup, ScenarioError> {
        let lacks = |error: &ScenarioError| matches!(error, ScenarioError::BringUp(error) if error.wants_lanes());
        let vls = DataVls { given: request.data_vls, fixed: request.scenario.vls_fixed };
        vls.first_enough(DataVls::LAYERED, lacks, |data_vls| {
            SubnetSetup::on_lanes(SubnetRequest { data_vls, ..request }, engines)
        })
    }

    fn on_lanes(request: SubnetRequest<'_>, engines: &Engines) -> Result<SubnetSetup, ScenarioError> {
        let SubnetRequest { scenario, data_vls, .. } = request;
        let settings = CaptureSettings {
            data_vls,
            optimised_sl_to_vl: scenario.optimised_sl_to_vl,
            lmc: scenario.lmc,
            reserved_sl: scenario.policy.reserved_sl,
        };
        let whole = settings.equip(request.fabric())?;
        let before = before(request, &whole)?;
        let demand = if scenario.undivided { settings.whole_demand(&before) } else { settings.demand(&before) };
        let function = engines.before.route(&before, &demand).map_err(BringUpError::from)?;
        if scenario.undivided {
            if whole.end_ports().any(|port| whole.port(port).lmc != scenario.lmc) || scenario.lmc == Lmc::default() {
                let why =
                    "undivided LIDs are one range of one size: give the --lmc that all end ports have, 1 at least";
                return Err(ScenarioError::Unsupported(why));
            }
            return SubnetSetup::with(request, whole, function);
        }
        if scenario.lmc_fixed {
            lid::check_fits(&whole, &function).map_err(BringUpError::from)?;
            return SubnetSetup::with(request, whole, function);
        }
        let setup = SubnetSetup::with(request, whole, function)?;
        let fitted = {
            let sm = setup.sm_in(&setup.after);
            settings.fitted(&setup.whole, &setup.function, &setup.after, sm, &*engines.after)?
        };
        // Only R′, computed on the fabric after the change, shows how many LIDs it needs. If it needs more, the fabric
        // has them from the start, and R keeps the paths that it was computed with.
        if fitted == *setup.whole { Ok(setup) } else { SubnetSetup::with(request, fitted, setup.function) }
    }

    fn with(
        request: SubnetRequest<'_>,
        whole: Fabric,
        function: RoutingFunction,
    ) -> Result<SubnetSetup, ScenarioError> {
        let scenario = request.scenario;
        let lanes = change::data_vls(&whole);
        let before = before(request, &whole)?;
        let root = || {
            let root = function.root().or_else(|| choose_root(&before));
            root.ok_or(ScenarioError::NoRoot { engine: function.engine() })
        };
        let moves = Moves::of(&request.elements(), &whole, root)?;
        let later = later(request, &whole)?;
        let at_first = later.iter().fold(whole.clone(), |rest, event| event.moves.coming.taken_from(&rest));
        let after_first = moves.leaving.taken_from(&at_first);
        let after = later.iter().fold(moves.leaving.taken_from(&whole), |rest, event| event.applied_to(&rest));
        // Where another manager stands by, the first one may leave.
        let standby = scenario.standby.map(|standby| standby.node);
        let standby = standby.map(|node| change::manager_port(&before, &after, Some(node))).transpose()?;
        let sm = change::manager_port(&before, if standby.is_some() { &before } else { &after }, request.sm())?;
        if standby.is_some_and(|port| before.port(port).node == before.port(sm).node) {
            return Err(ScenarioError::Unsupported("the manager that stands by is on the node of the first one"));
        }
        if standby.is_some() && after.peer(sm).is_some() {
            let why = "a manager stands by, and nothing that happens stops the first one: name another one (--sm), or omit it";
            return Err(ScenarioError::Unsupported(why));
        }
        let kept = Lanes::of_fabric(&whole, scenario.policy.reserved_sl);
        let steady = kept.steady(scenario.policy.partition);
        let bring_up = if scenario.undivided { lid::bring_up_undivided } else { lid::bring_up };
        let tables = bring_up(&whole, &function, lanes).on_lanes(steady);
        let mut config = SimConfig {
            data_vls: lanes,
            armed: armed(scenario.policy.arming),
            reserved: kept.reserved,
            undivided: scenario.undivided,
            // The time at which a host asks again is unknown; within the fence's time all do. 0 would mean that none
            // ever does.
            queries_within_ns: scenario.sources.settle_ns().map_or(0, |settle_ns| settle_ns.max(1)),
            ..scenario.sim.clone()
        };
        if scenario.worst_traffic {
            config.traffic = worst(&whole, &before, &function, config.dispersal)?;
        }
        Ok(SubnetSetup {
            whole: Arc::new(whole),
            before: Arc::new(before),
            after: Arc::new(after),
            function,
            tables,
            sm,
            moves,
            later,
            at_first: Arc::new(at_first),
            after_first: Arc::new(after_first),
            standby,
            config,
        })
    }

    /// The port of the subnet manager in a state of the fabric: the one that stands by, where the first one is gone.
    pub fn sm_in(&self, fabric: &Fabric) -> PortId {
        self.standby.filter(|_| fabric.peer(self.sm).is_none()).unwrap_or(self.sm)
    }

    /// Whether a node leaves, at first or later.
    pub fn leaves(&self, node: NodeId) -> bool {
        let moves = std::iter::once(&self.moves).chain(self.later.iter().map(|event| &event.moves));
        moves.into_iter().any(|moves| moves.leaving.nodes.contains(&node))
    }

    /// Loads R, as found running, into the simulation of this subnet, or of several among which it has this place.
    pub fn load(&self, sim: &mut Sim, place: Placement) {
        for (switch, block, entries) in self.tables.lft_blocks(&self.whole) {
            sim.load_lft_block(place.node(switch), block, &entries);
        }
        for (node, _) in self.whole.nodes() {
            if let NodeSlToVl::Uniform(table) = &*self.tables.sl_to_vl[node.index()] {
                sim.load_sl_to_vl(place.node(node), |sl| table.get(sl));
            }
        }
        sim.load_half_in(place.subnet, Half::Lower);
        sim.load_ways(place.subnet, Half::Lower, ways(self.function.path_layers()));
        let Some(lid) = self.whole.port(self.sm).lid else { return };
        for (port, _) in self.whole.ports() {
            sim.load_master_sm_at(place.port(port), lid, Sl::default());
        }
        let Some(ways) = self.function.path_layers() else { return };
        for port in self.before.lid_ports() {
            if let Some((lid, sl)) = address(&self.whole, Some(&**ways), port, self.sm, Half::Lower) {
                sim.load_master_sm_at(place.port(port), lid, sl);
            }
        }
    }
}

/// The behaviour of ARMED ports under a policy.
fn armed(arming: Arming) -> ArmedPort {
    match arming {
        Arming::Discard => ArmedPort::Discards,
        Arming::Hold | Arming::HoldEach | Arming::Off => ArmedPort::Holds,
    }
}

/// The paths of a routing function that sources know.
pub(super) fn ways(layers: Option<&Arc<PathLayers>>) -> Option<OpenPaths> {
    layers.cloned().map(|layers| -> OpenPaths {
        Arc::new(move |source, destination, number| {
            let of = layers.ways(source, destination).count().max(1);
            let chosen = layers.ways(source, destination).nth(number as usize % of);
            chosen.map(|(path, level)| OpenPath { path: path as u16, level, of: of as u16 })
        })
    })
}

/// The permutation that a routing function serves worst, given how sources use its paths. Its ranks are those of the
/// routed end ports; the simulation also counts those that come later.
fn worst(
    whole: &Fabric,
    before: &Fabric,
    function: &RoutingFunction,
    dispersal: Dispersal,
) -> Result<Traffic, ScenarioError> {
    let crossings = Crossings::of(before, function, selection(dispersal));
    let permutation = crossings.worst().ok_or(ScenarioError::NoWorst)?.permutation;
    let all: Vec<PortId> = whole.end_ports_by_rank().filter(|&port| whole.port(port).lid.is_some()).collect();
    let rank = |port: PortId| all.iter().position(|&other| other == port).map(|rank| rank as u32);
    let ranks: Vec<Option<u32>> = crossings.ends().iter().map(|&port| rank(port)).collect();
    let mut pairs: Vec<u32> = (0..all.len() as u32).collect();
    for (source, &destination) in permutation.iter().enumerate() {
        if let (Some(source), Some(destination)) = (ranks[source], ranks[destination as usize]) {
            pairs[source as usize] = destination;
        }
    }
    Ok(Traffic::Pairs(pairs))
}

/// The sources' use of paths as a selection for permutations.
pub fn selection(dispersal: Dispersal) -> Selection {
    let most = dispersal.paths.map_or(usize::MAX, usize::from);
    match dispersal.choice {
        PathChoice::Base => Selection::Base,
        PathChoice::Single => Selection::Single,
        PathChoice::Paired => Selection::Spread(most.min(MOST_PAIRED.into())),
        PathChoice::All => Selection::Spread(most),
    }
}

/// The later events of the subnet.
fn later(request: SubnetRequest<'_>, whole: &Fabric) -> Result<Vec<LaterMoves>, ScenarioError> {
    let no_root = || Err(ScenarioError::Unsupported("what is the root of R later is not known: name the switch"));
    let resolved = |event: &LaterEvent| {
        let moves = Moves::of(&event.elements, whole, no_root)?;
        Ok(LaterMoves { at: event.at, moves, plugged: event.plugged.clone() })
    };
    request.scenario.later.iter().map(resolved).collect()
}

/// The fabric before the change: without newcomers, and without parts that only they connect to the manager.
fn before(request: SubnetRequest<'_>, whole: &Fabric) -> Result<Fabric, ScenarioError> {
    let elements = request.elements();
    let known: Vec<Element> = elements.iter().copied().filter(|element| *element != Element::Root).collect();
    let no_root = || unreachable!("the root is left out");
    let Moves { leaving, coming, .. } = Moves::of(&known, whole, no_root)?;
    let later = later(request, whole)?;
    if coming.is_empty() && later.iter().all(|event| event.moves.coming.is_empty()) {
        return Ok(whole.clone());
    }
    let rest = later.iter().fold(coming.taken_from(whole), |rest, event| event.moves.coming.taken_from(&rest));
    let stays = if request.scenario.standby.is_some() { rest.clone() } else { leaving.taken_from(&rest) };
    let sm = change::manager_port(&rest, &stays, request.sm())?;
    let links = Connectivity::of(&rest);
    let joined = |node| rest.ports_of(node).any(|port| links.joins(port, sm));
    let apart: Vec<NodeId> = rest.nodes().map(|(id, _)| id).filter(|&id| !joined(id)).collect();
    Ok(rest.without_nodes(&apart))
}
