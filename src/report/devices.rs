//! The profile of devices, in a line.

use super::quantity::duration;
use super::screen::line;
use reconfig::plan::Observer;
use reconfig::scenario::DeviceReport;
use reconfig::subnet::SourceControl;

/// The profile, what it means in a few words, and which options were given beside it.
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
    let given = if report.given.is_empty() { String::new() } else { format!("; given: {}", report.given.join(", ")) };
    let name = report.profile.name();
    line(text, format_args!("devices  {name} (drain by {}{limit}, sources {sources}){given}", own.observer));
}
