//! The senders of each class in an audit, and the order in which its classes are walked.
//!
//! A class is a DLID and one service level. Per class every (channel, lane) is entered once, and where all paths have
//! one service level the end ports at one switch send together: the work is of the order of switches, not of pairs.

use super::{AuditCase, EARLIER, NOW, RoutingSnapshot};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Lid, PortNum, Sl};
use crate::tables::LFT_BLOCK;
use crate::verify::lanes::{DISCARD, HopLanes, LaneMask};
use crate::verify::net::{FlatFabric, Head, SendingPort};
use crate::verify::walk::{Class, ClassPackets, DeadEnd, Now, Senders, Sink, Walk};

/// Receives a whole audit.
pub(super) trait AuditSink: Sink<PortId> {
    /// The sources that have no service level towards the DLID in hand.
    fn unlevelled(&mut self, _lid: Lid, _owner: PortId, _sources: &[PortId]) {}
    /// The class has been walked; `senders` send it now.
    fn walked(&mut self, _class: &Class, _walk: &Walk<'_, PortId>, _senders: &[SendingPort]) {}
    /// Returns whether it needs no more.
    fn is_content(&self) -> bool {
        false
    }
}

/// The flat view of the fabrics of the audit. Senders are end ports at switches by row, then all others, each in index
/// order.
pub(super) fn flat(case: &AuditCase<'_>) -> FlatFabric {
    FlatFabric::of_update(case.earlier, case.fabric, |net, fabric, stage| {
        let ports = fabric.lid_ports().filter(|&port| fabric.port(port).lid.is_some());
        let all = ports.map(|port| sender(net, fabric, stage, port));
        let mut senders: Vec<_> = all.filter(|sender| case.rules.switches || !sender.is_switch()).collect();
        // The end ports of a switch must be neighbours: `SwitchHosts` describes them by a range of ranks.
        senders.sort_unstable_by_key(|sender| (host_row(sender).unwrap_or(u32::MAX), sender.port));
        senders
    })
}

fn sender(net: &FlatFabric, fabric: &Fabric, stage: usize, port: PortId) -> SendingPort {
    if let Some(row) = net.row(fabric.port(port).node) {
        return SendingPort { port, row: Some(row as u32), input: PortNum::ZERO };
    }
    match net.head(stage, port.index()) {
        Head::Switch { row, input } => SendingPort { port, row: Some(row), input },
        Head::End(_) | Head::Nothing => SendingPort { port, row: None, input: PortNum::ZERO },
    }
}

/// The switch that an end port sends into; none for a switch itself and for an end port at another.
fn host_row(sender: &SendingPort) -> Option<u32> {
    sender.row.filter(|_| !sender.is_switch())
}

/// End ports at one switch that send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SwitchHosts {
    /// The switch.
    pub row: usize,
    /// Ranks of its end ports among the senders: from `first` to before `end`.
    pub first: usize,
    /// End of the range of ranks, exclusive.
    pub end: usize,
    /// Whether the switch treats all of their packets alike: one service level, whatever the input.
    pub alike: bool,
}

/// The end ports that send at a stage, by their switch. Where the switch distinguishes inputs, or a port cannot send,
/// they are walked one by one.
fn hosts(net: &FlatFabric, lanes: &HopLanes, stage: usize) -> Vec<SwitchHosts> {
    let senders = net.senders(stage);
    let mut all: Vec<SwitchHosts> = Vec::new();
    for (rank, sender) in senders.iter().enumerate() {
        let Some(row) = host_row(sender).map(|row| row as usize) else { continue };
        match all.last_mut().filter(|hosts| hosts.row == row) {
            Some(hosts) => hosts.end = rank + 1,
            None => all.push(SwitchHosts { row, first: rank, end: rank + 1, alike: false }),
        }
    }
    for hosts in &mut all {
        // Group 0 is the only one: hosts are merged only where no file specifies service levels.
        let sends = |sender: &SendingPort| lanes.at_source(stage, sender.port, 0) & DISCARD == 0;
        hosts.alike = lanes.is_uniform(stage, hosts.row) && senders[hosts.first..hosts.end].iter().all(sends);
    }
    all
}

