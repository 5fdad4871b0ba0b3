//! Seed 004, InfiniBand routers: one subnet beside the same ports as two subnets behind a router.
//!
//! The slides compare 16 hosts at one 36-port EDR device, once a switch and once split into two subnets with a router
//! between, and state three results: some 50 ns more latency between two hosts, no apparent difference in bandwidth,
//! and none in the run time of GROMACS and NAMD on up to 16 nodes. Here the device is a switch with all hosts, or two
//! switches with half of them each and a router between, in one chip: its inner links are wide, and its inner stages
//! take [`STAGE_NS`] each, chosen so that a small message takes the slides' 50 ns longer. That figure is a device's and
//! follows from no simulator; table *devices* shows what other devices would add, and the other tables what follows
//! from the 50 ns. All-to-all and ring exchanges, phase by phase, stand for the applications, which the simulator
//! cannot run; [`COMMUNICATION`] says how much of a step they are.

use super::parallel::in_order;
use super::table::{Cell, ResultTable};
use super::{ReproduceError, StudyRequest};
use crate::fabric::generate::{Options, RouterAttachment, place_routers};
use crate::fabric::subnets::{Subnet, SubnetPort, Subnets};
use crate::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind};
use crate::ids::{GidPrefix, Guid, PortNum, SubnetId};
use crate::routing::UpDown;
use crate::scenario::{HostMessage, SteadySubnets};
use crate::sim::SimConfig;

pub(super) const TABLES: [&str; 5] = ["latency", "bandwidth", "applications", "devices", "width"];

/// Hosts of the device, half of them in either subnet if there are two.
const HOSTS: u32 = 16;
/// Payload of a packet, as these adapters have it.
const MTU: u32 = 4096;
const DATA_VLS: u8 = 4;
/// Routing delay of a stage inside the device: of the router, and of the switch behind it.
const STAGE_NS: u32 = 15;
/// The share of communication in a step of an application. It is assumed, since the slides do not state it; above 0.285
/// one row of table *applications* would be outside its band.
const COMMUNICATION: f64 = 0.25;
/// What makes a difference apparent in a chart of run times, in percent.
const APPARENT: f64 = 3.0;
/// The links inside the device where nothing else is said: each wider than half of its ports, and as many as those, so
/// that packets to a busy port hold up few others.
const INNER: Inner = Inner { links: 8, width: LinkWidth::X12, speed: LinkSpeed::Ndr, name: "8 of 12 ports' rate" };
/// Messages of the streams that measure bandwidth, sent at once.
const STREAM: u32 = 64;

const KIB: u32 = 1024;
const SIZES: [(&str, u32); 4] = [("8 B", 8), ("1 KiB", KIB), ("4 KiB", 4 * KIB), ("64 KiB", 64 * KIB)];
const STREAMS: [(&str, u32); 3] = [("4 KiB", 4 * KIB), ("64 KiB", 64 * KIB), ("1 MiB", 1024 * KIB)];
const NODES: [u32; 4] = [2, 4, 8, 16];
const MESSAGES: [(&str, u32); 2] = [("8 KiB", 8 * KIB), ("64 KiB", 64 * KIB)];

/// The links inside the device, from the first switch to the router and from there to the second.
#[derive(Clone, Copy)]
struct Inner {
    /// How many; packets of one pair of hosts take one.
    links: usize,
    width: LinkWidth,
    speed: LinkSpeed,
    name: &'static str,
}

/// A cable of the rate of a port.
const CABLE: Inner = Inner { links: 1, width: LinkWidth::X4, speed: LinkSpeed::Edr, name: "1 of 1 port's rate" };

