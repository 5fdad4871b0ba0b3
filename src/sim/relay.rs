//! Routers between subnets: several subnets in one simulation, and packets that cross.
//!
//! To the subnet manager a port of a router is an end port of its subnet, and is assigned halves like any other. To
//! data it is an input buffer with credits, like a switch's. A packet that arrives is judged at once
//! ([`relay`](crate::routers::relay)). It gets DLID and SL of the next subnet, by the half and the SL-to-VL table that
//! the outgoing port holds at that moment, and waits in the buffer for the lane there. So lanes of one subnet wait for
//! lanes of another, and deadlocks through routers are found like any other. A router chooses on arrival, whatever the
//! switches' latch. It originates no packets, and discards packets addressed to itself.
//!
//! A router has a node with one port in each of its subnets. To the agent of that node, the packets in the router that
//! are latched for the port are its send queue (docs/PROTOCOL.md, R.1).

use super::dispersal::{OpenPaths, flow};
use super::index::{By, Dense, EndPortRank, InLane, OutLane, PacketId};
use super::ledger::Period;
use super::packet::{NIL, Packet, PacketMarks};
use super::partners::Partners;
use super::plane::DataPlane;
use super::source::{Header, PacketSpec, Source, below, chance, check_ranks};
use super::spaces::Spaces;
use super::wheel::Ticks;
use super::{PacketCounts, Sim, SimConfig, SimError, Sources, Traffic, check};
use crate::fabric::subnets::{Joined, SubnetPort, Subnets};
use crate::fabric::{NodeId, NodeKind, PortId};
use crate::ids::{GidPrefix, Guid, Half, PKey, Sl, SubnetId};
use crate::resolve::GlobalPath;
use crate::routers::{Arrival, Discard, Enforcement, Forwarded, Grh, Levels, Partitioning, Routes, mixed, relay};
use std::collections::BTreeMap;

/// What a simulation of several subnets needs besides its [`SimConfig`].
#[derive(Clone, Debug)]
pub struct Joining {
    /// The subnets, LIDs assigned.
    pub subnets: Subnets,
    /// Which routers lead where.
    pub routes: Routes,
    /// Service levels from subnet to subnet.
    pub levels: Levels,
    /// The subnet managers' ports, one in each subnet.
    pub managers: Vec<SubnetPort>,
    /// The fraction of packets with a random destination that go to other subnets, 0 to 1.
    pub cross: f64,
    /// The hop limit that sources set.
    pub hop_limit: u8,
    /// Partitions that ports of routers enforce; the others enforce none.
    pub enforcement: BTreeMap<SubnetPort, Enforcement>,
    /// P_Key tables of hosts; the others have only [`PKey::DEFAULT`]. Hosts that share no partition send each other
    /// nothing.
    pub partitions: BTreeMap<SubnetPort, Vec<PKey>>,
}

impl Joining {
    /// Ways on the fewest crossings, a tenth of the traffic between subnets, nothing enforced.
    pub fn new(subnets: Subnets, levels: Levels, managers: Vec<SubnetPort>) -> Joining {
        let routes = Routes::all(&subnets);
        let (enforcement, partitions) = (BTreeMap::new(), BTreeMap::new());
        Joining { subnets, routes, levels, managers, cross: 0.1, hop_limit: 64, enforcement, partitions }
    }

    /// The same with the partitions of hosts, and what ports of routers enforce of them.
    #[must_use]
    pub fn partitioned(mut self, partitioning: &Partitioning) -> Joining {
        let hosts = self.subnets.subnets().flat_map(|(subnet, _)| {
            let ports = self.subnets.hosts(subnet);
            ports.map(move |port| SubnetPort { subnet, port })
        });
        self.partitions = hosts.map(|at| (at, partitioning.keys.keys(at).to_vec())).collect();
        let ports = self.subnets.routers().iter().flat_map(|router| &router.ports);
        self.enforcement = ports.map(|&at| (at, partitioning.enforcement(at))).collect();
        self
    }
}

/// The salt of the hash of flow labels at hosts; routers use their ranks.
const HOST: u32 = u32::MAX;

