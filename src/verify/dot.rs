//! A refusal as a Graphviz digraph: switches as boxes, lanes and what is latched for them as edges. Written by hand, as
//! the drawing of fabrics is: nodes are named by GUID, so that two drawings are comparable.

use super::refusal::{BlackHole, ClassLoop, Cycle, Dependency, Device, HoleCause, LoopHop, Refusal, WrongArrival};
use super::refusal::{Entry, PortLane};
use std::fmt::Write;

impl Refusal {
    /// The evidence as a digraph. Of a cycle, an edge is the lane between two switches, with its ports at both ends; it
    /// says which packet, come in by which lane, waits for it, and by which table entries. An entry that the wave
    /// changes is drawn in red where it is old, in blue where it is new.
    pub fn to_dot(&self) -> String {
        let mut drawing = Drawing::new(&self.headline());
        match self {
            Refusal::Precondition { what, .. } => drawing.note(what),
            Refusal::Loop(found) => drawing.class_loop(found),
            Refusal::BlackHole(hole) => drawing.black_hole(hole),
            Refusal::WrongArrival(arrival) => drawing.wrong_arrival(arrival),
            Refusal::Deadlock(cycle) => drawing.cycle(cycle),
        }
        drawing.finish()
    }

    /// The first line of the refusal in words.
    fn headline(&self) -> String {
        self.to_string().lines().next().unwrap_or_default().to_string()
    }
}

/// The text so far.
struct Drawing(String);

impl Drawing {
    fn new(title: &str) -> Drawing {
        let defaults = "  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n";
        Drawing(format!(
            "digraph refusal {{\n  label=\"{}\";\n  labelloc=t;\n  fontname=\"sans-serif\";\n{defaults}",
            escaped(title)
        ))
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.0, "  {text}").expect("a String takes every text");
    }

    fn switch(&mut self, device: &Device) {
        self.line(format_args!("\"{}\" [label=\"{}\"];", device.guid, escaped(&device.name)));
    }

    fn note(&mut self, text: &str) {
        self.line(format_args!("note [shape=note, label=\"{}\"];", escaped(text)));
    }

    fn cycle(&mut self, cycle: &Cycle) {
        cycle.dependencies.iter().for_each(|dependency| self.switch(&dependency.switch));
        let next = cycle.dependencies.iter().cycle().skip(1);
        for (dependency, next) in cycle.dependencies.iter().zip(next) {
            self.lane(dependency, next);
        }
    }

    /// The lane from one switch of a cycle to the next, and the packet that waits for it.
    fn lane(&mut self, waits: &Dependency, next: &Dependency) {
        let PortLane { port, vl } = waits.output;
        let ends = format!("taillabel=\"{port}\", headlabel=\"{}\"", next.input.port);
        let colour = colour(waits.entry, waits.mapping);
        let (from, to) = (waits.switch.guid, next.switch.guid);
        let label = escaped(&packet(waits));
        self.line(format_args!("\"{from}\" -> \"{to}\" [{ends}, color={colour}, label=\"VL {vl}\\n{label}\"];"));
    }

    fn class_loop(&mut self, found: &ClassLoop) {
        found.hops.iter().for_each(|hop| self.switch(&hop.switch));
        for (hop, next) in found.hops.iter().zip(found.hops.iter().cycle().skip(1)) {
            let LoopHop { switch, port, entry } = hop;
            let (from, to, colour) = (switch.guid, next.switch.guid, colour(*entry, Entry::Unchanged));
            let label = format!("lid {}, {entry}", found.lid);
            self.line(format_args!(
                "\"{from}\" -> \"{to}\" [taillabel=\"{port}\", color={colour}, label=\"{label}\"];"
            ));
        }
    }

    fn black_hole(&mut self, hole: &BlackHole) {
        self.switch(&hole.switch);
        let (cause, tail) = match hole.cause {
            HoleCause::NoRoute => ("no route".to_string(), String::new()),
            HoleCause::NoCable { port } => ("no cable".to_string(), format!("taillabel=\"{port}\", ")),
        };
        let colour = colour(hole.entry, Entry::Unchanged);
        self.line(format_args!("nowhere [shape=plaintext, label=\"{cause}\"];"));
        let (from, label) = (hole.switch.guid, format!("lid {}, {}", hole.lid, hole.entry));
        self.line(format_args!("\"{from}\" -> nowhere [{tail}style=dashed, color={colour}, label=\"{label}\"];"));
    }

    fn wrong_arrival(&mut self, arrival: &WrongArrival) {
        self.line(format_args!("packets [shape=plaintext, label=\"packets to lid {}\"];", arrival.lid));
        self.line(format_args!("at [shape=ellipse, label=\"{}\"];", escaped(&arrival.port)));
        self.line(format_args!("owner [shape=ellipse, label=\"{}\"];", escaped(&arrival.owner)));
        self.line(format_args!("packets -> at [color=red, label=\"arrive\"];"));
        self.line(format_args!("packets -> owner [style=dashed, label=\"belong\"];"));
    }

    fn finish(self) -> String {
        self.0 + "}\n"
    }
}

/// The packet that waits, where it stands, and by what it was led so; lines for a label.
fn packet(waits: &Dependency) -> String {
    let Dependency { input, lid, sl, entry, .. } = waits;
    let mut text = format!("wanted by lid {lid} SL {sl}\nfrom port {} VL {}, {entry}", input.port, input.vl);
    match waits.mapping {
        Entry::Unchanged => {}
        Entry::Old => text += "\nold SL-to-VL",
        Entry::New => text += "\nnew SL-to-VL",
    }
    if let Some(wave) = &waits.latched {
        write!(text, "\nlatched in wave {wave}").expect("a String takes every text");
    }
    text
}

fn colour(entry: Entry, mapping: Entry) -> &'static str {
    match (entry, mapping) {
        (Entry::Old, _) | (_, Entry::Old) => "red",
        (Entry::New, _) | (_, Entry::New) => "blue",
        (Entry::Unchanged, Entry::Unchanged) => "black",
    }
}

/// Text within quotes, line ends as Graphviz spells them.
fn escaped(text: &str) -> String {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    quoted.replace(|c: char| c.is_control(), " ")
}
