//! General management packets: on the lanes of data, behind data, lost where data is lost, and counted apart.

use crate::sim::loaded::{loaded, one_way_ring};
use crate::support::with_tables::with_tables;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Lid, PortNum, Sl, Vl, VlSet};
use reconfig::sim::{GmpCounts, Halt, Latch, Scripted, Sim, SimConfig};
use reconfig::tables::SubnetTables;
use reconfig::transport::Datagram;
use reconfig::wire::{Method, PerfAttributeId, PerfMad, PortCounters, PortDataSl};
use std::sync::Arc;

const LATCHES: [Latch; 3] = [Latch::Arrival, Latch::Head, Latch::Grant];

/// A quarter of a kilobyte and its headers, in the units of PortXmitDataSL.
const WORDS: u32 = 290 / 4;

fn fabric(text: &str) -> Fabric {
    generate(&text.parse::<Topology>().unwrap(), &Options::default()).unwrap()
}

fn quiet() -> SimConfig {
    SimConfig { load: 0.0, ..SimConfig::default() }
}

/// A ring whose entries lead one way round, without traffic of its own: hosts 0 to 3 have LIDs 1 to 4.
fn ring(config: SimConfig) -> (Fabric, SubnetTables, Sim) {
    let (fabric, tables, sm) = one_way_ring(4);
    let sim = with_tables(&fabric, &tables, config, sm);
    (fabric, tables, sim)
}

fn host(fabric: &Fabric, rank: usize) -> PortId {
    fabric.end_ports().nth(rank).unwrap()
}

/// A question for counters by service level, from a port with a client.
fn ask(sim: &mut Sim, from: PortId, to: Lid, sl: u8, counter: PerfAttributeId) {
    let question = PerfMad::new(Method::Get, counter, PortDataSl::all(PortNum(1)).encode()).with_tid(7);
    let bytes = Box::new(question.encode());
    sim.send_from(from, &Datagram { lid: to, from: None, qp: 1, sl: Sl::masked(sl), bytes });
}

/// Lets time pass until an answer comes, and gives it with its header; none after half a millisecond.
fn answer(sim: &mut Sim, at: PortId) -> Option<(Datagram, PortDataSl)> {
    let patience = sim.now_ns() + 500_000;
    (sim.run(patience, true) == Halt::Mad).then(|| {
        let came = sim.received_at(at).unwrap();
        let perf = PerfMad::decode(&came.bytes).unwrap();
        (came, PortDataSl::decode(&perf.data))
    })
}

fn counts(sent: u64, arrived: u64, lost: u64) -> GmpCounts {
    GmpCounts { sent, arrived, lost }
}

#[test]
fn questions_count_where_data_counts_and_not_among_users_packets() {
    for latch in LATCHES {
        let (fabric, _, mut sim) = ring(SimConfig { latch, ..quiet() });
        let (asker, asked) = (host(&fabric, 0), Lid(3));
        ask(&mut sim, asker, asked, 5, PerfAttributeId::PortRcvDataSl);
        let (came, received) = answer(&mut sim, asker).expect("an answer");
        assert_eq!((came.lid, came.sl.get()), (asked, 5), "the answer swaps LIDs and keeps the level");
        assert_eq!(received.counters[5], WORDS, "the question itself was received");
        ask(&mut sim, asker, asked, 5, PerfAttributeId::PortXmitDataSl);
        let sent = answer(&mut sim, asker).expect("an answer").1;
        assert_eq!(sent.counters[5], WORDS, "one answer was sent before");
        // A port reaches itself without the subnet.
        ask(&mut sim, asker, Lid(1), 5, PerfAttributeId::PortXmitDataSl);
        let own = answer(&mut sim, asker).expect("an answer").1;
        assert_eq!(own.counters[5], 2 * WORDS);
        assert_eq!(sim.gmps(), counts(4, 4, 0), "{latch:?}");
        assert_eq!(sim.packets(), Default::default());
        assert_eq!(sim.bytes_sent(0)[asker.index()], 2 * 290);
        // Each passes the three switches between its ends.
        assert_eq!(sim.packet_hops(), 4 * 3);
        sim.begin_period();
        assert_eq!((sim.periods()[0].delivered, sim.occupied(VlSet(u16::MAX))), (0, 0));
    }
}

