//! Damaged files: what is repaired and said, what is refused, and that nothing is made up.

use crate::support::captures::captures;
use crate::support::corpus::corpus;
use crate::support::mutilated::mutilated;
use rand::SeedableRng;
use rand_pcg::Pcg32;
use reconfig::fabric::format::{Format, Tolerance, read, read_noting, read_tolerating, write};
use reconfig::fabric::{Fabric, NodeKind};
use reconfig::tables::dump::write_subnet;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Every file of the folder `repaired` is read, which the file beside it tells; `--strict` refuses it.
/// `UPDATE_EXPECT=1` writes those anew.
#[test]
fn what_can_mean_one_thing_only_is_repaired_and_said() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/repaired");
    let mut wrong = Vec::new();
    for path in files_below(&folder).into_iter().filter(|path| path.extension().is_none_or(|end| end != "told")) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).expect("a readable file");
        let reading = read_noting(&bytes, &name).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let refused = read_tolerating(&bytes, &name, Tolerance::Strict).expect_err("--strict refuses repairs");
        let notices: Vec<String> = reading.notices.iter().map(|notice| format!("{notice}\n")).collect();
        let fabric = write(&reading.fabric, Format::Ibnetdiscover).expect("a format that is written");
        let told = format!("{}strict: {refused}\n\n{fabric}", notices.concat());
        let expected = folder.join(format!("{name}.told"));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&expected, &told).expect("a writable folder");
        }
        if std::fs::read_to_string(&expected).unwrap_or_default() != told {
            wrong.push(format!("{name}\n{told}"));
        }
    }
    assert!(wrong.is_empty(), "UPDATE_EXPECT=1 accepts these:\n{}", wrong.join("\n"));
}

const CUT_OFF: &str = "\
vendid=0x2c9
switchguid=0x10(10)
Switch\t4 \"S-0000000000000010\"\t\t# \"leaf\" base port 0 lid 1 lmc 0
[1]\t\"S-0000000000000030\"[3]\t\t# \"spine-1\" lid 3 4xQDR
[2]\t\"S-0000000000000040\"[3]\t\t# \"spine-2\" lid 4 4xQDR
";

#[test]
fn a_node_without_a_section_makes_the_file_incomplete() {
    let refused = read(CUT_OFF.as_bytes(), "cut").expect_err("two switches are only named");
    assert_eq!((refused.count(), refused.line(), refused.column()), (2, 4, 5));
    assert!(refused.expected().contains("--partial"), "{refused}");
    let looked_at = read_noting(CUT_OFF.as_bytes(), "cut").expect("to be looked at");
    assert_eq!(looked_at.incomplete, Some(refused));
    let partial = read_tolerating(CUT_OFF.as_bytes(), "cut", Tolerance::Partial).expect("accepted");
    assert_eq!((partial.notices.len(), partial.fabric.switches().count()), (1, 3), "{:?}", partial.notices);
    partial.complete().expect("accepted");
}

#[test]
fn what_cannot_be_read_is_left_out_only_by_wish() {
    let text = format!("{CUT_OFF}[3]\t\"S-00000000000000\n[4] ?\n");
    let refused = read_noting(text.as_bytes(), "cut").expect_err("two lines at fault");
    assert_eq!(refused.count(), 2);
    let partial = read_tolerating(text.as_bytes(), "cut", Tolerance::Partial).expect("accepted");
    assert_eq!(partial.fabric.links().count(), 2);
    assert!(partial.notices[0].text.contains("left out"), "{:?}", partial.notices);
}

