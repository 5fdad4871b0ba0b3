//! Plans for what OpenSM may meet: from values to a vetted plan, or a reason why there is none.
//!
//! On entry: fabrics and tables over one index space. On return: a plan that prover, checker and lint accept, of scheme
//! `ordered` where the tables in force serve everything, of scheme `recover` where they do not. Everything is on one
//! lane, or on the layers of levels that were given out ([`crate::levels`]), which no plan changes. Deliberately
//! omitted: what is done where there is none (`decision`).

use crate::levels::{GivenLevels, PathLevelsError};
use crate::memory::ThenAndNow;
use crate::sight::Sight;
use reconfig::change::{
    self, ChangeBase, ChangeError, ChangeInput, InForce, RecoveryInput, engine_listed, engine_named,
};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Half, Lid, VlSet};
use reconfig::lid;
use reconfig::plan::{self, Lanes, Observer, PlanError, PlanInput, Policy, Scheme, TableStep};
use reconfig::repair::{Budget, RepairInput, repair};
use reconfig::routing::{Demand, Engine, Parameters, RouteError, chosen_root, stranded, switch_order};
use reconfig::tables::{Lft, PathLayers, RoutingFunction, SubnetTables};
use reconfig::verify::{
    self, InjectionRules, ProofStatistics, ProofWave, Refusal, Scope, Transition, UnicastWaits, prove_tables,
};
use reconfig::vet::{Objection, Vetted, vet};
use std::sync::Arc;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoPlan {
    /// The base engine cannot route the fabric.
    #[error(transparent)]
    Route(RouteError),
    /// What the base engine computed needs service levels that OpenSM's hosts do not have.
    #[error(
        "engine {engine} separates paths by {layers} virtual layers, and hosts have no service levels for them: name \
         another under `engine`, such as nue, which makes do with one, or see `layers` in OPENSM.md and what it takes"
    )]
    Layers {
        /// The engine.
        engine: &'static str,
        /// Layers.
        layers: usize,
    },
    /// There are no levels for the tables of an engine.
    #[error("service levels for the tables of {engine}: {why}")]
    Levels {
        /// The engine.
        engine: &'static str,
        /// Why not.
        why: PathLevelsError,
    },
    /// Fewer lanes than levels were given out for.
    #[error(
        "service levels were given out for {needed} data lanes, and OpenSM offers {offered} on every link: replace what has \
         fewer, and leave `qos TRUE` and its SL-to-VL tables as they were"
    )]
    Lanes {
        /// Lanes of the levels.
        needed: u8,
        /// Lanes there are.
        offered: u8,
    },
    /// The change cannot be made.
    #[error(transparent)]
    Change(#[from] Box<ChangeError>),
    /// There is no way to mend what was found.
    #[error("mending what was found in force: {0}")]
    Unrecovered(String),
    /// The tables cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A judge objects.
    #[error("{0}")]
    Objection(Objection),
}

impl From<RouteError> for NoPlan {
    fn from(why: RouteError) -> NoPlan {
        match why {
            RouteError::TooFewLayers { engine, needed, .. } => NoPlan::Layers { engine, layers: needed },
            why => NoPlan::Route(why),
        }
    }
}

/// The scope of everything: all LIDs, on every service level, switches' own included.
fn scope(fabric: &Fabric) -> Scope {
    Scope::of(fabric.halves())
}

fn policy() -> Policy {
    Policy { observer: Observer::Lifetime, ..Policy::default() }
}

/// The base engines.
pub struct BaseEngines {
    /// The first that can route is taken.
    pub listed: Box<dyn Engine>,
    /// One by one, where there may be other reasons to pass one over.
    pub singly: Vec<Box<dyn Engine>>,
}

impl BaseEngines {
    /// Those of these names.
    ///
    /// # Errors
    /// There is no engine of a name.
    pub fn named(names: &[String]) -> Result<BaseEngines, RouteError> {
        let parameters = Parameters::default();
        let singly = names.iter().map(|name| engine_named(name, &parameters)).collect::<Result<_, _>>()?;
        Ok(BaseEngines { listed: engine_listed(names, &parameters)?, singly })
    }
}

/// Who sends on which layer, if that matters.
pub type LayeredWays = Option<Arc<PathLayers>>;

/// Tables on as many lanes as the fabric has, each service level in turn on its own, sources on the lower half.
fn on_lanes(fabric: &Fabric, lfts: Vec<Arc<Lft>>) -> SubnetTables {
    let table = Lanes::steady_table(fabric, &policy());
    let mut tables = SubnetTables::new(fabric, table, Half::Lower);
    tables.lfts = lfts;
    tables
}

