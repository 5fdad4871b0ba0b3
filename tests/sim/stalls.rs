//! VLStallCount: a lane whose head-of-queue limit discards packet after packet discards all for a while.

use crate::sim::queueing::{row, set_at};
use reconfig::fabric::{LinkSpeed, PortId};
use reconfig::ids::{Lid, PortNum, Sl};
use reconfig::sim::{Scripted, Sim, SimConfig};
use reconfig::wire::{AttributeId, PortInfo, PortState};

/// The head-of-queue limit: a code that PortInfo has.
const LIMIT_NS: u64 = 4_096;

/// Where the head-of-queue limit and VLStallCount stand.
#[derive(Clone, Copy, Debug)]
enum Limits {
    /// In the settings of the run.
    OfTheRun,
    /// In PortInfo, where a MAD has set them; the run begins without.
    AsProgrammed,
}

/// Packets discarded while it was held, those delivered in the end, and stalls, where the switch's port to the second
/// host holds its data for `held_ns`, and the first host sends a packet each microsecond.
fn held(limits: Limits, vl_stall_count: u8, held_ns: u64) -> (u64, u64, u64) {
    let quiet = SimConfig { load: 0.0, data_vls: 1, sma_service_ns: 100, send_queue: 1_000, ..SimConfig::default() };
    let config = match limits {
        Limits::OfTheRun => SimConfig { hoq_lifetime_ns: LIMIT_NS, vl_stall_count, ..quiet },
        Limits::AsProgrammed => SimConfig { limits_as_programmed: true, ..quiet },
    };
    let (mut sim, host) = row(&[LinkSpeed::Edr; 2], config);
    sim.attach(host).unwrap();
    let put = |sim: &mut _, state| {
        let info = PortInfo { port_state: state, hoq_life: 0, vl_stall_count, ..PortInfo::default() };
        set_at(sim, host, &[PortNum(1)], (AttributeId::PortInfo, 2), info.encode());
    };
    put(&mut sim, PortState::Armed);
    let begun = sim.now_ns();
    let packet = |rank: u64| {
        let at_ns = begun + rank * 1_000;
        Scripted { at_ns, source: host, dlid: Lid(2), sl: Sl::default(), bytes: 512 }
    };
    sim.script((0..200).map(packet).collect());
    sim.run(begun + held_ns, false);
    let while_held = sim.limits_at_work().1;
    put(&mut sim, PortState::Active);
    sim.run(begun + 2_000_000, false);
    assert_eq!(sim.packets().in_flight, 0);
    (while_held, sim.packets().delivered, sim.vl_stalls())
}

#[test]
fn a_stalled_lane_discards_all_it_gets() {
    let held_ns = 16_000;
    for limits in [Limits::OfTheRun, Limits::AsProgrammed] {
        // Without stalls the limit discards one head after another, each once it has been head for 4.1 µs: three in
        // 16 µs.
        let (slow, delivered, stalls) = held(limits, 0, held_ns);
        assert_eq!((slow, delivered, stalls), (3, 197, 0), "{limits:?}");
        // After the second, at 8.2 µs, the lane stalls for eight limits: all that waits goes, and all that comes in 33
        // µs, though the port sends again from 16 µs on.
        let (fast, delivered, stalls) = held(limits, 2, held_ns);
        assert!(stalls == 1 && fast > 3 * slow, "{limits:?}: {fast} discarded in {stalls} stalls");
        assert!((155..=162).contains(&delivered), "{limits:?}: {delivered}");
        // Seven in a row would be needed, and the limit discards three.
        assert_eq!(held(limits, 7, held_ns), (3, 197, 0), "{limits:?}");
    }
}

/// A port whose link bounces begins anew: its lanes send what comes once the port is ACTIVE again.
#[test]
fn a_stall_ends_with_its_link() {
    let sent_after = |bounce: fn(&mut Sim, PortId)| {
        let config = SimConfig {
            load: 0.0,
            data_vls: 1,
            hoq_lifetime_ns: 65_536,
            vl_stall_count: 1,
            sma_service_ns: 100,
            ..SimConfig::default()
        };
        let (mut sim, host) = row(&[LinkSpeed::Edr; 2], config);
        sim.attach(host).unwrap();
        let put = |sim: &mut Sim, state| {
            let info = PortInfo { port_state: state, ..PortInfo::default() };
            set_at(sim, host, &[PortNum(1)], (AttributeId::PortInfo, 2), info.encode());
        };
        // The end port at the other end of the link, which keeps its LID.
        let put_beyond = |sim: &mut Sim, state| {
            let info = PortInfo { port_state: state, lid: Lid(2), ..PortInfo::default() };
            set_at(sim, host, &[PortNum(1), PortNum(2)], (AttributeId::PortInfo, 1), info.encode());
        };
        let send = |sim: &mut Sim| {
            let at_ns = sim.now_ns() + 1_000;
            sim.script(vec![Scripted { at_ns, source: host, dlid: Lid(2), sl: Sl::default(), bytes: 512 }]);
        };
        put(&mut sim, PortState::Armed);
        send(&mut sim);
        sim.run(sim.now_ns() + 70_000, false);
        assert_eq!(sim.vl_stalls(), 1);
        bounce(&mut sim, host);
        for state in [PortState::Armed, PortState::Active] {
            put(&mut sim, state);
            put_beyond(&mut sim, state);
        }
        // The stall would last eight limits, half a millisecond.
        send(&mut sim);
        sim.run(sim.now_ns() + 20_000, false);
        sim.packets().delivered
    };
    assert_eq!(sent_after(|_, _| ()), 0);
    assert_eq!(
        sent_after(|sim, host| {
            // Ports count on by node: after the host's the three of the switch, the last of which is stalled.
            let stalled = PortId(host.0 + 3);
            sim.kill(stalled);
            sim.revive(stalled);
        }),
        1
    );
    assert_eq!(
        sent_after(|sim, host| {
            let info = PortInfo { port_state: PortState::Down, ..PortInfo::default() };
            set_at(sim, host, &[PortNum(1)], (AttributeId::PortInfo, 2), info.encode());
        }),
        1
    );
}
