//! The routers that lead from one subnet to another on the fewest crossings.
//!
//! The graph is that of subnets, with an edge for every two ports of a router in different ones. Ways that are equally
//! short are all listed, in order of ports: a router picks one by a number that is the same for packets whose order
//! matters.

use super::LevelsRule;
use crate::fabric::subnets::{SubnetPort, Subnets};
use crate::ids::SubnetId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// One way on from a router: the port by which a packet leaves, and its next target in the subnet of that port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Onward {
    /// The router's port that the packet leaves by.
    pub out: SubnetPort,
    /// The next router's port in that subnet; none where the destination is in it.
    pub to: Option<SubnetPort>,
}

/// Ways between subnets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routes {
    subnets: usize,
    /// By (from, to): routers to cross; none where none lead there.
    crossings: Vec<Option<u8>>,
    /// By (from, to): the first routers' ports in `from`.
    first: Vec<Vec<SubnetPort>>,
    /// By (router, to): the ways on.
    onward: Vec<Vec<Onward>>,
    /// By subnet: its place in the order of subnets.
    order: Vec<u16>,
    /// By (router, to): whether new packets come to the router for there.
    named: Vec<bool>,
}

impl Routes {
    /// The ways through the routers for whose ports `uses` holds.
    pub fn new(subnets: &Subnets, uses: impl Fn(SubnetPort) -> bool) -> Routes {
        let count = subnets.len();
        let ports: Vec<Vec<SubnetPort>> = subnets
            .routers()
            .iter()
            .map(|router| router.ports.iter().copied().filter(|&at| uses(at)).collect())
            .collect();
        let all = || (0..count).map(|rank| SubnetId(rank as u16));
        let mut routes = Routes {
            subnets: count,
            crossings: vec![None; count * count],
            first: vec![Vec::new(); count * count],
            onward: vec![Vec::new(); ports.len() * count],
            order: order(subnets),
            named: vec![false; ports.len() * count],
        };
        for to in all() {
            let far = distances(&ports, count, to);
            for from in all() {
                let slot = routes.slot(from, to);
                routes.crossings[slot] = far[from.index()];
                routes.first[slot] = first(&ports, &far, from, to);
            }
            for (router, own) in ports.iter().enumerate() {
                let slot = router * count + to.index();
                routes.onward[slot] = onward(&ports, &far, router, own, to);
                routes.named[slot] = own.iter().any(|port| leads(own, &far, port.subnet));
            }
        }
        routes
    }

    /// The ways through all routers.
    pub fn all(subnets: &Subnets) -> Routes {
        Routes::new(subnets, |_| true)
    }

    /// These ways, and those that there were `before` for routers to which no way leads any more: a packet on its way
    /// to a router that is to leave, or loses a port, goes on as intended.
    #[must_use]
    pub fn keeping(mut self, before: &Routes) -> Routes {
        let each = self.onward.iter_mut().zip(&before.onward).zip(&self.named);
        each.filter(|(_, named)| !**named).for_each(|((own, old), _)| own.clone_from(old));
        self
    }

    /// Returns whether a crossing leads to a subnet that is later in the order of subnets: that in which a search from
    /// the first subnet finds them, over all routers, whichever are in use. None where it leads back into the same
    /// subnet, as for a packet whose ways change while it is under way. Where the graph of subnets has no cycle, no
    /// shortest way rises after it has fallen.
    pub fn falls(&self, from: SubnetId, to: SubnetId) -> Option<bool> {
        (from != to).then(|| self.order[from.index()] < self.order[to.index()])
    }

    /// The most routers on a way at which a rule raises the service level.
    pub fn most_raises(&self, rule: LevelsRule, subnets: &Subnets) -> u8 {
        self.most_raises_until(rule, self, subnets)
    }

    /// The most routers at which a rule raises the service level of a packet that sets out on these ways or on `after`,
    /// if the first become the second at some moment; a packet in flight continues on the ways that the next router
    /// uses then.
    pub fn most_raises_until(&self, rule: LevelsRule, after: &Routes, subnets: &Subnets) -> u8 {
        let mut router = BTreeMap::new();
        for (rank, own) in subnets.routers().iter().enumerate() {
            router.extend(own.ports.iter().map(|&port| (port, rank)));
        }
        let turns = rule == LevelsRule::Turn;
        let mut most = 0;
        for to in (0..self.subnets).map(|rank| SubnetId(rank as u16)) {
            let mut later = Farthest { routes: after, turns, router: &router, to, then: None, known: BTreeMap::new() };
            let mut now =
                Farthest { routes: self, turns, router: &router, to, then: Some(&mut later), known: BTreeMap::new() };
            for from in (0..self.subnets).map(|rank| SubnetId(rank as u16)) {
                // `now` continues from each router by ways of either kind, so it covers packets sent after the change.
                let first = self.first(from, to).iter().chain(after.first(from, to));
                let first = first.filter_map(|port| router.get(port));
                first.for_each(|&router| most = most.max(now.from(At { router, from, falling: false }, 0)));
            }
        }
        most
    }

    fn slot(&self, from: SubnetId, to: SubnetId) -> usize {
        from.index() * self.subnets + to.index()
    }

    /// Routers that a packet from one subnet to another crosses: 0 within one; none where none lead there.
    pub fn crossings(&self, from: SubnetId, to: SubnetId) -> Option<u8> {
        self.crossings[self.slot(from, to)]
    }

