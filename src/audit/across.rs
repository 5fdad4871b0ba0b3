//! Every path between hosts of several subnets, followed through switches and routers to its end.
//!
//! On entry a [`Question`]: forwarding tables of each subnet, the ways between subnets, and how routers pick levels. On
//! return [`PathAudit`]: for every ordered pair of hosts, in one subnet or in two, for every LID of every port on the
//! way and for every router that a flow may pick, whether the packet arrives at the owner. Paths are counted by the
//! number of routers crossed, with the longest path and the faults. Where there are partitions, pairs that share none
//! are counted apart and not followed, and ports of routers that enforce them discard. A leg within a subnet depends
//! only on the switch that it begins at and the LID, so each is followed once. Deliberately omitted: deadlock
//! (`verify::across`), lanes and service levels within a subnet ([`super::audit`]).

use super::finding::Findings;
use crate::fabric::subnets::{SubnetPort, Subnets};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Lid, PKey, SubnetId};
use crate::routers::{Levels, LevelsRule, Partitioning, Routes};
use crate::tables::{LidFate, LidFates, SubnetTables};
use crate::verify::Scope;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The routing of one subnet.
#[derive(Clone, Debug)]
pub struct SubnetRouting<'a> {
    /// Its tables; indices are those of the subnet.
    pub tables: &'a SubnetTables,
    /// The LIDs that are in use.
    pub scope: Scope,
}

/// The paths to follow.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The subnets, LIDs assigned.
    pub subnets: &'a Subnets,
    /// The routing of each, in the order of the subnets.
    pub routings: &'a [SubnetRouting<'a>],
    /// The ways between them.
    pub routes: &'a Routes,
    /// The rule by which routers pick service levels.
    pub levels: Levels,
    /// The hop limit that sources give.
    pub hop_limit: u8,
    /// The partitions, where not every pair of hosts may communicate.
    pub partitioning: Option<&'a Partitioning>,
}

/// The results for the paths.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct PathAudit {
    /// Paths by routers crossed, from none on; numbers of crossings that no pair has are omitted.
    pub by_crossings: Vec<CrossingPaths>,
    /// Ordered pairs between which no router leads at all.
    pub apart: u64,
    /// Ordered pairs that share no partition, and so have no path; none where there are no partitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parted: Option<u64>,
    /// Pairs of which a path does not arrive, and those that are apart.
    pub faulty_pairs: u64,
    /// The first of them; of those that one port of a router discards with one key, one.
    pub faults: Vec<PathFault>,
}

/// Pairs of hosts that are so many routers apart.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct CrossingPaths {
    /// Routers on each path.
    pub crossings: u8,
    /// Ordered pairs of hosts.
    pub pairs: u64,
    /// Paths between them: each LID of each port on the way, each router that a flow may pick.
    pub paths: u64,
    /// Those that do not arrive.
    pub lost: u64,
    /// The most switches on a path that arrives.
    pub longest: u32,
}

/// A pair of hosts between which packets are lost on some path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct PathFault {
    /// The host that sends, with its subnet.
    pub source: String,
    /// The host that is sent to.
    pub destination: String,
    /// The fate of the packets.
    pub why: Stray,
}

/// The fate of a packet that does not arrive.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Stray {
    /// No router leads to the destination's subnet.
    NoRouter,
    /// A switch has no route, or one to a port without a cable.
    Hole {
        /// The switch, with its subnet.
        switch: String,
        /// The LID.
        lid: Lid,
    },
    /// Switches send it round.
    Loop {
        /// The subnet.
        subnet: String,
        /// The LID.
        lid: Lid,
    },
    /// It comes to a port that does not own its LID.
    Wrong {
        /// The port, with its subnet.
        port: String,
        /// The LID.
        lid: Lid,
    },
    /// More routers are on the way than its hop limit allows.
    HopLimit,
    /// More routers are on the way than there are layers of service levels for.
    Layers,
    /// A router's port enforces partitions, and its table has no key that matches.
    Partition {
        /// The router's port, with its subnet.
        port: String,
        /// The key of the packets, as their sender has it.
        p_key: PKey,
        /// Whether the packet is discarded as it enters by that port; otherwise as it leaves by it.
        inbound: bool,
    },
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stray::NoRouter => f.write_str("no router leads there"),
            Stray::Hole { switch, lid } => write!(f, "{switch} has no route for LID {lid}"),
            Stray::Loop { subnet, lid } => write!(f, "switches of {subnet} send LID {lid} round"),
            Stray::Wrong { port, lid } => write!(f, "LID {lid} leads to {port}, which does not own it"),
            Stray::HopLimit => f.write_str("the hop limit is below what its routers take"),
            Stray::Layers => f.write_str("its routers are more than there are layers of service levels for"),
            Stray::Partition { port, p_key, inbound } => {
                let way = if *inbound { "in" } else { "out" };
                write!(f, "{port} does not let P_Key {p_key} {way}: it is no full member of that partition")
            }
        }
    }
}

