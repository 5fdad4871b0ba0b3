//! More forgeries than anybody writes down: plans and headers changed at random places of their JSON. The two checkers
//! must agree on each, and on the numbers of what they accept.

use super::{Files, Script};
use crate::support::{is_thorough, seeded};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use std::cell::{Cell, RefCell};

/// One change of a JSON text. Each number is taken modulo the places, or the values, that there are.
#[derive(Clone, Copy, Debug)]
struct Change {
    place: u32,
    kind: u8,
    other: u32,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = any::<(u32, u8, u32)>().prop_map(|(place, kind, other)| Change { place, kind, other });
    proptest::collection::vec(change, 1..3)
}

/// What is put in the place of a value.
fn strange(value: &Value, other: u32) -> Value {
    let bit = |value: u64| value ^ 1 << (other / 16 % 20);
    match (value, other % 16) {
        (Value::Number(number), 0..=5) => json!(bit(number.as_u64().unwrap_or(0))),
        (Value::Number(number), 6) => json!(number.as_f64()),
        (Value::Number(number), 7) => json!(-(number.as_i64().unwrap_or(0))),
        (Value::String(text), 0) => json!(text.to_uppercase()),
        (Value::String(text), 1) => json!(text.replacen("0x", "0x0", 1)),
        (Value::String(text), 2) => json!(text.replacen("0x", "", 1)),
        (Value::String(text), 3..=7) => json!(with_digit(text, other / 16)),
        (Value::Bool(value), 0..=7) => json!(!value),
        (Value::Array(rows), 0..=4) => json!(rows.iter().rev().collect::<Vec<_>>()),
        (_, 8) => Value::Null,
        (_, 9) => json!(true),
        (_, 10) => json!(u64::MAX),
        (_, 11) => json!("lower"),
        (_, 12) => json!([]),
        (_, 13) => json!({}),
        (_, 14) => json!("drained"),
        (value, _) => json!([value]),
    }
}

/// A text with one letter replaced by a hexadecimal digit.
fn with_digit(text: &str, other: u32) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let count = letters.len().max(1);
    if let Some(letter) = letters.get_mut(other as usize % count) {
        *letter = char::from_digit(other / 256 % 16, 16).expect("a digit");
    }
    letters.into_iter().collect()
}

/// How many values there are, this one included.
fn size(value: &Value) -> u32 {
    1 + match value {
        Value::Array(rows) => rows.iter().map(size).sum::<u32>(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 0,
    }
}

/// Changes the value at a place, counted depth first; `value` is not the whole.
fn change_at(value: &mut Value, mut place: u32, Change { kind, other, .. }: Change) {
    if place == 0 {
        *value = strange(value, other);
        return;
    }
    place -= 1;
    let children: Vec<&mut Value> = match value {
        Value::Array(rows) => rows.iter_mut().collect(),
        Value::Object(fields) => fields.values_mut().collect(),
        _ => unreachable!("the place is within"),
    };
    let mut found = None;
    for (rank, child) in children.into_iter().enumerate() {
        let size = size(child);
        if place >= size {
            place -= size;
            continue;
        }
        // What becomes of the list or the object concerns its child at the place.
        if place > 0 || kind < 128 {
            return change_at(child, place, Change { place, kind, other });
        }
        found = Some(rank);
        break;
    }
    let rank = found.expect("the place is within");
    match value {
        Value::Array(rows) => change_rows(rows, rank, kind, other),
        Value::Object(fields) => change_fields(fields, rank, kind, other),
        _ => unreachable!("it has children"),
    }
}

fn change_rows(rows: &mut Vec<Value>, rank: usize, kind: u8, other: u32) {
    let at = other as usize % rows.len();
    match kind % 4 {
        0 => _ = rows.remove(rank),
        1 => rows.push(rows[rank].clone()),
        2 => rows.swap(rank, at),
        _ => rows[rank] = rows[at].clone(),
    }
}

fn change_fields(fields: &mut Map<String, Value>, rank: usize, kind: u8, other: u32) {
    let names: Vec<String> = fields.keys().cloned().collect();
    let at = other as usize % names.len();
    match kind % 4 {
        0 => _ = fields.remove(&names[rank]),
        1 => _ = fields.insert(format!("{}s", names[rank]), fields[&names[rank]].clone()),
        2 => {
            let [own, others] = [rank, at].map(|at| fields[&names[at]].clone());
            fields[&names[rank]] = others;
            fields[&names[at]] = own;
        }
        _ => fields[&names[rank]] = fields[&names[at]].clone(),
    }
}

fn changed(mut value: Value, changes: &[Change]) -> String {
    for &change in changes {
        let places = size(&value) - 1;
        // Half of all changes go where most of a plan is not: its head, its drain, the rows of its fabric.
        let place = if change.kind % 2 == 0 { change.place } else { change.place % 4096 };
        change_at(&mut value, 1 + place % places.max(1), change);
    }
    value.to_string()
}

#[test]
fn both_checkers_agree_on_plans_and_headers_changed_at_random() {
    let Some(script) = Script::start() else { return };
    let script = RefCell::new(script);
    let sound = [Files::double("ring-8"), Files::double("fat-tree-4-2"), Files::layered("ring-8")];
    let values: Vec<[Value; 2]> = sound.iter().map(|files| [files.plan_value(), files.header()]).collect();
    let base = Config { max_shrink_iters: 200, failure_persistence: None, ..Config::default() };
    let number = if is_thorough() { 40_000 } else { 200 };
    let config = Config { cases: number, ..seeded(base) };
    let [unread, refused, accepted] = [(); 3].map(|()| Cell::new(0));
    let cases = (0..sound.len(), 0..8u8, changes());
    let judged = TestRunner::new(config).run(&cases, |(which, part, changes)| {
        let (files, [plan, header]) = (&sound[which], &values[which]);
        let forged = match part {
            0 => files.with_header(&changed(header.clone(), &changes)),
            _ => files.with_plan(changed(plan.clone(), &changes)),
        };
        let (ours, theirs) = (forged.checked(), script.borrow_mut().judge(&forged));
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs),
            (Err(_), Err(_)) => {}
            _ => prop_assert!(false, "the checker: {ours:?}, the script: {theirs:?}"),
        }
        let met = match &ours {
            Ok(_) => &accepted,
            Err(said) if said.starts_with("reading") => &unread,
            Err(_) => &refused,
        };
        met.set(met.get() + 1);
        Ok(())
    });
    let counts = format!("{} not read, {} refused, {} accepted", unread.get(), refused.get(), accepted.get());
    println!("forged at random: {counts}");
    judged.unwrap_or_else(|error| panic!("{counts}: {error}"));
    let [tenth, hundredth] = [number / 10, number / 100];
    assert!(unread.get() > tenth && refused.get() > tenth && accepted.get() > hundredth, "{counts}");
}
