//! Random connected graphs with given numbers of switches, ports, hosts and links between switches. Hosts are dealt
//! evenly over the switches in random order, a random spanning tree follows, and the remaining links connect random
//! switches that have a free port and no link yet. A draw that gets stuck is discarded; 200 failed draws are an error.

use super::random::{SwitchPair, first_success};
use super::sketch::{DrawError, MOST_PORTS, Sketch, SketchNode, require};
use rand::seq::{IndexedRandom, SliceRandom};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeSet;

/// The most switches: each link considers all of them.
const MOST_SWITCHES: u64 = 1024;

/// A random connected simple graph of switches with `radix` ports each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Irregular {
    /// How many switches.
    pub switches: u32,
    /// Ports of a switch.
    pub radix: u32,
    /// Hosts in all.
    pub hosts: u32,
    /// Links between switches.
    pub links: u32,
}

/// Hosts of each switch and links between them.
struct Drawn {
    hosts: Vec<usize>,
    edges: BTreeSet<SwitchPair>,
}

impl Irregular {
    pub(super) fn draw(&self, seed: u64) -> Result<Sketch, DrawError> {
        self.check()?;
        let name = |switch| format!("switch-{}", switch + 1);
        let mut sketch = Sketch::new(self.switches.into(), self.hosts.into(), name)?;
        sketch.set_radix(self.radix as u8);
        let drawn = first_success(seed, |rng| self.attempt(rng))?;
        let homes = drawn.hosts.iter().enumerate().flat_map(|(switch, &count)| std::iter::repeat_n(switch, count));
        homes.enumerate().for_each(|(host, switch)| sketch.cable(SketchNode::Switch(switch), SketchNode::Host(host)));
        drawn.edges.into_iter().for_each(|(a, b)| sketch.cable(SketchNode::Switch(a), SketchNode::Switch(b)));
        Ok(sketch)
    }

    fn check(&self) -> Result<(), DrawError> {
        let Irregular { switches, radix, hosts, links } = *self;
        let (n, ends) = (u64::from(switches), 2 * u64::from(links) + u64::from(hosts));
        let ports = n * u64::from(radix);
        require((1..=MOST_SWITCHES).contains(&n), || {
            format!("it has {n} switches, and must have 1 to {MOST_SWITCHES}")
        })?;
        require((1..=MOST_PORTS).contains(&radix.into()), || {
            format!("RADIX is {radix}, and must be 1 to {MOST_PORTS}")
        })?;
        require(ends <= ports, || format!("{links} links and {hosts} hosts need {ends} ports, and there are {ports}"))?;
        require(u64::from(links) >= n - 1, || {
            format!("{links} links cannot connect {n} switches: it takes {}", n - 1)
        })?;
        let most = n * (n - 1) / 2;
        require(u64::from(links) <= most, || format!("{n} switches have {most} pairs, and LINKS is {links}"))
    }

    fn attempt(&self, rng: &mut Pcg64Mcg) -> Option<Drawn> {
        let switches = self.switches as usize;
        let mut order: Vec<usize> = (0..switches).collect();
        order.shuffle(rng);
        let mut hosts = vec![0; switches];
        (0..self.hosts as usize).for_each(|host| hosts[order[host % switches]] += 1);
        let mut free: Vec<usize> = Vec::with_capacity(switches);
        for &count in &hosts {
            free.push((self.radix as usize).checked_sub(count)?);
        }
        order.shuffle(rng);
        let mut edges = BTreeSet::new();
        for (i, &switch) in order.iter().enumerate().skip(1) {
            let near: Vec<usize> = order[..i].iter().copied().filter(|&other| free[other] > 0).collect();
            join(*near.choose(rng)?, switch, &mut free, &mut edges)?;
        }
        while edges.len() < self.links as usize {
            let (a, b) = open_pair(&free, &edges, rng)?;
            join(a, b, &mut free, &mut edges)?;
        }
        Some(Drawn { hosts, edges })
    }
}

/// Connects two switches; `None` if one has no free port.
fn join(a: usize, b: usize, free: &mut [usize], edges: &mut BTreeSet<SwitchPair>) -> Option<()> {
    for end in [a, b] {
        free[end] = free[end].checked_sub(1)?;
    }
    edges.insert((a.min(b), a.max(b)));
    Some(())
}

/// Two unconnected switches with free ports: one chosen at random, then one of its possible partners.
fn open_pair(free: &[usize], edges: &BTreeSet<SwitchPair>, rng: &mut Pcg64Mcg) -> Option<SwitchPair> {
    let mut open: Vec<usize> = (0..free.len()).filter(|&switch| free[switch] > 0).collect();
    open.shuffle(rng);
    open.iter().find_map(|&a| {
        let joinable = |&b: &usize| a != b && !edges.contains(&(a.min(b), a.max(b)));
        let partners: Vec<usize> = open.iter().copied().filter(joinable).collect();
        partners.choose(rng).map(|&b| (a, b))
    })
}
