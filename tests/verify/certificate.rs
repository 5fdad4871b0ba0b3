//! Certificates: what the prover writes the checker accepts, whatever the plan; and nothing else.

use crate::support::brought_up::bring_up;
use crate::support::bundled::bundled;
use crate::support::is_thorough;
use crate::support::python::python;
use crate::support::removal::{Removal, removal};
use reconfig::change::{prepare, prepare_baseline};
use reconfig::check::certificate::{self, CertificateFault, Checked};
use reconfig::fabric::generate::BUNDLED;
use reconfig::ids::VlSet;
use reconfig::plan::{Barrier, Draft, Phase, Plan, Scheme};
use reconfig::tables::{SlToVlScope, Write};
use reconfig::verify::{Binding, prove_certified};
use std::process::Command;

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
    for (which, bundled) in BUNDLED.iter().enumerate() {
        for optimised in [false, true] {
            let subnet = bring_up(&bundled.generate().unwrap(), 1 + u8::from(optimised), optimised);
            for (at, (scheme, when)) in [
                (Scheme::Double, Removal::Planned),
                (Scheme::Double, Removal::Sudden),
                (Scheme::Ordered, Removal::Sudden),
                (Scheme::Static, Removal::Planned),
                (Scheme::Static, Removal::Sudden),
                (Scheme::InPlace, Removal::Planned),
                (Scheme::InPlace, Removal::Sudden),
            ]
            .into_iter()
            .enumerate()
            {
                // In the brief form a fabric has one form of SL-to-VL tables for each, and the next fabric the other.
                if (which + at) % 2 != usize::from(optimised) && !is_thorough() {
                    continue;
                }
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

/// A certificate with another text, its digest made to match: what a careful forger writes.
fn forged(certificate: &str, change: impl Fn(&mut serde_json::Value)) -> String {
    let lines: Vec<&str> = certificate.lines().collect();
    let mut header: serde_json::Value = serde_json::from_str(lines[1]).unwrap();
    change(&mut header);
    sealed(&[&[lines[0], &header.to_string()], &lines[2..lines.len() - 1]].concat())
}

fn sealed(lines: &[&str]) -> String {
    let body = lines.join("\n") + "\n";
    let digest = Binding::digest(body.as_bytes());
    format!("{body}sha256 {digest}\n")
}

/// The same with other evidence: the bytes, unpacked.
fn forged_evidence(certificate: &str, change: impl Fn(&mut Vec<u8>)) -> String {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    let lines: Vec<&str> = certificate.lines().collect();
    let packed = STANDARD.decode(lines[2..lines.len() - 1].concat()).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&packed[..]), &mut bytes).unwrap();
    change(&mut bytes);
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, &bytes).unwrap();
    sealed(&[lines[0], lines[1], &STANDARD.encode(encoder.finish().unwrap())])
}

#[test]
fn forgeries_are_refused_for_what_they_are() {
    let pair = Pair::of(double("fat-tree-4-2", Removal::Planned)).unwrap();
    let plan = Plan::from_json(&pair.plan).unwrap();
    let check = |certificate: &str| certificate::check(&plan, pair.plan.as_bytes(), certificate.as_bytes());
    assert_eq!(check(&forged(&pair.certificate, |_| {})), pair.check(), "an honest copy is as good");
    let fault = |change: fn(&mut serde_json::Value)| check(&forged(&pair.certificate, change)).unwrap_err();
    assert!(matches!(fault(|h| h["fabric"] = "0".into()), CertificateFault::OtherFabric { .. }));
    assert!(matches!(fault(|h| h["plan"] = "0".into()), CertificateFault::OtherPlan { .. }));
    assert!(matches!(fault(|h| _ = h["moments"].as_array_mut().unwrap().remove(1)), CertificateFault::Differs { .. }));
    assert!(matches!(fault(|h| _ = h["assumptions"].as_array_mut().unwrap().pop()), CertificateFault::Differs { .. }));
    assert!(matches!(fault(|h| _ = h["groups"].as_array_mut().unwrap().pop()), CertificateFault::Form(_)));
    assert!(matches!(fault(|h| h["groups"][0] = vec![0, 1, 4].into()), CertificateFault::Form(_)));
    // Fewer lanes than packets take in the first wave.
    assert!(matches!(fault(|h| h["moments"][1]["lanes"][2] = 4.into()), CertificateFault::NotClosed { .. }));
}

