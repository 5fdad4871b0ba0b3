//! Worst-case permutations: the pairs of senders and receivers that load one channel as much as any permutation can.
//!
//! Source: Towles and Dally, *Worst-case Traffic for Oblivious Routing Functions*, SPAA 2002: for one channel the worst
//! permutation is a maximum-weight matching between sources and destinations, where a pair weighs the share of its
//! traffic that crosses the channel; the worst over all channels is the worst of all. On entry: a routing function, and
//! a [`Selection`] of the open paths that each pair uses. On return: channels, with loads as fractions of their
//! capacity while every end port sends at its full rate. The result is exact up to rounding of sums in double
//! precision. Deliberately omitted: links into and out of end ports, which a permutation loads with one port's traffic;
//! flow control and queues (`sim` models them).

mod matching;

use super::RoutingFunction;
use super::usage::homes;
use crate::fabric::{Fabric, NodeId, PortId};
use matching::{Weights, heaviest};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// The paths that a pair of end ports uses, among those open to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selection {
    /// The first.
    Base,
    /// One, determined by the ranks of the two: (7 × source + destination) mod paths, as for the simulator's sources.
    Single,
    /// The given number from the first on, equally; all of them if there are fewer. 0 is taken as 1.
    Spread(usize),
}

impl Selection {
    /// The paths that a pair uses in equal shares, as positions among the `open` ones.
    fn places(self, source: u32, destination: u32, open: usize) -> Range<usize> {
        let one = |place: usize| place..(place + 1).min(open);
        match self {
            Selection::Base => one(0),
            Selection::Single => one(source.wrapping_mul(7).wrapping_add(destination) as usize % open.max(1)),
            Selection::Spread(most) => 0..most.max(1).min(open),
        }
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selection::Base => f.write_str("base"),
            Selection::Single => f.write_str("single"),
            Selection::Spread(most) => write!(f, "spread over {most}"),
        }
    }
}

/// The part of a pair's traffic that crosses a channel.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Crossing {
    /// Rank of the sending end port.
    source: u32,
    /// Rank of the receiving end port.
    destination: u32,
    /// The fraction of the channel's capacity that the pair uses at its full rate.
    load: f64,
}

/// For each channel between switches, the pairs of end ports that cross it.
#[derive(Clone, PartialEq, Debug)]
pub struct Crossings {
    ends: Vec<PortId>,
    /// By the port that sends into the channel; a pair appears once for each of its paths.
    channels: BTreeMap<PortId, Vec<Crossing>>,
}

/// The permutation that loads one channel more than any other permutation loads any channel.
#[derive(Clone, PartialEq, Debug)]
pub struct Worst {
    /// The port that sends into the channel.
    pub channel: PortId,
    /// The traffic that the end ports at full rate send through it, as a multiple of its capacity: with links of equal
    /// rate, the number of end ports whose whole traffic meets there.
    pub load: f64,
    /// By rank of the source: rank of the destination. Pairs that cross the channel are those of the matching. The
    /// other ports send to each other; a port sends to itself, and is silent, only if it is the only one left.
    pub permutation: Vec<u32>,
}

impl Worst {
    /// The fraction of their rate at which the end ports can send this permutation, at most 1.
    pub fn bound(&self) -> f64 {
        1.0 / self.load.max(1.0)
    }
}

impl Crossings {
    /// Follows every pair of end ports among the destinations of a routing function.
    pub fn of(fabric: &Fabric, function: &RoutingFunction, selection: Selection) -> Crossings {
        let mut led_to = vec![None; fabric.port_count()];
        function.destinations().iter().enumerate().for_each(|(at, port)| led_to[port.index()] = Some(at));
        let ends: Vec<PortId> = fabric.end_ports().filter(|port| led_to[port.index()].is_some()).collect();
        let mut rank = vec![None; fabric.port_count()];
        ends.iter().zip(0..).for_each(|(port, at)| rank[port.index()] = Some(at));
        let mut crossings = Crossings { ends, channels: BTreeMap::new() };
        // All sources at one switch share the path to a destination, so each path is followed once for all of them.
        for (home, ports) in homes(fabric) {
            let sources: Vec<u32> = ports.iter().filter_map(|port| rank[port.index()]).collect();
            for to in 0..crossings.ends.len() as u32 {
                let Some(destination) = led_to[crossings.ends[to as usize].index()] else { continue };
                for (path, senders) in senders(function, &crossings.ends, &sources, to, selection) {
                    crossings.add(fabric, function.way(fabric, home, destination, path), to, &senders);
                }
            }
        }
        crossings
    }

