//! How sources used their paths, what came out of order, and which links were busiest.

use super::quantity::{count, counted, percent};
use super::screen::{line, number, show, table};
use crate::scenario::{LinkLoads, Periods, SourceReport};
use crate::sim::{OrderCounts, PathChoice, Spray};
use comfy_table::Cell;

/// How sources use their paths, in a line.
pub(super) fn sources(text: &mut String, report: SourceReport) {
    let SourceReport { dispersal, message_packets } = report;
    let choice = match dispersal.choice {
        PathChoice::Single => "one path for each destination",
        PathChoice::Base => "the first path to each destination",
        PathChoice::Paired => "pairs of LIDs in turn",
        PathChoice::All => "all pairs of LIDs in turn",
    };
    let most = dispersal.paths.map(|paths| format!(", {} at most", counted(paths.into(), "LID"))).unwrap_or_default();
    let turn = match dispersal.spray {
        _ if matches!(dispersal.choice, PathChoice::Single | PathChoice::Base) => "",
        Spray::Message => ", a turn for each message",
        Spray::Packet => ", a turn for each packet",
    };
    line(text, format_args!("sources  {choice}{most}{turn}; {} a message", counted(message_packets.into(), "packet")));
}

/// Shares of what came after something that was sent later.
pub(super) fn order(text: &mut String, order: Periods<OrderCounts>) {
    let mut rows = table();
    let header = ["late packets", "within their message", "late messages"].map(number);
    rows.set_header([Cell::new("")].into_iter().chain(header));
    let Periods { before, during, after } = order;
    for (name, counts) in [("before", before), ("during", during), ("after", after)] {
        let of_packets = |late| share(late, counts.packets);
        let cells = [
            of_packets(counts.late_packets),
            of_packets(counts.late_in_message),
            share(counts.late_messages, counts.messages),
        ];
        rows.add_row([Cell::new(name)].into_iter().chain(cells.map(number)));
    }
    show(text, &rows);
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
