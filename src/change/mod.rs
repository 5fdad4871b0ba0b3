//! Two fabrics and an engine in, a proved plan out.
//!
//! On entry: a [`ChangeInput`], fabrics over one index space and the tables in force. On return: a [`Prepared`] change
//! whose plan the machine may run, or a [`ChangeError`] that says which step failed and why; nothing was written. The
//! routing in force and the new one are each proved by themselves before anything is planned, and the plan is proved
//! wave by wave. An engine that fails is an error; the next one is tried only where the user gave a list. [`draw`]
//! starts from two captures, [`CaptureSettings`] makes one ready. Deliberately omitted: discovery (`subnet`), and any
//! way to run an unproved plan of scheme `double`.

mod absent;
mod at_once;
mod base;
mod bring_up;
mod captures;
mod cheapest;
mod crossing;
mod engine;
mod error;
mod lid_survey;
mod lost_cables;
mod recovery;
mod repairing;
mod routed;
mod unserved;
mod what_if;

pub use absent::{AbsentRows, absent_rows};
pub use at_once::{prepare_at_once, prepare_in_turn, prepare_partly};
pub use base::{ChangeBase, InForce, KnownBase};
pub use bring_up::{BringUpError, CaptureSettings, DataVls, data_vls, manager_port, without_double};
pub use captures::{Captures, CapturesError, Departure, Drawn, draw, draw_next, renumbered};
pub use cheapest::{Pace, PlannedOutage, prepare_cheapest, served};
pub use engine::{Realised, engine_listed, engine_named};
pub use error::ChangeError;
pub use lid_survey::{Computed, assign_needed};
pub use lost_cables::lost_cables;
pub use recovery::{Recovery, RecoveryInput, RecoveryWay, Unrecovered, prepare_recovery};
pub use routed::{LmcWish, RouteInput, Routed, route};
pub use what_if::{AfterLoss, AnsweringChange, Judges, Loss, WhatIf, each, worst};

use crate::fabric::summary::counted;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Half, PortNum, Sl, VlSet};
use crate::lid;
use crate::plan::{
    self, DrainLayer, Lanes, Observer, Phase, Plan, PlanError, PlanInput, PlanSize, Policy, Scheme, TableStep,
    sl_to_vl_pairs,
};
use crate::routing::{self, Connectivity, Demand, Engine};
use crate::tables::{
    Lft, NodeSlToVl, PathLayers, PortState, RoutedBy, RoutingFunction, SlToVl, SubnetTables, Write, round_trip,
};
use crate::verify::{self, ChannelGraph, ChannelGraphInput, Refusal, Scope};
use crate::vet::{Objection, PlanVerdict, Vetted};
use repairing::RepairSteps;
use std::sync::{Arc, OnceLock};

/// A change to prepare. All fabrics share one index space; between `before` and `surviving` something was lost, or
/// something has come, not both.
#[derive(Clone)]
pub struct ChangeInput<'a> {
    /// The fabric that the routing in force was made for, LIDs assigned.
    pub before: Arc<Fabric>,
    /// What is there while the change runs: `before` less what died, or `before` and what has come.
    pub surviving: Arc<Fabric>,
    /// What is to be routed: `surviving` less what is to leave.
    pub after: Arc<Fabric>,
    /// The tables in force; entries of newcomers are ignored.
    pub tables: SubnetTables,
    /// Virtual layers that the routing in force needs.
    pub layers: u8,
    /// Which sources send by which path of the routing in force, on which layer; none if every source may use every
    /// path.
    pub ways: Option<Arc<PathLayers>>,
    /// The half in use.
    pub old: Half,
    /// Whether sources may send on the other half as well, because they never asked again since it retired. Only where
    /// every source may send by every path.
    pub both_halves: bool,
    /// The engine that computes the new routing.
    pub engine: &'a dyn Engine,
    /// How it is brought in.
    pub scheme: Scheme,
    /// What the user configured.
    pub policy: Policy,
    /// The SM's own port.
    pub sm: PortId,
    /// What is known of the routing in force, if anything is: it shortens the preparation and changes nothing else.
    pub base: Option<&'a ChangeBase>,
}

