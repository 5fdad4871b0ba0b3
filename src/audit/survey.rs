//! Collects the reports of the walk: dependencies and lanes, faults with their evidence, and the pairs that they
//! affect.

use super::fate::{self, Fates, Reached, Scratch};
use super::finding::{
    Audit, AuditedDependency, AuditedHole, AuditedLoop, CreditLoops, DiscardCause, Ends, Findings, LaneComponent,
    LossReason, UnreachablePair,
};
use super::senders::{AuditSink, SwitchHosts};
use super::{AuditCase, NOW, lanes};
use crate::fabric::{NodeId, PortId};
use crate::ids::{Lid, PortNum, Sl};
use crate::verify::dependencies::{Dependencies, DependencyLayout, lane_of};
use crate::verify::lanes::{HopLanes, LaneMask};
use crate::verify::net::{Exit, FlatFabric, Head, SendingPort};
use crate::verify::walk::{Class, ClassHop, Columns, DeadEnd, Entrance, Now, Sink, Walk};
use crate::verify::{EntryAge, LoopHop, NamedDevice, WrongArrival};

/// Everything that one audit finds.
pub(super) struct FaultSurvey<'a> {
    case: &'a AuditCase<'a>,
    net: &'a FlatFabric,
    lanes: &'a HopLanes,
    layout: DependencyLayout<'a>,
    dependencies: Dependencies,
    /// By channel: lanes into which the end ports at its switch send together.
    entered: Vec<LaneMask>,
    /// By channel: lanes that some class can occupy.
    occupied: Vec<LaneMask>,
    /// Switches that the class in hand can reach.
    reached: Reached,
    /// Whether the current class met a fault.
    suspicious: bool,
    loops: Findings<AuditedLoop>,
    black_holes: Findings<AuditedHole>,
    wrong_arrivals: Findings<WrongArrival>,
    unreachable: Findings<UnreachablePair>,
    unknown: Findings<UnreachablePair>,
    /// By row: whether the switch's table is known.
    is_known: Vec<bool>,
    reported: LastReported,
    scratch: Scratch,
}

/// By place: the DLID of the last fault reported there, so that each place counts once for each DLID.
struct LastReported {
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

impl LastReported {
    /// Marks the fault as reported, and returns whether it is new.
    fn first(slot: &mut Lid, lid: Lid) -> bool {
        std::mem::replace(slot, lid) != lid
    }
}

impl<'a> FaultSurvey<'a> {
    pub fn new(case: &'a AuditCase<'a>, net: &'a FlatFabric, lanes: &'a HopLanes) -> FaultSurvey<'a> {
        let (rows, ports) = (net.rows.len(), net.channels());
        let none = |count| vec![Lid::default(); count];
        let layout = DependencyLayout::new(net, lanes.vls);
        FaultSurvey {
            case,
            net,
            lanes,
            entered: vec![0; ports],
            dependencies: Dependencies::none(&layout),
            layout,
            occupied: vec![0; ports],
            reached: Reached::none(rows),
            suspicious: false,
            loops: Findings::default(),
            black_holes: Findings::default(),
            wrong_arrivals: Findings::default(),
            unreachable: Findings::default(),
            unknown: Findings::default(),
            is_known: net.rows.iter().map(|&switch| case.is_known(switch)).collect(),
            reported: LastReported {
                holes: none(rows),
                laneless: none(case.fabric.node_count()),
                wrong: none(ports),
                round: none(ports),
                lost: none(ports),
            },
            scratch: Scratch::new(ports, rows),
        }
    }

    /// Adds the lanes that end ports which send together occupy, and those that they wait for.
    pub fn add_hosts(&mut self, hosts: &[SwitchHosts]) {
        let (net, lanes) = (self.net, self.lanes);
        for hosts in hosts.iter().filter(|hosts| hosts.alike) {
            for &source in &net.senders(NOW)[hosts.first..hosts.end] {
                // Without files there is one service level, and so one group.
                let from = lanes.at_source(NOW, source.port, 0);
                self.occupied[source.port.index()] |= from;
                let outputs = (1..net.sides[hosts.row]).map(|output| PortNum(output as u8));
                for output in outputs {
                    // `entered` lacks the classes that hosts of this switch own, for those were sent one by one. So
                    // no host waits for its own port here, unless a wrong entry leads there.
                    let to = self.entered[net.channel(hosts.row, output)];
                    let (row, input) = (hosts.row, source.input);
                    self.dependencies
                        .add(&self.layout, &ClassHop { stage: NOW, row, input, from, output, to, origin: () });
                }
            }
        }
    }

