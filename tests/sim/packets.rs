//! The simulated fabric from outside: conservation of packets, determinism, deadlock, death, and MADs.

use crate::sim::loaded::{loaded, one_way_ring};
use crate::support::properties::properties;
use crate::support::with_tables::with_tables;
use proptest::prelude::*;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{PortNum, Sl, Vl, VlSet};
use reconfig::sim::{Halt, Latch, Scripted, Sim, SimConfig, SimTransport, Traffic};
use reconfig::transport::{Datagram, Transport};
use reconfig::wire::{AttributeId, Method, NodeInfo, SlToVlMappingTable, Smp};

const LATCHES: [Latch; 3] = [Latch::Arrival, Latch::Head, Latch::Grant];

fn fabric(text: &str) -> Fabric {
    generate(&text.parse::<Topology>().unwrap(), &Options::default()).unwrap()
}

/// Stops the sources and lets everything arrive; nothing may be left, nor any credit missing.
fn run_dry(sim: &mut Sim) {
    sim.stop_sources();
    let end = sim.now_ns() + 10_000_000;
    assert_eq!(sim.run(end, false), Halt::Time);
    assert_eq!(sim.packets().in_flight, 0);
    assert_eq!(sim.occupied(VlSet(u16::MAX)), 0);
}

#[test]
fn every_packet_arrives_and_every_credit_comes_back() {
    for (text, load) in [("fat-tree:4,2", 0.9), ("torus:4x4,2", 0.8), ("random-regular:16,4,4", 0.3), ("ring:5,1", 0.1)]
    {
        for latch in LATCHES {
            let config = SimConfig { load, latch, packet_bytes: 2048, buffer_credits: 40, ..SimConfig::default() };
            let mut sim = loaded(&fabric(text), config).0;
            assert_eq!(sim.run(300_000, false), Halt::Time, "{text}");
            run_dry(&mut sim);
            let packets = sim.packets();
            assert!(packets.injected > 1_000, "{text}: {packets:?}");
            assert_eq!(packets.injected, packets.delivered, "{text}: {packets:?}");
        }
    }
}

#[test]
fn a_run_repeated_is_the_same_run_and_another_seed_another() {
    let hash = |seed, latch| {
        let config = SimConfig { seed, latch, replies: 0.5, ..SimConfig::default() };
        let mut sim = loaded(&fabric("fat-tree:4,2"), config).0;
        sim.run(200_000, false);
        sim.trace_hash()
    };
    for latch in LATCHES {
        assert_eq!(hash(1, latch), hash(1, latch));
        assert_ne!(hash(1, latch), hash(2, latch));
    }
}

#[test]
fn load_is_what_is_delivered_below_saturation() {
    let mut sim = loaded(&fabric("fat-tree:4,2"), SimConfig { load: 0.2, ..SimConfig::default() }).0;
    sim.run(50_000, false);
    sim.begin_period();
    sim.run(1_050_000, false);
    let delivered = sim.periods()[1].bytes as f64 / 1e6 / sim.delivery_capacity();
    assert!((0.19..0.21).contains(&delivered), "{delivered}");
}

#[test]
fn packets_all_round_a_ring_deadlock_and_the_cycle_is_named() {
    for latch in LATCHES {
        let (fabric, tables, sm) = one_way_ring(4);
        let config = SimConfig { load: 1.0, data_vls: 1, buffer_credits: 20, latch, ..SimConfig::default() };
        let mut sim = with_tables(&fabric, &tables, config, sm);
        sim.run(2_000_000, false);
        sim.confirm_deadlock();
        let cycle = sim.deadlock().expect("a saturated one-way ring deadlocks").to_vec();
        assert_eq!(cycle.len(), 4, "{latch:?}: one lane of each switch");
        for (here, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            assert_eq!(fabric.peer(here.output), Some(next.input));
            assert_eq!(fabric.port(here.input).node, fabric.port(here.output).node);
            assert_eq!(here.output_vl, next.input_vl);
        }
    }
}

