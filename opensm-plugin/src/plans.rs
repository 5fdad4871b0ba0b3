//! Plans for what OpenSM may meet: from values to a vetted plan, or a reason why there is none.
//!
//! On entry: fabrics and tables over one index space. On return: a plan that prover, checker and lint accept, of scheme
//! `ordered` where the tables in force serve everything, of scheme `recover` where they do not. Everything is on one lane
//! ([`crate::sight`]). Deliberately omitted: what is done where there is none (`decision`).

use crate::memory::Comparison;
use crate::sight::Sight;
use reconfig::change::{self, ChangeBase, ChangeError, ChangeInput, InForce, RecoveryInput};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Half, Lid, Vl, VlSet};
use reconfig::lid;
use reconfig::plan::{self, Observer, PlanError, PlanInput, Policy, Scheme, TableStep};
use reconfig::repair::{Budget, RepairInput, repair};
use reconfig::routing::{Demand, Engine, RouteError, choose_root, stranded, switch_order};
use reconfig::tables::{Lft, RoutingFunction, SlToVl, SubnetTables};
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
        "engine {engine} separates paths by {layers} virtual layers, and this engine leaves service levels as they are: \
         name another under `engine`, such as nue, which makes do with one"
    )]
    Layers {
        /// The engine.
        engine: &'static str,
        /// Layers.
        layers: usize,
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

/// Tables on one lane, sources on the lower half.
fn on_one_lane(fabric: &Fabric, lfts: Vec<Arc<Lft>>) -> SubnetTables {
    let mut tables = SubnetTables::new(fabric, SlToVl::from_fn(|_| Vl::default()), Half::Lower);
    tables.lfts = lfts;
    tables
}

/// Proves tables that are in force by themselves.
///
/// # Errors
/// What is wrong with them.
pub fn prove_in_force(sight: &Sight) -> Result<(), Refusal> {
    let tables = on_one_lane(&sight.fabric, sight.lfts.clone());
    prove_tables(&sight.fabric, &tables, &scope(&sight.fabric)).map(drop)
}

/// A wave over a subnet of which it is known what was in force.
struct Beside<'a> {
    whole: &'a Fabric,
    now: &'a Fabric,
    tables: [SubnetTables; 2],
}

impl Transition for Beside<'_> {
    fn fabric(&self) -> &Fabric {
        self.whole
    }

    fn surviving(&self) -> &Fabric {
        self.now
    }

    fn waves(&self) -> Vec<ProofWave<'_>> {
        let mut injected = [false; 2];
        self.whole.halves().iter().for_each(|half| injected[half.index()] = true);
        let [before, after] = &self.tables;
        let ways = Default::default();
        let (empty, gone) = (VlSet::EMPTY, [false; 2]);
        vec![ProofWave { name: "rewrite".to_string(), before, after, injected, ways, empty, gone, aged: None }]
    }

    fn begins_with_losses(&self) -> bool {
        true
    }
}

/// Proves that tables go with all that the tables before have led anywhere, over what has died meanwhile too. By node of
/// what is known; rows without a way stay lost, and no other is.
///
/// # Errors
/// What is wrong.
pub fn prove_beside(known: &Comparison, wanted: &[Arc<Lft>]) -> Result<(), Refusal> {
    let tables = [known.lfts.clone(), wanted.to_vec()].map(|lfts| on_one_lane(&known.whole, lfts));
    let beside = Beside { whole: &known.whole, now: &known.now, tables };
    verify::prove(beside).map(drop).map_err(|(_, refusal)| refusal)
}

/// What unicast packets can wait for by tables; rows without a way lose what comes to them.
///
/// # Errors
/// What is wrong with them, but for cycles.
pub fn waits(fabric: &Fabric, lfts: &[Arc<Lft>]) -> Result<UnicastWaits, Refusal> {
    UnicastWaits::of_tables(fabric, &on_one_lane(fabric, lfts.to_vec()), &Scope { losses: true, ..scope(fabric) })
}

