//! Lanes that wait for each other in a cycle, drawn as a circle: which packet is where, and what it waits for.

use super::chart::px;
use super::parts::{TableField, table};
use maud::{Markup, html};
use reconfig::audit::AuditedDependency;
use reconfig::ids::{Lid, Sl};
use reconfig::scenario::StuckReport;
use reconfig::verify::{ClassLoop, Cycle, Dependency, EntryAge, LoopHop, PortLane, Refusal};

/// Width of the drawing, width and height of its boxes, in CSS pixels.
const WIDTH: f64 = 376.0;
const BOX: (f64, f64) = (172.0, 54.0);
/// From one box to the one below.
const ROW: f64 = 88.0;
/// The most lanes that are drawn: longer circles are told in the table alone.
const MOST: usize = 24;

/// A lane in a circle, or a switch.
struct WaitingPlace {
    /// The switch, or the port of one.
    name: String,
    /// Where in it, and who.
    detail: String,
    /// Which packets wait, or go on, and by what.
    why: String,
}

/// Packets that are stuck.
pub(super) fn stuck(cycle: &[StuckReport], id: &str) -> Markup {
    let place = |own: &StuckReport| WaitingPlace {
        name: format!("{} VL {}", own.input, own.input_vl),
        detail: format!("waits for {} VL {}", own.output, own.output_vl),
        why: format!("to LID {}, SL {}", own.dlid, own.sl),
    };
    ring(&cycle.iter().map(place).collect::<Vec<_>>(), "Packets that wait for each other", WAITS, id)
}

/// The switches of a circle, in its order: a lane of each waits for one that leads to the next.
pub(super) fn switches_of(refusal: Option<&Refusal>) -> Vec<&str> {
    match refusal {
        Some(Refusal::Deadlock(own)) => own.dependencies.iter().map(|own| own.switch.name.as_str()).collect(),
        _ => Vec::new(),
    }
}

/// The switches that a refusal says send one class round.
pub(super) fn looped(own: &ClassLoop, id: &str) -> Markup {
    let place = |hop: &LoopHop| WaitingPlace {
        name: hop.switch.name.clone(),
        detail: format!("out of port {}", hop.port),
        why: hop.entry.to_string(),
    };
    let name = format!("Packets to LID {} can go round{}", own.lid, in_wave(&own.wave));
    ring(&own.hops.iter().map(place).collect::<Vec<_>>(), &name, "sends them to", id)
}

/// The circle that a refusal names.
pub(super) fn refused(cycle: &Cycle, id: &str) -> Markup {
    let name = format!("Lanes that can wait for each other{}", in_wave(&cycle.wave));
    let link = |own: &Dependency| {
        let follows = changed([("", own.entry), ("SL-to-VL", own.mapping)]).chain(own.latched_in_words());
        CycleLink {
            switch: own.switch.name.clone(),
            waits: waits(own.input, own.output),
            lid: own.lid,
            sl: own.sl,
            follows: follows.collect(),
        }
    };
    dependencies(&name, cycle.dependencies.iter().map(link), id)
}

/// The circle that an audit found.
pub(super) fn audited(cycle: &[AuditedDependency], id: &str) -> Markup {
    let link = |own: &AuditedDependency| {
        let follows = changed([("", own.entry), ("SL-to-VL", own.mapping), ("path", own.path)]);
        CycleLink {
            switch: own.switch.name.clone(),
            waits: waits(own.input, own.output),
            lid: own.lid,
            sl: own.sl,
            follows: follows.collect(),
        }
    };
    dependencies("Lanes that can wait for each other", cycle.iter().map(link), id)
}

/// A dependency of a circle.
struct CycleLink {
    switch: String,
    /// From where to where.
    waits: String,
    lid: Lid,
    sl: Sl,
    /// What a packet follows there that the change touches.
    follows: Vec<String>,
}