/// One packet from each host of a ring, on one service level, to the host so many switches onwards.
fn round(fabric: &Fabric, at_ns: u64, sl: Sl, onwards: usize) -> Vec<Scripted> {
    let hosts: Vec<PortId> = fabric.end_ports().collect();
    let lid = |rank: usize| fabric.port(hosts[rank % hosts.len()]).lid.unwrap();
    let packet = |rank: usize| Scripted { at_ns, source: hosts[rank], dlid: lid(rank + onwards), sl, bytes: 1024 };
    (0..hosts.len()).map(packet).collect()
}

/// A quiet one-way ring of four switches whose service levels have lanes of their own, with the latch `grant`. Four
/// packets on one lane, one from each host, deadlock on it.
fn ring_of_two_lanes() -> (Fabric, Sim, PortId) {
    let (fabric, tables, sm) = one_way_ring(4);
    let config = SimConfig { load: 0.0, data_vls: 2, buffer_credits: 20, latch: Latch::Grant, ..SimConfig::default() };
    let mut sim = with_tables(&fabric, &tables, config, sm);
    fabric.nodes().for_each(|(node, _)| sim.load_sl_to_vl(node, |sl| Vl::masked(sl.get() % 2)));
    (fabric, sim, sm)
}

#[test]
fn a_cycle_that_stands_is_confirmed_though_a_later_one_was_opened() {
    let (fabric, mut sim, sm) = ring_of_two_lanes();
    let (first, second) = (Sl::masked(0), Sl::masked(1));
    sim.script([round(&fabric, 1_000, first, 2), round(&fabric, 20_000, second, 3)].concat());
    sim.run(50_000, false);
    // At the first switch the packet of the second cycle is for host 2, that of the first cycle for host 1.
    let mut entries = [255; 64];
    entries[1..=4].copy_from_slice(&[1, 2, 255, 2]);
    let mut transport = SimTransport::new(sim);
    let path = [fabric.port(sm).num];
    let write = Smp::directed(&path, Method::Set, AttributeId::LinearForwardingTable, 0, entries).unwrap();
    exchange(&mut transport, &write).expect("the switch answers");
    transport.with(|sim| {
        sim.run(sim.now_ns() + 100_000, false);
        assert_eq!((sim.occupied(VlSet(1)), sim.occupied(VlSet(2))), (4, 0), "the second cycle is open");
        sim.confirm_deadlock();
        let cycle = sim.deadlock().expect("the first cycle stands");
        assert!(cycle.len() == 4 && cycle.iter().all(|stuck| stuck.sl == first), "{cycle:?}");
    });
}

#[test]
fn a_packet_keeps_the_lane_of_its_send_queue() {
    let (fabric, mut sim, sm) = ring_of_two_lanes();
    // Once the ring is full, the next packet of each host fills the buffer at its switch, and one waits behind it.
    let rounds = [1_000, 20_000, 30_000].map(|at_ns| round(&fabric, at_ns, Sl::masked(0), 2));
    sim.script(rounds.concat());
    sim.run(50_000, false);
    assert_eq!((sim.occupied(VlSet(1)), sim.occupied(VlSet(2))), (12, 0));
    let mut transport = SimTransport::new(sim);
    let table = SlToVlMappingTable([Vl::masked(1); 16]).encode();
    let write = Smp::directed(&[], Method::Set, AttributeId::SlToVlMappingTable, 0, table).unwrap();
    exchange(&mut transport, &write).expect("the host answers");
    transport.with(|sim| {
        sim.run(sim.now_ns() + 100_000, false);
        assert_eq!((sim.occupied(VlSet(1)), sim.occupied(VlSet(2))), (12, 0), "no packet has changed its lane");
        let at_ns = sim.now_ns() + 1_000;
        let own = round(&fabric, at_ns, Sl::masked(0), 2).into_iter().find(|packet| packet.source == sm);
        sim.script(own.into_iter().collect());
        sim.run(at_ns + 1_000, false);
        assert!(sim.occupied(VlSet(2)) > 0, "a packet handed over later goes by the new table");
    });
}

