//! Collects what the walk meets: dependencies and lanes, faults with their evidence, and what they cost in pairs.

use super::Case;
use super::dependencies::{Dependencies, Lane};
use super::fate::{self, Fates, Scratch};
use super::finding::{
    Audit, BlackHole, ClassLoop, Component, CreditLoops, Dependency, Ends, Findings, HoleCause, LoopHop,
    UnreachablePair, Why, WrongArrival,
};
use super::lanes::{self, LaneMask, Lanes, lanes_of};
use super::net::{Group, Head, Net, Stage};
use super::walk::{Class, Course, End, Hop, Sink, Way};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Lid, PortNum, Sl};
use crate::verify::{Device, Entry};

/// Everything that one audit finds.
pub(super) struct Survey<'a> {
    case: &'a Case<'a>,
    net: &'a Net,
    lanes: &'a Lanes,
    dependencies: Dependencies<'a>,
    /// By channel: lanes that every end port at its switch sends into, as far as they send alike.
    entered: Vec<LaneMask>,
    /// By channel: lanes that some class can occupy.
    occupied: Vec<LaneMask>,
    /// Whether the class in hand met a fault.
    suspicious: bool,
    loops: Findings<ClassLoop>,
    black_holes: Findings<BlackHole>,
    wrong_arrivals: Findings<WrongArrival>,
    unreachable: Findings<UnreachablePair>,
    told: Told,
    scratch: Scratch,
}

/// By place: the DLID for which a fault was told last, so that each is counted once for each DLID.
struct Told {
    /// By row.
    holes: Vec<Lid>,
    /// By node.
    laneless: Vec<Lid>,
    /// By the port where packets arrive.
    wrong: Vec<Lid>,
    /// By the first channel of the round trip.
    round: Vec<Lid>,
    /// By source port.
    lost: Vec<Lid>,
}

impl Told {
    /// Whether the fault is told for the first time, which it is from now on.
    fn first(slot: &mut Lid, lid: Lid) -> bool {
        std::mem::replace(slot, lid) != lid
    }
}

