//! The fate of a class that does not arrive from everywhere: the sources that lose packets, and the loops.
//!
//! Computed only where the walk met a fault, or where the switches that it reached have no order.

use super::NOW;
use super::finding::LossReason;
use crate::fabric::PortId;
use crate::ids::PortNum;
use crate::verify::LaneGraph;
use crate::verify::lanes::{DISCARD, LaneMask};
use crate::verify::net::{Exit, FlatFabric, Head, SendingPort};
use crate::verify::walk::{Class, Walk};

/// The walk of an audit, which records the source of each packet.
type Walked<'a> = Walk<'a, PortId>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Unknown,
    /// On the path of the search: a packet that comes back here loops.
    Open,
    /// The reason for which packets in the channel can be lost; none where all arrive.
    Known(Option<LossReason>),
}

/// The possible fates of packets of one class, channel by channel.
pub(super) struct Fates<'c, 'a> {
    walk: &'c Walked<'a>,
    class: &'c Class,
    /// By row: whether the switch's table is known.
    is_known: &'c [bool],
    states: &'c mut Scratch,
}

/// Memory that each class reuses.
pub(super) struct Scratch {
    /// By channel.
    states: Vec<State>,
    used: Vec<u32>,
    /// By row: ways in from other switches that have not been processed.
    waiting: Vec<u32>,
    queue: Vec<usize>,
}

impl Scratch {
    pub fn new(channels: usize, rows: usize) -> Scratch {
        Scratch { states: vec![State::Unknown; channels], used: Vec::new(), waiting: vec![0; rows], queue: Vec::new() }
    }
}

/// The far end of one way, for a packet of the class.
enum Step {
    Ends(Option<LossReason>),
    Into(usize),
}

/// A channel on the path of the search: ways not tried yet, and the first loss found.
struct Visit {
    channel: usize,
    row: usize,
    input: PortNum,
    left: Vec<Exit>,
    worst: Option<LossReason>,
}

impl<'c, 'a> Fates<'c, 'a> {
    pub fn new(walk: &'c Walked<'a>, class: &'c Class, is_known: &'c [bool], states: &'c mut Scratch) -> Fates<'c, 'a> {
        Fates { walk, class, is_known, states }
    }

    /// The reason for which packets of a source can be lost; none where all arrive.
    pub fn of_source(&mut self, source: SendingPort) -> Option<LossReason> {
        let Some(row) = source.row.filter(|_| source.is_switch()).map(|row| row as usize) else {
            let lanes = self.walk.lanes.at_source(NOW, source.port, self.class.group);
            // An SL-to-VL table of the mixture that discards is enough: the other one need not be followed.
            let discards = lanes & DISCARD != 0;
            return if discards { Some(LossReason::BlackHole) } else { self.of_channel(source.port.index()) };
        };
        let fates = exits(self.walk, row).map(|exit| match self.step(row, PortNum::ZERO, exit) {
            Step::Ends(why) => why,
            Step::Into(channel) => self.of_channel(channel),
        });
        fates.fold(None, graver)
    }

    /// By depth-first search; a channel that the search comes back to while it is open lies on a loop.
    fn of_channel(&mut self, start: usize) -> Option<LossReason> {
        let mut path = Vec::new();
        let mut last = self.enter(start, &mut path);
        while let Some(visit) = path.last_mut() {
            // Entries mix freely, so one way that loses packets is enough; the first one found names the loss.
            visit.worst = graver(visit.worst, last.take());
            let Some(exit) = visit.left.pop() else {
                last = visit.worst;
                // Final even on a loop: a channel that leads back to an open one has that loop as its loss.
                self.states.states[visit.channel] = State::Known(last);
                path.pop();
                continue;
            };
            let (row, input) = (visit.row, visit.input);
            last = match self.step(row, input, exit) {
                Step::Ends(why) => why,
                Step::Into(channel) => self.enter(channel, &mut path),
            };
        }
        last
    }

    /// The known fate of a channel. Where it is unknown, the search enters the channel.
    fn enter(&mut self, channel: usize, path: &mut Vec<Visit>) -> Option<LossReason> {
        match self.states.states[channel] {
            State::Known(why) => return why,
            State::Open => return Some(LossReason::Loop),
            State::Unknown => {}
        }
        self.states.used.push(channel as u32);
        let state = match self.walk.net.head(NOW, channel) {
            Head::Nothing => State::Known(None),
            Head::End(at) => State::Known((at != self.class.owner).then_some(LossReason::WrongArrival)),
            Head::Switch { row, input } => {
                let row = row as usize;
                path.push(Visit { channel, row, input, left: exits(self.walk, row).collect(), worst: None });
                State::Open
            }
        };
        self.states.states[channel] = state;
        if let State::Known(why) = state { why } else { None }
    }

