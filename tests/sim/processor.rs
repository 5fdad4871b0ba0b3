//! The processor of a device: how long an attribute takes, directed routes handed on by software, and VL 15 buffers.

use crate::sim::queueing::row;
use reconfig::fabric::{LinkSpeed, PortId};
use reconfig::ids::{Lid, PortNum, Sl};
use reconfig::sim::{AttributeTime, Sim, SimConfig};
use reconfig::transport::Datagram;
use reconfig::wire::{AttributeId, Method, Route, Smp};

fn quiet() -> SimConfig {
    SimConfig { load: 0.0, data_vls: 1, ..SimConfig::default() }
}

/// A row of six nodes, the first of which asks.
fn asking(config: SimConfig) -> (Sim, PortId) {
    let (mut sim, host) = row(&[LinkSpeed::Edr; 5], config);
    sim.attach(host).unwrap();
    (sim, host)
}

/// Asks the device so many links away.
fn ask(sim: &mut Sim, host: PortId, links: usize, attribute: AttributeId, tid: u64) {
    let path: Vec<PortNum> = (0..links).map(|link| PortNum(if link == 0 { 1 } else { 2 })).collect();
    let smp = Smp::directed(&path, Method::Get, attribute, 0, [0; 64]).unwrap().with_tid(tid);
    let bytes = Box::new(smp.encode());
    sim.send_from(host, &Datagram { lid: Lid::PERMISSIVE, from: None, qp: 0, sl: Sl::default(), bytes });
}

/// Nanoseconds from question to answer.
fn round_trip(config: SimConfig, links: usize, attribute: AttributeId) -> u64 {
    let (mut sim, host) = asking(config);
    ask(&mut sim, host, links, attribute, 1);
    sim.run(10_000_000, true);
    sim.received_at(host).expect("the device answers");
    sim.now_ns()
}

#[test]
fn an_attribute_takes_the_time_that_is_its_own() {
    let number = u16::from(AttributeId::SwitchInfo);
    let own = SimConfig { sma_times: vec![AttributeTime { attribute: number, service_ns: 50_000 }], ..quiet() };
    let plain = round_trip(quiet(), 2, AttributeId::SwitchInfo);
    assert_eq!(round_trip(own.clone(), 2, AttributeId::SwitchInfo), plain - 18_600 + 50_000);
    assert_eq!(round_trip(own, 2, AttributeId::NodeInfo), round_trip(quiet(), 2, AttributeId::NodeInfo));
}

#[test]
fn each_switch_on_the_way_takes_its_processor_s_time_there_and_back() {
    let by_software = SimConfig { smi_processor_ns: 5_000, ..quiet() };
    for links in 1..=4 {
        let between = links as u64 - 1;
        let [plain, slow] = [quiet(), by_software.clone()].map(|own| round_trip(own, links, AttributeId::NodeInfo));
        assert_eq!(slow - plain, 2 * between * 5_000, "{links} links away");
    }
}

/// Ten questions at once come by one port: the processor works on the first, four wait in the buffer, and five are
/// dropped, which the port counts. By software the next switch's questions wait in the first one's buffer.
#[test]
fn a_full_vl_15_buffer_drops_smps() {
    for (links, smi_processor_ns) in [(1, 0), (3, 5_000)] {
        let (mut sim, host) = asking(SimConfig { vl15_buffer: 4, smi_processor_ns, ..quiet() });
        (1..=10).for_each(|tid| ask(&mut sim, host, links, AttributeId::NodeInfo, tid));
        sim.run(2_000_000, false);
        let answers = std::iter::from_fn(|| sim.received_at(host)).count();
        assert_eq!((answers, sim.smps_dropped()), (5, 5), "{links} links away");
    }
    // Without a limit all are answered.
    let (mut sim, host) = asking(quiet());
    (1..=10).for_each(|tid| ask(&mut sim, host, 1, AttributeId::NodeInfo, tid));
    sim.run(2_000_000, false);
    assert_eq!((std::iter::from_fn(|| sim.received_at(host)).count(), sim.smps_dropped()), (10, 0));
}

/// What the device's own host sends it stands in no VL 15 buffer: by a directed route without a hop, and to its own
/// LID.
#[test]
fn smps_of_its_own_host_take_no_room_in_the_buffer() {
    let (mut sim, host) = asking(SimConfig { vl15_buffer: 4, ..quiet() });
    (1..=10).for_each(|tid| ask(&mut sim, host, 0, AttributeId::NodeInfo, tid));
    for tid in 11..=20 {
        let bytes =
            Box::new(Smp::new(Route::Lid, Method::Get, AttributeId::NodeInfo, 0, [0; 64]).with_tid(tid).encode());
        sim.send_from(host, &Datagram { lid: Lid(1), from: None, qp: 0, sl: Sl::default(), bytes });
    }
    sim.run(2_000_000, false);
    assert_eq!((std::iter::from_fn(|| sim.received_at(host)).count(), sim.smps_dropped()), (20, 0));
}
