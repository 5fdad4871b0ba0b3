//! Service levels by source and destination, for tables that are free of deadlock on several virtual layers only.
//!
//! On entry of [`GivenLevels::assign`]: tables, and how many lanes there are. On return: a layer for each pair of
//! groups, such that no layer's dependencies close a cycle; layer l is service level l and takes VL l. A group is a
//! switch and the hosts that were on it when it was first seen. Both directions of a pair share one layer, because the
//! far side of a connection answers on the level of the request. What was given out is kept for good, by GUID and in a
//! file: hosts keep the answers to their path queries. The prover does not rely on any of this: it judges tables and
//! levels together.

use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Guid, Half, Sl};
use reconfig::routing::MOST_LAYERS;
use reconfig::tables::{Lft, PathLayers};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

/// Orders in which pairs are placed, until the lanes suffice.
const ORDERS: u64 = 12;
/// 2^64 by the golden ratio: Knuth's multiplicative hashing.
const SCATTER: u64 = 0x9E37_79B9_7F4A_7C15;
/// How a file of levels begins.
const HEAD: &str = "reconfig-opensm levels 1";

/// Service levels that were given out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GivenLevels {
    /// Data lanes that every link has; no more are used.
    lanes: u8,
    /// By PortGUID, a switch's being that of its port 0: the group.
    groups: BTreeMap<Guid, u32>,
    /// By group and group: the layer. Symmetric.
    layers: Vec<Vec<u8>>,
}

/// Why there are none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathLevelsError {
    /// First fit needs more.
    #[error(
        "hosts on {one} and {other} find no layer among {lanes}: name another engine, or have more data VLs on every link"
    )]
    TooFew {
        /// A switch.
        one: String,
        /// Another.
        other: String,
        /// Lanes.
        lanes: u8,
    },
    /// Ways to switches close a cycle by themselves.
    #[error("the ways to switches' own LIDs close a cycle on layer 0")]
    Switches,
    /// The file cannot be read.
    #[error("{file}: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why not, with the line.
        why: String,
    },
}

impl GivenLevels {
    /// Levels for tables by node, over links that all have so many data lanes: each pair of groups on the first layer
    /// that stays free of cycles. Pairs are taken in several orders until one does with these lanes.
    ///
    /// # Errors
    /// The lanes do not suffice.
    pub fn assign(fabric: &Fabric, lfts: &[Arc<Lft>], lanes: u8) -> Result<GivenLevels, PathLevelsError> {
        let switches: Vec<NodeId> = fabric.switches().collect();
        let mut groups = BTreeMap::new();
        for (&switch, group) in switches.iter().zip(0..) {
            groups.insert(fabric.node(switch).guid, group);
            groups.extend(hosts(fabric, switch).map(|host| (fabric.port_guid(host), group)));
        }
        let begun = Placing::begun(fabric, lfts, &switches).ok_or(PathLevelsError::Switches)?;
        let pairs = begun.pairs();
        let mut refused = None;
        for order in 0..ORDERS {
            let mut layers = vec![vec![0; switches.len()]; switches.len()];
            let mut placing = begun.clone();
            let place = |&&(one, other): &&(usize, usize)| {
                let layer = placing.place(switches[one], switches[other], lanes.min(MOST_LAYERS));
                layer.into_iter().for_each(|layer| (layers[one][other], layers[other][one]) = (layer, layer));
                layer.is_none()
            };
            match ordered(&pairs, order).iter().find(place) {
                None => return Ok(GivenLevels { lanes, groups, layers }),
                Some(&pair) => refused = refused.or(Some(pair)),
            }
        }
        let (one, other) = refused.expect("some order was tried");
        let [one, other] = [one, other].map(|at| fabric.describe_node(switches[at]));
        Err(PathLevelsError::TooFew { one, other, lanes })
    }

    /// Data lanes that every link must have.
    pub fn lanes(&self) -> u8 {
        self.lanes
    }

    /// Layers in use.
    pub fn layers(&self) -> u8 {
        self.layers.iter().flatten().max().map_or(1, |highest| highest + 1)
    }

    /// The level from a port to another, by their GUIDs; the same in both directions. None where one of them is not
    /// known.
    pub fn level(&self, source: Guid, destination: Guid) -> Option<Sl> {
        let [one, other] = [source, destination].map(|guid| self.groups.get(&guid));
        Some(Half::Lower.sl_of(self.layers[*one? as usize][*other? as usize]))
    }

