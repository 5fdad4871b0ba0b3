//! Barriers compared with where packets stand: one that is not true ends the change.

use crate::driver::bench::{Bench, MS, bench, drive, light, policy};
use reconfig::driver::{Driver, DriverError, Intent};
use reconfig::plan::{Observer, Scheme};
use reconfig::routing::UpDown;
use reconfig::scenario::Witnessed;
use reconfig::sim::{SimConfig, Traffic};
use reconfig::subnet::{Ask, RequestTarget, SubnetError};
use reconfig::wire::{AttributeId, SwitchInfo};
use std::rc::Rc;
use std::sync::Arc;

/// Every host sends to one, as fast as it can, and buffers are large, so that packets wait for long; switches keep them
/// for ever.
fn congested() -> SimConfig {
    let traffic = Traffic::HotSpot { destination: 1, share: 0.9 };
    SimConfig { load: 1.0, buffer_credits: 8_192, traffic, ..light() }
}

/// What a removal of the root comes to where switches report a limit of 4.096 µs × 2^`value` and discard nothing.
fn with_claimed_limits(value: u8) -> DriverError {
    let Bench { transport, driver, root, fabric } =
        bench("fat-tree:4,2", congested(), Scheme::Double, policy(Observer::Lifetime));
    let running = driver.running().clone();
    let mut manager = driver.into_subnet();
    let switches = || fabric.switches().map(RequestTarget::Node);
    let get = switches().map(|switch| Ask::get(switch, AttributeId::SwitchInfo, 0)).collect();
    let held = drive(&transport, manager.ask(get), Vec::new()).expect("they answer");
    let claim = |(switch, held): (RequestTarget, _)| {
        let held: Result<Box<[u8; 64]>, SubnetError> = held;
        let info = SwitchInfo { life_time_value: value, ..SwitchInfo::decode(&held.expect("a switch has one")) };
        Ask::set(switch, AttributeId::SwitchInfo, 0, info.encode())
    };
    let set = switches().zip(held).map(claim).collect();
    drive(&transport, manager.ask(set), Vec::new()).expect("they answer");
    let intent = Intent {
        engine: Rc::new(UpDown::default()),
        scheme: Scheme::Double,
        policy: policy(Observer::Lifetime),
        unproved_baselines: false,
    };
    let mut driver = Driver::new(Witnessed::new(manager, 0), running, intent);
    transport.with(|sim| sim.run(MS, false));
    let after = Arc::new(fabric.without_nodes(&[root]));
    drive(&transport, driver.change_to(after), Vec::new()).expect_err("packets stand where the judge excludes them")
}

#[test]
fn a_limit_that_is_reported_and_not_enforced_is_found_out() {
    let error = with_claimed_limits(0);
    assert!(matches!(error, DriverError::Subnet(SubnetError::FalseBarrier { .. })), "{error}");
    let text = error.to_string();
    assert!(text.contains("by lifetime: the observer says that nothing stands there, but"), "{text}");
    assert!(text.contains("leaf-1[1] VL ") && text.contains("(latched for the output)"), "{text}");
}
