//! Lanes that wait for each other in a circle, drawn as one: what stands where, and what it waits for.

use super::chart::px;
use super::parts::{TableField, table};
use maud::{Markup, html};
use reconfig::audit::AuditedDependency;
use reconfig::ids::{Lid, Sl};
use reconfig::scenario::StuckReport;
use reconfig::verify::{Cycle, Dependency, EntryAge, NamedDevice, PortLane};
use std::f64::consts::TAU;

/// Width and height of the drawing and of its boxes, in CSS pixels.
const WIDTH: f64 = 760.0;
const BOX: (f64, f64) = (176.0, 40.0);
/// The most lanes that are drawn: longer circles are told in the table alone.
const MOST: usize = 24;

/// A lane in a circle.
#[derive(Clone)]
struct WaitingPlace {
    /// The switch, or the port of one.
    name: String,
    /// Where in it, and who.
    detail: String,
}

/// Packets that are stuck.
pub(super) fn stuck(cycle: &[StuckReport], id: &str) -> Markup {
    let place = |own: &StuckReport| WaitingPlace {
        name: format!("{} VL {}", own.input, own.input_vl),
        detail: format!("waits for {} VL {}", own.output, own.output_vl),
    };
    ring(&cycle.iter().map(place).collect::<Vec<_>>(), "Packets that wait for each other", id)
}

/// The circle that a refusal names.
pub(super) fn refused(cycle: &Cycle, id: &str) -> Markup {
    let wave = cycle.wave.to_string();
    let name = match wave.as_str() {
        "steady" => "Lanes that can wait for each other".to_string(),
        wave => format!("Lanes that can wait for each other in wave {wave}"),
    };
    let link = |own: &Dependency| {
        let follows = changed([("", own.entry), ("SL-to-VL", own.mapping)]).chain(own.latched_in_words());
        CycleLink {
            place: at(&own.switch, own.input, own.output),
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
            place: at(&own.switch, own.input, own.output),
            lid: own.lid,
            sl: own.sl,
            follows: follows.collect(),
        }
    };
    dependencies("Lanes that can wait for each other", cycle.iter().map(link), id)
}

/// A dependency of a circle.
struct CycleLink {
    place: WaitingPlace,
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
        let texts =
            [own.place.name.clone(), own.place.detail.clone(), own.lid.to_string(), own.sl.to_string(), follows];
        texts.iter().take(columns).map(|text| TableField::text(text)).collect()
    });
    let header = ["switch", "waits", "DLID", "SL", "follows"];
    let table = table("The same as a table", &header[..columns], rows, false);
    let places: Vec<WaitingPlace> = links.iter().map(|own| own.place.clone()).collect();
    html! {
        (ring(&places, name, id))
        (table)
    }
}

fn at(switch: &NamedDevice, input: PortLane, output: PortLane) -> WaitingPlace {
    let lane = |own: PortLane| format!("port {} VL {}", own.port, own.vl);
    WaitingPlace { name: switch.name.clone(), detail: format!("{} → {}", lane(input), lane(output)) }
}

fn ring(places: &[WaitingPlace], name: &str, id: &str) -> Markup {
    if places.len() > MOST {
        return html! { p class="unit" { (name) ": " (places.len()) " in one circle, too many to draw; the table names them." } };
    }
    let height = 150.0 + 22.0 * places.len() as f64;
    let (cx, cy) = (WIDTH / 2.0, height / 2.0);
    let (rx, ry) = (WIDTH / 2.0 - BOX.0 / 2.0 - 8.0, cy - BOX.1 / 2.0 - 8.0);
    let point = |turn: f64| (cx + rx * (turn * TAU).sin(), cy - ry * (turn * TAU).cos());
    let turn = |rank: usize| rank as f64 / places.len() as f64;
    let told: Vec<String> = places.iter().map(|place| format!("{} {}", place.name, place.detail)).collect();
    let [title, about] = ["title", "about"].map(|part| format!("{id}-{part}"));
    html! {
        figure class="ring" {
            figcaption { b { (name) } " " span class="unit" { "each waits for the next" } }
            div class="scroll" tabindex="0" role="group" aria-label=(name) {
                svg viewBox={ "0 0 " (WIDTH) " " (px(height)) } role="img" aria-labelledby={ (title) " " (about) } {
                    title id=(title) { (name) }
                    desc id=(about) { (told.join(", which waits for ")) ", which waits for the first." }
                    @for rank in 0..places.len() { (arrow(point(turn(rank)), point(turn(rank + 1)))) }
                    @for (rank, place) in places.iter().enumerate() {
                        @let (x, y) = point(turn(rank));
                        rect class="switch" x=(px(x - BOX.0 / 2.0)) y=(px(y - BOX.1 / 2.0)) width=(BOX.0) height=(BOX.1) rx="6" {
                            title { (place.name) " " (place.detail) }
                        }
                        text x=(px(x)) y=(px(y - 3.0)) { (super::fabric::short(&place.name, 25)) }
                        text class="small" x=(px(x)) y=(px(y + 13.0)) { (super::fabric::short(&place.detail, 29)) }
                    }
                }
            }
        }
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