impl PathAudit {
    /// Ordered pairs of hosts, but for those that share no partition.
    pub fn pairs(&self) -> u64 {
        self.apart + self.by_crossings.iter().map(|found| found.pairs).sum::<u64>()
    }

    /// Returns whether every path arrives.
    pub fn is_sound(&self) -> bool {
        self.faulty_pairs == 0
    }
}

/// Follows every path.
///
/// Panics where there are not as many routings as subnets.
pub fn check_paths(question: &Question<'_>) -> PathAudit {
    assert_eq!(question.routings.len(), question.subnets.len(), "a routing for each subnet");
    let (legs, found, faults) = (BTreeMap::new(), BTreeMap::new(), Findings::default());
    let mut survey = Survey { question, legs, found, apart: 0, parted: 0, faults };
    let hosts: Vec<SubnetPort> = question.subnets.subnets().flat_map(|(subnet, _)| question.hosts(subnet)).collect();
    for &destination in &hosts {
        // All packets that cross a router with one key share the rest of their way, so it is followed once for each
        // destination.
        let mut behind = BTreeMap::new();
        for &source in hosts.iter().filter(|&&source| source != destination) {
            match question.p_key(source, destination) {
                Some(p_key) => survey.pair(source, Flow { destination, p_key }, &mut behind),
                None => survey.parted += 1,
            }
        }
    }
    PathAudit {
        by_crossings: survey.found.into_values().collect(),
        apart: survey.apart,
        parted: question.partitioning.map(|_| survey.parted),
        faulty_pairs: survey.faults.count as u64,
        faults: survey.faults.first,
    }
}

impl Question<'_> {
    fn fabric(&self, subnet: SubnetId) -> &Fabric {
        self.subnets.fabric(subnet)
    }

    /// The hosts of a subnet that have a LID.
    fn hosts(&self, subnet: SubnetId) -> impl Iterator<Item = SubnetPort> + '_ {
        let has_lid = move |port: &PortId| self.fabric(subnet).port(*port).lid.is_some();
        self.subnets.hosts(subnet).filter(has_lid).map(move |port| SubnetPort { subnet, port })
    }

    fn lids(&self, at: SubnetPort) -> Vec<Lid> {
        let halves = &self.routings[at.subnet.index()].scope.halves;
        halves.iter().flat_map(|&half| self.fabric(at.subnet).half_lids(at.port, half)).collect()
    }

    /// The key of packets from a host to another; none where they share no partition.
    fn p_key(&self, from: SubnetPort, to: SubnetPort) -> Option<PKey> {
        self.partitioning.map_or(Some(PKey::DEFAULT), |own| own.keys.shared(from, to))
    }

    /// Why a router's port discards a key.
    fn discards(&self, at: SubnetPort, p_key: PKey, inbound: bool) -> Option<Stray> {
        let own = self.partitioning?;
        let admitted = if inbound { own.admits_in(at, p_key) } else { own.admits_out(at, p_key) };
        let port = || self.subnets.describe_port(at);
        (!admitted).then(|| Stray::Partition { port: port(), p_key, inbound })
    }

    /// `subnet:name`.
    fn named(&self, subnet: SubnetId, name: String) -> String {
        format!("{}:{name}", self.subnets.subnet(subnet).name)
    }
}

/// Paths from somewhere to a destination.
#[derive(Clone, Default)]
struct Paths {
    count: u64,
    lost: u64,
    longest: u32,
    why: Option<Stray>,
}

impl Paths {
    fn one() -> Paths {
        Paths { count: 1, ..Paths::default() }
    }

    fn lost(count: u64, why: Stray) -> Paths {
        Paths { count, lost: count, longest: 0, why: Some(why) }
    }

    /// All of them lost, if there is a reason.
    fn unless(self, why: Option<Stray>) -> Paths {
        match why {
            Some(why) => Paths::lost(self.count, why),
            None => self,
        }
    }

    fn add(&mut self, other: Paths) {
        self.count += other.count;
        self.lost += other.lost;
        self.longest = self.longest.max(other.longest);
        self.why = self.why.take().or(other.why);
    }
}

struct Survey<'a> {
    question: &'a Question<'a>,
    /// By subnet and LID.
    legs: BTreeMap<(SubnetId, Lid), LidFates<'a>>,
    found: BTreeMap<u8, CrossingPaths>,
    apart: u64,
    parted: u64,
    /// Of pairs; the evidence is that of [`PathAudit::faults`].
    faults: Findings<PathFault>,
}

/// The destination of packets, and the key that they carry all the way.
#[derive(Clone, Copy)]
struct Flow {
    destination: SubnetPort,
    p_key: PKey,
}

/// By router and key: the paths on from there to a destination.
type Behind = BTreeMap<(usize, PKey), Paths>;

