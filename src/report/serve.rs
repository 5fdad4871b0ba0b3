//! The final state of a served fabric, on one screen.

use super::quantity::{count, duration, percent};
use super::screen::line;
use reconfig::serve::ServeStatus;

/// The counts as text.
pub fn served(status: &ServeStatus) -> String {
    let mut text = String::new();
    let (times, packets) = (&status.times, &status.packets);
    let simulated = duration(status.simulated_ns);
    let (real, under_way) = (duration(times.real_ns), duration(times.under_way_ns));
    line(&mut text, format_args!("time     {simulated} simulated in {real}; {under_way} of it with MADs under way"));
    if times.fallen_behind_ns > 0 {
        let (behind, reached) = (duration(times.fallen_behind_ns), times.speed_reached.unwrap_or_default());
        line(&mut text, format_args!("         {behind} behind: speed {reached:.6} of {}", times.speed));
    }
    line(&mut text, format_args!("MADs     {} of clients", count(status.mads_sent)));
    for (name, sent) in &status.mads {
        line(&mut text, format_args!("         {:>9}  {name}", count(*sent)));
    }
    line(&mut text, format_args!("packets  {} injected, load {}", count(packets.injected), percent(status.load)));
    let fates = [
        ("delivered", packets.delivered),
        ("in flight", packets.in_flight),
        ("stranded", packets.stranded),
        ("lost to the failure", packets.lost_to_failure),
        ("lost to the change", packets.lost_to_change),
    ];
    for (fate, packets) in fates {
        line(&mut text, format_args!("         {:>9}  {fate}", count(packets)));
    }
    line(
        &mut text,
        format_args!("deadlock {}", if status.deadlocks == 0 { "none".into() } else { count(status.deadlocks) }),
    );
    text
}