/// A change that may be run; one of [`crate::vet::Provable`] plans may only be counted.
#[derive(Clone, Debug)]
pub struct Prepared<V = Vetted> {
    /// The plan, as it was judged.
    pub plan: Arc<V>,
    /// The new routing function; of scheme `ordered`, the full re-route towards which it repairs. None where that was
    /// not computed.
    pub function: Option<Arc<RoutingFunction>>,
    /// The engine that computed it, or that will compute the next one.
    pub routed_by: RoutedBy,
    /// Virtual layers that the routing needs after the change.
    pub layers: u8,
    /// End ports that the change cuts off from the SM, in index order; the new routing omits them.
    pub stranded: Vec<PortId>,
    /// The change that follows at once, beginning with the tables that this one leaves.
    pub then: Option<Box<Prepared<V>>>,
}

impl<V> Prepared<V> {
    /// The change with which all is done: this one, or the last of those that follow it.
    pub fn last(&self) -> &Prepared<V> {
        self.then.as_ref().map_or(self, |then| then.last())
    }
}

/// Prepares a change that is proved at every moment.
///
/// # Errors
/// What [`ChangeError`] lists.
pub fn prepare(input: ChangeInput<'_>) -> Result<Prepared, ChangeError> {
    prepared_by(&Groundwork::of(&input)?, refused)
}

/// Prepares a baseline: like [`prepare`], but a plan of a scheme other than `double` may be run although the prover
/// refused it, for those who want to see what becomes of it.
///
/// # Errors
/// What [`ChangeError`] lists; for scheme `double`, a refused plan too.
pub fn prepare_baseline(input: ChangeInput<'_>) -> Result<Prepared, ChangeError> {
    let baseline = |plan, refusal| Vetted::baseline(plan, refusal).map_err(|refused| ChangeError::objected(*refused));
    prepared_by(&Groundwork::of(&input)?, baseline)
}

/// The change by the scheme of the input.
fn prepared_by(
    ground: &Groundwork<'_>,
    refused: impl FnOnce(Plan, Refusal) -> Result<Vetted, ChangeError>,
) -> Result<Prepared, ChangeError> {
    let scheme = ground.outset.input.scheme;
    let planned = ground.planned(scheme);
    let planned = match scheme {
        Scheme::Ordered => match ground.in_one_wave(planned, |whole| whole) {
            Ok(whole) => return Ok(whole),
            Err(planned) => *planned,
        },
        Scheme::Double | Scheme::Static | Scheme::InPlace | Scheme::Recover => planned,
    };
    ground.vetted(planned?, refused)
}

fn refused<V>(plan: Plan, refusal: Refusal) -> Result<V, ChangeError> {
    Err(ChangeError::Refused { plan: Box::new(plan), refusal })
}

/// A repair, beside the full re-route in one wave.
enum Size {
    /// As few blocks, in as few waves; no host waits.
    Smaller,
    /// No host waits either, and it has more blocks or waves, but fewer than can be written while the re-route is
    /// judged. Why the re-route is passed over.
    LargerByLess(String),
    Larger,
}

/// How a note names what [`Groundwork::in_one_wave`] tries.
const ONE_WAVE: &str = "the full re-route in one wave";

/// Whether a change keeps the entries in force wherever they still lead somewhere, so that R′ is not what it installs.
/// Only the notes of a plan say so, also after it was in a file.
pub fn is_repair(plan: &Plan) -> bool {
    plan.scheme() == Scheme::Ordered && !plan.draft().notes.iter().any(|note| note.contains(REPAIR))
}

/// How a note names what [`Groundwork::in_one_wave`] passes over.
const REPAIR: &str = "repairing what is lost and no more";

/// Rows (switch and LID) that are judged in the time of one write: 20 µs, of about 0.2 µs a row.
const ROWS_A_WRITE: usize = 100;

/// Number of rows that are judged in a negligible time.
const FREE_ROWS: usize = 100_000;