const WIDTHS: [Inner; 6] = [
    CABLE,
    Inner { links: 1, width: LinkWidth::X8, speed: LinkSpeed::Hdr, name: "1 of 4 ports' rate" },
    Inner { links: 1, width: LinkWidth::X12, speed: LinkSpeed::Ndr, name: "1 of 12 ports' rate" },
    Inner { links: 8, width: LinkWidth::X4, speed: LinkSpeed::Edr, name: "8 of 1 port's rate" },
    Inner { links: 8, width: LinkWidth::X8, speed: LinkSpeed::Hdr, name: "8 of 4 ports' rate" },
    INNER,
];

/// Where the router is: the delay of each stage inside the device; none if it is a box of its own.
const DEVICES: [(&str, Option<u32>); 3] =
    [("in the chip, no delay", Some(0)), ("in the chip, chosen delay", Some(STAGE_NS)), ("a box of its own", None)];

/// A pattern of communication.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exchange {
    /// In phase k host i sends to host i + k: transposes, as those of particle-mesh Ewald.
    AllToAll,
    /// Every host sends to both neighbours in a ring: halos, as those of a domain decomposition.
    Ring,
    /// A ring whose neighbours are in different subnets.
    RingAcross,
}

impl Exchange {
    const ALL: [Exchange; 3] = [Exchange::AllToAll, Exchange::Ring, Exchange::RingAcross];

    fn name(self) -> &'static str {
        match self {
            Exchange::AllToAll => "all-to-all",
            Exchange::Ring => "ring",
            Exchange::RingAcross => "ring, every neighbour across",
        }
    }

    /// The messages of each phase, among so many hosts, half of them in either subnet.
    fn phases(self, nodes: u32, bytes: u32) -> Vec<Vec<HostMessage>> {
        let half = nodes / 2;
        // The ranks in use are the first of each subnet.
        let place = |at: u32| if at < half { at } else { HOSTS / 2 + at - half };
        let alternating = |at: u32| place(at / 2 + at % 2 * half);
        let message = |from: u32, to: u32, seat: &dyn Fn(u32) -> u32| HostMessage {
            source: seat(from),
            destination: seat(to % nodes),
            bytes,
        };
        let ring = |seat: &dyn Fn(u32) -> u32| {
            let both = |at| [message(at, at + 1, seat), message(at, at + nodes - 1, seat)];
            vec![(0..nodes).flat_map(both).collect()]
        };
        match self {
            Exchange::AllToAll => {
                (1..nodes).map(|shift| (0..nodes).map(|at| message(at, at + shift, &place)).collect()).collect()
            }
            Exchange::Ring => ring(&place),
            Exchange::RingAcross => ring(&alternating),
        }
    }
}

/// A row of table *applications*.
#[derive(Clone, Copy)]
struct Phase {
    exchange: Exchange,
    nodes: u32,
    size: (&'static str, u32),
}

impl Phase {
    fn all() -> Vec<Phase> {
        let sizes = |exchange, nodes| MESSAGES.map(|size| Phase { exchange, nodes, size });
        let of = |exchange| NODES.into_iter().flat_map(move |nodes| sizes(exchange, nodes));
        Exchange::ALL.into_iter().flat_map(of).collect()
    }

