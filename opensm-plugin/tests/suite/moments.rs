//! Every moment of a subnet that OpenSM writes with the engine: after each block that landed no lanes wait for each
//! other in a ring, and no packet goes round.

use crate::harness::{OpenSm, bundled, installed};
use crate::subnet::{Moments, Subnet};
use crate::ways;
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, PortId};
use std::time::Duration;

/// How long nothing is written when it is over.
pub const QUIET: Duration = Duration::from_millis(700);

/// Cables between switches that may die: the rest stays connected, whichever of them dies.
pub fn cables(fabric: &Fabric) -> Vec<PortId> {
    let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
    fabric.links().filter(|&(one, other)| is_switch(one) && is_switch(other)).map(|(one, _)| one).collect()
}

/// A port as commands name it.
pub fn name(fabric: &Fabric, port: PortId) -> String {
    let port = fabric.port(port);
    format!("\"{}\"[{}]", fabric.node(port.node).description.trim(), port.num)
}

/// What came of a course of losses.
struct Told {
    moments: usize,
    written: usize,
    loops: usize,
    /// Ways of hosts that a write took away.
    taken: usize,
    deadlocks: u64,
    said: Vec<String>,
}

/// Losses and returns of cables, one after the other, and what every moment was like.
fn told(fabric: &Fabric, losses: usize, settings: &str, options: &str, load: f64) -> Told {
    let subnet = Subnet::serve(fabric, load);
    let opensm = OpenSm::start(&subnet.socket, subnet.folder(), settings, options);
    opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
    opensm.quiet(QUIET, || subnet.written());
    let cables = cables(fabric);
    for loss in 0..losses {
        // Far apart in the list, so that losses differ; no two are open at a time.
        let name = name(fabric, cables[loss * 7 % cables.len()]);
        for command in ["Unlink", "Relink"] {
            let ups = opensm.ups();
            subnet.command(&format!("{command} {name}"));
            opensm.until(&format!("{command} {name}"), |opensm| opensm.ups() > ups);
            opensm.quiet(QUIET, || subnet.written());
        }
    }
    let whole = opensm.seen(fabric);
    let mut moments = Moments::new(&whole);
    let (mut count, mut loops, mut taken, mut written) = (0, 0, 0, 0);
    for event in subnet.events() {
        written += usize::from(matches!(event, crate::subnet::Event::Write { .. }));
        let held = moments.lfts.clone();
        if !moments.step(&event) {
            continue;
        }
        count += 1;
        if let crate::subnet::Event::Write { switch, .. } = event {
            let switch = whole.by_guid(switch).expect("the record is of this fabric");
            taken += ways::taken(&moments.fabric, &held, &moments.lfts, switch).len();
        }
        let found = moments.audited();
        loops += usize::from(!found.credit_loops.components.is_empty() || found.loops.count > 0);
    }
    let status = subnet.status();
    let deadlocks = status["deadlocks"].as_u64().or(status["deadlocks"]["count"].as_u64());
    let said = opensm.said();
    Told { moments: count, written, loops, taken, deadlocks: deadlocks.unwrap_or_else(|| panic!("{status}")), said }
}

pub fn random(switches: usize, degree: usize, hosts: usize) -> Fabric {
    let topology = format!("random-regular:{switches},{degree},{hosts}").parse().expect("a topology");
    generate(&topology, &Options::default()).expect("a fabric")
}

#[test]
fn no_moment_closes_a_ring() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let thorough = std::env::var_os("RECONFIG_THOROUGH").is_some();
    let mut cases = vec![(bundled("random-regular-16-4"), 6), (bundled("torus-4x4"), 4), (bundled("fat-tree-4-2"), 4)];
    if thorough {
        cases = vec![
            (random(64, 8, 4), 100),
            (bundled("torus-4x4"), 40),
            (bundled("fat-tree-4-3"), 60),
            (random(32, 6, 6), 60),
        ];
    }
    let mut moments = 0;
    for (fabric, losses) in cases {
        let told = told(&fabric, losses, "", "", if thorough { 0.02 } else { 0.1 });
        let described = format!(
            "{} moments of {} writes, {} of them with a ring, {} ways of hosts taken away, {} deadlocks",
            told.moments, told.written, told.loops, told.taken, told.deadlocks
        );
        println!("{} switches, {losses} losses and returns: {described}", fabric.switches().count());
        assert_eq!((told.loops, told.taken, told.deadlocks), (0, 0, 0), "{described}\n{}", told.said.join("\n"));
        assert!(told.moments > 2 * losses, "{described}");
        moments += told.moments;
    }
    println!("{moments} moments");
}

/// The same judge on what OpenSM's default engine writes: it finds rings, or it would not be one.
#[test]
fn minhop_closes_rings_and_the_judge_sees_them() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let told = told(&bundled("random-regular-16-4"), 1, "", "routing_engine minhop", 0.0);
    println!("minhop: {} moments, {} with a ring", told.moments, told.loops);
    assert!(told.loops > 0);
}