/// Every byte of the evidence, one up and one down: what is still accepted lists more places than need be, or numbers
/// that rise all the same; nothing else is, and nothing makes the checker panic.
#[test]
fn forged_evidence_is_refused_or_no_less_true() {
    let pair = Pair::of(double("ring-8", Removal::Sudden)).unwrap();
    let plan = Plan::from_json(&pair.plan).unwrap();
    let honest = pair.check().unwrap();
    let length = std::cell::Cell::new(0);
    forged_evidence(&pair.certificate, |bytes| length.set(bytes.len()));
    let (mut refused, mut accepted) = (0, 0);
    for at in (0..length.get()).step_by(7) {
        for by in [1u8, 255] {
            let forged = forged_evidence(&pair.certificate, |bytes| bytes[at] = bytes[at].wrapping_add(by));
            match certificate::check(&plan, pair.plan.as_bytes(), forged.as_bytes()) {
                Err(_) => refused += 1,
                Ok(checked) => {
                    assert!(checked.pairs >= honest.pairs && checked.dependencies >= honest.dependencies);
                    accepted += 1;
                }
            }
        }
    }
    assert!(refused > 100 && accepted > 0, "{refused} refused, {accepted} accepted");
}

/// A plan whose flush was taken out does not become safe by a certificate that belonged to it before.
#[test]
fn a_plan_without_its_flush_has_no_certificate() {
    let whole = double("ghost-cycle", Removal::Planned);
    let mut draft = whole.draft().clone();
    draft.waves[0].barriers.retain(|barrier| !matches!(barrier, Barrier::Flushed(_)));
    let plan = Plan::seal(draft);
    assert!(Pair::of(plan.clone()).is_none(), "the prover refuses it");
    let pair = Pair::of(whole).unwrap();
    let text = plan.to_json();
    let bound = forged(&pair.certificate, |header| header["plan"] = Binding::digest(text.as_bytes()).into());
    let fault = certificate::check(&plan, text.as_bytes(), bound.as_bytes()).unwrap_err();
    assert!(matches!(fault, CertificateFault::NotClosed { .. } | CertificateFault::NotRising { .. }), "{fault}");
}

/// The script of Python's standard library says the same, to the number.
#[test]
fn python_agrees() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/check_certificate.py");
    let mut accepted = 0;
    let names = ["fat-tree-4-2", "dragonfly-2-4-2", "ring-8", "seed-16"];
    for name in names.into_iter().take(if is_thorough() { 4 } else { 3 }) {
        for (scheme, when) in [
            (Scheme::Double, Removal::Sudden),
            (Scheme::Ordered, Removal::Sudden),
            (Scheme::Static, Removal::Planned),
            (Scheme::InPlace, Removal::Planned),
        ] {
            let subnet = bring_up(&bundled(name), 2, false);
            let prepared = prepare_baseline(removal(&subnet, scheme, when)).unwrap();
            let Some(pair) = Pair::of(prepared.plan.plan().clone()) else { continue };
            let checked = pair.check().unwrap();
            let (plan, certificate) = (folder.path().join("plan"), folder.path().join("certificate"));
            std::fs::write(&plan, &pair.plan).unwrap();
            let run = |text: &str| {
                std::fs::write(&certificate, text).unwrap();
                let run = Command::new(python).arg(script).args([&plan, &certificate]).output().unwrap();
                (run.status.code(), String::from_utf8(run.stdout).unwrap())
            };
            let (code, said) = run(&pair.certificate);
            let wanted = format!(
                "accepted: {} places (lane, class) of {} LIDs are closed, {} dependencies rise",
                checked.pairs, checked.lids, checked.dependencies
            );
            assert_eq!((code, said.lines().next()), (Some(0), Some(wanted.as_str())), "{name} {scheme}");
            accepted += 1;
            // The script takes tenths of a second for each.
            if name != "ring-8" && !is_thorough() {
                continue;
            }
            let changed = forged_evidence(&pair.certificate, |bytes| _ = bytes.pop());
            assert_eq!(run(&changed).0, Some(1));
            assert_eq!(run(&pair.certificate[1..]).0, Some(1));
            let lanes = forged(&pair.certificate, |header| header["moments"][1]["lanes"][0] = 0.into());
            let ours = certificate::check(&prepared.plan.plan().clone(), pair.plan.as_bytes(), lanes.as_bytes());
            assert_eq!(run(&lanes).0, Some(i32::from(ours.is_err())), "{name} {scheme}");
        }
    }
    assert!(accepted >= 8, "{accepted}");
}

