//! Which routers lead from one subnet to another, on the fewest crossings.
//!
//! The graph is that of subnets, with an edge for every two ports of a router in different ones. Ways that are equally
//! short are all listed, in order of ports: a router picks one by a number that is the same for packets whose order
//! matters.

use crate::fabric::subnets::{SubnetPort, Subnets};
use crate::ids::SubnetId;
use std::collections::{BTreeMap, VecDeque};

/// One way on from a router: the port that it leaves by, and where it goes in the subnet of that port.
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

    /// These ways, and those that there were `before` for routers to which nobody is led any more: what is on its way to a
    /// router that is to leave, or loses a port, goes on as it was meant to.
    #[must_use]
    pub fn keeping(mut self, before: &Routes) -> Routes {
        let each = self.onward.iter_mut().zip(&before.onward).zip(&self.named);
        each.filter(|(_, named)| !**named).for_each(|((own, old), _)| own.clone_from(old));
        self
    }

    /// The most routers that any packet crosses that sets out by these ways, at some moment of which they become
    /// `after`; a packet under way continues by what the next router uses then.
    pub fn most_crossings_until(&self, after: &Routes, subnets: &Subnets) -> u8 {
        let mut router = BTreeMap::new();
        for (rank, own) in subnets.routers().iter().enumerate() {
            router.extend(own.ports.iter().map(|&port| (port, rank)));
        }
        let mut most = self.most_crossings().max(after.most_crossings());
        for to in (0..self.subnets).map(|rank| SubnetId(rank as u16)) {
            let mut later = Farthest { routes: after, router: &router, to, then: None, known: BTreeMap::new() };
            let mut now =
                Farthest { routes: self, router: &router, to, then: Some(&mut later), known: BTreeMap::new() };
            for from in (0..self.subnets).map(|rank| SubnetId(rank as u16)) {
                let first = self.first(from, to).iter().filter_map(|port| router.get(port));
                first.for_each(|&rank| most = most.max(now.from(rank, 0)));
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

    /// The ports, in `from`, of the routers that a packet to another subnet may be sent to: subnet administration picks one.
    /// None within one subnet.
    pub fn first(&self, from: SubnetId, to: SubnetId) -> &[SubnetPort] {
        &self.first[self.slot(from, to)]
    }

    /// The ways on from a router towards a subnet.
    pub fn onward(&self, router: usize, to: SubnetId) -> &[Onward] {
        &self.onward[router * self.subnets + to.index()]
    }
}

/// How many routers are crossed at most from one on, itself included, towards one subnet.
struct Farthest<'a, 'b> {
    routes: &'a Routes,
    router: &'a BTreeMap<SubnetPort, usize>,
    to: SubnetId,
    /// By which ways it may go on from any router on.
    then: Option<&'b mut Farthest<'a, 'b>>,
    /// By router.
    known: BTreeMap<usize, u8>,
}

impl Farthest<'_, '_> {
    fn from(&mut self, router: usize, depth: usize) -> u8 {
        if let Some(&known) = self.known.get(&router) {
            return known;
        }
        // Ways come nearer at each router, so none is longer than there are routers twice.
        if depth > 2 * self.router.len() {
            return u8::MAX;
        }
        let next: Vec<usize> = self
            .routes
            .onward(router, self.to)
            .iter()
            .filter_map(|way| way.to)
            .filter_map(|port| self.router.get(&port).copied())
            .collect();
        let beyond = next.into_iter().map(|router| self.from(router, depth + 1)).max().unwrap_or(0);
        let other = self.then.as_mut().map_or(0, |then| then.from(router, depth));
        let most = beyond.saturating_add(1).max(other);
        self.known.insert(router, most);
        most
    }
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

/// Whether a router with these ports leads from a subnet to one that is a crossing nearer.
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
