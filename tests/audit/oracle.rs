//! The definition, as slow as it is plain: every pair of source and DLID by itself, every choice at every switch, sets
//! of lanes and dependencies, components by petgraph.

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use reconfig::audit::{Audit, AuditRules, RoutingSnapshot};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Lid, PortNum, Sl, Vl};
use std::collections::{BTreeMap, BTreeSet};

/// A channel by the port that sends into it, and a VL.
type Lane = (u32, u8);

/// What a packet can be said to do next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Next {
    Into(Lane),
    Arrives,
    Vanishes,
    Hole(NodeId),
    Laneless(NodeId),
    Wrong(PortId),
}

/// What the audit tells in numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Numbers {
    pub components: Vec<usize>,
    pub has_loops: bool,
    pub holes: usize,
    pub wrong: usize,
    pub unreachable: usize,
    pub pairs: usize,
    pub lanes: usize,
    pub channels: usize,
    pub dependencies: usize,
}

impl Numbers {
    /// Of an audit.
    pub fn of(audit: &Audit) -> Numbers {
        Numbers {
            components: audit.credit_loops.components.iter().map(|component| component.lanes).collect(),
            has_loops: audit.loops.count > 0,
            holes: audit.black_holes.count,
            wrong: audit.wrong_arrivals.count,
            unreachable: audit.unreachable_pairs.count,
            pairs: audit.pairs,
            lanes: audit.lanes,
            channels: audit.channels,
            dependencies: audit.dependencies,
        }
    }
}

/// One moment: what is there, and the tables that may be met.
struct Moment<'a> {
    fabric: &'a Fabric,
    /// What was there before, where elements left or came.
    before: Option<&'a Fabric>,
    tables: Vec<RoutingSnapshot<'a>>,
    rules: AuditRules,
}

/// What is collected over all pairs.
#[derive(Default)]
struct Found {
    lanes: BTreeSet<Lane>,
    dependencies: BTreeSet<(Lane, Lane)>,
    holes: BTreeSet<(NodeId, Lid)>,
    laneless: BTreeSet<(NodeId, Lid)>,
    wrong: BTreeSet<(PortId, Lid)>,
    unreachable: BTreeSet<(PortId, Lid)>,
    has_loops: bool,
}

/// Judges one routing.
pub fn audit(now: RoutingSnapshot<'_>, rules: AuditRules) -> Numbers {
    let moment = Moment { fabric: now.fabric, before: None, tables: vec![now], rules };
    judge(&moment, None)
}

/// Judges every mixture of two routings.
pub fn mixtures(before: RoutingSnapshot<'_>, after: RoutingSnapshot<'_>, rules: AuditRules) -> Numbers {
    let earlier = Moment { fabric: before.fabric, before: None, tables: vec![before], rules };
    let during = Moment { fabric: after.fabric, before: Some(before.fabric), tables: vec![before, after], rules };
    judge(&during, Some(&earlier))
}

fn judge(now: &Moment<'_>, earlier: Option<&Moment<'_>>) -> Numbers {
    let mut found = Found::default();
    let mut pairs = 0;
    let fabrics: Vec<&Fabric> = now.before.into_iter().chain([now.fabric]).collect();
    let sent_to = |port: PortId| fabrics.iter().any(|fabric| counts(fabric, port, now.rules));
    for (owner, lid) in lids(now.fabric).into_iter().filter(|&(owner, _)| sent_to(owner)) {
        let lenient =
            now.before.is_some() && !fabrics.iter().all(|fabric| fabric.lid_ports().any(|port| port == owner));
        for source in now.fabric.lid_ports().chain(now.before.into_iter().flat_map(|before| before.lid_ports())) {
            if source == owner || now.fabric.port(source).lid.is_none() {
                continue;
            }
            if counts(now.fabric, source, now.rules) {
                now.send(source, owner, lid, lenient, &mut found);
            }
            if let Some(earlier) = earlier.filter(|earlier| counts(earlier.fabric, source, now.rules)) {
                now.carry_over(earlier, source, owner, lid, lenient, &mut found);
            }
        }
        if !lenient {
            let sources = now.fabric.lid_ports().filter(|&port| counts(now.fabric, port, now.rules));
            pairs += sources.filter(|&port| port != owner && now.fabric.port(port).lid.is_some()).count();
        }
    }
    found.told(pairs)
}