/// Output ports for one block of LIDs, by offset in the block, then row: tables are read block by block, since the
/// entries for one LID lie far apart.
struct Block(Vec<u8>);

impl Block {
    /// LIDs `LFT_BLOCK` × `block` on.
    fn read(net: &FlatFabric, snapshot: &RoutingSnapshot<'_>, block: u16) -> Block {
        let rows = net.rows.len();
        let mut ports = vec![0; rows * LFT_BLOCK];
        for (row, node) in net.rows.iter().enumerate() {
            let entries = snapshot.lfts[node.index()].block(block);
            entries.iter().enumerate().for_each(|(offset, &port)| ports[offset * rows + row] = port);
        }
        Block(ports)
    }

    fn of(&self, rows: usize, lid: Lid) -> &[u8] {
        let start = lid.index() % LFT_BLOCK * rows;
        &self.0[start..start + rows]
    }
}

/// The senders of the classes of the current DLID, and the walk that follows them.
pub(super) struct AuditWalk<'a> {
    walk: Walk<'a, PortId>,
    senders: AuditSenders<'a>,
}

impl<'a> AuditWalk<'a> {
    pub fn new(case: &'a AuditCase<'a>, net: &'a FlatFabric, lanes: &'a HopLanes) -> AuditWalk<'a> {
        let first = if case.earlier.is_some() { EARLIER } else { NOW };
        let hosts = |stage| if case.has_levels() { Vec::new() } else { hosts(net, lanes, stage) };
        let by_sl = || vec![Vec::new(); Sl::all().count()];
        let senders = AuditSenders { case, net, by_sl: [by_sl(), by_sl()], hosts: [hosts(EARLIER), hosts(NOW)] };
        AuditWalk { walk: Walk::new(net, lanes, first..NOW + 1, PortId(0)), senders }
    }

    /// The lanes of every hop.
    pub fn lanes(&self) -> &'a HopLanes {
        self.walk.lanes
    }

    /// The end ports that send now, by switch.
    pub fn hosts(&self) -> &[SwitchHosts] {
        &self.senders.hosts[NOW]
    }

    /// Walks every class, LID by LID, then by service level, until the sink is content.
    pub fn run(&mut self, sink: &mut impl AuditSink) {
        let case = self.senders.case;
        let last = case.fabric.max_lid().map_or(0, |lid| lid.0);
        for block in 0..=last / LFT_BLOCK as u16 {
            let blocks = [case.old, case.new].map(|snapshot| Block::read(self.walk.net, snapshot, block));
            for offset in 0..LFT_BLOCK as u16 {
                let lid = Lid(block * LFT_BLOCK as u16 + offset);
                if sink.is_content() {
                    return;
                }
                if let Some(owner) = case.destination(lid) {
                    self.set_columns(&blocks, lid);
                    self.walk_lid(lid, owner, sink);
                }
            }
        }
    }

    /// Before the update every entry is old; now each may be old or new.
    fn set_columns(&mut self, blocks: &[Block; 2], lid: Lid) {
        let rows = self.walk.net.rows.len();
        let [old, new] = [&blocks[0], &blocks[1]].map(|block| block.of(rows, lid));
        let entries = || old.iter().zip(new).map(|(&old, &new)| [old, new].map(PortNum));
        if self.senders.case.earlier.is_some() {
            // The stage before has the old entries only: nothing was written yet.
            let column = self.walk.columns.column(EARLIER).iter_mut();
            column.zip(entries()).for_each(|(entry, [old, _])| *entry = [old; 2]);
        }
        self.walk.columns.column(NOW).iter_mut().zip(entries()).for_each(|(entry, both)| *entry = both);
    }

    fn walk_lid(&mut self, lid: Lid, owner: PortId, sink: &mut impl AuditSink) {
        self.senders.assemble(lid, owner, sink);
        for (group, levels) in self.walk.lanes.groups.iter().enumerate() {
            let by_sl = &self.senders.by_sl;
            // A level that no source uses towards this LID has no packets at either stage.
            if by_sl.iter().all(|by_sl| by_sl[levels.sl().index()].is_empty()) {
                continue;
            }
            let class = Class { lid, owner, group };
            self.walk.follow(&class, &self.senders, sink);
            sink.walked(&class, &self.walk, &self.senders.by_sl[NOW][levels.sl().index()]);
            self.walk.clear();
        }
    }
}

