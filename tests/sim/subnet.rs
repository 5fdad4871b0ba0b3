//! The simulated fabric as a whole subnet: brought up by MADs alone, by a subnet manager that is no part of it.

use crate::sim::loaded::one_way_ring;
use crate::sim::novice::Novice;
use crate::support::is_thorough;
use crate::support::properties::properties;
use crate::support::with_tables::with_tables;
use proptest::prelude::*;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Lid, PortNum, Sl, VlSet};
use reconfig::sim::{Halt, Sim, SimConfig, SimError, SimTransport};
use reconfig::transport::{Datagram, Transport};
use reconfig::wire::{
    AttributeId, ClassPortInfo, GuidInfo, MAD_SIZE, Method, NodeInfo, PKeyTable, PerfAttributeId, PortCounters,
    PortInfo, PortState, SmInfo, Smp, SwitchInfo, Trap, VlCount, capability, status,
};

/// A question for counters on the wire, in the units of PortXmitData.
const QUESTION_WORDS: u32 = 290 / 4;

fn fabric(text: &str) -> Fabric {
    generate(&text.parse::<Topology>().unwrap(), &Options::default()).unwrap()
}

/// A fat tree brought up, its sources told to begin before anything was there.
fn running(config: SimConfig) -> Novice {
    let mut novice = Novice::new(&fabric("fat-tree:4,2"), config);
    novice.sim.start();
    novice.bring_up();
    novice
}

fn quiet() -> SimConfig {
    SimConfig { load: 0.0, ..SimConfig::default() }
}

/// Stops the sources and lets everything arrive.
fn run_dry(sim: &mut Sim) {
    sim.stop_sources();
    assert_eq!(sim.run(sim.now_ns() + 10_000_000, false), Halt::Time);
    let p = sim.packets();
    assert_eq!(p.in_flight, 0, "{p:?}");
    assert_eq!(p.injected, p.delivered + p.stranded + p.lost_to_failure + p.lost_to_change, "{p:?}");
}

/// The first link between switches that the manager's switch has no part in, by one end.
fn far_link(novice: &Novice) -> PortId {
    let fabric = &novice.fabric;
    let near = fabric.neighbour(novice.sm).unwrap();
    let switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch() && fabric.port(port).node != near;
    fabric.links().find(|&(a, b)| switch(a) && switch(b)).unwrap().0
}

fn end_ports(novice: &Novice) -> Vec<PortId> {
    novice.fabric.end_ports().collect()
}

#[test]
fn before_anybody_came_there_is_nothing() {
    let mut novice = Novice::new(&fabric("fat-tree:4,2"), SimConfig::default());
    novice.sim.start();
    novice.sim.run(1_000_000, false);
    assert_eq!(novice.sim.packets().injected, 0);
    for (id, node) in novice.fabric.clone().nodes() {
        let num = if node.is_switch() { PortNum::ZERO } else { PortNum(1) };
        let info = novice.port_info(id, num);
        assert_eq!((info.lid, info.master_sm_lid), (Lid(0), Lid(0)));
        let state = if node.is_switch() { PortState::Active } else { PortState::Initialize };
        assert_eq!(info.port_state, state);
        assert_eq!((info.vl_cap, info.operational_vls), (VlCount::Four, VlCount::Four));
        if node.is_switch() {
            let block = novice.get(id, AttributeId::LinearForwardingTable, 0).unwrap();
            assert_eq!(block.data, [255; 64]);
            let beyond = novice.get(id, AttributeId::LinearForwardingTable, 768).unwrap();
            assert_eq!(beyond.status, status::INVALID_VALUE);
        }
    }
}

#[test]
fn what_is_found_is_the_fabric() {
    for text in ["fat-tree:4,2", "torus:3x3,1", "random-regular:10,3,2"] {
        let mut novice = Novice::new(&fabric(text), quiet());
        let links = novice.discover();
        let ends = |port: PortId| {
            let port = novice.fabric.port(port);
            (novice.fabric.node(port.node).guid, port.num)
        };
        let mut expected: Vec<_> =
            novice.fabric.links().flat_map(|(a, b)| [(ends(a), ends(b)), (ends(b), ends(a))]).collect();
        expected.sort();
        assert_eq!(links, expected, "{text}");
    }
}