    /// The most routers that any packet crosses.
    pub fn most_crossings(&self) -> u8 {
        self.crossings.iter().flatten().copied().max().unwrap_or(0)
    }

    /// The ports, in `from`, of the routers that a packet to another subnet may be sent to: subnet administration picks
    /// one. None within one subnet.
    pub fn first(&self, from: SubnetId, to: SubnetId) -> &[SubnetPort] {
        &self.first[self.slot(from, to)]
    }

    /// The ways on from a router towards a subnet.
    pub fn onward(&self, router: usize, to: SubnetId) -> &[Onward] {
        &self.onward[router * self.subnets + to.index()]
    }
}

/// A packet at a router.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    router: usize,
    /// The subnet that it comes from.
    from: SubnetId,
    /// Whether its way fell last; none has at the source.
    falling: bool,
}

/// The greatest number of times that the level is raised from one router on, that one included, towards one subnet.
struct Farthest<'a, 'b> {
    routes: &'a Routes,
    /// Whether only at turns.
    turns: bool,
    router: &'a BTreeMap<SubnetPort, usize>,
    to: SubnetId,
    /// By which ways it may go on from any router on.
    then: Option<&'b mut Farthest<'a, 'b>>,
    known: BTreeMap<At, u8>,
}

impl Farthest<'_, '_> {
    fn from(&mut self, at: At, depth: usize) -> u8 {
        if let Some(&known) = self.known.get(&at) {
            return known;
        }
        // Ways come nearer at each router, so none is longer than there are routers twice.
        if depth > 2 * self.router.len() {
            return u8::MAX;
        }
        let routes = self.routes;
        let mut most = 0;
        for way in routes.onward(at.router, self.to) {
            let falls = routes.falls(at.from, way.out.subnet);
            let raised = u8::from(!self.turns || falls != Some(at.falling));
            // A layer higher is one of the other kind.
            let falling = falls.unwrap_or(!at.falling);
            let next = way.to.and_then(|port| self.router.get(&port)).copied();
            let beyond = next.map(|router| self.from(At { router, from: way.out.subnet, falling }, depth + 1));
            most = most.max(beyond.unwrap_or(0).saturating_add(raised));
        }
        let most = most.max(self.then.as_mut().map_or(0, |then| then.from(at, depth)));
        self.known.insert(at, most);
        most
    }
}

/// By subnet: when a search from the first one finds it.
fn order(subnets: &Subnets) -> Vec<u16> {
    let mut found: Vec<SubnetId> = Vec::new();
    for (start, _) in subnets.subnets() {
        let mut next = found.len();
        if !found.contains(&start) {
            found.push(start);
        }
        while let Some(&at) = found.get(next) {
            next += 1;
            for router in subnets.routers().iter().filter(|router| router.ports.iter().any(|port| port.subnet == at)) {
                let new = router.ports.iter().map(|port| port.subnet).filter(|id| !found.contains(id));
                let new: BTreeSet<SubnetId> = new.collect();
                found.extend(new);
            }
        }
    }
    let mut order = vec![0; subnets.len()];
    found.iter().zip(0..).for_each(|(id, place)| order[id.index()] = place);
    order
}

/// By subnet: the fewest routers between it and `to`.
fn distances(ports: &[Vec<SubnetPort>], subnets: usize, to: SubnetId) -> Vec<Option<u8>> {
    let mut far: Vec<Option<u8>> = vec![None; subnets];
    far[to.index()] = Some(0);
    let mut queue = VecDeque::from([to]);
    while let Some(at) = queue.pop_front() {
        let next = far[at.index()].and_then(|far| far.checked_add(1));
        for router in ports.iter().filter(|router| router.iter().any(|port| port.subnet == at)) {
            for port in router {
                if far[port.subnet.index()].is_none() && next.is_some() {
                    far[port.subnet.index()] = next;
                    queue.push_back(port.subnet);
                }
            }
        }
    }
    far
}

/// Returns whether a router with these ports leads from a subnet to one that is a crossing nearer.
fn leads(own: &[SubnetPort], far: &[Option<u8>], from: SubnetId) -> bool {
    let nearer = far[from.index()].and_then(|far| far.checked_sub(1));
    nearer.is_some() && own.iter().any(|port| far[port.subnet.index()] == nearer)
}

fn first(ports: &[Vec<SubnetPort>], far: &[Option<u8>], from: SubnetId, to: SubnetId) -> Vec<SubnetPort> {
    let leading = ports.iter().filter(|own| from != to && leads(own, far, from));
    let mut found: Vec<SubnetPort> =
        leading.flat_map(|own| own.iter().copied().filter(|port| port.subnet == from)).collect();
    found.sort_unstable();
    found
}

fn onward(
    ports: &[Vec<SubnetPort>],
    far: &[Option<u8>],
    router: usize,
    own: &[SubnetPort],
    to: SubnetId,
) -> Vec<Onward> {
    let nearest = own.iter().filter_map(|port| far[port.subnet.index()]).min();
    let mut found = Vec::new();
    for &out in own.iter().filter(|port| nearest.is_some() && far[port.subnet.index()] == nearest) {
        if out.subnet == to {
            found.push(Onward { out, to: None });
            continue;
        }
        let others = ports.iter().enumerate().filter(|&(other, own)| other != router && leads(own, far, out.subnet));
        let next = others.flat_map(|(_, own)| own.iter().copied().filter(|port| port.subnet == out.subnet));
        found.extend(next.map(|next| Onward { out, to: Some(next) }));
    }
    found.sort_unstable();
    found
}
