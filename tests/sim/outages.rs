//! Outages of pairs of end ports, computed by hand.

use crate::support::with_tables::with_tables;
use reconfig::fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NodeId, NodeKind, PortId};
use reconfig::ids::{Guid, Half, Lid, Lmc, PortNum, Sl};
use reconfig::lid;
use reconfig::sim::{OutageEnd, PairOutage, Scripted, Sim, SimConfig};
use reconfig::tables::{Lft, SubnetTables};
use std::sync::Arc;

/// From send queue to arrival: twice a link and a switch (10 ns and 100 ns), a link, and 1,024 bytes at 12.5 a
/// nanosecond.
const FLIGHT_NS: u64 = 2 * 110 + 10 + 81;

/// Two switches, joined by two cables. Hosts 0 and 1 are on the first, host 2 is on the second. LIDs of the lower half
/// cross by the first cable, those of the upper half by the other.
struct Desk {
    sim: Sim,
    hosts: [PortId; 3],
    switch: NodeId,
    cable: PortId,
}

fn fabric() -> Fabric {
    let mut builder = FabricBuilder::new();
    let switches = [1, 2].map(|n| builder.node(NodeKind::Switch, Guid(n), 4, format!("switch-{n}")));
    let link = |builder: &mut FabricBuilder, a: (NodeId, u8), b: (NodeId, u8)| {
        let ends = [a, b].map(|(node, port)| (node, PortNum(port)));
        builder.link(ends[0], ends[1], LinkWidth::X4, LinkSpeed::Edr).expect("free ports");
    };
    for (n, at) in [(0u16, (switches[0], 1)), (1, (switches[0], 2)), (2, (switches[1], 1))] {
        let host = builder.node(NodeKind::Ca, Guid(0x10 + u64::from(n)), 1, format!("host-{n}"));
        let port = builder.port_mut(host, PortNum(1)).expect("a port");
        (port.lid, port.lmc) = (Some(lid_of(usize::from(n), Half::Lower)), Lmc::masked(1));
        link(&mut builder, at, (host, 1));
    }
    [3, 4].into_iter().for_each(|port| link(&mut builder, (switches[0], port), (switches[1], port)));
    builder.build().expect("a fabric")
}

fn lid_of(host: usize, half: Half) -> Lid {
    Lid(2 * (host as u16 + 1) + half.index() as u16)
}

/// The first switch's table, or the second's; host 2 is the only one on the second.
fn table(second: bool, across: [u8; 2]) -> Lft {
    let mut lft = Lft::new();
    for (host, port) in [(0, 1), (1, 2), (2, 1)] {
        for half in [Half::Lower, Half::Upper] {
            let own = (host == 2) == second;
            lft.set(lid_of(host, half), PortNum(if own { port } else { across[half.index()] }));
        }
    }
    lft
}

impl Desk {
    fn new() -> Desk {
        let fabric = fabric();
        let hosts: Vec<PortId> = fabric.end_ports().collect();
        let switches: Vec<NodeId> = fabric.switches().collect();
        let mut tables = SubnetTables::new(&fabric, lid::steady_sl_to_vl(1), Half::Lower);
        for (rank, &switch) in switches.iter().enumerate() {
            tables.lfts[switch.index()] = Arc::new(table(rank == 1, [3, 4]));
        }
        let config = SimConfig { load: 0.0, data_vls: 1, ..SimConfig::default() };
        let sim = with_tables(&fabric, &tables, config, hosts[1]);
        let cable = fabric.port_at(switches[0], PortNum(3)).expect("a port");
        Desk { sim, hosts: hosts.try_into().expect("three hosts"), switch: switches[0], cable }
    }

    fn until(&mut self, ns: u64) {
        self.sim.run(ns, false);
    }

    /// The outages, each by the numbers of its ends.
    fn outages(&self) -> Vec<((usize, usize), PairOutage)> {
        let host = |port| self.hosts.iter().position(|&own| own == port).expect("a host");
        self.sim.outages().into_iter().map(|own| ((host(own.source), host(own.destination)), own)).collect()
    }
}

