//! Requests that are made in parts: what a device fails at in the second part ends there, or holds up nobody else.

use super::{calm, fabrics, holds, now};
use crate::subnet::fake::Fake;
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::{Sl, Vl};
use reconfig::subnet::{
    Ask, AskResult, Manager, REQUESTS_AT_A_TIME, RequestTarget, SubnetError, SubnetManager, WriteOrder,
};
use reconfig::tables::{SlToVl, SlToVlScope, Write};
use reconfig::wire::AttributeId;

const SWITCHES: usize = 12;
/// Blocks of each switch: three parts of all.
const BLOCKS: usize = 3 * REQUESTS_AT_A_TIME / SWITCHES;
/// A block of the second part, and the first block of the third.
const SECOND: usize = BLOCKS / 2;
const THIRD: usize = 2 * BLOCKS / 3;

fn subnet() -> (Manager<Fake>, Fabric, NodeId) {
    let (fabric, sm_port) = fabrics::random(5, SWITCHES as u32);
    let failing = fabric.switches().nth(2).expect("twelve switches");
    let mut manager = Manager::new(Fake::new(fabric.clone(), sm_port, 5), calm(), 0);
    manager.set_topology(&fabric, sm_port);
    (manager, fabric, failing)
}

/// All blocks of all switches; among them, in the second part, a table of lanes.
fn wave(fabric: &Fabric, failing: NodeId) -> Vec<Write> {
    let block = |at: usize| {
        fabric.switches().map(move |switch| Write::LftBlock { switch, block: at as u16, entries: Box::new([9; 64]) })
    };
    let table = SlToVl::from_fn(|sl: Sl| Vl::masked(sl.get() / 2 + 1));
    let lanes = Write::SlToVl { node: failing, scope: SlToVlScope::All, table };
    (0..SECOND).flat_map(block).chain([lanes]).chain((SECOND..BLOCKS).flat_map(block)).collect()
}

/// The last block that a switch was sent.
fn last_block(manager: &Manager<Fake>, switch: NodeId) -> usize {
    let sent = manager.transport().sent_sets.iter();
    let blocks =
        sent.filter(|&&(node, attribute, _)| (node, attribute) == (switch, AttributeId::LinearForwardingTable));
    blocks.map(|&(.., block)| block as usize).max().expect("it was sent some")
}

#[test]
fn a_wave_that_fails_in_its_second_part_ends_there() {
    let (mut manager, fabric, failing) = subnet();
    manager.transport_mut().devices[failing.index()].stubborn = true;
    let writes = wave(&fabric, failing);
    let error = now(manager.apply(&fabric, &writes, WriteOrder::Any)).expect_err("one device is stubborn");
    assert!(matches!(&error, SubnetError::NotTaken { attempted, .. } if attempted.contains("SlToVl")), "{error}");
    for switch in fabric.switches() {
        assert!((SECOND - 2..THIRD).contains(&last_block(&manager, switch)), "{}", last_block(&manager, switch));
    }
}

/// Every subset of a wave is proved, so the others get their entries. One that is silent may be lost, and others with
/// it.
#[test]
fn a_switch_that_takes_no_entries_keeps_them_from_no_other() {
    for is_silent in [false, true] {
        let (mut manager, fabric, failing) = subnet();
        if is_silent {
            manager.transport_mut().silent.insert(failing);
        } else {
            manager.transport_mut().devices[failing.index()].keeps_entries = true;
        }
        let is_entry = |write: &Write| matches!(write, Write::LftBlock { .. });
        let writes: Vec<Write> = wave(&fabric, failing).into_iter().filter(is_entry).collect();
        now(manager.apply(&fabric, &writes, WriteOrder::Any)).expect_err("one switch takes none");
        let others: Vec<Write> = writes.into_iter().filter(|write| write.node(&fabric) != Some(failing)).collect();
        assert_eq!(holds(manager.transport(), &others).is_ok(), !is_silent);
    }
}

#[test]
fn a_device_that_fails_in_the_second_part_holds_up_nobody_else() {
    let (mut manager, fabric, failing) = subnet();
    manager.transport_mut().devices[failing.index()].stubborn = true;
    let writes = wave(&fabric, failing);
    now(manager.apply_each(&fabric, &writes)).expect_err("one device is stubborn");
    let (own, others): (Vec<Write>, Vec<Write>) =
        writes.into_iter().partition(|write| write.node(&fabric) == Some(failing));
    assert_eq!(holds(manager.transport(), &others), Ok(()));
    assert!(last_block(&manager, failing) < THIRD, "of {} writes", own.len());
    let faults: Vec<_> = manager.faults().map(|(fault, _)| (fault.device, fault.attribute)).collect();
    assert_eq!(faults, [(fabric.node(failing).guid, AttributeId::SlToVlMappingTable)]);
    // The same wave again: whoever has taken a table works, and who has not still fails.
    manager.transport_mut().devices[failing.index()].stubborn = false;
    now(manager.apply(&fabric, &wave(&fabric, failing), WriteOrder::Any)).expect("all take what they are given");
    assert_eq!(manager.faults().count(), 0);
}

#[test]
fn who_is_silent_in_the_second_part_is_not_asked_in_the_third() {
    let (mut manager, fabric, failing) = subnet();
    manager.transport_mut().silent.insert(failing);
    for (id, _) in fabric.nodes() {
        manager.transport_mut().devices[id.index()].lft.insert(0, [id.index() as u8; 64]);
    }
    let others: Vec<NodeId> = fabric.switches().filter(|&switch| switch != failing).collect();
    let mut asked: Vec<NodeId> = others.iter().copied().cycle().take(3 * REQUESTS_AT_A_TIME).collect();
    for part in [1, 2] {
        let at = part * REQUESTS_AT_A_TIME + 100;
        asked.splice(at..at, [failing; 5]);
    }
    let get = |&switch: &NodeId| Ask::get(RequestTarget::Node(switch), AttributeId::LinearForwardingTable, 0);
    let told = now(manager.ask(asked.iter().map(get).collect())).expect("the port is there");
    assert_eq!(told.len(), asked.len());
    for (&switch, told) in asked.iter().zip(&told) {
        let is_right = |told: &AskResult| match told {
            Ok(data) => switch != failing && data[0] == switch.index() as u8,
            Err(error) => switch == failing && matches!(error, SubnetError::Silent { sent: 4, .. }),
        };
        assert!(is_right(told), "{switch:?}: {told:?}");
    }
    let tries = manager.smps().total() - (asked.len() - 10) as u64;
    assert!((4..=4 * 4).contains(&tries), "{tries}: as many as the window of one device, and no more");
}
