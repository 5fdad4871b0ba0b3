//! The checker's results for a routing in force, reused by the plans that begin with that routing.
//!
//! They come from checking an ordinary certificate, that of a plan which begins with these tables and changes nothing.
//! The base keeps the rows of the moment before the first wave and their consequences. A DLID needs no second judgement
//! if its row is the same again, no wave reroutes it and its packets stand in nothing that dies. All other DLIDs are
//! judged as without a base.

use super::CertificateFault;
use super::closure::Closure;
use super::file::File;
use super::kept::{FirstMoment, JudgedRows};
use super::lanes::Groups;
use super::moments::PlanMoments;
use super::net::{ChannelEnd, CheckedNet};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, PortNum};
use crate::plan::{Assumption, Plan};
use crate::tables::{Lft, PathLayers, SubnetTables};
use std::sync::Arc;

/// A routing in force, checked.
pub struct CheckBase {
    fabric: Arc<Fabric>,
    tables: SubnetTables,
    ways: Option<Arc<PathLayers>>,
    old: Half,
    both_halves: bool,
    sm: PortId,
    assumes_of_answers: bool,
    groups: Groups,
    /// Whether some packet leaves a switch by the port that it came in by.
    turns_back: bool,
    first: FirstMoment,
}

impl CheckBase {
    /// Checks a plan that changes nothing, and keeps the results for the moment before its first wave. None for a plan
    /// that does change something.
    ///
    /// # Errors
    /// The first fault of the certificate.
    pub fn of(plan: &Plan, certificate: &[u8]) -> Result<Option<CheckBase>, CertificateFault> {
        let file = File::read(certificate)?;
        file.check_binding(plan, super::IN_HAND)?;
        super::judge_keeping(plan, &file, true, None, true).map(|(_, base)| base)
    }

    /// Takes the results of a closure.
    pub(super) fn with(
        plan: &Plan,
        net: &CheckedNet,
        moments: &PlanMoments<'_>,
        groups: Groups,
        first: FirstMoment,
    ) -> Option<CheckBase> {
        let draft = plan.draft();
        // Each of these makes the check more lenient than it is for an ordinary plan: losses to stranded ports and at
        // rows lost from the beginning are forgiven, steps back are not followed, newcomers send nothing at first. A
        // later plan without the leniency must not inherit verdicts that were given with it.
        let plain = draft.stranded.is_empty()
            && !draft.begins_with_losses
            && !discards(plan)
            && !draft.before.ports().any(|(port, _)| plan.has_come(port));
        // A plan may rest on switches that discard packets that turn back (W.8), and then such steps cause no
        // dependency. If no packet turned back, the base is the same with and without that assumption.
        let turned = |channel: u32| match net.ends[channel as usize] {
            ChannelEnd::Switch(switch, input) => {
                let way = net.way(channel as usize, switch as usize, input.index());
                first.ways_taken.iter().any(|ways| ways.get(way).is_some_and(|&lanes| lanes != 0))
            }
            ChannelEnd::Port(_) | ChannelEnd::Nowhere => false,
        };
        let turns_back = net.sent.iter().any(|&channel| turned(channel));
        (plain && !moments.all.is_empty()).then(|| CheckBase {
            fabric: draft.before.clone(),
            tables: plan.tables_at(0).clone(),
            ways: draft.old_ways.clone(),
            old: draft.old,
            both_halves: draft.both_halves,
            sm: draft.sm,
            assumes_of_answers: assumes_of_answers(plan),
            groups,
            turns_back,
            first,
        })
    }

    /// The rows that this base has judged for a plan. None if the plan begins otherwise, or if a wave treats all
    /// packets anew.
    pub(super) fn judged<'b>(&'b self, plan: &Plan, closure: &Closure<'_>) -> Option<JudgedRows<'b>> {
        let (draft, moments, net) = (plan.draft(), closure.moments, closure.net);
        // The moment before the first wave is a function of exactly these values: the fabric, the tables, the classes
        // that are sent, and the assumptions by which steps are omitted. If they are equal, so is every row of that
        // moment.
        let begins_alike = *draft.before == *self.fabric
            && *plan.tables_at(0) == self.tables
            && draft.old_ways == self.ways
            && (draft.old, draft.both_halves, draft.sm) == (self.old, self.both_halves, self.sm)
            && assumes_of_answers(plan) == self.assumes_of_answers
            && !(discards(plan) && self.turns_back)
            && !draft.begins_with_losses
            && !draft.before.ports().any(|(port, _)| plan.has_come(port))
            && closure.groups.begin_like(&self.groups);
        let later = 1..moments.all.len();
        // Rules 1 and 2 of docs/PROOF.md, and the lanes of rule 3, must have the same input at every later moment. Then
        // a DLID with the same entries has the same closure there.
        let stands = |moment: usize| {
            closure.repeats[moment] == [true; 2]
                && moments.all[moment].injected == moments.all[0].injected
                && [Half::Lower, Half::Upper]
                    .iter()
                    .all(|&half| closure.groups.usual(moment, half) == closure.groups.usual(0, half))
        };
        if !begins_alike || !later.clone().all(stands) {
            return None;
        }
        // The remaining input of rule 3 differs by DLID: its entries, and whether the channels that they name are
        // present.
        let mut open = vec![false; usize::from(u16::MAX) + 1];
        for (switch, &node) in net.switches.iter().enumerate() {
            let held = &self.tables.lfts[node.index()];
            let mut last = held;
            for tables in later.clone().flat_map(|moment| moments.all[moment].tables) {
                let table = &tables.lfts[node.index()];
                // Compared with the first tables, not with those before: an entry that is changed and changed back
                // mixes too.
                if !Arc::ptr_eq(table, last) {
                    open_changed(held, table, &mut open);
                    last = table;
                }
            }
            // A death lies between moments 0 and 1. It takes a channel from every class that used it, although no entry
            // changed.
            let dies = |output: &usize| {
                let channel = net.channel(switch, *output);
                net.is_there(0, channel) && !net.is_there(1, channel)
            };
            for output in (1..net.sides[switch]).filter(dies) {
                for (&(lid, _), row) in &self.first.rows {
                    let chooses = row.choosing.as_ref().is_some_and(|bits| bits[switch / 8] >> (switch % 8) & 1 == 1);
                    open[lid.index()] |= chooses && held.get(lid) == Some(PortNum(output as u8));
                }
            }
        }
        Some(JudgedRows { first: &self.first, open, moments: moments.all.len() })
    }
}

fn discards(plan: &Plan) -> bool {
    plan.draft().assumptions.contains(&Assumption::TurnedBackIsDiscarded)
}

fn assumes_of_answers(plan: &Plan) -> bool {
    plan.draft().assumptions.contains(&Assumption::AnswersAreLegal)
}

/// Opens the LIDs that one table leads elsewhere than another.
fn open_changed(held: &Lft, table: &Lft, open: &mut [bool]) {
    for block in 0..held.blocks().max(table.blocks()) {
        let [old, new] = [held, table].map(|table| table.block(block));
        if old == new {
            continue;
        }
        let first = usize::from(block) * old.len();
        (first..).zip(old.iter().zip(&new)).filter(|(_, (old, new))| old != new).for_each(|(lid, _)| open[lid] = true);
    }
}
