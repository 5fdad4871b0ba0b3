//! Follows one class after the other from every source that sends it: through every mixture of old and new entries, where
//! an update is on, starting from what the packets sent before it have left.
//!
//! A class is a DLID and a service level. Per class every (channel, lane) is entered once, and where all paths have one
//! service level the end ports at one switch send together: the work is of the order of switches, not of pairs. A [`Sink`] hears of every hop that can happen and of every end that is no
//! delivery.

use super::lanes::{DISCARD, LaneMask, Lanes, lanes_of};
use super::net::{Group, Head, Net, Source, Stage};
use super::{Case, Snapshot};
use crate::fabric::PortId;
use crate::ids::{Lid, PortNum, Sl};
use crate::tables::LFT_BLOCK;

/// Where a switch sends the packets of the DLID in hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Into a channel.
    Out(u32),
    /// To itself.
    Own,
    /// Nowhere: no entry.
    NoRoute,
    /// Nowhere: an entry for a port without a cable.
    NoCable(PortNum),
    /// Into a cable that died with the change: the packet is lost to that, not to the tables.
    Gone,
}

/// Packets that look alike to every switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Class {
    pub lid: Lid,
    pub owner: PortId,
    pub sl: Sl,
}

/// One possible hop: packets in the input, on any lane of `from`, can take the output, on any lane of `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub row: u32,
    pub input: PortNum,
    pub from: LaneMask,
    pub output: PortNum,
    pub to: LaneMask,
    /// Who may have sent the packets.
    pub origin: PortId,
}

/// An end that is no delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// A switch has no way on.
    Hole { row: u32, way: Way },
    /// A switch discards for want of a lane.
    Laneless { row: u32, input: PortNum, output: PortNum },
    /// A source discards for want of a lane.
    Unsent { source: PortId },
    /// A port that does not own the DLID.
    Wrong { at: PortId },
}

/// Hears of what can happen now.
pub(super) trait Sink {
    /// A packet in a lane hops on.
    fn hop(&mut self, class: Class, hop: Hop);
    /// Packets of every end port at a switch that makes no difference between inputs enter an output.
    fn enter(&mut self, _row: u32, _output: PortNum, _to: LaneMask) {}
    /// A packet ends where it should not.
    fn end(&mut self, _class: Class, _end: End) {}
    /// The sources that have no service level towards the DLID in hand.
    fn unlevelled(&mut self, _lid: Lid, _owner: PortId, _sources: &[PortId]) {}
    /// The class has been walked.
    fn walked(&mut self, _class: Class, _course: &Course<'_>) {}
    /// Whether it has heard enough.
    fn is_content(&self) -> bool {
        false
    }
}

/// Output ports for one block of LIDs, LID by LID.
struct Columns(Vec<u8>);

impl Columns {
    /// LIDs `LFT_BLOCK` × `block` on, by offset in the block, then row.
    fn read(net: &Net, snapshot: &Snapshot<'_>, block: u16) -> Columns {
        let rows = net.rows.len();
        let mut ports = vec![0; rows * LFT_BLOCK];
        for (row, node) in net.rows.iter().enumerate() {
            let entries = snapshot.lfts[node.index()].block(block);
            entries.iter().enumerate().for_each(|(offset, &port)| ports[offset * rows + row] = port);
        }
        Columns(ports)
    }

