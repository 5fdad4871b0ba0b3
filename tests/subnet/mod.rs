//! The subnet manager against a subnet in memory: discovery, writes, barriers and events, with MADs lost, late and
//! doubled.

mod fabrics;
mod fake;
mod glance;
mod missing;
mod parts;
mod register;
mod traps;

use crate::support::properties::properties;
use fake::{Fake, Faults};
use proptest::prelude::*;
use reconfig::drain::{DrainGraph, DrainLayer, Observer, PortMask, Ticket};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lid, PortNum, Sl, Vl, VlSet};
use reconfig::lid;
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::subnet::{Manager, Retiring, SourceControl, SubnetError, SubnetEvent, SubnetManager, Timing, WriteOrder};
use reconfig::tables::{HalfInForce, PortState, SlToVl, SlToVlScope, Write};
use reconfig::transport::{Datagram, Transport};
use reconfig::wire::{self, AttributeId, Method, NodeType, Notice, SlToVlMappingTable, Smp};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

const MS: u64 = 1_000_000;

/// The fake never leaves a future pending: time passes inside it.
fn now<F: Future>(future: F) -> F::Output {
    tokio_test::block_on(future)
}

/// A manager that knows the fabric it manages.
fn manager(seed: u64, switches: u32, timing: Timing, faults: Faults) -> (Manager<Fake>, Fabric) {
    let (fabric, sm_port) = fabrics::random(seed, switches);
    let mut fake = Fake::new(fabric.clone(), sm_port, seed);
    fake.faults = faults;
    let mut manager = Manager::new(fake, timing, 0);
    manager.set_topology(&fabric, sm_port);
    (manager, fabric)
}

fn rough() -> Faults {
    Faults { loss: 0.2, duplicate: 0.1, delay_ns: MS, duplicate_delay_ns: 500 * MS }
}

/// Patient enough that a fifth of all MADs may be lost.
fn patient() -> Timing {
    Timing { retries: 30, light_sweep_ns: None, ..Timing::default() }
}

fn calm() -> Timing {
    Timing { light_sweep_ns: None, ..Timing::default() }
}

/// A wave for every switch and CA of the fabric: LFT blocks and SL-to-VL tables that `mark` tells apart.
fn wave(fabric: &Fabric, mark: u8) -> Vec<Write> {
    let mut writes = Vec::new();
    for (id, node) in fabric.nodes() {
        let table = SlToVl::from_fn(|sl| Vl::masked(sl.get() / 2 + mark));
        if node.is_switch() {
            for block in 0..4 {
                writes.push(Write::LftBlock { switch: id, block, entries: Box::new([mark + block as u8; 64]) });
            }
            writes.push(Write::SlToVl { node: id, scope: SlToVlScope::All, table });
        }
    }
    for port in fabric.end_ports() {
        let owner = fabric.port(port);
        let table = SlToVl::from_fn(|sl| Vl::masked(sl.get() / 2 + mark));
        writes.push(Write::SlToVl { node: owner.node, scope: SlToVlScope::EndPort { port: owner.num }, table });
    }
    writes
}

/// Whether the subnet holds what a wave wrote.
fn holds(fake: &Fake, writes: &[Write]) -> Result<(), String> {
    for write in writes {
        let node = write.node(&fake.fabric).expect("a device's write");
        let device = &fake.devices[node.index()];
        let same = match write {
            Write::LftBlock { block, entries, .. } => device.lft.get(&u32::from(*block)) == Some(entries),
            Write::SlToVl { scope, table, .. } => {
                let key = match scope {
                    SlToVlScope::All => 0x3_0000,
                    SlToVlScope::Pair { input, output } => u32::from(input.0) << 8 | u32::from(output.0),
                    SlToVlScope::EndPort { port } => u32::from(port.0),
                };
                device.sl_to_vl.get(&key) == Some(&SlToVlMappingTable(table.0).encode())
            }
            Write::ActiveHalf { port, half } => {
                device.halves.get(&fake.fabric.port(*port).num.0).is_some_and(|(sending, _)| sending == half)
            }
            _ => true,
        };
        if !same {
            return Err(format!("{write:?} is not there"));
        }
    }
    Ok(())
}

/// A process that is stopped between two waits, as while it computes. A manager that serves nobody meanwhile may
/// compute for that long itself.
#[test]
fn a_stop_between_two_waits_is_noticed() {
    for (serves, seconds, is_noticed) in [(true, 9, true), (true, 7, false), (false, 9, false)] {
        let (mut manager, _) = manager(1, 4, calm(), Faults::default());
        if serves {
            manager.serve_waiting_for(10 * MS);
        }
        let wait = |manager: &mut Manager<Fake>| {
            let until_ns = manager.now_ns() + MS;
            now(manager.idle(until_ns)).expect("the port works");
        };
        wait(&mut manager);
        manager.transport_mut().stop_for(seconds * 1_000 * MS);
        wait(&mut manager);
        assert_eq!(manager.stood_still(), is_noticed, "serves: {serves}, {seconds} s");
    }
}