/// The same in every mixture of two tables.
///
/// # Errors
/// What is wrong with them, but for cycles.
pub fn waits_while_written(fabric: &Fabric, before: &[Arc<Lft>], after: &[Arc<Lft>]) -> Result<UnicastWaits, Refusal> {
    let tables = [before, after].map(|lfts| on_one_lane(fabric, lfts.to_vec()));
    UnicastWaits::of(&Beside { whole: fabric, now: fabric, tables })
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

/// A routing, if it makes do with one layer.
fn on_one_layer(function: RoutingFunction) -> Result<RoutingFunction, NoPlan> {
    if function.path_layers().is_some() || function.layers() > 1 {
        return Err(NoPlan::Layers { engine: function.engine(), layers: usize::from(function.layers()) });
    }
    Ok(function)
}

/// What a change begins with, by the nodes of `before`.
pub fn in_force(before: Arc<Fabric>, lfts: Vec<Arc<Lft>>, sm: PortId) -> InForce {
    InForce {
        tables: on_one_lane(&before, lfts),
        layers: 1,
        ways: None,
        old: Half::Lower,
        both_halves: before.has_both_halves(),
        policy: policy(),
        sm,
        before,
    }
}

/// A change from what is in force to what serves `surviving`: a loss, or an arrival, not both. What is known of the
/// routing in force shortens it, and changes nothing else.
///
/// # Errors
/// What [`NoPlan`] lists.
pub fn changed(
    engine: &dyn Engine,
    from: InForce,
    surviving: Arc<Fabric>,
    base: Option<&ChangeBase>,
) -> Result<Arc<Vetted>, NoPlan> {
    let InForce { before, tables, layers, ways, old, both_halves, policy, sm } = from;
    let prepared = change::prepare(ChangeInput {
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
    });
    prepared.map(|prepared| prepared.plan).map_err(|error| NoPlan::Change(Box::new(error)))
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
    let initial = on_one_lane(&sight.fabric, sight.lfts.clone());
    let step = TableStep { lfts: target.clone(), aged_before: false };
    vetted(Scheme::Recover, sight, (initial, target), vec![step], (1, true))
}

/// The base engine's tables, proved by themselves: where no switch has any entry, each mixture with what is in force is
/// a part of them, by which fewer packets arrive and no other dependency exists.
///
/// # Errors
/// It cannot route the fabric, or its tables do not serve all of it.
pub fn brought_up(engine: &dyn Engine, sight: &Sight) -> Result<(Vec<Arc<Lft>>, ProofStatistics), NoPlan> {
    let target = match sight.fabric.has_both_halves() {
        true => spread(engine, &sight.fabric, sight.sm)?,
        false => rerouted(engine, &sight.fabric, sight.sm)?.1,
    };
    let tables = on_one_lane(&sight.fabric, target);
    let proof = prove_tables(&sight.fabric, &tables, &scope(&sight.fabric));
    let proof = proof.map_err(|refusal| NoPlan::Objection(Objection::Refused(refusal)))?;
    Ok((tables.lfts, proof.statistics().clone()))
}

/// From tables that serve some rows and not others, intact ones kept where they can be.
///
/// # Errors
/// What [`NoPlan`] lists.
pub fn mended(engine: &dyn Engine, sight: &Sight) -> Result<Arc<Vetted>, NoPlan> {
    let (function, _) = rerouted(engine, &sight.fabric, sight.sm)?;
    let recovery = change::prepare_recovery(&RecoveryInput {
        fabric: sight.fabric.clone(),
        tables: on_one_lane(&sight.fabric, sight.lfts.clone()),
        in_use: Half::Lower,
        policy: policy(),
        sm: sight.sm,
        function,
    });
    match recovery {
        Ok(recovery) => Ok(recovery.prepared.plan),
        Err(unrecovered) => from_nothing(engine, sight)
            .map_err(|other| NoPlan::Unrecovered(format!("{unrecovered}; all tables in one wave: {other}"))),
    }
}

/// Waves that shorten ways and spread loads; none where the tables in force are as good as what would come of it.
///
/// # Errors
/// What [`NoPlan`] lists.
pub fn renewed(engine: &dyn Engine, sight: &Sight) -> Result<Option<Arc<Vetted>>, NoPlan> {
    let fabric = &*sight.fabric;
    let (function, mut target) = rerouted(engine, fabric, sight.sm)?;
    if fabric.has_both_halves() {
        target = spread(engine, fabric, sight.sm)?;
    }
    let initial = on_one_lane(fabric, sight.lfts.clone());
    let mut senders = InjectionRules::default();
    fabric.halves().iter().for_each(|half| senders.injected[half.index()] = true);
    let order = choose_root(fabric).and_then(|root| switch_order(function.engine(), fabric, root));
    let found = repair(&RepairInput {
        before: fabric,
        surviving: fabric,
        remaining: fabric,
        tables: &initial,
        target: Some(&target),
        senders: &senders,
        answerer: Some(sight.sm),
        switches: true,
        order: order.as_deref(),
        discards_turned_back: false,
        budget: Budget::default(),
    });
    let found = found.map_err(|error| NoPlan::Change(Box::new(ChangeError::Repair(error))))?;
    // A wave that would have to wait for what was sent before is not worth it: nothing is lost without it.
    let steps = found.waves.into_iter().take_while(|wave| !wave.aged_before);
    let steps: Vec<TableStep> = steps.map(|wave| TableStep { lfts: wave.lfts, aged_before: false }).collect();
    let Some(last) = steps.last().map(|step| step.lfts.clone()).filter(|last| *last != sight.lfts) else {
        return Ok(None);
    };
    vetted(Scheme::Ordered, sight, (initial, last), steps, (1, false)).map(Some)
}

/// A plan on a fabric that stays as it is, judged.
fn vetted(
    scheme: Scheme,
    sight: &Sight,
    (initial, target): (SubnetTables, Vec<Arc<Lft>>),
    steps: Vec<TableStep>,
    (new_layers, begins_with_losses): (u8, bool),
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
            policy: policy(),
            sm: sight.sm,
            stranded: stranded(fabric, fabric, sight.sm),
            old_layers: 1,
            new_layers,
            drain: Vec::new(),
            old_ways: None,
            new_ways: None,
        },
    )?;
    let plan = plan.prove_switch_management();
    vet(plan).map(Arc::new).map_err(|objected| NoPlan::Objection(objected.1))
}
