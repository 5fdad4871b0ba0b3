//! Scheme `in-place`: what OpenSM does, the baseline. Blocks are overwritten under traffic, four SMPs on the wire, for
//! each block over the switches in GUID order; equal blocks are skipped; nothing is waited for before the end.

use super::{PlanInput, lane_notes, lft_writes};
use crate::plan::{Assumption, Barrier, Draft, DrainGraph, Lanes, Phase, Plan, Scheme, Sending, Wave};

/// SMPs that OpenSM keeps on the wire unless told otherwise.
const OPENSM_WINDOW: u16 = 4;

/// The only wave: every block that differs.
pub(super) fn plan(input: PlanInput) -> Plan {
    let lanes = Lanes::of_fabric(&input.before);
    let wave = Wave {
        name: Phase::Rewrite.to_string(),
        phase: Phase::Rewrite,
        writes: lft_writes(&input),
        barriers: vec![Barrier::Acknowledged],
        sending: Sending::Listed { window: OPENSM_WINDOW },
    };
    Plan::seal(Draft {
        scheme: Scheme::InPlace,
        notes: lane_notes(&input.before, lanes),
        before: input.before,
        surviving: input.surviving,
        after: input.after,
        initial: input.initial,
        old: input.old,
        new: input.old,
        lanes,
        policy: input.policy,
        sm: input.sm,
        stranded: input.stranded,
        waves: vec![wave],
        drain: DrainGraph::default(),
        assumptions: vec![Assumption::SwitchManagementPaused, Assumption::NoMulticast],
    })
}
