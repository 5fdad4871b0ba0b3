//! A subnet is adopted as it is read, and changed, while SMPs are lost: up to two in five on every way. The change
//! takes longer and costs more SMPs, and ends in the same state. Where nearly every barrier of agents comes too late it
//! may be called off, which a planned one can be until the swap; then everything is as before. Of two thousand
//! questions with sixteen tries each one may go unanswered then, too: the subnet is recovered for that, and is sound.
//!
//! `cargo test --release --test suite crashes::lossy:: -- --nocapture` prints how long, and how many.

use super::world::{Death, Setting, World};
use super::{AUTO, DOUBLE, FENCED, Going, loses, sound, undisturbed};
use crate::support::is_thorough;

/// The share of MADs lost, on the way there and on the way back.
const LOSSES: [f64; 4] = [0.0, 0.05, 0.2, 0.4];

/// The loss up to which every change is made.
const MADE: f64 = 0.2;

const CHANGES: [(&str, Setting, Going); 4] = [
    ("removal by `double`", DOUBLE, Going::Planned),
    ("loss by `double`", DOUBLE, Going::Sudden),
    ("removal by `double`, standard devices", FENCED, Going::Planned),
    ("loss by `auto`", AUTO, Going::Sudden),
];

/// Whether the brief form has a share: none and a fifth for every change. Two in five, which takes as long as all
/// others together, for the one that may be called off and for the one that is not `double`.
fn is_brief(loss: f64, setting: Setting, going: Going) -> bool {
    loss == 0.0 || loss == MADE || loss > MADE && (setting.auto || !setting.fenced && going == Going::Planned)
}

/// The middle one.
fn median<T: Copy + Ord>(mut of: Vec<T>) -> T {
    of.sort_unstable();
    of[of.len() / 2]
}

#[test]
fn whatever_share_of_smps_is_lost_a_change_ends_in_the_state_that_was_asked_for() {
    let seeds = if is_thorough() { 1..=25 } else { 1..=1 };
    for (name, setting, going) in CHANGES {
        let (mut row, mut reference) = (Vec::new(), None);
        let before = undisturbed(setting, going).before;
        for loss in LOSSES.into_iter().filter(|&loss| is_thorough() || is_brief(loss, setting, going)) {
            let (mut took, mut sent, mut called_off, mut recovered) = (Vec::new(), Vec::new(), 0, 0);
            for seed in seeds.clone() {
                let setting = Setting { loss, seed, patient: true, ..setting };
                let at = format!("{name}, {loss}, seed {seed}");
                let world = World::new(setting);
                let life = world.manage(world.sm, Some(world.journal()), &going.events(&world), Death::Never);
                let is_adopted = life.arrival == Some("adopted");
                assert!(is_adopted || loss > MADE, "{at}: {life:?}");
                recovered += usize::from(!is_adopted);
                let held = sound(&world, world.sm, &life, setting.fenced || loses(setting, &life), &at);
                if !is_adopted {
                    assert!(life.changes.iter().all(|outcome| outcome == "Completed"), "{at}: {life:?}");
                } else if life.changes.iter().any(|outcome| outcome == "Completed") {
                    // Which way leads where is the same, however often it was asked.
                    let reference = reference.get_or_insert_with(|| held.clone());
                    assert!(held == *reference, "{at}: {life:?}: {:?}", held.differences(reference));
                } else {
                    called_off += 1;
                    assert!(loss > MADE && going == Going::Planned && held == before, "{at}: {life:?}");
                }
                took.push(life.took_ns);
                sent.push(life.sent);
            }
            let called_off = if called_off > 0 { format!(", {called_off} called off") } else { String::new() };
            let recovered = if recovered > 0 { format!(", {recovered} recovered first") } else { String::new() };
            row.push(format!("{:.1} ms, {}{called_off}{recovered}", median(took) as f64 / 1e6, median(sent)));
        }
        println!("| {name} | {} |", row.join(" | "));
    }
}