/// Layers in use.
fn layers(ways: &LayeredWays) -> u8 {
    ways.as_ref().map_or(1, |ways| ways.layers())
}

/// Who sends what.
fn senders(fabric: &Fabric, ways: &LayeredWays) -> InjectionRules {
    let mut senders = InjectionRules::default();
    fabric.halves().iter().for_each(|half| senders.injected[half.index()] = true);
    senders.ways[Half::Lower.index()] = ways.iter().cloned().collect();
    senders
}

/// Rounds, of a lifetime each, after which no packet is left that was sent before the tables in force were written
/// everywhere; `before` is what they may still lead into.
pub fn rounds_to_age(before: &Fabric, sight: &Sight) -> u32 {
    verify::rounds_to_age(before, &sight.fabric, &on_lanes(&sight.fabric, sight.lfts.clone())) as u32
}

/// Proves tables that are in force by themselves.
///
/// # Errors
/// What is wrong with them.
pub fn prove_in_force(sight: &Sight) -> Result<ProofStatistics, Refusal> {
    let tables = on_lanes(&sight.fabric, sight.lfts.clone());
    prove_tables(&sight.fabric, &tables, &scope(&sight.fabric).by(sight.ways.as_ref()))
        .map(|proof| proof.statistics().clone())
}

/// A wave over a subnet of which it is known what was in force.
struct Beside<'a> {
    whole: &'a Fabric,
    now: &'a Fabric,
    tables: [SubnetTables; 2],
    ways: LayeredWays,
}

impl Transition for Beside<'_> {
    fn fabric(&self) -> &Fabric {
        self.whole
    }

    fn surviving(&self) -> &Fabric {
        self.now
    }

    fn waves(&self) -> Vec<ProofWave<'_>> {
        let InjectionRules { injected, ways } = senders(self.whole, &self.ways);
        let [before, after] = &self.tables;
        let (empty, gone) = (VlSet::EMPTY, [false; 2]);
        vec![ProofWave { name: "rewrite".to_string(), before, after, injected, ways, empty, gone, aged: None }]
    }

    fn begins_with_losses(&self) -> bool {
        true
    }
}

/// Proves that tables go with all that the tables before have led anywhere, over what has died meanwhile too. By node
/// of what is known; rows without a way stay lost, and no other is.
///
/// # Errors
/// What is wrong.
pub fn prove_beside(known: &ThenAndNow, wanted: &[Arc<Lft>], ways: LayeredWays) -> Result<(), Refusal> {
    let tables = [known.lfts.clone(), wanted.to_vec()].map(|lfts| on_lanes(&known.whole, lfts));
    let beside = Beside { whole: &known.whole, now: &known.now, tables, ways };
    verify::prove(beside).map(drop).map_err(|(_, refusal)| refusal)
}

/// What unicast packets can wait for by tables; rows without a way lose what comes to them.
///
/// # Errors
/// What is wrong with them, but for cycles.
pub fn waits(fabric: &Fabric, lfts: &[Arc<Lft>], ways: &LayeredWays) -> Result<UnicastWaits, Refusal> {
    let scope = Scope { losses: true, ..scope(fabric) }.by(ways.as_ref());
    UnicastWaits::of_tables(fabric, &on_lanes(fabric, lfts.to_vec()), &scope)
}

/// The same in every mixture of two tables.
///
/// # Errors
/// What is wrong with them, but for cycles.
pub fn waits_while_written(
    fabric: &Fabric,
    before: &[Arc<Lft>],
    after: &[Arc<Lft>],
    ways: &LayeredWays,
) -> Result<UnicastWaits, Refusal> {
    let tables = [before, after].map(|lfts| on_lanes(fabric, lfts.to_vec()));
    UnicastWaits::of(&Beside { whole: fabric, now: fabric, tables, ways: ways.clone() })
}

/// What the base engine makes of what OpenSM's port reaches, and its tables.
///
/// # Errors
/// It cannot route the fabric, or not on one layer.
pub fn rerouted(
    engine: &dyn Engine,
    fabric: &Fabric,
    sm: PortId,
) -> Result<(Arc<RoutingFunction>, Vec<Arc<Lft>>), NoPlan> {
    let lids = fabric.end_ports().map(|port| usize::from(fabric.port(port).lmc.lids() / 2)).min();
    let demand = Demand::joined_with(fabric, sm, lids.unwrap_or(1).max(1)).within(1);
    let function = on_one_layer(engine.route(fabric, &demand)?)?;
    let lfts = lid::realise(fabric, &function, &[Half::Lower, Half::Upper]);
    Ok((Arc::new(function), lfts))
}

