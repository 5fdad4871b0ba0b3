//! Engines that give paths to some sources only, under every observer: whoever is asked for counters hears the question
//! and is heard, or the change is refused before its first write.

use super::command::screen;
use super::engine_changes::{engines, layered, nothing_lost};
use crate::support::is_thorough;
use reconfig::change::ChangeError;
use reconfig::fabric::{Fabric, PortId};
use reconfig::plan::{Observer, Policy};
use reconfig::routing::{ENGINES, EngineKind, Parameters};
use reconfig::scenario::{self, Departure, Element, ScenarioError, SimulationReport, Unwatched};
use std::process::Command;

/// What `reconfig fabric generate` writes, in a file of a folder of its own.
fn generated(arguments: &[&str]) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".ibnetdiscover").tempfile().expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    let output = command.args(["fabric", "generate"]).args(arguments).output().expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::write(file.path(), output.stdout).expect("a file");
    file
}

/// In both, the answer to a question by the first path of a half finds no entry back: `smart` opens another one.
#[test]
fn counters_are_read_by_the_paths_that_are_open_there_and_back() {
    let runs = [
        (
            &["leaf-spine:3,3,2,2", "--width", "1x", "--speed", "QDR"][..],
            "--remove-root --planned --latch arrival --vls 2 --load 0.6 --sl-to-vl optimised --seed 3192 --smp-time 3000",
        ),
        (
            &["mesh:2x3,2"][..],
            "--add-switch switch-0-2 --latch grant --arming hold --vls 8 --load 0.1 --replies 0.5 --smp-delay 20000 \
             --seed 116 --smp-time 1000",
        ),
    ];
    for (fabric, settings) in runs {
        let file = generated(fabric);
        let path = file.path().to_str().expect("a path in UTF-8");
        let common = "--engine smart --drain conservation --buffer 128 --warm-up 30 --before 30 --after 30 \
                      --barrier-timeout 8";
        let arguments: Vec<&str> = settings.split_whitespace().chain(common.split_whitespace()).chain([path]).collect();
        let (code, screen) = screen(&arguments);
        assert_eq!(code, Some(0), "{screen}");
        assert!(screen.contains("nothing lost to the change"), "{screen}");
        let asked = screen.lines().find(|line| line.starts_with("general management: sent "));
        assert!(asked.is_some_and(|line| line.ends_with(", lost 0")), "{screen}");
    }
}

/// A cable between switches: who leaves a switch without hosts cuts nobody off.
fn cable(fabric: &Fabric) -> PortId {
    let is_switch = |port: PortId| fabric.node(fabric.port(port).node).is_switch();
    let between = fabric.links().find(|&(a, b)| is_switch(a) && is_switch(b));
    between.expect("switches are joined").0
}

fn by_path() -> impl Iterator<Item = &'static str> {
    let parameters = Parameters::default();
    let is_by_path = move |name: &&str| {
        let entry = ENGINES.iter().find(|entry| entry.name == *name).expect("an engine of the list");
        // These give each switch's sources a layer of their own for each LID.
        let layered = ["multiple-roots", "dfsssp", "nue", "lash"];
        matches!(entry.make(&parameters), EngineKind::ByPath(_)) || layered.contains(name)
    };
    ENGINES.iter().filter(|entry| entry.safe).map(|entry| entry.name).filter(is_by_path)
}

#[test]
fn no_observer_stands_still_whoever_may_send_by_which_path() {
    let fabrics = ["ring-8", "fat-tree-4-2", "mesh-4x4", "torus-4x4", "random-regular-16-4"];
    let (mut completed, mut refused) = (0, 0);
    for name in &fabrics[..if is_thorough() { fabrics.len() } else { 2 }] {
        for engine in by_path() {
            for &observer in Observer::ALL {
                let mut scenario = layered(name, Departure::Planned);
                scenario.change = Element::Link(cable(scenario.fabric())).into();
                scenario.policy = Policy { observer, ..scenario.policy };
                scenario.sim.switch_lifetime_ns = if observer == Observer::Lifetime { 4_096 << 4 } else { 0 };
                match scenario::run(&scenario, engines(engine, engine), &mut Unwatched) {
                    Ok(report) => {
                        nothing_lost(&format!("{name}, {engine}, {observer}"), &report);
                        assert_heard(&report, observer);
                    }
                    Err(error) => {
                        assert_refused(&error, engine, observer);
                        refused += 1;
                        continue;
                    }
                }
                completed += 1;
            }
        }
    }
    println!("{completed} changes completed, {refused} refused");
    assert!(refused > 0, "no fabric here keeps a port from being asked");
    assert!(completed > 8 * refused, "{completed} completed, {refused} refused");
}

/// Questions for counters are packets on the lanes of data, and none of them, nor an answer, was lost.
fn assert_heard(report: &SimulationReport, observer: Observer) {
    let lost = report.gmps.map(|gmps| (gmps.sent > 0, gmps.sent - gmps.arrived, gmps.lost));
    let expected = (observer == Observer::Conservation).then_some((true, 0, 0));
    assert!(
        lost == expected || (lost.is_none() && report.changes[0].phases.iter().all(|phase| phase.name != "drain")),
        "{lost:?}"
    );
}

fn assert_refused(error: &ScenarioError, engine: &str, observer: Observer) {
    let ScenarioError::Change(change) = error else { panic!("{engine}, {observer}: {error}") };
    assert!(matches!(&**change, ChangeError::Unaskable { .. }), "{engine}, {observer}: {error}");
    let text = error.to_string();
    assert_eq!(observer, Observer::Conservation, "{text}");
    assert!(text.contains(&format!("`{engine}`")) && text.contains("choose another drain observer"), "{text}");
}
