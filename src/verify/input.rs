//! Makes the subject of a proof of a transition or of tables, and checks what every later step relies on: fabrics and
//! tables by one index, waves that follow each other, and a path for every source.

use super::case::{ProofCase, STEADY};
use super::refusal::{Refusal, precondition};
use super::reserved;
use super::{ProofWave, Transition};
use crate::fabric::{Fabric, PortId};
use crate::ids::Half;
use crate::tables::SubnetTables;

/// The moment before the first wave, then the waves; none where there are no waves.
pub(super) fn case_of(transition: &(impl Transition + ?Sized)) -> Result<Option<ProofCase<'_>>, Refusal> {
    let (fabric, surviving) = (transition.fabric(), transition.surviving());
    let waves = transition.waves();
    // First, because everything after it reads both fabrics by one index.
    check_restriction(fabric, surviving)?;
    if let Some((wave, what)) = transition.disorder() {
        return Err(precondition(&wave, what));
    }
    check_sequence(fabric, &waves)?;
    let Some(first) = waves.first() else { return Ok(None) };
    let mut case = ProofCase::steady(fabric, first.before, transition.sending_before(), transition.stranded(), false);
    case.drains.extend((0..waves.len()).map(|wave| transition.drains(wave)));
    case.stages.extend(waves);
    case.answerer = transition.answerer();
    case.discards_turned_back = transition.discards_turned_back();
    case.begins_with_losses = transition.begins_with_losses();
    case.reserved = transition.reservation().map(|reservation| reservation.level.sl);
    // Before the checks: which ports must have a path depends on which take part.
    case.welcome(&transition.newcomers());
    check_tables(&case)?;
    check_everybody_sends(&case, surviving)?;
    reserved::check(transition, &case.stages[1..])?;
    Ok(Some(case))
}

/// Every port that takes part before the change has a path to every other. So has every port that the new routing
/// serves, once sources use the other half. Nothing would be proved of a source without a path.
fn check_everybody_sends(case: &ProofCase<'_>, surviving: &Fabric) -> Result<(), Refusal> {
    let before: Vec<PortId> = case.fabric.end_ports().filter(|port| !case.newcomer[port.index()]).collect();
    check_ways(case.fabric, &case.stages[0], &before)?;
    for half in [Half::Lower, Half::Upper].into_iter().filter(|&half| !case.stages[0].injects(half)) {
        let Some(stage) = case.stages.iter().position(|facts| facts.injects(half)) else { continue };
        let mut facts = case.stages[stage].clone();
        // Paths of the other half were checked above, for the ports that take part before the change.
        facts.injected[half.other().index()] = false;
        let led_to = |port: &PortId| !case.stranded[port.index()] && case.admits(*port, stage, half);
        check_ways(case.fabric, &facts, &surviving.end_ports().filter(led_to).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Verifies, where the paths of each source are specified, that each of `ports` has one to every other, by a LID that
/// exists.
pub(super) fn check_ways(fabric: &Fabric, facts: &ProofWave<'_>, ports: &[PortId]) -> Result<(), Refusal> {
    for half in [Half::Lower, Half::Upper].into_iter().filter(|&half| facts.injects(half)) {
        let ways = &facts.ways[half.index()];
        for &owner in ports.iter().filter(|_| !ways.is_empty()) {
            let lids = fabric.half_lids(owner, half).count();
            // A path beyond the LIDs of the owner has no address, so no packet takes it.
            let open = |source: PortId| ways.iter().any(|ways| ways.ways(source, owner).any(|(path, _)| path < lids));
            if let Some(&source) = ports.iter().find(|&&source| source != owner && !open(source)) {
                let (source, owner) = (fabric.describe_port(source), fabric.describe_port(owner));
                return Err(precondition(&facts.name, format!("{source} has no path to {owner} on the {half} half")));
            }
        }
    }
    Ok(())
}

/// The surviving fabric must be the fabric with some elements removed.
fn check_restriction(fabric: &Fabric, surviving: &Fabric) -> Result<(), Refusal> {
    if (fabric.node_count(), fabric.port_count()) != (surviving.node_count(), surviving.port_count()) {
        let what = "what survives is indexed otherwise than the fabric before the change".to_string();
        return Err(precondition(STEADY, what));
    }
    let alien = surviving.ports().find(|&(id, port)| port.peer.is_some() && port.peer != fabric.peer(id));
    alien.map_or(Ok(()), |(id, _)| {
        let what = format!("{} has a cable that the fabric before the change lacks", fabric.describe_port(id));
        Err(precondition(STEADY, what))
    })
}

/// Each wave begins as the one before it ended.
fn check_sequence(fabric: &Fabric, waves: &[ProofWave<'_>]) -> Result<(), Refusal> {
    for pair in waves.windows(2) {
        let (ended, begins) = (pair[0].after, pair[1].before);
        let differing = fabric.nodes().map(|(id, _)| id).find(|id| {
            ended.lfts[id.index()] != begins.lfts[id.index()]
                || ended.sl_to_vl[id.index()] != begins.sl_to_vl[id.index()]
        });
        if let Some(node) = differing {
            let name = fabric.describe_node(node);
            let what = format!("tables of {name:?} differ from those at the end of wave {}", pair[0].name);
            return Err(precondition(&pair[1].name, what));
        }
    }
    Ok(())
}

/// Tables for every node, and for every end port a LID of each half that is injected.
pub(super) fn check_tables(case: &ProofCase<'_>) -> Result<(), Refusal> {
    let fabric = case.fabric;
    let nodes = fabric.node_count();
    for facts in &case.stages {
        let fits = |tables: &SubnetTables| tables.lfts.len() == nodes && tables.sl_to_vl.len() == nodes;
        if !fits(facts.before) || !fits(facts.after) {
            let what = format!("tables do not cover the {nodes} nodes of the fabric before the change");
            return Err(precondition(&facts.name, what));
        }
        for half in [Half::Lower, Half::Upper].into_iter().filter(|&half| facts.injects(half)) {
            if let Some(port) = fabric.end_ports().find(|&port| fabric.half_lids(port, half).next().is_none()) {
                let what = format!("{} owns no LID of the {half} half, which is in use", fabric.describe_port(port));
                return Err(precondition(&facts.name, what));
            }
        }
    }
    Ok(())
}