#[test]
fn a_subnet_brought_up_by_mads_carries_traffic_and_loses_nothing() {
    let run = |seed| {
        let mut novice = running(SimConfig { seed, ..SimConfig::default() });
        novice.sim.run(novice.sim.now_ns() + 300_000, false);
        run_dry(&mut novice.sim);
        let packets = novice.sim.packets();
        assert!(packets.injected > 10_000, "{packets:?}");
        assert_eq!(packets.injected, packets.delivered, "{packets:?}");
        assert_eq!(novice.sim.occupied(VlSet(u16::MAX)), 0);
        novice.sim.trace_hash()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn nobody_sends_to_a_port_that_was_never_active() {
    let mut novice = Novice::new(&fabric("fat-tree:4,2"), SimConfig::default());
    novice.sim.start();
    novice.give_lids();
    novice.write_tables();
    let late = *end_ports(&novice).last().unwrap();
    novice.activate(|port| port != late);
    novice.sim.run(novice.sim.now_ns() + 200_000, false);
    let packets = novice.sim.packets();
    assert!(packets.delivered > 1_000);
    assert_eq!(packets.lost_to_change + packets.lost_to_failure + packets.stranded, 0, "{packets:?}");
    let asked = PortCounters { port: PortNum(1), ..PortCounters::default() }.encode();
    let answer = novice.perf(late, Method::Get, PerfAttributeId::PortCounters, asked);
    assert_eq!(answer, None, "general services pass no port in INITIALIZE");
    novice.activate(|port| port == late);
    novice.sim.run(novice.sim.now_ns() + 200_000, false);
    assert!(novice.received_by_sl(late)[0] > 0);
}

#[test]
fn lids_move_and_traffic_with_them() {
    let mut novice = running(SimConfig::default());
    let moved = *end_ports(&novice).last().unwrap();
    let (old, new) = (novice.lid_of(moved), Lid(0x1_000));
    // Room for the new LIDs first, far beyond what any table holds so far.
    novice.copy_route(old, new);
    let (node, num) = (novice.fabric.port(moved).node, novice.fabric.port(moved).num);
    novice.move_lids(moved, new);
    assert_eq!(novice.port_info(node, num).lid, new);
    novice.sim.run(novice.sim.now_ns() + 20_000, false);
    let late = novice.sim.packets();
    let before = novice.received_by_sl(moved)[0];
    novice.sim.run(novice.sim.now_ns() + 300_000, false);
    assert!(novice.received_by_sl(moved)[0] > before);
    // Whatever was under way to the old LID met a port that holds it no more.
    let after = novice.sim.packets();
    assert_eq!(after.lost_to_change, late.lost_to_change);
    assert_eq!(after.lost_to_change, novice.sim.misdelivered());
    run_dry(&mut novice.sim);
}

#[test]
fn base_lids_that_do_not_fit_their_lmc_are_refused() {
    let mut novice = running(quiet());
    let node = novice.fabric.port(novice.sm).node;
    let info = novice.port_info(node, PortNum(1));
    for (lid, answer) in [(Lid(33), status::INVALID_VALUE), (Lid(0xC000), status::INVALID_VALUE), (Lid(34), 0)] {
        let told = PortInfo { lid, port_state: PortState::NoChange, ..info.clone() };
        assert_eq!(novice.set(node, AttributeId::PortInfo, 1, told.encode()).unwrap().status, answer, "{lid:?}");
    }
}

#[test]
fn a_dead_link_is_told_again_until_it_is_repressed() {
    let mut novice = running(quiet());
    let end = far_link(&novice);
    let ends = [end, novice.fabric.peer(end).unwrap()].map(|port| novice.fabric.port(port).node);
    novice.sim.kill(end);
    novice.go_round(Some(end));
    novice.sim.run(novice.sim.now_ns() + 4_500_000, false);
    let traps = novice.traps();
    for node in ends {
        let lid = novice.lid_of(novice.fabric.port_at(node, PortNum::ZERO).unwrap());
        let told = traps.iter().filter(|(_, trap)| *trap == Trap::LinkStateChanged { lid }).count();
        // The way of a trap may lead over the dead link.
        assert!(told == 0 || told >= 4, "{told}");
        let mut info = SwitchInfo::decode(&novice.get(node, AttributeId::SwitchInfo, 0).unwrap().data);
        assert!(info.port_state_change);
        novice.set(node, AttributeId::SwitchInfo, 0, info.encode()).unwrap();
        info = SwitchInfo::decode(&novice.get(node, AttributeId::SwitchInfo, 0).unwrap().data);
        assert!(!info.port_state_change);
    }
    assert!(!traps.is_empty());
    for (trap, _) in &traps {
        let smp = Smp::decode(&trap.bytes).unwrap();
        novice.send_lid_routed(trap.lid, &Smp { method: Method::TrapRepress, ..smp });
    }
    novice.sim.run(novice.sim.now_ns() + 1_000_000, false);
    novice.traps();
    novice.sim.run(novice.sim.now_ns() + 10_000_000, false);
    assert_eq!(novice.traps().len(), 0);
    let (node, num) = (novice.fabric.port(end).node, novice.fabric.port(end).num);
    assert_eq!(novice.port_info(node, num).port_state, PortState::Down);
    novice.sim.revive(end);
    assert_eq!(novice.port_info(node, num).port_state, PortState::Initialize);
    novice.sim.run(novice.sim.now_ns() + 1_000_000, false);
    assert!(!novice.traps().is_empty());
}

#[test]
fn a_link_told_to_go_down_comes_back_in_initialize_at_both_ends() {
    let mut novice = running(quiet());
    let end = far_link(&novice);
    let peer = novice.fabric.peer(end).unwrap();
    assert_eq!(novice.set_state(end, PortState::Down), 0);
    for port in [end, peer] {
        let at = novice.fabric.port(port).clone();
        assert_eq!(novice.port_info(at.node, at.num).port_state, PortState::Initialize);
    }
    assert_eq!(novice.set_state(end, PortState::Active), status::INVALID_VALUE);
    assert_eq!(novice.set_state(end, PortState::Armed), 0);
    assert_eq!(novice.set_state(end, PortState::Active), 0);
    let marked = |novice: &mut Novice, port: PortId| {
        let node = novice.fabric.port(port).node;
        SwitchInfo::decode(&novice.get(node, AttributeId::SwitchInfo, 0).unwrap().data).port_state_change
    };
    // Who told the port to go down knows; the far end has to say so.
    assert_eq!((marked(&mut novice, end), marked(&mut novice, peer)), (false, true));
}

#[test]
fn a_switch_that_comes_back_knows_nothing() {
    let mut novice = running(SimConfig { load: 0.1, ..SimConfig::default() });
    let switch = novice.fabric.port(far_link(&novice)).node;
    let port0 = novice.fabric.port_at(switch, PortNum::ZERO).unwrap();
    novice.sim.run(novice.sim.now_ns() + 50_000, false);
    novice.sim.kill(switch);
    assert_eq!(novice.get(switch, AttributeId::NodeInfo, 0), None, "the dead answer nothing");
    novice.sim.run(novice.sim.now_ns() + 50_000, false);
    novice.sim.revive(switch);
    let info = novice.port_info(switch, PortNum::ZERO);
    assert_eq!((info.lid, info.master_sm_lid, novice.lid_of(port0)), (Lid(0), Lid(0), novice.lid_of(port0)));
    assert_eq!(novice.get(switch, AttributeId::LinearForwardingTable, 0).unwrap().data, [255; 64]);
    novice.bring_up();
    novice.sim.run(novice.sim.now_ns() + 20_000, false);
    let lost = |p: reconfig::sim::PacketCounts| p.lost_to_change + p.lost_to_failure + p.stranded;
    let settled = lost(novice.sim.packets());
    novice.sim.run(novice.sim.now_ns() + 300_000, false);
    assert_eq!(lost(novice.sim.packets()), settled, "all is well again");
    run_dry(&mut novice.sim);
}

#[test]
fn hosts_of_a_dead_leaf_are_stranded_and_come_back() {
    let mut novice = running(SimConfig { load: 0.1, ..SimConfig::default() });
    let near = novice.fabric.neighbour(novice.sm);
    let host = end_ports(&novice).into_iter().find(|&port| novice.fabric.neighbour(port) != near).unwrap();
    let leaf = novice.fabric.neighbour(host).unwrap();
    novice.sim.kill(leaf);
    novice.sim.run(novice.sim.now_ns() + 100_000, false);
    let cut_off = novice.sim.packets();
    assert!(cut_off.stranded > 100, "who had a path to them goes on sending: {cut_off:?}");
    assert_eq!(cut_off.lost_to_change, 0);
    novice.sim.revive(leaf);
    novice.bring_up();
    novice.sim.run(novice.sim.now_ns() + 50_000, false);
    let (back, heard) = (novice.sim.packets(), novice.received_by_sl(host)[0]);
    novice.sim.run(novice.sim.now_ns() + 200_000, false);
    assert!(novice.received_by_sl(host)[0] > heard);
    assert_eq!(novice.sim.packets().stranded, back.stranded);
    run_dry(&mut novice.sim);
}

/// A MAD of a class that nobody here knows.
fn stranger(method: Method, mark: u8) -> Box<[u8; MAD_SIZE]> {
    let mut bytes = Box::new([mark; MAD_SIZE]);
    bytes[..4].copy_from_slice(&[1, 0x32, 1, u8::from(method)]);
    bytes
}

#[test]
fn two_clients_talk_to_each_other_and_to_nobody_else() {
    let mut novice = running(quiet());
    let ports = end_ports(&novice);
    let (one, other, nobody) = (novice.sm, ports[5], ports[6]);
    novice.sim.attach(other).unwrap();
    for (method, mark) in [(Method::Get, 1), (Method::GetResp, 2), (Method::Unknown(0x12), 3)] {
        let (lid, sl) = (novice.lid_of(other), Sl::masked(3));
        let sent = Datagram { lid, from: None, qp: 1, sl, bytes: stranger(method, mark) };
        novice.sim.send_from(one, &sent);
        novice.sim.send_from(one, &Datagram { lid: novice.lid_of(nobody), ..sent.clone() });
        assert_eq!(novice.sim.run(u64::MAX, true), Halt::Mad);
        let came = novice.sim.received_at(other).unwrap();
        assert_eq!(came, Datagram { lid: novice.lid_of(one), from: None, qp: 1, sl, bytes: sent.bytes.clone() });
        // Back to where it came from, as any client would answer.
        novice.sim.send_from(other, &came);
        assert_eq!(novice.sim.run(u64::MAX, true), Halt::Mad);
        assert_eq!(novice.sim.received_at(one).unwrap(), sent);
    }
    assert_eq!((novice.sim.received_at(one), novice.sim.received_at(other)), (None, None));
}

#[test]
fn the_upper_lids_of_a_port_are_answered_from_upper_lids() {
    let mut novice = running(quiet());
    let other = end_ports(&novice)[5];
    novice.sim.attach(other).unwrap();
    let lid = Lid(novice.lid_of(other).0 + 1);
    novice.sim.send_from(
        novice.sm,
        &Datagram { lid, from: None, qp: 1, sl: Sl::default(), bytes: stranger(Method::Send, 0) },
    );
    assert_eq!(novice.sim.run(u64::MAX, true), Halt::Mad);
    assert_eq!(novice.sim.received_at(other).unwrap().lid, Lid(novice.lid_of(novice.sm).0 + 1));
}

#[test]
fn requests_reach_any_device_both_ways_and_answers_their_asker() {
    let mut novice = running(quiet());
    let other = end_ports(&novice)[5];
    novice.sim.attach(other).unwrap();
    for (id, node) in novice.fabric.clone().nodes() {
        let port = novice.fabric.port_at(id, if node.is_switch() { PortNum::ZERO } else { PortNum(1) }).unwrap();
        let smp = Smp::lid_routed(Method::Get, AttributeId::NodeInfo, 0, [0; 64]).with_tid(u64::from(id.0));
        let datagram =
            Datagram { lid: novice.lid_of(port), from: None, qp: 0, sl: Sl::default(), bytes: Box::new(smp.encode()) };
        novice.sim.send_from(other, &datagram);
        assert_eq!(novice.sim.run(u64::MAX, true), Halt::Mad);
        let came = novice.sim.received_at(other).expect("the answer comes to who asked");
        let answer = Smp::decode(&came.bytes).unwrap();
        assert_eq!((came.lid, answer.tid), (novice.lid_of(port), u64::from(id.0)));
        assert_eq!(NodeInfo::decode(&answer.data).node_guid, node.guid);
    }
}

#[test]
fn sm_info_is_for_the_manager_behind_the_port() {
    let mut novice = running(quiet());
    let other = end_ports(&novice)[5];
    let smp = Smp::lid_routed(Method::Get, SmInfo::ID, 0, [0; 64]);
    novice.send_lid_routed(novice.lid_of(other), &smp);
    assert_eq!(novice.sim.run(novice.sim.now_ns() + 1_000_000, true), Halt::Time, "nobody there, no answer");
    novice.sim.attach(other).unwrap();
    novice.send_lid_routed(novice.lid_of(other), &smp);
    assert_eq!(novice.sim.run(u64::MAX, true), Halt::Mad);
    let asked = novice.sim.received_at(other).unwrap();
    assert_eq!(Smp::decode(&asked.bytes).unwrap(), smp);
}

#[test]
fn clients_sit_where_paths_end() {
    let mut novice = running(quiet());
    let switch = novice.fabric.switches().next().unwrap();
    let port = |num| novice.fabric.port_at(switch, PortNum(num)).unwrap();
    let (inner, outer) = (port(0), port(1));
    assert!(matches!(novice.sim.attach(outer), Err(SimError::NoClient(_))));
    assert!(matches!(novice.sim.attach(PortId(u32::MAX)), Err(SimError::NoClient(_))));
    novice.sim.attach(inner).unwrap();
    novice.sim.send_from(
        novice.sm,
        &Datagram { lid: novice.lid_of(inner), from: None, qp: 1, sl: Sl::default(), bytes: stranger(Method::Send, 9) },
    );
    assert_eq!(novice.sim.run(u64::MAX, true), Halt::Mad);
    assert_eq!(novice.sim.received_at(inner).unwrap().bytes, stranger(Method::Send, 9));
}

#[test]
fn a_manager_shows_in_the_capabilities_and_its_master_is_told() {
    let mut novice = running(quiet());
    let standby = end_ports(&novice)[5];
    let at = novice.fabric.port(standby).clone();
    assert_eq!(novice.port_info(at.node, at.num).capability_mask & capability::IS_SM, 0);
    novice.sim.set_is_sm(standby, true);
    novice.sim.run(novice.sim.now_ns() + 500_000, false);
    let mask = novice.port_info(at.node, at.num).capability_mask;
    assert_ne!(mask & capability::IS_SM, 0);
    let expected = Trap::EndPortChanged { lid: novice.lid_of(standby), capability_mask: mask };
    assert_eq!(novice.traps().into_iter().map(|trap| trap.1).collect::<Vec<_>>(), [expected]);
    novice.sim.set_is_sm(standby, false);
    assert_eq!(novice.port_info(at.node, at.num).capability_mask & capability::IS_SM, 0);
}

#[test]
fn a_port_with_a_key_obeys_those_who_have_it() {
    let mut novice = running(quiet());
    let node = novice.fabric.port(end_ports(&novice)[5]).node;
    let mut info = novice.port_info(node, PortNum(1));
    (info.m_key, info.m_key_protect_bits, info.port_state) = (77, 1, PortState::NoChange);
    assert_eq!(novice.set(node, AttributeId::PortInfo, 1, info.encode()).unwrap().status, 0);
    assert_eq!(novice.port_info(node, PortNum(1)).m_key, 0, "the key is nobody's business");
    assert_eq!(novice.set(node, AttributeId::PortInfo, 1, info.encode()), None);
    novice.m_key = 77;
    let held = novice.port_info(node, PortNum(1));
    assert_eq!((held.m_key, held.m_key_violations), (77, 1));
    info.m_key_protect_bits = 2;
    assert_eq!(novice.set(node, AttributeId::PortInfo, 1, info.encode()).unwrap().status, 0);
    novice.m_key = 78;
    assert_eq!(novice.get(node, AttributeId::PortInfo, 1), None);
}

#[test]
fn what_is_written_is_read_back() {
    let mut novice = running(quiet());
    let node = novice.fabric.port(end_ports(&novice)[5]).node;
    let guid = novice.fabric.port(end_ports(&novice)[5]).guid.unwrap();
    let first = GuidInfo::decode(&novice.get(node, AttributeId::GuidInfo, 0).unwrap().data);
    assert_eq!(first.guids[0], guid);
    let keys = PKeyTable::decode(&novice.get(node, AttributeId::PKeyTable, 0).unwrap().data);
    assert_eq!((keys.keys[0], keys.keys[1]), (0xFFFF, 0));
    let written: [u8; 64] = std::array::from_fn(|i| i as u8);
    let (switch, low) = (novice.fabric.switches().next().unwrap(), 1 << 16 | 1);
    for (node, attribute, modifier, kept) in [
        (node, AttributeId::PKeyTable, 0, 0..64),
        (node, AttributeId::PKeyTable, 3, 0..64),
        (node, AttributeId::GuidInfo, 0, 8..64),
        (node, AttributeId::VlArbitrationTable, low, 0..16),
        (switch, AttributeId::VlArbitrationTable, low, 0..16),
        (switch, AttributeId::MulticastForwardingTable, 3, 0..64),
        (switch, AttributeId::Unknown(0x31), 0, 0..64),
    ] {
        let told = novice.set(node, attribute, modifier, written).unwrap();
        assert_eq!(told.status, 0, "{attribute:?}");
        let held = novice.get(node, attribute, modifier).unwrap();
        assert_eq!(held.data[kept.clone()], written[kept], "{attribute:?}");
        assert_eq!(told.data, held.data);
    }
    assert_eq!(GuidInfo::decode(&novice.get(node, AttributeId::GuidInfo, 0).unwrap().data).guids[0], guid);
    for (attribute, modifier, answer) in [
        (AttributeId::Unknown(0xFF90), 0, status::UNSUPPORTED_METHOD_ATTRIBUTE),
        (AttributeId::MulticastForwardingTable, 0, status::UNSUPPORTED_METHOD_ATTRIBUTE),
        (AttributeId::PKeyTable, 4, status::INVALID_VALUE),
        (AttributeId::VlArbitrationTable, 2 << 16, status::INVALID_VALUE),
        (AttributeId::GuidInfo, 1, status::INVALID_VALUE),
    ] {
        assert_eq!(novice.get(node, attribute, modifier).unwrap().status, answer, "{attribute:?} {modifier:#x}");
    }
}

#[test]
fn port_info_keeps_what_it_may_and_refuses_what_it_cannot() {
    let mut novice = running(quiet());
    let end = far_link(&novice);
    let at = novice.fabric.port(end).clone();
    let mut info = novice.port_info(at.node, at.num);
    (info.hoq_life, info.vl_stall_count, info.vl_high_limit) = (12, 7, 3);
    (info.link_speed_enabled, info.link_width_enabled, info.link_speed_ext_enabled) = (15, 255, 31);
    (info.operational_vls, info.port_state) = (VlCount::Two, PortState::NoChange);
    info.lid = Lid(1);
    assert_eq!(novice.set(at.node, AttributeId::PortInfo, at.num.0.into(), info.encode()).unwrap().status, 0);
    let held = novice.port_info(at.node, at.num);
    assert_eq!((held.hoq_life, held.vl_stall_count, held.vl_high_limit), (12, 7, 3));
    assert_eq!(held.operational_vls, VlCount::Two);
    assert_eq!(held.link_speed_enabled, held.link_speed_supported);
    assert_eq!(held.link_width_enabled, held.link_width_supported);
    assert_eq!(held.link_speed_ext_enabled, held.link_speed_ext_supported);
    assert_eq!((held.lid, held.port_state), (Lid(0), PortState::Active), "an inner port has no LID");
    info.operational_vls = VlCount::Eight;
    let answer = novice.set(at.node, AttributeId::PortInfo, at.num.0.into(), info.encode()).unwrap();
    assert_eq!(answer.status, status::INVALID_VALUE, "it has four lanes");
    let knows_speeds = u32::from(at.num.0) | 1 << 31;
    assert_eq!(novice.get(at.node, AttributeId::PortInfo, knows_speeds).unwrap().data, held.encode());
}

#[test]
fn client_reregister_is_said_once() {
    let mut novice = running(quiet());
    let port = end_ports(&novice)[5];
    let at = novice.fabric.port(port).clone();
    let mut info = novice.port_info(at.node, at.num);
    novice.sim.take_reregistered();
    (info.client_reregister, info.port_state) = (true, PortState::NoChange);
    let answer = novice.set(at.node, AttributeId::PortInfo, 1, info.encode()).unwrap();
    assert!(PortInfo::decode(&answer.data).client_reregister);
    assert!(!novice.port_info(at.node, at.num).client_reregister);
    assert_eq!(novice.sim.take_reregistered(), [port]);
    assert_eq!(novice.sim.take_reregistered(), []);
}

#[test]
fn lanes_out_of_operation_discard() {
    let mut novice = running(SimConfig { load: 0.1, ..SimConfig::default() });
    let ports = end_ports(&novice);
    // SL 3 takes VL 3, which the last hop does not run any more.
    let (source, sink) = (ports[1], *ports.last().unwrap());
    novice.sim.set_path(source, sink, novice.lid_of(sink), Sl::masked(3));
    novice.sim.run(novice.sim.now_ns() + 100_000, false);
    assert!(novice.received_by_sl(sink)[3] > 0);
    let last = novice.fabric.peer(sink).unwrap();
    let at = novice.fabric.port(last).clone();
    let info = PortInfo {
        operational_vls: VlCount::Two,
        port_state: PortState::NoChange,
        ..novice.port_info(at.node, at.num)
    };
    novice.set(at.node, AttributeId::PortInfo, at.num.0.into(), info.encode()).unwrap();
    novice.sim.run(novice.sim.now_ns() + 50_000, false);
    let before = novice.received_by_sl(sink);
    novice.sim.run(novice.sim.now_ns() + 200_000, false);
    let after = novice.received_by_sl(sink);
    assert_eq!(before[3], after[3]);
    assert!(after[0] > before[0]);
    assert!(novice.sim.packets().lost_to_change > 0);
}

#[test]
fn counters_move_and_agree_at_both_ends() {
    let mut novice = running(SimConfig { load: 0.2, ..SimConfig::default() });
    novice.sim.run(novice.sim.now_ns() + 200_000, false);
    run_dry(&mut novice.sim);
    let switch = novice.fabric.switches().next().unwrap();
    let (mut sent, mut received) = (0, 0);
    let agree = |first: (u32, u32), then: (u32, u32)| {
        // Ports count bytes, and report them in fours: 72.5 for each.
        let (more, words) = (then.1 - first.1, then.0 - first.0);
        let expected = more * QUESTION_WORDS..=more * (QUESTION_WORDS + 1);
        assert!(more <= 1 && expected.contains(&words), "{first:?} {then:?}");
    };
    for port in novice.fabric.ports_of(switch).skip(1) {
        let Some(peer) = novice.fabric.peer(port) else { continue };
        let (here, there) = (novice.counters(port), novice.counters(peer));
        // Between the two readings an answer went back and a question came, if this cable is on their way.
        agree((here.xmit_data, here.xmit_packets), (there.rcv_data, there.rcv_packets));
        agree((here.rcv_data, here.rcv_packets), (there.xmit_data, there.xmit_packets));
        (sent, received) = (sent + here.xmit_packets, received + here.rcv_packets);
    }
    assert!(sent > 100);
    // Each reading of one of its ports shows the questions and answers so far, and one question more than answers.
    let readings = 2 * novice.fabric.ports_of(switch).count() as u32;
    assert!(received.abs_diff(sent) <= readings, "a switch keeps nothing: {sent} sent, {received} received");
    let port = novice.fabric.port_at(switch, PortNum(1)).unwrap();
    let long = novice.counters_extended(port);
    let short = novice.counters(port);
    agree((long.xmit_data as u32, long.xmit_packets as u32), (short.xmit_data, short.xmit_packets));
    let reset = PortCounters { port: PortNum(1), counter_select: 0xFFFF, ..PortCounters::default() };
    novice.perf(port, Method::Set, PerfAttributeId::PortCounters, reset.encode()).unwrap();
    let zero = novice.counters(port);
    // The answer to the reset, and this question.
    agree((0, 0), (zero.xmit_data, zero.xmit_packets));
    agree((0, 0), (zero.rcv_data, zero.rcv_packets));
    assert_ne!(novice.counters(novice.fabric.peer(port).unwrap()).xmit_packets, 0);
    let info = novice.perf(port, Method::Get, PerfAttributeId::ClassPortInfo, [0; 192]).unwrap();
    assert_eq!(ClassPortInfo::from_front(&info.data).class_version, 1);
    let samples = novice.perf(port, Method::Get, PerfAttributeId::Unknown(0x10), [0; 192]).unwrap();
    assert_eq!(samples.status, status::UNSUPPORTED_METHOD_ATTRIBUTE);
}

#[test]
fn a_jam_shows_as_waiting_and_a_dead_end_as_discards() {
    let mut novice = running(SimConfig {
        load: 0.9,
        traffic: reconfig::sim::Traffic::HotSpot { destination: 3, share: 0.5 },
        ..SimConfig::default()
    });
    novice.sim.run(novice.sim.now_ns() + 300_000, false);
    let spot = end_ports(&novice)[3];
    let leaf = novice.fabric.neighbour(spot).unwrap();
    let upstream = novice.fabric.ports_of(leaf).skip(1).find_map(|port| {
        let peer = novice.fabric.peer(port)?;
        novice.fabric.node(novice.fabric.port(peer).node).is_switch().then_some(peer)
    });
    let waited = novice.counters(upstream.unwrap()).xmit_wait;
    assert!(waited > 10_000, "{waited} ns");
    novice.sim.kill(spot);
    novice.sim.run(novice.sim.now_ns() + 100_000, false);
    let last = novice.counters(novice.fabric.peer(spot).unwrap());
    assert!(last.xmit_discards > 0 && last.link_downed == 1, "{last:?}");
}

#[test]
fn paths_are_as_somebody_asked_for_them() {
    let mut novice = running(SimConfig { load: 0.1, ..SimConfig::default() });
    let ports = end_ports(&novice);
    novice.sim.run(novice.sim.now_ns() + 100_000, false);
    assert_eq!(novice.received_by_sl(ports[4])[1..], [0; 15], "SL 0 unless somebody says otherwise");
    for &source in &ports {
        novice.sim.set_path(source, ports[4], Lid(novice.lid_of(ports[4]).0 + 1), Sl::masked(2));
    }
    novice.sim.run(novice.sim.now_ns() + 50_000, false);
    let before = novice.received_by_sl(ports[4]);
    novice.sim.run(novice.sim.now_ns() + 100_000, false);
    let after = novice.received_by_sl(ports[4]);
    // The second question for counters, on SL 0.
    assert_eq!(before[0] + QUESTION_WORDS, after[0]);
    assert!(after[2] > before[2]);
    run_dry(&mut novice.sim);
    assert_eq!(novice.sim.packets().lost_to_change, 0, "the upper LID is the port's too");
}

#[test]
fn a_source_that_is_told_of_a_half_sends_on_it() {
    use reconfig::ids::Half;
    use reconfig::wire::vendor::ActiveHalf;
    let mut novice = running(SimConfig { load: 0.1, ..SimConfig::default() });
    let ports = end_ports(&novice);
    for &port in &ports {
        let node = novice.fabric.port(port).node;
        let told = ActiveHalf { half: Half::Upper, settled: false };
        assert_eq!(novice.set(node, AttributeId::ActiveHalf, 0, told.encode()).unwrap().status, 0);
    }
    novice.sim.run(novice.sim.now_ns() + 50_000, false);
    let before = novice.received_by_sl(ports[4]);
    novice.sim.run(novice.sim.now_ns() + 200_000, false);
    let after = novice.received_by_sl(ports[4]);
    // The second question for counters, on SL 0.
    assert_eq!((before[0] + QUESTION_WORDS, &before[1..8]), (after[0], &after[1..8]));
    assert!((8..16).any(|sl| after[sl] > before[sl]));
}

#[test]
fn limits_act_as_they_were_programmed() {
    let (fabric, tables, sm) = one_way_ring(4);
    let config =
        SimConfig { load: 1.0, data_vls: 1, buffer_credits: 20, limits_as_programmed: true, ..SimConfig::default() };
    let mut sim = with_tables(&fabric, &tables, config.clone(), sm);
    assert_eq!(sim.run(2_000_000, false), Halt::Deadlock, "no limit is programmed");
    let mut sim = with_tables(&fabric, &tables, config, sm);
    sim.stop_sources();
    let mut novice = Novice::over(&fabric, sim, sm);
    for switch in fabric.switches() {
        let info = PortInfo { hoq_life: 4, ..novice.port_info(switch, PortNum(2)) };
        novice.set(switch, AttributeId::PortInfo, 2, info.encode()).unwrap();
    }
    novice.sim.start();
    assert_eq!(novice.sim.run(2_000_000, false), Halt::Time);
    let (broken, discarded) = novice.sim.limits_at_work();
    assert!(broken > 0 && discarded > 0, "{broken} {discarded}");
}

#[test]
fn two_transports_reach_one_subnet() {
    let novice = running(quiet());
    let (one, other) = (novice.sm, end_ports(&novice)[5]);
    let (lid, sender) = (novice.lid_of(other), novice.lid_of(one));
    let first = SimTransport::attach(novice.sim, one).unwrap();
    let second = first.attach_another(other).unwrap();
    let (mut sending, mut receiving) = (first.clone(), second.clone());
    let mut talk = tokio_test::task::spawn(async move {
        let sent = Datagram { lid, from: None, qp: 1, sl: Sl::default(), bytes: stranger(Method::Send, 4) };
        sending.send(sent).await.unwrap();
        receiving.recv(u64::MAX).await.unwrap()
    });
    let came = loop {
        if let std::task::Poll::Ready(came) = talk.poll() {
            break came.unwrap();
        }
        second.advance(u64::MAX);
    };
    assert_eq!((came.lid, came.bytes), (sender, stranger(Method::Send, 4)));
}

#[test]
fn settings_that_ports_cannot_tell_are_refused() {
    let config = SimConfig { data_vls: 3, ..SimConfig::default() };
    let refused = Sim::cold(&fabric("fat-tree:4,2"), config);
    assert!(matches!(refused, Err(SimError::Setting { setting: "data VLs of a cold subnet", .. })));
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever dies, comes back and is brought up again, and when: every packet has one fate.
    #[test]
    fn every_packet_has_one_fate(seed in 0u64..1000, load in 0.05f64..0.5,
        events in prop::collection::vec((0usize..40, any::<bool>(), 1u64..200), 0..4)) {
        let options = Options { seed, ..Options::default() };
        let made = generate(&"random-regular:10,3,2".parse::<Topology>().unwrap(), &options).unwrap();
        let run = || {
            let config = SimConfig { seed, load, replies: 0.5, ..SimConfig::default() };
            let mut novice = Novice::new(&made, config);
            novice.sim.start();
            novice.bring_up();
            let near = novice.fabric.neighbour(novice.sm);
            let nodes: Vec<NodeId> = made.switches().filter(|&node| Some(node) != near).collect();
            let links: Vec<PortId> = made.links().map(|link| link.0).filter(|&port| port != novice.sm).collect();
            for &(which, whole, pause_us) in &events {
                let now = novice.sim.now_ns();
                novice.sim.run(now + pause_us * 1_000, false);
                if whole {
                    novice.sim.kill(nodes[which % nodes.len()]);
                } else {
                    novice.sim.kill(links[which % links.len()]);
                }
            }
            let now = novice.sim.now_ns();
            novice.sim.run(now + 50_000, false);
            for &(which, whole, _) in &events {
                if whole {
                    novice.sim.revive(nodes[which % nodes.len()]);
                } else {
                    novice.sim.revive(links[which % links.len()]);
                }
            }
            novice.bring_up();
            let now = novice.sim.now_ns();
            novice.sim.run(now + 100_000, false);
            novice.sim.stop_sources();
            let now = novice.sim.now_ns();
            novice.sim.run(now + 20_000_000, false);
            (novice.sim.packets(), novice.sim.trace_hash())
        };
        let (p, hash) = run();
        prop_assert_eq!(p.injected, p.delivered + p.in_flight + p.stranded + p.lost_to_failure + p.lost_to_change);
        prop_assert_eq!(p.in_flight, 0);
        if is_thorough() || seed % 2 == 0 {
            prop_assert_eq!(run().1, hash);
        }
    }
}
