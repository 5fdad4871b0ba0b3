//! A change that an earlier driver left, from its journal.

use super::sighting::{self, BouncedCables};
use super::{ChangeUnderWay, DriverError, Running};
use crate::change;
use crate::fabric::difference::{self, Recognised};
use crate::fabric::{Fabric, PortId};
use crate::journal::Standing;
use crate::machine::{ChangePosition, UNFINISHABLE};
use crate::plan::{Barrier, MovedBy, Plan, Wave};
use crate::routing::ENGINES;
use crate::subnet::Discovered;
use crate::tables::{PortState, RoutedBy, SubnetTables};
use crate::vet::vet;
use std::sync::Arc;

/// Checks that a plan that moves sources rests on the way in which a manager moves them: what shows that they have
/// moved, and what the plan assumes for it, are of that way.
pub(super) fn moved_alike(plan: &Plan, settle_ns: Option<u64>) -> Result<(), DriverError> {
    let moves = |wave: &Wave| wave.barriers.contains(&Barrier::SourcesMoved);
    let (planned, own) = (plan.policy().sources, MovedBy::of_settle(settle_ns));
    match planned != own && plan.waves().iter().any(moves) {
        true => Err(DriverError::Sources { planned, own }),
        false => Ok(()),
    }
}

/// A change that an earlier driver left, judged anew, and the subnet that it is about.
#[derive(Clone, Debug)]
pub struct StandingChange {
    /// The change.
    pub under_way: ChangeUnderWay,
    /// Where to continue.
    pub position: ChangePosition,
    /// Whether the change was made, and only the retired half is still to be mirrored. Its last wave is then repeated;
    /// devices hold for that half what the mirroring has written so far.
    pub is_made: bool,
    /// Virtual layers that the routing needs that was in force before it.
    layers_before: u8,
}

impl StandingChange {
    /// Reads the plan, and has it judged as if it were new: a journal is a file like any other.
    ///
    /// # Errors
    /// Why the change cannot go on, as text for the user.
    pub fn of(standing: &Standing) -> Result<StandingChange, String> {
        let begun = &standing.begun;
        let plan = begun.plan().map_err(|error| error.to_string())?;
        let root = match begun.root {
            None => None,
            Some(guid) => {
                let node = plan.draft().before.by_guid(guid);
                Some(node.ok_or_else(|| format!("the root of its routing, {guid}, is not in its plan"))?)
            }
        };
        let engine = ENGINES.iter().map(|entry| entry.name).find(|&name| name == begun.engine);
        let engine = engine.ok_or_else(|| format!("its routing is by an engine `{}`, unknown here", begun.engine))?;
        let (last, is_made) = (plan.waves().len().saturating_sub(1), standing.is_made);
        let first = ChangePosition { wave: if is_made { last } else { 0 }, call_off: None };
        let position = standing.position.clone().filter(|_| !is_made).unwrap_or(first);
        if position.wave >= plan.waves().len() {
            return Err(format!("it stands in wave {} of {}", position.wave, plan.waves().len()));
        }
        let plan = vet(plan).map_err(|refused| format!("its plan is refused: {}", refused.1))?;
        let routed_by = RoutedBy { engine, root };
        let under_way = ChangeUnderWay { plan: Arc::new(plan), layers: begun.layers, routed_by, then: None };
        Ok(StandingChange { under_way, position, is_made, layers_before: begun.layers_before })
    }

    /// Whether a manager that gives clients `settle_ns` to query again, or notifies them, moves sources as the plan has
    /// them moved.
    ///
    /// # Errors
    /// It does not.
    pub fn suits(&self, settle_ns: Option<u64>) -> Result<(), DriverError> {
        moved_alike(self.under_way.plan.plan(), settle_ns)
    }

    /// Whether what devices hold is what they may hold where the change stands.
    ///
    /// # Errors
    /// The first device that holds something else, as text for the user.
    pub fn admits(&self, held: &SubnetTables, alive: &Fabric) -> Result<(), String> {
        let (plan, position) = (self.under_way.plan.plan(), &self.position);
        let free = self.is_made.then_some(plan.old());
        plan.admits(held, alive, position.wave, position.call_off.is_some(), free)
    }

    /// The halted change and its position, in words.
    pub fn in_words(&self) -> String {
        let (plan, position) = (self.under_way.plan.plan(), &self.position);
        match self.is_made {
            true => format!("the change by `{}` was made, and the retired half does not follow yet", plan.scheme()),
            false => format!("the change by `{}` stands {position} of {}", plan.scheme(), plan.waves().len()),
        }
    }

    /// The part of the plan's fabric that a sweep found, and both ends of its cables that bounced and are to be taken
    /// into use again. A device that was switched off and on meanwhile is not part of it.
    ///
    /// # Errors
    /// What was found is another subnet than the plan's, as text for the user.
    pub fn alive(&self, discovered: &Discovered) -> Result<(Fabric, Vec<PortId>), String> {
        let (plan, found) = (self.under_way.plan.plan(), &discovered.fabric);
        let draft = plan.draft();
        let known = &draft.before;
        let Recognised { mut alive, stranger } = difference::recognise(known, found);
        if stranger.is_some() {
            alive = change::within_reach(&alive, draft.sm);
        }
        if found.port_name(discovered.sm_port) != known.port_name(draft.sm) {
            return Err(format!("its manager was at {}", known.describe_port(draft.sm)));
        }
        let states = &plan.tables_at(self.position.wave).port_states;
        let carries = |port: PortId| states[port.index()] == PortState::Active;
        let BouncedCables { again, rest } =
            sighting::bounced(&alive, draft.sm, discovered, carries).ok_or(UNFINISHABLE)?;
        let alive = rest.unwrap_or(alive);
        for port in alive.lid_ports() {
            let held = found.port_named(alive.port_name(port)).map(|port| found.port(port));
            let wanted = alive.port(port);
            if held.is_none_or(|held| (held.lid, held.lmc) != (wanted.lid, wanted.lmc)) {
                return Err(format!("{} has lost its LID", alive.describe_port(port)));
            }
        }
        Ok((alive, again))
    }

    /// The subnet as it was when the change began, and with what is present of it now.
    pub fn running(&self, alive: Arc<Fabric>) -> Running {
        let draft = self.under_way.plan.plan().draft();
        Running {
            known: draft.before.clone(),
            routed: draft.routed.clone(),
            alive,
            tables: draft.initial.clone(),
            layers: self.layers_before,
            ways: draft.old_ways.clone(),
            half: draft.old,
            both_halves: draft.both_halves,
            sm: draft.sm,
        }
    }
}