    /// The components of lanes that can wait for each other, and the shortest cycle; none where no lanes do.
    pub fn cycle(&self) -> Option<Knots> {
        let graph = self.dependencies.graph(&self.layout, NOW);
        let components: Vec<usize> = graph.components().iter().map(Vec::len).collect();
        let cycle = graph.order().err()?;
        let lane = |node| {
            let (port, vl) = lane_of(&self.layout, node);
            KnotLane { port, vl }
        };
        let lanes = cycle.nodes.iter().map(|&node| lane(node)).collect();
        Some(Knots { components, lanes, shortest: cycle.shortest })
    }

    /// The audit; `witness` explains the cycle where there is one.
    pub fn finish(self, witness: Option<(Knots, Vec<AuditedDependency>)>) -> Audit {
        let credit_loops = witness.map_or_else(CreditLoops::default, |(knots, cycle)| knots.explained(cycle));
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
            unknown_pairs: self.unknown,
            pairs: pairs(self.case, self.net),
            lanes: self.occupied.iter().map(|mask| mask.count_ones() as usize).sum(),
            channels: self.occupied.iter().filter(|&&mask| mask != 0).count(),
            dependencies: self.dependencies.count(),
            notes: self.case.notes(),
        }
    }

    fn lose(&mut self, lid: Lid, owner: PortId, source: PortId, why: LossReason) {
        if self.case.is_lenient(owner) || !LastReported::first(&mut self.reported.lost[source.index()], lid) {
            return;
        }
        let name = |port| self.case.fabric.describe_port(port);
        let pairs = if why == LossReason::NotKnown { &mut self.unknown } else { &mut self.unreachable };
        pairs.add(|| UnreachablePair { source: name(source), destination: name(owner), lid, why });
    }

    fn sl(&self, class: &Class) -> Sl {
        self.lanes.groups[class.group].sl()
    }

    fn hole(&mut self, class: &Class, node: NodeId, cause: DiscardCause, entry: EntryAge) {
        let (fabric, lid, sl) = (self.case.fabric, class.lid, self.sl(class));
        self.black_holes.add(|| AuditedHole { device: NamedDevice::of(fabric, node), lid, sl, cause, entry });
    }

    fn laneless(&mut self, class: &Class, node: NodeId, input: PortNum, output: PortNum) {
        if self.case.is_lenient(class.owner)
            || !LastReported::first(&mut self.reported.laneless[node.index()], class.lid)
        {
            return;
        }
        let (vls, sl) = (self.case.rules.data_vls, self.sl(class));
        let lane = |snapshot| lanes::lane(snapshot, vls, node, [input, output], sl);
        let entry = EntryAge::of(&lane(self.case.old), &lane(self.case.new), &None);
        // The old table is named where both discard.
        let at_fault = if lane(self.case.old).is_none() { self.case.old } else { self.case.new };
        let vl = at_fault.sl_to_vl.and_then(|dump| dump.get(node, input, output)).map(|table| table.get(sl));
        self.hole(class, node, DiscardCause::NoLane { input, output, vl }, entry);
    }

    fn go_round(&mut self, class: &Class, walk: &Walk<'_, PortId>) {
        let sl = self.sl(class);
        for trip in fate::round_trips(walk, class) {
            // Classes of one DLID can loop in the same channels; the least channel identifies the loop.
            let mark = trip.iter().copied().min().unwrap_or(0);
            if LastReported::first(&mut self.reported.round[mark as usize], class.lid) {
                let case = self.case;
                let net = self.net;
                self.loops.add(|| audited_loop(case, net, class.lid, sl, &trip));
            }
        }
    }
}

/// Faults before the update are ignored here: that routing has an audit of its own.
impl Sink<PortId> for FaultSurvey<'_> {
    fn hop(&mut self, _: &Class, _: &Columns, hop: &ClassHop<PortId>) {
        if hop.stage == NOW {
            self.reached.insert(hop.row);
            self.dependencies.add(&self.layout, hop);
        }
    }

    fn enter(&mut self, _: &Class, Entrance { stage, row, channel, to }: Entrance) {
        if stage == NOW {
            self.reached.insert(row);
            self.entered[channel] |= to;
        }
    }

    fn dead_end(&mut self, Now { class, stage }: Now<'_>, _: &Columns, end: DeadEnd) {
        // A cable that died loses packets, whatever the tables.
        if stage != NOW || matches!(end, DeadEnd::Hole { exit: Exit::Died(_), .. }) {
            return;
        }
        self.suspicious = true;
        let lenient = self.case.is_lenient(class.owner);
        match end {
            DeadEnd::Hole { row, exit, .. } => {
                let is_told = self.is_known[row] || exit != Exit::NoRoute;
                if is_told && !lenient && LastReported::first(&mut self.reported.holes[row], class.lid) {
                    let node = self.net.rows[row];
                    let (cause, output) = match exit {
                        Exit::NoCable(port) => (DiscardCause::NoCable { port }, Some(port)),
                        _ => (DiscardCause::NoRoute, None),
                    };
                    let entry = entry_of(self.case, node, class.lid, output);
                    self.hole(class, node, cause, entry);
                }
            }
            DeadEnd::TurnedBack { .. } => unreachable!("an audit follows packets that turn back"),
            DeadEnd::Laneless { row, input, output } => self.laneless(class, self.net.rows[row], input, output),
            DeadEnd::Unsent { source } => {
                let port = self.case.fabric.port(source);
                self.laneless(class, port.node, PortNum::ZERO, port.num);
            }
            DeadEnd::Wrong { at } => {
                if LastReported::first(&mut self.reported.wrong[at.index()], class.lid) {
                    let (fabric, lid, owner) = (self.case.fabric, class.lid, class.owner);
                    self.wrong_arrivals.add(|| WrongArrival::new(fabric, lid, at, owner));
                }
            }
        }
    }
}

