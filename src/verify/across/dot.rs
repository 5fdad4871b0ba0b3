//! A refusal of several subnets as a Graphviz digraph: a cluster for each subnet that the cycle passes, its switches as
//! boxes, routers as diamonds between them; an edge is a lane. Nodes are named as in the drawing of the subnets
//! themselves: `SUBNET/GUID`, `router/GUID`.

use super::refusal::{AcrossCycle, AcrossRefusal, Crossing, Link};
use crate::ids::{PortNum, Vl};
use crate::verify::Dependency;
use crate::verify::dot::{Drawing, colour, escaped, packet};
use std::collections::{BTreeMap, BTreeSet};

impl AcrossRefusal {
    /// The evidence as a digraph: of one subnet as it is drawn by itself, of a cycle through routers as above; its
    /// text where nothing can be drawn.
    pub fn to_dot(&self) -> String {
        match self {
            AcrossRefusal::Part { refusal, .. } => refusal.to_dot(),
            AcrossRefusal::Deadlock(cycle) => cycle.to_dot(),
            AcrossRefusal::Precondition(_)
            | AcrossRefusal::PathLayers { .. }
            | AcrossRefusal::TooManyMoments { .. } => {
                let mut drawing = Drawing::new("several subnets");
                drawing.note(&self.to_string());
                drawing.finish()
            }
        }
    }
}

impl AcrossCycle {
    /// The cycle as a digraph. An edge is the lane from one device to the next, with its ports at both ends; its
    /// label is the packet that waits for it, and the lane that it came in by.
    pub fn to_dot(&self) -> String {
        let mut drawing = Drawing::new(self.to_string().lines().next().unwrap_or_default());
        self.clusters(&mut drawing);
        self.routers(&mut drawing);
        let ends: Vec<End> = self.links.iter().map(End::of).collect();
        for (end, next) in ends.iter().zip(ends.iter().cycle().skip(1)) {
            let ports = format!("taillabel=\"{}\", headlabel=\"{}\"", end.output.0, next.input);
            let (vl, colour, label) = (end.output.1, end.colour, escaped(&end.label));
            let [from, to] = [&end.node, &next.node].map(|name| escaped(name));
            drawing
                .line(format_args!("\"{from}\" -> \"{to}\" [{ports}, color={colour}, label=\"VL {vl}\\n{label}\"];"));
        }
        drawing.finish()
    }

    fn clusters(&self, drawing: &mut Drawing) {
        let mut subnets: BTreeMap<&str, BTreeSet<(String, &str)>> = BTreeMap::new();
        for link in &self.links {
            if let Link::Inside { subnet, dependency } = link {
                subnets.entry(subnet).or_default().insert((switch(subnet, dependency), &dependency.switch.name));
            }
        }
        for (subnet, switches) in subnets {
            let name = escaped(subnet);
            drawing.line(format_args!("subgraph \"cluster_{name}\" {{"));
            drawing.line(format_args!("  label=\"{name}\";"));
            for (node, label) in switches {
                drawing.line(format_args!("  \"{}\" [label=\"{}\"];", escaped(&node), escaped(label)));
            }
            drawing.line(format_args!("}}"));
        }
    }

    fn routers(&self, drawing: &mut Drawing) {
        let mut routers: BTreeSet<(String, &str)> = BTreeSet::new();
        for link in &self.links {
            if let Link::Through(crossing) = link {
                routers.insert((router(crossing), &crossing.router));
            }
        }
        for (node, label) in routers {
            drawing.line(format_args!("\"{node}\" [shape=diamond, label=\"{}\"];", escaped(label)));
        }
    }
}

fn switch(subnet: &str, dependency: &Dependency) -> String {
    format!("{subnet}/{}", dependency.switch.guid)
}

fn router(crossing: &Crossing) -> String {
    format!("router/{}", crossing.guid)
}

/// A device of a cycle: where packets come in, and the lane that they wait for.
struct End {
    node: String,
    input: PortNum,
    output: (PortNum, Vl),
    colour: &'static str,
    label: String,
}

