//! The manager's answers, which go to base LIDs on levels of either half: followed like data by prover, checker and
//! drain, or assumed about in a plan that says why.

use crate::support::brought_up::ENGINE;
use crate::support::is_thorough;
use reconfig::change::{ChangeInput, prepare};
use reconfig::check::certificate;
use reconfig::fabric::Fabric;
use reconfig::fabric::LinkSpeed;
use reconfig::fabric::generate::{Options, generate};
use reconfig::ids::{Half, Lmc};
use reconfig::lid;
use reconfig::plan::{Arming, Assumption, Plan, Policy, Scheme};
use reconfig::routing::{Demand, Engine, choose_root};
use reconfig::scenario::adversary;
use reconfig::sim::{Latch, SimConfig};
use reconfig::verify::{Binding, Refusal, prove, prove_certified, witness};
use std::collections::BTreeMap;
use std::sync::Arc;

const VLS: u8 = 4;

/// The root of a fabric leaves, and then, from the other half back, the root of what is left.
fn two_changes(topology: &str, seed: u64) -> Vec<Plan> {
    let options = Options { speed: LinkSpeed::Sdr, seed, ..Options::default() };
    let bare = generate(&topology.parse().expect("a topology"), &options).expect("can be made");
    let fabric = lid::assign(&bare.with_capabilities(VLS, true), Lmc::masked(1)).expect("LIDs enough");
    let function = ENGINE.route(&fabric, &Demand::all(&fabric, 1)).expect("connected");
    let tables = lid::bring_up(&fabric, &function, VLS);
    let less_root = |fabric: &Fabric| fabric.without_nodes(&[choose_root(fabric).expect("it has switches")]);
    let twice_less = less_root(&less_root(&fabric));
    let sm = twice_less.end_ports().next().expect("a host stays");
    let removal = |before: &Arc<Fabric>, tables, old| ChangeInput {
        before: before.clone(),
        surviving: before.clone(),
        after: Arc::new(less_root(before)),
        tables,
        layers: 1,
        ways: None,
        old,
        both_halves: false,
        engine: &ENGINE,
        scheme: Scheme::Double,
        policy: Policy { arming: Arming::Off, ..Policy::default() },
        sm,
        base: None,
    };
    let prepared = |input| match prepare(input) {
        Ok(prepared) => prepared.plan.plan().clone(),
        Err(error) => panic!("{topology}, seed {seed}: {error}"),
    };
    let first = prepared(removal(&Arc::new(fabric), tables, Half::Lower));
    let left = first.tables_at(first.waves().len()).clone();
    let second = prepared(removal(&first.draft().after, left, Half::Upper));
    vec![first, second]
}

/// A certificate of a plan, made out for another one.
fn certified(plan: &Plan, made_out_for: &Plan) -> (String, String) {
    let file = made_out_for.to_json();
    let (_, certificate) = prove_certified(plan.clone()).map_err(|(_, refusal)| refusal).expect("a sound plan");
    let binding = made_out_for.binding(Binding::digest(file.as_bytes()));
    (file, certificate.expect("it has waves").to_text(&binding))
}

fn assuming(plan: &Plan) -> Plan {
    let mut draft = plan.draft().clone();
    draft.assumptions.push(Assumption::AnswersAreLegal);
    Plan::seal(draft)
}

#[test]
fn a_certificate_without_the_answers_is_refused() {
    for plan in two_changes("leaf-spine:4,3,4", 1) {
        assert!(plan.proves_answers(), "{:?}", plan.draft().notes);
        let (file, whole) = certified(&plan, &plan);
        let checked = certificate::check(&plan, file.as_bytes(), whole.as_bytes()).expect("a true certificate");
        let (file, without) = certified(&assuming(&plan), &plan);
        let fault = certificate::check(&plan, file.as_bytes(), without.as_bytes()).expect_err("answers are missing");
        assert!(fault.to_string().contains("ends too early"), "{fault}");
        let assumed = assuming(&plan);
        let (file, fewer) = certified(&assumed, &assumed);
        let fewer = certificate::check(&assumed, file.as_bytes(), fewer.as_bytes()).expect("a weaker plan");
        assert!(fewer.pairs < checked.pairs, "answers stand in lanes of their own classes");
        assert_eq!(fewer.lids, checked.lids, "they go to LIDs that others send to as well");
    }
}

