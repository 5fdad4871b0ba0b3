//! The worst-case permutations of a routing, for each way of using its paths: JSON, a table, and a file for the
//! simulator.

use super::quantity::percent;
use super::screen::{line, table};
use comfy_table::{Cell, CellAlignment};
use reconfig::change::Routed;
use reconfig::fabric::PortId;
use reconfig::tables::{Crossings, Selection};
use serde::Serialize;

#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct WorstFacts {
    /// By which paths pairs send: a row for each way of choosing them.
    pub uses: Vec<WorstOfUse>,
    /// The selection whose worst permutation is this one.
    pub chosen: String,
    /// By rank of the source: rank of the destination, among end ports in the fabric's order. Who sends to itself is
    /// silent. Empty where no end ports send over channels between switches.
    pub permutation: Vec<u32>,
    /// What the file says above the permutation.
    #[serde(skip)]
    title: String,
}

/// The worst permutation where pairs send by certain paths.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct WorstOfUse {
    /// Which: base, single, spread over so many.
    pub selection: String,
    /// The port that sends into the channel that carries most under its worst permutation; none where nothing crosses
    /// any.
    pub channel: Option<String>,
    /// What all end ports ask of that channel at their full rate, as a multiple of what it carries.
    pub load: f64,
    /// The fraction of their rate at which end ports can send the worst permutation.
    pub bound: f64,
    /// The greatest load of a channel under the permutation chosen.
    pub load_of_chosen: f64,
}

impl WorstFacts {
    /// Of a routing that offers so many paths at most to a pair: for the first path alone, one for each pair, and two,
    /// four and so on, evenly. `chosen` says whose permutation is kept.
    pub fn of(routed: &Routed, offered: usize, chosen: Selection) -> WorstFacts {
        let crossings = |selection| Crossings::of(&routed.fabric, &routed.function, selection);
        let worst = crossings(chosen).worst();
        let (permutation, title) = worst.map_or_else(Default::default, |worst| {
            let title = title(routed, chosen, worst.channel, worst.load);
            (worst.permutation, title)
        });
        let uses = selections(offered, chosen).into_iter().map(|selection| {
            let crossings = crossings(selection);
            let (worst, describe) = (crossings.worst(), |port| routed.fabric.describe_port(port));
            let chosen = Some(&permutation).filter(|permutation| !permutation.is_empty());
            WorstOfUse {
                selection: selection.to_string(),
                channel: worst.as_ref().map(|worst| describe(worst.channel)),
                load: worst.as_ref().map_or(0.0, |worst| worst.load),
                bound: worst.as_ref().map_or(1.0, |worst| worst.bound()),
                load_of_chosen: chosen
                    .and_then(|permutation| crossings.busiest_under(permutation))
                    .map_or(0.0, |(_, load)| load),
            }
        });
        WorstFacts { uses: uses.collect(), chosen: chosen.to_string(), permutation, title }
    }

    /// The permutation as a file: comments, then the ranks of source and destination, a pair a line.
    pub fn file(&self) -> impl Iterator<Item = String> + '_ {
        let pairs = self.permutation.iter().enumerate().map(|(from, to)| format!("{from} {to}\n"));
        let head =
            format!("# {}\n# source destination: ranks among the end ports, in the fabric's order\n", self.title);
        std::iter::once(head).chain(pairs)
    }
}

fn title(routed: &Routed, chosen: Selection, channel: PortId, load: f64) -> String {
    let (engine, paths) = (routed.function.engine(), routed.function.paths());
    let channel = routed.fabric.describe_port(channel);
    format!("worst-case permutation of {engine}, paths {chosen} of {paths}: load {load:.3} on {channel}")
}

/// What is shown: `chosen` among them.
fn selections(offered: usize, chosen: Selection) -> Vec<Selection> {
    let spread = std::iter::successors(Some(2), |paths| Some(2 * paths)).take_while(|&paths| paths < offered);
    let mut all = vec![Selection::Base, Selection::Single];
    all.extend(spread.chain((offered > 1).then_some(offered)).map(Selection::Spread));
    if !all.contains(&chosen) {
        all.push(chosen);
    }
    all
}

/// The table, with a line above it.
pub(super) fn screen(text: &mut String, facts: &WorstFacts) {
    line(text, format_args!("worst permutations, by the paths that a pair sends by"));
    let mut rows = table();
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let of_chosen = format!("load of {}'s", facts.chosen);
    rows.set_header(["paths", "load", "at most", "channel", &of_chosen]);
    for row in &facts.uses {
        let channel = row.channel.as_deref().unwrap_or("none");
        let numbers = [format!("{:.2}", row.load), percent(row.bound), format!("{:.2}", row.load_of_chosen)];
        let [load, bound, of_chosen] = numbers.map(right);
        rows.add_row([Cell::new(&row.selection), load, bound, Cell::new(channel), of_chosen]);
    }
    rows.to_string().lines().for_each(|row| line(text, format_args!("{}", row.trim_end())));
}
