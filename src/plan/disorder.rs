//! Finds plans whose waves cannot be judged one after another: writes that may land in a later wave, or whose order
//! matters; drains that cannot hold.

use super::{Assumption, Barrier, Phase, Plan, Wave};
use crate::fabric::NodeId;
use crate::ids::Half;
use crate::tables::{SlToVlScope, Write};
use std::collections::BTreeSet;

/// The first faulty wave, and its fault.
pub(super) fn first(plan: &Plan) -> Option<(String, String)> {
    if let Some(what) = misreserved(plan) {
        return Some(("plan".to_string(), what));
    }
    let mut moved = !plan.waves().iter().any(|wave| wave.phase == Phase::Swap);
    for wave in plan.waves() {
        let fault = late(wave).or_else(|| twice(wave)).or_else(|| untimely(plan, wave, &mut moved));
        if let Some(what) = fault {
            return Some((wave.name.clone(), what));
        }
    }
    None
}

/// A reserved level, the assumption about it and its lane go together.
fn misreserved(plan: &Plan) -> Option<String> {
    let (lanes, kept) = (plan.lanes(), Assumption::ReservedLevelIsKept);
    let named = plan.draft().assumptions.contains(&kept);
    match lanes.reserved {
        Some(_) if !named => Some(format!("it reserves a service level, and does not name `{}`", kept.name())),
        None if named => Some(format!("it names `{}`, and reserves no service level", kept.name())),
        Some(level) if [lanes.all, lanes.a, lanes.b].iter().any(|set| set.contains(level.vl)) => {
            Some(format!("VL {} is reserved, and among the lanes of the halves", level.vl))
        }
        Some(level) if Half::rank(level.sl) < data_levels(plan) => Some(format!(
            "SL {} is reserved, and data takes it: the first {} of each half",
            level.sl,
            data_levels(plan)
        )),
        level if level.map(|level| level.sl) != plan.policy().reserved_sl => {
            Some("its policy and its lanes name different reserved service levels".to_string())
        }
        _ => None,
    }
}

/// Levels of each half that data takes: one for each layer.
fn data_levels(plan: &Plan) -> usize {
    let draft = plan.draft();
    let ways = [&draft.old_ways, &draft.new_ways].into_iter().flatten();
    ways.map(|ways| usize::from(ways.layers())).max().unwrap_or(1)
}

fn late(wave: &Wave) -> Option<String> {
    let awaited = wave.writes.is_empty() || wave.barriers.first() == Some(&Barrier::Acknowledged);
    (!awaited).then(|| "its first barrier does not acknowledge its writes: they may land later".to_string())
}

/// Writes of a wave land in any order, so the result must not depend on it.
fn twice(wave: &Wave) -> Option<String> {
    let mut whole: BTreeSet<NodeId> = BTreeSet::new();
    let mut parts = BTreeSet::new();
    let mut blocks = BTreeSet::new();
    for write in &wave.writes {
        let fresh = match *write {
            Write::SlToVl { node, scope: SlToVlScope::All, .. } => whole.insert(node),
            Write::SlToVl { node, scope: SlToVlScope::Pair { input, output }, .. } => {
                parts.insert((node, input, output))
            }
            Write::SlToVl { node, scope: SlToVlScope::EndPort { port }, .. } => parts.insert((node, port, port)),
            Write::LftBlock { switch, block, .. } => blocks.insert((switch, block)),
            Write::PortState { .. } | Write::ActiveHalf { .. } | Write::SaHalf { .. } | Write::MasterSm { .. } => true,
        };
        if !fresh {
            return Some("it sets a table twice, and either write may land last".to_string());
        }
    }
    let both = parts.iter().any(|(node, ..)| whole.contains(node));
    both.then(|| "it sets SL-to-VL tables of a switch together and one by one, and either may land last".to_string())
}

/// A drain is too early while sources may still begin on the old half, or have packets of it in other lanes.
fn untimely(plan: &Plan, wave: &Wave, moved: &mut bool) -> Option<String> {
    let a = plan.lanes().a;
    for barrier in &wave.barriers {
        match *barrier {
            Barrier::SourcesMoved | Barrier::Drained(_) if plan.draft().both_halves => {
                return Some("it has a half retire, and sources may send on either throughout".to_string());
            }
            Barrier::SourcesMoved => *moved = true,
            Barrier::Drained(_) if !*moved => return Some("it drains before every source has moved".to_string()),
            Barrier::Drained(lanes) if !a.minus(lanes).is_empty() => {
                return Some(format!("it drains lanes {lanes}, and the old half is on {a}"));
            }
            Barrier::Acknowledged | Barrier::Flushed(_) | Barrier::Drained(_) | Barrier::Vacated(_) => {}
        }
    }
    None
}
