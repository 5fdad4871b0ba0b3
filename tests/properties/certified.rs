//! Every proof has a certificate that both independent checkers accept, with the same figures; with a byte changed both
//! refuse it.

use super::claim;
use super::play::settings;
use super::proved::prepared;
use super::world::worlds;
use crate::forged::{Files, Script};
use proptest::prelude::*;
use reconfig::plan::Scheme;
use reconfig::verify::{Binding, prove_certified};
use std::cell::RefCell;

#[test]
fn certificates_are_accepted_and_changed_ones_are_not() {
    let script = RefCell::new(Script::start());
    let cases = (worlds(), settings(Scheme::ALL), any::<(u32, u8)>());
    let (tally, cases) = claim("certificates", 150, cases, |tally, (world, setting, (at, flip))| {
        let Some(built) = world.build() else { return Ok(()) };
        let Ok(prepared) = prepared(&world, &setting, &built) else { return Ok(()) };
        let plan = prepared.plan.plan().to_json();
        let Ok((proved, certificate)) = prove_certified(prepared.plan.plan().clone()) else {
            prop_assert!(prepared.plan.refusal().is_some());
            tally.count("refused");
            return Ok(());
        };
        prop_assert!(prepared.plan.refusal().is_none());
        let Some(certificate) = certificate else {
            tally.count("nothing to certify");
            return Ok(());
        };
        let certificate = certificate.to_text(&proved.get().binding(Binding::digest(plan.as_bytes())));
        let sound = Files { plan, certificate };
        let mut script = script.borrow_mut();
        let accepted = sound.checked();
        prop_assert!(accepted.is_ok(), "{:?}", accepted);
        if let Some(script) = script.as_mut() {
            prop_assert_eq!(script.judge(&sound), accepted);
        }
        let mut bytes = sound.certificate.clone().into_bytes();
        let at = at as usize % bytes.len();
        // A certificate is ASCII: what is no longer text cannot be read either.
        bytes[at] ^= flip.max(1);
        if let Ok(certificate) = String::from_utf8(bytes) {
            let changed = Files { certificate, ..sound };
            prop_assert!(changed.checked().is_err(), "byte {} ^ {}", at, flip.max(1));
            if let Some(script) = script.as_mut() {
                prop_assert!(script.judge(&changed).is_err(), "byte {} ^ {}: the script", at, flip.max(1));
            }
        }
        tally.count("accepted");
        tally.count(setting.scheme.name());
        Ok(())
    });
    tally.demand("accepted", cases, 2);
    tally.demand(Scheme::Ordered.name(), cases, 12);
}
