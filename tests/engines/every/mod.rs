//! Every engine of the registry, on 200 fabrics from seeds, 60 in the brief form, and on the captures: what it
//! computes is proved, and where it is not meant to be safe, refused whenever an oracle that shares nothing with the
//! prover finds a cycle.
//!
//! On the captures an oracle follows what engines by destination compute, too, hop by hop: routing the largest takes
//! seconds, so it is routed once for both.
//!
//! Bounded: fabrics are small, and engines by path stay away from captures with many hosts. `RECONFIG_THOROUGH=1` takes
//! every engine to every capture.

mod fabrics;
mod oracle;

use super::oracle::examine;
use super::real::{FOLLOWED, follow};
use crate::support::is_thorough;
use fabrics::{Case, random, real, whole};
use oracle::closes_a_cycle;
use reconfig::change::{BringUpError, LmcWish, Realised, RouteInput, Routed, route};
use reconfig::fabric::Fabric;
use reconfig::lid::Heuristic;
use reconfig::routing::{Demand, ENGINES, Engine, EngineEntry, EngineKind, Parameters, RouteError};
use reconfig::verify::Refusal;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// End ports beyond which engines by path, whose work grows with the square, are left out.
const MANY: usize = 300;
/// End ports beyond which every engine is left out: a capture so large takes as long as all others together.
const MOST: usize = 700;
/// Data VLs: as many as engines with layers may ask for.
const DATA_VLS: u8 = 8;

/// What came of an engine on a fabric.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    /// Proved.
    Proved,
    /// Refused, and rightly so.
    Refused,
    /// Not made for this fabric: the engine says so.
    Unsuited,
    /// More layers than there are lanes: the engine says so.
    TooFewLayers,
}

/// The engine, and whether its work grows with the square of the end ports.
fn engine(entry: &EngineEntry, seed: u64) -> (Box<dyn Engine>, bool) {
    match entry.make(&Parameters { root: None, seed }) {
        EngineKind::ByDestination(engine) => (engine, false),
        EngineKind::ByPath(paths) => (Box::new(Realised { paths, heuristic: Heuristic::Greedy }), true),
    }
}

/// Routes and judges. The oracle of packets is asked wherever its work is small, that of ways elsewhere.
fn outcome(entry: &EngineEntry, engine: &dyn Engine, case: &Case, small: bool) -> Result<Outcome, String> {
    let fabric = &case.fabric;
    let routed = match route(RouteInput { fabric, engine, data_vls: DATA_VLS, lmc: LmcWish::Each }) {
        Ok(routed) => routed,
        Err(BringUpError::Route(RouteError::Unsuited { .. })) => return Ok(Outcome::Unsuited),
        Err(BringUpError::Route(RouteError::TooFewLayers { needed, .. })) if needed > usize::from(DATA_VLS) => {
            // On as many layers as it likes it must be safe all the same.
            if !small && FOLLOWED.contains(&entry.name) {
                follow(&case.name, fabric, engine);
            }
            return Ok(Outcome::TooFewLayers);
        }
        Err(error) => return Err(error.to_string()),
    };
    if !small && FOLLOWED.contains(&entry.name) {
        let found = examine(&routed.fabric, &Demand::all(&routed.fabric, 1), &routed.function);
        if entry.safe && !found.is_free_of_deadlock() {
            return Err("the oracle that follows every way finds a cycle".to_string());
        }
    }
    let judged = routed.prove();
    if small && closes_a_cycle(&routed)? != matches!(judged, Err(Refusal::Deadlock(_))) {
        return Err(format!("the oracle says otherwise than the prover: {judged:?}"));
    }
    match judged {
        Ok(_) => check_layers(entry, &routed).map(|()| Outcome::Proved),
        Err(Refusal::Deadlock(_)) if !entry.safe => Ok(Outcome::Refused),
        Err(refusal) => Err(refusal.to_string()),
    }
}

/// What an engine says that it needs is what it uses.
fn check_layers(entry: &EngineEntry, routed: &Routed) -> Result<(), String> {
    let function = &routed.function;
    let used = function.path_layers().map_or(1, |layers| layers.layers());
    if function.engine() != entry.name || function.layers() != used || used > DATA_VLS {
        return Err(format!("{} says {} layers and uses {used}", function.engine(), function.layers()));
    }
    Ok(())
}

/// Whether every engine is tried on a capture.
pub fn is_tried(fabric: &Fabric) -> bool {
    whole(fabric) && fabric.switches().next().is_some()
}

type Tally = BTreeMap<(&'static str, Outcome), usize>;

/// Every engine on every case, two at a time; what came of it, and what went wrong.
fn judged(cases: &[Case], small: bool) -> (Tally, Vec<String>) {
    let (next, tally, faults) = (AtomicUsize::new(0), Mutex::new(Tally::new()), Mutex::new(Vec::new()));
    let jobs: Vec<(&Case, &EngineEntry)> =
        cases.iter().flat_map(|case| ENGINES.iter().map(move |entry| (case, entry))).collect();
    let work = || {
        while let Some(&(case, entry)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (engine, by_path) = engine(entry, case.seed);
            let most = if by_path { MANY } else { MOST };
            if case.fabric.end_ports().count() > most && !is_thorough() {
                println!("{}: left out for {} (RECONFIG_THOROUGH=1 takes it)", case.name, entry.name);
                continue;
            }
            match outcome(entry, &*engine, case, small) {
                Ok(outcome) => {
                    *tally.lock().expect("nobody panics holding it").entry((entry.name, outcome)).or_default() += 1
                }
                Err(error) => {
                    faults
                        .lock()
                        .expect("nobody panics holding it")
                        .push(format!("{}, {}: {error}", case.name, entry.name));
                }
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(work)));
    (tally.into_inner().expect("all threads ended"), faults.into_inner().expect("all threads ended"))
}

#[test]
fn every_engine_is_proved_on_random_fabrics_or_refused_where_it_must_be() {
    let cases = random();
    let (tally, faults) = judged(&cases, true);
    println!("{} fabrics: {tally:#?}", cases.len());
    assert!(faults.is_empty(), "{} faults, the first:\n{}", faults.len(), faults[..faults.len().min(10)].join("\n"));
    for entry in ENGINES {
        let of = |outcome| tally.get(&(entry.name, outcome)).copied().unwrap_or(0);
        assert!(of(Outcome::Proved) > 0, "{} was never proved", entry.name);
        assert_eq!(of(Outcome::Refused) > 0, !entry.safe, "{}: refusals", entry.name);
        let said_no = of(Outcome::Unsuited) + of(Outcome::TooFewLayers);
        let most = if entry.name == "fat-tree" { cases.len() * 9 / 10 } else { cases.len() / 10 };
        assert!(said_no <= most, "{} routed too few fabrics: {tally:?}", entry.name);
    }
}

#[test]
fn every_engine_is_proved_on_the_captures_or_refused_where_it_must_be() {
    let Some(cases) = real() else { return };
    let (tally, faults) = judged(&cases, false);
    println!("{} captures: {tally:#?}", cases.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for entry in ENGINES.iter().filter(|entry| entry.safe) {
        let proved = tally.get(&(entry.name, Outcome::Proved)).copied().unwrap_or(0);
        assert!(proved > 0, "{} was proved on no capture", entry.name);
    }
}