/// A run of the command: exit code, standard output, standard error.
fn reconfig(arguments: &[&str]) -> (Option<i32>, String, String) {
    let run = Command::new(env!("CARGO_BIN_EXE_reconfig")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (run.status.code(), text(run.stdout), text(run.stderr))
}

#[test]
fn the_command_line_writes_and_judges_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (plan, certificate) = (path("change.plan"), path("change.certificate"));
    let fabric = |name: &str| format!("{}/fixtures/topologies/{name}.ibnetdiscover", env!("CARGO_MANIFEST_DIR"));
    let (code, ..) = reconfig(&[
        "simulate",
        "--remove-root",
        &fabric("ghost-cycle"),
        "--plan",
        &plan,
        "--certificate",
        &certificate,
    ]);
    assert_eq!(code, Some(0));
    let (code, said, _) = reconfig(&["check", &plan, &certificate]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("places (lane, class)") && said.ends_with("yes, the plan is sound\n"), "{said}");
    let (code, said, _) = reconfig(&["check", &plan, &certificate, "--json"]);
    let report: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &report["sound"], &report["certificate"]["waves"]), (Some(0), &true.into(), &5.into()));

    // A plan of another fabric, a plan that was touched, a file that is no certificate.
    let other = path("other.plan");
    assert_eq!(reconfig(&["simulate", "--remove-root", &fabric("ring-8"), "--plan", &other]).0, Some(0));
    let (code, said, _) = reconfig(&["check", &other, &certificate]);
    assert!(code == Some(1) && said.contains("for a plan of another fabric"), "{said}");
    let text = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, text.replacen("{\n", "{ \n", 1)).unwrap();
    let (code, said, _) = reconfig(&["check", &plan, &certificate]);
    assert!(code == Some(1) && said.contains("the plan's file was changed since"), "{said}");
    let (code, said, _) = reconfig(&["check", &plan, &plan]);
    assert!(code == Some(1) && said.contains("this is no certificate"), "{said}");

    // A refused plan has none, and says so.
    let none = path("none");
    let ghost = fabric("ghost-cycle");
    let (_, _, remarks) = reconfig(&[
        "simulate",
        "--remove-root",
        &ghost,
        "--scheme",
        "in-place",
        "--seed",
        "2",
        "--plan",
        &other,
        "--certificate",
        &none,
    ]);
    assert!(remarks.contains("there is no certificate to write") && !std::path::Path::new(&none).exists(), "{remarks}");
}

/// docs/TOUR.md shows what the commands print.
#[test]
fn the_tour_shows_this() {
    let tour = include_str!("../../docs/TOUR.md");
    let shown = tour.split("<!-- certificate transcript -->\n```text\n[…]\n").nth(1).expect("the transcript");
    let shown = shown.split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (plan, certificate) = (path("change.plan"), path("change.certificate"));
    let fabric = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies/fat-tree-4-2.ibnetdiscover");
    reconfig(&["simulate", "--remove-root", "--plan", &plan, "--certificate", &certificate, fabric]);
    let said = reconfig(&["check", &plan, &certificate]).1;
    let ours = said.find("lint ").map(|at| &said[at..]).unwrap();
    assert!(shown.starts_with(ours), "docs/TOUR.md shows\n{shown}\nand the command says\n{ours}");
}

/// Plans that claim what cannot be: refused whatever evidence comes with them.
#[test]
fn plans_that_claim_too_much_are_refused() {
    let whole = double("ghost-cycle", Removal::Planned);
    let pair = Pair::of(whole.clone()).unwrap();
    let refused = |name: &str, wanted: &str, change: &dyn Fn(&mut Draft)| {
        let mut draft = whole.draft().clone();
        change(&mut draft);
        let text = Plan::seal(draft).to_json();
        let plan = Plan::from_json(&text).unwrap();
        let bound = forged(&pair.certificate, |header| {
            header["plan"] = Binding::digest(text.as_bytes()).into();
            header["assumptions"] = plan.draft().assumptions.iter().map(|held| held.name()).collect();
        });
        let fault = certificate::check(&plan, text.as_bytes(), bound.as_bytes()).unwrap_err().to_string();
        assert!(fault.contains(wanted), "{name}: {fault}");
    };
    let everything = VlSet::first(4);
    refused("all ports cut off", "is said to be cut off", &|draft| draft.stranded = draft.before.end_ports().collect());
    refused("a table set twice", "either may land last", &|draft| {
        let (node, table) = match draft.waves[0].writes[0] {
            Write::SlToVl { node, table, .. } => (node, table),
            ref other => panic!("{other:?}"),
        };
        draft.waves[0].writes.push(Write::SlToVl { node, scope: SlToVlScope::All, table });
    });
    refused("lanes in use called empty", "are said to be empty", &|draft| {
        draft.waves[0].barriers = vec![Barrier::Acknowledged, Barrier::Flushed(everything)];
    });
    refused("B drained as well", "are said to be empty", &|draft| {
        draft.waves.iter_mut().for_each(|wave| {
            if wave.phase == Phase::Drain {
                wave.barriers = vec![Barrier::Drained(everything)];
            }
        });
    });
    refused("writes that nobody waits for", "its writes are not acknowledged", &|draft| {
        draft.waves[0].barriers.swap(0, 1)
    });
    refused("sources not asked", "every source has moved", &|draft| {
        let moved = |barrier: &Barrier| *barrier != Barrier::SourcesMoved;
        draft.waves.iter_mut().for_each(|wave| wave.barriers.retain(moved));
    });
    refused("an assumption kept quiet", "for granted", &|draft| {
        draft.assumptions.retain(|held| held.name() != "spare-half-unused");
    });
    refused("nothing to drain", "does not say so", &|draft| draft.drain = Default::default());
}