fn packet(desk: &Desk, at_ns: u64, ends: (usize, usize), half: Half) -> Scripted {
    let sl = half.sls().next().expect("a half has service levels");
    Scripted { at_ns, source: desk.hosts[ends.0], dlid: lid_of(ends.1, half), sl, bytes: 1_024 }
}

#[test]
fn an_outage_lasts_from_the_death_to_the_first_packet_that_arrives_again() {
    let mut desk = Desk::new();
    let sent = [
        (1_000, (0, 2), Half::Lower),
        // On its way to the first switch when the cable dies.
        (9_900, (0, 2), Half::Lower),
        (12_000, (0, 1), Half::Lower),
        (12_100, (0, 2), Half::Lower),
        (13_000, (2, 0), Half::Lower),
        (13_500, (2, 1), Half::Lower),
        (13_700, (1, 2), Half::Lower),
        (16_000, (0, 2), Half::Lower),
        (18_000, (0, 2), Half::Lower),
        (21_000, (2, 0), Half::Upper),
        (29_900, (1, 2), Half::Upper),
    ];
    let unknown = Scripted { dlid: Lid(60), sl: Sl::default(), ..packet(&desk, 12_500, (0, 2), Half::Lower) };
    let packets = sent.map(|(at_ns, ends, half)| packet(&desk, at_ns, ends, half));
    desk.sim.script(packets.into_iter().chain([unknown]).collect());
    desk.until(10_000);
    desk.sim.count_outages();
    desk.sim.kill(desk.cable);
    desk.until(15_000);
    let mut entries = [255; 64];
    let repaired = table(false, [4, 4]);
    (0..64u16).for_each(|lid| entries[usize::from(lid)] = repaired.get(Lid(lid)).map_or(255, |port| port.0));
    desk.sim.load_lft_block(desk.switch, 0, &entries);
    desk.until(20_000);
    desk.sim.load_half(Half::Upper);
    desk.until(30_000);
    assert_eq!(desk.sim.unsent(), 0);

    let found = desk.outages();
    let ends: Vec<(usize, usize)> = found.iter().map(|(ends, _)| *ends).collect();
    assert_eq!(ends, [(0, 2), (1, 2), (2, 0), (2, 1)], "what crossed no cable, or was for nobody, is no outage");
    let of = |ends| found.iter().find(|(own, _)| *own == ends).expect("it is out").1;
    let there = of((0, 2));
    assert_eq!((there.lost, there.since_ns, there.last_sent_ns), (2, 10_000, 12_100));
    assert_eq!(there.length_ns(), Some(6_000 + FLIGHT_NS), "16 µs is the first that arrives");
    assert_eq!(of((2, 0)).length_ns(), Some(11_000 + FLIGHT_NS), "the other half is the same pair");
    assert_eq!(of((2, 1)).end, OutageEnd::NotSeenAgain);
    assert_eq!(of((1, 2)).end, OutageEnd::Out, "its packet is still on its way");

    let access = desk.hosts[2];
    desk.sim.kill(access);
    desk.until(40_000);
    assert!(desk.outages().iter().all(|(_, own)| own.end == OutageEnd::CutOff), "{:?}", desk.outages());
    assert_eq!(desk.sim.packets().lost(), 6, "the first five, and that for nobody: {:?}", desk.sim.packets());
}

#[test]
fn what_was_lost_before_outages_are_counted_is_none() {
    let mut desk = Desk::new();
    desk.sim.script(vec![packet(&desk, 2_000, (0, 2), Half::Lower), packet(&desk, 5_000, (0, 2), Half::Lower)]);
    desk.sim.kill(desk.cable);
    desk.until(4_000);
    desk.sim.count_outages();
    assert_eq!((desk.sim.packets().lost(), desk.outages()), (1, Vec::new()));
    desk.until(6_000);
    assert_eq!((desk.sim.packets().lost(), desk.outages().len()), (2, 1));
}
