//! What `reconfig route` writes, in the hands of real OpenSM: its engine `file` loads our forwarding tables, its
//! guid2lid our LIDs, and the switches of ibsim then hold our tables to the entry.

use super::fabrics::{Net, SMALL, generated, tree};
use super::installed;
use super::opensm::OpenSm;
use super::picture::Picture;
use super::subnet::Subnet;
use reconfig::fabric::Fabric;
use reconfig::ids::{Guid, Lid, Lmc, PortNum};
use reconfig::routing::ENGINES;
use reconfig::tables::dump::{Lfts, read_lfts};
use reconfig_measuring::process::run::{Ended, run};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);
/// Engines that do not route the first of the small fabrics, and the tree.
const NOT_MADE_FOR: [&[&str]; 2] = [&["fat-tree"], &[]];
/// What OpenSM says of an engine whose tables it wrote.
const RAN: &str = "file tables configured on all switches";

/// The port of every LID that a switch has a route for, by the switch's GUID.
fn entries(fabric: &Fabric, lfts: &Lfts) -> BTreeMap<Guid, BTreeMap<Lid, PortNum>> {
    let top = fabric.max_lid().map_or(0, |lid| lid.0);
    let of = |switch: usize| -> BTreeMap<Lid, PortNum> {
        let table = &*lfts.tables[switch];
        (1..=top).map(Lid).filter_map(|lid| Some((lid, table.get(lid)?))).collect()
    };
    fabric.switches().map(|switch| (fabric.node(switch).guid, of(switch.index()))).collect()
}

/// Has an engine route what ibsim shows; the files lie in the subnet's folder. None where it needs more LIDs than the
/// LMC gives, or is not made for this fabric.
fn routed(subnet: &Subnet, engine: &str, lmc: &str) -> Option<Ended> {
    let folder = subnet.folder();
    let mut command = Command::new(super::reconfig());
    command.arg("route").arg(folder.join("shown")).args([
        "--engine",
        engine,
        "--lmc",
        lmc,
        "--allow-unproved",
        "--json",
    ]);
    command.arg("--lfts").arg(folder.join("ours.lfts")).arg("--guid2lid").arg(folder.join("guid2lid"));
    let ended = run(&mut command, folder, &format!("route-{engine}-{lmc}"), LIMIT).expect("the binary is built");
    match ended.code {
        Some(0 | 1) => Some(ended),
        Some(2 | 3) => {
            println!("{engine}, LMC {lmc}: {}", ended.errors.trim());
            None
        }
        _ => panic!("{engine}, LMC {lmc}: {}\n{}", ended.how, ended.errors),
    }
}

/// Whether the engine routes the fabric with this LMC; if so, OpenSM must have taken all of it.
fn taken_over(net: &Net, engine: &str, lmc: &str) -> bool {
    let subnet = Subnet::serve(&net.text);
    // ibsim numbers the ports of CAs itself: GUIDs are those that it shows.
    let shown = subnet.tool(&["ibnetdiscover"]);
    std::fs::write(subnet.folder().join("shown"), &shown).expect("a file in a temporary folder");
    let Some(told) = routed(&subnet, engine, lmc) else { return false };
    let report: serde_json::Value = serde_json::from_str(&told.output).expect("a report");
    let lmc = Lmc::new(report["subnets"][0]["lids"]["lmc"][1].as_u64().expect("an LMC") as u8).expect("0 to 7");
    let tables = subnet.folder().join("ours.lfts");
    let options = format!("routing_engine file\nlfts_file {}\nlmc {lmc}\nhonor_guid2lid_file TRUE\n", tables.display());
    let manager = OpenSm::bring_up(&subnet, None, &options);
    assert!(manager.says(RAN), "{engine}, LMC {lmc}: OpenSM routed otherwise");
    let seen = Picture::take(&subnet);
    let text = std::fs::read(&tables).expect("it was written");
    let ours = read_lfts(&text, "ours.lfts", &seen.fabric).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let (ours, theirs) = (entries(&seen.fabric, &ours), entries(&seen.fabric, &seen.lfts));
    assert_eq!(ours, theirs, "{engine}, LMC {lmc}: our tables, and those of the switches");
    assert!(ours.values().all(|table| !table.is_empty()));
    let given: BTreeSet<Lmc> = seen.fabric.end_ports().map(|port| seen.fabric.port(port).lmc).collect();
    assert_eq!(given, BTreeSet::from([lmc]), "{engine}: the LMC of end ports");
    true
}

/// Every engine with some LMC; so many at least with LMC 0 and with LMC 2.
fn every_engine_is_taken_over(number: usize, least: usize) {
    if !installed() {
        return;
    }
    let (topology, seed) = [SMALL[0], tree()][number];
    let net = generated(topology, seed);
    let mut taken: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in ENGINES {
        // Engines that need several LIDs say how many; the others are tried without halves and with two LIDs in each.
        let lmcs = ["0", "2"].into_iter().filter(|lmc| taken_over(&net, entry.name, lmc));
        let mut lmcs: Vec<&str> = lmcs.collect();
        if lmcs.is_empty() && taken_over(&net, entry.name, "auto") {
            lmcs.push("auto");
        }
        taken.insert(entry.name, lmcs);
    }
    println!("{topology}: {taken:?}");
    let both = taken.values().filter(|lmcs| lmcs.len() == 2).count();
    assert!(both >= least, "too few engines were taken over with LMC 0 and 2: {taken:?}");
    let left_out = taken.iter().find(|(engine, lmcs)| lmcs.is_empty() && !NOT_MADE_FOR[number].contains(engine));
    assert_eq!(left_out, None, "OpenSM took over nothing of this engine's");
}

#[test]
fn opensm_writes_our_tables_on_a_random_graph() {
    every_engine_is_taken_over(0, 5);
}

#[test]
fn opensm_writes_our_tables_on_a_fat_tree() {
    every_engine_is_taken_over(1, 5);
}