impl<'a> Survey<'a> {
    pub fn new(case: &'a Case<'a>, net: &'a Net, lanes: &'a Lanes) -> Survey<'a> {
        let (rows, ports) = (net.rows.len(), net.channels());
        let none = |count| vec![Lid::default(); count];
        Survey {
            case,
            net,
            lanes,
            entered: vec![0; ports],
            dependencies: Dependencies::none(net, lanes.vls),
            occupied: vec![0; ports],
            suspicious: false,
            loops: Findings::default(),
            black_holes: Findings::default(),
            wrong_arrivals: Findings::default(),
            unreachable: Findings::default(),
            told: Told {
                holes: none(rows),
                laneless: none(case.fabric.node_count()),
                wrong: none(ports),
                round: none(ports),
                lost: none(ports),
            },
            scratch: Scratch::new(ports, rows),
        }
    }

    /// Adds what end ports that send alike hold and wait for.
    pub fn add_groups(&mut self, groups: &[Group]) {
        let (net, lanes) = (self.net, self.lanes);
        for group in groups.iter().filter(|group| group.alike) {
            for &source in &net.sources(Stage::Now)[group.first..group.end] {
                let Head::Switch { row, input } = net.head(Stage::Now, source.port.0) else { continue };
                let from = lanes.at_source(source, Sl::default());
                self.occupied[source.port.index()] |= from;
                let outputs = (1..net.sides[row as usize]).map(|output| PortNum(output as u8));
                for output in outputs {
                    let to = self.entered[net.channel(row, output) as usize];
                    self.dependencies.add(row, input, from, output, to);
                }
            }
        }
    }

    /// The components of lanes that can wait for each other, and the shortest cycle among them; none where there are none.
    pub fn cycle(&self) -> Option<Knots> {
        let graph = self.dependencies.graph();
        let components: Vec<usize> = graph.components().iter().map(Vec::len).collect();
        let cycle = graph.order().err()?;
        let lanes = cycle.nodes.iter().map(|&node| self.dependencies.lane(node)).collect();
        Some(Knots { components, lanes, shortest: cycle.shortest })
    }

    /// The audit; `witness` explains the cycle where there is one.
    pub fn finish(self, witness: Option<(Knots, Vec<Dependency>)>) -> Audit {
        let credit_loops = witness.map_or_else(CreditLoops::default, |(knots, cycle)| knots.told(cycle));
        let found = [
            ("credit-loops", credit_loops.components.len()),
            ("loops", self.loops.count),
            ("black-holes", self.black_holes.count),
            ("wrong-arrivals", self.wrong_arrivals.count),
            ("unreachable-pairs", self.unreachable.count),
        ];
        let faults: Vec<&str> = found.iter().filter(|(_, count)| *count > 0).map(|(name, _)| *name).collect();
        let ends = if self.case.rules.switches { Ends::EndPortsAndSwitches } else { Ends::EndPorts };
        Audit {
            faults,
            fabric: self.case.size(),
            ends,
            credit_loops,
            loops: self.loops,
            black_holes: self.black_holes,
            wrong_arrivals: self.wrong_arrivals,
            unreachable_pairs: self.unreachable,
            pairs: pairs(self.case, self.net),
            lanes: self.occupied.iter().map(|mask| mask.count_ones() as usize).sum(),
            channels: self.occupied.iter().filter(|&&mask| mask != 0).count(),
            dependencies: self.dependencies.count(),
            notes: self.case.notes(),
        }
    }

    fn lose(&mut self, lid: Lid, owner: PortId, source: PortId, why: Why) {
        if self.case.is_lenient(owner) || !Told::first(&mut self.told.lost[source.index()], lid) {
            return;
        }
        let name = |port| self.case.fabric.describe_port(port);
        self.unreachable.add(|| UnreachablePair { source: name(source), destination: name(owner), lid, why });
    }

    fn hole(&mut self, class: Class, node: NodeId, cause: HoleCause, entry: Entry) {
        let fabric = self.case.fabric;
        let told = || BlackHole { device: device(fabric, node), lid: class.lid, sl: class.sl, cause, entry };
        self.black_holes.add(told);
    }

    fn laneless(&mut self, class: Class, node: NodeId, input: PortNum, output: PortNum) {
        if self.case.is_lenient(class.owner) || !Told::first(&mut self.told.laneless[node.index()], class.lid) {
            return;
        }
        let vls = self.case.rules.data_vls;
        let lane = |snapshot| lanes::lane(snapshot, vls, node, [input, output], class.sl);
        let entry = entry(lane(self.case.old), lane(self.case.new), None);
        let at_fault = if lane(self.case.old).is_none() { self.case.old } else { self.case.new };
        let vl = at_fault.sl_to_vl.and_then(|dump| dump.get(node, input, output)).map(|table| table.get(class.sl));
        self.hole(class, node, HoleCause::NoLane { input, output, vl }, entry);
    }

    fn go_round(&mut self, class: Class, course: &Course<'_>) {
        for trip in fate::round_trips(course, class) {
            let mark = trip.iter().copied().min().unwrap_or(0);
            if Told::first(&mut self.told.round[mark as usize], class.lid) {
                let case = self.case;
                let net = self.net;
                self.loops.add(|| class_loop(case, net, class, &trip));
            }
        }
    }
}

