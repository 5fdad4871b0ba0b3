//! Captures of real fabrics lose their root.

use super::{assert_clean, run, small};
use crate::support::capture::capture;
use crate::support::is_thorough;
use reconfig::fabric::format;
use reconfig::scenario::{Departure, Scenario};

fn lose_the_root(name: &str, load: f64) {
    let Some(file) = capture(&format!("real/{name}.ibnetdiscover")) else { return };
    let fabric = format::read(&std::fs::read(file).expect("a readable capture"), name).expect("a capture can be read");
    for departure in [Departure::Planned, Departure::Sudden] {
        let what = format!("{name} {}", departure.name());
        let (optimised_sl_to_vl, load) = (Some(true), Some(load));
        let report = run(&Scenario { departure, optimised_sl_to_vl, load, ..small(fabric.clone()) });
        assert_clean(&report, &what);
        assert_eq!(report.proof.status, "proved", "{what}");
        assert!(departure == Departure::Sudden || report.packets.lost_to_failure == 0, "{what}: {:?}", report.packets);
    }
}

#[test]
fn small_captures_lose_their_root() {
    lose_the_root("qdr-mesh-8sw", 0.02);
    lose_the_root("psmn-x5", 0.02);
}

#[test]
fn a_pod_of_dgx_hosts_loses_its_root() {
    lose_the_root("dgx-ndr", 0.005);
}

/// 666 switches and 3675 adapters: minutes, so only when asked for.
#[test]
fn selene_loses_its_root() {
    if !is_thorough() {
        println!("SKIPPED: selene-compute takes minutes; set RECONFIG_THOROUGH=1 to run it");
        return;
    }
    lose_the_root("selene-compute", 0.001);
}
