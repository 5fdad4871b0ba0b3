//! End ports that a change cuts off, by name.

use super::quantity::counted;
use super::screen::line;
use reconfig::scenario::CutOffPort;

/// What helps where a change is refused for what it would cut off.
const FIX: &str = "connect them elsewhere beforehand, or pass --allow-cut-off if this is intended";

/// The most that are listed: JSON has them all.
const LISTED: usize = 10;

/// How many are cut off, and the first of them; nothing if none is.
pub(super) fn cut_off(text: &mut String, ports: &[&CutOffPort]) {
    let all = counted(ports.len() as u64, "end port");
    match ports {
        [] => {}
        [only] => line(text, format_args!("cut off  {all}: {}", entry(only))),
        _ => {
            line(text, format_args!("cut off  {all}:"));
            ports.iter().take(LISTED).for_each(|port| line(text, format_args!("         {}", entry(port))));
        }
    }
    if ports.len() > LISTED {
        line(text, format_args!("         … and {} more (--json lists them all)", ports.len() - LISTED));
    }
}

fn entry(port: &CutOffPort) -> String {
    if port.leaves { format!("{port}, whose node leaves") } else { port.to_string() }
}

/// The answer to a planned change that cuts off end ports without permission, and what to do.
pub(super) fn refusal(text: &mut String, ports: &[&CutOffPort], first: &CutOffPort) {
    let all = staying(ports.iter().copied());
    line(text, format_args!("NO: {all} would be cut off, {first} first: {FIX}"));
}

/// This answer as a sentence.
pub(super) fn refused<'a>(ports: impl IntoIterator<Item = &'a CutOffPort>) -> String {
    format!("No: {} would be cut off.", staying(ports))
}

/// Who is cut off, and what to do about it: a sentence that needs none before it.
pub(super) fn first_and_fix<'a>(ports: impl IntoIterator<Item = &'a CutOffPort>, first: &CutOffPort) -> String {
    let more = match number(ports).saturating_sub(1) {
        0 => String::new(),
        more => format!(" and {}", counted(more, "other end port")),
    };
    format!("Cut off would be {first}{more}: {FIX}.")
}

/// End ports that are cut off and stay.
fn staying<'a>(ports: impl IntoIterator<Item = &'a CutOffPort>) -> String {
    counted(number(ports), "end port")
}

fn number<'a>(ports: impl IntoIterator<Item = &'a CutOffPort>) -> u64 {
    ports.into_iter().filter(|port| !port.leaves).count() as u64
}