    fn name(self) -> String {
        format!("{}, {} nodes, {}", self.exchange.name(), self.nodes, self.size.0)
    }
}

/// The names of a table's rows.
pub(super) fn rows(table: &str) -> Vec<String> {
    let named = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    match table {
        "latency" => named(&SIZES.map(|(name, _)| name)),
        "bandwidth" => named(&STREAMS.map(|(name, _)| name)),
        "applications" => Phase::all().into_iter().map(Phase::name).collect(),
        "devices" => named(&DEVICES.map(|(name, _)| name)),
        "width" => named(&WIDTHS.map(|inner| inner.name)),
        _ => Vec::new(),
    }
}

/// Measures what is requested.
pub(super) fn tables(
    request: &StudyRequest,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<ResultTable>, ReproduceError> {
    progress("seed-004: 16 hosts at one device, in one subnet and in two");
    let bed = Bed { one: one_subnet()?, two: two_subnets(INNER, Some(STAGE_NS))?, seed: request.seed };
    let mut tables = Vec::new();
    for (name, measure) in [
        ("latency", latency as fn(&Bed, &StudyRequest) -> Result<ResultTable, ReproduceError>),
        ("bandwidth", bandwidth),
        ("applications", applications),
        ("devices", devices),
        ("width", width),
    ] {
        if request.wants(name) {
            let mut table = measure(&bed, request)?;
            table.rows.retain(|row| request.wants_row(&row.name));
            tables.push(table);
        }
    }
    Ok(tables)
}

/// The two arrangements of the device's ports.
struct Bed {
    one: SteadySubnets,
    two: SteadySubnets,
    seed: u64,
}

fn failed(what: &str, why: impl ToString) -> ReproduceError {
    ReproduceError::Run { what: what.to_string(), why: why.to_string() }
}

/// A switch with hosts, host i of them all by `first` + i.
fn switch(first: u32, hosts: u32) -> Result<Fabric, ReproduceError> {
    let mut builder = FabricBuilder::new();
    let name = |at: u32| format!("host-{}", first + at + 1);
    let hosts: Vec<NodeId> = (0..hosts)
        .map(|at| {
            let guid = Guid(0x0200_0000_0a00_0000 | u64::from(first + at + 1) << 8);
            let host = builder.node(NodeKind::Ca, guid, 1, name(at));
            if let Some(port) = builder.port_mut(host, PortNum(1)) {
                port.guid = Some(Guid(guid.0 + 1));
            }
            host
        })
        .collect();
    let guid = Guid(0x0200_0000_0100_0000 | u64::from(first) << 8);
    let device = builder.node(NodeKind::Switch, guid, 36, format!("switch-{}", first / (HOSTS / 2) + 1));
    for (&host, num) in hosts.iter().zip((1..).map(PortNum)) {
        let linked = builder.link((host, PortNum(1)), (device, num), LinkWidth::X4, LinkSpeed::Edr);
        linked.map_err(|error| failed("the cables of a device", error))?;
    }
    builder.build().map_err(|error| failed("the device", error))
}

fn one_subnet() -> Result<SteadySubnets, ReproduceError> {
    routed(&Subnets::alone(switch(0, HOSTS)?))
}

/// These ports as two subnets: the router's port and the switch's port behind it take `stage_ns` each, inside the
/// device; without it, the router is a separate box.
fn two_subnets(inner: Inner, stage_ns: Option<u32>) -> Result<SteadySubnets, ReproduceError> {
    let subnet = |rank: u16| -> Result<Subnet, ReproduceError> {
        let fabric = switch(u32::from(rank) * (HOSTS / 2), HOSTS / 2)?;
        Ok(Subnet { name: format!("half-{}", rank + 1), prefix: GidPrefix::site_local(rank), fabric })
    };
    let list = vec![subnet(0)?, subnet(1)?];
    let seat = |(rank, subnet): (usize, &Subnet)| {
        let mut switches = subnet.fabric.switches();
        switches.next().map(|switch| RouterAttachment { subnet: SubnetId(rank as u16), switch })
    };
    let seats: Vec<RouterAttachment> = list.iter().enumerate().filter_map(seat).collect();
    let options = Options { width: inner.width, speed: inner.speed, ..Options::default() };
    let subnets = place_routers(list, &vec![seats; inner.links], &options)?;
    let mut routed = routed(&subnets)?;
    let legs: Vec<SubnetPort> = routed.subnets().routers().iter().flat_map(|router| router.ports.clone()).collect();
    for leg in legs {
        let behind = routed.subnets().fabric(leg.subnet).peer(leg.port);
        let behind = behind.map(|port| SubnetPort { port, ..leg });
        let ports = [Some(leg), behind].into_iter().flatten();
        routed.in_chip.extend(ports.filter_map(|at| Some((at, stage_ns?))));
    }
    Ok(routed)
}

fn routed(subnets: &Subnets) -> Result<SteadySubnets, ReproduceError> {
    SteadySubnets::route(subnets, &UpDown::default(), DATA_VLS).map_err(|error| failed("seed-004", error))
}

/// How long the phases of an exchange take one after the other, in nanoseconds.
fn time(on: &SteadySubnets, seed: u64, phases: &[Vec<HostMessage>]) -> Result<f64, ReproduceError> {
    // Buffers of 64 KiB a lane, so that no credit is waited for on the inner links.
    let config = SimConfig { seed, buffer_credits: 1024, ..SimConfig::default() };
    let mut took_ns = 0;
    for phase in phases {
        let report = on.exchange(&config, MTU, phase).map_err(|error| failed("an exchange", error))?;
        if report.delivered < report.packets {
            let why = format!("{} of {} packets arrived", report.delivered, report.packets);
            return Err(failed("an exchange", why));
        }
        took_ns += report.took_ns;
    }
    Ok(took_ns as f64)
}

impl Bed {
    /// The duration of one exchange in one subnet and in two, in nanoseconds.
    fn both(&self, phases: &[Vec<HostMessage>]) -> Result<(f64, f64), ReproduceError> {
        Ok((time(&self.one, self.seed, phases)?, time(&self.two, self.seed, phases)?))
    }
}

/// A message from a host to one that is in the other subnet if there are two.
fn across(bytes: u32) -> HostMessage {
    HostMessage { source: 0, destination: HOSTS / 2, bytes }
}

fn longer(one: f64, two: f64) -> f64 {
    100.0 * (two / one - 1.0)
}

/// One message at a time between two hosts.
fn latency(bed: &Bed, _: &StudyRequest) -> Result<ResultTable, ReproduceError> {
    let title = "One message between two hosts: what the router adds, ns";
    let columns = ["one subnet ns", "two subnets ns", "added ns"];
    let mut table = ResultTable::new("seed-004 latency", title, "message", &columns);
    for (name, bytes) in SIZES {
        let (one, two) = bed.both(&[vec![across(bytes)]])?;
        // Messages of several packets carry several global headers.
        let added = match bytes <= MTU {
            true => Cell::near(50.0, two - one, 10.0, 0),
            false => Cell::open(None, two - one, 0),
        };
        table.push(name, vec![Cell::open(None, one, 0), Cell::open(None, two, 0), added]);
    }
    Ok(table)
}

/// Streams both ways between two hosts.
fn bandwidth(bed: &Bed, _: &StudyRequest) -> Result<ResultTable, ReproduceError> {
    let title = "Streams both ways between two hosts, MB/s of payload: no apparent difference";
    let columns = ["one subnet MB/s", "two subnets MB/s", "less %"];
    let mut table = ResultTable::new("seed-004 bandwidth", title, "message", &columns);
    for (name, bytes) in STREAMS {
        let there = across(bytes);
        let back = HostMessage { source: there.destination, destination: there.source, bytes };
        let stream = (0..STREAM).flat_map(|_| [there, back]).collect();
        let (one, two) = bed.both(&[stream])?;
        let rate = |ns: f64| 2.0 * f64::from(STREAM) * f64::from(bytes) * 1e3 / ns;
        let less = Cell::between(Some(0.0), 100.0 * (1.0 - rate(two) / rate(one)), -APPARENT, APPARENT, 2);
        table.push(name, vec![Cell::open(None, rate(one), 0), Cell::open(None, rate(two), 0), less]);
    }
    Ok(table)
}

/// Phases that stand for the applications.
fn applications(bed: &Bed, request: &StudyRequest) -> Result<ResultTable, ReproduceError> {
    let title = "Phases that stand for GROMACS and NAMD, assumed to be a quarter of a step: no apparent difference";
    let columns = ["one subnet µs", "two subnets µs", "longer %", "of a step %"];
    let mut table = ResultTable::new("seed-004 applications", title, "phases", &columns);
    let mut all = Phase::all();
    all.retain(|phase| request.wants_row(&phase.name()));
    let measured = in_order(all.len(), request.threads, |at| {
        let Phase { exchange, nodes, size: (_, bytes) } = all[at];
        bed.both(&exchange.phases(nodes, bytes))
    })?;
    for (phase, (one, two)) in all.into_iter().zip(measured) {
        let micros = |ns: f64| Cell::open(None, ns / 1e3, 2);
        let of_step = COMMUNICATION * longer(one, two);
        // The slides do not say which neighbours are in one subnet, so the worst placement has no figure of theirs.
        let of_step = match phase.exchange {
            Exchange::RingAcross => Cell::open(None, of_step, 2),
            Exchange::AllToAll | Exchange::Ring => Cell::between(Some(0.0), of_step, -APPARENT, APPARENT, 2),
        };
        table.push(phase.name(), vec![micros(one), micros(two), Cell::open(None, longer(one, two), 2), of_step]);
    }
    Ok(table)
}

/// What devices of other delays add to the smallest message.
fn devices(bed: &Bed, _: &StudyRequest) -> Result<ResultTable, ReproduceError> {
    let title = "What a crossing adds to a message of 8 bytes, by the router's place: a device's figure";
    let mut table = ResultTable::new("seed-004 devices", title, "router", &["stage ns", "added ns"]);
    const WHERE: &str = "the slides' figure is that of a router in the chip, which table latency judges";
    let smallest = [vec![across(8)]];
    let one = time(&bed.one, bed.seed, &smallest)?;
    for (name, stage_ns) in DEVICES {
        let inner = if stage_ns.is_some() { INNER } else { CABLE };
        let stage = stage_ns.unwrap_or(SimConfig::default().routing_delay_ns);
        let added = time(&two_subnets(inner, stage_ns)?, bed.seed, &smallest)? - one;
        table.push(name, vec![Cell::open(None, stage.into(), 0), Cell::unjudged(50.0, added, 0, WHERE)]);
    }
    Ok(table)
}

/// How wide the router must be for no difference to appear.
fn width(bed: &Bed, request: &StudyRequest) -> Result<ResultTable, ReproduceError> {
    let title = "16 nodes, 64 KiB, by the links to the router: longer than in one subnet, %";
    let columns = Exchange::ALL.map(Exchange::name);
    let mut table = ResultTable::new("seed-004 width", title, "links", &columns);
    let measured = in_order(WIDTHS.len(), request.threads, |at| {
        let two = two_subnets(WIDTHS[at], Some(STAGE_NS))?;
        let cell = |exchange: Exchange| {
            let phases = exchange.phases(HOSTS, 64 * KIB);
            let (one, two) = (time(&bed.one, bed.seed, &phases)?, time(&two, bed.seed, &phases)?);
            Ok(Cell::open(None, longer(one, two), 1))
        };
        Exchange::ALL.into_iter().map(cell).collect::<Result<Vec<Cell>, ReproduceError>>()
    })?;
    for (inner, cells) in WIDTHS.iter().zip(measured) {
        table.push(inner.name, cells);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_meets_once_and_alternating_neighbours_are_in_different_subnets() {
        for nodes in NODES {
            let phases = Exchange::AllToAll.phases(nodes, 1);
            let mut pairs: Vec<(u32, u32)> = phases.iter().flatten().map(|one| (one.source, one.destination)).collect();
            assert!(pairs.iter().all(|(from, to)| from != to && *from < HOSTS && *to < HOSTS));
            pairs.sort_unstable();
            pairs.dedup();
            assert_eq!(pairs.len() as u32, nodes * (nodes - 1));
            let other = |rank: u32| rank >= HOSTS / 2;
            let ring = Exchange::RingAcross.phases(nodes, 1).remove(0);
            assert!(ring.iter().all(|one| other(one.source) != other(one.destination)), "{nodes}");
        }
    }
}