/// Packets from one subnet to one subnet.
pub struct Relation {
    /// What became of them, except those still under way: [`Sim::relation_counts`] includes these.
    pub counts: PacketCounts,
    /// Packets that were not sent, since no router leads there.
    pub unsendable: u64,
    /// Packets that were not sent, since their ends share no partition.
    pub parted: u64,
    /// By period of the run: latency and volume.
    pub periods: Vec<Period>,
}

impl Relation {
    /// A packet was delivered.
    pub(super) fn deliver(&mut self, now: Ticks, latency_ns: u64, bytes: u16) {
        self.counts.delivered += 1;
        self.periods.iter_mut().last().into_iter().for_each(|period| period.deliver(now, latency_ns, bytes));
    }
}

/// What a packet between subnets carries besides its local header, and where it comes from.
#[derive(Clone, Copy)]
pub(super) struct Global {
    grh: Grh,
    /// Ranks of the hosts at its ends.
    origin: EndPortRank,
    destination: EndPortRank,
    /// When it was handed to its first send queue.
    born: Ticks,
    p_key: PKey,
    /// While it stands in a router: rank of the port by which it came, the SL that it had, and the flush epoch of the
    /// port by which it leaves.
    came_by: EndPortRank,
    came_on: u8,
    epoch: u32,
}

impl Global {
    fn new(grh: Grh, (origin, destination): (EndPortRank, EndPortRank), born: Ticks, p_key: PKey) -> Global {
        Global { grh, origin, destination, born, p_key, came_by: EndPortRank::NONE, came_on: 0, epoch: 0 }
    }

    /// What is on the wire.
    pub(super) fn grh(&self) -> &Grh {
        &self.grh
    }
}

/// What a router's port has to send into its subnet.
#[derive(Clone, Copy, Default)]
struct RouterQueue {
    /// Packets in the router that are latched for the port.
    latched: u32,
    /// Flushes begun so far.
    epoch: u32,
}

/// A packet that a router has decided to forward.
struct Latching {
    id: PacketId,
    /// The port by which it came.
    port: PortId,
    forwarded: Forwarded,
}

/// A packet that has left a router.
struct Left {
    /// Rank of the port by which it left.
    out: EndPortRank,
    /// It was latched before that port's latest flush began.
    stood: bool,
}

/// What joins the subnets of a simulation.
pub(super) struct Routers {
    joining: Joining,
    joined: Joined,
    /// By rank of end port: what its GID is made of.
    gids: By<EndPortRank, (GidPrefix, Guid)>,
    /// Which hosts may send to each other; none where all may.
    partners: Option<Partners>,
    /// By rank of end port; meaningful for ports of routers.
    queues: By<EndPortRank, RouterQueue>,
    /// By router: its ports.
    ports: Vec<Vec<PortId>>,
    /// By port: the rank of its router; [`NIL`] for others.
    router_of: By<PortId, u32>,
    /// By subnet: the ranks of its hosts.
    hosts: Vec<Vec<EndPortRank>>,
    /// The ranks of all hosts.
    everybody: Vec<EndPortRank>,
    /// By packet; meaningless for packets that stay in their subnet.
    headers: By<PacketId, Global>,
    /// By (from, to).
    relations: Vec<Relation>,
    discards: BTreeMap<Discard, u64>,
    open: Enforcement,
}

impl Routers {
    fn new(joining: Joining, joined: Joined, sources: &Sources) -> Routers {
        let subnets = &joining.subnets;
        let mut router_of = By::filled(NIL, joined.fabric.port_count());
        let ports: Vec<Vec<PortId>> =
            subnets.routers().iter().map(|router| router.ports.iter().map(|&at| joined.port(at)).collect()).collect();
        for (rank, ports) in ports.iter().enumerate() {
            ports.iter().for_each(|&port| router_of[port] = rank as u32);
        }
        let at = |source: &Source| joined.at(source.port);
        let gids = sources
            .list
            .iter()
            .map(|source| (subnets.subnet(at(source).subnet).prefix, joined.fabric.port_guid(source.port)));
        let gids: By<EndPortRank, (GidPrefix, Guid)> = gids.collect();
        let mut hosts = vec![Vec::new(); subnets.len()];
        let kind = |source: &Source| joined.fabric.node(joined.fabric.port(source.port).node).kind;
        for source in sources.list.iter().filter(|source| kind(source) == NodeKind::Ca) {
            hosts[at(source).subnet.index()].push(source.rank);
        }
        let place = |rank: EndPortRank| at(&sources.list[rank]);
        let partners = Partners::of(&joining.partitions, &hosts, sources.list.len(), place);
        let relation = || {
            let (counts, periods) = (PacketCounts::default(), vec![Period::new(0, Vec::new())]);
            Relation { counts, unsendable: 0, parted: 0, periods }
        };
        Routers {
            relations: (0..subnets.len() * subnets.len()).map(|_| relation()).collect(),
            everybody: hosts.iter().flatten().copied().collect(),
            queues: By::filled(RouterQueue::default(), sources.list.len()),
            headers: By::default(),
            discards: BTreeMap::new(),
            open: Enforcement::default(),
            joining,
            joined,
            gids,
            partners,
            ports,
            router_of,
            hosts,
        }
    }

