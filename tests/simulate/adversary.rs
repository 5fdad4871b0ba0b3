//! The adversary: what the prover names comes true, lane by lane, and where it cannot be reached that is said.

use super::{DEPARTURES, LATCHES};
use crate::support::bundled::bundled;
use crate::support::is_thorough;
use crate::support::tools::all_there;
use reconfig::fabric::format::Format;
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, LinkSpeed};
use reconfig::ids::Half;
use reconfig::plan::{Barrier, Plan, Scheme};
use reconfig::routing::UpDown;
use reconfig::scenario::Unwatched;
use reconfig::scenario::adversary::{self, Role, Schedule, StepAction, Unreached};
use reconfig::scenario::{self, Departure, Ending, Foreseen, Scenario, SimulationReport};
use reconfig::sim::{Latch, SimConfig, StuckPacket};
use reconfig::verify::{EntryAge, Refusal, Witness, prove, witness};
use reconfig_measuring::process::programs::missing;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

fn scenario(scheme: Scheme, departure: Departure, latch: Latch) -> Scenario {
    let mut scenario = Scenario { scheme, departure, ..Scenario::remove_root(bundled("ghost-cycle")) };
    scenario.sim.latch = latch;
    scenario
}

fn run(scenario: &Scenario) -> SimulationReport {
    adversary::run(scenario, Arc::new(UpDown::default()), &mut Unwatched).expect("a run")
}

fn plan(scenario: &Scenario) -> (Plan, Option<Refusal>) {
    let vetted = scenario::plan(scenario, Arc::new(UpDown::default())).expect("R and R′ are each proved");
    (vetted.plan().clone(), vetted.refusal().cloned())
}

#[test]
fn rewriting_in_place_is_driven_into_the_cycle_that_the_prover_names() {
    for departure in DEPARTURES {
        for latch in LATCHES {
            let report = run(&scenario(Scheme::InPlace, departure, latch));
            let what = format!("{}, {latch:?}: {:?}", departure.name(), report.reason);
            let opposed = report.adversary.as_ref().expect("an adversary");
            // Where switches choose anew until the grant, only what the new tables lead together stays together.
            if (departure, latch) == (Departure::Planned, Latch::Grant) {
                assert_eq!((opposed.reached, report.outcome), (Some(false), Ending::NotReached), "{what}");
                assert!(opposed.why.as_ref().is_some_and(|why| why.contains("once every write")), "{what}");
                continue;
            }
            assert_eq!((opposed.reached, report.outcome), (Some(true), Ending::Deadlocked), "{what}");
            assert_eq!(report.foresight.as_ref().map(|foresight| foresight.how), Some(Foreseen::Named), "{what}");
            let packets = report.packets;
            assert_eq!((packets.lost_to_change, packets.lost_to_failure, packets.stranded), (0, 0, 0), "{what}");
            assert_eq!(packets.injected, packets.delivered + packets.in_flight, "{what}");
            assert_eq!(
                report.deadlock.as_ref().map(Vec::len),
                report.proof.cycle.map(|cycle| cycle.dependencies.len())
            );
        }
    }
}

/// Everything in a schedule that a run must agree with.
fn assert_coherent(schedule: &Schedule) {
    let parks = schedule.steps.iter().filter(|step| matches!(step.what, StepAction::Park { .. })).count();
    assert_eq!((parks, schedule.turns.len()), (schedule.packets.len(), schedule.packets.len()));
    assert!(schedule.steps.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns));
    assert!(schedule.steps.iter().all(|step| step.at_ns <= schedule.end_ns));
    // The first to take its place finds the next lane empty.
    assert!(schedule.trains.iter().any(|train| train.role == Role::Holds));
    let writes = schedule.steps.iter().filter(|step| matches!(step.what, StepAction::Write { .. })).count();
    assert_eq!(writes, schedule.landings.len());
}

#[test]
fn a_schedule_is_a_value_that_gives_one_run() {
    let scenario = scenario(Scheme::InPlace, Departure::Sudden, Latch::Arrival);
    let (plan, refusal) = plan(&scenario);
    let refusal = refusal.expect("refused");
    let schedules = [(); 2].map(|()| adversary::schedule(&plan, &refusal, &scenario.sim).expect("a schedule"));
    assert_eq!(schedules[0], schedules[1]);
    assert_coherent(&schedules[0]);
    let hash = || {
        let played = adversary::carry_out(&plan, &schedules[0], &scenario.sim).expect("settings that can be meant");
        played.transport.with(|sim| (sim.trace_hash(), sim.unsent(), sim.deadlock().map(<[_]>::len)))
    };
    assert_eq!(hash(), hash());
    assert_eq!((hash().1, hash().2), (0, Some(4)));
}