/// Whether one more change of a fabric is prepared and judged in a negligible time.
pub fn is_soon_judged(fabric: &Fabric) -> bool {
    fabric.rows() <= FREE_ROWS
}

/// How a routing is used.
struct SenderWays {
    /// The virtual layers that it needs.
    layers: u8,
    /// Which sources send by which path, on which layer; none if every source may use every path.
    ways: Option<Arc<PathLayers>>,
}

/// What a change starts from, before anything is routed.
struct Outset<'a> {
    input: &'a ChangeInput<'a>,
    /// What the routing in force was made for, and what has come to it.
    whole: Arc<Fabric>,
    /// What the SM reaches while the change runs.
    surviving: Arc<Fabric>,
    /// What it reaches afterwards.
    after: Arc<Fabric>,
    /// The tables in force.
    initial: SubnetTables,
    /// End ports that the change cuts off from the SM.
    stranded: Vec<PortId>,
}

/// What a change by any scheme starts from, R proved by itself.
struct Groundwork<'a> {
    outset: Outset<'a>,
    /// The full re-route.
    function: Arc<RoutingFunction>,
    /// Its tables, on both halves.
    rerouted: OnceLock<Vec<Arc<Lft>>>,
}

impl ChangeInput<'_> {
    /// Refuses what no change could begin with.
    fn check(&self) -> Result<(), ChangeError> {
        if self.after.peer(self.sm).is_none() && !is_switch_port(&self.after, self.sm) {
            return Err(ChangeError::SmLeaves { port: self.before.describe_port(self.sm) });
        }
        // Tables that have no lane for the level cannot be in force: what follows would refuse them with less to say.
        if let (Some(sl), 1) = (self.policy.reserved_sl, Lanes::of_fabric(&self.before, None).count()) {
            return Err(ChangeError::Plan(PlanError::NoLaneToReserve { sl, data_vls: 1, needed: 2 }));
        }
        assert!(!self.both_halves || self.ways.is_none(), "paths that belong to sources are proved for one half");
        Ok(())
    }

    /// Proves R by itself, unless that is known (P0.5): what starts from unsafe tables proves nothing of the change.
    fn prove(&self) -> Result<(), ChangeError> {
        match self.base() {
            Some(_) => Ok(()),
            None => absent::prove_in_force(&self.before, &self.tables, &self.scope()).map_err(ChangeError::Old),
        }
    }
}

impl<'a> Outset<'a> {
    fn of(input: &'a ChangeInput<'a>) -> Result<Outset<'a>, ChangeError> {
        input.check()?;
        input.prove()?;
        Outset::laid_out(input)
    }

    /// The outset of an input that is checked and proved elsewhere.
    fn laid_out(input: &'a ChangeInput<'a>) -> Result<Outset<'a>, ChangeError> {
        let whole = whole(input)?;
        let surviving = Arc::new(within_reach(&input.surviving, input.sm));
        // Nothing is to leave where a loss is all that happens.
        let after = match *input.after == *input.surviving {
            true => surviving.clone(),
            false => Arc::new(within_reach(&input.after, input.sm)),
        };
        let stranded = routing::stranded(&input.before, &after, input.sm);
        Ok(Outset { initial: blanked(input, &whole), input, whole, surviving, after, stranded })
    }

    /// Rows (switch and LID owner).
    fn rows(&self) -> usize {
        self.whole.rows()
    }

    /// What a plan is made of that ends with the tables `target`, which senders then use as `sending` says.
    fn plan_input(
        &self,
        scheme: Scheme,
        repair: RepairSteps,
        target: Vec<Arc<Lft>>,
        drain: Vec<DrainLayer>,
        sending: SenderWays,
    ) -> PlanInput {
        let input = self.input;
        PlanInput {
            before: self.whole.clone(),
            routed: input.before.clone(),
            surviving: self.surviving.clone(),
            after: self.after.clone(),
            initial: self.initial.clone(),
            target,
            steps: repair.steps,
            discards_turned_back: repair.discards_turned_back,
            closes: false,
            old: input.old,
            // A half that other schemes retire must be closed first, as a fence does.
            both_halves: input.both_halves && scheme == Scheme::Ordered,
            begins_with_losses: false,
            leaves_losses: repair.leaves_losses,
            policy: input.policy,
            sm: input.sm,
            stranded: self.stranded.clone(),
            old_layers: input.layers,
            new_layers: sending.layers,
            drain,
            old_ways: input.ways.clone(),
            new_ways: sending.ways,
        }
    }
}

