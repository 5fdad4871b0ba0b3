//! How sources used their paths, which packets arrived out of order, and which links were busiest.

use super::quantity::{count, counted, percent};
use super::screen::{line, number, show, table};
use comfy_table::Cell;
use reconfig::scenario::{DisorderCause, LinkLoads, OvertakenReport, Periods, SourceReport};
use reconfig::sim::{Dispersal, MOST_PAIRED, MessageShare, OrderCounts, PathChoice, Spray};

/// How sources use their paths, in a line; `lmc` is the greatest LMC of end ports.
pub(super) fn sources(text: &mut String, report: &SourceReport, lmc: u8) {
    let &SourceReport { dispersal, undivided, message_packets, ref message_mix, burst } = report;
    let used = used(dispersal, lmc, undivided);
    let choice = match dispersal.choice {
        PathChoice::Single => "one path for each destination",
        PathChoice::Base => "the first path to each destination",
        PathChoice::Paired => "pairs of LIDs in turn",
        PathChoice::All => "all pairs of LIDs in turn",
    };
    let turn = match dispersal.spray {
        _ if matches!(dispersal.choice, PathChoice::Single | PathChoice::Base) => "",
        Spray::Message => ", a turn for each message",
        Spray::Packet => ", a turn for each packet",
    };
    let size = |size: &MessageShare| format!("{} bytes ({})", count(size.bytes.into()), size.share);
    let messages = match &message_mix[..] {
        [] => format!("{} a message", counted(message_packets.into(), "packet")),
        mix => format!("messages of {}, by share", mix.iter().map(size).collect::<Vec<_>>().join(", ")),
    };
    let bursts = burst.map_or_else(String::new, |burst| format!(", in bursts of {burst} on average"));
    line(text, format_args!("sources  {choice}{used}{turn}; {messages}{bursts}"));
}

/// Number of LIDs of a half, or of an end port if no half is spare, used at either end, where there is a choice. An
/// engine may leave fewer of them open to one source.
fn used(dispersal: Dispersal, lmc: u8, undivided: bool) -> String {
    let there = 1u64 << if undivided { lmc } else { lmc.saturating_sub(1) };
    let whole = if undivided { "an end port" } else { "a half" };
    let asked = dispersal.paths.map_or(there, |paths| there.min(paths.into()));
    let used = match (dispersal.choice, dispersal.paths) {
        (PathChoice::Single, None) if undivided => return format!(", by any of {} of {whole}", counted(there, "LID")),
        (PathChoice::Base, _) | (PathChoice::Single, None) => return String::new(),
        (PathChoice::Paired, _) => asked.min(MOST_PAIRED.into()),
        (PathChoice::All | PathChoice::Single, _) => asked,
    };
    let advice = if there == 1 { " (one path: raise --lmc for more)" } else { "" };
    format!(", {used} of {} of {whole}{advice}", counted(there, "LID"))
}

/// Fractions of packets that arrived after one that was sent later.
pub(super) fn order(text: &mut String, order: Periods<OrderCounts>) {
    let mut rows = table();
    let header = ["late packets", "of one class", "within their message", "late messages"].map(number);
    rows.set_header([Cell::new("")].into_iter().chain(header));
    let Periods { before, during, after } = order;
    for (name, counts) in [("before", before), ("during", during), ("after", after)] {
        let of_packets = |late| share(late, counts.packets);
        let cells = [
            of_packets(counts.late_packets),
            of_packets(counts.late_in_class),
            of_packets(counts.late_in_message),
            share(counts.late_messages, counts.messages),
        ];
        rows.add_row([Cell::new(name)].into_iter().chain(cells.map(number)));
    }
    show(text, &rows);
}

/// The first packet that arrived after a later one of its class, and the reason.
pub(super) fn overtaken(text: &mut String, overtaken: Option<&OvertakenReport>) {
    let Some(OvertakenReport { source, destination, dlid, sl, cause }) = overtaken else { return };
    let why = match cause {
        DisorderCause::LaneMoved => "its SL moved to another lane; --standing-partition keeps every SL on its lane",
        DisorderCause::WayChanged => "its way was overwritten while packets were on it; scheme double never does that",
        DisorderCause::BeyondRouter => "it crossed routers, which choose SLID, DLID and SL anew on the way",
        DisorderCause::Unexplained => "no table of this scheme explains that: report it as a fault",
    };
    line(text, format_args!("order    lost first from {source} to {destination}, LID {dlid}, SL {sl}:"));
    line(text, format_args!("         {why}"));
}

/// So many of so many, and the fraction.
fn share(late: u64, all: u64) -> String {
    match all {
        0 => "none".to_string(),
        _ => format!("{} ({})", count(late), percent(late as f64 / all as f64)),
    }
}

/// The busiest links between `ends` before the change and after it.
pub(super) fn links(text: &mut String, ends: &str, links: &Periods<LinkLoads>) {
    for (name, loads) in [("before", &links.before), ("after", &links.after)] {
        if loads.most == 0.0 {
            line(text, format_args!("links between {ends}, {name}: nothing was carried\n"));
            continue;
        }
        let (mean, most) = (percent(loads.mean), percent(loads.most));
        line(
            text,
            format_args!("links between {ends}, {name}: {mean} of what they can carry on average, {most} at most"),
        );
        let mut rows = table();
        for link in &loads.busiest {
            rows.add_row([Cell::new(format!("  {} → {}", link.from, link.to)), number(percent(link.load))]);
        }
        show(text, &rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_paths_are_told_as_are_used() {
        let shown = |choice, paths, lmc| {
            let mut text = String::new();
            let dispersal = Dispersal { choice, paths, spray: Spray::Message };
            let report =
                SourceReport { dispersal, undivided: false, message_packets: 2, message_mix: Vec::new(), burst: None };
            sources(&mut text, &report, lmc);
            text
        };
        for (choice, paths, lmc, part) in [
            (
                PathChoice::Paired,
                None,
                1,
                "pairs of LIDs in turn, 1 of 1 LID of a half (one path: raise --lmc for more), a turn",
            ),
            (PathChoice::Paired, Some(64), 1, "in turn, 1 of 1 LID of a half (one path: raise --lmc for more), a turn"),
            (
                PathChoice::All,
                None,
                0,
                "all pairs of LIDs in turn, 1 of 1 LID of a half (one path: raise --lmc for more), a turn",
            ),
            (PathChoice::All, Some(64), 3, "in turn, 4 of 4 LIDs of a half, a turn"),
            (PathChoice::All, Some(2), 3, "in turn, 2 of 4 LIDs of a half, a turn"),
            (PathChoice::Paired, None, 5, "in turn, 8 of 16 LIDs of a half, a turn"),
            (
                PathChoice::Single,
                Some(2),
                3,
                "one path for each destination, 2 of 4 LIDs of a half; 2 packets a message",
            ),
            (PathChoice::Single, None, 3, "one path for each destination; 2 packets a message"),
            (PathChoice::Base, None, 3, "the first path to each destination; 2 packets a message"),
        ] {
            let text = shown(choice, paths, lmc);
            assert!(text.contains(part), "{choice:?} {paths:?} {lmc}: {text}");
        }
    }
}