    fn of(&self, rows: usize, lid: Lid) -> &[u8] {
        let start = lid.index() % LFT_BLOCK * rows;
        &self.0[start..start + rows]
    }
}

/// One class on its way.
pub(super) struct Course<'a> {
    case: &'a Case<'a>,
    pub net: &'a Net,
    /// By stage.
    lanes: [&'a Lanes; 2],
    /// By stage, then row: old and new.
    ways: [Vec<[Way; 2]>; 2],
    /// By stage, then service level: who sends.
    senders: [Vec<Vec<Source>>; 2],
    /// By stage: end ports that send all they send alike, by switch. None where files tell of service levels.
    groups: [Vec<Group>; 2],
    /// By channel: lanes that the class can occupy; injection channels of groups left out.
    pub occupied: Vec<LaneMask>,
    /// Channels of which some lane is occupied.
    pub touched: Vec<u32>,
    /// Switches that the class can reach now.
    pub reached: Vec<u32>,
    /// By row: whether it is among them.
    is_reached: Vec<bool>,
    /// By lane: who may have sent what stands there since before the change.
    origins: Vec<PortId>,
    stack: Vec<(u32, LaneMask, PortId)>,
}

impl<'a> Course<'a> {
    pub fn new(case: &'a Case<'a>, net: &'a Net, lanes: [&'a Lanes; 2]) -> Course<'a> {
        let ways = || vec![[Way::NoRoute; 2]; net.rows.len()];
        let origins = if case.earlier.is_some() { net.channels() * lanes[Stage::Now as usize].vls } else { 0 };
        let senders = || vec![Vec::new(); Sl::all().count()];
        Course {
            case,
            net,
            lanes,
            ways: [ways(), ways()],
            senders: [senders(), senders()],
            groups: groups(case, net, lanes),
            occupied: vec![0; net.channels()],
            touched: Vec::new(),
            reached: Vec::new(),
            is_reached: vec![false; net.rows.len()],
            origins: vec![PortId(0); origins],
            stack: Vec::new(),
        }
    }

    /// Walks every class, LID by LID, then by service level, until the sink is content.
    pub fn run(&mut self, sink: &mut impl Sink) {
        let last = self.case.fabric.max_lid().map_or(0, |lid| lid.0);
        for block in 0..=last / LFT_BLOCK as u16 {
            let columns = [self.case.old, self.case.new].map(|snapshot| Columns::read(self.net, snapshot, block));
            for offset in 0..LFT_BLOCK as u16 {
                let lid = Lid(block * LFT_BLOCK as u16 + offset);
                if sink.is_content() {
                    return;
                }
                if let Some(owner) = self.case.destination(lid) {
                    self.set_ways(&columns, lid);
                    self.walk_lid(lid, owner, sink);
                }
            }
        }
    }

    /// The lanes of a stage.
    pub fn lanes(&self, stage: Stage) -> &'a Lanes {
        self.lanes[stage as usize]
    }

    /// End ports that may send together.
    pub fn groups(&self, stage: Stage) -> &[Group] {
        &self.groups[stage as usize]
    }

    /// The ways of a switch now, once where they agree.
    pub fn ways(&self, row: u32) -> impl Iterator<Item = Way> + use<> {
        distinct(self.ways[Stage::Now as usize][row as usize])
    }

    /// Whether the class in hand can reach a switch now.
    pub fn reaches(&self, row: u32) -> bool {
        self.is_reached[row as usize]
    }

    /// Who sends the class now.
    pub fn senders(&self, sl: Sl) -> &[Source] {
        &self.senders[Stage::Now as usize][sl.index()]
    }

    fn set_ways(&mut self, columns: &[Columns; 2], lid: Lid) {
        let net = self.net;
        let [old, new] = [&columns[0], &columns[1]].map(|columns| columns.of(net.rows.len(), lid));
        let [earlier, now] = &mut self.ways;
        for (row, (&old, &new)) in (0..).zip(old.iter().zip(new)) {
            let was = way(net, Stage::Now, row, PortNum(old));
            now[row as usize] = [was, if old == new { was } else { way(net, Stage::Now, row, PortNum(new)) }];
            if self.case.earlier.is_some() {
                earlier[row as usize] = [way(net, Stage::Earlier, row, PortNum(old)); 2];
            }
        }
    }

    fn walk_lid(&mut self, lid: Lid, owner: PortId, sink: &mut impl Sink) {
        self.assemble(lid, owner, sink);
        let lanes = self.lanes(Stage::Now);
        for &sl in &lanes.sls {
            if self.senders.iter().all(|by_sl| by_sl[sl.index()].is_empty()) {
                continue;
            }
            self.walk(Class { lid, owner, sl }, sink);
        }
    }

    /// Sorts the sources by the service level that they use towards the DLID.
    fn assemble(&mut self, lid: Lid, owner: PortId, sink: &mut impl Sink) {
        let net = self.net;
        let without_files = !self.case.has_levels();
        let known = self.senders.iter().any(|by_sl| by_sl.iter().any(|sources| !sources.is_empty()));
        if without_files && known {
            return;
        }
        let mut without = Vec::new();
        for stage in [Stage::Earlier, Stage::Now] {
            let by_sl = &mut self.senders[stage as usize];
            by_sl.iter_mut().for_each(Vec::clear);
            for &source in net.sources(stage) {
                if without_files {
                    by_sl[0].push(source);
                    continue;
                }
                let levels = self.case.levels(stage, source.port, lid, owner);
                levels.sls().for_each(|sl| by_sl[sl.index()].push(source));
                if levels.lacking && stage == Stage::Now && source.port != owner {
                    without.push(source.port);
                }
            }
        }
        if !without.is_empty() {
            sink.unlevelled(lid, owner, &without);
        }
    }

    fn walk(&mut self, class: Class, sink: &mut impl Sink) {
        if self.case.earlier.is_some() {
            self.send(class, Stage::Earlier, &mut Deaf);
            self.carry_over();
            self.drain(class, Stage::Now, sink);
        }
        self.send(class, Stage::Now, sink);
        sink.walked(class, self);
        self.touched.drain(..).for_each(|channel| self.occupied[channel as usize] = 0);
        self.reached.drain(..).for_each(|row| self.is_reached[row as usize] = false);
    }

    /// What stands in channels that are still there becomes the start of what can happen now.
    fn carry_over(&mut self) {
        let (net, vls) = (self.net, self.lanes(Stage::Now).vls);
        let occupied = &mut self.occupied;
        self.touched.retain(|&channel| {
            let stays = net.head(Stage::Now, channel) != Head::Nothing;
            occupied[channel as usize] *= LaneMask::from(stays);
            stays
        });
        for &channel in &self.touched {
            for vl in lanes_of(occupied[channel as usize]) {
                let origin = self.origins[channel as usize * vls + vl];
                self.stack.push((channel, 1 << vl, origin));
            }
        }
    }

    /// From every source that sends the class.
    fn send(&mut self, class: Class, stage: Stage, sink: &mut impl Sink) {
        let sources = std::mem::take(&mut self.senders[stage as usize][class.sl.index()]);
        let groups = std::mem::take(&mut self.groups[stage as usize]);
        let mut rest = 0;
        for group in &groups {
            let members = &sources[group.first..group.end];
            if !group.alike || members.iter().any(|source| source.port == class.owner) {
                self.send_singly(class, stage, members, sink);
            } else {
                self.send_together(class, stage, group.row, members[0].port, sink);
            }
            rest = group.end;
        }
        self.send_singly(class, stage, &sources[rest..], sink);
        self.groups[stage as usize] = groups;
        self.senders[stage as usize][class.sl.index()] = sources;
    }

    /// End ports at a switch that makes no difference between them.
    fn send_together(&mut self, class: Class, stage: Stage, row: u32, origin: PortId, sink: &mut impl Sink) {
        self.reach(stage, row);
        for way in distinct(self.ways[stage as usize][row as usize]) {
            if let Some((output, to)) = self.take(class, stage, (row, PortNum::ZERO), way, origin, sink) {
                sink.enter(row, output, to);
            }
        }
        self.drain(class, stage, sink);
    }

    fn send_singly(&mut self, class: Class, stage: Stage, sources: &[Source], sink: &mut impl Sink) {
        for source in sources.iter().filter(|source| source.port != class.owner) {
            match source.row {
                Some(row) => self.forward(class, stage, (row, PortNum::ZERO), 0, source.port, sink),
                None => {
                    let lanes = self.lanes(stage).at_source(*source, class.sl);
                    if lanes & DISCARD != 0 {
                        sink.end(class, End::Unsent { source: source.port });
                    }
                    self.occupy(stage, source.port.0, lanes & !DISCARD, source.port);
                }
            }
            self.drain(class, stage, sink);
        }
    }

    fn drain(&mut self, class: Class, stage: Stage, sink: &mut impl Sink) {
        while let Some((channel, from, origin)) = self.stack.pop() {
            match self.net.head(stage, channel) {
                Head::Switch { row, input } => self.forward(class, stage, (row, input), from, origin, sink),
                Head::End(at) if at != class.owner => sink.end(class, End::Wrong { at }),
                Head::End(_) | Head::Nothing => {}
            }
        }
    }

    /// Packets in one input of a switch go on. Those of the switch itself (input 0) stand in no lane.
    fn forward(
        &mut self,
        class: Class,
        stage: Stage,
        (row, input): (u32, PortNum),
        from: LaneMask,
        origin: PortId,
        sink: &mut impl Sink,
    ) {
        self.reach(stage, row);
        for way in distinct(self.ways[stage as usize][row as usize]) {
            if let Some((output, to)) = self.take(class, stage, (row, input), way, origin, sink) {
                sink.hop(class, Hop { row, input, from, output, to, origin });
            }
        }
    }

    fn reach(&mut self, stage: Stage, row: u32) {
        if stage == Stage::Now && !self.is_reached[row as usize] {
            self.is_reached[row as usize] = true;
            self.reached.push(row);
        }
    }

    /// One way out of a switch: the output and the lanes that it takes there, none where the packet ends.
    fn take(
        &mut self,
        class: Class,
        stage: Stage,
        (row, input): (u32, PortNum),
        way: Way,
        origin: PortId,
        sink: &mut impl Sink,
    ) -> Option<(PortNum, LaneMask)> {
        match way {
            Way::Out(channel) => {
                let output = self.net.output(row, channel);
                let lanes = self.lanes(stage).at_switch(row, class.sl, input, output);
                if lanes & DISCARD != 0 {
                    sink.end(class, End::Laneless { row, input, output });
                }
                self.occupy(stage, channel, lanes & !DISCARD, origin);
                return Some((output, lanes & !DISCARD));
            }
            Way::Own => {
                let at = PortId(self.net.first_port[row as usize]);
                if at != class.owner {
                    sink.end(class, End::Wrong { at });
                }
            }
            Way::NoRoute | Way::NoCable(_) => sink.end(class, End::Hole { row, way }),
            Way::Gone => {}
        }
        None
    }

    fn occupy(&mut self, stage: Stage, channel: u32, lanes: LaneMask, origin: PortId) {
        let own = &mut self.occupied[channel as usize];
        let fresh = lanes & !*own;
        if fresh == 0 {
            return;
        }
        if *own == 0 {
            self.touched.push(channel);
        }
        *own |= fresh;
        self.stack.push((channel, fresh, origin));
        if stage == Stage::Earlier {
            let vls = self.lanes(Stage::Now).vls;
            lanes_of(fresh).for_each(|vl| self.origins[channel as usize * vls + vl] = origin);
        }
    }
}

