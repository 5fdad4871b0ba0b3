//! Repair: after a loss, an arrival or before a departure, the forwarding entries that must change and no others, in
//! waves of which every mixture of old and new entries is free of deadlock.
//!
//! On entry ([`RepairInput`]): three fabrics over one index space (before, what survives, what remains), the tables in
//! force, of whatever origin, and who sends. On return ([`Repair`]): waves of forwarding tables, the rows that none of
//! them could serve, and what they cost beside a full re-route. No LID, service level or SL-to-VL table changes, and no
//! host is asked for anything. A *row* is a switch with a destination LID; a row is *lost* where its way by the tables
//! breaks off on what survives, and *intact* otherwise. docs/REPAIR.md describes the algorithm and the rules that each
//! wave keeps; `verify` judges them, not this module. Deliberately omitted: what hosts would have to learn (pairs whose
//! service level must change are left unsolved), barriers and writes (`plan`).

mod balance;
mod base;
mod blanked;
mod classes;
mod columns;
mod in_progress;
mod inward;
mod joining;
mod limits;
mod net;
mod occupancy;
mod order;
mod probe;
mod reconnect;
mod relax;
mod renew;
mod subject;
mod trial;
mod up_down;

pub use balance::Quality;
pub use base::RepairBase;

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Lid;
use crate::tables::{Lft, SubnetTables};
use crate::verify::InjectionRules;
use columns::LidColumns;
use in_progress::RepairInProgress;
use limits::{LAST_CHANCE_WORK, RELAX_WORK, RENEWALS, STEP_WORK};
use std::sync::Arc;
use subject::RepairSubject;

/// What a repair reads.
#[derive(Clone, Copy)]
pub struct RepairInput<'a> {
    /// Everything that there was, and what has come: the tables are by its indices.
    pub before: &'a Fabric,
    /// The same without what has died.
    pub surviving: &'a Fabric,
    /// The same without what is to leave as planned: packets cross it until they are led elsewhere.
    pub remaining: &'a Fabric,
    /// The tables in force, of what has come too.
    pub tables: &'a SubnetTables,
    /// Forwarding tables of a full re-route of what remains, by node, if there are any.
    pub target: Option<&'a [Arc<Lft>]>,
    /// Who sends what.
    pub senders: &'a InjectionRules,
    /// The subnet manager's end port, where its answers count: see `verify::Transition::answerer`.
    pub answerer: Option<PortId>,
    /// Whether end ports send to the switches' own LIDs too, and switches to all. If not, these LIDs are repaired all
    /// the same.
    pub switches: bool,
    /// The order of switches by which the tables in force go up and down, the root first, if they do.
    pub order: Option<&'a [NodeId]>,
    /// Whether switches discard packets that are to leave by the port they came in by. A repair rests on that only
    /// where it saves a wait, or finds no way otherwise.
    pub discards_turned_back: bool,
    /// What may be spent on moving intact rows.
    pub budget: Budget,
}

impl<'a> RepairInput<'a> {
    /// An input in which nothing is lost, leaves or arrives; callers override what they test or change.
    pub fn quiet(fabric: &'a Fabric, tables: &'a SubnetTables, senders: &'a InjectionRules) -> RepairInput<'a> {
        RepairInput {
            before: fabric,
            surviving: fabric,
            remaining: fabric,
            tables,
            target: None,
            senders,
            answerer: None,
            switches: true,
            order: None,
            discards_turned_back: false,
            budget: Budget::default(),
        }
    }
}

/// The limits of a repair that its caller sets. Those of its steps are its own (docs/REPAIR.md, *Limits*).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Rows and lanes that may be visited while intact rows are moved out of the way.
    pub relax: u64,
    /// The most waves that renew.
    pub renewals: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { relax: RELAX_WORK, renewals: RENEWALS }
    }
}

/// What a wave is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WavePurpose {
    /// Gives ways to lost rows at once; rows that a later wave sets anew may lose their entries.
    Reconnect,
    /// Gives ways to what the first wave could not.
    Finish,
    /// Moves intact rows, so that a later wave can give ways to lost ones.
    Relax,
    /// Moves intact rows towards the full re-route.
    Renew,
}

/// One wave: any mixture of entries before and after it may be in force while it runs.
#[derive(Clone, Debug)]
pub struct RepairWave {
    /// What it is for.
    pub purpose: WavePurpose,
    /// Whether everything sent before the previous wave had landed must have left before this one begins; for the
    /// first wave, everything sent before the loss.
    pub aged_before: bool,
    /// By node: forwarding tables when it has landed.
    pub lfts: Vec<Arc<Lft>>,
    /// What it changes.
    pub changes: Changes,
}

