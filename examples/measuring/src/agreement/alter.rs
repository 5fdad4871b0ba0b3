//! OpenSM's files with deliberate faults: judges must also read what no engine writes.

use super::subject::opensm::{Alteration, Routed};
use crate::process::background::lossy;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reconfig::fabric::NodeId;
use reconfig::ids::Guid;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Entries for each one that is altered.
const ENTRIES: usize = 1000;
/// The number of SLs, and of lanes.
const LEVELS: u8 = 4;

/// Alters the files as the seed determines.
pub fn alter(routed: &mut Routed, alteration: Alteration, seed: u64, folder: &Path) -> Result<(), String> {
    let mut lot = Pcg64Mcg::seed_from_u64(seed);
    match alteration {
        Alteration::Nothing => {}
        Alteration::Entries => {
            let text = altered_entries(routed, &mut lot)?;
            routed.fdbs = put(folder, "altered.fdbs", &text)?;
        }
        Alteration::Lanes => {
            let tables = routed.sl2vl.as_deref().ok_or("no SL-to-VL tables to alter")?;
            let text = altered_lanes(&lossy(tables).map_err(|error| error.to_string())?, &mut lot);
            routed.sl2vl = Some(put(folder, "altered.sl2vl", &text)?);
            routed.path_sl = Some(put(folder, "altered.path-sl", &levels_by_lot(routed, &mut lot))?);
        }
    }
    Ok(())
}

fn put(folder: &Path, name: &str, text: &str) -> Result<PathBuf, String> {
    let file = folder.join(name);
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}

fn altered_entries(routed: &Routed, lot: &mut Pcg64Mcg) -> Result<String, String> {
    let text = lossy(&routed.fdbs).map_err(|error| error.to_string())?;
    // A switch's entry for its own LID stays: ibdmchk ignores it, since a packet that reaches that switch has arrived.
    let is_entry = |line: &&str| line.get(6..10) == Some(" : 0") && line.get(9..12) != Some("000");
    let entries = text.lines().filter(is_entry).count();
    let chosen: Vec<usize> = (0..=entries / ENTRIES).map(|_| lot.random_range(0..entries)).collect();
    let (mut switch, mut number, mut altered) = (NodeId(0), 0, String::new());
    for line in text.lines() {
        if let Some(guid) = line.split_once("Switch 0x").and_then(|(_, guid)| u64::from_str_radix(guid, 16).ok()) {
            switch = routed.fabric.by_guid(Guid(guid)).ok_or_else(|| format!("a table of nobody: {line}"))?;
        }
        let entry = is_entry(&line);
        if entry && chosen.contains(&number) {
            let port = lot.random_range(1..=routed.fabric.node(switch).num_ports);
            let _ = writeln!(altered, "{} : {port:03}  : 01   : yes", &line[..6]);
        } else {
            let _ = writeln!(altered, "{line}");
        }
        number += usize::from(entry);
    }
    Ok(altered)
}

/// Rows of switches begin with input, output and a colon; so do those of CAs, which do not matter here.
fn altered_lanes(tables: &str, lot: &mut Pcg64Mcg) -> String {
    let mut altered = String::new();
    for line in tables.lines() {
        match line.split_once(':').filter(|(ports, _)| ports.split_whitespace().all(|port| port.parse::<u8>().is_ok()))
        {
            Some((ports, _)) => {
                let _ = write!(altered, "{ports}:");
                for _ in 0..16 {
                    let _ = write!(altered, " {:<2}", lot.random_range(0..LEVELS));
                }
                altered.push('\n');
            }
            None => {
                let _ = writeln!(altered, "{line}");
            }
        }
    }
    altered
}

fn levels_by_lot(routed: &Routed, lot: &mut Pcg64Mcg) -> String {
    let mut text = String::new();
    for (source, _, dlid) in super::subject::path_sl::pairs(&routed.fabric) {
        let _ = writeln!(text, "{source} {} {}", dlid.0, lot.random_range(0..LEVELS));
    }
    text
}