impl Sink for Survey<'_> {
    fn hop(&mut self, _: Class, hop: Hop) {
        self.dependencies.add(hop.row, hop.input, hop.from, hop.output, hop.to);
    }

    fn enter(&mut self, row: u32, output: PortNum, to: LaneMask) {
        self.entered[self.net.channel(row, output) as usize] |= to;
    }

    fn end(&mut self, class: Class, end: End) {
        self.suspicious = true;
        let lenient = self.case.is_lenient(class.owner);
        match end {
            End::Hole { row, way } => {
                if !lenient && Told::first(&mut self.told.holes[row as usize], class.lid) {
                    let node = self.net.rows[row as usize];
                    let (cause, output) = match way {
                        Way::NoCable(port) => (HoleCause::NoCable { port }, Some(port)),
                        _ => (HoleCause::NoRoute, None),
                    };
                    let entry = entry_of(self.case, node, class.lid, output);
                    self.hole(class, node, cause, entry);
                }
            }
            End::Laneless { row, input, output } => self.laneless(class, self.net.rows[row as usize], input, output),
            End::Unsent { source } => {
                let port = self.case.fabric.port(source);
                self.laneless(class, port.node, PortNum::ZERO, port.num);
            }
            End::Wrong { at } => {
                if Told::first(&mut self.told.wrong[at.index()], class.lid) {
                    let name = |port| self.case.fabric.describe_port(port);
                    let (lid, owner) = (class.lid, class.owner);
                    self.wrong_arrivals.add(|| WrongArrival { lid, port: name(at), owner: name(owner) });
                }
            }
        }
    }

    fn unlevelled(&mut self, lid: Lid, owner: PortId, sources: &[PortId]) {
        sources.iter().for_each(|&source| self.lose(lid, owner, source, Why::NoPath));
    }

    fn walked(&mut self, class: Class, course: &Course<'_>) {
        for &channel in &course.touched {
            self.occupied[channel as usize] |= course.occupied[channel as usize];
        }
        if !fate::is_ordered(course, &mut self.scratch) {
            self.suspicious = true;
            self.go_round(class, course);
        }
        if !std::mem::take(&mut self.suspicious) {
            return;
        }
        let mut scratch = std::mem::replace(&mut self.scratch, Scratch::new(0, 0));
        let mut fates = Fates::new(course, class, &mut scratch);
        for &source in course.senders(class.sl).iter().filter(|source| source.port != class.owner) {
            if let Some(why) = fates.of_source(source) {
                self.lose(class.lid, class.owner, source.port, why);
            }
        }
        drop(fates);
        self.scratch = scratch;
    }
}

/// All that is tied in cycles, and one cycle.
pub(super) struct Knots {
    /// Lanes of each component.
    components: Vec<usize>,
    /// The cycle.
    pub lanes: Vec<Lane>,
    shortest: bool,
}

impl Knots {
    fn told(mut self, cycle: Vec<Dependency>) -> CreditLoops {
        self.components.sort_unstable_by(|a, b| b.cmp(a));
        CreditLoops {
            lanes: self.components.iter().sum(),
            components: self.components.iter().map(|&lanes| Component { lanes }).collect(),
            cycle: Some(cycle),
            shortest: self.shortest,
        }
    }
}

/// A device by GUID and name.
pub(super) fn device(fabric: &Fabric, node: NodeId) -> Device {
    Device { guid: fabric.node(node).guid, name: fabric.describe_node(node) }
}

/// Which of two values is `chosen`.
pub(super) fn entry<T: PartialEq>(old: T, new: T, chosen: T) -> Entry {
    match (old == new, old == chosen) {
        (true, _) => Entry::Unchanged,
        (false, true) => Entry::Old,
        (false, false) => Entry::New,
    }
}

/// Which forwarding entry of a switch names an output port.
pub(super) fn entry_of(case: &Case<'_>, node: NodeId, lid: Lid, output: Option<PortNum>) -> Entry {
    let [old, new] = case.snapshots().map(|snapshot| snapshot.lfts[node.index()].get(lid));
    entry(old, new, output)
}

/// The channels of a round trip as hops: each switch with the port that leads on.
fn class_loop(case: &Case<'_>, net: &Net, class: Class, trip: &[u32]) -> ClassLoop {
    let next = trip.iter().cycle().skip(1);
    let hop = |(&inward, &outward): (&u32, &u32)| {
        let Head::Switch { row, .. } = net.head(Stage::Now, inward) else {
            unreachable!("only a channel into a switch leads on")
        };
        let (node, port) = (net.rows[row as usize], net.output(row, outward));
        LoopHop { switch: device(case.fabric, node), port, entry: entry_of(case, node, class.lid, Some(port)) }
    };
    ClassLoop { lid: class.lid, sl: class.sl, hops: trip.iter().zip(next).map(hop).collect() }
}

/// Pairs of source and DLID that are to be connected.
fn pairs(case: &Case<'_>, net: &Net) -> usize {
    let sources = net.sources(Stage::Now);
    let mut sends = vec![false; case.fabric.port_count()];
    sources.iter().for_each(|source| sends[source.port.index()] = true);
    let last = case.fabric.max_lid().map_or(0, |lid| lid.0);
    let owners = (1..=last).filter_map(|lid| case.destination(Lid(lid))).filter(|&owner| !case.is_lenient(owner));
    owners.map(|owner| sources.len() - usize::from(sends[owner.index()])).sum()
}

/// Whether a lane is among those of a mask.
pub(super) fn holds(mask: LaneMask, vl: usize) -> bool {
    lanes_of(mask).any(|own| own == vl)
}