    /// The key of packets between two hosts.
    fn p_key(&self, rank: EndPortRank, destination: EndPortRank) -> Option<PKey> {
        self.partners.as_ref().map_or(Some(PKey::DEFAULT), |partners| partners.key(rank, destination))
    }

    fn enforcement(&self, at: SubnetPort) -> &Enforcement {
        self.joining.enforcement.get(&at).unwrap_or(&self.open)
    }

    fn remember(&mut self, packet: PacketId, header: Global) {
        self.headers.put(packet, header);
    }

    fn relation(&mut self, from: SubnetId, to: SubnetId) -> &mut Relation {
        let count = self.joining.subnets.len();
        &mut self.relations[from.index() * count + to.index()]
    }

    /// The relations, by the subnets at their ends.
    fn relations(&self) -> impl Iterator<Item = (SubnetId, SubnetId, &Relation)> {
        let subnets = || (0..self.joining.subnets.len() as u16).map(SubnetId);
        let ends = subnets().flat_map(move |from| subnets().map(move |to| (from, to)));
        ends.zip(&self.relations).map(|((from, to), relation)| (from, to, relation))
    }

    /// Packets that stand in the buffers of a router.
    fn held(&self, plane: &DataPlane, router: usize) -> u32 {
        let lanes = self.ports[router].iter().flat_map(|&port| plane.in_lanes(port));
        lanes.map(|lane| plane.lanes[lane].count).sum()
    }

    /// Ends a period of measurement.
    pub(super) fn begin_period(&mut self, now: Ticks) {
        for relation in &mut self.relations {
            if let Some(last) = relation.periods.last_mut() {
                last.close(now);
            }
            relation.periods.push(Period::new(now, Vec::new()));
        }
    }
}

impl Sim {
    /// Several subnets as found running, each as by [`Sim::new`], in one simulation. Nodes and ports have the indices
    /// that [`Joined`] assigns them.
    ///
    /// # Errors
    /// As [`Sim::new`]; a subnet without a manager; shares out of range.
    pub fn joined(joining: Joining, config: SimConfig) -> Result<Sim, SimError> {
        let joined = Joined::of(&joining.subnets);
        let fabric = joined.fabric.clone();
        check(&fabric, &config)?;
        if !(0.0..=1.0).contains(&joining.cross) {
            let (setting, value) = ("share of packets between subnets", joining.cross.to_string());
            return Err(SimError::Setting { setting, value, expected: "0 to 1" });
        }
        let managers: Vec<PortId> = joining.managers.iter().map(|&at| joined.port(at)).collect();
        for (id, subnet) in joining.subnets.subnets() {
            if !joining.managers.iter().any(|at| at.subnet == id && fabric.peer(joined.port(*at)).is_some()) {
                return Err(SimError::NoManager(format!("the manager of subnet {}", subnet.name)));
            }
        }
        let spaces = Spaces::of(&joined);
        // Traffic names hosts by their rank among hosts.
        let drawn = SimConfig { traffic: Traffic::Uniform, ..config.clone() };
        let mut sources = Sources::new(&fabric, &drawn, &spaces, false)?;
        let routers = Routers::new(joining, joined, &sources);
        routers.silence(&mut sources, &config)?;
        let mut sim = Sim::build(fabric, config, sources, &spaces, false);
        for &port in routers.ports.iter().flatten() {
            sim.plane.make_router_port(port);
        }
        sim.routers = Some(Box::new(routers));
        managers.into_iter().for_each(|port| _ = sim.devices.set_manager(port, true));
        Ok(sim)
    }

