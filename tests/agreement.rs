//! `reconfig audit` against ibdmchk, on a few fabrics that real OpenSM routed: the same verdicts of the same pairs.
//! The rest is `cargo run --release -p reconfig-measuring --bin ibdmchk_agreement -- --fabrics all` (docs/ORACLE.md).

use crate::support::processor::OneProcessor;
use crate::support::tools::all_there;
use reconfig::fabric::format::read;
use reconfig_measuring::agreement::Examination;
use reconfig_measuring::agreement::compare::{Agreement, Count, Totals};
use reconfig_measuring::agreement::list::{routings, samples};
use reconfig_measuring::agreement::subject::judges::{Auditor, Ends, Verdict, ask_audit, ask_ibdmchk};
use reconfig_measuring::agreement::subject::opensm::{ROUTINGS, Routed, Routing};
use reconfig_measuring::agreement::subject::sample::{Sample, build};
use reconfig_measuring::agreement::subject::{programs_missing, route};
use reconfig_measuring::process::working_folder::working_folder;
use std::path::Path;

/// One fabric of each family, by its number in the full list.
const NUMBERS: [usize; 4] = [4, 9, 2, 19];

fn installed() -> bool {
    all_there(&programs_missing(), "opensm, ibsim-utils, ibutils")
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
    let _processor = OneProcessor::take();
    let (mut totals, mut lines, mut on_lanes) = (Totals::default(), Vec::new(), 0);
    for number in NUMBERS {
        let sample = sample(number);
        for (row, routing) in routings(number, &sample) {
            let folder = working_folder("reconfig-agreement-");
            let result = Examination::make(&sample, routing, &reconfig(), folder.path());
            on_lanes += usize::from(result.as_ref().is_ok_and(|examination| examination.routed.path_sl.is_some()));
            lines.extend(totals.add(&sample, (row, routing), &result));
        }
    }
    assert!(totals.all_agree(), "{}\n{}", lines.join("\n"), totals.show());
    let compared = totals.of(Count::Ran) + totals.of(Count::FellBack);
    assert!(compared >= 40, "only {compared} routings were compared");
    let (loops, free) = (totals.of(Count::Loops), totals.of(Count::Free));
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
    let (one, other) = (working_folder("reconfig-agreement-"), working_folder("reconfig-agreement-"));
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

/// Four switches, each joined to each; CAs at the first, and where `leads_in` says so one at the second. The CAs at the
/// first reach everyone by one cable. The other three send each other round: 2 to 4 by 3, 3 to 2 by 4, 4 to 3 by 2.
/// Nobody but they put packets on those cables, unless a CA at the second does. `own_entry` is where the second sends
/// packets to its own LID.
fn triangle(folder: &Path, leads_in: bool, own_entry: u32) -> Routed {
    let switch = |number: u32| (format!("SW Ports:05 SystemGUID:{number:016x}"), number, number);
    let ca = |number: u32| (format!("CA Ports:01 SystemGUID:{number:016x}"), number, number);
    let mut cables = vec![(switch(1), 1, ca(5), 1), (switch(1), 5, ca(6), 1)];
    for (one, other) in [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)] {
        cables.push((switch(one), other, switch(other), one));
    }
    if leads_in {
        cables.push((switch(2), 5, ca(7), 1));
    }
    let end = |(kind, guid, lid): &(String, u32, u32), port: u32| {
        format!(
            "{{ {kind} NodeGUID:{guid:016x} PortGUID:{guid:016x} VenID:000001 DevID:0001 Rev:00000000 {{node {guid}}} \
             LID:{lid:04X} PN:{port:02X} }}"
        )
    };
    let (mut subnet, mut fdbs) = (String::new(), String::new());
    for (one, port, other, far) in &cables {
        for (a, b) in [(end(one, *port), end(other, *far)), (end(other, *far), end(one, *port))] {
            subnet += &format!("{a} {b} PHY=4x LOG=ACT SPD=10\n");
        }
    }
    for at in 1..=4_u32 {
        fdbs += &format!("dump_ucast_routes: Switch 0x{at:016x}\nLID    : Port : Hops : Optimal\n");
        for lid in 1..=if leads_in { 7_u32 } else { 6 } {
            let port = match (at, lid) {
                (2, 2) => own_entry,
                (_, lid) if lid == at => 0,
                (2, 4) => 3,
                (3, 2) => 4,
                (4, 3) => 2,
                (1, 5) => 1,
                (1, 6) | (2, 7) => 5,
                (_, 5 | 6) => 1,
                (_, 7) => 2,
                (_, other) => other,
            };
            fdbs += &format!("0x{lid:04X} : {port:03}  : 01   : yes\n");
        }
    }
    let (subnet_file, fdbs_file) = (folder.join("subnet.lst"), folder.join("fdbs"));
    std::fs::write(&subnet_file, &subnet).expect("a writable folder");
    std::fs::write(&fdbs_file, fdbs).expect("a writable folder");
    Routed {
        subnet: subnet_file,
        fdbs: fdbs_file,
        sl2vl: None,
        path_sl: None,
        told_lmc: 0,
        engine: "none".into(),
        fabric: read(subnet.as_bytes(), "subnet.lst").unwrap_or_else(|error| panic!("{}", error.render(false))),
    }
}

/// With `-a` ibdmchk looks for loops from the CAs' cables only, and misses one that no CA's packet leads into; a CA
/// whose packets do lead into it opens its eyes. We see it both times. OpenSM's tables have not shown the difference so
/// far.
#[test]
fn ibdmchk_misses_a_loop_that_no_ca_leads_into() {
    if !installed() {
        return;
    }
    for (leads_in, expected) in [(false, Verdict::Free), (true, Verdict::Loops)] {
        let folder = working_folder("reconfig-agreement-");
        let routed = triangle(folder.path(), leads_in, 0);
        let theirs = ask_ibdmchk(&routed, Ends::All, folder.path()).expect("an answer");
        let ours = ask_audit(&reconfig(), &routed, Ends::All, folder.path()).expect("an answer");
        assert_eq!((&theirs.verdict, &ours.verdict), (&expected, &Verdict::Loops), "leads in: {leads_in}");
        assert_eq!(theirs.pairs, ours.pairs);
    }
}

/// Whoever comes to a switch that owns the DLID has arrived, for ibdmchk; we look at the switch's entry, as switches
/// do.
#[test]
fn ibdmchk_does_not_look_at_a_switchs_entry_for_its_own_lid() {
    if !installed() {
        return;
    }
    let folder = working_folder("reconfig-agreement-");
    let routed = triangle(folder.path(), false, 5);
    let theirs = ask_ibdmchk(&routed, Ends::All, folder.path()).expect("an answer");
    let ours = ask_audit(&reconfig(), &routed, Ends::All, folder.path()).expect("an answer");
    // Three switches and two CAs send there, and the entry names a port without a cable.
    assert_eq!((theirs.verdict, ours.verdict), (Verdict::Free, Verdict::Broken(5)));
}
