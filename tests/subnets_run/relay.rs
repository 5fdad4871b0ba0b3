//! What routers do with packets: hop limits, partitions, order, traffic classes, read off single packets and steady
//! runs.

use super::{assert_clean, assert_whole, fixture, generated, run, small};
use reconfig::fabric::generate::JoinShape;
use reconfig::fabric::subnets::{Joined, Subnet, SubnetPort, Subnets};
use reconfig::ids::{Half, Lmc, PKey, Sl, SubnetId};
use reconfig::lid;
use reconfig::routers::{Discard, Enforcement, Levels, LevelsRule};
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::scenario::{Departure, Ending, Scenario, ScenarioChange, SimulationReport};
use reconfig::sim::{
    Dispersal, GmpCounts, Joining, PacketCounts, PathChoice, Relation, Sim, SimConfig, Spray, Traffic,
};
use reconfig::transport::Datagram;
use reconfig::wire::{Method, PerfAttributeId, PerfMad, PortDataSl};
use std::collections::{BTreeMap, BTreeSet};

const DATA_VLS: u8 = 8;

/// A line of subnets with a router between each two.
fn line(subnets: u16) -> Subnets {
    let made = generated("ring:4,2", subnets, JoinShape::Line, 1, 1);
    let assigned = |subnet: &Subnet| lid::assign(&subnet.fabric, Lmc::masked(1)).expect("LIDs suffice");
    made.with_fabrics(made.subnets().map(|(_, subnet)| assigned(subnet)).collect())
}

/// What joins them, its levels raised.
fn joining(subnets: &Subnets) -> Joining {
    let managers = subnets.subnets().map(|(id, _)| host(subnets, id)).collect();
    let mut joining = Joining::new(subnets.clone(), Levels::KEEP, managers);
    joining.levels = Levels::new(LevelsRule::Raise, joining.routes.most_crossings(), DATA_VLS).expect("lanes suffice");
    joining
}

fn host(subnets: &Subnets, subnet: SubnetId) -> SubnetPort {
    SubnetPort { subnet, port: subnets.hosts(subnet).next().expect("a host") }
}

/// A simulation, routed and loaded.
fn simulated(joining: Joining, config: SimConfig) -> Sim {
    let subnets = joining.subnets.clone();
    let whole = Joined::of(&subnets);
    let mut sim = Sim::joined(joining, SimConfig { data_vls: DATA_VLS, ..config }).expect("can be simulated");
    for (id, Subnet { fabric, .. }) in subnets.subnets() {
        let function = UpDown::default().route(fabric, &Demand::all(fabric, 1)).expect("connected");
        let tables = lid::bring_up(fabric, &function, DATA_VLS);
        for (switch, block, entries) in tables.lft_blocks(fabric) {
            sim.load_lft_block(whole.node(id, switch), block, &entries);
        }
    }
    sim.load_half(Half::Lower);
    sim.start();
    sim
}

/// Sixteen packets, one by one, from the first host of all to a host of each subnet in turn.
fn one_by_one(joining: Joining) -> Sim {
    let count = joining.subnets.len() as u32;
    let each = joining.subnets.hosts(SubnetId(0)).count() as u32;
    let entry = |at: u32| (10_000 * u64::from(at), 0, at % count * each + 1, 256);
    let traffic = Traffic::Trace((0..4 * count).map(entry).collect());
    let mut sim = simulated(joining, SimConfig { traffic, ..SimConfig::default() });
    sim.run(1_000_000, false);
    sim
}

/// What became of the packets from subnet 0 to another.
fn towards(sim: &Sim, to: u16) -> PacketCounts {
    let wanted = |(from, at, _): &(SubnetId, SubnetId, &Relation)| (from.0, at.0) == (0, to);
    sim.relations().find(wanted).expect("a relation").2.counts
}