/// Tables by which each LID of a port has a path of its own, as far as the base engine has as many: path k on the k-th.
///
/// # Errors
/// As [`rerouted`].
fn spread(engine: &dyn Engine, fabric: &Fabric, sm: PortId) -> Result<Vec<Arc<Lft>>, NoPlan> {
    let lids = fabric.end_ports().map(|port| usize::from(fabric.port(port).lmc.lids())).min();
    let demand = Demand::joined_with(fabric, sm, lids.unwrap_or(1).max(1)).within(1);
    let function = on_one_layer(engine.route(fabric, &demand)?)?;
    let mut lfts = vec![Lft::new(); fabric.node_count()];
    for (rank, &port) in function.destinations().iter().enumerate() {
        let held = fabric.port(port);
        let lids = held.lid.into_iter().flat_map(|lid| (lid.0..lid.0 + held.lmc.lids()).map(Lid));
        for (lid, k) in lids.zip(0..) {
            for switch in fabric.switches() {
                if let Some(output) = function.output(switch, rank, k % function.needed(rank)) {
                    lfts[switch.index()].set(lid, output);
                }
            }
        }
    }
    Ok(lfts.into_iter().map(Arc::new).collect())
}

/// Tables of the first base engine that does with these lanes, and levels for them if it needs more than one.
///
/// # Errors
/// What is wrong with the last.
fn layered(
    engines: &[Box<dyn Engine>],
    sight: &Sight,
    most: u8,
) -> Result<(Vec<Arc<Lft>>, Option<GivenLevels>), NoPlan> {
    let lanes = sight.lanes.min(most);
    let fabric = sight.fabric.with_lanes(lanes);
    let mut refused = None;
    for engine in engines {
        match levelled(&**engine, &fabric, sight.sm, lanes) {
            Ok(found) => return Ok(found),
            Err(why) => refused = Some(why),
        }
    }
    Err(refused.expect("settings name an engine"))
}

fn levelled(
    engine: &dyn Engine,
    fabric: &Fabric,
    sm: PortId,
    lanes: u8,
) -> Result<(Vec<Arc<Lft>>, Option<GivenLevels>), NoPlan> {
    let function = engine.route(fabric, &Demand::joined_with(fabric, sm, 1).within(lanes))?;
    if function.path_layers().is_none() {
        return rerouted(engine, fabric, sm).map(|(_, lfts)| (lfts, None));
    }
    let engine = function.engine();
    let lfts = lid::realise(fabric, &function, &[Half::Lower]);
    let levels = GivenLevels::assign(fabric, &lfts, lanes).map_err(|why| NoPlan::Levels { engine, why })?;
    Ok((lfts, Some(levels)))
}

/// All tables anew, by the base engine, and the levels that hosts must send on then.
///
/// # Errors
/// It cannot route the fabric.
pub fn rewritten(
    engines: &BaseEngines,
    sight: &Sight,
    most: u8,
) -> Result<(Vec<Arc<Lft>>, Option<GivenLevels>), NoPlan> {
    match sight.lanes.min(most) {
        0 | 1 => Ok((rerouted(&*engines.listed, &sight.fabric.with_lanes(1), sight.sm)?.1, None)),
        _ => layered(&engines.singly, sight, most),
    }
}

/// A routing, if it makes do with one layer.
fn on_one_layer(function: RoutingFunction) -> Result<RoutingFunction, NoPlan> {
    if function.path_layers().is_some() || function.layers() > 1 {
        return Err(NoPlan::Layers { engine: function.engine(), layers: usize::from(function.layers()) });
    }
    Ok(function)
}

/// What a change begins with, by the nodes of `before`.
pub fn in_force(before: Arc<Fabric>, lfts: Vec<Arc<Lft>>, sm: PortId, ways: LayeredWays) -> InForce {
    InForce {
        tables: on_lanes(&before, lfts),
        layers: layers(&ways),
        ways,
        old: Half::Lower,
        both_halves: before.has_both_halves(),
        policy: policy(),
        sm,
        before,
    }
}