/// A map names the nodes of a fabric for every command that reads one; what is wrong with it is refused with its place.
#[test]
fn names_of_a_map_stand_for_descriptions() {
    let folder = tempfile::tempdir().expect("a folder");
    let map = folder.path().join("names");
    let convert = |text: &str| {
        std::fs::write(&map, text).expect("a writable folder");
        let mut convert = std::process::Command::new(env!("CARGO_BIN_EXE_reconfig"));
        convert.current_dir(env!("CARGO_MANIFEST_DIR"));
        convert.args(["fabric", "convert", "tests/formats/repaired/no-answer.ibnetdiscover", "--names"]).arg(&map);
        let output = convert.output().expect("the program runs");
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
        (output.status.code(), out, err)
    };
    let (code, out, err) = convert("# mine\n0x10 \"row 1\"\n0x77 \"gone\"\n");
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("names: 1 of its 2 GUIDs are in tests/formats/repaired/no-answer.ibnetdiscover"), "{err}");
    assert!(out.contains("\"S-0000000000000010\"\t\t# \"row 1\" base") && !out.contains("leaf"), "{out}");
    let (code, out, err) = convert("0x10 \"row 1\"\n0x77 gone\n");
    assert_eq!((code, &*out), (Some(2), ""));
    assert!(err.contains("names:2:6") && err.contains("expected the node's name in double quotes"), "{err}");
}

/// A tool that prints no rates loses none: that is a note, and no damage.
#[test]
fn a_capture_without_any_rate_is_read_strictly() {
    let text = CUT_OFF.replace(" 4xQDR", "");
    let reading = read_noting(text.as_bytes(), "old").expect("to be looked at");
    assert_eq!(reading.notices[0].text, "no line has a rate: every link is taken as 4xQDR");
    let strict = read_tolerating(text.as_bytes(), "old", Tolerance::Strict).expect_err("two switches are only named");
    assert!(strict.problem().contains("no section of its own"), "{strict}");
}

/// Ports take memory whether or not they are cabled, and a short line claims 254 of them.
#[test]
fn sections_of_nothing_but_ports_are_refused_early() {
    let sections = (1..=200_000).map(|guid| format!("Switch 254 \"S-{guid:016x}\"\n"));
    let text: String = sections.collect();
    for tolerance in [Tolerance::Repair, Tolerance::Partial] {
        let refused = read_tolerating(text.as_bytes(), "ports", tolerance).expect_err("51,000,000 ports");
        assert!(refused.problem().ends_with("ports, and lines for 0 of them"), "{refused}");
        assert_eq!(refused.line(), text.len() / 2 / 255 + 1, "where the ports are more than half of the bytes");
    }
}

/// `fabric show --json` says whether the fabric is whole, as the text says it on standard error.
#[test]
fn programs_learn_whether_a_fabric_is_complete() {
    let text_of =
        |file: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("a file");
    let folder = tempfile::tempdir().expect("a folder");
    let silent = text_of("tests/formats/repaired/no-answer.ibnetdiscover");
    let whole = text_of("fixtures/topologies/ghost-cycle.ibnetdiscover");
    let file = folder.path().join("fabric");
    for (text, partial, complete, missing, unanswered) in [
        (&*whole, false, true, 0, 0),
        (&*silent, false, false, 0, 2),
        (CUT_OFF, false, false, 2, 0),
        (CUT_OFF, true, false, 2, 0),
    ] {
        std::fs::write(&file, text).expect("a writable folder");
        let mut show = std::process::Command::new(env!("CARGO_BIN_EXE_reconfig"));
        show.args(["fabric", "show", "--json"]).arg(&file).args(partial.then_some("--partial"));
        let output = show.output().expect("the program runs");
        let shown: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(shown["schema"], "reconfig.fabric-summary/1");
        let shown = &shown["subnets"][0];
        let told = serde_json::json!([shown["complete"], shown["missing"]["count"], shown["unanswered"]]);
        assert_eq!(told, serde_json::json!([complete, missing, unanswered]), "{shown}");
        if missing > 0 {
            let first = &shown["missing"]["first"][0];
            assert_eq!((&first["line"], shown["missing"]["first"].as_array().map(Vec::len)), (&4.into(), Some(2)));
            assert!(first["problem"].as_str().is_some_and(|text| text.contains("`spine-1`")), "{first}");
        }
    }
}

