//! Whom a lost packet is counted against: what died, or the writes that followed.

use crate::support::with_tables::with_tables;
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, Half, Lid, PortNum, Sl};
use reconfig::lid;
use reconfig::sim::{Latch, PacketCounts, Scripted, Sim, SimConfig, SimTransport};
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

    /// The manager's host is the third.
    fn sim(&self) -> Sim {
        let config = SimConfig {
            load: 0.0,
            data_vls: 1,
            latch: Latch::Grant,
            send_queue: 64,
            buffer_credits: 400,
            ..SimConfig::default()
        };
        with_tables(&self.fabric, &self.tables, config, self.owner(3))
    }

    fn owner(&self, lid: u16) -> PortId {
        self.fabric.lid_owner(Lid(lid)).expect("a host")
    }

    /// A packet to the receiver.
    fn packet(&self, at_ns: u64, from: u16) -> Scripted {
        Scripted { at_ns, source: self.owner(from), dlid: Lid(2), sl: Sl::masked(0), bytes: 2048 }
    }

    /// Sends to the receiver from both other hosts until b holds a queue. Then the cables of a to b and of v to a die,
    /// and b is told to lead to v, if so wished.
    fn run(&self, misled: bool) -> PacketCounts {
        let mut sim = self.sim();
        sim.script((0..60).flat_map(|_| [1, 3].map(|from| self.packet(1_000, from))).collect());
        sim.run(100_000, false);
        let transport = SimTransport::new(sim);
        transport.with(|sim| [self.port(0, 2), self.port(3, 3)].map(|port| sim.kill(port)));
        if misled {
            write(&transport, &[], [2, 4, 1]);
        }
        transport.with(|sim| {
            sim.run(sim.now_ns() + 5_000_000, false);
            sim.packets()
        })
    }
}

/// Writes the outputs of a switch, for LIDs from 1 on; the path is from the manager's switch.
fn write(transport: &SimTransport, path: &[u8], outputs: [u8; 3]) {
    let mut entries = [PortNum::NO_ROUTE.0; 64];
    entries[1..4].copy_from_slice(&outputs);
    let path: Vec<PortNum> = [1].iter().chain(path).map(|&num| PortNum(num)).collect();
    let smp = Smp::directed(&path, Method::Set, AttributeId::LinearForwardingTable, 0, entries);
    let bytes = Box::new(smp.expect("few hops").encode());
    let datagram = Datagram { lid: Lid::PERMISSIVE, from: None, qp: 0, sl: Sl::default(), bytes };
    let (driver, mut transport) = (transport.clone(), transport.clone());
    let mut exchange = tokio_test::task::spawn(async {
        transport.send(datagram).await.expect("it is sent");
        let until_ns = transport.now_ns() + 1_000_000;
        transport.recv(until_ns).await.expect("it is answered")
    });
    while exchange.poll().is_pending() {
        driver.advance(u64::MAX);
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

/// Both cables from a to b bounce, and nobody makes them ACTIVE. What is sent into one by the entry from before is lost
/// to the bounce. What is sent into the other by a new entry, or then into the first again, is lost to the write.
#[test]
fn a_bounce_excuses_an_entry_until_it_is_written() {
    let chain = Chain::new();
    let mut sim = chain.sim();
    sim.run(10_000, false);
    let cables = [chain.port(0, 2), chain.port(0, 4)];
    cables.iter().for_each(|&port| sim.kill(port));
    sim.run(20_000, false);
    cables.iter().for_each(|&port| sim.revive(port));
    let transport = SimTransport::new(sim);
    let send = || {
        transport.with(|sim| {
            sim.script((0..10).map(|_| chain.packet(sim.now_ns() + 1_000, 1)).collect());
            sim.run(sim.now_ns() + 1_000_000, false);
            (sim.packets().lost_to_failure, sim.packets().lost_to_change)
        })
    };
    assert_eq!(send(), (10, 0));
    write(&transport, &[4, 3], [1, 4, 2]);
    assert_eq!(send(), (10, 10));
    write(&transport, &[4, 3], [1, 2, 2]);
    assert_eq!(send(), (10, 20), "what is written back was written");
}

/// Hosts do not know that the manager's cable is out, and send on. What is for the manager's host is stranded.
#[test]
fn the_managers_own_loss_silences_nobody_else() {
    let chain = Chain::new();
    let mut sim = chain.sim();
    sim.run(10_000, false);
    sim.kill(chain.owner(3));
    let to_manager = Scripted { dlid: Lid(3), ..chain.packet(30_000, 1) };
    sim.script(vec![chain.packet(20_000, 1), to_manager, chain.packet(40_000, 1)]);
    sim.run(1_000_000, false);
    let packets = sim.packets();
    assert_eq!((packets.delivered, packets.stranded, packets.lost_to_change), (2, 1, 0), "{packets:?}");
}
