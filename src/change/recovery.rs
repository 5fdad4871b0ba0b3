//! What a change left that nobody ended: which half to keep, and the proved way back to one routing on all lanes.
//!
//! On entry: the tables as devices report them, and nothing about what they were meant for. On return: a plan of scheme
//! `recover`, vetted like any other, or why there is none. Both halves are tried, the one in use first; and of each the
//! ways that lose nothing before the one that closes the other half for a while.

use super::{ChangeError, PlannedChange, Prepared, refused};
use crate::fabric::{Fabric, PortId};
use crate::ids::Half;
use crate::lid;
use crate::plan::{self, Lanes, PlanInput, Policy, Scheme, TableStep};
use crate::routing;
use crate::tables::{NodeSlToVl, RoutingFunction, SubnetTables};
use crate::verify::{self, Refusal, Scope};
use std::sync::Arc;

/// A subnet to recover.
#[derive(Clone, Debug)]
pub struct RecoveryInput {
    /// What is there, LIDs assigned.
    pub fabric: Arc<Fabric>,
    /// Its tables, as reported.
    pub tables: SubnetTables,
    /// The half that most end ports are on.
    pub in_use: Half,
    /// What the user settled.
    pub policy: Policy,
    /// The SM's own port.
    pub sm: PortId,
    /// What the engine makes of the fabric: towards it later changes lead.
    pub function: Arc<RoutingFunction>,
}

/// How a subnet is recovered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryWay {
    /// Forwarding entries stay; only service levels go back to their lanes.
    Open,
    /// The other half is led where the kept one leads, while sources may send on both.
    Follow,
    /// End ports are first kept from sending on the other half: what hosts send on it meanwhile is lost.
    Close,
}

impl RecoveryWay {
    /// From the one that costs least.
    const ALL: [RecoveryWay; 3] = [RecoveryWay::Open, RecoveryWay::Follow, RecoveryWay::Close];

    /// What it does, in words.
    pub fn in_words(self) -> &'static str {
        match self {
            RecoveryWay::Open => "service levels return to their lanes",
            RecoveryWay::Follow => "the other half follows, then service levels return to their lanes",
            RecoveryWay::Close => {
                "the other half is closed, follows, and then service levels return to their lanes; what hosts send on \
                 the other half meanwhile is lost"
            }
        }
    }
}

/// A recovery that may be run.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// The change.
    pub prepared: Prepared,
    /// The half that is kept.
    pub kept: Half,
    /// The way taken.
    pub way: RecoveryWay,
}

/// Why there is no recovery: what was said of each half, and of each way.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Unrecovered(Vec<String>);

/// Prepares the recovery that costs least among those that are proved.
///
/// # Errors
/// Neither half can be kept, or no way to keep one is proved.
pub fn prepare_recovery(input: &RecoveryInput) -> Result<Recovery, Unrecovered> {
    let mut reasons = Vec::new();
    let mut kept = Vec::new();
    for half in [input.in_use, input.in_use.other()] {
        match by_itself(input, half) {
            Ok(()) => kept.push(half),
            Err(refusal) => reasons.push(format!("the {half} half cannot be kept: {}", first_line(&refusal))),
        }
    }
    for way in RecoveryWay::ALL {
        for &half in &kept {
            match attempt(input, half, way) {
                Ok(prepared) => return Ok(Recovery { prepared, kept: half, way }),
                Err(error) => reasons.push(format!("to keep the {half} half ({}): {}", name(way), first_line(&error))),
            }
        }
    }
    Err(Unrecovered(reasons))
}

fn name(way: RecoveryWay) -> &'static str {
    match way {
        RecoveryWay::Open => "open",
        RecoveryWay::Follow => "follow, open",
        RecoveryWay::Close => "close, follow, open",
    }
}

fn first_line(error: &impl ToString) -> String {
    error.to_string().lines().next().unwrap_or_default().to_string()
}

/// Whether the entries of a half are a sound routing on any lanes.
fn by_itself(input: &RecoveryInput, half: Half) -> Result<(), Refusal> {
    let lanes = Lanes::of_fabric(&input.fabric, input.policy.reserved_sl);
    let steady = Arc::new(NodeSlToVl::Uniform(lanes.steady(input.policy.partition)));
    let tables = SubnetTables { sl_to_vl: vec![steady; input.fabric.node_count()], ..input.tables.clone() };
    verify::prove_tables(&input.fabric, &tables, &Scope::of(&[half])).map(|_| ())
}

fn attempt(input: &RecoveryInput, kept: Half, way: RecoveryWay) -> Result<Prepared, ChangeError> {
    let fabric = &input.fabric;
    let held = &input.tables.lfts;
    let target = if way == RecoveryWay::Open { held.clone() } else { lid::mirrored(fabric, held, kept) };
    let steps = if target == *held { Vec::new() } else { vec![TableStep { lfts: target.clone(), aged_before: false }] };
    let mut initial = input.tables.clone();
    initial.sending.iter_mut().for_each(|half| *half = kept);
    let stranded = routing::stranded(fabric, fabric, input.sm);
    let plan = plan::plan(
        Scheme::Recover,
        PlanInput {
            before: fabric.clone(),
            routed: fabric.clone(),
            surviving: fabric.clone(),
            after: fabric.clone(),
            initial,
            target,
            steps,
            discards_turned_back: false,
            closes: way == RecoveryWay::Close,
            old: kept,
            both_halves: true,
            policy: input.policy,
            sm: input.sm,
            stranded: stranded.clone(),
            old_layers: 1,
            new_layers: 1,
            drain: Vec::new(),
            old_ways: None,
            new_ways: None,
        },
    )?;
    PlannedChange { plan, layers: 1, function: input.function.clone(), stranded }.vet(refused)
}

/// Whether end ports have LIDs of both halves.
pub fn has_halves(fabric: &Fabric) -> bool {
    fabric.end_ports().all(|port| fabric.half_lids(port, Half::Upper).next().is_some())
}