#[test]
fn lifetime_limits_break_the_deadlock_at_a_loss() {
    let (fabric, tables, sm) = one_way_ring(4);
    let config =
        SimConfig { load: 1.0, data_vls: 1, buffer_credits: 20, hoq_lifetime_ns: 65_536, ..SimConfig::default() };
    let mut sim = with_tables(&fabric, &tables, config, sm);
    assert_eq!(sim.run(2_000_000, false), Halt::Time);
    let (broken, discarded) = sim.limits_at_work();
    assert!(broken > 0 && discarded > 0, "{broken} {discarded}");
    assert!(sim.packets().lost_to_change >= discarded);
    // What will break is no deadlock as long as the run goes on, and is one if it ends there.
    assert_eq!((sim.deadlock(), sim.deadlock_limit_ns()), (None, None));
    while sim.limits_at_work().0 == broken {
        sim.run(sim.now_ns() + 1_000, false);
    }
    let broken = sim.limits_at_work().0;
    sim.confirm_deadlock();
    assert_eq!(sim.deadlock().expect("it has just closed").len(), 4);
    assert_eq!((sim.limits_at_work().0, sim.deadlock_limit_ns()), (broken - 1, Some(65_536)));
}

/// One that a limit has broken is not found again.
#[test]
fn a_broken_deadlock_does_not_stand() {
    let (fabric, tables, sm) = one_way_ring(4);
    let config =
        SimConfig { load: 1.0, data_vls: 1, buffer_credits: 20, hoq_lifetime_ns: 65_536, ..SimConfig::default() };
    let mut sim = with_tables(&fabric, &tables, config, sm);
    sim.run(2_000_000, false);
    let broken = sim.limits_at_work().0;
    run_dry(&mut sim);
    sim.confirm_deadlock();
    assert_eq!(sim.deadlock(), None);
    assert!(sim.limits_at_work().0 >= broken);
}

#[test]
fn a_dead_switch_takes_what_crossed_it_and_no_more() {
    let fabric = fabric("fat-tree:4,2");
    let (mut sim, root, _) = loaded(&fabric, SimConfig { load: 0.6, ..SimConfig::default() });
    sim.run(100_000, false);
    sim.kill(root);
    sim.run(300_000, false);
    run_dry(&mut sim);
    let packets = sim.packets();
    assert!(packets.lost_to_failure > 100, "{packets:?}");
    assert_eq!((packets.lost_to_change, packets.stranded), (0, 0), "{packets:?}");
    assert_eq!(packets.injected, packets.delivered + packets.lost_to_failure);
}

#[test]
fn hosts_of_a_dead_leaf_are_stranded() {
    let fabric = fabric("fat-tree:4,2");
    let (mut sim, _, sm) = loaded(&fabric, SimConfig { load: 0.3, ..SimConfig::default() });
    let leaf = fabric.end_ports().filter_map(|port| fabric.neighbour(port)).find(|&s| Some(s) != fabric.neighbour(sm));
    sim.run(100_000, false);
    sim.kill(leaf.unwrap());
    sim.run(200_000, false);
    sim.stop_sources();
    sim.run(2_000_000, false);
    let packets = sim.packets();
    assert!(packets.stranded > 0, "{packets:?}");
    assert_eq!((packets.lost_to_change, packets.in_flight), (0, 0), "{packets:?}");
}

#[test]
fn traffic_follows_its_pattern() {
    let spot = Traffic::HotSpot { destination: 3, share: 1.0 };
    let mut sim = loaded(&fabric("fat-tree:4,2"), SimConfig { traffic: spot, load: 0.01, ..SimConfig::default() }).0;
    sim.run(200_000, false);
    assert!(sim.packets().delivered > 0);
    let trace = Traffic::Trace(vec![(1_000, 0, 5, 512), (1_000, 1, 5, 256), (90_000, 2, 2, 64), (95_000, 2, 4, 64)]);
    let mut sim = loaded(&fabric("fat-tree:4,2"), SimConfig { traffic: trace, ..SimConfig::default() }).0;
    sim.run(200_000, false);
    assert_eq!(sim.packets().delivered, 3, "a port does not send to itself");
    let mut sim =
        loaded(&fabric("fat-tree:4,2"), SimConfig { traffic: Traffic::Permutation, ..SimConfig::default() }).0;
    sim.run(200_000, false);
    run_dry(&mut sim);
}

