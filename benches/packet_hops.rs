//! Packet-hops per second: 64 switches of degree 4, 256 CAs, uniform traffic at load 0.3.
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::ids::{Half, Lmc};
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::sim::{Sim, SimConfig};

fn main() {
    let topology: Topology = std::env::args()
        .nth(1)
        .filter(|a| !a.starts_with('-'))
        .unwrap_or("random-regular:64,4,4".into())
        .parse()
        .unwrap();
    let load: f64 = std::env::args().nth(2).map_or(0.3, |t| t.parse().unwrap());
    let us: u64 = std::env::args().nth(3).map_or(2000, |t| t.parse().unwrap());
    let fabric = generate(&topology, &Options::default()).unwrap();
    let fabric = reconfig::lid::assign(&fabric, Lmc::masked(1)).unwrap();
    let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1)).unwrap();
    let tables = reconfig::lid::bring_up(&fabric, &function, 4);
    let sm = fabric.end_ports().next().unwrap();
    let config = SimConfig { load, packet_bytes: 512, ..SimConfig::default() };
    let mut sim = Sim::new(&fabric, config, sm).unwrap();
    for switch in fabric.switches() {
        let lft = &tables.lfts[switch.index()];
        for block in 0..lft.blocks() {
            sim.load_lft_block(switch, block, &lft.block(block));
        }
    }
    sim.load_half(Half::Lower);
    sim.start();
    let start = std::time::Instant::now();
    sim.run(us * 1000, false);
    let s = start.elapsed().as_secs_f64();
    println!(
        "{} hops in {s:.2} s: {:.2} M/s, {:.0} ns; {:?} deadlock {:?} throttled {} peak {}",
        sim.packet_hops(),
        sim.packet_hops() as f64 / s / 1e6,
        s * 1e9 / sim.packet_hops() as f64,
        sim.packets(),
        sim.deadlock().map(|d| d.len()),
        sim.throttled(),
        sim.peak_packets()
    );
    let p = &sim.periods()[0];
    println!(
        "latency p50 {} p99 {} max {} hash {:x}",
        p.latency_ns.value_at_quantile(0.5),
        p.latency_ns.value_at_quantile(0.99),
        p.latency_ns.max(),
        sim.trace_hash()
    );
}