#[test]
fn without_its_late_writes_the_same_traffic_does_no_harm() {
    let scenario = scenario(Scheme::InPlace, Departure::Sudden, Latch::Arrival);
    let (plan, refusal) = plan(&scenario);
    let schedule = adversary::schedule(&plan, &refusal.expect("refused"), &scenario.sim).expect("a schedule");
    assert!(!schedule.landings.is_empty());
    let punctual = Schedule { landings: Vec::new(), ..schedule };
    let played = adversary::carry_out(&plan, &punctual, &scenario.sim).expect("settings that can be meant");
    played.transport.with(|sim| {
        assert_eq!((sim.deadlock(), sim.packets().in_flight), (None, 0));
        assert_eq!(sim.packets().injected, sim.packets().delivered);
    });
}

#[test]
fn what_has_no_room_for_a_hold_is_told_and_not_pretended() {
    let mut scenario = scenario(Scheme::InPlace, Departure::Sudden, Latch::Arrival);
    (scenario.sim.buffer_credits, scenario.sim.packet_bytes) = (1, 64);
    let report = run(&scenario);
    let opposed = report.adversary.expect("an adversary");
    assert_eq!((report.outcome, opposed.reached), (Ending::NotReached, Some(false)));
    let why = opposed.why.expect("a reason");
    assert!(why.contains("buffer of 1 (in credits) has no room"), "{why}");
    assert_eq!((report.packets.injected, report.deadlock), (0, None));
}

#[test]
fn a_proved_plan_meets_the_generic_adversary_and_loses_nothing() {
    // In the brief form the one that lets packets choose for longest.
    for latch in LATCHES.into_iter().filter(|&latch| is_thorough() || latch == Latch::Grant) {
        let mut scenario = scenario(Scheme::Double, Departure::Planned, latch);
        (scenario.warm_up_ns, scenario.before_ns, scenario.after_ns) = (10_000, 10_000, 10_000);
        scenario.optimised_sl_to_vl = Some(true);
        let report = run(&scenario);
        let opposed = report.adversary.as_ref().expect("an adversary");
        assert_eq!((opposed.kind, opposed.reached), ("generic", None));
        assert_eq!((report.outcome, report.packets.lost_to_change), (Ending::Completed, 0), "{:?}", report.reason);
        assert!(report.packets.delivered > 0 && report.settings.load == 1.0);
    }
}

/// Links slow enough that packets can be held while whole waves are written, and turns of one packet for each lane.
fn slow(seed: u64) -> Scenario {
    let topology = "random-regular:8,4,5".parse().expect("a topology");
    let options = Options { speed: LinkSpeed::Sdr, seed, ..Options::default() };
    let fabric: Fabric = generate(&topology, &options).expect("can be made");
    let sim = SimConfig { vl_weight: 1, ..SimConfig::default() };
    Scenario { sim, optimised_sl_to_vl: Some(true), departure: Departure::Planned, ..Scenario::remove_root(fabric) }
}

/// The plan of the Double Scheme without the barrier that flushes B, and why the prover refuses it.
fn unflushed(scenario: &Scenario) -> Option<(Plan, Refusal)> {
    let (plan, refusal) = plan(scenario);
    assert_eq!(refusal, None, "the plan with its barrier is proved");
    let mut draft = plan.draft().clone();
    for wave in &mut draft.waves {
        wave.barriers.retain(|barrier| !matches!(barrier, Barrier::Flushed(_)));
    }
    prove(Plan::seal(draft)).err()
}

#[test]
fn without_the_flush_barrier_a_packet_latched_for_b_closes_a_deadlock() {
    let mut met = 0;
    for seed in 1..=3 {
        let scenario = slow(seed);
        let Some((plan, refusal)) = unflushed(&scenario) else { continue };
        let Refusal::Deadlock(cycle) = &refusal else { panic!("{refusal}") };
        assert!(cycle.dependencies.iter().any(|dependency| dependency.latched.is_some()), "{refusal}");
        let schedule = adversary::schedule(&plan, &refusal, &scenario.sim).expect("a schedule");
        assert_coherent(&schedule);
        let played = adversary::carry_out(&plan, &schedule, &scenario.sim).expect("settings that can be meant");
        assert_eq!(played.error, None, "seed {seed}");
        let stuck: Option<Vec<StuckPacket>> = played.transport.with(|sim| sim.deadlock().map(<[_]>::to_vec));
        let stuck = stuck.unwrap_or_else(|| panic!("seed {seed}: no deadlock closed"));
        assert!(schedule.is_met_by(&stuck), "seed {seed}: {stuck:?}");
        // A packet of the old half, sent before the split had ended, and one of the new half, sent after the swap
        // began.
        let sent =
            |half| stuck.iter().filter(move |packet| Half::of_sl(packet.sl) == half).map(|packet| packet.born_ns);
        assert!(sent(Half::Lower).max() < sent(Half::Upper).min(), "seed {seed}: {stuck:?}");
        met += 1;
    }
    assert!(met >= 2, "{met} of 3 plans without the barrier are refused");
}