/// The trap that reports a bounce of the manager's own port is lost with its link.
#[test]
fn the_managers_own_port_is_read_once_a_second() {
    for state in [wire::PortState::Initialize, wire::PortState::Down] {
        let (mut manager, fabric) = manager(1, 4, calm(), Faults::default());
        let found = now(manager.discover()).expect("the subnet answers");
        let own = manager.own_port().expect("it is known");
        manager.set_topology(&fabric, own);
        assert!(found.fabric.reaches_others(found.sm_port));
        let mut went_down = |pause_ns: u64, state: Option<wire::PortState>| {
            let (node, num) = (fabric.port(own).node, fabric.port(own).num);
            let info = manager.transport_mut().devices[node.index()].ports.get_mut(&num.0).expect("it has it");
            info.port_state = state.unwrap_or(info.port_state);
            manager.transport_mut().stop_for(pause_ns);
            now(manager.own_port_went_down()).expect("the port works")
        };
        assert!(!went_down(0, None));
        assert!(!went_down(MS, Some(state)), "not sooner");
        assert!(went_down(1_000 * MS, None), "{state:?}");
        assert!(!went_down(1_000 * MS, None), "it is said once");
    }
}

properties! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_sweep_finds_the_fabric_whatever_befalls_mads(seed in any::<u64>(), switches in 1u32..14, lossy in any::<bool>()) {
        let (fabric, sm_port) = fabrics::random(seed, switches);
        let mut fake = Fake::new(fabric.clone(), sm_port, seed);
        if lossy {
            fake.faults = rough();
        }
        let mut manager = Manager::new(fake, patient(), 0);
        let found = now(manager.discover()).expect("the subnet answers");
        prop_assert_eq!(fabrics::difference(&fabric, &found.fabric), Vec::<String>::new());
        prop_assert!(found.notices.is_empty(), "{:?}", found.notices);
        let own = fabric.port(sm_port);
        let found_own = found.fabric.port(found.sm_port);
        prop_assert_eq!((found_own.guid, found_own.num), (own.guid, own.num));
        for (port, state) in found.fabric.ports().zip(&found.port_states) {
            let up = port.1.peer.is_some() || port.1.num == PortNum::ZERO && found.fabric.node(port.1.node).is_switch();
            prop_assert_eq!(*state, if up { PortState::Active } else { PortState::Down });
        }
    }

    #[test]
    fn a_wave_lands_whole_though_a_fifth_of_all_mads_is_lost(seed in any::<u64>()) {
        let (mut manager, fabric) = manager(seed, 5, patient(), rough());
        let writes = wave(&fabric, 1);
        let applied = now(manager.apply(&fabric, &writes, WriteOrder::Any)).expect("all devices answer in the end");
        prop_assert_eq!(applied.writes, writes.len());
        prop_assert!(applied.retried > 0);
        prop_assert_eq!(manager.smps().retries, applied.retried);
        prop_assert_eq!(holds(manager.transport(), &writes), Ok(()));
    }

    /// Answers come after the request was given up and sent again: without the wait for its copies, a write of one wave
    /// would land on top of the next.
    #[test]
    fn no_write_of_a_wave_lands_after_it(seed in any::<u64>()) {
        let slow = Faults { delay_ns: 350 * MS, duplicate: 0.0, loss: 0.0, duplicate_delay_ns: 0 };
        let (mut manager, fabric) = manager(seed, 3, patient(), slow);
        let entry = |mark| Write::LftBlock { switch: NodeId(1), block: 7, entries: Box::new([mark; 64]) };
        for mark in 1..20 {
            let write = [entry(mark)];
            now(manager.apply(&fabric, &write, WriteOrder::Any)).expect("the device answers in the end");
            prop_assert_eq!(holds(manager.transport(), &write), Ok(()));
        }
        let later = manager.now_ns() + 1000 * MS;
        prop_assert_eq!(now(manager.next_event(later)).expect("the port is there"), None);
        prop_assert_eq!(holds(manager.transport(), &[entry(19)]), Ok(()));
    }

    #[test]
    fn one_seed_gives_one_course(seed in any::<u64>()) {
        let run = || {
            let (mut manager, fabric) = manager(seed, 4, patient(), rough());
            let found = now(manager.discover()).expect("the subnet answers");
            now(manager.apply(&fabric, &wave(&fabric, 2), WriteOrder::Any)).expect("all devices answer in the end");
            (manager.now_ns(), manager.smps().clone(), fabrics::portrait(&found.fabric))
        };
        prop_assert_eq!(run(), run());
    }
}

#[test]
fn a_sweep_from_a_switch_finds_the_fabric() {
    let (fabric, _) = fabrics::random(7, 6);
    let switch = fabric.switches().nth(2).expect("six switches");
    let sm_port = fabric.port_at(switch, PortNum::ZERO).expect("port 0");
    let mut manager = Manager::new(Fake::new(fabric.clone(), sm_port, 7), calm(), 0);
    let found = now(manager.discover()).expect("the subnet answers");
    assert_eq!(fabrics::difference(&fabric, &found.fabric), Vec::<String>::new());
    assert_eq!(found.fabric.port(found.sm_port).guid, fabric.port(sm_port).guid);
    let (probes, cables) = (manager.smps().of(AttributeId::NodeInfo), fabric.links().count() as u64);
    assert!(probes < 2 * cables, "{probes} probes of {cables} cables: most need no look from the other end");
}