fn assert_fates(sim: &Sim, delivered: &[bool], why: Discard) {
    for (to, &arrives) in delivered.iter().enumerate() {
        let counts = towards(sim, to as u16);
        let expected = PacketCounts {
            injected: 4,
            delivered: if arrives { 4 } else { 0 },
            lost_to_change: if arrives { 0 } else { 4 },
            ..PacketCounts::default()
        };
        assert_eq!(counts, expected, "to subnet {to}");
    }
    let lost = 4 * delivered.iter().filter(|&&arrives| !arrives).count() as u64;
    let expected: BTreeMap<Discard, u64> = (lost > 0).then_some((why, lost)).into_iter().collect();
    assert_eq!(sim.relay_discards(), expected);
    assert_eq!((sim.packets().lost_to_change, sim.packets().in_flight), (lost, 0));
}

/// A router discards what has a hop limit below 2: 1 leads nowhere, 2 through one router, 3 through two.
#[test]
fn the_hop_limit_counts_routers() {
    let subnets = line(3);
    for (hop_limit, delivered) in
        [(0, [true, false, false]), (1, [true, false, false]), (2, [true, true, false]), (3, [true; 3])]
    {
        let sim = one_by_one(Joining { hop_limit, ..joining(&subnets) });
        assert_fates(&sim, &delivered, Discard::HopLimit);
    }
}

#[test]
fn a_hop_limit_that_is_too_low_is_told_in_the_report() {
    for (hop_limit, farthest) in [(1, 0), (2, 1), (3, 2)] {
        let asked = Scenario { cross: 0.5, ..small(line(3), ScenarioChange::Nothing, Departure::Sudden) };
        let report = run(&Scenario { hop_limit, ..asked });
        assert_eq!(report.is_clean(), farthest == 2, "hop limit {hop_limit}");
        assert_eq!(report.outcome, Ending::Completed);
        for relation in &report.relations {
            let arrives = relation.crossings.expect("all are joined") <= farthest;
            let p = &relation.packets;
            assert_eq!((p.delivered, p.lost_to_change), if arrives { (p.injected, 0) } else { (0, p.injected) });
        }
        let lost = report.packets.lost_to_change;
        assert_eq!(report.relay_discards.get("hop-limit").copied().unwrap_or(0), lost);
    }
}

/// The ports of a router, by subnet.
fn leg(subnets: &Subnets, router: usize, subnet: u16) -> SubnetPort {
    let own = &subnets.routers()[router].ports;
    *own.iter().find(|port| port.subnet.0 == subnet).expect("a port there")
}

const PARTITION: PKey = PKey(0x8123);
const OTHER: PKey = PKey(0x8124);

/// The first host of all has `own`, the others are full members of its partition; one port of a router looks, into or
/// out of the router.
fn partitioned(own: Option<PKey>, router: usize, subnet: u16, enforced: Enforcement) -> Sim {
    let subnets = line(3);
    let mut joining = joining(&subnets);
    joining.enforcement.insert(leg(&subnets, router, subnet), enforced);
    if let Some(own) = own {
        joining.partitions = everybody(&subnets, &[PKey(own.0 | PKey::FULL)]);
        joining.partitions.insert(host(&subnets, SubnetId(0)), vec![own]);
    }
    one_by_one(joining)
}

/// The same table for all hosts.
fn everybody(subnets: &Subnets, table: &[PKey]) -> BTreeMap<SubnetPort, Vec<PKey>> {
    let all =
        subnets.subnets().flat_map(|(subnet, _)| subnets.hosts(subnet).map(move |port| SubnetPort { subnet, port }));
    all.map(|at| (at, table.to_vec())).collect()
}

fn inbound(keys: &[PKey]) -> Enforcement {
    Enforcement { inbound: Some(keys.to_vec()), outbound: None }
}

fn outbound(keys: &[PKey]) -> Enforcement {
    Enforcement { inbound: None, outbound: Some(keys.to_vec()) }
}

