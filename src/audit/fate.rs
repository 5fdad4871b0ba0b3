//! What becomes of a class that does not arrive from everywhere: which of its sources lose packets, and where it goes round.
//!
//! Asked only where the walk met a fault, or where the switches that it reached have no order.

use super::finding::Why;
use super::lanes::DISCARD;
use super::net::{Head, Source, Stage};
use super::walk::{Class, Course, Way};
use crate::fabric::PortId;
use crate::ids::PortNum;
use crate::verify::LaneGraph;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Unknown,
    /// On the path of the search: whoever comes back here goes round.
    Open,
    /// What becomes of packets in the channel, at worst; none where all arrive.
    Known(Option<Why>),
}

/// What can become of packets of one class, channel by channel.
pub(super) struct Fates<'c, 'a> {
    course: &'c Course<'a>,
    class: Class,
    states: &'c mut Scratch,
}

/// Memory that is used class after class.
pub(super) struct Scratch {
    /// By channel.
    states: Vec<State>,
    used: Vec<u32>,
    /// By row: ways in from other switches that are still to come.
    waiting: Vec<u32>,
    queue: Vec<u32>,
}

impl Scratch {
    pub fn new(channels: usize, rows: usize) -> Scratch {
        Scratch { states: vec![State::Unknown; channels], used: Vec::new(), waiting: vec![0; rows], queue: Vec::new() }
    }
}

/// Where one way leads, for a packet of the class.
enum Step {
    Ends(Option<Why>),
    Into(u32),
}

/// A channel on the path of the search: ways not tried yet, and the worst that was found.
struct Visit {
    channel: u32,
    left: Vec<Way>,
    at: (u32, PortNum),
    worst: Option<Why>,
}

impl<'c, 'a> Fates<'c, 'a> {
    pub fn new(course: &'c Course<'a>, class: Class, states: &'c mut Scratch) -> Fates<'c, 'a> {
        Fates { course, class, states }
    }

    /// What can become of what a source sends, at worst.
    pub fn of_source(&mut self, source: Source) -> Option<Why> {
        let Some(row) = source.row else {
            let lanes = self.course.lanes(Stage::Now).at_source(source, self.class.sl);
            return if lanes & DISCARD != 0 { Some(Why::BlackHole) } else { self.of_channel(source.port.0) };
        };
        let ways: Vec<Way> = self.course.ways(row).collect();
        let fates = ways.into_iter().map(|way| match self.step((row, PortNum::ZERO), way) {
            Step::Ends(why) => why,
            Step::Into(channel) => self.of_channel(channel),
        });
        fates.fold(None, Option::or)
    }

    /// By depth-first search; a channel that the search comes back to while it is open lies on a loop.
    fn of_channel(&mut self, start: u32) -> Option<Why> {
        let mut path = Vec::new();
        let mut last = self.enter(start, &mut path);
        while let Some(visit) = path.last_mut() {
            visit.worst = visit.worst.or(last.take());
            let Some(way) = visit.left.pop() else {
                last = visit.worst;
                self.states.states[visit.channel as usize] = State::Known(last);
                path.pop();
                continue;
            };
            let at = visit.at;
            last = match self.step(at, way) {
                Step::Ends(why) => why,
                Step::Into(channel) => self.enter(channel, &mut path),
            };
        }
        last
    }

    /// What is known of a channel; where nothing is, the search goes into it.
    fn enter(&mut self, channel: u32, path: &mut Vec<Visit>) -> Option<Why> {
        match self.states.states[channel as usize] {
            State::Known(why) => return why,
            State::Open => return Some(Why::Loop),
            State::Unknown => {}
        }
        self.states.used.push(channel);
        let state = match self.course.net.head(Stage::Now, channel) {
            Head::Nothing => State::Known(None),
            Head::End(at) => State::Known((at != self.class.owner).then_some(Why::WrongArrival)),
            Head::Switch { row, input } => {
                let left = self.course.ways(row).collect();
                path.push(Visit { channel, left, at: (row, input), worst: None });
                State::Open
            }
        };
        self.states.states[channel as usize] = state;
        if let State::Known(why) = state { why } else { None }
    }

