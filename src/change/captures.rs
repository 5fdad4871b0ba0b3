//! Two captures of a subnet in, a planned change from one to the other out.
//!
//! The routing in force is the engine's own on the fabric before, tables that were imported among them, with LIDs as
//! captured where they suffice: a capture of the topology says nothing of the tables that are loaded. What that means
//! for the reader is in [`Drawn::notes`].

use super::absent::absent_rows;
use super::bring_up::{BringUpError, CaptureSettings, DataVls, data_vls, manager_port};
use super::{
    ChangeError, ChangeInput, Prepared, is_soon_judged, prepare, prepare_baseline, prepare_cheapest, prepare_partly,
    served,
};
use crate::fabric::difference::{Difference, LidConflict, Union, UnionError, align, union};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::Half;
use crate::lid;
use crate::plan::{Lanes, Plan, Policy, Scheme};
use crate::routing::{Engine, Imported};
use std::sync::Arc;

/// When an element leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Departure {
    /// First it dies, then the subnet manager learns of it.
    #[default]
    Sudden,
    /// First the routing changes, then it leaves.
    Planned,
}

impl Departure {
    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Departure::Sudden => "sudden",
            Departure::Planned => "planned",
        }
    }
}

/// A change between two captures, as it is asked for.
#[derive(Clone)]
pub struct Captures<'a> {
    /// The fabric before.
    pub before: &'a Fabric,
    /// The fabric after.
    pub after: &'a Fabric,
    /// When what is missing after leaves. What is new after is taken to be there while the change runs.
    pub departure: Departure,
    /// What the captures do not say.
    pub settings: CaptureSettings,
    /// The node of `before` that the subnet manager runs on; none chooses one.
    pub sm: Option<NodeId>,
    /// The engine that computes both routing functions.
    pub engine: &'a dyn Engine,
    /// Whether the data VLs of `settings` stay as they are where the engines need more, which is an error then.
    pub vls_fixed: bool,
    /// Whether the LMC of `settings` stays as it is where the engines need more LIDs, which is an error then.
    pub lmc_fixed: bool,
    /// The engine that computes the routing after the change.
    pub engine_after: &'a dyn Engine,
    /// How the routing is changed.
    pub scheme: Scheme,
    /// Whether the cheapest scheme that is proved is taken instead.
    pub auto: bool,
    /// Arming and drain.
    pub policy: Policy,
    /// Nanoseconds that sources have to follow behind a fence, and may send on both halves until the change; none if
    /// they are told.
    pub settle_ns: Option<u64>,
}

