//! Combines the parts: walks what `input` has checked, judges stage by stage, and collects the evidence.

use super::aging::rounds_to_age;
use super::base::{ProofBase, QuietClasses};
use super::case::{ProofCase, Scope};
use super::certificate::{Certificate, Recorder, numbers};
use super::collector::{DependencyCollector, united};
use super::departure::{DepartureWatch, rounds_to_vacate};
use super::dependencies::{Dependencies, DependencyLayout};
use super::difference::Additions;
use super::drained;
use super::evidence;
use super::graph::Graph;
use super::input::{case_of, check_tables, check_ways};
use super::proof_walk::{FirstFault, ProofWalk};
use super::refusal::{Refusal, precondition};
use super::walk::{Both, Class};
use super::{Approved, ProofStatistics, Proved, Remainder, Transition};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, VlSet};
use crate::tables::SubnetTables;

/// Proof of a routing function by itself. Only the prover makes one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableProof {
    statistics: ProofStatistics,
    order: Vec<(PortId, u8)>,
}

impl TableProof {
    /// The extent of the proof.
    pub fn statistics(&self) -> &ProofStatistics {
        &self.statistics
    }

    /// Every lane that can be occupied, as (channel, VL), in an order in which each waits for later ones only.
    pub fn order(&self) -> &[(PortId, u8)] {
        &self.order
    }
}

/// Proves tables by themselves: from every end port (and switch) to every other, no loop, no black hole, arrival at the
/// owner, and no cycle of dependencies between lanes.
///
/// # Errors
/// What is wrong with them.
pub fn prove_tables(fabric: &Fabric, tables: &SubnetTables, scope: &Scope) -> Result<TableProof, Refusal> {
    let case = ProofCase::of_tables(fabric, tables, scope);
    check_tables(&case)?;
    let taking_part = |port: &PortId| !case.stranded[port.index()];
    let mut facts = case.stages[0].clone();
    if scope.undivided {
        // One path is enough, whichever LID it has.
        facts.injected[Half::Upper.index()] = false;
    }
    check_ways(fabric, &facts, &fabric.end_ports().filter(taking_part).collect::<Vec<_>>())?;
    let judged = judge(case, fabric, None, false, None)?;
    Ok(TableProof { statistics: judged.statistics, order: judged.order })
}

/// Proves every moment of a transition, the one before its first wave included.
///
/// # Errors
/// The value, returned with its fault.
pub fn prove<T: Transition>(transition: T) -> Result<Proved<T>, (T, Refusal)> {
    match judge_transition(&transition, false) {
        Ok(judged) => Ok(Proved { value: transition, statistics: judged.statistics }),
        Err(refusal) => Err((transition, refusal)),
    }
}

/// Whether a transition is proved, if it may begin with the tables of a base: by its difference to them where that is
/// enough, and otherwise in full. The base affects only the time that this takes.
///
/// # Errors
/// What is wrong with the transition.
pub fn accept<T: Transition>(base: Option<&ProofBase>, transition: T) -> Result<Approved<T>, (T, Refusal)> {
    let judged = match base.map_or(Ok(false), |base| is_proved_by_difference(&transition, base)) {
        Ok(false) => judge_from(&transition, false, base).map(|_| false),
        judged => judged,
    };
    match judged {
        Ok(by_difference) => Ok(Approved { value: transition, by_difference }),
        Err(refusal) => Err((transition, refusal)),
    }
}

/// Whether the difference of a transition to a base shows that it is proved. Where it does not, nothing is known.
fn is_proved_by_difference(transition: &impl Transition, base: &ProofBase) -> Result<bool, Refusal> {
    let Some(case) = case_of(transition)? else { return Ok(true) };
    let surviving = transition.surviving();
    let proof_walk = ProofWalk::new(case, surviving)?;
    let leaves = rounds_to_vacate(surviving, transition.remainder().fabric).is_some();
    if leaves || proof_walk.case.drains.iter().any(Option::is_some) {
        return Ok(false);
    }
    let Some(quiet) = base.quiet(&proof_walk) else { return Ok(false) };
    let Some(waits) = quiet.waits() else { return Ok(false) };
    // What packets can wait for before the first wave is the base's own.
    let mut additions = Additions::from(&proof_walk, waits, 1);
    Ok(proof_walk.walk_distinct(quiet.others(&proof_walk), &mut additions).is_none() && additions.are_acyclic())
}

/// Proves a transition, and returns the certificate; none for a transition without waves, which has nothing to certify.
///
/// # Errors
/// The value, returned with its fault.
pub fn prove_certified<T: Transition>(transition: T) -> Result<(Proved<T>, Option<Certificate>), (T, Refusal)> {
    match judge_transition(&transition, true) {
        Ok(judged) => Ok((Proved { value: transition, statistics: judged.statistics }, judged.certificate)),
        Err(refusal) => Err((transition, refusal)),
    }
}