/// The cycle that answers close, and that a plan hides which assumes that there are none.
fn hidden(plan: &Plan) -> Option<(Plan, Refusal)> {
    let (followed, _) = plan.clone().prove_answers().ok()?;
    let (followed, refusal) = prove(followed).err()?;
    Some((followed, refusal))
}

/// Drives packets into the cycle that a refusal names, and tells what becomes of it.
fn drive(followed: &Plan, assumed: &Plan, refusal: &Refusal, latch: Latch) -> &'static str {
    let config = SimConfig { latch, load: 0.0, vl_weight: 1, ..SimConfig::default() };
    let Ok(schedule) = adversary::schedule(followed, refusal, &config) else { return "not scheduled" };
    let played = adversary::carry_out(assumed, &schedule, &config).expect("settings that can be meant");
    match played.transport.with(|sim| sim.deadlock().map(|stuck| schedule.is_met_by(stuck))) {
        Some(true) => "deadlocked as named",
        Some(false) => "deadlocked otherwise",
        None => "not reached",
    }
}

/// Of a port that sends into no switch nothing could be followed, so nothing may be proved.
#[test]
fn answers_of_a_port_that_sends_nothing_are_refused() {
    let [plan, _] = &two_changes("leaf-spine:4,3,4", 1)[..] else { panic!("two changes") };
    let mut draft = plan.draft().clone();
    let switch = draft.before.switches().next().expect("a switch");
    draft.sm = draft.before.node(switch).first_port;
    let (_, refusal) = prove(Plan::seal(draft)).expect_err("answers of a switch are not followed");
    assert!(matches!(refusal, Refusal::Precondition { .. }), "{refusal}");
    let text = refusal.to_string();
    assert!(text.contains("no end port that sends into a switch") && text.contains("answers-are-legal"), "{text}");
}

#[test]
fn answers_close_cycles_that_the_assumption_hides() {
    let mut met: BTreeMap<&str, u32> = BTreeMap::new();
    let seeds = if is_thorough() { 6 } else { 3 };
    for topology in ["random-regular:8,4,5", "random-regular:12,4,4"] {
        for plan in (0..seeds).flat_map(|seed| two_changes(topology, seed)) {
            if plan.proves_answers() {
                *met.entry("proved").or_default() += 1;
                continue;
            }
            assert!(prove(plan.clone()).is_ok(), "with the assumption it is proved");
            let why = |note: &String| note.contains("`answers-are-legal` is assumed, because");
            assert!(plan.draft().notes.iter().any(why), "{:?}", plan.draft().notes);
            let Some((followed, refusal)) = hidden(&plan) else {
                *met.entry("no order to drain in").or_default() += 1;
                continue;
            };
            let Refusal::Deadlock(cycle) = &refusal else {
                *met.entry("refused otherwise").or_default() += 1;
                continue;
            };
            *met.entry("refused for a cycle").or_default() += 1;
            let fabric = &plan.draft().before;
            let ways = witness(&followed, cycle).expect("every dependency has a witness");
            let mut answers = ways.iter().filter(|way| fabric.half_of(way.lid) != Some(Half::of_sl(way.sl))).peekable();
            assert!(answers.peek().is_some(), "without answers there is no cycle");
            assert!(answers.all(|way| way.port == plan.draft().sm), "nobody else sends such classes");
            for latch in [Latch::Arrival, Latch::Head, Latch::Grant] {
                *met.entry(drive(&followed, &plan, &refusal, latch)).or_default() += 1;
            }
        }
    }
    println!("{met:?}");
    assert!(met.contains_key("proved") && met.contains_key("refused for a cycle"), "{met:?}");
    assert!(met.contains_key("deadlocked as named"), "{met:?}");
}