/// Why two captures give no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CapturesError {
    /// The captures contradict each other.
    #[error("putting both captures side by side: {0}")]
    Union(#[from] UnionError),
    /// The fabric before cannot be made ready.
    #[error(transparent)]
    BringUp(#[from] BringUpError),
    /// The change cannot be made.
    #[error(transparent)]
    Change(#[from] Box<ChangeError>),
}

/// A change between two captures, planned and judged.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// What changed, as far as captures show.
    pub difference: Difference,
    /// The root of the routing in force, where the engine has one.
    pub root_before: Option<NodeId>,
    /// The change; its plan is proved, or of a baseline scheme and refused.
    pub prepared: Prepared,
    /// What a reader should know of how the captures were taken.
    pub notes: Vec<String>,
}

impl Drawn {
    /// The plan to be kept. One that was refused bears the refusal as a note, so that it is not mistaken for a proved
    /// one.
    pub fn plan(&self) -> Plan {
        self.prepared.plan.noted()
    }
}

/// Plans the change; none where no node and no cable differs.
///
/// # Errors
/// What [`CapturesError`] lists; for scheme `double`, a refused plan too.
pub fn draw(captures: &Captures<'_>) -> Result<Option<Drawn>, CapturesError> {
    let difference = Difference::between(captures.before, captures.after);
    let union = union(captures.before, captures.after)?;
    // Tables that are given for afterwards may differ from those in force whatever the cables do.
    let same_engine = captures.engine.name() == captures.engine_after.name();
    if same_topology(&union) && same_engine && captures.engine_after.name() != Imported::NAME {
        return Ok(None);
    }
    let drawn = with_lanes(captures, |settings| draw_on(captures, settings, difference.clone(), union.clone()));
    drawn.map(Some)
}

/// Plans what comes after a drawn change: cables are plugged in where others have been, which that change did without.
/// The fabrics have the indices of its plan.
///
/// # Errors
/// As for [`draw`].
pub fn draw_next(captures: &Captures<'_>, first: &Drawn, plugged: &[(PortId, PortId)]) -> Result<Drawn, CapturesError> {
    let plan = first.prepared.plan.plan();
    let draft = plan.draft();
    // What the first change had to cut off is there all the same, and may come back by those cables.
    let left = align(&draft.before, captures.after).expect("the plan has everything that the captures have");
    let after = Arc::new(left.with_plugged(plugged));
    let input = ChangeInput {
        before: draft.after.clone(),
        surviving: after.clone(),
        after: after.clone(),
        tables: plan.tables_at(plan.waves().len()).clone(),
        layers: first.prepared.layers,
        ways: plan.new_ways().cloned(),
        old: plan.new_half(),
        both_halves: draft.both_halves && plan.old() == plan.new_half(),
        engine: captures.engine_after,
        scheme: captures.scheme,
        policy: plan.policy(),
        sm: draft.sm,
        base: None,
    };
    let settle_ns = captures.settle_ns.unwrap_or(0);
    let prepared = if captures.auto { prepare_cheapest(input, settle_ns) } else { prepare_baseline(input) };
    let prepared = prepared.map_err(Box::new)?;
    let notes = vec!["it begins with the tables that the first change leaves".to_string()];
    let difference = Difference::between(&draft.after, &after);
    Ok(Drawn { difference, root_before: first.prepared.routed_by.root, prepared, notes })
}

fn draw_on(
    captures: &Captures<'_>,
    settings: &CaptureSettings,
    difference: Difference,
    union: Union,
) -> Result<Drawn, CapturesError> {
    let mut notes = notes(captures, &union, &difference);
    let begun = begun(captures, settings, union)?;
    notes.extend(begun.note);
    let settle_ns = captures.settle_ns.unwrap_or(0);
    let prepared = match captures.auto {
        true => prepare_cheapest(begun.input.clone(), settle_ns),
        false => prepare_baseline(begun.input.clone()),
    };
    let prepared = prepared.map_err(Box::new)?;
    if captures.auto {
        notes.extend(match prepared.plan.plan().scheme() {
            Scheme::Double => prepare_partly(&begun.input).map(|first| comes_first(first.plan.plan())),
            _ => in_place_refused(&begun.input),
        });
    }
    Ok(Drawn { difference, root_before: begun.root, prepared, notes })
}

/// What stands against writing the full re-route block by block, as other managers do; none where nothing does, or the
/// fabric is so large that judging it would be noticed.
fn in_place_refused(input: &ChangeInput<'_>) -> Option<String> {
    if !is_soon_judged(&input.before) {
        return None;
    }
    match prepare(ChangeInput { scheme: Scheme::InPlace, ..input.clone() }) {
        Err(ChangeError::Refused { refusal, .. }) => {
            Some(format!("scheme {} was passed over: {refusal}", Scheme::InPlace))
        }
        _ => None,
    }
}

/// What a manager does before scheme `double` ([`super::prepare_in_turn`]).
fn comes_first(first: &Plan) -> String {
    let ((pairs, served), writes) = (served(first), first.size().writes);
    format!(
        "a manager first gives ways to {served} of the {pairs} pairs of a host and a LID that have lost theirs, by {writes} \
         writes of forwarding entries; the plan is for all of them"
    )
}

/// A change that is ready to be prepared.
pub(super) struct Begun<'a> {
    pub input: ChangeInput<'a>,
    /// The name of the engine whose tables are in force.
    pub engine: &'static str,
    /// The root of the routing in force, where the engine has one.
    pub root: Option<NodeId>,
    /// What a reader should know of the tables in force.
    pub note: Option<String>,
}