impl<'a> Groundwork<'a> {
    fn of(input: &'a ChangeInput<'a>) -> Result<Groundwork<'a>, ChangeError> {
        input.check()?;
        let routed = || {
            let outset = Outset::laid_out(input)?;
            let demand = Demand::joined_with(&outset.after, input.sm, paths(&outset.whole))
                .within(room_for_layers(&input.before, input.policy.reserved_sl).max(input.layers));
            let function = Arc::new(input.engine.route(&outset.after, &demand)?);
            lid::check_fits(&outset.whole, &function)?;
            Ok(Groundwork { outset, function, rerouted: OnceLock::new() })
        };
        let (proved, ground) = rayon::join(|| input.prove(), routed);
        proved.and(ground)
    }

    /// The change by a scheme; nothing of it is proved yet.
    fn planned(&self, scheme: Scheme) -> Result<PlannedChange, ChangeError> {
        Ok(self.change_of(self.draw_up(scheme)?))
    }

    fn change_of(&self, plan: Plan) -> PlannedChange {
        let function = Some(self.function.clone());
        let (routed_by, stranded) = (self.function.routed_by(), self.outset.stranded.clone());
        PlannedChange { layers: self.layers_after(plan.scheme()), plan, function, routed_by, stranded }
    }

    /// The tables in force, with those LIDs of these halves led by the full re-route that it has.
    fn reroute(&self, halves: &[Half]) -> Vec<Arc<Lft>> {
        lid::merge(&self.outset.whole, &self.outset.initial.lfts, &self.function, halves)
    }

    /// The tables in force, with the LIDs of both halves led by the full re-route.
    fn whole_reroute(&self) -> &[Arc<Lft>] {
        self.rerouted.get_or_init(|| self.reroute(&[Half::Lower, Half::Upper]))
    }

    /// The full re-route as a single wave of scheme `ordered`, if it is proved, and there is no repair or none that is
    /// smaller: where a loss concerns most entries, as that of a root may, a repair can be the larger of the two.
    /// `noting` completes the change that is judged. Otherwise the repair, with the reason as a note.
    ///
    /// The wave never rests on switches that discard what turns back. Its entries are set in any order, so a lost row
    /// may be led to one that is not set yet, and be turned back there.
    fn in_one_wave<V: PlanVerdict>(
        &self,
        repaired: Result<PlannedChange, ChangeError>,
        noting: impl FnOnce(PlannedChange) -> PlannedChange,
    ) -> Result<Prepared<V>, Box<Result<PlannedChange, ChangeError>>> {
        // Sources keep their paths and levels.
        let alike = self.outset.input.ways.is_none() && self.function.path_layers().is_none();
        if !alike || self.function.layers() != self.outset.input.layers {
            return Err(Box::new(repaired));
        }
        let reroute = self.whole_reroute().to_vec();
        let (repaired, why_not) = match repaired {
            Ok(change) => match self.compared(&change.plan, &reroute) {
                Size::Smaller => return Err(Box::new(Ok(change))),
                Size::LargerByLess(why) => return Err(Box::new(Ok(change.noted(ONE_WAVE, &why)))),
                Size::Larger => {
                    let waits =
                        if cheapest::keeps_hosts_waiting(&change.plan) { ", and hosts wait between them" } else { "" };
                    let why = format!("it takes {}{waits}", cheapest::size(change.plan.size()));
                    (Ok(change), why)
                }
            },
            Err(error) => {
                let why = error.to_string();
                (Err(error), why)
            }
        };
        let steps = vec![TableStep { lfts: reroute.clone(), aged_before: false }];
        let whole = match self.plan_of(Scheme::Ordered, RepairSteps { steps, ..RepairSteps::default() }, reroute) {
            Ok(whole) => whole,
            Err(why) => return Err(Box::new(both_failed(repaired, why))),
        };
        let whole = self.change_of(whole).noted(REPAIR, &why_not);
        let why = match self.vetted(noting(whole), refused::<V>) {
            Ok(prepared) if prepared.plan.plan().proves_answers() => return Ok(prepared),
            // A repair never rests on that.
            Ok(_) => ChangeError::AnswersUnproved,
            Err(why) => why,
        };
        Err(Box::new(both_failed(repaired, why)))
    }

    /// The change, R′ proved by itself and the plan judged; what becomes of a plan that the prover refused is the
    /// caller's choice.
    fn vetted<V: PlanVerdict>(
        &self,
        change: PlannedChange,
        refused: impl FnOnce(Plan, Refusal) -> Result<V, ChangeError>,
    ) -> Result<Prepared<V>, ChangeError> {
        let plan = &change.plan;
        let halves = halves_in_use(plan.draft().both_halves, plan.new_half()).to_vec();
        let ways = plan.new_ways().cloned();
        let scope = Scope { halves, stranded: self.outset.stranded.clone(), ways, ..Scope::of(&[]) };
        let last = plan.tables_at(plan.waves().len());
        let proved = match self.outset.input.base {
            Some(base) => base.proof().prove_tables(&plan.draft().after, last, &scope),
            None => verify::prove_tables(&plan.draft().after, last, &scope).map(drop),
        };
        proved.map_err(ChangeError::New)?;
        change.vet(self.outset.input.base, refused)
    }

    fn draw_up(&self, scheme: Scheme) -> Result<Plan, ChangeError> {
        match scheme {
            Scheme::Double => {
                self.plan_of(scheme, RepairSteps::default(), self.reroute(&[self.outset.input.old.other()]))
            }
            Scheme::Ordered => {
                let repair = repairing::steps(self, self.whole_reroute())?;
                let last = repair.steps.last().map_or(&self.outset.initial.lfts, |last| &last.lfts).clone();
                self.plan_of(scheme, repair, last)
            }
            Scheme::Static | Scheme::InPlace | Scheme::Recover => {
                self.plan_of(scheme, RepairSteps::default(), self.whole_reroute().to_vec())
            }
        }
    }

    /// A repair beside the full re-route in one wave.
    fn compared(&self, repair: &Plan, reroute: &[Arc<Lft>]) -> Size {
        if cheapest::keeps_hosts_waiting(repair) {
            return Size::Larger;
        }
        let is_block = |write: &&Write| matches!(write, Write::LftBlock { .. });
        let blocks: usize = repair.waves().iter().map(|wave| wave.writes.iter().filter(is_block).count()).sum();
        let rewrites = repair.waves().iter().filter(|wave| wave.phase == Phase::Rewrite).count();
        let whole = self.blocks_changed(reroute);
        if (blocks, rewrites) <= (whole, 1) {
            return Size::Smaller;
        }
        let writes = self.outset.rows().saturating_sub(FREE_ROWS) / ROWS_A_WRITE;
        match blocks + rewrites - whole {
            more if more <= writes => Size::LargerByLess(format!(
                "it would write {} in place of {blocks}, and judging it would take as long as {}",
                counted(whole, "block"),
                counted(writes, "write")
            )),
            _ => Size::Larger,
        }
    }

    /// Blocks of forwarding tables that differ from those in force.
    fn blocks_changed(&self, lfts: &[Arc<Lft>]) -> usize {
        self.outset.initial.lfts.iter().zip(lfts).map(|(held, wanted)| held.blocks_differing(wanted)).sum()
    }

    /// A plan of scheme `double` but for the order in which channels run empty: what it writes, wave by wave.
    fn outlined(&self) -> Result<Plan, ChangeError> {
        Ok(plan::plan(Scheme::Double, self.outline_of_double())?)
    }

    /// How much that plan writes: what it is passed over for.
    fn size_of_double(&self) -> Result<PlanSize, ChangeError> {
        Ok(plan::size_of_double(self.outline_of_double())?)
    }

    fn outline_of_double(&self) -> PlanInput {
        let target = self.reroute(&[self.outset.input.old.other()]);
        self.plan_input(Scheme::Double, RepairSteps::default(), target, Vec::new())
    }

    /// The plan of a scheme that ends with the tables `target`.
    fn plan_of(&self, scheme: Scheme, repair: RepairSteps, target: Vec<Arc<Lft>>) -> Result<Plan, ChangeError> {
        let drain =
            if scheme == Scheme::Double { retiring(self.outset.input, &self.outset.surviving)? } else { Vec::new() };
        Ok(plan::plan(scheme, self.plan_input(scheme, repair, target, drain))?)
    }

    fn plan_input(
        &self,
        scheme: Scheme,
        repair: RepairSteps,
        target: Vec<Arc<Lft>>,
        drain: Vec<DrainLayer>,
    ) -> PlanInput {
        self.outset.plan_input(scheme, repair, target, drain, self.sending(scheme))
    }

    /// How senders use the tables that a scheme ends with.
    fn sending(&self, scheme: Scheme) -> SenderWays {
        let ways = match scheme {
            Scheme::Ordered => self.outset.input.ways.clone(),
            _ => self.function.path_layers().cloned(),
        };
        SenderWays { layers: self.layers_after(scheme), ways }
    }

    /// Virtual layers that the routing needs after a change.
    fn layers_after(&self, scheme: Scheme) -> u8 {
        if scheme == Scheme::Ordered { self.outset.input.layers } else { self.function.layers() }
    }
}

