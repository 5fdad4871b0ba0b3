//! Plans at the end of which packets may stand in what leaves.

use super::{Files, Script};
use serde_json::{Value, json};

/// The same plan with other barriers after its last wave.
fn ending(sound: &Files, change: impl Fn(&mut Vec<Value>)) -> Files {
    let mut plan = sound.plan_value();
    let waves = plan["waves"].as_array_mut().expect("waves");
    change(waves.last_mut().expect("a wave")["barriers"].as_array_mut().expect("barriers"));
    sound.with_plan(plan.to_string())
}

#[test]
fn a_departure_that_is_not_vacated_is_refused() {
    let sound = Files::in_place("fat-tree-4-2");
    let vacated = |barrier: &&mut Value| barrier.get("vacated").is_some();
    let shortened = |rounds: u8| {
        ending(&sound, |barriers| {
            *barriers.iter_mut().find(vacated).expect("what leaves is vacated") = json!({ "vacated": rounds });
        })
    };
    let without = ending(&sound, |barriers| barriers.retain(|barrier| barrier.get("vacated").is_none()));
    let mut script = Script::start();
    // One switch leaves: a round for what was latched before, and two for the channels that lead in and out.
    assert!(shortened(3).checked().is_ok());
    for (forged, rounds) in [(without, 0), (shortened(0), 0), (shortened(2), 2)] {
        let verdicts = [Some(forged.checked()), script.as_mut().map(|script| script.judge(&forged))];
        for verdict in verdicts.into_iter().flatten() {
            let said = verdict.expect_err("what leaves may hold packets");
            let why = format!("what leaves is empty after 3 rounds, and the last barrier waits for {rounds}");
            assert!(said.contains(&why), "{said}");
        }
    }
}