/// End ports by switch, where all paths have one service level. A switch that tells inputs apart, and ports that cannot
/// send, are looked at one by one.
fn groups(case: &Case<'_>, net: &Net, lanes: [&Lanes; 2]) -> [Vec<Group>; 2] {
    [Stage::Earlier, Stage::Now].map(|stage| {
        let lanes = lanes[stage as usize];
        let sends = |source: &Source| lanes.at_source(*source, Sl::default()) & DISCARD == 0;
        let alike = |row, sources: &[Source]| lanes.is_uniform(row) && sources.iter().all(sends);
        if case.has_levels() { Vec::new() } else { net.groups(stage, alike) }
    })
}

/// What happens before the change is judged by itself.
struct Deaf;

impl Sink for Deaf {
    fn hop(&mut self, _: Class, _: Hop) {}
}

fn way(net: &Net, stage: Stage, row: u32, output: PortNum) -> Way {
    if output == PortNum::ZERO {
        return Way::Own;
    }
    if output == PortNum::NO_ROUTE {
        return Way::NoRoute;
    }
    if output.index() >= net.sides[row as usize] {
        return Way::NoCable(output);
    }
    let channel = net.channel(row, output);
    if net.head(stage, channel) != Head::Nothing {
        Way::Out(channel)
    } else if stage == Stage::Now && net.was_there(channel) {
        Way::Gone
    } else {
        Way::NoCable(output)
    }
}

/// Old and new, once where they agree.
fn distinct([old, new]: [Way; 2]) -> impl Iterator<Item = Way> + use<> {
    std::iter::once(old).chain((old != new).then_some(new))
}