/// A repair, or why there is none, beside a re-route in one wave that does not do either.
fn both_failed(repaired: Result<PlannedChange, ChangeError>, whole: ChangeError) -> Result<PlannedChange, ChangeError> {
    match repaired {
        Ok(change) => Ok(change.noted(ONE_WAVE, &whole.to_string())),
        Err(repair) => Err(ChangeError::NeitherInPlace { repair: Box::new(repair), whole: Box::new(whole) }),
    }
}

/// A change, planned, R proved by itself.
struct PlannedChange {
    plan: Plan,
    layers: u8,
    function: Option<Arc<RoutingFunction>>,
    routed_by: RoutedBy,
    stranded: Vec<PortId>,
}

impl PlannedChange {
    /// The change, with a note on what was passed over for it, and why.
    fn noted(self, passed_over: &str, why: &str) -> PlannedChange {
        PlannedChange { plan: self.plan.note_passed_over(passed_over, why), ..self }
    }

    /// Has the plan judged; what becomes of one that the prover refused is the caller's choice.
    fn vet<V: PlanVerdict>(
        self,
        base: Option<&ChangeBase>,
        refused: impl FnOnce(Plan, Refusal) -> Result<V, ChangeError>,
    ) -> Result<Prepared<V>, ChangeError> {
        let PlannedChange { plan, layers, function, routed_by, stranded } = self;
        let vetted = match vetted(plan, base).map_err(|objected| *objected) {
            Ok(vetted) => vetted,
            Err((plan, Objection::Refused(refusal))) => refused(plan, refusal)?,
            Err(objected) => return Err(ChangeError::objected(objected)),
        };
        check_counted(vetted.plan(), routed_by.engine)?;
        Ok(Prepared { plan: Arc::new(vetted), function, routed_by, layers, stranded, then: None })
    }
}

