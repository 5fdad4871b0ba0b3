//! A device whose management agent is silent and whose links are up is not dead: it forwards and sends as before, until
//! its neighbours take the links down.

use super::bench::{Bench, MS, at_rest, bench, drive, light, policy, tree};
use reconfig::fabric::{NodeId, PortId};
use reconfig::machine::Outcome;
use reconfig::plan::{Observer, Scheme};
use reconfig::wire::PortState;
use std::sync::Arc;

/// The ports of a node's neighbours that are cabled to it.
fn around(bench: &Bench, node: NodeId) -> Vec<PortId> {
    bench.fabric.ports_of(node).filter_map(|port| bench.fabric.peer(port)).collect()
}

fn states(bench: &Bench, ports: &[PortId]) -> Vec<PortState> {
    ports.iter().map(|&port| bench.transport.with(|sim| sim.port_state(port))).collect()
}

/// Makes a device deaf, or hear again, and looks at the subnet.
fn look(bench: &mut Bench, node: NodeId, deaf: bool) {
    let transport = bench.transport.clone();
    transport.with(|sim| sim.deafen_node(node, deaf));
    drive(&transport, bench.driver.look(), Vec::new()).expect("the rest answers");
}

#[test]
fn a_silent_switch_is_taken_down_at_its_neighbours_before_it_counts_as_gone() {
    for scheme in [Scheme::Double, Scheme::Ordered] {
        let mut bench = tree(scheme);
        let root = bench.root;
        let neighbours = around(&bench, root);
        bench.transport.with(|sim| sim.run(MS / 4, false));
        assert!(states(&bench, &neighbours).iter().all(|&state| state == PortState::Active));
        look(&mut bench, root, true);
        assert!(bench.driver.running().has_lost_something(), "{scheme}");
        let left = states(&bench, &neighbours);
        assert!(left.iter().all(|&state| state == PortState::Initialize), "{scheme}: {left:?}");
        let others = bench.fabric.ports().filter(|(id, port)| port.peer.is_some() && !neighbours.contains(id));
        let others: Vec<PortId> = others.map(|(id, _)| id).collect();
        assert!(states(&bench, &others).iter().all(|&state| state == PortState::Active), "{scheme}: only these");
        let after = Arc::new(bench.fabric.without_nodes(&[root]));
        let transport = bench.transport.clone();
        let record = drive(&transport, bench.driver.change_to(after), Vec::new()).expect("it can be prepared");
        assert_eq!(record.outcome, Outcome::Completed, "{scheme}");
        // It hears again: its links are found in INITIALIZE, and it comes like anything else.
        look(&mut bench, root, false);
        assert!(bench.driver.running().has_grown() && !bench.driver.running().has_lost_something(), "{scheme}");
        let whole = bench.fabric.clone();
        let back = drive(&transport, bench.driver.change_to(whole), Vec::new()).expect("it can be prepared");
        assert_eq!(back.outcome, Outcome::Completed, "{scheme}");
        let left = states(&bench, &neighbours);
        assert!(left.iter().all(|&state| state == PortState::Active), "{scheme}: {left:?}");
    }
}

/// A silent host too: what it sends goes no farther than its switch.
#[test]
fn a_silent_host_sends_no_farther_than_its_switch() {
    let mut bench = bench("fat-tree:4,2", light(), Scheme::Ordered, policy(Observer::Token));
    let far = bench.fabric.end_ports().last().expect("sixteen hosts");
    let (host, at) = (bench.fabric.port(far).node, bench.fabric.peer(far).expect("it is cabled"));
    look(&mut bench, host, true);
    assert_eq!(states(&bench, &[at]), [PortState::Initialize]);
    assert_eq!(bench.driver.running().alive.peer(at), None);
    let packets = at_rest(&bench);
    assert!(packets.lost_to_change + packets.lost_to_failure + packets.stranded > 0, "{packets:?}");
}

/// One sweep without an answer is not enough: a lost SMP looks the same.
#[test]
fn who_answers_the_next_sweep_keeps_its_links() {
    let mut bench = tree(Scheme::Double);
    let (root, transport) = (bench.root, bench.transport.clone());
    let neighbours = around(&bench, root);
    transport.with(|sim| sim.deafen_node(root, true));
    // Nine transmissions of 2 ms and more pass before the first sweep gives the switch up.
    let hears = (
        30 * MS,
        Box::new(move |transport: &reconfig::sim::SimTransport| {
            transport.with(|sim| sim.deafen_node(root, false));
        }) as Box<dyn FnOnce(&reconfig::sim::SimTransport)>,
    );
    drive(&transport, bench.driver.look(), vec![hears]).expect("all answer in the end");
    assert!(!bench.driver.running().has_lost_something());
    assert!(states(&bench, &neighbours).iter().all(|&state| state == PortState::Active));
}
