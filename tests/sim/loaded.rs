//! Simulations to begin with: a fabric as brought up, and the textbook deadlock.

use crate::support::with_tables::with_tables;
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, Half, Lid, Lmc, PortNum};
use reconfig::lid;
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::sim::{Sim, SimConfig};
use reconfig::tables::{Lft, SubnetTables};
use std::sync::Arc;

/// A simulation of a fabric as brought up: LMC 1, up*/down* for both halves. With the root and the manager's port.
pub fn loaded(fabric: &Fabric, config: SimConfig) -> (Sim, NodeId, PortId) {
    let fabric = lid::assign(fabric, Lmc::masked(1)).unwrap();
    let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).unwrap();
    let tables = lid::bring_up(&fabric, &function, config.data_vls);
    let sm = fabric.end_ports().next().unwrap();
    (with_tables(&fabric, &tables, config, sm), function.root().unwrap(), sm)
}

/// Switches in a ring with one host each, all traffic going the same way round: the textbook deadlock.
pub fn one_way_ring(switches: u8) -> (Fabric, SubnetTables, PortId) {
    let mut builder = FabricBuilder::new();
    let ring: Vec<NodeId> = (0..switches)
        .map(|i| builder.node(NodeKind::Switch, Guid(0x100 + u64::from(i)), 3, format!("ring-{i}")))
        .collect();
    for i in 0..switches {
        let host = builder.node(NodeKind::Ca, Guid(0x200 + u64::from(i)), 1, format!("host-{i}"));
        builder.port_mut(host, PortNum(1)).unwrap().lid = Some(Lid(u16::from(i) + 1));
        let here = ring[usize::from(i)];
        let next = ring[usize::from(i + 1) % ring.len()];
        let speed = (LinkWidth::X4, LinkSpeed::Edr);
        builder.link((here, PortNum(1)), (host, PortNum(1)), speed.0, speed.1).unwrap();
        builder.link((here, PortNum(2)), (next, PortNum(3)), speed.0, speed.1).unwrap();
    }
    let fabric = builder.build().unwrap();
    let mut tables = SubnetTables::new(&fabric, lid::steady_sl_to_vl(1), Half::Lower);
    for (i, &switch) in ring.iter().enumerate() {
        let mut lft = Lft::new();
        for destination in 0..ring.len() {
            let port = if destination == i { PortNum(1) } else { PortNum(2) };
            lft.set(Lid(destination as u16 + 1), port);
        }
        tables.lfts[switch.index()] = Arc::new(lft);
    }
    let sm = fabric.end_ports().next().unwrap();
    (fabric, tables, sm)
}
