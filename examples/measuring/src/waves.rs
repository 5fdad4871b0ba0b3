//! A judge of waves of forwarding entries that shares nothing with those who make them: it follows every class from
//! every end port through every mixture, over maps and sets, and says what is wrong with the first bad wave.
//!
//! The rules are those of docs/REPAIR.md. For small fabrics: it takes a set of lanes for every class and wave.

use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lid, PortNum, Sl, Vl};
use reconfig::tables::{Lft, PathLayers, SubnetTables};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is judged.
pub struct Course<'a> {
    /// Before anything died.
    pub before: &'a Fabric,
    /// What survives.
    pub surviving: &'a Fabric,
    /// The tables in force.
    pub tables: &'a SubnetTables,
    /// The half in use.
    pub half: Half,
    /// Who sends by which path; every source by all if none.
    pub ways: Option<&'a PathLayers>,
    /// Whether the switches' own LIDs are sent to as well, and switches send.
    pub switches: bool,
    /// Whether switches discard packets that are to leave by the port they came in by.
    pub discards_turned_back: bool,
    /// By wave: whether all that was sent earlier has left, and the tables by node afterwards.
    pub waves: Vec<(bool, &'a [Arc<Lft>])>,
}

type Lane = (PortId, Vl);

/// A class, and the tables that it may meet.
#[derive(Clone, Copy)]
struct Walk<'a> {
    fabric: &'a Fabric,
    lid: Lid,
    owner: PortId,
    sl: Sl,
    /// Old and new, by node.
    tables: [&'a [Arc<Lft>]; 2],
}

/// What becomes of a packet at a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// Goes to another switch by this port.
    Switch(PortId, NodeId),
    /// Comes to the owner.
    Home,
    /// Is lost.
    Lost,
    /// Comes to somebody else.
    Wrong,
}