    /// Loads the half that the sources of one subnet send on.
    pub fn load_half_in(&mut self, subnet: SubnetId, half: Half) {
        self.sources.load_half(Some(subnet), half);
    }

    /// Loads what the subnet administration of a subnet says of the paths on a half: which source takes which, on which
    /// service level. Without it every source takes each LID of a destination's half, on each service level of the
    /// half. Ports are those of that subnet's own fabric.
    pub fn load_ways(&mut self, subnet: SubnetId, half: Half, ways: Option<OpenPaths>) {
        self.sources.load_ways(subnet, half, ways);
    }

    /// Sets the routes between subnets for subnet administrations and routers from now on. Packets on their way keep
    /// the headers that they have. Does nothing where there is one subnet.
    pub fn set_routes(&mut self, routes: Routes) {
        self.routers.iter_mut().for_each(|routers| routers.joining.routes = routes.clone());
    }

    /// Packets by the subnets at their ends. Empty where there is one subnet.
    pub fn relations(&self) -> impl Iterator<Item = (SubnetId, SubnetId, &Relation)> {
        self.routers.iter().flat_map(|routers| routers.relations())
    }

    /// What became of the packets of each relation, in the order of [`Sim::relations`], at this moment; they add up to
    /// [`Sim::packets`], and as there what a cut-off source still holds is stranded. Empty where there is one subnet.
    pub fn relation_counts(&self) -> Vec<PacketCounts> {
        if self.routers.is_none() {
            return Vec::new();
        }
        let mut counts: Vec<PacketCounts> = self.relations().map(|(_, _, relation)| relation.counts).collect();
        let cut_off = self.sources.list.iter().filter(|source| self.sources.cut_off[source.rank]);
        let lanes = cut_off.flat_map(|source| self.plane.in_lanes(source.port));
        let queued = lanes.flat_map(|lane| self.plane.queue(lane));
        for id in queued.filter(|&id| !self.plane.packets[id].marks.intersects(PacketMarks::NO_DATA)) {
            let (from, to) = self.relation_of(id).expect("among several subnets each packet has a relation");
            counts[from.index() * self.sources.spaces.count() + to.index()].stranded += 1;
        }
        for own in &mut counts {
            own.in_flight = own.injected - own.delivered - own.stranded - own.lost_to_failure - own.lost_to_change;
        }
        counts
    }

    /// Packets that routers discarded, by reason; they count as lost to the change as well, or as stranded where an end
    /// of theirs is cut off.
    pub fn relay_discards(&self) -> BTreeMap<Discard, u64> {
        self.routers.as_ref().map(|routers| routers.discards.clone()).unwrap_or_default()
    }

    /// Packets that stand in the buffers of a router.
    pub fn held_by_router(&self, router: usize) -> u32 {
        self.routers.as_ref().map_or(0, |routers| routers.held(&self.plane, router))
    }

    /// Whether two end ports are in different subnets.
    #[inline(always)]
    pub(super) fn crosses(&self, rank: EndPortRank, destination: EndPortRank) -> bool {
        self.routers.is_some() && self.sources.subnet_of(rank) != self.sources.subnet_of(destination)
    }

    /// Whether two hosts share no partition; if so, a packet that was to be sent is counted.
    #[inline(always)]
    pub(super) fn is_parted(&mut self, rank: EndPortRank, destination: EndPortRank) -> bool {
        self.routers.as_mut().is_some_and(|routers| routers.share_no_partition(&self.sources, rank, destination))
    }

    /// Sends a packet to a host of another subnet: to a router that leads there.
    pub(super) fn send_across(&mut self, spec: &PacketSpec) {
        let Some(routers) = &mut self.routers else { return };
        if let Some((header, global)) = routers.address_across(&self.sources, spec, self.clock.now()) {
            self.hand_over_across(spec.source, header, global);
        }
    }

    /// Hands a packet with both headers to its send queue.
    pub(super) fn hand_over_across(&mut self, source: EndPortRank, header: Header, global: Global) {
        let Some(routers) = &mut self.routers else { return };
        // `hand_over` may offer and count the packet at once, so its header must be stored first, under the number that
        // the slab will give it.
        routers.remember(self.plane.packets.next_id(), global);
        self.hand_over(source, header);
    }

