//! What devices hold, asked of their agents by directed routes: SL-to-VL tables and port states.

use super::play::{MS, Play};
use crate::support::polled::{at_once, by_hand};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Lid, PortNum, Sl};
use reconfig::tables::SubnetTables;
use reconfig::transport::{Datagram, Transport};
use reconfig::wire::{AttributeId, Method, SMP_DATA_SIZE, SlToVlMappingTable, SlToVlModifier, Smp};
use std::collections::BTreeMap;

/// The first SL-to-VL table between cabled ports that a device holds otherwise than `tables` say.
pub fn first_other(play: &mut Play, tables: &SubnetTables, alive: &Fabric) -> Option<String> {
    let paths = paths(alive, play.built.sm);
    for (node, info) in alive.nodes().filter(|(id, node)| node.present && paths.contains_key(id)) {
        let cabled: Vec<PortNum> =
            alive.ports_of(node).filter(|&port| alive.peer(port).is_some()).map(|port| alive.port(port).num).collect();
        let inputs = if info.is_switch() { [&[PortNum::ZERO], &cabled[..]].concat() } else { vec![PortNum::ZERO] };
        for (input, output) in inputs.iter().flat_map(|&input| cabled.iter().map(move |&output| (input, output))) {
            let modifier = match info.is_switch() {
                true => SlToVlModifier::Pair { input, output },
                false => SlToVlModifier::Pair { input: PortNum::ZERO, output: PortNum::ZERO },
            };
            let held = SlToVlMappingTable::decode(&ask(play, &paths[&node], modifier.encode())?).0;
            let wanted = tables.sl_to_vl[node.index()].get(input, output);
            if Sl::all().any(|sl| held[sl.index()] != wanted.get(sl)) {
                return Some(format!("{}: {input} to {output}: {held:?}", alive.describe_node(node)));
            }
        }
    }
    None
}

/// Output ports from the manager's port to every node.
fn paths(fabric: &Fabric, sm: PortId) -> BTreeMap<NodeId, Vec<PortNum>> {
    let start = fabric.port(sm).node;
    let mut paths = BTreeMap::from([(start, Vec::new())]);
    let mut queue = vec![start];
    let mut next = 0;
    while let Some(&node) = queue.get(next) {
        next += 1;
        for port in fabric.ports_of(node).filter(|&port| node != start || port == sm) {
            let Some(far) = fabric.neighbour(port).filter(|far| !paths.contains_key(far)) else { continue };
            if node == start || fabric.node(node).is_switch() {
                paths.insert(far, [&paths[&node][..], &[fabric.port(port).num]].concat());
                queue.push(far);
            }
        }
    }
    paths
}

/// Asks until an answer comes: it may be lost like any other.
fn ask(play: &mut Play, path: &[PortNum], modifier: u32) -> Option<[u8; SMP_DATA_SIZE]> {
    let attribute = AttributeId::SlToVlMappingTable;
    for attempt in 0..40 {
        let tid = 0xACCE_0000 + attempt;
        let smp = Smp::directed(path, Method::Get, attribute, modifier, [0; SMP_DATA_SIZE]).ok()?.with_tid(tid);
        let (lid, sl, bytes) = (Lid::PERMISSIVE, Sl::default(), Box::new(smp.encode()));
        let mut transport = play.transport.clone();
        at_once(transport.send(Datagram { lid, from: None, qp: 0, sl, bytes })).ok()?;
        let until_ns = play.now_ns() + MS;
        while play.now_ns() < until_ns {
            play.transport.with(|sim| sim.run(until_ns, true));
            while let Some(Ok(Some(answer))) = received(&mut transport) {
                if let Ok(answer) = Smp::decode(&answer.bytes)
                    && answer.tid == tid
                {
                    return Some(answer.data);
                }
            }
        }
    }
    panic!("nobody answers along {path:?}");
}

/// What has come already.
fn received<T: Transport>(transport: &mut T) -> Option<Result<Option<Datagram>, reconfig::transport::TransportError>> {
    match by_hand(transport.recv(0)).poll() {
        std::task::Poll::Ready(received) => Some(received),
        std::task::Poll::Pending => None,
    }
}
