//! One routed subnet, two judges: how ibdmchk and `reconfig audit` judge the routing that real OpenSM gives a fabric
//! under ibsim.
//!
//! A [`Sample`] names a fabric, a [`Routing`] the engine that OpenSM is to run. [`Examination::make`] has ibsim serve
//! the fabric and OpenSM route it in a separate folder, queries the subnet administrator for SLs if the engine
//! determines them, and hands both judges the same files. The result holds the verdicts; `Agreement::of` compares
//! them, and only a cause of the list in `compare`, shown for the case at hand, excuses a disagreement. The program and
//! the test share this module. See docs/ORACLE.md.

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

/// A routed subnet, and the verdicts on it: one pair for each choice of end points.
pub struct Examination {
    pub routed: Routed,
    /// The end points, ibdmchk's verdict, ours.
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
        // SLs were queried for pairs of CAs only, so the SLs of packets from switches are unknown. And if a pair of CAs
        // has no path, ibdmchk stops there.
        if routed.path_sl.is_none() && matches!(answers[0].1.verdict, Verdict::Free | Verdict::Loops) {
            answers.push(ask(Ends::All).map_err(told)?);
        }
        Ok(Examination { routed, answers })
    }
}