/// A change from what is in force to what serves `surviving`: a loss, or an arrival, not both. What is known of the
/// routing in force shortens it; on large fabrics, and where `hurries`, the plan then gives ways to all hosts and may
/// leave the rest to the next change ([`change::prepare_at_once`]).
///
/// # Errors
/// What [`NoPlan`] lists.
pub fn changed(
    engine: &dyn Engine,
    from: InForce,
    surviving: Arc<Fabric>,
    base: Option<&ChangeBase>,
    hurries: bool,
) -> Result<Arc<Vetted>, NoPlan> {
    let InForce { before, tables, layers, ways, old, both_halves, policy, sm } = from;
    let input = ChangeInput {
        before,
        tables,
        layers,
        ways,
        old,
        both_halves,
        engine,
        scheme: Scheme::Ordered,
        policy,
        sm,
        base,
        after: surviving.clone(),
        surviving,
    };
    let at_once = if hurries { change::prepare_at_once(&input).map(|prepared| prepared.plan) } else { None };
    let whole = || change::prepare(input).map(|prepared| prepared.plan);
    at_once.map_or_else(whole, Ok).map_err(|error| NoPlan::Change(Box::new(error)))
}

/// From tables that lead from some rows nowhere to the base engine's, all in one wave.
///
/// # Errors
/// What [`NoPlan`] lists.
pub fn from_nothing(engine: &dyn Engine, sight: &Sight) -> Result<Arc<Vetted>, NoPlan> {
    let (_, target) = rerouted(engine, &sight.fabric, sight.sm)?;
    in_one_wave(sight, target)
}

/// The same, to tables that are known.
///
/// # Errors
/// What [`NoPlan`] lists.
pub fn in_one_wave(sight: &Sight, target: Vec<Arc<Lft>>) -> Result<Arc<Vetted>, NoPlan> {
    let initial = on_lanes(&sight.fabric, sight.lfts.clone());
    let step = TableStep { lfts: target.clone(), aged_before: false };
    vetted(Scheme::Recover, sight, (initial, target), vec![step], true)
}

/// A bring-up, proved.
pub struct FirstTables {
    /// What was seen, on as many lanes as are used.
    pub sight: Sight,
    /// By node: the tables.
    pub lfts: Vec<Arc<Lft>>,
    /// Service levels, where one lane does not suffice.
    pub levels: Option<GivenLevels>,
    /// What the proof covers.
    pub proof: ProofStatistics,
}

/// The base engine's tables, proved by themselves: where no switch has any entry, each mixture with what is in force is
/// a part of them, by which fewer packets arrive and no other dependency exists. `most` lanes may be used.
///
/// # Errors
/// It cannot route the fabric, or its tables do not serve all of it.
pub fn brought_up(engines: &BaseEngines, sight: &Sight, most: u8) -> Result<FirstTables, NoPlan> {
    let engine = &*engines.listed;
    let (lfts, levels) = match (sight.lanes.min(most), sight.fabric.has_both_halves()) {
        (_, true) => (spread(engine, &sight.fabric, sight.sm)?, None),
        (2.., false) => layered(&engines.singly, sight, most)?,
        (_, false) => (rerouted(engine, &sight.fabric, sight.sm)?.1, None),
    };
    let sight = match &levels {
        Some(levels) => sight.with_lanes(levels.lanes(), |fabric| levels.ways(fabric)),
        None => Sight { fabric: Arc::new(sight.fabric.with_lanes(1)), ways: None, ..sight.clone() },
    };
    let proof = prove_in_force(&Sight { lfts: lfts.clone(), ..sight.clone() });
    let proof = proof.map_err(|refusal| NoPlan::Objection(Objection::Refused(refusal)))?;
    Ok(FirstTables { sight, lfts, levels, proof })
}

/// From tables that serve some rows and not others, intact ones kept where they can be.
///
/// # Errors
/// What [`NoPlan`] lists.
pub fn mended(engine: &dyn Engine, sight: &Sight) -> Result<Arc<Vetted>, NoPlan> {
    if sight.ways.is_some() {
        return mended_on_layers(sight);
    }
    let (function, _) = rerouted(engine, &sight.fabric, sight.sm)?;
    let recovery = change::prepare_recovery(&RecoveryInput {
        fabric: sight.fabric.clone(),
        tables: on_lanes(&sight.fabric, sight.lfts.clone()),
        in_use: Half::Lower,
        policy: policy(),
        sm: sight.sm,
        function,
        may_close: false,
    });
    match recovery {
        Ok(recovery) => Ok(recovery.prepared.plan),
        Err(unrecovered) => from_nothing(engine, sight)
            .map_err(|other| NoPlan::Unrecovered(format!("{unrecovered}; all tables in one wave: {other}"))),
    }
}

/// A repair of what OpenSM has routed, while all that it sees stays.
fn by_entries<'a>(sight: &'a Sight, tables: &'a SubnetTables, senders: &'a InjectionRules) -> RepairInput<'a> {
    RepairInput { answerer: Some(sight.sm), ..RepairInput::quiet(&sight.fabric, tables, senders) }
}