/// The halves on which sources may send between changes.
fn halves_in_use(both: bool, half: Half) -> &'static [Half] {
    match (both, half) {
        (true, _) => &[Half::Lower, Half::Upper],
        (false, Half::Lower) => &[Half::Lower],
        (false, Half::Upper) => &[Half::Upper],
    }
}

/// Observer *conservation* asks every end port for its counters, so each must be within reach there and back.
fn check_counted(plan: &Plan, engine: &'static str) -> Result<(), ChangeError> {
    if plan.drain().is_empty() || plan.policy().observer != Observer::Conservation {
        return Ok(());
    }
    let surviving = &plan.draft().surviving;
    let sm = plan.draft().sm;
    if surviving.node(surviving.port(sm).node).is_switch() {
        // Requests from there are received and never sent, as far as end ports count, so that sums may be equal while a
        // packet is under way.
        return Err(ChangeError::Uncounted { port: surviving.describe_port(sm) });
    }
    let in_use = plan.half_at_drain(surviving);
    match surviving.end_ports().find(|&port| round_trip(in_use, sm, port).is_none()) {
        Some(port) => Err(ChangeError::Unaskable { port: surviving.describe_port(port), engine }),
        None => Ok(()),
    }
}

/// Has a plan judged with the packets on its reserved level among what is proved, where they can be, and with the
/// manager's answers among its classes. Where answers are what the prover refuses, it is judged once more with the
/// assumption about them, and the plan says why.
fn vetted<V: PlanVerdict>(plan: Plan, base: Option<&ChangeBase>) -> Result<V, Box<(Plan, Objection)>> {
    let vet = |plan| V::on(plan, base.map(|base| &base.vet));
    let plan = plan.prove_switch_management();
    if plan.proves_answers() {
        return vet(plan);
    }
    let (plan, assumed) = match plan.prove_answers().map_err(|unproved| *unproved) {
        Ok(both) => both,
        Err((plan, why)) => return vet(plan.note_unproved_answers(&why.to_string())),
    };
    vet(plan).or_else(|objected| match *objected {
        (plan, Objection::Refused(why) | Objection::NoWayBack(why)) => {
            vet(plan.assume_answers(assumed, &why.to_string()))
        }
        other => Err(Box::new(other)),
    })
}