/// The tables that the change touches, as `old entry` or `new SL-to-VL`.
fn changed<const N: usize>(tables: [(&'static str, EntryAge); N]) -> impl Iterator<Item = String> {
    tables.into_iter().filter_map(|(table, age)| match (age, table) {
        (EntryAge::Unchanged, _) => None,
        (own, "") => Some(own.to_string()),
        (EntryAge::Old, table) => Some(format!("old {table}")),
        (EntryAge::New, table) => Some(format!("new {table}")),
    })
}

/// Drawn, and as a table.
fn dependencies(name: &str, links: impl Iterator<Item = CycleLink>, id: &str) -> Markup {
    let links: Vec<CycleLink> = links.collect();
    let changes = links.iter().any(|own| !own.follows.is_empty());
    let columns = if changes { 5 } else { 4 };
    let rows = links.iter().map(|own| {
        let follows = if own.follows.is_empty() { "unchanged tables".to_string() } else { own.follows.join(", ") };
        // In a narrow column a line ends before the arrow, and nowhere else.
        let waits = own.waits.replace(' ', "\u{a0}").replacen("\u{a0}→", " →", 1);
        let texts = [own.switch.clone(), waits, own.lid.to_string(), own.sl.to_string(), follows];
        texts.iter().take(columns).map(|text| TableField::text(text)).collect()
    });
    let header = ["switch", "waits", "DLID", "SL", "follows"];
    let table = table("The same as a table", &header[..columns], rows, false);
    let place = |own: &CycleLink| {
        let first = format!("to LID {}, SL {}", own.lid, own.sl);
        let why = [first].into_iter().chain(own.follows.iter().cloned()).collect::<Vec<_>>().join(", ");
        WaitingPlace { name: own.switch.clone(), detail: own.waits.clone(), why }
    };
    html! {
        (ring(&links.iter().map(place).collect::<Vec<_>>(), name, WAITS, id))
        (table)
    }
}

fn waits(input: PortLane, output: PortLane) -> String {
    let lane = |own: PortLane| format!("port {} VL {}", own.port, own.vl);
    format!("{} → {}", lane(input), lane(output))
}

/// What a sentence about the moment before the first wave does without.
fn in_wave(wave: &str) -> String {
    if wave == "steady" { String::new() } else { format!(" in wave {wave}") }
}

/// What each place of a circle of lanes does to the next.
const WAITS: &str = "waits for";

fn ring(places: &[WaitingPlace], name: &str, does: &str, id: &str) -> Markup {
    if places.len() > MOST {
        return html! { p class="unit" { (name) ": " (places.len()) " in one circle, too many to draw; they are listed." } };
    }
    // Down on the left and up on the right: no wider than a phone, however long.
    let (left, right) = (places.len().div_ceil(2), places.len() / 2);
    let height = ROW * left as f64;
    let y = |row: usize, rows: usize| height * (row as f64 + 0.5) / rows as f64;
    let x = BOX.0 / 2.0 + 4.0;
    let point = |rank: usize| match rank % places.len() {
        rank if rank < left => (x, y(rank, left)),
        rank => (WIDTH - x, y(places.len() - 1 - rank, right)),
    };
    let told: Vec<String> = places.iter().map(|own| format!("{} {}, {}", own.name, own.detail, own.why)).collect();
    let [title, about] = ["title", "about"].map(|part| format!("{id}-{part}"));
    html! {
        figure class="ring" {
            figcaption { b { (name) } " " span class="unit" { "each " (does) " the next" } }
            div class="scroll" tabindex="0" role="group" aria-label=(name) {
                svg viewBox={ "0 0 " (WIDTH) " " (px(height)) } role="img" aria-labelledby=(title) aria-describedby=(about) {
                    title id=(title) { (name) }
                    desc id=(about) { (told.join(&format!("; it {does} "))) "; it " (does) " the first." }
                    @for rank in 0..places.len() { (arrow(point(rank), point(rank + 1))) }
                    @for (rank, place) in places.iter().enumerate() {
                        @let (x, y) = point(rank);
                        rect class="switch" x=(px(x - BOX.0 / 2.0)) y=(px(y - BOX.1 / 2.0)) width=(BOX.0) height=(BOX.1) rx="6" {
                            title { (told[rank]) }
                        }
                        text x=(px(x)) y=(px(y - 10.0)) { (super::fabric::short(&place.name, 25)) }
                        text class="small" x=(px(x)) y=(px(y + 6.0)) { (fitted(&place.detail, 29)) }
                        text class="small" x=(px(x)) y=(px(y + 19.0)) { (super::fabric::short(&place.why, 29)) }
                    }
                }
            }
        }
    }
}

/// What stands where, shortened so that what it says of the place is kept.
fn fitted(detail: &str, most: usize) -> String {
    match detail.strip_prefix(WAITS) {
        Some(place) => format!("{WAITS} {}", super::fabric::short(place.trim_start(), most - WAITS.len() - 1)),
        None => super::fabric::short(detail, most),
    }
}

/// An arrow from the border of one box to that of another.
fn arrow(from: (f64, f64), to: (f64, f64)) -> Markup {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1.0);
    // How far from a centre its border is, in this direction.
    let reach = (BOX.0 / 2.0 / dx.abs().max(1e-9)).min(BOX.1 / 2.0 / dy.abs().max(1e-9)) * length;
    let along = |distance: f64| (from.0 + dx * distance / length, from.1 + dy * distance / length);
    let tip = along((length - reach - 2.0).max(0.0));
    let (base, start) = (along((length - reach - 11.0).max(0.0)), along(reach.min(length)));
    let (nx, ny) = (-dy / length * 4.5, dx / length * 4.5);
    let corners = [tip, (base.0 + nx, base.1 + ny), (base.0 - nx, base.1 - ny)];
    let points: Vec<String> = corners.iter().map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect();
    html! {
        line class="edge" x1=(px(start.0)) y1=(px(start.1)) x2=(px(base.0)) y2=(px(base.1)) {}
        polygon class="head" points=(points.join(" ")) {}
    }
}