    /// The end ports that permutations name by rank: the destinations of the routing function, in the fabric's order.
    pub fn ends(&self) -> &[PortId] {
        &self.ends
    }

    fn add(&mut self, fabric: &Fabric, way: impl Iterator<Item = PortId>, destination: u32, senders: &[(u32, f64)]) {
        let is_switch = |node: NodeId| fabric.node(node).is_switch();
        // Links into end ports are omitted: a permutation loads them with one port's traffic.
        for channel in way.filter(|&port| fabric.neighbour(port).is_some_and(is_switch)) {
            let across = rate(fabric, channel);
            let crossing = |&(source, share): &(u32, f64)| {
                let load = share * rate(fabric, self.ends[source as usize]) / across;
                Crossing { source, destination, load }
            };
            self.channels.entry(channel).or_default().extend(senders.iter().map(crossing));
        }
    }

    /// The worst permutation; none if no pair of end ports crosses a channel between switches. Among equally bad ones,
    /// that of the channel that comes first by (bound of its load, port).
    pub fn worst(&self) -> Option<Worst> {
        let bounds = self.channels.iter().map(|(&channel, pairs)| (Table::of(pairs).bound(), Reverse(channel)));
        let mut order: Vec<(f64, Reverse<PortId>)> = bounds.collect();
        // Matchings are expensive, bounds are cheap. `Reverse` makes the lower port first among equal bounds.
        order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        let mut worst: Option<Worst> = None;
        for (bound, Reverse(channel)) in order {
            let most = worst.as_ref().map_or(0.0, |worst| worst.load);
            // Channels come by descending bound, and no permutation loads a channel beyond its bound: no later channel
            // is worse.
            if bound <= most {
                break;
            }
            let (load, pairs) = Table::of(&self.channels[&channel]).heaviest();
            if load > most {
                worst = Some(Worst { channel, load, permutation: completed(self.ends.len(), &pairs) });
            }
        }
        worst
    }

    /// The channel that a permutation loads most, with its load as in [`Worst::load`]; none if nothing crosses any
    /// channel. `permutation` holds the rank of the destination by rank of the source; a source that sends to itself is
    /// silent.
    ///
    /// # Panics
    /// The permutation has another number of end ports.
    pub fn busiest_under(&self, permutation: &[u32]) -> Option<(PortId, f64)> {
        assert_eq!(permutation.len(), self.ends.len(), "a destination for each end port");
        let load = |pairs: &[Crossing]| -> f64 {
            let sent = pairs.iter().filter(|pair| permutation[pair.source as usize] == pair.destination);
            sent.map(|pair| pair.load).sum()
        };
        let loads = self.channels.iter().map(|(&channel, pairs)| (channel, load(pairs)));
        let loaded = loads.filter(|&(_, load)| load > 0.0);
        loaded.reduce(|most, next| if next.1 > most.1 { next } else { most })
    }
}

/// By path in use: the members of `sources` that send to a destination by it, with their shares. All are ranks among
/// `ends`.
fn senders(
    function: &RoutingFunction,
    ends: &[PortId],
    sources: &[u32],
    to: u32,
    selection: Selection,
) -> BTreeMap<usize, Vec<(u32, f64)>> {
    let mut senders: BTreeMap<usize, Vec<(u32, f64)>> = BTreeMap::new();
    for &from in sources.iter().filter(|&&from| from != to) {
        let open: Vec<usize> = match function.path_layers() {
            None => (0..function.paths()).collect(),
            Some(layers) => layers.ways(ends[from as usize], ends[to as usize]).map(|(path, _)| path).collect(),
        };
        let places = selection.places(from, to, open.len());
        let share = 1.0 / places.len().max(1) as f64;
        // Pairs without an open path have no positions, and send nothing.
        places.for_each(|place| senders.entry(open[place]).or_default().push((from, share)));
    }
    senders
}

