//! Several subnets of one topology, joined by routers.
//!
//! [`joined`] makes every subnet from the same [`Topology`] (a random family draws each with another seed: the given
//! one plus the subnet's rank), gives it GUIDs of its own, and adds routers between them; [`place_routers`] adds
//! routers at given switches of given subnets. On return routers come last in index order and own the LIDs after those
//! in use. A router is one node with port i in the i-th of its subnets, like NVIDIA's, which have a port for each SWID,
//! and each capture shows the port in its own subnet. GUIDs follow the module's contract, with the subnet's rank above
//! the kind; those of routers are of family 0. Deliberately omitted: different topologies in one call (make the
//! subnets, then [`place_routers`]).

use super::{GenerateError, Options, Topology, generate};
use crate::fabric::subnets::{Subnet, Subnets};
use crate::fabric::{Fabric, FabricBuilder, LinkEnd, Node, NodeId, NodeKind};
use crate::ids::{GidPrefix, Guid, Lid, PortNum, SubnetId};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The most subnets that generated GUIDs can distinguish.
const MOST_SUBNETS: u16 = 64;
/// Most external ports of a switch or router.
const MOST_PORTS: usize = 254;
/// The bits of a GUID that hold the subnet's rank, above the kind of a node.
const RANK_SHIFT: u32 = 26;
/// The company of generated GUIDs, family 0, kind 2.
const ROUTERS: u64 = 0x0200_0000_0200_0000;

/// The pairs of subnets with routers between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinShape {
    /// Each subnet and the next.
    Line,
    /// As a line, and the last and the first.
    Ring,
    /// Subnet 0 and each other.
    Star,
    /// Every pair.
    Full,
    /// Every router has a port in every subnet.
    Hub,
}

impl JoinShape {
    /// Every shape.
    pub const ALL: [JoinShape; 5] =
        [JoinShape::Line, JoinShape::Ring, JoinShape::Star, JoinShape::Full, JoinShape::Hub];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            JoinShape::Line => "line",
            JoinShape::Ring => "ring",
            JoinShape::Star => "star",
            JoinShape::Full => "full",
            JoinShape::Hub => "hub",
        }
    }

    /// For each place of routers, the subnets that they join.
    fn places(self, subnets: u16) -> Vec<Vec<u16>> {
        let line = (1..subnets).map(|next| vec![next - 1, next]);
        match self {
            JoinShape::Line => line.collect(),
            JoinShape::Ring => line.chain([vec![0, subnets - 1]]).collect(),
            JoinShape::Star => (1..subnets).map(|other| vec![0, other]).collect(),
            JoinShape::Full => (0..subnets).flat_map(|a| (a + 1..subnets).map(move |b| vec![a, b])).collect(),
            JoinShape::Hub => vec![(0..subnets).collect()],
        }
    }
}

impl fmt::Display for JoinShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name of no shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no shape: expected line, ring, star, full or hub")]
pub struct JoinShapeError(pub String);

impl FromStr for JoinShape {
    type Err = JoinShapeError;

    fn from_str(text: &str) -> Result<JoinShape, JoinShapeError> {
        JoinShape::ALL.into_iter().find(|shape| shape.name() == text).ok_or_else(|| JoinShapeError(text.to_string()))
    }
}

/// Several subnets to generate.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinedTopology {
    /// The topology of each subnet.
    pub topology: Topology,
    /// Number of subnets, 2 to 64.
    pub subnets: u16,
    /// The pairs of subnets with routers between them.
    pub shape: JoinShape,
    /// Routers for each such pair; for a hub, all routers.
    pub routers: u16,
}

/// A switch that a router is cabled to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouterAttachment {
    /// The switch's subnet.
    pub subnet: SubnetId,
    /// Its index there.
    pub switch: NodeId,
}