/// How long an answer takes to a question that sets out while all hosts, its own too, send to its receiver, in
/// nanoseconds; `load` packets of each.
fn answered_ns(load: u64, sl: u8) -> u64 {
    let made = fabric("ring:3,4");
    let config = SimConfig { data_vls: 2, ..quiet() };
    let (mut sim, _, sm) = loaded(&made, config);
    let hosts: Vec<PortId> = made.end_ports().collect();
    let target = hosts[hosts.len() - 1];
    let lid = sim.port_lid(target);
    made.nodes().for_each(|(node, _)| sim.load_sl_to_vl(node, |sl| Vl::masked(sl.get() % 2)));
    let sources = hosts.iter().filter(|&&port| port != target);
    let packets = sources.flat_map(|&source| {
        (0..load).map(move |turn| Scripted { at_ns: 1_000 + turn, source, dlid: lid, sl: Sl::masked(0), bytes: 4096 })
    });
    sim.script(packets.collect());
    sim.run(20_000, false);
    ask(&mut sim, sm, lid, sl, PerfAttributeId::PortXmitDataSl);
    answer(&mut sim, sm).expect("an answer");
    sim.now_ns() - 20_000
}

#[test]
fn a_question_waits_behind_data_on_its_lane_and_on_no_other() {
    let (alone, behind, beside) = (answered_ns(0, 0), answered_ns(15, 0), answered_ns(15, 1));
    // Its own port's packets take turns with it; in the switches it waits behind those that all send to one link.
    assert!(behind > alone + 1_000, "{alone} ns alone, {behind} ns behind data");
    assert!(beside < alone + 1_000, "{alone} ns alone, {beside} ns beside data");
}

#[test]
fn a_level_without_a_lane_is_never_answered() {
    // At the asker's own port, as behind a fence; on the way; and at the asked port, whose answer has the same level.
    for (closed, expected, sent) in [("host-0", (1, 0, 1), 0), ("ring-1", (1, 0, 1), 290), ("host-2", (2, 1, 1), 290)] {
        let (fabric, _, mut sim) = ring(quiet());
        let asker = host(&fabric, 0);
        let at = fabric.nodes().find(|(_, node)| node.description == closed).unwrap().0;
        sim.load_sl_to_vl(at, |sl| if sl.get() == 9 { Vl::masked(15) } else { Vl::masked(0) });
        ask(&mut sim, asker, Lid(3), 9, PerfAttributeId::PortXmitDataSl);
        assert_eq!(answer(&mut sim, asker), None, "{closed}");
        assert_eq!(sim.gmps(), counts(expected.0, expected.1, expected.2), "{closed}");
        assert_eq!(sim.bytes_sent(0)[asker.index()], sent, "{closed}");
        ask(&mut sim, asker, Lid(3), 8, PerfAttributeId::PortXmitDataSl);
        assert!(answer(&mut sim, asker).is_some(), "{closed}: another level is open");
    }
}

#[test]
fn a_question_is_lost_where_the_way_back_has_no_entry() {
    let (fabric, mut tables, sm) = one_way_ring(4);
    let last = fabric.switches().nth(3).unwrap();
    Arc::make_mut(&mut tables.lfts[last.index()]).set(Lid(1), PortNum::NO_ROUTE);
    let mut sim = with_tables(&fabric, &tables, quiet(), sm);
    ask(&mut sim, sm, Lid(3), 0, PerfAttributeId::PortXmitDataSl);
    assert_eq!(answer(&mut sim, sm), None);
    assert_eq!(sim.gmps(), counts(2, 1, 1));
    assert_eq!(sim.packets().lost(), 0, "no user lost a packet");
}

#[test]
fn a_gmp_takes_part_in_a_deadlock() {
    for latch in LATCHES {
        // Room for one packet of five credits.
        let config = SimConfig { data_vls: 1, buffer_credits: 5, packet_bytes: 320, latch, ..quiet() };
        let (fabric, _, mut sim) = ring(config);
        let lid = |rank: usize| Lid((rank % 4) as u16 + 1);
        let data = (1..4).map(|rank| Scripted {
            at_ns: 1_000,
            source: host(&fabric, rank),
            dlid: lid(rank + 2),
            sl: Sl::masked(0),
            bytes: 320,
        });
        sim.script(data.collect());
        sim.run(1_000, false);
        ask(&mut sim, host(&fabric, 0), lid(2), 3, PerfAttributeId::PortXmitDataSl);
        sim.run(100_000, false);
        sim.confirm_deadlock();
        let cycle = sim.deadlock().expect("four packets, each in the buffer that another waits for");
        assert_eq!(cycle.len(), 4, "{latch:?}");
        assert!(cycle.iter().any(|stuck| stuck.sl.get() == 3), "{cycle:?}");
        assert_eq!((sim.gmps(), sim.packets().in_flight), (counts(1, 0, 0), 3));
    }
}

#[test]
fn what_stands_on_a_dead_cable_is_lost_with_it() {
    let (fabric, _, mut sim) = ring(quiet());
    let cable = fabric.port_at(fabric.switches().next().unwrap(), PortNum(2)).unwrap();
    ask(&mut sim, host(&fabric, 0), Lid(3), 0, PerfAttributeId::PortXmitDataSl);
    while sim.bytes_sent(0)[cable.index()] == 0 {
        sim.run(sim.now_ns() + 1, false);
    }
    sim.kill(cable);
    assert_eq!(answer(&mut sim, host(&fabric, 0)), None);
    assert_eq!(sim.gmps(), counts(1, 0, 1));
    assert_eq!(sim.packets(), Default::default());
}

