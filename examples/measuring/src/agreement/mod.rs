//! One routed subnet, two judges: what real OpenSM makes of a fabric under ibsim, as ibdmchk and as `reconfig audit`
//! see it.
//!
//! A [`Sample`] names a fabric, a [`Routing`] what OpenSM is asked for. [`Examination::make`] serves the one by ibsim, has
//! the other routed in a folder of its own, asks the subnet administrator for SLs where the engine has a say in them, and
//! hands both judges the very same files. What comes back holds the verdicts and no opinion; [`Agreement::of`] is the
//! opinion, and a disagreement is excused only by a cause of the list in `compare`, shown for the case at hand.
//! Shared by the example and the test. See docs/ORACLE.md.

mod alter;
pub mod compare;
pub mod list;
pub mod subject;

use alter::alter;
use std::path::Path;
use subject::judges::{Auditor, Ends, Judged, Verdict, ask_audit, ask_ibdmchk};
use subject::opensm::{Routed, Routing};
use subject::route;
use subject::sample::{Sample, build};

/// A routed subnet, and what was said of it: once for each choice of end points.
pub struct Examination {
    pub routed: Routed,
    /// Whom it was asked for, ibdmchk's answer, ours.
    pub answers: Vec<(Ends, Judged, Judged)>,
}

impl Examination {
    /// Routes the sample in a folder, and asks both judges.
    pub fn make(sample: &Sample, routing: Routing, auditor: &Auditor, folder: &Path) -> Result<Examination, String> {
        let fabric = build(sample).map_err(|error| error.to_string())?;
        let mut routed = route(&fabric, routing, folder)?;
        alter(&mut routed, routing.alteration, sample.seed, folder)?;
        let ask = |ends| -> std::io::Result<(Ends, Judged, Judged)> {
            Ok((ends, ask_ibdmchk(&routed, ends, folder)?, ask_audit(auditor, &routed, ends, folder)?))
        };
        let told = |error| format!("judging: {error}");
        let mut answers = vec![ask(Ends::Cas).map_err(told)?];
        // SLs were asked for pairs of CAs: with them, what switches send has no SL that is known. And where a pair of
        // CAs has no path, ibdmchk looks no further.
        if routed.path_sl.is_none() && matches!(answers[0].1.verdict, Verdict::Free | Verdict::Loops) {
            answers.push(ask(Ends::All).map_err(told)?);
        }
        Ok(Examination { routed, answers })
    }
}