/// Subnets `subnet-0`, `subnet-1`, … with site-local prefixes by rank, joined by routers `router-1`, `router-2`, ….
///
/// A router is cabled to a random switch of each of its subnets, in a fat tree to one with hosts; no switch gets a
/// second router before every other one has one. If `options` give no radix, switches have as many ports as the routers
/// need.
///
/// # Errors
/// As [`generate`]; counts are out of range, or switches have no ports for the routers.
pub fn joined(joining: &JoinedTopology, options: &Options) -> Result<Subnets, GenerateError> {
    let &JoinedTopology { ref topology, subnets, shape, routers } = joining;
    let least = if shape == JoinShape::Ring { 3 } else { 2 };
    if !(least..=MOST_SUBNETS).contains(&subnets) {
        let why = format!("{subnets} subnets were asked for: a {shape} has {least} to {MOST_SUBNETS}");
        return Err(GenerateError::Joining { why });
    }
    if routers == 0 {
        let why = "no router was asked for: one at least joins subnets".to_string();
        return Err(GenerateError::Joining { why });
    }
    let list = (0..subnets).map(|rank| copy_of(topology, rank, options)).collect::<Result<Vec<_>, _>>()?;
    let mut rng = Pcg64Mcg::seed_from_u64(options.seed);
    let ranked = (0..subnets).map(SubnetId).zip(&list);
    let queue = |(rank, subnet)| Queue::of(rank, subnet, topology, options.radix, &mut rng);
    let mut queues: Vec<Queue> = ranked.map(queue).collect();
    let places = shape.places(subnets).into_iter().flat_map(|place| std::iter::repeat_n(place, routers.into()));
    let seats = places.map(|place| place.into_iter().map(|rank| queues[usize::from(rank)].next()).collect());
    let seats = seats.collect::<Result<Vec<Vec<RouterAttachment>>, _>>()?;
    place_routers(list, &seats, options)
}

/// The subnet of a rank, without routers.
fn copy_of(topology: &Topology, rank: u16, options: &Options) -> Result<Subnet, GenerateError> {
    let own = Options { seed: options.seed.wrapping_add(rank.into()), ..*options };
    let fabric = generate(topology, &own)?;
    let guid = |guid: Guid| Guid(guid.0 | u64::from(rank) << RANK_SHIFT);
    let name = format!("subnet-{rank}");
    let fabric = copy(&fabric, |node| node.num_ports, guid).build().map_err(|source| broken(&name, source))?;
    Ok(Subnet { name, prefix: GidPrefix::site_local(rank), fabric })
}

fn broken(subnet: &str, source: crate::fabric::BuildError) -> GenerateError {
    GenerateError::Build { topology: format!("{subnet} with its routers"), source }
}

/// The switches of a subnet to which routers may be cabled, in a random order that repeats.
struct Queue {
    subnet: SubnetId,
    name: String,
    /// Each with its free ports, if the radix is given.
    switches: Vec<(NodeId, Option<usize>)>,
    next: usize,
}

impl Queue {
    fn of(rank: SubnetId, subnet: &Subnet, topology: &Topology, radix: Option<u8>, rng: &mut Pcg64Mcg) -> Queue {
        let fabric = &subnet.fabric;
        let bears_hosts = |&switch: &NodeId| {
            let mut neighbours = fabric.ports_of(switch).filter_map(|port| fabric.neighbour(port));
            neighbours.any(|node| !fabric.node(node).is_switch())
        };
        let switches = fabric.switches().filter(|switch| !is_fat_tree(topology) || bears_hosts(switch));
        let left = |switch| radix.map(|_| free_ports(fabric, switch).count());
        let mut switches: Vec<_> = switches.map(|switch| (switch, left(switch))).collect();
        switches.shuffle(rng);
        Queue { subnet: rank, name: subnet.name.clone(), switches, next: 0 }
    }

    fn next(&mut self) -> Result<RouterAttachment, GenerateError> {
        for _ in 0..self.switches.len() {
            let at = self.next % self.switches.len();
            self.next = at + 1;
            let (switch, left) = &mut self.switches[at];
            if *left != Some(0) {
                *left = left.map(|left| left - 1);
                return Ok(RouterAttachment { subnet: self.subnet, switch: *switch });
            }
        }
        Err(GenerateError::Joining {
            why: format!(
                "no switch of {} has a port left for a router: ask for a larger radix or fewer routers",
                self.name
            ),
        })
    }
}

fn is_fat_tree(topology: &Topology) -> bool {
    use Topology::{GeneralTree, KaryTree, LeafSpine, ThreeLevel};
    matches!(topology, KaryTree { .. } | LeafSpine { .. } | ThreeLevel { .. } | GeneralTree(_))
}

/// External ports without a cable, in ascending order.
fn free_ports(fabric: &Fabric, switch: NodeId) -> impl Iterator<Item = PortNum> + '_ {
    let free = fabric.ports_of(switch).map(|port| fabric.port(port));
    free.filter(|port| port.num != PortNum::ZERO && port.peer.is_none()).map(|port| port.num)
}

