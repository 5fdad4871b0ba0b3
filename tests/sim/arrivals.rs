//! When sources send what: bursts, and mixes of message sizes.

use crate::sim::loaded::loaded;
use crate::sim::queueing::row;
use reconfig::fabric::LinkSpeed;
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::sim::{ArrivalProcess, MessageShare, SimConfig, SimError, Traffic};

/// Bytes that a link of 4X EDR carries in a nanosecond.
const RATE: f64 = 12.5;

fn delivered_load(load: f64, config: SimConfig) -> f64 {
    let fabric = generate(&"fat-tree:4,2".parse::<Topology>().unwrap(), &Options::default()).unwrap();
    let mut sim = loaded(&fabric, SimConfig { load, ..config }).0;
    sim.run(100_000, false);
    sim.begin_period();
    sim.run(4_100_000, false);
    sim.periods()[1].bytes as f64 / (sim.period_ns(1) as f64 * sim.delivery_capacity())
}

#[test]
fn bursts_and_mixes_offer_the_load_that_is_configured() {
    let bursts = SimConfig { arrivals: ArrivalProcess::OnOff { burst: 8.0 }, ..SimConfig::default() };
    let mix = vec![MessageShare { bytes: 300, share: 9.0 }, MessageShare { bytes: 20_000, share: 1.0 }];
    let mixed = SimConfig { message_mix: mix, ..SimConfig::default() };
    for (what, config) in [("bursts", bursts), ("a mix", mixed)] {
        let delivered = delivered_load(0.2, config);
        assert!((delivered / 0.2 - 1.0).abs() < 0.05, "{what}: {delivered}");
    }
}

/// The messages of a burst come as fast as the link takes them, and the next burst waits for the silence: nobody waits.
/// Poisson arrivals of the same load do wait.
#[test]
fn a_burst_at_the_rate_of_the_link_makes_nobody_wait_at_its_source() {
    let most = |arrivals| {
        let traffic = Traffic::Pairs(vec![1, 1]);
        let config =
            SimConfig { traffic, arrivals, load: 0.5, packet_bytes: 4096, send_queue: 4096, ..SimConfig::default() };
        let mut sim = row(&[LinkSpeed::Edr; 3], config).0;
        sim.run(20_000_000, false);
        let period = &sim.periods()[0];
        (period.latency_ns.max() - period.latency_ns.min(), period.bytes as f64 / (20_000_000.0 * RATE))
    };
    let (waited, load) = most(ArrivalProcess::OnOff { burst: 16.0 });
    assert!(waited <= 8 && (load / 0.5 - 1.0).abs() < 0.05, "{waited} ns at load {load}");
    assert!(most(ArrivalProcess::Poisson).0 > 1_000);
}

/// Sources begin as if they had sent for ever: as many in bursts as the load says, and these at any point of a message.
#[test]
fn sources_of_bursts_do_not_begin_together() {
    let fabric = generate(&"fat-tree:4,3".parse::<Topology>().unwrap(), &Options::default()).unwrap();
    let config =
        SimConfig { arrivals: ArrivalProcess::OnOff { burst: 16.0 }, load: 0.5, data_vls: 1, ..SimConfig::default() };
    let mut sim = loaded(&fabric, config).0;
    // One message takes 41 ns: in half of that a quarter of the 64 hosts begin, and never many at once.
    let (mut begun, mut most) = (0, 0);
    while sim.now_ns() < 20 {
        sim.run(sim.now_ns() + 1, false);
        let now = sim.packets().injected;
        most = most.max(now - begun);
        begun = now;
    }
    assert!((8..=26).contains(&begun) && most <= 6, "{begun} begin, {most} in one nanosecond");
}

/// Pollaczek and Khinchin for two lengths of messages, each a packet: the mean wait is λ E[S²] / (2 (1 − ρ)).
#[test]
fn a_mix_of_lengths_waits_as_an_m_g_1_queue() {
    let lengths = [512.0, 4096.0];
    let (load, mean) = (0.6, (512.0 + 4096.0) / 2.0 / RATE);
    let square = lengths.iter().map(|bytes| (bytes / RATE).powi(2)).sum::<f64>() / 2.0;
    let expected = load / mean * square / (2.0 * (1.0 - load));
    let message_mix = lengths.iter().map(|&bytes| MessageShare { bytes: bytes as u32, share: 0.5 }).collect();
    let traffic = Traffic::Pairs(vec![1, 1]);
    // With room for two long packets alone, a third would wait for the first one's credits rather than for the link.
    let (buffer_credits, send_queue) = (1024, 4096);
    let config = SimConfig {
        traffic,
        load,
        packet_bytes: 4096,
        message_mix,
        buffer_credits,
        send_queue,
        ..SimConfig::default()
    };
    let mut sim = row(&[LinkSpeed::Edr; 3], config).0;
    sim.run(200_000_000, false);
    // Alone a packet takes two switches, three links and its length.
    let measured = sim.periods()[0].latency_ns.mean() - (2.0 * 100.0 + 3.0 * 10.0 + mean);
    assert!((measured / expected - 1.0).abs() < 0.03, "{measured} ns, {expected} ns in theory");
}

#[test]
fn nonsense_is_refused() {
    let size = |bytes, share| SimConfig { message_mix: vec![MessageShare { bytes, share }], ..SimConfig::default() };
    let bursts = |burst| SimConfig { arrivals: ArrivalProcess::OnOff { burst }, ..SimConfig::default() };
    let both = SimConfig { message_packets: 2, ..size(100, 1.0) };
    let all = [
        size(0, 1.0),
        size(100_000_000, 1.0),
        size(100, 0.0),
        size(100, f64::NAN),
        bursts(0.5),
        bursts(f64::NAN),
        both,
    ];
    for config in all {
        assert!(matches!(config.check(), Err(SimError::Setting { .. })), "{config:?}");
    }
    assert_eq!(size(1, 0.1).check(), Ok(()));
    // Nothing is discarded in a row where no head-of-queue limit applies.
    let stalls = SimConfig { vl_stall_count: 7, ..SimConfig::default() };
    assert!(matches!(stalls.check(), Err(SimError::Setting { .. })));
    assert_eq!(SimConfig { hoq_lifetime_ns: 4_096, ..stalls.clone() }.check(), Ok(()));
    assert_eq!(SimConfig { limits_as_programmed: true, ..stalls }.check(), Ok(()));
}
