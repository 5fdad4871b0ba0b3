//! A plan and a few flows, compiled for the model: which lanes there are, what each table entry says after which
//! writes.
//!
//! The plan is read as data: waves, writes, barriers, and the tables that it begins with. What a write does is worked
//! out here anew; nothing of the prover, the planner's checks or the simulator is used. Only what some flow can meet,
//! under any mixture of entries, is kept, and only writes that change some of it count as steps of their own.

use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lid, PortNum, Sl, Vl};
use reconfig::plan::Plan;
use reconfig::tables::{PortState, SlToVlScope, Write};
use std::collections::{BTreeMap, BTreeSet};

/// Packets of one source and one class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Flow {
    pub source: PortId,
    pub lid: Lid,
    pub sl: Sl,
    pub half: Half,
}

/// One entry of one table in the course of a plan: what it says at first, and after each write that changes it.
#[derive(Clone, Debug)]
pub struct Timeline {
    first: u8,
    changes: Vec<(usize, u8)>,
}

impl Timeline {
    fn new(first: u8, told: impl Iterator<Item = (usize, u8)>) -> Timeline {
        let mut changes: Vec<(usize, u8)> = Vec::new();
        for (write, value) in told {
            if changes.last().map_or(first, |last| last.1) != value {
                changes.push((write, value));
            }
        }
        Timeline { first, changes }
    }

    /// What it says when these writes have landed: what the last of them in the plan's order says. That a late copy of
    /// an older write undoes a newer one is left out; the barrier `Acknowledged` is there to prevent it.
    pub fn at(&self, landed: u64) -> u8 {
        let last = self.changes.iter().rev().find(|(write, _)| landed >> write & 1 == 1);
        last.map_or(self.first, |change| change.1)
    }

    /// Whether it still says what it said at first because no write has changed it.
    pub fn is_first(&self, landed: u64) -> bool {
        self.changes.iter().all(|(write, _)| landed >> write & 1 == 0)
    }

    /// Whether no write to come makes it say anything else.
    pub fn is_settled(&self, landed: u64) -> bool {
        let now = self.at(landed);
        self.changes.iter().all(|&(write, value)| landed >> write & 1 == 1 || value == now)
    }

    fn values(&self) -> BTreeSet<u8> {
        std::iter::once(self.first).chain(self.changes.iter().map(|change| change.1)).collect()
    }
}

/// What a flow meets at a switch, coming in by one channel.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// Whether the ports at the two ends of the channel are ACTIVE, 0 or 1.
    pub active: [Timeline; 2],
    /// The output port, 255 for none.
    pub route: Timeline,
    /// Where each output port that the route may name leads.
    exits: Vec<(u8, Exit)>,
}

impl Crossing {
    pub fn exit(&self, port: u8) -> &Exit {
        let found = self.exits.iter().find(|(own, _)| *own == port);
        &found.expect("the exits of every entry were gathered").1
    }
}

/// Where an output port leads a flow.
#[derive(Clone, Debug)]
pub enum Exit {
    /// Into the next switch, on the lane that the timeline says.
    Onward { channel: usize, vl: Timeline },
    /// To the port that owns the DLID.
    Home,
    /// To another port.
    Astray,
    /// Nowhere.
    Hole,
}

/// A channel into a switch.
#[derive(Clone, Debug)]
pub struct Channel {
    pub sender: PortId,
    pub receiver: PortId,
    /// Whether it is lost before the first wave.
    pub dies: bool,
    /// Whether it is taken away after the last wave.
    pub leaves: bool,
}

/// A write that some flow can notice.
#[derive(Clone, Debug)]
pub struct Telling {
    pub wave: usize,
    /// By half: whether its flows can notice.
    pub seen: [bool; 2],
    /// Its place among the writes of its wave.
    pub index: usize,
}

/// The whole.
pub struct Network {
    pub plan: Plan,
    pub flows: Vec<Flow>,
    pub channels: Vec<Channel>,
    /// By flow: the lane that its source sends on.
    pub entries: Vec<(usize, Timeline)>,
    /// By channel and flow; none where a flow never comes.
    crossings: Vec<Option<Crossing>>,
    pub tellings: Vec<Telling>,
}