/// Adds routers between subnets: `routers` lists the switches that each one is cabled to, its port i to the i-th.
/// Routers come after all nodes, numbered after those of earlier calls; their ports take the LIDs after the highest in
/// use, with LMC 0, or none if no LIDs are in use.
///
/// If `options` give no radix and a switch has too few ports, it gets the missing ones, and so does every switch of its
/// subnet with fewer ports. Cables follow `options`, whose seed and radix do not matter otherwise.
///
/// # Errors
/// A router without a switch or with more than 254, a node that is not a switch, a switch without free ports, no LIDs
/// left, or subnets that cannot be joined.
pub fn place_routers(
    list: Vec<Subnet>,
    routers: &[Vec<RouterAttachment>],
    options: &Options,
) -> Result<Subnets, GenerateError> {
    let first = routers_before(&list);
    check_seats(&list, first, routers)?;
    let placed = list.into_iter().enumerate().map(|(rank, subnet)| {
        let fabric = with_routers(&subnet, SubnetId(rank as u16), first, routers, options)?;
        Ok(Subnet { fabric, ..subnet })
    });
    Ok(Subnets::new(placed.collect::<Result<_, GenerateError>>()?)?)
}

/// The number of GUIDs of generated routers in use: a second call continues from there.
fn routers_before(list: &[Subnet]) -> usize {
    let guids = list.iter().flat_map(|subnet| subnet.fabric.nodes().map(|(_, node)| node.guid.0));
    let ours = guids.filter(|guid| guid >> 24 == ROUTERS >> 24);
    ours.map(|guid| (guid >> 8) as usize % (1 << 16) + 1).max().unwrap_or_default()
}

fn check_seats(list: &[Subnet], first: usize, routers: &[Vec<RouterAttachment>]) -> Result<(), GenerateError> {
    let count = first + routers.len();
    if count > usize::from(u16::MAX) {
        let why = format!("{count} routers were asked for: there are GUIDs for {}", u16::MAX);
        return Err(GenerateError::Joining { why });
    }
    for (index, seats) in (first..).zip(routers) {
        let name = router_name(index);
        if !(1..=MOST_PORTS).contains(&seats.len()) {
            let why = format!("{name} has {} ports: a router has 1 to {MOST_PORTS}", seats.len());
            return Err(GenerateError::Joining { why });
        }
        let is_switch = |seat: &RouterAttachment| {
            let fabric = list.get(seat.subnet.index()).map(|subnet| &subnet.fabric);
            fabric.is_some_and(|fabric| fabric.switches().any(|switch| switch == seat.switch))
        };
        if let Some(seat) = seats.iter().find(|seat| !is_switch(seat)) {
            let why =
                format!("{name} stands at node {:?} of subnet {}, which is no switch", seat.switch, seat.subnet.0);
            return Err(GenerateError::Joining { why });
        }
    }
    Ok(())
}

fn router_name(index: usize) -> String {
    format!("router-{}", index + 1)
}

fn router_guid(index: usize, port: u8) -> Guid {
    Guid(ROUTERS | (index as u64) << 8 | u64::from(port))
}

/// One subnet with the router ports in it.
fn with_routers(
    subnet: &Subnet,
    rank: SubnetId,
    first: usize,
    routers: &[Vec<RouterAttachment>],
    options: &Options,
) -> Result<Fabric, GenerateError> {
    let fabric = &subnet.fabric;
    let ports = enough_ports(subnet, rank, routers, options)?;
    let grown = |node: &Node| node.num_ports.max(if node.is_switch() { ports } else { 0 });
    let mut builder = copy(fabric, grown, |guid| guid);
    let mut free: BTreeMap<NodeId, Vec<PortNum>> = BTreeMap::new();
    let mut lid = fabric.max_lid();
    let here = |seat: &RouterAttachment| seat.subnet == rank;
    for (index, seats) in (first..).zip(routers).filter(|(_, seats)| seats.iter().any(here)) {
        let router = add_router(&mut builder, index, seats.len() as u8);
        for (seat, num) in seats.iter().zip((1..).map(PortNum)).filter(|(seat, _)| here(seat)) {
            let free = free.entry(seat.switch).or_insert_with(|| ports_to_take(fabric, seat.switch, ports));
            let taken = free.pop().expect("ports were counted");
            let (own, far) = (LinkEnd { node: router, num }, LinkEnd { node: seat.switch, num: taken });
            let linked = builder.link(own, far, options.width, options.speed);
            linked.map_err(|source| broken(&subnet.name, source))?;
            lid = lid.map(|lid| next_lid(lid, subnet)).transpose()?;
            if let Some(port) = builder.port_mut(router, num) {
                (port.guid, port.lid) = (Some(router_guid(index, num.0)), lid);
            }
        }
    }
    builder.build().map_err(|source| broken(&subnet.name, source))
}