#[test]
fn replies_double_the_packets() {
    let mut sim = loaded(&fabric("fat-tree:4,2"), SimConfig { load: 0.1, replies: 1.0, ..SimConfig::default() }).0;
    sim.run(300_000, false);
    run_dry(&mut sim);
    let packets = sim.packets();
    assert_eq!(packets.injected, packets.delivered);
    assert_eq!(packets.injected % 2, 0);
}

#[test]
fn a_directed_request_is_answered_by_the_node_it_reaches() {
    let fabric = fabric("fat-tree:4,2");
    let (sim, _, sm) = loaded(&fabric, SimConfig { load: 0.0, ..SimConfig::default() });
    let mut transport = SimTransport::new(sim);
    let own = fabric.port(sm).num;
    let smp = Smp::directed(&[own], Method::Get, AttributeId::NodeInfo, 0, [0; 64]).unwrap().with_tid(77);
    let answer = exchange(&mut transport, &smp).expect("the switch answers");
    let leaf = fabric.node(fabric.neighbour(sm).unwrap());
    let info = NodeInfo::decode(&answer.data);
    assert_eq!((answer.tid, info.node_guid, info.num_ports), (77, leaf.guid, leaf.num_ports));
    // One service of 18.6 µs, and the flight there and back.
    assert!((18_600..20_000).contains(&transport.now_ns()), "{}", transport.now_ns());
    let unlinked = Smp::directed(&[own, PortNum(leaf.num_ports)], Method::Get, AttributeId::NodeInfo, 0, [0; 64]);
    let dark = fabric.port_at(fabric.neighbour(sm).unwrap(), PortNum(leaf.num_ports)).unwrap();
    assert_eq!(exchange(&mut transport, &unlinked.unwrap()).is_none(), fabric.peer(dark).is_none());
}

fn exchange(transport: &mut SimTransport, smp: &Smp) -> Option<Smp> {
    let bytes = Box::new(smp.encode());
    let datagram = Datagram { lid: reconfig::ids::Lid::PERMISSIVE, from: None, qp: 0, sl: Default::default(), bytes };
    let driver = transport.clone();
    let mut sender = transport.clone();
    let mut future = tokio_test::task::spawn(async move {
        sender.send(datagram).await.unwrap();
        let until = sender.now_ns() + 1_000_000;
        sender.recv(until).await.unwrap()
    });
    loop {
        if let std::task::Poll::Ready(answer) = future.poll() {
            return answer.map(|datagram| Smp::decode(&datagram.bytes).unwrap());
        }
        driver.advance(u64::MAX);
    }
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever dies and when: every packet has one fate, and without a change none is lost to one.
    #[test]
    fn every_packet_has_one_fate(seed in 0u64..1000, deaths in prop::collection::vec((0usize..40, 1u64..200), 0..4),
        load in 0.05f64..0.9, latch in prop::sample::select(&LATCHES[..]), replies in prop::sample::select(&[0.0, 0.7][..])) {
        let options = Options { seed, ..Options::default() };
        let fabric = generate(&"random-regular:10,3,2".parse::<Topology>().unwrap(), &options).unwrap();
        let config = SimConfig { seed, load, latch, replies, buffer_credits: 20, ..SimConfig::default() };
        let (mut sim, _, sm) = loaded(&fabric, config);
        let links: Vec<_> = fabric.links().filter(|&(a, b)| a != sm && b != sm).collect();
        let mut deaths = deaths;
        deaths.sort_by_key(|death| death.1);
        for (which, time_us) in deaths {
            prop_assert_ne!(sim.run(time_us * 1_000, false), Halt::Deadlock);
            sim.kill(links[which % links.len()].0);
        }
        prop_assert_ne!(sim.run(250_000, false), Halt::Deadlock);
        sim.stop_sources();
        prop_assert_ne!(sim.run(20_000_000, false), Halt::Deadlock);
        let p = sim.packets();
        prop_assert_eq!(p.injected, p.delivered + p.in_flight + p.stranded + p.lost_to_failure + p.lost_to_change);
        prop_assert_eq!(p.lost_to_change, 0);
        prop_assert_eq!(p.in_flight, 0);
    }
}