/// Whether a port sends and is sent to.
fn counts(fabric: &Fabric, port: PortId, rules: AuditRules) -> bool {
    let is_switch = fabric.node(fabric.port(port).node).is_switch();
    (rules.switches || !is_switch) && fabric.lid_ports().any(|known| known == port)
}

fn lids(fabric: &Fabric) -> Vec<(PortId, Lid)> {
    let owned = |(id, port): (PortId, &reconfig::fabric::Port)| {
        let range = port.lid.map(|lid| lid.0..lid.0 + port.lmc.lids());
        range.into_iter().flatten().map(move |lid| (id, Lid(lid))).collect::<Vec<_>>()
    };
    fabric.ports().flat_map(owned).collect()
}

impl Found {
    fn told(self, pairs: usize) -> Numbers {
        let node = |(channel, vl): Lane| channel * 16 + u32::from(vl);
        let mut graph = DiGraphMap::<u32, ()>::new();
        for &(from, to) in &self.dependencies {
            graph.add_edge(node(from), node(to), ());
        }
        let parts = tarjan_scc(&graph).into_iter();
        let tied = parts.filter(|part| part.len() > 1 || graph.contains_edge(part[0], part[0]));
        let mut components: Vec<usize> = tied.map(|part| part.len()).collect();
        components.sort_unstable_by(|a, b| b.cmp(a));
        let channels: BTreeSet<u32> = self.lanes.iter().map(|lane| lane.0).collect();
        Numbers {
            components,
            has_loops: self.has_loops,
            holes: self.holes.len() + self.laneless.len(),
            wrong: self.wrong.len(),
            unreachable: self.unreachable.len(),
            pairs,
            lanes: self.lanes.len(),
            channels: channels.len(),
            dependencies: self.dependencies.len(),
        }
    }
}