/// The same where levels were given out: rows without a way get one on the layers that sources send on.
fn mended_on_layers(sight: &Sight) -> Result<Arc<Vetted>, NoPlan> {
    let fabric = &*sight.fabric;
    let initial = on_lanes(fabric, sight.lfts.clone());
    let senders = senders(fabric, &sight.ways);
    let found = repair(&RepairInput {
        budget: Budget { renewals: 0, ..Budget::default() },
        ..by_entries(sight, &initial, &senders)
    });
    let found = found.map_err(|error| NoPlan::Unrecovered(error.to_string()))?;
    if let Some(first) = found.unsolved.first() {
        let switch = fabric.describe_node(first.switch);
        let count = found.unsolved.len();
        let (text, lid) =
            ("rows (switch and LID) find no way on the service levels of their hosts, among them", first.lid);
        return Err(NoPlan::Unrecovered(format!("{count} {text} {switch} to LID {lid}")));
    }
    let steps = found.waves.into_iter().map(|wave| TableStep { lfts: wave.lfts, aged_before: wave.aged_before });
    let steps: Vec<TableStep> = steps.collect();
    let last = steps.last().map_or(&sight.lfts, |step| &step.lfts).clone();
    vetted(Scheme::Recover, sight, (initial, last), steps, true)
}

/// Waves that shorten ways and spread loads; none where the tables in force are as good as what would come of it.
///
/// # Errors
/// What [`NoPlan`] lists.
pub fn renewed(
    engines: &BaseEngines,
    sight: &Sight,
    levels: Option<&GivenLevels>,
) -> Result<Option<Arc<Vetted>>, NoPlan> {
    let fabric = &*sight.fabric;
    let (target, order) = match levels {
        // Other ways than those that these levels were made for need not go with them.
        Some(levels) => match layered(&engines.singly, sight, levels.lanes())? {
            (target, Some(own)) if own.agrees_with(levels) => (target, None),
            _ => return Ok(None),
        },
        None => {
            let (function, target) = rerouted(&*engines.listed, fabric, sight.sm)?;
            let engine = function.engine();
            let order = chosen_root(engine, fabric).and_then(|root| switch_order(engine, fabric, root));
            let parted = fabric.has_both_halves().then(|| spread(&*engines.listed, fabric, sight.sm)).transpose()?;
            (parted.unwrap_or(target), order)
        }
    };
    let initial = on_lanes(fabric, sight.lfts.clone());
    let senders = senders(fabric, &sight.ways);
    let aims = by_entries(sight, &initial, &senders);
    let found = repair(&RepairInput { target: Some(&target), order: order.as_deref(), ..aims });
    let found = found.map_err(|error| NoPlan::Change(Box::new(ChangeError::Repair(error))))?;
    // A wave that would have to wait for what was sent before is not worth it: nothing is lost without it.
    let steps = found.waves.into_iter().take_while(|wave| !wave.aged_before);
    let steps: Vec<TableStep> = steps.map(|wave| TableStep { lfts: wave.lfts, aged_before: false }).collect();
    let Some(last) = steps.last().map(|step| step.lfts.clone()).filter(|last| *last != sight.lfts) else {
        return Ok(None);
    };
    vetted(Scheme::Ordered, sight, (initial, last), steps, false).map(Some)
}

/// A plan on a fabric that stays as it is, judged.
fn vetted(
    scheme: Scheme,
    sight: &Sight,
    (initial, target): (SubnetTables, Vec<Arc<Lft>>),
    steps: Vec<TableStep>,
    begins_with_losses: bool,
) -> Result<Arc<Vetted>, NoPlan> {
    let fabric = &sight.fabric;
    let plan = plan::plan(
        scheme,
        PlanInput {
            before: fabric.clone(),
            routed: fabric.clone(),
            surviving: fabric.clone(),
            after: fabric.clone(),
            initial,
            target,
            steps,
            discards_turned_back: false,
            closes: false,
            old: Half::Lower,
            both_halves: fabric.has_both_halves(),
            begins_with_losses,
            leaves_losses: false,
            policy: policy(),
            sm: sight.sm,
            stranded: stranded(fabric, fabric, sight.sm),
            old_layers: layers(&sight.ways),
            new_layers: layers(&sight.ways),
            drain: Vec::new(),
            old_ways: sight.ways.clone(),
            new_ways: sight.ways.clone(),
        },
    )?;
    let plan = plan.prove_switch_management();
    vet(plan).map(Arc::new).map_err(|objected| NoPlan::Objection(objected.1))
}