fn next_lid(highest: Lid, subnet: &Subnet) -> Result<Lid, GenerateError> {
    if highest < Lid::MAX_UNICAST {
        return Ok(Lid(highest.0 + 1));
    }
    let why = format!("{} has no LID left for a router behind {highest}: give its ports lower ones", subnet.name);
    Err(GenerateError::Joining { why })
}

/// The number of ports that a switch of the subnet needs for all its routers.
fn enough_ports(
    subnet: &Subnet,
    rank: SubnetId,
    routers: &[Vec<RouterAttachment>],
    options: &Options,
) -> Result<u8, GenerateError> {
    let mut wanted: BTreeMap<NodeId, usize> = BTreeMap::new();
    routers
        .iter()
        .flatten()
        .filter(|seat| seat.subnet == rank)
        .for_each(|seat| *wanted.entry(seat.switch).or_default() += 1);
    let mut ports = 0;
    for (&switch, &wanted) in &wanted {
        let lacking = wanted.saturating_sub(free_ports(&subnet.fabric, switch).count());
        let needed = usize::from(subnet.fabric.node(switch).num_ports) + lacking;
        if lacking > 0 && (options.radix.is_some() || needed > MOST_PORTS) {
            let switch = subnet.fabric.describe_node(switch);
            let why =
                format!("{wanted} routers stand at {switch} of {}, which lacks {lacking} ports for them", subnet.name);
            return Err(GenerateError::Joining { why });
        }
        ports = ports.max(if lacking > 0 { needed as u8 } else { 0 });
    }
    Ok(ports)
}

/// The free ports of a switch with at least `ports` external ports, the lowest last.
fn ports_to_take(fabric: &Fabric, switch: NodeId, ports: u8) -> Vec<PortNum> {
    let more = (fabric.node(switch).num_ports..ports).map(|num| PortNum(num + 1));
    let mut free: Vec<PortNum> = free_ports(fabric, switch).chain(more).collect();
    free.reverse();
    free
}

fn add_router(builder: &mut FabricBuilder, index: usize, ports: u8) -> NodeId {
    let guid = router_guid(index, 0);
    let id = builder.node(NodeKind::Router, guid, ports, router_name(index));
    let node = builder.node_mut(id);
    (node.system_guid, node.vendor_id, node.device_id) = (Some(guid), 0x02_0000, 3);
    id
}

/// A copy of the fabric as a builder: switches have as many ports as `ports` returns, GUIDs are mapped by `guid`.
fn copy(fabric: &Fabric, ports: impl Fn(&Node) -> u8, guid: impl Fn(Guid) -> Guid) -> FabricBuilder {
    let mut builder = FabricBuilder::new();
    if let Some((node, port)) = fabric.origin() {
        builder.origin(guid(node), guid(port));
    }
    for (_, node) in fabric.nodes() {
        let id = builder.node(node.kind, guid(node.guid), ports(node), node.description.clone());
        let made = builder.node_mut(id);
        let (own, num_ports, first_port) = (made.guid, made.num_ports, made.first_port);
        *made = Node { guid: own, num_ports, first_port, system_guid: node.system_guid.map(&guid), ..node.clone() };
    }
    for (a, b) in fabric.links() {
        let (width, speed) = (fabric.port(a).width, fabric.port(a).speed);
        builder
            .link(LinkEnd::of(fabric, a), LinkEnd::of(fabric, b), width, speed)
            .expect("the cables of a fabric are sound");
    }
    for (_, port) in fabric.ports() {
        if let Some(made) = builder.port_mut(port.node, port.num) {
            (made.guid, made.lid, made.lmc) = (port.guid.map(&guid), port.lid, port.lmc);
            (made.width, made.speed, made.data_vls) = (port.width, port.speed, port.data_vls);
        }
    }
    builder
}
