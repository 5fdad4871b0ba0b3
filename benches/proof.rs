//! Proof, certificate and check at growing sizes: CPU seconds, channels per second, bytes, memory. *steady* is the
//! proof of one routing function by itself, the figure to compare with Verbeek and Schmaltz, whose checker took
//! networks of 15,000 channels "within seconds"; *prove* is that of a whole plan of scheme `double`, every mixture of
//! every wave. The last fabric is a three-level fat tree of 24-port switches, 720 switches and 3456 CAs; then the
//! capture of a real machine of 666 switches, where it can be read.

use reconfig::check::certificate;
use reconfig::fabric::Fabric;
use reconfig::fabric::format;
use reconfig::fabric::generate::{Options, generate};
use reconfig::ids::Half;
use reconfig::plan::Plan;
use reconfig::routing::UpDown;
use reconfig::scenario::{self, Departure, Scenario};
use reconfig::verify::{Binding, Scope, prove, prove_certified, prove_tables};
use reconfig_measuring::bench::clock::Stopwatch;
use reconfig_measuring::bench::quick::quick;
use std::path::PathBuf;
use std::sync::Arc;

/// Fat trees by pods, leaves, spines, cores and hosts, of switches with twice as many ports; the first is for a quick
/// run.
const FABRICS: [&str; 4] =
    ["three-level:8,4,4,4,4", "three-level:12,6,6,6,6", "three-level:16,8,8,8,8", "three-level:24,12,12,12,12"];

fn main() {
    println!(
        "{:<26} {:>8} {:>6} {:>8} {:>12} {:>8} {:>10} {:>8} {:>9} {:>8} {:>13} {:>12} {:>7}",
        "fabric",
        "switches",
        "CAs",
        "channels",
        "dependencies",
        "steady s",
        "channels/s",
        "prove s",
        "certify s",
        "check s",
        "certificate B",
        "(lane,class)",
        "peak MB",
    );
    for topology in FABRICS.into_iter().take(if quick() { 1 } else { FABRICS.len() }) {
        let fabric = generate(&topology.parse().expect("well formed"), &Options::default()).expect("can be built");
        measure(topology, fabric);
    }
    match capture("real/selene-compute.ibnetdiscover") {
        _ if quick() => {}
        Some(fabric) => measure("selene-compute", fabric),
        None => println!("SKIPPED: selene-compute: set RECONFIG_CORPUS to the folder of captured fabrics"),
    }
}

fn capture(name: &str) -> Option<Fabric> {
    let root = std::env::var_os("RECONFIG_CORPUS").map(PathBuf::from);
    let root = root.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/fabrics"));
    let bytes = std::fs::read(root.join(name)).ok()?;
    Some(format::read(&bytes, name).expect("captures can be read"))
}

fn removal_of_the_root(fabric: Fabric) -> Plan {
    let scenario = Scenario { departure: Departure::Planned, ..Scenario::remove_root(fabric) };
    let vetted = scenario::plan(&scenario, Arc::new(UpDown::default())).expect("the fabric survives its root");
    vetted.plan().clone()
}

fn measure(name: &str, fabric: Fabric) {
    let (switches, hosts) = (fabric.switches().count(), fabric.end_ports().count());
    let plan = removal_of_the_root(fabric);
    let text = plan.to_json();
    let scope = Scope { switches: false, ..Scope::of(&[Half::Lower]) };
    let clock = Stopwatch::start();
    let steady = prove_tables(&plan.draft().before, plan.tables_at(0), &scope);
    let steady = steady.unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
    let steady_s = clock.ns() / 1e9;
    let rate = steady.statistics().channels as f64 / steady_s;
    let clock = Stopwatch::start();
    let proved = prove(plan.clone()).unwrap_or_else(|(_, refusal)| panic!("{name}: {refusal}"));
    let prove_s = clock.ns() / 1e9;
    let clock = Stopwatch::start();
    let Ok((certified, Some(evidence))) = prove_certified(plan.clone()) else { panic!("{name}: no certificate") };
    let file = evidence.to_text(&certified.get().binding(Binding::digest(text.as_bytes())));
    let certify_s = clock.ns() / 1e9;
    let clock = Stopwatch::start();
    let checked = certificate::check(&plan, text.as_bytes(), file.as_bytes()).unwrap_or_else(|f| panic!("{name}: {f}"));
    let check_s = clock.ns() / 1e9;
    let found = proved.statistics();
    println!(
        "{name:<26} {switches:>8} {hosts:>6} {:>8} {:>12} {steady_s:>8.3} {rate:>10.0} {prove_s:>8.3} {certify_s:>9.3} \
         {check_s:>8.3} {:>13} {:>12} {:>7}",
        found.channels,
        found.dependencies,
        file.len(),
        checked.pairs,
        peak_mb()
    );
}

/// The most memory that this process has held so far, in megabytes; 0 if the system does not report it.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}