/// The partition of the host that sends, a router, a subnet that it has a port in, what that port enforces; which
/// subnets are reached.
type Case = (Option<PKey>, usize, u16, Enforcement, [bool; 3]);

#[test]
fn partitions_are_looked_at_going_in_and_going_out() {
    let (all, none, first) = ([true; 3], [true, false, false], [true, true, false]);
    let cases: [Case; 10] = [
        (None, 0, 0, inbound(&[PKey::DEFAULT]), all),
        (None, 0, 0, inbound(&[PARTITION]), none),
        (Some(PARTITION), 0, 0, inbound(&[OTHER, PARTITION]), all),
        (Some(PARTITION), 0, 1, outbound(&[OTHER]), none),
        (Some(PARTITION), 0, 1, outbound(&[PARTITION]), all),
        (Some(PARTITION), 1, 1, inbound(&[OTHER]), first),
        (Some(PARTITION), 1, 2, outbound(&[]), first),
        // What is enforced the other way round does not matter to these packets.
        (Some(PARTITION), 0, 0, outbound(&[OTHER]), all),
        (Some(PARTITION), 0, 1, inbound(&[OTHER]), all),
        // Two limited members do not speak with each other.
        (Some(PKey(0x0123)), 0, 0, inbound(&[PKey(0x0123)]), none),
    ];
    for (own, router, subnet, enforced, delivered) in cases {
        println!("{own:?} at router {router}, subnet {subnet}: {enforced:?}");
        assert_fates(&partitioned(own, router, subnet, enforced), &delivered, Discard::Partition);
    }
}

/// Packets to hosts with which their source shares no partition are not sent, and counted; within its subnet too.
#[test]
fn nobody_sends_to_whom_no_partition_is_shared_with() {
    let subnets = line(3);
    let (full, limited) = (PARTITION, PKey(PARTITION.0 & !PKey::FULL));
    for (own, others, sent) in [
        (full, full, true),
        (full, limited, true),
        (limited, full, true),
        (limited, limited, false),
        (OTHER, full, false),
    ] {
        let mut joining = joining(&subnets);
        joining.partitions = everybody(&subnets, &[others]);
        joining.partitions.insert(host(&subnets, SubnetId(0)), vec![own]);
        let sim = one_by_one(joining);
        for to in 0..3 {
            let found = sim.relations().find(|(from, at, _)| (from.0, at.0) == (0, to)).expect("a relation").2;
            let expected = if sent { (4, 4, 0) } else { (0, 0, 4) };
            assert_eq!(
                (found.counts.injected, found.counts.delivered, found.parted),
                expected,
                "{own} to {others} in {to}"
            );
            assert_eq!(found.unsendable, 0);
        }
    }
}

/// Of several partitions that two hosts share, packets are of the first in the sender's table.
#[test]
fn packets_are_of_the_first_partition_that_both_hold() {
    let subnets = line(3);
    for (own, passes) in [([OTHER, PARTITION], false), ([PARTITION, OTHER], true), ([PKey(0x0123), OTHER], true)] {
        let mut joining = joining(&subnets);
        joining.partitions = everybody(&subnets, &[OTHER, PARTITION]);
        joining.partitions.insert(host(&subnets, SubnetId(0)), own.to_vec());
        joining.enforcement.insert(leg(&subnets, 0, 0), inbound(&[PARTITION]));
        assert_fates(&one_by_one(joining), &[true, passes, passes], Discard::Partition);
    }
}

/// A router to which no way is known discards what is on its way there already.
#[test]
fn where_no_router_leads_on_packets_are_discarded() {
    let subnets = line(3);
    let far = joining(&subnets);
    let near = reconfig::routers::Routes::new(&subnets, |at| at.subnet.0 < 2);
    let traffic = Traffic::Trace((0..8).map(|at| (2_000 * at, 0, 17, 256)).collect());
    let mut sim = simulated(far, SimConfig { traffic, ..SimConfig::default() });
    sim.run(8_000, false);
    assert!(towards(&sim, 2).delivered > 0, "{:?}", sim.packets());
    sim.set_routes(near);
    sim.run(1_000_000, false);
    let counts = towards(&sim, 2);
    assert_eq!(counts.delivered + counts.lost_to_change, counts.injected, "{counts:?}");
    assert!(counts.injected < 8, "nobody sends where no router leads: {counts:?}");
}

