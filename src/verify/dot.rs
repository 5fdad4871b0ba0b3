//! Draws a refusal as a Graphviz digraph: switches as boxes, lanes and the lanes that packets in them are latched for
//! as edges. Written by hand, as the drawing of fabrics is: nodes are named by GUID, so that two drawings are
//! comparable.

use super::refusal::{
    BlackHole, ClassLoop, Cycle, Dependency, EntryAge, HoleCause, LoopHop, NamedDevice, PortLane, Refusal, WrongArrival,
};
use std::fmt::Write;

impl Refusal {
    /// The evidence as a digraph. In a cycle an edge is the lane between two switches, with its ports at both ends.
    /// Its label is the packet that waits for it, the lane that it came in by, and the table entries. An entry that
    /// the wave changes is drawn in red where it is old, in blue where it is new.
    pub fn to_dot(&self) -> String {
        let mut drawing = Drawing::new(&self.headline());
        match self {
            Refusal::Precondition { what, .. } => drawing.note(what),
            Refusal::Loop(found) => drawing.class_loop(found),
            Refusal::BlackHole(hole) => drawing.black_hole(hole),
            Refusal::WrongArrival(found) => drawing.wrong_arrival(&found.arrival),
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
pub(super) struct Drawing(String);

impl Drawing {
    pub(super) fn new(title: &str) -> Drawing {
        let defaults = "  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10, labeldistance=1.8];\n";
        Drawing(format!(
            "digraph refusal {{\n  label=\"{}\";\n  labelloc=t;\n  fontname=\"sans-serif\";\n{defaults}",
            escaped(title)
        ))
    }

    pub(super) fn line(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.0, "  {text}").expect("a String takes every text");
    }

    fn switch(&mut self, device: &NamedDevice) {
        self.line(format_args!("\"{}\" [label=\"{}\"];", device.guid, escaped(&device.name)));
    }

    pub(super) fn note(&mut self, text: &str) {
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
            let (from, to, colour) = (switch.guid, next.switch.guid, colour(*entry, EntryAge::Unchanged));
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
            HoleCause::TurnedBack { port } => ("turned back".to_string(), format!("taillabel=\"{port}\", ")),
            HoleCause::Astray { port } => ("no way on".to_string(), format!("taillabel=\"{port}\", ")),
        };
        let colour = colour(hole.entry, EntryAge::Unchanged);
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

    pub(super) fn finish(self) -> String {
        self.0 + "}\n"
    }
}

/// The packet that waits, where it stands, and the entries that led it there, as lines of a label.
pub(super) fn packet(waits: &Dependency) -> String {
    let Dependency { input, lid, sl, entry, .. } = waits;
    let mut text = format!("wanted by lid {lid} SL {sl}\nfrom port {} VL {}, {entry}", input.port, input.vl);
    match waits.mapping {
        EntryAge::Unchanged => {}
        EntryAge::Old => text += "\nold SL-to-VL",
        EntryAge::New => text += "\nnew SL-to-VL",
    }
    waits.latched_in_words().iter().for_each(|latched| text = format!("{text}\n{latched}"));
    text
}

pub(super) fn colour(entry: EntryAge, mapping: EntryAge) -> &'static str {
    match (entry, mapping) {
        (EntryAge::Old, _) | (_, EntryAge::Old) => "red",
        (EntryAge::New, _) | (_, EntryAge::New) => "blue",
        (EntryAge::Unchanged, EntryAge::Unchanged) => "black",
    }
}

/// Text within quotes, line ends as Graphviz spells them.
pub(super) fn escaped(text: &str) -> String {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    quoted.replace(|c: char| c.is_control(), " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Guid, Lid, PortNum, Sl, Vl};
    use crate::verify::refusal::WaveArrival;

    fn device(name: &str, guid: u64) -> NamedDevice {
        NamedDevice { guid: Guid(guid), name: name.to_string() }
    }

    fn lane(port: u8, vl: u8) -> PortLane {
        PortLane { port: PortNum(port), vl: Vl::masked(vl) }
    }

    fn drawn(refusal: &Refusal) -> String {
        let text = refusal.to_dot();
        let begins = text.strip_prefix("digraph refusal {\n").and_then(|text| text.strip_suffix("}\n"));
        let body: Vec<&str> = begins.expect("a digraph").lines().skip(5).map(str::trim).collect();
        body.join("\n")
    }

    #[test]
    fn a_cycle_shows_lanes_with_who_waits_for_them() {
        let dependency = |switch, input, output, entry, mapping, latched: Option<&str>| Dependency {
            switch,
            input,
            output,
            lid: Lid(7),
            sl: Sl::masked(2),
            entry,
            mapping,
            latched: latched.map(String::from),
        };
        let (left, right) = (device("le\"ft", 1), device("right", 2));
        let dependencies = vec![
            dependency(left, lane(1, 0), lane(2, 2), EntryAge::Old, EntryAge::Unchanged, Some("split")),
            dependency(right, lane(3, 2), lane(4, 0), EntryAge::Unchanged, EntryAge::New, None),
        ];
        let cycle = Cycle { wave: "swap".to_string(), dependencies, shortest: true };
        let expected = r#""0x0000000000000001" [label="le\"ft"];
"0x0000000000000002" [label="right"];
"0x0000000000000001" -> "0x0000000000000002" [taillabel="2", headlabel="3", color=red, label="VL 2\nwanted by lid 7 SL 2\nfrom port 1 VL 0, old entry\nlatched in wave split"];
"0x0000000000000002" -> "0x0000000000000001" [taillabel="4", headlabel="1", color=blue, label="VL 0\nwanted by lid 7 SL 2\nfrom port 3 VL 2, unchanged entry\nnew SL-to-VL"];"#;
        assert_eq!(drawn(&Refusal::Deadlock(cycle)), expected);
    }

    #[test]
    fn loops_holes_and_wrong_arrivals_are_drawn_too() {
        let hop = |switch, entry| LoopHop { switch, port: PortNum(5), entry };
        let hops = vec![hop(device("a", 1), EntryAge::Old), hop(device("b", 2), EntryAge::New)];
        let class_loop = Refusal::Loop(ClassLoop { wave: "rewrite".to_string(), lid: Lid(9), hops });
        let text = drawn(&class_loop);
        let back =
            r#""0x0000000000000002" -> "0x0000000000000001" [taillabel="5", color=blue, label="lid 9, new entry"];"#;
        assert!(text.lines().count() == 4 && text.ends_with(back), "{text}");

        let hole = |cause| BlackHole {
            wave: "rewrite".to_string(),
            switch: device("a", 1),
            lid: Lid(9),
            cause,
            entry: EntryAge::New,
        };
        let text = drawn(&Refusal::BlackHole(hole(HoleCause::NoCable { port: PortNum(3) })));
        assert!(text.contains(r#""0x0000000000000001" -> nowhere [taillabel="3", style=dashed, color=blue"#), "{text}");
        let text = drawn(&Refusal::BlackHole(hole(HoleCause::NoRoute)));
        assert!(text.contains(r#"nowhere [shape=plaintext, label="no route"]"#), "{text}");

        let wave = "rewrite".to_string();
        let arrival = WrongArrival { lid: Lid(9), port: "x[1]".to_string(), owner: "y[1]".to_string() };
        let text = drawn(&Refusal::WrongArrival(WaveArrival { wave, arrival }));
        assert!(text.contains("packets -> at") && text.contains("y[1]"), "{text}");
        let refusal = Refusal::Precondition { wave: "split".to_string(), what: "line\nline".to_string() };
        assert_eq!(drawn(&refusal), r#"note [shape=note, label="line\nline"];"#);
    }
}