impl Network {
    pub fn new(plan: &Plan, flows: &[Flow]) -> Network {
        let draft = plan.draft();
        let fabric = &*draft.before;
        let reader = Reader { plan, fabric };
        let into_switch = |&(id, port): &(PortId, &reconfig::fabric::Port)| {
            port.num != PortNum::ZERO && fabric.neighbour(id).is_some_and(|node| fabric.node(node).is_switch())
        };
        let senders: Vec<PortId> = fabric.ports().filter(into_switch).map(|(id, _)| id).collect();
        let channels = senders.iter().map(|&sender| reader.channel(sender)).collect::<Vec<_>>();
        let mut network = Network {
            plan: plan.clone(),
            flows: flows.to_vec(),
            entries: Vec::new(),
            crossings: vec![None; channels.len() * flows.len()],
            channels,
            tellings: Vec::new(),
        };
        for flow in 0..flows.len() {
            network.follow(flow, &reader, &senders);
        }
        network.number_writes();
        network
    }

    /// What a flow meets coming in by a channel.
    pub fn crossing(&self, channel: usize, flow: usize) -> &Crossing {
        let found = self.crossings[channel * self.flows.len() + flow].as_ref();
        found.expect("every channel that a mixture of entries leads to was followed")
    }

    /// Everywhere that any mixture of entries can lead a flow.
    fn follow(&mut self, flow: usize, reader: &Reader<'_>, senders: &[PortId]) {
        let Flow { source, lid, sl, .. } = self.flows[flow];
        let channel_of = |port: PortId| senders.binary_search(&port).expect("a port that sends to a switch");
        let node = reader.fabric.port(source).node;
        let vl = reader.mapping(node, PortNum::ZERO, reader.fabric.port(source).num, sl);
        self.entries.push((channel_of(source), vl));
        let mut open = vec![channel_of(source)];
        while let Some(channel) = open.pop() {
            let slot = channel * self.flows.len() + flow;
            if self.crossings[slot].is_some() {
                continue;
            }
            let Channel { sender, receiver: input, .. } = self.channels[channel];
            let active = [sender, input].map(|end| reader.active(end));
            let route = reader.route(reader.fabric.port(input).node, lid);
            let exit = |port: u8| (port, reader.exit(input, port, lid, sl, &channel_of));
            let exits: Vec<_> = route.values().into_iter().map(exit).collect();
            let onward = exits.iter().filter_map(|(_, exit)| match exit {
                Exit::Onward { channel, .. } => Some(*channel),
                Exit::Home | Exit::Astray | Exit::Hole => None,
            });
            open.extend(onward);
            self.crossings[slot] = Some(Crossing { active, route, exits });
        }
    }

    /// Gives a number to every write that some timeline names, in the plan's order.
    fn number_writes(&mut self) {
        let halves: Vec<usize> = self.flows.iter().map(|flow| flow.half.index()).collect();
        let mut seen: BTreeMap<usize, [bool; 2]> = BTreeMap::new();
        self.each_timeline(&halves, |half, line| {
            line.changes.iter().for_each(|(write, _)| seen.entry(*write).or_default()[half] = true);
        });
        assert!(seen.len() <= 64, "{} writes are steps of their own, and 64 fit: choose fewer flows", seen.len());
        let numbers: BTreeMap<usize, usize> = seen.keys().copied().zip(0..).collect();
        self.each_timeline(&halves, |_, line| {
            line.changes.iter_mut().for_each(|change| change.0 = numbers[&change.0]);
        });
        let sizes = self.plan.waves().iter().map(|wave| wave.writes.len());
        let places: Vec<(usize, usize)> =
            sizes.enumerate().flat_map(|(wave, size)| (0..size).map(move |index| (wave, index))).collect();
        let telling =
            |(write, seen): (usize, [bool; 2])| Telling { wave: places[write].0, index: places[write].1, seen };
        self.tellings = seen.into_iter().map(telling).collect();
    }

