//! What is written.

use super::{ends, json, kept, made, names, reconfig, stderr, text_of};
use reconfig::fabric::{Fabric, NodeId, format};
use reconfig::ids::{Guid, Lid, PortNum};
use reconfig::lid::Guid2Lid;
use reconfig::routing::ENGINES;
use reconfig::tables::dump::{Lfts, read_fdbs, read_lfts, read_path_sls, read_sl_to_vl};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const FILES: [&str; 9] = [
    "fabric.json",
    "guid2lid",
    "opensm-lfts.dump",
    "opensm-subnet.lst",
    "opensm.fdbs",
    "path-sl",
    "random-tables",
    "sl2vl",
    "tables.json",
];

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn fabric(folder: &Path, name: &str) -> Fabric {
    format::read(&bytes(folder, name), name).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

type Entries = BTreeMap<(Guid, Lid), PortNum>;

fn entries(fabric: &Fabric, lfts: &Lfts) -> Entries {
    let top = fabric.max_lid().map_or(0, |lid| lid.0);
    let of = |switch: NodeId| {
        let (guid, table) = (fabric.node(switch).guid, lfts.tables[switch.index()].clone());
        (1..=top).map(Lid).filter_map(move |lid| Some(((guid, lid), table.get(lid)?)))
    };
    fabric.switches().flat_map(of).collect()
}

/// The entries of random tables, each spread over the LIDs that it serves.
fn spread(text: &str) -> (Entries, usize) {
    let (mut entries, mut lines, mut promised, mut guid) = (Entries::new(), 0, 0, None);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["Random", "table", "of", "switch", "Lid", _, "guid", own, ..] = words[..] {
            guid = Some(own.parse::<Guid>().expect("a GUID"));
            promised += words[words.len() - 2].parse::<usize>().expect("a number of entries");
            continue;
        }
        let ["lmc", lmc, "port", port, "#", ..] = words[1..] else { panic!("no entry: {line}") };
        let base = u16::from_str_radix(words[0].trim_start_matches("0x"), 16).expect("a LID");
        let lids = 1 << lmc.parse::<u16>().expect("an LMC");
        assert_eq!(base % lids, 0, "not aligned: {line}");
        lines += 1;
        for lid in base..base + lids {
            let port = PortNum(port.parse().expect("a port"));
            let before = entries.insert((guid.expect("a head"), Lid(lid)), port);
            assert_eq!(before, None, "served twice: {line}");
        }
    }
    assert_eq!(lines, promised);
    (entries, lines)
}

fn entries_of_json(document: &Value) -> Entries {
    let mut entries = Entries::new();
    for switch in document["switches"].as_array().expect("switches") {
        let guid: Guid = switch["node"].as_str().expect("a GUID").parse().expect("a GUID");
        for pair in switch["forwarding"].as_array().expect("pairs") {
            let [lid, port] = [&pair[0], &pair[1]].map(|value| value.as_u64().expect("a number"));
            entries.insert((guid, Lid(lid as u16)), PortNum(port as u8));
        }
    }
    entries
}

#[test]
fn every_format_says_the_same() {
    for (topology, lmc) in [("torus:3x3,2", "0"), ("torus:3x3,2", "3"), ("leaf-spine:4,2,3,2", "auto")] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (input, out) = (kept(folder.path(), &made(topology)), folder.path().join("out"));
        let report = json(&["route", &input, "--lmc", lmc, "-o", text_of(&out)], 0);
        assert_eq!(names(&out), FILES);
        assert_eq!(report["subnets"][0]["files"].as_array().map(Vec::len), Some(FILES.len()));
        let fabric = fabric(&out, "fabric.json");
        let lfts = read_lfts(&bytes(&out, "opensm-lfts.dump"), "lfts", &fabric);
        let lfts = lfts.unwrap_or_else(|error| panic!("{}", error.render(false)));
        let fdbs = read_fdbs(&bytes(&out, "opensm.fdbs"), "fdbs", &fabric);
        assert_eq!(lfts, fdbs.unwrap_or_else(|error| panic!("{}", error.render(false))));
        assert!(lfts.missing.is_empty());
        let expected = entries(&fabric, &lfts);
        let lids: usize = fabric.lid_ports().map(|port| usize::from(fabric.port(port).lmc.lids())).sum();
        assert_eq!(expected.len(), lids * fabric.switches().count(), "every LID has a route at every switch");
        let random = String::from_utf8(bytes(&out, "random-tables")).expect("text");
        let (random, lines) = spread(&random);
        assert_eq!(random, expected);
        assert!(lmc == "0" || lines < expected.len(), "no entry serves two LIDs: {lines} of {}", expected.len());
        let document: Value = serde_json::from_slice(&bytes(&out, "tables.json")).expect("a JSON document");
        assert_eq!(entries_of_json(&document), expected);
        assert_eq!(document["schema"], "reconfig.tables/1");
    }
}