impl Survey<'_> {
    fn pair(&mut self, source: SubnetPort, flow: Flow, behind: &mut Behind) {
        let (question, destination) = (self.question, flow.destination);
        let Some(crossings) = question.routes.crossings(source.subnet, destination.subnet) else {
            self.apart += 1;
            self.fault(source, destination, Stray::NoRouter);
            return;
        };
        let within = [destination];
        let first = question.routes.first(source.subnet, destination.subnet);
        let targets = if source.subnet == destination.subnet { &within[..] } else { first };
        let mut all = Paths::default();
        for &target in targets {
            let rest = self.behind(target, flow, behind);
            all.add(self.leg(source, target, &rest));
        }
        all = all.unless(question.forbids(crossings));
        let found = self.found.entry(crossings).or_insert(CrossingPaths { crossings, ..CrossingPaths::default() });
        found.pairs += 1;
        found.paths += all.count;
        found.lost += all.lost;
        found.longest = found.longest.max(all.longest);
        if let Some(why) = all.why.filter(|_| all.lost > 0) {
            self.fault(source, destination, why);
        }
    }

    fn fault(&mut self, source: SubnetPort, destination: SubnetPort, why: Stray) {
        // One key that one port lacks affects many pairs: the first is shown.
        let is_shown = |fault: &PathFault| matches!(why, Stray::Partition { .. }) && fault.why == why;
        if self.faults.first.iter().any(is_shown) {
            self.faults.count += 1;
            return;
        }
        let name = |at| self.question.subnets.describe_port(at);
        self.faults.add(|| PathFault { source: name(source), destination: name(destination), why });
    }

    /// The paths on from a port that a leg ends at: one where it is the destination; else those of its router.
    fn behind(&mut self, at: SubnetPort, flow: Flow, known: &mut Behind) -> Paths {
        if at == flow.destination {
            return Paths::one();
        }
        let Some(router) = self.question.subnets.router_of(at) else { return Paths::lost(1, Stray::NoRouter) };
        self.through(router, flow, known).unless(self.question.discards(at, flow.p_key, true))
    }

    /// The paths on from a router that has let a packet in.
    fn through(&mut self, router: usize, flow: Flow, known: &mut Behind) -> Paths {
        let Flow { destination, p_key } = flow;
        if let Some(paths) = known.get(&(router, p_key)) {
            return paths.clone();
        }
        let mut all = Paths::default();
        // Each way on is a crossing nearer to the destination, so the recursion ends.
        for onward in self.question.routes.onward(router, destination.subnet) {
            let target = onward.to.unwrap_or(destination);
            let rest = self.behind(target, flow, known);
            let leg = self.leg(onward.out, target, &rest);
            all.add(leg.unless(self.question.discards(onward.out, p_key, false)));
        }
        known.insert((router, p_key), all.clone());
        all
    }

    /// The paths by each LID of `to`, and on.
    fn leg(&mut self, from: SubnetPort, to: SubnetPort, rest: &Paths) -> Paths {
        let mut all = Paths::default();
        for lid in self.question.lids(to) {
            all.add(match self.fate(from, lid) {
                LidFate::Arrives(switches) => Paths { longest: reached(rest, switches), ..rest.clone() },
                fate => Paths::lost(rest.count, self.question.stray(from.subnet, lid, fate)),
            });
        }
        all
    }

    fn fate(&mut self, from: SubnetPort, lid: Lid) -> LidFate {
        let question = self.question;
        let (fabric, tables) = (question.fabric(from.subnet), question.routings[from.subnet.index()].tables);
        let Some(switch) = fabric.neighbour(from.port) else { return LidFate::Hole(fabric.port(from.port).node) };
        self.legs.entry((from.subnet, lid)).or_insert_with(|| LidFates::new(fabric, &tables.lfts, lid)).of(switch)
    }
}

/// The longest path, with so many switches before it; 0 where none arrives.
fn reached(rest: &Paths, switches: u32) -> u32 {
    if rest.lost < rest.count { rest.longest + switches } else { 0 }
}

impl Question<'_> {
    /// Why no packet crosses so many routers.
    fn forbids(&self, crossings: u8) -> Option<Stray> {
        if crossings >= self.hop_limit.max(1) && crossings > 0 {
            return Some(Stray::HopLimit);
        }
        // Where levels rise at turns, there are as many layers as the longest way needs.
        let raised = self.levels.rule() == LevelsRule::Raise;
        (raised && crossings >= self.levels.layers()).then_some(Stray::Layers)
    }

    fn stray(&self, subnet: SubnetId, lid: Lid, fate: LidFate) -> Stray {
        let fabric = self.fabric(subnet);
        match fate {
            LidFate::Hole(switch) => Stray::Hole { switch: self.named(subnet, fabric.describe_node(switch)), lid },
            LidFate::Wrong(port) => Stray::Wrong { port: self.named(subnet, fabric.describe_port(port)), lid },
            LidFate::Loop | LidFate::Arrives(_) => {
                Stray::Loop { subnet: self.subnets.subnet(subnet).name.clone(), lid }
            }
        }
    }
}