/// Proves a transition that may begin with the tables of a base, and returns the certificate. The base affects only the
/// time that the proof takes.
///
/// # Errors
/// The value, returned with its fault.
pub fn prove_certified_from<T: Transition>(
    base: &ProofBase,
    transition: T,
) -> Result<(Proved<T>, Option<Certificate>), (T, Refusal)> {
    match judge_from(&transition, true, Some(base)) {
        Ok(judged) => Ok((Proved { value: transition, statistics: judged.statistics }, judged.certificate)),
        Err(refusal) => Err((transition, refusal)),
    }
}

pub(super) fn judge_transition(
    transition: &(impl Transition + ?Sized),
    certified: bool,
) -> Result<ProofOutcome, Refusal> {
    judge_from(transition, certified, None)
}

fn judge_from(
    transition: &(impl Transition + ?Sized),
    certified: bool,
    base: Option<&ProofBase>,
) -> Result<ProofOutcome, Refusal> {
    let Some(case) = case_of(transition)? else { return Ok(ProofOutcome::default()) };
    judge(case, transition.surviving(), Some(transition.remainder()), certified, base)
}

#[derive(Default)]
pub(super) struct ProofOutcome {
    pub statistics: ProofStatistics,
    order: Vec<(PortId, u8)>,
    certificate: Option<Certificate>,
}

fn judge(
    case: ProofCase<'_>,
    surviving: &Fabric,
    remainder: Option<Remainder<'_>>,
    certified: bool,
    base: Option<&ProofBase>,
) -> Result<ProofOutcome, Refusal> {
    let proof_walk = ProofWalk::new(case, surviving)?;
    let (case, layout) = (&proof_walk.case, proof_walk.layout());
    let mut recorder = certified.then(|| Recorder::new(&proof_walk));
    let leaving = remainder.and_then(|left| DepartureWatch::new(&proof_walk, surviving, left));
    let mut collector = DependencyCollector::new(&proof_walk, &layout);
    // Elements that leave are watched class by class.
    let quiet = base.filter(|_| leaving.is_none()).and_then(|base| base.quiet(&proof_walk));
    // Statistics and certificates say where every class stands.
    let quiet = quiet.filter(|quiet| quiet.stands_still);
    if let Some(quiet) = &quiet {
        collector.begin_with(quiet.dependencies(), (0..proof_walk.net.rows.len()).map(Some));
    }
    let walked = classes_to_walk(&proof_walk, quiet.as_ref(), recorder.as_mut());
    let mut sinks = Both(Both(collector, recorder), leaving);
    let fault = proof_walk.walk_classes(walked.into_iter(), &mut sinks);
    let Both(Both(collector, mut recorder), leaving) = sinks;
    let halves = collector.with_twins().finish();
    // A fault at some stage leaves its dependencies incomplete. The stages before it are judged all the same: a cycle
    // there comes first in time, and so it is the reason for the refusal.
    let sound = fault.as_ref().map_or(case.stages.len(), FirstFault::unsound_stage);
    let mut tally = Tally::new(&layout);
    for stage in 0..sound {
        // First, because rule 4 has trusted the barrier already: if it cannot be true, the dependencies mean nothing.
        check_gone(case, &layout, &halves, stage)?;
        check_aged(case, stage, surviving)?;
        // Halves may share lanes, and a cycle may pass both, so both are one graph.
        let all = united(case, &halves, stage);
        let graph = all.graph(&layout, stage);
        match graph.order() {
            Ok(order) => {
                if let Some(recorder) = &mut recorder {
                    recorder.number(stage, numbers(&layout, &graph, &order));
                }
                tally.count(&all, &graph, order);
                drained::check(&proof_walk, &layout, &halves, stage)?;
            }
            Err(cycle) => return Err(evidence::of_cycle(&proof_walk, &layout, &halves, stage, cycle)),
        }
    }
    match fault {
        // No earlier stage has a cycle, so this is the first thing that can go wrong.
        Some(fault) => Err(evidence::of_fault(&proof_walk, fault)),
        None => {
            if let Some(refusal) = leaving.and_then(|watch| watch.verdict()) {
                return Err(refusal);
            }
            let (statistics, order) = tally.judged(&layout, &proof_walk);
            Ok(ProofOutcome { statistics, order, certificate: recorder.map(Recorder::certificate) })
        }
    }
}