#[test]
fn a_device_that_stays_silent_is_noted_and_left_out() {
    let (fabric, sm_port) = fabrics::random(11, 5);
    let mute: Vec<NodeId> = fabric.nodes().filter(|(_, node)| node.description == "host 5").map(|(id, _)| id).collect();
    let mut fake = Fake::new(fabric.clone(), sm_port, 11);
    fake.silent.extend(mute.iter().copied());
    let mut manager = Manager::new(fake, calm(), 0);
    let found = now(manager.discover()).expect("the others answer");
    let guid = fabric.node(mute[0]).guid;
    let rest = fabric.without_nodes(&mute);
    let told = |line: &String| !line.starts_with(&guid.to_string());
    let expected: Vec<String> = fabrics::portrait(&rest).into_iter().filter(told).collect();
    assert_eq!(fabrics::portrait(&found.fabric), expected);
    let cables = fabric.ports_of(mute[0]).filter(|&port| fabric.peer(port).is_some()).count();
    assert_eq!(found.notices.len(), cables, "one for each cable that leads there: {:?}", found.notices);
    assert!(found.notices.iter().all(|notice| notice.contains("did not answer")));
}

#[test]
fn a_sweep_clears_port_change_bits() {
    let (mut manager, fabric) = manager(3, 4, calm(), Faults::default());
    manager.transport_mut().devices[0].port_state_change = true;
    now(manager.discover()).expect("the subnet answers");
    assert!(fabric.nodes().all(|(id, _)| !manager.transport().devices[id.index()].port_state_change));
    assert_eq!(manager.smps().sent[&(AttributeId::SwitchInfo, Method::Set)], 1);
}

#[test]
fn windows_are_kept_and_used() {
    let timing = Timing { window: 7, per_device: 2, ..calm() };
    let (mut manager, fabric) = manager(5, 12, timing, Faults { delay_ns: 50_000, ..Faults::default() });
    now(manager.apply(&fabric, &wave(&fabric, 1), WriteOrder::Any)).expect("all devices answer");
    assert_eq!(manager.transport().most_under_way, (2, 7));
}

#[test]
fn listed_writes_are_sent_in_the_order_of_the_list() {
    let (mut manager, fabric) = manager(5, 8, calm(), Faults { delay_ns: 50_000, ..Faults::default() });
    let writes: Vec<Write> =
        wave(&fabric, 1).into_iter().filter(|write| matches!(write, Write::LftBlock { .. })).collect();
    now(manager.apply(&fabric, &writes, WriteOrder::Listed { window: 4 })).expect("all devices answer");
    let listed = writes.iter().map(|write| match write {
        Write::LftBlock { switch, block, .. } => (*switch, AttributeId::LinearForwardingTable, u32::from(*block)),
        other => unreachable!("filtered: {other:?}"),
    });
    assert_eq!(manager.transport().sent_sets, listed.collect::<Vec<_>>());
    assert_eq!(manager.transport().most_under_way.1, 4);
}

#[test]
fn a_busy_device_is_asked_again() {
    let (mut manager, fabric) = manager(5, 3, calm(), Faults::default());
    manager.transport_mut().devices[1].busy_answers = 2;
    let writes = wave(&fabric, 3);
    let applied = now(manager.apply(&fabric, &writes, WriteOrder::Any)).expect("it is free in the end");
    assert_eq!(applied.retried, 2);
    assert!(applied.quiet_ns > 0, "copies of what was sent twice must die first");
    assert_eq!(holds(manager.transport(), &writes), Ok(()));
}

#[test]
fn what_a_device_did_not_take_is_an_error() {
    let (mut manager, fabric) = manager(5, 3, calm(), Faults::default());
    manager.transport_mut().devices[2].stubborn = true;
    let error = now(manager.apply(&fabric, &wave(&fabric, 3), WriteOrder::Any)).expect_err("one device is stubborn");
    assert!(matches!(&error, SubnetError::NotTaken { attempted, .. } if attempted.contains("SlToVl")), "{error}");
}

#[test]
fn a_dead_device_fails_the_wave_without_being_asked_for_everything() {
    let (mut manager, fabric) = manager(5, 3, calm(), Faults::default());
    manager.transport_mut().silent.insert(NodeId(1));
    let writes: Vec<Write> =
        (0..500).map(|block| Write::LftBlock { switch: NodeId(1), block, entries: Box::new([1; 64]) }).collect();
    let error = now(manager.apply(&fabric, &writes, WriteOrder::Any)).expect_err("nobody answers");
    assert!(matches!(error, SubnetError::Silent { sent: 4, waited_ms: 3000, .. }), "{error}");
    assert_eq!(manager.smps().total(), 4);
}

#[test]
fn a_device_out_of_reach_is_named_before_anything_is_written() {
    let (mut manager, fabric) = manager(5, 3, calm(), Faults::default());
    let sm_port = manager.transport().sm_port;
    let lone = fabric.without_nodes(&[NodeId(2)]);
    manager.set_topology(&lone, sm_port);
    let error = now(manager.apply(&fabric, &wave(&fabric, 3), WriteOrder::Any)).expect_err("one switch is gone");
    assert!(matches!(&error, SubnetError::NoPath { attempted } if attempted.contains("switch 2")), "{error}");
    assert_eq!(manager.smps().total(), 0);
}