/// Half of the traffic crosses, at a load that fills queues.
fn steady(subnets: Subnets, lmc: u8, dispersal: Dispersal) -> SimulationReport {
    let mut asked = Scenario { cross: 0.5, ..small(subnets, ScenarioChange::Nothing, Departure::Sudden) };
    (asked.load, asked.lmc, asked.before_ns) = (Some(0.3), Lmc::masked(lmc), 200_000);
    let sim = asked.sim.clone();
    asked.sim = SimConfig { dispersal, message_packets: 4, count_order: true, ..sim };
    let report = run(&asked);
    assert_clean(&report);
    report.relations.iter().for_each(|relation| assert_whole(relation, "steady"));
    report
}

/// Three routers between each two subnets, in a line of three: the flow label picks one of nine ways, the same for
/// good.
#[test]
fn the_flow_label_keeps_packets_in_order() {
    let subnets = || generated("random-regular:8,3,2", 3, JoinShape::Line, 3, 4);
    for (lmc, choice) in [(1, PathChoice::Single), (3, PathChoice::Single), (3, PathChoice::Base)] {
        let order = steady(subnets(), lmc, Dispersal { choice, ..Dispersal::default() }).order.expect("counted").before;
        assert!(order.packets > 5_000, "{order:?}");
        assert_eq!((order.late_packets, order.late_messages), (0, 0), "LMC {lmc}, {choice:?}");
    }
    for (lmc, choice, spray) in [
        (1, PathChoice::Paired, Spray::Packet),
        (3, PathChoice::Paired, Spray::Message),
        (3, PathChoice::All, Spray::Packet),
    ] {
        let order = steady(subnets(), lmc, Dispersal { choice, spray, paths: None }).order.expect("counted").before;
        println!("LMC {lmc}, {choice:?} by {spray:?}: {} of {} late", order.late_packets, order.packets);
        assert!(order.late_packets > 0, "LMC {lmc}, {choice:?} by {spray:?}: {order:?}");
        let split = spray == Spray::Packet;
        assert_eq!(order.late_in_message > 0, split, "LMC {lmc}, {choice:?} by {spray:?}: {order:?}");
    }
}

/// Every router that leads there is used, whatever picks one: for replies too, which take no turns.
#[test]
fn every_router_carries_its_share() {
    let paired = Dispersal { choice: PathChoice::Paired, ..Dispersal::default() };
    for (dispersal, replies) in [(Dispersal::default(), 0.0), (Dispersal::default(), 1.0), (paired, 0.0), (paired, 1.0)]
    {
        assert_shared(SimConfig { load: 0.03, dispersal, replies, ..SimConfig::default() });
    }
}

fn assert_shared(config: SimConfig) {
    let subnets = fixture("two-subnets");
    let assigned = |subnet: &Subnet| lid::assign(&subnet.fabric, Lmc::masked(1)).expect("LIDs suffice");
    let subnets = subnets.with_fabrics(subnets.subnets().map(|(_, subnet)| assigned(subnet)).collect());
    let joined = Joined::of(&subnets);
    let joining = Joining { cross: 1.0, ..joining(&subnets) };
    let mut sim = simulated(joining, config);
    sim.run(200_000, false);
    let sent = sim.bytes_sent(0);
    let of = |at: &SubnetPort| sent[joined.port(*at).index()];
    let by_router: Vec<u64> = subnets.routers().iter().map(|router| router.ports.iter().map(of).sum()).collect();
    let (least, most) = (by_router.iter().min(), by_router.iter().max());
    assert!(least.zip(most).is_some_and(|(least, most)| 5 * least > 3 * most), "{by_router:?}");
}

