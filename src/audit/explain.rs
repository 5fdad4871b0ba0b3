//! Who closes a cycle: for each of its dependencies a class, a source, and the entries that it follows.

use super::Case;
use super::dependencies::Lane;
use super::finding::Dependency;
use super::lanes;
use super::net::{Head, Net, Stage};
use super::survey::{Knots, device, entry, entry_of, holds};
use super::walk::{Class, Course, Hop, Sink};
use crate::fabric::PortId;
use crate::ids::{PortNum, Vl};
use crate::verify::PortLane;

/// Walks all classes again, in search of one for each dependency of the cycle.
pub(super) fn explain(case: &Case<'_>, net: &Net, course: &mut Course<'_>, knots: Knots) -> (Knots, Vec<Dependency>) {
    let next = knots.lanes.iter().cycle().skip(1);
    let wanted = knots.lanes.iter().zip(next).map(|(&from, &to)| Wanted::new(net, from, to)).collect();
    let mut search = Search { is_wanted: vec![false; net.rows.len()], wanted };
    search.wanted.iter().for_each(|wanted| search.is_wanted[wanted.row as usize] = true);
    course.run(&mut search);
    let told = search.wanted.iter().map(|wanted| wanted.told(case, net)).collect();
    (knots, told)
}

/// A dependency of the cycle, and who causes it.
struct Wanted {
    row: u32,
    input: PortNum,
    from: usize,
    output: PortNum,
    to: usize,
    cause: Option<(Class, PortId)>,
}

impl Wanted {
    fn new(net: &Net, from: Lane, to: Lane) -> Wanted {
        let Head::Switch { row, input } = net.head(Stage::Now, from.channel) else {
            unreachable!("only a lane into a switch waits for another")
        };
        Wanted { row, input, from: from.vl, output: net.output(row, to.channel), to: to.vl, cause: None }
    }

    fn told(&self, case: &Case<'_>, net: &Net) -> Dependency {
        let Some((class, source)) = self.cause else {
            unreachable!("the walk that found the dependency passes it again")
        };
        let node = net.rows[self.row as usize];
        let lane = |port, vl: usize| PortLane { port, vl: Vl::masked(vl as u8) };
        let hop = [self.input, self.output];
        let [old, new] =
            case.snapshots().map(|snapshot| lanes::lane(snapshot, case.rules.data_vls, node, hop, class.sl));
        let [was, is] = case.snapshots().map(|snapshot| case.level(snapshot, source, class.lid, class.owner));
        let name = |port| case.fabric.describe_port(port);
        Dependency {
            switch: device(case.fabric, node),
            input: lane(self.input, self.from),
            output: lane(self.output, self.to),
            lid: class.lid,
            sl: class.sl,
            destination: name(class.owner),
            source: name(source),
            entry: entry_of(case, node, class.lid, Some(self.output)),
            mapping: entry(old, new, Some(Vl::masked(self.to as u8))),
            path: entry(was, is, Some(class.sl)),
        }
    }
}

struct Search {
    /// By row: whether some dependency of the cycle is there.
    is_wanted: Vec<bool>,
    wanted: Vec<Wanted>,
}

impl Sink for Search {
    fn hop(&mut self, class: Class, hop: Hop) {
        if !self.is_wanted[hop.row as usize] {
            return;
        }
        for wanted in self.wanted.iter_mut().filter(|wanted| wanted.cause.is_none()) {
            let here = (wanted.row, wanted.input, wanted.output) == (hop.row, hop.input, hop.output);
            if here && holds(hop.from, wanted.from) && holds(hop.to, wanted.to) {
                wanted.cause = Some((class, hop.origin));
            }
        }
    }

    fn is_content(&self) -> bool {
        self.wanted.iter().all(|wanted| wanted.cause.is_some())
    }
}