    fn step(&self, (row, input): (u32, PortNum), way: Way) -> Step {
        match way {
            Way::Out(channel) => {
                let output = self.course.net.output(row, channel);
                let lanes = self.course.lanes(Stage::Now).at_switch(row, self.class.sl, input, output);
                if lanes & DISCARD != 0 { Step::Ends(Some(Why::BlackHole)) } else { Step::Into(channel) }
            }
            Way::Own => {
                let own = PortId(self.course.net.first_port[row as usize]);
                Step::Ends((own != self.class.owner).then_some(Why::WrongArrival))
            }
            Way::NoRoute | Way::NoCable(_) => Step::Ends(Some(Why::BlackHole)),
            Way::Gone => Step::Ends(None),
        }
    }
}

impl Drop for Fates<'_, '_> {
    fn drop(&mut self) {
        self.states.used.drain(..).for_each(|channel| self.states.states[channel as usize] = State::Unknown);
    }
}

/// Whether the switches that a class reached have an order: then it goes round nowhere.
pub(super) fn is_ordered(course: &Course<'_>, scratch: &mut Scratch) -> bool {
    let Scratch { waiting, queue, .. } = scratch;
    for &row in &course.reached {
        next_rows(course, row).for_each(|next| waiting[next as usize] += 1);
    }
    queue.extend(course.reached.iter().filter(|&&row| waiting[row as usize] == 0));
    let mut at = 0;
    while let Some(&row) = queue.get(at) {
        at += 1;
        for next in next_rows(course, row) {
            waiting[next as usize] -= 1;
            if waiting[next as usize] == 0 {
                queue.push(next);
            }
        }
    }
    course.reached.iter().for_each(|&row| waiting[row as usize] = 0);
    queue.clear();
    at == course.reached.len()
}

/// The switches that a switch may send the class to, among those reached.
fn next_rows<'c>(course: &'c Course<'_>, row: u32) -> impl Iterator<Item = u32> + 'c {
    course.ways(row).filter_map(|way| match way {
        Way::Out(channel) => match course.net.head(Stage::Now, channel) {
            Head::Switch { row, .. } if course.reaches(row) => Some(row),
            _ => None,
        },
        _ => None,
    })
}

/// The shortest round trips of a class, one for each knot of channels that it can go round in: the channels in order.
pub(super) fn round_trips(course: &Course<'_>, class: Class) -> Vec<Vec<u32>> {
    let mut channels = course.touched.clone();
    channels.sort_unstable();
    let graph = graph_over(course, class, &channels);
    let trips = graph.components().into_iter().filter_map(|part| {
        let inside: Vec<u32> = part.iter().map(|&at| channels[at as usize]).collect();
        let cycle = graph_over(course, class, &inside).order().err()?;
        Some(cycle.nodes.iter().map(|&at| inside[at as usize]).collect())
    });
    trips.collect()
}

/// The hops of a class among some channels, which are in rising order and are the nodes.
fn graph_over(course: &Course<'_>, class: Class, channels: &[u32]) -> LaneGraph {
    LaneGraph::new(channels.len(), |tell| {
        for (at, &channel) in (0..).zip(channels) {
            let Head::Switch { row, input } = course.net.head(Stage::Now, channel) else { continue };
            for way in course.ways(row) {
                let Way::Out(next) = way else { continue };
                let output = course.net.output(row, next);
                let lanes = course.lanes(Stage::Now).at_switch(row, class.sl, input, output) & !DISCARD;
                if let (Ok(to), true) = (channels.binary_search(&next), lanes != 0) {
                    tell(at, to as u32);
                }
            }
        }
    })
}