    /// The same with what has come: a host is of its switch's group; the group of a new switch is on `layer` with all
    /// others.
    #[must_use]
    pub fn extended(&self, fabric: &Fabric, layer: u8) -> GivenLevels {
        let mut levels = self.clone();
        for switch in fabric.switches() {
            let next = levels.layers.len() as u32;
            let group = *levels.groups.entry(fabric.node(switch).guid).or_insert(next);
            if group == next {
                levels.layers.iter_mut().for_each(|row| row.push(layer));
                levels.layers.push(vec![layer; next as usize + 1]);
            }
            for host in hosts(fabric, switch) {
                levels.groups.entry(fabric.port_guid(host)).or_insert(group);
            }
        }
        levels
    }

    /// Whether every pair has the same level there.
    pub fn agrees_with(&self, held: &GivenLevels) -> bool {
        let mut theirs: Vec<Option<u32>> = vec![None; self.layers.len()];
        for (guid, &group) in &self.groups {
            let Some(&known) = held.groups.get(guid) else { return false };
            if *theirs[group as usize].get_or_insert(known) != known {
                return false;
            }
        }
        let same = |one: usize, other: usize| match (theirs[one], theirs[other]) {
            (Some(a), Some(b)) => self.layers[one][other] == held.layers[a as usize][b as usize],
            _ => true,
        };
        (0..theirs.len()).all(|one| (0..theirs.len()).all(|other| same(one, other)))
    }

    /// Whether a switch is there that none of these levels is for.
    pub fn lacks_switch_of(&self, fabric: &Fabric) -> bool {
        fabric.switches().any(|switch| !self.groups.contains_key(&fabric.node(switch).guid))
    }

    /// Who sends on which layer, by the ports of a fabric. Switches' own LIDs are reached on layer 0.
    pub fn ways(&self, fabric: &Fabric) -> Arc<PathLayers> {
        let group = |port: PortId| self.groups.get(&fabric.port_guid(port)).map(|&group| group as usize);
        let mut sources = vec![Vec::new(); self.layers.len()];
        for port in fabric.lid_ports() {
            group(port).into_iter().for_each(|group| sources[group].push(port));
        }
        let ends: Vec<PortId> = fabric.end_ports().filter(|&port| group(port).is_some()).collect();
        let mut ways = PathLayers::by_groups(fabric, &sources, &ends, 1);
        for (rank, to) in ends.iter().enumerate().filter_map(|(rank, &end)| Some((rank, group(end)?))) {
            for (from, row) in self.layers.iter().enumerate() {
                ways.open(from, rank, 0, row[to]);
            }
        }
        Arc::new(ways)
    }

    /// The text of their file.
    pub fn text(&self) -> String {
        let mut text = format!("{HEAD}\n# Hosts send on these levels: docs/OPENSM.md\nlanes {}\n", self.lanes);
        for (group, row) in self.layers.iter().enumerate() {
            // Below the diagonal: the rest is the same.
            let digits: String = row[..=group].iter().map(|layer| layer.to_string()).collect();
            let _ = writeln!(text, "group {digits}");
        }
        for (guid, group) in &self.groups {
            let _ = writeln!(text, "port {guid} {group}");
        }
        text
    }

    /// Reads such a text; `file` is for messages.
    ///
    /// # Errors
    /// The first line that cannot be understood.
    pub fn parse(text: &str, file: &str) -> Result<GivenLevels, PathLevelsError> {
        let unreadable = |why: String| PathLevelsError::Unreadable { file: file.to_string(), why };
        let mut lines = text.lines().zip(1..);
        if lines.next().is_none_or(|(line, _)| line != HEAD) {
            return Err(unreadable(format!("line 1: expected `{HEAD}`")));
        }
        let mut levels = GivenLevels { lanes: 0, groups: BTreeMap::new(), layers: Vec::new() };
        for (line, number) in lines.filter(|(line, _)| !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            levels.line(&words).ok_or_else(|| {
                unreadable(format!(
                    "line {number}: expected `lanes N`, `group LAYERS` or `port GUID GROUP`, not `{line}`"
                ))
            })?;
        }
        let groups = levels.layers.len();
        for one in 0..groups {
            let column: Vec<u8> = levels.layers[one + 1..].iter().map(|row| row[one]).collect();
            levels.layers[one].extend(column);
        }
        let is_known = levels.groups.values().all(|&group| (group as usize) < groups);
        match is_known && (1..=15).contains(&levels.lanes) && levels.layers() <= levels.lanes {
            true => Ok(levels),
            false => Err(unreadable("a group or a lane that it names is not there: it was cut short".to_string())),
        }
    }