    /// A packet has come to a router: rewrites its header and returns the out lane by which it goes on;
    /// [`OutLane::DISCARD`] where it does not go on.
    #[inline(never)]
    pub(super) fn arrive_at_router(&mut self, id: PacketId, port: PortId) -> OutLane {
        let Some(routers) = &mut self.routers else { return OutLane::DISCARD };
        if self.plane.packets[id].marks.intersects(PacketMarks::NO_DATA) {
            // For the router itself, or for nobody: it takes in what it owns once that heads its queue.
            return OutLane::DISCARD;
        }
        let came_on = self.plane.packets[id].sl;
        let out_lane = routers.arrive(&mut self.plane, &mut self.sources, id, port);
        self.ledger.series.end(came_on);
        self.ledger.series.set_out(self.plane.packets[id].sl);
        out_lane.map_or(OutLane::DISCARD, |out_lane| {
            // From here on losses are judged by this subnet's tables as they stand now (`path_died`). `Global::born`
            // keeps the time for latencies.
            self.plane.packets.born[id] = self.clock.now();
            out_lane
        })
    }

    /// A packet that was latched in a router has left its buffer.
    #[inline(never)]
    pub(super) fn left_router(&mut self, id: PacketId) {
        let Some(routers) = &mut self.routers else { return };
        let Left { out, stood } = routers.leave(&mut self.plane, &mut self.sources, id);
        if self.agents.watching() {
            let node = self.plane.ports[self.sources.list[out].port].node;
            self.with_agents(|agents, at| agents.saw_router_departure(at, node, stood));
        }
    }

    // Counts by the subnets at the ends.

    /// The ranks at the ends of a packet: of those that cross, the hosts'.
    pub(super) fn ends_of(&self, id: PacketId) -> (EndPortRank, EndPortRank) {
        let packet = &self.plane.packets[id];
        match self.crossing(id) {
            Some(header) => (header.origin, header.destination),
            // From port 0 of a switch.
            None if packet.source.is_none() => (EndPortRank::NONE, EndPortRank::NONE),
            None => {
                let port = self.sources.list[packet.source].port;
                (packet.source, self.sources.owner(port, packet.dlid))
            }
        }
    }

    /// The global header of a packet between subnets; none for one that stays in its subnet.
    #[inline]
    fn crossing(&self, id: PacketId) -> Option<&Global> {
        let routers = self.routers.as_ref().filter(|_| self.plane.packets[id].marks.contains(PacketMarks::CROSSES))?;
        Some(&routers.headers[id])
    }

    /// The service level with which a packet came into the lane where it stands. A router has rewritten the header for
    /// the next subnet already, where the packet is not yet.
    pub(super) fn sl_in_its_lane(&self, id: PacketId) -> Sl {
        let packet = &self.plane.packets[id];
        let routers = self.routers.as_ref().filter(|_| packet.marks.contains(PacketMarks::IN_ROUTER));
        Sl::masked(routers.map_or(packet.sl, |routers| routers.headers[id].came_on))
    }

    /// The turn of a reply to a packet: the flow label of a packet between subnets, 0 for others.
    pub(super) fn turn_of_reply(&self, id: PacketId) -> u32 {
        self.crossing(id).map_or(0, |header| header.grh.flow_label)
    }

    /// When a packet was first handed to a send queue.
    #[inline]
    pub(super) fn set_out(&self, id: PacketId) -> Ticks {
        self.crossing(id).map_or(self.plane.packets.born[id], |header| header.born)
    }

    /// Counts a packet with those of its relation, if there are several subnets.
    #[inline(always)]
    pub(super) fn count_in_relation(&mut self, id: PacketId, count: impl FnOnce(&mut Relation)) {
        if self.routers.is_some()
            && let Some((from, to)) = self.relation_of(id)
            && let Some(routers) = &mut self.routers
        {
            count(routers.relation(from, to));
        }
    }