impl Moment<'_> {
    fn level(&self, tables: &RoutingSnapshot<'_>, source: PortId, owner: PortId, lid: Lid) -> Option<Sl> {
        let Some(sls) = tables.path_sls else { return Some(Sl::default()) };
        let is_switch = |port: PortId| self.fabric.node(self.fabric.port(port).node).is_switch();
        let excused = !sls.tells_of(source) || is_switch(source) || is_switch(owner);
        sls.get(source, lid).or(if excused { Some(Sl::default()) } else { None })
    }

    /// Old and new, as far as both ends were there, and are.
    fn levels(&self, source: PortId, owner: PortId, lid: Lid) -> Vec<Option<Sl>> {
        let node = |port: PortId| self.fabric.port(port).node;
        let there = |fabric: &Fabric, port| fabric.node(node(port)).present;
        let Some(before) = self.before else { return vec![self.level(&self.tables[0], source, owner, lid)] };
        let mut levels = Vec::new();
        if there(before, source) && there(before, owner) {
            levels.push(self.level(&self.tables[0], source, owner, lid));
        }
        if there(self.fabric, owner) {
            levels.push(self.level(&self.tables[1], source, owner, lid));
        }
        levels
    }

    fn lane(&self, tables: &RoutingSnapshot<'_>, node: NodeId, input: PortNum, output: PortNum, sl: Sl) -> Option<u8> {
        let identity = Vl::masked(self.rules.data_vls.map_or(sl.get(), |vls| sl.get() % vls));
        let vl = match tables.sl_to_vl.filter(|dump| dump.tells_of(node)) {
            None => identity,
            Some(dump) => match dump.get(node, input, output) {
                Some(table) => table.get(sl),
                None if input == PortNum::ZERO => identity,
                None => return None,
            },
        };
        (vl.get() < self.rules.data_vls.unwrap_or(15)).then_some(vl.get())
    }

    fn out_of(&self, port: PortId) -> bool {
        self.fabric.peer(port).is_some()
    }

    /// All that a packet can do at a switch.
    fn at_switch(&self, node: NodeId, input: PortNum, owner: PortId, lid: Lid, sl: Sl) -> BTreeSet<Next> {
        let mut next = BTreeSet::new();
        for entries in &self.tables {
            let Some(output) = entries.lfts[node.index()].get(lid) else {
                next.insert(Next::Hole(node));
                continue;
            };
            let port = self.fabric.port_at(node, output).expect("the tests stay within the ports");
            if output == PortNum::ZERO {
                next.insert(if port == owner { Next::Arrives } else { Next::Wrong(port) });
            } else if self.out_of(port) {
                for tables in &self.tables {
                    let lane = self.lane(tables, node, input, output, sl);
                    next.insert(lane.map_or(Next::Laneless(node), |vl| Next::Into((port.0, vl))));
                }
            } else if self.before.is_some_and(|before| before.peer(port).is_some()) {
                next.insert(Next::Vanishes);
            } else {
                next.insert(Next::Hole(node));
            }
        }
        next
    }

    /// All that a packet in a lane can do.
    fn in_lane(&self, lane: Lane, owner: PortId, lid: Lid, sl: Sl) -> BTreeSet<Next> {
        let peer = self.fabric.peer(PortId(lane.0)).expect("an occupied channel has a cable");
        let end = self.fabric.port(peer);
        match self.fabric.node(end.node).is_switch() {
            true => self.at_switch(end.node, end.num, owner, lid, sl),
            false => BTreeSet::from([if peer == owner { Next::Arrives } else { Next::Wrong(peer) }]),
        }
    }

    /// All that a source can do with a packet.
    fn first(&self, source: PortId, owner: PortId, lid: Lid, sl: Sl) -> BTreeSet<Next> {
        let port = self.fabric.port(source);
        if self.fabric.node(port.node).is_switch() {
            return self.at_switch(port.node, PortNum::ZERO, owner, lid, sl);
        }
        let lanes = self.tables.iter().map(|tables| self.lane(tables, port.node, PortNum::ZERO, port.num, sl));
        lanes.map(|lane| lane.map_or(Next::Laneless(port.node), |vl| Next::Into((source.0, vl)))).collect()
    }

    fn send(&self, source: PortId, owner: PortId, lid: Lid, lenient: bool, found: &mut Found) {
        for level in self.levels(source, owner, lid) {
            let lost = match level {
                None => true,
                Some(sl) => self.spread(self.first(source, owner, lid, sl), owner, lid, sl, lenient, found),
            };
            if lost && !lenient {
                found.unreachable.insert((source, lid));
            }
        }
    }

    /// What a pair's packets held before, as far as it is still there, goes on.
    fn carry_over(
        &self,
        earlier: &Moment<'_>,
        source: PortId,
        owner: PortId,
        lid: Lid,
        lenient: bool,
        found: &mut Found,
    ) {
        let Some(sl) = earlier.level(&earlier.tables[0], source, owner, lid) else { return };
        let mut held = Found::default();
        earlier.spread(earlier.first(source, owner, lid, sl), owner, lid, sl, false, &mut held);
        let left = held.lanes.into_iter().filter(|lane| self.out_of(PortId(lane.0)));
        self.spread(left.map(Next::Into).collect(), owner, lid, sl, lenient, found);
    }

    /// Follows packets to the end; whether some may be lost.
    fn spread(&self, start: BTreeSet<Next>, owner: PortId, lid: Lid, sl: Sl, lenient: bool, found: &mut Found) -> bool {
        let mut edges: BTreeMap<Lane, BTreeSet<Lane>> = BTreeMap::new();
        let mut left: Vec<Next> = start.into_iter().collect();
        let mut lost = false;
        while let Some(next) = left.pop() {
            match next {
                Next::Into(lane) if !edges.contains_key(&lane) => {
                    found.lanes.insert(lane);
                    let following = self.in_lane(lane, owner, lid, sl);
                    let lanes = following.iter().filter_map(|next| match next {
                        Next::Into(lane) => Some(*lane),
                        _ => None,
                    });
                    let lanes: BTreeSet<Lane> = lanes.collect();
                    found.dependencies.extend(lanes.iter().map(|&to| (lane, to)));
                    edges.insert(lane, lanes);
                    left.extend(following);
                }
                Next::Into(_) | Next::Arrives | Next::Vanishes => {}
                Next::Hole(node) => {
                    lost = true;
                    if !lenient {
                        found.holes.insert((node, lid));
                    }
                }
                Next::Laneless(node) => {
                    lost = true;
                    if !lenient {
                        found.laneless.insert((node, lid));
                    }
                }
                Next::Wrong(at) => {
                    lost = true;
                    found.wrong.insert((at, lid));
                }
            }
        }
        let mut graph = DiGraphMap::<u32, ()>::new();
        let node = |(channel, _): Lane| channel;
        edges.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to))).for_each(|(from, to)| {
            graph.add_edge(node(*from), node(*to), ());
        });
        let round = petgraph::algo::is_cyclic_directed(&graph);
        found.has_loops |= round;
        lost || round
    }
}