/// Brings the fabric before up, as options say, and routes it.
pub(super) fn begun<'a>(
    captures: &Captures<'a>,
    settings: &CaptureSettings,
    union: Union,
) -> Result<Begun<'a>, CapturesError> {
    let mut whole = Union { fabric: settings.equip(&union.fabric)?, ..union };
    let function = settings.route(&whole.before(), captures.engine)?;
    let sm = manager_port(&whole.before(), &whole.after(), captures.sm)?;
    if captures.lmc_fixed {
        lid::check_fits(&whole.fabric, &function).map_err(BringUpError::from)?;
    } else {
        whole.fabric = settings.fitted(&whole.fabric, &function, &whole.after(), sm, captures.engine_after)?;
    }
    let (before, after) = (Arc::new(whole.before()), Arc::new(whole.after()));
    let assumed = (function.engine() != Imported::NAME).then(|| {
        format!("the tables in force are taken to be those of engine {} on the fabric before", function.engine())
    });
    // Hosts that cannot be notified may not have queried since the last change (W.7), if the fabric has a second half
    // at all.
    let both_halves =
        captures.settle_ns.is_some() && function.path_layers().is_none() && whole.fabric.has_both_halves();
    let steady = Lanes::steady_table(&whole.fabric, &captures.policy);
    let tables = lid::bring_up(&whole.fabric, &function, data_vls(&whole.fabric)).on_lanes(steady);
    let note = assumed.or_else(|| absent_rows(&before, &tables.lfts).map(|absent| absent.to_string()));
    let input = ChangeInput {
        tables,
        surviving: match captures.departure {
            Departure::Planned => Arc::new(whole.fabric),
            Departure::Sudden => after.clone(),
        },
        before,
        after,
        layers: function.layers(),
        ways: function.path_layers().cloned(),
        old: Half::Lower,
        both_halves,
        engine: captures.engine_after,
        scheme: captures.scheme,
        policy: captures.policy,
        sm,
        base: None,
    };
    Ok(Begun { input, engine: function.engine(), root: function.root(), note })
}

/// Tries data VLs until there are enough for the engines' layers.
pub(super) fn with_lanes<T>(
    captures: &Captures<'_>,
    work: impl FnMut(&CaptureSettings) -> Result<T, CapturesError>,
) -> Result<T, CapturesError> {
    let mut work = work;
    let lacks = |error: &CapturesError| matches!(error, CapturesError::BringUp(error) if error.wants_lanes());
    let vls = DataVls { given: captures.settings.data_vls, fixed: captures.vls_fixed };
    vls.first_enough(DataVls::LAYERED, lacks, |data_vls| {
        work(&CaptureSettings { data_vls, reserved_sl: captures.policy.reserved_sl, ..captures.settings })
    })
}

fn same_topology(union: &Union) -> bool {
    let nodes = union.absent_before.is_empty() && union.absent_after.is_empty();
    nodes && union.uncabled_before.is_empty() && union.uncabled_after.is_empty()
}

/// What a reader should know where ports have other LIDs in the fabric after.
pub fn renumbered(union: &Union) -> Option<String> {
    let LidConflict { port, kept, wanted } = *union.lid_conflicts.first()?;
    let (number, name) = (union.lid_conflicts.len(), union.fabric.describe_port(port));
    let was = kept.map_or("none that is free".to_string(), |(lid, _)| lid.to_string());
    let ports = if number == 1 { "port has another LID".to_string() } else { "ports have other LIDs".to_string() };
    Some(format!(
        "{number} {ports} after than before ({name} first: {was} before, {} after): those before are kept, and no LID \
         changes (`reconfig fabric diff BEFORE AFTER` lists them)",
        wanted.0
    ))
}

fn notes(captures: &Captures<'_>, union: &Union, difference: &Difference) -> Vec<String> {
    let mut notes = Vec::new();
    let lmc = captures.settings.lmc;
    if !lid::suffices(&union.fabric, lmc) {
        notes.push(format!(
            "the captures do not give every end port aligned LIDs of LMC {lmc}: LIDs are numbered anew, and the plan is for \
             a subnet that has them"
        ));
    }
    notes.extend(renumbered(union));
    if !difference.rates.is_empty() {
        notes.push(format!("{} cables change their rate: routing does not look at rates", difference.rates.len()));
    }
    notes
}
