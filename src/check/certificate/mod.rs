//! The independent checker of certificates: accepts or refuses a plan with its certificate, and searches nothing.
//!
//! On entry: a plan as read from its file, the bytes of that file, and the bytes of the certificate. On return:
//! [`Checked`], or the first [`CertificateFault`]. The meaning of the plan (which ports send when, which packets remain
//! after a barrier, which entries mix) is derived here from its writes and barriers alone, not from the names of its
//! phases. Then two things are verified: the places that the certificate lists are closed under every step that the
//! plan allows, and its numbers rise along every dependency between them; and, once more from the plan alone, that the
//! tables after the last wave serve the fabric after the change. Work is linear in the (lane, class) pairs. Shares no
//! code with planner and prover; docs/PROOF.md explains why acceptance means that no moment of the change can deadlock,
//! docs/CERTIFICATE.md specifies the file.

mod afterwards;
mod aged;
mod base;
mod believable;
mod closure;
mod fault;
mod file;
mod kept;
mod lanes;
mod lost;
mod moments;
mod net;
mod reserved;
mod rising;

pub use base::CheckBase;
pub use fault::CertificateFault;

use crate::plan::Plan;
use closure::Closure;
use file::File;
use lanes::Groups;
use moments::PlanMoments;
use net::CheckedNet;
use serde::Serialize;

/// The extent of a certificate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Checked {
    /// Waves, the moment before the first not counted.
    pub waves: usize,
    /// Channels of switches that can be occupied at some moment.
    pub channels: usize,
    /// Lanes of those channels that can be occupied at some moment.
    pub lanes: usize,
    /// DLIDs of end ports that can be under way at some moment.
    pub lids: usize,
    /// Pairs of a lane and a class (DLID, SL), all moments together.
    pub pairs: u64,
    /// Dependencies between lanes along which numbers rise, all moments together.
    pub dependencies: u64,
}

/// Judges a certificate of the plan that the bytes `plan_file` hold.
///
/// # Errors
/// The first fault: a file of another format, one that was changed or is for another plan; or a claim that does not
/// hold.
pub fn check(plan: &Plan, plan_file: &[u8], certificate: &[u8]) -> Result<Checked, CertificateFault> {
    let file = File::read(certificate)?;
    file.check_binding(plan, &file::digest_of(plan_file))?;
    judge(plan, &file, true, None)
}

/// The name that a certificate has for its plan where that is in hand and has no file.
pub const IN_HAND: &str = "in hand";

/// Judges a certificate of a plan that was just proved and not written. Such a certificate is for no file.
///
/// # Errors
/// As [`check`].
pub fn check_in_hand(plan: &Plan, certificate: &[u8]) -> Result<Checked, CertificateFault> {
    let file = File::read(certificate)?;
    file.check_binding(plan, IN_HAND)?;
    judge(plan, &file, true, None)
}

/// Checks the certificate of a plan that may begin with a routing that was checked before.
///
/// # Errors
/// As [`check`].
pub fn check_in_hand_from(base: &CheckBase, plan: &Plan, certificate: &[u8]) -> Result<Checked, CertificateFault> {
    let file = File::read(certificate)?;
    file.check_binding(plan, IN_HAND)?;
    judge(plan, &file, true, Some(base))
}

/// Checks the certificate of a plan that was called off: it ends with the routing in force, which need not serve the
/// fabric after the change.
///
/// # Errors
/// As [`check`].
pub fn check_called_off(plan: &Plan, certificate: &[u8]) -> Result<Checked, CertificateFault> {
    let file = File::read(certificate)?;
    file.check_binding(plan, IN_HAND)?;
    judge(plan, &file, false, None)
}

fn judge(plan: &Plan, file: &File, to_the_end: bool, base: Option<&CheckBase>) -> Result<Checked, CertificateFault> {
    judge_keeping(plan, file, to_the_end, base, false).map(|(checked, _)| checked)
}

/// Judges a certificate; with `keeps`, also returns the results for the moment before the first wave as a base.
fn judge_keeping(
    plan: &Plan,
    file: &File,
    to_the_end: bool,
    base: Option<&CheckBase>,
    keeps: bool,
) -> Result<(Checked, Option<CheckBase>), CertificateFault> {
    let moments = PlanMoments::of(plan)?;
    file.check_moments(&moments)?;
    let net = CheckedNet::new(plan);
    reserved::check(plan, &net, &moments)?;
    let groups = Groups::new(file, plan, &net, &moments)?;
    let (numbers, mut rows) = file.evidence(&net, moments.all.len())?;
    let mut closure = Closure::new(plan, &net, &moments, &groups);
    if keeps {
        closure.keep();
    }
    let judged = base.and_then(|base| base.judged(plan, &closure));
    let found = closure.check(&mut rows, judged.as_ref())?;
    rows.finish()?;
    let dependencies = rising::check(plan, &net, &moments, &groups, &closure, &numbers)?;
    aged::check(plan, &net, &moments)?;
    if to_the_end {
        afterwards::check(plan, &net)?;
    }
    let checked = Checked {
        waves: plan.waves().len(),
        channels: found.channels,
        lanes: found.lanes,
        lids: found.lids,
        pairs: found.pairs,
        dependencies,
    };
    let first = closure.into_first_moment();
    Ok((checked, first.and_then(|first| CheckBase::with(plan, &net, &moments, groups.clone(), first))))
}
