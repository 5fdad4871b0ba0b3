//! Random forwarding tables: what a switch holds that looks DLIDs up by content (RandomForwardingTable, InfiniBand
//! Architecture 14.2.5; seed 000, section 3, where each entry is one of few).
//!
//! ```text
//! Random table of switch Lid 1 guid 0x0200000a00000000 ('switch-1'): 2 entries
//! 0x0004 lmc 2 port 003 # Channel Adapter portguid 0x0200000a01000001: 'host-1 HCA-1'
//! 0x0001 lmc 0 port 000 # Switch portguid 0x0200000a00000000: 'switch-1'
//! ```
//! One entry serves 2^lmc LIDs from one aligned so. This form is our own: OpenSM knows linear tables alone.

use super::{owner, plain};
use crate::fabric::{Fabric, NodeId};
use crate::ids::{Lid, Lmc, PortNum};
use crate::tables::Lft;
use std::fmt::Write;
use std::sync::Arc;

/// Forwarding tables, by node, as random ones: a block for each switch, in index order, with as few entries as serve
/// the LIDs of each port that has some. LIDs that nobody owns have none.
pub fn write_random<'a>(fabric: &'a Fabric, tables: &'a [Arc<Lft>]) -> impl Iterator<Item = String> + 'a {
    let owners: Vec<(Lid, Lmc, String)> = fabric
        .lid_ports()
        .filter_map(|port| Some((fabric.port(port).lid?, fabric.port(port).lmc, owner(fabric, port))))
        .collect();
    fabric.switches().map(move |switch| block(fabric, switch, &tables[switch.index()], &owners))
}

fn block(fabric: &Fabric, switch: NodeId, table: &Lft, owners: &[(Lid, Lmc, String)]) -> String {
    let mut lines = String::new();
    let mut entries = 0;
    for (base, lmc, name) in owners {
        for (lid, lmc, port) in merged(table, *base, *lmc) {
            entries += 1;
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{:#06x} lmc {lmc} port {:03} # {name}", lid.0, port.0);
        }
    }
    let node = fabric.node(switch);
    let (lid, name) = (fabric.port(node.first_port).lid.map_or(0, |lid| lid.0), plain(&node.description));
    format!("Random table of switch Lid {lid} guid {} ('{name}'): {entries} entries\n{lines}", node.guid)
}

/// The fewest entries that serve an aligned range: one where all of it leads to one port, else those of its halves.
fn merged(table: &Lft, base: Lid, lmc: Lmc) -> Vec<(Lid, Lmc, PortNum)> {
    let mut lids = (base.0..base.0 + lmc.lids()).map(|lid| table.get(Lid(lid)));
    let first = lids.next().flatten();
    if lids.all(|port| port == first) {
        return first.map(|port| (base, lmc, port)).into_iter().collect();
    }
    let half = Lmc::masked(lmc.get() - 1);
    let mut entries = merged(table, base, half);
    entries.extend(merged(table, Lid(base.0 + half.lids()), half));
    entries
}