#[test]
fn port_writes_keep_what_they_do_not_mean() {
    let (mut manager, fabric) = manager(9, 3, calm(), Faults::default());
    let port = fabric.end_ports().nth(1).expect("hosts");
    let owner = fabric.port(port).clone();
    let sm = |lid| Write::MasterSm { port, lid: Lid(lid), sl: Sl::masked(9) };
    let state = |state| Write::PortState { port, state };
    now(manager.apply(&fabric, &[state(PortState::Armed), sm(77)], WriteOrder::Any)).expect("it answers");
    now(manager.apply(&fabric, &[state(PortState::Initialize)], WriteOrder::Any)).expect("it answers");
    now(manager.apply(&fabric, &[state(PortState::Active)], WriteOrder::Any)).expect("it answers");
    let info = &manager.transport().devices[owner.node.index()].ports[&owner.num.0];
    assert_eq!((info.master_sm_lid, info.master_sm_sl.get()), (Lid(77), 9));
    assert_eq!((Some(info.lid), info.lmc), (owner.lid, owner.lmc));
    assert_eq!(info.port_state, wire::PortState::Active);
    let sent = &manager.smps().sent;
    assert_eq!(sent[&(AttributeId::PortInfo, Method::Get)], 1, "later waves know what it was");
    assert_eq!(sent[&(AttributeId::PortInfo, Method::Set)], 3, "one for all that a wave changes at a port");
}

#[test]
fn a_port_that_goes_active_by_itself_is_told() {
    let (mut manager, fabric) = manager(9, 3, calm(), Faults::default());
    let port = fabric.port_at(NodeId(1), PortNum(2)).expect("port 2");
    manager.transport_mut().devices[1].eager = true;
    let write = Write::PortState { port, state: PortState::Armed };
    let applied = now(manager.apply(&fabric, &[write], WriteOrder::Any)).expect("it answers");
    assert_eq!(applied.not_held, [port]);
}

#[test]
fn answers_that_nobody_waits_for_do_no_harm() {
    let (mut manager, fabric) = manager(5, 3, calm(), Faults::default());
    let fake = manager.transport_mut();
    for (tid, method) in [(1, Method::GetResp), (2, Method::GetResp), (900, Method::GetResp), (5, Method::Get)] {
        // The right transaction, but the answer to something else.
        let smp = Smp::directed(&[], method, AttributeId::NodeInfo, 0, [0xAA; 64]).expect("no hops").with_tid(tid);
        let bytes = Box::new(smp.encode());
        fake.deliver(Datagram { lid: Lid::PERMISSIVE, from: None, qp: 0, sl: Sl::default(), bytes }, 10);
    }
    fake.deliver(Datagram { lid: Lid(1), from: None, qp: 0, sl: Sl::default(), bytes: Box::new([0x55; 256]) }, 11);
    let writes = wave(&fabric, 3);
    let applied = now(manager.apply(&fabric, &writes, WriteOrder::Any)).expect("all devices answer");
    assert_eq!(applied.retried, 0);
    assert_eq!(holds(manager.transport(), &writes), Ok(()));
    assert_eq!((manager.smps().late, manager.smps().unknown), (3, 2));
}

#[test]
fn a_trap_is_repressed_as_often_as_it_comes_and_told_once() {
    let (mut manager, fabric) = manager(5, 3, calm(), Faults::default());
    let switch = fabric.switches().nth(1).expect("three switches");
    let lid = fabric.port(fabric.port_at(switch, PortNum::ZERO).expect("port 0")).lid.expect("a LID");
    let host = fabric.end_ports().next().expect("hosts");
    let host_lid = fabric.port(host).lid.expect("a LID");
    let fake = manager.transport_mut();
    let down = Notice::link_state_changed(lid);
    for (tid, at_ns) in [(40, MS), (40, 2 * MS), (40, 3 * MS), (41, 4 * MS)] {
        fake.trap(&down, tid, at_ns);
    }
    fake.trap(&Notice::end_port_changed(NodeType::ChannelAdapter, host_lid, 0), 7, 5 * MS);
    let mut events = Vec::new();
    while let Some(event) = now(manager.next_event(20 * MS)).expect("the port is there") {
        events.push(event);
    }
    let changed = SubnetEvent::LinksChanged { lid, switch: Some(fabric.node(switch).guid) };
    let host = fabric.port_name(host);
    let host = SubnetEvent::EndPortChanged { lid: host_lid, port: Some(host) };
    assert_eq!(events, [changed, changed, host]);
    assert_eq!(manager.transport().repressed, [40, 40, 40, 41, 7]);
    assert_eq!(manager.now_ns(), 20 * MS);
}