/// What the routing in force was made for, and what has come to it: the fabric that the plan is made on.
fn whole(input: &ChangeInput<'_>) -> Result<Arc<Fabric>, ChangeError> {
    let (before, surviving) = (&input.before, &input.surviving);
    let joined = |fabric: &Fabric, other: &Fabric| {
        let mut cabled = fabric.ports().filter(|(_, port)| port.peer.is_some());
        cabled.find(|&(id, port)| port.peer != other.peer(id)).map(|(id, _)| id)
    };
    let Some(gained) = joined(surviving, before) else { return Ok(before.clone()) };
    if let Some(lost) = joined(before, surviving) {
        let (lost, gained) = (name_cable(before, lost), name_cable(surviving, gained));
        return Err(ChangeError::LostAndGained { lost, gained });
    }
    let in_use = Lanes::of_fabric(before, input.policy.reserved_sl).count();
    let narrow = surviving.ports().find(|(_, port)| port.peer.is_some() && usize::from(port.data_vls) < in_use);
    match narrow {
        Some((id, port)) => {
            let (port, data_vls) = (surviving.describe_port(id), port.data_vls);
            Err(ChangeError::NarrowNewcomer { port, data_vls, in_use })
        }
        None => Ok(surviving.clone()),
    }
}

fn name_cable(fabric: &Fabric, end: PortId) -> String {
    let ends = [Some(end), fabric.peer(end)].into_iter().flatten();
    ends.map(|end| fabric.describe_port(end)).collect::<Vec<_>>().join(" – ")
}