    /// The subnets at the ends of a packet, if there are several subnets.
    #[inline(never)]
    fn relation_of(&self, id: PacketId) -> Option<(SubnetId, SubnetId)> {
        self.routers.as_ref()?;
        let (from, to) = self.ends_of(id);
        // A packet whose DLID no port owns counts in the subnet that it comes from.
        let to = if to.is_none() { from } else { to };
        Some((self.sources.subnet_of(from), self.sources.subnet_of(to)))
    }
}

impl Routers {
    /// Draws a destination for a source.
    pub(super) fn draw_destination(&self, sources: &mut Sources, traffic: &Traffic, rank: EndPortRank) -> EndPortRank {
        let own = sources.spaces.at(sources.list[rank].port);
        let source = &mut sources.list[rank];
        match *traffic {
            Traffic::Permutation | Traffic::Pairs(_) => return source.partner,
            Traffic::HotSpot { destination, share } if chance(&mut source.random, share) => {
                return self.everybody.get(destination as usize).copied().unwrap_or(rank);
            }
            _ => {}
        }
        let crosses = chance(&mut source.random, self.joining.cross);
        if let Some(partners) = &self.partners {
            return partners.draw(source, crosses);
        }
        let others = self.everybody.len() - self.hosts[own].len();
        let crosses = crosses && others > 0;
        let count = if crosses { others } else { self.hosts[own].len().saturating_sub(1) };
        if count == 0 {
            return rank;
        }
        let drawn = below(&mut source.random, count as u32) as usize;
        // Hosts are ranked by subnet, so those of a subnet, or one by itself, are omitted by a step over them.
        let omitted = if crosses { &self.hosts[own][..] } else { std::slice::from_ref(&source.rank) };
        let among = if crosses { &self.everybody } else { &self.hosts[own] };
        let before = among.partition_point(|&other| omitted.first().is_some_and(|&first| other < first));
        among[if drawn < before { drawn } else { drawn + omitted.len() }]
    }

    /// Whether two hosts share no partition; if so, a packet that was to be sent is counted.
    #[inline(never)]
    fn share_no_partition(&mut self, sources: &Sources, rank: EndPortRank, destination: EndPortRank) -> bool {
        let parted = self.partners.is_some() && self.p_key(rank, destination).is_none();
        if parted {
            let [from, to] = [rank, destination].map(|end| sources.subnet_of(end));
            self.relation(from, to).parted += 1;
        }
        parted
    }

    /// The global header of an answer, with the traffic class, flow label and hop limit that its request told; none
    /// where the ends share no partition.
    pub(super) fn global_back(
        &self,
        origin: EndPortRank,
        destination: EndPortRank,
        told: GlobalPath,
        now: Ticks,
    ) -> Option<Global> {
        let (source, sink) = (self.gids[origin], self.gids[destination]);
        let GlobalPath { traffic_class, flow_label, hop_limit } = told;
        let grh = Grh {
            traffic_class,
            flow_label,
            hop_limit,
            source_prefix: source.0,
            source_guid: source.1,
            destination_prefix: sink.0,
            destination_guid: sink.1,
        };
        Some(Global::new(grh, (origin, destination), now, self.p_key(origin, destination)?))
    }

    /// Both headers of a packet to a host of another subnet: the local one to a router that leads there, and the global
    /// one. The flow label follows from the ends of the packet, or is its turn where sources take turns. None where no
    /// router leads there, the router is no end port, or the ends share no partition.
    pub(super) fn address_across(
        &mut self,
        sources: &Sources,
        spec: &PacketSpec,
        born: Ticks,
    ) -> Option<(Header, Global)> {
        let PacketSpec { source: origin, destination, half, bytes, marks, turn, message } = *spec;
        let (from, to) = (sources.subnet_of(origin), sources.subnet_of(destination));
        if self.joining.routes.first(from, to).is_empty() {
            self.relation(from, to).unsendable += 1;
            return None;
        }
        let first = self.joining.routes.first(from, to);
        let label = if sources.takes_turns() { turn } else { flow(origin, destination) } & 0xF_FFFF;
        let (count, choice) = (first.len() as u32, mixed(label, HOST));
        let router = self.joined.port(first[(choice % count) as usize]);
        let levels = self.joining.levels;
        // Digits other than those that pick the router: otherwise all packets of a level would take one router.
        let level = levels.at_source(flow(origin, destination).wrapping_mul(0x9E37_79B1) >> 24);
        let target = sources.by_port[router];
        let (dlid, sl) = address(sources, target, half, level, choice / count)?;
        let (source, sink) = (self.gids[origin], self.gids[destination]);
        let grh = Grh {
            traffic_class: levels.traffic_class(level),
            flow_label: label,
            hop_limit: self.joining.hop_limit,
            source_prefix: source.0,
            source_guid: source.1,
            destination_prefix: sink.0,
            destination_guid: sink.1,
        };
        let p_key = self.p_key(origin, destination)?;
        let global = Global::new(grh, (origin, destination), born, p_key);
        Some((Header { dlid, sl, bytes, marks: marks | PacketMarks::CROSSES, source_path: 0, message }, global))
    }