/// Every file of the collection is read, or refused with the place and with what was expected instead.
#[test]
fn every_file_of_the_collection_is_read_or_refused_with_a_mend() {
    let Some(folder) = corpus() else { return };
    for path in files_below(&folder) {
        let name = path.display().to_string();
        let bytes = std::fs::read(&path).expect("a readable file");
        match read_noting(&bytes, &name) {
            Ok(reading) => assert!(reading.fabric.node_count() > 0, "{name}"),
            Err(error) => {
                println!("{error}");
                assert!(error.expected().contains("expected"), "{error}");
            }
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// Four hundred mutilations of captures: none makes a reader panic, and what is read without `--partial` has no switch
/// that the capture lacks.
#[test]
fn mutilated_captures_are_read_without_inventions_or_refused() {
    const CASES: u64 = 400;
    let captures: Vec<_> = captures().into_iter().filter(|(_, bytes)| bytes.len() < 400_000).collect();
    let originals: Vec<Fabric> =
        captures.iter().map(|(name, bytes)| read(bytes, name).expect("a capture that is read elsewhere")).collect();
    let mut read_at_all = 0;
    for seed in (0..CASES).filter(|_| !captures.is_empty()) {
        let mut rng = Pcg32::seed_from_u64(seed);
        let which = seed as usize % captures.len();
        let (name, bytes) = &captures[which];
        let mutilated = mutilated(bytes, &mut rng);
        let _ = read_tolerating(&mutilated, name, Tolerance::Partial);
        let Ok(fabric) = read(&mutilated, name) else { continue };
        read_at_all += 1;
        let known = switches(&originals[which]);
        let found = switches(&fabric);
        assert!(found.len() <= known.len(), "{name}, seed {seed}: a switch was made up");
        // ibsim counts GUIDs up, so a lost section changes those behind it.
        if Format::detect(&String::from_utf8_lossy(bytes)) != Format::IbsimNet {
            let made_up: Vec<_> = found.difference(&known).collect();
            assert!(made_up.is_empty(), "{name}, seed {seed}: switches {made_up:x?} were made up");
        }
    }
    println!("{read_at_all} of {CASES} mutilated captures are read");
}

fn switches(fabric: &Fabric) -> BTreeSet<u64> {
    let switches = fabric.nodes().filter(|(_, node)| node.kind == NodeKind::Switch);
    switches.map(|(_, node)| node.guid.0).collect()
}

/// OpenSM lists each cable at both ends, node by node: whatever is cut off is still somebody's neighbour.
#[test]
fn a_subnet_list_cut_short_is_incomplete() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/topologies/fat-tree-4-2.ibnetdiscover");
    let whole = read(&std::fs::read(path).expect("a fixture"), "whole").expect("a fabric");
    let lines: Vec<String> = write_subnet(&whole).collect();
    read(lines.concat().as_bytes(), "list").expect("it is whole");
    for kept in 1..lines.len() {
        let cut = read_noting(lines[..kept].concat().as_bytes(), "list").expect("to be looked at");
        // Amid the lines of the last node, links are told at one end.
        assert!(cut.incomplete.is_some() || !cut.notices.is_empty(), "{kept} of {} lines", lines.len());
    }
    let half = read(lines[..lines.len() / 2].concat().as_bytes(), "list").expect_err("nodes are only named");
    assert!(half.problem().ends_with("has no line of its own"), "{half}");
}

/// A capture whose every line begins with something else is given up after so many faults, whatever its length.
#[test]
fn a_file_of_nothing_but_faults_is_given_up() {
    let text = "Switch 8 \"S-\n".repeat(200_000);
    for tolerance in [Tolerance::Strict, Tolerance::Repair, Tolerance::Partial] {
        let refused = read_tolerating(text.as_bytes(), "faults", tolerance).expect_err("nothing in it can be read");
        assert_eq!(refused.count(), 1_000);
        assert!(refused.to_string().ends_with("(the first of more than 1000 faults)"), "{refused}");
        assert!(refused.render(false).ends_with("the rest of the file was not read"));
    }
}