/// The classes that are not known to stand as they do in the base; of those that do, the rows are recorded.
fn classes_to_walk(
    proof_walk: &ProofWalk<'_>,
    quiet: Option<&QuietClasses<'_>>,
    mut recorder: Option<&mut Recorder<'_>>,
) -> Vec<Class> {
    let mut walked: Vec<Class> = proof_walk.classes().filter(|class| proof_walk.twins.leads(class.group)).collect();
    let Some(quiet) = quiet else { return walked };
    let groups = &proof_walk.lanes.groups;
    walked.retain(|class| {
        let answers = proof_walk.case.is_answer(class.lid, proof_walk.half(class));
        if !quiet.contain(class, answers) {
            return true;
        }
        let first = groups.iter().position(|group| group.half() == proof_walk.half(class));
        if first == Some(class.group) {
            recorder.iter_mut().for_each(|own| own.repeat_all(class, quiet.row(class.lid, answers)));
        }
        false
    });
    walked
}

/// Where the barrier reports a half gone when a stage begins, its packets were only in lanes that were observed empty.
fn check_gone(
    case: &ProofCase<'_>,
    layout: &DependencyLayout<'_>,
    halves: &[Vec<Dependencies>; 2],
    stage: usize,
) -> Result<(), Refusal> {
    let facts = &case.stages[stage];
    for half in [Half::Lower, Half::Upper].into_iter().filter(|half| facts.gone[half.index()]) {
        let Some(before) = stage.checked_sub(1) else { continue };
        // The dependencies of the stage before include those that were latched earlier.
        let left = VlSet(halves[half.index()][before].lanes(layout, before)).minus(facts.empty);
        if !left.is_empty() {
            let empty = facts.empty;
            let what = format!(
                "no packet of the {half} half is said to be left, for lanes {empty} were seen empty: they can be on {left} too"
            );
            return Err(precondition(&facts.name, what));
        }
    }
    Ok(())
}

/// Where the barrier reports that all packets sent before have left, enough rounds have passed (W.3 of
/// docs/PROTOCOL.md).
fn check_aged(case: &ProofCase<'_>, stage: usize, surviving: &Fabric) -> Result<(), Refusal> {
    let facts = &case.stages[stage];
    let Some(rounds) = facts.aged else { return Ok(()) };
    if case.discards_turned_back {
        // Ways may then lead round, out of switches that have lost theirs, so their length says nothing.
        return Err(precondition(
            &facts.name,
            "it follows a wait for what was sent before, and packets that turn back are taken to be discarded: plan with \
             one or the other"
                .to_string(),
        ));
    }
    let needed = rounds_to_age(case.fabric, surviving, facts.before);
    if rounds >= needed {
        return Ok(());
    }
    let what = format!("what was sent before has left after {needed} rounds, and the barrier waits for {rounds}");
    Err(precondition(&facts.name, what))
}

/// The lanes that all stages together can occupy.
struct Tally {
    all: Dependencies,
    by_wave: Vec<usize>,
    lanes: Vec<bool>,
    last_order: Vec<u32>,
}

impl Tally {
    fn new(layout: &DependencyLayout<'_>) -> Tally {
        let lanes = vec![false; layout.net.channels() * layout.vls];
        Tally { all: Dependencies::none(layout), by_wave: Vec::new(), lanes, last_order: Vec::new() }
    }

    fn count(&mut self, all: &Dependencies, graph: &Graph, order: Vec<u32>) {
        self.all.unite(all);
        self.by_wave.push(all.count());
        self.lanes.iter_mut().zip(graph.touched()).for_each(|(own, touched)| *own |= touched);
        // Only a proof of tables reads the order, and that has one stage.
        self.last_order = order;
    }

    fn judged(self, layout: &DependencyLayout<'_>, proof_walk: &ProofWalk<'_>) -> (ProofStatistics, Vec<(PortId, u8)>) {
        let case = &proof_walk.case;
        let channels = self.lanes.chunks(layout.vls).filter(|lanes| lanes.contains(&true)).count();
        let ends = case.fabric.end_ports().filter(|port| !case.stranded[port.index()]).count();
        let groups = &proof_walk.lanes.groups;
        let statistics = ProofStatistics {
            waves: case.stages.len() - 1,
            channels,
            lanes: self.lanes.iter().filter(|&&occupied| occupied).count(),
            dependencies: self.all.count(),
            dependencies_by_wave: self.by_wave,
            classes: proof_walk.classes().map(|class| groups[class.group].sls.len()).sum(),
            pairs: ends * ends.saturating_sub(1),
        };
        let occupied = self.last_order.into_iter().filter(|&lane| self.lanes[lane as usize]);
        let order = occupied.map(|lane| super::dependencies::lane_of(layout, lane)).collect();
        (statistics, order)
    }
}
