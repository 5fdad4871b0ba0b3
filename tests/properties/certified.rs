//! Every proof has a certificate that the independent checker accepts, and one with a byte changed is refused.

use super::claim;
use super::play::settings;
use super::proved::prepared;
use super::world::worlds;
use proptest::prelude::*;
use reconfig::check::certificate;
use reconfig::plan::{Plan, Scheme};
use reconfig::verify::{Binding, prove_certified};

#[test]
fn certificates_are_accepted_and_changed_ones_are_not() {
    let cases = (worlds(), settings(Scheme::ALL), any::<(u32, u8)>());
    let (tally, cases) = claim("certificates", 150, cases, |tally, (world, setting, (at, flip))| {
        let Some(built) = world.build() else { return Ok(()) };
        let Ok(prepared) = prepared(&world, &setting, &built) else { return Ok(()) };
        let text = prepared.plan.plan().to_json();
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
        let mut bytes = certificate.to_text(&proved.get().binding(Binding::digest(text.as_bytes()))).into_bytes();
        let plan = Plan::from_json(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let verdict = certificate::check(&plan, text.as_bytes(), &bytes);
        prop_assert!(verdict.is_ok(), "{}", verdict.unwrap_err());
        let at = at as usize % bytes.len();
        bytes[at] ^= flip.max(1);
        prop_assert!(certificate::check(&plan, text.as_bytes(), &bytes).is_err(), "byte {} ^ {}", at, flip.max(1));
        tally.count("accepted");
        Ok(())
    });
    tally.demand("accepted", cases, 2);
}