#[test]
fn a_port_that_is_down_sends_nothing_later() {
    let (fabric, _, mut sim) = ring(quiet());
    let asker = host(&fabric, 0);
    sim.kill(asker);
    ask(&mut sim, asker, Lid(3), 0, PerfAttributeId::PortXmitDataSl);
    sim.revive(asker);
    assert_eq!(answer(&mut sim, asker), None);
    assert_eq!(sim.gmps(), counts(1, 0, 1));
}

/// PortCounters of a switch's port 1.
fn ask_switch(sim: &mut Sim, from: PortId, to: Lid, sl: u8) {
    let counters = PortCounters { port: PortNum(1), ..PortCounters::default() };
    let question = PerfMad::new(Method::Get, PerfAttributeId::PortCounters, counters.encode()).with_tid(7);
    let bytes = Box::new(question.encode());
    sim.send_from(from, &Datagram { lid: to, from: None, qp: 1, sl: Sl::masked(sl), bytes });
}

#[test]
fn a_switch_is_asked_at_its_port_0_and_answers_from_there() {
    for latch in LATCHES {
        let made = fabric("ring:5,1");
        let (mut sim, root, sm) = loaded(&made, SimConfig { latch, ..quiet() });
        let inner = made.port_at(root, PortNum::ZERO).unwrap();
        let lid = sim.port_lid(inner);
        ask_switch(&mut sim, sm, lid, 2);
        let (came, _) = answer(&mut sim, sm).expect("an answer");
        assert_eq!((came.lid, came.sl.get()), (lid, 2));
        assert_eq!(sim.gmps(), counts(2, 2, 0), "{latch:?}");
        // The tables of input port 0 map what the switch itself sends.
        let tables = sim.port_lid(sm);
        sim.load_sl_to_vl(root, |sl| if sl.get() == 2 { Vl::masked(15) } else { Vl::masked(0) });
        sim.attach(inner).unwrap();
        for (sl, lost) in [(1, 0), (2, 1)] {
            ask(&mut sim, inner, tables, sl, PerfAttributeId::PortXmitDataSl);
            assert_eq!(answer(&mut sim, inner).is_some(), lost == 0, "level {sl}");
            assert_eq!(sim.gmps().lost, lost);
        }
        assert_eq!(sim.occupied(VlSet(u16::MAX)), 0);
        sim.begin_period();
    }
}

#[test]
fn what_a_switch_is_to_send_dies_with_it() {
    let made = fabric("ring:5,1");
    let (mut sim, root, sm) = loaded(&made, quiet());
    let inner = made.port_at(root, PortNum::ZERO).unwrap();
    sim.attach(inner).unwrap();
    let to = sim.port_lid(sm);
    (0..30).for_each(|_| ask(&mut sim, inner, to, 0, PerfAttributeId::PortXmitDataSl));
    assert!(!sim.standing(VlSet(u16::MAX)).is_empty(), "its own queue counts as a place where packets stand");
    sim.kill(root);
    sim.run(sim.now_ns() + 500_000, false);
    let GmpCounts { sent, arrived, lost } = sim.gmps();
    // What had left it may be answered to nobody.
    assert_eq!(sent, arrived + lost);
    assert!(lost >= 20, "{arrived} of {sent} arrived");
}

#[test]
fn every_question_is_answered_among_data_and_nothing_is_left() {
    for latch in LATCHES {
        let made = fabric("fat-tree:4,2");
        let config =
            SimConfig { load: 0.9, latch, buffer_credits: 24, replies: 0.3, send_queue: 4, ..SimConfig::default() };
        let (mut sim, root, sm) = loaded(&made, config);
        let switch = sim.port_lid(made.port_at(root, PortNum::ZERO).unwrap());
        let others: Vec<PortId> = made.end_ports().filter(|&port| port != sm).collect();
        for round in 0..40 {
            for &port in &others {
                let lid = sim.port_lid(port);
                ask(&mut sim, sm, lid, round % 8, PerfAttributeId::PortXmitDataSl);
            }
            ask_switch(&mut sim, sm, switch, 0);
            sim.run(sim.now_ns() + 20_000, false);
        }
        let asked = 40 * (others.len() as u64 + 1);
        sim.stop_sources();
        sim.run(sim.now_ns() + 60_000_000, false);
        assert_eq!(sim.gmps(), counts(2 * asked, 2 * asked, 0), "{latch:?}");
        let packets = sim.packets();
        assert_eq!((packets.in_flight, packets.injected), (0, packets.delivered), "{latch:?}");
        assert_eq!(sim.occupied(VlSet(u16::MAX)), 0);
        sim.begin_period();
    }
}