    /// Every timeline, with the half of the flow that meets it.
    fn each_timeline(&mut self, halves: &[usize], mut visit: impl FnMut(usize, &mut Timeline)) {
        for (slot, crossing) in self.crossings.iter_mut().enumerate() {
            let Some(crossing) = crossing else { continue };
            let half = halves[slot % halves.len()];
            crossing.active.iter_mut().for_each(|line| visit(half, line));
            visit(half, &mut crossing.route);
            for (_, exit) in &mut crossing.exits {
                if let Exit::Onward { vl, .. } = exit {
                    visit(half, vl);
                }
            }
        }
        self.entries.iter_mut().zip(halves).for_each(|((_, line), half)| visit(*half, line));
    }
}

/// Reads a plan entry by entry.
struct Reader<'a> {
    plan: &'a Plan,
    fabric: &'a Fabric,
}

impl Reader<'_> {
    /// One entry: `told` says what a write makes of it, if it is the entry's.
    fn timeline(&self, first: u8, told: impl Fn(&Write) -> Option<u8>) -> Timeline {
        let writes = self.plan.waves().iter().flat_map(|wave| &wave.writes);
        Timeline::new(first, writes.enumerate().filter_map(|(at, write)| Some((at, told(write)?))))
    }

    fn route(&self, node: NodeId, lid: Lid) -> Timeline {
        let first = self.plan.draft().initial.lfts[node.index()].get(lid).unwrap_or(PortNum::NO_ROUTE);
        self.timeline(first.0, |write| match write {
            Write::LftBlock { switch, block, entries } if *switch == node && *block == lid.0 / 64 => {
                Some(entries[lid.index() % 64])
            }
            _ => None,
        })
    }

    fn mapping(&self, at: NodeId, from: PortNum, to: PortNum, sl: Sl) -> Timeline {
        let first = self.plan.draft().initial.sl_to_vl[at.index()].get(from, to).get(sl);
        self.timeline(first.get(), |write| match write {
            Write::SlToVl { node, scope, table } if *node == at && covers(*scope, from, to) => {
                Some(table.get(sl).get())
            }
            _ => None,
        })
    }

    fn active(&self, at: PortId) -> Timeline {
        let first = self.plan.draft().initial.port_states[at.index()] == PortState::Active;
        self.timeline(u8::from(first), |write| match write {
            Write::PortState { port, state } if *port == at => Some(u8::from(*state == PortState::Active)),
            _ => None,
        })
    }

    fn channel(&self, sender: PortId) -> Channel {
        let receiver = self.fabric.peer(sender).expect("a channel has two ends");
        let draft = self.plan.draft();
        let dies = draft.surviving.peer(sender).is_none();
        let leaves = !dies && draft.after.peer(sender).is_none();
        Channel { sender, receiver, dies, leaves }
    }

    fn exit(&self, input: PortId, port: u8, lid: Lid, sl: Sl, channel_of: &impl Fn(PortId) -> usize) -> Exit {
        let fabric = self.fabric;
        let (node, from, to) = (fabric.port(input).node, fabric.port(input).num, PortNum(port));
        let owner = fabric.lid_owner(lid);
        if to == PortNum::ZERO {
            return if owner == fabric.port_at(node, to) { Exit::Home } else { Exit::Astray };
        }
        let Some(output) = fabric.port_at(node, to).filter(|&output| fabric.peer(output).is_some()) else {
            return Exit::Hole;
        };
        match fabric.neighbour(output) {
            Some(next) if fabric.node(next).is_switch() => {
                Exit::Onward { channel: channel_of(output), vl: self.mapping(node, from, to, sl) }
            }
            _ if fabric.peer(output) == owner => Exit::Home,
            _ => Exit::Astray,
        }
    }
}

/// Whether one SLtoVLMappingTable `Set` changes the table of an (input, output) pair.
fn covers(scope: SlToVlScope, from: PortNum, to: PortNum) -> bool {
    match scope {
        SlToVlScope::All => true,
        SlToVlScope::Pair { input, output } => (input, output) == (from, to),
        SlToVlScope::EndPort { port } => (PortNum::ZERO, port) == (from, to),
    }
}

/// A lane of a set, by number.
pub fn vl(number: u8) -> Vl {
    Vl::new(number).expect("tables hold lanes below 16")
}