    fn line(&mut self, words: &[&str]) -> Option<()> {
        match words {
            ["lanes", lanes] => self.lanes = lanes.parse().ok()?,
            ["group", digits] => {
                let row: Vec<u8> =
                    digits.chars().map(|digit| Some(digit.to_digit(8)? as u8)).collect::<Option<Vec<u8>>>()?;
                if row.len() != self.layers.len() + 1 {
                    return None;
                }
                self.layers.push(row);
            }
            ["port", guid, group] => {
                self.groups.insert(guid.parse().ok()?, group.parse().ok()?);
            }
            _ => return None,
        }
        Some(())
    }

    /// Reads a file; none where there is none.
    ///
    /// # Errors
    /// It cannot be read or understood.
    pub fn read(file: &Path) -> Result<Option<GivenLevels>, PathLevelsError> {
        let name = file.display().to_string();
        match fs::read_to_string(file) {
            Ok(text) => GivenLevels::parse(&text, &name).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(PathLevelsError::Unreadable { file: name, why: error.to_string() }),
        }
    }

    /// Replaces a file as a whole, and returns when it would outlast a loss of power.
    ///
    /// # Errors
    /// What prevented it, with the file.
    pub fn write(&self, file: &Path) -> Result<(), String> {
        let beside = file.with_extension("new");
        let written = File::create(&beside).and_then(|mut own| {
            own.write_all(self.text().as_bytes())?;
            own.sync_all()
        });
        let replaced = written.and_then(|()| fs::rename(&beside, file));
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let lasting = replaced.and_then(|()| folder.map_or(Ok(()), |folder| File::open(folder)?.sync_all()));
        lasting.map_err(|error| format!("{}: {error}", file.display()))
    }
}

/// The ports of hosts on a switch.
fn hosts(fabric: &Fabric, switch: NodeId) -> impl Iterator<Item = PortId> + use<'_> {
    let peers = fabric.ports_of(switch).filter_map(|port| fabric.peer(port));
    peers.filter(|&peer| !fabric.node(fabric.port(peer).node).is_switch())
}

/// Two switches, by their places in a list, at least one of which bears hosts.
struct Pair {
    ends: (usize, usize),
    /// Switches on the longest of its ways.
    hops: usize,
    /// Whether both bear hosts.
    both: bool,
}

/// Pairs in the order of this number. Those of hosts come first: ways from other switches are mostly parts of theirs.
fn ordered(pairs: &[Pair], order: u64) -> Vec<(usize, usize)> {
    let mut keyed: Vec<(bool, u64, (usize, usize))> = pairs
        .iter()
        .map(|pair| {
            let (one, other) = (pair.ends.0 as u64, pair.ends.1 as u64);
            let key = match order {
                0 => 0,
                1 => u64::MAX - pair.hops as u64,
                2 => pair.hops as u64,
                // Scattered, each order otherwise.
                _ => (((one << 32 | other) ^ order << 48).wrapping_mul(SCATTER).rotate_left(31)).wrapping_mul(SCATTER),
            };
            (!pair.both, key, pair.ends)
        })
        .collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, _, ends)| ends).collect()
}

/// Pairs on layers.
#[derive(Clone)]
struct Placing<'a> {
    fabric: &'a Fabric,
    lfts: &'a [Arc<Lft>],
    switches: &'a [NodeId],
    layers: Vec<Layer>,
}

impl<'a> Placing<'a> {
    /// Ways to switches' own LIDs alone, on layer 0; none where they close a cycle by themselves.
    fn begun(fabric: &'a Fabric, lfts: &'a [Arc<Lft>], switches: &'a [NodeId]) -> Option<Placing<'a>> {
        let mut placing = Placing { fabric, lfts, switches, layers: vec![Layer::of(fabric)] };
        let all = || switches.iter().copied();
        let to_switches = all().flat_map(|from| all().map(move |to| (from, fabric.node(to).first_port)));
        placing.fits(0, to_switches).then_some(placing)
    }

    fn pairs(&self) -> Vec<Pair> {
        let bears: Vec<bool> = self.switches.iter().map(|&at| hosts(self.fabric, at).next().is_some()).collect();
        let all = (0..self.switches.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
        let ends = all.filter(|&(one, other)| bears[one] || bears[other]);
        ends.map(|(one, other)| {
            let hops = self.ways(self.switches[one], self.switches[other]).map(|(from, to)| self.way(from, to).count());
            Pair { ends: (one, other), hops: hops.max().unwrap_or(0), both: bears[one] && bears[other] }
        })
        .collect()
    }

    /// All ways between the hosts of two switches, and from either switch: where they begin, and the destination.
    fn ways(&self, one: NodeId, other: NodeId) -> impl Iterator<Item = (NodeId, PortId)> + use<'a> {
        let there = hosts(self.fabric, other).map(move |host| (one, host));
        there.chain(hosts(self.fabric, one).map(move |host| (other, host)))
    }

    /// The channels of a way; one that goes round ends after as many as there are switches.
    fn way(&self, from: NodeId, to: PortId) -> impl Iterator<Item = u32> + use<'a> {
        let (fabric, lfts) = (self.fabric, self.lfts);
        let home = fabric.port(to).node;
        let mut at = Some(from);
        let channels = std::iter::from_fn(move || {
            let switch = at.take().filter(|&node| node != home)?;
            let num = lfts.get(switch.index())?.get(fabric.port(to).lid?)?;
            let port = fabric.port_at(switch, num)?;
            at = fabric.neighbour(port);
            Some(port.0)
        });
        channels.take(self.switches.len() + 1)
    }