fn rate(fabric: &Fabric, port: PortId) -> f64 {
    let port = fabric.port(port);
    port.width.data_rate_kbps(port.speed) as f64
}

/// The pairs of one channel as a table of weights.
struct Table {
    sources: Vec<u32>,
    destinations: Vec<u32>,
    weights: Weights,
}

impl Table {
    fn of(pairs: &[Crossing]) -> Table {
        let sources = distinct(pairs.iter().map(|pair| pair.source));
        let destinations = distinct(pairs.iter().map(|pair| pair.destination));
        let mut weights = Weights::none(sources.len(), destinations.len());
        for pair in pairs {
            let row = sources.partition_point(|&source| source < pair.source);
            let column = destinations.partition_point(|&destination| destination < pair.destination);
            weights.add(row, column, pair.load);
        }
        Table { sources, destinations, weights }
    }

    /// An upper bound of any matching's weight.
    fn bound(&self) -> f64 {
        self.weights.bound()
    }

    /// The weight of the heaviest matching, and its pairs of positive weight.
    fn heaviest(&self) -> (f64, Vec<(u32, u32)>) {
        let matched = heaviest(&self.weights);
        let load = matched.iter().map(|&(row, column)| self.weights.at(row, column)).sum();
        (load, matched.into_iter().map(|(row, column)| (self.sources[row], self.destinations[column])).collect())
    }
}

fn distinct(ranks: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut ranks: Vec<u32> = ranks.collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// The permutation with these pairs; the remaining ports send to each other.
fn completed(ends: usize, pairs: &[(u32, u32)]) -> Vec<u32> {
    let mut permutation: Vec<Option<u32>> = vec![None; ends];
    let mut receives = vec![false; ends];
    for &(source, destination) in pairs {
        permutation[source as usize] = Some(destination);
        receives[destination as usize] = true;
    }
    let silent = |end: &usize| permutation[*end].is_none();
    let deaf = |end: &usize| !receives[*end];
    // Ends that neither send nor receive come first on both sides. After a rotation by one place none of them meets
    // itself, unless it is alone; the others appear on one side only.
    let (both, senders): (Vec<usize>, Vec<usize>) = (0..ends).filter(silent).partition(deaf);
    let receivers = (0..ends).filter(|end| deaf(end) && !silent(end));
    let mut to: Vec<usize> = both.iter().copied().chain(receivers).collect();
    if !to.is_empty() {
        to.rotate_left(1);
    }
    for (from, to) in both.into_iter().chain(senders).zip(to) {
        permutation[from] = Some(to as u32);
    }
    permutation.into_iter().zip(0..).map(|(to, own)| to.unwrap_or(own)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_takes_what_is_open() {
        let places = |selection: Selection, open| selection.places(3, 2, open);
        assert_eq!(places(Selection::Base, 4), 0..1);
        assert_eq!(places(Selection::Single, 4), 3..4, "(7 × 3 + 2) mod 4");
        assert_eq!((places(Selection::Spread(2), 4), places(Selection::Spread(8), 4)), (0..2, 0..4));
        for selection in [Selection::Base, Selection::Single, Selection::Spread(2)] {
            assert!(places(selection, 0).is_empty());
        }
    }

    #[test]
    fn those_left_over_send_to_each_other() {
        assert_eq!(completed(4, &[(0, 1)]), [1, 2, 3, 0], "0 is still to receive, 1 to send, 2 and 3 both");
        assert_eq!(completed(3, &[(0, 1), (1, 0)]), [1, 0, 2], "the only one left is silent");
        assert_eq!(completed(4, &[]), [1, 2, 3, 0]);
        assert_eq!(completed(3, &[(0, 1)]), [1, 2, 0]);
    }
}
