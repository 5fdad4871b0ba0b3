//! Certificates: what the prover writes the checker accepts, whatever the plan; and nothing else.

mod changes;

use changes::{Removal, bring_up, bundled, removal};
use reconfig::change::{prepare, prepare_baseline};
use reconfig::check::certificate::{self, CertificateFault, Checked};
use reconfig::fabric::generate::BUNDLED;
use reconfig::plan::{Plan, Scheme};
use reconfig::verify::{Binding, prove_certified};

/// A plan's file and its certificate.
struct Pair {
    plan: String,
    certificate: String,
}

impl Pair {
    fn of(plan: Plan) -> Option<Pair> {
        let text = plan.to_json();
        let (proved, certificate) = prove_certified(plan).ok()?;
        let binding = proved.get().binding(Binding::digest(text.as_bytes()));
        Some(Pair { plan: text, certificate: certificate?.to_text(&binding) })
    }

    fn check(&self) -> Result<Checked, CertificateFault> {
        let plan = Plan::from_json(&self.plan).expect("what was written can be read");
        certificate::check(&plan, self.plan.as_bytes(), self.certificate.as_bytes())
    }
}

fn double(name: &str, when: Removal) -> Plan {
    let subnet = bring_up(&bundled(name), 1, false);
    let prepared = prepare(removal(&subnet, Scheme::Double, when)).expect("a plan of scheme double");
    prepared.plan.plan().clone()
}

#[test]
fn every_proved_plan_has_a_certificate_that_is_accepted() {
    let mut unproved = 0;
    for bundled in BUNDLED {
        for optimised in [false, true] {
            let subnet = bring_up(&bundled.generate().unwrap(), 1 + u8::from(optimised), optimised);
            for (scheme, when) in [
                (Scheme::Double, Removal::Planned),
                (Scheme::Double, Removal::Sudden),
                (Scheme::Static, Removal::Planned),
                (Scheme::Static, Removal::Sudden),
                (Scheme::InPlace, Removal::Planned),
                (Scheme::InPlace, Removal::Sudden),
            ] {
                let prepared = prepare_baseline(removal(&subnet, scheme, when)).expect("a plan");
                let plan = prepared.plan.plan().clone();
                let Some(pair) = Pair::of(plan) else {
                    assert_eq!(scheme, Scheme::InPlace, "{}: only in-place plans are refused", bundled.name);
                    unproved += 1;
                    continue;
                };
                let checked =
                    pair.check().unwrap_or_else(|fault| panic!("{} {scheme} {when:?}: {fault}", bundled.name));
                let proof = prepared.plan.proof().unwrap();
                assert_eq!(checked.waves, proof.waves);
                assert!(checked.lanes < proof.lanes, "the prover counts lanes of sources too");
            }
        }
    }
    assert!(unproved > 0, "some plan that rewrites tables in place is refused");
}

#[test]
fn any_byte_that_changes_is_noticed() {
    let pair = Pair::of(double("fat-tree-4-2", Removal::Planned)).unwrap();
    let plan = Plan::from_json(&pair.plan).unwrap();
    let bytes = pair.certificate.as_bytes();
    for at in 0..bytes.len() {
        for flip in [1, 0x20] {
            let mut changed = bytes.to_vec();
            changed[at] ^= flip;
            let verdict = certificate::check(&plan, pair.plan.as_bytes(), &changed);
            assert!(verdict.is_err(), "byte {at} ^ {flip} was not noticed");
        }
    }
    for end in 0..bytes.len() {
        assert!(certificate::check(&plan, pair.plan.as_bytes(), &bytes[..end]).is_err(), "cut off at {end}");
    }
    assert!(pair.check().is_ok());
}