#[test]
fn the_light_sweep_sees_what_no_trap_told() {
    let timing = Timing { light_sweep_ns: Some(100 * MS), ..calm() };
    let (mut manager, fabric) = manager(5, 4, timing, Faults::default());
    manager.transport_mut().devices[2].port_state_change = true;
    manager.transport_mut().silent.insert(NodeId(3));
    let changed = now(manager.next_event(150 * MS)).expect("the port is there");
    assert_eq!(changed, Some(SubnetEvent::PortsChanged { switch: fabric.node(NodeId(2)).guid }));
    assert!(!manager.transport().devices[2].port_state_change);
    // Not after all tries at the switch that is silent: a bit has told enough.
    assert!(manager.now_ns() < 110 * MS, "at {} ns", manager.now_ns());
    // It was a sweep all the same: whoever sets the pace by what sweeps see must learn of it.
    assert!(manager.take_light_sweep().is_some_and(|took_ns| took_ns < 10 * MS));
    // Of a switch whose neighbours report nothing, only its silence tells.
    let silent = now(manager.next_event(250 * MS)).expect("the port is there");
    assert_eq!(silent, Some(SubnetEvent::Silent { switch: fabric.node(NodeId(3)).guid }));
    assert!(manager.now_ns() > 3_000 * MS, "after three repetitions");
    assert!(manager.take_light_sweep().is_some_and(|took_ns| took_ns > 2_000 * MS));
}

const B: VlSet = VlSet(0b1100);

#[test]
fn a_flush_ends_when_every_device_says_so() {
    let (mut manager, _) = manager(5, 4, patient(), rough());
    manager.transport_mut().lag_ns = 30 * MS;
    let flushed = now(manager.flush(Ticket(3), Observer::Token, B)).expect("they flush");
    assert_eq!((flushed.ticket(), flushed.lanes()), (Ticket(3), B));
    assert!(manager.now_ns() >= 30 * MS);
}

#[test]
fn a_flush_that_never_ends_is_given_up() {
    let timing = Timing { barrier_ns: 500 * MS, ..calm() };
    let (mut manager, _) = manager(5, 4, timing, Faults::default());
    manager.transport_mut().lag_ns = 1_000_000 * MS;
    let error = now(manager.flush(Ticket(3), Observer::Token, B)).expect_err("it never ends");
    assert!(matches!(&error, SubnetError::BarrierTimeout { waited_ms: 500.., .. }), "{error}");
    assert!(manager.smps().of(AttributeId::Flush) < 2000, "the pauses grow");
}

#[test]
fn sources_are_asked_until_all_have_moved() {
    let (mut manager, fabric) = manager(5, 4, patient(), rough());
    manager.transport_mut().lag_ns = 30 * MS;
    let ports: Vec<PortId> = fabric.end_ports().collect();
    let writes: Vec<Write> = ports.iter().map(|&port| Write::ActiveHalf { port, half: Half::Upper }).collect();
    now(manager.apply(&fabric, &writes, WriteOrder::Any)).expect("they answer");
    assert_eq!(holds(manager.transport(), &writes), Ok(()));
    let moved = now(manager.confirm_sources(Ticket(5), &ports, Half::Upper)).expect("they move");
    assert_eq!((moved.ticket(), moved.half()), (Ticket(5), Half::Upper));
}

/// A graph of every legal turn along a breadth-first tree: acyclic, and it reaches every host.
fn graph(fabric: &Fabric) -> DrainGraph {
    let root = fabric.switches().next().expect("a switch");
    let mut depth = BTreeMap::from([(root, 0u32)]);
    let mut queue = std::collections::VecDeque::from([root]);
    let mut tree: BTreeSet<PortId> = BTreeSet::new();
    while let Some(node) = queue.pop_front() {
        for port in fabric.ports_of(node) {
            let (Some(next), Some(peer)) = (fabric.neighbour(port), fabric.peer(port)) else { continue };
            let below = depth[&node] + 1;
            if fabric.node(next).is_switch() && !depth.contains_key(&next) {
                depth.insert(next, below);
                queue.push_back(next);
                tree.extend([port, peer]);
            } else if !fabric.node(next).is_switch() {
                tree.extend([port, peer]);
            }
        }
    }
    let mut arcs: BTreeMap<NodeId, Vec<PortMask>> = BTreeMap::new();
    for switch in fabric.switches() {
        let masks = fabric.ports_of(switch).map(|input| {
            let others = fabric.ports_of(switch).filter(|&output| output != input && tree.contains(&output));
            let outputs = others.map(|output| fabric.port(output).num);
            if tree.contains(&input) { outputs.collect() } else { PortMask::default() }
        });
        arcs.insert(switch, masks.collect());
    }
    let injections: Vec<PortId> = fabric.end_ports().collect();
    DrainGraph::new(fabric, arcs, &injections).expect("a tree has no cycle")
}

fn token_course(graph: &DrainGraph) -> (BTreeSet<NodeId>, Vec<PortId>) {
    let sources = graph.channels().iter().filter(|channel| channel.predecessors.is_empty());
    (sources.map(|channel| channel.sender).collect(), graph.leaves().to_vec())
}

fn drain(manager: &mut Manager<Fake>, graph: &DrainGraph, observer: Observer) -> Result<(), SubnetError> {
    let shown_by = drain_of(manager, graph, observer, &[])?;
    assert_eq!(shown_by, observer);
    Ok(())
}