impl End {
    fn of(link: &Link) -> End {
        match link {
            Link::Inside { subnet, dependency } => End {
                node: switch(subnet, dependency),
                input: dependency.input.port,
                output: (dependency.output.port, dependency.output.vl),
                colour: colour(dependency.entry, dependency.mapping),
                label: packet(dependency),
            },
            Link::Through(crossing) => {
                let Crossing { input, output, .. } = crossing;
                let levels = match input.sl == output.sl {
                    true => format!("SL {}", input.sl),
                    false => format!("SL {}, then SL {}", input.sl, output.sl),
                };
                let comes = format!("from port {} VL {}, {}", input.num, input.vl, input.subnet);
                End {
                    node: router(crossing),
                    input: input.num,
                    output: (output.num, output.vl),
                    colour: "black",
                    label: format!("wanted by {levels}\n{comes}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Guid, Lid, Sl};
    use crate::verify::across::RouterLane;
    use crate::verify::{EntryAge, NamedDevice, PortLane};

    fn inside(subnet: &str, guid: u64, name: &str) -> Link {
        let lane = |port, vl| PortLane { port: PortNum(port), vl: Vl::masked(vl) };
        let dependency = Dependency {
            switch: NamedDevice { guid: Guid(guid), name: name.to_string() },
            input: lane(1, 0),
            output: lane(2, 1),
            lid: Lid(7),
            sl: Sl::masked(2),
            entry: EntryAge::New,
            mapping: EntryAge::Unchanged,
            latched: None,
        };
        Link::Inside { subnet: subnet.to_string(), dependency }
    }

    fn through(guid: u64, from: &str, to: &str) -> Link {
        let lane = |subnet: &str, num, sl| RouterLane {
            subnet: subnet.to_string(),
            port: format!("r[{num}]"),
            num: PortNum(num),
            vl: Vl::masked(3),
            sl: Sl::masked(sl),
        };
        let (input, output) = (lane(from, 3, 4), lane(to, 4, 5));
        Link::Through(Crossing { router: "r".to_string(), guid: Guid(guid), input, output })
    }

    #[test]
    fn switches_stand_in_their_subnets_and_routers_between() {
        let links = vec![
            inside("one", 1, "le\"ft"),
            through(9, "one", "two"),
            inside("two", 1, "right"),
            through(8, "two", "one"),
        ];
        let cycle = AcrossCycle { moment: Vec::new(), links, lanes: Vec::new(), shortest: true };
        let text = AcrossRefusal::Deadlock(cycle).to_dot();
        let body: Vec<&str> = text.lines().skip(6).map(str::trim).collect();
        let expected = r#"subgraph "cluster_one" {
label="one";
"one/0x0000000000000001" [label="le\"ft"];
}
subgraph "cluster_two" {
label="two";
"two/0x0000000000000001" [label="right"];
}
"router/0x0000000000000008" [shape=diamond, label="r"];
"router/0x0000000000000009" [shape=diamond, label="r"];
"one/0x0000000000000001" -> "router/0x0000000000000009" [taillabel="2", headlabel="3", color=blue, label="VL 1\nwanted by lid 7 SL 2\nfrom port 1 VL 0, new entry"];
"router/0x0000000000000009" -> "two/0x0000000000000001" [taillabel="4", headlabel="1", color=black, label="VL 3\nwanted by SL 4, then SL 5\nfrom port 3 VL 3, one"];
"two/0x0000000000000001" -> "router/0x0000000000000008" [taillabel="2", headlabel="3", color=blue, label="VL 1\nwanted by lid 7 SL 2\nfrom port 1 VL 0, new entry"];
"router/0x0000000000000008" -> "one/0x0000000000000001" [taillabel="4", headlabel="1", color=black, label="VL 3\nwanted by SL 4, then SL 5\nfrom port 3 VL 3, two"];
}"#;
        assert_eq!(body.join("\n"), expected);
        assert!(text.starts_with("digraph refusal {\n  label=\"4 lanes can wait for each other"), "{text}");
    }

    #[test]
    fn what_is_no_cycle_is_told_in_words() {
        let text = AcrossRefusal::PathLayers { subnet: "one".to_string() }.to_dot();
        assert!(text.contains("note [shape=note, label=\"subnet one: its routing says"), "{text}");
    }
}
