//! Explains a cycle: for each of its dependencies a class, a source, and the entries that they follow.

use super::finding::AuditedDependency;
use super::lanes;
use super::senders::{AuditSink, AuditWalk};
use super::survey::{KnotLane, Knots, entry_of};
use super::{AuditCase, NOW};
use crate::fabric::PortId;
use crate::ids::{PortNum, Sl, Vl};
use crate::verify::lanes::HopLanes;
use crate::verify::net::{FlatFabric, Head};
use crate::verify::walk::{Class, ClassHop, Columns, Sink};
use crate::verify::{EntryAge, NamedDevice, PortLane};

/// Walks all classes again, in search of one for each dependency of the cycle.
pub(super) fn explain(
    case: &AuditCase<'_>,
    net: &FlatFabric,
    walk: &mut AuditWalk<'_>,
    knots: Knots,
) -> (Knots, Vec<AuditedDependency>) {
    let next = knots.lanes.iter().cycle().skip(1);
    let wanted = knots.lanes.iter().zip(next).map(|(&from, &to)| Wanted::new(net, from, to)).collect();
    let mut search = Search { lanes: walk.lanes(), is_wanted: vec![false; net.rows.len()], wanted };
    search.wanted.iter().for_each(|wanted| search.is_wanted[wanted.row] = true);
    walk.run(&mut search);
    let explained = search.wanted.iter().map(|wanted| wanted.explained(case, net)).collect();
    (knots, explained)
}

/// A dependency of the cycle, and the packets that cause it.
struct Wanted {
    row: usize,
    input: PortNum,
    from: u8,
    output: PortNum,
    to: u8,
    /// The class, its service level, and a source.
    cause: Option<(Class, Sl, PortId)>,
}

impl Wanted {
    /// The dependency of a lane into a switch on a lane out of it.
    fn new(net: &FlatFabric, inward: KnotLane, outward: KnotLane) -> Wanted {
        let Head::Switch { row, input } = net.head(NOW, inward.port.index()) else {
            unreachable!("only a lane into a switch waits for another")
        };
        let row = row as usize;
        let output = net.output(row, outward.port.index());
        Wanted { row, input, from: inward.vl, output, to: outward.vl, cause: None }
    }

    fn explained(&self, case: &AuditCase<'_>, net: &FlatFabric) -> AuditedDependency {
        let Some((Class { lid, owner, .. }, sl, source)) = self.cause else {
            unreachable!("the walk that found the dependency passes it again")
        };
        let node = net.rows[self.row];
        let lane = |port, vl| PortLane { port, vl: Vl::masked(vl) };
        let hop = [self.input, self.output];
        let [old, new] = case.snapshots().map(|snapshot| lanes::lane(snapshot, case.rules.data_vls, node, hop, sl));
        let [was, is] = case.snapshots().map(|snapshot| case.level(snapshot, source, lid, owner));
        let name = |port| case.fabric.describe_port(port);
        AuditedDependency {
            switch: NamedDevice::of(case.fabric, node),
            input: lane(self.input, self.from),
            output: lane(self.output, self.to),
            lid,
            sl,
            destination: name(owner),
            source: name(source),
            entry: entry_of(case, node, lid, Some(self.output)),
            mapping: EntryAge::of(&old, &new, &Some(Vl::masked(self.to))),
            path: EntryAge::of(&was, &is, &Some(sl)),
        }
    }
}

struct Search<'a> {
    lanes: &'a HopLanes,
    /// By row: whether the cycle has a dependency at that switch.
    is_wanted: Vec<bool>,
    wanted: Vec<Wanted>,
}

impl Sink<PortId> for Search<'_> {
    fn hop(&mut self, class: &Class, _: &Columns, hop: &ClassHop<PortId>) {
        if hop.stage != NOW || !self.is_wanted[hop.row] {
            return;
        }
        for wanted in self.wanted.iter_mut().filter(|wanted| wanted.cause.is_none()) {
            let here = (wanted.row, wanted.input, wanted.output) == (hop.row, hop.input, hop.output);
            if here && hop.from >> wanted.from & 1 == 1 && hop.to >> wanted.to & 1 == 1 {
                let sl = self.lanes.groups[class.group].sl();
                wanted.cause = Some((*class, sl, hop.origin));
            }
        }
    }
}

impl AuditSink for Search<'_> {
    fn is_content(&self) -> bool {
        self.wanted.iter().all(|wanted| wanted.cause.is_some())
    }
}