#[test]
fn lids_and_the_subnet_read_back_as_they_were_assigned() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, out) = (kept(folder.path(), &made("torus:3x3,2")), folder.path().join("out"));
    ends(&["route", &input, "--lmc", "2", "-o", text_of(&out)], 0);
    let (routed, listed) = (fabric(&out, "fabric.json"), fabric(&out, "opensm-subnet.lst"));
    let known = Guid2Lid::read(&bytes(&out, "guid2lid"), "guid2lid");
    let known = known.unwrap_or_else(|error| panic!("{}", error.render(false)));
    assert_eq!(known.iter().len(), routed.lid_ports().count());
    for port in routed.lid_ports() {
        let told = routed.port(port);
        let guid = told.guid.unwrap_or(routed.node(told.node).guid);
        let range = known.get(guid).expect("every port is listed");
        assert_eq!((Some(range.first()), range.last().0 - range.first().0 + 1), (told.lid, told.lmc.lids()));
        let there = listed.by_guid(routed.node(told.node).guid).expect("every node is listed");
        assert_eq!(listed.port_at(there, told.num).and_then(|port| listed.port(port).lid), told.lid);
    }
    let links = |fabric: &Fabric| {
        let end = |port| (fabric.node(fabric.port(port).node).guid, fabric.port(port).num);
        let mut links: Vec<_> = fabric.links().map(|(a, b)| [end(a).min(end(b)), end(a).max(end(b))]).collect();
        links.sort();
        links
    };
    assert_eq!(links(&listed), links(&routed));
}

/// `audit` knows no engine and no half: what it says of the files of every engine is what the prover said.
#[test]
fn audit_says_of_the_files_what_the_prover_says() {
    for entry in ENGINES {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (input, out) = (kept(folder.path(), &made("torus:4x4,2")), folder.path().join("out"));
        let output = reconfig(&["route", &input, "--engine", entry.name, "--allow-unproved", "-o", text_of(&out)]);
        let code = output.status.code();
        if code == Some(3) {
            println!("{} does not route a torus: {}", entry.name, stderr(&output).trim());
            continue;
        }
        assert!(code == Some(0) || code == Some(1) && !entry.safe, "{}: {}", entry.name, stderr(&output));
        let file = |name: &str| out.join(name).to_str().expect("UTF-8").to_string();
        let files = [file("fabric.json"), file("opensm.fdbs"), file("sl2vl"), file("path-sl")];
        let audit = ["audit", &files[0], "--fdbs", &files[1], "--sl2vl", &files[2], "--path-sl", &files[3], "--json"];
        let report: Value = serde_json::from_slice(&reconfig(&audit).stdout).expect("a report");
        let found = &report["subnets"][0]["tables"];
        let loops = found["credit_loops"]["components"].as_array().expect("components").len();
        assert_eq!(loops == 0, code == Some(0), "{}: {report:#}", entry.name);
        for fault in ["loops", "wrong_arrivals"] {
            assert_eq!(found[fault]["count"], 0, "{}: {report:#}", entry.name);
        }
        let fabric = fabric(&out, "fabric.json");
        let levels = read_path_sls(&bytes(&out, "path-sl"), "path-sl", &fabric);
        assert!(levels.unwrap_or_else(|error| panic!("{}", error.render(false))).in_use().count() >= 1);
        let lanes = read_sl_to_vl(&bytes(&out, "sl2vl"), "sl2vl", &fabric);
        let lanes = lanes.unwrap_or_else(|error| panic!("{}", error.render(false)));
        assert!(fabric.switches().all(|switch| lanes.tells_of(switch)));
    }
}