/// A drain of a routing of which these end ports were sources.
fn drain_of(
    manager: &mut Manager<Fake>,
    graph: &DrainGraph,
    observer: Observer,
    sources: &[PortId],
) -> Result<Observer, SubnetError> {
    let layers = [DrainLayer { lanes: VlSet(0b11), graph: graph.clone() }];
    let fabric = &manager.transport().fabric.clone();
    let function = UpDown::default().route(fabric, &Demand::all(fabric, 1)).expect("up*/down* routes any fabric");
    let lfts = &lid::bring_up(fabric, &function, 2).lfts;
    let in_use = HalfInForce { fabric, lfts, ways: None, half: Half::Upper, answers: false };
    let retiring = Retiring { lanes: VlSet(0b11), layers: &layers, in_use, sources };
    let drained = now(manager.drain(Ticket(8), observer, &retiring))?;
    assert_eq!((drained.ticket(), drained.lanes()), (Ticket(8), VlSet(0b11)));
    Ok(drained.observer())
}

#[test]
fn tokens_prove_the_drain_though_reports_are_lost() {
    let (mut manager, fabric) = manager(21, 5, patient(), rough());
    let graph = graph(&fabric);
    manager.transport_mut().token_course = Some(token_course(&graph));
    manager.transport_mut().report_loss = 0.4;
    drain(&mut manager, &graph, Observer::Token).expect("the tokens come");
    assert!(manager.smps().sent.contains_key(&(AttributeId::DrainToken, Method::Get)), "silent leaves are asked");
}

#[test]
fn tokens_cost_one_set_a_source_and_round() {
    let (mut manager, fabric) = manager(21, 5, calm(), Faults::default());
    let graph = graph(&fabric);
    let (sources, leaves) = token_course(&graph);
    manager.transport_mut().token_course = Some((sources.clone(), leaves.clone()));
    drain(&mut manager, &graph, Observer::Token).expect("the tokens come");
    // The last answers may still be on their way.
    let later = manager.now_ns() + MS;
    assert_eq!(now(manager.next_event(later)).expect("the port is there"), None);
    assert_eq!(manager.transport().reports_answered, 2 * leaves.len());
    let sent = &manager.smps().sent;
    assert_eq!(sent[&(AttributeId::DrainToken, Method::Set)], 2 * sources.len() as u64);
    let receivers: BTreeSet<NodeId> = graph.channels().iter().map(|channel| channel.receiver).collect();
    assert_eq!(sent[&(AttributeId::DrainToken, Method::Get)], 2 * receivers.len() as u64, "each is asked once a round");
    for switch in fabric.switches() {
        let blocks = wire::vendor::ArcBlocks::of(fabric.node(switch).num_ports);
        let told = &manager.transport().devices[switch.index()].arcs;
        for (input, mask) in (0..).map(PortNum).zip(&graph.arcs()[&switch]) {
            let data = wire::vendor::DrainArcs(told[&blocks.block_of(input)]);
            let outputs: Vec<PortNum> = data.outputs(blocks, input).iter().collect();
            assert_eq!(outputs, mask.iter().collect::<Vec<_>>(), "{switch:?} {input:?}");
        }
    }
}

#[test]
fn tokens_that_never_come_are_given_up() {
    let timing = Timing { barrier_ns: 2_000 * MS, ..calm() };
    let (mut manager, fabric) = manager(21, 5, timing, Faults::default());
    let graph = graph(&fabric);
    let (sources, leaves) = token_course(&graph);
    manager.transport_mut().token_course = Some((sources, leaves[1..].to_vec()));
    let error = drain(&mut manager, &graph, Observer::Token).expect_err("one leaf never has its token");
    assert!(matches!(&error, SubnetError::BarrierTimeout { missing, .. } if missing.contains("1 leaves")), "{error}");
}

#[test]
fn polling_follows_the_graph() {
    let (mut manager, fabric) = manager(21, 5, patient(), rough());
    let graph = graph(&fabric);
    manager.transport_mut().lag_ns = 40 * MS;
    drain(&mut manager, &graph, Observer::Poll).expect("the lanes run empty");
    assert!(manager.now_ns() >= 40 * MS);
    let asked = manager.smps().of(AttributeId::LaneStatus);
    assert!(asked >= 2 * u64::from(graph.depth()), "two passes over {} levels in {asked} readings", graph.depth());
}

#[test]
fn a_device_that_never_answers_a_silent_poll_is_never_taken_for_empty() {
    let timing = Timing { poll_silence_ns: Some(MS), barrier_ns: 2_000 * MS, ..calm() };
    let (mut manager, fabric) = manager(21, 5, timing, Faults::default());
    let graph = graph(&fabric);
    drain(&mut manager, &graph, Observer::Poll).expect("all answer");
    let full = graph.channels()[0].sender;
    manager.transport_mut().silent.insert(full);
    let error = drain(&mut manager, &graph, Observer::Poll).expect_err("one holds packets");
    assert!(matches!(&error, SubnetError::BarrierTimeout { missing, .. } if missing.contains("still hold")), "{error}");
}

#[test]
fn what_died_is_excused() {
    let (mut manager, fabric) = manager(21, 5, calm(), Faults::default());
    let graph = graph(&fabric);
    let sm_port = manager.transport().sm_port;
    let host = fabric.neighbour(fabric.peer(graph.leaves()[0]).expect("cabled")).expect("cabled");
    let dead = fabric.port(fabric.peer(graph.leaves()[0]).expect("cabled")).node;
    assert_ne!(host, dead);
    let rest = fabric.without_nodes(&[dead]);
    manager.set_topology(&rest, sm_port);
    manager.transport_mut().silent.insert(dead);
    let (sources, leaves) = token_course(&graph);
    let live = |leaf: &PortId| rest.peer(*leaf).is_some();
    let course =
        (sources.into_iter().filter(|&node| node != dead).collect(), leaves.into_iter().filter(live).collect());
    manager.transport_mut().token_course = Some(course);
    drain(&mut manager, &graph, Observer::Token).expect("the living have their tokens");
    drain(&mut manager, &graph, Observer::Poll).expect("the living answer");
}