impl Course<'_> {
    /// Judges every wave.
    ///
    /// # Errors
    /// The number of the first bad wave, and what is wrong with it.
    pub fn judge(&self) -> Result<(), String> {
        self.follow_rows()?;
        self.follow_lanes()
    }

    /// By LID its owner.
    fn lids(&self) -> BTreeMap<Lid, PortId> {
        let mut lids = BTreeMap::new();
        for owner in self.before.lid_ports() {
            let port = self.before.port(owner);
            if let Some(base) = port.lid {
                lids.extend((base.0..base.0 + port.lmc.lids()).map(|lid| (Lid(lid), owner)));
            }
        }
        lids
    }

    fn fate(&self, fabric: &Fabric, lfts: &[Arc<Lft>], switch: NodeId, lid: Lid, owner: PortId) -> Fate {
        let Some(output) = lfts[switch.index()].get(lid) else { return Fate::Lost };
        if output == PortNum::ZERO {
            return if fabric.node(switch).first_port == owner { Fate::Home } else { Fate::Wrong };
        }
        let Some(port) = fabric.port_at(switch, output) else { return Fate::Lost };
        match fabric.peer(port) {
            None => Fate::Lost,
            Some(peer) if peer == owner => Fate::Home,
            Some(peer) if fabric.node(fabric.port(peer).node).is_switch() => Fate::Switch(port, fabric.port(peer).node),
            Some(_) => Fate::Wrong,
        }
    }

    /// Rules b and c: no mixture leads round, to a wrong port, or from an intact row to a broken one.
    fn follow_rows(&self) -> Result<(), String> {
        let mut old: &[Arc<Lft>] = &self.tables.lfts;
        for (at, &(_, new)) in self.waves.iter().enumerate() {
            for (&lid, &owner) in &self.lids() {
                self.follow_one(old, new, lid, owner).map_err(|what| format!("wave {at}, {lid}: {what}"))?;
            }
            old = new;
        }
        Ok(())
    }

    fn follow_one(&self, old: &[Arc<Lft>], new: &[Arc<Lft>], lid: Lid, owner: PortId) -> Result<(), String> {
        let fabric = self.surviving;
        let intact = self.intact(old, lid, owner);
        let mut next: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        let mut loops_before: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for switch in fabric.switches() {
            let fates = [old, new].map(|lfts| self.fate(fabric, lfts, switch, lid, owner));
            for (age, fate) in fates.into_iter().enumerate() {
                match fate {
                    Fate::Switch(_, to) => {
                        next.entry(switch).or_default().push(to);
                        if age == 0 {
                            loops_before.entry(switch).or_default().push(to);
                        }
                        if intact.contains(&switch) && !intact.contains(&to) {
                            return Err(format!(
                                "{switch:?} has a way, and entry {age} leads to {to:?}, which has none"
                            ));
                        }
                    }
                    Fate::Lost if intact.contains(&switch) => {
                        return Err(format!("{switch:?} has a way, and entry {age} loses its packets"));
                    }
                    Fate::Wrong if fates[0] != Fate::Wrong => {
                        return Err(format!("{switch:?} sends to a wrong port by entry {age}"));
                    }
                    Fate::Home | Fate::Lost | Fate::Wrong => {}
                }
            }
        }
        let round = |edges: &BTreeMap<NodeId, Vec<NodeId>>| {
            cycle(edges.keys().copied(), |at| edges.get(&at).cloned().unwrap_or_default())
        };
        match round(&next) {
            Some(at) if round(&loops_before).is_none() => Err(format!("a mixture leads round at {at:?}")),
            _ => Ok(()),
        }
    }

    /// The switches from which packets arrive.
    pub fn intact(&self, lfts: &[Arc<Lft>], lid: Lid, owner: PortId) -> BTreeSet<NodeId> {
        let fabric = self.surviving;
        let arrives = |start: NodeId| {
            let mut at = start;
            for _ in 0..fabric.node_count() {
                match self.fate(fabric, lfts, at, lid, owner) {
                    Fate::Home => return true,
                    Fate::Switch(_, to) => at = to,
                    Fate::Lost | Fate::Wrong => return false,
                }
            }
            false
        };
        fabric.switches().filter(|&switch| arrives(switch)).collect()
    }

    /// Pairs (LID, switch) that do not arrive by the last tables, though links lead there.
    pub fn lost_at_the_end(&self) -> BTreeSet<(Lid, NodeId)> {
        let fabric = self.surviving;
        let last: &[Arc<Lft>] = self.waves.last().map_or(&self.tables.lfts, |wave| wave.1);
        let mut lost = BTreeSet::new();
        for (lid, owner) in self.lids() {
            let owned = fabric.node(fabric.port(owner).node);
            let home = if owned.is_switch() { Some(fabric.port(owner).node) } else { fabric.neighbour(owner) };
            let Some(home) = home.filter(|_| owned.present) else { continue };
            let mut near = BTreeSet::from([home]);
            let mut stack = vec![home];
            while let Some(at) = stack.pop() {
                let beyond = fabric.ports_of(at).filter_map(|port| fabric.neighbour(port));
                stack.extend(beyond.filter(|&next| fabric.node(next).is_switch() && near.insert(next)));
            }
            let intact = self.intact(last, lid, owner);
            lost.extend(near.difference(&intact).map(|&switch| (lid, switch)));
        }
        lost
    }

    /// The service levels on which a source may send to a LID.
    fn levels(&self, source: PortId, owner: PortId, lid: Lid) -> Vec<Sl> {
        let path = match self.before.half_of(lid) {
            Some(half) if half == self.half => self.before.half_lids(owner, half).position(|own| own == lid),
            Some(_) => None,
            None if self.before.node(self.before.port(owner).node).is_switch() && !self.switches => None,
            None => Some(0),
        };
        let Some(path) = path.filter(|_| source != owner) else { return Vec::new() };
        match self.ways {
            None => self.half.sls().collect(),
            Some(ways) => ways.layer(source, owner, path).map(|layer| self.half.sl_of(layer)).into_iter().collect(),
        }
    }

    /// Rule a: no ring of lanes in any mixture.
    fn follow_lanes(&self) -> Result<(), String> {
        let mut edges: Vec<BTreeSet<(Lane, Lane)>> = vec![BTreeSet::new(); self.waves.len() + 1];
        for (&lid, &owner) in &self.lids() {
            for sl in self.half.sls() {
                self.follow_class(lid, owner, sl, &mut edges);
            }
        }
        for at in 1..edges.len() {
            // What waits in one wave waits in the next, unless all of it has left.
            if at > 1 && !self.waves[at - 1].0 {
                let before = edges[at - 1].clone();
                edges[at].extend(before);
            }
        }
        for (at, edges) in edges.iter().enumerate() {
            let mut next: BTreeMap<Lane, Vec<Lane>> = BTreeMap::new();
            edges.iter().for_each(|&(from, to)| next.entry(from).or_default().push(to));
            if let Some(lane) = cycle(next.keys().copied(), |at| next.get(&at).cloned().unwrap_or_default()) {
                let when = at.checked_sub(1).map_or("before".to_string(), |wave| format!("in wave {wave}"));
                return Err(format!("{when}: a ring of lanes at {lane:?}"));
            }
        }
        Ok(())
    }

    fn follow_class(&self, lid: Lid, owner: PortId, sl: Sl, edges: &mut [BTreeSet<(Lane, Lane)>]) {
        let mut held: BTreeSet<Lane> = BTreeSet::new();
        let mut old: &[Arc<Lft>] = &self.tables.lfts;
        for (moment, edges) in edges.iter_mut().enumerate() {
            let (aged, new) = match moment {
                0 => (false, old),
                wave => self.waves[wave - 1],
            };
            let fabric = if moment == 0 { self.before } else { self.surviving };
            if aged {
                held.clear();
                let tables = [old, old];
                self.spread(Walk { fabric, lid, owner, sl, tables }, &mut held, &mut BTreeSet::new());
            }
            held.retain(|lane| fabric.peer(lane.0).is_some());
            self.spread(Walk { fabric, lid, owner, sl, tables: [old, new] }, &mut held, edges);
            if moment == 0 {
                let survives = |lane: &Lane| self.surviving.peer(lane.0).is_some();
                // What waited before the loss waits on.
                edges.retain(|(from, to)| survives(from) && survives(to));
            }
            old = new;
        }
    }

    /// Sends a class from everybody, and follows it and what is held by every entry.
    fn spread(&self, walk: Walk<'_>, held: &mut BTreeSet<Lane>, edges: &mut BTreeSet<(Lane, Lane)>) {
        let Walk { fabric, lid, owner, sl, tables } = walk;
        let lane = |switch: NodeId, input: PortNum, port: PortId| -> Lane {
            let output = fabric.port(port).num;
            (port, self.tables.sl_to_vl[switch.index()].get(input, output).get(sl))
        };
        let onward = |switch: NodeId, input: PortNum| -> Vec<Lane> {
            let fates = tables.map(|lfts| self.fate(fabric, lfts, switch, lid, owner));
            fates
                .into_iter()
                .filter_map(|fate| match fate {
                    Fate::Switch(port, _) => Some(lane(switch, input, port)),
                    _ => None,
                })
                .collect()
        };
        let mut stack: Vec<Lane> = held.iter().copied().collect();
        for source in fabric.end_ports().filter(|&source| self.levels(source, owner, lid).contains(&sl)) {
            let Some(entry) = fabric.peer(source) else { continue };
            let switch = fabric.port(entry).node;
            if fabric.node(switch).is_switch() {
                stack.extend(onward(switch, fabric.port(entry).num).into_iter().filter(|&lane| held.insert(lane)));
            }
        }
        if self.switches {
            for switch in fabric.switches() {
                let own = fabric.port_at(switch, PortNum::ZERO);
                if own.is_some_and(|own| self.levels(own, owner, lid).contains(&sl)) {
                    stack.extend(onward(switch, PortNum::ZERO).into_iter().filter(|&lane| held.insert(lane)));
                }
            }
        }
        while let Some(from) = stack.pop() {
            let Some(peer) = fabric.peer(from.0) else { continue };
            let (switch, input) = (fabric.port(peer).node, fabric.port(peer).num);
            for to in onward(switch, input) {
                if self.discards_turned_back && to.0 == peer {
                    continue;
                }
                edges.insert((from, to));
                if held.insert(to) {
                    stack.push(to);
                }
            }
        }
    }
}

/// A node on a cycle, or one that leads to one.
fn cycle<N: Ord + Copy>(nodes: impl Iterator<Item = N>, next: impl Fn(N) -> Vec<N>) -> Option<N> {
    let mut state: BTreeMap<N, bool> = BTreeMap::new();
    for start in nodes {
        let mut stack = vec![(start, false)];
        while let Some((node, left)) = stack.pop() {
            if left {
                state.insert(node, true);
                continue;
            }
            match state.get(&node) {
                Some(true) => continue,
                Some(false) => return Some(node),
                None => {}
            }
            state.insert(node, false);
            stack.push((node, true));
            for to in next(node) {
                match state.get(&to) {
                    Some(true) => {}
                    Some(false) => return Some(to),
                    None => stack.push((to, false)),
                }
            }
        }
    }
    None
}
