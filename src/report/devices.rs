//! The profile of devices, in a line.

use super::quantity::duration;
use super::screen::line;
use reconfig::plan::Observer;
use reconfig::scenario::DeviceReport;
use reconfig::subnet::{DeviceProfile, SourceControl};
use std::fmt::Write;

/// The profile, what it means in a few words, and which options set it otherwise.
pub(super) fn devices(text: &mut String, report: &DeviceReport) {
    let own = &report.in_force;
    let limit = match own.observer {
        Observer::Lifetime => format!(" of {}", duration(own.switch_life_ns)),
        Observer::Token | Observer::Poll | Observer::Conservation => String::new(),
    };
    let sources = match own.sources {
        SourceControl::ByAgent => "told".to_string(),
        SourceControl::Fenced { settle_ns } => format!("fenced after {}", duration(settle_ns)),
    };
    let name = profile(report.profile, &report.given);
    line(text, format_args!("devices  {name} (drain by {}{limit}, sources {sources})", own.observer));
}

/// The name of a profile, and the options that set something otherwise: `standard except for --settle`.
pub(super) fn profile<S: std::fmt::Display>(profile: DeviceProfile, given: &[S]) -> String {
    let mut text = profile.name().to_string();
    for (rank, option) in given.iter().enumerate() {
        let _ = write!(text, "{} --{option}", if rank == 0 { " except for" } else { "," });
    }
    text
}