/// What tables differ by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, schemars::JsonSchema)]
pub struct Changes {
    /// Entries.
    pub entries: usize,
    /// Blocks of 64 LIDs that hold them: one write each.
    pub blocks: usize,
}

/// A row that no wave gives a way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LostRow {
    /// The destination.
    pub lid: Lid,
    /// The switch.
    pub switch: NodeId,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Repair {
    /// In order; none where nothing is broken and nothing is to be renewed.
    pub waves: Vec<RepairWave>,
    /// Rows without a way at the end, although links lead to the destination.
    pub unsolved: Vec<LostRow>,
    /// What the full re-route would change at once, if there is one.
    pub full: Option<Changes>,
    /// Whether the waves rest on [`RepairInput::discards_turned_back`].
    pub discards_turned_back: bool,
    /// LIDs that had rows without a way.
    pub broken: usize,
}

/// Why there is no repair at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    /// The fabrics are not one index space.
    #[error(
        "cannot repair: {what} is no restriction of the fabric before (it has {nodes} nodes, the fabric before {before}, or a cable of its own); \
         align the fabrics first"
    )]
    Unaligned {
        /// Which of the fabrics.
        what: &'static str,
        /// Its nodes.
        nodes: usize,
        /// Nodes of the fabric before.
        before: usize,
    },
    /// The tables do not cover the fabric.
    #[error(
        "cannot repair: {what} cover {found} nodes, the fabric before has {nodes}; read the tables of every switch first"
    )]
    Tables {
        /// Which tables.
        what: &'static str,
        /// Nodes covered.
        found: usize,
        /// Nodes of the fabric.
        nodes: usize,
    },
    /// The tables in force can deadlock already.
    #[error(
        "cannot repair in place: packets that the tables in force lead can wait for each other in a ring already, {cycle}; \
         change to another routing by the scheme `double`"
    )]
    Deadlock {
        /// The lanes of the shortest cycle found.
        cycle: String,
    },
}

/// Finds waves.
///
/// # Errors
/// The input does not fit together, or the tables in force can deadlock by themselves.
pub fn repair(input: &RepairInput<'_>) -> Result<Repair, RepairError> {
    repair_from(input, None)
}

/// The same where something may be known of these tables of the fabric before.
///
/// # Errors
/// As for [`repair`].
pub fn repair_from(input: &RepairInput<'_>, base: Option<&RepairBase>) -> Result<Repair, RepairError> {
    check(input)?;
    // First as if what turns back went on: waves that do without a wait then are good for every switch.
    let subject = RepairSubject::of(RepairInput { discards_turned_back: false, ..*input });
    let mut repair = begun(surveyed(&subject, base), true, STEP_WORK)?;
    if !repair.is_done() && input.discards_turned_back {
        let discarding = RepairSubject::of(*input);
        // Most rows are refused for the same reasons as before, so one wave that ended for its work is not tried again.
        let other = begun(repair.anew(&discarding), !repair.is_cut_short(), LAST_CHANCE_WORK)?;
        if other.is_done() {
            return Ok(finish(other));
        }
    }
    if !repair.is_done() && !repair.is_tried_in_full() {
        // There must be a wait. Wave 1 was only tried in part: now it serves as many rows before the wait as it can.
        let mut trial = repair.at_loss()?;
        repair.reconnect(&mut trial, LAST_CHANCE_WORK);
    }
    repair.finish()?;
    repair.relax();
    Ok(finish(repair))
}

/// A first wave for the rows by which hosts send to hosts, by one search and without a guide: no row that is intact
/// changes, and all others keep their entries. A small part of the work of [`repair`], which finds the rest.
///
/// # Errors
/// As for [`repair`].
pub fn reconnect_hosts(input: &RepairInput<'_>, base: Option<&RepairBase>) -> Result<Repair, RepairError> {
    check(input)?;
    let subject = RepairSubject::of(RepairInput { target: None, discards_turned_back: false, ..*input });
    let mut repair = surveyed(&subject, base);
    let mut trial = repair.at_loss()?;
    repair.reconnect_hosts(&mut trial);
    drop(trial);
    Ok(repair.result())
}