    /// The first layer on which the ways of a pair close no cycle.
    fn place(&mut self, one: NodeId, other: NodeId, most: u8) -> Option<u8> {
        (0..most).find(|&layer| {
            if usize::from(layer) == self.layers.len() {
                self.layers.push(Layer::of(self.fabric));
            }
            let ways = self.ways(one, other);
            self.fits(usize::from(layer), ways)
        })
    }

    /// Puts ways on a layer, unless they close a cycle there.
    fn fits(&mut self, layer: usize, ways: impl Iterator<Item = (NodeId, PortId)>) -> bool {
        let mut added = Vec::new();
        for (from, to) in ways {
            let mut before = None;
            for channel in self.way(from, to) {
                let Some(before) = before.replace(channel) else { continue };
                match self.layers[layer].add(before, channel) {
                    Added::Held => {}
                    Added::New => added.push((before, channel)),
                    Added::Cycle => {
                        added.into_iter().rev().for_each(|(from, to)| self.layers[layer].remove(from, to));
                        return false;
                    }
                }
            }
        }
        true
    }
}

enum Added {
    Held,
    New,
    Cycle,
}

/// Channels, by the port that they leave from, in an order in which each waits for later ones only: Pearce and Kelly,
/// *A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs*, JEA 2006.
#[derive(Clone)]
struct Layer {
    place: Vec<u32>,
    after: Vec<Vec<u32>>,
    before: Vec<Vec<u32>>,
}

impl Layer {
    fn of(fabric: &Fabric) -> Layer {
        let channels = fabric.port_count();
        Layer {
            place: (0..channels as u32).collect(),
            after: vec![Vec::new(); channels],
            before: vec![Vec::new(); channels],
        }
    }

    fn add(&mut self, from: u32, to: u32) -> Added {
        if self.after[from as usize].contains(&to) {
            return Added::Held;
        }
        let (lower, upper) = (self.place[to as usize], self.place[from as usize]);
        if from == to {
            return Added::Cycle;
        }
        if lower < upper {
            let Some(ahead) = self.reach(to, &self.after, |place| place <= upper, from) else { return Added::Cycle };
            let behind = self.reach(from, &self.before, |place| place >= lower, to).expect("no way leads back");
            self.arrange(behind, ahead);
        }
        self.after[from as usize].push(to);
        self.before[to as usize].push(from);
        Added::New
    }

    fn remove(&mut self, from: u32, to: u32) {
        self.after[from as usize].retain(|&held| held != to);
        self.before[to as usize].retain(|&held| held != from);
    }

    /// What is reached from a channel within a part of the order; none where `never` is.
    fn reach(&self, start: u32, edges: &[Vec<u32>], within: impl Fn(u32) -> bool, never: u32) -> Option<Vec<u32>> {
        let (mut found, mut at) = (vec![start], 0);
        let mut seen: std::collections::BTreeSet<u32> = found.iter().copied().collect();
        while let Some(&channel) = found.get(at) {
            at += 1;
            for &next in &edges[channel as usize] {
                if next == never {
                    return None;
                }
                if within(self.place[next as usize]) && seen.insert(next) {
                    found.push(next);
                }
            }
        }
        Some(found)
    }

    /// Puts one set of channels before another, on the places that both have.
    fn arrange(&mut self, mut behind: Vec<u32>, mut ahead: Vec<u32>) {
        let by_place = |channel: &u32| self.place[*channel as usize];
        behind.sort_unstable_by_key(by_place);
        ahead.sort_unstable_by_key(by_place);
        behind.append(&mut ahead);
        let mut places: Vec<u32> = behind.iter().map(by_place).collect();
        places.sort_unstable();
        behind.into_iter().zip(places).for_each(|(channel, place)| self.place[channel as usize] = place);
    }
}