#[test]
fn the_same_input_gives_the_same_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let input = kept(folder.path(), &made("random-regular:12,4,2"));
    let outs: Vec<PathBuf> = ["one", "two"].map(|name| folder.path().join(name)).into();
    for out in &outs {
        ends(&["route", &input, "--seed", "3", "-o", text_of(out)], 0);
    }
    for name in FILES {
        assert_eq!(bytes(&outs[0], name), bytes(&outs[1], name), "{name}");
    }
}

#[test]
fn files_appear_together_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let input = kept(folder.path(), &made("ring:4,1"));
    let before = names(folder.path());
    let (good, bad, deep) =
        (folder.path().join("good"), folder.path().join("no/such/folder/x"), folder.path().join("no/out"));
    let usual = folder.path().join("guid2lid");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--lfts", text_of(&good), "--fdbs", text_of(&bad)], 3, "cannot write"),
        (&["--lfts", text_of(&good), "--fdbs", text_of(&good)], 2, "--lfts and --fdbs both name "),
        (&["-o", text_of(folder.path()), "--lfts", text_of(&usual)], 2, "two options name one file"),
        (&["-o", &input], 2, "is a file, and an input; --output takes a folder"),
        (&["-o", text_of(&deep)], 3, "cannot create the folder"),
        (&["-o", text_of(&good), "--sl2vl", text_of(&bad)], 3, "cannot write"),
    ];
    for &(arguments, code, part) in cases {
        let output = reconfig(&[&["route", &input], arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{arguments:?}: {}", stderr(&output));
        assert_eq!(names(folder.path()), before, "{arguments:?} left something behind");
    }
    let inside = reconfig(&["route", &input, "--lfts", text_of(&good), "--fdbs", text_of(folder.path())]);
    assert!(inside.status.code() == Some(2) && stderr(&inside).contains("is a folder; --fdbs"), "{}", stderr(&inside));
    assert_eq!(names(folder.path()), before);
    let piped = ends(&["route", &input, "--lfts", "/dev/stdout"], 0);
    assert!(piped.starts_with("Unicast lids [0-") && piped.contains("yes, proved"), "{piped}");
    ends(&["route", &input, "--lfts", text_of(&good)], 0);
    assert!(names(folder.path()).contains(&"good".to_string()));
    assert_eq!(names(folder.path()).len(), before.len() + 1);
}

#[test]
fn what_cannot_be_is_said() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let input = kept(folder.path(), &made("ring:4,1"));
    let cases: &[(&[&str], i32, &str)] = &[
        (&["route"], 2, "<FABRIC>"),
        (&["route", &input, "--engine", "magic"], 2, "possible values: up-down"),
        (&["route", "--list", "--lmc", "2"], 2, "cannot be used with"),
        (&["route", "--list", "--engine", "nue"], 2, "cannot be used with"),
        (&["route", "--list", "-o", "folder"], 2, "cannot be used with"),
        (&["route", &input, "--lmc", "8"], 2, "expected 0 to 7, auto or each"),
        (&["route", &input, "--vls", "3"], 2, "3 data VLs"),
        (&["route", &input, "--root", "nobody"], 2, "no node has the name `nobody`"),
        (&["route", &input, "--root", "host-1 HCA-1"], 2, "is not a present switch"),
        (&["route", &input, "--from-path-sl", "x"], 2, "requires --from-fdbs or --from-lfts"),
    ];
    for &(arguments, code, part) in cases {
        let output = reconfig(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn engines_are_listed_a_line_each() {
    let text = ends(&["route", "--list"], 0);
    assert_eq!(text.lines().count(), ENGINES.len(), "{text}");
    assert!(ENGINES.iter().all(|entry| text.contains(entry.name) && text.contains(entry.about)), "{text}");
    let listed = json(&["route", "--list"], 0);
    assert_eq!(listed.as_array().map(Vec::len), Some(ENGINES.len()));
}