    /// A packet has come to a port of a router: the out lane by which it goes on. None where the router discards it, or
    /// has no address for it.
    fn arrive(&mut self, plane: &mut DataPlane, sources: &mut Sources, id: PacketId, port: PortId) -> Option<OutLane> {
        match self.judge(&plane.packets[id], id, port) {
            Ok(forwarded) => self.take_over(plane, sources, Latching { id, port, forwarded }),
            Err(why) => {
                *self.discards.entry(why).or_default() += 1;
                // It was received, and goes nowhere.
                let packet = &plane.packets[id];
                let receiver = sources.by_port[port];
                sources.list[receiver].receives(packet.sl, packet.bytes);
                None
            }
        }
    }

    /// The router's decision on a packet, by its global header and the routes as they stand.
    ///
    /// # Errors
    /// Why the router discards it.
    fn judge(&self, packet: &Packet, id: PacketId, port: PortId) -> Result<Forwarded, Discard> {
        // Without a global header it is addressed to the router itself, which consumes no data.
        if !packet.marks.contains(PacketMarks::CROSSES) {
            return Err(Discard::Unaddressed);
        }
        let header = &self.headers[id];
        let to = self.joining.subnets.by_prefix(header.grh.destination_prefix).ok_or(Discard::NoRoute)?;
        let router = self.router_of[port] as usize;
        let arrival = Arrival {
            grh: &header.grh,
            level: Half::rank(Sl::masked(packet.sl)) as u8,
            from: self.joined.at(port).subnet,
            routes: &self.joining.routes,
            p_key: header.p_key,
            enforcement: self.enforcement(self.joined.at(port)),
            salt: router as u32,
        };
        let ways = self.joining.routes.onward(router, to);
        relay(&arrival, ways, self.joining.levels, |onward| self.enforcement(onward.out))
    }

    /// Latches a packet for the port by which it leaves. From here on it belongs to that port: the port's half and
    /// table decide, its queue counts the packet, and its flush waits for it (R.1).
    fn take_over(&mut self, plane: &mut DataPlane, sources: &mut Sources, latching: Latching) -> Option<OutLane> {
        let Latching { id, port, forwarded } = latching;
        let out = self.joined.port(forwarded.onward.out);
        let out_rank = sources.by_port[out];
        let next = forwarded.onward.to.map(|next| sources.by_port[self.joined.port(next)]);
        let header = &mut self.headers[id];
        let half = sources.list[out_rank].half;
        let target = next.unwrap_or(header.destination);
        // Nothing has changed up to here, so a packet without an address is discarded with its old header and counts.
        let (dlid, sl) = address(sources, target, half, forwarded.level, forwarded.path)?;
        header.grh.hop_limit = forwarded.hop_limit;
        // Kept before the packet's SL is overwritten: `leave` counts it as received by that port, on that SL.
        (header.came_by, header.came_on) = (sources.by_port[port], plane.packets[id].sl);
        // R.1: it is in the outgoing port's send queue now. The epoch shows later whether it was there before a flush
        // began.
        header.epoch = self.queues[out_rank].epoch;
        self.queues[out_rank].latched += 1;
        sources.list[out_rank].awaits(sl);
        let packet = &mut plane.packets[id];
        // `path_died` follows a packet from its source over its hops, so both begin anew in this subnet.
        (packet.dlid, packet.sl, packet.source, packet.hops) = (dlid, sl, out_rank, 0);
        packet.marks.insert(PacketMarks::IN_ROUTER);
        let own = &plane.ports[out];
        // As at any end port: one table, under input 0.
        let vl = plane.tables.lane(own.node, 0, own.num, sl);
        Some(if plane.runs(out, vl) { plane.out_lane(out, vl) } else { OutLane::DISCARD })
    }