/// The tables in force and what they do, before anything is tried.
fn surveyed<'s, 'a>(subject: &'s RepairSubject<'a>, base: Option<&RepairBase>) -> RepairInProgress<'s, 'a> {
    let (input, net, targets) = (&subject.input, &subject.net, &subject.targets);
    let base = base.filter(|base| base.suits(subject));
    let columns = match base {
        Some(base) => base.columns.clone(),
        None => LidColumns::read(input, net, targets, &input.tables.lfts),
    };
    let target = input.target.map(|lfts| columns.reread(input, net, targets, [&input.tables.lfts, lfts]));
    RepairInProgress::new(subject, base, columns, target)
}

/// Waves that need no wait, as far as there are any: one wave, and then several, for which `inward_work` may be spent.
fn begun<'s, 'a>(
    mut repair: RepairInProgress<'s, 'a>,
    in_one: bool,
    inward_work: u64,
) -> Result<RepairInProgress<'s, 'a>, RepairError> {
    let mut trial = repair.at_loss()?;
    match in_one {
        true => repair.reconnect_if_all(&mut trial),
        false => repair.skip_reconnecting(),
    }
    repair.inward(&mut trial, inward_work);
    drop(trial);
    Ok(repair)
}

fn finish(mut repair: RepairInProgress<'_, '_>) -> Repair {
    repair.join();
    repair.renew();
    repair.hurry();
    repair.result()
}

impl Repair {
    /// The forwarding tables when the last wave has landed, by node; `input` is what the repair was made of.
    pub fn lfts<'r>(&'r self, input: &RepairInput<'r>) -> &'r [Arc<Lft>] {
        self.waves.last().map_or(&input.tables.lfts, |wave| &wave.lfts)
    }
}

/// Lengths and loads of forwarding tables, by node, on what survives.
///
/// # Errors
/// The input does not fit together.
pub fn quality(input: &RepairInput<'_>, lfts: &[Arc<Lft>]) -> Result<Quality, RepairError> {
    check(&RepairInput { target: Some(lfts), ..*input })?;
    let subject = RepairSubject::of(*input);
    let columns = LidColumns::read(input, &subject.net, &subject.targets, lfts);
    Ok(balance::quality(&subject.net, &subject.targets, &columns))
}

fn check(input: &RepairInput<'_>) -> Result<(), RepairError> {
    let before = input.before;
    for (what, fabric) in [("what survives", input.surviving), ("what remains", input.remaining)] {
        let (nodes, within) = (fabric.node_count(), before.node_count());
        let alien =
            |fabric: &Fabric| fabric.ports().any(|(id, port)| port.peer.is_some() && port.peer != before.peer(id));
        if nodes != within || fabric.port_count() != before.port_count() || alien(fabric) {
            return Err(RepairError::Unaligned { what, nodes, before: within });
        }
    }
    let tables = [("forwarding tables", input.tables.lfts.len()), ("SL-to-VL tables", input.tables.sl_to_vl.len())];
    let target = input.target.map(|lfts| ("forwarding tables of the full re-route", lfts.len()));
    for (what, found) in tables.into_iter().chain(target) {
        if found != before.node_count() {
            return Err(RepairError::Tables { what, found, nodes: before.node_count() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Half;
    use crate::tables::SlToVl;

    /// A fabric without routes, to which nothing has happened.
    pub(super) struct QuietInput<'a> {
        fabric: &'a Fabric,
        tables: SubnetTables,
        senders: InjectionRules,
    }

    pub(super) fn quiet_input(fabric: &Fabric) -> QuietInput<'_> {
        let tables = SubnetTables::new(fabric, SlToVl::from_fn(|_| crate::ids::Vl::default()), Half::Lower);
        QuietInput { fabric, tables, senders: InjectionRules { injected: [true, false], ..InjectionRules::default() } }
    }

    impl QuietInput<'_> {
        pub fn input(&self) -> RepairInput<'_> {
            RepairInput::quiet(self.fabric, &self.tables, &self.senders)
        }
    }

    /// Where nothing is routed every row is lost, and one wave routes all.
    #[test]
    fn a_subnet_without_routes_is_one_loss() {
        use crate::fabric::generate::{Options, generate};
        let fabric = generate(&"random-regular:12,4,1".parse().unwrap(), &Options::default()).unwrap();
        let owned = quiet_input(&fabric);
        let done = repair(&owned.input()).unwrap();
        assert!(done.unsolved.is_empty());
        assert_eq!(done.waves.len(), 1);
        assert_eq!(done.waves[0].changes.entries, 12 * 24);
    }
}