impl AuditSink for FaultSurvey<'_> {
    fn unlevelled(&mut self, lid: Lid, owner: PortId, sources: &[PortId]) {
        sources.iter().for_each(|&source| self.lose(lid, owner, source, LossReason::NoPath));
    }

    fn walked(&mut self, class: &Class, walk: &Walk<'_, PortId>, senders: &[SendingPort]) {
        for &channel in &walk.touched {
            self.occupied[channel as usize] |= walk.occupied[channel as usize];
        }
        if !fate::is_ordered(walk, &self.reached, &mut self.scratch) {
            self.suspicious = true;
            self.go_round(class, walk);
        }
        self.reached.clear();
        // To find the sources that lose packets takes a search for each class, so it runs only where the walk met a
        // fault.
        if !std::mem::take(&mut self.suspicious) {
            return;
        }
        // The search borrows the scratch memory while `lose` borrows the whole survey.
        let mut scratch = std::mem::replace(&mut self.scratch, Scratch::new(0, 0));
        let mut fates = Fates::new(walk, class, &self.is_known, &mut scratch);
        let mut lost = Vec::new();
        for &source in senders.iter().filter(|source| source.port != class.owner) {
            if let Some(why) = fates.of_source(source) {
                lost.push((source.port, why));
            }
        }
        // Dropping it also marks the channels that it visited as unknown again, for the next class.
        drop(fates);
        self.scratch = scratch;
        lost.into_iter().for_each(|(source, why)| self.lose(class.lid, class.owner, source, why));
    }
}

/// A lane of a cycle.
#[derive(Clone, Copy)]
pub(super) struct KnotLane {
    /// The port that sends into it.
    pub port: PortId,
    pub vl: u8,
}

/// Every component with a cycle, and one cycle.
pub(super) struct Knots {
    /// Lanes of each component.
    components: Vec<usize>,
    /// The cycle.
    pub lanes: Vec<KnotLane>,
    shortest: bool,
}

impl Knots {
    fn explained(mut self, cycle: Vec<AuditedDependency>) -> CreditLoops {
        self.components.sort_unstable_by(|a, b| b.cmp(a));
        CreditLoops {
            lanes: self.components.iter().sum(),
            components: self.components.iter().map(|&lanes| LaneComponent { lanes }).collect(),
            cycle: Some(cycle),
            shortest: self.shortest,
        }
    }
}

/// The forwarding entry of a switch that names an output port.
pub(super) fn entry_of(case: &AuditCase<'_>, node: NodeId, lid: Lid, output: Option<PortNum>) -> EntryAge {
    let [old, new] = case.snapshots().map(|snapshot| snapshot.lfts[node.index()].get(lid));
    EntryAge::of(&old, &new, &output)
}

/// The channels of a round trip as hops: each switch with the port that leads on.
fn audited_loop(case: &AuditCase<'_>, net: &FlatFabric, lid: Lid, sl: Sl, trip: &[u32]) -> AuditedLoop {
    let next = trip.iter().cycle().skip(1);
    let hop = |(&inward, &outward): (&u32, &u32)| {
        let Head::Switch { row, .. } = net.head(NOW, inward as usize) else {
            unreachable!("only a channel into a switch leads on")
        };
        let row = row as usize;
        let (node, port) = (net.rows[row], net.output(row, outward as usize));
        LoopHop { switch: NamedDevice::of(case.fabric, node), port, entry: entry_of(case, node, lid, Some(port)) }
    };
    AuditedLoop { lid, sl, hops: trip.iter().zip(next).map(hop).collect() }
}

/// The number of pairs of source and DLID that must be connected.
fn pairs(case: &AuditCase<'_>, net: &FlatFabric) -> usize {
    let sources = net.senders(NOW);
    let mut sends = vec![false; case.fabric.port_count()];
    sources.iter().for_each(|source| sends[source.port.index()] = true);
    let last = case.fabric.max_lid().map_or(0, |lid| lid.0);
    let owners = (1..=last).filter_map(|lid| case.destination(Lid(lid))).filter(|&owner| !case.is_lenient(owner));
    owners.map(|owner| sources.len() - usize::from(sends[owner.index()])).sum()
}
