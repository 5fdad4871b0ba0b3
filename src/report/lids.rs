//! What `reconfig lids` found: JSON for programs, one screen for people.

use super::quantity::{count, duration, size_of};
use super::screen::{line, number, show, table};
use comfy_table::Cell;
use reconfig::fabric::{Fabric, PortId};
use reconfig::lid::configure::block_of;
use reconfig::scenario::FabricSize;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct LidReport {
    pub schema: &'static str,
    pub engine: &'static str,
    /// The root of its spanning tree, where it has one.
    pub root: Option<String>,
    pub fabric: FabricSize,
    /// What each heuristic found, the requested one first.
    pub found: Vec<LidCount>,
    /// By end port, the result of the requested one.
    pub ports: Vec<PortNeed>,
    pub files: Vec<String>,
}

/// LIDs that end ports need in each half.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct LidCount {
    /// The heuristic; none where the function of the engine itself states its needs.
    pub heuristic: Option<String>,
    pub needed: usize,
    /// In blocks of powers of two, as an LMC gives them.
    pub in_blocks: usize,
    /// In blocks, where one LMC serves all.
    pub in_common_blocks: usize,
    /// The most that a port needs.
    pub most: usize,
    /// By number of LIDs: end ports that need as many.
    pub ports: BTreeMap<usize, usize>,
    pub time_ns: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct PortNeed {
    pub port: String,
    /// LIDs that it needs in each half.
    pub needed: usize,
    /// The least LMC of two such halves.
    pub lmc: u8,
    /// The first LID that it got.
    pub lid: Option<u16>,
}

impl LidCount {
    pub fn of(heuristic: Option<String>, needed: &[(PortId, usize)], time_ns: u64) -> LidCount {
        let each = || needed.iter().map(|&(_, needed)| needed);
        let most = each().max().unwrap_or(0);
        let mut ports = BTreeMap::new();
        each().for_each(|needed| *ports.entry(needed).or_default() += 1);
        LidCount {
            heuristic,
            needed: each().sum(),
            in_blocks: each().map(block_of).sum(),
            in_common_blocks: needed.len() * block_of(most),
            most,
            ports,
            time_ns,
        }
    }
}

impl PortNeed {
    /// Of each end port, as it got its LIDs.
    pub fn list(assigned: &Fabric, needed: &[(PortId, usize)]) -> Vec<PortNeed> {
        let of = |&(port, needed): &(PortId, usize)| PortNeed {
            port: assigned.describe_port(port),
            needed,
            lmc: 1 + block_of(needed).ilog2() as u8,
            lid: assigned.port(port).lid.map(|lid| lid.0),
        };
        needed.iter().map(of).collect()
    }
}

/// A report as text; with a row for each port where `ports` is set.
pub fn lids(report: &LidReport, ports: bool) -> String {
    let mut text = String::new();
    let FabricSize { switches, cas, links } = report.fabric;
    line(&mut text, format_args!("fabric   {}", size_of(switches, (cas, "CA"), links)));
    let root = report.root.as_ref().map_or_else(String::new, |root| format!(", root {root}"));
    line(&mut text, format_args!("routing  {}{root}\n", report.engine));
    show(&mut text, &compared(&report.found));
    if let Some(found) = report.found.first() {
        show(&mut text, &histogram(found));
        let (both, common) = (2 * found.in_blocks, 2 * found.in_common_blocks);
        let [both, common] = [both, common].map(|lids| count(lids as u64));
        line(
            &mut text,
            format_args!("two halves: {both} LIDs where each port has its own LMC, {common} where one LMC serves all"),
        );
    }
    if ports {
        text.push('\n');
        show(&mut text, &rows(&report.ports));
    }
    if !report.files.is_empty() {
        line(&mut text, format_args!("written to {}", report.files.join(", ")));
    }
    text
}

fn compared(found: &[LidCount]) -> comfy_table::Table {
    let mut table = table();
    let header = ["LIDs in a half", "in blocks", "most", "time"].map(number);
    table.set_header([Cell::new("heuristic")].into_iter().chain(header));
    for found in found {
        let name = found.heuristic.as_deref().unwrap_or("none: by the function itself");
        let numbers = [found.needed, found.in_blocks, found.most].map(|lids| number(count(lids as u64)));
        table.add_row([Cell::new(name)].into_iter().chain(numbers).chain([number(duration(found.time_ns))]));
    }
    table
}

fn histogram(found: &LidCount) -> comfy_table::Table {
    let mut table = table();
    table.set_header(["needs in a half", "LMC", "end ports"].map(number));
    for (&needed, &ports) in &found.ports {
        let lmc = 1 + block_of(needed).ilog2();
        table.add_row([needed.to_string(), lmc.to_string(), count(ports as u64)].map(number));
    }
    table
}

fn rows(ports: &[PortNeed]) -> comfy_table::Table {
    let mut table = table();
    table.set_header([Cell::new("port")].into_iter().chain(["needs", "LMC", "first LID"].map(number)));
    for PortNeed { port, needed, lmc, lid } in ports {
        let lid = lid.map_or_else(|| "-".to_string(), |lid| lid.to_string());
        let numbers = [needed.to_string(), lmc.to_string(), lid].map(number);
        table.add_row([Cell::new(port)].into_iter().chain(numbers));
    }
    table
}
