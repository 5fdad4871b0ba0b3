//! What a driver records of a change.

use crate::fabric::{NodeId, PortId};
use crate::machine::Outcome;
use crate::plan::Vetted;
use crate::subnet::SmpCounts;
use std::sync::Arc;

/// One phase as it went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseRecord {
    /// The phase's name, as the plan has it; `call-off` for the way back.
    pub name: &'static str,
    /// When its first command was given, in nanoseconds of the transport's clock.
    pub start_ns: u64,
    /// When its last barrier was passed, or its last command failed.
    pub end_ns: u64,
    /// Datagrams sent meanwhile.
    pub smps: SmpCounts,
}

/// What became of a change.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangeRecord {
    /// How it ended.
    pub outcome: Outcome,
    /// The sweep that the change began with, where it began with one.
    pub sweep: Option<PhaseRecord>,
    /// Its phases in order; those of attempts that were called off come first.
    pub phases: Vec<PhaseRecord>,
    /// How often it was called off because the subnet changed, and started again.
    pub restarts: u32,
    /// The plan that was run last.
    pub plan: Arc<Vetted>,
    /// The root of the new routing, where it has one.
    pub root: Option<NodeId>,
    /// End ports that the new routing omits.
    pub stranded: Vec<PortId>,
    /// Ports that were to be ARMED and went ACTIVE by themselves.
    pub not_held: Vec<PortId>,
}
