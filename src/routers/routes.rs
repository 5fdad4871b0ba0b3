//! Which routers lead from one subnet to another, on the fewest crossings.
//!
//! The graph is that of subnets, with an edge for every two ports of a router in different ones. Ways that are equally short
//! are all listed, in order of ports: who picks one goes by a number that is the same for packets whose order matters.

use crate::fabric::subnets::{SubnetPort, Subnets};
use crate::ids::SubnetId;
use std::collections::VecDeque;

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
    /// By (router, to): whether anybody is told to send to it.
    leads: Vec<bool>,
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
            leads: vec![false; ports.len() * count],
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
                routes.leads[slot] = own.iter().any(|port| leads(own, &far, port.subnet));
            }
        }
        routes
    }

    /// The ways through all routers.
    pub fn all(subnets: &Subnets) -> Routes {
        Routes::new(subnets, |_| true)
    }

    /// These ways, and for routers that nobody is told to send to any more those that they had `before`: what is on its way
    /// to a router that is to leave, or that loses the port it led on by, goes on.
    #[must_use]
    pub fn keeping(mut self, before: &Routes) -> Routes {
        let ways = self.onward.iter_mut().zip(&before.onward).zip(&self.leads);
        ways.filter(|(_, leads)| !**leads).for_each(|((own, old), _)| own.clone_from(old));
        self
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