/// Switches that keep packets for 4.096 µs × 2^10, one for eight times as long; returns one round of a drain by age,
/// in nanoseconds: a lifetime for each channel of the longest path.
fn limited(manager: &mut Manager<Fake>, graph: &DrainGraph) -> u64 {
    manager.transport_mut().devices.iter_mut().for_each(|device| device.life_time_value = 10);
    manager.transport_mut().devices[1].life_time_value = 13;
    let switches: Vec<NodeId> = (0..64).map(NodeId).collect();
    manager.set_ways(graph.depth(), &switches);
    u64::from(graph.depth()) * (4096 << 13)
}

#[test]
fn age_waits_for_the_limits_that_the_switches_tell() {
    let (mut manager, fabric) = manager(21, 5, calm(), Faults::default());
    let graph = graph(&fabric);
    let round_ns = limited(&mut manager, &graph);
    drain(&mut manager, &graph, Observer::Lifetime).expect("every switch has a limit");
    let bound_ns = 2 * round_ns;
    assert!((bound_ns..bound_ns + MS).contains(&manager.now_ns()), "{} after {bound_ns}", manager.now_ns());
    now(manager.flush(Ticket(9), Observer::Lifetime, B)).expect("every switch has a limit");
    manager.transport_mut().devices[1].life_time_value = 20;
    let error = drain(&mut manager, &graph, Observer::Lifetime).expect_err("one switch keeps packets for ever");
    assert!(matches!(error, SubnetError::NoVerdict { .. }), "{error}");
}

#[test]
fn responders_are_asked_after_the_requests_and_their_replies_age_in_turn() {
    let (mut manager, fabric) = manager(21, 5, calm(), Faults::default());
    let graph = graph(&fabric);
    let round_ns = limited(&mut manager, &graph);
    let ports: Vec<PortId> = fabric.end_ports().collect();
    let writes: Vec<Write> = ports.iter().map(|&port| Write::ActiveHalf { port, half: Half::Upper }).collect();
    now(manager.apply(&fabric, &writes, WriteOrder::Any)).expect("they answer");
    // Replies wait in the send queues for longer than requests may be under way.
    let late_ns = 5 * MS;
    manager.transport_mut().lag_ns = round_ns + late_ns;
    let asked = manager.smps().of(AttributeId::ActiveHalf);
    drain_of(&mut manager, &graph, Observer::Lifetime, &ports).expect("all settle in the end");
    let bound_ns = 2 * round_ns + late_ns;
    assert!((bound_ns..bound_ns + 20 * MS).contains(&manager.now_ns()), "{} after {bound_ns}", manager.now_ns());
    assert!(manager.smps().of(AttributeId::ActiveHalf) > asked + ports.len() as u64, "they were asked again");
}

#[test]
fn a_responder_that_never_settles_forbids_the_drain() {
    let (mut manager, fabric) = manager(21, 5, calm(), Faults::default());
    let graph = graph(&fabric);
    limited(&mut manager, &graph);
    let ports: Vec<PortId> = fabric.end_ports().collect();
    let error = drain_of(&mut manager, &graph, Observer::Lifetime, &ports).expect_err("nobody was moved");
    assert!(error.to_string().contains("end ports hold replies"), "{error}");
}

#[test]
fn behind_a_fence_age_counts_from_when_the_ports_lanes_have_run_empty() {
    let (mut manager, fabric) = manager(21, 5, calm(), Faults::default());
    let graph = graph(&fabric);
    let round_ns = limited(&mut manager, &graph);
    let settle_ns = 70 * MS;
    manager.move_sources(SourceControl::Fenced { settle_ns });
    drain(&mut manager, &graph, Observer::Lifetime).expect("every switch has a limit");
    let bound_ns = settle_ns + round_ns;
    assert!((bound_ns..bound_ns + MS).contains(&manager.now_ns()), "{} after {bound_ns}", manager.now_ns());
    let begin_ns = manager.now_ns();
    now(manager.flush(Ticket(9), Observer::Lifetime, B)).expect("every switch has a limit");
    let flushed_ns = begin_ns + settle_ns + round_ns + 2 * (4096 << 13);
    assert!((flushed_ns..flushed_ns + MS).contains(&manager.now_ns()), "{} after {flushed_ns}", manager.now_ns());
}