/// The service level of questions for counters.
const ASKED_ON: usize = 15;

/// Units of data by service level at a host, as the manager of its subnet reads them there; without the level of the
/// questions, which count themselves.
fn by_level(sim: &mut Sim, subnets: &Subnets, at: SubnetPort, counter: PerfAttributeId) -> [u32; 16] {
    let joined = Joined::of(subnets);
    let port = subnets.fabric(at.subnet).port(at.port);
    let manager = joined.port(host(subnets, at.subnet));
    sim.attach(manager).expect("a host takes a client");
    let asked = PerfMad::new(Method::Get, counter, PortDataSl::all(port.num).encode()).with_tid(7);
    let bytes = Box::new(asked.encode());
    sim.send_from(
        manager,
        &Datagram { lid: port.lid.expect("a LID"), from: None, qp: 1, sl: Sl::masked(ASKED_ON as u8), bytes },
    );
    sim.run(sim.now_ns() + 100_000, false);
    let answer = sim.received_at(manager).expect("an answer");
    let mut counters =
        PortDataSl::decode(&PerfMad::decode(&answer.bytes).expect("of performance management").data).counters;
    counters[ASKED_ON] = 0;
    counters
}

#[test]
fn a_routers_port_is_asked_for_its_counters_among_data_and_answers() {
    let subnets = line(3);
    let config = SimConfig { load: 0.2, ..SimConfig::default() };
    let mut sim = simulated(Joining { cross: 0.5, ..joining(&subnets) }, config);
    sim.run(100_000, false);
    let ports: Vec<SubnetPort> = subnets.routers().iter().flat_map(|router| router.ports.clone()).collect();
    for &at in &ports {
        for counter in [PerfAttributeId::PortXmitDataSl, PerfAttributeId::PortRcvDataSl] {
            let counted: u32 = by_level(&mut sim, &subnets, at, counter).iter().sum();
            assert!(counted > 1_000, "{at:?}, {counter:?}: {counted}");
        }
    }
    let asked = 2 * ports.len() as u64;
    assert_eq!(sim.gmps(), GmpCounts { sent: 2 * asked, arrived: 2 * asked, lost: 0 });
    assert!(sim.relay_discards().is_empty(), "{:?}", sim.relay_discards());
    sim.begin_period();
}

/// Four layers, so two traffic classes: what sets out on level 0 or 4 of the half is on 1 or 5 in the next subnet, on 2
/// or 6 in the one behind.
#[test]
fn the_traffic_class_is_kept_on_the_way() {
    let subnets = line(3);
    let to: Vec<SubnetPort> =
        subnets.hosts(SubnetId(2)).map(|port| SubnetPort { subnet: SubnetId(2), port }).skip(1).collect();
    let from = subnets.hosts(SubnetId(0)).map(|port| SubnetPort { subnet: SubnetId(0), port }).nth(1).expect("a host");
    let mut classes = BTreeSet::new();
    for (rank, &at) in to.iter().enumerate() {
        let traffic = Traffic::Trace(vec![(1_000, 1, 17 + rank as u32, 256)]);
        let mut sim = simulated(joining(&subnets), SimConfig { traffic, ..SimConfig::default() });
        sim.run(100_000, false);
        let mut level = |at, counter| {
            let counters = by_level(&mut sim, &subnets, at, counter);
            let used: Vec<usize> = (0..16).filter(|&level| counters[level] > 0).collect();
            assert_eq!(used.len(), 1, "one packet: {counters:?}");
            used[0]
        };
        let (sent, received) =
            (level(from, PerfAttributeId::PortXmitDataSl), level(at, PerfAttributeId::PortRcvDataSl));
        assert_eq!((sent % 4, received), (0, sent + 2), "to host {rank}");
        classes.insert(sent / 4);
    }
    assert_eq!(classes.len(), 2, "both classes are met");
}
