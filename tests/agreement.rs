//! `reconfig audit` against ibdmchk, on a few fabrics that real OpenSM routed: the same verdicts of the same pairs.
//! The rest is `cargo run --release --example ibdmchk_agreement -- --fabrics all` (docs/ORACLE.md).

#[path = "../examples/ibdmchk_agreement/mod.rs"]
mod agreement;

use agreement::compare::{Agreement, Totals};
use agreement::judges::{Auditor, Ends, Verdict, ask_audit, ask_ibdmchk};
use agreement::list::{Sample, build, routings, samples};
use agreement::opensm::{ROUTINGS, Routing};
use agreement::{Examination, programs_missing, route};

/// One fabric of each family, by its number in the full list.
const NUMBERS: [usize; 4] = [4, 9, 2, 19];

fn installed() -> bool {
    let missing = programs_missing();
    if !missing.is_empty() {
        println!("SKIPPED: {} not installed (Debian: opensm, ibsim-utils, ibutils)", missing.join(", "));
    }
    missing.is_empty()
}

fn reconfig() -> Auditor {
    Auditor(env!("CARGO_BIN_EXE_reconfig").into())
}

fn routing(label: &str) -> Routing {
    ROUTINGS.into_iter().find(|routing| routing.label == label).expect("a routing of the list")
}

fn sample(number: usize) -> Sample {
    samples().swap_remove(number)
}

#[test]
fn both_give_the_same_verdicts() {
    if !installed() {
        return;
    }
    let (mut totals, mut lines, mut on_lanes) = (Totals::default(), Vec::new(), 0);
    for number in NUMBERS {
        let sample = sample(number);
        for (row, routing) in routings(number, &sample) {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let result = Examination::make(&sample, routing, &reconfig(), folder.path());
            on_lanes += usize::from(result.as_ref().is_ok_and(|examination| examination.routed.path_sl.is_some()));
            lines.extend(totals.add(&sample, (row, routing), &result));
        }
    }
    assert!(totals.all_agree(), "{}\n{}", lines.join("\n"), totals.show());
    assert!(totals.compared() >= 40, "only {} routings were compared", totals.compared());
    let (loops, free) = totals.loops_and_free();
    assert!(loops >= 10 && free >= 10, "verdicts of one kind only:\n{}", totals.show());
    assert!(on_lanes >= 8, "only {on_lanes} routings had service levels");
}

/// What the comparison must notice: answers about different tables, and no answer at all.
#[test]
fn answers_that_differ_are_told_apart() {
    if !installed() {
        return;
    }
    let fabric = build(&sample(NUMBERS[0])).expect("a fabric");
    let (one, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let looped = route(&fabric, routing("minhop"), one.path()).expect("minhop routes anything");
    let free = route(&fabric, routing("dfsssp"), other.path()).expect("a routing");
    let theirs = ask_ibdmchk(&looped, Ends::Cas, one.path()).expect("an answer");
    let ours = ask_audit(&reconfig(), &free, Ends::Cas, other.path()).expect("an answer");
    let none = ask_audit(&Auditor("false".into()), &looped, Ends::Cas, one.path()).expect("an end");
    assert_eq!((&theirs.verdict, &ours.verdict), (&Verdict::Loops, &Verdict::Free));
    assert!(matches!(none.verdict, Verdict::None(_)), "{}", none.verdict);
    for answer in [ours, none] {
        assert_eq!(Agreement::of(&looped, &theirs, &answer), Agreement::Missing);
    }
}
