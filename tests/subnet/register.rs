//! Clients are asked to register again beside everything else: a loss waits for none of it.

use super::*;
use reconfig::subnet::MayRegister;
use reconfig::wire::capability;

/// A manager that knows the ports of its subnet, all hosts of which can be asked; and those hosts.
fn known(supports_it: bool) -> (Manager<Fake>, Fabric, Vec<PortId>) {
    let (mut manager, fabric) = manager(5, 4, calm(), Faults::default());
    let hosts: Vec<PortId> = fabric.end_ports().collect();
    for &host in &hosts {
        let (node, num) = (fabric.port(host).node, fabric.port(host).num);
        let info = manager.transport_mut().devices[node.index()].ports.get_mut(&num.0).expect("it has it");
        info.port_state = wire::PortState::Active;
        info.capability_mask = if supports_it { capability::CLIENT_REREGISTER } else { 0 };
    }
    now(manager.discover()).expect("the subnet answers");
    let own = manager.own_port().expect("it is known");
    manager.set_topology(&fabric, own);
    (manager, fabric, hosts)
}

/// The same; and a host that is silent, and another one, neither of them the manager's.
fn one_silent() -> (Manager<Fake>, Fabric, PortId, PortId) {
    let (mut manager, fabric, hosts) = known(true);
    let device = |port: &PortId| fabric.port(*port).node;
    let others: Vec<PortId> = hosts.iter().copied().filter(|port| device(port) != device(&hosts[0])).collect();
    let other = others.iter().copied().find(|port| device(port) != device(&others[0]));
    let (silent, other) = (others[0], other.expect("three devices"));
    manager.transport_mut().silent.insert(fabric.port(silent).node);
    (manager, fabric, silent, other)
}

#[test]
fn who_does_not_support_it_is_not_asked() {
    for (supports_it, may) in [(true, MayRegister::Now), (false, MayRegister::Needless)] {
        let (manager, _, hosts) = known(supports_it);
        assert_eq!(manager.may_register(hosts[1]), may);
    }
}

#[test]
fn who_is_silent_is_asked_once_and_is_not_held_against_it() {
    let (mut manager, _, silent, other) = one_silent();
    let began_ns = manager.now_ns();
    let mut done = now(manager.ask_to_register(&[silent, other])).expect("the port works");
    done.sort_unstable();
    assert_eq!(done, [(silent, false), (other, true)]);
    assert!(manager.now_ns() - began_ns <= 201 * MS, "{}", manager.now_ns() - began_ns);
    assert_eq!(manager.faults().count(), 0);
}

/// What it leaves under way changes nothing, and concerns only those who write a PortInfo.
#[test]
fn an_event_ends_it_at_once_and_entries_do_not_wait_for_copies() {
    let (mut manager, fabric, silent, other) = one_silent();
    let began_ns = manager.now_ns();
    manager.transport_mut().trap(&Notice::link_state_changed(Lid(1)), 9, began_ns + 5 * MS);
    let done = now(manager.ask_to_register(&[silent, other])).expect("the port works");
    assert_eq!(done, [(other, true)], "who did not answer is asked again");
    assert!(manager.now_ns() - began_ns < 6 * MS, "{}", manager.now_ns() - began_ns);
    let switch = fabric.switches().next().expect("switches");
    let entries = [Write::LftBlock { switch, block: 0, entries: Box::new([1; 64]) }];
    now(manager.apply(&fabric, &entries, WriteOrder::Any)).expect("it answers");
    assert!(manager.now_ns() - began_ns < 10 * MS, "{}", manager.now_ns() - began_ns);
    let state = [Write::PortState { port: other, state: PortState::Armed }];
    now(manager.apply(&fabric, &state, WriteOrder::Any)).expect("it answers");
    let passed_ns = manager.now_ns() - began_ns;
    assert!((1_000 * MS..1_010 * MS).contains(&passed_ns), "{passed_ns}");
}