#[test]
fn conservation_compares_what_was_sent_and_received() {
    let timing = Timing { barrier_ns: 300 * MS, ..calm() };
    let (mut manager, fabric) = manager(21, 5, timing, Faults::default());
    manager.count_from_power_on();
    let graph = graph(&fabric);
    let ports: Vec<PortId> = fabric.end_ports().collect();
    let writes: Vec<Write> = ports.iter().map(|&port| Write::ActiveHalf { port, half: Half::Upper }).collect();
    now(manager.apply(&fabric, &writes, WriteOrder::Any)).expect("they answer");
    let mut count = |at: usize, which: usize, sl: usize, value: u32| {
        let owner = fabric.port(ports[at]).clone();
        let device = &mut manager.transport_mut().devices[owner.node.index()];
        device.counters.entry(owner.num.0).or_default()[which][sl] = value;
    };
    count(0, 0, 1, 500);
    count(2, 1, 1, 499);
    count(0, 0, 9, 77);
    let error = drain(&mut manager, &graph, Observer::Conservation).expect_err("one unit is under way");
    assert!(matches!(error, SubnetError::BarrierTimeout { .. }), "{error}");
    let mut count = |at: usize, which: usize, sl: usize, value: u32| {
        let owner = fabric.port(ports[at]).clone();
        let device = &mut manager.transport_mut().devices[owner.node.index()];
        device.counters.entry(owner.num.0).or_default()[which][sl] = value;
    };
    count(3, 1, 2, 1);
    drain(&mut manager, &graph, Observer::Conservation).expect("all was received");
    let owner = fabric.port(ports[0]).clone();
    let left = manager.transport().devices[owner.node.index()].counters[&owner.num.0];
    assert_eq!((left[0][1], left[0][9]), (0, 77), "the retired levels are zeroed, the others are not");
    assert!(manager.smps().perf > 0);
}

/// What shows the drain of a manager that is to go by counters, and then of its next drain.
fn drained_by(prepare: impl FnOnce(&mut Manager<Fake>, &Fabric)) -> [Result<Observer, SubnetError>; 2] {
    let (mut manager, fabric) = manager(21, 5, calm(), Faults::default());
    let graph = graph(&fabric);
    manager.transport_mut().token_course = Some(token_course(&graph));
    let ports: Vec<PortId> = fabric.end_ports().collect();
    let writes: Vec<Write> = ports.iter().map(|&port| Write::ActiveHalf { port, half: Half::Upper }).collect();
    now(manager.apply(&fabric, &writes, WriteOrder::Any)).expect("they answer");
    // Of an unknown past 540 units of each kind are left: the sums are equal by accident.
    for (at, which) in [(0, 0), (2, 1)] {
        let owner = fabric.port(ports[at]).clone();
        let device = &mut manager.transport_mut().devices[owner.node.index()];
        device.counters.entry(owner.num.0).or_default()[which][1] = 540;
    }
    prepare(&mut manager, &fabric);
    [(); 2].map(|()| drain_of(&mut manager, &graph, Observer::Conservation, &ports))
}

/// Equal sums show nothing where nobody knows what the counters began with: tokens drain. Once the manager has seen
/// them at zero they do, until an end port goes or another manager was master.
#[test]
fn counters_without_a_known_zero_show_no_drain() {
    let tokens_first = [Ok(Observer::Token), Ok(Observer::Conservation)];
    assert_eq!(drained_by(|_, _| {}), tokens_first, "it has taken over");
    assert_eq!(drained_by(|manager, _| manager.count_from_power_on()), [(); 2].map(|()| Ok(Observer::Conservation)));
    let away = |manager: &mut Manager<Fake>, fabric: &Fabric| {
        manager.count_from_power_on();
        let sm = manager.transport().sm_port;
        let last = fabric.end_ports().filter(|&port| port != sm).last().expect("hosts");
        manager.set_topology(&fabric.without_nodes(&[fabric.port(last).node]), sm);
        manager.set_topology(fabric, sm);
    };
    assert_eq!(drained_by(away), tokens_first, "the others have counted packets of one that was away");
    let mastered = |manager: &mut Manager<Fake>, _: &Fabric| {
        manager.count_from_power_on();
        manager.begin_mastership(Half::Upper);
    };
    assert_eq!(drained_by(mastered), tokens_first, "another was master meanwhile");
}

#[test]
fn nothing_is_asked_of_an_unknown_fabric() {
    let (fabric, sm_port) = fabrics::random(5, 3);
    let mut manager = Manager::new(Fake::new(fabric.clone(), sm_port, 5), calm(), 0);
    let error = now(manager.apply(&fabric, &wave(&fabric, 1), WriteOrder::Any)).expect_err("no fabric is known");
    assert!(matches!(error, SubnetError::NoTopology { .. }), "{error}");
    let error = now(manager.flush(Ticket(1), Observer::Token, B)).expect_err("no fabric is known");
    assert!(matches!(error, SubnetError::NoTopology { .. }), "{error}");
}

#[test]
fn a_manager_pends_while_its_transport_does() {
    /// Never has anything.
    struct Quiet;
    #[async_trait::async_trait(?Send)]
    impl Transport for Quiet {
        fn now_ns(&self) -> u64 {
            0
        }
        async fn send(&mut self, _: Datagram) -> Result<(), reconfig::transport::TransportError> {
            Ok(())
        }
        async fn recv(&mut self, _: u64) -> Result<Option<Datagram>, reconfig::transport::TransportError> {
            std::future::pending().await
        }
    }
    let mut manager = Manager::new(Quiet, calm(), 0);
    let mut sweep = tokio_test::task::spawn(manager.discover());
    tokio_test::assert_pending!(sweep.poll());
    drop(sweep);
    assert_eq!(manager.smps().sent[&(AttributeId::NodeInfo, Method::Get)], 1);
}