/// Follows a witness by the tables themselves, without the prover.
fn assert_leads(plan: &Plan, way: &Witness) {
    let fabric = &plan.draft().before;
    let tables = |stage: usize, entry: EntryAge| match (stage, entry) {
        (0, _) => plan.tables_at(0),
        (stage, EntryAge::New) => plan.tables_at(stage),
        (stage, EntryAge::Old | EntryAge::Unchanged) => plan.tables_at(stage - 1),
    };
    let mut at = fabric.peer(way.port).expect("a cabled end port");
    let mut vl = way.vl;
    for hop in &way.hops {
        assert_eq!((fabric.port(at).node, fabric.port(at).num, vl), (hop.node, hop.input.port, hop.input.vl), "{way}");
        let output = tables(hop.stage, hop.entry).lfts[hop.node.index()].get(way.lid);
        assert_eq!(output, Some(hop.output.port), "{way}");
        let mapping = tables(hop.stage, hop.mapping).sl_to_vl[hop.node.index()].get(hop.input.port, hop.output.port);
        assert_eq!(mapping.get(way.sl), hop.output.vl, "{way}");
        let out = fabric.port_at(hop.node, hop.output.port).expect("a port");
        (at, vl) = (fabric.peer(out).expect("a cable"), hop.output.vl);
    }
    assert!(way.hops.windows(2).all(|pair| pair[0].stage <= pair[1].stage), "{way}");
}

#[test]
fn witnesses_lead_by_the_tables_to_the_dependencies_that_they_cause() {
    let in_place = scenario(Scheme::InPlace, Departure::Sudden, Latch::Arrival);
    let (rewritten, refusal) = plan(&in_place);
    let ghosts = (1..=3).filter_map(|seed| unflushed(&slow(seed)));
    let mut latched = 0;
    for (plan, refusal) in std::iter::once((rewritten, refusal.expect("refused"))).chain(ghosts) {
        let Refusal::Deadlock(cycle) = &refusal else { panic!("{refusal}") };
        let ways = witness(&plan, cycle).expect("the plan's own cycle");
        assert_eq!(ways.len(), cycle.dependencies.len());
        for (way, dependency) in ways.iter().zip(&cycle.dependencies) {
            assert_leads(&plan, way);
            let last = way.hops.last().expect("a switch");
            assert_eq!(
                (last.switch.guid, last.input, last.output),
                (dependency.switch.guid, dependency.input, dependency.output)
            );
            assert_eq!(
                (way.lid, way.sl, last.entry, last.mapping),
                (dependency.lid, dependency.sl, dependency.entry, dependency.mapping)
            );
            assert_eq!(dependency.latched.as_ref().unwrap_or(&cycle.wave), &last.wave);
            latched += usize::from(dependency.latched.is_some());
        }
    }
    assert!(latched > 0, "no ghost dependency was met");
}

#[test]
fn a_cycle_of_another_plan_has_no_witnesses() {
    let (_, refusal) = plan(&scenario(Scheme::InPlace, Departure::Sudden, Latch::Arrival));
    let Some(Refusal::Deadlock(cycle)) = refusal else { panic!("{refusal:?}") };
    let (proved, _) = plan(&scenario(Scheme::Double, Departure::Sudden, Latch::Arrival));
    assert!(matches!(witness(&proved, &cycle), Err(Refusal::Precondition { .. })));
    let refusal = Refusal::Deadlock(cycle);
    let scheduled = adversary::schedule(&proved, &refusal, &SimConfig::default());
    assert!(matches!(scheduled, Err(Unreached::Foreign { .. })), "{scheduled:?}");
}

#[test]
fn buffers_of_every_size_are_filled() {
    for (buffer_credits, packet_bytes) in [(64, 1024), (128, 1024), (300, 2048), (1_000, 256)] {
        let mut scenario = scenario(Scheme::InPlace, Departure::Sudden, Latch::Arrival);
        (scenario.sim.buffer_credits, scenario.sim.packet_bytes) = (buffer_credits, packet_bytes);
        let report = run(&scenario);
        let opposed = report.adversary.expect("an adversary");
        assert_eq!(opposed.reached, Some(true), "{buffer_credits} credits: {:?}", opposed.why);
        let filling = opposed.schedule.iter().flat_map(|schedule| &schedule.trains);
        let filling = filling.filter(|train| train.role == Role::Waits && train.lane == 0);
        let credits: u32 = filling.map(|train| u32::from(train.bytes.div_ceil(64)) * train.count).sum();
        assert!(
            credits <= buffer_credits.into() && credits * 2 > buffer_credits.into(),
            "{credits} of {buffer_credits}"
        );
    }
}

