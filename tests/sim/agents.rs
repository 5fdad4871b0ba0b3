//! What agents report of packets that no token follows and no credit shows: those behind a cable that died, and those
//! in the send queues of a source that was not moved.

use crate::sim::loaded::one_way_ring;
use crate::sim::novice::Novice;
use crate::support::with_tables::with_tables;
use reconfig::fabric::{NodeId, PortId};
use reconfig::ids::{PortNum, VlSet};
use reconfig::sim::{LanePlace, SimConfig, StandingLane, Traffic};
use reconfig::wire::vendor::{DrainToken, Flush, LaneStatus};
use reconfig::wire::{AttributeId, PortState};

const LANES: VlSet = VlSet(1);
/// The switch and the host that the only packets come from; they go on by the switch's port 2.
const SWITCH: NodeId = NodeId(1);
const HOST: NodeId = NodeId(5);
const TO_HOST: PortNum = PortNum(1);
const ONWARD: PortNum = PortNum(2);

/// A ring of four switches in which the second host alone sends, to the third; nothing is sent yet.
fn ring() -> Novice {
    let (fabric, tables, sm) = one_way_ring(4);
    let traffic = Traffic::Pairs(vec![0, 2, 2, 3]);
    let mut sim =
        with_tables(&fabric, &tables, SimConfig { load: 1.0, data_vls: 1, traffic, ..SimConfig::default() }, sm);
    sim.stop_sources();
    let mut novice = Novice::over(&fabric, sim, sm);
    run(&mut novice);
    novice
}

fn run(novice: &mut Novice) {
    novice.sim.run(novice.sim.now_ns() + 100_000, false);
}

fn port(novice: &Novice, node: NodeId, num: PortNum) -> PortId {
    novice.fabric.port_at(node, num).expect("a port of the ring")
}

/// Lets the source send while a port holds data back.
fn send_against(novice: &mut Novice, node: NodeId, num: PortNum) {
    let held = port(novice, node, num);
    assert_eq!(novice.set_state(held, PortState::Armed), 0);
    novice.sim.start();
    run(novice);
    novice.sim.stop_sources();
    run(novice);
}

/// Kills the cable by which packets came that stand in the switch now.
fn leave_strays(novice: &mut Novice) {
    let dead = port(novice, SWITCH, TO_HOST);
    novice.sim.kill(dead);
    run(novice);
    let stands = |lane: &StandingLane| (lane.port, lane.place) == (dead, LanePlace::Buffer);
    assert!(novice.sim.standing(LANES).iter().any(stands), "packets stand behind the dead cable");
}

#[test]
fn no_output_is_drained_while_packets_stand_behind_a_dead_cable() {
    let mut novice = ring();
    let ask = |novice: &mut Novice| {
        let answer = novice.get(SWITCH, AttributeId::LaneStatus, LaneStatus::modifier(LANES)).expect("an answer");
        LaneStatus::decode(&answer.data)
    };
    assert!(ask(&mut novice).drained_outputs.contains(ONWARD), "nothing was sent");
    send_against(&mut novice, SWITCH, ONWARD);
    leave_strays(&mut novice);
    assert_eq!(ask(&mut novice).drained_outputs.iter().count(), 0, "what strays may go on by any output");
    let held = port(&novice, SWITCH, ONWARD);
    novice.set_state(held, PortState::Active);
    run(&mut novice);
    assert!(ask(&mut novice).drained_outputs.contains(ONWARD), "all has gone");
}

#[test]
fn a_switch_is_not_flushed_while_packets_stand_behind_a_dead_cable() {
    let mut novice = ring();
    let order = Flush { round: 6, lanes: LANES, flushed: false, aside: VlSet::EMPTY }.encode();
    // The host's token would never come: it counts once its cable is dead.
    let others: Vec<NodeId> = novice.fabric.nodes().map(|(id, _)| id).filter(|&id| id != HOST).collect();
    others.iter().for_each(|&node| _ = novice.set(node, AttributeId::Flush, 0, order));
    send_against(&mut novice, SWITCH, ONWARD);
    leave_strays(&mut novice);
    let is_flushed = |novice: &mut Novice| {
        let answer = novice.get(SWITCH, AttributeId::Flush, 0).expect("an answer");
        Flush::decode(&answer.data).flushed
    };
    assert!(!is_flushed(&mut novice));
    let held = port(&novice, SWITCH, ONWARD);
    novice.set_state(held, PortState::Active);
    run(&mut novice);
    assert!(is_flushed(&mut novice), "all has gone");
}

/// What stands in a lane that is set aside is latched for no other: the flush does not wait for it.
#[test]
fn a_flush_does_not_wait_for_a_lane_that_is_set_aside() {
    for (aside, flushes) in [(VlSet::EMPTY, false), (LANES, true)] {
        let mut novice = ring();
        send_against(&mut novice, SWITCH, ONWARD);
        assert!(!novice.sim.standing(LANES).is_empty(), "packets stand in the lane");
        let order = Flush { round: 6, lanes: VlSet(2), flushed: false, aside }.encode();
        let all: Vec<NodeId> = novice.fabric.nodes().map(|(id, _)| id).collect();
        all.iter().for_each(|&node| _ = novice.set(node, AttributeId::Flush, 0, order));
        run(&mut novice);
        let answer = novice.get(SWITCH, AttributeId::Flush, 0).expect("an answer");
        assert_eq!(Flush::decode(&answer.data).flushed, flushes, "set aside: {aside}");
    }
}

/// Behind a fence a source keeps its half: its lane shows what waits, not its half.
#[test]
fn the_token_of_a_source_that_was_not_moved_follows_what_waits_in_its_lanes() {
    let mut novice = ring();
    send_against(&mut novice, HOST, PortNum(1));
    assert!(!novice.sim.standing(LANES).is_empty(), "packets wait in the send queue");
    novice.set(HOST, AttributeId::DrainToken, 0, DrainToken::new(6, LANES).encode()).expect("an answer");
    let came = |novice: &mut Novice| {
        run(novice);
        let answer = novice.get(SWITCH, AttributeId::DrainToken, 0).expect("an answer");
        let token = DrainToken::decode(&answer.data);
        token.round == 6 && token.inputs_done.contains(TO_HOST)
    };
    assert!(!came(&mut novice), "packets still wait behind it");
    let held = port(&novice, HOST, PortNum(1));
    novice.set_state(held, PortState::Active);
    assert!(came(&mut novice), "all has gone");
}
