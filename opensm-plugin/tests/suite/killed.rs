//! OpenSM killed in the middle of its writes, and started again.

use crate::harness::{OpenSm, installed};
use crate::moments::{QUIET, cables, name, random};
use crate::subnet::{Event, Moments, Subnet};
use reconfig::audit::AuditVerdict;
use reconfig::fabric::Fabric;
use std::time::{Duration, Instant};

/// Blocks that a bring-up of the fabric of these tests writes.
const BLOCKS: usize = 128;
/// How often OpenSM is started until it is killed during its writes.
const ATTEMPTS: usize = 4;

/// Kills OpenSM once so many blocks have landed; how many had when it was dead.
fn kill_at(subnet: &Subnet, opensm: &mut OpenSm, blocks: usize) -> usize {
    let start = Instant::now();
    while subnet.written() < blocks {
        assert!(start.elapsed() < Duration::from_secs(60), "{blocks} blocks never landed: {:?}", opensm.said());
        std::hint::spin_loop();
    }
    opensm.kill();
    subnet.written()
}

/// Starts it again, and has it end; every moment is judged, and the last one has to serve everything.
fn assert_it_ends_well(subnet: &Subnet, fabric: &Fabric, what: &str) -> Vec<String> {
    let _ = std::fs::remove_file(subnet.folder().join("osm.log"));
    let opensm = OpenSm::start(&subnet.socket, subnet.folder(), "", "sweep_interval 1");
    opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
    opensm.until("the tables to be mended", OpenSm::has_ended);
    opensm.quiet(QUIET, || subnet.written());
    let whole = opensm.seen(fabric);
    let mut moments = Moments::new(&whole);
    for event in subnet.events() {
        if moments.step(&event) {
            let found = moments.audited();
            let ring = !found.credit_loops.components.is_empty() || found.loops.count > 0;
            assert!(!ring, "{what}: {}", opensm.said().join("\n"));
        }
    }
    let last = moments.audited();
    assert_eq!(last.verdict(), AuditVerdict::Safe, "{what}: {:?}\n{}", last.faults, opensm.said().join("\n"));
    opensm.said()
}

#[test]
fn a_bring_up_that_was_cut_short_is_mended() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let fabric = random(32, 6, 6);
    let mut cut_short = 0;
    for blocks in [1, 20, 60, 100] {
        let (subnet, landed) = cut_short_after(&fabric, blocks);
        cut_short += usize::from(landed < BLOCKS);
        let said = assert_it_ends_well(&subnet, &fabric, &format!("killed after {landed} blocks"));
        println!("killed after {landed} of {BLOCKS} blocks: {}", said.join(" | "));
    }
    assert!(cut_short > 1, "OpenSM was killed after its last write nearly every time");
}

/// A subnet whose OpenSM was killed about so many blocks into its bring-up. On a busy machine it is done before it is
/// killed now and then, and another one is tried.
fn cut_short_after(fabric: &Fabric, blocks: usize) -> (Subnet, usize) {
    let attempt = || {
        let subnet = Subnet::serve(fabric, 0.1);
        let mut opensm = OpenSm::start(&subnet.socket, subnet.folder(), "", "max_wire_smps 1");
        let landed = kill_at(&subnet, &mut opensm, blocks);
        (subnet, landed)
    };
    let mut tried = (0..ATTEMPTS).map(|_| attempt());
    tried.find(|(_, landed)| *landed < BLOCKS).unwrap_or_else(attempt)
}

#[test]
fn a_change_that_was_cut_short_is_mended() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let fabric = random(32, 6, 6);
    let subnet = Subnet::serve(&fabric, 0.1);
    let mut opensm = OpenSm::start(&subnet.socket, subnet.folder(), "", "");
    opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
    opensm.quiet(QUIET, || subnet.written());
    let before = subnet.written();
    subnet.command(&format!("Unlink {}", name(&fabric, cables(&fabric)[0])));
    let landed = kill_at(&subnet, &mut opensm, before + 2) - before;
    let said = assert_it_ends_well(&subnet, &fabric, &format!("killed {landed} blocks into a change"));
    println!("killed {landed} blocks into a change: {}", said.join(" | "));
    let writes = |event: &Event| matches!(event, Event::Write { .. });
    assert!(subnet.events().iter().filter(|event| writes(event)).count() > before + landed);
}
