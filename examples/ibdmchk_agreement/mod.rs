//! One routed subnet, two judges: what real OpenSM makes of a fabric under ibsim, as ibdmchk and as `reconfig audit`
//! see it.
//!
//! A [`Sample`] names a fabric, a [`Routing`] what OpenSM is asked for. [`Examination::make`] serves the one by ibsim, has
//! the other routed in a folder of its own, asks the subnet administrator for SLs where the engine has a say in them, and
//! hands both judges the very same files. What comes back holds the verdicts and no opinion; [`Agreement::of`] is the
//! opinion, and a disagreement is excused only by a cause of the list in `compare`, shown for the case at hand.
//! Every program has a time limit, a folder and a socket name of its own, and is reaped. Shared by the example, the test
//! and the bench. See docs/ORACLE.md.
#![allow(dead_code)] // The example, the test and the bench each take what they need of it.

mod alter;
pub mod compare;
mod ibsim;
pub mod judges;
pub mod list;
pub mod opensm;
mod path_sl;
pub mod process;
mod torus;

use alter::alter;
use ibsim::Ibsim;
use judges::{Auditor, Ends, Judged, Verdict, ask_audit, ask_ibdmchk};
use list::{Sample, build};
use opensm::{Routed, Routing};
use process::missing;
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{Format, write};
use std::path::Path;
use std::time::Duration;

/// How long OpenSM may route.
const ROUTING_LIMIT: Duration = Duration::from_secs(300);
/// What all of it takes.
const PROGRAMS: [&str; 4] = ["ibsim", "ibsim-run", "opensm", "ibdmchk"];

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

/// Routes the fabric by OpenSM under ibsim; the files stay in the folder.
pub fn route(fabric: &Fabric, routing: Routing, folder: &Path) -> Result<Routed, String> {
    let net = folder.join("fabric.net");
    let text = write(fabric, Format::IbsimNet).map_err(|error| error.to_string())?;
    std::fs::write(&net, text).map_err(|error| format!("{}: {error}", net.display()))?;
    // Folders have names that nobody else has at this time, and so have sockets.
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let ibsim = Ibsim::start(&net, folder, format!("agreement-{}-{name}", std::process::id()))?;
    opensm::route(&ibsim, fabric, routing, folder, ROUTING_LIMIT)
}

/// The programs of others that are not installed: none, where the comparison can be made.
pub fn programs_missing() -> Vec<String> {
    missing(&PROGRAMS)
}