    /// A latched packet has left its buffer, sent or discarded: the queue of its outgoing port has one less.
    fn leave(&mut self, plane: &mut DataPlane, sources: &mut Sources, id: PacketId) -> Left {
        let packet = &mut plane.packets[id];
        packet.marks.remove(PacketMarks::IN_ROUTER);
        let (out, sl, bytes) = (packet.source, packet.sl, packet.bytes);
        let header = &self.headers[id];
        let own = &mut self.queues[out];
        own.latched -= 1;
        // A packet latched in an earlier epoch was latched before the flush of this epoch began.
        let stood = header.epoch < own.epoch;
        // R.2: received only now. Counted on arrival, *conservation* would take a lane as empty in which it still
        // stands.
        sources.list[header.came_by].receives(header.came_on, bytes);
        sources.list[out].awaits_no_more(sl);
        Left { out, stood }
    }

    /// A flush begins at a node of a router. Returns how many packets are latched for its ports; the agent sees each of
    /// these leave.
    pub(super) fn begin_epoch(&mut self, plane: &DataPlane, sources: &Sources, node: NodeId) -> u32 {
        let ports = plane.ports_of(node).filter(|&port| plane.is_router_port(port));
        ports
            .map(|port| {
                let own = &mut self.queues[sources.by_port[port]];
                // What is latched from now on carries the new epoch, and is not waited for (F.2).
                own.epoch += 1;
                own.latched
            })
            .sum()
    }

    /// The in lanes of all ports of the router to which a node belongs.
    pub(super) fn lanes_of_router(&self, plane: &DataPlane, node: NodeId) -> Vec<InLane> {
        let own = plane.ports_of(node).find(|&port| plane.is_router_port(port));
        let router = own.map_or(NIL, |port| self.router_of[port]);
        let ports = self.ports.get(router as usize).into_iter().flatten();
        let own = ports.clone().flat_map(|&port| plane.own_lanes(plane.ports[port].node));
        ports.flat_map(|&port| plane.in_lanes(port)).chain(own).collect()
    }

    /// Lets routers originate nothing, and pairs only hosts.
    ///
    /// # Errors
    /// Fewer than two hosts; traffic that names a rank beyond them.
    fn silence(&self, sources: &mut Sources, config: &SimConfig) -> Result<(), SimError> {
        if self.everybody.len() < 2 {
            return Err(SimError::NobodyThere(self.everybody.len()));
        }
        for source in sources.list.iter_mut().filter(|source| self.everybody.binary_search(&source.rank).is_err()) {
            source.interval = f64::INFINITY;
        }
        check_ranks(&config.traffic, self.everybody.len())?;
        match &config.traffic {
            Traffic::Permutation => sources.pair_up_among(&self.everybody, config.seed),
            Traffic::Pairs(pairs) => self.pair_as_told(sources, pairs),
            Traffic::Uniform | Traffic::HotSpot { .. } | Traffic::Trace(_) => {}
        }
        Ok(())
    }

    /// Every host sends to its partner in `pairs`, or is silent where that is itself or none is given.
    fn pair_as_told(&self, sources: &mut Sources, pairs: &[u32]) {
        for (at, &rank) in self.everybody.iter().enumerate() {
            let partner = pairs.get(at).map_or(rank, |&partner| self.everybody[partner as usize]);
            let source = &mut sources.list[rank];
            source.partner = partner;
            if partner == rank {
                source.interval = f64::INFINITY;
            }
        }
    }

    /// The rank among end ports of a host, by its rank among hosts, as traffic names it.
    pub(super) fn host(&self, rank: u32) -> Option<EndPortRank> {
        self.everybody.get(rank as usize).copied()
    }
}

/// DLID and SL towards an end port on a half and a level, by the path that `path` picks; none where it owns no LID.
fn address(sources: &Sources, target: EndPortRank, half: Half, level: u8, path: u32) -> Option<(u16, u8)> {
    let to = sources.list.get(target)?;
    Some(sources.address(target, half, (path % u32::from(to.paths)) as u16, level))
}
