//! Whom a lost packet is counted against: what died, or the writes that followed.

use crate::support::with_tables::with_tables;
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, Half, Lid, PortNum, Sl};
use reconfig::lid;
use reconfig::sim::{Latch, PacketCounts, Scripted, SimConfig, SimTransport};
use reconfig::tables::{Lft, SubnetTables};
use reconfig::transport::{Datagram, Transport};
use reconfig::wire::{AttributeId, Method, Smp};
use std::sync::Arc;

/// Sender – a – b – c – receiver, the manager at b; from b to v and on to a; and a second cable from a to b.
struct Chain {
    fabric: Fabric,
    tables: SubnetTables,
    switches: Vec<NodeId>,
}

impl Chain {
    fn new() -> Chain {
        let mut builder = FabricBuilder::new();
        let names = (0u64..).zip(["a", "b", "c", "v"]);
        let switches: Vec<NodeId> =
            names.map(|(at, name)| builder.node(NodeKind::Switch, Guid(0x100 + at), 8, name.to_string())).collect();
        let [a, b, c, v] = switches[..] else { unreachable!("four switches") };
        for (at, (switch, port)) in (0u16..).zip([(a, 1), (c, 1), (b, 1)]) {
            let host = builder.node(NodeKind::Ca, Guid(0x200 + u64::from(at)), 1, format!("host-{at}"));
            builder.port_mut(host, PortNum(1)).expect("a port").lid = Some(Lid(at + 1));
            let ends = ((switch, PortNum(port)), (host, PortNum(1)));
            builder.link(ends.0, ends.1, LinkWidth::X1, LinkSpeed::Sdr).expect("free ports");
        }
        for (from, out, to, into) in [(a, 2, b, 2), (b, 3, c, 2), (b, 4, v, 2), (v, 3, a, 3), (a, 4, b, 5)] {
            let ends = ((from, PortNum(out)), (to, PortNum(into)));
            builder.link(ends.0, ends.1, LinkWidth::X1, LinkSpeed::Sdr).expect("free ports");
        }
        let fabric = builder.build().expect("a fabric");
        let mut tables = SubnetTables::new(&fabric, lid::steady_sl_to_vl(1), Half::Lower);
        for (switch, outputs) in [(a, [1, 2, 2]), (b, [2, 3, 1]), (c, [2, 1, 2]), (v, [3, 3, 2])] {
            let mut lft = Lft::new();
            (1u16..).zip(outputs).for_each(|(lid, output)| lft.set(Lid(lid), PortNum(output)));
            tables.lfts[switch.index()] = Arc::new(lft);
        }
        Chain { fabric, tables, switches }
    }

    fn port(&self, switch: usize, num: u8) -> PortId {
        self.fabric.port_at(self.switches[switch], PortNum(num)).expect("a port")
    }

    /// Sends to the receiver from both other hosts until b holds a queue. Then the cables of a to b and of v to a die,
    /// and b is told to lead to v, if so wished.
    fn run(&self, misled: bool) -> PacketCounts {
        let config = SimConfig {
            load: 0.0,
            data_vls: 1,
            latch: Latch::Grant,
            send_queue: 64,
            buffer_credits: 400,
            ..SimConfig::default()
        };
        let owner = |lid: u16| self.fabric.lid_owner(Lid(lid)).expect("a host");
        let mut sim = with_tables(&self.fabric, &self.tables, config, owner(3));
        let packet =
            |from| Scripted { at_ns: 1_000, source: owner(from), dlid: Lid(2), sl: Sl::masked(0), bytes: 2048 };
        sim.script((0..60).flat_map(|_| [1, 3].map(packet)).collect());
        sim.run(100_000, false);
        let mut transport = SimTransport::new(sim);
        transport.with(|sim| [self.port(0, 2), self.port(3, 3)].map(|port| sim.kill(port)));
        if misled {
            let mut entries = [PortNum::NO_ROUTE.0; 64];
            entries[1..4].copy_from_slice(&[2, 4, 1]);
            let smp = Smp::directed(&[PortNum(1)], Method::Set, AttributeId::LinearForwardingTable, 0, entries);
            let bytes = Box::new(smp.expect("one hop").encode());
            let datagram = Datagram { lid: Lid::PERMISSIVE, from: None, qp: 0, sl: Sl::default(), bytes };
            let driver = transport.clone();
            let mut exchange = tokio_test::task::spawn(async {
                transport.send(datagram).await.expect("it is sent");
                let until_ns = transport.now_ns() + 1_000_000;
                transport.recv(until_ns).await.expect("it is answered")
            });
            while exchange.poll().is_pending() {
                driver.advance(u64::MAX);
            }
        }
        transport.with(|sim| {
            sim.run(sim.now_ns() + 5_000_000, false);
            sim.packets()
        })
    }
}

/// Packets that wait at b have the death of a's cable behind them, and a way before them: led to v, where none leads
/// on, they are lost to the write.
#[test]
fn a_death_that_lies_behind_a_packet_excuses_no_write() {
    let chain = Chain::new();
    let [kept, misled] = [false, true].map(|misled| chain.run(misled));
    assert!(kept.lost_to_change == 0 && kept.lost_to_failure > 0, "{kept:?}");
    let lost = kept.delivered - misled.delivered;
    assert!(lost > 10, "{misled:?}");
    assert_eq!((misled.lost_to_failure, misled.lost_to_change), (kept.lost_to_failure, lost), "{misled:?}");
}