/// The tables in force, with nothing said of what has come: it forwards nothing, and its ports carry no data yet.
fn blanked(input: &ChangeInput<'_>, whole: &Fabric) -> SubnetTables {
    let mut tables = input.tables.clone();
    let table = Lanes::steady_table(&input.before, &input.policy);
    let steady = Arc::new(NodeSlToVl::Uniform(table));
    let has_come = |port: PortId| whole.peer(port).is_some() && input.before.peer(port).is_none();
    let cabled = |fabric: &Fabric, node| fabric.ports_of(node).any(|port| fabric.peer(port).is_some());
    for (node, _) in whole.nodes().filter(|&(node, _)| cabled(whole, node) && !cabled(&input.before, node)) {
        // These tables have not been read (G.2). Empty ones say so: whatever they hold, no routing leads here yet
        // (G.1).
        tables.lfts[node.index()] = Arc::default();
        tables.sl_to_vl[node.index()] = steady.clone();
    }
    for (port, _) in whole.ports().filter(|&(port, _)| has_come(port)) {
        tables.port_states[port.index()] = PortState::Initialize;
    }
    // What a switch has for a port that was empty may be what a change left that ended without it (E.4). It is written
    // before the port carries data.
    for (node, own) in whole.nodes().filter(|&(node, _)| cabled(&input.before, node)) {
        let comes = |num: PortNum| whole.port_at(node, num).is_some_and(has_come);
        for (from, to) in sl_to_vl_pairs(whole, node).into_iter().filter(|&(from, to)| comes(from) || comes(to)) {
            if *tables.sl_to_vl[node.index()].get(from, to) != table {
                Arc::make_mut(&mut tables.sl_to_vl[node.index()]).set(own.num_ports, from, to, table);
            }
        }
    }
    tables
}

fn is_switch_port(fabric: &Fabric, port: PortId) -> bool {
    let node = fabric.node(fabric.port(port).node);
    node.is_switch() && node.present
}

/// The fabric less the nodes that no links join with the SM: nothing can be written there.
pub(crate) fn within_reach(fabric: &Fabric, sm: PortId) -> Fabric {
    let links = Connectivity::of(fabric);
    let joined = |node: NodeId| fabric.ports_of(node).any(|port| links.joins(port, sm));
    let lost: Vec<_> = fabric.nodes().filter(|&(id, node)| node.present && !joined(id)).map(|(id, _)| id).collect();
    fabric.without_nodes(&lost)
}

/// Paths to each destination: one for each LID of a half, at the end port that has fewest; others repeat them.
fn paths(fabric: &Fabric) -> usize {
    let halves = fabric.end_ports().map(|port| usize::from(fabric.port(port).lmc.lids() / 2));
    halves.min().unwrap_or(1).max(1)
}

/// The layers that a routing function may need, so that each lane set of a change has a lane for each.
pub fn room_for_layers(fabric: &Fabric, reserved_sl: Option<Sl>) -> u8 {
    let lanes = Lanes::of_fabric(fabric, reserved_sl);
    (lanes.a.len() as u8).clamp(1, routing::MOST_LAYERS)
}

/// The dependencies of the routing in force, layer by layer, as far as they survive: what must run empty.
fn retiring(input: &ChangeInput<'_>, surviving: &Fabric) -> Result<Vec<DrainLayer>, ChangeError> {
    let lanes = Lanes::of_change(&input.before, &input.policy, input.old);
    // The lanes that the layers are on before the first write: all, unless the partition stood already.
    let resting = if is_on_lanes(input, lanes.a) { lanes.a } else { lanes.all };
    let count = input.ways.as_ref().map_or(1, |ways| usize::from(ways.layers()));
    let layer = |layer: usize| {
        let graph = ChannelGraph::new(&ChannelGraphInput {
            fabric: &input.before,
            surviving,
            tables: &input.tables,
            half: input.old,
            // The drain must watch every lane of the set.
            lanes: Lanes::of_layer(resting, layer, count),
            ways: input.ways.as_ref(),
            stranded: &[],
        });
        let graph = graph.map_err(ChangeError::Old)?;
        Ok(DrainLayer::of(surviving, Lanes::of_layer(lanes.a, layer, count), &graph)?)
    };
    (0..count).map(layer).collect()
}

/// Whether the tables in force keep every service level of the half in use on these lanes.
fn is_on_lanes(input: &ChangeInput<'_>, lanes: VlSet) -> bool {
    let keeps = |table: &SlToVl| {
        let mut own = input.old.sls().filter(|&sl| Some(sl) != input.policy.reserved_sl);
        own.all(|sl| lanes.contains(table.get(sl)))
    };
    input.tables.sl_to_vl.iter().all(|tables| match &**tables {
        NodeSlToVl::Uniform(table) => keeps(table),
        NodeSlToVl::PerPair { tables, .. } => tables.iter().all(keeps),
    })
}
