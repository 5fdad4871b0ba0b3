//! Port states while tables are installed, and what each policy costs.

use super::{assert_packets_add_up, run, small, took_ns};
use crate::support::bundled::bundled;
use reconfig::plan::{Arming, Policy};
use reconfig::scenario::{Departure, Ending, Scenario, SimulationReport};

fn with(arming: Arming) -> SimulationReport {
    let base = small(bundled("fat-tree-4-2"));
    let policy = Policy { arming, ..base.policy };
    let report = run(&Scenario { policy, departure: Departure::Planned, load: Some(0.2), ..base });
    assert_eq!(report.outcome, Ending::Completed, "{arming}: {:?}", report.reason);
    assert_packets_add_up(&report, arming.name());
    report
}

#[test]
fn discarding_ports_lose_packets_and_holding_ports_only_delay_them() {
    let [off, hold, discard] = [Arming::Off, Arming::Hold, Arming::Discard].map(with);
    assert_eq!((off.packets.lost_to_change, hold.packets.lost_to_change), (0, 0));
    assert!(discard.packets.lost_to_change > 100, "{:?}", discard.packets);
    assert!(!discard.is_clean() && off.is_clean() && hold.is_clean());
    // Two more sub-waves, one SMP for each cabled port; devices serve them one after the other.
    let [off_ns, hold_ns, discard_ns] = [&off, &hold, &discard].map(|report| took_ns(report, "install"));
    assert!(hold_ns > 10 * off_ns && discard_ns > 10 * off_ns, "install took {off_ns}, {hold_ns}, {discard_ns} ns");
    let [off_max, hold_max] = [&off, &hold].map(|report| report.latency_ns.during.max);
    assert!(hold_max > 20 * off_max, "held packets wait: {hold_max} ns, {off_max} ns without");
    let each = with(Arming::HoldEach);
    assert!(each.is_clean() && each.smps().total > off.smps().total, "{:?}", each.packets);
    assert!(took_ns(&each, "install") > off_ns, "one switch after the other");
    let [off_ns, hold_ns, each_ns] = [&off, &hold, &each].map(|report| took_ns(report, "swap"));
    assert!(off_ns < hold_ns && hold_ns < each_ns, "around the swap too: {off_ns}, {hold_ns}, {each_ns} ns");
    let (longest, of_each) = (hold.longest_gap_ns, each.longest_gap_ns);
    assert!(of_each < longest, "at no moment does all of the subnet stand still: {of_each} {longest}");
    assert!(hold.longest_gap_ns > 100 * off.longest_gap_ns, "{} {}", hold.longest_gap_ns, off.longest_gap_ns);
}