struct AuditSenders<'a> {
    case: &'a AuditCase<'a>,
    net: &'a FlatFabric,
    /// The senders, by stage, then by service level.
    by_sl: [Vec<Vec<SendingPort>>; 2],
    /// By stage: the end ports that send, by switch. Empty where files specify service levels.
    hosts: [Vec<SwitchHosts>; 2],
}

impl AuditSenders<'_> {
    /// Sorts the sources by the service levels that they use towards the DLID.
    fn assemble(&mut self, lid: Lid, owner: PortId, sink: &mut impl AuditSink) {
        let without_files = !self.case.has_levels();
        let known = self.by_sl.iter().any(|by_sl| by_sl.iter().any(|sources| !sources.is_empty()));
        // Without files every DLID has the same sources, all on service level 0.
        if without_files && known {
            return;
        }
        let mut without = Vec::new();
        for stage in [EARLIER, NOW] {
            let by_sl = &mut self.by_sl[stage];
            by_sl.iter_mut().for_each(Vec::clear);
            for &source in self.net.senders(stage) {
                if without_files {
                    by_sl[0].push(source);
                    continue;
                }
                let levels = self.case.levels(stage, source.port, lid, owner);
                levels.sls().for_each(|sl| by_sl[sl.index()].push(source));
                if levels.lacking && stage == NOW && source.port != owner {
                    without.push(source.port);
                }
            }
        }
        if !without.is_empty() {
            sink.unlevelled(lid, owner, &without);
        }
    }

    fn send_singly(
        &self,
        now: Now<'_>,
        sources: &[SendingPort],
        walk: &mut Walk<'_, PortId>,
        sink: &mut impl Sink<PortId>,
    ) {
        for source in sources.iter().filter(|source| source.port != now.class.owner) {
            let origin = source.port;
            // Packets of a switch stand in no channel. Those of an end port first occupy its own.
            match source.row {
                Some(row) if source.is_switch() => {
                    walk.forward(now, row as usize, PortNum::ZERO, ClassPackets { from: 0, firm: true, origin }, sink);
                }
                _ => {
                    let lanes = walk.lanes.at_source(now.stage, source.port, now.class.group);
                    if lanes & DISCARD != 0 {
                        sink.dead_end(now, &walk.columns, DeadEnd::Unsent { source: source.port });
                    }
                    walk.occupy(now.stage, source.port.index(), lanes & !DISCARD, origin);
                }
            }
            walk.drain(now, sink);
        }
    }
}

impl Senders<PortId> for AuditSenders<'_> {
    /// An update waits for nothing: every packet sent before it may still be under way.
    fn left(&self, _now: Now<'_>) -> LaneMask {
        !0
    }

    /// Everything that a source adds is followed before the next source sends. So the origin of a packet in a lane is
    /// the first source, in their order, that can have sent it, and the evidence does not depend on the order in which
    /// channels are visited.
    fn send(&self, now: Now<'_>, walk: &mut Walk<'_, PortId>, sink: &mut impl Sink<PortId>) {
        walk.drain(now, sink);
        let sl = walk.lanes.groups[now.class.group].sl();
        // Without files this is every sender of the stage in order, so the ranks of `hosts` index it.
        let sources = &self.by_sl[now.stage][sl.index()];
        let mut rest = 0;
        for hosts in &self.hosts[now.stage] {
            let members = &sources[hosts.first..hosts.end];
            // An owner sends nothing to itself, so at its own switch the sources are not alike.
            if !hosts.alike || members.iter().any(|source| source.port == now.class.owner) {
                self.send_singly(now, members, walk, sink);
            } else {
                let packets = ClassPackets { from: 0, firm: true, origin: members[0].port };
                walk.send_together(now, hosts.row, packets, sink);
                walk.drain(now, sink);
            }
            rest = hosts.end;
        }
        // After the last host come switches and end ports without a switch; with files, all sources.
        self.send_singly(now, &sources[rest..], walk, sink);
    }
}