pub(super) const GHOST_CYCLE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies/ghost-cycle.ibnetdiscover");

fn reconfig(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    let output = command.args(arguments).env_remove("RECONFIG_LOG").stdin(Stdio::null()).output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_command_tells_the_schedule_and_draws_the_cycle() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cycle.dot");
    let drawing = file.to_str().expect("UTF-8");
    let base = ["simulate", "--remove-root", "--adversary", "--scheme", "in-place", "--dot", drawing, GHOST_CYCLE];
    let (code, text, errors) = reconfig(&base);
    assert_eq!(code, Some(1), "{errors}");
    for part in ["adversary: steered; reached, on the very lanes", "takes its place", "a late Set lands", "DEADLOCKED"]
    {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    let dot = std::fs::read_to_string(&file).expect("written");
    assert_eq!(dot.matches(" -> ").count(), 4, "{dot}");
    is_drawn(&file);
    let (code, text, _) = reconfig(&[&base[..], &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        (code, &report["outcome"], &report["adversary"]["reached"]),
        (Some(1), &"deadlocked".into(), &true.into())
    );
    let schedule = &report["adversary"]["schedule"];
    assert_eq!(schedule["packets"].as_array().map(Vec::len), Some(4));
    assert!(schedule["trains"].as_array().is_some_and(|trains| trains.iter().all(|train| train["count"].is_u64())));
    assert_eq!(report["proof"]["witnesses"].as_array().map(Vec::len), Some(4));
}

#[test]
fn what_is_not_reached_is_a_no_and_what_is_proved_is_not_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("none.dot");
    let drawing = file.to_str().expect("UTF-8");
    let small = ["--buffer", "1", "--packet-bytes", "64"];
    let base = ["simulate", "--remove-root", "--adversary", "--scheme", "in-place", GHOST_CYCLE];
    let (code, text, _) = reconfig(&[&base[..], &small].concat());
    assert_eq!(code, Some(1));
    assert!(text.contains("not reached") && text.contains("NOT REACHED"), "{text}");
    let quick = ["--load", "0.05", "--warm-up", "10", "--before", "10", "--after", "10", "--sl-to-vl", "optimised"];
    let proved = ["simulate", "--remove-root", "--adversary", "--dot", drawing, GHOST_CYCLE];
    let (code, text, errors) = reconfig(&[&proved[..], &quick].concat());
    assert_eq!(code, Some(0), "{errors}");
    assert!(text.contains("adversary: generic"), "{text}");
    assert!(errors.contains("nothing to draw") && !file.exists(), "{errors}");
}

#[test]
fn plans_and_checks_show_witnesses_and_drawings() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_string();
    let fabric = bundled("ghost-cycle");
    let root = reconfig::routing::choose_root(&fabric).expect("a root");
    let after = reconfig::fabric::format::write(&fabric.without_nodes(&[root]), Format::Ibnetdiscover);
    std::fs::write(path("after"), after.expect("can be written")).expect("a file");
    let (after, plan, first, second) = (path("after"), path("plan"), path("plan.dot"), path("check.dot"));
    let make = ["plan", GHOST_CYCLE, &after, "--scheme", "in-place", "--allow-unproved", "--sudden", "-o", &plan];
    let (code, text, errors) = reconfig(&[&make[..], &["--witnesses", "--dot", &first]].concat());
    assert_eq!(code, Some(1), "{errors}");
    assert!(text.contains("    host-") && text.contains(" sends lid "), "{text}");
    let (code, text, errors) = reconfig(&["check", &plan, "--dot", &second, "--json"]);
    assert_eq!(code, Some(1), "{errors}");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let ways = report["refusal"]["witnesses"].as_array().expect("a list");
    assert!(ways.len() >= 3 && ways.iter().all(|way| way["hops"].as_array().is_some_and(|hops| hops.len() > 1)));
    let drawn = [&first, &second].map(|file| std::fs::read_to_string(file).expect("written"));
    assert_eq!(drawn[0], drawn[1]);
    is_drawn(Path::new(&first));
}

/// Graphviz takes a file, where it is installed.
fn is_drawn(file: &Path) {
    if all_there(&missing(&["dot"]), "graphviz") {
        let output = Command::new("dot").arg("-Tsvg").arg(file).output().expect("it is there");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("</svg>"), "{errors}");
    }
}