    fn step(&self, row: usize, input: PortNum, exit: Exit) -> Step {
        match exit {
            Exit::Channel(channel) => {
                let lanes = lanes(self.walk, self.class, row, input, channel);
                if lanes & DISCARD != 0 { Step::Ends(Some(LossReason::BlackHole)) } else { Step::Into(channel) }
            }
            Exit::Own => {
                let own = PortId(self.walk.net.first_port[row]);
                Step::Ends((own != self.class.owner).then_some(LossReason::WrongArrival))
            }
            Exit::NoRoute if !self.is_known[row] => Step::Ends(Some(LossReason::NotKnown)),
            Exit::NoRoute | Exit::NoCable(_) => Step::Ends(Some(LossReason::BlackHole)),
            // A cable that died loses packets, whatever the tables.
            Exit::Died(_) => Step::Ends(None),
        }
    }
}

/// The first loss, unless it is only not known and the second one is certain.
fn graver(first: Option<LossReason>, second: Option<LossReason>) -> Option<LossReason> {
    match first {
        Some(LossReason::NotKnown) => second.or(first),
        _ => first.or(second),
    }
}

impl Drop for Fates<'_, '_> {
    fn drop(&mut self) {
        self.states.used.drain(..).for_each(|channel| self.states.states[channel as usize] = State::Unknown);
    }
}

/// The fate of packets of the current class at a switch, by each of its entries.
fn exits<'a>(walk: &Walked<'a>, row: usize) -> impl Iterator<Item = Exit> + use<'a> {
    let net = walk.net;
    walk.columns.choices(NOW, row).map(move |output| net.exit(NOW, row, output))
}

fn lanes(walk: &Walked<'_>, class: &Class, row: usize, input: PortNum, channel: usize) -> LaneMask {
    walk.lanes.at_switch(NOW, row, class.group, input, walk.net.output(row, channel))
}

/// Switches that a class can reach.
pub(super) struct Reached {
    rows: Vec<usize>,
    is_reached: Vec<bool>,
}

impl Reached {
    pub fn none(rows: usize) -> Reached {
        Reached { rows: Vec::new(), is_reached: vec![false; rows] }
    }

    pub fn insert(&mut self, row: usize) {
        if !std::mem::replace(&mut self.is_reached[row], true) {
            self.rows.push(row);
        }
    }

    pub fn clear(&mut self) {
        self.rows.drain(..).for_each(|row| self.is_reached[row] = false);
    }

    /// The switches that a switch may send the class to, among those reached.
    fn next<'r>(&'r self, walk: &'r Walked<'_>, row: usize) -> impl Iterator<Item = usize> + 'r {
        let net: &FlatFabric = walk.net;
        exits(walk, row).filter_map(move |exit| match exit {
            Exit::Channel(channel) => match net.head(NOW, channel) {
                Head::Switch { row, .. } if self.is_reached[row as usize] => Some(row as usize),
                _ => None,
            },
            _ => None,
        })
    }
}

/// Returns whether the switches that a class reached have an order, in which case it has no loop. Inputs and lanes are
/// ignored, so a class without a loop can fail this test too; [`round_trips`] then examines it more closely.
pub(super) fn is_ordered(walk: &Walked<'_>, reached: &Reached, scratch: &mut Scratch) -> bool {
    let Scratch { waiting, queue, .. } = scratch;
    for &row in &reached.rows {
        reached.next(walk, row).for_each(|next| waiting[next] += 1);
    }
    queue.extend(reached.rows.iter().filter(|&&row| waiting[row] == 0));
    // Kahn's algorithm over switches, cheaper than over channels, and usually enough.
    let mut at = 0;
    while let Some(&row) = queue.get(at) {
        at += 1;
        for next in reached.next(walk, row) {
            waiting[next] -= 1;
            if waiting[next] == 0 {
                queue.push(next);
            }
        }
    }
    reached.rows.iter().for_each(|&row| waiting[row] = 0);
    // The scratch memory is handed back as it came: zero and empty.
    queue.clear();
    at == reached.rows.len()
}

/// The shortest loops of a class, one for each strongly connected component of its channels: the channels in order.
pub(super) fn round_trips(walk: &Walked<'_>, class: &Class) -> Vec<Vec<u32>> {
    let mut channels = walk.touched.clone();
    channels.sort_unstable();
    let graph = graph_over(walk, class, &channels);
    let trips = graph.components().into_iter().filter_map(|part| {
        let inside: Vec<u32> = part.iter().map(|&at| channels[at as usize]).collect();
        let cycle = graph_over(walk, class, &inside).order().err()?;
        Some(cycle.nodes.iter().map(|&at| inside[at as usize]).collect())
    });
    trips.collect()
}

/// The hops of a class among some channels, which are in rising order and are the nodes.
fn graph_over(walk: &Walked<'_>, class: &Class, channels: &[u32]) -> LaneGraph {
    LaneGraph::new(channels.len(), |emit| {
        for (at, &channel) in (0..).zip(channels) {
            let Head::Switch { row, input } = walk.net.head(NOW, channel as usize) else { continue };
            for exit in exits(walk, row as usize) {
                let Exit::Channel(next) = exit else { continue };
                let lanes = lanes(walk, class, row as usize, input, next) & !DISCARD;
                // Lanes are not nodes: a class that returns to a channel loops, whichever lane it comes back on.
                if let (Ok(to), true) = (channels.binary_search(&(next as u32)), lanes != 0) {
                    emit(at, to as u32);
                }
            }
        }
    })
}
