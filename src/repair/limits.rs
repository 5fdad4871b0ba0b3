//! How much work a repair may do before it gives something up.
//!
//! *Work* is rows and lanes visited, never time, so the same input has the same result on every machine. Wave 1 and the
//! search behind a wait are limited only once they have left a row: what they still serve does not make the repair
//! whole. The other steps are limited always. All figures were chosen by trial, on fabrics of 16 to 972 switches.
//! docs/REPAIR.md, *Limits*, lists them beside the limits that count attempts and waves.

/// A step that has left some row makes no further attempt after this much work. On a hundred switches all attempts are
/// made; on a thousand this is half a second of processor time. Without it a loss for which there were no waves was
/// searched for eight minutes.
pub(super) const STEP_WORK: u64 = 5_000_000;

/// What the probe may spend before a step: little beside the step that it may save.
pub(super) const PROBE_WORK: u64 = STEP_WORK / 8;

/// What a guide may spend behind a wait, once it has left some row. It goes over the LIDs three times.
pub(super) const GUIDE_WORK: u64 = 2 * STEP_WORK;

/// What the last step before a wait may spend: processor time is cheaper than the packet lifetimes of a wait. On a
/// thousand switches the work of one step ended just before waves were found that need none.
pub(super) const LAST_CHANCE_WORK: u64 = 8 * STEP_WORK;

/// What moving intact rows may spend ([`Budget::relax`](super::Budget::relax)): without a limit it took 18 seconds.
pub(super) const RELAX_WORK: u64 = 6 * STEP_WORK;

/// The most waves that renew. Each waits until packets have left, and writes what no lost row needs. Entries that
/// close a ring with one another find their place one wave after the other: a cable of a fat tree of eight switches
/// that came back last needed four.
pub(super) const RENEWALS: usize = 6;
